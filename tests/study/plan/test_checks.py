"""Checks in the plan: what is asked of which maps, on which images, and under which keys."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from sightline.attribution.sanity.table import (
    BASELINES,
    MEASURES,
    STORED_CURVES,
    STORED_MEASURES,
    Row,
)
from sightline.core import InputError
from sightline.store import Store
from sightline.study import Shelf, Study, Task, Worker, plan_study
from sightline.study.plan import checks as runner_checking
from sightline.study.plan.checks import build_checks_table, partners_of
from sightline.study.plan.plan import Chunk
from sightline.study.plan.probe import expect
from sightline.study.worker.threads import planned_threads

if TYPE_CHECKING:
    from pathlib import Path

    from sightline.attribution.sanity.table import Job
    from sightline.study import Plan
    from sightline.study.plan.sources import Source

SHELF = Shelf()


def plan_of(checks: Any, **keys: Any) -> Plan:
    values: dict[str, Any] = {
        "name": "checked",
        "data": {"name": "facades", "count": 6, "seed": 7},
        "models": ["demo/cnn"],
        "methods": ["gradcam", "random"],
        "layers": [0, 2],
        "metrics": ["coverage"],
        "seeds": [3, 4],
        "batch": 4,
    }
    return plan_study(Study(**{**values, **keys}, checks=checks), shelf=SHELF)


def checks_of(plan: Plan) -> list[Source]:
    return [source for source in plan.sources if source.kind == "check"]


@pytest.fixture(scope="module")
def whole() -> Plan:
    return plan_of({"randomisation": {"images": 4}, "faithfulness": {}, "parts": {"images": 5}})


def test_a_study_without_checks_plans_none() -> None:
    plan = plan_of([])
    assert not checks_of(plan)
    assert plan.checked == {}


def test_each_draw_is_a_source_of_its_own(whole: Plan) -> None:
    found = Counter((one.method, one.check) for one in checks_of(whole))
    names = {"reference", "faithfulness", "parts"}
    names |= {f"randomisation/{way}/{seed}" for way in ("full", "top-down") for seed in range(5)}
    assert set(found.values()) == {1}
    assert {check for method, check in found if method == "gradcam"} == names
    assert {check for method, check in found if method == "centre"} == {"faithfulness", "parts"}


def test_maps_are_checked_at_the_last_layer_and_with_the_first_seed(whole: Plan) -> None:
    for one in checks_of(whole):
        assert one.layers == ((2,) if one.method == "gradcam" else (None,))
        assert one.seed == (3 if one.method == "random" else None)
        assert one.heads == (None,)
    (other,) = {
        one.layers for one in checks_of(plan_of({"parts": {"layers": [0, -1]}}))
        if one.method == "gradcam"
    }  # fmt: skip
    assert other == (0, 3)


def make_checked_layer(layer: int, **change: Any) -> dict[str, Any]:
    return {
        "model": "demo/cnn",
        "method": "gradcam",
        "target": "predicted",
        "layer": layer,
    } | change


def list_layers(plan: Plan) -> list[tuple[int | None, ...]]:
    return [one.layers for one in checks_of(plan) if one.method == "gradcam"]


def test_best_layers_are_checked_alone_or_next_to_those_of_the_study() -> None:
    best = plan_of({"parts": {"layers": "best", "best_layers": [make_checked_layer(0)]}})
    assert list_layers(best) == [(0,)]
    assert {one.layers for one in checks_of(best) if one.method != "gradcam"} == {(None,)}
    last = plan_of(["parts"])
    both = plan_of({"parts": {"best_layers": [make_checked_layer(0)]}})
    assert list_layers(both) == [(2,), (0,)]
    # Nothing that was checked before is checked again.
    assert {one.key for one in (*checks_of(last), *checks_of(best))} == {
        one.key for one in checks_of(both)
    }
    assert list_layers(plan_of({"parts": {"best_layers": [make_checked_layer(2)]}})) == [(2,)]
    every = plan_of({"parts": {"layers": "all", "best_layers": [make_checked_layer(0)]}})
    assert list_layers(every) == [(0, 1, 2, 3)]


def test_best_layers_of_maps_without_a_class_serve_every_target() -> None:
    entry = {"model": "demo/vit", "method": "cls", "layer": 0}
    asked = {"faithfulness": {"layers": "best", "best_layers": [entry]}}
    targets = ["predicted", "label"]
    plan = plan_of(
        asked, models=["demo/vit"], methods=["cls", "saliency"], targets=targets, layers=[0, -1]
    )
    found = {(one.target, one.layers) for one in checks_of(plan) if one.method == "cls"}
    assert found == {("", (0,)), ("label", (0,))}


def test_best_layers_must_be_known_and_scored() -> None:
    with pytest.raises(InputError, match=r"gradcam: layer must be one that .* \(0, 2\), got 1"):
        plan_of({"parts": {"best_layers": [make_checked_layer(1)]}})
    other = make_checked_layer(0, method="cls")
    with pytest.raises(
        InputError, match="none of demo/cnn gradcam target predicted; `sightline sa"
    ):
        plan_of({"parts": {"layers": "best", "best_layers": [other]}})


def test_images_are_drawn_by_name_and_asking_for_more_keeps_them(whole: Plan) -> None:
    images = {
        name: [image for chunk in chunks for image in chunk.images]
        for name, chunks in whole.checked.items()
    }
    assert {name: len(some) for name, some in images.items()} == {
        "randomisation": 4,
        "faithfulness": 6,
        "parts": 5,
    }
    every = images["faithfulness"]
    assert sorted(every) == [card.image for card in whole.cards.cards]
    assert every != sorted(every)
    assert images["randomisation"] == every[:4]
    assert images["parts"] == every[:5]


def test_tasks_of_checks_come_after_those_of_maps(whole: Plan) -> None:
    kinds = [whole.sources[task.source].kind for task in whole.tasks]
    assert kinds == sorted(kinds, key=lambda kind: kind == "check")
    assert len({task.name for task in whole.tasks}) == len(whole.tasks)


def test_baselines_stand_beside_whatever_is_asked_for() -> None:
    plan = plan_of({"faithfulness": {"methods": ["gradcam"]}}, methods=["gradcam", "smooth_random"])
    methods = [one.method for one in checks_of(plan)]
    assert methods == ["gradcam", *BASELINES]
    assert {one.group for one in checks_of(plan)} == {"cam", "baseline"}
    assert checks_of(plan)[0].options == {"measures": list(MEASURES), "steps": 20}


def test_maps_that_explain_nothing_are_measured_by_every_target() -> None:
    plan = plan_of(["faithfulness"], targets=["predicted", "label"])
    targets = Counter((one.method, one.target) for one in checks_of(plan))
    assert set(targets.values()) == {1}
    assert {target for method, target in targets if method == "gradcam"} == {"predicted", "label"}
    for name in BASELINES:
        assert {target for method, target in targets if method == name} == {"", "label"}


def test_maps_of_a_model_without_classes_are_measured_once() -> None:
    """Its embedding is what "" stands for: no work is done under both names."""
    dino: dict[str, Any] = {"models": ["demo/vit-dino"], "layers": -1, "targets": ["embedding"]}
    both = checks_of(plan_of(["faithfulness"], methods=["saliency", "cls"], **dino))
    found = Counter((one.method, one.target) for one in both)
    assert found == Counter((name, "embedding") for name in ("saliency", "cls", *BASELINES))
    blind = checks_of(plan_of(["faithfulness"], methods=["cls"], **dino))
    assert {one.target for one in blind} == {""}


def test_another_training_is_a_reference() -> None:
    plan = plan_of(
        {"randomisation": {"ways": "full", "seeds": 1}}, models=["demo/vit"], methods=["cls"]
    )
    (reference,) = (one for one in checks_of(plan) if one.check == "reference")
    digest = SHELF.model("demo/vit@seed2", "squash").digest
    assert reference.options["training"] == {"seed2": ["demo/vit@seed2", digest]}
    assert "drawn 1 times" in plan.notes[0]


def test_a_training_on_other_classes_is_no_reference() -> None:
    class Other:
        def model(self, name: str, fit: str) -> Any:
            known = ("b", "a") if name.endswith("seed2") else ("a", "b", *(name == "m@seed3") * "c")
            return SimpleNamespace(classes=known, digest=name)

    names = ("m", "m@seed2", "m@seed3", "m@tuned")
    study: Any = SimpleNamespace(models=[SimpleNamespace(full=name) for name in names])
    source: Any = SimpleNamespace(load="m", fit="squash")
    shelf: Any = Other()
    found = runner_checking._other_trainings(study, source, shelf)
    assert found == {"seed2": ["m@seed2", "m@seed2"]}


def test_what_decides_the_key_of_a_check(whole: Plan) -> None:
    def keys(plan: Plan) -> dict[tuple[str, str], str]:
        return {(one.method, one.check): one.key for one in checks_of(plan)}

    before = keys(whole)
    # Neither how maps are scored nor other checks change what a check finds.
    same = keys(plan_of(["faithfulness", "parts"], metrics=["iou"], percentiles=[90], layers=[2]))
    assert same.items() <= before.items()
    more = keys(plan_of({"randomisation": {"images": 5, "seeds": 6}}))
    changed = {check for (method, check), key in more.items() if before.get((method, check)) != key}
    # Partners of images follow the others that there are.
    new = {"reference", "randomisation/full/5", "randomisation/top-down/5"}
    assert changed == new
    steps = keys(plan_of({"faithfulness": {"steps": 4}}))
    assert all(before[name] != key for name, key in steps.items())


def test_images_that_cannot_be_read_are_left_out_of_checks(whole: Plan) -> None:
    gone = whole.checked["parts"][0].images[0]
    plan = whole.without({gone: "it is gone"})
    assert all(gone not in c.images for some in plan.checked.values() for c in some)
    assert len(plan.checked["parts"][0].images) == 4


def test_images_that_are_left_must_be_two(whole: Plan) -> None:
    images = [image for chunk in whole.checked["parts"] for image in chunk.images]
    gone = dict.fromkeys(images[1:], "gone")
    with pytest.raises(InputError, match="checks: randomisation needs 2 images or more"):
        whole.without(gone)


def test_maps_that_no_model_makes_are_left_out_and_named(tmp_path: Path) -> None:
    np.save(tmp_path / "facade-00000.npy", np.ones((4, 4), np.float32))
    given = {"name": "mine", "params": {"maps": str(tmp_path)}}
    plan = plan_of({"parts": {}}, methods=["gradcam", "mean_map", given])
    assert {one.method for one in checks_of(plan)} == {"gradcam", *BASELINES}
    assert [(one.model, one.method) for one in plan.left_out] == [
        ("demo/cnn", "parts of mean_map"), ("maps", "parts of mine"),
    ]  # fmt: skip
    with pytest.raises(InputError, match=r"parts fits no maps of the study .demo/cnn: it is made"):
        plan_of({"parts": {"methods": "mean_map"}}, methods=["gradcam", "mean_map"])


def test_a_check_that_takes_fewer_images_at_once_leaves_maps_alone(whole: Plan) -> None:
    small = whole.with_batch("checking demo/cnn", 2)
    for old, new in zip(whole.sources, small.sources, strict=True):
        if old.kind == "check":
            assert (new.batch, new.rules != old.rules, new.key != old.key) == (2, True, True)
        else:
            assert new == old
    every = small.with_batch("demo/cnn", 3)  # the model: its checks have no more than it
    assert {one.batch for one in checks_of(every)} == {2}
    assert {one.batch for one in every.sources} == {2, 3}


def test_checks_compute_on_one_thread(whole: Plan) -> None:
    import torch

    usual = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        with planned_threads(replace(whole, sources=tuple(checks_of(whole)))):
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(usual)


def test_a_single_image_cannot_be_checked() -> None:
    with pytest.raises(
        InputError, match="checks: parts needs 2 images or more that can be read, got 1"
    ):
        plan_of(["parts"], data={"name": "facades", "count": 1})


def test_a_check_that_fits_nothing_says_why() -> None:
    with pytest.raises(InputError, match=r"checks: parts fits no maps.*needs a classifier"):
        plan_of(["parts"], models=["demo/vit-dino"], methods=["cls"], layers=-1)


@pytest.mark.parametrize("seed", range(7))
def test_partners_are_others_of_another_class(seed: int) -> None:
    images = [f"{n}" for n in range(6)]
    labels = {image: ["a"] if int(image) < 4 else ["b"] for image in images}
    found = partners_of(images, labels, seed)
    assert all(labels[one] != labels[other] for one, other in zip(images, found, strict=True))
    alone = partners_of(images, {image: ["a"] for image in images}, seed)
    assert all(one != other for one, other in zip(images, alone, strict=True))
    assert alone == partners_of(images, {}, seed)


def test_partners_differ_from_seed_to_seed() -> None:
    images = [f"{n}" for n in range(6)]
    found = [partners_of(images, {}, seed) for seed in range(5)]
    for place in range(6):
        assert len({some[place] for some in found}) == 5


def test_a_check_has_one_row_for_each_map_and_stage(whole: Plan) -> None:
    source = next(one for one in checks_of(whole) if one.check == "parts")
    rows = [
        Row("a.png", 2, "parts", "parts_ap", "", 0.5),
        Row("a.png", 2, "parts", "parts_base", "", 0.25),
        Row("b.png", None, "faithfulness", "deletion_curve", "0.00", 1.0),
        Row("b.png", None, "faithfulness", "deletion_curve", "0.50", float("nan")),
        Row("b.png", None, "faithfulness", "deletion", "", float("nan")),
        Row("b.png", 1, "randomisation/top-down/3/02-head", "ssim", "", 0.75),
    ]
    table = build_checks_table(source, rows)
    keys = {
        "image": "a.png", "model": "demo/cnn", "variant": "", "method": "gradcam",
        "target": "predicted", "layer": 2, "head": None, "seed": None, "rules": source.rules,
        "check": "parts", "order": "", "draw": None, "stage_index": None, "stage": "",
    }  # fmt: skip
    empty = dict.fromkeys((*STORED_MEASURES, "curve_fractions", *STORED_CURVES))
    assert table.column_names == [*keys, *empty]
    parts, faithfulness, randomisation = table.to_pylist()
    assert parts == {**keys, **empty, "parts_ap": 0.5, "parts_base": 0.25}
    assert np.isnan([faithfulness.pop("deletion"), faithfulness["deletion_curve"].pop()]).all()
    assert faithfulness == {
        **{name: value for name, value in (keys | empty).items() if name != "deletion"},
        "image": "b.png", "layer": None, "check": "faithfulness",
        "curve_fractions": [0.0, 0.5], "deletion_curve": [1.0],
    }  # fmt: skip
    stage = {"check": "randomisation", "order": "top-down", "draw": 3}
    stage |= {"stage_index": 2, "stage": "head", "image": "b.png", "layer": 1}
    assert randomisation == {**keys, **empty, **stage, "ssim": 0.75}
    none = build_checks_table(source, [])
    assert (none.num_rows, none.schema) == (0, table.schema)


def test_curves_of_one_map_have_the_same_fractions(whole: Plan) -> None:
    (source, *_) = checks_of(whole)
    rows = [
        Row("a.png", 2, "faithfulness", f"{curve}_curve", fraction, 0.5)
        for curve, fraction in (("deletion", "0.50"), ("insertion", "0.25"))
    ]
    with pytest.raises(ValueError, match="curves of one map must have the same fractions"):
        build_checks_table(source, rows)


def test_a_worker_gives_checks_what_they_need(
    whole: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[Job, list[str], dict[int, list[str]]]] = []

    def note(job: Job, samples: Any, partners: Any) -> list[Row]:
        ids = [one.image_id for one in samples]
        seen.append((job, ids, {k: [one.image_id for one in v] for k, v in partners.items()}))
        return []

    monkeypatch.setattr(runner_checking, "check_rows", note)
    worker = Worker(whole, Store(tmp_path), SHELF)
    for wanted in ("reference", "randomisation/full/1", "faithfulness"):
        task = next(
            Task("t", s, 0) for s, one in enumerate(whole.sources) if one.check == wanted
        )  # fmt: skip
        worker.make(task, worker.read(task))
    (reference, images, partners), (full, *_), (removal, *_) = seen
    assert [job.check for job, *_ in seen] == ["reference", "randomisation/full/1", "faithfulness"]
    assert images == list(whole.checked["randomisation"][0].images)
    assert sorted(partners) == [0, 1, 2, 3, 4]
    labels = {card.image: card.line["labels"] for card in whole.cards.cards}
    assert partners[1] == partners_of(images, labels, 1)
    assert reference.options == {"seeds": 5, "training": {}}
    assert (full.model.name, full.method, full.layers, full.target) == (
        "demo/cnn", "gradcam", (2,), "predicted",
    )  # fmt: skip
    assert (full.batch, seen[1][2], removal.options["steps"]) == (4, {}, 20)


def test_what_checks_will_take_is_tried_once_for_all_draws(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def count(job: Job, samples: Any, partners: Any) -> list[Row]:
        asked.append(job.check)
        return [Row(one.image_id, 2, job.check, "spearman", "", 1.0) for one in samples] * 3

    monkeypatch.setattr(runner_checking, "check_rows", count)
    plan = plan_of({"randomisation": {"methods": "gradcam", "ways": ["full"], "images": 4}})
    found = [one for one in expect(plan, Store(tmp_path), SHELF) if one.source.kind == "check"]
    assert asked == ["reference", "randomisation/full/0"]
    assert [one.rows for one in found] == [12] * 6
    first = plan.checked["randomisation"][0]
    rest = {"randomisation": (Chunk((), "all skipped"), first)}
    expect(replace(plan, checked=rest), Store(tmp_path), SHELF)
    assert len(asked) == 4
    store = Store(tmp_path)
    store.checks.mkdir()
    for task in plan.tasks:
        store.check_file(task.name).write_bytes(b"PAR1 cut off")
    found = [one for one in expect(plan, store, SHELF) if one.source.kind == "check"]
    assert [one.stored for one in found] == [0] * 6
    assert all((one.maps, one.tasks, one.stored) == (0, 1, 0) for one in found)
