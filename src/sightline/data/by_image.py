"""Maps and annotations matched by image and scored, batch by batch."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from sightline.core import InputError, MapError
from sightline.core.arrays import shape_of
from sightline.data.mapfiles import match_images
from sightline.metrics import METRICS, PERCENTILES, score_maps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from sightline.core import Annotation, Region
    from sightline.metrics import Scores
    from sightline.metrics.selection import Sign, Ties

__all__ = ["ImageScores", "Summary", "score_by_image"]

_Batch: TypeAlias = "list[tuple[str, NDArray[Any]]]"

# Maps are held until this many pixels are there to be scored at once: 32 MB of float64.
_BATCH_PIXELS = 2**22
# What one map may take to score, above what the process takes anyway, so that it stays in 1 GB.
_MAX_BYTES = 800_000_000
_SUMMARY = ("coverage", "average_precision", "auc_roc", "relevance_rank", "pointing", "iou")


class Summary(NamedTuple):
    """One metric over the images: means over those where it is defined.

    Attributes
    ----------
    metric : str
        The column.
    mean, chance : float or None
        None where nothing is defined. `chance` is what a map without information scores.
    ceiling : float
        What the best map can reach at this threshold; the top of the metric's range where no
        threshold stands in the way.
    n, undefined : int
        Images with and without a value.

    Examples
    --------
    >>> import numpy as np
    >>> from sightline.data import score_by_image
    >>> from sightline.core import Annotation, Region
    >>> door = Annotation("a", regions=(Region("door", box=(0, 0, 0.5, 1)),))
    >>> score_by_image({"a": np.ones((4, 4))}, {"a": door}).summary()[0]
    Summary(metric='coverage', mean=0.5, chance=0.5, ceiling=1.0, n=1, undefined=0)
    """

    metric: str
    mean: float | None
    chance: float | None
    ceiling: float
    n: int
    undefined: int


@dataclass(frozen=True, slots=True, eq=False)
class ImageScores:
    """Scores by image and region, and what could not be scored.

    Attributes
    ----------
    frame : pandas.DataFrame
        Columns `image`, `region` (missing: the union of all regions), `label`, then one per score.
        Rows are in the order of the annotations, the union before the regions.
    images_without_map, maps_without_annotation : tuple of str
        What found no partner.
    dropped : tuple of (image id, Region)
        Regions outside their image.

    Examples
    --------
    >>> import numpy as np
    >>> from sightline.data import score_by_image
    >>> from sightline.core import Annotation, Region
    >>> door = Annotation("a", regions=(Region("door", box=(0, 0, 0.5, 1)),))
    >>> found = score_by_image({"a": np.ones((4, 4))}, {"a": door, "b": door})
    >>> found.frame["coverage"].tolist(), found.images_without_map
    ([0.5, 0.5], ('b',))
    """

    frame: pd.DataFrame
    images_without_map: tuple[str, ...]
    maps_without_annotation: tuple[str, ...]
    dropped: tuple[tuple[str, Region], ...]

    def summary(self) -> list[Summary]:
        """Return the metrics that tell most, each with its chance value and ceiling."""
        union = self.frame[self.frame["region"].isna()]
        columns = [c for base in _SUMMARY for c in union if str(c).partition("@")[0] == base]
        return [_summarise(union, str(column)) for column in columns]


def score_by_image(
    maps: Mapping[str, NDArray[Any]],
    annotations: Mapping[str, Annotation],
    *,
    selection: str | Sequence[str] = "percentile",
    percentiles: Sequence[float] = PERCENTILES,
    sign: Sign | None = None,
    ties: Ties = "share",
    threads: int | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> ImageScores:
    """Score each map against the annotation of its image.

    A map is taken to cover its whole image: annotations are drawn at the size of the map.

    Parameters
    ----------
    maps : mapping of str to array (height, width)
        By image, see `match_images`; read one by one.
    annotations : mapping of str to Annotation
        By image id.
    selection, percentiles, sign, ties, threads
        As in `score_maps`.
    progress : callable, optional
        Called with the number of images done and the number of all.

    Raises
    ------
    InputError
        If no map fits an image, or a map cannot be scored; the message names the image.

    Examples
    --------
    >>> import numpy as np
    >>> from sightline.data import score_by_image
    >>> from sightline.core import Annotation, Region
    >>> door = Annotation("a", regions=(Region("door", box=(0, 0, 0.5, 1)),))
    >>> scores = score_by_image({"a": np.array([[3.0, 1.0]])}, {"a": door})
    >>> scores.frame[["image", "label", "coverage"]].values.tolist()
    [['a', '', 0.75], ['a', 'door', 0.75]]
    """
    matches = match_images(maps, annotations)
    if not matches.pairs:
        raise InputError(
            f"no map fits an image: maps are named {_some(maps)}, images {_some(annotations)}"
        )
    score = partial(
        score_maps,
        selection=selection,
        percentiles=percentiles,
        sign=sign,
        ties=ties,
        threads=threads,
    )
    parts: list[pd.DataFrame] = []
    done = 0
    for batch in _batches(matches.pairs, maps, annotations, sign):
        parts.append(_score_batch(score, batch, annotations))
        done += len(batch)
        if progress is not None:
            progress(done, len(matches.pairs))
    return ImageScores(
        frame=_in_order(parts, [image for image, _ in matches.pairs]),
        images_without_map=tuple(matches.images_without_map),
        maps_without_annotation=tuple(matches.maps_without_annotation),
        dropped=tuple(
            (image, region) for image, found in annotations.items() for region in found.dropped
        ),
    )


def _batches(
    pairs: Iterable[tuple[str, str]],
    maps: Mapping[str, NDArray[Any]],
    annotations: Mapping[str, Annotation],
    sign: Sign | None,
) -> Iterator[_Batch]:
    """Read maps and yield those of one size and type together."""
    waiting: dict[tuple[Any, ...], _Batch] = {}
    pixels = 0
    for image, name in pairs:
        array = maps[name]
        if array.ndim != 2:
            raise InputError(
                f"image {image!r}: its map must be height x width, got {shape_of(array.shape)}; "
                "sightline.metrics.reduce_channels makes one map of three channels"
            )
        if array.size >= _BATCH_PIXELS:
            _check_bytes(image, array, sign, ignored=bool(annotations[image].ignored))
            if _fits_float32(array):  # as it is measured, so that it is held once
                array = array.astype(np.float32, copy=False)
        waiting.setdefault((array.shape, array.dtype), []).append((image, array))
        pixels += array.size
        if pixels >= _BATCH_PIXELS:
            yield from waiting.values()
            waiting, pixels = {}, 0
    yield from waiting.values()


def _fits_float32(array: NDArray[Any]) -> bool:
    return np.can_cast(array.dtype, np.float32)


def _check_bytes(image: str, array: NDArray[Any], sign: Sign | None, *, ignored: bool) -> None:
    """Raise for a map that would take more than `_MAX_BYTES` to score."""
    narrow, signed = _fits_float32(array), sign == "signed"
    each = (25.5 if narrow else 66.5) if signed else (9.5 if narrow else 17.5)
    if ignored:
        each += 8 if narrow else 12
    if array.size * each <= _MAX_BYTES:
        return
    costly = [
        *([f"values of {array.dtype}"] if not narrow else []),
        *(["sign 'signed'"] if signed else []),
        *(["regions to ignore"] if ignored else []),
    ]
    why = f", with {' and '.join(costly)}" if costly else ""
    advice = "save it as float32, or make it smaller" if not narrow else "make it smaller"
    raise InputError(
        f"image {image!r}: scoring its map of {shape_of(array.shape)}{why}, would take "
        f"{array.size * each / 1e9:.1f} GB, more than {_MAX_BYTES / 1e9:.1f} GB: "
        f"{advice} ({int(_MAX_BYTES / each):,} values at most)"
    )


def _score_batch(
    score: Callable[..., Scores], batch: _Batch, annotations: Mapping[str, Annotation]
) -> pd.DataFrame:
    images = [annotations[image] for image, _ in batch]
    try:
        arrays = [array for _, array in batch]
        # A large map comes alone, and is not copied.
        maps = arrays[0][None] if len(arrays) == 1 else np.stack(arrays)
        scores = score(maps, None, regions=images)
    except MapError as error:
        image = images[error.index].image_id
        raise InputError(f"image {image!r}: {error.image_message}") from error
    return _to_frame(scores, images)


def _to_frame(scores: Scores, images: Sequence[Annotation]) -> pd.DataFrame:
    """Return the rows of the unions and below them those of the regions."""
    import pandas as pd

    regions = [(image.image_id, region) for image in images for region in image.scored]
    by_region: dict[str, Any] = dict(scores.regions or {})
    undefined = np.full(len(regions), np.nan)
    return pd.DataFrame(
        {
            "image": [image.image_id for image in images] + [image for image, _ in regions],
            "region": pd.array(
                [None] * len(images) + [region.index for _, region in regions], dtype="Int32"
            ),
            "label": [""] * len(images) + [region.label for _, region in regions],
            **{
                name: np.concatenate([column, by_region.get(name, undefined)])
                for name, column in scores.items()
            },
        }
    )


def _in_order(parts: Sequence[pd.DataFrame], images: Sequence[str]) -> pd.DataFrame:
    """Join the batches in the order of the images, the union before the regions."""
    import pandas as pd

    frame = pd.concat(parts, ignore_index=True)
    position = {image: number for number, image in enumerate(images)}
    order = np.lexsort((frame["region"].fillna(-1), frame["image"].map(position)))
    return frame.iloc[order].reset_index(drop=True)


def _summarise(union: pd.DataFrame, column: str) -> Summary:
    defined = union[union[column].notna()]
    metric, at, threshold = column.partition("@")

    def mean(name: str) -> float | None:
        return float(defined[name].mean()) if name in defined and len(defined) else None

    ceiling = mean(f"{metric}_ceiling{at}{threshold}")
    return Summary(
        column,
        mean(column),
        mean(f"{metric}_chance{at}{threshold}"),
        METRICS[metric].range[1] if ceiling is None else ceiling,
        len(defined),
        len(union) - len(defined),
    )


def _some(names: Iterable[str]) -> str:
    shown = [repr(name) for name in islice(names, 4)]
    return ", ".join(shown[:3]) + (", …" if len(shown) > 3 else "")
