"""`Scores`: the columns that follow from one pass over a batch of maps."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from sightline.core import InputError, UnknownNameError
from sightline.core.arrays import Array, divide, namespace, nan_where, share, to_numpy
from sightline.metrics._counts import POINTS
from sightline.metrics.chance import (
    average_precision_random,
    chance_corrected_iou,
    iou_ceiling,
)
from sightline.metrics.spec import METRICS, Facts, MetricSpec

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from numpy.typing import NDArray

    from sightline.metrics._counts import Counts, Plan, RegionCounts
    from sightline.metrics._regions import RegionTable
    from sightline.metrics.selection import Threshold

__all__ = ["CONDITIONS", "Columns", "RegionScores", "Scores", "explain_undefined"]

CONDITIONS = (
    "every pixel is ignored",
    "map is not finite",
    "empty annotation",
    "map sums to zero",
    "annotation covers the image",
)
"""What can leave a score undefined, by the bits of the column `undefined`, from the lowest."""


class Columns(Mapping[str, Array]):
    """Read-only columns, each computed when first asked for.

    `len`, `in` and iteration tell the names; ``columns[name]`` the values. `reasons` says why a
    value is NaN.
    """

    def __init__(self, part: _Part, shape: tuple[int, ...]) -> None:
        self._part, self._shape = part, shape
        self._sources: dict[str, tuple[str, int] | None] = {}  # figure and budget; None: it is done
        self._done: dict[str, Array] = {}

    def __getitem__(self, name: str) -> Array:
        source = self._sources[name] if name in self._sources else self._refuse(name)
        if source is not None and name not in self._done:
            values = self._part.column(*source)
            if values.shape != self._shape:
                values = namespace(values).reshape(values, self._shape)
            self._done[name] = _read_only(values)
        return self._done[name]

    def __contains__(self, name: object) -> bool:
        return name in self._sources

    def __iter__(self) -> Iterator[str]:
        return iter(self._sources)

    def __len__(self) -> int:
        return len(self._sources)

    def __repr__(self) -> str:
        shown = ", ".join(list(self)[:6])
        return f"<{type(self).__name__} {self._shape or 'of one map'}: {shown}, … ({len(self)})>"

    def _refuse(self, name: str) -> NoReturn:
        figure, at, token = name.partition("@")
        metric = _metric_of(figure)
        if _on_request(metric, token):
            asked = metric + at + token
            raise UnknownNameError(
                f"{name!r} was not asked for: score_maps(..., metrics=[{asked!r}])"
            )
        if metric == "coverage" and self._part.plan.sign == "signed":
            raise UnknownNameError("a signed map has no energy, so no 'coverage'")
        close = get_close_matches(name, self._sources, n=3)
        hint = f"; nearest: {', '.join(close)}" if close else ""
        raise UnknownNameError(f"no column {name!r}{hint}")

    def fact(self, name: str) -> Array:
        """Return a column, or what tables report besides: ``"pixels"`` and ``"undefined"``."""
        if name in self._sources:
            return self[name]
        if name not in self._done:
            self._done[name] = self._part.table(name)[0]
        return self._done[name]

    def add(self, name: str, values: Array) -> None:
        """Add a column that the one pass does not give, by its flat values."""
        self._sources[name] = None
        self._done[name] = _read_only(namespace(values).reshape(values, self._shape))

    def reasons(self, name: str) -> NDArray[Any]:
        """Say for each value of a column why it is NaN; an empty text where it is defined."""
        values = to_numpy(self[name]).reshape(-1)
        return self._part.reasons(name, np.isnan(values)).reshape(self._shape)

    def _frame(self, keys: Mapping[str, Any]) -> pd.DataFrame:
        import pandas as pd

        columns = {name: to_numpy(self[name]).reshape(-1) for name in self}
        return pd.DataFrame({**keys, **columns})


class _Part:
    """Counts of a batch or of its regions, under one set of formulas.

    A formula gives its metric at every budget at once, an array `(budgets, items)`, or `(1, items)`
    where no budget is involved.
    """

    def __init__(self, counts: Counts | RegionCounts, plan: Plan, pixels: Array | int) -> None:
        self.counts, self.plan, self.pixels = counts, plan, pixels
        self.selected, self.hits = counts.selected, counts.selected.hits
        self.a = share(self.selected.budget, pixels)
        self.g = share(counts.inside[None], pixels)
        self.position = {str(threshold): k for k, (threshold, _) in enumerate(plan.all)}
        # A shared budget and a threshold of the selection may bear one name: the latter counts.
        self.first = {str(t): k for k, t in reversed(list(enumerate(plan.shared)))}
        self._tables: dict[str, Array] = {}

    def table(self, name: str) -> Array:
        """Return a metric, its chance value or another figure at every budget."""
        if name not in self._tables:
            self._tables[name] = self._formula(name)
        return self._tables[name]

    def column(self, name: str, k: int) -> Array:
        """Return a metric at one budget."""
        table = self.table(name)
        return table[k if table.shape[0] > 1 else 0]

    def _formula(self, name: str) -> Array:
        counts, budget, hits = self.counts, self.selected.budget, self.hits
        inside = counts.inside[None]
        match name:
            case "annotation_area":
                return self.g
            case "attention_area":
                return self.a
            case "pixels":
                xp = namespace(inside)
                return xp.zeros_like(inside) + self.pixels
            case "undefined":
                return self._conditions()
            case "coverage":
                return self._defined(divide(counts.energy_inside, counts.energy)[None])
            case "iou":
                return self._defined(divide(hits, budget + inside - hits))
            case "iou_ceiling":
                return self._defined(iou_ceiling(self.a, self.g))
            case "iou_share":
                return divide(self.table("iou"), self.table("iou_ceiling"))
            case "iou_corrected":
                return chance_corrected_iou(self.table("iou"), self.a, self.g)
            case "dice":
                return self._defined(divide(2 * hits, budget + inside))
            case "precision" | "top_k_pointing":
                return self._defined(divide(hits, budget))
            case "recall" | "relevance_rank":
                return divide(hits, inside)
            case "lift":
                return divide(self.table("recall"), self.a)
            case "pointing":
                return self._defined(hits)
            case "top_k_any":
                return self._any_of_top()
            case "best_iou_percentile":
                selected = counts.best_selected[None]  # type: ignore[union-attr]
                return 100 - 100 * share(selected, self.pixels)
            case "average_precision_random":
                return average_precision_random(inside, self.pixels)
        if name.endswith("_chance"):
            return self._chance(METRICS[name.removesuffix("_chance")])
        return getattr(counts, name)[None]

    def _defined(self, values: Array) -> Array:
        """Return NaN for every empty annotation."""
        return nan_where(self.counts.inside[None] == 0, values)

    def _any_of_top(self) -> Array:
        """Chance that one of the top pixels is inside, drawing the last ones from the ties."""
        chosen, xp, some = self.selected, namespace(self.hits), slice(len(self.plan.shared))
        draws, tied = chosen.budget[some] - chosen.above[some], chosen.tied[some]
        outside, missed = tied - chosen.tied_inside[some], xp.ones_like(draws)
        for i in range(int(max(t.level for t in self.plan.shared if t.kind == "top"))):
            missed = xp.where(i < draws, missed * divide(outside - i, tied - i), missed)
        hit = xp.where(chosen.above_inside[some] > 0, xp.ones_like(missed), 1 - missed)
        return self._defined(nan_where(xp.isnan(draws), hit))

    def _chance(self, spec: MetricSpec) -> Array:
        """Return a metric's chance value, NaN wherever the metric itself is."""
        values = self.table(spec.name)
        if spec.chance is None:
            raise InputError(f"{spec.name} declares no chance value")
        xp, inside = namespace(values), self.counts.inside[None]
        if spec.name == "top_k_any":
            levels = [t.level if t.kind == "top" else 1 for t in self.plan.shared]
            facts = [Facts(self.pixels, inside, None, int(level)) for level in levels]
            chance = xp.concat([spec.chance.value(fact) for fact in facts])
        else:
            chance = spec.chance.value(Facts(self.pixels, inside, self.selected.budget))
        return nan_where(xp.isnan(values), xp.broadcast_to(chance, values.shape))

    def _conditions(self) -> Array:
        """Return the bits of `CONDITIONS` that hold."""
        counts, inside = self.counts, self.counts.inside[None]
        xp = namespace(inside)
        pixels = self.table("pixels")
        holds = (
            pixels == 0,
            xp.isnan(inside),
            inside == 0,
            counts.energy[None] == 0,
            inside == pixels,
        )
        zero = xp.zeros_like(inside)
        bits = zero
        for k, condition in enumerate(holds):
            bits = bits + xp.where(condition, zero + 2**k, zero)
        return bits

    def reasons(self, name: str, missing: NDArray[np.bool_]) -> NDArray[Any]:
        """Say why the missing values of a column are, of the reasons that its metric declares."""
        figure, _, token = name.partition("@")
        budget = self.selected.budget[self.position.get(token, 0)]
        budget = to_numpy(budget) if token else np.ones(len(missing))
        energy, inside = to_numpy(self.counts.energy), to_numpy(self.counts.inside)
        pixels = to_numpy(self.pixels)
        conditions = {
            "every pixel is ignored": pixels == 0,
            "map is not finite": np.isnan(inside),
            "empty annotation": inside == 0,
            "fewer than k pixels": np.isnan(budget) & token.startswith("k"),
            "map sums to zero": energy == 0,
            "annotation covers the image": inside == pixels,
            "nothing selected": budget == 0,
            "everything selected": budget == pixels,
        }
        declared = _undefined(figure, token)
        unseen = [reason for reason in declared if reason not in conditions]  # not in the counts
        out = np.where(missing, unseen[0] if unseen else "undefined", "").astype(object)
        for reason, holds in reversed(conditions.items()):
            if reason in declared:
                out[missing & holds] = reason
        return out


class RegionScores(Columns):
    """Columns with one value per pair of map and region.

    Attributes
    ----------
    map, region
        Which map of the flattened batch, and which of its regions (its number in the annotation).

    Examples
    --------
    >>> import numpy as np
    >>> from sightline.metrics import score_maps
    >>> halves = [(0, 0, 0.5, 1), (0.5, 0, 1, 1)]
    >>> found = score_maps(np.ones((1, 4, 4)), np.eye(4, dtype=bool), regions=[halves]).regions
    >>> found.region.tolist(), found["coverage"].tolist()
    ([0, 1], [0.5, 0.5])
    """

    def __init__(self, part: _Part, counts: RegionCounts, table: RegionTable) -> None:
        super().__init__(part, (len(counts.map),))
        self.map = counts.map
        self.region = table.numbers[counts.region]
        self._labels, self._rows = table.labels, counts.region

    @cached_property
    def label(self) -> NDArray[Any]:
        """The regions' labels, empty where they have none."""
        return np.array(self._labels, object)[self._rows]

    def to_frame(self) -> pd.DataFrame:
        """Return a table with a line per region."""
        return self._frame({"map": self.map, "region": self.region, "label": self.label})

    def to_table(self, keys: Mapping[str, Any] | None = None) -> pa.Table:
        """Return an Arrow table with one row per pair of map and region; see `Scores.to_table`."""
        from sightline.metrics._tables import build_table

        return build_table(self, {**(keys or {}), "region": self.region.astype(np.int32)})


class Scores(Columns):
    """Scores of a batch of maps: a read-only mapping from column name to array.

    Names are ``metric[@threshold]``, as in ``scores["coverage"]``, ``scores["iou@90"]``,
    ``scores["iou_chance@90"]``. Arrays have the leading shape of the maps and live where the maps
    live. ``scores.regions`` holds the columns of the regions, if any were given.

    ``scores.curves`` holds, if they were asked for, arrays of the maps' leading shape and 101
    points each, in float32. ``"roc"``: the true positive rate at the false positive rates 0, 0.01,
    …, 1, linear between thresholds and at a vertical step its upper end. ``"pr"``: the precision at
    the recalls 0, 0.01, …, 1, that of the highest threshold which reaches the recall. Pixels of one
    value are one threshold. NaN for an empty annotation, the ROC also where all is annotated.

    Examples
    --------
    >>> import numpy as np
    >>> from sightline.metrics import score_maps
    >>> scores = score_maps(np.eye(4)[None], np.eye(4, dtype=bool))
    >>> scores["coverage"].tolist(), scores["iou@75"].tolist(), "auc_roc" in scores
    ([1.0], [1.0], True)
    >>> scores.to_frame().shape[0]
    1
    """

    def __init__(
        self, counts: Counts, plan: Plan, shape: tuple[int, ...], table: RegionTable | None
    ) -> None:
        super().__init__(_Part(counts, plan, counts.pixels), shape)
        self.counts, self.plan = counts, plan
        self.curves = {} if counts.curves is None else _curves(counts.curves, shape)
        self.regions: RegionScores | None = None
        if counts.regions is not None and table is not None:
            pixels = counts.pixels
            if not isinstance(pixels, int):  # one number for each map
                pixels = pixels[counts.regions.map]
            part = _Part(counts.regions, plan, pixels)
            self.regions = RegionScores(part, counts.regions, table)

    def to_frame(self) -> pd.DataFrame:
        """Return a table with a line per map."""
        return self._frame({"map": np.arange(int(np.prod(self._shape)))})

    def to_table(self, keys: Mapping[str, Any] | None = None) -> pa.Table:
        """Return an Arrow table with one row per map; ``scores.regions.to_table`` has the regions.

        Columns are the keys, ``annotated_fraction``, ``pixels``, ``undefined`` (a bit for each of
        `CONDITIONS` that holds), one column per metric and threshold, and the lists ``roc`` and
        ``pr`` if curves were computed. Chance and the selected fraction have columns only where
        they do not follow from the threshold and the annotated fraction.

        Parameters
        ----------
        keys
            Columns that identify the maps (``image``, ``layer``, …): one value for all rows, or
            one for each.

        Examples
        --------
        >>> import numpy as np
        >>> from sightline.metrics import score_maps
        >>> scores = score_maps(np.eye(4)[None], np.eye(4, dtype=bool), metrics=["iou", "coverage"])
        >>> scores.to_table({"image": "a.jpg"}).column_names[:6]
        ['image', 'annotated_fraction', 'pixels', 'undefined', 'iou@95', 'iou@90']
        """
        from sightline.metrics._tables import build_table

        return build_table(self, keys or {}, self.curves)


def _curves(curves: Array, shape: tuple[int, ...]) -> dict[str, Array]:
    """Name the curves and give them the leading shape of the maps."""
    xp = namespace(curves)
    found = _read_only(xp.reshape(xp.permute_dims(curves, (0, 2, 1)), (2, *shape, POINTS)))
    return {"roc": found[0], "pr": found[1]}


def _read_only(values: Array) -> Array:
    """Close an array against writing; tensors have no such switch."""
    if isinstance(values, np.ndarray):
        values.flags.writeable = False
    return values


def _metric_of(figure: str) -> str:
    """Return the metric whose value, chance or companion a column without its @ holds."""
    return _OWNERS.get(figure, figure.removesuffix("_chance").removesuffix("_uniform"))


def _on_request(metric: str, token: str) -> bool:
    """Say whether `score_maps` gives a metric at a threshold, but only when it is named."""
    if metric not in METRICS or token:
        return metric == "pointing" and token.startswith("tol")
    spec = METRICS[metric]
    return not spec.one_pass and (spec.level != "dataset" or "others" in spec.needs)


def explain_undefined(name: str, conditions: int, pixels: int, selected: float = math.nan) -> str:
    """Return why a score is undefined: the first condition that holds and that its metric declares.

    Parameters
    ----------
    name
        Of the score, ``metric[@threshold]``.
    conditions, pixels
        The columns `undefined` and `pixels` of its row.
    selected
        The selected fraction of its threshold, if it is known.

    Examples
    --------
    >>> explain_undefined("iou@90", 0b100, 196)
    'empty annotation'
    >>> explain_undefined("precision@mean", 0, 196, selected=0.0)
    'nothing selected'
    """
    metric, _, token = name.partition("@")
    declared = _undefined(metric, token)
    holds = {reason: bool(conditions >> k & 1) for k, reason in enumerate(CONDITIONS)}
    holds["single pixel"] = pixels == 1
    holds["fewer than k pixels"] = token.startswith("k") and pixels < float(token[1:] or 0)
    holds["nothing selected"], holds["everything selected"] = selected == 0, selected == 1
    order = (*CONDITIONS[:3], "fewer than k pixels", *CONDITIONS[3:], "single pixel")
    for reason in (*order, "nothing selected", "everything selected"):
        if reason in declared and holds[reason]:
            return reason
    return next((reason for reason in declared if reason not in holds), "undefined")


def _undefined(figure: str, token: str) -> tuple[str, ...]:
    """Return when a column is NaN: always, by its metric, and by how pixels are selected."""
    metric = _metric_of(figure)
    own = METRICS[metric].undefined if metric in METRICS else ()
    mass = ("map sums to zero",) if token.startswith("mass") else ()
    return ("every pixel is ignored", "map is not finite", *own, *mass)


def fill(columns: Columns, metrics: Sequence[tuple[MetricSpec, Threshold | None]]) -> None:
    """Give a table its columns: each metric, its chance, and what it must be read with."""
    part, sources = columns._part, columns._sources
    sources["annotation_area"] = "annotation_area", 0
    tokens = {threshold: "" if threshold is None else f"@{threshold}" for _, threshold in metrics}
    for spec, threshold in metrics:
        token, k = tokens[threshold], _position(part, spec, tokens[threshold])
        sources[spec.name + token] = spec.name, k
        if spec.chance is not None:
            sources[f"{spec.name}_chance{token}"] = f"{spec.name}_chance", k
        for name in _COMPANIONS.get(spec.name, ()):
            sources[name + token] = name, k
        if spec.thresholded:
            sources[f"attention_area{token}"] = "attention_area", k


_COMPANIONS = {
    "iou": ("iou_ceiling",),
    "average_precision": ("average_precision_random",),
    "best_iou": ("best_iou_percentile",),
}
_OWNERS = {name: metric for metric, names in _COMPANIONS.items() for name in names}


def _position(part: _Part, spec: MetricSpec, token: str) -> int:
    """Return which budget a metric reads."""
    if spec.name == "relevance_rank":
        return part.first["matched"]
    return part.position[token[1:]] if token else part.first["k1"]
