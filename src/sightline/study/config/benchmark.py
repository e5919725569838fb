"""The file that says how prototypes are analysed: YAML with a section for each analysis."""

# Annotations are read when the classes are made, so they are not put off.
import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    ValidationError,
    model_validator,
)

from sightline.core import InputError, SightlineError
from sightline.data.choice import DataChoice
from sightline.study.config.files import line_at, read_text, read_yaml
from sightline.study.config.part import Part
from sightline.study.config.problems import (
    Place,
    describe,
    problem,
    shown,
    unknown_key,
)

if TYPE_CHECKING:
    import os

    from sightline.attribution.prototypes.perturbations import Perturbation, Step

__all__ = [
    "Benchmark",
    "DataChoice",
    "LocalPerturbationAnalysis",
    "RelevanceAnalysis",
    "load_benchmark",
    "parse_benchmark",
]

TABLES = (".csv", ".parquet")
PICTURES = (".png", ".svg", ".pdf")
_MOST = 2**31 - 1
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+ -]{0,99}")
# What a benchmark writes under names of its own.
_OWN = ("config.yml", "benchmark.json", "relevance.parquet", "drops.parquet", "lock", "debug")
# Keys of perturbations as the flat section has them, and what they mean: type, parameter.
_FLAT = {
    "brightness_factor": ("brightness", "brightness_factor"),
    "contrast_factor": ("contrast", "contrast_factor"),
    "saturation_factor": ("saturation", "saturation_factor"),
    "hue_factor": ("hue", "hue_factor"),
    "gaussian_noise_ksize": ("blur", "gaussian_blur_ksize"),
    "gaussian_noise_sigma": ("blur", "gaussian_blur_sigma"),
    "gaussian_blur_ksize": ("blur", "gaussian_blur_ksize"),
    "gaussian_blur_sigma": ("blur", "gaussian_blur_sigma"),
    "distortion_periods": ("distortion", "distortion_periods"),
    "distortion_amplitude": ("distortion", "distortion_amplitude"),
    "distortion_direction": ("distortion", "distortion_direction"),
    "distortion_box": ("distortion", "distortion_box"),
    "distortion_side": ("distortion", "distortion_side"),
}
_TEXTS = ("distortion_direction", "distortion_box", "distortion_side")
_TYPES = tuple(dict.fromkeys(kind for kind, _ in _FLAT.values()))
_DEEPEST = 20  # lists in lists of a perturbation


# --- values of keys -------------------------------------------------------------------------------


def _file(endings: tuple[str, ...]) -> AfterValidator:
    """Return what checks the name of a file that is written: inside the folder of results."""

    def check(name: str) -> str:
        parts = PurePosixPath(name).parts
        odd = "\\" in name or not name.isprintable() or ":" in name
        if not parts or odd or PurePosixPath(name).is_absolute() or ".." in parts:
            raise problem(f"expected a path inside the folder of results, got {shown(name)}")
        if parts[0].lower() in _OWN or parts[0].startswith((".", "~")):
            raise problem(f"expected another name: {parts[0]!r} is what Sightline writes itself")
        if PurePosixPath(name).suffix.lower() not in endings:
            raise problem(f"expected a name that ends in {' or '.join(endings)}, got {shown(name)}")
        return str(PurePosixPath(name))

    return AfterValidator(check)


def _share(value: float) -> float:
    if value > 1:
        text = f"expected a share of the image above 0 and at most 1, got {value:g}"
        raise problem(f"{text}; {value:g}% is {value / 100:g}" if value <= 100 else text)
    if not value > 0:
        raise problem(f"expected a share of the image above 0 and at most 1, got {value:g}")
    return value


_TableFile: TypeAlias = Annotated[str, _file(TABLES)]
_PictureFile: TypeAlias = Annotated[str, _file(PICTURES)]
_Count: TypeAlias = Annotated[int, Field(ge=1, le=_MOST)]
_Number: TypeAlias = Annotated[float, Field(allow_inf_nan=False)] | None


class _Analysis(Part):
    """What both analyses share."""

    sampling_ratio: _Count = Field(
        default=1, description="Only one in so many images is analysed: the first, and so on"
    )
    num_prototypes: _Count = Field(
        default=1, description="How many of the most similar prototypes of each image"
    )
    class_specific: bool = Field(
        default=False, description="Whether only prototypes of the predicted class are considered"
    )
    debug_mode: bool = Field(default=False, description="Whether pictures are saved, in debug/")


class RelevanceAnalysis(_Analysis):
    """Whether prototypes, and what images have in common with them, lie on the object.

    Examples
    --------
    >>> RelevanceAnalysis(area_percentage=0.2).patch_info_db
    'patch_relevance.csv'
    """

    prototype_info_db: _TableFile = Field(
        default="prototype_relevance.csv", description="Table with a line for each prototype"
    )
    patch_info_db: _TableFile = Field(
        default="patch_relevance.csv", description="Table with a line for each image"
    )
    area_percentage: Annotated[float, AfterValidator(_share)] = Field(
        default=0.1, description="Share of the image that counts as most relevant: 0.1 is 10%"
    )
    prototype_cell: Literal["source", "most_similar"] = Field(
        default="source",
        description="Cell of a prototype's image that is attributed: the one it was taken from, or "
        "the one that is most similar to it",
    )


class LocalPerturbationAnalysis(_Analysis):
    """Which changes of the pixels that matter make the similarity drop.

    Examples
    --------
    >>> analysis = LocalPerturbationAnalysis(hue_factor=0.5)
    >>> [name for name in analysis.steps]
    ['brightness', 'contrast', 'saturation', 'hue', 'blur', 'distortion']
    """

    info_db: _TableFile = Field(
        default="local_perturbation.csv",
        description="Table with a line for each image, prototype and perturbation",
    )
    global_stats: _TableFile = Field(
        default="global_stats.csv",
        description="Table of the prototypes covered and the mean drop of each perturbation",
    )
    distribution_img: _PictureFile = Field(
        default="max_similarity_drop.png",
        description="Picture of the largest drops: .png, .svg or .pdf",
    )
    quiet: bool = Field(
        default=False, description="Whether progress and summary are left out of the terminal"
    )
    enable_dual_mode: bool = Field(
        default=True, description="Whether all other pixels are perturbed as well, for comparison"
    )
    enable_global_mode: bool = Field(
        default=False, description="Whether the whole image is perturbed as well"
    )
    score: Literal["similarity", "class_logit"] = Field(
        default="similarity",
        description="What may drop: the similarity to a prototype, or the logit of a class",
    )
    brightness_factor: _Number = Field(default=None, description="Brightness that is left")
    contrast_factor: _Number = Field(default=None, description="Contrast that is left")
    saturation_factor: _Number = Field(default=None, description="Saturation that is left")
    hue_factor: _Number = Field(default=None, description="Shift on the hue scale")
    gaussian_noise_ksize: int | None = Field(default=None, description="As gaussian_blur_ksize")
    gaussian_noise_sigma: _Number = Field(default=None, description="As gaussian_blur_sigma")
    gaussian_blur_ksize: int | None = Field(default=None, description="Side of the blur's kernel")
    gaussian_blur_sigma: _Number = Field(default=None, description="Width of the blur in pixels")
    distortion_periods: _Number = Field(
        default=None, description="Waves of the distortion over the box of what is relevant"
    )
    distortion_amplitude: _Number = Field(
        default=None, description="Height of the distortion's waves in pixels"
    )
    distortion_direction: str | None = Field(
        default=None, description="Axis that is distorted: horizontal, vertical or both"
    )
    distortion_box: str | None = Field(
        default=None,
        description="Box that the waves span: of the top tenth of the pixels (top_area), or of "
        "all above 0.3 of the map's range (threshold)",
    )
    distortion_side: str | None = Field(
        default=None, description="Side of that box: width or longest"
    )
    perturbations: Annotated[
        dict[str, tuple[dict[str, Any], ...]] | None, BeforeValidator(lambda value: _nested(value))
    ] = Field(
        default=None,
        description="Perturbations by name, each a type with params, or a list of such and of "
        "lists, in place of the keys above",
    )

    @model_validator(mode="after")
    def _fits(self) -> Self:
        flat = [key for key in _FLAT if getattr(self, key) is not None]
        if self.perturbations is not None and flat:
            raise problem(f"is already said in perturbations: leave {flat[0]} out", flat[0])
        for noise in (key for key in flat if "_noise_" in key):
            if (blur := noise.replace("_noise_", "_blur_")) in flat:
                raise problem(f"means the same as {blur}: leave one of them out", noise)
        if self.perturbations is None:
            _check_flat(self.steps, flat)
        return self

    @property
    def steps(self) -> dict[str, tuple[dict[str, Any], ...]]:
        """Perturbations by name: types with the parameters that were given."""
        if self.perturbations is not None:
            return self.perturbations
        found: dict[str, dict[str, Any]] = {kind: {} for kind in _TYPES}
        for key, (kind, name) in _FLAT.items():
            if (value := getattr(self, key)) is not None:
                found[kind][name] = value
        return {kind: ({"type": kind, "params": params},) for kind, params in found.items()}

    def made(self) -> "tuple[Perturbation, ...]":
        """Return the perturbations."""
        from sightline.attribution.prototypes.perturbations import Perturbation

        made = ((name, tuple(map(_made, listed))) for name, listed in self.steps.items())
        return tuple(Perturbation(name, steps) for name, steps in made)


def _nested(value: Any) -> Any:
    """Return perturbations by name, each as a list of types with parameters."""
    if value is None:
        raise problem("expected names with perturbations, got nothing (null)")
    if not isinstance(value, Mapping):
        raise problem(f"expected names with perturbations, got {shown(value)}")
    if not value:
        raise problem("expected at least one perturbation, got none")
    found = {}
    for name, given in value.items():
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            text = "names of perturbations must be 1 to 100 of A-Z a-z 0-9 . _ + - or blanks"
            raise problem(f"{text}, got {shown(name)}", *([name] if isinstance(name, str) else []))
        found[name] = tuple(_step(one, at) for one, at in _flattened(given, (name,)))
    return found


def _flattened(given: Any, at: Place) -> Iterator[tuple[Any, Place]]:
    """Yield the steps of lists in lists, in order, each with its place."""
    if not isinstance(given, list | tuple):
        yield given, at
        return
    if not given:
        raise problem("expected at least one step, got none", *at)
    if len(at) > _DEEPEST:
        raise problem(f"expected at most {_DEEPEST} lists in one another, got more", *at)
    for place, one in enumerate(given):
        yield from _flattened(one, (*at, place))


def _step(given: Any, at: Place) -> dict[str, Any]:
    """Return a type with its parameters, called as Sightline calls them."""
    if not isinstance(given, Mapping):
        raise problem(f"expected a type with params, got {shown(given)}", *at)
    for key in given:
        if key not in ("type", "params"):
            raise problem(unknown_key(str(key), ["type", "params"]), *at, str(key))
    kind = given.get("type")
    if kind not in _TYPES:
        raise problem(f"expected one of {', '.join(_TYPES)}, got {shown(kind)}", *at, "type")
    params = given.get("params", {})
    if not isinstance(params, Mapping):
        text = "expected a mapping of parameters to values"
        raise problem(f"{text}, got {shown(params)}", *at, "params")
    known = [key for key, (own, _) in _FLAT.items() if own == kind]
    found: dict[str, Any] = {}
    for key, value in params.items():
        if key not in known:
            raise problem(unknown_key(str(key), known), *at, "params", str(key))
        if (name := _FLAT[key][1]) in found:
            raise problem(f"means the same as {name}: leave one of them out", *at, "params", key)
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            text = "expected text" if key in _TEXTS else "expected a number"
            raise problem(f"{text}, got {shown(value)}", *at, "params", key)
        found[name] = value
    return _fitting({"type": kind, "params": found}, (*at, "params"))


def _check_flat(steps: Mapping[str, tuple[dict[str, Any], ...]], flat: list[str]) -> None:
    """Raise a problem at the flat key whose value does not fit."""
    for (one,) in steps.values():
        keys = [key for key in flat if _FLAT[key][1] in one["params"]]
        _fitting(one, tuple(keys[:1]))


def _fitting(one: dict[str, Any], at: Place) -> dict[str, Any]:
    """Return a type with its parameters; raise a problem where they do not fit."""
    try:
        _made(one)
    except SightlineError as error:
        raise problem(str(error), *at) from None
    return one


def _made(one: Mapping[str, Any]) -> "Step":
    """Return the step of a type with its parameters, which are called as in files."""
    from sightline.attribution.prototypes.perturbations import PERTURBATIONS, Step

    known = {param.key: param.name for param in PERTURBATIONS[one["type"]].params}
    return Step(one["type"], tuple((known[key], value) for key, value in one["params"].items()))


def _told(step: "Step") -> dict[str, Any]:
    """Return a step with all its parameters, called as in files."""
    from sightline.attribution.prototypes.perturbations import PERTURBATIONS

    keys = {param.name: param.key for param in PERTURBATIONS[step.type].params}
    return {"type": step.type, "params": {keys[name]: value for name, value in step.params}}


# --- the whole file -------------------------------------------------------------------------------


class Benchmark(Part):
    """How prototypes are analysed; either analysis may be left out.

    Examples
    --------
    >>> benchmark = parse_benchmark("relevance_analysis: {area_percentage: 0.2}")
    >>> benchmark.relevance_analysis.area_percentage, benchmark.local_perturbation_analysis
    (0.2, None)
    """

    relevance_analysis: RelevanceAnalysis | None = Field(
        default=None, description="Whether prototypes lie on the object"
    )
    local_perturbation_analysis: LocalPerturbationAnalysis | None = Field(
        default=None, description="What the similarity to prototypes is made of"
    )

    @model_validator(mode="before")
    @classmethod
    def _asks(cls, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        for name in cls.model_fields:
            if name in value and value[name] is None:
                text = "expected a mapping of options, {} for the usual ones, got nothing (null)"
                raise problem(text, name)
        if not set(cls.model_fields) & set(value) and not set(value) - set(cls.model_fields):
            both = "expected this analysis, local_perturbation_analysis, or both"
            raise problem(f"missing; {both}", "relevance_analysis")
        return value

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        found: dict[str, str] = {}
        for key, name in self.files.items():
            for other, taken in found.items():
                one, two = (PurePosixPath(text.lower()).parts for text in (name, taken))
                if one[: len(two)] == two or two[: len(one)] == one:
                    raise problem(f"{name} would be written over {other}", *key.split("."))
            found[key] = name
        return self

    @property
    def files(self) -> dict[str, str]:
        """The files that are asked for, by key: ``relevance_analysis.patch_info_db``."""
        keys = ("prototype_info_db", "patch_info_db", "info_db", "global_stats", "distribution_img")
        return {
            f"{name}.{key}": str(getattr(part, key))
            for name in type(self).model_fields
            if (part := getattr(self, name)) is not None
            for key in keys
            if key in type(part).model_fields
        }

    @property
    def quiet(self) -> bool:
        """Whether the terminal is left alone."""
        return bool(self.local_perturbation_analysis and self.local_perturbation_analysis.quiet)

    def to_dict(self) -> dict[str, Any]:
        """Return what was asked, with every key and every parameter; perturbations are nested."""
        found: dict[str, Any] = {}
        for name in type(self).model_fields:
            if (part := getattr(self, name)) is not None:
                found[name] = part.model_dump(mode="json", exclude=set(_FLAT))
        if self.local_perturbation_analysis is not None:
            made = self.local_perturbation_analysis.made()
            told = {one.name: [_told(step) for step in one.steps] for one in made}
            found["local_perturbation_analysis"]["perturbations"] = told
        return found

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], where: str = "benchmark") -> Self:
        """Return what `to_dict` told, or what a file says.

        Raises
        ------
        InputError
            If something does not fit; the message lists all problems with their keys.
        """
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise InputError(describe(error, _owner, values, where)) from None


def load_benchmark(path: "str | os.PathLike[str]") -> Benchmark:
    """Return the benchmark that a YAML file describes.

    Raises
    ------
    InputError
        If the file cannot be read or something in it does not fit; the message lists all
        problems, with their lines and keys.
    """
    return parse_benchmark(read_text(Path(path), "benchmark"), str(path))


def parse_benchmark(text: str, where: str = "benchmark") -> Benchmark:
    """Return the benchmark that a YAML text describes; `where` is what messages call it."""
    node, values = read_yaml(text, where, "benchmark")
    try:
        return Benchmark.model_validate(values)
    except ValidationError as error:
        line_of = partial(line_at, node)
        raise InputError(describe(error, _owner, values, where, line_of)) from None


def _owner(place: Place) -> type[BaseModel]:
    """Return the class whose keys are allowed at a place."""
    parts: dict[str | int, type[BaseModel]] = {
        "relevance_analysis": RelevanceAnalysis,
        "local_perturbation_analysis": LocalPerturbationAnalysis,
    }
    return parts.get(place[0], Benchmark) if place else Benchmark
