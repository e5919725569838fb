"""Tutorials and README: every block runs, in the order of the page, and prints what is shown."""

from __future__ import annotations

import doctest
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from sightline.cli import app
from sightline.study import load_study
from sightline.study.config.files import parse_study
from tests.loaded import loaded_once

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
PAGES = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
NOT_RUN = {
    "serve": "serves until it is stopped; tests/api runs it",
    "report": "takes a quarter of a minute; tests/report runs it",
}


README_NOT_RUN = {
    "serve ": NOT_RUN["serve"],
    "report ": NOT_RUN["report"],
    "stats ": "takes ten seconds; tests/cli/test_statistics.py runs it",
    "sparsity ": "takes four seconds; tests/cli/test_statistics.py runs it",
    "benchmark prototypes.yml ": "takes half a minute; tests/cli/test_benchmarking.py runs it",
    "demo --photos": "takes a minute; tests/cli/test_photos_demo.py runs it",
    "inspect coco ": "the data set is not there; tests/test_cli.py runs it",
}
FEWER = {
    "count: 60": "count: 3",
    "--count 60": "--count 4",
    "count=24": "count=3",
    "--count 6": "--count 2",
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


def readme_calls() -> list[str]:
    """Return what follows the program's name in the shell blocks of the README, line by line."""
    return re.findall(r"^    \.venv/bin/sightline (.*)$", README, re.MULTILINE)


def smaller(text: str) -> str:
    """Return a study or a call that asks the same of fewer images, in this process."""
    for many, few in FEWER.items():
        text = re.sub(rf"{many}\b", few, text)
    return f"run --workers 1 {text[4:]}" if text.startswith("run ") else text


def test_the_shell_blocks_of_the_readme_run(
    demo_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(demo_store, "runs/demo")
    for language, body in BLOCK.findall(README):
        if language == "yaml":
            Path(body.split()[1]).write_text(smaller(body), encoding="utf-8")
    calls = readme_calls()
    assert len(calls) > 25
    with loaded_once():
        for call in map(smaller, calls):
            words = shlex.split(call, comments=True)
            words, file = (words[:-2], words[-1]) if ">" in words else (words, "")
            check_call(words)
            if any(call.startswith(start) for start in README_NOT_RUN):
                continue
            result = CliRunner().invoke(app, words)
            assert result.exit_code == 0, f"{call}: {result.output}"
            assert result.stdout.strip(), call
            if file:
                Path(file).write_text(result.stdout, encoding="utf-8")


def test_calls_of_the_readme_that_do_not_run_are_there() -> None:
    calls = readme_calls()
    assert all(any(call.startswith(start) for call in calls) for start in README_NOT_RUN)


def test_the_first_study_of_the_readme_is_the_one_that_new_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (line,) = re.findall(r"`\.venv/bin/sightline (new first\.yml)`", README)
    assert CliRunner().invoke(app, shlex.split(line)).exit_code == 0
    (body,) = (body for _, body in BLOCK.findall(README) if body.startswith("# first.yml\n"))
    written, shown = load_study("first.yml"), parse_study(body)
    parts = ("name", "models", "methods", "resolution", "metrics", "percentiles")
    assert [getattr(written, one) for one in parts] == [getattr(shown, one) for one in parts]
    assert (written.data.name, written.data.count) == (shown.data.name, shown.data.count)
