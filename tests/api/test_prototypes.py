"""Benchmarks of prototypes over HTTP: what is stored, and what the model says when asked again."""

from __future__ import annotations

import json
import shutil
from base64 import b64decode
from dataclasses import replace
from io import BytesIO
from math import isnan
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from PIL import Image

from sightline.api import create_app
from sightline.attribution.prototypes import (
    PERTURBATIONS,
    Perturbation,
    Step,
    attribute,
    best_matches,
    blend,
    drops,
    perturb,
    perturbed_scores,
    prototype_score,
    relevant_boxes,
    unit_images,
)
from sightline.models import load_model
from sightline.results import open_benchmark
from sightline.store.checksums import save_json
from sightline.study import run_benchmark
from tests.api.asking import get, refused
from tests.loaded import loaded_once
from tests.small_prototypes import DATA, STYLES, small_asked

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import torch
    from numpy.typing import NDArray

    from sightline.results import StoredBenchmark

HUE = {"type": "hue", "params": {"factor": 0.25}}
IMAGE = "facade-00003.png"


@pytest.fixture(scope="module", autouse=True)
def _loaded() -> Iterator[None]:
    with loaded_once():
        yield


@pytest.fixture(scope="module")
def found(api_store: Path) -> StoredBenchmark:
    return open_benchmark(api_store / "prototypes" / "demo")


@pytest.fixture
def changed(api_store: Path, tmp_path: Path) -> Path:
    """A store of its own, with prototypes."""
    return shutil.copytree(api_store, tmp_path / "store")


def _client(store: Path) -> TestClient:
    return TestClient(create_app(store), base_url="http://127.0.0.1")


def _same(told: dict[str, Any], expected: Any, names: tuple[str, ...]) -> None:
    for name in names:
        value = getattr(expected, name)
        undefined = isinstance(value, float) and isnan(value)
        assert told[name] == (None if undefined else value), name


# --- what is stored ------------------------------------------------------------------------------


def test_benchmarks_are_listed_with_their_accuracy(
    client: TestClient, found: StoredBenchmark
) -> None:
    (line,) = get(client, "prototypes")["benchmarks"]
    assert (line["name"], line["model"], line["images"]) == ("demo", "demo/protopnet", 10)
    assert line["covered"] == len(found.global_stats().covered)
    accuracy = found.accuracy
    assert [line["accuracy"][name] for name in ("value", "low", "high", "n")] == [
        accuracy["value"], accuracy["low"], accuracy["high"], accuracy["images"]
    ]  # fmt: skip


def test_a_benchmark_has_the_numbers_of_the_library(
    client: TestClient, found: StoredBenchmark
) -> None:
    told = get(client, "prototypes/demo")
    for line, one in zip(told["relevance"], found.relevance_means, strict=True):
        _same(line, one, ("kind", "measure", "value", "low", "high", "chance", "difference"))
        assert len(line["values"]) == one.lines + one.undefined
        assert "chance is" in line["sentence"]
    effects = {one.perturbation: one for one in found.effects() if one.prototype < 0}
    assert [line["perturbation"] for line in told["effects"]] == ["hue", "dull"]
    for line in told["effects"]:
        names = ("focused", "dual", "whole", "difference", "difference_low", "matters", "p_holm")
        _same(line, effects[line["perturbation"]], (*names, "images"))
        assert line["prototype"] is None
    _same(told["premise"], found.premise(), ("share", "share_low", "rows", "prototype_share"))
    assert found.premise().share_high < 0.5
    assert "premise of the analysis does not hold" in told["premise"]["sentence"]
    natures = found.natures()
    assert told["natures"]["undecided"] == sum(one is None for one in natures.values())
    assert told["natures"]["uncovered"] == 40 - len(natures)
    assert any("hue shift moves brightness" in text for text in told["cautions"])
    assert any("grey" in text for text in told["cautions"])
    steps = [one["steps"] for one in told["perturbations"]]
    assert [[step["type"] for step in some] for some in steps] == [["hue"], ["saturation", "blur"]]
    assert set(told["image_ids"]) == set(found.drops["image"].to_pylist())  # type: ignore[index]


def test_sliders_have_the_ranges_of_the_table(client: TestClient) -> None:
    offered = {one["type"]: one for one in get(client, "prototypes/demo")["offered"]}
    assert list(offered) == list(PERTURBATIONS)
    for name, spec in PERTURBATIONS.items():
        for line, one in zip(offered[name]["params"], spec.params, strict=True):
            assert (line["name"], line["default"], line["step"]) == (
                one.name, one.default, one.step
            )  # fmt: skip
            ends = (line["low"], line["high"])
            assert ends == ((None, None) if one.choices else one.range)
            assert tuple(line["choices"]) == one.choices


def test_prototypes_have_weights_sources_relevance_and_natures(
    client: TestClient, found: StoredBenchmark
) -> None:
    told = get(client, "prototypes/demo/prototypes")
    rows = {
        row["proto_idx"]: row
        for row in found.relevance.to_pylist()  # type: ignore[union-attr]
        if row["kind"] == "prototype"
    }
    weights = load_model("demo/protopnet").network.class_weights
    assert [line["prototype"] for line in told["lines"]] == sorted(rows)
    effects = {(one.prototype, one.perturbation): one for one in found.effects()}
    natures = found.natures()
    for line in told["lines"]:
        number, row = line["prototype"], rows[line["prototype"]]
        assert [one["weight"] for one in line["weights"]] == weights[:, number].tolist()
        assert line["label"] == found.about["classes"][int(weights[:, number].argmax())]
        assert line["source"]["image"] == row["image"]
        assert (line["source"]["row"], line["source"]["column"]) == (row["row"], row["column"])
        for name in ("mask_relevance", "energy_relevance", "energy_raw", "chance"):
            assert line[name] == row[name]
        nature = natures.get(number)
        assert line["nature"] == (None if nature is None else list(nature))
        for drop in line["drops"]:
            _same(drop, effects[number, drop["perturbation"]], ("focused", "dual", "difference"))
        assert bool(line["images"]) == (number in natures)
        assert bool(line["drops"]) == (number in natures)


def test_a_prototype_has_the_images_behind_it(client: TestClient, found: StoredBenchmark) -> None:
    table = found.drops.to_pylist()  # type: ignore[union-attr]
    numbers = [row["proto_idx"] for row in table]
    number = max(set(numbers), key=numbers.count)
    told = get(client, f"prototypes/demo/prototypes/{number}")
    assert told["line"]["prototype"] == number
    rows = [row for row in table if row["proto_idx"] == number]
    assert {one["image"] for one in told["images"]} == {row["image"] for row in rows}
    scores = [one["score"] for one in told["images"]]
    assert len(set(scores)) > 1
    assert scores == sorted(scores, reverse=True)
    by_key = {(row["image"], row["perturbation"]): row for row in rows}
    for one in told["images"]:
        for drop in one["drops"]:
            row = by_key[one["image"], drop["perturbation"]]
            assert drop["focused"] == drops(row["original_score"], row["focused"])
            assert drop["dual"] == drops(row["original_score"], row["dual"])
            assert drop["whole"] is None
            assert (one["row"], one["column"]) == (row["row"], row["column"])


def test_what_is_not_there_is_told(client: TestClient, changed: Path) -> None:
    assert refused(client, "prototypes/none", 404)["field"] == "name"
    problem = refused(client, "prototypes/demo/prototypes/40", 404)
    assert problem["field"] == "number"
    assert "no prototype 40" in problem["detail"]
    for path in ("", "/picture.png"):
        told = refused(client, f"prototypes/demo/images/none{path}", 404)
        assert told["field"] == "image_id"
    shutil.rmtree(changed / "prototypes")
    bare = _client(changed)
    for path in ("prototypes", "prototypes/demo", "prototypes/demo/prototypes"):
        assert "sightline benchmark" in refused(bare, path, 404)["detail"]
    assert get(bare, "health")["prototypes"] == []


def test_damage_is_told(changed: Path) -> None:
    (changed / "prototypes" / "demo" / "drops.parquet").write_bytes(b"torn")
    assert "drops.parquet is damaged" in refused(_client(changed), "prototypes/demo", 409)["detail"]


# --- what the model says -------------------------------------------------------------------------


class _Once:
    """An image, asked of the library."""

    def __init__(self, found: StoredBenchmark, image: str, prototype: int | None = None) -> None:
        from sightline.study import DataChoice

        data = DataChoice.from_dict(found.about["settings"]["data"]).open()
        self.model = load_model("demo/protopnet")
        inputs = self.model.prepare(data.by_id(image))
        self.pixels, self.images = inputs.pixels, unit_images(self.model, inputs)
        self.best = best_matches(self.model, inputs.pixels, 40)
        place = 0
        if prototype is not None:
            place = self.best.prototypes[0].tolist().index(prototype)
        self.prototypes = self.best.prototypes[0, place : place + 1]
        self.cells = self.best.cells[0, place : place + 1]

    def values(self, method: str = "upsampling") -> torch.Tensor:
        return attribute(self.model, self.pixels, self.prototypes, self.cells, method=method).values


def _picture(text: str) -> NDArray[np.uint8]:
    kind, _, content = text.partition(",")
    assert kind == "data:image/png;base64"
    return np.asarray(Image.open(BytesIO(b64decode(content))))


def _eight(images: torch.Tensor) -> NDArray[np.uint8]:
    rounded: NDArray[np.uint8] = np.rint(images[0].permute(1, 2, 0).numpy() * 255).astype(np.uint8)
    return rounded


@pytest.mark.parametrize(
    ("prototype", "attribution", "steps"),
    [
        (None, None, [HUE]),
        (7, "saliency", [{"type": "distortion", "params": {"amplitude": 9}}, {"type": "blur"}]),
    ],
)
def test_live_is_what_the_library_says_to_the_bit(
    client: TestClient,
    found: StoredBenchmark,
    prototype: int | None,
    attribution: str | None,
    steps: list[dict[str, Any]],
) -> None:
    asked = {"image": IMAGE, "prototype": prototype, "attribution": attribution, "steps": steps}
    answer = client.post("/api/prototypes/demo/live", json=asked)
    assert answer.status_code == 200, answer.text
    told = answer.json()
    one = _Once(found, IMAGE, prototype)
    values = one.values(attribution or "upsampling")
    change = Perturbation("x", tuple(Step(s["type"], s.get("params", {})) for s in steps))
    score = prototype_score(one.model, one.prototypes, one.cells)
    expected = perturbed_scores(score, one.images, values, [change])
    assert told["prototype"] == int(one.prototypes[0])
    assert told["cell"] == one.cells[0].tolist()
    after = (expected.original[0], expected.focused[0, 0], expected.dual[0, 0])  # type: ignore[index]
    assert (told["original"], told["focused"], told["dual"]) == after
    assert told["focused_drop"] == drops(after[0], after[1])
    assert told["dual_drop"] == drops(after[0], after[2])
    altered = perturb(one.images, change, values)
    assert np.array_equal(_picture(told["original_png"]), _eight(one.images))
    for mode in ("focused", "dual"):
        copy = blend(one.images, altered, values, mode)
        assert np.array_equal(_picture(told[f"{mode}_png"]), _eight(copy))
    assert told["description"] == change.description
    assert told["attribution"] == (attribution or "upsampling")


def test_neutral_steps_change_nothing(client: TestClient) -> None:
    steps = [{"type": "brightness", "params": {"factor": 1}}]
    answer = client.post("/api/prototypes/demo/live", json={"image": IMAGE, "steps": steps}).json()
    assert answer["original"] == answer["focused"] == answer["dual"]
    assert answer["focused_drop"] == 0
    assert answer["sentence"].count("changes nothing") == 2


@pytest.mark.parametrize(
    ("change", "field", "text"),
    [
        ({"image": "none"}, "image", "no image 'none'"),
        ({"prototype": 40}, "prototype", "from 0 to 39"),
        ({"cell": [14, 0]}, "cell", "14x14"),
        ({"attribution": "none"}, "attribution", "upsampling"),
        ({"steps": []}, "steps", "at least 1"),
        ({"steps": [{"type": "melt"}]}, "steps.0.type", "brightness"),
        ({"steps": [HUE, {"type": "hue", "params": {"factor": 0.6}}]}, "steps.1.params.factor",
         "-0.5 to 0.5"),
        ({"steps": [{"type": "brightness", "params": {"factor": 1.2}}]}, "steps.0.params.factor",
         "0 to 1"),
        ({"steps": [{"type": "blur", "params": {"ksize": 4}}]}, "steps.0.params.ksize", "odd"),
        ({"steps": [{"type": "blur", "params": {"ksize": 53}}]}, "steps.0.params.ksize", "1 to 51"),
        ({"steps": [{"type": "distortion", "params": {"direction": "up"}}]},
         "steps.0.params.direction", "horizontal"),
        ({"steps": [{"type": "hue", "params": {"shift": 0.1}}]}, "steps.0.params", "shift"),
        ({"stops": []}, "stops", "not permitted"),
    ],
)  # fmt: skip
def test_a_live_request_that_does_not_fit_names_the_field(
    client: TestClient, change: dict[str, Any], field: str, text: str
) -> None:
    asked = {"image": IMAGE, "steps": [HUE]} | change
    answer = client.post("/api/prototypes/demo/live", json=asked)
    assert answer.status_code == 422, answer.text
    assert answer.json()["field"] == field
    assert text in answer.json()["detail"]


def test_an_image_has_its_nearest_prototypes(client: TestClient, found: StoredBenchmark) -> None:
    told = get(client, f"prototypes/demo/images/{IMAGE}", count=3)
    one = _Once(found, IMAGE)
    assert told["grid"] == [14, 14]
    for place, line in enumerate(told["lines"]):
        assert line["prototype"] == int(one.best.prototypes[0, place])
        assert line["score"] == float(one.best.scores[0, place])
        row, column = one.best.cells[0, place].tolist()
        assert (line["row"], line["column"]) == (row, column)
        assert line["box"] == [column / 14, row / 14, (column + 1) / 14, (row + 1) / 14]
    assert [drop["perturbation"] for drop in told["lines"][0]["drops"]] == ["hue", "dull"]
    assert len(told["lines"]) == 3


def test_pictures_show_what_was_asked_for(client: TestClient, found: StoredBenchmark) -> None:
    one = _Once(found, IMAGE, 7)
    sizes = {}
    for view in ("image", "patch", "box", "crop", "heatmap"):
        answer = client.get(
            f"/api/prototypes/demo/images/{IMAGE}/picture.png",
            params={"view": view, "prototype": 7},
        )
        assert answer.headers["content-type"] == "image/png"
        sizes[view] = np.asarray(Image.open(BytesIO(answer.content)))
    assert np.array_equal(sizes["image"], _eight(one.images))
    row, column = one.cells[0].tolist()
    top, left = max(row - 1, 0) * 16, max(column - 1, 0) * 16
    expected = sizes["image"][top : (row + 2) * 16, left : (column + 2) * 16]
    assert np.array_equal(sizes["patch"], expected)
    x0, y0, x1, y1 = relevant_boxes(one.values(), 0.05)[0].tolist()
    assert np.array_equal(sizes["crop"], sizes["image"][y0:y1, x0:x1])
    assert (sizes["box"] != sizes["image"]).any()
    assert sizes["heatmap"].shape == sizes["image"].shape
    words = {"attribution": "none"}
    path = f"prototypes/demo/images/{IMAGE}/picture.png"
    assert refused(client, path, 422, **words)["field"] == "attribution"
    assert refused(client, path, 422, prototype=40)["field"] == "prototype"


def test_the_patch_of_a_prototype_is_where_it_was_taken_from(client: TestClient) -> None:
    source = load_model("demo/protopnet").network.sources[7]
    path = "/api/prototypes/demo/prototypes/7/patch.png"
    whole = client.get(path, params={"view": "image"})
    patch = client.get(path)
    picture = np.asarray(Image.open(BytesIO(whole.content)))
    x0, y0, x1, y1 = source.box
    wide, high = x1 - x0, y1 - y0
    expected = picture[max(y0 - high, 0) : y1 + high, max(x0 - wide, 0) : x1 + wide]
    assert np.array_equal(np.asarray(Image.open(BytesIO(patch.content))), expected)
    again = client.get(path, headers={"If-None-Match": patch.headers["etag"]})
    assert again.status_code == 304


# --- stores whose model or data are others -------------------------------------------------------


def _about(store: Path, **change: Any) -> TestClient:
    """Return a client of a store whose benchmark says something else of itself."""
    path = store / "prototypes" / "demo" / "benchmark.json"
    about = json.loads(path.read_text())
    for part, words in change.items():
        about["settings"][part] |= words
    save_json(path, about)
    return _client(store)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"model": {"name": "none/such"}}, "cannot be loaded"),
        ({"model": {"digest": "0" * 16}}, "weights changed"),
    ],
)
def test_a_model_that_is_another_is_not_asked(
    changed: Path, change: dict[str, Any], text: str
) -> None:
    client = _about(changed, **change)
    told = get(client, "prototypes/demo/prototypes")
    assert text in told["note"]
    assert {len(line["weights"]) for line in told["lines"]} == {0}
    for path in (f"images/{IMAGE}", f"images/{IMAGE}/picture.png", "prototypes/7/patch.png"):
        assert text in refused(client, f"prototypes/demo/{path}", 409)["detail"]
    asked = {"image": IMAGE, "steps": [HUE]}
    answer = client.post("/api/prototypes/demo/live", json=asked)
    assert answer.status_code == 409
    assert text in answer.json()["detail"]


def test_a_picture_that_is_another_is_not_shown(changed: Path) -> None:
    client = _about(changed, data={"options": {"seed": 8}})
    asked = {"image": IMAGE, "steps": [HUE], "prototype": None}
    table = open_benchmark(changed / "prototypes" / "demo").drops
    row = next(one for one in table.to_pylist() if one["image"] == IMAGE)  # type: ignore[union-attr]
    cell = {"prototype": row["proto_idx"], "cell": [row["row"], row["column"]]}
    answer = client.post("/api/prototypes/demo/live", json=asked | cell)
    assert answer.status_code == 409
    assert "changed since the benchmark" in answer.json()["detail"]


def test_a_network_without_a_name_has_numbers_and_no_pictures(
    changed: Path, small_benchmark: Path
) -> None:
    shutil.copytree(small_benchmark, changed / "prototypes" / "small")
    client = _client(changed)
    names = [one["name"] for one in get(client, "prototypes")["benchmarks"]]
    assert names == ["demo", "small"]
    told = get(client, "prototypes/small/prototypes")
    assert "small cannot be loaded" in told["note"]
    assert [line["label"] for line in told["lines"]] == [None] * 6
    assert get(client, "prototypes/small")["natures"]["undecided"] >= 1
    number = next(line["prototype"] for line in told["lines"] if line["images"])
    assert get(client, f"prototypes/small/prototypes/{number}")["images"]
    assert refused(client, f"prototypes/small/prototypes/{number}/patch.png", 409)


@pytest.mark.parametrize("drops", [True, False])
def test_benchmarks_of_classes_or_of_relevance_alone_are_shown(changed: Path, drops: bool) -> None:
    config = "local_perturbation_analysis: {score: class_logit, enable_dual_mode: false}\n"
    others: dict[str, Any] = {"method": "saliency", "data": replace(DATA, count=2)}
    if not drops:
        config, others = "relevance_analysis: {sampling_ratio: 9}\n", {"projection": DATA}
    run_benchmark(small_asked(config, **others), changed, name="own", text=config)
    client = _client(changed)
    told = get(client, "prototypes/own")
    lines = get(client, "prototypes/own/prototypes")["lines"]
    assert told["premise"] is None
    assert (told["natures"] is None, told["effects"] == []) == (not drops, not drops)
    assert bool(told["relevance"]) == (not drops)
    asked = {"image": told["image_ids"][0], "steps": [HUE]}
    answer = client.post("/api/prototypes/own/live", json=asked)
    assert answer.status_code == 409
    if drops:
        assert told["score"] == "class_logit"
        assert told["offered"] == []
        assert [line["label"] for line in lines] == list(STYLES)
        assert {line["nature"] for line in lines} == {None}
        assert "logits of classes" in answer.json()["detail"]
    else:
        assert {line["told"] for line in lines} == {"no image analysed is most similar to it"}
