"""Figures of the benchmarks of prototypes that lie in a store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sightline.attribution.prototypes.nature import ALL
from sightline.core import InputError
from sightline.core.words import counted
from sightline.figures import (
    draw_drop_heatmap,
    draw_max_drop_distribution,
    draw_perturbation_drops,
    draw_prototype_cards,
    draw_relevance_distributions,
)
from sightline.figures.prototypes import MOST
from sightline.report._figure_data import Feed
from sightline.results.prototypes import benchmark_names, stored_benchmark

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    from matplotlib.figure import Figure

    from sightline.report.figures import Choice, Drawn, StoreFigures
    from sightline.results.live_prototypes import AskedBenchmark
    from sightline.results.prototypes import StoredBenchmark

    Draw = Callable[[AskedBenchmark, int | None], tuple[Figure, pd.DataFrame]]

__all__ = ["FEEDS", "PROTOTYPE_FIGURES", "draw_benchmark", "holding_benchmarks", "opened_benchmark"]

SHOWN = MOST
"""Cards of a sheet."""


def opened_benchmark(store: StoreFigures, name: str) -> StoredBenchmark:
    """Return a benchmark of a store, opened once."""
    path = store.results.path
    return store.kept(("benchmark", name), lambda: stored_benchmark(path, name))


def _asked(store: StoreFigures, found: StoredBenchmark) -> AskedBenchmark:
    from sightline.results.live_prototypes import AskedBenchmark

    return store.kept(("asked benchmark", found.name), lambda: AskedBenchmark(found))


def _holding(store: StoreFigures, part: str) -> list[str]:
    """Return the benchmarks that hold what a figure is drawn from."""
    return [
        name
        for name in benchmark_names(store.results.path)
        if _lacks(opened_benchmark(store, name), part) == ""
    ]


def _lacks(found: StoredBenchmark, part: str) -> str:
    """Say what a benchmark lacks for a figure; empty where it lacks nothing."""
    if part == "cards":
        return "no prototypes: its scores are of classes" if found.by_class else ""
    wanted = {"relevance": "relevance_analysis", "drops": "local_perturbation_analysis"}
    return "" if f"{part}.parquet" in found.about["files"] else f"no {wanted[part]}"


def _missing(store: StoreFigures, part: str) -> str:
    names = benchmark_names(store.results.path)
    if not names:
        return "no benchmark of prototypes is stored (sightline benchmark --store)"
    if _holding(store, part):
        return ""
    return f"its benchmark {names[0]!r} has {_lacks(opened_benchmark(store, names[0]), part)}"


def _drawn(store: StoreFigures, choice: Choice, part: str, draw: Draw) -> Drawn:
    from sightline.report.figures import Drawn

    names = benchmark_names(store.results.path)
    if choice.model is not None and choice.model not in names:
        known = ", ".join(names)
        raise InputError(f"model must be a stored benchmark: {known}; got {choice.model!r}")
    found = opened_benchmark(store, choice.model or _holding(store, part)[0])
    if lacks := _lacks(found, part):
        raise InputError(f"benchmark {found.name!r} has {lacks}")
    images = counted(int(found.about["counts"]["images"]), "image")
    drawn = draw(_asked(store, found), choice.prototype)
    return Drawn(*drawn, f"{found.name}: {found.model}, {images}")


def _effects(found: StoredBenchmark) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame([one._asdict() for one in found.effects()])


def _relevance(asked: AskedBenchmark, prototype: int | None) -> Any:
    table = _frame(asked.found.relevance)
    return draw_relevance_distributions(table), table


def _frame(table: Any) -> pd.DataFrame:
    """Return an Arrow table as a data frame."""
    frame: pd.DataFrame = table.to_pandas()
    return frame


def _heatmap(asked: AskedBenchmark, prototype: int | None) -> Any:
    found = asked.found
    table = _effects(found)
    return draw_drop_heatmap(table, names=found.class_names), table


def _largest(asked: AskedBenchmark, prototype: int | None) -> Any:
    import pandas as pd

    from sightline.attribution.prototypes.score_drops import largest_drops

    table = asked.found.drops
    found = [one._asdict() for one in largest_drops(table)]
    return draw_max_drop_distribution(table), pd.DataFrame(found)


def _drops(asked: AskedBenchmark, prototype: int | None) -> Any:
    """Draw the mean drops over all prototypes, or those of one."""
    import pandas as pd

    effects = _effects(asked.found)
    effects = effects[effects["prototype"] == (ALL if prototype is None else prototype)]
    if effects.empty:
        raise InputError(f"{asked.found.name}: prototype {prototype} was not perturbed")
    kinds = {"focused": "focused", "dual": "dual", "global": "whole"}
    parts = [
        pd.DataFrame(
            {
                "perturbation": effects["perturbation"],
                "kind": kind,
                "value": effects[column],
                "low": effects[f"{column}_low"],
                "high": effects[f"{column}_high"],
                "n": effects["images"],
            }
        )
        for kind, column in kinds.items()
        if effects[column].notna().any()
    ]
    if not parts:
        raise InputError(f"{asked.found.name}: no drop is defined")
    table = pd.concat(parts, ignore_index=True)
    return draw_perturbation_drops(table), table


def _cards(asked: AskedBenchmark, prototype: int | None) -> Any:
    """Draw one card, or as many as a sheet holds: those of prototypes on the most images."""
    from sightline.report.prototype_cards import known_prototypes, prototype_cards

    known = known_prototypes(asked.found)
    first = sorted(known, key=lambda one: (-one.images, one.prototype))[:SHOWN]
    numbers = sorted(one.prototype for one in first) if prototype is None else [prototype]
    cards, table = prototype_cards(asked, numbers)
    many = "Prototypes" if len(cards) > 1 else "A prototype"
    head = f"{many} of {asked.found.model}"
    return draw_prototype_cards(cards, head=head, total=len(known)), table


def _feed(name: str, part: str, draw: Draw) -> Feed:
    return Feed(
        lambda store, choice: _drawn(store, choice, part, draw),
        lambda store: _missing(store, part),
        ("model", "prototype") if name in _OF_ONE else ("model",),
    )


_PARTS: dict[str, tuple[str, Draw]] = {
    "relevance": ("relevance", _relevance),
    "perturbation-drops": ("drops", _drops),
    "drop-heatmap": ("drops", _heatmap),
    "max-drops": ("drops", _largest),
    "prototype-cards": ("cards", _cards),
}
_OF_ONE = ("prototype-cards", "perturbation-drops")
"""Figures that can show a single prototype."""
FEEDS = {name: _feed(name, part, draw) for name, (part, draw) in _PARTS.items()}
PROTOTYPE_FIGURES = tuple(FEEDS)
"""The figures of a benchmark, in the order in which reports show them."""


def draw_benchmark(found: StoredBenchmark, card: str) -> tuple[Figure, pd.DataFrame]:
    """Draw a figure of a benchmark, wherever it lies; return it with the numbers in it."""
    from sightline.results.live_prototypes import AskedBenchmark

    part, draw = _PARTS[card]
    if lacks := _lacks(found, part):
        raise InputError(f"figure {card!r} cannot be drawn from {found.path}: it has {lacks}")
    return draw(AskedBenchmark(found), None)


def holding_benchmarks(store: StoreFigures, card: str) -> list[str]:
    """Return the benchmarks of a store that a figure can be drawn from."""
    return _holding(store, _PARTS[card][0])
