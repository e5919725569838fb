"""What is beyond all bounds is refused, with the bound, before anything is expanded."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.attribution.methods import METHODS, explain
from sightline.core import InputError, SightlineError
from sightline.core.limits import (
    MAX_ENTRIES,
    MAX_SOURCES,
    PARAMETER_LIMITS,
    check_model_config,
)
from sightline.models import load_model
from sightline.study import Study, load_study
from tests.scripts import printed_by

if TYPE_CHECKING:
    from pathlib import Path

    from sightline.models import Model

STUDY: dict[str, Any] = {
    "name": "s", "data": {"name": "facades", "count": 3}, "models": "demo/cnn",
    "methods": ["random"],
}  # fmt: skip


def make_study(**keys: Any) -> Study:
    return Study.from_dict({**STUDY, **keys})


def test_a_long_file_is_not_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "s.yml"
    seeds = ", ".join(map(str, range(100_000)))
    path.write_text(f"name: s\ndata: facades\nmethods: [random]\nseeds: [{seeds}]\n")
    code = rf"""
import re
from pathlib import Path
from sightline.core import InputError, SightlineError
from sightline.study import load_study
try:
    load_study({str(path)!r})
except InputError as error:
    print(error)
print(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1])
"""
    message, peak = printed_by(code).splitlines()
    assert message == f"{path}, line 4: there are more than 10,000 values, which is too much"
    assert int(peak) < 300_000  # kilobytes


@pytest.mark.parametrize(
    "key", ["seeds", "layers", "heads", "targets", "percentiles", "methods", "models", "metrics"]
)
def test_lists_have_a_largest_length(key: str) -> None:
    with pytest.raises(InputError, match=rf"{key}: expected at most {MAX_ENTRIES:,} entries, got"):
        make_study(**{key: list(range(MAX_ENTRIES + 1))})


def test_seeds_up_to_the_bound_are_taken() -> None:
    assert len(make_study(seeds=list(range(MAX_ENTRIES))).seeds) == MAX_ENTRIES


def test_combinations_have_a_largest_number() -> None:
    many = {"seeds": list(range(1000)), "targets": list(range(101)), "methods": ["gradcam"]}
    message = rf"at most {MAX_SOURCES:,} combinations, got 1 models × 1 methods × 101 targets × "
    with pytest.raises(InputError, match=message):
        make_study(**many)
    assert make_study(**{**many, "targets": list(range(100))})


@pytest.mark.parametrize("name", PARAMETER_LIMITS)
@pytest.mark.parametrize("factor", [1, 10**12, 10**400])
def test_parameters_that_multiply_the_work_have_a_bound(name: str, factor: int) -> None:
    limit = PARAMETER_LIMITS[name]
    methods = [{"name": "rise", "params": {name: limit * factor + 1}}]
    with pytest.raises(InputError, match=rf"params\.{name}: expected at most {limit:,}, got 1?\d"):
        make_study(methods=methods)
    assert make_study(methods=[{"name": "rise", "params": {name: limit}}])


def test_every_bound_is_of_a_parameter_of_some_method() -> None:
    known = {name for method in METHODS.values() for name in method.params}
    assert set(PARAMETER_LIMITS) <= known


# --- what is wrong with a parameter is always said -----------------------------------------------

ODD: tuple[Any, ...] = (
    -1, 0, 1.5, 10**12, 10**400, -(10**400), float("nan"), float("inf"), 1e300, True, None, "",
    "odd", [], {}, [1] * 1000, b"x",
)  # fmt: skip
PARAMETERS = [(name, key) for name, method in METHODS.items() for key in method.params]
# Values with which a method has little to do where the odd one is taken after all.
CHEAP = {"samples": 2, "steps": 2, "masks": 2, "segments": 4, "cells": 2, "channels": 1}


@pytest.fixture(scope="module")
def models() -> list[Model]:
    return [load_model(name) for name in ("demo/vit", "demo/cnn")]


@pytest.mark.parametrize(("method", "name"), PARAMETERS)
def test_a_wrong_parameter_is_refused_in_words(models: list[Model], method: str, name: str) -> None:
    """Whatever it is: maps come, or an error that says what was expected and what was seen."""
    card = METHODS[method]
    model = next((model for model in models if not card.lacks(model)), None)
    if model is None:  # it is for detectors
        return
    cheap = {key: value for key, value in CHEAP.items() if key in card.params}
    image = np.zeros((32, 32, 3), np.uint8)
    layers: Any = 0 if card.layered else "all"
    target: Any = 0 if card.explains else "predicted"
    refused = 0
    for value in ODD:
        try:
            params = {**cheap, name: value}
            explain(model, image, method, params=params, layers=layers, target=target, batch=4)
        except SightlineError as error:
            check_message(str(error))
            refused += 1
    assert refused >= len(ODD) // 2


def check_message(message: str) -> None:
    """Fail where a message says nothing after a colon, or is huge."""
    assert not re.search(r":\s*$", message), message
    assert len(message) < 1000


# --- configurations of models --------------------------------------------------------------------


def write_config(folder: Path, **values: Any) -> Path:
    """Write the configuration of a model, without weights that fit."""
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"model_type": "vit", **values}))
    (folder / "model.safetensors").write_bytes(b"")
    return folder


HUGE: tuple[dict[str, Any], ...] = (
    {"num_hidden_layers": 1_000_000},
    {"num_attention_heads": 10**9},
    {"hidden_size": 10**7},
    {"image_size": 10**6},
    {"image_size": [224, 10**6]},
    {"depths": [2, 2, 10**6]},
    {"vision_config": {"num_hidden_layers": 1_000_000}},
    {"num_labels": 10**9},
    {"num_hidden_layers": 1e6},
    {"num_hidden_layers": "1000000"},
    {"num_hidden_layers": "1e6"},
    {"image_size": {"height": 10**6, "width": 10**6}},
    {"stages": [{"hidden_size": 10**7}]},
)


@pytest.mark.parametrize("values", HUGE, ids=str)
def test_a_configuration_beyond_all_bounds_is_refused(
    tmp_path: Path, values: dict[str, Any]
) -> None:
    folder = write_config(tmp_path / "net", **values)
    message = r"config\.json: \w+ must be at most [\d,]+, got '?\d+"
    with pytest.raises(InputError, match=message):
        load_model(f"hf:{folder}")
    path = tmp_path / "s.yml"
    path.write_text(f'name: s\ndata: facades\nmodels: "hf:{folder}"\nmethods: [cls]\n')
    with pytest.raises(InputError, match=rf"^{re.escape(str(path))}: .*{message}"):
        load_study(path)


def test_a_study_refuses_it_before_torch_is_there(tmp_path: Path) -> None:
    folder = write_config(tmp_path / "net", num_hidden_layers=1_000_000)
    path = tmp_path / "s.yml"
    path.write_text(f'name: s\ndata: facades\nmodels: "hf:{folder}"\nmethods: [cls]\n')
    code = f"""
import sys
from sightline.study import load_study
try:
    load_study({str(path)!r})
except ValueError:
    print("torch" in sys.modules)
"""
    assert printed_by(code) == "False\n"


WIDE: dict[str, Any] = {"num_hidden_layers": 1000, "hidden_size": 65_536}
MANY_WEIGHTS: tuple[tuple[dict[str, Any], str], ...] = (
    ({"num_hidden_layers": 900, "hidden_size": 60_000}, "900 layers of 60,000"),
    ({"num_hidden_layers": 900.0, "hidden_size": "60000"}, "900 layers of 60,000"),
    ({"hidden_size": 65_536}, "12 layers of 65,536"),
    ({"depths": [1000] * 4, "hidden_sizes": [65_536] * 4}, "4,000 layers of 65,536"),
    ({"depths": [1] * 40, "embed_dim": 96}, "40 layers of more than all weights together"),
    ({"vision_config": WIDE}, "1,000 layers of 65,536"),
    ({"text_config": WIDE}, "1,000 layers of 65,536"),
    ({"backbone_config": {"backbone_config": WIDE}}, "1,000 layers of 65,536"),
    (
        {"image_size": 16_384, "patch_size": 1, "hidden_size": 65_536, "num_hidden_layers": 1},
        "268,435,456 patches of 65,536",
    ),
    (
        {"num_channels": 65_536, "patch_size": 4096, "hidden_size": 768},
        "1,099,511,627,776 values of a patch times 768",
    ),
    ({"vocab_size": 10**7, "hidden_size": 32_768, "num_layers": 1}, "10,000,000 words of 32,768"),
)


@pytest.mark.parametrize(("config", "most"), MANY_WEIGHTS, ids=str)
def test_sizes_have_a_bound_together(config: dict[str, Any], most: str) -> None:
    with pytest.raises(
        InputError, match=rf"must make at most 200,000,000,000 weights, got {most}$"
    ):
        check_model_config(config, "config.json")


def test_sizes_of_large_networks_are_taken() -> None:
    check_model_config({"num_hidden_layers": 48, "hidden_size": 8192}, "config.json")
    swin = {"image_size": 384, "depths": [2, 2, 18, 2], "embed_dim": 192, "window_size": 12}
    check_model_config({**swin, "num_heads": [6, 12, 24, 48]}, "config.json")
    check_model_config({"label_names": ["a"] * 21_841, "num_labels": 21_841}, "config.json")


@pytest.mark.parametrize("key", ["depths", "num_heads", "hidden_sizes"])
def test_lists_of_a_configuration_have_a_largest_length(key: str) -> None:
    with pytest.raises(InputError, match=rf"{key} must have at most 1,000 entries, got 1,000,000$"):
        check_model_config({"vision_config": {key: [1] * 10**6}}, "config.json")


def test_a_configuration_that_no_network_needs_is_not_read(tmp_path: Path) -> None:
    folder = write_config(tmp_path / "net", names="a" * 20_000_000)
    path = tmp_path / "s.yml"
    path.write_text(f'name: s\ndata: facades\nmodels: "hf:{folder}"\nmethods: [gradcam]\n')
    with pytest.raises(
        InputError, match=r"config\.json: expected a configuration of at most 20 MB"
    ):
        load_study(path)


REFUSED = """
import sys
from sightline.core import InputError
from sightline.study import load_study
try:
    load_study(PATH)
except InputError as error:
    print("must" in str(error) or "at most" in str(error), "torch" in sys.modules)
print(int(next(line for line in open("/proc/self/status") if "VmHWM" in line).split()[1]))
"""


@pytest.mark.parametrize(
    "values",
    [
        {"model_type": "swin", "depths": [1] * 10**6},
        {"model_type": "convnext", "depths": [1000] * 4, "hidden_sizes": [65_536] * 4},
        {"model_type": "clip", "vision_config": WIDE},
    ],
    ids=["swin", "convnext", "clip"],
)
def test_refusing_a_configuration_takes_little_memory(
    tmp_path: Path, values: dict[str, Any]
) -> None:
    folder = write_config(tmp_path / "net", **values)
    path = tmp_path / "s.yml"
    path.write_text(f'name: s\ndata: facades\nmodels: "hf:{folder}"\nmethods: [gradcam]\n')
    refused, peak = printed_by(REFUSED.replace("PATH", repr(str(path)))).splitlines()
    assert refused == "True False"
    assert int(peak) < 300_000  # kilobytes


@pytest.mark.parametrize("number", ["1000000000000", "1e12", "inf", 1e12])
def test_bounds_of_parameters_hold_for_numbers_as_text(number: Any) -> None:
    methods = [{"name": "integrated_gradients", "params": {"steps": number}}]
    with pytest.raises(InputError, match=r"params\.steps: expected at most 2,000, got '?\d|'inf'"):
        make_study(methods=methods)


@pytest.mark.parametrize("seeds", ["0..99999", ["0..99999"]])
def test_a_range_of_seeds_is_refused_with_the_bound(seeds: Any) -> None:
    with pytest.raises(InputError, match=r"seeds.*: expected at most 1,000 whole numbers, one by"):
        make_study(seeds=seeds)


KEYS = st.sampled_from(["layers", "a", "depths"])
PLAIN = st.none() | st.integers() | st.text(max_size=5)
NESTED = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=20,
)


@given(NESTED)
def test_any_configuration_passes_or_is_refused(value: Any) -> None:
    try:
        check_model_config({"x_layers": value, "b": value}, "config.json")
    except InputError as error:
        check_message(str(error))
