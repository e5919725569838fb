"""Figures of single images, and of images that are examples."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sightline.core import InputError
from sightline.figures.style import shown
from sightline.report._figure_data import (
    OF_LINE,
    OF_SCORES,
    Feed,
    layers_missing,
    told,
    told_one,
)
from sightline.report._lines import choose_lines
from sightline.report._pictures import pictures_missing, said, signs_of
from sightline.report.words import score_words

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    from matplotlib.figure import Figure

    from sightline.report._lines import Lines
    from sightline.report._pictures import MapView
    from sightline.report.figures import Choice, Drawn, StoreFigures

__all__ = ["FEEDS"]

_OF_MAP = (*OF_SCORES, "image")
_TILES = 16
_SIGNED = "its maps are scored with their signs, and energy below zero has no meaning"


def _all_methods(store: StoreFigures, choice: Choice) -> Drawn:
    from sightline.figures.images import visualize_all_methods
    from sightline.report.figures import Drawn

    every = store.lines(choice)
    plain = every.shown(baselines=0)
    drawn = every.shown(baselines=max(1, _TILES - len(plain)))
    image = choice.image or store.examples(choice).median
    table = store.pictures.scores(drawn, image)
    drawn = drawn.pick(i for i, name in enumerate(drawn.names) if name in set(table["name"]))
    if not len(drawn):
        raise InputError(f"no map of image {image!r} is stored")
    views = {
        label: store.pictures.map_of(line, image)
        for label, line in zip(drawn.labels, drawn.lines, strict=True)
    }
    labels = dict(zip(drawn.names, drawn.labels, strict=True))
    notes = {labels[row["name"]]: score_words(row) for row in table.to_dict("records")}
    figure = visualize_all_methods(
        store.pictures.image(image),
        {name: view.values for name, view in views.items()},
        next(iter(views.values())).mask,
        signs={name: view.sign for name, view in views.items()},
        notes=notes,
        head=_head(store, image),
    )
    _write_selection(figure, drawn)
    return Drawn(figure, table, f"{image}; {told(drawn, every)}")


def _write_selection(figure: Figure, lines: Lines) -> None:
    """Say below a figure of images how the layers that it names were chosen, if they were."""
    from sightline.figures.style import write_footnote

    if lines.selection:
        write_footnote(figure, f"{lines.selection}.")


def _head(store: StoreFigures, image: str) -> str:
    """Return what an image is called in a heading."""
    labels = store.scenes.dataset.by_id(image).labels
    return " · ".join([shown(image, 60), *([shown(", ".join(labels), 60)] if labels else [])])


def _attribution(store: StoreFigures, choice: Choice) -> Drawn:
    from sightline.figures.images import visualize_attribution_enhanced

    return _one_map(store, choice, visualize_attribution_enhanced)


def _pointing(store: StoreFigures, choice: Choice) -> Drawn:
    from sightline.figures.examples import create_pointing_game_visualization

    return _one_map(store, choice, create_pointing_game_visualization)


def _one_map(store: StoreFigures, choice: Choice, draw: Callable[..., Figure]) -> Drawn:
    """Draw the map of a line on one image, with all its scores."""
    from sightline.report.figures import Drawn

    line, image = store.pictures.chosen(choice)
    view = store.pictures.map_of(line.lines[0], image, scored=True)
    figure = draw(
        store.pictures.image(image), view.values, view.mask, name=line.labels[0], sign=view.sign
    )
    _write_selection(figure, line)
    return Drawn(figure, _metrics_of(store, line, image), told_one(line, image, view.note))


def _metrics_of(store: StoreFigures, line: Lines, image: str) -> pd.DataFrame:
    """Return all scores of a line on one image."""
    import pandas as pd

    found = store.results.image(image)
    one = line.lines[0]
    half = store.scenes.halves[image] if one.split else 0
    pick = one.picks[half]
    model = found["model"] + found["variant"].map(lambda text: f"@{text}" if text else "")
    same = (model == one.model) & (found["method"] == pick.method)
    same &= (found["target"] == pick.target) & found["region"].isna() & found["head"].isna()
    same &= found["layer"].isna() if pick.layer is None else found["layer"] == pick.layer
    columns = ["name", "value", "chance", "ceiling"]
    table = found[same & (found["check"] == "")][columns].groupby("name", sort=False).mean()
    table = table.reset_index().rename(columns={"name": "metric"})
    table.insert(0, "image", image)
    table.insert(0, "name", line.names[0])
    return pd.DataFrame(table)


def _energy(store: StoreFigures, choice: Choice) -> Drawn:
    from sightline.figures.examples import create_ebpg_visualization
    from sightline.report.figures import Drawn

    line, image = store.pictures.chosen(choice)
    view = store.pictures.map_of(line.lines[0], image, scored=True)
    if view.sign == "signed":
        raise InputError(f"{line.names[0]}: {_SIGNED}")
    scores = None
    if "coverage" in store.results.metrics:
        lines = store.lines(_any_line(choice)).shown()
        scores = lines.board(store.results._tables.name("coverage"))
    figure = create_ebpg_visualization(
        store.pictures.image(image), view.values, view.mask, name=line.labels[0], sign=view.sign,
        scores=scores,
    )  # fmt: skip
    if scores is None:
        _write_selection(figure, line)
    table = _energy_table(line.names[0], image, view, scores)
    return Drawn(figure, table, told_one(line, image, view.note))


def _energy_table(
    name: str, image: str, view: MapView, scores: pd.DataFrame | None
) -> pd.DataFrame:
    """Return the energy inside of the map that is drawn, then the means over images."""
    import pandas as pd

    from sightline.results.energy import energy_curve

    values = np.nan_to_num(view.values)
    energy = np.abs(values) if view.sign == "absolute" else np.maximum(values, 0)
    value, _, chance = energy_curve(energy, view.mask, np.isnan(view.values))[:, -1]
    row = {"name": [name], "image": [image], "value": [value], "chance": [chance]}
    one = pd.DataFrame(row)
    if scores is None:
        return one
    means = scores.drop(columns=["rank", "models"])
    means.insert(1, "image", "")  # over all of them
    table = pd.concat([one, means], ignore_index=True)
    return table[list(means)]


def _energy_missing(store: StoreFigures) -> str:
    why = pictures_missing(store)
    return why or (_SIGNED if signs_of(store, store.lines().best()) == ["signed"] else "")


def _any_line(choice: Choice) -> Choice:
    """Return a choice of all lines of its metric and layer: bars compare methods."""
    return choice._replace(model=None, method=None, target=None, image=None)


def _examples(store: StoreFigures, choice: Choice) -> Drawn:
    import pandas as pd

    from sightline.figures.examples import Example, draw_examples
    from sightline.report.figures import Drawn

    line = store.lines(choice).best()
    found = store.examples(choice)._asdict()
    rows, examples = [], []
    for what, image in found.items():
        view = store.pictures.map_of(line.lines[0], image)
        score = store.pictures.scores(line, image).to_dict("records")[0]
        rows.append({"example": said(what, str(line.lead)), **score})
        labels = ", ".join(store.scenes.dataset.by_id(image).labels)
        called = said(what, str(line.lead))
        caption = " · ".join([f"{called}: {score_words(score)}", *([labels] if labels else [])])
        picture = store.pictures.image(image)
        examples.append(Example(picture, view.values, view.mask, caption, view.sign))
    figure = draw_examples(examples, head=line.labels[0])
    _write_selection(figure, line)
    which = ", ".join(f"{row['example']} {row['image']}" for row in rows)
    return Drawn(figure, pd.DataFrame(rows), told_one(line, which))


def _layer_maps(store: StoreFigures, choice: Choice) -> Drawn:
    from sightline.figures.images import draw_layer_maps
    from sightline.report.figures import Drawn

    line = _layered(store, choice)
    one = line.lines[0]
    if one.layer is None:
        raise InputError(f"{line.names[0]}: its maps are not of layers")
    image = choice.image or store.examples(choice).median
    found = choose_lines(
        store.results, str(line.lead), model=one.model, method=one.method,
        target=one.target or None, layer="all",
    )  # fmt: skip
    every = sorted(found.lines, key=lambda other: other.picks[0].layer or 0)
    names = tuple(str(other.picks[0].layer) for other in every)
    lines = replace(line, lines=tuple(every), names=names, models=(1,) * len(every))
    views = {other.picks[0].layer: store.pictures.map_of(other, image) for other in every}
    table = lines.values(line.lead)
    table = table[table["image"] == image].reset_index(drop=True)
    table = table.assign(name=line.names[0], metric=str(line.lead))
    notes = {int(row["layer"]): score_words(row) for row in table.to_dict("records")}
    first = next(iter(views.values()))
    figure = draw_layer_maps(
        store.pictures.image(image),
        {layer: view.values for layer, view in views.items()},
        first.mask,
        name=line.names[0],
        sign=first.sign,
        notes=notes,
    )
    return Drawn(figure, table, told_one(line, image))


def _layered(store: StoreFigures, choice: Choice) -> Lines:
    """Return the best line whose layer was chosen among several."""
    lines = store.lines(choice._replace(layer=None, image=None))
    some = [place for place, line in enumerate(lines.lines) if line.chosen]
    return lines.pick(some or range(len(lines))).best()


def _layer_maps_missing(store: StoreFigures) -> str:
    return layers_missing(store) or pictures_missing(store)


FEEDS = {
    "all-methods": Feed(_all_methods, pictures_missing, _OF_MAP),
    "attribution": Feed(_attribution, pictures_missing, _OF_MAP),
    "layer-maps": Feed(_layer_maps, _layer_maps_missing, ("metric", *OF_LINE, "image")),
    "pointing-game": Feed(_pointing, pictures_missing, _OF_MAP),
    "energy": Feed(_energy, _energy_missing, _OF_MAP),
    "examples": Feed(_examples, pictures_missing),
}
