"""Prototypes: distributions, drops and cards show the numbers they are given, and no others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from sightline.core import InputError
from sightline.figures import (
    PrototypeCard,
    draw_drop_heatmap,
    draw_max_drop_distribution,
    draw_prototype_cards,
    draw_relevance_distributions,
)
from sightline.figures.prototypes import MOST
from tests.figures.drawn import assert_drawn
from tests.figures.test_checks import entries, notes


def relevance(**more: Any) -> dict[str, Any]:
    table = {
        "kind": ["prototype"] * 3 + ["patch"] * 2,
        "energy_relevance": [0.2, 0.4, 0.9, 0.5, np.nan],
        "mask_relevance": [0.3, 0.5, 1.0, 0.6, np.nan],
        "chance": [0.1, 0.2, 0.3, 0.25, np.nan],
        "image": list("abcab"),
    }
    return {**table, **more}


def dashes(ax: Any) -> list[float]:
    """Return where dashed lines stand: the mean of chance."""
    return [float(line.get_xdata()[0]) for line in ax.lines if line.get_linestyle() != "-"]


def test_relevance_stands_beside_chance() -> None:
    figure = draw_relevance_distributions(relevance())
    first, second, third, _ = figure.axes
    assert dashes(first) == dashes(second) == [pytest.approx(0.2)]
    assert dashes(third) == [0.25]
    means = [np.asarray(line.get_xdata())[0] for line in first.lines if line.get_linestyle() == "-"]
    assert means == [pytest.approx(0.5)]
    assert notes(first).startswith("Mean 0.50, chance 0.20")  # three images have no interval
    assert "3 prototypes on 3 images" in notes(first).replace("\n", " ")
    assert "chance 0.25; 1 patches on 1 image. 1 undefined not drawn." in notes(third).replace(
        "\n", " "
    )
    bars = sum(patch.get_height() for patch in shapes(third) if hasattr(patch, "get_height"))
    assert bars == 1


def test_several_lines_of_an_image_are_one_in_the_interval() -> None:
    rng = np.random.default_rng(0)
    values = np.repeat(rng.random(12), 4)
    table = {"kind": ["patch"] * 48, "energy_relevance": values, "mask_relevance": values,
             "chance": [0.2] * 48}  # fmt: skip
    alone = draw_relevance_distributions(table).axes[0]
    together = draw_relevance_distributions({**table, "image": np.repeat(range(12), 4)}).axes[0]
    wide = [notes(ax).split("(")[1].split(")")[0].split(" to ") for ax in (alone, together)]
    spans = [float(high) - float(low) for low, high in wide]
    assert spans[1] > 1.5 * spans[0]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"kind": ["part"] * 5}, "kind must be one of prototype, patch; got 'part'"),
        ({name: [] for name in relevance()}, "at least one row"),
    ],
)
def test_tables_of_relevance_that_cannot_be_drawn(change: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        draw_relevance_distributions(relevance(**change))


def drops() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "prototype": [-1, 3, 3, 7, 7, 9],
            "perturbation": ["hue", "hue", "blur", "hue", "blur", "hue"],
            "focused": [0.5, 0.6, 0.1, 0.3, -0.2, np.nan],
            "difference": [0.1, 0.4, -0.3, 0.2, -0.4, np.nan],
            "matters": [True, True, False, None, False, None],
            "images": [40, 20, 20, 4, 20, 0],
        }
    )


def shapes(ax: Any) -> list[Any]:
    """Return what is drawn on axes as rectangles."""
    return list(ax.patches)


def said(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.texts]


def test_what_matters_has_a_dot_and_what_is_undecided_a_hatch() -> None:
    figure = draw_drop_heatmap(drops(), names={3: "Gothic"})
    left, right = figure.axes[:2]
    assert [one.get_text() for one in left.get_yticklabels()] == ["3 Gothic", "7", "9"]
    cells: Any = left.images[0].get_array()
    assert cells[:2].tolist() == [[0.6, 0.1], [0.3, -0.2]]
    assert cells.mask.tolist() == [[False, False], [False, False], [True, True]]
    assert np.asarray(right.images[0].get_array())[0].tolist() == [0.4, -0.3]
    assert left.images[0].get_clim() == right.images[0].get_clim() == (-0.6, 0.6)
    dots = [text.get_position() for text in right.texts if text.get_text() == "●"]
    assert dots == [(0, 0)]
    hatched = [patch.get_xy() for patch in shapes(right) if patch.get_hatch()]
    assert hatched == [(-0.5, 0.5)]  # what is not known is grey, not hatched
    assert said(right)[-4:-1] == ["hue", "undecided", "undecided"]
    assert "undefined" in notes(left)


def test_without_dual_copies_there_is_no_word_of_what_matters() -> None:
    figure = draw_drop_heatmap(drops().drop(columns=["difference", "matters"]))
    assert figure.axes[0].get_title(loc="left") == "Focused drop"
    assert not [ax for ax in figure.axes if "dual" in ax.get_title(loc="left")]
    assert "●" not in "".join(said(figure.axes[0]))


def test_none_that_matters_is_unknown_and_many_prototypes_are_legible() -> None:
    rng = np.random.default_rng(0)
    kinds = ["brightness", "contrast", "saturation", "hue", "blur", "distortion"]
    whose = np.repeat(np.arange(MOST + 5), 6)
    table = {"prototype": whose, "perturbation": kinds * (MOST + 5), "images": whose,
             "focused": rng.uniform(-1.4, 1.4, len(whose)),
             "difference": rng.uniform(-1, 0, len(whose)),
             "matters": [False] * len(whose)}  # fmt: skip
    figure = draw_drop_heatmap(table)
    left, right = figure.axes[:2]
    labels = [one.get_text() for one in left.get_yticklabels()]
    assert labels == [str(one) for one in range(5, MOST + 5)]  # those on the fewest are left out
    assert said(right).count("unknown") == MOST
    assert left.images[0].get_clim() == (-1, 1)
    assert "5 on fewer images not drawn" in notes(left).replace("\n", " ")
    assert_drawn(figure)


def test_tables_of_drops_that_cannot_be_drawn() -> None:
    with pytest.raises(InputError, match="a row of a single prototype"):
        draw_drop_heatmap(drops()[:1])
    with pytest.raises(InputError, match="one row for each prototype and perturbation"):
        draw_drop_heatmap(pd.concat([drops(), drops()]))


def test_the_largest_drops_are_coloured_by_what_takes_most() -> None:
    table = {
        "img_id": [0, 0, 1, 1, 2, 3],
        "proto_idx": [5] * 6,
        "perturbation": ["hue", "blur", "hue", "blur", "hue", "hue"],
        "original_score": [1.0, 1.0, 1.0, 1.0, 1.0, 0.0],
        "focused": [0.5, 0.75, 0.9, 0.2, 1.5, 0.1],
    }
    ax = draw_max_drop_distribution(table).axes[0]
    assert entries(ax) == ["2  hue", "1  blur"]
    assert notes(ax) == "3 pairs; median 0.50. 1 undefined not drawn."
    assert sum(patch.get_height() for patch in shapes(ax)) == 3
    assert ax.get_xlim()[0] < -0.5  # where the score rose
    with pytest.raises(InputError, match="at least one row"):
        draw_max_drop_distribution({name: [] for name in table})


def test_perturbations_without_a_colour_are_together() -> None:
    names = [f"change {one}" for one in range(9)]
    table = {"img_id": range(9), "proto_idx": [0] * 9, "perturbation": names,
             "original_score": [1.0] * 9, "focused": [0.5] * 9}  # fmt: skip
    figure = draw_max_drop_distribution(table)
    assert entries(figure.axes[0])[-1] == "2  2 others"


def card(number: int = 3, **more: Any) -> PrototypeCard:
    rng = np.random.default_rng(number)
    image = rng.integers(0, 255, (64, 64, 3)).astype(np.uint8)
    made = PrototypeCard(number, image, (0, 16, 8, 24), "Gothic",
                         ("weight 1.20", "nature: hue, blur"))  # fmt: skip
    return made._replace(**more)


def test_a_card_shows_the_patch_with_as_much_around_it_and_where_it_is() -> None:
    figure = draw_prototype_cards([card(values=np.eye(4))], head="Prototypes of it")
    patch, image, heat = figure.axes
    assert said(patch)[::-1] == ["3: Gothic", "weight 1.20; nature: hue, blur"]
    assert patch.images[0].get_size() == (96, 64)  # of 256 pixels; cut off at the left edge
    assert image.images[0].get_size() == heat.images[0].get_size() == (256, 256)
    boxes = [(one.get_xy(), one.get_width()) for one in shapes(image)]
    assert set(boxes) == {((0, 64), 32)}
    assert {one.get_xy() for one in shapes(patch)} == {(0, 32)}
    assert_drawn(figure)


def test_a_sheet_has_two_tiles_for_each_card() -> None:
    figure = draw_prototype_cards([card(one) for one in range(6)])
    assert len(figure.axes) == 12
    texts = assert_drawn(figure)
    assert [one for one in texts if one.endswith(": Gothic")] == [f"{i}: Gothic" for i in range(6)]


def test_cards_that_cannot_be_drawn() -> None:
    with pytest.raises(InputError, match="one at least"):
        draw_prototype_cards([])
    with pytest.raises(InputError, match="box of prototype 3 must lie in its image"):
        draw_prototype_cards([card(box=(60, 60, 70, 70))])
