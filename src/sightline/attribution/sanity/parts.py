"""Do maps find the parts that decide? On facades, where the generator knows which those are.

Every role on a facade (window, portal, gable, …) votes for the style of its form, and the style
with the most votes is the class. A type of part **decides** when taking it away, with
`Facade.without`, costs the class a vote. One type alone rarely turns the class over, as styles win
by several votes, but the smallest sets that do are made of deciding ones. What takes parts that
vote along, as a tower does the roof on it, is neither: it does not count.

Types, not instances: while one window is left, windows vote.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sightline.attribution.methods import METHODS
from sightline.attribution.sanity._outputs import check_own_maps, explained, predicted
from sightline.attribution.sanity.removal import read_as
from sightline.attribution.sanity.table import PARTS, Row
from sightline.data.facades import facade_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sightline.attribution.sanity.table import Job
    from sightline.core import Sample
    from sightline.data.facades import Facade

__all__ = ["Types", "parts_rows", "rank_scores", "types_of"]

Floats: TypeAlias = NDArray[np.float64]

FIRST = 3
"""Types that count as ranked first; fewer where fewer decide."""


class Types(NamedTuple):
    """The types of parts in sight on a facade.

    Attributes
    ----------
    labels : tuple of str
        Their names.
    masks : array (types, size, size) of bool
        Where their instances are.
    deciding : array (types,) of bool
        Whether taking one away costs the class a vote.
    """

    labels: tuple[str, ...]
    masks: NDArray[np.bool_]
    deciding: NDArray[np.bool_]


def types_of(facade: Facade) -> Types:
    """Return the types of parts that can be seen, but for those that others go with.

    Examples
    --------
    >>> from sightline.data.facades import Facade
    >>> found = types_of(Facade.generate(seed=0, index=2))
    >>> [label for label, decides in zip(found.labels, found.deciding) if decides]
    ['pointed window', 'steep gable', 'rose window', 'pointed portal', 'tracery gallery']
    """
    labels, masks, deciding = [], [], []
    for label in dict.fromkeys(part.label for part in facade.parts):
        without = facade.without(label)
        lost = without.evidence[facade.style] < facade.evidence[facade.style]
        if lost and label not in facade.deciding:
            continue  # it carries what votes
        labels.append(label)
        masks.append(np.any([part.mask for part in facade.parts if part.label == label], axis=0))
        deciding.append(lost)
    size = facade.size
    stack = np.array(masks, np.bool_).reshape(-1, size, size)
    return Types(tuple(labels), stack, np.array(deciding, np.bool_))


def parts_rows(job: Job, samples: Sequence[Sample]) -> list[Row]:
    """Return how well one method's maps rank the types of parts that decide.

    Types are ranked by the mean of the map over what is seen of them, the map being read as its
    method means it, or by the option `sign`.

    Parameters
    ----------
    job : Job
        What is checked.
    samples : sequence of Sample
        Facades; none changes what another gets.

    Returns
    -------
    list of Row
        For each image and layer:

        - ``parts_precision``: share of deciding types among the first 3, or as many as decide;
        - ``parts_recall``: share of the deciding types that are among the first so many;
        - ``parts_ap``: average precision of the whole ranking;
        - ``parts_base``: share of the types that decide: what precision and recall are by chance;
        - ``parts_background``: share of the map that is on sky and ground, where nothing votes.

        The first three are NaN where the class that is explained (or, by a map that explains
        none, predicted) is not the style of the facade: what the model took for another style
        is not known. All types, or none, deciding leaves nothing to rank: NaN as well.

    Raises
    ------
    InputError
        If a sample is no drawn facade, or the method is made of other images' maps.
    """
    check_own_maps(job.method)
    facades = [facade_of(sample) for sample in samples]
    maps = explained(job, samples, job.target or "predicted")
    said = maps.targets or _predicted(job, samples)
    sign = job.options.get("sign") or METHODS[job.method].sign
    rows: list[Row] = []
    for sample, facade, one, name in zip(samples, facades, maps, said, strict=True):
        values = one.to_image().values[0]
        for layer, found in zip(job.layers, values, strict=True):
            scores = _scores(facade, read_as(found[0], sign), right=name == facade.style)
            rows += [
                Row(sample.image_id, layer, job.check, metric, "", value)
                for metric, value in zip(PARTS, scores, strict=True)
            ]
    return rows


def _predicted(job: Job, samples: Sequence[Sample]) -> tuple[str, ...]:
    """Return what the model predicts; "" where it has no classes."""
    if not job.model.classes:
        return ("",) * len(samples)
    numbers = predicted(job.model, samples, job.batch)
    return tuple(job.model.classes[number] for number in numbers)


def _scores(facade: Facade, values: Floats, *, right: bool) -> tuple[float, ...]:
    """Return the metrics of one map over a facade; it is NaN where the model did not see."""
    types = types_of(facade)
    seen = np.isfinite(values)
    whole = np.where(seen, values, 0.0)
    sizes = (types.masks & seen).sum(axis=(1, 2))
    there = sizes > 0
    means = np.einsum("tij,ij->t", types.masks[there], whole) / sizes[there]
    deciding = types.deciding[there]
    base = deciding.mean() if len(deciding) else np.nan
    ranked = rank_scores(means, deciding) if right else (np.nan,) * 3
    total = np.abs(whole).sum()
    behind = np.abs(whole[facade.background()]).sum()
    share = behind / total if total > 0 else np.nan
    return (*ranked, float(base), float(share))


def rank_scores(values: Floats, deciding: NDArray[np.bool_]) -> tuple[float, float, float]:
    """Return precision, recall and average precision of a ranking; ties share their places.

    Examples
    --------
    >>> rank_scores(np.array([9.0, 7.0, 5.0, 1.0]), np.array([True, False, True, False]))
    (0.5, 0.5, 0.8333333333333333)
    >>> rank_scores(np.ones(4), np.array([True, False, True, False]))
    (0.5, 0.5, 0.5)
    """
    count = int(deciding.sum())
    if count in (0, len(deciding)):
        return (np.nan, np.nan, np.nan)
    found, hits = _cumulated(values, deciding)
    precision, recall = (
        float(np.interp(places, found, hits)) / places for places in (min(FIRST, count), count)
    )
    gained = np.diff(hits)
    return precision, recall, float((gained * hits[1:] / found[1:]).sum() / count)


def _cumulated(values: Floats, deciding: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Return how many types are at or above each value, from the largest on, and how many decide.

    Both begin with 0.
    """
    levels = np.unique(values)[::-1]
    above = values >= levels[:, None]
    counts, hits = above.sum(axis=1), (above & deciding).sum(axis=1)
    return np.append(0.0, counts), np.append(0.0, hits)
