"""`sightline models` and `sightline methods`: the commands, and their tables."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import fields
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sightline.cli.options import JsonOption, TablesJsonOption
from sightline.cli.output import add_row, listed, new_table, show, show_json

if TYPE_CHECKING:
    from rich.table import Table

    from sightline.attribution.methods import Method
    from sightline.models import Model, ModelCard
    from sightline.models.families import Family

__all__ = ["show_methods", "show_models"]

_OWN = (
    "One of your own: hf:FOLDER (config.json, model.safetensors), hf:ID of the hub, timm:NAME, "
    "cabrnet:FOLDER (a checkpoint of CaBRNet); "
    "or in Python load_model(network, Description(…))."
)


# --- models --------------------------------------------------------------------------------------


def show_models(
    as_json: TablesJsonOption = False,
) -> None:
    """List the models that can be loaded by name, and the kinds that can be loaded from files."""
    from sightline.models import MODELS
    from sightline.models.detectors import DETECTORS
    from sightline.models.families import FAMILIES

    if as_json:
        models = [describe_model(card) for card in MODELS.values()]
        kinds = {"families": FAMILIES, "detectors": DETECTORS}
        found = {n: [describe_family(*item) for item in kind.items()] for n, kind in kinds.items()}
        show_json({"models": models, **found})
    else:
        families = families_table([*FAMILIES.items(), *DETECTORS.items()])
        show(models_table(MODELS.values()), families)
        show("Next, which methods fit one: sightline methods --model demo/vit")


def models_table(cards: Iterable["ModelCard"]) -> "Table":
    """Return the models by name."""
    table = new_table("Models by name", ["name", "what it is"], ["layers", "input", "accuracy"])
    table.columns[0].no_wrap = True
    table.caption = (
        "Accuracy: share of held-out images whose class is found; k-NN: from the features of the "
        "nearest images.\n–: not known before it is loaded.\n" + _OWN
    )
    for card in cards:
        said = describe_model(card)
        count = said["parameters"]
        weights = f", {count / 1e6:.1f} million weights" if count else ""
        size = "x".join(map(str, said["input"] or ())) or "–"
        what = f"{card.what} ({card.family}{weights})"
        add_row(table, card.name, what, str(said["layers"] or "–"), size, _accuracy(card.figures))
    return table


def _accuracy(figures: dict[str, float]) -> str:
    """Return how often a model is right; for one without classes, what its features tell."""
    if "accuracy_held_out" in figures:
        return f"{figures['accuracy_held_out']:.1%}"
    return f"{figures['knn']:.1%}\n(k-NN)" if "knn" in figures else "–"


def describe_model(card: "ModelCard") -> dict[str, Any]:
    """Return what a card and the configuration beside it know, for JSON; weights are not read."""
    base = card.details.get("base", card.name)  # a variant has no copy of these
    config, processor = (_read(base, file) for file in ("config", "preprocessor_config"))
    classes = _read(card.name, "recipe").get("classes")
    size = processor.get("size")
    return {
        "name": card.name,
        "what": card.what,
        "family": card.family,
        "layers": len(config.get("depths", ())) or config.get("num_hidden_layers"),
        "heads": config.get("num_attention_heads"),
        "input": None if size is None else [size["width"], size["height"]],
        "patch": config.get("patch_size"),
        "classes": classes or list(config.get("id2label", {}).values()) or None,
        "parameters": card.details.get("parameters"),
        "figures": card.figures,
        "command": card.details.get("command"),
    }


def _read(name: str, file: str) -> dict[str, Any]:
    """Return a file of a model that ships; an empty one of others."""
    from sightline.models.cards import DEMO

    path = DEMO / name.removeprefix("demo/") / f"{file}.json"
    found: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    return found


def families_table(families: Iterable[tuple[str, "Family"]]) -> "Table":
    """Return the kinds of networks that are loaded from a folder or the hub."""
    table = new_table(
        "Kinds that hf: loads, by model_type in config.json",
        ["model_type", "name", "attention", "classes", "tokens before the patches"],
    )
    table.columns[0].no_wrap = True
    for kind, family in families:
        said = describe_family(kind, family)
        has = ["yes" if said[name] else "no" for name in ("attention", "classifiers")]
        if family.kind == "detector":
            has[1] = "boxes"
        add_row(table, kind, family.title, *has, ", ".join(said["tokens"]) or "none")
    table.caption = (
        "Without attention over the whole image (CNNs; Swin's is windowed) there are gradients and "
        "class activation.\nClasses: yes, where the folder holds …ForImageClassification; methods "
        "that explain a class need them.\nBoxes: detectors; methods explain a detection, drise is "
        "made for it."
    )
    return table


def describe_family(kind: str, family: "Family") -> dict[str, Any]:
    """Return what a family offers, for JSON."""
    some = SimpleNamespace(num_register_tokens=1)
    names = {"register": "registers"}
    return {
        "model_type": kind,
        "name": family.title,
        "attention": family.kind == "tokens",
        "tokens": [names.get(token, token) for token in family.prefix(some)],
        "classifiers": list(family.classifiers),
    }


# --- methods -------------------------------------------------------------------------------------


def show_methods(
    model: Annotated[
        str | None,
        typer.Option(help="Only the methods that fit this model, and what the others lack."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the methods that make maps: what each shows, what it needs, what it costs."""
    from sightline.models import load_model

    loaded = None if model is None else load_model(model)
    from sightline.attribution.methods import (
        METHODS,  # after models, which name what is not installed
    )

    if as_json:
        show_json([describe_method(card, loaded) for card in METHODS.values()])
    else:
        show(*methods_blocks(METHODS.values(), loaded))


def methods_blocks(cards: Iterable["Method"], model: "Model | None") -> "Iterator[Table | str]":
    """Yield the methods; with a model what it lacks for some, then those that fit it."""
    every = list(cards)
    if model is None:
        yield _shows_table("Methods", every)
        yield _needs_table(every)
        yield "Next, one of them on an image: sightline explain IMAGE --method cls --out map.png"
        return
    counts = {"layers": len(model.layers), "heads": model.heads, "classes": len(model.classes)}
    has = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    yield f"{model.name}: {has}"
    lacking = [
        f"{card.name} (no {', no '.join(card.lacks(model))})" for card in every if card.lacks(model)
    ]
    yield from listed("Do not fit", lacking, None)
    fitting = [card for card in every if not card.lacks(model)]
    yield _shows_table(f"Methods that fit {model.name}", fitting)
    yield _needs_table(fitting)


def _shows_table(title: str, cards: list["Method"]) -> "Table":
    table = new_table(title, ["name", "what the map shows"])
    table.columns[0].no_wrap = True
    for card in _by_group(table, cards):
        params = ", ".join(f"{name}={_word(value)}" for name, value in card.params.items())
        more = [f"Parameters: {params}."] * bool(params) + [f"({card.paper})"] * bool(card.paper)
        add_row(table, card.name, " ".join([card.what, f"Passes: {card.cost}.", *more]))
    table.caption = "Passes: forward passes of the network for one image."
    return table


def _needs_table(cards: list["Method"]) -> "Table":
    columns = ["name", "group", "sign", "maps by", "needs"]
    table = new_table("What they give and need", columns)
    for column in table.columns[:-1]:
        column.no_wrap = True
    table.caption = (
        "Sign: values below zero mean nothing (positive), as much as those above (absolute), or "
        "less than zero (signed)."
    )
    for card in _by_group(table, cards):
        said = describe_method(card)
        needs = [*card.needs, *["gradients"] * card.gradients]
        add_row(table, card.name, card.group, card.sign, ", ".join(said["by"]), ", ".join(needs))
    return table


def _by_group(table: "Table", cards: list["Method"]) -> Iterator["Method"]:
    """Yield methods, with a line between groups."""
    group = cards[0].group if cards else ""
    for card in cards:
        if card.group != group:
            table.add_section()
        group = card.group
        yield card


def _word(value: Any) -> str:
    """Return a value as `--param` reads it."""
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def describe_method(card: "Method", model: "Model | None" = None) -> dict[str, Any]:
    """Return the record of a method, for JSON; with a model, also what that lacks for it."""
    hidden = ("function", "of_maps", "layered", "headed", "needs", "params")
    said = {f.name: getattr(card, f.name) for f in fields(card) if f.name not in hidden}
    said["by"] = ["layer"] * card.layered + ["head"] * card.headed
    said["needs"], said["params"] = list(card.needs), dict(card.params)
    return said if model is None else {**said, "lacks": card.lacks(model)}
