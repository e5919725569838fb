"""What maps explain: classes, embeddings, and how they are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch

from sightline import load_dataset
from sightline.attribution.methods import METHODS, Similar, explain
from sightline.attribution.methods.targets import (
    Classes,
    Embeddings,
    Own,
    Predicted,
    needs_classes,
    read_target,
)
from sightline.core import InputError
from sightline.models import Output
from tests.attribution.methods.networks import CLASSES, make_images, tiny

if TYPE_CHECKING:
    from sightline.models import Model

IMAGES = make_images()
LOGITS = torch.tensor([[1.0, 5.0, 2.0], [7.0, 0.5, -1.0]])
VECTORS = torch.tensor([[3.0, 4.0], [0.0, -2.0]])


def output(logits: Any = LOGITS, embedding: Any = VECTORS) -> Output:
    return Output(logits, torch.zeros(2, 2, 1, 1), embedding)


@pytest.fixture(scope="module")
def bare() -> Model:
    """A network without classes."""
    return tiny("dinov2", size=(40, 24))


class TestGoals:
    def test_classes_by_hand(self) -> None:
        goal = Classes(torch.tensor([2, 1]))
        assert goal.scores(output()).tolist() == [2.0, 0.5]
        assert goal.settled(output()) is goal
        assert goal.names(CLASSES) == ("tower", "gable")
        again = goal.take(torch.tensor([1, 1, 0]))
        assert again.names(CLASSES) == ("gable", "gable", "tower")

    def test_what_is_predicted_waits_for_the_images(self) -> None:
        goal = Predicted()
        assert goal.is_open
        settled = goal.take(torch.tensor([0])).settled(output())
        assert not settled.is_open
        assert settled.names(CLASSES) == ("gable", "dome")
        assert settled.scores(output(LOGITS.flip(1))).tolist() == [5.0, -1.0]
        assert goal.scores(output()).tolist() == [5.0, 7.0]
        with pytest.raises(RuntimeError, match="once it is settled"):
            goal.names(CLASSES)

    def test_an_embedding_is_a_direction(self) -> None:
        goal = Own().settled(output())
        assert goal.names(()) == ("embedding", "embedding")
        assert goal.scores(output()).tolist() == pytest.approx([5.0, 2.0])  # its own length
        assert goal.scores(output(embedding=VECTORS.flip(0))).tolist() == pytest.approx([-1.6, -4])
        assert goal.take(torch.tensor([1])).scores(output(embedding=VECTORS[1:])).tolist() == [2.0]

    def test_gradients_flow_but_not_through_the_direction(self) -> None:
        leaf = VECTORS.clone().requires_grad_()
        (slope,) = torch.autograd.grad(Own().scores(output(embedding=leaf)).sum(), leaf)
        assert slope.tolist() == pytest.approx(np.array([[0.6, 0.8], [0.0, -1.0]]))

    def test_a_network_that_gives_nothing(self) -> None:
        with pytest.raises(InputError, match="gave no logits"):
            Predicted().settled(output(logits=None))
        with pytest.raises(InputError, match="gave no embedding"):
            Embeddings(VECTORS, ("x", "y")).scores(output(embedding=None))


class TestEmbeddings:
    def test_is_the_class_token_at_the_end(self, bare: Model) -> None:
        inputs = bare.prepare(IMAGES[0])
        network: Any = bare.network
        with torch.no_grad():
            token = network(pixel_values=inputs.pixels).last_hidden_state[0, 0]
        torch.testing.assert_close(bare.embeddings(IMAGES[0])[0], token)

    @pytest.mark.parametrize(("kind", "size"), [("siglip", (40, 24)), ("resnet", (64, 32))])
    def test_is_the_mean_of_the_patches_without_one(self, kind: str, size: Any) -> None:
        model = tiny(kind, size=size)
        mean = [features.mean((1, 2)) for features in model.features(IMAGES)]
        torch.testing.assert_close(model.embeddings(IMAGES, batch=2), torch.stack(mean))

    def test_of_nothing(self, bare: Model) -> None:
        with pytest.raises(InputError, match="at least one image, got none"):
            bare.embeddings([])

    def test_a_model_without_classes_is_explained(self, bare: Model) -> None:
        """The gradient of the inner product, by a backward pass of its own."""
        maps = explain(bare, IMAGES, "input_x_gradient", target="embedding")
        assert maps.targets == ("embedding",) * 3
        for i, image in enumerate(IMAGES):
            leaf = bare.prepare(image).pixels.requires_grad_()
            network: Any = bare.network
            token = network(pixel_values=leaf).last_hidden_state[0, 0]
            (token @ (token / token.norm()).detach()).backward()
            wanted = (leaf * leaf.grad).sum(1)[0].detach().numpy()
            assert np.abs(maps.of(i) - wanted).max() <= 1e-5 * np.abs(wanted).max()

    def test_similar_to_another_image(self, bare: Model) -> None:
        one = explain(bare, IMAGES[:2], "saliency", target=Similar(IMAGES[2], "third"))
        assert one.targets == ("third", "third")
        vector = bare.embeddings(IMAGES[2])[0]
        leaf = bare.prepare(IMAGES[1]).pixels.requires_grad_()
        network: Any = bare.network
        token = network(pixel_values=leaf).last_hidden_state[0, 0]
        (token @ (vector / vector.norm())).backward()
        assert leaf.grad is not None
        wanted = leaf.grad.abs().amax(1)[0].numpy()
        assert np.abs(np.abs(one.of(1)) - wanted).max() <= 1e-5 * wanted.max()

    def test_each_to_its_own(self, bare: Model) -> None:
        targets = [Similar(IMAGES[2]), Similar(IMAGES[0], "first"), Similar(IMAGES[1])]
        maps = explain(bare, IMAGES, "saliency", target=targets, batch=2)
        assert maps.targets == ("similar", "first", "similar")
        for i, target in enumerate(targets):
            alone = explain(bare, IMAGES[i], "saliency", target=target)
            assert np.abs(maps.of(i) - alone.of()).max() <= 1e-5 * np.abs(alone.of()).max()

    def test_a_classifier_has_an_embedding_too(self) -> None:
        model = tiny("vit")
        by_class, by_embedding = (
            explain(model, IMAGES, "saliency", target=target).stack() for target in (0, "embedding")
        )
        assert not np.allclose(by_class, by_embedding, rtol=1e-2)

    @pytest.mark.parametrize("name", [m.name for m in METHODS.values() if m.needs == ("classes",)])
    def test_every_method_of_the_whole_network_explains_it(self, bare: Model, name: str) -> None:
        few = {key: 2 for key in ("steps", "samples", "masks") if key in METHODS[name].params}
        maps = explain(bare, IMAGES[:1], name, target="embedding", params=few)
        assert maps.targets == ("embedding",)
        assert np.isfinite(maps.of()).all()
        assert np.ptp(maps.of()) > 0

    def test_the_shipped_model_without_labels(self) -> None:
        churches = list(load_dataset("facades", count=2, seed=3))
        maps = explain("demo/vit-dino", churches, "gradcam", target="embedding", layers=-1)
        assert maps.targets == ("embedding", "embedding")
        assert np.ptp(maps.of(0)) > 0


class TestReading:
    def test_classless_targets(self) -> None:
        for target in ("embedding", Similar(IMAGES[0]), [Similar(IMAGES[0])], ("embedding",)):
            assert not needs_classes(target)
        for one in ("predicted", "label", "dome", 3, [0, 1], np.array([0]), [], None, 1.5):
            assert needs_classes(one)

    def test_without_classes_the_message_says_what_works(self, bare: Model) -> None:
        with pytest.raises(InputError, match=r"needs classes, .*; or say target 'embedding'$"):
            explain(bare, IMAGES, "saliency")
        with pytest.raises(InputError, match="needs classes"):
            explain(bare, IMAGES, "saliency", target="dome")

    @pytest.mark.parametrize(
        ("target", "message"),
        [
            ([Similar(IMAGES[0]), "embedding", Similar(IMAGES[1])], "must be of one kind"),
            (["embedding", Similar(IMAGES[0]), "embedding"], "kind: .* 'embedding' and Similar"),
            (["embedding", 1, "embedding"], "of one kind: .* got 'embedding' and 1"),
            ([Similar(IMAGES[0])], "target must be one for all images, or 3, got 1"),
            (Similar(7), "image must be an array"),  # type: ignore[arg-type]
        ],
    )
    def test_wrong_ones(self, bare: Model, target: Any, message: str) -> None:
        with pytest.raises(InputError, match=message):
            explain(bare, IMAGES, "saliency", target=target)

    @pytest.mark.parametrize("word", ["predicted", "embedding", "tower"])
    def test_a_word_for_each_image_is_the_word_for_all(self, word: str) -> None:
        ways: list[Any] = [word, [word] * 3, np.array([word] * 3)]
        one, each, array = (explain(tiny("vit"), IMAGES, "saliency", target=way) for way in ways)
        assert one.targets == each.targets == array.targets
        assert np.array_equal(one.stack(), each.stack())

    @pytest.mark.parametrize("odd", [np.array(1), np.zeros((3, 2)), [None] * 3, 1.0, True])
    def test_what_is_no_class(self, odd: Any) -> None:
        with pytest.raises(InputError, match="target must be classes by name or number, got"):
            explain(tiny("vit"), IMAGES, "saliency", target=odd)

    def test_labels_and_classes_are_not_mixed(self) -> None:
        for odd in ("predicted", "label", Similar(IMAGES[0])):
            with pytest.raises(InputError, match="must be of one kind"):
                explain(tiny("vit"), IMAGES, "saliency", target=[0, odd, 1])

    def test_goals_are_where_the_model_is(self) -> None:
        model = tiny("vit")
        goal: Any = read_target(model, IMAGES, [0, "tower", 1])
        assert goal.numbers.tolist() == [0, 2, 1]
        assert goal.numbers.device == model.device

    def test_attention_explains_nothing(self, bare: Model) -> None:
        with pytest.raises(InputError, match="'cls' explains no class: leave target out"):
            explain(bare, IMAGES, "cls", target="embedding")
