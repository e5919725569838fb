"""Sparse labels on façades: what each estimator says, against what every label would say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtrit

from benchmarks.calibration.facade_worlds import (
    PERCENTILE,
    Layout,
    Model,
    World,
    layouts,
    paint,
    recalls,
    world,
)
from benchmarks.calibration.lines import Line
from sightline.stats.missing_labels import (
    Overlaps,
    atoms_of,
    delta_bands,
    divergence,
    dropout_bands,
    labelling_looks_random,
    overlaps,
    ppi_mean,
    pu_band,
    pu_iou,
)
from sightline.stats.paired_tests import compare_family

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Places = tuple[Layout, ...]

IMAGES, GOLD = 139, 25
SCENARIOS: tuple[tuple[str, Model], ...] = (
    ("representative", "even"),
    ("representative", "drawn"),
    ("salient", "drawn"),
)
LOOKS = {
    "even": "looks at instances evenly",
    "drawn": "looks more at salient instances",
    "all": "looks at all instances",
}
LABELS = {"representative": "random instance labelled", "salient": "salient instance labelled"}


LEARNT: tuple[Model, Model] = ("one", "all")
APART: tuple[Model, Model] = ("all", "label and wrong places")


def run(repeats: int, *, small: bool = False) -> list[Line]:
    """Return every figure of the simulations of sparse labelling."""
    facades = layouts(150 if small else 400, 32)
    rng = np.random.default_rng([6, 0])
    # More images than façades: each comes back with other maps and another instance labelled.
    again = [place.relabelled(rng) for _ in range(3) for place in facades]
    places = (*facades, *again)
    few = repeats // 25 if small else repeats // 5
    lines = by_count(places)
    for at, (labelling, model) in enumerate(SCENARIOS):
        lines += scenario(places, labelling, model, (repeats, few), np.random.default_rng([6, at]))
    lines += wrong_conclusions(places, few)
    lines += not_told_apart(places, 2 if small else 4)
    # Cheap ones, and a rate of .05 is better known by more.
    many = repeats if small else 3 * repeats
    lines += labelling_test(facades, many, few, 40 if small else 120)
    return lines + delta_test(facades, repeats, 24 if small else IMAGES)


def scenario(
    places: Places,
    labelling: str,
    model: Model,
    repeats: tuple[int, int],
    rng: np.random.Generator,
) -> list[Line]:
    """Return bias and coverage of every estimator under one labelling and one model."""
    setting = f"{LABELS[labelling]}, {LOOKS[model]}"
    maps, many, few = paint(places, model, rng), *repeats
    seen = world(places, maps, labelling, rng)
    lines = plain_estimators(seen, setting, many, rng)
    lines += dropout(seen, setting, labelling, few, rng)
    lines += positive_unlabelled(seen, setting, few, rng)
    lines += powered(seen.table, f"{setting}, good completion", many, rng)
    poor = world(places, maps, labelling, rng, found=0.5, false=1.0)
    return lines + powered(poor.table, f"{setting}, poor completion", many, rng)


def samples(rng: np.random.Generator, of: int, repeats: int, n: int = IMAGES) -> NDArray[np.intp]:
    """Return studies: images drawn with replacement from all there are."""
    return np.asarray(rng.integers(0, of, (repeats, n)), np.intp)


def covered(values: Floats, truth: float) -> float:
    """Return how often Student's interval of each row holds the truth."""
    n = values.shape[1]
    half = float(stdtrit(n - 1, 0.975)) * values.std(1, ddof=1) / np.sqrt(n)
    return float((np.abs(values.mean(1) - truth) <= half).mean())


def by_count(places: Places) -> list[Line]:
    """How far IoU with one label is off, by the number of instances, for a model that sees all."""
    rng = np.random.default_rng([6, 100])
    table = world(places, paint(places, "all", rng), "representative", rng).table
    lines = []
    for low, high in ((2, 2), (3, 4), (5, 7), (8, 12)):
        some = (table["instances"] >= low) & (table["instances"] <= high)
        named = f"{low}" if low == high else f"{low}–{high}"
        naive, truth = table["naive"][some].mean(), table["truth"][some].mean()
        setting = f"{LABELS['representative']}, {LOOKS['all']}, {named} instances"
        lines.append(Line("bias of IoU with the label", setting, naive / truth - 1))
        hits = table["pointing"][some].mean() / table["pointing truth"][some].mean() - 1
        lines.append(Line("bias of pointing", setting, hits))
    return lines


PLAIN = {
    "IoU with the label": ("naive", "truth"),
    "IoU with all labels of an image": ("union", "union truth"),
    "recall": ("recall", "recall truth"),
    "lift": ("lift", "lift truth"),
    "share of ceiling": ("ceiling", "ceiling truth"),
    "pointing": ("pointing", "pointing truth"),
    "coverage": ("coverage", "coverage truth"),
    "IoU with the completion": ("completed", "truth"),
}


def plain_estimators(
    seen: World, setting: str, repeats: int, rng: np.random.Generator
) -> list[Line]:
    """Bias and coverage of the figures that a study shows without any correction."""
    studies = samples(rng, len(seen), repeats)
    lines = []
    for what, (figure, truth) in PLAIN.items():
        target = float(seen.table[truth].mean())
        values = seen.table[figure][studies]
        lines.append(Line(f"bias of {what}", setting, float(values.mean()) / target - 1))
        lines.append(Line(f"coverage of {what}", setting, covered(values, target)))
    gold = seen.table["truth"][studies[:, :GOLD]]
    target = float(seen.table["truth"].mean())
    lines.append(Line("bias of gold images alone", setting, float(gold.mean()) / target - 1))
    lines.append(Line("coverage of gold images alone", setting, covered(gold, target)))
    return lines


def labelled_lines(places: Places, maps: list[Floats], labelling: str) -> list[Overlaps]:
    """Return what maps cover of the labelled regions of all parts."""
    atoms = [atoms_of(place.masks[place.labelled[labelling]]) for place in places]
    return [overlaps(list(each), atoms, PERCENTILE) for each in maps]


def part(line: Overlaps, images: NDArray[np.intp]) -> Overlaps:
    """Return some images of a line."""
    return Overlaps(
        tuple(line.atoms[i] for i in images),
        tuple(line.inside[i] for i in images),
        line.selected[images],
    )


def dropout(
    seen: World, setting: str, labelling: str, repeats: int, rng: np.random.Generator
) -> list[Line]:
    """How often the band of a study holds what every label would say."""
    (line,) = labelled_lines(seen.places, [seen.maps], labelling)
    truth = float(seen.table["union truth"].mean())
    held, contained = [], []
    for study, images in enumerate(samples(rng, len(seen), repeats)):
        ((band,),) = dropout_bands([part(line, images)], [0.3], 100, seed=study)
        held.append(band.low <= truth <= band.high)
        contained.append(band.low <= band.value <= band.high)
    note = "a sensitivity band, not an interval"
    return [
        Line("dropout band holds the truth", setting, float(np.mean(held)), note=note),
        Line(
            "dropout band holds the figure at hand", setting, float(np.mean(contained)), note=note
        ),
    ]


def positive_unlabelled(
    seen: World, setting: str, repeats: int, rng: np.random.Generator
) -> list[Line]:
    """IoU corrected with known counts, own or pooled recall, or a range of frequencies."""
    table, truth = seen.table, float(seen.table["truth"].mean())
    labels = np.array([place.labels[0] for place in seen.places])
    frequency = 1 / float(table["instances"].mean())
    bounds = (0.7 * frequency, min(1.0, 1.3 * frequency))
    found: dict[str, list[tuple[float, bool]]] = {}
    for study, images in enumerate(samples(rng, len(seen), repeats)):
        recall, area, attended, counts = (
            table[name][images] for name in ("recall", "area", "attended", "instances")
        )
        who, kinds = range(IMAGES), labels[images]
        own, pool = (
            pu_iou(
                recall,
                area,
                attended,
                counts,
                images=who,
                groups=kinds,
                pooled=pooled,
                resamples=200,
                seed=study,
            )
            for pooled in (False, True)
        )
        band = pu_band(recall, area, attended, images=who, groups=kinds, frequency=bounds, steps=5)
        middle = float(np.median(band.values))
        for what, value, low, high in (
            ("own recall", own.value, own.low, own.high),
            ("pooled recall", pool.value, pool.low, pool.high),
            ("from pooled to own", (pool.value + own.value) / 2, pool.low, own.high),
            ("frequency ± 30%", middle, band.low, band.high),
        ):
            found.setdefault(what, []).append((value, low <= truth <= high))
    lines = []
    for what, pairs in found.items():
        bias = float(np.mean([value for value, _ in pairs])) / truth - 1
        lines.append(Line(f"bias of PU-corrected IoU, {what}", setting, bias))
        share = float(np.mean([held for _, held in pairs]))
        lines.append(Line(f"coverage of PU-corrected IoU, {what}", setting, share))
    return lines


def powered(
    table: dict[str, Floats], setting: str, repeats: int, rng: np.random.Generator
) -> list[Line]:
    """PPI++ of 25 gold images of 139, for both targets."""
    y, f, many = table["truth"], table["completed"], table["instances"] > 3
    truth = float(y.mean())
    correlation = float(np.corrcoef(y, f)[0, 1])
    values, held, fixed, ratios, strata = [], [], [], [], []
    for images in samples(rng, len(y), repeats):
        gold, rest = images[:GOLD], images[GOLD:]
        whole = ppi_mean(y[gold], f[gold], f[rest])
        here = ppi_mean(y[gold], f[gold], f[rest], target="set")
        values.append(whole.value)
        held.append(whole.low <= truth <= whole.high)
        fixed.append(here.low <= y[images].mean() <= here.high)
        alone = whole.gold_only
        ratios.append((whole.high - whole.low) / (alone.high - alone.low))
        strata.append(_stratified(y, f, many, images, truth))
    bias, wide = float(np.mean(values)) / truth - 1, float(np.mean(ratios))
    note = f"correlation {correlation:.2f}"
    most = 0.7 if correlation >= 0.8 else None
    return [
        Line("bias of PPI++", setting, bias, -0.02, 0.02, note),
        Line("coverage of PPI++, population", setting, float(np.mean(held)), 0.92, 0.98, note),
        Line("coverage of PPI++, this set", setting, float(np.mean(fixed)), 0.90, 0.98, note),
        Line("coverage of PPI++, two strata", setting, float(np.nanmean(strata)), 0.92, 0.98, note),
        Line("width of PPI++ over gold alone", setting, wide, None, most, note),
    ]


def _stratified(
    y: Floats, f: Floats, many: NDArray[np.bool_], images: NDArray[np.intp], truth: float
) -> float:
    """Say whether PPI++ with half of the gold images from each stratum holds the truth."""
    sides = [images[~many[images]], images[many[images]]]
    if min(map(len, sides)) <= GOLD:
        return np.nan
    gold = np.concatenate([side[: GOLD // 2 + 1] for side in sides])
    rest = np.concatenate([side[GOLD // 2 + 1 :] for side in sides])
    found = ppi_mean(y[gold], f[gold], f[rest], strata=many[gold], rest_strata=many[rest])
    return float(found.low <= truth <= found.high)


TOLD = {
    "IoU with the label": "naive",
    "recall": "recall",
    "lift": "lift",
    "share of ceiling": "ceiling",
    "coverage": "coverage",
    "pointing": "pointing",
    "IoU with the completion": "completed",
    "IoU with every label": "truth",
}


def wrong_conclusions(places: Places, repeats: int) -> list[Line]:
    """A model learns to look at all instances: how often each figure says that it got worse."""
    lines = []
    for at, labelling in enumerate(LABELS):
        rng = np.random.default_rng([6, 300, at])
        before, after = (
            world(places, paint(places, model, rng, labelling="salient"), labelling, rng)
            for model in LEARNT
        )
        gaps = np.column_stack([after.table[of] - before.table[of] for of in TOLD.values()])
        setting = f"{LABELS[labelling]}, from the salient instance to all"
        most = 0.0 if labelling == "salient" else None
        lines += [
            Line("change in IoU with the label", setting, float(gaps[:, 0].mean()), None, most),
            Line("change in IoU with every label", setting, float(gaps[:, -1].mean()), 0.0, None),
            *_preferred(gaps, setting, repeats, rng),
        ]
    return lines


def _preferred(gaps: Floats, setting: str, repeats: int, rng: np.random.Generator) -> list[Line]:
    """Return how often each figure of a study says significantly worse, or better."""
    worse, better = np.zeros((2, len(TOLD)))
    for images in samples(rng, len(gaps), repeats):
        found = compare_family(gaps[images], flips=499)
        worse += (found.p <= 0.05) & (found.difference < 0)
        better += (found.p <= 0.05) & (found.difference > 0)
    return [
        Line(
            f"{what} says significantly worse",
            setting,
            worse[j] / repeats,
            note=f"significantly better in {better[j] / repeats:.2f}",
        )
        for j, what in enumerate(TOLD)
    ]


def not_told_apart(places: Places, rounds: int) -> list[Line]:
    """Looking at all instances, and at the label and wrong places: same figures, another truth."""
    right, wrong = (
        _rounds(places, model, rounds, np.random.default_rng([6, 400, at]))
        for at, model in enumerate(APART)
    )
    setting = "at the label and at wrong places, against at all instances"
    lines = []
    for what in ("IoU with the label", "recall", "pointing", "coverage", "share of ceiling"):
        name = PLAIN[what][0]
        gap = float(wrong[name].mean() / right[name].mean()) - 1
        most = 0.15 if what == "pointing" else 0.05  # one hit or miss an image tells little
        lines.append(Line(f"relative difference in {what}", setting, gap, -most, most))
    gap = _flagged(wrong) - _flagged(right)
    lines.append(Line("difference in share of flagged regions", setting, gap, -0.05, 0.05))
    gap = float(wrong["truth"].mean() / right["truth"].mean()) - 1
    lines.append(Line("relative difference in IoU with every label", setting, gap, None, -0.25))
    return lines


def _rounds(
    places: Places, model: Model, rounds: int, rng: np.random.Generator
) -> dict[str, Floats]:
    """Return the figures of several maps for each image."""
    labelling = "representative"
    tables = [
        world(places, paint(places, model, rng, labelling=labelling), labelling, rng).table
        for _ in range(rounds)
    ]
    return {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}


def _flagged(table: dict[str, Floats]) -> float:
    names = ("pointing", "coverage", "naive", "attended", "area")
    return divergence(*(table[name] for name in names)).share


def labelling_test(places: Places, many: int, few: int, n: int) -> list[Line]:
    """How often labels dealt out at random look chosen, and how often chosen ones do."""
    rng = np.random.default_rng([6, 500])
    atoms = [place.atoms for place in places]
    line = overlaps(list(paint(places, "drawn", rng)), atoms, PERCENTILE)
    areas = [place.masks[: place.instances].sum((1, 2)) for place in places]
    recall = [recalls(place, line, i) for i, place in enumerate(places)]
    plans = (
        ("area", areas, "one random instance labelled", _one, many),
        ("area", areas, "some random instances labelled", _some, many),
        ("the map's recall", recall, "one random instance labelled", _one, many),
        ("area", areas, LABELS["salient"], _salient, few),
        ("the map's recall", recall, LABELS["salient"], _salient, few),
    )
    lines = []
    for name, values, setting, deal, studies in plans:
        rejected = 0
        for study in range(studies):
            images = rng.choice(len(places), n, replace=False)
            groups = np.repeat(images, [places[i].instances for i in images])
            labels = np.concatenate([deal(places[i], rng) for i in images])
            here = np.concatenate([values[i] for i in images])
            test = labelling_looks_random(here, labels, groups, permutations=199, seed=study)
            rejected += test.p <= 0.05
        what, rate = f"labelling does not look random by {name}", rejected / studies
        power = deal is _salient
        bounds = (None, None, "power") if power else (0.03, 0.07, "")
        lines.append(Line(what, setting, rate, *bounds))
    return lines


def _one(place: Layout, rng: np.random.Generator) -> NDArray[np.bool_]:
    return np.asarray(np.arange(place.instances) == rng.integers(place.instances))


def _some(place: Layout, rng: np.random.Generator) -> NDArray[np.bool_]:
    marks = rng.permutation(place.instances) < rng.integers(1, place.instances)
    return np.asarray(marks)


def _salient(place: Layout, rng: np.random.Generator) -> NDArray[np.bool_]:
    return place.labelled["salient"][: place.instances]


def delta_test(places: Places, repeats: int, n: int) -> list[Line]:
    """False positives of the sign-flip test under dropout, where two models look alike."""
    rng = np.random.default_rng([6, 600])
    maps = [paint(places, "even", rng) for _ in range(6)]
    lines = labelled_lines(places, maps, "representative")
    p = np.zeros((3, repeats))
    for study in range(repeats):
        images = rng.choice(len(places), n, replace=False)
        picks = rng.permuted(np.tile(np.arange(len(lines)), (n, 1)), axis=1)[:, :2]
        a, b = (_mixed(lines, images, picks[:, side]) for side in (0, 1))
        none, some = delta_bands(a, b, (0, 0.3), 9, flips=499, seed=study)
        p[:, study] = none.p, some.p_draws[0], some.p
    setting = f"two models alike, {n} images"
    rates = (p <= 0.05).mean(1)
    return [
        Line("Δ-IoU differs, no dropout", setting, rates[0], 0.03, 0.07),
        Line("Δ-IoU differs, one draw at dropout 0.3", setting, rates[1], 0.03, 0.07),
        Line("Δ-IoU differs, median over draws at dropout 0.3", setting, rates[2], None, 0.07),
    ]


def _mixed(lines: list[Overlaps], images: NDArray[np.intp], picks: NDArray[np.intp]) -> Overlaps:
    """Return images, each from the line that was picked for it."""
    pairs = list(zip(images, picks, strict=True))
    return Overlaps(
        tuple(lines[0].atoms[i] for i in images),
        tuple(lines[at].inside[i] for i, at in pairs),
        np.array([lines[at].selected[i] for i, at in pairs]),
    )
