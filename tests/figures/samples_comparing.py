"""Made-up scores to draw figures of comparisons from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from sightline.figures import comparisons as comparing
from sightline.figures import draw_agreement_matrix

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.figure import Figure

ODD = ("cls", "$x_1$ & <b>rollout</b>", "_hidden_layer", "m" * 80, "a method of a long name indeed")
GROUPS = ("attention", "gradient", "cam", "baseline")


def line_name(i: int) -> str:
    return f"{ODD[i % len(ODD)]} {i}"


def board(count: int, seed: int = 0) -> pd.DataFrame:
    """A leaderboard; of more than 4 lines the third is undefined, the fourth has no interval."""
    rng = np.random.default_rng(seed)
    value = np.sort(rng.uniform(0.05, 0.4, count))[::-1]
    value[2:3] = np.nan if count > 4 else value[2:3]
    table = pd.DataFrame(
        {
            "model": "demo/vit",
            "name": [line_name(i) for i in range(count)],
            "group": [GROUPS[i % 4] for i in range(count)],
            "value": value,
            "low": value - 0.02,
            "high": value + 0.03,
            "chance": 0.06,
            "ceiling": 0.73,
            "n": 120,
            "chosen": ["best of 12 layers on the same images" * (i % 2) for i in range(count)],
        }
    )
    if count > 4:
        table.loc[3, ["low", "high"]] = np.nan
    table.attrs["metric"] = "iou@90"
    return table


def with_choices(table: pd.DataFrame) -> pd.DataFrame:
    """Give each line but the baselines a layer that was chosen on the same images."""
    chosen = np.where(table["group"] == "baseline", "", "best of 12 layers on the same images")
    return table.assign(layer=np.where(chosen == "", np.nan, 11.0), chosen=chosen)


METRICS = ("iou@90", "coverage", "pointing", "kl")


def by_image(count: int, images: int = 40, metrics: tuple[str, ...] = METRICS) -> pd.DataFrame:
    """Scores of images; some of coverage are undefined."""
    rng = np.random.default_rng(1)
    parts = []
    for i in range(count):
        for metric in metrics:
            value = rng.beta(2 + i / 4, 6, images)
            if metric == "pointing":
                value = (value > 0.3).astype(float)
            if metric == "coverage" and i == 1:
                value[:3] = np.nan
            parts.append(
                pd.DataFrame(
                    {
                        "name": line_name(i),
                        "image": [f"image{k}" for k in range(images)],
                        "metric": metric,
                        "value": value,
                        "chance": np.nan if metric == "kl" else 0.1,
                        "group": GROUPS[i % 4],
                    }
                )
            )
    return pd.concat(parts, ignore_index=True)


def breakdown(count: int) -> dict[str, Any]:
    """Scores of labels, as of regions; of more than 4, the third is undefined."""
    rng = np.random.default_rng(2)
    value = rng.uniform(0.0, 0.3, count)
    if count > 4:
        value[2] = np.nan
    return {
        "label": [line_name(i) for i in range(count)],
        "iou": value,
        "low": value * 0.8,
        "high": value * 1.2 + 0.01,
        "chance": rng.uniform(0, 0.1, count),
        "ceiling": rng.uniform(0.3, 0.8, count),
        "recall": 1 - value,
        "recall_low": 0.9 - value,
        "recall_high": 1 - value / 2,
        "recall_chance": np.full(count, 0.1),
        "n": rng.integers(1, 4000, count),
        "images": rng.integers(1, 120, count),
    }


def styles(count: int) -> dict[str, Any]:
    table = breakdown(count)
    return {
        "label": table["label"],
        "value": table["iou"],
        **{name: table[name] for name in ("low", "high", "chance", "ceiling", "n")},
    }


def agreement(count: int) -> Any:
    """Correlations of noisy copies of three maps; of more than 4, one pair is undefined."""
    rng = np.random.default_rng(3)
    base = rng.normal(size=(3, 200))
    maps = np.array([base[i % 3] + rng.normal(size=200) * 0.5 for i in range(count)])
    found = np.corrcoef(maps).reshape(count, count)
    if count > 4:
        found[0, 4] = found[4, 0] = np.nan
    return found


SAMPLES: dict[str, Callable[[int], Figure]] = {
    "leaderboard": lambda count: comparing.draw_leaderboard(with_choices(board(count))),
    "metrics-comparison": lambda count: comparing.draw_metrics_comparison(
        with_choices(by_image(count))
    ),
    "features": lambda count: comparing.draw_breakdown(breakdown(count), what="feature"),
    "styles": lambda count: comparing.draw_breakdown(styles(count), metric="iou@90", what="style"),
    "agreement": lambda count: draw_agreement_matrix(
        agreement(count),
        [line_name(i) for i in range(count)],
        ends=(agreement(count) * 0.9, agreement(count)),
        n=60,
    ),
}
