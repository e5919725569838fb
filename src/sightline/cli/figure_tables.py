"""`sightline figures`: what can be drawn, what each figure shows and how it is read."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sightline.cli.options import JsonOption  # noqa: TC001 — typer reads it at run time
from sightline.cli.output import add_row, new_table, own_name, show, show_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rich.table import Table

    from sightline.figures import FigureCard

__all__ = ["card_table", "describe_card", "figures", "figures_table"]

_GROUPS = {
    "images": "single images",
    "scores": "scores",
    "curves": "curves",
    "checks": "checks of maps",
    "prototypes": "prototypes",
    "detection": "detections",
}


def figures(
    name: Annotated[
        str | None, typer.Argument(help="One figure, with all that is known of it.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the figures: what each shows, how it is read, what it needs."""
    from sightline.figures import FIGURES, find_card

    if name is not None:
        card = find_card(name)
        if as_json:
            show_json(describe_card(card))
        else:
            show(card_table(card), *_next_lines(card.name))
    elif as_json:
        show_json([describe_card(card) for card in FIGURES.values()])
    else:
        show(figures_table(FIGURES.values()), *_next_lines("leaderboard"))
        show(f"How one is read: {own_name()} figures leaderboard")


def figures_table(cards: Iterable[FigureCard]) -> Table:
    """Return the figures by what they are about."""
    table = new_table("Figures", ["name", "about", "what it shows"])
    table.columns[0].no_wrap = table.columns[1].no_wrap = True
    order = list(_GROUPS)
    before = None
    for card in sorted(cards, key=lambda card: order.index(card.group)):
        if before not in (None, card.group):
            table.add_section()
        about = "" if card.group == before else _GROUPS[card.group]
        add_row(table, card.name, about, f"{card.title}. {card.shows}")
        before = card.group
    return table


def card_table(card: FigureCard) -> Table:
    """Return all that is known of one figure."""
    table = new_table(f"{card.title} ({card.name})", ["", ""])
    table.show_header = False
    table.columns[0].no_wrap = True
    rows = {
        "About": _GROUPS[card.group],
        "Shows": card.shows,
        "How to read it": card.reading,
        "Needs": card.needs,
        "In Python": _call(card),
        "In reports": f"{card.file}.png, .svg, .pdf, .csv",
    }
    for what, text in rows.items():
        add_row(table, what, text)
    return table


def _call(card: FigureCard) -> str:
    """Return how the function is called, without types."""
    words, starred = [], False
    for parameter in inspect.signature(card.function).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            words.append("*")
            starred = True
        default = "" if parameter.default is parameter.empty else f"={parameter.default!r}"
        words.append(parameter.name + default)
    return f"sightline.figures.{card.function.__name__}({', '.join(words)})"


def _next_lines(name: str) -> Iterator[str]:
    from sightline.report import StoreFigures

    if name in StoreFigures.names():
        yield f"Next, draw it from a study: {own_name()} figure {name} runs/demo --out {name}.png"
    else:
        yield "It is drawn in Python: studies do not store what it needs yet."


def describe_card(card: FigureCard) -> dict[str, Any]:
    """Return the record of a figure, for JSON."""
    said = {field: getattr(card, field) for field in card.__slots__ if field != "function"}
    return {**said, "function": card.function.__name__}
