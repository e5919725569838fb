"""Every map metric, for one map and one mask, in loops and exact fractions.

Nothing here is shared with the package, and nothing is fast: values become `Fraction`s, so a
rational score is rounded once, when it is handed back. Inputs are small: a few hundred pixels.

N = pixels, P = inside (annotated) pixels, g = P/N, k = selected pixels (real), a = k/N, S = the
sum of the map. The sign rule comes first in every function.
"""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

PERCENTILES = (95, 90, 85, 80, 75, 70, 60, 50)
OVERLAP = ("iou", "iou_chance", "iou_ceiling", "iou_share", "iou_corrected")
SELECTION = (
    *OVERLAP,
    *("dice", "dice_chance", "precision", "precision_chance"),
    *("recall", "recall_chance", "lift", "lift_chance", "attention_area"),
)
REGION = ("annotation_area", "coverage", "coverage_chance", "pointing", "pointing_chance")
EPS = Fraction(2.220446049250313e-16)
TOLERANCE = Fraction(1, 10**12)
TOP = 5


class Group(NamedTuple):
    """All pixels that share one value."""

    value: float
    pixels: int
    inside: int


def scores(
    attention: npt.ArrayLike,
    mask: npt.ArrayLike,
    *,
    selection: str | Sequence[str] = "percentile",
    percentiles: Sequence[float] = PERCENTILES,
    sign: str = "positive",
    ties: str = "share",
) -> dict[str, float]:
    """Score one map against one mask: every column, by name."""
    groups = _groups(_values(attention, sign), _flags(attention, mask))
    thresholds = _thresholds(selection, percentiles)
    if sign == "signed" and any(t.startswith("m") and t != "matched" for t in thresholds):
        raise ValueError(f"a signed map has no mass or mean selection, got {thresholds}")
    columns = _always(groups)
    for threshold in thresholds:
        selected = _selected(groups, _budget(groups, threshold, ties))
        columns |= {f"{name}@{threshold}": value for name, value in selected.items()}
    if sign == "signed":
        del columns["coverage"], columns["coverage_chance"]
    return _undefined(columns, empty=_inside(groups) == 0)


def region_scores(
    attention: npt.ArrayLike,
    region_mask: npt.ArrayLike,
    *,
    selection: str | Sequence[str] = "percentile",
    percentiles: Sequence[float] = PERCENTILES,
    sign: str = "positive",
    ties: str = "share",
) -> dict[str, float]:
    """Score one map against one region: P and g are the region's, as is the matched budget."""
    columns = scores(
        attention,
        region_mask,
        selection=selection,
        percentiles=percentiles,
        sign=sign,
        ties=ties,
    )
    return {
        name: value for name, value in columns.items() if name.split("@")[0] in REGION + SELECTION
    }


def literal_threshold(attention: npt.ArrayLike, percentile: float) -> npt.NDArray[np.bool_]:
    """Select the pixels at or above the quantile, literally, whatever their sign."""
    values = np.asarray(attention, dtype=np.float64)
    return np.asarray(values >= np.quantile(values, percentile / 100), dtype=np.bool_)


# Scores without a threshold


def _always(groups: Sequence[Group]) -> dict[str, float]:
    N, P = _pixels(groups), _inside(groups)
    g = float(Fraction(P, N))
    columns = {
        "annotation_area": g,
        "coverage": _coverage(groups),
        "coverage_chance": g,
        "auc_roc": _auc_roc(groups),
        "auc_roc_chance": 0.5,
        "average_precision": _average_precision(groups),
        "average_precision_chance": g,
        "average_precision_random": _average_precision_random(N, P),
        "relevance_rank": _ratio(_inside_of_top(groups, Fraction(P)), P),
        "relevance_rank_chance": g,
        "pointing": _ratio(groups[0].inside, groups[0].pixels),
        "pointing_chance": g,
        f"top_k_pointing@k{TOP}": math.nan,
        f"top_k_pointing_chance@k{TOP}": g,
        f"top_k_any@k{TOP}": math.nan,
        f"top_k_any_chance@k{TOP}": _any_of(N, P, TOP),
        "best_iou": _best_iou(groups)[0],
        "best_iou_percentile": _best_iou(groups)[1],
    }
    if N >= TOP:
        columns[f"top_k_pointing@k{TOP}"] = _ratio(_inside_of_top(groups, Fraction(TOP)), TOP)
        columns[f"top_k_any@k{TOP}"] = _top_k_any(groups)
    return columns


def _coverage(groups: Sequence[Group]) -> float:
    return _ratio(_sum(Fraction(group.value) * group.inside for group in groups), _mass(groups))


def _auc_roc(groups: Sequence[Group]) -> float:
    """P(x_in > x_out) + P(x_in = x_out) / 2."""
    N, P = _pixels(groups), _inside(groups)
    wins = Fraction(0)
    outside_below = N - P
    for group in groups:
        outside = group.pixels - group.inside
        outside_below -= outside
        wins += group.inside * (outside_below + Fraction(outside, 2))
    return _ratio(wins, P * (N - P))


def _average_precision(groups: Sequence[Group]) -> float:
    """Mean over the inside pixels of the precision of everything at or above them."""
    pixels = inside = 0
    total = Fraction(0)
    for group in groups:
        pixels += group.pixels
        inside += group.inside
        total += group.inside * Fraction(inside, pixels)
    return _ratio(total, inside)


def _average_precision_random(N: int, P: int) -> float:
    if N == 1:
        return 1.0
    harmonic = _harmonic(N)
    return float((harmonic + (P - 1) * (N - harmonic) / (N - 1)) / N)


@cache
def _harmonic(N: int) -> Fraction:
    return _sum(Fraction(1, i) for i in range(1, N + 1))


def _top_k_any(groups: Sequence[Group]) -> float:
    """Probability that one of the top pixels is inside, when ties are broken at random."""
    left = TOP
    for group in groups:
        if group.pixels >= left:
            return _any_of(group.pixels, group.inside, left)
        if group.inside:
            return 1.0
        left -= group.pixels
    return math.nan


def _any_of(pixels: int, inside: int, drawn: int) -> float:
    """Probability that drawing without replacement meets an inside pixel."""
    ways = math.comb(pixels, drawn)
    return _ratio(ways - math.comb(pixels - inside, drawn), ways)


def _best_iou(groups: Sequence[Group]) -> tuple[float, float]:
    """The largest IoU, and the share of the pixels below its threshold in percent."""
    P, count = _inside(groups), sum(group.pixels for group in groups)
    pixels = inside = 0
    best = percentile = 0.0
    for group in groups:
        pixels += group.pixels
        inside += group.inside
        if (iou := _ratio(inside, pixels + P - inside)) > best:
            best, percentile = iou, 100 * (count - pixels) / count
    return (best, percentile) if P else (math.nan, math.nan)


# Curves


def curves(
    attention: npt.ArrayLike, mask: npt.ArrayLike, *, sign: str = "positive"
) -> dict[str, list[float]]:
    """ROC and precision–recall at 0, 0.01, …, 1."""
    groups = _groups(_values(attention, sign), _flags(attention, mask))
    P = _inside(groups)
    steps = [Fraction(i, 100) for i in range(101)]
    nothing = [math.nan] * 101
    points = [(0, 0)]  # outside and inside pixels at or above each threshold
    for group in groups:
        points.append((points[-1][0] + group.pixels - group.inside, points[-1][1] + group.inside))
    return {
        "roc": [_roc_at(points, x) for x in steps] if 0 < P < _pixels(groups) else nothing,
        "pr": [_precision_at(points[1:], y) for y in steps] if P else nothing,
    }


def _roc_at(points: Sequence[tuple[int, int]], rate: Fraction) -> float:
    """True positive rate at a false positive rate: on the line through the points around it."""
    outside, inside = points[-1]
    shares = [(Fraction(x, outside), Fraction(y, inside)) for x, y in points]
    before = max(point for point in shares if point[0] <= rate)
    if before[0] == rate:
        return float(before[1])
    after = min(point for point in shares if point[0] > rate)
    part = (rate - before[0]) / (after[0] - before[0])
    return float(before[1] + part * (after[1] - before[1]))


def _precision_at(points: Sequence[tuple[int, int]], recall: Fraction) -> float:
    """Precision of the highest threshold that reaches a recall."""
    outside, inside = next(point for point in points if point[1] >= recall * points[-1][1])
    return float(Fraction(inside, outside + inside))


# Scores of a selection


def _selected(groups: Sequence[Group], k: Fraction | None) -> dict[str, float]:
    """Every score of the k highest pixels, in the order of `SELECTION`."""
    if k is None:
        return dict.fromkeys(SELECTION, math.nan)
    N, P = _pixels(groups), _inside(groups)
    a, g = k / N, Fraction(P, N)
    tp = _inside_of_top(groups, k)
    return _overlap(tp, k, P, N) | {
        "dice": _ratio(2 * tp, k + P),
        "dice_chance": _ratio(2 * a * g, a + g),
        "precision": _ratio(tp, k),
        "precision_chance": float(g),
        "recall": _ratio(tp, P),
        "recall_chance": float(a),
        "lift": _ratio(tp, P * a),
        "lift_chance": 1.0,
        "attention_area": float(a),
    }


def _overlap(tp: Fraction, k: Fraction, P: int, N: int) -> dict[str, float]:
    a, g = k / N, Fraction(P, N)
    if a == 0 and g == 0:
        return dict.fromkeys(OVERLAP, math.nan)
    iou = tp / (k + P - tp)
    chance = a * g / (a + g - a * g)
    ceiling = min(a, g) / max(a, g)
    extreme = a in (0, 1) or g in (0, 1)
    return {
        "iou": float(iou),
        "iou_chance": float(chance),
        "iou_ceiling": float(ceiling),
        "iou_share": _ratio(iou, ceiling),
        "iou_corrected": math.nan if extreme else float((iou - chance) / (ceiling - chance)),
    }


def _inside_of_top(groups: Sequence[Group], k: Fraction) -> Fraction:
    """Inside pixels among the k highest; a tied group that is cut gives each pixel its share."""
    pixels = inside = 0
    for group in groups:
        if pixels + group.pixels > k:
            return inside + (k - pixels) / group.pixels * group.inside
        pixels += group.pixels
        inside += group.inside
    return Fraction(inside)


# How many pixels are selected


def _thresholds(selection: str | Sequence[str], percentiles: Sequence[float]) -> list[str]:
    """Names of the thresholds: 90, 97.5, mass60, mean, matched."""
    names: list[str] = []
    for rule in [selection] if isinstance(selection, str) else selection:
        if rule == "percentile":
            names += [repr(int(p) if p == int(p) else float(p)) for p in percentiles]
        elif rule in ("mean", "matched") or rule.startswith("mass"):
            names.append("mass60" if rule == "mass" else rule)
        else:
            raise ValueError(f"selection is percentile, mass, mean or matched, got {rule!r}")
    return names


def _budget(groups: Sequence[Group], threshold: str, ties: str) -> Fraction | None:
    """Number of selected pixels; None where the selection does not exist."""
    if ties not in ("share", "include"):
        raise ValueError(f"ties is share or include, got {ties!r}")
    if threshold == "mean":
        return _mean_budget(groups)
    if threshold == "matched":
        return _matched_budget(groups, ties)
    if threshold.startswith("mass"):
        return _mass_budget(groups, Fraction(threshold.removeprefix("mass")) / 100, ties)
    return _percentile_budget(groups, float(threshold), ties)


def _percentile_budget(groups: Sequence[Group], percentile: float, ties: str) -> Fraction:
    if ties == "share":
        return _pixels(groups) * (100 - Fraction(percentile)) / 100
    values = np.repeat([group.value for group in groups], [group.pixels for group in groups])
    threshold = float(np.quantile(values, percentile / 100))
    return Fraction(sum(group.pixels for group in groups if group.value >= threshold))


def _mass_budget(groups: Sequence[Group], share: Fraction, ties: str) -> Fraction | None:
    if not 0 < share <= 1:
        raise ValueError(f"mass selection holds 0 to 100 % of the mass, got {float(100 * share)}")
    total = _mass(groups)
    if total == 0:
        return None
    if share == 1:  # every pixel with mass, be it less than the slack below
        return Fraction(sum(group.pixels for group in groups if group.value > 0))
    wanted = share * total
    slack = TOLERANCE * total if ties == "include" else 0
    pixels, held = 0, Fraction(0)
    for group in groups:
        value = Fraction(group.value)
        if held + group.pixels * value >= wanted - slack:
            break
        pixels += group.pixels
        held += group.pixels * value
    return pixels + (Fraction(group.pixels) if ties == "include" else (wanted - held) / value)


def _mean_budget(groups: Sequence[Group]) -> Fraction:
    N = _pixels(groups)
    if len(groups) == 1:
        return Fraction(N)
    bar = _mass(groups) * (1 + TOLERANCE)
    return Fraction(sum(group.pixels for group in groups if Fraction(group.value) * N > bar))


def _matched_budget(groups: Sequence[Group], ties: str) -> Fraction:
    P = _inside(groups)
    if ties == "share":
        return Fraction(P)
    pixels = 0
    for group in groups:
        if pixels >= P:
            break
        pixels += group.pixels
    return Fraction(pixels)


# Metrics on request


def entropy(attention: npt.ArrayLike, *, sign: str = "positive") -> float:
    """Shannon entropy of x/S over log N."""
    shares = _shares(attention, sign)
    if not shares or len(shares) == 1:
        return math.nan
    terms = [p * math.log(p) for p in map(float, shares) if p > 0]
    return -math.fsum(terms) / math.log(len(shares))


def gini(attention: npt.ArrayLike, *, sign: str = "positive") -> float:
    """Sum of (2i - N - 1) x_(i) over N S, ascending, i from 1."""
    shares = sorted(_shares(attention, sign))
    N = len(shares)
    return _ratio(_sum((2 * i - N - 1) * p for i, p in enumerate(shares, start=1)), N)


def sparsity(attention: npt.ArrayLike, *, sign: str = "positive") -> float:
    """Hoyer's sparsity: (√N - S/√Σx²) / (√N - 1)."""
    shares = _shares(attention, sign)
    if not shares or len(shares) == 1:
        return math.nan
    root = math.sqrt(len(shares))
    return (root - math.sqrt(1 / _sum(p * p for p in shares))) / (root - 1)


def nss(attention: npt.ArrayLike, mask: npt.ArrayLike, *, sign: str = "positive") -> float:
    """Mean over the inside pixels of (x - mean) / population standard deviation.

    A mask of counts has each pixel inside as often as it says.
    """
    values = _exact(_values(attention, sign))
    counts = [int(count) for count in np.asarray(mask).ravel()]
    inside = [x for x, count in zip(values, counts, strict=True) for _ in range(count)]
    if not inside:
        return math.nan
    mean = _mean(values)
    variance = _mean([(x - mean) ** 2 for x in values])
    return 0.0 if variance == 0 else _over_root(_mean(inside) - mean, variance)


def point_density(counts: npt.ArrayLike, sigma: float) -> npt.NDArray[np.float64]:
    """Return the sum of a Gaussian around each point, cut at 4 sigma, reflected at the edges."""
    points = np.asarray(counts)
    reach = int(4 * sigma + 0.5)
    weights = [math.exp(-(d**2) / (2 * sigma**2)) for d in range(-reach, reach + 1)]

    def mirrored(place: int, size: int) -> int:
        place %= 2 * size
        return place if place < size else 2 * size - 1 - place

    height, width = points.shape
    out = np.zeros((height, width))
    for row, column in zip(*np.nonzero(points), strict=True):
        for dy in range(-reach, reach + 1):
            for dx in range(-reach, reach + 1):
                y, x = mirrored(int(row) + dy, height), mirrored(int(column) + dx, width)
                out[y, x] += points[row, column] * weights[dy + reach] * weights[dx + reach]
    out /= out.sum()
    return out


def cc(attention: npt.ArrayLike, target: npt.ArrayLike, *, sign: str = "positive") -> float:
    """Pearson's correlation of map and target."""
    x, t = _exact(_values(attention, sign)), _exact(_target(attention, target))
    mean_x, mean_t = _mean(x), _mean(t)
    var_x, var_t = _mean([(v - mean_x) ** 2 for v in x]), _mean([(v - mean_t) ** 2 for v in t])
    if var_t == 0:
        return math.nan
    if var_x == 0:
        return 0.0
    covariance = _mean([(v - mean_x) * (w - mean_t) for v, w in zip(x, t, strict=True)])
    return _over_root(covariance, var_x * var_t)


def sim(attention: npt.ArrayLike, target: npt.ArrayLike, *, sign: str = "positive") -> float:
    """Sum of the smaller of the two, each of sum 1."""
    A, T = _shares(attention, sign), _normalised(_target(attention, target))
    if not A or not T:
        return math.nan
    return float(_sum(min(p, q) for p, q in zip(A, T, strict=True)))


def kl(attention: npt.ArrayLike, target: npt.ArrayLike, *, sign: str = "positive") -> float:
    """Sum of T log(eps + T / (eps + A)), each of sum 1."""
    A, T = _shares(attention, sign), _normalised(_target(attention, target))
    if not A or not T:
        return math.nan
    return math.fsum(q * math.log(EPS + q / (EPS + p)) for p, q in zip(A, T, strict=True))


def information_gain(
    attention: npt.ArrayLike,
    mask: npt.ArrayLike,
    baseline: npt.ArrayLike | None = None,
    *,
    sign: str = "positive",
) -> float:
    """Mean over the inside pixels of log2(eps + A) - log2(eps + B); B is uniform by default."""
    flags = _flags(attention, mask)
    A = _shares(attention, sign)
    B = _normalised([1.0] * len(flags) if baseline is None else _target(attention, baseline))
    if not A or not B or not any(flags):
        return math.nan
    gains = [
        math.log2(EPS + p) - math.log2(EPS + q)
        for p, q, flag in zip(A, B, flags, strict=True)
        if flag
    ]
    return math.fsum(gains) / len(gains)


def auc_judd(attention: npt.ArrayLike, mask: npt.ArrayLike, *, sign: str = "positive") -> float:
    """Trapezoids through (0, 0), (FPR, TPR) at each distinct inside value, and (1, 1)."""
    groups = _groups(_values(attention, sign), _flags(attention, mask))
    N, P = _pixels(groups), _inside(groups)
    if P in (0, N):
        return math.nan
    points = [(Fraction(0), Fraction(0))]
    pixels = inside = 0
    for group in groups:
        pixels += group.pixels
        inside += group.inside
        if group.inside:
            points.append((Fraction(pixels - inside, N - P), Fraction(inside, P)))
    points.append((Fraction(1), Fraction(1)))
    return float(_sum((x1 - x0) * (y0 + y1) / 2 for (x0, y0), (x1, y1) in pairwise(points)))


def shuffled_auc(
    attention: npt.ArrayLike,
    mask: npt.ArrayLike,
    others: npt.ArrayLike,
    *,
    sign: str = "positive",
) -> float:
    """P(x_in > x_other) + P(=)/2, the other pixels drawn in proportion to their counts."""
    values, flags = _values(attention, sign), _flags(attention, mask)
    weights = _exact(_target(attention, others))
    wins = Fraction(0)
    for inside in (x for x, flag in zip(values, flags, strict=True) if flag):
        for other, weight in zip(values, weights, strict=True):
            if inside >= other:
                wins += weight if inside > other else weight / 2
    return _ratio(wins, sum(flags) * _sum(weights))


def mse(attention: npt.ArrayLike, target: npt.ArrayLike, *, sign: str = "positive") -> float:
    """Mean of (x / max x - T)²; a zero map stays zero."""
    x, T = _exact(_non_negative(attention, sign)), _exact(_target(attention, target))
    if _sum(T) == 0:
        return math.nan
    top = max(x) or Fraction(1)
    return float(_mean([(v / top - t) ** 2 for v, t in zip(x, T, strict=True)]))


def pointing(
    attention: npt.ArrayLike,
    mask: npt.ArrayLike,
    tolerance: float = 0,
    *,
    sign: str = "positive",
) -> float:
    """Share of the tied maxima that lie within `tolerance` pixels of an inside pixel."""
    values = _values(attention, sign)
    near = _near(attention, mask, tolerance)
    if not any(near):
        return math.nan
    hits = [flag for x, flag in zip(values, near, strict=True) if x == max(values)]
    return _ratio(sum(hits), len(hits))


def pointing_chance(attention: npt.ArrayLike, mask: npt.ArrayLike, tolerance: float = 0) -> float:
    """Share of all pixels within `tolerance` pixels of an inside pixel; empty mask: NaN."""
    near = _near(attention, mask, tolerance)
    return _ratio(sum(near), len(near)) if any(near) else math.nan


def _near(attention: npt.ArrayLike, mask: npt.ArrayLike, tolerance: float) -> list[bool]:
    width = np.shape(attention)[1]
    flags = _flags(attention, mask)
    inside = [divmod(i, width) for i, flag in enumerate(flags) if flag]
    reach = Fraction(tolerance) ** 2
    return [
        any((row - y) ** 2 + (column - x) ** 2 <= reach for y, x in inside)
        for row, column in (divmod(i, width) for i in range(len(flags)))
    ]


# Input, sums and quotients


def _values(attention: npt.ArrayLike, sign: str) -> list[float]:
    array = np.asarray(attention, dtype=np.float64)
    if array.ndim != 2 or not array.size or not np.isfinite(array).all():
        raise ValueError(f"a map is a 2-D array of finite values, got shape {array.shape}")
    values: list[float] = array.ravel().tolist()
    if sign == "positive":
        return [max(x, 0.0) for x in values]
    if sign == "absolute":
        return [abs(x) for x in values]
    if sign != "signed":
        raise ValueError(f"sign is positive, absolute or signed, got {sign!r}")
    return values


def _non_negative(attention: npt.ArrayLike, sign: str) -> list[float]:
    if sign == "signed":
        raise ValueError("this metric needs a map without negative values, got sign='signed'")
    return _values(attention, sign)


def _target(attention: npt.ArrayLike, target: npt.ArrayLike) -> list[float]:
    if np.shape(target) != np.shape(attention):
        raise ValueError(f"map {np.shape(attention)} and target {np.shape(target)} differ in shape")
    values = _values(target, "signed")
    if min(values) < 0:
        raise ValueError(f"a target has no negative values, got {min(values)}")
    return values


def _flags(attention: npt.ArrayLike, mask: npt.ArrayLike) -> list[bool]:
    if np.shape(mask) != np.shape(attention):
        raise ValueError(f"map {np.shape(attention)} and mask {np.shape(mask)} differ in shape")
    flags: list[bool] = np.asarray(mask, dtype=np.bool_).ravel().tolist()
    return flags


def _groups(values: Sequence[float], flags: Sequence[bool]) -> list[Group]:
    """Groups of tied pixels, highest first."""
    pixels = Counter(values)
    inside = Counter(x for x, flag in zip(values, flags, strict=True) if flag)
    return [Group(x, pixels[x], inside[x]) for x in sorted(pixels, reverse=True)]


def _pixels(groups: Sequence[Group]) -> int:
    return sum(group.pixels for group in groups)


def _inside(groups: Sequence[Group]) -> int:
    return sum(group.inside for group in groups)


def _mass(groups: Sequence[Group]) -> Fraction:
    return _sum(Fraction(group.value) * group.pixels for group in groups)


def _exact(values: Sequence[float]) -> list[Fraction]:
    return [Fraction(x) for x in values]


def _sum(values: Iterable[Fraction]) -> Fraction:
    return sum(values, Fraction(0))


def _mean(values: Sequence[Fraction]) -> Fraction:
    return _sum(values) / len(values)


def _shares(attention: npt.ArrayLike, sign: str) -> list[Fraction]:
    return _normalised(_non_negative(attention, sign))


def _normalised(values: Sequence[float]) -> list[Fraction]:
    """Values of sum 1; nothing at all where the sum is zero."""
    exact = _exact(values)
    total = _sum(exact)
    return [x / total for x in exact] if total else []


def _over_root(x: Fraction, square: Fraction) -> float:
    """x / √square, without a rounding before the root."""
    return math.copysign(math.sqrt(x * x / square), x)


def _ratio(above: Fraction | int, below: Fraction | int) -> float:
    return float(Fraction(above) / below) if below else math.nan


def _undefined(columns: dict[str, float], *, empty: bool) -> dict[str, float]:
    """NaN for all but the areas of an empty annotation, and for the chance of a NaN score."""
    result = dict(columns)
    for name in columns:
        if empty and not name.startswith(("annotation_area", "attention_area")):
            result[name] = math.nan
        if "_chance" in name and math.isnan(columns[name.replace("_chance", "")]):
            result[name] = math.nan
    return result
