"""How the values of a study's keys are read, one kind of value at a time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeAlias

from sightline.core.limits import MAX_ENTRIES
from sightline.metrics.selection import Threshold, share_hint
from sightline.study.config.problems import WORDS, found_problems, problem, shown

__all__ = [
    "ADDRESS",
    "INDEX",
    "LARGEST",
    "METHOD_NAME",
    "SIDE",
    "STUDY_NAME",
    "VARIANT",
    "at_least_one",
    "listed",
    "plain_mapping",
    "read_checked_layers",
    "read_heads",
    "read_layers",
    "read_percentiles",
    "read_resolution",
    "read_targets",
    "split_name",
    "without_repeats",
]

STUDY_NAME = r"^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$"
METHOD_NAME = r"^[A-Za-z0-9._-]([A-Za-z0-9._ -]{0,98}[A-Za-z0-9._-])?$"
ADDRESS = r"^(auto|([A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\]):[0-9]{1,5})$"
VARIANT = r"^([A-Za-z0-9._-]{1,100}|[^\n]*[/\\][^\n]*)?$"
WORDS[STUDY_NAME] = "1 to 100 of A-Z a-z 0-9 . _ -, not starting with . or -"
WORDS[METHOD_NAME] = "1 to 100 of A-Z a-z 0-9 . _ - or blanks between them"
WORDS[ADDRESS] = "auto or HOST:PORT of the head of a Ray cluster, without ray://"
WORDS[VARIANT] = "up to 100 of A-Z a-z 0-9 . _ -, or the path of a folder"

LARGEST = 2**31 - 1
"""The largest number that a column of seeds holds."""
INDEX = 2**15 - 1
"""The largest number that a column of layers or heads holds."""
SIDE = 4096
"""The longest side on which maps are scored, in pixels."""
_DEEPEST = 20

Numbers: TypeAlias = tuple[int, ...]


def listed(value: Any) -> tuple[Any, ...]:
    """Return a list as a tuple, and anything else as the only one of its list."""
    if value is None:
        raise problem("expected a list, got nothing (null); give a value or leave the key out")
    if not isinstance(value, list | tuple):
        return (value,)
    if len(value) > MAX_ENTRIES:
        raise problem(f"expected at most {MAX_ENTRIES:,} entries, got {len(value):,}")
    return tuple(value)


def at_least_one(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a tuple that is not empty."""
    if not values:
        raise problem("expected at least one entry, got none")
    return values


def without_repeats(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a tuple whose entries, as text, all differ; one at least."""
    at_least_one(values)
    seen: set[str] = set()
    for place, value in enumerate(values):
        if str(value) in seen:
            raise problem(f"{shown(value)} is there twice", place)
        seen.add(str(value))
    return values


def split_name(text: str) -> tuple[str, str]:
    """Return model and variant of ``model@variant``.

    The variant is what follows the last @; it may be the path of a folder. Behind hf:, where the
    model may be one too, an @ before a path belongs to the model's: in ``hf:runs@2/vit``.

    >>> split_name("demo/vit@seed2"), split_name("demo/vit"), split_name("hf:runs@2/vit")
    (('demo/vit', 'seed2'), ('demo/vit', ''), ('hf:runs@2/vit', ''))
    >>> split_name("demo/vit@tuned/lora")
    ('demo/vit', 'tuned/lora')
    """
    model, at, variant = text.rpartition("@")
    if at and ("/" in variant or "\\" in variant):
        if text.startswith("hf:"):
            return text, ""
        model, at, variant = text.partition("@")
    if not at:
        return text, ""
    if not model or not variant:
        raise problem(f"expected model@variant, got {shown(text)}")
    return model, variant


def read_layers(value: Any) -> Any:
    """Return "all", or numbers of layers."""
    return value if _is(value, "all") else _numbers(value, "'all', or numbers of layers")


def read_checked_layers(value: Any) -> Any:
    """Return "best", "last" (for null too), "all", or numbers of layers."""
    if value is None:
        return "last"
    if isinstance(value, str) and value in ("best", "last", "all"):
        return value
    return _numbers(value, "'last', 'all', or numbers of layers")


def read_heads(value: Any) -> Any:
    """Return None, "all", or numbers of heads."""
    if value is None or _is(value, "all"):
        return value
    return _numbers(value, "'all', numbers of heads, or null for the heads fused")


def _is(value: Any, text: str) -> bool:
    return isinstance(value, str) and value == text


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _numbers(value: Any, expected: str) -> Numbers:
    if value is None:
        raise problem(f"expected {expected}, got nothing (null)")
    found = listed(value)
    for place, one in enumerate(found):
        if not _whole(one) or not -INDEX <= one <= INDEX:
            raise problem(f"expected {expected}, got {shown(one)}", place)
    return without_repeats(found)


def read_targets(value: Any) -> tuple[Any, ...]:
    """Return "predicted", "label", "embedding" or classes, by name or number."""
    found = listed(value)
    words = "'predicted', 'label', 'embedding', a class or its number"
    wrong: list[tuple[tuple[str | int, ...], str]] = [
        ((place,), f"expected {words}, got {shown(one)}")
        for place, one in enumerate(found)
        if not (_whole(one) and 0 <= one <= LARGEST) and not (isinstance(one, str) and one)
    ]
    if wrong:
        raise found_problems(wrong)
    return found


def read_percentiles(value: Any) -> tuple[Any, ...]:
    """Return percentiles, whole ones as int; two must not have the same name in the results."""
    found = listed(value)
    names: dict[str, float] = {}
    for place, one in enumerate(found):
        number = isinstance(one, int | float) and not isinstance(one, bool)
        if not number or not 0 <= one <= 100:  # NaN fails too
            raise problem(f"expected a number from 0 to 100, got {shown(one)}", place)
        if hint := share_hint(one):
            raise problem(hint, place)
        name = str(Threshold.percentile(one))
        if name in names:
            both = f"{names[name]} and {one}"
            raise problem(f"{both} would have the same name in the results", place)
        names[name] = one
    return tuple(int(one) if one == int(one) else one for one in found)


def read_resolution(value: Any) -> Any:
    """Return "grid", "pixels", or the longer side in pixels."""
    if _is(value, "grid") or _is(value, "pixels") or (_whole(value) and 1 <= value <= SIDE):
        return value
    raise problem(f"expected 'grid', 'pixels' or a side from 1 to {SIDE}, got {shown(value)}")


def plain_mapping(value: Any) -> dict[str, Any]:
    """Return a copy of a mapping that holds what JSON holds and nothing else."""
    if not isinstance(value, Mapping):
        raise problem(f"expected a mapping of parameters to values, got {shown(value)}")
    return {_key(key): _plain(one, (key,)) for key, one in value.items()}


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise problem(f"names of parameters must be text, got {shown(key)}")
    return key


def _plain(value: Any, place: tuple[str | int, ...]) -> Any:
    if len(place) > _DEEPEST:
        raise problem("nested too deeply", *place[:3])
    if isinstance(value, Mapping):
        return {_key(key): _plain(one, (*place, key)) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one, (*place, number)) for number, one in enumerate(value)]
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise problem(f"expected text, numbers, lists or mappings, got {shown(value)}", *place)
