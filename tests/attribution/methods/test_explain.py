"""From models and images to maps: what may be asked for, and how it is answered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PIL import Image

from sightline import load_dataset
from sightline.attribution.methods import explain
from sightline.core import Annotation, InputError, Sample, UnknownNameError
from sightline.models import load_model
from tests.attribution.methods.networks import CLASSES, linear, make_images, smooth, tiny

if TYPE_CHECKING:
    from pathlib import Path

    from sightline.models import Model

IMAGES = make_images()


@pytest.fixture(scope="module")
def vit() -> Model:
    return tiny("vit", size=(40, 24))


def sample(number: int, *labels: str) -> Sample:
    note = Annotation(f"image{number}", 56, 40, (), labels)
    return Sample(note.image_id, note, load=lambda: IMAGES[number])


class TestImages:
    def test_one_that_is_in_no_list(self, vit: Model) -> None:
        wanted = explain(vit, IMAGES, "cls")[1].stack()
        np.testing.assert_allclose(explain(vit, IMAGES[1], "cls").stack(), wanted, atol=1e-6)

    def test_arrays_paths_pictures_and_samples_are_one(self, vit: Model, tmp_path: Path) -> None:
        path = tmp_path / "a.png"
        Image.fromarray(IMAGES[0]).save(path)
        same: list[Any] = [IMAGES[0], path, str(path), Image.open(path), sample(0)]
        for method in ("cls", "smoothgrad", "random"):
            maps = explain(vit, same, method).stack()
            assert np.abs(maps - maps[0]).max() <= 1e-6 * np.abs(maps[0]).max()

    def test_an_array_of_several(self, vit: Model) -> None:
        wanted = explain(vit, IMAGES, "cls").stack()
        assert np.array_equal(explain(vit, np.stack(IMAGES), "cls").stack(), wanted)

    @pytest.mark.parametrize("method", ["cls", "saliency", "random", "mean_map"])
    @pytest.mark.parametrize("images", [[], np.zeros((0, 8, 8, 3), np.uint8)])
    def test_none(self, vit: Model, method: str, images: Any) -> None:
        with pytest.raises(InputError, match="at least one image, got none"):
            explain(vit, images, method)

    @pytest.mark.parametrize("method", ["cls", "gradcam", "smoothgrad", "edge", "smooth_random"])
    def test_of_different_sizes_under_native(self, vit: Model, method: str) -> None:
        model = vit.fitted(fit="native")
        sizes = [(40, 56), (40, 56), (24, 64), (40, 56)]
        images = [
            np.random.default_rng(i).integers(0, 256, (*s, 3), np.uint8)
            for i, s in enumerate(sizes)
        ]
        together = explain(model, images, method)
        assert len(together) == 4
        for i, image in enumerate(images):
            alone = explain(model, image, method)
            assert together.geometries[i] == alone.geometries[0]
            for a, b in zip(together.values[i], alone.values[0], strict=True):
                assert a.shape == b.shape
                assert np.abs(a - b).max() <= 1e-5 * np.abs(b).max()
        pixels = method in ("smoothgrad", "edge")
        assert together.values[2][0].shape[1:] == ((24, 64) if pixels else (3, 8))
        assert together.to_image().values[2][0].shape[1:] == (24, 64)

    @pytest.mark.parametrize("method", ["cls", "gradcam", "random"])
    def test_a_single_pixel(self, vit: Model, method: str) -> None:
        maps = explain(vit, np.full((1, 1, 3), 77, np.uint8), method)
        assert maps.to_image().values[0][-1].shape == (1, 1, 1)


class TestLayersAndHeads:
    @pytest.mark.parametrize(
        "method", ["cls", "rollout", "grad_attention", "grad_rollout", "gradcam"]
    )
    @pytest.mark.parametrize(
        ("layers", "wanted"),
        [
            (-1, (2,)),
            ([2, 1], (2, 1)),
            (np.arange(2), (0, 1)),
            (np.int64(1), (1,)),
            ("all", (0, 1, 2)),
        ],
    )
    def test_are_those_asked_for_in_that_order(
        self, vit: Model, method: str, layers: Any, wanted: tuple[int, ...]
    ) -> None:
        every = explain(vit, IMAGES, method)
        found = explain(vit, IMAGES, method, layers=layers)
        assert found.layers == wanted
        for layer in wanted:
            np.testing.assert_allclose(found.of(1, layer), every.of(1, layer), rtol=1e-5, atol=1e-8)

    def test_heads_in_their_order(self, vit: Model) -> None:
        every = explain(vit, IMAGES, "cls", heads="all")
        assert every.heads == (0, 1)
        found = explain(vit, IMAGES, "cls", heads=[-1, 0], layers=2)
        assert found.heads == (1, 0)
        assert np.array_equal(found.of(0, 2, 1), every.of(0, 2, 1))
        fused = explain(vit, IMAGES, "cls")
        assert fused.heads == (None,)
        mean = (every.of(0, 1, 0) + every.of(0, 1, 1)) / 2
        np.testing.assert_allclose(fused.of(0, 1), mean, atol=1e-7)

    @pytest.mark.parametrize("layers", [3, -4, [0, 7], "last", [], 1.5])
    def test_layers_that_are_not_there(self, vit: Model, layers: Any) -> None:
        with pytest.raises(InputError, match="layer"):
            explain(vit, IMAGES, "cls", layers=layers)

    @pytest.mark.parametrize("heads", [2, -3, [0, 9]])
    def test_heads_that_are_not_there(self, vit: Model, heads: Any) -> None:
        with pytest.raises(InputError, match="head must be from 0 to 1"):
            explain(vit, IMAGES, "cls", heads=heads)

    def test_a_method_without(self, vit: Model) -> None:
        for layers in (0, [0, 1], np.array([0, 1])):
            with pytest.raises(InputError, match="'saliency' has no layers: leave layers out"):
                explain(vit, IMAGES, "saliency", layers=layers)
        with pytest.raises(InputError, match="'gradcam' has no heads: leave heads out, got 0"):
            explain(vit, IMAGES, "gradcam", heads=0)
        maps = explain(vit, IMAGES, "saliency")
        assert (maps.layers, maps.heads) == ((None,), (None,))


class TestTargets:
    @pytest.mark.parametrize(
        "method", ["saliency", "gradcam", "integrated_gradients", "smoothgrad"]
    )
    def test_all_ways_to_say_a_class(self, vit: Model, method: str) -> None:
        wanted = explain(vit, IMAGES, method, target=[2, 0, 1])
        assert wanted.targets == ("tower", "dome", "gable")
        samples = [sample(0, "Q1", "tower"), sample(1, "dome"), sample(2, "gable", "Q7")]
        ways: list[tuple[Any, Any]] = [
            (IMAGES, ("tower", "dome", "gable")),
            (IMAGES, np.array([2, 0, 1])),
            (IMAGES, ["2", 0, np.int32(1)]),
            (samples, "label"),
        ]
        for images, target in ways:
            found = explain(vit, images, method, target=target)
            assert found.targets == wanted.targets
            assert np.array_equal(found.stack(), wanted.stack())
        same: list[Any] = [1, "gable", "1", np.int64(1)]
        for target in same:
            found = explain(vit, IMAGES, method, target=target)
            assert found.targets == ("gable",) * 3
            assert np.array_equal(found.stack()[2], wanted.stack()[2])
            assert not np.allclose(found.stack()[0], wanted.stack()[0], rtol=1e-3, atol=0)

    def test_predicted_unless_said(self, vit: Model) -> None:
        best = [CLASSES[i] for i in vit.logits(IMAGES).argmax(1).tolist()]
        found = explain(vit, IMAGES, "saliency")
        assert found.targets == tuple(best)
        for other in ("predicted", best):
            assert np.array_equal(
                explain(vit, IMAGES, "saliency", target=other).stack(), found.stack()
            )

    def test_each_image_keeps_its_own_in_batches(self, vit: Model) -> None:
        images, target = IMAGES * 2, [0, 1, 2, 2, 1, 0]
        whole = explain(vit, images, "gradcam", target=target, batch=6)
        for batch in (1, 2, 4):
            found = explain(vit, images, "gradcam", target=target, batch=batch)
            assert found.targets == whole.targets
            np.testing.assert_allclose(found.stack(), whole.stack(), atol=1e-6)

    def test_a_data_set_with_labels(self) -> None:
        samples = list(load_dataset("facades", count=2, seed=0))
        found = explain("demo/cnn", samples, "gradcam", target="label", layers=-1)
        assert found.targets == tuple(one.labels[0] for one in samples)

    @pytest.mark.parametrize(
        ("target", "error", "message"),
        [
            ("towr", UnknownNameError, "unknown class 'towr' .* did you mean 'tower'"),
            (3, InputError, "class must be from 0 to 2 .* got 3"),
            (-1, InputError, "class must be from 0 to 2 .* got -1"),
            ([0, 1], InputError, "target must be one for all images, or 3, got 2"),
            ([0, 1, "roof"], UnknownNameError, "unknown class 'roof'"),
            (1.0, InputError, "target must be classes by name or number, got 1.0"),
            ([0, 1, 1.5], InputError, "got 1.5"),
            ([0, 1, True], InputError, "got True"),
            (None, InputError, "got None"),
            ("label", InputError, "target 'label' needs samples of a data set, got ndarray"),
        ],
    )
    def test_wrong_ones(self, vit: Model, target: Any, error: Any, message: str) -> None:
        with pytest.raises(error, match=message):
            explain(vit, IMAGES, "saliency", target=target)

    @pytest.mark.parametrize(
        ("labels", "seen"), [((), "none"), (("roof",), "roof"), (("dome", "tower"), "dome, tower")]
    )
    def test_a_sample_without_one_label_of_the_model(
        self, vit: Model, labels: tuple[str, ...], seen: str
    ) -> None:
        with pytest.raises(InputError, match=f"'image1' must have one label .* got {seen}"):
            explain(vit, [sample(0, "dome"), sample(1, *labels)], "saliency", target="label")

    @pytest.mark.parametrize("method", ["cls", "random"])
    def test_a_method_that_explains_no_class(self, vit: Model, method: str) -> None:
        assert explain(vit, IMAGES, method).targets == ()
        with pytest.raises(InputError, match="explains no class: leave target out, got 'dome'"):
            explain(vit, IMAGES, method, target="dome")


class TestRecord:
    def test_what_was_done(self, vit: Model) -> None:
        maps = explain(vit, IMAGES, "smoothgrad", params={"samples": 2}, batch=2)
        assert maps.params == {"samples": 2, "noise": 0.15, "seed": 0, "batch": 2}
        assert (maps.method, maps.model, maps.sign) == ("smoothgrad", vit.name, "absolute")
        assert maps.seconds > 0
        assert maps.upsampling == ""

    def test_the_batch_that_was_chosen_is_recorded(self, vit: Model) -> None:
        assert explain(vit, IMAGES, "cls").params["batch"] >= 1

    @pytest.mark.parametrize("batch", [0, -1, 1.5, "many"])
    def test_wrong_batches(self, vit: Model, batch: Any) -> None:
        with pytest.raises(InputError, match="batch must be 1 or more, got"):
            explain(vit, IMAGES, "cls", batch=batch)

    @pytest.mark.parametrize("make", [linear, smooth])
    def test_values_are_float32_on_the_grid(self, make: Any) -> None:
        for method in ("saliency", "gradcam", "random", "edge"):
            for image, ways in zip(*vars_of(explain(make(), IMAGES, method)), strict=True):
                for values, way in zip(image, ways, strict=True):
                    assert values.dtype == np.float32
                    assert values.shape[1:] == way.grid[::-1]

    def test_the_defaults_of_a_card_stay(self, vit: Model) -> None:
        explain(vit, IMAGES, "mean_map")
        explain(vit, IMAGES, "smoothgrad", params={"samples": 1})
        assert explain(vit, IMAGES, "mean_map").params["of"] == "cls"
        assert explain(vit, IMAGES[0], "smoothgrad").params["samples"] == 16


def vars_of(maps: Any) -> tuple[Any, Any]:
    return maps.values, maps.geometries


def test_a_network_of_transformers_is_loaded_on_the_way() -> None:
    network = load_model("demo/vit").network
    image = np.zeros((64, 64, 3), np.uint8)
    assert explain(network, image, "cls", layers=-1).of().shape == (14, 14)


@pytest.mark.parametrize("method", [["cls"], None, 5])
def test_methods_are_names(method: Any) -> None:
    with pytest.raises(UnknownNameError, match="unknown method"):
        explain("demo/vit", np.zeros((8, 8, 3), np.uint8), method)


def test_a_method_without_parameters_says_so() -> None:
    with pytest.raises(InputError, match="method 'cls' takes no parameters, got x"):
        explain("demo/vit", np.zeros((8, 8, 3), np.uint8), "cls", params={"x": 1})


def test_an_image_that_is_not_there() -> None:
    found = explain("demo/vit", np.zeros((8, 8, 3), np.uint8), "cls", layers=-1)
    with pytest.raises(InputError, match="image must be below 1, got 5"):
        found.of(image=5)
