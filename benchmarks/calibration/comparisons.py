"""How often do comparisons find a difference where there is none, and where there is one?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

from benchmarks.calibration.intervals import regions
from benchmarks.calibration.lines import Line
from sightline.stats.paired_tests import compare_family, max_t_pvalues, wilcoxon
from sightline.stats.selection import split_half

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Values = NDArray[np.float64]
    # Differences (images, repeats) of two models that are alike.
    Drawing = Callable[[np.random.Generator, int, int], Values]

__all__ = ["NULLS", "Null", "run"]

LEVEL = 0.05
# What is promised: at most .07 for every p-value, at least .03 for continuous ones.
LEAST, MOST = 0.03, 0.07
_TOGETHER = 100
_FLIPS = 1999


@dataclass(frozen=True)
class Null:
    """Differences of two models that are exchangeable within an image."""

    name: str
    draw: Drawing
    continuous: bool = True


def _skewed(rng: np.random.Generator, n: int, repeats: int) -> Values:
    """Skewed scores that go up and down with the image."""
    image = rng.beta(1, 6, (n, repeats))
    one, other = (rng.beta(1, 6, (n, repeats)) for _ in range(2))
    return (image + one) / 2 - (image + other) / 2


def _heavy(rng: np.random.Generator, n: int, repeats: int) -> Values:
    one, other = (rng.lognormal(0, 1.5, (n, repeats)) for _ in range(2))
    return one - other


def _half_zero(rng: np.random.Generator, n: int, repeats: int) -> Values:
    """Both score 0 on half of the images."""
    return _skewed(rng, n, repeats) * (rng.random((n, repeats)) < 0.5)


def _hits(rng: np.random.Generator, n: int, repeats: int) -> Values:
    one, other = ((rng.random((n, repeats)) < 0.7).astype(np.float64) for _ in range(2))
    return one - other


def _region_sums(rng: np.random.Generator, n: int, repeats: int) -> Values:
    """Summed differences of 1 to 25 regions an image, with a correlation of 0.3 within it."""
    counts = regions(rng, n, repeats)
    image, own = (rng.standard_normal((n, repeats)) for _ in range(2))
    return np.asarray(counts * np.sqrt(0.3) * image + np.sqrt(0.7 * counts) * own)


NULLS = (
    Null("skewed scores", _skewed),
    Null("log-normal scores", _heavy),
    Null("1–25 regions, correlation 0.3", _region_sums),
    Null("half of the images 0", _half_zero, continuous=False),
    Null("hits", _hits, continuous=False),
)


def false_positives(null: Null, n: int, repeats: int) -> list[Line]:
    """Return how often both tests find a difference between models that are alike."""
    rng = np.random.default_rng([crc32(null.name.encode()), n])
    table = null.draw(rng, n, repeats)
    flip = np.concatenate(
        [
            compare_family(table[:, i : i + _TOGETHER], flips=_FLIPS, seed=i).p
            for i in range(0, repeats, _TOGETHER)
        ]
    )
    ranks = np.array([wilcoxon(column) for column in table.T])
    setting = f"{null.name}, n = {n}"
    # With 8 images there are 256 patterns: too few for a rate of .05.
    least = LEAST if null.continuous and n > 10 else None
    return [
        Line(f"false positives, {name}", setting, float((p <= LEVEL).mean()), least, MOST)
        for name, p in (("sign-flip", flip), ("Wilcoxon", ranks))
    ]


def regions_as_images(n: int, repeats: int) -> Line:
    """Return how often a test that takes regions for images finds a difference: too often."""
    rng = np.random.default_rng([100, n])
    found = 0
    for seed in range(repeats):
        counts = regions(rng, n, 1)[:, 0].astype(np.int64)
        image = np.repeat(rng.standard_normal(n), counts)
        values = np.sqrt(0.3) * image + np.sqrt(0.7) * rng.standard_normal(len(image))
        found += bool(compare_family(values[:, None], flips=199, seed=seed).p[0] <= LEVEL)
    note = "not offered: regions of an image are not independent"
    setting = f"regions taken for images, n = {n}"
    return Line("false positives, sign-flip", setting, found / repeats, note=note)


def family(n: int, comparisons: int, repeats: int, flips: int) -> list[Line]:
    """Return the chance of any false finding among correlated comparisons, and the power.

    First no comparison differs; then one in ten does, by 0.3 standard deviations.
    """
    rng = np.random.default_rng([200, n])
    true = comparisons // 10
    kinds = ("p", "holm", "bh", "max_t")
    wrong, mixed, power = (dict.fromkeys(kinds, 0.0) for _ in range(3))
    for seed in range(repeats):
        table = _correlated(rng, n, comparisons)
        nothing = compare_family(table, flips=flips, seed=seed)
        table[:, :true] += 0.3
        something = compare_family(table, flips=flips, seed=seed)
        for kind in kinds:
            wrong[kind] += bool((getattr(nothing, kind) <= LEVEL).any())
            found = getattr(something, kind) <= LEVEL
            mixed[kind] += bool(found[true:].any())
            power[kind] += float(found[:true].mean())
    setting = f"{comparisons} comparisons, correlation 0.7, n = {n}"
    names = {"p": "uncorrected", "holm": "Holm", "bh": "Benjamini–Hochberg", "max_t": "max-T"}
    lines = []
    for kind in kinds:
        most = LEVEL if kind in ("holm", "max_t") else None
        what = f"any false finding, {names[kind]}"
        lines += [
            Line(what, setting, wrong[kind] / repeats, None, most),
            Line(what, f"{setting}, a tenth differ", mixed[kind] / repeats, None, most),
            Line(f"power, {names[kind]}", f"{setting}, a tenth differ", power[kind] / repeats),
        ]
    return lines


def _correlated(rng: np.random.Generator, n: int, comparisons: int) -> Values:
    shared = rng.standard_normal((n, 1))
    own = rng.standard_normal((n, comparisons))
    return np.asarray(np.sqrt(0.7) * shared + np.sqrt(0.3) * own)


def against_nulls(lines: int, draws: int, repeats: int) -> list[Line]:
    """Return the chance of any false finding among lines, each with draws of its own null."""
    rng = np.random.default_rng(300)
    wrong = mixed = power = 0.0
    true = lines // 10
    for _ in range(repeats):
        every = _correlated(rng, draws + 1, lines).T * rng.uniform(0.1, 10, (lines, 1))
        wrong += bool((max_t_pvalues(every[:, 0], every[:, 1:]) <= LEVEL).any())
        every[:true, 0] += 3 * every[:true].std(axis=1)
        found = max_t_pvalues(every[:, 0], every[:, 1:]) <= LEVEL
        mixed += bool(found[true:].any())
        power += float(found[:true].mean())
    setting = f"{lines} lines, {draws} draws"
    what = "any false finding, max-T of nulls"
    return [
        Line(what, setting, wrong / repeats, None, LEVEL),
        Line(what, f"{setting}, a tenth differ", mixed / repeats, None, LEVEL),
        Line("power, max-T of nulls", f"{setting}, a tenth differ", power / repeats),
    ]


def choosing(n: int, candidates: int, repeats: int) -> list[Line]:
    """Return how much the best of many looks better than it is, in standard errors of a mean."""
    rng = np.random.default_rng([400, n])
    naive, honest = np.empty(repeats), np.empty(repeats)
    for i in range(repeats):
        found = split_half(_correlated(rng, n, candidates), seed=i, repeats=10)
        naive[i], honest[i] = found.naive, found.value
    setting = f"best of {candidates} that are alike, n = {n}"
    root = np.sqrt(n)
    return [
        Line("error of the naive value", setting, float(naive.mean() * root)),
        Line("error of the split-half value", setting, float(honest.mean() * root), -0.1, 0.1),
    ]


def run(repeats: int, *, small: bool = False) -> list[Line]:
    """Return all of it; with fewer images and comparisons if small."""
    sizes = [(25, null) for null in NULLS] + [(8, NULLS[-1])]
    if not small:
        sizes = [(n, null) for null in NULLS for n in (8, 25, 139)]
    lines = [line for n, null in sizes for line in false_positives(null, n, repeats)]
    lines.append(regions_as_images(25 if small else 139, repeats))
    lines += family(40, 20, repeats, 1999) if small else family(139, 60, repeats, 4999)
    # Exactly at its level, so that few repeats would fall on either side of it.
    lines += against_nulls(20, 499, repeats if small else 10 * repeats)
    return lines + choosing(40 if small else 139, 12, repeats)
