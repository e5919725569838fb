"""The parts that decide: what the generator says, how rankings are scored, and models on it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score

from sightline import load_dataset
from sightline.attribution.methods import METHODS, explain
from sightline.attribution.methods.targets import read_target
from sightline.attribution.sanity import _outputs
from sightline.attribution.sanity.parts import FIRST, parts_rows, rank_scores, types_of
from sightline.attribution.sanity.removal import Covered, Order, Question
from sightline.attribution.sanity.table import PARTS, Job
from sightline.core import InputError, Sample
from sightline.data.facades import Facade, facade_of
from sightline.models import Model, load_model

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

    from sightline.attribution.methods import Maps

COUNT = 6


@cache
def samples() -> list[Sample]:
    """Held out from all training."""
    return list(load_dataset("facades", count=COUNT, seed=7))


@cache
def model(name: str) -> Model:
    return load_model(name)


def ask(name: str, method: str, layer: int | None = None, **options: Any) -> Job:
    target = options.pop("target", "predicted" if METHODS[method].explains else "")
    return Job(model(name), method, {}, (layer,), target, 4, options, "parts")


def values(job: Job, metric: str, some: list[Sample]) -> list[float]:
    rows = parts_rows(job, some)
    assert {(row.layer, row.check) for row in rows} == {(job.layers[0], "parts")}
    return [row.value for row in rows if row.metric == metric]


# --- what decides ---------------------------------------------------------------------------------


def test_types_decide_by_the_vote_that_goes_with_them() -> None:
    for index in range(12):
        facade = Facade.generate(7, index, 64)
        found = types_of(facade)
        assert 0 < found.deciding.sum() < len(found.labels)
        for label, mask, decides in zip(*found, strict=True):
            left = facade.without(label).evidence[facade.style]
            assert (left < facade.evidence[facade.style]) == decides
            instances = [part.mask for part in facade.parts if part.label == label]
            assert (mask == np.logical_or.reduce(instances)).all()
        unused = {part.label for part in facade.parts} - set(found.labels)
        assert unused <= {"bell tower", "triangular pediment"}  # with roofs, with what is in it


def without(facade: Facade, *, deciding: bool) -> Facade:
    """The facade without all types that decide, or all others."""
    found = types_of(facade)
    for label, decides in zip(found.labels, found.deciding, strict=True):
        if decides == deciding and label in facade.labels:  # a door goes with its portal
            facade = facade.without(label)
    return facade


def test_without_what_decides_the_score_of_the_class_drops() -> None:
    """And without all else, the class stays and so does its score."""
    network, images = model("demo/cnn"), []
    facades = [facade_of(sample) for sample in samples()[:3]]
    for facade in facades:
        changed = [without(facade, deciding=deciding) for deciding in (True, False)]
        assert changed[0].style != facade.style
        assert changed[1].style == facade.style
        images += [facade.image(), *(one.image() for one in changed)]
    logits = network.logits(images).unflatten(0, (3, 3))
    for facade, three in zip(facades, logits, strict=True):
        clean, bare, plain = three[:, network.class_index(facade.style)].tolist()
        assert clean - bare > 1
        assert abs(clean - plain) < 0.3


def test_deletion_of_what_decides_drops_the_score_before_that_of_anything_else() -> None:
    """A tenth of the pixels goes: of deciding parts first, or of sky and ground first."""
    network = model("demo/cnn")
    inputs = next(network.batches(samples(), COUNT))
    question = Question(network, inputs, read_target(network, samples(), "label"), 8)
    cover = Covered(torch.zeros_like(inputs.pixels))
    facades, falls = [facade_of(sample) for sample in samples()], []
    for found in (_deciding, Facade.background):
        maps = np.stack([found(facade) for facade in facades]).astype(float)
        order = Order.of(maps, inputs, 0)
        clean, after = _before_and_after(question, order, cover, 0.1).T
        falls.append(clean - after)
    assert falls[0].mean() > 1
    assert (falls[0] > falls[1]).mean() > 0.8


def _before_and_after(
    question: Question, order: Order, cover: Covered, share: float
) -> NDArray[np.float64]:
    def change(copies: Tensor, images: Tensor, numbers: Tensor) -> Tensor:
        return cover(copies, order.gone(images, share * numbers), images, numbers)

    return question.scores(2, change)


def _deciding(facade: Facade) -> NDArray[np.bool_]:
    found = types_of(facade)
    return np.asarray(found.masks[found.deciding].any(0))


# --- rankings -------------------------------------------------------------------------------------


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 2), st.booleans()), min_size=2, max_size=6))
def test_rankings_share_the_places_of_ties(pairs: list[tuple[int, bool]]) -> None:
    scores, deciding = (np.array(part) for part in zip(*pairs, strict=True))
    found = rank_scores(scores.astype(float), deciding)
    count = int(deciding.sum())
    if count in (0, len(pairs)):
        assert np.isnan(found).all()
        return
    first = min(FIRST, count)
    orders = [o for o in permutations(range(len(pairs))) if (np.diff(scores[list(o)]) <= 0).all()]
    wanted = np.mean([deciding[list(order)][:first].mean() for order in orders])
    recall = np.mean([deciding[list(order)][:count].mean() for order in orders])
    assert found[:2] == pytest.approx((wanted, recall))
    assert found[2] == pytest.approx(average_precision_score(deciding, scores))


# --- rows -----------------------------------------------------------------------------------------


def known(monkeypatch: pytest.MonkeyPatch, sign: float) -> list[float]:
    """The ranks of maps that are 1 where a part decides, -1 on other parts, and 0 elsewhere."""

    def oracle(*given: Any, **named: Any) -> Maps:
        maps = explain(*given, **named)
        found = []
        for sample in samples()[:2]:
            types = types_of(facade_of(sample))
            drawn = _deciding(facade_of(sample)) * 1.0
            drawn[types.masks[~types.deciding].any(0)] = -1
            found.append((sign * drawn[None].astype(np.float32),))
        flat = tuple((geometry[0].patches(1),) for geometry in maps.geometries)
        return replace(maps, values=tuple(found), geometries=flat)

    monkeypatch.setattr(_outputs, "explain", oracle)
    job = ask("demo/cnn", "centre", sign="signed")
    rows = parts_rows(job, samples()[:2])
    assert [row.metric for row in rows[:5]] == list(PARTS)
    return [row.value for row in rows[:3]]


def test_a_map_that_knows_ranks_all_and_one_that_errs_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert known(monkeypatch, 1) == [1, 1, 1]
    worst = known(monkeypatch, -1)
    assert worst[0] < 0.5
    assert worst[2] < 0.8


def test_a_random_map_is_on_the_background_as_far_as_that_reaches() -> None:
    area = [facade_of(sample).background().mean() for sample in samples()]
    even = values(ask("demo/cnn", "random"), "parts_background", samples())
    assert np.mean(even) == pytest.approx(np.mean(area), abs=0.06)


def test_what_was_taken_for_another_style_ranks_nothing() -> None:
    found = parts_rows(ask("demo/cnn", "saliency", target="Baroque"), samples())
    for sample in samples():
        ours = {row.metric: row.value for row in found if row.image == sample.image_id}
        other = sample.labels != ("Baroque",)
        for metric in ("parts_precision", "parts_recall", "parts_ap"):
            assert np.isnan(ours[metric]) == other
        types = types_of(facade_of(sample))
        assert ours["parts_base"] == types.deciding.mean()
        assert 0 < ours["parts_background"] < 1


def test_a_map_that_explains_nothing_goes_by_the_prediction() -> None:
    """And one of a model without classes by nothing: there is none."""
    right = np.isfinite(values(ask("demo/cnn", "centre"), "parts_ap", samples()))
    network = model("demo/cnn")
    said = network.logits(samples()).argmax(1).tolist()
    wanted = [network.classes[i] == s.labels[0] for i, s in zip(said, samples(), strict=True)]
    assert right.tolist() == wanted
    blind = values(ask("demo/vit-dino", "centre"), "parts_ap", samples()[:1])
    assert np.isnan(blind).all()


def test_what_does_not_fit_is_named() -> None:
    image = samples()[0].image()
    loaded = replace(samples()[0], load=lambda: image)
    with pytest.raises(InputError, match="facade-00000"):
        parts_rows(ask("demo/cnn", "centre"), [loaded])
    with pytest.raises(InputError, match="other images"):
        parts_rows(ask("demo/cnn", "mean_map"), samples())
