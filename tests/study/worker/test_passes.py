"""Sources that one pass of a network serves: who they are, and that sharing changes no bit."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from sightline.attribution.methods import explain
from sightline.attribution.methods.passes import Passed
from sightline.models.attention import Heads
from sightline.store import create_store
from sightline.study import Worker
from sightline.study.worker import inputs
from tests.study.studies import SHELF, make_folder, plan_of

if TYPE_CHECKING:
    from pathlib import Path

    from sightline.study import Plan, Task

METHODS = ["cls", "random", "mean", "gradcam", "rollout", "grad_attention"]
SHARED = ["cls", "mean", "rollout"]


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    folder = make_folder(tmp_path_factory.mktemp("data"), 6)
    found = plan_of(folder, methods=METHODS, batch=2)
    # Tasks of four images in batches of two, and of two.
    ids = [image for chunk in found.chunks for image in chunk.images]
    whole = replace(found.chunks[0], images=tuple(ids[:4]))
    return replace(found, chunks=(whole, replace(whole, images=tuple(ids[4:]), digest="rest")))


def methods_of(plan: Plan, tasks: Any) -> list[str]:
    return [plan.sources[task.source].method for task in tasks]


def test_tasks_of_one_pass_follow_each_other(plan: Plan) -> None:
    first, then = plan.tasks[:6], plan.tasks[6:]
    order = ["cls", "mean", "rollout", "random", "gradcam", "grad_attention"]
    assert methods_of(plan, first) == methods_of(plan, then) == order
    assert {task.chunk for task in first} == {0}
    follows = [plan.follows(task, plan.tasks[0]) for task in plan.tasks]
    assert follows == [True, True, True] + [False] * 9
    shared = {source.method: plan.sharing(source) for source in plan.sources}
    assert [one.method for one in shared["mean"]] == ["cls", "mean", "rollout"]
    assert shared["cls"] == shared["mean"] == shared["rollout"]
    assert all(shared[name] == () for name in ("random", "gradcam", "grad_attention"))


def test_no_pass_is_shared_by_other_batches_fits_or_networks(plan: Plan) -> None:
    cls, mean = (source for source in plan.sources if source.method in ("cls", "mean"))
    for change in ({"batch": 1}, {"fit": "crop"}, {"load": "demo/vit-dino"}, {"device": "cuda"}):
        changed = replace(plan, sources=(cls, replace(mean, **change)))
        assert changed.sharing(cls) == (cls,)
        assert not changed.follows(changed.tasks[1], changed.tasks[0])
    alone = replace(plan, sources=(cls,))
    assert alone.sharing(cls) == (cls,)


def counted(worker: Worker, tasks: list[Task]) -> tuple[list[Any], int]:
    """Maps of some tasks, and how many passes of two images or less they took."""
    passes = []
    network = SHELF.model("demo/vit", "squash").network
    hook = network.register_forward_pre_hook(lambda *_: passes.append(1))
    try:
        found = [worker.make(task, worker.read(task))[0] for task in tasks]
    finally:
        hook.remove()
        worker.close()
    return found, len(passes)


@pytest.mark.parametrize(
    ("limit", "passes"),
    [(None, 3), ("PASS_BYTES", 9), ("INPUT_BYTES", 9)],
    ids=["kept", "too large a pass", "too large images"],
)
def test_a_shared_pass_changes_no_bit(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str | None, passes: int
) -> None:
    if limit:
        monkeypatch.setattr(inputs, limit, {"cpu": 1000})
    worker = Worker(plan, create_store(tmp_path / "runs"), SHELF)
    tasks = [task for task in plan.tasks if plan.sources[task.source].method in SHARED]
    found, count = counted(worker, tasks)
    assert count == passes
    model = SHELF.model("demo/vit", "squash")
    for task, maps in zip(tasks, found, strict=True):
        samples = [plan.dataset.by_id(image) for image in plan.chunk_of(task).images]
        method = plan.sources[task.source].method
        alone = explain(model, samples, method, layers=[0, 11], batch=2)
        assert maps.geometries == alone.geometries
        for ours, theirs in zip(maps.values, alone.values, strict=True):
            assert all(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True))


def test_tasks_in_any_order_give_the_same(plan: Plan, tmp_path: Path) -> None:
    tasks = [task for task in plan.tasks if plan.sources[task.source].method in SHARED]
    mixed = [tasks[k] for k in (2, 3, 0, 5, 4, 1)]  # the other chunk comes between
    store = create_store(tmp_path / "runs")
    one, few = counted(Worker(plan, store, SHELF), tasks)
    two, many = counted(Worker(plan, store, SHELF), mixed)
    assert few < many
    by_task = dict(zip(mixed, two, strict=True))
    for task, maps in zip(tasks, one, strict=True):
        for ours, theirs in zip(maps.values, by_task[task].values, strict=True):
            assert all(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True))


def test_what_is_kept_of_a_pass_is_bounded() -> None:
    import torch

    part = torch.zeros(1, 2, 3, 8)
    heads = Heads(part, part.clone(), part.clone(), 1.0, None, part.transpose(1, 2))
    each = 2 * 1 * 2 * 3 * 8 * 4
    passed = Passed(2 * each)
    for layer in (0, 1):
        passed.add(layer, heads)
    known = passed.of([1, 0])
    assert known is not None
    assert list(known) == [1, 0]
    assert known[0].value.untyped_storage().nbytes() == 0
    assert passed.of([2]) is None
    passed.add(2, heads)
    assert passed.of([0]) is None
    passed.add(3, heads)
    assert passed.of([3]) is None


def test_rows_made_together_are_those_made_alone(plan: Plan) -> None:
    """As a GPU does: products of one call; here matrix products, so that last digits may differ."""
    from sightline.attribution.methods.make import Wanted, make_maps

    model = SHELF.model("demo/vit", "squash")
    images = [np.full((64, 64, 3), 40 * k, np.uint8) for k in range(3)]
    (batch,) = model.batches(images, 3)
    alone, together = Passed(1 << 30), Passed(1 << 30, ("cls", "mean"))
    for method in ("mean", "rollout", "cls"):
        wanted = Wanted(method, batch=3)
        (one,), (two,) = (
            list(make_maps(model, images, [(batch, passed)], wanted))
            for passed in (alone, together)
        )
        for ours, theirs in zip(two.maps, one.maps, strict=True):
            np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-4, atol=1e-7)
    assert alone.rows is None
    assert together.rows is not None
    assert set(together.rows) == {"cls", "mean", "rollout"}
    together.forget()
    assert together.rows is None
