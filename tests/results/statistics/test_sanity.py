"""Verdicts: exactly the rule, right on methods whose answer is known."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from sightline import load_dataset, load_model
from sightline.attribution.methods import METHODS
from sightline.attribution.sanity.randomisation import randomised_rows, reference_rows
from sightline.attribution.sanity.table import SIMILARITIES, Job, guide_of
from sightline.core import InputError
from sightline.results.sanity import (
    MARGIN,
    cascade_of,
    cascade_rule,
    cascade_table,
    sanity_of,
    sanity_table,
    verdict_of,
)
from sightline.stats._crossed_means import Crossed, Pairs, crossed_difference, crossed_mean
from sightline.study.plan.checks import partners_of
from tests.results.statistics import check_rows as checked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.random import Generator
    from numpy.typing import NDArray

    from sightline.attribution.sanity.table import Row

IMAGES, DRAWS = 32, 5
SECOND = (np.arange(IMAGES)[:, None] + np.arange(1, DRAWS + 1)) % IMAGES
PARTNERS = {
    seed: {checked.image(i): checked.image(SECOND[i, seed]) for i in range(IMAGES)}
    for seed in range(DRAWS)
}


def ranks(maps: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return centred ranks of length 1, so that products are rank correlations."""
    found = np.argsort(np.argsort(maps, axis=-1), axis=-1) - (maps.shape[-1] - 1) / 2
    return np.asarray(found / np.sqrt((found**2).sum(axis=-1, keepdims=True)))


def similarities(
    rng: Generator, kept: float = 0.0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return similarities of maps of trained and redrawn networks, and across images.

    All maps share a bright centre, by more or less; beyond it those of a redrawn network share
    `kept` of an image's own with those of the trained one.
    """
    side = np.linspace(-1, 1, 8)
    centre = np.exp(-(side[:, None] ** 2 + side**2) / 0.5).ravel()
    own = rng.normal(size=(IMAGES, 64))
    strength = rng.uniform(1.5, 5, (IMAGES, 1))
    trained = ranks(strength * centre + own)
    fresh = rng.normal(size=(DRAWS, IMAGES, 64))
    drawn = kept * own + math.sqrt(1 - kept**2) * fresh
    redrawn = ranks(rng.uniform(2.5, 4, (DRAWS, 1, 1)) * centre + drawn)
    return (trained * redrawn).sum(-1).T, (trained[:, None] * trained[SECOND]).sum(-1)


def judged(same: NDArray[np.float64], across: NDArray[np.float64]) -> str:
    """Return the verdict of similarities without the table around it."""
    first = np.repeat(np.arange(IMAGES), DRAWS)
    pairs = Pairs(first, SECOND.ravel(), across.ravel())
    return verdict_of(crossed_mean(same), crossed_difference(same, pairs))


def test_an_ideal_method_passes_however_bright_its_centre() -> None:
    rng = np.random.default_rng(11)
    verdicts = [judged(*similarities(rng)) for _ in range(300)]
    assert verdicts.count("pass") >= 0.95 * 300
    same, across = similarities(rng)
    assert across.mean() > 0.3  # the centre alone: the guide calls these maps not reliable
    (line,) = checked.lines(
        sanity_of(checked.frame(checked.randomised(same), checked.cross(across)), partners=PARTNERS)
    )
    assert line.verdict == "pass" == judged(same, across)
    assert line.guide == "between"
    assert line.cross == pytest.approx(across.mean())
    assert line.difference == pytest.approx(same.mean() - across.mean())
    assert (line.images, line.seeds) == (IMAGES, DRAWS)


def test_a_method_that_keeps_much_of_its_map_never_passes() -> None:
    rng = np.random.default_rng(12)
    verdicts = [judged(*similarities(rng, kept=0.7)) for _ in range(100)]
    assert verdicts.count("fail") >= 90
    assert "pass" not in verdicts


def test_a_map_that_ignores_the_model_fails() -> None:
    ones = np.ones((IMAGES, DRAWS))
    across = similarities(np.random.default_rng(0))[1]
    rows = checked.frame(
        checked.randomised(ones),
        checked.randomised(ones, 0, "top-down"),
        checked.randomised(ones, 1, "top-down"),
        checked.cross(across),
        checked.reference("edge", np.full(IMAGES, 0.75)),
        checked.reference("training", np.full(IMAGES, 1.0), stage_name="seed2"),
    )
    (line,) = checked.lines(sanity_of(rows, partners=PARTNERS))
    assert (line.similarity, line.low, line.high) == (1, 1, 1)
    assert (line.verdict, line.guide) == ("fail", "unreliable")
    assert line.cascade == "high throughout: unreliable"
    assert (line.edge, line.training) == (0.75, 1.0)


def stored(rows: list[Row], method: str) -> Iterator[dict[str, Any]]:
    """Yield rows of a check as a store's table has them."""
    for row in rows:
        check, way, *rest = row.check.split("/")
        yield {
            "method": method,
            "check": check,
            "way": way,
            "redraw": int(rest[0]) if rest else None,
            "stage": 0 if len(rest) > 1 else None,
            "measure": row.metric,
            "image": row.image,
            "value": row.value,
        }


def test_signed_gradients_of_a_trained_network_pass_and_maps_that_know_none_fail() -> None:
    """From maps to verdict: a network that was trained, on images that it never saw."""
    model = load_model("demo/cnn")
    drawn = load_dataset("facades", count=6, seed=8)
    samples = [replace(one, load=partial(np.copy, one.image())) for one in drawn]  # drawn once
    seeds, methods = range(DRAWS), {"saliency": DRAWS, "edge": 2, "centre": 2}
    labels = {sample.image_id: sample.labels for sample in samples}
    partners = {seed: partners_of(list(labels), labels, seed) for seed in seeds}
    named = {sample.image_id: sample for sample in samples}
    others = {seed: [named[name] for name in names] for seed, names in partners.items()}
    parts = []
    for method, draws in methods.items():
        target = "predicted" if METHODS[method].explains else ""
        job = Job(model, method, {}, (None,), target, 6, {}, "reference")
        rows = reference_rows(job, samples, others)
        for seed in range(draws):
            rows += randomised_rows(replace(job, check=f"randomisation/full/{seed}"), samples)
        parts.append(stored(rows, method))
    table = checked.frame(*parts)
    known = {seed: dict(zip(labels, names, strict=True)) for seed, names in partners.items()}
    for measure in SIMILARITIES:
        found = sanity_of(table, measure=measure, partners=known)
        assert found["verdict"].tolist()[1:] == ["fail", "fail"]
        assert (found["images"] == 6).all()
        assert found["seeds"].tolist() == list(methods.values())
    spearman = sanity_of(table, partners=known)
    assert spearman["verdict"].tolist() == ["pass", "fail", "fail"]
    assert spearman["guide"].tolist() == ["reliable", "unreliable", "unreliable"]
    whole = cascade_of(table, way="full")
    assert whole["name"].tolist()[::2] == ["trained"] * 3
    assert (whole["accuracy"].to_numpy()[::2] > whole["accuracy"].to_numpy()[1::2]).all()


def span(low: float, high: float) -> Crossed:
    """Return a figure with these ends."""
    return Crossed((low + high) / 2, low, high, IMAGES, DRAWS)


@pytest.mark.parametrize(
    ("similarity", "difference", "verdict"),
    [
        ((0.1, 0.2), (-0.05, 0.09), "pass"),
        ((0.1, 0.2), (-0.05, 0.1), "cannot tell"),
        ((0.1, 0.2), (0.1, 0.3), "cannot tell"),
        ((0.1, 0.2), (0.11, 0.3), "fail"),
        ((0.61, 0.9), (-0.2, 0.05), "fail"),  # so alike that nothing else counts
        ((0.6, 0.9), (-0.2, 0.05), "pass"),
        ((0.1, 0.2), (math.nan, math.nan), "cannot tell"),
        ((math.nan, math.nan), (math.nan, math.nan), "cannot tell"),
    ],
)
def test_verdicts_follow_the_rule(
    similarity: tuple[float, float], difference: tuple[float, float], verdict: str
) -> None:
    assert MARGIN == 0.1
    assert verdict_of(span(*similarity), span(*difference)) == verdict


def test_the_guide_looks_at_values_alone() -> None:
    assert [guide_of(one) for one in (0.6, 0.601, -0.5)] == ["between", "unreliable", "reliable"]
    assert guide_of(math.nan) == cascade_rule([]) == cascade_rule([math.nan]) == ""
    assert cascade_rule([0.95, 0.31, 0.05]) == "gradual: acceptable"
    assert cascade_rule([0.95, 0.29, 0.5]) == "sharp drop: reliable"
    assert cascade_rule([0.95, 0.61, 0.6]) == "gradual: acceptable"
    assert cascade_rule([math.nan, 0.61, 0.61]) == "high throughout: unreliable"


def small(value: float, way: str = "full", stage: int = 0, **keys: Any) -> list[dict[str, object]]:
    """Return a few values around one."""
    table = value + np.tile([[0.0, 0.01], [0.02, 0.0], [0.01, 0.03]], (2, 1))
    return list(checked.randomised(table, stage, way, **keys))


def test_sizes_are_read_where_maps_have_signs() -> None:
    rows = checked.frame(
        small(0.1),
        small(0.8, measure="spearman_abs"),
        small(0.4, method="cls"),
        small(0.5, measure="ssim"),
    )
    signed, absolute = sanity_of(rows), sanity_of(rows, reading="absolute")
    np.testing.assert_allclose(signed["similarity"], np.array([0.1, 0.4]) + 7 / 600)
    np.testing.assert_allclose(absolute["similarity"], np.array([0.8, 0.4]) + 7 / 600)
    assert signed["method"].tolist() == ["saliency", "cls"]
    assert sanity_of(rows, measure="ssim")["similarity"].tolist() == pytest.approx([0.5 + 7 / 600])
    # Without maps of other images nothing can be said, but that they are too alike.
    assert signed["verdict"].tolist() == ["cannot tell"] * 2
    assert absolute["verdict"].tolist() == ["fail", "cannot tell"]
    assert absolute.attrs["counts"] == {"fail": 1, "cannot tell": 1}


def test_layers_are_lines_of_their_own_and_the_last_stage_counts() -> None:
    rows = checked.frame(
        *(small(0.9 - 0.3 * stage, "top-down", stage, layer=3) for stage in range(3)),
        *(small(0.8 - 0.3 * stage, "top-down", stage, layer=11) for stage in range(3)),
    )
    found = sanity_of(rows, way="top-down")
    assert found["layer"].tolist() == [3, 11]
    np.testing.assert_allclose(found["similarity"], np.array([0.3, 0.2]) + 7 / 600)
    assert found["cascade"].tolist() == ["gradual: acceptable"] * 2


def test_a_cascade_tells_of_each_stage_and_of_accuracy() -> None:
    right = np.tile([[1, 1], [0, 1], [0, 1]], (2, 1))
    rows = checked.frame(
        small(0.5, "top-down", 0),
        small(0.2, "top-down", 1),
        checked.randomised(right, 0, "top-down", measure="correct"),
        checked.randomised(0 * right, 1, "top-down", measure="correct"),
        checked.reference("trained", np.array([1, 1, 0] * 2), measure="correct"),
        checked.cross(np.full((6, 2), 0.25)),
    )
    found = cascade_of(rows)
    assert found["stage"].tolist() == [-1, 0, 1]
    assert found["name"].tolist() == ["trained", "block.0", "block.1"]
    np.testing.assert_allclose(found["similarity"], [1, 0.5 + 7 / 600, 0.2 + 7 / 600])
    np.testing.assert_allclose(found["accuracy"], [2 / 3, 4 / 6, 0])
    assert (found["cross"] == 0.25).all()
    assert found["low"].isna().tolist() == [True, False, False]
    assert found["accuracy_high"].iloc[2] > 0  # never right on six images is not never right
    unlabelled = np.array([[1, 1]] * 5 + [[math.nan, math.nan]])
    two = checked.frame(
        small(0.5, "top-down"), checked.randomised(unlabelled, 0, "top-down", measure="correct")
    )
    assert cascade_of(two)["accuracy"].tolist()[1:] == [1]
    assert 0 < cascade_of(two)["accuracy_low"].iloc[1] < 1
    assert found["edge"].isna().all()
    assert np.isnan(cascade_of(checked.frame(small(0.5, "single")), way="single")["accuracy"]).all()


def test_notes_say_what_may_not_be_concluded() -> None:
    note = sanity_of(checked.frame(small(0.1), checked.cross(np.zeros((3, 2))))).attrs["note"]
    for words in ("must not be used to rank", "Binder", "2 draws", "guide's rule", "too wide"):
        assert words in note
    rows = checked.frame(checked.randomised(np.ones((3, 1))), checked.cross(np.zeros((3, 1))))
    one = sanity_of(rows, partners={0: {}})
    assert one["verdict"].tolist() == ["cannot tell"]
    assert "one draw" in one.attrs["note"]
    assert "too wide" not in one.attrs["note"]
    assert (
        "must not be used to rank"
        in cascade_of(checked.frame(small(0.5, "top-down"))).attrs["note"]
    )


def test_partners_are_those_that_the_run_compared_with(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sightline.results.checked_layers.find_best_layers", lambda *_: {})
    same, across = similarities(np.random.default_rng(1))
    rows = checked.frame(checked.randomised(same), checked.cross(across))
    names = [checked.image(place) for place in range(IMAGES)]
    manifest = {
        "checked": {"randomisation": [{"images": names[:16]}, {"images": names[16:]}]},
        "checks": [{"options": {"seeds": DRAWS}}, {"options": {}}],
    }
    tables = SimpleNamespace(
        fetch=lambda _: [(name, []) for name in names], progress=(3, 4), name=lambda _: "iou@90"
    )
    results: Any = SimpleNamespace(_tables=tables, manifest=manifest, checks=lambda: rows)
    found = sanity_table(results)
    known = sanity_of(rows, partners=PARTNERS)  # without labels, each with the next few
    np.testing.assert_array_equal(found["difference_low"], known["difference_low"])
    assert sanity_of(rows)["difference_low"].iloc[0] < known["difference_low"].iloc[0]
    assert found.attrs["note"] == f"{known.attrs['note']}; so far: (3, 4)"
    with pytest.raises(InputError, match="not run in the way 'top-down'"):
        cascade_table(results)


def test_what_is_not_stored_is_named() -> None:
    rows = checked.frame(small(0.1))
    with pytest.raises(InputError, match="not run in the way 'top-down'; stored: full"):
        cascade_of(rows)
    with pytest.raises(InputError, match=r"'randomisation' are stored \(checks: reference\)"):
        sanity_of(checked.frame(checked.cross(np.zeros((2, 2)))))
    with pytest.raises(InputError, match="'hog'"):
        sanity_of(rows, measure="hog")
    for keys, words in (
        ({"way": "single"}, "got 'single'"),
        ({"way": "up"}, "way must be one of full"),
        ({"measure": "iou"}, "measure must be one of spearman"),
        ({"reading": "raw"}, "reading must be one of signed"),
        ({"confidence": 95}, "confidence must lie"),
    ):
        with pytest.raises(InputError, match=words):
            sanity_of(rows, **keys)
