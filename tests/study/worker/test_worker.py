"""The steps of a task against `explain` and `score_maps` by hand."""

from __future__ import annotations

import errno
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from safetensors import SafetensorError

from sightline.attribution.methods import explain
from sightline.core import InputError, Sample
from sightline.core.errors import OutOfMemoryError
from sightline.core.memory import is_out_of_memory
from sightline.metrics import score_maps
from sightline.store import Store, create_store
from sightline.store.shards import STUDY, StoredMaps, read_maps
from sightline.study import BadImageError, Chunk, Shelf, Study, Task, Worker, plan_study
from sightline.study.executors.lane import _failed
from sightline.study.worker import worker as module
from sightline.study.worker.scores import Scored
from sightline.study.worker.worker import _Images
from tests.study.studies import SHELF, add_maps, make_folder, plan_of
from tests.study.tables import melt, melt_scores

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sightline.study import Plan

LAYERS = [0, 3]
METRICS = ["coverage", "auc_roc", "pointing", "iou", "recall"]


def facade_plan(**changes: Any) -> Plan:
    given: dict[str, Any] = {
        "name": "first",
        "data": {"name": "facades", "count": 3, "seed": 5},
        "models": ["demo/vit", "demo/cnn"],
        "methods": ["cls", "gradcam", "mean_map", "random"],
        "layers": LAYERS,
        "metrics": METRICS,
        "percentiles": [90, 50],
        "batch": 2,
    }
    return plan_study(Study(**{**given, **changes}), shelf=SHELF)


@pytest.fixture(scope="module")
def plan() -> Plan:
    return facade_plan()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return create_store(tmp_path_factory.mktemp("runs") / "first")


@pytest.fixture(scope="module")
def worker(plan: Plan, store: Store) -> Iterator[Worker]:
    """A worker that has done the tasks of all sources but the means."""
    made = Worker(plan, store, SHELF)
    for task in plan.tasks:
        if plan.sources[task.source].kind == "model":
            finish(made, task)
    yield made
    made.close()


def finish(worker: Worker, task: Task) -> tuple[StoredMaps, Scored]:
    maps, samples = worker.make(task, worker.read(task))
    scored = worker.score(task, maps, samples)
    assert isinstance(scored, Scored)
    done = worker.write(task, maps, scored)
    assert done.rows == melt(*scored).num_rows
    assert done.maps == worker.plan.size(task)
    return maps, scored


def task_of(plan: Plan, model: str, method: str) -> Task:
    return next(
        task
        for task in plan.tasks
        if (plan.sources[task.source].model, plan.sources[task.source].method) == (model, method)
    )


@pytest.mark.parametrize(("model", "method"), [("demo/vit", "cls"), ("demo/cnn", "gradcam")])
def test_a_task_is_what_explain_and_score_maps_give(
    plan: Plan, worker: Worker, model: str, method: str
) -> None:
    task = task_of(plan, model, method)
    samples = list(plan.dataset)
    expected = explain(SHELF.model(model, "squash"), samples, method, layers=LAYERS, batch=2)
    kept = read_maps(worker.store.map_file(task.name))
    assert kept.images == tuple(sample.image_id for sample in samples)
    assert kept.geometries == expected.geometries
    assert kept.layers == expected.layers
    assert kept.heads == (None,)
    assert kept.targets == expected.targets
    assert kept.about["method"] == method
    files = worker.store.score_file(task.name), worker.store.region_file(task.name)
    rows = melt(*map(pq.read_table, files)).to_pylist()
    found = {
        (row["image"], row["layer"], row["region"], row["metric"], row["threshold"]): row["value"]
        for row in rows
    }
    assert len(found) == len(rows)
    count = 0
    for i, sample in enumerate(samples):
        for k, layer in enumerate(expected.layers):
            values = expected.values[i][k]
            assert kept.values[i][k].tobytes() == values.tobytes()
            carried = expected.geometries[i][k].carry(sample.annotation)
            options: Any = {"percentiles": (90, 50), "metrics": METRICS, "sign": expected.sign}
            scores = score_maps(values, regions=[carried], **options)
            for row in melt_scores(scores).to_pylist():
                key = (sample.image_id, layer, row["region"], row["metric"], row["threshold"])
                assert found[key] == pytest.approx(row["value"], rel=1e-12, nan_ok=True), key
                count += 1
    assert count == len(rows)


def test_the_same_task_twice_is_the_same_to_the_last_bit(plan: Plan, worker: Worker) -> None:
    for model, method in (("demo/vit", "cls"), ("demo/cnn", "gradcam"), ("demo/vit", "random")):
        task = task_of(plan, model, method)
        kept = worker.store
        places = (kept.score_file, kept.region_file, kept.map_file)
        files = [place(task.name) for place in places]
        before = [file.read_bytes() for file in files]
        finish(Worker(plan, worker.store, Shelf()), task)
        assert [file.read_bytes() for file in files] == before


@pytest.mark.parametrize("model", ["demo/vit", "demo/cnn"])
def test_a_mean_is_that_of_explain(plan: Plan, worker: Worker, model: str) -> None:
    task = task_of(plan, model, "mean_map")
    maps, scored = finish(worker, task)
    expected = explain(
        SHELF.model(model, "squash"), list(plan.dataset), "mean_map", layers=LAYERS, batch=2
    )
    for image, other in zip(maps.values, expected.values, strict=True):
        for layer, values in zip(image, other, strict=True):
            np.testing.assert_allclose(layer, values, rtol=0, atol=1e-6)
    assert maps.geometries == expected.geometries
    assert set(scored.scores["method"].to_pylist()) == {"mean_map"}
    assert not worker.store.map_file(task.name).exists()  # it can be made again at no cost


def test_a_mean_over_several_chunks_is_over_all(plan: Plan, tmp_path: Path) -> None:
    """Here each chunk holds one image."""
    store = create_store(tmp_path / "s")
    alone = tuple(Chunk((image,), image) for image in plan.chunks[0].images)
    spread = replace(plan, chunks=alone)
    worker = Worker(spread, store, SHELF)
    for task in spread.tasks:
        if spread.sources[task.source].method == "cls":
            finish(worker, task)
    model = SHELF.model("demo/vit", "squash")
    every = explain(model, list(plan.dataset), "cls", layers=LAYERS, batch=1).stack()
    for task in spread.tasks:
        source = spread.sources[task.source]
        if (source.model, source.method) == ("demo/vit", "mean_map"):
            maps, _ = worker.make(task, worker.read(task))
            others = np.delete(every, task.chunk, axis=0).mean(0)
            np.testing.assert_allclose(np.stack(maps.values[0]), others, rtol=0, atol=1e-6)


def test_a_mean_of_one_image_is_an_error(plan: Plan, store: Store, worker: Worker) -> None:
    task = task_of(plan, "demo/vit", "mean_map")
    one = replace(plan, chunks=(replace(plan.chunks[0], images=plan.chunks[0].images[:1]),))
    with pytest.raises(InputError, match="mean over other images, and there is one"):
        Worker(one, store, SHELF).make(task, worker.read(task)[:1])


def test_a_mean_of_unequal_grids_is_an_error(plan: Plan, tmp_path: Path, worker: Worker) -> None:
    from sightline.store import write_maps

    task = task_of(plan, "demo/vit", "mean_map")
    own = task_of(plan, "demo/vit", "cls")
    kept = read_maps(worker.store.map_file(own.name))
    values = (tuple(layer[:, :5] for layer in kept.values[0]), *kept.values[1:])
    store = create_store(tmp_path / "s")
    write_maps(store.map_file(own.name), replace(kept, values=values))
    with pytest.raises(InputError, match="needs maps of one grid, which fit 'squash' does not"):
        Worker(plan, store, SHELF).make(task, worker.read(task))


def test_all_heads_come_with_their_mean(tmp_path: Path) -> None:
    plan = facade_plan(models=["demo/vit"], methods=["cls"], layers=[3, 11], heads="all")
    worker = Worker(plan, create_store(tmp_path / "s"), SHELF)
    (task,) = plan.tasks
    maps, scored = finish(worker, task)
    assert maps.heads == (None, 0, 1, 2, 3)
    fused = explain(SHELF.model("demo/vit", "squash"), list(plan.dataset), "cls", layers=[3, 11])
    for image, other in zip(maps.values, fused.values, strict=True):
        for layer, values in zip(image, other, strict=True):
            assert layer.shape == (5, 14, 14)
            np.testing.assert_allclose(layer[0], layer[1:].mean(0), rtol=1e-6)
            np.testing.assert_allclose(layer[0], values[0], rtol=1e-6)
    frame = scored.scores.to_pandas()
    first = frame[(frame["layer"] == 11) & (frame["image"] == maps.images[0])]
    assert first["head"].isna().tolist() == [True, False, False, False, False]
    # Every head has energy 1 within the same sum, so that the coverage of the mean is a mean too.
    energy = maps.values[0][1].sum((1, 2))
    weighted = (first["coverage"].to_numpy()[1:] * energy[1:]).sum() / energy[1:].sum()
    assert first["coverage"].to_numpy()[0] == pytest.approx(weighted, rel=1e-5)


def test_an_embedding_is_explained_of_a_model_without_classes(tmp_path: Path) -> None:
    plan = facade_plan(models=["demo/vit-dino"], methods=["saliency"], targets=["embedding"])
    worker = Worker(plan, create_store(tmp_path / "s"), SHELF)
    (task,) = plan.tasks
    maps, scored = finish(worker, task)
    model = SHELF.model("demo/vit-dino", "squash")
    expected = explain(model, list(plan.dataset), "saliency", target="embedding", batch=2)
    assert maps.targets == ("embedding",) * 3
    assert set(scored.scores["target"].to_pylist()) == {"embedding"}
    for mine, other in zip(maps.values, expected.values, strict=True):
        assert np.array_equal(mine[0], other[0].astype(mine[0].dtype))
    worker.close()


def test_some_heads_come_beside_the_fused_one(tmp_path: Path) -> None:
    plan = facade_plan(models=["demo/vit"], methods=["cls"], layers=[11], heads=[2, 0])
    worker = Worker(plan, create_store(tmp_path / "s"), SHELF)
    maps, _ = worker.make(plan.tasks[0], worker.read(plan.tasks[0]))
    expected = explain(
        SHELF.model("demo/vit", "squash"), list(plan.dataset), "cls", layers=[11], heads="all"
    )
    assert maps.heads == (None, 2, 0)
    every = expected.values[1][0]
    assert maps.values[1][0][1:].tobytes() == every[[2, 0]].tobytes()
    np.testing.assert_allclose(maps.values[1][0][0], every.mean(0), rtol=1e-6)


def test_maps_are_kept_only_where_asked_for(tmp_path: Path) -> None:
    plan = facade_plan(models=["demo/cnn"], methods=["random"], keep_maps="none")
    worker = Worker(plan, create_store(tmp_path / "s"), SHELF)
    finish(worker, plan.tasks[0])
    assert not list(worker.store.maps.iterdir())
    assert worker.store.score_file(plan.tasks[0].name).exists()
    assert worker.store.region_file(plan.tasks[0].name).exists()


def test_scores_are_written_last(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They say that a task is done; what comes before must be there."""
    order = []

    def note(path: Path, *_: Any, **__: Any) -> int:
        order.append(path.parent.name)
        return 0

    monkeypatch.setattr(module, "write_maps", note)
    monkeypatch.setattr(module, "write_table", note)
    worker = Worker(plan, create_store(tmp_path / "s"), SHELF)
    task = task_of(plan, "demo/vit", "random")
    maps, samples = worker.make(task, worker.read(task))
    worker.write(task, maps, worker.score(task, maps, samples))
    assert order == ["maps", "region_scores", "scores"]


def test_files_name_their_study(plan: Plan, worker: Worker) -> None:
    task = task_of(plan, "demo/vit", "cls")
    for file in (worker.store.score_file(task.name), worker.store.region_file(task.name)):
        assert pq.read_metadata(file).metadata[STUDY.encode()] == b"first"


# Maps made elsewhere


def test_given_maps_are_scored_where_there_are_some(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "f", 5)
    path = add_maps(tmp_path / "m", range(1, 4))
    methods = [{"name": "mine", "params": {"maps": str(path)}}]
    plan = plan_of(folder, models=[], methods=methods, batch=2, metrics=METRICS, percentiles=[90])
    assert [len(chunk.images) for chunk in plan.chunks] == [2, 2, 1]
    worker = Worker(plan, create_store(tmp_path / "s"), SHELF)
    frames = []
    for task in plan.tasks:
        maps, samples = worker.make(task, worker.read(task))
        scored = worker.score(task, maps, samples)
        assert isinstance(scored, Scored)
        frames.append(melt(*scored))
        worker.write(task, maps, scored)
    worker.close()
    assert [frame.num_rows > 0 for frame in frames] == [True, True, False]
    assert not list(worker.store.maps.iterdir())  # they lie where they are
    assert len(worker.store.done()) == 3
    rows = [row for frame in frames for row in frame.to_pylist()]
    assert {row["image"] for row in rows} == {f"{number:03}.png" for number in range(1, 4)}
    for number in range(1, 4):
        sample = plan.dataset.by_id(f"{number:03}.png")
        values = np.load(path / f"{number:03}.npy")
        scores = score_maps(
            values[None], regions=[sample.annotation], metrics=METRICS, percentiles=(90,)
        )
        expected = {
            (row["region"], row["metric"], row["threshold"]): row["value"]
            for row in melt_scores(scores).to_pylist()
        }
        own = [row for row in rows if row["image"] == sample.image_id]
        assert len(own) == len(expected)
        for row in own:
            value = expected[row["region"], row["metric"], row["threshold"]]
            assert row["value"] == pytest.approx(value, rel=1e-12, nan_ok=True)
            assert row["layer"] is row["head"] is row["seed"] is None


def test_a_bad_given_map_names_its_image(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "f", 3)
    path = add_maps(tmp_path / "m", range(3))
    np.save(path / "001.npy", np.array([[0.5, np.nan]]))
    np.save(path / "002.npy", np.array([[np.inf, -np.inf], [0.0, np.nan]]))
    plan = plan_of(
        folder, models=[], methods=[{"name": "mine", "params": {"maps": str(path)}}], batch=None
    )
    worker = Worker(plan, create_store(tmp_path / "s"), SHELF)
    (task,) = plan.tasks
    with pytest.raises(BadImageError) as caught:
        worker.make(task, worker.read(task))
    assert caught.value.images == {  # all at once
        "001.png": "image '001.png': its map of mine holds 1 NaN values",
        "002.png": "image '002.png': its map of mine holds 1 NaN and 2 infinite values",
    }
    (path / "002.npy").write_bytes(b"torn")  # after the plan
    with pytest.raises(BadImageError, match=r"002\.npy") as caught:
        worker.make(task, worker.read(task))
    assert list(caught.value.images) == ["002.png"]
    worker.close()


# Images


def test_all_bad_images_of_a_task_are_named(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "f", 4)
    plan = plan_of(folder, methods=["random"])
    (folder / "001.png").write_bytes(b"torn")
    (folder / "003.png").unlink()
    worker = Worker(plan, create_store(tmp_path / "s"), SHELF)
    with pytest.raises(BadImageError) as caught:
        worker.read(plan.tasks[0])
    assert list(caught.value.images) == ["001.png", "003.png"]
    for name, why in caught.value.images.items():
        assert name in why


def test_a_chunk_without_images_is_a_task_without_rows(plan: Plan, tmp_path: Path) -> None:
    empty = replace(plan, chunks=(Chunk((), "none"),))
    worker = Worker(empty, create_store(tmp_path / "s"), SHELF)
    for task in empty.tasks:
        maps, samples = worker.make(task, worker.read(task))
        assert samples == []
        done = worker.write(task, maps, worker.score(task, maps, samples))
        assert done == (0, 0)
    assert len(worker.store.done()) == len(empty.tasks)
    assert not list(worker.store.maps.iterdir())


def test_images_are_read_once(plan: Plan, store: Store) -> None:
    worker = Worker(plan, store, SHELF)
    tasks = [task_of(plan, model, "random") for model in ("demo/vit", "demo/cnn")]
    first, second = (worker.read(task) for task in tasks)
    assert all(a is b for a, b in zip(first, second, strict=True))
    assert first[0].image() is first[0].image()
    np.testing.assert_array_equal(first[1].image(), plan.dataset[1].image())


def picture(name: str, side: int) -> Sample:
    from sightline.core import Annotation

    pixels = np.zeros((side, side, 3), np.uint8)
    return Sample(name, Annotation(name), load=lambda: pixels)


def test_the_images_at_hand_are_bounded() -> None:
    kept = _Images(3 * 300)
    samples = {name: picture(name, 10) for name in "abcd"}
    for name in "abc":
        kept.put((name, True), samples[name])
    assert kept.bytes == 900
    assert kept.get(("a", True)) is samples["a"]  # now the one used last
    kept.put(("d", True), samples["d"])
    assert kept.bytes == 900
    assert kept.get(("b", True)) is None
    assert all(kept.get((name, True)) is samples[name] for name in "acd")
    assert kept.get(("a", False)) is None
    large = picture("e", 100)
    kept.put(("e", True), large)  # one is kept however large
    assert kept.get(("e", True)) is large
    assert kept.bytes == 30_000
    kept.put(("a", True), samples["a"])
    assert kept.get(("e", True)) is None
    assert kept.bytes == 300


# Memory


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOMEM, "Cannot allocate memory"), MemoryError("no room")]
)
@pytest.mark.parametrize("methods", [["gradcam"], [{"name": "own", "params": {"maps": "MAPS"}}]])
def test_a_lack_of_memory_makes_no_bad_image(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, methods: list[Any], error: Exception
) -> None:
    folder = make_folder(tmp_path / "data", 2)
    maps = add_maps(tmp_path / "maps", range(2))
    given = isinstance(methods[0], dict)
    if given:
        methods = [{"name": "own", "params": {"maps": str(maps)}}]
    own = plan_of(folder, models=[] if given else ["demo/cnn"], methods=methods)
    worker = Worker(own, create_store(tmp_path / "runs"), SHELF)

    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr("PIL.ImageFile.ImageFile.load", fail)
    monkeypatch.setattr("sightline.data.mapfiles._numbers", fail)
    task = own.tasks[0]
    with pytest.raises(type(error)) as caught:
        worker.make(task, worker.read(task))
    monkeypatch.undo()
    assert not isinstance(caught.value, InputError)
    assert _failed(task, BadImageError({"a": "no"}), "read").kind == "image"
    assert _failed(task, caught.value, "read").kind == "exhausted"


def allocator_error() -> RuntimeError:
    """What torch says where no memory is left on a CPU."""
    try:
        torch.empty(1 << 60, dtype=torch.uint8)
    except RuntimeError as error:
        return error
    raise AssertionError("there was room")


def numpy_error() -> MemoryError:
    try:
        np.empty(1 << 60, np.uint8)
    except MemoryError as error:
        return error
    raise AssertionError("there was room")


def chained(cause: BaseException, *, explicit: bool) -> Exception:
    try:
        try:
            raise cause
        except BaseException as error:
            if explicit:
                raise InputError("layer 3 failed") from error
            raise InputError("layer 3 failed")  # noqa: B904
    except InputError as error:
        return error


LACKING: dict[str, Any] = {
    "allocator": allocator_error,
    "torch": lambda: torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB"),
    "accelerator": lambda: RuntimeError("CUDA error: out of memory"),
    "mps": lambda: RuntimeError("MPS backend out of memory (MPS allocated: 8.99 GB)"),
    "python": MemoryError,
    "numpy": numpy_error,
    "system": lambda: OSError(errno.ENOMEM, "Cannot allocate memory"),
    "cause": lambda: chained(MemoryError(), explicit=True),
    "context": lambda: chained(torch.OutOfMemoryError("CUDA out of memory."), explicit=False),
    "rust": lambda: SafetensorError("I/O error: Cannot allocate memory (os error 12)"),
    "deep": lambda: chained(chained(MemoryError(), explicit=True), explicit=False),
}
OTHER: dict[str, Any] = {
    "input": lambda: InputError("layer must be from 0 to 3"),
    "runtime": lambda: RuntimeError("mat1 and mat2 shapes cannot be multiplied"),
    "disk": lambda: OSError(errno.ENOSPC, "No space left on device"),
    "value": lambda: ValueError("can't allocate memory"),
    "name": lambda: OSError(errno.ENOENT, "No such file or directory", "out of memory.png"),
    "input name": lambda: InputError("out of memory.png: no such image"),
    "chain": lambda: chained(OSError(errno.EIO, "Input/output error"), explicit=True),
}


@pytest.mark.parametrize("name", LACKING)
def test_a_lack_of_memory_is_recognised(name: str) -> None:
    assert is_out_of_memory(LACKING[name]())


@pytest.mark.parametrize("name", OTHER)
def test_other_errors_are_none(name: str) -> None:
    assert not is_out_of_memory(OTHER[name]())


def test_a_model_without_memory_says_so(
    plan: Plan, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sightline.attribution.methods.make

    worker = Worker(plan, store, SHELF)
    task = task_of(plan, "demo/cnn", "gradcam")
    samples = worker.read(task)
    error: Exception = allocator_error()

    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(sightline.attribution.methods.make, "make_maps", fail)
    with pytest.raises(OutOfMemoryError, match=r"demo/cnn: .*allocate memory"):
        worker.make(task, samples)
    error = RuntimeError("another")
    with pytest.raises(RuntimeError, match="another"):
        worker.make(task, samples)
