"""What missing labels may have done to the scores of a store, and what can be said all the same."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sightline.core import InputError
from sightline.results._bias import build_bias_table
from sightline.results._catalogue import BASELINE
from sightline.results._label_tables import counts_table, labelling_table, pu_table
from sightline.results._lines import make_lines
from sightline.results._missing_label_inputs import Material, names, or_none, shown_of
from sightline.results._pair_tables import deltas_tables
from sightline.results._review_notes import gold_strata, warnings_of
from sightline.results._score_tables import divergence_table, dropout_table, lines_table
from sightline.results.annotation_sets import check_fit, open_other, result_lines, sets_of
from sightline.results.comparison import compare_with_baseline
from sightline.results.configuration_scores import Measurer
from sightline.results.leaderboard import find_warnings, layer_column, list_map_keys, so_far
from sightline.results.map_reader import open_scenes
from sightline.results.missing_label_findings import conclude

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    import pandas as pd

    from sightline.core.choices import Layer
    from sightline.results import BaselineComparison, Results
    from sightline.results._lines import Line
    from sightline.results._views import Name
    from sightline.results.map_reader import Scenes

    Progress = Callable[[int, int, str], object]

__all__ = ["SparsityReport", "sparsity_report"]


@dataclass(frozen=True, eq=False)
class SparsityReport:
    """What missing labels may have done to the scores of a study.

    Attributes
    ----------
    study, metric, main : str
        The study, its metric, and the line that single findings are about: the best that is no
        baseline.
    best_baseline : BaselineComparison
        That line against the best baseline of the run.
    images, regions : int
        How many are annotated.
    lines : DataFrame
        A line for each model, method and target: IoU with interval and chance, share of the
        ceiling, coverage, pointing; of single regions the mean IoU, recall and lift over regions
        (`region_…`), and the mean recall over images and labels (`label_recall`).
    counts : DataFrame
        By label: regions, instances known to be unlabelled, and regions of the gold set on its
        images, with the labelled share.
    divergence : DataFrame
        By line and label: where metrics disagree as missing labels would make them.
    dropout : DataFrame
        By line and rate: sensitivity bands of the mean IoU.
    deltas : DataFrame
        By pair of models and rate: how their difference fares as labels are left out, with the
        sign-flip test of `delta_under_dropout` (`p`: median over the draws; `significant`:
        fraction of the draws with p ≤ 0.05).
    verdicts : DataFrame
        By pair of models: differences in IoU, coverage and recall of single regions (means over
        images of an image's mean over its regions, `recall`, or its labels, `label_recall`), on
        the gold set and joined, what can be said of them, and that test with 30% of the labels
        left out (`p_dropout`, `significant_dropout`).
    pu : DataFrame
        By line: IoU corrected for unlabelled instances, by counts or over a range of frequencies.
    labelling : DataFrame
        By quantity: whether labelled instances look chosen at random.
    sets : DataFrame
        By line and set: results on the sparse, completed and gold set, and joined.
    bias : DataFrame
        By line and set of labels (sparse, completed): gold minus that score on the gold images,
        paired, with interval, p, its Holm correction over the lines, the smallest bias that would
        have been detected with 80% power, and a verdict. Empty without a gold set.
    findings : tuple of pairs of str
        What the bias could be, which differences survive it, and what cannot be told apart: a
        heading and a sentence each.
    warnings : tuple of str
        What speaks against comparing the scores, and against results on completed and gold labels.
    missing : tuple of str
        What was not given, and how to get it.
    note : str
        What else must be known.
    """

    study: str
    metric: str
    main: str
    best_baseline: BaselineComparison
    images: int
    regions: int
    lines: pd.DataFrame
    counts: pd.DataFrame
    divergence: pd.DataFrame
    dropout: pd.DataFrame
    deltas: pd.DataFrame
    verdicts: pd.DataFrame
    pu: pd.DataFrame
    labelling: pd.DataFrame
    sets: pd.DataFrame
    bias: pd.DataFrame
    findings: tuple[tuple[str, str], ...]
    missing: tuple[str, ...]
    note: str = ""
    warnings: tuple[str, ...] = ()

    TABLES = (
        *("lines", "counts", "divergence", "dropout", "deltas", "verdicts", "pu", "labelling"),
        *("sets", "bias"),
    )

    @property
    def conclusions(self) -> tuple[str, ...]:
        """The findings without their headings."""
        return tuple(text for _, text in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; what is missing is None."""
        plain: dict[str, Any] = {"study": self.study, "metric": self.metric, "main": self.main}
        plain["best_baseline"] = self.best_baseline.to_dict()
        counts = {"images": self.images, "regions": self.regions}
        tables = {
            name: json.loads(getattr(self, name).to_json(orient="records", double_precision=15))
            for name in self.TABLES
        }
        texts = {"conclusions": self.conclusions, "warnings": self.warnings}
        texts |= {"missing": self.missing}
        return {**plain, **counts, **tables, **texts, "note": self.note}


def sparsity_report(
    results: Results,
    metric: str = "iou@90",
    *,
    gold: str | os.PathLike[str] | Results | None = None,
    completed: str | os.PathLike[str] | Results | None = None,
    model: str | None = None,
    method: str | None = None,
    layer: Layer = "best",
    target: str | None = None,
    draws: int = 1000,
    seed: int = 0,
    width: float | None = None,
    progress: Progress | None = None,
) -> SparsityReport:
    """Say what missing labels may have done to the scores of a study.

    Parameters
    ----------
    results : Results
        Of a study that kept its maps.
    metric : str
        IoU at a threshold that does not look at the annotation.
    gold, completed : path or Results, optional
        Stores of the same study over the same images with other annotations: some images drawn at
        random and annotated completely by hand, and images whose annotation a machine completed.
    model, method, layer, target
        Which lines: see `Results`.
    draws : int
        How often labels are left out at random.
    seed : int
        Decides what is drawn.
    width : float, optional
        How wide the interval of a joined mean may be; where it is wider, `warnings` say how many
        gold images would do.
    progress : callable, optional
        Called with how much is done, of how much, and of what.

    Raises
    ------
    InputError
        If maps were not kept, the data have changed, or the stores do not fit each other.
    """
    tables = results._tables
    name = tables.name(metric)
    if name.metric != "iou" or name.threshold == "matched":
        raise InputError(
            f"metric must be iou at a percentile, mass or mean threshold, such as iou@90: missing "
            f"labels change what is asked by others; got {metric!r}"
        )
    if width is not None and not 0 < width < 1:
        raise InputError(f"width of an interval must be between 0 and 1, got {width!r}")
    where = results._where(model, method, layer, target)
    lines = make_lines(tables, name, where, layer)
    if not lines:
        raise InputError(f"no scores of {where.told()} are stored")
    move = progress or (lambda done, total, what: None)
    scenes = open_scenes(results)
    many = few = None
    try:
        many = open_other(completed, "completed", scenes)
        few = open_other(gold, "gold", scenes)
        check_fit(many, few, [line for line in lines if line.group != BASELINE] or lines, name)
        measured = _measured(scenes, name, lines, move)
        if not any(len(one.regions) for one in measured):
            raise InputError(
                f"{results.path}: no region is scored, so that missing labels change nothing"
            )
        strata = gold_strata(few, scenes, scenes.images)
        sets = {
            one.called: replace(sets_of(one, name, scenes.images, many, few), strata=strata)
            for one in shown_of(measured)
        }
        material = Material(scenes, name, measured, sets, many, few, draws, seed, move)
        best = compare_with_baseline(tables, name, material.main.line, where, layer)
        return _report(material, best, width)
    finally:
        scenes.close()
        for other in (many, few):
            if other is not None:
                other.close()


def _measured(scenes: Scenes, name: Name, lines: Sequence[Line], move: Progress) -> list[Any]:
    """Measure lines one after the other: no more than one line's maps are in memory."""
    measurer = Measurer(scenes, name.threshold)
    found = []
    for number, line in enumerate(lines):
        move(number, len(lines), f"Measuring {line.model} {line.method}")
        one = measurer.measure(line)
        scenes.check_same(name, line, list(one.images.index), one.images["iou"].to_numpy())
        found.append(one)
    return found


def _report(
    material: Material, best_baseline: BaselineComparison, width: float | None
) -> SparsityReport:
    """Put the tables together, and conclude."""
    deltas, verdicts = deltas_tables(material)
    counts = counts_table(material)
    found = {
        "lines": lines_table(material),
        "counts": counts,
        "divergence": divergence_table(material),
        "dropout": dropout_table(material),
        "deltas": deltas,
        "verdicts": verdicts,
        "pu": pu_table(material, counts),
        "labelling": labelling_table(material),
        "sets": _sets_table(material),
        "bias": build_bias_table(material),
    }
    for frame in found.values():
        if "layer" in frame:
            frame["layer"] = layer_column(or_none(frame["layer"]))
    main = material.main
    return conclude(
        SparsityReport(
            study=material.scenes.study.name,
            metric=str(material.name),
            main=main.called,
            best_baseline=best_baseline,
            images=int(main.images["area"].gt(0).sum()),
            regions=len(main.regions),
            **found,
            findings=(),
            missing=_missing(material),
            note=_note(material),
            warnings=(*_find_warnings(material), *warnings_of(material, width)),
        )
    )


def _sets_table(material: Material) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(
        [
            {**names(one.line), **line}
            for one in material.shown
            for line in result_lines(material.sets[one.called])
        ]
    )


def _note(material: Material) -> str:
    """Say what else must be known."""
    drawn = any(one.seeds > 1 for one in material.lines)
    chosen = any(one.line.chosen.startswith("best") for one in material.lines)
    parts = (
        "layers were chosen on the same images, which flatters them: layer split does not"
        if chosen
        else "",
        "labels are left out for the first seed of lines that have several" if drawn else "",
        _describe_region_means(material),
        _partly(material),
        so_far(material.scenes.results._tables),
    )
    return "; ".join(part for part in parts if part)


def _find_warnings(material: Material) -> tuple[str, ...]:
    keys = list_map_keys(one.line for one in material.lines)
    return find_warnings(material.scenes.results._tables, keys)


def _describe_region_means(material: Material) -> str:
    """State which mean of single regions each column estimates."""
    if material.count_instances() is not None:
        over = "over regions (each image and label weighs as many as its known instances)"
    else:
        over = (
            "over the labelled regions (where one of each image and label was labelled, that "
            "estimates the mean over images and labels, not over regions)"
        )
    return (
        f"region IoU, recall and lift are means {over}, label recall is the mean over images and "
        "labels"
    )


def _partly(material: Material) -> str:
    """Say on how many images a completed set is, where these are not all."""
    count = len(material.scenes.images)
    if material.completed is None or len(material.completed.shared) == count:
        return ""
    return f"the completed set has {len(material.completed.shared):,} of the {count:,} images"


def _missing(material: Material) -> tuple[str, ...]:
    """Say what was not given, and how to get it."""
    data = "the same study file with the other annotations as its data"
    gold = (
        "No gold set was given. Draw about 25 images at random, have every instance on them "
        f"annotated by people who see no proposals, run {data}, and pass its store with --gold: "
        "only that can say how far missing labels bias the scores."
    )
    completed = (
        "No completed set was given. Let a machine propose the missing instances on all images "
        f"(gold ones too) and people review them, run {data}, and pass its store with "
        "--completed: joined with a gold set it gives a narrower interval than gold images alone."
    )
    given = ((gold, material.gold), (completed, material.completed))
    return tuple(text for text, store in given if store is None)
