"""Commands that write and run studies."""

import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeAlias

import typer

from sightline.cli.output import own_name, progress, show, show_json
from sightline.cli.stores import (
    demo_lines,
    finished_lines,
    layer_lines,
    leaderboard_blocks,
    skipped_lines,
    summary_blocks,
)
from sightline.core import InputError
from sightline.core.words import counted

if TYPE_CHECKING:
    from sightline.store import Store
    from sightline.study import Run, Study

__all__ = [
    "RunOptions",
    "demo",
    "is_scored",
    "new",
    "run",
    "run_and_watch",
    "run_checked",
    "schema",
]

Kind: TypeAlias = Literal["facades", "folder", "maps"]


class RunOptions(NamedTuple):
    """How a study is run; none of it changes its results but the device."""

    out: Path = Path("runs")
    workers: int | None = None
    device: str = "cpu"
    skip_bad: bool = False
    profile: bool = False

    def for_executors(self) -> dict[str, Any]:
        """Return what running a study and looking ahead at it both take."""
        return {name: getattr(self, name) for name in ("workers", "device", "skip_bad")}


def new(
    path: Annotated[Path, typer.Argument(help="Study file to write: .yml.")] = Path("study.yml"),
    kind: Annotated[
        Kind | None,
        typer.Option(
            help="What to start from: facades (drawn images, shipped models), folder (images and a "
            "model of your own), maps (maps made elsewhere); unless given, what --maps, --data and "
            "--path ask for, or facades."
        ),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Name of the study; that of the file unless given.")
    ] = None,
    data: Annotated[
        str | None, typer.Option(help="Data set: folder, coco, voc, yolo, cub, wikichurches.")
    ] = None,
    data_path: Annotated[
        str | None, typer.Option("--path", help="Its folder or file, from the study file's folder.")
    ] = None,
    model: Annotated[
        list[str] | None, typer.Option(help="Model, by name; may be repeated.")
    ] = None,
    maps: Annotated[str | None, typer.Option(help="Folder or file of maps made elsewhere.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file of that name.")] = False,
) -> None:
    """Write a study file to start from, with every key explained."""
    from sightline.data.outputs import check_output, replacing
    from sightline.study import new_study

    check_output(path, "a study", (".yml", ".yaml"))
    if path.exists() and not force:
        raise InputError(f"{path}: is there already; --force replaces it")
    text = new_study(
        name or _name_of(path),
        kind=kind or _kind_of(data, data_path, maps),
        data=data,
        path=data_path,
        models=model,
        maps=maps,
    )
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8")
    command = shlex.join([own_name(), "run", str(path), "--dry-run"])
    show(f"Study: {path}", f"Next, see what it would compute:\n  {command}")


def _kind_of(data: str | None, path: str | None, maps: str | None) -> Kind:
    """Return the kind of study that the other options ask for."""
    if maps is not None:
        return "maps"
    return "folder" if path is not None or data not in (None, "facades") else "facades"


def _name_of(path: Path) -> str:
    """Return a file's name as one that a study can have."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", path.stem).strip("-.")[:100] or "study"


def schema() -> None:
    """Print the JSON Schema of study files, which editors use to help and to check."""
    from sightline.study import study_schema

    show_json(study_schema())


def run(
    study: Annotated[Path, typer.Argument(help="Study file; `sightline new` writes one.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder of results; each study gets its own in it.")
    ] = Path("runs"),
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Show what would be computed and how long it may take."),
    ] = False,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1, help="Processes that share the work; as the study says, or one a core."
        ),
    ] = None,
    device: Annotated[str, typer.Option(help="Where models run: cpu, cuda, mps.")] = "cpu",
    skip_bad: Annotated[
        bool,
        typer.Option("--skip-bad", help="Leave out images that cannot be read, and list them."),
    ] = False,
    profile: Annotated[
        bool, typer.Option("--profile", help="Show where the time went: reading, maps, scoring.")
    ] = False,
) -> None:
    """Run a study: make the maps, score them, store the rows.

    What is stored already is kept: stopped or killed, the same command resumes.

    Ctrl-C finishes the tasks in hand; a second one ends at once, and nothing stored is lost.
    """
    from sightline.study import load_study

    options = RunOptions(out, workers, device, skip_bad, profile)
    loaded = load_study(study)
    if dry_run:
        _show_expected(loaded, options)
        return
    done = run_and_watch(loaded, options, ["run", str(study)])
    show(*summary_blocks(done.store.path), *finished_lines([done], own_name()))


def demo(
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder of results; the demo gets its own in it.")
    ] = Path("runs"),
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes that share the work; one a core.")
    ] = None,
    profile: Annotated[
        bool, typer.Option("--profile", help="Show where the time went: reading, maps, scoring.")
    ] = False,
    with_report: Annotated[
        bool, typer.Option("--report/--no-report", help="End with the report: a page with figures.")
    ] = True,
    photos: Annotated[
        bool,
        typer.Option("--photos", help="Photographs and EfficientNet-Lite0 in place of drawings."),
    ] = False,
) -> None:
    """Run a study that ships: drawn church fronts, four small models, ten methods.

    It ends with an analysis of prototypes (see `sightline benchmark`) and the report.

    With --photos: real photographs and a model of ImageNet, which the extra efficientnet installs.

    Some minutes on two cores; stopped half-way, the same command resumes.
    """
    from sightline.results import open_results
    from sightline.study import demo_study, photos_study

    options = RunOptions(out, workers, profile=profile)
    study = photos_study() if photos else demo_study()
    runs = run_checked(study, study, options, ["demo", *(["--photos"] if photos else [])])
    path = runs[-1].store.path
    with open_results(path) as results:
        show(*leaderboard_blocks(results.leaderboard(), results.study["name"]))
        show(*layer_lines(results.layer_progression()))
    compared = ("gradcam", "centre") if photos else ("cls", "centre")
    lines = demo_lines(path, own_name(), compared, checked=bool(study.checks))
    show(*finished_lines(runs, own_name()), *lines)
    if not photos:
        show(_demo_prototypes(path))
    if with_report:
        show(*_demo_report(path))


def _demo_prototypes(path: Path) -> str:
    """Analyse the prototypes of the model that ships; return where the results are."""
    from sightline.models import load_model
    from sightline.study import BenchmarkJob, demo_benchmark, run_benchmark
    from sightline.study.config.benchmark import parse_benchmark

    text, images = demo_benchmark()
    with progress("Loading") as move:
        asked = BenchmarkJob(parse_benchmark(text), load_model("demo/protopnet"), images)
        done = run_benchmark(asked, path, name="demo", text=text, progress=move)
    return f"Prototypes of demo/protopnet: {done.path}"


def _demo_report(path: Path) -> list[str]:
    """Write the report of the demo; return where it is, or what is lacking for it."""
    from sightline.cli.report import report_lines
    from sightline.core import MissingPackageError
    from sightline.report import write_report

    try:
        with progress("Writing the report") as move:
            return report_lines(write_report(path, progress=move))
    except MissingPackageError as error:
        return [f"No report: {error}"]


def _show_expected(study: "Study", options: RunOptions) -> None:
    from sightline.cli.progress import Bar, engine_lines, expected_blocks, plan_lines
    from sightline.study import forecast_study

    bar = Bar()
    try:
        plan, expected, workers = forecast_study(
            study, options.out, **options.for_executors(), watch=bar
        )
    finally:
        bar.close()
    show(*plan_lines(plan), *expected_blocks(expected, workers), *engine_lines(study.engine))
    show(f"Results would go to {options.out / study.name}")


def run_and_watch(study: "Study", options: RunOptions, command: Sequence[str]) -> "Run":
    """Run a study with a bar; a run that was stopped says how to go on, and ends the program."""
    from sightline.cli.progress import Bar, profile_blocks, stopping
    from sightline.study import run_study

    bar = Bar()
    try:
        with stopping() as stop:
            how = options.for_executors()
            done = run_study(study, options.out, **how, watch=bar, stop=stop)
    finally:
        bar.close()
    show(*done.notes, *skipped_lines(done))
    if options.profile:
        show(*profile_blocks(done))
    if done.stopped and not done.complete:
        stored = f"{done.stored + done.finished:,} of {counted(done.total, 'task')}"
        show(f"Stopped: {stored} stored. To go on:\n  {_again(command, options)}")
        raise typer.Exit(130)
    return done


def run_checked(
    study: "Study", checked: "Study", options: RunOptions, command: Sequence[str]
) -> "list[Run]":
    """Run a study, then its checks on the layers that its leaderboard reports.

    Parameters
    ----------
    study
        What is scored; its own checks are not run.
    checked
        The same study with the checks, whatever layers they ask for.
    options, command
        See `run_and_watch`.
    """
    from sightline.results import choose_best_layers, open_results
    from sightline.store import Store
    from sightline.study import Study

    names = [name for name, _ in checked.checks.asked()]
    store, runs = Store(options.out / study.name), []
    if not names or not is_scored(store, study):
        plain = Study.from_dict({**study.to_dict(), "checks": {}})
        runs.append(run_and_watch(plain, options, command))
    if names:
        with open_results(store.path) as results:
            checked = choose_best_layers(checked, results, names, alone=True)
        runs.append(run_and_watch(checked, options, command))
    return runs


def is_scored(store: "Store", study: "Study") -> bool:
    """Return whether a run has all scores of a study, whatever its checks."""
    if not store.manifest_path.exists():
        return False
    manifest, values = store.manifest(), study.to_dict()
    stored = manifest.get("study", {})
    same = all(stored.get(key) == values[key] for key in values if key not in _NO_SCORES)
    return same and set(store.tasks()) <= store.done()


_NO_SCORES = ("checks", "engine")  # keys of a study that change no score


def _again(command: Sequence[str], options: RunOptions) -> str:
    """Return what to type to go on in the same way."""
    words = [own_name(), *command]
    for name in ("out", "workers", "device"):
        value = getattr(options, name)
        if value != RunOptions._field_defaults[name]:
            words += [f"--{name}", str(value)]
    return shlex.join([*words, *(["--skip-bad"] if options.skip_bad else [])])
