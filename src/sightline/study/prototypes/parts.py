"""The work of a benchmark's parts: some images, or some prototypes, in; rows out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from sightline.core import InputError, Sample
from sightline.core.choices import get_scoring_sign
from sightline.store.prototypes import drops_schema, relevance_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray
    from torch import Tensor

    from sightline.attribution.prototypes import Attributed
    from sightline.attribution.prototypes.local import Score
    from sightline.models import Inputs, Model
    from sightline.models.prototypes import Source
    from sightline.study.config.benchmark import (
        Benchmark,
        DataChoice,
        LocalPerturbationAnalysis,
        RelevanceAnalysis,
    )

    Save = Callable[[str, NDArray[np.uint8]], object]

__all__ = [
    "BenchmarkJob",
    "Group",
    "Taken",
    "drop_rows",
    "groups_of",
    "is_by_class",
    "own_sources",
    "patch_rows",
    "prototype_rows",
    "told_sources",
]


@dataclass(frozen=True, eq=False)
class BenchmarkJob:
    """What is to be analysed, and how.

    Attributes
    ----------
    config : Benchmark
        Which analyses.
    model : Model
        Whose prototypes, or any classifier where the score is the logit of a class.
    data : DataChoice
        The images.
    projection : DataChoice or None
        The images that prototypes are looked for on; unless given, those that the model says its
        prototypes are from, or the split "train" of the data.
    attribution : str
        Which pixels make a cell similar: a name of `sightline.attribution.prototypes.ATTRIBUTIONS`.
    method : str or None
        How maps of a class are made, where its logit is the score: a name of `METHODS`.
    params : mapping
        Parameters of the method if there is one, else of the attribution.
    batch : int
        Images in a pass. It belongs to the settings: rounding differs between batches.
    """

    config: Benchmark
    model: Model
    data: DataChoice
    projection: DataChoice | None = None
    attribution: str = "upsampling"
    method: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    batch: int = 32


class Taken(NamedTuple):
    """Where a prototype was taken from: number of the image in its set, the image, and the cell."""

    prototype: int
    img_id: int
    sample: Sample
    cell: tuple[int, int]


class Group(NamedTuple):
    """Images of one size with what the network takes, and what it says of them.

    Attributes
    ----------
    places : range
        Where they are among the images that were asked for.
    quick : Model
        Gives the similarities of many images in less time.
    maps : Tensor (images, prototypes, rows, columns)
        Similarities; empty where nothing is asked of prototypes.
    logits : Tensor (images, classes)
        Without columns where the model has no classes.
    made : dict
        Pairs with their attributions, by how many prototypes of each image are analysed and
        whether only those of the predicted class are considered.
    """

    places: range
    samples: tuple[Sample, ...]
    inputs: Inputs
    quick: Model
    maps: Tensor
    logits: Tensor
    predicted: tuple[str | None, ...]
    made: dict[tuple[int, bool], tuple[_Pairs, Attributed]]


class _Pairs(NamedTuple):
    """Pairs of an image and a prototype, or a class.

    Attributes
    ----------
    images : Tensor (n,)
        Place of the image in its group.
    prototypes : Tensor (n,)
        Number of the prototype or class.
    cells : Tensor (n, 2)
        Row and column of the cell; a class has none: (n, 0).
    """

    images: Tensor
    prototypes: Tensor
    cells: Tensor


def told_sources(model: Model) -> tuple[Source, ...]:
    """Return where the model itself says that its prototypes are from; none where it does not."""
    from sightline.models.prototypes import Source

    sources: Any = getattr(model.network, "sources", ())
    known = bool(sources) and all(isinstance(one, Source) for one in sources)
    return tuple(sources) if known else ()


def own_sources(model: Model) -> list[Taken]:
    """Return the images that the model says its prototypes are from, drawn again."""
    sources = told_sources(model)
    several = len({one.seed for one in sources}) > 1
    return [
        Taken(number, one.index, _drawn(one.seed, one.index, several), one.cell)
        for number, one in enumerate(sources)
    ]


def _drawn(seed: int, index: int, several: bool) -> Sample:
    """Return a facade; its name tells the seed where there are several."""
    from sightline.data.facades import Facade

    facade = Facade.generate(seed, index)
    name = f"facade-{seed}-{index:05}.png" if several else f"facade-{index:05}.png"
    return Sample(name, facade.annotation(image_id=name), "", None, facade.image)


def groups_of(asked: BenchmarkJob, samples: Sequence[Sample]) -> tuple[Group, ...]:
    """Return images in groups of one size, at most as many as go through the network at once."""
    found: list[Group] = []
    done = 0
    for inputs in asked.model.batches(list(samples), asked.batch):
        places = range(done, done + len(inputs.pixels))
        quick, maps, logits = _said(asked, inputs)
        names = asked.model.classes
        predicted: tuple[str | None, ...] = (None,) * len(places)
        if names:
            predicted = tuple(names[number] for number in logits.argmax(1).tolist())
        own = tuple(samples[at] for at in places)
        found.append(Group(places, own, inputs, quick, maps, logits, predicted, {}))
        done = places.stop
    return tuple(found)


def _said(asked: BenchmarkJob, inputs: Inputs) -> tuple[Model, Tensor, Tensor]:
    """Return the model for many passes, the similarities of images, and their logits.

    One pass gives both where the network tells what follows from similarities.
    """
    import torch

    from sightline.attribution.prototypes.matches import similarity_maps
    from sightline.attribution.prototypes.quick import quickened
    from sightline.models.hooks import undisturbed
    from sightline.models.prototypes import PrototypeNetwork

    model, pixels = asked.model, inputs.pixels
    quick, network = model, model.network
    maps = pixels.new_empty((len(pixels), 0, 0, 0))
    logits = torch.empty(len(pixels), 0)
    if not is_by_class(asked):
        quick = quickened(model, pixels)
        maps = similarity_maps(quick, pixels)
    if model.classes:
        with undisturbed(network), torch.no_grad():
            known = isinstance(network, PrototypeNetwork) and maps.numel() > 0
            found = network.classify(maps) if known else model(pixels).logits
            logits = torch.as_tensor(found)
    return quick, maps, logits


def is_by_class(asked: BenchmarkJob) -> bool:
    """Say whether nothing is asked of prototypes."""
    return asked.method is not None and asked.config.relevance_analysis is None


def _label(group: Group, at: int, classes: Sequence[str]) -> str | None:
    """Return the label of an image that the model knows: the one predicted if it has several."""
    known = [label for label in group.samples[at].labels if label in classes]
    said = group.predicted[at]
    return said if said in known else known[0] if known else None


def _row(
    asked: BenchmarkJob, group: Group, pairs: _Pairs, at: int, ids: Sequence[int]
) -> dict[str, Any]:
    """Return what all tables tell of a pair."""
    image = int(pairs.images[at])
    cell = pairs.cells[at].tolist() or (None, None)
    return {
        "img_id": ids[group.places[image]],
        "image": group.samples[image].image_id,
        "proto_idx": int(pairs.prototypes[at]),
        "row": cell[0],
        "column": cell[1],
        "label": _label(group, image, asked.model.classes),
        "predicted": group.predicted[image],
    }


# --- relevance ------------------------------------------------------------------------------------


def prototype_rows(
    asked: BenchmarkJob,
    section: RelevanceAnalysis,
    taken: Sequence[Taken],
    save: Save | None = None,
) -> pa.Table:
    """Return how relevant prototypes are, on the images they were taken from."""
    import torch

    from sightline.attribution.prototypes.matches import first_maxima

    look = _Look("prototype", [one.img_id for one in taken], section.area_percentage, save)

    rows: list[dict[str, Any]] = []
    for group in groups_of(asked, [one.sample for one in taken]):
        own = [taken[at] for at in group.places]
        device = group.inputs.pixels.device
        images = torch.arange(len(own), device=device)
        prototypes = torch.tensor([one.prototype for one in own], device=device)
        cells = torch.tensor([one.cell for one in own], device=device)
        _check_cells(asked.model, cells, group.maps)
        if section.prototype_cell == "most_similar":
            cells = first_maxima(group.maps[images, prototypes])
        pairs = _Pairs(images, prototypes, cells)
        rows += _relevance_rows(asked, group, pairs, _attributed(asked, group, pairs), look)
    return _table(rows, relevance_schema())


def patch_rows(
    asked: BenchmarkJob,
    section: RelevanceAnalysis,
    ids: Sequence[int],
    groups: Sequence[Group],
    save: Save | None = None,
) -> pa.Table:
    """Return how relevant the patches of images are that are most similar to prototypes."""
    look = _Look("patch", ids, section.area_percentage, save)
    rows: list[dict[str, Any]] = []
    for group in groups:
        if _has_pairs(asked, group, section):
            pairs, found = _matched(asked, group, section)
            rows += _relevance_rows(asked, group, pairs, found, look)
    return _table(rows, relevance_schema())


def _table(rows: list[dict[str, Any]], schema: pa.Schema) -> pa.Table:
    import pyarrow as pa

    return pa.Table.from_pylist(rows, schema)


def _matched(
    asked: BenchmarkJob, group: Group, section: RelevanceAnalysis | LocalPerturbationAnalysis
) -> tuple[_Pairs, Attributed]:
    """Return the most similar prototypes of each image of a group, and which pixels make them so.

    What was made for one analysis is there for the other.
    """
    key = section.num_prototypes, section.class_specific
    if key not in group.made:
        pairs = _find_similar_pairs(asked, group, *key)
        group.made[key] = pairs, _attributed(asked, group, pairs)
    return group.made[key]


def _has_pairs(
    asked: BenchmarkJob, group: Group, section: RelevanceAnalysis | LocalPerturbationAnalysis
) -> bool:
    """Return whether any image of a group has a prototype to analyse."""
    return not section.class_specific or len(_find_similar_pairs(asked, group, 1, True).images) > 0


def _find_similar_pairs(
    asked: BenchmarkJob, group: Group, count: int, class_specific: bool
) -> _Pairs:
    """Return the most similar prototypes of each image: of all, or of the predicted class."""
    import torch

    from sightline.attribution.prototypes.matches import find_matches

    classes = group.logits.argmax(1) if class_specific else None
    found = find_matches(asked.model, group.maps, count, classes)
    images = torch.arange(len(group.places), device=found.prototypes.device)
    prototypes = found.prototypes.flatten()
    keep = prototypes >= 0  # a class may have fewer
    return _Pairs(
        images.repeat_interleave(found.prototypes.shape[1])[keep],
        prototypes[keep],
        found.cells.flatten(0, 1)[keep],
    )


def _attributed(asked: BenchmarkJob, group: Group, pairs: _Pairs) -> Attributed:
    """Return which pixels make the pairs similar."""
    from sightline.attribution.prototypes.attribution import attribute

    return attribute(
        asked.model,
        group.inputs.pixels[pairs.images],
        pairs.prototypes,
        pairs.cells,
        method=asked.attribution,
        params={} if asked.method else asked.params,
        keys=[group.inputs.keys[image] for image in pairs.images.tolist()],
        batch=asked.batch,
        similarities=group.maps[pairs.images, pairs.prototypes],
    )


class _Look(NamedTuple):
    """How relevance is looked at: of what, the numbers of all images, the area, where to save."""

    kind: str
    ids: Sequence[int]
    area: float
    save: Save | None


def _relevance_rows(
    asked: BenchmarkJob, group: Group, pairs: _Pairs, found: Attributed, look: _Look
) -> Iterator[dict[str, Any]]:
    """Yield the relevance of pairs."""
    import numpy as np

    from sightline.attribution.prototypes.relevance import masks_of, relevance

    scores, order = _scores(group, pairs).tolist(), pairs.images.tolist()
    both = [masks_of(*each) for each in zip(group.samples, group.inputs.geometries, strict=True)]
    on, counted = (np.stack(masks)[order] for masks in zip(*both, strict=True))
    relevant = relevance(found, on, look.area, counted)
    reasons = relevant.reasons
    for at in range(len(order)):
        row = _row(asked, group, pairs, at, look.ids)
        if look.save is not None:
            name = f"relevance/{look.kind}_{row['img_id']:06}_{row['proto_idx']:04}"
            image = _unit(asked, group)[order[at]]
            look.save(name, _relevance_picture(image, found.values[at], on[at]))
        yield row | {
            "kind": look.kind,
            "score": scores[at],
            "mask_relevance": float(relevant.mask[at]),
            "energy_relevance": float(relevant.energy[at]),
            "energy_raw": float(relevant.energy_raw[at]),
            "chance": float(relevant.chance[at]),
            "reason": reasons[at],
        }


def _unit(asked: BenchmarkJob, group: Group) -> Tensor:
    """Return the images of a group as the network sees them, from 0 to 1."""
    from sightline.attribution.prototypes.matches import unit_images

    return unit_images(asked.model, group.inputs)


def _scores(group: Group, pairs: _Pairs) -> Tensor:
    """Return the similarity of each pair at its cell."""
    rows, columns = pairs.cells.T
    return group.maps[pairs.images, pairs.prototypes, rows, columns].double()


def _check_cells(model: Model, cells: Tensor, maps: Tensor) -> None:
    """Raise where a prototype is said to be from outside the grid, as after a change of fit."""
    for row, column in cells.tolist():
        if not (0 <= row < maps.shape[2] and 0 <= column < maps.shape[3]):
            grid = f"{maps.shape[2]} x {maps.shape[3]}"
            raise InputError(
                f"{model.name} says that a prototype is from cell {row}, {column}, but its grid "
                f"is {grid}: give the images that prototypes are looked for on (projection)"
            )


def _relevance_picture(image: Tensor, values: Tensor, on: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Return the attribution over the image, beside the image with all but the object dark."""
    import numpy as np

    from sightline.attribution.prototypes.views import heatmap

    picture = image.permute(1, 2, 0).cpu().numpy()
    alone = _eight_bits(picture * np.where(on, 1.0, 0.25)[..., None])
    return np.concatenate([heatmap(picture, values.cpu().numpy()), alone], axis=1)


def _eight_bits(picture: NDArray[Any]) -> NDArray[np.uint8]:
    """Return a picture from 0 to 1 in 8 bits, rounded."""
    import numpy as np

    rounded: NDArray[np.uint8] = np.rint(np.clip(picture, 0, 1) * 255).astype(np.uint8)
    return rounded


# --- drops ----------------------------------------------------------------------------------------


def drop_rows(
    asked: BenchmarkJob,
    section: LocalPerturbationAnalysis,
    ids: Sequence[int],
    groups: Sequence[Group],
    save: Save | None = None,
) -> pa.Table:
    """Return the scores of images before and after perturbations."""
    from sightline.attribution.prototypes.local import perturbed_scores

    made = section.made()
    rows: list[dict[str, Any]] = []
    for group in groups:
        if asked.method is None and not _has_pairs(asked, group, section):
            continue
        pairs, values, score = _scored(asked, group, section)
        images = _unit(asked, group)[pairs.images]
        found = perturbed_scores(
            score, images, values, made, dual=section.enable_dual_mode,
            whole=section.enable_global_mode, batch=asked.batch,
        )  # fmt: skip
        size = {"height": int(images.shape[2]), "width": int(images.shape[3])}
        told = [_row(asked, group, pairs, at, ids) | size for at in range(len(images))]
        for at, row in enumerate(told):
            rows += _perturbed_rows(row, at, found, made)
        if save is not None:
            _save_perturbed(section, told, images, values, save)
    return _table(rows, drops_schema())


def _perturbed_rows(
    row: Mapping[str, Any], at: int, found: Any, made: Sequence[Any]
) -> Iterator[dict[str, Any]]:
    """Yield a row for each perturbation of a pair; what was not asked for is missing."""
    names = ("focused", "dual", "whole", "squared_distance", "dual_squared_distance")
    for place, perturbation in enumerate(made):
        values = {
            name: None if (all_ := getattr(found, name)) is None else float(all_[at, place])
            for name in names
        }
        yield {
            **row,
            **values,
            "perturbation": perturbation.name,
            "description": perturbation.description,
            "original_score": float(found.original[at]),
        }


def _scored(
    asked: BenchmarkJob, group: Group, section: LocalPerturbationAnalysis
) -> tuple[_Pairs, Tensor, Score]:
    """Return pairs, their maps from 0 to 1, and what gives their scores."""
    from sightline.attribution.prototypes.local import class_score, prototype_score

    if asked.method is None:
        pairs, found = _matched(asked, group, section)
        return pairs, found.values, prototype_score(group.quick, pairs.prototypes, pairs.cells)
    pairs = _likely(group, section.num_prototypes)
    values = _class_maps(asked, asked.method, group, pairs)
    return pairs, values, class_score(asked.model, pairs.prototypes)


def _likely(group: Group, count: int) -> _Pairs:
    """Return the most likely classes of each image; equal ones by number."""
    import torch

    order = group.logits.argsort(dim=1, descending=True, stable=True)[:, :count]
    images = torch.arange(len(order), device=order.device).repeat_interleave(order.shape[1])
    return _Pairs(images, order.flatten(), images.new_empty((len(images), 0)))


def _class_maps(asked: BenchmarkJob, method: str, group: Group, pairs: _Pairs) -> Tensor:
    """Return maps of classes from 0 to 1; of signed ones what is above 0, as in scores."""
    import numpy as np
    import torch

    from sightline.attribution.methods import METHODS, explain
    from sightline.attribution.prototypes.attribution import scaled_values

    card = METHODS[method]
    options: dict[str, Any] = {"layers": -1} if card.layered else {}
    if card.explains:
        options["target"] = pairs.prototypes.tolist()
    images = [group.samples[at] for at in pairs.images.tolist()]
    maps = explain(asked.model, images, method, params=asked.params, batch=asked.batch, **options)
    raw = np.stack([maps.of(image=at) for at in range(len(maps))])
    read = np.abs(raw) if get_scoring_sign(maps.sign) == "absolute" else np.maximum(raw, 0)
    height, width = group.inputs.pixels.shape[2:]
    values = scaled_values(torch.from_numpy(read), int(height), int(width))
    return values.to(group.inputs.pixels.device)


def _save_perturbed(
    section: LocalPerturbationAnalysis,
    rows: Sequence[Mapping[str, Any]],
    images: Tensor,
    values: Tensor,
    save: Save,
) -> None:
    """Save the changed copies of each pair, rounded once to 8 bits."""
    from sightline.attribution.prototypes.perturbations import blend, perturb

    modes = ["focused", *["dual"] * section.enable_dual_mode]
    modes += ["global"] * section.enable_global_mode
    for perturbation in section.made():
        perturbed = perturb(images, perturbation, values)
        for mode in modes:
            copies: Any = blend(images, perturbed, values, mode)  # type: ignore[arg-type]
            for row, copy in zip(rows, copies.permute(0, 2, 3, 1).cpu().numpy(), strict=True):
                pair = f"{row['img_id']:06}_{row['proto_idx']:04}"
                save(f"perturbations/{pair}_{perturbation.name}_{mode}", _eight_bits(copy))
