"""COCO JSON, written: what it has no word for stands in keys of ours, which others pass over.

`sightline.data.formats.coco` reads it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from sightline.core import InputError
from sightline.data.formats._written import (
    check_region,
    disc_record,
    filled,
    in_order,
    rle_record,
    said,
)
from sightline.data.formats.checks import located
from sightline.data.formats.coco import EXTRA, FLAG_KEYS, NO_PARENT
from sightline.data.formats.plain import with_labels
from sightline.data.formats.shapes import encode_rle
from sightline.data.images import image_size, inside

if TYPE_CHECKING:
    from sightline.core import Region, Taxonomy
    from sightline.data.formats._written import Json, WrittenImage
    from sightline.data.formats.checks import Size

__all__ = ["coco_content"]


def coco_content(images: list[WrittenImage], taxonomy: Taxonomy) -> Json:
    """Return what a COCO file of these images holds; sizes that are missing are read."""
    images = list(map(_sized, images))
    taxonomy = with_labels(taxonomy, (image.annotation for image in images))
    labels = (region.label for image in images for region, _ in in_order(image.annotation))
    names = dict.fromkeys((*taxonomy, *labels))
    categories = {name: number for number, name in enumerate(names, 1)}
    annotations: list[Json] = []
    for number, image in enumerate(images, 1):
        with located(f"image {image.name!r}"):
            _add_regions(annotations, image, number, categories)
    return {
        "info": {"description": "Written by Sightline"},
        "images": [_image(number, image) for number, image in enumerate(images, 1)],
        "categories": [_category(number, name, taxonomy) for name, number in categories.items()],
        "annotations": annotations,
    }


def _category(number: int, name: str, taxonomy: Taxonomy) -> Json:
    above = taxonomy.parents.get(name, ())
    record = {"id": number, "name": name, "supercategory": above[0] if above else name}
    told = len(above) < 2 and not set(above) & set(NO_PARENT)
    return record | said(parents=None if told else list(above))


def _sized(image: WrittenImage) -> WrittenImage:
    """Return an image with its size, from its file where the annotation has none."""
    with located(f"image {image.name!r}"):
        size = image.size
        if size is None and image.file is not None and image.file.is_file():
            inside(image.root or image.file.parent, str(image.file.absolute()))
            size = image_size(image.file)
        if size is None:
            raise InputError("COCO needs the width and height of every image; this one has none")
    return image._replace(annotation=replace(image.annotation, width=size[0], height=size[1]))


def _image(number: int, image: WrittenImage) -> Json:
    size = {"width": image.annotation.width, "height": image.annotation.height}
    labels = list(image.annotation.labels)
    given = said(labels=labels, split=image.split, **{EXTRA: image.given})
    return {"id": number, "file_name": image.name, **size, **given}


def _add_regions(
    annotations: list[Json], image: WrittenImage, image_number: int, categories: Mapping[str, int]
) -> None:
    size = cast("Size", image.size)
    position, before = 0, -1
    for region, dropped in in_order(image.annotation):
        with located(f"region {region.index}"):
            check_region(region, before)
            number = len(annotations) + 1
            ids = {"id": number, "image_id": image_number, "category_id": categories[region.label]}
            extra = _extra(region, dropped, number, position)
            annotations.append({**ids, **_region(region, *size), **extra})
        before, position = region.index, region.index + 1


def _region(region: Region, width: int, height: int) -> Json:
    x0, y0, x1, y1 = map(float, region.box)
    marks = {key: int(flag in region.flags) for key, flag in FLAG_KEYS.items()}
    optional = {key: mark for key, mark in marks.items() if mark or key == "iscrowd"}
    box = [x0 * width, y0 * height, (x1 - x0) * width, (y1 - y0) * height]
    record = {"bbox": box, "area": box[2] * box[3], "segmentation": []}
    if region.kind == "polygon":
        record |= _polygons(region, width, height)
    elif region.kind != "box":
        record |= _mask(region, width, height)
    return record | optional | filled(score=region.score)


def _polygons(region: Region, width: int, height: int) -> Json:
    from pycocotools import mask as coco

    # 9 digits: COCO rounds down at tenths of pixels, where 3.5 / W * W may come back as 3.4999….
    parts = [
        [round(float(value) * (width, height)[i % 2], 9) for i, value in enumerate(part)]
        for part in cast("tuple[tuple[float, ...], ...]", region.mask)
    ]
    drawn = coco.merge(coco.frPyObjects(parts, height, width))
    return {"segmentation": parts, "area": int(coco.area(drawn))}


def _mask(region: Region, width: int, height: int) -> Json:
    """Return a mask, or the disc of a point, at the size of the image."""
    from pycocotools import mask as coco

    drawn = encode_rle(region.to_mask(height, width))
    fits = isinstance(region.mask, Mapping) and list(region.mask["size"]) == [height, width]
    box, area = coco.toBbox(drawn).tolist(), int(coco.area(drawn))
    return {"segmentation": rle_record(region) if fits else drawn, "bbox": box, "area": area}


def _extra(region: Region, dropped: bool, number: int, position: int) -> Json:
    """Return what COCO has no word for: other flags, and where the region comes from."""
    known = [flag for flag in FLAG_KEYS.values() if flag in region.flags]
    extra = said(
        flags=list(region.flags) if list(region.flags) != known else None,
        dropped=dropped,
        disc=disc_record(region) if region.kind == "point" else None,
    ) | filled(
        source=None if region.source == str(number) else region.source,
        index=None if region.index == position else region.index,
    )
    return {EXTRA: extra} if extra else {}
