"""The images: pages of them, one with its regions, and their pictures."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Response
from PIL import Image as Picture

from sightline.api.choice import Chosen, TableWords, check_ties, choose_line, read_words
from sightline.api.outlines import outline_of
from sightline.api.problems import PROBLEMS, Refusal, naming, of_store, picture, wrong
from sightline.api.routes.system import ancestors
from sightline.api.schemas import ImageDetail, ImagePage, ImageSummary, Prediction, RegionInfo, Warn
from sightline.api.state import Here, Image, Served
from sightline.core import Sample
from sightline.core.regions import Region as Marked
from sightline.data.dataset import header_size
from sightline.results._views import Name
from sightline.results.images import COLUMNS, scores_of_images
from sightline.results.leaderboard import so_far

__all__ = ["router"]

router = APIRouter(tags=["images"])

# Fields that an image has in lists and alone.
_FACTS = ("image", "labels", "split", "width", "height", "area")
# Below this, a part of the annotated area was cut off.
_WHOLE = 1 - 1e-6
_LOST = ("outside", "hidden")
_SHOWN_BY_BROWSERS = {"JPEG": "image/jpeg", "PNG": "image/png", "WEBP": "image/webp"}
_ORIENTATION = 0x0112


@dataclass(frozen=True, slots=True)
class _Asked:
    """Which images are wanted, and in which order."""

    sort: Annotated[
        str | None,
        Query(
            description="A stored score, or image, area, regions, split; the score that stands "
            "beside the images unless given. Undefined ones come last.",
            max_length=100,
            examples=["iou@90"],
        ),
    ] = None
    ascending: Annotated[bool, Query(description="Smallest first.")] = False
    label: Annotated[
        str | None,
        Query(
            description="Only images with a region of this label, or of one below it.",
            max_length=500,
        ),
    ] = None
    style: Annotated[
        str | None, Query(description="Only images that have this label.", max_length=500)
    ] = None
    split: Annotated[
        str | None, Query(description="Only images of this part of the data.", max_length=200)
    ] = None
    text: Annotated[
        str | None,
        Query(description="Only images with this in their id or labels.", max_length=200),
    ] = None
    ids: Annotated[
        str | None,
        Query(description="Only these images: ids, separated by commas.", max_length=50_000),
    ] = None
    warning: Annotated[Warn | None, Query(description="Only images with this warning.")] = None
    limit: Annotated[int, Query(ge=1, le=500, description="How many at most.")] = 60
    offset: Annotated[int, Query(ge=0, le=10**9, description="How many to leave out.")] = 0


_Filters = Annotated[_Asked, Depends(read_words(_Asked))]


@dataclass(frozen=True, slots=True)
class _Scored:
    """The score of an image, and what must be known of it."""

    value: float | None
    chance: float | None
    ceiling: float | None
    visible: float | None
    warnings: tuple[Warn, ...]


_NOTHING = _Scored(None, None, None, None, ())


@router.get("/api/images", response_model=ImagePage, summary="A page of images", responses=PROBLEMS)
def images(served: Here, words: TableWords, asked: _Filters) -> ImagePage:
    """List images, filtered and sorted, with the score of one choice of maps beside each.

    `metric` says which score, and by which a choice is made where words are left out; `sort` may
    be another.
    """
    check_ties(served, words)
    chosen = choose_line(served, words)
    scored = _scored(served, chosen.name, chosen)
    wanted, notes = _filtered(served, asked, scored)
    by = _order(served, asked.sort, chosen)
    ordered = sorted(wanted, key=lambda one: one.image)
    ordered.sort(key=lambda one: _key(by(one), ascending=asked.ascending))
    shown = ordered[asked.offset : asked.offset + asked.limit]
    about = f"{chosen.name} of each image: {chosen.line.told()}"
    return ImagePage(
        total=len(ordered),
        offset=asked.offset,
        limit=asked.limit,
        sort=asked.sort or str(chosen.name),
        ascending=asked.ascending,
        metric=str(chosen.name),
        choice=chosen.choice,
        note="; ".join(text for text in (about, *notes, so_far(served.tables)) if text),
        items=tuple(_summary(one, scored.get(one.image, _NOTHING)) for one in shown),
    )


def _key(value: Any, *, ascending: bool) -> tuple[bool, Any]:
    """Return by what to sort: what has no value comes last, whatever the direction."""
    if value is None:
        return True, 0
    if isinstance(value, str):
        return False, value if ascending else (*(-ord(letter) for letter in value), 0)
    return False, value if ascending else -value


def _order(served: Served, sort: str | None, chosen: Chosen) -> Callable[[Image], Any]:
    """Return what images are sorted by."""
    if sort in COLUMNS:
        column: str = sort or ""
        return lambda one: getattr(one, column)
    with naming("sort"):
        name = chosen.name if sort is None else served.name(sort)
    scored = _scored(served, name, chosen)
    return lambda one: scored.get(one.image, _NOTHING).value


def _scored(served: Served, name: Name, chosen: Chosen) -> Mapping[str, _Scored]:
    """Return the scores of the images by one metric."""
    return served.kept(("scored", name, chosen.line), lambda: _read_scores(served, name, chosen))


def _read_scores(served: Served, name: Name, chosen: Chosen) -> dict[str, _Scored]:
    frame = scores_of_images(served.tables, name, chosen.line)
    found = {}
    for image, *numbers in frame.itertuples(index=False, name=None):
        value, chance, ceiling, visible = (_number(one) for one in numbers)
        warnings = tuple(_warnings(served, image, value, visible))
        found[image] = _Scored(value, chance, ceiling, visible, warnings)
    return found


def _number(value: Any) -> float | None:
    return None if value is None or value != value else float(value)


def _warnings(
    served: Served, image: str, value: float | None, visible: float | None
) -> Iterable[Warn]:
    if visible is not None and visible < _WHOLE:
        yield "cropped"
    if value is None:
        yield "undefined"
    if any(one.dropped in _LOST for one in served.regions.get(image, ())):
        yield "dropped"
    if not served.images[image].regions:
        yield "no regions"


# --- filters -------------------------------------------------------------------------------------


def _filtered(
    served: Served, asked: _Asked, scored: Mapping[str, _Scored]
) -> tuple[list[Image], list[str]]:
    """Return the images that pass the filters, and what must be said of them."""
    notes: list[str] = []
    found = list(served.images.values())
    if asked.ids is not None:
        wanted = {one.strip() for one in asked.ids.split(",") if one.strip()}
        found = [one for one in found if one.image in wanted]
        if len(found) < len(wanted):
            notes.append(f"{len(wanted) - len(found)} of the ids are not in this study")
    if asked.label is not None:
        having = _with_label(served, asked.label)
        found = [one for one in found if one.image in having]
    if asked.style is not None:
        _check(
            asked.style, {name for one in served.images.values() for name in one.labels}, "style"
        )
        found = [one for one in found if asked.style in one.labels]
    if asked.split is not None:
        _check(asked.split, {one.split for one in served.images.values()}, "split")
        found = [one for one in found if one.split == asked.split]
    if asked.text:
        part = asked.text.casefold()
        found = [one for one in found if part in " ".join((one.image, *one.labels)).casefold()]
    if asked.warning is not None:
        warning = asked.warning
        found = [one for one in found if warning in scored.get(one.image, _NOTHING).warnings]
    return found, notes


def _with_label(served: Served, label: str) -> frozenset[str]:
    """Return the images with a scored region of a label, or of one below it."""
    by_label = served.kept("images by label", lambda: _by_label(served))
    _check(label, set(by_label), "label")
    return by_label[label]


def _by_label(served: Served) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for image, regions in served.regions.items():
        for one in regions:
            if not one.dropped:
                for label in (one.label, *ancestors(served, one.label)):
                    found.setdefault(label, set()).add(image)
    return {label: frozenset(images) for label, images in found.items()}


def _check(value: str, known: set[str], field: str) -> None:
    from difflib import get_close_matches

    if value not in known:
        close = get_close_matches(value, known, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else "."
        shown = ", ".join(sorted(known)[:12]) or "none"
        raise wrong(f"no {field} {value!r} is stored{hint} Stored: {shown}", field)


def _facts(one: Image) -> dict[str, Any]:
    """Return what is told of an image in lists and alone."""
    return {name: getattr(one, name) for name in _FACTS}


def _summary(one: Image, scored: _Scored) -> ImageSummary:
    return ImageSummary(
        **_facts(one),
        regions=one.regions,
        value=scored.value,
        chance=scored.chance,
        ceiling=scored.ceiling,
        visible=scored.visible,
        warnings=scored.warnings,
    )


# --- one image -----------------------------------------------------------------------------------


@router.get(
    "/api/images/{image_id}",
    response_model=ImageDetail,
    summary="An image with its regions",
    responses=PROBLEMS,
)
def image_detail(image_id: str, served: Here) -> ImageDetail:
    """Tell what is annotated on an image, and what the study's classifiers say of it."""
    one = served.image(image_id)
    return ImageDetail(
        **_facts(one),
        regions=tuple(_regions(served, one)),
        predictions=served.kept("predictions", lambda: _predictions(served)).get(image_id, ()),
    )


def _regions(served: Served, image: Image) -> Iterable[RegionInfo]:
    marked = _marked(served, image.image)
    for one in served.regions.get(image.image, ()):
        region = marked.get(one.region)
        yield RegionInfo(
            index=one.region,
            label=one.label,
            ancestors=ancestors(served, one.label),
            kind="" if region is None else region.kind,
            box=one.box,
            outline=() if region is None else outline_of(region, image.width, image.height),
            area=_number(one.area),
            dropped=one.dropped,
            ignore=one.dropped == "ignored",
        )


def _marked(served: Served, image_id: str) -> dict[int, Marked]:
    """Return the regions as they were marked; none where the data are no longer there."""
    try:
        annotation = served.annotation(image_id)
    except Refusal as refusal:
        if refusal.status != 409:
            raise
        return {}
    return {one.index: one for one in (*annotation.regions, *annotation.dropped)}


def _predictions(served: Served) -> dict[str, tuple[Prediction, ...]]:
    from sightline.results import stored_predictions

    if not served.tables.tasks:
        return {}
    with of_store():
        frame = stored_predictions(served.results)
    found: dict[str, list[Prediction]] = {}
    for row in [] if frame is None else frame.to_dict("records"):
        right = row["correct"]
        one = Prediction(
            model=row["model"],
            predicted=row["predicted"],
            probability=_number(row["probability"]),
            label=row["label"],
            correct=None if right is None or right is not right or right != right else bool(right),
        )
        found.setdefault(row["image"], []).append(one)
    return {image: tuple(some) for image, some in found.items()}


# --- pictures ------------------------------------------------------------------------------------


@router.get(
    "/api/images/{image_id}/file",
    response_class=Response,
    summary="The picture of an image",
    responses={**picture(*_SHOWN_BY_BROWSERS.values()), **PROBLEMS},
)
def image_file(image_id: str, served: Here) -> Response:
    """Send an image as browsers show it: its file, or a PNG of what is drawn or of other kinds."""
    sample = served.pictured(image_id)
    with of_store():
        kind = _kind(served, sample)
        if kind is not None and sample.path is not None:
            return Response(sample.path.read_bytes(), media_type=kind)
        return _encoded(Picture.fromarray(sample.image()), "PNG")


@router.get(
    "/api/images/{image_id}/thumbnail",
    response_class=Response,
    summary="A small picture of an image",
    responses={**picture("image/jpeg"), **PROBLEMS},
)
def image_thumbnail(
    image_id: str,
    served: Here,
    size: Annotated[
        int, Query(ge=16, le=1024, description="Pixels of the longer side, at most.")
    ] = 256,
) -> Response:
    """Send an image with fewer pixels, as a JPEG."""
    sample = served.pictured(image_id)
    with of_store():
        picture = Picture.fromarray(sample.image())
        picture.thumbnail((size, size), Picture.Resampling.LANCZOS, reducing_gap=2.0)
        return _encoded(picture, "JPEG")


def _kind(served: Served, sample: Sample) -> str | None:
    """Return the media type of a file that browsers show as it is; None of others."""
    if sample.path is None:
        return None
    header_size(sample, served.dataset.root)  # also checks that it lies where it should
    with Picture.open(sample.path) as picture:
        turned = picture.getexif().get(_ORIENTATION, 1) != 1
        plain = picture.mode in ("RGB", "L", "P", "1", "RGBA", "LA")
        return None if turned or not plain else _SHOWN_BY_BROWSERS.get(picture.format or "")


def _encoded(picture: Picture.Image, kind: Literal["PNG", "JPEG"]) -> Response:
    content = io.BytesIO()
    if kind == "JPEG":
        picture.convert("RGB").save(content, kind, quality=88)
    else:
        picture.save(content, kind, compress_level=3)
    return Response(content.getvalue(), media_type=_SHOWN_BY_BROWSERS[kind])
