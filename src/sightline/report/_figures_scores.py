"""Figures of scores: leaderboard, box plots, breakdowns, agreement, ranks, radar."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sightline.core.words import counted
from sightline.report._figure_data import (
    Feed,
    chosen_metrics,
    directed_metrics,
    labelled_images,
    nothing_missing,
    told,
    told_one,
)
from sightline.report._pictures import maps_missing

if TYPE_CHECKING:
    import pandas as pd

    from sightline.report._lines import Lines
    from sightline.report.figures import Choice, Drawn, StoreFigures

__all__ = ["FEEDS", "RANKED"]

_MAIN = ("coverage", "average_precision", "auc_roc", "iou@90")
RANKED = (
    *("pointing", "coverage", "auc_roc", "average_precision", "relevance_rank"),
    *("iou@95", "iou@90", "iou@85", "iou@80", "iou@75"),
)
_RADAR = ("coverage", "average_precision", "auc_roc", "pointing", "iou@90", "relevance_rank")
_FEATURES = ("iou", "recall", "pointing", "coverage")
_THRESHOLDED = ("iou", "recall")


def _leaderboard(store: StoreFigures, choice: Choice) -> Drawn:
    from sightline.figures.comparisons import draw_leaderboard
    from sightline.report.figures import Drawn

    every = store.lines(choice)
    shown = every.shown()
    table = shown.board(every.lead)
    figure = draw_leaderboard(table, metric=str(every.lead))
    return Drawn(figure, table, told(shown, every))


def _box_plots(store: StoreFigures, choice: Choice) -> Drawn:
    from sightline.figures.comparisons import draw_metrics_comparison
    from sightline.report.figures import Drawn

    every = store.lines(choice)
    shown = every.shown()
    metrics = [choice.metric] if choice.metric else chosen_metrics(store, _MAIN)
    table = _joined({metric: _values(store, shown, metric) for metric in metrics})
    figure = draw_metrics_comparison(table, metrics=metrics)
    return Drawn(figure, table, told(shown, every))


def _values(store: StoreFigures, lines: Lines, metric: str) -> pd.DataFrame:
    return lines.values(store.results._tables.name(metric))


def _joined(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Return tables below each other, each with the name of its metric."""
    import pandas as pd

    parts = []
    for metric, table in tables.items():
        part = table.drop(columns="metric", errors="ignore")
        part.insert(list(part).index("value"), "metric", metric)
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


def _long(store: StoreFigures, lines: Lines, metrics: list[str]) -> pd.DataFrame:
    """Return the means of lines by several metrics, one below the other."""
    names = [store.results._tables.name(metric) for metric in metrics]
    lines.load(names)
    table = _joined({str(name): lines.board(name) for name in names})
    order = {name: place for place, name in enumerate(lines.names)}
    table = table.sort_values("name", key=lambda one: one.map(order), kind="stable")
    kept = ("name", "model", "method", "group", "target", "layer", "metric", "value", "low", "high")
    columns = [*kept, "chance", "ceiling", "n", "undefined", "chosen"]
    return table[columns].reset_index(drop=True)


def _ranking(store: StoreFigures, choice: Choice) -> Drawn:
    from sightline.figures.ranking import create_methods_ranking_heatmap
    from sightline.report.figures import Drawn

    every = store.lines(choice)
    shown = every.shown()
    table = _long(store, shown, directed_metrics(store, RANKED, 2))
    return Drawn(create_methods_ranking_heatmap(table), table, told(shown, every))


def _ranking_missing(store: StoreFigures) -> str:
    found = directed_metrics(store, RANKED, 2)
    return nothing_missing(store) if found else "no metric of the study says what is better"


def _radar(store: StoreFigures, choice: Choice) -> Drawn:
    from sightline.figures.ranking import create_metrics_radar_chart
    from sightline.report.figures import Drawn

    every = store.lines(choice)
    shown = every.shown(6, 1)
    table = _long(store, shown, _radar_metrics(store))
    return Drawn(create_metrics_radar_chart(table), table, told(shown, every))


def _radar_metrics(store: StoreFigures) -> list[str]:
    return directed_metrics(store, _RADAR, 3)


def _radar_missing(store: StoreFigures) -> str:
    count = len(_radar_metrics(store))
    need = "a radar chart needs three metrics that say what is better"
    return nothing_missing(store) if count >= 3 else f"{need}; the study has {count}"


def _features(store: StoreFigures, choice: Choice) -> Drawn:
    from sightline.figures.comparisons import draw_breakdown
    from sightline.report.figures import Drawn

    metric, token = _feature_metric(store, choice)
    line = _feature_line(store, choice, token)
    found = store.results.feature_breakdown(**_words(line), percentile=token)
    before = "" if metric == "iou" else f"{metric}_"
    ends = {name: found.get(f"{before}{name}") for name in ("low", "high", "chance", "ceiling")}
    columns: dict[str, Any] = {"label": found["label"], "value": found[metric], **ends}
    columns |= {name: found[name] for name in ("n", "images", "undefined")}
    import pandas as pd

    table = pd.DataFrame({name: one for name, one in columns.items() if one is not None})
    table = _add_line_columns(table, line)
    named = f"{metric}@{token}" if token else metric
    figure = draw_breakdown(table, metric=named, what="label")
    return Drawn(figure, table, told_one(line, f"{named} of single regions"))


def _add_line_columns(table: pd.DataFrame, line: Lines) -> pd.DataFrame:
    """Add the columns of the line that a breakdown is about."""
    columns = line.columns()
    return table.assign(**{key: columns[key][0] for key in ("name", "layer", "chosen")})


def _feature_metric(store: StoreFigures, choice: Choice) -> tuple[str, str | None]:
    """Return the metric of regions that is drawn, and its threshold."""
    usual = [choice.metric or store.metric, *chosen_metrics(store, ("iou@90",), 10**6)]
    metric = next((one for one in usual if one.partition("@")[0] in _FEATURES), "")
    base, _, token = metric.partition("@")
    return base, token if token and base in _THRESHOLDED else None


def _feature_line(store: StoreFigures, choice: Choice, token: str | None) -> Lines:
    """Return the line of a breakdown; where halves have layers of their own, those it chooses."""
    if choice.layer == "split":
        iou = f"iou@{token or 90}"
        known = iou in store.results.metrics
        choice = choice._replace(metric=iou if known else None)
    return store.lines(choice).best()


def _words(line: Lines) -> dict[str, Any]:
    """Return the words by which tables of results choose the maps of a line."""
    one = line.lines[0]
    layer: Any = "split" if one.split else one.layer
    return {
        "model": one.model,
        "method": one.method.partition("|")[0],
        "layer": layer,
        "target": one.target or None,
    }


def _features_missing(store: StoreFigures) -> str:
    scored = store.results.study.get("regions", True)
    if not scored:
        return "the study scored no single regions (regions: false)"
    if not _feature_metric(store, _usual())[0]:
        return f"the study computed none of {', '.join(_FEATURES)}"
    return nothing_missing(store)


def _usual() -> Choice:
    from sightline.report.figures import Choice

    return Choice()


def _styles(store: StoreFigures, choice: Choice) -> Drawn:
    from sightline.figures.comparisons import draw_breakdown
    from sightline.report.figures import Drawn

    line = store.lines(choice).best()
    table = _add_line_columns(store.results.style_breakdown(choice.metric, **_words(line)), line)
    figure = draw_breakdown(table, metric=str(line.lead), what="image label")
    return Drawn(figure, table, told_one(line, f"{line.lead} of images"))


def _styles_missing(store: StoreFigures) -> str:
    return nothing_missing(store) if labelled_images(store) else "its images have no labels"


def _agreement(store: StoreFigures, choice: Choice) -> Drawn:
    from sightline.figures.agreement import draw_agreement_matrix
    from sightline.report.figures import Drawn
    from sightline.results.agreement import map_agreement

    every = store.lines(choice)
    shown = every.shown(12, 3)
    found = store.kept(
        ("agreement", shown.names, choice[:-1]),
        lambda: map_agreement(store.scenes, shown.lines, progress=store.progress),
    )
    names = list(shown.names)
    figure = draw_agreement_matrix(
        found.matrix, shown.labels, ends=(found.low, found.high), n=found.n,
        selection=shown.selection,
    )  # fmt: skip
    table = _square(found.matrix, names)
    least = int(found.counts.min())
    fewer = f", of some pairs over {least:,}" if least < found.n else ""
    images = f"mean over {counted(found.n, 'image')} of {found.images:,}{fewer}"
    return Drawn(figure, table, told(shown, every, images))


def _square(matrix: Any, names: list[str]) -> pd.DataFrame:
    import pandas as pd

    table = pd.DataFrame(matrix, columns=names)
    table.insert(0, "name", names)
    return table


def _agreement_missing(store: StoreFigures) -> str:
    if len(store.lines().shown(12, 3)) < 2:
        return "there is one method alone"
    return maps_missing(store)


FEEDS = {
    "leaderboard": Feed(_leaderboard, nothing_missing),
    "metrics-comparison": Feed(_box_plots, nothing_missing),
    "features": Feed(_features, _features_missing),
    "styles": Feed(_styles, _styles_missing),
    "agreement": Feed(_agreement, _agreement_missing),
    "ranking": Feed(_ranking, _ranking_missing),
    "radar": Feed(_radar, _radar_missing),
}
