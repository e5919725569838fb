"""Means of the corrected IoU, which are ratios of sums, against loops over the rows of the IoU."""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from sightline.metrics import iou_ceiling, iou_chance
from sightline.results import open_results
from tests.results.slow import halves, select
from tests.results.stores import make_store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sightline.results import Results
    from tests.results.stores import Made

COUNT = 12
TOKENS = ["90", "50", "mass60"]
VIT = {"model": "demo/vit", "variant": "", "method": "cls"}
SEED2 = {**VIT, "variant": "seed2"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("ratios") / "s"
    metrics = ("iou", "iou_corrected")
    return make_store(folder, count=COUNT, metrics=metrics, selection=("percentile", "mass"))


@pytest.fixture(scope="module")
def results(made: Made) -> Iterator[Results]:
    with open_results(made.path) as found:
        yield found


def parts(made: Made, token: str, by: str = "image", **keys: Any) -> dict[Any, list[float]]:
    """Return gain and room of each image (or region), averaged over seeds, out of IoU rows."""
    keys = {"target": "", "head": None, "check": "", **keys}
    rows = select(made.rows, threshold=token, **keys)
    rows = rows[rows["region"].isna() if by == "image" else rows["region"].notna()]
    areas = {_key(row): row["value"] for row in _records(rows, "selected_fraction")}
    found: dict[Any, list[list[float]]] = {}
    for row in _records(rows, "iou"):
        if math.isnan(row["value"]):
            continue
        a = areas[_key(row)] if token == "mass60" else 1 - float(token) / 100  # noqa: S105
        chance, ceiling = (float(of(a, row["area"])) for of in (iou_chance, iou_ceiling))
        unit = row["image"] if by == "image" else (row["image"], row["region"])
        found.setdefault(unit, []).append([row["value"] - chance, ceiling - chance])
    return {key: np.mean(both, axis=0).tolist() for key, both in found.items()}


def _records(rows: Any, metric: str) -> Any:
    return rows[rows["metric"] == metric].to_dict("records")


def _key(row: Any) -> tuple[Any, ...]:
    names = ("image", "region", "layer", "seed")
    return tuple(None if row[name] != row[name] else row[name] for name in names)


def ratio(found: Any) -> float:
    gain, room = (sum(one[place] for one in found) for place in (0, 1))
    return float(gain / room)


def plain(found: Any) -> float:
    return float(sum(gain / room for gain, room in found) / len(found))


def keys_of(line: Any) -> dict[str, Any]:
    model, _, variant = line["model"].partition("@")
    names = {name: line[name] for name in ("method", "target", "layer")}
    return {"model": model, "variant": variant, **names}


def near(value: float) -> Any:
    return pytest.approx(value, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("token", TOKENS)
def test_every_line_is_a_ratio_of_sums(made: Made, results: Results, token: str) -> None:
    name, far = f"iou_corrected@{token}", 0.0
    board = results.leaderboard(name, layer="all")
    assert len(board) == 13
    beside = results.leaderboard(f"iou@{token}", layer="all")
    corrected = {tuple(map(str, keys_of(one).values())): one["corrected"] for one in _lines(beside)}
    for line in _lines(board):
        units = list(parts(made, token, **keys_of(line)).values())
        assert line["value"] == near(ratio(units))
        assert line["value"] == near(corrected[tuple(map(str, keys_of(line).values()))])
        far = max(far, abs(line["value"] - plain(units)))
    assert far > 1e-3  # a mean of ratios is another figure
    assert "is Σ(iou − chance) / Σ(ceiling − chance)" in board.attrs["note"]
    layers = results.layer_progression(name)
    shown = {tuple(map(str, keys_of(one).values())): one["value"] for one in _lines(board)}
    assert {tuple(map(str, keys_of(one).values())): one["value"] for one in _lines(layers)} == shown


def _lines(frame: Any) -> Any:
    return frame.to_dict("records")


def test_percentiles_heads_and_halves(made: Made, results: Results) -> None:
    sweep = results.percentile_sweep("iou_corrected", model="demo/vit", method="cls", layer=2)
    assert len(sweep) == 3
    for line in _lines(sweep):
        units = parts(made, f"{line['percentile']:g}", **VIT, layer=2)
        assert line["value"] == near(ratio(units.values()))
    heads = results.head_ranking("iou_corrected@90", model="demo/vit", method="cls", layer=1)
    assert len(heads) == 2
    for line in _lines(heads):
        units = parts(made, "90", **VIT, layer=1, head=line["head"])
        assert line["value"] == near(ratio(units.values()))
    (split,) = _lines(
        results.leaderboard("iou_corrected@90", model="demo/vit@seed2", layer="split")
    )
    layers, half = [int(one) for one in str(split["layer"]).split("|")] * 2, halves(made)
    by_layer = {layer: parts(made, "90", **SEED2, layer=layer) for layer in layers}
    mine = [by_layer[layers[half[image]]][image] for image in by_layer[layers[0]]]
    assert split["value"] == near(ratio(mine))


def test_labels_of_images_and_of_regions(made: Made, results: Results) -> None:
    words: dict[str, Any] = {"model": "demo/vit", "method": "cls"}
    frame = results.style_breakdown("iou_corrected@90", layer=1, **words)
    units = parts(made, "90", **VIT, layer=1)
    labels = dict(zip(made.images["image"], made.images["labels"], strict=True))
    assert frame["label"].tolist() == ["baroque", "gothic"]
    for line in _lines(frame):
        mine = [unit for image, unit in units.items() if line["label"] in labels[image]]
        single = [gain / room for gain, room in mine]
        assert line["value"] == near(ratio(mine))
        assert line["low"] < line["value"] < line["high"]
        assert line["median"] == near(float(np.median(single)))
        assert line["std"] == near(float(np.std(single, ddof=1)))
    matrix = results.head_feature_matrix("iou_corrected@90", **words)
    regions = made.regions.set_index(["image", "region"])["label"]
    units = parts(made, "90", "region", **VIT, layer=3, head=1)
    for label in matrix:
        mine = [unit for key, unit in units.items() if regions[key] == label]
        assert matrix[label][3, 1] == near(ratio(mine))


def resampled(sides: list[Any], draws: int = 4000) -> tuple[float, float]:
    """Return between which ends nearly all differences of ratios lie, images drawn again."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(draws):
        drawn = rng.integers(0, len(sides[0]), len(sides[0]))
        ratios = [ratio([side[k] for k in drawn]) for side in sides]
        found.append(ratios[0] - sum(ratios[1:]))
    low, high = np.quantile(found, [0.025, 0.975])
    return float(low), float(high)


def check_ends(line: Any, sides: list[Any]) -> None:
    low, high = resampled(sides)
    room = 0.35 * (high - low)  # the studentised bootstrap of few images is wider on one side
    assert abs(line["low"] - low) < room
    assert abs(line["high"] - high) < room


def test_intervals_resample_both_sums(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("many") / "s"
    made = make_store(folder, count=40, metrics=("iou", "iou_corrected"), percentiles=(50,))
    with open_results(made.path) as found:
        (line,) = _lines(found.leaderboard("iou_corrected@50", model="demo/vit@seed2", layer=2))
    units = list(parts(made, "50", **SEED2, layer=2).values())
    check_ends(line, [units])
    single = [gain / room for gain, room in units]
    assert line["median"] == near(float(np.median(single)))
    assert line["std"] == near(float(np.std(single, ddof=1)))


def flipped(gaps: list[float]) -> float:
    """Return the two-sided p of a sign-flip test over all patterns."""
    sums = [
        sum(s * gap for s, gap in zip(signs, gaps, strict=True))
        for signs in product((1, -1), repeat=len(gaps))
    ]
    return sum(abs(one) >= abs(sum(gaps)) - 1e-9 for one in sums) / len(sums)


@pytest.mark.parametrize("token", ["50", "mass60"])
def test_comparisons_are_differences_of_ratios(made: Made, results: Results, token: str) -> None:
    frame = results.compare("demo/vit", "demo/vit@seed2", f"iou_corrected@{token}", layer=2)
    (line,) = _lines(frame)
    a, b = (parts(made, token, **side, layer=2) for side in (VIT, SEED2))
    both = [image for image in a if image in b]
    first, second = ([side[image] for image in both] for side in (a, b))
    assert line["n"] == len(both)
    assert line["value_a"] == near(ratio(first))
    assert line["value_b"] == near(ratio(second))
    assert line["difference"] == near(ratio(first) - ratio(second))
    check_ends(line, [first, second])
    same = token == "50"  # noqa: S105
    gaps = [
        x[0] - y[0] if same else x[0] / x[1] - y[0] / y[1]
        for x, y in zip(first, second, strict=True)
    ]
    assert line["p"] == pytest.approx(flipped(gaps))
    assert ("p is of the plain differences" in frame.attrs["note"]) is not same


def test_no_room_is_no_mean(results: Results) -> None:
    from sightline.results._sums import Sums

    assert math.isnan(Sums(2, 0, 0.1, 0, 2, 0.2, math.nan, 1e-12).mean())
    assert Sums(2, 0, 0.1, 0, 2, 0.2, math.nan, 0.5).mean() == 0.2
