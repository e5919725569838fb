"""The pages: their examples run, what they list is complete, what is generated is current."""

from __future__ import annotations

import doctest
import inspect
import re
import shlex
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import pytest
import typer
import yaml
from pydantic_core import PydanticUndefined
from typer.testing import CliRunner

import sightline
from benchmarks import attention as attention_bench
from benchmarks import data as data_bench
from benchmarks import detection as detection_bench
from benchmarks import maps as bench
from benchmarks import study as study_bench
from sightline import data, metrics, models, results, study
from sightline.attribution import methods as maps
from sightline.cli import app
from sightline.study.config.files import parse_study
from tests.loaded import loaded_once
from tests.public import packages
from tests.scripts import load_script

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = {path.relative_to(DOCS).as_posix(): path.read_text("utf-8") for path in DOCS.rglob("*.md")}
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)#:]+)(#[^)]*)?\)")
RUN_ELSEWHERE = "annotations.md"  # by test_cli.py
QUERIES = ("results.md", "sql")  # by results/test_documented_queries.py


README = (ROOT / "README.md").read_text("utf-8")
FILE = re.compile(r"# ([\w-]+\.yml)\n")


def having(language: str) -> pytest.MarkDecorator:
    """Walk the pages with a block of a language."""
    pages = [page for page, text in PAGES.items() if f"```{language}\n" in text]
    pages = [page for page in pages if not page.startswith("tutorials/")]  # test_tutorials.py
    return pytest.mark.parametrize("page", sorted(pages))


def studies(text: str) -> dict[str, str]:
    """Return the study files that a page shows, by the names in their first lines."""
    bodies = [body for language, body in BLOCK.findall(text) if language == "yaml"]
    named = [(FILE.match(body), body) for body in bodies]
    assert all(match for match, _ in named), "a study file begins with its name: # first.yml"
    return {match[1]: body for match, body in named if match}


def write_studies(text: str, folder: Path) -> None:
    """Put the study files of a page where its examples look for them."""
    for name, body in studies(text).items():
        (folder / name).write_text(body, encoding="utf-8")


def loaded_for(text: str) -> AbstractContextManager[None]:
    """Let the examples of a page share models with those of others, unless they train them."""
    return nullcontext() if "finetune" in text else loaded_once()


# --- examples ------------------------------------------------------------------------------------


@having("pycon")
def test_examples_give_what_they_show(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_studies(PAGES[page], tmp_path)
    text = re.sub(r"^```.*$", "", PAGES[page], flags=re.MULTILINE)  # a blank line ends the output
    examples = doctest.DocTestParser().get_doctest(text, {}, page, str(DOCS / page), 0)
    report: list[str] = []
    with loaded_for(PAGES[page]):
        found = doctest.DocTestRunner(optionflags=FLAGS).run(examples, out=report.append)
    assert found.attempted > 0
    assert found.failed == 0, "".join(report)


@having("console")
def test_commands_print_what_is_shown(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_studies(PAGES[page], tmp_path)
    blocks = [body for language, body in BLOCK.findall(PAGES[page]) if language == "console"]
    for block in blocks:
        command, _, expected = block.partition("\n")
        assert command.startswith("$ sightline ")
        with loaded_for(PAGES[page]):
            result = CliRunner().invoke(app, shlex.split(command)[2:])
        assert result.exit_code == 0, result.output
        assert doctest.OutputChecker().check_output(expected, result.stdout, FLAGS), result.stdout


@pytest.mark.parametrize("page", sorted(set(PAGES) - {RUN_ELSEWHERE}))
def test_no_example_escapes(page: str) -> None:
    for language, body in BLOCK.findall(PAGES[page]):
        run = language in ("pycon", "console", "bash", "yaml")
        assert run or (page, language) == QUERIES, f"nothing runs a block in {language!r}"
        assert ("\n>>> " in "\n" + body) == (language == "pycon")
        assert language == "console" or "sightline " not in re.sub(r">>>.*", "", body)


@pytest.mark.parametrize("page", ["../README.md", *sorted(PAGES)])
def test_study_files_are_read(page: str) -> None:
    for name, body in studies((DOCS / page).read_text("utf-8")).items():
        assert parse_study(body, name).name == name.removesuffix(".yml")


# --- complete ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(metrics.METRICS))
def test_every_metric_has_a_row_and_a_section(name: str) -> None:
    assert f"\n| [`{name}`](#{name}) |" in PAGES["metrics.md"]
    assert f"\n## {name}\n" in PAGES["metrics.md"]


def test_every_public_name_is_on_the_page_of_the_api() -> None:
    named = set(re.findall(r"^::: [\w.]+\.(\w+)$|`(?:[\w.]+\.)?(\w+)`", PAGES["api.md"], re.M))
    names = {name for pair in named for name in pair if name}
    for package in packages():
        assert set(package.__all__) - {"__version__"} <= names, package.__name__


def without_example(found: list[ModuleType]) -> set[str]:
    """Return the public names that neither their docstring nor a block of a page shows.

    A table has no docstring of its own: examples of others show it. Of a name that packages use for
    different things, a block must also import from the right one.
    """
    blocks = [block for text in PAGES.values() for block in BLOCK.findall(text)]
    pages = [body for language, body in blocks if language == "pycon"]
    code = (file.read_text("utf-8") for file in (ROOT / "src").rglob("*.py"))
    docstrings = ["\n".join(re.findall(r"^ *(?:>>>|\.\.\.) .*$", text, re.M)) for text in code]
    things = {(one.__name__, name): getattr(one, name) for one in found for name in one.__all__}
    lacking = set()
    for (home, name), thing in things.items():
        own = inspect.unwrap(thing) if callable(thing) else thing
        documented = isinstance(own, FunctionType | type)
        if isinstance(own, ModuleType) or name == "__version__":
            continue
        if documented and ">>> " in (own.__doc__ or ""):
            continue
        homes = {key[0]: one is thing for key, one in things.items() if key[1] == name}
        words = "|".join(rf">>> from {place} import" for place, same in homes.items() if same)
        texts = [text for text in pages + docstrings * (not documented) if name in text]
        texts = [text for text in texts if all(homes.values()) or re.search(words, text)]
        if not any(re.search(rf"\b{name}\b", text) for text in texts):
            lacking.add(f"{home}.{name}")
    return lacking


def test_every_public_name_has_an_example() -> None:
    assert without_example(packages()) == set()


def test_a_name_without_an_example_is_told() -> None:
    made = ModuleType("made")
    made.__dict__.update(__all__=["unheard_of", "write_maps"])
    made.__dict__.update(unheard_of=lambda: None, write_maps=lambda: None)
    assert without_example([*packages(), made]) >= {"made.unheard_of", "made.write_maps"}


@pytest.mark.parametrize("name", sorted(data.DATASETS))
def test_every_data_set_is_documented_with_its_options(name: str) -> None:
    (row,) = re.findall(rf"^\| `{name}` \|.*\| (.*) \|$", PAGES["datasets.md"], re.MULTILINE)
    assert set(re.findall(r"`(\w+)=", row)) == set(data.DATASETS[name].options)


@pytest.mark.parametrize("key", study.Study.model_fields)
def test_every_key_of_a_study_is_documented(key: str) -> None:
    assert f"\n| `{key}` |" in PAGES["studies.md"]
    default = study.Study.model_fields[key].get_default(call_default_factory=True)
    if default not in (PydanticUndefined, (), None) and key not in ("engine", "checks"):
        (cell,) = re.findall(rf"^\| `{key}` \|.*\| `(.*)` \|$", PAGES["studies.md"], re.MULTILINE)
        wanted = list(default) if isinstance(default, tuple) else default
        assert yaml.safe_load(cell) == wanted


def test_every_table_of_results_is_documented() -> None:
    public = {name for name in vars(results.Results) if not name.startswith("_")}
    named = set(re.findall(r"`(\w+)[`(]", PAGES["results.md"]))
    assert public - {"path"} <= named


def test_every_command_is_documented() -> None:
    group: Any = typer.main.get_command(app)
    assert group.commands
    for name, command in group.commands.items():
        assert f"\n## sightline {name}\n" in PAGES["cli.md"]
        for inner in getattr(command, "commands", ()):
            assert f"\n### sightline {name} {inner}\n" in PAGES["cli.md"]


def test_every_tool_and_target_of_the_benchmarks_is_documented() -> None:
    page = PAGES["benchmarks.md"]
    for name in bench.TOOLS:
        assert f"\n| `{name}` |" in page
    _, *targets = bench.target_rows({})
    rows = re.search(r"## Targets\n\n.*\n.*\n((?:\|.*\n)+)", page)
    assert rows is not None
    assert rows[1].splitlines() == [f"| {' | '.join(row[:3])} |" for row in targets]


def test_every_benchmark_is_listed_with_how_to_run_it() -> None:
    table = PAGES["benchmarks.md"].partition("## What each tool does")[0]
    listed = re.findall(r"^\| `benchmarks\.(\w+)[^`]*` \|.*\| (.*) ?\|$", table, re.MULTILINE)
    runs = {path.stem for path in (ROOT / "benchmarks").glob("[a-z]*.py")} | {"calibration"}
    assert {name for name, _ in listed} == runs
    for name, options in listed:
        for option in re.findall(r"`--(\w+)`", options):
            assert option in (ROOT / "benchmarks" / f"{name}.py").read_text("utf-8")


def test_every_figure_of_the_data_benchmark_is_documented() -> None:
    _, *rows = data_bench.rows(dict.fromkeys(data_bench.TASKS, 1.0))
    for text, unit, wanted, *_ in rows:
        assert f"\n| {text} | {unit} | {wanted} |" in PAGES["benchmarks.md"]


def test_every_target_of_the_study_benchmark_is_documented() -> None:
    for target in study_bench.TARGETS.values():
        row = f"\n| {target.text} | {target.unit} | ≤ {target.most:g} |"
        assert row in PAGES["benchmarks.md"]


def test_every_target_of_the_detection_benchmark_is_documented() -> None:
    ones = dict.fromkeys(("wall", "cpu", "peak", "times wall", "times cpu"), 1.0)
    rows = [
        {"mode": mode, "tool": tool, **ones}
        for mode in detection_bench.MODES
        for tool in detection_bench.TOOLS
    ]
    targets = detection_bench.summary(rows, {"fresh": 1.0, "interval": ones})
    assert len(targets) == 10
    for target in targets:
        assert f"\n| {target['what']} | ≤ {target['limit']:.4g} | " in PAGES["benchmarks.md"]
    for tool in detection_bench.TOOLS:
        assert f"| {tool} | " in PAGES["benchmarks.md"].replace("**", "")


def test_every_way_of_the_attention_benchmark_is_documented() -> None:
    for row in attention_bench.rows(dict.fromkeys(attention_bench.WAYS, (1.0, 1.0)))[1:]:
        assert f"\n| {row[0]} | " in PAGES["benchmarks.md"]


@pytest.mark.parametrize("name", sorted(maps.METHODS))
def test_every_method_has_a_section(name: str) -> None:
    assert f"\n#### {name}\n" in PAGES["methods.md"]


@pytest.mark.parametrize("name", sorted([*models.MODELS, *models.FAMILIES]))
def test_every_model_and_family_has_a_row(name: str) -> None:
    assert f"\n| `{name}` |" in PAGES["models.md"]


def test_every_page_is_in_the_navigation() -> None:
    listed = re.findall(r"[\w/-]+\.md$", (ROOT / "mkdocs.yml").read_text("utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(PAGES)


def test_every_decision_is_listed() -> None:
    pages = {Path(page).name for page in PAGES if page.startswith("decisions/0")}
    assert pages == {target for target, _ in LINK.findall(PAGES["decisions/index.md"])}


# --- current -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["metrics", "datasets", "facades", "photos", "models", "methods", "figures", "cli"]
)
def test_written_pages_are_current(name: str) -> None:
    module = load_script(DOCS / f"make_{name}.py")
    assert PAGES[f"{name}.md"] == module.render(), f"run python docs/make_{name}.py"


def anchors(text: str) -> set[str]:
    """Return the places on a page that a link can lead to: headings, and names of the API."""
    heads = re.findall(r"^#+ (.+)$", BLOCK.sub("", text), re.MULTILINE)
    plain = (re.sub(r"[^\w\s-]", "", head).strip().lower() for head in heads)
    return {re.sub(r"[\s-]+", "-", head) for head in plain} | set(
        re.findall(r"^::: (\S+)", text, re.M)
    )


@pytest.mark.parametrize("page", sorted([*PAGES, "../CONTRIBUTING.md", "../README.md"]))
def test_links_lead_to_files(page: str) -> None:
    here = DOCS / page
    for target, place in LINK.findall(here.read_text("utf-8")):
        file = here.parent / target
        assert file.is_file(), target
        assert not place or place[1:] in anchors(file.read_text("utf-8")), target + place
    text = here.read_text("utf-8")
    assert set(re.findall(r"\]\(#([^)]+)\)", text)) <= anchors(text)


@pytest.mark.parametrize("page", sorted(PAGES))
def test_nothing_is_left_to_be_written(page: str) -> None:
    assert "TODO" not in PAGES[page]


def test_files_named_by_the_pages_exist() -> None:
    tree = PAGES["architecture.md"] + (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    source = ROOT / "src" / "sightline"
    folders = (
        *("core", "metrics", "stats", "data", "models", "attribution/methods", "study/config"),
        *("study/plan", "store", "results", "figures", "report"),
    )
    homes = (ROOT, source, *(source / folder for folder in folders), DOCS)
    for name in set(re.findall(r"[\w/]+\.(?:py|md|toml)\b", tree)):
        assert any((home / name).is_file() for home in homes), name


def test_citation_names_the_version() -> None:
    text = (ROOT / "CITATION.cff").read_text("utf-8")
    assert re.findall(r"^version: (.*)$", text, re.MULTILINE) == [sightline.__version__]


# --- README --------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [0, 1])
def test_the_readme_examples_print_what_they_show(
    number: int, capsys: pytest.CaptureFixture[str]
) -> None:
    blocks = [block for block in BLOCK.findall(README) if block[0] != "yaml"]
    assert [language for language, _ in blocks] == ["python", "text"] * 2
    exec(blocks[2 * number][1], {})  # noqa: S102 (the README is ours)
    assert capsys.readouterr().out == blocks[2 * number + 1][1]


def test_the_readme_names_every_command_target_and_file() -> None:
    for target in re.findall(r"(?<=make )\w+", README):
        assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    for link, _ in LINK.findall(README):
        assert (ROOT / link).exists(), link


def test_the_readme_study_over_maps_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_studies(README, tmp_path)
    dataset = data.load_dataset("facades", count=3, seed=7)
    data.write_facades(dataset, tmp_path / "photos")
    for folder in ("heatmaps", "eyes"):
        (tmp_path / folder).mkdir()
        for sample in dataset:
            np.save(tmp_path / folder / sample.image_id, np.ones((7, 9)))
    ran = CliRunner().invoke(app, ["run", "given.yml", "--workers", "1"])
    assert ran.exit_code == 0, ran.output
    with results.open_results("runs/given") as found:
        board = found.leaderboard()
    assert board["n"].tolist() == [3, 3]
    assert board["value"].tolist() == pytest.approx(board["chance"].tolist())


def test_the_readme_calls_commands_that_are_there() -> None:
    group: Any = typer.main.get_command(app)
    called = set(re.findall(r"(?:^ +|`)(?:\.venv/bin/)?sightline (\w+)", README, re.MULTILINE))
    assert called <= set(group.commands)
    assert {"new", "run", "show", "query", "export"} <= called
