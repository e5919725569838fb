"""Class activation maps against a backward pass for each image and layer, and loops over cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from torch import nn

from sightline import load_dataset
from sightline.attribution.methods import METHODS, explain
from sightline.core import InputError, Sample
from sightline.data.facades import PART_TYPES
from sightline.models import Model, load_model
from sightline.models.load import Description
from sightline.models.preprocess import Preprocess
from tests.attribution.methods.networks import CLASSES, ONE, linear, make_images, one_patch, tiny

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

IMAGES = make_images()
# Name of the module that a layer is read at, and size (rows, columns) of its grid for an input
# of 64 x 96 (ViT: 24 x 40).
LAYERS: dict[str, list[tuple[str, tuple[int, int]]]] = {
    "vit": [(f"vit.layers.{i}.layernorm_before", (3, 5)) for i in range(3)],
    "resnet": [(f"resnet.encoder.stages.{i}", (16 >> i, 24 >> i)) for i in range(4)],
    "swin": [
        (f"swin.encoder.layers.{i}", size) for i, size in enumerate([(8, 12), (4, 6), (4, 6)])
    ],
}
SIZES = {"vit": (40, 24), "resnet": (96, 64), "swin": (96, 64)}
# The one layer that is followed by a norm of each cell, and is 0 for that.
CANCELS = ("swin", "hirescam", 2)


@pytest.fixture(scope="module")
def churches() -> list[Sample]:
    return list(load_dataset("facades", count=6, seed=3))


@pytest.fixture(scope="module", params=list(LAYERS))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def model(kind: str) -> Model:
    return tiny(kind, size=SIZES[kind])


def read(model: Model, image: Any, target: int, name: str, grid: tuple[int, int]) -> Any:
    """One image, one layer: a hook of its own and `backward`; activations and gradients."""
    kept: list[Any] = []

    def keep(module: Any, arguments: Any, output: Any) -> None:
        kept.append(output if isinstance(output, torch.Tensor) else output[0])
        kept[0].retain_grad()

    handle = dict(model.network.named_modules())[name].register_forward_hook(keep)
    pixels = model.prepare(image).pixels.requires_grad_()
    extra = {} if "resnet" in name else {"interpolate_pos_encoding": True}
    network: Any = model.network
    network(pixels, **extra).logits[0, target].backward()
    handle.remove()
    network.zero_grad()
    values, slopes = kept[0].detach()[0].numpy(), kept[0].grad[0].numpy()
    if values.ndim == 2:  # tokens: the class token goes, and channels come first
        start = len(values) - grid[0] * grid[1]
        values, slopes = (part[start:].T.reshape(-1, *grid) for part in (values, slopes))
    return values.astype(np.float64), slopes.astype(np.float64)


def plus_plus(values: Any, slopes: Any) -> Any:
    """The weight of one channel as in the paper, cell by cell, where it is defined."""
    total, weight = sum(max(value, 0) for value in values.flat), 0.0
    for slope in slopes.flat:
        if slope > 0:
            alpha = slope**2 / (2 * slope**2 + total * slope**3)
            weight += alpha * slope
    return weight


def by_activity(values: Any, slopes: Any) -> Any:
    total = sum(abs(value) for value in values.flat) or 1.0  # of a channel that is 0 everywhere
    return sum(abs(v) / total * g for v, g in zip(values.flat, slopes.flat, strict=True))


# The weight of a channel from its activations and gradients: one for all its cells, or an array.
WEIGHTS: dict[str, Callable[[Any, Any], Any]] = {
    "gradcam": lambda values, slopes: slopes.mean(),
    "gradcam_pp": plus_plus,
    "hirescam": lambda values, slopes: slopes,
    "xgradcam": by_activity,
    "layercam": lambda values, slopes: np.maximum(slopes, 0),
}


def slow(method: str, values: Any, slopes: Any) -> NDArray[Any]:
    """Loops over channels and cells."""
    found = np.zeros(values.shape[1:])
    for channel, slope in zip(values, slopes, strict=True):
        weights = np.broadcast_to(WEIGHTS[method](channel, slope), found.shape)
        for cell in np.ndindex(*found.shape):
            found[cell] += weights[cell] * channel[cell]
    return found


@pytest.mark.parametrize("target", [0, 2])
def test_every_layer_is_as_the_slow_way(kind: str, model: Model, target: int) -> None:
    parts = {
        (i, layer): read(model, image, target, *LAYERS[kind][layer])
        for i, image in enumerate(IMAGES)
        for layer in range(len(LAYERS[kind]))
    }
    for method in WEIGHTS:
        maps = explain(model, IMAGES, method, target=target)
        for (i, layer), part in parts.items():
            wanted, found = slow(method, *part), maps.of(i, layer)
            assert found.shape == LAYERS[kind][layer][1]
            if (kind, method, layer) == CANCELS:
                assert not found.any()
                continue
            assert np.abs(found - wanted).max() <= 1e-5 * np.abs(wanted).max()
            assert np.ptp(wanted) > 0


@pytest.mark.parametrize(
    ("method", "peer"), [("gradcam", "LayerGradCam"), ("hirescam", "LayerGradientXActivation")]
)
def test_captum_finds_the_same(method: str, peer: str) -> None:
    attributions = pytest.importorskip("captum.attr")
    model = tiny("resnet", size=(96, 64))
    pixels = torch.cat([model.prepare(image).pixels for image in IMAGES])
    for layer, module in enumerate(model.cam_layers):
        tool = getattr(attributions, peer)(lambda values: model(values).logits, module)
        wanted = tool.attribute(pixels, target=2).detach().sum(1).numpy()
        found = explain(model, IMAGES, method, layers=layer, target=2).stack()[:, 0, 0]
        np.testing.assert_allclose(found, wanted, atol=1e-5 * np.abs(wanted).max())


class _Normed(nn.Module):  # type: ignore[misc]
    """Each cell is brought to a mean of 0 and a variance of 1, but for a small share."""

    def __init__(self, least: float) -> None:
        super().__init__()
        self.body = nn.Conv2d(3, 8, 8, 8)
        self.norm = nn.LayerNorm(8, eps=least)
        self.head = nn.Linear(8, 3)

    def forward(self, pixels: Any) -> Any:
        cells = self.norm(self.body(pixels).permute(0, 2, 3, 1))
        return self.head(cells.tanh().mean((1, 2)))


@pytest.mark.parametrize(
    "precision", [torch.float64, torch.float32, torch.float16, torch.bfloat16], ids=str
)
def test_right_before_a_norm_of_each_cell_hirescam_is_0(precision: torch.dtype) -> None:
    """Exactly, not what rounding leaves; where the norm adds much to the variance, it is not."""
    for least, nothing in ((1e-6, True), (1.0, False)):
        torch.manual_seed(0)
        model = own(_Normed(least).to(precision), ["body"])
        for method in ("hirescam", "gradcam", "layercam"):
            found = explain(model, IMAGES, method, target=1).stack()
            assert np.isfinite(found).all()
            assert all(image.any() != (nothing and method == "hirescam") for image in found)


def test_an_image_whose_channels_cancel_does_not_silence_others() -> None:
    """The flat one has products of 1 and -1 in every cell, the other something else."""
    network = nn.Sequential(nn.Conv2d(3, 2, 8, 8), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    model = own(nn.Sequential(*network, nn.Linear(2, 3)), ["0"])
    with torch.no_grad():
        for module, weights in ((model.network[0], 0.0), (model.network[3], 1.0)):
            module.weight.fill_(weights)
            module.bias.copy_(torch.tensor([1.0, -1.0, 0.0])[: len(module.bias)])
        model.network[0].weight[0] = 0.1
    plain = np.rint(np.array(model.preprocess.mean) * 255).astype(np.uint8)
    flat = np.broadcast_to(plain, (32, 32, 3)).copy()
    with torch.no_grad():  # the activations of the flat image cancel, but for the last bits
        seen = model.network[0](model.prepare(flat).pixels)[0, 0, 0, 0]
        model.network[0].bias[0] -= seen - 1 - 1e-5
    for batch in (1, 2):
        found = explain(model, [flat, IMAGES[0]], "hirescam", target=0, batch=batch).stack()
        assert not found[0].any()
        assert found[1].any()


def test_values_below_0_are_kept(model: Model) -> None:
    first, other = (explain(model, IMAGES, "gradcam", target=i) for i in (0, 1))
    least = [values.min() for maps in (first, other) for image in maps.values for values in image]
    assert min(least) < 0


def test_each_layer_has_its_own_grid_and_geometry(kind: str, model: Model) -> None:
    maps = explain(model, IMAGES, "gradcam", layers=[-1, 0])
    assert maps.layers == (len(LAYERS[kind]) - 1, 0)
    for place, (_, (rows, columns)) in enumerate((LAYERS[kind][-1], LAYERS[kind][0])):
        assert maps.geometries[0][place].grid == (columns, rows)
        assert maps.geometries[0][place].size == SIZES[kind]


def test_layers_are_given_in_the_order_asked_for(model: Model) -> None:
    maps, whole = (
        explain(model, IMAGES, "gradcam", layers=[1, 0]),
        explain(model, IMAGES, "gradcam"),
    )
    for place, layer in enumerate((1, 0)):
        assert np.array_equal(maps.values[0][place], whole.values[0][layer])
    with pytest.raises(InputError, match="layers must differ, got 1, 1"):
        explain(model, IMAGES, "gradcam", layers=[1, 1])


@pytest.mark.parametrize("method", [*WEIGHTS, "eigencam", "scorecam", "ablationcam"])
def test_all_lies_on_the_one_patch_that_is_read(method: str) -> None:
    options: dict[str, Any] = {"target": [0, 1, 2]}
    if method == "eigencam":
        options = {"params": {"centred": False}}
    cells = np.abs(explain(one_patch(), IMAGES, method, **options).stack()[:, :, 0])
    assert cells[..., ONE[0], ONE[1]].min() > 0
    cells[..., ONE[0], ONE[1]] = 0
    assert not cells.any()


@pytest.mark.parametrize("method", ["grad_attention", "grad_rollout"])
def test_so_does_graded_attention(method: str) -> None:
    cells = np.stack([explain(one_patch(), IMAGES, method, target=i).stack() for i in range(3)])
    assert cells[..., ONE[0], ONE[1]].max() > 0
    cells[..., ONE[0], ONE[1]] = 0
    assert not cells.any()


def test_a_linear_layer_by_hand() -> None:
    model = linear()
    network: Any = model.network
    values = network.embed(model.prepare(IMAGES[0]).pixels)[0].detach().numpy()
    for target in range(3):
        slopes = network.head.weight[target].detach().reshape(5, 3, 4).numpy()
        for method in WEIGHTS:
            wanted = slow(method, values, slopes)
            found = explain(model, IMAGES[0], method, target=target).of()
            np.testing.assert_allclose(found, wanted, atol=1e-5 * np.abs(wanted).max())


def test_hirescam_adds_up_to_a_class_that_is_linear_in_the_layer() -> None:
    model = linear()
    network: Any = model.network
    for target in range(3):
        maps = explain(model, IMAGES, "hirescam", target=target)
        wanted = model.logits(IMAGES)[:, target] - network.head.bias[target].detach()
        np.testing.assert_allclose(maps.stack().sum((1, 2, 3, 4)), wanted, rtol=1e-4, atol=1e-6)


def test_a_class_that_is_a_mean_is_seen_alike_by_all_that_average() -> None:
    """Where every cell has the same gradient, it does not matter how gradients are averaged."""
    model = tiny("resnet", size=(96, 64))
    wanted = explain(model, IMAGES, "gradcam", layers=-1).stack()
    for method in ("hirescam", "xgradcam"):
        found = explain(model, IMAGES, method, layers=-1).stack()
        np.testing.assert_allclose(found, wanted, atol=1e-5 * np.abs(wanted).max())


@pytest.mark.parametrize("method", WEIGHTS)
def test_nothing_active_gives_nothing(method: str) -> None:
    model = own(_InPlace(), ["body"])
    network: Any = model.network
    with torch.no_grad():
        network.body.weight.zero_()
        network.body.bias.fill_(-1)
    assert not explain(model, IMAGES, method, target=0).stack().any()


class _Cubed(nn.Conv2d):  # type: ignore[misc]
    def forward(self, pixels: Any) -> Any:
        return super().forward(pixels) ** 3


def test_a_faint_image_beside_a_strong_one_keeps_its_map() -> None:
    """What counts as nothing is told by the image itself: here, activations 1e-7 as large."""
    torch.manual_seed(0)
    body = _Cubed(3, 4, 8, 8, bias=False)
    network = nn.Sequential(body, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3))
    black = Preprocess(size=(32, 32), mean=(0, 0, 0), std=(1, 1, 1))
    model = load_model(network, Description(["0"], black, 8, CLASSES, name="own"))
    faint, strong = (np.full((32, 32, 3), value, np.uint8) for value in (1, 255))
    together = explain(model, [faint, strong], "hirescam", target=0, batch=2).stack()
    alone = explain(model, faint, "hirescam", target=0).stack()[0]
    assert 0 < np.abs(alone).max() < 1e-6 * np.abs(together[1]).max()
    np.testing.assert_allclose(together[0], alone, rtol=1e-4)


class _InPlace(nn.Module):  # type: ignore[misc]
    """A layer whose output is overwritten by the next module, and one that is never used."""

    def __init__(self, crop: int = 0, pass_by: bool = False) -> None:
        super().__init__()
        self.body = nn.Conv2d(3, 4, 8 - crop, 8)
        self.act = nn.ReLU(inplace=True)
        self.spare = nn.Conv2d(4, 4, 1)
        self.head = nn.Linear(4, 3)
        self.pass_by = pass_by

    def forward(self, pixels: Any) -> Any:
        hidden = self.act(self.body(pixels))
        if self.pass_by:
            self.spare(hidden)
        return self.head(hidden.mean((2, 3)))


def own(network: nn.Module, layers: list[str], size: int = 32) -> Model:
    plain = Preprocess(size=(size, size))
    return load_model(network, Description(layers, plain, 8, CLASSES, name="own"))


def test_a_layer_whose_output_is_overwritten_is_read_as_it_is_used() -> None:
    torch.manual_seed(0)
    model = own(_InPlace(), ["body"])
    network: Any = model.network
    values = network.body(model.prepare(IMAGES[0]).pixels).relu()[0].detach()
    wanted = (network.head.weight[1].detach()[:, None, None] / 16 * values).sum(0).numpy()
    found = explain(model, IMAGES[0], "gradcam", target=1).of()
    np.testing.assert_allclose(found, wanted, atol=1e-6)


@pytest.mark.parametrize(
    ("network", "layers", "message"),
    [
        (_InPlace(pass_by=True), ["body", "spare"], "no class of own depends on layer 1"),
        (_InPlace(), ["spare", "body"], "layer 0 of own was not used in its forward pass"),
    ],
)
def test_layers_without_a_say(network: nn.Module, layers: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        explain(own(network, layers), IMAGES, "gradcam")


def test_a_grid_that_does_not_divide_the_input_is_refused() -> None:
    pools = nn.AdaptiveAvgPool2d(4), nn.AdaptiveAvgPool2d(1)
    network = nn.Sequential(nn.Conv2d(3, 3, 3), *pools, nn.Flatten())
    message = "own: a map of 30x30 cells does not divide the input of 32x32 pixels"
    with pytest.raises(InputError, match=message):
        explain(own(network, ["0", "1"]), IMAGES, "gradcam")


@pytest.mark.parametrize("centred", [False, True])
def test_eigencam_is_the_first_singular_vector_of_the_cells(
    kind: str, model: Model, centred: bool
) -> None:
    maps = explain(model, IMAGES, "eigencam", params={"centred": centred})
    assert maps.targets == ()
    for i, image in enumerate(IMAGES):
        for layer, (name, grid) in enumerate(LAYERS[kind]):
            values, _ = read(model, image, 0, name, grid)
            cells = values.reshape(len(values), -1).T
            used = cells - cells.mean(0) * centred
            wanted = used @ np.linalg.svd(used)[2][0]
            sizes = np.sqrt((used**2).sum(1)) if centred else 1
            if (wanted * sizes).sum() < 0:
                wanted = -wanted
            found = maps.of(i, layer).ravel()
            assert np.abs(found - wanted).max() <= 1e-5 * np.abs(wanted).max()


def test_eigencam_of_what_is_never_below_0_is_never_below_0() -> None:
    model, params = tiny("resnet", size=(96, 64)), {"centred": False}
    values = explain(model, IMAGES, "eigencam", layers=-1, params=params).stack()
    assert values.min() >= -1e-6 * values.max()
    assert values.max() > 0


def test_eigencam_is_up_where_few_cells_stand_out() -> None:
    """Whatever the sign of what they hold: here one cell of twelve, which differs from the rest."""
    network = nn.Sequential(nn.Conv2d(3, 2, 8, 8, bias=False), nn.Flatten(), nn.Linear(24, 3))
    plain = Preprocess(size=(32, 24), mean=(0, 0, 0), std=(1, 1, 1))
    model = load_model(network, Description(["0"], plain, 8, CLASSES, name="own"))
    image = np.full((24, 32, 3), 40, np.uint8)
    image[8:16, 16:24] = 250
    for sign in (1, -1):
        with torch.no_grad():
            network[0].weight.fill_(sign * 0.1)
        found = explain(model, image, "eigencam").of()
        assert found.argmax() == 1 * 4 + 2
        assert np.count_nonzero(found > 0) == 1


@pytest.mark.parametrize(
    ("name", "method"),
    [
        *(("demo/cnn", method) for method in (*WEIGHTS, "eigencam", "cam", "ablationcam")),
        ("demo/vit", "gradcam"),
        ("demo/vit", "eigencam"),
    ],
)
def test_trained_models_look_at_parts_that_decide(
    name: str, method: str, churches: list[Sample]
) -> None:
    """On the whole: more on the parts that vote for the style than beside them."""
    model, gains = load_model(name), []
    options: dict[str, Any] = {} if method == "cam" else {"layers": -1}
    if METHODS[method].explains:
        options["target"] = "label"
    if method == "ablationcam":
        options["params"] = {"channels": 32}
    maps = explain(model, churches, method, **options).to_image(56)
    for i, sample in enumerate(churches):
        parts = [r for r in sample.annotation.regions if PART_TYPES[r.label][1] in sample.labels]
        values = maps.of(i)
        mask = np.any([part.to_mask(224, 224) for part in parts], axis=0)[::4, ::4]
        gains.append((values[mask].mean() - values[~mask].mean()) / values.std())
    assert np.mean(gains) > (0.2 if (name, method) == ("demo/vit", "gradcam") else 1)


@pytest.mark.parametrize("name", ["demo/vit", "demo/vit-dino"])
def test_eigencam_of_transformers_is_up_on_what_is_there_for_every_image(
    name: str, churches: list[Sample]
) -> None:
    """Without the mean: parts and no background, in every layer. As in the paper: the other."""
    model = load_model(name)
    signs = {True: 1, False: -1}
    for centred, sign in signs.items():
        maps = explain(model, churches, "eigencam", params={"centred": centred}).to_image(56)
        for i, sample in enumerate(churches):
            regions = sample.annotation.regions
            mask = np.any([part.to_mask(224, 224) for part in regions], axis=0)[::4, ::4]
            for layer in range(len(model.layers)):
                values = sign * maps.of(i, layer)
                assert values[mask].mean() > values[~mask].mean()


def test_eigencam_explains_no_class_and_needs_none() -> None:
    assert len(explain(tiny("dinov2"), IMAGES, "eigencam")) == 3
    with pytest.raises(InputError, match="'eigencam' explains no class: leave target out, got 1"):
        explain(tiny("vit"), IMAGES, "eigencam", target=1)
    with pytest.raises(InputError, match="centred must be true or false, got 2"):
        explain(tiny("vit"), IMAGES, "eigencam", params={"centred": 2})
