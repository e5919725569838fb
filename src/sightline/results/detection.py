"""Evaluations of detections that lie in a store: which there are, and what they found."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sightline.core import InputError
from sightline.store.checksums import read_json
from sightline.store.damage import damage, read_told
from sightline.store.detection import DETECTION_FORMAT, detection_folder

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    import pandas as pd

    from sightline.detection import BestF1, ConfusionMatrix, PRData, Reliability
    from sightline.results.detection_boxes import StoredBoxes

__all__ = [
    "ErrorCosts",
    "StoredDetection",
    "detection_names",
    "detection_table",
    "open_detection",
]

_OLD = "~old"  # a writer that was killed has set it aside and put nothing in its place
_MEND = "evaluate the detections again to make it anew"


class ErrorCosts(NamedTuple):
    """What the kinds of error cost; see `sightline.detection.ErrorTypes`.

    Examples
    --------
    >>> found = ErrorCosts(0.5, {"missed": 3, "duplicate": 1}, {"missed": 0.2, "duplicate": 0.01})
    >>> max(found.cost, key=found.cost.get)
    'missed'
    """

    map: float
    counts: dict[str, int]
    cost: dict[str, float]


def detection_names(store: str | os.PathLike[str]) -> list[str]:
    """Return the names of the evaluations in a store, sorted; none where there is no store.

    Examples
    --------
    >>> detection_names("no/such/folder")
    []
    """
    folder = Path(store) / "detection"
    if not folder.is_dir():
        return []
    found = {entry.name.removesuffix(_OLD) for entry in folder.iterdir() if entry.is_dir()}
    return sorted(name for name in found if "~" not in name)


def detection_table(store: str | os.PathLike[str]) -> pd.DataFrame:
    """Return a line for each evaluation in a store: name, protocol, images and the 12 figures.

    Raises
    ------
    InputError
        If there is none, or one cannot be read.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from sightline.detection.evaluate import evaluate_detections
    >>> from sightline.store.detection import write_detection
    >>> truth, found = [[[(0, 0, 40, 40), "cat"]]], [[[(0, 0, 40, 40), 0.9, "cat"]]]
    >>> with TemporaryDirectory() as folder:
    ...     for protocol in ("coco", "voc"):
    ...         results = evaluate_detections(truth, found, protocol=protocol)
    ...         _ = write_detection(folder, f"by-{protocol}", results)
    ...     detection_table(folder)[["name", "protocol", "images", "AP50"]].round(3).values.tolist()
    [['by-coco', 'coco', 1, 1.0], ['by-voc', 'voc', 1, 1.0]]
    """
    import pandas as pd

    names = detection_names(store)
    if not names:
        raise InputError(f"{store}: holds no results of detections (detection/)")
    lines = []
    for name in names:
        found = open_detection(store, name)
        about = {"name": name, "protocol": found.protocol}
        about["images"] = found.about["results"].get("images")
        lines.append(about | found.figures)
    return pd.DataFrame(lines)


def open_detection(store: str | os.PathLike[str], name: str) -> StoredDetection:
    """Open an evaluation in a store.

    Raises
    ------
    InputError
        If there is none of that name, or its file cannot be read.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from sightline.detection.evaluate import evaluate_detections
    >>> from sightline.store.detection import write_detection
    >>> box = (0, 0, 40, 40)
    >>> results = evaluate_detections([[[box, "cat"]]], [[[box, 0.9, "cat"]]], protocol="voc")
    >>> with TemporaryDirectory() as folder:
    ...     _ = write_detection(folder, "mine", results)
    ...     stored = open_detection(folder, "mine")
    ...     stored.protocol, stored.figures["AP50"], stored.classes["name"].tolist()
    ('voc', 1.0, ['cat'])
    """
    path = detection_folder(store, name)
    if not path.is_dir():
        path = path.with_name(f"{name}{_OLD}")
    if not path.is_dir():
        known = ", ".join(detection_names(store)) or "none"
        raise InputError(f"{store}: no detection results of the name {name!r}; there are: {known}")
    return StoredDetection(name, path, _read_about(path / "results.json"))


def _read_about(path: Path) -> dict[str, Any]:
    """Read results.json, and see that it has what readers need."""
    try:
        found = read_json(path, _MEND)
    except OSError as error:
        raise damage(path, _MEND) from error
    seen = found.get("format") if isinstance(found, dict) else None
    if seen != DETECTION_FORMAT:
        raise InputError(f"{path}: format must be {DETECTION_FORMAT}, got {seen!r}")
    for key in ("results", "sources", "files", "curves"):
        if not isinstance(found.get(key), dict):
            raise InputError(f"{path}: must hold an object {key}")
    return found  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class StoredDetection:
    """An evaluation of detections as it was stored; tables are read when they are asked for.

    Attributes
    ----------
    name
        Of the evaluation.
    path
        Its folder.
    about
        All of its results.json.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from sightline.detection.evaluate import evaluate_detections
    >>> from sightline.store.detection import write_detection
    >>> truth = [[[(0, 0, 40, 40), "cat"], [(50, 0, 90, 40), "cat"]]]
    >>> results = evaluate_detections(truth, [[[(0, 0, 40, 40), 0.9, "cat"]]])
    >>> with TemporaryDirectory() as folder:
    ...     _ = write_detection(folder, "mine", results)
    ...     stored = open_detection(folder, "mine")
    ...     stored, stored.errors.counts["missed"], stored.names
    (StoredDetection('mine': coco; AP 0.5050), 1, {'cat': 'cat'})
    """

    name: str
    path: Path
    about: Mapping[str, Any]

    def __repr__(self) -> str:
        return f"StoredDetection({self.name!r}: {self.protocol}; AP {self.figures['AP']:.4f})"

    @property
    def protocol(self) -> str:
        """By which rules it was evaluated."""
        return str(self.about["results"].get("protocol", ""))

    @property
    def figures(self) -> dict[str, float]:
        """COCO's 12 figures by name; NaN where one is undefined."""
        from sightline.detection import FIGURES

        return {name: _number(self.about["results"].get(name)) for name in FIGURES}

    @property
    def intervals(self) -> dict[str, tuple[float, float]]:
        """The ends of the figures' intervals; empty where there are none."""
        found = self.about["results"].get("intervals", {})
        return {key: (_number(one["low"]), _number(one["high"])) for key, one in found.items()}

    @property
    def sources(self) -> dict[str, Any]:
        """Name, size and digest of what was evaluated."""
        return dict(self.about["sources"])

    @property
    def names(self) -> dict[Any, str]:
        """What each class is called."""
        return dict(zip(self.classes["class"].tolist(), self.classes["name"].tolist(), strict=True))

    @property
    def iou(self) -> float:
        """The IoU of the raw curves, the confusion matrix, the errors and the reliability."""
        return float(self.about["curves"]["iou"])

    @cached_property
    def classes(self) -> pd.DataFrame:
        """A line for each class, as `DetectionResults.by_class` gives it."""
        return self._table("classes")

    @cached_property
    def images(self) -> pd.DataFrame | None:
        """What each image costs, the most first; None where that was not stored."""
        return self._table("images") if "images.parquet" in self.about["files"] else None

    @cached_property
    def curves(self) -> pd.DataFrame:
        """All points of all curves: class, kind, iou, recall, precision, confidence."""
        import pandas as pd

        if "curves.parquet" in self.about["files"]:
            return self._table("curves")
        return pd.DataFrame({name: [] for name in _CURVE})

    def pr_curves(self) -> dict[Any, PRData]:
        """Return the raw curve of each class, thinned where it was long; `num_gt` is whole."""
        from sightline.detection import PRData

        raw = self.curves[self.curves["kind"] == "raw"]
        places = raw.reset_index(drop=True).groupby("class").indices
        columns = {name: raw[name].to_numpy(np.float64) for name in _CURVE[3:]}
        curves = {}
        for one in self.about["curves"]["classes"]:
            rows = places.get(one["class"], np.zeros(0, np.intp))
            curves[one["class"]] = PRData(
                precision=columns["precision"][rows],
                recall=columns["recall"][rows],
                confidence=columns["confidence"][rows],
                num_gt=int(one["ground_truths"]),
            )
        return curves

    def best_f1(self) -> dict[Any, BestF1]:
        """Return for each class the score from which on detections give the highest F1."""
        from sightline.detection import BestF1

        table = self.classes[["class", *BestF1._fields]]
        return {key: BestF1(*map(float, ends)) for key, *ends in table.itertuples(index=False)}

    def confusion_matrix(self) -> ConfusionMatrix | None:
        """Return the confusion matrix; None where there is none."""
        from sightline.detection import ConfusionMatrix

        about = self.about.get("confusion")
        if about is None:
            return None
        table, size = self._table("confusion"), len(about["labels"])
        matrix = np.zeros((size, size), np.int64)
        matrix[table["row"], table["column"]] = table["count"]
        return ConfusionMatrix(matrix, list(about["labels"]), int(about["others_confused"]))

    @property
    def errors(self) -> ErrorCosts | None:
        """What the kinds of error cost; None where that was not stored."""
        found = self.about.get("errors")
        if found is None:
            return None
        cost = {key: _number(value) for key, value in found["cost"].items()}
        return ErrorCosts(_number(found["map"]), dict(found["counts"]), cost)

    @property
    def confidence(self) -> float | None:
        """The lowest score that the confusion matrix counts; None where that was not stored."""
        found = self.about.get("confusion", {}).get("confidence")
        return None if found is None else float(found)

    @cached_property
    def boxes(self) -> StoredBoxes | None:
        """All boxes, and what became of each; None where they were not stored."""
        from sightline.results.detection_boxes import StoredBoxes

        names = ("boxes_true", "boxes_found", "pictures")
        if any(f"{name}.parquet" not in self.about["files"] for name in names):
            return None
        tables = {name.removeprefix("boxes_"): self._table(name) for name in names}
        pixel = self.about["results"].get("pixel")
        classes = tuple(self.classes["class"].tolist())
        return StoredBoxes(**tables, iou=self.iou, pixel=pixel, classes=classes)

    def reliability(self) -> Reliability | None:
        """Return how far confidences can be trusted; None where that was not stored."""
        from sightline.detection import Reliability

        found = self.about.get("reliability")
        if found is None:
            return None
        table = self._table("reliability")
        columns = {name: table[name].to_numpy() for name in table}
        return Reliability(
            edges=np.append(columns["low"], columns["high"][-1:]),
            count=columns["count"],
            confidence=columns["confidence"],
            precision=columns["precision"],
            ece=_number(found["ece"]),
            mce=_number(found["mce"]),
        )

    def _table(self, name: str) -> pd.DataFrame:
        """Read a table whose bytes are those that were written."""
        path = self.path / f"{name}.parquet"
        told = self.about["files"].get(path.name)
        return read_told(path, told, _MEND).to_pandas()  # type: ignore[no-any-return]


_CURVE = ("class", "kind", "iou", "recall", "precision", "confidence")


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)
