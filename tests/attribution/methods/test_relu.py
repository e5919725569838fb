"""Guided backprop and DeepLIFT by hand, against Captum where it is right, and where it is not."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch
from captum.attr import DeepLift, GuidedBackprop  # type: ignore[import-untyped]
from torch import nn
from transformers import ViTConfig, ViTForImageClassification

from sightline.attribution.methods import METHODS, explain
from sightline.core import InputError
from sightline.data.facades.facade import Facade
from sightline.models import Model, load_model
from tests.attribution.methods.networks import CLASSES, make_images, tiny
from tests.attribution.methods.relu_networks import Residual, described, one_cell, plain, residual
from tests.attribution.methods.seen import close, lies_on_one

IMAGES = make_images()
NEEDY = [name for name, card in METHODS.items() if "ReLU" in card.needs]


def pixels_of(model: Model, images: Any = IMAGES) -> Any:
    return torch.cat([model.prepare(image).pixels for image in images])


def captum(kind: Any, model: Model, pixels: Any, *more: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = kind(model.network).attribute(pixels, *more, target=torch.tensor([0, 1, 2]))
    return found.detach()


def farthest(values: Any) -> Any:
    return values.gather(1, values.abs().argmax(1, keepdim=True))[:, 0]


def gains(model: Model, start: Any, targets: list[int]) -> list[float]:
    """What the class of each image has more than with one colour."""
    with torch.no_grad():
        after: Any = model(pixels_of(model)).logits
        before: Any = model(start[None]).logits
    return [float(after[i, k] - before[0, k]) for i, k in enumerate(targets)]


def test_guided_backprop_by_hand() -> None:
    """One image, two ReLUs: the gradient is cut twice."""
    model = plain()
    first, _, second, _, _, head = model.network
    for i, image in enumerate(IMAGES):
        pixels = pixels_of(model, [image])
        with torch.no_grad():
            low = first(pixels)
            high = second(low.relu())
        slope = head.weight[i].reshape(1, 5, 3, 4).detach()
        slope = slope.clamp(min=0) * (high > 0)
        slope = nn.functional.conv_transpose2d(slope, second.weight.detach(), stride=2)
        slope = slope.clamp(min=0) * (low > 0)
        slope = nn.functional.conv_transpose2d(slope, first.weight.detach(), stride=4)
        close(explain(model, image, "guided_backprop", target=i).of(), farthest(slope)[0])


def test_guided_backprop_agrees_with_captum() -> None:
    model = plain()
    found = explain(model, IMAGES, "guided_backprop", target=[0, 1, 2]).stack()[:, 0, 0]
    close(found, farthest(captum(GuidedBackprop, model, pixels_of(model))))


def test_guided_backprop_of_a_resnet_agrees_with_captum() -> None:
    model = tiny("resnet", size=(64, 32))

    class Logits(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.network = model.network

        def forward(self, pixels: Any) -> Any:
            return self.network(pixels).logits

    pixels = pixels_of(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = GuidedBackprop(Logits()).attribute(pixels, target=torch.tensor([0, 1, 2]))
    found = explain(model, IMAGES, "guided_backprop", target=[0, 1, 2]).stack()[:, 0, 0]
    close(found, farthest(theirs.detach()))


class _Twice(nn.Module):  # type: ignore[misc]
    """The same computation as `plain`, with one ReLU for all and in place, or with several."""

    def __init__(self, *, several: bool) -> None:
        super().__init__()
        self.parts = plain().network
        self.relus = nn.ModuleList([nn.ReLU(), nn.ReLU()] if several else [nn.ReLU(inplace=True)])

    def forward(self, pixels: Any) -> Any:
        first, _, second, _, flat, head = self.parts
        value = second(self.relus[0](first(pixels)))
        return head(flat(self.relus[-1](value)))


@pytest.mark.parametrize("method", NEEDY)
def test_a_module_may_be_used_twice_and_in_place(method: str) -> None:
    maps = [
        explain(described(_Twice(several=several), "parts.2", "twice"), IMAGES, method).stack()
        for several in (True, False)
    ]
    close(maps[1], maps[0], 1e-6)


@pytest.mark.parametrize("baseline", ["mean", "black", "white"])
def test_deeplift_agrees_with_captum(baseline: str) -> None:
    model = plain(nn.Tanh())
    mean, std = np.array(model.preprocess.mean), np.array(model.preprocess.std)
    start = {"mean": 0 * mean, "black": -mean / std, "white": (1 - mean) / std}[baseline]
    pixels = pixels_of(model)
    plainly = torch.from_numpy(start).float()[None, :, None, None].expand_as(pixels)
    params = {"baseline": baseline}
    found = explain(model, IMAGES, "deeplift", target=[0, 1, 2], params=params).stack()[:, 0, 0]
    close(found, captum(DeepLift, model, pixels, plainly).sum(1), 1e-4)
    for i, gain in enumerate(gains(model, plainly[0], [0, 1, 2])):
        assert found[i].sum() == pytest.approx(gain, abs=1e-5)


def test_deeplift_agrees_with_captum_where_windows_do_not_overlap() -> None:
    torch.manual_seed(3)
    layers = [nn.Conv2d(3, 6, 4, 4), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 5, 1), nn.ReLU()]
    network = nn.Sequential(*layers, nn.Flatten(), nn.Linear(60, 3))
    model = described(network, "3", "pooled")
    pixels = pixels_of(model)
    found = explain(model, IMAGES, "deeplift", target=[0, 1, 2]).stack()[:, 0, 0]
    close(found, captum(DeepLift, model, pixels, torch.zeros_like(pixels)).sum(1), 1e-4)


@pytest.mark.parametrize("make", [residual, lambda: tiny("resnet", size=(64, 32))])
@pytest.mark.parametrize("target", [2, "embedding"])
def test_deeplift_adds_up_where_windows_overlap_and_branches_meet(make: Any, target: Any) -> None:
    model = make()
    maps = explain(model, IMAGES, "deeplift", target=target, params={"tolerance": 1e-4})
    assert np.ptp(maps.stack()) > 0
    if target == 2:
        for i, gain in enumerate(gains(model, torch.zeros_like(pixels_of(model)[0]), [2] * 3)):
            assert maps.of(i).sum() == pytest.approx(gain, abs=1e-4)


def rescaled(model: Model, pixels: Any, target: int) -> Any:
    """DeepLIFT of the residual network, written out backward from the class."""
    net: Any = model.network

    def run(value: Any) -> dict[str, Any]:
        kept = {"stem": net.stem_norm(net.stem(value))}
        kept["pool"] = nn.functional.max_pool2d(kept["stem"].relu(), 3, 2, 1)
        kept["branch"] = net.norm(net.first(kept["pool"]))
        kept["sum"] = net.second(kept["branch"].relu()) + kept["pool"]
        return kept

    def ratio(key: str) -> Any:
        step = after[key] - before[key]
        return (after[key].relu() - before[key].relu()) / step

    def back(module: Any, at: Any, slope: Any) -> Any:
        leaf = at.detach().clone().requires_grad_()
        return torch.autograd.grad(module(leaf), leaf, slope)[0]

    with torch.no_grad():
        after, before = run(pixels), run(torch.zeros_like(pixels))
    slope = net.head.weight[target].detach()[None, :, None, None].expand_as(net.down(after["sum"]))
    slope = back(net.down, after["sum"], slope / net.down(after["sum"])[0, 0].numel())
    slope = slope * ratio("sum")
    branch = back(net.second, after["branch"], slope) * ratio("branch")
    slope = slope + back(lambda v: net.norm(net.first(v)), after["pool"], branch)
    low, start = after["stem"].relu()[0], before["stem"].relu()[0]
    pooled = torch.zeros_like(low)
    for c, r, k in np.ndindex(*after["pool"].shape[1:]):
        window = np.s_[c, max(2 * r - 1, 0) : 2 * r + 2, max(2 * k - 1, 0) : 2 * k + 2]
        gain = low[window].max() - start[window].max()
        which = (low if gain >= 0 else start)[window]
        y, x = np.unravel_index(int(which.argmax()), which.shape)
        step = (low[window] - start[window])[y, x]
        pooled[window][y, x] += slope[0, c, r, k] * (1 if step == 0 else gain / step)
    stem = pooled[None] * ratio("stem")
    return back(lambda v: net.stem_norm(net.stem(v)), pixels, stem) * pixels


def test_deeplift_of_a_residual_network_by_hand() -> None:
    model = residual()
    for i, image in enumerate(IMAGES):
        wanted = rescaled(model, pixels_of(model, [image]), i).sum(1)[0]
        close(explain(model, image, "deeplift", target=i).of(), wanted, 1e-4)


class _Rows(_Twice):
    """Each row of an image has something of its own, and may go through the first ReLU alone."""

    def __init__(self, *, cut: bool) -> None:
        super().__init__(several=True)
        self.cut = cut

    def forward(self, pixels: Any) -> Any:
        first, _, second, _, flat, head = self.parts
        value = first(pixels).transpose(1, 2)
        value = value + torch.linspace(-1, 1, value.shape[1])[:, None, None]
        shape = value.shape[:2]
        value = self.relus[0](value.flatten(0, 1) if self.cut else value)
        value = (value.unflatten(0, shape) if self.cut else value).transpose(1, 2)
        return head(flat(self.relus[-1](second(value))))


def test_deeplift_where_a_module_takes_parts_of_images() -> None:
    maps = [
        explain(described(_Rows(cut=cut), "parts.2", "rows"), IMAGES, "deeplift", target=1).stack()
        for cut in (True, False)
    ]
    close(maps[0], maps[1], 1e-6)


def test_deeplift_of_a_curve_that_hardly_moves_is_its_gradient() -> None:
    """Differences of 1e-6 say nothing of a slope in single precision."""
    model = plain(nn.Tanh())
    with torch.no_grad():
        model.network[2].weight.mul_(1e-5)
        model.network[2].bias.fill_(0.5)
        model.network[0].bias.zero_()  # no ReLU changes sides between 0 and the image
    wanted = explain(model, IMAGES, "input_x_gradient", target=1).stack()
    found = explain(model, IMAGES, "deeplift", target=1, params={"tolerance": 1e9}).stack()
    close(found, wanted, 1e-3)


@pytest.mark.parametrize("method", NEEDY)
def test_the_batch_changes_nothing(method: str) -> None:
    model = residual()
    one = explain(model, IMAGES, method, batch=1).stack()
    close(explain(model, IMAGES, method, batch=3).stack(), one)
    close(explain(model, IMAGES[::-1], method, batch=2).stack()[::-1], one)


@pytest.mark.parametrize("method", NEEDY)
def test_all_lies_on_the_one_cell_that_is_read(method: str) -> None:
    maps = explain(one_cell(), IMAGES, method, target=[0, 1, 2])
    lies_on_one(maps, len(IMAGES))


@pytest.mark.parametrize("method", NEEDY)
def test_an_image_like_the_plain_one_is_no_trouble(method: str) -> None:
    model = residual()
    mean = np.array(model.preprocess.mean) * 255
    image = np.broadcast_to(np.rint(mean), (40, 56, 3)).astype(np.uint8)
    assert np.isfinite(explain(model, [image, IMAGES[0]], method).stack()).all()


@pytest.mark.parametrize("method", NEEDY)
@pytest.mark.parametrize("kind", ["vit", "siglip", "swin"])
def test_networks_without_relus_are_refused(method: str, kind: str) -> None:
    with pytest.raises(InputError, match=f"'{method}' needs ReLU, which .* does not") as caught:
        explain(tiny(kind), IMAGES, method)
    assert "'integrated_gradients'" in str(caught.value)


class _Unused(Residual):
    def __init__(self) -> None:
        super().__init__()
        self.relu = nn.Identity()
        self.spare = nn.ReLU()


def test_relus_that_are_there_but_not_used() -> None:
    model = described(_Unused(), "down", "unused")
    with pytest.raises(InputError, match="unused holds ReLU modules, but uses none of them"):
        explain(model, IMAGES, "guided_backprop")


class _Mixed(_Twice):
    """Its second ReLU is a function."""

    def forward(self, pixels: Any) -> Any:
        first, _, second, _, flat, head = self.parts
        return head(flat(self.last(second(self.relus[0](first(pixels))))))

    def last(self, value: Any) -> Any:
        return nn.functional.relu(value)


class _MixedInPlace(_Mixed):
    def last(self, value: Any) -> Any:
        return value.relu_()


class _MixedSix(_Mixed):
    def last(self, value: Any) -> Any:
        return nn.functional.relu6(value)


@pytest.mark.parametrize("kind", [_Mixed, _MixedInPlace, _MixedSix])
def test_relus_that_are_functions_beside_modules_are_refused(kind: Any) -> None:
    model = described(kind(several=False), "parts.2", "mixed")
    with pytest.raises(InputError, match="1 of 2 ReLUs of mixed are functions, not modules"):
        explain(model, IMAGES, "guided_backprop")
    with pytest.raises(InputError, match="deeplift does not hold for mixed: for image 1 of 3"):
        explain(model, IMAGES, "deeplift", target=1)


class _Broken(Residual):
    """Gives no number for the last image of a batch of three."""

    def forward(self, pixels: Any) -> Any:
        scale = torch.ones(len(pixels), 1)
        scale[2:] = torch.nan
        return super().forward(pixels) * scale


def test_the_image_without_a_number_is_named() -> None:
    model = described(_Broken(), "down", "broken")
    with pytest.raises(InputError, match=r"deeplift does not hold .* image 3 of 3 .*nan"):
        explain(model, IMAGES, "deeplift", target=1, batch=3)


def relu_vit() -> Model:
    torch.manual_seed(1)
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    more = {"intermediate_size": 24, "image_size": 32, "patch_size": 8, "hidden_act": "relu"}
    network = ViTForImageClassification(ViTConfig(**sizes, **more, num_labels=3))
    with torch.no_grad():
        for value in network.parameters():
            if value.ndim > 1:
                value.normal_(std=0.3)
    return load_model(network.eval())


def test_deeplift_refuses_what_its_rules_do_not_cover() -> None:
    """A transformer with ReLUs: guided backprop runs, but norm and softmax break the sum."""
    message = r"deeplift does not hold for .* image \d of 3 .* add up to .* do not know LayerNorm"
    with pytest.raises(InputError, match=message):
        explain(relu_vit(), IMAGES, "deeplift")
    assert explain(relu_vit(), IMAGES, "guided_backprop").stack().any()


class _Squared(Residual):
    def forward(self, pixels: Any) -> Any:
        return super().forward(pixels) ** 2


def test_deeplift_refuses_what_no_module_does() -> None:
    model = described(_Squared(), "down", "squared")
    with pytest.raises(InputError, match=r"tolerance of 0\.01 apart\. integrated"):
        explain(model, IMAGES, "deeplift")
    wide = explain(model, IMAGES, "deeplift", params={"tolerance": 1e9})
    assert np.isfinite(wide.stack()).all()


@pytest.mark.parametrize("method", NEEDY)
def test_a_half_run_leaves_no_trace(method: str) -> None:
    model = residual()
    before = [sorted(vars(module)) for module in model.network.modules()]
    weights = {name: value.clone() for name, value in model.network.state_dict().items()}

    def fail(*_: Any) -> None:
        raise ArithmeticError

    handle = model.network.second.register_forward_hook(fail)
    with pytest.raises(ArithmeticError):
        explain(model, IMAGES, method)
    handle.remove()
    assert [sorted(vars(module)) for module in model.network.modules()] == before
    for name, value in model.network.state_dict().items():
        assert torch.equal(value, weights[name])


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"tolerance": -1}, "tolerance must be a number, 0 or more, got -1"),
        ({"tolerance": "much"}, "got 'much'"),
        ({"baseline": "blue"}, "mean, black, white, got 'blue'"),
    ],
)
def test_wrong_parameters(params: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        explain(plain(), IMAGES, "deeplift", params=params)


@pytest.mark.parametrize("method", NEEDY)
def test_the_target_is_what_is_predicted(method: str) -> None:
    model = residual()
    maps = explain(model, IMAGES, method)
    assert maps.targets == tuple(CLASSES[k] for k in model.logits(IMAGES).argmax(1).tolist())
    close(explain(model, IMAGES, method, target=list(maps.targets)).stack(), maps.stack(), 1e-6)


def test_a_trained_network_points_at_the_parts_that_decide() -> None:
    """More of a map lies on them than of any baseline; of DeepLIFT's, than of all but edges."""
    facades = [Facade.generate(7, i) for i in range(4)]
    masks = [
        np.any([part.mask for part in facade.parts if part.label in facade.deciding], axis=0)
        for facade in facades
    ]
    images, model = [facade.image() for facade in facades], load_model("demo/cnn")

    def lift(method: str) -> float:
        """The share on the deciding parts, over the share of the pixels that they are."""
        maps = np.abs(explain(model, images, method).to_image().stack()[:, 0, 0])
        shares = [m[on].sum() / m.sum() / on.mean() for m, on in zip(maps, masks, strict=True)]
        return float(np.mean(shares))

    plainest = max(lift(method) for method in ("random", "smooth_random", "centre"))
    assert lift("deeplift") > 1.5 * plainest
    for method in ("guided_backprop", "lrp"):
        assert lift(method) > 1.2 * max(plainest, lift("edge"))
