"""What numbers say, in plain words: fixed rules, each a function of a few figures.

A rule returns a `Finding`: a head, a sentence or two, and a tone, which the page shows as a mark.
None of them knows a store; `sightline.report.findings` gives them their figures.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from sightline.core.words import counted
from sightline.metrics import METRICS
from sightline.results import BaselineComparison, format_baseline_comparison

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "LEVEL",
    "Finding",
    "Gap",
    "Score",
    "accuracy_words",
    "best_words",
    "ceiling_words",
    "chance_words",
    "chosen_words",
    "cropped_words",
    "cross_words",
    "faithfulness_words",
    "few_words",
    "interval_words",
    "margin_words",
    "number",
    "others_words",
    "reviewed_words",
    "score_words",
    "sparse_words",
    "undefined_words",
    "unfinished_words",
]

LEVEL = 0.05
"""A p-value up to this counts."""
FEW = 20
"""Fewer images than this are called few."""
Tone = Literal["good", "doubt", "bad", "plain"]


class Finding(NamedTuple):
    """Something that the numbers say.

    Attributes
    ----------
    head
        In a few words.
    text
        Whole sentences.
    tone
        Whether it speaks for the maps ("good"), against them ("bad"), leaves it open ("doubt"), or
        is neither ("plain").
    """

    head: str
    text: str
    tone: Tone = "plain"


class Score(NamedTuple):
    """The mean of a line under a metric, with what it must be read beside."""

    name: str
    value: float
    low: float = math.nan
    high: float = math.nan
    n: int = 0
    undefined: int = 0
    chance: float = math.nan
    ceiling: float = math.nan
    corrected: float = math.nan
    chosen: str = ""


class Gap(NamedTuple):
    """A paired difference of two lines, a − b, over images.

    Attributes
    ----------
    a, b
        The lines.
    difference, low, high
        Its mean and 95% interval.
    p, n
        Of the sign-flip test, and how many images both have a score on.
    halves
        Whether layers were chosen by halves for it.
    """

    a: str
    b: str
    difference: float
    low: float
    high: float
    p: float
    n: int
    halves: bool = False

    def ahead(self, metric: str) -> Literal["ahead", "behind", "open", "few"]:
        """Say whether a is better than b, by the p-value and the sign of the difference."""
        if math.isnan(self.p):
            return "few"
        if self.p > LEVEL:
            return "open"
        return "ahead" if (self.difference > 0) == _higher(metric) else "behind"


def number(value: float, digits: int = 3) -> str:
    """Return a number with three digits; what is not known is a dash.

    Examples
    --------
    >>> number(0.30512), number(-0.0002), number(float("nan"))
    ('0.305', '−0.000', '–')
    """
    if value is None or math.isnan(value):
        return "–"
    text = f"{value:.{digits}f}" if math.isfinite(value) else f"{value}".replace("inf", "∞")
    return text.replace("-", "−")


def interval_words(low: float, high: float) -> str:
    """Return an interval in words.

    Examples
    --------
    >>> interval_words(0.1, 0.25), interval_words(float("nan"), 1)
    ('95% interval 0.100 to 0.250', 'no interval')
    """
    if math.isnan(low) or math.isnan(high):
        return "no interval"
    return f"95% interval {number(low)} to {number(high)}"


def _higher(metric: str) -> bool:
    return METRICS[metric.partition("@")[0]].direction != "lower"


def _side(metric: str) -> tuple[str, str]:
    """Return where better and worse scores lie."""
    return ("above", "below") if _higher(metric) else ("below", "above")


def _p(value: float) -> str:
    return "p < 0.001" if value < 0.001 else f"p = {value:.2g}"


# --- what is best --------------------------------------------------------------------------------


def best_words(
    score: Score, lines: int, comparison: BaselineComparison, others: Sequence[Gap]
) -> Finding:
    """Name the best line, compare it with the best baseline, and count how all lines fare.

    Parameters
    ----------
    score
        Of the best line that is no baseline.
    lines
        How many lines there are that are no baselines.
    comparison
        The best line against the best baseline.
    others
        All lines that are no baselines against it, p-values corrected for their number.

    Examples
    --------
    >>> comparison = BaselineComparison("iou@90", "vit cls", 0.31)
    >>> best_words(Score("vit cls", 0.31, 0.29, 0.33, 120), 3, comparison, []).text
    'Best: vit cls (0.310); the run has no baseline to compare it with. It has the best iou@90 of 3
    lines that are no baselines (95% interval 0.290 to 0.330, 120 images). Being the best of several
    on these images flatters it a little, which the interval does not allow for. Whether the centre
    or the edges of images would do as well is not known.'
    """
    metric = comparison.metric
    figures = f"({interval_words(score.low, score.high)}, {counted(score.n, 'image')})"
    said = [format_baseline_comparison(comparison)]
    if lines == 1:
        said.append(f"It is the only line that is no baseline {figures}.")
    else:
        which = "the best" if _higher(metric) else "the lowest, which is best,"
        said.append(
            f"It has {which} {metric} of {lines} lines that are no baselines {figures}. Being the "
            "best of several on these images flatters it a little, which the interval does not "
            "allow for."
        )
    if not comparison.baseline:
        said.append("Whether the centre or the edges of images would do as well is not known.")
    elif len(others) > 1:
        said.append(_tally(others, comparison.baseline, metric))
    tones: dict[str, Tone] = {"better": "good", "untested": "doubt"}
    return Finding("Best line", " ".join(said), tones.get(comparison.verdict, "bad"))


def _paired(gap: Gap) -> str:
    """Say how two lines were compared."""
    how = f"paired over {counted(gap.n, 'image')}"
    return f"{how}, layers chosen by halves" if gap.halves else how


def margin_words(gap: Gap, metric: str) -> Finding:
    """Say by how much the best line leads the second.

    Examples
    --------
    >>> margin_words(Gap("a", "b", 0.01, -0.01, 0.03, 0.3, 50), "coverage").tone
    'doubt'
    """
    if math.isnan(gap.difference):
        return Finding("Margin", f"It was not compared with the second, {gap.b}: too few images.",
                       "doubt")  # fmt: skip
    more = "higher" if gap.difference >= 0 else "lower"
    size = f"{number(abs(gap.difference))} {more} than that of the second, {gap.b}"
    low, high = (gap.low, gap.high) if gap.difference >= 0 else (-gap.high, -gap.low)
    how = f"{_paired(gap)}, {interval_words(low, high)}"
    found = gap.ahead(metric)
    if found == "few":
        return Finding("Margin", f"Its score is {size} ({how}); that is too few images for a test, "
                       "which needs 6, or the two never differ.", "doubt")  # fmt: skip
    how += f", {_p(gap.p)} by sign-flip test"
    if found != "ahead":
        text = f"Its score is {size} ({how}): who of the two is best, these images cannot tell."
        return Finding("Margin", text, "doubt")
    return Finding("Margin", f"Its score is {size} ({how}).", "good")


# --- against what a map without knowledge gets ---------------------------------------------------


def chance_words(score: Score, metric: str, *, halves: bool = False) -> Finding:
    """Compare the interval of a score with closed-form chance.

    Parameters
    ----------
    score
        Of the line.
    metric
        Its name.
    halves
        Whether the line's layer was chosen by halves for it.

    Examples
    --------
    >>> score = Score("a", 0.3, 0.28, 0.33, 120, chance=0.06)
    >>> chance_words(score, "iou@90").text
    'A constant map scores 0.060 at the same areas: 0.300 is 5.0 times that, and the interval lies
    above it.'
    """
    head = "Beyond chance?"
    if math.isnan(score.chance):
        return Finding(head, f"{metric} has no closed-form chance value: read it beside the "
                       "baselines.")  # fmt: skip
    better, worse = _side(metric)
    said = f"A constant map scores {number(score.chance)} at the same areas"
    times = ""
    if score.chance > 0 and _higher(metric):
        times = f" is {score.value / score.chance:.1f} times that"
    value = f"{number(score.value)}{' (layer chosen by halves)' if halves else ''}"
    reached = value + (times or " was reached")
    if math.isnan(score.low) or math.isnan(score.high):
        return Finding(head, f"{said}: {reached}; without an interval nothing more can be said.",
                       "doubt")  # fmt: skip
    # The leaderboard shows another interval: of the layer that is best on all images.
    ends = f" {number(score.low)} to {number(score.high)}" if halves else ""
    beyond = score.low > score.chance if _higher(metric) else score.high < score.chance
    under = score.high < score.chance if _higher(metric) else score.low > score.chance
    if beyond:
        return Finding(head, f"{said}: {reached}, and the interval{ends} lies {better} it.", "good")
    if under:
        return Finding(head, f"{said}: {reached}, and the interval{ends} lies {worse} it: worse "
                       "than knowing nothing.", "bad")  # fmt: skip
    whose = f"{ends} of {value}" if halves else ""
    return Finding(head, f"{said}, which lies within the interval{whose}: no difference from "
                   "chance is shown.", "doubt")  # fmt: skip


def cross_words(
    metric: str,
    cross: float,
    p: float,
    reason: str = "",
    lines: int = 1,
    *,
    halves: bool = False,
) -> Finding:
    """Compare a line with the maps of other images on the same regions.

    Parameters
    ----------
    metric
        That is compared.
    cross, p
        Mean score of the other images' maps, and the p-value.
    reason
        Why there is none.
    lines
        From how many the line was taken.
    halves
        Whether its layer was chosen by halves for it.

    Examples
    --------
    >>> cross_words("iou@90", 0.16, 0.0001).tone
    'good'
    """
    head = "Beyond other images' maps?"
    if math.isnan(p):
        why = (reason or "too few images").rstrip(".")
        return Finding(head, f"Whether the maps fit their own images could not be tested: {why}.",
                       "doubt")  # fmt: skip
    better, _ = _side(metric)
    said = (
        f"The same method's maps of other images score {number(cross)} on the same regions: so far "
        "goes what all its maps have in common, such as a pull to the centre"
    )
    how = f"{_p(p)}, maps exchanged between images"
    if halves:
        how += ", layer chosen by halves"
    if lines > 1:
        how += f"; that the line is the best of {lines} is not allowed for"
    if p <= LEVEL:
        return Finding(head, f"{said}. Its own maps score {better} that ({how}): they follow their "
                       "images.", "good")  # fmt: skip
    return Finding(head, f"{said}. That its own maps score {better} that is not shown ({how}): "
                   "what they know of single images may be nothing.", "bad")  # fmt: skip


def _tally(others: Sequence[Gap], base: str, metric: str) -> str:
    """Count the lines that are ahead of a baseline, behind it, or neither."""
    kinds = [gap.ahead(metric) for gap in others]
    ahead, behind = kinds.count("ahead"), kinds.count("behind")
    rest = len(kinds) - ahead - behind
    return (
        f"Of all {len(kinds)} lines, {ahead} {'is' if ahead == 1 else 'are'} shown to be better "
        f"than {base}, {behind} to be worse, and {rest} cannot be told apart from it (p corrected "
        "by Holm)."
    )


def others_words(
    main: str, rows: Sequence[tuple[str, Score, int, Gap | None, float]], lines: int
) -> Finding | None:
    """Say how the best line fares under the other main metrics.

    Parameters
    ----------
    main
        The metric by which it is best.
    rows
        For each other metric: its name, the score, the rank among the lines that are no baselines,
        the difference to the best baseline by that metric, and the score of that baseline.
    lines
        How many lines there are that are no baselines.
    """
    if not rows:
        return None
    parts: list[str] = []
    tones: list[Tone] = []
    for metric, score, rank, gap, baseline in rows:
        place = "also the best" if rank == 1 else f"number {rank} of {lines}"
        part = f"by {metric} ({number(score.value)}) it is {place}"
        if gap is not None:
            part += f", {_versus_baseline(gap, metric, baseline)}"
        found = "" if gap is None else gap.ahead(metric)
        tone: Tone = "plain" if rank == 1 else "doubt"
        if found == "ahead":
            tone = "good" if rank == 1 else "doubt"
        elif found:
            tone = "bad" if found == "behind" else "doubt"
        parts.append(part)
        tones.append(tone)
    order: tuple[Tone, ...] = ("bad", "doubt", "plain", "good")
    tone = min(tones, key=order.index)
    text = f"Among the methods it is best by {main}; {'; '.join(parts)}."
    return Finding("By other metrics", text, tone)


def _versus_baseline(gap: Gap, metric: str, baseline: float) -> str:
    """Return how a configuration compares with the best baseline, with the numbers."""
    verdict = {"ahead": "better than", "behind": "worse than"}
    found = verdict.get(gap.ahead(metric), "not shown to be better than")
    p = "too few images for a p-value" if math.isnan(gap.p) else _p(gap.p)
    return (
        f"{found} the baseline {gap.b} ({number(baseline)}; difference {number(gap.difference)}, "
        f"{interval_words(gap.low, gap.high)}, {p}, {_paired(gap)})"
    )


def ceiling_words(score: Score) -> Finding | None:
    """Say how much of what could be reached at these areas was.

    Examples
    --------
    >>> score = Score("a", 0.3, n=9, chance=0.05, ceiling=0.75, corrected=0.36)
    >>> ceiling_words(score).text
    'At these areas no map can score more than 0.750 on average: the best line reaches 40% of that,
    and 36% of the way from chance to it.'
    """
    if math.isnan(score.ceiling) or score.ceiling >= 1 or score.ceiling <= 0:
        return None
    way = "" if math.isnan(score.corrected) else (
        f", and {score.corrected:.0%} of the way from chance to it"
    )  # fmt: skip
    text = (
        f"At these areas no map can score more than {number(score.ceiling)} on average: the best "
        f"line reaches {score.value / score.ceiling:.0%} of that{way}."
    )
    return Finding("Share of the ceiling", text.replace("-", "−") if score.corrected < 0 else text)


# --- limits --------------------------------------------------------------------------------------


def chosen_words(score: Score, split: float) -> Finding | None:
    """Say that a choice on the same images flatters, and what a choice by halves gives."""
    if "same images" not in score.chosen:
        return None
    text = f"The layer of {score.name} is the {score.chosen}, which flatters it."
    if not math.isnan(split):
        same = number(split) == number(score.value)
        instead = ", too" if same else f" in place of {number(score.value)}"
        text += " Chosen for each half of the images on the other half, it scores "
        text += f"{number(split)}{instead}."
    text += " The same holds for every line whose layer was chosen so; they are marked with *. The "
    text += "summary's comparisons of lines choose layers by halves; tables and figures do not."
    return Finding("Best-of selection", text, "doubt")


def undefined_words(counts: Mapping[str, int]) -> Finding | None:
    """Say how many scores are undefined, by metric.

    Examples
    --------
    >>> undefined_words({"coverage": 1, "iou@90": 0}).text
    'Left out of the means, and counted beside them: coverage 1 score. A map without energy, or an
    image without a region that could be seen, has none.'
    """
    some = [f"{name} {counted(count, 'score')}" for name, count in counts.items() if count]
    if not some:
        return None
    text = f"Left out of the means, and counted beside them: {', '.join(some)}. A map without "
    text += "energy, or an image without a region that could be seen, has none."
    return Finding("Undefined scores", text, "doubt")


def cropped_words(images: int, total: int, lowest: float) -> Finding | None:
    """Say on how many images a model saw only a part of the regions."""
    if not images:
        return None
    text = (
        f"On {counted(images, 'image')} of {total:,} some model saw only a part of the annotated "
        f"area, at the least {lowest:.0%} of it, as its input is cut out of the image. What it "
        "could not see is not counted against it: models with different cuts are scored on "
        "different regions."
    )
    return Finding("Cropped regions", text, "doubt")


def sparse_words(labelling: str, known: int, unlabelled: int) -> Finding | None:
    """Warn where not every instance is labelled.

    Parameters
    ----------
    labelling
        How the data set is labelled: "exhaustive", "representative", "salient", or "" where that
        is not known.
    known, unlabelled
        Instances that are labelled, and those known not to be.
    """
    if labelling == "exhaustive":
        return None
    where = (
        "`sightline sparsity` shows how far scores could move, and tests each difference between "
        "models with labels left out."
    )
    if labelling in ("representative", "salient") or unlabelled:
        share = f" ({known:,} of {known + unlabelled:,} regions)" if unlabelled else ""
        which = {
            "representative": "Of parts that occur several times only one of each kind is labelled",
            "salient": "Of parts that occur several times only the most salient one of each kind "
            "is labelled",
        }.get(labelling, "Not every region is labelled")
        text = (
            f"{which}{share}: a map that finds the others too is scored as if these were mistakes. "
            f"Scores are likely too low, by an unknown amount, and comparisons may be off. {where}"
        )
        return Finding("Sparse labels", text, "bad")
    text = (
        "Whether every instance of a part is labelled is not known of these data. If not, scores "
    )
    return Finding("Labels may be missing", f"{text}are likely too low. {where}", "doubt")


def reviewed_words(facts: Mapping[str, Any]) -> Finding:
    """Say where labels come from that are of a review, and what speaks against scores by them.

    Examples
    --------
    >>> facts = {"which": "completed", "unfinished": 2, "shared": [["demo/vit@a", "demo/vit"]]}
    >>> facts["decisions"] = {"accepted": 9, "edited": 1, "rejected": 3, "drawn": 4}
    >>> reviewed_words(facts).text
    'People decided on what a machine proposed (9 accepted, of them 1 edited; 3 rejected), and drew
    4 more. 2 proposals are not decided, and left out as if they were wrong. demo/vit@a shares
    weights with demo/vit, which proposed regions: its scores are circular.'
    """
    if facts["which"] == "gold":
        text = "People annotated these images from scratch, without a machine's help."
        if not facts["gold"]["random"]:
            text += " The images were picked by hand: scores need not hold for others."
        return Finding("Gold labels", text, "plain" if facts["gold"]["random"] else "bad")
    counts, left = facts["decisions"], facts["unfinished"]
    text = f"People decided on what a machine proposed ({counts['accepted']:,} accepted, of them "
    text += f"{counts['edited']:,} edited; {counts['rejected']:,} rejected), and drew "
    text += f"{counts['drawn']:,} more."
    if left:
        are = "proposal is" if left == 1 else "proposals are"
        text += f" {left:,} {are} not decided, and left out as if they were wrong."
    for model, other in facts["shared"]:
        text += f" {model} shares weights with {other}, which proposed regions: its scores are "
        text += "circular."
    return Finding("Completed labels", text, "bad" if facts["shared"] else "doubt")


def accuracy_words(
    models: Sequence[tuple[str, int, int]], unknown: Sequence[str], note: str = ""
) -> Finding | None:
    """Say how often the classifiers are right.

    Parameters
    ----------
    models
        Name, images on which the model is right, and images.
    unknown
        Models that have no classes, or could not be asked.
    note
        What else there is to say of the predictions, as models that could not be loaded.
    """
    if not models:
        return None
    parts = [f"{name} on {right:,} of {counted(total, 'image')}" for name, right, total in models]
    wrong = min(total - right for _, right, total in models)
    text = f"The models are right: {', '.join(parts)}."
    if wrong < FEW:
        text += " Where few predictions are wrong, little can be said about maps of wrong ones."
    if unknown:
        text += f" Not known of {', '.join(unknown)}: no classes that match the labels, or not "
        text += "asked."
    if note:
        text += f" {note[0].upper()}{note[1:].rstrip('.')}."
    return Finding("Accuracy of the models", text)


def score_words(row: Mapping[Any, Any]) -> str:
    """Return the score of a map on an image, with chance where it is known.

    Examples
    --------
    >>> score_words({"metric": "iou@90", "value": 0.25, "chance": 0.05})
    'iou@90 0.25 (chance 0.05)'
    >>> score_words({"metric": "iou@90", "value": math.nan, "chance": 0.05})
    'iou@90 undefined'
    """
    value, chance = row["value"], row["chance"]
    if math.isnan(value):
        return f"{row['metric']} undefined"
    beside = f" (chance {chance:.2f})" if chance is not None and not math.isnan(chance) else ""
    return f"{row['metric']} {value:.2f}{beside}"


def few_words(images: int) -> Finding | None:
    """Warn where there are few images."""
    if images >= FEW:
        return None
    text = f"{counted(images, 'image').capitalize()} can show how a report looks, not how good a "
    return Finding("Few images", f"{text}method is: intervals are wide, and tests have little "
                   "power.", "bad")  # fmt: skip


def unfinished_words(done: int, total: int) -> Finding | None:
    """Say that a study is not finished.

    Examples
    --------
    >>> unfinished_words(3, 9).text
    '3 of 9 tasks are stored: all figures are about these.'
    """
    if done >= total:
        return None
    return Finding("Not finished", f"{done:,} of {total:,} tasks are stored: all figures are about "
                   "these.", "bad")  # fmt: skip


def faithfulness_words(*, checked: bool) -> Finding:
    """Say what scores against annotations do not show."""
    text = (
        "All scores measure plausibility: agreement with what people marked. They do not show "
        "that a map says what the model uses (faithfulness). "
    )
    text += (
        "See the section on sanity checks for that."
        if checked
        else "Whether maps change when the model's weights are made random (sanity checks) was not "
        "tested: the study ran no check of randomisation."
    )
    return Finding("Plausible is not faithful", text, "plain" if checked else "doubt")
