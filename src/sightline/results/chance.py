"""Tests of a store's scores against chance, or against those of a baseline."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import numpy as np

from sightline.core import InputError
from sightline.metrics import METRICS
from sightline.results import format_baseline_comparison
from sightline.results._baseline_pairs import against_lines
from sightline.results._chance_table import (
    NullKind,
    Tested,
    best_first,
    frame_of_images,
    frame_of_lines,
    notes,
    sentence,
)
from sightline.results._lines import make_lines
from sightline.results._missing_label_inputs import mean, mean_of
from sightline.results._wording import beside
from sightline.results.leaderboard import find_warnings, list_map_keys, so_far, with_note
from sightline.results.map_reader import open_scenes
from sightline.stats.chance import iou_references
from sightline.stats.nulls import (
    CrossScores,
    TorusScores,
    best_of,
    cross_image,
    cross_scores,
    torus_scores,
    torus_shift,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from sightline.core.choices import Layer
    from sightline.results import Results
    from sightline.results._lines import Line
    from sightline.results._views import Name
    from sightline.results.map_reader import LineMaps, Scenes
    from sightline.stats.nulls import Null

    Progress = Callable[[int, int, str], object]
    Floats = NDArray[np.float64]

__all__ = ["NullKind", "against_chance"]


def against_chance(
    results: Results,
    metric: str | None = None,
    *,
    null: NullKind = "cross-image",
    model: str | None = None,
    method: str | None = None,
    layer: Layer = "best",
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
        ``attrs["sentence"]`` the outcome in words, with the best configuration against the best
        baseline (``attrs["best_baseline"]``, see `Results.leaderboard`).

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
    found = best_first(found, name)
    frame = frame_of_images(found) if images else frame_of_lines(found, name, null)
    frame.attrs["metric"], frame.attrs["null"] = str(name), null
    best = results.compare_best(
        metric, model=model, method=method, layer=layer, target=target, head=head
    )
    frame.attrs["best_baseline"] = None if best is None else best.to_dict()
    sentences = [sentence(frame_of_lines(found, name, null), name, null)]
    sentences += [] if best is None else [format_baseline_comparison(best)]
    frame.attrs["sentence"] = " ".join(sentences)
    return with_note(
        frame,
        *notes(found, null, images),
        beside(name),
        so_far(tables),
        warnings=find_warnings(tables, list_map_keys(lines)),
    )


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

    def run(self, results: Results, lines: Sequence[Line]) -> list[Tested]:
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
    ) -> Tested:
        """Put a line together with its null, one of the candidates that it was chosen from."""
        units = scenes.units(self.name, line).reindex(own.maps.images)
        scenes.check_same(self.name, line, own.maps.images, own.values)
        beside = exact.mean(self.name, own.maps, units)
        null = own.null
        if len(candidates) > 1:
            best = best_of(candidates, direction=METRICS[self.name.metric].direction)
            null = replace(best, value=null.value, mean=null.mean, p_images=null.p_images)
        return Tested(line, null, own.maps.images, units, own.expected, beside, family)

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
                tuple(mean_of(parts) for parts in zip(*(s.shifts for s in scores), strict=True)),
                scores[0].metric,
                scores[0].direction,
            )
            null = torus_shift(moved, draws=self.permutations, seed=self.seed, keep_draws=True)
            expected = np.array([mean(one) for one in moved.shifts])
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


def _averaged(scores: Sequence[CrossScores]) -> CrossScores:
    """Return the mean over seeds, as scores are averaged over them first."""
    blocks = tuple(
        (same[0][0], mean_of([matrix for _, matrix in same]))
        for same in zip(*(one.blocks for one in scores), strict=True)
    )
    return replace(scores[0], blocks=blocks)


def _expected(scores: CrossScores) -> Floats:
    """Return what the maps of its block score on each image's regions, on average."""
    found = np.full(scores.n, np.nan)
    for indices, matrix in scores.blocks:
        if len(indices) > 1:
            found[indices] = [mean(column) for column in matrix.T]
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
        return mean(self._known[key])


def _pixels(values: Floats, ignore: NDArray[np.bool_] | None) -> int:
    return values.size if ignore is None else int((~ignore).sum())
