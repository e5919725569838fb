"""The words of the data set: styles, roles, the forms that a role takes in a style, and the vote.

A **role** is what a part does on a church front (a window, a portal); a **form** is how one style
builds it (a pointed window). Neutral parts have one form that all styles share. Roles are the first
level of the taxonomy, part types (the labels of the instances) the second.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from sightline.core import Taxonomy

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["MIXED", "PART_TYPES", "ROLES", "STYLES", "Form", "count_votes", "taxonomy", "winner"]

STYLES = ("Romanesque", "Gothic", "Renaissance", "Baroque")
MIXED = "mixed"


@dataclass(frozen=True, slots=True)
class Form:
    """How a style builds a role.

    Attributes
    ----------
    label : str
        Name of the part type.
    rise : float
        Height over width, where the form decides it (what crowns a wall or a tower), else 0.
    """

    label: str
    rise: float = 0.0


# A row is a role, a column a style.
_TABLE: dict[str, tuple[Form, Form, Form, Form]] = {
    "window": (
        Form("round-arch window"),
        Form("pointed window"),
        Form("pedimented window"),
        Form("segmental window"),
    ),
    "portal": (
        Form("stepped round portal"),
        Form("pointed portal"),
        Form("temple portal"),
        Form("scroll portal"),
    ),
    "tower top": (
        Form("pyramid roof", 0.85),
        Form("spire", 1.9),
        Form("lantern cupola", 0.95),
        Form("onion dome", 1.35),
    ),
    "gable": (
        Form("plain gable", 0.4),
        Form("steep gable", 0.62),
        Form("triangular pediment", 0.24),
        Form("volute gable", 0.5),
    ),
    "upright": (
        Form("lesene"),
        Form("buttress"),
        Form("pilaster"),
        Form("paired column"),
    ),
    "centrepiece": (
        Form("oculus"),
        Form("rose window"),
        Form("lunette"),
        Form("oval window"),
    ),
    "frieze": (
        Form("arch frieze"),
        Form("tracery gallery"),
        Form("dentil cornice"),
        Form("statue niches"),
    ),
}
ROLES: dict[str, dict[str, Form]] = {
    role: dict(zip(STYLES, forms, strict=True)) for role, forms in _TABLE.items()
}
_NEUTRAL = {
    "bell tower": "tower",
    "door": "detail",
    "clock": "detail",
    "cross": "detail",
    "steps": "detail",
}
# Label -> (role, style); the style of a neutral part is "".
PART_TYPES: dict[str, tuple[str, str]] = {
    form.label: (role, style) for role, forms in ROLES.items() for style, form in forms.items()
} | {label: (role, "") for label, role in _NEUTRAL.items()}


@cache
def taxonomy() -> Taxonomy:
    """Return the two levels: each role, and under it its part types."""
    roles = dict.fromkeys((role for role, _ in PART_TYPES.values()), ())
    return Taxonomy(parents=roles | {label: (role,) for label, (role, _) in PART_TYPES.items()})


def count_votes(labels: Iterable[str]) -> dict[str, int]:
    """Return the votes for each style: every role present votes for the style of its form."""
    ballots = {PART_TYPES[label] for label in labels}
    return {style: sum(style == vote for _, vote in ballots) for style in STYLES}


def winner(votes: dict[str, int]) -> str:
    """Return the style with the most votes, "mixed" when there is more than one."""
    most = max(votes.values())
    first, *others = (style for style, count in votes.items() if count == most)
    return MIXED if others else first
