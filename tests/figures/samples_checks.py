"""Made-up checks to draw."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from sightline.figures.checks import (
    create_cascade_randomization_plot,
    create_model_vs_method_analysis,
    draw_perturbation_drops,
)
from tests.figures.samples_curves import group_of, method_names, skills

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.figure import Figure

_STYLES = ("Baroque", "Gothic", "Renaissance", "Romanesque")
STAGES = ("trained", "head", *(f"block {i}" for i in range(11, -1, -1)), "embedding")
_CHANGES = (
    "brightness",
    "contrast",
    "saturation",
    "hue",
    "gaussian blur 21 / 2.0",
    "sinus distortion",
    "$x_1$ & <b>",
    "brightness then contrast then saturation then hue then blur then all of them again",
)


def judged(count: int, images: int = 80) -> pd.DataFrame:
    """Scores by image of two models; harder classes are wrong more often."""
    rng = np.random.default_rng(5)
    parts = []
    for place, (name, skill) in enumerate(skills(count).items()):
        label = np.arange(images) % 4
        draw = np.random.default_rng(place % 2).random(images)
        correct = draw < 0.95 - 0.12 * label - 0.1 * (place % 2)
        value = np.clip(0.1 + 0.4 * skill + 0.05 * correct + rng.normal(0, 0.1, images), 0, 1)
        part = {
            "name": name,
            "group": group_of(name),
            "model": f"model {place % 2}",
            "image": [f"i{i}" for i in range(images)],
            "label": [_STYLES[one] for one in label],
            "value": value,
            "correct": correct,
            "chance": 0.06,
        }
        parts.append(pd.DataFrame(part))
    return pd.concat(parts, ignore_index=True)


def analysis_sample(count: int) -> Figure:
    return create_model_vs_method_analysis(judged(count), metric="iou@90")


def cascade(count: int, stages: tuple[str, ...] = STAGES) -> pd.DataFrame:
    """Correlations that fall, faster for some methods."""
    parts = []
    for place, name in enumerate(method_names(count)):
        x = np.arange(len(stages))
        value = np.exp(-x * (0.02 + 0.12 * (place % 7))) - 0.02 * (place % 3) * (x > 4)
        part = {"name": name, "group": group_of(name), "stage": list(stages), "value": value}
        parts.append(pd.DataFrame(part))
    table = pd.concat(parts, ignore_index=True)
    return table.assign(low=table.value - 0.04, high=np.minimum(table.value + 0.04, 1), n=8)


def cascade_sample(count: int) -> Figure:
    references = {"the image's edges": 0.22, "maps of other images": 0.41}
    return create_cascade_randomization_plot(cascade(count), references=references)


def drops(count: int) -> pd.DataFrame:
    """Drops of so many changes, of three kinds."""
    rng = np.random.default_rng(2)
    rows = []
    for place in range(count):
        name = _CHANGES[place] if place < len(_CHANGES) else f"change {place}"
        for kind, size in (("focused", 0.3), ("dual", 0.12), ("global", 0.4)):
            value = float(rng.normal(size, 0.08))
            rows.append((name, kind, value, value - 0.05, value + 0.05, 8))
    return pd.DataFrame(rows, columns=["perturbation", "kind", "value", "low", "high", "n"])


def drops_sample(count: int) -> Figure:
    return draw_perturbation_drops(drops(count))


SAMPLES: dict[str, Callable[[int], Figure]] = {
    "model-vs-method": analysis_sample,
    "cascade": cascade_sample,
    "perturbation-drops": drops_sample,
}
