"""Networks of CaBRNet.

The package itself is not installed here. Stand-ins have what its real classes have, by the record
that `tests/attribution/prototypes/record_cabrnet.py` makes with them; there, the adapter is
compared with the real networks. The checkpoint in `tests/attribution/prototypes/cabrnet` was
written by CaBRNet.
"""

from __future__ import annotations

import pickle
import shutil
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
import yaml
from torch import nn

from sightline.attribution.prototypes import (
    attribute,
    best_matches,
    read_projection,
    similarity_maps,
)
from sightline.attribution.prototypes.matches import Nearest
from sightline.core import InputError, MissingPackageError
from sightline.models import Preprocess, cabrnet, load_model, prototypes_of, wrap_cabrnet
from tests.attribution.prototypes.record_cabrnet import FOLDER, config_of, shapes_of
from tests.attribution.prototypes.stand_ins import NETWORKS, Network

if TYPE_CHECKING:
    from pathlib import Path

SQUASHED = Preprocess((96, 64), mean=(0.4, 0.5, 0.6), std=(0.2, 0.2, 0.3), resample="bilinear")
PIXELS = torch.rand(2, 3, 64, 96, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("name", NETWORKS)
def test_stand_ins_are_as_the_record_of_the_real_networks(name: str) -> None:
    told = {key: value for key, value in NETWORKS[name].items() if key != "only_tensors"}
    seen = shapes_of(Network(name), PIXELS)
    assert {key: seen[key] for key in told} == told


@pytest.mark.parametrize("name", NETWORKS)
def test_a_wrapped_network_gives_what_it_gave(name: str) -> None:
    network = Network(name)
    model = wrap_cabrnet(network, SQUASHED, classes=("a", "b", "c"), name="mine")
    assert repr(model) == "Model('mine', 96x64 squash, patch 4x4, 1 layers, 0 heads, 3 classes)"
    with torch.no_grad():
        outputs = network(PIXELS)
        found = similarity_maps(model, PIXELS)
        channels_last = PIXELS.contiguous(memory_format=torch.channels_last)
        assert torch.equal(found, network.similarities(channels_last))
        assert torch.allclose(found, network.similarities(PIXELS), rtol=1e-6)  # another order
        logits = model(PIXELS).logits
    assert logits is not None
    assert torch.equal(logits, outputs[2 if name == "pipnet" else 0])
    weights = prototypes_of(model).class_weights
    best = network.similarities(PIXELS).amax((2, 3)).detach()
    if name == "prototree":
        assert weights.tolist() == np.eye(7, 3).T.tolist()
    else:
        assert torch.allclose(best @ weights.T, logits, atol=1e-5)


def test_slots_of_legacy_networks_are_shares() -> None:
    network = Network("protopool")
    network.classifier._compatibility_mode = True
    network.classifier.last_layer.weight.data.fill_(1)
    weights = prototypes_of(wrap_cabrnet(network, SQUASHED)).class_weights
    assert torch.allclose(weights.sum(1), torch.full((3,), 6.0))  # 3 classes with 2 slots each


def test_a_wrapped_network_goes_the_whole_way() -> None:
    model = wrap_cabrnet(Network("protopnet"), SQUASHED)
    assert model.classes == ("0", "1", "2")
    matches = best_matches(model, PIXELS)
    for method in ("upsampling", "saliency"):
        numbers, cells = matches.prototypes[:, 0], matches.cells[:, 0]
        values = attribute(model, PIXELS, numbers, cells, method=method).values
        assert 0 <= values.min() < 0.5 < values.max() <= 1


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What CaBRNet is asked to build; a network that takes any state stands for its answer."""
    asked: list[Any] = []

    def build(config: dict[str, Any]) -> nn.Module:
        network = Network("prototree")
        network.load_state_dict = asked.append
        asked.append(config)
        return network

    monkeypatch.setattr(cabrnet, "_build", build)
    return asked


def test_a_checkpoint_that_cabrnet_wrote_is_read(built: list[Any]) -> None:
    model = load_model(f"cabrnet:{FOLDER}")
    config, state = built
    assert model.name == f"cabrnet:{FOLDER}"
    assert model.preprocess == SQUASHED
    wanted = config_of("prototree")
    wanted["extractor"]["backbone"]["weights"] = "None"  # nothing is fetched
    assert config == wanted
    assert state["classifier.prototypes"].shape == (7, 8, 1, 1)
    assert not all(isinstance(value, torch.Tensor) for value in state.values())
    assert not NETWORKS["prototree"]["only_tensors"]


def test_without_the_package_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cabrnet", None)
    words = "need its package, and cabrnet.* is missing: pip install .*--no-deps cabrnet==1.2"
    with pytest.raises(MissingPackageError, match=words):
        load_model(f"cabrnet:{FOLDER}")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return shutil.copytree(FOLDER, tmp_path / "checkpoint")


class _Trap:
    """Makes a file when it is unpickled."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return open, (self.path, "w")


def _plainly(trap: Any, path: Path) -> None:
    path.write_bytes(pickle.dumps(trap, protocol=2))


@pytest.mark.parametrize("how", [torch.save, _plainly])
def test_a_checkpoint_that_would_run_code_is_refused(
    folder: Path, tmp_path: Path, built: list[Any], how: Any
) -> None:
    how({"weight": _Trap(str(tmp_path / "ran"))}, folder / "model_state.pth")
    with pytest.raises(InputError, match=r"model_state\.pth must hold tensors and plain values"):
        load_model(f"cabrnet:{folder}")
    assert not (tmp_path / "ran").exists()
    assert not built


@pytest.mark.parametrize(
    "bad", [b"", b"nothing that torch wrote", b"\x80\x02a", b"\x80\x02}q\x01("]
)
def test_a_file_that_is_no_checkpoint_is_refused(
    folder: Path, built: list[Any], bad: bytes
) -> None:
    (folder / "model_state.pth").write_bytes(bad)
    with pytest.raises(InputError, match=r"model_state\.pth must hold tensors"):
        load_model(f"cabrnet:{folder}")


def test_a_checkpoint_must_hold_names(folder: Path, built: list[Any]) -> None:
    torch.save(torch.zeros(2), folder / "model_state.pth")
    with pytest.raises(InputError, match="must hold tensors by name, got Tensor"):
        load_model(f"cabrnet:{folder}")


def test_a_state_of_another_network_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cabrnet, "_build", lambda config: Network("protopnet"))
    with pytest.raises(InputError, match=r"model_state\.pth does not fit model_arch\.yml"):
        load_model(f"cabrnet:{folder}")


@pytest.mark.parametrize("name", ["model_arch.yml", "model_state.pth", "dataset.yml"])
def test_a_missing_file_is_named(folder: Path, built: list[Any], name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(InputError, match=f"^there is no file .*{name}"):
        load_model(f"cabrnet:{folder}")


def _changed(path: Path, keys: tuple[str, ...], value: Any) -> None:
    whole = part = yaml.safe_load(path.read_text("utf-8"))
    for key in keys[:-1]:
        part = part[key]
    part[keys[-1]] = value
    path.write_text(yaml.safe_dump(whole), "utf-8")


@pytest.mark.parametrize(
    ("keys", "value", "words"),
    [
        (("top_arch", "module"), "os", "module of 'top_arch' .* one of cabrnet, got 'os'"),
        (("classifier", "module"), "cabrnetx.y", "module of 'classifier' .* got 'cabrnetx.y'"),
        (("similarity", "module"), "subprocess", "module of 'similarity' .* got 'subprocess'"),
        (("classifier",), 3, "must have a mapping 'classifier'"),
        (("similarity",), "ProtoPNetSimilarity", "must have a mapping 'similarity', or none"),
        (("extractor", "backbone"), None, "must have a mapping 'backbone'"),
        (("extractor", "backbone", "arch"), "generic_onnx_model", "ONNX are not supported"),
    ],
)
def test_a_configuration_names_nothing_but_cabrnet(
    folder: Path, built: list[Any], keys: tuple[str, ...], value: Any, words: str
) -> None:
    _changed(folder / "model_arch.yml", keys, value)
    with pytest.raises(InputError, match=words):
        load_model(f"cabrnet:{folder}")
    assert not built


@pytest.mark.parametrize("text", ["- 1", "a: [", "!!python/object/apply:builtins.open [{}, w]"])
def test_files_must_be_plain_yaml(
    folder: Path, tmp_path: Path, built: list[Any], text: str
) -> None:
    (folder / "model_arch.yml").write_text(text.format(tmp_path / "ran"), "utf-8")
    with pytest.raises(InputError, match=r"model_arch\.yml must (be YAML|hold a mapping)"):
        load_model(f"cabrnet:{folder}")
    assert not (tmp_path / "ran").exists()


TRANSFORM = ("test_set", "params", "transform")
RESIZE = {"type": "Resize", "params": {"size": [32, 48]}}
TENSOR = {"type": "ToTensor"}


@pytest.mark.parametrize(
    "transform",
    [
        {"a": RESIZE, "b": TENSOR},
        [RESIZE, TENSOR],
        {"type": "Compose", "transforms": [RESIZE, TENSOR]},
    ],
)
def test_a_transform_may_be_written_in_three_ways(
    folder: Path, built: list[Any], transform: Any
) -> None:
    _changed(folder / "dataset.yml", TRANSFORM, transform)
    found = load_model(f"cabrnet:{folder}").preprocess
    assert found == Preprocess((48, 32), mean=(0, 0, 0), std=(1, 1, 1), resample="bilinear")


@pytest.mark.parametrize(
    "transform",
    [
        None,
        [TENSOR],
        [{"type": "Resize", "params": {"size": 32}}, TENSOR],
        [{"type": "Resize", "params": {"size": [32, 48], "antialias": False}}, TENSOR],
        [RESIZE, {"type": "CenterCrop", "params": {"size": 16}}, TENSOR],
        [TENSOR, RESIZE],
    ],
)
def test_a_transform_that_is_not_known_needs_a_preprocess(
    folder: Path, built: list[Any], transform: Any
) -> None:
    _changed(folder / "dataset.yml", TRANSFORM, transform)
    with pytest.raises(InputError, match=r"test_set of .* give a preprocess"):
        load_model(f"cabrnet:{folder}")
    model = cabrnet.load_cabrnet(folder, Preprocess((96, 64)), classes="abc", name="mine")
    assert (model.name, model.classes) == ("mine", ("a", "b", "c"))


def test_networks_that_cannot_be_wrapped_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="Identity is no network of CaBRNet: it lacks similar"):
        wrap_cabrnet(nn.Identity(), SQUASHED)
    network = Network("protopnet")
    with pytest.raises(InputError, match="mine has 3 classes, got 2 names"):
        wrap_cabrnet(network, SQUASHED, classes=("a", "b"), name="mine")
    with pytest.raises(InputError, match="preprocess of cabrnet must have a size"):
        wrap_cabrnet(network, Preprocess(None, "native"))
    with pytest.raises(InputError, match=r"must divide its input, got 24x16 cells .* 98x64"):
        wrap_cabrnet(network, Preprocess((98, 64)))
    monkeypatch.setattr(network, "similarities", lambda pixels: {"low": pixels})
    with pytest.raises(InputError, match="must give one tensor of similarities"):
        wrap_cabrnet(network, SQUASHED)


def test_where_prototypes_were_taken_from_is_read() -> None:
    wanted = [Nearest(i, 4 - i, (i, 2 * i), 0.5 + i) for i in range(3)]
    assert read_projection(FOLDER) == wanted
    assert read_projection(FOLDER / "projection_info.csv") == wanted


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.csv", "proto_idx,h\n1,2\n", "must have the columns proto_idx, img_idx, h, w and score"),
        ("a.csv", "proto_idx,img_idx,h,w,score\n1,x,0,0,0\n", "all numbers"),
        ("a.pickle", "", "a.pickle is a pickle, which can run code"),
    ],
)
def test_a_wrong_projection_is_named(tmp_path: Path, name: str, text: str, words: str) -> None:
    (tmp_path / name).write_text(text, "utf-8")
    with pytest.raises(InputError, match=words):
        read_projection(tmp_path / name)
    with pytest.raises(InputError, match=r"there is no file .*projection_info\.csv"):
        read_projection(tmp_path)


def test_names_of_classes_come_from_a_file_beside_the_weights(
    folder: Path, built: list[Any]
) -> None:
    (folder / "classes.txt").write_text("Auk\n\n Barn owl \nCrow\n")
    assert load_model(f"cabrnet:{folder}").classes == ("Auk", "Barn owl", "Crow")
    (folder / "classes.txt").write_text("Auk\n")
    with pytest.raises(InputError, match="has 3 classes, got 1 names"):
        load_model(f"cabrnet:{folder}")
