"""Reports as folders: complete, the same each time, whole or not at all."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from sightline.core import InputError
from sightline.figures import FIGURES
from sightline.report import Choice, StoreFigures, plates, renderer, write_report
from sightline.report import write as writing
from sightline.report.plates import Wanted
from sightline.results import open_results
from sightline.study import Study, load_study, run_study
from tests.cli.small import error, run, write_data, write_given, write_maps
from tests.report.few import LIMIT, NAMED, draw_few

if TYPE_CHECKING:
    from collections.abc import Iterator

ENDINGS = ("png", "svg", "pdf", "csv")
TABLES = {
    *("index.html", "summary_results.csv", "detailed_results.csv", "table1.tex", "table1.md"),
    *("references.bib", "methods.tex", "sanity_results.csv", "faithfulness_results.csv"),
    *("parts_results.csv", "worst_images.csv", "failure_reasons.csv"),
    *("prototype_relevance_means.csv", "prototype_effects.csv", "prototype_natures.csv"),
}


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Yield a store of maps made elsewhere, with names that pages must escape."""
    folder = tmp_path_factory.mktemp("given")
    path = write_given(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield run_study(load_study(path), folder / "runs", workers=1).store.path


@pytest.fixture
def few_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw one figure in place of all, where figures are not what is tested."""
    draw_few(monkeypatch, "leaderboard")


def content(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


# --- the demo's report ---------------------------------------------------------------------------


def test_files_have_the_names_that_are_promised(demo_report: Path) -> None:
    files = set(content(demo_report))
    assert files >= TABLES
    assert {f"{name}.{ending}" for name in NAMED for ending in ENDINGS} <= files
    stems = {name.rpartition(".")[0] for name in files - TABLES}
    # The name of the cascade ends in that of the model where several were checked.
    assert any(stem.startswith("cascade_randomization_test") for stem in stems)
    for stem in stems:
        assert {f"{stem}.svg", f"{stem}.csv"} <= files
    pictures = {stem for stem in stems if "/" in stem}
    assert all(stem.startswith("examples/") for stem in pictures)
    assert 3 <= sum(stem.startswith("examples/all_methods") for stem in pictures) <= 5
    assert not any(name.startswith(".") for name in files)


def test_every_figure_is_there_in_every_format(
    given: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw_few(monkeypatch, "leaderboard", "examples")
    made = write_report(given, tmp_path / "report", dpi=150)
    files = set(content(tmp_path / "report"))
    stems = {name.rpartition(".")[0] for name in files if name.endswith(".png")}
    assert {"leaderboard", "examples/examples_first"} <= stems
    assert {f"{stem}.{ending}" for stem in stems for ending in ENDINGS} <= files
    assert {path.relative_to(tmp_path / "report").as_posix() for path in made.files} == files


def test_the_page_is_small_enough_to_send(demo_report: Path) -> None:
    assert (demo_report / "index.html").stat().st_size < LIMIT
    assert writing.LIMIT < 15e6


def test_every_figure_of_the_store_is_on_the_page(demo_report: Path) -> None:
    page = (demo_report / "index.html").read_text("utf-8")
    missing = {"perturbation-drops"}
    for name, card in FIGURES.items():
        assert (f"{card.title}" in page) or name in missing
    tables = [name for name in TABLES if name.endswith(".csv")]
    assert page.count("<figure ") == len(list(demo_report.rglob("*.csv"))) - len(tables)


def test_downloads_hold_the_files_beside_the_page(demo_report: Path) -> None:
    page = (demo_report / "index.html").read_text("utf-8")
    links = re.findall(r'<a (?:class="file" )?href="([^"#][^"]*)" download="([^"]+)"', page)
    assert len(links) > 80
    files = content(demo_report)
    inside = 0
    for address, name in links:
        if address.startswith("data:"):
            inside += 1
            held = base64.b64decode(address.partition(",")[2])
            assert held in [body for path, body in files.items() if Path(path).name == name]
        else:
            assert address in files
    assert 60 < inside < len(links)


def test_the_data_of_a_figure_are_what_it_shows(demo_report: Path, demo_store: Path) -> None:
    drawn = pd.read_csv(demo_report / "leaderboard.csv")
    with open_results(demo_store) as results:
        board = results.leaderboard()
    best = board[board["group"] != "baseline"]
    mine = drawn[drawn["group"] != "baseline"]
    assert mine["value"].tolist() == pytest.approx(best["value"].tolist()[: len(mine)], rel=1e-9)


def test_the_summary_speaks_of_the_best_line(demo_report: Path, demo_store: Path) -> None:
    page = (demo_report / "index.html").read_text("utf-8")
    with open_results(demo_store) as results:
        board = results.leaderboard()
    best = board[board["group"] != "baseline"].iloc[0]
    assert f"Best: {best['model']} {best['method']} · layer {best['layer']} (" in page
    assert f"{best['value']:.3f}" in page
    for word in ("Sparse labels", "Few images", "Plausible is not faithful"):
        assert word in page


# --- any report ----------------------------------------------------------------------------------


def test_the_same_store_gives_the_same_bytes_whoever_draws(
    given: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two processes, and one that draws here what the second one failed on.

    Every figure is drawn twice by tests of feeding; the second process draws pictures alone.
    """
    draw_few(monkeypatch, "leaderboard", "attribution", "examples")
    two = write_report(given, tmp_path / "two", formats=("svg",), dpi=150, workers=2)
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    one = write_report(given, tmp_path / "one", formats=("svg",), dpi=150, workers=2)
    assert one.summary == two.summary
    assert one.missing == two.missing
    first, second = content(tmp_path / "one"), content(tmp_path / "two")
    assert sorted(first) == sorted(second)
    assert [name for name in first if first[name] != second[name]] == []
    assert sorted(path.name for path in one.files) == sorted(Path(name).name for name in first)
    assert any(path.parent.name == "examples" for path in one.files)


@pytest.mark.usefixtures("few_figures")
def test_names_from_a_store_are_escaped(given: Path, tmp_path: Path) -> None:
    made = write_report(given, tmp_path / "report", formats=())
    page = made.page.read_text("utf-8")
    assert "net[/b]" in page
    assert (tmp_path / "report" / "table1.tex").read_text().count("first") >= 1


def test_nothing_of_a_store_can_run_in_the_page(tmp_path: Path) -> None:
    odd = "<script>alert(1)</script>\n\"'=1 模型"
    write_data(tmp_path / "data")
    kept = json.loads((tmp_path / "data" / "annotations.json").read_text())
    for image in kept["images"]:
        image["labels"] = [odd]
        image["regions"][0]["label"] = odd
    (tmp_path / "data" / "annotations.json").write_text(json.dumps(kept))
    write_maps(tmp_path / "one")
    study = Study.from_dict({
        "name": "odd", "data": {"name": "folder", "path": str(tmp_path / "data")},
        "methods": [{"name": "first", "params": {"maps": str(tmp_path / "one"), "model": odd}}],
        "metrics": ["iou", "coverage"], "percentiles": [90],
    })  # fmt: skip
    store = run_study(study, tmp_path / "runs", workers=1).store.path
    made = write_report(store, formats=("svg",), dpi=150, workers=1)
    assert not [why for why in made.missing.values() if "failed" in why]
    page = made.page.read_text("utf-8")
    assert page.count("<script") == 1  # our own
    assert "alert(1)" in page
    for path in made.files:
        if path.suffix == ".svg":
            assert "<script" not in path.read_text("utf-8")


@pytest.mark.usefixtures("few_figures")
def test_other_files_in_the_folder_stay_and_older_ones_are_replaced(
    given: Path, tmp_path: Path
) -> None:
    (tmp_path / "mine.txt").write_text("keep")
    (tmp_path / "index.html").write_text("old")
    write_report(given, tmp_path, formats=())
    assert (tmp_path / "mine.txt").read_text() == "keep"
    assert (tmp_path / "index.html").read_text() != "old"
    assert not list(tmp_path.glob(".*"))


@pytest.mark.usefixtures("few_figures")
def test_the_page_of_missing_labels_is_linked_where_there_is_one(
    given: Path, tmp_path: Path
) -> None:
    link = '<a href="sparsity.html">Missing labels</a>'
    page = write_report(given, tmp_path, formats=()).page
    assert link not in page.read_text("utf-8")
    (tmp_path / "sparsity.html").write_text("found")
    write_report(given, tmp_path, formats=())
    assert link in page.read_text("utf-8")
    assert (tmp_path / "sparsity.html").read_text() == "found"


@pytest.mark.usefixtures("few_figures")
def test_a_report_that_fails_leaves_nothing(
    given: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> str:
        raise RuntimeError("half-way")

    monkeypatch.setattr(writing, "page_html", fail)
    with pytest.raises(RuntimeError, match="half-way"):
        write_report(given, tmp_path / "deep" / "report", formats=())
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "index.html").write_text("old")
    with pytest.raises(RuntimeError, match="half-way"):
        write_report(given, tmp_path, formats=())
    assert content(tmp_path) == {"index.html": b"old"}


@pytest.mark.usefixtures("few_figures")
def test_a_report_goes_into_the_folder_one_is_in(
    given: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_report(given, ".", formats=())
    assert (tmp_path / "index.html").is_file()
    assert not list(tmp_path.glob(".*"))


@pytest.mark.usefixtures("few_figures")
def test_what_killed_reports_left_is_removed_after_a_while(given: Path, tmp_path: Path) -> None:
    old, new, mine = (tmp_path / f".{letter * 32}.part" for letter in "abx")
    for one in (old, new, mine):
        one.mkdir()
    for one in (old, mine):
        os.utime(one, (0, 0))
    write_report(given, tmp_path, formats=())
    assert not old.exists()
    assert new.is_dir()  # somebody may be writing
    assert mine.is_dir()


# --- figures that fail ---------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, 2])
def test_a_figure_that_fails_is_named_and_the_report_is_written(
    given: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    draw = StoreFigures.draw

    def fail(self: StoreFigures, name: str, choice: Choice) -> Any:
        if name == "leaderboard" or choice.method == "second":
            raise ZeroDivisionError("<b>1 / 0</b>")
        return draw(self, name, choice)

    draw_few(monkeypatch, "leaderboard", "thresholds", "examples", "energy")
    monkeypatch.setattr(StoreFigures, "draw", fail)
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    made = write_report(given, tmp_path / "report", formats=("svg",), dpi=150, workers=workers)
    why = "drawing it failed, which is a fault of Sightline: ZeroDivisionError: <b>1 / 0</b>"
    title = f"{FIGURES['examples'].title}: second"
    assert {name for name, said in made.missing.items() if said == why} == {"leaderboard", title}
    page = made.page.read_text("utf-8")
    limits = page[page.index('id="limits"') :]
    assert f"<b>{title}</b>: drawing it failed" in limits
    assert "<b>1 / 0</b>" not in page
    files = {path.name for path in made.files}
    assert "examples_first.csv" in files
    assert not {"leaderboard.svg", "leaderboard.csv", "examples_second.csv"} & files
    labels = re.findall(r"<figcaption><b>Figure S(\d+)\.", page)
    assert labels == [str(number) for number in range(1, len(labels) + 1)]


def test_a_figure_that_cannot_be_saved_leaves_no_file(
    given: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(table: pd.DataFrame, path: Path, **options: object) -> None:
        raise OSError("full")

    monkeypatch.setattr(plates, "write_csv", fail)
    with open_results(given) as results:
        wanted = Wanted("leaderboard", "leaderboard", "leaderboard", Choice())
        how = plates.Saving(tmp_path, ("svg",), 150)
        said = plates.draw_plate(StoreFigures(results), wanted, how)
    assert said == "drawing it failed, which is a fault of Sightline: OSError: full"
    assert list(tmp_path.iterdir()) == []


def test_of_two_processes_one_gets_a_picture(tmp_path: Path) -> None:
    one, other = (Wanted("single", "energy", f"examples/{name}", Choice()) for name in "ab")
    assert [renderer._claimed(tmp_path, wanted) for wanted in (one, one, other)] == [
        *(True, False, True)
    ]


def test_a_second_process_draws_where_there_are_many_pictures(
    given: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pictures = [Wanted("single", "energy", f"examples/{i}", Choice()) for i in range(renderer.MANY)]
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    how = plates.Saving(tmp_path, ("svg",), 150)
    with open_results(given) as results:
        figures = StoreFigures(results)
        for cores, begun, shared in ((2, pictures, 6), (2, pictures[1:], 0), (1, pictures, 0)):
            monkeypatch.setattr(os, "cpu_count", lambda cores=cores: cores)
            with renderer.Drawing(figures, None, how) as made:
                made.begin(begun)
                assert len(made._shared) == shared


def test_pictures_drawn_ahead_and_later_are_those_that_are_wanted(
    given: Path, tmp_path: Path
) -> None:
    """One picture is known early, the other late; the second process draws both."""
    (tmp_path / "examples").mkdir()
    how = plates.Saving(tmp_path, ("png",), 100)
    names = ("attribution", "pointing-game")
    early, late = (Wanted("single", name, f"examples/{name}", Choice()) for name in names)
    with open_results(given) as results:
        figures = StoreFigures(results, predictions=False)
        with renderer.Drawing(figures, None, how, workers=2) as made:
            made.begin([early])
            made.go_on([late, early])
            assert made._process is not None
            assert made._process.wait() == 0  # nothing is left for this process
            found = made.finish({}, lambda *_: None)
    assert [plate.wanted for plate in found] == [late, early]
    assert sorted(path.name for path in tmp_path.rglob("*.png")) == [f"{n}.png" for n in names]
    assert not list(tmp_path.glob(".*"))


def test_a_second_process_that_has_nothing_to_draw_leaves_no_file(
    given: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    how = plates.Saving(tmp_path, ("svg",), 150)
    with open_results(given) as results:
        with renderer.Drawing(StoreFigures(results, predictions=False), None, how) as made:
            made.go_on([])
            assert made._process is not None
            assert made._process.wait() == 0
            assert made.finish({}, lambda *_: None) == []
        assert not list(tmp_path.iterdir())


def test_file_names_are_told_apart_also_where_case_does_not_count() -> None:
    names = ["a b", "a/b", "A_b", "模", "", "x" * 500]
    assert plates._slugs(names) == ["a_b", "a_b_2", "A_b_3", "unnamed", "unnamed_2", "x" * 120]


@pytest.mark.usefixtures("few_figures")
def test_another_metric_leads(given: Path, tmp_path: Path) -> None:
    made = write_report(given, tmp_path / "report", metric="coverage", formats=())
    assert "has the best coverage of" in dict(made.summary)["Best line"]
    drawn = pd.read_csv(tmp_path / "report" / "leaderboard.csv")
    with open_results(given) as results:
        board = results.leaderboard("coverage")
    assert drawn["value"].tolist() == pytest.approx(board["value"].tolist(), rel=1e-9)


def test_what_cannot_work_is_said(given: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="formats must be of png, svg, pdf; got 'gif'"):
        write_report(given, tmp_path, formats=("gif",))
    with pytest.raises(InputError, match="dpi must lie in 150 to 300; got 72"):
        write_report(given, tmp_path, dpi=72)
    with pytest.raises(InputError, match="workers must be 1 or 2; got 3"):
        write_report(given, tmp_path, workers=3)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="is a file, not a folder"):
        write_report(given, tmp_path / "file")
    assert error("report", tmp_path).startswith(str(tmp_path))


# --- the command ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("few_figures")
def test_the_command_says_what_was_found_and_where_it_is(given: Path, tmp_path: Path) -> None:
    said = run("report", given, "--out", tmp_path / "r", "--format", "svg").stdout
    assert "Best line: " in said
    assert f"Report: {tmp_path / 'r' / 'index.html'}" in said
    assert "Open it:" in said
    assert "the study ran no check of randomisation" in said


@pytest.mark.usefixtures("few_figures")
def test_the_command_answers_in_json_and_writes_into_the_store(given: Path) -> None:
    found = json.loads(run("report", given, "--format", "svg", "--json").stdout)
    assert found["page"] == str(given / "report" / "index.html")
    assert Path(found["page"]).is_file()
    assert {"summary", "files", "missing"} <= set(found)
    shutil.rmtree(given / "report")
