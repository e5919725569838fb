"""The same maps scored against other annotations of the same images: completed, and gold."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.core import InputError, UnknownNameError
from sightline.metrics import METRICS
from sightline.results import Results, open_results
from sightline.results._lines import units_of
from sightline.results._views import full_name
from sightline.stats.confidence import Interval, interval
from sightline.stats.missing_labels import PPI, compute_label_bias, joined, ppi_mean

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from sightline.results._lines import Line
    from sightline.results._views import Name
    from sightline.results.configuration_scores import LineFigures
    from sightline.results.map_reader import Scenes
    from sightline.stats.missing_labels.ppi import Target

    Floats = NDArray[np.float64]

__all__ = ["ALPHA", "OtherStore", "Sets", "check_fit", "open_other", "result_lines", "sets_of"]

ALPHA = 0.05
"""Level of the verdicts of a report."""
_SAME = ("resolution", "ties")
_SAME_SOURCE = ("fit", "sign", "params")


@dataclass(frozen=True, eq=False)
class Sets:
    """The scores of some images against each annotation; NaN where there is none.

    Attributes
    ----------
    sparse, completed, gold : arrays (images,)
        `completed` and `gold` are None where no such store was given.
    strata : array (images,) or None
        From which gold images were drawn.
    limits : pair of float
        The range of the scores.
    """

    sparse: Floats
    completed: Floats | None
    gold: Floats | None
    strata: NDArray[np.str_] | None = None
    limits: tuple[float, float] = METRICS["iou"].range

    def minus(self, other: Sets) -> Sets:
        """Return the differences, image by image."""
        return Sets(
            self.sparse - other.sparse,
            _minus(self.completed, other.completed),
            _minus(self.gold, other.gold),
            self.strata,
            METRICS["iou"].difference_range,
        )

    def joined(self, target: Target = "population") -> PPI | None:
        """Return what gold and the rest say together; None without gold.

        Where nothing was completed, the sparse scores stand in: they say less of the gold ones,
        which widens the interval and does not bias it.
        """
        if self.gold is None:
            return None
        many = self.sparse if self.completed is None else self.completed
        options: dict[str, Any] = {"strata": self.strata, "limits": self.limits}
        return joined(self.sparse, many, self.gold, target=target, **options).joined

    def on_gold(self) -> Interval | PPI | None:
        """Return what the gold images say alone; None without gold.

        Where they were drawn from strata, not all with the same probability, each stratum counts
        by its share of all images.
        """
        if self.gold is None or self.strata is None:
            return None if self.gold is None else interval(self.gold, limits=self.limits)
        chosen = np.isfinite(self.gold)
        own, others = self.strata[chosen], self.strata[~chosen]
        y, rest = self.gold[chosen], np.zeros(len(others))
        return ppi_mean(y, y, rest, strata=own, rest_strata=others, tuning=0.0, limits=self.limits)

    def compute_bias(self, labels: str, configurations: int) -> dict[str, Any] | None:
        """Return gold minus sparse or completed scores on the gold images; None without both.

        The smallest detectable bias is that of a test corrected for so many configurations.
        """
        other = self.completed if labels == "completed" else self.sparse
        if self.gold is None or other is None:
            return None
        bias = compute_label_bias(
            other,
            self.gold,
            strata=self.strata,
            alpha=ALPHA / configurations,
            limits=self.limits,
        )
        return asdict(bias)


def _minus(a: Floats | None, b: Floats | None) -> Floats | None:
    return None if a is None or b is None else a - b


def open_other(
    given: str | os.PathLike[str] | Results | None, what: str, scenes: Scenes
) -> OtherStore | None:
    """Open a store with another annotation of the same images; None where none is given."""
    if given is None:
        return None
    if isinstance(given, Results):
        return OtherStore(given, what, scenes)
    results = open_results(given)
    try:
        return OtherStore(results, what, scenes, own=True)
    except InputError:
        results.close()
        raise


class OtherStore:
    """A store that scored the same maps against another annotation.

    Parameters
    ----------
    results : Results
        Of that store.
    what : str
        What messages call it: "gold" or "completed".
    scenes : Scenes
        The study at hand.
    own : bool
        Whether `close` closes the results.

    Raises
    ------
    InputError
        If it scored other images, or in another way.
    """

    def __init__(self, results: Results, what: str, scenes: Scenes, *, own: bool = False) -> None:
        self.results, self.what, self._scenes, self._own = results, what, scenes, own
        self._check_labels()
        self.shared = self._check_images()
        self._check_ways()

    def _fail(self, why: str) -> InputError:
        return InputError(f"--{self.what} {self.results.path}: {why}")

    def _check_labels(self) -> None:
        """Raise where the labels are known to be those of the other set."""
        which = self.results.manifest["data"].get("review", {}).get("which", self.what)
        if which != self.what:
            raise self._fail(f"its labels must be the {self.what} ones, are the {which} ones")

    def _check_images(self) -> tuple[str, ...]:
        lines = self.results._tables.fetch("SELECT image, digest FROM images")
        known = dict(self._scenes.results._tables.fetch("SELECT image, digest FROM images"))
        shared = tuple(image for image, _ in lines if image in known)
        if not shared:
            raise self._fail(
                f"none of its {len(lines)} images is in the study, such as {lines[0][0]!r}"
            )
        for image, digest in lines:
            if image in known and digest and known[image] and digest != known[image]:
                raise self._fail(f"its image {image!r} is another picture than that of the study")
        return shared

    def _check_ways(self) -> None:
        ours, theirs = self._scenes.results.manifest, self.results.manifest
        for key in _SAME:
            a, b = ours["study"].get(key), theirs["study"].get(key)
            if a != b:
                raise self._fail(f"{key} must be {a!r} as in the study, is {b!r}")
        weights = [_weights(manifest) for manifest in (ours, theirs)]
        for model, digest in weights[0].items():
            if weights[1].get(model, digest) != digest:
                raise self._fail(f"{model} has other weights there")

    def _check_source(self, line: Line) -> None:
        manifests = self._scenes.results.manifest, self.results.manifest
        for pick in dict.fromkeys(line.picks):
            ours, theirs = (_source(one, line.model, *pick[:2]) for one in manifests)
            if ours is None or theirs is None:
                told = replace(line, chosen="").told()
                raise self._fail(f"holds no maps of {told}: run the same study on its data")
            for key in _SAME_SOURCE:
                if ours[key] != theirs[key]:
                    which = f"{line.model} {pick.method}: {key}"
                    raise self._fail(f"{which} must be {ours[key]!r}, is {theirs[key]!r}")

    def values(self, line: Line, name: Name, images: Sequence[str]) -> Floats:
        """Return the scores of a line's maps against this annotation, NaN where there is none."""
        self._check_source(line)
        tables = self.results._tables
        try:
            tables.name(str(name))
        except UnknownNameError as error:
            raise self._fail(str(error)) from error
        found: dict[str, float] = {}
        for half, pick in enumerate(line.picks):
            whole = replace(line, picks=(pick, pick), chosen="", blind=())
            frame = tables.frame(units_of(tables, name, whole), whole.values())
            if frame.empty:
                raise self._fail(f"holds no scores of {whole.told()}")
            # Halves are those of the study: another store may divide its images otherwise.
            found |= {
                image: value
                for image, value in zip(frame["image"], frame["value"].astype(float), strict=True)
                if not line.split or self._scenes.halves.get(image) == half
            }
        return np.array([found.get(image, math.nan) for image in images])

    def regions(self) -> dict[str, int]:
        """Return how many regions of each label there are on the shared images."""
        lines = self.results._tables.fetch(
            "SELECT image, label FROM regions WHERE dropped = '' ORDER BY label"
        )
        shared = set(self.shared)
        counts: dict[str, int] = {}
        for image, label in lines:
            if image in shared:
                counts[label] = counts.get(label, 0) + 1
        return counts

    def close(self) -> None:
        """Let go of the store, if it was opened here."""
        if self._own:
            self.results.close()


def check_fit(
    completed: OtherStore | None, gold: OtherStore | None, lines: Sequence[Line], name: Name
) -> None:
    """Raise if a store lacks scores of a line, or gold images were not completed."""
    for other in (completed, gold):
        for line in lines:
            if other is not None:
                other.values(line, name, ())
    if completed is None or gold is None:
        return
    there = set(completed.shared)
    lacking = [image for image in gold.shared if image not in there]
    if lacking:
        raise completed._fail(
            f"{len(lacking)} of the {len(gold.shared)} gold images are not in it, such as "
            f"{lacking[0]!r}: they must be completed like all others"
        )


def _weights(manifest: Mapping[str, Any]) -> dict[str, str]:
    """Return the digest of each model's weights."""
    return {full_name(one): str(one["digest"]) for one in manifest["models"]}


def _source(
    manifest: Mapping[str, Any], model: str, method: str, target: str
) -> Mapping[str, Any] | None:
    for one in manifest["sources"]:
        named = full_name(one), one["method"], one["target"], one["check"]
        if named == (model, method, target, ""):
            found: Mapping[str, Any] = one
            return found
    return None


def sets_of(
    line: LineFigures,
    name: Name,
    images: Sequence[str],
    completed: OtherStore | None,
    gold: OtherStore | None,
) -> Sets:
    """Return the scores of a line against every annotation that is given."""
    return Sets(
        line.images["iou"].reindex(list(images)).to_numpy(np.float64),
        None if completed is None else completed.values(line.line, name, images),
        None if gold is None else gold.values(line.line, name, images),
    )


def result_lines(sets: Sets) -> list[dict[str, Any]]:
    """Return the results that belong side by side: sparse, completed, gold, joined."""
    found = []
    for what, values in {"sparse": sets.sparse, "completed": sets.completed}.items():
        if values is not None:
            span = interval(values, limits=sets.limits)
            found.append(_line(what, span, span.n))
    gold = sets.on_gold()
    if gold is not None:
        found.append(_line("gold", gold, gold.n_gold if isinstance(gold, PPI) else gold.n))
    targets: dict[str, Target] = {"joined": "population", "joined, these images": "set"}
    for what, target in targets.items():
        ppi = sets.joined(target)
        if ppi is not None:
            found.append(_line(what, ppi, ppi.n_gold + ppi.n_rest))
    return found


def _line(what: str, found: Interval | PPI, n: int) -> dict[str, Any]:
    return {"set": what, "value": found.value, "low": found.low, "high": found.high, "n": n,
            "reason": found.reason}  # fmt: skip
