"""Annotations to files: plain JSON, which keeps everything, and COCO JSON, which others read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, cast

import numpy as np

from sightline import _raster
from sightline.data.dataset import Dataset
from sightline.data.formats.checks import check_flags, located, pixel_size, show
from sightline.data.formats.coco import EXTRA, FLAG_KEYS, NO_PARENT
from sightline.data.formats.plain import FORMAT, with_labels
from sightline.data.formats.shapes import encode_rle
from sightline.data.images import image_size, inside
from sightline.data.outputs import check_output, replacing
from sightline.data.readers._image_files import leaves
from sightline.records import InputError, Taxonomy, to_image_id

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from sightline.data.formats.checks import Size
    from sightline.records import Annotation, Region, Sample

__all__ = ["region_record", "write_annotations"]

_Json: TypeAlias = dict[str, Any]


class _Image(NamedTuple):
    annotation: Annotation
    name: str
    split: str = ""
    file: Path | None = None
    root: Path | None = None

    @property
    def given(self) -> _Json:
        """Its id, where the name does not say it."""
        image_id = self.annotation.image_id
        return {} if to_image_id(self.name) == image_id else {"id": image_id}

    @property
    def size(self) -> Size | None:
        return pixel_size({"width": self.annotation.width, "height": self.annotation.height})


def write_annotations(
    annotations: Dataset | Mapping[str, Annotation],
    path: str | os.PathLike[str],
    *,
    format: Literal["plain", "coco"] = "plain",  # noqa: A002  # the word for it
    taxonomy: Taxonomy | None = None,
    extra: Mapping[str, Any] | None = None,
) -> None:
    """Write annotations as JSON that `read_annotations` and `load_dataset` read again.

    Plain JSON gives back every region as it is. COCO has boxes and polygons in pixels (the same to
    1e-9 of the image), masks at the size of the image, and points drawn as discs; what it has no
    word for stands in keys of ours, which other programs pass over.

    Parameters
    ----------
    annotations : Dataset or mapping of str to Annotation
        A data set brings its taxonomy, its splits and its files along, named relative to its
        folder.
    path : path
        The .json file; one of that name is replaced in one step.
    format : {"plain", "coco"}
        Which of the two.
    taxonomy : Taxonomy, optional
        The labels with those above them, instead of the data set's.
    extra : mapping, optional
        More keys of the file, which readers pass over: where the regions come from.

    Raises
    ------
    InputError
        If the file cannot be written there, two annotations have one image id, an image has no
        size nor file and the format is COCO, or a region could not be read again.
    """
    path = check_output(path, "a file of annotations", (".json",))
    if format not in _FORMATS:
        raise InputError(f"format must be one of {', '.join(_FORMATS)}, got {format!r}")
    if isinstance(annotations, Dataset):
        taxonomy = annotations.taxonomy if taxonomy is None else taxonomy
        root = annotations.root
        images = [_Image(s.annotation, _name(s, root), s.split, s.path, root) for s in annotations]
    else:
        images = [_Image(annotation, annotation.image_id) for annotation in annotations.values()]
    with located(str(path)):
        _check_ids(images)
        content = _FORMATS[format](images, taxonomy or Taxonomy())
        if taken := sorted(content.keys() & (extra or {})):
            raise InputError(f"extra keys must be others than the file's own, got {taken[0]!r}")
        text = _dump(content | dict(extra or {}))
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8")


def _name(sample: Sample, root: Path | None) -> str:
    """Return the path of an image in its data set; its id where a reader could not take that."""
    if sample.path is None or root is None or not sample.path.is_relative_to(root):
        return sample.image_id
    name = sample.path.relative_to(root).as_posix()
    try:
        to_image_id(name)
    except InputError:  # too long
        return sample.image_id
    return sample.image_id if leaves(name) else name


def _check_ids(images: Iterable[_Image]) -> None:
    seen: set[str] = set()
    for image in images:
        if image.annotation.image_id in seen:
            raise InputError(f"two annotations have the image_id {image.annotation.image_id!r}")
        seen.add(image.annotation.image_id)


def _dump(content: _Json) -> str:
    """Return JSON with one record a line, so that a change of one shows as one."""
    entries = []
    for key, value in content.items():
        text = _json(value)
        if isinstance(value, list) and value:
            lines = ",\n".join(map(_json, value))
            text = f"[\n{lines}\n]"
        entries.append(f"{json.dumps(key)}: {text}")
    return "{\n" + ",\n".join(entries) + "\n}\n"


def _json(value: Any) -> str:
    return json.dumps(value, allow_nan=False, default=_as_number)


def _as_number(value: Any) -> Any:
    """Return a number of numpy as one of Python."""
    if isinstance(value, np.generic):
        return value.item()
    raise InputError(f"{type(value).__name__} cannot be written: {show(value)}")


def _in_order(annotation: Annotation) -> list[tuple[Region, bool]]:
    """Return the regions as they were numbered, and whether each is dropped."""
    both = chain(annotation.regions, annotation.dropped)
    ordered = sorted(both, key=attrgetter("index"))
    dropped = set(map(id, annotation.dropped))
    return [(region, id(region) in dropped) for region in ordered]


def _check_region(region: Region, before: int) -> None:
    check_flags(list(region.flags))
    if region.index <= before:
        raise InputError("another region has this number; each needs an index of its own")
    if region.kind == "polygon":
        for part in cast("tuple[tuple[float, ...], ...]", region.mask):
            _raster.polygon_points(part)


# --- plain ---------------------------------------------------------------------------------------


def _plain(images: Iterable[_Image], taxonomy: Taxonomy) -> _Json:
    labels = {name: list(above) for name, above in taxonomy.parents.items()}
    return {
        "format": FORMAT,
        "version": 1,
        "units": "normalised",
        "exact": True,
        **({"labels": labels} if labels else {}),
        "images": [_plain_image(image) for image in images],
    }


def _plain_image(image: _Image) -> _Json:
    annotation = image.annotation
    record: _Json = {"image": image.name, **image.given}
    with located(f"image {image.name!r}"):
        if image.size is not None:
            record |= dict(zip(("width", "height"), image.size, strict=True))
    record |= _given(labels=list(annotation.labels), split=image.split)
    record["regions"] = regions = []
    position, before = 0, -1
    for region, dropped in _in_order(annotation):
        with located(f"image {image.name!r}: region {region.index}"):
            _check_region(region, before)
            number = None if region.index == position else region.index
            regions.append(_plain_region(region, dropped, number))
        before, position = region.index, region.index + 1
    return record


def _plain_region(region: Region, dropped: bool, number: int | None) -> _Json:
    record = {"label": region.label, **_plain_shape(region)}
    record |= _given(flags=list(region.flags), source=region.source, dropped=dropped)
    return record | _present(score=region.score, index=number)


def region_record(region: Region) -> _Json:
    """Return a region as JSON has it, with exact coordinates; `read_region` reads it again.

    Examples
    --------
    >>> from sightline.records import Region
    >>> region_record(Region("window", box=(0.25, 0, 0.5, 1), score=0.9))
    {'label': 'window', 'box': [0.25, 0.0, 0.5, 1.0], 'score': 0.9}
    """
    _check_region(region, -1)
    return _plain_region(region, False, None)


def _plain_shape(region: Region) -> _Json:
    if region.kind == "point":
        return {"disc": _disc(region)}
    if region.kind == "mask":
        return {"rle": _rle(region)}
    if region.kind == "box":
        return {"box": list(map(float, region.box))}
    parts = cast("tuple[tuple[float, ...], ...]", region.mask)
    points = [[list(point) for point in zip(part[::2], part[1::2], strict=True)] for part in parts]
    return {"polygon": points[0]} if len(points) == 1 else {"polygons": points}


def _disc(region: Region) -> _Json:
    return {"box": list(map(float, region.box)), "radius": float(region.radius)}


def _rle(region: Region) -> _Json:
    """Return a mask as run lengths; those it has already stay as they are."""
    if not isinstance(region.mask, Mapping):
        return encode_rle(cast("Any", region.mask))
    counts = region.mask["counts"]
    plain = counts.decode("ascii") if isinstance(counts, bytes) else counts
    return {"size": [int(side) for side in region.mask["size"]], "counts": plain}


def _given(**values: Any) -> _Json:
    """Return the entries that say something."""
    return {key: value for key, value in values.items() if value}


def _present(**values: Any) -> _Json:
    """Return the entries that are not None."""
    return {key: value for key, value in values.items() if value is not None}


# --- COCO ----------------------------------------------------------------------------------------


def _coco(images: list[_Image], taxonomy: Taxonomy) -> _Json:
    images = list(map(_sized, images))
    taxonomy = with_labels(taxonomy, (image.annotation for image in images))
    labels = (region.label for image in images for region, _ in _in_order(image.annotation))
    names = dict.fromkeys((*taxonomy, *labels))
    categories = {name: number for number, name in enumerate(names, 1)}
    annotations: list[_Json] = []
    for number, image in enumerate(images, 1):
        with located(f"image {image.name!r}"):
            _add_regions(annotations, image, number, categories)
    return {
        "info": {"description": "Written by Sightline"},
        "images": [_coco_image(number, image) for number, image in enumerate(images, 1)],
        "categories": [
            _coco_category(number, name, taxonomy) for name, number in categories.items()
        ],
        "annotations": annotations,
    }


def _coco_category(number: int, name: str, taxonomy: Taxonomy) -> _Json:
    above = taxonomy.parents.get(name, ())
    record = {"id": number, "name": name, "supercategory": above[0] if above else name}
    told = len(above) < 2 and not set(above) & set(NO_PARENT)
    return record | _given(parents=None if told else list(above))


def _sized(image: _Image) -> _Image:
    """Return an image with its size, from its file where the annotation has none."""
    with located(f"image {image.name!r}"):
        size = image.size
        if size is None and image.file is not None and image.file.is_file():
            inside(image.root or image.file.parent, str(image.file.absolute()))
            size = image_size(image.file)
        if size is None:
            raise InputError("COCO needs the width and height of every image; this one has none")
    return image._replace(annotation=replace(image.annotation, width=size[0], height=size[1]))


def _coco_image(number: int, image: _Image) -> _Json:
    size = {"width": image.annotation.width, "height": image.annotation.height}
    labels = list(image.annotation.labels)
    given = _given(labels=labels, split=image.split, **{EXTRA: image.given})
    return {"id": number, "file_name": image.name, **size, **given}


def _add_regions(
    annotations: list[_Json], image: _Image, image_number: int, categories: Mapping[str, int]
) -> None:
    size = cast("Size", image.size)
    position, before = 0, -1
    for region, dropped in _in_order(image.annotation):
        with located(f"region {region.index}"):
            _check_region(region, before)
            number = len(annotations) + 1
            ids = {"id": number, "image_id": image_number, "category_id": categories[region.label]}
            extra = _coco_extra(region, dropped, number, position)
            annotations.append({**ids, **_coco_region(region, *size), **extra})
        before, position = region.index, region.index + 1


def _coco_region(region: Region, width: int, height: int) -> _Json:
    x0, y0, x1, y1 = map(float, region.box)
    marks = {key: int(flag in region.flags) for key, flag in FLAG_KEYS.items()}
    optional = {key: mark for key, mark in marks.items() if mark or key == "iscrowd"}
    box = [x0 * width, y0 * height, (x1 - x0) * width, (y1 - y0) * height]
    record = {"bbox": box, "area": box[2] * box[3], "segmentation": []}
    if region.kind == "polygon":
        record |= _coco_polygons(region, width, height)
    elif region.kind != "box":
        record |= _coco_mask(region, width, height)
    return record | optional | _present(score=region.score)


def _coco_polygons(region: Region, width: int, height: int) -> _Json:
    from pycocotools import mask as coco

    # 9 digits: COCO rounds down at tenths of pixels, where 3.5 / W * W may come back as 3.4999….
    parts = [
        [round(float(value) * (width, height)[i % 2], 9) for i, value in enumerate(part)]
        for part in cast("tuple[tuple[float, ...], ...]", region.mask)
    ]
    drawn = coco.merge(coco.frPyObjects(parts, height, width))
    return {"segmentation": parts, "area": int(coco.area(drawn))}


def _coco_mask(region: Region, width: int, height: int) -> _Json:
    """Return a mask, or the disc of a point, at the size of the image."""
    from pycocotools import mask as coco

    drawn = encode_rle(region.to_mask(height, width))
    fits = isinstance(region.mask, Mapping) and list(region.mask["size"]) == [height, width]
    box, area = coco.toBbox(drawn).tolist(), int(coco.area(drawn))
    return {"segmentation": _rle(region) if fits else drawn, "bbox": box, "area": area}


def _coco_extra(region: Region, dropped: bool, number: int, position: int) -> _Json:
    """Return what COCO has no word for: other flags, and where the region comes from."""
    known = [flag for flag in FLAG_KEYS.values() if flag in region.flags]
    extra = _given(
        flags=list(region.flags) if list(region.flags) != known else None,
        dropped=dropped,
        disc=_disc(region) if region.kind == "point" else None,
    ) | _present(
        source=None if region.source == str(number) else region.source,
        index=None if region.index == position else region.index,
    )
    return {EXTRA: extra} if extra else {}


_FORMATS = {"plain": _plain, "coco": _coco}
