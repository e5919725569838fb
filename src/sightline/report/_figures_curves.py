"""Figures of curves: ROC, precision and recall, thresholds, energy, layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sightline.core.words import counted, merge_counts
from sightline.report._figure_data import OF_LINE, Feed, layers_missing, nothing_missing, told
from sightline.report._figures_checks import groups_of, named_lines, rows_of_choice, with_keys
from sightline.report._pictures import maps_missing, signs_of

if TYPE_CHECKING:
    import pandas as pd

    from sightline.report._lines import Lines
    from sightline.report.figures import Choice, Drawn, StoreFigures

__all__ = ["FEEDS"]


def _roc(store: StoreFigures, choice: Choice) -> Drawn:
    from sightline.figures.curves import create_roc_curve_comparison
    from sightline.report.figures import Drawn

    every = store.lines(choice)
    shown = every.shown()
    curves, scores = shown.curves("roc"), _board(store, shown, "auc_roc")
    figure = create_roc_curve_comparison(curves, scores)
    return Drawn(figure, _with_scores(curves, scores, "auc_roc"), told(shown, every))


def _pr(store: StoreFigures, choice: Choice) -> Drawn:
    from sightline.figures.curves import create_pr_curve_comparison
    from sightline.report.figures import Drawn

    every = store.lines(choice)
    shown = every.shown()
    curves, scores = shown.curves("pr"), _board(store, shown, "average_precision")
    chance = None if scores is not None else _annotated(store)
    figure = create_pr_curve_comparison(curves, scores, chance=chance)
    return Drawn(figure, _with_scores(curves, scores, "average_precision"), told(shown, every))


def _annotated(store: StoreFigures) -> float | None:
    """Return the mean annotated share of images on which anything is."""
    sql = "SELECT avg(area) FROM images WHERE area > 0"
    found: float | None = store.results._tables.fetch(sql)[0][0]
    return found


def _board(store: StoreFigures, lines: Lines, metric: str) -> pd.DataFrame | None:
    if metric not in store.results.metrics:
        return None
    return lines.board(store.results._tables.name(metric))


def _with_scores(curves: pd.DataFrame, scores: pd.DataFrame | None, metric: str) -> pd.DataFrame:
    """Return curves with the score of each line beside its points."""
    if scores is None:
        return curves
    beside = scores.set_index("name")[["value", "low", "high", "chance"]]
    beside.columns = [metric, f"{metric}_low", f"{metric}_high", f"{metric}_chance"]
    return curves.join(beside, on="name")


def _sweep(store: StoreFigures, choice: Choice) -> Drawn:
    from sightline.figures.curves import create_iou_threshold_curves
    from sightline.report.figures import Drawn

    every = store.lines(choice)  # raises for a metric that is not stored
    asked = (choice.metric or "iou").partition("@")[0]
    metric = asked if _percentiles(store, asked) else "iou"
    note = f"{asked} has no thresholds: {metric} is drawn" if metric != asked else ""
    shown = every.shown()
    table = _by_percentile(store, shown, metric)
    figure = create_iou_threshold_curves(table, metric=metric)
    return Drawn(figure, table, told(shown, every, note))


def _percentiles(store: StoreFigures, metric: str) -> list[Any]:
    """Return the names of a metric at the percentiles that are stored."""
    names = store.results._tables.names
    return [name for name in names if name.metric == metric and name.threshold[:1].isdigit()]


def _by_percentile(store: StoreFigures, lines: Lines, metric: str) -> pd.DataFrame:
    import pandas as pd

    names = _percentiles(store, metric)
    lines.load(names)
    parts = []
    for name in names:
        part = lines.board(name)
        part.insert(list(part).index("value"), "percentile", float(name.threshold))
        parts.append(part)
    order = {name: place for place, name in enumerate(lines.names)}
    table = pd.concat(parts).drop(columns=["rank", "models"])
    table = table.sort_values(["percentile"], kind="stable", ascending=False)
    table = table.sort_values("name", key=lambda one: one.map(order), kind="stable")
    return table.reset_index(drop=True)


def _sweep_missing(store: StoreFigures) -> str:
    found = len(_percentiles(store, "iou"))
    why = f"it needs IoU at two percentiles or more; the study computed {found}"
    return nothing_missing(store) if found > 1 else why


def _energy(store: StoreFigures, choice: Choice) -> Drawn:
    from sightline.figures.curves import draw_cumulative_energy
    from sightline.report.figures import Drawn
    from sightline.results.energy import cumulative_energy

    every = store.lines(choice)
    shown = every.shown()
    found = store.kept(
        ("energy", shown.names, choice[:-1]),
        lambda: cumulative_energy(store.scenes, shown.lines, progress=store.progress),
    )
    table = shown.named(found.table)
    images = f"mean over {counted(found.n, 'image')} of {found.images:,}"
    return Drawn(draw_cumulative_energy(table), table, told(shown, every, images))


def _energy_missing(store: StoreFigures) -> str:
    why = maps_missing(store)
    signed = "all maps are scored with their signs, and energy below zero has no meaning"
    return why or (signed if set(signs_of(store, store.lines())) == {"signed"} else "")


def _layers(store: StoreFigures, choice: Choice) -> Drawn:
    from sightline.figures.curves import draw_layer_progression
    from sightline.report.figures import Drawn

    every = store.lines(choice)
    shown = every.shown()
    found = store.results.layer_progression(
        str(every.lead), model=choice.model, method=choice.method, target=choice.target
    )
    keys = ["model", "method", "target"]
    names = {(one.model, one.method, one.target): name
             for one, name in zip(shown.lines, shown.names, strict=True)}  # fmt: skip
    named = [names.get(key) for key in found[keys].itertuples(index=False, name=None)]
    found.insert(0, "name", named)
    order = {name: place for place, name in enumerate(shown.names)}
    table = found[found["name"].notna()]
    table = table.sort_values("name", key=lambda one: one.map(order), kind="stable")
    table = table.reset_index(drop=True)
    figure = draw_layer_progression(table, metric=str(every.lead))
    counts = table[table["value"].notna()].groupby("name")["layer"].nunique()
    ways = merge_counts(f"best of {n} layers on the same images" for n in counts if n > 1)
    about = told(shown, every).partition("; layers by ")[0]
    return Drawn(figure, table, "; ".join([about, *(f"peaks: {way}" for way in ways)]))


def _layers_missing(store: StoreFigures) -> str:
    return layers_missing(store) or nothing_missing(store)


def _layer_changes(store: StoreFigures, choice: Choice) -> Drawn:
    from sightline.figures.layers import draw_layer_changes
    from sightline.report.figures import Drawn
    from sightline.results.map_changes import layer_changes

    every = store.kept(
        "layer-changes", lambda: layer_changes(store.scenes, progress=store.progress)
    )
    table = every if choice.model is None else every[every["model"] == choice.model]
    table = rows_of_choice(with_keys(table), choice, "maps of several layers")
    table = named_lines(store, table.assign(layer=None)).assign(layer=table["layer"])
    table["group"] = groups_of(store, table)
    drawn = table.rename(columns={"spearman": "value", "images": "n"})
    about = counted(drawn["name"].nunique(), "method")
    images = int(drawn["n"].max())
    return Drawn(draw_layer_changes(drawn), drawn, f"{about}; {counted(images, 'image')}")


def _changes_missing(store: StoreFigures) -> str:
    return layers_missing(store) or maps_missing(store)


FEEDS = {
    "roc": Feed(_roc, nothing_missing),
    "pr": Feed(_pr, nothing_missing),
    "thresholds": Feed(_sweep, _sweep_missing),
    "energy-curves": Feed(_energy, _energy_missing),
    "layers": Feed(_layers, _layers_missing),
    "layer-changes": Feed(_layer_changes, _changes_missing, OF_LINE),
}
