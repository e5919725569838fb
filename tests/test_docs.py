"""The pages: their examples run, what they list is complete, what is generated is current."""

from __future__ import annotations

import doctest
import importlib.util
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

import sightline
from benchmarks import attention as attention_bench
from benchmarks import data as data_bench
from benchmarks import maps as bench
from sightline import data, geometry, maps, metrics, models, records
from sightline.cli import app

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = {path.relative_to(DOCS).as_posix(): path.read_text("utf-8") for path in DOCS.rglob("*.md")}
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)#:]+)(#[^)]*)?\)")
RUN_ELSEWHERE = "annotations.md"  # by test_cli.py


def having(language: str) -> pytest.MarkDecorator:
    """Walk the pages with a block of a language."""
    pages = [page for page, text in PAGES.items() if f"```{language}\n" in text]
    return pytest.mark.parametrize("page", sorted(pages))


# --- examples ------------------------------------------------------------------------------------


@having("pycon")
def test_examples_give_what_they_show(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = re.sub(r"^```.*$", "", PAGES[page], flags=re.MULTILINE)  # a blank line ends the output
    examples = doctest.DocTestParser().get_doctest(text, {}, page, str(DOCS / page), 0)
    report: list[str] = []
    found = doctest.DocTestRunner(optionflags=FLAGS).run(examples, out=report.append)
    assert found.attempted > 0
    assert found.failed == 0, "".join(report)


@having("console")
def test_commands_print_what_is_shown(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = [body for language, body in BLOCK.findall(PAGES[page]) if language == "console"]
    for block in blocks:
        command, _, expected = block.partition("\n")
        assert command.startswith("$ sightline ")
        result = CliRunner().invoke(app, shlex.split(command)[2:])
        assert result.exit_code == 0, result.output
        assert doctest.OutputChecker().check_output(expected, result.stdout, FLAGS), result.stdout


@pytest.mark.parametrize("page", sorted(set(PAGES) - {RUN_ELSEWHERE}))
def test_no_example_escapes(page: str) -> None:
    for language, body in BLOCK.findall(PAGES[page]):
        assert language in ("pycon", "console", "bash"), f"nothing runs a block in {language!r}"
        assert ("\n>>> " in "\n" + body) == (language == "pycon")
        assert language == "console" or "sightline " not in re.sub(r">>>.*", "", body)


# --- complete ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(metrics.METRICS))
def test_every_metric_has_a_row_and_a_section(name: str) -> None:
    assert f"\n| [`{name}`](#{name}) |" in PAGES["metrics.md"]
    assert f"\n## {name}\n" in PAGES["metrics.md"]


@pytest.mark.parametrize(
    "module", [sightline, metrics, data, geometry, models, maps, records], ids=lambda m: m.__name__
)
def test_every_public_name_is_on_the_page_of_the_api(module: Any) -> None:
    named = set(re.findall(r"^::: [\w.]+\.(\w+)$|`(?:[\w.]+\.)?(\w+)`", PAGES["api.md"], re.M))
    names = {name for pair in named for name in pair if name}
    assert set(module.__all__) - {"__version__"} <= names


@pytest.mark.parametrize("name", sorted(data.DATASETS))
def test_every_data_set_is_documented_with_its_options(name: str) -> None:
    (row,) = re.findall(rf"^\| `{name}` \|.*\| (.*) \|$", PAGES["datasets.md"], re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", row)) == set(data.DATASETS[name].options)


def test_every_command_is_documented() -> None:
    group: Any = typer.main.get_command(app)
    assert group.commands
    for name in group.commands:
        assert f"\n## sightline {name}\n" in PAGES["cli.md"]


def test_every_tool_and_target_of_the_benchmarks_is_documented() -> None:
    page = PAGES["benchmarks.md"]
    for name in bench.TOOLS:
        assert f"\n| `{name}` |" in page
    _, *targets = bench.target_rows({})
    rows = re.search(r"## Targets\n\n.*\n.*\n((?:\|.*\n)+)", page)
    assert rows is not None
    assert rows[1].splitlines() == [f"| {' | '.join(row[:3])} |" for row in targets]


def test_every_figure_of_the_data_benchmark_is_documented() -> None:
    _, *rows = data_bench.rows(dict.fromkeys(data_bench.TASKS, 1.0))
    for text, unit, wanted, *_ in rows:
        assert f"\n| {text} | {unit} | {wanted} |" in PAGES["benchmarks.md"]


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


@pytest.mark.parametrize("name", ["metrics", "facades", "models", "methods"])
def test_written_pages_are_current(name: str) -> None:
    spec = importlib.util.spec_from_file_location(f"make_{name}", DOCS / f"make_{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert PAGES[f"{name}.md"] == module.render(), f"run python docs/make_{name}.py"


@pytest.mark.parametrize("page", sorted([*PAGES, "../CONTRIBUTING.md"]))
def test_links_lead_to_files(page: str) -> None:
    here = DOCS / page
    for target, _ in LINK.findall(here.read_text("utf-8")):
        assert (here.parent / target).is_file(), target


def test_files_named_by_the_pages_exist() -> None:
    tree = PAGES["architecture.md"] + (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    source = ROOT / "src" / "sightline"
    folders = ("metrics", "data", "models", "maps")
    homes = (ROOT, source, *(source / folder for folder in folders), DOCS)
    for name in set(re.findall(r"[\w/]+\.(?:py|md|toml)\b", tree)):
        assert any((home / name).is_file() for home in homes), name


def test_citation_names_the_version() -> None:
    text = (ROOT / "CITATION.cff").read_text("utf-8")
    assert re.findall(r"^version: (.*)$", text, re.MULTILINE) == [sightline.__version__]


# --- README --------------------------------------------------------------------------------------

README = (ROOT / "README.md").read_text("utf-8")


@pytest.mark.parametrize("number", [0, 1])
def test_the_readme_examples_print_what_they_show(
    number: int, capsys: pytest.CaptureFixture[str]
) -> None:
    blocks = BLOCK.findall(README)
    assert [language for language, _ in blocks] == ["python", "text"] * 2
    exec(blocks[2 * number][1], {})  # noqa: S102 (the README is ours)
    assert capsys.readouterr().out == blocks[2 * number + 1][1]


def test_the_readme_names_every_command_target_and_file() -> None:
    for target in re.findall(r"(?<=make )\w+", README):
        assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    for link, _ in LINK.findall(README):
        assert (ROOT / link).exists(), link
