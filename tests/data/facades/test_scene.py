from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import pytest

from sightline.data.facades.dice import Dice
from sightline.data.facades.scene import GROUND, Part, Plan, draw_plan, foreground, place
from sightline.data.facades.styles import PART_TYPES, ROLES, STYLES

if TYPE_CHECKING:
    from sightline.data.facades.shapes import Box

PLANS = [draw_plan(Dice(3, index, "layout")) for index in range(150)]
NEAR = 1e-9


def role(part: Part) -> str:
    return PART_TYPES.get(part.name, ("", ""))[0]


def built(plan: Plan, style: str = "Gothic") -> tuple[Part, ...]:
    return place(plan, dict.fromkeys(ROLES, style))


def inside(inner: Box, outer: Box) -> bool:
    return (
        inner.x0 >= outer.x0 - NEAR
        and inner.y0 >= outer.y0 - NEAR
        and inner.x1 <= outer.x1 + NEAR
        and inner.y1 <= outer.y1 + NEAR
    )


def overlap(one: Box, other: Box) -> bool:
    return (
        min(one.x1, other.x1) - max(one.x0, other.x0) > NEAR
        and min(one.y1, other.y1) - max(one.y0, other.y0) > NEAR
    )


def test_plans_vary() -> None:
    assert {len(plan.towers) for plan in PLANS} == {0, 1, 2}
    assert {len(plan.bays) for plan in PLANS} == {4, 6}
    assert {len(plan.aisles) for plan in PLANS} == {0, 2}
    assert {plan.ridge_tower for plan in PLANS} == {False, True}
    present = [{role(part) for part in built(plan)} for plan in PLANS]
    for name in ("gable", "tower top", "upright", "centrepiece", "frieze"):
        assert 0.3 < sum(name in roles for roles in present) / len(PLANS) < 0.95, name
    assert all({"window", "portal"} <= roles for roles in present)
    assert all(len(roles & ROLES.keys()) >= 4 for roles in present)


@pytest.mark.parametrize("style", STYLES)
def test_parts_stand_where_they_belong(style: str) -> None:
    for plan in PLANS:
        parts = built(plan, style)
        walls = [part.box for part in parts if part.name == "wall"]
        for number, part in enumerate(parts):
            assert part.parent < number
            carrier = parts[part.parent].box if part.parent >= 0 else None
            match role(part):
                case "window" | "centrepiece":
                    carriers = walls if carrier is None else [carrier]
                    assert any(inside(part.box, wall) for wall in carriers), part
                case "tower":
                    foot = plan.nave.y0 if plan.ridge_tower else GROUND
                    assert part.box.y1 == pytest.approx(foot)
                case "tower top":
                    assert carrier is not None
                    assert (part.box.x0, part.box.x1) == (carrier.x0, carrier.x1)
                    assert part.box.y1 == carrier.y0
                case "gable":
                    assert (part.box.x0, part.box.x1) == (plan.nave.x0, plan.nave.x1)
                    assert part.box.y1 == plan.nave.y0
                case "portal" | "upright" | "frieze":
                    assert inside(part.box, plan.nave), part
            if part.name == "door":
                assert carrier is not None
                assert inside(part.box, carrier)


def test_what_belongs_to_a_part_follows_it_directly() -> None:
    for plan in PLANS:
        parts = built(plan)
        family: list[int] = []
        for number, part in enumerate(parts):
            while family and family[-1] != part.parent:
                family.pop()
            assert part.parent == (family[-1] if family else -1)
            family.append(number)


def test_openings_do_not_collide() -> None:
    for plan in PLANS:
        openings = [
            part
            for part in built(plan)
            if role(part) in ("window", "portal", "centrepiece", "frieze") or part.name == "clock"
        ]
        for one, other in combinations(openings, 2):
            if one.parent == other.parent:
                assert not overlap(one.box, other.box), (one, other)


@pytest.mark.parametrize("changed", ROLES)
def test_a_form_moves_nothing_but_its_own_parts_and_what_they_carry(changed: str) -> None:
    for plan in PLANS[:60]:
        before, after = (
            built(plan),
            place(plan, {**dict.fromkeys(ROLES, "Gothic"), changed: "Baroque"}),
        )
        assert len(before) == len(after)
        touched: set[int] = set()
        for number, (one, other) in enumerate(zip(before, after, strict=True)):
            if role(one) == changed or one.parent in touched:
                touched.add(number)
                assert role(one) == role(other)
            else:
                assert one == other


def test_what_stands_in_front_leaves_the_portal_free() -> None:
    counts, kinds = set(), set()
    for index, plan in enumerate(PLANS):
        front = foreground(Dice(3, index, "foreground"), plan)
        counts.add(len(front))
        kinds |= {part.name for part in front}
        portals = [part.box for part in built(plan) if role(part) == "portal"]
        assert sum("tree" in part.name for part in front) <= 2
        for part in front:
            assert not part.is_labelled
            assert part.box.y1 > GROUND
            if part.name != "person":
                assert not any(abs(part.box.middle - portal.middle) < 0.1 for portal in portals)
        assert [part.box.y1 for part in front] == sorted(part.box.y1 for part in front)
    assert counts == {0, 1, 2, 3, 4}
    assert kinds == {"person", "car", "bush", "round tree", "slim tree"}


def test_plans_have_nine_to_twenty_five_parts_and_four_roles_or_more() -> None:
    counts = set()
    for plan in (*PLANS, *(draw_plan(Dice(4, index, "layout")) for index in range(350))):
        labelled = [part for part in built(plan) if part.is_labelled]
        counts.add(len(labelled))
        assert len(ROLES.keys() & {role(part) for part in labelled}) >= 4
    assert min(counts) >= 9
    assert max(counts) == 25
