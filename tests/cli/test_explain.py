"""`sightline explain`: from image files to pictures and files of maps, and to scores."""

from __future__ import annotations

import json
import os
import re
import shlex
import struct
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image
from safetensors import safe_open
from transformers import Dinov2Config, Dinov2Model

from sightline.attribution.methods import METHODS, explain
from sightline.attribution.methods.picture import draw_maps
from sightline.cli import explain_steps
from sightline.core import InputError
from sightline.core.geometry import Geometry
from sightline.core.registry import Registry
from sightline.data import open_maps, read_annotations
from sightline.data.by_image import score_by_image
from sightline.data.images import read_image
from sightline.models import load_model
from tests.cli.small import run

pytestmark = pytest.mark.usefixtures("loaded_once")


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a tiny network without classes."""
    torch.manual_seed(0)
    config = Dinov2Config(
        hidden_size=16, num_hidden_layers=2, num_attention_heads=2, image_size=32, patch_size=8
    )
    folder = tmp_path_factory.mktemp("bare")
    Dinov2Model(config).save_pretrained(folder)
    return folder


def stored(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    with safe_open(path, "numpy") as content:
        arrays = {key: content.get_tensor(key) for key in content.keys()}  # noqa: SIM118
        return arrays, json.loads(content.metadata()["sightline"])


def test_one_picture_with_what_is_usual(image: Path, tmp_path: Path) -> None:
    out = tmp_path / "overlay.png"
    said = run("explain", image, "--out", out).stdout
    maps, pixels = explain("demo/vit", image, "cls", layers=11), read_image(image)
    shares = load_model("demo/vit").logits(image).softmax(1)[0]
    name = load_model("demo/vit").classes[int(shares.argmax())]
    expected = draw_maps(
        maps,
        pixels,
        names=["facade-00000.png · 96 x 96"],
        notes=[f"predicted: {name}, {shares.max():.1%}"],
        fit="squash to 224 x 224",
    )
    with Image.open(out) as picture:
        assert picture.tobytes() == expected.tobytes()
    assert f"Picture: {out}" in said
    assert f"facade-00000.png {name} ({shares.max():.1%})" in said
    steps = re.search(r"Seconds: (\d+\.\d), of which (.*)", said)
    assert steps is not None
    names, seconds = zip(*(step.split() for step in steps[2].split(", ")), strict=True)
    assert names == ("loading", "cls", "predicting", "drawing")
    assert sum(map(float, seconds)) == pytest.approx(float(steps[1]), abs=0.08)
    assert "--layer all" in said


def test_many_parts_make_a_larger_picture(facades: Path, tmp_path: Path) -> None:
    sizes = {}
    for name, options in {
        "one": (),
        "layers": ("--layer", "all"),
        "heads": ("--head", "all"),
        "methods": ("--method", "cls,rollout, gradcam,cls", "--layer", "5,-1,11"),
    }.items():
        run("explain", facades / "images" / "facade-00001.png", *options, "-o", tmp_path / "p.jpg")
        with Image.open(tmp_path / "p.jpg") as picture:
            assert picture.format == "JPEG"
            sizes[name] = picture.size
    assert sizes["layers"][0] > sizes["heads"][0] > sizes["one"][0]
    assert sizes["methods"][1] > sizes["heads"][1]


def test_options_reach_the_method(image: Path, tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    options = {"--method": "rollout,gradcam", "--layer": "11,5", "--target": "Gothic"}
    options |= {"--fit": "crop", "--size": "192x160", "--param": "fusion=max", "--batch": "2"}
    words = [word for pair in options.items() for word in pair]
    run("explain", image, *words, "--maps", path, "--device", "cpu", "--param", "discard=0.5")
    arrays, about = stored(path)
    model = load_model("demo/vit", fit="crop", size=(192, 160))
    rollout = explain(
        model, image, "rollout", layers=[11, 5], params={"fusion": "max", "discard": 0.5}
    )
    gradcam = explain(model, image, "gradcam", layers=[11, 5], target="Gothic")
    for maps in (rollout, gradcam):
        for layer in (11, 5):
            key = f"facade-00000.png__{maps.method}__layer{layer}"
            np.testing.assert_allclose(arrays.pop(key), maps.of(layer=layer), rtol=1e-4, atol=1e-9)
            entry = about["maps"][key]
            assert Geometry.from_dict(entry["geometry"]) == maps.geometries[0][0]
            assert entry["target"] == ("Gothic" if maps is gradcam else "")
            assert entry["params"]["batch"] == 2
    assert not arrays
    assert about["maps"]["facade-00000.png__rollout__layer5"]["params"]["fusion"] == "max"


def test_heads_are_told_apart(image: Path, tmp_path: Path) -> None:
    run("explain", image, "--head", "3,0", "--layer", 7, "--maps", tmp_path / "m.npz")
    maps = explain("demo/vit", image, "cls", layers=7, heads="all")
    with open_maps(tmp_path / "m.npz") as found:
        assert len(found) == 2
        for head in (0, 3):
            expected = maps.of(layer=7, head=head)
            key = f"facade-00000.png__cls__layer7__head{head}"
            np.testing.assert_allclose(found[key], expected, rtol=1e-4, atol=1e-9)


def test_a_cnn_and_a_method_made_of_others(facades: Path, tmp_path: Path) -> None:
    options = ("--model", "demo/cnn", "--method", "mean_map,edge", "--layer", "all")
    run("explain", facades / "images", *options, "--param", "of=gradcam", "--param", "seed=1",
        "--maps", tmp_path / "x.npz", code=2)  # fmt: skip
    run("explain", facades / "images", *options, "--param", "of=gradcam",
        "--maps", tmp_path / "m.npz")  # fmt: skip
    with open_maps(tmp_path / "m.npz") as found:
        names = {name.partition("__")[2] for name in found}
    assert names == {"edge", *(f"mean_map__layer{number}" for number in range(4))}


def test_json_says_all_that_was_done(facades: Path, bare: Path, tmp_path: Path) -> None:
    out, path = tmp_path / "p.png", tmp_path / "m.safetensors"
    options = ("--method", "cls,saliency,cls", "--layer", "3,-9", "--out", out, "--maps", path)
    said = json.loads(run("explain", facades / "images", *options, "--json").stdout)
    assert (said["model"], said["fit"], said["drawn"]) == ("demo/vit", "squash", 3)
    assert said["digest"] == load_model("demo/vit").digest
    assert (said["out"], said["maps"]) == (str(out), str(path))
    assert [entry["image"] for entry in said["images"]] == [f"facade-0000{i}.png" for i in range(3)]
    assert all(entry["size"] == [96, 96] for entry in said["images"])
    assert all(0.25 < entry["predicted"]["probability"] <= 1 for entry in said["images"])
    cls, saliency = said["methods"]
    assert (cls["layers"], cls["heads"], cls["targets"], cls["grids"]) == (
        [3],
        [None],
        [],
        ["14x14"],
    )
    assert (saliency["layers"], saliency["sign"]) == ([None], "absolute")
    assert saliency["targets"] == [entry["predicted"]["class"] for entry in said["images"]]
    assert sorted(said["keys"]) == sorted(stored(path)[0])
    assert said["can_be_scored"] is False
    plain = json.loads(
        run("explain", facades / "images", "--model", f"hf:{bare}", "--out", out, "--json").stdout
    )
    assert [entry["predicted"] for entry in plain["images"]] == [None] * 3
    assert plain["maps"] is plain["keys"] is None


# --- scores --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--fit", "native", "--method", "rollout"),
        ("--fit", "letterbox", "--resolution", "pixels"),
        ("--method", "saliency", "--resolution", "48"),
    ],
    ids=" ".join,
)
def test_the_line_it_ends_with_scores_the_maps(
    facades: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    said = run("explain", facades / "images", *options, "--maps", "maps.safetensors").stdout
    command = shlex.split(said.splitlines()[-1])
    assert command[:2] == ["sightline", "score"]
    assert ("--sign" in command) == ("saliency" in options)
    command[command.index("annotations.json")] = str(facades / "annotations.json")
    run(*command[1:])
    frame = pd.read_csv("scores.csv")
    arrays, _ = stored(Path("maps.safetensors"))
    assert sorted(frame["image"].unique()) == sorted(arrays)
    sign: Any = "absolute" if "saliency" in options else "positive"
    again = score_by_image(arrays, read_annotations(facades / "annotations.json"), sign=sign).frame
    np.testing.assert_allclose(frame["coverage"], again["coverage"])
    assert frame["coverage"].notna().all()


@pytest.mark.parametrize(
    "options", [("--fit", "crop", "--resolution", "pixels"), ("--fit", "letterbox")], ids=" ".join
)
def test_maps_that_do_not_cover_their_image_are_not_scored(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    """They are not even mistaken for maps of the image: the scores would be wrong."""
    noise = np.random.default_rng(0).integers(0, 256, (60, 90, 3), np.uint8)
    Image.fromarray(noise).save(tmp_path / "a.png")
    (tmp_path / "a.csv").write_text("image,label,x0,y0,x1,y1\na.png,door,0,0,0.5,0.5\n")
    said = run("explain", tmp_path / "a.png", *options, "--maps", tmp_path / "m.npz").stdout
    assert "To score maps" in said
    result = run(
        "score", tmp_path / "m.npz", "-a", tmp_path / "a.csv", "-o", tmp_path / "s.csv", code=2
    )
    assert "no map fits an image" in result.stderr
    maps = tmp_path / "m.safetensors"
    run("explain", tmp_path / "a.png", *options, "--maps", maps)
    result = run("score", maps, "-a", tmp_path / "a.csv", "-o", tmp_path / "s.csv", code=2)
    why = "show a crop.*--fit squash" if "crop" in options else "letterbox.*--resolution pixels"
    assert re.search(f"no map fits an image: the maps .*{why}", result.stderr)


def test_several_maps_of_an_image_are_not_scored_and_why(facades: Path, tmp_path: Path) -> None:
    maps = tmp_path / "m.safetensors"
    run("explain", facades / "images", "--method", "cls,edge", "--layer", "3,5", "--maps", maps)
    words = ("-a", facades / "annotations.json", "-o", tmp_path / "s.csv")
    said = run("score", maps, *words, code=2).stderr
    assert "several maps of an image: methods cls, edge, layers 3, 5" in said
    assert "one --method, --layer and --head" in said


@pytest.mark.parametrize("ending", ["safetensors", "npz"])
def test_the_sign_of_the_maps_is_kept(facades: Path, tmp_path: Path, ending: str) -> None:
    maps, out = tmp_path / f"m.{ending}", tmp_path / "s.csv"
    run("explain", facades / "images", "--method", "saliency", "--maps", maps)
    words = ("score", maps, "-a", facades / "annotations.json", "-o", out)
    with open_maps(maps) as found:
        arrays = dict(found)
    known = read_annotations(facades / "annotations.json")

    def means(sign: Any) -> Any:
        return score_by_image(arrays, known, sign=sign).frame["coverage"]

    says = ending == "safetensors"
    assert abs(means("absolute") - means("positive")).max() > 1e-4  # the sign matters here
    if says:
        assert "Sign: absolute, as the maps' file says" in run(*words).stdout
        np.testing.assert_allclose(pd.read_csv(out)["coverage"], means("absolute"))
        report = json.loads(run(*words, "--json").stdout)
        assert (report["sign"], report["sign_from"]) == ("absolute", "file")
    else:
        assert "its map has negative values" in run(*words, code=2).stderr
    text = run(*words, "--sign", "positive").stdout
    assert ("Sign: positive, as given; the maps' file says absolute" in text) == says
    assert says or "Sign:" not in text
    np.testing.assert_allclose(pd.read_csv(out)["coverage"], means("positive"))
    report = json.loads(run(*words, "--sign", "absolute", "--json").stdout)
    assert (report["sign"], report["sign_from"], report["notes"]) == ("absolute", "option", [])


# --- images of all kinds -------------------------------------------------------------------------


def header(width: int, height: int) -> bytes:
    """Return a PNG that declares a size and holds nothing."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    sizes = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = chunk(b"IHDR", sizes) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


def test_odd_images_work(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    plain = Image.fromarray(rng.integers(0, 256, (40, 60, 3), np.uint8))
    plain.convert("CMYK").save(tmp_path / "cmyk.jpg")
    deep = rng.integers(0, 1 << 16, (40, 60), np.uint16)
    Image.fromarray(deep).save(tmp_path / "deep.png")
    plain.save(tmp_path / "moving.gif", save_all=True, append_images=[plain.rotate(90)])
    Image.new("RGB", (1, 1), (200, 10, 10)).save(tmp_path / "dot.png")
    Image.fromarray(rng.integers(0, 256, (300, 2, 3), np.uint8)).save(tmp_path / "narrow.png")
    plain.save(tmp_path / ("n" * 150 + " Köln 中.png"))
    out = tmp_path / "out"
    out.mkdir()
    for fit in ("squash", "native"):
        options = ("--fit", fit, "--size", 64, "--method", "cls,edge", "--json")
        said = json.loads(run("explain", tmp_path, *options, "-o", out / "p.png").stdout)
        assert len(said["images"]) == said["drawn"] == 6
        with Image.open(out / "p.png") as picture:
            assert picture.width > 600
        (out / "p.png").unlink()


def test_many_images_are_drawn_in_part_and_counted(
    facades: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(explain_steps, "_MOST_IMAGES", 2)
    options = ("--out", tmp_path / "p.png", "--maps", tmp_path / "m.npz")
    said = run("explain", facades / "images", *options).stdout
    assert "(the first 2 of 3 images)" in said
    assert "Maps (3)" in said
    assert (
        "(the first" not in run("explain", facades / "images", "--maps", tmp_path / "n.npz").stdout
    )
    monkeypatch.setattr(explain_steps, "_MOST_TILES", 5)
    said = run("explain", facades / "images", "--layer", "0,1,2", *options).stdout
    assert "(the first 1 of 3 images)" in said
    many = ("--method", "cls,rollout", "--layer", "0,1,2")
    result = run("explain", facades / "images", *many, *options, code=2)
    assert "a picture holds at most 4 maps of an image, these would be 6" in result.stderr
    run("explain", facades / "images", *many, *options[2:])


@pytest.mark.parametrize("kept", [10**9, 0])
def test_progress_counts_images(
    facades: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: int
) -> None:
    monkeypatch.setattr(explain_steps, "_KEPT_PIXELS", kept)
    moves: list[tuple[int, int]] = []
    texts: list[str | None] = []
    options = explain_steps.Options(
        [facades / "images"], "demo/vit", ["cls", "edge"], batch=1, maps=tmp_path / "m.npz"
    )

    def move(done: int, total: int, what: str | None = None, /) -> None:
        moves.append((done, total))
        texts.append(what)

    explain_steps.explain_images(options, move)
    # 2 methods and the prediction
    assert moves == [*((number, 9) for number in range(1, 10)), (1, 1)]
    assert texts == ["Explaining"] * 9 + ["Writing"]


# --- what goes wrong -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--model", "demo/vti"],
            r"unknown model 'demo/vti'; did you mean 'demo/vit'\? Known: demo",
        ),
        (["--method", "clss"], r"unknown method 'clss'; did you mean 'cls'\? Known: cls, mean, "),
        (["--method", ","], "--method must name a method"),
        (
            ["--method", "pool"],
            "'pool' needs pooling, which demo/vit does not have; .*'cls'",
        ),
        (["--layer", "12"], "--layer 12: layer must be from 0 to 11 for demo/vit .*, got 12"),
        (["--layer", "first"], "--layer must be numbers separated by commas, or all: 'first'"),
        (["--layer", ","], "--layer ,: no layers were asked for"),
        (["--layer", "3", "--method", "saliency"], "--layer 3: .*no layers in maps of saliency"),
        (["--head", "4"], "--head 4: head must be from 0 to 3 for demo/vit .*, got 4"),
        (["--head", "x"], "--head must be numbers separated by commas, or all: 'x'"),
        (["--head", "1", "--method", "rollout"], "--head 1: .*no heads in maps of rollout"),
        (["--target", "Gothic"], "--target Gothic: no class is explained by cls"),
        (["--target", "label", "--method", "gradcam"], "--target label: images have no label"),
        (
            ["--method", "gradcam", "--target", "Gotik"],
            "--target Gotik: unknown class 'Gotik'.*'Gothic'",
        ),
        (["--method", "gradcam", "--target", "4"], "--target 4: class must be from 0 to 3"),
        (["--size", "10x"], "--size must be a side or WIDTHxHEIGHT in pixels, got '10x'"),
        (["--size", "0"], "--size must be a side or WIDTHxHEIGHT in pixels, got '0'"),
        (["--size", "100"], "--size 100: .*no multiple of the patch 16x16"),
        (["--param", "x"], "--param must be name=value, got 'x'"),
        (["--param", "x=1"], "--param x: cls takes no parameters"),
        (["--method", "rollout", "--param", "fusoin=max"], "unknown parameter .*'fusion'"),
        (["--method", "rollout", "--param", "fusion=best"], "fusion must be mean, max or min"),
        (["--device", "abacus"], "device 'abacus' cannot be used"),
        (["--resolution", "pixels"], "--resolution pixels is of the file of maps: give --maps"),
        (
            ["--maps", "m.npz", "--resolution", "half"],
            "--resolution must be grid, pixels or a number, got 'half'",
        ),
        (["--maps", "m.pt"], r"m.pt: a file of maps must end in .safetensors, .npz"),
        (["--out", "p.pdf"], r"p.pdf: a picture must end in .png, .jpg, .jpeg"),
        (["--out", "none/p.png"], "folder none does not exist"),
        (["missing.png"], "missing.png: no such image"),
        (["huge.png"], "huge.png: image must have at most 80,000,000 pixels"),
        (["broken.png"], "broken.png: cannot be read as an image"),
        (["empty"], "empty: holds no images"),
        (["--model", "hf:BARE", "--method", "gradcam"], "method 'gradcam' needs classes"),
        (["--model", "hf:none"], "hf:none is no folder here"),
        (
            ["--model", "demo/cnn", "--method", "cls"],
            "method 'cls' needs attention and class token.*'gradcam'",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_errors_are_one_line_and_write_nothing(
    image: Path,
    bare: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    Path("huge.png").write_bytes(header(20_000, 20_000))
    Path("broken.png").write_text("no image")
    Path("empty").mkdir()
    before = sorted(Path().rglob("*"))
    words = [word.replace("BARE", str(bare)) for word in options]
    result = run("explain", image, "--out", "p.png", *words, code=2)
    assert re.fullmatch(rf"error: .*{message}.*\n", result.stderr), result.stderr
    assert result.stdout == ""
    assert sorted(Path().rglob("*")) == before


def test_nothing_to_write_is_an_error(image: Path) -> None:
    assert run("explain", image, code=2).stderr.startswith("error: nothing to write: give --out")
    assert "Missing argument" in run("explain", code=2).stderr
    assert "letterbox" in run("explain", image, "--fit", "stretch", code=2).stderr


def test_paths_are_checked_before_anything_is_loaded(
    image: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise AssertionError("loaded")

    monkeypatch.setattr("sightline.models.load_model", fail)
    for words in (["--out", tmp_path / "p.gif"], ["--maps", tmp_path / "m.csv"]):
        assert "must end in" in run("explain", image, *words, code=2).stderr
    result = run("explain", tmp_path / "none.png", "--out", tmp_path / "p.png", code=2)
    assert "no such image" in result.stderr


def test_two_images_of_one_name(image: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    Image.open(image).save(other / image.name)
    run("explain", image, other / image.name, "--out", tmp_path / "p.png")
    maps = tmp_path / "m.npz"
    result = run("explain", image, other / image.name, "--maps", maps, code=2)
    assert "both are named 'facade-00000.png'" in result.stderr
    assert not maps.exists()


def test_a_picture_is_whole_or_as_it_was(
    image: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "p.png"
    out.write_text("before")

    def save(self: Any, path: Path, *_: Any, **__: Any) -> None:
        path.write_bytes(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(Image.Image, "save", save)
    assert run("explain", image, "--out", out, code=2).stderr == "error: disk full\n"
    assert out.read_text() == "before"
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.parametrize("option", ["--out", "--maps"])
def test_a_folder_that_cannot_be_written_to_is_named_first(
    image: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    def access(path: Any, mode: int) -> bool:
        return not (Path(path) == tmp_path and mode & os.W_OK)

    monkeypatch.setattr(os, "access", access)
    path = tmp_path / {"--out": "p.png", "--maps": "m.npz"}[option]
    result = run("explain", image, "--model", "hf:none", option, path, code=2)
    assert result.stderr == (
        f"error: {option} {path}: the folder {tmp_path} cannot be written to\n"
    )


def test_bad_images_are_left_out_and_listed(image: Path, tmp_path: Path) -> None:
    folder = tmp_path / "images"
    folder.mkdir()
    Image.open(image).save(folder / "b.png")
    (folder / "a.png").write_text("no image")
    (folder / "c.png").write_bytes(image.read_bytes()[:2000])  # its header is whole
    words = ("explain", folder, tmp_path / "none.png", "--maps", tmp_path / "m.npz")
    assert "a.png" in run(*words, code=2).stderr
    said = run(*words, "--skip-bad").stdout
    left = said.partition("Images left out (3):\n")[2].splitlines()[:3]
    for line, name in zip(left, ("a.png", "c.png", "none.png"), strict=True):
        assert f"{name}: " in line
    report = json.loads(run(*words, "--skip-bad", "--json").stdout)
    assert [entry["image"] for entry in report["images"]] == report["keys"] == ["b.png"]
    assert len(report["skipped"]) == 3
    (folder / "b.png").unlink()
    assert "no image is left" in run(*words, "--skip-bad", code=2).stderr


# --- methods that the model decides --------------------------------------------------------------


@pytest.mark.parametrize(("model", "usual"), [("demo/vit", "cls"), ("demo/cnn", "gradcam")])
def test_methods_follow_the_model(facades: Path, tmp_path: Path, model: str, usual: str) -> None:
    def methods(*words: object) -> list[str]:
        options = ("--model", model, "--maps", tmp_path / "m.npz", "--json")
        said = json.loads(run("explain", *words, *options).stdout)
        return [entry["method"] for entry in said["methods"]]

    assert methods(facades / "images") == [usual]


def test_all_methods_are_those_that_fit(
    facades: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load_model("demo/cnn")
    fitting = [name for name, card in METHODS.items() if not card.lacks(model)]
    asked: list[list[str]] = []

    def calls(options: Any, cards: list[Any], model: Any) -> Any:
        asked.append([card.name for card in cards])
        raise InputError("enough")

    monkeypatch.setattr(explain_steps, "_calls", calls)
    for images in (facades / "images", facades / "images" / "facade-00000.png"):
        run("explain", images, "--method", "all", "--model", "demo/cnn",
            "--maps", tmp_path / "m.npz", code=2)  # fmt: skip
    assert asked == [fitting, [name for name in fitting if name != "mean_map"]]
    assert {"gradcam", "edge", "mean_map"} <= set(fitting)
    assert "cls" not in fitting


def test_of_all_methods_those_that_refuse_the_model_are_named(
    facades: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(model: Any, inputs: Any, request: Any) -> Any:
        raise InputError("edge does not hold here")

    few: Registry[Any] = Registry("method")
    for name in ("saliency", "edge", "centre"):
        card = METHODS[name]
        few.add(name, replace(card, function=refuse) if name == "edge" else card)
    for place in ("methods", "methods.make", "methods.methods"):
        monkeypatch.setattr(f"sightline.attribution.{place}.METHODS", few)
    image = facades / "images" / "facade-00000.png"
    options = ("explain", image, "--model", "demo/cnn", "--out", tmp_path / "m.png", "--method")
    said = run(*options, "all").stdout
    assert "Methods left out (1):\n  edge: edge does not hold here\n" in said
    told = json.loads(run(*options, "all", "--json").stdout)
    assert told["refused"] == {"edge": "edge does not hold here"}
    assert [entry["method"] for entry in told["methods"]] == ["saliency", "centre"]
    assert "edge does not hold here" in run(*options, "saliency,edge", code=2).stderr
    wrong = run(*options, "all", "--target", "detection", code=2).stderr
    assert "target 'detection' needs detections" in wrong


@pytest.mark.parametrize(
    ("options", "scored"),
    [
        (("--method", "rollout", "--layer", "3"), None),
        (("--method", "saliency"), True),
        (("--method", "saliency,edge"), False),
        (("--method", "rollout", "--layer", "3,4"), False),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_follows_is_true(
    image: Path, tmp_path: Path, options: tuple[str, ...], scored: bool | None
) -> None:
    last = run("explain", image, *options, "-o", tmp_path / "p.png").stdout.splitlines()[-1]
    assert ("to be scored" in last) == bool(scored)
    assert ("--layer all" in last) == (scored is None)
    assert "--maps maps.safetensors keeps the numbers" in last


def test_a_class_that_is_a_number_is_called_class(
    image: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = replace(load_model("demo/vit"), classes=("0", "1", "2", "3"))
    monkeypatch.setattr("sightline.models.load_model", lambda *_, **__: model)
    out = run("explain", image, "-o", tmp_path / "p.png").stdout
    assert re.search(r"facade-00000.png class \d \(", out)


@pytest.mark.parametrize("link", [False, True])
def test_an_image_is_never_written_over(tmp_path: Path, link: bool) -> None:
    image = tmp_path / "a.png"
    Image.fromarray(np.full((32, 32, 3), 90, np.uint8)).save(image)
    before = image.read_bytes()
    out = image
    if link:
        out = tmp_path / "b.png"
        out.symlink_to(image)
    result = run("explain", image, "--method", "edge", "--out", out, code=2)
    assert "is one of the images, and would be written over" in result.stderr
    assert image.read_bytes() == before
