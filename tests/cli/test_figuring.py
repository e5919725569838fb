"""`sightline figure`: of an image file, and what it hands on about a store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from sightline.attribution.methods import explain
from sightline.cli import figure_images, figure_stores
from sightline.cli.explain_steps import Options, make_maps
from sightline.core import InputError
from sightline.data import read_annotations
from sightline.data.images import read_image
from sightline.figures import FIGURES, images, save, visualize_all_methods
from sightline.metrics import score_maps
from sightline.models import load_model
from sightline.report import Choice
from sightline.results.image_maps import raster_over
from tests.cli.small import run

pytestmark = pytest.mark.usefixtures("loaded_once")


@pytest.fixture
def notes(facades: Path) -> Path:
    return facades / "annotations.json"


# --- images --------------------------------------------------------------------------------------


def test_all_methods_of_an_image_with_what_is_annotated(
    image: Path, notes: Path, tmp_path: Path
) -> None:
    out = tmp_path / "new" / "all.png"
    said = run(
        "figure", "all-methods", image, "--methods", "cls, gradcam", "--annotations", notes,
        "--out", out, "--format", "png,csv", "--dpi", 100,
    ).stdout  # fmt: skip
    pixels = read_image(image)
    mask = read_annotations(notes)["facade-00000.png"].union_mask(96, 96)
    shares = load_model("demo/vit").logits(image).softmax(1)[0]
    name = load_model("demo/vit").classes[int(shares.argmax())]
    head = f"facade-00000.png · demo/vit · predicted {name} ({shares.max():.0%})"
    maps, signs, words, rows = {}, {}, {}, []
    for method in ("cls", "gradcam"):
        made = explain("demo/vit", image, method, layers=-1)
        maps[method] = made.geometries[0][0].to_image(made.values[0][0][0], how="bilinear")
        signs[method] = made.sign
        scores = score_maps(maps[method], mask, sign=made.sign)
        value, chance = float(scores["coverage"]), float(scores["coverage_chance"])
        words[method] = f"coverage {value:.2f} (chance {chance:.2f})"
        rows.append([method, 11, "coverage", value, chance])
    figure = visualize_all_methods(pixels, maps, mask, signs=signs, notes=words, head=head)
    (expected,) = save(figure, tmp_path / "expected", ("png",), dpi=100)
    with Image.open(out) as found, Image.open(expected) as wanted:
        assert found.tobytes() == wanted.tobytes()
    table = pd.read_csv(out.with_suffix(".csv"))
    assert table[["name", "layer", "metric", "value", "chance"]].to_numpy().tolist() == [
        pytest.approx(row)
        if isinstance(row[0], float)
        else [*row[:3], *map(pytest.approx, row[3:])]
        for row in rows
    ]
    assert set(table["model"]) == {"demo/vit"}
    assert said.splitlines() == [
        f"Maps of all methods on one image: {head}",
        f"Written: {out}",
        f"Written: {out.with_suffix('.csv')}",
    ]


def test_unless_methods_are_named_all_that_fit_are_drawn(
    image: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    def note(name: str, asked_for: Any, move: Any) -> Any:
        asked.append(asked_for.options)
        raise InputError("enough")

    monkeypatch.setattr(figure_images, "draw_of_image", note)
    for name in ("all-methods", "layer-maps", "attribution"):
        run("figure", name, image, "-m", "demo/cnn", "-o", tmp_path / "x.png", code=2)
    assert [(one.methods, one.layers) for one in asked] == [
        (["all"], None), (None, "all"), (None, None),
    ]  # fmt: skip
    assert {one.model for one in asked} == {"demo/cnn"}
    assert {one.target for one in asked} == {"predicted"}


@pytest.mark.parametrize(
    ("name", "options", "count"),
    [
        ("attribution", ("--method", "rollout"), 7),
        ("layer-maps", ("--layer", "2,11", "--metric", "iou@90"), 4),
        ("pointing-game", ("--target", "Gothic", "--method", "gradcam"), 4),
        ("energy", ("--methods", "cls,edge"), 3),
    ],
)
def test_the_other_figures_of_an_image(
    name: str, options: tuple[str, ...], count: int, image: Path, notes: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    drawn: list[Any] = []
    write = figure_stores.write_drawn

    def keep(one: Any, *rest: Any, **more: Any) -> Any:
        drawn.append(one)
        return write(one, *rest, **more)

    monkeypatch.setattr(figure_stores, "write_drawn", keep)
    said = run(
        "figure", name, image, *options, "--annotations", notes, "-o", tmp_path, "--format",
        "svg,pdf",
    ).stdout  # fmt: skip
    file = FIGURES[name].file
    assert (tmp_path / f"{file}.svg").read_text().startswith("<?xml")
    assert (tmp_path / f"{file}.pdf").read_bytes().startswith(b"%PDF")
    assert f"Written: {tmp_path / file}.svg" in said
    (one,) = drawn
    axes = [*one.figure.axes, *(inset for ax in one.figure.axes for inset in ax.child_axes)]
    assert len(axes) == count
    if name == "layer-maps":
        assert one.data["layer"].tolist() == [2, 11]
        assert set(one.data["metric"]) == {"iou@90"}
        for ax, value in zip(one.figure.axes[1:3], one.data["value"], strict=True):
            assert ax.texts[0].get_text().startswith(f"iou@90 {value:.2f}")
    if name == "pointing-game" and "explained" in said:
        assert "explained: Gothic" in said
    if name == "energy":
        bars = [text.get_text() for text in axes[2].get_yticklabels()]
        assert sorted(bars) == ["cls · layer 11", "edge"]
        assert axes[2].texts[0].get_text() == "1 image; black ticks: chance"


def test_what_the_model_did_not_see_has_no_colour_and_counts_for_nothing(
    notes: Path, image: Path, tmp_path: Path
) -> None:
    wide = tmp_path / "facade-00000.png"
    Image.open(image).resize((160, 96)).save(wide)
    made = make_maps(Options([wide], "demo/vit", ["cls"], fit="crop"), lambda *_: None)
    annotation = read_annotations(notes)["facade-00000.png"]
    view = figure_images._view(made, annotation, "coverage")
    (tile,) = view.tiles
    seen = np.isfinite(tile.values)
    assert 0 < seen.mean() < 1
    inside = annotation.union_mask(96, 160)
    values = np.maximum(tile.values[seen].astype(float), 0)
    assert view.scores["chance"][0] == pytest.approx(inside[seen].mean())
    assert view.scores["value"][0] == pytest.approx(values[inside[seen]].sum() / values.sum())


def test_ignored_pixels_count_neither_in_scores_nor_in_figures(image: Path, tmp_path: Path) -> None:
    notes = tmp_path / "notes.csv"
    notes.write_text(
        "image,label,x0,y0,x1,y1,flags\nfacade-00000.png,door,0,0,0.5,0.5,\n"
        "facade-00000.png,crowd,0.25,0,1,1,ignore\n"
    )
    annotation = figure_images.annotation_of(image, str(notes))
    assert annotation is not None
    made = make_maps(Options([image], "demo/vit", ["cls"]), lambda *_: None)
    view = figure_images._view(made, annotation, "coverage")
    known = np.isfinite(view.tiles[0].values)
    assert known[:, :24].all()
    assert not known[:, 24:].any()
    assert view.scores["chance"][0] == pytest.approx(0.5)
    pie = figure_images.OF_IMAGES["energy"](view).axes[1].texts[1].get_text()
    assert float(pie.partition("%")[0]) == pytest.approx(100 * view.scores["value"][0], abs=0.06)


def test_each_map_is_drawn_by_its_own_sign(image: Path) -> None:
    made = make_maps(Options([image], "demo/vit", ["cls", "edge"]), lambda *_: None)
    view = figure_images._view(made, None, "coverage")
    first, second = view.tiles
    mixed = view._replace(tiles=[first, second._replace(sign="signed")])
    texts = [ax.texts[0].get_text() for ax in figure_images.OF_IMAGES["all-methods"](mixed).axes]
    assert sum(text.startswith("blue: against") for text in texts) == 1
    assert sum(text.startswith("0 to the") for text in texts) == 1


def test_large_images_are_scored_on_a_raster_that_fits() -> None:
    assert raster_over((3000, 4000)) == (768, 1024)
    assert raster_over((96, 128)) == (96, 128)
    assert raster_over((1, 9000)) == (1, 1024)


def test_annotations_are_found_by_name_and_by_name_without_ending(
    facades: Path, notes: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "facade-00001.jpg"
    Image.open(facades / "images" / "facade-00001.png").save(copy)
    found = figure_images.annotation_of(copy, str(notes))
    assert found is not None
    assert found.image_id == "facade-00001.png"
    assert figure_images.annotation_of(copy, None) is None


# --- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nothing", "IMAGE"), "unknown figure 'nothing'"),
        (("all-methods", "gone.png"), "gone.png: is neither a folder of results nor an image"),
        (("roc", "IMAGE"), "figure 'roc' is not drawn from an image; these are: all-methods"),
        (("energy", "IMAGE"), "figure 'energy' needs what is annotated"),
        (
            ("energy", "IMAGE", "--annotations", "NOTES", "--metric", "iou@90"),
            "--metric iou@90: figure 'energy' shows coverage alone",
        ),
        (("pointing-game", "IMAGE"), "give --annotations"),
        (("attribution", "IMAGE", "--metric", "iou@90"), "--metric iou@90 needs what is annotated"),
        (("attribution", "IMAGE", "--method", "cls,rollout"), "one --method and --layer; got cls"),
        (("layer-maps", "IMAGE", "--method", "cls,mean"), "layer-maps shows one method; got cls"),
        (("all-methods", "IMAGE", "--methods", "gone"), "unknown method 'gone'"),
        (("all-methods", "IMAGE", "--image", "a"), "--image a is for stores"),
        (("all-methods", "IMAGE", "--prototype", 2), "--prototype 2 is for stores"),
        (("all-methods", "IMAGE", "--format", "gif"), "--format must be of png, svg, pdf, csv"),
        (("all-methods", "IMAGE", "--target", "label"), "--target label"),
        (("all-methods", "NOTES"), "annotations.json"),
        (("all-methods", "FOLDER", "--annotations", "a.json"), "--annotations is for images"),
        (
            ("all-methods", "FOLDER", "--layer", "x"),
            "--layer must be a number, best, last or split",
        ),
        (
            ("all-methods", "IMAGE", "--annotations", "OTHER"),
            "has no image facade-00000.png; it has",
        ),
    ],
)
def test_what_does_not_go_together_is_named(
    arguments: tuple[str, ...], message: str, image: Path, notes: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.csv"
    other.write_text("image,label,x0,y0,x1,y1,width,height\nb.png,door,0,0,0.4,0.5,96,96\n")
    named = {"IMAGE": image, "NOTES": notes, "FOLDER": tmp_path, "OTHER": other}
    words = [named.get(word, word) for word in arguments]
    found = run("figure", *words, "--out", tmp_path / "x", code=2)
    assert message in found.stderr
    assert not list(tmp_path.glob("x*"))


def test_the_image_itself_is_not_written_over(image: Path) -> None:
    before = image.read_bytes()
    found = run("figure", "all-methods", image, "--out", image, code=2)
    assert "is the image, and would be written over" in found.stderr
    assert image.read_bytes() == before


# --- stores --------------------------------------------------------------------------------------


def test_a_folder_is_a_store_and_gets_the_choice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[Any] = []
    monkeypatch.setattr(
        figure_stores, "draw_from_store", lambda *args, **options: calls.append((args, options))
    )
    run("figure", "roc", tmp_path)
    run(
        "figure", "examples", tmp_path, "--metric", "iou@90", "--model", "demo/vit", "--method",
        "cls", "--layer", "5", "--target", "predicted", "--image", "a.png", "--out", "o.svg",
        "--format", "svg,csv", "--dpi", "150",
    )  # fmt: skip
    assert calls == [
        (("roc", tmp_path, Choice()), {"out": None, "formats": None, "dpi": 200}),
        (
            ("examples", tmp_path, Choice("iou@90", "demo/vit", "cls", 5, "predicted", "a.png")),
            {"out": Path("o.svg"), "formats": "svg,csv", "dpi": 150},
        ),
    ]


def test_figures_of_images_are_registered_figures_of_images() -> None:
    functions = {card.name for card in images.CARDS}
    assert functions & set(figure_images.OF_IMAGES)
    assert all(FIGURES[name].group == "images" for name in figure_images.OF_IMAGES)
