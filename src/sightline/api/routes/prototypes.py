"""Benchmarks of prototypes: what they found, and the prototypes and images behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Path

from sightline.api.problems import PROBLEMS, Refusal, not_found, of_store
from sightline.api.routes._cells import plain
from sightline.api.routes._prototype_words import (
    cautions,
    nature_words,
    natures_sentence,
    premise_sentence,
    relevance_sentence,
)
from sightline.api.routes._table_cache import keep
from sightline.api.schemas import (
    Answer,
    AttributionInfo,
    BenchmarkPerturbation,
    Figure,
    PerturbationParam,
    PerturbationStep,
    PerturbationType,
    PrototypeBenchmark,
    PrototypeBenchmarkSummary,
    PrototypeDetail,
    PrototypeDrop,
    PrototypeEffect,
    PrototypeImage,
    PrototypeLine,
    PrototypeLines,
    PrototypeList,
    PrototypeNatures,
    PrototypePremise,
    PrototypeRelevance,
    PrototypeSource,
    PrototypeWeight,
)
from sightline.api.state import Here, Served
from sightline.attribution.prototypes.perturbations import PERTURBATIONS, Param, Perturbation
from sightline.core import InputError, MissingPackageError, UnknownNameError
from sightline.results import StoredBenchmark, benchmark_names, open_benchmark
from sightline.results.live_prototypes import AskedBenchmark

__all__ = [
    "NamePart",
    "NumberPart",
    "asked_of",
    "benchmark_of",
    "line_of",
    "most_said",
    "router",
    "stored_drops",
    "way_of",
]

router = APIRouter(tags=["prototypes"])

T = TypeVar("T", bound=Answer)

_NONE = (
    "no benchmark of prototypes is stored; `sightline benchmark CONFIG.yml --model demo/protopnet "
    "--data facades --store STORE --name NAME` makes one"
)

NamePart = Annotated[
    str,
    Path(
        description="Name of a benchmark, as /api/prototypes lists it.",
        max_length=200,
        examples=["demo"],
    ),
]
NumberPart = Annotated[
    int, Path(description="Number of a prototype.", ge=0, le=10**6, examples=[3])
]


# --- what is stored ------------------------------------------------------------------------------


@router.get(
    "/api/prototypes",
    response_model=PrototypeList,
    responses={404: PROBLEMS[404], 409: PROBLEMS[409]},
    summary="Stored benchmarks of prototypes",
    description="A line for each, with the accuracy of its model. 404 where the store holds none.",
)
def prototypes(served: Here) -> PrototypeList:
    """Return the benchmarks that are stored."""
    names = benchmark_names(served.results.path)
    if not names:
        raise not_found(_NONE)
    return PrototypeList(benchmarks=tuple(_summary(benchmark_of(served, name)) for name in names))


def benchmark_of(served: Served, name: str) -> StoredBenchmark:
    """Return a benchmark of the store."""
    known = benchmark_names(served.results.path)
    if not known:
        raise not_found(_NONE, "name")
    if name not in known:
        raise not_found(f"no benchmark {name!r} is stored; stored: {', '.join(known)}", "name")
    with of_store():
        path = served.results.path / "prototypes" / name
        return served.kept(("benchmark", name), lambda: open_benchmark(path))


def _summary(found: StoredBenchmark) -> PrototypeBenchmarkSummary:
    with of_store():
        covered = None if found.drops is None else len(found.global_stats().covered)
    counts = found.about["counts"]
    return PrototypeBenchmarkSummary(
        name=found.name,
        model=found.model,
        data=_data(found),
        score="class_logit" if found.by_class else "similarity",
        images=counts["images"],
        prototypes=_count(found),
        covered=covered,
        accuracy=_accuracy(found),
    )


def _count(found: StoredBenchmark) -> int:
    count: int = found.about["counts"]["prototypes"]
    return len(found.about["classes"]) if found.by_class else count


def _data(found: StoredBenchmark) -> str:
    told = found.about["settings"]["data"]
    split = f", split {told['split']}" if told["split"] else ""
    return f"{told['images']} images of {told['name']}{split}"


def _accuracy(found: StoredBenchmark) -> Figure:
    told = found.accuracy
    value, low, high = (told[name] for name in ("value", "low", "high"))
    return Figure(metric="accuracy", value=value, low=low, high=high, n=told["images"])


@router.get(
    "/api/prototypes/{name}",
    response_model=PrototypeBenchmark,
    responses=PROBLEMS,
    summary="What a benchmark of prototypes found",
    description="Relevance beside chance, what each perturbation takes over all prototypes, how "
    "many prototypes depend on what, how often the premise of the analysis holds, cautions; and "
    "what the live route offers, with the ranges of its parameters.",
)
def prototype_benchmark(served: Here, name: NamePart) -> PrototypeBenchmark:
    """Return a benchmark."""
    found = benchmark_of(served, name)
    with of_store():
        made = _perturbations(found)
        types = [step.type for one in made for step in one.steps]
        effects = [one for one in _effects(found) if one.prototype is None]
        return PrototypeBenchmark(
            **_summary(found).model_dump(exclude={"covered"}),
            attribution=way_of(found),
            relevance=_relevance(found),
            perturbations=made,
            effects=tuple(effects),
            natures=_natures(found),
            premise=_premise(found),
            cautions=cautions(found, types),
            image_ids=_image_ids(found),
            offered=() if found.by_class else _offered(),
            attributions=() if found.by_class else _attributions(),
            note=_note(found),
        )


def way_of(found: StoredBenchmark) -> str:
    """Return the method, or the attribution by the name that it has now."""
    from sightline.attribution.prototypes import ATTRIBUTIONS

    settings = found.about["settings"]
    name = str((settings["method"] or settings["attribution"])["name"])
    return ATTRIBUTIONS[name].name if not settings["method"] and name in ATTRIBUTIONS else name


def _note(found: StoredBenchmark) -> str:
    if found.by_class:
        return "Scores are logits of classes: a prototype is a class here, and nothing runs live."
    return "Drops are shares of the similarity that is gone; not defined where it was 0 or less."


def _relevance(found: StoredBenchmark) -> tuple[PrototypeRelevance, ...]:
    if found.relevance is None:
        return ()
    rows = found.relevance.to_pylist()
    return tuple(
        _filled(
            PrototypeRelevance,
            one._asdict(),
            n=one.lines,
            undefined_fraction=plain(one.undefined_fraction),
            values=tuple(plain(row[one.measure]) for row in rows if row["kind"] == one.kind),
            sentence=relevance_sentence(one),
        )
        for one in found.relevance_means
    )


def _filled(kind: type[T], line: Mapping[str, Any], **more: Any) -> T:
    known = {name: plain(line[name]) for name in kind.model_fields if name in line}
    return kind(**known | more)


def _perturbations(found: StoredBenchmark) -> tuple[BenchmarkPerturbation, ...]:
    local = found.config.local_perturbation_analysis
    return tuple(
        BenchmarkPerturbation(name=one.name, description=one.description, steps=_steps(one))
        for one in (() if local is None else local.made())
    )


def _steps(one: Perturbation) -> tuple[PerturbationStep, ...]:
    return tuple(PerturbationStep(type=step.type, params=dict(step.params)) for step in one.steps)


def _effects(found: StoredBenchmark) -> list[PrototypeEffect]:
    """Return what perturbations do, by prototype and over all, in the benchmark's order."""
    if found.drops is None:
        return []
    order = {one["name"]: place for place, one in enumerate(found.about["perturbations"])}
    sorted_ = sorted(found.effects(), key=lambda one: (one.prototype, order[one.perturbation]))
    return [
        _filled(
            PrototypeEffect,
            one._asdict(),
            prototype=None if one.prototype < 0 else one.prototype,
        )
        for one in sorted_
    ]


def _natures(found: StoredBenchmark) -> PrototypeNatures | None:
    if found.drops is None:
        return None
    natures = found.natures()
    names = [one["name"] for one in found.about["perturbations"]]
    decided = [one for one in natures.values() if one is not None]
    unknown = sum(not one for one in decided)
    undecided = len(natures) - len(decided)
    uncovered = max(_count(found) - len(natures), 0)
    known = len(decided) - unknown
    return PrototypeNatures(
        matter={name: sum(name in one for one in decided) for name in names},
        unknown=unknown,
        undecided=undecided,
        uncovered=uncovered,
        sentence=natures_sentence(known, unknown, undecided, uncovered),
    )


def _premise(found: StoredBenchmark) -> PrototypePremise | None:
    local = found.config.local_perturbation_analysis
    if local is None or not local.enable_dual_mode:
        return None
    one = found.premise()
    return _filled(PrototypePremise, one._asdict(), sentence=premise_sentence(one))


def _image_ids(found: StoredBenchmark) -> tuple[str, ...]:
    seen: dict[str, None] = {}
    for row in found.drops.select(["image"]).to_pylist() if found.drops is not None else ():
        seen[row["image"]] = None
    for row in found.relevance.to_pylist() if found.relevance is not None else ():
        if row["kind"] == "patch":
            seen[row["image"]] = None
    return tuple(seen)


def _offered() -> tuple[PerturbationType, ...]:
    """Return the perturbations that can be made live."""
    return tuple(
        PerturbationType(
            type=spec.type,
            about=spec.about,
            citation=spec.citation,
            params=tuple(_param(one) for one in spec.params),
        )
        for spec in PERTURBATIONS.values()
    )


def _param(one: Param) -> PerturbationParam:
    low, high = (None, None) if one.choices else one.range
    return PerturbationParam(
        name=one.name,
        default=one.default,
        neutral=one.neutral,
        low=low,
        high=high,
        step=one.step,
        choices=one.choices,
    )


def _attributions() -> tuple[AttributionInfo, ...]:
    from sightline.attribution.prototypes import ATTRIBUTIONS

    return tuple(
        AttributionInfo(name=one.name, what=one.what, citation=one.citation, control=one.control)
        for one in ATTRIBUTIONS.values()
    )


# --- prototypes ----------------------------------------------------------------------------------


@router.get(
    "/api/prototypes/{name}/prototypes",
    response_model=PrototypeLines,
    responses=PROBLEMS,
    summary="All prototypes of a benchmark",
    description="Of each: what it says for which class, where it was taken from, how relevant it "
    "is beside chance, what perturbations take of it, and what its similarity depends on.",
)
def prototype_lines(served: Here, name: NamePart) -> PrototypeLines:
    """Return all prototypes."""
    found = benchmark_of(served, name)
    lines, note = _lines(served, found)
    return PrototypeLines(
        name=name,
        perturbations=tuple(one["name"] for one in found.about["perturbations"]),
        lines=tuple(lines.values()),
        note=note,
    )


def _lines(served: Served, found: StoredBenchmark) -> tuple[dict[int, PrototypeLine], str]:
    return served.kept(("prototype lines", found.name), lambda: _make_lines(served, found))


def _make_lines(served: Served, found: StoredBenchmark) -> tuple[dict[int, PrototypeLine], str]:
    weights, note = _weights(served, found)
    with of_store():
        relevance = _by_prototype(found.relevance, "prototype")
        drops: dict[int | None, list[PrototypeEffect]] = {}
        for one in _effects(found):
            drops.setdefault(one.prototype, []).append(one)
        natures = {} if found.drops is None else found.natures()
        images = _images_of(found)
    used = {number for number, row in enumerate(weights) if any(row)}
    numbers = sorted(set(relevance) | set(natures) | (used if not relevance else set()))
    if found.by_class:
        numbers = list(range(len(found.about["classes"])))
    classes = found.about["classes"]
    return {
        number: _filled(
            PrototypeLine,
            relevance.get(number, dict.fromkeys(_RELEVANT)),
            prototype=number,
            label=most_said(classes, weights, number, by_class=found.by_class),
            weights=_weight_lines(classes, weights, number),
            source=_source(relevance.get(number)),
            nature=natures.get(number),
            told=nature_words(natures.get(number), images.get(number, 0)),
            images=images.get(number, 0),
            drops=tuple(drops.get(number, ())),
        )
        for number in numbers
    }, note


_RELEVANT = ("mask_relevance", "energy_relevance", "energy_raw", "chance", "reason")


def asked_of(served: Served, found: StoredBenchmark) -> AskedBenchmark:
    """Return a benchmark whose model can be asked; it is loaded when it first is."""
    if found.by_class:
        raise Refusal(409, _note(found))
    return served.kept(("asked benchmark", found.name), lambda: AskedBenchmark(found))


def _weights(served: Served, found: StoredBenchmark) -> tuple[list[list[float]], str]:
    """Return what prototypes say for classes; none, and why, where the model cannot be asked."""
    if found.by_class:
        return [], _note(found)
    try:
        return asked_of(served, found).weights, ""
    except (InputError, UnknownNameError, MissingPackageError, OSError) as error:
        return [], f"Weights and pictures of prototypes are not known: {error}"


def most_said(
    classes: Sequence[str], weights: list[list[float]], number: int, *, by_class: bool
) -> str | None:
    """Return the class that a prototype says most for."""
    if by_class:
        return classes[number]
    if number >= len(weights) or not classes:
        return None
    row = weights[number]
    return classes[row.index(max(row))]


def _weight_lines(
    classes: Sequence[str], weights: list[list[float]], number: int
) -> tuple[PrototypeWeight, ...]:
    row = weights[number] if number < len(weights) else []
    return tuple(
        PrototypeWeight(label=label, weight=weight)
        for label, weight in zip(classes, row, strict=False)
    )


def _source(row: Mapping[str, Any] | None) -> PrototypeSource | None:
    return None if row is None else _filled(PrototypeSource, row)


def _by_prototype(table: Any, kind: str) -> dict[int, dict[str, Any]]:
    rows = [] if table is None else table.to_pylist()
    return {row["proto_idx"]: row for row in rows if row["kind"] == kind}


def _images_of(found: StoredBenchmark) -> dict[int, int]:
    """Return how many images were analysed with each prototype."""
    seen: dict[int, set[str]] = {}
    rows = [] if found.drops is None else found.drops.select(["image", "proto_idx"]).to_pylist()
    for row in rows:
        seen.setdefault(row["proto_idx"], set()).add(row["image"])
    return {number: len(some) for number, some in seen.items()}


def line_of(served: Served, found: StoredBenchmark, number: int) -> PrototypeLine:
    """Return a prototype; 404 where it is not there."""
    lines, _ = _lines(served, found)
    if number not in lines:
        known = ", ".join(map(str, list(lines)[:40])) + (", …" if len(lines) > 40 else "")
        raise not_found(f"{found.name} has no prototype {number}; it has {known}", "number")
    return lines[number]


@router.get(
    "/api/prototypes/{name}/prototypes/{number}",
    response_model=PrototypeDetail,
    responses=PROBLEMS,
    summary="A prototype, with the images behind its numbers",
    description="The images that were analysed with it, the most similar first: the cell, how "
    "relevant it is, and what each perturbation takes.",
)
def prototype_detail(served: Here, name: NamePart, number: NumberPart) -> PrototypeDetail:
    """Return a prototype."""
    found = benchmark_of(served, name)
    line = line_of(served, found, number)
    with of_store():
        images = _images(found, number, stored_drops(served, found))
    return PrototypeDetail(name=name, line=line, images=images, note=_note(found))


def _images(
    found: StoredBenchmark, number: int, drops: Mapping[tuple[str, int], Listed]
) -> tuple[PrototypeImage, ...]:
    rows: dict[str, dict[str, Any]] = {}
    for row in [] if found.relevance is None else found.relevance.to_pylist():
        if row["proto_idx"] == number and row["kind"] == "patch":
            rows[row["image"]] = row
    for (image, prototype), (row, _) in drops.items():
        if prototype == number:
            empty = dict.fromkeys(_RELEVANT)
            rows[image] = {**empty, **row, "score": row["original_score"], **rows.get(image, {})}
    made = [
        _filled(PrototypeImage, row, drops=tuple(drops.get((image, number), (None, ()))[1]))
        for image, row in rows.items()
    ]
    return tuple(sorted(made, key=lambda one: -(one.score or 0.0)))


Listed = tuple[dict[str, Any], list[PrototypeDrop]]


def stored_drops(served: Served, found: StoredBenchmark) -> dict[tuple[str, int], Listed]:
    """Return the drops that are stored by image and prototype, with a row of each."""
    return keep(served, ("prototype drops", found.name), lambda: _list_drops(found))


def _list_drops(found: StoredBenchmark) -> dict[tuple[str, int], Listed]:
    from sightline.attribution.prototypes.score_drops import drops

    listed: dict[tuple[str, int], Listed] = {}
    for row in [] if found.drops is None else found.drops.to_pylist():
        _, told = listed.setdefault((row["image"], row["proto_idx"]), (row, []))
        lost = {
            mode: None if row[mode] is None else float(drops(row["original_score"], row[mode]))
            for mode in ("focused", "dual", "whole")
        }
        told.append(
            PrototypeDrop(
                perturbation=row["perturbation"],
                original=plain(row["original_score"]),
                **{mode: plain(value) for mode, value in lost.items()},
            )
        )
    return listed
