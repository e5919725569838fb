"""The tables of a report as files: Table 1, the means of all lines, the scores of single images."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from sightline.core.words import counted
from sightline.metrics import METRICS
from sightline.report.words import number

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from sightline.report.scores import Scored
    from sightline.results import Results

__all__ = ["TABLE_ONE", "TableOne", "detailed_results", "summary_results", "table_one"]

TABLE_ONE = ("coverage", "average_precision", "auc_roc", "iou@90")
"""Columns of Table 1: the guide's EBPG, AP, AUC-ROC and IoU at the top 10%."""
_HEADS = {
    "coverage": "Coverage",
    "average_precision": "AP",
    "auc_roc": "AUC",
    "iou@90": "IoU@90",
}
_OURS = ("median", "low", "high", "n", "undefined", "chance", "ceiling", "corrected")


def summary_results(scored: Scored) -> pd.DataFrame:
    """Return a row for each line: the guide's columns first, then ours.

    Returns
    -------
    DataFrame
        method; mean and std of each metric (``coverage_mean``, ``coverage_std``); then name, model,
        target, layer, group, chosen; then median, low, high (95% interval), n, undefined, chance,
        ceiling of each metric, and corrected of IoU.
    """
    import pandas as pd

    tables = {metric: scored.of(metric) for metric in scored.metrics}
    columns = {"method": scored.about["method"]}
    for metric, table in tables.items():
        columns[f"{metric}_mean"] = table["value"]
        columns[f"{metric}_std"] = table["std"]
    told = ["name", "model", "target", "layer", "group", "chosen"]
    columns |= {name: scored.about[name] for name in told}
    for metric, table in tables.items():
        for what in _OURS:
            if what != "corrected" or metric.startswith("iou@"):
                columns[f"{metric}_{what}"] = table[what]
    return pd.DataFrame(columns)


def detailed_results(
    results: Results, scored: Scored, predictions: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Return a row for each image and line: the guide's columns first, then ours.

    Returns
    -------
    DataFrame
        image, method; the score under each metric; then name, model, target, layer, group, area
        (annotated share of what was scored), visible (share of the annotation that the model
        could see), label (of the image; several are separated by "; "), predicted and correct
        (where the model's predictions are known).
    """
    import pandas as pd

    parts = []
    for metric in scored.metrics:
        values = scored.values(metric)
        parts.append(pd.Series(values.T.stack(future_stack=True), name=metric))
    frame = pd.concat(parts, axis=1)
    frame.index.names = ["name", "image"]
    frame = frame.reset_index().merge(scored.about.drop(columns="chosen"), on="name")
    frame = frame.merge(_seen(results, scored), on=["name", "image"], how="inner")
    frame = frame.merge(_labels(results), on="image", how="left")
    frame = _with_predictions(frame, predictions)
    ours = ["name", "model", "target", "layer", "group", "area", "visible", "label", "predicted",
            "correct"]  # fmt: skip
    order = {name: place for place, name in enumerate(scored.about["name"])}
    frame = frame.assign(place=frame["name"].map(order)).sort_values(["image", "place"])
    return frame[["image", "method", *scored.metrics, *ours]].reset_index(drop=True)


def _seen(results: Results, scored: Scored) -> pd.DataFrame:
    """Return of each line and image the area, and how much of it the model could see."""
    import pandas as pd

    sql = """SELECT model, method, target, layer, image, max(annotated_fraction) AS area,
        min(visible_fraction) AS visible FROM scores WHERE head IS NULL GROUP BY ALL"""
    rows = results.query(sql)
    rows["layer"] = rows["layer"].astype("Int64")
    found = []
    for name, line in zip(scored.about["name"], scored.lines.lines, strict=True):
        pick = line.picks[0]
        same = rows[(rows["model"] == line.model) & (rows["method"] == pick.method)]
        same = same[same["target"] == pick.target]
        same = same[same["layer"].isna() if pick.layer is None else same["layer"] == pick.layer]
        found.append(same[["image", "area", "visible"]].assign(name=name))
    return pd.concat(found, ignore_index=True)


def _labels(results: Results) -> pd.DataFrame:
    rows = results.query("SELECT image, labels FROM images")
    rows["label"] = ["; ".join(map(str, labels)) for labels in rows.pop("labels")]
    return rows


def _with_predictions(frame: pd.DataFrame, predictions: pd.DataFrame | None) -> pd.DataFrame:
    """Add what the model of each line predicts; nothing for baselines that models share."""
    import pandas as pd

    if predictions is None:
        nothing = pd.Series(pd.NA, index=frame.index, dtype=object)
        return frame.assign(predicted=nothing, correct=nothing)
    known = predictions[["model", "image", "predicted", "correct"]]
    return frame.merge(known, on=["model", "image"], how="left")


# --- Table 1 -------------------------------------------------------------------------------------


class Cell(NamedTuple):
    """A mean with its spread and, where it is among the best of its column, a mark."""

    value: float
    std: float
    low: float
    high: float
    best: bool


class TableOne(NamedTuple):
    """Methods by metrics, as papers print them.

    Attributes
    ----------
    metrics
        Columns.
    rows
        Name, group and cells of each line, the best first, baselines last.
    chance
        Of each column.
    images
        How many, fewest to most over the cells.
    chosen
        The metric by which layers were chosen on the same images; empty where none was.
    """

    metrics: tuple[str, ...]
    rows: tuple[tuple[str, str, tuple[Cell, ...]], ...]
    chance: tuple[float, ...]
    images: tuple[int, int]
    chosen: str = ""

    @property
    def note(self) -> str:
        """What must be known to read it."""
        few, many = self.images
        count = counted(many, "image") if few == many else f"{few:,} to {counted(many, 'image')}"
        text = (
            f"Mean ± standard deviation over {count}; 95% intervals of the means in brackets. "
            "Bold: best of its column among the methods; equal ones share it, and it need not "
            "differ from the next beyond what images decide. Chance: what a constant map scores, "
            "mean over lines."
        )
        if self.chosen:
            text += f" Layers: best by {self.chosen} on the same images, which flatters them."
        return text

    def markdown(self) -> str:
        """Return the table in Markdown."""
        heads = ["Method", *(_head(metric) for metric in self.metrics)]
        lines = [_row(heads), _row([":--", *["--:"] * len(self.metrics)])]
        for name, group, cells in self.rows:
            called = _md(name) + (" (baseline)" if group == "baseline" else "")
            texts = [f"**{_cell(cell)}**" if cell.best else _cell(cell) for cell in cells]
            lines.append(_row([called, *texts]))
        lines.append(_row(["*Chance*", *map(number, self.chance)]))
        return "\n".join(lines) + f"\n\n{self.note}\n"

    def latex(self) -> str:
        """Return the table in LaTeX, for the package booktabs."""
        heads = " & ".join(
            ["Method", *(f"{tex(_head(one))} {_arrow(one)}" for one in self.metrics)]
        )
        body, base = [], False
        for name, group, cells in self.rows:
            if group == "baseline" and not base:
                body.append(r"\midrule")
                base = True
            texts = [_tex_cell(cell) for cell in cells]
            # What ends a row takes a star or a bracket that follows for its own.
            called = f"{{}}{tex(name)}" if name.startswith(("[", "*")) else tex(name)
            body.append(" & ".join([called, *texts]) + r" \\")
        chance = " & ".join([r"\textit{Chance}", *map(_tex_number, self.chance)]) + r" \\"
        return "\n".join(
            [
                "% Needs \\usepackage{booktabs}.",
                r"\begin{table}",
                r"\centering",
                rf"\caption{{{tex(self.note)}}}",
                r"\label{tab:methods}",
                rf"\begin{{tabular}}{{l{'c' * len(self.metrics)}}}",
                r"\toprule",
                rf"{heads} \\",
                r"\midrule",
                *body,
                r"\midrule",
                chance,
                r"\bottomrule",
                r"\end{tabular}",
                r"\end{table}",
                "",
            ]
        )


def table_one(scored: Scored, metrics: Sequence[str] = TABLE_ONE) -> TableOne:
    """Return Table 1: each line's mean under the main metrics, the best of each column marked.

    Parameters
    ----------
    scored
        All means.
    metrics
        Columns; those that are not stored are left out, and if none is, the main metric is taken.
    """
    there = tuple(one for one in metrics if one in scored.metrics) or (scored.metric,)
    tables = {metric: scored.of(metric) for metric in there}
    best = {metric: best_printed(tables[metric], metric) for metric in there}
    about = scored.about
    order = sorted(range(len(about)), key=lambda place: about["group"].iloc[place] == "baseline")
    rows = []
    for place in order:
        cells = tuple(
            _made(tables[metric].iloc[place], best[metric], about["group"].iloc[place])
            for metric in there
        )
        rows.append((str(about["name"].iloc[place]), str(about["group"].iloc[place]), cells))
    counts = [int(n) for metric in there for n in tables[metric]["n"].fillna(0)]
    chance = tuple(float(tables[metric]["chance"].mean()) for metric in there)
    chosen = scored.metric if about["chosen"].str.contains("same images").any() else ""
    return TableOne(there, tuple(rows), chance, (min(counts), max(counts)), chosen)


def best_printed(table: pd.DataFrame, metric: str) -> float:
    """Return the best mean among lines that are no baselines, as it is printed."""
    plain = table[table["group"] != "baseline"]["value"].dropna()
    direction = METRICS[metric.partition("@")[0]].direction
    if plain.empty or direction == "neither":
        return math.nan
    return round(float(plain.min() if direction == "lower" else plain.max()), 3)


def _made(row: Any, best: float, group: str) -> Cell:
    value = float(row["value"])
    # What is printed alike is marked alike.
    marked = group != "baseline" and round(value, 3) == best
    return Cell(value, float(row["std"]), float(row["low"]), float(row["high"]), marked)


def _head(metric: str) -> str:
    return _HEADS.get(metric, metric)


def _arrow(metric: str) -> str:
    lower = METRICS[metric.partition("@")[0]].direction == "lower"
    return r"$\downarrow$" if lower else r"$\uparrow$"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _md(text: str) -> str:
    text = _CONTROL.sub(" ", text)
    for sign in "\\|*_<`$[]":
        text = text.replace(sign, f"\\{sign}" if sign != "<" else "&lt;")
    return text


def _cell(cell: Cell) -> str:
    if math.isnan(cell.value):
        return "–"
    spread = "" if math.isnan(cell.std) else f" ± {cell.std:.3f}"
    ends = "" if math.isnan(cell.low) else f" [{number(cell.low)}, {number(cell.high)}]"
    return f"{number(cell.value)}{spread}{ends}"


_TEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", "±": r"$\pm$", "–": "--",
    "−": "$-$", "…": r"\dots{}", "·": r"$\cdot$", "≥": r"$\geq$", "≤": r"$\leq$", "Σ": r"$\Sigma$",
    "“": "``", "”": "''", "→": r"$\rightarrow$",
}  # fmt: skip

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")  # ends of lines among them


def tex(text: str) -> str:
    r"""Return text as LaTeX prints it: no sign of it is a command.

    Examples
    --------
    >>> print(tex("50% of a_b & $c"))
    50\% of a\_b \& \$c
    """
    return "".join(_TEX.get(sign, sign) for sign in _CONTROL.sub(" ", text))


def _tex_number(value: float) -> str:
    return "--" if math.isnan(value) else f"${value:.3f}$"


def _tex_cell(cell: Cell) -> str:
    if math.isnan(cell.value):
        return "--"
    value = rf"\mathbf{{{cell.value:.3f}}}" if cell.best else f"{cell.value:.3f}"
    spread = "" if math.isnan(cell.std) else rf" \pm {cell.std:.3f}"
    ends = "" if math.isnan(cell.low) else rf"\;[{cell.low:.3f}, {cell.high:.3f}]"
    return f"${value}{spread}{ends}$"
