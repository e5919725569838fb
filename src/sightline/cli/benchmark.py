"""The command that tells whether prototypes are about the object, and what they are made of."""

import math
import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sightline.cli.option_words import DATA_EXAMPLE, data_choice, name_in_store, read_option
from sightline.cli.options import DeviceOption, FitOption, FoundJsonOption, ModelOption
from sightline.cli.output import add_row, new_table, own_name, progress, show, show_json
from sightline.core import InputError, MissingPackageError
from sightline.core.words import counted

if TYPE_CHECKING:
    from rich.table import Table

    from sightline.attribution.prototypes.nature import Effect
    from sightline.results import RelevanceMean, StoredBenchmark
    from sightline.store import BenchmarkFolder
    from sightline.study import BenchmarkJob, BenchmarkPlan
    from sightline.study.config.benchmark import Benchmark, DataChoice

__all__ = ["benchmark"]

_SHOWN = 12  # prototypes whose nature is told


def _show_example(wanted: bool) -> None:
    if wanted:
        from sightline.study.config.template import example_benchmark

        typer.echo(example_benchmark(), nl=False)
        raise typer.Exit


def benchmark(
    config: Annotated[
        Path, typer.Argument(help="Which analyses: a YAML file; --example prints one.")
    ],
    model: ModelOption,
    data: Annotated[
        str,
        typer.Option(
            help="Images: a data set, as facades; other options of it may follow: "
            f"NAME[:PATH][,option=value…], say {DATA_EXAMPLE}."
        ),
    ],
    path: Annotated[
        Path | None, typer.Option(help="Folder or file of the data set; facades, photos have none.")
    ] = None,
    count: Annotated[
        int | None,
        typer.Option(min=1, help="Facades: how many are drawn. Others: only the first so many."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Facades: what they are drawn from.")
    ] = None,
    split: Annotated[str | None, typer.Option(help="Only the images of one split.")] = None,
    projection: Annotated[
        str | None,
        typer.Option(
            help="Images that prototypes are looked for on, as NAME[:PATH][,option=value…]; unless "
            "given, those that the model says they are from, or the split train of --data."
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder for the results.")] = None,
    store: Annotated[
        Path | None,
        typer.Option(
            help="Store of a study, or a new folder: results go to STORE/prototypes/NAME."
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(help="Name of the results in the store; that of CONFIG unless given."),
    ] = None,
    attribution: Annotated[
        str,
        typer.Option(
            help="Which pixels make a patch similar: upsampling, saliency, smoothgrad, "
            "input_x_gradient, random_gradient (a control)."
        ),
    ] = "upsampling",
    method: Annotated[
        str | None,
        typer.Option(
            help="With score: class_logit, how maps of a class are made: a method that `sightline "
            "methods` lists."
        ),
    ] = None,
    param: Annotated[
        list[str] | None,
        typer.Option(
            help="Parameter of --method if there is one, else of --attribution, as name=value; may "
            "be repeated."
        ),
    ] = None,
    fit: FitOption = None,
    batch: Annotated[int, typer.Option(min=1, help="Images in a pass of the model.")] = 32,
    device: DeviceOption = None,
    overwrite: Annotated[
        bool,
        typer.Option(
            "--overwrite",
            help="Make everything anew; unless given, results of other settings are an error.",
        ),
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Show no progress and no summary.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be computed, and compute nothing.")
    ] = False,
    as_json: FoundJsonOption = False,
    example: Annotated[
        bool,
        typer.Option(
            "--example",
            callback=_show_example,
            is_eager=True,
            help="Print a commented CONFIG to start from, and exit.",
        ),
    ] = False,
) -> None:
    """Tell whether prototypes lie on the object, and what their similarity is made of.

    Relevance compares attributions with annotated regions, beside chance. Perturbations of what an
    attribution shows, and of all else, tell whether colour, contrast, shape or texture matters.

    What is done already is kept: stopped or killed, the same command resumes.
    """
    from sightline.models import load_model  # first: it names what is not installed
    from sightline.store.prototypes import check_place
    from sightline.study import BenchmarkJob, plan_benchmark
    from sightline.study.config.benchmark import load_benchmark

    where, named = _place(out, store, name, config)
    asked_for = load_benchmark(config)
    images = _choice(
        data, "--data", asked_for, path, {"count": count, "seed": seed, "split": split}
    )
    asked = BenchmarkJob(
        config=asked_for,
        model=load_model(model, fit=fit, device=device),
        data=images,
        projection=None if projection is None else _choice(projection, "--projection", asked_for),
        attribution=attribution,
        method=method,
        params=dict(read_option(text, "--param") for text in param or []),
        batch=batch,
    )
    if dry_run:
        folder = check_place(where, named)  # before images are looked at
        show(*_plan_lines(plan_benchmark(asked), folder, overwrite))
        return
    found = _run(asked, where, named, overwrite, config, quiet or asked_for.quiet or as_json)
    if as_json:
        show_json(_described(found))
    elif not (quiet or asked_for.quiet):
        show(*_summary(found))


def _place(
    out: Path | None, store: Path | None, name: str | None, config: Path
) -> tuple[Path, str | None]:
    """Return the folder of results, or a store and a name in it."""
    if (out is None) == (store is None):
        raise InputError("say where results go: --out DIR, or --store STORE --name NAME")
    if name is not None and store is None:
        raise InputError("--name needs --store")
    if store is None:
        return out or Path(), None
    from sightline.store import benchmark_folder

    return store, name_in_store(benchmark_folder, store, name, config.stem)


def _choice(
    text: str,
    option: str,
    config: "Benchmark",
    path: Path | None = None,
    given: Mapping[str, Any] = MappingProxyType({}),
) -> "DataChoice":
    """Return the images that options choose.

    The regions of CUB are its segmentations where relevance is asked for, unless it is said.
    """
    chosen = data_choice(text, option)
    own = {name: getattr(chosen, name) for name in ("path", "split", "count")}
    said = own | dict(chosen.options)
    beside = {**given, "path": None if path is None else str(path)}
    for key, value in beside.items():
        if value is not None and said.get(key) is not None:
            raise InputError(f"--{key} is said in {option} {text} as well: leave one of them out")
    said |= {key: value for key, value in beside.items() if value is not None}
    if chosen.name == "cub" and config.relevance_analysis is not None:
        said.setdefault("regions", "mask")
    own = {name: said.pop(name) for name in own}
    return replace(chosen, **own, options=said)


def _run(
    asked: "BenchmarkJob", where: Path, name: str | None, overwrite: bool, config: Path, quiet: bool
) -> "StoredBenchmark":
    """Run the benchmark with a bar, draw its picture, and return what was found."""
    from sightline.results import open_benchmark
    from sightline.study.config.files import read_text
    from sightline.study.prototypes.run import run_benchmark

    text = read_text(config, "benchmark")
    try:
        with nullcontext(None) if quiet else progress("Loading") as move:
            done = run_benchmark(
                asked, where, name=name, text=text, overwrite=overwrite, progress=move
            )
    except KeyboardInterrupt:
        again = shlex.join([own_name(), *(word for word in sys.argv[1:] if word != "--overwrite")])
        show(f"Stopped: finished parts are kept. To go on:\n  {again}")
        raise typer.Exit(130) from None
    found = open_benchmark(done.path)
    if found.picture is not None and (done.made or not found.picture.is_file()):
        _draw(found, found.picture)
    return found


def _draw(found: "StoredBenchmark", path: Path) -> None:
    """Draw the largest drops; without the package for it, say so: the tables are there."""
    try:
        from sightline.figures import save
        from sightline.figures.prototypes import draw_max_drop_distribution

        path.parent.mkdir(parents=True, exist_ok=True)
        save(draw_max_drop_distribution(found.drops), path, (path.suffix[1:].lower(),))
    except MissingPackageError as error:
        typer.echo(f"No picture of the largest drops: {error}", err=True)


# --- what is printed ------------------------------------------------------------------------------


def _plan_lines(plan: "BenchmarkPlan", folder: "BenchmarkFolder", overwrite: bool) -> Iterator[str]:
    """Yield what a benchmark would compute."""
    from sightline.study.prototypes.run import parts_left

    config, asked = plan.asked.config, plan.asked
    whose = "classes" if asked.method else "prototypes"
    count = len(plan.prototypes)
    yield f"{asked.model.name}: {count} {whose}, {counted(len(plan.images), 'image')}"
    if config.relevance_analysis is not None:
        taken = "as the model says" if plan.projection is None else f"on {plan.projection.name}"
        patches = counted(len(plan.ids("patches")), "image")
        yield f"Relevance: {count} prototypes ({taken}), patches of {patches}"
    if (local := config.local_perturbation_analysis) is not None:
        modes = 1 + local.enable_dual_mode + local.enable_global_mode
        names = [one.name for one in local.made()]
        pairs = len(plan.ids("drops")) * min(local.num_prototypes, count)
        copies = pairs * (1 + modes * len(names))
        drops = counted(len(plan.ids("drops")), "image")
        most = "at most " if local.class_specific else ""
        yield (f"Perturbations: {', '.join(names)} of {drops}: {most}{copies:,} perturbed inputs")
    left = parts_left(plan, folder, overwrite=overwrite)
    yield f"Parts: {left} of {len(plan.parts)} to do"
    yield f"Results would go to {folder.path}"


def _summary(found: "StoredBenchmark") -> "Iterator[Table | str]":
    """Yield what was found."""
    yield f"{found.model}: {_accuracy(found.accuracy)}"
    if found.relevance is not None:
        yield _relevance_table(found)
    if found.drops is not None:
        effects = found.effects()
        yield _effects_table(found, [one for one in effects if one.prototype < 0])
        yield from _nature_lines(found)
    for stage in ("patches", "drops"):
        if unmatched := found.about["counts"].get(f"unmatched_{stage}"):
            images = counted(unmatched, "image")
            yield f"Skipped in {stage}: {images}, no prototype belongs to the predicted class"
    yield f"Results: {found.path}"


def _accuracy(accuracy: dict[str, Any]) -> str:
    if accuracy["value"] is None:
        return "accuracy unknown, since the images have no labels that the model knows"
    images = counted(accuracy["images"], "image")
    ends = ""
    if accuracy["low"] is not None:
        ends = f" (95% interval {accuracy['low']:.1%} to {accuracy['high']:.1%})"
    return f"accuracy {accuracy['value']:.1%}{ends} on {images}"


def _cell(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.3f}"


def _between(low: float, high: float) -> str:
    return "–" if math.isnan(low) else f"{low:.3f} to {high:.3f}"


def _relevance_table(found: "StoredBenchmark") -> "Table":
    """Return the relevance of prototypes and patches beside chance."""
    lost = ("undefined",) if any(one.undefined for one in found.relevance_means) else ()
    right = ("mean", "95% interval", "chance", "above", "count", *lost)
    table = new_table("Do they lie on the object?", ("relevance",), right)
    for one in found.relevance_means:
        add_row(
            table,
            _relevance_name(one),
            _cell(one.value),
            _between(one.low, one.high),
            _cell(one.chance),
            _above(one),
            str(one.lines),
            *(str(one.undefined) for _ in lost),
        )
    table.caption = (
        "Share of the attribution (energy) and of its top pixels (mask) on what is annotated. "
        "Chance: the share of the image that is."
    )
    for one in found.relevance_means:
        if one.undefined:
            table.caption += (
                f" Undefined, {_relevance_name(one)}: {one.undefined_fraction:.1%} ({one.reasons})."
            )
    return table


def _relevance_name(one: "RelevanceMean") -> str:
    kind = "prototypes" if one.kind == "prototype" else "patches"
    return f"{kind}, {one.measure.removesuffix('_relevance')}"


def _above(one: "RelevanceMean") -> str:
    """Say whether the interval of the difference to chance lies on one side of 0."""
    if math.isnan(one.difference_low):
        return "–"
    return "yes" if one.difference_low > 0 else "below" if one.difference_high < 0 else "not sure"


def _effects_table(found: "StoredBenchmark", effects: "list[Effect]") -> "Table":
    """Return what each perturbation takes over all prototypes."""
    what = "classes" if found.by_class else "prototypes"
    local = found.config.local_perturbation_analysis
    whole = ("global",) if local is not None and local.enable_global_mode else ()
    right = ("focused", "dual", "difference", "95% interval", "matters", *whole)
    table = new_table(f"What takes the score, over all {what}?", ("perturbation",), right)
    for one in effects:
        add_row(
            table,
            one.perturbation,
            _cell(one.focused),
            _cell(one.dual),
            _cell(one.difference),
            _between(one.difference_low, one.difference_high),
            {True: "yes", False: "no", None: "–"}[one.matters],
            *(_cell(one.whole) for _ in whole),
        )
    table.caption = (
        "Mean drop as a share of the score. Focused: where the attribution is high. Dual: where it "
        "is low. It matters where the interval of the difference lies above 0."
    )
    return table


def _nature_lines(found: "StoredBenchmark") -> Iterator[str]:
    """Yield whether the premise holds, what is covered, and what prototypes are made of."""
    what = "classes" if found.by_class else "prototypes"
    stats, premise = found.global_stats(), found.premise()
    total = len(found.about["classes"]) if found.by_class else found.about["counts"]["prototypes"]
    if premise.rows:
        yield (
            f"Premise: the focused drop is larger than the dual one in {premise.share:.1%} of "
            f"{premise.rows:,} cases, and in the mean for {premise.prototype_share:.1%} of "
            f"{premise.prototypes} {what}"
        )
    else:
        yield "Premise: not known without dual perturbations"
    yield f"Covered: {len(stats.covered)} of {total} {what}"
    natures = found.natures()
    unknown = [number for number, names in natures.items() if names == ()]
    undecided = [number for number, names in natures.items() if names is None]
    made = {number: names for number, names in natures.items() if names}
    for number, names in list(made.items())[:_SHOWN]:
        yield f"  {what[:-2] if found.by_class else what[:-1]} {number}: {', '.join(names)}"
    if len(made) > _SHOWN:
        yield f"  … and {len(made) - _SHOWN} more"
    yield (
        f"Nature of the similarity: {len(made)} told, {len(unknown)} unknown (nothing matters), "
        f"{len(undecided)} undecided (too few images)"
    )


def _described(found: "StoredBenchmark") -> dict[str, Any]:
    """Return what was found, as JSON has it; what is undefined is null."""
    told: dict[str, Any] = {"path": str(found.path), "model": found.model}
    told |= {"accuracy": found.accuracy, "counts": dict(found.about["counts"])}
    told["relevance"] = [one._asdict() for one in found.relevance_means]
    if found.drops is not None:
        natures = found.natures().items()
        told["effects"] = [one._asdict() for one in found.effects()]
        told["premise"] = found.premise()._asdict()
        told["global_stats"] = found.global_stats()._asdict()
        told["natures"] = {str(number): names for number, names in natures}
    plain: dict[str, Any] = _plain(told)
    return plain


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and math.isnan(value) else value
