"""What a store's numbers say: the rules of `words` applied, and the guide's rules beside ours."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from sightline.core import SightlineError
from sightline.core.words import counted
from sightline.report import words
from sightline.report._figures_checks import get_layer
from sightline.report.checks import Checked, sanity_words
from sightline.report.words import Finding, Gap, Score, interval_words, number
from sightline.results import BaselineComparison
from sightline.results.leaderboard import GRIDS, has_mixed_grids

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd

    from sightline.report.scores import Scored
    from sightline.results import Results

    Progress = Callable[[int, int, str], object]

__all__ = ["Findings", "GuideRule", "find", "guide_rules"]

_MAIN = ("coverage", "average_precision", "iou@90")
_HALVES = 2  # images below which layers cannot be chosen by halves


@dataclass(frozen=True)
class Findings:
    """What a report says in words.

    Attributes
    ----------
    summary
        What is best, by how much, beyond what.
    limits
        What must be known before the numbers are used.
    best
        The name of the best line that is no baseline.
    baseline
        The name of the best baseline.
    """

    summary: tuple[Finding, ...]
    limits: tuple[Finding, ...]
    best: str | None
    baseline: str | None


def find(
    results: Results,
    scored: Scored,
    predictions: pd.DataFrame | None = None,
    checked: Checked | None = None,
    *,
    progress: Progress | None = None,
) -> Findings:
    """Apply all rules to a store.

    Parameters
    ----------
    results, scored
        The store, and the means of its lines.
    predictions
        What classifiers predict, as `StoreFigures.predictions` gives it.
    checked
        What checks of maps found, as `read_checks` gives it.
    progress
        Told how much is done, of how much, and of what.
    """
    bases = scored.names(baselines=True)
    base = bases[0] if bases else None
    best = scored.best
    said: list[Finding | None] = []
    if best is not None:
        said += _of_best(results, scored, best, base, progress)
        said.append(_of_weights(scored, best, checked))
    else:
        why = "All lines with a score are baselines." if bases else "No score is defined."
        said.append(Finding("No line to rank", why, "doubt"))
    tested = checked is not None and checked.tested
    limits = _limits(results, scored, predictions, checked=tested)
    return Findings(
        tuple(one for one in said if one), tuple(one for one in limits if one), best, base
    )


def _verdict_row(scored: Scored, name: str, checked: Checked | None) -> dict[Any, Any] | None:
    line = _line(scored, name)
    found = checked or Checked()
    return found.verdict(line["model"], line["method"], line["target"], line["layer"])


def _of_weights(scored: Scored, best: str, checked: Checked | None) -> Finding | None:
    """Say whether the best line's maps depend on what the model learnt, where that was tested."""
    row = _verdict_row(scored, best, checked)
    if row is None:
        return None
    mine, layer = _line(scored, best)["layer"], get_layer(row)
    found = sanity_words(best if layer is None else f"{best} layer {layer}", row)
    if layer is not None and mine is not None and layer != mine:
        found = found._replace(
            text=f"{found.text} Tested on maps of layer {layer}; its scores are of layer {mine}."
        )
    return found


def score_of(scored: Scored, name: str, metric: str | None = None) -> Score:
    """Return the figures of a line as rules take them."""
    row = scored.row(name, metric)
    value, low, high, chance, ceiling, corrected = (
        float(row[key]) for key in ("value", "low", "high", "chance", "ceiling", "corrected")
    )
    n, undefined = int(row["n"]), int(row["undefined"])
    chosen = str(row["chosen"])
    return Score(name, value, low, high, n, undefined, chance, ceiling, corrected, chosen)


def gaps(
    scored: Scored, pairs: Sequence[tuple[str, str]], metric: str | None = None, p: str = "p"
) -> list[Gap]:
    """Return paired differences as rules take them, chosen layers chosen by halves."""
    if not pairs:
        return []
    rows = scored.compare(pairs, metric).to_dict("records")
    halves = scored.halves is not None
    return [
        Gap(row["a"], row["b"], row["difference"], row["low"], row["high"], row[p], int(row["n"]),
            halves)
        for row in rows
    ]  # fmt: skip


def _of_best(
    results: Results, scored: Scored, best: str, base: str | None, progress: Progress | None
) -> list[Finding | None]:
    metric = scored.metric
    names = scored.names(baselines=False)
    score = score_of(scored, best)
    compared, others = results.compare_best(metric), []
    if base is None or compared is None:
        compared = BaselineComparison(metric, value=score.value, chosen=score.chosen)
    else:
        compared = replace(compared, baseline=_add_layer(scored, base))
        others = gaps(scored, [(name, base) for name in names], p="p_holm")
    compared = replace(compared, configuration=_add_layer(scored, best))
    said: list[Finding | None] = [words.best_words(score, len(names), compared, others)]
    if len(names) > 1:
        said.append(words.margin_words(gaps(scored, [(best, names[1])])[0], metric))
    halves = scored.by_halves(best) if "same images" in score.chosen else None
    fair = score
    if halves is not None and math.isnan(halves["value"]):  # too few images for halves
        halves = None
    if halves is not None:
        fair = score._replace(value=halves["value"], low=halves["low"], high=halves["high"])
    said.append(words.chance_words(fair, metric, halves=halves is not None))
    said.append(_cross(results, scored, score, len(names), progress))
    if len(names) > 1 or base is not None:
        said.append(words.others_words(metric, _elsewhere(scored, best), len(names)))
    said.append(words.ceiling_words(score))
    return said


def _cross(
    results: Results, scored: Scored, score: Score, lines: int, progress: Progress | None
) -> Finding:
    """Test the best line against the maps of other images; this reads its maps."""
    from sightline.results import against_chance

    line = _line(scored, score.name)
    layer: Any = line["layer"]
    if "same images" in score.chosen:
        layer = "split"
        if score.n < _HALVES:
            few = f"layers cannot be chosen by halves with {counted(score.n, 'image')}"
            return words.cross_words(scored.metric, math.nan, math.nan, few)
    try:
        frame = against_chance(
            results, scored.metric, model=line["model"], method=line["method"],
            target=line["target"] or None, layer="best" if layer is None else layer,
            progress=progress,
        )  # fmt: skip
    except (SightlineError, OSError) as error:
        return words.cross_words(scored.metric, math.nan, math.nan, str(error))
    row = frame.iloc[0]
    return words.cross_words(
        scored.metric, float(row["cross"]), float(row["p"]), str(row["reason"]), lines,
        halves=layer == "split",
    )  # fmt: skip


def _line(scored: Scored, name: str) -> dict[str, Any]:
    """Return the words that choose a line's maps."""
    place = list(scored.about["name"]).index(name)
    line = scored.lines.lines[place]
    return {key: getattr(line, key) for key in ("model", "method", "target", "layer")}


def _add_layer(scored: Scored, name: str) -> str:
    """Return the name of a line with its layer, if its maps have layers."""
    layer = _line(scored, name)["layer"]
    return name if layer is None or f"layer {layer}" in name else f"{name} · layer {layer}"


def _elsewhere(scored: Scored, best: str) -> list[tuple[str, Score, int, Gap | None, float]]:
    """Return the best line's figures under the other main metrics."""
    found = []
    for metric in _MAIN:
        if metric == scored.metric or metric not in scored.metrics:
            continue
        rows = scored.of(metric).dropna(subset="value")
        plain = rows[rows["group"] != "baseline"].sort_values("value", ascending=False)
        if best not in set(plain["name"]):
            continue
        mine = plain.loc[plain["name"] == best, "value"].iloc[0]
        rank = 1 + int((plain["value"] > mine).sum())
        grey = rows[rows["group"] == "baseline"].sort_values("value", ascending=False)
        gap = gaps(scored, [(best, grey["name"].iloc[0])], metric)[0] if len(grey) else None
        baseline = float(grey["value"].iloc[0]) if len(grey) else math.nan
        found.append((metric, score_of(scored, best, metric), rank, gap, baseline))
    return found


# --- limits --------------------------------------------------------------------------------------


def _limits(
    results: Results, scored: Scored, predictions: pd.DataFrame | None, *, checked: bool
) -> list[Finding | None]:
    undefined = scored.table.groupby("metric", sort=False)["undefined"].sum()
    counts = {str(name): int(count) for name, count in undefined.items()}
    done, total = results.progress
    images = int(results.manifest["data"]["images"])
    return [
        words.unfinished_words(done, total),
        words.few_words(images),
        words.faithfulness_words(checked=checked),
        _sparse(results),
        _chosen(scored),
        words.undefined_words(counts),
        _cropped(results, images),
        _grids(results),
        _left_out(results),
        _accuracy(results, predictions),
    ]


def _sparse(results: Results) -> Finding | None:
    """Look how the data are labelled."""
    if (facts := results.manifest["data"].get("review")) is not None:
        return words.reviewed_words(facts)
    data = results.study["data"]
    usual = "exhaustive" if data["name"] in ("facades", "photos") else ""
    labelling = str(data.get("labelling") or usual)
    sql = "SELECT dropped, count(*) AS n FROM regions GROUP BY dropped"
    found = results.query(sql)
    counts = {str(key): int(n) for key, n in zip(found["dropped"], found["n"], strict=True)}
    return words.sparse_words(labelling, counts.get("", 0), counts.get("unlabelled", 0))


def _chosen(scored: Scored) -> Finding | None:
    """Score the best line once more, its layer chosen by halves."""
    if scored.best is None:
        return None
    halves = scored.by_halves(scored.best)
    split = math.nan if halves is None else halves["value"]
    return words.chosen_words(score_of(scored, scored.best), split)


def _cropped(results: Results, images: int) -> Finding | None:
    sql = """SELECT count(DISTINCT image) AS n, min(visible_fraction) AS lowest FROM scores
        WHERE visible_fraction < 0.9999"""
    found = results.query(sql).iloc[0]
    lowest = 0.0 if found["n"] == 0 else float(found["lowest"])
    return words.cropped_words(int(found["n"]), images, lowest)


def _grids(results: Results) -> Finding | None:
    """Look whether the same regions were drawn on grids of different sizes."""
    if not has_mixed_grids(results._tables):
        return None
    return Finding("Grids of different sizes", f"{GRIDS[0].upper()}{GRIDS[1:]}.", "bad")


def _left_out(results: Results) -> Finding | None:
    """Name what does not fit, and images that could not be used."""
    manifest = results.manifest
    parts = []
    if gone := manifest.get("skipped") or []:
        parts.append(f"{counted(len(gone), 'image')} could not be used")
    pairs: dict[str, list[str]] = {}
    for one in manifest.get("left_out") or []:
        pairs.setdefault(f"{one['model']} ({one['why']})", []).append(one["method"])
    parts += [f"{', '.join(methods)} for {model}" for model, methods in pairs.items()]
    if not parts:
        return None
    return Finding("Left out", f"{'; '.join(parts)}: not in any table.")


def _accuracy(results: Results, predictions: pd.DataFrame | None) -> Finding | None:
    if predictions is None:
        return None
    known = predictions.dropna(subset="correct")
    counts = [
        (str(model), int(rows["correct"].astype(bool).sum()), len(rows))
        for model, rows in known.groupby("model", sort=False)
    ]
    asked = {name for name, _, _ in counts}
    unknown = [name for name in results.models if name and name not in asked]
    return words.accuracy_words(counts, unknown, str(predictions.attrs.get("note", "")))


# --- the guide's rules beside ours ---------------------------------------------------------------


class GuideRule(NamedTuple):
    """One of the guide's rules beside ours.

    Attributes
    ----------
    what
        That is judged.
    rule
        The guide's, in its words.
    value
        The figure of the line that is judged, with its interval.
    guide
        What the guide's rule makes of it.
    baseline
        What the guide's rule makes of the best baseline.
    ours
        What ours makes of it.
    why
        They differ, or agree.
    """

    what: str
    rule: str
    value: str
    guide: str
    baseline: str
    ours: str
    why: str


class _Bounds(NamedTuple):
    good: float
    bad: float
    rule: str
    why: str


_RULES = {
    "coverage": _Bounds(
        0.5, 0.3, "good above 0.5, a red flag below 0.3",
        "Chance is the annotated share of the image: 0.3 is much where 10% is annotated, and less "
        "than chance where 40% is. Small parts hardly ever take half of a smooth map's energy.",
    ),
    "iou@90": _Bounds(
        0.3, -math.inf, "good above 0.3",
        "Chance and ceiling follow from the areas: the top 10% of pixels cannot overlap well with "
        "an annotation that covers 3% or 60% of the image.",
    ),
    "average_precision": _Bounds(
        0.7, -math.inf, "good above 0.7, a red flag when about chance",
        "Chance is the annotated share (not 0.1 to 0.3 by itself): 0.7 is far from it on small "
        "parts, near it on large ones, and unlabelled instances pull every precision down. The "
        "guide's own red flag asks for chance as ours does.",
    ),
    "auc_roc": _Bounds(
        0.8, -math.inf, "good above 0.8",
        "Chance is 0.5 everywhere, but a pull to the centre alone goes far: the baselines say how "
        "far.",
    ),
}  # fmt: skip


def guide_rules(
    scored: Scored, correctness: pd.DataFrame | None = None, checked: Checked | None = None
) -> tuple[str, list[GuideRule]]:
    """Judge the best line by the guide's rules and by ours.

    Parameters
    ----------
    scored
        The scores of the study.
    correctness
        As `analysis.correct_and_wrong` returns it; None where it is not known which predictions
        are right.
    checked
        The checks of the study.

    Returns
    -------
    tuple
        The line that is judged, and a rule each.
    """
    name = scored.best or next(iter(scored.about["name"]))
    rules = []
    for metric, bounds in _RULES.items():
        if metric in scored.metrics:
            rules.append(_bound_rule(scored, name, metric, bounds))
    row = _verdict_row(scored, name, checked)
    rules.append(_sanity_rule(row, _line(scored, name)["layer"]))
    rules.append(_correct_rule(scored, correctness))
    return name, rules


def judge(value: float, good: float, bad: float) -> str:
    """Return the guide's verdict on a figure.

    Examples
    --------
    >>> judge(0.51, 0.5, 0.3), judge(0.5, 0.5, 0.3), judge(0.29, 0.5, 0.3)
    ('good', 'neither good nor a red flag', 'red flag')
    """
    if math.isnan(value):
        return "undefined"
    if value > good:
        return "good"
    if value < bad:
        return "red flag"
    return "neither good nor a red flag" if bad > -math.inf else "not good"


def _verdict(score: Score, metric: str, bounds: _Bounds) -> str:
    """Return the guide's verdict on a score; by AP, what is not above chance is a red flag."""
    if metric == "average_precision" and score.low <= score.chance:
        return "red flag"
    return judge(score.value, bounds.good, bounds.bad)


def _bound_rule(scored: Scored, name: str, metric: str, bounds: _Bounds) -> GuideRule:
    score = score_of(scored, name, metric)
    rows = scored.of(metric).dropna(subset="value")
    grey = rows[rows["group"] == "baseline"].sort_values("value", ascending=False)
    beside = "–"
    chance = words.chance_words(score, metric)
    side = {"good": "beyond chance", "bad": "below chance"}.get(chance.tone, "not told from chance")
    ours = f"{side} ({number(score.chance)})"
    if len(grey):
        base = score_of(scored, str(grey["name"].iloc[0]), metric)
        beside = f"{base.name}: {number(base.value)}, {_verdict(base, metric, bounds)}"
        gap = gaps(scored, [(name, base.name)], metric)[0]
        said = {"ahead": "better than", "behind": "worse than", "open": "not told apart from",
                "few": "too few images to compare with"}[gap.ahead(metric)]  # fmt: skip
        ours += f"; {said} {base.name} (difference {number(gap.difference)}, {number(gap.low)} to "
        ours += f"{number(gap.high)})"
    if not math.isnan(score.corrected):
        ours += f"; {score.corrected:.0%} of the way from chance to ceiling".replace("-", "−")
    span = f"{number(score.value)} ({interval_words(score.low, score.high)})"
    verdict = _verdict(score, metric, bounds)
    return GuideRule(metric, bounds.rule, span, verdict, beside, ours, bounds.why)


_SANITY = GuideRule(
    "similarity to maps of random weights (ρ)",
    "reliable below 0.3, unreliable above 0.6",
    "not tested",
    "–",
    "–",
    "not tested",
    "Maps of different images of one data set are already alike: ours compares ρ with that "
    "similarity, image by image, and gives an interval.",
)


def _sanity_rule(row: dict[Any, Any] | None, scored_layer: int | str | None) -> GuideRule:
    """Judge the similarity to maps of random weights, where it was tested."""
    if row is None:
        return _SANITY
    guide = str(row["guide"]) or "undefined"
    if row["cascade"]:
        guide += f"; cascade: {row['cascade']}"
    ours = (
        f"{row['verdict']}: maps of other images {number(row['cross'])}, difference "
        f"{number(row['difference'])} "
        f"({interval_words(row['difference_low'], row['difference_high'])})"
    )
    value = f"{number(row['similarity'])} ({interval_words(row['low'], row['high'])})"
    layer = get_layer(row)
    if layer is not None:
        value += f", layer {layer}"
        value += f"; its scores are of layer {scored_layer}" * (layer != scored_layer)
    return _SANITY._replace(value=value, guide=guide, ours=ours)


_RIGHT = "good when better than where it is wrong, a red flag when there is no difference"


def _correct_rule(scored: Scored, correctness: pd.DataFrame | None) -> GuideRule:
    """Compare scores where the model is right with those where it is wrong."""
    what, rule = "scores where the model is right", _RIGHT
    why = (
        "A map can fit the annotation better on easy images, which the model also gets right: that "
        "shows plausibility, not faithfulness. The guide gives no bound for a difference, and does "
        "not ask how many predictions are wrong."
    )
    found = _find_compared(scored, correctness)
    if found is None:
        value = "no line's model has predictions that are right and others that are wrong"
        value = "not known" if correctness is None else value
        return GuideRule(what, rule, value, "–", "–", "cannot be asked", why)
    name, row = found
    gap, low, high = (float(row[key]) for key in ("difference", "low", "high"))
    if math.isnan(gap):
        value = f"{name}, {scored.metric}: no difference ({row['reason']})"
        return GuideRule(what, rule, value, "undefined", "–", "cannot be asked", why)
    value = (
        f"{name}, {scored.metric}: {number(gap)} ({interval_words(low, high)}; "
        f"{row['right_images']} right, {row['wrong_images']} wrong)"
    )
    sign = 1 if scored.direction == "higher" else -1
    guide = "good" if sign * gap > 0 else "red flag"
    if low > 0 or high < 0:
        ours = "a difference is shown" if sign * gap > 0 else "better where the model is wrong"
    else:
        ours = "no difference is shown"
    return GuideRule(what, rule, value, guide, "–", ours, why)


def _find_compared(
    scored: Scored, correctness: pd.DataFrame | None
) -> tuple[str, dict[Any, Any]] | None:
    """Return the best line with a difference of right and wrong, or whose model errs, if any."""
    if correctness is None:
        return None
    rows = {(one["model"], one["method"], one["target"]): one
            for one in correctness.to_dict("records")}  # fmt: skip
    erring = []
    for name in scored.names(baselines=False):
        line = _line(scored, name)
        row = rows.get((line["model"], line["method"], line["target"]))
        if row is not None and row["right_images"] and row["wrong_images"]:
            erring.append((name, row))
    return next((one for one in erring if not math.isnan(one[1]["difference"])),
                next(iter(erring), None))  # fmt: skip
