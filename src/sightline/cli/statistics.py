"""Commands that say what scores are worth: tests against chance, and missing labels."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer

from sightline.cli.option_words import number_or_word
from sightline.cli.options import JsonOption, TableOutOption, TablesJsonOption
from sightline.cli.output import progress, show, show_json
from sightline.cli.stores import (
    SHOWN_LINES,
    compact,
    frame_blocks,
    frame_records,
    merged,
)
from sightline.core import InputError
from sightline.core.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table

    from sightline.results import SparsityReport

__all__ = ["sparsity", "stats"]

NullKind: TypeAlias = Literal["cross-image", "torus"]

_STORE = typer.Argument(help="Folder of a study's results: runs/NAME.")
_MODEL = typer.Option(help="Only this model.")
_METHOD = typer.Option(help="Only this method.")
_LAYER = typer.Option(
    help="Layer by number, last, best (chosen on the same images, and marked so; unless given), or "
    "split (for each half of the images, the best on the other half)."
)
_TARGET = typer.Option(help="Only maps of this target, and those that have none.")
_ALL = typer.Option("--all", help="Show every line and column.")
# What few ask for; --all shows it.
_EXTRA = ("exact", "p_holm", "p_bh", "p_wilcoxon", "dz", "classes")
_PAIRS_SHOWN = 6


def stats(
    store: Annotated[Path, _STORE],
    against: Annotated[
        str,
        typer.Option(
            help="chance, or a method of the study to compare each line with, such as centre."
        ),
    ] = "chance",
    null: Annotated[
        NullKind,
        typer.Option(
            help="What stands for chance: the maps of other images on the same regions "
            "(cross-image), or the same map moved around the edges (torus: no centre-bias control)."
        ),
    ] = "cross-image",
    metric: Annotated[
        str | None, typer.Option(help="Score, as iou@90 or coverage; iou@90 unless given.")
    ] = None,
    model: Annotated[str | None, _MODEL] = None,
    method: Annotated[str | None, _METHOD] = None,
    layer: Annotated[str | None, _LAYER] = None,
    target: Annotated[str | None, _TARGET] = None,
    head: Annotated[
        int | None, typer.Option(help="Attention head by number; fused heads unless given.")
    ] = None,
    images: Annotated[
        bool, typer.Option("--images", help="A line and a p-value for each image.")
    ] = False,
    permutations: Annotated[
        int, typer.Option(min=99, help="How often maps are exchanged, or signs flipped.")
    ] = 9999,
    seed: Annotated[int, typer.Option(min=0, help="What is drawn from.")] = 0,
    show_all: Annotated[bool, _ALL] = False,
    as_json: JsonOption = False,
    out: TableOutOption = None,
) -> None:
    """Test the scores of a study against chance, each with its interval and p-value.

    Chance is what the maps of other images score on the same regions: a pull to the centre, which
    all maps share, does not count as knowledge.

    The maps that the study kept are read again.
    """
    from sightline.data import check_table_path, write_table
    from sightline.results import against_chance, open_results

    if out is not None:
        check_table_path(out)
    chosen: Any = number_or_word("layer", layer, ("best", "last", "split"))
    with open_results(store) as results, progress("Reading maps") as move:
        frame = against_chance(
            results, metric, null=null, model=model, method=method,
            layer="best" if chosen is None else chosen, target=target, head=head,
            against=against, permutations=permutations, seed=seed, images=images, progress=move,
        )  # fmt: skip
        name = results.study["name"]
    if out is not None:
        write_table(frame, out)
    if as_json:
        about = {key: frame.attrs.get(key, "") for key in ("metric", "sentence", "note")}
        if "best_baseline" in frame.attrs:
            about["best_baseline"] = frame.attrs["best_baseline"]
        show_json({"study": name, "against": against, **about, "lines": frame_records(frame)})
        return
    show(*_stats_blocks(frame, f"{name}: {frame.attrs['metric']} against {against}", show_all))
    if out is not None:
        show(f"Written: {out}")


def _stats_blocks(frame: "pd.DataFrame", title: str, show_all: bool) -> "list[Table | str]":
    """Return the table, the outcome in a sentence, and what it rests on."""
    sentence = frame.attrs["sentence"]
    if show_all:
        heading, table, *notes = frame_blocks(frame, title, len(frame), whole=True)
        return [heading, table, sentence, *notes]
    shown = frame if "image" in frame or "difference" in frame else merged(frame)
    shown = shown.drop(columns=[name for name in shown if _dull(str(name), shown[name])])
    if "reason" in shown and _is_said(shown):
        shown = shown.drop(columns="reason")
    same = "n" in shown and shown["n"].nunique() == 1
    count = f", {counted(int(shown['n'].iloc[0]), 'image')}" if same else ""
    attrs = frame.attrs
    shown = compact(shown.drop(columns="n") if same else shown)
    shown.attrs = {**attrs, **shown.attrs}
    more = "--all shows them, and --model and --method choose"
    heading, table, *notes = frame_blocks(shown, f"{title}{count}", SHOWN_LINES, more=more)
    return [heading, table, sentence, *notes]


def _is_said(frame: "pd.DataFrame") -> bool:
    """Say whether the sentence or a note tells the reasons: all have a p-value, or none has."""
    tested = frame["p"].notna()
    return bool(tested.all() or (not tested.any() and frame["reason"].nunique() == 1))


def _dull(name: str, values: "pd.Series[Any]") -> bool:
    """Say whether a column tells what few ask for, or nothing."""
    return name in _EXTRA or (name == "alone" and not values.any()) or name == "against"


def sparsity(
    store: Annotated[Path, _STORE],
    gold: Annotated[
        Path | None,
        typer.Option(
            help="Store of the same study on images drawn at random and annotated completely."
        ),
    ] = None,
    completed: Annotated[
        Path | None,
        typer.Option(help="Store of the same study with annotations that a machine completed."),
    ] = None,
    metric: Annotated[
        str, typer.Option(help="IoU at a threshold: iou@90, iou@mass60, iou@mean.")
    ] = "iou@90",
    model: Annotated[str | None, _MODEL] = None,
    method: Annotated[str | None, _METHOD] = None,
    layer: Annotated[str | None, _LAYER] = None,
    target: Annotated[str | None, _TARGET] = None,
    draws: Annotated[
        int, typer.Option(min=50, help="How often labels are left out at random.")
    ] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="What is drawn from.")] = 0,
    width: Annotated[
        float | None,
        typer.Option(help="With --gold: warn where a joined interval is wider, such as 0.05."),
    ] = None,
    as_json: TablesJsonOption = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Page to write: .html; STORE/report/sparsity.html unless given."
        ),
    ] = None,
) -> None:
    """Say what missing labels may have done to the scores, and which conclusions survive them.

    Where people label one window of five, a model that looks at all five is scored as wrong.

    A page with all findings is written; only a gold set can say how large the bias is.
    """
    from sightline.data.outputs import check_output
    from sightline.report import write_page
    from sightline.results import open_results, sparsity_report

    if out is not None:
        check_output(out, "a page", (".html", ".htm"))
    elif store.is_dir() and not os.access(store, os.W_OK):
        raise InputError(f"{store}: cannot be written to; --out says where the page goes instead")
    chosen: Any = number_or_word("layer", layer, ("best", "last", "split"))
    with open_results(store) as results, progress("Reading maps") as move:
        report = sparsity_report(
            results, metric, gold=gold, completed=completed, model=model, method=method,
            layer="best" if chosen is None else chosen, target=target, draws=draws, seed=seed,
            width=width, progress=move,
        )  # fmt: skip
    page = write_page(report, out or store / "report" / "sparsity.html")
    if as_json:
        show_json({**report.to_dict(), "page": str(page)})
    else:
        show(*_sparsity_blocks(report), f"Page: {page}")


def _sparsity_blocks(report: "SparsityReport") -> "list[Table | str]":
    """Return the results on each set, what becomes of differences, and the findings."""
    from sightline.results import format_baseline_comparison

    title = f"{report.study}: {report.metric} on every set of labels"
    blocks = [*frame_blocks(_side_by_side(report), title, SHOWN_LINES)]
    blocks.append(format_baseline_comparison(report.best_baseline))
    if len(report.verdicts):
        blocks += frame_blocks(
            _pairs(report.verdicts), "Differences when labels are left out", _PAIRS_SHOWN,
            more="the page shows them",
        )  # fmt: skip
    if len(report.bias):
        blocks += frame_blocks(
            _bias(report.bias), "Gold minus other labels on the gold images", SHOWN_LINES,
            more="the page shows them",
        )  # fmt: skip
    heading = ""
    for kind, text in report.findings:
        if kind != heading:
            blocks.append(f"{kind}:")
        heading = kind
        blocks.append(f"  - {text}")
    warned = ["Warnings:", *(f"  - {text}" for text in report.warnings)]
    return [*blocks, *(warned if report.warnings else ()), *report.missing]


def _side_by_side(report: "SparsityReport") -> "pd.DataFrame":
    """Return a line for each model and method, with what each set of labels says."""
    import pandas as pd

    named = ["model", "method", "target", "layer"]
    lines = report.lines[report.lines["group"] != "baseline"]
    lines = lines if len(lines) else report.lines
    shown = lines[[*named, "chosen", "iou"]].rename(columns={"iou": "sparse"})
    sets = {what: some.set_index(named) for what, some in report.sets.groupby("set")}
    keys = [tuple(key) for key in shown[named].to_numpy()]
    for what in ("completed", "gold", "joined"):
        if what in sets:
            shown[what] = [sets[what]["value"].get(key) for key in keys]
    if "joined" in sets:
        about = ["the interval is that of the joined sets"]
        for end in ("low", "high"):
            shown[end] = [sets["joined"][end].get(key) for key in keys]
    else:
        about = [
            "the interval is that of sparse",
            "lift: recall of single labelled regions over the selected share, beside IoU only",
        ]
        shown[["low", "high", "lift"]] = lines[["low", "high", "region_lift"]]
    rate = report.dropout[report.dropout["rate"] == 0.3].set_index(named)
    bands = [f"{rate.loc[tuple(key), 'low']:.3f} to {rate.loc[tuple(key), 'high']:.3f}"
             for key in shown[named].to_numpy()]  # fmt: skip
    shown["band at 30%"] = pd.Series(bands, index=shown.index, dtype=str)
    # How layers were chosen is marked on them.
    hidden = ("layers were", *(["region IoU"] if "lift" not in shown else []))
    others = [part for part in report.note.split("; ") if not part.startswith(hidden)]
    shown.attrs["note"] = "; ".join(
        [
            "sparse: IoU with the labels as they are",
            *about,
            "the band at 30% is a sensitivity band, not a confidence interval",
            *filter(None, others),
        ]
    )
    return compact(shown)


def _bias(bias: "pd.DataFrame") -> "pd.DataFrame":
    """Return the paired differences of gold and other labels, with their verdicts."""
    columns = ["model", "method", "target", "labels", "difference", "low", "high", "p_holm",
               "detectable", "verdict", "reason"]  # fmt: skip
    shown = bias[columns].rename(columns={"difference": "Δ IoU"})
    if set(shown["labels"]) == {"sparse"}:
        shown = shown.drop(columns="labels")
    corrected = [name for name in ("p_holm", "detectable") if shown[name].notna().any()]
    parts = ["verdict: on the score against these labels"]
    if "detectable" in corrected:
        parts.insert(0, "detectable: the smallest bias that would have been found with 80% power")
    if len(bias) > 1 and corrected:
        parts.append(f"corrected for the number of lines: {', '.join(corrected)}")
    shown.attrs["note"] = "; ".join(parts)
    return compact(shown)


def _pairs(verdicts: "pd.DataFrame") -> "pd.DataFrame":
    from sightline.results.missing_label_findings import SHOWN_RATE, VERDICTS

    columns = [
        *("a", "b", "method", "target", "difference", "p_holm", "p_dropout", "same_sign"),
        "verdict",
    ]
    order = verdicts["difference"].abs().sort_values(ascending=False, kind="stable").index
    shown = verdicts.loc[order, columns].rename(
        columns={"difference": "Δ IoU", "same_sign": "sign kept"}
    )
    short = {text: word for word, text in VERDICTS.items()}
    kinds = [kind for kind in VERDICTS.values() if kind in set(shown["verdict"])]
    shown["verdict"] = [short[kind] for kind in shown["verdict"]]
    kept = (
        "sign kept: share of draws, half of the labels left out at random, in which the difference "
        "keeps its sign"
    )
    dropout = (
        f"p under dropout (p_dropout): permutation test with {SHOWN_RATE:.0%} of the labels left "
        "out, median of the draws"
    )
    told = ", ".join(f"{short[kind]} = {kind}" for kind in kinds)
    shown.attrs["note"] = f"{dropout}; {kept}; verdict: {told}"
    return compact(shown)
