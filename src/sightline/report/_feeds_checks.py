"""Figures of checks: of a study alone, model against method; others are not stored yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sightline.records import InputError
from sightline.report._feed import Feed, counted, labelled_images, told
from sightline.results._catalogue import BASELINE

if TYPE_CHECKING:
    import pandas as pd

    from sightline.report.feeding import Choice, Drawn, StoreFigures

__all__ = ["FEEDS", "REASONS"]

_NOT_STORED = "checks are not stored yet"


def _model_vs_method(store: StoreFigures, choice: Choice) -> Drawn:
    from sightline.figures.checks import create_model_vs_method_analysis
    from sightline.report.feeding import Drawn

    known = _known(store)
    every = store.lines(choice)
    models = set(known["model"])
    asked = every.pick(i for i, line in enumerate(every.lines) if line.model in models)
    shown = asked.shown(baselines=0)
    if not len(shown):
        raise InputError(f"{every.where.told()}: no method was applied to a classifier")
    table = shown.values(every.lead).merge(known, on=["model", "image"], how="inner")
    order = {name: place for place, name in enumerate(shown.names)}
    table = table.sort_values("name", key=lambda one: one.map(order), kind="stable")
    table["correct"] = table["correct"].astype(bool)
    table = table.reset_index(drop=True)
    figure = create_model_vs_method_analysis(table, metric=str(every.lead))
    classifiers = counted(len(models), "classifier")
    return Drawn(figure, table, told(shown, asked.shown(10**6, 0), classifiers))


def _known(store: StoreFigures) -> pd.DataFrame:
    """Return the answers of classifiers of which it is known whether they are right."""
    unlabelled = "its images have no labels that say which predictions are right"
    if not labelled_images(store):
        raise InputError(unlabelled)  # before models are asked
    known = store.predictions()
    if known is None:
        raise InputError("it is not known what models predict, or none of them is a classifier")
    if known["correct"].isna().all():
        raise InputError(unlabelled)
    return known[known["correct"].notna()]


def _model_missing(store: StoreFigures) -> str:
    models = set(_known(store)["model"])
    lines = [line for line in store.lines().lines if line.model in models]
    why = "no method was applied to a classifier"
    return "" if any(line.group != BASELINE for line in lines) else why


FEEDS = {"model-vs-method": Feed(_model_vs_method, _model_missing)}
REASONS = {"sanity-check": _NOT_STORED, "cascade": _NOT_STORED, "perturbation-drops": _NOT_STORED}
