"""Which layer the leaderboard reports, and whether it is the one that was checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sightline.results._lines import make_lines
from sightline.results._views import full_name
from sightline.results.leaderboard import layer_column, with_note

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import pandas as pd

    from sightline.results import Results
    from sightline.study import Study

    Configuration = tuple[str, str, str]

__all__ = [
    "add_best_layers",
    "choose_best_layers",
    "find_best_layers",
    "find_unchecked",
    "format_layer_advice",
]

_SHOWN = 3  # configurations that a note names


def find_best_layers(results: Results, metric: str | None = None) -> dict[Configuration, int]:
    """Return the layer that the leaderboard reports, by model, method and target.

    Parameters
    ----------
    results
        Of a study with scores.
    metric
        Of the leaderboard, its default if not given.

    Returns
    -------
    dict
        Without methods that have no layers.
    """
    tables = results._tables
    entries = make_lines(tables, tables.name(metric), tables.catalogue.where(), "best")
    return {
        (entry.model, entry.method, entry.target): entry.layer
        for entry in entries
        if isinstance(entry.layer, int)
    }


def choose_best_layers(
    study: Study, results: Results, names: Iterable[str], *, alone: bool = False
) -> Study:
    """Return a study whose checks are of the layers that the leaderboard reports.

    A layer that the run has checked already is not chosen again.

    Parameters
    ----------
    study
        With the checks.
    results
        The scores of the study, by the default metric of the leaderboard.
    names
        Which of its checks.
    alone
        Check no other layers. By default those that the study asks for are kept.
    """
    from sightline.study import Study

    values, best = study.to_dict(), find_best_layers(results)
    manifest = results.manifest
    for name in names:
        section = values["checks"][name]
        wanted = _select(best, study, section)
        known = [] if alone else section.get("best_layers", [])
        if not alone and _has_same_maps(section, manifest, name):
            wanted = _select_unchecked(wanted, manifest, name)
        entries = [
            {"model": model, "method": method, "target": target, "layer": layer}
            for (model, method, target), layer in wanted.items()
        ]
        section["best_layers"] = [*known, *(one for one in entries if one not in known)]
        if alone:  # where no map has layers there is nothing to choose
            section["layers"] = "best" if entries else "last"
    return Study.from_dict(values, "checks")


def _select(
    best: Mapping[Configuration, int], study: Study, section: Mapping[str, Any]
) -> dict[Configuration, int]:
    """Return the layers of configurations that a check is about and whose model can be asked."""
    from sightline.attribution.methods import METHODS
    from sightline.study.plan.methods import model_name, variant_name

    models = {
        full_name({"model": model_name(study, one), "variant": variant_name(study, one)})
        for one in study.models
        if section["models"] is None or one.full in section["models"]
    }
    methods = {
        one.name
        for one in study.methods
        if not one.given and METHODS[one.name].of_maps is None
        if section["methods"] is None or one.name in section["methods"]
    }
    return {key: layer for key, layer in best.items() if key[0] in models and key[1] in methods}


def _has_same_maps(section: Mapping[str, Any], manifest: Mapping[str, Any], name: str) -> bool:
    """Return whether a run checks the maps that a section of its study asks for."""
    stored = manifest["study"].get("checks", {}).get(name, {})
    keys = ("methods", "models", "layers", "best_layers")
    return all(stored.get(key, ()) == section.get(key, ()) for key in keys)


def _select_unchecked(
    best: Mapping[Configuration, int], manifest: Mapping[str, Any], name: str
) -> dict[Configuration, int]:
    """Return the layers that a run does not check; nothing of what a check does not fit."""
    checked: dict[Configuration, set[int]] = {}
    for one in manifest.get("checks", ()):
        if one["part"] == name:
            for target in {one["target"], ""}:
                key = full_name(one), one["method"], target
                checked.setdefault(key, set()).update(one["layers"])
    unfit = {
        (one["model"], one["method"].removeprefix(f"{name} of "))
        for one in manifest.get("left_out", ())
        if one["method"].startswith(f"{name} of ")
    }
    return {
        key: layer
        for key, layer in best.items()
        if layer not in checked.get(key, ()) and (key in checked or key[:2] not in unfit)
    }


def add_best_layers(
    table: pd.DataFrame, results: Results, metric: str | None = None
) -> pd.DataFrame:
    """Return a table of checked maps with the layer that the leaderboard reports for them.

    Adds the column `best_layer` after `layer`, and says in the note where the best layer was not
    checked.
    """
    best = find_best_layers(results, metric)
    keys = list(zip(table["model"], table["method"], table["target"], strict=True))
    layers = [best.get(key, best.get((*key[:2], ""))) for key in keys]
    found = table.copy()
    found.attrs = dict(table.attrs)
    found.insert(list(found).index("layer") + 1, "best_layer", layer_column(layers))
    name = str(results._tables.name(metric))
    return with_note(found, str(table.attrs.get("note", "")), *_format_differences(found, name))


def find_unchecked(table: pd.DataFrame) -> list[tuple[str, str, int]]:
    """Return the maps that were not checked on the layer that the leaderboard reports.

    Parameters
    ----------
    table
        As `add_best_layers` returns it.

    Returns
    -------
    list of tuple
        Which maps, in words; the layers that were checked, in words; the best layer.
    """
    found = []
    known = table.dropna(subset="best_layer")
    for (model, method, target), rows in known.groupby(["model", "method", "target"], sort=False):
        layers, best = sorted({int(one) for one in rows["layer"]}), int(rows["best_layer"].iloc[0])
        if best not in layers:
            name = f"{model} {method}{f' ({target})' if target else ''}"
            which = f"layer{'s' * (len(layers) > 1)} {', '.join(map(str, layers))}"
            found.append((name, which, best))
    return found


def _format_differences(table: pd.DataFrame, metric: str) -> Iterator[str]:
    """Yield, for the note of a table, where the best layer was not checked."""
    found = find_unchecked(table)
    for name, layers, best in found[:_SHOWN]:
        yield f"checked on {layers}, the leaderboard's best layer by {metric} is {best}: {name}"
    if len(found) > _SHOWN:
        yield f"{len(found) - _SHOWN} more are not checked on their best layer, see best_layer"
    if found:
        yield format_layer_advice(best for _, _, best in found)


def format_layer_advice(layers: Iterable[int]) -> str:
    """Return the command that checks layers, whichever metric chose them."""
    return f"`sightline sanity RUN --layers {','.join(map(str, sorted(set(layers))))}` checks them"
