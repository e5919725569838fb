"""What the browser's numbers are tested against is what the engine says now."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from tests.scripts import load_script

PATH = Path(__file__).parents[1] / "web" / "make_fixtures.py"


@pytest.fixture(scope="module")
def made() -> Any:
    """The module that writes the fixtures."""
    return load_script(PATH)


def differs(seen: Any, wanted: Any, at: str = "") -> str:
    """Name the first place where two contents differ by more than rounding; empty for none."""
    if isinstance(seen, dict) and isinstance(wanted, dict) and seen.keys() == wanted.keys():
        pairs = [(seen[key], wanted[key], f"{at}.{key}") for key in seen]
    elif isinstance(seen, list) and isinstance(wanted, list) and len(seen) == len(wanted):
        pairs = [(a, b, f"{at}[{i}]") for i, (a, b) in enumerate(zip(seen, wanted, strict=True))]
    elif isinstance(seen, float) and isinstance(wanted, float):
        return "" if math.isclose(seen, wanted, rel_tol=1e-12, abs_tol=1e-12) else at
    else:
        return "" if seen == wanted else at
    return next(filter(None, (differs(*pair) for pair in pairs)), "")


def test_scores_are_current(made: Any) -> None:
    wanted = json.loads(made.text_of(made.make_scores()))
    assert differs(json.loads(made.SCORES.read_text("utf-8")), wanted) == "", (
        "run python web/make_fixtures.py"
    )


def test_every_rule_and_sign_is_there(made: Any) -> None:
    cases = json.loads(made.SCORES.read_text("utf-8"))["cases"]
    rules = {
        (line["rule"]["selection"], line["rule"]["ties"])
        for case in cases
        for line in case["lines"]
    }
    names = ("percentile", "mass60", "mean", "matched")
    assert {(name, ties) for name in names for ties in ("share", "include")} <= rules
    assert {case["sign"] for case in cases} == {"positive", "absolute", "signed"}


def test_colours_are_current(made: Any) -> None:
    assert made.COLOURS.read_text("utf-8") == made.text_of(made.make_colours())


def test_a_changed_number_is_named() -> None:
    assert differs({"a": [1.0, {"b": 2.0}]}, {"a": [1.0, {"b": 2.1}]}) == ".a[1].b"
    assert differs([1.0, None], [1.0, 0.0]) == "[1]"
    assert differs([0.1 + 0.2], [0.3]) == ""
