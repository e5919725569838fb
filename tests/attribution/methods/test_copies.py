"""Changed copies of images in full batches."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from sightline.attribution.methods.copies import score_copies
from sightline.attribution.methods.targets import Classes
from tests.attribution.methods.networks import linear, make_images

IMAGES = make_images()


@pytest.mark.parametrize("batch", [1, 4, 5, 100])
def test_every_copy_is_scored_as_if_alone(batch: int) -> None:
    model, seen = linear(), []
    pixels = torch.cat([model.prepare(image).pixels for image in IMAGES])
    goal = Classes(torch.tensor([0, 2, 1]))
    before = pixels.clone()

    def darker(copies: Any, images: Any, numbers: Any) -> Any:
        seen.append(list(zip(images.tolist(), numbers.tolist(), strict=True)))
        copies *= (1 + numbers)[:, None, None, None] / 10
        return copies

    found = score_copies(model, pixels, goal, 5, darker, batch)
    assert found.shape == (3, 5)
    for image in range(3):
        for number in range(5):
            logits = model(pixels[[image]] * (1 + number) / 10).logits
            assert logits is not None
            wanted = logits[0, [0, 2, 1][image]].item()
            assert found[image, number].item() == pytest.approx(wanted, rel=1e-4, abs=1e-6)
    assert [pair for part in seen for pair in part] == [(i, n) for i in range(3) for n in range(5)]
    # All but the last are full; what a CPU's caches hold at most.
    assert {len(part) for part in seen[:-1]} <= {min(batch, 8)}
    assert torch.equal(pixels, before)
