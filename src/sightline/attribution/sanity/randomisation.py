"""Whether maps change when what the network learnt is replaced by random numbers.

The maps of the trained network are compared with those of the same network, of which some stages
were drawn anew (Adebayo et al. 2018, Sanity checks for saliency maps, arXiv:1810.03292). What is
explained stays the same: the class that the trained network predicts, whatever the random one
would say. Beside this stand the same similarities to maps of other images, to the edges of the
image, and to maps of a network that was trained once more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import count
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from sightline.attribution.methods import METHODS, explain
from sightline.attribution.sanity._outputs import check_own_maps, explained, predicted
from sightline.attribution.sanity._prepared_model import Prepared
from sightline.attribution.sanity.redraw import redrawing
from sightline.attribution.sanity.similarity import Views, compare, resized
from sightline.attribution.sanity.stages import stages_of
from sightline.attribution.sanity.table import WAYS, Row
from sightline.core import InputError
from sightline.core.lru_cache import Kept
from sightline.core.raster import mask_pixels
from sightline.models.hooks import undisturbed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from torch import nn

    from sightline.attribution.methods import Maps
    from sightline.attribution.sanity.stages import Stage
    from sightline.attribution.sanity.table import Job
    from sightline.core import Sample
    from sightline.core.geometry import Geometry
    from sightline.models import Model

__all__ = ["randomised_rows", "reference_rows", "steps_of"]

Grid: TypeAlias = NDArray[np.float32]
# Targets that every network has of its own, for every image.
_OWN = ("embedding", "detection")
# The maps of one image, one for each layer; None where the method found that it does not hold.
Layers: TypeAlias = "Sequence[Grid | None]"


def randomised_rows(job: Job, samples: Sequence[Sample]) -> list[Row]:
    """Return how alike maps of a trained and of a randomised network are, stage by stage.

    Parameters
    ----------
    job : Job
        Its check is "randomisation/WAY/SEED": all stages at once ("full"), from output to input or
        the other way, each beside those before ("top-down", "bottom-up"), or each alone
        ("single").
    samples : sequence of Sample
        The images.

    Returns
    -------
    list of Row
        For each stage, image and layer `spearman`, `ssim`, `hog` and `overlap` of the raw maps; of
        a method whose maps have signs, the same of absolute values (`spearman_abs`, …); and
        `correct`: 1 where the randomised network predicts the label, NaN without one. A method
        that finds that it does not hold for the randomised network (DeepLIFT, LRP) gives NaN.

    Raises
    ------
    InputError
        If the check is none of these, or the method is made of other images' maps.

    Notes
    -----
    A target "embedding" means each network's own; so does "detection" that of a detector.
    """
    way, seed = _asked(job)
    rows: list[Row] = []
    with undisturbed(job.model.network):  # the turn of this thread, from the first map to the last
        seen = _seen(job, samples)
        trained = _trained(job, samples, seen)
        own = _Shown.of(job, trained.maps)
        whole = _STAGES.get(seen, lambda: stages_of(job.model))
        once = replace(job, model=Prepared.of(job.model))
        with redrawing(job.model, seed) as draw:
            for place, (name, stages) in enumerate(steps_of(way, whole)):
                check = f"{job.check}/{place:02d}-{name}"
                draw(stages)
                maps = _tried(once, samples, trained.target)
                right = _RIGHT.get(f"{seen} {check}", lambda: _right(once, samples))
                rows += own.rows(check, samples, maps)
                rows += _correct_rows(job, check, samples, right)
    return rows


def reference_rows(
    job: Job, samples: Sequence[Sample], partners: Mapping[int, Sequence[Sample]]
) -> list[Row]:
    """Return what similarities of a randomised network are to be set beside.

    Parameters
    ----------
    job : Job
        Its option "training", if there is one, has the same network trained from other seeds, by
        name.
    samples : sequence of Sample
        The images.
    partners : mapping of int to sequence of Sample
        By seed, another image for each.

    Returns
    -------
    list of Row
        Of the trained network: similarities of each image's map to that of its partner, which
        explains the partner's own prediction (``reference/cross/SEED``), to the edges of the image
        (``reference/edge``) and to the map of another training (``reference/training/NAME``); and
        whether it predicts the label (``reference/trained``).
    """
    with undisturbed(job.model.network):
        seen = _seen(job, samples)
        trained = _trained(job, samples, seen)
        own = _Shown.of(job, trained.maps)
        rows: list[Row] = []
        for seed, maps in _partner_maps(job, samples, trained, partners).items():
            rows += own.rows(f"reference/cross/{seed}", samples, maps)
        edges = _crops(explain(job.model, list(samples), "edge", batch=job.batch))
        on_all = [one * len(job.layers) for one in edges]
        rows += own.rows("reference/edge", samples, on_all)
        right = _RIGHT.get(f"{seen} reference/trained", lambda: _right(job, samples))
        rows += _correct_rows(job, "reference/trained", samples, right)
    for name, other in job.options.get("training", {}).items():
        target = _translated(job.model, other, trained.target)
        maps = _maps(replace(job, model=other), samples, target)
        rows += own.rows(f"reference/training/{name}", samples, maps)
    return rows


def steps_of(way: str, stages: Sequence[Stage]) -> list[tuple[str, tuple[Stage, ...]]]:
    """Return what is randomised step by step: the name of each step, and the stages.

    Examples
    --------
    >>> from sightline.attribution.sanity.stages import Stage
    >>> stages = [Stage("head", ("w",)), Stage("layer0", ("v",))]
    >>> [(name, len(some)) for name, some in steps_of("bottom-up", stages)]
    [('layer0', 1), ('head', 2)]
    """
    if way not in WAYS:
        raise InputError(f"way must be one of {', '.join(WAYS)}, got {way!r}")
    if way == "full":
        return [("all", tuple(stages))]
    if way == "single":
        return [(stage.name, (stage,)) for stage in stages]
    order = tuple(stages) if way == "top-down" else tuple(reversed(stages))
    return [(stage.name, order[: place + 1]) for place, stage in enumerate(order)]


def _asked(job: Job) -> tuple[str, int]:
    """Return the way and the seed of a job."""
    parts = job.check.split("/")
    if len(parts) != 3 or parts[0] != "randomisation" or not parts[2].isdecimal():
        raise InputError(f"check must be 'randomisation/WAY/SEED', got {job.check!r}")
    return parts[1], int(parts[2])


@dataclass(frozen=True, eq=False)
class _Trained:
    """What the trained network says: maps by image and layer, and what they explain."""

    maps: list[list[Grid]]
    target: Any


# By network, weights and images: maps of the trained network and its stages, for its other
# redraws; and what a redrawn one predicts, for the other methods.
_MAPS = Kept[_Trained](4)
_STAGES = Kept[tuple["Stage", ...]](16)
_RIGHT = Kept[list[float]](4096)
# Networks by number: two may have the same weights and yet compute another thing.
_NUMBERS: WeakKeyDictionary[nn.Module, int] = WeakKeyDictionary()
_NEXT = count()


def _trained(job: Job, samples: Sequence[Sample], seen: str) -> _Trained:
    """Return the maps of the trained network, from the last calls where they are the same."""
    check_own_maps(job.method)

    def made() -> _Trained:
        target = _target(job, samples)
        return _Trained(_maps(job, samples, target), target)

    asked = job.method, sorted(job.params.items()), job.layers, job.target
    return _MAPS.get(f"{seen} {asked!r}", made)


def _seen(job: Job, samples: Sequence[Sample]) -> str:
    """Return a digest of the trained network and what it is shown."""
    model = job.model
    loaded_as = _loaded_as(model), model.classes, model.preprocess, str(model.device)
    total = sha256(repr((*loaded_as, model.digest, job.batch)).encode())
    for sample in samples:
        pixels = sample.image()
        total.update(repr((pixels.shape, sample.labels)).encode())
        total.update(np.ascontiguousarray(pixels).tobytes())
    return total.hexdigest()


def _loaded_as(model: Model) -> tuple[Any, ...]:
    """Return which network it is, and how it is read; inputs of any size share these."""
    if model.network not in _NUMBERS:
        _NUMBERS[model.network] = next(_NEXT)
    names = {id(module): name for name, module in model.network.named_modules()}
    layers = [names.get(id(layer)) for layer in (*model.layers, *model.cam_layers)]
    read = model.patch, model.prefix, model.suffix, model.heads, model.detects, id(model.forward)
    return model.name, _NUMBERS[model.network], layers, *read


def _target(job: Job, samples: Sequence[Sample]) -> Any:
    """Return what maps explain, fixed for all stages: classes by number, where they are."""
    if not METHODS[job.method].explains:
        return "predicted"
    if job.target in ("", "predicted") and job.model.classes:
        return predicted(job.model, samples, job.batch)
    return job.target or "predicted"


def _translated(model: Model, other: Model, target: Any) -> Any:
    """Return a target of one model as another calls it."""
    if not isinstance(target, list) or model.classes == other.classes:
        return target
    return [other.class_index(model.classes[number]) for number in target]


def _maps(job: Job, samples: Sequence[Sample], target: Any) -> list[list[Grid]]:
    """Return the maps of images, of what is image on them."""
    return _crops(explained(job, samples, target))


def _tried(job: Job, samples: Sequence[Sample], target: Any) -> Sequence[Layers]:
    """Return the maps of a randomised network; None for images that the method gives up.

    It did not give up the trained network: what it finds now is in the weights.
    """
    try:
        return _maps(job, samples, target)
    except InputError:
        if len(samples) == 1:
            return [[None] * len(job.layers)]
    found: list[Layers] = []
    for place, sample in enumerate(samples):
        one = target[place : place + 1] if isinstance(target, list) else target
        found += _tried(job, [sample], one)
    return found


def _crops(maps: Maps) -> list[list[Grid]]:
    """Return the maps of each image, without the cells that are padding."""
    return [
        [_content(layer[0], way) for layer, way in zip(image, ways, strict=True)]
        for image, ways in zip(maps.values, maps.geometries, strict=True)
    ]


def _content(values: Grid, geometry: Geometry) -> Grid:
    if np.array_equal(geometry.content, (0, 0, *geometry.size)):
        return values
    seen = mask_pixels(geometry.content_mask())
    if seen is None:
        return values
    x0, y0, x1, y1 = seen
    return values[y0:y1, x0:x1]


def _partner_maps(
    job: Job,
    samples: Sequence[Sample],
    trained: _Trained,
    partners: Mapping[int, Sequence[Sample]],
) -> dict[int, list[list[Grid]]]:
    """Return the maps of the partners by seed; each image is explained once."""
    for seed, some in partners.items():
        if len(some) != len(samples):
            wanted = f"one for each of {len(samples)} images"
            raise InputError(f"partners of seed {seed} must be {wanted}, got {len(some)}")
    known: dict[str, list[Grid]] = {}
    if job.target in ("", "predicted", *_OWN):
        ids = (sample.image_id for sample in samples)
        known.update(zip(ids, trained.maps, strict=True))
    named = {one.image_id: one for some in partners.values() for one in some}
    missing = [one for name, one in named.items() if name not in known]
    if missing:
        own = job if job.target in _OWN else replace(job, target="predicted")
        found = _maps(own, missing, _target(own, missing))
        known.update(zip((one.image_id for one in missing), found, strict=True))
    return {seed: [known[one.image_id] for one in some] for seed, some in partners.items()}


class _Shown:
    """Maps of some images, to be compared with other maps of each.

    Parameters
    ----------
    maps : sequence of sequences of arrays
        By image and layer.
    layers : tuple of int or None
        Their numbers.
    readings : tuple of str
        "" for raw values, "_abs" for absolute ones.
    """

    def __init__(
        self,
        maps: Sequence[Sequence[Grid]],
        layers: tuple[int | None, ...],
        readings: tuple[str, ...],
    ) -> None:
        self.layers, self.readings = layers, readings
        self._groups = [list(_by_shape([image[place] for image in maps])) for place in _all(layers)]
        self._views = [
            [{way: Views.of(_read(stack, way)) for way in readings} for _, stack in groups]
            for groups in self._groups
        ]

    @classmethod
    def of(cls, job: Job, maps: Sequence[Sequence[Grid]]) -> _Shown:
        """Return the maps of a job, read as its method's are."""
        signed = METHODS[job.method].sign != "positive"
        return cls(maps, job.layers, ("", "_abs") if signed else ("",))

    def rows(self, check: str, samples: Sequence[Sample], others: Sequence[Layers]) -> list[Row]:
        """Return the similarities to other maps, one for each image and layer."""
        found: list[Row] = []
        for place, layer in enumerate(self.layers):
            values = self._compared(place, [image[place] for image in others])
            found += [
                Row(sample.image_id, layer, check, metric, "", float(column[number]))
                for number, sample in enumerate(samples)
                for metric, column in values.items()
            ]
        return found

    def _compared(self, place: int, others: Layers) -> dict[str, NDArray[np.float64]]:
        values: dict[str, NDArray[np.float64]] = {}
        for (images, stack), views in zip(self._groups[place], self._views[place], strict=True):
            there = np.stack([_fitted(others[image], stack.shape[1:]) for image in images])
            for way in self.readings:
                for name, some in compare(views[way], Views.of(_read(there, way))).items():
                    column = values.setdefault(name + way, np.full(len(others), np.nan))
                    column[images] = some
        return values


def _all(layers: tuple[int | None, ...]) -> range:
    return range(len(layers))


def _by_shape(maps: Sequence[Grid]) -> Iterator[tuple[list[int], NDArray[np.float64]]]:
    """Yield the places of maps of one shape, and the maps in one array."""
    shapes = [one.shape for one in maps]
    for shape in dict.fromkeys(shapes):
        places = [place for place, seen in enumerate(shapes) if seen == shape]
        yield places, np.stack([np.asarray(maps[place], np.float64) for place in places])


def _read(maps: NDArray[np.float64], way: str) -> NDArray[np.float64]:
    found: NDArray[np.float64] = np.abs(maps) if way else maps
    return found


def _fitted(values: Grid | None, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return a map on a grid of so many rows and columns; NaN where there is no map."""
    if values is None:
        return np.full(shape, np.nan)
    found: NDArray[np.float64] = np.asarray(values, np.float64)[None]
    return np.asarray(resized(found, (shape[0], shape[1]))[0])


def _right(job: Job, samples: Sequence[Sample]) -> list[float]:
    """Return for each image whether the network predicts its label; NaN where it has none."""
    model = job.model
    labels = [_label(model, sample) for sample in samples]
    if all(label is None for label in labels):
        return [float("nan")] * len(samples)
    logits = model.logits(list(samples), batch=job.batch)
    sure = logits.isfinite().all(1).tolist()
    return [
        float(said == label) if finite and label is not None else float("nan")
        for said, label, finite in zip(logits.argmax(1).tolist(), labels, sure, strict=True)
    ]


def _label(model: Model, sample: Sample) -> int | None:
    known = [label for label in sample.labels if label in model.classes]
    return model.classes.index(known[0]) if len(known) == 1 else None


def _correct_rows(
    job: Job, check: str, samples: Sequence[Sample], right: Sequence[float]
) -> list[Row]:
    return [
        Row(sample.image_id, layer, check, "correct", "", value)
        for sample, value in zip(samples, right, strict=True)
        for layer in job.layers
    ]
