"""The command that looks at every file of a store."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sightline.cli.output import progress, show, show_json
from sightline.core.words import counted

if TYPE_CHECKING:
    from sightline.store.verify import Verified

__all__ = ["verify"]

_SHOWN = 10
_WORDS = {
    "damaged": "Damaged: their bytes are not those that were written",
    "missing": "Missing",
    "foreign": "Foreign: no study wrote them",
}


def verify(
    store: Annotated[Path, typer.Argument(help="Folder of results: runs/NAME.")],
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON in place of lines; it names every file.")
    ] = False,
) -> None:
    """Read every file of a store and compare it with its checksum; exit status 1 if any is amiss.

    Amiss are files that are damaged, missing or foreign. To run the study again makes what is
    damaged or missing anew. Nothing is changed.
    """
    from sightline.store.verify import verify_store

    with progress("Reading") as move:
        found = verify_store(store, move)
    if as_json:
        show_json({**vars(found), "path": str(found.path), "good": found.good})
    else:
        show(*_lines(found))
    if not found.good:
        raise typer.Exit(1)


def _lines(found: "Verified") -> list[str]:
    from sightline.store.folder import how_to_mend

    size = f"{found.bytes / 1e6:,.1f} MB" if found.bytes >= 1e6 else f"{found.bytes / 1e3:.1f} kB"
    lines = [f"{counted(found.files, 'file')}, {size}: {len(found.sound):,} as they were written"]
    if found.bare:
        lines.append(f"Without checksum, by an earlier version: {len(found.bare):,}")
    if found.other:
        lines.append(f"Of settings that the study had once: {found.other:,}")
    if found.left:
        lines.append(f"Left by writers that were killed: {len(found.left):,}; a run removes them")
    if found.running:
        lines.append("A run is writing: what is missing may be yet to come")
    for name, words in _WORDS.items():
        files = getattr(found, name)
        if files:
            lines.append(f"{words} ({len(files):,}):")
            lines += [f"  {one if one.isprintable() else ascii(one)}" for one in files[:_SHOWN]]
            if len(files) > _SHOWN:
                lines.append(f"  … and {len(files) - _SHOWN:,} more: --json names them")
    if found.damaged or (found.missing and not found.running):
        mend = how_to_mend(found.path / "manifest.json")
        lines.append(mend[0].upper() + mend[1:].replace("make it anew", "make them anew"))
    return lines
