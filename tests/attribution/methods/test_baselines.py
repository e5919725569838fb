"""Baselines against SciPy, formulas written out, and what their laws promise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import ndimage, stats

from sightline import load_dataset
from sightline.attribution.methods import explain
from sightline.core import InputError, UnknownNameError
from sightline.models import load_model
from tests.attribution.methods.networks import linear, make_images, smooth, tiny

if TYPE_CHECKING:
    from sightline.models import Model

IMAGES = make_images()
FITS = ["squash", "crop", "letterbox", "native"]


def fitted(fit: str) -> Model:
    return linear().fitted(fit=fit, size=64 if fit == "native" else (64, 48))


@pytest.mark.parametrize("method", ["random", "smooth_random"])
def test_each_cell_is_uniform_from_0_to_1(method: str) -> None:
    """Over many images, each cell has the uniform law, at borders and corners as elsewhere."""
    images, model = make_images(400, 6, 8), linear().fitted(size=(128, 96))
    maps = explain(model, images, method).stack()[:, 0, 0]
    assert maps.shape == (400, 12, 16)
    assert maps.min() >= 0
    assert maps.max() <= 1
    for cell in ((0, 0), (0, 15), (11, 0), (11, 15), (0, 7), (6, 0), (6, 8), (4, 9)):
        assert stats.kstest(maps[:, *cell], "uniform").pvalue > 1e-4


def test_random_cells_know_nothing_of_their_neighbours() -> None:
    model = linear().fitted(size=(512, 512))
    values = explain(model, IMAGES, "random").stack()[:, 0, 0]
    assert values.shape == (3, 64, 64)
    for axis in (1, 2):
        ahead, behind = np.moveaxis(values, axis, 0)[1:], np.moveaxis(values, axis, 0)[:-1]
        assert abs(np.corrcoef(ahead.ravel(), behind.ravel())[0, 1]) < 0.04


@pytest.mark.parametrize("sigma", [0.03, 0.06])
def test_smooth_random_is_as_smooth_as_it_says(sigma: float) -> None:
    """Noise smoothed by a Gaussian is correlated like exp(-d²/4σ²) at a distance of d cells."""
    model = linear().fitted(size=(1024, 512))
    images = make_images(6)
    values = explain(model, images, "smooth_random", params={"sigma": sigma}).stack()[:, 0, 0]
    normal = stats.norm.ppf(np.clip(values.astype(np.float64), 1e-6, 1 - 1e-6))
    assert values.shape == (6, 64, 128)
    for distance in (1, 3):
        wanted = np.exp(-((distance / (sigma * 64)) ** 2) / 4)
        for a, b in (
            (normal[:, distance:], normal[:, :-distance]),
            (normal[:, :, distance:], normal[:, :, :-distance]),
        ):
            assert np.corrcoef(a.ravel(), b.ravel())[0, 1] == pytest.approx(wanted, abs=0.08)


@pytest.mark.parametrize("side", [14, 16, 37])
def test_smooth_random_has_a_handful_of_blobs(side: int) -> None:
    model = linear().fitted(size=8 * side)
    values = explain(model, make_images(30), "smooth_random").stack()[:, 0, 0]
    tops = (ndimage.maximum_filter(values, (0, 3, 3)) == values) & (values > 0.5)
    assert 2 <= np.mean(tops.sum((1, 2))) <= 9


@pytest.mark.parametrize("method", ["random", "smooth_random"])
def test_noise_follows_the_seed_and_the_image_alone(method: str) -> None:
    first = explain(linear(), IMAGES, method).stack()
    for batch in (1, 2, 3):
        assert np.array_equal(explain(linear(), IMAGES, method, batch=batch).stack(), first)
    assert np.array_equal(explain(linear(), IMAGES[::-1], method).stack()[::-1], first)
    assert not np.isclose(
        explain(linear(), IMAGES, method, params={"seed": 1}).stack(), first
    ).all()
    assert not np.isclose(first[0], first[1]).any()


@pytest.mark.parametrize("method", ["random", "smooth_random", "centre", "edge"])
def test_the_network_has_no_say(method: str) -> None:
    """Nor does it run."""
    model, other = linear(), smooth()

    def broken(network: Any, pixels: Any) -> Any:
        raise RuntimeError("the network ran")

    object.__setattr__(other, "forward", broken)
    wanted = explain(model, IMAGES, method).stack()
    assert np.array_equal(explain(other, IMAGES, method).stack(), wanted)


@pytest.mark.parametrize("fit", FITS)
def test_centre_is_a_bell_in_the_middle_of_the_image(fit: str) -> None:
    model = fitted(fit)
    maps = explain(model, np.zeros((40, 80, 3), np.uint8), "centre")
    # Where the image lies on the input: 64x48 squashed and cropped; a band of 64x32; 64x32.
    top, height = {"letterbox": (8, 32), "native": (0, 32)}.get(fit, (0, 48))
    rows, columns = maps.of().shape
    assert (rows, columns) == ((4, 8) if fit == "native" else (6, 8))
    for row, column in np.ndindex(rows, columns):
        x, y = column * 8 + 4, row * 8 + 4
        away = ((x - 32) / (64 / 4)) ** 2 + ((y - top - height / 2) / (height / 4)) ** 2
        assert maps.of()[row, column] == pytest.approx(np.exp(-away / 2), rel=1e-5)


@pytest.mark.parametrize("fit", FITS)
def test_edge_is_the_sobel_gradient_of_the_grey_input(fit: str) -> None:
    model = fitted(fit)
    maps = explain(model, IMAGES, "edge")
    mean, std = np.array(model.preprocess.mean), np.array(model.preprocess.std)
    for i, image in enumerate(IMAGES):
        pixels = model.prepare(image).pixels[0].double().numpy()
        colours = pixels * std[:, None, None] + mean[:, None, None]
        grey = 0.299 * colours[0] + 0.587 * colours[1] + 0.114 * colours[2]
        shown = model.prepare(np.full_like(image, 255)).pixels[0, 0].numpy() != 0  # not padding
        rows, columns = (slice(np.min(at), np.max(at) + 1) for at in np.nonzero(shown))
        x, y = (ndimage.sobel(grey[rows, columns], axis, mode="nearest") / 8 for axis in (1, 0))
        wanted = np.zeros_like(grey)
        wanted[rows, columns] = np.hypot(x, y)
        np.testing.assert_allclose(maps.of(i), wanted, atol=1e-6)


def test_edge_finds_the_edge() -> None:
    image = np.zeros((24, 32, 3), np.uint8)
    image[:, 16:] = 255
    found = explain(linear(), image, "edge").of()
    assert (found[:, 15:17] > 0.4).all()
    assert np.delete(found, [15, 16], axis=1).max() < 1e-6


class TestMeanMap:
    @pytest.mark.parametrize("of", [None, "cls", "gradcam", "saliency", "random"])
    def test_is_the_mean_of_the_others(self, of: str | None) -> None:
        model = tiny("vit", size=(40, 24))
        found = explain(model, IMAGES, "mean_map", params={"of": of})
        single = explain(model, IMAGES, of or "cls")
        assert found.params["of"] == (of or "cls")
        assert found.method == "mean_map"
        assert (found.layers, found.sign) == (single.layers, single.sign)
        for i in range(3):
            others = [single.values[j] for j in range(3) if j != i]
            for layer, values in enumerate(found.values[i]):
                wanted = (others[0][layer].astype(float) + others[1][layer]) / 2
                np.testing.assert_allclose(values, wanted, rtol=1e-5, atol=1e-7)
        assert found.geometries == single.geometries

    def test_keeps_layers_and_heads(self) -> None:
        model = tiny("vit")
        found = explain(model, IMAGES, "mean_map", layers=[2, 0], heads=[1, 0])
        single = explain(model, IMAGES, "cls", layers=[2, 0], heads=[1, 0])
        assert (found.layers, found.heads) == ((2, 0), (1, 0))
        wanted = (single.of(1, 2, 1).astype(float) + single.of(2, 2, 1)) / 2
        np.testing.assert_allclose(found.of(0, 2, 1), wanted, rtol=1e-5)

    def test_takes_the_target_of_its_method(self) -> None:
        model = tiny("vit")
        params = {"of": "gradcam"}
        found = explain(model, IMAGES, "mean_map", target="tower", params=params)
        single = explain(model, IMAGES, "gradcam", target="tower")
        assert found.targets == ("tower",) * 3
        wanted = (single.of(0, 1).astype(float) + single.of(2, 1)) / 2
        np.testing.assert_allclose(found.of(1, 1), wanted, rtol=1e-4)

    def test_ragged_layers_of_a_cnn(self) -> None:
        model = tiny("resnet", size=64)
        found = explain(model, IMAGES, "mean_map")
        assert found.params["of"] == "gradcam"
        single = explain(model, IMAGES, "gradcam")
        for layer in range(4):
            wanted = (single.of(0, layer).astype(float) + single.of(1, layer)) / 2
            np.testing.assert_allclose(found.of(2, layer), wanted, rtol=1e-4, atol=1e-7)

    def test_one_image_has_no_others(self) -> None:
        with pytest.raises(InputError, match="give 2 or more, got 1"):
            explain(tiny("vit"), IMAGES[0], "mean_map")

    def test_unequal_grids_have_no_mean(self) -> None:
        model = tiny("vit", fit="native")
        images = [IMAGES[0], np.zeros((24, 64, 3), np.uint8)]
        with pytest.raises(InputError, match="one grid, got 8x3, 7x5: use another fit"):
            explain(model, images, "mean_map")

    @pytest.mark.parametrize(
        ("of", "error", "message"),
        [
            ("mean_map", InputError, "any method but itself"),
            ("clss", UnknownNameError, "did you mean 'cls'"),
            ("pool", InputError, "needs pooling"),
        ],
    )
    def test_what_it_cannot_be_made_of(self, of: str, error: Any, message: str) -> None:
        with pytest.raises(error, match=message):
            explain(tiny("vit"), IMAGES, "mean_map", params={"of": of})

    def test_a_model_for_which_there_is_nothing_to_average(self) -> None:
        model = smooth()
        object.__setattr__(model, "classes", ())
        object.__setattr__(model, "layers", ())
        with pytest.raises(InputError, match="no method but the baselines works with smooth"):
            explain(model, IMAGES, "mean_map")
        assert explain(model, IMAGES, "mean_map", params={"of": "centre"}).stack().any()


@pytest.mark.parametrize("sigma", [-0.1, 1.5, "wide"])
def test_wrong_sigma(sigma: Any) -> None:
    with pytest.raises(InputError, match="sigma must be a number, from 0 to 1, got"):
        explain(linear(), IMAGES, "smooth_random", params={"sigma": sigma})


def test_sigma_of_0_smooths_nothing() -> None:
    model = linear().fitted(size=512)
    values = explain(model, IMAGES, "smooth_random", params={"sigma": 0}).stack()[:, 0, 0]
    assert abs(np.corrcoef(values[:, 1:].ravel(), values[:, :-1].ravel())[0, 1]) < 0.04


def test_half_precision_pixels_do() -> None:
    model = linear()
    model.network.half()
    full = explain(linear(), IMAGES, "edge").stack()
    np.testing.assert_allclose(explain(model, IMAGES, "edge").stack(), full, atol=2e-3)


def test_edges_are_those_of_the_image_not_of_its_padding() -> None:
    model = load_model("demo/cnn", fit="letterbox")
    plain = np.full((100, 200, 3), 255, np.uint8)
    assert explain(model, plain, "edge").of().max() < 1e-6
    plain[:, 100:] = 0
    found = explain(model, plain, "edge").of()
    rows, columns = np.nonzero(found > 0.1)
    assert set(columns) <= {111, 112}
    assert (rows.min(), rows.max()) == (56, 167)


def test_the_mean_over_others_has_a_target_only_where_all_share_it() -> None:
    churches = load_dataset("facades", count=3, seed=3)
    params = {"of": "gradcam"}
    mixed = explain("demo/cnn", churches, "mean_map", params=params, layers=-1)
    assert mixed.targets == ()
    same = explain("demo/cnn", churches, "mean_map", params=params, layers=-1, target="Gothic")
    assert set(same.targets) == {"Gothic"}
    assert (mixed.sign, explain("demo/cnn", churches, "gradcam").sign) == ("positive", "positive")
