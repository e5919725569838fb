"""The boxes of a stored evaluation: what became of each from any confidence on, image by image."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sightline.core import InputError

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from sightline.detection import (
        ClassCounts,
        ConfusionMatrix,
        ConfusionPairs,
        Detections,
        GroundTruth,
    )

__all__ = ["BoxLine", "StoredBoxes"]

_EDGES = ("x", "y", "width", "height")


class BoxLine(NamedTuple):
    """A box of one image.

    Attributes
    ----------
    label
        Its class, as evaluated.
    corners
        x0, y0, x1, y1 in pixels.
    score
        None of a true box.
    state
        "TP", "FP" or "ignored" of what was found; "found", "FN" or "ignored" of what is there.
    iou, partner
        With the box that it was paired with, and its place in the list; None without.
    across
        Place of the box that it is paired with whatever their classes, as the confusion matrix
        pairs them; None without.
    taken_for
        Class of that one, where it differs.
    """

    label: Any
    corners: tuple[float, float, float, float]
    score: float | None
    state: str
    iou: float | None
    partner: int | None
    across: int | None
    taken_for: Any


@dataclass(frozen=True, eq=False)
class StoredBoxes:
    """All boxes of one evaluation.

    Attributes
    ----------
    true, found, pictures
        The tables ``boxes_true``, ``boxes_found`` and ``pictures``; see
        `sightline.store.detection`.
    iou
        From which on boxes belong together.
    pixel
        How widths are written.
    classes
        All classes, sorted.
    """

    true: pd.DataFrame
    found: pd.DataFrame
    pictures: pd.DataFrame
    iou: float
    pixel: Any
    classes: tuple[Any, ...]

    @cached_property
    def ground_truth(self) -> GroundTruth:
        """What is there, as it was evaluated."""
        from sightline.detection import GroundTruth

        table = self.true
        return GroundTruth.from_arrays(
            table["image"].to_numpy(), table["label"].to_numpy(), _sides(table),
            area=table["area"].to_numpy(), crowd=table["crowd"].to_numpy(np.bool_),
            difficult=table["difficult"].to_numpy(np.bool_), masks=_masks(table),
            images=self.pictures["image"].to_numpy(), classes=list(self.classes),
            pixel=self.pixel,
        )  # fmt: skip

    @cached_property
    def detections(self) -> Detections:
        """What was found, as it was evaluated; of the classes that there are."""
        from sightline.detection import Detections

        table = self.found
        every = Detections.from_arrays(
            table["image"].to_numpy(), table["label"].to_numpy(), _sides(table),
            table["score"].to_numpy(), area=table["area"].to_numpy(), masks=_masks(table),
            pixel=self.pixel,
        )  # fmt: skip
        return every if self._known.all() else every.at(self._known)

    @cached_property
    def _known(self) -> NDArray[np.bool_]:
        return self.found["label"].isin(self.classes).to_numpy(np.bool_)

    # --- from a confidence on --------------------------------------------------------------------

    def confusion_matrix(self, confidence: float) -> ConfusionMatrix:
        """Return what was taken for what, whatever the confidence of the stored matrix."""
        from sightline.detection import generate_confusion_matrix

        return generate_confusion_matrix(
            self.detections, self.ground_truth, self.iou, confidence, self.classes,
            pixel=self.pixel,
        )  # fmt: skip

    def confusion_pairs(self, confidence: float) -> ConfusionPairs:
        """Return what the confusion matrix counts; rows are lines of `found` and `true`."""
        from sightline.detection import ConfusionPairs, confusion_pairs

        pairs = confusion_pairs(
            self.detections, self.ground_truth, self.iou, confidence, pixel=self.pixel
        )
        lines = np.append(np.flatnonzero(self._known), -1)  # -1 stays what it is
        return ConfusionPairs(lines[pairs.found], pairs.true)

    def states(self, confidence: float) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the states of what was found ("" below the confidence) and of what is there."""
        score = self.found["score"].to_numpy()
        kept = score >= confidence
        hit = self.found["hit"].to_numpy()
        found = np.where(kept, np.array(["FP", "TP", "ignored"])[hit], "")
        partner = _lines(self.true["partner"])
        covered = np.zeros(len(partner), np.bool_)
        covered[partner >= 0] = kept[partner[partner >= 0]]
        counts = self.true["counts"].to_numpy(np.bool_)
        true = np.where(~counts, "ignored", np.where(covered, "found", "FN"))
        return found, true

    def class_counts(self, confidence: float) -> dict[Any, ClassCounts]:
        """Count right and wrong detections and misses of each class."""
        from sightline.detection import ClassCounts

        found, true = self.states(confidence)
        labels = (self.found["label"].to_numpy(), self.true["label"].to_numpy())
        sums = [
            _tally(side[state == wanted])
            for side, state, wanted in (
                (labels[0], found, "TP"), (labels[0], found, "FP"), (labels[1], true, "FN")
            )
        ]  # fmt: skip
        return {
            key: ClassCounts.of(key, *(part.get(key, 0) for part in sums)) for key in self.classes
        }

    def image_counts(self, confidence: float) -> pd.DataFrame:
        """Return a line for each image: image, name, tp, fp, fn."""
        import pandas as pd

        found, true = self.states(confidence)
        images = (self.found["image"].to_numpy(), self.true["image"].to_numpy())
        sums = {
            "tp": _tally(images[0][found == "TP"]),
            "fp": _tally(images[0][found == "FP"]),
            "fn": _tally(images[1][true == "FN"]),
        }
        ids = self.pictures["image"].tolist()
        counts = {name: [part.get(one, 0) for one in ids] for name, part in sums.items()}
        return pd.DataFrame({"image": ids, "name": self.pictures["name"].tolist(), **counts})

    def cell_images(self, confidence: float, true: Any, predicted: Any) -> dict[Any, int]:
        """Count the pairs of a cell of the confusion matrix in each image that has one.

        Parameters
        ----------
        confidence
            Of the matrix.
        true, predicted
            Classes; None stands for the background.
        """
        pairs = self.confusion_pairs(confidence)
        mine = _of_class(self.found, pairs.found, predicted)
        mine &= _of_class(self.true, pairs.true, true)
        found, there = self.found["image"].tolist(), self.true["image"].tolist()
        lines = zip(pairs.found[mine].tolist(), pairs.true[mine].tolist(), strict=True)
        return dict(Counter(found[a] if a >= 0 else there[b] for a, b in lines))

    # --- one image -------------------------------------------------------------------------------

    def image_of(self, name: str) -> Any:
        """Return the id of an image by the name of its picture, or by that id as text."""
        names = self.pictures["name"].astype(str)
        for column in (names, self.pictures["image"].astype(str)):
            rows = np.flatnonzero((column == name).to_numpy())
            if len(rows):
                return self.pictures["image"].tolist()[rows[0]]
        raise InputError(f"no image {name!r} was evaluated; there are {len(names)}")

    def size_of(self, image: Any) -> tuple[int, int] | None:
        """Return width and height of an image; None where they are not known."""
        row = self.pictures[self.pictures["image"] == image].iloc[0]
        sides = row[["width", "height"]]
        return None if sides.isna().any() else (int(sides.iloc[0]), int(sides.iloc[1]))

    def image_boxes(self, image: Any, confidence: float) -> list[BoxLine]:
        """Return the boxes of one image from a confidence on: what is there, then what was found.

        What was found comes from the most confident down.
        """
        alone = self._of_image(image)
        found, true = alone.states(confidence)
        across = alone._across(confidence)
        start = len(true)
        return [
            *(alone._true_line(row, true[row], across.get(row)) for row in range(start)),
            *(
                alone._found_line(row, found[row], across.get(start + row))
                for row in range(len(found))
                if found[row]
            ),
        ]

    def _of_image(self, image: Any) -> StoredBoxes:
        """Return the boxes of one image, the most confident first; partners count within it."""
        there, seen = (side.get(image, np.zeros(0, np.intp)) for side in self._by_image)
        seen = seen[np.argsort(-self.found["score"].to_numpy()[seen], kind="stable")]
        sides = []
        for table, own, other in ((self.true, there, seen), (self.found, seen, there)):
            place = {row: n for n, row in enumerate(other.tolist())}
            partner = [place.get(row, -1) for row in _lines(table["partner"].iloc[own]).tolist()]
            sides.append(table.iloc[own].assign(partner=partner).reset_index(drop=True))
        pictures = self.pictures[self.pictures["image"] == image]
        return replace(self, true=sides[0], found=sides[1], pictures=pictures)

    @cached_property
    def _by_image(self) -> tuple[dict[Any, NDArray[np.intp]], ...]:
        """Lines of each image, of what is there and of what was found."""
        return tuple(
            {key: np.asarray(rows) for key, rows in table.groupby("image").indices.items()}
            for table in (self.true, self.found)
        )

    def _across(self, confidence: float) -> dict[int, int]:
        """Return the places of the pairs of the confusion matrix, each by that of the other."""
        pairs = self.confusion_pairs(confidence)
        both = (pairs.found >= 0) & (pairs.true >= 0)
        found, true = (len(self.true) + pairs.found[both]).tolist(), pairs.true[both].tolist()
        return {**dict(zip(found, true, strict=True)), **dict(zip(true, found, strict=True))}

    def _true_line(self, row: int, state: str, across: int | None) -> BoxLine:
        partner = int(_cell(self.true, "partner", row)) if state == "found" else None
        label = self.true["label"].tolist()[row]
        other = None if across is None else self.found["label"].tolist()[across - len(self.true)]
        return BoxLine(
            label=label,
            corners=self._corners(self.true, row),
            score=None,
            state=str(state),
            iou=None if partner is None else _cell(self.found, "iou", partner),
            partner=None if partner is None else len(self.true) + partner,
            across=across,
            taken_for=None if other == label else other,
        )

    def _found_line(self, row: int, state: str, across: int | None) -> BoxLine:
        partner = int(_cell(self.found, "partner", row))
        label = self.found["label"].tolist()[row]
        other = None if across is None else self.true["label"].tolist()[across]
        return BoxLine(
            label=label,
            corners=self._corners(self.found, row),
            score=_cell(self.found, "score", row),
            state=str(state),
            iou=_cell(self.found, "iou", row) if partner >= 0 else None,
            partner=partner if partner >= 0 else None,
            across=across,
            taken_for=None if other == label else other,
        )

    def _corners(self, table: pd.DataFrame, row: int) -> tuple[float, float, float, float]:
        x, y, width, height = (_cell(table, name, row) for name in _EDGES)
        more = 1.0 if self.pixel == "inclusive" else 0.0
        return x, y, x + width + more, y + height + more


def _cell(table: pd.DataFrame, name: str, row: int) -> float:
    return float(table[name].to_numpy(np.float64)[row])


def _sides(table: pd.DataFrame) -> NDArray[np.float64]:
    return table[list(_EDGES)].to_numpy(np.float64)


def _masks(table: pd.DataFrame) -> list[dict[str, Any]] | None:
    if "mask" not in table:
        return None
    columns = zip(table["mask"], table["mask_rows"], table["mask_columns"], strict=True)
    return [{"size": [int(rows), int(wide)], "counts": runs} for runs, rows, wide in columns]


def _lines(column: pd.Series) -> NDArray[np.intp]:
    """Return lines; -1 where there is none."""
    return column.fillna(-1).to_numpy(np.float64).astype(np.intp)


def _tally(values: NDArray[Any]) -> dict[Any, int]:
    return dict(Counter(values.tolist()))


def _of_class(table: pd.DataFrame, rows: NDArray[np.intp], label: Any) -> NDArray[np.bool_]:
    """Say which rows are of a class; None stands for those that are no row."""
    if label is None:
        return rows < 0
    labels = table["label"].to_numpy()
    mine = np.zeros(len(rows), np.bool_)
    there = rows >= 0
    mine[there] = labels[rows[there]] == label
    return mine
