"""Networks of transformers from a folder or from the hub: configuration and safetensors only."""

from __future__ import annotations

import json
import re
import sys
from contextlib import contextmanager
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sightline.core import InputError, SightlineError, UnknownNameError
from sightline.core.limits import check_model_config
from sightline.core.memory import describe_error
from sightline.models.families import Family, build_model, default_preprocess, family_of
from sightline.models.preprocess import Preprocess

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sightline.models.model import Model

__all__ = [
    "explained",
    "load_folder",
    "load_hub",
    "load_network",
    "read_config",
    "read_preprocess",
    "read_processor",
]

CONFIG, PROCESSOR = "config.json", "preprocessor_config.json"
# Newer checkpoints of images and text keep the processor of images as a part of this one.
PROCESSORS = "processor_config.json"
WEIGHTS = ("model.safetensors", "model.safetensors.index.json")
_FILES = f"{CONFIG}, {WEIGHTS[0]} (or its parts with {WEIGHTS[1]}) and, if any, {PROCESSOR}"
_FILTERS = {0: "nearest", 1: "lanczos", 2: "bilinear", 3: "bicubic", 4: "box", 5: "hamming"}


def load_hub(name: str) -> Path:
    """Return the folder of a model of the hub, fetched unless it lies in the cache.

    Raises
    ------
    InputError
        If it cannot be had; the message says which files to put where.
    """
    from huggingface_hub import constants, snapshot_download
    from huggingface_hub.errors import HFValidationError

    constants.HF_HUB_DISABLE_TELEMETRY = True  # the hub is told what to send, and no more

    wanted = [CONFIG, PROCESSOR, PROCESSORS, *WEIGHTS, "model-*.safetensors"]
    try:
        return Path(snapshot_download(name, allow_patterns=wanted))
    except HFValidationError as error:
        kinds = f"neither a folder here nor an id of the hub; a model's folder needs {_FILES}"
        raise InputError(f"hf:{name} is {kinds}") from error
    except Exception as error:  # the hub's client raises errors of many libraries
        raise InputError(
            f"hf:{name} is no folder here and cannot be had from the hub "
            f"({type(error).__name__}: {_first_line(error)}). Without the hub, put {_FILES} of "
            f"https://huggingface.co/{name} into a folder, say models/{name.split('/')[-1]}, "
            f"and load 'hf:models/{name.split('/')[-1]}'"
        ) from error


def load_folder(name: str, folder: Path) -> Model:
    """Return the model in a folder written by `save_pretrained` or fetched from the hub.

    Raises
    ------
    InputError
        If a file is missing or broken, or the weights are not all there.
    """
    import transformers

    config = read_config(folder)
    try:
        family = family_of(config.get("model_type"))
    except UnknownNameError as error:
        raise UnknownNameError(f"{folder / CONFIG}: {error}") from None
    whole_package = sys.modules[transformers.__name__]  # it puts another in its own place
    made = getattr(whole_package, _class_name(folder, config, family))
    whole = made._supports_sdpa and family.kind != "detector"  # whose backbone may not know it
    options: dict[str, Any] = {"attn_implementation": "sdpa"} if whole else {}
    if "add_pooling_layer" in signature(made.__init__).parameters:
        options["add_pooling_layer"] = False  # nobody reads it, and its weights may be missing
    with explained(folder):
        network = load_network(folder, made, options)
        return build_model(name, network, read_preprocess(folder, network.config))


def read_config(folder: Path) -> dict[str, Any]:
    """Return what config.json of a folder says.

    Raises
    ------
    InputError
        If there is none, it is broken, or the folder has no weights in safetensors.
    """
    config = _read_json(folder, CONFIG)
    check_model_config(config, folder / CONFIG)
    _check_weights(folder, config)
    return config


def load_network(
    folder: Path, made: Any, options: dict[str, Any] | None = None, *, exact: bool = False
) -> Any:
    """Return the network of a folder as the class `made`, in single precision, to be evaluated.

    With `exact`, all weights of the files must have a place in it.

    Raises
    ------
    InputError
        If some of its weights are not there.
    """
    import torch

    with _quiet(), torch.random.fork_rng(devices=[]):
        network, report = made.from_pretrained(
            folder,
            use_safetensors=True,
            local_files_only=True,
            dtype=torch.float32,
            output_loading_info=True,
            **(options or {}),
        )
    _check_complete(folder, report, exact)
    return network.eval()


@contextmanager
def explained(folder: Path) -> Iterator[None]:
    """Raise an `InputError` that names the folder for whatever goes wrong with its files."""
    try:
        yield
    except (SightlineError, MemoryError):
        raise
    except Exception as error:  # strangers wrote the files, and transformers raises anything
        why = "its weights do not have the shapes that config.json says"
        if "mismatch" not in str(error):
            why = _first_line(error)
        raise InputError(f"{folder}: cannot be loaded: {why}") from error


def read_preprocess(folder: Path, config: Any, usual: Preprocess | None = None) -> Preprocess:
    """Return the preprocessing that a folder describes, with `fit` "squash".

    What its own processor would do (a crop, say) is kept in `size` and `resize_to`, for those who
    ask for that fit. Without a file the usual values are taken: those of the family unless given.
    """
    usual = default_preprocess(config) if usual is None else usual
    name, said = read_processor(folder)
    try:
        size, resize_to = _sizes(said, usual)
        mean, std = _colours(said, usual)
        asked = said.get("resample")
        if asked is not None and asked not in _FILTERS:
            raise InputError(f"resample must be from 0 to {max(_FILTERS)}, got {asked!r}")
        resample = usual.resample if asked is None else _FILTERS[asked]
        return Preprocess(size=size, resize_to=resize_to, mean=mean, std=std, resample=resample)
    except (AttributeError, KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        raise InputError(f"{folder / name}: {_reason(error)}") from error


def read_processor(folder: Path) -> tuple[str, dict[str, Any]]:
    """Return what the folder says about images, and the name of the file; nothing is fine too."""
    if (folder / PROCESSOR).is_file() or not (folder / PROCESSORS).is_file():
        return PROCESSOR, _read_json(folder, PROCESSOR) if (folder / PROCESSOR).is_file() else {}
    said = _read_json(folder, PROCESSORS).get("image_processor")
    return PROCESSORS, said if isinstance(said, dict) else {}


def _colours(
    said: dict[str, Any], usual: Preprocess
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return mean and standard deviation, for colours from 0 to 1 whatever the factor is."""
    factor = said.get("rescale_factor", 1 / 255) if said.get("do_rescale", True) else 1
    if said.get("do_normalize", True):
        mean, std = said.get("image_mean", usual.mean), said.get("image_std", usual.std)
    else:
        mean, std = (0, 0, 0), (1, 1, 1)
    # x * factor - mean, all over std, is the same as this of x / 255.
    unit = 1 if abs(factor * 255 - 1) < 1e-6 else 1 / (factor * 255)
    return tuple(value * unit for value in mean), tuple(value * unit for value in std)


def _reason(error: Exception) -> str:
    if isinstance(error, InputError):
        return str(error)
    if isinstance(error, KeyError):
        return f"has no {error}"
    return f"cannot be understood: {_first_line(error)}"


def _sizes(said: dict[str, Any], usual: Preprocess) -> tuple[tuple[int, int] | None, int | None]:
    """Return the size of the input and the short side before a crop."""
    size, crop = said.get("size"), said.get("crop_size")
    size = {"shortest_edge": size} if isinstance(size, int) else size or {}
    crop = {"height": crop, "width": crop} if isinstance(crop, int) else crop or {}
    short = size.get("shortest_edge")
    if said.get("crop_pct") and short:  # ConvNeXt: resized to more, then cropped to this
        return (short, short), int(short / said["crop_pct"]) if short < 384 else None
    if crop and said.get("do_center_crop", True):
        short = short or min(size.get("height", 0), size.get("width", 0)) or None
        return (crop["width"], crop["height"]), short
    if "height" in size:
        return (size["width"], size["height"]), None
    return ((short, short), None) if short else (usual.size, usual.resize_to)


def _class_name(folder: Path, config: dict[str, Any], family: Family) -> str:
    """Return the class to load: the one that was saved if it classifies, else the bare network."""
    saved = config.get("architectures") or [""]
    if not isinstance(saved, list) or not isinstance(saved[0], str):
        raise InputError(f"{folder / CONFIG}: architectures must be a list of names, got {saved!r}")
    return saved[0] if saved[0] in family.classifiers else family.base


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep transformers' progress bar and its report of unused weights off the terminal."""
    from transformers.utils import logging

    shown, level = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if shown:
            logging.enable_progress_bar()


def _check_complete(folder: Path, report: dict[str, Any], exact: bool) -> None:
    """Refuse networks of which some weights would be random."""
    missing = sorted(report["missing_keys"])
    if missing:
        shown = ", ".join(missing[:3]) + (", …" if len(missing) > 3 else "")
        raise InputError(f"{folder}: {len(missing)} weights are missing: {shown}")
    if exact and report["unexpected_keys"]:
        name = min(report["unexpected_keys"])
        raise InputError(f"{folder}: config.json has no place for the weights: {name}")
    # Of what else a file may hold, the text part and a decoder have layers, too.
    more = [
        name for name in report["unexpected_keys"] if re.search(r"\b(layers?|stages)\.\d", name)
    ]
    more = sorted(name for name in more if not re.search("text|decoder", name))
    if more:
        raise InputError(f"{folder}: config.json has fewer layers than the weights: {more[0]}")


def _read_json(folder: Path, name: str) -> dict[str, Any]:
    path = folder / name
    try:
        values = json.loads(path.read_text("utf-8"))
    except FileNotFoundError as error:
        raise InputError(f"{folder}: has no {name}; a model's folder needs {_FILES}") from error
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: cannot be read as JSON: {error}") from error
    if not isinstance(values, dict):
        raise InputError(f"{path}: must hold an object, got {type(values).__name__}")
    return values


def _check_weights(folder: Path, config: dict[str, Any]) -> None:
    """Refuse folders without safetensors, or whose files name others elsewhere."""
    if not any((folder / file).is_file() for file in WEIGHTS):
        raise InputError(_without_weights(folder))
    named = config.get("transformers_weights", WEIGHTS[0])
    if named not in WEIGHTS:
        raise InputError(f"{folder / CONFIG}: transformers_weights names {named!r}, not {_FILES}")
    if (folder / WEIGHTS[0]).is_file() and named == WEIGHTS[0]:
        return
    parts = _read_json(folder, WEIGHTS[1]).get("weight_map")
    if not isinstance(parts, dict) or not parts:
        raise InputError(f"{folder / WEIGHTS[1]}: has no weight_map")
    for part in sorted(map(str, parts.values())):
        if Path(part).name != part or not part.endswith(".safetensors"):
            raise InputError(
                f"{folder / WEIGHTS[1]}: parts must be safetensors in the same folder, got {part!r}"
            )
        if not (folder / part).is_file():
            raise InputError(f"{folder}: has no {part}, which {WEIGHTS[1]} names")


def _without_weights(folder: Path) -> str:
    other = sorted(p.name for p in folder.glob("*") if p.suffix in (".bin", ".pt", ".pth", ".ckpt"))
    note = f" ({other[0]} is a pickle, which could run code: it is not read)" if other else ""
    return f"{folder}: has no {WEIGHTS[0]}{note}; a model's folder needs {_FILES}"


def _first_line(error: Exception) -> str:
    """Return the first line of what an error says, with those after it while it ends in a colon."""
    text = ""
    for line in describe_error(error).splitlines():
        text = f"{text} {line.strip()}".strip()
        if not text.endswith(":"):
            return text
    return text.rstrip(" :") or type(error).__name__
