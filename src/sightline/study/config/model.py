"""The study and its parts, as frozen values."""

# Annotations are read when the classes are made, so they are not put off.
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    ValidationError,
    ValidationInfo,
    model_validator,
)

from sightline.core import InputError, UnknownNameError
from sightline.core.choices import CHANNELS, SIGNS, Fit, Labelling, Sign, Ties
from sightline.core.limits import MAX_ENTRIES, PARAMETER_LIMITS, read_number
from sightline.data.datasets import DATASETS
from sightline.metrics.selection import PERCENTILES
from sightline.study.config import fields
from sightline.study.config.check_options import (
    CheckedLayer,
    Checks,
    FaithfulnessCheck,
    PartsCheck,
    RandomisationCheck,
)
from sightline.study.config.part import Part
from sightline.study.config.problems import Place, describe, found_problems, shown
from sightline.study.config.validation import (
    check_data,
    check_metrics,
    check_selection,
    check_study,
)

__all__ = ["Data", "Engine", "MethodEntry", "ModelEntry", "Study", "study_schema"]

DEFAULT_METRICS = (
    "coverage",
    "average_precision",
    "auc_roc",
    "relevance_rank",
    "pointing",
    "iou",
    "recall",
)


class Data(Part):
    """Which images and annotations are scored.

    Examples
    --------
    >>> Data(name="facades", count=4, seed=7).annotations
    'given'
    >>> Data.model_validate("photos").name
    'photos'
    """

    name: str = Field(
        description="Which data set: " + ", ".join(DATASETS),
        json_schema_extra={"enum": list(DATASETS)},
    )
    path: str | None = Field(
        default=None,
        min_length=1,
        description="Its folder or file, from the study file's folder; facades, photos have none",
    )
    count: int | None = Field(
        default=None,
        ge=1,
        le=fields.LARGEST,
        description="Facades: how many are drawn. Other data sets: only the first so many images",
    )
    seed: int | None = Field(
        default=None,
        ge=0,
        le=fields.LARGEST,
        description="Facades only: other seeds give other facades",
    )
    labelling: Labelling | None = Field(
        default=None,
        description="Facades only: which instances are annotated, all or one of each part type",
    )
    split: str | None = Field(
        default=None, min_length=1, description="Only the images of this split"
    )
    annotations: Literal["given", "completed", "gold"] = Field(
        default="given",
        description="What maps are scored against: given, what the data set says; completed, what "
        "people made of proposals; gold, what they drew without, on the gold images alone",
    )
    review: str | None = Field(
        default=None,
        min_length=1,
        description="For completed and gold: folder of the review, or a file that `sightline "
        "review export` wrote, from the study file's folder",
    )
    shared_weights: Literal["refuse", "allow"] = Field(
        default="refuse",
        description="What if a model is scored against annotations that it proposed itself",
    )

    @model_validator(mode="before")
    @classmethod
    def _from_name(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _fits(self) -> Self:
        check_data(self)
        return self


class ModelEntry(Part):
    """A model of a study: its name, its variant, and how images are brought to its input.

    Examples
    --------
    >>> ModelEntry.model_validate("demo/vit@seed2").variant
    'seed2'
    """

    model: str = Field(
        min_length=1,
        max_length=1000,
        description="A name that `sightline models` lists, hf:FOLDER, hf:ID of the hub, timm:NAME",
    )
    variant: str = Field(
        default="",
        pattern=fields.VARIANT,
        description="Which variant of it, as behind the @ of model@variant",
    )
    fit: Fit | None = Field(
        default=None,
        description="How images are brought to its input; unless given, as in the study",
    )

    @model_validator(mode="before")
    @classmethod
    def _from_name(cls, value: Any) -> Any:
        entry = {"model": value} if isinstance(value, str) else value
        if not isinstance(entry, Mapping) or "variant" in entry:
            return entry
        if not isinstance(entry.get("model"), str):
            return entry
        model, variant = fields.split_name(entry["model"])
        return {**entry, "model": model, "variant": variant}

    @property
    def full(self) -> str:
        """Its name with the variant: ``model@variant``."""
        return f"{self.model}@{self.variant}" if self.variant else self.model


class MethodEntry(Part):
    """A method of a study, or maps that were made elsewhere.

    Maps made elsewhere have the parameter `maps`, their folder or file. They may have `model`,
    what to call the model in the results, `sign`, how the values are meant, and `channels`, how
    maps of RGB inputs (3, height, width) become one map; nothing else.

    Examples
    --------
    >>> MethodEntry.model_validate("rollout").given
    False
    >>> MethodEntry(name="mine", params={"maps": "heatmaps", "sign": "absolute"}).given
    True
    """

    name: str = Field(
        pattern=fields.METHOD_NAME,
        description="A name that `sightline methods` lists, or any name for maps made elsewhere",
    )
    params: Annotated[dict[str, Any], BeforeValidator(fields.plain_mapping)] = Field(
        default_factory=dict,
        description="Parameters of the method, over its defaults. Maps made elsewhere: maps "
        "(folder or file), model (its name in the results), sign, channels",
    )
    models: (
        Annotated[
            tuple[str, ...],
            BeforeValidator(fields.listed, json_schema_input_type=str | list[str]),
            AfterValidator(fields.without_repeats),
        ]
        | None
    ) = Field(
        default=None, description="Only for these of the study's models, by full name; null for all"
    )

    @model_validator(mode="before")
    @classmethod
    def _from_name(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _fits(self, info: ValidationInfo) -> Self:
        found = _given_problems(self) if self.given else _method_problems(self)
        if info.context is not None and not self.given:
            found += _name_problems(self.name, info.context["methods"])
        if found:
            raise found_problems(found)
        return self

    @property
    def given(self) -> bool:
        """Whether these are maps made elsewhere."""
        return "maps" in self.params


def _given_problems(entry: MethodEntry) -> list[tuple[Place, str]]:
    """Return what does not fit in an entry for precomputed maps."""
    known: dict[str, tuple[str, ...]] = {
        "maps": (),
        "model": (),
        "sign": SIGNS,
        "channels": CHANNELS,
    }
    found: list[tuple[Place, str]] = []
    for key, value in entry.params.items():
        place: Place = ("params", key)
        if key not in known:
            text = f"unknown parameter {key!r} of precomputed maps; known: {', '.join(known)}"
            found.append((place, text))
        elif not isinstance(value, str):
            found.append((place, f"expected text, got {shown(value)}"))
        elif key == "maps" and not value:
            found.append((place, "expected a folder or file of maps, got no text"))
        elif (choices := known[key]) and value not in choices:
            text = f"expected {' or '.join(map(repr, choices))}, got {shown(value)}"
            found.append((place, text))
    if entry.models is not None:
        text = "precomputed maps are not made by the study's models; name theirs in params.model"
        found.append((("models",), text))
    return found


def _method_problems(entry: MethodEntry) -> list[tuple[Place, str]]:
    found: list[tuple[Place, str]] = [
        (("params", name), f"expected at most {limit:,}, got {shown(entry.params[name])}")
        for name, limit in PARAMETER_LIMITS.items()
        if (number := read_number(entry.params.get(name))) is not None and number > limit
    ]
    if "seed" in entry.params:
        text = "the seeds of all methods stand under the study's key seeds"
        found.append((("params", "seed"), text))
    return found


def _name_problems(name: str, known: Mapping[str, Any]) -> list[tuple[Place, str]]:
    try:
        _ = known[name]
    except UnknownNameError as error:
        return [(("name",), str(error))]
    return []


class Engine(Part):
    """What runs the study.

    Examples
    --------
    >>> Engine.model_validate("ray").kind
    'ray'
    """

    kind: Literal["local", "ray"] = Field(
        default="local",
        description="Where: local, in processes on this machine; ray, on a Ray cluster",
    )
    workers: int | None = Field(
        default=None,
        ge=1,
        le=1024,
        description="Processes that share the work; null to choose. Results do not depend on it",
    )
    address: str | None = Field(
        default=None,
        pattern=fields.ADDRESS,
        description="Ray: HOST:PORT of a cluster's head, or auto on a machine of one; null starts "
        "one on this machine",
    )
    gpus: float | None = Field(
        default=None,
        ge=0,
        le=64,
        description="Ray: GPUs that each worker has, .5 for two on one; null: one where --device "
        "is no CPU",
    )

    @model_validator(mode="before")
    @classmethod
    def _from_name(cls, value: Any) -> Any:
        return {"kind": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _fits(self) -> Self:
        given = [key for key in ("address", "gpus") if getattr(self, key) is not None]
        if self.kind == "local" and given:
            raise found_problems([((key,), "is for kind: ray, got kind: local") for key in given])
        return self


def _entries(of: Any, least: int = 1) -> BeforeValidator:
    """Return the reader of a list in which a single entry need not be in a list."""
    some = Annotated[list[of], Field(min_length=least)]
    return BeforeValidator(fields.listed, json_schema_input_type=of | some)


def _read_seeds(value: Any) -> tuple[Any, ...]:
    """Return seeds, or a single one, as a tuple; a range is refused, as it is not expanded."""
    seeds = fields.listed(value)
    for place, seed in enumerate(seeds):
        if isinstance(seed, str) and ".." in seed:
            text = f"expected at most {MAX_ENTRIES:,} whole numbers, one by one, got {shown(seed)}"
            raise found_problems([((place,), text)])
    return seeds


_Whole: TypeAlias = Annotated[int, Field(ge=0, le=fields.LARGEST)]
_Percent: TypeAlias = Annotated[float, Field(ge=0, le=100)]
_DISTINCT = AfterValidator(fields.without_repeats)


class Study(Part):
    """The frozen description of a run: data × models × methods × layers × metrics.

    Wrong values raise `InputError`, which lists all of them.

    Examples
    --------
    >>> study = Study(name="first", data="facades", models="demo/vit", methods=["cls", "rollout"])
    >>> [entry.name for entry in study.methods], study.layers
    (['cls', 'rollout'], 'all')
    """

    name: str = Field(
        pattern=fields.STUDY_NAME,
        description="Name of the study, and of the folder that its results go to",
    )
    data: Annotated[Data, BeforeValidator(lambda data: data, json_schema_input_type=str | Data)] = (
        Field(description="Which images and annotations are scored")
    )
    models: Annotated[tuple[ModelEntry, ...], _entries(str | ModelEntry, least=0)] = Field(
        default=(),
        description="Models that look: names (model@variant) or mappings; none for given maps",
    )
    methods: Annotated[
        tuple[MethodEntry, ...], _entries(str | MethodEntry), AfterValidator(fields.at_least_one)
    ] = Field(description="How maps are made: names or mappings; at least one")
    layers: Annotated[
        Literal["all"] | tuple[int, ...],
        BeforeValidator(
            fields.read_layers, json_schema_input_type=Literal["all"] | int | list[int]
        ),
    ] = Field(
        default="all", description="Layers, from 0; -1 is the last. Of methods that have layers"
    )
    heads: Annotated[
        Literal["all"] | tuple[int, ...] | None,
        BeforeValidator(
            fields.read_heads, json_schema_input_type=Literal["all"] | int | list[int] | None
        ),
    ] = Field(
        default=None, description="Attention heads, one by one; null fuses the heads of a layer"
    )
    targets: Annotated[
        tuple[str | int, ...],
        BeforeValidator(fields.read_targets, json_schema_input_type=str | int | list[str | int]),
        _DISTINCT,
    ] = Field(
        default=("predicted",),
        description="What methods that explain something explain: predicted, label, classes, or "
        "embedding, which needs no classes",
    )
    metrics: Annotated[tuple[str, ...], _entries(str), _DISTINCT, AfterValidator(check_metrics)] = (
        Field(
            default=DEFAULT_METRICS,
            description="metric or metric@threshold (`sightline metrics` lists them)",
        )
    )
    selection: Annotated[
        tuple[str, ...], _entries(str), _DISTINCT, AfterValidator(check_selection)
    ] = Field(
        default=("percentile",),
        description="How pixels are selected: percentile, massNN, mean, matched",
    )
    percentiles: Annotated[
        tuple[int | float, ...],
        BeforeValidator(fields.read_percentiles, json_schema_input_type=_Percent | list[_Percent]),
    ] = Field(
        default=PERCENTILES, description="Percentile p selects the top (100 - p) percent of pixels"
    )
    regions: bool = Field(default=True, description="Score each region too, not only their union")
    resolution: Annotated[
        Literal["grid", "pixels"] | int,
        BeforeValidator(
            fields.read_resolution,
            json_schema_input_type=Literal["grid", "pixels"]
            | Annotated[int, Field(ge=1, le=fields.SIDE)],
        ),
    ] = Field(
        default="grid",
        description="Where maps are scored: on the model's grid, on the image's pixels, or with "
        "this longer side (1 to 4096)",
    )
    sign: Sign | None = Field(
        default=None,
        description="How values are read: positive, absolute, signed; null for each method's own",
    )
    ties: Ties = Field(
        default="share",
        description="Equal pixels at a threshold: share the place, or include them all",
    )
    fit: Fit = Field(default="squash", description="How images are brought to the input of models")
    seeds: Annotated[
        tuple[_Whole, ...], _entries(_Whole), BeforeValidator(_read_seeds), _DISTINCT
    ] = Field(
        default=(0,),
        description="Seeds of methods that draw random numbers; each is a run of its own",
    )
    batch: int | None = Field(
        default=None,
        ge=1,
        le=65536,
        description="Images in a forward pass; null to choose by the machine's memory",
    )
    keep_maps: Literal["grid", "none"] = Field(
        default="grid", description="Whether maps are kept: on the model's grid, or none"
    )
    checks: Annotated[
        Checks,
        BeforeValidator(
            lambda checks: checks, json_schema_input_type=Checks | str | list[str] | None
        ),
    ] = Field(
        default=Checks(),
        description="Checks of the maps: names, or a mapping of names to options",
    )
    engine: Annotated[
        Engine,
        BeforeValidator(
            lambda engine: engine, json_schema_input_type=Literal["local", "ray"] | Engine
        ),
    ] = Field(default=Engine(), description="What runs the study")

    if not TYPE_CHECKING:  # type checkers know the fields, which ** would hide

        def __init__(self, **values: Any) -> None:
            try:
                super().__init__(**values)
            except ValidationError as error:
                raise InputError(describe(error, _owner, values, "study")) from None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        check_study(self)
        return self

    @classmethod
    def from_dict(
        cls,
        values: Mapping[str, Any],
        where: str = "study",
        *,
        line_of: Callable[[Place], int | None] = lambda place: None,
        methods: Mapping[str, Any] | None = None,
    ) -> Self:
        """Return the study that plain values describe.

        Parameters
        ----------
        values : mapping
            Keys and values as in a study file. Relative paths stay as they are.
        where : str
            What messages call it.
        line_of : callable
            Returns the line of a place, for messages about a file.
        methods : mapping, optional
            The methods that there are, by name; unless given, names are not looked up.

        Raises
        ------
        InputError
            If something does not fit; the message lists all problems, with their keys.
        """
        if not isinstance(values, Mapping):
            raise InputError(f"{where}: expected a mapping of keys to values, got {shown(values)}")
        raw = dict(values)
        try:
            made: Self = cls.__pydantic_validator__.validate_python(
                raw,
                self_instance=cls.__new__(cls),
                context=None if methods is None else {"methods": methods},
            )
        except ValidationError as error:
            raise InputError(describe(error, _owner, raw, where, line_of)) from None
        return made

    def to_dict(self) -> dict[str, Any]:
        """Return every key with its value, as JSON holds them."""
        return self.model_dump(mode="json")


_PARTS: dict[str | int, type[BaseModel]] = {
    "data": Data,
    "models": ModelEntry,
    "methods": MethodEntry,
    "engine": Engine,
}
_CHECKS: dict[str | int, type[BaseModel]] = {
    "randomisation": RandomisationCheck,
    "faithfulness": FaithfulnessCheck,
    "parts": PartsCheck,
}


def _owner(place: Place) -> type[BaseModel]:
    """Return the class whose keys are allowed at a place."""
    if place and place[0] == "checks":
        if "best_layers" in place:
            return CheckedLayer
        return _CHECKS[place[1]] if len(place) > 1 else Checks
    return _PARTS[place[0]] if place else Study


def study_schema() -> dict[str, Any]:
    """Return the JSON Schema of a study file, for editors and other programs.

    Examples
    --------
    >>> study_schema()["required"]
    ['name', 'data', 'methods']
    """
    schema = Study.model_json_schema(mode="validation")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "Sightline study",
        "description": "What a run of Sightline computes: data, models, methods and metrics.",
    }
