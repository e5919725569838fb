"""The pixels of an image by the regions that cover them, and what selections cover of them.

Any union of some of an image's regions is then a sum over a handful of groups of pixels, whichever
regions are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, get_args

import numpy as np

from sightline.core import Annotation, InputError
from sightline.core.arrays import divide, shape_of, to_numpy
from sightline.core.checks import check_choice
from sightline.metrics._border import (
    apply_sign,
    check_maps,
    refuse_signed_selection,
    resolve_sign,
)
from sightline.metrics.selection import Sign, Threshold, Ties, budget, parse_selection, select
from sightline.stats._scenes import check_finite

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["Annotations", "Atoms", "Maps", "Overlaps", "atoms_of", "image_atoms", "overlaps"]

Maps: TypeAlias = "Sequence[Any] | NDArray[Any]"
"""One map (H, W) for each image; sizes may differ."""
Annotations: TypeAlias = "Sequence[Annotation | Any] | NDArray[Any]"
"""For each image its annotation, or the masks (K, H, W) of its regions."""

_UNCOVERED, _IGNORED = -1, -2
_BITS = 31  # of a code that stand for regions; the rest number the groups found before


@dataclass(frozen=True, slots=True, eq=False)
class Atoms:
    """The pixels of an image, grouped by the set of regions that cover them.

    Attributes
    ----------
    member : array of bool (S, K)
        Which of the K regions cover each of the S groups.
    pixels : array of int (S,)
        How many pixels a group has.
    index : array of int (H, W)
        The group of each pixel; -1 where no region is, -2 where pixels are ignored.

    Examples
    --------
    >>> from sightline.stats.missing_labels import atoms_of
    >>> atoms = atoms_of([[[1, 1, 0, 0]], [[0, 1, 1, 0]]])  # two regions that overlap
    >>> atoms.regions, atoms.pixels.tolist(), atoms.total
    (2, [1, 1, 1], 4)
    """

    member: NDArray[np.bool_]
    pixels: NDArray[np.int64]
    index: NDArray[np.int32]

    @property
    def regions(self) -> int:
        """How many regions there are."""
        return int(self.member.shape[1])

    @property
    def total(self) -> int:
        """How many pixels are not ignored."""
        return int(np.count_nonzero(self.index != _IGNORED))

    def covered(self, kept: NDArray[np.bool_], /) -> NDArray[np.float64]:
        """Return 1 for each group that the union of the kept regions has, else 0.

        Parameters
        ----------
        kept : array of bool (draws, K)
            Which regions are kept.

        Returns
        -------
        array (draws, S)

        Examples
        --------
        >>> atoms = atoms_of([[[1, 1, 0]], [[0, 1, 1]]])
        >>> atoms.pixels.tolist(), atoms.covered(np.array([[True, False]])) @ atoms.pixels
        ([1, 1, 1], array([2.]))
        """
        # Counts of regions are small whole numbers: exact in single precision.
        found = kept.astype(np.float32) @ self.member.T.astype(np.float32)
        return (found > 0).astype(np.float64)


def atoms_of(masks: Any, /, ignore: Any = None) -> Atoms:
    """Group the pixels of an image by the regions that cover them.

    Parameters
    ----------
    masks : array of bool (K, H, W)
        The regions.
    ignore : array of bool (H, W), optional
        Pixels that are left out of everything.

    Examples
    --------
    >>> atoms = atoms_of([[[1, 1, 0, 0]], [[0, 1, 1, 0]]])
    >>> atoms.index.tolist()
    [[1, 2, 0, -1]]
    >>> atoms.member.astype(int).tolist()
    [[0, 1], [1, 0], [1, 1]]
    """
    masks = np.asarray(to_numpy(masks), np.bool_)
    if masks.ndim != 3:
        raise InputError(f"masks must have shape (K, H, W); got shape {shape_of(masks.shape)}")
    seen = np.ones(masks.shape[1:], np.bool_)
    if ignore is not None:
        seen = ~np.asarray(to_numpy(ignore), np.bool_)
        if seen.shape != masks.shape[1:]:
            raise InputError(
                f"ignore must have the masks' height and width {shape_of(masks.shape[1:])}; "
                f"got shape {shape_of(seen.shape)}"
            )
    covered = masks.any(0) & seen
    flat = masks[:, covered]
    codes, first = _codes(flat)
    index = np.where(seen, _UNCOVERED, _IGNORED).astype(np.int32)
    index[covered] = codes
    pixels = np.bincount(codes, minlength=len(first)).astype(np.int64)
    return Atoms(np.ascontiguousarray(flat[:, first].T), pixels, index)


def _codes(flat: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    """Number the distinct columns of (K, pixels), and say where each is first found."""
    codes = np.zeros(flat.shape[1], np.int64)
    first = np.zeros(min(1, flat.shape[1]), np.intp)
    for start in range(0, len(flat), _BITS):
        block = flat[start : start + _BITS]
        own = (1 << np.arange(len(block), dtype=np.int64))[::-1] @ block
        _, first, codes = np.unique((codes << _BITS) | own, return_index=True, return_inverse=True)
    return codes, first


def image_atoms(annotation: Annotation | Any, shape: tuple[int, int], /) -> Atoms:
    """Return the atoms of an annotation laid over a map of (height, width); of masks as they are.

    Regions to ignore are no regions; their pixels are left out.

    Examples
    --------
    >>> from sightline.core import Region
    >>> door = Region("door", box=(0, 0, 0.5, 1))
    >>> tree = Region("tree", box=(0.25, 0, 1, 1), flags=("ignore",))
    >>> atoms = image_atoms(Annotation("a.jpg", regions=(door, tree)), (1, 4))
    >>> atoms.pixels.tolist(), atoms.total
    ([1], 1)
    """
    if not isinstance(annotation, Annotation):
        atoms = atoms_of(annotation)
        if atoms.index.shape != shape:
            raise InputError(
                f"masks must have the map's height and width {shape_of(shape)}; "
                f"got {shape_of(atoms.index.shape)}"
            )
        return atoms
    scored = annotation.scored
    masks = np.zeros((len(scored), *shape), np.bool_)
    for mask, region in zip(masks, scored, strict=True):
        mask[:] = region.to_mask(*shape)
    return atoms_of(masks, annotation.ignore_mask(*shape))


@dataclass(frozen=True, slots=True, eq=False)
class Overlaps:
    """What the selections of one line of maps cover, image by image.

    Attributes
    ----------
    atoms : tuple of n Atoms
        The images; several lines share them.
    inside : tuple of n arrays (S,)
        Selected pixels in each group of pixels; shares of tied ones count as such.
    selected : array (n,)
        Selected pixels, NaN where the selection is undefined.

    Examples
    --------
    >>> from sightline.stats.missing_labels import overlaps
    >>> line = overlaps([[[0.1, 0.2, 0.3, 0.4]]], [[[[0, 0, 1, 1]]]], 50)
    >>> len(line), line.selected.tolist(), line.iou().tolist()
    (1, [2.0], [1.0])
    """

    atoms: tuple[Atoms, ...]
    inside: tuple[NDArray[np.float64], ...]
    selected: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.atoms)

    def iou(self) -> NDArray[np.float64]:
        """Return the IoU of each image with the union of all its regions, NaN if there is none."""
        hits = np.array([inside.sum() for inside in self.inside])
        annotated = np.array([atoms.pixels.sum() for atoms in self.atoms], np.float64)
        return iou_of(hits, self.selected, annotated)


def iou_of(hits: Any, selected: Any, annotated: Any) -> NDArray[np.float64]:
    """Return hits / (selected + annotated - hits), NaN where nothing is annotated."""
    found = divide(np.asarray(hits), np.asarray(selected + annotated - hits))
    return np.asarray(np.where(annotated > 0, found, np.nan), np.float64)


def overlaps(
    attention_maps: Maps,
    annotations: Annotations | Sequence[Atoms],
    /,
    percentile: float = 90,
    *,
    selection: str = "percentile",
    sign: Sign | None = None,
    ties: Ties = "share",
) -> Overlaps:
    """Select the pixels of one map for each image and count them by the regions that cover them.

    Parameters
    ----------
    attention_maps
        One map (H, W) for each image; sizes may differ.
    annotations
        For each image its `Annotation`, the masks (K, H, W) of its regions, or its `Atoms`.
    percentile, selection, sign, ties
        As in `compute_iou`. "matched" is refused: it selects by the regions that are left.

    Examples
    --------
    >>> found = overlaps([np.arange(4.0).reshape(1, 4)], [[[[0, 0, 1, 1]]]], 75)
    >>> found.iou()
    array([0.5])
    """
    (threshold,) = parse_selection(selection, [percentile])
    check_choice("ties", ties, get_args(Ties))
    if threshold.kind == "matched":
        raise InputError(
            "selection 'matched' takes as many pixels as are annotated, so that it changes with "
            "every region left out; use 'percentile', 'mass' or 'mean'"
        )
    refuse_signed_selection(sign, threshold)
    if len(attention_maps) != len(annotations):
        raise InputError(
            f"there must be one annotation for each map; got {len(attention_maps)} maps and "
            f"{len(annotations)} annotations"
        )
    found = [
        _overlap(i, *pair, threshold, sign, ties)
        for i, pair in enumerate(zip(attention_maps, annotations, strict=True))
    ]
    atoms, inside, selected = zip(*found, strict=True) if found else ((), (), ())
    return Overlaps(tuple(atoms), tuple(inside), np.array(selected, np.float64))


def _overlap(
    image: int, attention: Any, annotation: Any, threshold: Threshold, sign: Sign | None, ties: Ties
) -> tuple[Atoms, NDArray[np.float64], float]:
    try:
        values = np.asarray(to_numpy(check_maps(attention)))
        if values.ndim != 2:
            raise InputError(f"a map must have shape (H, W); got shape {shape_of(values.shape)}")
        shape = (values.shape[0], values.shape[1])
        atoms = annotation if isinstance(annotation, Atoms) else image_atoms(annotation, shape)
        if atoms.index.shape != shape:
            raise InputError(
                f"the map is {shape_of(shape)}, the regions {shape_of(atoms.index.shape)}"
            )
    except InputError as error:
        raise InputError(f"image {image}: {error}") from error
    check_finite(values[None], [image])
    seen = atoms.index != _IGNORED
    if not seen.any():
        return atoms, np.zeros(0), np.nan
    sign = resolve_sign(values[seen][None], sign, first=image)
    flat, index = apply_sign(values[seen], sign), atoms.index[seen]
    count = budget(flat, 0, threshold, ties)
    covered = index >= 0
    weights = select(flat, count)[covered]
    inside = np.bincount(index[covered], weights, len(atoms.pixels))
    return atoms, inside.astype(np.float64), count
