"""Maps with their annotations, checked: arrays of one size or of several."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.core import InputError
from sightline.core.arrays import shape_of, to_numpy
from sightline.metrics import resolve_sign
from sightline.metrics._border import check_maps, check_masks, nonfinite_error

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from sightline.core.choices import Sign

__all__ = ["Scenes", "check_finite", "check_sign"]


@dataclass(frozen=True, slots=True)
class Scenes:
    """A map, its annotated pixels, and pixels to ignore or to see (or None) for each image."""

    maps: list[NDArray[Any]]
    masks: list[NDArray[np.bool_]]
    pixels: list[NDArray[np.bool_] | None]

    @classmethod
    def read(cls, maps: Any, masks: Any, pixels: Any, name: str) -> Scenes:
        """Check and gather what belongs to each image."""
        found = _read_maps(maps)
        inside = _each("masks", masks, found)
        others = [None] * len(found) if pixels is None else _each(name, pixels, found)
        if any(mask is None for mask in inside):
            raise InputError(f"masks must hold a mask for each of {len(found)} maps; found None")
        return cls(found, inside, others)  # type: ignore[arg-type]

    def __len__(self) -> int:
        return len(self.maps)

    def kept_alike(
        self, images: NDArray[np.int64]
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.bool_]]]:
        """Group images of one size by the pixels that they ignore.

        Yields positions in `images`, and the pixels that are left.
        """
        groups: dict[bytes, list[int]] = {}
        shape = self.maps[images[0]].shape
        for position, image in enumerate(images):
            ignored = self.pixels[image]
            key = b"" if ignored is None or not ignored.any() else np.packbits(ignored).tobytes()
            groups.setdefault(key, []).append(position)
        for positions in groups.values():
            ignored = self.pixels[images[positions[0]]]
            keep = np.ones(shape, np.bool_) if ignored is None else ~ignored
            yield np.array(positions), keep


def check_finite(maps: NDArray[Any], images: Sequence[int] | NDArray[np.int64]) -> None:
    """Raise for the first map with NaN or infinity among those of some images."""
    finite = np.isfinite(maps).all(axis=tuple(range(1, maps.ndim)))
    if not finite.all():
        first = int(np.argmin(finite))
        raise nonfinite_error(int(images[first]), maps[first].astype(np.float64).ravel())


def check_sign(
    maps: NDArray[Any], images: Sequence[int] | NDArray[np.int64], sign: Sign | None
) -> None:
    """Raise for the first map with negative values among those of some images, without a sign."""
    if sign is None:
        for image, values in zip(images, maps, strict=True):
            resolve_sign(np.atleast_2d(values), first=int(image))


def _read_maps(maps: Any) -> list[NDArray[Any]]:
    """Return one array (H, W) for each image."""
    if hasattr(maps, "shape"):
        stacked = to_numpy(check_maps(maps))
        if stacked.ndim != 3:
            raise InputError(f"maps must have shape (n, H, W); got {shape_of(stacked.shape)}")
        return list(stacked)
    found = [to_numpy(check_maps(one)) for one in maps]
    if not found:
        raise InputError("maps must hold at least one map; got none")
    for index, one in enumerate(found):
        if one.ndim != 2:
            raise InputError(
                "maps must hold one map (H, W) for each image; "
                f"entry {index} has shape {shape_of(one.shape)}"
            )
    return found


def _each(name: str, given: Any, maps: list[NDArray[Any]]) -> list[NDArray[np.bool_] | None]:
    """Return one boolean array of its map's size for each image."""
    given = given if hasattr(given, "shape") else list(given)
    if len(given) != len(maps):
        raise InputError(
            f"{name} must hold one array for each of {len(maps)} maps; got {len(given)}"
        )
    if hasattr(given, "shape"):  # all of one size: check them at once
        sizes = {one.shape for one in maps}
        if len(sizes) == 1:
            stacked = np.broadcast_to(0, (len(maps), *sizes.pop()))
            return list(check_masks(to_numpy(given), stacked, name))
    pairs = zip(given, maps, strict=True)
    return [
        None if one is None else check_masks(to_numpy(one), one_map, name) for one, one_map in pairs
    ]
