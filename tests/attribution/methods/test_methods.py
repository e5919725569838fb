"""The table of methods, and the parameters that methods take."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sightline.attribution.methods import METHODS, explain
from sightline.attribution.methods.methods import (
    Found,
    Request,
    asked_goal,
    number,
    random_of,
    register,
    whole_number,
)
from sightline.core import InputError, UnknownNameError
from tests.attribution.methods.networks import linear, make_images, smooth, tiny

IMAGES = make_images()


def asked(**params: Any) -> Request:
    return Request((), None, None, params, 1)


def test_baselines_come_last_in_the_table() -> None:
    """So that they are never the method that a model is shown by unless asked for."""
    groups = [card.group for card in METHODS.values()]
    assert groups == sorted(groups, key=lambda group: group == "baseline")
    assert groups[0] == "attention"


def test_a_name_is_taken_once() -> None:
    with pytest.raises(ValueError, match="'cls' is registered twice"):

        @register("cls", what="", group="attention", sign="positive")
        def again(model: Any, inputs: Any, request: Any) -> Found:
            return Found([])


def test_an_unknown_method_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="unknown method 'salency'; did you mean 'saliency'"):
        explain(linear(), IMAGES, "salency")


def test_an_unknown_parameter_is_answered_with_the_nearest() -> None:
    message = "unknown parameter of 'smoothgrad' 'sample'; did you mean 'samples'"
    with pytest.raises(UnknownNameError, match=message):
        explain(linear(), IMAGES, "smoothgrad", params={"sample": 3})
    with pytest.raises(InputError, match="method 'saliency' takes no parameters, got steps"):
        explain(linear(), IMAGES, "saliency", params={"steps": 3})


@pytest.mark.parametrize(
    ("method", "kind", "needs", "named"),
    [
        ("saliency", "dinov2", "classes", ["'cls'", "'mean'", "'rollout'"]),
        ("gradcam", "dinov2", "classes", ["'cls'"]),
        ("grad_rollout", "dinov2", "classes", ["'cls', 'mean', 'rollout'"]),
        ("cls", "resnet", "attention and class token", ["'gradcam', 'gradcam_pp'", "'saliency'"]),
        ("pool", "vit", "pooling", ["'cls'", "'gradcam'", "'smoothgrad'"]),
    ],
)
def test_a_model_that_lacks_something(method: str, kind: str, needs: str, named: list[str]) -> None:
    with pytest.raises(InputError, match=f"'{method}' needs {needs}, which") as caught:
        explain(tiny(kind), IMAGES, method)
    for name in named:
        assert name in str(caught.value)
    assert "'random'" not in str(caught.value)


def test_baselines_are_named_where_nothing_else_works() -> None:
    model = smooth()
    object.__setattr__(model, "classes", ())
    object.__setattr__(model, "layers", ())
    with pytest.raises(InputError, match="work with it: 'random', 'smooth_random', 'centre'"):
        explain(model, IMAGES, "saliency")


def test_a_method_that_explains_is_given_a_goal() -> None:
    with pytest.raises(RuntimeError, match="always given a goal"):
        asked_goal(asked())


@pytest.mark.parametrize("value", [0, 0.5, 2, np.float32(1.5), np.int64(2)])
def test_numbers(value: Any) -> None:
    found = number(asked(share=value), "share", 0, 2)
    assert (found, type(found)) == (value, float)


@pytest.mark.parametrize("value", [-0.01, 2.01, np.nan, np.inf, "1", None, True, [1]])
def test_no_numbers(value: Any) -> None:
    with pytest.raises(InputError, match="share must be a number, from 0 to 2, got"):
        number(asked(share=value), "share", 0, 2)


@pytest.mark.parametrize("value", [3, 10**9, np.int64(4)])
def test_whole_numbers(value: Any) -> None:
    found = whole_number(asked(count=value), "count", 3)
    assert (found, type(found)) == (value, int)


@pytest.mark.parametrize("value", [2, 3.0, "3", None, True, np.nan])
def test_no_whole_numbers(value: Any) -> None:
    with pytest.raises(InputError, match="count must be a whole number, 3 or more, got"):
        whole_number(asked(count=value), "count", 3)


def test_random_numbers_follow_key_and_seed() -> None:
    draws = [
        random_of(key, asked(seed=seed)).random(4).tolist() for key in (0, 9) for seed in (0, 9)
    ]
    assert len(set(map(tuple, draws))) == 4
    assert random_of(9, asked(seed=0)).random(4).tolist() == draws[2]
