"""Images of a store with maps over them: which ones, and what is on them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sightline.core import InputError, UnknownNameError
from sightline.report._figure_data import direction_of, labelled_images
from sightline.results._views import full_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from sightline.report._lines import Lines
    from sightline.report.figures import Choice, StoreFigures
    from sightline.results._lines import Line
    from sightline.results.map_reader import LineMaps

__all__ = [
    "Examples",
    "MapView",
    "Pictures",
    "Shown",
    "maps_missing",
    "pictures_missing",
    "said",
    "signs_of",
]

# Longer side of the raster on which maps are drawn where they were not scored on pixels, or on
# more of them than can be seen.
_DRAWN, _MOST = 512, 1024
_LEAST, _SEVERAL = 3, 5


class Examples(NamedTuple):
    """Images on which a line does best, middling and worst; ids."""

    best: str
    median: str
    worst: str


class Shown(NamedTuple):
    """An image that is shown.

    Attributes
    ----------
    image
        Its id.
    why
        What it is an example of.
    """

    image: str
    why: str


class MapView(NamedTuple):
    """A map over its image.

    Attributes
    ----------
    values : array (rows, columns)
        NaN where they do not count: the model did not look, or pixels are marked to be ignored.
    mask : array (rows, columns)
        What is annotated.
    sign : str
        How values are read.
    note : str
        What a reader of numbers must know: whether they are those of the scores.
    """

    values: NDArray[Any]
    mask: NDArray[np.bool_]
    sign: str
    note: str = ""


def maps_missing(store: StoreFigures) -> str:
    """Say why maps cannot be had; empty where they can."""
    if not len(store.lines()):
        return "no scores are stored"
    if store.results.study.get("keep_maps") == "none" and not _all_given(store):
        return "the study kept no maps (keep_maps: none)"
    _ = store.scenes  # raises where data are gone
    return ""


def _all_given(store: StoreFigures) -> bool:
    return all(one.get("maps") for one in store.results.manifest["sources"])


def pictures_missing(store: StoreFigures) -> str:
    """Say why images with maps over them cannot be drawn; empty where they can."""
    why = maps_missing(store)
    if not why:
        store.pictures.image(store.examples().median)  # raises where there is no file
    return why


class Pictures:
    """Images of a store with maps over them.

    Parameters
    ----------
    store
        The figures of the store.
    """

    def __init__(self, store: StoreFigures) -> None:
        self.store = store

    def image(self, image: str) -> NDArray[np.uint8]:
        """Return an image of the data set; a large one with fewer pixels."""
        return self._read(image)[0]

    def _read(self, image: str) -> tuple[NDArray[np.uint8], int]:
        """Return an image as it is drawn, and the longer side it has in its file."""
        self._require(image)
        sample = self.store.scenes.dataset.by_id(image)
        return self.store.kept(("image", image), lambda: _reduced(sample.image()))

    def _require(self, image: str) -> None:
        """Refuse an image that is not stored."""
        known = self.store.scenes.images
        if image not in known:
            from difflib import get_close_matches

            close = get_close_matches(image, known, n=3)
            hint = f"; nearest: {', '.join(close)}" if close else ""
            raise UnknownNameError(f"no image {image!r} is stored{hint}")

    def map_of(self, line: Line, image: str, *, scored: bool = False) -> MapView:
        """Return the map of a line on one image, over the image.

        Parameters
        ----------
        line, image
            Which map.
        scored
            Whether numbers will be read off it: it is then on the very cells on which it was
            scored, if these lie over the whole image, so that the numbers are the scores. Else
            there are cells enough for smooth edges.
        """
        key = "map", line, image, scored
        return self.store.kept(key, lambda: self._map_of(line, image, scored=scored))

    def _map_of(self, line: Line, image: str, *, scored: bool) -> MapView:
        self._require(image)
        scenes = self.store.scenes
        rule = scenes.scoring.resolution
        side = rule if isinstance(rule, int) else self._read(image)[1]
        on_grid = rule == "grid"
        seeds = len(scenes.seeds(line))
        drawn = f"map of the first of {seeds} seeds, scores are means over all" * (seeds > 1)
        if scored if on_grid else side <= _MOST:
            found = scenes.first_maps(line, images=[image])
            if not on_grid or _over_image(found):
                rows, columns = found.maps[0].shape
                cells = f"on the {rows} × {columns} cells that were scored" if on_grid else ""
                return _view(found, cells, drawn)
        found = scenes.first_maps(line, images=[image], resolution=min(side, _DRAWN))
        what = "cells of the model" if on_grid else "all pixels"
        return _view(found, f"scores are those of {what}: numbers here can differ", drawn)

    def scores(self, lines: Lines, image: str) -> pd.DataFrame:
        """Return the score of lines on one image."""
        key = ("scores", lines.lines, lines.names, lines.lead)
        values = self.store.kept(key, lambda: lines.values(lines.lead))
        found = values[values["image"] == image].reset_index(drop=True)
        found.insert(list(found).index("value"), "metric", str(lines.lead))
        return found

    def chosen(self, choice: Choice) -> tuple[Lines, str]:
        """Return the line and the image that a figure of one map is about."""
        line = self.store.lines(choice).best()
        return line, choice.image or self.examples(choice).median

    def examples(self, choice: Choice) -> Examples:
        """Return the images on which a line does best, middling and worst."""
        line = self.store.lines(choice).best()
        ordered = _ordered(line.values(line.lead), str(line.lead))
        if not ordered:
            raise InputError(f"{line.names[0]}: no score of {line.lead} is defined on any image")
        return Examples(ordered[0], ordered[(len(ordered) - 1) // 2], ordered[-1])

    def figure_one(self) -> list[Shown]:
        """Return three to five images that show diverse cases; see `StoreFigures.figure_one`."""
        known = self.store.predictions() if labelled_images(self.store) else None
        judged = [] if known is None else self._judged(known[known["correct"].notna()])
        if judged:
            return judged
        line = self.store.lines().best()
        metric = str(line.lead)
        labels = self._labels()
        examples = _of_classes(_ordered(line.values(line.lead), metric), labels)
        return [
            Shown(
                image,
                _joined(labels.get(image, ""), f"{said(what, metric)} {metric} of {line.names[0]}"),
            )
            for what, image in examples
        ]

    def _labels(self) -> dict[str, str]:
        found = self.store.results._tables.fetch("SELECT image, labels FROM images")
        return {image: ", ".join(labels) for image, labels in found}

    def _judged(self, known: pd.DataFrame) -> list[Shown]:
        """Return images that the best classifier takes right and wrong, of several classes."""
        lines = self.store.lines()
        models = set(known["model"])
        asked = lines.pick(i for i, one in enumerate(lines.lines) if one.model in models)
        if not len(asked):
            return []
        line = asked.best()
        model = line.lines[0].model
        table = known[known["model"] == model]
        scores = line.values(line.lead).set_index("image")["value"]
        table = table.assign(score=scores.reindex(table["image"]).to_numpy())
        chosen = _diverse(table[table["score"].notna()])
        return [Shown(row["image"], _told(row, model)) for row in chosen]


def _over_image(found: LineMaps) -> bool:
    """Say whether cells lie over an image, all of it and nothing else: neither cut nor padded."""
    view: Any = found.views[0]
    _, left_out, seen = view
    return not left_out and seen == (0, 0, 1, 1)


def _view(found: LineMaps, *notes: str) -> MapView:
    """Return the one map that was read."""
    values, ignore = found.maps[0], found.ignore[0]
    if ignore is not None:
        values = np.where(ignore, np.nan, values)
    return MapView(values, found.masks[0], found.sign, "; ".join(one for one in notes if one))


def said(what: str, metric: str) -> str:
    """Return what an example is called; where no value is better, none is the best.

    >>> said("best", "iou@90"), said("near the worst", "entropy")
    ('best', 'near the lowest')
    """
    if direction_of(metric) != "neither":
        return what
    return what.replace("best", "highest").replace("worst", "lowest")


def signs_of(store: StoreFigures, lines: Lines) -> list[str]:
    """Return how the values of the maps of lines are read."""
    found = {
        (full_name(one), one["method"]): one["sign"] for one in store.results.manifest["sources"]
    }
    return [found[line.model, line.picks[0].method] for line in lines.lines]


def _reduced(picture: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], int]:
    """Return a picture with no more pixels than are drawn, and its longer side before."""
    from PIL import Image

    height, width = picture.shape[:2]
    longer = max(height, width)
    if longer <= _MOST:
        return picture, longer
    scale = _MOST / longer
    size = max(1, round(width * scale)), max(1, round(height * scale))
    return np.asarray(Image.fromarray(picture).resize(size, Image.Resampling.LANCZOS)), longer


def _ordered(values: pd.DataFrame, metric: str) -> list[str]:
    """Return images with a defined score, the best first, equal ones by their names."""
    known = values[values["value"].notna()].sort_values("image")
    lower = direction_of(metric) == "lower"
    return [
        str(image) for image in known.sort_values("value", ascending=lower, kind="stable")["image"]
    ]


def _of_classes(ordered: Sequence[str], labels: dict[str, str]) -> list[tuple[str, str]]:
    """Return the best, a middling and the worst image, each of a class of its own if there are."""
    places = {"best": 0, "worst": len(ordered) - 1, "median": (len(ordered) - 1) // 2}
    seen: set[str] = set()
    found: dict[str, tuple[str, str]] = {}
    for what, place in places.items():
        taken = [image for _, image in found.values()]
        near = sorted(range(len(ordered)), key=partial(_apart, place))
        free = [i for i in near if ordered[i] not in taken]
        other = [i for i in free if labels.get(ordered[i], "") not in seen]
        for i in (other or free)[:1]:
            found[what] = (what if i == place else f"near the {what}"), ordered[i]
            seen.add(labels.get(ordered[i], ""))
    return [found[what] for what in ("best", "median", "worst") if what in found]


def _apart(place: int, other: int) -> tuple[int, int]:
    """Return how far two places are apart; of two the first comes first."""
    return abs(other - place), other


def _diverse(table: pd.DataFrame) -> list[dict[Any, Any]]:
    """Return three to five answers, up to two of them wrong, classes apart as far as they go.

    Of each class and kind it is the image whose score is nearest to the median. Where these are
    fewer than three, those with the highest and the lowest scores of the others stand beside them.
    """
    right, wrong = table[table["correct"].astype(bool)], table[~table["correct"].astype(bool)]
    classes = sorted(table["label"].unique())
    missed = _middling(wrong, classes, 2, set())
    used = {row["label"] for row in missed}
    found = _middling(right, classes, _SEVERAL - max(len(missed), 1), used) + missed
    taken = {row["image"] for row in found}
    others = table[~table["image"].isin(taken)].sort_values(["score", "image"])
    spare = others.to_dict("records")
    ends = [*spare[-1:], *spare[:-1]]
    return [*found, *ends[: max(0, _LEAST - len(found))]]


def _middling(
    table: pd.DataFrame, classes: Iterable[str], most: int, used: set[str]
) -> list[dict[Any, Any]]:
    """Return the middling image of each class, classes that were used behind the others."""
    found: list[dict[Any, Any]] = []
    for label in sorted(classes, key=lambda one: one in used):
        rows = table[table["label"] == label].sort_values(["score", "image"])
        if len(rows):
            found.append(rows.iloc[(len(rows) - 1) // 2].to_dict())
    return found[:most]


def _told(row: dict[Any, Any], model: str) -> str:
    said = "right" if row["correct"] else f"taken for {row['predicted']}"
    return f"{row['label']}, {said} ({row['probability']:.0%}) by {model}"


def _joined(*parts: str) -> str:
    return ", ".join(part for part in parts if part)
