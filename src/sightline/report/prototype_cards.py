"""The prototypes of a stored benchmark, each with its patch and all that is known of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sightline.core import UnknownNameError
from sightline.results.live_prototypes import AskedBenchmark, eight_bits

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pandas as pd

    from sightline.figures import PrototypeCard
    from sightline.results.prototypes import StoredBenchmark

__all__ = ["KnownPrototype", "known_prototypes", "nature_words", "prototype_cards"]

_NO_RELEVANCE = {"energy_relevance": np.nan, "mask_relevance": np.nan, "chance": np.nan,
                 "image": "", "score": np.nan}  # fmt: skip


class KnownPrototype(NamedTuple):
    """What a benchmark knows of a prototype.

    Attributes
    ----------
    prototype : int
        Its number.
    nature : tuple of str or None
        The perturbations that matter; empty: unknown. None: undecided, or not analysed.
    images : int
        That it was perturbed on.
    source : str
        The image that it was taken from; "" where it is not known.
    energy, mask, chance : float
        Its relevance on that image, and the share of the image that the object takes.
    similarity : float
        To its own patch.
    """

    prototype: int
    nature: tuple[str, ...] | None
    images: int
    source: str
    energy: float
    mask: float
    chance: float
    similarity: float


def known_prototypes(found: StoredBenchmark) -> list[KnownPrototype]:
    """Return what a benchmark knows of each prototype that it met, by number."""
    rows = [] if found.relevance is None else found.relevance.to_pylist()
    sources = {row["proto_idx"]: row for row in rows if row["kind"] == "prototype"}
    effects = [] if found.drops is None else found.effects()
    images: dict[int, int] = {}
    for one in effects:
        if one.prototype >= 0:
            images[one.prototype] = max(images.get(one.prototype, 0), one.images)
    natures = {} if found.drops is None else found.natures()
    made = []
    for number in sorted({*sources, *images}):
        row = sources.get(number, _NO_RELEVANCE)
        made.append(
            KnownPrototype(
                prototype=number,
                nature=natures.get(number),
                images=images.get(number, 0),
                source=str(row["image"]),
                energy=_number(row["energy_relevance"]),
                mask=_number(row["mask_relevance"]),
                chance=_number(row["chance"]),
                similarity=_number(row["score"]),
            )
        )
    return made


def _number(value: Any) -> float:
    return np.nan if value is None else float(value)


def nature_words(nature: Sequence[str] | None) -> str:
    """Return what a similarity is made of, in a few words.

    Examples
    --------
    >>> nature_words(("hue", "blur")), nature_words(()), nature_words(None)
    ('hue, blur', 'unknown', 'undecided')
    """
    if nature is None:
        return "undecided"
    return ", ".join(nature) or "unknown"


def prototype_cards(
    asked: AskedBenchmark, numbers: Iterable[int] | None = None
) -> tuple[list[PrototypeCard], pd.DataFrame]:
    """Return cards of prototypes to draw, and what they say as a table.

    The images are opened and the model is asked again for where patches lie.

    Parameters
    ----------
    asked
        The benchmark with its model and images.
    numbers
        Of which prototypes; all that the benchmark met unless given.

    Raises
    ------
    UnknownNameError
        If the benchmark met no such prototype.
    InputError
        If the model or the images cannot be opened.
    """
    import pandas as pd

    known = {one.prototype: one for one in known_prototypes(asked.found)}
    chosen = list(known if numbers is None else numbers)
    if unknown := [one for one in chosen if one not in known]:
        last = max(known, default=-1)
        raise UnknownNameError(
            f"{asked.found.name}: prototype {unknown[0]} was not met; those from 0 to {last} were, "
            f"{len(known)} of them"
        )
    classes, weights = asked.found.about["classes"], asked.weights
    cards, rows = [], []
    for number in chosen:
        card, row = _card(asked, known[number], (classes, weights[number]))
        cards.append(card)
        rows.append(row)
    return cards, pd.DataFrame(rows)


def _card(
    asked: AskedBenchmark, known: KnownPrototype, voting: tuple[Sequence[str], Sequence[float]]
) -> tuple[PrototypeCard, dict[str, Any]]:
    from sightline.figures import PrototypeCard

    classes, weights = voting
    pair = asked.source(known.prototype)
    best = int(np.argmax(weights))
    weight = float(weights[best])
    votes = weight > 0 and f"{weight:.2f}" != "0.00"  # what cannot be seen does not count
    label = str(classes[best]) if votes and best < len(classes) else ""
    nature = nature_words(known.nature) if known.images else "not perturbed"
    notes = [f"weight {weight:.2f}", f"similarity {pair.score:.2f}"]
    if np.isfinite(known.energy):
        notes.append(f"relevance {known.energy:.0%} (chance {known.chance:.0%})")
    notes.append(f"nature: {nature}")
    card = PrototypeCard(
        known.prototype,
        eight_bits(pair.image),
        pair.box,
        label or "no class",
        tuple(notes),
        pair.values[0].numpy(),
    )
    x0, y0, x1, y1 = pair.box
    told = known._asdict() | {"nature": nature, "similarity": pair.score}
    told |= {"label": label, "weight": weight, "x0": x0, "y0": y0, "x1": x1, "y1": y1}
    return card, told
