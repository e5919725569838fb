"""The annotation of an image while it is read: regions numbered, clipped, set apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

from sightline.core import Annotation, InputError, Region
from sightline.core import raster as _raster
from sightline.data.formats.checks import show

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sightline.core import Taxonomy
    from sightline.data.formats.checks import Size
    from sightline.data.formats.shapes import Box, Shape

__all__ = [
    "AnnotationFile",
    "Draft",
    "Facts",
]

# Rounding carries an edge on the border this far beyond it: that is not reaching outside.
_NEAR = 1e-9


class AnnotationFile(NamedTuple):
    """What an annotation file says.

    Attributes
    ----------
    annotations : dict of str to Annotation
        By image id, in the file's order.
    names : dict of str to str
        The file name of each image as it is written.
    splits : dict of str to str
        The split of each image that has one.
    taxonomy : Taxonomy
        The labels of regions, with those above them.

    Examples
    --------
    >>> from sightline.data import AnnotationFile
    >>> from sightline.core import Annotation, Taxonomy
    >>> said = AnnotationFile({"a": Annotation("a")}, {"a": "a.jpg"}, {"a": "test"}, Taxonomy())
    >>> list(said.annotations), said.names["a"], said.splits["a"]
    (['a'], 'a.jpg', 'test')
    """

    annotations: dict[str, Annotation]
    names: dict[str, str]
    splits: dict[str, str]
    taxonomy: Taxonomy


class Facts(NamedTuple):
    """What a record says about a region beside its shape; see `Region`."""

    label: str = ""
    flags: tuple[str, ...] = ()
    source: str = ""
    score: float | None = None
    dropped: bool = False


class Draft:
    """The annotation of an image while its regions are read: numbered, clipped, set apart."""

    __slots__ = ("_count", "dropped", "image_id", "labels", "regions", "size")

    def __init__(self, image_id: str, size: Size | None, labels: Iterable[str] = ()) -> None:
        self.image_id, self.size, self.labels = image_id, size, tuple(labels)
        self.regions: list[Region] = []
        self.dropped: list[Region] = []
        self._count = 0

    def number(self, given: Any = None) -> int:
        """Return the number of the next region, whether it will turn out good or bad.

        A file may leave numbers out (`given`), but not go back.
        """
        expected = self._count
        good = given is None or (type(given) is int and given >= expected)
        number = given if good and given is not None else expected
        self._count = number + 1
        if not good:
            raise InputError(f"index must be a whole number >= {expected}, got {show(given)}")
        return number

    def add(self, number: int, shape: Shape, facts: Facts) -> None:
        """Add a region: clipped to the image, or to those dropped when it is not in it."""
        kind, box, mask, radius, own = shape
        flags = _joined(facts.flags, own)
        dropped = facts.dropped or "empty" in flags or "hidden" in flags
        if not (box[0] >= 0.0 and box[1] >= 0.0 and box[2] <= 1.0 and box[3] <= 1.0):
            dropped = dropped or _is_outside(shape)
            if not dropped:
                box, flags = _clipped(kind, box, flags)
        region = Region(
            facts.label, kind, box, mask, radius, flags, number, facts.source, facts.score
        )
        (self.dropped if dropped else self.regions).append(region)

    def finish(self) -> Annotation:
        """Return the annotation."""
        width, height = self.size or (None, None)
        regions, dropped = tuple(self.regions), tuple(self.dropped)
        return Annotation(self.image_id, width, height, regions, self.labels, dropped)


def _joined(flags: tuple[str, ...], more: tuple[str, ...]) -> tuple[str, ...]:
    return flags + tuple([flag for flag in more if flag not in flags]) if more else flags


def _is_outside(shape: Shape) -> bool:
    """Return whether a shape lies wholly outside the image; see `_raster`."""
    x0, y0, x1, y1 = shape.box
    if shape.kind == "polygon":
        return not _raster.polygon_touches(cast("tuple[Any, ...]", shape.mask))
    if shape.kind == "point":
        radii = (x1 - x0) / 2, (y1 - y0) / 2
        return not _raster.disc_touches((x0 + x1) / 2, (y0 + y1) / 2, *radii)
    for low, high in ((x0, x1), (y0, y1)):
        overlap = min(high, 1.0) - max(low, 0.0)
        if overlap < 0 or (overlap == 0 and low < high):
            return True
    return False


def _clipped(kind: str, box: Box, flags: tuple[str, ...]) -> tuple[Box, tuple[str, ...]]:
    """Clip the box to the image; the disc of a point is clipped when it is drawn."""
    x0, y0, x1, y1 = box
    if max(-x0, -y0, x1 - 1.0, y1 - 1.0) > _NEAR:
        flags = _joined(flags, ("clipped",))
    inside = max(x0, 0.0), max(y0, 0.0), min(x1, 1.0), min(y1, 1.0)
    return box if kind == "point" else inside, flags
