"""The tables once more, slowly: loops over plain rows."""

from __future__ import annotations

import math
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.metrics import iou_ceiling, iou_chance

if TYPE_CHECKING:
    import pandas as pd

    from tests.results.stores import Made

NAN = math.nan


def same(a: Any, b: Any) -> bool:
    """Compare keys, where None, NaN and NA are all one."""
    missing = [x is None or str(x) in ("nan", "<NA>") for x in (a, b)]
    return all(missing) if any(missing) else bool(a == b)


def select(rows: pd.DataFrame, **keys: Any) -> pd.DataFrame:
    """Return the rows with these keys."""
    for name, value in keys.items():  # of those that are left: few after the first keys
        rows = rows[[same(x, value) for x in rows[name]]]
    return rows


def beside(name: str, g: float) -> tuple[float, float]:
    """Return chance and ceiling of a score."""
    metric, _, token = name.partition("@")
    a = (100 - float(token)) / 100 if token else NAN
    if metric == "iou":
        return float(iou_chance(a, g)), float(iou_ceiling(a, g))
    if metric == "recall":
        return a, min(1.0, a / g) if g else NAN
    if metric in ("coverage", "pointing", "average_precision"):
        return g, 1.0
    return NAN, {"sim": 1.0, "kl": 0.0, "entropy": NAN}.get(metric, NAN)


def unit_scores(
    made: Made, name: str, *, by: tuple[str, ...] = ("image",), **keys: Any
) -> dict[tuple[Any, ...], tuple[float, float, float]]:
    """Return value, chance and ceiling of each image or region, seeds averaged."""
    metric, _, token = name.partition("@")
    model, _, variant = keys.pop("model").partition("@")
    keys = {"head": None, "check": "", "target": "", **keys}
    rows = select(made.rows, metric=metric, threshold=token, model=model, variant=variant, **keys)
    rows = rows[rows["region"].notna() if "region" in by else rows["region"].isna()]
    groups: dict[tuple[Any, ...], list[tuple[float, float, float]]] = {}
    for _, row in rows.iterrows():
        unit = tuple(row[column] for column in by)
        figures = (row["value"], *beside(name, float(row["area"])))
        groups.setdefault(unit, []).append(figures)
    return {unit: _defined_mean(found) for unit, found in groups.items()}


def _defined_mean(found: list[tuple[float, float, float]]) -> tuple[float, float, float]:
    kept = [figures for figures in found if not math.isnan(figures[0])]
    if not kept:
        return NAN, NAN, NAN
    value, chance, ceiling = (sum(column) / len(kept) for column in zip(*kept, strict=True))
    return value, chance, ceiling


def means(found: Any) -> dict[str, float]:
    """Return the means over units with a defined score, and how many there are."""
    units = list(found.values() if isinstance(found, dict) else found)
    kept = [unit for unit in units if not math.isnan(unit[0])]
    out = {"n": float(len(kept)), "undefined": float(len(units) - len(kept))}
    for place, what in enumerate(("value", "chance", "ceiling")):
        out[what] = sum(unit[place] for unit in kept) / len(kept) if kept else NAN
    room = sum(unit[2] - unit[1] for unit in kept)
    out["corrected"] = sum(unit[0] - unit[1] for unit in kept) / room if room else NAN
    return out


def halves(made: Made) -> dict[str, int]:
    """Return which half each image is in."""
    order = sorted(made.images["image"], key=lambda image: sha256(image.encode()).hexdigest())
    return {image: place % 2 for place, image in enumerate(order)}


def check_figures(line: Any, expected: dict[str, float]) -> None:
    """Compare the figures of a line of a table."""
    for what, value in expected.items():
        if what in line:
            np.testing.assert_allclose(float(line[what]), value, rtol=2e-6, atol=1e-9, err_msg=what)
