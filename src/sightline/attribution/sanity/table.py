"""The checks by name: what each asks, its options, and what makes its rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isnan
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, get_args

from sightline.core import UnknownNameError
from sightline.core.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sightline.core import Sample
    from sightline.models import Model

__all__ = [
    "BASELINES",
    "CHECKS",
    "CURVES",
    "MEASURES",
    "PARTS",
    "RELIABLE",
    "SIMILARITIES",
    "STAGED",
    "STORED_CURVES",
    "STORED_MEASURES",
    "UNRELIABLE",
    "WAYS",
    "WHOLE",
    "Check",
    "Job",
    "Measure",
    "Row",
    "Similarity",
    "Way",
    "check_rows",
    "guide_of",
    "split_check",
]

# How stages are randomised, the usual first.
Way: TypeAlias = Literal["full", "top-down", "bottom-up", "single"]
WAYS: tuple[Way, ...] = get_args(Way)
# Those that end with all weights drawn anew, and those that go stage by stage.
WHOLE: tuple[Way, ...] = ("full", "top-down", "bottom-up")
STAGED: tuple[Way, ...] = ("top-down", "bottom-up", "single")
# How alike two maps are, the usual first.
Similarity: TypeAlias = Literal["spearman", "ssim", "hog", "overlap"]
SIMILARITIES: tuple[Similarity, ...] = get_args(Similarity)
# How well a map tells what the model relies on; first what is the area under a curve.
Curve: TypeAlias = Literal["deletion", "insertion", "road_morf", "road_lerf", "pixel_flipping"]
CURVES: tuple[Curve, ...] = get_args(Curve)
Measure: TypeAlias = Literal[
    Curve,
    "infidelity",
    "max_sensitivity",
    "faithfulness_correlation",
    "completeness",
    "random_logit",
]
MEASURES: tuple[Measure, ...] = get_args(Measure)
PARTS = ("parts_precision", "parts_recall", "parts_ap", "parts_base", "parts_background")
"""What the check of drawn parts measures."""
STORED_MEASURES = (*SIMILARITIES, "correct", *MEASURES, *PARTS)
STORED_CURVES = tuple(f"{curve}_curve" for curve in CURVES)
"""Every number and every curve that the row of a check can hold."""
RELIABLE, UNRELIABLE = 0.3, 0.6
"""Where the guide's rule for the sanity check draws its lines."""
# Maps that know nothing of the model, beside the methods of a study.
BASELINES = ("random", "centre", "edge")


@dataclass(frozen=True)
class Job:
    """One check of one method of one model.

    Attributes
    ----------
    model : Model
        The trained model.
    method : str
        A name of `METHODS`.
    params : mapping
        Parameters of the method.
    layers : tuple of int or None
        Of a method with layers; ``(None,)`` otherwise.
    target : str
        What is explained: "predicted", "label", a class; "" for methods that explain nothing.
    batch : int
        Images in a forward pass.
    options : mapping
        Of the check, complete: of "faithfulness" `measures` (names) and `steps`; of "reference"
        `training`, which maps a variant's name to the Model of the same network that was trained
        from another seed (empty where there is none).
    check : str
        Which: "randomisation/top-down/2", "reference", "faithfulness", "parts".
    """

    model: Model
    method: str
    params: Mapping[str, Any]
    layers: tuple[int | None, ...]
    target: str
    batch: int
    options: Mapping[str, Any]
    check: str


class Row(NamedTuple):
    """One number of a check.

    Attributes
    ----------
    image : str
        Of this image.
    layer : int or None
        Of the maps of this layer.
    check : str
        Which check, to its stage: "randomisation/full/0/00-all".
    metric : str
        The measure.
    threshold : str
        The point of a curve, else "".
    value : float
        NaN where it is undefined.

    Examples
    --------
    >>> from sightline.attribution.sanity import Row
    >>> Row("a.jpg", 11, "faithfulness", "deletion", "0.1", 0.42).value
    0.42
    """

    image: str
    layer: int | None
    check: str
    metric: str
    threshold: str
    value: float


@dataclass(frozen=True)
class Check:
    """A check that a study can ask for.

    Attributes
    ----------
    name : str
        As in a study's section `checks`.
    about : str
        What it asks, in one line.
    options : mapping
        Its options with their defaults.
    citation : str
        Where it comes from.

    Examples
    --------
    >>> from sightline.attribution.sanity import CHECKS
    >>> CHECKS["randomisation"].about
    'Do maps change when what the network learnt is replaced by random numbers?'
    >>> sorted(CHECKS["randomisation"].options)
    ['images', 'seeds', 'ways']
    """

    name: str
    about: str
    options: Mapping[str, Any] = field(default_factory=dict)
    citation: str = ""


CHECKS: Registry[Check] = Registry("check")
for _card in (
    Check(
        "randomisation",
        "Do maps change when what the network learnt is replaced by random numbers?",
        {"ways": ("full", "top-down"), "seeds": 5, "images": 32},
        "Adebayo et al. 2018, Sanity checks for saliency maps",
    ),
    Check(
        "faithfulness",
        "Does the score of the class change when pixels go that a map ranks first?",
        {"measures": None, "images": 32, "steps": 20},
        "Petsiuk et al. 2018; Samek et al. 2017; Rong et al. 2022; Yeh et al. 2019; "
        "Bhatt et al. 2020; Sundararajan et al. 2017; Sixt et al. 2020",
    ),
    Check(
        "parts",
        "Do maps rank first the drawn parts whose removal changes the class? Facades alone",
        {"images": 64},
        "",
    ),
):
    CHECKS.add(_card.name, _card)


def split_check(path: str) -> tuple[str, str, int | None, int | None, str]:
    """Return check, order, draw, index and name of the stage of a check's path.

    >>> split_check("randomisation/top-down/2/03-blocks.8")
    ('randomisation', 'top-down', 2, 3, 'blocks.8')
    >>> split_check("reference/cross/1"), split_check("faithfulness")
    (('reference', 'cross', 1, None, ''), ('faithfulness', '', None, None, ''))
    >>> split_check("reference/training/seed2")
    ('reference', 'training', None, None, 'seed2')
    """
    check, _, rest = path.partition("/")
    order, _, rest = rest.partition("/")
    if order == "training":
        return check, order, None, None, rest
    draw, _, rest = rest.partition("/")
    index, _, stage = rest.partition("-")
    return check, order, int(draw) if draw else None, int(index) if index else None, stage


def guide_of(similarity: float) -> str:
    """Return what the guide says of a similarity to random weights; "" where there is none.

    >>> [guide_of(value) for value in (0.29, 0.3, 0.61)]
    ['reliable', 'between', 'unreliable']
    """
    if isnan(similarity):
        return ""
    if similarity < RELIABLE:
        return "reliable"
    return "unreliable" if similarity > UNRELIABLE else "between"


def check_rows(
    job: Job, samples: Sequence[Sample], partners: Mapping[int, Sequence[Sample]] | None = None
) -> list[Row]:
    """Return the rows of a check on some images.

    Parameters
    ----------
    job : Job
        Which check, of which maps.
    samples : sequence of Sample
        The images.
    partners : mapping, optional
        For "reference": by seed, for each image another one.

    Raises
    ------
    InputError
        If the check cannot be made of these maps or images.
    """
    name = job.check.partition("/")[0]
    if name == "randomisation":
        from sightline.attribution.sanity.randomisation import randomised_rows

        return randomised_rows(job, samples)
    if name == "reference":
        from sightline.attribution.sanity.randomisation import reference_rows

        return reference_rows(job, samples, partners or {})
    if name == "faithfulness":
        from sightline.attribution.sanity.faithfulness import faithfulness_rows

        return faithfulness_rows(job, samples)
    if name == "parts":
        from sightline.attribution.sanity.parts import parts_rows

        return parts_rows(job, samples)
    raise UnknownNameError(f"unknown check {job.check!r}. Known: reference, {', '.join(CHECKS)}")
