"""Methods on facades, where it is known what decides: better than maps that know no model."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from benchmarks.deciding import (
    BASELINES,
    Scene,
    ask,
    auc,
    baseline_aucs,
    decides_by,
    deciding_aucs,
    draw_backdrops,
    draw_pairs,
    exchange_wins,
)
from sightline.attribution.methods import METHODS, Method
from sightline.models import Model, load_model

PAIRS = 6
STEP = 4  # of rows and columns: as good for an AUC
# Facades that show it: of gradients that gain little, of most methods, and of changed copies.
MANY, SOME, FEW = 30, 10, 6
# Fewer where each costs much and shows it clearly.
ENOUGH = {"occlusion": 4, "lime": 4, "scorecam": 4, "kernel_shap": 5}
ENOUGH |= {"integrated_gradients": 8, "smoothgrad_ig": 8}
LITTLE = ("saliency", "smoothgrad", "input_x_gradient", "deeplift")
# Where `python -m benchmarks.deciding` says that a method finds what decides, and as which of its
# readings: 0 as studies read it, 1 its part above zero.
SEEN_ON: dict[str, tuple[str, int]] = {
    **dict.fromkeys(("cls", "mean", "grad_attention"), ("demo/confounded", 0)),
    **dict.fromkeys(("rollout", "grad_rollout", "fullgrad"), ("demo/vit", 0)),
    **dict.fromkeys(("saliency", "smoothgrad", "input_x_gradient"), ("demo/confounded", 0)),
    **dict.fromkeys(("integrated_gradients", "smoothgrad_ig"), ("demo/confounded", 1)),
    "gradient_shap": ("demo/confounded", 0),
    **dict.fromkeys(("guided_backprop", "lrp"), ("demo/cnn", 0)),
    "deeplift": ("demo/confounded-cnn", 1),
    **dict.fromkeys(("occlusion", "rise", "lime", "kernel_shap"), ("demo/confounded", 0)),
}
CAMS = ("demo/confounded-cnn", 0)
# Enough to see it; the defaults take many times as long.
PARAMS: dict[str, float] = {
    "masks": 40,
    "segments": 20,
    "channels": 16,
    "steps": 4,
    "window": 0.2,
    "stride": 0.2,
}
SAMPLES = {"lime": 24, "kernel_shap": 32, "gradient_shap": 4, "smoothgrad": 2, "smoothgrad_ig": 2}


@cache
def scenes(what: str) -> list[Scene]:
    return draw_pairs(SOME)[0] if what == "parts" else draw_backdrops(MANY)


@cache
def model(name: str) -> Model:
    return load_model(name)


def few(card: Method) -> dict[str, Any]:
    """As few steps, samples and masks as show it."""
    known = PARAMS | {"samples": SAMPLES.get(card.name, 0)}
    return {key: known[key] for key in sorted(known.keys() & card.params.keys())}


@cache
def aucs(name: str, method: str, count: int) -> Any:
    """How well what decides is found in each facade, by reading."""
    some = scenes(decides_by(name))[:count]
    card = METHODS[method]
    return deciding_aucs(ask(model(name), card, some, params=few(card)), some, STEP)


@cache
def baseline_of(name: str, method: str) -> Any:
    return baseline_aucs(model(name), method, scenes(decides_by(name)), STEP)


def count_of(card: Method) -> int:
    """How many facades a method is asked about."""
    most = FEW if card.group == "perturbation" else MANY if card.name in LITTLE else SOME
    return ENOUGH.get(card.name, most)


def explaining() -> list[str]:
    """All methods but baselines, what is for detections, and what is for pooling heads."""
    cards = (card for card in METHODS.values() if card.group != "baseline")
    return [card.name for card in cards if not {"pooling", "detections"} & set(card.needs)]


@pytest.mark.parametrize("method", explaining())
def test_what_decides_is_found_better_than_by_every_baseline(method: str) -> None:
    card = METHODS[method]
    name, reading = SEEN_ON[method] if card.group != "cam" else CAMS
    count = count_of(card)
    for baseline in BASELINES:
        gain = aucs(name, method, count)[reading] - baseline_of(name, baseline)[:count]
        assert gain.mean() > 2 * gain.std(ddof=1) / np.sqrt(count), baseline


def test_no_baseline_finds_both_parts_and_backdrop() -> None:
    """What is gained by a prior for a place on one model is lost on the other."""
    for baseline in BASELINES:
        names = ("demo/cnn", "demo/confounded")
        both = [baseline_of(name, baseline).mean() for name in names]
        assert np.mean(both) < 0.52


@pytest.mark.parametrize("method", ["deeplift", "lrp"])
def test_what_was_exchanged_is_seen(method: str) -> None:
    """The place of a deciding part holds more for the style before than after an exchange."""
    before, exchanges = draw_pairs(PAIRS)
    for name, least in ((method, 5 / 6), ("centre", None)):
        maps = ask(model("demo/cnn"), METHODS[name], before)
        after = ask(model("demo/cnn"), METHODS[name], before, [one.after for one in exchanges])
        wins = exchange_wins(maps, after, exchanges)
        assert wins.tolist() == [0.5] * PAIRS if least is None else wins.mean() >= least


def test_pairs_differ_where_the_role_is_and_nowhere_else() -> None:
    for scene, exchange in zip(*draw_pairs(PAIRS), strict=True):
        changed = (scene.image != exchange.after).any(2)
        grown = np.zeros_like(exchange.place)
        for row, column in np.argwhere(exchange.place):
            grown[max(0, row - 2) : row + 3, max(0, column - 2) : column + 3] = True
        assert changed.any()
        assert (changed & ~grown).mean() < 0.02  # what a higher gable hides or shows
        assert (scene.deciding & exchange.place).any()


def test_auc_counts_pairs() -> None:
    rng = np.random.default_rng(0)
    values, mask = rng.integers(0, 4, (5, 6)).astype(float), rng.random((5, 6)) < 0.4
    wanted = [(a > b) + 0.5 * (a == b) for a in values[mask] for b in values[~mask]]
    assert auc(values, mask) == pytest.approx(np.mean(wanted))
