"""The wheel: all of the package, the built app and the weights, nothing else, and not too large.

It is built from a copy of the tree with the app that lies there, as `make web` left it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tomllib
from email.parser import Parser
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile

import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

import sightline

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
APP = "sightline/api/static"
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
LIMIT = 40_000_000


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what a wheel is made of, with files beside it that must not be in one."""
    if not (ROOT / "src" / APP / "index.html").is_file():
        told = "the app is not built, so that no wheel can be looked at: make web"
        pytest.fail(told) if os.environ.get("CI") else pytest.skip(told)
    copy = tmp_path_factory.mktemp("tree")
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE", ".gitignore"):
        shutil.copy2(ROOT / name, copy / name)
    shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "web").mkdir()
    compiled = copy / "src/sightline/metrics/__pycache__/kernel.py311.1.nbc"
    for stray in (compiled, copy / "runs/demo/rows.parquet", copy / "tests/test_wheel.py"):
        stray.parent.mkdir(parents=True, exist_ok=True)
        stray.write_bytes(b"not for others")
    return copy


@pytest.fixture(scope="module")
def path(tree: Path) -> Iterator[Path]:
    """The wheel, as hatchling builds it; npm alone is not the real one: the app is there."""
    npm = tree / "bin" / "npm"
    npm.parent.mkdir()
    npm.write_text("#!/bin/sh\nexit 0\n")
    npm.chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{npm.parent}:/bin:/usr/bin")
        (made,) = WheelBuilder(str(tree)).build(directory=str(tree / "dist"), versions=["standard"])
        yield Path(made)


@pytest.fixture(scope="module")
def wheel(path: Path) -> Iterator[ZipFile]:
    with ZipFile(path) as opened:
        yield opened


@pytest.fixture(scope="module")
def about(wheel: ZipFile) -> Any:
    (name,) = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
    return Parser().parsestr(wheel.read(name).decode())


def test_the_wheel_is_the_package_and_nothing_else(wheel: ZipFile, tree: Path) -> None:
    held = {name for name in wheel.namelist() if ".dist-info/" not in name}
    files = (file for file in (tree / "src").rglob("*") if file.is_file())
    wanted = {file.relative_to(tree / "src").as_posix() for file in files}
    assert held == {name for name in wanted if "__pycache__" not in name}
    assert "sightline/py.typed" in held


def test_the_wheel_is_not_too_large(path: Path) -> None:
    assert path.stat().st_size < LIMIT


def test_the_app_is_whole_and_names_whose_work_it_holds(wheel: ZipFile) -> None:
    page = wheel.read(f"{APP}/index.html").decode()
    named = re.findall(r'(?:src|href)="/([^"]+)"', page)
    assert any(name.endswith(".js") for name in named)
    assert {f"{APP}/{name}" for name in named} <= set(wheel.namelist())
    licences = wheel.read(f"{APP}/licences.md").decode()
    used = json.loads((ROOT / "web/package.json").read_text("utf-8"))["dependencies"]
    assert [name for name in used if f"## {name} - " not in licences] == []


def test_every_model_that_ships_brings_its_weights(wheel: ZipFile) -> None:
    names = wheel.namelist()
    cards = [
        name for name in names if re.fullmatch(r"sightline/models/demo/[^/]+/card\.json", name)
    ]
    folders = {name.rpartition("/")[0] for name in cards}
    weights = {name.rpartition("/")[0] for name in names if name.endswith(".safetensors")}
    assert {"sightline/models/demo/vit", "sightline/models/demo/cnn"} <= folders <= weights


def test_the_metadata_say_what_the_project_says(about: Any, wheel: ZipFile) -> None:
    assert (about["Name"], about["Version"]) == ("sightline", sightline.__version__)
    assert about["License-Expression"] == "Apache-2.0"
    folder = next(name for name in wheel.namelist() if ".dist-info/" in name).partition("/")[0]
    licence = wheel.read(f"{folder}/licenses/LICENSE")
    assert licence == (ROOT / "LICENSE").read_bytes()
    assert about["Description-Content-Type"] == "text/markdown"
    assert about.get_payload().strip() == (ROOT / "README.md").read_text("utf-8").strip()
    assert set(about.get_all("Provides-Extra")) == set(PROJECT["optional-dependencies"])
    entry = wheel.read(f"{folder}/entry_points.txt").decode().split()
    assert entry == ["[console_scripts]", "sightline", "=", "sightline.cli:main"]


def test_versions_of_python_that_are_claimed_were_tried() -> None:
    """The page says for each what was tried; CI runs one of them."""
    claimed = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    page = (ROOT / "docs/installing.md").read_text("utf-8")
    assert claimed == re.findall(r"^\| (3\.\d+)\.\d+ \|", page, re.MULTILINE)
    assert PROJECT["requires-python"] == f">={claimed[0]}"


def test_every_extra_is_on_the_page() -> None:
    page = (ROOT / "docs/installing.md").read_text("utf-8")
    assert re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE) == list(
        PROJECT["optional-dependencies"]
    )


def test_the_source_archive_builds_a_wheel_and_holds_nothing_that_was_made() -> None:
    builder = SdistBuilder(str(ROOT))
    files = {one.distribution_path: Path(one.path) for one in builder.recurse_included_files()}
    always = builder.get_default_build_data()["force_include"]
    files |= {name: Path(file) for file, name in always.items()}
    needed = ["hatch_build.py", "pyproject.toml", "README.md", "LICENSE", "constraints.txt"]
    needed += ["web/package.json", "web/package-lock.json", "web/vite.config.ts", "web/index.html"]
    needed += ["web/src/main.tsx", "src/sightline/models/demo/vit/model.safetensors"]
    assert [name for name in needed if name not in files] == []
    made = re.compile(r"^(runs|site|dist)/|node_modules|__pycache__|/api/static/|^\.venv")
    assert [name for name in files if made.search(name)] == []
    sizes = {name: file.stat().st_size for name, file in files.items()}
    assert [name for name, size in sizes.items() if size > 6_000_000] == []
    assert sum(sizes.values()) < 60_000_000


def test_without_node_no_wheel_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.syspath_prepend(ROOT)
    from hatch_build import build_app

    with pytest.raises(RuntimeError, match=r"building that needs Node 20\.19 or newer"):
        build_app(tmp_path)
