"""COCO's run lengths: read, checked, drawn, and the box around what they set.

Nothing here knows about files or labels; what does not fit raises `ValueError`, and callers say
where it came from.
"""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

__all__ = ["decode_rle", "rle_runs", "runs_box"]

# A few characters of run lengths can declare any size; no image that is read is larger than this.
_LARGEST = 80_000_000


def decode_rle(rle: Mapping[str, Any]) -> NDArray[np.bool_]:
    """Return the mask of a COCO run-length encoding, compressed or not; see `rle_runs`."""
    height, width, runs = rle_runs(rle)
    values = np.arange(len(runs)) % 2 == 1
    return np.repeat(values, runs).reshape(width, height).T


def rle_runs(rle: Mapping[str, Any]) -> tuple[int, int, NDArray[np.int64]]:
    """Return height, width and the runs of a COCO run-length encoding, compressed or not.

    Parameters
    ----------
    rle : mapping
        `size` is (height, width); `counts` is a list of runs or COCO's string. Runs go down the
        columns and start with background.

    Raises
    ------
    ValueError
        If the runs are not whole numbers >= 0 or do not sum to height x width.
    """
    try:
        height, width = map(index, rle["size"])
        counts = rle["counts"]
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError("RLE needs 'size' [height, width] and 'counts'") from error
    if height < 1 or width < 1 or height * width > _LARGEST:
        raise ValueError(f"RLE size must be 1 to {_LARGEST} pixels, got {height} x {width}")
    runs = _uncompress(counts) if isinstance(counts, str | bytes) else _whole_numbers(counts)
    if runs.size and not 0 <= int(runs.min()) <= int(runs.max()) <= _LARGEST:
        bad = runs.min() if runs.min() < 0 else runs.max()
        raise ValueError(f"RLE counts must be whole numbers from 0 to {_LARGEST}, got {bad}")
    if runs.sum() != height * width:
        raise ValueError(f"RLE counts sum to {runs.sum()}, not to {height} x {width}")
    return height, width, runs


def runs_box(runs: NDArray[np.int64], height: int) -> tuple[int, int, int, int] | None:
    """Return the half-open pixels x0, y0, x1, y1 around what runs set, None when that is nothing.

    It is the box of the mask, without drawing it.
    """
    ends, lengths = runs.cumsum()[1::2], runs[1::2]
    ends, lengths = ends[lengths > 0], lengths[lengths > 0]
    if not ends.size:
        return None
    first, top = np.divmod(ends - lengths, height)
    last, bottom = np.divmod(ends - 1, height)
    if (first != last).any():  # a run goes on at the top of the next column
        return int(first[0]), 0, int(last[-1]) + 1, height
    return int(first[0]), int(top.min()), int(last[-1]) + 1, int(bottom.max()) + 1


def _whole_numbers(counts: Iterable[Any]) -> NDArray[np.int64]:
    try:
        return np.array([index(count) for count in counts], np.int64)
    except (TypeError, OverflowError) as error:
        raise ValueError(f"RLE counts must be whole numbers >= 0: {error}") from error


def _uncompress(counts: str | bytes) -> NDArray[np.int64]:
    """Return the runs in COCO's string: 5 bits a character, from the fourth run on differences."""
    text = counts.encode("ascii", "replace") if isinstance(counts, str) else counts
    bits = np.frombuffer(text, np.uint8).astype(np.int64) - 48
    strange = (bits < 0) | (bits > 63)
    if strange.any() or (isinstance(counts, str) and not counts.isascii()):
        raise ValueError("RLE counts hold a character that COCO never writes")
    ends = np.flatnonzero(bits & 32 == 0)
    if len(text) and (not ends.size or ends[-1] + 1 < len(text)):
        raise ValueError("RLE counts end in the middle of a number")
    starts = np.concatenate([[0], ends[:-1] + 1])[: ends.size]
    place = np.arange(len(text)) - np.repeat(starts, ends - starts + 1)
    if place.max(initial=0) >= 12:  # 60 bits
        raise ValueError("RLE counts hold a number with more digits than COCO writes")
    values = np.add.reduceat((bits & 31) << (5 * place), starts) if ends.size else bits
    values -= np.where(bits[ends] & 16, 1 << (5 * (place[ends] + 1)), 0)
    values[1::2], values[2::2] = values[1::2].cumsum(), values[2::2].cumsum()
    return values
