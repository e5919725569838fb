"""What is wrong with a study, in words: where, what was expected, what was seen."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic_core import PydanticCustomError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pydantic import BaseModel
    from pydantic_core import ErrorDetails, ValidationError

__all__ = [
    "WORDS",
    "Place",
    "describe",
    "found_problems",
    "path_of",
    "problem",
    "shown",
    "unknown_key",
]

Place: TypeAlias = tuple[str | int, ...]
"""Keys and positions on the way from the study to a value."""

WORDS: dict[str, str] = {}
"""What each pattern of a text asks for."""

_MOST = 10
_LONGEST = 70


def problem(text: str, *at: str | int) -> PydanticCustomError:
    """Return the error for a validator to raise; `at` leads on from the value it checks."""
    return found_problems([(at, text)])


def found_problems(found: Sequence[tuple[Place, str]]) -> PydanticCustomError:
    """Return one error that holds several problems."""
    return PydanticCustomError("study", "{text}", {"text": found[0][1], "found": tuple(found)})


def shown(value: Any) -> str:
    """Return a value as a study file would say it, shortened."""
    if value is None:
        return "nothing (null)"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, date):
        return f"the date {value}"
    if isinstance(value, Mapping):
        return "a mapping with " + (", ".join(map(str, list(value)[:4])) or "no keys")
    try:
        text = repr(value)
    except ValueError:  # a number of thousands of digits
        return "a number too long to show"
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def path_of(place: Place, raw: Any = None) -> str:
    """Return a place as text: ``methods[1].params``.

    A position is left out where `raw`, what was validated, has a single value and not a list.
    """
    text = ""
    for step in place:
        if isinstance(step, int) and (raw is None or isinstance(raw, list | tuple)):
            text += f"[{step}]"
        elif not isinstance(step, int) or (isinstance(raw, Mapping) and step in raw):
            text += f".{step}" if text else str(step)
        raw = _into(raw, step)
    return text


def _into(raw: Any, step: str | int) -> Any:
    if isinstance(raw, Mapping) and step in raw:
        return raw[step]
    if isinstance(raw, list | tuple) and isinstance(step, int) and step < len(raw):
        return raw[step]
    return raw


def describe(
    error: ValidationError,
    owner: Callable[[Place], type[BaseModel]],
    raw: Any,
    where: str,
    line_of: Callable[[Place], int | None] = lambda place: None,
) -> str:
    """Return all problems of a study as one text.

    Parameters
    ----------
    error : ValidationError
        What pydantic found.
    owner : callable
        Returns the class whose keys are allowed at a place.
    raw : mapping
        What was validated.
    where : str
        The file, or another name of what was read.
    line_of : callable
        Returns the line of a place in the file, if there is one.
    """
    found = [item for one in error.errors(include_url=False) for item in _texts(one, owner)]
    numbered = sorted(
        ((line_of(place) or 0, place, text) for place, text in found), key=lambda item: item[0]
    )
    lines = []
    for line, place, text in numbered[:_MOST]:
        at = [f"line {line}"] if line else []
        lines.append(": ".join([*at, path_of(place, raw), text]))
    if len(found) == 1:
        return f"{where}{', ' if lines[0].startswith('line ') else ': '}{lines[0]}"
    if len(found) > _MOST:
        lines.append(f"… and {len(found) - _MOST} more")
    return "\n  ".join([f"{where} has {len(found)} problems:", *lines])


def _texts(
    error: ErrorDetails, owner: Callable[[Place], type[BaseModel]]
) -> list[tuple[Place, str]]:
    place, kind = tuple(error["loc"]), error["type"]
    if kind == "study":
        return [((*place, *at), text) for at, text in error["ctx"]["found"]]
    if kind == "missing":
        field = owner(place[:-1]).model_fields[str(place[-1])]
        return [(place, f"missing; it says: {field.description}")]
    if kind == "extra_forbidden":
        return [(place, unknown_key(str(place[-1]), list(owner(place[:-1]).model_fields)))]
    return [(place, _misfit(kind, error.get("ctx", {}), error["input"]))]


def unknown_key(key: str, known: list[str]) -> str:
    """Return what is wrong with a key that is not known, and the nearest that is."""
    close = get_close_matches(key, known, n=1)
    hint = f"; did you mean {close[0]!r}? Known: " if close else "; known: "
    return f"unknown key {key!r}{hint}{', '.join(known)}"


def _misfit(kind: str, context: Mapping[str, Any], value: Any) -> str:
    if kind == "invalid_key":
        return f"keys must be text, got {shown(value)}"
    if kind == "string_too_short":
        return "expected text, got none"
    expected = _expected(kind, context)
    hint = ""
    if expected == "text" and isinstance(value, bool | int | float | date):
        hint = "; put it in quotes if that text is meant"
        if isinstance(value, bool):
            hint += " (without them, yes, no, on and off are true and false)"
    if value is None:
        hint = "; give a value or leave the key out"
    return f"expected {expected}, got {shown(value)}{hint}"


def _expected(kind: str, context: Mapping[str, Any]) -> str:
    if kind == "literal_error":
        return str(context["expected"])
    if kind == "string_pattern_mismatch":
        return WORDS[context["pattern"]]
    if kind == "greater_than_equal":
        return f"{context['ge']} or more"
    if kind == "less_than_equal":
        return f"{context['le']} or less"
    return {
        "string_type": "text",
        "int_type": "a whole number",
        "float_type": "a number",
        "finite_number": "a finite number",
        "bool_type": "true or false",
        "model_type": "a mapping of keys to values",
        "dict_type": "a mapping of keys to values",
        "tuple_type": "a list",
    }.get(kind, "something else")
