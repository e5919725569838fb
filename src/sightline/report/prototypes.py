"""What a report says of prototypes: relevance beside chance, drops, natures, and the premise."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

from sightline.core import SightlineError
from sightline.core.words import counted
from sightline.report._figures_prototypes import opened_benchmark
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
from sightline.results.prototypes import benchmark_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from sightline.attribution.prototypes.nature import Premise
    from sightline.report.figures import StoreFigures
    from sightline.results.prototypes import StoredBenchmark

    Row = Mapping[Any, Any]

__all__ = [
    "Benchmarked",
    "Benchmarks",
    "benchmark_html",
    "benchmark_words",
    "in_short",
    "read_benchmarks",
]

CAUTIONS = (
    "A shift of the hue moves the brightness as well, so that a similarity made of brightness "
    "seems to be made of hue. Soft blends of an image with its changed copy are greyer than "
    "either. Dual copies of a small map change nearly all of the image: far more pixels than the "
    "focused ones. What matters is told by 95% intervals, each on its own: about 1 in 40 "
    "prototypes and perturbations without any effect seems to matter."
)
_UNKNOWN = (
    "Of unknown nature are those whose similarity nothing that was tried touches more where the "
    "map is high than elsewhere: it is not told what they are similar by, which questions that "
    "they can be read from their patches."
)
_MEASURES = {"energy_relevance": "energy", "mask_relevance": "mask"}
_SIDES = {"prototype": "prototypes", "patch": "patches"}


@dataclass(frozen=True)
class Benchmarked:
    """What a benchmark of prototypes found, as tables; None where it was not analysed.

    Attributes
    ----------
    name, model
        Of the benchmark, and of the model.
    by_class
        Whether scores are logits of classes; rows are classes then.
    accuracy, counts, classes
        As `benchmark.json` has them.
    class_names
        The class of each prototype that speaks for one.
    relevance
        Mean relevance with intervals and chance, as `StoredBenchmark.relevance_means` has it.
    effects
        What each perturbation does: to all prototypes (prototype -1), then to each.
    prototypes
        A row for each prototype: nature, images, relevance, chance.
    premise
        How often focused copies lose more than dual ones.
    """

    name: str
    model: str
    by_class: bool
    accuracy: Mapping[str, Any]
    counts: Mapping[str, int]
    classes: Sequence[str]
    relevance: pd.DataFrame | None = None
    effects: pd.DataFrame | None = None
    prototypes: pd.DataFrame | None = None
    premise: Premise | None = None
    class_names: Mapping[int, str] = field(default_factory=dict)

    @property
    def whose(self) -> str:
        """What rows are about: "prototype" or "class"."""
        return "class" if self.by_class else "prototype"

    def files(self, end: str = "") -> dict[str, pd.DataFrame]:
        """Return the tables as files by name."""
        names = {
            f"prototype_relevance_means{end}.csv": self.relevance,
            f"prototype_effects{end}.csv": self.effects,
            f"prototype_natures{end}.csv": self.prototypes,
        }
        return {name: table for name, table in names.items() if table is not None}


@dataclass(frozen=True)
class Benchmarks:
    """The benchmarks of a store, and why some could not be read."""

    found: tuple[Benchmarked, ...] = ()
    missing: dict[str, str] = field(default_factory=dict)

    def files(self) -> dict[str, pd.DataFrame]:
        """Return the tables of all as files by name."""
        several = len(self.found) > 1
        made: dict[str, pd.DataFrame] = {}
        for one in self.found:
            made |= one.files(f"_{one.name}" if several else "")
        return made

    def files_of(self, one: Benchmarked) -> tuple[str, ...]:
        """Return the names of the files of one of them."""
        return tuple(one.files(f"_{one.name}" if len(self.found) > 1 else ""))


def read_benchmarks(figures: StoreFigures) -> Benchmarks:
    """Read the benchmarks of a store, as far as they can be.

    Parameters
    ----------
    figures
        Of the store.
    """
    made, missing = [], dict[str, str]()
    for name in benchmark_names(figures.results.path):
        try:
            made.append(_read(opened_benchmark(figures, name)))
        except SightlineError as error:
            missing[name] = str(error)
    return Benchmarks(tuple(made), missing)


def _read(found: StoredBenchmark) -> Benchmarked:
    import pandas as pd

    from sightline.report.prototype_cards import known_prototypes, nature_words

    relevance = effects = premise = None
    if found.relevance is not None:
        relevance = pd.DataFrame([one._asdict() for one in found.relevance_means])
    if found.drops is not None:
        effects = pd.DataFrame([one._asdict() for one in found.effects()])
        premise = found.premise()
    rows = [
        one._asdict() | {"nature": nature_words(one.nature) if one.images else "not perturbed"}
        for one in known_prototypes(found)
    ]
    return Benchmarked(
        found.name, found.model, found.by_class, found.accuracy, dict(found.about["counts"]),
        tuple(found.about["classes"]), relevance, effects, pd.DataFrame(rows) if rows else None,
        premise, found.class_names,
    )  # fmt: skip


# --- words ---------------------------------------------------------------------------------------


def benchmark_words(found: Benchmarked) -> list[Finding]:
    """Return what a benchmark says, in sentences that follow from the numbers by fixed rules."""
    said = [_accuracy_words(found)]
    if found.relevance is not None:
        rows = found.relevance.to_dict("records")
        for kind in _SIDES:
            some = [row for row in rows if row["kind"] == kind]
            said += [_relevance_words(kind, some)] if some else []
    if found.premise is not None:
        said.append(_premise_words(found.premise, found.whose))
    if found.effects is not None:
        said.append(_matters_words(found))
        said.append(_nature_words(found))
        said.append(Finding("Before you read drops", CAUTIONS, "doubt"))
    return said


def in_short(found: Benchmarked) -> Finding:
    """Return one sentence on a benchmark for the top of a report."""
    many = "classes" if found.by_class else "prototypes"
    said = [] if (relevant := _short_relevance(found)) is None else [relevant]
    premise = found.premise
    if premise is not None and premise.rows:
        open_ = "is left open" if not premise.difference_high < 0 else "does not hold"
        holds = "holds" if premise.difference_low > 0 else open_
        cases = f"{premise.share:.1%} of {premise.rows:,} cases"
        said.append(f"the premise that changes cost most where the map is high {holds} ({cases})")
    if found.effects is not None:
        told, total = _told(found)
        said.append(f"what the similarity is made of is told for {told} of {total} {many}")
    text = "; ".join(said) or "nothing could be told"
    return Finding(f"{many.capitalize()} ({found.name})", f"{found.model}: {text}.")


def _short_relevance(found: Benchmarked) -> str | None:
    """Say whether patches, or else prototypes, lie on the object."""
    rows = [] if found.relevance is None else found.relevance.to_dict("records")
    for kind in ("patch", "prototype"):
        for row in rows:
            if row["kind"] == kind and row["measure"] == "energy_relevance":
                if not math.isfinite(row["value"]):
                    continue
                side = "more" if row["difference_low"] > 0 else "not shown to be more"
                side = "less" if row["difference_high"] < 0 else side
                return (
                    f"{number(row['value'])} of the attribution of {_SIDES[kind]} lies on what is "
                    f"annotated, {side} than chance ({number(row['chance'])})"
                )
    return None


def _told(found: Benchmarked) -> tuple[int, int]:
    """Return of how many prototypes the nature is told, and how many there are."""
    table = found.prototypes
    plain = ("unknown", "undecided", "not perturbed")
    told = 0 if table is None else sum(one not in plain for one in table["nature"])
    total = len(found.classes) if found.by_class else int(found.counts.get("prototypes", 0))
    return told, total


def _accuracy_words(found: Benchmarked) -> Finding:
    accuracy = found.accuracy
    if accuracy["value"] is None:
        text = f"It is not known how often {found.model} is right: no label is one of its classes."
        return Finding("The model", text)
    ends = ""
    if accuracy["low"] is not None:
        ends = f" (95% interval {accuracy['low']:.1%} to {accuracy['high']:.1%})"
    text = (
        f"{found.model} is right on {accuracy['value']:.1%}{ends} of "
        f"{counted(int(accuracy['images']), 'image')}."
    )
    return Finding("The model", text)


def _relevance_words(kind: str, rows: Sequence[Row]) -> Finding:
    """Say whether attributions lie on the object more than chance has it."""
    head = f"Do {_SIDES[kind]} lie on the object?"
    known = [row for row in rows if math.isfinite(row["value"])]
    lost = [
        f"{_MEASURES[row['measure']]} undefined ({row['reasons']})"
        for row in rows
        if row["undefined"]
    ]
    if not known:
        return Finding(head, f"It is not defined: {'; '.join(lost)}.", "doubt")
    parts = [
        f"{_MEASURES[row['measure']]} {number(row['value'])}"
        + (f" ({interval_words(row['low'], row['high'])})" if math.isfinite(row["low"]) else "")
        for row in known
    ]
    first = known[0]
    what = kind if first["lines"] == 1 else _SIDES[kind]
    size = f"{int(first['lines']):,} {what} on {counted(int(first['images']), 'image')}"
    text = f"Relevance of {_SIDES[kind]}: {', '.join(parts)}; chance {number(first['chance'])}"
    text += f" ({size}){''.join(f'; {one}' for one in lost)}."
    if all(row["difference_low"] > 0 for row in known):
        return Finding(head, f"{text} The intervals of the difference lie above 0.", "good")
    if all(row["difference_high"] < 0 for row in known):
        return Finding(head, f"{text} That is less than chance: they look elsewhere.", "bad")
    return Finding(head, f"{text} That is not shown to be more than chance.", "doubt")


def _premise_words(premise: Premise, whose: str) -> Finding:
    """Say whether focused copies lose more than dual ones, on which the analysis rests."""
    head = "Does the premise hold?"
    if not premise.rows:
        text = "It is not known without dual copies: nothing tells what matters."
        return Finding(head, text, "doubt")
    many = f"{premise.prototypes:,} {'classes' if whose == 'class' else 'prototypes'}"
    ends = ""
    if math.isfinite(premise.difference_low):
        ends = f" ({interval_words(premise.difference_low, premise.difference_high)})"
    text = (
        "The analysis takes it that changes cost more where the map is high than elsewhere. They "
        f"do in {premise.share:.1%} of {premise.rows:,} cases, and in the mean for "
        f"{premise.prototype_share:.1%} of {many}; focused minus dual drop is "
        f"{number(premise.difference)}{ends} in the mean."
    )
    if premise.difference_low > 0:
        return Finding(head, text, "good")
    if premise.difference_high < 0:
        text += (
            " It does not hold: the score takes in more of the image than the map shows, or the "
            "map misses what counts. Drops say little here of what similarity is made of."
        )
        return Finding(head, text, "bad")
    return Finding(head, f"{text} That leaves it open.", "doubt")


def _matters_words(found: Benchmarked) -> Finding:
    """Say which perturbations matter over all prototypes."""
    head = "What takes the score?"
    rows = _overall(found)
    some = [row for row in rows if row["matters"] is True]
    strongest = max(
        (row for row in rows if math.isfinite(row["focused"])),
        key=lambda row: row["focused"], default=None,
    )  # fmt: skip
    if strongest is None:
        return Finding(head, "No drop is defined: all scores are 0 or less.", "doubt")
    text = (
        f"Where the map is high, {strongest['perturbation']} takes most: "
        f"{strongest['focused']:.1%} of the score in the mean."
    )
    if some:
        some.sort(key=lambda row: -row["difference"])
        names = ", ".join(f"{row['perturbation']} (by {row['difference']:.1%})" for row in some)
        return Finding(head, f"{text} More there than elsewhere: {names}.", "good")
    if all(row["matters"] is None for row in rows):
        return Finding(head, f"{text} Whether that is more than elsewhere is undecided.", "doubt")
    return Finding(head, f"{text} Nothing takes more there than elsewhere.", "doubt")


def _overall(found: Benchmarked) -> list[Row]:
    """Return the rows of the effects over all prototypes."""
    if found.effects is None:
        return []
    rows = found.effects[found.effects["prototype"] < 0].to_dict("records")
    return [{**row, "matters": _decided(row["matters"])} for row in rows]


def _decided(value: Any) -> bool | None:
    """Return whether something matters; None where that is undecided."""
    return bool(value) if value is not None and value == value else None


def _nature_words(found: Benchmarked) -> Finding:
    """Count the natures."""
    table = found.prototypes
    natures = [] if table is None else [row for row in table["nature"] if row != "not perturbed"]
    unknown, undecided = natures.count("unknown"), natures.count("undecided")
    told, total = _told(found)
    many = "classes" if found.by_class else "prototypes"
    text = (
        f"Of {total} {many}, {len(natures)} are among the most similar of an image. The nature of "
        f"{told} is told, of {unknown} unknown, of {undecided} undecided for want of images."
    )
    if unknown:
        text += f" {_UNKNOWN}"
    return Finding("Nature of the similarity", text, "plain" if told and not unknown else "doubt")


# --- tables --------------------------------------------------------------------------------------


def benchmark_html(found: Benchmarked) -> str:
    """Return the words and tables of a benchmark."""
    parts = [f"<h3>{escape(found.name)}: {escape(found.model)}</h3>"]
    parts.append(findings_html(benchmark_words(found)))
    if found.relevance is not None:
        parts.append(_relevance_table(found.relevance))
    if found.effects is not None:
        parts.append(_effects_table(found))
    if found.prototypes is not None:
        parts.append(_prototype_table(found, found.prototypes))
    return "\n".join(parts)


def _relevance_table(table: pd.DataFrame) -> str:
    heads = [Head("Relevance", number=False), Head("Mean"), Head("Chance"), Head("Difference"),
             Head("Count"), Head("Images"), Head("Undefined")]  # fmt: skip
    rows = []
    for row in table.to_dict("records"):
        gap = spanned(row, "difference", "difference_low", "difference_high")
        cells = [
            Cell(f"{_SIDES[row['kind']]}, {_MEASURES[row['measure']]}"),
            spanned(row, "value", "low", "high"), figure_cell(row["chance"]),
            gap._replace(strong=row["difference_low"] > 0),
            whole_cell(row["lines"]), whole_cell(row["images"]), whole_cell(row["undefined"]),
        ]  # fmt: skip
        rows.append(("", cells))
    caption = (
        "Energy: the share of the attribution on what is annotated; mask: that of its top pixels. "
        "Chance: the share of the image that is annotated. In brackets 95% intervals over images; "
        "bold where that of the difference is above 0."
    )
    for row in table.to_dict("records"):
        if row["undefined"]:
            share = row["undefined"] / (row["undefined"] + row["lines"])
            name = f"{_SIDES[row['kind']]}, {_MEASURES[row['measure']]}"
            caption += f" Undefined, {name}: {share:.1%} ({row['reasons']})."
    return table_html(heads, rows, label="Relevance of prototypes", caption=caption)


def _effects_table(found: Benchmarked) -> str:
    rows_of = _overall(found)
    whole = any(math.isfinite(row["whole"]) for row in rows_of)
    heads = [Head("Perturbation", number=False), Head("Focused drop"), Head("Dual drop"),
             Head("Difference"), Head("Matters", number=False),
             *([Head("Global drop")] if whole else []), Head("Images"),
             Head("Undefined")]  # fmt: skip
    rows = []
    for row in rows_of:
        spans = [spanned(row, one, f"{one}_low", f"{one}_high")
                 for one in ("focused", "dual", "difference")]  # fmt: skip
        said = {True: "yes", False: "no", None: "undecided"}[row["matters"]]
        cells = [
            Cell(str(row["perturbation"])), *spans, Cell(said, strong=row["matters"] is True),
            *([spanned(row, "whole", "whole_low", "whole_high")] if whole else []),
            whole_cell(row["images"]), whole_cell(row["undefined"]),
        ]  # fmt: skip
        rows.append(("", cells))
    caption = (
        "Share of the score that is lost, mean over all images and "
        f"{'classes' if found.by_class else 'prototypes'}. Focused: changed where the attribution "
        "is high; dual: where it is low. It matters where the 95% interval of the difference, over "
        "images, lies above 0. Undefined: the score was 0 or less."
    )
    return table_html(heads, rows, label="What perturbations take", caption=caption)


def _prototype_table(found: Benchmarked, table: pd.DataFrame) -> str:
    relevant = bool(table["energy"].notna().any())
    perturbed = found.effects is not None
    heads = [Head(found.whose.capitalize()), *([Head("Nature", number=False)] if perturbed else []),
             *([Head("Images")] if perturbed else []),
             *([Head("Energy"), Head("Mask"), Head("Chance")] if relevant else [])]  # fmt: skip
    rows = []
    for row in table.to_dict("records"):
        number_ = int(row["prototype"])
        named = found.by_class and number_ < len(found.classes)
        plain = row["nature"] in ("unknown", "undecided", "not perturbed")
        own = f"{number_} {found.class_names.get(number_, '')}".rstrip()
        cells = [Cell(found.classes[number_] if named else own, float(number_))]
        if perturbed:
            cells += [Cell(str(row["nature"]), strong=not plain), whole_cell(row["images"])]
        if relevant:
            cells += [figure_cell(row[one]) for one in ("energy", "mask", "chance")]
        rows.append(("", cells))
    caption = (
        "Nature: the perturbations that matter, the strongest first. Unknown: none does, which "
        "questions that the similarity can be read. Undecided: on fewer than 10 images. Not "
        "perturbed: never among the most similar of an image. Energy, mask and chance are of the "
        "image that the prototype was taken from."
    )
    label = f"Nature of each {found.whose}"
    return table_html(heads, rows, label=label, caption=caption, kind="sortable wide")
