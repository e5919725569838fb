"""What a similarity is made of: numbers of the table, and known answers."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch
from torch import Tensor

from sightline.attribution.prototypes import (
    Effect,
    default_perturbations,
    drops,
    effects,
    global_stats,
    largest_drops,
    natures,
    perturbed_scores,
    premise,
)
from sightline.attribution.prototypes.nature import ALL, FEWEST
from sightline.core import InputError, UnknownNameError
from sightline.stats import holm, interval, sign_flip

Table: TypeAlias = dict[str, Any]
NAMES = ("hue", "blur", "waves")


@pytest.fixture(scope="module")
def table() -> Table:
    """Prototypes 2 (14 images), 5 (11) and 9 (4); images share prototypes; some scores are 0."""
    rng = np.random.default_rng(11)
    pairs = [(image, 2) for image in range(14)] + [(image, 5) for image in range(3, 14)]
    pairs += [(image, 9) for image in range(4)]
    rows = [(image, prototype, name) for image, prototype in pairs for name in NAMES]
    original = np.repeat(rng.uniform(1, 4, len(pairs)), len(NAMES))
    original[:3] = 0.0  # image 0 with prototype 2
    images, prototypes, names = (np.array(column) for column in zip(*rows, strict=True))
    lost = rng.normal(0.1, 0.2, (2, len(rows)))
    lost[0][(prototypes == 2) & (names == "hue")] += 0.5
    lost[1][prototypes == 9] += 0.6
    return {
        "img_id": images,
        "proto_idx": prototypes,
        "perturbation": names,
        "original_score": original,
        "focused": original * (1 - lost[0]),
        "dual": original * (1 - lost[1]),
        "whole": original * (1 - lost.sum(axis=0)),
    }


def _by_key(found: list[Effect]) -> dict[tuple[int, str], Effect]:
    return {(effect.prototype, effect.perturbation): effect for effect in found}


def _lost(table: Table, keep: Any, kind: str) -> Any:
    original = table["original_score"][keep]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(original > 0, (original - table[kind][keep]) / original, np.nan)


def test_drops_are_shares_of_the_score() -> None:
    found = drops([[2.0, 4.0], [0.0, -1.0]], [[1.0, 5.0], [0.0, -3.0]])
    np.testing.assert_array_equal(found, [[0.5, -0.25], [np.nan, np.nan]])
    assert np.isnan(drops(np.nan, 1.0))
    assert np.isnan(drops(1.0, np.nan))
    assert drops(3.0, 3.0) == 0


def test_effects_are_means_with_intervals_by_image(table: Table) -> None:
    found = _by_key(effects(table, confidence=0.9, seed=4))
    assert list(found) == [(number, name) for number in (ALL, 2, 5, 9) for name in NAMES]
    for (prototype, name), effect in found.items():
        keep = table["perturbation"] == name
        if prototype != ALL:
            keep &= table["proto_idx"] == prototype
        images = table["img_id"][keep]
        lost = {kind: _lost(table, keep, kind) for kind in ("focused", "dual", "whole")}
        lost["difference"] = lost["focused"] - lost["dual"]
        assert effect.images == len({*images[np.isfinite(lost["focused"])]})
        assert effect.undefined == np.isnan(lost["focused"]).sum()
        for kind, values in lost.items():
            span = interval(values, images=images, confidence=0.9, seed=4)
            got = [getattr(effect, kind + end) for end in ("", "_low", "_high")]
            enough = effect.images >= FEWEST
            ends = (span.low, span.high) if enough else (np.nan, np.nan)
            np.testing.assert_allclose(got, (span.value, *ends), rtol=1e-12)
        decided = effect.difference_low > 0 if effect.images >= FEWEST else None
        assert effect.matters is decided
        if effect.images >= FEWEST:
            p = sign_flip(lost["difference"], images=images, seed=4)
            assert effect.p == pytest.approx(p, abs=1e-12)
        else:
            assert np.isnan(effect.p)
    assert found[2, "hue"].matters
    assert found[9, "hue"].matters is None


def test_p_is_corrected_over_prototypes_and_perturbations(table: Table) -> None:
    found = effects(table)
    for part in (
        [e for e in found if e.prototype == ALL],
        [e for e in found if e.prototype != ALL],
    ):
        np.testing.assert_array_equal([e.p_holm for e in part], holm([e.p for e in part]))
    own = _by_key(found)[2, "hue"]
    assert own.p_holm == 6 * own.p  # prototype 9 has too few images to count
    assert own.p_holm < 0.05


def test_the_order_of_rows_does_not_show(table: Table) -> None:
    order = np.random.default_rng(0).permutation(len(table["img_id"]))
    mixed = {name: column[order] for name, column in table.items()}
    here, there = _by_key(effects(table)), _by_key(effects(mixed))
    assert here.keys() == there.keys()
    for key, effect in here.items():
        np.testing.assert_array_equal(np.array(effect[2:], float), np.array(there[key][2:], float))
    assert natures(here.values()) == natures(there.values())
    assert premise(mixed) == premise(table)
    assert global_stats(mixed) == global_stats(table)
    assert [each[:2] for each in largest_drops(mixed)] == [
        each[:2] for each in largest_drops(table)
    ]


def test_arrow_and_pandas_and_the_names_of_the_files_do_as_well(table: Table) -> None:
    files = {
        "image": [f"church {number:02}" for number in table["img_id"]],
        "proto_idx": table["proto_idx"].tolist(),
        "perturbation": table["perturbation"].tolist(),
        "original_score": table["original_score"].tolist(),
        "score_after_perturbation": table["focused"].tolist(),
        "dual_score_after_perturbation": table["dual"].tolist(),
        "whole": table["whole"].tolist(),
    }
    expected = np.array([each[2:] for each in effects(table)], float)
    for given in (files, pa.table(files), pd.DataFrame(files)):
        found = np.array([each[2:] for each in effects(given)], float)
        np.testing.assert_array_equal(found, expected)
    assert largest_drops(pa.table(files))[1].image == "church 00"


@pytest.mark.parametrize("empty", [None, float("nan"), "absent"])
def test_without_dual_copies_nothing_is_decided(table: Table, empty: Any) -> None:
    alone = {**table, "dual": [empty] * len(table["img_id"])}
    if empty == "absent":
        del alone["dual"]
    del alone["whole"]
    found = _by_key(effects(pa.table(alone)))[2, "hue"]
    assert found.focused == _by_key(effects(table))[2, "hue"].focused
    assert found.focused_low > 0
    assert found.matters is None
    assert np.isnan(
        [found.dual, found.difference, found.difference_low, found.whole, found.p]
    ).all()
    assert natures([found]) == {2: None}
    assert premise(alone).rows == 0
    assert np.isnan(premise(alone).share)


def test_below_ten_images_nothing_is_decided(table: Table) -> None:
    assert FEWEST == 10
    for count in (FEWEST - 1, FEWEST):
        keep = (table["proto_idx"] == 2) & (table["img_id"] > 0) & (table["img_id"] <= count)
        few = {name: column[keep] for name, column in table.items()}
        found = _by_key(effects(few))[2, "hue"]
        assert found.images == count
        assert found.matters is (True if count == FEWEST else None)
        assert np.isnan(premise(few).difference_low) == (count < FEWEST)


def _made(prototype: int, name: str, matters: bool | None, difference: float = 0.1) -> Effect:
    numbers: dict[str, Any] = dict.fromkeys(Effect._fields, np.nan)
    numbers.update(prototype=prototype, perturbation=name, matters=matters, difference=difference)
    return Effect(**numbers)


def test_natures_name_what_matters_the_largest_first() -> None:
    found = natures(
        [
            _made(ALL, "hue", True),
            *(_made(7, "hue", True, 0.1), _made(7, "blur", True, 0.4), _made(7, "waves", None)),
            *(_made(3, "hue", False), _made(3, "blur", False)),
            *(_made(4, "hue", False), _made(4, "blur", None)),
        ]
    )
    assert found == {3: (), 4: None, 7: ("blur", "hue")}
    assert list(found) == [3, 4, 7]


def test_rounding_is_no_difference() -> None:
    rng = np.random.default_rng(3)
    noise = 1 - rng.uniform(1e-9, 9e-7, 20)
    table = {
        "img_id": np.arange(20),
        "proto_idx": [0] * 20,
        "perturbation": ["hue"] * 20,
        "original_score": np.ones(20),
        "focused": noise,
        "dual": np.ones(20),
    }
    assert natures(effects(table)) == {0: ()}
    assert premise(table).equal == 1
    assert premise(table).share == 0  # equal drops do not support it
    real = {**table, "focused": 1 - 20 * (1 - noise)}
    assert natures(effects(real)) == {0: ("hue",)}


def test_the_premise_counts_where_focused_copies_lose_more(table: Table) -> None:
    gaps = _lost(table, slice(None), "focused") - _lost(table, slice(None), "dual")
    known = np.isfinite(gaps)
    found = premise(table)
    assert found.rows == known.sum() == 84
    assert found.images == 14
    assert found.share == pytest.approx((gaps[known] > 0).mean())
    span = interval(gaps > 0, images=table["img_id"], kind="share")
    assert 0 < found.share_low < found.share < found.share_high < 1
    assert span.n == 14
    means = [gaps[known & (table["proto_idx"] == each)].mean() for each in (2, 5, 9)]
    assert found.prototypes == 3
    assert found.prototype_share < 1
    assert found.prototype_share == pytest.approx(np.mean(np.array(means) > 0))
    mean = interval(gaps, images=table["img_id"])
    assert found.difference == pytest.approx(mean.value)
    assert found.difference_low == pytest.approx(mean.low)
    hue = premise(table, "hue")
    assert hue.rows == 28
    assert hue.difference == pytest.approx(gaps[known & (table["perturbation"] == "hue")].mean())
    with pytest.raises(UnknownNameError, match=r"unknown perturbation 'blurr'\. Known: hue"):
        premise(table, "blurr")


def test_global_stats_are_means_over_rows(table: Table) -> None:
    found = global_stats(table)
    assert found.covered == (2, 5, 9)
    assert found.images == 14
    assert found.undefined == dict.fromkeys(NAMES, 1)
    for name in NAMES:
        lost = _lost(table, table["perturbation"] == name, "focused")
        assert found.drops[name] == pytest.approx(np.nanmean(lost))


def test_the_largest_drop_of_a_pair_names_its_perturbation(table: Table) -> None:
    found = largest_drops(table)
    assert len(found) == 29
    assert found[0][:3] == (0, 2, "")
    assert np.isnan(found[0].drop)
    for image, prototype, name, drop in found[1:]:
        keep = (table["img_id"] == image) & (table["proto_idx"] == prototype)
        lost = _lost(table, keep, "focused")
        assert drop == lost.max()
        assert name == table["perturbation"][keep][lost.argmax()]


def test_an_empty_table_has_no_effects(table: Table) -> None:
    nothing = {name: column[:0] for name, column in table.items()}
    assert effects(nothing) == []
    assert natures([]) == {}
    assert largest_drops(nothing) == []
    assert global_stats(nothing) == ((), 0, {}, {})
    assert premise(nothing).rows == 0


def test_tables_that_do_not_fit_are_refused(table: Table) -> None:
    with pytest.raises(UnknownNameError, match="no column focused or score_after_perturbation"):
        effects({name: table[name] for name in table if name != "focused"})
    with pytest.raises(InputError, match=r"same length, got \[3, 87\]"):
        effects({**table, "proto_idx": [1, 2, 3]})


def _nothing_there(prototypes: int, images: int, seed: int) -> Table:
    """Focused and dual drops of one law, with a long tail; each prototype has its own images."""
    rng = np.random.default_rng(seed)
    shape = (prototypes, len(NAMES), images)
    prototype, name, image = (axis.ravel() for axis in np.indices(shape))
    lost = 0.5 * rng.beta(0.7, 3, (2, prototype.size))
    return {
        "img_id": prototype * images + image,
        "proto_idx": prototype,
        "perturbation": np.array(NAMES)[name],
        "original_score": np.ones(prototype.size),
        "focused": 1 - lost[0],
        "dual": 1 - lost[1],
    }


@pytest.mark.parametrize("images", [FEWEST, 30])
def test_where_nothing_matters_little_is_told_to(images: int) -> None:
    found = [each for each in effects(_nothing_there(200, images, 8)) if each.prototype != ALL]
    told = np.mean([each.matters for each in found])
    assert 0.01 <= told <= 0.04  # half of 5%: one end of the interval
    p = np.array([each.p for each in found])
    assert 0.03 <= np.mean(p <= 0.05) <= 0.07


def test_corrected_over_a_family_hardly_anything_is_told_by_chance() -> None:
    families = [effects(_nothing_there(4, 14, seed)) for seed in range(40)]
    any_plain = [any(e.p < 0.05 for e in family if e.prototype != ALL) for family in families]
    any_holm = [any(e.p_holm < 0.05 for e in family if e.prototype != ALL) for family in families]
    assert sum(any_holm) <= 5
    assert sum(any_plain) >= 10  # the correction has something to do


SIDE, CENTRE = 56, slice(24, 33)


@pytest.fixture(scope="module")
def scenes() -> tuple[Tensor, Tensor]:
    """Discs of one hue and saturation with a pattern in their value, on grounds of other hues.

    The map is 1 on the middle and falls to 0 before the edge of the disc, further from it than
    blurs and waves reach.
    """
    rng = np.random.default_rng(21)
    away = np.hypot(*(np.indices((SIDE, SIDE)) - (SIDE - 1) / 2))
    pattern = np.kron(rng.random((SIDE // 2, SIDE // 2)), np.ones((2, 2)))
    images = []
    for _ in range(12):
        value = 0.3 + 0.4 * pattern + rng.uniform(0, 0.05, pattern.shape)
        red = np.array([1.0, rng.uniform(0.3, 0.4), 0.3])[:, None, None]
        ground = rng.random((3, 1, 1)) * rng.uniform(0.5, 1, pattern.shape)
        images.append(np.where(away < 26, value * red, ground))
    values = np.broadcast_to(np.clip((14 - away) / 7, 0, 1), (12, SIDE, SIDE))
    return torch.from_numpy(np.stack(images)).float(), torch.from_numpy(values.copy()).float()


def _hue_alone(images: Tensor, index: Tensor) -> Tensor:
    """How near the middle is to one hue: grey that is added, and light, make no difference."""
    red, green, blue = images[:, :, CENTRE, CENTRE].double().unbind(1)
    angle = torch.atan2(3**0.5 * (green - blue), 2 * red - green - blue)
    return (1 + (angle - 0.1).cos()).mean((1, 2))


def _shape_alone(scenes: tuple[Tensor, Tensor]) -> Any:
    """How well the value of HSV follows that of the first scene: light makes no difference."""
    template = scenes[0][0].amax(0)[CENTRE, CENTRE].double()
    template = (template - template.mean()) / template.std()

    def score(images: Tensor, index: Tensor) -> Tensor:
        value = images.amax(1)[:, CENTRE, CENTRE].double()
        value = value - value.mean((1, 2), keepdim=True)
        return 1 + (value * template).mean((1, 2)) / value.std((1, 2))

    return score


def _analysed(score: Any, scenes: tuple[Tensor, Tensor]) -> tuple[Table, Any]:
    perturbations = default_perturbations()
    found = perturbed_scores(score, *scenes, perturbations)
    assert found.dual is not None
    pairs, columns = (axis.ravel() for axis in np.indices(found.focused.shape))
    table = {
        "img_id": pairs,
        "proto_idx": np.zeros_like(pairs),
        "perturbation": [perturbations[column].name for column in columns],
        "original_score": found.original[pairs],
        "focused": found.focused.ravel(),
        "dual": found.dual.ravel(),
    }
    return table, natures(effects(table))[0]


def test_a_similarity_by_hue_alone_shows_hue_alone(scenes: tuple[Tensor, Tensor]) -> None:
    table, found = _analysed(_hue_alone, scenes)
    assert found == ("hue",)
    assert premise(table, "hue").share == 1
    assert premise(table, "blur").equal == 1


def test_a_similarity_by_shape_alone_shows_no_colour(scenes: tuple[Tensor, Tensor]) -> None:
    table, found = _analysed(_shape_alone(scenes), scenes)
    assert {*found} == {"blur", "distortion"}
    assert max(global_stats(table).drops[name] for name in ("hue", "brightness")) < 1e-6


def test_a_similarity_to_anything_is_of_unknown_nature(scenes: tuple[Tensor, Tensor]) -> None:
    _, found = _analysed(lambda images, index: torch.ones(len(images)), scenes)
    assert found == ()


def test_no_interval_of_a_drop_is_above_the_largest_possible_drop() -> None:
    after = np.array([0.0] * 7 + [0.4, 0.8, 2.0])
    table = {"img_id": np.arange(10), "proto_idx": [1] * 10, "perturbation": ["hue"] * 10,
             "original_score": np.ones(10), "focused": after, "dual": after[::-1]}  # fmt: skip
    for effect in effects(table):
        assert max(effect.focused_high, effect.dual_high) <= 1
    lower = effects({**table, "focused": after - 1, "dual": after[::-1]})[0]
    assert lower.focused_high > 1  # scores below 0: more than all can be lost
