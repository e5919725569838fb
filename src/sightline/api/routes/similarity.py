"""Similarity of patches to a region: computed by a model of the study."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body
from fastapi.responses import Response

from sightline.api.problems import PROBLEMS, SENT, Refusal, naming, of_store, wrong
from sightline.api.routes.maps import BINARY, map_bytes, plain_header
from sightline.api.schemas import Choice, SimilarityAsked
from sightline.api.state import Here, Served
from sightline.core import Region
from sightline.results.region_similarity import Alike, box_region

__all__ = ["router"]

router = APIRouter(tags=["maps"])

_EXAMPLES = [{"box": [0.2, 0.2, 0.4, 0.5]}, {"region": 0, "model": "demo/vit", "layer": 11}]


def _alike(served: Served) -> Alike:
    return served.kept("alike", lambda: Alike(served.scenes))


@router.post(
    "/api/similarity/{image_id}",
    summary="How similar patches are to a region",
    response_class=Response,
    responses={**BINARY, **PROBLEMS, **SENT},
)
def similarity(
    served: Here, image_id: str, asked: Annotated[SimilarityAsked, Body(examples=_EXAMPLES)]
) -> Response:
    """The cosine of each patch's feature with the mean feature of a region, from -1 to 1.

    The answer is like that of /api/maps/{image_id}: on the same raster, with the same masks.
    Without a model, the first of the study is asked; without a layer, the features at its end are
    compared.
    """
    region = _region(served, image_id, asked)
    alike = _alike(served)
    if not alike.models:
        raise Refusal(409, "maps of this study were made elsewhere: no model of it can be asked")
    model = alike.models[0] if asked.model is None else asked.model
    if model not in alike.models:
        raise wrong(f"model: one of {', '.join(alike.models)}; got {model!r}", "model")
    served.pictured(image_id)
    with of_store():
        loaded = alike.load(model)
    if asked.layer is not None:
        with naming("layer"):
            loaded.layer_indices(asked.layer)
    with naming("box" if asked.region is None else "region"):
        one = alike.map(image_id, region, model, asked.layer)
    chosen = tuple(name for name in ("model", "layer") if getattr(asked, name) is None)
    choice = Choice(
        model=model,
        method="similarity",
        layer=one.key.layer,
        sign="signed",
        chosen=chosen,
        why="the features at the end of the network" if asked.layer is None else "",
    )
    return map_bytes(one, plain_header(one, choice))


def _region(served: Served, image_id: str, asked: SimilarityAsked) -> Region:
    """Return the region that is asked for, by its index or as a box."""
    served.image(image_id)
    if (asked.box is None) == (asked.region is None):
        raise wrong("box: give a box or the index of a region, and not both", "box")
    if asked.box is not None:
        with naming("box"):
            return box_region(asked.box)
    served.region(image_id, asked.region or 0, "region")
    every = served.annotation(image_id).regions
    return next(one for one in every if one.index == asked.region)
