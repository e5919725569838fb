"""A variant to a folder: there whole or not at all."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING

import torch

from sightline.core import InputError
from sightline.models.recipes import RECIPE, is_variant
from sightline.models.variants import ADAPTER, DELTA, HEAD

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from torch import Tensor, nn

__all__ = ["check_folder", "delta_of", "replacing_folder", "write_tensors"]

_OURS = {RECIPE, HEAD, DELTA, *ADAPTER}


def check_folder(folder: str | os.PathLike[str], force: bool = False) -> Path:
    """Return a folder that a variant may be written to.

    Raises
    ------
    InputError
        If there is something else already, or a variant and it is not to be replaced.
    """
    path = Path(folder)
    if path.is_dir() and is_variant(path):
        strange = sorted(one.name for one in path.iterdir() if one.name not in _OURS)
        if strange:
            raise InputError(
                f"{path}: holds more than a variant: {strange[0]}; name another folder"
            )
        if not force:
            raise InputError(f"{path}: holds a variant already; force (--force) replaces it")
    elif path.is_file() or (path.is_dir() and any(path.iterdir())):
        raise InputError(f"{path}: is there already, and no variant: name another folder")
    if not path.resolve().parent.is_dir():
        raise InputError(f"{path}: folder {path.resolve().parent} does not exist")
    return path


@contextmanager
def replacing_folder(path: Path, force: bool = False) -> Iterator[Path]:
    """Yield a new folder, which then takes the place of `path`.

    Raises
    ------
    InputError
        If something was put there meanwhile; see `check_folder`.
    """
    path = path.resolve()  # what a link leads to is replaced, not the link
    work = Path(mkdtemp(".part", f".{path.name}.", path.parent))
    new, old = work / "new", work / "old"
    try:
        new.mkdir()
        yield new
        check_folder(path, force)
        if path.is_dir():
            path.rename(old)
        try:
            new.rename(path)
        except BaseException:
            if old.is_dir():
                old.rename(path)
            raise
    finally:
        if path.is_dir() or not old.is_dir():
            shutil.rmtree(work)


def write_tensors(tensors: dict[str, Tensor], path: Path) -> None:
    """Write tensors as safetensors."""
    from safetensors.torch import save

    plain = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
    path.write_bytes(save(plain, metadata={"format": "pt"}))


def delta_of(network: nn.Module, base: nn.Module) -> dict[str, Tensor]:
    """Return what the weights of a network are beyond those of another, in half precision.

    Weights that are the same are left out; one that has several names stands once.
    """
    before = base.state_dict()
    found, places = {}, set()
    for name, value in network.state_dict().items():
        if isinstance(value, torch.Tensor) and value.is_floating_point():
            change = (value.detach().float() - before[name].float()).half()
            if change.any() and value.data_ptr() not in places:
                places.add(value.data_ptr())
                found[name] = change
    return found
