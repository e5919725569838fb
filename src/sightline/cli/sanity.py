"""The command that checks whether maps depend on the model, and the model on what they show."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, nullcontext, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from sightline.attribution.sanity.table import WHOLE, Similarity
from sightline.cli.option_words import split_commas
from sightline.cli.options import TablesJsonOption
from sightline.cli.output import add_row, new_table, progress, show, show_json
from sightline.cli.stores import frame_blocks, frame_records, note_lines
from sightline.cli.studies import RunOptions, is_scored, run_and_watch, run_checked
from sightline.core import InputError, SightlineError
from sightline.core.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table

    from sightline.results import Results
    from sightline.results._lines import Line
    from sightline.store import Store
    from sightline.study import Study

__all__ = ["sanity"]

_TITLES = {
    "verdicts": "Do maps depend on what the network learnt?",
    "cascade": "The same, as stages are drawn anew from the output down",
    "cascade-bottom-up": "The same, as stages are drawn anew from the input up",
    "cascade-single": "The same, as each stage alone is drawn anew",
    "faithfulness": "Does the model rely on what maps rank first?",
    "parts": "Do maps rank first the parts that decide the class?",
    "correct": "Do maps score better where the model is right?",
    "accuracy": "How do scores go with the accuracy of models?",
    "agreement": "Do methods show the same?",
}
_EVERY = ("images", "methods", "layers")  # options of all checks
# By the way of randomising; verdicts are about one that ends with all weights.
_CASCADES = {"top-down": "cascade", "bottom-up": "cascade-bottom-up", "single": "cascade-single"}


def sanity(
    where: Annotated[
        Path, typer.Argument(help="Study file, or the folder of a study's results: runs/NAME.")
    ],
    checks: Annotated[
        str | None,
        typer.Option(
            help="Which checks: randomisation, faithfulness, parts, separated by commas; as the "
            "study says, or all that its data allow."
        ),
    ] = None,
    ways: Annotated[
        str | None,
        typer.Option(help="How networks are randomised: full, top-down, bottom-up, single."),
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="How many times a network is drawn; 5 unless given.")
    ] = None,
    images: Annotated[
        int | None, typer.Option(min=2, help="How many images; 32 unless given (parts: 64).")
    ] = None,
    methods: Annotated[
        str | None, typer.Option(help="Only these methods of the study, separated by commas.")
    ] = None,
    layers: Annotated[
        str | None,
        typer.Option(
            help="Which layers: best (which the leaderboard reports), last (of the study's), all, "
            "or numbers separated by commas. By default those of a study file (last if it names "
            "none), and of results the best ones, added to those that were checked before."
        ),
    ] = None,
    measure: Annotated[
        Similarity,
        typer.Option(
            help="How alike maps are: spearman (ranks), ssim (structure), hog (edges), overlap "
            "(the highest pixels)."
        ),
    ] = "spearman",
    absolute: Annotated[
        bool, typer.Option("--absolute", help="Compare the size of signed values, not the sign.")
    ] = False,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Of a study file: the folder of results.")
    ] = Path("runs"),
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes that share the work; one a core.")
    ] = None,
    device: Annotated[
        str | None,
        typer.Option(
            help="Where models run: cpu, cuda, mps; cpu, or as the store's maps were made."
        ),
    ] = None,
    skip_bad: Annotated[
        bool,
        typer.Option(
            "--skip-bad",
            help="Leave out images that cannot be read, as a store does that has left some out.",
        ),
    ] = False,
    as_json: TablesJsonOption = False,
    csv: Annotated[
        Path | None, typer.Option("--csv", help="Folder for the tables, a .csv file each.")
    ] = None,
    show_all: Annotated[bool, typer.Option("--all", help="Show every line and column.")] = False,
) -> None:
    """Check whether maps depend on the model, and whether the model relies on what they show.

    Of a study file, runs it with its checks; of a run without checks, adds them to it; of a run
    with checks, shows what they found. Interrupted, the same command resumes.

    The layers that the leaderboard reports are checked: where a run has checked others, these are
    added. The table has the layer of each line, and a note where it is not the best one.

    Options change the checks that the store's study asks for; those that are not named stay, and
    what was computed for others is kept and there again when they are asked for.

    A verdict says whether maps change with what the network learnt. It does not rank methods.
    """
    if csv is not None and csv.exists() and not csv.is_dir():
        raise InputError(f"--csv {csv}: is a file; give a folder")
    asked = _asked(checks, ways, seeds, images, methods, layers)
    options = RunOptions(out, workers, device or "", skip_bad)
    with redirect_stdout(sys.stderr) if as_json else nullcontext():  # a run talks
        path = _stored(where, asked, options)
    from sightline.results import open_results

    reading: Any = "absolute" if absolute else "signed"
    with open_results(path) as results:
        study = str(results.study["name"])
        found = dict(_tables(results, measure, reading))
    if csv is not None:
        _write(found, csv)
    if as_json:
        show_json(_described(study, measure, reading, found))
        return
    show(*_blocks(found, study, show_all))
    if csv is not None:
        names = [name for name, table in found.items() if not isinstance(table, str)]
        show(f"Written: {', '.join(str(csv / f'{name}.csv') for name in names)}")


# --- what is run ---------------------------------------------------------------------------------


def _asked(
    checks: str | None,
    ways: str | None,
    seeds: int | None,
    images: int | None,
    methods: str | None,
    layers: str | None = None,
) -> dict[str, Any]:
    """Return what the options say of checks; nothing where none is given."""
    found: dict[str, Any] = {}
    if checks is not None:
        found["checks"] = split_commas(checks)
    given: dict[str, Any] = {"ways": ways and split_commas(ways), "seeds": seeds, "images": images}
    given["methods"] = methods and split_commas(methods)
    given["layers"] = layers and _read_layers(layers)
    return found | {name: value for name, value in given.items() if value is not None}


def _read_layers(text: str) -> str | list[int]:
    """Return a word for layers, or their numbers."""
    if text in ("best", "last", "all"):
        return text
    try:
        return [int(part) for part in split_commas(text)]
    except ValueError:
        raise InputError(
            f"--layers must be best, last, all or numbers separated by commas; got {text!r}"
        ) from None


def _stored(where: Path, asked: dict[str, Any], options: RunOptions) -> Path:
    """Return the folder of results with the checks that are asked for, which may be run first."""
    from sightline.study import load_study

    command = ["sanity", str(where), *_again(asked)]
    if where.is_dir():
        return _added(where, asked, options, command)
    study = load_study(where)
    options = options._replace(device=options.device or "cpu")
    if asked.get("layers") == "best":
        checked = _with_checks(study, {**asked, "layers": "last"})
        done = run_checked(study, checked, options, command)[-1]
    else:
        done = run_and_watch(_with_checks(study, asked), options, command)
    show(f"Results: {done.store.path}")
    return done.store.path


def _added(where: Path, asked: dict[str, Any], options: RunOptions, command: Sequence[str]) -> Path:
    """Return the folder of a run, with the checks that it lacks."""
    from sightline.store import open_store
    from sightline.store.lock import is_held
    from sightline.study import load_study

    store = open_store(where)
    study = load_study(store.study_path)
    named = study.name == where.resolve().name
    if not asked and _has_all(store, study) and (not named or is_held(store.lock_path)):
        return where  # nothing can be added: the tables say which layers were checked
    layers = asked.get("layers", "best")
    wanted = None
    if layers != "best" or is_scored(store, study):
        wanted = _merged(study, asked, store)
        if wanted.checks == study.checks and _has_all(store, study):
            return where
    if not named:
        raise InputError(
            f"{where}: holds the study {study.name!r}; to add checks, its folder must have "
            "the same name"
        )
    options = _as_before(options._replace(out=where.resolve().parent), store.manifest())
    options = options._replace(device=options.device or "cpu")
    if wanted is None:  # best layers are known once all is scored
        run_and_watch(study, options, command)
        wanted = _merged(study, asked, store)
    done = run_and_watch(wanted, options, command)
    show(f"Results: {done.store.path}")
    return done.store.path


def _merged(study: "Study", asked: dict[str, Any], store: "Store") -> "Study":
    """Return a study with its checks and those that are asked for, of the layers they are of.

    By default the layers that the leaderboard reports are checked next to those of the study.
    """
    from sightline.results import choose_best_layers, open_results

    own = dict(study.checks.asked())
    layers = asked.get("layers")
    if layers not in (None, "best"):
        return _with_checks(study, asked, kept=True)
    checked = _with_checks(study, {**asked, "layers": "last"} if layers else asked, kept=True)
    names = asked.get("checks") or [name for name, _ in checked.checks.asked()]
    alone = names if layers else [name for name in names if name not in own]
    with open_results(store.path) as results:
        checked = choose_best_layers(checked, results, alone, alone=True)
        others = [name for name in names if name not in alone]
        return choose_best_layers(checked, results, others)


def _has_all(store: "Store", study: "Study") -> bool:
    """Say whether a store has the checks of its study, or another process is adding them."""
    from sightline.results import open_results
    from sightline.store.lock import is_held

    # A kill between the two files leaves a study whose checks the manifest does not know.
    planned = store.manifest().get("study", {}).get("checks")
    if not study.checks or planned != study.to_dict()["checks"]:
        return False
    if is_held(store.lock_path):
        return True
    try:
        with open_results(store.path) as results:
            done, count = results.progress
    except InputError:  # cut off while it was planned, or before anything was stored
        return False
    return done == count


def _as_before(options: RunOptions, manifest: Mapping[str, Any]) -> RunOptions:
    """Return options under which the maps of a store stay what they are."""
    devices = [str(one["device"]) for one in manifest.get("models", ()) if one.get("device")]
    return options._replace(
        device=options.device or (devices or ["cpu"])[0],
        skip_bad=options.skip_bad or bool(manifest.get("skipped")),
    )


def _again(asked: dict[str, Any]) -> list[str]:
    """Return the options that ask for the same again."""
    words = []
    for name, value in asked.items():
        text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
        words += [f"--{name}={text}"] if text.startswith("-") else [f"--{name}", text]
    return words


def _with_checks(study: "Study", asked: dict[str, Any], *, kept: bool = False) -> "Study":
    """Return a study with the checks that are asked for, over its own or the usual ones.

    Its others go, unless they are to be kept.
    """
    from sightline.study import Study

    values = study.to_dict()
    own: dict[str, Any] = values["checks"]
    names = asked.get("checks") or list(own) or _usual(study)
    for key in ("ways", "seeds"):
        if key in asked and "randomisation" not in names:
            raise InputError(f"--{key}: is of the check randomisation, got {', '.join(names)}")
    section: dict[str, Any] = {name: dict(own.get(name, {})) for name in names}
    for name, options in section.items():
        for key in (*_EVERY, *(("ways", "seeds") * (name == "randomisation"))):
            if key in asked:
                options[key] = asked[key]
        if "layers" in asked:
            options.pop("best_layers", None)
    section = {**own, **section} if kept else section
    return Study.from_dict({**values, "checks": section}, "checks")


def _usual(study: "Study") -> list[str]:
    """Return the checks that the data and the models of a study allow."""
    from sightline.study import Shelf

    names = ["randomisation", "faithfulness"]
    if study.data.name != "facades":
        return names
    shelf = Shelf()
    models = (shelf.model(entry.full, entry.fit or study.fit) for entry in study.models)
    if any(model.classes and not model.detects for model in models):
        return [*names, "parts"]
    show("The check parts is left out: it needs a classifier, and the study has none.")
    return names


# --- what is shown -------------------------------------------------------------------------------


def _tables(
    results: "Results", measure: Any, reading: Any
) -> "Iterator[tuple[str, pd.DataFrame | str]]":
    """Yield each table by name; in its place, why there is none."""
    from sightline import results as analysis

    parts = {one["part"] for one in results.manifest.get("checks", ())}
    made: dict[str, Callable[[], pd.DataFrame]] = {
        **(_randomised(results, measure, reading) if "randomisation" in parts else {}),
        "faithfulness": lambda: analysis.faithfulness_table(results),
        "parts": lambda: analysis.parts_table(results),
        "correct": lambda: analysis.correct_and_wrong(results),
        "accuracy": lambda: analysis.compute_accuracy_scatter(results),
        "agreement": lambda: _agreement(results),
    }
    with progress("Reading") as move:
        for place, (name, make) in enumerate(made.items()):
            move(place, len(made), name)
            if name in ("faithfulness", "parts") and name not in parts:
                continue
            try:
                yield name, make()
            except SightlineError as error:
                yield name, str(error)


def _randomised(
    results: "Results", measure: Any, reading: Any
) -> "dict[str, Callable[[], pd.DataFrame]]":
    """Return what makes the tables of the ways of randomising that the study asked for."""
    from sightline import results as analysis

    checks = [str(one["check"]).split("/") for one in results.manifest["checks"]]
    asked = {one[1] for one in checks if one[0] == "randomisation"}
    whole: Any = next((way for way in WHOLE if way in asked), "full")
    how = {"measure": measure, "reading": reading}

    def cascade(way: Any) -> "Callable[[], pd.DataFrame]":
        return lambda: analysis.cascade_table(results, way=way, **how)

    return {
        "verdicts": lambda: analysis.sanity_table(results, way=whole, **how),
        **{name: cascade(way) for way, name in _CASCADES.items() if way in asked},
    }


def _agreement(results: "Results") -> "pd.DataFrame":
    """Return the rank correlation of every two methods of a model; neighbours agree."""
    import pandas as pd

    from sightline.results import map_agreement, open_scenes
    from sightline.results._lines import make_lines

    tables = results._tables
    lines = make_lines(tables, tables.name(None), tables.catalogue.where(), "best")
    rows: list[dict[str, Any]] = []
    counts = set()
    with closing(open_scenes(results)) as scenes:
        for model in dict.fromkeys(line.model for line in lines):
            own = [line for line in lines if line.model == model]
            found = map_agreement(scenes, own)
            counts.add(f"{found.n} of {found.images}")
            order = [int(place) for place in found.order]
            for i in order:
                for j in order:
                    ends = found.matrix[i, j], found.low[i, j], found.high[i, j]
                    names = {"model": model, "one": _named(own[i]), "other": _named(own[j])}
                    rows.append(names | dict(zip(("value", "low", "high"), ends, strict=True)))
    columns = ("model", "one", "other", "value", "low", "high")
    frame = pd.DataFrame(rows, columns=list(columns))
    frame.attrs["note"] = (
        f"Spearman's correlation of two methods' maps, mean over {' and '.join(sorted(counts))} "
        "images with 95% intervals; methods that agree need not be right"
    )
    return frame


def _named(line: "Line") -> str:
    """Return what tells maps of one model apart."""
    layer = "" if line.layer is None else f"layer {line.layer}"
    return " ".join(part for part in (line.method, line.target, layer) if part)


def _blocks(
    found: "dict[str, pd.DataFrame | str]", study: str, show_all: bool
) -> "Iterator[Table | str]":
    """Yield the tables with what they mean in words."""
    for name, frame in found.items():
        title = f"{study}: {_TITLES[name]}"
        if isinstance(frame, str):
            yield f"{title}\n  Not told: {frame}."
        elif name == "agreement":
            yield from _matrices(frame, title)
        elif show_all:
            yield from frame_blocks(frame, title, len(frame), whole=True)
        elif name in _CASCADES.values():
            yield from _cascades(frame, title)
        else:
            shown = _measures(frame) if name == "faithfulness" else _short(frame)
            shown.attrs["note"] = "; ".join(
                filter(None, (frame.attrs.get("note", ""), shown.attrs.get("more", "")))
            )
            yield from frame_blocks(shown, title)
            if name == "verdicts":
                yield from _counted(frame)
    if not {"verdicts", "faithfulness", "parts"} & set(found):
        yield f"{study}: no checks are stored"


def _counted(frame: "pd.DataFrame") -> Iterator[str]:
    counts = frame["verdict"].value_counts()
    told = [f"{counts[word]} {word}" for word in ("pass", "fail", "cannot tell") if word in counts]
    yield f"Of {counted(len(frame), 'line')}: {', '.join(told) or 'none judged'}."


def _matrices(frame: "pd.DataFrame", title: str) -> "Iterator[Table | str]":
    """Yield a matrix for each model, and a note below the last."""
    for model, some in frame.groupby("model", sort=False):
        names = list(dict.fromkeys(some["one"]))
        table = new_table(f"{title} {model}", ["method"], [str(n + 1) for n in range(len(names))])
        for place, (one, line) in enumerate(some.groupby("one", sort=False)):
            add_row(table, f"{place + 1} {one}", *(_cell(value, 2) for value in line["value"]))
        yield table
    yield from note_lines(frame)


def _cascades(frame: "pd.DataFrame", title: str) -> "Iterator[Table | str]":
    """Yield for each model a line for each stage, a column for each method."""
    import pandas as pd

    keys = ["method", "target", "layer"]
    for model, some in frame.groupby("model", sort=False):
        stages = dict(zip(some["stage"], some["name"], strict=True))
        order = sorted(stages)
        columns: dict[str, list[Any]] = {"stage": [stages[one] for one in order]}
        for names, line in some.groupby(keys, sort=False, dropna=False):
            values = dict(zip(line["stage"], line["similarity"], strict=True))
            method, target, layer = cast("tuple[Any, ...]", names)
            name = f"{method}" if pd.isna(layer) else f"{method} layer {layer}"
            name = f"{name} {target}" if name in columns else name
            columns[name] = [round(values.get(one, float("nan")), 3) for one in order]
        accuracy = some.groupby("stage")["accuracy"].mean()
        columns["accuracy"] = [accuracy.get(one, float("nan")) for one in order]
        yield from frame_blocks(pd.DataFrame(columns), f"{title}: {model}")
    yield from note_lines(frame)


def _cell(value: Any, digits: int = 3) -> str:
    return "–" if value is None or value != value else f"{value:.{digits}f}"


def _measures(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Return a line for each method, a column for each measure, marked against the random map."""
    import pandas as pd

    keys = ["model", "method", "target", "layer"]
    lines: list[dict[str, Any]] = []
    for names, some in frame.groupby(keys, sort=False, dropna=False):
        line = dict(zip(keys, names, strict=True))
        for one in some.itertuples():
            line[str(one.measure)] = _cell(one.value) + _mark(one)
        lines.append(line)
    shown = _told(pd.DataFrame(lines))
    shown.attrs["more"] = "+ and − mark values better and worse than those of the random map"
    return shown


def _mark(line: Any) -> str:
    """Return whether a value is better or worse than that of a random map, or neither."""
    sign = {"higher": 1, "lower": -1}.get(line.better, 0)
    low, high = sorted((sign * line.difference_low, sign * line.difference_high))
    return "+" if low > 0 else "−" if high < 0 else " "


def _short(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Return a table that fits a screen: intervals in one cell, without what says little."""
    import pandas as pd

    bases = ("difference", "adjusted", "precision", "recall", "ap", "base", "accuracy")
    ends = {base: (f"{base}_low", f"{base}_high") for base in bases if f"{base}_low" in frame}
    if "low" in frame:
        main = next(name for name in ("similarity", "difference", "value") if name in frame)
        ends[main] = ("low", "high")
    columns: list[tuple[str, Any]] = []
    hidden = {name for pair in ends.values() for name in pair}
    hidden |= {"group", "seeds", "images", "right_images", "wrong_images", "edge", "training",
               "reason"}  # fmt: skip
    if "best_layer" in frame and frame["best_layer"].equals(frame["layer"]):
        hidden.add("best_layer")
    for name in (str(one) for one in frame if one not in hidden):
        columns.append((name, frame[name]))
        if name in ends:
            low, high = (frame[end] for end in ends[name])
            cells = [_between(*both) for both in zip(low, high, strict=True)]
            columns.append(("95% interval", pd.Series(cells, frame.index)))
    shown = pd.concat([values for _, values in columns], axis=1)
    shown.columns = pd.Index([name for name, _ in columns])
    shown = _told(shown)
    if "reason" in frame:
        shown.attrs["more"] = "; ".join(filter(None, dict.fromkeys(frame["reason"])))
    return shown


def _between(low: float, high: float) -> str:
    return "" if low != low else f"{low:.2f} to {high:.2f}"


def _told(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Return a table without targets where all maps that explain something explain the same."""
    if "target" not in frame or len(set(frame["target"]) - {""}) > 1:
        return frame
    return frame.drop(columns="target")


def _described(
    study: str, measure: str, reading: str, found: "dict[str, pd.DataFrame | str]"
) -> dict[str, Any]:
    """Return the tables as JSON holds them."""
    about: dict[str, Any] = {"study": study, "measure": measure, "reading": reading}
    for name, frame in found.items():
        if isinstance(frame, str):
            about[name] = {"why": frame, "lines": []}
        else:
            about[name] = {"note": frame.attrs.get("note", ""), "lines": frame_records(frame)}
    return about


def _write(found: "dict[str, pd.DataFrame | str]", folder: Path) -> None:
    from sightline.data import write_table

    folder.mkdir(parents=True, exist_ok=True)
    for name, frame in found.items():
        if not isinstance(frame, str):
            write_table(frame, folder / f"{name}.csv")
