"""What must hold for every method in the table, so that a new one is tested the day it arrives."""

from __future__ import annotations

import gc
import random
import re
from copy import deepcopy
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch

from sightline import load_dataset
from sightline.attribution.methods import METHODS, Maps, Method, explain
from sightline.core import InputError
from sightline.models import Model, load_model
from sightline.models.hooks import first_tensor
from tests.attribution.methods.networks import ONE, make_images, one_patch, tiny

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DEMO = ("demo/vit", "demo/cnn")
# Shipped models at a small size, one without classes, one that pools by attention, a detector.
SMALL = (*DEMO, "dinov2", "siglip", "yolos")
IMAGES: list[Any] = make_images(3, 50, 70)
FEW: dict[str, float] = {"steps": 2, "samples": 2, "channels": 4}
FEW_COPIES = {"samples": 12, "masks": 12, "segments": 6, "window": 0.5, "stride": 0.25}


@cache
def trained(name: str) -> Model:
    return load_model(name)


@cache
def facades() -> list[Any]:
    """What the trained models are asked about."""
    return list(load_dataset("facades", count=2, seed=3))


@cache
def small(name: str) -> Model:
    if name in DEMO:
        return trained(name).fitted(size=(64, 32))
    return tiny(name, size=(64, 32) if name == "resnet" else (40, 24))


def few(card: Method) -> dict[str, float]:
    """As little work as shows what is to be shown."""
    values: dict[str, float] = FEW_COPIES if card.group == "perturbation" else FEW
    return {name: value for name, value in values.items() if name in card.params}


def run(model: Model, card: Method, images: list[Any] = IMAGES, **options: Any) -> Maps:
    return explain(model, images, card.name, params=few(card), **options)


@cache
def once(name: str, method: str) -> Maps:
    """The maps of all images, made once for all tests that compare with them."""
    return run(small(name), METHODS[method])


def every(
    models: tuple[str, ...] = SMALL, condition: Callable[[Method], bool] = lambda _: True
) -> pytest.MarkDecorator:
    """Walk the pairs of a model and a method that fits it, for which a condition holds."""
    transformer = {"pooling", "ReLU", "linear head", "detections"}
    lacks = {
        "demo/vit": transformer,
        "demo/cnn": {"attention", "pooling", "detections"},
        "vit": transformer,
        "resnet": {"attention", "pooling", "detections"},
        "dinov2": {"classes", *transformer},
        "siglip": {"class token", "ReLU", "detections"},
        "yolos": transformer - {"detections"},
    }
    pairs = [
        pytest.param(name, card, id=f"{name}-{card.name}")
        for name in models
        for card in METHODS.values()
        if not lacks[name] & set(card.needs)
        and condition(card)
        # A detector is walked with what is for detectors alone.
        and (name != "yolos" or "detections" in card.needs)
    ]
    return pytest.mark.parametrize(("name", "card"), pairs)


cards = pytest.mark.parametrize("card", METHODS.values(), ids=list(METHODS))


def assert_close(found: Maps, wanted: Maps) -> None:
    """Equal within 1e-5 of the largest value of each layer's map.

    Ablation weighs by small differences of large scores, which rounding blurs more.
    """
    share = 1e-3 if found.method == "ablationcam" else 1e-5
    assert len(found) == len(wanted)
    for ours, theirs in zip(found.values, wanted.values, strict=True):
        for a, b in zip(ours, theirs, strict=True):
            assert a.shape == b.shape
            assert np.abs(a - b).max() <= share * np.abs(b).max() + 1e-12


def assert_same(found: Maps, wanted: Maps) -> None:
    """Equal to the last bit."""
    for ours, theirs in zip(found.values, wanted.values, strict=True):
        for a, b in zip(ours, theirs, strict=True):
            assert np.array_equal(a, b)


@cards
def test_every_field_is_filled(card: Method) -> None:
    assert card.name == next(name for name, known in METHODS.items() if known is card)
    assert re.fullmatch(r"[A-Z].*[^ ]\.", card.what)
    assert card.cost
    assert card.group in ("attention", "gradient", "cam", "perturbation", "baseline")
    assert card.sign in ("positive", "absolute", "signed")
    assert card.function.__doc__
    found = re.search(r" \d{4}, (arXiv:\d{4}\.\d{4,5}|doi:10\.\S+)$", card.paper)
    assert bool(found) == (card.group != "baseline" and card.name != "mean")
    assert card.explains or not card.gradients
    assert card.gradients or card.group != "gradient"
    assert "seed" not in card.params or card.params["seed"] == 0
    assert all(isinstance(value, int | float | str | None) for value in card.params.values())


@cards
@pytest.mark.parametrize("name", SMALL)
def test_a_method_fits_a_model_or_says_what_does(name: str, card: Method) -> None:
    model = small(name)
    if not card.lacks(model):
        return  # the walk below runs it
    message = f"method '{card.name}' needs .*, which {re.escape(model.name)} does not have"
    with pytest.raises(InputError, match=message) as caught:
        run(model, card)
    named = re.findall(r"'(\w+)'", str(caught.value).split("work with it:")[1].split(";")[0])
    assert named
    assert not any(METHODS[other].lacks(model) for other in named)


def test_the_walk_below_knows_what_fits() -> None:
    walked = {(name, card.name) for name, card in (pair.values for pair in every().args[1])}
    fits = {(n, m) for n in SMALL for m in METHODS if not METHODS[m].lacks(small(n))}
    whole = {(n, m) for n, m in fits if n != "yolos" or "detections" in METHODS[m].needs}
    assert walked == whole
    assert {method for _, method in walked} == set(METHODS)


@every(DEMO)
def test_a_trained_model_gives_maps_that_say_something(name: str, card: Method) -> None:
    maps = run(trained(name), card, facades()[: 1 if card.of_maps is None else 2])
    for image in maps.values:
        assert all(np.isfinite(values).all() for values in image)
        assert np.ptp(image[-1]) > 0
        few_places = card.group == "perturbation"  # superpixels, windows
        assert len(np.unique(image[-1])) > (2 if few_places else image[-1].size / 8)
    if card.sign == "positive" and card.group in ("attention", "baseline"):
        assert all(values.min() >= 0 for image in maps.values for values in image)


@every()
def test_maps_lie_on_the_grid_that_their_geometry_tells(name: str, card: Method) -> None:
    model = small(name)
    maps = once(name, card.name)
    for image, ways in zip(maps.values, maps.geometries, strict=True):
        assert len(image) == len(ways) == len(maps.layers)
        for values, way in zip(image, ways, strict=True):
            assert values.shape == (1, *way.grid[::-1])
            assert values.dtype == np.float32
            assert (way.source, way.size) == ((70, 50), model.preprocess.size)
    if card.group == "attention":
        assert maps.geometries[0][0].patch == model.patch
    if card.group in ("gradient", "perturbation"):
        assert maps.geometries[0][0].patch == (1, 1)


@every(condition=lambda card: card.headed)
def test_each_head_has_its_map(name: str, card: Method) -> None:
    model = small(name)
    if not model.heads:
        with pytest.raises(InputError, match="heads"):
            run(model, card, heads="all")
        return
    maps = run(model, card, heads="all")
    assert maps.heads == tuple(range(model.heads))
    assert {values.shape[0] for image in maps.values for values in image} == {model.heads}


@every(condition=lambda card: card.of_maps is None)
def test_a_batch_equals_a_loop(name: str, card: Method) -> None:
    """The one in the middle has a neighbour on either side whose values it could get."""
    together = once(name, card.name)[1]
    alone = run(small(name), card, [IMAGES[1]], batch=1)
    assert_close(alone, together)
    assert alone.targets == together.targets
    assert alone.geometries == together.geometries


@every()
def test_the_order_of_images_and_the_batch_do_not_matter(name: str, card: Method) -> None:
    assert_close(run(small(name), card, IMAGES[::-1], batch=2)[::-1], once(name, card.name))


@every()
def test_the_same_bits_when_called_twice(name: str, card: Method) -> None:
    assert_same(run(small(name), card), once(name, card.name))


def mixed_up(name: str) -> Model:
    """The model with a mix of modes, of frozen and free weights, and some gradients."""
    known = small(name)
    model = replace(load_model(deepcopy(known.network)), preprocess=known.preprocess, name=name)
    model.network.train()
    model.layers[0].eval()
    for i, parameter in enumerate(model.network.parameters()):
        parameter.requires_grad_(i % 3 != 0)
        parameter.grad = torch.full_like(parameter, i) if i % 2 else None
    return model


HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


def state(model: Model) -> dict[str, Any]:
    """All that a method could have changed."""
    modules, parameters = list(model.network.modules()), list(model.network.parameters())
    configs = {id(c): c for c in (getattr(m, "config", None) for m in modules) if c is not None}
    return {
        "weights": {k: v.numpy().tobytes() for k, v in model.network.state_dict().items()},
        "attributes": [sorted(vars(module)) for module in modules],
        "needs": [parameter.requires_grad for parameter in parameters],
        "gradients": [id(parameter.grad) for parameter in parameters],
        "values": [p.grad is not None and p.grad.numpy().tobytes() for p in parameters],
        "modes": [module.training for module in modules],
        "hooks": [list(getattr(module, kind)) for module in modules for kind in HOOKS],
        "attention": [c._attn_implementation for c in configs.values()],
        "configs": [repr(c) for c in configs.values()],
        "torch": torch.get_rng_state().tolist(),
        "numpy": repr(np.random.get_state()),  # noqa: NPY002 (it must not be touched)
        "python": random.getstate(),
        "grad mode": (torch.is_grad_enabled(), torch.is_inference_mode_enabled()),
        "flags": (torch.backends.cudnn.deterministic, torch.backends.cudnn.allow_tf32),
        "defaults": (torch.get_default_dtype(), torch.get_num_threads()),
    }


def assert_untouched(model: Model, before: dict[str, Any]) -> None:
    after = state(model)
    for what, value in before.items():
        assert after[what] == value, what


@every()
def test_all_is_as_before(name: str, card: Method) -> None:
    model, images = mixed_up(name), [image.copy() for image in IMAGES]
    for image in images:
        image.flags.writeable = False
    before = state(model)
    found = run(model, card, images)
    assert_untouched(model, before)
    assert all(np.array_equal(a, b) for a, b in zip(images, IMAGES, strict=True))
    assert_close(found, once(name, card.name))  # a network in training is asked as in evaluation


class BrokenError(Exception):
    pass


def fail(*_: Any) -> None:
    raise BrokenError


def fail_later(module: Any, arguments: Any, output: Any) -> None:
    """Let the backward pass fail, where there is one."""
    tensor = first_tensor(output)
    if tensor.requires_grad:
        tensor.register_hook(fail)


@pytest.mark.parametrize("batch", [None, 2])
@every(("vit", "resnet", "dinov2"), lambda card: card.group != "baseline")
def test_all_is_as_before_when_the_network_fails(
    name: str, card: Method, batch: int | None
) -> None:
    model = mixed_up(name)
    model.layers[-1].register_forward_hook(fail)
    before = state(model)
    with pytest.raises(BrokenError):
        run(model, card, batch=batch)
    assert_untouched(model, before)


@every(("vit", "resnet"), lambda card: card.gradients)
def test_all_is_as_before_when_the_way_back_fails(name: str, card: Method) -> None:
    model = mixed_up(name)
    model.layers[-1].register_forward_hook(fail_later)
    before = state(model)
    with pytest.raises(BrokenError):
        run(model, card)
    assert_untouched(model, before)


@every(("vit", "resnet"), lambda card: card.explains)
def test_all_is_as_before_when_the_target_is_wrong(name: str, card: Method) -> None:
    model = mixed_up(name)
    before = state(model)
    for target in (99, "roof", [0, 1, 9], "label"):
        with pytest.raises((InputError, KeyError)):
            run(model, card, target=target)
    assert_untouched(model, before)


def live_tensors() -> int:
    gc.collect()
    return sum(issubclass(type(thing), torch.Tensor) for thing in gc.get_objects())


@pytest.fixture(scope="module")
def only_new() -> Iterator[None]:
    """Let the garbage collector see only what is made from now on, which is much faster."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()
    gc.collect()
    gc.freeze()  # as for all other tests


@pytest.mark.usefixtures("only_new")
@cards
def test_no_tensor_outlives_its_images(card: Method) -> None:
    """As many after five batches as after one, with all maps still held."""
    kinds = {"pooling": "siglip", "ReLU": "resnet", "linear head": "resnet", "detections": "yolos"}
    kind = next((kinds[need] for need in card.needs if need in kinds), "vit")
    model, images = tiny(kind, size=32 if kind == "resnet" else 16), make_images(40, 8, 8)
    kept, counts = [], []
    for count in (8, 40):
        kept.append(run(model, card, images[:count], batch=8))
        counts.append(live_tensors())
    assert counts[0] == counts[1] > 0
    assert [len(maps) for maps in kept] == [8, 40]


@pytest.mark.parametrize("name", sorted(METHODS))
def test_every_parameter_is_explained(name: str) -> None:
    card = METHODS[name]
    assert set(card.about) == set(card.params)
    assert all(text and not text.endswith(".") for text in card.about.values())


READS_ONE = [
    name
    for name, card in METHODS.items()
    if card.explains and not {"ReLU", "linear head", "detections", "attention"} & set(card.needs)
]


@pytest.mark.parametrize("name", READS_ONE)
def test_every_method_points_at_the_one_patch_that_is_read(name: str) -> None:
    """Those of attention, and for networks of ReLUs, have such tests in their own files."""
    colours = np.random.default_rng(5).integers(0, 256, (3, 3, 4, 3), np.uint8)
    images = list(colours.repeat(8, 1).repeat(8, 2))  # each patch has a colour
    enough = {"masks": 400, "samples": 200, "segments": 12, "window": 8, "stride": 8}
    card = METHODS[name]
    params: dict[str, float] = {key: enough[key] for key in enough.keys() & card.params.keys()}
    if card.group == "gradient":
        params = few(card)
    maps = explain(one_patch(), images, name, target=[0, 1, 2], params=params)
    for i in range(len(images)):
        values = np.abs(maps.to_image((32, 24)).values[i][-1][0])
        cells = values.reshape(3, 8, 4, 8).mean((1, 3))
        assert np.unravel_index(cells.argmax(), cells.shape) == ONE
