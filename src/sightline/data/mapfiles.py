"""Maps made elsewhere: `.npy`, `.npz` and `.safetensors` files, read when they are asked for."""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from io import BytesIO
from math import prod
from pathlib import Path
from tokenize import TokenError
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TypeAlias
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, is_zipfile

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from sightline.core import InputError, to_image_id
from sightline.core.choices import CHANNELS, SIGNS
from sightline.core.geometry import Geometry
from sightline.core.memory import is_out_of_memory
from sightline.data.images import MAX_PIXELS
from sightline.metrics import reduce_channels

if TYPE_CHECKING:
    from typing import Self

    from sightline.core.choices import Channels

__all__ = ["MapFiles", "Matches", "match_images", "open_maps"]

_Read: TypeAlias = Callable[[], Any]
_ENDINGS = (".npy", ".npz", ".safetensors")
# What reading raises on files that are broken, or broken on purpose.
_DAMAGED = (
    *(ValueError, TypeError, LookupError, EOFError, ArithmeticError, RuntimeError, SyntaxError),
    *(AttributeError, BadZipFile, TokenError, zlib.error, struct.error),
)
_UNREADABLE = (OSError, *_DAMAGED, SafetensorError)
_START, _LONGEST_HEADER = 12, 10_000  # bytes of a .npy file; a map's header has 118
_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


class MapFiles(Mapping[str, NDArray[Any]]):
    """Maps by name, each `(height, width)`, read anew whenever one is asked for.

    An archive stays open until `close`, or until the end of a `with` statement.

    Attributes
    ----------
    signs : tuple of str
        How the values are meant to be read, as a file that `sightline explain` wrote says: each
        sign that one of its maps has. Empty for other files.
    unfit : str
        Why the maps of such a file are not named by image and cannot be scored, and what to do;
        "" where nothing is known to be wrong.
    """

    def __init__(
        self,
        readers: Mapping[str, _Read],
        files: ExitStack,
        signs: tuple[str, ...] = (),
        unfit: str = "",
    ) -> None:
        self._readers = readers
        self._files = files
        self.signs = signs
        self.unfit = unfit

    @property
    def sign(self) -> str | None:
        """The sign that all maps have; None where they differ or nothing is said."""
        return self.signs[0] if len(self.signs) == 1 else None

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._readers[name]()  # type: ignore[no-any-return]

    def __iter__(self) -> Iterator[str]:
        return iter(self._readers)

    def __len__(self) -> int:
        return len(self._readers)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the archive, if there is one."""
        self._files.close()


def open_maps(path: str | os.PathLike[str], channels: Channels | None = None) -> MapFiles:
    """Open maps that are stored by image.

    Parameters
    ----------
    path : path
        A folder, searched with its subfolders, of `.npy`, `.npz` and `.safetensors` files that hold
        one map each and are named by image (subfolders joined by "__"); or one `.npz` or
        `.safetensors` file that holds a map per image, named by image. A map has the shape
        (height, width), or that behind leading axes of length 1.
    channels : {"mean_abs", "sum", "max_abs"}, optional
        How maps of shape (3, height, width), of RGB inputs, become one: see `reduce_channels`. All
        maps must then have that shape.

    Returns
    -------
    MapFiles
        The maps by name. They are read one by one, when asked for; nothing is unpickled.

    Raises
    ------
    InputError
        If nothing is found, two maps have one name, a link leaves the folder, or what a file says
        about its maps cannot be understood. A map that does not fit raises when it is read, and
        names its file.
    """
    path = Path(path)
    signs: tuple[str, ...] = ()
    unfit = ""
    with ExitStack() as files:
        if path.is_dir():
            named = [
                (_map_name(file, path), partial(_read_file, file, channels)) for file in _walk(path)
            ]
        elif path.is_file() and path.suffix in (".npz", ".safetensors"):
            with _naming(str(path)):
                entries = files.enter_context(_archive(path))
                signs, unfit = _said(path)
                named = [
                    (to_image_id(key), partial(_read_entry, f"{path} [{key}]", read, channels))
                    for key, read in entries.items()
                ]
        else:
            seen = "" if path.exists() else "; there is no such file or folder"
            raise InputError(
                f"{path}: must be a folder of maps, or one .npz or .safetensors file{seen}"
            )
        return MapFiles(_unique(named, path), files.pop_all(), signs, unfit)


class Matches(NamedTuple):
    """Which map belongs to which image.

    Attributes
    ----------
    pairs : list of (image id, map name)
        In the order of the images.
    images_without_map, maps_without_annotation : list of str
        What is left on either side.

    Examples
    --------
    >>> from sightline.data import match_images
    >>> match_images(["a", "d"], ["a.jpg", "c.jpg"]).pairs
    [('a.jpg', 'a')]
    """

    pairs: list[tuple[str, str]]
    images_without_map: list[str]
    maps_without_annotation: list[str]


def match_images(map_names: Iterable[str], image_ids: Iterable[str]) -> Matches:
    """Find the map of each image: the one named by its id, or by its id without the ending.

    Raises
    ------
    InputError
        If two maps fit one image, or one map fits two images.

    Examples
    --------
    >>> match_images(["a", "b.jpg", "d"], ["a.jpg", "b.jpg", "c.jpg"])
    Matches(pairs=[('a.jpg', 'a'), ('b.jpg', 'b.jpg')], images_without_map=['c.jpg'],
            maps_without_annotation=['d'])
    """
    names = dict.fromkeys(map_names)
    owner: dict[str, str] = {}
    without = []
    for image_id in image_ids:
        stem = os.path.splitext(image_id)[0]  # noqa: PTH122  # an id is no path
        fitting = [name for name in dict.fromkeys((image_id, stem)) if name in names]
        if len(fitting) > 1:
            raise InputError(f"two maps fit image {image_id!r}: {fitting[0]!r} and {fitting[1]!r}")
        if not fitting:
            without.append(image_id)
        elif fitting[0] in owner:
            both = f"{owner[fitting[0]]!r} and {image_id!r}"
            raise InputError(f"map {fitting[0]!r} fits two images: {both}; name it by the whole id")
        else:
            owner[fitting[0]] = image_id
    pairs = [(image_id, name) for name, image_id in owner.items()]
    return Matches(pairs, without, [name for name in names if name not in owner])


def _walk(folder: Path) -> Iterator[Path]:
    """Yield the map files of a folder in order; a link that leaves it raises."""
    root = folder.resolve()
    for place, folders, files in os.walk(folder):
        folders.sort()
        for path in (Path(place, name) for name in sorted(folders + files)):
            if path.is_symlink() and not path.resolve().is_relative_to(root):
                raise InputError(f"{path}: is a link that leaves the folder {folder}")
            if path.suffix in _ENDINGS and path.is_file():
                yield path


def _unique(named: Iterable[tuple[str, _Read]], path: Path) -> dict[str, _Read]:
    readers: dict[str, _Read] = {}
    for name, read in named:
        if name in readers:
            raise InputError(f"{path}: two maps are named {name!r} ('/' is '__', ' ' is '_')")
        readers[name] = read
    if not readers:
        raise InputError(f"{path}: holds no maps ({', '.join(_ENDINGS)})")
    return readers


def _map_name(file: Path, folder: Path) -> str:
    with _naming(str(file)):
        return to_image_id(file.relative_to(folder).with_suffix("").as_posix())


def _read_file(file: Path, channels: Channels | None) -> NDArray[Any]:
    """Read the one map of a file."""
    with _naming(str(file)):
        if file.suffix == ".npy":
            with file.open("rb") as stream:
                return _as_map(_numbers(stream, file.stat().st_size), channels)
        with _archive(file) as entries:
            if len(entries) != 1:
                raise InputError(
                    f"a file in a folder must hold one map, this one holds {len(entries)}; "
                    "give a file with many maps by itself"
                )
            (read,) = entries.values()
            return _as_map(read(), channels)


def _read_entry(where: str, read: _Read, channels: Channels | None) -> NDArray[Any]:
    with _naming(where):
        return _as_map(read(), channels)


@contextmanager
def _archive(file: Path) -> Iterator[dict[str, _Read]]:
    """Yield the entries of an archive by name, to be read while it is open."""
    if file.suffix == ".npz":
        if not is_zipfile(file):
            raise InputError("is not a .npz archive")
        with ZipFile(file) as archive:
            yield _zipped(archive)
    else:
        with safe_open(file, framework="numpy") as tensors:
            yield {key: partial(_tensor, tensors, key) for key in tensors.keys()}  # noqa: SIM118


def _zipped(archive: ZipFile) -> dict[str, _Read]:
    """Return the entries of a .npz archive by name; one that is there twice is an error."""
    entries: dict[str, _Read] = {}
    for info in archive.infolist():
        key = info.filename.removesuffix(".npy")
        if key in entries:
            raise InputError(f"two maps are named {key!r}")
        entries[key] = partial(_unzip, archive, info)
    return entries


def _unzip(archive: ZipFile, info: Any) -> NDArray[Any]:
    if info.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
        raise InputError("is packed in a way that NumPy does not write")
    try:
        with archive.open(info) as stream:
            return _numbers(stream, info.file_size)
    except _DAMAGED as error:
        if isinstance(error, InputError):
            raise
        raise InputError("is not a .npy array of numbers, or is damaged") from error


def _tensor(tensors: Any, key: str) -> Any:
    _check_count(tensors.get_slice(key).get_shape())
    return tensors.get_tensor(key)


def _numbers(stream: IO[bytes], size: int) -> NDArray[Any]:
    """Read the array in a stream of `size` bytes; what it declares is judged before it is read."""
    try:
        shape, by_column, dtype = _header(stream)
    except _DAMAGED as error:  # NumPy's advice to unpickle it is left out
        raise InputError("is not a .npy array of numbers, or is damaged") from error
    if dtype.hasobject:
        raise InputError("is not a .npy array of numbers, or is damaged")
    _check_kind(dtype)  # a text of any length is one value
    _check_count(shape)
    missing = "is not a .npy array of numbers, or is damaged: values are missing"
    if prod(shape) * dtype.itemsize > size:
        raise InputError(missing)
    flat = np.empty(prod(shape), dtype)
    if stream.readinto(flat.view(np.uint8).data) < flat.nbytes:  # type: ignore[attr-defined]
        raise InputError(missing)
    if by_column:  # by rows from here on, so that scoring need not hold it in both orders
        return np.ascontiguousarray(flat.reshape(shape[::-1]).T)
    return flat.reshape(shape)


def _header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read what stands before the values; it says how long it is, which may be anything."""
    start = stream.read(_START)
    version = start[6], start[7]
    short = version == (1, 0)
    (length,) = struct.unpack_from("<H" if short else "<I", start, 8)
    read = 2 if short else 0  # of the header, with the start
    if not read <= length <= _LONGEST_HEADER:  # fewer bytes than none would be all there are
        raise InputError(f"header of {length:,} bytes")
    whole = BytesIO(start + stream.read(length - read))
    return _HEADERS[np.lib.format.read_magic(whole)](whole)


def _check_kind(dtype: np.dtype[Any]) -> None:
    if dtype.kind not in "fiub":
        raise InputError(f"map must hold real numbers, got {dtype}")


def _check_count(shape: Sequence[int]) -> None:
    """Raise where more values are declared than the largest image has pixels."""
    if prod(shape) > MAX_PIXELS:
        seen = " x ".join(map(str, shape))
        raise InputError(f"map must have at most {MAX_PIXELS:,} values, the file declares {seen}")


def _said(file: Path) -> tuple[tuple[str, ...], str]:
    """Return the signs of the maps of a file, and why they cannot be scored, from its metadata."""
    if file.suffix != ".safetensors":
        return (), ""
    with safe_open(file, framework="numpy") as tensors:
        text = (tensors.metadata() or {}).get("sightline")
    if text is None:
        return (), ""
    try:
        content = json.loads(text)
        entries = content["maps"]
        signs = tuple(dict.fromkeys(entry["sign"] for entry in entries.values()))
        unfit = _unfit(entries, on_grid=not content["upsampling"])
    except _DAMAGED as error:
        what = "must be what `sightline explain --maps` writes"
        raise InputError(f"metadata 'sightline' {what}: {error!r}") from error
    for sign in signs:
        if sign not in SIGNS:
            known = ", ".join(SIGNS)
            raise InputError(f"metadata 'sightline': sign must be among {known}, got {sign!r}")
    return signs, unfit


def _unfit(entries: Mapping[str, Mapping[str, Any]], *, on_grid: bool) -> str:
    """Return why maps are not named by image alone, and what to do; "" where they are."""
    if all(entry["image"] == key for key, entry in entries.items()):
        return ""
    several = {
        what: dict.fromkeys(str(entry[what]) for entry in entries.values())
        for what in ("method", "layer", "head")
    }
    found = [f"{what}s {_listed(names)}" for what, names in several.items() if len(names) > 1]
    if found:
        said = f"the file holds several maps of an image: {', '.join(found)}"
        return f"{said}; write one of each, with one --method, --layer and --head"
    ways = [Geometry.from_dict(entry["geometry"]) for entry in entries.values()]
    if not all(np.allclose(way.visible_box, (0, 0, 1, 1), rtol=0, atol=1e-6) for way in ways):
        said = "the maps show a crop, not the whole image"
        return f"{said}; make them with --fit squash, letterbox or native"
    if on_grid:
        said = "the maps are on a grid that holds the padding of a letterbox, too"
        return f"{said}; write them with --resolution pixels"
    return ""


def _listed(names: Iterable[str], shown: int = 4) -> str:
    every = list(names)
    return ", ".join(every[:shown] + ["…"] * (len(every) > shown))


@contextmanager
def _naming(where: str) -> Iterator[None]:
    """Turn what reading a bad file raises into an error that names it; no lack of memory."""
    try:
        yield
    except _UNREADABLE as error:
        if is_out_of_memory(error):
            raise
        raise InputError(f"{where}: {error}") from error


def _as_map(array: Any, channels: Channels | None) -> NDArray[Any]:
    """Return an array without its leading axes of length 1 and with its channels reduced."""
    shape = " x ".join(map(str, array.shape)) or "a single number"
    _check_kind(array.dtype)
    axes = 2 if channels is None else 3
    while array.ndim > axes and array.shape[0] == 1:
        array = array[0]
    if channels is not None:
        if array.ndim != 3 or array.shape[0] != 3 or 0 in array.shape:
            raise InputError(f"map must be 3 x height x width for its channels, got {shape}")
        return np.asarray(reduce_channels(array, channels))
    if array.ndim == 3 and array.shape[0] == 3:
        raise InputError(
            f"map must be height x width, got {shape}: if these are the channels of an RGB input, "
            f"say how they become one map with channels: {', '.join(CHANNELS)}"
        )
    if array.ndim != 2 or 0 in array.shape:
        raise InputError(f"map must be height x width, got {shape}")
    return np.asarray(array)
