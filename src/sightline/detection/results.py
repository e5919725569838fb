"""What an evaluation found: figures, classes, curves, and where the errors are."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from sightline.core import InputError
from sightline.detection._options import at_threshold, find_threshold
from sightline.detection.ap import (
    BestF1,
    ClassCounts,
    PRData,
    best_f1,
    calculate_ap_per_class,
    calculate_map,
    matches_pr_data,
    pr_curve,
)
from sightline.detection.calibration import Reliability, reliability_curve
from sightline.detection.coco import MAX_DETS, SIZE_LETTERS, CocoArrays, CocoMatches
from sightline.detection.columns import as_extents
from sightline.detection.confusion import ConfusionMatrix, Matching, generate_confusion_matrix
from sightline.detection.errors import ErrorTypes, error_types
from sightline.detection.sizes import calculate_map_by_size

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from sightline.detection.ap import Interpolation
    from sightline.detection.columns import Detections, GroundTruth, Pixel
    from sightline.detection.comparison import DetectorComparison
    from sightline.detection.matching import Matches

__all__ = ["FIGURES", "DetectionResults", "Settings", "plain_value"]

FIGURES = (
    "AP", "AP50", "AP75", *(f"AP{s}" for s in SIZE_LETTERS),
    *(f"AR{limit}" for limit in MAX_DETS), *(f"AR{s}" for s in SIZE_LETTERS),
)  # fmt: skip
"""The names of COCO's 12 figures, in its order."""


class Settings(NamedTuple):
    """How an evaluation was made; see `evaluate_detections`.

    Examples
    --------
    >>> from sightline import evaluate_detections
    >>> box = (0, 0, 40, 40)
    >>> found = evaluate_detections([[[box, "cat"]]], [[[box, 0.9, "cat"]]], protocol="voc")
    >>> found.settings.protocol, found.settings.pixel, found.settings.interpolation
    ('voc', 'inclusive', 'all_points')
    """

    protocol: Literal["coco", "voc", "simple"]
    pixel: Pixel
    iou_thresholds: tuple[float, ...]
    size_ranges: dict[str, tuple[float, float]]
    max_dets: tuple[int, ...]
    interpolation: Interpolation


@dataclass(frozen=True, eq=False)
class DetectionResults:
    """What `evaluate_detections` returns.

    Attributes
    ----------
    ground_truth, detections
        The tables that were evaluated.
    settings
        How.
    matches
        What each detection is: `CocoMatches`, or one `Matches` for each IoU threshold under the
        other protocols.
    arrays
        Precision, recall and scores of every cell under "coco", as pycocotools has them (-1 where
        there is no ground truth); else None.
    intervals
        Of the figures and of the AP of each class, as ``("AP", class)``, where they were asked for.

    Examples
    --------
    >>> from sightline import evaluate_detections
    >>> box = (0, 0, 40, 40)
    >>> found = evaluate_detections({"a": [[box, "cat"]]}, {"a": [[(0, 0, 40, 36), 0.9, "cat"]]})
    >>> found
    DetectionResults(coco: 1 images, 1 objects, 1 found; AP 0.9000)
    >>> found.classes, round(found.figures["AP75"], 3)
    (('cat',), 1.0)
    """

    ground_truth: GroundTruth
    detections: Detections
    settings: Settings
    matches: CocoMatches | tuple[Matches, ...]
    arrays: CocoArrays | None
    intervals: Mapping[Any, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        n = f"{self.images} images, {len(self.ground_truth)} objects, {len(self.detections)} found"
        return f"DetectionResults({self.settings.protocol}: {n}; AP {self.figures['AP']:.4f})"

    # --- what there is ---------------------------------------------------------------------------

    @property
    def classes(self) -> tuple[Any, ...]:
        """The ids of the classes, sorted."""
        if isinstance(self.matches, CocoMatches):
            return tuple(self.matches.classes.tolist())
        known = self.ground_truth.classes
        labels = self.matches[0].labels
        return labels if known is None else tuple(sorted({*known.tolist(), *labels}))

    @property
    def names(self) -> dict[Any, str]:
        """What each class is called; its id where it has no name. What is not UTF-8 is escaped."""
        known = self.ground_truth.names
        named = {label: str(known.get(label) or label) for label in self.classes}
        return {
            key: text.encode("utf-8", "backslashreplace").decode() for key, text in named.items()
        }

    @property
    def images(self) -> int:
        """The number of images, those without boxes too."""
        if isinstance(self.matches, CocoMatches):
            return len(self.matches.images)
        known = self.ground_truth.images
        return len(self.matches[0].images if known is None else known)

    @property
    def without_ground_truth(self) -> tuple[Any, ...]:
        """Classes that are left out of the means, since there is nothing of them to find."""
        return tuple(label for label, n in self._num_gt.items() if not n)

    @cached_property
    def left_out(self) -> dict[Any, int]:
        """Detections of classes that the ground truth does not list, which do not take part."""
        known = self.ground_truth.classes
        if known is None or not len(self.detections):
            return {}
        label = self.detections.label
        unknown, counts = np.unique(label[~np.isin(label, known)], return_counts=True)
        return dict(zip(unknown.tolist(), counts.tolist(), strict=True))

    # --- figures ---------------------------------------------------------------------------------

    @cached_property
    def figures(self) -> dict[str, float]:
        """COCO's 12 figures by name; NaN where one is undefined or not of the protocol."""
        if self.arrays is not None:
            return self.arrays.figures()
        figures = dict.fromkeys(FIGURES, math.nan)
        figures |= _plain_means(self._plain_ap, self.settings)
        if self.settings.protocol == "simple":
            sizes = self._plain_sizes()
            figures |= {f"AP{s}": sizes.get(name, math.nan) for s, name in SIZE_LETTERS.items()}
        return figures

    @cached_property
    def _plain_ap(self) -> NDArray[np.float64]:
        """AP (T, K) of the other protocols; NaN without ground truth."""
        rule = self.settings.interpolation
        rows = [
            calculate_ap_per_class(self.pr_curves(iou), interpolation=rule)
            for iou in self.settings.iou_thresholds
        ]
        return np.array([[row[label] for label in self.classes] for row in rows]).reshape(
            len(rows), len(self.classes)
        )

    def _plain_sizes(self) -> dict[str, float]:
        """Mean AP of each size, over the thresholds."""
        tables = [
            calculate_map_by_size(
                self._known_detections, self.ground_truth, None, self.settings.size_ranges, iou,
                pixel=self.settings.pixel, interpolation=self.settings.interpolation,
            )
            for iou in self.settings.iou_thresholds
        ]  # fmt: skip
        return {name: float(np.mean([table[name] for table in tables])) for name in tables[0]}

    @cached_property
    def _num_gt(self) -> dict[Any, int]:
        """The ground truths of each class that count, of all sizes."""
        if isinstance(self.matches, CocoMatches):
            place = list(self.matches.size_ranges).index("all")
            counts = self.matches.totals[:, place].tolist()
            return dict(zip(self.classes, counts, strict=True))
        known = zip(self.matches[0].labels, self.matches[0].num_gt.tolist(), strict=True)
        return dict.fromkeys(self.classes, 0) | dict(known)

    def class_figures(self) -> dict[Any, dict[str, float]]:
        """Return the 12 figures of each class; NaN where one is undefined.

        Examples
        --------
        >>> from sightline.detection import evaluate_detections
        >>> box = (0, 0, 40, 40)
        >>> results = evaluate_detections([[[box, "cat"]]], [[[box, 0.9, "cat"]]])
        >>> round(results.class_figures()["cat"]["AP"], 9), results.class_figures()["cat"]["APl"]
        (1.0, nan)
        """
        if self.arrays is not None:
            return {label: _one(self.arrays, k).figures() for k, label in enumerate(self.classes)}
        none = dict.fromkeys(FIGURES, math.nan)
        return {
            label: none | _plain_means(self._plain_ap[:, [k]], self.settings, empty=math.nan)
            for k, label in enumerate(self.classes)
        }

    def by_class(self, *, iou: float | None = None) -> pd.DataFrame:
        """Return a table with a line for each class.

        Columns: `class`, `name`, `ground_truths` (that count) and those of each size, `detections`,
        the 12 figures, `low` and `high` of the AP where there are intervals; then at one IoU (0.5,
        or the lowest there is) the `threshold` of the score that gives the best `f1`, with its
        `precision` and `recall`.

        Parameters
        ----------
        iou
            Another IoU threshold for the last four.
        """
        import pandas as pd

        figures, best = self.class_figures().values(), self.best_f1(iou).values()
        found = self._detections_of()
        table: dict[str, Any] = {"class": self.classes, "name": list(self.names.values())}
        table |= self._counts() | {"detections": [found.get(label, 0) for label in self.classes]}
        table |= {name: [line[name] for line in figures] for name in FIGURES}
        if self.intervals:
            ends = [self.intervals[("AP", label)] for label in self.classes]
            table |= {"low": [one.low for one in ends], "high": [one.high for one in ends]}
        table |= {name: [getattr(one, name) for one in best] for name in BestF1._fields}
        return pd.DataFrame(table)

    def _counts(self) -> dict[str, list[int]]:
        """Return the ground truths that count of each class, all of them and those of each size."""
        counts = {"ground_truths": list(self._num_gt.values())}
        if isinstance(self.matches, CocoMatches):
            named = zip(self.matches.size_ranges, self.matches.totals.T.tolist(), strict=True)
            counts |= {f"ground_truths_{size}": column for size, column in named if size != "all"}
        return counts

    def _detections_of(self) -> dict[Any, int]:
        labels, counts = np.unique(self.detections.label, return_counts=True)
        return dict(zip(labels.tolist(), counts.tolist(), strict=True))

    # --- curves ----------------------------------------------------------------------------------

    def pr_curves(self, iou: float | None = None, *, size: str = "all") -> dict[Any, PRData]:
        """Return precision and recall of each class after each detection, with its confidence.

        Nothing is interpolated. Ignored detections are left out.

        Parameters
        ----------
        iou
            One of the IoU thresholds; 0.5 unless given, or the lowest there is.
        size
            One of the size ranges, under "coco".
        """
        place = self.threshold_place(iou)
        if not isinstance(self.matches, CocoMatches):
            if size != "all":
                raise InputError(
                    f"size must be 'all' with {self.settings.protocol!r}; got {size!r}"
                )
            data = matches_pr_data(self.matches[place])
            none = pr_curve(np.zeros(0), np.zeros(0, np.bool_), 0)
            return {label: data.get(label, none) for label in self.classes}
        sizes = list(self.matches.size_ranges)
        if size not in sizes:
            raise InputError(f"size must be one of {', '.join(sizes)}; got {size!r}")
        return _coco_curves(self.matches, place, sizes.index(size), self.settings.max_dets[-1])

    def threshold_place(self, iou: float | None = None) -> int:
        """Return the place of a threshold; of 0.5, or of the lowest, unless given."""
        return find_threshold(self.settings.iou_thresholds, iou)

    def best_f1(self, iou: float | None = None) -> dict[Any, BestF1]:
        """Return for each class the score from which on detections give the highest F1."""
        return {label: best_f1(data) for label, data in self.pr_curves(iou).items()}

    def counts_at(self, confidence: float, *, iou: float | None = None) -> dict[Any, ClassCounts]:
        """Count right and wrong detections and misses of each class from a confidence on.

        Examples
        --------
        >>> from sightline.detection import evaluate_detections
        >>> box = (0, 0, 40, 40)
        >>> results = evaluate_detections([[[box, "cat"]]], [[[box, 0.9, "cat"]]])
        >>> results.counts_at(0.5)["cat"].tp, results.counts_at(0.95)["cat"].fn
        (1, 1)
        """
        counts = {}
        for label, data in self.pr_curves(iou).items():
            kept = data["confidence"] >= confidence
            hits = int(_right(data)[kept].sum())
            wrong, missed = int(kept.sum()) - hits, data["num_gt"] - hits
            counts[label] = ClassCounts.of(label, hits, wrong, missed)
        return counts

    def reliability(
        self,
        label: Any = None,
        *,
        iou: float | None = None,
        bins: int = 10,
        binning: Literal["width", "mass"] = "width",
    ) -> Reliability:
        """Compare confidences with how often they are right, over all classes or in one.

        See `reliability_curve`. A detection is right if it finds an object at this IoU.
        """
        curves = self.pr_curves(iou)
        if label is not None and label not in curves:
            raise InputError(f"label must be one of {list(self.classes)}; got {label!r}")
        chosen = list(curves.values()) if label is None else [curves[label]]
        scores = np.concatenate([data["confidence"] for data in chosen] or [np.zeros(0)])
        right = np.concatenate([_right(data) for data in chosen] or [np.zeros(0, np.bool_)])
        return reliability_curve(scores, right, bins=bins, binning=binning)

    # --- errors ----------------------------------------------------------------------------------

    def confusion_matrix(
        self,
        iou: float = 0.5,
        confidence: float = 0.25,
        target_classes: Sequence[Any] | None = None,
        *,
        matching: Matching = "any_class",
    ) -> ConfusionMatrix:
        """Count what each object was taken for; see `generate_confusion_matrix`."""
        return generate_confusion_matrix(
            self._known_detections, self.ground_truth, iou, confidence,
            self.classes if target_classes is None else target_classes,
            matching=matching, pixel=self.settings.pixel,
        )  # fmt: skip

    def error_types(self, iou: float = 0.5, background: float = 0.1) -> ErrorTypes:
        """Return the kinds of error and the AP that each costs; see `error_types`."""
        return error_types(
            self._known_detections, self.ground_truth, iou_threshold=iou,
            background_threshold=background, pixel=self.settings.pixel,
        )  # fmt: skip

    @cached_property
    def _known_detections(self) -> Detections:
        """Detections of the classes that the ground truth lists."""
        return self.detections.of_classes(self.ground_truth.classes)

    @property
    def _matched_truth(self) -> GroundTruth:
        return as_extents(self.ground_truth, self.settings.pixel)

    def costliest_images(self, count: int = 10) -> pd.DataFrame:
        """Return the images that cost most AP, the worst first; see `image_costs`.

        `cost` is how much AP would rise if that image alone were perfect; `false_positives` and
        `misses` are counted at IoU 0.5, or at the lowest there is. Only under "coco".
        """
        from sightline.detection.images import image_costs

        matches, arrays = self._coco()
        return image_costs(matches, arrays, self._matched_truth).costliest(count).to_frame()

    def with_intervals(
        self,
        confidence: float = 0.95,
        *,
        resamples: int = 1000,
        seed: int = 0,
        threads: int | None = None,
    ) -> DetectionResults:
        """Return the same results with intervals, from draws of images. Only under "coco"."""
        from sightline.detection.intervals import figure_intervals

        matches, arrays = self._coco()
        found = figure_intervals(
            matches, arrays, self._matched_truth, confidence=confidence, resamples=resamples,
            seed=seed, threads=threads,
        )  # fmt: skip
        return replace(self, intervals=found)

    def compare(
        self,
        other: DetectionResults,
        *,
        confidence: float = 0.95,
        resamples: int = 1000,
        seed: int = 0,
        threads: int | None = None,
    ) -> DetectorComparison:
        """Compare with another detector on the same ground truth; see `compare_detectors`.

        Only under "coco".

        Raises
        ------
        InputError
            If the other was evaluated in another way, or on something else.
        """
        from sightline.detection.comparison import compare_detectors

        self._coco()
        if other.settings != self.settings:
            raise InputError(
                f"both must be evaluated alike; got {self.settings} and {other.settings}"
            )
        if not _same_truth(self.ground_truth, other.ground_truth):
            raise InputError("both must be evaluated on the same ground truth; it differs")
        settings = self.settings
        found = (self._known_detections, other._known_detections)
        return compare_detectors(
            self._matched_truth, *(as_extents(side, settings.pixel) for side in found),
            iou_thresholds=settings.iou_thresholds, size_ranges=settings.size_ranges,
            max_dets=settings.max_dets, confidence=confidence, resamples=resamples, seed=seed,
            threads=threads,
        )  # fmt: skip

    def _coco(self) -> tuple[CocoMatches, CocoArrays]:
        if not isinstance(self.matches, CocoMatches) or self.arrays is None:
            raise InputError(f"this needs protocol='coco'; got {self.settings.protocol!r}")
        return self.matches, self.arrays

    # --- out -------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as plain values for JSON: the 12 first, None where undefined."""
        line = self.by_class().to_dict("records")
        settings = self.settings._asdict()
        ends = {
            key: {"low": plain_value(found.low), "high": plain_value(found.high)}
            for key, found in self.intervals.items()
            if isinstance(key, str)
        }
        return {
            **{name: plain_value(value) for name, value in self.figures.items()},
            **({"intervals": ends} if ends else {}),
            **{name: plain_value(value) for name, value in settings.items()},
            "images": self.images,
            "ground_truths": sum(self._num_gt.values()),
            "detections": len(self.detections),
            "without_ground_truth": list(self.without_ground_truth),
            "left_out": {str(label): n for label, n in self.left_out.items()},
            "per_class": [{key: plain_value(value) for key, value in row.items()} for row in line],
        }


def plain_value(value: Any) -> Any:
    """Return a value that JSON has: lists for tuples, None for what is not finite."""
    if isinstance(value, dict):
        return {key: plain_value(entry) for key, entry in value.items()}
    if isinstance(value, tuple | list):
        return [plain_value(entry) for entry in value]
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _plain_means(
    table: NDArray[np.float64], settings: Settings, *, empty: float | None = None
) -> dict[str, float]:
    """Return AP, AP50 and AP75 of a table (T, K)."""
    if empty is None:  # the plain steps call a mean over nothing 0
        empty = 0.0 if settings.protocol == "simple" else math.nan
    known = settings.iou_thresholds
    figures = {}
    for name, rows in (
        ("AP", np.ones(len(known), np.bool_)),
        ("AP50", at_threshold(known, 0.5)),
        ("AP75", at_threshold(known, 0.75)),
    ):
        if rows.any():
            cells = dict(enumerate(table[rows].ravel().tolist()))
            defined = any(math.isfinite(value) for value in cells.values())
            figures[name] = calculate_map(cells) if defined else empty
    return figures


def _one(arrays: CocoArrays, k: int) -> CocoArrays:
    """Return the arrays of one class."""
    return replace(
        arrays,
        precision=arrays.precision[:, :, [k]],
        recall=arrays.recall[:, [k]],
        scores=arrays.scores[:, :, [k]],
        ground_truths=arrays.ground_truths[[k]],
        detections=arrays.detections[[k]],
        classes=arrays.classes[[k]],
    )


def _same_truth(one: GroundTruth, other: GroundTruth) -> bool:
    """Say whether two tables hold the same objects, images and classes, in the same order."""
    if one is other:
        return True
    names = ("image", "label", "box", "area", "crowd", "images", "classes")
    pairs = [(getattr(one, name), getattr(other, name)) for name in names]
    return one.masks == other.masks and all(np.array_equal(*pair) for pair in pairs)


def _right(data: PRData) -> NDArray[np.bool_]:
    """Return which detections of a curve are true positives."""
    counts = np.arange(1, len(data["confidence"]) + 1)
    return np.diff(np.rint(data["precision"] * counts), prepend=0.0) > 0


def _coco_curves(matches: CocoMatches, threshold: int, size: int, limit: int) -> dict[Any, PRData]:
    """Count along the detections of each class that are not ignored."""
    true, ignored = matches.cell(threshold, size)
    kept = ~ignored & (matches.rank < limit)
    score = matches.score[matches.row]
    curves = {}
    for k, label in enumerate(matches.classes.tolist()):
        rows = np.arange(matches.starts[k], matches.starts[k + 1])
        rows = rows[kept[rows]]
        total = int(matches.totals[k, size])
        curves[label] = pr_curve(score[rows], true[rows], total)
    return curves
