"""`sightline similarity`: what it writes, what it says, and boxes that cannot be."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PIL import Image
from safetensors.numpy import load_file

from sightline.attribution.methods import draw_similarity, similarity
from tests.cli.small import error, run

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("loaded_once")
BOX = (10, 20, 40, 60)
TEXT = "10,20,40,60"


def test_a_picture_and_a_line_about_it(image: Path, tmp_path: Path) -> None:
    out = tmp_path / "a.png"
    said = run("similarity", image, "--box", TEXT, "--out", out).stdout
    found = similarity("demo/vit-dino", image, BOX)
    expected = draw_similarity(found, image, BOX, fit="input 224 x 224")
    with Image.open(out) as picture:
        assert np.array_equal(np.asarray(picture), np.asarray(expected))
    low, high, mean = (getattr(found.of(), name)() for name in ("min", "max", "mean"))
    lines = said.splitlines()
    assert lines[0] == f"Picture: {out}"
    assert lines[1].startswith(
        f"Similarity by the last features of demo/vit-dino: from {low:.2f} to {high:.2f}, "
        f"{mean:.2f} on average; "
    )
    assert lines[1].endswith("inside the box")
    assert lines[-1].endswith(f"--box {TEXT} --onto OTHER.png")


def test_onto_another_image_with_its_map_in_a_file(
    image: Path, facades: Path, tmp_path: Path
) -> None:
    other = facades / "images" / "facade-00001.png"
    maps = tmp_path / "a.safetensors"
    said = run(
        "similarity", image, "--box", TEXT, "--onto", other, "--layer", "-2", "--maps", maps,
        "-m", "demo/vit", "--json",
    ).stdout  # fmt: skip
    told = json.loads(said)
    (values,) = load_file(maps).values()
    expected = similarity("demo/vit", image, BOX, layer=10, other=other).of()
    assert np.array_equal(values, expected)
    assert list(load_file(maps)) == ["facade-00001.png"]
    assert (told["layer"], told["grid"], told["box"]) == (10, [14, 14], list(BOX))
    assert told["highest"] == pytest.approx(float(expected.max()))
    assert told["out"] is None
    assert "inside" not in told


def test_unless_told_it_is_written_here(
    image: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said = run("similarity", image, "--box", TEXT, "--size", "64x32", "--fit", "letterbox").stdout
    assert said.startswith("Picture: similarity.png\n")
    assert (tmp_path / "similarity.png").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--box", "1,2,3"], "--box must be four numbers x0,y0,x1,y1 in pixels of the image, got"),
        (["--box", "1,2,3,b"], "--box must be four numbers"),
        (["--box", "40,20,10,60"], "--box 40,20,10,60: box must be .* with x0 < x1 and y0 < y1"),
        (["--box", "10,20,10,60"], "with x0 < x1"),
        (["--box", "10,20,97,60"], r"\(96 x 96\) and lie inside it, got 10, 20, 97, 60"),
        (["--box", TEXT, "--layer", "12"], "--layer 12: layer must be from 0 to 11"),
        (["--box", TEXT, "--onto", "none.png"], "none.png"),
        (["--box", TEXT, "--out", "a.gif"], "must end in .png"),
        (["--box", TEXT, "--out", "IMAGE"], "is one of the images, and would be written over"),
        (["--box", TEXT, "--size", "9"], "--size 9: "),
        (["--box", TEXT, "-m", "demo/none"], "demo/none"),
    ],
)
def test_what_is_wrong_is_named(
    options: list[str], message: str, image: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = image.read_bytes()
    words = [str(image) if word == "IMAGE" else word for word in options]
    assert re.search(message, error("similarity", image, *words))
    assert image.read_bytes() == before
    assert not list(tmp_path.iterdir())


def test_a_box_that_is_cropped_away(tmp_path: Path) -> None:
    wide = tmp_path / "wide.png"
    Image.fromarray(np.zeros((40, 160, 3), np.uint8)).save(wide)
    said = error(
        "similarity", wide, "--box", "0,0,20,20", "--fit", "crop", "-o", tmp_path / "a.png"
    )
    assert "--box 0,0,20,20: the region is out of sight: with fit 'crop' demo/vit-dino sees" in said
