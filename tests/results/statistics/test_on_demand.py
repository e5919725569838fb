"""One map at a time: the stored rows to the last bit, any rule, any region, in several threads."""

from __future__ import annotations

# The texts put together here are SQL of ours.
# ruff: noqa: S608
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import product
from math import isnan
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from sightline.core import Annotation, InputError, Region, UnknownNameError
from sightline.core.geometry import Geometry
from sightline.core.lru_cache import Kept
from sightline.metrics import score_maps
from sightline.metrics.selection import Threshold
from sightline.results import on_demand, open_results, open_scenes
from sightline.results._catalogue import Where
from sightline.results._sums import sum_up
from sightline.results.image_scores import DatasetMeans, Mean, figures_of, panel_metrics
from sightline.results.on_demand import NoMapError, OnDemand
from sightline.results.scored_map import MapKey, OneMap, Rule, scores_of
from sightline.store import Store
from sightline.store.shards import read_maps
from tests.results.statistics import stores

if TYPE_CHECKING:
    from pathlib import Path

    from sightline.results import Results
    from sightline.study.plan.sources import Source

EVERY = ("sparse", "odd", "cropped", "given", "headed")


@pytest.fixture(scope="session")
def headed(folder: Path, odd: Path) -> Path:
    """Pictures of two shapes in their own sizes, scored on their pixels; heads, and two rules."""
    data = {"name": "folder", "path": str(folder / "pictures")}
    keys: dict[str, Any] = {
        "methods": ["cls", "saliency"],
        "heads": "all",
        "fit": "native",
        "resolution": "pixels",
        "selection": ["percentile", "mass60", "matched"],
        "ties": "include",
        "metrics": ["iou", "dice", "lift", "coverage", "pointing", "nss", "kl", "pointing@tol2"],
    }
    return stores.run(folder, "headed", data=data, **keys)


def keys_of(source: Source) -> list[MapKey]:
    return [
        MapKey(source.name, source.method, layer, head, source.target, source.seed)
        for layer, head in product(source.layers, source.heads)
    ]


def rules_of(results: Results) -> list[Rule]:
    tokens = {name.threshold: None for name in results._tables.names if name.threshold}
    thresholds = [Threshold.parse(token) for token in tokens]
    ties = results.study["ties"]
    return [
        Rule("percentile", one.level, ties)
        if one.kind == "percentile"
        else Rule(str(one), ties=ties)
        for one in thresholds
        if one.kind in ("percentile", "mass", "mean", "matched")
    ]


def stored(results: Results) -> dict[tuple[Any, ...], tuple[float, ...]]:
    """Return value, chance, ceiling and visible share of every row."""
    rows = results._tables.fetch(
        "SELECT image, region, model || CASE variant WHEN '' THEN '' ELSE '@' || variant END, "
        "method, layer, head, target, seed, name, value, chance, ceiling, visible "
        f"FROM ({results._tables.scores(results._tables.names)})"
    )
    return {tuple(row[:9]): tuple(nan_of(one) for one in row[9:]) for row in rows}


def nan_of(value: float | None) -> float:
    return float("nan") if value is None else value


@pytest.mark.parametrize("store", EVERY)
def test_every_stored_row_comes_out_again(store: str, request: pytest.FixtureRequest) -> None:
    with open_results(request.getfixturevalue(store)) as results:
        maps = OnDemand(open_scenes(results))
        rows, rules, seen = stored(results), rules_of(results), set()
        images = maps.scenes.images[::8]
        for source, image in product(maps.scenes.sources, images):
            for key in keys_of(source):
                try:
                    one = maps.map(image, key)
                except NoMapError:
                    assert (store, image) == ("given", "008.png")
                    continue
                names = panel_metrics(results._tables.names, one.sign)
                for rule, region in product(rules, (None, *one.masks)):
                    found = figures_of(one, rule, region, names)
                    for name, figure in found.figures.items():
                        row = (image, region, *key, name)
                        if row in rows:
                            seen.add(row)
                            check_same(row, figure, found.visible, rows[row])
        assert seen == {row for row in rows if row[0] in images}


def check_same(
    row: tuple[Any, ...], figure: dict[str, float], visible: float, stored: tuple[float, ...]
) -> None:
    """Values are the same to the last bit; what is beside them follows from areas in 32 bits."""
    assert np.array_equal(figure["value"], stored[0], equal_nan=True), row
    beside = (figure["chance"], figure["ceiling"], visible)
    for seen, known in zip(beside, stored[1:], strict=True):
        assert isnan(known) or seen == pytest.approx(known, abs=1e-6), row


@pytest.mark.parametrize("store", EVERY)
def test_masks_alone_give_the_same_scores(store: str, request: pytest.FixtureRequest) -> None:
    """Readers of the binary answer have values in 32 bits, masks, and what does not count."""
    with open_results(request.getfixturevalue(store)) as results:
        maps = OnDemand(open_scenes(results))
        key = keys_of(maps.scenes.sources[0])[-1]
        for image in maps.scenes.images[:3]:
            one, rule = maps.map(image, key), Rule(percentile=83.25)
            values, scale = one.single()
            assert (str(values.dtype), scale) == ("float32", 1.0)
            assert one.kept == values.size - (0 if one.ignore is None else one.ignore.sum())
            nothing = np.zeros(values.shape, np.bool_)
            for region in (None, *one.masks):
                chosen = one.masks.values() if region is None else [one.masks[region]]
                mask = np.logical_or.reduce([nothing, *chosen])
                direct = score_maps(
                    values, mask, ignore=one.ignore, sign=one.sign, percentiles=[83.25]
                )
                found = figures_of(one, rule, region)
                for name in ("iou@83.25", "coverage", "pointing", "recall@83.25"):
                    assert np.array_equal(found.value(name), float(direct[name]), equal_nan=True)


@pytest.mark.parametrize(
    ("store", "place"),
    [
        ("sparse", [(0.0, 0.0, 1.0, 1.0)]),
        ("odd", [(0.0, -0.25, 1.0, 1.25), (-0.25, 0.0, 1.25, 1.0)]),
        ("cropped", [(0.0, 0.0, 1.0, 1.0)]),
    ],
)
def test_a_raster_says_where_it_lies(
    store: str, place: list[tuple[float, ...]], request: pytest.FixtureRequest
) -> None:
    with open_results(request.getfixturevalue(store)) as results:
        maps = OnDemand(open_scenes(results))
        key = keys_of(maps.scenes.sources[0])[0]
        for image in maps.scenes.images[:4]:
            found = maps.map(image, key).place
            assert any(np.allclose(found, one, atol=0.01) for one in place), found


def test_a_single_image_is_read_out_of_a_file_of_many(sparse: Path, headed: Path) -> None:
    for folder in (sparse, headed):  # of one shape, and of several
        path = next(
            path for path in sorted(Store(folder).maps.iterdir()) if len(read_maps(path).images) > 2
        )
        whole = read_maps(path)
        for i, image in enumerate(whole.images):
            one = read_maps(path, image)
            assert (one.images, one.layers, one.heads) == ((image,), whole.layers, whole.heads)
            assert one.geometries == whole.geometries[i : i + 1]
            assert one.targets == (whole.targets[i : i + 1] if whole.targets else ())
            for a, b in zip(one.values[0], whole.values[i], strict=True):
                assert np.array_equal(a, b)
        with pytest.raises(InputError, match="must hold the maps"):
            read_maps(path, "other")


def test_layers_and_heads_are_scored_at_once_as_one_by_one(headed: Path) -> None:
    with open_results(headed) as results:
        maps = OnDemand(open_scenes(results))
        source = next(one for one in maps.scenes.sources if one.method == "cls")
        image, rule = maps.scenes.images[0], Rule("mass60")
        for heads, count in ((False, 2), (True, 8)):
            stacks = maps.stacks(image, keys_of(source)[0], rule, "recall@mass60", heads=heads)
            keys = [key for stack in stacks for key in stack.keys]
            assert len(keys) == len(set(keys)) == count
            for stack in stacks:
                for place, key in enumerate(stack.keys):
                    alone = figures_of(maps.map(image, key), rule)
                    assert float(stack.scores["recall@mass60"][place]) == alone.value(
                        "recall@mass60"
                    )
        saliency = keys_of(next(one for one in maps.scenes.sources if one.method == "saliency"))[0]
        assert maps.stacks(image, saliency, rule, "recall@mass60", heads=True) == []


def test_fine_maps_push_out_no_others(odd: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_results(odd) as results:
        scenes = open_scenes(results)
        sizes = {
            key: on_demand._grid_bytes(OnDemand(scenes).stored(scenes.images[0], source))
            for source in scenes.sources
            if not source.check
            for key in keys_of(source)[:1]
        }
        coarse, fine = min(sizes, key=sizes.__getitem__), max(sizes, key=sizes.__getitem__)
        monkeypatch.setattr(on_demand, "_LEAST_FINE", sizes[coarse])
        monkeypatch.setattr(on_demand, "_FINE", sizes[fine])
        monkeypatch.setattr(on_demand, "_GRIDS", sizes[fine] + sizes[coarse])
        maps = OnDemand(scenes)
        first = scenes.images[0]
        maps.map(first, coarse)
        for image in scenes.images:
            maps.map(image, fine)
        assert maps.has(first, coarse)
        assert maps.has(scenes.images[-1], fine)
        assert not maps.has(first, fine)


def test_the_range_of_the_data_set_holds_that_of_each_image(odd: Path) -> None:
    with open_results(odd) as results:
        maps = OnDemand(open_scenes(results))
        for source in maps.scenes.sources:
            for key in keys_of(source):
                low, high = maps.dataset_span(key) or (0.0, 0.0)
                spans = [maps.map(image, key).span for image in maps.scenes.images]
                assert min(one for one, _ in spans) >= low - 1e-6
                assert max(one for _, one in spans) <= high + 1e-6
                assert low < high or source.method == "centre"


def test_what_is_not_there_is_named(sparse: Path, given: Path) -> None:
    with open_results(sparse) as results:
        maps = OnDemand(open_scenes(results))
        image, key = maps.scenes.images[0], MapKey("demo/vit", "cls", 3)
        with pytest.raises(UnknownNameError, match="no image 'nowhere'"):
            maps.map("nowhere", key)
        for wrong in (key._replace(layer=5), key._replace(head=0), key._replace(model="x")):
            with pytest.raises(UnknownNameError, match="the study has no maps of"):
                maps.map(image, wrong)
        with pytest.raises(UnknownNameError, match="has no scored region 99; it has"):
            figures_of(maps.map(image, key), Rule(), 99)
    with open_results(given) as results:
        maps = OnDemand(open_scenes(results))
        with pytest.raises(NoMapError, match=r"image '008.png' is stored: none was given"):
            maps.map("008.png", keys_of(maps.scenes.sources[0])[0])


def test_maps_of_a_running_study_are_there_as_soon_as_they_are_stored(
    sparse: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "growing"
    shutil.copytree(sparse, copy)
    key = MapKey("demo/vit", "cls", 3)
    with open_results(copy) as results:
        maps = OnDemand(open_scenes(results))
        source = maps.source(key)
        files = sorted(Store(copy).scores.iterdir())
        gone = [path for path in files if path.name.startswith("000001")]
        late = maps.scenes.images[-1]
        for path in gone:
            path.rename(tmp_path / path.name)
        with pytest.raises(NoMapError, match="it is not computed yet"):
            maps.map(maps.scenes.images[17], key)
        assert maps.map(maps.scenes.images[0], key).key == key
        for path in gone:
            (tmp_path / path.name).rename(path)
        assert maps.map(maps.scenes.images[17], key).values.shape
        assert maps.stored(late, source).images == (late,)


def test_threads_get_the_same_maps(sparse: Path) -> None:
    with open_results(sparse) as results:
        alone, shared = (OnDemand(open_scenes(results)) for _ in range(2))
        asked = [
            (image, key)
            for source in alone.scenes.sources
            for key in keys_of(source)
            for image in alone.scenes.images[:5]
        ]

        def score(pair: tuple[str, MapKey]) -> float:
            return figures_of(shared.map(*pair), Rule(percentile=77)).value("iou@77")

        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(score, asked * 2))
        rule = Rule(percentile=77)
        expected = [figures_of(alone.map(*one), rule).value("iou@77") for one in asked]
        assert np.array_equal(found, expected * 2, equal_nan=True)


# --- rules ---------------------------------------------------------------------------------------


def test_rules_are_checked_and_named() -> None:
    assert [str(Rule(percentile=p)) for p in (90, 87.5)] == ["90", "87.5"]
    assert Rule("mass60").named("iou") == "iou@mass60"
    assert Rule("mass60").named("coverage") == "coverage"
    assert Rule(percentile=90).exact
    assert not Rule(percentile=90.0000001).exact
    for wrong in (0, 100, -3, float("nan")):
        with pytest.raises(InputError, match="percentile must lie between 0 and 100"):
            Rule(percentile=wrong)
    for name in ("k5", "90", "nothing", "tol15"):
        with pytest.raises(InputError, match="selection"):
            Rule(name)


def test_a_rule_that_is_nearly_stored_is_computed_by_itself(sparse: Path) -> None:
    with open_results(sparse) as results:
        maps = OnDemand(open_scenes(results))
        one, means = maps.map(maps.scenes.images[0], MapKey("demo/vit", "cls", 3)), None
        near, there = Rule(percentile=89.9999999), Rule(percentile=90)
        assert str(near) == str(there)
        assert figures_of(one, near).attention_area > figures_of(one, there).attention_area
        means = DatasetMeans(results)
        assert [str(name) for name in means.names(there, ["iou@90", "coverage"])] == [
            "iou@90",
            "coverage",
        ]
        assert [str(name) for name in means.names(near, ["iou@90", "coverage"])] == ["coverage"]
        include = replace(there, ties="include")
        assert [str(name) for name in means.names(include, ["iou@90", "coverage"])] == ["coverage"]


# --- the data set beside it ----------------------------------------------------------------------


def test_means_are_those_of_the_leaderboard(headed: Path, sparse: Path) -> None:
    for folder, key in (
        (sparse, MapKey("demo/vit@seed2", "random", seed=1)),
        (headed, MapKey("demo/vit", "cls", 3, 2)),
    ):
        with open_results(folder) as results:
            means = DatasetMeans(results)
            rule = Rule(ties=results.study["ties"])
            names = means.names(rule, ["iou@90", "pointing", "auc_roc", "iou@77"])
            where = Where(head=key.head, seed=key.seed)
            scores = sum_up(results._tables, names, where)
            own = {name: scores[name][key.model, key.head] for name in names}
            found = means.of_images(key, own)
            assert "iou@77" not in found
            for name in names:
                frame = results.leaderboard(
                    str(name), model=key.model, method=key.method,
                    layer="best" if key.layer is None else key.layer, head=key.head, seed=key.seed,
                )  # fmt: skip
                (line,) = frame.to_dict("records")
                mean = found[str(name)]
                assert (mean.mean, mean.low, mean.high, mean.n) == tuple(
                    line[column] for column in ("value", "low", "high", "n")
                )
                assert len(mean.scores) == mean.n
            assert means.of_images(key, {}) == {}


def test_means_of_regions_are_those_of_their_label(sparse: Path) -> None:
    with open_results(sparse) as results:
        means, key = DatasetMeans(results), MapKey("demo/vit", "cls", 3)
        assert means.token_of(Rule(percentile=80)) == "80"
        assert means.token_of(Rule(percentile=81)) is None
        frame = results.feature_breakdown(
            model=key.model, method=key.method, layer=3, percentile=80
        ).set_index("label")
        found = means.of_regions(key, "80")
        assert list(found) == list(frame.index)
        for label, line in frame.iterrows():
            own = found[str(label)]
            assert set(own) == {"iou@80", "recall@80", "pointing", "coverage"}
            pairs = {"iou@80": ("iou", "low"), "recall@80": ("recall", "recall_low")}
            for name, (value, low) in pairs.items():
                seen = (own[name].mean, own[name].low, own[name].n)
                assert np.array_equal(seen, (line[value], line[low], line["n"]), equal_nan=True)
        assert set(means.of_regions(key, None)[str(label)]) == {"pointing", "coverage"}


def test_a_rank_is_the_share_of_images_that_score_less() -> None:
    mean = Mean(0.5, 0.4, 0.6, 4, np.array([0.1, 0.5, 0.5, 0.9]))
    assert [mean.rank(value) for value in (0.1, 0.5, 0.95)] == [0.0, 0.25, 1.0]
    assert isnan(mean.rank(float("nan")))
    assert isnan(Mean(0.5, 0.4, 0.6, 4).rank(0.5))


# --- words about disagreement --------------------------------------------------------------------


def drawn(values: Any, *boxes: tuple[float, ...], sign: Any = "positive") -> OneMap:
    regions = tuple(Region(box=box, index=i) for i, box in enumerate(boxes))  # type: ignore[arg-type]
    rows, columns = values.shape
    return OneMap(
        "a", MapKey("m", "x"), values, Annotation("a", columns, rows, regions), None, 1.0,
        dict.fromkeys(range(len(boxes)), 1.0), sign, Geometry.of(columns, rows), values, False,
    )  # fmt: skip


def test_divergence_is_told_where_metrics_disagree() -> None:
    values = np.full((20, 20), 0.1)
    values[2, 2] = 9.0  # the maximum, in the first box
    values[:2, 4:] = 1.0  # as much again elsewhere
    alone = figures_of(drawn(values, (0, 0, 0.2, 0.2)), Rule()).divergence
    assert alone.startswith("The map's maximum lies on annotated pixels, which hold ")
    assert "cannot be told apart from attention to instances that nobody annotated" in alone
    assert "times the energy of chance, yet IoU is" in alone
    two = drawn(values, (0, 0, 0.2, 0.2), (0.6, 0.6, 0.7, 0.7))
    told = figures_of(two, Rule(), 0).divergence
    assert told.startswith("The map's maximum lies in this region, which holds ")
    assert "other regions of this image" in told
    assert figures_of(two, Rule(), 1).divergence == ""  # not pointed at
    whole = np.full((20, 20), 0.1)
    whole[:4, :10] = 1.0
    assert figures_of(drawn(whole, (0, 0, 0.5, 0.2)), Rule()).divergence == ""  # all agree
    assert figures_of(drawn(np.zeros((20, 20)), (0, 0, 0.5, 0.2)), Rule()).divergence == ""


def test_signed_maps_have_no_energy_and_say_so() -> None:
    one = drawn(np.arange(-50.0, 50.0).reshape(10, 10), (0, 0, 0.5, 0.5), sign="signed")
    names = panel_metrics([], one.sign)
    assert "coverage" not in names
    found = figures_of(one, Rule(), None, names)
    assert isnan(found.value("coverage"))
    assert found.value("auc_roc") < 0.5
    assert found.divergence == ""
    with pytest.raises(InputError, match="needs sign"):
        figures_of(one, Rule("mass60"), None, names)


def test_numbers_beyond_32_bits_keep_their_order() -> None:
    for far in (1e300, 1e-300):
        values = np.array([[1.0, 2.0, 2.0, 3.0]]) * far
        one = drawn(values, (0, 0, 0.5, 1))
        small, scale = one.single()
        assert np.allclose(small.astype(np.float64) * scale, values, rtol=1e-6, atol=0)
        assert np.log2(scale) % 1 == 0
        same = replace(one, values=small)
        for name in ("coverage", "auc_roc"):
            assert float(scores_of(one, Rule())[name][0]) == pytest.approx(
                float(scores_of(same, Rule())[name][0]), rel=1e-6
            )


# --- what is kept --------------------------------------------------------------------------------


def test_no_more_is_kept_than_there_is_room_for() -> None:
    made: list[str] = []

    def make(name: str, size: int) -> bytes:
        made.append(name)
        return b"x" * size

    kept: Kept[bytes] = Kept(10, len)
    for name in ("a", "b", "a", "c", "b", "large", "large"):
        kept.get(name, partial(make, name, 11 if name == "large" else 4))
    assert made == ["a", "b", "c", "b", "large", "large"]
    assert kept.size <= 10
    kept.put("b", b"x" * 7)  # in place of the one before
    assert (kept.peek("b"), kept.peek("c"), kept.size) == (b"x" * 7, None, 7)
    kept.put("b", b"x" * 11)
    assert (kept.peek("b"), kept.size) == (None, 0)


def test_what_failed_is_tried_again() -> None:
    kept: Kept[str] = Kept(10, len)
    with pytest.raises(ZeroDivisionError):
        kept.get("a", lambda: str(1 / 0))
    assert kept.get("a", lambda: "made") == "made"
    odd: Kept[int] = Kept(10, lambda number: 1 // number)
    for _ in range(2):  # nobody waits for what has failed
        with pytest.raises(ZeroDivisionError):
            odd.get("a", lambda: 0)
