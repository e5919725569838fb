"""Networks of timm, with random weights: attention is that of timm's own extraction.

They need timm and torchvision, and no network. Where hypothesis is missing, run them alone:
`python -m pytest --noconftest tests/models/test_timm.py`.
"""

from __future__ import annotations

import warnings
from copy import deepcopy
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from sightline.attribution.methods import METHODS, Maps, explain
from sightline.core import InputError, MissingPackageError
from sightline.models import Description, Model, Preprocess, load_model
from sightline.models.attention import seen_attention
from sightline.models.timm import describe_timm, load_timm

try:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import timm
        from timm.models.vision_transformer import ParallelScalingBlock, ResPostBlock
        from timm.utils import AttentionExtract
except (ImportError, RuntimeError) as error:  # torchvision is missing, or of another torch
    pytest.skip(f"timm cannot be imported here: {error}", allow_module_level=True)

pytestmark = pytest.mark.filterwarnings("ignore:::timm", "ignore:::torch.jit")

SMALL = {"embed_dim": 32, "depth": 3, "num_heads": 4, "num_classes": 3}
SIZED = {**SMALL, "img_size": 64, "dynamic_img_size": True}
FOURTEEN = {**SMALL, "img_size": 56, "dynamic_img_size": True}
# Names of timm, how to make them small, and the tokens before their patches.
VITS: dict[str, tuple[str, dict[str, Any], tuple[str, ...]]] = {
    "vit": ("vit_tiny_patch16_224", SIZED, ("class",)),
    "deit": ("deit_tiny_distilled_patch16_224", SIZED, ("class", "distillation")),
    "dinov2": ("vit_small_patch14_reg4_dinov2", FOURTEEN, ("class", *["register"] * 4)),
    "siglip": ("vit_base_patch16_siglip_224", SIZED, ()),
    "parallel": ("vit_tiny_patch16_224", {**SIZED, "block_fn": ParallelScalingBlock}, ("class",)),
    "post norm": ("vit_tiny_patch16_224", {**SIZED, "block_fn": ResPostBlock}, ("class",)),
    "eva": ("eva_giant_patch14_224", FOURTEEN, ("class",)),
    "eva02": ("eva02_tiny_patch14_224", FOURTEEN, ("class",)),
    "eva post norm": ("eva02_tiny_patch14_224", {**FOURTEEN, "use_post_norm": True}, ("class",)),
    "dinov3": ("vit_small_patch16_dinov3", SIZED, ("class", *["register"] * 4)),
    "beit": ("beit_base_patch16_224", {**SMALL, "img_size": 64}, ("class",)),
    "relpos": ("vit_relpos_small_patch16_224", {**SMALL, "img_size": 64}, ()),
}
FIXED = ("beit", "relpos")  # those take inputs of one size
TURNED = ("eva02", "eva post norm", "dinov3")  # rotary embeddings
CNNS = {
    "resnet": ("resnet10t", 5),
    "convnext": ("convnext_atto", 4),
    "mobilenet": ("mobilenetv3_small_050", 5),
    "regnet": ("regnety_002", 5),
}
KNOWN = [name for name, (made, *_) in VITS.items() if made in timm.list_models()]
WALKED = [name for name in ("vit", "dinov2", "siglip", "eva02") if name in KNOWN]
FEW = {"steps": 2, "samples": 4, "masks": 4, "segments": 4, "channels": 4, "window": 32}
PICKY = ("cam", "hirescam", "deeplift", "guided_backprop", "lrp")  # they check whether they hold
IMAGES: list[Any] = list(np.random.default_rng(11).integers(0, 256, (3, 50, 70, 3), np.uint8))


def make(name: str, **options: Any) -> Any:
    """A small network of timm, its matrices far from 0."""
    torch.manual_seed(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made, settings, _ = VITS[name] if name in VITS else (CNNS[name][0], {"num_classes": 3}, ())
        network = timm.create_model(made, pretrained=False, **{**settings, **options})
    with torch.no_grad():
        for key, value in network.named_parameters():
            if value.ndim > 1 and name in VITS:
                value.normal_(std=0.03 if key.startswith("head") else 0.3)
            elif "gamma" in key or ".ls" in key:  # so small at the start that nothing is seen
                value.fill_(1)
    return network.eval()


@cache
def model_of(name: str, shape: str = "square") -> Model:
    model = describe_timm(f"timm:{name}", make(name))
    side = model.patch[0]
    if name in CNNS:
        return model.fitted(size=(64, 64) if shape == "square" else (96, 64))
    return model.fitted(size=(4 * side, 4 * side) if shape == "square" else (6 * side, 4 * side))


def pixels_of(model: Model) -> Tensor:
    return torch.cat([model.prepare(image).pixels for image in IMAGES])


def matrices(name: str, model: Model) -> list[Tensor]:
    """The weights `(batch, heads, tokens, tokens)` of each block, as timm itself extracts them."""
    network: Any = deepcopy(model.network)
    for module in network.modules():
        if hasattr(module, "fused_attn"):
            module.fused_attn = False
    extract = AttentionExtract(network, names=["blocks.*attn_drop"], method="hook")
    with torch.no_grad():
        found = extract(pixels_of(model))
    assert len(found) == 3
    return list(found.values())


shapes = pytest.mark.parametrize(
    ("name", "shape"),
    [(n, s) for n in KNOWN for s in ("square", "wide") if s == "square" or n not in FIXED],
)


@shapes
def test_attention_is_what_timm_extracts(name: str, shape: str) -> None:
    model = model_of(name, shape)
    expected = matrices(name, model)
    before = len(VITS[name][2])
    side = (4, 4 if shape == "square" else 6)
    ways = {"mean": [layer.mean(2) for layer in expected]}
    if model.has_class_token:
        ways["cls"] = [layer[:, :, 0] for layer in expected]
    for method, rows in ways.items():
        found = explain(model, IMAGES, method, heads="all")
        for layer, row in enumerate(rows):
            goal = row[..., before:].unflatten(-1, side).numpy()
            assert goal.std() > 1e-3
            values = np.stack([image[layer] for image in found.values])
            np.testing.assert_allclose(values, goal, rtol=0, atol=1e-4)


@pytest.mark.parametrize("name", KNOWN)
def test_rollout_is_the_product_of_what_timm_extracts(name: str) -> None:
    model = model_of(name)
    passed: Any = 1
    for layer in matrices(name, model):
        mixed = (layer.mean(1) + torch.eye(layer.shape[-1])) / 2
        passed = mixed if isinstance(passed, int) else mixed @ passed
    row = passed[:, 0] if model.has_class_token else passed.mean(1)
    goal = row[:, None, len(VITS[name][2]) :].unflatten(-1, (4, 4)).numpy()
    found = explain(model, IMAGES, "rollout", layers=-1)
    np.testing.assert_allclose(
        np.concatenate([v[0] for v in found.values])[:, None], goal, atol=1e-5
    )


@pytest.mark.parametrize("name", [name for name in KNOWN if name in TURNED])
def test_rotary_embeddings_count(name: str) -> None:
    """The queries and keys that are seen are not those of the projection alone."""
    model, seen = model_of(name), {}
    with torch.no_grad(), seen_attention(model, lambda i, heads: seen.update({i: heads})):
        model(pixels_of(model))
    before = len(model.prefix)
    block: Any = model.network.blocks[0]
    inputs: list[Tensor] = []
    handle = block.attn.register_forward_pre_hook(lambda _, given: inputs.append(given[0]))
    with torch.no_grad():
        model(pixels_of(model))
    handle.remove()
    projected = block.attn.qkv if block.attn.qkv is not None else block.attn.q_proj
    bias = getattr(block.attn, "q_bias", None)
    query = projected(inputs[0]).unflatten(-1, (-1, 4, 8))[:, :, 0].transpose(1, 2)
    assert bias is None or not bias.abs().max()  # as it begins
    torch.testing.assert_close(seen[0].query[:, :, :before], query[:, :, :before])
    assert (seen[0].query[:, :, before:] - query[:, :, before:]).abs().max() > 0.1


@shapes
def test_features_and_logits_are_those_of_timm(name: str, shape: str) -> None:
    model = model_of(name, shape)
    pixels, network = pixels_of(model), model.network
    with torch.no_grad():
        output, tokens = model(pixels), network.forward_features(pixels)
        torch.testing.assert_close(output.logits, network(pixels))
    assert model.prefix == VITS[name][2]
    patches = tokens[:, len(model.prefix) :]
    torch.testing.assert_close(output.features.flatten(2).transpose(1, 2), patches)
    assert output.features.shape[2:] == (4, 4 if shape == "square" else 6)
    whole = tokens[:, 0] if model.has_class_token else patches.mean(1)
    torch.testing.assert_close(output.embedding, whole)
    assert model.layers == tuple(network.blocks)
    assert (model.heads, model.classes) == (4, ("0", "1", "2"))


@pytest.mark.parametrize("name", [name for name in KNOWN if name not in FIXED])
def test_patches_are_where_they_are_in_the_image(name: str) -> None:
    """Another patch changes its own cell of the first layer the most, where attention is shut."""
    model = model_of(name, "wide")
    network: Any = deepcopy(model.network)
    with torch.no_grad():
        for block in network.blocks:
            out = block.attn.proj if hasattr(block, "attn") else block.attn_out_proj
            (out if out is not None else block.out_proj).weight.zero_()
    shut = describe_timm("shut", network).fitted(size=model.preprocess.size)
    pixels = pixels_of(shut)[:1]
    other, side = pixels.clone(), model.patch[0]
    other[:, :, 2 * side : 3 * side, 5 * side : 6 * side] += 1
    with torch.no_grad():
        change = (shut(other).features - shut(pixels).features).abs().amax(1)[0]
    assert change.argmax() == 2 * 6 + 5
    assert (change > 1e-4).sum() == 1


@pytest.mark.parametrize("name", KNOWN)
def test_class_activation_maps_read_what_blocks_attend_over(name: str) -> None:
    """The patches that enter attention are the last that reach the classes by the class token."""
    model = model_of(name)
    block: Any = model.layers[-1]
    attends = block.attn if hasattr(block, "attn") else block
    inputs, read = [], []
    target = attends if attends is not block else block.in_proj
    handles = [
        target.register_forward_pre_hook(lambda _, given: inputs.append(given[0])),
        model.cam_layers[-1].register_forward_hook(lambda _, __, out: read.append(out)),
    ]
    with torch.no_grad():
        model(pixels_of(model))
    for handle in handles:
        handle.remove()
    torch.testing.assert_close(inputs[0], read[0])


def test_networks_of_one_size_say_so() -> None:
    model = describe_timm("fixed", make("vit", dynamic_img_size=False))
    with pytest.raises(InputError, match="takes 64 x 64 pixels only, got 96 x 64"):
        model.fitted(size=(96, 64)).logits(IMAGES)
    assert model.logits(IMAGES).shape == (3, 3)


@pytest.mark.parametrize("name", ["vit", "eva02"])
def test_attention_is_seen_where_timm_was_told_to_compute_it_slowly(name: str) -> None:
    network = make(name)
    for block in network.blocks:
        block.attn.fused_attn = False
    slow = explain(describe_timm("slow", network), IMAGES, "cls")
    fast = explain(model_of(name), IMAGES, "cls")
    for one, other in zip(slow.values, fast.values, strict=True):
        np.testing.assert_array_equal(one[-1], other[-1])
    assert not any(block.attn.fused_attn for block in network.blocks)


@pytest.mark.parametrize("name", CNNS)
def test_cnns_have_their_stages(name: str) -> None:
    for shape, columns in (("square", 2), ("wide", 3)):
        model = model_of(name, shape)
        pixels, network = pixels_of(model), model.network
        with torch.no_grad():
            output = model(pixels)
            torch.testing.assert_close(output.logits, network(pixels))
            torch.testing.assert_close(output.features, network.forward_features(pixels))
        assert output.features.shape[2:] == (2, columns)
        assert (len(model.layers), model.heads, model.patch) == (CNNS[name][1], 0, (32, 32))
    with pytest.raises(InputError, match="needs attention"):
        explain(model, IMAGES[0], "mean")


def few(method: str) -> dict[str, int]:
    return {key: value for key, value in FEW.items() if key in METHODS[method].params}


@cache
def exact(name: str) -> Model:
    """The network in double precision: what is left of a difference is no rounding."""
    model = model_of(name)
    return describe_timm(model.name, deepcopy(model.network).double()).fitted(
        size=model.preprocess.size
    )


def state(network: nn.Module) -> list[Any]:
    hooks = [(len(m._forward_hooks), len(m._forward_pre_hooks)) for m in network.modules()]
    weights = [(name, value.clone()) for name, value in network.state_dict().items()]
    return [hooks, [m.training for m in network.modules()], weights]


def attempt(model: Model, method: str) -> Maps | None:
    """The maps, or None where the method itself says that it does not hold for the network."""
    try:
        return explain(model, IMAGES, method, params=few(method))
    except MissingPackageError as error:
        pytest.skip(str(error))
    except InputError as error:
        if method in PICKY and str(error).startswith(method):
            return None
        raise


@pytest.mark.parametrize("method", [m for m in METHODS if METHODS[m].group != "baseline"])
@pytest.mark.parametrize("name", [*WALKED, *CNNS])
def test_all_methods_run(name: str, method: str) -> None:
    """What `tests/common` asks of models that ship: batch equals loop, all is as before."""
    model, card = exact(name), METHODS[method]
    if card.lacks(model):
        with pytest.raises(InputError, match="needs"):
            explain(model, IMAGES, method, params=few(method))
        return
    before = state(model.network)
    together = attempt(model, method)
    if together is None:
        return
    for i, image in enumerate(IMAGES):
        alone = explain(model, [image], method, params=few(method), batch=1)
        for ours, theirs in zip(alone.values[0], together.values[i], strict=True):
            assert np.isfinite(ours).all()
            assert np.abs(ours - theirs).max() <= 1e-5 * np.abs(theirs).max() + 1e-12
    # Right before a norm of each cell, activations times gradients add up to nothing.
    flat = method == "hirescam" and name == "convnext"
    assert (np.ptp(together.values[0][0]) == 0) == flat
    after = state(model.network)
    assert before[:2] == after[:2]
    for (key, old), (other, new) in zip(before[2], after[2], strict=True):
        assert key == other
        assert torch.equal(old, new)


def test_networks_of_timm_need_no_description() -> None:
    model = load_model(make("eva02"), size=(84, 56))
    assert model.name == "Eva"
    assert model.preprocess.size == (84, 56)
    told = Description(["blocks.2"], Preprocess(size=(56, 56)), 14, 3, ["class"])
    assert len(load_model(make("eva02"), told).layers) == 1


def test_preprocessing_is_what_timm_says() -> None:
    model = describe_timm("vit", make("vit", img_size=224))
    config = model.network.pretrained_cfg
    assert model.preprocess.size == (224, 224)
    assert model.preprocess.mean == tuple(config["mean"])
    assert model.preprocess.resize_to == int(224 / config["crop_pct"])


def test_inputs_are_whole_cells() -> None:
    model = describe_timm("resnet", make("resnet"))
    assert model.network.pretrained_cfg["input_size"] == (3, 176, 176)
    assert model.preprocess.size == (192, 192)


def test_classes_of_imagenet_have_names() -> None:
    model = describe_timm("vit", make("vit", num_classes=1000))
    assert len(model.classes) == 1000
    assert model.classes[285] == "Egyptian cat"
    assert model.class_index("tench") == 0


def test_a_network_without_classes_has_none() -> None:
    model = describe_timm("vit", make("vit", num_classes=0))
    assert model.classes == ()
    with torch.no_grad():
        assert model(pixels_of(model)).logits is None


def test_windows_and_unknown_names_are_refused() -> None:
    with pytest.raises(InputError, match=r"SwinTransformer of timm.*give a Description"):
        describe_timm("swin", timm.create_model("swin_tiny_patch4_window7_224"))
    with pytest.raises(InputError, match="timm:nothing_like_it cannot be had"):
        load_timm("nothing_like_it")
