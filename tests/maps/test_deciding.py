"""Methods on facades, where it is known which parts decide: better than maps of nothing."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from benchmarks.deciding import Pair, auc, deciding_aucs, draw_pairs, measure
from sightline.maps import METHODS, Method, explain
from sightline.models import Model, load_model

COUNT = 6
# Enough to see it; the defaults take many times as long. Of four sizes of windows, this one shows
# it with so few facades; with 64 the default does (benchmarks.deciding).
PARAMS: dict[str, float] = {
    "masks": 60,
    "segments": 20,
    "channels": 16,
    "steps": 8,
    "window": 0.33,
    "stride": 0.11,
}
SAMPLES = {"lime": 60, "kernel_shap": 80, "gradient_shap": 8, "smoothgrad": 4, "smoothgrad_ig": 2}
# What a method needs decides which model it is asked of. On the ViT, channels of the last norm say
# little of where things are, and hidden windows little on the CNN.
METHODS_OF = {
    "demo/cnn": ("cam",),
    "demo/vit": ("attention", "gradient", "perturbation"),
}


@cache
def pairs() -> list[Pair]:
    return draw_pairs(COUNT)


@cache
def model(name: str) -> Model:
    return load_model(name)


def few(card: Method) -> dict[str, Any]:
    """As few steps, samples and masks as show it."""
    known = PARAMS | {"samples": SAMPLES.get(card.name, 0)}
    return {key: known[key] for key in sorted(known.keys() & card.params.keys())}


@cache
def aucs(name: str, method: str) -> Any:
    """How well the deciding parts of each facade are found; of layers by the last."""
    card = METHODS[method]
    options: dict[str, Any] = {"layers": -1} if card.layered else {}
    if card.explains:
        options["target"] = [pair.style for pair in pairs()]
    images = [pair.before for pair in pairs()]
    maps = explain(model(name), images, method, params=few(card), **options)
    return np.array(deciding_aucs(maps, pairs()))


def cases() -> list[Any]:
    found = []
    for card in METHODS.values():
        for name, groups in METHODS_OF.items():
            needy = bool({"ReLU", "linear head"} & set(card.needs))
            home = "demo/cnn" if needy else name
            if card.group in groups and not {"pooling", "detections"} & set(card.needs):
                found.append(pytest.param(home, card.name, id=f"{home}-{card.name}"))
    return found


@pytest.mark.parametrize(("name", "method"), cases())
def test_deciding_parts_are_found_better_than_by_random_maps(name: str, method: str) -> None:
    for baseline in ("random", "smooth_random"):
        gain = aucs(name, method) - aucs(name, baseline)
        assert gain.mean() > gain.std(ddof=1) / np.sqrt(COUNT), baseline


@pytest.mark.parametrize("method", ["deeplift", "lrp"])
def test_what_was_exchanged_is_seen(method: str) -> None:
    """The place of a deciding part holds more for the style before than after an exchange."""
    found, centre = (measure(model("demo/cnn"), METHODS[m], pairs()) for m in (method, "centre"))
    assert found.wins.mean() >= 5 / 6
    assert centre.wins.tolist() == [0.5] * COUNT


def test_pairs_differ_where_the_role_is_and_nowhere_else() -> None:
    for pair in pairs():
        changed = (pair.before != pair.after).any(2)
        grown = np.zeros_like(pair.place)
        for row, column in np.argwhere(pair.place):
            grown[max(0, row - 2) : row + 3, max(0, column - 2) : column + 3] = True
        assert changed.any()
        assert (changed & ~grown).mean() < 0.02  # what a higher gable hides or shows
        assert (pair.deciding & pair.place).any()


def test_auc_counts_pairs() -> None:
    rng = np.random.default_rng(0)
    values, mask = rng.integers(0, 4, (5, 6)).astype(float), rng.random((5, 6)) < 0.4
    wanted = [(a > b) + 0.5 * (a == b) for a in values[mask] for b in values[~mask]]
    assert auc(values, mask) == pytest.approx(np.mean(wanted))
