"""What a model is: a network with its preprocessing, its parts, and how it is called."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from hashlib import sha256
from math import isqrt
from typing import TYPE_CHECKING, NamedTuple, TypeVar
from zlib import crc32

import numpy as np
import torch

from sightline.core import InputError, UnknownNameError
from sightline.models.hooks import undisturbed
from sightline.models.preprocess import ImageLike, Preprocess, as_image, as_images

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray
    from torch import Tensor, nn

    from sightline.core.geometry import Geometry

__all__ = ["Detections", "Inputs", "Model", "Output", "image_key", "neighbours"]

_One = TypeVar("_One")

_TOKENS = ("class", "distillation", "register")


class Detections(NamedTuple):
    """What a detector proposes for a batch of images.

    Attributes
    ----------
    boxes : Tensor (batch, boxes, 4)
        Corners x0, y0, x1, y1 as shares of the input.
    probabilities : Tensor (batch, boxes, classes)
        Of each class; they need not add up to 1. With objectness, given that the box holds
        something: their product is how sure the detector is of the class.
    objectness : Tensor (batch, boxes) or None
        How sure the detector is that a box holds anything; None where it does not say.

    Examples
    --------
    >>> import torch
    >>> from sightline.models import Detections
    >>> found = Detections(torch.tensor([[[0.0, 0.0, 0.5, 1.0]]]), torch.tensor([[[0.9, 0.2]]]))
    >>> found.boxes.shape, found.probabilities.argmax(-1).tolist(), found.objectness is None
    (torch.Size([1, 1, 4]), [[0]], True)
    """

    boxes: Tensor
    probabilities: Tensor
    objectness: Tensor | None = None


class Output(NamedTuple):
    """What one forward pass yields.

    Attributes
    ----------
    logits : Tensor (batch, classes) or None
        None where the network has no classes.
    features : Tensor (batch, channels, rows, columns)
        Of the patches, at the end of the network.
    embedding : Tensor (batch, channels) or None
        Of the whole image: the class token at the end of the network, or, where there is none,
        the mean of the patches. The model fills it in.
    detections : Detections or None
        None where the network detects nothing.

    Examples
    --------
    >>> import torch
    >>> from sightline.models import Output
    >>> output = Output(torch.zeros(1, 4), torch.zeros(1, 8, 2, 2))
    >>> output.logits.shape, output.features.shape, output.detections
    (torch.Size([1, 4]), torch.Size([1, 8, 2, 2]), None)
    """

    logits: Tensor | None
    features: Tensor
    embedding: Tensor | None = None
    detections: Detections | None = None


class Inputs(NamedTuple):
    """Images of equal input size.

    Attributes
    ----------
    pixels : Tensor (batch, 3, height, width)
        What the network takes.
    geometries : tuple of Geometry
        The way there of each image.
    keys : tuple of int
        A number for each that follows from its image alone; random numbers are drawn from it.

    Examples
    --------
    >>> import numpy as np
    >>> import torch
    >>> from sightline.models import Description, Preprocess, load_model
    >>> network = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 16, 16))
    >>> model = load_model(network, Description(["0"], Preprocess(size=(32, 32)), patch=16))
    >>> inputs = model.prepare(np.zeros((64, 48, 3), np.uint8))
    >>> inputs.pixels.shape, len(inputs.geometries)
    (torch.Size([1, 3, 32, 32]), 1)
    """

    pixels: Tensor
    geometries: tuple[Geometry, ...]
    keys: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Model:
    """A network, and what must be known to ask it where it looks.

    Attributes
    ----------
    name : str
        As given to `load_model`.
    network : nn.Module
        The network itself.
    preprocess : Preprocess
        How images become its input.
    forward : callable
        ``forward(network, pixels)`` returns an `Output`, whose features may still be tokens.
    patch : (width, height)
        Pixels of the input behind a cell of the last layer; inputs are a multiple.
    layers : tuple of nn.Module
        Blocks (transformers) or stages (CNNs), from input to output.
    cam_layers : tuple of nn.Module
        Where class activation maps read each layer; the layers themselves unless given.
    prefix : tuple of str
        Tokens before the patches: "class", "distillation", "register".
    heads : int
        Attention heads of a layer; 0 where there is no attention over the whole image.
    classes : tuple of str
        Names of the classes; empty where the network has none.
    pool : nn.Module or None
        Attention pooling at the end (SigLIP): a `torch.nn.MultiheadAttention`.
    family : str
        Type of the network in transformers; "module" for others.
    own : Preprocess
        The preprocessing it was loaded with; `fitted` begins from it.
    detects : tuple of str
        Names of the classes of its detections; empty where the network detects nothing.
    suffix : int
        How many tokens stand after the patches (those of YOLOS for detections).

    Examples
    --------
    >>> import torch
    >>> from sightline.models import Description, Preprocess, load_model
    >>> network = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 16, 16), torch.nn.ReLU())
    >>> model = load_model(network, Description(["0", "1"], Preprocess(size=(32, 32)), patch=16))
    >>> len(model.layers), model.heads, model.classes, model.fitted(fit="crop").preprocess.fit
    (2, 0, (), 'crop')
    """

    name: str
    network: nn.Module
    preprocess: Preprocess
    forward: Callable[[nn.Module, Tensor], Output]
    patch: tuple[int, int]
    layers: tuple[nn.Module, ...] = ()
    cam_layers: tuple[nn.Module, ...] = ()
    prefix: tuple[str, ...] = ()
    heads: int = 0
    classes: tuple[str, ...] = ()
    pool: nn.Module | None = None
    family: str = "module"
    own: Preprocess | None = None
    detects: tuple[str, ...] = ()
    suffix: int = 0

    def __post_init__(self) -> None:
        if not self.cam_layers:
            object.__setattr__(self, "cam_layers", self.layers)
        if len(self.cam_layers) != len(self.layers):
            seen = f"{len(self.cam_layers)} for {len(self.layers)} layers"
            raise InputError(f"{self.name}: cam_layers must be as many as layers, got {seen}")
        for token in self.prefix:
            if token not in _TOKENS:
                known = f"must be among {', '.join(_TOKENS)}"
                raise InputError(f"{self.name}: tokens of prefix {known}, got {token!r}")
        if self.heads < 0:
            raise InputError(f"{self.name}: heads must be 0 or more, got {self.heads}")
        if self.own is None:
            object.__setattr__(self, "own", self.preprocess)
        try:
            self.preprocess.geometry(64, 48, self.patch)  # raises where the patch does not fit
        except InputError as error:
            raise InputError(f"{self.name}: {error}") from error

    def __repr__(self) -> str:
        size = "any" if self.preprocess.size is None else "{}x{}".format(*self.preprocess.size)
        parts = f"{len(self.layers)} layers, {self.heads} heads, {len(self.classes)} classes"
        parts += f", detects {len(self.detects)}" if self.detects else ""
        patch = "{}x{}".format(*self.patch)
        return f"Model({self.name!r}, {size} {self.preprocess.fit}, patch {patch}, {parts})"

    @property
    def device(self) -> torch.device:
        """Where the network is."""
        return next((p.device for p in self.network.parameters()), torch.device("cpu"))

    @property
    def dtype(self) -> torch.dtype:
        """The precision of the network."""
        return next((p.dtype for p in self.network.parameters()), torch.float32)

    @property
    def has_class_token(self) -> bool:
        """Whether a class token stands before the patches."""
        return "class" in self.prefix

    @property
    def digest(self) -> str:
        """16 hex digits over the names and values of all weights, as they are now."""
        total = sha256()
        for name, value in sorted(self.network.state_dict().items()):
            if not isinstance(value, torch.Tensor):  # what a module saves beside its weights
                continue
            total.update(f"{name} {value.dtype} {tuple(value.shape)} ".encode())
            flat = value.detach().cpu().contiguous().flatten()
            total.update(flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b"")
        return total.hexdigest()[:16]

    def fitted(self, *, fit: str | None = None, size: int | Sequence[int] | None = None) -> Model:
        """Return the model with another fit or input size; it shares the network."""
        old, own = self.preprocess, self.own or self.preprocess
        fit = old.fit if fit is None else fit
        new = None if size is None else _pair(size)
        if new is None and (fit == "native") == (old.fit == "native"):
            new = old.size
        elif new is None and fit != "native":
            new = old.size or own.size
        resize_to = own.resize_to
        if resize_to is not None and own.size is not None and new is not None:
            resize_to = round(resize_to * min(new) / min(own.size))
        return replace(self, preprocess=replace(old, size=new, fit=fit, resize_to=resize_to))

    def prepare(self, image: ImageLike) -> Inputs:
        """Return one image as the input of the network, on its device."""
        picture = as_image(image)
        pixels, geometry = self.preprocess(picture, self.patch)
        tensor = torch.from_numpy(pixels)[None].to(self.device, self.dtype)
        return Inputs(tensor, (geometry,), (image_key(picture),))

    def batches(
        self, images: ImageLike | Sequence[ImageLike], batch: int | Callable[[Tensor], int]
    ) -> Iterator[Inputs]:
        """Yield inputs of at most `batch` images, in order; each of one size.

        A function tells how many from the pixels of one image.
        """
        whole = isinstance(batch, int | np.integer)
        if not callable(batch) and (not whole or batch < 1):
            raise InputError(f"batch must be 1 or more, got {batch!r}")
        prepared = (self.prepare(image) for image in as_images(images))
        most = (lambda one: batch(one.pixels)) if callable(batch) else (lambda _: batch)
        for some in neighbours(prepared, lambda one: one.pixels.shape, most):
            yield _joined(some)

    def __call__(self, pixels: Tensor) -> Output:
        """Run the network on pixels `(batch, 3, height, width)`."""
        output = self.forward(self.network, pixels)
        self._check_logits(output.logits)
        self._check_detections(output.detections)
        features = self.to_grid(output.features, pixels)
        cells, said = features.shape[:1:-1], tuple(pixels.shape[:1:-1])
        expected = tuple(side // cell for side, cell in zip(said, self.patch, strict=True))
        if tuple(cells) != expected:
            seen, input_size, cell = ("{}x{}".format(*pair) for pair in (cells, said, self.patch))
            raise InputError(
                f"{self.name}: an input of {input_size} gives {seen} cells, but with patch {cell} "
                f"it must be {expected[0]}x{expected[1]}; is patch right?"
            )
        embedding = output.embedding
        if embedding is None:
            first = output.features.ndim == 3 and self.prefix[:1] == ("class",)
            embedding = output.features[:, 0] if first else features.mean((2, 3))
        return output._replace(features=features, embedding=embedding)

    def _check_logits(self, logits: Tensor | None) -> None:
        """Raise where a network that has classes does not give one number for each."""
        shape = None if logits is None else tuple(logits.shape[1:])
        if self.classes and shape != (len(self.classes),):
            seen = "no logits" if logits is None else f"logits of shape {tuple(logits.shape)}"
            raise InputError(
                f"{self.name} has {len(self.classes)} classes, but its forward pass gives {seen}"
            )

    def _check_detections(self, found: Detections | None) -> None:
        """Raise where a network that detects does not give boxes with one number a class."""
        if not self.detects:
            return
        if found is None:
            raise InputError(f"{self.name} detects, but its forward pass gives no detections")
        boxes, probabilities, objectness = found
        shape, count = tuple(boxes.shape), len(self.detects)
        if len(shape) != 3 or shape[2] != 4 or tuple(probabilities.shape) != (*shape[:2], count):
            seen = f"{shape} and {tuple(probabilities.shape)}"
            raise InputError(
                f"{self.name}: detections must be boxes (batch, n, 4) and probabilities "
                f"(batch, n, {count}), got {seen}"
            )
        if objectness is not None and tuple(objectness.shape) != shape[:2]:
            seen = f"{tuple(objectness.shape)}"
            raise InputError(f"{self.name}: objectness must be {shape[:2]}, got {seen}")

    def logits(self, images: ImageLike | Sequence[ImageLike], *, batch: int = 16) -> Tensor:
        """Return what the network says about images: `(images, classes)`, on the CPU."""
        self.check_classes("logits")

        def logits(output: Output) -> list[Tensor]:
            return [] if output.logits is None else list(output.logits.float().cpu())

        found = self._each(images, batch, logits)
        return torch.stack(found) if found else torch.empty(0, len(self.classes))

    def features(self, images: ImageLike | Sequence[ImageLike], *, batch: int = 16) -> list[Tensor]:
        """Return the patch features of each image: `(channels, rows, columns)`, on the CPU."""
        return self._each(images, batch, lambda output: list(output.features.cpu()))

    def embeddings(self, images: ImageLike | Sequence[ImageLike], *, batch: int = 16) -> Tensor:
        """Return one vector for each image: `(images, channels)`, on the CPU.

        The class token at the end of the network, or, where there is none, the mean of the patches.
        """

        def embedding(output: Output) -> list[Tensor]:
            return [] if output.embedding is None else list(output.embedding.float().cpu())

        found = self._each(images, batch, embedding)
        if not found:
            raise InputError("images must hold at least one image, got none")
        return torch.stack(found)

    def _each(
        self,
        images: ImageLike | Sequence[ImageLike],
        batch: int,
        pick: Callable[[Output], list[Tensor]],
    ) -> list[Tensor]:
        """Return what is picked of each image's output; nothing else is kept."""
        with undisturbed(self.network), torch.no_grad():
            parts = [pick(self(inputs.pixels)) for inputs in self.batches(images, batch)]
        return [one for part in parts for one in part]

    def check_classes(self, what: str) -> None:
        """Raise where there are no classes for `what`."""
        if not self.classes:
            raise InputError(f"{what} needs classes, and {self.name} has none")

    def class_index(self, target: int | str) -> int:
        """Return the number of a class given by number or name."""
        self.check_classes(f"target {target!r}")
        if isinstance(target, str):
            if self.classes.count(target) > 1:
                same = [number for number, name in enumerate(self.classes) if name == target]
                raise InputError(f"{self.name} has several classes {target!r}: give one of {same}")
            if target in self.classes:
                return self.classes.index(target)
            if not target.isdecimal():
                close = get_close_matches(target, self.classes, n=1)
                hint = f"did you mean {close[0]!r}? " if close else ""
                known = f"{hint}Known: {_listed(self.classes)}"
                raise UnknownNameError(f"unknown class {target!r} of {self.name}; {known}")
        number = int(target)
        if not 0 <= number < len(self.classes):
            raise InputError(
                f"class must be from 0 to {len(self.classes) - 1} for {self.name}, got {target!r}"
            )
        return number

    def layer_indices(self, layers: str | int | Iterable[int]) -> tuple[int, ...]:
        """Return the numbers of layers, counted from 0; -1 is the last."""
        return _indices(layers, len(self.layers), "layer", self.name)

    def head_indices(self, heads: str | int | Iterable[int]) -> tuple[int, ...]:
        """Return the numbers of heads, counted from 0; -1 is the last."""
        return _indices(heads, self.heads, "head", self.name)

    def to_grid(self, values: Tensor, pixels: Tensor) -> Tensor:
        """Return what a layer says of the patches as `(batch, channels, rows, columns)`.

        Four dimensions stay as they are. Tokens `(batch, tokens, channels)` lose those before the
        patches and take the shape of the input.
        """
        if values.ndim == 4:
            return values
        if values.ndim != 3:
            raise InputError(
                f"{self.name}: a layer must give tokens (batch, tokens, channels) or "
                f"(batch, channels, rows, columns), got {tuple(values.shape)}"
            )
        patches = values[:, len(self.prefix) : values.shape[1] - self.suffix]
        height, width = pixels.shape[-2:]
        # Rows to columns are as the cells of the last layer; layers before it may have more.
        down, across = height * self.patch[0], width * self.patch[1]
        rows = isqrt(patches.shape[1] * down // across)
        columns = patches.shape[1] // max(rows, 1)
        fills = rows * columns == patches.shape[1] and rows * across == columns * down
        if not fills or rows == 0 or height % rows:
            raise InputError(
                f"{self.name}: {patches.shape[1]} patch tokens do not fill an input of "
                f"{width}x{height}; is prefix {self.prefix!r} right?"
            )
        return patches.transpose(1, 2).unflatten(2, (rows, columns))


def image_key(picture: NDArray[np.uint8]) -> int:
    """Return the number of an image that follows from its pixels and its shape alone."""
    pixels = np.ascontiguousarray(picture).data  # a copy would double the memory
    return crc32(pixels, crc32(repr(picture.shape).encode()))


def neighbours(
    found: Iterable[_One], size: Callable[[_One], object], most: Callable[[_One], int]
) -> Iterator[list[_One]]:
    """Yield neighbours of one size together, no more than the first of them allows.

    >>> list(neighbours("aabbb", str, lambda one: 2))
    [['a', 'a'], ['b', 'b'], ['b']]
    """
    waiting: list[_One] = []
    limit = 0
    for new in found:
        if waiting and (len(waiting) == limit or size(waiting[0]) != size(new)):
            yield waiting
            waiting = []
        if not waiting:
            limit = most(new)
        waiting.append(new)
    if waiting:
        yield waiting


def _joined(parts: list[Inputs]) -> Inputs:
    pixels, geometries, keys = zip(*parts, strict=True)
    return Inputs(torch.cat(pixels), sum(geometries, ()), sum(keys, ()))


def _pair(size: int | Sequence[int]) -> tuple[int, int]:
    pair = tuple(size) if isinstance(size, Iterable) else (size, size)
    if len(pair) != 2 or any(not isinstance(n, int | np.integer) or n < 1 for n in pair):
        raise InputError(f"size must be a side or (width, height) in pixels, got {size!r}")
    return int(pair[0]), int(pair[1])


def _indices(asked: str | int | Iterable[int], count: int, what: str, name: str) -> tuple[int, ...]:
    if count == 0:
        raise InputError(f"{name} has no {what}s")
    if isinstance(asked, str):
        if asked == "all":
            return tuple(range(count))
        raise InputError(f"{what}s must be 'all' or numbers, got {asked!r}")
    numbers = list(asked) if hasattr(asked, "__iter__") else [asked]
    for number in numbers:
        if not isinstance(number, int | np.integer) or not -count <= number < count:
            raise InputError(
                f"{what} must be from 0 to {count - 1} for {name} (or from -{count} to -1, "
                f"counted from the end), got {number!r}"
            )
    if not numbers:
        raise InputError(f"no {what}s were asked for")
    chosen = tuple(int(number) % count for number in numbers)
    if len(set(chosen)) < len(chosen):
        raise InputError(f"{what}s must differ, got {', '.join(map(str, chosen))}")
    return chosen


def _listed(names: Sequence[str], most: int = 12) -> str:
    more = f", … ({len(names)} in all)" if len(names) > most else ""
    return ", ".join(names[:most]) + more
