"""The tables of images and regions that lie beside the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa

    from sightline.core import Annotation, Region

__all__ = ["images_table", "raster_size", "region_lines", "regions_table"]

# The longer side of the raster on which the areas of masks are measured.
_LARGEST = 1024


def images_table(lines: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Return the table of images.

    Parameters
    ----------
    lines : sequence of dicts
        Of each image: image, chunk, split, labels, width, height, area, regions, digest.

    Examples
    --------
    >>> table = images_table([{"image": "a.jpg", "chunk": 0, "labels": ["Gothic"], "regions": 12}])
    >>> table.num_rows, table["labels"].to_pylist(), table["width"].to_pylist()
    (1, [['Gothic']], [None])
    """
    import pyarrow as pa

    schema = pa.schema(
        [
            ("image", pa.string()),
            ("chunk", pa.int32()),
            ("split", pa.string()),
            ("labels", pa.list_(pa.string())),
            ("width", pa.int32()),
            ("height", pa.int32()),
            ("area", pa.float64()),
            ("regions", pa.int32()),
            ("digest", pa.string()),
            ("group", pa.string()),  # images that belong together; not filled yet
        ]
    )
    return pa.Table.from_pylist(list(lines), schema)


def regions_table(lines: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Return the table of regions: see `region_lines`.

    Examples
    --------
    >>> from sightline.core import Annotation, Region
    >>> front = Annotation("a.jpg", regions=(Region("window", box=(0.25, 0.5, 0.75, 1.0)),))
    >>> regions_table(region_lines(front)).select(["label", "area", "dropped"]).to_pylist()
    [{'label': 'window', 'area': 0.25, 'dropped': ''}]
    """
    import pyarrow as pa

    schema = pa.schema(
        [
            ("image", pa.string()),
            ("region", pa.int32()),
            ("label", pa.string()),
            *((name, pa.float64()) for name in ("x0", "y0", "x1", "y1", "area")),
            ("dropped", pa.string()),
            ("annotator", pa.string()),  # not filled yet
        ]
    )
    return pa.Table.from_pylist(list(lines), schema)


def region_lines(
    annotation: Annotation, unlabelled: Iterable[Region] = ()
) -> Iterator[dict[str, Any]]:
    """Yield a line for each region of an image.

    Parameters
    ----------
    annotation : Annotation
        Its regions; `dropped` tells of those that are not scored why: they lie "outside" the
        image, are "hidden", or are to be "ignored".
    unlabelled : iterable of Region
        Instances that are on the image and that the annotator left out, where that is known.
    """
    size = raster_size(annotation, _LARGEST)
    groups = [
        *((region, "ignored" if region.ignore else "") for region in annotation.regions),
        *((region, _why(region)) for region in annotation.dropped),
        *((region, "unlabelled") for region in unlabelled),
    ]
    for region, dropped in sorted(groups, key=lambda pair: pair[0].index):
        x0, y0, x1, y1 = region.box
        yield {
            "image": annotation.image_id,
            "region": region.index,
            "label": region.label,
            "x0": x0,
            "y0": y0,
            "x1": x1,
            "y1": y1,
            "area": 0.0 if dropped == "outside" else _area(region, size),
            "dropped": dropped,
        }


def _why(region: Region) -> str:
    return "hidden" if "hidden" in region.flags else "outside"


def raster_size(annotation: Annotation, largest: int) -> tuple[int, int]:
    """Return rows and columns of a raster for areas: the image's own unless it is large.

    An image of unknown size has a square one, which its shapes, as shares, are drawn on.
    """
    width, height = annotation.width or largest, annotation.height or largest
    scale = min(1.0, largest / max(width, height))
    return max(1, round(height * scale)), max(1, round(width * scale))


def _area(region: Region, size: tuple[int, int]) -> float:
    """Return the share of the image that a region covers; a box by its corners."""
    if region.kind == "box":
        x0, y0, x1, y1 = np.clip(region.box, 0, 1)
        return float((x1 - x0) * (y1 - y0))
    return float(region.to_mask(*size).mean())
