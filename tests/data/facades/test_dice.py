from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from sightline.data.facades.dice import Dice


def test_streams_are_their_own_and_repeatable() -> None:
    first = [Dice(1, 2, name).rng.random() for name in ("style", "layout", "grain")]
    assert len(set(first)) == 3
    assert first == [Dice(1, 2, name).rng.random() for name in ("style", "layout", "grain")]
    assert Dice(2, 1, "style").rng.random() != first[0]
    with pytest.raises(ValueError, match="not in tuple"):
        Dice(1, 2, "weather")


def test_choices_are_even() -> None:
    dice = Dice(0, 0, "style")
    counts = Counter(dice.pick("abcd") for _ in range(4000))
    assert set(counts) == set("abcd")
    assert all(850 < count < 1150 for count in counts.values())
    assert 0.27 < np.mean([dice.chance(0.3) for _ in range(4000)]) < 0.33
    numbers = [dice.between(-2.0, 3.0) for _ in range(1000)]
    assert min(numbers) >= -2.0
    assert max(numbers) <= 3.0
    assert np.mean(numbers) == pytest.approx(0.5, abs=0.15)


def test_orders_are_even() -> None:
    dice = Dice(0, 0, "style")
    orders = Counter("".join(dice.shuffled("abc")) for _ in range(1200))
    assert len(orders) == 6
    assert all(150 < count < 250 for count in orders.values())
