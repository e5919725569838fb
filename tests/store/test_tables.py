"""The tables of images and of regions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sightline import load_dataset
from sightline.core import Annotation, Region
from sightline.data.facades import facade_of
from sightline.store import images_table, regions_table
from sightline.store.tables import region_lines
from sightline.study import Data
from sightline.study.plan.images import read_cards, study_dataset

MASK = np.zeros((30, 40), np.bool_)
MASK[3:20, 5:9] = True
REGIONS = (
    Region("door", box=(0.1, 0.2, 0.35, 0.9), index=0),
    Region("rose", "mask", (0.125, 0.1, 0.225, 0.67), MASK, index=2),
    Region("gable", "polygon", (0.5, 0.5, 1.0, 1.0), ((0.5, 1.0, 0.75, 0.5, 1.0, 1.0),), index=3),
    Region("tip", "point", (0.4, 0.4, 0.5, 0.55), radius=2.0, index=5),
    Region("crowd", box=(0.0, 0.0, 0.5, 0.5), flags=("ignore",), index=6),
)
DROPPED = (
    Region("far", box=(1.2, 0.0, 1.5, 0.4), index=1),
    Region("part", "point", (0.1, 0.1, 0.2, 0.2), radius=1.0, flags=("hidden",), index=4),
)
UNLABELLED = (Region("window", box=(0.7, 0.1, 0.8, 0.3), index=7),)
ANNOTATION = Annotation("a.png", 400, 300, REGIONS, ("gothic",), DROPPED)


def lines() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = regions_table(region_lines(ANNOTATION, UNLABELLED)).to_pylist()
    return found


def test_regions_stand_in_the_order_of_the_file_with_the_reason() -> None:
    found = lines()
    assert [line["region"] for line in found] == list(range(8))
    assert [line["dropped"] for line in found] == [
        *("", "outside", "", "", "hidden", "", "ignored", "unlabelled"),
    ]
    assert {line["image"] for line in found} == {"a.png"}
    every = sorted((*REGIONS, *DROPPED, *UNLABELLED), key=lambda region: region.index)
    for line, region in zip(found, every, strict=True):
        assert line["label"] == region.label
        assert (line["x0"], line["y0"], line["x1"], line["y1"]) == region.box


def test_areas_are_those_of_the_masks() -> None:
    found = {line["region"]: line["area"] for line in lines()}
    for region in (*REGIONS, *UNLABELLED, DROPPED[1]):
        drawn = region.to_mask(300, 400).mean()
        assert found[region.index] == pytest.approx(drawn, abs=2e-3), region.label
    # A box by its corners; a mask by its pixels; a triangle; an ellipse; outside is nothing.
    assert found[0] == pytest.approx(0.25 * 0.7, abs=1e-12)
    assert found[2] == pytest.approx(MASK.mean(), abs=1e-12)
    assert found[3] == pytest.approx(0.125, rel=0.01)
    assert found[5] == pytest.approx(np.pi * 0.05 * 0.075, rel=0.01)
    assert found[1] == 0


@pytest.mark.parametrize("size", [(None, None), (4000, 3000), (7, 5000)])
def test_areas_do_not_need_the_size_of_the_image(size: tuple[int | None, int | None]) -> None:
    """A raster of 1024 or less measures masks of images that are larger or of unknown size."""
    region = Region("half", "polygon", (0, 0, 1, 1), ((0.0, 0.0, 1.0, 0.0, 0.0, 1.0),))
    (line,) = region_lines(Annotation("a", *size, (region,)))
    assert line["area"] == pytest.approx(0.5, abs=0.1 if size[0] == 7 else 1e-3)


def test_a_box_that_reaches_outside_counts_inside() -> None:
    (line,) = region_lines(Annotation("a", 10, 10, (Region("x", box=(-0.5, 0.5, 0.5, 1.5)),)))
    assert line["area"] == pytest.approx(0.25)
    assert line["x0"] == -0.5


def test_the_tables_have_their_types() -> None:
    line: dict[str, Any] = {"image": "a", "chunk": 0, "split": "", "labels": ["x", "y"]}
    line |= {"width": None, "height": None, "area": None, "regions": 2, "digest": "", "group": None}
    table = images_table([line])
    assert table.to_pylist() == [line]
    kinds = {field.name: field.type for field in table.schema}
    assert kinds["labels"] == pa.list_(pa.string())
    assert kinds["width"] == kinds["chunk"] == kinds["regions"] == pa.int32()
    assert kinds["area"] == pa.float64()
    names = ["image", "region", "label", "x0", "y0", "x1", "y1", "area", "dropped", "annotator"]
    assert regions_table([]).schema.names == names
    assert regions_table([]).schema.field("region").type == pa.int32()
    assert images_table([]).num_rows == 0


def test_what_a_sparse_labelling_left_out_is_listed() -> None:
    data = Data(name="facades", count=3, seed=2, labelling="representative")
    cards = read_cards(study_dataset(data), data, pixels=False, progress=lambda done, total: None)
    for card, sample in zip(cards.cards, load_dataset("facades", count=3, seed=2), strict=True):
        truth = {region.index: region for region in sample.annotation.regions}
        sparse = facade_of(sample).annotation("representative", sample.image_id)
        labelled = {region.index for region in sparse.regions}
        assert 0 < len(labelled) < len(truth)
        assert {line["region"] for line in card.regions} == set(truth)
        for line in card.regions:
            assert line["dropped"] == ("" if line["region"] in labelled else "unlabelled")
            region = truth[line["region"]]
            assert line["area"] == pytest.approx(region.to_mask(224, 224).mean(), abs=2e-3)
        assert card.line["regions"] == len(labelled)
        assert card.line["area"] == sparse.union_mask(224, 224).mean()


def test_an_exhaustive_labelling_leaves_nothing_out() -> None:
    data = Data(name="facades", count=1)
    cards = read_cards(study_dataset(data), data, pixels=False, progress=lambda done, total: None)
    assert {line["dropped"] for line in cards.cards[0].regions} <= {"", "hidden"}
