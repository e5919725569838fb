"""Prototypes whose similarity is known to be made of colour, of shape, or of texture.

Three fixed ones look at the portal of facades: at its hue alone, at whether its HSV value is the
same left and right of an axis, and at how much of its HSV value is hatching. The analysis must say
so; and a picture in which nothing but the portal's colour, shape or texture differs must agree.
"""

from __future__ import annotations

from math import pi
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from sightline.attribution.prototypes import (
    default_perturbations,
    effects,
    natures,
    normalised,
    perturbed_scores,
    premise,
    prototype_score,
    similarity_maps,
)
from sightline.data.facades import Facade
from sightline.models import Description, Preprocess, load_model

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

    from sightline.attribution.prototypes import Effect
    from sightline.data.facades.changes import Change
    from sightline.models import Model

SIDE, CELL, COUNT = 112, 8, 12
FIELD = 24  # pixels that a cell looks at, each way; symmetry is looked for a few beyond
REACH = 12
COLOUR, SHAPE, TEXTURE = 0, 1, 2
KINDS: tuple[Change, ...] = ("colour", "shape", "texture")


def around(values: Tensor) -> Tensor:
    """The mean over what each cell looks at."""
    edge = (FIELD - CELL) // 2
    down = functional.avg_pool2d(values, (FIELD, 1), (CELL, 1), (edge, 0), count_include_pad=False)
    return functional.avg_pool2d(down, (1, FIELD), (1, CELL), (0, edge), count_include_pad=False)


def near_stone(images: Tensor) -> Tensor:
    """How near the hue of pixels is to that of stone (30 degrees), whatever else they are."""
    red, green, blue = images.split(1, dim=1)
    hue = torch.atan2(3**0.5 / 2 * (green - blue), red - (green + blue) / 2)
    return around((1 + torch.cos(hue - pi / 6)) / 2)


def symmetry(value: Tensor) -> Tensor:
    """How alike both sides of the best axis of a cell are, with hatching smoothed away."""
    smooth = functional.avg_pool2d(functional.pad(value, (2, 1, 2, 1), mode="replicate"), 4, 1)
    wide = functional.pad(smooth, (REACH,) * 4, mode="replicate")
    side, width = 2 * REACH + 1, value.shape[3]

    def mean(values: Tensor) -> Tensor:
        return functional.avg_pool2d(functional.avg_pool2d(values, (side, 1), 1), (1, side), 1)

    def column(shift: int) -> Tensor:
        return wide[..., REACH + shift : REACH + shift + width]

    products = sum(column(shift) * column(-shift) for shift in range(-REACH, REACH + 1)) / side
    middle = mean(wide)
    spread = (mean(wide.square()) - middle.square()).clamp(min=1e-6)
    found = (functional.avg_pool2d(products, (side, 1), 1) - middle.square()) / spread
    return functional.max_pool2d(found, CELL).clamp(min=0)


def hatching(value: Tensor) -> Tensor:
    """How much of the spread is stripes of two pixels: the one frequency all hatching has."""
    y, x = torch.meshgrid(torch.arange(SIDE), torch.arange(SIDE), indexing="ij")
    places = [pi / 2 * (x + y), pi / 2 * (x - y)]
    waves = [wave(place) for place in places for wave in (torch.cos, torch.sin)]
    energy = around(value * torch.stack(waves)).square().sum(dim=1, keepdim=True)
    spread = around(value.square()) - around(value).square()
    return (2 * energy / spread.clamp(min=1e-6)).sqrt()


class Known(nn.Module):  # type: ignore[misc]  # torch's own types are not read
    """Three prototypes that are known through and through; one speaks for each class."""

    def __init__(self) -> None:
        super().__init__()
        self.last = nn.Identity()
        self.class_weights = torch.eye(3)

    def similarities(self, pixels: Tensor) -> Tensor:
        images = pixels * 0.5 + 0.5
        value = images.amax(dim=1, keepdim=True)
        found = torch.cat((near_stone(images), symmetry(value), hatching(value)), dim=1)
        return (found * 1e4).round() / 1e4  # so that rounding errors say nothing

    def forward(self, pixels: Tensor) -> Tensor:
        best = self.last(self.similarities(pixels)).amax((2, 3))
        return best @ self.class_weights.T


def pixels_of(facades: list[Facade]) -> Tensor:
    pictures = np.stack([facade.image() for facade in facades])
    return torch.from_numpy(pictures).permute(0, 3, 1, 2) / 255


def in_one_hue(images: Tensor) -> Tensor:
    """The same values in one hue: nothing that moves or mixes pixels makes another."""
    stone = torch.tensor([1.0, 0.75, 0.5])[:, None, None]
    return images.amax(dim=1, keepdim=True) * stone


def with_other(facades: list[Facade], kind: Change) -> list[Facade]:
    """Nothing else but this of the portal with its door."""
    return [facade.changed("portal", kind).changed("door", kind) for facade in facades]


class Case(NamedTuple):
    """Portals in full sight, plain and hatched, and the cell in the middle of each."""

    model: Model
    plain: list[Facade]
    hatched: list[Facade]
    cells: Tensor

    def said(self, facades: list[Facade], prototype: int) -> NDArray[np.float64]:
        """The similarity of the cells to a prototype."""
        maps = similarity_maps(self.model, normalised(self.model, pixels_of(facades)))
        found: NDArray[np.float64] = maps[
            torch.arange(len(maps)), prototype, self.cells[:, 0], self.cells[:, 1]
        ].numpy()
        return found


@pytest.fixture(scope="module")
def case() -> Case:
    about = Description(("last",), Preprocess(size=(SIDE, SIDE)), CELL, 3, name="known")
    plain: list[Facade] = []
    cells: list[list[int]] = []
    for index in range(2 * COUNT):
        facade = Facade.generate(21, index, SIDE)
        portal = max((p for p in facade.parts if p.role == "portal"), key=lambda p: p.mask.sum())
        if portal.visible > 0.9 and len(plain) < COUNT:
            x0, y0, x1, y1 = portal.box
            plain.append(facade)
            cells.append([int((y0 + y1) / 2 * SIDE) // CELL, int((x0 + x1) / 2 * SIDE) // CELL])
    model = load_model(Known().eval(), about)
    return Case(model, plain, with_other(plain, "texture"), torch.tensor(cells))


@pytest.fixture(scope="module")
def table(case: Case) -> dict[str, object]:
    """The drops of each prototype where it looks, and everywhere else."""
    plain, hatched = pixels_of(case.plain), pixels_of(case.hatched)
    images = torch.cat((in_one_hue(plain), plain, hatched))
    prototypes, cells = torch.arange(3).repeat_interleave(COUNT), case.cells.repeat(3, 1)
    maps = torch.zeros(len(images), SIDE, SIDE)
    for each, (row, column) in zip(maps, ((cells - 2) * CELL).clamp(min=0).tolist(), strict=True):
        each[row : row + 5 * CELL, column : column + 5 * CELL] = 1
    changes = default_perturbations()
    found = perturbed_scores(
        prototype_score(case.model, prototypes, cells), images, maps, changes, dual=True
    )
    assert found.dual is not None
    count = len(changes)
    return {
        "img_id": np.tile(np.arange(COUNT), 3).repeat(count),
        "proto_idx": prototypes.numpy().repeat(count),
        "perturbation": [change.name for change in changes] * len(images),
        "original_score": found.original.repeat(count),
        "focused": found.focused.ravel(),
        "dual": found.dual.ravel(),
    }


@pytest.fixture(scope="module")
def found(table: dict[str, object]) -> dict[tuple[int, str], Effect]:
    return {(each.prototype, each.perturbation): each for each in effects(table)}


def test_each_prototype_is_said_to_be_about_what_it_is_about(
    found: dict[tuple[int, str], Effect],
) -> None:
    assert natures(list(found.values())) == {
        COLOUR: ("hue",),
        SHAPE: ("distortion",),
        TEXTURE: ("blur", "distortion"),  # which moves stripes as it moves outlines
    }


def test_what_a_prototype_does_not_see_costs_it_nothing(
    found: dict[tuple[int, str], Effect],
) -> None:
    lost = {key: each.focused for key, each in found.items()}
    assert all(value < 1e-3 for key, value in lost.items() if key[0] == COLOUR and key[1] != "hue")
    for prototype in (COLOUR, SHAPE, TEXTURE):
        for perturbation in ("brightness", "contrast"):  # both scale what each compares
            assert abs(lost[prototype, perturbation]) < 1e-3
    assert lost[SHAPE, "hue"] == lost[TEXTURE, "hue"] == 0  # the largest channel keeps its bits
    assert lost[COLOUR, "hue"] > 0.25
    assert lost[SHAPE, "distortion"] > 0.1
    assert lost[TEXTURE, "blur"] > 0.9


def test_nothing_is_lost_where_a_prototype_does_not_look(
    table: dict[str, object], found: dict[tuple[int, str], Effect]
) -> None:
    assert all(each.dual == 0 for each in found.values())
    assert premise(table).prototype_share == 1


@pytest.mark.parametrize("prototype", [COLOUR, SHAPE, TEXTURE])
def test_a_change_of_the_part_alone_agrees(prototype: int, case: Case) -> None:
    base = case.hatched if prototype == TEXTURE else case.plain
    before, lost = case.said(base, prototype), {}
    for kind in KINDS:
        smooth_again = prototype == TEXTURE and kind == "texture"
        after = case.plain if smooth_again else with_other(base, kind)
        lost[kind] = (before - case.said(after, prototype)) / before
    own = lost.pop(KINDS[prototype])
    assert own.mean() > 0.2
    for others in lost.values():
        assert (own > 2 * np.abs(others)).all()
        assert abs(others.mean()) < 0.05
    if prototype != COLOUR:
        assert (lost["colour"] == 0).all()
