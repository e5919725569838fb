"""A drawn church front that knows what is on it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, get_args

import numpy as np

from sightline.core import Annotation, InputError, Region
from sightline.core.choices import Labelling
from sightline.data.facades.camera import Camera
from sightline.data.facades.changes import Change, check_change
from sightline.data.facades.colours import Backdrop, Look
from sightline.data.facades.dice import Dice
from sightline.data.facades.draw import Drawing, Setting, draw
from sightline.data.facades.scene import Part, Plan, draw_plan, foreground, place
from sightline.data.facades.styles import PART_TYPES, ROLES, STYLES, count_votes, winner

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

__all__ = ["Facade", "FacadePart", "Labelling", "check_labelling", "check_whole"]

_DIFFICULT_SHARE = 1 / 3
_DIFFICULT_PIXELS = 12 / (224 * 224)  # as a share of the picture


@dataclass(frozen=True, slots=True, eq=False)
class FacadePart:
    """One visible instance of a part.

    Attributes
    ----------
    label, role : str
        The part type, and what it is on every facade: the two levels of the taxonomy.
    style : str
        The style that it speaks for, "" for a neutral part.
    box : tuple of 4 floats
        Tight around the visible pixels, normalised.
    mask : array of bool (size, size)
        The visible pixels; parts that belong to it make no hole.
    visible : float
        Visible share of its silhouette.
    is_difficult : bool
        Less than a third of it is visible, or fewer than 12 pixels (at 224 x 224).
    number : int
        Its place among all that the plan provides for: the same instance has the same number at
        any size, and after any change of the facade.

    Examples
    --------
    >>> from sightline.data import Facade
    >>> part = Facade.generate(seed=0, index=3).parts[0]
    >>> part.label, part.role, part.mask.shape, 0 < part.visible <= 1
    ('bell tower', 'tower', (224, 224), True)
    """

    label: str
    role: str
    style: str
    box: tuple[float, float, float, float]
    mask: NDArray[np.bool_]
    visible: float
    is_difficult: bool
    number: int


@dataclass(frozen=True, eq=False)
class Facade:
    """A church front drawn by code.

    Made by `generate`; `without`, `with_style_of` and `changed` return it otherwise.

    Every role on a facade (window, portal, gable, …) is built in the form of one style, and votes
    for it; the style of the facade is the one with the most votes. Nothing else in the picture
    depends on the style.

    Attributes
    ----------
    seed, index : int
        What it was drawn from.
    size : int
        Side of the picture in pixels.
    confounded : bool
        Whether sky and ground have the colours that go with the style it was generated in.
    plan : Plan
        Its proportions.
    forms : mapping of str to str
        The style in which each role is built.
    removed : frozenset of str
        Part types and roles that were taken away.
    changes : frozenset of (str, str)
        Part types and roles, each with what was changed of it.

    Examples
    --------
    >>> facade = Facade.generate(seed=0, index=3)
    >>> facade.style == max(facade.evidence, key=facade.evidence.get)
    True
    """

    seed: int
    index: int
    size: int
    confounded: bool
    plan: Plan = field(repr=False)
    forms: Mapping[str, str]
    removed: frozenset[str] = frozenset()
    changes: frozenset[tuple[str, Change]] = frozenset()

    @classmethod
    def generate(
        cls, seed: int, index: int, size: int = 224, *, confounded: bool = False
    ) -> Facade:
        """Return the facade number `index` of a seed; the same bits on every machine.

        Parameters
        ----------
        seed, index : int
            From 0 to 2³² - 1. Any four images from a multiple of four on are of four styles.
        size : int
            Side of the picture in pixels, 64 to 1024; the layout does not depend on it.
        confounded : bool
            Give sky and ground the colours that belong to the style; all else stays the same.
        """
        check_whole("seed", seed, 0, 2**32 - 1)
        check_whole("index", index, 0, 2**32 - 1)
        check_whole("size", size, 64, 1024)
        plan = draw_plan(Dice(seed, index, "layout"))
        plain = place(plan, dict.fromkeys(ROLES, STYLES[0]))
        roles = {PART_TYPES[part.name][0] for part in plain if part.is_labelled}
        forms = _draw_forms(Dice(seed, index, "borrowing"), _style_of(seed, index), roles)
        return cls(seed, index, size, confounded, plan, forms)

    # What is on it.

    @cached_property
    def _placed(self) -> dict[int, Part]:
        """What is built, by number and in the order of painting, without what was removed."""
        placed = _prune(place(self.plan, self.forms), self.removed)
        return {number: _marked(part, self.changes) for number, part in placed.items()}

    @property
    def labels(self) -> tuple[str, ...]:
        """The part types placed, each once, in the order of painting.

        They do not depend on the size of the picture, so one is listed whether or not something
        hides all its instances (rarely, a tree stands before the only clock); what is in sight is
        in `parts`. `without` takes hidden ones away as well.
        """
        placed = self._placed.values()
        return tuple(dict.fromkeys(part.name for part in placed if part.is_labelled))

    @property
    def evidence(self) -> dict[str, int]:
        """The votes for each style: one from every role in `labels`, for the style of its form."""
        return count_votes(self.labels)

    @property
    def style(self) -> str:
        """The style with the most votes; "mixed" when several have as many (after a change)."""
        return winner(self.evidence)

    @property
    def deciding(self) -> tuple[str, ...]:
        """Those of `labels` that vote for the style; none when it is "mixed"."""
        return tuple(label for label in self.labels if PART_TYPES[label][1] == self.style)

    @cached_property
    def parts(self) -> tuple[FacadePart, ...]:
        """The visible instances; their position here is the `index` of their region."""
        labelled = [(n, part.name) for n, part in self._placed.items() if part.is_labelled]
        least = _DIFFICULT_PIXELS * self.size * self.size
        found = []
        for (number, label), sight in zip(labelled, self._drawing.sights, strict=True):
            if sight.box is not None:
                hard = sight.share < _DIFFICULT_SHARE or np.count_nonzero(sight.mask) < least
                role, style = PART_TYPES[label]
                seen = (sight.box, sight.mask, sight.share, bool(hard))
                found.append(FacadePart(label, role, style, *seen, number))
        return tuple(found)

    # What is seen.

    @cached_property
    def _drawing(self) -> Drawing:
        seed, index = self.seed, self.index
        choice = STYLES.index(_style_of(seed, index)) if self.confounded else None
        setting = Setting(
            size=self.size,
            camera=Camera.draw(Dice(seed, index, "camera"), self.plan.extent),
            look=Look.draw(Dice(seed, index, "colour")),
            backdrop=Backdrop.draw(Dice(seed, index, "backdrop"), choice),
            seed=seed,
            index=index,
        )
        front = foreground(Dice(seed, index, "foreground"), self.plan)
        return draw((*self._placed.values(), *front), setting)

    def image(self) -> NDArray[np.uint8]:
        """Return the picture, RGB of (size, size, 3); a new array each time."""
        return self._drawing.image.copy()

    def background(self) -> NDArray[np.bool_]:
        """Return the pixels of nothing but sky and ground.

        `confounded` changes these, and those at the edges that are partly sky or ground.
        """
        return self._drawing.background.copy()

    def annotation(self, labelling: Labelling = "exhaustive", image_id: str = "") -> Annotation:
        """Return what an annotator would have marked, with a mask and a tight box for each.

        Parameters
        ----------
        labelling : {"exhaustive", "representative", "salient"}
            Every instance; or one per part type, chosen at random or the most salient: the
            largest N · (2 - d²), where N is the number of visible pixels and d the distance
            of the middle of the box to the middle of the image over half the image's side. An
            instance flagged "difficult" is chosen only when there is no other. The random choice
            stays when other parts or the size change, unless that brings an instance of its type
            into sight or hides one. The salient one is found by counting pixels: where two are
            nearly equal, it may be the other at another size.
        image_id : str
            By default made of the index: "facade-00012.png".

        Returns
        -------
        Annotation
            Labelled with the style. The `index` of a region is that of the exhaustive list
            whatever the labelling, its `source` the role of the part.
        """
        check_labelling(labelling)
        chosen = list(range(len(self.parts)))
        if labelling == "representative":
            chosen = self._choose(self._random_scores())
        elif labelling == "salient":
            chosen = self._choose([_salience(part) for part in self.parts])
        return Annotation(
            image_id or f"facade-{self.index:05}.png",
            self.size,
            self.size,
            tuple(_region(self.parts[i], i) for i in chosen),
            (self.style,),
        )

    def _random_scores(self) -> list[float]:
        # By number, so that an instance keeps its score whatever is removed or hidden.
        numbers = [part.number for part in self.parts]
        drawn = Dice(self.seed, self.index, "labelling").rng.random(max(numbers, default=0) + 1)
        return [float(drawn[number]) for number in numbers]

    def _choose(self, scores: Iterable[float]) -> list[int]:
        """Return the part with the highest score of each type; of equal ones the first."""
        best: dict[str, tuple[tuple[bool, float, int], int]] = {}
        for i, (part, score) in enumerate(zip(self.parts, scores, strict=True)):
            rank = (not part.is_difficult, score, -i)
            best[part.label] = max(best.get(part.label, (rank, i)), (rank, i))
        return sorted(i for _, i in best.values())

    # What if.

    def without(self, part: str) -> Facade:
        """Return the same picture without a part type, or a role, and with what was behind it.

        All instances go, with what they carry: a tower goes with its windows. No pixel outside
        their silhouettes (and the blended rim around them) changes.

        Raises
        ------
        InputError
            If the part is not on the facade; those present are listed.
        """
        self._check_present(part)
        return replace(self, removed=self.removed | {part})

    def with_style_of(self, other: Facade | str, part: str) -> Facade:
        """Return the same picture with a part in the form of another style, at the same places.

        As many instances are placed as before. Those in sight may be more or fewer: a narrow
        window may vanish behind a tree beside which a wide one shows, and a high gable hides more
        of what is behind it.

        Parameters
        ----------
        other : Facade or str
            A style, or a facade whose form of that role is taken.
        part : str
            A part type on this facade, or a role.

        Raises
        ------
        InputError
            If the part is not on the facade or neutral, the other facade has none of its role, or
            the style is unknown.
        """
        role = self._check_present(part)
        if role not in ROLES:
            known = ", ".join(ROLES)
            raise InputError(
                f"{part!r} has the same form in every style; roles with forms: {known}"
            )
        if isinstance(other, Facade):
            found = {s for r, s in map(PART_TYPES.__getitem__, other.labels) if r == role}
            if not found:
                raise InputError(f"the other facade has no {role}; it has {_listed(other.labels)}")
            (other,) = found
        if other not in STYLES:
            raise InputError(f"style must be one of {', '.join(STYLES)}, got {other!r}")
        return replace(self, forms={**self.forms, role: other})

    def changed(self, part: str, what: Change) -> Facade:
        """Return the same picture but for the colour, the shape or the texture of a part.

        All instances change; what they carry stays as it is, and so do labels and votes. No pixel
        outside their silhouettes (before and after, with the blended rim) changes. A change made
        twice is made once; several add up. Everything random in it comes from the seed.

        Parameters
        ----------
        part : str
            A part type on this facade, or a role.
        what : {"colour", "shape", "texture"}
            *colour*: another, vivid hue, 60 degrees or more from that of the part's main material.
            Silhouette and HSV value (the largest channel) of every pixel stay to the bit; a
            brightness that weighs the channels does not.
            *shape*: the part leans, by half of its shorter side at either end. Materials, their
            areas and the stones on them stay; it may hide more or less of what is around.
            *texture*: hatching over the same surface, weaker near black and white. Silhouette
            and mean colour of each instance stay, the latter within a level.

        Raises
        ------
        InputError
            If the part is not on the facade, or there is no such property.

        Examples
        --------
        >>> facade = Facade.generate(seed=0, index=2)
        >>> blue = facade.changed("window", "colour")
        >>> blue.style, bool((blue.image() == facade.image()).all())
        ('Gothic', False)
        """
        check_change(what)
        role = self._check_present(part)
        # All instances of a role have one form: under its name the change outlives another form.
        name = role if role in ROLES else part
        return replace(self, changes=self.changes | {(name, what)})

    def _check_present(self, part: str) -> str:
        """Return the role of a part type or role that is on the facade."""
        for label in self.labels:
            if part in (label, PART_TYPES[label][0]):
                return PART_TYPES[label][0]
        raise InputError(f"no part {part!r} on this facade; it has {_listed(self.labels)}")


def check_whole(name: str, value: int, low: int, high: int) -> None:
    """Raise unless a value is a whole number from low to high."""
    if not isinstance(value, int | np.integer) or not low <= value <= high:
        raise InputError(f"{name} must be a whole number from {low} to {high}, got {value!r}")


def check_labelling(labelling: str) -> None:
    """Raise unless it is a way of labelling."""
    known = get_args(Labelling)
    if labelling not in known:
        raise InputError(f"labelling must be one of {', '.join(known)}, got {labelling!r}")


def _style_of(seed: int, index: int) -> str:
    """Return the style of an image: each block of four has all four in some order."""
    return Dice(seed, index // 4, "style").shuffled(STYLES)[index % 4]


def _draw_forms(dice: Dice, style: str, roles: set[str]) -> dict[str, str]:
    """Return the style of each role: one for most, another for one or two in a third of cases."""
    forms = dict.fromkeys(ROLES, style)
    present = [role for role in ROLES if role in roles]
    borrowed = 0 if dice.chance(2 / 3) else 1 + (len(present) >= 5 and dice.chance(0.3))
    others = [other for other in STYLES if other != style]
    for role in dice.shuffled(present)[:borrowed]:
        forms[role] = dice.pick(others)
    return forms


def _prune(parts: tuple[Part, ...], removed: frozenset[str]) -> dict[int, Part]:
    """Return the parts, by number, without some types or roles and what belongs to those."""
    kept: dict[int, Part] = {}
    places = {-1: -1}  # of the numbers, among those kept
    for number, part in enumerate(parts):
        gone = part.is_labelled and not removed.isdisjoint((part.name, PART_TYPES[part.name][0]))
        if not gone and part.parent in places:
            places[number] = len(kept)
            kept[number] = replace(part, parent=places[part.parent])
    return kept


def _marked(part: Part, changes: frozenset[tuple[str, Change]]) -> Part:
    """Return a part with what is changed of it."""
    if not (changes and part.is_labelled):
        return part
    names = (part.name, PART_TYPES[part.name][0])
    return replace(part, changes=frozenset(what for name, what in changes if name in names))


def _region(part: FacadePart, index: int) -> Region:
    flags = ("difficult",) if part.is_difficult else ()
    return Region(
        part.label, "mask", part.box, part.mask, flags=flags, index=index, source=part.role
    )


def _salience(part: FacadePart) -> float:
    x0, y0, x1, y1 = part.box
    dx, dy = x0 + x1 - 1, y0 + y1 - 1
    return int(np.count_nonzero(part.mask)) * (2 - (dx * dx + dy * dy))


def _listed(labels: Iterable[str]) -> str:
    return ", ".join(labels) or "none"
