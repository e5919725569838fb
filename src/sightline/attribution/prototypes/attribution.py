"""Attribution: which pixels make a cell similar to a prototype, by several ways to say so."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias
from zlib import crc32

import torch
from torch.nn import functional

from sightline.attribution.methods.methods import check_number, check_whole
from sightline.attribution.methods.noise import draw_noise, noise_source
from sightline.attribution.prototypes.matches import cell_similarities, first_maxima
from sightline.core import InputError
from sightline.core.checks import check_choice
from sightline.core.registry import Registry, over_defaults
from sightline.models import prototypes_of
from sightline.models.hooks import undisturbed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from torch import Tensor

    from sightline.models import Model

__all__ = [
    "ATTRIBUTIONS",
    "AttributionSpec",
    "Attributed",
    "Job",
    "attribute",
    "scaled_values",
]

_NONE: Mapping[str, Any] = MappingProxyType({})
# Far finer than single precision, far coarser than rounding errors of double precision.
_STEPS = 2.0**40


class Attributed(NamedTuple):
    """Maps of pairs of image and prototype.

    Attributes
    ----------
    raw : Tensor (n, rows, columns)
        As the method gives them, on its own grid: similarities of cells, or gradients of pixels.
    values : Tensor (n, height, width)
        In [0, 1], for each pixel of the input: see `scaled_values`.

    Examples
    --------
    >>> import torch
    >>> raw = torch.tensor([[[3.0, 5.0]]])
    >>> found = Attributed(raw, scaled_values(raw, 1, 4))
    >>> found.raw.tolist(), found.values.tolist()
    ([[[3.0, 5.0]]], [[[0.0, 0.25, 0.75, 1.0]]])
    """

    raw: Tensor
    values: Tensor


class Job(NamedTuple):
    """What an attribution is asked for; n pairs of image and prototype.

    Attributes
    ----------
    model : Model
        With prototypes.
    pixels : Tensor (n, 3, height, width)
        What the network takes.
    prototypes : Tensor (n,)
        The prototype of each.
    cells : Tensor (n, 2)
        Row and column of the cell whose similarity is explained.
    params : mapping
        Parameters, complete and checked.
    keys : tuple of int
        A number for each image, from which random numbers are drawn.
    batch : int
        Images of a pass.
    maps : Tensor (n, rows, columns) or None
        Similarities of all cells, where they are known.
    """

    model: Model
    pixels: Tensor
    prototypes: Tensor
    cells: Tensor
    params: Mapping[str, Any]
    keys: tuple[int, ...]
    batch: int
    maps: Tensor | None = None

    def chunks(self) -> Iterator[Job]:
        """Yield the pairs that go through the network together."""
        for start in range(0, len(self.pixels), self.batch):
            part = slice(start, start + self.batch)
            yield self._replace(
                pixels=self.pixels[part],
                prototypes=self.prototypes[part],
                cells=self.cells[part],
                keys=self.keys[part],
                maps=None if self.maps is None else self.maps[part],
            )


Attribution: TypeAlias = "Callable[[Job], Tensor]"


@dataclass(frozen=True)
class AttributionSpec:
    """A way to say which pixels make a cell similar to a prototype.

    Attributes
    ----------
    name : str
        As given to `attribute`.
    function : callable
        Gives the raw maps of a job.
    what : str
        What the map shows, in one sentence.
    defaults, about : mapping
        Parameters with their default values, and what each means.
    citation : str
        Where it comes from.
    control : bool
        Whether it knows nothing of the model: what others are compared with.

    Examples
    --------
    >>> spec = ATTRIBUTIONS["smoothgrad"]
    >>> sorted(spec.defaults) == sorted(spec.about), spec.control
    (True, False)
    >>> [name for name, one in ATTRIBUTIONS.items() if one.control]
    ['random_gradient']
    """

    name: str
    function: Attribution = field(repr=False)
    what: str
    defaults: Mapping[str, Any] = field(default_factory=dict)
    about: Mapping[str, str] = field(default_factory=dict)
    citation: str = ""
    control: bool = False

    def with_defaults(self, given: Mapping[str, Any] = _NONE) -> dict[str, Any]:
        """Return the parameters, those given over the defaults; unknown and wrong ones raise."""
        found = over_defaults(given, self.defaults, f"parameter of attribution {self.name!r}")
        for name, value in given.items():
            _CHECKS[name](name, value)
        return found


ATTRIBUTIONS: Registry[AttributionSpec] = Registry("attribution")


def _register(name: str, **card: Any) -> Callable[[Attribution], Attribution]:
    def add(function: Attribution) -> Attribution:
        ATTRIBUTIONS.add(name, AttributionSpec(name, function, **card))
        return function

    return add


def attribute(
    model: Model,
    pixels: Tensor,
    prototypes: Tensor,
    cells: Tensor | str = "max",
    *,
    method: str = "upsampling",
    params: Mapping[str, Any] = _NONE,
    keys: Sequence[int] = (),
    batch: int = 32,
    similarities: Tensor | None = None,
) -> Attributed:
    """Return which pixels make images similar to prototypes.

    Parameters
    ----------
    model : Model
        With prototypes.
    pixels : Tensor (n, 3, height, width)
        What the network takes: the image of each pair.
    prototypes : Tensor (n,)
        The number of the prototype of each pair.
    cells : Tensor (n, 2) or "max"
        Row and column of the cell whose similarity is explained, as `best_matches` gives them; or
        the most similar cell of each.
    method : str
        One of `ATTRIBUTIONS`.
    params : mapping
        Parameters of the method, over its defaults.
    keys : sequence of int
        For each pair the number of its image, `Inputs.keys`, from which noise is drawn; follows
        from the pixels unless given.
    batch : int
        Images of a pass of the network.
    similarities : Tensor (n, rows, columns), optional
        Of all cells of each image to its prototype, where `similarity_maps` gave them already:
        saves passes.

    Examples
    --------
    >>> import torch
    >>> from sightline.models import load_model
    >>> model = load_model("demo/protopnet")
    >>> pixels = torch.zeros(2, 3, 224, 224)
    >>> found = attribute(model, pixels, torch.tensor([0, 5]))
    >>> tuple(found.raw.shape), tuple(found.values.shape)
    ((2, 14, 14), (2, 224, 224))
    """
    spec = ATTRIBUTIONS[method]
    complete = spec.with_defaults(params)
    if not isinstance(batch, int) or batch < 1:
        raise InputError(f"batch must be 1 or more, got {batch!r}")
    prototypes = _checked_prototypes(model, pixels, prototypes)
    with undisturbed(model.network), torch.no_grad():
        known = _checked_maps(similarities, pixels)
        places = _checked_cells(model, pixels, prototypes, cells, batch, known)
        numbers = _checked_keys(keys, pixels)
        job = Job(model, pixels, prototypes, places, complete, numbers, batch, known)
        raw = spec.function(job)
    height, width = pixels.shape[2:]
    return Attributed(raw, scaled_values(raw, height, width, complete.get("mode", "bilinear")))


def scaled_values(raw: Tensor, height: int, width: int, mode: str = "bilinear") -> Tensor:
    """Return maps `(n, rows, columns)` as values in [0, 1] for each pixel of the input.

    Each map goes from 0 (its least value) to 1 (its largest) on its own grid, and only then to the
    pixels; what cubic interpolation adds below 0 and above 1 is cut off. In the other order the
    dips around a peak become the zero, and all that is far from it a pedestal. A constant map has
    no least value to speak of: it stays constant, 1 where it is above 0, else 0.

    Parameters
    ----------
    raw : Tensor (n, rows, columns)
        The maps.
    height, width : int
        Of the result.
    mode : {"bilinear", "cubic"}
        How values between the centres of cells are found.

    Examples
    --------
    >>> import torch
    >>> scaled_values(torch.tensor([[[3.0, 5.0]]]), 1, 4).tolist()
    [[[0.0, 0.25, 0.75, 1.0]]]
    """
    _check_mode("mode", mode)
    raw = raw.float()
    low, high = raw.amin((1, 2), True), raw.amax((1, 2), True)
    constant = high == low
    scaled = (raw - low) / torch.where(constant, torch.ones_like(high), high - low)
    scaled = torch.where(constant, (raw > 0).float(), scaled)
    if raw.shape[1:] == (height, width):
        return scaled
    kind = "bicubic" if mode == "cubic" else "bilinear"
    spread = functional.interpolate(scaled[:, None].double(), (height, width), mode=kind)
    # What should be equal differs by rounding, and would rank at random: that is cut off first.
    return ((spread[:, 0] * _STEPS).round() / _STEPS).float().clamp(0, 1)


def _checked_prototypes(model: Model, pixels: Tensor, prototypes: Tensor) -> Tensor:
    """Return the numbers of prototypes, one for each image, on the device of the images."""
    count = prototypes_of(model).class_weights.shape[1]
    if pixels.ndim != 4 or pixels.shape[1] != 3 or not len(pixels):
        raise InputError(f"pixels must be (n, 3, height, width), got {tuple(pixels.shape)}")
    numbers = torch.as_tensor(prototypes, device=pixels.device)
    if numbers.shape != pixels.shape[:1] or numbers.is_floating_point():
        seen = f"{tuple(numbers.shape)} of {numbers.dtype}"
        raise InputError(f"prototypes must be whole numbers ({len(pixels)},), got {seen}")
    outside = numbers[(numbers < 0) | (numbers >= count)]
    if len(outside):
        wanted = f"prototype must be from 0 to {count - 1} for {model.name}"
        raise InputError(f"{wanted}, got {int(outside[0])}")
    return numbers.long()


def _checked_maps(maps: Tensor | None, pixels: Tensor) -> Tensor | None:
    """Return similarities that are known, or raise where they are not one map an image."""
    if maps is not None and (maps.ndim != 3 or len(maps) != len(pixels) or not maps.numel()):
        wanted = f"similarities must be ({len(pixels)}, rows, columns)"
        raise InputError(f"{wanted}, got {tuple(maps.shape)}")
    return maps


def _checked_cells(
    model: Model,
    pixels: Tensor,
    prototypes: Tensor,
    cells: Tensor | str,
    batch: int,
    known: Tensor | None,
) -> Tensor:
    """Return a cell for each pair; the most similar ones where "max" is asked for."""
    if isinstance(cells, str):
        if cells != "max":
            raise InputError(f"cells must be 'max' or (n, 2) rows and columns, got {cells!r}")
        maps = (
            [known]
            if known is not None
            else [
                _own_maps(model, pixels[start : start + batch], prototypes[start : start + batch])
                for start in range(0, len(pixels), batch)
            ]
        )
        return first_maxima(torch.cat(maps))
    places = torch.as_tensor(cells, device=pixels.device)
    if places.shape != (len(pixels), 2) or places.is_floating_point():
        seen = f"{tuple(places.shape)} of {places.dtype}"
        raise InputError(f"cells must be 'max' or ({len(pixels)}, 2) whole numbers, got {seen}")
    return places.long()


def _checked_keys(keys: Sequence[int], pixels: Tensor) -> tuple[int, ...]:
    """Return a number for each image; from its pixels where none is given."""
    if not len(keys):
        return tuple(crc32(image.cpu().float().numpy().tobytes()) for image in pixels)
    if len(keys) != len(pixels):
        raise InputError(f"keys must be one for each of {len(pixels)} images, got {len(keys)}")
    return tuple(int(key) for key in keys)


def _own_maps(model: Model, pixels: Tensor, prototypes: Tensor) -> Tensor:
    """Return of each image the similarities to its prototype: `(n, rows, columns)`."""
    found = cell_similarities(model, pixels)
    return found[torch.arange(len(pixels), device=pixels.device), prototypes.to(found.device)]


def _own_cells(job: Job, pixels: Tensor) -> Tensor:
    """Return of each image the similarity of its cell to its prototype: `(n,)`."""
    maps = _own_maps(job.model, pixels, job.prototypes)
    rows, columns = _on_grid(job.cells, maps)
    return maps[torch.arange(len(maps), device=maps.device), rows, columns]


def _on_grid(cells: Tensor, maps: Tensor) -> Tensor:
    """Return rows and columns of cells `(2, n)`; one that is not on the grid raises."""
    grid = maps.shape[1:]
    places = cells.to(maps.device)
    outside = ((places < 0) | (places >= places.new_tensor(grid))).any(1)
    if outside.any():
        seen = tuple(places[outside][0].tolist())
        raise InputError(f"cell must be a row and a column of {grid[0]}x{grid[1]}, got {seen}")
    return places.T


@_register(
    "upsampling",
    what="The similarities of all cells to the prototype, or the cell alone, spread over the "
    "pixels.",
    defaults={"mode": "bilinear", "location": "all"},
    about={
        "mode": "bilinear or cubic interpolation between the centres of cells",
        "location": "all cells with their similarities, or the cell alone: 1 there, 0 elsewhere",
    },
    citation="Chen et al. 2019, This looks like that, arXiv:1806.10574",
)
def _upsampling(job: Job) -> Tensor:
    """Return the similarities of the cells."""
    found = []
    for part in job.chunks():
        maps = part.maps
        if maps is None:
            maps = _own_maps(part.model, part.pixels, part.prototypes)
        rows, columns = _on_grid(part.cells, maps)
        if job.params["location"] == "cell":
            maps = torch.zeros_like(maps)
            maps[torch.arange(len(maps), device=maps.device), rows, columns] = 1
        found.append(maps)
    return torch.cat(found)


_CHANNELS = {"channels": "max"}
_CHANNELS_ABOUT = {"channels": "of a pixel's three absolute values: max or mean"}


@_register(
    "saliency",
    what="How much the similarity of the cell changes with each pixel: absolute gradients.",
    defaults=_CHANNELS,
    about=_CHANNELS_ABOUT,
    citation="Simonyan et al. 2014, arXiv:1312.6034",
)
def _saliency(job: Job) -> Tensor:
    """Return absolute gradients with respect to what the network takes."""
    return _joined(job, [_gradient(part, part.pixels) for part in job.chunks()])


@_register(
    "input_x_gradient",
    what="Each pixel, as the network takes it, times its gradient: absolute values. A pixel of "
    "the mean colour, and so padding, is 0.",
    defaults=_CHANNELS,
    about=_CHANNELS_ABOUT,
    citation="Shrikumar et al. 2017, arXiv:1605.01713",
)
def _input_x_gradient(job: Job) -> Tensor:
    """Return absolute products of pixels and gradients."""
    return _joined(job, [part.pixels * _gradient(part, part.pixels) for part in job.chunks()])


ATTRIBUTIONS.rename("gradient_x_input", "input_x_gradient")  # as older results have it


@_register(
    "smoothgrad",
    what="The gradient averaged over noisy copies of the image, then taken as in saliency.",
    defaults={"samples": 10, "noise": 0.2, "seed": 0, **_CHANNELS},
    about={
        "samples": "noisy copies of each image",
        "noise": "standard deviation, as a share of the range of the image's values",
        "seed": "whole number; with the image it decides the noise",
        **_CHANNELS_ABOUT,
    },
    citation="Smilkov et al. 2017, arXiv:1706.03825",
)
def _smoothgrad(job: Job) -> Tensor:
    """Return the mean gradient over noisy copies; each image has noise of its own."""
    totals = []
    for part in job.chunks():
        pixels, sources = part.pixels, _sources(part)
        spread = pixels.amax((1, 2, 3), True) - pixels.amin((1, 2, 3), True)
        total = torch.zeros_like(pixels)
        for _ in range(job.params["samples"]):
            noisy = pixels + job.params["noise"] * spread * draw_noise(sources, pixels)
            total += _gradient(part, noisy)
        totals.append(total / job.params["samples"])
    return _joined(job, totals)


@_register(
    "random_gradient",
    what="Random numbers in the place of gradients: what saliency would show of no model at all.",
    defaults={"seed": 0, **_CHANNELS},
    about={"seed": "whole number; with the image it decides the map", **_CHANNELS_ABOUT},
    citation="Xu-Darme et al. 2023, Sanity checks for patch visualisation, arXiv:2311.16120",
    control=True,
)
def _random_gradient(job: Job) -> Tensor:
    """Return absolute normal numbers; the network is not asked."""
    return _joined(job, [draw_noise(_sources(job), job.pixels)])


def _gradient(job: Job, pixels: Tensor) -> Tensor:
    """Return the gradient of the similarity of each cell with respect to the pixels."""
    leaf = pixels.detach().clone().requires_grad_()
    with torch.enable_grad():
        score = _own_cells(job, leaf).sum()
        if not score.requires_grad:
            raise InputError(f"{job.model.name}: similarities do not depend on the pixels")
    return torch.autograd.grad(score, leaf)[0]


def _joined(job: Job, gradients: list[Tensor]) -> Tensor:
    """Return one value a pixel: the largest or the mean of the absolute ones of its channels."""
    sizes = torch.cat(gradients).float().abs()
    return sizes.amax(1) if job.params["channels"] == "max" else sizes.mean(1)


def _sources(job: Job) -> list[torch.Generator]:
    """Return the source of random numbers of each image."""
    return [noise_source(key, job.params["seed"]) for key in job.keys]


def _check_mode(name: str, value: Any) -> None:
    check_choice(name, value, ("bilinear", "cubic"))


_CHECKS: dict[str, Callable[[str, Any], object]] = {
    "mode": _check_mode,
    "location": lambda name, value: check_choice(name, value, ("all", "cell")),
    "channels": lambda name, value: check_choice(name, value, ("max", "mean")),
    "samples": lambda name, value: check_whole(name, value, 1),
    "seed": check_whole,
    "noise": lambda name, value: check_number(name, value, 0, 100),
}
