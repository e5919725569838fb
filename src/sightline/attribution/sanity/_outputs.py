"""What checks ask a model for: the maps of a job, and what the model predicts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sightline.attribution.methods import METHODS, explain
from sightline.core import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sightline.attribution.methods import Maps
    from sightline.attribution.sanity.table import Job
    from sightline.core import Sample
    from sightline.models import Model

__all__ = ["check_own_maps", "explained", "predicted"]


def check_own_maps(method: str) -> None:
    """Raise where the maps of a method follow from those of other images.

    Examples
    --------
    >>> check_own_maps("centre")
    """
    if METHODS[method].of_maps is not None:
        raise InputError(f"{method} is made of other images' maps: it cannot be checked")


def explained(job: Job, samples: Sequence[Sample], target: Any) -> Maps:
    """Return the maps of a job's method; they explain a target, where the method explains one."""
    card = METHODS[job.method]
    return explain(
        job.model,
        list(samples),
        job.method,
        layers=[layer for layer in job.layers if layer is not None] or "all",
        target=target if card.explains else "predicted",
        params=job.params,
        batch=job.batch,
    )


def predicted(model: Model, samples: Sequence[Sample], batch: int) -> list[int]:
    """Return the class of each image, by its number."""
    found: list[int] = model.logits(list(samples), batch=batch).argmax(1).tolist()
    return found
