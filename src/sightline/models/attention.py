"""Queries and keys of every layer, seen while the network runs its own fast attention."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch.overrides import TorchFunctionMode

from sightline.core import InputError
from sightline.models.hooks import calls

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch import Tensor, nn

    from sightline.models.model import Model

__all__ = ["Heads", "seen_attention", "seen_pooling"]

_NAME = "sightline"
# Of torch's attention, those that may be given by their place.
_ARGUMENTS = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal")


class Heads(NamedTuple):
    """What attention works with in one layer: `(batch, heads, tokens, channels)` each.

    `output` is `(batch, tokens, heads, channels)` and part of the graph; the weights are
    ``softmax(query @ key.T * scale + mask)``, and `output` is those times `value`.
    """

    query: Tensor
    key: Tensor
    value: Tensor
    scale: float
    mask: Tensor | None
    output: Tensor

    def of(self, image: int) -> Heads:
        """Return the part of one image, as a batch of one."""
        one = slice(image, image + 1)
        mask = self.mask
        if mask is not None:
            mask = mask.expand(*self.query.shape[:3], self.key.shape[2])[one]
        return Heads(
            self.query[one], self.key[one], self.value[one], self.scale, mask, self.output[one]
        )

    def detached(self) -> Heads:
        """Return the same outside the graph."""
        parts = (self.query.detach(), self.key.detach(), self.value.detach())
        return Heads(*parts, self.scale, self.mask, self.output.detach())

    def without_values(self) -> Heads:
        """Return what the weights follow from; the rest is let go."""
        nothing = self.value.new_empty((*self.value.shape[:-1], 0))  # a part would keep the whole
        return self._replace(value=nothing, output=nothing)


# Which layer a module belongs to, and who wants to see it: filled only inside `seen_attention`.
_WATCHED: dict[nn.Module, tuple[int, Callable[[int, Heads], None], Callable[..., Any]]] = {}


@contextmanager
def seen_attention(model: Model, see: Callable[[int, Heads], None]) -> Iterator[None]:
    """Call `see(layer, heads)` whenever a layer of the model attends.

    Networks of transformers are seen through its attention interface, after rotary embeddings and
    whatever else a family does to queries and keys. Others through torch's
    `scaled_dot_product_attention`, which they must call once a layer.
    """
    owner = {module: i for i, layer in enumerate(model.layers) for module in layer.modules()}
    configs = {id(c): c for c in (getattr(m, "config", None) for m in owner) if _has_interface(c)}

    def checked(layer: int, heads: Heads) -> None:
        if heads.query.shape[1] != model.heads:
            seen = f"layer {layer} attends with {heads.query.shape[1]}"
            raise InputError(f"{model.name} is said to have {model.heads} heads, {seen}")
        see(layer, heads)

    if configs:
        with _interface(owner, list(configs.values()), checked):
            yield
    else:
        with _SeesTorch(checked) as mode, calls(model.layers, mode.enter(owner), mode.leave):
            yield


def _has_interface(config: Any) -> bool:
    return hasattr(config, "_attn_implementation")


@contextmanager
def _interface(
    owner: dict[nn.Module, int], configs: list[Any], see: Callable[[int, Heads], None]
) -> Iterator[None]:
    from transformers import AttentionInterface
    from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS

    known = AttentionInterface()
    known.register(_NAME, _watched_attention)
    ALL_MASK_ATTENTION_FUNCTIONS.register(_NAME, ALL_MASK_ATTENTION_FUNCTIONS["sdpa"])
    before = [(config, config._attn_implementation) for config in configs]
    watched = {module: _WATCHED.get(module) for module in owner}  # not empty where uses are nested
    try:
        for module, layer in owner.items():
            own = getattr(getattr(module, "config", None), "_attn_implementation", None)
            fast = known[own] if own in known and own != _NAME else known["sdpa"]
            _WATCHED[module] = (layer, see, fast)
        for config, _ in before:
            config._attn_implementation = _NAME
        yield
    finally:
        for config, name in before:
            config._attn_implementation = name
        for module, outer in watched.items():
            if outer is None:
                _WATCHED.pop(module, None)
            else:
                _WATCHED[module] = outer


def _watched_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    **options: Any,
) -> tuple[Tensor, None]:
    """Run the network's own attention, and show it."""
    if module not in _WATCHED:  # another network that shares the configuration
        from transformers import AttentionInterface

        output, _ = AttentionInterface()["sdpa"](module, query, key, value, mask, **options)
        return output, None
    layer, see, fast = _WATCHED[module]
    output, _ = fast(module, query, key, value, mask, **options)
    scale = options.get("scaling")
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    see(layer, Heads(query, key, value, scale, mask, output))
    return output, None


class _SeesTorch(TorchFunctionMode):  # type: ignore[misc]
    """Shows calls of torch's attention inside a layer, which must be one each time it runs."""

    def __init__(self, see: Callable[[int, Heads], None]) -> None:
        super().__init__()
        self._see = see
        self._layer: int | None = None
        self._seen = False

    def enter(self, owner: dict[nn.Module, int]) -> Callable[[nn.Module, Any], None]:
        def entered(module: nn.Module, _: Any) -> None:
            self._layer, self._seen = owner[module], False

        return entered

    def leave(self, _: nn.Module) -> None:
        self._layer = None

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        output = func(*args, **(kwargs or {}))
        attends = func is torch.nn.functional.scaled_dot_product_attention
        if not attends or self._layer is None:
            return output
        if self._seen:
            raise InputError(f"layer {self._layer} attends more than once: which is meant?")
        self._seen = True
        # The transposed tensor goes on through the network: gradients are taken at it.
        shown = output.transpose(1, 2)
        by_place = dict(zip(_ARGUMENTS, args, strict=False))
        self._see(self._layer, _given(shown, {**by_place, **(kwargs or {})}))
        return shown.transpose(1, 2)


def _given(output: Tensor, arguments: dict[str, Any]) -> Heads:
    """Return the arguments of torch's attention as heads."""
    query, key, value = (arguments[name] for name in ("query", "key", "value"))
    mask, scale = arguments.get("attn_mask"), arguments.get("scale")
    if query.ndim != 4:
        raise InputError(
            "queries must be (batch, heads, tokens, channels) for attention to be seen, got "
            f"{tuple(query.shape)}"
        )
    if arguments.get("is_causal"):
        mask = query.new_ones(query.shape[2], key.shape[2], dtype=torch.bool).tril()
    groups = query.shape[1] // key.shape[1]
    if groups > 1:  # several heads share their keys
        key, value = (part.repeat_interleave(groups, 1) for part in (key, value))
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    return Heads(query, key, value, scale, mask, output)


@contextmanager
def seen_pooling(model: Model, see: Callable[[Tensor], None]) -> Iterator[None]:
    """Call `see` with the weights `(batch, heads, patches)` of the model's pooling head."""

    def look(module: Any, arguments: tuple[Any, ...]) -> None:
        probe, patches = arguments[:2]
        width, heads = module.embed_dim, module.num_heads
        weight, bias = module.in_proj_weight, module.in_proj_bias
        query = torch.nn.functional.linear(probe, weight[:width], bias[:width])
        key = torch.nn.functional.linear(
            patches, weight[width : 2 * width], bias[width : 2 * width]
        )
        query, key = (part.unflatten(-1, (heads, -1)).transpose(1, 2) for part in (query, key))
        scores = query.float() @ key.float().transpose(2, 3) * query.shape[-1] ** -0.5
        see(scores.softmax(-1)[:, :, 0])

    with calls([model.pool] if model.pool is not None else [], look):
        yield
