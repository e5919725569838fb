"""Gradient maps against plain autograd, one image at a time, and against cases that are exact."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from captum.attr import GradientShap, InputXGradient, Saliency  # type: ignore[import-untyped]

from sightline.attribution.methods import METHODS, explain
from sightline.core import InputError, MissingPackageError
from tests.attribution.methods.networks import CLASSES, linear, make_images, one_patch, smooth, tiny
from tests.attribution.methods.seen import close, lies_on_one

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sightline.models import Model

IMAGES = make_images()
SIZES: dict[str, dict[str, Any]] = {
    "vit": {"size": (40, 24)},
    "resnet": {"size": (64, 32), "fit": "crop"},
    "swin": {"size": 64, "fit": "letterbox"},
}
GRADIENT = [
    name for name, card in METHODS.items() if card.group == "gradient" and "ReLU" not in card.needs
]
SAMPLED = ["integrated_gradients", "smoothgrad", "smoothgrad_ig", "gradient_shap"]


@pytest.fixture(scope="module", params=list(SIZES))
def model(request: pytest.FixtureRequest) -> Model:
    return tiny(request.param, **SIZES[request.param])


def logits(model: Model, pixels: Any) -> Any:
    return model(pixels).logits


def slope(model: Model, pixels: Any, target: int) -> Any:
    """The gradient of one class for one image, by a backward pass of its own."""
    leaf = pixels.detach().clone().requires_grad_()
    logits(model, leaf)[0, target].backward()
    return leaf.grad[0]


def predicted(model: Model, pixels: Any) -> int:
    return int(logits(model, pixels)[0].detach().argmax())


def farthest(values: NDArray[Any]) -> NDArray[Any]:
    """Of each pixel's three values the one with the largest magnitude, by a loop."""
    found = np.zeros(values.shape[1:])
    for place in np.ndindex(*found.shape):
        found[place] = max(values[:, place[0], place[1]], key=abs)
    return found


@pytest.mark.parametrize("batch", [1, 3])
def test_saliency_is_the_gradient_farthest_from_0(model: Model, batch: int) -> None:
    maps = explain(model, IMAGES, "saliency", batch=batch)
    for i, image in enumerate(IMAGES):
        pixels = model.prepare(image).pixels
        target = predicted(model, pixels)
        close(maps.of(i), farthest(slope(model, pixels, target).numpy()))
        assert maps.targets[i] == CLASSES[target]
    assert (maps.of(0) < 0).any()
    assert (maps.of(0) > 0).any()


def test_input_x_gradient_is_the_product_summed(model: Model) -> None:
    maps = explain(model, IMAGES, "input_x_gradient", target=[0, 1, 2])
    for i, image in enumerate(IMAGES):
        pixels = model.prepare(image).pixels
        close(maps.of(i), (pixels[0] * slope(model, pixels, i)).sum(0))


def test_both_agree_with_captum(model: Model) -> None:
    pixels = torch.cat([model.prepare(image).pixels for image in IMAGES]).requires_grad_()
    targets = torch.tensor([2, 0, 1])

    def forward(values: Any) -> Any:
        return logits(model, values)

    gradient = Saliency(forward).attribute(pixels, target=targets, abs=True).amax(1)
    product = InputXGradient(forward).attribute(pixels, target=targets).sum(1)
    found = explain(model, IMAGES, "saliency", target=[2, 0, 1]).stack()[:, 0, 0]
    close(np.abs(found), gradient)
    close(
        explain(model, IMAGES, "input_x_gradient", target=[2, 0, 1]).stack()[:, 0, 0],
        product.detach(),
    )


@pytest.mark.parametrize("baseline", ["mean", "black", "white"])
def test_integrated_gradients_is_the_integral(model: Model, baseline: str) -> None:
    """By the Gauss-Legendre rule, image by image and step by step."""
    colour = {"mean": None, "black": 0, "white": 255}[baseline]
    params = {"steps": 6, "baseline": baseline}
    places, shares = np.polynomial.legendre.leggauss(6)
    maps = explain(model, IMAGES[:2], "integrated_gradients", target=1, params=params)
    for i, image in enumerate(IMAGES[:2]):
        pixels = model.prepare(image).pixels
        start = torch.zeros_like(pixels)
        if colour is not None:
            plain = model.fitted(fit="squash").prepare(np.full((9, 9, 3), colour, np.uint8))
            start = plain.pixels
        mean = torch.zeros_like(pixels[0])
        for place, share in zip((places + 1) / 2, shares / 2, strict=True):
            mean += share * slope(model, start + place * (pixels - start), 1)
        close(maps.of(i), (mean * (pixels - start)[0]).sum(0))


@pytest.mark.parametrize("baseline", ["mean", "black", "white"])
def test_integrated_gradients_adds_up_to_what_the_class_gains(baseline: str) -> None:
    model, params = smooth(), {"baseline": baseline}
    maps = explain(model, IMAGES, "integrated_gradients", target=2, params=params)
    mean, std = np.array(model.preprocess.mean), np.array(model.preprocess.std)
    start = {"mean": 0 * mean, "black": -mean / std, "white": (1 - mean) / std}[baseline]
    plain = torch.from_numpy(start).float()[None, :, None, None].expand(1, 3, 24, 32)
    gains = []
    for i, image in enumerate(IMAGES):
        ends = [logits(model, end)[0, 2].item() for end in (model.prepare(image).pixels, plain)]
        gains.append(ends[0] - ends[1])
        assert maps.of(i).sum() == pytest.approx(gains[i], abs=1e-5)
    assert np.abs(gains).max() > 0.1


@pytest.mark.parametrize("steps", [1, 5])
def test_on_a_linear_network_all_is_exact(steps: int) -> None:
    model = linear()
    network: Any = model.network
    # What each class weighs each pixel with: the patch weights laid out by hand.
    head = network.head.weight.detach().numpy().reshape(3, 5, 3, 4)
    embed = network.embed.weight.detach().numpy()
    weights = np.einsum("kprc,pdyx->kdrycx", head, embed).reshape(3, 3, 24, 32)
    for i, image in enumerate(IMAGES):
        pixels = model.prepare(image).pixels.numpy()[0]
        close(explain(model, image, "saliency", target=i).of(), farthest(weights[i]))
        product = (weights[i] * pixels).sum(0)
        close(explain(model, image, "input_x_gradient", target=i).of(), product)
        params: dict[str, Any] = {"steps": steps}
        close(explain(model, image, "integrated_gradients", target=i, params=params).of(), product)
        params = {"samples": steps}
        close(
            explain(model, image, "smoothgrad", target=i, params=params).of(), farthest(weights[i])
        )
        params = {"samples": steps, "baseline": "mean"}
        close(explain(model, image, "gradient_shap", target=i, params=params).of(), product)
        params = {"samples": 2, "steps": steps, "noise": 0}
        close(explain(model, image, "smoothgrad_ig", target=i, params=params).of(), product)
        sizes = np.abs(weights[i] * pixels).sum(0)
        close(explain(model, image, "fullgrad", target=i).of(), sizes)


def test_smoothgrad_without_noise_is_saliency(model: Model) -> None:
    plain = explain(model, IMAGES, "saliency").stack()
    params = {"noise": 0, "samples": 3}
    close(explain(model, IMAGES, "smoothgrad", params=params).stack(), plain)


def test_smoothgrad_is_the_mean_over_noisy_copies() -> None:
    """The law of its noise: mean 0, and a deviation of the share of the input's range."""
    model, seen = tiny("vit", size=(40, 24)), []
    forward = model.forward

    def watched(network: Any, pixels: Any) -> Any:
        seen.append(pixels.detach().clone())
        return forward(network, pixels)

    object.__setattr__(model, "forward", watched)
    params = {"samples": 40, "noise": 0.2}
    maps = explain(model, IMAGES[0], "smoothgrad", target=0, params=params, batch=8)
    copies = torch.cat(seen[-5:])  # 40 samples, 8 at a time, after one pass that counts bytes
    assert [len(part) for part in seen[-5:]] == [8] * 5
    object.__setattr__(model, "forward", forward)
    clean = model.prepare(IMAGES[0]).pixels
    noise = (copies - clean).numpy() / float(clean.max() - clean.min())
    assert noise.mean() == pytest.approx(0, abs=0.005)
    assert noise.std() == pytest.approx(0.2, rel=0.02)
    assert np.abs(np.corrcoef(noise.reshape(40, -1)) - np.eye(40)).max() < 0.1
    slopes = [slope(model, copy[None], 0) for copy in copies]
    close(maps.of(), farthest(torch.stack(slopes).mean(0).numpy()))


def test_smoothgrad_noise_follows_the_seed_and_the_image() -> None:
    model = tiny("vit")

    def run(images: Any, seed: int) -> Any:
        return explain(model, images, "smoothgrad", params={"seed": seed}, target=0).stack()

    together = run(IMAGES, 0)
    assert not np.allclose(together, run(IMAGES, 1))
    close(run(IMAGES[::-1], 0)[::-1], together)
    close(run([*IMAGES[1:], IMAGES[0]], 0)[-1], together[0])


def test_the_class_is_predicted_without_the_noise() -> None:
    """With noise that drowns the image, the class explained is still that of the image."""
    model = tiny("vit")
    clean = model.logits(IMAGES).argmax(1).tolist()
    for method, params in (
        ("smoothgrad", {"noise": 50.0}),
        ("integrated_gradients", {"baseline": "white", "steps": 2}),
        ("smoothgrad_ig", {"noise": 50.0, "steps": 2, "samples": 2}),
        ("gradient_shap", {"noise": 50.0, "samples": 2}),
    ):
        found = explain(model, IMAGES, method, params=params)
        assert found.targets == tuple(CLASSES[number] for number in clean)
        close(
            explain(model, IMAGES, method, params=params, target=list(found.targets)).stack(),
            found.stack(),
        )


def test_smoothgrad_ig_without_noise_is_integrated_gradients(model: Model) -> None:
    plain = explain(model, IMAGES, "integrated_gradients", params={"steps": 5}).stack()
    params = {"noise": 0, "samples": 2, "steps": 5}
    close(explain(model, IMAGES, "smoothgrad_ig", params=params).stack(), plain)


def test_smoothgrad_ig_is_the_mean_over_noisy_copies() -> None:
    """Integrated gradients of each copy, step by step; a copy is read off the last step's place."""
    model = tiny("vit", size=(40, 24))
    seen = watched(model)
    params = {"samples": 3, "steps": 4, "noise": 0.2, "baseline": "white"}
    maps = explain(model, IMAGES[0], "smoothgrad_ig", target=1, params=params, batch=5)
    rows = torch.cat(seen)[-12:]
    clean = model.prepare(IMAGES[0]).pixels
    mean, std = (
        torch.tensor(x)[None, :, None, None] for x in (model.preprocess.mean, model.preprocess.std)
    )
    start = ((1 - mean) / std).float()
    places, shares = np.polynomial.legendre.leggauss(4)
    total = torch.zeros_like(clean[0])
    for copy in range(3):
        steps = rows[4 * copy : 4 * copy + 4]
        end = start + (steps[-1:] - start) / ((places[-1] + 1) / 2)
        deviation = float((end - clean).std() / (clean.max() - clean.min()))
        assert deviation == pytest.approx(0.2, rel=0.1)
        for step, place, share in zip(steps, (places + 1) / 2, shares / 2, strict=True):
            close(step.numpy(), (start + place * (end - start))[0], 1e-4)
            total = total + share * slope(model, step[None], 1) * (end - start)[0] / 3
    close(maps.of(), total.sum(0), 1e-4)


def test_smoothgrad_ig_adds_up_to_the_mean_gain_of_the_copies() -> None:
    model = smooth()
    seen = watched(model)
    params = {"samples": 3, "steps": 20, "noise": 0.3}
    maps = explain(model, IMAGES[0], "smoothgrad_ig", target=2, params=params, batch=20)
    last = (np.polynomial.legendre.leggauss(20)[0][-1] + 1) / 2
    ends = torch.stack([part[-1] for part in seen[-3:]]) / last
    with torch.no_grad():
        gains = logits(model, ends)[:, 2] - logits(model, torch.zeros_like(ends))[:, 2]
    assert maps.of().sum() == pytest.approx(gains.mean().item(), abs=1e-4)
    assert abs(gains.mean()) > 0.05


@pytest.mark.parametrize("baseline", ["mean", "black", "white"])
def test_gradient_shap_is_the_mean_over_random_points(baseline: str) -> None:
    """Each point lies on the way from the plain image; its gradient counts for the whole way."""
    model = tiny("vit", size=(40, 24))
    seen = watched(model)
    params = {"samples": 20, "baseline": baseline}
    maps = explain(model, IMAGES[0], "gradient_shap", target=1, params=params, batch=8)
    points = torch.cat(seen)[-20:]
    clean = model.prepare(IMAGES[0]).pixels
    mean, std = (
        np.array(x)[None, :, None, None] for x in (model.preprocess.mean, model.preprocess.std)
    )
    start = torch.tensor(
        {"mean": 0 * mean, "black": -mean / std, "white": (1 - mean) / std}[baseline]
    ).float()
    way = clean - start
    shares = ((points - start) * way).sum((1, 2, 3)) / (way * way).sum()
    close(points.numpy(), start + shares[:, None, None, None] * way, 1e-4)
    assert (shares.min() < 0.2, shares.max() > 0.8) == (True, True)
    assert len(set(shares.tolist())) == 20
    slopes = torch.stack([slope(model, point[None], 1) for point in points]).mean(0)
    close(maps.of(), (slopes * way[0]).sum(0), 1e-4)


def test_gradient_shap_draws_any_of_the_plain_images() -> None:
    """On a linear network a map is its weights times the way from the mean of those drawn."""
    model = linear()
    ways = []
    for baseline in ("mean", "black", "white"):
        params = {"samples": 1, "baseline": baseline}
        ways.append(explain(model, IMAGES, "gradient_shap", target=0, params=params).stack())
    found = explain(model, IMAGES, "gradient_shap", target=0, params={"samples": 50}).stack()
    for i in range(len(IMAGES)):
        columns = np.stack([way[i].ravel() for way in ways], 1).astype(float)
        shares, *_ = np.linalg.lstsq(columns, found[i].ravel().astype(float), rcond=None)
        close((columns @ shares).astype(np.float32), found[i].ravel(), 1e-4)
        assert shares.sum() == pytest.approx(1, abs=1e-3)
        assert (np.abs(shares * 50 - np.rint(shares * 50)) < 0.05).all()
        assert (shares > 0.1).all()


def test_gradient_shap_tends_to_what_captum_tends_to() -> None:
    model = smooth()
    pixels = model.prepare(IMAGES[0]).pixels
    torch.manual_seed(0)
    np.random.seed(0)  # noqa: NPY002 (where Captum draws from)
    theirs = GradientShap(lambda values: logits(model, values)).attribute(
        pixels, torch.zeros_like(pixels), n_samples=1500, target=1
    )
    params = {"samples": 1500, "baseline": "mean"}
    ours = explain(model, IMAGES[0], "gradient_shap", target=1, params=params, batch=256).of()
    close(ours, theirs.sum(1)[0].detach(), 0.02)


def test_noise_does_not_move_what_gradient_shap_draws() -> None:
    model = linear()
    params = {"samples": 4, "noise": 1e-6}
    noisy = explain(model, IMAGES, "gradient_shap", target=0, params=params).stack()
    clean = explain(model, IMAGES, "gradient_shap", target=0, params={"samples": 4}).stack()
    close(noisy, clean, 1e-3)


@pytest.mark.parametrize("method", GRADIENT)
def test_all_lies_on_the_one_patch_that_is_read(method: str) -> None:
    maps = explain(one_patch(), IMAGES, method, target=[0, 1, 2])
    lies_on_one(maps, len(IMAGES))


FEW: dict[str, dict[str, Any]] = {
    "integrated_gradients": {"steps": 10},
    "smoothgrad": {"samples": 10},
    "smoothgrad_ig": {"samples": 2, "steps": 5},
    "gradient_shap": {"samples": 10, "noise": 0.1},
}


@pytest.mark.parametrize("method", SAMPLED)
@pytest.mark.parametrize("kind", ["vit", "resnet"])
def test_the_internal_batch_changes_nothing(kind: str, method: str) -> None:
    model = tiny(kind, **SIZES[kind])
    one = explain(model, IMAGES, method, params=FEW[method], batch=1).stack()
    for batch in (5, 8):
        close(explain(model, IMAGES, method, params=FEW[method], batch=batch).stack(), one)


def watched(model: Model) -> list[Any]:
    """What runs through a network from now on, pass by pass."""
    seen: list[Any] = []
    forward = model.forward

    def watching(network: Any, pixels: Any) -> Any:
        seen.append(pixels.detach().clone())
        return forward(network, pixels)

    object.__setattr__(model, "forward", watching)
    return seen


@pytest.mark.parametrize("method", SAMPLED)
@pytest.mark.parametrize("batch", [1, 2, 4, 7])
def test_no_more_rows_than_the_batch_run_at_once(method: str, batch: int) -> None:
    model = linear()
    seen = watched(model)
    explain(model, IMAGES, method, batch=batch, params=FEW[method])
    rows = [len(pixels) for pixels in seen]
    assert max(rows) <= batch
    assert sum(rows) >= 3 * 10


@pytest.mark.parametrize("method", ["smoothgrad_ig", "gradient_shap"])
def test_batches_are_full_across_images(method: str) -> None:
    """Ten points of each of three images, four at a time: seven passes of four, and two left."""
    model = linear()
    seen = watched(model)
    explain(model, IMAGES, method, batch=4, params=FEW[method], target=0)
    assert [len(pixels) for pixels in seen] == [4] * 7 + [2]


@pytest.mark.parametrize("outer", [torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("method", [*GRADIENT, "gradcam", "grad_attention", "grad_rollout"])
def test_gradients_run_where_the_caller_turned_them_off(outer: Any, method: str) -> None:
    model = tiny("vit")
    wanted = explain(model, IMAGES, method)
    with outer():
        found = explain(model, IMAGES, method)
    assert np.array_equal(found.stack(), wanted.stack())


@pytest.mark.parametrize(
    ("method", "params", "message"),
    [
        (
            "gradient_shap",
            {"samples": 0},
            "samples must be a whole number, from 1 to [\\d,]+, got 0",
        ),
        ("gradient_shap", {"baseline": "blue"}, "mean, black, white, any, got 'blue'"),
        ("gradient_shap", {"noise": -1}, "noise must be a number, from 0 to 100, got -1"),
        ("smoothgrad_ig", {"steps": 0}, "steps must be a whole number, from 1 to [\\d,]+, got 0"),
        (
            "smoothgrad_ig",
            {"samples": 0},
            "samples must be a whole number, from 1 to [\\d,]+, got 0",
        ),
        ("smoothgrad_ig", {"baseline": "any"}, "mean, black, white, got 'any'"),
        (
            "integrated_gradients",
            {"steps": 0},
            "steps must be a whole number, from 1 to [\\d,]+, got 0",
        ),
        ("integrated_gradients", {"steps": 2.5}, "got 2.5"),
        ("integrated_gradients", {"steps": True}, "got True"),
        ("integrated_gradients", {"baseline": "blue"}, "mean, black, white, got 'blue'"),
        (
            "smoothgrad",
            {"samples": -1},
            "samples must be a whole number, from 1 to [\\d,]+, got -1",
        ),
        ("smoothgrad", {"noise": -0.1}, "noise must be a number, from 0 to 100, got -0.1"),
        ("smoothgrad", {"noise": "much"}, "got 'much'"),
        ("smoothgrad", {"noise": float("nan")}, "got nan"),
        ("smoothgrad", {"noise": float("inf")}, "got inf"),
        ("smoothgrad", {"seed": -3}, "seed must be a whole number, 0 or more, got -3"),
        ("smoothgrad", {"seed": "x"}, "got 'x'"),
    ],
)
def test_wrong_parameters(method: str, params: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        explain(linear(), IMAGES, method, params=params)


def test_without_captum_the_error_names_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "captum", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'sightline\[models\]'"):
        explain(linear(), IMAGES, "integrated_gradients")
    assert explain(linear(), IMAGES, "saliency").stack().any()
