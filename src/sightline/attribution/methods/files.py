"""Maps to files, with how they were made; one map per image can be scored as it is."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile, ZipInfo

import numpy as np

from sightline.attribution.methods.maps import Maps
from sightline.core import InputError, to_image_id
from sightline.core.errors import shown
from sightline.data.outputs import check_output, replacing

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from sightline.core.geometry import Geometry

__all__ = ["WrittenMaps", "can_be_scored", "check_maps_path", "covers_image", "write_maps"]

_ENDINGS = (".safetensors", ".npz")
_MOST_BYTES = 2 << 30


@dataclass(frozen=True, slots=True)
class WrittenMaps:
    """What a file of maps holds.

    Attributes
    ----------
    keys : tuple of str
        Names of the maps in the file.
    by_image : bool
        Whether each is named by its image alone and covers it, so that `sightline score` takes it.
    """

    keys: tuple[str, ...]
    by_image: bool


def check_maps_path(path: str | os.PathLike[str]) -> Path:
    """Return `path` when maps can be written there.

    Raises
    ------
    InputError
        If the ending is not one of .safetensors, .npz, or the folder does not exist.
    """
    return check_output(path, "a file of maps", _ENDINGS)


def covers_image(geometry: Geometry, *, on_grid: bool = True) -> bool:
    """Return whether a map shows the whole image, and on its grid nothing but the image."""
    boxes = [geometry.visible_box] + [geometry.content_box] * on_grid
    return bool(np.allclose(boxes, (0, 0, 1, 1), rtol=0, atol=1e-6))


def can_be_scored(found: Sequence[Maps], resolution: str | int = "grid") -> bool:
    """Return whether maps, once written, are one for each image and cover the whole of it."""
    single = len(found) == 1 and len(found[0].layers) == len(found[0].heads) == 1
    return single and all(
        covers_image(geometry, on_grid=resolution == "grid")
        for image in found[0].geometries
        for geometry in image
    )


def write_maps(
    maps: Maps | Sequence[Maps],
    names: Sequence[str],
    path: str | os.PathLike[str],
    *,
    resolution: str | int = "grid",
) -> WrittenMaps:
    """Write maps as float32 to .safetensors, with how they were made, or to .npz, bare.

    Where there is one map per image, and it covers the image, its key is the image's id; otherwise
    method, layer and head follow. The metadata of .safetensors has one entry, "sightline": JSON
    with model, upsampling and, by key, image, method, layer, head, sign, target, parameters and
    the geometry of the grid.

    Parameters
    ----------
    maps : Maps or sequence of Maps
        From `explain`, on the model's grid, of the same images.
    names : sequence of str
        The images' names.
    path : path
        A file of that name is replaced in one step.
    resolution : {"grid", "pixels"} or int
        As they are; bilinearly interpolated to the pixels of the image, NaN where the model did
        not see; or so that the image's longer side has this many.

    Raises
    ------
    InputError
        If there are no maps, they are on pixels already, two of them would have one name, or they
        would take more than 2 GiB.
    """
    path = check_maps_path(path)
    found = [maps] if isinstance(maps, Maps) else list(maps)
    _check_found(found)
    ids = _ids(names, found)
    by_image = can_be_scored(found, resolution)
    arrays: dict[str, NDArray[np.float32]] = {}
    about: dict[str, dict[str, Any]] = {}
    for one in found:
        for number, image_id in enumerate(ids):
            for entry, values in _entries(one[number], image_id, resolution):
                key = image_id if by_image else _key(entry)
                if key in about:
                    raise InputError(_same_key(about[key], entry))
                arrays[key], about[key] = values, entry
        _check_size(arrays)
    content = {
        "model": found[0].model,
        "upsampling": "" if resolution == "grid" else "bilinear",
        "maps": about,
    }
    with replacing(path) as part:
        _write(arrays, {"sightline": json.dumps(content)}, part, path.suffix.lower())
    return WrittenMaps(tuple(arrays), by_image)


def _check_found(found: list[Maps]) -> None:
    if not found:
        raise InputError("maps must be those of one method or more, got none")
    for one in found:
        if one.upsampling:
            raise InputError(
                f"maps must be on the model's grid, as explain gives them; those of {one.method} "
                f"are on pixels ({one.upsampling}): resolution='pixels' writes them so"
            )


def _same_key(first: dict[str, Any], second: dict[str, Any]) -> str:
    targets = " and ".join(f"{one['target']!r}" for one in (first, second))
    return (
        f"two maps would have one name: both are of {first['method']} and {first['image']}, with "
        f"the targets {targets}; write them to a file each"
    )


def _ids(names: Sequence[str], found: list[Maps]) -> list[str]:
    ids = [to_image_id(name) for name in names]
    for one in found:
        if len(one) != len(ids):
            raise InputError(f"names must be one for each of {len(one)} images, got {len(ids)}")
    for number, image_id in enumerate(ids):
        if image_id in ids[:number]:
            raise InputError(
                f"two images would have one map: both are named {image_id!r}; "
                "give the folder above them"
            )
    return ids


def _entries(
    maps: Maps, image_id: str, resolution: str | int
) -> Iterator[tuple[dict[str, Any], NDArray[np.float32]]]:
    """Yield the maps of one image, each with what is known about it."""
    source = maps.geometries[0][0].source
    shown = maps if resolution == "grid" else maps.to_image(_size(source, resolution))
    for layer, values, geometry in zip(
        maps.layers, shown.values[0], maps.geometries[0], strict=True
    ):
        for head, value in zip(maps.heads, values, strict=True):
            yield (
                {
                    "image": image_id,
                    "method": maps.method,
                    "layer": layer,
                    "head": head,
                    "sign": maps.sign,
                    "target": maps.targets[0] if maps.targets else "",
                    "params": dict(maps.params),
                    "geometry": geometry.to_dict(),
                },
                np.ascontiguousarray(value),
            )


def _size(source: tuple[int, int], resolution: str | int) -> tuple[int, int]:
    if resolution == "pixels":
        return source
    if not isinstance(resolution, int) or resolution < 1:
        raise InputError(
            f"resolution must be 'grid', 'pixels' or 1 or more, got {shown(resolution)}"
        )
    scale = resolution / max(source)
    return max(1, round(source[0] * scale)), max(1, round(source[1] * scale))


def _check_size(arrays: dict[str, NDArray[np.float32]]) -> None:
    total = sum(values.nbytes for values in arrays.values())
    if total > _MOST_BYTES:
        raise InputError(
            f"maps must take at most {_MOST_BYTES >> 30} GiB, got {total / (1 << 30):.1f}: "
            "write fewer, or at a lower resolution"
        )


def _key(entry: dict[str, Any]) -> str:
    parts = [entry["image"], entry["method"]]
    parts += [f"{name}{entry[name]}" for name in ("layer", "head") if entry[name] is not None]
    return "__".join(parts)


def _write(
    arrays: dict[str, NDArray[np.float32]], metadata: dict[str, str], path: Path, ending: str
) -> None:
    if ending == ".safetensors":
        from safetensors.numpy import save

        path.write_bytes(save(arrays, metadata))  # save_file would hide it from others
        return
    with ZipFile(path, "w") as archive:  # numpy's savez takes no map that is named "file"
        for key, values in arrays.items():
            with archive.open(ZipInfo(f"{key}.npy"), "w", force_zip64=True) as file:
                np.lib.format.write_array(file, values, allow_pickle=False)
