"""Pascal VOC: boxes of objects and of their parts in XML, instance masks in PNG.

::

    Annotations/<id>.xml            size, objects with name, bndbox, difficult, parts
    JPEGImages/<filename>           as the XML names it, else <id> with the ending of an image
    ImageSets/Main/<split>.txt      ids, one a line: train, val, trainval, test or others
    ImageSets/Segmentation/<split>.txt      the same for images with masks
    SegmentationObject/<id>.png     palette: 0 background, 1 to n the objects in order, 255 void

The XML files may also lie in annotations/, beside the images, or in folders train, val (valid,
validation) and test, which are splits then and stand in front of the names of images; images also
in images/ or beside the XML files.

Boxes are whole pixels counted from 1 with both ends in, so xmin to xmax covers xmin - 1 to xmax.
Objects are numbered in the order of the file, whatever else is read; their parts follow, then the
void. Without a `split`, images are tagged by the first of train, val and test that lists them; with
one, those that its list names are read and tagged by it.
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from sightline.core import InputError, Taxonomy
from sightline.data.dataset import Dataset, LazyAnnotations, from_annotations
from sightline.data.formats.checks import located
from sightline.data.formats.drafts import Draft, Facts
from sightline.data.formats.shapes import Shape, encode_rle, rle_shape
from sightline.data.images import image_size, inside
from sightline.data.problems import Problems
from sightline.data.readers._image_files import claim
from sightline.data.readers._voc_files import (
    read_facts,
    read_object,
    read_palette,
    read_size,
    read_xml,
    written_size,
)
from sightline.data.readers._voc_layout import find_layout, image_of, read_splits

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from xml.etree.ElementTree import Element

    from sightline.core import Annotation
    from sightline.core.raster import Mask
    from sightline.data.formats.checks import Size
    from sightline.data.formats.shapes import Box
    from sightline.data.readers._voc_layout import Layout

__all__ = ["VocFile", "VocObject", "read", "read_files"]

_VOID = 255
_Regions: TypeAlias = dict[int, tuple[Shape, Facts]]


class VocObject(NamedTuple):
    """An object of an XML file as it is written.

    Attributes
    ----------
    label : str
        Its name.
    flags : tuple of str
        Which of difficult, truncated and occluded are set.
    corners : tuple of 4 floats
        xmin, ymin, xmax, ymax: pixels counted from 1, both ends in.
    """

    label: str
    flags: tuple[str, ...]
    corners: Box


class _Image(NamedTuple):
    """One XML file; its objects are not read yet."""

    image_id: str
    where: str
    path: Path
    size: Size
    objects: list[Element]
    mask: Path | None
    split: str


def read(
    path: Path,
    problems: Problems,
    split: str | None,
    *,
    masks: bool = False,
    parts: bool = False,
) -> Dataset:
    """Open a Pascal VOC data set; see `sightline.data.load_dataset`.

    Parameters
    ----------
    path : Path
        VOC2007, VOC2012 or a like folder, or the one (VOCdevkit) that holds exactly one such.
    problems : Problems
        Raises, or collects what is set aside: an object, a part, or a whole XML file.
    split : str or None
        The list of images to read.
    masks : bool
        Read objects from `SegmentationObject` instead of their boxes. Images without a mask file
        are left out, objects without a pixel are dropped, and the void is a region with the label
        "void" and the flag "ignore". Masks are decoded when an annotation is first asked for, or
        at once where bad ones are to be set aside.
    parts : bool
        Read the boxes of parts (head, hand, …) too; in the taxonomy they stand under their objects.
    """
    layout = find_layout(path)
    root = layout.root
    if masks and not (root / "SegmentationObject").is_dir():
        raise InputError(f"{root}: masks need a folder SegmentationObject")
    images = _images(layout, problems, split, masks)
    above: dict[str, set[str]] = {"void": set()} if masks else {}
    made: dict[str, Annotation] = {}
    later: dict[str, Callable[[], Annotation]] = {}
    for image in images:
        make = partial(_annotate, image, _boxes(image, problems, parts, above))
        if masks and not problems.skip:
            later[image.image_id] = make
        else:
            with problems.at(image.where):
                made[image.image_id] = make()
    with located(str(root)):
        taxonomy = Taxonomy({label: sorted(above[label]) for label in sorted(above)})
    return from_annotations(
        "voc",
        LazyAnnotations(later) if later else made,
        {image.image_id: image.path for image in images},
        splits={image.image_id: image.split for image in images},
        root=root,
        taxonomy=taxonomy,
        skipped=problems,
    )


class VocFile(NamedTuple):
    """The objects of an XML file, and the size of its image, where that is written."""

    objects: list[VocObject]
    size: Size | None


def read_files(path: Path, split: str | None = None) -> dict[str, VocFile]:
    """Return what each XML file says by its name without the ending; images are not needed.

    Parameters
    ----------
    path : Path
        As in `read`.
    split : str, optional
        The list of images to read, or the folder.

    Raises
    ------
    InputError
        If a file or an object does not fit, or two files have one name; the message names them.
    """
    found: dict[str, VocFile] = {}
    files: dict[str, Path] = {}
    layout = find_layout(path)
    for place, name, tag in read_splits(layout, Problems(), split, False):
        if split is not None and tag != split:
            continue
        file = place.xml / f"{name}.xml"
        with located(str(file)):
            if name in found:
                raise InputError(f"has the name of {files[name]}; choose one with split=")
            tree = read_xml(file, layout.root)
            elements = enumerate(tree.findall("object"), 1)
            objects = [_as_written(number, element) for number, element in elements]
            found[name] = VocFile(objects, written_size(tree))
            files[name] = file
    if not found:
        raise InputError(f"{path}: has no images in split {split!r}")
    return found


def _as_written(number: int, element: Element) -> VocObject:
    with located(f"object {number}"):
        return VocObject(*read_facts(element))


def _images(layout: Layout, problems: Problems, split: str | None, masks: bool) -> list[_Image]:
    found: list[_Image] = []
    taken: dict[str, str] = {}
    for place, name, tag in read_splits(layout, problems, split, masks):
        file, mask = place.xml / f"{name}.xml", None
        with problems.at(str(file)):
            if masks:
                mask = inside(layout.root / "SegmentationObject", f"{name}.png")
                if not os.path.isfile(mask):  # noqa: PTH113  # false, too, for a name too long
                    continue
            tree = read_xml(file, layout.root)
            image_name, path = image_of(place, name, (tree.findtext("filename") or "").strip())
            size = read_size(tree, path)
            if mask is not None and (seen := image_size(mask, upright=False)) != size:
                raise InputError(f"{mask} has {seen} pixels (width, height), the image {size}")
            image_id = claim(image_name, f"{name}.xml", taken)
            objects = tree.findall("object")
            found.append(_Image(image_id, str(file), path, size, objects, mask, tag))
    return found


def _boxes(image: _Image, problems: Problems, parts: bool, above: dict[str, set[str]]) -> _Regions:
    """Return the boxes of objects, then of their parts; `above` gathers what stands over what."""
    elements = [(f"object {n}", -1, item) for n, item in enumerate(image.objects, 1)]
    for owner, item in enumerate(image.objects if parts else []):
        found = enumerate(item.findall("part"), 1)
        elements += [(f"object {owner + 1} part {n}", owner, part) for n, part in found]
    boxes: _Regions = {}
    for number, (source, owner, element) in enumerate(elements):
        with problems.at(f"{image.where}: {source}"):
            label, flags, shape = read_object(element, image.size)
            boxes[number] = shape, Facts(label, flags, source)
            parents = above.setdefault(label, set())
            if owner in boxes and (parent := boxes[owner][1].label) != label:
                parents.add(parent)
    return boxes


def _annotate(image: _Image, boxes: _Regions) -> Annotation:
    draft = Draft(image.image_id, image.size)
    regions = boxes if image.mask is None else _masks(image.mask, image, boxes)
    for number, (shape, facts) in sorted(regions.items()):
        draft.add(draft.number(number), shape, facts)
    return draft.finish()


def _masks(file: Path, image: _Image, boxes: _Regions) -> _Regions:
    """Return the regions with masks in place of the objects' boxes, and with the void."""
    values, count = read_palette(file), len(image.objects)
    strange = np.setdiff1d(values, [*range(count + 1), _VOID])
    if strange.size:
        raise InputError(f"{file}: has object {strange[0]}, the XML only {count}")
    regions = dict(boxes)
    for number, (_, facts) in boxes.items():
        if number < count:
            regions[number] = _mask(values == number + 1), facts
    if (void := values == _VOID).any():
        number = count + sum(len(element.findall("part")) for element in image.objects)
        regions[number] = _mask(void), Facts("void", ("ignore",), "void")
    return regions


def _mask(mask: Mask) -> Shape:
    return rle_shape(encode_rle(mask))
