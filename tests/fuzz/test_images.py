"""Hundreds of pictures, most of them hostile: read rightly or refused by name, in little memory."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from sightline.cli import app
from sightline.core import InputError
from sightline.core.regions import to_image_id
from sightline.data.images import opened, read_image
from sightline.results import open_results
from sightline.study import Study, run_study
from tests.fuzz.child import Outcome
from tests.fuzz.pictures import pictures, upright

if TYPE_CHECKING:
    from tests.fuzz.conftest import Watch

SEED, BROKEN, MEGABYTES = 0, 230, 1500
ROOT = Path(__file__).parents[2]
HUGE = ("declares-8900x8900.gif", "rle-wide.bmp")  # read, within the limit, and once is enough


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pictures")


@pytest.fixture(scope="module")
def outcome(folder: Path) -> Outcome:
    """Read the whole corpus in one child whose memory is limited."""
    words = [sys.executable, "-m", "tests.fuzz.child", "pictures", folder, SEED, BROKEN, MEGABYTES]
    done = subprocess.run(
        [str(word) for word in words], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    lines = done.stdout.splitlines()
    assert done.returncode == 0, f"ended at {lines[-1:]}: {done.stderr[-2000:]}"
    return Outcome(**json.loads(lines[-1]))


def test_every_picture_is_read_rightly_or_refused(outcome: Outcome) -> None:
    assert outcome.wrong == []
    assert outcome.distinct >= 500
    assert outcome.cases == len(outcome.read) + outcome.refusals
    assert min(len(outcome.read), len(outcome.refused)) > 150


def test_memory_is_bounded(outcome: Outcome) -> None:
    """The largest picture that is allowed takes it; no hostile one takes more."""
    assert outcome.peak < 1000


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("pipe.png", "is not a file"),
        ("zero.png", "is not a file"),
        ("sparse.jpg", "at most 700,000,000 bytes, the file has 50,000,000,000"),
        ("sparse.webp", "at most 700,000,000 bytes"),
        ("scans.jpg", "at most 100 scans, this one has 4"),
        ("scans-film.jpg", "at most 100 scans, this one has 4"),
        ("scans-no-end.jpg", "at most 100 scans, this one has 4"),
        ("scans-filled.jpg", "at most 100 scans, this one has 4"),
        ("scans-hidden.jpg", "at most 100 scans, this one has 4"),
        ("scans-usual.jpg", "at most 100 scans, this one has 4"),
        ("segments.jpg", "at most 100,000 segments"),
        ("segments-first.jpg", "at most 100,000 segments"),
        ("junk-zeros.jpg", "at most 1,000,000 bytes in no segment"),
        ("junk-zeros-first.jpg", "at most 1,000,000 bytes in no segment"),
        ("junk-restarts-first.jpg", "at most 1,000,000 bytes in no segment"),
        ("declares-8900x8900.jpg", "too few for the 79,210,000 pixels"),
        ("declares-10000x100000.png", "at most 80,000,000 pixels"),
        ("holds-eps.jpg", "its start is that of no JPEG, PNG"),
    ],
)
def test_why_some_are_refused(outcome: Outcome, name: str, why: str) -> None:
    assert why in outcome.refused[name]


def test_nothing_is_started_for_a_picture(folder: Path, outcome: Outcome, watch: Watch) -> None:
    """PostScript would be drawn by a program of its own."""
    del outcome
    with watch() as seen, pytest.raises(InputError):
        read_image(folder / "holds-eps.jpg")
    begun = [name for name in seen if name.startswith(("starts", str(folder)))]
    assert begun == [str(folder / "holds-eps.jpg")]
    assert not Path("/tmp/sightline-fuzz-eps").exists()  # noqa: S108


def test_a_stream_sets_no_memory_aside(tmp_path: Path) -> None:
    """A chunk that declares gigabytes is asked for as what the file holds."""
    case = next(case for case in pictures(0, 0) if case.name == "mode-rgb.png")
    (tmp_path / "a.png").write_bytes(case.content)
    with opened(tmp_path / "a.png") as image:
        stream: Any = image.fp  # type: ignore[attr-defined]
        stream.seek(0)
        assert stream.read(2**62) == case.content


def test_turning_is_its_own_reference() -> None:
    """Each way of EXIF differs from the others, and twice 3 is nothing."""
    pixels = next(case.expected for case in pictures(0, 0) if case.name == "mode-rgb.png")
    seen = {upright(pixels, way).tobytes() for way in range(1, 9)}
    assert len(seen) == 8
    assert (upright(upright(pixels, 3), 3) == pixels).all()
    assert (upright(upright(pixels, 6), 8) == pixels).all()


# --- as data sets --------------------------------------------------------------------------------


ODD = ["a b.jpg", "a'b\".jpg", "西安.jpg", "<b>&amp;.jpg", "=1+1.jpg", "-rf.jpg"]
LABEL = "=cmd|' /C calc'!A0 <script>alert(\"1\")</script>\n\u202e🏰"


def _annotate(folder: Path, names: list[str], name: str) -> Path:
    region = {"label": LABEL, "box": [0.2, 0.2, 0.6, 0.7]}
    records = [{"image": name, "regions": [region], "labels": [LABEL]} for name in names]
    content = {"format": "sightline-annotations", "version": 1, "images": records}
    (folder / name).write_text(json.dumps(content))
    return folder / name


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_inspect_lists_all_bad_ones(folder: Path, outcome: Outcome) -> None:
    names = [name for name in (*outcome.read, *outcome.refused) if name not in HUGE]
    file = _annotate(folder, names, "all.json")
    done = CliRunner().invoke(app, ["inspect", "folder", str(file), "--skip-bad", "--json"])
    assert done.exit_code == 0, done.output[-2000:]
    told = json.loads(done.stdout)
    bad = {problem["where"].removeprefix("image ").strip("'") for problem in told["problems"]}
    assert bad | set(told["missing"]) == set(outcome.refused)
    refused = CliRunner().invoke(app, ["inspect", "folder", str(file), "--json"])
    assert refused.exit_code != 0


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_run_leaves_bad_ones_out_and_keeps_odd_names(
    folder: Path, outcome: Outcome, tmp_path: Path
) -> None:
    read = [name for name in outcome.read if name not in HUGE and "thousands" not in name][::20]
    bad = [name for name in outcome.refused if name.startswith(("cut", "changed"))][::25]
    bad += ["pipe.png", "folder.png", "zero.png", "sparse.png", "none.png", "bomb-iCCP.png"]
    for name in ODD:
        shutil.copy(folder / "mode-rgb.png", folder / name)
    file = _annotate(folder, [*read, *bad, *ODD], "some.json")
    study = Study.from_dict(
        {
            "name": "fuzz",
            "data": {"name": "folder", "path": str(file)},
            "models": ["demo/cnn"],
            "methods": ["centre"],
            "metrics": ["coverage"],
            "resolution": 8,
        }
    )
    with pytest.raises(InputError, match="--skip-bad"):
        run_study(study, tmp_path / "strict", workers=1)
    run = run_study(study, tmp_path / "runs", workers=1, skip_bad=True)
    skipped = {entry["image"] for entry in run.store.manifest()["skipped"]}
    assert skipped == set(bad)
    results = open_results(run.store.path)
    assert set(results.images()["image"]) == {*read, *map(to_image_id, ODD)}
    assert {label for labels in results.images()["labels"] for label in labels} == {LABEL}
    assert results.feature_breakdown()["label"].tolist() == [LABEL]
    written = list((tmp_path / "runs").rglob("*"))
    assert all(path.resolve().is_relative_to(tmp_path) for path in written)
