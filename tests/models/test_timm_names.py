"""Which names reach timm, and what its weights may hold: with a stand-in for timm."""

from __future__ import annotations

import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import nn

from sightline.core import InputError
from sightline.models import load_model
from sightline.models.timm import _tensors_alone

if TYPE_CHECKING:
    from pathlib import Path

SAFE, UNSAFE = "TORCH_FORCE_WEIGHTS_ONLY_LOAD", "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"


class Network(nn.Module):  # type: ignore[misc]
    """What timm makes, as small as it can be: one stage of cells of 16 pixels."""

    def __init__(self) -> None:
        super().__init__()
        self.stage = nn.Conv2d(3, 4, 16, 16)
        self.feature_info = [{"module": "stage", "reduction": 16}]
        self.num_classes = 0
        grey = (0.5, 0.5, 0.5)
        self.pretrained_cfg = {"input_size": (3, 32, 32), "mean": grey, "std": grey}

    def forward_features(self, pixels: Any) -> Any:
        return self.stage(pixels)


class Timm(ModuleType):
    """A timm that loads the file it is given as unsafely as torch allows."""

    def __init__(self, file: Path) -> None:
        super().__init__("timm")
        self.file, self.asked = file, list[str]()

    def create_model(self, name: str, *, pretrained: bool) -> Network:
        assert pretrained
        self.asked.append(name)
        network = Network()
        network.load_state_dict(torch.load(self.file, weights_only=False))
        return network


class Evil:
    """A pickle that makes a folder where it is run."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.mark),)


@pytest.fixture
def timm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Timm:
    found = Timm(tmp_path / "weights.pth")
    torch.save(Network().state_dict(), found.file)
    monkeypatch.setitem(sys.modules, "timm", found)
    return found


@pytest.mark.parametrize(
    "name",
    [
        "local-dir:/x",
        "hf_hub:stranger/evil",
        "hf-hub:stranger/evil",
        "timm:resnet10t",
        "timm/resnet10t",
        "../resnet10t",
        "C:\\resnet10t",
        "resnet10t?x#y",
        "resnet10t\n",
        ".resnet10t",
        " resnet10t",
    ],
)
def test_names_that_lead_elsewhere_never_reach_timm(timm: Timm, name: str) -> None:
    with pytest.raises(InputError, match=r"plain name .* such as vit_small_patch16_224.*hf:FOLDER"):
        load_model(f"timm:{name}")
    assert timm.asked == []


@pytest.mark.parametrize("name", ["resnet10t", "vit_small_patch16_224.augreg_in21k_ft_in1k"])
def test_plain_names_and_tags_reach_timm(timm: Timm, name: str) -> None:
    model = load_model(f"timm:{name}")
    assert (timm.asked, model.name) == ([name], f"timm:{name}")
    weights = torch.load(timm.file)["stage.weight"]
    assert torch.equal(model.network.state_dict()["stage.weight"], weights)


@pytest.mark.parametrize("before", [{}, {SAFE: "0"}, {UNSAFE: "1"}])
def test_pickles_are_not_run_whatever_timm_asks(
    timm: Timm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: dict[str, str]
) -> None:
    for name in (SAFE, UNSAFE):
        monkeypatch.delenv(name, raising=False)
    for name, value in before.items():
        monkeypatch.setenv(name, value)
    mark = tmp_path / "was run"
    torch.save({"stage.weight": Evil(mark)}, timm.file)
    with pytest.raises(InputError, match="timm:resnet10t cannot be had: Weights only load failed"):
        load_model("timm:resnet10t")
    assert not mark.exists()
    assert {name: os.environ[name] for name in (SAFE, UNSAFE) if name in os.environ} == before
    torch.load(timm.file, weights_only=False)  # which shows that it would have been run
    assert mark.exists()


def test_two_threads_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SAFE, raising=False)
    inside, seen = Barrier(2, timeout=10), list[str | None]()

    def load() -> None:
        inside.wait()
        with _tensors_alone():
            time.sleep(0.05)  # the other one has come by now, and waits
            seen.append(os.environ.get(SAFE))

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(load) for _ in range(2)]:
            done.result()
    assert seen == ["1", "1"]
    assert SAFE not in os.environ
