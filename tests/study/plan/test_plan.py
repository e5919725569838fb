"""What decides the names of tasks and the rules of rows, and what does not."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from PIL import Image

from sightline.core import Annotation, InputError, Sample
from sightline.data.dataset import Dataset
from sightline.models import load_model
from sightline.store import task_name
from sightline.study import Data, Shelf, Study, plan_study
from sightline.study.plan.images import read_cards
from sightline.study.plan.planner import _chunk_size
from tests.study.studies import SHELF, add_maps, make_folder, plan_of, study_of

if TYPE_CHECKING:
    from pathlib import Path

    from sightline.study import Plan

METHODS = ("cls", "gradcam", "random")
ALL, NONE = frozenset(METHODS), frozenset[str]()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folder(tmp_path_factory.mktemp("data") / "f", 40)


@pytest.fixture(scope="module")
def base(folder: Path) -> Plan:
    return plan_of(folder, data={"count": 20})


def names(plan: Plan) -> dict[tuple[str, int], str]:
    found = {(plan.sources[task.source].method, task.chunk): task.name for task in plan.tasks}
    assert len(found) == len(plan.tasks)
    return found


def rules(plan: Plan) -> dict[str, str]:
    return {source.method: source.rules for source in plan.sources}


def moved(before: Plan, after: Plan) -> set[str]:
    """The methods whose tasks got other names: all of them, or none."""
    old, new = names(before), names(after)
    assert set(old) == set(new)
    changed = {key for key in old if old[key] != new[key]}
    methods = {method for method, _ in changed}
    assert changed == {key for key in old if key[0] in methods}
    return methods


def test_a_task_is_a_source_on_a_chunk(base: Plan) -> None:
    assert [len(chunk.images) for chunk in base.chunks] == [16, 4]
    assert [image for chunk in base.chunks for image in chunk.images] == [
        f"{number:03}.png" for number in range(20)
    ]
    for task in base.tasks:
        key, chunk = base.sources[task.source].key, base.chunks[task.chunk]
        assert task.name == task_name(key, task.chunk, chunk.digest)
        assert base.size(task) == base.sources[task.source].maps_per_image * len(chunk.images)
    assert len({task.name for task in base.tasks}) == 6
    assert base.images == 20


def test_the_same_study_has_the_same_plan(folder: Path, base: Plan) -> None:
    again = plan_of(folder, data={"count": 20})
    assert again.sources == base.sources
    assert again.chunks == base.chunks
    assert again.data_digest == base.data_digest
    assert all(len(source.rules) == 8 for source in base.sources)


# A change, the methods whose tasks get other names, and those whose rows get other rules.
CHANGES: list[tuple[dict[str, Any], frozenset[str], frozenset[str]]] = [
    ({"metrics": ["coverage", "iou"]}, ALL, NONE),
    ({"percentiles": [90, 60]}, ALL, NONE),
    ({"selection": ["percentile", "mean"]}, ALL, NONE),
    ({"regions": False}, ALL, NONE),
    ({"name": "second"}, ALL, NONE),
    ({"ties": "include"}, ALL, ALL),
    ({"sign": "absolute"}, ALL, ALL),
    ({"fit": "crop"}, ALL, ALL),
    ({"models": [{"model": "demo/vit", "fit": "letterbox"}]}, ALL, ALL),
    ({"resolution": "pixels"}, ALL, ALL),
    ({"resolution": 50}, ALL, ALL),
    ({"batch": 2}, ALL, ALL),
    ({"models": ["demo/vit@seed2"]}, ALL, ALL),
    ({"layers": [0]}, frozenset({"cls", "gradcam"}), NONE),
    ({"layers": [0, 11]}, NONE, NONE),
    ({"layers": "all"}, frozenset({"cls", "gradcam"}), NONE),
    ({"heads": "all"}, frozenset({"cls"}), NONE),
    ({"heads": [1]}, frozenset({"cls"}), NONE),
    ({"seeds": [1]}, frozenset({"random"}), NONE),
    ({"targets": ["label"]}, frozenset({"gradcam"}), NONE),
    ({"targets": ["Gothic"]}, frozenset({"gradcam"}), NONE),
    ({"engine": {"workers": 7}}, NONE, NONE),
    ({"keep_maps": "none"}, NONE, NONE),
    ({"fit": "squash", "resolution": "grid", "ties": "share"}, NONE, NONE),
    ({"models": [{"model": "demo/vit", "fit": "squash"}]}, NONE, NONE),
]


@pytest.mark.parametrize("case", CHANGES, ids=lambda case: json.dumps(case[0])[:50])
def test_names_and_rules_follow_the_settings(
    folder: Path, base: Plan, case: tuple[dict[str, Any], frozenset[str], frozenset[str]]
) -> None:
    changes, other_names, other_rules = case
    plan = plan_of(folder, data={"count": 20}, **changes)
    assert moved(base, plan) == other_names
    old, new = rules(base), rules(plan)
    assert {method for method in old if old[method] != new[method]} == other_rules


def test_no_two_settings_share_a_name(folder: Path, base: Plan) -> None:
    """Whatever changes, a name stands for one thing."""
    seen = Counter(names(base).values())
    for changes, other, _ in CHANGES:
        if other:
            plan = plan_of(folder, data={"count": 20}, **changes)
            seen.update(name for (method, _), name in names(plan).items() if method in other)
    assert set(seen.values()) == {1}


def test_a_parameter_changes_its_method_alone(folder: Path) -> None:
    plans = [
        plan_of(folder, methods=["cls", {"name": "smooth_random", "params": params}])
        for params in ({}, {"sigma": 0.125}, {"sigma": 0.2})
    ]
    assert moved(plans[0], plans[1]) == set()  # it says what is usual
    assert moved(plans[0], plans[2]) == {"smooth_random"}
    assert rules(plans[0]) == rules(plans[2])


def test_more_models_and_methods_keep_what_is_there(folder: Path, base: Plan) -> None:
    more = plan_of(
        folder,
        data={"count": 20},
        models=["demo/cnn", "demo/vit"],
        methods=["random", "centre", "gradcam", "cls", "mean_map"],
    )
    assert {task.name for task in base.tasks} < {task.name for task in more.tasks}


def test_more_images_keep_full_chunks(folder: Path, base: Plan) -> None:
    more = plan_of(folder, data={"count": 36})
    assert [len(chunk.images) for chunk in more.chunks] == [16, 16, 4]
    old, new = names(base), names(more)
    assert rules(base) == rules(more)
    for method in METHODS:
        assert new[method, 0] == old[method, 0]
        assert new[method, 1] != old[method, 1]
    every = plan_of(folder)
    assert every.images == 40
    assert names(every)["cls", 1] == new["cls", 1]
    assert plan_of(folder, data={"count": 99}).chunks == every.chunks


def test_more_images_change_every_mean(folder: Path) -> None:
    plans = [
        plan_of(folder, data={"count": count}, methods=["cls", "mean_map"]) for count in (32, 36)
    ]
    old, new = (names(plan) for plan in plans)
    assert all(new["cls", chunk] == old["cls", chunk] for chunk in (0, 1))
    assert all(new["mean_map", chunk] != old["mean_map", chunk] for chunk in (0, 1))


def test_a_split_is_other_data(folder: Path) -> None:
    plans = [plan_of(folder, data={"split": split}) for split in ("train", "test")]
    assert plans[0].chunks[0].images[:2] == ("000.png", "002.png")
    assert moved(*plans) == ALL
    assert plans[0].cards.cards[0].line["split"] == "train"


def facades(**data: Any) -> Plan:
    given: dict[str, Any] = {
        "name": "first",
        "data": {"name": "facades", "count": 18, **data},
        "models": ["demo/vit"],
        "methods": ["cls"],
        "layers": [0],
        "batch": 4,
    }
    return plan_study(Study(**given), shelf=SHELF)


def test_drawn_data_follow_seed_and_labelling() -> None:
    plain = facades()
    assert names(facades(seed=0)) == names(plain)
    assert names(facades(labelling="exhaustive")) == names(plain)
    for data in ({"seed": 1}, {"labelling": "representative"}, {"labelling": "salient"}):
        other = facades(**data)
        assert moved(plain, other) == {"cls"}
        assert rules(plain) != rules(other)
    more = facades(count=20)
    assert names(more)["cls", 0] == names(plain)["cls", 0]
    assert names(more)["cls", 1] != names(plain)["cls", 1]


def test_the_bytes_of_an_image_decide_its_chunk(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "f", 18)
    before = plan_of(folder, methods=["cls", "mean_map"])
    Image.fromarray(np.zeros((24, 30, 3), np.uint8)).save(folder / "017.png")
    after = plan_of(folder, methods=["cls", "mean_map"])
    old, new = names(before), names(after)
    assert {key for key in old if old[key] != new[key]} == {
        ("cls", 1),
        ("mean_map", 0),
        ("mean_map", 1),
    }
    assert rules(before) == rules(after)
    assert before.data_digest != after.data_digest


def test_an_annotation_changes_the_rules_of_all(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "f", 18)
    before = plan_of(folder)
    file = folder / "annotations.json"
    content = json.loads(file.read_text())
    content["images"][17]["regions"][0]["box"][0] += 1
    file.write_text(json.dumps(content))
    after = plan_of(folder)
    assert moved(before, after) == ALL
    assert not set(rules(before).values()) & set(rules(after).values())
    content["images"][17]["labels"] = ["Baroque", "Gothic"]
    file.write_text(json.dumps(content))
    assert moved(after, plan_of(folder)) == ALL


def test_an_annotation_that_is_not_used_counts_too(tmp_path: Path) -> None:
    """Rows of fewer images are comparable with those of more only where all is the same."""
    folder = make_folder(tmp_path / "f", 18)
    before = plan_of(folder, data={"count": 4})
    file = folder / "annotations.json"
    content = json.loads(file.read_text())
    content["images"][17]["regions"][0]["label"] = "window"
    file.write_text(json.dumps(content))
    assert moved(before, plan_of(folder, data={"count": 4})) == ALL


def test_weights_change_the_rules(folder: Path, base: Plan) -> None:
    model = load_model("demo/vit")
    with torch.no_grad():
        next(iter(model.network.parameters())).view(-1)[0] += 1e-3
    shelf = Shelf()
    shelf._models["demo/vit"] = model
    other = plan_study(study_of(folder, data={"count": 20}), shelf=shelf)
    assert moved(base, other) == ALL
    assert all(rules(base)[method] != rules(other)[method] for method in METHODS)


def given_plan(folder: Path, maps: Path, **changes: Any) -> Plan:
    methods = [{"name": "mine", "params": {"maps": str(maps), **changes.pop("params", {})}}]
    return plan_of(folder, **{"models": [], "methods": methods, "batch": None, **changes})


def test_maps_made_elsewhere_need_no_batch(folder: Path, tmp_path: Path) -> None:
    maps = add_maps(tmp_path / "m", range(40))
    plain = given_plan(folder, maps)
    assert [len(chunk.images) for chunk in plain.chunks] == [40]
    for batch in (1, 7, 64):
        other = given_plan(folder, maps, batch=batch)
        assert other.sources == plain.sources  # keys and rules with them
    # Beside a model, whose batch is no larger than a chunk, its tasks stay too.
    own = {"name": "mine", "params": {"maps": str(maps)}}
    beside = [plan_of(folder, methods=["cls", own], batch=batch) for batch in (2, 16)]
    assert moved(*beside) == {"cls"}
    assert rules(beside[0])["mine"] == rules(beside[1])["mine"] == rules(plain)["mine"]


def test_a_large_batch_makes_large_chunks(folder: Path) -> None:
    assert [len(c.images) for c in plan_of(folder, batch=20).chunks] == [20, 20]
    assert [len(c.images) for c in plan_of(folder, batch=3).chunks] == [16, 16, 8]


@pytest.mark.parametrize("size", [(1000, 900), (None, None)])
def test_tasks_on_a_device_are_as_large_as_memory_allows(
    tmp_path: Path, size: tuple[int | None, int | None]
) -> None:
    """WikiChurches, YOLO and tables tell no sizes: the headers of the files do."""
    Image.new("RGB", (1000, 900)).save(tmp_path / "a.png")
    annotation = Annotation("a", width=size[0], height=size[1])
    samples = {"a": Sample("a", annotation, path=tmp_path / "a.png")}
    data = Dataset("yolo", {"a": ""}, samples.__getitem__, root=tmp_path)
    cards = read_cards(data, Data(name="yolo", path="x"), pixels=True, progress=lambda *_: None)
    study = study_of(tmp_path, batch=None)
    assert _chunk_size(study, "cuda", data, cards) == (1 << 29) // (3 * 1000 * 900)
    (tmp_path / "a.png").write_bytes(b"torn")
    assert size == (1000, 900) or _chunk_size(study, "cuda", data, cards) == 256


def test_maps_made_elsewhere_count_by_their_values(folder: Path, tmp_path: Path) -> None:
    maps = add_maps(tmp_path / "m", range(40))
    plain = given_plan(folder, maps)
    values = np.load(maps / "003.npy")
    np.save(maps / "003.npy", values * 2)
    other = given_plan(folder, maps)
    assert moved(plain, other) == {"mine"}
    assert rules(plain) != rules(other)
    np.save(maps / "003.npy", values)
    moved_maps = maps.rename(tmp_path / "elsewhere")  # where they lie changes nothing
    assert given_plan(folder, moved_maps).sources[0].key == plain.sources[0].key


# Order of tasks


def test_the_first_chunk_is_taken_alone_and_the_others_in_waves(base: Plan) -> None:
    chunks = tuple(replace(base.chunks[0], digest=str(number)) for number in range(19))
    tasks = [(task.source, task.chunk) for task in replace(base, chunks=chunks).tasks]
    expected = [(source, 0) for source in range(3)]
    for wave in (range(1, 9), range(9, 17), range(17, 19)):
        expected += [(source, chunk) for source in range(3) for chunk in wave]
    assert tasks == expected
    assert [(t.source, t.chunk) for t in replace(base, chunks=chunks[:1]).tasks] == expected[:3]


# Changes of a plan


def test_a_plan_without_images(folder: Path, base: Plan) -> None:
    fewer = base.without({"017.png": "torn", "018.png": "gone"})
    assert fewer.chunks[0] == base.chunks[0]
    assert fewer.chunks[1].images == ("016.png", "019.png")
    assert fewer.images == 18
    assert fewer.skipped == {"017.png": "torn", "018.png": "gone"}
    old, new = names(base), names(fewer)
    assert all(old[method, 0] == new[method, 0] for method in METHODS)
    assert all(old[method, 1] != new[method, 1] for method in METHODS)
    assert rules(base) == rules(fewer)
    once = base.without({"017.png": "torn"}).without({"018.png": "gone"})
    assert once.tasks == fewer.tasks
    assert once.skipped == fewer.skipped
    # An empty chunk stays, so that the numbers of the others do.
    none = base.without({f"{number:03}.png": "x" for number in range(16)})
    assert [len(chunk.images) for chunk in none.chunks] == [0, 4]
    assert names(none)["cls", 1] == old["cls", 1]
    with pytest.raises(InputError, match="no image of the study can be read"):
        base.without({f"{number:03}.png": "x" for number in range(20)})


def test_a_mean_without_an_image_is_another(folder: Path) -> None:
    plan = plan_of(folder, data={"count": 20}, methods=["cls", "mean_map"])
    fewer = plan.without({"017.png": "torn"})
    assert names(plan)["cls", 0] == names(fewer)["cls", 0]
    assert names(plan)["mean_map", 0] != names(fewer)["mean_map", 0]
    for one in (plan, fewer):
        assert one.sources[1].of == one.sources[0].key


def test_a_plan_with_a_smaller_batch(folder: Path) -> None:
    """The named model alone has new rules, and they are those of a study that asks for it."""
    maps = {"models": ["demo/vit", "demo/cnn"], "methods": ["cls", "gradcam", "mean_map"]}
    plan = plan_of(folder, data={"count": 20}, **maps)
    small = plan.with_batch("demo/vit", 2)
    asked = plan_of(folder, data={"count": 20}, **maps, batch=2)
    for old, new, other in zip(plan.sources, small.sources, asked.sources, strict=True):
        if new.model == "demo/vit":
            assert new == other
            assert new.rules != old.rules
            assert new.key != old.key
        else:
            assert new == old
    assert small.chunks == plan.chunks
    mean = next(s for s in small.sources if s.kind == "mean" and s.model == "demo/vit")
    assert mean.of == small.sources[0].key
    known = plan_study(
        study_of(folder, data={"count": 20}, **maps), shelf=SHELF, batches={"demo/vit": 2}
    )
    assert known.sources == small.sources


def test_a_plan_tells_how_far_it_is(folder: Path) -> None:
    told: list[tuple[int, int, str]] = []

    def tell(done: int, total: int, what: str) -> None:
        told.append((done, total, what))

    plan_study(study_of(folder, data={"count": 3}), shelf=SHELF, progress=tell)
    assert told[:3] == [(number, 3, "Reading images") for number in (1, 2, 3)]
    assert told[3] == (0, 1, "Loading demo/vit")


def test_signs_that_metrics_have_no_meaning_for(folder: Path, tmp_path: Path) -> None:
    """The file of maps says that they are signed, under which energy has no meaning."""
    from safetensors.numpy import save_file

    way: dict[str, Any] = {
        "geometry": {},
        "sign": "signed",
        "method": "m",
        "layer": None,
        "head": None,
    }
    entries = {"000.png": {"image": "000.png", **way}}
    text = json.dumps({"maps": entries, "upsampling": "bilinear"})
    path = tmp_path / "m.safetensors"
    save_file({"000.png": np.ones((4, 4), np.float32)}, path, {"sightline": text})
    assert given_plan(folder, path).sources[0].sign == "positive"
    with pytest.raises(InputError, match="a signed map has no energy"):
        given_plan(folder, path, sign="signed")
    with pytest.raises(InputError, match="a signed map has no energy"):
        given_plan(folder, path, params={"sign": "signed"})
    assert given_plan(folder, path, sign="signed", metrics=["iou"]).sources[0].sign == "signed"
    assert given_plan(folder, path, sign="absolute").sources[0].sign == "absolute"
    assert given_plan(folder, path, params={"sign": "positive"}).sources[0].sign == "positive"


@pytest.mark.parametrize("metrics", [("recall",), ("pointing", "lift@90", "dice")])
def test_recall_is_never_scored_alone(metrics: tuple[str, ...]) -> None:
    given: dict[str, Any] = {
        "name": "alone",
        "data": {"name": "facades", "count": 2},
        "models": ["demo/cnn"],
        "methods": ["centre"],
    }
    alone = Study(**given, metrics=metrics)  # a store of it can still be read
    place = next(k for k, name in enumerate(metrics) if name.startswith(("recall", "lift")))
    with pytest.raises(InputError, match="add iou or coverage to the metrics") as error:
        plan_study(alone, shelf=SHELF)
    assert f"metrics[{place}]: {metrics[place]} is never shown alone" in str(error.value)
    for other in ("iou@50", "coverage"):
        assert plan_study(Study(**given, metrics=(*metrics, other)), shelf=SHELF).tasks
