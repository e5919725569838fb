"""Choices that many layers know: what may be said, written once. Light to import."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

__all__ = [
    "CHANNELS",
    "FITS",
    "SIGNS",
    "By",
    "Channels",
    "Direction",
    "Fit",
    "Labelling",
    "Layer",
    "Sign",
    "Ties",
    "get_scoring_sign",
]

# How values of a map are read: those below 0 mean nothing, as much as others, or the contrary.
Sign: TypeAlias = Literal["positive", "absolute", "signed"]
SIGNS: tuple[Sign, ...] = get_args(Sign)
# How the three channels of an attribution of an RGB input become one map.
Channels: TypeAlias = Literal["mean_abs", "sum", "max_abs"]
CHANNELS: tuple[Channels, ...] = get_args(Channels)
# What equal pixels at the end of a selection get.
Ties: TypeAlias = Literal["share", "include"]
# Which values of a metric are better.
Direction: TypeAlias = Literal["higher", "lower", "neither"]
# How an image is brought to the input of a model.
Fit: TypeAlias = Literal["squash", "crop", "letterbox", "native"]
FITS: tuple[Fit, ...] = get_args(Fit)
# Which instances of a facade's parts are annotated.
Labelling: TypeAlias = Literal["exhaustive", "representative", "salient"]
# What the two sides of a comparison are.
By: TypeAlias = Literal["model", "method", "layer"]
# Which layer of a line stands in a table: one, or how it is chosen.
Layer: TypeAlias = int | Literal["best", "split", "last"]


def get_scoring_sign(sign: Sign) -> Sign:
    """Return how maps of a method's sign are scored by default.

    Of signed maps, which have no energy, it is the part above 0.

    Examples
    --------
    >>> get_scoring_sign("signed"), get_scoring_sign("absolute")
    ('positive', 'absolute')
    """
    return "positive" if sign == "signed" else sign
