"""Which methods a study asks of a model, with layers, heads, targets and seeds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sightline.core import InputError, UnknownNameError
from sightline.core.choices import get_scoring_sign
from sightline.study.plan.sources import Source

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sightline.attribution.methods import Method
    from sightline.models import Model
    from sightline.study import MethodEntry, ModelEntry, Study
    from sightline.study.worker.model_cache import Shelf

__all__ = ["LeftOut", "method_sources", "model_name", "variant_name"]

# Targets that are no classes, though only a model with classes has them.
_WORDS = ("predicted", "label")


class LeftOut(NamedTuple):
    """A method that does not fit a model."""

    model: str
    method: str
    why: str


def model_name(study: Study, entry: ModelEntry) -> str:
    """Return what rows call a model: of weights in a folder, the folder's name, not its path.

    The whole path where the names of two folders are the same.
    """

    def short(one: ModelEntry) -> str:
        kind, colon, place = one.model.partition(":")
        named = colon and kind == "hf" and Path(place).is_absolute()
        return f"hf:{Path(place).name}" if named else one.model

    alone = [short(other) for other in study.models if other.variant == entry.variant]
    return short(entry) if alone.count(short(entry)) == 1 else entry.model


def variant_name(study: Study, entry: ModelEntry) -> str:
    """Return what rows call a variant: of one in a folder, the folder's name, not its path.

    The whole path where the names of two folders of one model are the same.
    """

    def short(one: ModelEntry) -> str:
        return Path(one.variant).name or one.variant

    alone = [short(other) for other in study.models if other.model == entry.model]
    return short(entry) if alone.count(short(entry)) == 1 else entry.variant


def method_sources(
    study: Study, entry: ModelEntry, shelf: Shelf, batches: Mapping[str, int]
) -> tuple[list[Source], list[LeftOut]]:
    """Return the sources of one model, and the methods that do not fit it."""
    from sightline.attribution.methods.make import usual_method

    fit = entry.fit or study.fit
    try:
        model = shelf.model(entry.full, fit)
    except (InputError, UnknownNameError) as error:
        raise InputError(f"models: {error}") from error
    base = Source(
        "model",
        model_name(study, entry),
        "",
        variant=variant_name(study, entry),
        fit=fit,
        weights=model.digest,
        device=shelf.device,
        load=entry.full,
    )
    size = study.batch or _steady_batch(model)
    base = replace(base, batch=min(size, batches.get(base.name, size)))
    found: list[Source] = []
    left_out: list[LeftOut] = []
    means = []
    for method in study.methods:
        if method.given or (method.models is not None and entry.full not in method.models):
            continue
        card = _card(method)
        left_out += _not_asked(study, card, model, base.name)
        if all(_lacking(card, model, target) for target in study.targets):
            continue
        if card.of_maps is not None:
            means.append((method, card))
        else:
            found += _sources(study, method, card, model, base)
    for method, card in means:  # after the sources that they are made of
        of = card.with_defaults(method.params)["of"] or usual_method(model)
        below = [source for source in found if source.method == of]
        if not below:
            why = f"is made of the maps of {of}, which the study does not have of this model"
            left_out.append(LeftOut(base.name, method.name, why))
        found += _means(study, method, card, below)
    return found, left_out


def _not_asked(study: Study, card: Method, model: Model, name: str) -> list[LeftOut]:
    """Return what keeps a method from a model, or from some of the study's targets."""
    lacking = [_lacking(card, model, target) for target in study.targets]
    if all(lacking):
        least = min(lacking, key=len)
        return [LeftOut(name, card.name, f"needs {' and '.join(least)}")]
    return [
        LeftOut(name, f"{card.name} of target {target}", f"needs {' and '.join(one)}")
        for target, one in zip(study.targets, lacking, strict=True)
        if one
    ]


def _lacking(card: Method, model: Model, target: str | int) -> list[str]:
    """Return what a model lacks for a method that is to explain a target."""
    from sightline.attribution.methods.detections import lacking_for

    return lacking_for(card, model, target)


def _card(method: MethodEntry) -> Method:
    """Return what is known of a method, which must take the parameters that are given."""
    from sightline.attribution.methods import METHODS

    try:
        card = METHODS[method.name]
        card.with_defaults(method.params)
    except (InputError, UnknownNameError) as error:
        raise InputError(f"methods: {error}") from error
    return card


def _steady_batch(model: Model) -> int:
    """Return how many images a pass may hold: the same on a machine, whatever else it does."""
    from sightline.models.memory import choose_batch, total_memory

    inputs = model.prepare(np.zeros((64, 64, 3), np.uint8))
    memory = total_memory(model.device)
    return choose_batch(model, inputs.pixels, gradients=True, memory=memory)


def _sources(
    study: Study, method: MethodEntry, card: Method, model: Model, base: Source
) -> Iterator[Source]:
    params = card.with_defaults(method.params)
    layers: tuple[int | None, ...] = (None,)
    if card.layered:
        try:
            layers = model.layer_indices(study.layers)
        except InputError as error:
            raise InputError(f"layers: {error}") from error
    for target in _targets(study, card, model):
        for seed in _seeds(study, card):
            drawn = {} if seed is None else {"seed": seed}
            yield replace(
                base,
                method=method.name,
                group=card.group,
                params={**params, **drawn},
                layers=layers,
                heads=_heads(study, card, model),
                target=target,
                seed=seed,
                sign=study.sign or get_scoring_sign(card.sign),
                key=f"{method.name} {target} {seed}",  # until it is sealed
            )


def _heads(study: Study, card: Method, model: Model) -> tuple[int | None, ...]:
    """Return the heads that have maps; beside single ones always the fused one."""
    if study.heads is None or not card.headed:
        return (None,)
    try:
        heads = model.head_indices(study.heads)
    except InputError as error:
        raise InputError(f"heads: {error}") from error
    return (None, *heads)


def _targets(study: Study, card: Method, model: Model) -> Iterator[str]:
    """Yield what is explained, as rows name it; those that the model has all for."""
    if not card.explains:
        yield ""
        return
    fitting = [one for one in study.targets if not _lacking(card, model, one)]
    if model.detects and "predicted" in fitting:  # which is its detection
        fitting = [one for one in fitting if one != "detection"]
    # A class may be there by its name and by its number.
    yield from dict.fromkeys(_target(target, model) for target in fitting)


def _target(target: str | int, model: Model) -> str:
    from sightline.attribution.methods.targets import needs_classes

    if target in _WORDS or not needs_classes(target):
        return str(target)
    try:
        number = model.class_index(target)
    except (InputError, UnknownNameError) as error:
        raise InputError(f"targets: {error}") from error
    name = model.classes[number]
    clear = model.classes.count(name) == 1 and name not in _WORDS and needs_classes(name)
    return name if clear else str(number)


def _seeds(study: Study, card: Method) -> tuple[int | None, ...]:
    return study.seeds if "seed" in card.params else (None,)


def _means(
    study: Study, method: MethodEntry, card: Method, below: list[Source]
) -> Iterator[Source]:
    """Yield the mean maps of the sources of one method."""
    if study.keep_maps != "grid":
        raise InputError(
            f"methods: {method.name} is made of maps that are kept: keep_maps must be grid, "
            f"got {study.keep_maps}"
        )
    for source in below:
        yield replace(
            source,
            kind="mean",
            method=method.name,
            group=card.group,
            params={"of": source.method},
            of=source.key,
            key=f"{method.name} {source.key}",
        )
