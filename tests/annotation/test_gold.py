"""The gold set: drawn at random with known probabilities, the same for the same seed."""

from __future__ import annotations

import json
from collections import Counter
from math import isnan
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.stats import chi2

from sightline.annotation.gold import draw_gold, pick_gold, read_gold, write_gold
from sightline.core import Annotation, InputError, Region, UnknownNameError
from sightline.data import from_annotations
from tests.annotation.reviews import churches

if TYPE_CHECKING:
    from pathlib import Path

    from sightline.data import Dataset

STYLES = {"Gothic": 20, "Baroque": 9, "Modern": 3}


def styled(order: int = 1) -> Dataset:
    found = {}
    for style, size in STYLES.items():
        for n in range(size):
            name = f"{style}-{n}.jpg"
            regions = (Region("window", index=0), *((Region("apse", index=1),) if n == 0 else ()))
            found[name] = Annotation(name, regions=regions, labels=(style,))
    names = list(found)[::order]
    return from_annotations("styled", {name: found[name] for name in names}, {})


def test_the_same_seed_draws_the_same_whatever_the_order() -> None:
    one, other = draw_gold(styled(), 10, 3), draw_gold(styled(-1), 10, 3)
    assert one == other
    assert len(one.images) == 10
    assert draw_gold(styled(), 10, 4).images != one.images
    assert set(draw_gold(styled(), 5, 3).images) < set(one.images)  # a larger draw adds to it


def test_every_image_is_drawn_equally_often() -> None:
    dataset, draws, count = styled(), 2000, 8
    drawn = Counter(
        image for seed in range(draws) for image in draw_gold(dataset, count, seed).images
    )
    size = len(dataset)
    expected = draws * count / size
    seen = np.array([drawn[image] for image in dataset.ids])
    # Without replacement counts vary less, by the share not drawn; the last follows from the rest.
    statistic = ((seen - expected) ** 2).sum() / (expected * (1 - count / size)) * (size - 1) / size
    assert chi2.sf(statistic, size - 1) > 0.001
    assert chi2.cdf(statistic, size - 1) > 0.001  # nor suspiciously even


def test_pairs_are_drawn_equally_often() -> None:
    dataset, draws = churches(), 3000
    drawn = Counter(draw_gold(dataset, 2, seed).images for seed in range(draws))
    assert len(drawn) == 6
    statistic = sum((seen - draws / 6) ** 2 for seen in drawn.values()) / (draws / 6)
    assert chi2.sf(statistic, 5) > 0.001


def test_strata_keep_their_weights() -> None:
    gold = draw_gold(styled(), 16, 1, by="style")
    counts = Counter(gold.strata.values())
    assert counts == {"Gothic": 9, "Baroque": 4, "Modern": 3}
    assert dict(gold.population) == {"Baroque": 9, "Gothic": 20, "Modern": 3}
    for image in gold.images:
        stratum = gold.strata[image]
        assert gold.weights[image] == STYLES[stratum] / counts[stratum]
    assert sum(gold.weights.values()) == pytest.approx(32)  # they stand for all
    assert gold.notes == ("stratum 'Modern' has 3 gold images: an estimate needs 4",)


def test_weighted_means_are_those_of_all_images() -> None:
    dataset = styled()
    value = {name: len(name) + ord(name[-5]) / 7 for name in dataset.ids}
    truth = np.mean(list(value.values()))
    means = []
    for seed in range(600):
        gold = draw_gold(dataset, 9, seed, by="style")
        means.append(sum(gold.weights[image] * value[image] for image in gold.images) / 32)
    error = np.std(means, ddof=1) / np.sqrt(len(means))
    assert abs(np.mean(means) - truth) < 4 * error
    assert error < 0.1


def test_strata_by_split_and_rarest_label() -> None:
    by_split = draw_gold(churches(), 3, 0, by="split")
    assert dict(by_split.population) == {"test": 1, "train": 3}
    by_label = draw_gold(styled(), 7, 0, by="label")
    assert dict(by_label.population) == {"apse": 3, "window": 29}
    assert Counter(by_label.strata.values()) == {"apse": 3, "window": 4}


def test_few_images_over_many_strata() -> None:
    gold = draw_gold(styled(), 4, 0, by="style")
    assert Counter(gold.strata.values()) == {"Gothic": 2, "Baroque": 1, "Modern": 1}
    assert len(gold.notes) == 3
    with pytest.raises(InputError, match="at least 3, one image for each stratum, got 2"):
        draw_gold(styled(), 2, 0, by="style")


@pytest.mark.parametrize(
    ("count", "seed", "by", "said"),
    [
        (0, 0, None, "count must be from 1 to the 4 images, got 0"),
        (5, 0, None, "got 5"),
        (True, 0, None, "got True"),
        (2, -1, None, "seed must be a whole number from 0, got -1"),
        (2, 1.5, None, "got 1.5"),
        (2, 0, "colour", "by must be one of style, split, label, got 'colour'"),
    ],
)
def test_draws_that_cannot_be(count: Any, seed: Any, by: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        draw_gold(churches(), count, seed, by=by)


def test_what_is_picked_by_hand_says_so() -> None:
    dataset = churches()
    gold = pick_gold(dataset, [dataset.ids[2], dataset.ids[0]])
    assert gold.images == (dataset.ids[0], dataset.ids[2])
    assert not gold.random
    assert all(isnan(weight) for weight in gold.weights.values())
    assert gold.notes[0] == "picked by hand: they stand for themselves alone"
    with pytest.raises(UnknownNameError):
        pick_gold(dataset, ["else.jpg"])
    with pytest.raises(InputError, match="at least one image"):
        pick_gold(dataset, [])


@pytest.mark.parametrize("by", [None, "style"])
def test_a_file_gives_it_back(tmp_path: Path, by: Any) -> None:
    gold = draw_gold(styled(), 12, 7, by=by)
    write_gold(gold, tmp_path / "gold.json")
    assert read_gold(tmp_path / "gold.json") == gold
    picked = pick_gold(styled(), gold.images)
    write_gold(picked, tmp_path / "gold.json")
    assert read_gold(tmp_path / "gold.json").to_dict() == picked.to_dict()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"format": "sightline-gold/2"}, "format must be 'sightline-gold/1'"),
        ({"random": 1}, "random must be true or false, got 1"),
        ({"seed": None}, "seed must be"),
        ({"images": []}, "at least one image"),
        ({"images": [{"image": "a", "weight": 0.5}]}, r"images\[0\]: weight must be 1 or more"),
        ({"images": [{"image": "a", "weight": 2}] * 2}, "'a' appears twice"),
        ({"images": [{"image": "a"}]}, "weight must be a finite number"),
        ({"population": {"": 1}}, "must be at least its 2 gold images, got 1"),
        ({"population": []}, "must be an object"),
        ({"population": {"": 9, "x": "many"}}, "stratum 'x' must be at least 0, a whole number"),
        ({"population": {"": 9, "x": -1}}, "stratum 'x' must be at least 0, .* got -1"),
        ({"digest": None}, "digest must be text"),
    ],
)
def test_files_that_do_not_fit_are_named(tmp_path: Path, change: Any, said: str) -> None:
    path = tmp_path / "gold.json"
    path.write_text(json.dumps(draw_gold(churches(), 2, 0).to_dict() | change))
    with pytest.raises(InputError, match=said) as hit:
        read_gold(path)
    assert str(path) in str(hit.value)


def test_files_that_are_none(tmp_path: Path) -> None:
    path = tmp_path / "gold.json"
    for text in ("{", "[]", "[" * 100_000):
        path.write_text(text)
        with pytest.raises(InputError, match=r"gold\.json"):
            read_gold(path)
    with pytest.raises(InputError, match=r"no\.json"):
        read_gold(tmp_path / "no.json")
    path.write_text(json.dumps(draw_gold(churches(), 2, 0).to_dict())[:-1] + ', "seed": 1}')
    with pytest.raises(InputError, match="key 'seed' twice"):
        read_gold(path)
