"""Benchmarks of prototypes, from what is asked to the files of what was found.

The work is done in parts of a fixed number of images, each kept whole as soon as it is done. A run
that was killed goes on with the first part that is missing, and ends with the same bits.
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from sightline.core import InputError
from sightline.data.outputs import replacing
from sightline.store.prototypes import check_place, create_benchmark, differences
from sightline.study.prototypes.files import benchmark_about, benchmark_tables
from sightline.study.prototypes.parts import (
    Group,
    Taken,
    drop_rows,
    groups_of,
    own_sources,
    patch_rows,
    prototype_rows,
)
from sightline.study.prototypes.plan import plan_benchmark
from sightline.study.worker.threads import fixed_threads

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping
    from pathlib import Path

    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from sightline.data.dataset import Dataset
    from sightline.store.prototypes import BenchmarkFolder
    from sightline.study.config.benchmark import Benchmark
    from sightline.study.prototypes.parts import BenchmarkJob
    from sightline.study.prototypes.plan import BenchmarkPlan, Part

    Progress = Callable[[int, int, str], object]

__all__ = ["BenchmarkRun", "parts_left", "run_benchmark"]

_STAGES = {
    "prototypes": "Relevance of prototypes",
    "patches": "Relevance of patches",
    "drops": "Perturbing images",
}
_NEAREST = "nearest"
# Settings that do not decide what is found: where things lie.
_PLACES = ("path",)


class BenchmarkRun(NamedTuple):
    """What a run did.

    Attributes
    ----------
    path : Path
        The folder of the results.
    made, kept : int
        Parts that were computed, and that were there already.
    """

    path: Path
    made: int
    kept: int


def run_benchmark(
    asked: BenchmarkJob,
    path: str | os.PathLike[str],
    *,
    name: str | None = None,
    text: str | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> BenchmarkRun:
    """Analyse the prototypes of a model, and write what is found into a folder.

    What is there already, of the same settings, is kept: a run that was stopped goes on.

    Parameters
    ----------
    asked
        What is analysed, and how.
    path, name
        The folder of results; or a store, and the name of the benchmark in it.
    text
        Of the file that asked for it, which is copied; made from the settings unless given.
    overwrite
        Whether results of other settings are replaced.
    progress
        Told how many images are done, of how many, and what is done.

    Raises
    ------
    InputError
        If something does not fit, the folder holds other things, or another process writes there.
    """
    move = progress or (lambda done, total, what: None)
    check_place(path, name)  # before images are looked at
    with fixed_threads():
        plan = plan_benchmark(asked, move)
        folder = create_benchmark(path, name=name)
        with folder.locked():
            if not _begun(folder, plan, text, overwrite):
                return BenchmarkRun(folder.path, 0, len(plan.parts))
            tables, made = _work(folder, plan, move)
            folder.finish(benchmark_tables(plan, tables), benchmark_about(plan, tables))
    return BenchmarkRun(folder.path, made, len(plan.parts) - made)


def parts_left(plan: BenchmarkPlan, folder: BenchmarkFolder, *, overwrite: bool = False) -> int:
    """Return how many parts a run would have to make, all if it overwrites; nothing is changed.

    Raises
    ------
    InputError
        If the folder holds a benchmark of other settings, which is not to be overwritten.
    """
    if overwrite:
        return len(plan.parts)
    about = folder.about()
    begun = folder.begun() if about is None else about["settings"]
    if begun is None:
        return len(plan.parts)
    _check_same(folder, begun, plan.settings, versions=about is None)
    if about is not None and folder.is_whole():
        return 0
    return sum(not any(folder.parts.glob(f"{part.name}-*.parquet")) for part in plan.parts)


def _begun(folder: BenchmarkFolder, plan: BenchmarkPlan, text: str | None, overwrite: bool) -> bool:
    """Say whether there is something to do, after what is there was looked at."""
    if overwrite:
        folder.clear()
    if (about := folder.about()) is not None:
        _check_same(folder, about["settings"], plan.settings, versions=False)
        if folder.is_whole():
            return False
        folder.clear()  # a file was changed or is gone: all is made again
    if (begun := folder.begun()) is not None:
        _check_same(folder, begun, plan.settings, versions=True)
    else:
        folder.clear()
    folder.begin(plan.settings, text if text is not None else _as_yaml(plan.asked.config))
    return True


def _as_yaml(config: Benchmark) -> str:
    import yaml

    text: str = yaml.safe_dump(config.to_dict(), sort_keys=False)
    return text


def _check_same(
    folder: BenchmarkFolder, old: dict[str, Any], new: dict[str, Any], *, versions: bool
) -> None:
    """Raise where a folder holds something else than what is asked for."""
    one, two = (_decisive(settings, versions) for settings in (old, new))
    if one != two:
        told = differences(one, two)
        raise InputError(
            f"{folder.path}: holds a benchmark of other settings: {told}; choose another folder, "
            "or overwrite it (--overwrite)"
        )


def _decisive(settings: dict[str, Any], versions: bool) -> dict[str, Any]:
    """Return the settings that decide the results, as JSON has them."""
    found: dict[str, Any] = json.loads(json.dumps(settings))
    for name in ("data", "projection"):
        for key in _PLACES:
            (found.get(name) or {}).pop(key, None)
    if not versions:
        found.pop("versions", None)
    return found


def _work(
    folder: BenchmarkFolder, plan: BenchmarkPlan, move: Progress
) -> tuple[dict[str, list[pa.Table]], int]:
    """Return the tables of all parts by stage, those that are there and those made now."""
    tables: dict[str, list[pa.Table]] = {}
    taken: dict[int, Taken] = {}
    seen = _Seen(plan)
    total = sum(len(part.ids) for part in plan.parts)
    done = made = 0
    for part in plan.parts:
        move(done, total, _STAGES[part.stage])
        found = folder.part(part.name)
        if found is None:
            if part.stage == "prototypes" and not taken:
                taken = {one.prototype: one for one in _taken(folder, plan, move)}
            found = _made(folder, seen, part, taken)
            folder.save_part(part.name, found)
            made += 1
        tables.setdefault(part.stage, []).append(found)
        done += len(part.ids)
    move(total, total, "Writing")
    return tables, made


class _Seen:
    """What a model says of images: kept for those that were looked at last."""

    def __init__(self, plan: BenchmarkPlan) -> None:
        self.plan = plan
        self._ids: tuple[int, ...] = ()
        self._groups: tuple[Group, ...] = ()

    def of(self, ids: tuple[int, ...]) -> tuple[Group, ...]:
        """Return groups of images by their numbers."""
        if ids != self._ids:
            samples = [self.plan.images[number] for number in ids]
            self._ids, self._groups = ids, groups_of(self.plan.asked, samples)
        return self._groups


def _made(folder: BenchmarkFolder, seen: _Seen, part: Part, taken: Mapping[int, Taken]) -> pa.Table:
    """Return the rows of a part."""
    asked, config = seen.plan.asked, seen.plan.asked.config
    first, second = config.relevance_analysis, config.local_perturbation_analysis
    saves = partial(_save, folder.debug)
    if part.stage == "drops" and second is not None:
        save = saves if second.debug_mode else None
        return drop_rows(asked, second, part.ids, seen.of(part.ids), save)
    if first is None:
        raise ValueError(f"part {part.name} belongs to no analysis")
    save = saves if first.debug_mode else None
    if part.stage == "prototypes":
        return prototype_rows(asked, first, [taken[number] for number in part.ids], save)
    return patch_rows(asked, first, part.ids, seen.of(part.ids), save)


def _save(folder: Path, name: str, picture: NDArray[np.uint8]) -> None:
    """Write a picture that is there whole or not at all."""
    from PIL import Image

    path = folder / f"{name}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as part:
        Image.fromarray(picture).save(part, format="png")


def _taken(folder: BenchmarkFolder, plan: BenchmarkPlan, move: Progress) -> list[Taken]:
    """Return where all prototypes were taken from: told by the model, or the most similar cells."""
    if plan.projection is None:
        return own_sources(plan.asked.model)
    images = plan.projection.open()
    if (found := folder.part(_NEAREST)) is None:
        found = _nearest(plan.asked, images, move)
        folder.save_part(_NEAREST, found)
    return [
        Taken(row["prototype"], row["image"], images[row["image"]], (row["row"], row["column"]))
        for row in found.to_pylist()
    ]


def _nearest(asked: BenchmarkJob, images: Dataset, move: Progress) -> pa.Table:
    """Return the most similar cell of all images for each prototype."""
    import pyarrow as pa

    from sightline.attribution.prototypes.matches import nearest_images

    def seen(count: int) -> None:
        move(count, len(images), "Looking for prototypes")

    found = nearest_images(asked.model, images, asked.batch, seen)
    rows = [
        {"prototype": one.prototype, "image": one.image, "row": one.cell[0], "column": one.cell[1]}
        for one in found
    ]
    return pa.Table.from_pylist(rows)
