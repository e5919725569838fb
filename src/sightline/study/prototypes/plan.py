"""What a benchmark of prototypes comes to: its parts, and all that decides its results."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from sightline.core import InputError
from sightline.study.plan.images import annotation_digest, pixels_digest
from sightline.study.plan.manifest import package_versions
from sightline.study.plan.sources import digest_of
from sightline.study.prototypes.parts import BenchmarkJob, is_by_class, told_sources

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sightline.data.dataset import Dataset
    from sightline.study.config.benchmark import Benchmark, DataChoice

    Progress = Callable[[int, int, str], object]

__all__ = ["BenchmarkPlan", "Part", "plan_benchmark"]


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
    from sightline.attribution.methods import METHODS
    from sightline.attribution.prototypes.attribution import ATTRIBUTIONS
    from sightline.attribution.prototypes.matches import prototypes_in_use

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
    _check_class_specific(asked)
    if not isinstance(asked.batch, int) or asked.batch < 1:
        raise InputError(f"batch must be 1 or more, got {asked.batch!r}")
    if by_class and asked.config.relevance_analysis is None:
        return tuple(range(len(asked.model.classes)))
    ATTRIBUTIONS[asked.attribution].with_defaults({} if by_class else asked.params)
    return prototypes_in_use(asked.model)


def _check_class_specific(asked: BenchmarkJob) -> None:
    """Raise where prototypes of the predicted class are asked for and nothing is predicted."""
    drops = asked.config.local_perturbation_analysis
    if drops is not None and drops.class_specific and drops.score == "class_logit":
        raise InputError(
            "local_perturbation_analysis: class_specific is about prototypes, and score: "
            "class_logit has none; leave one of them out"
        )
    for section in (asked.config.relevance_analysis, drops):
        if section is not None and section.class_specific:
            asked.model.check_classes("class_specific")


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
    from sightline.attribution.prototypes.attribution import ATTRIBUTIONS

    given = {} if asked.method else asked.params
    params = ATTRIBUTIONS[asked.attribution].with_defaults(given)
    return {"name": asked.attribution, "params": params}


def _method(asked: BenchmarkJob) -> dict[str, Any] | None:
    from sightline.attribution.methods import METHODS

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
