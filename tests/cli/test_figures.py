"""`sightline figures`: what is registered is shown."""

from __future__ import annotations

import json
from functools import partial

import pytest

from sightline import figures
from sightline.figures import FIGURES
from sightline.report import StoreFigures
from tests.cli import small
from tests.scripts import printed_by

run = partial(small.run, "figures")


@pytest.mark.parametrize("columns", [80, 200])
def test_figures_are_shown(columns: int) -> None:
    out = run(columns=columns).stdout
    words = " ".join(out.split())
    for card in FIGURES.values():
        assert f"  {card.name} " in out
    assert f"{FIGURES['radar'].title}." in words
    assert "figure leaderboard runs/demo --out leaderboard.png" in words


def test_groups_stand_together_and_are_named_once() -> None:
    out = run().stdout
    for word in ("single images", " scores ", " curves ", "checks of maps", "detections"):
        assert word in out
    lines = out.splitlines()
    seen = [i for i, line in enumerate(lines) if line.split()[:1] and line.split()[0] in FIGURES]
    assert len(seen) == len(FIGURES)
    groups = [FIGURES[lines[i].split()[0]].group for i in seen]
    assert len(list(dict.fromkeys(groups))) == sum(
        one != other for one, other in zip(groups, ["", *groups], strict=False)
    )


@pytest.mark.parametrize("name", FIGURES)
def test_one_figure_is_shown_whole(name: str) -> None:
    card = FIGURES[name]
    words = " ".join(run(name, columns=400).stdout.split())
    for text in (card.title, card.shows, card.reading, card.needs, f"{card.file}.png"):
        assert " ".join(text.split()) in words
    assert f"sightline.figures.{card.function.__name__}(" in words
    assert hasattr(figures, card.function.__name__)
    stored = name in StoreFigures.names()
    assert (f"figure {name} runs/demo" in words) is stored
    assert ("It is drawn in Python" in words) is not stored


def test_how_to_call_it_is_said_without_types() -> None:
    words = " ".join(run("leaderboard").stdout.split())
    assert "sightline.figures.draw_leaderboard(table, *, metric=None, ax=None)" in words


def test_figures_as_json_hold_the_whole_card() -> None:
    said = json.loads(run("--json").stdout)
    assert [entry["name"] for entry in said] == list(FIGURES)
    for entry in said:
        card = FIGURES[entry["name"]]
        for field in ("title", "file", "group", "shows", "reading", "needs"):
            assert entry[field] == getattr(card, field)
        assert entry["function"] == card.function.__name__
    assert json.loads(run("radar", "--json").stdout) in said


def test_an_unknown_figure_names_the_nearest() -> None:
    result = run("leaderbord", code=2)
    assert result.stderr.startswith(
        "error: unknown figure 'leaderbord'; did you mean 'leaderboard'?"
    )
    assert len(result.stderr.splitlines()) == 1


def test_figures_are_listed_without_matplotlib() -> None:
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from typer.testing import CliRunner; from sightline.cli import app\n"
        "result = CliRunner().invoke(app, ['figures', '--json']); print(result.exit_code)\n"
        "print('pandas' in sys.modules)"
    )
    assert printed_by(code).split() == ["0", "False"]


@pytest.mark.parametrize("name", sorted(FIGURES))
def test_a_figure_is_known_by_its_function_and_its_file_as_well(name: str) -> None:
    card = FIGURES[name]
    assert figures.find_card(name) is card
    assert figures.find_card(card.file) is card
    assert figures.find_card(card.function.__name__).function is card.function


def test_the_name_of_a_function_shows_its_card() -> None:
    asked = run("create_metrics_radar_chart", "--json").stdout
    assert json.loads(asked)["name"] == "radar"
