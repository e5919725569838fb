"""Maps of one image with trained and with random weights: models of a study run once more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from sightline.core import InputError, SightlineError
from sightline.results._views import full_name
from sightline.results.study_models import asked_models, loaded_model
from sightline.study.worker.model_cache import Shelf

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from sightline.core import Sample
    from sightline.models import Model
    from sightline.results import Results

    Progress = Any

__all__ = ["RedrawnMap", "redrawn_maps", "was_redrawn"]


class RedrawnMap(NamedTuple):
    """The maps of one method on one image, over its pixels; NaN where the model did not see.

    Attributes
    ----------
    model, method, target, layer
        Whose.
    sign
        How values are read.
    trained, redrawn : array (height, width)
        With the weights that were learnt, and with all weights drawn anew.
    """

    model: str
    method: str
    target: str
    layer: int | None
    sign: str
    trained: NDArray[np.float32]
    redrawn: NDArray[np.float32]


def was_redrawn(results: Results) -> list[Mapping[str, Any]]:
    """Return the manifest's entries on maps whose model's weights were randomised, once each.

    There is an entry for each layer. Of several ways and draws it is the first.
    """
    found: dict[tuple[Any, ...], Mapping[str, Any]] = {}
    for one in results.manifest.get("checks", ()):
        if one["check"].startswith("randomisation/"):
            for layer in one["layers"]:
                key = full_name(one), one["method"], one["target"], layer
                found.setdefault(key, {**one, "layers": [layer]})
    return list(found.values())


def redrawn_maps(
    results: Results,
    asked: Sequence[Mapping[str, Any]],
    sample: Sample,
    *,
    size: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> tuple[list[RedrawnMap], str]:
    """Return maps of an image with trained and with random weights, and what is missing.

    Models are loaded as the study named them, if their weights are still those that were scored.
    A class that is explained is that which the trained model predicts, in both.

    Parameters
    ----------
    results
        Of the study.
    asked
        Of `was_redrawn`.
    sample
        The image.
    size
        Longer side of the maps in pixels; that of the image unless given.
    seed
        Of the draw.
    progress
        Told how many maps are made, of how many, and what is done.
    """
    known = {one.name: one for one in asked_models(results)}
    shelf, notes, found = Shelf(), list[str](), list[RedrawnMap]()
    for name in dict.fromkeys(full_name(one) for one in asked):
        model = loaded_model(shelf, known[name], notes) if name in known else None
        own = [one for one in asked if full_name(one) == name]
        if model is not None:
            found += _of_model(model, own, _Asked(sample, size, seed), notes)
        if progress is not None:
            progress(len(found), len(asked), "maps of random weights")
    return found, "; ".join(notes)


class _Asked(NamedTuple):
    """The image, the size of its maps, and the seed of the draw."""

    sample: Sample
    size: int | None
    seed: int


def _of_model(
    model: Model, methods: Sequence[Mapping[str, Any]], asked: _Asked, notes: list[str]
) -> list[RedrawnMap]:
    from sightline.attribution.sanity.redraw import redrawn
    from sightline.attribution.sanity.stages import stages_of

    goal = int(model.logits([asked.sample]).argmax()) if model.classes else None
    trained = [_tried(model, one, asked, goal, notes) for one in methods]
    with redrawn(model, stages_of(model), asked.seed):
        drawn = [_tried(model, one, asked, goal, notes) for one in methods]
    return [
        RedrawnMap(full_name(one), one["method"], one["target"], _layer(one), one["sign"], was, now)
        for one, was, now in zip(methods, trained, drawn, strict=True)
        if was is not None and now is not None
    ]


def _tried(
    model: Model, one: Mapping[str, Any], asked: _Asked, goal: int | None, notes: list[str]
) -> NDArray[np.float32] | None:
    """Return a map, or None where the method finds that it does not hold; note why."""
    try:
        return _map(model, one, asked, goal)
    except SightlineError as error:
        notes.append(f"{one['method']} of {full_name(one)}: {error}")
        return None


def _layer(one: Mapping[str, Any]) -> int | None:
    (layer,) = one["layers"]
    return None if layer is None else int(layer)


def _map(
    model: Model, one: Mapping[str, Any], asked: _Asked, goal: int | None
) -> NDArray[np.float32]:
    """Return a map over the pixels of an image."""
    from sightline.attribution.methods import explain

    options: dict[str, Any] = {}
    layer = _layer(one)
    if layer is not None:
        options["layers"] = layer
    if one["target"]:
        if one["target"] == "predicted" and goal is None:
            raise InputError(f"{full_name(one)}: has no classes, and {one['method']} explains one")
        options["target"] = goal if one["target"] == "predicted" else one["target"]
    maps = explain(model, [asked.sample], one["method"], params=dict(one["params"]), **options)
    values: NDArray[np.float32] = maps.to_image(asked.size).values[0][0][0]
    return values
