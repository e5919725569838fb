from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from torch import nn

from sightline import load_dataset
from sightline.annotation.proposals import Proposals, propose
from sightline.annotation.similar import SimilarityOptions, SimilarityProposer, _view, make
from sightline.core import Annotation, InputError, Region, Sample, UnknownNameError
from sightline.models import Description, Model, Preprocess, load_model

if TYPE_CHECKING:
    from numpy.typing import NDArray

CELL = 8
# Left, top, width and height in pixels: none begins where a patch does.
WINDOWS = [(13, 21, 20, 28), (75, 21, 20, 28), (101, 83, 20, 28)]


class Colours(nn.Module):  # type: ignore[misc]
    """Tells the mean colour of each patch, beside a 1 so that black has a direction, too."""

    def __init__(self) -> None:
        super().__init__()
        self.pool = nn.AvgPool2d(CELL)
        self.last = nn.Identity()
        self.weight = nn.Parameter(torch.ones(1))

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        means = self.pool(pixels)
        found = torch.cat([means, torch.full_like(means[:, :1], 0.2)], 1)
        return self.last(found * self.weight)


@cache
def colours(size: int | None = 448, fit: str = "squash") -> Model:
    about = Description(
        ["last"],
        Preprocess(None if size is None else (size, size), fit=fit),
        patch=CELL,
        name="colours",
    )
    return load_model(Colours(), about)


def picture(width: int = 128, height: int = 128) -> NDArray[np.uint8]:
    """Return windows, red above and blue below, on a wall of brick that is nowhere the same."""
    rng = np.random.default_rng(0)
    wall = rng.integers(90, 150, (height, width, 1)).repeat(3, 2).astype(np.uint8)
    for left, top, across, down in WINDOWS:
        wall[top : top + down // 2, left : left + across] = (220, 20, 20)
        wall[top + down // 2 : top + down, left : left + across] = (20, 20, 220)
    return wall


def as_box(window: tuple[int, ...], width: int = 128, height: int = 128) -> Any:
    left, top, across, down = window
    return left / width, top / height, (left + across) / width, (top + down) / height


def sample(*regions: Region, width: int = 128, height: int = 128) -> Sample:
    annotation = Annotation("a.png", width, height, regions or (marked(width, height),))
    return Sample("a.png", annotation, load=lambda: picture(width, height))


def marked(width: int = 128, height: int = 128, **more: Any) -> Region:
    given: dict[str, Any] = {
        "label": "window",
        "box": as_box(WINDOWS[0], width, height),
        "index": 4,
    }
    return Region(**(given | more))


def by_place(found: list[Any]) -> list[Any]:
    return sorted((one.region.box for one in found), key=lambda box: box[0])


# --- toys whose instances are known --------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "fit", "width", "height"),
    [
        (448, "squash", 128, 128),
        (224, "squash", 128, 128),  # doubled
        (448, "squash", 160, 128),
        (448, "letterbox", 160, 128),
        (448, "letterbox", 128, 200),
        (None, "native", 168, 144),
    ],
)
def test_the_others_are_found_where_they_are(
    size: int | None, fit: str, width: int, height: int
) -> None:
    found = make(colours(size, fit), least=0.6).propose(sample(width=width, height=height))
    expected = [as_box(window, width, height) for window in WINDOWS[1:]]
    assert len(found) == 2
    slack = 0.02 if size else 0.04  # a patch of the image itself is 8 of its pixels
    assert np.abs(np.subtract(by_place(found), expected)).max() < slack
    for one in found:
        assert (one.image_id, one.label, one.source, one.prompt) == (
            "a.png",
            "window",
            "similarity",
            4,
        )
        assert 0.6 <= one.score <= 1
        assert one.region.kind == "box"


def test_what_is_cropped_away_is_neither_prompt_nor_place() -> None:
    model = colours(448, "crop")
    # Of an image this wide, the model sees the middle square alone: not the first window.
    wide = sample(width=300, height=128)
    assert make(model, least=0.3).propose(wide) == []
    second = sample(marked(box=as_box(WINDOWS[2], 300, 128)), width=300, height=128)
    for one in make(model, least=0.3).propose(second):
        assert one.region.box[0] >= (300 - 128) / 2 / 300 - 0.01


def test_masks_and_polygons_are_moved_with_their_boxes() -> None:
    mask = np.zeros((128, 128), bool)
    left, top, across, down = WINDOWS[0]
    mask[top : top + down, left : left + across // 2] = True  # its left half
    mask[top : top + down // 2, left : left + across] = True
    corners = as_box(WINDOWS[0])
    x0, y0, x1, y1 = corners
    regions = (
        marked(kind="mask", mask=mask, index=0),
        marked(kind="polygon", mask=((x0, y1, x1, y1, (x0 + x1) / 2, y0),), index=1),
    )
    found = make(colours(), least=0.6).propose(sample(*regions))
    masks = sorted((one for one in found if one.prompt == 0), key=lambda one: one.region.box[0])
    assert len(masks) == 2
    for one, (left, top, across, down) in zip(masks, WINDOWS[1:], strict=True):
        drawn = one.region.to_mask(128, 128)
        inside = drawn[top + 3 : top + down - 3, left + 3 : left + across - 3]
        assert inside[: down // 2 - 6].all()
        assert inside[down // 2 :, : across // 2 - 6].all()
        assert not inside[down // 2 :, across // 2 :].any()
    for one in (one for one in found if one.prompt == 1):
        points = np.reshape(one.region.mask[0], (-1, 2))  # type: ignore[index]
        a0, b0, a1, b1 = one.region.box
        assert points == pytest.approx(
            np.array([[a0, b1], [a1, b1], [(a0 + a1) / 2, b0]]), abs=1e-5
        )
    plain = make(colours(), least=0.6, shape="box").propose(sample(*regions))
    assert {one.region.kind for one in plain} == {"box"}


def test_regions_that_stand_for_no_instance_prompt_nothing() -> None:
    x0, y0, x1, _ = as_box(WINDOWS[0])
    for region in (
        marked(flags=("ignore",)),
        marked(flags=("crowd",)),
        marked(box=(x0, y0, x1, y0)),
    ):
        assert make(colours()).propose(sample(region)) == []


def test_finer_grids_come_closer() -> None:
    off = []
    for shifts in (1, 4):
        found = make(colours(), least=0.5, shifts=shifts, scales=(1.0,)).propose(sample())
        expected = [as_box(window) for window in WINDOWS[1:]]
        assert len(found) == 2
        off.append(np.abs(np.subtract(by_place(found), expected)).max())
    assert off[1] < off[0]


def test_an_image_without_a_prompt_is_not_looked_at() -> None:
    def fail() -> NDArray[np.uint8]:
        raise AssertionError("the image was opened")

    x0, y0, x1, _ = as_box(WINDOWS[0])
    line = Annotation("a.png", 128, 128, (marked(box=(x0, y0, x1, y0)), marked(flags=("ignore",))))
    assert make(colours()).propose(Sample("a.png", line, load=fail)) == []


@pytest.mark.parametrize("shifts", [1, 2, 4])
def test_cells_lie_where_the_model_saw_them(shifts: int) -> None:
    black = np.zeros((448, 448, 3), np.uint8)
    black[196:220, 100:140] = 255
    view = _view(colours(), black, None, shifts)
    light = view.features[0] - view.features[0, 0, 0]
    rows, columns = light.shape
    assert (rows, columns) == (56 * shifts, 56 * shifts)
    x = (light.sum(0) * (np.arange(columns) + 0.5)).sum() / light.sum()
    y = (light.sum(1) * (np.arange(rows) + 0.5)).sum() / light.sum()
    found = view.to_image(np.array([x - 1, y - 1, x + 1, y + 1]))
    assert found is not None
    middle = [(found[0] + found[2]) / 2 * 448, (found[1] + found[3]) / 2 * 448]
    assert middle == pytest.approx([120, 208], abs=0.5)
    assert view.to_cells(found) == pytest.approx((x - 1, y - 1, x + 1, y + 1), abs=1e-3)


def test_what_is_mostly_padding_is_no_place() -> None:
    # An image twice as wide as high: the quarters above and below are padding.
    view = _view(colours(448, "letterbox"), np.zeros((64, 128, 3), np.uint8), None, 1)
    assert view.to_image(np.array([10, 10, 20, 15.9])) is None  # above row 14 is nothing
    assert view.to_image(np.array([10, 2, 20, 8])) is None
    assert view.to_image(np.array([10, 12, 20, 18])) == pytest.approx(
        (10 / 56, 0, 20 / 56, 4 / 28), abs=1e-5
    )


# --- options -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"least": 2}, "least must be from 0 to 1, got 2"),
        ({"least": float("nan")}, "least must be from 0 to 1, got nan"),
        ({"most": 0}, "most must be a whole number from 1 to 1000, got 0"),
        ({"shifts": True}, "shifts must be a whole number from 1 to 16, got True"),
        ({"size": 1}, "size must be a whole number from 16 to 4096, got 1"),
        ({"scales": ()}, "scales must hold at least one number"),
        ({"scales": (0,)}, "scales must be from 0.1 to 10, got 0"),
        ({"scales": "1,wide"}, "scales must be a sequence of numbers, got '1,wide'"),
        ({"scales": None}, "scales must be a sequence of numbers, got None"),
        ({"shape": "disc"}, "shape must be 'region' or 'box', got 'disc'"),
        ({"layer": 3}, "layer must be from 0 to 0 for colours"),
    ],
)
def test_options_that_do_not_fit_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make(colours(), **options)


def test_unknown_options_and_shifts_that_do_not_divide_are_named() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown option 'threshold' .* Known: least, most"):
        make(colours(), threshold=0.5)
    with pytest.raises(InputError, match=r"shifts must divide the cells of colours, 8 x 8 .*got 3"):
        make(colours(), shifts=3).propose(sample())


def test_settings_say_how_the_model_saw_the_images() -> None:
    made = make(colours(224), scales=[1.0, 1.5], layer=-1)
    assert made.settings["size"] == [448, 448]
    assert made.settings["layer"] == 0
    assert made.settings["scales"] == [1.0, 1.5]
    assert make(colours(224), scales="1,1.5").settings["scales"] == [1.0, 1.5]
    assert make(colours(224), scales=1.0).settings["scales"] == [1.0]
    assert (made.name, made.model, made.digest) == ("similarity", "colours", colours(224).digest)
    assert make(colours(224), size=100).settings["size"] == [96, 96]
    assert make(colours(None, "native")).settings["size"] is None
    assert make(colours(), fit="letterbox").settings["fit"] == "letterbox"
    assert SimilarityProposer(colours()).options == SimilarityOptions()


# --- a shipped model -----------------------------------------------------------------------------


@cache
def on_facades() -> Proposals:
    churches = load_dataset("facades", count=3, seed=3, labelling="representative")
    return propose(churches, make("demo/vit-dino"))


def test_most_windows_of_a_facade_are_found() -> None:
    whole = load_dataset("facades", count=2, seed=3)
    marked = load_dataset("facades", count=2, seed=3, labelling="representative")
    given = [{region.index for region in one.annotation.regions} for one in marked]
    missing = [
        (church.image_id, region)
        for church, known in zip(whole, given, strict=True)
        for region in church.annotation.regions
        if region.index not in known and "window" in region.label
    ]
    assert len(missing) >= 10
    hits = 0
    for image, region in missing:
        inside = region.to_mask(224, 224)
        for one in on_facades().of(image):
            mask = one.region.to_mask(224, 224)
            if one.label == region.label and (mask & inside).sum() >= 0.5 * (mask | inside).sum():
                hits += 1
                break
    assert hits >= 0.7 * len(missing)


def test_the_same_bits_alone_and_in_company() -> None:
    churches = load_dataset("facades", count=3, seed=3, labelling="representative")
    alone = propose(churches, make("demo/vit-dino"), images=[churches.ids[2]])
    together = on_facades().of(churches.ids[2])
    assert len(together) > 0
    assert [(one.id, one.score, one.region.box) for one in alone.items] == [
        (one.id, one.score, one.region.box) for one in together
    ]
