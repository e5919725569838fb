"""One map of an image as it was scored, by which rule pixels are selected, and its scores."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

import numpy as np

from sightline.core import InputError, UnknownNameError
from sightline.metrics import METRICS, score_maps
from sightline.metrics.selection import Threshold, parse_selection
from sightline.results._grids import read
from sightline.results._wording import line_name
from sightline.results.map_reader import _ignored
from sightline.study.worker.scores import scenes_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sightline.core import Annotation, Region
    from sightline.core.geometry import Geometry
    from sightline.metrics import Scores
    from sightline.metrics.selection import Sign, Ties
    from sightline.store.shards import StoredMaps
    from sightline.study.plan.sources import Scoring
    from sightline.study.worker.scores import Scene

__all__ = ["MapKey", "OneMap", "Rule", "one_map", "scores_of", "span_of"]

# What 32 bits hold without losing digits.
_LEAST, _MOST = 2.0**-100, 2.0**100


class MapKey(NamedTuple):
    """Which map of an image.

    Attributes
    ----------
    model
        Full name; "" for maps made elsewhere that name none.
    method
        How it was made.
    layer, head
        From 0; None where there are no layers, or heads are fused.
    target
        What is explained; "" for no class.
    seed
        None where nothing is drawn.
    """

    model: str
    method: str
    layer: int | None = None
    head: int | None = None
    target: str = ""
    seed: int | None = None

    def told(self) -> str:
        """Say in words which map is meant.

        >>> MapKey("demo/vit", "cls", 3, 0).told()
        'demo/vit · cls · layer 3 · head 0'
        """
        numbers = self.layer, self.head, self.seed
        return line_name(self.model, self.method, self.target, *numbers)


@dataclass(frozen=True, slots=True)
class Rule:
    """By which rule pixels are selected.

    Attributes
    ----------
    selection
        ``"percentile"``, ``"mass60"``, ``"mean"`` or ``"matched"``.
    percentile
        Any number between 0 and 100, of percentile selection.
    ties
        What equal pixels get.

    Examples
    --------
    >>> str(Rule(percentile=87.5)), str(Rule("mass60"))
    ('87.5', 'mass60')
    """

    selection: str = "percentile"
    percentile: float = 90.0
    ties: Ties = "share"

    def __post_init__(self) -> None:
        if self.selection == "percentile" and not 0 < self.percentile < 100:
            raise InputError(f"percentile must lie between 0 and 100; got {self.percentile:g}")
        _ = self.threshold  # raises where the selection is none

    @property
    def threshold(self) -> Threshold:
        """The threshold of metrics that have one."""
        (found,) = parse_selection(self.selection, (self.percentile,))
        return found

    def __str__(self) -> str:
        return str(self.threshold)

    def named(self, metric: str) -> str:
        """Return the name of a metric by this rule: ``iou@90``, ``coverage``."""
        return f"{metric}@{self}" if METRICS[metric].thresholded else metric

    @property
    def exact(self) -> bool:
        """Whether its name tells all of it: 90.0000001 is called 90, and is not 90."""
        return self.selection != "percentile" or float(str(self)) == self.percentile


@dataclass(frozen=True, eq=False)
class OneMap:
    """A map of an image on the raster on which it was scored.

    Attributes
    ----------
    image : str
        Whose.
    key : MapKey
        Which.
    values : array (rows, columns)
        Raw, with their signs.
    regions : Annotation
        What is annotated, on the raster.
    unseen : array (rows, columns) or None
        Pixels that are not image, or that the model did not see.
    visible : float
        Share of the annotated area that the model could see; NaN where nothing is annotated.
    visible_regions : dict of int to float
        The same of each region, by its index.
    sign : {"positive", "absolute", "signed"}
        How values are read.
    way : Geometry
        From the image to the cells.
    cells : array (rows, columns)
        The map on the model's own grid.
    on_grid : bool
        Whether the raster is that grid; else it lies over the whole image.
    noted : dict
        What was found out about it and depends on no rule.
    """

    image: str
    key: MapKey
    values: NDArray[Any]
    regions: Annotation
    unseen: NDArray[np.bool_] | None
    visible: float
    visible_regions: dict[int, float]
    sign: Sign
    way: Geometry
    cells: NDArray[Any]
    on_grid: bool
    noted: dict[Any, Any] = field(default_factory=dict, repr=False)

    @cached_property
    def ignore(self) -> NDArray[np.bool_] | None:
        """Pixels that count for nothing: unseen, or marked to be ignored; None for none."""
        found = _ignored(self.regions, self.unseen, self.values)
        return found if found is not None and found.any() else None

    @cached_property
    def masks(self) -> dict[int, NDArray[np.bool_]]:
        """The pixels of each region that is scored, by its index."""
        shape = self.values.shape
        return {region.index: region.to_mask(*shape) for region in self.regions.scored}

    @property
    def place(self) -> tuple[float, float, float, float]:
        """Where the raster lies: x0, y0, x1, y1 as shares of the image, which it may leave."""
        return self.grid_place if self.on_grid else (0.0, 0.0, 1.0, 1.0)

    @property
    def grid_place(self) -> tuple[float, float, float, float]:
        """Where the model's own grid lies, in the same shares."""
        (width, height), source = self.way.size, self.way.source
        x, y = self.way.to_source([0, width], [0, height])
        x, y = x / source[0], y / source[1]
        return float(x[0]), float(y[0]), float(x[1]), float(y[1])

    @property
    def kept(self) -> int:
        """How many pixels count."""
        return self.values.size - (0 if self.ignore is None else int(self.ignore.sum()))

    @cached_property
    def span(self) -> tuple[float, float]:
        """The least and the greatest value, as the map is read; 0 where no pixel counts."""
        return span_of(self.values if self.ignore is None else self.values[~self.ignore], self.sign)

    def region(self, index: int) -> Region:
        """Return a region that is scored.

        Raises
        ------
        UnknownNameError
            If the image has none of that index.
        """
        for region in self.regions.scored:
            if region.index == index:
                return region
        known = ", ".join(str(region.index) for region in self.regions.scored) or "none"
        raise UnknownNameError(f"image {self.image!r} has no scored region {index}; it has {known}")

    def over_image(
        self, height: int, width: int, how: Literal["nearest", "bilinear"] = "bilinear"
    ) -> NDArray[Any]:
        """Return the map over the whole image; NaN where the model did not look."""
        return self.way.to_image(self.cells, height, width, how=how)

    def single(self) -> tuple[NDArray[np.float32], float]:
        """Return the values in 32 bits, and by what power of 2 they must be multiplied.

        That is 1 unless the numbers are too large or too small for 32 bits, which maps made
        elsewhere may be. No score depends on it.
        """
        far = float(np.abs(self.values).max(initial=0))
        scale = 1.0 if far == 0 or _LEAST <= far <= _MOST else float(2.0 ** np.floor(np.log2(far)))
        return (self.values / scale).astype(np.float32), scale


def span_of(values: NDArray[Any], sign: str) -> tuple[float, float]:
    """Return the least and the greatest value of a map, as it is read; 0 where there is none."""
    if not values.size:
        return 0.0, 0.0
    as_read = read(values, sign)
    return float(as_read.min()), float(as_read.max())


def scores_of(
    one: OneMap,
    rule: Rule,
    metrics: Sequence[str] | None = None,
    percentiles: Sequence[float] | None = None,
) -> Scores:
    """Score one map and each region of its image, with the engine that studies use.

    Parameters
    ----------
    one
        The map.
    rule
        How pixels are selected.
    metrics
        Names; all of one pass unless given.
    percentiles
        Several, of percentile selection, in place of the one of the rule.
    """
    return score_maps(
        one.values[None],
        regions=[one.regions],
        ignore=None if one.unseen is None else one.unseen[None],
        selection=rule.selection,
        percentiles=percentiles or (rule.percentile,),
        sign=one.sign,
        ties=rule.ties,
        metrics=metrics,
        threads=1,
    )


def one_map(
    scoring: Scoring, maps: StoredMaps, annotation: Annotation, key: MapKey, sign: str
) -> OneMap:
    """Return a single map of an image as a study scores it.

    Parameters
    ----------
    scoring
        At which resolution.
    maps
        One map of one image.
    annotation
        Of the image.
    key, sign
        Which map it is, and how values are read.
    """
    (scene,) = scenes_of(scoring, maps, 0, annotation)
    return OneMap(
        maps.images[0],
        key,
        scene.maps[0, 0],
        scene.regions,
        scene.ignore,
        scene.seen,
        _by_index(scene),
        cast("Sign", sign),
        maps.geometries[0][0],
        maps.values[0][0][0],
        scoring.resolution == "grid",
    )


def _by_index(scene: Scene) -> dict[int, float]:
    pairs = zip(scene.regions.scored, scene.seen_regions, strict=True)
    return {region.index: share for region, share in pairs}
