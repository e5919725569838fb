"""Imaginary detectors: files that any tool reads, and the faults that their names promise."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from pycocotools.coco import COCO

from sightline.core import UnknownNameError
from sightline.data import imagine_detections, load_dataset, write_facades
from sightline.data.facades.detectors import DETECTORS, write_imagined_detections

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("facades")
    write_facades(load_dataset("facades", count=30, seed=2, size=96), out)
    return out


def test_the_files_are_results_of_the_images(folder: Path) -> None:
    paths = write_imagined_detections(folder)
    assert [path.name for path in paths] == ["careful.json", "eager.json"]
    content = json.loads((folder / "coco.json").read_text())
    truth = COCO(str(folder / "coco.json"))
    for path in paths:
        assert len(truth.loadRes(str(path)).anns) == len(json.loads(path.read_text()))
        assert json.loads(path.read_text()) == imagine_detections(content, path.stem)


def test_they_differ_as_their_faults_say(folder: Path) -> None:
    content = json.loads((folder / "coco.json").read_text())
    found = {name: imagine_detections(content, name) for name in DETECTORS}
    counts = {name: len(rows) for name, rows in found.items()}
    assert counts["careful"] < len(content["annotations"]) < counts["eager"]
    scores = {name: np.mean([row["score"] for row in rows]) for name, rows in found.items()}
    assert scores["careful"] < 0.8
    assert all(0 < row["score"] < 1 for rows in found.values() for row in rows)
    assert all(min(row["bbox"][2:]) > 0 for rows in found.values() for row in rows)


def test_a_part_is_only_taken_for_one_of_its_kind() -> None:
    kinds = [("arch", "window"), ("rose", "window"), ("door", "portal")]
    content: dict[str, Any] = {
        "images": [],
        "categories": [
            {"id": i, "name": name, "supercategory": above} for i, (name, above) in enumerate(kinds)
        ],
        "annotations": [
            {"image_id": n, "category_id": n % 3, "bbox": [n, 0, 40, 40], "area": 1600}
            for n in range(600)
        ],
    }
    taken = {
        (row["image_id"] % 3, row["category_id"]) for row in imagine_detections(content, "eager")
    }
    assert taken == {(0, 0), (0, 1), (1, 1), (1, 0), (2, 2)}


def test_nothing_is_found_where_no_kind_is_known() -> None:
    images = [{"id": 1, "width": 9, "height": 9}]
    content: dict[str, Any] = {"images": images, "categories": [], "annotations": []}
    assert imagine_detections(content, "eager") == []


def test_another_seed_draws_other_faults_and_an_unknown_name_is_refused(folder: Path) -> None:
    content = json.loads((folder / "coco.json").read_text())
    assert imagine_detections(content, "eager", seed=1) != imagine_detections(content, "eager")
    with pytest.raises(UnknownNameError, match="imaginary detector 'eagle'; did you mean 'eager'"):
        imagine_detections(content, "eagle")
