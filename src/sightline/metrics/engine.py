"""`score_maps`: every figure of every map from one sort and a few running sums.

Selections of pixels, rankings and energies of all maps come out of a single pass (`_cpu` for
arrays in memory, `_torch` for tensors on a device); `Scores` turns its counts into columns.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from sightline.core import InputError
from sightline.core.arrays import Array, is_torch, namespace, to_numpy
from sightline.core.checks import check_choice
from sightline.core.choices import CHANNELS
from sightline.metrics._border import (
    check_channels,
    check_counts,
    check_maps,
    check_masks,
    check_weights,
    find_fixated,
    refuse_signed,
    refuse_signed_selection,
    resolve_sign,
)
from sightline.metrics._columns import list_stored_columns
from sightline.metrics._counts import Counts, Plan, RegionCounts, Selected
from sightline.metrics._ignore import measure_kept, without
from sightline.metrics._on_request import Asked, Scene, add_on_request, list_requested
from sightline.metrics._regions import RegionTable
from sightline.metrics.channels import reduce_channels
from sightline.metrics.scores import Scores, fill
from sightline.metrics.selection import PERCENTILES, Sign, Threshold, Ties, parse_selection
from sightline.metrics.spec import METRICS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sightline.core.choices import Channels

__all__ = ["compute_all_metrics", "parse_metric", "score_maps"]

TOP_K = Threshold("top", 5)
# Budgets that no tie rule changes: the maximum, the top k, as many pixels as are annotated.
SHARED = (Threshold("top", 1), TOP_K, Threshold("matched"))


def score_maps(
    maps: Any,
    masks: Any = None,
    *,
    regions: Sequence[Any] | RegionTable | None = None,
    fixations: Any = None,
    targets: Any = None,
    selection: str | Sequence[str] = "percentile",
    percentiles: Sequence[float] = PERCENTILES,
    sign: Sign | None = None,
    channels: Channels | Literal["separate"] | None = None,
    ties: Ties = "share",
    ignore: Any = None,
    metrics: Sequence[str] | None = None,
    nonfinite: Literal["raise", "drop"] = "raise",
    curves: bool = False,
    threads: int | None = None,
) -> Scores:
    """Score maps against annotations: every one-pass metric of every map.

    Parameters
    ----------
    maps
        ``(..., H, W)``, numpy or torch, any real type. Results stay where the maps are. A batch
        ``(images, 3, H, W)``, as Captum returns for RGB inputs, needs `channels`.
    masks
        Annotated pixels, booleans or 0 and 1: one mask ``(H, W)`` for all maps, one for each, or
        one for a whole axis, as ``(images, 1, 1, H, W)`` for maps of layers and heads. May be left
        out if `regions` are given; it is then their union; or `targets`, for what needs them alone.
    regions
        Regions that each get scores of their own: boxes ``(x0, y0, x1, y1)`` as shares of the
        image, masks ``(H, W)``, or an `Annotation`. One entry for each map of the flattened batch,
        one for each index of the maps' first axis, which serves every map there, or one for all.
    fixations
        How often each pixel was fixated, whole numbers shaped like `masks`: see `count_points`.
        They replace `masks`, which are then the pixels fixated at all; NSS and information
        gain count each fixation.
    targets
        What CC, SIM, KL, MSE and EMD compare with instead of the Gaussians of the regions' boxes:
        densities shaped like `masks`, such as those of fixations (`compute_point_density`).
    selection
        Which pixels count as attended to: ``"percentile"``, ``"mass60"``, ``"mean"``,
        ``"matched"``, or several of these.
    percentiles
        The thresholds of percentile selection, from 0 to 100: 90 selects the top 10% of the pixels.
        Several that all lie between 0 and 1 are refused, since shares are meant.
    sign
        What negative values mean; to be given if there are any. ``"positive"`` sets them to 0
        (attention), ``"absolute"`` takes magnitudes (gradients), ``"signed"`` keeps them: only
        what does not change when a number is added to the map is then defined, which is rankings,
        selections by rank, NSS and CC.
    channels
        How the channels of maps ``(..., 3, H, W)`` become one map: see `reduce_channels`.
        ``"separate"`` scores each, for maps that are three indeed, such as those of three layers.
    ties
        ``"share"``: equal pixels at a threshold are selected in equal parts. ``"include"``: the
        literal ``map >= quantile``.
    ignore
        Pixels to leave out of selection, energy and area alike, as booleans shaped like `masks`.
        What an `Annotation` says to ignore is left out as well.
    metrics
        Names from `METRICS`, with or without a threshold, instead of all one-pass metrics; those
        that take longer (soft targets, entropy, …) are computed only when named.
    nonfinite
        ``"raise"`` names the first map with NaN or infinity; ``"drop"`` scores it NaN.
    curves
        Whether to trace the ROC and precision–recall curves of the maps, as ``scores.curves``:
        from the pass's one sort, where the maps are (a batched version on a device).
    threads
        Threads on the CPU; as many as there are cores by default. They change no bit.

    Returns
    -------
    Scores
        A mapping from column name to array of the maps' leading shape.

    Examples
    --------
    >>> import numpy as np
    >>> maps = np.random.default_rng(0).random((2, 8, 8))
    >>> mask = np.zeros((8, 8), bool)
    >>> mask[2:5, 2:5] = True
    >>> scores = score_maps(maps + 3 * mask, mask)
    >>> scores["auc_roc"].tolist(), scores["pointing"].tolist()
    ([1.0, 1.0], [1.0, 1.0])
    """
    maps = _read_maps(maps, channels)
    if sign is not None:
        check_choice("sign", sign, get_args(Sign))
    check_choice("ties", ties, get_args(Ties))
    check_choice("nonfinite", nonfinite, ("raise", "drop"))
    if threads is not None and threads < 1:
        raise InputError(f"threads must be at least 1; got {threads}")
    rule: Sign = sign or "positive"
    asked, plan = _asked(metrics, parse_selection(selection, percentiles), rule, ties)
    plan = replace(plan, curves=curves)
    shape, size = tuple(maps.shape[:-2]), tuple(maps.shape[-2:])
    xp = namespace(maps)
    flat = xp.reshape(maps, (-1, *size))
    masks, fixations = _read_fixations(fixations, masks, maps)
    targets = None if targets is None else _read_targets(targets, maps)
    if masks is None and regions is None and targets is not None:
        _check_target_alone(asked)
        masks = xp.reshape(targets > 0, maps.shape)
    begun = None
    if masks is not None:
        masks = check_masks(masks, maps)
        if ignore is None and getattr(regions, "ignored", None) is None:
            begun = _begun(flat, xp.reshape(masks, (-1, *size)), plan)
    table = (
        regions
        if regions is None or isinstance(regions, RegionTable)
        else RegionTable.build(regions, shape, *size)
    )
    ignored = _ignored(ignore, maps, table)
    resolve_sign(flat if ignored is None else without(flat, ignored), sign)
    masks = _union(maps, table) if masks is None else masks
    inside = xp.reshape(masks, (-1, *size))

    def measure(maps: Array, masks: Array, table: RegionTable | None, begun: Any = None) -> Counts:
        return _measure(maps, masks, plan, table, nonfinite == "drop", threads, begun)

    if ignored is None:
        counts = measure(flat, inside, table, begun)
    else:
        inside = without(inside, ignored)
        counts = measure_kept(measure, flat, inside, table, ignored)
    scores = Scores(counts, plan, shape, table)
    fill(scores, [item for item in asked if _in_pass(item)])
    if scores.regions is not None:
        regional = [item for item in asked if _in_pass(item) and item[0].level == "region"]
        fill(scores.regions, regional)
    for item in asked:
        if not _in_pass(item):
            dropped = xp.isnan(counts.inside)
            scene = Scene(flat, inside, table, ignored, dropped, shape, fixations, targets)
            add_on_request(scores, item, scene, rule)
    return scores


def compute_all_metrics(
    attention: Any,
    mask: Any,
    /,
    *,
    selection: str | Sequence[str] = "percentile",
    percentiles: Sequence[float] = PERCENTILES,
    sign: Sign | None = None,
    ties: Ties = "share",
    ignore: Any = None,
) -> dict[str, float]:
    """Score one map against one mask with every one-pass metric: `score_maps` as a plain dict.

    Parameters as in `score_maps`.

    Examples
    --------
    >>> import numpy as np
    >>> scores = compute_all_metrics(np.eye(8), np.eye(8) > 0)
    >>> scores["coverage"], scores["coverage_chance"], scores["iou@90"]
    (1.0, 0.125, 0.8)
    """
    attention = check_maps(attention)
    if len(attention.shape) != 2:
        raise InputError(
            f"compute_all_metrics takes one map (H, W); got {len(attention.shape)} axes. "
            "For batches use score_maps"
        )
    scores = score_maps(
        attention,
        mask,
        selection=selection,
        percentiles=percentiles,
        sign=sign,
        ties=ties,
        ignore=ignore,
    )
    return {name: float(scores[name]) for name in scores}


def _read_maps(maps: Any, channels: Channels | Literal["separate"] | None) -> Array:
    """Return maps `(..., H, W)`, their channels reduced."""
    if channels is None:
        maps = check_maps(maps)
        check_channels(maps)
        return maps
    check_choice("channels", channels, (*CHANNELS, "separate"))
    return check_maps(maps) if channels == "separate" else reduce_channels(maps, channels)


def _read_fixations(fixations: Any, masks: Any, maps: Array) -> tuple[Any, Array | None]:
    """Return the masks, and the counts of fixations `(B, H, W)` if they come from these."""
    if fixations is None:
        return masks, None
    if masks is not None:
        raise InputError("give fixations or masks: fixated pixels replace annotated ones")
    counts = check_counts(fixations, maps, "fixations")
    return find_fixated(counts), namespace(counts).reshape(counts, (-1, *maps.shape[-2:]))


def _read_targets(targets: Any, maps: Array) -> Array:
    """Return densities `(B, H, W)`, none of which is zero everywhere."""
    targets = check_weights(targets, maps, "targets")
    xp = namespace(targets)
    targets = xp.reshape(targets, (-1, *maps.shape[-2:]))
    empty = xp.nonzero(~xp.any(targets > 0, axis=(-2, -1)))[0]
    if empty.shape[0]:
        raise InputError(f"targets must not be zero everywhere; that of map {int(empty[0])} is")
    return targets


def _check_target_alone(asked: Sequence[Asked]) -> None:
    """Raise for a metric that needs masks where only targets are given."""
    for spec, _ in asked:
        if "mask" in spec.needs:
            raise InputError(
                f"{spec.name} needs masks, regions or fixations; with targets alone name metrics "
                "that compare with them, e.g. metrics=['cc', 'sim', 'kl']"
            )


def _begun(maps: Array, masks: Array, plan: Plan) -> Any:
    """Have a device begin with its maps, while the host reads their regions."""
    if not is_torch(maps) or maps.device.type == "cpu":
        return None
    from sightline.metrics import _torch

    return _torch.begin(maps, masks, plan)


def _union(maps: Array, table: RegionTable | None) -> Array:
    """Return the union of each map's regions, the size of the maps."""
    if table is None:
        raise InputError("score_maps needs masks, regions, or both")
    union = table.union(*maps.shape[-2:]).reshape(tuple(maps.shape))
    return check_masks(union, maps)


def _ignored(ignore: Any, maps: Array, table: RegionTable | None) -> NDArray[np.bool_] | None:
    """Return the pixels to leave out, `(B, H, W)` in main memory; None when there are none."""
    size = tuple(maps.shape[-2:])
    found = None if table is None else table.ignored
    if ignore is not None:
        given = to_numpy(check_masks(ignore, maps, "ignore")).reshape(-1, *size)
        found = given if found is None else given | found
    return found if found is not None and found.any() else None


def _measure(
    maps: Array,
    masks: Array,
    plan: Plan,
    table: RegionTable | None,
    drop: bool,
    threads: int | None,
    begun: Any = None,
) -> Counts:
    """Take the pass where the maps live; tensors in main memory go through the kernels too."""
    if is_torch(maps) and maps.device.type != "cpu":
        from sightline.metrics import _torch

        return _torch.measure(maps, masks, plan, table=table, drop=drop, begun=begun)
    from sightline.metrics import _cpu

    tensors = is_torch(maps)
    counts = _cpu.measure(
        to_numpy(maps), to_numpy(masks), plan, table=table, drop=drop, threads=threads
    )
    if not tensors:
        return counts
    from sightline.metrics import _torch

    return _torch.from_numpy(counts)


def _asked(
    names: Sequence[str] | None, thresholds: tuple[Threshold, ...], sign: Sign, ties: Ties
) -> tuple[list[Asked], Plan]:
    """Return the metrics with their thresholds, and the pass that serves them."""
    if isinstance(names, str):
        raise InputError(f"metrics must be a list of names; got the text {names!r}")
    wanted = [spec.name for spec in METRICS.values() if spec.one_pass] if names is None else names
    asked = [item for name in wanted for item in parse_metric(name, thresholds)]
    for _, threshold in asked:
        refuse_signed_selection(sign, threshold)
    if sign == "signed" and names is None:
        asked = [item for item in asked if item[0].name != "coverage"]
    if any(spec.category in ("energy", "complexity") for spec, _ in asked):
        refuse_signed(sign)
    asked = list(dict.fromkeys(asked))
    budgets = dict.fromkeys(t for item in asked if _in_pass(item) and (t := item[1]) is not None)
    shared = dict.fromkeys((*SHARED, *(t for t in budgets if t.kind == "top")))
    chosen = tuple(t for t in budgets if t.kind != "top")
    return asked, Plan(tuple(shared), chosen, sign, ties)


def list_columns(
    *,
    selection: str | Sequence[str] = "percentile",
    percentiles: Sequence[float] = PERCENTILES,
    sign: Sign = "positive",
    ties: Ties = "share",
    metrics: Sequence[str] | None = None,
) -> tuple[list[str], list[str]]:
    """Return the columns of the tables of `score_maps`, of maps and of regions, without scoring.

    Parameters as in `score_maps`.

    Examples
    --------
    >>> list_columns(metrics=["iou", "nss"], percentiles=[90])
    (['iou@90', 'nss'], ['iou@90'])
    """
    asked, plan = _asked(metrics, parse_selection(selection, percentiles), sign, ties)
    one, budgets = np.ones(1), np.ones((len(plan.all), 1))
    numbers, selected = np.zeros(1, np.int64), Selected(*[budgets] * 5)
    regions = RegionCounts(numbers, numbers, one, one, one, selected)
    table = RegionTable(
        spans=np.array([[0, 1]]),
        boxes=np.array([[0, 0, 1, 1]]),
        offsets=np.zeros(2, np.int64),
        masks=np.empty(0, np.uint8),
        labels=("",),
        numbers=np.zeros(1, np.int32),
    )
    counts = Counts(1, one, one, one, one, one, one, one, selected, regions)
    scores = Scores(counts, plan, (1,), table)
    in_pass = [item for item in asked if _in_pass(item)]
    fill(scores, in_pass)
    for item in asked:
        if item not in in_pass:
            for name in list_requested(item):
                scores.add(name, one)
    assert scores.regions is not None  # noqa: S101 (a region is given)
    fill(scores.regions, [item for item in in_pass if item[0].level == "region"])
    return list_stored_columns(scores, ties), list_stored_columns(scores.regions, ties)


def parse_metric(name: str, thresholds: tuple[Threshold, ...]) -> list[Asked]:
    """Read ``metric[@threshold]``."""
    metric, at, token = name.partition("@")
    spec = METRICS[metric]
    if spec.level == "dataset" and spec.name != "shuffled_auc":
        raise InputError(
            f"{metric} is a figure of a data set, not of a map: "
            f"call sightline.metrics.{spec.function.__name__}"
        )
    threshold = Threshold.parse(token) if at else None
    kinds = _KINDS.get(
        metric, ("percentile", "mass", "mean", "matched") if spec.thresholded else ()
    )
    if threshold is not None and threshold.kind not in kinds:
        fitting = f"a threshold of kind {' or '.join(kinds)}" if kinds else "no threshold"
        raise InputError(f"{metric} takes {fitting}; got {name!r}")
    if metric in ("top_k_pointing", "top_k_any"):
        return [(spec, threshold or TOP_K)]
    return [(spec, t) for t in thresholds] if spec.thresholded and not at else [(spec, threshold)]


_KINDS: dict[str, tuple[str, ...]] = {
    "pointing": ("tolerance",),
    "top_k_pointing": ("top",),
    "top_k_any": ("top",),
}


def _in_pass(item: Asked) -> bool:
    """Say whether the one pass gives a metric."""
    spec, threshold = item
    return spec.one_pass and (threshold is None or threshold.kind != "tolerance")
