"""How many images are in memory at once."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from torch import nn

from sightline.attribution.methods import explain
from sightline.models import Model, load_model, memory
from sightline.models.load import Description
from sightline.models.memory import LARGEST, choose_batch, free_memory
from sightline.models.preprocess import Preprocess
from tests.attribution.methods.networks import make_images, tiny

if TYPE_CHECKING:
    from collections.abc import Callable

IMAGES: list[Any] = make_images()
CPU = torch.device("cpu")
GIB = 1 << 30


@pytest.fixture
def free(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    def set_free(amount: int) -> None:
        monkeypatch.setattr(memory, "free_memory", lambda device: amount)

    return set_free


def counted() -> Model:
    """Each image is 32 x 32 x 3 floats; the modules take in those, and twice 16 x 16 x 5."""
    act = nn.ReLU()  # used twice: both times count
    network = nn.Sequential(nn.Conv2d(3, 5, 2, 2), act, act)
    plain = Preprocess(size=(32, 32))
    return load_model(network, Description(["0"], plain, 2, name="counted"))


PIXELS, INSIDE = 4 * 32 * 32 * 3, 4 * (32 * 32 * 3 + 2 * 16 * 16 * 5)


@pytest.mark.parametrize("wanted", [1, 2, 4, 8, 16])
@pytest.mark.parametrize(
    ("options", "each"),
    [
        ({"gradients": True}, 2 * INSIDE + PIXELS),
        ({"gradients": False}, INSIDE / 4 + PIXELS),
        ({"gradients": False, "runs": False}, PIXELS),
    ],
)
def test_the_batch_is_the_largest_that_a_quarter_of_free_memory_holds(
    free: Callable[[int], None], wanted: int, options: dict[str, Any], each: float
) -> None:
    model = counted()
    free(int(4 * wanted * each) + 8)
    assert choose_batch(model, model.prepare(IMAGES[0]).pixels, **options) == wanted
    free(int(4 * wanted * each) - 8)
    assert choose_batch(model, model.prepare(IMAGES[0]).pixels, **options) == max(wanted // 2, 1)


@pytest.mark.parametrize("gradients", [True, False])
def test_from_nothing_to_plenty(free: Callable[[int], None], gradients: bool) -> None:
    model, found = tiny("vit"), []
    for amount in (0, 1, 1 << 18, 1 << 20, 1 << 22, 1 << 24, 1 << 50):
        free(amount)
        found.append(choose_batch(model, model.prepare(IMAGES[0]).pixels, gradients=gradients))
    assert found[0] == found[1] == 1
    assert found[-1] == LARGEST
    assert found == sorted(found)
    assert len(set(found)) > 2


def test_gradients_and_larger_inputs_need_more(free: Callable[[int], None]) -> None:
    free(1 << 22)
    model = tiny("vit")
    large = model.fitted(size=128)
    plain = choose_batch(model, model.prepare(IMAGES[0]).pixels, gradients=False)
    assert choose_batch(model, model.prepare(IMAGES[0]).pixels, gradients=True) < plain
    assert choose_batch(large, large.prepare(IMAGES[0]).pixels, gradients=False) < plain


@pytest.mark.parametrize("method", ["cls", "saliency", "gradcam", "integrated_gradients"])
def test_little_memory_means_small_batches_and_the_same_maps(
    free: Callable[[int], None], method: str
) -> None:
    model, images = tiny("vit"), make_images(5)
    free(1 << 40)
    wide = explain(model, images, method)
    free(0)
    narrow = explain(model, images, method)
    assert (wide.params["batch"], narrow.params["batch"]) == (LARGEST, 1)
    scale = np.abs(wide.stack()).max()
    np.testing.assert_allclose(narrow.stack(), wide.stack(), atol=1e-5 * scale)


def test_the_network_is_counted_once_and_forgotten_with_it() -> None:
    model, passes = tiny("resnet"), []
    handle = model.network.register_forward_hook(lambda *_: passes.append(1))
    for _ in range(3):
        choose_batch(model, model.prepare(IMAGES[0]).pixels, gradients=True)
        choose_batch(model, model.prepare(IMAGES[0]).pixels, gradients=False)
    assert len(passes) == 1
    handle.remove()
    gc.collect()
    before = len(memory._SEEN)
    del model, handle
    gc.collect()
    assert len(memory._SEEN) == before - 1


def test_counting_leaves_the_network_as_it_was() -> None:
    model = tiny("resnet")
    model.network.train()
    state = {name: value.clone() for name, value in model.network.state_dict().items()}
    choose_batch(model, model.prepare(IMAGES[0]).pixels, gradients=True)
    assert model.network.training
    assert not any(module._forward_pre_hooks for module in model.network.modules())
    for name, value in model.network.state_dict().items():
        assert torch.equal(value, state[name])


MEMINFO = "MemTotal: 99 kB\nMemFree: 5 kB\nMemAvailable:   2097152 kB\nBuffers: 7 kB\n"
V1 = "/sys/fs/cgroup/memory/memory"


@pytest.mark.parametrize(
    ("files", "wanted"),
    [
        ({}, GIB),
        ({"/proc/meminfo": MEMINFO}, 2 * GIB),
        ({"/proc/meminfo": "MemTotal: 9 kB\n"}, GIB),
        # Version 2: a limit, none, and files in the cache that can go.
        ({"max": f"{GIB}\n", "current": f"{GIB // 4}\n"}, 3 * GIB // 4),
        ({"max": "max\n", "current": f"{GIB}\n"}, 2 * GIB),
        ({"max": f"{GIB}", "current": f"{GIB}", "stat": "anon 5\ninactive_file 4096\n"}, 4096),
        ({"max": f"{GIB}", "current": f"{GIB + 5}"}, 0),
        ({"max": f"{9 * GIB}", "current": "0"}, 2 * GIB),
        # Version 1, where no limit is a very large number.
        ({f"{V1}.limit_in_bytes": f"{GIB}", f"{V1}.usage_in_bytes": "24"}, GIB - 24),
        ({f"{V1}.limit_in_bytes": "9223372036854771712", f"{V1}.usage_in_bytes": "7"}, 2 * GIB),
        (
            {
                f"{V1}.limit_in_bytes": "100",
                f"{V1}.usage_in_bytes": "90",
                f"{V1}.stat": "inactive_file 1\ntotal_inactive_file 50\n",
            },
            60,
        ),
    ],
)
def test_free_memory_is_within_the_limits_of_a_container(
    monkeypatch: pytest.MonkeyPatch, files: dict[str, str], wanted: int
) -> None:
    known = {k if "/" in k else f"/sys/fs/cgroup/memory.{k}": v for k, v in files.items()}
    if "/proc/meminfo" not in known and files:
        known["/proc/meminfo"] = MEMINFO

    def read_text(self: Path, *_: Any) -> str:
        if self.as_posix() not in known:
            raise FileNotFoundError(self)
        return known[self.as_posix()]

    monkeypatch.setattr(Path, "read_text", read_text)
    assert free_memory(CPU) == wanted


def test_free_memory_here_is_some() -> None:
    assert 0 < free_memory(CPU) < 1 << 50


def test_large_images_after_small_ones_come_in_smaller_batches(
    free: Callable[[int], None],
) -> None:
    conv = nn.Conv2d(3, 5, 2, 2)
    network = nn.Sequential(conv, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(5, 2))
    native = Preprocess(size=None, fit="native")
    model = load_model(network, Description(["0"], native, 2, 2))
    small, large = (np.zeros((side, side, 3), np.uint8) for side in (8, 64))
    inside = 4 * (64 * 64 * 3 + 32 * 32 * 5 + 5 + 5)
    free(int(2 * (2 * inside + 4 * 64 * 64 * 3) / memory.SHARE) + 1000)  # two large ones
    seen: list[tuple[int, int]] = []
    handle = conv.register_forward_hook(
        lambda _, __, output: seen.append((len(output), output.shape[-1]))
    )
    try:
        found = explain(model, [small] * 5 + [large] * 5, "gradcam")
    finally:
        handle.remove()
    # One pass of one image of each size counts the bytes.
    assert seen == [(1, 4), (5, 4), (1, 32), (2, 32), (2, 32), (1, 32)]
    assert found.params["batch"] == 2
    assert [values[0].shape for values in found.values] == [(1, 4, 4)] * 5 + [(1, 32, 32)] * 5
