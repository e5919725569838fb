"""Images with regions of every kind, their way to a model, and maps of layers and heads."""

from __future__ import annotations

from typing import Any

import numpy as np

from sightline.core import Annotation, Region
from sightline.core.geometry import Geometry, fit_geometry
from sightline.store.shards import StoredMaps
from sightline.study import Scoring, Source

__all__ = ["FITS", "HEADS", "LAYERS", "SIZES", "annotation", "chunk", "scoring", "source", "way"]

FITS = ("squash", "crop", "letterbox", "native")
SIZES = {"square": (12, 12), "wide": (14, 9), "tall": (8, 13)}
# Numbers of layers whose grids have cells of so many pixels; the last two are alike.
LAYERS: dict[int | None, int] = {0: 2, 4: 4, 5: 4}
HEADS: tuple[int | None, ...] = (None, 2)


def annotation(name: str, width: int, height: int) -> Annotation:
    """Regions of every kind, with gaps in their numbers.

    The one in the corner is out of sight for "crop", and the last is to be ignored.
    """
    mask = np.zeros((height, width), np.bool_)
    mask[height // 2 :, : width // 3] = True
    triangle = ((0.45, 0.9, 0.7, 0.35, 0.95, 0.9),)
    regions = (
        Region("door", box=(0.3, 0.25, 0.72, 0.8), index=0),
        Region("corner", box=(0.0, 0.0, 0.05, 0.04), index=1),
        Region("half", "mask", (0.0, 0.5, 0.3, 1.0), mask, index=3),
        Region("gable", "polygon", (0.45, 0.35, 0.95, 0.9), triangle, index=4),
        Region("tip", "point", (0.5, 0.05, 0.75, 0.4), radius=2.0, index=6),
        Region("edge", box=(0.6, 0.4, 1.0, 0.55), index=7),
        Region("crowd", box=(0.4, 0.6, 0.62, 1.0), flags=("ignore",), index=8),
    )
    return Annotation(name, width, height, regions)


def way(fit: str, width: int, height: int, patch: int) -> Geometry:
    """How an image reaches an input of 16 x 16 pixels; the crop cuts off a fifth."""
    if fit == "native":
        return fit_geometry(fit, width, height, patch=4).patches(patch)
    more = {"resize_to": 20} if fit == "crop" else {}
    return fit_geometry(fit, width, height, size=16, patch=patch, **more)  # type: ignore[arg-type]


def chunk(
    fit: str, names: tuple[str, ...] = tuple(SIZES), scale: int = 1
) -> tuple[StoredMaps, list[Annotation]]:
    """Maps of some images by three layers and two heads; some values are equal, some below 0."""
    rng = np.random.default_rng(len(fit))
    values, ways, annotations = [], [], []
    for name in SIZES:
        width, height = SIZES[name][0] * scale, SIZES[name][1] * scale
        there = tuple(way(fit, width, height, patch) for patch in LAYERS.values())
        shapes = [(len(HEADS), *one.grid[::-1]) for one in there]
        drawn = [np.round(rng.normal(0.4, 0.5, shape), 1) for shape in shapes]
        if name in names:
            ways.append(there)
            values.append(tuple(layer.astype(np.float32) for layer in drawn))
            annotations.append(annotation(name, width, height))
    maps = StoredMaps(
        tuple(one.image_id for one in annotations), tuple(values), tuple(ways), tuple(LAYERS), HEADS
    )
    return maps, annotations


def source(**changes: Any) -> Source:
    given: dict[str, Any] = {
        "kind": "model",
        "model": "demo/vit",
        "method": "cls",
        "variant": "seed2",
        "target": "label",
        "seed": 3,
        "rules": "0123abcd",
        "layers": tuple(LAYERS),
        "heads": HEADS,
    }
    return Source(**{**given, **changes})


METRICS = (
    *("coverage", "average_precision", "auc_roc", "relevance_rank", "pointing", "best_iou"),
    *("top_k_any", "iou", "recall", "nss", "entropy", "pointing@tol2"),
)


def scoring(**changes: Any) -> Scoring:
    given: dict[str, Any] = {
        "study": "first",
        "metrics": METRICS,
        "selection": ("percentile", "mass60", "mean", "matched"),
        "percentiles": (90, 50),
    }
    return Scoring(**{**given, **changes})
