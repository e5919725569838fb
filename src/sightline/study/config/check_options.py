"""The section `checks` of a study: which checks of its maps, and with which options."""

# Annotations are read when the classes are made, so they are not put off.
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from sightline.attribution.sanity.table import CHECKS, Measure, Way
from sightline.core import SightlineError
from sightline.study.config import fields
from sightline.study.config.part import Part
from sightline.study.config.problems import found_problems, problem, shown

__all__ = [
    "CheckedLayer",
    "Checks",
    "FaithfulnessCheck",
    "MapCheck",
    "PartsCheck",
    "RandomisationCheck",
]

_RANDOMISED = CHECKS["randomisation"].options
_REMOVED = CHECKS["faithfulness"].options
_MOST = 4096  # images
_STEPS = 100  # of a curve: its points are named by whole percents

_DISTINCT = AfterValidator(fields.without_repeats)
_LISTED = BeforeValidator(fields.listed, json_schema_input_type=str | list[str])
_Names: TypeAlias = Annotated[tuple[str, ...], _LISTED, _DISTINCT] | None
_Images: TypeAlias = Annotated[int, Field(ge=2, le=_MOST)]


class CheckedLayer(Part):
    """A layer that a leaderboard reported, chosen to be checked.

    Examples
    --------
    >>> CheckedLayer(model="demo/vit", method="cls", layer=9).target
    ''
    """

    model: str = Field(min_length=1, description="Full name of the model, as in the results")
    method: str = Field(min_length=1, description="Name of the method")
    target: str = Field(default="", description="What maps explain; empty for those of no class")
    layer: Annotated[int, Field(ge=0, le=fields.INDEX)] = Field(description="Layer, from 0")


class MapCheck(Part):
    """What all checks share: which maps are checked."""

    methods: _Names = Field(
        default=None, description="Only these of the study's methods; null for all"
    )
    models: _Names = Field(
        default=None, description="Only these of the study's models, by full name; null for all"
    )
    layers: Annotated[
        Literal["best", "last", "all"] | tuple[int, ...],
        BeforeValidator(
            fields.read_checked_layers,
            json_schema_input_type=Literal["best", "last", "all"] | int | list[int] | None,
        ),
    ] = Field(
        default="last",
        description="Layers of methods that have some: last or null (of the study's), all, a "
        "number or a list; best: those of best_layers alone",
    )
    best_layers: Annotated[
        tuple[CheckedLayer, ...],
        BeforeValidator(fields.listed, json_schema_input_type=list[CheckedLayer]),
    ] = Field(
        default=(),
        description="Layers that the leaderboard reported, checked as well: `sightline sanity RUN` "
        "chooses and writes them",
    )

    @model_validator(mode="after")
    def _has_best(self) -> Self:
        if self.layers == "best" and not self.best_layers:
            text = (
                "best is chosen by scores, which a study has only after its run: write last, all "
                "or numbers of layers here, run the study, and `sightline sanity RUN` checks the "
                "best layers"
            )
            raise problem(text, "layers")
        for place, layer in enumerate(self.best_layers):
            if layer in self.best_layers[:place]:
                raise problem(f"{layer} is there twice", "best_layers", place)
        return self

    def select_best_layers(self, model: str, method: str, target: str) -> tuple[int, ...]:
        """Return the layers that were chosen for one configuration; none where none were.

        Maps that explain no class are there under an empty target, whatever they are measured by.
        """
        own = [one for one in self.best_layers if (one.model, one.method) == (model, method)]
        exact = tuple(one.layer for one in own if one.target == target)
        return exact or tuple(one.layer for one in own if not one.target)


class RandomisationCheck(MapCheck):
    """Whether maps change when what the network learnt is replaced by random numbers."""

    ways: Annotated[
        tuple[Way, ...],
        BeforeValidator(fields.listed, json_schema_input_type=Way | list[Way]),
        _DISTINCT,
    ] = Field(
        default=_RANDOMISED["ways"],
        description="full (all at once), top-down, bottom-up (stage by stage), single (each alone)",
    )
    seeds: Annotated[int, Field(ge=1, le=1000)] = Field(
        default=_RANDOMISED["seeds"],
        description="How many times the network is drawn; fewer than 5 tell little",
    )
    images: _Images = Field(
        default=_RANDOMISED["images"], description="How many of the study's images; all if fewer"
    )


class FaithfulnessCheck(MapCheck):
    """Whether the score of the class changes when pixels go that a map ranks first."""

    measures: (
        Annotated[
            tuple[Measure, ...],
            BeforeValidator(fields.listed, json_schema_input_type=Measure | list[Measure]),
            _DISTINCT,
        ]
        | None
    ) = Field(default=None, description="Which measures; null for all")
    steps: Annotated[int, Field(ge=2, le=_STEPS)] = Field(
        default=_REMOVED["steps"], description="In how many steps pixels are changed"
    )
    images: _Images = Field(
        default=_REMOVED["images"], description="How many of the study's images; all if fewer"
    )


class PartsCheck(MapCheck):
    """Whether maps rank first the drawn parts whose removal changes the class; facades alone."""

    images: _Images = Field(
        default=CHECKS["parts"].options["images"],
        description="How many of the study's images; all if fewer",
    )


def _or_none(of: Any) -> BeforeValidator:
    """Return what has a file's schema know no null: what is not asked for is left out."""
    return BeforeValidator(lambda value: value, json_schema_input_type=of)


class Checks(Part):
    """The checks of a study's maps; none unless asked for.

    Examples
    --------
    >>> Checks.model_validate(["randomisation"]).randomisation.seeds
    5
    """

    randomisation: Annotated[RandomisationCheck | None, _or_none(RandomisationCheck)] = Field(
        default=None, description=CHECKS["randomisation"].about
    )
    faithfulness: Annotated[FaithfulnessCheck | None, _or_none(FaithfulnessCheck)] = Field(
        default=None, description=CHECKS["faithfulness"].about
    )
    parts: Annotated[PartsCheck | None, _or_none(PartsCheck)] = Field(
        default=None, description=CHECKS["parts"].about
    )

    @model_validator(mode="before")
    @classmethod
    def _from_names(cls, value: Any) -> Any:
        if value is None or isinstance(value, Checks):
            return {} if value is None else value
        if isinstance(value, Mapping):
            for name, options in value.items():
                if options is None and name in CHECKS:
                    text = (
                        "expected a mapping of options, {} for the usual ones, got nothing (null)"
                    )
                    raise problem(text, name)
            return value
        return {name: {} for name in _known(fields.listed(value))}

    @model_serializer(mode="wrap")
    def _asked_alone(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Omit checks that were not requested, and best layers where none were chosen."""
        found = {name: one for name, one in handler(self).items() if one is not None}
        for options in found.values():
            if not options["best_layers"]:
                del options["best_layers"]
        return found

    def asked(self) -> Iterator[tuple[str, MapCheck]]:
        """Yield the checks that are asked for, with their names."""
        for name in CHECKS:
            if (one := getattr(self, name)) is not None:
                yield name, one

    def __bool__(self) -> bool:
        return any(True for _ in self.asked())


def _known(names: tuple[Any, ...]) -> tuple[str, ...]:
    """Return names of checks, each of them known."""
    for place, name in enumerate(names):
        if not isinstance(name, str):
            raise problem(f"expected the name of a check, got {shown(name)}", place)
        try:
            CHECKS[name]
        except SightlineError as error:
            raise found_problems([((place,), str(error))]) from None
    return fields.without_repeats(names) if names else ()
