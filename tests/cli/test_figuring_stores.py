"""`sightline figure NAME STORE`: what is written where, and what is said."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import pytest
from PIL import Image

from sightline.cli.figure_stores import base_of, draw_from_store, formats_of
from sightline.core import InputError, UnknownNameError
from sightline.report import Choice, StoreFigures
from sightline.results import open_results

if TYPE_CHECKING:
    from pathlib import Path


def test_a_figure_with_its_numbers(
    demo_store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "new" / "mine.png"
    written = draw_from_store(
        "styles", demo_store, Choice(), out=out, formats="png, svg,csv", dpi=100
    )
    assert [path.name for path in written] == ["mine.png", "mine.svg", "mine.csv"]
    with Image.open(written[0]) as picture:
        assert picture.size[0] > 300
    assert "<text" in written[1].read_text("utf-8")
    with open_results(demo_store) as results:
        expected = StoreFigures(results).draw("styles")
    table = pd.read_csv(written[2])
    assert table["label"].tolist() == expected.data["label"].tolist()
    assert table["value"].tolist() == pytest.approx(expected.data["value"].tolist())
    said = capsys.readouterr().out
    assert expected.about in said
    assert f"Written: {written[1]}" in said


def test_choices_are_passed_on(demo_store: Path, tmp_path: Path) -> None:
    choice = Choice(metric="coverage", model="demo/cnn")
    (path,) = draw_from_store("leaderboard", demo_store, choice, out=tmp_path, formats="csv")
    table = pd.read_csv(path)
    assert path.name == "leaderboard.csv"
    assert set(table["model"]) == {"demo/cnn"}
    assert table["value"].is_monotonic_decreasing


def test_what_cannot_be_drawn(demo_store: Path, tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'styles'"):
        draw_from_store("style", demo_store, Choice())
    with pytest.raises(InputError, match="prototype 99 was not perturbed"):
        draw_from_store("perturbation-drops", demo_store, Choice(prototype=99), out=tmp_path)
    with pytest.raises(InputError, match="--metric is not for figure 'confusion-matrix'"):
        draw_from_store("confusion-matrix", demo_store, Choice(metric="x"), out=tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="the folder cannot be made"):
        draw_from_store("styles", demo_store, Choice(), out=tmp_path / "file" / "a.png")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize(
    ("out", "formats", "expected"),
    [
        (None, None, ["png"]),
        ("a.svg", None, ["svg"]),
        ("a.SVG", None, ["svg"]),
        ("a", None, ["png"]),
        ("a.b", None, ["png"]),
        ("a.svg", "pdf, png,pdf", ["pdf", "png"]),
    ],
)
def test_formats(out: str | None, formats: str | None, expected: list[str], tmp_path: Path) -> None:
    assert formats_of(None if out is None else tmp_path / out, formats) == expected


@pytest.mark.parametrize("formats", ["gif", "png,jpg", "", ","])
def test_wrong_formats(formats: str) -> None:
    with pytest.raises(InputError, match="--format must be of png, svg, pdf, csv; got"):
        formats_of(None, formats)


def test_where_files_go(tmp_path: Path) -> None:
    assert base_of(None, "roc_curves").as_posix() == "roc_curves"
    assert base_of(tmp_path, "roc_curves") == tmp_path / "roc_curves"
    assert base_of(tmp_path / "a.png", "roc_curves") == tmp_path / "a"
    assert base_of(tmp_path / "a.v2", "roc_curves") == tmp_path / "a.v2"
