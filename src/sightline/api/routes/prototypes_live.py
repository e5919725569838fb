"""Prototypes on images, asked of the model: patches, matches, pictures, changes made live."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Path, Query
from fastapi.responses import Response

from sightline.api.choice import read_words
from sightline.api.pictures import to_png
from sightline.api.problems import (
    PROBLEMS,
    SENT,
    Refusal,
    naming,
    not_found,
    of_store,
    picture,
    wrong,
)
from sightline.api.routes._cells import plain
from sightline.api.routes._prototype_words import live_sentence
from sightline.api.routes.prototypes import (
    NamePart,
    NumberPart,
    asked_of,
    benchmark_of,
    line_of,
    most_said,
    stored_drops,
    way_of,
)
from sightline.api.schemas import (
    Live,
    LiveAsked,
    PerturbationStep,
    PrototypeMatch,
    PrototypeMatches,
)
from sightline.api.state import Here, Served
from sightline.attribution.prototypes.perturbations import PERTURBATIONS, Perturbation, Step
from sightline.core import InputError, UnknownNameError
from sightline.results.live_prototypes import AskedBenchmark, Changed, Pair, View, eight_bits
from sightline.results.live_prototypes import shown as shown_as

__all__ = ["router"]

router = APIRouter(tags=["prototypes"])

_EXAMPLES = [
    {"image": "facade-00000.png", "steps": [{"type": "hue", "params": {"factor": 0.2}}]},
    {
        "image": "facade-00000.png",
        "prototype": 3,
        "steps": [{"type": "saturation"}, {"type": "blur", "params": {"sigma": 4}}],
    },
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


# --- images, asked of the model ------------------------------------------------------------------


def _ready(served: Served, name: str) -> AskedBenchmark:
    """Return a benchmark with its model and its images at hand."""
    asked = asked_of(served, benchmark_of(served, name))
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
    from sightline.attribution.prototypes import ATTRIBUTIONS

    count = len(asked.weights)
    if prototype is not None and prototype >= count:
        raise wrong(f"prototype must be from 0 to {count - 1}, got {prototype}", "prototype")
    if attribution is not None:
        with naming("attribution"):
            ATTRIBUTIONS[attribution]


@router.get(
    "/api/prototypes/{name}/prototypes/{number}/patch.png",
    response_class=Response,
    responses={**picture("image/png"), **PROBLEMS},
    summary="The patch that a prototype was taken from",
    description="A picture of the image that the prototype was taken from, or that is nearest to "
    "it: the patch alone, the whole image, a box, or the attribution in colours.",
)
def prototype_patch(served: Here, name: NamePart, number: NumberPart, words: ViewWords) -> Response:
    """Send the picture of a prototype."""
    found = benchmark_of(served, name)
    asked = asked_of(served, found)
    line_of(served, found, number)
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
        drops = stored_drops(served, asked.found)
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
                label=most_said(classes, weights, number, by_class=False),
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
    responses={**picture("image/png"), **PROBLEMS},
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
    asked_of(served, benchmark_of(served, name))
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
        attribution=wanted.attribution or way_of(asked.found),
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
