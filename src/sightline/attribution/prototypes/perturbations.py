"""Perturbations of images: what each changes, with which parameters, and where.

All arithmetic is in single precision on colours from 0 to 1; nothing is rounded to 8 bits on the
way, so that nothing can wrap around. Light to import: torch comes with the first image.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from sightline.core import InputError, UnknownNameError
from sightline.core.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from torch import Tensor

__all__ = [
    "AREA",
    "BOXES",
    "DIRECTIONS",
    "PERTURBATIONS",
    "SIDES",
    "THRESHOLD",
    "Param",
    "Perturbation",
    "PerturbationSpec",
    "Step",
    "apply_perturbation",
    "blend",
    "blended",
    "default_perturbations",
    "perturb",
    "relevant_boxes",
]

Value: TypeAlias = "float | int | str"
Mode: TypeAlias = Literal["focused", "dual", "global"]

AREA = 0.1
"""Share of the pixels that are most relevant."""
THRESHOLD = 0.3
"""Value above which the box of a `threshold` holds all pixels of a map from 0 to 1."""
DIRECTIONS = ("horizontal", "vertical", "both")
"""Which way a distortion moves pixels."""
BOXES = ("top_area", "threshold")
"""Which pixels the box of a distortion holds."""
SIDES = ("width", "longest")
"""Which side of that box its periods span."""
_MODES = ("focused", "dual", "global")


@dataclass(frozen=True)
class Param:
    """A parameter of a perturbation.

    Attributes
    ----------
    name : str
        In a `Step`.
    key : str
        In the YAML of a benchmark.
    default : number or str
        The usual value.
    neutral : number or None
        With which the perturbation changes nothing, if there is such a value.
    range : (low, high)
        What a slider offers; ``(0, 0)`` for a parameter with `choices`.
    step : float
        Of a slider.
    least, most : float
        What is allowed at all.
    whole, odd : bool
        Whole numbers alone; odd ones alone.
    choices : tuple of str
        Where it is a word.

    Examples
    --------
    >>> factor = Param("factor", "hue_factor", 0.2, 0.0, (-0.5, 0.5), least=-0.5, most=0.5)
    >>> factor.read(0.1)
    0.1
    >>> factor.read(2)
    Traceback (most recent call last):
    sightline.core.errors.InputError: hue_factor must be a number from -0.5 to 0.5, got 2
    """

    name: str
    key: str
    default: Value
    neutral: float | None = None
    range: tuple[float, float] = (0.0, 0.0)
    step: float = 0.01
    least: float = 0.0
    most: float = float("inf")
    whole: bool = False
    odd: bool = False
    choices: tuple[str, ...] = ()

    def read(self, value: Any) -> Value:
        """Return a value as it is meant, or raise with what it must be."""
        if self.choices:
            if value not in self.choices:
                known = ", ".join(self.choices)
                raise InputError(f"{self.key} must be one of {known}, got {value!r}")
            return str(value)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        fits = number and isfinite(value) and self.least <= value <= self.most
        if not fits or (self.whole and value != int(value)) or (self.odd and value % 2 != 1):
            raise InputError(f"{self.key} must be {self._expected}, got {value!r}")
        return int(value) if self.whole else float(value)

    @property
    def _expected(self) -> str:
        kind = "an odd whole number" if self.odd else "a whole number" if self.whole else "a number"
        if isfinite(self.most):
            return f"{kind} from {self.least:g} to {self.most:g}"
        return f"{kind} from {self.least:g} up"


@dataclass(frozen=True)
class PerturbationSpec:
    """A type of perturbation.

    Attributes
    ----------
    type : str
        Its name in a `Step` and in the YAML of a benchmark.
    params : tuple of Param
        Its parameters, in the order of the words of `Step.description`.
    words : str
        The description, with a place for each parameter.
    about : str
        What it does, exactly.
    citation : str
        Where it is from.

    Examples
    --------
    >>> spec = PERTURBATIONS["blur"]
    >>> [(param.name, param.default) for param in spec.params]
    [('ksize', 21), ('sigma', 2.0)]
    >>> spec.words
    'Gaussian blur of {ksize} pixels, sigma {sigma:g}'
    """

    type: str
    params: tuple[Param, ...]
    words: str
    about: str
    citation: str


PERTURBATIONS: Registry[PerturbationSpec] = Registry("perturbation")
"""The types of perturbations by name."""

_NAUTA = (
    "Nauta et al. 2020, This looks like that, because ... explaining prototypes for interpretable "
    "image recognition, arXiv:2011.02863"
)
_CABRNET = (
    "Xu-Darme et al. 2024, CaBRNet, an open-source library for developing and evaluating "
    "case-based reasoning models, arXiv:2409.16693"
)


_TABLE = (
    PerturbationSpec(
        "brightness",
        (Param("factor", "brightness_factor", 0.3, 1.0, (0.0, 1.0)),),
        "brightness times {factor:g}",
        "Every colour times the factor; what exceeds 1 is cut. 0.3 takes 70% of the light.",
        _CABRNET,
    ),
    PerturbationSpec(
        "contrast",
        (Param("factor", "contrast_factor", 0.2, 1.0, (0.0, 1.0)),),
        "contrast times {factor:g}",
        "Every colour moves towards the mean grey of the whole image: factor x colour + "
        "(1 - factor) x grey. Grey is 0.299 R + 0.587 G + 0.114 B (ITU-R 601). Padding of "
        "letterboxed images counts as image.",
        _NAUTA,
    ),
    PerturbationSpec(
        "saturation",
        (Param("factor", "saturation_factor", 0.3, 1.0, (0.0, 1.0)),),
        "saturation times {factor:g}",
        "Every colour moves towards its own grey (0.299 R + 0.587 G + 0.114 B), which stays.",
        _NAUTA,
    ),
    PerturbationSpec(
        "hue",
        (Param("factor", "hue_factor", 0.2, 0.0, (-0.5, 0.5), 0.01, -0.5, 0.5),),
        "hue shifted by {factor:g} of the circle",
        "The hue of HSV moves by this share of the colour circle and wraps around it; value "
        "and saturation of HSV stay. Brightness as seen does not: yellow is lighter than blue "
        "of the same value, so that a drop can come from brightness. Greys have no hue and "
        "stay.",
        _NAUTA,
    ),
    PerturbationSpec(
        "blur",
        (
            Param("ksize", "gaussian_blur_ksize", 21, 1, (1, 51), 2, 1, whole=True, odd=True),
            Param("sigma", "gaussian_blur_sigma", 2.0, None, (0.1, 10.0), 0.1, 0.01),
        ),
        "Gaussian blur of {ksize} pixels, sigma {sigma:g}",
        "A mean with the weights of a normal law over ksize x ksize pixels of the input; the "
        "image is mirrored at its border, without its edge pixels again.",
        _CABRNET,
    ),
    PerturbationSpec(
        "distortion",
        (
            Param("periods", "distortion_periods", 5.0, None, (1, 20), 1, 0.0),
            Param("side", "distortion_side", "width", choices=SIDES),
            Param("box", "distortion_box", "top_area", choices=BOXES),
            Param("amplitude", "distortion_amplitude", 7.0, 0.0, (0, 20), 0.5, 0.0),
            Param("direction", "distortion_direction", "both", choices=DIRECTIONS),
        ),
        "sinus distortion, {periods:g} periods over the {side} of the box ({box}), amplitude "
        "{amplitude:g} pixels, {direction}",
        "Pixels move along a sine of so many periods over one side of the box of the most "
        "relevant pixels, on both axes, from the top left corner of the image. The side is the "
        "box's width, or its longest side. The box holds the top tenth of the pixels (top_area), "
        "or all pixels above 0.3 of a map from 0 to 1 (threshold). horizontal: row y moves to "
        "the right by amplitude x sin(2 pi periods y / side); vertical: column x moves down by "
        "amplitude x sin(2 pi periods x / side); both: first the one, then the other. Between "
        "pixels linearly; beyond the edge the edge pixel is held.",
        _CABRNET,
    ),
)
for _spec in _TABLE:
    PERTURBATIONS.add(_spec.type, _spec)


@dataclass(frozen=True, init=False)
class Step:
    """One change of an image.

    Attributes
    ----------
    type : str
        A name of `PERTURBATIONS`.
    params : tuple of (name, value)
        All its parameters, in the table's order. A mapping, or some of them, can be given: the
        rest have their defaults.

    Examples
    --------
    >>> Step("blur", {"sigma": 3}).params
    (('ksize', 21), ('sigma', 3.0))
    >>> Step("hue", {"fctor": 0.1})
    Traceback (most recent call last):
        ...
    sightline.core.errors.UnknownNameError: hue has no parameter 'fctor'; it has: factor
    """

    type: str
    params: tuple[tuple[str, Value], ...]

    def __init__(
        self,
        type: str,  # noqa: A002 (the name of the field)
        params: Mapping[str, Value] | Iterable[tuple[str, Value]] = (),
    ) -> None:
        spec, named = PERTURBATIONS[type], dict(params)
        known = [param.name for param in spec.params]
        for name in named:
            if name not in known:
                listed = ", ".join(known)
                raise UnknownNameError(f"{type} has no parameter {name!r}; it has: {listed}")
        full = ((each.name, each.read(named.get(each.name, each.default))) for each in spec.params)
        object.__setattr__(self, "type", type)
        object.__setattr__(self, "params", tuple(full))

    @property
    def description(self) -> str:
        """The change in words, with its values.

        Examples
        --------
        >>> Step("distortion", {"amplitude": 3}).description
        'sinus distortion, 5 periods over the width of the box (top_area), amplitude 3 pixels, both'
        """
        return PERTURBATIONS[self.type].words.format(**dict(self.params))


@dataclass(frozen=True)
class Perturbation:
    """Steps with a name, done one after the other.

    Attributes
    ----------
    name : str
        What rows are told apart by.
    steps : tuple of Step
        In this order.

    Examples
    --------
    >>> both = Perturbation("dull", (Step("saturation"), Step("blur", {"ksize": 5})))
    >>> both.description
    'saturation times 0.3, then Gaussian blur of 5 pixels, sigma 2'
    """

    name: str
    steps: tuple[Step, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise InputError(f"a perturbation must have a name, got {self.name!r}")
        steps = tuple(self.steps)
        if not steps or not all(isinstance(step, Step) for step in steps):
            raise InputError(f"perturbation {self.name!r} must have steps, got {self.steps!r}")
        object.__setattr__(self, "steps", steps)

    @property
    def description(self) -> str:
        """All steps in words, with their values."""
        return ", then ".join(step.description for step in self.steps)


def default_perturbations() -> tuple[Perturbation, ...]:
    """Return each type of perturbation with its default parameters, under its own name.

    Examples
    --------
    >>> [each.name for each in default_perturbations()]
    ['brightness', 'contrast', 'saturation', 'hue', 'blur', 'distortion']
    """
    return tuple(Perturbation(name, (Step(name),)) for name in PERTURBATIONS)


def perturb(images: Tensor, perturbation: Perturbation, values: Tensor) -> Tensor:
    """Return images changed all over, all of them at once.

    Parameters
    ----------
    images : Tensor (n, 3, height, width)
        Colours from 0 to 1.
    perturbation : Perturbation
        Its steps are done in their order. What each does is in ``PERTURBATIONS[type].about``.
    values : Tensor (n, height, width)
        The map of each image, from 0 to 1. A distortion takes its frequency from the box of its
        highest pixels (`relevant_boxes`); nothing else does.

    Returns
    -------
    Tensor (n, 3, height, width)
        In single precision, from 0 to 1. With neutral parameters (a factor of 1, a hue shift or
        an amplitude of 0, a kernel of one pixel) the images themselves, bit by bit.

    Examples
    --------
    >>> import torch
    >>> images, values = torch.full((1, 3, 2, 2), 0.5), torch.ones(1, 2, 2)
    >>> darker = Perturbation("darker", (Step("brightness", {"factor": 0.5}),))
    >>> perturb(images, darker, values)[0, 0].tolist()
    [[0.25, 0.25], [0.25, 0.25]]
    """
    from sightline.attribution.prototypes._changes import checked_images, checked_maps

    pixels = checked_images(images)
    return apply_perturbation(pixels, perturbation, checked_maps(values, pixels))


def apply_perturbation(images: Tensor, perturbation: Perturbation, maps: Tensor) -> Tensor:
    """Return `perturb` of images and maps that were checked."""
    from sightline.attribution.prototypes._changes import CHANGES

    for step in perturbation.steps:
        images = CHANGES[step.type](images, dict(step.params), maps)
    return images


def relevant_boxes(values: Tensor, area: float = AREA, threshold: float | None = None) -> Tensor:
    """Return the box around the highest pixels of each map.

    Parameters
    ----------
    values : Tensor (n, height, width)
        The maps.
    area : float
        Share of the pixels that count as highest, at least one. All that are equal to the last of
        them count as well, unless that is the map's lowest value: a map that is 0 but for a few
        pixels has the box of these. The box of a constant map is the whole image.
    threshold : float, optional
        Instead of `area`: the pixels above this value count.

    Returns
    -------
    Tensor (n, 4) of int64
        x0, y0, x1, y1 in pixels, without x1 and y1 themselves. The whole image where no pixel
        counts, or the map has NaN or inf.

    Examples
    --------
    >>> import torch
    >>> values = torch.zeros(1, 4, 5)
    >>> values[0, 1, 2:4] = 1
    >>> relevant_boxes(values).tolist()
    [[2, 1, 4, 2]]
    """
    from sightline.attribution.prototypes._changes import find_boxes

    if values.ndim != 3 or 0 in values.shape[1:]:
        seen = tuple(values.shape)
        raise InputError(f"values must be maps (n, height, width), got {seen}")
    if not 0 < area <= 1:
        raise InputError(f"area must be a share above 0, up to 1, got {area!r}")
    return find_boxes(values, area, threshold)


def blend(images: Tensor, perturbed: Tensor, values: Tensor, mode: Mode) -> Tensor:
    """Return images that are changed where a map is high, or where it is low.

    With M the map, I the image and P the changed one: "focused" is M P + (1 - M) I, "dual" is
    (1 - M) P + M I, and "global" is P. Focused and dual add up to I + P. Where P equals I, so does
    every blend, bit by bit; where M is 0 or 1, a blend is I or P, bit by bit.

    A soft map blends softly: between 0 and 1 a pixel shows both, and colours that differ in hue
    meet in grey. A drop after a hue shift can therefore come from lost saturation, and one after a
    distortion from a double image.

    Parameters
    ----------
    images, perturbed : Tensor (n, 3, height, width)
        As they were, and as `perturb` gives them.
    values : Tensor (n, height, width)
        From 0 to 1. NaN gives NaN.
    mode : {"focused", "dual", "global"}
        Which blend.

    Examples
    --------
    >>> import torch
    >>> images, perturbed = torch.zeros(1, 3, 1, 2), torch.ones(1, 3, 1, 2)
    >>> values = torch.tensor([[[0.25, 1.0]]])
    >>> blend(images, perturbed, values, "focused")[0, 0].tolist()
    [[0.25, 1.0]]
    >>> blend(images, perturbed, values, "dual")[0, 0].tolist()
    [[0.75, 0.0]]
    """
    from sightline.attribution.prototypes._changes import checked_maps

    if mode not in _MODES:
        raise InputError(f"mode must be one of {', '.join(_MODES)}, got {mode!r}")
    if images.shape != perturbed.shape:
        seen = f"{tuple(images.shape)} and {tuple(perturbed.shape)}"
        raise InputError(f"images and perturbed must have the same shape, got {seen}")
    maps = values if mode == "global" else checked_maps(values, images)
    return blended(images, perturbed, maps, mode)


def blended(images: Tensor, perturbed: Tensor, maps: Tensor, mode: Mode) -> Tensor:
    """Return `blend` of images and maps that were checked."""
    if mode == "global":
        return perturbed
    low, high = (images, perturbed) if mode == "focused" else (perturbed, images)
    return low.lerp(high, maps[:, None]).clamp_(0, 1)
