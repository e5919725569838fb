"""Whatever arrays and texts hold: a value in its range, NaN, or an error that says why."""

from __future__ import annotations

import json
import math
import string
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sightline.core import InputError, MapError, Region, SightlineError
from sightline.core.geometry import Geometry, fit_geometry
from sightline.core.regions import to_image_id
from sightline.core.run_lengths import decode_rle, rle_runs
from sightline.data.annotations import parse_json
from sightline.data.formats.coco import is_coco, read_coco
from sightline.data.formats.plain import is_plain, read_plain
from sightline.data.formats.plain_yaml import parse_yaml
from sightline.data.formats.table import read_table
from sightline.data.problems import Problems
from sightline.data.readers.yolo import read_line
from sightline.detection.masks import read_mask
from sightline.metrics import METRICS, score_maps
from sightline.study.config.files import parse_study
from tests.fuzz.mutations import mutants
from tests.strategies import batches

ANY_FLOAT = st.floats(allow_nan=True, allow_infinity=True)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | ANY_FLOAT | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=12,
)
SIDES = st.integers(1, 12)
FEW = settings(max_examples=40)


def _is_short(error: Exception, most: int) -> None:
    """A message shows enough of what was given, and never all of it."""
    assert 10 < len(str(error)) < most


# --- the engine ----------------------------------------------------------------------------------


@FEW
@given(batches(), st.sampled_from(["positive", "absolute", "signed"]))
def test_scores_are_in_range_or_undefined(scene: tuple[Any, Any], sign: Any) -> None:
    maps, mask = scene
    scores = score_maps(maps, mask, sign=sign, nonfinite="drop", threads=1)
    finite = np.isfinite(np.asarray(maps, np.longdouble)).all(axis=(1, 2))
    for name in scores:
        values = np.asarray(scores[name])
        assert values.shape == (len(maps),)
        assert not np.isinf(values).any(), name
        assert np.isnan(values[~finite]).all(), name
        base = name.partition("@")[0]
        if base in METRICS and finite.any():
            low, high = METRICS[base].range
            defined = values[np.isfinite(values)]
            assert ((low - 1e-9 <= defined) & (defined <= high + 1e-9)).all(), (name, defined)


@FEW
@given(batches())
def test_a_bad_map_changes_no_other(scene: tuple[Any, Any]) -> None:
    maps, mask = scene
    together = score_maps(maps, mask, sign="positive", nonfinite="drop", threads=1)
    for number, one in enumerate(maps):
        alone = score_maps(one, mask, sign="positive", nonfinite="drop", threads=1)
        for name in together:
            found, expected = np.asarray(together[name])[number], np.asarray(alone[name])
            assert np.array_equal(found, expected, equal_nan=True), name


@FEW
@given(batches())
def test_the_first_bad_map_is_named(scene: tuple[Any, Any]) -> None:
    maps, mask = scene
    finite = np.isfinite(np.asarray(maps, np.longdouble)).all(axis=(1, 2))
    if finite.all():
        assert score_maps(maps, mask, sign="positive", threads=1)
    else:
        with pytest.raises(MapError) as caught:
            score_maps(maps, mask, sign="positive", threads=1)
        assert caught.value.index == int(np.argmin(finite))


@given(JSON, JSON)
@example([[1.0], [1.0, 2.0]], [[True]])
@example([[1.0, 2.0]], [[1.0], [2.0, 3.0]])
@example([[10**400]], [[True]])
def test_what_are_no_maps_is_refused(maps: Any, mask: Any) -> None:
    try:
        assert len(score_maps(maps, mask)) > 100
    except SightlineError as error:
        _is_short(error, 1000)


# --- geometry ------------------------------------------------------------------------------------

WAY = fit_geometry("letterbox", 40, 30, size=32, patch=8).to_dict()


def test_a_geometry_of_any_values() -> None:
    """Files of maps hold them."""
    read = 0
    for _, values in mutants(json.loads(json.dumps(WAY))):
        try:
            Geometry.from_dict(values)
            read += 1
        except InputError as error:
            _is_short(error, 8000)
    assert read < 100


# --- the rasteriser ------------------------------------------------------------------------------


@given(st.lists(ANY_FLOAT, min_size=4, max_size=4), SIDES, SIDES)
def test_any_box_is_drawn_or_refused(box: list[float], height: int, width: int) -> None:
    try:
        region = Region(box=(box[0], box[1], box[2], box[3]))
    except InputError:
        assert not all(map(math.isfinite, box)) or box[2] < box[0] or box[3] < box[1]
        return
    mask = region.to_mask(height, width)
    assert mask.shape == (height, width)
    assert mask.dtype == np.bool_
    if box[0] <= 0 and box[1] <= 0 and box[2] >= 1 and box[3] >= 1:
        assert mask.all()


@given(st.lists(st.lists(ANY_FLOAT | st.floats(-1, 2), max_size=12), max_size=3), SIDES, SIDES)
def test_any_polygons_are_drawn_or_refused(
    polygons: list[list[float]], height: int, width: int
) -> None:
    try:
        region = Region(kind="polygon", mask=tuple(map(tuple, polygons)))
        assert region.to_mask(height, width).shape == (height, width)
    except InputError:
        flat = [value for part in polygons for value in part]
        odd = not polygons or any(len(part) < 6 or len(part) % 2 for part in polygons)
        assert odd or not all(-10 <= value <= 11 for value in flat)


COUNTS = (
    st.lists(st.integers(-5, 200) | st.integers() | ANY_FLOAT | st.none(), max_size=8)
    | st.text(string.printable, max_size=12)
    | st.binary(max_size=12)
    | JSON
)


@given(JSON | st.tuples(SIDES, SIDES).map(list), COUNTS)
@example([2, 3], "15")
@example([2, 3], [2**62, 2**62, 2**62, 2**62])
def test_any_run_lengths_are_drawn_or_refused(size: Any, counts: Any) -> None:
    rle = {"size": size, "counts": counts}
    try:
        height, width, runs = rle_runs(rle)
    except ValueError:
        return
    assert runs.sum() == height * width
    assert decode_rle(rle).shape == (height, width)
    assert int(decode_rle(rle).sum()) == int(runs[1::2].sum())


@given(JSON | st.tuples(SIDES, SIDES).map(list), COUNTS, st.tuples(SIDES, SIDES))
def test_both_readers_of_masks_stand_anything(size: Any, counts: Any, image: Any) -> None:
    for given_mask in ({"size": size, "counts": counts}, counts, [counts]):
        try:
            found = read_mask(given_mask, image)
        except InputError as error:
            _is_short(error, 1000)
        else:
            assert decode_rle(found).shape == tuple(found["size"])


# --- texts ---------------------------------------------------------------------------------------


def _read_line(text: str) -> object:
    return read_line(f"0 {text}")


SIGNS = st.text("0123456789.,:-+eE \t\n\"'{}[]<>&*!|?#%@naifx\0\ud800é\u2028", max_size=60)


@given(SIGNS | st.text(max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    for read in (parse_json, parse_yaml, parse_study, to_image_id, _read_line):
        try:
            read(text)
        except InputError as error:
            _is_short(error, 2000)
    for problems in (Problems(), Problems(skip=True)):
        for start in ("", "image,label,x0,y0,x1,y1\n"):
            try:
                read_table(start + text, problems)
            except InputError as error:
                _is_short(error, 2000)


@given(JSON, JSON, JSON)
def test_any_lists_are_annotations_or_refused(images: Any, regions: Any, classes: Any) -> None:
    coco = {"images": images, "annotations": regions, "categories": classes}
    plain = {"format": "sightline-annotations", "version": 1, "images": images, "labels": classes}
    assert is_coco(coco)
    assert is_plain(plain)
    for problems in (Problems(), Problems(skip=True)):
        for read, content in ((read_coco, coco), (read_plain, plain)):
            try:
                read(content, problems)
            except InputError as error:
                _is_short(error, 3000)
