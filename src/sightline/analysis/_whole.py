"""Maps scored against all regions of their images at every percentile at once, and kept so."""

from __future__ import annotations

from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sightline.analysis._kept import Kept
from sightline.analysis.image_figures import figures_at, names_at, panel_metrics, quick_metrics
from sightline.metrics import score_maps

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sightline.analysis.image_figures import ImageFigures
    from sightline.analysis.on_demand import MapKey, OnDemand, OneMap, Rule
    from sightline.metrics import Scores
    from sightline.metrics.selection import Sign, Ties

__all__ = ["PERCENTILES", "Whole", "WholeScores"]

PERCENTILES = tuple(range(1, 100))
"""Percentiles at which maps are scored beside those of the study."""
# Bytes to keep, and those of a map: some thirty figures at each percentile.
_MOST, _EACH = 144 << 20, 32 << 10
# Of maps that are scored at once.
_PIXELS = 1 << 22


class Whole(NamedTuple):
    """The scores of one map against all regions of its image, at many percentiles.

    Attributes
    ----------
    scores, place
        From `score_maps`, of several maps, and which of them it is.
    key
        Which map.
    sign
        How values are read.
    shape
        Of the raster.
    on_grid
        Whether the raster is the model's own grid.
    visible
        Share of the annotated area that the model could see.
    """

    scores: Scores
    place: int
    key: MapKey
    sign: Sign
    shape: tuple[int, ...]
    on_grid: bool
    visible: float


class WholeScores:
    """The scores of maps against all regions of their images; those asked for last are kept.

    Sorting the pixels of a map takes most of the time, and serves every percentile.

    Parameters
    ----------
    maps
        The maps of the store.
    """

    def __init__(self, maps: OnDemand) -> None:
        results = maps.scenes.results
        stored = [float(one) for one in results.study["percentiles"]]
        self._percentiles = sorted({*map(float, PERCENTILES), *(p for p in stored if 0 < p < 100)})
        self._known = frozenset(self._percentiles)
        self._names = results._tables.names
        self._panels: dict[str, list[str]] = {}
        self._shown: dict[tuple[str, str], tuple[str, ...]] = {}
        self._kept: Kept[Whole] = Kept(_MOST, lambda _: _EACH)

    @property
    def room(self) -> int:
        """How many maps are kept."""
        return _MOST // _EACH

    def has(self, rule: Rule) -> bool:
        """Say whether maps are scored by a rule here."""
        return rule.selection == "percentile" and rule.percentile in self._known

    def panel(self, sign: str) -> list[str]:
        """Return the names of all figures of a map that is read in a way."""
        if sign not in self._panels:
            self._panels[sign] = panel_metrics(self._names, sign)
        return self._panels[sign]

    def complete(self, sign: str) -> bool:
        """Say whether all figures of such a map are here: some take longer than one pass."""
        return len(quick_metrics(self.panel(sign))) == len(self.panel(sign))

    def figures(self, whole: Whole, rule: Rule) -> ImageFigures:
        """Return the figures of a map by a rule that is here."""
        key = whole.sign, str(rule)
        if key not in self._shown:
            self._shown[key] = names_at(whole.scores, rule)
        return figures_at(whole.scores, whole.place, rule, whole.visible, self._shown[key])

    def kept(self, image: str, key: MapKey, ties: Ties) -> Whole | None:
        """Return the scores of a map, if they are there."""
        return self._kept.peek((image, key, ties))

    def one(self, one: OneMap, ties: Ties) -> Whole:
        """Return the scores of a map."""
        (found,) = self.several([one], ties)
        return found

    def several(self, ones: Sequence[OneMap], ties: Ties) -> list[Whole]:
        """Return the scores of maps of one image; those that can be are scored at once."""
        found: dict[MapKey, Whole] = {}
        for some in _alike(ones):
            scores = self._score(some, ties)
            for place, one in enumerate(some):
                shape, grid = one.values.shape, one.on_grid
                whole = Whole(scores, place, one.key, one.sign, shape, grid, one.visible)
                found[one.key] = self._kept.get((one.image, one.key, ties), partial(_same, whole))
        return [found[one.key] for one in ones]

    def _score(self, some: Sequence[OneMap], ties: Ties) -> Scores:
        first = some[0]
        return score_maps(
            np.stack([one.values for one in some]),
            first.regions.union_mask(*first.values.shape),
            ignore=first.ignore,
            selection="percentile",
            percentiles=self._percentiles,
            sign=first.sign,
            ties=ties,
            metrics=quick_metrics(self.panel(first.sign)),
            threads=1,
        )


def _same(whole: Whole) -> Whole:
    return whole


def _alike(ones: Sequence[OneMap]) -> Iterator[list[OneMap]]:
    """Yield maps that are scored alike: of one raster, read alike, with the same pixels left out.

    Never too many pixels at once.
    """
    for _, group in groupby(sorted(ones, key=_kind), _kind):
        some = list(group)
        step = max(1, _PIXELS // max(some[0].values.size, 1))
        yield from (some[start : start + step] for start in range(0, len(some), step))


def _kind(one: OneMap) -> tuple[Any, ...]:
    ignore = b"" if one.ignore is None else np.packbits(one.ignore).tobytes()
    return one.sign, one.values.shape, str(one.values.dtype), id(one.regions), ignore
