"""Pages of images, an image with its regions, and pictures, beside the tables and the data."""

from __future__ import annotations

import io
import json
import math
import shutil
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from PIL import Image

from sightline.api import create_app
from sightline.api.outlines import outline_of, trace_rings
from sightline.api.routes.images import _warnings
from sightline.core import Region
from sightline.results import open_results, stored_predictions
from sightline.study import Study, run_study

if TYPE_CHECKING:
    from pathlib import Path

    from sightline.api.state import Served
    from sightline.results import Results


@pytest.fixture(scope="module")
def results(api_store: Path) -> Results:
    """What the store holds."""
    return open_results(api_store)


def page(client: TestClient, **words: Any) -> dict[str, Any]:
    """Return a page of images."""
    answer = client.get("/api/images", params=words)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def ids(found: dict[str, Any]) -> list[str]:
    """Return the ids of a page."""
    return [one["image"] for one in found["items"]]


def refused(client: TestClient, **words: Any) -> dict[str, Any]:
    """Return the problem of a page that cannot be."""
    answer = client.get("/api/images", params=words)
    assert answer.status_code == 422, answer.text
    found: dict[str, Any] = answer.json()
    return found


# --- values and order ----------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["iou@90", "coverage", "average_precision", "recall@mass60"])
@pytest.mark.parametrize("ascending", [False, True])
def test_values_are_those_of_the_tables(
    client: TestClient, results: Results, metric: str, ascending: bool
) -> None:
    words = {"model": "demo/vit-dino", "method": "cls", "layer": 2}
    found = page(client, metric=metric, ascending=ascending, **words)
    table = results.images(metric, ascending=ascending, **words)  # type: ignore[arg-type]
    assert ids(found) == list(table["image"])
    for name in ("value", "chance", "ceiling", "area", "regions"):
        shown = [one[name] for one in found["items"]]
        assert shown == [None if x is None or x != x else x for x in table[name].tolist()], name
    assert found["metric"] == found["sort"] == metric
    assert found["choice"]["layer"] == 2


def test_seeds_are_averaged_unless_one_is_asked_for(client: TestClient, results: Results) -> None:
    words = {"model": "demo/cnn", "method": "random"}
    for seed in (None, 0, 1):
        found = page(client, **words | ({} if seed is None else {"seed": seed}))
        table = results.images("iou@90", seed=seed, **words)  # type: ignore[arg-type]
        assert [one["value"] for one in found["items"]] == table["value"].tolist()
        assert found["choice"]["seed"] == seed


def test_one_head_has_values_of_its_own(client: TestClient, results: Results) -> None:
    words = {"model": "demo/vit-dino", "method": "cls", "layer": 2, "head": 1}
    table = results.images("iou@90", **words)  # type: ignore[arg-type]
    assert [one["value"] for one in page(client, **words)["items"]] == table["value"].tolist()


@pytest.mark.parametrize("column", ["image", "area", "regions", "split"])
@pytest.mark.parametrize("ascending", [False, True])
def test_columns_can_be_sorted_by(
    client: TestClient, results: Results, column: str, ascending: bool
) -> None:
    found = page(client, sort=column, ascending=ascending)
    assert ids(found) == list(results.images(column, ascending=ascending)["image"])
    assert (found["sort"], found["metric"]) == (column, "iou@90")


def test_the_order_may_be_by_another_score_than_is_shown(
    client: TestClient, results: Results
) -> None:
    words = {"model": "demo/vit-dino", "method": "cls", "layer": 2}
    found = page(client, metric="iou@50", sort="coverage", **words)
    by_coverage = results.images("coverage", **words)  # type: ignore[arg-type]
    assert ids(found) == list(by_coverage["image"])
    values = results.images("iou@50", **words).set_index("image")["value"]  # type: ignore[arg-type]
    assert [one["value"] for one in found["items"]] == values[by_coverage["image"]].tolist()


def test_what_is_undefined_comes_last_either_way(
    api_store: Path, tmp_path: Path, results: Results
) -> None:
    copy, spoilt = _without_some_scores(api_store, tmp_path, results)
    with TestClient(create_app(copy), base_url="http://127.0.0.1") as asked:
        for ascending in (False, True):
            found = page(asked, model="demo/cnn", method="centre", ascending=ascending)
            assert ids(found)[-1] == spoilt
            assert found["items"][-1]["value"] is None
            assert found["items"][-1]["chance"] is None
            assert "undefined" in found["items"][-1]["warnings"]
        only = page(asked, model="demo/cnn", method="centre", warning="undefined")
        assert ids(only) == [spoilt]


def _without_some_scores(store: Path, folder: Path, results: Results) -> tuple[Path, str]:
    """Copy a store and make one image's scores of a baseline undefined."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    from sightline.store import write_table
    from sightline.store.schema import list_score_columns

    copy = shutil.copytree(store, folder / "copy")
    spoilt = str(results.images("iou@90")["image"][3])
    for path in (*(copy / "scores").iterdir(), *(copy / "region_scores").iterdir()):
        table = pq.read_table(path)
        if table["method"][0].as_py() == "centre" and table["model"][0].as_py() == "demo/cnn":
            hit = pc.equal(table["image"], spoilt)
            for name in list_score_columns(table.column_names):
                values = pc.if_else(hit, math.nan, table[name])
                place = table.schema.get_field_index(name)
                table = table.set_column(place, name, pa.chunked_array(values))
            write_table(path, table, kind=path.parent.name)
    return copy, spoilt


def test_a_word_that_stands_for_nothing_names_itself(client: TestClient) -> None:
    cases = {
        "model": "demo/vti-dino",
        "method": "clss",
        "layer": "77",
        "head": "77",
        "target": "predictd",
        "seed": "77",
        "metric": "iuo@90",
        "sort": "covrage",
        "label": "windw",
        "style": "Barok",
        "split": "tset",
        "selection": "mass",
        "warning": "croped",
        "percentile": "81",
    }
    for field, value in cases.items():
        if field == "selection":
            continue
        assert refused(client, **{field: value})["field"] == field
    assert "did you mean 'demo/vit-dino'?" in refused(client, model=cases["model"])["detail"]
    assert refused(client, selection="massive")["field"] == "selection"
    assert refused(client, ties="include")["field"] == "ties"  # tables hold what was stored


# --- filters -------------------------------------------------------------------------------------


def test_pages_show_every_image_once(client: TestClient) -> None:
    whole = page(client, sort="area")
    parts = [page(client, sort="area", limit=5, offset=offset) for offset in (0, 5, 10, 15)]
    assert [len(part["items"]) for part in parts] == [5, 5, 2, 0]
    assert [image for part in parts for image in ids(part)] == ids(whole)
    assert {part["total"] for part in parts} == {12}


def test_a_style_filters_images(client: TestClient, results: Results) -> None:
    for style in {label for labels in results.images()["labels"] for label in labels}:
        found = page(client, style=style)
        table = results.images(label=style)
        assert ids(found) == list(table["image"])
        assert found["total"] == len(table) > 0


def test_a_label_filters_images_and_takes_those_below_along(
    client: TestClient, results: Results
) -> None:
    regions = results.query("SELECT image, label FROM regions WHERE dropped = ''")
    parents = results.manifest["data"]["taxonomy"]
    for label in {"window", "tower", *regions["label"].unique()[:5]}:
        below = [one for one in regions["label"].unique() if label in (one, *parents[one])]
        expected = set(regions.loc[regions["label"].isin(below), "image"])
        assert set(ids(page(client, label=label))) == expected


def test_text_is_looked_for_in_ids_and_labels(client: TestClient, results: Results) -> None:
    assert ids(page(client, text="00003")) == ["facade-00003.png"]
    assert ids(page(client, text="FACADE-00003")) == ["facade-00003.png"]
    style = results.images()["labels"][0][0]
    assert set(ids(page(client, text=style.lower()))) == set(ids(page(client, style=style)))
    assert page(client, text="nothing like it")["items"] == []


def test_ids_choose_images_and_those_unknown_are_counted(client: TestClient) -> None:
    found = page(client, ids="facade-00003.png, facade-00001.png,gone.png", sort="image")
    assert ids(found) == ["facade-00003.png", "facade-00001.png"]
    assert "1 of the ids are not in this study" in found["note"]
    assert page(client, ids="")["total"] == 0


def test_filters_go_together(client: TestClient) -> None:
    styles = [one["labels"][0] for one in page(client)["items"]]
    style = max(set(styles), key=styles.count)
    some = ids(page(client, style=style))[:2]
    assert set(ids(page(client, style=style, ids=",".join([*some, "x"])))) == set(some)


def test_images_whose_regions_were_cut_are_marked(tmp_path: Path) -> None:
    """A centre crop of a wide image leaves a region at its edge out of what the model sees."""
    store = _study_of(_wide_pictures(tmp_path / "wide"), tmp_path / "runs", fit="crop")
    with TestClient(create_app(store), base_url="http://127.0.0.1") as asked:
        shown = {one["image"]: one for one in page(asked)["items"]}
        assert shown["middle.png"]["warnings"] == []
        assert shown["middle.png"]["visible"] == 1
        assert shown["edge.png"]["warnings"] == ["cropped"]
        assert 0 < shown["edge.png"]["visible"] < 1
        assert shown["beyond.png"]["warnings"] == ["cropped", "undefined"]
        assert shown["beyond.png"]["visible"] == 0
        assert ids(page(asked, warning="cropped")) == ["edge.png", "beyond.png"]
        assert ids(page(asked, warning="undefined")) == ["beyond.png"]


def _wide_pictures(folder: Path) -> Path:
    """Write images of 200 by 100 pixels, each with a box: in the middle, and towards the edge."""
    boxes = {"middle.png": [80, 20, 40, 40], "edge.png": [30, 20, 40, 40]}
    boxes["beyond.png"] = [5, 20, 30, 40]
    (folder / "images").mkdir(parents=True)
    content: dict[str, Any] = {"images": [], "annotations": []}
    content["categories"] = [{"id": 1, "name": "thing"}]
    for number, (name, box) in enumerate(boxes.items(), 1):
        Image.new("RGB", (200, 100), (40 * number, 90, 90)).save(folder / "images" / name)
        about = {"id": number, "file_name": name, "width": 200, "height": 100}
        content["images"].append(about)
        content["annotations"].append(
            {"id": number, "image_id": number, "category_id": 1, "bbox": box, "iscrowd": 0}
        )
    (folder / "coco.json").write_text(json.dumps(content))
    return folder


# --- one image -----------------------------------------------------------------------------------


def test_an_image_has_its_regions(client: TestClient, results: Results) -> None:
    image = "facade-00003.png"
    found = client.get(f"/api/images/{image}").json()
    table = results.query("SELECT * FROM regions ORDER BY region").query("image == @image")
    assert [one["index"] for one in found["regions"]] == table["region"].tolist()
    for one, row in zip(found["regions"], table.to_dict("records"), strict=True):
        assert one["label"] == row["label"]
        assert one["box"] == [row["x0"], row["y0"], row["x1"], row["y1"]]
        assert one["area"] == row["area"]
        assert one["dropped"] == row["dropped"]
        assert one["ancestors"] == list(results.manifest["data"]["taxonomy"][row["label"]])
    assert {one["dropped"] for one in found["regions"]} == {"", "unlabelled"}


def test_outlines_enclose_the_regions(client: TestClient) -> None:
    found = client.get("/api/images/facade-00003.png").json()
    drawn = [one for one in found["regions"] if not one["dropped"]]
    assert {one["kind"] for one in drawn} == {"mask"}
    for one in drawn:
        points = np.array([point for ring in one["outline"] for point in ring])
        around = [*points.min(axis=0), *points.max(axis=0)]
        assert np.allclose(around, one["box"], atol=1 / 224 + 1e-9)


def test_an_image_has_what_classifiers_say(client: TestClient, results: Results) -> None:
    known = stored_predictions(results)
    assert known is not None
    for image in ("facade-00000.png", "facade-00007.png"):
        lines = known[known["image"] == image].to_dict("records")
        found = client.get(f"/api/images/{image}").json()["predictions"]
        assert [one["model"] for one in found] == ["demo/vit-dino@lora", "demo/cnn"]
        for one, line in zip(found, lines, strict=True):
            assert one == {name: value for name, value in line.items() if name != "image"}


@pytest.mark.parametrize("path", ["", "/file", "/thumbnail"])
@pytest.mark.parametrize(
    "image",
    ["facade-99999.png", "..%2f..%2fetc%2fpasswd", "%00", "a" * 300, "..", "images.parquet"],
)
def test_an_image_that_is_not_stored_is_not_found(
    client: TestClient, image: str, path: str
) -> None:
    answer = client.get(f"/api/images/{image}{path}")
    assert answer.status_code in (404, 422) if image == ".." else answer.status_code == 404
    if image == "facade-99999.png":
        assert answer.json()["field"] == "image_id"
        assert "nearest: facade-0" in answer.json()["detail"]


# --- pictures ------------------------------------------------------------------------------------


def test_a_drawn_image_is_sent_pixel_by_pixel(client: TestClient, served: Any) -> None:
    answer = client.get("/api/images/facade-00003.png/file")
    assert answer.headers["content-type"] == "image/png"
    seen = np.asarray(Image.open(io.BytesIO(answer.content)))
    assert np.array_equal(seen, served.dataset.by_id("facade-00003.png").image())


@pytest.mark.parametrize(("size", "side"), [(16, 16), (100, 100), (None, 224), (1024, 224)])
def test_a_thumbnail_is_no_larger_than_asked(
    client: TestClient, size: int | None, side: int
) -> None:
    words = {} if size is None else {"size": size}
    answer = client.get("/api/images/facade-00003.png/thumbnail", params=words)
    assert answer.headers["content-type"] == "image/jpeg"
    assert max(Image.open(io.BytesIO(answer.content)).size) == side


@pytest.mark.parametrize("size", ["0", "15", "1025", "x"])
def test_a_thumbnail_has_a_sensible_size(client: TestClient, size: str) -> None:
    answer = client.get("/api/images/facade-00003.png/thumbnail", params={"size": size})
    assert answer.status_code == 422
    assert answer.json()["field"] == "size"


def _pictures(api_store: Path, folder: Path) -> Path:
    """Copy the pictures beside the store."""
    return shutil.copytree(api_store.parent / "pictures", folder / "pictures")


def _study_of(pictures: Path, folder: Path, fit: str = "squash") -> Path:
    """Run a small study of pictures in a folder; regions are as shares."""
    study = {
        "name": "files",
        "data": {"name": "coco", "path": str(pictures / "coco.json"), "count": 3},
        "models": [{"model": "demo/cnn", "fit": fit}],
        "methods": ["gradcam", "centre"],
        "layers": [-1],
        "metrics": ["iou"],
        "percentiles": [90],
        "resolution": 56,
    }
    return run_study(Study.from_dict(study), folder, workers=1).store.path


@pytest.fixture(scope="module")
def of_files(api_store: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A store of pictures in files, and their folder."""
    folder = tmp_path_factory.mktemp("files")
    pictures = _pictures(api_store, folder)
    return _study_of(pictures, folder / "runs"), pictures


def test_a_file_that_browsers_show_is_sent_as_it_is(of_files: tuple[Path, Path]) -> None:
    store, pictures = of_files
    with TestClient(create_app(store), base_url="http://127.0.0.1") as asked:
        image = page(asked)["items"][0]["image"]
        answer = asked.get(f"/api/images/{image}/file")
        assert answer.headers["content-type"] == "image/png"
        assert answer.content == next(pictures.rglob(image)).read_bytes()
        assert asked.get(f"/api/images/{image}/thumbnail").status_code == 200


def test_a_file_that_changed_is_not_shown_under_old_maps(of_files: tuple[Path, Path]) -> None:
    store, pictures = of_files
    with TestClient(create_app(store), base_url="http://127.0.0.1") as asked:
        first, second = ids(page(asked))[:2]
        path = next(pictures.rglob(first))
        before = path.read_bytes()
        try:
            Image.new("RGB", (224, 224), "red").save(path)
            for what in ("file", "thumbnail"):
                answer = asked.get(f"/api/images/{first}/{what}")
                assert answer.status_code == 409
                assert "changed since the study was run" in answer.json()["detail"]
            assert asked.get(f"/api/images/{second}/file").status_code == 200
        finally:
            path.write_bytes(before)


def test_without_its_data_a_store_still_answers(of_files: tuple[Path, Path]) -> None:
    store, pictures = of_files
    hidden = pictures.rename(pictures.with_name("hidden"))
    try:
        with TestClient(create_app(store), base_url="http://127.0.0.1") as asked:
            health = asked.get("/api/health").json()
            assert health["pictures"] is False
            assert "coco.json" in health["missing"]["pictures"]
            image = page(asked)["items"][0]["image"]
            detail = asked.get(f"/api/images/{image}").json()
            assert detail["regions"]
            assert {one["kind"] for one in detail["regions"]} == {""}
            assert asked.get(f"/api/images/{image}/file").status_code == 409
    finally:
        hidden.rename(pictures)


# --- outlines ------------------------------------------------------------------------------------


@given(arrays(bool, st.tuples(st.integers(1, 9), st.integers(1, 9))))
def test_rings_hold_the_cells_of_a_mask_and_no_others(mask: Any) -> None:
    """By the winding number of each cell's centre, which rings around holes take back."""
    rings = trace_rings(mask)
    found = np.zeros(mask.shape, int)
    for row, column in np.ndindex(*mask.shape):
        for ring in rings:
            found[row, column] += _winding(ring, column + 0.5, row + 0.5)
    assert np.array_equal(found, mask.astype(int))


def _winding(ring: Any, x: float, y: float) -> int:
    """Return how often a ring turns around a point, counted along a ray to the right."""
    total = 0
    for (x0, y0), (x1, y1) in zip(ring, (*ring[1:], ring[0]), strict=True):
        assert (x0 == x1) != (y0 == y1), "edges are along the cells"
        if x0 == x1 > x and min(y0, y1) < y < max(y0, y1):
            total += 1 if y1 > y0 else -1
    return total


def test_rings_have_corners_only() -> None:
    assert trace_rings(np.ones((3, 5))) == (((0, 0), (5, 0), (5, 3), (0, 3)),)
    touching = trace_rings([[1, 0], [0, 1]])
    assert len(touching) == 2
    assert trace_rings(np.zeros((2, 2))) == ()


def test_outlines_of_other_kinds() -> None:
    box = Region("a", "box", (0.1, 0.1, 0.2, 0.2))
    assert outline_of(box, 10, 10) == ()
    point = outline_of(Region("a", "point", (0.1, 0.2, 0.3, 0.6), radius=2.0), 10, 10)[0]
    assert np.allclose([np.min(point, axis=0), np.max(point, axis=0)], [[0.1, 0.2], [0.3, 0.6]])
    triangle = Region("a", "polygon", (0, 0, 1, 1), mask=((0.0, 0.0, 1.0, 0.0, 0.5, 1.0),))
    assert outline_of(triangle, 10, 10) == (((0, 0), (1, 0), (0.5, 1)),)


@pytest.mark.parametrize(
    ("value", "visible", "dropped", "regions", "wanted"),
    [
        (0.5, 1.0, "", 1, []),
        (0.5, 0.9, "", 1, ["cropped"]),
        (None, 1.0, "", 1, ["undefined"]),
        (0.5, 1.0, "outside", 1, ["dropped"]),
        (0.5, 1.0, "unlabelled", 1, []),  # left out on purpose
        (None, None, "", 0, ["undefined", "no regions"]),
    ],
)
def test_each_warning_has_its_reason(
    value: float | None, visible: float | None, dropped: str, regions: int, wanted: list[str]
) -> None:
    served = SimpleNamespace(
        regions={"a": (SimpleNamespace(dropped=dropped),)},
        images={"a": SimpleNamespace(regions=regions)},
    )
    assert list(_warnings(cast("Served", served), "a", value, visible)) == wanted
