"""Maps: as numbers with the masks of regions, and as pictures."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query
from fastapi.responses import Response
from PIL import Image

from sightline.api.binary import MEDIA_TYPE, encode_map
from sightline.api.choice import AskedMap, MapWords, choose_map
from sightline.api.colours import Palette
from sightline.api.pictures import coloured, mixed, outlined, to_png
from sightline.api.problems import PROBLEMS, of_store, picture
from sightline.api.routes._at_once import answered, map_there
from sightline.api.routes._single import map_of, on_demand
from sightline.api.schemas import Choice, MapHeader, MapPlace
from sightline.api.state import Here, Served
from sightline.results.scored_map import OneMap

__all__ = ["header_of", "map_bytes", "router"]

router = APIRouter(tags=["maps"])

BINARY: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "SLM1, the length of the header (uint32, little endian), the header (JSON "
        "of MapHeader, filled up with spaces to a multiple of 4), the values (float32, little "
        "endian, row by row), a mask of bits for each region of the header (most significant bit "
        "first, each filled up to whole bytes), and one for the pixels that do not count, where "
        "the header says so.",
        "content": {MEDIA_TYPE: {"schema": {"type": "string", "format": "binary"}}},
    }
}
# Longer side of a picture unless asked for.
_SIDE = 512

ColourWord = Annotated[
    Palette | None,
    Query(description="Of the map; inferno unless given, for signed maps blue, white, red."),
]
SmoothWord = Annotated[
    bool, Query(description="Interpolate between the cells of the map; else they are shown.")
]
SizeWord = Annotated[
    int, Query(description="Pixels of the longer side.", ge=16, le=2048, examples=[512])
]
FixedWord = Annotated[
    bool, Query(description="Colours mean the same on all images; else on this one alone.")
]


def header_of(served: Served, one: OneMap, choice: Choice) -> MapHeader:
    """Return what is to be known of a map that is stored."""
    low, high = one.span
    spread = on_demand(served).dataset_span(one.key)
    return plain_header(one, choice).model_copy(
        update={}
        if spread is None
        else {"dataset_low": min(spread[0], low), "dataset_high": max(spread[1], high)}
    )


def plain_header(one: OneMap, choice: Choice) -> MapHeader:
    """Return what is to be known of any map, without the data set."""
    low, high = one.span
    rows, columns = one.values.shape
    return MapHeader(
        image=one.image,
        choice=choice,
        rows=rows,
        columns=columns,
        place=_place(one.place),
        low=low,
        high=high,
        cells=(one.cells.shape[0], one.cells.shape[1]),
        cells_place=_place(one.grid_place),
        regions=tuple(one.masks),
        ignore=one.ignore is not None,
        kept=one.kept,
        scale=one.single()[1],
    )


def _place(edges: tuple[float, float, float, float]) -> MapPlace:
    return MapPlace(**dict(zip(("x0", "y0", "x1", "y1"), edges, strict=True)))


def map_bytes(one: OneMap, header: MapHeader) -> Response:
    """Return a map as the binary answer."""
    content = encode_map(header, one.single()[0], one.masks.values(), one.ignore)
    return Response(content, media_type=MEDIA_TYPE)


@router.get(
    "/api/maps/{image_id}",
    summary="One map, as numbers",
    response_class=Response,
    responses={**BINARY, **PROBLEMS},
)
async def get_map(served: Here, image_id: str, words: MapWords) -> Response:
    """The values of a map on the raster on which the study scored it, raw and with their signs.

    With it come the masks of the regions on that raster. The scores of these values, masks and a
    rule are the stored ones.
    """
    make = partial(_map, served, image_id, words)
    return await answered(served, "map", words, make, map_there(served, image_id))


def _map(served: Served, image_id: str, words: AskedMap) -> Response:
    choice = choose_map(served, words).choice
    one = map_of(served, image_id, choice)
    return map_bytes(one, header_of(served, one, choice))


@router.get(
    "/api/maps/{image_id}/header",
    summary="What a map is, without its numbers",
    response_model=MapHeader,
    responses=PROBLEMS,
)
def get_map_header(served: Here, image_id: str, words: MapWords) -> MapHeader:
    """The size of the raster, where it lies on the image, the range of values, which regions."""
    choice = choose_map(served, words).choice
    return header_of(served, map_of(served, image_id, choice), choice)


@router.get(
    "/api/maps/{image_id}/heatmap.png",
    summary="One map in colours",
    response_class=Response,
    responses={**picture("image/png"), **PROBLEMS},
)
def get_heatmap(
    served: Here,
    image_id: str,
    words: MapWords,
    colour: ColourWord = None,
    smooth: SmoothWord = True,
    fixed: FixedWord = False,
    size: SizeWord = _SIDE,
) -> Response:
    """The map over the whole image, without the image; transparent where the model did not look."""
    one = map_of(served, image_id, choose_map(served, words).choice)
    values = _over(one, size, smooth=smooth)
    colours = coloured(values, _span(served, one, fixed=fixed), one.sign, colour)
    return Response(to_png(colours), media_type="image/png")


@router.get(
    "/api/maps/{image_id}/overlay.png",
    summary="One map in colours over its image",
    response_class=Response,
    responses={**picture("image/png"), **PROBLEMS},
)
def get_overlay(
    served: Here,
    image_id: str,
    words: MapWords,
    opacity: Annotated[
        float, Query(description="How much of the image the colours cover.", ge=0, le=1)
    ] = 0.5,
    colour: ColourWord = None,
    outline: Annotated[bool, Query(description="Draw the edges of the regions.")] = True,
    smooth: SmoothWord = True,
    fixed: FixedWord = False,
    size: SizeWord = _SIDE,
) -> Response:
    """The image with the map over it, and the edges of what people marked."""
    one = map_of(served, image_id, choose_map(served, words).choice)
    values = _over(one, size, smooth=smooth)
    colours = coloured(values, _span(served, one, fixed=fixed), one.sign, colour)
    picture = mixed(_picture(served, image_id, values.shape), colours, opacity)
    if outline:
        regions = served.annotation(image_id).scored
        picture = outlined(picture, (region.to_mask(*values.shape) for region in regions))
    return Response(to_png(picture), media_type="image/png")


def _over(one: OneMap, size: int, *, smooth: bool) -> np.ndarray[Any, np.dtype[Any]]:
    """Return a map over its image, so many pixels on its longer side."""
    width, height = one.way.source
    scale = size / max(width, height)
    shape = max(1, round(height * scale)), max(1, round(width * scale))
    return one.over_image(*shape, how="bilinear" if smooth else "nearest")


def _span(served: Served, one: OneMap, *, fixed: bool) -> tuple[float, float]:
    """Return the values of the first and the last colour."""
    spread = on_demand(served).dataset_span(one.key) if fixed else None
    return one.span if spread is None else spread


def _picture(
    served: Served, image_id: str, shape: tuple[int, ...]
) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Return the pixels of an image at a size."""
    sample = served.pictured(image_id)
    with of_store():
        picture = Image.fromarray(sample.image())
    smaller = picture.resize((shape[1], shape[0]), Image.Resampling.LANCZOS)
    return np.asarray(smaller.convert("RGB"))
