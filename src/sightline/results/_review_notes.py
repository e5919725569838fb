"""What a review says about the sets of labels: strata of the gold images, and reasons for doubt."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.annotation.events import same_person
from sightline.annotation.gold import FORMAT, Gold, is_drawn_from, strata_of
from sightline.annotation.review_results import shared_models
from sightline.core import InputError
from sightline.results._views import full_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from sightline.results._missing_label_inputs import Material
    from sightline.results.annotation_sets import OtherStore
    from sightline.results.map_reader import Scenes

__all__ = ["gold_strata", "warnings_of"]


def gold_strata(
    gold: OtherStore | None, scenes: Scenes, images: Sequence[str]
) -> NDArray[np.str_] | None:
    """Return the stratum of every image from which gold images were drawn; None without strata."""
    drawn = _drawn(gold)
    if drawn is None or not drawn.by:
        return None
    strata = strata_of(scenes.dataset, drawn.by)
    if any(strata.get(image) != drawn.strata[image] for image in drawn.images if image in strata):
        raise InputError(
            f"the gold set was drawn by {drawn.by}, and its images have another {drawn.by} in the "
            "study: draw it from the data of the study"
        )
    return np.array([strata[image] for image in images])


def warnings_of(material: Material, width: float | None) -> tuple[str, ...]:
    """Say what speaks against results on completed and gold labels.

    Parameters
    ----------
    material : Material
        What the report is made of.
    width : float, optional
        How wide the interval of a joined mean may be.
    """
    return (*_of_gold(material), *_of_width(material, width), *_of_completed(material))


def _facts(store: OtherStore | None) -> Mapping[str, Any] | None:
    """Return what a store keeps of the review that its labels are from."""
    return None if store is None else store.results.manifest["data"].get("review")


def _drawn(gold: OtherStore | None) -> Gold | None:
    """Return how gold images were chosen; None where that is not known."""
    facts = _facts(gold)
    if facts is None or facts["gold"] is None:
        return None
    return Gold.from_dict({"format": FORMAT, **facts["gold"]})


def _of_gold(material: Material) -> Iterator[str]:
    if material.gold is None:
        return
    drawn = _drawn(material.gold)
    if drawn is None:
        yield (
            "How the gold images were chosen is not known. What holds for them holds for the rest "
            "only if they were drawn at random, as `sightline gold draw` does."
        )
        return
    if not drawn.random:
        yield (
            "The gold images were picked by hand and not drawn at random: results on them need "
            "not hold for the rest, and the joined means and their intervals are not to be trusted."
        )
    elif not is_drawn_from(drawn, material.scenes.dataset.ids):
        yield (
            f"The gold images were drawn from {sum(drawn.population.values()):,} images that are "
            "not those of this study's data: results on them hold for the former."
        )
    for one in (_facts(material.gold) or {})["gold"].get("reopened", ()):
        why = f" ({one['why']})" if one["why"] else ""
        yield f"The gold set was locked and opened again by {one['by']} on {one['at'][:10]}{why}."


def _of_width(material: Material, width: float | None) -> Iterator[str]:
    if width is None or material.gold is None:
        return
    for one in material.shown:
        found = material.sets[one.called].joined()
        if found is None:
            continue
        if math.isnan(found.value):
            yield f"{one.called}: no interval, {found.reason}."
        elif (seen := found.high - found.low) > width:
            # Its width falls with the square root of their number.
            needed = math.ceil(found.n_gold * (seen / width) ** 2)
            yield (
                f"The gold set is too small: the interval of {one.called} is {seen:.3f} wide, and "
                f"{width:g} was asked for. About {needed:,} gold images would do; there are "
                f"{found.n_gold}."
            )


def _of_completed(material: Material) -> Iterator[str]:
    facts = _facts(material.completed)
    if facts is None:
        return
    manifest = material.scenes.results.manifest
    names = [(full_name(one), one["digest"]) for one in manifest["models"]]
    # Maps made elsewhere may name their model.
    names += [(full_name(one), "") for one in manifest["sources"] if one["model"]]
    for model, other in dict.fromkeys(shared_models(facts, names)):
        yield (
            f"{model} is scored against regions that {other} proposed, with which it shares "
            "weights: completed labels favour it."
        )
    if facts["unfinished"]:
        yield (
            f"{facts['unfinished']:,} proposals were not decided when the completed labels were "
            "taken: they are left out as if they were wrong, and joined means hold only if gold "
            "images were reviewed as far as the others."
        )
    if unknown := sum(one["proposals"] for one in facts["proposers"] if not one["digest"]):
        yield (
            f"It is not known which weights made {unknown:,} of the proposals: if they are those "
            "of an evaluated model, completed labels favour it."
        )
    if material.gold is not None:
        yield from _of_people(facts["people"])


def _of_people(people: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Warn where the rest was reviewed by people who may not review the gold images."""
    drew = {same_person(who) for who in people["gold"]}
    if both := [who for who in people["review"] if same_person(who) in drew]:
        yield (
            f"{', '.join(both)} annotated gold images and reviewed proposals of others: gold "
            "images were then completed by other people than the rest, and joined means are "
            "off if these decide otherwise."
        )
