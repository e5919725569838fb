"""Maps made elsewhere as a source."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

import numpy as np

from sightline.data.mapfiles import match_images, open_maps
from sightline.records import InputError
from sightline.runner.sources import Source, read_as

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sightline.data.mapfiles import MapFiles
    from sightline.study import MethodEntry, Study

__all__ = ["given_source"]


def given_source(
    study: Study, method: MethodEntry, images: Sequence[str], every: Sequence[str]
) -> tuple[Source, list[str]]:
    """Return the source of an entry that names maps made elsewhere, and notes on what is odd.

    That is: images that lack a map, and maps with values below 0 that are read as 0.

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
        If the maps cannot be read, or none belongs to an image of the study.
    """
    where = f"methods: {method.name}"
    total = sha256()
    below: set[str] = set()
    try:
        with open_maps(method.params["maps"]) as maps:
            if maps.unfit:
                raise InputError(f"{method.params['maps']}: {maps.unfit}")
            matches = match_images(maps, images)
            for image, name in match_images(maps, every).pairs:
                content, negative = _content(maps, name)
                total.update(f"{image} ".encode() + content)
                below.update([image] * negative)
            said = maps.sign
    except InputError as error:
        raise InputError(f"{where}: {error}") from error
    if not matches.pairs:
        some = ", ".join(map(repr, images[:3]))
        raise InputError(
            f"{where}: no map of {method.params['maps']} is named by an image of the study ({some})"
        )
    source = Source(
        "given",
        method.params.get("model", ""),
        method.name,
        sign=study.sign or method.params.get("sign") or read_as(said or "positive"),
        weights=total.hexdigest()[:16],
        maps=str(method.params["maps"]),
    )
    notes = []
    if lacking := matches.images_without_map:
        some = ", ".join(lacking[:3]) + ", …" * (len(lacking) > 3)
        notes.append(f"No map of {method.name} for {len(lacking)} of {len(images)} images: {some}")
    if source.sign == "positive" and (odd := below.intersection(dict(matches.pairs))):
        key = "sign" if study.sign else "params.sign"
        notes.append(
            f"Maps of {method.name} with values below 0: {len(odd)} of {len(matches.pairs)}; read "
            f"as positive, these count as 0 ({key}: absolute: as much as those above; "
            f"{key}: signed: less than 0)"
        )
    return source, notes


def _content(maps: MapFiles, name: str) -> tuple[bytes, bool]:
    """Return a hash of a map, and whether it has values below 0.

    A map that cannot be read is reported when it is to be scored.
    """
    try:
        values = np.ascontiguousarray(maps[name])
    except InputError as error:
        return f"unreadable: {error}".encode(), False
    content = f"{values.dtype} {values.shape} ".encode() + values.tobytes()
    return sha256(content).digest(), bool((values < 0).any())
