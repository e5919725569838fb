"""Rows of checks, as `Results.checks` returns them, made by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

LINE = {"model": "m", "method": "saliency", "group": "gradient", "target": "predicted"}
COLUMNS = (
    *("model", "method", "group", "target", "layer", "seed", "check", "way", "redraw", "stage"),
    *("stage_name", "measure", "point", "image", "value"),
)


def frame(*parts: Iterable[dict[str, Any]]) -> pd.DataFrame:
    """Return rows as a table."""
    rows = [{**LINE, "way": "", "stage_name": "", **row} for part in parts for row in part]
    found = pd.DataFrame(rows, columns=list(COLUMNS))
    for column in ("layer", "seed", "redraw", "stage"):
        found[column] = pd.array(
            [None if pd.isna(one) else int(one) for one in found[column]], dtype="Int64"
        )
    found["point"] = found["point"].astype(float)
    return found


def lines(table: pd.DataFrame) -> list[Any]:
    """Return the lines of a table, each with its columns as attributes."""
    return list(table.itertuples())


def image(number: int) -> str:
    """Return the name of an image."""
    return f"{number:03}.png"


def randomised(
    table: NDArray[np.float64], stage: int = 0, way: str = "full", **keys: Any
) -> Iterator[dict[str, Any]]:
    """Yield values (images, draws) of one stage."""
    for (place, draw), value in np.ndenumerate(np.asarray(table, float)):
        row = {"check": "randomisation", "way": way, "redraw": draw, "stage": stage}
        name = {"stage_name": f"block.{stage}", "measure": "spearman"}
        yield {**row, **name, "image": image(place), "value": value, **keys}


def reference(
    way: str, values: NDArray[np.float64], draw: int | None = None, **keys: Any
) -> Iterator[dict[str, Any]]:
    """Yield values of what similarities are compared with, one an image."""
    row = {"check": "reference", "way": way, "redraw": draw, "measure": "spearman"}
    for place, value in enumerate(np.asarray(values, float)):
        yield {**row, "image": image(place), "value": value, **keys}


def cross(table: NDArray[np.float64], **keys: Any) -> Iterator[dict[str, Any]]:
    """Yield similarities (images, partners) of maps of two images."""
    for draw, column in enumerate(np.asarray(table, float).T):
        yield from reference("cross", column, draw, **keys)


def measured(
    values: Iterable[float], measure: str, check: str = "faithfulness", **keys: Any
) -> Iterator[dict[str, Any]]:
    """Yield values of a measure, one an image."""
    for place, value in enumerate(values):
        yield {"check": check, "measure": measure, "image": image(place), "value": value, **keys}
