"""What the schema says beyond the models: fields of one meaning are told once, answers are shown.

Models say what is special about a field; what a name means wherever it stands is said here. The
examples of answers are real ones, cut short: ``python docs/make_examples.py STORE`` makes them.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["EXAMPLES", "complete", "meaning"]

EXAMPLES = Path(__file__).parent / "examples.json"

_PARTS = {
    "image_id": ("Id of an image, as /api/images lists it.", "facade-00000.png"),
    "name": ("Name of a file, as `downloads` of /api/study lists it.", "leaderboard.csv"),
}
_SHOWN = {
    "label": "window",
    "style": "Baroque",
    "split": "train",
    "text": "facade",
    "ids": "facade-00000.png,facade-00003.png",
    "image": "facade-00000.png",
}

_WORDS = {
    "a": "What is compared: the first.",
    "all": "How many there are.",
    "ancestors": "The labels above, the nearest first.",
    "ap": "Average precision, by the protocol.",
    "ap50": "Average precision at an IoU of 0.5.",
    "area": "Share of the image that is annotated.",
    "ascending": "Whether the smallest come first.",
    "b": "What is compared: the second.",
    "base": "Name of the model without its variant.",
    "best": "The highest point; null where none is defined.",
    "best_f1": "F1 at the confidence at which it is highest.",
    "best_for": "What the metric tells best.",
    "better": "Images on which a scores more than b.",
    "boxes": "True boxes first, then what was found.",
    "by": "What the lines are about.",
    "category": "Kind of metric.",
    "ceiling": "The best score that is possible; null where there is no such bound.",
    "cells": "The scores of a line, one for each metric; or rows and columns of the model's grid.",
    "chance": "What a map without information gets on average; null where that is not known.",
    "checks": "Names of the checks that are stored.",
    "choice": "Which maps the answer is about, and how that was chosen.",
    "chosen": "How the layer was chosen, in words; empty where there was no choice.",
    "citation": "Where the metric comes from.",
    "classes": "A line for each class.",
    "columns": "Columns, from left to right.",
    "confidence": "Lowest score that counts.",
    "confusion": "What was taken for what; null where it is not stored.",
    "correct": "Whether the label was predicted; null where the image has none.",
    "corrected": "The score with 0 at chance and 1 at the ceiling.",
    "count": "How many there are.",
    "counts": "How often; rows are true classes, columns predicted ones.",
    "coverage": "Share of the map's energy on the annotation.",
    "curves": "Precision over recall of each class.",
    "dataset_high": "The greatest value over a sample of images.",
    "default": "What is taken where nothing is asked for.",
    "direction": "Whether more or less is better.",
    "done": "How many are done.",
    "dz": "Mean of the differences over their standard deviation.",
    "equal": "Images on which both score the same.",
    "evaluations": "The stored evaluations, by name.",
    "f1": "Harmonic mean of precision and recall.",
    "figures": "The scores.",
    "findings": "What was found, in sentences.",
    "finished": "Whether all tasks are done.",
    "fn": "Objects that were missed.",
    "fp": "Detections that are wrong.",
    "group": "Family of the method; baseline for maps without a model.",
    "head": "From 0; null: heads are fused.",
    "height": "Of the image, in pixels; null: not known.",
    "high": "Upper end of the 95% interval; null where there is none.",
    "ignore": "Whether it counts for nothing, neither for nor against a map.",
    "image": "Id of the image.",
    "images": "How many images.",
    "iou": "Intersection over union.",
    "items": "What was found, in order.",
    "key": "Number or name of the class in its file.",
    "kind": "Shape of the region: box, polygon, mask, point …; empty: the data are gone.",
    "label": "Name of what is annotated.",
    "labels": "Labels, in order.",
    "layer": "From 0; null: no layers. Two numbers where halves of the images have their own.",
    "layer_a": "Layer of a.",
    "layer_b": "Layer of b.",
    "layered": "Whether there are layers.",
    "level": "What has the score: a map, a region, or the data set.",
    "lift": "How many times denser annotation is among the selected pixels than anywhere.",
    "limit": "How many at most.",
    "limitation": "What the metric does not tell.",
    "lines": "The lines of the table, in order.",
    "low": "Lower end of the 95% interval; null where there is none.",
    "main": "Name of the line that the report is mostly about.",
    "measure": "What is measured, as /api/checks lists it.",
    "median": "Median over images.",
    "method": "Name of the method that made the maps.",
    "methods": "The methods.",
    "metric": "Name of the score: metric[@threshold].",
    "metrics": "The metrics.",
    "missing": "What would tell more, in sentences.",
    "model": "Full name of the model.",
    "models": "The models, or how many.",
    "n": "How many scores the mean is over.",
    "name": "What it is called.",
    "needs": "What must be known for it.",
    "note": "What must be known to read the numbers.",
    "offset": "How many were left out before.",
    "p": "p-value by sign-flip test; null where there are too few images.",
    "p_holm": "The same, corrected by Holm for all lines.",
    "paper": "Who found the method.",
    "parents": "The labels right above.",
    "percentiles": "Those of the study.",
    "place": "Where the raster lies on the image.",
    "pointing": "1 where the map's maximum lies on the annotation, 0 where not; shared by ties.",
    "points": "The points of the line, from left to right.",
    "precision": "Share of what was selected, or found, that is right.",
    "predicted": "The class that the model says.",
    "predictions": "What the study's classifiers say of the image.",
    "probability": "That the model gives to it.",
    "protocol": "By whose rules detections were matched.",
    "prototypes": "Names of the stored analyses.",
    "rank": "1 is best; equal ones share a rank.",
    "reading": "Whether maps are compared as they are, or by the size of their values.",
    "recall": "Share of what is annotated that was selected, or found.",
    "region": "Index of a region in the annotation; null: all of them together.",
    "regions": "The regions, or how many.",
    "reliability": "How often detections are right, by confidence; null where it is not stored.",
    "resolution": "On which raster maps were scored.",
    "role": "What the metric is for.",
    "rows": "Rows, from top to bottom; or how many.",
    "sentence": "What the line means, in words.",
    "sign": "How values of the map are read.",
    "sort": "By what the images are sorted.",
    "spatial": "Whether it matters where the values lie.",
    "split": "Part of the data; empty: none.",
    "splits": "Parts of the data.",
    "status": "Always ok: the service answers.",
    "std": "Standard deviation over images.",
    "stored": "The scores that the study stored.",
    "study": "Name of the study.",
    "summary": "What was found, in a sentence.",
    "table": "The numbers.",
    "tables": "The numbers, by name.",
    "target": "What is explained; empty: no class.",
    "targets": "What the maps explain; none: no class.",
    "tasks_all": "How many tasks the study has.",
    "tasks_done": "How many of them are stored.",
    "total": "How many there are, on all pages.",
    "tp": "Detections that are right.",
    "undefined": "How many have no defined score.",
    "uniform": "What a uniform map gets, where the metric has no chance.",
    "value": "The score; null: undefined.",
    "value_a": "Mean score of a.",
    "value_b": "Mean score of b.",
    "values": "The scores; null: undefined.",
    "variant": "Of the model; empty: none.",
    "version": "Of the program.",
    "visible": "Share of the annotated area that the model could see.",
    "warnings": "What speaks against comparing the scores with one another; empty: nothing does.",
    "way": "How weights were redrawn.",
    "what": "What the method shows.",
    "width": "Of the image, in pixels; null: not known.",
    "worse": "Images on which a scores less than b.",
    "x": "Layer or percentile.",
    "x1": "Right edge, as a share of the image's width.",
    "y0": "Upper edge, as a share of the image's height.",
    "y1": "Lower edge, as a share of the image's height.",
}
# Where a name means something else than elsewhere.
_OWN = {
    "ComparisonLine.n": "Images on which both have a score.",
    "DetectionCurve.confidence": "Score of the detection at each point.",
    "DetectionCurve.precision": "At each point.",
    "DetectionCurve.recall": "At each point.",
    "ImageSummary.regions": "How many regions are scored.",
    "Health.models": "How many models.",
    "ImageSummary.warnings": "What is to be known of the image.",
    "MapHeader.columns": "Columns of the raster.",
    "MapHeader.rows": "Rows of the raster.",
    "MetricInfo.high": "The greatest value that is possible; null: no bound.",
    "MetricInfo.undefined": "When it is not defined.",
    "Progress.rows": "How many scores are stored.",
    "RegionInfo.area": "Share of the image that it covers.",
    "Shift.a": "Score of a on the image.",
    "Shift.b": "Score of b on the image.",
}


def meaning(model: str, field: str) -> str | None:
    """Return what a field of a model means, unless the model itself says so."""
    return _OWN.get(f"{model}.{field}") or _WORDS.get(field)


def complete(schema: dict[str, Any]) -> None:
    """Add to the schema of the service what models and routes leave to this module."""
    for name, model in schema["components"]["schemas"].items():
        for field, about in model.get("properties", {}).items():
            told = meaning(name, field)
            if told is not None:
                about.setdefault("description", told)
    for path, methods in schema["paths"].items():
        for method, about in methods.items():
            for one in about.get("parameters", ()):
                _describe(one)
            answer = about["responses"]["200"].get("content", {}).get("application/json")
            shown = _examples().get(f"{method} {path}", _examples().get(path))
            if answer and shown is not None:
                answer["example"] = shown


def _describe(one: dict[str, Any]) -> None:
    """Say what a parameter is, and show one."""
    name, schema = one["name"], one["schema"]
    if one["in"] == "path" and name in _PARTS:
        told, shown = _PARTS[name]
        one.setdefault("description", told)
        schema.setdefault("examples", [shown])
    elif name in _SHOWN:
        schema.setdefault("examples", [_SHOWN[name]])


@cache
def _examples() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(EXAMPLES.read_text("utf-8"))
    return found
