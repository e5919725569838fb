"""The golden run: every answer of the product about two small studies, compared with stored ones.

`python -m tests.golden` writes the answers again; the commit that does so says why.
"""

from __future__ import annotations

import inspect
import json
from typing import TYPE_CHECKING, Any

import pytest
from typer.main import get_command

from sightline.api.app import openapi_schema
from sightline.cli import app
from sightline.results import Results
from tests.golden import questions
from tests.golden.answers import compare_answers, list_answers, mask_answer, read_answer
from tests.golden.recording import MACHINE, MAPS, Recording, describe_machine
from tests.golden.runs import make_runs
from tests.loaded import loaded_once

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


EXACT = json.loads(MACHINE.read_text()) == describe_machine()
REGENERATE = "python -m tests.golden writes the answers again"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("golden")


@pytest.fixture(scope="module")
def recording() -> Recording:
    return Recording(MAPS, exact=EXACT, write=False)


@pytest.fixture(scope="module")
def asker(folder: Path, recording: Recording) -> Iterator[questions.Asker]:
    with loaded_once():
        made = questions.Asker(make_runs(folder, recording), folder / "out")
        yield made
        made.close()


@pytest.mark.filterwarnings("ignore:MSE rewards dark maps")
def test_answers_are_the_stored_ones(asker: questions.Asker, folder: Path) -> None:
    stored = list_answers()
    changed, asked = {}, set()
    for question in asker.questions():
        asked.add(question.name)
        assert question.name in stored, f"{question.name} has no stored answer; {REGENERATE}"
        answer = mask_answer(question.ask(), [folder])
        exact = EXACT or not question.network
        if diff := compare_answers(read_answer(stored[question.name]), answer, exact=exact):
            changed[question.name] = diff
    text = "\n\n".join(f"{name}\n{diff}" for name, diff in changed.items())
    assert not changed, f"{len(changed)} answers changed; {REGENERATE}\n{text}"
    assert asked == stored.keys(), "a stored answer has no question"


def test_all_recorded_maps_are_used(asker: questions.Asker, recording: Recording) -> None:
    assert recording.used == recording.maps.keys()


def test_every_table_is_asked_for() -> None:
    public = {name for name, _ in inspect.getmembers(Results) if not name.startswith("_")}
    assert public | {"path"} == questions.TABLES.keys() | questions.NO_TABLES


def test_every_route_is_asked_for() -> None:
    paths = {path for path, methods in openapi_schema()["paths"].items() if "get" in methods}
    assert paths == questions.ROUTES.keys()


def test_every_command_with_json_is_asked() -> None:
    found = {name for name, command in _walk(get_command(app)) if _has_json(command)}
    assert found == questions.COMMANDS.keys()


def _walk(command: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    for key, inner in getattr(command, "commands", {}).items():
        yield from _walk(inner, f"{name} {key}".strip())
    if not hasattr(command, "commands"):
        yield name, command


def _has_json(command: Any) -> bool:
    return any("--json" in parameter.opts for parameter in command.params)


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("a 0.25 b", "a 0.25001 b", True),
        ("a 0.25 b", "a 0.2612 b", False),
        ("drop 0.123", "drop 0.124", True),
        ("drop 0.123", "drop 0.126", False),
        ("n 3", "n 5", False),
        ("a 0.25", "b 0.25", False),
        ("1\n2", "1", False),
    ],
)
def test_inexact_answers_differ_in_last_digits_alone(old: str, new: str, same: bool) -> None:
    assert (compare_answers(old, new, exact=False) == "") == same
    assert compare_answers(old, new, exact=True)
