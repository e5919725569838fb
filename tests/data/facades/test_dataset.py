from __future__ import annotations

import pickle
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sightline.core import Annotation, InputError, Sample
from sightline.data.datasets import load_dataset
from sightline.data.facades import STYLES, Facade, facade_of, facades, taxonomy
from sightline.data.facades import dataset as module


def test_samples_are_the_facades_of_the_seed() -> None:
    dataset = facades(count=6, seed=3, size=64, labelling="salient", confounded=True)
    assert dataset.ids == tuple(f"facade-0000{i}.png" for i in range(6))
    assert dataset.taxonomy == taxonomy()
    for index, sample in enumerate(dataset):
        facade = Facade.generate(3, index, 64, confounded=True)
        wanted = facade.annotation("salient")
        np.testing.assert_array_equal(sample.image(), facade.image())
        assert sample.labels == (facade.style,)
        assert sample.annotation.image_id == sample.image_id
        assert [r.index for r in sample.annotation.regions] == [r.index for r in wanted.regions]
        assert sample.split == ("test" if index == 4 else "train")
        assert sample.path is None


def test_any_multiple_of_four_is_balanced() -> None:
    for count in (4, 12):
        styles = Counter(sample.labels[0] for sample in facades(count, size=64))
        assert styles == dict.fromkeys(STYLES, count // 4)


def test_splits() -> None:
    assert facades(20).splits == {"train": 16, "test": 4}
    assert facades(20).in_split("test").ids == tuple(
        f"facade-000{i:02}.png" for i in (4, 9, 14, 19)
    )


def test_nothing_is_drawn_before_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[int] = []

    class Spy(Facade):
        @classmethod
        def generate(cls, seed: int, index: int, *args: Any, **options: Any) -> Facade:
            drawn.append(index)
            return Facade.generate(seed, index, *args, **options)

    monkeypatch.setattr(module, "Facade", Spy)
    module._drawn.cache_clear()  # of what other tests drew
    dataset = facades(100_000, size=64)
    assert len(dataset[5:].in_split("train")) == 79_996
    assert drawn == []
    sample = dataset.by_id("facade-00042.png")
    sample.image()
    assert drawn == [42]
    kept = [dataset[index] for index in range(20)]
    kept[0].image()  # no longer at hand: drawn again
    assert drawn == [42, *range(20), 0]


def test_load_dataset_knows_it() -> None:
    dataset = load_dataset("facades", count=5, seed=2, size=64, split="test")
    np.testing.assert_array_equal(dataset[0].image(), Facade.generate(2, 4, 64).image())


def test_the_facade_of_a_sample() -> None:
    dataset = load_dataset("facades", count=9, seed=2, size=64, confounded=True, split="test")
    for sample in (dataset[0], pickle.loads(pickle.dumps(dataset))[0]):  # noqa: S301
        facade, wanted = facade_of(sample), Facade.generate(2, 4, 64, confounded=True)
        assert (facade.seed, facade.index, facade.size, facade.confounded) == (2, 4, 64, True)
        assert facade.evidence == wanted.evidence
        np.testing.assert_array_equal(facade.image(), sample.image())


def test_other_samples_have_no_facade() -> None:
    def load() -> np.ndarray:
        return np.zeros((64, 64, 3), np.uint8)

    annotation = Annotation("mine.png", 64, 64, ())
    with pytest.raises(InputError, match=r"image 'mine.png' must be .* without a file"):
        facade_of(Sample("mine.png", annotation, "", None, load))
    with pytest.raises(InputError, match=r"image 'mine.png' must be .* read from a/mine.png"):
        facade_of(Sample("mine.png", annotation, "", Path("a/mine.png"), load))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"count": 0}, "count must be a whole number from 1 to .*, got 0"),
        ({"count": "5"}, "count .* got '5'"),
        ({"seed": -2}, "seed .* got -2"),
        ({"size": 32}, "size must be a whole number from 64 to 1024, got 32"),
        ({"labelling": "all"}, "labelling must be one of exhaustive, representative, salient"),
    ],
)
def test_options_that_do_not_fit(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        facades(**options)
