"""Benchmarks of prototypes: from what is asked to parts, and from their rows to files.

The work is done in parts of a fixed number of images, each kept whole as soon as it is done. A run
that was killed goes on with the first part that is missing, and ends with the same bits.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import partial
from math import isnan
from typing import TYPE_CHECKING, Any, NamedTuple

from sightline.data.outputs import replacing
from sightline.records import InputError
from sightline.runner.benchmark_parts import (
    BenchmarkJob,
    Group,
    Taken,
    drop_rows,
    groups_of,
    is_by_class,
    own_sources,
    patch_rows,
    prototype_rows,
    told_sources,
)
from sightline.runner.images import annotation_digest, pixels_digest
from sightline.runner.manifest import package_versions
from sightline.runner.sources import digest_of
from sightline.runner.threads import fixed_threads
from sightline.store.prototypes import check_place, create_benchmark, differences

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from sightline.data.dataset import Dataset
    from sightline.store.prototypes import BenchmarkFolder
    from sightline.study.benchmark import Benchmark, DataChoice

    Progress = Callable[[int, int, str], object]

__all__ = [
    "BenchmarkJob",
    "BenchmarkPlan",
    "BenchmarkRun",
    "Part",
    "parts_left",
    "plan_benchmark",
    "run_benchmark",
]

_STAGES = {
    "prototypes": "Relevance of prototypes",
    "patches": "Relevance of patches",
    "drops": "Perturbing images",
}
_NEAREST = "nearest"
# Settings that do not decide what is found: where things lie.
_PLACES = ("path",)


class Part(NamedTuple):
    """A piece of the work: a stage, and the numbers of the images or prototypes."""

    stage: str
    number: int
    ids: tuple[int, ...]

    @property
    def name(self) -> str:
        """What its file is called by."""
        return f"{self.stage}-{self.number:05}"


@dataclass(frozen=True, eq=False)
class BenchmarkPlan:
    """What a benchmark comes to.

    Attributes
    ----------
    asked : BenchmarkJob
        What was asked for.
    images : Dataset
        All images; a stride takes some of them.
    projection : DataChoice or None
        The images that prototypes are looked for on; None where the model says where they are from,
        or nothing asks for them.
    prototypes : tuple of int
        Those that the model uses; its classes where the score is the logit of one.
    settings : dict
        All that decides the results.
    parts : tuple of Part
        The work.
    """

    asked: BenchmarkJob
    images: Dataset
    projection: DataChoice | None
    prototypes: tuple[int, ...]
    settings: dict[str, Any]
    parts: tuple[Part, ...]

    def ids(self, stage: str) -> list[int]:
        """Return the numbers of all images, or prototypes, of a stage."""
        return [number for part in self.parts if part.stage == stage for number in part.ids]


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


# --- the plan -------------------------------------------------------------------------------------


def plan_benchmark(asked: BenchmarkJob, progress: Progress | None = None) -> BenchmarkPlan:
    """Return the parts of the work, and all that decides its results.

    Every image that will be analysed is looked at, so that results never go with other images.

    Raises
    ------
    InputError
        If the model, the data and the analyses do not fit together.
    """
    prototypes = _checked(asked)
    images = asked.data.open()
    projection = _projection(asked)
    parts = tuple(_parts(asked.config, len(images), prototypes, asked.batch))
    used = sorted({n for part in parts if part.stage != "prototypes" for n in part.ids})
    move = progress or (lambda done, total, what: None)
    settings = _settings(asked)
    settings["data"] |= {"images": len(images), "digest": _digest(images, used, move)}
    settings["projection"] = _projection_settings(asked, projection, move)
    return BenchmarkPlan(asked, images, projection, prototypes, settings, parts)


def _checked(asked: BenchmarkJob) -> tuple[int, ...]:
    """Return the prototypes in use, or the classes; raise for what does not fit."""
    from sightline.maps import METHODS
    from sightline.prototypes.attribution import ATTRIBUTIONS
    from sightline.prototypes.matches import prototypes_in_use

    drops = asked.config.local_perturbation_analysis
    by_class = drops is not None and drops.score == "class_logit"
    if by_class and asked.method is None:
        raise InputError("score: class_logit needs the method of the maps (--method)")
    if asked.method is not None and not by_class:
        raise InputError(
            f"method {asked.method!r} is for local_perturbation_analysis with score: class_logit; "
            "maps of prototypes are made by an attribution"
        )
    if asked.method is not None:
        asked.model.check_classes("score: class_logit")
        METHODS[asked.method].check_fits(asked.model)
        METHODS[asked.method].with_defaults(asked.params)
    if not isinstance(asked.batch, int) or asked.batch < 1:
        raise InputError(f"batch must be 1 or more, got {asked.batch!r}")
    if by_class and asked.config.relevance_analysis is None:
        return tuple(range(len(asked.model.classes)))
    ATTRIBUTIONS[asked.attribution].with_defaults({} if by_class else asked.params)
    return prototypes_in_use(asked.model)


def _parts(
    config: Benchmark, images: int, prototypes: tuple[int, ...], batch: int
) -> Iterator[Part]:
    """Yield the parts: as many pairs in each as go through the network at once.

    What both analyses do with the same images follows one on the other.
    """
    stages: list[tuple[str, Sequence[int], int]] = []
    if (section := config.relevance_analysis) is not None:
        each = max(1, batch // section.num_prototypes)
        stages.append(("prototypes", prototypes, batch))
        stages.append(("patches", range(0, images, section.sampling_ratio), each))
    if (local := config.local_perturbation_analysis) is not None:
        each = max(1, batch // local.num_prototypes)
        stages.append(("drops", range(0, images, local.sampling_ratio), each))
    parts = [
        Part(stage, number, tuple(ids[start : start + each]))
        for stage, ids, each in stages
        for number, start in enumerate(range(0, len(ids), each))
    ]
    yield from sorted(parts, key=lambda part: part.stage != "prototypes" and 1 + part.ids[0])


def _projection(asked: BenchmarkJob) -> DataChoice | None:
    """Return the images that prototypes are looked for on; None where there is no need to look."""
    if asked.config.relevance_analysis is None:
        return None
    if asked.projection is not None or told_sources(asked.model):
        return asked.projection
    count = asked.data.count if asked.data.name == "facades" else None  # how many are drawn
    whole = replace(asked.data, split=None, count=count)
    if "train" not in whole.open().splits:
        raise InputError(
            f"{asked.model.name} does not say where its prototypes are from, and {asked.data.name} "
            "has no split 'train' to look for them: say which images (projection, --projection)"
        )
    return replace(whole, split="train")


def _settings(asked: BenchmarkJob) -> dict[str, Any]:
    """Return all that decides the results, but for what the images hold."""
    way, analyses = asked.model.preprocess, asked.config.to_dict()
    for section in analyses.values():
        section.pop("quiet", None)
    return {
        "model": {
            "name": asked.model.name,
            "digest": asked.model.digest,
            "fit": way.fit,
            "size": None if way.size is None else list(way.size),
            "device": asked.model.device.type,
        },
        "data": asked.data.to_dict(),
        "attribution": None if is_by_class(asked) else _attribution(asked),
        "method": _method(asked),
        "batch": asked.batch,
        "analyses": analyses,
        "files": asked.config.files,
        "versions": {
            name: version
            for name, version in package_versions().items()
            if name in ("sightline", "torch")
        },
    }


def _attribution(asked: BenchmarkJob) -> dict[str, Any]:
    from sightline.prototypes.attribution import ATTRIBUTIONS

    given = {} if asked.method else asked.params
    params = ATTRIBUTIONS[asked.attribution].with_defaults(given)
    return {"name": asked.attribution, "params": params}


def _method(asked: BenchmarkJob) -> dict[str, Any] | None:
    from sightline.maps import METHODS

    if asked.method is None:
        return None
    return {"name": asked.method, "params": METHODS[asked.method].with_defaults(asked.params)}


def _projection_settings(
    asked: BenchmarkJob, projection: DataChoice | None, move: Progress
) -> dict[str, Any] | None:
    if asked.config.relevance_analysis is None:
        return None
    if projection is None:
        sources = [[one.seed, one.index, one.cell] for one in told_sources(asked.model)]
        return {"kind": "sources", "digest": digest_of(sources)[:16]}
    images = projection.open()
    digest = _digest(images, range(len(images)), move)
    return {"kind": "data", **projection.to_dict(), "images": len(images), "digest": digest}


def _digest(images: Dataset, ids: Sequence[int], move: Progress) -> str:
    """Return a hash over images and what is annotated on them."""
    found = []
    for done, number in enumerate(ids):
        sample = images[number]
        if not (pixels := pixels_digest(sample, images.root)):
            raise InputError(f"image {sample.image_id!r} has no file, and a model must see it")
        found.append((number, sample.image_id, pixels, annotation_digest(sample.annotation)))
        move(done + 1, len(ids), "Reading images")
    if not found:
        raise InputError(f"{images.name} holds no images")
    return digest_of(found)[:16]


# --- the run --------------------------------------------------------------------------------------


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
            folder.finish(_files(plan, tables), _about(plan, tables))
    return BenchmarkRun(folder.path, made, len(plan.parts) - made)


def parts_left(plan: BenchmarkPlan, folder: BenchmarkFolder) -> int:
    """Return how many parts a run would have to make; nothing is changed.

    Raises
    ------
    InputError
        If the folder holds a benchmark of other settings.
    """
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

    from sightline.prototypes.matches import nearest_images

    def seen(count: int) -> None:
        move(count, len(images), "Looking for prototypes")

    found = nearest_images(asked.model, images, asked.batch, seen)
    rows = [
        {"prototype": one.prototype, "image": one.image, "row": one.cell[0], "column": one.cell[1]}
        for one in found
    ]
    return pa.Table.from_pylist(rows)


# --- the files ------------------------------------------------------------------------------------

_RELEVANCE = ("img_id", "proto_idx", "mask_relevance", "energy_relevance")
_INFO = {
    "img_id": "img_id",
    "proto_idx": "proto_idx",
    "original_score": "original_score",
    "perturbation": "perturbation",
    "focused": "score_after_perturbation",
    "dual": "dual_score_after_perturbation",
    "description": "description",
    "squared_distance": "squared_distance",
    "dual_squared_distance": "dual_squared_distance",
    "row": "h",
    "column": "w",
}


def _files(plan: BenchmarkPlan, tables: dict[str, list[pa.Table]]) -> dict[str, pa.Table]:
    """Return the tables by file."""
    import pyarrow as pa

    whole = {stage: pa.concat_tables(parts) for stage, parts in tables.items()}
    config, files = plan.asked.config, dict[str, pa.Table]()
    if (section := config.relevance_analysis) is not None:
        both = whole["prototypes"], whole["patches"]
        files["relevance.parquet"] = pa.concat_tables(both)
        names = section.prototype_info_db, section.patch_info_db
        files |= {n: table.select(_RELEVANCE) for n, table in zip(names, both, strict=True)}
    if (local := config.local_perturbation_analysis) is not None:
        drops = whole["drops"]
        files["drops.parquet"] = drops
        files[local.info_db] = drops.select(list(_INFO)).rename_columns(list(_INFO.values()))
        files[local.global_stats] = _global_stats(plan, drops)
    return files


def _global_stats(plan: BenchmarkPlan, drops: pa.Table) -> pa.Table:
    """Return statistic, perturbation, value: the prototypes covered, the mean focused drops."""
    import pyarrow as pa

    from sightline.prototypes.nature import global_stats

    found = global_stats(drops)
    rows: list[tuple[str, str | None, float]] = [
        ("prototypes", None, float(_own_count(plan))),
        ("covered_prototypes", None, float(len(found.covered))),
        *(("mean_focused_drop", name, value) for name, value in found.drops.items()),
        *(("undefined_drops", name, float(value)) for name, value in found.undefined.items()),
    ]
    schema = pa.schema(
        [("statistic", pa.string()), ("perturbation", pa.string()), ("value", pa.float64())]
    )
    names = ("statistic", "perturbation", "value")
    return pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows], schema)


def _own_count(plan: BenchmarkPlan) -> int:
    """Return how many prototypes, or classes, the scores could be of."""
    return len(plan.asked.model.classes if plan.asked.method else plan.prototypes)


def _about(plan: BenchmarkPlan, tables: dict[str, list[pa.Table]]) -> dict[str, Any]:
    """Return what benchmark.json tells."""
    local = plan.asked.config.local_perturbation_analysis
    made = () if local is None else local.made()
    stages = dict.fromkeys(part.stage for part in plan.parts)
    return {
        "settings": plan.settings,
        "versions": package_versions(),
        "classes": list(plan.asked.model.classes),
        "prototype_classes": _prototype_classes(plan.asked),
        "accuracy": _accuracy(tables),
        "counts": {
            "images": len(plan.images),
            "prototypes": len(plan.prototypes),
            **{f"analysed_{stage}": len(plan.ids(stage)) for stage in stages},
        },
        "perturbations": [{"name": one.name, "description": one.description} for one in made],
    }


def _prototype_classes(asked: BenchmarkJob) -> list[str]:
    """Return the class of each prototype; none where nothing is asked of prototypes."""
    from sightline.prototypes.matches import prototype_classes

    return [] if is_by_class(asked) else list(prototype_classes(asked.model))


def _accuracy(tables: dict[str, list[pa.Table]]) -> dict[str, Any]:
    """Return how often the model is right on the images that were analysed, with an interval."""
    from sightline.stats import interval

    right: dict[int, bool] = {}
    for stage in ("patches", "drops"):
        for table in tables.get(stage, ()):
            columns = (table[name].to_pylist() for name in ("img_id", "label", "predicted"))
            for img_id, label, said in zip(*columns, strict=True):
                if label is not None and said is not None:
                    right[img_id] = label == said
    found: dict[str, Any] = {"value": None, "low": None, "high": None, "images": len(right)}
    if right:
        one = interval([float(value) for value in right.values()], kind="share")
        ends = {"value": one.value, "low": one.low, "high": one.high}
        found |= {name: None if isnan(end) else float(end) for name, end in ends.items()}
    return found | {"confidence": 0.95}
