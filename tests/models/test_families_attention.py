"""Attention of every family against the matrices that transformers' slow path returns."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from sightline.attribution.methods import explain
from sightline.core import InputError
from sightline.models import Model, load_model
from tests.models.families import CASES, cut_patches, tiny, trunk_of

ATTENDING = [name for name, case in CASES.items() if case.attends]
SIGLIPS = [name for name in ATTENDING if "Siglip" in name]
SIZES = {"square": (64, 64), "wide": (96, 64), "tall": (64, 96)}
# How far queries and keys are from flat attention, and how near the result must be.
SHARPNESS = {1: 1e-6, 8: 1e-4}

IMAGES = [
    np.random.default_rng(seed).integers(0, 256, (90, 130, 3)).astype(np.uint8) for seed in (1, 2)
]


@cache
def model_of(name: str, sharp: int) -> Model:
    return load_model(tiny(name, sharp=sharp))


@cache
def matrices(name: str, sharp: int, shape: str) -> list[Tensor]:
    """The weights `(batch, heads, tokens, tokens)` of each layer, from a copy that is eager."""
    model = model_of(name, sharp).fitted(size=SIZES[shape])
    pixels = torch.cat([model.prepare(image).pixels for image in IMAGES])
    trunk = trunk_of(name, tiny(name, "eager", sharp))
    arguments: tuple[Any, ...] = (pixels,)
    options: dict[str, Any] = {"output_attentions": True}
    if CASES[name].hidden.__name__ in ("interpolated", "unmasked"):
        options["interpolate_pos_encoding"] = True
    if name == "ViTMAEModel":
        trunk.config.mask_ratio = 0.0
        options["noise"] = torch.arange(24 if shape != "square" else 16.0).float().repeat(2, 1)
    if "Siglip2" in name:
        arguments = cut_patches(pixels)
    with torch.no_grad():
        found = trunk(*arguments, **options).attentions
    assert len(found) == 3
    return list(found)


def on_grid(rows: Tensor, name: str, shape: str) -> Any:
    """Cut off what stands before the patches; put them in lines."""
    width, height = SIZES[shape]
    return rows[..., CASES[name].prefix :].unflatten(-1, (height // 16, width // 16)).numpy()


def check(found: Any, expected: list[Tensor], name: str, shape: str, near: float) -> None:
    """Compare maps with rows `(batch, heads, tokens)` by layer."""
    for layer, rows in enumerate(expected):
        for image in range(len(IMAGES)):
            goal = on_grid(rows[image], name, shape)
            assert goal.std() > 1e-4  # not flat: a wrong place would be seen
            np.testing.assert_allclose(found.values[image][layer], goal, rtol=0, atol=near)


@pytest.mark.parametrize("sharp", SHARPNESS)
@pytest.mark.parametrize("shape", SIZES)
@pytest.mark.parametrize("name", ATTENDING)
def test_rows_equal_eager_attention(name: str, shape: str, sharp: int) -> None:
    model = model_of(name, sharp).fitted(size=SIZES[shape])
    expected = matrices(name, sharp, shape)
    ways = {"mean": [layer.mean(2) for layer in expected]}
    if model.has_class_token:
        ways["cls"] = [layer[:, :, 0] for layer in expected]
    for method, rows in ways.items():
        single = explain(model, IMAGES, method, heads="all")
        check(single, rows, name, shape, SHARPNESS[sharp])
        fused = explain(model, IMAGES, method)
        check(fused, [row.mean(1, keepdim=True) for row in rows], name, shape, SHARPNESS[sharp])


@pytest.mark.parametrize("sharp", SHARPNESS)
@pytest.mark.parametrize("shape", SIZES)
@pytest.mark.parametrize("name", ATTENDING)
def test_rollout_equals_products_of_eager_attention(name: str, shape: str, sharp: int) -> None:
    model = model_of(name, sharp).fitted(size=SIZES[shape])
    expected, passed = [], torch.eye(1)
    for layer in matrices(name, sharp, shape):
        identity = torch.eye(layer.shape[-1])
        mixed = (layer.mean(1) + identity) / 2
        passed = mixed if passed.shape == (1, 1) else mixed @ passed
        row = passed[:, 0] if model.has_class_token else passed.mean(1)
        expected.append(row[:, None])
    found = explain(model, IMAGES, "rollout")
    check(found, expected, name, shape, SHARPNESS[sharp])


def test_sharp_weights_are_sharp() -> None:
    flat, sharp = (matrices("ViTModel", sharpness, "square") for sharpness in SHARPNESS)
    assert sharp[0].max(-1).values.mean() > 0.9 > flat[0].max(-1).values.mean()


def test_dinov3_turns_queries_and_keys() -> None:
    """Without the rotary embeddings the maps would be others."""
    model = model_of("DINOv3ViTModel", 1).fitted(size=(96, 64))
    network: Any = tiny("DINOv3ViTModel")
    kept: dict[str, Tensor] = {}
    layer = network.model.layer[0]
    for part in ("q_proj", "k_proj"):
        keep = lambda _, __, output, part=part: kept.update({part: output})  # noqa: E731
        getattr(layer.attention, part).register_forward_hook(keep)
    with torch.no_grad():
        network(model.prepare(IMAGES[0]).pixels)
    query, key = (kept[part].unflatten(-1, (4, 8)).transpose(1, 2) for part in ("q_proj", "k_proj"))
    unturned = (query @ key.transpose(2, 3) * 8**-0.5).softmax(-1).mean(2)
    found = explain(model, IMAGES[0], "mean", layers=0, heads="all").values[0][0]
    assert np.abs(found - on_grid(unturned[0], "DINOv3ViTModel", "wide")).max() > 1e-3


@pytest.mark.parametrize("shape", SIZES)
@pytest.mark.parametrize("name", SIGLIPS)
def test_pool_equals_a_multihead_attention_of_torch(name: str, shape: str) -> None:
    model = model_of(name, 1).fitted(size=SIZES[shape])
    pixels = torch.cat([model.prepare(image).pixels for image in IMAGES])
    trunk = trunk_of(name, tiny(name))
    attention = nn.MultiheadAttention(32, 4, batch_first=True)
    attention.load_state_dict(trunk.head.attention.state_dict())
    with torch.no_grad():
        hidden = CASES[name].hidden(trunk, pixels)
        probe = trunk.head.probe.expand(len(pixels), -1, -1)
        weights = attention(probe, hidden, hidden, average_attn_weights=False)[1][:, :, 0]
    check(explain(model, IMAGES, "pool", heads="all"), [weights], name, shape, 1e-6)
    check(explain(model, IMAGES, "pool"), [weights.mean(1, keepdim=True)], name, shape, 1e-6)


@pytest.mark.parametrize("name", SIGLIPS)
def test_cls_without_a_class_token_names_what_works(name: str) -> None:
    with pytest.raises(InputError, match=r"class token.*'mean'.*'pool'"):
        explain(model_of(name, 1), IMAGES[0], "cls")


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if not case.attends])
def test_attention_is_refused_where_there_is_none_over_the_whole_image(name: str) -> None:
    with pytest.raises(InputError, match="needs attention"):
        explain(load_model(tiny(name)), IMAGES[0], "mean")
