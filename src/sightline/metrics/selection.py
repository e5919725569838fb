"""Which pixels of a map are selected, and with what weight.

Every rule comes down to a *budget*: how many pixels it selects, a real number. The highest pixels
fill it; where the budget ends inside a group of equal pixels, each of them takes an equal share.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from sightline.core import InputError
from sightline.core.arrays import Array, namespace
from sightline.core.choices import Sign, Ties

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = [
    "PERCENTILES",
    "ROUNDING",
    "Sign",
    "Threshold",
    "Ties",
    "budget",
    "energy_of",
    "parse_selection",
    "select",
    "share_hint",
]

Kind = Literal["percentile", "mass", "mean", "matched", "top", "tolerance"]

PERCENTILES = (95, 90, 85, 80, 75, 70, 60, 50)
ROUNDING = 1e-12
"""Relative distance within which a value counts as equal to a computed threshold."""
HUGE, SHRINK = 1e290, 2.0**-600


@dataclass(frozen=True, slots=True)
class Threshold:
    """A selection rule with its parameter; `str()` is the part of a column name behind the @.

    >>> [str(Threshold.parse(text)) for text in ("90", "97.5", "mass", "mean", "k5", "tol15")]
    ['90', '97.5', 'mass60', 'mean', 'k5', 'tol15']
    """

    kind: Kind
    level: float = math.nan

    @classmethod
    def parse(cls, text: str) -> Threshold:
        """Read a threshold from its name."""
        plain: dict[str, Kind] = {"mean": "mean", "matched": "matched"}
        if text in plain:
            return cls(plain[text])
        number = re.fullmatch(r"(mass|tol|k|)(\d+(?:\.\d+)?)?", text)
        if number is None or text in ("", "k", "tol"):
            raise InputError(
                f"unknown selection {text!r}; expected a percentile (e.g. 90), "
                "mass60, mean, matched, k5 (pixels) or tol15 (pixels)"
            )
        level = float(number[2] or 60)
        if number[1] == "mass":
            if not 0 < level <= 100:
                raise InputError(f"the mass share must lie in (0, 100] percent; got {level:g}")
            return cls("mass", level / 100)
        if number[1] == "k":
            if level < 1 or level != int(level):
                raise InputError(f"the number of top pixels must be 1, 2, …; got {level:g}")
            return cls("top", level)
        return cls("tolerance", level) if number[1] == "tol" else cls.percentile(level)

    @classmethod
    def percentile(cls, level: float) -> Threshold:
        """Return the rule that selects the top (100 - level) percent."""
        if not 0 <= level <= 100:  # NaN fails too
            raise InputError(f"percentiles must lie in [0, 100]; got {level!r}")
        return cls("percentile", float(level))

    def __str__(self) -> str:
        if self.kind in ("mean", "matched"):
            return self.kind
        prefix = {"percentile": "", "mass": "mass", "top": "k", "tolerance": "tol"}[self.kind]
        return f"{prefix}{100 * self.level if self.kind == 'mass' else self.level:g}"


def parse_selection(
    selection: str | Sequence[str], percentiles: Iterable[float] = PERCENTILES
) -> tuple[Threshold, ...]:
    """Return the thresholds that a `selection` argument and its percentiles stand for."""
    names = (selection,) if isinstance(selection, str) else tuple(selection)
    found: list[Threshold] = []
    for name in names:
        if name == "percentile":
            levels = _numbers(percentiles)
            if len(levels) > 1 and all(map(share_hint, levels)):
                raise InputError(share_hint(levels[0]))
            found += map(Threshold.percentile, levels)
        elif isinstance(name, str) and (name in ("mean", "matched") or name.startswith("mass")):
            found.append(Threshold.parse(name))
        else:
            raise InputError(
                "selection must be 'percentile', 'mass', 'massNN', 'mean' or 'matched'; "
                f"got {name!r}"
            )
    if not found:
        raise InputError("nothing is selected: give at least one percentile or rule")
    return tuple(dict.fromkeys(found))


def _numbers(percentiles: Iterable[float] | float) -> list[float]:
    if isinstance(percentiles, int | float):
        return [percentiles]
    try:
        if isinstance(percentiles, str | bytes):  # would be read figure by figure
            raise TypeError
        return [float(level) for level in percentiles]
    except (TypeError, ValueError):
        raise InputError(f"percentiles must be numbers in [0, 100]; got {percentiles!r}") from None


def share_hint(level: float) -> str:
    """Return what to say of a percentile that was meant as a share of 1; "" for others.

    >>> share_hint(0.9), share_hint(90)
    ('percentiles go from 0 to 100, got 0.9; did you mean 90?', '')
    """
    if not 0 < level < 1:
        return ""
    return f"percentiles go from 0 to 100, got {level:g}; did you mean {100 * level:g}?"


def energy_of(values: Array) -> Array:
    """Return values whose sum cannot overflow: the same ones, or all scaled by one small factor."""
    xp = namespace(values)
    return values * SHRINK if float(xp.max(values)) > HUGE else values


def budget(values: Array, inside: int, threshold: Threshold, ties: Ties = "share") -> float:
    """Return how many pixels a rule selects from the flat `values` of one map (float64).

    `inside` is the number of annotated pixels, which only the matched rule looks at. NaN where the
    rule is undefined: the mass of a map that sums to zero, more top pixels than there are.
    """
    xp, n = namespace(values), int(values.shape[0])
    if threshold.kind == "percentile":
        if ties == "share":
            return n * (100 - threshold.level) / 100
        return _at_least(values, _quantile(values, threshold.level / 100))
    if threshold.kind == "top":
        return threshold.level if threshold.level <= n else math.nan
    if threshold.kind == "matched":
        if ties == "share" or inside == 0:
            return float(inside)
        return _at_least(values, float(xp.sort(values)[n - inside]))
    if threshold.kind == "mean":
        if bool(xp.max(values) == xp.min(values)):
            return float(n)
        energy = energy_of(values)
        above = energy * n > xp.sum(energy) * (1 + ROUNDING)
        return float(xp.sum(xp.astype(above, xp.float64)))
    return _mass(energy_of(values), threshold.level, ties)


def _mass(values: Array, share: float, ties: Ties) -> float:
    xp, n = namespace(values), int(values.shape[0])
    total = float(xp.sum(values))
    if total == 0:
        return math.nan
    if share == 1:  # no sum that rounds: all that have any mass
        return _at_least(values, 5e-324)
    ordered = xp.flip(xp.sort(values))
    held = xp.cumulative_sum(ordered)
    slack = ROUNDING * total if ties == "include" else 0.0
    reached = xp.astype(held < share * total - slack, xp.int64)
    place = min(int(xp.sum(reached)), n - 1)  # rounding may leave the last pixel short
    cut = float(ordered[place])
    if ties == "include" or cut == 0:
        return _at_least(values, cut if cut > 0 else 5e-324)
    above = int(xp.sum(xp.astype(values > cut, xp.int64)))
    before = float(held[above - 1]) if above else 0.0
    return above + (share * total - before) / cut


def _at_least(values: Array, cut: float) -> float:
    xp = namespace(values)
    return float(xp.sum(xp.astype(values >= cut, xp.float64)))


def _quantile(values: Array, share: float) -> float:
    """Interpolate linearly between the two values around the share, rounding as numpy does."""
    ordered, place = namespace(values).sort(values), float(share * (values.shape[0] - 1))
    lower = math.floor(place)
    a, b = float(ordered[lower]), float(ordered[min(lower + 1, values.shape[0] - 1)])
    weight = place - lower
    return b - (b - a) * (1 - weight) if weight >= 0.5 else a + (b - a) * weight


def select(values: Array, count: float) -> Array:
    """Return the weight in [0, 1] of each of the flat `values` when `count` pixels are selected.

    >>> import numpy as np
    >>> select(np.array([3.0, 1.0, 1.0, 1.0, 0.0]), 2).tolist()
    [1.0, 0.3333333333333333, 0.3333333333333333, 0.3333333333333333, 0.0]
    """
    xp, n = namespace(values), values.shape[0]
    if math.isnan(count):
        return xp.full_like(values, xp.nan)
    if count <= 0:
        return xp.zeros_like(values)
    cut = _at_place(values, max(n - math.ceil(count), 0))
    above = xp.astype(values > cut, xp.float64)
    tied = xp.astype(values == cut, xp.float64)
    return above + tied * ((count - xp.sum(above)) / xp.sum(tied))


def _at_place(values: Array, place: int) -> Array:
    """Return the value that would stand at a place in ascending order."""
    if isinstance(values, np.ndarray):  # one value needs no full order
        return np.partition(values, place)[place]
    return namespace(values).sort(values)[place]
