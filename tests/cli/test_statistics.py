"""`sightline stats` and `sightline sparsity`: tables, sentences, JSON and the page."""

from __future__ import annotations

import json
import os
import re
import shutil
from html import escape
from typing import TYPE_CHECKING

import pandas as pd
import pytest

from tests.cli.small import error, list_score_files, numbers, run, write_given
from tests.results.statistics.stores import run_facades

if TYPE_CHECKING:
    from pathlib import Path

FEW = ("--permutations", 199)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run a study over random maps of two methods; its model has a name like markup."""
    folder = tmp_path_factory.mktemp("statistics")
    run("run", write_given(folder), "--out", folder / "runs", "--workers", 1)
    return folder / "runs" / "given"


def test_stats_prints_a_table_a_sentence_and_the_assumption(store: Path) -> None:
    text = run("stats", store, *FEW).stdout
    assert "given: iou@90 against chance, 6 images" in text
    for column in ("95% interval", "chance", "cross", "p_max_t"):
        assert column in text
    assert "net[/b]" in text
    assert "on the same regions (max-T corrected p ≤ 0.05 over 2 lines)" in text
    assert "exchangeable" in text
    assert "exact" not in text
    whole = run("stats", store, "--all", *FEW).stdout
    assert "p_holm" in whole
    assert "exact" in whole


def test_stats_fits_a_narrow_screen(store: Path) -> None:
    lines = run("stats", store, *FEW, columns=80).stdout.splitlines()
    end = next(number for number, line in enumerate(lines) if "on the same regions" in line)
    assert max(map(len, lines[:end])) <= 80


def test_stats_prints_json_and_writes_the_table(store: Path, tmp_path: Path) -> None:
    out = tmp_path / "stats.csv"
    text = run("stats", store, "--metric", "coverage", "--json", "--out", out, *FEW).stdout
    found = json.loads(text)
    assert found["metric"] == "coverage"
    assert found["against"] == "chance"
    assert found["sentence"].endswith(found["best_baseline"]["sentence"])
    assert [line["method"] for line in found["lines"]] == list(pd.read_csv(out)["method"])
    said = run("stats", store, "--out", out, *FEW).stdout
    assert f"Written: {out}" in said


def test_stats_of_single_images_of_a_torus_and_against_a_method(store: Path) -> None:
    text = run("stats", store, "--images", "--method", "first", *FEW).stdout
    assert numbers(text, "net[/b]", "first", "000.png")
    assert "20 or more maps" in text
    text = run("stats", store, "--null", "torus", *FEW).stdout
    assert "No centre-bias control." in text
    text = run("stats", store, "--against", "second", *FEW).stdout
    assert "difference" in text
    assert "second" in text.splitlines()[0]


def test_what_stats_cannot_do_is_one_line(store: Path, tmp_path: Path) -> None:
    assert "--layer must be a number, best, last or split" in error("stats", store, "--layer", "x")
    assert "did you mean" in error("stats", store, "--metric", "iou@91")
    assert "a table" in error("stats", store, "--out", tmp_path / "a.txt")
    assert "no such folder" in error("stats", tmp_path / "nothing")
    assert "no scores of method 'centre'" in error("stats", store, "--against", "centre")


def test_sparsity_prints_findings_and_writes_the_page(store: Path, tmp_path: Path) -> None:
    text = run("sparsity", store, "--draws", 50).stdout
    page = store / "report" / "sparsity.html"
    assert f"Page: {page}" in text
    assert "sensitivity band, not a confidence interval" in text
    assert "What the data cannot tell apart:" in text
    assert "No gold set was given." in text
    assert "net[/b]" in page.read_text("utf-8")
    out = tmp_path / "mine.html"
    found = json.loads(run("sparsity", store, "--draws", 50, "--json", "--out", out).stdout)
    assert found["page"] == str(out)
    assert out.read_text("utf-8") == page.read_text("utf-8")
    assert {"lines", "dropout", "sets", "conclusions"} <= found.keys()
    sentence = found["best_baseline"]["sentence"]
    assert " ".join(sentence.split()) in " ".join(text.split())
    assert escape(sentence) in page.read_text("utf-8")


def test_sparsity_joins_a_gold_store(store: Path, tmp_path: Path) -> None:
    text = run(
        "sparsity", store, "--draws", 50, "--gold", store, "--out", tmp_path / "a.html"
    ).stdout
    assert "No gold set was given." not in text
    assert "joined" in text
    assert "Against the gold annotation of 6 images" in text
    assert "The interval is that of the joined sets." in text
    assert "Gold minus other labels on the gold images" in text
    assert "6 cannot give p" in text
    assert "Detectable" not in text  # there is none to explain
    words = ("sparsity", store, "--draws", 50, "--gold", store, "--out", tmp_path / "a.html")
    sets = json.loads(run(*words, "--json").stdout)["sets"]
    joined = next(one for one in sets if one["set"] == "joined")
    ends = f"{joined['low']:.3f} to {joined['high']:.3f}"
    assert re.search(rf"{joined['value']:.3f} +{ends}", text)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run a study over drawn facades with two models and two layers."""
    folder = tmp_path_factory.mktemp("models")
    return run_facades(folder, "models", "representative", 8, methods=["cls"], seeds=[0])


def test_sparsity_marks_layers_and_shows_verdicts_whole(models: Path, tmp_path: Path) -> None:
    words = ("--draws", 50, "--out", tmp_path / "a.html")
    lines = run("sparsity", models, *words, columns=80).stdout.splitlines()
    text = "\n".join(lines)
    assert re.search(r"demo/vit +cls +(3|11)\* ", text)
    assert "*best of 2 layers on the same images, which flatters it" in text
    end = next(number for number, line in enumerate(lines) if line.startswith("Sign kept"))
    assert max(len(line) for line in lines[:end] if line.startswith(" ")) <= 80
    (pair,) = (line for line in lines if re.match(r" demo/vit +demo/vit@", line))
    assert pair.split()[-2:] == ["not", "shown"]
    assert "p_dropout" in text
    assert "P under dropout (p_dropout): permutation test with 30% of the labels left out" in text
    assert "p, 30% left out" in (tmp_path / "a.html").read_text()
    assert "Verdict: not shown = no difference shown." in text


def test_sparsity_says_how_far_a_study_is(models: Path, tmp_path: Path) -> None:
    half = tmp_path / "half"
    shutil.copytree(models, half)
    list_score_files(half)[-1].unlink()
    text = run("sparsity", half, "--draws", 50).stdout
    assert "So far: " in text


def test_reasons_that_the_sentence_gives_have_no_column(models: Path, tmp_path: Path) -> None:
    few = run_facades(tmp_path, "few", "representative", 3, methods=["cls"])
    text = run("stats", few, *FEW, columns=80).stdout
    assert "too few images: 3 with a score, 5 are needed." in text
    assert "reason" not in text


def test_a_store_that_cannot_be_written_to_is_told_first(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    assert "--out says where the page goes" in error("sparsity", store)
    out = tmp_path / "a.html"
    assert f"Page: {out}" in run("sparsity", store, "--draws", 50, "--out", out).stdout


def test_what_sparsity_cannot_do_is_one_line(store: Path, tmp_path: Path) -> None:
    assert "must be iou" in error("sparsity", store, "--metric", "coverage")
    assert ".html" in error("sparsity", store, "--out", tmp_path / "a.pdf")
    assert "no such folder" in error("sparsity", store, "--gold", tmp_path / "nothing")
