"""The layout of a facade: a plan of proportions, and the parts that it places.

Nothing in a plan depends on the style. The forms chosen for the roles enter only when the parts
are placed, and change no other part than their own instances and what those carry. So the style is
in the parts alone, and one role can be exchanged while the rest of the picture stays.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from sightline.data.facades.shapes import Box
from sightline.data.facades.styles import PART_TYPES, ROLES, STYLES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sightline.data.facades.dice import Dice

__all__ = ["GROUND", "Part", "Plan", "draw_plan", "foreground", "place"]

GROUND = 0.88  # where the walls stand
_CROSS = Box(-0.013, -0.038, 0.013, 0.004)  # around its foot
_MOST = 25
_LEAST = 9  # trees may hide some; five must be left
_ROLES_NEEDED, _WINDOWS_NEEDED = 4, 3  # windows of the walls, not of towers


@dataclass(frozen=True, slots=True)
class Part:
    """Something placed on the facade, or scenery.

    Attributes
    ----------
    name : str
        The part type, or the kind of scenery: what is drawn.
    box : Box
        Its place in the plane of the facade.
    parent : int
        Number of the part that it belongs to, -1 for none.
    variant : float
        From 0 to 1: decides details of the drawing, the same for all instances of a role.
    changes : frozenset of str
        What differs from how the part type is painted: "colour", "shape", "texture".
    """

    name: str
    box: Box
    parent: int = -1
    variant: float = 0.0
    changes: frozenset[str] = frozenset()

    @property
    def is_labelled(self) -> bool:
        """Whether it is annotated; walls, roofs and trees are not."""
        return self.name in PART_TYPES


@dataclass(frozen=True, slots=True)
class Details:
    """What there is on the walls, and its sizes: lengths, or shares of what it stands on.

    Attributes
    ----------
    centrepiece : {"none", "wall", "gable"}
        Where it is wanted; see `Plan.centrepiece`.
    uprights : {"none", "portal", "bays"}
        Whether they stand nowhere, beside the portal, or at the ends as well.
    """

    has_gable: bool
    has_gable_cross: bool
    gable_stretch: float
    top_stretch: float
    centrepiece: str
    centrepiece_size: float
    has_top_frieze: bool
    has_middle_frieze: bool
    frieze_height: float
    uprights: str
    upright_width: float
    has_side_portals: bool
    portal_width: float
    portal_height: float
    step_height: float
    window_width: float
    window_height: float
    upper_rows: int
    has_lower_windows: bool
    tower_rows: int
    belfry_columns: int
    has_clocks: bool
    has_tower_crosses: bool

    @classmethod
    def draw(cls, dice: Dice) -> Details:
        """Return random ones."""
        return cls(
            has_gable=dice.chance(0.8),
            has_gable_cross=dice.chance(0.45),
            gable_stretch=dice.between(0.85, 1.1),
            top_stretch=dice.between(0.8, 1.1),
            centrepiece=dice.pick(("none", "wall", "wall", "wall", "gable")),
            centrepiece_size=dice.between(0.6, 0.85),
            has_top_frieze=dice.chance(0.55),
            has_middle_frieze=dice.chance(0.35),
            frieze_height=dice.between(0.038, 0.05),
            uprights=dice.pick(("none", "none", "portal", "bays", "bays")),
            upright_width=dice.between(0.024, 0.034),
            has_side_portals=dice.chance(0.2),
            portal_width=dice.between(0.62, 0.8),
            portal_height=dice.between(1.25, 1.6),
            step_height=dice.pick((0.0, 0.018, 0.026, 0.034)),
            window_width=dice.between(0.4, 0.58),
            window_height=dice.between(1.7, 2.4),
            upper_rows=dice.pick((0, 1, 1, 1, 2, 2)),
            has_lower_windows=dice.chance(0.7),
            tower_rows=dice.pick((1, 2, 2, 3)),
            belfry_columns=dice.pick((1, 1, 2)),
            has_clocks=dice.chance(0.3),
            has_tower_crosses=dice.chance(0.3),
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """The proportions of one facade.

    Attributes
    ----------
    nave : Box
        The wall in the middle.
    bays : tuple of floats
        The x of the borders of its bays, from left to right.
    floor : float
        The y that divides the ground floor from what is above.
    aisles : tuple of Box
        Lower walls beside the nave.
    towers : tuple of Box
        The bodies of the towers.
    ceiling : float
        The y above which nothing but a cross is built.
    ridge_tower : bool
        The one tower stands on the roof, behind the gable.
    details : Details
        The rest.
    variants : mapping of str to float
        See `Part.variant`, by role.
    """

    nave: Box
    bays: tuple[float, ...]
    floor: float
    aisles: tuple[Box, ...]
    towers: tuple[Box, ...]
    ceiling: float
    ridge_tower: bool
    details: Details
    variants: Mapping[str, float]

    @property
    def upper_floor(self) -> Box:
        """The free wall over the ground floor, between the friezes."""
        top, foot, details = self.nave.y0 + 0.012, self.floor, self.details
        if details.has_top_frieze:
            top = self.nave.y0 + details.frieze_height
        if details.has_middle_frieze:
            foot -= details.frieze_height
        return Box(self.nave.x0, top, self.nave.x1, foot)

    @property
    def centrepiece(self) -> str:
        """Where the centrepiece is: "none", "wall", or "gable", also when the wall is too low."""
        is_low = self.upper_floor.height < 0.09
        return (
            "gable" if self.details.centrepiece == "wall" and is_low else self.details.centrepiece
        )

    @property
    def extent(self) -> Box:
        """The box around all that may be built."""
        walls = (self.nave, *self.aisles, *self.towers)
        left, right = min(wall.x0 for wall in walls), max(wall.x1 for wall in walls)
        return Box(left, self.ceiling - _CROSS.height, right, GROUND)


def _standing(x: float, foot: float, width: float, height: float) -> Box:
    """Return a box by the middle of its foot."""
    return Box(x - width / 2, foot - height, x + width / 2, foot)


def draw_plan(dice: Dice) -> Plan:
    """Return a random plan: four roles or more, and a number of parts that can be annotated."""
    plain = dict.fromkeys(ROLES, STYLES[0])
    while True:
        plan = _try_plan(dice)
        parts = [part for part in place(plan, plain) if part.is_labelled]
        roles = [PART_TYPES[part.name][0] for part in parts]
        windows = sum(r == "window" and p.parent < 0 for r, p in zip(roles, parts, strict=True))
        enough = windows >= _WINDOWS_NEEDED and len(ROLES.keys() & roles) >= _ROLES_NEEDED
        if enough and _LEAST <= len(parts) <= _MOST:
            return plan


_KINDS = ("none", "none", "side", "ridge", "pair", "pair", "pair")
_NAVE_WIDTHS = {
    "none": (0.42, 0.62),
    "side": (0.4, 0.54),
    "ridge": (0.36, 0.5),
    "pair": (0.3, 0.44),
}


def _try_plan(dice: Dice) -> Plan:
    kind = dice.pick(_KINDS)
    width = dice.between(*_NAVE_WIDTHS[kind])
    height = dice.between(0.3, 0.36) if kind == "ridge" else dice.between(0.34, 0.46)
    nave = _standing(0.5, GROUND, width, height)
    towers = _draw_towers(dice, kind, nave)
    return Plan(
        nave=nave,
        bays=_bays(nave, 5 if width > 0.5 and dice.chance(0.6) else 3, dice.between(1.25, 1.6)),
        floor=GROUND - height * dice.between(0.46, 0.56),
        aisles=_draw_aisles(dice, nave) if kind in ("none", "ridge") and dice.chance(0.6) else (),
        towers=towers,
        ceiling=min([nave.y0 - 0.45 * width, *(t.y0 - 1.6 * t.width for t in towers)]),
        ridge_tower=kind == "ridge",
        details=Details.draw(dice),
        variants={role: dice.between(0.0, 1.0) for role in dict(PART_TYPES.values())},
    )


def _draw_towers(dice: Dice, kind: str, nave: Box) -> tuple[Box, ...]:
    width = dice.between(0.12, 0.17)
    if kind == "ridge":
        return (_standing(nave.middle, nave.y0, width, dice.between(0.3, 0.36)),)
    tower = Box(0.0, max(nave.y0 - dice.between(0.1, 0.2), GROUND - 0.6), width, GROUND)
    sides = [tower.moved(nave.x0 - width, 0.0), tower.moved(nave.x1, 0.0)]
    return {"none": (), "side": (dice.pick(sides),), "pair": tuple(sides)}[kind]


def _draw_aisles(dice: Dice, nave: Box) -> tuple[Box, ...]:
    width, top = dice.between(0.09, 0.14), GROUND - nave.height * dice.between(0.5, 0.7)
    return (Box(nave.x0 - width, top, nave.x0, GROUND), Box(nave.x1, top, nave.x1 + width, GROUND))


def _bays(nave: Box, count: int, emphasis: float) -> tuple[float, ...]:
    """Return the borders of the bays; the one in the middle is wider by a factor."""
    unit = nave.width / (count - 1 + emphasis)
    half = count // 2
    left = [nave.x0 + unit * i for i in range(half + 1)]
    right = [nave.x1 - unit * i for i in range(half, -1, -1)]
    return (*left, *right)


def place(plan: Plan, forms: Mapping[str, str]) -> tuple[Part, ...]:
    """Return the parts of a plan in the order of painting; what belongs to a part follows it.

    Parameters
    ----------
    plan : Plan
        The proportions.
    forms : mapping
        The style in which each role is built.
    """
    site = _Site(plan, forms)
    if plan.ridge_tower:
        _place_towers(site)
    _place_walls(site)
    if not plan.ridge_tower:
        _place_towers(site)
    _place_crown(site)
    _place_uprights(site)
    _place_upper_floor(site)
    _place_ground_floor(site)
    _place_friezes(site)
    return tuple(site.parts)


@dataclass(slots=True)
class _Site:
    """The parts placed so far."""

    plan: Plan
    forms: Mapping[str, str]
    parts: list[Part] = field(default_factory=list)

    def add(self, name: str, box: Box, parent: int = -1) -> int:
        """Add a part of a given type, or scenery; return its number."""
        role, _ = PART_TYPES.get(name, ("", ""))
        self.parts.append(Part(name, box, parent, self.plan.variants.get(role, 0.0)))
        return len(self.parts) - 1

    def build(self, role: str, box: Box, parent: int = -1) -> int:
        """Add a part in the form chosen for its role; return its number."""
        return self.add(ROLES[role][self.forms[role]].label, box, parent)

    def crown(self, role: str, foot: Box, stretch: float, ceiling: float, parent: int = -1) -> int:
        """Add a part on top of a box, as high as its form wants and the ceiling allows."""
        rise = ROLES[role][self.forms[role]].rise * stretch * foot.width
        top = max(foot.y0 - rise, ceiling)
        return self.build(role, Box(foot.x0, top, foot.x1, foot.y0), parent)

    def bays(self) -> list[tuple[float, float]]:
        """Return middle and width of each bay."""
        return [((a + b) / 2, b - a) for a, b in pairwise(self.plan.bays)]

    def is_centre(self, bay: int) -> bool:
        """Return whether a bay is the one in the middle."""
        return 2 * bay + 2 == len(self.plan.bays)


def _place_walls(site: _Site) -> None:
    nave = site.plan.nave
    rise = min(0.13 * nave.width, 0.06)
    site.add("roof", Box(nave.x0, nave.y0 - rise, nave.x1, nave.y0))
    for aisle in site.plan.aisles:
        left = aisle.x0 < nave.x0
        roof = Box(aisle.x0, aisle.y0 - 0.45 * aisle.width, aisle.x1, aisle.y0)
        site.add("left lean-to roof" if left else "right lean-to roof", roof)
        site.add("wall", aisle)
        window = _standing(
            aisle.middle, aisle.y1 - 0.3 * aisle.height, 0.36 * aisle.width, 0.42 * aisle.height
        )
        site.build("window", window)
    site.add("wall", nave)


def _place_towers(site: _Site) -> None:
    details = site.plan.details
    for box in site.plan.towers:
        tower = site.add("bell tower", box)
        top = site.crown("tower top", box, details.top_stretch, site.plan.ceiling, tower)
        if details.has_tower_crosses:
            _place_cross(site, top)
        _place_tower_openings(site, tower, box)


def _place_tower_openings(site: _Site, tower: int, box: Box) -> None:
    """Place the windows of a tower from the top down, and a clock in the middle."""
    details = site.plan.details
    rows = 1 if site.plan.ridge_tower else details.tower_rows
    storey = 0.4 * box.height if site.plan.ridge_tower else min(box.height / (rows + 0.4), 0.17)
    width = (0.3 if details.belfry_columns == 2 else 0.38) * box.width
    height = min(details.window_height * width, 0.68 * storey)
    for row in range(rows):
        foot = box.y0 + storey * (row + 0.92)
        columns = details.belfry_columns if row == 0 else 1
        for column in range(columns):
            x = box.middle + (column - (columns - 1) / 2) * 0.42 * box.width
            site.build("window", _standing(x, foot, width, height), tower)
    if details.has_clocks and not site.plan.ridge_tower:
        y = box.y0 + storey * (rows + 0.36)
        if y + 0.5 * box.width < box.y1 - 0.06:
            side = 0.44 * box.width
            site.add("clock", _standing(box.middle, y + side / 2, side, side), tower)


def _place_crown(site: _Site) -> None:
    plan, details = site.plan, site.plan.details
    if not (details.has_gable or plan.ridge_tower):
        return
    ceiling = plan.ceiling
    if plan.ridge_tower:  # more than a third of it stays in sight
        ceiling = plan.nave.y0 - 0.6 * plan.towers[0].height
    gable = site.crown("gable", plan.nave, details.gable_stretch, ceiling)
    box = site.parts[gable].box
    if plan.centrepiece == "gable":
        side = min(0.42 * box.height, 0.15 * box.width)
        y = box.y1 - 0.16 * box.height
        site.build("centrepiece", _standing(box.middle, y, side, side), gable)
    if details.has_gable_cross and not plan.ridge_tower:
        _place_cross(site, gable)


def _place_cross(site: _Site, carrier: int) -> None:
    box = site.parts[carrier].box
    site.add("cross", _CROSS.moved(box.middle, box.y0), carrier)


def _place_uprights(site: _Site) -> None:
    plan, details = site.plan, site.plan.details
    middle = len(plan.bays) // 2
    borders = {
        "none": (),
        "portal": plan.bays[middle - 1 : middle + 1],
        "bays": (plan.bays[0], *plan.bays[middle - 1 : middle + 1], plan.bays[-1]),
    }[details.uprights]
    width = min(details.upright_width, 0.3 * (plan.bays[1] - plan.bays[0]))
    for x in borders:
        inside = min(max(x, plan.nave.x0 + width / 2), plan.nave.x1 - width / 2)
        site.build("upright", _standing(inside, GROUND, width, GROUND - plan.upper_floor.y0))


def _place_upper_floor(site: _Site) -> None:
    plan, details, wall = site.plan, site.plan.details, site.plan.upper_floor
    if plan.centrepiece == "wall":
        x, width = site.bays()[len(plan.bays) // 2 - 1]
        side = details.centrepiece_size * min(width, wall.height)
        site.build("centrepiece", _standing(x, (wall.y0 + wall.y1 + side) / 2, side, side))
    rows = min(details.upper_rows, int(wall.height / 0.07))
    for row in range(rows):
        foot = wall.y0 + wall.height * (row + 0.86) / rows
        for bay in range(len(plan.bays) - 1):
            if not (plan.centrepiece == "wall" and site.is_centre(bay)):
                _place_window(site, bay, foot, 0.72 * wall.height / rows)


def _place_window(site: _Site, bay: int, foot: float, most: float) -> None:
    details = site.plan.details
    x, width = site.bays()[bay]
    width = min(details.window_width * width, 0.085)
    height = min(details.window_height * width, most)
    site.build("window", _standing(x, foot, min(width, height / 1.35), height))


def _place_ground_floor(site: _Site) -> None:
    plan, details = site.plan, site.plan.details
    room = GROUND - plan.floor
    inner = (len(plan.bays) - 1) // 2
    for bay in range(len(plan.bays) - 1):
        if site.is_centre(bay):
            _place_portal(site, bay, 0.9 * room)
        elif details.has_side_portals and abs(bay - inner) == 1:
            _place_portal(site, bay, 0.66 * room)
        elif details.has_lower_windows:
            _place_window(site, bay, GROUND - 0.3 * room, 0.52 * room)


def _place_portal(site: _Site, bay: int, most: float) -> None:
    details = site.plan.details
    x, width = site.bays()[bay]
    rise = details.step_height if site.is_centre(bay) else 0.0
    width = min(details.portal_width * width, 0.17)
    height = min(details.portal_height * width, most - rise)
    width = min(width, height / 1.15)
    box = _standing(x, GROUND - rise, width, height)
    portal = site.build("portal", box)
    site.add("door", box.part(0.3, 0.52, 0.7, 1.0), portal)
    if rise:
        site.add("steps", Box(x - 0.64 * width, GROUND - rise, x + 0.64 * width, GROUND + 0.012))


def _place_friezes(site: _Site) -> None:
    nave, details = site.plan.nave, site.plan.details
    height = details.frieze_height
    if details.has_top_frieze:
        site.build("frieze", Box(nave.x0, nave.y0, nave.x1, nave.y0 + height))
    if details.has_middle_frieze:
        site.build("frieze", Box(nave.x0, site.plan.floor - height, nave.x1, site.plan.floor))


_TREES = ("round tree", "slim tree")
_SMALL = ("person", "car", "car", "bush", "bush")
_SIZES = {  # width, height
    "person": ((0.028, 0.034), (0.08, 0.095)),
    "car": ((0.18, 0.22), (0.07, 0.08)),
    "bush": ((0.1, 0.18), (0.06, 0.1)),
    "round tree": ((0.16, 0.24), (0.28, 0.42)),
    "slim tree": ((0.07, 0.1), (0.28, 0.44)),
}


def foreground(dice: Dice, plan: Plan) -> tuple[Part, ...]:
    """Return what stands in front of a facade, none to four.

    Before the portals there are only people, and trees are two at most, so that no role is lost
    to sight.
    """
    extent, middle = plan.extent, plan.nave.middle
    inner = len(plan.bays) // 2
    last_door = (plan.bays[inner] + plan.bays[inner + 1]) / 2 - middle
    clearance = 0.15 + (last_door if plan.details.has_side_portals else 0.0)
    placed: list[Part] = []
    for _ in range(dice.pick((0, 1, 2, 2, 3, 4))):
        x = dice.between(extent.x0 - 0.04, extent.x1 + 0.04)
        is_tree = dice.chance(0.6) and sum(part.name in _TREES for part in placed) < 2
        name = dice.pick(_TREES if is_tree else _SMALL) if abs(x - middle) > clearance else "person"
        (w0, w1), (h0, h1) = _SIZES[name]
        foot = GROUND + dice.between(0.01, 0.045)
        box = _standing(x, foot, dice.between(w0, w1), dice.between(h0, h1))
        placed.append(Part(name, box, variant=dice.between(0.0, 1.0)))
    return tuple(sorted(placed, key=lambda part: part.box.y1))
