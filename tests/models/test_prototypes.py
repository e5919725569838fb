"""Networks that decide by prototypes: known similarities, projection, and the way to a file."""

from __future__ import annotations

import json
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from sightline.attribution.methods import explain
from sightline.core import InputError
from sightline.data.facades import STYLES, Facade
from sightline.models import Description, Model, Preprocess, load_model
from sightline.models.prototypes import (
    PrototypeNetwork,
    Source,
    load_prototypes,
    prototype_patches,
    similarity,
)

if TYPE_CHECKING:
    from pathlib import Path

LARGEST = float(np.log(1e4))
PLAIN: dict[str, Any] = {"mean": (0, 0, 0), "std": (1, 1, 1)}
SOURCES = (
    Source("Gothic", 1, 6, (3, 4), (64, 48, 80, 64), 9.2103),
    Source("Baroque", 1, 7, (0, 13), (208, 0, 224, 16), 9.2103),
)


def reader(prototypes: Tensor, weights: Tensor, sources: tuple[Source, ...] = ()) -> Any:
    """A network whose features are the mean colours of cells of 16 pixels."""
    trunk = nn.Sequential(nn.AvgPool2d(16))
    return PrototypeNetwork(trunk, nn.Identity(), prototypes, weights, sources)


def described(network: Any, classes: tuple[str, ...] = ("Gothic", "Baroque")) -> Model:
    told = Description(["trunk.0"], Preprocess(size=(224, 224), **PLAIN), 16, classes)
    return load_model(network, told)


def test_similarity_is_a_known_function_of_the_distance() -> None:
    colours = torch.rand(2, 3, 32, 48, generator=torch.Generator().manual_seed(0))
    prototypes = torch.rand(5, 3, generator=torch.Generator().manual_seed(1))
    network = reader(prototypes, torch.ones(1, 5))
    found = network.similarities(colours).detach()
    assert found.shape == (2, 5, 2, 3)
    for image in range(2):
        for number in range(5):
            for row in range(2):
                for column in range(3):
                    rows = slice(16 * row, 16 * row + 16)
                    cell = colours[image, :, rows, 16 * column : 16 * column + 16].mean((1, 2))
                    gap = float((cell.double() - prototypes[number].double()).square().sum())
                    wanted = np.log((gap + 1) / (gap + 1e-4))
                    assert found[image, number, row, column] == pytest.approx(wanted, rel=1e-4)


def test_the_most_similar_cell_counts_and_an_exact_match_is_the_largest() -> None:
    image = torch.zeros(1, 3, 224, 224)
    image[:, :, 48:64, 64:80] = torch.tensor([0.3, 0.6, 0.9])[:, None, None]
    prototypes = torch.tensor([[0.3, 0.6, 0.9], [5.0, 5.0, 5.0]])
    network = reader(prototypes, torch.tensor([[1.0, 0.0], [-0.5, 2.0]]))
    similar = network.similarities(image).detach()
    assert similar[0, 0].argmax() == 3 * 14 + 4
    assert similar[0, 0].max() == pytest.approx(LARGEST, abs=1e-3)
    far = float(similar[0, 1].max())
    assert 0 < far < 0.03
    logits = network(image)[0].detach()
    assert logits.tolist() == pytest.approx([LARGEST, 2 * far - LARGEST / 2], abs=1e-3)
    assert torch.equal(network.class_weights, torch.tensor([[1.0, 0.0], [-0.5, 2.0]]))


def test_an_exact_match_has_a_gradient() -> None:
    pixels = torch.rand(1, 3, 32, 32, requires_grad=True)
    with torch.no_grad():
        exact = nn.AvgPool2d(16)(pixels)[0, :, 1, 1]
    reader(exact[None], torch.ones(1, 1))(pixels).sum().backward()
    assert pixels.grad is not None
    assert pixels.grad.isfinite().all()


def test_similarity_falls_with_the_distance() -> None:
    gaps = torch.linspace(0, 100, 1000)
    values = similarity(gaps)
    assert (values.diff() < 0).all()
    assert values[0] == pytest.approx(LARGEST)
    assert values[-1] > 0


@pytest.mark.parametrize(
    ("prototypes", "weights", "message"),
    [
        ((4,), (2, 4), r"got \(4,\) and \(2, 4\)"),
        ((0, 3), (2, 0), r"got \(0, 3\)"),
        ((4, 3), (4,), r"got \(4, 3\) and \(4,\)"),
        ((4, 3), (2, 5), "column for each prototype, got 5 for 4"),
    ],
)
def test_shapes_that_do_not_fit_are_named(
    prototypes: tuple[int, ...], weights: tuple[int, ...], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        reader(torch.rand(prototypes), torch.rand(weights))


def test_patches_are_cut_from_images_drawn_again() -> None:
    weights = torch.tensor([[1.0, -0.5], [-0.25, 2.0]])
    model = described(reader(torch.rand(2, 3), weights, SOURCES))
    first, second = prototype_patches(model)
    whole = Facade.generate(1, 6).image()
    assert np.array_equal(first.image, whole)
    assert np.array_equal(first.crop(), whole[48:64, 64:80])
    assert np.array_equal(first.crop(margin=8), whole[40:72, 56:88])
    assert second.crop(margin=8).shape == (24, 24, 3)  # at the border
    assert (first.number, first.source) == (0, SOURCES[0])
    assert second.weights == {"Gothic": -0.5, "Baroque": 2.0}


def test_models_without_prototypes_or_sources_say_so() -> None:
    with pytest.raises(InputError, match="demo/cnn has no prototypes"):
        prototype_patches(load_model("demo/cnn"))
    with pytest.raises(InputError, match="does not say where"):
        prototype_patches(described(reader(torch.rand(2, 3), torch.rand(2, 2))))


class Own(nn.Module):  # type: ignore[misc]
    """A network of one's own with prototypes, which says where they are from."""

    def __init__(self, sources: Any) -> None:
        super().__init__()
        self.trunk = nn.Sequential(nn.AvgPool2d(16))
        self.class_weights = nn.Parameter(torch.tensor([[1.0, -0.5]]))
        self.sources = sources

    def similarities(self, pixels: Tensor) -> Tensor:
        return self.trunk(pixels)[:, :2]

    def forward(self, pixels: Tensor) -> Tensor:
        return self.similarities(pixels).amax((2, 3)) @ self.class_weights.T


def test_networks_of_your_own_may_say_where_prototypes_are_from() -> None:
    first, second = prototype_patches(described(Own(SOURCES), ("Gothic",)))
    assert np.array_equal(first.crop(), Facade.generate(1, 6).image()[48:64, 64:80])
    assert second.weights == {"Gothic": -0.5}
    with pytest.raises(InputError, match="sources must be one for each prototype, got 1 for 2"):
        prototype_patches(described(Own(SOURCES[:1]), ("Gothic",)))
    with pytest.raises(InputError, match="does not say where"):
        prototype_patches(described(Own(["a.png", "b.png"]), ("Gothic",)))


# How `training.protopnet` learns them; no types there, since torch has none here.


@pytest.fixture(scope="module")
def training() -> Any:
    return import_module("training.protopnet")


@pytest.fixture(scope="module")
def features(training: Any) -> Any:
    """Cells of noise, of which one in each image tells its style."""
    rng = torch.Generator().manual_seed(0)
    styles = torch.arange(len(STYLES)).repeat(24)
    values = torch.randn(len(styles), 6, 3, 4, generator=rng) * 0.1
    for image, style in enumerate(styles.tolist()):
        place = int(torch.randint(0, 12, (), generator=rng))
        values[image, style, place // 4, place % 4] += 4
    return training.Features(values, styles)


@pytest.fixture(scope="module")
def learned(training: Any, features: Any) -> Any:
    network = training.make_network(nn.Sequential(), 6, seed=1)
    losses = training.learn(network, features, 1, 150)
    return network, losses, training.accuracy(network, features)


def test_prototypes_learn(learned: Any) -> None:
    _, losses, accuracy = learned
    assert losses[-1] < losses[0]
    assert accuracy > 0.95


def test_projection_puts_prototypes_on_cells_of_their_class(
    training: Any, features: Any, learned: Any
) -> None:
    network = learned[0]
    before = network.prototypes.detach().clone()
    places = training.project(network, features)
    cells = network.add_on(features.values).detach()
    assert len({place.image for place in places}) == len(places) == 40
    for number, (place, owner) in enumerate(
        zip(places, training.owners("cpu").tolist(), strict=True)
    ):
        assert features.styles[place.image] == owner
        exact = cells[place.image, :, place.row, place.column]
        torch.testing.assert_close(network.prototypes[number].detach(), exact, rtol=0, atol=1e-6)
    # The first to choose takes the nearest cell of its class that there is.
    own = cells[features.styles == 0].permute(0, 2, 3, 1).flatten(0, 2)
    nearest = own[(own - before[0]).square().sum(1).argmin()]
    torch.testing.assert_close(network.prototypes[0].detach(), nearest, rtol=0, atol=1e-6)
    training.tune(network, features)
    assert training.accuracy(network, features) > 0.95
    assert network.class_weights[0, :10].mean() > network.class_weights[0, 10:].mean()


def test_crowding_counts_prototypes_of_a_class_alone(training: Any) -> None:
    apart = torch.arange(40.0)[:, None] * 10
    assert training.crowding(apart) == 0
    apart[11] = apart[10]  # two of the second class at one place
    assert training.crowding(apart) == pytest.approx(2 * training.MARGIN / 40)
    apart[11] = apart[0]  # one at the place of another class
    assert training.crowding(apart) == 0


@pytest.fixture(scope="module")
def folder(training: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the script writes, from so few images that it means nothing."""
    path = tmp_path_factory.mktemp("protopnet")
    images = training.draw(48, 1, "cpu")
    network, card = training.train(images, 1, 1)
    training.save(network, path, card | {"figures": {}})
    return path


def test_what_is_saved_loads_and_its_projection_is_exact(folder: Path) -> None:
    model = load_prototypes("demo/protopnet", folder)
    assert (model.name, model.classes, model.patch) == ("demo/protopnet", STYLES, (16, 16))
    assert len(model.layers) == 4
    network: Any = model.network
    for patch in prototype_patches(model)[::8]:
        row, column = patch.source.cell
        with torch.no_grad():
            similar = network.similarities(model.prepare(patch.image).pixels)
        assert similar[0, patch.number, row, column] == pytest.approx(LARGEST, abs=1e-4)
        assert patch.source.similarity == pytest.approx(LARGEST, abs=1e-4)
        assert patch.source.box == (16 * column, 16 * row, 16 * column + 16, 16 * row + 16)
        assert Facade.generate(1, patch.source.index).style == patch.source.label
    card = json.loads((folder / "card.json").read_text("utf-8"))
    assert sum(p.numel() for p in network.parameters()) == card["parameters"]
    assert {path.name for path in folder.iterdir()} == {"card.json", "prototypes.safetensors"}
    assert (folder / "prototypes.safetensors").stat().st_size < 50_000  # no copy of the CNN


def test_loading_draws_no_random_numbers(folder: Path) -> None:
    torch.manual_seed(5)
    wanted = torch.rand(3)
    torch.manual_seed(5)
    load_prototypes("demo/protopnet", folder)
    assert torch.equal(torch.rand(3), wanted)


def test_logits_are_those_of_the_maps_of_similarity(folder: Path) -> None:
    model = load_prototypes("demo/protopnet", folder)
    network: Any = model.network
    images = [Facade.generate(7, index).image() for index in range(2)]
    pixels = torch.cat([model.prepare(image).pixels for image in images])
    with torch.no_grad():
        similar = network.similarities(pixels)
    assert similar.shape == (2, 40, 14, 14)
    wanted = similar.amax((2, 3)) @ network.class_weights.T
    torch.testing.assert_close(model.logits(images), wanted)


@pytest.mark.parametrize("method", ["gradcam", "saliency", "input_x_gradient", "eigencam"])
def test_methods_run_on_it(folder: Path, method: str) -> None:
    model = load_prototypes("demo/protopnet", folder).fitted(size=(64, 32))
    image = Facade.generate(7, 1).image()
    maps = explain(model, [image], method)
    assert all(np.isfinite(values).all() for values in maps.values[0])
    assert np.ptp(maps.values[0][0]) > 0


def test_another_base_is_refused(folder: Path, tmp_path: Path) -> None:
    card = json.loads((folder / "card.json").read_text("utf-8"))
    (tmp_path / "card.json").write_text(json.dumps(card | {"base_weights": "0" * 64}), "utf-8")
    weights = (folder / "prototypes.safetensors").read_bytes()
    (tmp_path / "prototypes.safetensors").write_bytes(weights)
    with pytest.raises(InputError, match="trained on demo/cnn with weights 0000000000000000, got"):
        load_prototypes("demo/protopnet", tmp_path)
