"""Relevance against rules written out with matrices, against Captum where it is right."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch
from captum.attr import LRP  # type: ignore[import-untyped]
from captum.attr._utils.lrp_rules import EpsilonRule, GammaRule  # type: ignore[import-untyped]
from torch import nn

from sightline.attribution.methods import explain
from sightline.core import InputError
from sightline.models import Model, load_model
from sightline.models.load import Description
from sightline.models.preprocess import Preprocess
from tests.attribution.methods.networks import CLASSES, make_images, tiny
from tests.attribution.methods.relu_networks import Residual, described, plain, residual
from tests.attribution.methods.seen import close
from tests.attribution.methods.test_relu import relu_vit

IMAGES = make_images()
PLAIN: dict[str, Any] = {"gamma": 0, "first": "gamma"}


def biased() -> Model:
    """A convolution with a bias of its own before a norm."""
    torch.manual_seed(6)
    layers = [nn.Conv2d(3, 6, 4, 4), nn.BatchNorm2d(6), nn.ReLU(), nn.Conv2d(6, 5, 2, 2)]
    network = nn.Sequential(*layers, nn.ReLU(), nn.Flatten(), nn.Linear(60, 3))
    nn.init.normal_(network[0].bias)
    return described(network, "3", "biased")


@pytest.mark.parametrize("make", [plain, biased, residual, lambda: tiny("resnet", size=(64, 32))])
def test_without_gamma_it_is_input_x_gradient(make: Any) -> None:
    """What is known of ReLU networks: relevance in proportion is value times gradient."""
    model = make()
    wanted = explain(model, IMAGES, "input_x_gradient", target=[0, 1, 2]).stack()
    found = explain(model, IMAGES, "lrp", target=[0, 1, 2], params=PLAIN).stack()
    close(found, wanted, 1e-4)


class Flat(nn.Module):  # type: ignore[misc]
    """As Captum can run it: no module but those that it knows, and each used once."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 6, 4, 4)
        self.relu = nn.ReLU()
        self.pool = nn.MaxPool2d(2)
        self.second = nn.Conv2d(6, 5, 3, padding=1)
        self.last = nn.ReLU()
        self.head = nn.Linear(60, 3)

    def forward(self, pixels: Any) -> Any:
        value = self.second(self.pool(self.relu(self.first(pixels))))
        return self.head(self.last(value).flatten(1))


@pytest.mark.parametrize("gamma", [0, 0.25, 2])
def test_it_agrees_with_captum(gamma: float) -> None:
    """With colours from 0 to 1: its rule of gamma is for values that are not negative."""
    torch.manual_seed(4)
    network = Flat().eval()
    colours = Preprocess(size=(32, 24), mean=(0, 0, 0), std=(1, 1, 1))
    model = load_model(network, Description(["second"], colours, 8, CLASSES, name="flat"))
    params = {"gamma": gamma, "first": "gamma"}
    found = explain(model, IMAGES, "lrp", target=[0, 1, 2], params=params).stack()[:, 0, 0]
    for convolution in (network.first, network.second):
        convolution.rule = GammaRule(gamma) if gamma else EpsilonRule()
    pixels = torch.cat([model.prepare(image).pixels for image in IMAGES])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = LRP(network).attribute(pixels, target=torch.tensor([0, 1, 2]))
    close(found, theirs.sum(1).detach(), 1e-4)


def matrix(run: Any, like: Any) -> tuple[Any, Any]:
    """What a straight function multiplies a flat input with, and what it adds."""
    with torch.no_grad():
        base = run(torch.zeros_like(like))
        basis = torch.eye(like.numel()).reshape(-1, *like.shape[1:])
        rows = torch.cat([run(part) - base for part in basis.split(512)])
    return rows.flatten(1).T.double().numpy(), base.flatten().double().numpy()


def over(relevance: Any, whole: Any) -> Any:
    """A quotient; what is 0 was made of nothing and hands back nothing."""
    return np.divide(relevance, whole, out=np.zeros(np.shape(whole)), where=whole != 0)


def handed_back(run: Any, value: Any, relevance: Any, gamma: float) -> Any:
    """Relevance through a straight function by the rule of gamma, entry by entry of its matrix."""
    weights, bias = matrix(run, value)
    a = value.flatten().double().numpy()
    z = weights @ a + bias
    speaks = weights * a  # what each input adds to each output
    more = np.where(z[:, None] > 0, speaks.clip(0), speaks.clip(max=0))
    shares = speaks + gamma * more
    whole = shares.sum(1) + bias
    back = (shares * over(relevance.flatten(), whole)[:, None]).sum(0)
    return back.reshape(value.shape)


def boxed(run: Any, value: Any, ends: tuple[Any, Any], relevance: Any) -> Any:
    weights, _ = matrix(run, value)
    low, high = (end.expand_as(value).flatten().double().numpy() for end in ends)
    shares = weights * value.flatten().double().numpy()
    shares -= weights.clip(0) * low + weights.clip(max=0) * high
    back = (shares * over(relevance.flatten(), shares.sum(1))[:, None]).sum(0)
    return back.reshape(value.shape)


def relevance_of(model: Model, pixels: Any, target: int, gamma: float, first: str) -> Any:
    """Relevance of the residual network, written out backward from the class."""
    net: Any = model.network
    with torch.no_grad():
        stem = net.stem_norm(net.stem(pixels)).relu()
        pooled = net.pool(stem)
        branch = net.norm(net.first(pooled)).relu()
        added = net.second(branch)
        joined = (added + pooled).relu()
    score = (net.head.weight[target].detach() * net.down(joined).mean((2, 3))[0]).numpy()
    relevance = handed_back(lambda v: net.down(v).mean((2, 3)), joined, score, 0)
    total = (added + pooled).double().numpy()
    to_branch, to_pooled = (over(relevance, total) * part.numpy() for part in (added, pooled))
    to_branch = handed_back(net.second, branch, to_branch, gamma)
    to_pooled = to_pooled + handed_back(lambda v: net.norm(net.first(v)), pooled, to_branch, gamma)
    to_stem = np.zeros(stem.shape)
    for _, c, r, k in np.ndindex(*pooled.shape):
        window = np.s_[0, c, max(2 * r - 1, 0) : 2 * r + 2, max(2 * k - 1, 0) : 2 * k + 2]
        place = np.unravel_index(int(stem[window].argmax()), stem[window].shape)
        to_stem[window][place] += to_pooled[0, c, r, k]

    def both(value: Any) -> Any:
        return net.stem_norm(net.stem(value))

    if first == "gamma":
        return handed_back(both, pixels, to_stem, gamma)
    mean, std = (
        torch.tensor(x)[None, :, None, None] for x in (model.preprocess.mean, model.preprocess.std)
    )
    return boxed(both, pixels, (-mean / std, (1 - mean) / std), to_stem)


@pytest.mark.parametrize("first", ["box", "gamma"])
@pytest.mark.parametrize("gamma", [0, 0.25, 3])
def test_the_rules_written_out(first: str, gamma: float) -> None:
    model = residual()
    params = {"gamma": gamma, "first": first}
    for i, image in enumerate(IMAGES[:2]):
        pixels = model.prepare(image).pixels
        wanted = relevance_of(model, pixels, i, gamma, first).sum(1)[0]
        close(explain(model, image, "lrp", target=i, params=params).of(), wanted, 1e-3)


@pytest.mark.parametrize("gamma", [0, 0.25, 10])
@pytest.mark.parametrize("first", ["box", "gamma"])
def test_without_biases_the_pixels_have_the_whole_score(gamma: float, first: str) -> None:
    model = plain(bias=False)
    params = {"gamma": gamma, "first": first, "tolerance": 1e-4}
    maps = explain(model, IMAGES, "lrp", target=2, params=params)
    scores = model.logits(IMAGES)[:, 2]
    for i in range(len(IMAGES)):
        assert maps.of(i).sum() == pytest.approx(scores[i].item(), rel=1e-3)


@pytest.mark.parametrize("last", [nn.Tanh(), nn.GELU(), nn.ReLU6(), nn.SiLU(), nn.LeakyReLU()])
def test_curves_hand_back_what_they_get(last: nn.Module) -> None:
    maps = explain(plain(last, bias=False), IMAGES, "lrp", target=1, params={"tolerance": 1e-4})
    scores = plain(last, bias=False).logits(IMAGES)[:, 1]
    for i in range(len(IMAGES)):
        assert maps.of(i).sum() == pytest.approx(scores[i].item(), rel=1e-3)


@pytest.mark.parametrize("target", [0, "predicted", "embedding"])
def test_a_resnet_conserves_relevance(target: Any) -> None:
    model = tiny("resnet", size=(64, 32))
    maps = explain(model, IMAGES, "lrp", target=target, params={"tolerance": 1e-4})
    assert all(np.ptp(maps.of(i)) > 0 for i in range(len(IMAGES)))


class _Before(Residual):
    """Norms stand before convolutions: that of the stem goes into a norm and past it."""

    def forward(self, pixels: Any) -> Any:
        value = self.stem(pixels)
        value = value + self.second(self.relu(self.stem_norm(value)))
        return self.head(self.down(self.pool(self.relu(self.norm(value)))).mean((2, 3)))


@pytest.mark.parametrize("params", [{}, {"gamma": 0, "first": "gamma"}])
def test_a_convolution_that_also_goes_past_its_norm(params: dict[str, Any]) -> None:
    torch.manual_seed(8)
    model = described(_Before(), "down", "before")
    maps = explain(model, IMAGES, "lrp", target=1, params={**params, "tolerance": 1e-4})
    assert maps.stack().any()
    if params:
        wanted = explain(model, IMAGES, "input_x_gradient", target=1)
        close(maps.stack(), wanted.stack(), 1e-4)


class _Scaled(Residual):
    """The first convolution does not take the pixels themselves."""

    def forward(self, pixels: Any) -> Any:
        return super().forward(2 * pixels)


def test_pixels_that_are_scaled_first_follow_gamma() -> None:
    torch.manual_seed(8)
    model = described(_Scaled(), "down", "scaled")
    maps = [
        explain(model, IMAGES, "lrp", target=0, params={"first": first}).stack()
        for first in ("box", "gamma")
    ]
    assert np.array_equal(maps[0], maps[1])


def test_it_refuses_modules_without_a_rule() -> None:
    with pytest.raises(InputError, match=r"lrp has no rule for .*LayerNorm.* of ViTForImage"):
        explain(relu_vit(), IMAGES, "lrp")
    with pytest.raises(InputError, match=r"lrp has no rule for Sigmoid of plain; .*'fullgrad'"):
        explain(plain(nn.Sigmoid()), IMAGES, "lrp")


class _Same(nn.Module):  # type: ignore[misc]
    """A stranger that changes nothing."""

    def forward(self, value: Any) -> Any:
        return value.clone()


class _Halved(_Same):
    def forward(self, value: Any) -> Any:
        return value.abs().sqrt() * value.sign()


def test_a_stranger_may_hand_on_in_proportion() -> None:
    """A module that nobody knows needs no rule where half its input gives half its output."""
    network = nn.Sequential(*plain().network[:4], _Same(), *plain().network[4:])
    maps = explain(described(network, "2", "stranger"), IMAGES, "lrp", target=0)
    close(maps.stack(), explain(plain(), IMAGES, "lrp", target=0).stack(), 1e-6)
    network[4] = _Halved()
    with pytest.raises(InputError, match="lrp has no rule for _Halved of stranger"):
        explain(described(network, "2", "stranger"), IMAGES, "lrp", target=0)


class _Squared(Residual):
    def forward(self, pixels: Any) -> Any:
        return super().forward(pixels) ** 2


def test_it_refuses_where_relevance_is_made() -> None:
    """A square hands back twice what it gets."""
    model = described(_Squared(), "down", "squared")
    with pytest.raises(InputError, match=r"lrp does not hold for squared: for image 1 of 3"):
        explain(model, IMAGES, "lrp")


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"gamma": -1}, "gamma must be a number, from 0 to 1000000.0, got -1"),
        ({"gamma": "much"}, "got 'much'"),
        ({"first": "flat"}, "first must be box or gamma, got 'flat'"),
        ({"tolerance": -0.5}, "tolerance must be a number, 0 or more, got -0.5"),
    ],
)
def test_wrong_parameters(params: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        explain(plain(), IMAGES, "lrp", params=params)
