"""Which masks of an image are like a marked region of it, and which to propose."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sightline.annotation._nms import box_ious, box_parts
from sightline.core import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sightline.core import Annotation, Region

__all__ = ["Like", "Prompt", "find_prompts", "rank"]

# What overlaps a marked region of its label this much, or lies in it by this much, is that region.
_SAME = 0.5


class Prompt(NamedTuple):
    """A marked region and its feature, which is None where there is none: it has no area."""

    region: Region
    vector: NDArray[np.float64] | None = None


class Like(NamedTuple):
    """A mask that is like a marked region: the row of the mask, and the index of the region."""

    row: int
    label: str
    prompt: int
    score: float


def find_prompts(annotation: Annotation) -> list[Prompt]:
    """Return the regions that stand for one instance: not those to ignore, and no crowds."""
    return [Prompt(region) for region in annotation.scored if not region.crowd]


def rank(
    boxes: NDArray[np.float64],
    vectors: Sequence[NDArray[np.float64] | None],
    prompts: Sequence[Prompt],
    annotation: Annotation,
    *,
    least: float = 0.5,
    ratio: float | None = 2.0,
) -> list[Like]:
    """Return the masks to propose, the best first; of equal ones, the earlier row.

    The score is the cosine between the features of mask and region, 0 where that is below 0. A mask
    is proposed once: with the label of the region that it is most like, the first of equal ones.

    Parameters
    ----------
    boxes : array (n, 4)
        Of the masks, normalised.
    vectors : sequence of n arrays
        Features of the masks; None where there is none, which is like nothing.
    prompts : sequence of Prompt
        The marked regions with their features.
    annotation : Annotation
        All that is marked. A mask is not proposed whose box has an IoU of 0.5 with a region of any
        label, nor with the label of a region in which half of it lies.
    least : float
        The least score.
    ratio : float or None
        How many times longer or shorter than the region's the sides of a mask's box may be; None
        for any.
    """
    used = [prompt for prompt in prompts if prompt.vector is not None]
    if not used:
        return []
    scores = np.array([[_score(vector, prompt) for prompt in used] for vector in vectors])
    scores = scores.reshape(len(boxes), len(used))
    scores[~_fair(boxes, used, ratio) | _marked(boxes, used, annotation)] = -1
    likes = [
        Like(row, used[best].region.label, used[best].region.index, float(scores[row, best]))
        for row, best in enumerate(scores.argmax(1))
        if scores[row, best] >= least
    ]
    return sorted(likes, key=lambda like: (-like.score, like.row))


def _score(vector: NDArray[np.float64] | None, prompt: Prompt) -> float:
    """Return the cosine from 0 to 1; -1 where the mask has no feature."""
    if vector is None or prompt.vector is None:
        return -1.0
    length = float(np.linalg.norm(prompt.vector))
    if not length > 0:
        name = f"region {prompt.region.index} ({prompt.region.label!r})"
        raise InputError(f"the mean feature of {name} is 0: nothing is similar")
    product = float(vector @ prompt.vector)
    both = float(np.linalg.norm(vector)) * length
    return min(1.0, max(0.0, product / both)) if both > 0 else 0.0


def _marked(
    boxes: NDArray[np.float64], prompts: Sequence[Prompt], annotation: Annotation
) -> NDArray[np.bool_]:
    """Return which boxes show what is marked, as far as a prompt's label goes, `(n, prompts)`."""
    there = [region.box for region in annotation.regions]
    same = np.array(
        [
            [prompt.region.label == region.label for prompt in prompts]
            for region in annotation.regions
        ]
    )
    copies = box_ious(boxes, there).max(1, keepdims=True, initial=0) >= _SAME
    inside = box_parts(boxes, there)[:, :, None] >= _SAME
    marked: NDArray[np.bool_] = np.logical_or(copies, np.any(inside & same, axis=1))
    return marked


def _fair(
    boxes: NDArray[np.float64], prompts: Sequence[Prompt], ratio: float | None
) -> NDArray[np.bool_]:
    """Return which boxes are about as wide and high as the region of which prompt."""
    if ratio is None:
        return np.ones((len(boxes), len(prompts)), np.bool_)
    regions = np.array([prompt.region.box for prompt in prompts])
    own, theirs = (part[:, 2:] - part[:, :2] for part in (boxes, regions))
    low, high = theirs <= own[:, None] * ratio, own[:, None] <= theirs * ratio
    fair: NDArray[np.bool_] = np.all(low & high, axis=-1)
    return fair
