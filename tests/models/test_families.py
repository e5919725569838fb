"""Every family: parts, patch features and logits against transformers' class itself."""

from __future__ import annotations

import pytest
import torch

from sightline.core import InputError
from sightline.models import FAMILIES, load_model
from tests.models.families import CASES, PATCH, cut_patches, features_by_hand, tiny, trunk_of
from tests.models.fits import FITS, SIZES, SOURCES, fitted, noise, pixels_by_hand, shared


def test_every_class_of_every_family_is_in_the_table() -> None:
    known = {name for card in FAMILIES.values() for name in (card.base, *card.classifiers)}
    assert set(CASES) == known


@pytest.mark.parametrize("name", CASES)
def test_parts_follow_the_configuration(name: str) -> None:
    case, model = CASES[name], shared(name)
    assert model.patch == (PATCH, PATCH)
    assert len(model.prefix) == case.prefix
    assert len(model.layers) == 3
    assert model.heads == (4 if case.attends else 0)
    assert len(model.classes) == (5 if case.trunk else 0)
    assert (model.pool is not None) == ("Siglip" in name)
    assert model.has_class_token == (case.prefix > 0)
    expected = {1: ("class",), 2: ("class", "distillation")}
    if case.prefix in expected:
        assert model.prefix == expected[case.prefix]


@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize("shape", SIZES)
@pytest.mark.parametrize("name", CASES)
def test_features_and_logits_are_those_of_the_class(name: str, shape: str, fit: str) -> None:
    model = fitted(name, fit, SIZES[shape])
    image = noise(*SOURCES["wide" if shape == "tall" else "tall"])
    pixels = pixels_by_hand(image, model, fit, SIZES[shape])
    network = tiny(name)
    expected = features_by_hand(name, network, pixels)[0]
    found = model.features(image)[0]
    assert found.shape == (32, pixels.shape[2] // PATCH, pixels.shape[3] // PATCH)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
    if CASES[name].trunk:
        arguments = cut_patches(pixels) if "Siglip2" in name else (pixels,)
        positions = CASES[name].hidden.__name__ == "interpolated"
        options = {"interpolate_pos_encoding": True} if positions else {}
        with torch.no_grad():
            logits = network(*arguments, **options).logits
        torch.testing.assert_close(model.logits(image), logits, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", CASES)
def test_networks_of_transformers_need_no_description_and_stay_as_they_are(name: str) -> None:
    network = tiny(name)
    before = {key: value.clone() for key, value in network.state_dict().items()}
    config = network.config.to_dict()
    network.train()
    model = load_model(network, size=(64, 96))
    model.features(noise(40, 50))
    assert all(module.training for module in network.modules())
    assert network.config.to_dict() == config
    assert all(torch.equal(value, before[key]) for key, value in network.state_dict().items())
    assert not any(module._forward_hooks for module in network.modules())
    assert model.layers[0] in set(trunk_of(name, network).modules())


def test_networks_around_a_family_are_unwrapped() -> None:
    """A CLIP with its text part, a MAE with its decoder: the part for images is taken."""
    import transformers

    case = CASES["CLIPForImageClassification"]
    whole = transformers.CLIPModel(transformers.CLIPConfig(**case.settings)).eval()
    model = load_model(whole)
    image = noise(64, 64)
    pixels = pixels_by_hand(image, model, "squash", (64, 64))
    with torch.no_grad():
        expected = whole.vision_model(pixels).last_hidden_state[0, 1:].T.reshape(32, 4, 4)
    torch.testing.assert_close(model.features(image)[0], expected, atol=1e-5, rtol=1e-5)
    assert model.network is whole.vision_model

    case = CASES["ViTMAEModel"]
    mae = transformers.ViTMAEForPreTraining(transformers.ViTMAEConfig(**case.settings)).eval()
    assert load_model(mae).features(image)[0].shape == (32, 4, 4)


def test_siglip_without_its_head_has_no_pooling() -> None:
    import transformers

    settings = {**CASES["SiglipVisionModel"].settings, "vision_use_head": False}
    network = transformers.SiglipVisionModel(transformers.SiglipVisionConfig(**settings))
    model = load_model(network)
    assert model.pool is None
    assert model.features(noise(64, 64))[0].shape == (32, 4, 4)


def test_mae_runs_unmasked_and_the_same_each_time() -> None:
    network = tiny("ViTMAEModel")
    assert network.config.mask_ratio == 0.75
    model = load_model(network, size=(96, 128))
    torch.manual_seed(7)
    state = torch.get_rng_state()
    first, second = model.features(noise(50, 60))[0], model.features(noise(50, 60))[0]
    assert torch.equal(first, second)
    assert first.shape == (32, 8, 6)
    assert torch.equal(torch.get_rng_state(), state)
    assert network.config.mask_ratio == 0.75
    with pytest.raises(RuntimeError):
        model(torch.zeros(1, 3, 64, 64, dtype=torch.int64))
    assert network.config.mask_ratio == 0.75


def test_mae_masks_as_before_for_others() -> None:
    network = tiny("ViTMAEModel")
    load_model(network).features(noise(64, 64))
    with torch.no_grad():
        assert network(torch.zeros(1, 3, 64, 64)).last_hidden_state.shape == (1, 1 + 4, 32)


def test_swin_is_not_changed_by_inputs_of_other_sizes() -> None:
    """Its blocks keep the window and shift that they cut down to for a small grid."""
    network = tiny("SwinModel")
    model = load_model(network)
    large, least = noise(128, 128), noise(32, 32)
    expected = load_model(tiny("SwinModel")).fitted(size=128).features(large)[0]
    model.fitted(size=32).features(least)  # the last grid is 2x2, as its windows
    torch.testing.assert_close(model.fitted(size=128).features(large)[0], expected)
    with pytest.raises(InputError, match="at least 32 x 32, got 48 x 16"):
        model.fitted(size=(48, 16)).features(least)
    torch.testing.assert_close(model.fitted(size=128).features(large)[0], expected)


def test_a_configuration_that_asks_for_tuples() -> None:
    for name in ("ViTForImageClassification", "CLIPForImageClassification", "ResNetModel"):
        network = tiny(name)
        trunk_of(name, network).config.return_dict = network.config.return_dict = False
        found = load_model(network).features(noise(64, 64))
        torch.testing.assert_close(found, load_model(tiny(name)).features(noise(64, 64)))
        assert network.config.return_dict is False


def test_a_network_of_other_channels_is_refused() -> None:
    import transformers

    config = transformers.ViTConfig(**CASES["ViTModel"].settings, num_channels=1)
    with pytest.raises(InputError, match="ViTModel takes 1 channels; images have 3"):
        load_model(transformers.ViTModel(config))
