"""Maps scored against all regions of their images at every percentile at once, and kept so."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import groupby
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sightline.core.lru_cache import Kept
from sightline.metrics import score_maps
from sightline.results.image_scores import figures_at, names_at, panel_metrics, quick_metrics

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from sightline.metrics import Scores
    from sightline.metrics.selection import Sign, Ties
    from sightline.results.image_scores import ImageFigures
    from sightline.results.on_demand import OnDemand
    from sightline.results.scored_map import MapKey, OneMap, Rule

__all__ = ["MOST_PIXELS", "PERCENTILES", "Whole", "WholeScores"]

PERCENTILES = tuple(range(1, 100))
"""Percentiles at which maps are scored beside those of the study."""
MOST_PIXELS = 1 << 22
"""Of maps that are scored at once."""
# Bytes to keep; of a map beside its figures; and of a map in all, about, before one is there.
_MOST, _AROUND, _EACH = 96 << 20, 1 << 10, 20 << 10
# Images whose maps may be scored at the same time by different threads.
_TURNS = 64


class _Line(Mapping[str, Any]):
    """The columns of one map, as `Scores` has them: numbers in one array, names shared by all."""

    __slots__ = ("_numbers", "_places")

    def __init__(self, places: Mapping[str, int], numbers: NDArray[np.float64]) -> None:
        self._places, self._numbers = places, numbers

    def __getitem__(self, name: str) -> NDArray[np.float64]:
        place = self._places[name]
        return self._numbers[place : place + 1]

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    @property
    def nbytes(self) -> int:
        return self._numbers.nbytes


class Whole(NamedTuple):
    """The scores of one map against all regions of its image, at many percentiles.

    Attributes
    ----------
    columns
        Those of `score_maps`, of this map alone.
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

    columns: _Line
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
        self._places: dict[Sign, dict[str, int]] = {}
        self._turns = tuple(Lock() for _ in range(_TURNS))
        self._kept: Kept[Whole] = Kept(_MOST, lambda one: _AROUND + one.columns.nbytes)

    @property
    def room(self) -> int:
        """How many maps are kept, about."""
        there = len(self._kept)
        return _MOST // (self._kept.size // there if there else _EACH)

    def turn(self, image: str) -> Lock:
        """Return what to hold while maps of an image are scored, so that none is scored twice."""
        return self._turns[hash(image) % _TURNS]

    def has(self, rule: Rule) -> bool:
        """Say whether maps are scored by a rule here."""
        return rule.selection == "percentile" and self.at(rule.percentile)

    def at(self, percentile: float) -> bool:
        """Say whether maps are scored at a percentile here."""
        return percentile in self._known

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
            self._shown[key] = names_at(whole.columns, rule)
        return figures_at(whole.columns, 0, rule, whole.visible, self._shown[key])

    def kept(self, image: str, key: MapKey, ties: Ties) -> Whole | None:
        """Return the scores of a map, if they are there."""
        return self._kept.peek((image, key, ties))

    def several(self, ones: Sequence[OneMap], ties: Ties) -> list[Whole]:
        """Return the scores of maps of one image; those that can be are scored at once."""
        found: dict[MapKey, Whole] = {}
        for some in _alike(ones):
            lines = self._lines(self._score(some, ties), some[0].sign)
            for line, one in zip(lines, some, strict=True):
                shape, grid = one.values.shape, one.on_grid
                whole = Whole(line, one.key, one.sign, shape, grid, one.visible)
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

    def _lines(self, scores: Scores, sign: Sign) -> list[_Line]:
        """Return the columns of each map by itself, none of which holds the others."""
        tables, places = _tables(scores), self._places.get(sign)
        if places is None:  # the same whatever the maps: which metrics, at which percentiles
            places = self._places[sign] = _placed(scores, tables)
        numbers = np.concatenate(list(tables.values()))
        return [_Line(places, column.copy()) for column in numbers.T]


def _tables(scores: Scores) -> dict[str, NDArray[np.float64]]:
    """Return each figure at all its percentiles: `(percentiles, maps)`, or `(1, maps)`."""
    part = scores._part
    figures = dict.fromkeys(source[0] for source in scores._sources.values() if source)
    return {figure: np.asarray(part.table(figure), np.float64) for figure in figures}


def _placed(scores: Scores, tables: Mapping[str, NDArray[np.float64]]) -> dict[str, int]:
    """Return where each column stands where tables stand below each other."""
    ends = np.cumsum([len(table) for table in tables.values()]).tolist()
    begins = dict(zip(tables, [0, *ends], strict=False))
    return {
        name: begins[source[0]] + (source[1] if len(tables[source[0]]) > 1 else 0)
        for name, source in scores._sources.items()
        if source
    }


def _same(whole: Whole) -> Whole:
    return whole


def _alike(ones: Sequence[OneMap]) -> Iterator[list[OneMap]]:
    """Yield maps that are scored alike: of one raster, read alike, with the same pixels left out.

    Never too many pixels at once.
    """
    for _, group in groupby(sorted(ones, key=_kind), _kind):
        some = list(group)
        step = max(1, MOST_PIXELS // max(some[0].values.size, 1))
        yield from (some[start : start + step] for start in range(0, len(some), step))


def _kind(one: OneMap) -> tuple[Any, ...]:
    ignore = b"" if one.ignore is None else np.packbits(one.ignore).tobytes()
    return one.sign, one.values.shape, str(one.values.dtype), id(one.regions), ignore
