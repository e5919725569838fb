"""Plain JSON, written: it keeps everything. `sightline.data.formats.plain` reads it again."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from sightline.data.formats._written import (
    check_region,
    disc_record,
    filled,
    in_order,
    rle_record,
    said,
)
from sightline.data.formats.checks import located
from sightline.data.formats.plain import FORMAT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sightline.core import Region, Taxonomy
    from sightline.data.formats._written import Json, WrittenImage

__all__ = ["plain_content", "region_record"]


def plain_content(images: Iterable[WrittenImage], taxonomy: Taxonomy) -> Json:
    """Return what a plain file of these images holds."""
    labels = {name: list(above) for name, above in taxonomy.parents.items()}
    return {
        "format": FORMAT,
        "version": 1,
        "units": "normalised",
        "exact": True,
        **({"labels": labels} if labels else {}),
        "images": [_image(image) for image in images],
    }


def _image(image: WrittenImage) -> Json:
    annotation = image.annotation
    record: Json = {"image": image.name, **image.given}
    with located(f"image {image.name!r}"):
        if image.size is not None:
            record |= dict(zip(("width", "height"), image.size, strict=True))
    record |= said(labels=list(annotation.labels), split=image.split)
    record["regions"] = regions = []
    position, before = 0, -1
    for region, dropped in in_order(annotation):
        with located(f"image {image.name!r}: region {region.index}"):
            check_region(region, before)
            number = None if region.index == position else region.index
            regions.append(_region(region, dropped, number))
        before, position = region.index, region.index + 1
    return record


def _region(region: Region, dropped: bool, number: int | None) -> Json:
    record = {"label": region.label, **_shape(region)}
    record |= said(flags=list(region.flags), source=region.source, dropped=dropped)
    return record | filled(score=region.score, index=number)


def region_record(region: Region) -> Json:
    """Return a region as JSON has it, with exact coordinates; `read_region` reads it again.

    Examples
    --------
    >>> from sightline.core import Region
    >>> region_record(Region("window", box=(0.25, 0, 0.5, 1), score=0.9))
    {'label': 'window', 'box': [0.25, 0.0, 0.5, 1.0], 'score': 0.9}
    """
    check_region(region, -1)
    return _region(region, False, None)


def _shape(region: Region) -> Json:
    if region.kind == "point":
        return {"disc": disc_record(region)}
    if region.kind == "mask":
        return {"rle": rle_record(region)}
    if region.kind == "box":
        return {"box": list(map(float, region.box))}
    parts = cast("tuple[tuple[float, ...], ...]", region.mask)
    points = [[list(point) for point in zip(part[::2], part[1::2], strict=True)] for part in parts]
    return {"polygon": points[0]} if len(points) == 1 else {"polygons": points}
