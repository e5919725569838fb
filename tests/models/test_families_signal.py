"""Every family: a signal is found in the cell that it was put in, under every fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.models.families import CASES, PATCH
from tests.models.fits import FITS, SIZES, SOURCES, fitted, noise, placement

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sightline.models import Model

# For each shape of the input an image: of another shape, and of the same.
IMAGES = {"square": SOURCES["wide"], "wide": SOURCES["tall"], "tall": SOURCES["tall"]}
RESNETS = ("ResNetModel", "ResNetForImageClassification")

Rect = tuple[float, float, float, float]


def on_source(rect: Rect, fit: str, source: tuple[int, int], size: tuple[int, int]) -> Rect | None:
    """Where a rectangle of the input lies on the image; None if some of it does not."""
    whole, corner, _ = placement(fit, source, size)
    x0, x1 = ((x - corner[0]) * source[0] / whole[0] for x in rect[::2])
    y0, y1 = ((y - corner[1]) * source[1] / whole[1] for y in rect[1::2])
    inside = min(x0, y0) >= -1e-9 and x1 <= source[0] + 1e-9 and y1 <= source[1] + 1e-9
    return (x0, y0, x1, y1) if inside else None


def painted(image: NDArray[np.uint8], rect: Rect) -> NDArray[np.uint8]:
    x0, y0, x1, y1 = rect
    changed = image.copy()
    changed[int(np.ceil(y0)) : int(y1), int(np.ceil(x0)) : int(x1)] = (255, 0, 30)
    return changed


def cells_of(columns: int, rows: int) -> list[tuple[int, int]]:
    """Corners, cells off the diagonal, and the centre."""
    corners = [(0, 0), (0, columns - 1), (rows - 1, 0), (rows - 1, columns - 1)]
    return [*corners, (1, 2), (2, 1), (rows // 2, columns - 2), (rows // 2, columns // 2)]


def most_changed(
    model: Model, rects: dict[tuple[int, int], Rect], fit: str, shape: str
) -> dict[tuple[int, int], tuple[int, int]]:
    """The cell whose features change most when a rectangle of the input is painted.

    Rectangles of which the image does not reach all are left out.
    """
    image = noise(*IMAGES[shape])
    there = {key: on_source(rect, fit, IMAGES[shape], SIZES[shape]) for key, rect in rects.items()}
    seen = {key: painted(image, rect) for key, rect in there.items() if rect is not None}
    before, *after = model.features([image, *seen.values()])
    changes = [(one - before).norm(dim=0) for one in after]
    return {
        key: divmod(int(change.argmax()), change.shape[1])
        for key, change in zip(seen, changes, strict=True)
    }


@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize("shape", SIZES)
@pytest.mark.parametrize("name", [name for name in CASES if name not in RESNETS])
def test_a_signal_is_found_in_the_cell_it_was_put_in(name: str, shape: str, fit: str) -> None:
    model = fitted(name, fit, SIZES[shape])
    _, _, (width, height) = placement(fit, IMAGES[shape], SIZES[shape])
    rects: dict[tuple[int, int], Rect] = {
        (row, column): (column * PATCH, row * PATCH, (column + 1) * PATCH, (row + 1) * PATCH)
        for row, column in cells_of(width // PATCH, height // PATCH)
    }
    found = most_changed(model, rects, fit, shape)
    assert len(found) >= 2  # others lie in the padding of a letterbox
    assert found == {cell: cell for cell in found}


@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize("shape", SIZES)
@pytest.mark.parametrize("name", RESNETS)
def test_a_resnet_finds_a_signal_at_the_centre_of_its_receptive_field(
    name: str, shape: str, fit: str
) -> None:
    """Its strided convolutions are padded on both sides: cell j is centred on pixel 16 j."""
    model = fitted(name, fit, SIZES[shape])
    _, _, (width, height) = placement(fit, IMAGES[shape], SIZES[shape])
    rows, columns = height // PATCH, width // PATCH
    cells = [(1, 2), (2, 1), (rows // 2, columns // 2), (rows - 1, columns - 1)]
    centres = {(y, x): (x * PATCH + 0.5, y * PATCH + 0.5) for y, x in cells}
    rects = {cell: (x - 6, y - 6, x + 6, y + 6) for cell, (x, y) in centres.items()}
    found = most_changed(model, rects, fit, shape)
    assert found
    assert found == {cell: cell for cell in found}
    rects = {cell: (x, y, x + PATCH - 0.5, y + PATCH - 0.5) for cell, (x, y) in centres.items()}
    for (row, column), (y, x) in most_changed(model, rects, fit, shape).items():
        assert y in (row, row + 1)  # half a cell further than where it is drawn
        assert x in (column, column + 1)
