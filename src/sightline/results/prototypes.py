"""Benchmarks of prototypes that lie in a folder or a store: what they found."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sightline.core import InputError
from sightline.store.damage import read_told
from sightline.store.prototypes import BenchmarkFolder, benchmark_folder

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping

    import pyarrow as pa

    from sightline.attribution.prototypes.nature import Effect, Premise
    from sightline.attribution.prototypes.score_drops import GlobalStats
    from sightline.study.config.benchmark import Benchmark

__all__ = [
    "RelevanceMean",
    "StoredBenchmark",
    "benchmark_names",
    "open_benchmark",
    "stored_benchmark",
]

_MEASURES = ("energy_relevance", "mask_relevance")
_MEND = "run the benchmark again to make it anew"


class RelevanceMean(NamedTuple):
    """How much of attributions lies on the object, in the mean.

    Attributes
    ----------
    kind : str
        "prototype" or "patch".
    measure : str
        "energy_relevance" or "mask_relevance".
    value, low, high : float
        Mean and the ends of its interval; images are the unit.
    chance : float
        Mean share of the images that the object takes.
    difference, difference_low, difference_high : float
        Mean of the relevance minus chance.
    lines, undefined : int
        Prototypes or patches that count, and those that do not.
    images : int
        That they lie on.
    reasons : str
        Why those that do not count are undefined, each reason with their number; "" for none.
    """

    kind: str
    measure: str
    value: float
    low: float
    high: float
    chance: float
    difference: float
    difference_low: float
    difference_high: float
    lines: int
    undefined: int
    images: int
    reasons: str = ""

    @property
    def undefined_fraction(self) -> float:
        """Fraction of the prototypes or patches that do not count; NaN where there are none."""
        total = self.lines + self.undefined
        return self.undefined / total if total else np.nan


def benchmark_names(store: str | os.PathLike[str]) -> list[str]:
    """Return the names of the finished benchmarks in a store, sorted; none where there is no store.

    Examples
    --------
    >>> benchmark_names("no/such/folder")
    []
    """
    folder = Path(store) / "prototypes"
    if not folder.is_dir():
        return []
    return sorted(one.name for one in folder.iterdir() if (one / "benchmark.json").is_file())


def stored_benchmark(store: str | os.PathLike[str], name: str | None = None) -> StoredBenchmark:
    """Open a benchmark in a store; the only one unless a name is given.

    Raises
    ------
    InputError
        If there is none of that name, or several and no name is given.
    """
    names = benchmark_names(store)
    known = ", ".join(names) or "none"
    if name is None:
        if len(names) != 1:
            raise InputError(f"{store}: say which benchmark of prototypes; there are: {known}")
        name = names[0]
    path = benchmark_folder(store, name)
    if not path.is_dir():
        raise InputError(f"{store}: no benchmark of the name {name!r}; there are: {known}")
    return open_benchmark(path)


def open_benchmark(path: str | os.PathLike[str]) -> StoredBenchmark:
    """Open the folder that `sightline benchmark` wrote.

    Raises
    ------
    InputError
        If no benchmark is there, or it is not finished.
    """
    folder = BenchmarkFolder(path)
    if not folder.path.is_dir():
        raise InputError(f"{path}: no such folder; `sightline benchmark` makes one")
    about = folder.about()
    if about is None:
        if folder.parts.is_dir():
            done = sum(1 for _ in folder.parts.glob("*.parquet"))
            raise InputError(f"{path}: the benchmark is not finished: {done} parts are done")
        raise InputError(f"{path}: no benchmark is stored there (benchmark.json)")
    return StoredBenchmark(folder.path.resolve().name, folder.path, about)


@dataclass(frozen=True, eq=False)
class StoredBenchmark:
    """A benchmark of prototypes as it was stored; tables are read when they are asked for.

    Attributes
    ----------
    name
        Of its folder.
    path
        The folder.
    about
        All of its benchmark.json: `settings`, `accuracy`, `counts`, `perturbations`, `classes`,
        `versions`, `files`.
    """

    name: str
    path: Path
    about: Mapping[str, Any]
    _known: dict[int, list[Effect]] = field(default_factory=dict, repr=False)

    def __repr__(self) -> str:
        count = self.about["counts"]["images"]
        return f"StoredBenchmark({self.name!r}: {self.model} on {count} images)"

    @property
    def model(self) -> str:
        """The name of the model."""
        return str(self.about["settings"]["model"]["name"])

    @property
    def by_class(self) -> bool:
        """Whether scores are logits of classes: `proto_idx` is then the number of a class."""
        return self.about["settings"]["method"] is not None

    @property
    def class_names(self) -> dict[int, str]:
        """The class of each prototype that speaks for one; of classes their own names."""
        told = self.about["classes"] if self.by_class else self.about.get("prototype_classes", ())
        return {number: name for number, name in enumerate(told) if name}

    @property
    def accuracy(self) -> dict[str, Any]:
        """How often the model is right: value, low, high (None if unknown), images."""
        return dict(self.about["accuracy"])

    @property
    def config(self) -> Benchmark:
        """The analyses that were asked for."""
        from sightline.study.config.benchmark import Benchmark

        return Benchmark.from_dict(self.about["settings"]["analyses"], str(self.path))

    @property
    def picture(self) -> Path | None:
        """Where the distribution of the largest drops is drawn; None where it was not asked for."""
        name = self.about["settings"]["files"].get("local_perturbation_analysis.distribution_img")
        return None if name is None else self.path / name

    @cached_property
    def relevance(self) -> pa.Table | None:
        """A line for each prototype and each patch; None where that was not analysed."""
        return self._table("relevance.parquet")

    @cached_property
    def drops(self) -> pa.Table | None:
        """A line for each image, prototype and perturbation; None where that was not analysed."""
        return self._table("drops.parquet")

    @cached_property
    def relevance_means(self) -> tuple[RelevanceMean, ...]:
        """How relevant prototypes and patches are, with 95% intervals beside chance."""
        if self.relevance is None:
            return ()
        return tuple(
            _mean(self.relevance, kind, measure)
            for kind in ("prototype", "patch")
            for measure in _MEASURES
        )

    def effects(self, seed: int = 0) -> list[Effect]:
        """Return what each perturbation does to each prototype, and to all: see `nature.effects`.

        Raises
        ------
        InputError
            If perturbations were not analysed.
        """
        from sightline.attribution.prototypes.nature import effects

        if seed not in self._known:
            self._known[seed] = effects(self._asked(), seed=seed)
        return list(self._known[seed])

    def natures(self, seed: int = 0) -> dict[int, tuple[str, ...] | None]:
        """Return the perturbations that matter to each prototype: see `nature.natures`."""
        from sightline.attribution.prototypes.nature import natures

        return natures(self.effects(seed))

    def premise(self, perturbation: str | None = None) -> Premise:
        """Return how often focused copies lose more than dual ones: see `nature.premise`."""
        from sightline.attribution.prototypes.nature import premise

        return premise(self._asked(), perturbation)

    def global_stats(self) -> GlobalStats:
        """Return covered prototypes and mean focused drops: see `nature.global_stats`."""
        from sightline.attribution.prototypes.score_drops import global_stats

        return global_stats(self._asked())

    def _asked(self) -> pa.Table:
        if self.drops is None:
            raise InputError(f"{self.path}: local_perturbation_analysis was not asked for")
        return self.drops

    def _table(self, name: str) -> pa.Table | None:
        """Read a table whose bytes are those that were written."""
        told = self.about["files"].get(name)
        return None if told is None else read_told(self.path / name, told, _MEND)


def _mean(table: pa.Table, kind: str, measure: str) -> RelevanceMean:
    """Return the mean of one measure over prototypes or patches."""
    from sightline.stats import interval

    keep = np.asarray(table["kind"].to_pylist()) == kind
    values, chance = (
        np.asarray(table[name].to_numpy(), np.float64)[keep] for name in (measure, "chance")
    )
    images = np.asarray(table["image"].to_pylist())[keep]
    reasons = np.asarray(table["reason"].to_pylist(), object)[keep]
    known = np.isfinite(values) & np.isfinite(chance)
    level = interval(values, images=images.tolist(), limits=(0, 1))
    gap = interval(values - chance, images=images.tolist(), limits=(-1, 1))
    return RelevanceMean(
        kind,
        measure,
        level.value,
        level.low,
        level.high,
        float(chance[known].mean()) if known.any() else np.nan,
        gap.value,
        gap.low,
        gap.high,
        int(known.sum()),
        int((~known).sum()),
        level.n,
        _count_reasons(reasons[~known]),
    )


def _count_reasons(reasons: Iterable[str]) -> str:
    """Return each reason with how often it holds, the most frequent first."""
    return ", ".join(f"{count:,}: {reason}" for reason, count in Counter(reasons).most_common())
