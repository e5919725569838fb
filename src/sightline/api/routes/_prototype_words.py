"""What numbers about prototypes mean, in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import TYPE_CHECKING

from sightline.attribution.prototypes.nature import FEWEST

if TYPE_CHECKING:
    from sightline.attribution.prototypes.nature import Premise
    from sightline.results.live_prototypes import Changed
    from sightline.results.prototypes import RelevanceMean, StoredBenchmark

__all__ = [
    "cautions",
    "live_sentence",
    "nature_words",
    "natures_sentence",
    "premise_sentence",
    "relevance_sentence",
]

_SOFT = (
    "Copies are blended softly: where the attribution lies between 0 and 1 a pixel shows both the "
    "image and its change. Colours of different hue meet in grey there, and a distortion leaves a "
    "double image, so that a drop can come from that."
)
_HUE = (
    "A hue shift moves brightness as well: colours of one value are not equally bright, so that a "
    "drop after it can come from brightness."
)
_DUAL = (
    "Dual copies of a small attribution change nearly the whole image, focused ones little of it: "
    "the difference of their drops is a strict test."
)
_MANY = (
    "A perturbation matters where the 95% interval of focused minus dual drop lies above 0. That "
    "is not corrected for many comparisons: of 40 without any effect, one is told to matter."
)


def cautions(found: StoredBenchmark, types: Sequence[str]) -> tuple[str, ...]:
    """Return what must be kept in mind about a benchmark with these types of perturbations."""
    told = []
    if found.relevance is not None:
        told.append(
            "Relevance is that of an attribution, and another attribution may say something else. "
            "What is not annotated counts as background."
        )
    if found.drops is not None:
        told += [_SOFT, *([_HUE] if "hue" in types else []), _DUAL, _MANY]
        told.append(f"Below {FEWEST} images of a prototype there is no interval: nothing is told.")
    return tuple(told)


def nature_words(nature: tuple[str, ...] | None, images: int) -> str:
    """Say what the similarity to a prototype is made of.

    >>> nature_words(("hue",), 20)
    'depends on hue'
    """
    if not images:
        return "no image analysed is most similar to it"
    if nature is None:
        return f"not decided: fewer than {FEWEST} images, or no dual copies"
    if not nature:
        return "unknown: no perturbation matters, which questions whether it can be interpreted"
    return f"depends on {', '.join(nature)}"


def natures_sentence(known: int, unknown: int, undecided: int, uncovered: int) -> str:
    """Say how many prototypes have a nature that is known.

    >>> natures_sentence(3, 1, 0, 2)
    'Of 6 prototypes 3 depend on a perturbation, 1 on none (nature unknown), 2 are never nearest.'
    """
    parts = [f"{known} depend on a perturbation", f"{unknown} on none (nature unknown)"]
    parts += [f"{undecided} have too few images to say"] if undecided else []
    parts += [f"{uncovered} are never nearest"] if uncovered else []
    return f"Of {known + unknown + undecided + uncovered} prototypes {', '.join(parts)}."


def premise_sentence(found: Premise) -> str:
    """Say whether changing what attributions show costs more than changing all else."""
    if not found.rows:
        return "No pair has both drops: nothing can be said of the premise."
    share = f"{found.share:.0%} of {found.rows} cases"
    if isfinite(found.share_low):
        share += f" (95% interval {found.share_low:.0%} to {found.share_high:.0%})"
    told = f"In {share} changing what the attribution shows costs more than changing all else."
    if not isfinite(found.share_low):
        return f"{told} There are too few images to say whether the premise holds."
    if found.share_low > 0.5:
        return f"{told} The premise of the analysis mostly holds."
    if found.share_high < 0.5:
        return (
            f"{told} The premise of the analysis does not hold: attributions miss what counts, or "
            "similarities take in more of the image than attributions show."
        )
    return f"{told} Whether the premise of the analysis mostly holds cannot be told."


def relevance_sentence(one: RelevanceMean) -> str:
    """Say how relevant prototypes or patches are, beside chance."""
    what = "Prototypes" if one.kind == "prototype" else "Patches of images"
    if not one.lines:
        return f"{what}: relevance is not defined ({one.reasons})."
    of = "the attribution" if one.measure == "energy_relevance" else "the most relevant pixels"
    told = f"{what}: {one.value:.0%} of {of} lies on the object; chance is {one.chance:.0%}."
    if one.undefined:
        told += f" Undefined: {one.undefined_fraction:.0%} ({one.reasons})."
    if not isfinite(one.difference_low):
        return told
    if one.difference_low > 0:
        return f"{told} They are about the object more than chance."
    if one.difference_high < 0:
        return f"{told} They are about the object less than chance."
    return f"{told} That cannot be told from chance."


def live_sentence(found: Changed) -> str:
    """Say what a change costs."""
    if not isfinite(found.focused_drop) or not isfinite(found.dual_drop):
        return "The similarity is 0 or less, or not defined: drops mean nothing."
    return (
        f"Changing what the attribution shows {_costs(found.focused_drop)}; changing all else "
        f"{_costs(found.dual_drop)}."
    )


def _costs(drop: float) -> str:
    """Say how much of the similarity goes.

    >>> _costs(0.25), _costs(-0.1), _costs(0.0)
    ('takes 25% of the similarity', 'adds 10% to the similarity', 'changes nothing')
    """
    if abs(drop) < 5e-4:
        return "changes nothing"
    return (
        f"takes {drop:.1%} of the similarity".replace(".0%", "%")
        if drop > 0
        else (f"adds {-drop:.1%} to the similarity".replace(".0%", "%"))
    )
