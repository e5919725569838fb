"""Bad input gets an error that names the thing, the expectation and what was seen."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

import sightline
from sightline import metrics
from sightline.core import (
    Annotation,
    InputError,
    MapError,
    Region,
    SightlineError,
    UnknownNameError,
)

MAPS = np.random.default_rng(0).random((3, 4, 5))
MASKS = np.zeros((3, 4, 5), bool)
MASKS[:, 1:3, 1:3] = True
BOX = (0.1, 0.1, 0.6, 0.6)


@pytest.mark.parametrize(
    ("maps", "masks", "message"),
    [
        (np.ones(5), np.ones(5), r"maps must have shape \(\.\.\., H, W\); got shape 5"),
        (1.0, True, "maps must have shape"),
        (np.ones((0, 4, 5)), np.ones((4, 5)), "maps must not be empty; got shape 0×4×5"),
        (np.ones((2, 0, 5)), np.ones((2, 0, 5)), "maps must not be empty; got shape 2×0×5"),
        (MAPS * 1j, MASKS, "maps must hold real numbers; got dtype complex128"),
        (np.full((4, 5), "a"), MASKS[0], "maps must hold real numbers"),
        (MAPS, MASKS[:2], "shape of maps 3×4×5, where .*; got shape 2×4×5"),
        (MAPS, MASKS[:, None], "shape of maps 3×4×5, .*; got shape 3×1×4×5"),
        (MAPS, MASKS[:, :, :4], "height and width 4×5; got shape 3×4×4"),
        (MAPS, MASKS[0, 0], "height and width 4×5; got shape 5"),
        (MAPS, MASKS * 255, r"only 0 and 1 \(or booleans\); found 255.*masks > 0"),
        (MAPS, MASKS * 0.5, "only 0 and 1.*found 0.5"),
        (MAPS, np.full(MASKS.shape, np.nan), "only 0 and 1.*found nan"),
        (MAPS, torch.tensor(MASKS), "masks is a torch tensor but maps is not"),
        (MAPS, None, "needs masks, regions, or both"),
    ],
)
def test_wrong_shapes_and_types(maps: Any, masks: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        sightline.score_maps(maps, masks)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"percentiles": [101]}, r"percentiles must lie in \[0, 100\]; got 101"),
        ({"percentiles": [-0.1]}, r"percentiles must lie in \[0, 100\]; got -0.1"),
        ({"percentiles": [math.nan]}, r"percentiles must lie in \[0, 100\]; got nan"),
        ({"percentiles": ["high"]}, "percentiles must be numbers"),
        ({"percentiles": "90"}, r"percentiles must be numbers in \[0, 100\]; got '90'"),
        ({"percentiles": []}, "nothing is selected"),
        ({"percentiles": (0.9, 0.5)}, "from 0 to 100, got 0.9; did you mean 90"),
        ({"selection": "median"}, "selection must be 'percentile', .* got 'median'"),
        ({"selection": "mass0"}, "mass share must lie in"),
        ({"selection": "mass101"}, "mass share must lie in"),
        ({"selection": ["percentile", 3]}, "selection must be .* got 3"),
        ({"sign": "both"}, "sign must be one of positive, absolute, signed; got 'both'"),
        ({"ties": "first"}, "ties must be one of share, include; got 'first'"),
        ({"nonfinite": "ignore"}, "nonfinite must be one of raise, drop; got 'ignore'"),
        ({"threads": 0}, "threads must be at least 1; got 0"),
        ({"sign": "signed", "selection": "mass"}, "mass selection needs sign 'positive'"),
        ({"sign": "signed", "metrics": ["coverage"]}, "a signed map has no energy"),
        ({"sign": "signed", "metrics": ["entropy"]}, "a signed map has no energy"),
        ({"sign": "signed", "metrics": ["iou@mean"]}, "mean selection needs sign 'positive'"),
        ({"metrics": "iou"}, "metrics must be a list of names; got the text 'iou'"),
        ({"metrics": ["corloc"]}, "corloc is a figure of a data set.*compute_corloc"),
        ({"metrics": ["auc_roc@90"]}, "auc_roc takes no threshold; got 'auc_roc@90'"),
        ({"metrics": ["iou@k5"]}, "iou takes a threshold of kind .*; got 'iou@k5'"),
        ({"metrics": ["top_k_any@90"]}, "top_k_any takes a threshold of kind top"),
        ({"metrics": ["pointing@90"]}, "pointing takes a threshold of kind tolerance"),
        ({"metrics": ["iou@ninety"]}, "unknown selection 'ninety'; expected a percentile"),
        ({"metrics": ["top_k_any@k0"]}, "number of top pixels must be 1, 2, …; got 0"),
        ({"metrics": ["cc"]}, "cc needs targets, or regions, from which its soft target is made"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        sightline.score_maps(MAPS, MASKS, **options)


@pytest.mark.parametrize(
    ("regions", "message"),
    [
        ([[BOX], [BOX]], r"one entry for all maps \(1\) or one entry per map \(3\); got 2"),
        (
            [[BOX], [BOX], [(1.2, 0, 1.5, 1)]],
            r"region 0 of regions\[2\] lies wholly outside the image",
        ),
        (
            [[BOX], [BOX], [BOX, (10, 20, 50, 60)]],
            r"region 1 of regions\[2\] has box edges that are no sh",
        ),
        (
            [[BOX], [(0, 0, math.nan, 1)], []],
            r"region 0 of regions\[1\] has a box that is not finite",
        ),
        ([[(0.6, 0, 0.1, 1)], [], []], r"region 0 of regions\[0\] must be a box .* x0 ≤ x1"),
        (
            [[MASKS[0, :3]], [], []],
            r"region 0 of regions\[0\] must be a box .* size 4×5; got shape 3×5",
        ),
        ([[MASKS[0] * 7], [], []], r"region 0 of regions\[0\] must be a mask of 0 and 1; found 7"),
        ([[(0.1, 0.2, 0.3)], [], []], r"region 0 of regions\[0\] must be a box .* got shape 3"),
        ([np.ones((2, 5)), [], []], r"regions\[0\] must be boxes .* got shape 2×5"),
    ],
)
def test_wrong_regions(regions: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        sightline.score_maps(MAPS, MASKS, regions=regions)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("sign", ["positive", "absolute", "signed"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_a_map_that_is_not_finite_is_named(bad: float, sign: Any, dtype: Any) -> None:
    maps = MAPS.astype(dtype)
    maps[2, 0, 1] = bad
    with pytest.raises(
        MapError, match=r"map 2 is not finite: . NaN and . infinite of 20"
    ) as caught:
        sightline.score_maps(maps, MASKS, sign=sign)
    assert caught.value.index == 2
    with pytest.raises(MapError, match="map 2 is not finite"):
        sightline.score_maps(torch.tensor(maps), torch.tensor(MASKS), sign=sign)


def test_a_dropped_map_has_a_reason() -> None:
    maps = MAPS.copy()
    maps[1, 0, 1] = np.nan
    scores = sightline.score_maps(maps, MASKS, nonfinite="drop")
    assert scores.reasons("auc_roc").tolist() == ["", "map is not finite", ""]


def test_unknown_metrics_and_columns_suggest_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="unknown metric 'iuo'; did you mean 'iou'"):
        sightline.score_maps(MAPS, MASKS, metrics=["iuo"])
    for wrong, meant in (("iou90", "iou@90"), ("recall_mass60", "recall@mass60")):
        with pytest.raises(UnknownNameError, match=f"'{wrong}'; did you mean '{meant}'"):
            sightline.score_maps(MAPS, MASKS, metrics=[wrong])
    scores = sightline.score_maps(MAPS, MASKS)
    with pytest.raises(KeyError, match="no column 'iou@91'; nearest: iou@9"):
        scores["iou@91"]
    with pytest.raises(KeyError, match=r"'nss' was not asked for: .*metrics=\['nss'\]"):
        scores["nss"]
    for column, asked in (("cc_chance", "cc"), ("sim_uniform", "sim"), ("pointing@tol2",) * 2):
        with pytest.raises(KeyError, match=rf"'{column}' was not .*metrics=\['{asked}'\]"):
            scores[column]
    with pytest.raises(KeyError, match="no column 'corloc@90'"):
        scores["corloc@90"]
    with pytest.raises(KeyError, match="a signed map has no energy"):
        sightline.score_maps(MAPS, MASKS, sign="signed")["coverage"]
    with pytest.raises(KeyError, match="no column 'coverage'"):
        sightline.score_maps(MAPS, MASKS, metrics=["iou@90"])["coverage"]


def test_an_annotation_must_be_in_a_list() -> None:
    annotation = Annotation("a.jpg", regions=(Region("door", box=BOX),))
    with pytest.raises(InputError, match=r"put the annotation of 'a\.jpg' in a list"):
        sightline.score_maps(MAPS[0], regions=annotation)  # type: ignore[arg-type]


def test_one_map_functions_refuse_batches() -> None:
    with pytest.raises(InputError, match="compute_all_metrics takes one map"):
        metrics.compute_all_metrics(MAPS, MASKS)


@pytest.mark.parametrize("k", [0, 2.5, -1])
def test_top_k_wants_whole_pixels(k: Any) -> None:
    with pytest.raises(InputError, match="k must be a whole number of pixels ≥ 1"):
        metrics.top_k_pointing_accuracy(MAPS, MASKS, k)


@pytest.mark.parametrize("tolerance", [-1, math.inf, math.nan])
def test_tolerance_must_be_a_distance(tolerance: float) -> None:
    with pytest.raises(InputError, match="tolerance must be a finite number of pixels ≥ 0"):
        metrics.pointing_game_hit(MAPS, MASKS, tolerance)


@pytest.mark.parametrize("name", ["sim", "kl", "emd", "mse", "entropy", "gini", "sparsity"])
def test_energies_of_signed_maps_are_refused(name: str) -> None:
    function = getattr(metrics, f"compute_{name}")
    arguments = (MAPS,) if not metrics.METRICS[name].needs else (MAPS, MASKS * 1.0)
    with pytest.raises(InputError, match="use sign 'positive' or 'absolute'"):
        function(*arguments, sign="signed")


@pytest.mark.parametrize("target", [MASKS * -1.0, np.where(MASKS, np.nan, 0)])
def test_targets_must_be_finite_and_not_negative(target: Any) -> None:
    with pytest.raises(InputError, match="target must be finite and not negative"):
        metrics.compute_cc(MAPS, target)


def test_our_errors_share_a_base() -> None:
    for kind in (InputError, MapError, UnknownNameError):
        assert issubclass(kind, SightlineError)
    assert issubclass(InputError, ValueError)
    assert issubclass(UnknownNameError, KeyError)
