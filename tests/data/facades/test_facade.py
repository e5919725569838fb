from __future__ import annotations

import hashlib
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageDraw

from sightline.core import InputError
from sightline.data.facades import PART_TYPES, ROLES, STYLES, Facade, taxonomy
from sightline.data.facades.camera import Camera
from sightline.data.facades.colours import GROUNDS, SKIES, Look
from sightline.data.facades.dice import Dice
from sightline.data.facades.painters import PAINTERS
from sightline.data.facades.scene import draw_plan, foreground, place
from tests.scripts import printed_by

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from sightline.data.facades.scene import Part

PINNED = [(seed, index) for seed in (0, 1, 2**32 - 1) for index in (0, 3, 6, 9)]
DIGEST = "2b6b15d2b6abc9e01c445c4c966ef71ab6bc962c62fa2fb82c50c4b8463bbf60"


def digest(places: list[tuple[int, int]]) -> str:
    """Hash pictures and masks; the order of drawing is not that of hashing."""
    drawn = [Facade.generate(*numbers, 224) for numbers in reversed(places)]
    images = [facade.image() for facade in drawn][::-1]
    found = hashlib.sha256()
    for image, facade in zip(images, reversed(drawn), strict=True):
        found.update(image.tobytes())
        for part in facade.parts:
            found.update(part.label.encode() + np.packbits(part.mask).tobytes())
    return found.hexdigest()


def silhouette(facade: Facade, parts: Iterable[Part], least: int) -> NDArray[np.bool_]:
    """Pixels of which at least so many quarters are covered by the parts, seen or not."""
    camera = Camera.draw(Dice(facade.seed, facade.index, "camera"), facade.plan.extent)
    look = Look.draw(Dice(facade.seed, facade.index, "colour"))
    side = 2 * facade.size
    sheet = Image.new("1", (side, side))
    for part in parts:
        for shape in PAINTERS[part.name](part.box, look, part.variant):
            points = np.stack(camera.project(*np.array(shape.outline).T), axis=1) * side
            ImageDraw.Draw(sheet).polygon(np.floor(points).ravel().tolist(), fill=1)
    quarters = np.asarray(sheet).reshape(facade.size, 2, -1, 2).sum(axis=(1, 3))
    mask: NDArray[np.bool_] = quarters >= least
    return mask


def touched(facade: Facade, role: str) -> NDArray[np.bool_]:
    """Pixels that a role and what its instances carry have any share of."""
    parts, found = place(facade.plan, facade.forms), set[int]()
    for number, part in enumerate(parts):
        if part.parent in found or PART_TYPES.get(part.name, ("",))[0] == role:
            found.add(number)
    return silhouette(facade, [parts[number] for number in found], 1)


def changed(one: Facade, other: Facade) -> NDArray[np.bool_]:
    mask: NDArray[np.bool_] = (one.image() != other.image()).any(axis=2)
    return mask


# The same bits.


def test_bits_are_pinned() -> None:
    assert digest(PINNED) == DIGEST


def test_another_process_draws_the_same_bits() -> None:
    code = (
        "import hashlib; from sightline.data.facades import Facade\n"
        "images = [Facade.generate(4, i, 96).image() for i in range(3)]\n"
        "print([hashlib.sha256(image.tobytes()).hexdigest() for image in images])"
    )
    here = [
        hashlib.sha256(Facade.generate(4, i, 96).image().tobytes()).hexdigest() for i in (2, 1, 0)
    ]
    assert printed_by(code).strip() == str(here[::-1])


def test_images_differ_by_seed_and_index() -> None:
    places = [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert len({Facade.generate(*place, 64).image().tobytes() for place in places}) == 4


def test_pictures_may_be_written_to_and_masks_not() -> None:
    facade = Facade.generate(0, 0, 64)
    facade.image()[:] = 0
    facade.background()[:] = True
    assert facade.image().any()
    assert not facade.background().all()
    with pytest.raises(ValueError, match="read-only"):
        facade.parts[0].mask[0, 0] = True


# What is on it.


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), index=st.integers(0, 2**32 - 1))
def test_any_facade_has_enough_parts_and_one_style(seed: int, index: int) -> None:
    facade = Facade.generate(seed, index, 64)
    assert 5 <= len(facade.parts) <= 25
    assert facade.style in STYLES
    assert all(part.mask.any() for part in facade.parts)


def test_instances_are_many_and_varied(many: tuple[Facade, ...]) -> None:
    assert all(5 <= len(facade.parts) <= 25 for facade in many)
    types = Counter(part.label for facade in many for part in facade.parts)
    assert set(types) == set(PART_TYPES)
    repeated = [max(Counter(p.label for p in facade.parts).values()) for facade in many]
    assert sum(most >= 3 for most in repeated) > 0.8 * len(many)


def test_masks_are_seen_and_boxes_are_tight(many: tuple[Facade, ...]) -> None:
    for facade in many:
        for part in facade.parts:
            rows, columns = np.nonzero(part.mask)
            edges = (columns.min(), rows.min(), columns.max() + 1, rows.max() + 1)
            assert part.box == tuple(edge / 112 for edge in edges)
            assert 0 < part.visible <= 1
            assert not (part.mask & facade.background()).any()


def test_labels_are_in_the_taxonomy(many: tuple[Facade, ...]) -> None:
    tree = taxonomy()
    for facade in many:
        assert all(tree.ancestors(part.label) == (part.role,) for part in facade.parts)


def test_difficult_instances_are_hidden_or_tiny(many: tuple[Facade, ...]) -> None:
    flagged = 0
    for facade in many:
        for part in facade.parts:
            hard = part.visible < 1 / 3 or part.mask.sum() < 12 / 4  # 112 is half of 224
            assert part.is_difficult == hard
            flagged += hard
    assert 0 < flagged < 0.05 * sum(len(facade.parts) for facade in many)


def test_every_vote_can_be_seen(many: tuple[Facade, ...]) -> None:
    for facade in many:
        seen = {part.role for part in facade.parts if not part.is_difficult}
        cast = {PART_TYPES[label][0] for label in facade.labels}
        assert cast & ROLES.keys() <= seen


def votes(facade: Facade) -> Counter[str]:
    """The votes again: one per role, from the instances in sight."""
    forms = {(part.role, part.style) for part in facade.parts if part.style}
    assert len(forms) == len({role for role, _ in forms})
    return Counter(style for _, style in forms)


def test_the_style_is_that_of_most_roles(many: tuple[Facade, ...]) -> None:
    for facade in many:
        counted = votes(facade)
        (style, most), *others = counted.most_common()
        assert facade.style == style
        assert all(count < most for _, count in others)
        assert facade.evidence == {name: counted[name] for name in STYLES}
        assert sum(counted.values()) >= 4
        assert set(facade.deciding) == {p.label for p in facade.parts if p.style == style}


def test_styles_are_balanced_and_a_third_borrows(many: tuple[Facade, ...]) -> None:
    for start in range(0, len(many), 4):
        assert {facade.style for facade in many[start : start + 4]} == set(STYLES)
    firsts = {many[start].style for start in range(0, len(many), 4)}
    assert firsts == set(STYLES)
    purity = [len(votes(facade)) == 1 for facade in many]
    assert 0.58 < np.mean(purity) < 0.75
    assert any(facade.evidence[facade.style] <= sum(votes(facade).values()) - 2 for facade in many)


def test_no_part_type_gives_the_style_away() -> None:
    seen: dict[str, set[str]] = {label: set() for label in PART_TYPES}
    for index in range(800):
        facade = Facade.generate(5, index)
        for label in facade.labels:
            seen[label].add(facade.style)
    assert all(len(styles) > 1 for styles in seen.values())


def test_nothing_but_the_forms_depends_on_the_style() -> None:
    for index in range(8):
        facade = Facade.generate(6, index, 96)
        twins = [facade, facade]
        for role in ROLES:
            if role in {PART_TYPES[label][0] for label in facade.labels}:
                twins = [
                    twins[0].with_style_of("Gothic", role),
                    twins[1].with_style_of("Baroque", role),
                ]
        ours, theirs = twins
        assert (ours.style, theirs.style) == ("Gothic", "Baroque")
        where = np.any([touched(twin, role) for twin in twins for role in ROLES], axis=0)
        assert not (changed(ours, theirs) & ~where).any()


def test_a_hidden_part_is_placed_all_the_same() -> None:
    facade = Facade.generate(0, 340, 96)  # a tree stands before its clock
    assert "clock" in facade.labels
    assert "clock" not in {part.label for part in facade.parts}
    assert facade.labels == Facade.generate(0, 340, 224).labels
    edited = facade.without("clock")
    assert "clock" not in edited.labels
    assert not (changed(facade, edited) & ~touched(facade, "detail")).any()


def test_the_layout_knows_nothing_of_the_style() -> None:
    for seed in (0, 12):
        facades = [Facade.generate(seed, index) for index in range(24)]
        assert {facade.style for facade in facades} == set(STYLES)
        for index, facade in enumerate(facades):
            assert facade.plan == draw_plan(Dice(seed, index, "layout"))


def test_nothing_decides_a_tie() -> None:
    tied = 0
    for index in range(8):
        facade = Facade.generate(4, index)
        roles = [role for role in ROLES if role in {PART_TYPES[n][0] for n in facade.labels}]
        for number, role in enumerate(roles):
            facade = facade.with_style_of(STYLES[number % 2], role)
        if len(roles) % 2 == 0:
            votes = len(roles) // 2
            assert list(facade.evidence.values()) == [votes, votes, 0, 0]
            assert (facade.style, facade.deciding) == ("mixed", ())
            tied += 1
        else:
            assert facade.style == STYLES[0]
            wanted = {ROLES[role][STYLES[0]].label for role in roles[::2]}
            assert set(facade.deciding) == wanted
        for role in ("tower", "detail", *ROLES):
            if role in {PART_TYPES[name][0] for name in facade.labels}:
                facade = facade.without(role)
        assert (facade.labels, facade.style, facade.deciding) == ((), "mixed", ())
        assert facade.annotation("representative").regions == ()
    assert 0 < tied < 8


# What if.


def test_without_changes_only_where_the_part_was(few: tuple[Facade, ...]) -> None:
    for facade in few:
        for role in {part.role for part in facade.parts} - {"detail"}:
            label = next(part.label for part in facade.parts if part.role == role)
            for name in (role, label):
                edited = facade.without(name)
                assert not {role} & {part.role for part in edited.parts}
                assert not (changed(facade, edited) & ~touched(facade, role)).any(), name
            assert changed(facade, edited).any()
            left = {part.role: part.style for part in edited.parts if part.style}
            assert edited.evidence == {s: list(left.values()).count(s) for s in STYLES}


def test_what_a_part_carries_goes_with_it(few: tuple[Facade, ...]) -> None:
    assert any("bell tower" in facade.labels for facade in few)
    for facade in few:
        doorless = facade.without("portal")
        assert "door" not in doorless.labels
        if "bell tower" in facade.labels:
            towerless = facade.without("tower")
            assert not {"bell tower", "clock"} & set(towerless.labels)
            assert "tower top" not in {part.role for part in towerless.parts}
            assert "window" in {part.role for part in towerless.parts}


def test_what_was_behind_is_shown() -> None:
    facade = next(f for f in (Facade.generate(0, i, 96) for i in range(99)) if f.plan.ridge_tower)
    tower = next(part for part in facade.parts if part.label == "bell tower")
    uncovered = next(p for p in facade.without("gable").parts if p.label == "bell tower")
    assert tower.visible < uncovered.visible
    assert (uncovered.mask & ~tower.mask).any()


def test_with_style_of_redraws_in_place(few: tuple[Facade, ...]) -> None:
    for facade in few:
        for role in {part.role for part in facade.parts} & ROLES.keys():
            style = STYLES[STYLES.index(facade.forms[role]) - 1]
            edited = facade.with_style_of(style, role)
            where = touched(facade, role) | touched(edited, role)
            assert not (changed(facade, edited) & ~where).any(), (role, style)
            assert changed(facade, edited).any()
            before, after = (
                [label for label in f.labels if PART_TYPES[label][0] == role]
                for f in (facade, edited)
            )
            assert (len(before), after) == (1, [ROLES[role][style].label])
            counted = {s: facade.evidence[s] for s in STYLES}
            counted[facade.forms[role]] -= 1
            counted[style] += 1
            assert edited.evidence == counted


def windows(names: Iterable[str]) -> int:
    return sum(PART_TYPES.get(name, ("",))[0] == "window" for name in names)


def test_as_many_are_placed_in_another_form_though_not_as_many_may_be_seen() -> None:
    facade = Facade.generate(0, 10, 112)  # a slim tree stands before two
    edited = facade.with_style_of("Romanesque", "window")
    placed = [windows(p.name for p in place(f.plan, f.forms)) for f in (facade, edited)]
    assert placed == [11, 11]
    assert [windows(p.label for p in f.parts) for f in (facade, edited)] == [9, 10]


def test_with_style_of_keeps_the_places_of_instances() -> None:
    for index in range(12):
        facade = Facade.generate(9, index, 224)
        for style in STYLES:
            edited = facade.with_style_of(style, "window")
            count = sum(part.role == "window" for part in edited.parts)
            assert count == sum(part.role == "window" for part in facade.parts)
            here, there = (
                np.array([p.box for p in f.parts if p.role == "window"]) for f in (facade, edited)
            )
            np.testing.assert_allclose(here, there, atol=0.05)


def test_exchanging_enough_parts_turns_the_style() -> None:
    facade = Facade.generate(0, 0, 64)
    goal = STYLES[STYLES.index(facade.style) - 1]
    seen = [facade.style]
    for role in ROLES:
        if role in {PART_TYPES[label][0] for label in facade.labels}:
            facade = facade.with_style_of(goal, role)
            most = [s for s in STYLES if facade.evidence[s] == max(facade.evidence.values())]
            assert facade.style == (most[0] if len(most) == 1 else "mixed")
            seen.append(facade.style)
    assert seen[0] != goal
    assert seen[-1] == goal


def test_another_facade_gives_its_form() -> None:
    gothic, other = (
        next(f for f in (Facade.generate(0, i, 64) for i in range(40)) if f.forms["portal"] == s)
        for s in ("Gothic", "Renaissance")
    )
    edited = other.with_style_of(gothic, "temple portal")
    assert edited.forms["portal"] == "Gothic"
    assert "pointed portal" in edited.labels
    np.testing.assert_array_equal(edited.image(), other.with_style_of("Gothic", "portal").image())
    back = edited.with_style_of("Renaissance", "pointed portal")
    np.testing.assert_array_equal(back.image(), other.image())


# The background.


def nearest_backdrop(facade: Facade) -> int:
    """The sky and ground that those of a picture are nearest to in hue."""

    def hues(colours: list[NDArray[np.float64]]) -> NDArray[np.float64]:
        return np.concatenate([colour / colour.sum() for colour in colours])

    rows, columns = np.nonzero(facade.background())
    pixels = facade.image()[rows, columns].astype(float)
    seen = hues([np.median(pixels[:400], axis=0), np.median(pixels[-200:], axis=0)])
    known = [
        hues([np.array(top, float), np.array(ground, float)])
        for (top, _), ground in zip(SKIES, GROUNDS, strict=True)
    ]
    return int(np.argmin([((seen - each) ** 2).sum() for each in known]))


def test_confounded_changes_the_background_alone(few: tuple[Facade, ...]) -> None:
    for facade in few:
        twin = Facade.generate(facade.seed, facade.index, facade.size, confounded=True)
        front = foreground(Dice(facade.seed, facade.index, "foreground"), facade.plan)
        whole = silhouette(facade, (*place(facade.plan, facade.forms), *front), 4)
        assert not (changed(facade, twin) & whole).any()
        np.testing.assert_array_equal(facade.background(), twin.background())
        assert [p.label for p in facade.parts] == [p.label for p in twin.parts]
        for ours, theirs in zip(facade.parts, twin.parts, strict=True):
            np.testing.assert_array_equal(ours.mask, theirs.mask)


def test_the_sky_tells_the_style_only_when_confounded(many: tuple[Facade, ...]) -> None:
    hits = 0
    for facade in many[:100]:
        twin = Facade.generate(facade.seed, facade.index, 64, confounded=True)
        assert STYLES[nearest_backdrop(twin)] == twin.style
        hits += STYLES[nearest_backdrop(facade)] == facade.style
    assert 12 <= hits <= 40  # 25 by chance


def test_editing_leaves_the_confounded_background() -> None:
    facade = Facade.generate(0, 1, 96, confounded=True)
    edited = facade.without("window").without("portal")
    assert edited.confounded
    both = facade.background() & edited.background()
    np.testing.assert_array_equal(facade.image()[both], edited.image()[both])


# Annotations.


def test_the_exhaustive_annotation_lists_every_part(few: tuple[Facade, ...]) -> None:
    for facade in few:
        annotation = facade.annotation()
        assert annotation.image_id == f"facade-{facade.index:05}.png"
        assert (annotation.width, annotation.height) == (112, 112)
        assert annotation.labels == (facade.style,)
        assert len(annotation.regions) == len(facade.parts)
        for number, (region, part) in enumerate(zip(annotation.regions, facade.parts, strict=True)):
            assert (region.label, region.source, region.kind) == (part.label, part.role, "mask")
            assert (region.index, region.box) == (number, part.box)
            assert region.difficult == part.is_difficult
            np.testing.assert_array_equal(region.to_mask(112, 112), part.mask)
    assert few[0].annotation(image_id="mine.png").image_id == "mine.png"


@pytest.mark.parametrize("labelling", ["representative", "salient"])
def test_sparse_labels_are_one_per_type_and_part_of_the_truth(
    labelling: str, many: tuple[Facade, ...]
) -> None:
    for facade in many:
        chosen = facade.annotation(labelling).regions  # type: ignore[arg-type]
        assert [r.index for r in chosen] == sorted(r.index for r in chosen)
        assert Counter(r.label for r in chosen) == dict.fromkeys({p.label for p in facade.parts}, 1)
        for region in chosen:
            truth = facade.parts[region.index]
            assert (region.label, region.box) == (truth.label, truth.box)
            if region.difficult:
                assert all(p.is_difficult for p in facade.parts if p.label == region.label)


def test_representatives_are_drawn_evenly(many: tuple[Facade, ...]) -> None:
    places = []
    for facade in many:
        rank = Counter[str]()
        for number, part in enumerate(facade.parts):
            rank[part.label] += 1
            same = sum(p.label == part.label for p in facade.parts)
            chosen = {r.index for r in facade.annotation("representative").regions}
            if same > 2 and number in chosen:
                places.append((rank[part.label] - 0.5) / same)
    assert len(places) > 150
    assert np.mean(places) == pytest.approx(0.5, abs=0.07)


def chosen(facade: Facade) -> dict[str, int]:
    """The number of the representative of each part type."""
    regions = facade.annotation("representative").regions
    return {region.label: facade.parts[region.index].number for region in regions}


def plain_to_see(facade: Facade) -> dict[str, set[int]]:
    """The numbers of the instances that are not difficult, by part type."""
    found: dict[str, set[int]] = {label: set() for label in PART_TYPES}
    for part in facade.parts:
        if not part.is_difficult:
            found[part.label].add(part.number)
    return found


def test_a_representative_stays_when_something_else_is_removed(few: tuple[Facade, ...]) -> None:
    compared = 0
    for facade in (Facade.generate(31, 1, 96), *few):
        before, easy = chosen(facade), plain_to_see(facade)
        for removed in facade.labels:
            edited = facade.without(removed)
            after, left = chosen(edited), plain_to_see(edited)
            everything = place(facade.plan, facade.forms)
            assert all(everything[part.number].name == part.label for part in edited.parts)
            for label in after:
                # Instances may go with what carried them, and others may come into sight.
                if before[label] in left[label] and left[label] <= easy[label]:
                    assert after[label] == before[label], (removed, label)
                    compared += len(easy[label]) > 1
    assert compared > 200


def test_a_representative_is_the_same_at_any_size_and_in_any_form() -> None:
    compared = 0
    for index in range(12):
        facade = Facade.generate(2, index, 96)
        window = ROLES["window"][facade.forms["window"]].label
        style = STYLES[STYLES.index(facade.forms["window"]) - 1]
        other = facade.with_style_of(style, "window")
        exchanged = {ROLES["window"][style].label: window}
        for twin, names in ((Facade.generate(2, index, 224), {}), (other, exchanged)):
            seen, easy = plain_to_see(twin), plain_to_see(facade)
            for label, number in chosen(twin).items():
                former = names.get(label, label)
                if seen[label] == easy[former]:
                    assert number == chosen(facade)[former], label
                    compared += len(seen[label]) > 1
    assert compared > 40


def test_the_most_salient_is_large_and_central(many: tuple[Facade, ...]) -> None:
    for facade in many:
        best: dict[str, tuple[bool, float]] = {}
        scores = []
        for part in facade.parts:
            x0, y0, x1, y1 = part.box
            distance = np.hypot((x0 + x1) / 2 - 0.5, (y0 + y1) / 2 - 0.5) / 0.5
            scores.append((not part.is_difficult, float(part.mask.sum() * (2 - distance**2))))
            best[part.label] = max(best.get(part.label, (False, 0.0)), scores[-1])
        for region in facade.annotation("salient").regions:
            easy, score = best[region.label]
            assert scores[region.index][0] == easy
            assert scores[region.index][1] == pytest.approx(score, rel=1e-9)


# Errors.


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((-1, 0), "seed must be a whole number from 0 to 4294967295, got -1"),
        ((0, 2**32), "index must be a whole number from 0 to 4294967295, got 4294967296"),
        ((0, 0, 63), "size must be a whole number from 64 to 1024, got 63"),
        ((0, 0, 1025), "size .* got 1025"),
        ((0, 0, 224.0), "size .* got 224.0"),
    ],
)
def test_what_cannot_be_generated(arguments: tuple[int, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Facade.generate(*arguments)


def test_parts_that_are_not_there() -> None:
    facade = Facade.generate(0, 0, 64)
    with pytest.raises(InputError, match=r"no part 'minaret' on this facade; it has .*door"):
        facade.without("minaret")
    with pytest.raises(InputError, match="no part 'portal'"):
        facade.without("portal").with_style_of("Gothic", "portal")
    with pytest.raises(InputError, match="'door' has the same form in every style"):
        facade.with_style_of("Gothic", "door")
    with pytest.raises(InputError, match=r"style must be one of Romanesque, .* got 'Rococo'"):
        facade.with_style_of("Rococo", "portal")
    with pytest.raises(InputError, match="the other facade has no portal; it has"):
        facade.with_style_of(facade.without("portal"), "portal")
    with pytest.raises(InputError, match=r"labelling must be one of exhaustive, .* got 'some'"):
        facade.annotation("some")  # type: ignore[arg-type]
