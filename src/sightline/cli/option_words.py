"""What options say that several commands share: targets, name=value, data sets, lists of ids."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sightline.core import InputError, SightlineError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sightline.attribution.methods.targets import Target
    from sightline.core import Annotation
    from sightline.data.choice import DataChoice
    from sightline.data.dataset import Dataset
    from sightline.models import Model

__all__ = [
    "ANNOTATIONS_HELP",
    "DATA_EXAMPLE",
    "TARGET_HELP",
    "check_target",
    "data_choice",
    "is_classless",
    "name_in_store",
    "number_or_word",
    "open_choice",
    "read_annotation_option",
    "read_ids",
    "read_option",
    "read_target",
    "split_commas",
]

DATA_EXAMPLE = "facades,count=2000,seed=1 or folder:PATH,split=train"

ANNOTATIONS_HELP = (
    "A file (COCO JSON, Sightline's plain JSON, or CSV), a folder whose files show which data set "
    "it is, or a data set with its options: voc:PATH, cub:PATH,regions=box, yolo:PATH,split=val, "
    "facades,count=40"
)

TARGET_HELP = (
    "What to explain: predicted (the most likely class), a class by name or number, embedding "
    "(what makes the model's view of the image; needs no classes), similar:FILE (what makes it "
    "similar to another image), detection (the most confident one of a detector)"
)
_SIMILAR = "similar:"
# Words that are no classes; a class of such a name is given by its number.
_WORDS = ("predicted", "label", "embedding", "detection")


def check_target(text: str) -> None:
    """Raise where a target names an image that cannot be read.

    Raises
    ------
    InputError
        Which names the option.
    """
    from sightline.data.images import image_size

    if not text.strip():
        raise InputError("--target must say what to explain, got nothing")
    if not text.startswith(_SIMILAR):
        return
    file = text.removeprefix(_SIMILAR)
    if not file:
        raise InputError("--target similar:FILE must name an image, got none")
    try:
        image_size(Path(file))
    except SightlineError as error:
        raise InputError(f"--target {text}: {error}") from error


def is_classless(text: str) -> bool:
    """Say whether a model without classes can be asked for a target."""
    return text in ("embedding", "detection") or text.startswith(_SIMILAR)


def read_target(text: str, model: Model) -> Target:
    """Return the target that a text says, as `explain` takes it.

    Raises
    ------
    InputError
        If the model has no such class; the message names the option.
    """
    from sightline.attribution.methods.targets import Similar

    if text.startswith(_SIMILAR):
        path = Path(text.removeprefix(_SIMILAR))
        return Similar(path, name=f"similar to {path.name}")
    if text in _WORDS:
        return text
    try:
        return model.class_index(text)
    except SightlineError as error:
        raise type(error)(f"--target {text}: {error}") from error


def read_option(text: str, named: str = "--option") -> tuple[str, Any]:
    """Return the name and value of `name=value`; true, false and numbers are read as such."""
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise InputError(f"{named} must be name=value, got {text!r}")
    words: dict[str, Any] = {"true": True, "false": False, "none": None}
    for read in (words.__getitem__, int, float):
        try:
            return name, read(value)
        except (KeyError, ValueError):
            continue
    return name, value


def split_commas(text: str) -> list[str]:
    """Return what stands between commas, without blanks; nothing stands for nothing."""
    return [part.strip() for part in text.split(",") if part.strip()]


def number_or_word(option: str, text: str | None, words: tuple[str, ...]) -> str | int | None:
    """Return the number of a layer or head, or one of the words that stand for some."""
    if text is None or text in words:
        return text
    try:
        return int(text)
    except ValueError as error:
        known = f"{', '.join(('a number', *words[:-1]))} or {words[-1]}"
        raise InputError(f"--{option} must be {known}, got {text!r}") from error


def name_in_store(
    folder_of: Callable[[Path, str], object], store: Path, name: str | None, usual: str
) -> str:
    """Return the name of results in a store: `--name`, or the usual one.

    Raises
    ------
    InputError
        If there can be no folder of that name.
    """
    try:
        folder_of(store, name or usual)
    except InputError as error:
        hint = "; --name gives another one" if name is None else ""
        raise InputError(f"{error}{hint}") from None
    return name or usual


def read_ids(path: Path) -> list[str]:
    """Return the ids of images in a file of `--images`, one on each line."""
    try:
        text = path.read_text("utf-8")
    except (OSError, ValueError) as error:
        raise InputError(f"--images {path}: cannot be read as text: {error}") from error
    return [line.strip() for line in text.splitlines() if line.strip()]


def _split_data(text: str, option: str) -> tuple[str, str | None, dict[str, Any]]:
    """Return name, path and options of the data set that NAME[:PATH][,option=value…] says.

    Raises
    ------
    InputError
        If it says none; the message names the option.

    Examples
    --------
    >>> _split_data("folder:my/images,split=train", "--data")
    ('folder', 'my/images', {'split': 'train'})
    """
    parts = re.fullmatch(r"([A-Za-z_]+)(?::(.*?))?((?:,[a-z_]+=[^,]*)*)", text)
    if parts is None:
        raise InputError(f"{option} must be a data set, say {DATA_EXAMPLE}, got {text!r}")
    name, path, rest = parts.groups()
    return name, path, dict(read_option(one, option) for one in rest.split(",")[1:])


def data_choice(text: str, option: str) -> DataChoice:
    """Return the words for the data set that NAME[:PATH][,option=value…] says.

    Raises
    ------
    InputError
        If it says none, or its count is none; the message names the option.

    Examples
    --------
    >>> data_choice("facades,count=40,seed=1", "DATA")
    DataChoice(name='facades', path=None, split=None, count=40, options={'seed': 1})
    """
    from sightline.data.choice import DataChoice

    name, path, options = _split_data(text, option)
    split, count = options.pop("split", None), options.pop("count", None)
    if count is not None and (type(count) is not int or count < 1):
        raise InputError(f"{option} {text}: count must be 1 or more, got {count!r}")
    return DataChoice(name, path, None if split is None else str(split), count, options)


def read_annotation_option(text: str, option: str) -> Mapping[str, Annotation]:
    """Return annotations by image id: of a file, of a folder, or of NAME[:PATH][,option=value…].

    What exists is taken as a path.

    Raises
    ------
    InputError
        If it is none of them, or cannot be read; the message names the file or the option.
    """
    from sightline.data import DATASETS, read_annotations, recognise_folder
    from sightline.data.choice import DataChoice

    path = Path(text)
    if text and path.is_dir():
        try:
            kind = recognise_folder(path)
        except InputError as error:
            raise InputError(f"{option} {error}") from error
        return open_choice(DataChoice(kind, text), option).annotations()
    name = re.split("[:,]", text, maxsplit=1)[0]
    if text and path.exists():
        return read_annotations(path)
    if name in DATASETS or (name != text and name.isidentifier()):
        return open_choice(data_choice(text, option), option).annotations()
    if path.suffix.lower() in (".json", ".csv"):
        return read_annotations(path)  # which says what is wrong with it
    raise InputError(f"{option} {text}: no such file or folder, and no data set ({DATA_EXAMPLE})")


def open_choice(choice: DataChoice, option: str) -> Dataset:
    """Open a data set; what does not fit is said with the option."""
    try:
        return choice.open()
    except SightlineError as error:
        raise type(error)(f"{option} {choice.name}: {error}") from error
