"""Does a map tell what the model relies on? Ten measures that ask the model again.

f is what the model says of the target: below, the *score* is the probability of the class in curves
and its logit elsewhere; of a target that is no class, the number that the target stands for in
both. A is the map over the pixels of the network's input: for an order, read as its method means it
(without signs, or above zero); in sums, with its signs.

================================  ========================================================  ======
measure                           what it is                                                better
================================  ========================================================  ======
``deletion``                      area under the score as the highest pixels become the     lower
                                  mean colour [1]_
``insertion``                     area under the score as the highest pixels come back on   higher
                                  a blurred image [1]_
``road_morf``, ``road_lerf``      area under the score as the highest (lowest) pixels are   lower,
                                  guessed from what is around them, with noise [2]_         higher
``pixel_flipping``                area under the score as the highest patches become        lower
                                  random colours [3]_ [4]_
``infidelity``                    mean of (b Σ A - fall of f)² where random squares become  lower
                                  the mean colour; b makes it least [5]_
``max_sensitivity``               largest change of A over its size, for images that        lower
                                  nobody can tell from this one [5]_
``faithfulness_correlation``      Pearson's r between Σ A and the fall of f where random    higher
                                  sets of patches become the mean colour [6]_
``completeness``                  how far Σ A is from f - f of the plain image, of methods  zero
                                  that promise that it is 0 [7]_
``random_logit``                  SSIM of A and the map of another class, drawn at          lower
                                  random [8]_
================================  ========================================================  ======

Curves have a point for each share of the pixels (of the patches, in pixel flipping), and their area
is that of trapezoids between them. Pixels that are equal go in random order; a map that says
nothing then scores as a random one does, on the whole. Nothing random depends on the method, so
that methods and baselines are asked the same questions.

References
----------
.. [1] Petsiuk et al. 2018, RISE, arXiv:1806.07421.
.. [2] Rong et al. 2022, A consistent and efficient evaluation strategy for attribution methods,
   arXiv:2202.00449.
.. [3] Bach et al. 2015, On pixel-wise explanations for non-linear classifier decisions by
   layer-wise relevance propagation, PLOS ONE 10(7).
.. [4] Samek et al. 2017, Evaluating the visualization of what a deep neural network has learned,
   arXiv:1509.06321.
.. [5] Yeh et al. 2019, On the (in)fidelity and sensitivity of explanations, arXiv:1901.09392.
.. [6] Bhatt et al. 2020, Evaluating and aggregating feature-based model explanations,
   arXiv:2005.00631.
.. [7] Sundararajan et al. 2017, Axiomatic attribution for deep networks, arXiv:1703.01365.
.. [8] Sixt et al. 2020, When explanations lie, arXiv:1912.09818.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from sightline.attribution.methods.gradient import plain_image
from sightline.attribution.methods.methods import METHODS, Method, Request
from sightline.attribution.methods.perturbation import Probability, cover_of
from sightline.attribution.methods.targets import Classes, Goal, needs_classes, read_target
from sightline.attribution.sanity._outputs import check_own_maps
from sightline.attribution.sanity.removal import (
    Covered,
    Imputed,
    Order,
    Question,
    cell_means,
    over_input,
    random_colours,
    read_as,
    shares_of,
    source_of,
)
from sightline.attribution.sanity.similarity import ssim
from sightline.attribution.sanity.table import MEASURES, Row
from sightline.core import InputError, UnknownNameError
from sightline.models import Inputs
from sightline.models.hooks import undisturbed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from torch import Tensor

    from sightline.attribution.sanity.table import Job
    from sightline.core import Sample

__all__ = ["OPTIONS", "faithfulness_rows"]

Floats: TypeAlias = NDArray[np.float64]
# What a measure gives each image, by the point of a curve.
Found: TypeAlias = "dict[tuple[str, str], Floats]"

OPTIONS: Mapping[str, Any] = MappingProxyType(
    {
        "measures": None,  # which; all unless given
        "steps": 20,  # of curves
        "sign": None,  # how orders read maps: positive, absolute, signed; as the method means them
        "noise": 0.01,  # of imputed pixels, in the units of the input
        "samples": 32,  # squares, and sets of patches
        "subset": 0.2,  # share of the patches in a set
        "near": 5,  # images that are like the image
        "radius": 0.02,  # how far their colours, from 0 to 1, may be
        "seed": 0,
    }
)
# Methods whose maps promise to add up.
_COMPLETE = ("integrated_gradients", "deeplift", "gradient_shap")
# Sides of random squares, as shares of the input's shorter side.
_SIDES = (0.1, 0.5)


def faithfulness_rows(job: Job, samples: Sequence[Sample]) -> list[Row]:
    """Return the measures of one method's maps of some images.

    Parameters
    ----------
    job : Job
        Its options are those of `OPTIONS`, others being as there; one without target is asked about
        what the model predicts, or, where it has no classes, about the embedding of the image.
    samples : sequence of Sample
        The images; none changes what another gets.

    Returns
    -------
    list of Row
        For each image, layer and measure a row; of a curve also one for each point, as metric
        ``MEASURE_curve``, whose threshold is the share of the pixels changed. NaN where a measure
        is undefined: `completeness` of a method that does not promise it, correlations of what is
        constant, `random_logit` of a target that is no class or the only one, and what asks for
        maps again (`max_sensitivity`, `random_logit`) where the method finds that it does not hold
        for what is changed (DeepLIFT, LRP).

    Raises
    ------
    InputError
        If an option does not fit, a map holds NaN, or the method is made of other images' maps.
    """
    card, options = METHODS[job.method], {**OPTIONS, **job.options}
    measures = _asked_measures(options)
    check_own_maps(job.method)
    card.check_fits(job.model, classless=not needs_classes(_target(job)))
    rows: list[Row] = []
    with undisturbed(job.model.network), torch.inference_mode(False):
        done = 0
        for inputs in job.model.batches(list(samples), job.batch):
            part = samples[done : done + len(inputs.keys)]
            done += len(part)
            asked = _Asked.of(job, options, inputs, part)
            for layer, found in zip(job.layers, _measured(asked, measures), strict=True):
                rows += _rows(job, part, layer, found)
    return rows


def _target(job: Job) -> str:
    """Return what is asked about where a method explains nothing."""
    known = job.model.classes or job.model.detects
    return job.target or ("predicted" if known else "embedding")


def _rows(job: Job, samples: Sequence[Sample], layer: int | None, found: Found) -> list[Row]:
    return [
        Row(sample.image_id, layer, job.check, metric, point, float(value))
        for (metric, point), values in found.items()
        for sample, value in zip(samples, values, strict=True)
    ]


def _asked_measures(options: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the measures asked for, in the order of the table."""
    asked = MEASURES if options["measures"] is None else tuple(options["measures"])
    for name in asked:
        if name not in MEASURES:
            raise UnknownNameError(f"unknown measure {name!r}; known: {', '.join(MEASURES)}")
    for name, least in (("samples", 2), ("near", 1)):
        value = options[name]
        if not isinstance(value, int | np.integer) or value < least:
            raise InputError(f"{name} must be a whole number, {least} or more, got {value!r}")
    for name, most in (("noise", np.inf), ("radius", 1.0), ("subset", 1.0)):
        if not 0 <= options[name] <= most:
            raise InputError(f"{name} must be from 0 to {most}, got {options[name]!r}")
    return tuple(name for name in MEASURES if name in asked)


@dataclass(frozen=True, eq=False)
class _Asked:
    """All that measures need to know of one batch.

    Attributes
    ----------
    job : Job
        What is checked.
    options : mapping
        Complete.
    inputs : Inputs
        The images.
    goal : Goal
        What is explained, settled by the images as they are.
    ids : tuple of str
        Of the images.
    """

    job: Job
    options: Mapping[str, Any]
    inputs: Inputs
    goal: Goal
    ids: tuple[str, ...]

    @classmethod
    def of(
        cls, job: Job, options: Mapping[str, Any], inputs: Inputs, samples: Sequence[Sample]
    ) -> _Asked:
        """Read the target and settle it."""
        goal = read_target(job.model, list(samples), _target(job))
        if goal.is_open:
            with torch.no_grad():
                goal = goal.settled(job.model(inputs.pixels))
        return cls(job, options, inputs, goal, tuple(sample.image_id for sample in samples))

    @property
    def card(self) -> Method:
        """The method."""
        return METHODS[self.job.method]

    @property
    def seed(self) -> int:
        """Of all that is random."""
        return int(self.options["seed"])

    @cached_property
    def whole(self) -> Question:
        """The question for the goal's own score: a logit."""
        return Question(self.job.model, self.inputs, self.goal, self.job.batch)

    @cached_property
    def likely(self) -> Question:
        """The question for the probability, where the goal is a class."""
        goal = Probability(self.goal) if isinstance(self.goal, Classes) else self.goal
        return Question(self.job.model, self.inputs, goal, self.job.batch)

    @cached_property
    def clean(self) -> Floats:
        """The score of the images as they are, `(images,)`."""
        return self.whole.scores(1, lambda copies, *_: copies)[:, 0]

    @cached_property
    def plain(self) -> Tensor:
        """Images of the mean colour."""
        return cover_of(self.job.model, self.inputs.pixels, "mean")

    def maps(self, inputs: Inputs, goal: Goal) -> list[Tensor]:
        """Return the method's maps of inputs, `(images, rows, columns)` for each layer."""
        card, job = self.card, self.job
        layers = tuple(layer for layer in job.layers if layer is not None)
        asked = goal if card.explains else None
        request = Request(layers, None, asked, card.with_defaults(job.params), job.batch)
        with torch.set_grad_enabled(card.gradients):
            found = card.function(job.model, inputs, request)
        return [layer.detach()[:, 0] for layer in found.maps]

    def tried(self, inputs: Inputs, goal: Goal, like: Sequence[Tensor]) -> list[Tensor]:
        """Return maps of what is changed; NaN, like other maps, of images that are given up.

        The method did not give up the images as they are: what it finds now is in the change.
        """
        count = len(inputs.keys)
        try:
            return self.maps(inputs, goal)
        except InputError:
            if count == 1:
                return [torch.full_like(layer[:1], torch.nan) for layer in like]
        places = torch.arange(count, device=inputs.pixels.device).split(1)
        alone = [self.tried(_some(inputs, one), goal.take(one), like) for one in places]
        return [torch.cat(layer) for layer in zip(*alone, strict=True)]

    def over_input(self, maps: Tensor) -> Floats:
        """Return maps over the pixels of the input, checked."""
        values = over_input(maps, self.inputs.pixels.shape[2:])
        for image, one in zip(self.ids, values, strict=True):
            if not np.isfinite(one).all():
                raise InputError(f"{self.job.method}: the map of image {image!r} holds NaN or inf")
        return values

    def read(self, values: Floats) -> Floats:
        """Return maps as they are read where only their order counts."""
        return read_as(values, self.options["sign"] or self.card.sign)


def _measured(asked: _Asked, measures: tuple[str, ...]) -> list[Found]:
    """Return all measures asked for, of the maps of each layer."""
    maps = asked.maps(asked.inputs, asked.goal)
    values = [asked.over_input(layer) for layer in maps]
    again = {name: _AGAIN[name](asked, maps) for name in measures if name in _AGAIN}
    layers: list[Found] = []
    for number, layer in enumerate(values):
        found: Found = {(name, ""): parts[number] for name, parts in again.items()}
        for name in measures:
            if name in _CURVES:
                found |= _curve(asked, layer, name)
            elif name in _SUMS:
                found[name, ""] = _SUMS[name](asked, layer)
        layers.append(found)
    return layers


# Curves.


def _curve(asked: _Asked, values: Floats, name: str) -> Found:
    """Return the points of a curve, and the area below it."""
    steps = asked.options["steps"]
    order, change = _CURVES[name](asked, asked.read(values))
    scores, shares = asked.likely.curve(order, change, steps), shares_of(steps)
    points = {(f"{name}_curve", f"{share:.2f}"): scores[:, i] for i, share in enumerate(shares)}
    return {(name, ""): np.asarray(np.trapezoid(scores, shares, axis=1)), **points}


def _deletion(asked: _Asked, values: Floats) -> tuple[Order, Covered]:
    """The highest pixels become the mean colour."""
    return Order.of(values, asked.inputs, asked.seed), Covered(asked.plain)


def _insertion(asked: _Asked, values: Floats) -> tuple[Order, Covered]:
    """The highest pixels come back on the blurred image."""
    blurred = cover_of(asked.job.model, asked.inputs.pixels, "blur")
    return Order.of(values, asked.inputs, asked.seed), Covered(blurred, back=True)


def _road(asked: _Asked, values: Floats, *, largest: bool = True) -> tuple[Order, Imputed]:
    """The highest pixels are guessed from what is around them."""
    order = Order.of(values, asked.inputs, asked.seed, largest=largest)
    return order, Imputed.of(asked.inputs, float(asked.options["noise"]), asked.seed)


def _road_lerf(asked: _Asked, values: Floats) -> tuple[Order, Imputed]:
    """The lowest pixels are."""
    return _road(asked, values, largest=False)


def _pixel_flipping(asked: _Asked, values: Floats) -> tuple[Order, Covered]:
    """The highest patches become random colours."""
    colours = random_colours(asked.job.model, asked.inputs, asked.seed)
    return Order.of(values, asked.inputs, asked.seed, cells=True), Covered(colours)


_CURVES: dict[str, Callable[[_Asked, Floats], tuple[Order, Covered | Imputed]]] = {
    "deletion": _deletion,
    "insertion": _insertion,
    "road_morf": _road,
    "road_lerf": _road_lerf,
    "pixel_flipping": _pixel_flipping,
}


# Sums of a map against what the score loses.


def _infidelity(asked: _Asked, values: Floats) -> Floats:
    """Return the mean squared difference of sums over squares, scaled, and falls of the score.

    The scale b = E[s d] / E[s²] makes it least: maps have units of their own. Where all sums are 0
    it is the mean of d².
    """
    squares = np.stack([_squares(asked, key) for key in asked.inputs.keys])
    corners = torch.from_numpy(squares).to(asked.inputs.pixels.device)
    rows, columns = (
        torch.arange(side, device=corners.device) for side in asked.inputs.pixels.shape[2:]
    )

    def hide(copies: Tensor, images: Tensor, numbers: Tensor) -> Tensor:
        top, left, side = (part[:, None] for part in corners[images, numbers].T)
        down = (rows >= top) & (rows < top + side)
        across = (columns >= left) & (columns < left + side)
        gone = down[:, :, None] & across[:, None]
        return torch.where(gone[:, None], asked.plain[images], copies)

    falls = asked.clean[:, None] - asked.whole.scores(squares.shape[1], hide)
    sums = np.stack([_square_sums(one, part) for one, part in zip(values, squares, strict=True)])
    power = np.square(sums).mean(axis=1)
    product = (sums * falls).mean(axis=1)
    scale = np.divide(product, power, out=np.zeros_like(power), where=power > 0)
    found: Floats = np.square(scale[:, None] * sums - falls).mean(axis=1)
    return found


def _squares(asked: _Asked, key: int) -> NDArray[np.int64]:
    """Draw squares of one image: top, left and side, `(samples, 3)`."""
    height, width = asked.inputs.pixels.shape[2:]
    source, shorter = source_of(key, asked.seed, "squares"), min(height, width)
    least, most = (max(1, round(share * shorter)) for share in _SIDES)
    sides = source.integers(least, most, asked.options["samples"], endpoint=True)
    corners = [source.integers(0, whole - sides, endpoint=True) for whole in (height, width)]
    return np.stack([*corners, sides], axis=1)


def _square_sums(values: Floats, squares: NDArray[np.int64]) -> Floats:
    """Return the sum of a map over squares."""
    total = np.pad(values.cumsum(0).cumsum(1), ((1, 0), (1, 0)))
    top, left, side = squares.T
    below, right = top + side, left + side
    found: Floats = total[below, right] - total[top, right] - total[below, left] + total[top, left]
    return found


def _faithfulness_correlation(asked: _Asked, values: Floats) -> Floats:
    """Return Pearson's r between sums over sets of patches and falls of the score."""
    chosen = np.stack([_chosen(asked, i) for i in range(len(values))])
    patch = asked.inputs.geometries[0].patch
    device = asked.inputs.pixels.device
    sets = torch.from_numpy(chosen).to(device)

    def hide(copies: Tensor, images: Tensor, numbers: Tensor) -> Tensor:
        gone = sets[images, numbers]
        gone = gone.repeat_interleave(patch[1], 1).repeat_interleave(patch[0], 2)
        return torch.where(gone[:, None], asked.plain[images], copies)

    falls = asked.clean[:, None] - asked.whole.scores(chosen.shape[1], hide)
    sums = np.einsum("ism,im->is", chosen.reshape(*chosen.shape[:2], -1), _flat(values, patch))
    return np.array([_correlation(*pair) for pair in zip(sums, falls, strict=True)])


def _flat(values: Floats, patch: tuple[int, int]) -> Floats:
    means = cell_means(values, patch)
    return means.reshape(len(means), -1)


def _chosen(asked: _Asked, image: int) -> NDArray[np.bool_]:
    """Draw sets of an image's patches, all of one size: `(samples, rows, columns)`."""
    geometry, key = asked.inputs.geometries[image], asked.inputs.keys[image]
    seen = geometry.content_mask()
    cells = np.flatnonzero(seen.ravel())
    size = min(max(1, round(asked.options["subset"] * len(cells))), len(cells))
    source = source_of(key, asked.seed, "sets")
    found = np.zeros((asked.options["samples"], seen.size), np.bool_)
    for one in found:
        one[source.choice(cells, size, replace=False)] = True
    return found.reshape(-1, *seen.shape)


def _correlation(first: Floats, second: Floats) -> float:
    """Return Pearson's r; NaN where one is constant, rounding apart."""
    one, other = first - first.mean(), second - second.mean()
    for part, whole in ((one, first), (other, second)):
        if np.abs(part).max() <= 1e-12 * np.abs(whole).max():
            return float("nan")
    return float((one @ other) / np.sqrt((one @ one) * (other @ other)))


def _completeness(asked: _Asked, values: Floats) -> Floats:
    """Return how far the sum of a map is from what the score gains over the plain image.

    Of a method with several plain images, over their mean. Maps of these methods are on the pixels
    of the input.
    """
    card, model, pixels = asked.card, asked.job.model, asked.inputs.pixels
    if card.name not in _COMPLETE:
        return np.full(len(values), np.nan)
    name = card.with_defaults(asked.job.params)["baseline"]
    names = ("mean", "black", "white") if name == "any" else (name,)
    starts = [plain_image(model, pixels, one) for one in names]

    def replaced(copies: Tensor, images: Tensor, numbers: Tensor) -> Tensor:
        pairs = zip(images.tolist(), numbers.tolist(), strict=True)
        return torch.stack([starts[number][image] for image, number in pairs])

    gains = asked.clean - asked.whole.scores(len(starts), replaced).mean(axis=1)
    found: Floats = np.abs(values.sum(axis=(1, 2)) - gains)
    return found


_SUMS: dict[str, Callable[[_Asked, Floats], Floats]] = {
    "infidelity": _infidelity,
    "faithfulness_correlation": _faithfulness_correlation,
    "completeness": _completeness,
}


# Maps made again, those of all layers at once.


def _max_sensitivity(asked: _Asked, maps: list[Tensor]) -> list[Floats]:
    """Return the largest ‖A' - A‖ / ‖A‖ over images that are like the image, on the map's grid.

    What the model predicts for those does not count: they are asked for the same target. A map that
    ignores the image has 0, which makes it no better; one that is 0 has NaN, and so has an image
    one of whose likes the method gives up.
    """
    near, batch = asked.options["near"], asked.job.batch
    count = len(asked.ids)
    largest = [np.zeros(count) for _ in maps]
    for part in np.array_split(np.arange(count * near), -(-count * near // batch)):
        images, numbers = torch.from_numpy(part // near).to(maps[0].device), part % near
        again = asked.tried(_alike(asked, images, numbers), asked.goal.take(images), maps)
        for most, old, new in zip(largest, maps, again, strict=True):
            with np.errstate(invalid="ignore"):  # NaN stays NaN
                np.maximum.at(most, part // near, _lengths(new - old[images]))
    return [
        np.divide(most, size, out=np.full(count, np.nan), where=size > 0)
        for most, size in zip(largest, map(_lengths, maps), strict=True)
    ]


def _lengths(maps: Tensor) -> Floats:
    """Return the length of each map as a vector; numpy adds up the same way on any threads."""
    values = maps.double().cpu().numpy()
    found: Floats = np.sqrt(np.square(values).sum(axis=(1, 2)))
    return found


def _alike(asked: _Asked, images: Tensor, numbers: NDArray[np.int64]) -> Inputs:
    """Return copies of images whose colours differ by a little, each pixel's by its own."""
    inputs = _some(asked.inputs, images)
    sources = [
        source_of(key, asked.seed, f"near {number}")
        for key, number in zip(inputs.keys, numbers, strict=True)
    ]
    size = tuple(inputs.pixels.shape[1:])
    reach = asked.options["radius"] / np.reshape(asked.job.model.preprocess.std, (3, 1, 1))
    noise = np.stack([source.uniform(-reach, reach, size) for source in sources])
    return inputs._replace(pixels=inputs.pixels + torch.from_numpy(noise).to(inputs.pixels))


def _some(inputs: Inputs, images: Tensor) -> Inputs:
    """Return some of the images of a batch, any of them more than once."""
    rows = images.tolist()
    geometries = tuple(inputs.geometries[image] for image in rows)
    return Inputs(inputs.pixels[images], geometries, tuple(inputs.keys[image] for image in rows))


def _random_logit(asked: _Asked, maps: list[Tensor]) -> list[Floats]:
    """Return the SSIM of the map and that of another class; 1 of a method that explains none.

    NaN where there is no other class: of a target that is none, of one class alone.
    """
    goal, classes = asked.goal, len(asked.job.model.classes)
    if not isinstance(goal, Classes) or classes < 2:
        return [np.full(len(asked.ids), np.nan) for _ in maps]
    others = maps
    if asked.card.explains:
        drawn = [
            source_of(key, asked.seed, "class").integers(1, classes) for key in asked.inputs.keys
        ]
        step = torch.tensor(drawn, device=goal.numbers.device)
        others = asked.tried(asked.inputs, Classes((goal.numbers + step) % classes), maps)
    pairs = zip(maps, others, strict=True)
    return [ssim(one.double().cpu().numpy(), other.double().cpu().numpy()) for one, other in pairs]


_AGAIN: dict[str, Callable[[_Asked, list[Tensor]], list[Floats]]] = {
    "max_sensitivity": _max_sensitivity,
    "random_logit": _random_logit,
}
