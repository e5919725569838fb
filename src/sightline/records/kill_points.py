"""Points inside every write where a test kills the process, to see what the next one finds.

Files reach `opened`, `half`, `synced` and `renamed`, each kind of file under its own name. Outside
tests no hook is set, and nothing happens at any point.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["KINDS", "POINTS", "REVIEW_POINTS", "STUDY_POINTS", "reach"]

STEPS = ("opened", "half", "synced", "renamed")
KINDS = ("rows", "curves", "maps", "checks", "images", "regions", "study", "manifest")
"""The kinds of files that a run writes."""


def _steps(kind: str) -> tuple[str, ...]:
    return tuple(f"{kind}:{step}" for step in STEPS)


STUDY_POINTS = (
    *(point for kind in KINDS for point in _steps(kind)),
    "manifest:before",
    "manifest:after",
)
REVIEW_POINTS = (
    *_steps("review-file"),
    "review:begun",
    "review:executed",  # one statement of the transaction
    "review:before-commit",
    "review:after-commit",
    "review:before-answer",
)
POINTS = (*STUDY_POINTS, *REVIEW_POINTS, *_steps("file"))
"""All points; `file` is any other file, as the results of detection or prototypes."""

hook: Callable[[str], object] | None = None
"""Called with the name of each point that is reached; set by tests alone."""


def reach(point: str) -> None:
    """Call the hook, where one is set, with the name of a point.

    Examples
    --------
    >>> reach("rows:half")
    """
    if hook is not None:
        hook(point)
