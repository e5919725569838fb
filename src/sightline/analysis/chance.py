"""Tests of a store's scores against chance, or against those of a baseline."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from sightline.analysis._baseline import ALPHA, against_lines
from sightline.analysis._material import line_columns, records
from sightline.analysis.scenes import open_scenes
from sightline.metrics import METRICS
from sightline.records import InputError
from sightline.results._catalogue import BASELINE
from sightline.results._lines import make_lines, rounded
from sightline.results._values import spreads
from sightline.results._wording import beside
from sightline.results.leaderboard import layer_column, so_far, with_note
from sightline.stats.chance import iou_references
from sightline.stats.corrections import benjamini_hochberg, holm
from sightline.stats.nulls import (
    CROSS,
    TORUS,
    CrossScores,
    TorusScores,
    best_of,
    cross_image,
    cross_scores,
    torus_scores,
    torus_shift,
)
from sightline.stats.paired import max_t_pvalues

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from sightline.analysis.scenes import LineMaps, Scenes
    from sightline.results import Results
    from sightline.results._lines import Line
    from sightline.results._views import Name
    from sightline.stats.nulls import Null

    Progress = Callable[[int, int, str], object]
    Floats = NDArray[np.float64]

__all__ = ["NullKind", "against_chance"]

NullKind = Literal["cross-image", "torus"]


def against_chance(
    results: Results,
    metric: str | None = None,
    *,
    null: NullKind = "cross-image",
    model: str | None = None,
    method: str | None = None,
    layer: int | Literal["best", "split", "last"] = "best",
    target: str | None = None,
    head: int | None = None,
    against: str = "chance",
    permutations: int = 9999,
    seed: int = 0,
    images: bool = False,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Test the lines of a leaderboard against chance, or against a baseline.

    Against chance, the maps that the study kept are read again, and those of other images laid
    over each image's regions (``"cross-image"``), or each map moved around (``"torus"``). The
    p-values are one-sided: is the score better than that?

    Parameters
    ----------
    results : Results
        Of a study that kept its maps.
    metric : str, optional
        As in `Results.leaderboard`.
    null : {"cross-image", "torus"}
        What stands for chance; the torus shift does not control for a pull to the centre.
    model, method, layer, target, head
        Which lines: see `Results`. A layer chosen on the same images (``"best"``) is chosen again
        in each draw, so that the p-value pays for the choice; its score is marked, and flattered.
    against : str
        ``"chance"``, or the name of a method whose maps are stored, such as ``"centre"``: each
        line is then compared with that of the same model, image by image.
    permutations : int
        How often maps are exchanged, moved, or signs flipped.
    seed : int
        Decides what is drawn.
    images : bool
        Return a line for each image instead.
    progress : callable, optional
        Called with how much is done, of how much, and of what.

    Returns
    -------
    DataFrame
        model, method, group, target, layer, value, low, high (95% interval), chance (closed form),
        exact (IoU: mean over all placements on the raster), cross or shifted (mean under the
        null), p, p_holm, p_bh, p_max_t (corrected over the table), n, undefined, classes (groups
        of images whose maps can stand in for each other), alone (images without such a group),
        chosen, reason (why there is no p-value). ``attrs["note"]`` holds the assumption,
        ``attrs["sentence"]`` the outcome in words.

    Raises
    ------
    InputError
        If maps were not kept, the data have changed, or the metric has no better or worse.
    """
    tables = results._tables
    name = tables.name(metric)
    if METRICS[name.metric].direction == "neither":
        raise InputError(f"{name}: no value is better than another, so none is above chance")
    if layer not in ("best", "split", "last") and not isinstance(layer, int):
        raise InputError(f"layer must be best, split, last or a number; got {layer!r}")
    if null not in get_args(NullKind):
        raise InputError(f"null must be one of {', '.join(get_args(NullKind))}; got {null!r}")
    where = results._where(model, method, layer, target, head=head)
    lines = make_lines(tables, name, where, layer)
    if not lines:
        raise InputError(f"no scores of {where.told()} are stored")
    if against != "chance":
        if images:
            raise InputError("against a method there are no p-values of single images")
        others = make_lines(
            tables, name, results._where(model, against, layer, target, head=head), layer
        )
        return against_lines(tables, name, lines, others, against, (permutations, seed))
    move = progress or (lambda done, total, what: None)
    test = _Test(name, null, permutations, seed, images, move)
    found = test.run(results, lines)
    found = _best_first(found, name)
    frame = _frame_of_images(found) if images else _frame(found, name, null)
    frame.attrs["metric"], frame.attrs["null"] = str(name), null
    frame.attrs["sentence"] = _sentence(_frame(found, name, null), name, null)
    return with_note(frame, *_notes(found, null, images), beside(name), so_far(tables))


@dataclass(frozen=True)
class _Tested:
    """A line, the test of it, and what its images score.

    Attributes
    ----------
    line, null, images
        The line, its null and its images.
    units
        Their scores with chance and selected share, as stored.
    expected
        The mean score of each image under the null.
    exact
        Mean exact chance of the images with a score; NaN of other metrics than IoU.
    family
        Which lines were drawn together.
    """

    line: Line
    null: Null
    images: tuple[str, ...]
    units: pd.DataFrame
    expected: Floats
    exact: float
    family: int


class _Drawn(NamedTuple):
    """The null of a line, of each image its mean and the score, and the maps."""

    null: Null
    expected: Floats
    values: Floats
    maps: LineMaps


@dataclass(frozen=True)
class _Test:
    name: Name
    kind: NullKind
    permutations: int
    seed: int
    images: bool
    progress: Progress

    def run(self, results: Results, lines: Sequence[Line]) -> list[_Tested]:
        """Test all lines, one after the other: no more than one line's maps are in memory."""
        scenes = open_scenes(results)
        try:
            families = self._families(scenes, lines)
            exact, found, done = _Exact(), [], 0
            total = sum(1 + len(self._rivals(scenes, line)) for line in lines)
            for line, (family, classes) in zip(lines, families, strict=True):
                candidates: list[Null] = []
                for one in (*self._rivals(scenes, line), line):  # its own maps last: one at a time
                    self.progress(done, total, f"Testing {line.model} {line.method}")
                    drawn = self._draw(scenes, one, classes)
                    candidates.append(drawn.null)
                    done += 1
                found.append(self._tested(scenes, line, family, drawn, candidates, exact))
            self.progress(total, total, "Testing")
            return found
        finally:
            scenes.close()

    def _families(
        self, scenes: Scenes, lines: Sequence[Line]
    ) -> list[tuple[int, dict[str, Hashable]]]:
        """Return for each line the lines it is drawn together with, and the classes of its images.

        Lines of the same images are drawn together: images are exchanged only where all of these
        lines show them alike, so that one exchange serves them all.
        """
        views: list[dict[str, Hashable]] = []
        for number, line in enumerate(lines):
            self.progress(number, len(lines), "Looking at maps")
            seed = scenes.seeds(line)[0]
            seen = [scenes.views(one, seed) for one in (line, *self._rivals(scenes, line))]
            views.append({image: tuple(one[image] for one in seen) for image in seen[0]})
        members: dict[frozenset[str], list[int]] = {}
        for number, view in enumerate(views):
            members.setdefault(frozenset(view), []).append(number)
        found: dict[int, tuple[int, dict[str, Hashable]]] = {}
        for family, (images, numbers) in enumerate(members.items()):
            kinds = [dict.fromkeys(views[number].values()) for number in numbers]
            order = [{kind: k for k, kind in enumerate(one)} for one in kinds]
            classes: dict[str, Hashable] = {
                image: tuple(
                    ranks[views[number][image]]
                    for ranks, number in zip(order, numbers, strict=True)
                )
                for image in images
            }
            found.update(dict.fromkeys(numbers, (family, classes)))
        return [found[number] for number in range(len(lines))]

    def _tested(
        self,
        scenes: Scenes,
        line: Line,
        family: int,
        own: _Drawn,
        candidates: Sequence[Null],
        exact: _Exact,
    ) -> _Tested:
        """Put a line together with its null, one of the candidates that it was chosen from."""
        units = scenes.units(self.name, line).reindex(own.maps.images)
        scenes.check_same(self.name, line, own.maps.images, own.values)
        beside = exact.mean(self.name, own.maps, units)
        null = own.null
        if len(candidates) > 1:
            best = best_of(candidates, direction=METRICS[self.name.metric].direction)
            null = replace(best, value=null.value, mean=null.mean, p_images=null.p_images)
        return _Tested(line, null, own.maps.images, units, own.expected, beside, family)

    def _rivals(self, scenes: Scenes, line: Line) -> tuple[Line, ...]:
        """Return the other layers that a line's was chosen from; p-values of images do without."""
        return () if self.images else scenes.rivals(line)

    def _draw(self, scenes: Scenes, line: Line, classes: Mapping[str, Hashable]) -> _Drawn:
        """Return the null of the maps of one layer."""
        scores: list[Any] = []
        for drawn in scenes.seeds(line):
            maps = scenes.maps(line, drawn)
            scores.append(self._scores(maps, [classes[image] for image in maps.images], scenes))
        if self.kind == "torus":
            moved = TorusScores(
                tuple(_mean_of(parts) for parts in zip(*(s.shifts for s in scores), strict=True)),
                scores[0].metric,
                scores[0].direction,
            )
            null = torus_shift(moved, draws=self.permutations, seed=self.seed, keep_draws=True)
            expected = np.array([_mean(one) for one in moved.shifts])
            return _Drawn(null, expected, moved.values, maps)
        crossed = _averaged(scores)
        null = cross_image(crossed, permutations=self.permutations, seed=self.seed, keep_draws=True)
        return _Drawn(null, _expected(crossed), crossed.values, maps)

    def _scores(
        self, maps: LineMaps, classes: Sequence[Hashable], scenes: Scenes
    ) -> CrossScores | TorusScores:
        options: dict[str, Any] = {"sign": maps.sign, "ties": scenes.scoring.ties}
        some = any(one is not None for one in maps.ignore)
        if self.kind == "torus":
            visible = [None if one is None else ~one for one in maps.ignore] if some else None
            return torus_scores(maps.maps, maps.masks, str(self.name), visible=visible, **options)
        return cross_scores(
            maps.maps,
            maps.masks,
            str(self.name),
            ignore=list(maps.ignore) if some else None,
            classes=list(classes),
            seed=self.seed,
            **options,
        )


def _best_first(found: list[_Tested], name: Name) -> list[_Tested]:
    sign = 1 if METRICS[name.metric].direction == "lower" else -1
    means = [rounded(one.line.sums.mean()) for one in found]
    order = sorted(range(len(found)), key=lambda k: (math.isnan(means[k]), sign * means[k]))
    return [found[k] for k in order]


def _averaged(scores: Sequence[CrossScores]) -> CrossScores:
    """Return the mean over seeds, as scores are averaged over them first."""
    blocks = tuple(
        (same[0][0], _mean_of([matrix for _, matrix in same]))
        for same in zip(*(one.blocks for one in scores), strict=True)
    )
    return replace(scores[0], blocks=blocks)


def _mean_of(parts: Sequence[Floats]) -> Floats:
    """Return the mean of arrays where they are defined."""
    if len(parts) == 1:
        return parts[0]
    stacked = np.stack(parts)
    defined = np.isfinite(stacked)
    total = np.where(defined, stacked, 0).sum(0)
    counts = defined.sum(0)
    return np.where(counts > 0, total / np.maximum(counts, 1), np.nan)


def _mean(values: Floats) -> float:
    defined = values[np.isfinite(values)]
    return float(defined.mean()) if len(defined) else math.nan


def _expected(scores: CrossScores) -> Floats:
    """Return what the maps of its block score on each image's regions, on average."""
    found = np.full(scores.n, np.nan)
    for indices, matrix in scores.blocks:
        if len(indices) > 1:
            found[indices] = [_mean(column) for column in matrix.T]
    return found


class _Exact:
    """Exact chance, kept for the next line with the same areas."""

    def __init__(self) -> None:
        self._known: dict[bytes, Floats] = {}

    def mean(self, name: Name, maps: LineMaps, units: pd.DataFrame) -> float:
        """Return the mean over the images that have a score; NaN of other metrics than IoU."""
        if name.metric != "iou":
            return math.nan
        defined = units["value"].notna().to_numpy()
        pixels = np.array(list(map(_pixels, maps.maps, maps.ignore)))
        inside = np.array([int(mask.sum()) for mask in maps.masks])
        g = np.divide(inside, pixels, out=np.zeros(len(pixels)), where=pixels > 0)
        a = units["selected"].to_numpy(np.float64)
        key = b"".join(part.tobytes() for part in (a[defined], g[defined], pixels[defined]))
        if key not in self._known:
            found = iou_references(a[defined], g[defined], pixels=pixels[defined])
            self._known[key] = found.exact
        return _mean(self._known[key])


def _pixels(values: Floats, ignore: NDArray[np.bool_] | None) -> int:
    return values.size if ignore is None else int((~ignore).sum())


def _frame(found: Sequence[_Tested], name: Name, null: NullKind) -> pd.DataFrame:
    """Return the lines as a table, in their order."""
    import pandas as pd

    lines = [one.line for one in found]
    p = np.array([one.null.p for one in found])
    spans = spreads(name, lines)
    columns: dict[str, Any] = {
        **line_columns(lines),
        "value": [line.sums.mean() for line in lines],
        "low": [span.low for span in spans],
        "high": [span.high for span in spans],
        "chance": [line.sums.mean("chance") for line in lines],
        "exact": [one.exact for one in found],
        _NULL_MEAN[null]: [one.null.mean for one in found],
        "p": p,
        "p_holm": holm(p),
        "p_bh": benjamini_hochberg(p),
        "p_max_t": _max_t(found, name),
        "n": [int(line.sums.n) for line in lines],
        "undefined": [int(line.sums.undefined) for line in lines],
        "classes": [one.null.blocks for one in found],
        "alone": [one.null.alone for one in found],
        "chosen": pd.Series([line.chosen for line in lines], dtype=str),
        "reason": pd.Series([_reason(one) for one in found], dtype=str),
    }
    if null == "torus":
        del columns["classes"], columns["alone"]
    if name.metric != "iou":
        del columns["exact"]
    return pd.DataFrame(columns)


_NULL_MEAN = {"cross-image": "cross", "torus": "shifted"}


def _reason(one: _Tested) -> str:
    """Say why there is no p-value, or that it leaves images out."""
    null = one.null
    if null.reason and null.alone and len(one.images) > 1:
        return f"{null.reason}; resolution: grid with fit: squash makes all images alike"
    if null.alone and not null.reason:
        images = "1 image" if null.alone == 1 else f"{null.alone} images"
        return f"p without {images} that no other is shown like"
    return null.reason


def _max_t(found: Sequence[_Tested], name: Name) -> Floats:
    """Return p-values corrected over all lines, from the draws that lines have in common.

    Where lines have different images they are drawn apart, and each group of them bears its share
    of the error.
    """
    sign = -1.0 if METRICS[name.metric].direction == "lower" else 1.0
    p = np.full(len(found), np.nan)
    families = sorted({one.family for one in found})
    for family in families:
        some = [
            k for k, one in enumerate(found) if one.family == family and not math.isnan(one.null.p)
        ]
        if some:
            observed = np.array([sign * found[k].null.value for k in some])
            draws = np.stack([sign * _draws(found[k].null) for k in some])
            p[some] = np.minimum(1, len(families) * max_t_pvalues(observed, draws, two_sided=False))
    return p


def _draws(null: Null) -> Floats:
    return np.zeros(0) if null.draws is None else null.draws


def _frame_of_images(found: Sequence[_Tested]) -> pd.DataFrame:
    """Return a line for each line and image."""
    import pandas as pd

    parts = []
    for one in found:
        count = len(one.images)
        named = line_columns([one.line])
        part: dict[str, Any] = {
            key: pd.Series([values[0]] * count, dtype=object) for key, values in named.items()
        }
        part |= {
            "image": pd.Series(one.images, dtype=str),
            "value": one.units["value"].to_numpy(np.float64),
            "chance": one.units["chance"].to_numpy(np.float64),
            _NULL_MEAN[one.null.kind]: one.expected,
            "p": one.null.p_images,
            "p_holm": holm(one.null.p_images),
            "p_bh": benjamini_hochberg(one.null.p_images),
        }
        parts.append(pd.DataFrame(part))
    frame = pd.concat(parts, ignore_index=True)
    for column in ("model", "method", "group", "target"):
        frame[column] = frame[column].astype(str)
    frame["layer"] = layer_column(frame["layer"].astype(object).where(frame["layer"].notna(), None))
    return frame


def _notes(found: Sequence[_Tested], null: NullKind, images: bool) -> list[str]:
    """Return what must be known to read the p-values."""
    assumption = CROSS if null == "cross-image" else TORUS
    notes = [f"p-values are one-sided against the {null} null, which {assumption}"]
    if images:
        notes.append("corrected over the images of a line: p_holm, p_bh")
        if any(np.isnan(one.null.p_images).all() for one in found):
            notes.append("an image has a p-value among 20 or more maps")
    else:
        notes.append(f"corrected over {len(found)} lines: p_holm, p_bh, p_max_t")
    if any(one.null.alone and not one.null.reason for one in found):
        notes.append(
            "alone: images that no other is shown like: p and cross do without them, value does not"
        )
    if any(one.line.chosen.startswith("best") for one in found):
        notes.append(
            "p-values of images do not know that layers were chosen on the same images, and are "
            "too small for it"
            if images
            else "a layer that was chosen as the best is chosen again in each draw: p pays for it"
        )
    return notes


def _sentence(frame: pd.DataFrame, name: Name, null: NullKind) -> str:
    """Say in words what the table shows."""
    lower = METRICS[name.metric].direction == "lower"
    side, what = ("below", "lowest") if lower else ("above", "highest")
    rivals = "other images' maps" if null == "cross-image" else "the same maps moved around"
    tested = frame[frame["p"].notna()]
    if tested.empty:
        reason = next((text for text in frame["reason"] if text), "too few images")
        return f"Nothing can be said about chance: {reason}."
    shown = tested[tested["p_max_t"] <= ALPHA]
    baselines = int((shown["group"] == BASELINE).sum())
    total = f"{len(tested)} line{'' if len(tested) == 1 else 's'}"
    corrected = f"max-T corrected p ≤ {ALPHA:g} over {total}"
    if shown.empty:
        return (
            f"No line scores {side} what {rivals} score on the same regions ({corrected}): "
            "no difference from chance could be shown, which is no proof that there is none."
        )
    best = records(shown)[0]
    verb = "scores" if len(shown) == 1 else "score"
    among = f"{baselines} of them baselines" if baselines else "no baseline among them"
    first = (
        f"{len(shown)} of {total} {verb} {side} what {rivals} score on the same regions "
        f"({corrected}), {among}"
    )
    mean = best[_NULL_MEAN[null]]
    closed = "" if math.isnan(best["chance"]) else f", closed-form chance {best['chance']:.3f}"
    second = (
        f"the {what} is {_told(best)} with {name} {best['value']:.3f} "
        f"(95% interval {best['low']:.3f} to {best['high']:.3f}) against {mean:.3f} of "
        f"{rivals}{closed}"
    )
    return f"{first}; {second}."


def _told(line: Any) -> str:
    layer = "" if line["layer"] is None or str(line["layer"]) in ("<NA>", "") else line["layer"]
    target = f" ({line['target']})" if line["target"] else ""
    told = f"{line['model']} {line['method']}{target}"
    return told + (f" layer {layer}" if layer != "" else "")
