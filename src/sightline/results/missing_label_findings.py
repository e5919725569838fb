"""What a report on missing labels comes to, in sentences."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sightline.core.words import counted
from sightline.results._missing_label_inputs import labelled, records
from sightline.results.annotation_sets import ALPHA
from sightline.stats.missing_labels.pu import ASSUMPTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from sightline.results.missing_labels import SparsityReport

__all__ = [
    "ALPHA",
    "BIAS",
    "BIAS_VERDICTS",
    "OPEN",
    "SURVIVES",
    "VERDICTS",
    "conclude",
    "get_bias_verdict",
    "main_lines",
    "method_of",
    "verdict_of",
]

# Share of draws that must keep the sign of a difference for it to survive.
HOLDS = 0.95
SHOWN_RATE = 0.3
MUCH_OVERLAP = 0.1
# Pairs of models that get a sentence each: all of so many, or the largest of more.
FEW, LARGEST = 6, 3

BIAS = "What the bias could be"
SURVIVES = "Which differences between models survive it"
OPEN = "What the data cannot tell apart"

VERDICTS = {
    "reversed": "reversed by the gold set",
    "confirmed": "confirmed by the gold set",
    "not shown": "no difference shown",
    "fragile": "does not survive dropout",
    "open": "cannot be told apart",
    "survives": "survives random dropout",
}
"""What can be said of a difference between two models, in a few words."""

BIAS_VERDICTS = {
    "low": "too low",
    "high": "too high",
    "not shown": "not shown",
    "untested": "not tested",
}
"""What can be said of a score against labels that may be missing, in a few words."""


def conclude(report: SparsityReport) -> SparsityReport:
    """Return a report with its verdicts and conclusions."""
    verdicts = report.verdicts.copy()
    if len(verdicts):
        verdicts["verdict"] = [VERDICTS[verdict_of(one)] for one in records(verdicts)]
    bias = report.bias.assign(
        verdict=[BIAS_VERDICTS[get_bias_verdict(one)] for one in records(report.bias)]
    )
    done = replace(report, verdicts=verdicts, bias=bias)
    kinds = {
        BIAS: (_labels, _sets, _pu, _dropout, _labelling),
        SURVIVES: (_pairs,),
        OPEN: (_diverging, _limits),
    }
    found = [(kind, text) for kind, says in kinds.items() for say in says for text in say(done)]
    return replace(done, findings=tuple(found))


def get_bias_verdict(bias: dict[str, Any]) -> str:
    """Return which of `BIAS_VERDICTS` the paired difference of gold and other scores gets.

    A bias is shown where the test rejects 0 and the interval excludes it: of few, skewed
    differences one of the two may.
    """
    if math.isnan(bias["p_holm"]):
        return "untested"
    if bias["p_holm"] > ALPHA or bias["low"] <= 0 <= bias["high"]:
        return "not shown"
    return "low" if bias["difference"] > 0 else "high"


def verdict_of(pair: dict[str, Any]) -> str:
    """Return which of `VERDICTS` a difference between two models gets."""
    difference, shown = pair["difference"], pair["p_holm"] <= ALPHA
    if pair["joined_p_holm"] <= ALPHA and difference:
        return "confirmed" if pair["joined"] * difference > 0 else "reversed"
    if not shown:
        return "not shown"
    if not pair["same_sign"] >= HOLDS:
        return "fragile"
    return "open" if _against(pair) else "survives"


def _against(pair: dict[str, Any]) -> list[str]:
    """Return the scores by which the other model is better, by more than chance."""
    ends = "high" if pair["difference"] > 0 else "low"
    sign = 1 if pair["difference"] > 0 else -1
    keys = ("recall", "label_recall", "coverage")
    return [key for key in keys if sign * pair[f"{key}_{ends}"] < 0]


def _labels(report: SparsityReport) -> Iterator[str]:
    """Say how many instances have no label, where that is known."""
    counts = report.counts
    where = (
        f"{counted(report.regions, 'region')} on {counted(report.images, 'image')} "
        f"{'is' if report.regions == 1 else 'are'} scored"
    )
    if not len(counts):
        return
    found = labelled(counts)
    if found is None:
        yield (
            f"{where}. How many instances have no label is not known to the store, and nothing "
            "computed from these labels alone can tell: attention to an unlabelled instance looks "
            "like attention to a wrong place."
        )
    elif found.gold:
        told = f"{found.known:,} where the gold set has {found.total:,}"
        yield f"{where}; on the gold images there are {told}: about {found.share:.0%} are labelled."
    else:
        least = min(
            (one for one in records(counts) if not math.isnan(one["labelled"])),
            key=lambda one: one["labelled"],
        )
        hidden = counted(found.total - found.known, "instance")
        yield (
            f"{where}; the data also know of {hidden} without a label, so "
            f"that {found.share:.0%} of the instances are labelled (fewest: {least['label']}, "
            f"{least['labelled']:.0%}). Attention to the others counts as a mistake in IoU, "
            "coverage and precision."
        )


def _labelling(report: SparsityReport) -> Iterator[str]:
    """Say whether the labelled instances look chosen at random."""
    tests = report.labelling
    tested = tests[tests["p"].notna()] if len(tests) else tests
    if not len(tested):
        return
    odd = tested[tested["p_holm"] <= ALPHA]
    if len(odd):
        told = ", ".join(
            f"{_more(one['direction'])} {one['quantity']} (p = {_p(one['p'])}, "
            f"Holm {_p(one['p_holm'])})"
            for one in records(odd)
        )
        yield (
            f"The labelled instances were not chosen at random: they have {told} than the "
            "unlabelled ones of their kind on the same image. Recall, lift and corrected IoU then "
            "describe the instances that people pick, not all of them, and may prefer the wrong "
            "model."
        )
    else:
        what = ", ".join(str(one) for one in tested["quantity"])
        yield (
            "The labelled instances could not be shown to differ from the unlabelled ones beside "
            f"them in {what} "
            f"(p ≥ {_p(float(tested['p'].min()))}, Holm ≥ {_p(float(tested['p_holm'].min()))}): no "
            "sign that they were picked for a reason, which is no proof that they were drawn at "
            "random."
        )


def _more(direction: str) -> str:
    return "a larger" if direction == "larger" else "a smaller"


def _diverging(report: SparsityReport) -> Iterator[str]:
    """Say how many regions show the pattern that missing labels would make."""
    lines = main_lines(report, report.divergence)
    if len(lines):
        whole = lines[lines["label"].isna()].iloc[0]
        text = str(whole["sentence"])
        yield f"{report.main}: {text[:1].lower()}{text[1:]}"


def _dropout(report: SparsityReport) -> Iterator[str]:
    lines = main_lines(report, report.dropout)
    lines = lines[lines["rate"] == SHOWN_RATE] if len(lines) else lines
    for one in records(lines):
        yield (
            f"If another {one['rate']:.0%} of the labels were missing at random, the mean "
            f"{report.metric} of {report.main} would move from {one['value']:.3f} to between "
            f"{one['low']:.3f} and {one['high']:.3f} (a sensitivity band, not a confidence "
            f"interval; {one['emptied']:.0%} of the images would lose all their labels). A value "
            "inside the band does not mean that only missing labels keep it low: the band says "
            "what further gaps would do, not where the score for a complete annotation lies."
        )


def _pu(report: SparsityReport) -> Iterator[str]:
    for one in records(main_lines(report, report.pu)):
        if math.isnan(one["corrected"]) and math.isnan(one["low"]):
            continue
        if math.isnan(one["corrected"]):
            told = (
                f"between {one['low']:.3f} and {one['high']:.3f}, depending on how many instances "
                f"are labelled ({one['by']}; not an interval)"
            )
        else:
            told = (
                f"{_value(one['corrected'], one['low'], one['high'])}, from the known number of "
                "instances"
            )
        yield (
            f"Corrected for unlabelled instances, the mean IoU of {report.main} would be {told}, "
            f"against {one['iou']:.3f} as scored. This estimate is rough: it holds only if "
            f"{ASSUMPTIONS}{_doubt(one)}."
        )


def _doubt(pu: dict[str, Any]) -> str:
    """Say where the data at hand speak against the assumptions of the corrected IoU."""
    found = []
    if pu["overlap"] > MUCH_OVERLAP:
        found.append(
            f"{pu['overlap']:.0%} of the regions' area lies in more than one region, which makes "
            "it too high"
        )
    if pu["gold_p_holm"] <= ALPHA:
        nearest = "it" if math.isfinite(pu["corrected"]) else "the nearer end"
        found.append(
            f"the gold set contradicts it: gold minus {nearest} is {pu['gold_difference']:+.3f} on "
            f"the gold images (Holm {_p(pu['gold_p_holm'])}); trust the gold set"
        )
    return "; here " + ", and ".join(found) if found else ""


def _sets(report: SparsityReport) -> Iterator[str]:
    """Say what the gold set changes."""
    lines = main_lines(report, report.sets)
    found = {one["set"]: one for one in records(lines)}
    if "gold" not in found or "joined" not in found:
        return
    gold, both = found["gold"], found["joined"]
    configurations = int((report.bias["labels"] == "sparse").sum())
    biases = records(main_lines(report, report.bias))
    compared = " ".join(_compare_labels(one, configurations) for one in biases)
    estimate = (
        f"there is no estimate: {both['reason']}"
        if math.isnan(both["value"])
        else f"IoU is {_span(both)}"
    )
    yield (
        f"Against the gold annotation of {counted(gold['n'], 'image')}, {report.main} scores "
        f"{_span(gold)}. {compared} Joined with the other images {estimate}. This holds if the "
        "gold images were drawn at random and nothing was tuned on them."
    )


def _compare_labels(bias: dict[str, Any], configurations: int) -> str:
    """Report gold minus another score on the gold images, and what follows from it."""
    labels, kind = bias["labels"], get_bias_verdict(bias)
    if math.isnan(bias["difference"]):
        return f"Gold and {labels} scores cannot be compared: {bias['reason']}."
    facts = [] if math.isnan(bias["low"]) else [_bounds(bias["low"], bias["high"], 1)]
    if kind != "untested":
        facts += [f"p = {_p(bias['p'])}", f"Holm {_p(bias['p_holm'])}"]
    both = f"the {counted(bias['n'], 'image')} with both scores"
    where = both if bias["undefined"] else "these images"
    start = (
        f"Gold minus {labels} on {where} is {bias['difference']:+.3f}"
        f"{' (' + ', '.join(facts) + ')' if facts else ''}"
    )
    if kind in ("low", "high"):
        return f"{start}: missing labels make the {labels} score too {kind}."
    if kind == "untested":
        return f"{start}: not tested ({bias['reason']})."
    if bias["p_holm"] <= ALPHA:
        start += ", and the interval does not exclude 0 although the test rejects it"
    if math.isnan(bias["detectable"]):
        return (
            f"{start}: no bias could be shown; there is no smallest bias that would have been "
            f"found with 80% power ({bias['reason']})."
        )
    corrected = f", corrected for {configurations} configurations" if configurations > 1 else ""
    return (
        f"{start}: no bias could be shown; a bias of at least {bias['detectable']:.3f} would have "
        f"been found with 80% power{corrected}."
    )


def _pairs(report: SparsityReport) -> Iterator[str]:
    """Say which differences between models survive: all of a few, the largest of many."""
    pairs = records(report.verdicts)
    if len(pairs) > FEW:
        kinds = [VERDICTS[verdict_of(one)] for one in pairs]
        counts = ", ".join(
            f"{kind}: {kinds.count(kind)}" for kind in VERDICTS.values() if kind in kinds
        )
        yield f"{len(pairs)} pairs of models were compared, method by method ({counts})."
        pairs = [one for one in pairs if verdict_of(one) != "not shown"]
        pairs = sorted(pairs, key=lambda one: -abs(one["difference"]))[:LARGEST]
    for one in pairs:
        yield _pair(one, report)


def _limits(report: SparsityReport) -> Iterator[str]:
    """Say what only a gold set can tell."""
    if "gold" not in set(report.sets["set"]):
        yield (
            "How far missing labels bias these scores cannot be said from the labels at hand: a "
            "model that looks at every instance and one that looks at the labelled instance and at "
            "wrong places get the same scores. That takes a gold set: completely annotated images "
            "drawn at random."
        )
    yield (
        "Labels left out at random stand for labels missing at random. Where people label the "
        "salient instance alone, every score computed from labels can prefer the wrong model; "
        "only a gold set tells."
    )


def _pair(one: dict[str, Any], report: SparsityReport) -> str:
    a, b, kind = one["a"], one["b"], verdict_of(one)
    gap = one["difference"]
    what = method_of(one)
    if not one["n"]:
        return f"{what}: {a} and {b} cannot be compared: no image has a score of both."
    if one["low"] == gap == one["high"] == 0 and kind == "not shown":
        return f"{what}: {a} and {b} score the same on {report.metric} on every image."
    winner, loser = (a, b) if gap >= 0 else (b, a)
    start = f"{what}: {winner} scores {abs(gap):.3f} higher than {loser} on {report.metric}"
    if math.isnan(one["p"]):
        start += f" over {counted(one['n'], 'image')}, too few for a test, which needs 6"
    else:
        span = _bounds(one["low"], one["high"], gap)
        start += f" ({span}, p = {_p(one['p'])}, Holm {_p(one['p_holm'])})"
    if kind == "not shown":
        return f"{start}: no difference could be shown, with all labels or with fewer."
    kept = (
        f"with half of the labels left out at random the sign stays in {one['same_sign']:.1%} of "
        f"the draws and p ≤ {ALPHA:g} in {one['significant']:.1%}"
    )
    ends = {
        "confirmed": f"the gold set confirms it ({_gold(one)}); {kept}.",
        "reversed": f"the gold set says the opposite ({_gold(one)}): do not rely on it.",
        "fragile": f"{kept}: it does not survive that many missing labels.",
        "open": (
            f"{kept}, yet {loser} is better by {_others(one)}: whether {loser} looks at unlabelled "
            "instances or at wrong places cannot be told apart without a gold set."
        ),
        "survives": (
            f"{kept}; neither recall nor coverage says otherwise: it survives labels missing at "
            "random."
        ),
    }
    return f"{start}: {ends[kind]}"


def method_of(pair: dict[str, Any]) -> str:
    """Return what two models have in common: the method, and the target of its maps."""
    return f"{pair['method']} ({pair['target']})" if pair["target"] else str(pair["method"])


def _gold(one: dict[str, Any]) -> str:
    sign = 1 if one["difference"] >= 0 else -1
    low, high = sorted((sign * one["joined_low"], sign * one["joined_high"]))
    span = f"95% interval {low:+.3f} to {high:+.3f}, Holm {_p(one['joined_p_holm'])}"
    return f"joined difference {sign * one['joined']:+.3f}, {span}"


def _others(one: dict[str, Any]) -> str:
    """Name the scores by which the other model is better."""
    names = {
        "recall": "recall, mean over regions",
        "label_recall": "recall, mean over labels",
        "coverage": "coverage",
    }
    return " and ".join(f"{names[key]} ({abs(one[key]):.3f})" for key in _against(one))


def _bounds(low: float, high: float, gap: float) -> str:
    if gap < 0:
        low, high = -high, -low
    return f"95% interval {low:+.3f} to {high:+.3f}"


def _span(one: dict[str, Any]) -> str:
    return _value(one["value"], one["low"], one["high"])


def _value(value: float, low: float, high: float) -> str:
    span = "" if math.isnan(low) else f" (95% interval {low:.3f} to {high:.3f})"
    return f"{value:.3f}{span}"


def _p(value: float) -> str:
    return "not known" if math.isnan(value) else f"{value:.2g}"


def main_lines(report: SparsityReport, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the part of a table that is about the main line."""
    if not len(frame):
        return frame
    ranked = report.lines[report.lines["group"] != "baseline"]
    best = (ranked if len(ranked) else report.lines).iloc[0]
    same = (frame["model"] == best["model"]) & (frame["method"] == best["method"])
    found: pd.DataFrame = frame[same & (frame["target"] == best["target"])]
    return found
