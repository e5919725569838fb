"""Bounds of what a study may ask for: beyond them it is refused before anything is expanded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sightline.records.errors import InputError, shown

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
    "patch_size": 4_096,
    "image_size": 16_384,
    "channels": 65_536,
    "hidden_size": 65_536,
    "hidden_sizes": 65_536,
    "embed_dim": 65_536,
    "intermediate_size": 1_048_576,
    "num_labels": 1_000_000,
    "tokens": 65_536,
    "vocab_size": 10_000_000,
}
_DEEPEST = 8


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
    sightline.records.errors.InputError: ...
    """
    for key, value, limit in _iter_sizes(config):
        if value > limit:
            raise InputError(f"{path}: {key} must be at most {limit:,}, got {shown(value)}")
    layers, width = (config.get(key) for key in ("num_hidden_layers", "hidden_size"))
    if not isinstance(layers, int) or not isinstance(width, int):
        return
    if 12 * layers * width**2 > MAX_PARAMETERS:
        raise InputError(
            f"{path}: num_hidden_layers and hidden_size must make at most {MAX_PARAMETERS:,} "
            f"weights, got {layers:,} layers of {width:,}"
        )


def _iter_sizes(config: Mapping[str, Any], depth: int = 0) -> Iterator[tuple[str, int, int]]:
    """Yield the numbers of a configuration that have a limit, those of its parts too."""
    for key, value in config.items():
        if isinstance(value, dict) and depth < _DEEPEST:
            yield from _iter_sizes(value, depth + 1)
            continue
        limits = [limit for end, limit in _CONFIG_LIMITS.items() if str(key).endswith(end)]
        values = value if isinstance(value, list) else [value]
        for number in values if limits else ():
            if _is_whole(number):
                yield key, number, max(limits)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
