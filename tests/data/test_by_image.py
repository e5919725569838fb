from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import sightline
from sightline.core import Annotation, InputError, Region
from sightline.data import by_image, score_by_image

if TYPE_CHECKING:
    from sightline.data import ImageScores

RNG = np.random.default_rng(0)


def _region(label: str, index: int, x0: float = 0.0) -> Region:
    return Region(label, box=(x0, 0.0, x0 + 0.25, 0.5), index=index)


ANNOTATIONS = {
    "a.jpg": Annotation(
        "a.jpg",
        regions=(_region("door", 0), _region("window", 2, 0.5)),
        dropped=(_region("gone", 1, 1.5),),
    ),
    "b.jpg": Annotation("b.jpg", regions=(_region("door", 0, 0.25),)),
    "none.jpg": Annotation("none.jpg"),
    "c.jpg": Annotation("c.jpg", regions=(_region("arch", 0),)),
}
MAPS: dict[str, Any] = {
    "c": RNG.random((8, 8), np.float32),
    "other": RNG.random((8, 8)),
    "a": RNG.random((8, 8), np.float32),
    "none.jpg": RNG.random((6, 4)),
    "b.jpg": RNG.random((6, 4)),
}


def _scored(**options: Any) -> ImageScores:
    return score_by_image(MAPS, ANNOTATIONS, **options)


def test_rows_are_images_then_regions_in_order() -> None:
    frame = _scored().frame
    assert list(frame.columns[:3]) == ["image", "region", "label"]
    assert frame["image"].tolist() == ["a.jpg"] * 3 + ["b.jpg"] * 2 + ["none.jpg"] + ["c.jpg"] * 2
    regions = [
        None if missing else int(n)
        for n, missing in zip(frame["region"].fillna(-1), frame["region"].isna(), strict=True)
    ]
    assert regions == [None, 0, 2, None, 0, None, None, 0]
    assert frame["label"].tolist() == ["", "door", "window", "", "door", "", "", "arch"]


def test_values_are_those_of_each_map_alone() -> None:
    frame = _scored(percentiles=[90, 50], sign="absolute").frame
    for image, name in (("a.jpg", "a"), ("b.jpg", "b.jpg"), ("c.jpg", "c")):
        scores = sightline.score_maps(
            MAPS[name],
            regions=[ANNOTATIONS[image]],
            percentiles=[90, 50],
            sign="absolute",
        )
        rows = frame[frame["image"] == image]
        assert set(frame.columns[3:]) == set(scores)
        for column in scores:
            assert rows[column].iloc[0] == pytest.approx(float(scores[column]), nan_ok=True)
        assert scores.regions is not None
        for column in scores.regions:
            np.testing.assert_allclose(rows[column].iloc[1:], scores.regions[column])
    assert frame.loc[frame["region"].notna(), "auc_roc"].isna().all()


def test_batches_do_not_change_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[tuple[int, int]] = []
    whole = _scored(progress=lambda done, total: steps.append((done, total))).frame
    assert steps == [(2, 4), (4, 4)]  # two sizes
    monkeypatch.setattr(by_image, "_BATCH_PIXELS", 1)
    steps.clear()
    single = _scored(progress=lambda done, total: steps.append((done, total))).frame
    assert steps == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert single.equals(whole)


def test_types_are_not_mixed() -> None:
    steps: list[tuple[int, int]] = []
    maps = {"a": MAPS["a"], "c": MAPS["c"].astype(np.float64)}
    score_by_image(maps, ANNOTATIONS, progress=lambda done, total: steps.append((done, total)))
    assert steps == [(1, 2), (2, 2)]


def test_what_is_left_out_is_told() -> None:
    extra = {**ANNOTATIONS, "lost.jpg": Annotation("lost.jpg")}
    scores = score_by_image(MAPS, extra)
    assert scores.images_without_map == ("lost.jpg",)
    assert scores.maps_without_annotation == ("other",)
    assert [(image, region.index) for image, region in scores.dropped] == [("a.jpg", 1)]


def test_image_without_regions_is_undefined_not_wrong() -> None:
    scores = _scored()
    row = scores.frame[scores.frame["image"] == "none.jpg"].iloc[0]
    assert row["annotation_area"] == 0
    assert np.isnan(row["coverage"])
    found = {summary.metric: summary for summary in scores.summary()}
    assert (found["coverage"].n, found["coverage"].undefined) == (3, 1)


def test_summary_stands_beside_chance_and_ceiling() -> None:
    scores = _scored(percentiles=[80], selection=["percentile", "matched"])
    union = scores.frame[scores.frame["region"].isna()]
    found = {summary.metric: summary for summary in scores.summary()}
    assert list(found) == [
        *("coverage", "average_precision", "auc_roc", "relevance_rank", "pointing"),
        *("iou@80", "iou@matched"),
    ]
    assert found["coverage"].mean == pytest.approx(union["coverage"].mean())
    assert found["coverage"].chance == pytest.approx(np.mean([0.25, 0.125, 0.125]))
    assert found["coverage"].ceiling == 1
    assert found["auc_roc"].chance == 0.5
    assert found["iou@80"].ceiling == pytest.approx(np.mean([0.2 / 0.25, 0.125 / 0.2, 0.125 / 0.2]))
    assert found["iou@matched"].ceiling == 1


def test_signed_maps_have_no_coverage() -> None:
    assert "coverage" not in [summary.metric for summary in _scored(sign="signed").summary()]


def test_summary_without_any_defined_value() -> None:
    scores = score_by_image({"a": MAPS["a"]}, {"a": Annotation("a")})
    assert {(row.mean, row.chance, row.n, row.undefined) for row in scores.summary()} == {
        (None, None, 0, 1)
    }


def test_bad_map_names_its_image() -> None:
    broken = {**MAPS, "c": np.full((8, 8), np.nan, np.float32)}
    with pytest.raises(InputError, match=r"image 'c\.jpg': its map is not finite: 64 NaN"):
        score_by_image(broken, ANNOTATIONS)


def test_no_match_at_all_shows_both_kinds_of_names() -> None:
    with pytest.raises(InputError, match=r"named 'x', images 'a\.jpg', 'b\.jpg', 'none\.jpg', …"):
        score_by_image({"x": MAPS["a"]}, ANNOTATIONS)


def test_each_image_has_its_own_pixels_to_ignore() -> None:
    void = Region("void", box=(0.0, 0.0, 1.0, 0.5), flags=("ignore",), index=0)
    door = Region("door", box=(0.0, 0.0, 1.0, 0.75), index=1)
    annotations = {
        "a.jpg": Annotation("a.jpg", 8, 8, (void, door)),
        "b.jpg": Annotation("b.jpg", 8, 8, (door,)),
    }
    frame = score_by_image({"a": np.ones((8, 8)), "b": np.ones((8, 8))}, annotations).frame
    union = frame[frame["region"].isna()].set_index("image")
    for column in ("annotation_area", "coverage"):
        assert union[column].to_dict() == {"a.jpg": 0.5, "b.jpg": 0.75}
    regions = frame[frame["region"].notna()]
    assert regions[["image", "region", "label"]].to_numpy().tolist() == [
        ["a.jpg", 1, "door"],
        ["b.jpg", 1, "door"],
    ]
    assert regions["coverage"].tolist() == [0.5, 0.75]
