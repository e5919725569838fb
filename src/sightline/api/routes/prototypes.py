"""Benchmarks of prototypes: what they found, prototypes and images behind it, changes made live."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Body, Depends, Path, Query
from fastapi.responses import Response

from sightline.analysis.prototypes_live import AskedBenchmark, Changed, Pair, View, eight_bits
from sightline.analysis.prototypes_live import shown as shown_as
from sightline.api.choice import read_words
from sightline.api.drawing import to_png
from sightline.api.problems import PROBLEMS, SENT, Refusal, naming, not_found, of_store, wrong
from sightline.api.routes._cells import plain
from sightline.api.routes._keeping import keep
from sightline.api.routes._prototype_words import (
    cautions,
    live_sentence,
    nature_words,
    natures_sentence,
    premise_sentence,
    relevance_sentence,
)
from sightline.api.schemas import (
    Answer,
    AttributionInfo,
    BenchmarkPerturbation,
    Figure,
    Live,
    LiveAsked,
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
    PrototypeMatch,
    PrototypeMatches,
    PrototypeNatures,
    PrototypePremise,
    PrototypeRelevance,
    PrototypeSource,
    PrototypeWeight,
)
from sightline.api.state import Here, Served
from sightline.prototypes.perturbations import PERTURBATIONS, Param, Perturbation, Step
from sightline.records import InputError, MissingPackageError, UnknownNameError
from sightline.results import StoredBenchmark, benchmark_names, open_benchmark

__all__ = ["router"]

router = APIRouter(tags=["prototypes"])

T = TypeVar("T", bound=Answer)

_NONE = (
    "no benchmark of prototypes is stored; `sightline benchmark CONFIG.yml --model demo/protopnet "
    "--data facades --store STORE --name NAME` makes one"
)
_PICTURE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The picture.",
        "content": {"image/png": {"schema": {"type": "string", "format": "binary"}}},
    },
    **PROBLEMS,
}
_EXAMPLES = [
    {"image": "facade-00000.png", "steps": [{"type": "hue", "params": {"factor": 0.2}}]},
    {
        "image": "facade-00000.png",
        "prototype": 3,
        "steps": [{"type": "saturation"}, {"type": "blur", "params": {"sigma": 4}}],
    },
]

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
ImagePart = Annotated[
    str,
    Path(
        description="Id of an image of the benchmark's data.",
        max_length=200,
        examples=["facade-00000.png"],
    ),
]


@dataclass(frozen=True, slots=True)
class AskedView:
    """How an image is shown; none need be given."""

    view: Annotated[
        View,
        Query(
            description="The image as the network sees it; the patch: the cell with as much around "
            "it; a box around the most relevant pixels, or the image cropped to it; the "
            "attribution in colours."
        ),
    ] = "patch"
    percentile: Annotated[
        float, Query(ge=0, le=99.9, description="Of the box: 95 surrounds the top 5% of pixels.")
    ] = 95
    attribution: Annotated[
        str | None,
        Query(
            max_length=40,
            description="Which pixels make them similar; that of the benchmark unless given.",
            examples=["upsampling"],
        ),
    ] = None


ViewWords = Annotated[AskedView, Depends(read_words(AskedView))]


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
    return PrototypeList(benchmarks=tuple(_summary(_open(served, name)) for name in names))


def _open(served: Served, name: str) -> StoredBenchmark:
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
    found = _open(served, name)
    with of_store():
        made = _perturbations(found)
        types = [step.type for one in made for step in one.steps]
        effects = [one for one in _effects(found) if one.prototype is None]
        return PrototypeBenchmark(
            **_summary(found).model_dump(exclude={"covered"}),
            attribution=_way(found),
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


def _way(found: StoredBenchmark) -> str:
    settings = found.about["settings"]
    return str((settings["method"] or settings["attribution"])["name"])


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
    from sightline.prototypes import ATTRIBUTIONS

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
    found = _open(served, name)
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
            label=_most(classes, weights, number, by_class=found.by_class),
            weights=_weight_lines(classes, weights, number),
            source=_source(relevance.get(number)),
            nature=natures.get(number),
            told=nature_words(natures.get(number), images.get(number, 0)),
            images=images.get(number, 0),
            drops=tuple(drops.get(number, ())),
        )
        for number in numbers
    }, note


_RELEVANT = ("mask_relevance", "energy_relevance", "energy_raw", "chance")


def _weights(served: Served, found: StoredBenchmark) -> tuple[list[list[float]], str]:
    """Return what prototypes say for classes; none, and why, where the model cannot be asked."""
    if found.by_class:
        return [], _note(found)
    try:
        return _asked(served, found).weights, ""
    except (InputError, UnknownNameError, MissingPackageError, OSError) as error:
        return [], f"Weights and pictures of prototypes are not known: {error}"


def _most(
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


def _line(served: Served, found: StoredBenchmark, number: int) -> PrototypeLine:
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
    found = _open(served, name)
    line = _line(served, found, number)
    with of_store():
        images = _images(found, number, _stored_drops(served, found))
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


def _stored_drops(served: Served, found: StoredBenchmark) -> dict[tuple[str, int], Listed]:
    """Return the drops that are stored by image and prototype, with a row of each."""
    return keep(served, ("prototype drops", found.name), lambda: _list_drops(found))


def _list_drops(found: StoredBenchmark) -> dict[tuple[str, int], Listed]:
    from sightline.prototypes.nature import drops

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


# --- images, asked of the model ------------------------------------------------------------------


def _asked(served: Served, found: StoredBenchmark) -> AskedBenchmark:
    """Return a benchmark whose model can be asked; it is loaded when it first is."""
    if found.by_class:
        raise Refusal(409, _note(found))
    return served.kept(("asked benchmark", found.name), lambda: AskedBenchmark(found))


def _ready(served: Served, name: str) -> AskedBenchmark:
    """Return a benchmark with its model and its images at hand."""
    asked = _asked(served, _open(served, name))
    with of_store():
        _ = asked.model, asked.images
    return asked


def _checked_image(asked: AskedBenchmark, image: str, refuse: Callable[..., Refusal]) -> None:
    with of_store():
        known = asked.images.ids
    if image not in set(known):
        told = f"no image {image!r} among the {len(known)} of the benchmark's data"
        raise refuse(told, "image_id" if refuse is not_found else "image")


def _checked_words(asked: AskedBenchmark, prototype: int | None, attribution: str | None) -> None:
    from sightline.prototypes import ATTRIBUTIONS

    count = len(asked.weights)
    if prototype is not None and prototype >= count:
        raise wrong(f"prototype must be from 0 to {count - 1}, got {prototype}", "prototype")
    if attribution is not None:
        with naming("attribution"):
            ATTRIBUTIONS[attribution]


@router.get(
    "/api/prototypes/{name}/prototypes/{number}/patch.png",
    response_class=Response,
    responses=_PICTURE,
    summary="The patch that a prototype was taken from",
    description="A picture of the image that the prototype was taken from, or that is nearest to "
    "it: the patch alone, the whole image, a box, or the attribution in colours.",
)
def prototype_patch(served: Here, name: NamePart, number: NumberPart, words: ViewWords) -> Response:
    """Send the picture of a prototype."""
    found = _open(served, name)
    asked = _asked(served, found)
    _line(served, found, number)
    with of_store():
        _ = asked.model
    _checked_words(asked, None, words.attribution)
    with of_store():
        return _picture(asked.source(number, words.attribution), words)


def _picture(pair: Pair, words: AskedView) -> Response:
    return Response(to_png(shown_as(pair, words.view, words.percentile)), media_type="image/png")


@router.get(
    "/api/prototypes/{name}/images/{image_id}",
    response_model=PrototypeMatches,
    responses=PROBLEMS,
    summary="The prototypes that an image is most similar to",
    description="Computed by the model, which is loaded when it is first asked; with the drops "
    "that are stored of these pairs.",
)
def prototype_matches(
    served: Here,
    name: NamePart,
    image_id: ImagePart,
    count: Annotated[int, Query(description="How many at most.", ge=1, le=1000)] = 5,
) -> PrototypeMatches:
    """Return the nearest prototypes of an image."""
    asked = _ready(served, name)
    _checked_image(asked, image_id, not_found)
    with of_store():
        found, grid = asked.matches(image_id, count)
        drops = _stored_drops(served, asked.found)
    rows = zip(
        found.prototypes[0].tolist(), found.scores[0].tolist(), found.cells[0].tolist(), strict=True
    )
    classes, weights = asked.found.about["classes"], asked.weights
    return PrototypeMatches(
        name=name,
        image=image_id,
        grid=grid,
        lines=tuple(
            PrototypeMatch(
                prototype=number,
                label=_most(classes, weights, number, by_class=False),
                score=score,
                row=cell[0],
                column=cell[1],
                box=_cell_box(cell, grid),
                drops=tuple(drops.get((image_id, number), (None, ()))[1]),
            )
            for number, score, cell in rows
        ),
    )


def _cell_box(cell: Sequence[int], grid: tuple[int, int]) -> tuple[float, float, float, float]:
    (row, column), (rows, columns) = cell, grid
    return column / columns, row / rows, (column + 1) / columns, (row + 1) / rows


@router.get(
    "/api/prototypes/{name}/images/{image_id}/picture.png",
    response_class=Response,
    responses=_PICTURE,
    summary="An image as the network sees it, and what of it is like a prototype",
    description="The image, the most similar patch, a box around the most relevant pixels, the "
    "image cropped to it, or the attribution in colours. Computed by the model.",
)
def prototype_picture(
    served: Here,
    name: NamePart,
    image_id: ImagePart,
    words: ViewWords,
    prototype: Annotated[
        int | None,
        Query(ge=0, le=10**6, description="Its number; the most similar one unless given."),
    ] = None,
) -> Response:
    """Send a picture of an image."""
    asked = _ready(served, name)
    _checked_image(asked, image_id, not_found)
    _checked_words(asked, prototype, words.attribution)
    with of_store():
        return _picture(asked.pair(image_id, prototype, None, words.attribution), words)


# --- changes, made live --------------------------------------------------------------------------


@router.post(
    "/api/prototypes/{name}/live",
    response_model=Live,
    responses={**PROBLEMS, **SENT},
    summary="Change one image, and see what its similarity to a prototype does",
    description="The steps are done one after the other on the whole image, and blended in where "
    "the attribution is high (focused) and where it is low (dual). The similarity is that of the "
    "same prototype at the same cell. Nothing is stored. Parameters must lie in the ranges that "
    "`offered` of /api/prototypes/{name} tells.",
)
def prototype_live(
    served: Here, name: NamePart, wanted: Annotated[LiveAsked, Body(examples=_EXAMPLES)]
) -> Live:
    """Return similarities and pictures of changed copies."""
    _asked(served, _open(served, name))
    perturbation = Perturbation("live", tuple(_step(at, s) for at, s in enumerate(wanted.steps)))
    asked = _ready(served, name)
    _checked_image(asked, wanted.image, wrong)
    _checked_words(asked, wanted.prototype, wanted.attribution)
    try:
        pair = asked.pair(wanted.image, wanted.prototype, wanted.cell, wanted.attribution)
    except UnknownNameError as error:
        raise wrong(str(error), "cell") from error
    except InputError as error:  # the picture is another
        raise Refusal(409, str(error)) from error
    with naming("steps"):
        found = asked.changed(pair, perturbation)
    return _live(asked, wanted, found, perturbation.description)


def _step(at: int, asked: PerturbationStep) -> Step:
    """Return a step whose parameters lie in the ranges that are offered.

    Raises
    ------
    Refusal
        422, naming the parameter.
    """
    field = f"steps.{at}"
    if asked.type not in PERTURBATIONS:
        known = ", ".join(PERTURBATIONS)
        raise wrong(f"type must be one of {known}; got {asked.type!r}", f"{field}.type")
    for one in PERTURBATIONS[asked.type].params:
        value, (low, high) = asked.params.get(one.name, one.default), one.range
        place = f"{field}.params.{one.name}"
        if isinstance(value, int | float) and not one.choices and not low <= value <= high:
            raise wrong(f"{one.name} must be from {low:g} to {high:g}; got {value:g}", place)
        with naming(place):
            one.read(value)
    with naming(f"{field}.params"):
        return Step(asked.type, asked.params)


def _live(asked: AskedBenchmark, wanted: LiveAsked, found: Changed, description: str) -> Live:
    pair = found.pair
    height, width = pair.image.shape[2:]
    x0, y0, x1, y1 = found.relevant
    return Live(
        image=wanted.image,
        prototype=pair.prototype,
        cell=pair.cell,
        grid=pair.grid,
        box=_cell_box(pair.cell, pair.grid),
        relevant=(x0 / width, y0 / height, x1 / width, y1 / height),
        attribution=wanted.attribution or _way(asked.found),
        description=description,
        **{
            name: plain(getattr(found, name))
            for name in ("original", "focused", "dual", "focused_drop", "dual_drop")
        },
        original_png=_data_url(pair.image),
        focused_png=_data_url(found.focused_image),
        dual_png=_data_url(found.dual_image),
        sentence=live_sentence(found),
    )


def _data_url(image: Any) -> str:
    return "data:image/png;base64," + b64encode(to_png(eight_bits(image))).decode()
