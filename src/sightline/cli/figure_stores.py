"""Figures out of a store of results: `sightline figure NAME STORE`."""

from pathlib import Path
from typing import TYPE_CHECKING

from sightline.cli.output import progress, show
from sightline.core import InputError

if TYPE_CHECKING:
    from sightline.report import Choice, Drawn

__all__ = ["base_of", "draw_from_store", "formats_of", "write_drawn"]

_ENDINGS = ("png", "svg", "pdf", "csv")


def draw_from_store(
    name: str,
    store: Path,
    choice: "Choice",
    *,
    out: Path | None = None,
    formats: str | None = None,
    dpi: int = 200,
) -> list[Path]:
    """Draw a registered figure from a store, write it, and say what it shows.

    Parameters
    ----------
    name
        Of the figure.
    store
        The folder of a study's results.
    choice
        What it is about.
    out, formats, dpi
        See `write_drawn`.

    Returns
    -------
    list of Path
        The files.
    """
    from sightline.figures import FIGURES
    from sightline.report import StoreFigures
    from sightline.results import open_results

    card = FIGURES[name]
    wanted = formats_of(out, formats)  # before anything takes time
    _check_used(name, choice)
    with open_results(store) as results, progress("Drawing") as move:
        drawn = StoreFigures(results, progress=move).draw(name, choice)
    written = write_drawn(drawn, base_of(out, card.file), wanted, dpi=dpi)
    show(f"{card.title}: {drawn.about}", *(f"Written: {path}" for path in written))
    return written


def _check_used(name: str, choice: "Choice") -> None:
    """Refuse options that a figure does not go by."""
    from sightline.report import StoreFigures

    if name in StoreFigures.names():
        for option in StoreFigures.unused(name, choice):
            raise InputError(f"--{option} is not for figure {name!r}: it says nothing there")


def write_drawn(drawn: "Drawn", base: Path, formats: list[str], *, dpi: int = 200) -> list[Path]:
    """Write a figure, and its numbers where CSV is among the formats.

    Parameters
    ----------
    drawn
        The figure.
    base
        Where, without an ending.
    formats
        Of png, svg, pdf, csv.
    dpi
        Dots per inch of PNG.
    """
    from sightline.data import write_table
    from sightline.figures import save

    try:
        base.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{base.parent}: the folder cannot be made: {error}") from error
    written = list(save(drawn.figure, base, [one for one in formats if one != "csv"], dpi=dpi))
    if "csv" in formats:
        written.append(base.with_name(f"{base.name}.csv"))
        write_table(drawn.data, written[-1])
    return written


def formats_of(out: Path | None, formats: str | None) -> list[str]:
    """Return the formats to write: those named, or the ending of the file, or PNG."""
    if formats is None:
        ending = "" if out is None else out.suffix[1:].lower()
        return [ending] if ending in _ENDINGS else ["png"]
    found = list(dict.fromkeys(one.strip().lower() for one in formats.split(",") if one.strip()))
    unknown = [one for one in found if one not in _ENDINGS]
    if unknown or not found:
        seen = repr(unknown[0] if unknown else formats)
        raise InputError(f"--format must be of {', '.join(_ENDINGS)}; got {seen}")
    return found


def base_of(out: Path | None, file: str) -> Path:
    """Return where to write, without an ending: in a folder, under the figure's own name."""
    if out is None:
        return Path(file)
    if out.is_dir():
        return out / file
    return out.with_suffix("") if out.suffix[1:].lower() in _ENDINGS else out
