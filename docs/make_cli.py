"""Write `cli.md` from the help texts of the commands: `python docs/make_cli.py`."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import Any

import typer

from sightline.cli import app

PAGE = Path(__file__).parent / "cli.md"
HEAD = "<!-- Written by docs/make_cli.py from the help texts in cli/. -->\n\n# Command line\n"


def render() -> str:
    """Return the page: every command with its arguments and options."""
    group: Any = typer.main.get_command(app)
    parts = [HEAD, *_section(group), *_panels(group), *_commands(group)]
    return "\n".join(parts).rstrip() + "\n"


def _panels(group: Any) -> list[str]:
    """Return the commands by what they are for, as the help groups them."""
    found: dict[str, list[str]] = {}
    for name, command in group.commands.items():
        found.setdefault(command.rich_help_panel, []).append(f"[{name}](#sightline-{name})")
    rows = [f"| {panel} | {' · '.join(names)} |" for panel, names in found.items()]
    return ["| for | commands |", "| --- | --- |", *rows, ""]


def _commands(group: Any, above: str = "") -> list[str]:
    """Return the parts about the commands of a group, and of the groups in it."""
    parts = []
    for name, command in group.commands.items():
        full = f"{above}{name}"
        mark = "#" * (2 + full.count(" "))
        usage = [] if hasattr(command, "commands") else [f"    {_usage(full, command)}\n"]
        parts += [f"{mark} sightline {full}\n", *usage, *_section(command)]
        if hasattr(command, "commands"):
            parts += _commands(command, f"{full} ")
    return parts


def _usage(name: str, command: Any) -> str:
    """Return the line to type: arguments, and what is required."""
    words = []
    for parameter in command.params:
        if _is_argument(parameter):
            word = parameter.metavar or parameter.name.upper()
            words.append(word if parameter.required else f"[{word}]")
        elif parameter.required:
            words.append(f"{parameter.opts[0]} {parameter.metavar or parameter.name.upper()}")
    options = ["[OPTIONS]"] if any(not _is_argument(one) for one in command.params) else []
    return " ".join(["sightline", name, *words, *options])


def _section(command: Any) -> list[str]:
    rows = [_row(parameter) for parameter in command.params]
    head = ["| option | meaning | default |", "| --- | --- | --- |"] if rows else []
    return [f"{inspect.cleandoc(command.help)}\n", *head, *rows, *([""] if rows else [])]


def _row(parameter: Any) -> str:
    named = parameter.metavar or parameter.name.upper()
    names = [named] if _is_argument(parameter) else parameter.opts
    default = parameter.default
    shown = "" if default is None or default is False else f"`{default}`"
    named = ", ".join(f"`{name}`" for name in names)
    meaning = parameter.help.replace("[", "\\[")  # else Markdown takes it for a link
    return f"| {named} | {meaning} | {'required' if parameter.required else shown} |"


def _is_argument(parameter: Any) -> bool:
    return bool(parameter.param_type_name == "argument")


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
    sys.stdout.write(f"{PAGE}\n")
