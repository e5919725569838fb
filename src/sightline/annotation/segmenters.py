"""Networks of the SAM family: an image and points or a box on it in, masks out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import nn

from sightline.core import InputError, UnknownNameError
from sightline.core.geometry import Geometry
from sightline.models import Model
from sightline.models.huggingface import (
    CONFIG,
    explained,
    load_hub,
    load_network,
    read_config,
    read_preprocess,
    read_processor,
)
from sightline.models.load import find_folder, usable_device
from sightline.models.model import Output
from sightline.models.preprocess import Preprocess

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray
    from torch import Tensor

__all__ = ["CornerPreprocess", "Masks", "Segmenter", "last_level", "load_segmenter"]

# ImageNet's colours, as every published member of the family has them.
_COLOURS: Any = {"mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)}
# By `model_type`: the class of transformers. Weights of SAM 2 are published with those for videos.
_CLASSES = {"sam": "SamModel", "sam2": "Sam2Model", "sam2_video": "Sam2Model"}
_KINDS = "'hf:' with a folder or an id of the Hugging Face hub, or a network of transformers"


class CornerPreprocess(Preprocess):
    """The preprocessing of SAM: longer side to that of the input, padding at right and below.

    Examples
    --------
    >>> CornerPreprocess(size=(64, 64), fit="letterbox").geometry(200, 100)
    Geometry(200x100 -> 64x64, scale 0.32x0.32, offset 0.0,0.0, patch 1x1)
    """

    __slots__ = ()

    def geometry(self, width: int, height: int, patch: tuple[int, int] = (1, 1)) -> Geometry:
        """Return the way from an image of this size to the input, which `patch` must divide."""
        side = min(self.size or (1, 1))
        scale = side / max(width, height)
        wide, high = (max(1, int(length * scale + 0.5)) for length in (width, height))
        resized = Geometry.of(width, height).resize(wide, high)
        return resized.pad(0, 0, side - wide, side - high).patches(*patch)


class Masks(NamedTuple):
    """Masks as a network gives them.

    Attributes
    ----------
    logits : array of float32 (prompts, masks, rows, columns)
        Above 0 inside; the grid covers the whole input, padding included.
    ious : array of float32 (prompts, masks)
        What the network expects the IoU of each with the true mask to be.
    """

    logits: NDArray[np.float32]
    ious: NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Segmenter:
    """A network of the SAM family.

    Attributes
    ----------
    model : Model
        Its encoder of images as a model: preprocessing, features (the embedding of the image) and
        the digest of all weights, those of the decoder too.

    Notes
    -----
    The network has `get_image_embeddings(pixels)`, and called with `image_embeddings`,
    `multimask_output` and `input_points` or `input_boxes` it returns `pred_masks` and `iou_scores`,
    as those of transformers do. Points are given to it as the indices of pixels (whose centres are
    at half numbers): it adds 0.5 itself.
    """

    model: Model

    def embed(self, pixels: Tensor) -> Any:
        """Return the embedding of an image `(1, 3, height, width)`; asked once for each image."""
        return self.model.network.get_image_embeddings(pixels)

    def at_points(self, embedding: Any, points: NDArray[np.float64]) -> Masks:
        """Return the masks (three, as a rule) of points `(n, 2)`, in pixels of the input."""
        given = self._tensor(points - 0.5)[None, :, None]
        return self._masks(embedding, len(points), input_points=given, multimask_output=True)

    def in_box(self, embedding: Any, box: NDArray[np.float64]) -> Masks:
        """Return the one mask of a box, whose corners are in pixels of the input."""
        given = self._tensor(box - 0.5)[None, None]
        return self._masks(embedding, 1, input_boxes=given, multimask_output=False)

    def _tensor(self, values: NDArray[np.float64]) -> Tensor:
        return torch.from_numpy(values).to(self.model.device, self.model.dtype)

    def _masks(self, embedding: Any, count: int, **prompt: Any) -> Masks:
        answer = self.model.network(image_embeddings=embedding, **prompt)
        logits, ious = answer.pred_masks, answer.iou_scores
        if logits.ndim != 5 or logits.shape[:2] != (1, count) or ious.shape != logits.shape[:3]:
            seen = f"{tuple(logits.shape)} and {tuple(ious.shape)}"
            raise InputError(
                f"{self.model.name}: masks of {count} prompts must be (1, {count}, masks, rows, "
                f"columns), with one predicted IoU each, got {seen}"
            )
        found = Masks(*(part[0].float().cpu().numpy() for part in (logits, ious)))
        if not np.isfinite(found.ious).all() or not np.isfinite(found.logits).all():
            raise InputError(f"{self.model.name}: masks or predicted IoUs are not finite numbers")
        return found


def load_segmenter(spec: str | nn.Module, *, device: str | torch.device | None = None) -> Segmenter:
    """Return a network of the SAM family by name, or one in hand.

    Parameters
    ----------
    spec : str or nn.Module
        "hf:" with a folder or an id of the Hugging Face hub: `config.json` (of SAM or SAM 2),
        `model.safetensors` and, if any, `preprocessor_config.json`. Or a network: a `SamModel` or
        `Sam2Model`, or what is called as they are and has their `config`.
    device : str or torch.device
        Where to run; the CPU unless given.

    Raises
    ------
    InputError
        If a file is missing or broken, or the network is of another family.
    """
    if isinstance(spec, nn.Module):
        name = type(spec).__name__
        kind, size, patch = _sizes(getattr(spec, "config", None), name)
        segmenter = _segmenter(name, spec, _usual(kind, size), patch)
    elif isinstance(spec, str) and spec.startswith("hf:") and spec[3:]:
        segmenter = _from_folder(spec, find_folder(spec[3:]) or load_hub(spec[3:]))
    else:
        raise InputError(f"model of the proposer 'sam' must be {_KINDS}; got {spec!r}")
    if device is not None:
        segmenter.model.network.to(usable_device(device))
    return segmenter


def _from_folder(name: str, folder: Path) -> Segmenter:
    import transformers

    kind = read_config(folder).get("model_type")
    if kind not in _CLASSES:
        known = f"must be one of {', '.join(_CLASSES)} for the proposer 'sam'"
        raise UnknownNameError(f"{folder / CONFIG}: model_type {known}, got {kind!r}")
    with explained(folder):
        network = load_network(folder, getattr(transformers, _CLASSES[kind]), exact=True)
        _, size, patch = _sizes(network.config, str(folder / CONFIG))
        _check_processor(folder, size)
        usual = _usual(kind, size)
        said = read_preprocess(folder, network.config, usual)
        preprocess = replace(usual, mean=said.mean, std=said.std, resample=said.resample)
        return _segmenter(name, network, preprocess, patch)


def _usual(kind: str, side: int) -> Preprocess:
    """Return how the family brings images to its input: SAM pads, SAM 2 stretches."""
    if kind == "sam":
        return CornerPreprocess((side, side), "letterbox", resample="bilinear", **_COLOURS)
    return Preprocess((side, side), resample="bilinear", **_COLOURS)


def _segmenter(name: str, network: Any, preprocess: Preprocess, patch: int) -> Segmenter:
    return Segmenter(Model(name, network.eval(), preprocess, _encode, (patch, patch)))


def _encode(network: Any, pixels: Tensor) -> Output:
    return Output(None, last_level(network.get_image_embeddings(pixels)))


def last_level(embedding: Any) -> Tensor:
    """Return the embedding of an image itself, without the finer levels that SAM 2 adds."""
    level: Tensor = embedding if isinstance(embedding, torch.Tensor) else embedding[-1]
    return level


def _sizes(config: Any, where: str) -> tuple[str, int, int]:
    """Return the type of a network, the side of its input and of a cell of its embedding."""
    kind = getattr(config, "model_type", None)
    if kind not in _CLASSES:
        known = f"of type {', '.join(_CLASSES)}"
        raise InputError(f"{where}: must be a network {known} with its config, got {kind!r}")
    vision, prompts = config.vision_config, config.prompt_encoder_config
    sides = [
        _side(getattr(vision, "backbone_config", vision).image_size),
        _side(prompts.image_size),
    ]
    patch = _side(prompts.patch_size)
    if None in sides or sides[0] != sides[1] or patch is None or sides[0] % patch:
        seen = f"image_size {sides[0]} and {sides[1]}, patch_size {patch}"
        raise InputError(
            f"{where}: encoder of images and of prompts must take the same square input, "
            f"a multiple of the patch; got {seen}"
        )
    return kind, sides[0], patch


def _side(size: Any) -> Any:
    """Return a side that was given once or twice, else None."""
    lengths = set(size) if isinstance(size, list | tuple) else {size}
    side = lengths.pop()
    return side if not lengths and isinstance(side, int) and side > 0 else None


def _check_processor(folder: Path, side: int) -> None:
    """Refuse files that say another size of the input than the network has."""
    name, said = read_processor(folder)
    for field in ("size", "pad_size"):
        lengths = said.get(field)
        lengths = lengths if isinstance(lengths, dict) else {field: lengths}
        other = {key: length for key, length in lengths.items() if length not in (None, side)}
        if other:
            raise InputError(
                f"{folder / name}: {field} must be {side}, as image_size of {CONFIG}, got {other}"
            )
