"""The program: its commands in their order, and what errors end as."""

import os
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from sightline import __version__
from sightline.cli import (
    analyse,
    benchmark,
    datasets,
    detect,
    explain,
    figure,
    figure_tables,
    finetune,
    model_tables,
    propose,
    report,
    review,
    sanity,
    serve,
    similar,
    statistics,
    studies,
    tables,
    verify,
)
from sightline.cli import compare as comparing
from sightline.cli import score as scoring
from sightline.cli import show as reading
from sightline.cli._supervisor import SUPERVISED, report_end, run_supervised
from sightline.cli.output import printable, show_log
from sightline.core import SightlineError
from sightline.core.errors import OutOfMemoryError
from sightline.core.memory import (
    describe_error,
    find_memory_error,
    get_address_space_limit,
    guard_imports,
)

__all__ = ["app", "main"]

# Packages that only some commands need, and the extra that brings them.
_EXTRAS = dict.fromkeys(("torch", "transformers", "captum", "huggingface_hub"), "models")
_EXTRAS["matplotlib"] = "figures"
_EXTRAS["peft"] = "finetune"
_EXTRAS |= dict.fromkeys(("fastapi", "uvicorn"), "web")


# The panels of the help with their commands, in the order of the work.
_PANELS = {
    "A study, from start to end": ("new", "run", "show", "report", "serve", "demo"),
    "What goes in": ("inspect", "facades", "models", "methods", "metrics", "finetune", "schema"),
    "Maps of images, and maps made elsewhere": ("explain", "analyse", "similarity", "score"),
    "What the results are worth": ("stats", "compare", "sparsity", "sanity", "benchmark"),
    "Detectors": ("detect",),
    "Missing annotations": ("propose", "gold", "review"),
    "Figures, tables and files": (
        *("figure", "figures", "query", "export"),
        *("diff", "digest", "verify"),
    ),
}


class _Commands(TyperGroup):
    """The commands; what is wrong with the input or a file ends as one line and status 2."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        found: dict[str, Any] = {}
        for panel, names in _PANELS.items():
            for name in names:
                found[name] = self.commands[name]
                found[name].rich_help_panel = panel
        self.commands = found | dict(self.commands)

    def invoke(self, ctx: Any) -> Any:
        try:
            return self._invoke(ctx)
        except (BrokenPipeError, typer.Exit):
            raise
        except Exception as error:
            if (shortage := find_memory_error(error)) is not None:
                typer.echo(f"error: {printable(_describe_shortage(shortage))}", err=True)
                raise typer.Exit(1) from error
            if not isinstance(error, SightlineError | OSError):
                if get_address_space_limit() is None:
                    raise
                # Libraries that cannot allocate raise errors of any kind, of sound files too.
                typer.echo(f"error: {printable(_describe_failure(error))}", err=True)
                raise typer.Exit(1) from error
            typer.echo(f"error: {printable(str(error))}", err=True)
            raise typer.Exit(2) from error

    def _invoke(self, ctx: Any) -> Any:
        """Run a command; name the extra of a package that is missing."""
        try:
            return super().invoke(ctx)
        except ModuleNotFoundError as error:
            if error.name not in _EXTRAS:
                raise
            line = f"pip install 'sightline[{_EXTRAS[error.name]}]'"
            typer.echo(f"error: this needs {error.name}: {line}", err=True)
            raise typer.Exit(2) from error


def _describe_shortage(error: BaseException) -> str:
    """Return what a lack of memory ends a command with."""
    if isinstance(error, OutOfMemoryError):
        return str(error)
    return (
        f"out of memory or address space: {describe_error(error)}. What is stored is kept; with "
        "fewer workers or a smaller batch less is needed"
    )


def _describe_failure(error: Exception) -> str:
    """Return what an error of a library ends a command with where address space is limited."""
    return (
        f"out of memory or address space, or a fault of a library: {type(error).__name__}: "
        f"{describe_error(error)}. What is stored is kept; raise the limit and run again"
    )


app = typer.Typer(cls=_Commands, no_args_is_help=True, add_completion=False)


def main() -> None:
    """Run the command line.

    Examples
    --------
    >>> import sys
    >>> from contextlib import suppress
    >>> from unittest.mock import patch
    >>> with patch.object(sys, "argv", ["sightline", "--version"]), suppress(SystemExit):
    ...     main()
    sightline ...
    """
    limit = get_address_space_limit()
    if limit is not None and SUPERVISED not in os.environ:
        raise SystemExit(run_supervised(limit))
    supervisor = os.environ.pop(SUPERVISED, None)  # commands that this one starts have their own
    if supervisor is not None:
        guard_imports()
    try:
        app()
    except SystemExit:
        report_end(supervisor)
        raise


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"sightline {__version__}")
        raise typer.Exit


@app.callback()
def _start(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Score attention and attribution maps against what experts have marked."""
    show_log()


for _command in (
    *(datasets.inspect, datasets.facades, explain.explain, scoring.score),
    *(analyse.analyse, similar.similarity, finetune.finetune),
    *(studies.new, studies.schema, studies.run, studies.demo),
    *(comparing.compare, statistics.stats, statistics.sparsity),
    *(sanity.sanity, benchmark.benchmark, detect.detect),
    *(report.report, serve.serve, figure.figure, figure_tables.figures),
    *(reading.query, reading.export, reading.diff, reading.digest, verify.verify),
    propose.propose,
):
    app.command()(_command)
app.command("metrics")(tables.show_metrics)
app.command("models")(model_tables.show_models)
app.command("methods")(model_tables.show_methods)
app.command("show")(reading.show_store)
app.add_typer(review.gold, name="gold")
app.add_typer(review.review, name="review")
