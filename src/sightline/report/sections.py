"""What a report's page says, section by section."""

from __future__ import annotations

import json
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from sightline.core.words import counted
from sightline.figures.cards import FIGURES
from sightline.metrics import METRICS
from sightline.report.checks import faithfulness_html, missing_html, parts_html, sanity_html
from sightline.report.failures import failures_html
from sightline.report.page import (
    Cell,
    Head,
    Link,
    Section,
    Shown,
    figure_cell,
    figure_html,
    findings_html,
    table_html,
)
from sightline.report.prototypes import Benchmarks, benchmark_html
from sightline.report.tables import best_printed
from sightline.report.words import interval_words, number
from sightline.results import detection_table
from sightline.results._views import full_name
from sightline.results.leaderboard import QUARTILES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sightline.report.checks import Checked
    from sightline.report.findings import Findings, GuideRule
    from sightline.report.methods_text import MethodsText
    from sightline.report.plates import Plate
    from sightline.report.scores import Scored
    from sightline.report.tables import TableOne
    from sightline.results import Results

__all__ = ["Content", "sections_of"]


@dataclass(frozen=True)
class Content:
    """All that a page is made of.

    Attributes
    ----------
    results, scored
        The store, and the means of its lines.
    findings, guide
        What the numbers say, and the guide's rules beside ours.
    table_one, methods
        The paper's table, and its methods section.
    plates
        The figures.
    missing
        Why others are not there, by name.
    detections
        Names of evaluations.
    checked
        What checks of maps found.
    benchmarks
        What benchmarks of prototypes found.
    link
        Returns the address of a file of the report: inside the page, or beside it.
    beside
        How many files lie beside it.
    labels_page
        The page of `sightline sparsity` in the report's folder, or "".
    """

    results: Results
    scored: Scored
    findings: Findings
    guide: tuple[str, list[GuideRule]]
    table_one: TableOne
    methods: MethodsText
    plates: Sequence[Plate]
    missing: dict[str, str]
    detections: Sequence[str]
    checked: Checked
    benchmarks: Benchmarks
    link: Callable[[str], str]
    beside: int = 0
    labels_page: str = ""


def sections_of(content: Content) -> list[Section]:
    """Return the sections that the store has something for, in order."""
    made = [
        Section("summary", "Summary", _summary(content)),
        Section("table-1", "Table 1: methods by metrics", _table_one(content)),
        _of_figures(content, "figure-1", "Figure 1: examples", _FIGURE_ONE),
        _of_figures(content, "figure-2", "Figure 2: ROC, PR, ranking", _FIGURE_TWO),
        Section("checks", "Figure 3: sanity checks", _checks(content)),
        Section("faithfulness", "Faithfulness", _faithfulness(content)),
        Section("leaderboard", "Leaderboard", _leaderboard(content)),
        _of_figures(content, "layers", "Layers", _LAYERS),
        _of_figures(content, "thresholds", "Thresholds", _THRESHOLDS),
        Section("metrics", "All metrics", _all_metrics(content)),
        _of_figures(content, "breakdowns", "Features and styles", _BREAKDOWNS),
        _of_figures(content, "examples", "Best, median and worst images", _EXAMPLES),
        Section("failures", "Where the best line fails", _failures(content)),
        _of_figures(content, "single", "One image in detail", _SINGLE),
        _of_figures(content, "correctness", "Right and wrong predictions", _CORRECT),
        Section("prototypes", "Prototypes", _prototypes(content)),
        Section("detection", "Detection", _detection(content)),
        Section("guide", "The guide's rules beside ours", _guide(content)),
        Section("limits", "Limits and warnings", _limits(content)),
        Section("methods", "Methods", content.methods.html()),
        Section("references", "References", content.methods.references_html()),
        Section("files", "Files and provenance", _files(content)),
    ]
    return [one for one in made if one.html]


_FIGURE_ONE = (
    "Each image with what people marked on it, and the map of every method. Images were chosen by "
    "rule, not by eye: the reason stands with each."
)
_FIGURE_TWO = "How well maps rank pixels, and how lines rank under each metric."
_CHECKS = (
    "Whether maps depend on what the model has learned: its weights are made random, and the maps "
    "of the same images compared with those before."
)
_LAYERS = "How the main metric changes from the first layer to the last."
_THRESHOLDS = "Overlap with the annotation as more of the map is selected."
_BREAKDOWNS = (
    "Where the best line finds what people marked: by kind of part, and by label of image."
)
_EXAMPLES = (
    "For each method the image with its best, its median and its worst score. Single images show "
    "what scores mean; they prove nothing."
)
_SINGLE = "How two metrics come about on one image, and the map of the best line in detail."
_CORRECT = (
    "Whether maps fit the annotation better where the model is right. A difference shows "
    "plausibility; it does not show that maps are faithful to the model."
)

_PROTOTYPES = (
    "Of models that compare images with prototypes: whether prototypes lie on what is annotated, "
    "and what their similarity is made of. Pixels are changed where the attribution of a prototype "
    "is high (focused) and where it is low (dual), and the similarity is taken again."
)


def _of_figures(content: Content, place: str, title: str, lead: str) -> Section:
    figures = _figures(content, place)
    return Section(place, title, f"<p>{escape(lead)}</p>\n{figures}" if figures else "")


def _figures(content: Content, place: str) -> str:
    return "\n".join(
        figure_html(_shown(content, plate))
        for plate in content.plates
        if plate.wanted.place == place
    )


def _shown(content: Content, plate: Plate) -> Shown:
    """Return a figure with its caption; examples are named by what they are examples of."""
    card = FIGURES[plate.wanted.card]
    title = card.title
    if plate.wanted.note:
        title = f"{title}: {plate.wanted.note}"
    firsts: dict[str, str] = {}  # how to read it is said once
    for one in content.plates:
        firsts.setdefault(one.wanted.card, one.label)
    first = firsts[plate.wanted.card] == plate.label
    reading = card.reading if first else f"How to read it: see {firsts[plate.wanted.card]}."
    links = tuple(
        Link(name.rpartition(".")[2].upper(), name, content.link(name)) for name in plate.files
    )
    kind: Any = plate.kind
    return Shown(plate.label, title, plate.about, reading, plate.alt, kind, plate.html, links)


# --- checks --------------------------------------------------------------------------------------


def _checks(content: Content) -> str:
    table = content.checked.sanity
    figures = _figures(content, "checks")
    said = "" if table is None else sanity_html(table) + _downloads(("sanity_results.csv",))
    gone = _gone(content, "randomisation")
    if not (said or figures or gone):
        return ""
    return f"<p>{escape(_CHECKS)}</p>{missing_html(gone)}{said}\n{figures}"


def _faithfulness(content: Content) -> str:
    checked = content.checked
    found = {"faithfulness": (checked.faithfulness, faithfulness_html),
             "parts": (checked.parts, parts_html)}  # fmt: skip
    made = []
    for name, (table, html) in found.items():
        if table is not None:
            made.append(html(table) + _downloads((f"{name}_results.csv",)))
    gone = missing_html(_gone(content, *found))
    return f"{gone}{''.join(made)}\n{_figures(content, 'faithfulness')}".strip()


def _gone(content: Content, *checks: str) -> dict[str, str]:
    """Return why tables of checks are not there."""
    return {name: why for name, why in content.checked.missing.items() if name in checks}


def _failures(content: Content) -> str:
    checked = content.checked
    if checked.worst is None or content.findings.best is None:
        return missing_html(_gone(content, "failures"))
    names = tuple(one for one in ("worst_images.csv", "failure_reasons.csv")
                  if one in checked.files())  # fmt: skip
    shown = failures_html(checked.worst, checked.reasons, content.findings.best)
    return shown + _downloads(names)


def _prototypes(content: Content) -> str:
    found = content.benchmarks
    if not (found.found or found.missing):
        return ""
    parts = [f"<p>{escape(_PROTOTYPES)}</p>", missing_html(found.missing)]
    for one in found.found:
        parts.append(benchmark_html(one) + _downloads(found.files_of(one)))
        figures = [
            figure_html(_shown(content, plate))
            for plate in content.plates
            if plate.wanted.place == "prototypes" and plate.wanted.choice.model == one.name
        ]
        parts += figures
    return "\n".join(parts)


# --- summary and Table 1 -------------------------------------------------------------------------


def _summary(content: Content) -> str:
    data = content.results.manifest["data"]
    about = (
        f"<p>{counted(int(data['images']), 'image')} with "
        f"{counted(int(data['regions']), 'annotated region')}; scores compare maps with what "
        f"people marked there. Lines are sorted by <b>{escape(content.scored.metric)}</b>. The "
        "sentences below follow from the numbers by fixed rules.</p>"
    )
    warned = [one for one in content.findings.limits if one.tone == "bad"]
    warning = ""
    if warned:
        heads = ", ".join(escape(one.head.lower()) for one in warned)
        where = '<a href="#limits">limits and warnings</a>'
        warning = (
            f'<div class="note"><p>Before you use these numbers: {heads}. See {where}.</p></div>'
        )
    return f"{about}{_cards(content)}{findings_html(content.findings.summary)}{warning}"


def _cards(content: Content) -> str:
    scored, found = content.scored, content.findings
    cards = []
    if found.best is not None:
        row = scored.row(found.best)
        span = interval_words(row["low"], row["high"])
        cards.append((number(row["value"]), f"{scored.metric} of the best line",
                      f"{found.best}; {span}"))  # fmt: skip
        cards.append((number(row["chance"]), "chance", "a constant map, same areas"))
    if found.baseline is not None:
        row = scored.row(found.baseline)
        cards.append((number(row["value"]), "best baseline",
                      f"{found.baseline}; {interval_words(row['low'], row['high'])}"))  # fmt: skip
    if found.best is not None and scored.row(found.best)["ceiling"] < 1:
        row = scored.row(found.best)
        cards.append((number(row["ceiling"]), "ceiling", "the most possible at these areas"))
    boxes = "".join(
        f'<div class="card"><b>{escape(big)}</b>{escape(what)}<small>{escape(small)}</small></div>'
        for big, what, small in cards
    )
    return f'<div class="cards">{boxes}</div>' if boxes else ""


def _table_one(content: Content) -> str:
    table = content.table_one
    heads = [Head("Method", number=False), *(Head(_metric_head(one)) for one in table.metrics)]
    rows: list[tuple[str, list[Cell]]] = []
    for name, group, cells in table.rows:
        made = [
            Cell(
                f"{number(cell.value)} ± {number(cell.std)}" if cell.std == cell.std
                else number(cell.value),
                cell.value if cell.value == cell.value else None,
                "" if cell.low != cell.low else f"[{number(cell.low)}, {number(cell.high)}]",
                cell.best,
            )
            for cell in cells
        ]  # fmt: skip
        base = group == "baseline"
        rows.append(
            ("base" if base else "", [Cell(f"{name}{' (baseline)' if base else ''}"), *made])
        )
    rows.append(("chance", [Cell("Chance"), *(figure_cell(value) for value in table.chance)]))
    made_table = table_html(heads, rows, label="Table 1", caption=table.note)
    return made_table + _downloads(("table1.tex", "table1.md", "summary_results.csv"))


def _metric_head(metric: str) -> str:
    direction = METRICS[metric.partition("@")[0]].direction
    return (
        f"{metric} {'↓' if direction == 'lower' else '↑' if direction == 'higher' else ''}".strip()
    )


def _downloads(names: Sequence[str]) -> str:
    """Lead to files; each of them is in the page once, in the last section."""
    links = "".join(f'<a href="#file-{_key(name)}">{escape(name)}</a>' for name in names)
    return f'<div class="downloads">Files: {links}</div>'


def _key(name: str) -> str:
    return name.replace(".", "-").replace("_", "-")


# --- scores --------------------------------------------------------------------------------------


def _leaderboard(content: Content) -> str:
    scored = content.scored
    rows = scored.of(scored.metric)
    iou = bool(rows["corrected"].notna().any())
    heads = [
        Head("Line", number=False), Head("Layer"), Head(_metric_head(scored.metric)),
        Head("95% interval"), Head("Median"), Head("Chance"), Head("Ceiling"),
        *([Head("Corrected")] if iou else []), Head("Images"), Head("Undefined"),
    ]  # fmt: skip
    body = []
    for row in rows.to_dict("records"):
        layer = "" if _unknown(row["layer"]) else str(row["layer"])
        star = "*" if "same images" in row["chosen"] else ""
        span = "–" if _unknown(row["low"]) else f"{number(row['low'])} to {number(row['high'])}"
        shared = row["model"] if row["model"].endswith(" models") else ""
        target = f"target: {row['target']}" if row["target"] else ""
        cells = [
            Cell(row["name"], below=", ".join(filter(None, (row["group"], shared, target)))),
            Cell(f"{layer}{star}" if layer else "–", _float(row["layer"])),
            figure_cell(row["value"]), Cell(span, _float(row["low"])), figure_cell(row["median"]),
            figure_cell(row["chance"]), figure_cell(row["ceiling"]),
            *([figure_cell(row["corrected"])] if iou else []),
            Cell(f"{int(row['n']):,}", float(row["n"])),
            Cell(f"{int(row['undefined']):,}", float(row["undefined"])),
        ]  # fmt: skip
        body.append(("base" if row["group"] == "baseline" else "", cells))
    caption = (
        f"Means of {scored.metric} over images with 95% intervals. Baselines are grey; one that is "
        "the same for several models has one line. Layers count from 0. *: the layer that did best "
        "on the same images, which flatters it."
    )
    if iou:
        caption += " Corrected: the share of the way from chance (0) to the ceiling (1)."
    table = table_html(heads, body, label=f"Leaderboard by {scored.metric}", caption=caption)
    return f"{table}\n{_render_percentiles(scored)}\n{_figures(content, 'leaderboard')}"


def _render_percentiles(scored: Scored) -> str:
    """Show at which percentile the IoU of each line is largest; nothing where it is not stored."""
    rows = scored.of("best_iou") if "best_iou" in scored.metrics else None
    if rows is None or not rows["percentile_median"].notna().any():
        return ""
    heads = [Head("Line", number=False), Head("Best IoU"), Head("Best percentile, median"),
             Head("Quartiles")]  # fmt: skip
    body = []
    for row in rows.to_dict("records"):
        low, middle, high = (_float(row[name]) for name in QUARTILES)
        span = "–" if low is None else f"{low:.1f} to {high:.1f}"
        cells = [
            Cell(row["name"]), figure_cell(row["value"]),
            Cell("–" if middle is None else f"{middle:.1f}", middle), Cell(span, low),
        ]  # fmt: skip
        body.append(("base" if row["group"] == "baseline" else "", cells))
    caption = (
        "The percentile at which the IoU of an image is largest, over images: it depends on the "
        "image, above all on how much of it is annotated. Best IoU chooses its threshold on the "
        "annotation that it is scored against."
    )
    return table_html(heads, body, label="Best percentile", caption=caption)


def _unknown(value: Any) -> bool:
    import pandas as pd

    return bool(pd.isna(value))


def _float(value: Any) -> float | None:
    try:
        return None if _unknown(value) else float(value)
    except (TypeError, ValueError):
        return None


def _all_metrics(content: Content) -> str:
    scored = content.scored
    heads = [Head("Line", number=False), *(Head(_metric_head(one)) for one in scored.metrics)]
    tables = {metric: scored.of(metric) for metric in scored.metrics}
    best = {metric: best_printed(table, metric) for metric, table in tables.items()}
    rows = []
    for place, (name, group) in enumerate(
        zip(scored.about["name"], scored.about["group"], strict=True)
    ):
        cells = [Cell(name)]
        for metric, table in tables.items():
            row = table.iloc[place]
            cell = figure_cell(row["value"])
            std = "" if _unknown(row["std"]) else f"± {number(row['std'])}"
            strong = group != "baseline" and round(float(row["value"]), 3) == best[metric]
            cells.append(cell._replace(below=std, strong=strong))
        rows.append(("base" if group == "baseline" else "", cells))
    chance = [figure_cell(table["chance"].mean()) for table in tables.values()]
    rows.append(("chance", [Cell("Chance"), *chance]))
    caption = (
        "Mean and standard deviation over images of the same maps under every metric: those of the "
        f"layer that {scored.metric} chose. Bold: the best of its column among methods, equal ones "
        "share it. Chance: what a constant map scores, mean over lines."
    )
    if any(metric.startswith("recall") for metric in scored.metrics):
        caption += " recall does not count attention elsewhere as a mistake: read it beside iou or "
        caption += "coverage only."
    made = table_html(heads, rows, label="All metrics", caption=caption, kind="sortable wide")
    links = _downloads(("summary_results.csv", "detailed_results.csv"))
    return f"{made}{links}\n{_figures(content, 'metrics')}"


# --- detection, guide, limits --------------------------------------------------------------------


def _detection(content: Content) -> str:
    if not content.detections:
        return ""
    frame = detection_table(content.results.path)
    heads = [Head(str(name), number=place > 1) for place, name in enumerate(frame)]
    rows = [
        ("", [_any_cell(value) for value in row])
        for row in frame.itertuples(index=False, name=None)
    ]
    table = table_html(
        heads, rows, label="Detection results",
        caption="The figures of COCO for each evaluation that is stored; –: not defined there.",
        kind="sortable wide",
    )  # fmt: skip
    return f"{table}\n{_figures(content, 'detection')}"


def _any_cell(value: Any) -> Cell:
    if isinstance(value, str):
        return Cell(value)
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer() and value > 1):
        return Cell(f"{int(value):,}", float(value))
    return figure_cell(value)


def _guide(content: Content) -> str:
    line, rules = content.guide
    titles = ("What, and the guide's rule", "Here", "The guide says", "We say", "Why they differ")
    heads = [Head(text, number=False) for text in titles]
    rows = [
        (
            "",
            [
                Cell(rule.what, below=rule.rule),
                Cell(rule.value),
                Cell(rule.guide, below=_of_baseline(rule.baseline)),
                Cell(rule.ours),
                Cell(rule.why),
            ],
        )
        for rule in rules
    ]
    lead = (
        "<p>The guide that Table 1 and the figures follow calls maps good or bad by fixed bounds, "
        "which know neither chance (but for its red flag of AP) nor ceiling nor baselines; ours "
        f"do. Both judge the best line, <b>{escape(line)}</b>, unless another is named.</p>"
    )
    halves = "" if content.scored.halves is None else " (layers chosen by halves)"
    table = table_html(heads, rows, label="Rules of interpretation",
                       caption="The guide's verdicts are its own words; ours follow from 95% "
                       f"intervals and paired sign-flip tests{halves}, each on its own, not "
                       "corrected for their number.", kind="guide")  # fmt: skip
    return f"{lead}{table}"


def _of_baseline(verdict: str) -> str:
    return "" if verdict == "–" else f"of the best baseline, {verdict}"


def _limits(content: Content) -> str:
    extra = ""
    if content.labels_page:
        extra = (
            f'<p><a href="{escape(content.labels_page)}">Missing labels</a>: how far scores could '
            "move, and a permutation test of each difference between models with labels left out."
            "</p>"
        )
    if content.missing:
        names = "".join(
            f"<li><b>{escape(FIGURES[name].title if name in FIGURES else name)}</b>: "
            f"{escape(why)}</li>"
            for name, why in content.missing.items()
        )
        extra += f"<h3>Figures that are not here</h3><ul>{names}</ul>"
    return f"{findings_html(content.findings.limits)}{extra}"


# --- provenance ----------------------------------------------------------------------------------


def _files(content: Content) -> str:
    names = ["summary_results.csv", "detailed_results.csv", "table1.tex", "table1.md",
             "methods.tex", "references.bib", *content.checked.files(),
             *content.benchmarks.files()]  # fmt: skip
    links = "".join(
        f'<li id="file-{_key(name)}"><a class="file" href="{content.link(name)}" '
        f'download="{escape(name)}">{escape(name)}</a></li>'
        for name in names
    )
    manifest = content.results.manifest
    rows = [
        ("Study", str(content.results.study["name"])),
        ("Folder", content.results.path.name),
        ("Tasks stored", str(content.results.progress)),
        ("Data", f"digest {manifest['data']['digest']}"),
        ("Plan", str(manifest.get("plan", ""))),
        ("Commit", str(manifest.get("git") or "not known")),
        ("Machine", ", ".join(str(one) for one in (manifest.get("machine") or {}).values())),
        ("Packages", ", ".join(f"{k} {v}" for k, v in manifest["versions"].items())),
    ]
    for one in manifest["models"]:
        name = full_name(one)
        rows.append((f"Weights of {name}", str(one["digest"])))
    shown = table_html(
        [Head("What", number=False), Head("Value", number=False)],
        [("", [Cell(what), Cell(value)]) for what, value in rows],
        label="Provenance", caption="As the store's manifest has it.", kind="plain",
    )  # fmt: skip
    study = json.dumps(content.results.study, indent=1, ensure_ascii=False, sort_keys=False)
    beside = ""
    if content.beside:
        beside = (
            f"<p>{counted(content.beside, 'file')} would make this page too large: they lie beside "
            "it in its folder, and their links need that folder.</p>"
        )
    return (
        f'<ul class="files">{links}</ul>{beside}{shown}'
        f"<details><summary>The study, with every choice</summary><pre>{escape(study)}</pre>"
        "</details>"
    )
