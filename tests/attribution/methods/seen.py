"""What tests of maps look at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tests.attribution.methods.networks import ONE

if TYPE_CHECKING:
    from sightline.attribution.methods import Maps

__all__ = ["close", "lies_on_one"]


def close(found: Any, wanted: Any, share: float = 1e-5) -> None:
    """See that values are those wanted, which are not all 0, up to a share of the largest."""
    wanted = np.asarray(wanted)
    assert found.shape == wanted.shape
    assert np.abs(found - wanted).max() <= share * np.abs(wanted).max()
    assert np.abs(wanted).max() > 0


def lies_on_one(maps: Maps, count: int) -> None:
    """See that maps are 0 but for the one patch that a network reads."""
    for i in range(count):
        cells = np.abs(maps.of(i)).reshape(3, 8, 4, 8).sum((1, 3))
        assert cells[ONE] > 0
        cells[ONE] = 0
        assert not cells.any()
