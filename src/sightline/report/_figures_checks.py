"""Figures of checks: right and wrong predictions, weights drawn anew, pixels taken away."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from sightline.attribution.sanity.table import CURVES, SIMILARITIES, STAGED, WHOLE
from sightline.core import InputError
from sightline.core.words import counted
from sightline.report._figure_data import OF_LINE, Feed, labelled_images, measure_of, told
from sightline.report._pictures import pictures_missing
from sightline.results._catalogue import BASELINE
from sightline.results._views import full_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from sightline.report._lines import Lines
    from sightline.report.figures import Choice, Drawn, StoreFigures

__all__ = [
    "FEEDS",
    "checked_models",
    "compare_predictions",
    "get_layer",
    "groups_of",
    "named_lines",
    "rows_of_choice",
    "stored_checks",
    "with_keys",
]

_DRAWN = 512
_ROWS = 12  # methods of which pairs of maps are drawn


# --- what is stored ------------------------------------------------------------------------------


def stored_checks(store: StoreFigures) -> dict[str, list[str]]:
    """Return the models of each check that the study asked for; of ways of randomising, too."""
    found: dict[str, dict[str, None]] = {}
    for one in store.results.manifest.get("checks", ()):
        name = full_name(one)
        check, _, rest = str(one["check"]).partition("/")
        for key in (check, f"{check}/{rest.partition('/')[0]}"):
            found.setdefault(key, {})[name] = None
    return {check: list(models) for check, models in found.items()}


def checked_models(store: StoreFigures, card: str) -> list[str]:
    """Return the models of which a figure of one model can be drawn, that of the best line first.

    Parameters
    ----------
    store
        The figures of the store.
    card
        "sanity-check", "cascade" or "removal-curves".
    """
    found = stored_checks(store)
    if card == "sanity-check":
        models = found.get("randomisation", [])
    elif card == "cascade":
        ways = [found.get(f"randomisation/{way}", []) for way in STAGED]
        models = list(dict.fromkeys(one for some in ways for one in some))
    else:
        models = [one for one in found.get("faithfulness", []) if _curves_of(store, one)]
    lines = sorted(store.lines().lines, key=lambda line: line.group == BASELINE)
    order = list(dict.fromkeys(line.model for line in lines))
    places = {name: place for place, name in enumerate(order)}
    return sorted(models, key=lambda one: places.get(one, len(places)))


def _curves_of(store: StoreFigures, model: str) -> list[str]:
    """Return the measures of a model that are curves."""
    found: dict[str, None] = {}
    for one in store.results.manifest.get("checks", ()):
        name = full_name(one)
        if one["check"] == "faithfulness" and name == model:
            found |= dict.fromkeys(one["options"].get("measures") or ())
    return [one for one in CURVES if one in found]


def _not_run(store: StoreFigures, check: str) -> str:
    """Say that a check was not run, where it was not."""
    if check in stored_checks(store):
        return ""
    name = check.partition("/")[0]
    return f"the study ran no check of {name}: `sightline sanity` does"


def named_lines(store: StoreFigures, table: pd.DataFrame) -> pd.DataFrame:
    """Put what figures call a line before a table of model, method, target, layer.

    Lines of the leaderboard keep their names there; what only checks have is called by what tells
    it apart. The layer that was checked, where there is one, ends the name.
    """
    import pandas as pd

    from sightline.figures.lines import line_names

    keys = table[["model", "method", "target"]].astype(str)
    called = store.lines().called
    own = line_names(table[["model", "method", "target"]]) if len(table) else []
    names = []
    rows = zip(keys.itertuples(index=False, name=None), own, table["layer"], strict=True)
    for key, alone, layer in rows:
        name = _name(called, cast("tuple[str, str, str]", key), alone)
        names.append(name if pd.isna(layer) else f"{name} layer {layer}")
    found = table.copy()
    found.attrs = dict(table.attrs)
    if "name" in found:
        found = found.rename(columns={"name": "stage_name"})
    found.insert(0, "name", names)
    return found


def _name(called: Mapping[tuple[str, str, str], str], key: tuple[str, str, str], alone: str) -> str:
    """Return what a line is called; with its model where the leaderboard lacks it, or shares it.

    Baselines that score the same for several models are one line there. Checks ask each model.
    """
    name = called.get(key)
    if name is not None and list(called.values()).count(name) == 1:
        return name
    model, method, target = key
    several = len({one[0] for one in called}) > 1
    full = f"{model} {method}{f' target {target}' if target else ''}"
    return full if several else alone


def groups_of(store: StoreFigures, table: pd.DataFrame) -> list[str]:
    """Return the group of each row's method."""
    manifest = store.results.manifest
    found = {
        str(one["method"]): str(one["group"])
        for one in (*manifest["sources"], *manifest.get("checks", ()))
    }
    return [found.get(str(method), "") for method in table["method"]]


def _one_model(store: StoreFigures, choice: Choice, card: str) -> str:
    """Return the model that a figure of one model is about."""
    models = checked_models(store, card)
    if choice.model is None:
        return models[0]
    if choice.model not in models:
        raise InputError(f"model must be one that was checked ({', '.join(models)}); got "
                         f"{choice.model!r}")  # fmt: skip
    return choice.model


def rows_of_choice(table: pd.DataFrame, choice: Choice, what: str = "checks") -> pd.DataFrame:
    """Return the rows of the method and target of a choice; what rows are of, for messages."""
    kept = np.ones(len(table), np.bool_)
    for column in ("method", "target"):
        wanted = getattr(choice, column)
        if wanted is not None:
            kept &= (table[column] == wanted).to_numpy(np.bool_)
    if not kept.any():
        asked = " ".join(one for one in (choice.model, choice.method, choice.target) if one)
        raise InputError(f"no {what}{f' of {asked}' if asked else ''} are stored yet")
    return table[kept].reset_index(drop=True)


# --- right and wrong -----------------------------------------------------------------------------


def _model_vs_method(store: StoreFigures, choice: Choice) -> Drawn:
    from sightline.figures.checks import create_model_vs_method_analysis
    from sightline.report.figures import Drawn

    known = _known(store)
    every = store.lines(choice)
    models = set(known["model"])
    asked = every.pick(i for i, line in enumerate(every.lines) if line.model in models)
    shown = asked.shown(baselines=0)
    if not len(shown):
        raise InputError(f"{every.where.told()}: no method was applied to a classifier")
    table = shown.values(every.lead).merge(known, on=["model", "image"], how="inner")
    order = {name: place for place, name in enumerate(shown.names)}
    table = table.sort_values("name", key=lambda one: one.map(order), kind="stable")
    table["correct"] = table["correct"].astype(bool)
    table = table.reset_index(drop=True)
    gaps = _differences(store, shown, choice)
    figure = create_model_vs_method_analysis(table, gaps, metric=str(every.lead))
    classifiers = counted(len(models), "classifier")
    return Drawn(figure, table, told(shown, asked.shown(10**6, 0), classifiers))


def compare_predictions(store: StoreFigures, choice: Choice) -> pd.DataFrame | None:
    """Return right minus wrong of each line; None where it is not known which predictions are.

    The figure and the rules of the report both read this table.
    """
    from sightline.results.correctness import correct_and_wrong

    known = store.predictions()
    if known is None or known["correct"].isna().all():
        return None
    layer: Any = choice.layer or "best"
    lead = str(store.lines(choice).lead)
    found: pd.DataFrame = store.kept(
        ("right and wrong", lead, layer),
        lambda: correct_and_wrong(store.results, lead, layer=layer, predictions=known),
    )
    return found


def _differences(store: StoreFigures, shown: Lines, choice: Choice) -> pd.DataFrame | None:
    """Return right minus wrong of the lines that are shown, plain and adjusted."""
    found = compare_predictions(store, choice)
    if found is None:
        return None
    names = {
        (line.model, line.method, line.target): name
        for line, name in zip(shown.lines, shown.names, strict=True)
    }
    keys = found[["model", "method", "target"]].itertuples(index=False, name=None)
    named = found.assign(name=[names.get(key, "") for key in keys])
    return named[named["name"] != ""].reset_index(drop=True)


def _known(store: StoreFigures) -> pd.DataFrame:
    """Return the answers of classifiers of which it is known whether they are right."""
    unlabelled = "its images have no labels that say which predictions are right"
    if not labelled_images(store):
        raise InputError(unlabelled)  # before models are asked
    known = store.predictions()
    if known is None:
        raise InputError("it is not known what models predict, or none of them is a classifier")
    if known["correct"].isna().all():
        raise InputError(unlabelled)
    return known[known["correct"].notna()]


def _model_missing(store: StoreFigures) -> str:
    models = set(_known(store)["model"])
    lines = [line for line in store.lines().lines if line.model in models]
    why = "no method was applied to a classifier"
    return "" if any(line.group != BASELINE for line in lines) else why


# --- weights drawn anew --------------------------------------------------------------------------


def _sanity_check(store: StoreFigures, choice: Choice) -> Drawn:
    from sightline.figures.images import create_sanity_check_comparison
    from sightline.report.figures import Drawn
    from sightline.results.randomised_maps import redrawn_maps, was_redrawn

    model = _one_model(store, choice, "sanity-check")
    measured = store.kept("sanity", lambda: _verdicts(store))
    named = named_lines(store, measured)
    table = rows_of_choice(named[named["model"] == model], choice._replace(model=model))
    image = choice.image or store.examples().median
    table = _select_one_layer(table)
    known = dict(zip(_list_map_keys(table), table["name"], strict=True))
    asked = [one for one in was_redrawn(store.results) if _get_entry_key(one) in known][:_ROWS]
    sample = store.scenes.dataset.by_id(image)
    maps, note = redrawn_maps(store.results, asked, sample, size=_DRAWN, progress=store.progress)
    pairs = {known[one.model, one.method, one.target, one.layer]: one for one in maps}
    if not pairs:
        raise InputError(note or "no model of the study could be run again")
    shown = table[table["name"].isin(pairs)].rename(columns={"similarity": "value", "images": "n"})
    figure = create_sanity_check_comparison(
        store.pictures.image(image),
        {name: one.trained for name, one in pairs.items()},
        {name: one.redrawn for name, one in pairs.items()},
        shown.drop(columns=["model", "method", "target", "layer", "best_layer"]),
        signs={name: one.sign for name, one in pairs.items()},
    )
    more = f"{len(pairs)} of {len(table)} methods" if len(pairs) < len(table) else ""
    about = model, f"maps of {image}, first of {_draws(table)}", more, note
    return Drawn(figure, shown.reset_index(drop=True), "; ".join(one for one in about if one))


def _verdicts(store: StoreFigures) -> pd.DataFrame:
    """Return the verdicts on all lines, of the way of randomising that ends with all weights."""
    from sightline.results.sanity import sanity_table

    found = stored_checks(store)
    way: Any = next((one for one in WHOLE if f"randomisation/{one}" in found), "full")
    return sanity_table(store.results, way=way)


def _draws(table: pd.DataFrame) -> str:
    seeds = table["seeds"].dropna()
    return counted(int(seeds.max()) if len(seeds) else 0, "draw")


def _select_one_layer(table: pd.DataFrame) -> pd.DataFrame:
    """Return verdicts of one layer of each method: the best where it was checked, else the last."""
    best = table["layer"].eq(table["best_layer"]).fillna(value=False)
    order = table.assign(is_best=best).sort_values(["is_best", "layer"], kind="stable")
    kept = order.drop_duplicates(["model", "method", "target"], keep="last").index
    return table.loc[sorted(kept)].reset_index(drop=True)


def _list_map_keys(table: pd.DataFrame) -> list[tuple[Any, ...]]:
    """Return which map each row is about: model, method, target and layer."""
    return [
        (row["model"], row["method"], row["target"], get_layer(row))
        for row in table.to_dict("records")
    ]


def get_layer(row: Mapping[Any, Any]) -> int | None:
    """Return the layer of a row of a table of checks; None of maps without layers."""
    import pandas as pd

    return None if pd.isna(row["layer"]) else int(row["layer"])


def _get_entry_key(entry: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return which map an entry of `was_redrawn` is about."""
    (layer,) = entry["layers"]
    return full_name(entry), entry["method"], entry["target"], layer


def _sanity_missing(store: StoreFigures) -> str:
    return _not_run(store, "randomisation") or pictures_missing(store)


def _cascade(store: StoreFigures, choice: Choice) -> Drawn:
    from sightline.figures.checks import create_cascade_randomization_plot
    from sightline.report.figures import Drawn
    from sightline.results.sanity import cascade_table

    model = _one_model(store, choice, "cascade")
    choice = choice._replace(model=model)
    found = stored_checks(store)
    way: Any = next(one for one in STAGED if model in found.get(f"randomisation/{one}", ()))
    measure: Any = measure_of(store, choice.metric, SIMILARITIES) or "spearman"
    every = store.kept(
        ("cascade", way, measure),
        lambda: cascade_table(store.results, way=way, measure=measure),
    )
    table = rows_of_choice(every[every["model"] == model], choice)
    table = named_lines(store, table)
    table["group"] = groups_of(store, table)
    drawn = table.rename(columns={"similarity": "value", "stage_name": "stage", "images": "n",
                                  "stage": "place"})  # fmt: skip
    drawn = drawn.sort_values("place", kind="stable")
    # One for all lines; of a study that is not finished, they know of other draws.
    drawn["accuracy"] = drawn.groupby("place")["accuracy"].transform("mean")
    figure = create_cascade_randomization_plot(drawn, measure=measure)
    words = f"{model}; weights made random {_WAY_WORDS[way]}; {_draws(table)} of the weights"
    return Drawn(figure, drawn.reset_index(drop=True), words)


_WAY_WORDS = {
    "top-down": "from the output down",
    "bottom-up": "from the input up",
    "single": "in one stage alone",
}


def _cascade_missing(store: StoreFigures) -> str:
    if checked_models(store, "cascade"):
        return ""
    return _not_run(store, "randomisation") or "weights were not made random stage by stage"


# --- pixels taken away ---------------------------------------------------------------------------


def _removal(store: StoreFigures, choice: Choice) -> Drawn:
    import pandas as pd

    from sightline.figures.removal import draw_removal_curves
    from sightline.report.figures import Drawn
    from sightline.results.faithfulness import faithfulness_curves, faithfulness_table

    model = _one_model(store, choice, "removal-curves")
    asked: list[Any] = _curves_of(store, model)
    measure = measure_of(store, choice.metric, asked)
    asked = asked if measure is None else [measure]
    parts = []
    for measure in asked:
        make = partial(faithfulness_curves, store.results, measure)
        some = store.kept(("curves", measure), make)
        parts.append(some[some["model"] == model].assign(measure=measure))
    choice = choice._replace(model=model)
    curves = rows_of_choice(with_keys(pd.concat(parts, ignore_index=True)), choice)
    areas = store.kept("faithfulness", lambda: faithfulness_table(store.results))
    areas = areas[(areas["model"] == model) & areas["measure"].isin(asked)]
    areas = named_lines(store, rows_of_choice(areas, choice))
    curves = named_lines(store, curves).rename(columns={"images": "n"})
    figure = draw_removal_curves(curves, areas)
    images = areas["images"].dropna()
    about = f"{model}; {counted(int(images.max()) if len(images) else 0, 'image')}"
    return Drawn(figure, curves, about)


def with_keys(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with the columns that name lines, empty where it has none."""
    import pandas as pd

    found = table.copy()
    for name, value in (("target", ""), ("layer", pd.NA)):
        if name not in found:
            found[name] = value
    found.attrs = dict(table.attrs)
    return found


def _removal_missing(store: StoreFigures) -> str:
    if checked_models(store, "removal-curves"):
        return ""
    return _not_run(store, "faithfulness") or "no measure of the study is a curve"


FEEDS = {
    "model-vs-method": Feed(_model_vs_method, _model_missing),
    "sanity-check": Feed(_sanity_check, _sanity_missing, (*OF_LINE, "image")),
    "cascade": Feed(_cascade, _cascade_missing, ("metric", *OF_LINE)),
    "removal-curves": Feed(_removal, _removal_missing, ("metric", *OF_LINE)),
}
