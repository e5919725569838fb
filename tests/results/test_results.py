"""Opening, refreshing, closing, showing."""

from __future__ import annotations

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from sightline.core import InputError, UnknownNameError
from sightline.results import open_results
from sightline.results._catalogue import Where
from tests.results.stores import KINDS, Kind, make_store
from tests.scripts import printed_by

if TYPE_CHECKING:
    from pathlib import Path

    from sightline.results import Results
    from tests.results.stores import Made


def test_importing_loads_no_heavy_package() -> None:
    code = (
        "import sys, sightline.results\n"
        "print([m for m in ('duckdb', 'pandas', 'pydantic', 'torch') if m in sys.modules])"
    )
    assert printed_by(code).strip() == "[]"


def test_a_store_without_shards_says_so(tmp_path: Path) -> None:
    made = make_store(tmp_path / "s", skip=tuple(range(18)))
    found = open_results(made.path)
    assert found.progress == (0, 16)
    for ask in (
        found.leaderboard,
        found.images,
        found.feature_breakdown,
        lambda: found.image("image00"),
        lambda: found.query("SELECT 1"),
        lambda: list(found.batches("scores")),
    ):
        with pytest.raises(InputError, match="nothing is stored yet: 0 of 16 tasks"):
            ask()
    assert "0 of 16 tasks" in found._repr_html_()
    assert "0 of 16 tasks" in repr(found)


def test_a_folder_without_a_study_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no study is stored there"):
        open_results(tmp_path)


def test_new_shards_are_seen_after_refreshing(tmp_path: Path) -> None:
    made = make_store(tmp_path / "s")
    hidden = tmp_path / "hidden"
    shutil.move(made.score_files[0], hidden)
    name = made.store.tasks()[0]
    with open_results(made.path) as found:
        before = found.leaderboard(model="demo/vit", method="cls", layer=0)
        assert before["n"][0] + before["undefined"][0] == 4
        shutil.move(hidden, made.store.score_file(name))
        assert found.progress == (15, 16)
        assert found.refresh() is found
        assert found.progress == (16, 16)
        after = found.leaderboard(model="demo/vit", method="cls", layer=0)
        assert after["n"][0] + after["undefined"][0] == 8
        assert "so far" not in after.attrs["note"]


def test_what_is_closed_opens_again(made: Made) -> None:
    found = open_results(made.path)
    first = found.leaderboard()
    found.close()
    assert found.leaderboard().equals(first)
    found.close()
    found.close()


def test_manifest_and_study(made: Made, results: Results) -> None:
    manifest = json.loads(made.store.manifest_path.read_text())
    assert manifest.pop("sightline-checksum")
    assert results.manifest == manifest
    assert results.study == manifest["study"]
    assert results.models == ["demo/vit", "demo/vit@seed2", "demo/cnn"]
    assert results.methods == ["cls", "gradcam", "random", "center"]
    assert results.metrics[:5] == ["coverage", "average_precision", "iou@95", "iou@90", "iou@50"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"metric": "iou@91"}, "no scores of metric 'iou@91' are stored; did you mean 'iou@9"),
        ({"metric": "iou"}, "metric 'iou' are stored"),
        ({"metric": "covrage"}, "did you mean 'coverage'"),
        ({"metric": "iou@x"}, "metric 'iou@x'"),
        ({"metric": "top_k_any_chance@k5"}, "metric 'top_k_any_chance@k5'"),
        ({"model": "demo/vti"}, "did you mean 'demo/vit'"),
        ({"model": "demo/vit@seed3"}, "Stored: demo/vit, demo/vit@seed2, demo/cnn"),
        ({"method": "rollout"}, "Stored: cls, gradcam, random, center"),
        ({"model": "demo/cnn", "method": "cls"}, "demo/cnn with method 'cls'.*gradcam, center"),
        ({"layer": 7}, "layer '7' are stored. Stored: 0, 1, 2, 3"),
        ({"head": 5}, "head '5'.*Stored: 0, 1"),
        ({"target": "cat"}, "target 'cat'.*Stored: label, predicted"),
        ({"seed": 9}, "seed '9'.*Stored: 0, 1"),
    ],
)
def test_unknown_names_are_answered_with_what_is_stored(
    results: Results, words: dict[str, object], said: str
) -> None:
    with pytest.raises(UnknownNameError, match=said):
        results.leaderboard(**words)  # type: ignore[arg-type]


@pytest.mark.parametrize("words", [{"layer": "all"}, {"head": "all"}])
def test_a_table_about_one_choice_is_not_about_all(
    results: Results, words: dict[str, object]
) -> None:
    for table in (results.images, results.exemplars, results.curves, results.feature_breakdown):
        with pytest.raises(InputError, match="'all' is for a table with a line for each"):
            table(**words)  # type: ignore[arg-type]


def test_metrics_are_found_by_any_spelling_of_their_threshold(results: Results) -> None:
    assert results.leaderboard("iou@90.0").attrs["metric"] == "iou@90"


def test_rules_are_never_mixed(tmp_path: Path) -> None:
    kinds = (KINDS[0], replace(KINDS[0], rules="00000002"), KINDS[6])
    with open_results(make_store(tmp_path / "s", kinds=kinds).path) as found:
        with pytest.raises(InputError, match=r"2 kinds of scores .* \(rules 00000001, 00000002\)"):
            found.leaderboard()
        assert found.leaderboard(model="demo/cnn")["n"].tolist() == [7]
        assert len(found.query("SELECT DISTINCT rules FROM scores")) == 2


def test_a_notebook_shows_the_leaderboard(results: Results) -> None:
    page = results._repr_html_()
    assert page.count("<tr>") == 1 + len(results.leaderboard())
    for text in (
        "<h3>small</h3>",
        "iou@90",
        "16 of 16 tasks",
        "demo/vit@seed2",
        "best of 4 layers",
    ):
        assert text in page
    assert "nan" not in page
    assert "&lt;NA&gt;" not in page
    assert repr(results) == "<Results of 'small': 16 of 16 tasks, 3 models, 4 methods>"


def test_names_are_escaped_in_a_notebook(tmp_path: Path) -> None:
    kinds = (Kind("<b>m</b>", "", "x&y", "given"),)
    page = open_results(make_store(tmp_path / "s", kinds=kinds).path)._repr_html_()
    assert "<b>m" not in page
    assert "&lt;b&gt;m" in page
    assert "x&amp;y" in page


def test_long_tables_are_cut_in_a_notebook(tmp_path: Path) -> None:
    kinds = tuple(Kind("m", "", f"method{i}", "given") for i in range(35))
    made = make_store(tmp_path / "s", kinds=kinds, count=2, metrics=("coverage",))
    page = open_results(made.path)._repr_html_()
    assert page.count("<tr>") == 31
    assert "5 more lines" in page


def test_threads_may_share_results(results: Results) -> None:
    expected = results.leaderboard()
    with ThreadPoolExecutor(4) as pool:
        asked = [
            *(pool.submit(results.leaderboard) for _ in range(4)),
            *(pool.submit(results.image, "image05") for _ in range(4)),
        ]
        found = [one.result() for one in asked]
    for board in found[:4]:
        assert board["model"].tolist() == expected["model"].tolist()
    for image in found[5:]:
        assert image.equals(found[4])


def test_a_selection_that_finds_nothing_is_told_in_words(tmp_path: Path) -> None:
    made = make_store(tmp_path / "s", kinds=KINDS[:4], skip=(1, 2, 5, 6))
    words: dict[str, Any] = {"model": "demo/vit@seed2", "method": "cls", "layer": 3}
    with open_results(made.path) as found:
        for ask in (found.images, found.feature_breakdown, found.style_breakdown, found.curves):
            with pytest.raises(UnknownNameError) as caught:
                ask(**words)
            said = "no scores of demo/vit@seed2 with method cls at layer 3 are stored"
            assert str(caught.value) == said
        board = found.leaderboard(model="demo/vit@seed2", method="cls", layer=3)
        assert len(board) == 0
        assert said in board.attrs["note"]
        progression = found.layer_progression(
            model="demo/vit", method="gradcam", target="predicted"
        )
        assert (
            "no scores of demo/vit with method gradcam for target predicted are stored"
            in progression.attrs["note"]
        )
        sweep = found.percentile_sweep(model="demo/vit@seed2", method="cls")
        assert "no scores of demo/vit@seed2 with method cls are stored" in sweep.attrs["note"]


def test_maps_without_layers_targets_or_seeds_stand_beside_any(results: Results) -> None:
    stored: list[dict[str, Any]] = [{"layer": 3}, {"target": "label"}, {"seed": 1}]
    for words in stored:
        board = results.leaderboard(method="center", **words)
        assert board["n"].tolist() == [7]
    other: list[dict[str, Any]] = [{"layer": 7}, {"target": "cat"}, {"seed": 5}, {"head": 0}]
    for words in other:
        with pytest.raises(UnknownNameError):
            results.leaderboard(method="center", **words)


def test_what_is_asked_for_is_told_in_words() -> None:
    assert Where().told() == "any model"
    assert Where(("a", "a@b"), ("cls",)).told() == "a and a@b with method cls"
    assert Where(("a",), None, 2, 1, "label", 4).told() == (
        "a at layer 2 of head 1 for target label drawn with seed 4"
    )
    assert Where(("a",), head="all").told() == "a of single heads"
