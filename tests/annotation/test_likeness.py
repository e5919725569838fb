from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sightline.annotation._likeness import Prompt, find_prompts, rank
from sightline.core import Annotation, InputError, Region

EAST, NORTH, BETWEEN = np.array([1.0, 0]), np.array([0, 1.0]), np.array([0.6, 0.8])


def square(x: float, y: float, side: float = 0.1) -> tuple[float, float, float, float]:
    return x, y, x + side, y + side


def ranked(boxes: Any, vectors: Any, prompts: list[Prompt], **options: Any) -> list[Any]:
    annotation = Annotation("a.jpg", regions=tuple(prompt.region for prompt in prompts))
    return rank(np.array(boxes).reshape(-1, 4), vectors, prompts, annotation, **options)


WINDOW = Prompt(Region("window", box=square(0, 0), index=0), EAST)
FAR = [square(0.5, 0.1), square(0.5, 0.3), square(0.5, 0.5)]


def test_the_score_is_the_cosine() -> None:
    found = ranked(FAR, [NORTH, BETWEEN * 7, EAST], [WINDOW])

    assert found == [(2, "window", 0, 1.0), (1, "window", 0, pytest.approx(0.6))]


def test_what_points_away_scores_0() -> None:
    found = ranked(FAR, [-EAST, np.zeros(2), None], [WINDOW], least=0)

    # The one without a feature is like nothing at all.
    assert found == [(0, "window", 0, 0.0), (1, "window", 0, 0.0)]


def test_a_mask_is_proposed_once_with_the_label_it_is_most_like() -> None:
    second = Prompt(Region("window", box=square(0.2, 0), index=1), NORTH)
    door = Prompt(Region("door", box=square(0.4, 0), index=2), BETWEEN)

    found = ranked(FAR, [BETWEEN, NORTH, EAST], [WINDOW, second, door])

    assert [like[:3] for like in found] == [(0, "door", 2), (1, "window", 1), (2, "window", 0)]


def test_equal_ones_keep_their_order() -> None:
    twin = Prompt(Region("window", box=square(0.2, 0), index=1), EAST)

    found = ranked(FAR, [EAST, EAST, EAST], [WINDOW, twin])

    assert [(like.row, like.prompt) for like in found] == [(0, 0), (1, 0), (2, 0)]


@pytest.mark.parametrize(
    ("box", "stays", "as_door"),
    [
        (square(0, 0), False, False),
        ((0, 0, 0.1, 0.21), True, True),  # IoU 0.476, and 0.476 of it lies inside
        ((0, 0, 0.1, 0.2), False, False),  # both 0.5
        ((0.02, 0.02, 0.06, 0.06), False, True),  # a part of the region may be something else
        ((0.06, 0, 0.16, 0.1), True, True),  # 0.4 of it lies inside
        ((0.05, 0, 0.15, 0.1), False, True),  # half of it does, an IoU of a third
        (square(0.1, 0), True, True),  # beside it
    ],
)
def test_what_is_marked_already_is_not_proposed(box: Any, stays: bool, as_door: bool) -> None:
    door = Prompt(Region("door", box=square(0.8, 0.8), index=1), EAST)
    annotation = Annotation("a.jpg", regions=(WINDOW.region, door.region))

    for prompt, expected in ((WINDOW, stays), (door, as_door)):
        found = rank(np.array([box]), [EAST], [prompt], annotation, ratio=None)
        assert bool(found) == expected


def test_what_is_ignored_prompts_nothing_and_is_marked_all_the_same() -> None:
    regions = (
        WINDOW.region,
        Region("door", box=square(0.5, 0.7)),
        Region("window", box=FAR[1], flags=("ignore",)),
        Region("window", box=square(0.45, 0.45, 0.3), flags=("crowd",)),
    )
    annotation = Annotation("a.jpg", regions=regions)
    prompts = [prompt._replace(vector=EAST) for prompt in find_prompts(annotation)]

    found = rank(np.array(FAR), [EAST] * 3, prompts, annotation)

    assert [prompt.region.label for prompt in prompts] == ["window", "door"]
    # The third lies in a crowd of windows: it may be a door still.
    assert [(like.row, like.label) for like in found] == [(0, "window"), (2, "door")]


@pytest.mark.parametrize(
    ("ratio", "rows"), [(2.0, [0, 1]), (1.9, [0]), (4.0, [0, 1, 2]), (None, [0, 1, 2, 3])]
)
def test_boxes_are_about_as_wide_and_high_as_the_region(
    ratio: float | None, rows: list[int]
) -> None:
    boxes = [square(0.5, 0.1), (0.5, 0.25, 0.55, 0.35), (0.5, 0.4, 0.6, 0.8), (0.2, 0.2, 0.2, 0.3)]

    found = ranked(boxes, [EAST] * 4, [WINDOW], ratio=ratio)

    assert [like.row for like in found] == rows


def test_regions_without_a_feature_prompt_nothing() -> None:
    assert ranked(FAR, [EAST] * 3, [WINDOW._replace(vector=None)]) == []
    assert ranked([], [], [WINDOW]) == []


def test_a_region_whose_feature_is_0_is_named() -> None:
    with pytest.raises(InputError, match=r"mean feature of region 0 \('window'\) is 0"):
        ranked(FAR, [EAST] * 3, [WINDOW._replace(vector=np.zeros(2))])
