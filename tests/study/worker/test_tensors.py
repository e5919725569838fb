"""Maps that stay on a device are scored as those in main memory are; here, both are the same."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
import torch

from sightline.core import Region
from sightline.core.geometry import Geometry
from sightline.core.geometry.tensors import tensors_to_image
from sightline.store import create_store
from sightline.store.shards import read_maps
from sightline.study import BadImageError, Worker
from sightline.study.worker import inputs
from sightline.study.worker import worker as work
from sightline.study.worker.scores import Scored
from sightline.study.worker.scoring_tensors import Figures, _union
from sightline.study.worker.tensors import TensorMaps
from tests.study.studies import SHELF, make_folder, plan_of
from tests.study.tables import decode, sort

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sightline.study import Plan


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folder(tmp_path_factory.mktemp("data"), 5)


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Networks in main memory are taken for networks on a device."""
    from benchmarks.maps_gpu import torch_pass_on_cpu

    for module in (inputs, work):
        monkeypatch.setattr(module, "on_device", lambda model: True)
    with torch_pass_on_cpu():
        yield


def on_device(plan: Plan) -> Plan:
    sources = (replace(source, device="cpu:0") for source in plan.sources)
    return replace(plan, sources=tuple(sources))


def tables(plan: Plan, path: Path) -> list[Scored]:
    """Results tables of all tasks, sorted by their keys."""
    worker = Worker(plan, create_store(path), SHELF)
    found = []
    for task in plan.tasks:
        maps, samples = worker.make(task, worker.read(task))
        scored = worker.score(task, maps, samples)
        if isinstance(scored, Figures):
            assert isinstance(maps, TensorMaps)
            scored = scored.scored()
        assert isinstance(scored, Scored)
        found.append(Scored(*(sort(decode(table)) for table in scored)))
    worker.close()
    return found


@pytest.mark.parametrize(
    "changes",
    [
        {"methods": ["cls", "mean", "rollout"]},
        {"methods": ["cls"], "resolution": 17, "heads": "all"},
        {"methods": ["cls"], "resolution": "pixels", "heads": [2]},
        {"methods": ["rollout", "gradcam"], "fit": "letterbox"},
        {"methods": ["mean"], "fit": "crop", "resolution": 20},
        {"models": ["demo/cnn"], "methods": ["gradcam"], "fit": "native", "layers": "all"},
    ],
    ids=["grid", "heads", "one head", "letterbox", "crop", "grids of several sizes"],
)
def test_rows_are_those_of_main_memory(
    folder: Path, tmp_path: Path, elsewhere: None, changes: dict[str, Any]
) -> None:
    plan = plan_of(folder, **changes)
    seen = tables(on_device(plan), tmp_path / "device")
    with pytest.MonkeyPatch.context() as patch:
        for module in (inputs, work):
            patch.setattr(module, "on_device", lambda model: False)
        wanted = tables(plan, tmp_path / "host")
    for host, device in zip(wanted, seen, strict=True):
        for one, two in zip(host, device, strict=True):
            assert one.schema == two.schema
            assert one.num_rows == two.num_rows > 0
            for name in one.column_names:
                check_close(one[name], two[name], name)


def check_close(one: pa.ChunkedArray, two: pa.ChunkedArray, name: str) -> None:
    """Compare two columns: numbers nearly, all else exactly."""
    if pa.types.is_list(one.type):
        assert pc.list_value_length(one) == pc.list_value_length(two)
        one, two = pc.list_flatten(one), pc.list_flatten(two)
    assert one.is_valid() == two.is_valid(), name
    if pa.types.is_floating(one.type):
        np.testing.assert_allclose(two.to_numpy(), one.to_numpy(), rtol=1e-6, atol=1e-9)
    else:
        assert one == two, name


def test_the_way_is_that_of_a_device(folder: Path, tmp_path: Path, elsewhere: None) -> None:
    plan = on_device(plan_of(folder, methods=["cls", "mean"], keep_maps="grid"))
    worker = Worker(plan, create_store(tmp_path / "runs"), SHELF)
    assert worker.writers > 0
    task = plan.tasks[0]
    samples = worker.read(task)
    (batches,) = worker._shown._kept.values()  # made while they are read
    assert sum(len(inputs.keys) for inputs, _ in batches) == 5
    maps, _ = worker.make(task, samples)
    assert isinstance(maps, TensorMaps)
    assert maps.values == ()
    done = worker.write(task, maps, worker.score(task, maps, samples))
    assert done.maps == plan.size(task) == maps.count
    kept = read_maps(worker.store.map_file(task.name))
    for image, there in zip(kept.values, maps.on_host().values, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(image, there, strict=True))
    worker.close()


def test_maps_that_are_not_finite_name_their_images(
    folder: Path, tmp_path: Path, elsewhere: None
) -> None:
    plan = on_device(plan_of(folder, methods=["cls"]))
    worker = Worker(plan, create_store(tmp_path / "runs"), SHELF)
    task = plan.tasks[0]
    maps, samples = worker.make(task, worker.read(task))
    assert isinstance(maps, TensorMaps)
    maps.blocks[0].values[3, 1, 0, 2, 2] = torch.nan
    with pytest.raises(BadImageError, match=r"'003\.png': its map of cls holds 1 NaN") as error:
        worker.score(task, maps, samples)
    assert list(error.value.images) == ["003.png"]
    worker.close()


def test_bad_images_are_all_named(folder: Path, tmp_path: Path, elsewhere: None) -> None:
    torn = make_folder(tmp_path / "torn", 5)
    plan = on_device(plan_of(torn, methods=["cls"]))
    for name in ("003.png", "001.png"):
        (torn / name).write_bytes(b"no picture")
    worker = Worker(plan, create_store(tmp_path / "runs"), SHELF)
    with pytest.raises(BadImageError) as error:
        worker.read(plan.tasks[0])
    assert list(error.value.images) == ["001.png", "003.png"]
    worker.close()


WAYS = {
    "plain": Geometry.of(40, 30).resize(64, 64).patches(16),
    "letterbox": Geometry.of(40, 20).resize(64, 32).pad(0, 16, 0, 16).patches(16),
    "crop": Geometry.of(80, 40).resize(128, 64).crop(32, 0, 64, 64).patches(16),
    "flipped": Geometry.of(40, 30).resize(64, 64).flip().patches(16, 8),
}


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("size", [(30, 40), (224, 224), (3, 2), (1, 1)])
def test_tensors_over_an_image_are_those_of_a_geometry(name: str, size: tuple[int, int]) -> None:
    way = WAYS[name]
    maps = np.random.default_rng(0).normal(size=(2, 3, *way.grid[::-1])).astype(np.float32)
    wanted = way.to_image(maps, *size, fill=0, how="bilinear")
    assert np.array_equal(tensors_to_image(torch.from_numpy(maps), way, *size).numpy(), wanted)


@pytest.mark.parametrize("name", WAYS)
def test_boxes_are_clipped_together_as_one_by_one(name: str) -> None:
    way = WAYS[name]
    rng = np.random.default_rng(2)
    corners = np.sort(rng.uniform(-0.2, 1.2, (400, 2, 2)).round(2), axis=1)
    corners[::7, 1] = corners[::7, 0]  # points, and
    corners[1::7, 1, 0] = corners[1::7, 0, 0]  # lines
    boxes: list[Any] = [tuple(box) for box in corners.reshape(-1, 4).tolist()]
    kept, lost = way.clip_boxes(boxes)
    assert 0 < lost.sum() < 400
    for box, ours, none in zip(boxes, kept.tolist(), lost.tolist(), strict=True):
        wanted = way.carry_region(Region(box=box))
        assert (wanted is None) == none
        assert none or wanted is None or wanted.box == tuple(ours)


def test_the_union_of_boxes_and_masks(folder: Path) -> None:
    from sightline.metrics._regions import RegionTable

    rng = np.random.default_rng(1)
    corners = rng.uniform(0, 0.6, (5, 2))
    boxes = np.concatenate([corners, corners + 0.3], axis=1)
    mask = rng.random((9, 11)) > 0.8
    for regions in (
        [boxes[:2], boxes[2:3], boxes[:0], boxes],
        [boxes[:2], [mask, boxes[0]], boxes[:0], [mask]],
    ):
        table = RegionTable.build(regions, (4, 3, 1), 9, 11)
        found = _union(table, 4, (9, 11), torch.device("cpu"))
        assert np.array_equal(found.numpy(), table.union(9, 11)[::3])


@pytest.mark.parametrize("keep", ["grid", "none"])
def test_a_device_lets_go_of_maps_that_are_scored(
    folder: Path, tmp_path: Path, elsewhere: None, keep: str
) -> None:
    plan = on_device(plan_of(folder, methods=["cls"], keep_maps=keep))
    worker = Worker(plan, create_store(tmp_path / "runs"), SHELF)
    task = plan.tasks[0]
    maps, samples = worker.make(task, worker.read(task))
    scored = worker.score(task, maps, samples)
    kept = worker.kept(task, maps)
    assert not getattr(kept, "blocks", ())
    assert bool(kept.values) == (keep == "grid")
    assert worker.write(task, kept, scored).maps == plan.size(task)
    assert worker.store.map_file(task.name).exists() == (keep == "grid")
    with pytest.raises(RuntimeError, match="pixels"):
        samples[0].image()
    worker.close()


def test_what_is_not_finite_where_nothing_is_scored_counts_too(
    folder: Path, tmp_path: Path, elsewhere: None
) -> None:
    """The padding of a letterbox is ignored, but such a map must not be stored, nor averaged."""
    plan = on_device(plan_of(folder, methods=["cls"], fit="letterbox"))
    worker = Worker(plan, create_store(tmp_path / "runs"), SHELF)
    task = plan.tasks[0]
    maps, samples = worker.make(task, worker.read(task))
    assert isinstance(maps, TensorMaps)
    maps.blocks[0].values[0, 0, 0, 0, 0] = torch.nan  # a corner, which is padding
    with pytest.raises(BadImageError, match=r"000\.png"):
        worker.score(task, maps, samples)
    worker.close()
