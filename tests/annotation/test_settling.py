from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sightline.annotation._conflicts import settle

LEFT, RIGHT = (0.0, 0.0, 0.4, 0.4), (0.6, 0.0, 1.0, 0.4)


def test_what_is_marked_goes_first() -> None:
    inside, covering = (0.1, 0.1, 0.2, 0.2), (0.0, 0.0, 0.5, 0.5)
    claims = [("window", LEFT), ("window", inside), ("window", covering), ("window", RIGHT)]
    assert settle(claims, [("window", LEFT)]) == [3]


def test_another_label_has_a_place_that_is_within_it() -> None:
    door = (0.1, 0.1, 0.3, 0.4)
    assert settle([("door", door)], [("portal", LEFT)]) == [0]
    assert settle([("door", LEFT)], [("portal", LEFT)]) == []


def test_of_two_labels_the_better_has_the_place() -> None:
    nearly = (0.0, 0.0, 0.4, 0.38)
    assert settle([("door", LEFT), ("window", nearly), ("window", RIGHT)], []) == [0, 2]


def test_what_is_dropped_claims_nothing() -> None:
    # The second falls to the first, so that it does not drop the third.
    claims = [("w", (0, 0, 0.2, 1)), ("w", (0.09, 0, 0.29, 1)), ("w", (0.18, 0, 0.38, 1))]
    assert settle(claims, []) == [0, 2]


def test_nothing_to_settle() -> None:
    assert settle([], [("window", LEFT)]) == []


corner = st.integers(0, 8)
box = st.tuples(corner, corner, st.integers(1, 8), st.integers(1, 8)).map(
    lambda b: (b[0] / 16, b[1] / 16, (b[0] + b[2]) / 16, (b[1] + b[3]) / 16)
)
claim = st.tuples(st.sampled_from(("a", "b")), box)


def slow(claims: list, given_: list) -> list[int]:  # type: ignore[type-arg]
    """Settle by loops over pairs."""

    def clash(one: tuple, other: tuple) -> bool:  # type: ignore[type-arg]
        (label, a), (second, b) = one, other
        width, height = (min(a[i + 2], b[i + 2]) - max(a[i], b[i]) for i in (0, 1))
        shared = max(0, width) * max(0, height)
        first, last = ((c[2] - c[0]) * (c[3] - c[1]) for c in (a, b))
        if label == second:
            return bool(shared / min(first, last) >= 0.5)
        return bool(shared / (first + last - shared) >= 0.5)

    kept: list[int] = []
    for place, one in enumerate(claims):
        if not any(clash(one, other) for other in [*given_, *(claims[k] for k in kept)]):
            kept.append(place)
    return kept


@given(st.lists(claim, max_size=8), st.lists(claim, max_size=3))
def test_as_the_slow_way(claims: list, marked: list) -> None:  # type: ignore[type-arg]
    assert settle(claims, marked) == slow(claims, marked)
