"""What missing labels do on photographs: `python -m benchmarks.missing_labels FOLDER --keep MAPS`

FOLDER holds `monumai/` (photographs of monument fronts with every part annotated: MonuMAI,
github.com/ari-dasci/OD-MonuMAI, one folder per style with its `xml/`) and `deit-tiny/` (a
transformer of ImageNet in the format of transformers). Of each label of an image one region is kept
at random; the full annotation is the truth. Four tables are printed, by configuration:

- studies of 120 images, 30 of them gold, are drawn 200 times, by seeds 0 to 199: how often the bias
  of the sparse mean IoU is detected, by whether the sparse mean lies within the interval of the
  joined mean (the old rule; also with all other images in the study), by the test of the paired
  differences of gold and sparse scores, and by the verdict of `sightline sparsity`, which asks for
  that test and an interval without 0, for one configuration and under Holm's correction for all;
  the computed power, which is that of Student's t-test, as the interval is; and how often test and
  verdict find something where there is no bias, with random signs of the differences and with
  their mean taken off;
- IoU corrected for unlabelled instances by known counts, with recall pooled and with each image's
  own, against the truth: over all images, between which errors 95% of 200 studies of 120 images
  lie, and over all images if not a random region of each label were kept but that of the highest
  recall;
- the same where counts are not known, at the true labelling frequency, also of those images on
  which nothing is missing; and how often the band of `sightline sparsity`, around the labelling
  frequency of 30 gold images, holds the truth;
- recall of single regions: means over regions, and over images and labels.

Scores, not maps, are kept in MAPS and read from there the next time.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd
from scipy.stats import t

from benchmarks.completion import table
from sightline import explain, load_model, score_maps
from sightline.core import Annotation, Region
from sightline.results._label_tables import compute_frequency_range
from sightline.results.missing_label_findings import get_bias_verdict
from sightline.stats import compare_family, compute_detectable_difference, compute_power, holm
from sightline.stats.missing_labels import (
    compute_label_bias,
    compute_region_mean,
    joined,
    pu_band,
    pu_iou,
)
from sightline.stats.power import compute_mean_power

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from sightline.attribution.methods import Maps
    from sightline.models import Model
    from sightline.stats.missing_labels import LabelBias

    Floats = NDArray[np.float64]

GOLD, STUDY, DRAWS, NULLS, ALPHA = 30, 120, 200, 2000, 0.05
PIXELS, BATCH = 224, 64
METHODS: dict[str, tuple[int | None, ...]] = {
    "cls": (8, 9, 11),
    "rollout": (11,),
    "gradcam": (11,),
    "edge": (None,),
    "centre": (None,),
    "random": (None,),
}
"""Methods with the layers that are scored, counted from 0."""


class Photograph(NamedTuple):
    """An image with its full annotation."""

    path: Path
    annotation: Annotation


class Scores(NamedTuple):
    """Scores of one configuration.

    Attributes
    ----------
    images : DataFrame
        IoU of each image against the full and against the kept labels.
    regions : DataFrame
        Each region of the full annotation: image, label, whether it was kept, recall, area,
        attended (selected fraction of the image), count (of its label on its image).
    """

    images: pd.DataFrame
    regions: pd.DataFrame


def read_photographs(folder: Path) -> list[Photograph]:
    """Return the photographs of MonuMAI that have boxes, by style and name."""
    found: list[Photograph] = []
    for file in sorted(folder.glob("*/xml/*.xml")):
        path = file.parents[1] / f"{file.stem}.jpg"
        tree = ET.parse(file).getroot()  # the user's own files
        width, height = (int(tree.findtext(f"size/{side}", "0")) for side in ("width", "height"))
        regions = tuple(
            Region(item.findtext("name", ""), box=_read_box(item, width, height), index=number)
            for number, item in enumerate(tree.iter("object"))
        )
        if regions and file.parents[1].name != "originals":
            name = f"{len(found):05}"
            found.append(Photograph(path, Annotation(name, width, height, regions)))
    return found


def _read_box(item: ET.Element, width: int, height: int) -> tuple[float, float, float, float]:
    """Return normalised corners of a box whose pixels are counted from 1, both ends in."""
    corners = ("xmin", "ymin", "xmax", "ymax")
    x0, y0, x1, y1 = (float(item.findtext(f"bndbox/{corner}", "nan")) for corner in corners)
    box = np.array([(x0 - 1) / width, (y0 - 1) / height, x1 / width, y1 / height])
    a, b, c, d = np.clip(box, 0, 1).tolist()
    return a, b, c, d


def keep_one_per_label(annotation: Annotation, rng: np.random.Generator) -> Annotation:
    """Return an annotation with one region of each label, chosen at random."""
    labels: dict[str, list[Region]] = {}
    for region in annotation.regions:
        labels.setdefault(region.label, []).append(region)
    kept = tuple(regions[rng.integers(len(regions))] for regions in labels.values())
    return replace(annotation, regions=kept)


def measure(
    photographs: Sequence[Photograph],
    model: Model,
    methods: Mapping[str, Sequence[int | None]] = METHODS,
    keep: Path | None = None,
) -> dict[str, Scores]:
    """Return the scores of each configuration; those kept in a folder are read."""
    rng = np.random.default_rng(0)
    sparse = [keep_one_per_label(photograph.annotation, rng) for photograph in photographs]
    measured: dict[str, Scores] = {}
    for method, layers in methods.items():
        names = {_name(method, layer): layer for layer in layers}
        files = {name: [_file(keep, name, part) for part in Scores._fields] for name in names}
        if keep is not None and all(file.exists() for pair in files.values() for file in pair):
            measured |= {name: Scores(*map(pd.read_csv, pair)) for name, pair in files.items()}
            continue
        scores = _measure(photographs, sparse, model, method, names)
        for name, pair in files.items():
            if keep is not None:
                for frame, file in zip(scores[name], pair, strict=True):
                    frame.to_csv(file, index=False)
        measured |= scores
    return measured


def _name(method: str, layer: int | None) -> str:
    return method if layer is None else f"{method} · layer {layer}"


def _file(keep: Path | None, name: str, part: str) -> Path:
    return (keep or Path()) / f"{name.replace(' · ', '-').replace(' ', '')}-{part}.csv"


def _measure(
    photographs: Sequence[Photograph],
    sparse: Sequence[Annotation],
    model: Model,
    method: str,
    names: Mapping[str, int | None],
) -> dict[str, Scores]:
    """Make the maps of a method, some images at a time, and score them."""
    layers: Any = [layer for layer in names.values() if layer is not None] or "all"
    parts: dict[str, list[Scores]] = {name: [] for name in names}
    for start in range(0, len(photographs), BATCH):
        some = slice(start, start + BATCH)
        paths = [str(photograph.path) for photograph in photographs[some]]
        maps = explain(model, paths, method, layers=layers).to_image(PIXELS)
        full = [photograph.annotation for photograph in photographs[some]]
        for name, layer in names.items():
            parts[name].append(_score(maps, layer, full, sparse[some]))
    return {
        name: Scores(*(pd.concat(frames, ignore_index=True) for frames in zip(*some, strict=True)))
        for name, some in parts.items()
    }


def _score(
    maps: Maps, layer: int | None, full: Sequence[Annotation], sparse: Sequence[Annotation]
) -> Scores:
    """Score maps against the full and the kept labels."""
    values = np.stack([maps.of(i, layer) for i in range(len(maps))])
    every, kept = (
        score_maps(
            values,
            regions=list(annotations),
            percentiles=(90,),
            metrics=("iou@90", "recall@90"),
            sign=maps.sign,
        )
        for annotations in (full, sparse)
    )
    ids = np.array([annotation.image_id for annotation in full])
    images = pd.DataFrame({"image": ids, "full": every["iou@90"], "sparse": kept["iou@90"]})
    parts = every.regions
    assert parts is not None
    marked = {(one.image_id, region.index) for one in sparse for region in one.regions}
    regions = pd.DataFrame(
        {
            "image": ids[parts.map],
            "label": parts.label,
            "kept": [key in marked for key in zip(ids[parts.map], parts.region, strict=True)],
            "recall": parts["recall@90"],
            "area": parts["annotation_area"],
            "attended": parts["attention_area@90"],
        }
    )
    regions["count"] = regions.groupby(["image", "label"])["label"].transform("size")
    return Scores(images, regions)


# --- the bias of the sparse mean -----------------------------------------------------------------


class Detection(NamedTuple):
    """How often the bias of one configuration is detected, and how often it should be.

    Attributes
    ----------
    bias, relative : float
        Mean gold minus sparse score over all images, and in units of the mean gold score.
    old, old_all : float
        Rate of detection by the old rule in a study of 120 images and in one of all images.
    test, verdict, corrected : float
        By the paired test alone, by the verdict for one configuration (test and interval), and by
        that under Holm's correction for all configurations.
    power, estimated : float
        Of Student's t-test, which the interval equals: from the standard deviation over all images,
        and the mean over the gold sets, each from its own standard deviation.
    detectable : float
        Mean over the gold sets of the smallest bias with 80% power.
    signs, centred : pair of float
        Rate of false detection by test and verdict, of differences with random signs and with their
        mean taken off.
    """

    bias: float
    relative: float
    old: float
    old_all: float
    test: float
    verdict: float
    corrected: float
    power: float
    estimated: float
    detectable: float
    signs: tuple[float, float]
    centred: tuple[float, float]


class Trial(NamedTuple):
    """What a study says of the bias of one configuration: the rules, and what they could detect."""

    old: bool
    old_all: bool
    bias: LabelBias
    power: float
    detectable: float


def detect(
    scores: Mapping[str, Scores], draws: int = DRAWS, n: int = GOLD, size: int = STUDY
) -> list[Detection]:
    """Return how often the bias of each configuration is detected over gold sets."""
    frames = [part.images for part in scores.values()]
    truths = [float((frame["full"] - frame["sparse"]).mean()) for frame in frames]
    trials: list[list[Trial]] = [[] for _ in frames]
    for seed in range(draws):
        study = np.random.default_rng(seed).choice(len(frames[0]), size, replace=False)
        for frame, truth, row in zip(frames, truths, trials, strict=True):
            row.append(_try_study(frame, truth, study, n))
    p = np.array([[trial.bias.p for trial in row] for row in trials])
    corrected = np.column_stack([holm(column) for column in p.T])
    return [
        Detection(
            bias=truth,
            relative=truth / float(frame["full"].mean()),
            old=_average([trial.old for trial in row]),
            old_all=_average([trial.old_all for trial in row]),
            test=_average([trial.bias.p <= ALPHA for trial in row]),
            verdict=_average([_is_shown(trial.bias, trial.bias.p) for trial in row]),
            corrected=_average([_is_shown(row[i].bias, p) for i, p in enumerate(values)]),
            power=_expect_power(frame, truth, n),
            estimated=_average([trial.power for trial in row]),
            detectable=_average([trial.detectable for trial in row]),
            signs=signs,
            centred=centred,
        )
        for frame, truth, row, values in zip(frames, truths, trials, corrected, strict=True)
        for signs, centred in [_reject_nothing(frame, n)]
    ]


def _try_study(frame: pd.DataFrame, truth: float, study: NDArray[np.intp], n: int) -> Trial:
    """Return what a study says of which the first n images are gold."""
    sparse, full = (frame[key].to_numpy(np.float64) for key in ("sparse", "full"))
    gold = np.full(len(full), np.nan)
    gold[study[:n]] = full[study[:n]]
    gaps = (full - sparse)[study[:n]]
    return Trial(
        _is_outside(sparse[study], gold[study]),
        _is_outside(sparse, gold),
        compute_label_bias(sparse, gold, limits=(0, 1)),
        compute_power(truth, gaps),
        compute_detectable_difference(gaps),
    )


def _average(values: Sequence[float]) -> float:
    return float(np.mean(values))


def _is_outside(sparse: Floats, gold: Floats) -> bool:
    """Return whether the sparse mean lies outside the interval of the joined mean."""
    four = joined(sparse, sparse, gold)
    return not four.joined.low <= four.sparse.value <= four.joined.high


def _is_shown(bias: LabelBias, p: float) -> bool:
    """Return whether the verdict of `sightline sparsity` is that there is a bias."""
    return get_bias_verdict({**asdict(bias), "p_holm": p}) in ("low", "high")


def _reject_nothing(frame: pd.DataFrame, n: int) -> tuple[tuple[float, float], ...]:
    """Return how often test and verdict find a bias in n differences without any."""
    gaps = (frame["full"] - frame["sparse"]).to_numpy(np.float64)
    rng = np.random.default_rng(0)
    rows = rng.integers(0, len(gaps), (n, NULLS))
    signs = gaps[rows] * rng.choice([-1.0, 1.0], rows.shape)
    rates = []
    for sample in (signs, (gaps - gaps.mean())[rows]):
        rejected = compare_family(sample, flips=999).p <= ALPHA
        half = t.ppf(1 - ALPHA / 2, n - 1) * sample.std(0, ddof=1) / n**0.5
        excluded = np.abs(sample.mean(0)) > half  # Student's interval, as `compute_label_bias` has
        rates.append((float(rejected.mean()), float((rejected & excluded).mean())))
    return tuple(rates)


def _expect_power(frame: pd.DataFrame, truth: float, n: int) -> float:
    spread = float((frame["full"] - frame["sparse"]).std(ddof=1))
    return compute_mean_power(truth / spread * n**0.5, n - 1, ALPHA)


# --- what can be said without a gold set ---------------------------------------------------------


class Errors(NamedTuple):
    """Relative errors of the sparse mean IoU and of the corrected ones."""

    sparse: float
    pooled: float
    own: float


def correct(scores: Scores) -> Errors:
    """Return how far the sparse and the corrected mean IoU are from the truth."""
    (recall, area, attended), who, counts = _list_kept(scores)
    pu = pu_iou(recall, area, attended, counts, **who, resamples=1)
    truth, sparse = (float(scores.images[key].mean()) for key in ("full", "sparse"))
    return Errors(*(value / truth - 1 for value in (sparse, pu.pooled, pu.own)))


def keep_most_covered(scores: Scores) -> Scores:
    """Return scores as if of each label of an image the region of the highest recall were kept."""
    regions = scores.regions.reset_index(drop=True)
    best = regions.groupby(["image", "label"])["recall"].idxmax()
    return scores._replace(regions=regions.assign(kept=regions.index.isin(best)))


def _list_kept(scores: Scores) -> tuple[list[Floats], dict[str, Any], Floats]:
    """Return recall, area and attended share of the kept regions, whose they are, and counts."""
    kept = scores.regions[scores.regions["kept"]]
    *columns, counts = (
        kept[key].to_numpy(np.float64) for key in ("recall", "area", "attended", "count")
    )
    return columns, {"images": list(kept["image"]), "groups": list(kept["label"])}, counts


class FrequencyErrors(NamedTuple):
    """Relative errors of IoU corrected at the true labelling frequency.

    Attributes
    ----------
    pooled, own : float
        Over all images.
    pooled_complete, own_complete : float
        Over the images on which nothing is missing; NaN without any.
    """

    pooled: float
    own: float
    pooled_complete: float
    own_complete: float


def correct_by_frequency(scores: Scores) -> FrequencyErrors:
    """Return how far IoU is from the truth where nothing but the labelling frequency is known."""
    (recall, area, attended), who, _ = _list_kept(scores)
    share = float(scores.regions["kept"].mean())
    truth = scores.images.set_index("image")["full"]
    whole = scores.regions.groupby("image")["kept"].all()
    errors = []
    for pooled in (True, False):
        band = pu_band(recall, area, attended, **who, frequency=(share, share), pooled=pooled)
        ious = pd.Series(band.iou[0], list(band.images))
        errors += [
            float(ious[names].mean() / truth[names].mean() - 1) if len(names) else np.nan
            for names in (truth.index, whole.index[whole])
        ]
    pooled_all, pooled_complete, own_all, own_complete = errors
    return FrequencyErrors(pooled_all, own_all, pooled_complete, own_complete)


class Studies(NamedTuple):
    """Ends of the middle 95% of errors, by estimate, and how often bands hold the truth.

    Attributes
    ----------
    known : Errors of pairs
        By known counts.
    frequency : FrequencyErrors of pairs
        At the true labelling frequency.
    pooled, own : float
        How often the band around the labelling frequency of the gold images holds the truth.
    """

    known: dict[str, tuple[float, float]]
    frequency: dict[str, tuple[float, float]]
    pooled: float
    own: float


def correct_studies(
    scores: Scores, draws: int = DRAWS, n: int = STUDY, gold: int = GOLD
) -> Studies:
    """Return how corrected IoU does in studies of n images."""
    known, frequency, held = [], [], []
    groups = scores.regions.groupby("image").indices
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        images = scores.images.iloc[rng.choice(len(scores.images), n, replace=False)]
        rows = np.concatenate([groups[image] for image in images["image"]])
        study = Scores(images, scores.regions.iloc[rows])
        known.append(correct(study))
        frequency.append(correct_by_frequency(study))
        held.append(_hold_truth(study, set(images["image"].iloc[:gold])))
    pooled, own = np.mean(held, axis=0).tolist()
    return Studies(
        _find_ends(known, Errors._fields),
        _find_ends(frequency, FrequencyErrors._fields),
        pooled,
        own,
    )


def _find_ends(errors: Sequence[Any], names: Sequence[str]) -> dict[str, tuple[float, float]]:
    ends = np.nanquantile(np.array(errors), (0.025, 0.975), axis=0).T.tolist()
    return {name: (low, high) for name, (low, high) in zip(names, ends, strict=True)}


def _hold_truth(study: Scores, gold: set[Any]) -> list[bool]:
    """Return whether the bands of pooled and own recall hold the truth."""
    (recall, area, attended), who, _ = _list_kept(study)
    known = study.regions[study.regions["image"].isin(gold)]["kept"]
    frequency = compute_frequency_range(int(known.sum()), len(known))
    bands = [
        pu_band(recall, area, attended, **who, frequency=frequency, pooled=pooled)
        for pooled in (True, False)
    ]
    truth = float(study.images["full"].mean())
    return [band.low <= truth <= band.high for band in bands]


def average_recall(scores: Scores) -> Iterator[float]:
    """Yield the mean recall over regions and over images and labels: the truth, and estimates.

    The truth over regions, its estimates from kept regions without and with known counts; the
    truth over images and labels, its estimate.
    """
    kept = scores.regions[scores.regions["kept"]]
    counts = kept["count"].to_numpy(np.float64)
    yield _average_recall(scores.regions)
    yield _average_recall(kept)
    yield _average_recall(kept, instances=counts)
    yield _average_recall(scores.regions, mean_over="image_label")
    yield _average_recall(kept, mean_over="image_label")


def _average_recall(regions: pd.DataFrame, **options: Any) -> float:
    who: dict[str, Any] = {"images": list(regions["image"]), "labels": list(regions["label"])}
    return compute_region_mean(regions["recall"].to_numpy(np.float64), **who, **options)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="holds monumai/ and deit-tiny/")
    parser.add_argument("--keep", type=Path, help="folder for the scores of a later run")
    parser.add_argument("--draws", type=int, default=DRAWS, help="gold sets")
    parser.add_argument("--markdown", action="store_true", help="print Markdown")
    args = parser.parse_args(arguments)
    if args.keep is not None:
        args.keep.mkdir(parents=True, exist_ok=True)
    photographs = read_photographs(args.folder / "monumai")
    model = load_model(f"hf:{args.folder / 'deit-tiny'}")
    scores = measure(photographs, model, keep=args.keep)
    first = next(iter(scores.values())).regions
    print(
        f"{len(photographs):,} photographs, {first['kept'].sum():,} of {len(first):,} labels kept; "
        f"nothing is missing on {first.groupby('image')['kept'].all().sum():,} photographs"
    )
    for title, head, rows in build_tables(scores, args.draws):
        print(f"\n{title}\n{table(head, rows, args.markdown)}")


def build_tables(
    scores: Mapping[str, Scores], draws: int
) -> Iterator[tuple[str, list[str], list[list[str]]]]:
    names = list(scores)
    rates = ["old rule", "old, all images", "test", "verdict", "verdict, Holm", "power",
             "power, own sd"]  # fmt: skip
    yield (
        f"Bias detected in {draws} studies of {STUDY} images, {GOLD} of them gold",
        ["configuration", "true bias", "relative", *rates, "detectable",
         "random signs: test, verdict", "centred: test, verdict"],
        [
            [name, f"{one.bias:+.4f}", f"{one.relative:+.1%}",
             *(f"{rate:.3f}" for rate in one[2:9]), f"{one.detectable:.4f}",
             *(f"{test:.3f}, {verdict:.3f}" for test, verdict in (one.signs, one.centred))]
            for name, one in zip(names, detect(scores, draws), strict=True)
        ],
    )  # fmt: skip
    studies = {name: correct_studies(part, draws) for name, part in scores.items()}
    yield (
        "Mean IoU corrected by known counts: error",
        ["configuration", "true IoU", "sparse", "pooled recall", "own recall",
         f"pooled, {STUDY} images", f"own, {STUDY} images", "pooled, most covered kept",
         "own, most covered kept"],
        [
            [name, f"{part.images['full'].mean():.4f}",
             *(f"{error:+.1%}" for error in correct(part)),
             *(_span(studies[name].known[key]) for key in ("pooled", "own")),
             *(f"{error:+.1%}" for error in correct(keep_most_covered(part))[1:])]
            for name, part in scores.items()
        ],
    )  # fmt: skip
    yield (
        "Mean IoU corrected at the true labelling frequency: error",
        ["configuration", "pooled recall", "own recall", "pooled, nothing missing",
         "own, nothing missing", f"pooled, {STUDY} images", f"own, {STUDY} images",
         "band holds truth: pooled", "own"],
        [
            [name, *(f"{error:+.1%}" for error in correct_by_frequency(part)),
             *(_span(studies[name].frequency[key]) for key in ("pooled", "own")),
             f"{studies[name].pooled:.3f}", f"{studies[name].own:.3f}"]
            for name, part in scores.items()
        ],
    )  # fmt: skip
    yield (
        "Recall of single regions",
        ["configuration", "over regions", "kept", "kept, by counts", "over image × label", "kept"],
        [[name, *(f"{one:.3f}" for one in average_recall(scores[name]))] for name in names],
    )


def _span(ends: tuple[float, float]) -> str:
    return f"{ends[0]:+.0%} to {ends[1]:+.0%}"


if __name__ == "__main__":
    main()
