"""The figures of a report: which ones, under which numbers, drawn and saved."""

from __future__ import annotations

import re
from html import escape
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from sightline.core import SightlineError
from sightline.data import write_csv
from sightline.figures.cards import FIGURES
from sightline.figures.style import FORMATS, save
from sightline.report._figures_checks import checked_models
from sightline.report._figures_prototypes import PROTOTYPE_FIGURES, holding_benchmarks
from sightline.report.figures import Choice
from sightline.report.page import data_uri, inline_svg
from sightline.results import detection_names
from sightline.results.prototypes import benchmark_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from sightline.report.figures import Drawn, StoreFigures
    from sightline.report.scores import Scored

__all__ = [
    "DIGITS",
    "Plate",
    "Saving",
    "Wanted",
    "draw_plate",
    "example_figures",
    "labels_of",
    "wanted_figures",
]

DIGITS = 10
"""Significant digits of numbers in CSV files."""
SHOWN_DPI = 120
"""Dots per inch of pictures on the page."""
PICTURE_DPI = 150
"""Dots per inch of PNG files of pictures, whose tiles have no more pixels to show."""
_LARGEST = 900_000  # bytes of an SVG that is drawn in place; larger ones are shown as pictures
_QUALITY = 84
_LONGEST = 120  # letters of a name that go into a file's name
MODELS = 12
"""Models of which a figure each is drawn."""
_PICTURES = ("prototype-cards",)  # shown as pictures, though they are of another group
_SINGLE = ("pointing-game", "energy", "attribution", "layer-maps")
_DETECTION = ("detection-pr", "detection-classes", "confusion-matrix", "error-types", "reliability")


class Wanted(NamedTuple):
    """A figure that a report shows.

    Attributes
    ----------
    place
        Where: the key of a section.
    card
        Its name, as `FIGURES` has it.
    file
        Its path in the folder of the report, without an ending.
    choice
        What it is about.
    note
        What it is an example of.
    """

    place: str
    card: str
    file: str
    choice: Choice
    note: str = ""


class Saving(NamedTuple):
    """Where figures are saved, and as what."""

    folder: Path
    formats: tuple[str, ...]
    dpi: int


class Plate(NamedTuple):
    """A figure that was drawn and saved.

    Attributes
    ----------
    wanted
        Which.
    label
        "Figure 2a"; empty until all are drawn.
    about, alt
        What was chosen, and what it shows, in words.
    kind, html
        How the page shows it.
    files
        Paths in the folder of the report: the formats, then the numbers.
    """

    wanted: Wanted
    label: str
    about: str
    alt: str
    kind: str
    html: str
    files: tuple[str, ...]


def wanted_figures(
    figures: StoreFigures, scored: Scored, metric: str | None
) -> tuple[list[Wanted], dict[str, str]]:
    """Return the figures that a store has the numbers for, and why it lacks the others.

    Parameters
    ----------
    figures
        Of the store.
    scored
        Its lines: each that is no baseline gets its examples.
    metric
        The main one, where it was asked for.
    """
    missing = {name: why for name in FIGURES if (why := figures.missing(name))}
    choice = Choice(metric=metric)
    found: list[Wanted] = []

    def add(place: str, *cards: str) -> None:
        for card in cards:
            if card not in missing:
                folder = "examples/" if FIGURES[card].group == "images" else ""
                file = f"{folder}{FIGURES[card].file}"
                found.append(Wanted(place, card, file, choice))

    found += _first(figures, choice, missing)
    add("figure-2", "roc", "pr", "ranking")
    add("checks", "sanity-check")
    found += _by_model(figures, "checks", "cascade", missing)
    found += _by_model(figures, "faithfulness", "removal-curves", missing)
    add("leaderboard", "leaderboard")
    add("layers", "layers", "layer-changes")
    add("thresholds", "thresholds")
    add("metrics", "metrics-comparison", "radar", "agreement", "energy-curves")
    add("breakdowns", "features", "styles")
    found += example_figures(figures, scored, metric)
    add("single", *_SINGLE)
    add("correctness", "model-vs-method")
    found += _prototypes(figures, missing)
    found += _detections(figures, missing)
    return found, missing


def _first(figures: StoreFigures, choice: Choice, missing: dict[str, str]) -> list[Wanted]:
    """Return the images of Figure 1."""
    if "all-methods" in missing:
        return []
    try:
        images = figures.figure_one()
    except Exception as error:  # a report does not fail for one of its figures
        missing["all-methods"] = _reason(error)
        return []
    slugs = _slugs([one.image for one in images])
    return [
        Wanted("figure-1", "all-methods", f"examples/all_methods_{slug}",
               choice._replace(image=one.image), one.why)
        for one, slug in zip(images, slugs, strict=True)
    ]  # fmt: skip


def example_figures(figures: StoreFigures, scored: Scored, metric: str | None) -> list[Wanted]:
    """Return a figure of examples for each line that is no baseline.

    Parameters
    ----------
    figures, scored, metric
        See `wanted_figures`.
    """
    if figures.missing("examples"):
        return []
    found = []
    lines = dict(zip(scored.lines.names, scored.lines.lines, strict=True))
    names = scored.names(baselines=False)
    for name, slug in zip(names, _slugs(names), strict=True):
        line = lines[name]
        choice = Choice(metric, line.model, line.method, None, line.target or None)
        found.append(Wanted("examples", "examples", f"examples/examples_{slug}", choice, name))
    return found


def _by_model(
    figures: StoreFigures, place: str, card: str, missing: dict[str, str]
) -> list[Wanted]:
    """Return a figure of each model that was checked."""
    if card in missing:
        return []
    models = checked_models(figures, card)[:MODELS]
    return [
        Wanted(place, card, f"{FIGURES[card].file}{end}", Choice(model=model), model)
        for model, end in _with_ends(models)
    ]


def _detections(figures: StoreFigures, missing: dict[str, str]) -> list[Wanted]:
    """Return the figures of each evaluation of detections."""
    return [
        Wanted("detection", card, f"{FIGURES[card].file}{end}", Choice(model=name), name)
        for name, end in _with_ends(detection_names(figures.results.path))
        for card in _DETECTION
        if card not in missing
    ]


def _prototypes(figures: StoreFigures, missing: dict[str, str]) -> list[Wanted]:
    """Return the figures of each benchmark of prototypes that holds what they are drawn from."""
    return [
        Wanted("prototypes", card, f"{FIGURES[card].file}{end}", Choice(model=name), note)
        for name, end in _with_ends(benchmark_names(figures.results.path))
        for note in [name if end else ""]
        for card in PROTOTYPE_FIGURES
        if card not in missing and name in holding_benchmarks(figures, card)
    ]


def _with_ends(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return names with what ends the names of their files: nothing where there is one alone."""
    ends = [f"_{slug}" if len(names) > 1 else "" for slug in _slugs(names)]
    return list(zip(names, ends, strict=True))


def _slugs(names: Sequence[str]) -> list[str]:
    """Return names as parts of files' names, no two alike where case does not count."""
    found, taken = [], set[str]()
    for name in names:
        slug = re.sub(r"[^A-Za-z0-9-]+", "_", name)[:_LONGEST].strip("_") or "unnamed"
        count = 1
        while (one := slug if count == 1 else f"{slug}_{count}").lower() in taken:
            count += 1
        taken.add(one.lower())
        found.append(one)
    return found


def _reason(error: Exception) -> str:
    """Say why a figure is not there; an error that nobody foresaw is named by its kind."""
    if isinstance(error, SightlineError):
        return str(error)
    return f"drawing it failed, which is a fault of Sightline: {type(error).__name__}: {error}"


def labels_of(wanted: Sequence[Wanted]) -> list[str]:
    """Return the numbers of figures: those of a paper first, then the supplement's.

    Examples
    --------
    >>> figures = [Wanted(place, "", "", Choice()) for place in ("figure-2", "figure-2", "layers")]
    >>> labels_of(figures)
    ['Figure 2a', 'Figure 2b', 'Figure S1']
    """
    main = {"figure-1": "1", "figure-2": "2", "checks": "3"}
    counts = {place: sum(one.place == place for one in wanted) for place in main}
    seen: dict[str, int] = {}
    labels = []
    for one in wanted:
        place = one.place if one.place in main else "S"
        letter = seen[place] = seen.get(place, 0) + 1
        if place == "S":
            labels.append(f"Figure S{letter}")
        else:
            part = chr(ord("a") + letter - 1) if counts[place] > 1 else ""
            labels.append(f"Figure {main[place]}{part}")
    return labels


def draw_plate(figures: StoreFigures, one: Wanted, how: Saving) -> Plate | str:
    """Draw a figure and save it; return why not where it cannot be drawn after all.

    Whatever goes wrong with a figure, the report is written without it, and says so.

    Parameters
    ----------
    figures, one
        Of the store, and which of them.
    how
        Where and as what it is saved.
    """
    base = how.folder / one.file
    try:
        base.parent.mkdir(parents=True, exist_ok=True)
        return _drawn(figures.draw(one.card, one.choice), one, how)
    except Exception as error:  # a report does not fail for one of its figures
        for ending in (*FORMATS, "csv"):
            Path(f"{base}.{ending}").unlink(missing_ok=True)
        return _reason(error)


def _drawn(drawn: Drawn, one: Wanted, how: Saving) -> Plate:
    base = how.folder / one.file
    card = FIGURES[one.card]
    picture = card.group == "images" or one.card in _PICTURES
    save_figure(drawn.figure, base, how.formats, PICTURE_DPI if picture else how.dpi)
    write_csv(drawn.data, Path(f"{base}.csv"), digits=DIGITS)
    alt = " ".join(part for part in (f"{card.title}.", card.shows, drawn.about) if part)
    kind, html = _shown(drawn.figure, base, picture, re.sub(r"\W+", "-", one.file), alt)
    names = tuple(f"{one.file}.{ending}" for ending in (*how.formats, "csv"))
    return Plate(one, "", drawn.about, alt, kind, html, names)


def save_figure(figure: Figure, base: Path, formats: Sequence[str], dpi: int) -> None:
    """Save a figure; pictures in SVG and PDF keep the pixels that they have.

    Drawn at the size of the page they would have several times as many, which say nothing more.
    """
    images = [one for ax in figure.get_axes() for one in ax.get_images()]
    if not images:
        save(figure, base, formats, dpi=dpi)
        return
    save(figure, base, [one for one in formats if one == "png"], dpi=dpi)
    before = [one.get_interpolation() for one in images]
    for one in images:
        one.set_interpolation("none")
    try:
        save(figure, base, [one for one in formats if one != "png"], dpi=dpi)
    finally:
        for one, way in zip(images, before, strict=True):
            one.set_interpolation(way)


def _shown(figure: Figure, base: Path, picture: bool, key: str, alt: str) -> tuple[str, str]:
    """Return how the page shows a figure: charts in place, pictures as images."""
    if not picture:
        text = _file(figure, base, "svg").decode()
        if len(text) <= _LARGEST:
            return "chart", inline_svg(text, key, alt)
    content, (width, height) = _picture(figure, base)
    address = data_uri(content, "webp")
    size = f'width="{width}" height="{height}"'
    return "picture", f'<img src="{address}" {size} alt="{escape(alt)}" decoding="async">'


def _file(figure: Figure, base: Path, ending: str) -> bytes:
    """Return the content of a figure's file, also where that format is not asked for."""
    file = base.with_name(f"{base.name}.{ending}")
    if file.is_file():
        return file.read_bytes()
    with TemporaryDirectory() as folder:
        (made,) = save(figure, Path(folder) / "figure", (ending,), dpi=SHOWN_DPI)
        return made.read_bytes()


def _picture(figure: Figure, base: Path) -> tuple[bytes, tuple[int, int]]:
    """Return a figure as a small image, and its size on the page."""
    from PIL import Image

    inches = [float(side) for side in figure.get_size_inches()]
    with Image.open(BytesIO(_file(figure, base, "png"))) as image:
        width, height = (round(side * SHOWN_DPI) for side in inches)
        small = image.convert("RGB")
        if small.width > width:
            small = small.resize((width, height), Image.Resampling.LANCZOS)
    out = BytesIO()
    small.save(out, "WEBP", quality=_QUALITY, method=2)
    return out.getvalue(), (round(inches[0] * 96), round(inches[1] * 96))
