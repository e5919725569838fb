"""Detectors and D-RISE: toys whose answer is known, and tiny networks of transformers."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from torch import nn
from transformers import (
    ConditionalDetrConfig,
    ConditionalDetrForObjectDetection,
    DabDetrConfig,
    DabDetrForObjectDetection,
    DetrConfig,
    DetrForObjectDetection,
    ResNetConfig,
    TableTransformerConfig,
    TableTransformerForObjectDetection,
    YolosConfig,
    YolosForObjectDetection,
    YolosModel,
)

from sightline.attribution.methods import METHODS, Detected, explain
from sightline.attribution.methods.cam_channels import _without
from sightline.attribution.methods.detections import (
    Detection,
    MostConfident,
    lacking_for,
    read_detections,
)
from sightline.core import InputError, UnknownNameError
from sightline.models import Description, Detections, Model, Output, Preprocess, load_model
from sightline.models.detectors import DETECTORS, read_boxes, read_classes
from tests.attribution.methods.networks import CLASSES, PLAIN, make_images, smooth

if TYPE_CHECKING:
    from pathlib import Path

    from torch import Tensor

IMAGES = make_images()
LABELS = {"num_labels": 3, "id2label": dict(enumerate(CLASSES))}
DETR: dict[str, Any] = {
    "encoder_layers": 2,
    "decoder_layers": 1,
    "encoder_ffn_dim": 24,
    "decoder_ffn_dim": 24,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "num_queries": 6,
    "use_timm_backbone": False,
    **LABELS,
}
KINDS: dict[str, tuple[Any, Any]] = {
    "detr": (DetrConfig, DetrForObjectDetection),
    "table-transformer": (TableTransformerConfig, TableTransformerForObjectDetection),
    "conditional_detr": (ConditionalDetrConfig, ConditionalDetrForObjectDetection),
    "dab-detr": (DabDetrConfig, DabDetrForObjectDetection),
}


@cache
def network(kind: str) -> Any:
    torch.manual_seed(1)
    if kind == "yolos":
        sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
        config = YolosConfig(
            **sizes,
            intermediate_size=24,
            image_size=[24, 32],
            patch_size=8,
            num_detection_tokens=5,
            **LABELS,
        )
        made = YolosForObjectDetection(config)
    else:
        configured, described = KINDS[kind]
        widths: dict[str, Any] = {"embedding_size": 8, "hidden_sizes": [8, 12, 16, 20]}
        backbone = ResNetConfig(
            **widths, depths=[1, 1, 1, 1], layer_type="basic", out_features=["stage4"]
        )
        side = {"hidden_size" if kind == "dab-detr" else "d_model": 16}
        made = described(configured(backbone_config=backbone, **side, **DETR))
    with torch.no_grad():
        for name, value in made.named_parameters():
            if value.ndim > 1 and "backbone" not in name:
                value.normal_(std=0.3)
    return made.eval()


def detector(kind: str) -> Model:
    return load_model(network(kind), size=(32, 24) if kind == "yolos" else (96, 64))


# --- a toy whose answer is known ------------------------------------------------------------------

BOX = (0.25, 0.0, 0.75, 0.5)


class _Toy(nn.Module):  # type: ignore[misc]
    """Proposes two boxes; it is as sure of the first as one place of the image is bright."""

    def __init__(self) -> None:
        super().__init__()
        self.cells = nn.AvgPool2d(8)

    def forward(self, pixels: Tensor) -> dict[str, Tensor]:
        cells = self.cells(pixels)
        sure = cells[:, :, 1, 2].mean(1)  # of 3 rows and 4 columns
        boxes = torch.tensor([BOX, (0.0, 0.5, 0.5, 1.0)]).expand(len(pixels), 2, 4)
        classes = torch.tensor([[0.1, 0.8, 0.1], [0.7, 0.1, 0.2]]).expand(len(pixels), 2, 3)
        return {
            "boxes": boxes,
            "classes": classes,
            "sure": torch.stack([sure, torch.full_like(sure, 0.4)], 1),
        }


def described(detect: Any, classes: Any = CLASSES) -> Model:
    scale = Preprocess(size=(32, 24), **PLAIN)
    return load_model(_Toy(), Description(["cells"], scale, 8, classes, name="toy", detect=detect))


def toy() -> Model:
    return described(lambda said: Detections(said["boxes"], said["classes"], said["sure"]))


BRIGHT = [np.full((48, 64, 3), 250, np.uint8)]
# The place that the toy reads, on its input of 32 x 24 pixels.
PLACE = (slice(8, 16), slice(16, 24))


@pytest.mark.parametrize(
    "target",
    ["detection", "predicted", Detected(), Detected((16, 0, 48, 24), "gable"), Detected(label=1)],
)
def test_a_toy_that_reads_one_place_gives_a_map_there(target: Any) -> None:
    maps = explain(toy(), BRIGHT, "drise", target=target, params={"masks": 300, "cells": 4})
    assert maps.targets == ("detected gable",)
    values = maps.of()
    assert values.shape == (24, 32)
    top = np.unravel_index(values.argmax(), values.shape)
    assert top[0] in range(6, 18)
    assert top[1] in range(14, 26)
    far = np.ones_like(values, bool)
    far[4:20, 12:28] = False
    assert values[PLACE].mean() > 5 * np.abs(values[far]).mean()


def test_what_does_not_depend_on_the_image_gives_no_map() -> None:
    second = Detected((0, 24, 32, 48), "dome")
    maps = explain(toy(), BRIGHT, "drise", target=second, params={"masks": 20})
    assert maps.targets == ("detected dome",)
    assert not maps.of().any()


def test_other_methods_explain_detections_too() -> None:
    params = {"window": 8, "stride": 8}
    maps = explain(toy(), BRIGHT, "occlusion", target="detection", params=params)
    values = maps.of().copy()
    assert (values[PLACE] > 0.9).all()
    values[PLACE] = 0
    assert np.abs(values).max() < 1e-6
    slopes = explain(toy(), BRIGHT, "saliency").of()
    assert (slopes[PLACE] > 0).all()
    assert np.count_nonzero(slopes) == 64


# --- how alike a proposal is ----------------------------------------------------------------------


def similarity(wanted: Any, p: Any, boxes: Any, classes: Any, sure: Any) -> float:
    """The formula of D-RISE, one proposal after the other."""
    found = []
    for box, q, objectness in zip(boxes, classes, sure, strict=True):
        width = max(0.0, min(wanted[2], box[2]) - max(wanted[0], box[0]))
        height = max(0.0, min(wanted[3], box[3]) - max(wanted[1], box[1]))
        areas = [(b[2] - b[0]) * (b[3] - b[1]) for b in (wanted, box)]
        overlap = width * height / (sum(areas) - width * height)
        cosine = np.dot(p, q) / np.linalg.norm(p) / np.linalg.norm(q) if np.any(p) else 1.0
        found.append(overlap * cosine * objectness)
    return float(max(found))


@pytest.mark.parametrize("objectness", [True, False])
@pytest.mark.parametrize("labelled", [True, False])
def test_scores_are_the_likest_proposals(labelled: bool, objectness: bool) -> None:
    rng = np.random.default_rng(3)
    corners = np.sort(rng.random((2, 6, 2, 2)), axis=2).reshape(2, 6, 4)
    classes, sure = rng.random((2, 6, 4)), rng.random((2, 6))
    wanted = np.sort(rng.random((2, 2, 2)), axis=1).reshape(2, 4)
    p = rng.random((2, 4)) * labelled
    said = Detections(
        torch.tensor(corners), torch.tensor(classes), torch.tensor(sure) if objectness else None
    )
    goal = Detection(torch.tensor(wanted), torch.tensor(p), ("a", "b"))
    output = Output(None, torch.zeros(2, 1, 1, 1), detections=said)
    one = np.ones(6)
    for i, found in enumerate(goal.scores(output).tolist()):
        known = sure[i] if objectness else one
        assert np.isclose(found, similarity(wanted[i], p[i], corners[i], classes[i], known))
    twice = goal.take(torch.tensor([1, 1]))
    assert twice.names(()) == ("b", "b")
    assert torch.equal(twice.scores(output)[1], goal.scores(output)[1])


def test_boxes_without_area_are_like_nothing() -> None:
    boxes = torch.tensor([[[0.2, 0.2, 0.2, 0.2], [0.6, 0.6, 0.3, 0.3]]])
    output = Output(
        None, torch.zeros(1, 1, 1, 1), detections=Detections(boxes, torch.ones(1, 2, 3))
    )
    goal = Detection(torch.tensor([[0.2, 0.2, 0.2, 0.2]]), torch.zeros(1, 3), ("box",))
    assert goal.scores(output).tolist() == [0.0]


def test_the_most_confident_detection_is_by_class_and_objectness() -> None:
    boxes = torch.arange(12.0).reshape(1, 3, 4)
    classes = torch.tensor([[[0.9, 0.1], [0.6, 0.4], [0.2, 0.7]]])
    said = Detections(boxes, classes, torch.tensor([[0.1, 0.9, 0.6]]))
    output = Output(None, torch.zeros(1, 1, 1, 1), detections=said)
    for number, row, name in ((-1, 1, "detected x"), (0, 1, "detected x"), (1, 2, "detected y")):
        goal = MostConfident(torch.tensor([number]), ("x", "y")).settled(output)
        assert isinstance(goal, Detection)
        assert torch.equal(goal.boxes, boxes[:, row])
        assert torch.equal(goal.probabilities, classes[:, row])
        assert goal.names(()) == (name,)


# --- where the boxes of targets lie ---------------------------------------------------------------


@pytest.mark.parametrize("fit", ["squash", "letterbox", "crop"])
def test_boxes_go_the_way_of_the_image(fit: str) -> None:
    model = toy().fitted(fit=fit)
    goal = read_detections(model, IMAGES[:1], [Detected((20, 10, 40, 30), 2)])
    assert isinstance(goal, Detection)
    geometry = model.prepare(IMAGES[0]).geometries[0]
    x, y = geometry.to_input([20, 40], [10, 30])
    wanted = [x[0] / 32, y[0] / 24, x[1] / 32, y[1] / 24]
    assert np.allclose(goal.boxes[0].tolist(), np.clip(wanted, 0, 1))
    assert goal.probabilities.tolist() == [[0, 0, 1]]
    assert goal.names(()) == ("detected tower",)


def test_each_image_may_have_its_own() -> None:
    targets = [
        Detected((0, 0, 9, 9), "dome"),
        Detected((9, 9, 20, 20)),
        Detected((0, 0, 56, 40), 1),
    ]
    maps = explain(toy(), IMAGES, "drise", target=targets, params={"masks": 3})
    assert maps.targets == ("detected dome", "detected box", "detected gable")
    mixed = explain(toy(), IMAGES, "drise", target=["detection", Detected(label=0), "detection"])
    assert mixed.targets[1] == "detected dome"


@pytest.mark.parametrize(
    ("target", "said"),
    [
        (Detected((0, 0, 60, 20)), r"image \(56 x 40\) and lie inside it, got 0, 0, 60, 20"),
        (Detected((-1, 0, 6, 20)), "and lie inside it, got -1, 0, 6, 20"),
        (Detected((20, 0, 10, 20)), "with x0 < x1 and y0 < y1, got 20, 0, 10, 20"),
        (Detected((1, 2, 3)), r"box must be x0, y0, x1, y1 in pixels .* got \(1, 2, 3\)"),  # type: ignore[arg-type]
        (Detected("left"), "box must be x0, y0, x1, y1 in pixels .* got 'left'"),  # type: ignore[arg-type]
        (Detected((0, 0, float("nan"), 9)), "with x0 < x1 and y0 < y1, got 0, 0, nan, 9"),
        (Detected((0, 0, 9, 9), 7), "label .* a number from 0 to 2 for toy, got 7"),
        (Detected((0, 0, 9, 9), True), "label of a detection must be"),
        (Detected((0, 0, 9, 9), "domes"), "unknown class of the detections of toy 'domes'.*dome"),
        ("dome", "method 'drise' explains detections: target must be 'detection'.* got 'dome'"),
        ("embedding", "method 'drise' explains detections"),
        (["detection"] * 2, "target must be one for all images, or 3, got 2"),
        (["detection", "dome", "detection"], "must be of one kind.*'detection' and 'dome'"),
        ([Detected((0, 0, 9, 9)), "detection", "detection"], "must all have a box where one has"),
    ],
)
def test_bad_targets_are_told(target: Any, said: str) -> None:
    with pytest.raises((InputError, UnknownNameError), match=said):
        explain(toy(), IMAGES, "drise", target=target, params={"masks": 2})


def test_a_box_that_was_cropped_away_is_told() -> None:
    model = toy().fitted(fit="crop", size=24)
    wide = np.zeros((24, 240, 3), np.uint8)
    with pytest.raises(InputError, match="box 0, 0, 9, 9 lies where toy sees nothing of the image"):
        explain(model, wide, "drise", target=Detected((0, 0, 9, 9)), params={"masks": 2})


def test_a_model_without_detections_is_told() -> None:
    with pytest.raises(InputError, match="method 'drise' needs detections, which smooth does not"):
        explain(smooth(), IMAGES, "drise")
    with pytest.raises(InputError, match="target 'detection' needs detections, which smooth has"):
        explain(smooth(), IMAGES, "rise", target="detection")
    with pytest.raises(InputError, match="target 'dome' needs classes, and toy has none"):
        explain(toy(), IMAGES, "rise", target="dome")


@pytest.mark.parametrize(
    ("method", "detects", "target", "lacking"),
    [
        ("drise", True, "predicted", []),
        ("drise", True, "detection", []),
        ("drise", True, "label", ["a detection as target"]),
        ("drise", True, "embedding", ["a detection as target"]),
        ("drise", False, "predicted", ["detections"]),
        ("rise", True, "predicted", []),
        ("rise", True, "dome", ["classes"]),
        ("rise", True, "label", ["classes"]),
        ("rise", True, "embedding", []),
        ("rise", False, "detection", ["detections"]),
        ("rise", False, "dome", []),
        ("random", False, "detection", []),
    ],
)
def test_what_is_lacking_for_a_target(
    method: str, detects: bool, target: str, lacking: list[str]
) -> None:
    assert lacking_for(METHODS[method], toy() if detects else smooth(), target) == lacking


# --- networks of your own -------------------------------------------------------------------------


def test_a_description_may_give_a_plain_tuple() -> None:
    model = described(lambda said: (said["boxes"], said["classes"]))
    assert model.detects == CLASSES
    assert model.classes == ()
    assert "detects 3" in repr(model)
    with torch.no_grad():
        found = model(model.prepare(IMAGES[0]).pixels).detections
    assert found is not None
    assert found.objectness is None


@pytest.mark.parametrize(
    ("detect", "said"),
    [
        (lambda said: said, "detect of the description must return Detections, got dict"),
        (lambda said: (said["boxes"][..., :3], said["classes"]), "boxes .batch, n, 4. and prob"),
        (
            lambda said: (said["boxes"], said["classes"][..., :2]),
            "probabilities .batch, n, 3.",
        ),
        (
            lambda said: (said["boxes"], said["classes"], said["sure"][:, :1]),
            r"objectness must be \(1, 2\), got \(1, 1\)",
        ),
        (lambda said: (said["boxes"][:, :0], said["classes"][:, :0]), "proposes no box"),
    ],
)
def test_detections_of_the_wrong_shape_are_told(detect: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        explain(described(detect), IMAGES[:1], "drise", params={"masks": 2})


def test_what_detects_must_be_a_function_with_classes() -> None:
    for detect, classes in (("boxes", CLASSES), (lambda said: said, ())):
        with pytest.raises(InputError, match="detect of the description must be a function, with"):
            described(detect, classes)


# --- networks of transformers ---------------------------------------------------------------------


def test_every_family_of_detectors_is_tried() -> None:
    assert set(DETECTORS) == {"yolos", *KINDS}


@pytest.mark.parametrize("kind", ["yolos", *KINDS])
def test_a_folder_is_loaded_as_it_was_saved(kind: str, tmp_path: Path) -> None:
    network(kind).save_pretrained(tmp_path)
    model = load_model(f"hf:{tmp_path}", size=(64, 32))
    assert (model.detects, model.classes, model.heads) == (CLASSES, (), 0)
    assert model.family == kind
    pixels = model.prepare(IMAGES[0]).pixels
    with torch.no_grad():
        found, raw = model(pixels), network(kind)(pixel_values=pixels)
    cells = (model.patch[0], model.patch[1])
    assert found.features.shape[2:] == (32 // cells[1], 64 // cells[0])
    assert found.detections is not None
    x, y, width, height = raw.pred_boxes[0, 0].tolist()
    wanted = [x - width / 2, y - height / 2, x + width / 2, y + height / 2]
    assert np.allclose(found.detections.boxes[0, 0].tolist(), wanted, atol=1e-6)
    logits = raw.logits[0, 0].double().numpy()
    if kind in ("conditional_detr", "dab-detr"):
        own = 1 / (1 + np.exp(-logits))
        sure = own.max()
    else:
        both = np.exp(logits) / np.exp(logits).sum()
        own, sure = both[:3], 1 - both[3]
    assert found.detections.objectness is not None
    assert np.allclose(found.detections.probabilities[0, 0].tolist(), own / sure, atol=1e-6)
    assert np.isclose(found.detections.objectness[0, 0].item(), sure, atol=1e-6)


@pytest.mark.parametrize("kind", ["yolos", "detr"])
def test_maps_of_real_detectors(kind: str) -> None:
    model = detector(kind)
    maps = explain(model, IMAGES, "drise", params={"masks": 6})
    assert set(maps.targets) <= {f"detected {name}" for name in CLASSES}
    for i, image in enumerate(IMAGES):
        alone = explain(model, image, "drise", params={"masks": 6}, batch=1)
        assert alone.targets == maps.targets[i : i + 1]
        assert np.ptp(maps.of(i)) > 0
        # Two passes differ by rounding; the scores are about 1, the map may be much smaller.
        assert np.abs(alone.of() - maps.of(i)).max() < 1e-6


@pytest.mark.parametrize("method", ["gradcam", "ablationcam", "saliency"])
def test_layers_and_gradients_of_yolos_leave_its_other_tokens_out(method: str) -> None:
    model = detector("yolos")
    maps = explain(model, IMAGES, method, target="detection")
    assert maps.of(0, layer=None if method == "saliency" else 1).shape in ((3, 4), (24, 32))
    assert all(np.ptp(layer) > 0 for layer in maps.values[0])


def test_a_channel_goes_from_the_patches_alone() -> None:
    model = detector("yolos")
    others = len(model.prefix)
    copies = _without(model, torch.tensor([1, 3]), torch.ones(1, others + 12 + model.suffix, 5))
    patches = copies[:, others : others + 12]
    assert patches.sum((1, 2)).tolist() == [12 * 4] * 2
    assert copies.sum() - patches.sum() == 2 * (others + model.suffix) * 5


def test_attention_of_detectors_is_not_offered() -> None:
    with pytest.raises(InputError, match="method 'mean' needs attention"):
        explain(detector("yolos"), IMAGES, "mean")


def test_a_network_that_gives_no_boxes_is_told() -> None:
    with pytest.raises(InputError, match="YolosModel gives no boxes; YolosForObjectDetection does"):
        load_model(YolosModel(network("yolos").config))


def test_boxes_and_classes_by_hand() -> None:
    assert read_boxes(torch.tensor([0.5, 0.25, 1.0, 0.5])).tolist() == [0, 0, 1, 0.5]
    own, sure = read_classes(torch.tensor([0.0, np.log(3.0)]), each_class=True)
    assert np.allclose(own.tolist(), [0.5 / 0.75, 1])
    assert np.isclose(sure.item(), 0.75)
    own, sure = read_classes(torch.tensor([0.0, 0.0, np.log(2.0)]), each_class=False)
    assert np.allclose(own.tolist(), [0.5, 0.5])
    assert np.isclose(sure.item(), 0.5)
    own, sure = read_classes(torch.tensor([-200.0, -200.0, 0.0]), each_class=False)
    assert own.tolist() == [0, 0]
    assert sure.item() == 0


@pytest.mark.parametrize("number", [-1, 0, 1])
@pytest.mark.parametrize("each_class", [False, True])
def test_the_most_confident_is_by_the_probability_of_its_class(
    each_class: bool, number: int
) -> None:
    """As the networks' own post-processing has it: unsure between two classes is not sure."""
    sizes = torch.tensor([[[0.5, 0.01, 0.49], [0.45, 0.4, 0.15], [0.1, 0.3, 0.6]]])
    logits = sizes.logit() if each_class else sizes.log()
    wanted = sizes if each_class else sizes[..., :2]
    boxes = torch.arange(12.0).reshape(1, 3, 4)
    said = Detections(boxes, *read_classes(logits, each_class))
    assert said.objectness is not None
    assert torch.allclose(said.probabilities * said.objectness[..., None], wanted)
    output = Output(None, torch.zeros(1, 1, 1, 1), detections=said)
    goal = MostConfident(torch.tensor([number]), ("x", "y", "z")).settled(output)
    assert isinstance(goal, Detection)
    best = wanted[0].amax(1) if number < 0 else wanted[0, :, number]
    assert torch.equal(goal.boxes[0], boxes[0, best.argmax()])


def test_drise_takes_what_rise_takes_but_for_classes() -> None:
    rise, drise = METHODS["rise"], METHODS["drise"]
    assert set(rise.params) - set(drise.params) == {"of"}
    assert set(drise.about) == set(drise.params)
