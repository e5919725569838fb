"""Studies to start from."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, get_args

import pytest
import yaml

from sightline.attribution.methods import METHODS
from sightline.core import InputError
from sightline.models import MODELS
from sightline.study import Data, Engine, Study, demo_study, load_study, new_study
from sightline.study.config.template import Kind

if TYPE_CHECKING:
    from pathlib import Path

KINDS: tuple[Any, ...] = get_args(Kind)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_loads(tmp_path: Path, kind: Any) -> None:
    text = new_study("first.one", kind=kind)
    (tmp_path / "a.yml").write_text(text, "utf-8")
    found = load_study(tmp_path / "a.yml")
    assert found.name == "first.one"
    assert found.data.name == ("facades" if kind == "facades" else "folder")
    assert bool(found.models) == (kind != "maps")
    assert [method.given for method in found.methods] == (
        [True] if kind == "maps" else [False] * len(found.methods)
    )
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize("kind", KINDS)
def test_every_key_is_shown_with_a_note(kind: Any) -> None:
    lines = new_study(kind=kind).splitlines()
    for key in Study.model_fields:
        (place,) = [n for n, line in enumerate(lines) if re.match(rf"(# )?{key}:", line)]
        assert lines[place - 1].startswith("# "), key
    keys = set(Data.model_fields) - ({"path"} if kind == "facades" else set())
    for key in keys:
        assert any(re.match(rf"  (# )?{key}:", line) for line in lines), key
    assert all(key in lines[-1] for key in Engine.model_fields)


@pytest.mark.parametrize("kind", KINDS)
def test_keys_behind_a_mark_have_their_defaults(kind: Any) -> None:
    text = new_study(kind=kind)
    plain = "\n".join(Study.model_fields)
    shown = re.sub(rf"^# (?=({'|'.join(plain.split())}):)", "", text, flags=re.MULTILINE)
    shown = re.sub(r"^  # (?=(count|split|seed|labelling): null)", "  ", shown, flags=re.MULTILINE)
    assert len(yaml.safe_load(shown)) == len(Study.model_fields)
    found, without = yaml.safe_load(shown), yaml.safe_load(text)
    if kind == "maps":  # there, models is an example
        found["models"] = []
    assert Study.from_dict(found) == Study.from_dict(without)
    assert shown != text


def test_names_in_the_templates_are_known() -> None:
    for kind in KINDS:
        found = Study.from_dict(yaml.safe_load(new_study(kind=kind)))
        assert {method.name for method in found.methods if not method.given} <= set(METHODS)
        demos = {entry.full for entry in found.models if entry.full.startswith("demo/")}
        assert demos <= set(MODELS)
    assert METHODS["rollout"].with_defaults({"discard": 0.5})  # as an example in the notes has it


def test_values_given_are_set() -> None:
    text = new_study(
        "b", kind="folder", data="coco", path="no: such # place", models=["hf:a/b@c", "demo/vit"]
    )
    found = Study.from_dict(yaml.safe_load(text))
    assert (found.name, found.data.name, found.data.path) == ("b", "coco", "no: such # place")
    assert [entry.full for entry in found.models] == ["hf:a/b@c", "demo/vit"]
    found = Study.from_dict(yaml.safe_load(new_study(kind="folder", data="photos")))
    assert (found.data.name, found.data.path) == ("photos", None)  # it needs no files
    given = Study.from_dict(yaml.safe_load(new_study(kind="maps", maps="$x\n y.npz")))
    assert given.methods[0].params["maps"] == "$x\n y.npz"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"kind": "cub"}, "kind must be one of facades, folder, maps, got 'cub'"),
        ({"name": "a b"}, "name: expected 1 to 100 of"),
        ({"path": "facades"}, "leave path out, got 'facades'"),
        (
            {"data": "coco"},
            "a study of kind 'facades' draws its images: leave data out, got 'coco'",
        ),
        ({"kind": "folder", "data": "cocoo"}, "unknown data set 'cocoo'; did you mean 'coco'"),
        ({"kind": "maps", "models": ["demo/vit"]}, "leave models out"),
        ({"kind": "folder", "maps": "x"}, "maps are for a study of kind 'maps', got 'x'"),
        ({"models": "demo/vit"}, "models must be a list of names, got the text 'demo/vit'"),
    ],
)
def test_values_that_do_not_fit(values: dict[str, Any], expected: str) -> None:
    with pytest.raises(InputError) as caught:
        new_study(**values)
    assert expected in str(caught.value)


def test_the_demo_study() -> None:
    found = demo_study()
    assert found.name == "demo"
    assert (found.data.count, found.data.seed, found.data.labelling) == (120, 7, "representative")
    assert [entry.full for entry in found.models] == [
        *("demo/vit", "demo/vit@seed2", "demo/vit-dino", "demo/cnn"),
    ]
    assert all(entry.full in MODELS for entry in found.models)
    for method in found.methods:
        METHODS[method.name].with_defaults(method.params)
    (gradients,) = [method for method in found.methods if method.models]
    assert (gradients.params, gradients.models) == ({"steps": 16}, ("demo/vit", "demo/cnn"))
    baselines = {name for name, card in METHODS.items() if card.group == "baseline"}
    assert baselines <= {method.name for method in found.methods}
    assert (found.resolution, len(found.percentiles)) == ("pixels", 8)
