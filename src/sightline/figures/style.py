"""The house style: colours that all can tell apart, live text, files that do not change by the day.

Figures are made without `pyplot`: no window, no global list of figures, no backend chosen for
others. matplotlib's settings are the house's own while a figure is drawn or saved, and the user's
again afterwards.
"""

from __future__ import annotations

import textwrap
import warnings
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from threading import RLock, get_ident
from typing import TYPE_CHECKING, Any, Literal
from uuid import uuid4
from zlib import Z_RLE

import numpy as np

from sightline.core import InputError, MissingPackageError

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

__all__ = [
    "BLACK",
    "COLOURS",
    "FORMATS",
    "GREY",
    "LIGHT",
    "axes_for",
    "even_scale",
    "figure_of",
    "house_style",
    "new_figure",
    "save",
    "shown",
    "title",
]

COLOURS = {
    "blue": "#0072B2",
    "vermillion": "#D55E00",
    "green": "#009E73",
    "purple": "#CC79A7",
    "orange": "#E69F00",
    "sky": "#56B4E9",
    "yellow": "#F0E442",
    "black": "#000000",
}
"""Okabe and Ito's colours, in the order in which lines take them; yellow is for areas only."""

BLACK, GREY, LIGHT = "#000000", "#6E6E6E", "#D0D0D0"
FORMATS = ("png", "svg", "pdf")
LONGEST = 28
"""Characters of a name that are shown."""

_HOUSE: dict[str, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": GREY,
    "axes.grid": False,
    "axes.labelcolor": BLACK,
    "axes.labelsize": 9,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "figure.facecolor": "white",
    "font.family": "sans-serif",
    "font.size": 9,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    "svg.hashsalt": "sightline",
    "text.hinting": "none",  # letters are as wide at any number of dots: one layout fits all
    "text.parse_math": False,
    "xtick.color": GREY,
    "xtick.labelcolor": BLACK,
    "xtick.labelsize": 8,
    "ytick.color": GREY,
    "ytick.labelcolor": BLACK,
    "ytick.labelsize": 8,
}
_METADATA: dict[str, dict[str, None]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
_LOCK = RLock()  # matplotlib's settings are one for all threads


@contextmanager
def house_style() -> Iterator[None]:
    """Let the house style hold while a block runs.

    Examples
    --------
    >>> import matplotlib
    >>> before = matplotlib.rcParams["svg.fonttype"]
    >>> with house_style():
    ...     matplotlib.rcParams["svg.fonttype"]
    'none'
    >>> matplotlib.rcParams["svg.fonttype"] == before
    True
    """
    try:
        from matplotlib import style
    except ImportError as error:
        line = "pip install 'sightline[figures]'"
        raise MissingPackageError(f"figures need matplotlib: {line}") from error
    with _LOCK, style.context(["default", _HOUSE]), warnings.catch_warnings():
        # A letter that the font lacks is a box in the picture, and itself in SVG.
        warnings.filterwarnings("ignore", r"Glyph .* missing from font", UserWarning)
        yield


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure, sizes in inches, that lays itself out so that nothing is cut off.

    Examples
    --------
    >>> new_figure(4, 3).get_size_inches().tolist()
    [4.0, 3.0]
    """
    with house_style():
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure = Figure(figsize=(width, height), dpi=100)
        figure.set_layout_engine("constrained", w_pad=0.1, h_pad=0.1)
        FigureCanvasAgg(figure)
        return figure


def figure_of(ax: Axes) -> Figure:
    """Return the figure that axes belong to.

    Examples
    --------
    >>> figure = new_figure(4, 3)
    >>> figure_of(figure.add_subplot()) is figure
    True
    """
    figure = ax.get_figure(root=True)
    if figure is None:
        raise InputError("ax must belong to a figure; it was removed from its own")
    return figure


def axes_for(ax: Axes | None, width: float, height: float) -> Axes:
    """Return the axes given, in the house style, or those of a new figure.

    Examples
    --------
    >>> figure_of(axes_for(None, 4, 3)).get_size_inches().tolist()
    [4.0, 3.0]
    """
    if ax is None:
        return new_figure(width, height).add_subplot()
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=8)
    return ax


def save(
    figure: Figure,
    path: str | os.PathLike[str],
    formats: Sequence[str] = ("png", "svg"),
    *,
    dpi: int = 200,
) -> tuple[Path, ...]:
    """Save a figure, once for each format; the same figure gives the same bytes.

    Text in SVG and PDF stays text. Files of these names are replaced.

    Parameters
    ----------
    figure
        What to save.
    path
        Where, without an ending: each format has its own. An ending that is a format is taken off.
    formats
        Of "png", "svg", "pdf".
    dpi
        Dots per inch of PNG, 50 to 600.

    Returns
    -------
    tuple of Path
        The files written.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     files = save(new_figure(4, 3), Path(folder) / "empty", ("svg",))
    ...     [file.name for file in files]
    ['empty.svg']
    """
    if unknown := [one for one in formats if one not in FORMATS]:
        raise InputError(f"formats must be of {', '.join(FORMATS)}; got {unknown[0]!r}")
    if not 50 <= dpi <= 600:
        raise InputError(f"dpi must lie in 50 to 600; got {dpi!r}")
    base = Path(path)
    if base.suffix[1:] in FORMATS:
        base = base.with_suffix("")
    with house_style(), _laid_out(figure), _plain_fonts(), _quick_pictures():
        contents = [_rendered(figure, one, dpi) for one in formats]
    files = dict(
        zip([base.with_name(f"{base.name}.{one}") for one in formats], contents, strict=True)
    )
    for file, content in files.items():
        _put(file, content)
    return tuple(files)


@contextmanager
def _laid_out(figure: Figure) -> Iterator[None]:
    """Lay a figure out once for all formats, and leave it as it was: saved again it is the same.

    matplotlib's layout starts from where axes stand, and moves them a little each time.
    """
    engine = figure.get_layout_engine()
    if engine is None:
        yield
        return
    kinds: tuple[Literal["original", "active"], ...] = ("original", "active")
    before = [
        (ax, ax.get_in_layout(), [ax.get_position(original=kind == "original") for kind in kinds])
        for ax in figure.axes
    ]
    if figure.axes:
        engine.execute(figure)
    figure.set_layout_engine(None)  # with one that does nothing, saving would draw twice
    try:
        yield
    finally:
        figure.set_layout_engine(engine)
        for ax, taken, places in before:
            for kind, place in zip(kinds, places, strict=True):
                ax.set_position(place.frozen(), which=kind)
            ax.set_in_layout(taken)


@contextmanager
def _plain_fonts() -> Iterator[None]:
    """Leave out of the fonts in PDF how letters combine: text is laid out when it is written.

    Cutting these tables to the letters of a figure takes most of the time of writing it.
    """
    from fontTools.subset import Options

    before = Options._drop_tables_default
    Options._drop_tables_default = [*before, "GDEF", "GPOS", "GSUB"]
    try:
        yield
    finally:
        Options._drop_tables_default = before


@contextmanager
def _quick_pictures() -> Iterator[None]:
    """Have PNG, and pictures inside SVG and PDF, packed by runs of equal bytes alone.

    Of photographs and maps that takes a quarter of the time, most of that of saving them, and files
    are a tenth larger. Other threads write pictures as ever.
    """
    from PIL import Image

    Image.init()  # writers that are not known yet would take the place of ours
    usual, thread = Image.SAVE["PNG"], get_ident()

    def write(image: Any, *where: Any, **how: Any) -> None:
        if get_ident() == thread:
            image.encoderinfo.setdefault("compress_type", Z_RLE)
        usual(image, *where, **how)

    Image.SAVE["PNG"] = write
    try:
        yield
    finally:
        Image.SAVE["PNG"] = usual


def _rendered(figure: Figure, kind: str, dpi: int) -> bytes:
    content = BytesIO()
    figure.savefig(content, format=kind, dpi=dpi, metadata=_METADATA[kind])
    return content.getvalue()


def _put(file: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    part = file.with_name(f".{uuid4().hex}.part")
    try:
        part.write_bytes(content)
        part.replace(file)
    except OSError as error:
        raise InputError(f"{file}: the figure cannot be written there: {error}") from error
    finally:
        part.unlink(missing_ok=True)


def shown(name: Any, longest: int = LONGEST) -> str:
    """Return a name as figures show it: one line, nothing unprintable, shortened in the middle.

    Examples
    --------
    >>> shown("a very long name of a class of things", 16)
    'a very l… things'
    """
    text = " ".join(str(name).split()).encode("utf-8", "replace").decode()
    text = "".join(sign if sign.isprintable() else "\ufffd" for sign in text)
    if len(text) <= longest:
        return text
    tail = (longest - 1) // 2
    return f"{text[: longest - 1 - tail]}…{text[-tail:]}"


def title(ax: Axes, head: str, notes: str = "", *, lines: int = 0) -> None:
    """Put a title over axes, flush left, and notes in small letters under it.

    Parameters
    ----------
    ax
        Over which.
    head, notes
        The texts; notes go on in another line where the axes end.
    lines
        Of notes for which there is room at least, so that heads of panels are level.

    Examples
    --------
    >>> ax = new_figure(4, 3).add_subplot()
    >>> title(ax, "Precision", "of 3 classes")
    >>> ax.get_title(loc="left")
    'Precision'
    """
    inches = ax.get_window_extent().width / figure_of(ax).dpi
    told = textwrap.wrap(notes, max(30, int(inches * 15)))
    told += [""] * (lines - len(told))
    with house_style():
        ax.set_title(head, loc="left", pad=8 + 10.5 * len(told), parse_math=False)
        ax.annotate(
            "\n".join(told),
            (0, 1),
            (0, 6),
            xycoords="axes fraction",
            textcoords="offset points",
            va="bottom",
            fontsize=8,
            color=GREY,
            linespacing=1.15,
            parse_math=False,
            annotation_clip=False,
        )


def write_footnote(figure: Figure, text: str) -> None:
    """Write a text in small letters below a figure of images, which grows by it.

    Parameters
    ----------
    figure
        Whose axes have places of their own: without a layout engine.
    text
        One line or more.

    Examples
    --------
    >>> figure = new_figure(4, 3)
    >>> figure.set_layout_engine("none")
    >>> write_footnote(figure, "* best of 12 layers on the same images")
    >>> figure.texts[0].get_text(), float(figure.get_size_inches()[1]) > 3
    ('* best of 12 layers on the same images', True)
    """
    width, height = (float(side) for side in figure.get_size_inches())
    told = textwrap.wrap(text, max(30, int(width * 15)))
    room = len(told) * 8 * 1.15 / 72 + 0.12
    taller = height + room
    for ax in figure.axes:
        box = ax.get_position(original=True)
        bottom = (box.y0 * height + room) / taller
        ax.set_position((box.x0, bottom, box.width, box.height * height / taller))
    figure.set_size_inches(width, taller)
    with house_style():
        figure.text(
            0.1 / width, 0.08 / taller, "\n".join(told), fontsize=8, color=GREY, va="bottom",
            linespacing=1.15, parse_math=False,
        )  # fmt: skip


def even_scale() -> Colormap:
    """Return white to dark blue in steps that look alike: a straight line in CIELAB.

    What is undefined is light grey.

    Examples
    --------
    >>> [float(part) for part in even_scale()(0.0)]
    [1.0, 1.0, 1.0, 1.0]
    """
    from matplotlib.colors import ListedColormap

    steps = np.linspace(0, 1, 256)[:, None]
    lab = (1 - steps) * np.array([100.0, 0.0, 0.0]) + steps * np.array([26.0, 8.0, -38.0])
    scale = ListedColormap(np.clip(_rgb(lab), 0, 1).tolist(), name="sightline_blue")
    return scale.with_extremes(bad="#EDEDED")


def _rgb(lab: Any) -> Any:
    """Return the sRGB of CIELAB colours (D65)."""
    f = (lab[:, :1] + 16) / 116 + lab[:, 1:] * np.array([1 / 500, -1 / 200])
    f = np.column_stack([f[:, 0], (lab[:, 0] + 16) / 116, f[:, 1]])
    xyz = np.where(f > 6 / 29, f**3, 3 * (6 / 29) ** 2 * (f - 4 / 29))
    xyz = xyz * np.array([0.95047, 1.0, 1.08883])
    linear = xyz @ np.array(
        [
            [3.2404542, -0.9692660, 0.0556434],
            [-1.5371385, 1.8760108, -0.2040259],
            [-0.4985314, 0.0415560, 1.0572252],
        ]
    )
    linear = np.clip(linear, 0, None)
    curved = 1.055 * linear ** (1 / 2.4) - 0.055
    return np.round(np.where(linear <= 0.0031308, 12.92 * linear, curved), 6)
