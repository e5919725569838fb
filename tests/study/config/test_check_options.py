"""The section `checks`: what may be written, and what is read from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from sightline.attribution.sanity.table import CHECKS
from sightline.core import InputError
from sightline.study import Study
from sightline.study.config.check_options import FaithfulnessCheck, PartsCheck, RandomisationCheck
from sightline.study.config.files import parse_study, to_yaml

if TYPE_CHECKING:
    from pathlib import Path

LEAST: dict[str, Any] = {"name": "a", "data": "facades", "models": "demo/vit", "methods": ["cls"]}


def study(**keys: Any) -> Study:
    return Study.from_dict({**LEAST, **keys})


def test_the_words_of_the_section_are_those_of_the_table() -> None:
    assert set(study(checks=list(CHECKS)).to_dict()["checks"]) == set(CHECKS)


def test_options_have_the_defaults_of_the_table() -> None:
    found = study(checks=list(CHECKS)).checks
    for name, check in found.asked():
        for option, value in CHECKS[name].options.items():
            assert getattr(check, option) == value


@pytest.mark.parametrize("checks", [None, [], {}, ()])
def test_nothing_is_asked_for_unless_it_is_named(checks: Any) -> None:
    found = study(checks=checks)
    assert found == study()
    assert not found.checks
    assert found.to_dict()["checks"] == {}


def test_a_name_a_list_and_a_mapping_ask_for_the_same() -> None:
    one = study(checks="randomisation")
    assert one.checks.randomisation == RandomisationCheck()
    assert study(checks=["randomisation"]) == study(checks={"randomisation": {}}) == one


def test_single_values_need_no_list() -> None:
    asked = {"ways": "single", "methods": "cls", "models": "demo/vit", "layers": -1}
    found = study(checks={"randomisation": asked}).checks.randomisation
    assert found is not None
    assert (found.ways, found.methods, found.models) == (("single",), ("cls",), ("demo/vit",))
    assert found.layers == (-1,)


def test_what_was_not_asked_for_is_not_written() -> None:
    asked = study(checks={"faithfulness": {"measures": "deletion"}})
    assert asked.checks.faithfulness == FaithfulnessCheck(measures=("deletion",))
    text = to_yaml(asked)
    assert "randomisation" not in text
    assert parse_study(text) == asked


def test_models_in_folders_are_found_from_the_folder_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "vit").mkdir()
    text = """
name: a
data: facades
models: [hf:vit]
methods: [cls]
checks: {parts: {models: [hf:vit]}}
"""
    found = parse_study(text, "f.yml", tmp_path)
    assert found.checks.parts is not None
    assert found.checks.parts.models == (found.models[0].full,) == (f"hf:{tmp_path / 'vit'}",)


@pytest.mark.parametrize(
    ("layers", "read"),
    [("last", "last"), (None, "last"), ("all", "all"), (-1, (-1,)), ([0, 2], (0, 2))],
)
def test_layers_are_words_or_numbers(layers: Any, read: Any) -> None:
    found = study(checks={"parts": {"layers": layers}})
    assert found.checks.parts is not None
    assert found.checks.parts.layers == read
    assert parse_study(to_yaml(found)) == found
    assert study(checks=["parts"]).checks.parts == PartsCheck(layers="last")


def test_best_layers_are_not_known_before_the_run() -> None:
    with pytest.raises(
        InputError,
        match=r"checks\.parts\.layers: best is chosen by scores, which a study has only after its "
        r"run: .*`sightline sanity RUN` checks the best layers",
    ):
        study(checks={"parts": {"layers": "best"}})
    with pytest.raises(InputError, match=r"layers: expected 'last', 'all', or numbers of layers"):
        study(checks={"parts": {"layers": "first"}})


def test_best_layers_that_a_run_has_chosen_are_kept_with_it() -> None:
    entry = {"model": "demo/vit", "method": "cls", "layer": 9}
    found = study(checks={"parts": {"layers": "best", "best_layers": [entry]}})
    assert parse_study(to_yaml(found)) == found
    parts = found.checks.parts
    assert parts is not None
    assert parts.select_best_layers("demo/vit", "cls", "") == (9,)
    assert parts.select_best_layers("demo/vit", "cls", "label") == (9,)  # which explains no class
    assert parts.select_best_layers("demo/vit", "rollout", "") == ()
    with pytest.raises(InputError, match="unknown key 'layers'; did you mean 'layer'"):
        study(checks={"parts": {"best_layers": [{**entry, "layers": 9}]}})
    with pytest.raises(InputError, match="is there twice"):
        study(checks={"parts": {"best_layers": [entry, entry]}})


def test_checks_need_a_model() -> None:
    given = {"name": "mine", "params": {"maps": "maps"}}
    with pytest.raises(InputError, match=r"checks\.randomisation: checks run a model again"):
        study(models=[], methods=[given], checks=["randomisation"])


@pytest.mark.parametrize(
    ("checks", "said"),
    [
        ({"randomisation": None}, r"checks\.randomisation: expected a mapping.*got nothing"),
        ({"randomization": None}, r"unknown key 'randomization'; did you mean 'randomisation'"),
        ({"faithfulness": {"steps": 101}}, r"steps: expected 100 or less, got 101"),
    ],
)
def test_what_does_not_fit_is_named(checks: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        study(checks=checks)
