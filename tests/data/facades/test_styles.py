from __future__ import annotations

from sightline.data.facades.styles import (
    PART_TYPES,
    ROLES,
    STYLES,
    count_votes,
    taxonomy,
    winner,
)


def test_every_style_has_its_own_form_of_every_role() -> None:
    labels = [form.label for forms in ROLES.values() for form in forms.values()]
    assert all(tuple(forms) == STYLES for forms in ROLES.values())
    assert len(set(labels)) == len(labels) == 4 * len(ROLES)
    assert all(label == label.lower().strip() for label in PART_TYPES)


def test_the_taxonomy_has_two_levels() -> None:
    tree = taxonomy()
    assert set(tree.roots) == {*ROLES, "tower", "detail"}
    assert set(tree.names) - set(tree.roots) == set(PART_TYPES)
    for label, (role, _) in PART_TYPES.items():
        assert tree.ancestors(label) == (role,)
    assert tree.children("window")[1] == "pointed window"


def test_a_role_votes_once_and_neutral_parts_never() -> None:
    labels = ["pointed window", "pointed window", "spire", "bell tower", "door", "lunette"]
    assert count_votes(labels) == {"Romanesque": 0, "Gothic": 2, "Renaissance": 1, "Baroque": 0}
    assert winner(count_votes(labels)) == "Gothic"


def test_equal_votes_are_mixed() -> None:
    assert winner(count_votes(["spire", "lunette"])) == "mixed"
    assert winner(count_votes(["spire", "lunette", "rose window"])) == "Gothic"
    assert winner(count_votes(["clock"])) == "mixed"
