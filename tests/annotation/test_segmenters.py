from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch

from sightline.annotation.segmenters import CornerPreprocess, Segmenter, load_segmenter
from sightline.core import InputError, UnknownNameError
from tests.annotation.small_sam import ByColour, small_network

if TYPE_CHECKING:
    from numpy.typing import NDArray

KINDS = ("sam", "sam2", "sam2_video")


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The folder of a small network of each type."""
    folder = tmp_path_factory.mktemp("saved")
    for kind in KINDS:
        small_network(kind).save_pretrained(folder / kind)
    return {kind: folder / kind for kind in KINDS}


@pytest.fixture(scope="module")
def loaded(saved: dict[str, Path]) -> dict[str, Segmenter]:
    return {kind: load_segmenter(f"hf:{saved[kind]}") for kind in KINDS}


@pytest.fixture
def folder(saved: dict[str, Path], tmp_path: Path) -> Path:
    """A folder of SAM to change."""
    return Path(shutil.copytree(saved["sam"], tmp_path / "sam"))


def change(path: Path, **values: Any) -> None:
    known = json.loads(path.read_text()) if path.exists() else {}
    for name, value in values.items():
        known[name] = {**known[name], **value} if name in known else value
    path.write_text(json.dumps(known))


def picture(width: int, height: int) -> NDArray[np.uint8]:
    return np.random.default_rng(width).integers(0, 256, (height, width, 3), np.uint8)


def ask(
    segmenter: Segmenter, points: NDArray[np.float64], batch: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    with torch.no_grad():
        embedding = segmenter.embed(segmenter.model.prepare(picture(50, 70)).pixels)
        parts = [
            segmenter.at_points(embedding, points[start : start + batch])
            for start in range(0, len(points), batch)
        ]
    return tuple(np.concatenate(part) for part in zip(*parts, strict=True))  # type: ignore[return-value]


@pytest.mark.parametrize("kind", KINDS)
def test_saved_networks_come_back(loaded: dict[str, Segmenter], kind: str) -> None:
    network, found = small_network(kind), loaded[kind].model.network

    weights = network.state_dict()
    assert all(torch.equal(value, weights[name]) for name, value in found.state_dict().items())
    assert type(found).__name__ == ("SamModel" if kind == "sam" else "Sam2Model")
    assert loaded[kind].model.name.startswith("hf:")
    assert not found.training


def test_the_digest_is_that_of_any_model(loaded: dict[str, Segmenter]) -> None:
    digests = [loaded[kind].model.digest for kind in KINDS]

    assert len(set(digests)) == 3
    assert load_segmenter(small_network("sam")).model.digest == digests[0]


@pytest.mark.parametrize("kind", ["sam", "sam2"])
def test_masks_come_in_threes_and_whatever_the_batch(
    loaded: dict[str, Segmenter], kind: str
) -> None:
    points = np.random.default_rng(0).uniform(0, 64, (7, 2))

    logits, ious = ask(loaded[kind], points, 7)

    cells = {"sam": 32, "sam2": 16}[kind]
    assert logits.shape == (7, 3, cells, cells)
    assert ious.shape == (7, 3)
    assert logits.std() > 0.1  # or there is nothing to compare
    assert np.abs(logits[0] - logits[1]).max() > 1e-3  # points matter
    for batch in (1, 3):
        others = ask(loaded[kind], points, batch)
        np.testing.assert_allclose(others[0], logits, atol=1e-4 * np.abs(logits).max())
        np.testing.assert_allclose(others[1], ious, atol=1e-4 * np.abs(ious).max())
    again = ask(loaded[kind], points, 3)
    assert (again[0] == others[0]).all()


@pytest.mark.parametrize("kind", ["sam", "sam2"])
def test_a_box_has_one_mask(loaded: dict[str, Segmenter], kind: str) -> None:
    segmenter = loaded[kind]
    with torch.no_grad():
        embedding = segmenter.embed(segmenter.model.prepare(picture(64, 64)).pixels)
        found = segmenter.in_box(embedding, np.array([3.0, 4, 50, 40]))
        other = segmenter.in_box(embedding, np.array([20.0, 4, 50, 40]))

    assert found.ious.shape == (1, 1)
    assert np.abs(found.logits - other.logits).max() > 1e-3


def test_the_embedding_is_a_grid_over_the_input(loaded: dict[str, Segmenter]) -> None:
    sam, sam2 = loaded["sam"].model, loaded["sam2"].model

    assert sam.features(picture(50, 70))[0].shape == (16, 8, 8)
    assert sam2.features(picture(50, 70))[0].shape == (32, 4, 4)


def test_sam_pads_and_sam_2_stretches(loaded: dict[str, Segmenter]) -> None:
    sam, sam2 = (loaded[kind].model.prepare(picture(40, 80)) for kind in ("sam", "sam2"))

    assert list(sam.geometries[0].content) == [0, 0, 32, 64]
    assert not sam.pixels[..., 32:].any()  # padding is the mean colour
    assert sam.pixels[..., :32].all(1).all()
    assert list(sam2.geometries[0].content) == [0, 0, 64, 64]


def test_colours_are_those_of_the_file(folder: Path) -> None:
    white = np.full((64, 64, 3), 255, np.uint8)
    usual = load_segmenter(f"hf:{folder}").model.prepare(white).pixels[0, :, 0, 0]
    values = {"image_mean": [0.5, 0.25, 0], "image_std": [0.5, 0.5, 2], "resample": 3}
    change(folder / "preprocessor_config.json", size={"longest_edge": 64}, **values)

    model = load_segmenter(f"hf:{folder}").model

    expected = [(1 - 0.485) / 0.229, (1 - 0.456) / 0.224, (1 - 0.406) / 0.225]
    np.testing.assert_allclose(usual, expected, rtol=1e-6)
    np.testing.assert_allclose(model.prepare(white).pixels[0, :, 0, 0], [1, 1.5, 0.5])
    assert model.preprocess.resample == "bicubic"
    assert isinstance(model.preprocess, CornerPreprocess)


def test_points_and_boxes_are_given_as_indices_of_pixels() -> None:
    # Networks of the family add half a pixel to what they are given.
    segmenter, network = load_segmenter(made := ByColour()), made
    embedding = segmenter.embed(torch.zeros(1, 3, 128, 128))
    points = np.array([[0.5, 100.25], [64, 3]])

    segmenter.at_points(embedding, points)
    segmenter.in_box(embedding, np.array([10.0, 20, 30, 60]))

    np.testing.assert_allclose(network.asked[0], points)
    np.testing.assert_allclose(network.asked[1], [[20, 40]])


def test_a_network_with_another_encoder(saved: dict[str, Path]) -> None:
    # How weights of MobileSAM are used: the decoder of SAM behind an encoder of its own.
    class Encoder(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.patches = torch.nn.Conv2d(3, 16, 8, 8)

        def forward(self, pixels: Any) -> tuple[Any]:
            return (self.patches(pixels),)

    network = small_network("sam")
    network.vision_encoder = Encoder()
    segmenter = load_segmenter(network)

    assert segmenter.model.name == "SamModel"
    assert ask(segmenter, np.array([[3.0, 4]]), 1)[0].shape == (1, 3, 32, 32)


# --- folders that do not fit ---------------------------------------------------------------------


def test_other_types_are_refused(folder: Path) -> None:
    (folder / "config.json").write_text(json.dumps({"model_type": "vit"}))

    with pytest.raises(UnknownNameError, match=r"model_type must be one of sam, sam2, .* 'vit'"):
        load_segmenter(f"hf:{folder}")


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_files_that_are_missing_are_named(folder: Path, name: str) -> None:
    (folder / name).unlink()

    with pytest.raises(InputError, match=f"has no {name}"):
        load_segmenter(f"hf:{folder}")


def test_pickles_are_not_read(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "mobile_sam.pt").write_bytes(b"\x80\x04.")

    with pytest.raises(InputError, match=r"mobile_sam\.pt is a pickle, which could run code"):
        load_segmenter(f"hf:{folder}")


def test_broken_weights(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:2000])

    with pytest.raises(InputError, match="sam: cannot be loaded"):
        load_segmenter(f"hf:{folder}")


@pytest.mark.parametrize(
    ("part", "values", "words"),
    [
        ("mask_decoder_config", {"num_hidden_layers": 2}, "weights are missing"),
        ("mask_decoder_config", {"num_hidden_layers": 0}, "has no place for the weights"),
        ("vision_config", {"num_hidden_layers": 1}, "has no place for the weights"),
        ("mask_decoder_config", {"hidden_size": 8}, "cannot be loaded|shapes"),
        ("prompt_encoder_config", {"image_size": 128}, "same square input.*64 and 128"),
        ("prompt_encoder_config", {"patch_size": 0}, "cannot be loaded"),
        ("vision_config", {"image_size": "large"}, "cannot be loaded"),
    ],
)
def test_configurations_that_do_not_fit(
    folder: Path, part: str, values: dict[str, Any], words: str
) -> None:
    change(folder / "config.json", **{part: values})

    with pytest.raises(InputError, match=words):
        load_segmenter(f"hf:{folder}")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"size": {"longest_edge": 1024}}, r"size must be 64, .* got \{'longest_edge': 1024\}"),
        ({"pad_size": {"height": 64, "width": 32}}, r"pad_size must be 64, .*'width': 32"),
        ({"size": 224}, "size must be 64"),
        ({"image_std": [1, 0, 1]}, "std must be above 0"),
        ({"image_mean": "grey"}, "mean must be 3 numbers"),
        ({"resample": 9}, "resample must be from 0 to 5, got 9"),
    ],
)
def test_processors_that_do_not_fit(folder: Path, values: dict[str, Any], words: str) -> None:
    change(folder / "preprocessor_config.json", **values)

    with pytest.raises(InputError, match=rf"preprocessor_config\.json: .*{words}"):
        load_segmenter(f"hf:{folder}")


def test_without_the_hub_one_is_told_what_to_do() -> None:
    words = r"is no folder .* put config\.json, model\.safetensors .* 'hf:models/sam-vit-base'"
    with pytest.raises(InputError, match=words):
        load_segmenter("hf:facebook/sam-vit-base")


@pytest.mark.parametrize("spec", ["demo/vit", "hf:", "", 3])
def test_other_names_are_refused(spec: Any) -> None:
    with pytest.raises(InputError, match="must be 'hf:' with a folder or an id"):
        load_segmenter(spec)


def test_other_networks_are_refused() -> None:
    with pytest.raises(InputError, match="Linear: must be a network of type sam, sam2, sam2_video"):
        load_segmenter(torch.nn.Linear(1, 1))


def test_masks_that_are_no_numbers_are_refused() -> None:
    network = small_network("sam")
    with torch.no_grad():
        network.mask_decoder.mask_tokens.weight[1] = torch.nan

    with pytest.raises(InputError, match="SamModel: masks or predicted IoUs are not finite"):
        ask(load_segmenter(network), np.array([[3.0, 4]]), 1)


def test_masks_of_another_shape_are_refused() -> None:
    class Odd(ByColour):
        def forward(self, *given: Any, **named: Any) -> Any:
            answer = super().forward(*given, **named)
            answer.iou_scores = answer.iou_scores[:, :, :2]
            return answer

    with pytest.raises(InputError, match=r"Odd: masks of 1 prompts .* got \(1, 1, 3, 32, 32\)"):
        ask(load_segmenter(Odd()), np.array([[3.0, 4]]), 1)
