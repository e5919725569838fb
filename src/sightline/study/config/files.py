"""Studies in files: YAML in, YAML out."""

from __future__ import annotations

import json
import math
import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from sightline.core import InputError
from sightline.core.limits import MAX_YAML_VALUES, check_model_config
from sightline.data.formats.plain_yaml import PlainLoader
from sightline.study.config.method_names import known_methods
from sightline.study.config.model import Study
from sightline.study.config.problems import shown

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from sightline.study.config.model import ModelEntry
    from sightline.study.config.problems import Place

__all__ = ["line_at", "load_study", "parse_study", "quoted", "read_text", "read_yaml", "to_yaml"]

_LARGEST = 1_000_000
_LARGEST_CONFIG = 20_000_000  # bytes of a model's config.json, which may name many classes
_SHIPPED = Path(__file__).parents[2] / "models" / "demo"
_RECIPE = "recipe.json"  # in the folder of a variant; its module needs torch
# YAML 1.1 reads 1e-3 as text; everybody means the number.
_FLOAT = re.compile(r"^[-+]?[0-9][0-9_]*(\.[0-9_]*)?[eE][-+]?[0-9]+$")


class _Loader(PlainLoader):
    """Plain values only; no key twice, and no aliases, which can blow up a small file."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._values = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        self._values += 1
        if self._values > MAX_YAML_VALUES:  # reading goes no further
            text = f"there are more than {MAX_YAML_VALUES:,} values, which is too much"
            raise yaml.MarkedYAMLError(problem=text, problem_mark=self.peek_event().start_mark)
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()
            text = f"aliases are not read, got *{event.anchor}: write the value out"
            raise yaml.MarkedYAMLError(problem=text, problem_mark=event.start_mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        seen = set()
        for key_node, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            key = (key_node.tag, str(key_node.value))
            if key in seen:
                text = f"the key {key_node.value!r} is there twice"
                raise yaml.MarkedYAMLError(problem=text, problem_mark=key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep)

    def construct_object(self, node: Any, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)
        except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError) as error:
            # e.g. 2024-13-45
            text = f"{shown(node.value)} cannot be read: put quotes around it if it is text"
            raise yaml.MarkedYAMLError(problem=text, problem_mark=node.start_mark) from error


class _Dumper(yaml.SafeDumper):  # type: ignore[misc]
    """Lists indented, every value written out."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> Any:
        return super().increase_indent(flow, False)


def _represent_text(dumper: _Dumper, text: str) -> Any:
    """Write a text on one line, and in double quotes what other quotes would fold or lose."""
    style = None if text.isprintable() else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)

for _class in (_Loader, _Dumper):
    _class.add_implicit_resolver("tag:yaml.org,2002:float", _FLOAT, list("-+0123456789"))


def load_study(path: str | os.PathLike[str]) -> Study:
    """Return the study that a YAML file describes.

    Relative paths (of the data, of maps made elsewhere, and of models in folders) are taken from
    the folder of the file, and ~ is the home folder.

    Raises
    ------
    InputError
        If the file cannot be read or something in it does not fit; the message lists all
        problems, with their lines and keys.
    """
    file = Path(path)
    folder = file.absolute().parent
    return parse_study(read_text(file), str(path), folder, methods=known_methods())


def parse_study(
    text: str,
    where: str = "study",
    folder: Path | None = None,
    *,
    methods: Mapping[str, Any] | None = None,
) -> Study:
    """Return the study that a YAML text describes.

    Parameters
    ----------
    text : str
        YAML.
    where : str
        What messages call it.
    folder : Path
        Where relative paths start; unless given, they stay as they are.
    methods : mapping, optional
        The methods that there are, by name; unless given, names are not looked up.
    """
    node, values = read_yaml(text, where)
    lines = partial(line_at, node)
    study = Study.from_dict(values, where, line_of=lines, methods=methods)
    if folder is None:
        return study
    return Study.from_dict(_resolved(study, folder, where), where)


def to_yaml(study: Study) -> str:
    """Return a study as YAML with every key, which `load_study` reads as an equal one.

    Examples
    --------
    >>> from sightline.study import Study
    >>> text = to_yaml(Study(name="first", data="facades", models="demo/vit", methods="cls"))
    >>> text.splitlines()[0], parse_study(text).methods[0].name
    ('name: first', 'cls')
    """
    text: str = yaml.dump(
        study.to_dict(), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100
    )
    return text


def quoted(text: str) -> str:
    """Return a text as YAML, on one line, in quotes where it would not be read as it is.

    >>> quoted("demo/vit"), quoted("no"), quoted("a: b")
    ('demo/vit', '"no"', '"a: b"')
    """
    plain = re.fullmatch(r"[A-Za-z0-9._/~][A-Za-z0-9._/~:@-]*(?<!:)", text, re.ASCII)
    if plain and yaml.load(text, _Loader) == text:  # noqa: S506 (a safe loader)
        return text
    found: str = yaml.dump(text, Dumper=_Dumper, default_style='"', width=math.inf)
    return found.strip()


def read_text(file: Path, what: str = "study") -> str:
    """Return the text of a file of at most 1 MB."""
    try:
        with file.open("rb") as stream:
            content = stream.read(_LARGEST + 1)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        beside = file.with_name(f"{file.name}.yml")
        hint = f"; {beside} is there" if "\0" not in str(file) and beside.is_file() else ""
        raise InputError(f"{file}: the {what} file cannot be read: {why}{hint}") from error
    if len(content) > _LARGEST:
        raise InputError(f"{file}: expected a {what} file of at most 1 MB, got a larger one")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise InputError(f"{file}, line {line}: expected text in UTF-8, got other bytes") from None


def read_yaml(text: str, where: str, what: str = "study") -> tuple[Any, Any]:
    """Return the tree of a YAML text, which knows lines, and its values."""
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        if node is None:
            raise InputError(f"{where}: expected a {what}, got an empty file")
        if not isinstance(node, yaml.MappingNode):
            line = line_at(node, ())
            raise InputError(f"{where}, line {line}: expected keys and values (key: …)")
        return node, loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        raise InputError(f"{where}{_at(error)}: {_why(error, what)}") from None
    except yaml.reader.ReaderError as error:
        line = text[: error.position].count("\n") + 1
        raise InputError(f"{where}, line {line}: a sign that YAML does not allow") from None
    except RecursionError:
        raise InputError(f"{where}: expected a {what}, got a file nested too deeply") from None


def _at(error: yaml.MarkedYAMLError) -> str:
    mark = error.problem_mark or error.context_mark
    return f", line {mark.line + 1}" if mark else ""


def _why(error: yaml.MarkedYAMLError, kind: str) -> str:
    what = str(error.problem or error.context or "it is not YAML")
    if "'\\t'" in what:
        return "indented with a tab, where YAML wants blanks"
    if "expected a single document" in str(error.context):
        return f"expected one {kind}, got a second one behind ---"
    if "could not determine a constructor for the tag" in what:
        return "tags (!…) are not read: write plain values"
    about = f" {error.context}" if error.context and error.problem else ""
    return (
        what if what.endswith(("twice", "out", "text", "too much")) else f"not YAML{about}: {what}"
    )


def line_at(node: Any, place: Place) -> int | None:
    """Return the line of a place, or of what is there on the way to it."""
    line = None if place else node.start_mark.line + 1
    for step in place:
        if isinstance(node, yaml.MappingNode):
            pairs = [pair for pair in node.value if pair[0].value == str(step)]
            if not pairs:
                return line
            line, node = pairs[0][0].start_mark.line + 1, pairs[0][1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int):
            node = node.value[step]
            line = node.start_mark.line + 1
    return line


def _resolved(study: Study, folder: Path, where: str) -> dict[str, Any]:
    """Return a study's values with paths that no longer depend on where the file is."""
    values = study.to_dict()
    if study.data.path is not None:
        values["data"]["path"] = _absolute(study.data.path, folder, where)
    if study.data.review is not None:
        values["data"]["review"] = _absolute(study.data.review, folder, where)
    names = {}
    for entry, model in zip(study.models, values["models"], strict=True):
        model["model"], variant = _model_and_variant(entry, folder)
        _check_config(model["model"], where)
        model["variant"] = variant
        names[entry.full] = f"{model['model']}@{variant}" if variant else model["model"]
    for method in values["methods"]:
        if "maps" in method["params"]:
            method["params"]["maps"] = _absolute(method["params"]["maps"], folder, where)
        if method["models"] is not None:
            method["models"] = [names[name] for name in method["models"]]
    for check in values["checks"].values():
        if check["models"] is not None:
            check["models"] = [names[name] for name in check["models"]]
    return values


def _check_config(model: str, where: str) -> None:
    """Raise where a model in a folder is beyond all limits, before anything reads its weights."""
    path = Path(model.removeprefix("hf:"), "config.json")
    try:
        size = path.stat().st_size if path.is_file() else 0
        config = json.loads(path.read_bytes()) if 0 < size <= _LARGEST_CONFIG else None
    except (OSError, ValueError, RecursionError):  # told when the model is loaded
        return
    if size > _LARGEST_CONFIG:
        limit = f"at most {_LARGEST_CONFIG // 1_000_000} MB"
        raise InputError(
            f"{where}: {path}: expected a configuration of {limit}, got {size:,} bytes"
        )
    if isinstance(config, dict):
        check_model_config(config, f"{where}: {path}")


def _absolute(path: str, folder: Path, where: str) -> str:
    try:
        return str(folder / Path(path).expanduser())
    except RuntimeError:
        raise InputError(f"{where}: {path!r}: there is no such home folder") from None


def _model_and_variant(entry: ModelEntry, folder: Path) -> tuple[str, str]:
    """Return a model and its variant; the folders of both, where there, become absolute."""
    own = _model(entry.full, "", folder) != entry.full  # a folder may have an @ in its name
    shipped = entry.full.startswith("demo/") and (_SHIPPED / entry.full[5:]).is_dir()
    signs = [] if own or shipped else [n for n, sign in enumerate(entry.full) if sign == "@"]
    for place in signs:
        base, variant = entry.full[:place], entry.full[place + 1 :]
        try:
            found = folder / Path(variant).expanduser()
            if (found / _RECIPE).is_file():
                return _model(base, "", folder), str(found)
        except (OSError, RuntimeError, ValueError):  # a name too long, a home of nobody
            continue
    return _model(entry.model, entry.variant, folder), entry.variant


def _model(model: str, variant: str, folder: Path) -> str:
    """Return a model's name; a folder that is there becomes absolute, ids of the hub stay."""
    if not model.startswith("hf:"):
        return model
    try:
        found = folder / Path(model.removeprefix("hf:")).expanduser()
        beside = found.with_name(f"{found.name}@{variant}")
        return f"hf:{found}" if found.is_dir() or beside.is_dir() else model
    except (OSError, RuntimeError, ValueError):  # a name too long, a home of nobody
        return model
