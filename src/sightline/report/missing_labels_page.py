"""The report on missing labels as one page of HTML: no scripts, nothing from elsewhere."""

from __future__ import annotations

import math
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sightline.report.svg import Mark, band_chart, interval_chart, span_of
from sightline.results import format_baseline_comparison
from sightline.results._missing_label_inputs import labelled, records
from sightline.results._wording import line_name
from sightline.results.missing_label_findings import (
    ALPHA,
    BIAS_VERDICTS,
    SHOWN_RATE,
    VERDICTS,
    main_lines,
    method_of,
)
from sightline.store import write_whole

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Sequence

    import pandas as pd

    from sightline.results.missing_labels import SparsityReport

__all__ = ["sparsity_page", "write_page"]

STYLE = """
:root { --ink:#1c2733; --soft:#5d6b7a; --line:#dde3ea; --paper:#ffffff; --wash:#f5f7fa;
  --sparse:#8391a1; --completed:#2a9d8f; --gold:#c98a00; --joined:#274c9b; --band:#274c9b; }
* { box-sizing:border-box; }
body { margin:0; background:var(--wash); color:var(--ink);
  font:15px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif; }
main { max-width:1160px; margin:0 auto; padding:32px 24px 64px; }
h1 { font-size:28px; line-height:1.2; margin:0 0 6px; }
h2 { font-size:20px; margin:0 0 4px; }
h3 { font-size:15px; margin:18px 0 6px; }
p { margin:6px 0 12px; max-width:76ch; }
section { background:var(--paper); border:1px solid var(--line); border-radius:10px;
  padding:22px 26px; margin:18px 0; }
.lead, .soft, figcaption { color:var(--soft); }
.cards { display:grid; grid-template-columns:repeat(auto-fit,minmax(190px,1fr)); gap:14px;
  margin:20px 0; }
.card { background:var(--paper); border:1px solid var(--line); border-radius:10px;
  padding:14px 18px; }
.card b { display:block; font-size:26px; font-variant-numeric:tabular-nums; }
.card small { color:var(--soft); display:block; line-height:1.4; }
ul.findings { padding-left:20px; margin:4px 0 14px; }
ul.findings li { margin:6px 0; max-width:88ch; }
.scroll { overflow-x:auto; }
table { border-collapse:collapse; font-size:13px; width:100%; font-variant-numeric:tabular-nums; }
th { text-align:left; color:var(--soft); font-weight:600; border-bottom:2px solid var(--line);
  padding:5px 8px; vertical-align:bottom; }
td { border-bottom:1px solid var(--line); padding:5px 8px; vertical-align:middle; }
td.num, th.num { text-align:right; }
td.num { white-space:nowrap; }
td small { color:var(--soft); display:block; }
tr.base td { color:var(--soft); }
td:first-child, td:nth-child(2) { min-width:110px; }
.grid2 { display:grid; grid-template-columns:repeat(auto-fill,minmax(460px,1fr)); gap:10px 24px; }
.grid4 { display:grid; grid-template-columns:repeat(auto-fill,minmax(290px,1fr)); gap:14px; }
figure { margin:0; }
figcaption { font-size:13px; margin-bottom:2px; }
figcaption b { color:var(--ink); }
svg { display:block; width:100%; height:auto; }
svg text { font:12px system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;
  fill:var(--soft); }
svg text.name, svg text.number { fill:var(--ink); font-size:13px; }
svg .grid { stroke:var(--line); stroke-width:1; }
svg .zero { stroke:var(--ink); stroke-width:1.2; }
svg .band { fill:var(--band); opacity:.18; }
svg .mean { fill:none; stroke:var(--band); stroke-width:2; }
svg .value { stroke:#c0392b; stroke-width:1.5; stroke-dasharray:5 4; }
svg .span { stroke-width:3; stroke-linecap:round; opacity:.55; }
svg .sparse { stroke:var(--sparse); fill:var(--sparse); }
svg .completed { stroke:var(--completed); fill:var(--completed); }
svg .gold { stroke:var(--gold); fill:var(--gold); }
svg .joined { stroke:var(--joined); fill:var(--joined); }
.chip { display:inline-block; border-radius:99px; padding:2px 10px; font-size:13px;
  line-height:1.3; background:#e8ecf1; color:#3c4856; }
.chip.good { background:#dcf1e4; color:#17603a; }
.chip.bad { background:#fbe0dd; color:#8c2318; }
.chip.doubt { background:#fdeecf; color:#75500a; }
.bar { display:inline-block; width:90px; height:9px; border-radius:5px; background:#e8ecf1;
  vertical-align:middle; margin-right:8px; overflow:hidden; }
.bar i { display:block; height:100%; background:var(--joined); opacity:.75; }
.key { color:var(--soft); font-size:13px; }
.box { border-left:4px solid var(--gold); background:#fffaf0; padding:10px 16px; margin:12px 0;
  max-width:88ch; }
.box p { margin:4px 0; }
"""


def write_page(report: SparsityReport, path: str | os.PathLike[str]) -> Path:
    """Write the page; it is there whole or not at all.

    Parameters
    ----------
    report : SparsityReport
        What to show.
    path : path
        A file of that name is replaced; its folder is made.
    """
    place = Path(path)
    place.parent.mkdir(parents=True, exist_ok=True)
    text = sparsity_page(report)
    write_whole(place, text.encode())
    return place


def sparsity_page(report: SparsityReport) -> str:
    """Return the page as HTML."""
    parts = [
        _head(report),
        _cards(report),
        _findings(report),
        _sets(report),
        _pairs(report),
        _bands(report),
        _scores(report),
        _divergence(report),
        _labels(report),
        _limits(),
    ]
    title = f"Missing labels: {escape(report.study)}"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{STYLE}</style></head>\n<body><main>\n"
        + "\n".join(part for part in parts if part)
        + "\n</main></body></html>\n"
    )


def _head(report: SparsityReport) -> str:
    rest = " that is no baseline" if (report.lines["group"] != "baseline").any() else ""
    return (
        f"<header><h1>What missing labels may have done to “{escape(report.study)}”</h1>"
        f'<p class="lead">{escape(report.metric)} on {report.images:,} images with '
        f"{report.regions:,} labelled regions. Where people label one window of five, a model that "
        "looks at all five is scored as if it were wrong four times. This page says how much of "
        "that could be in the scores, what can be concluded all the same, and what cannot. Single "
        f"findings are about <b>{escape(report.main)}</b>, the best line{rest}. "
        f"{escape(format_baseline_comparison(report.best_baseline))}</p>"
        "</header>"
    )


def _cards(report: SparsityReport) -> str:
    cards = []
    share = _labelled_share(report)
    if share is not None:
        cards.append((f"{share[0]:.0%}", "of the instances are labelled", share[1]))
    for one in records(main_lines(report, report.sets)):
        if one["set"] in ("sparse", "gold", "joined"):
            ends = f"95% interval {one['low']:.3f} to {one['high']:.3f}, "
            span = f"{'' if math.isnan(one['low']) else ends}{one['n']:,} images"
            cards.append((_number(one["value"]), _SET_NAMES[one["set"]], one["reason"] or span))
    for one in records(main_lines(report, report.pu)):
        if "joined" not in set(report.sets["set"]) and not math.isnan(one["low"]):
            known = not math.isnan(one["corrected"])
            shown = _number(one["corrected"]) if known else f"{one['low']:.2f} – {one['high']:.2f}"
            by = "by known counts, if labels are random" if known else f"if {one['by']}"
            cards.append((shown, "IoU corrected for unlabelled instances", by))
    boxes = "".join(
        f'<div class="card"><b>{escape(big)}</b>{escape(what)}<small>{escape(small)}</small></div>'
        for big, what, small in cards
    )
    return f'<div class="cards">{boxes}</div>'


_SET_NAMES = {
    "sparse": "IoU with the labels as they are (sparse)",
    "completed": "IoU with completed labels",
    "gold": "IoU with gold labels",
    "joined": "IoU, gold joined with the rest",
}


def _labelled_share(report: SparsityReport) -> tuple[float, str] | None:
    found = labelled(report.counts)
    if found is None:
        return None
    where = " on the gold images" if found.gold else ", known from the data"
    return found.share, f"{found.known:,} of {found.total:,}{where}"


def _findings(report: SparsityReport) -> str:
    groups: dict[str, list[str]] = {}
    for heading, text in report.findings:
        groups.setdefault(heading, []).append(text)
    parts = ["<section><h2>In short</h2>"]
    for heading, texts in groups.items():
        lines = "".join(f"<li>{escape(text)}</li>" for text in texts)
        parts.append(f'<h3>{escape(heading)}</h3><ul class="findings">{lines}</ul>')
    return "".join(parts) + "</section>"


def _sets(report: SparsityReport) -> str:
    """Show the results on each set side by side, and how to get those that are missing."""
    frame = report.sets
    there = list(dict.fromkeys(frame["set"]))
    predictor = "completed" if "completed" in there else "sparse"
    names = {
        "sparse": "sparse: as labelled",
        "completed": "completed",
        "gold": "gold",
        "joined": f"joined: gold + {predictor}",
        "joined, these images": "joined, these images only",
    }
    charts = _alone(report) if there == ["sparse"] else _by_line(report, names)
    warned = "".join(f"<p><b>Warning.</b> {escape(text)}</p>" for text in report.warnings)
    lacking = warned + "".join(f"<p>{escape(text)}</p>" for text in report.missing)
    boxed = f'<div class="box">{lacking}</div>' if lacking else ""
    joined = (
        "<p>“Joined” corrects the many scores by the few gold ones (prediction-powered "
        "inference): right whatever the other labels are worth, provided that the gold images "
        "were drawn at random. It estimates the mean over all images of this kind; the last line "
        "is about just the images of this study.</p>"
        if "joined" in there
        else ""
    )
    return (
        f"<section><h2>Results on every set of labels</h2>"
        f"<p>Mean {escape(report.metric)} of the same maps with 95% intervals over images.</p>"
        f"{joined}{charts}{_render_bias(report)}{boxed}</section>"
    )


def _render_bias(report: SparsityReport) -> str:
    """Show gold minus other labels on the gold images, and what can be said of it."""
    if not len(report.bias):
        return ""
    heads = ["configuration", "labels", "gold − labels (95% CI)", "p (Holm)", "detectable", "n",
             "verdict"]  # fmt: skip
    rows = [
        [
            escape(line_name(*(bias[key] for key in _KEYS))),
            escape(bias["labels"]),
            _span(bias["difference"], bias["low"], bias["high"]),
            f"{_p(bias['p'])} ({_p(bias['p_holm'])})",
            _number(bias["detectable"]),
            f"{bias['n']}",
            f'<span class="chip {_BIAS_CHIPS[bias["verdict"]]}">{escape(bias["verdict"])}</span>',
        ]
        for bias in records(report.bias)
    ]
    return (
        "<h3>Are the scores biased?</h3>"
        "<p>Gold minus other labels, image by image on the gold images, with a sign-flip test. "
        "“Detectable” is the smallest bias that would have been found with 80% power. Test and "
        "power are corrected for the number of configurations.</p>"
        f"{_table(heads, rows, range(2, len(heads) - 1))}"
    )


_BIAS_CHIPS = {
    BIAS_VERDICTS["low"]: "bad",
    BIAS_VERDICTS["high"]: "bad",
    BIAS_VERDICTS["not shown"]: "",
    BIAS_VERDICTS["untested"]: "doubt",
}


def _alone(report: SparsityReport) -> str:
    """Show all lines in one chart, as there is one set of labels."""
    frame = report.sets.sort_values("value", ascending=False)
    span = _find_axis(frame)
    marks = [
        Mark(called, one["value"], one["low"], one["high"], "sparse")
        for one in records(frame)
        for called in [line_name(*(one[key] for key in _KEYS))]
    ]
    return interval_chart(marks, span, f"{report.metric} with the labels as they are", 330)


def _find_axis(frame: pd.DataFrame) -> tuple[float, float]:
    """Return the ends of an axis; no value without an interval stretches it, if others have one."""
    certain = frame[frame["low"].notna()]
    frame = certain if len(certain) else frame
    return span_of([*frame["low"], *frame["high"], *frame["value"]])


def _by_line(report: SparsityReport, names: dict[str, str]) -> str:
    """Show a chart for each line, with the sets one below the other."""
    frame = report.sets
    span = _find_axis(frame)
    charts = []
    for keys, lines in frame.groupby(_KEYS, sort=False, dropna=False):
        marks = [
            Mark(names[one["set"]], one["value"], one["low"], one["high"],
                 str(one["set"]).partition(",")[0])
            for one in records(lines)
        ]  # fmt: skip
        called = line_name(*keys)
        chart = interval_chart(marks, span, f"{called}: {report.metric} on each set of labels")
        charts.append(f"<figure><figcaption><b>{escape(called)}</b></figcaption>{chart}</figure>")
    return f'<div class="grid2">{"".join(charts)}</div>'


def _pairs(report: SparsityReport) -> str:
    """Show how differences between models fare."""
    frame = report.verdicts
    if not len(frame):
        return ""
    gold = int(frame["joined"].notna().any())
    heads = ["a − b", "method", "Δ IoU (95% interval)", "p (Holm)",
             f"p, {SHOWN_RATE:.0%} left out (p ≤ {ALPHA:g})", "Δ region recall", "Δ label recall",
             "Δ coverage", "sign kept", *(["Δ gold + rest (95% interval)"] if gold else []),
             "what can be said"]  # fmt: skip
    rows = []
    for one in records(frame):
        chip = f'<span class="chip {_CHIPS[one["verdict"]]}">{escape(one["verdict"])}</span>'
        both = [_span(one["joined"], one["joined_low"], one["joined_high"])] * gold
        rows.append(
            [
                escape(f"{one['a']} − {one['b']}"),
                escape(_method(method_of(one), one["layer_a"], one["layer_b"])),
                _span(one["difference"], one["low"], one["high"]),
                f"{_p(one['p'])} ({_p(one['p_holm'])})",
                _format_dropout_test(one),
                _span(one["recall"], one["recall_low"], one["recall_high"]),
                _span(one["label_recall"], one["label_recall_low"], one["label_recall_high"]),
                _span(one["coverage"], one["coverage_low"], one["coverage_high"]),
                "–" if math.isnan(one["same_sign"]) else f"{one['same_sign']:.1%}",
                *both,
                chip,
            ]
        )
    table = _table(heads, rows, numbers=range(2, len(heads) - 1))
    return (
        "<section><h2>Do differences between models survive missing labels?</h2>"
        "<p>Labels are left out at random, the same ones for both models, and images are drawn "
        "anew. A difference survives if it is significant with all labels (Holm-corrected "
        f"sign-flip p ≤ {ALPHA:g}) and keeps its sign in 95% of the draws with half of the labels "
        f"gone. The permutation test under dropout leaves out {SHOWN_RATE:.0%} of the labels: the "
        f"median p of its draws and, in brackets, the fraction of the draws with p ≤ {ALPHA:g}. "
        "The shaded band holds the middle 95% of the draws, the dashed line is the "
        "difference with all labels. Next to IoU are coverage and the recall of single "
        "regions, as the mean over images of an image's mean over its regions or its labels: "
        "where these prefer the other model, the data cannot tell who is better.</p>"
        f"{table}{_delta_charts(report)}</section>"
    )


def _format_dropout_test(one: dict[str, Any]) -> str:
    """Return the median p-value of the draws, and how many are significant."""
    if math.isnan(one["p_dropout"]):
        return "–"
    return f"{_p(one['p_dropout'])} ({one['significant_dropout']:.1%})"


_CHIPS = {
    VERDICTS["survives"]: "good",
    VERDICTS["confirmed"]: "good",
    VERDICTS["reversed"]: "bad",
    VERDICTS["fragile"]: "doubt",
    VERDICTS["open"]: "doubt",
    VERDICTS["not shown"]: "",
}


def _delta_charts(report: SparsityReport) -> str:
    frame = report.deltas
    span = span_of([*frame["low"], *frame["high"]])
    charts = []
    keys = ["a", "b", "method", "target"]
    for names, lines in frame.groupby(keys, sort=False):
        points = _points(lines)
        value = float(lines["difference"].iloc[0])
        method = method_of({"method": names[2], "target": names[3]})
        called = f"{method}: {names[0]} − {names[1]}"
        chart = band_chart(points, value, span, f"Difference of {called} as labels are left out")
        charts.append(f"<figure><figcaption><b>{escape(called)}</b></figcaption>{chart}</figure>")
    return f'<h3>Δ {escape(report.metric)}</h3><div class="grid4">{"".join(charts)}</div>'


def _bands(report: SparsityReport) -> str:
    frame = report.dropout[report.dropout["group"] != "baseline"]
    frame = frame if len(frame) else report.dropout
    span = span_of([*frame["low"], *frame["high"], *frame["value"]])
    charts = []
    for keys, lines in frame.groupby(_KEYS, sort=False, dropna=False):
        value = float(lines["value"].iloc[0])
        points = _points(lines)
        called = line_name(*keys)
        chart = band_chart(points, value, span, f"{report.metric} of {called} under dropout")
        charts.append(f"<figure><figcaption><b>{escape(called)}</b></figcaption>{chart}</figure>")
    worst = float(frame["emptied"].max())
    return (
        "<section><h2>How sensitive are the scores to further gaps?</h2>"
        f"<p>The mean {escape(report.metric)} when more labels are left out at random (line: mean "
        "of the draws; shaded: the middle 95%; dashed: the score as it is). Images are drawn anew "
        "each time: that alone makes the width of the band at 0%. Images that lose all "
        f"their labels have no score; at 50% these are {worst:.1%} of them.</p>"
        '<div class="box"><p><b>This is a sensitivity band, not a confidence interval.</b> It says '
        "what further gaps would do, and nothing about where the score for a complete annotation "
        "lies: how steep a line falls does not tell how many labels are missing already. That a "
        "value lies inside a band does <b>not</b> mean that “only sparsity” keeps it "
        "low.</p></div>"
        f'<div class="grid4">{"".join(charts)}</div></section>'
    )


def _points(lines: pd.DataFrame) -> list[tuple[float, float, float, float]]:
    """Return the points of a band."""
    found = zip(*(lines[key].astype(float) for key in ("rate", "low", "mean", "high")), strict=True)
    return list(found)


def _scores(report: SparsityReport) -> str:
    heads = ["model", "method", "IoU (95% interval)", "chance", "of ceiling", "coverage",
             "pointing", "region IoU", "region recall", "label recall", "region lift",
             "flagged"]  # fmt: skip
    rows, kinds = [], []
    for one in records(_merged(report.lines)):
        kinds.append("base" if one["group"] == "baseline" else "")
        rows.append(
            [
                escape(str(one["model"])),
                escape(_method(one["method"], one["layer"])),
                _with_interval(one["iou"], one["low"], one["high"]),
                _number(one["chance"]),
                _percent(one["share"]),
                f"{_number(one['coverage'])}<small> ({_number(one['coverage_chance'])})</small>",
                _number(one["pointing"]),
                _number(one["region_iou"]),
                _number(one["region_recall"]),
                _number(one["label_recall"]),
                _times(one["region_lift"], 2),
                _percent(one["flagged"]),
            ]
        )
    return (
        "<section><h2>Scores side by side</h2>"
        "<p>IoU, coverage and pointing are of all labels of an image together; coverage stands "
        "beside its chance value (in brackets). Region figures are of each labelled region alone. "
        "Recall (how much of a region is selected) and lift (how many times more than by chance) "
        "do not count attention elsewhere as a mistake, so that selecting everything looks "
        "perfect: read them beside IoU or coverage only. They too fall as unlabelled instances "
        "compete for the same selected pixels.</p>"
        f"{_table(heads, rows, range(2, len(heads)), kinds)}"
        f'<p class="key">{escape(_sentence(report.note))}</p></section>'
    )


def _divergence(report: SparsityReport) -> str:
    lines = main_lines(report, report.divergence)
    if not len(lines):
        return ""
    whole = lines[lines["label"].isna()].iloc[0]
    shown = lines[lines["label"].notna()].sort_values(["share", "regions"], ascending=False)
    heads = ["label", "regions", "hit", "energy over chance", "IoU of ceiling", "flagged",
             "by chance at most"]  # fmt: skip
    rows = [
        [
            escape(str(one["label"]) or "(none)"),
            f"{one['regions']}",
            _percent(one["hit"]),
            _times(one["coverage_lift"], 1),
            _percent(one["ceiling_share"]),
            f"{_bar(one['share'])}{one['flagged']} ({_percent(one['share'])})",
            _percent(one["by_chance"]),
        ]
        for one in records(shown)
    ]
    return (
        f"<section><h2>Where metrics disagree: {escape(report.main)}</h2>"
        "<p>A region is flagged when the map’s maximum is inside, it holds at least twice the "
        "energy of chance, and its IoU is at most half of what is possible at its size. All three "
        "are read against the region’s own size.</p>"
        f'<div class="box"><p>{escape(str(whole["sentence"]))}</p></div>'
        f"{_table(heads, rows, range(1, len(heads)))}</section>"
    )


def _labels(report: SparsityReport) -> str:
    """Show how many instances are labelled, and which."""
    counts = report.counts
    parts = []
    if len(counts) and counts["labelled"].notna().any():
        known, gold = (int(counts[key].notna().any()) for key in ("unlabelled", "gold"))
        columns = ["regions", *["unlabelled"] * known, *["on_gold_images", "gold"] * gold]
        heads = ["label", *(_COUNTS[column] for column in columns), "share labelled"]
        rows = [
            [
                escape(str(one["label"]) or "(none)"),
                *(f"{one[column]}" for column in columns),
                f"{_bar(one['labelled'])}{_percent(one['labelled'])}",
            ]
            for one in records(counts.sort_values("labelled"))
        ]
        parts.append(_table(heads, rows, range(1, len(heads))))
    else:
        parts.append(
            "<p>How many instances have no label is not known: neither the data nor a gold set "
            "say so. Repeating parts (windows, columns, arches) suffer most.</p>"
        )
    tests = _labelling(report)
    return f"<section><h2>What is labelled</h2>{''.join(parts)}{tests}</section>"


_COUNTS = {
    "regions": "labelled regions",
    "unlabelled": "unlabelled",
    "on_gold_images": "of these on gold images",
    "gold": "gold regions",
}


def _labelling(report: SparsityReport) -> str:
    if not len(report.labelling):
        return ""
    rows = [
        [
            escape(str(one["quantity"])),
            "–" if math.isnan(one["rank"]) else f"{one['rank']:.2f}",
            escape(one["direction"] or "none"),
            f"{_p(one['p'])} ({_p(one['p_holm'])})"
            + (f" {escape(one['reason'])}" if one["reason"] else ""),
            f"{one['groups']}",
        ]
        for one in records(report.labelling)
    ]
    heads = ["quantity", "mean rank of labelled ones", "labelled ones are", "p (Holm)", "groups"]
    return (
        "<h3>Were the labelled instances picked at random?</h3>"
        "<p>Labelled instances are ranked among those of their kind on their image (0: smallest, "
        "1: largest, 0.5: no difference). A small p says that they were picked for a reason; a "
        "large one is no proof that they were not.</p>"
        f"{_table(heads, rows, [1, 3, 4])}"
    )


_WRONG = {
    "“The model looks poorly at windows.”": "It may look at all of them, and one is labelled.",
    "“Model A is worse than model B.”": "A may find more instances that nobody labelled.",
    "“Fine-tuning made it worse (Δ IoU below 0).”": (
        "It may have learned to look at every instance, which costs IoU wherever one is labelled."
    ),
}
_UNSOLVED = {
    "Kinds that are never labelled:": "no label, no score; nothing here can see them.",
    "Images labelled by different rules:": (
        "a kind labelled on one image and not on the next looks like missing labels on the second."
    ),
    "Experts who disagree:": (
        "what counts as a round or a pointed arch is another question than how many are labelled."
    ),
}


def _limits() -> str:
    lists = [
        "".join(f"<li><b>{escape(a)}</b> {escape(b)}</li>" for a, b in pairs.items())
        for pairs in (_WRONG, _UNSOLVED)
    ]
    return (
        "<section><h2>Read before you conclude</h2>"
        f'<h3>Three conclusions that missing labels make wrong</h3><ul class="findings">{lists[0]}'
        f'</ul><h3>What nothing on this page solves</h3><ul class="findings">{lists[1]}</ul>'
        "</section>"
    )


_KEYS = ["model", "method", "target", "layer"]


def _method(method: Any, *layers: Any) -> str:
    absent = ("<NA>", "nan", "", "None")
    shown = list(dict.fromkeys(str(layer) for layer in layers if str(layer) not in absent))
    return f"{method}, layer {' / '.join(shown)}" if shown else method


def _merged(lines: pd.DataFrame) -> Any:
    """Join the lines of a baseline whose scores are the same for several models."""
    import pandas as pd

    firsts = []
    alike = ["method", "group", "target", "layer", "iou", "n"]
    for keys, some in lines.groupby(alike, sort=False, dropna=False):
        same = keys[1] == "baseline" and len(some) > 1
        firsts.append(some.head(1).assign(model=f"{len(some)} models") if same else some)
    return pd.concat(firsts).sort_index()


def _table(
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    numbers: Iterable[int] = (),
    kinds: Sequence[str] | None = None,
) -> str:
    """Return a table; its cells are HTML already."""
    right = set(numbers)

    def cells(tag: str, texts: Sequence[str]) -> Iterator[str]:
        for place, text in enumerate(texts):
            yield f"<{tag}{' class=num' if place in right else ''}>{text}</{tag}>"

    body = []
    for number, row in enumerate(rows):
        kind = f' class="{kinds[number]}"' if kinds and kinds[number] else ""
        body.append(f"<tr{kind}>{''.join(cells('td', row))}</tr>")
    head = "".join(cells("th", [escape(text) for text in heads]))
    return (
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table></div>"
    )


def _bar(share: float) -> str:
    width = 0 if math.isnan(share) else round(100 * min(max(share, 0.0), 1.0))
    return f'<span class="bar"><i style="width:{width}%"></i></span>'


def _number(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.3f}"


def _signed(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:+.3f}".replace("-", "−")


def _percent(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.0%}"


def _times(value: float, digits: int) -> str:
    return "–" if math.isnan(value) else f"{value:.{digits}f}×"


def _p(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.2g}"


def _with_interval(value: float, low: float, high: float) -> str:
    if math.isnan(low):
        return _number(value)
    return f"{_number(value)}<small> ({_number(low)} to {_number(high)})</small>"


def _span(value: float, low: float, high: float) -> str:
    if math.isnan(low):
        return _signed(value)
    return f"{_signed(value)}<small> ({_signed(low)} to {_signed(high)})</small>"


def _sentence(note: str) -> str:
    return " ".join(f"{part[:1].upper()}{part[1:]}." for part in note.split("; ") if part)
