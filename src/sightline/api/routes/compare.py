"""Two models, variants, methods or layers: image by image, and as a map of what moved."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import pandas as pd
from fastapi import APIRouter, Path, Query
from fastapi.responses import Response

from sightline.api.choice import AskedMap, AskedTable, MapWords, TableWords, choose_map, find_where
from sightline.api.problems import PROBLEMS, naming, of_store, wrong
from sightline.api.routes import _frames as frames
from sightline.api.routes._cells import layer_of, read_note, records
from sightline.api.routes._single import map_of
from sightline.api.routes._table_cache import keep
from sightline.api.routes.maps import BINARY, map_bytes, plain_header
from sightline.api.schemas import Choice, Comparison, ComparisonLine, Shift
from sightline.api.state import Here, Served
from sightline.core.choices import By
from sightline.results._catalogue import BASELINE
from sightline.results.map_shifts import Scale, map_shift

__all__ = ["router"]

router = APIRouter(tags=["compare"])

SideWord = Annotated[
    str,
    Query(
        description="A model (or variant), a method, or the number of a layer.",
        min_length=1,
        max_length=200,
        examples=["demo/vit"],
    ),
]
ByWord = Annotated[By, Query(description="What a and b are.")]
ScaleWord = Annotated[
    Scale,
    Query(description="raw: values as they are; share: each divided by the sum of its map."),
]


@router.get(
    "/api/compare",
    response_model=Comparison,
    responses=PROBLEMS,
    summary="Two models, variants, methods or layers, image by image",
    description="A line for each method (or model) that a and b have in common, those that are no "
    "baselines first: mean difference a − b with its 95% interval, p by sign-flip test, also "
    "corrected by Holm for all lines, and a sentence that says what it means. `images` has how far "
    "each image moved from a to b, by the first line.",
)
def compare(
    served: Here, words: TableWords, a: SideWord, b: SideWord, by: ByWord = "model"
) -> Comparison:
    """Compare two models, methods or layers."""
    words = frames.asked(served, words)
    sides = _sides(served, words, by, a, b)
    frame = _compared(served, words, by, sides)
    order = _plain_first(served, frame)
    lines = [_line(frame, place) for place in order]
    return Comparison(
        by=by,
        metric=frame.attrs["metric"],
        summary=" ".join(frame.attrs["summary"]),
        best_baseline=frame.attrs["best_baseline"],
        lines=tuple(lines),
        images=_shifts(served, words, by, lines[0]),
        **read_note(frame),
    )


def _sides(served: Served, words: AskedTable | AskedMap, by: By, a: str, b: str) -> tuple[Any, Any]:
    """Check what is compared; layers become numbers."""
    if getattr(words, by) is not None:
        raise wrong(f"{by} is what is compared (by={by}): it cannot be given as well", by)
    found: list[Any] = []
    for field, text in (("a", a), ("b", b)):
        if by == "layer" and not text.isdecimal():
            raise wrong(
                f"{field} must be the number of a layer where by is layer; got {text!r}", field
            )
        side: Any = int(text) if by == "layer" else text
        with naming(field):
            served.tables.catalogue.where(**{by: side})
        found.append(side)
    if found[0] == found[1]:
        raise wrong(f"a and b must differ; both are {a!r}", "b")
    return found[0], found[1]


def _compared(served: Served, words: AskedTable, by: By, sides: tuple[Any, Any]) -> pd.DataFrame:
    with naming("metric"):
        name = served.name(words.metric)
    find_where(served, words, words.layer)
    given = {
        field: getattr(words, field)
        for field in ("model", "method", "target", "head", "seed")
        if field != by
    }
    layer = "best" if words.layer is None else words.layer
    key = ("compare", name, words, by, sides)
    with naming("b"):
        return keep(
            served,
            key,
            lambda: served.results.compare(*sides, str(name), by=by, layer=layer, **given),
        )


def _plain_first(served: Served, frame: pd.DataFrame) -> list[int]:
    """Return the lines in order, those of baselines last."""
    group = served.tables.catalogue.group
    by = frame.attrs["by"]

    def grey(place: int) -> bool:
        line = frame.iloc[place]
        sides = ({**line[["model", "method"]], by: line[side]} for side in ("a", "b"))
        return all(group(side["model"], side["method"]) == BASELINE for side in sides)

    return sorted(range(len(frame)), key=lambda place: (grey(place), place))


def _line(frame: pd.DataFrame, place: int) -> ComparisonLine:
    (line,) = records(frame.iloc[[place]])
    fields = {name: line[name] for name in ComparisonLine.model_fields if name in line}
    layers = {name: layer_of(line[name]) for name in ("layer_a", "layer_b")}
    return ComparisonLine(**fields | layers, sentence=frame.attrs["sentences"][place])


def _shifts(served: Served, words: AskedTable, by: By, line: ComparisonLine) -> tuple[Shift, ...]:
    """Return how far each image moved, the farthest first; undefined ones last."""
    first, second = (_images(served, words, by, line, side) for side in ("a", "b"))
    both = first.merge(second, on="image", how="outer", suffixes=("_a", "_b"))
    both["shift"] = both["value_b"] - both["value_a"]
    far = both["shift"].abs().sort_values(ascending=False, kind="stable", na_position="last")
    lines = records(both.loc[far.index])
    return tuple(
        Shift(image=one["image"], a=one["value_a"], b=one["value_b"], shift=one["shift"])
        for one in lines
    )


def _images(
    served: Served, words: AskedTable, by: By, line: ComparisonLine, side: str
) -> pd.DataFrame:
    """Return the scores of images on one side of a line."""
    layer: Any = getattr(line, f"layer_{side}")
    own = {"model": line.model, "method": line.method}
    if by != "layer":
        own[by] = getattr(line, side)
    given: dict[str, Any] = {
        **own,
        "layer": "split" if isinstance(layer, str) else layer,
        "target": line.target or None,
        "head": words.head,
        "seed": words.seed,
    }
    metric = words.metric or str(served.name(None))
    frame = keep(
        served,
        ("side", metric, tuple(given.items())),
        lambda: served.results.images(metric, **given),
    )
    return frame[["image", "value"]].sort_values("image")


# --- maps ----------------------------------------------------------------------------------------


@router.get(
    "/api/compare/{image_id}/shift",
    summary="What b has more than a on one image, as a map",
    description="The difference of two maps as they are scored, b − a, in the binary form of "
    "/api/maps/{image_id}; positive where b has more. Both must lie on one raster. Where `layer` "
    "is left out, each side has the layer that is best for it.",
    response_class=Response,
    responses={**BINARY, **PROBLEMS},
)
def compare_shift(
    served: Here,
    image_id: Annotated[str, Path(max_length=500, examples=["facade-00000.png"])],
    words: MapWords,
    a: SideWord,
    b: SideWord,
    by: ByWord = "model",
    scale: ScaleWord = "raw",
) -> Response:
    """Return the difference of two maps."""
    served.image(image_id)
    first, second = _choices(served, words, by, _sides(served, words, by, a, b))
    maps = map_of(served, image_id, first), map_of(served, image_id, second)
    with of_store():
        shift = map_shift(*maps, scale)
    why = f"{maps[1].key.told()} − {maps[0].key.told()}" + (
        ", as shares of their sums" if scale == "share" else ""
    )
    choice = second.model_copy(update={"sign": "signed", "why": why})
    return map_bytes(shift, plain_header(shift, choice))


def _choices(
    served: Served, words: AskedMap, by: By, sides: tuple[Any, Any]
) -> tuple[Choice, Choice]:
    """Return both choices: what a was given without being asked for, b is given too."""
    with naming("a"):
        first = choose_map(served, replace(words, **{by: sides[0]})).choice
    common = {
        "model": first.model, "method": first.method, "target": first.target or None,
    }  # fmt: skip
    if by == "method":
        common["target"] = words.target
    asked: dict[str, Any] = {name: value for name, value in common.items() if name != by}
    second = replace(words, **asked, **{by: sides[1]})
    with naming("b"):
        return first, choose_map(served, second).choice
