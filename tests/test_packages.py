"""What `make lint` says of installed packages, and `make audit` of a data base that is silent."""

from __future__ import annotations

import importlib.util
import json
from email.message import Message
from pathlib import Path
from typing import Any

import pytest

FILE = Path(__file__).parents[1] / ".ci" / "packages.py"


@pytest.fixture(scope="module")
def packages() -> Any:
    """The script."""
    spec = importlib.util.spec_from_file_location("packages", FILE)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


class Package:
    """As `importlib.metadata` shows one."""

    def __init__(self, name: str, version: str, licence: str = "MIT") -> None:
        self.metadata, self.version = Message(), version
        self.metadata["Name"] = name
        self.metadata["License-Expression"] = licence


def test_what_is_wrong_is_told(packages: Any, tmp_path: Path) -> None:
    pins = tmp_path / "constraints.txt"
    pins.write_text("# a note\nGood_one==1.0\nOther==2.0  # why\ntorch==3.0\nbad==1\n")
    pinned = packages.pins(pins)
    good = [Package("good.One", "1.0"), Package("torch", "3.0+cpu"), Package("pip", "9")]
    assert packages.problems(pinned, good) == []
    wrong = [Package("other", "2.1"), Package("stray", "1"), Package("bad", "1", "Proprietary")]
    assert packages.problems(pinned, [*good, *wrong]) == [
        "bad: licence 'Proprietary' is not among those that we know",
        "other 2.1 is installed, constraints.txt pins 2.0",
        "stray 1 is installed but not pinned in constraints.txt",
    ]


@pytest.mark.parametrize(
    ("answer", "code", "said"),
    [
        ({"dependencies": [{"name": "a", "version": "1", "vulns": []}]}, 0, "1 of 1 packages"),
        (
            {"dependencies": [{"name": "a", "version": "1", "vulns": [
                {"id": "CVE-1", "fix_versions": ["2"]}]}]},
            1,
            "a 1: CVE-1",
        ),
        ({"dependencies": [{"name": "a", "skip_reason": "not found"}]}, 2, "NOT AUDITED: 1"),
        (None, 2, "NOT AUDITED: the data base could not be asked"),
    ],
)  # fmt: skip
def test_a_silent_data_base_is_no_good_news(
    packages: Any,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    answer: Any,
    code: int,
    said: str,
) -> None:
    program = tmp_path / "pip-audit"
    text = "" if answer is None else json.dumps(answer)
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{text}\nEND\n")
    program.chmod(0o755)
    assert packages.audit(str(program)) == code
    assert said in capsys.readouterr().out


def test_lint_looks_at_packages() -> None:
    makefile = (FILE.parents[1] / "Makefile").read_text("utf-8")
    lint = makefile.partition("\nlint:")[2].partition("\n\n")[0]
    assert "pip check" in lint.replace("$(PIP)", "pip")
    assert ".ci/packages.py" in lint
