"""Made-up checks to draw."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from sightline.figures.checks import (
    create_cascade_randomization_plot,
    create_model_vs_method_analysis,
)
from sightline.figures.drops import draw_perturbation_drops
from sightline.figures.layers import draw_layer_changes
from sightline.figures.removal import draw_removal_curves
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


def gaps(count: int) -> pd.DataFrame:
    """Differences of right and wrong, smaller once they are adjusted."""
    value = np.array(list(skills(count).values())) * 0.1
    ends = {"difference": value, "low": value - 0.05, "high": value + 0.06}
    adjusted = {"adjusted": value / 2, "adjusted_low": value / 2 - 0.06}
    names = method_names(count)
    return pd.DataFrame({"name": names, **ends, **adjusted, "adjusted_high": value / 2 + 0.06})


def analysis_sample(count: int) -> Figure:
    return create_model_vs_method_analysis(judged(count), gaps(count), metric="iou@90")


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


def with_beside(table: pd.DataFrame) -> pd.DataFrame:
    """The same with what lines are compared with, and the model's accuracy."""
    line = table.groupby("name", sort=False).ngroup().to_numpy()
    accuracy = [0.25 + 0.7 * (one == "trained") for one in table["stage"]]
    return table.assign(
        cross=0.2 + 0.01 * line, edge=np.where(line % 2, np.nan, 0.1), accuracy=accuracy
    )


def cascade_sample(count: int) -> Figure:
    references = {"the image's edges": 0.22, "maps of other images": 0.41}
    return create_cascade_randomization_plot(with_beside(cascade(count)), references=references)


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


MEASURES = ("deletion", "insertion", "road_morf", "road_lerf")


def removals(count: int, measures: tuple[str, ...] = MEASURES) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Curves and areas of so many methods; the random map is between good and bad ones."""
    share = np.linspace(0, 1, 21)
    curves, areas = [], []
    for measure in measures:
        rising = measure in ("insertion", "road_lerf")
        for name, skill in skills(count).items():
            fall = (1 - share) ** (1 + 4 * skill)
            value = 0.05 + 0.85 * (1 - fall if rising else fall)
            line = {"name": name, "group": group_of(name), "measure": measure}
            ends = {"value": value, "low": value - 0.04, "high": value + 0.04}
            curves.append(pd.DataFrame({**line, "share": share, **ends, "n": 32}))
            area = float(np.trapezoid(value, share))
            gap = area - 0.475
            areas.append({**line, "value": area, "low": area - 0.05, "high": area + 0.06,
                          "random": 0.475, "difference_low": gap - 0.05,
                          "difference_high": gap + 0.05})  # fmt: skip
    return pd.concat(curves, ignore_index=True), pd.DataFrame(areas)


def removal_sample(count: int) -> Figure:
    return draw_removal_curves(*removals(count))


def changes(count: int, steps: int = 11) -> pd.DataFrame:
    """Correlations of neighbouring layers that rise, with ends."""
    step = np.arange(steps)
    parts = []
    for name, skill in skills(count).items():
        value = np.clip(0.2 + 0.7 * skill + 0.04 * np.sin(step + 9 * skill), -1, 1)
        part = {"name": name, "group": group_of(name), "layer": step, "next": step + 1}
        ends = {"value": value, "low": value - 0.05, "high": np.minimum(value + 0.05, 1)}
        parts.append(pd.DataFrame({**part, **ends, "n": 60}))
    return pd.concat(parts, ignore_index=True)


def changes_sample(count: int) -> Figure:
    return draw_layer_changes(changes(count))


SAMPLES: dict[str, Callable[[int], Figure]] = {
    "model-vs-method": analysis_sample,
    "cascade": cascade_sample,
    "perturbation-drops": drops_sample,
    "removal-curves": removal_sample,
    "layer-changes": changes_sample,
}
