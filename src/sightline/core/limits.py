"""Bounds of what a study may ask for: beyond them it is refused before anything is expanded."""

from __future__ import annotations

from itertools import cycle
from math import inf
from typing import TYPE_CHECKING, Any, TypeAlias

from sightline.core.errors import InputError, shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

__all__ = [
    "MAX_ENTRIES",
    "MAX_PARAMETERS",
    "MAX_SOURCES",
    "MAX_YAML_VALUES",
    "PARAMETER_LIMITS",
    "check_model_config",
    "read_number",
]

MAX_YAML_VALUES = 10_000
"""Values in a YAML file."""
MAX_ENTRIES = 1_000
"""Entries of one list of a study: its models, methods, layers, heads, targets, seeds, …"""
MAX_SOURCES = 100_000
"""Models × methods × targets × seeds of a study."""
MAX_PARAMETERS = 200_000_000_000
"""Weights of a transformer, estimated from its configuration."""
PARAMETER_LIMITS: Mapping[str, int] = {
    "steps": 2_000,
    "samples": 100_000,
    "masks": 100_000,
    "cells": 1_000,
    "segments": 2_000,  # a fit takes memory by their square
    "channels": 1_000_000,
}
"""The largest value of each parameter of a method that multiplies its work."""

# The largest numbers of a model's config.json, by what its keys end with.
_CONFIG_LIMITS = {
    "layers": 1_000,
    "depth": 1_000,
    "depths": 1_000,
    "heads": 1_024,
    "stages": 1_000,
    "window_size": 256,
    "patch_size": 4_096,
    "image_size": 16_384,
    "height": 16_384,
    "width": 65_536,
    "channels": 65_536,
    "hidden_size": 65_536,
    "hidden_sizes": 65_536,
    "embedding_size": 65_536,
    "d_model": 65_536,
    "projection_dim": 65_536,
    "queries": 65_536,
    "mlp_ratio": 1_024,
    "embed_dim": 65_536,
    "intermediate_size": 1_048_576,
    "ffn_dim": 1_048_576,
    "position_embeddings": 10_000_000,
    "num_labels": 1_000_000,
    "tokens": 65_536,
    "vocab_size": 10_000_000,
}
_DEEPEST = 8
_MAX_NAMES = 100_000  # entries of a list that says no sizes: names of classes, say
# Keys of how deep and how wide a network is, and what is taken where a configuration has neither.
_LAYERS = ("num_hidden_layers", "encoder_layers", "num_layers", "depth")
_WIDTHS = ("hidden_size", "d_model", "embed_dim", "hidden_sizes", "embedding_size")
_USUAL_LAYERS, _USUAL_WIDTH, _USUAL_IMAGE, _USUAL_PATCH = 12, 768, 224, 16

_Number: TypeAlias = int | float


def check_model_config(config: Mapping[str, Any], path: Path | str) -> None:
    """Raise where a model's configuration has numbers beyond those of any sane network.

    Parameters
    ----------
    config
        What its config.json holds.
    path
        Of the file, for the message.

    Examples
    --------
    >>> check_model_config({"num_hidden_layers": 1_000_000}, "vit/config.json")
    Traceback (most recent call last):
        ...
    sightline.core.errors.InputError: ...
    """
    for key, value, limit in _iter_sizes(config):
        if isinstance(value, list):
            longest = MAX_ENTRIES if limit < inf else _MAX_NAMES
            if len(value) > longest:
                text = f"{key} must have at most {longest:,} entries, got {len(value):,}"
                raise InputError(f"{path}: {text}")
        elif (number := read_number(value)) is not None and number > limit:
            raise InputError(f"{path}: {key} must be at most {limit:,}, got {shown(value)}")
    for part in _iter_parts(config):
        weights = _estimate_weights(part)
        if sum(weights.values()) > MAX_PARAMETERS:
            most = max(weights, key=weights.__getitem__)
            raise InputError(
                f"{path}: its sizes must make at most {MAX_PARAMETERS:,} weights, got {most}"
            )


def read_number(value: Any) -> _Number | None:
    """Return a number, also one that is written as text; None for anything else.

    Examples
    --------
    >>> read_number("1e3"), read_number(7), read_number(True), read_number("many")
    (1000.0, 7, None, None)
    """
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if number and value == value else None  # NaN is no number


def _iter_parts(value: Any, depth: int = 0) -> Iterator[Mapping[str, Any]]:
    """Yield a configuration and those inside it: of an encoder of images, of text, of a trunk."""
    if depth > _DEEPEST:
        return
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value:
        if isinstance(inner, dict | list):
            yield from _iter_parts(inner, depth + 1)


def _iter_sizes(config: Mapping[str, Any]) -> Iterator[tuple[str, Any, _Number]]:
    """Yield the values of a configuration that have a limit, and all lists."""
    for part in _iter_parts(config):
        for key, value in part.items():
            limits = [limit for end, limit in _CONFIG_LIMITS.items() if str(key).endswith(end)]
            for inner in _iter_values(value):
                if limits or isinstance(inner, list):
                    yield key, inner, max(limits, default=inf)


def _iter_values(value: Any, depth: int = 0) -> Iterator[Any]:
    """Yield a value, and what stands in it if it is a list."""
    yield value
    if isinstance(value, list) and depth < _DEEPEST:
        for inner in value:
            yield from _iter_values(inner, depth + 1)


def _estimate_weights(config: Mapping[str, Any]) -> dict[str, _Number]:
    """Return about how many weights the parts of a network have, by what makes them many."""
    widths = [*_list_numbers(config, *_WIDTHS)]
    depths = [*_list_numbers(config, "depths")] or [*_list_numbers(config, *_LAYERS)]
    if not widths and not depths:
        return {}
    if "depths" in config and len(widths) == 1:  # the stages of a Swin
        widths = [widths[0] * 2**stage for stage in range(len(depths))]
    layers, width = depths or [_USUAL_LAYERS], max(widths, default=_USUAL_WIDTH)
    inner = max(_list_numbers(config, "intermediate_size", "encoder_ffn_dim"), default=0)
    image = [*_list_numbers(config, "image_size")] or [_USUAL_IMAGE]
    patch = [*_list_numbers(config, "patch_size")] or [_USUAL_PATCH]
    channels = max(_list_numbers(config, "num_channels"), default=3)
    words = max(_list_numbers(config, "vocab_size"), default=0)
    patches = image[0] * image[-1] // (patch[0] * patch[-1])
    values = channels * patch[0] * patch[-1]
    return {
        f"{sum(layers):,} layers of {_describe_width(width)}": sum(
            count * each * (4 * each + 2 * (inner or 4 * each))
            for count, each in zip(layers, cycle(widths or [width]), strict=False)
        ),
        f"{patches:,} patches of {_describe_width(width)}": patches * width,
        f"{values:,} values of a patch times {_describe_width(width)}": values * width,
        f"{words:,} words of {_describe_width(width)}": words * width,
    }


def _describe_width(width: int) -> str:
    return f"{width:,}" if width <= MAX_PARAMETERS else "more than all weights together"


def _list_numbers(config: Mapping[str, Any], *keys: str) -> Iterator[int]:
    """Yield the numbers > 0 under the first of some keys that has any, as whole ones."""
    for key in keys:
        numbers = [read_number(value) for value in _iter_values(config.get(key))]
        sizes = [max(1, int(number)) for number in numbers if number is not None and number > 0]
        if sizes:
            yield from sizes
            return
