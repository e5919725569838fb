"""The matrix of agreement shows the numbers it was given, alike maps together."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest

from sightline.core import InputError
from sightline.figures import draw_agreement_matrix
from sightline.stats._order import leaf_order
from tests.figures.drawn import notes_of, row_names
from tests.figures.samples_comparing import agreement

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def _cells(figure: Figure) -> dict[tuple[int, int], str]:
    ax = figure.axes[0]
    found = [text for text in ax.texts if getattr(text, "xycoords", "") != "axes fraction"]
    return {
        (int(text.get_position()[1]), int(text.get_position()[0])): text.get_text()
        for text in found
    }


def test_alike_maps_stand_together() -> None:
    figure = draw_agreement_matrix(agreement(9), [f"m{i}" for i in range(9)], n=60)
    kinds = [int(name[1:]) % 3 for name in row_names(figure.axes[0])]
    assert sum(one != other for one, other in pairwise(kinds)) == 2
    assert "mean over 60 images" in notes_of(figure.axes[0])


def test_opposite_maps_are_not_alike() -> None:
    matrix = np.array([[1, -0.9, 0.5], [-0.9, 1, -0.9], [0.5, -0.9, 1]])
    assert leaf_order(matrix).tolist() in ([1, 0, 2], [1, 2, 0], [0, 2, 1], [2, 0, 1])


def test_the_order_does_not_depend_on_the_order_given() -> None:
    matrix = np.nan_to_num(agreement(8))
    turned = np.arange(8)[::-1]
    one = leaf_order(matrix)
    other = turned[leaf_order(matrix[np.ix_(turned, turned)])]
    assert one.tolist() in (other.tolist(), other[::-1].tolist())


def test_cells_hold_the_numbers_of_their_pair() -> None:
    matrix = np.array([[1, -0.25, 0.004], [-0.25, 1, np.nan], [0.004, np.nan, 1]])
    names = ["a", "b", "c"]
    figure = draw_agreement_matrix(matrix, names)
    rows = row_names(figure.axes[0])
    assert [text.get_text() for text in figure.axes[0].get_xticklabels()] == rows
    expected = {-0.25: "−.25", 0.004: ".00", 1.0: "1"}
    cells = _cells(figure)
    shades = figure.axes[0].images[0].get_array()
    assert shades is not None
    for i, j in np.ndindex(3, 3):
        value = float(matrix[names.index(rows[i]), names.index(rows[j])])
        assert cells[i, j] == expected.get(value, "–")
        if i != j and np.isfinite(value):
            assert float(shades[i, j]) == value
    assert "1 pair undefined (–)" in notes_of(figure.axes[0])
    assert figure.axes[0].images[0].get_clim() == (-1, 1)


def test_of_many_lines_the_first_are_drawn() -> None:
    figure = draw_agreement_matrix(np.eye(45), [f"m{i}" for i in range(45)])
    assert len(row_names(figure.axes[0])) == 40
    assert "The first 40 of 45 lines are drawn" in notes_of(figure.axes[0])


def test_what_is_no_agreement_is_refused() -> None:
    for odd in ([["a", "b"], ["b", "a"]], [[1, 0.5], [1]]):
        with pytest.raises(InputError, match="matrix must be numbers"):
            draw_agreement_matrix(odd, ["a", "b"])  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"square.*\(2, 3\)"):
        draw_agreement_matrix(np.zeros((2, 3)), ["a", "b"])
    with pytest.raises(InputError, match="square"):
        draw_agreement_matrix(np.zeros((0, 0)), [])
    with pytest.raises(InputError, match="names must be 2"):
        draw_agreement_matrix(np.eye(2), ["a"])
    with pytest.raises(InputError, match="symmetric"):
        draw_agreement_matrix([[1, 0.2], [0.3, 1]], ["a", "b"])
    with pytest.raises(InputError, match="it reaches 2"):
        draw_agreement_matrix([[1, 2], [2, 1]], ["a", "b"])
    with pytest.raises(InputError, match=r"ends must be square.*\(2, 3\)"):
        draw_agreement_matrix(np.eye(2), ["a", "b"], ends=(np.zeros((2, 3)), np.eye(2)))
