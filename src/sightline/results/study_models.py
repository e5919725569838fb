"""The models of a study, and its images, if they are still those that were scored."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from sightline.core import InputError, SightlineError
from sightline.results._views import full_name
from sightline.study import Study
from sightline.study.plan.images import pixels_digest
from sightline.study.plan.methods import model_name, variant_name

if TYPE_CHECKING:
    from sightline.data.dataset import Dataset
    from sightline.models import Model
    from sightline.results import Results
    from sightline.study.worker.model_cache import Shelf

__all__ = ["AskedModel", "asked_models", "loaded_model", "scored_picture"]


class AskedModel(NamedTuple):
    """A model that is asked.

    Attributes
    ----------
    name, fit
        As the study names it, and how it is shown images.
    digest
        Of its weights, as they were when the study was run.
    load
        By which the study loads it; empty where the study does not name it: it is not loaded then.
    """

    name: str
    fit: str
    digest: str
    load: str


def asked_models(results: Results) -> list[AskedModel]:
    """Return the models of a study; maps made elsewhere have none."""
    study = Study.from_dict(results.study)
    places = {(model_name(study, one), variant_name(study, one)): one.full for one in study.models}
    found = {}
    try:
        for one in results.manifest["models"]:
            name = full_name(one)
            load = places.get((one["model"], one["variant"]), "")
            found[name] = AskedModel(name, one["fit"], one["digest"], load)
    except (KeyError, TypeError) as error:
        needed = "must hold a list of models, each with model, variant, fit, digest"
        raise InputError(f"{results.path}: its manifest {needed}; {error}") from error
    return list(found.values())


def loaded_model(shelf: Shelf, one: AskedModel, notes: list[str]) -> Model | None:
    """Return a model, if it is the one that was scored; note why not."""
    if not one.load:
        notes.append(f"{one.name} was not asked: the study does not name it")
        return None
    try:
        model = shelf.model(one.load, one.fit)
    except (SightlineError, OSError, RuntimeError) as error:
        notes.append(f"{one.name} was not asked what it predicts: {error}")
        return None
    if model.digest != one.digest:
        notes.append(f"{one.name} was not asked: its weights changed since the study was run")
        return None
    return model


def scored_picture(dataset: Dataset, image: str, digest: str) -> Any:
    """Return an image, if it is the one that was scored."""
    sample = dataset.by_id(image)
    picture = sample.image()
    if sample.path is None:  # drawn: not a second time
        sample = replace(sample, load=lambda: picture)
    if digest and pixels_digest(sample) != digest:
        raise InputError(f"image {image!r} changed since the study was run")
    return picture
