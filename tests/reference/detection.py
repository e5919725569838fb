"""Detection, slow and obvious: one box at a time, after the words of the protocols."""

from __future__ import annotations

import math
from typing import Any


def iou(a: Any, b: Any, *, more: float = 0) -> float:
    """IoU of two boxes given by corners; `more` is added to each width and height."""
    wide = min(a[2], b[2]) - max(a[0], b[0]) + more
    high = min(a[3], b[3]) - max(a[1], b[1]) + more
    if wide <= 0 or high <= 0:
        return 0.0
    areas = [(box[2] - box[0] + more) * (box[3] - box[1] + more) for box in (a, b)]
    return float(wide * high / (areas[0] + areas[1] - wide * high))


def by_score(predictions: list[Any]) -> list[int]:
    return sorted(range(len(predictions)), key=lambda i: -predictions[i][1])


def greedy(predictions: list[Any], truths: list[Any], limit: float) -> dict[int, int]:
    """Which prediction finds which ground truth of its class."""
    found: dict[int, int] = {}
    for i in by_score(predictions):
        best, best_iou = None, limit
        for j, truth in enumerate(truths):
            if j in found.values() or truth[1] != predictions[i][2]:
                continue
            value = iou(predictions[i][0], truth[0])
            if value > best_iou or (value == best_iou and best is None):
                best, best_iou = j, value
        if best is not None:
            found[i] = best
    return found


def voc(predictions: list[Any], truths: list[Any], limit: float) -> list[int]:
    """1 true positive, 0 false positive, -1 difficult."""
    taken: set[int] = set()
    hit = [0] * len(predictions)
    for i in by_score(predictions):
        best, best_iou = None, 0.0
        for j, truth in enumerate(truths):
            value = iou(predictions[i][0], truth[0], more=1)
            if truth[1] == predictions[i][2] and value > best_iou:
                best, best_iou = j, value
        if best is None or not best_iou > limit:
            continue
        if truths[best][2]:
            hit[i] = -1
        elif best not in taken:
            taken.add(best)
            hit[i] = 1
    return hit


def devkit(
    predictions: list[Any], truths: list[Any], label: Any, limit: float
) -> tuple[list[float], list[float]]:
    """Precision and recall of one class by the steps of Pascal VOC's development kit.

    All predictions of the class in one list, from the most confident down; each looks up the
    objects of its image.
    """
    rows = [(p[1], n, p[0]) for n, found in enumerate(predictions) for p in found if p[2] == label]
    rows.sort(key=lambda row: -row[0])
    objects = [[[t[0], t[2], False] for t in true if t[1] == label] for true in truths]
    wanted = sum(not difficult for part in objects for _, difficult, _ in part)
    right, wrong = [], []
    for _, n, box in rows:
        highest, at = -math.inf, -1
        for j, (other, _, _) in enumerate(objects[n]):
            left, top = max(box[0], other[0]), max(box[1], other[1])
            wide, high = min(box[2], other[2]) - left + 1, min(box[3], other[3]) - top + 1
            if wide > 0 and high > 0:
                first = (box[2] - box[0] + 1) * (box[3] - box[1] + 1)
                second = (other[2] - other[0] + 1) * (other[3] - other[1] + 1)
                overlap = wide * high / (first + second - wide * high)
                if overlap > highest:
                    highest, at = overlap, j
        if highest > limit:
            if objects[n][at][1]:
                continue
            right.append(int(not objects[n][at][2]))
            objects[n][at][2] = True
        else:
            right.append(0)
        wrong.append(1 - right[-1])
    tp = [sum(right[: i + 1]) for i in range(len(right))]
    fp = [sum(wrong[: i + 1]) for i in range(len(wrong))]
    recall = [t / wanted if wanted else math.nan for t in tp]
    return [t / (t + f) for t, f in zip(tp, fp, strict=True)], recall


def devkit_ap(precision: list[float], recall: list[float]) -> float:
    """The area of the development kit, with its points at recall 0 and 1."""
    r, p = [0.0, *recall, 1.0], [0.0, *precision, 0.0]
    for i in range(len(p) - 2, -1, -1):
        p[i] = max(p[i], p[i + 1])
    return math.fsum((r[i] - r[i - 1]) * p[i] for i in range(1, len(r)) if r[i] != r[i - 1])


def curve(results: list[Any], label: Any, num_gt: int) -> tuple[list[float], list[float]]:
    """Precision and recall of one class from (score, is_tp, class)."""
    rows = sorted((row for row in results if row[2] == label), key=lambda row: -row[0])
    precision, recall = [], []
    positives = 0
    for n, row in enumerate(rows, 1):
        positives += row[1]
        precision.append(positives / n)
        recall.append(positives / num_gt if num_gt else math.nan)
    return precision, recall


def area(precision: list[float], recall: list[float]) -> float:
    """The rectangles where recall changes, under precision that falls."""
    if not precision:
        return 0.0
    r, p = [0.0, *recall], [1.0, *precision]
    for i in range(len(p) - 1, 0, -1):
        p[i - 1] = max(p[i - 1], p[i])
    return math.fsum((r[i] - r[i - 1]) * p[i] for i in range(1, len(r)) if r[i] != r[i - 1])


def sampled(precision: list[float], recall: list[float], points: int) -> float:
    """Mean over evenly spaced recalls of the best precision from there on."""
    total = []
    for k in range(points):
        level = k / (points - 1)
        reached = [p for p, r in zip(precision, recall, strict=True) if r >= level]
        total.append(max(reached, default=0.0))
    return math.fsum(total) / points


def mean_ap(
    predictions: list[Any], truths: list[Any], limit: float, points: int | None = None
) -> float:
    """Mean AP of lists by image, over classes with ground truths."""
    results = []
    for found, true in zip(predictions, truths, strict=True):
        hits = greedy(found, true, limit)
        results += [(p[1], i in hits, p[2]) for i, p in enumerate(found)]
    values = []
    labels = [t[1] for true in truths for t in true]
    for label in set(labels):
        precision, recall = curve(results, label, labels.count(label))
        values.append(sampled(precision, recall, points) if points else area(precision, recall))
    return sum(values) / len(values) if values else 0.0


def best_pairs(predictions: list[Any], truths: list[Any], limit: float) -> dict[int, int]:
    """Take the best pair that is left until none is: IoU, same class, score, first given.

    Of overlaps less than 1e-9 below the largest nobody can say that they are smaller.
    """
    found: dict[int, int] = {}
    while True:
        left = [
            (iou(p[0], t[0]), (p[2] != t[1], -p[1], i, j))
            for i, p in enumerate(predictions)
            for j, t in enumerate(truths)
            if i not in found and j not in found.values() and iou(p[0], t[0]) >= limit
        ]
        if not left:
            return found
        largest = max(overlap for overlap, _ in left)
        *_, i, j = min(rest for overlap, rest in left if overlap > largest - 1e-9)
        found[i] = j


def inside(a: Any, b: Any) -> float:
    """The share of box a that lies in box b."""
    wide, high = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    area = (a[2] - a[0]) * (a[3] - a[1])
    return wide * high / area if wide > 0 and high > 0 else 0.0


def counted(truths: list[Any]) -> list[int]:
    """The objects that are neither difficult (third entry) nor a crowd (fourth)."""
    return [j for j, t in enumerate(truths) if not any(t[2:])]


def is_aside(prediction: Any, truths: list[Any], limit: float, *, any_class: bool = False) -> bool:
    """Whether it finds a difficult object, or lies in a crowd, of its class."""
    for t in truths:
        if (any_class or t[1] == prediction[2]) and any(t[2:]):
            share = inside if len(t) > 3 and t[3] else iou
            if share(prediction[0], t[0]) >= limit:
                return True
    return False


def confusion(
    predictions: list[Any],
    truths: list[Any],
    limits: tuple[float, float],
    targets: list[Any],
    *,
    any_class: bool,
) -> tuple[list[list[int]], int]:
    """Count cell by cell; return also the confusions among classes without a row."""
    size, apart = len(targets) + 2, 0
    matrix = [[0] * size for _ in range(size)]

    def place(label: Any) -> int:
        return targets.index(label) if label in targets else size - 2

    for found, true in zip(predictions, truths, strict=True):
        kept, all_true = [p for p in found if p[1] >= limits[1]], true
        true = [true[j] for j in counted(true)]
        pairs = (best_pairs if any_class else greedy)(kept, true, limits[0])
        for i, p in enumerate(kept):
            if i not in pairs:
                if is_aside(p, all_true, limits[0], any_class=any_class):
                    continue
                matrix[size - 1][place(p[2])] += 1
                continue
            label = true[pairs[i]][1]
            if place(label) == place(p[2]) == size - 2 and label != p[2]:
                apart += 1
            else:
                matrix[place(label)][place(p[2])] += 1
        for j, t in enumerate(true):
            if j not in pairs.values():
                matrix[place(t[1])][size - 1] += 1
    return matrix, apart


def error_kinds(
    predictions: list[Any], truths: list[Any], limit: float, least: float
) -> tuple[list[str], list[bool]]:
    """Kinds of the predictions' errors in one image, "" for a hit; which objects are missed."""
    plain, all_truths = counted(truths), truths
    truths = [truths[j] for j in plain]
    pairs = greedy(predictions, truths, limit)
    covered, kinds = set(pairs.values()), []
    for i, p in enumerate(predictions):
        own = [(iou(p[0], t[0]), -j) for j, t in enumerate(truths) if t[1] == p[2]]
        other = [(iou(p[0], t[0]), -j) for j, t in enumerate(truths) if t[1] != p[2]]
        a, b = max(own, default=(0.0, 0)), max(other, default=(0.0, 0))
        if i in pairs:
            kinds.append("")
        elif is_aside(p, all_truths, limit):
            kinds.append("aside")
        elif least <= a[0] < limit:
            kinds.append("localisation")
            covered.add(-a[1])
        elif b[0] >= limit:
            kinds.append("classification")
            covered.add(-b[1])
        elif a[0] >= limit:
            kinds.append("duplicate")
        else:
            kinds.append("background" if max(a[0], b[0]) < least else "both")
    missed = {plain[j] for j in range(len(truths)) if j not in covered}
    return kinds, [j in missed for j in range(len(all_truths))]


def _error_rows(
    predictions: list[Any], truths: list[Any], limit: float, least: float
) -> tuple[list[Any], list[Any]]:
    """Score, kind, label and object of each prediction; labels of objects that are missed."""
    rows: list[Any] = []
    unseen: list[Any] = []
    for number, (found, true) in enumerate(zip(predictions, truths, strict=True)):
        kinds, missed = error_kinds(found, true, limit, least)
        unseen += [t[1] for t, is_missed in zip(true, missed, strict=True) if is_missed]
        true = [true[j] for j in counted(true)]
        pairs = greedy(found, true, limit)
        for i, (p, kind) in enumerate(zip(found, kinds, strict=True)):
            if kind == "aside":
                continue
            about = pairs.get(i)
            if kind in ("localisation", "classification"):
                mine = kind == "localisation"
                near = [(iou(p[0], t[0]), -j) for j, t in enumerate(true) if (t[1] == p[2]) == mine]
                about = -max(near)[1]
            label = true[about][1] if about is not None else p[2]
            rows.append((p[1], kind, p[2], label, (number, about)))
    return rows, unseen


def error_costs(
    predictions: list[Any], truths: list[Any], limit: float, least: float
) -> dict[str, float]:
    """How much mean AP rises as each kind of error is put right, prediction by prediction."""
    labels = [true[j][1] for true in truths for j in counted(true)]
    rows, unseen = _error_rows(predictions, truths, limit, least)

    def mean(results: list[Any], counts: list[Any]) -> float:
        values = []
        for label in set(labels):
            curves = curve(results, label, counts.count(label))
            values.append(sampled(*curves, 101) if counts.count(label) else 1.0)
        return sum(values) / len(values) if values else float("nan")

    plain = [(score, kind == "", label) for score, kind, label, *_ in rows]
    left = list(labels)
    for label in unseen:
        left.remove(label)
    found_ones = [label for _, kind, label, *_ in rows if kind == ""]
    values = {
        "missed": mean(plain, left),
        "false_positives": mean([row for row in plain if row[1]], labels),
        "false_negatives": mean(plain, found_ones),
    }
    for name in ("classification", "localisation", "both", "duplicate", "background"):
        done = {place for _, kind, _, _, place in rows if kind == ""}
        results = []
        for score, kind, label, right, place in sorted(rows, key=lambda row: -row[0]):
            if kind != name:
                results.append((score, kind == "", label))
            elif name in ("classification", "localisation") and place not in done:
                done.add(place)
                results.append((score, True, right))
        values[name] = mean(results, labels)
    base = mean(plain, labels)
    return {"map": base, **{name: value - base for name, value in values.items()}}


def counts_at(results: list[Any], label: Any, num_gt: int, confidence: float) -> tuple[int, ...]:
    """True and false positives and misses of one class from a confidence on."""
    kept = [row for row in results if row[2] == label and row[0] >= confidence]
    hits = sum(row[1] for row in kept)
    return hits, len(kept) - hits, num_gt - hits


def best_f1(results: list[Any], num_gt: int) -> float:
    """The highest F1 of all thresholds."""
    best = 0.0
    for threshold in {row[0] for row in results}:
        kept = [row for row in results if row[0] >= threshold]
        hits = sum(row[1] for row in kept)
        best = max(best, 2 * hits / (len(kept) + num_gt))
    return best


def calibration_error(scores: list[float], correct: list[bool], bins: int) -> float:
    """Mean over predictions of the gap in their bin of equal width."""
    total = 0.0
    for k in range(bins):
        rows = [
            i
            for i, s in enumerate(scores)
            if k / bins <= s < (k + 1) / bins or (s == 1 and k == bins - 1)
        ]
        total += abs(sum(scores[i] for i in rows) - sum(correct[i] for i in rows))
    return total / len(scores)
