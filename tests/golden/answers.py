"""Answers as files: what is masked in them, how they are compared, and how they are stored."""

from __future__ import annotations

import lzma
import re
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING

from sightline import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable

FOLDER = Path(__file__).parent / "answers"
LARGE = 8_000
"""Bytes from which an answer is compressed."""
TOLERANCE = 1e-4
"""How far a network's own numbers may be from the stored ones on another machine."""
_DIFF_LINES = 30

_VERSIONS = "torch|numpy|python|transformers|platform|machine|host|cpu|captum|pyarrow|duckdb"
_MASKS = (
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(Z| ?UTC|[+-]\d\d:\d\d)?", "<time>"),
    (r'"git": (?:"[0-9a-f]{40}(?:\+changes)?"|null)', '"git": "<commit>"'),
    (r"\b[0-9a-f]{40}\b(?:\+changes)?", "<commit>"),
    (r"(?<=\")\d{4}-\d\d-\d\d(?=\")", "<date>"),
    (r'("(?:seconds|took|bytes|load_seconds)": )[\d.e+-]+', r"\1<number>"),
    (rf'("(?:{_VERSIONS})": )"[^"]*"', r'\1"<version>"'),
    (r"\bLinux-\S+, \w+, \d+", "<machine>"),
    (r"\bpython 3\.\d+\.\d+, sightline [^<\n]*(?:<version>)?[^<\n]*", "<versions>"),
    (r'"steps": \{"[^}]*\}', '"steps": "<durations>"'),
    (r'("(?:pictures|id)": )"(?:[0-9a-f]{16}|[0-9a-f]{32})"', r'\1"<id>"'),
    (r'("(?:version|sightline-checksum)": )"[0-9a-f=a-z]+"', r'\1"<version>"'),
    (r"\b\d+(\.\d+)? (?:s|seconds|min|minutes)\b", "<duration>"),
)
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w])")
_HASH = re.compile(r"sha256:[0-9a-f]{16}")


def mask_answer(text: str, folders: Iterable[Path]) -> str:
    """Return an answer without times, durations, versions, and the paths of this run."""
    for folder in sorted(map(str, folders), key=len, reverse=True):
        text = text.replace(folder, "<folder>")
    text = text.replace(f"sightline {__version__}", "sightline <version>")
    for pattern, mask in _MASKS:
        text = re.sub(pattern, mask, text)
    return text


def write_answer(name: str, text: str) -> None:
    """Write an answer to its file; a large one compressed."""
    path = FOLDER / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if len(text) < LARGE:
        path.write_text(text, "utf-8")
    else:
        path.with_name(f"{path.name}.xz").write_bytes(lzma.compress(text.encode(), preset=9))


def list_answers() -> dict[str, Path]:
    """Return the files of all stored answers by name."""
    files = sorted(path for path in FOLDER.rglob("*") if path.is_file())
    return {path.relative_to(FOLDER).as_posix().removesuffix(".xz"): path for path in files}


def read_answer(path: Path) -> str:
    """Return a stored answer."""
    content = path.read_bytes()
    return (lzma.decompress(content) if path.suffix == ".xz" else content).decode()


def compare_answers(expected: str, actual: str, *, exact: bool) -> str:
    """Return the difference between two answers as a diff; "" where there is none.

    Numbers of an inexact answer may differ by `TOLERANCE`, relative to the larger of them and 1;
    printed ones by one in their last digit.
    """
    if expected == actual:
        return ""
    old, new = expected.splitlines(), actual.splitlines()
    if not exact and len(old) == len(new):
        new = [a if _is_close(a, b) else b for a, b in zip(old, new, strict=True)]
        if old == new:
            return ""
    lines = list(unified_diff(old, new, "stored", "now", lineterm="", n=0))
    more = len(lines) - _DIFF_LINES
    return "\n".join(lines[:_DIFF_LINES] + ([f"… and {more} more lines"] if more > 0 else []))


def _is_close(expected: str, actual: str) -> bool:
    """Return whether two lines differ in nothing but the last bits of numbers."""
    if _plain(expected) != _plain(actual):
        return False
    pairs = zip(_NUMBER.findall(expected), _NUMBER.findall(actual), strict=True)
    return all(abs(float(a) - float(b)) <= _allow(a, b) for a, b in pairs)


def _plain(line: str) -> str:
    """Return a line without its numbers and hashes."""
    return _NUMBER.sub("<number>", _HASH.sub("<hash>", line))


def _allow(a: str, b: str) -> float:
    """Return how far two printed numbers may be from each other."""
    digits = min(len(text.partition(".")[2]) if "e" not in text.lower() else 99 for text in (a, b))
    return max(TOLERANCE * max(1.0, abs(float(a)), abs(float(b))), 1.001 * 10.0**-digits)
