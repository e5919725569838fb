"""Made-up curves to draw."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from sightline.figures.curves import (
    create_iou_threshold_curves,
    create_pr_curve_comparison,
    create_roc_curve_comparison,
    draw_cumulative_energy,
    draw_layer_progression,
)
from tests.figures.samples_comparing import with_choices

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.figure import Figure

_ODD = (
    "cls",
    "demo/vit@seed2 integrated_gradients target predicted",
    "$x_1$ & <b>bold</b>",
    "_hidden",
    "an expressive method of which the name goes on and on until eighty letters are full",
    "rollout",
    "名前",
)
BASELINES = ("random", "centre", "edge")
SHARE = 0.12
"""Of the image that is annotated."""


def method_names(count: int) -> list[str]:
    """Names of methods, some long, some odd; of more than 3 the last three are baselines."""
    base = BASELINES if count > 3 else BASELINES[:1] if count > 1 else ()
    plain = [_ODD[i] if i < len(_ODD) else f"method number {i}" for i in range(count - len(base))]
    return [*plain, *base]


def group_of(name: str) -> str:
    return "baseline" if name in BASELINES else "attention"


def skills(count: int) -> dict[str, float]:
    """How good methods are, 0 to 1."""
    rng = np.random.default_rng(count)
    return {
        name: 0.0 if name == "random" else float(rng.uniform(0.2, 0.9))
        for name in method_names(count)
    }


def points(count: int, curve: Callable[[Any, float], Any], steps: int = 101) -> pd.DataFrame:
    """A curve for each method."""
    x = np.linspace(0, 1, steps)
    parts = [
        pd.DataFrame({"name": name, "group": group_of(name), "x": x, "value": curve(x, skill)})
        for name, skill in skills(count).items()
    ]
    return pd.concat(parts, ignore_index=True).assign(n=120)


def board(count: int, score: Callable[[float], float], chance: float = 0.5) -> pd.DataFrame:
    """A score for each method."""
    value = np.array([score(skill) for skill in skills(count).values()])
    names = method_names(count)
    return pd.DataFrame(
        {
            "name": names,
            "group": [group_of(name) for name in names],
            "value": value,
            "low": value - 0.02,
            "high": value + 0.02,
            "chance": chance,
            "n": 120,
        }
    )


def roc(x: Any, skill: float) -> Any:
    return x ** (1 - 0.9 * skill)


def pr(x: Any, skill: float) -> Any:
    return SHARE + (0.95 - SHARE) * skill * (1 - x**1.5)


def roc_sample(count: int) -> Figure:
    auc = board(count, lambda skill: 1 / (2 - 0.9 * skill))
    return create_roc_curve_comparison(with_choices(points(count, roc)), auc)


def pr_sample(count: int) -> Figure:
    ap = board(count, lambda skill: SHARE + 0.5 * skill, chance=SHARE)
    return create_pr_curve_comparison(with_choices(points(count, pr)), ap)


def sweep(count: int) -> pd.DataFrame:
    """IoU at eight percentiles."""
    rows = []
    for name, skill in skills(count).items():
        for percentile in (95, 90, 85, 80, 75, 70, 60, 50):
            a = 1 - percentile / 100
            chance, ceiling = a * SHARE / (a + SHARE - a * SHARE), min(a, SHARE) / max(a, SHARE)
            value = chance + skill * 0.6 * (ceiling - chance)
            rows.append((name, group_of(name), percentile, value, chance, ceiling))
    columns = ["name", "group", "percentile", "value", "chance", "ceiling"]
    table = pd.DataFrame(rows, columns=columns)
    return table.assign(low=table.value - 0.015, high=table.value + 0.02, n=120)


def thresholds_sample(count: int) -> Figure:
    return create_iou_threshold_curves(with_choices(sweep(count)))


def energy(count: int) -> pd.DataFrame:
    """Cumulative energy; `total` is the energy anywhere."""
    table = points(count, lambda x, skill: (SHARE + 0.5 * skill) * x ** (1 - 0.7 * skill))
    return table.assign(
        total=table.x**0.3,
        chance=SHARE * table.x,
        low=np.where(table.x == 1, table.value - 0.02, np.nan),
        high=np.where(table.x == 1, table.value + 0.02, np.nan),
    )


def energy_sample(count: int) -> Figure:
    return draw_cumulative_energy(with_choices(energy(count)))


def layers(count: int, depth: int = 12) -> pd.DataFrame:
    """Scores over layers; of each three methods, one has no layers."""
    rng = np.random.default_rng(7)
    parts = []
    for place, (name, skill) in enumerate(skills(count).items()):
        flat = group_of(name) == "baseline" or place % 4 == 3
        x = np.array([np.nan]) if flat else np.arange(depth if place % 2 else max(depth // 3, 1))
        value = (
            0.06 + 0.3 * skill * np.sin(0.3 + np.nan_to_num(x) / 4) + rng.normal(0, 0.02, len(x))
        )
        value = np.clip(value, 0.01, None)
        part = {"name": name, "group": group_of(name), "layer": x, "value": value}
        parts.append(pd.DataFrame(part))
    table = pd.concat(parts, ignore_index=True)
    return table.assign(
        low=table.value - 0.012, high=table.value + 0.016, chance=0.06, ceiling=0.73, n=120
    )


def layers_sample(count: int) -> Figure:
    return draw_layer_progression(layers(count), metric="iou@90")


SAMPLES: dict[str, Callable[[int], Figure]] = {
    "roc": roc_sample,
    "pr": pr_sample,
    "thresholds": thresholds_sample,
    "energy-curves": energy_sample,
    "layers": layers_sample,
}
