"""What a report says of checks: verdicts, faithfulness and parts, as tables and words."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

from sightline.core import SightlineError
from sightline.core.words import counted
from sightline.report._figures_checks import get_layer, named_lines, stored_checks
from sightline.report.failures import read_failures
from sightline.report.page import (
    Cell,
    Head,
    figure_cell,
    findings_html,
    spanned,
    table_html,
    whole_cell,
)
from sightline.report.words import Finding, interval_words, number
from sightline.results.checked_layers import find_unchecked, format_layer_advice

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pandas as pd

    from sightline.report.figures import StoreFigures
    from sightline.report.scores import Scored

    Row = Mapping[Any, Any]

__all__ = [
    "Checked",
    "faithfulness_html",
    "missing_html",
    "parts_html",
    "read_checks",
    "sanity_html",
    "sanity_words",
]

BLIND = ("random", "smooth_random", "centre", "edge", "uniform")
"""Methods whose maps do not depend on the model: the check must find that out."""
_FEW = 5

NOT_FAITHFUL = (
    "A pass says that maps depend on what was learnt, not that they show what the model uses; a "
    "fail, that more of a map is there without training than two images share, or most of it. "
    "Neither ranks "
    "methods: from the top down, what lower layers see is still there, so that a faithful map may "
    "stay alike, and noise lowers any similarity, so that noisy maps pass most easily (Binder et "
    "al. 2023)."
)


@dataclass(frozen=True)
class Checked:
    """The tables of a store's checks; None where it has none.

    Attributes
    ----------
    sanity
        Verdicts, as `sanity_table` gives them, with the names of lines.
    faithfulness, parts
        As `faithfulness_table` and `parts_table` give them, with the names of lines.
    worst, reasons
        The worst images of the best line, and what they have in common.
    missing
        Why a table that was asked for is not there.
    """

    sanity: pd.DataFrame | None = None
    faithfulness: pd.DataFrame | None = None
    parts: pd.DataFrame | None = None
    worst: pd.DataFrame | None = None
    reasons: pd.DataFrame | None = None
    missing: dict[str, str] = field(default_factory=dict)

    def files(self) -> dict[str, pd.DataFrame]:
        """Return the tables as files by name."""
        names = {
            "sanity_results.csv": self.sanity,
            "faithfulness_results.csv": self.faithfulness,
            "parts_results.csv": self.parts,
            "worst_images.csv": self.worst,
            "failure_reasons.csv": self.reasons,
        }
        return {name: table for name, table in names.items() if table is not None}

    @property
    def tested(self) -> bool:
        """Whether weights were made random, so that the report has a section about it."""
        return self.sanity is not None or "randomisation" in self.missing

    def verdict(
        self, model: str, method: str, target: str, layer: int | None = None
    ) -> dict[Any, Any] | None:
        """Return the row of a line in the table of verdicts: of its layer, if that was checked."""
        if self.sanity is None:
            return None
        same = (self.sanity["model"] == model) & (self.sanity["method"] == method)
        found = self.sanity[same & (self.sanity["target"] == target)].to_dict("records")
        same_layer = (row for row in found if get_layer(row) == layer)
        return next(same_layer, next(iter(found), None))


def read_checks(figures: StoreFigures, scored: Scored) -> Checked:
    """Read the checks of a store, as far as it has them.

    Parameters
    ----------
    figures
        Of the store.
    scored
        The means of its lines: failures are those of the best.
    """
    from sightline.report._figures_checks import _verdicts
    from sightline.results.faithfulness import faithfulness_table, parts_table

    stored, missing = stored_checks(figures), dict[str, str]()

    def read(check: str, key: str, make: Callable[[], pd.DataFrame]) -> pd.DataFrame | None:
        if check not in stored:
            return None
        try:
            return named_lines(figures, figures.kept(key, make))
        except SightlineError as error:
            missing[check] = str(error)
            return None

    results = figures.results
    sanity = read("randomisation", "sanity", lambda: _verdicts(figures))
    faith = read("faithfulness", "faithfulness", lambda: faithfulness_table(results))
    parts = read("parts", "parts", lambda: parts_table(results))
    worst, reasons = read_failures(figures, scored, missing)
    return Checked(sanity, faith, parts, worst, reasons, missing)


# --- sanity --------------------------------------------------------------------------------------


def sanity_words(name: str, row: Row) -> Finding:
    """Say whether the maps of a line depend on what its model learnt.

    Parameters
    ----------
    name
        What the line is called.
    row
        Of the table of verdicts.

    Examples
    --------
    >>> row = {"similarity": 0.2, "low": 0.1, "high": 0.3, "cross": 0.25, "verdict": "pass",
    ...        "difference": -0.05, "difference_low": -0.1, "difference_high": 0.02, "images": 32,
    ...        "seeds": 5}
    >>> sanity_words("vit cls", row).text
    'With random weights, maps of vit cls are at most 0.1 more like the trained ones (ρ 0.200, 95%
    interval 0.100 to 0.300) than maps of other images are (0.250): they depend on what the model
    learnt (32 images, 5 draws). That does not show that they are faithful.'
    """
    head = "About the model?"
    rho = f"ρ {number(row['similarity'])}, {interval_words(row['low'], row['high'])}"
    size = f"{counted(int(row['images']), 'image')}, {counted(int(row['seeds']), 'draw')}"
    cross = number(row["cross"])
    if row["verdict"] == "pass":
        text = (
            f"With random weights, maps of {name} are at most 0.1 more like the trained ones "
            f"({rho}) than maps of other images are ({cross}): they depend on what the model "
            f"learnt ({size}). That does not show that they are faithful."
        )
        return Finding(head, text, "good")
    gap = f"{number(row['difference'])}, "
    gap += interval_words(row["difference_low"], row["difference_high"])
    if row["verdict"] == "fail":
        text = (
            f"With random weights, maps of {name} stay like the trained ones ({rho}; maps of other "
            f"images {cross}; difference {gap}; {size}): what they show is there without training."
        )
        return Finding(head, text, "bad")
    text = (
        f"Whether maps of {name} depend on what the model learnt cannot be told: how like the "
        f"trained ones they are with random weights ({rho}; maps of other images {cross}; "
        f"difference {gap}; {size}) leaves both open."
    )
    return Finding(head, text, "doubt")


def sanity_html(table: pd.DataFrame) -> str:
    """Return the verdicts as words and a table, and what does not follow from them."""
    counts = table["verdict"].value_counts()
    parts = [f"{int(counts.get(one, 0))} {word}" for one, word in _VERDICTS.items()]
    lead = (
        f"<p>All weights were drawn anew, {_spread(table['seeds'], 'time')} each, and maps of the "
        f"same images compared with those before. Of {counted(len(table), 'line')}, "
        f"{', '.join(parts)}.{_blind_words(table)}{_few_words(table)}</p>"
    )
    warning = f'<div class="note"><p>{escape(NOT_FAITHFUL)}</p></div>'
    return f"{lead}{_format_layer_note(table)}{_sanity_table(table)}{warning}"


def _format_layer_note(table: pd.DataFrame) -> str:
    """Return which maps are not checked on the layer that the leaderboard reports."""
    unchecked = find_unchecked(table)
    sentences = [
        f"{name}: checked on {layers}; the leaderboard's best layer is {best}."
        for name, layers, best in unchecked
    ]
    if not sentences:
        return ""
    advice = f"{format_layer_advice(best for _, _, best in unchecked)}."
    return f'<div class="note"><p>{escape(" ".join([*sentences, advice]))}</p></div>'


_VERDICTS = {"pass": "pass", "fail": "fail", "cannot tell": "cannot be told"}


def _spread(values: pd.Series[Any], what: str) -> str:
    known = [int(one) for one in values.dropna()]
    if not known:
        return f"an unknown number of {what}s"
    low, high = min(known), max(known)
    return counted(high, what) if low == high else f"{low} to {counted(high, what)}"


def _few_words(table: pd.DataFrame) -> str:
    """Say where draws are too few to tell much."""
    few = bool((table["seeds"] < _FEW).any())
    return f" Fewer than {_FEW} draws tell little: intervals are wide." if few else ""


def _blind_words(table: pd.DataFrame) -> str:
    """Say how the check fares on maps that know nothing of the model."""
    blind = table[table["method"].isin(BLIND)]
    if blind.empty:
        return ""
    caught = int((blind["verdict"] == "fail").sum())
    names = ", ".join(dict.fromkeys(escape(str(one)) for one in blind["method"]))
    return (
        f" Maps that know nothing of the model must not pass: of {names}, {caught} of {len(blind)} "
        "fail."
    )


def _sanity_table(table: pd.DataFrame) -> str:
    cascade = bool((table["cascade"].fillna("") != "").any())
    beside = [(one, head) for one, head in (("edge", "Edges"), ("training", "Trained anew"))
              if table[one].notna().any()]  # fmt: skip
    heads = [
        Head("Line", number=False), Head("Our verdict", number=False), Head("Similarity ρ"),
        Head("Other images"), Head("Difference"), Head("The guide's rule", number=False),
        *([Head("Its rule for the cascade", number=False)] if cascade else []),
        *(Head(head) for _, head in beside), Head("Images × draws", number=False),
    ]  # fmt: skip
    rows = []
    for row in table.to_dict("records"):
        cells = [
            Cell(str(row["name"])), Cell(str(row["verdict"]), strong=row["verdict"] == "fail"),
            spanned(row, "similarity", "low", "high"), figure_cell(row["cross"]),
            spanned(row, "difference", "difference_low", "difference_high"),
            Cell(str(row["guide"]) or "–"),
            *([Cell(str(row["cascade"]) or "–")] if cascade else []),
            *(figure_cell(row[one]) for one, _ in beside),
            Cell(f"{whole_cell(row['images']).text} × {whole_cell(row['seeds']).text}"),
        ]  # fmt: skip
        rows.append(("base" if row["method"] in BLIND else "", cells))
    caption = (
        "Spearman's ρ between the map of the trained model and the map after all its weights were "
        "drawn anew; other images: between the trained model's maps of two images. In brackets 95% "
        "intervals over images and draws. Ours: fail where the lower end of the difference is "
        "above 0.1 or that of ρ above 0.6; pass where the upper end of the difference is below "
        "0.1. The guide's rule: below 0.3 reliable, above 0.6 unreliable, which knows neither "
        "intervals nor how alike maps of two images are."
    )
    return table_html(heads, rows, label="Verdicts of the sanity check", caption=caption)


# --- faithfulness --------------------------------------------------------------------------------

_MEASURES = {
    "deletion": "Deletion",
    "insertion": "Insertion",
    "road_morf": "ROAD, highest first",
    "road_lerf": "ROAD, lowest first",
    "pixel_flipping": "Pixel flipping",
    "infidelity": "Infidelity",
    "max_sensitivity": "Max-sensitivity",
    "faithfulness_correlation": "Faithfulness correlation",
    "completeness": "Completeness",
    "random_logit": "Random logit",
}
_ARROWS = {"higher": "↑", "lower": "↓", "zero": "→ 0"}


def faithfulness_html(table: pd.DataFrame) -> str:
    """Return how maps fare when pixels go, as a table for each model."""
    lead = (
        "<p>Pixels are taken away, put back or disturbed in the order in which a map ranks them, "
        "and the score of the class that it explains is watched. What is compared is the line with "
        "the random map of the same model: <b>bold</b> where the 95% interval of the difference, "
        "image by image, lies on the better side of 0.</p>"
    )
    warning = (
        '<div class="note"><p>Measures disagree with each other, and none is the truth: pixels '
        "that are taken away make images that no model has seen, and the shape of what is gone "
        "moves the score as well. Scores of different models cannot be compared. Intervals are "
        "not corrected for the number of comparisons.</p></div>"
    )
    tables = "\n".join(
        _faithfulness_table(str(model), rows) for model, rows in table.groupby("model", sort=False)
    )
    return f"{lead}{_format_layer_note(table)}{tables}{warning}"


def _faithfulness_table(model: str, table: pd.DataFrame) -> str:
    better = dict(zip(table["measure"], table["better"], strict=True))
    known = [one for one in better if table.loc[table["measure"] == one, "value"].notna().any()]
    heads = [Head("Line", number=False)]
    heads += [Head(f"{_MEASURES.get(one, one)} {_ARROWS[better[one]]}") for one in known]
    rows = []
    for name, own in table.groupby("name", sort=False):
        by_measure = {row["measure"]: row for row in own.to_dict("records")}
        cells = [_measure_cell(by_measure.get(one)) for one in known]
        base = own["group"].iloc[0] == "baseline"
        rows.append(("base" if base else "", [Cell(str(name)), *cells]))
    images = _spread(table["images"][table["value"].notna()], "image")
    caption = (
        f"{images}; means with 95% intervals in brackets. ↓: lower is better, ↑: higher, → 0: "
        "nearer to 0. –: not defined, as completeness of methods that do not promise it."
    )
    label = f"Faithfulness of maps of {model}"
    return table_html(heads, rows, label=label, caption=caption, kind="sortable wide")


def _measure_cell(row: Row | None) -> Cell:
    if row is None:
        return Cell("–")
    return spanned(row, "value", "low", "high")._replace(strong=better_than_random(row))


def better_than_random(row: Row) -> bool:
    """Say whether a line is shown to be better than the random map.

    Examples
    --------
    >>> row = {"better": "lower", "difference_low": -0.3, "difference_high": -0.1}
    >>> better_than_random(row), better_than_random({**row, "better": "higher"})
    (True, False)
    """
    low, high = float(row["difference_low"]), float(row["difference_high"])
    return high < 0 if row["better"] in ("lower", "zero") else low > 0


def parts_html(table: pd.DataFrame) -> str:
    """Return how maps rank the parts that decide."""
    heads = [Head("Line", number=False), Head("Precision ↑"), Head("Recall ↑"),
             Head("Average precision ↑"), Head("Chance"), Head("Images")]  # fmt: skip
    rows = []
    for row in table.sort_values("ap", ascending=False, kind="stable").to_dict("records"):
        cells = [spanned(row, one, f"{one}_low", f"{one}_high") for one in _PARTS]
        named = [Cell(str(row["name"])), *cells, whole_cell(row["images"])]
        rows.append(("base" if row["group"] == "baseline" else "", named))
    caption = (
        "Facades are drawn part by part, and each type of part votes for a style: those decide "
        "without which the style loses a vote, by the rules of the drawing. Precision: share of "
        "deciding types among the three that a map ranks first, or as many as decide; recall: the "
        "same among as many as decide. Chance: the share of all types that decide. Images whose "
        "style the model misses are left out. Means over images with 95% intervals in brackets. "
        "Whether the network uses all that decides, or does so on other data, is not said."
    )
    made = table_html(heads, rows, label="Parts that decide", caption=caption)
    return f"{_format_layer_note(table)}{made}"


_PARTS = ("precision", "recall", "ap", "base")


def missing_html(missing: Mapping[str, str]) -> str:
    """Return why tables are not there."""
    said = [Finding(f"No table of {name}", why, "doubt") for name, why in missing.items()]
    return findings_html(said) if said else ""
