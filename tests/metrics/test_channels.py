"""Three channels become one map when told how; negative values need a stated sign."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np
import pytest
import torch

import sightline
from sightline import metrics, stats
from sightline.core import Annotation, InputError, MapError, Region
from sightline.stats import missing_labels as sparsity

RNG = np.random.default_rng(0)
RGB = RNG.normal(size=(2, 3, 8, 9)).astype(np.float32)
MASK = np.zeros((8, 9), bool)
MASK[2:6, 3:7] = True
BY_HAND = {
    "mean_abs": (np.abs(RGB[:, 0]) + np.abs(RGB[:, 1]) + np.abs(RGB[:, 2])) / np.float32(3),
    "sum": RGB[:, 0] + RGB[:, 1] + RGB[:, 2],
    "max_abs": np.abs(RGB).max(axis=1),
}


@pytest.mark.parametrize("make", [np.asarray, np.asfortranarray, torch.tensor])
@pytest.mark.parametrize("channels", list(BY_HAND))
def test_channels_are_reduced_as_by_hand(channels: Any, make: Any) -> None:
    found = metrics.reduce_channels(make(RGB), channels)
    assert np.asarray(found).dtype == np.float32
    np.testing.assert_array_equal(np.asarray(found), BY_HAND[channels])
    scores = sightline.score_maps(make(RGB), make(MASK), channels=channels, sign="absolute")
    alone = sightline.score_maps(BY_HAND[channels], MASK, sign="absolute")
    for name in alone:
        np.testing.assert_array_equal(np.asarray(scores[name]), alone[name])


@pytest.mark.parametrize("kind", ["int8", "uint8", "float16", "bool"])
def test_small_types_do_not_overflow(kind: str) -> None:
    maps = np.array([-128, 127, 127]).astype(kind).reshape(1, 3, 1, 1)
    plain = maps.astype(float)
    assert metrics.reduce_channels(maps, "sum").item() == pytest.approx(plain.sum())
    assert metrics.reduce_channels(maps, "mean_abs").item() == pytest.approx(np.abs(plain).mean())


def test_rgb_attributions_are_refused_until_told_how() -> None:
    message = (
        r"maps of shape 2×3×8×9 look like attributions of RGB inputs \(images, 3, H, W\), as "
        r"Captum .*channels='mean_abs', 'sum' or 'max_abs'.*channels='separate'"
    )
    for maps in (RGB, torch.tensor(RGB)):
        with pytest.raises(InputError, match=message):
            sightline.score_maps(maps, regions=[[(0, 0, 0.5, 0.5)]], sign="absolute")
    with pytest.raises(InputError, match=message):
        metrics.compute_coverage(np.abs(RGB), MASK)
    last = np.moveaxis(RGB, 1, -1)
    with pytest.raises(InputError, match=r"2×8×9×3 .*channels last .*move them to axis 1"):
        sightline.score_maps(last, regions=[[(0, 0, 0.5, 0.5)]], sign="absolute")
    separate = sightline.score_maps(RGB, MASK, channels="separate", sign="absolute")
    assert separate["coverage"].shape == (2, 3)
    flat = sightline.score_maps(RGB.reshape(6, 8, 9), MASK, sign="absolute")
    np.testing.assert_array_equal(separate["coverage"].ravel(), flat["coverage"])


@pytest.mark.parametrize("shape", [(3, 8, 9), (2, 1, 8, 9), (2, 5, 3, 8, 9), (4, 8, 9), (2, 3, 3)])
def test_other_shapes_are_maps_each(shape: tuple[int, ...]) -> None:
    maps = RNG.random(shape)
    scores = sightline.score_maps(maps, np.ones(shape[-2:], bool), metrics=["coverage"])
    assert scores["coverage"].shape == shape[:-2]


def test_channels_must_be_three_and_known() -> None:
    with pytest.raises(InputError, match=r"channels='sum' reduces .* got shape 2×8×9"):
        sightline.score_maps(RGB[:, 0], MASK, channels="sum", sign="positive")
    with pytest.raises(InputError, match="channels must be one of mean_abs, sum, max_abs, separ"):
        sightline.score_maps(RGB, MASK, channels="mean")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="channels must be one of mean_abs, sum, max_abs; got"):
        metrics.reduce_channels(RGB, "separate")  # type: ignore[arg-type]


# --- signs ---------------------------------------------------------------------------------------

SIGNED = np.stack([np.abs(RGB[0, 0]), RGB[0, 1]])
ASKS = r"map 1 has negative values \(smallest -\d\.\d+\): give sign, .*'positive'.*'abs.*'signed'"


@pytest.mark.parametrize("make", [np.asarray, torch.tensor])
def test_negative_values_ask_for_a_sign(make: Any) -> None:
    with pytest.raises(MapError, match=ASKS) as caught:
        sightline.score_maps(make(SIGNED), make(MASK))
    assert caught.value.index == 1
    plain = sightline.score_maps(make(np.abs(SIGNED)), make(MASK))
    stated = sightline.score_maps(make(np.abs(SIGNED)), make(MASK), sign="positive")
    for name in plain:
        assert np.asarray(plain[name]).tobytes() == np.asarray(stated[name]).tobytes()
    with pytest.raises(MapError, match="smallest -1e-12"):
        sightline.score_maps(make(np.where(MASK, 1.0, -1e-12)), make(MASK))


def test_what_is_ignored_or_not_finite_asks_for_none() -> None:
    maps = np.where(MASK, 1.0, -1.0)
    assert sightline.score_maps(maps, MASK, ignore=~MASK)["coverage"] == 1
    maps = np.where(MASK, 1.0, -np.inf)
    with pytest.raises(MapError, match="map 0 is not finite"):
        sightline.score_maps(maps, MASK)
    found = sightline.score_maps(maps, MASK, nonfinite="drop")
    assert np.isnan(found["coverage"])


ANNOTATION = Annotation("a", regions=(Region("door", box=(0, 0, 0.5, 0.5)),))
BOXES = [[(0, 0, 0.5, 0.5)]] * 2
CALLS: dict[str, Any] = {
    "compute_all_metrics": lambda maps: sightline.compute_all_metrics(maps[1], MASK),
    "box_iou_curves": lambda maps: metrics.box_iou_curves(maps, BOXES),
    "compute_max_box_accuracy": lambda maps: metrics.compute_max_box_accuracy(maps, BOXES),
    "compute_corloc": lambda maps: metrics.compute_corloc(maps, MASK),
    "compute_pxap": lambda maps: metrics.compute_pxap(maps, MASK),
    "compute_image_iou": lambda maps: metrics.compute_image_iou(maps, ANNOTATION),
    "compute_per_bbox_iou": lambda maps: metrics.compute_per_bbox_iou(maps[1], ANNOTATION),
    "compute_shuffled_auc": lambda maps: metrics.compute_shuffled_auc(maps, MASK, MASK * 1.0),
    "cross_scores": lambda maps: stats.cross_scores(maps, np.stack([MASK] * 2), "iou@90"),
    "cross_scores, by pass": lambda maps: stats.cross_scores(maps, np.stack([MASK] * 2), "nss"),
    "torus_scores": lambda maps: stats.torus_scores(maps, np.stack([MASK] * 2), "iou@90"),
    "bootstrap_iou_under_dropout": lambda maps: sparsity.bootstrap_iou_under_dropout(
        maps, [MASK[None]] * 2, n_bootstrap=5
    ),
}
COMPUTE = [
    name
    for name in metrics.__all__
    if name not in CALLS
    and callable(getattr(metrics, name))
    and not isinstance(getattr(metrics, name), type)
    and "sign" in inspect.signature(getattr(metrics, name)).parameters
    and name not in ("score_maps", "resolve_sign")
]


def _call(name: str, maps: Any) -> Any:
    needs = list(inspect.signature(getattr(metrics, name)).parameters)[1:2]
    return getattr(metrics, name)(maps, *([MASK] if needs and needs[0] != "sign" else []))


@pytest.mark.parametrize("name", [*CALLS, *COMPUTE])
def test_every_function_with_a_sign_asks_for_it(name: str) -> None:
    call = CALLS.get(name, lambda maps: _call(name, maps))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # MSE warns
        call(np.abs(SIGNED))
        with pytest.raises(MapError, match=r"map [01] has negative values .*: give sign"):
            call(SIGNED)
