"""`sightline propose`, as a person calls it."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

import pytest
from PIL import Image

from sightline.annotation.proposals import read_proposals
from sightline.cli import propose
from tests.cli.small import error, run

if TYPE_CHECKING:
    from pathlib import Path

DATA = "facades,count=3,seed=3,labelling=representative"


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Propose once; return the folder, and what was printed."""
    folder = tmp_path_factory.mktemp("proposals")
    said = run("propose", DATA, "-o", folder / "p.json", "--picture", folder / "p.png").stdout
    return folder, said


def test_it_says_what_was_found_and_what_to_do_next(found: tuple[Path, str]) -> None:
    folder, said = found
    proposals = read_proposals(folder / "p.json")
    assert proposals.data == DATA
    assert proposals.settings["least"] == 0.4
    ((model, digest),) = proposals.models()
    assert (model, len(digest)) == ("demo/vit-dino", 16)
    assert f"Proposals: {len(proposals)} on 3 images with 24 marked regions" in said
    assert "round-arch window" in said
    assert f"Written: {folder / 'p.json'}" in said
    with Image.open(folder / "p.png") as picture:
        assert picture.mode == "RGB"
        assert picture.width > 1000
    # What comes next works as it is printed.
    command = shlex.split(said.strip().splitlines()[-1])
    assert command[0] == "sightline"
    made = run(*(str(folder / "R") if one == "FOLDER" else one for one in command[1:]))
    assert f"Proposals: {len(proposals)}" in made.stdout


def test_it_can_be_asked_for_less(found: tuple[Path, str], tmp_path: Path) -> None:
    folder, _ = found
    before = read_proposals(folder / "p.json")
    (tmp_path / "ids.txt").write_text(f"{before.items[0].image_id}\n\n")
    label = before.items[0].label
    asked = ["--images", tmp_path / "ids.txt", "--label", label, "--most", 2, "--threshold", 0.5]
    command = ["propose", DATA, "-o", tmp_path / "q.json", *asked, "--json"]
    told: dict[str, Any] = json.loads(run(*command).stdout)
    assert told["images"] == 1
    assert told["labels"] == {label: 2}
    assert told["settings"]["least"] == 0.5
    after = read_proposals(tmp_path / "q.json")
    expected = [one.id for one in before.of(before.items[0].image_id) if one.label == label][:2]
    assert [one.id for one in after.items] == expected


def test_files_are_not_replaced_unless_asked(found: tuple[Path, str]) -> None:
    folder, _ = found
    content = (folder / "p.json").read_bytes()
    assert "p.json: is there already; --force replaces it" in error(
        "propose", DATA, "-o", folder / "p.json"
    )
    assert "p.png: is there already" in error(
        "propose", DATA, "-o", folder / "other.json", "--picture", folder / "p.png"
    )
    assert (folder / "p.json").read_bytes() == content
    assert not (folder / "other.json").exists()


def test_nothing_found_is_said_and_quiet_is_quiet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, out = "facades,count=1,seed=3,labelling=representative", tmp_path / "n.json"
    said = run("propose", data, "-o", out, "--threshold", 1).stdout
    assert "Proposals: 0 on 1 images" in said
    assert "a lower --threshold proposes more" in said
    monkeypatch.setattr(propose, "progress", lambda _: pytest.fail("a bar is shown"))
    assert run("propose", data, "-o", out, "--threshold", 1, "--force", "--quiet").stdout == ""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-o", "x.txt"], "x.txt: a file of proposals must end in .json"),
        (["-o", "x.json", "--picture", "x.gif"], "x.gif: a picture must end in .png"),
        (["-o", "x.json", "--images", "none.txt"], "--images none.txt: cannot be read"),
        (["-o", "x.json", "--model", "demo/vot"], "unknown model 'demo/vot'"),
        (["-o", "x.json", "--label", "tower"], "no region has the label 'tower'; there are"),
        (["-o", "x.json", "--option", "shift=3"], "unknown option 'shift'"),
        (["-o", "x.json", "--proposer", "sam", "--layer", 3], "unknown option 'layer'"),
        (["-o", "x.json", "--layer", 99], "layer must be from 0 to 11"),
    ],
)
def test_what_is_wrong_is_one_line(
    options: list[object], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert message in error("propose", "facades,count=1,labelling=representative", *options)
    assert list(tmp_path.iterdir()) == []
