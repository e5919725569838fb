"""Every score of a chunk against one map at a time: geometry by hand, metrics in exact loops."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from sklearn.metrics import precision_recall_curve, roc_curve

from sightline.core import Annotation, InputError, Region
from sightline.metrics import CONDITIONS, METRICS, score_maps, soft_target
from sightline.store.schema import list_score_columns
from sightline.store.shards import StoredMaps
from sightline.study.worker import scores as module
from sightline.study.worker.scores import BadMapError, Scored, rows_per_map, score_chunk
from tests.reference import maps as reference
from tests.study.tables import decode, get_bytes, melt, melt_scores, sort
from tests.study.worker.scenes import FITS, HEADS, LAYERS, annotation, chunk, scoring, source, way

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sightline.core.geometry import Geometry
    from sightline.study import Scoring

Key = tuple[Any, ...]
ON_REQUEST = ("nss", "entropy", "pointing@tol2", "pointing_chance@tol2")


class Raster(NamedTuple):
    """One map where it is scored, and what lies on it."""

    values: NDArray[Any]
    kept: NDArray[np.bool_]
    masks: dict[int, NDArray[np.bool_]]

    def union(self) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = np.any(list(self.masks.values()), axis=0) & self.kept
        return found


def on_raster(
    geometry: Geometry, values: NDArray[Any], annotation: Annotation, resolution: str | int
) -> Raster:
    """Lay one map and its regions on one raster, by what the geometry says of each."""
    if resolution == "grid":
        rows, columns = geometry.grid[::-1]
        carried = geometry.carry(annotation)
        drawn = dict(
            zip(
                [region.index for region in carried.regions],
                carried.region_masks(rows, columns),
                strict=True,
            )
        )
        seen = geometry.content_mask()
    else:
        width, height = geometry.source
        if isinstance(resolution, int):
            longer = max(width, height)
            width, height = (max(1, round(side * resolution / longer)) for side in (width, height))
        rows, columns = height, width
        values = geometry.to_image(values, rows, columns, fill=0, how="bilinear")
        drawn = {region.index: region.to_mask(rows, columns) for region in annotation.regions}
        seen = geometry.seen_mask(rows, columns)
    nothing = np.zeros((rows, columns), np.bool_)
    ignored = nothing.copy()
    for region in annotation.ignored:
        ignored |= drawn.get(region.index, nothing)
    masks = {region.index: drawn.get(region.index, nothing) for region in annotation.scored}
    return Raster(values, seen & ~ignored, masks)


def expected_values(
    raster: Raster, mask: NDArray[np.bool_], scoring: Scoring, sign: str
) -> dict[str, float]:
    """Score a map against a mask in exact loops over the pixels that count."""
    values, inside = raster.values[raster.kept][None], mask[raster.kept][None]
    found = reference.scores(
        values,
        inside,
        selection=scoring.selection,
        percentiles=scoring.percentiles,
        sign=sign,
        ties=scoring.ties,
    )
    if "nss" in scoring.metrics:
        found["nss"] = reference.nss(values, inside, sign=sign)
        found["entropy"] = reference.entropy(values, sign=sign)
        near = np.array(reference._near(raster.values, mask & raster.kept, 2))
        flags = near.reshape(mask.shape)[raster.kept][None]
        found["pointing@tol2"] = reference.pointing(values, flags, sign=sign)
        found["pointing_chance@tol2"] = flags.mean() if flags.any() else math.nan
    return {name.replace("attention_area", "selected_fraction"): found[name] for name in found}


def is_stored(name: str, scoring: Scoring, regional: bool) -> bool:
    """Return whether a figure is one of the scores of a map, or of a region."""
    figure, _, token = name.partition("@")
    asked = {metric.partition("@")[0] for metric in scoring.metrics}
    if figure == "selected_fraction":
        return token in ("mass60", "mean") or scoring.ties == "include"
    if figure == "best_iou_percentile":
        return not regional and "best_iou" in asked
    if figure == "top_k_any_chance" or name.endswith("@tol2"):
        return not regional and figure.removesuffix("_chance") in asked
    return figure in asked and not (regional and METRICS[figure].level != "region")


def by_key(found: Scored) -> dict[Key, dict[str, Any]]:
    """Scores by what tells them apart; each key is there once."""
    names = ("image", "region", "layer", "head", "metric", "threshold")
    lines = melt(*found).to_pylist()
    scores = {tuple(line[name] for name in names): line for line in lines}
    assert len(scores) == len(lines)
    return scores


def expected_conditions(raster: Raster, mask: NDArray[np.bool_], sign: str) -> int:
    """The bits of what may leave a score undefined, counted pixel by pixel."""
    values, inside = raster.values[raster.kept], mask[raster.kept]
    energy = np.abs(values) if sign == "absolute" else np.maximum(values, 0)
    holds = {
        "every pixel is ignored": not raster.kept.any(),
        "map is not finite": False,
        "empty annotation": not inside.any(),
        "map sums to zero": sign != "signed" and energy.sum() == 0,
        "annotation covers the image": inside.all(),
    }
    return sum(1 << bit for bit, name in enumerate(CONDITIONS) if holds[name])


class Expected(NamedTuple):
    """A score, and what its row says of the map."""

    value: float
    annotated: float
    visible: float
    pixels: int
    conditions: int


def expected_scores(
    maps: StoredMaps, annotations: list[Annotation], scoring: Scoring, sign: str
) -> dict[Key, Expected]:
    """Every score, map after map and region after region."""
    found: dict[Key, Expected] = {}
    for i, one in enumerate(annotations):
        for k, layer in enumerate(maps.layers):
            geometry = maps.geometries[i][k]
            shown = {region.index: geometry.visible(region) for region in one.scored}
            for h, head in enumerate(maps.heads):
                raster = on_raster(geometry, maps.values[i][k][h], one, scoring.resolution)
                places: list[tuple[int | None, Any]] = [(None, raster.union())]
                places += list(raster.masks.items()) if scoring.regions else []
                for number, mask in places:
                    share = geometry.visible_share(one) if number is None else shown[number]
                    columns = expected_values(raster, mask, scoring, sign)
                    facts = int(raster.kept.sum()), expected_conditions(raster, mask, sign)
                    for name, value in columns.items():
                        if is_stored(name, scoring, number is not None):
                            metric, _, threshold = name.partition("@")
                            key = (one.image_id, number, layer, head, metric, threshold)
                            found[key] = Expected(value, mask[raster.kept].mean(), share, *facts)
    return found


def compare(found: Scored, expected: dict[Key, Expected]) -> None:
    rows = by_key(found)
    assert set(rows) == set(expected)
    for key, one in expected.items():
        row = rows[key]
        assert row["value"] == pytest.approx(one.value, rel=1e-9, abs=1e-12, nan_ok=True), key
        assert row["annotated_fraction"] == np.float32(one.annotated), key
        visible = pytest.approx(one.visible, abs=1e-6, nan_ok=True)
        assert row["visible_fraction"] == visible, key
        assert (row["pixels"], row["undefined"]) == (one.pixels, one.conditions), key


@pytest.mark.parametrize("resolution", ["grid", "pixels", 10])
@pytest.mark.parametrize("fit", FITS)
def test_every_score_equals_the_exact_value(fit: str, resolution: str | int) -> None:
    maps, annotations = chunk(fit)
    some = scoring(resolution=resolution)
    # Loops over many pixels take long: one of them is enough.
    few = maps if resolution == "grid" else only(maps, 1, 1)
    compare(
        score_chunk(source(), some, few, annotations),
        expected_scores(few, annotations, some, "positive"),
    )


def only(maps: StoredMaps, layer: int, head: int) -> StoredMaps:
    """One map of each image."""
    return replace(
        maps,
        layers=maps.layers[layer : layer + 1],
        heads=maps.heads[head : head + 1],
        values=tuple((image[layer][head : head + 1],) for image in maps.values),
        geometries=tuple((image[layer],) for image in maps.geometries),
    )


SIGNED = ("average_precision", "auc_roc", "relevance_rank", "pointing", "iou", "recall")
RULES: dict[str, tuple[str, dict[str, Any]]] = {
    "absolute": ("absolute", {}),
    "include": ("positive", {"ties": "include"}),
    "signed": ("signed", {"metrics": SIGNED, "selection": ("percentile", "matched")}),
    "union": ("positive", {"regions": False}),
    "few": ("positive", {"metrics": ("iou@90", "coverage"), "selection": ("mean",)}),
}


@pytest.mark.parametrize("resolution", ["grid", 10])
@pytest.mark.parametrize("rule", RULES)
def test_the_rules_of_a_study_reach_every_score(rule: str, resolution: str | int) -> None:
    sign, changes = RULES[rule]
    maps, annotations = chunk("letterbox", ("wide",))
    maps = only(maps, 1, 0)
    some = scoring(resolution=resolution, **changes)
    found = score_chunk(source(sign=sign), some, maps, annotations)
    if rule == "few":
        for some_scores in found:
            assert list_score_columns(some_scores.column_names) == ["iou@90", "coverage"]
            assert some_scores.num_rows > 0
    else:
        compare(found, expected_scores(maps, annotations, some, sign))


@pytest.mark.parametrize("resolution", ["grid", "pixels", 50])
@pytest.mark.parametrize("fit", FITS)
def test_large_images_are_scored_as_their_maps_one_by_one(fit: str, resolution: str | int) -> None:
    """The same with larger images; here each map goes through `score_maps` by itself."""
    maps, annotations = chunk(fit, scale=7)
    some = scoring(resolution=resolution)
    rows = by_key(score_chunk(source(), some, maps, annotations))
    for i, one in enumerate(annotations):
        for k, layer in enumerate(maps.layers):
            for h, head in enumerate(maps.heads):
                raster = on_raster(
                    maps.geometries[i][k], maps.values[i][k][h], one, some.resolution
                )
                scores = score_maps(
                    raster.values[None],
                    regions=[list(raster.masks.values())],
                    ignore=~raster.kept,
                    selection=some.selection,
                    percentiles=some.percentiles,
                    sign="positive",
                    metrics=some.metrics,
                )
                own = melt_scores(scores).to_pylist()
                numbers = list(raster.masks)
                assert own
                for row in own:
                    region = None if row["region"] is None else numbers[row["region"]]
                    key = (one.image_id, region, layer, head, row["metric"], row["threshold"])
                    near = pytest.approx(row["value"], rel=1e-12, abs=1e-15, nan_ok=True)
                    assert rows.pop(key)["value"] == near, key
    assert not rows


def test_the_scenes_hold_what_they_should() -> None:
    """Each fit shows another part of the images; grids differ between layers and images."""
    cut = way("crop", 14, 9, 4)
    shown = {region.index: cut.visible(region) for region in annotation("a", 14, 9).regions}
    assert shown[1] == 0
    assert 0 < shown[7] < 1
    assert cut.content_mask().all()
    assert not way("letterbox", 14, 9, 2).content_mask().all()
    assert way("native", 14, 9, 4).grid != way("native", 8, 13, 4).grid
    assert len({one.grid for one in chunk("squash")[0].geometries[0]}) == 2


@pytest.mark.parametrize("resolution", ["grid", "pixels", 50])
def test_a_region_out_of_sight_has_scores_without_a_value(resolution: str | int) -> None:
    maps, annotations = chunk("crop")
    found = by_key(score_chunk(source(), scoring(resolution=resolution), maps, annotations))
    seen = {key: row for key, row in found.items() if key[1] == 1}
    assert len(seen) == sum(key[1] == 0 for key in found)
    for key, row in seen.items():
        assert math.isnan(row["value"]) == (key[4] != "selected_fraction"), key
        assert row["annotated_fraction"] == 0
        assert row["visible_fraction"] == 0


def test_the_keys_are_those_of_the_source() -> None:
    maps, annotations = chunk("squash")
    found = score_chunk(source(), scoring(), maps, annotations)
    text = pa.dictionary(pa.int32(), pa.string())
    kinds: dict[str, pa.DataType] = dict.fromkeys(
        ("image", "model", "variant", "method", "target"), text
    )
    kinds |= {"layer": pa.int16(), "head": pa.int16(), "seed": pa.int32(), "rules": text}
    facts = {"annotated_fraction": pa.float32(), "visible_fraction": pa.float32()}
    facts |= {"pixels": pa.int32(), "undefined": pa.uint16()}
    own = {"region": pa.int32(), "level": text, "label": text}
    curves = dict.fromkeys(("roc", "pr"), pa.list_(pa.float32()))
    for rows, more, last in zip(found, ({}, own), (curves, {}), strict=True):
        names = list_score_columns(rows.column_names)
        types = {**kinds, **more, **facts, **dict.fromkeys(names, pa.float64()), **last}
        assert {f.name: f.type for f in rows.schema} == types
    keys: dict[str, Any] = {"rules": "0123abcd", "model": "demo/vit", "variant": "seed2"}
    keys |= {"method": "cls", "target": "label", "seed": 3}
    none = score_chunk(source(seed=None, target=""), scoring(), maps, annotations)
    for rows, others in zip(found, none, strict=True):
        for name, value in keys.items():
            assert set(rows[name].to_pylist()) == {value}
        assert others["seed"].null_count == others.num_rows
        assert set(others["target"].to_pylist()) == {""}
    regions = found.region_scores
    assert set(regions["region"].to_pylist()) == {one.index for one in annotations[0].scored}
    assert set(regions["level"].to_pylist()) == {"region"}
    assert regions["label"].null_count == regions.num_rows  # no scores of labels yet


def test_a_method_without_layers_has_none() -> None:
    maps, annotations = chunk("squash")
    one = replace(
        maps,
        layers=(None,),
        values=tuple(image[:1] for image in maps.values),
        geometries=tuple(image[:1] for image in maps.geometries),
    )
    for rows in score_chunk(source(layers=(None,)), scoring(), one, annotations):
        assert rows["layer"].null_count == rows.num_rows > 0
        assert set(rows["head"].to_pylist()) == {None, 2}


def test_an_image_without_regions_has_scores_without_a_value() -> None:
    maps, annotations = chunk("squash", ("square", "wide"))
    empty = [annotations[0], replace(annotations[1], regions=())]
    rows = by_key(score_chunk(source(), scoring(), maps, empty))
    mine = {key: row for key, row in rows.items() if key[0] == "wide"}
    assert {key[1] for key in mine} == {None}
    assert all(row["annotated_fraction"] == 0 for row in mine.values())
    free = ("entropy", "selected_fraction")
    assert all(math.isnan(row["value"]) == (key[4] not in free) for key, row in mine.items())
    only = [replace(one, regions=()) for one in annotations]
    alone = by_key(score_chunk(source(), scoring(), maps, only))
    assert {key[1] for key in alone} == {None}
    assert len(alone) == 2 * len(mine)


def sorted_bytes(parts: list[Scored]) -> bytes:
    """All rows and curves in one order, floats to the last bit."""
    return b"\1".join(
        get_bytes(sort(pa.concat_tables(map(decode, tables))))
        for tables in zip(*parts, strict=True)
    )


@pytest.mark.parametrize("resolution", ["grid", "pixels", 10])
@pytest.mark.parametrize("fit", ["crop", "letterbox"])
def test_what_is_scored_together_changes_no_bit(
    fit: str, resolution: str | int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At once, one by one, in another order, and in small groups."""
    maps, annotations = chunk(fit)
    # One image that nothing is ignored on, beside others of its size that have padding.
    annotations[0] = replace(annotations[0], regions=annotations[0].scored)
    some = scoring(resolution=resolution)

    def part(chosen: tuple[int, ...]) -> Scored:
        own = replace(
            maps,
            images=tuple(maps.images[i] for i in chosen),
            values=tuple(maps.values[i] for i in chosen),
            geometries=tuple(maps.geometries[i] for i in chosen),
        )
        return score_chunk(source(), some, own, [annotations[i] for i in chosen])

    whole = part((0, 1, 2))
    parts = [part((i,)) for i in range(3)]
    assert sorted_bytes(parts) == sorted_bytes([whole])
    assert sorted_bytes([part((2, 0)), part((1,))]) == sorted_bytes([whole])
    monkeypatch.setattr(module, "MOST_PIXELS", 1)
    assert sorted_bytes([part((0, 1, 2))]) == sorted_bytes([whole])


def test_groups_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """No more pixels are scored at once than may be, and each image is scored once."""
    maps, annotations = chunk("squash")
    sizes = []

    def watched(values: NDArray[Any], **options: Any) -> Any:
        sizes.append(values.size)
        return score_maps(values, **options)

    monkeypatch.setattr(module, "score_maps", watched)
    score_chunk(source(), scoring(), maps, annotations)
    fine, coarse = 3 * 2 * 64, 3 * 2 * 2 * 16
    assert sorted(sizes) == [coarse, fine]
    monkeypatch.setattr(module, "MOST_PIXELS", 2 * 2 * 64)
    sizes.clear()
    score_chunk(source(), scoring(), maps, annotations)
    assert max(sizes) <= 2 * 2 * 64
    assert sum(sizes) == fine + coarse


@pytest.mark.parametrize("resolution", ["grid", "pixels"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_map_that_is_not_finite_names_its_image(
    place: int, value: float, resolution: str | int
) -> None:
    maps, annotations = chunk("letterbox")
    values = [list(image) for image in maps.values]
    values[place][2] = values[place][2].copy()
    values[place][2][1, 1, 1] = value
    bad = replace(maps, values=tuple(tuple(image) for image in values))
    with pytest.raises(BadMapError) as caught:
        score_chunk(source(), scoring(resolution=resolution), bad, annotations)
    assert caught.value.image == maps.images[place]
    assert f"image {maps.images[place]!r}: its map " in str(caught.value)
    assert "cls" in str(caught.value)


def test_an_annotation_of_another_size_is_refused() -> None:
    maps, annotations = chunk("squash", ("square",))
    with pytest.raises(InputError, match="is for an image of 99x12"):
        score_chunk(source(), scoring(), maps, [replace(annotations[0], width=99)])


def test_no_maps_have_no_rows() -> None:
    none = StoredMaps((), (), (), (None,), (None,))
    found = score_chunk(source(), scoring(), none, [])
    full = score_chunk(source(), scoring(), *chunk("squash"))
    for empty, table in zip(found, full, strict=True):
        assert empty.num_rows == 0
        assert empty.schema == table.schema


def test_maps_of_whole_numbers_are_scored() -> None:
    """Maps made elsewhere have any type, and one type does not change another's scores."""
    maps, annotations = chunk("squash", ("square", "wide"))
    whole = tuple(
        tuple(np.round(layer * 10).astype(np.int16 if i else np.float64) for layer in image)
        for i, image in enumerate(maps.values)
    )
    mixed = by_key(score_chunk(source(), scoring(), replace(maps, values=whole), annotations))
    wide = tuple(tuple(layer.astype(np.float64) for layer in image) for image in whole)
    plain = by_key(score_chunk(source(), scoring(), replace(maps, values=wide), annotations))
    assert set(mixed) == set(plain)
    for key, row in mixed.items():
        assert row["value"] == pytest.approx(plain[key]["value"], rel=1e-12, nan_ok=True), key


SOFT = ("kl", "cc", "sim")


def soft_value(name: str, raster: Raster) -> float:
    """A metric against the soft target of the regions that have pixels."""
    boxes = []
    for mask in raster.masks.values():
        if (mask & raster.kept).any():
            y, x = np.nonzero(mask)
            (rows, columns) = mask.shape
            corners = (x.min() / columns, y.min() / rows, (x.max() + 1) / columns)
            boxes.append((*corners, (y.max() + 1) / rows))
    target = soft_target(boxes, *raster.kept.shape)[raster.kept][None]
    found: float = getattr(reference, name)(raster.values[raster.kept][None], target)
    return found


def check_soft_targets(fit: str, resolution: str, ignoring: bool) -> None:
    maps, annotations = chunk(fit)
    if not ignoring:
        annotations = [replace(one, regions=one.scored) for one in annotations]
    some = scoring(resolution=resolution, metrics=SOFT)
    rows = by_key(score_chunk(source(), some, maps, annotations))
    for i, one in enumerate(annotations):
        raster = on_raster(maps.geometries[i][1], maps.values[i][1][0], one, resolution)
        for name in SOFT:
            value = rows[one.image_id, None, 4, None, name, ""]["value"]
            assert value == pytest.approx(soft_value(name, raster), rel=1e-9), (name, one.image_id)


@pytest.mark.parametrize("resolution", ["grid", "pixels"])
@pytest.mark.parametrize("fit", FITS)
def test_soft_targets_are_of_what_can_be_seen(fit: str, resolution: str) -> None:
    check_soft_targets(fit, resolution, ignoring=True)
    if (fit, resolution) != ("crop", "grid"):
        check_soft_targets(fit, resolution, ignoring=False)


def test_soft_targets_on_the_grid_know_nothing_of_regions_out_of_sight() -> None:
    check_soft_targets("crop", "grid", ignoring=False)


def scikit_curves(values: NDArray[Any], inside: NDArray[np.bool_]) -> dict[str, NDArray[Any]]:
    """The curves at 0, 0.01, … 1 from scikit-learn's corners."""
    steps = np.arange(101) / 100
    x, y, _ = roc_curve(inside, values, drop_intermediate=False)
    precision, recall, _ = precision_recall_curve(inside, values)
    precision, recall = precision[-2::-1], recall[-2::-1]
    first = [np.argmax(recall * inside.sum() >= step * inside.sum() - 1e-6) for step in steps]
    # At a vertical step the upper end counts.
    upper = [y[np.flatnonzero(np.isclose(x, step))].max(initial=-1) for step in steps]
    roc = np.maximum(np.interp(steps, x, y), upper)
    return {"roc": roc, "pr": precision[first]}


@pytest.mark.parametrize("resolution", ["grid", "pixels"])
def test_curves_equal_those_of_scikit_learn(resolution: str) -> None:
    maps, annotations = chunk("letterbox")
    rows = score_chunk(source(), scoring(resolution=resolution), maps, annotations).scores
    assert rows.num_rows == 3 * len(LAYERS) * len(HEADS)
    for name in ("roc", "pr"):
        assert {len(points) for points in rows[name].to_pylist()} == {101}
    found = {(row["image"], row["layer"]): row for row in rows.to_pylist() if row["head"] == 2}
    for i, one in enumerate(annotations):
        for k, layer in enumerate(maps.layers):
            raster = on_raster(maps.geometries[i][k], maps.values[i][k][1], one, resolution)
            values = np.maximum(raster.values, 0)[raster.kept]
            expected = scikit_curves(values, raster.union()[raster.kept])
            for name, curve in expected.items():
                points = found[one.image_id, layer][name]
                np.testing.assert_allclose(points, curve, rtol=0, atol=1e-6)


def test_scores_are_counted_before_they_are_made() -> None:
    maps, annotations = chunk("crop")
    for changes in ({}, {"regions": False}, {"ties": "include"}, {"metrics": SIGNED}):
        some = scoring(**changes)
        scores = melt(*score_chunk(source(), some, maps, annotations))
        whole, each = rows_per_map(some)
        count = len(LAYERS) * len(HEADS)
        assert scores.num_rows == 3 * count * (whole + 6 * each)
    assert rows_per_map(scoring(regions=False))[1] == 0


def test_a_sign_that_a_metric_has_no_meaning_for_is_refused() -> None:
    with pytest.raises(InputError, match="signed map has no energy"):
        rows_per_map(scoring(selection=("percentile",)), "signed")


def test_an_ignored_region_out_of_sight_ignores_nothing() -> None:
    """What lies outside the crop is neither scored nor left out of scores."""
    maps, annotations = chunk("crop", ("square",))
    (one,) = annotations
    away = Region("away", box=(0.95, 0.0, 1.0, 0.04), flags=("ignore",), index=9)
    plain = replace(one, regions=one.scored)
    more = replace(one, regions=(*one.scored, away))
    found = [score_chunk(source(), scoring(), maps, [a]) for a in (plain, more)]
    assert sorted_bytes(found[:1]) == sorted_bytes(found[1:])


def test_what_was_seen_before_changes_no_bit() -> None:
    """The same annotations under other fits, grids and resolutions, and again under the first."""
    _, annotations = chunk("squash")
    for fit in ("letterbox", "crop", "native", "letterbox"):
        maps, fresh = chunk(fit)
        for resolution in ("grid", "pixels", 10, "grid"):
            some = scoring(resolution=resolution, metrics=("coverage", "iou"))
            known = score_chunk(source(), some, maps, annotations)
            anew = score_chunk(source(), some, maps, fresh)
            assert sorted_bytes([known]) == sorted_bytes([anew])


@pytest.mark.parametrize(("layers", "heads"), [((0, 1, 2), (None,)), ((4,), (0, 1, 2))])
def test_three_layers_or_heads_are_no_channels(
    layers: tuple[int | None, ...], heads: tuple[int | None, ...]
) -> None:
    one = annotation("a", 12, 12)
    values = np.random.default_rng(0).random((len(layers), len(heads), 4, 4)).astype(np.float32)
    there = (way("squash", 12, 12, 4),) * len(layers)
    maps = StoredMaps(("a",), (tuple(values),), (there,), layers, heads)
    found = score_chunk(source(layers=layers, heads=heads), scoring(), maps, [one])
    own = found.scores.to_pylist()
    assert [(row["layer"], row["head"]) for row in own] == [(k, h) for k in layers for h in heads]
    assert len({row["auc_roc"] for row in own}) == 3
