"""Maps made elsewhere as a source."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.core import InputError, MapError
from sightline.core.choices import get_scoring_sign
from sightline.data.mapfiles import match_images, open_maps
from sightline.metrics import resolve_sign
from sightline.study.plan.sources import Source

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sightline.core.choices import Sign
    from sightline.data.mapfiles import MapFiles
    from sightline.study import MethodEntry, Study

__all__ = ["given_source"]


def given_source(
    study: Study, method: MethodEntry, images: Sequence[str], every: Sequence[str]
) -> tuple[Source, list[str]]:
    """Return the source of an entry that names precomputed maps, and notes on images without.

    Parameters
    ----------
    study, method
        The study, and its entry.
    images, every : sequence of str
        The images that are used, and all of the data set: the digest is over the maps of the
        latter, so that more can be used later.

    Raises
    ------
    InputError
        If the maps cannot be read, none belongs to an image of the study, or a map of one has
        negative values and neither the study, the entry nor the file has a sign.
    """
    where = f"methods: {method.name}"
    total = sha256()
    params = {key: method.params[key] for key in ("channels",) if key in method.params}
    faults = {}
    try:
        with open_maps(method.params["maps"], params.get("channels")) as maps:
            if maps.unfit:
                raise InputError(f"{method.params['maps']}: {maps.unfit}")
            matches = match_images(maps, images)
            sign, notes = _choose_sign(study, method, maps)
            used = dict(matches.pairs)
            for image, name in match_images(maps, every).pairs:
                values = _read(maps, name)
                total.update(f"{image} ".encode() + _hash(values))
                if image not in used:
                    continue
                if isinstance(values, str):
                    faults[image] = values
                else:
                    _check_sign(image, values, sign)
    except InputError as error:
        raise InputError(f"{where}: {error}") from error
    if not matches.pairs:
        path, some = method.params["maps"], ", ".join(map(repr, images[:3]))
        raise InputError(f"{where}: no map of {path} is named by an image of the study ({some})")
    if len(faults) == len(used):
        raise InputError(f"{where}: no map can be read: {next(iter(faults.values()))}")
    source = Source(
        "given",
        method.params.get("model", ""),
        method.name,
        params=params,
        sign=sign or "positive",
        weights=total.hexdigest()[:16],
        maps=str(method.params["maps"]),
    )
    if lacking := matches.images_without_map:
        some = ", ".join(lacking[:3]) + ", …" * (len(lacking) > 3)
        notes.append(f"No map of {method.name} for {len(lacking)} of {len(images)} images: {some}")
    return source, notes


def _choose_sign(
    study: Study, method: MethodEntry, maps: MapFiles
) -> tuple[Sign | None, list[str]]:
    """Return the sign that study, entry or file state, None without, and notes on it."""
    stated: Any = study.sign or method.params.get("sign")
    own: Any = maps.sign
    if stated is not None or own is None:
        return stated, []
    sign = get_scoring_sign(own)
    note = f"Maps of {method.name} are {own}: the part above 0 is scored (params.sign: {own} ranks "
    return sign, [] if sign == own else [f"{note}by all values and has no energy)"]


def _read(maps: MapFiles, name: str) -> NDArray[Any] | str:
    """Return a map; or why it cannot be read, which is an error when it is to be scored."""
    try:
        return np.ascontiguousarray(maps[name])
    except InputError as error:
        return str(error)


def _hash(values: NDArray[Any] | str) -> bytes:
    """Return a hash of a map."""
    if isinstance(values, str):
        return f"unreadable: {values}".encode()
    return sha256(f"{values.dtype} {values.shape} ".encode() + values.tobytes()).digest()


def _check_sign(image: str, values: NDArray[Any], sign: Sign | None) -> None:
    """Raise where a map has negative values and no sign says what they mean."""
    try:
        resolve_sign(values, sign)
    except MapError as error:
        raise InputError(f"image {image!r}: {error.image_message}") from error
