from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PIL import Image
from scipy.ndimage import binary_dilation, binary_erosion

from sightline.core import Annotation, InputError, Region, Sample
from sightline.data.contact import contact_sheet, write_contact_sheet
from sightline.data.dataset import Dataset

if TYPE_CHECKING:
    from pathlib import Path

GREEN = np.array([40, 90, 40])
ORANGE, SKY, GREY = (230, 159, 0), (86, 180, 233), (150, 150, 150)
TILE, GAP = 64, 12


def dataset_of(*samples: Sample) -> Dataset:
    named = {sample.image_id: sample for sample in samples}
    return Dataset("drawn", dict.fromkeys(named, ""), named.__getitem__)


def church(
    image_id: str, *regions: Region, size: tuple[int, int] = (TILE, TILE), labels: Any = ()
) -> Sample:
    width, height = size
    annotation = Annotation(image_id, width, height, regions, tuple(labels))
    image = np.broadcast_to(GREEN, (height, width, 3)).astype(np.uint8)
    return Sample(image_id, annotation, load=lambda: image)


def first_tile(*regions: Region, size: tuple[int, int] = (TILE, TILE), **options: Any) -> Any:
    """Return the pixels of the tile of one image."""
    sheet = contact_sheet(dataset_of(church("a", *regions, size=size)), tile=TILE, **options)
    return np.asarray(sheet)[GAP : GAP + TILE, GAP : GAP + TILE].astype(int)


def near(pixels: Any, colour: Any, within: float = 40) -> Any:
    return np.abs(pixels - np.array(colour)).max(axis=-1) <= within


def test_a_box_is_drawn_on_its_edge_alone() -> None:
    tile = first_tile(Region("door", box=(0.25, 0.25, 0.75, 0.75)))
    line = near(tile, ORANGE)
    assert line[16, 20:44].all()
    assert line[47, 20:44].all()
    assert line[20:44, 16].all()
    assert line[20:44, 47].all()
    assert (tile[22:42, 22:42] == GREEN).all()
    assert (tile[:15] == GREEN).all()
    assert (tile[49:] == GREEN).all()
    # Dark on both sides of a light line.
    for row in (15, 18):
        assert (tile[row, 24:40] == 0).all()


def test_a_whole_image_has_its_line_at_the_border() -> None:
    line = near(first_tile(Region("door")), ORANGE)
    assert line[0].all()
    assert line[-1].all()
    assert line[:, 0].all()
    assert line[:, -1].all()


@pytest.mark.parametrize(
    "shape",
    [
        Region("a", kind="point", box=(0.25, 0.25, 0.75, 0.75), radius=16),
        Region(
            "a", kind="polygon", box=(0.2, 0.2, 0.8, 0.8), mask=((0.2, 0.8, 0.5, 0.2, 0.8, 0.8),)
        ),
        Region("a", kind="mask", box=(0.25, 0, 1, 1), mask=np.arange(64).reshape(8, 8) % 8 > 1),
    ],
    ids=["point", "polygon", "mask"],
)
def test_the_line_of_any_shape_lies_inside_its_edge(shape: Region) -> None:
    mask = shape.to_mask(TILE, TILE)
    line = near(first_tile(shape), ORANGE)
    edge = mask & ~binary_erosion(mask, np.ones((5, 5), bool))
    assert line.sum() > 50
    # Smoothing moves the line by a pixel at most.
    assert not (line & ~binary_dilation(edge)).any()


def test_images_keep_their_shape() -> None:
    tile = first_tile(size=(200, 100))
    green = (tile == GREEN).all(axis=-1)
    assert green[16:48].all()
    assert not green[:16].any()
    assert not green[48:].any()
    tall = (first_tile(size=(3, 6)) == GREEN).all(axis=-1)
    assert tall[:, 16:48].all()
    assert not tall[:, :16].any()


def test_regions_lie_where_they_are_on_an_image_that_is_not_square() -> None:
    tile = first_tile(Region("door", box=(0.5, 0.5, 1.0, 1.0)), size=(200, 100))
    line = near(tile, ORANGE)
    rows, columns = np.flatnonzero(line.any(axis=1)), np.flatnonzero(line.any(axis=0))
    assert (rows[0], rows[-1]) == (32, 47)
    assert (columns[0], columns[-1]) == (32, 63)


def test_labels_have_colours_by_frequency() -> None:
    left, right = (0.0, 0.0, 0.45, 1.0), (0.55, 0.0, 1.0, 1.0)
    regions = (Region("rare", box=left), Region("often", box=right), Region("often", box=right))
    tile = first_tile(*regions)
    assert near(tile, SKY)[32, :4].any()
    assert near(tile, ORANGE)[32, -4:].any()
    alike = first_tile(*regions, labels=False)
    assert near(alike, ORANGE)[32, :4].any()
    assert not near(alike, SKY).any()


def test_small_regions_are_drawn_over_large_ones() -> None:
    small, large = Region("small", box=(0.0, 0.0, 0.5, 0.5)), Region("large")
    for order, colour in (((small, large), ORANGE), ((large, small), SKY)):
        line = near(first_tile(*order), colour)
        assert line[0, :31].all()
        assert line[31, :31].all()


def test_a_point_without_a_size_is_seen() -> None:
    tile = first_tile(Region("dot", box=(0.5, 0.5, 0.5, 0.5)))
    rows, columns = np.nonzero((tile != GREEN).any(axis=-1))
    assert len(rows) >= 9
    assert min(*rows, *columns) >= 29
    assert max(*rows, *columns) <= 34


def test_ignored_regions_are_grey_and_hatched() -> None:
    box = (0.25, 0.25, 0.75, 0.75)
    tile = first_tile(Region("door", box=box, flags=("ignore",)))
    inside = near(tile[22:42, 22:42], GREY)
    assert 0.05 < inside.mean() < 0.5
    assert not near(tile, ORANGE).any()


def test_more_labels_than_colours_are_dashed() -> None:
    # All nine have one place: the ninth, dashed in the first colour, is drawn last.
    tile = first_tile(*(Region(f"l{n}", box=(0.5, 0.0, 1.0, 1.0)) for n in range(9)))
    column = near(tile, ORANGE)[:, 33]
    assert 0.2 < column.mean() < 0.9
    assert np.abs(np.diff(column.astype(int))).sum() >= 4


def test_the_page_has_rows_and_columns() -> None:
    samples = [church(f"i{number}") for number in range(7)]
    sheet = contact_sheet(dataset_of(*samples), tile=TILE, columns=3, count=7, labels=False)
    pixels = np.asarray(sheet).astype(int)
    assert sheet.mode == "RGB"
    cell = (sheet.height - GAP) // 3 - GAP
    assert sheet.width == 3 * (TILE + GAP) + GAP
    for number in range(9):
        row, column = divmod(number, 3)
        top, left = GAP + row * (cell + GAP), GAP + column * (TILE + GAP)
        tile = pixels[top : top + TILE, left : left + TILE]
        assert (tile == (GREEN if number < 7 else 255)).all()
        caption = pixels[top + TILE + 1 : top + cell, left : left + TILE]
        assert (caption.min() < 120) == (number < 7)


def test_a_legend_stands_below_the_page() -> None:
    samples = dataset_of(church("a", *(Region(f"label {n}") for n in range(5))))
    plain, legend = (contact_sheet(samples, tile=TILE, labels=which) for which in (False, True))
    assert legend.width == plain.width
    assert legend.height > plain.height + 5 * 14
    below = np.asarray(legend)[plain.height :].astype(int)
    for colour in (ORANGE, SKY):
        assert near(below, colour).any()


def test_the_legend_tells_what_is_ignored() -> None:
    door = Region("door", box=(0.2, 0.2, 0.8, 0.8))
    ignored = Region("door", box=(0.2, 0.2, 0.8, 0.8), flags=("ignore",))
    one = contact_sheet(dataset_of(church("a", door)), tile=TILE)
    both = contact_sheet(dataset_of(church("a", door, ignored)), tile=TILE)
    assert both.height > one.height
    legend = np.asarray(both)[one.height - GAP :].astype(int)
    assert near(legend, GREY, within=5).sum() > 20


def test_labels_beyond_the_lines_share_one() -> None:
    regions = [Region(f"l{n}", box=(0, 0, 0.1, 0.1)) for n in range(40)]
    many = contact_sheet(dataset_of(church("a", *regions)), tile=TILE)
    enough = contact_sheet(dataset_of(church("a", *regions[:25])), tile=TILE)
    assert many.height == enough.height


def test_first_images_or_a_sample_of_them() -> None:
    seen: list[str] = []

    def watched(image_id: str) -> Sample:
        sample = church(image_id)

        def load() -> Any:
            seen.append(image_id)
            return sample.image()

        return Sample(image_id, sample.annotation, load=load)

    dataset = Dataset("drawn", {f"i{n:02d}": "" for n in range(30)}, watched)

    def chosen(**options: Any) -> list[str]:
        seen.clear()
        contact_sheet(dataset, tile=TILE, **options)
        return list(seen)

    assert chosen(count=4) == ["i00", "i01", "i02", "i03"]
    assert len(chosen()) == 30
    some = chosen(count=10, seed=1)
    assert some == sorted(set(some))
    assert len(some) == 10
    assert some == chosen(count=10, seed=1)
    assert some != chosen(count=10, seed=2)


def test_an_image_that_cannot_be_read_is_a_grey_tile() -> None:
    def refuse() -> Any:
        raise InputError("a.jpg: cannot be read")

    annotation = Annotation("a", regions=(Region("door"),))
    for sample in (Sample("a", annotation), Sample("a", annotation, load=refuse)):
        sheet = np.asarray(contact_sheet(dataset_of(sample), tile=TILE)).astype(int)
        tile = sheet[GAP : GAP + TILE, GAP : GAP + TILE]
        assert np.ptp(tile, axis=-1).max() == 0
        assert (tile == 222).mean() > 0.6
        assert tile.min() < 150


def test_an_image_whose_masks_cannot_be_read_is_a_grey_tile() -> None:
    def make(image_id: str) -> Sample:
        raise InputError("mask.png: no such image")

    sheet = np.asarray(contact_sheet(Dataset("masks", {"a": ""}, make), tile=TILE)).astype(int)
    tile = sheet[GAP : GAP + TILE, GAP : GAP + TILE]
    assert (tile == 222).mean() > 0.6


def test_long_names_stay_in_their_tile() -> None:
    samples = [church("x" * 200, labels=["a very long style"] * 9), church("b")]
    sheet = np.asarray(contact_sheet(dataset_of(*samples), tile=TILE, labels=False))
    gap = sheet[:, GAP + TILE + 2 : GAP + TILE + GAP]
    assert (gap == 255).all()


def test_what_does_not_fit() -> None:
    samples = dataset_of(church("a"))
    for name, value in (("count", 0), ("columns", 0), ("tile", 8)):
        with pytest.raises(InputError, match=f"{name} must be >= "):
            contact_sheet(samples, **{name: value})  # type: ignore[arg-type]
    with pytest.raises(InputError, match="drawn has no images to draw"):
        contact_sheet(dataset_of())


@pytest.mark.parametrize("name", ["s.png", "s.jpg", "S.JPEG"])
def test_it_is_written_whole(tmp_path: Path, name: str) -> None:
    samples = dataset_of(church("a", Region("door")), church("b"))
    (tmp_path / name).write_text("old")
    write_contact_sheet(samples, tmp_path / name, tile=TILE, columns=1)
    sheet = contact_sheet(samples, tile=TILE, columns=1)
    with Image.open(tmp_path / name) as image:
        assert image.format == ("PNG" if name == "s.png" else "JPEG")
        difference = np.abs(np.asarray(image).astype(int) - np.asarray(sheet).astype(int))
    assert difference.mean() < (4 if name != "s.png" else 1e-9)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_sheet_that_cannot_be_saved_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Image.Image, path: Path, *args: Any, **options: Any) -> None:
        path.write_text("half")
        raise OSError("disk full")

    (tmp_path / "s.png").write_text("old")
    monkeypatch.setattr(Image.Image, "save", fail)
    with pytest.raises(OSError, match="disk full"):
        write_contact_sheet(dataset_of(church("a")), tmp_path / "s.png")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("s.pdf", "a contact sheet must end in .png, .jpg, .jpeg"),
        ("none/s.png", "folder .*none does not exist"),
        ("folder.png", "is a folder"),
    ],
)
def test_where_it_cannot_be_written(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(InputError, match=message):
        write_contact_sheet(dataset_of(church("a")), tmp_path / name)
