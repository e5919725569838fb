"""The kernels for a GPU give the counts of the CPU: run by Triton's interpreter, on tensors here.

Triton weighs a gigabyte and is not among the packages of the tests; where it is installed, they
run. `python -m benchmarks.maps_gpu` compares both on a device, before it takes times.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import sightline
from benchmarks import maps_gpu
from benchmarks._maps_data import make_boxes
from sightline.core import InputError
from sightline.metrics import _torch, engine
from tests.interpreted import interpreted

if TYPE_CHECKING:
    from collections.abc import Iterator

if find_spec("triton") is None:
    pytest.skip("Triton is not installed", allow_module_level=True)
torch = pytest.importorskip("torch")

# The interpreter divides by numpy, which warns of 0 / 0; a device does not.
pytestmark = pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")

SIZE = 5, 7
RULES = ("percentile", "matched")


@pytest.fixture(scope="module", autouse=True)
def fused() -> Iterator[Any]:
    """The module of the kernels, interpreted."""
    with interpreted("sightline.metrics._fused") as module:
        yield module


@pytest.fixture(autouse=True)
def kernels(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Have tensors of this machine take the kernels; tells how often they did."""
    used: list[int] = []
    usual = _torch._measure_fused

    def counted(*args: Any) -> Any:
        used.append(1)
        return usual(*args)

    monkeypatch.setattr(_torch, "_on_gpu", lambda maps: True)
    monkeypatch.setattr(_torch, "_measure_fused", counted)
    monkeypatch.setattr(_torch, "FUSED_PIXELS", 2 * SIZE[0] * SIZE[1])  # two maps in a chunk
    with monkeypatch.context() as patch:
        patch.setattr(engine, "_measure", measure)
        yield used


def measure(
    maps: Any, masks: Any, plan: Any, table: Any, drop: bool, threads: Any, begun: Any = None
) -> Any:
    """As `engine._measure` for tensors on a device."""
    del threads
    return _torch.measure(maps, masks, plan, table=table, drop=drop, begun=begun)


def drawn(count: int = 3, size: tuple[int, int] = SIZE) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    maps = rng.random((count, *size), np.float32) - np.float32(0.2)
    return torch.tensor(maps), torch.tensor(rng.random((count, *size)) < 0.3)


def difference(maps: Any, masks: Any, **options: Any) -> float:
    """The largest difference to the CPU's pass, in columns and in curves."""
    options = {"curves": True, "selection": RULES, **options}
    seen = maps_gpu.columns(sightline.score_maps(maps, masks, **options))
    arrays = [a.float().numpy() if a.dtype == torch.bfloat16 else a.numpy() for a in (maps, masks)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "_measure", USUAL[0])
        patch.setattr(engine, "_begun", USUAL[1])
        wanted = maps_gpu.columns(sightline.score_maps(*arrays, **options))
    assert "curve roc" in wanted
    return maps_gpu.difference(seen, wanted)[0]


USUAL = engine._measure, engine._begun


def turned(maps: Any, how: str) -> Any:
    match how:
        case "tied":
            return (maps * 4).round() / 4
        case "zero":
            return torch.zeros_like(maps)
        case "half":
            return maps.half()
        case "brain":
            return maps.to(torch.bfloat16)
        case "bytes":
            return (maps.clamp(min=0) * 200).to(torch.uint8)
        case "booleans":
            return maps > 0.2
    return maps


@pytest.mark.parametrize("how", ["", "tied", "zero", "half", "brain", "bytes", "booleans"])
def test_all_kinds_of_maps(how: str, kernels: list[int]) -> None:
    maps, masks = drawn()
    assert difference(turned(maps, how), masks) <= 1e-12
    assert kernels


@pytest.mark.parametrize("how", ["", "tied"])
@pytest.mark.parametrize("size", [(13, 31), (8, 16)])
def test_maps_of_several_blocks(
    size: tuple[int, int],
    how: str,
    kernels: list[int],
    fused: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of 403 pixels, with a block that is not full, and of two whole blocks."""
    monkeypatch.setattr(fused, "_BLOCK", 64)
    blocks: list[int] = []
    ranked = fused.FusedOrder.ranking

    def ranking(order: Any) -> Any:
        blocks.append(order._before.shape[1])
        return ranked(order)

    monkeypatch.setattr(fused.FusedOrder, "ranking", ranking)
    maps, masks = drawn(1, size)
    assert difference(turned(maps, how), masks, regions=make_boxes(1, 2)) <= 1e-12
    assert blocks == [-(-size[0] * size[1] // 64)]
    assert kernels


def test_maps_of_one_pixel(kernels: list[int]) -> None:
    maps = torch.full((2, 1, 1), 0.5)
    assert difference(maps, torch.tensor([[[True]], [[False]]])) <= 1e-12
    assert kernels


def test_a_pass_that_was_begun_goes_on(
    kernels: list[int], fused: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first chunk is sorted while the host reads the regions, and not once more."""
    begun: list[Any] = []
    ordered: list[int] = []
    usual = fused.FusedOrder.__init__

    def begin(maps: Any, masks: Any, plan: Any) -> Any:
        begun.append(_torch.begin(maps, masks, plan))
        return begun[-1]

    def order(self: Any, maps: Any, masks: Any, sign: str) -> None:
        ordered.append(len(maps))
        usual(self, maps, masks, sign)

    monkeypatch.setattr(engine, "_begun", begin)
    monkeypatch.setattr(fused.FusedOrder, "__init__", order)
    maps, masks = drawn()
    assert difference(maps, masks, regions=make_boxes(3, 1)) <= 1e-12
    assert isinstance(begun[0], fused.FusedOrder)
    assert ordered == [2, 1]
    assert kernels


def test_signs_and_annotations_of_nothing_or_all(kernels: list[int]) -> None:
    maps, masks = drawn(4)
    masks[0], masks[1] = False, True
    assert difference(maps, masks, sign="absolute") <= 1e-12
    assert kernels


def test_regions_as_boxes_and_as_masks(kernels: list[int]) -> None:
    maps, masks = drawn()
    rng = np.random.default_rng(1)
    boxes: list[Any] = make_boxes(3, 4)
    odd = [[*(rng.random((2, *SIZE)) < 0.4), np.array([0.0, 0.0, 0.5, 1.0])] for _ in range(3)]
    for regions in (boxes, odd, [np.empty((0, 4)), *boxes[1:]]):
        assert difference(maps, masks, regions=regions) <= 1e-12
    assert kernels


def test_maps_that_are_not_finite(kernels: list[int]) -> None:
    maps, masks = drawn()
    maps[2, 1, 1] = torch.nan
    with pytest.raises(InputError, match="map 2"):
        sightline.score_maps(maps, masks)
    boxes = make_boxes(3, 2)
    assert difference(maps, masks, nonfinite="drop", regions=boxes) <= 1e-12
    assert kernels


def test_rules_that_the_kernels_lack_take_the_plain_pass(kernels: list[int]) -> None:
    maps, masks = drawn()
    plain: list[dict[str, Any]] = [
        {"selection": "mass60"},
        {"selection": "mean"},
        {"ties": "include"},
        {"sign": "signed", "selection": RULES},
    ]
    for options in plain:
        assert difference(maps, masks, **options) <= 1e-12
    assert difference(maps.double(), masks) <= 1e-12
    assert not kernels
