"""`sightline gold` and `sightline review`: complete annotations with a person in the loop."""

import shlex
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer

from sightline.cli.option_words import DATA_EXAMPLE, data_choice, open_choice, read_ids
from sightline.cli.options import JsonOption
from sightline.cli.output import (
    add_row,
    count_rest,
    new_table,
    number,
    own_name,
    progress,
    show,
    show_json,
)
from sightline.core import InputError, UnknownNameError

if TYPE_CHECKING:
    from rich.table import Table

    from sightline.annotation.gold import Gold
    from sightline.annotation.journal import Journal
    from sightline.annotation.review import Progress
    from sightline.results import Results

__all__ = ["gold", "review"]

By: TypeAlias = Literal["style", "split", "label"]
Format: TypeAlias = Literal["plain", "coco"]
Kind: TypeAlias = Literal["rate", "choose", "both"]
_SHOWN = 20
_DATA_WORDS = f"NAME[:PATH][,option=value…], say {DATA_EXAMPLE}"
_FOLDER = typer.Argument(help="Folder of the review.")

gold = typer.Typer(no_args_is_help=True)
review = typer.Typer(no_args_is_help=True)


@gold.callback()
def _gold() -> None:
    """Draw the images that people annotate completely, without a machine's help."""


@review.callback()
def _review() -> None:
    """Let people decide on proposals, keep every decision, write the completed annotations.

    The commands here start a review, say how far it is, and write what came of it.

    People decide in the browser: sightline serve STORE --review FOLDER.
    """


# --- gold -----------------------------------------------------------------------------------------


@gold.command()
def draw(
    data: Annotated[str, typer.Argument(help=f"Data set: {_DATA_WORDS}.")],
    count: Annotated[int | None, typer.Option(min=1, help="How many images to draw.")] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="What they are drawn from; choose it once.")
    ] = None,
    by: Annotated[
        By | None,
        typer.Option(
            help="Draw from strata, weights kept: the style of the image, its split, or the rarest "
            "label among its regions."
        ),
    ] = None,
    images: Annotated[
        Path | None,
        typer.Option(
            help="Pick the images by hand instead: a file with one id a line. They are marked as "
            "not drawn at random."
        ),
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="File to write: .json.")] = Path(
        "gold.json"
    ),
) -> None:
    """Draw the gold set at random: the same images for the same seed."""
    from sightline.annotation.gold import draw_gold, pick_gold, read_gold, write_gold

    choice = data_choice(data, "DATA")
    if images is None and (count is None or seed is None):
        raise InputError("a draw needs --count and --seed (or --images, to pick by hand)")
    if images is not None and (count, seed, by) != (None, None, None):
        raise InputError("--images picks by hand and takes no --count, --seed, --by")
    dataset = open_choice(choice, "DATA")
    if images is not None:
        found = pick_gold(dataset, read_ids(images), choice=choice)
    else:
        found = draw_gold(dataset, count or 0, seed or 0, by=by, choice=choice)
    if out.exists() and read_gold(out).to_dict() != found.to_dict():
        raise InputError(f"{out}: holds another draw already; a gold set is drawn once")
    write_gold(found, out)
    show(*_gold_blocks(found), f"Written: {out}")
    words = ["review", "new", "FOLDER", "--data", data, "--proposals", "FILE", "--gold", str(out)]
    show(f"Next, with proposals:\n  {shlex.join([own_name(), *words])}")


@gold.command("show")
def show_gold(
    file: Annotated[Path, typer.Argument(help="The file that `gold draw` wrote.")],
    as_json: JsonOption = False,
) -> None:
    """Show which images are in a gold set, and how they were drawn."""
    from sightline.annotation.gold import read_gold

    found = read_gold(file)
    if as_json:
        show_json(found.to_dict() | {"notes": list(found.notes)})
        return
    show(*_gold_blocks(found), *found.images)


def _gold_blocks(found: "Gold") -> "list[Table | str]":
    """Return what is shown of a gold set, less its images."""
    total = sum(found.population.values())
    how = f"drawn at random, seed {found.seed}" if found.random else "picked by hand"
    strata = f", by {found.by}" if found.by else ""
    title = f"Gold set: {len(found.images)} of {total} images, {how}{strata}"
    blocks: list[Table | str] = [title]
    if found.by:
        table = new_table("", [found.by], ["images", "gold", "weight"])
        drawn = Counter(found.strata.values())
        weights = {found.strata[image]: weight for image, weight in found.weights.items()}
        for name, size in found.population.items():
            weight = number(weights.get(name), "–")
            add_row(table, name or "(none)", f"{size:,}", f"{drawn[name]:,}", weight)
        blocks = [title, table]
    return [*blocks, *(f"Note: {note}." for note in found.notes)]


# --- review ---------------------------------------------------------------------------------------


@review.command()
def new(
    folder: Annotated[Path, typer.Argument(help="Folder to make.")],
    data: Annotated[str, typer.Option(help=f"Data set: {_DATA_WORDS}.")],
    proposals: Annotated[
        list[Path] | None,
        typer.Option(help="File of proposals that `sightline propose` wrote; may be repeated."),
    ] = None,
    gold: Annotated[
        Path | None, typer.Option(help="Gold set that `sightline gold draw` wrote.")
    ] = None,
) -> None:
    """Start a review of a data set, with proposals and a gold set.

    The folder keeps the words by which the data set is opened again, not the images.
    """
    from sightline.annotation.gold import read_gold
    from sightline.annotation.journal import Journal

    choice = data_choice(data, "--data")
    found = None if gold is None else read_gold(gold)
    batches = [_read_proposals(path) for path in proposals or []]
    dataset = open_choice(choice, "--data")
    made = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with (
            progress("Reading"),
            Journal.create(folder, dataset, batches, gold=found, choice=choice) as journal,
        ):
            _show_made(journal, folder)
    except BaseException:
        if made and not any(folder.iterdir()):
            folder.rmdir()
        raise


def _show_made(journal: "Journal", folder: Path) -> None:
    marked = sum(image.gold for image in journal.images.values())
    command = shlex.join([own_name(), "serve", "STORE", "--review", str(folder)])
    show(
        f"Review: {folder}",
        f"Images: {len(journal.images):,}, of them gold: {marked:,}",
        f"Proposals: {len(journal.items()):,}",
        f"Next, decide in the browser:\n  {command}",
    )


def _read_proposals(path: Path, coco: Path | None = None) -> Any:
    from sightline.annotation.proposals import read_proposals

    return read_proposals(path, coco=coco)


@review.command()
def add(
    folder: Annotated[Path, _FOLDER],
    proposals: Annotated[
        Path,
        typer.Argument(
            help="File of proposals, or of regions with scores: COCO, COCO results, JSON, CSV."
        ),
    ],
    coco: Annotated[
        Path | None,
        typer.Option(help="COCO file whose images and categories a list of COCO results means."),
    ] = None,
) -> None:
    """Add proposals to a review; those that it has already change nothing."""
    from sightline.annotation.journal import Journal

    found = _read_proposals(proposals, coco)
    with Journal.open(folder) as journal:
        new = journal.add_proposals(found)
    show(f"Added: {new:,} of {len(found.items):,} proposals; the others were there already.")


@review.command()
def status(folder: Annotated[Path, _FOLDER], as_json: JsonOption = False) -> None:
    """Show how far a review is: what is decided, by whom, how long an item takes."""
    from sightline.annotation.journal import Journal
    from sightline.annotation.review import Review

    with Journal.open(folder) as journal:
        found = Review(journal).progress()
    if as_json:
        show_json(found.to_dict() | {"done": found.done})
    else:
        show(*_status_blocks(found))


def _status_blocks(found: "Progress") -> "list[Table | str]":
    seconds = "" if found.seconds != found.seconds else f", {found.seconds:.1f} s each (median)"
    accepted = f"Accepted: {found.accepted:,}, of them edited: {found.edited:,}"
    left = f"skipped: {found.skipped:,}; open: {found.open:,}"
    blocks: list[Table | str] = [
        f"Decided: {found.done:,} of {found.items:,} proposals{seconds}",
        f"{accepted}; rejected: {found.rejected:,}; {left}",
        f"Drawn by people: {found.drawn:,}",
    ]
    if found.gold is not None:
        one = found.gold
        lock = "locked" if one.locked else "not locked"
        often = "once" if one.reopened == 1 else f"{one.reopened} times"
        again = f", reopened {often}" if one.reopened else ""
        blocks.append(f"Gold: {one.done:,} of {one.images:,} images done, {lock}{again}")
    if found.people:
        table = new_table("", ["person"], ["events", "regions", "seconds"])
        for person in found.people:
            time = "–" if person.seconds != person.seconds else f"{person.seconds:.1f}"
            add_row(table, person.who, f"{person.events:,}", f"{person.items:,}", time)
        blocks.append(table)
    return blocks


@review.command()
def log(
    folder: Annotated[Path, _FOLDER],
    show_all: Annotated[
        bool, typer.Option("--all", help=f"Show every event, not the last {_SHOWN}.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print every event as JSON, with before and after.")
    ] = False,
) -> None:
    """Show every event: who, when, what, before and after."""
    from sightline.annotation.journal import Journal

    with Journal.open(folder) as journal:
        events = journal.events()
    if as_json:
        show_json([{k: v for k, v in one.to_dict().items() if k != "repeated"} for one in events])
        return
    table = new_table(
        f"{len(events):,} events", ["no.", "at", "who", "mode", "what", "image", "item", "change"]
    )
    shown = events if show_all else events[-_SHOWN:]
    for stored in shown:
        event = stored.event
        add_row(
            table,
            *(str(stored.number), stored.at[:19].replace("T", " "), event.who, event.mode),
            *(event.kind, event.image_id, event.item, _change(stored.before, stored.after)),
        )
    count_rest(table, len(events), None if show_all else _SHOWN)
    show(table)


def _change(before: Any, after: Any) -> str:
    """Return what an event changed, in a few words."""
    parts = (
        [f"{before['status']} → {after['status']}"] if before["status"] != after["status"] else []
    )
    if before["region"] != after["region"] and before["region"] and after["region"]:
        changed = {k for k in ("label", "box") if before["region"].get(k) != after["region"].get(k)}
        labels = f": {after['region'].get('label', '')}" if "label" in changed else ""
        parts.append(f"{' and '.join(sorted(changed)) or 'shape'} changed{labels}")
    return ", ".join(parts) or "–"


@review.command()
def ask(
    folder: Annotated[Path, _FOLDER],
    store: Annotated[Path, typer.Argument(help="Study whose maps are judged: runs/NAME.")],
    maps: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            help='Map to judge, "MODEL METHOD" or "MODEL METHOD@LAYER"; may be repeated; all that '
            "are no baselines unless given.",
        ),
    ] = None,
    images: Annotated[int, typer.Option(min=1, help="On how many images, drawn at random.")] = 20,
    seed: Annotated[int, typer.Option(min=0, help="What is drawn from.")] = 0,
    kind: Annotated[
        Kind, typer.Option(help="Rate each map from 1 to 5, choose between two, or both.")
    ] = "both",
    count: Annotated[
        int | None, typer.Option(min=1, help="Only so many questions, drawn at random.")
    ] = None,
) -> None:
    """Add questions about maps, which people then answer on the page Rating without the names."""
    from sightline.annotation.journal import Journal
    from sightline.annotation.rating_tasks import draw_images, draw_tasks
    from sightline.results import open_results

    with open_results(store) as results, Journal.open(folder) as journal:
        names = list(maps) if maps else _maps_of(results)
        _check_maps(results, names)
        there = set(results.query("SELECT image FROM images")["image"])
        shared = [image for image in journal.images if image in there]
        if not shared:
            raise InputError(f"{store}: has none of the {len(journal.images)} images of {folder}")
        drawn = draw_images(shared, min(images, len(shared)), seed)
        ways = {"pairs": kind != "rate", "ratings": kind != "choose"}
        new = journal.add_tasks(draw_tasks(drawn, names, seed, **ways, count=count))
        every = len(journal.tasks())
    show(
        f"Maps: {', '.join(names)}",
        f"Questions: {new:,} new on {len(drawn):,} images, {every:,} in all",
        f"Next, answer them in the browser: sightline serve {shlex.quote(str(store))} --review "
        f"{shlex.quote(str(folder))}",
    )


def _maps_of(results: "Results") -> list[str]:
    """Return the names of all maps of models, without those that know nothing of them."""
    from sightline.results._views import full_name

    found = {
        f"{full_name(one)} {one['method']}": None
        for one in results.manifest["sources"]
        if one["group"] != "baseline"
    }
    return list(found)


def _check_maps(results: "Results", names: list[str]) -> None:
    from sightline.results._views import full_name

    known = {f"{full_name(one)} {one['method']}" for one in results.manifest["sources"]}
    for name in names:
        if name.rpartition("@")[0] not in known and name not in known:
            raise UnknownNameError(
                f"no map {name!r} in {results.path}; maps: {', '.join(sorted(known))}"
            )


@review.command("export")
def export_review(
    folder: Annotated[Path, _FOLDER],
    out: Annotated[Path, typer.Option("--out", "-o", help="File to write: .json.")],
    to: Annotated[
        Format, typer.Option("--format", help="Sightline's plain JSON, or COCO JSON.")
    ] = "plain",
    gold: Annotated[
        bool,
        typer.Option("--gold", help="The gold annotations instead; the gold set must be locked."),
    ] = False,
) -> None:
    """Write the completed annotations, with where each region comes from."""
    from sightline.annotation.completion import export
    from sightline.annotation.journal import Journal

    with Journal.open(folder) as journal:
        found = export(journal, out, format=to, which="gold" if gold else "completed")
    counts = Counter(origin.how for origin in found.origins)
    said = ", ".join(f"{counts[how]:,} {how}" for how in counts) or "none"
    show(f"Images: {len(found.annotations):,}; regions: {said}", f"Written: {out}")
    if found.unfinished:
        show(f"Note: {found.unfinished:,} proposals are not decided; they are not in the file.")
