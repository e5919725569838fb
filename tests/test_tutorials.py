"""Tutorials: every block runs, in the order of the page, and prints what is shown."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from sightline.cli import app
from tests.loaded import loaded_once

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
NOT_RUN = {
    "serve": "serves until it is stopped; tests/api runs it",
    "report": "takes a quarter of a minute; tests/report runs it",
}


def check_call(words: list[str]) -> None:
    """Fail where a command or an option is not there."""
    command: Any = typer.main.get_command(app)
    while getattr(command, "commands", None):
        command, words = command.commands[words[0]], words[1:]
    known = {option for one in command.params for option in one.opts + one.secondary_opts}
    assert {word.partition("=")[0] for word in words if word.startswith("--")} <= known


def run_command(body: str) -> None:
    """Run a command in this process, and compare what it prints."""
    line, _, expected = body.partition("\n")
    assert line.startswith("$ sightline ")
    words = shlex.split(line)[2:]
    if words[0] in NOT_RUN:
        assert not expected
        return check_call(words)
    words, file = (words[:-2], words[-1]) if ">" in words else (words, "")
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    if file:
        Path(file).write_text(result.stdout, encoding="utf-8")
        return None
    assert doctest.OutputChecker().check_output(expected, result.stdout, FLAGS), result.stdout
    return None


def run_examples(body: str, names: dict[str, Any]) -> None:
    """Run the examples of a block, with the names of those before."""
    test = doctest.DocTestParser().get_doctest(body, names, "block", None, 0)
    said: list[str] = []
    doctest.DocTestRunner(optionflags=FLAGS).run(test, out=said.append, clear_globs=False)
    names.update(test.globs)
    assert not said, "".join(said)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_gives_what_it_shows(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    with loaded_once():
        for language, body in BLOCK.findall(page.read_text("utf-8")):
            if language == "yaml":
                Path(body.split()[1]).write_text(body, encoding="utf-8")
            elif language == "console":
                run_command(body)
            else:
                assert language == "pycon"
                run_examples(body, names)


def test_commands_that_do_not_run_are_on_a_page() -> None:
    text = "".join(page.read_text("utf-8") for page in PAGES)
    assert all(f"$ sightline {name} " in text for name in NOT_RUN)


def test_the_readme_calls_commands_with_options_that_are_there() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    calls = re.findall(r"^    \.venv/bin/sightline (.*)$", readme, re.MULTILINE)
    assert len(calls) > 20
    for call in calls:
        words = shlex.split(call, comments=True)
        check_call(words[: words.index(">")] if ">" in words else words)
