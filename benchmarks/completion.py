"""How many missing instances are proposed? `python -m benchmarks.completion`

Facades know every instance of every part. One of each label is marked (labelling="representative"),
and the similarity proposer looks for the others on the same image. Each proposal is compared with
the instances that are missing:

- IoU: it has a box of its label with an IoU of 0.5 or more;
- centre: its middle lies in a box of its label.

From the highest score down, a proposal takes the best of the instances that are not yet taken; one
that finds none is false, also where it shows an instance a second time. Hardly visible instances
count as missing too. Recall is the share of the missing instances that are found, over the
threshold: at the one where so many proposals per image are false. Intervals are percentiles of a
bootstrap over images, in which the threshold is found anew.

The seed is not one that models were trained on, nor the one by which the proposer's settings were
chosen (1001). The control puts boxes of the marked size at random places.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

import numpy as np

from sightline import load_dataset
from sightline.annotation.proposals import Proposal, Proposals, propose
from sightline.annotation.proposers import make_proposer
from sightline.annotation.similar import SimilarityOptions
from sightline.cli.option_words import read_option
from sightline.core import Annotation, Region, Sample

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SEED, IMAGES = 2002, 200
MODELS = ("demo/vit-dino", "demo/vit", "demo/vit@seed2", "demo/confounded")
CONTROL = "random places"
FALSE_RATES = (0.25, 0.5, 1.0, 2.0, 4.0)
MATCHES = ("IoU", "centre")
GOAL = 1.0  # false proposals per image
RESAMPLES = 1000


class RandomPlaces:
    """A proposer that knows nothing: boxes of the marked size at random places, random scores."""

    name, model, digest = CONTROL, "", ""
    settings: Mapping[str, Any] = {}

    def __init__(self, count: int = 20) -> None:
        self.count = count

    def propose(self, sample: Sample) -> list[Proposal]:
        """Return boxes that follow from the name of the image alone."""
        rng = np.random.default_rng(crc32(sample.image_id.encode()))
        found = []
        for region in sample.annotation.scored:
            width, height = np.subtract(region.box[2:], region.box[:2])
            for x, y, score in rng.random((self.count, 3)):
                left, top = x * (1 - width), y * (1 - height)
                box = (left, top, left + width, top + height)
                placed = Region(region.label, box=box, source=self.name, score=score)
                found.append(Proposal.made(sample.image_id, placed, region.index))
        return found


class Judged(NamedTuple):
    """What came of the proposals of an image, the highest score first.

    Attributes
    ----------
    scores, hits : array (n,)
        Of each proposal: its score, and whether it shows an instance that was missing.
    labels : list of str
        Of each proposal.
    missing : Counter
        How many instances of each label were missing.
    """

    scores: np.ndarray
    hits: np.ndarray
    labels: list[str]
    missing: Counter[str]


def overlap(a: Sequence[float], b: Sequence[float]) -> float:
    """Return the IoU of two boxes."""
    width, height = (min(a[i + 2], b[i + 2]) - max(a[i], b[i]) for i in (0, 1))
    if width <= 0 or height <= 0:
        return 0.0
    areas = ((box[2] - box[0]) * (box[3] - box[1]) for box in (a, b))
    return width * height / (sum(areas) - width * height)


def fits(proposed: Sequence[float], missing: Sequence[float], match: str) -> float:
    """Return how well a proposal shows an instance; 0 where it does not."""
    iou = overlap(proposed, missing)
    if match == "IoU":
        return iou if iou >= 0.5 else 0.0
    x, y = (proposed[0] + proposed[2]) / 2, (proposed[1] + proposed[3]) / 2
    inside = missing[0] <= x <= missing[2] and missing[1] <= y <= missing[3]
    return 1 + iou if inside else 0.0


def judge(
    proposals: Sequence[Proposal], whole: Annotation, marked: Annotation, match: str
) -> Judged:
    """Compare the proposals of an image with what its marked regions leave out."""
    given = {region.index for region in marked.regions}
    waiting = [region for region in whole.regions if region.index not in given]
    missing = Counter(region.label for region in waiting)
    ordered = sorted(proposals, key=lambda one: -one.score)
    hits = []
    for proposal in ordered:
        found = [
            (fits(proposal.region.box, region.box, match), -place)
            for place, region in enumerate(waiting)
            if region.label == proposal.label
        ]
        value, place = max(found, default=(0.0, 0))
        hits.append(value > 0)
        if value > 0:
            waiting.pop(-place)
    scores = np.array([one.score for one in ordered])
    return Judged(scores, np.array(hits, bool), [one.label for one in ordered], missing)


class Point(NamedTuple):
    """Recall at a threshold, and how many proposals per image are false there."""

    threshold: float
    recall: float
    false: float


class Curve(NamedTuple):
    """The same at every score, from the highest down: three arrays."""

    thresholds: np.ndarray
    recalls: np.ndarray
    false: np.ndarray

    def last(self, good: np.ndarray) -> Point:
        """Return the lowest threshold of those that are good; nothing is proposed at none."""
        places = np.flatnonzero(good)
        if not len(places):
            return Point(1.0, 0.0, 0.0)
        return Point(*(float(values[places[-1]]) for values in self))


def curve(judged: Sequence[Judged]) -> Curve:
    """Return recall and false proposals per image at every score, from the highest down."""
    scores = np.concatenate([one.scores for one in judged])
    hits = np.concatenate([one.hits for one in judged])
    order = np.argsort(-scores, kind="stable")
    scores, hits = scores[order], hits[order]
    last = np.append(scores[1:] != scores[:-1], True)[: len(scores)]  # equal scores go together
    total = max(1, sum(one.missing.total() for one in judged))
    false = np.cumsum(~hits)[last] / len(judged)
    return Curve(scores[last], np.cumsum(hits)[last] / total, false)


def at_false(points: Curve, rate: float) -> Point:
    """Return the lowest threshold with no more false proposals per image than this."""
    return points.last(points.false <= rate)


def at_threshold(points: Curve, threshold: float) -> Point:
    """Return what a threshold gives."""
    return points.last(points.thresholds >= threshold)._replace(threshold=threshold)


def interval(judged: Sequence[Judged], rate: float, seed: int = 0) -> tuple[float, float]:
    """Return the middle 95% of the recall at a rate, over images drawn anew."""
    rng = np.random.default_rng(seed)
    draws = rng.integers(0, len(judged), (RESAMPLES, len(judged)))
    values = [at_false(curve([judged[i] for i in draw]), rate).recall for draw in draws]
    low, high = np.percentile(values, (2.5, 97.5))
    return float(low), float(high)


def by_label(judged: Sequence[Judged], threshold: float) -> dict[str, tuple[int, int, int]]:
    """Return how many of each label were missing, found, and falsely proposed."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for one in judged:
        for label, number in one.missing.items():
            counts[label][0] += number
        for label, hit, score in zip(one.labels, one.hits, one.scores, strict=True):
            if score >= threshold:
                counts[label][1 if hit else 2] += 1
    ordered = sorted(counts.items(), key=lambda item: (-item[1][0], item[0]))
    return {label: (found[0], found[1], found[2]) for label, found in ordered}


class Measured(NamedTuple):
    """What a proposer found: judged by match, and seconds per image."""

    name: str
    judged: dict[str, list[Judged]]
    seconds: float


def measure(
    name: str,
    images: int,
    seed: int,
    device: str | None = None,
    given: Mapping[str, Any] | None = None,
) -> Measured:
    """Let a proposer look for what is missing on facades."""
    options = {**(given or {}), **({} if device is None else {"device": device})}
    proposer = (
        RandomPlaces()
        if name == CONTROL
        else make_proposer("similarity", name, least=0.0, shape="box", **options)
    )
    marked = load_dataset("facades", count=images, seed=seed, labelling="representative")
    begun = time.perf_counter()
    found: Proposals = propose(marked, proposer)
    seconds = (time.perf_counter() - begun) / images
    whole = load_dataset("facades", count=images, seed=seed)
    pairs = [(sample.annotation, marked.by_id(sample.image_id).annotation) for sample in whole]
    judged = {
        match: [judge(found.of(full.image_id), full, part, match) for full, part in pairs]
        for match in MATCHES
    }
    return Measured(name, judged, seconds)


# --- what is printed -----------------------------------------------------------------------------


def table(head: Sequence[str], rows: Sequence[Sequence[str]], markdown: bool) -> str:
    """Return a table as text, or as Markdown."""
    if markdown:
        lines = [head, ["---"] * len(head), *rows]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)
    widths = [max(len(line[i]) for line in (head, *rows)) for i in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in (head, *rows)
    )


def curve_rows(measured: Measured) -> list[list[str]]:
    """Return, for either match, recall at each rate of false proposals."""
    rows = []
    for match in MATCHES:
        judged = measured.judged[match]
        points = curve(judged)
        cells = [f"{at_false(points, rate).recall:.3f}" for rate in FALSE_RATES]
        low, high = interval(judged, GOAL)
        goal = at_false(points, GOAL)
        last = [f"{low:.3f} to {high:.3f}", f"{goal.threshold:.2f}", f"{points.recalls[-1]:.3f}"]
        rows.append([measured.name, match, *cells, *last])
    return rows


def label_rows(measured: Measured, threshold: float) -> list[list[str]]:
    """Return what was found of each label, by IoU."""
    found = by_label(measured.judged["IoU"], threshold)
    return [[label, *map(str, counts)] for label, counts in found.items()]


def main(given: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--images", type=int, default=IMAGES)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--models", nargs="+", default=[*MODELS, CONTROL])
    parser.add_argument("--device")
    parser.add_argument("--option", action="append", default=[], help="of the proposer: shifts=4")
    parser.add_argument("--markdown", action="store_true", help="print Markdown")
    args = parser.parse_args(given)
    options = dict(read_option(one) for one in args.option)
    measured = [measure(name, args.images, args.seed, args.device, options) for name in args.models]
    rates = [f"{rate:g} false" for rate in FALSE_RATES]
    head = ["proposer", "match", *rates, "95% at 1 false", "threshold there", "all"]
    missing = sum(one.missing.total() for one in measured[0].judged["IoU"])
    print(f"{args.images} facades of seed {args.seed}, {missing} instances missing")
    print(table(head, [row for one in measured for row in curve_rows(one)], args.markdown))
    first = measured[0]
    for name, threshold in (
        ("at 1 false per image", at_false(curve(first.judged["IoU"]), GOAL).threshold),
        ("at the default threshold", SimilarityOptions().least),
    ):
        point = at_threshold(curve(first.judged["IoU"]), threshold)
        told = f"recall {point.recall:.3f}, {point.false:.2f} false per image"
        print(f"\n{first.name} {name} ({threshold:.2f}): {told}")
    rows = label_rows(first, at_false(curve(first.judged["IoU"]), GOAL).threshold)
    print(table(["label", "missing", "found", "false"], rows, args.markdown))
    for one in measured:
        print(f"{one.name}: {one.seconds:.2f} s per image")


if __name__ == "__main__":
    main()
