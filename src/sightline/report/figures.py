"""Figures of a store: which can be drawn, and each of them with the numbers that it shows."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from sightline.core import InputError, SightlineError
from sightline.figures.cards import FIGURES
from sightline.report._lines import Lines, choose_lines

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    from matplotlib.figure import Figure

    from sightline.report._pictures import Examples, Pictures, Shown
    from sightline.results import Results
    from sightline.results.map_reader import Scenes

    Progress = Callable[[int, int, str], object]

__all__ = ["Choice", "Drawn", "StoreFigures"]

T = TypeVar("T")


class Choice(NamedTuple):
    """What a figure is about; what is left out is chosen, and said.

    Attributes
    ----------
    metric
        That is drawn, and by which layers are chosen: ``"iou@90"``.
    model, method, target
        Whose maps: full names, see `Results`. Of an evaluation of detections and of a benchmark of
        prototypes, `model` is its name.
    layer
        A number, ``"best"``, ``"split"`` or ``"last"``, see `Results`.
    image
        The id of the image that a figure of one image shows.
    prototype
        The number of the prototype that a figure of one shows.

    Examples
    --------
    >>> Choice(metric="coverage", layer="last").model is None
    True
    """

    metric: str | None = None
    model: str | None = None
    method: str | None = None
    layer: int | str | None = None
    target: str | None = None
    image: str | None = None
    prototype: int | None = None


_ANY = Choice()


class Drawn(NamedTuple):
    """A figure with what it shows.

    Attributes
    ----------
    figure
        Drawn in the house style.
    data
        The numbers in it.
    about
        What was chosen, in a line.
    """

    figure: Figure
    data: pd.DataFrame
    about: str


class StoreFigures:
    """The figures of a store.

    Every figure is about the same maps: of each model and method those of the layer that the main
    metric chose, or the metric of a `Choice`. Where maps were drawn with several seeds, scores are
    means over seeds, and maps that are looked at are those of the first. What was read for one
    figure is kept for the next.

    Parameters
    ----------
    results
        Of the study; must stay open.
    progress
        Told how much is done, of how much, and of what.
    predictions
        Whether classifiers may be run on the images where the store does not know yet what they
        predict.
    """

    def __init__(
        self, results: Results, *, progress: Progress | None = None, predictions: bool = True
    ) -> None:
        self.results = results
        self.progress: Progress = progress or (lambda done, count, what: None)
        self._predict = predictions
        self._lines: dict[tuple[Any, ...], Lines] = {}
        self._kept: dict[Any, Any] = {}

    @staticmethod
    def names() -> list[str]:
        """Return the figures that stores hold the data of, whatever a single store lacks.

        Examples
        --------
        >>> "leaderboard" in StoreFigures.names(), "no-such-figure" in StoreFigures.names()
        (True, False)
        """
        from sightline.report._figures import FEEDS

        return [name for name in FIGURES if name in FEEDS]

    def missing(self, name: str) -> str:
        """Say why a figure cannot be drawn; empty where it can.

        Parameters
        ----------
        name
            Of the figure, as `FIGURES` has it.

        Raises
        ------
        UnknownNameError
            If there is no such figure.
        """
        from sightline.report._figures import FEEDS

        FIGURES[name]  # an unknown name raises
        if name not in FEEDS:
            return "no store holds what it is drawn from"
        try:
            return FEEDS[name].missing(self)
        except SightlineError as error:
            return str(error)

    def draw(self, name: str, choice: Choice = _ANY) -> Drawn:
        """Draw a figure.

        Parameters
        ----------
        name
            Of the figure, as `FIGURES` has it.
        choice
            What it is about.

        Raises
        ------
        InputError
            If it cannot be drawn; the message says why.
        """
        from sightline.report._figures import FEEDS

        why = self.missing(name)
        if why:
            raise InputError(f"figure {name!r} cannot be drawn from {self.results.path}: {why}")
        if "prototype" in self.unused(name, choice):
            known = " and ".join(one for one, feed in FEEDS.items() if "prototype" in feed.uses)
            raise InputError(f"prototype is for {known}; {name} does not show a single one")
        return FEEDS[name].draw(self, choice)

    @staticmethod
    def unused(name: str, choice: Choice) -> list[str]:
        """Return what a choice says that a figure does not go by.

        Parameters
        ----------
        name
            Of a figure that stores hold the data of.
        choice
            What it would be about.

        Examples
        --------
        >>> StoreFigures.unused("confusion-matrix", Choice(metric="iou@90", model="mine"))
        ['metric']
        """
        from sightline.report._figures import FEEDS

        given = choice._asdict().items()
        return [key for key, value in given if value is not None and key not in FEEDS[name].uses]

    @property
    def metric(self) -> str:
        """The metric that leads."""
        return str(self.results._tables.name(None))

    def lines(self, choice: Choice = _ANY) -> Lines:
        """Return the lines of a choice, the best first."""
        choice = choice._replace(image=None, prototype=None)
        key = choice[:5]
        if key not in self._lines:
            metric, model, method, layer, target = key
            found = choose_lines(
                self.results, metric, model=model, method=method, layer=layer, target=target
            )
            # A line has one name in all figures, also where there are no others beside it.
            self._lines[key] = found if choice == _ANY else found.renamed(self.lines().called)
        found = self._lines[key]
        if not len(found):
            raise InputError(f"no scores of {found.where.told()} are stored")
        return found

    def boards(self) -> dict[str, pd.DataFrame]:
        """Return the leaderboard of each metric, the main one's lines in all of them.

        Returns
        -------
        dict of DataFrames
            By metric, the best line first: as `Results.leaderboard` gives them, with `name` (what
            figures call the line) and `models` (by how many models a baseline is shared; it is one
            line then, and has one rank). Layers are those that the main metric chose, so that a
            line is about the same maps in each.
        """
        lines, tables = self.lines(), self.results._tables
        names = [tables.name(metric) for metric in self.results.metrics]
        lines.load(names)
        return {str(name): self.board(str(name)) for name in names}

    def board(self, metric: str | None = None) -> pd.DataFrame:
        """Return the leaderboard of one metric; see `boards`."""
        name = self.results._tables.name(metric)
        return self.kept(("board", str(name)), lambda: self.lines().board(name))

    def values(self, metric: str | None = None) -> pd.DataFrame:
        """Return the score of every line of the board on each image.

        Returns
        -------
        DataFrame
            name, model, method, group, target, layer, image, value (NaN where it is undefined),
            chance, ceiling; lines in the order of the main board.
        """
        name = self.results._tables.name(metric)
        return self.kept(("values", str(name)), lambda: self.lines().values(name))

    def kept(self, key: Any, make: Callable[[], T]) -> T:
        """Return what was made under a key before, or make it."""
        if key not in self._kept:
            self._kept[key] = make()
        found: T = self._kept[key]
        return found

    @cached_property
    def scenes(self) -> Scenes:
        """The maps and images of the study."""
        from sightline.results import open_scenes

        return open_scenes(self.results)

    @cached_property
    def pictures(self) -> Pictures:
        """Images with maps over them."""
        from sightline.report._pictures import Pictures

        return Pictures(self)

    def examples(self, choice: Choice = _ANY) -> Examples:
        """Return the images on which a line does best, middling and worst.

        Parameters
        ----------
        choice
            Which line: the best that is no baseline unless names are given.

        Returns
        -------
        tuple of str
            best, median, worst: ids of images, by the metric, equal ones by their names. Of a
            metric that says of no value that it is better, the highest comes first.
        """
        return self.pictures.examples(choice)

    def figure_one(self) -> list[Shown]:
        """Return three to five images that show diverse cases; fewer where there are no more.

        Returns
        -------
        list of Shown
            image (its id) and why (what it is an example of).
        """
        return self.pictures.figure_one()

    def predictions(self) -> pd.DataFrame | None:
        """Return what the study's classifiers predict; None where that is not known.

        Returns
        -------
        DataFrame or None
            model, image, predicted, probability, label, correct. ``attrs["note"]`` names models
            that could not be asked, and says so where answers could not be kept.
        """
        from sightline.results.predictions import predictions_of, stored_predictions

        def find() -> pd.DataFrame | None:
            found = (
                predictions_of(self.results, progress=self.progress)
                if self._predict
                else stored_predictions(self.results)
            )
            return None if found is None or found.empty else found

        return self.kept("predictions", find)
