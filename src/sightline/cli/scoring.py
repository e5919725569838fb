"""What `sightline score` decides before it scores: the sign, and whether maps fit at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, cast

from sightline.records import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from sightline.data import MapFiles
    from sightline.records.choices import Sign

__all__ = ["ReadAs", "check_named_by_image", "choose_sign"]


class ReadAs(NamedTuple):
    """How the values of maps are read.

    Attributes
    ----------
    sign : {"positive", "absolute", "signed"}
        What negative values mean.
    source : {"option", "file", "default"}
        Who says so.
    notes : tuple of str
        Lines about it; none where the file says nothing.
    """

    sign: Sign
    source: Literal["option", "file", "default"]
    notes: tuple[str, ...] = ()


def choose_sign(given: Sign | None, said: Sequence[str]) -> ReadAs:
    """Return the sign given, else that of the file where all maps have one, else positive."""
    if given is not None:
        differs = bool(said) and tuple(said) != (given,)
        note = f"Sign: {given}, as given; the maps' file says {', '.join(said)}"
        return ReadAs(given, "option", (note,) if differs else ())
    if len(said) == 1:
        sign = cast("Sign", said[0])
        return ReadAs(sign, "file", (f"Sign: {sign}, as the maps' file says",))
    note = f"Sign: positive; the maps' file says {', '.join(said)}: give --sign to read all as one"
    return ReadAs("positive", "default", (note,) if said else ())


def check_named_by_image(files: MapFiles, images: Iterable[str], path: Path) -> None:
    """Raise where no map fits an image, and the file says why."""
    from sightline.data import match_images

    if files.unfit and not match_images(files, images).pairs:
        raise InputError(f"{path}: no map fits an image: {files.unfit}")
