"""What a model answers, apart from how its network is built."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from sightline.core import InputError, UnknownNameError
from sightline.models import Description, Model, Preprocess, load_model
from tests.models.families import tiny

IMAGES = [
    np.random.default_rng(seed).integers(0, 256, (60, 80, 3)).astype(np.uint8) for seed in range(5)
]


@pytest.fixture(scope="module")
def model() -> Model:
    return load_model(tiny("ViTForImageClassification"))


def test_batches_give_what_single_images_give(model: Model) -> None:
    alone = torch.cat([model.logits(image) for image in IMAGES])
    for batch in (1, 2, 5, 99):
        torch.testing.assert_close(model.logits(IMAGES, batch=batch), alone)
    features = torch.stack([model.features(image)[0] for image in IMAGES])
    torch.testing.assert_close(torch.stack(model.features(IMAGES, batch=3)), features)
    with pytest.raises(InputError, match="batch must be 1 or more, got 0"):
        model.logits(IMAGES, batch=0)


def test_no_images(model: Model) -> None:
    assert model.logits([]).shape == (0, 5)
    assert model.features([]) == []


def test_images_of_several_shapes_under_native(model: Model) -> None:
    native = model.fitted(fit="native")
    mixed = [IMAGES[0], IMAGES[1].transpose(1, 0, 2), IMAGES[2], IMAGES[3]]
    parts = list(native.batches(mixed, 4))
    assert [tuple(part.pixels.shape) for part in parts] == [
        (1, 3, 64, 80),
        (1, 3, 80, 64),
        (2, 3, 64, 80),
    ]
    assert [one.shape[1:] for one in native.features(mixed)] == [(4, 5), (5, 4), (4, 5), (4, 5)]
    assert native.logits(mixed).shape == (4, 5)


def test_keys_follow_from_the_image_alone(model: Model) -> None:
    keys = [model.prepare(image).keys[0] for image in IMAGES]
    assert len(set(keys)) == len(keys)
    assert next(model.batches(IMAGES, 5)).keys == tuple(keys)
    assert model.fitted(size=128).prepare(IMAGES[0]).keys == (keys[0],)
    flat = np.zeros((4, 8, 3), np.uint8)
    assert model.prepare(flat).keys != model.prepare(flat.reshape(8, 4, 3)).keys


def test_the_digest_follows_the_weights() -> None:
    one, same = load_model(tiny("ViTModel")), load_model(tiny("ViTModel"))
    assert one.digest == same.digest == one.fitted(size=128).digest
    assert len(one.digest) == 16
    changed = tiny("ViTModel")
    with torch.no_grad():
        changed.layers[2].mlp.fc2.bias[3] += 1e-6
    assert load_model(changed).digest != one.digest
    halved = deepcopy(same.network).half()
    assert load_model(halved).digest != one.digest


def test_precision_and_device_of_the_network() -> None:
    network = tiny("ViTForImageClassification")
    model = load_model(network.to(torch.bfloat16))
    assert model.dtype == torch.bfloat16
    assert model.device == torch.device("cpu")
    assert model.prepare(IMAGES[0]).pixels.dtype == torch.bfloat16
    logits = model.logits(IMAGES[0])
    assert logits.dtype == torch.float32
    expected = load_model(tiny("ViTForImageClassification")).logits(IMAGES[0])
    torch.testing.assert_close(logits, expected, atol=0.2, rtol=0.1)


def test_fits_and_sizes() -> None:
    model = load_model(tiny("Dinov2Model"))
    assert (model.preprocess.size, model.preprocess.resize_to) == ((64, 64), 73)
    for size, resize_to in ((128, 146), ((32, 96), 36), ((96, 32), 36)):
        assert model.fitted(size=size).preprocess.resize_to == resize_to
    larger = model.fitted(size=128)
    assert larger.network is model.network
    assert larger.fitted(size=64).preprocess == model.preprocess
    assert model.fitted(fit="crop").prepare(IMAGES[0]).geometries[0].scale == (97 / 80, 73 / 60)
    assert model.fitted(fit="native").preprocess.size is None
    native = model.fitted(fit="native", size=48)
    assert native.prepare(IMAGES[0]).geometries[0].size == (48, 32)
    assert native.fitted(fit="squash").preprocess.size == (48, 48)
    assert model.fitted(fit="native").fitted(fit="crop").preprocess.size == (64, 64)
    with pytest.raises(InputError, match="no multiple of the patch"):
        model.fitted(size=72)
    with pytest.raises(InputError, match="no multiple of the patch"):
        model.fitted(fit="native", size=72)


@pytest.mark.parametrize("size", [0, -16, 1.5, (64,), (64, 64, 64), (64, 6.5), "64", (0, 64)])
def test_sizes_that_make_no_sense(model: Model, size: Any) -> None:
    with pytest.raises(InputError, match=r"size must be a side or \(width, height\)"):
        model.fitted(size=size)


def test_layers_and_heads(model: Model) -> None:
    assert model.layer_indices("all") == (0, 1, 2)
    assert model.layer_indices(-1) == (2,)
    assert model.layer_indices([2, 0, -2]) == (2, 0, 1)
    assert model.layer_indices(np.arange(2)) == (0, 1)
    assert model.head_indices("all") == (0, 1, 2, 3)
    for layers in (3, -4, [0, 3], 1.5, "last", []):
        with pytest.raises(InputError, match="layer"):
            model.layer_indices(layers)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="head must be from 0 to 3"):
        model.head_indices(4)
    with pytest.raises(InputError, match="has no heads"):
        load_model(tiny("ConvNextModel")).head_indices("all")


def test_classes(model: Model) -> None:
    assert model.classes == ("LABEL_0", "LABEL_1", "LABEL_2", "LABEL_3", "LABEL_4")
    assert model.class_index("LABEL_3") == model.class_index(3) == model.class_index("3") == 3
    with pytest.raises(UnknownNameError, match=r"'LABEL_9'.*did you mean 'LABEL_\d'.*Known: LABEL"):
        model.class_index("LABEL_9")
    for wrong in (5, -1, "5"):
        with pytest.raises(InputError, match="class must be from 0 to 4"):
            model.class_index(wrong)
    bare = load_model(tiny("ViTModel"))
    for ask in (lambda: bare.class_index(0), lambda: bare.logits(IMAGES)):
        with pytest.raises(InputError, match="needs classes, and ViTModel has none"):
            ask()


def test_names_of_classes_come_from_the_configuration() -> None:
    network = tiny("ViTForImageClassification")
    network.config.id2label = dict(enumerate("abcde"))
    assert load_model(network).classes == tuple("abcde")


def test_default_sizes_follow_the_configuration() -> None:
    import transformers

    large = transformers.ViTConfig(
        hidden_size=8, num_hidden_layers=1, num_attention_heads=1, image_size=[96, 128]
    )
    model = load_model(transformers.ViTModel(large))
    assert model.preprocess == Preprocess(size=(128, 96), resample="bilinear")
    siglip2 = load_model(tiny("Siglip2VisionModel"))
    assert siglip2.preprocess.size == (64, 64)


def test_tokens_become_a_grid(model: Model) -> None:
    pixels = torch.zeros(2, 3, 32, 96)
    values = torch.arange(2 * 13 * 2.0).reshape(2, 13, 2)
    grid = model.to_grid(values, pixels)
    assert grid.shape == (2, 2, 2, 6)
    assert grid[1, 0, 1, 4] == values[1, 1 + 6 + 4, 0]
    assert model.to_grid(grid, pixels) is grid
    finer = model.to_grid(torch.zeros(1, 49, 2), pixels)
    assert finer.shape == (1, 2, 4, 12)
    for wrong in (12, 14, 1, 0, 28):
        with pytest.raises(InputError, match="do not fill an input of 96x32"):
            model.to_grid(torch.zeros(1, wrong, 2), pixels)
    with pytest.raises(InputError, match="a layer must give tokens"):
        model.to_grid(torch.zeros(2, 2), pixels)


@pytest.mark.parametrize("name", ["demo/vit", "module"])
def test_a_copy_of_a_model_is_a_model_of_its_own(name: str) -> None:
    image = np.random.default_rng(0).integers(0, 256, (32, 32, 3), np.uint8)
    if name == "module":
        network = nn.Sequential(nn.Conv2d(3, 4, 8, 8), nn.Flatten(), nn.Linear(64, 2))
        described = Description(["0"], Preprocess(size=(32, 32)), 8, 2)
        model = load_model(network, described)
    else:
        model = load_model(name)
    before = model.logits(image)
    copy = deepcopy(model)
    with torch.no_grad():
        for parameter in copy.network.parameters():
            parameter.mul_(0.5)
    assert copy.digest != model.digest
    assert torch.equal(model.logits(image), before)
    assert not torch.equal(copy.logits(image), before)
    assert set(copy.layers) <= set(copy.network.modules())
    assert copy.features(image)[0].shape == model.features(image)[0].shape


def test_fits_come_from_what_was_loaded(model: Model) -> None:
    crop = replace(model.preprocess, resize_to=80, size=(64, 64))
    base = replace(model, preprocess=crop, own=None)
    direct = base.fitted(fit="crop", size=128).preprocess
    detour = base.fitted(fit="native").fitted(fit="crop", size=128).preprocess
    assert direct == detour
    assert direct.resize_to == 160
    again = base.fitted(size=128).fitted(size=64)
    assert again.preprocess == base.preprocess
    assert base.fitted(fit="native").fitted(fit="squash").preprocess.size == (64, 64)
    assert base.fitted(fit="native", size=96).fitted(fit="native").preprocess.size == (96, 96)


def test_classes_of_one_name_need_a_number(model: Model) -> None:
    twins = replace(model, classes=("a", "crane", "b", "crane", "c"))
    with pytest.raises(InputError, match=r"several classes 'crane': give one of \[1, 3\]"):
        twins.class_index("crane")
    assert twins.class_index("3") == 3


def test_a_layer_may_be_asked_for_once(model: Model) -> None:
    with pytest.raises(InputError, match="layers must differ, got 1, 1"):
        model.layer_indices([1, -2])


@pytest.mark.parametrize("batch", ["a", 2.5, None, 0])
def test_batches_must_be_whole_numbers(model: Model, batch: Any) -> None:
    with pytest.raises(InputError, match="batch must be 1 or more"):
        model.logits(IMAGES, batch=batch)
