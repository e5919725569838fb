"""Scores of changed copies: the right copies of the right pairs, whatever the batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from sightline.attribution.prototypes import (
    Perturbation,
    Perturbed,
    Step,
    class_score,
    default_perturbations,
    normalised,
    perturbed_scores,
    prototype_score,
)
from sightline.core import InputError
from tests.attribution.prototypes.networks import Linear, model_of, prototype_network
from tests.reference import perturbations as slow

PERTURBATIONS = (
    Perturbation("hue", (Step("hue", {"factor": 0.3}),)),
    Perturbation("waves", (Step("distortion", {"amplitude": 2}), Step("brightness"))),
    Perturbation("blur", (Step("blur", {"ksize": 3, "sigma": 1}),)),
)


@pytest.fixture(scope="module")
def images() -> Tensor:
    return torch.rand(5, 3, 16, 24, generator=torch.Generator().manual_seed(1))


@pytest.fixture(scope="module")
def values() -> Tensor:
    return torch.rand(5, 16, 24, generator=torch.Generator().manual_seed(2)) ** 3


def _weighted(images: Tensor, index: Tensor) -> Tensor:
    """A score that knows which pair it is asked about; images do not meet."""
    ramp = torch.linspace(0, 1, images.shape[3])
    rows = (images[:, 0] * ramp - 0.5 * images[:, 2]).double()
    return (1 + index) * torch.stack([one.sum() for one in rows])


def _one_by_one(images: Tensor, values: Tensor) -> tuple[Any, Any]:
    """Scores and squared distances (pairs, perturbations, modes) of the slow loops."""
    scores, apart = np.empty((2, len(images), len(PERTURBATIONS), 3))
    for pair, (image, one) in enumerate(zip(images.double().numpy(), values.double(), strict=True)):
        box = slow.box_of(one.numpy(), 0.1)
        for column, perturbation in enumerate(PERTURBATIONS):
            changed = image
            for step in perturbation.steps:
                changed = slow.perturbed(changed, step.type, dict(step.params), box)
            for mode, name in enumerate(("focused", "dual", "global")):
                copy = slow.blended(image, changed, one.numpy(), name)
                scores[pair, column, mode] = _weighted(
                    torch.from_numpy(copy)[None], torch.tensor([pair])
                ).item()
                apart[pair, column, mode] = ((255 * copy - 255 * image) ** 2).sum()
    return scores, apart


def test_scores_and_distances_are_those_of_one_copy_at_a_time(
    images: Tensor, values: Tensor
) -> None:
    found = perturbed_scores(_weighted, images, values, PERTURBATIONS, whole=True, batch=3)
    scores, apart = _one_by_one(images, values)
    pairs = torch.arange(5)
    np.testing.assert_array_equal(found.original, _weighted(images, pairs).numpy())
    assert found.dual is not None
    assert found.whole is not None
    assert found.dual_squared_distance is not None
    for mode, after in enumerate((found.focused, found.dual, found.whole)):
        np.testing.assert_allclose(after, scores[:, :, mode], rtol=1e-5)
    np.testing.assert_allclose(found.squared_distance, apart[:, :, 0], rtol=1e-5)
    np.testing.assert_allclose(found.dual_squared_distance, apart[:, :, 1], rtol=1e-5)
    assert {part.dtype for part in found if part is not None} == {np.dtype(np.float64)}


def _same(one: Perturbed, other: Perturbed) -> bool:
    return all(
        a is None or (b is not None and np.array_equal(a, b, equal_nan=True))
        for a, b in zip(one, other, strict=True)
    )


def test_the_batch_does_not_show(images: Tensor, values: Tensor) -> None:
    seen: list[int] = []

    def counting(copies: Tensor, index: Tensor) -> Tensor:
        seen.append(len(copies))
        return _weighted(copies, index)

    whole = perturbed_scores(_weighted, images, values, PERTURBATIONS[:2])
    for batch in (1, 3, 5, 64):
        seen.clear()
        assert _same(
            perturbed_scores(counting, images, values, PERTURBATIONS[:2], batch=batch), whole
        )
        most = min(batch, 8)  # full passes, but for the last
        assert seen == [most] * (25 // most) + [25 % most] * (25 % most > 0)


def test_without_dual_copies_none_are_made(images: Tensor, values: Tensor) -> None:
    seen = []

    def counting(copies: Tensor, index: Tensor) -> Tensor:
        seen.append(len(copies))
        return _weighted(copies, index)

    full = perturbed_scores(_weighted, images, values, PERTURBATIONS, whole=True)
    found = perturbed_scores(counting, images, values, PERTURBATIONS, dual=False)
    assert sum(seen) == 5 * 4
    assert found.dual is None
    assert found.whole is None
    assert found.dual_squared_distance is None
    np.testing.assert_array_equal(found.focused, full.focused)
    alone = perturbed_scores(_weighted, images, values, PERTURBATIONS, dual=False, whole=True)
    assert full.whole is not None
    np.testing.assert_array_equal(alone.whole, full.whole)


def test_a_copy_that_equals_its_image_has_its_score_to_the_bit(
    images: Tensor, values: Tensor
) -> None:
    def noisy(copies: Tensor, index: Tensor) -> Tensor:
        """As networks do, say something else about the same image elsewhere in a batch."""
        return copies.mean((1, 2, 3)) + 1e-6 * torch.arange(len(copies))

    neutral = [
        Perturbation("same", (Step("hue", {"factor": 0}), Step("distortion", {"amplitude": 0}))),
        PERTURBATIONS[0],
    ]
    nowhere = values.clone()
    nowhere[2] = 0
    found = perturbed_scores(noisy, images, nowhere, neutral)
    assert found.dual is not None
    for after in (found.focused, found.dual):
        np.testing.assert_array_equal(after[:, 0], found.original)
    np.testing.assert_array_equal(found.squared_distance[:, 0], 0)
    assert found.focused[2, 1] == found.original[2]
    assert (found.focused[[0, 1, 3, 4], 1] != found.original[[0, 1, 3, 4]]).all()
    assert found.dual[2, 1] != found.original[2]


def test_a_map_with_nan_makes_its_own_pair_undefined_and_is_never_asked(
    images: Tensor, values: Tensor
) -> None:
    broken = values.clone()
    broken[3, 0, 0] = torch.nan

    def strict(copies: Tensor, index: Tensor) -> Tensor:
        assert copies.isfinite().all()
        return _weighted(copies, index)

    found = perturbed_scores(strict, images, broken, PERTURBATIONS, whole=True)
    right = perturbed_scores(strict, images, values, PERTURBATIONS, whole=True)
    np.testing.assert_array_equal(found.original, right.original)
    others = [0, 1, 2, 4]
    for ours, theirs in zip(found[1:], right[1:], strict=True):
        assert ours is not None
        assert theirs is not None
        assert np.isnan(ours[3]).all()
        np.testing.assert_array_equal(ours[others], theirs[others])


def test_no_pairs_give_empty_arrays(images: Tensor, values: Tensor) -> None:
    found = perturbed_scores(_weighted, images[:0], values[:0], PERTURBATIONS)
    assert found.original.shape == (0,)
    assert found.focused.shape == (0, 3)
    none = perturbed_scores(_weighted, images, values, [])
    assert none.focused.shape == (5, 0)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"batch": 0}, "batch must be at least 1, got 0"),
        ({"values": torch.ones(5, 16, 16)}, r"must be \(5, 16, 24\)"),
        ({"images": torch.ones(5, 3, 16, 24, dtype=torch.uint8)}, "as floats"),
        ({"score": lambda copies, index: copies}, r"one number an image, got \(8, 3, 16, 24\)"),
    ],
)
def test_what_does_not_fit_is_refused(
    images: Tensor, values: Tensor, change: dict[str, Any], said: str
) -> None:
    given = {"score": _weighted, "images": images, "values": values, **change}
    with pytest.raises(InputError, match=said):
        perturbed_scores(perturbations=PERTURBATIONS, **given)


def test_a_prototype_is_scored_at_its_own_cell(images: Tensor, values: Tensor) -> None:
    model = model_of(prototype_network())
    prototypes, cells = torch.tensor([0, 4, 2, 2, 1]), torch.tensor([[0, 0], [3, 5], [1, 2]])
    cells = cells[[0, 1, 2, 2, 1]]
    found = perturbed_scores(
        prototype_score(model, prototypes, cells), images, values, PERTURBATIONS[:1]
    )
    with torch.no_grad():
        maps = model.network.similarities(normalised(model, images))
    expected = [
        maps[pair, prototype, row, column].item()
        for pair, (prototype, (row, column)) in enumerate(
            zip(prototypes.tolist(), cells.tolist(), strict=True)
        )
    ]
    np.testing.assert_allclose(found.original, expected, rtol=1e-6)
    assert (found.focused[:, 0] != found.original).all()


def test_a_class_is_scored_by_its_logit_in_evaluation(images: Tensor, values: Tensor) -> None:
    draw = torch.Generator().manual_seed(3)
    model = model_of(Linear(torch.randn(4, 3, 4, 4, generator=draw)))
    classes = torch.tensor([1, 0, 0, 1, 1])
    with torch.no_grad():
        logits: Any = model.network.eval()(normalised(model, images))
    model.network.train()  # dropout would show
    found = perturbed_scores(
        class_score(model, classes), images, values, default_perturbations()[:1], batch=2
    )
    assert model.network.training  # as it was
    expected = logits[torch.arange(5), classes].double().numpy()
    np.testing.assert_allclose(found.original, expected, rtol=1e-5)
    assert (found.focused[:, 0] != found.original).all()


def test_pairs_that_are_not_there_are_refused(images: Tensor) -> None:
    model = model_of(prototype_network())
    index = torch.tensor([0])
    for prototype, cell, said in (
        (5, (0, 0), "prototypes must lie from 0 to 4, got 5"),
        (0, (-1, 0), "rows must lie from 0 to 3, got -1"),
        (0, (0, 6), "columns must lie from 0 to 5, got 6"),
    ):
        score = prototype_score(model, torch.tensor([prototype]), torch.tensor([cell]))
        with pytest.raises(InputError, match=said):
            score(images[:1], index)
    with pytest.raises(InputError, match=r"cells \(n, 2\), got \(2,\) and \(1, 2\)"):
        prototype_score(model, torch.zeros(2), torch.zeros(1, 2))
    with pytest.raises(InputError, match=r"classes must be \(n,\)"):
        class_score(model, torch.zeros(1, 1))
    with pytest.raises(ValueError, match="3"):
        class_score(model, torch.tensor([3]))
