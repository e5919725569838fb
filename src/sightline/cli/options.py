"""Options that several commands share."""

from typing import Annotated, Literal, TypeAlias

import typer

__all__ = ["DeviceOption", "FitOption", "ParamOption", "SizeOption"]

Fit: TypeAlias = Literal["squash", "crop", "letterbox", "native"]

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
DeviceOption: TypeAlias = Annotated[
    str | None, typer.Option(help="Where to run: cpu, cuda, mps; the CPU unless given.")
]
