"""Completing sparse annotations: proposals by a machine, decisions by people, gold by people alone.

Annotators mark one window of five. A machine proposes the others, people accept, reject or edit
each, and every decision is kept. A gold set, drawn at random and annotated without the machine,
tells how good the completion is.

Light to import: networks are imported when a proposer is made.
"""

from sightline.annotation.completion import Completed, Origin, export
from sightline.annotation.events import Conflict, Event, NotBlind, Stored
from sightline.annotation.gold import Gold, draw_gold, pick_gold, read_gold, write_gold
from sightline.annotation.journal import Journal, TaskRecord
from sightline.annotation.picture import draw_proposals
from sightline.annotation.proposals import (
    Proposal,
    Proposals,
    propose,
    read_proposals,
    write_proposals,
)
from sightline.annotation.proposers import PROPOSERS, Proposer, make_proposer
from sightline.annotation.rating_tasks import (
    draw_images,
    draw_tasks,
    rating_event,
    shown_task,
)
from sightline.annotation.ratings import Answer, RatingSummary, answers, summarise_ratings
from sightline.annotation.review import Review

# The function `completed` has the name of its module, so it is imported from there.
__all__ = [
    "Answer",
    "Completed",
    "Conflict",
    "Event",
    "Gold",
    "Journal",
    "NotBlind",
    "Origin",
    "PROPOSERS",
    "Proposal",
    "Proposals",
    "Proposer",
    "RatingSummary",
    "Review",
    "Stored",
    "TaskRecord",
    "answers",
    "draw_gold",
    "draw_images",
    "draw_proposals",
    "draw_tasks",
    "export",
    "make_proposer",
    "pick_gold",
    "propose",
    "rating_event",
    "read_gold",
    "read_proposals",
    "shown_task",
    "summarise_ratings",
    "write_gold",
    "write_proposals",
]
