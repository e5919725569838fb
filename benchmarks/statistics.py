"""How long statistics take, beside SciPy's: ``python -m benchmarks.statistics``.

Run with ``OMP_NUM_THREADS=1`` to time one core.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sightline.stats import (
    compare_family,
    cross_image,
    cross_scores,
    intervals,
    sign_flip,
    torus_scores,
    torus_shift,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Timing", "measure", "measure_nulls", "table"]


@dataclass(frozen=True)
class Timing:
    """The best time of some runs, for that many columns or maps."""

    what: str
    columns: int
    seconds: float

    @property
    def each(self) -> float:
        """Milliseconds for each of them."""
        return 1000 * self.seconds / self.columns


def measure(
    images: int = 139, columns: int = 10_000, few: int = 50, resamples: int = 1000
) -> list[Timing]:
    """Time our functions on all columns and SciPy's on a few."""
    from scipy import stats

    rng = np.random.default_rng(0)
    values = rng.beta(1, 6, (images, columns))
    counts = rng.integers(1, 6, values.shape)
    some = values[:, :few]
    gaps = some - rng.beta(1, 6, some.shape)

    def theirs() -> object:
        return stats.bootstrap((some,), np.mean, axis=0, n_resamples=resamples, rng=rng)

    def flipped() -> object:
        return stats.permutation_test(
            (gaps[:, 0],), np.mean, permutation_type="samples", vectorized=True, rng=rng
        )

    return [
        _timed("sightline intervals, BCa", columns, lambda: _all(values, resamples)),
        _timed(
            "sightline intervals, 1–5 regions", columns, lambda: _all(values, resamples, counts)
        ),
        _timed("scipy.stats.bootstrap, BCa", few, theirs),
        _timed("sightline compare_family, 9,999 flips", few, lambda: compare_family(gaps)),
        _timed("sightline sign_flip, 9,999 flips", 1, lambda: sign_flip(gaps[:, 0])),
        _timed("scipy.stats.permutation_test, 9,999 flips", 1, flipped),
    ]


def measure_nulls(images: int = 139, sizes: Sequence[int] = (16, 224)) -> list[Timing]:
    """Time the nulls of as many maps."""
    rng = np.random.default_rng(0)
    timings = []
    for size in sizes:
        maps = rng.random((images, size, size), np.float32)
        masks = rng.random(maps.shape) < 0.1

        def crossed(maps: np.ndarray = maps, masks: np.ndarray = masks) -> object:
            return cross_image(cross_scores(maps, masks, "iou@90"))

        def shifted(maps: np.ndarray = maps, masks: np.ndarray = masks) -> object:
            return torus_shift(torus_scores(maps, masks, "iou@90"))

        named = f"{size}×{size}, iou@90, 9,999 draws"
        timings += [
            _timed(f"sightline cross-image null, {named}", images, crossed),
            _timed(f"sightline torus null, {named}", images, shifted),
        ]
    return timings


def _all(values: np.ndarray, resamples: int, counts: np.ndarray | None = None) -> object:
    return intervals(values, counts=counts, resamples=resamples)


def _timed(what: str, columns: int, call: Callable[[], object], runs: int = 3) -> Timing:
    times = []
    for _ in range(runs):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return Timing(what, columns, min(times))


def table(timings: Sequence[Timing]) -> str:
    """Return timings as a table in Markdown."""
    rows = ["| what | columns or maps | seconds | ms each |", "| --- | ---: | ---: | ---: |"]
    rows += [f"| {t.what} | {t.columns:,} | {t.seconds:.3f} | {t.each:.4f} |" for t in timings]
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=139)
    parser.add_argument("--columns", type=int, default=10_000)
    parser.add_argument("--resamples", type=int, default=1000)
    given = parser.parse_args()
    print(f"{given.images} images, {given.resamples} resamples\n")
    timings = measure(given.images, given.columns, resamples=given.resamples)
    print(table(timings + measure_nulls(given.images)))


if __name__ == "__main__":
    main()
