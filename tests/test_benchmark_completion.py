"""The benchmark of proposals: what counts as found, and its tables. No time counts."""

from __future__ import annotations

import pytest

from benchmarks import completion as bench
from sightline.annotation.proposals import Proposal
from sightline.core import Annotation, Region

# Two windows and a door are missing; one window is marked.
WHOLE = Annotation(
    "a.png",
    100,
    100,
    (
        Region("window", box=(0.0, 0.0, 0.1, 0.2), index=0),
        Region("window", box=(0.2, 0.0, 0.3, 0.2), index=1),
        Region("window", box=(0.4, 0.0, 0.5, 0.2), index=2),
        Region("door", box=(0.6, 0.5, 0.7, 0.9), index=3),
    ),
)
MARKED = Annotation("a.png", 100, 100, WHOLE.regions[:1])


def proposed(label: str, box: tuple[float, ...], score: float) -> Proposal:
    region = Region(label, box=box, score=score, source="x")  # type: ignore[arg-type]
    return Proposal.made("a.png", region, 0)


PROPOSED = [
    proposed("window", (0.2, 0.0, 0.3, 0.2), 0.9),  # found
    proposed("window", (0.21, 0.0, 0.31, 0.2), 0.8),  # the same again
    proposed("window", (0.4, 0.0, 0.46, 0.1), 0.7),  # its middle is in the other, IoU is 0.3
    proposed("window", (0.6, 0.5, 0.7, 0.9), 0.6),  # a door
]


def test_an_instance_is_found_once_and_by_its_label() -> None:
    by_iou = bench.judge(PROPOSED[::-1], WHOLE, MARKED, "IoU")
    assert by_iou.hits.tolist() == [True, False, False, False]
    assert by_iou.scores.tolist() == [0.9, 0.8, 0.7, 0.6]
    assert by_iou.missing == {"window": 2, "door": 1}
    assert bench.judge(PROPOSED, WHOLE, MARKED, "centre").hits.tolist() == [1, 0, 1, 0]


def test_recall_over_the_threshold() -> None:
    judged = [bench.judge(PROPOSED, WHOLE, MARKED, "centre")] * 2
    points = bench.curve(judged)
    assert bench.at_false(points, 0) == pytest.approx((0.9, 1 / 3, 0))
    assert bench.at_false(points, 1) == pytest.approx((0.7, 2 / 3, 1))
    assert bench.at_threshold(points, 0.65) == pytest.approx((0.65, 2 / 3, 1))
    assert bench.at_threshold(points, 0.95) == pytest.approx((0.95, 0, 0))
    low, high = bench.interval(judged, 1)
    assert low == high == pytest.approx(2 / 3)
    assert bench.by_label(judged, 0.65) == {"window": (4, 4, 2), "door": (2, 0, 0)}


def test_nothing_is_found_where_the_best_are_false() -> None:
    points = bench.curve([bench.judge(PROPOSED[3:], WHOLE, MARKED, "IoU")])
    assert bench.at_false(points, 0.5) == (1, 0, 0)


def test_random_places_find_little_and_are_the_same_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    bench.main(["--images", "2", "--models", bench.CONTROL, "--markdown"])
    printed = capsys.readouterr().out
    assert "2 facades of seed 2002, 18 instances missing" in printed
    assert "| proposer | match | 0.25 false |" in printed
    assert printed.count("0.000") >= 8
    bench.main(["--images", "2", "--models", bench.CONTROL, "--markdown"])
    again = capsys.readouterr().out
    assert again.splitlines()[:-1] == printed.splitlines()[:-1]  # the last line has the seconds


def test_tables_are_text_or_markdown() -> None:
    assert (
        bench.table(["a", "b"], [["1", "22"]], markdown=True)
        == "| a | b |\n| --- | --- |\n| 1 | 22 |"
    )
    assert bench.table(["a", "b"], [["1", "22"]], markdown=False) == "a  b\n1  22"
