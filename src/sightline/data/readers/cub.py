"""CUB-200-2011: photographs of birds with part points, a box and a mask each.

::

    images.txt              1 001.Black_footed_Albatross/Black_Footed_Albatross_0046_18.jpg
    image_class_labels.txt  1 1                     image, class
    classes.txt             1 001.Black_footed_Albatross
    train_test_split.txt    1 0                     image, 1 = train, 0 = test
    bounding_boxes.txt      1 60.0 27.0 325.0 304.0 image, x, y, width, height in pixels
    parts/parts.txt         7 left eye
    parts/part_locs.txt     1 7 312.0 182.0 1       image, part, x, y in pixels, 1 = visible
    images/, segmentations/ folders of classes; segmentations may lie beside the folder

Coordinates are taken as they are written; a box that reaches outside is clipped. Segmentations are
grey: each annotator who counted a pixel in makes it lighter, and a pixel is in when it has half of
the largest value or more. Lines about images that are not in `images.txt` are passed over, so that
a shorter `images.txt` makes a smaller data set; an image that lacks a line is an error. So is one
whose file is missing, as coordinates mean nothing without its size.
"""

from __future__ import annotations

from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from sightline.core import InputError, Taxonomy
from sightline.data.dataset import Dataset, LazyAnnotations, from_annotations
from sightline.data.formats.checks import show
from sightline.data.formats.drafts import Draft, Facts
from sightline.data.formats.shapes import box_shape, encode_rle, point_shape, rle_shape
from sightline.data.images import image_size, inside, read_image
from sightline.data.readers._cub_tables import (
    line_of,
    read_boxes,
    read_images,
    read_parts,
    read_places,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from sightline.core import Annotation
    from sightline.data.formats.shapes import Shape
    from sightline.data.problems import Problems
    from sightline.data.readers._cub_tables import Image, Places

__all__ = ["Regions", "read"]

Regions: TypeAlias = Literal["parts", "box", "mask"]
_Made = TypeVar("_Made")


def read(
    path: Path,
    problems: Problems,
    split: str | None,
    *,
    regions: Regions = "parts",
    radius: float = 15.0,
    at: float = 224,
) -> Dataset:
    """Open CUB-200-2011; see `sightline.data.load_dataset`.

    Parameters
    ----------
    path : Path
        The folder CUB_200_2011, or the one that holds it.
    problems : Problems
        Raises, or collects what is set aside: a line, or an image that lacks one or has no file.
    split : str or None
        "train" or "test"; every image has one.
    regions : {"parts", "box", "mask"}
        What the regions are: a disc at each of the 15 parts (hidden ones are dropped, with the flag
        "hidden"; the number of a region is the place of its part in `parts.txt`), or the bird as a
        whole. Masks are decoded when an annotation is first asked for, or at once where bad ones
        are to be set aside.
    radius, at : float
        Radius of a part's disc in pixels of an image whose longer side is `at` pixels.
    """
    if regions not in ("parts", "box", "mask"):
        raise InputError(f"regions must be 'parts', 'box' or 'mask', got {regions!r}")
    if not (_in_pixels(radius) and _in_pixels(at) and at > 0):
        got = f"radius {show(radius)} and at {show(at)}"
        raise InputError(f"radius must be a number >= 0 and at one > 0, got {got}")
    root = next((p for p in (path, path / "CUB_200_2011") if (p / "images.txt").exists()), path)
    images = read_images(root, problems)
    annotations: Mapping[str, Annotation]
    taxonomy = Taxonomy.flat(["bird"])
    if regions == "mask" and problems.skip:
        annotations = _each(images, problems, lambda image: _mask(root, image)())
    elif regions == "mask":
        annotations = LazyAnnotations(_each(images, problems, partial(_mask, root)))
    elif regions == "box":
        annotations = _each(images, problems, partial(_box, read_boxes(root, problems)))
    else:
        parts = read_parts(root)
        places = read_places(root, problems, parts)
        annotations = _each(images, problems, partial(_points, parts, places, radius / at))
        taxonomy = _taxonomy(parts.values())
    return from_annotations(
        "cub",
        annotations,
        {image.image_id: image.path for image in images},
        splits={image.image_id: image.split for image in images},
        root=root,
        taxonomy=taxonomy,
        skipped=problems,
    )


def _in_pixels(value: Any) -> bool:
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    return is_number and 0 <= value < 1e9


def _each(
    images: list[Image], problems: Problems, make: Callable[[Image], _Made]
) -> dict[str, _Made]:
    """Return what `make` makes of each image."""
    made: dict[str, _Made] = {}
    for image in images:
        with problems.at(image.where):
            made[image.image_id] = make(image)
    return made


def _points(parts: Mapping[int, str], places: Places, share: float, image: Image) -> Annotation:
    """Return the parts of a bird; hidden ones are dropped."""
    here = line_of(places, image.number, "parts/part_locs.txt")
    draft, radius = Draft(image.image_id, image.size, [image.label]), share * max(image.size)
    for part, name in parts.items():
        number = draft.number()
        if part in here:
            x, y, visible = here[part]
            shape = point_shape((x, y), radius, "pixels", image.size)
            source = f"image {image.number} part {part}"
            draft.add(number, shape, Facts(name, () if visible else ("hidden",), source))
    return draft.finish()


def _box(boxes: Mapping[int, Sequence[float]], image: Image) -> Annotation:
    x, y, width, height = line_of(boxes, image.number, "bounding_boxes.txt")
    return _bird(image, box_shape((x, y, x + width, y + height), "pixels", image.size))


def _bird(image: Image, shape: Shape) -> Annotation:
    draft = Draft(image.image_id, image.size, [image.label])
    draft.add(draft.number(), shape, Facts("bird", (), f"image {image.number}"))
    return draft.finish()


def _mask(root: Path, image: Image) -> Callable[[], Annotation]:
    """Check the header of a segmentation and return what decodes it."""
    name = f"{image.name.rpartition('.')[0]}.png"
    files = [inside(base / "segmentations", name) for base in (root, root.absolute().parent)]
    file = next((file for file in files if file.is_file()), files[0])
    if (seen := image_size(file, upright=False)) != image.size:
        raise InputError(f"{file} has {seen} pixels (width, height), the image {image.size}")
    return partial(_decode, file, image)


def _decode(file: Path, image: Image) -> Annotation:
    grey = read_image(file)[..., 0]
    mask = (grey > 0) & (grey >= grey.max() / 2)
    return _bird(image, rle_shape(encode_rle(mask), image.size))


def _taxonomy(names: Iterable[str]) -> Taxonomy:
    """Return the part names; left and right ones stand under what they are."""
    parents: dict[str, tuple[str, ...]] = {}
    for name in names:
        side, _, part = name.partition(" ")
        parents[name] = (part,) if side in ("left", "right") and part else ()
    pairs = (part for above in parents.values() for part in above)
    return Taxonomy({**dict.fromkeys(pairs, ()), **parents})
