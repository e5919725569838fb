"""Points inside every write where a test kills the process, to see what the next one finds.

Files reach `opened`, `half`, `synced` and `renamed`, each kind of file under its own name. A folder
that replaces another reaches `moved`, too, when the other is out of its way; a file that others
write reaches `written` in place of `half`. Outside tests no hook is set, and nothing happens at any
point.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "FILE_POINTS",
    "FOLDER_POINTS",
    "KINDS",
    "OUTPUT_POINTS",
    "POINTS",
    "REVIEW_POINTS",
    "STUDY_POINTS",
    "reach",
]

STEPS = ("opened", "half", "synced", "renamed")
KINDS = (
    *("region_scores", "scores", "maps", "checks", "images", "regions", "study", "manifest"),
    "cache",
)
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
    "review:filled",  # with one image
    "review:imported",  # all proposals that are added together
    "review:executed",  # one statement of the transaction
    "review:before-commit",
    "review:after-commit",
    "review:before-answer",
)
FILE_POINTS = _steps("file")
"""Those of any other file, as the results of detection or prototypes."""
FOLDER_POINTS = (*_steps("folder"), "folder:moved")
"""Those of a folder of results that replaces another."""
OUTPUT_POINTS = ("output:opened", "output:written", "output:synced", "output:renamed")
"""Those of a file that a command writes where it was told to."""
POINTS = (*STUDY_POINTS, *REVIEW_POINTS, *FILE_POINTS, *FOLDER_POINTS, *OUTPUT_POINTS)

hook: Callable[[str], object] | None = None
"""Called with the name of each point that is reached; set by tests alone."""


def reach(point: str) -> None:
    """Call the hook, where one is set, with the name of a point.

    Examples
    --------
    >>> reach("scores:half")
    """
    if hook is not None:
        hook(point)
