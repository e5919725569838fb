"""Options that several commands share."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from sightline.core.choices import Fit

__all__ = [
    "ComparedLayerOption",
    "DeviceOption",
    "DoneJsonOption",
    "FitOption",
    "FoundJsonOption",
    "JsonOption",
    "LayersOption",
    "ModelOption",
    "ParamOption",
    "SizeOption",
    "TableOutOption",
    "TablesJsonOption",
]

ModelOption: TypeAlias = Annotated[
    str,
    typer.Option(
        "--model",
        "-m",
        help="Model: a name that `sightline models` lists, hf:FOLDER, hf:ID, timm:NAME or "
        "cabrnet:FOLDER.",
    ),
]
LayersOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--layer",
        help="Layers, separated by commas, counted from 0; -1 is the last, which is taken unless "
        "given; or all.",
    ),
]
FitOption: TypeAlias = Annotated[
    Fit | None, typer.Option(help="How images are brought to the input; squash unless given.")
]
SizeOption: TypeAlias = Annotated[
    str | None,
    typer.Option(help="Size of the input, as a side or WIDTHxHEIGHT; the model's unless given."),
]
ParamOption: TypeAlias = Annotated[
    list[str] | None, typer.Option(help="Parameter of a method, as name=value; may be repeated.")
]
ComparedLayerOption: TypeAlias = Annotated[
    int | None,
    typer.Option(
        help="Layer whose output is compared, counted from 0; -1 is the last; unless given, "
        "the features at the end of the network."
    ),
]
DeviceOption: TypeAlias = Annotated[
    str | None, typer.Option(help="Where to run: cpu, cuda, mps; the CPU unless given.")
]
JsonOption: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print JSON in place of a table.")
]
TablesJsonOption: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print JSON in place of tables.")
]
FoundJsonOption: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print what was found as JSON, and nothing else.")
]
DoneJsonOption: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print what was done as JSON, and nothing else.")
]
TableOutOption: TypeAlias = Annotated[
    Path | None,
    typer.Option("--out", "-o", help="Table to write as well: .csv, .parquet or .json."),
]
