"""What `make lint` says of installed packages, and `make audit` of a data base that is silent."""

from __future__ import annotations

import ast
import json
import re
import sys
import tomllib
from email.message import Message
from pathlib import Path
from typing import Any

import pytest

from tests.scripts import load_script

ROOT = Path(__file__).parents[1]
FILE = ROOT / ".ci" / "packages.py"


@pytest.fixture(scope="module")
def packages() -> Any:
    """The script."""
    return load_script(FILE)


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


# What nothing imports by this name: uvicorn looks for the first two by itself, and the floor of
# torchvision goes with that of torch.
UNNAMED = {"httptools", "uvloop", "torchvision"}
# Parts of what is listed, which bring them along (pydantic, FastAPI, matplotlib, torch for CUDA),
# and a package whose pins cannot be met beside ours: whoever wants it installs it.
UNLISTED = {"anyio", "cabrnet", "contourpy", "fontTools", "pydantic_core", "starlette", "triton"}


def test_every_dependency_is_imported_and_listed_once(packages: Any) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    listed = {"": project["dependencies"], **extras}
    own = {
        group: [packages.plain(re.match(r"[\w.-]+", line)[0]) for line in lines]  # type: ignore[index]
        for group, lines in listed.items()
        if group not in ("docs", "dev")  # programs and plug-ins
    }
    every = [name for names in own.values() for name in names if name != "sightline"]
    assert sorted(set(every)) == sorted(every)
    dev = {packages.plain(re.match(r"[\w.-]+", line)[0]) for line in extras["dev"]}  # type: ignore[index]
    assert not dev & set(every), "dev has all extras"
    imported = _imported()
    modules = {"pillow": "PIL", "pot": "ot", "pyyaml": "yaml", "scikit-image": "skimage"}
    names = {name: modules.get(name, name.replace("-", "_")) for name in every}
    assert {name for name, module in names.items() if module not in imported} == UNNAMED
    assert imported - set(names.values()) == UNLISTED


def _imported() -> set[str]:
    """Return the modules of others that the package imports, wherever it does."""
    found: set[str] = set()
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                found.add(str(node.module).partition(".")[0])
    return found - sys.stdlib_module_names - {"sightline"}


def test_lint_looks_at_packages() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    lint = makefile.partition("\nlint:")[2].partition("\n\n")[0]
    assert "pip check" in lint.replace("$(PIP)", "pip")
    assert ".ci/packages.py" in lint
