"""Sightline on a GPU: do its figures equal the CPU's, and how many maps a second does it score?

python -m benchmarks.maps_gpu [--quick] [--device cuda]
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from argparse import RawDescriptionHelpFormatter
from contextlib import AbstractContextManager, nullcontext
from importlib.util import find_spec
from statistics import median
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np

from benchmarks._maps_data import make, make_boxes
from benchmarks.maps import BOXES, table
from sightline import score_maps
from sightline.core.arrays import is_torch, to_numpy
from sightline.metrics import METRICS, engine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import numpy.typing as npt

    from sightline import Scores

    Array = npt.NDArray[Any]
    Case = tuple[str, Any, Any, dict[str, Any]]

try:
    import torch
except ImportError:
    print("benchmarks.maps_gpu needs torch: pip install 'sightline[models]'", file=sys.stderr)
    raise SystemExit(2) from None

TOLERANCE = 1e-12
EVERY = ("percentile", "mass60", "mean", "matched")
RANKED = ("percentile", "matched")  # what the fused kernels select
BATCH = {16: 65536, 224: 4096, 518: 768}
QUICK = {16: 512, 224: 16}


# Equal to the CPU?


def cases(count: int, size: int, device: str) -> Iterator[Case]:
    """Maps that are easy to get right and maps that are not, each with the options to try."""
    maps, masks = make(count, size, put=lambda a: torch.as_tensor(a, device=device))
    tied, signed = (maps * 8).round() / 8, maps - 0.3
    none, whole = torch.zeros_like(masks), torch.ones_like(masks)
    boxes = make_boxes(count, BOXES)
    yield "smooth", maps, masks, {"selection": EVERY}
    yield "half precision", maps.half(), masks, {"selection": EVERY}
    yield "double precision", maps.double() / 3, masks, {"selection": EVERY}
    yield "tied", tied, masks, {"selection": EVERY}
    yield "constant", torch.full_like(maps, 0.5), masks, {"selection": EVERY}
    yield "zero", torch.zeros_like(maps), masks, {"selection": EVERY}
    yield "nothing annotated", maps, none, {"selection": EVERY}
    yield "all annotated", maps, whole, {"selection": EVERY}
    yield "include", maps, masks, {"selection": EVERY, "ties": "include"}
    yield "include, tied", tied, masks, {"selection": EVERY, "ties": "include"}
    yield "positive part", signed, masks, {"selection": EVERY, "sign": "positive"}
    yield "absolute", signed, masks, {"selection": EVERY, "sign": "absolute"}
    yield "signed", signed, masks, {"selection": ("percentile", "matched"), "sign": "signed"}
    yield "25 boxes", maps, masks, {"selection": EVERY, "regions": boxes}
    yield "25 boxes, tied", tied, None, {"selection": EVERY, "regions": boxes}
    yield "25 boxes, matched", maps, masks, {"selection": RANKED, "regions": boxes}
    yield "half, matched", maps.half(), masks, {"selection": RANKED}
    yield "25 boxes, zero", torch.zeros_like(maps), masks, {"regions": boxes}


def columns(scores: Scores) -> dict[str, Array]:
    regions = (scores.regions or {}).items()
    found = dict(scores) | {f"region's {name}": column for name, column in regions}
    found |= {f"curve {name}": curve for name, curve in scores.curves.items()}
    return {name: to_numpy(column) for name, column in found.items()}


def difference(seen: Mapping[str, Array], wanted: Mapping[str, Array]) -> tuple[float, str]:
    """The largest absolute difference and its column; a NaN on one side only is infinitely far."""
    if seen.keys() != wanted.keys():
        return np.inf, f"columns differ: {sorted(seen.keys() ^ wanted.keys())}"
    worst = (0.0, "")
    for name, column in wanted.items():
        same = (seen[name] == column) | (np.isnan(seen[name]) & np.isnan(column))
        apart = np.where(same, 0.0, np.abs(seen[name] - column))
        largest = float(np.nan_to_num(apart, nan=np.inf).max())
        if largest > worst[0]:
            worst = largest, name
    return worst


def compare(case: Case) -> tuple[float, str, int]:
    _, maps, masks, options = case
    seen = columns(score_maps(maps, masks, **options, curves=True))
    on_cpu = [None if a is None else a.cpu().numpy() for a in (maps, masks)]
    wanted = columns(score_maps(*on_cpu, **options, curves=True))
    return (*difference(seen, wanted), len(wanted))


def check(device: str, sizes: dict[int, int]) -> tuple[list[list[str]], float]:
    rows = [["equal to the CPU", "size", "columns", "largest difference", "in column"]]
    worst = 0.0
    for size, count in sizes.items():
        for case in cases(count, size, device):
            apart, name, number = compare(case)
            worst = max(worst, apart)
            rows.append([case[0], str(size), str(number), f"{apart:.1e}", name or "–"])
    return rows, worst


def check_definitions(device: str) -> tuple[list[str], float]:
    """Every definition for a map, on the device and in main memory; its row, and the difference."""
    maps, masks = make(8, 16)
    others = {"mask": masks, "target": maps[::-1].copy(), "others": masks[::-1] * 2.0}
    seen, wanted = {}, {}
    for name, spec in METRICS.items():
        if set(spec.needs) <= set(others) and (name != "emd" or find_spec("ot")):
            given = [maps, *(others[need] for need in spec.needs)]
            there = [torch.as_tensor(array, device=device) for array in given]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # the one that advises against MSE
                values = [np.atleast_1d(_first(spec.function(*a))) for a in (given, there)]
            wanted[name], seen[name] = values
    apart, name = difference(seen, wanted)
    return ["definitions", "16", str(len(seen)), f"{apart:.1e}", name or "–"], apart


def _first(found: Any) -> Any:
    value = found[0] if isinstance(found, tuple) else found
    return to_numpy(value) if is_torch(value) else value


# How quick?


def seconds(call: Callable[[], object], device: str, repeats: int) -> float:
    """Median time of a call, until the device has finished it."""

    def wait() -> None:
        if device != "cpu":
            torch.cuda.synchronize(device)

    times = []
    for _ in range(repeats + 1):  # the first is the warm-up
        wait()
        start = time.perf_counter()
        call()
        wait()
        times.append(time.perf_counter() - start)
    return median(times[1:])


def time_size(count: int, size: int, device: str, repeats: int) -> Iterator[list[str]]:
    maps, masks = make(count, size, put=lambda a: torch.as_tensor(a, device=device))
    boxes = make_boxes(count, BOXES)

    def with_boxes() -> None:
        scores = score_maps(maps, masks, regions=boxes)
        dict(scores), dict(scores.regions or {})

    calls: dict[str, Callable[[], object]] = {
        "torch.sort": lambda: torch.sort(maps.flatten(1), dim=1),
        "sightline": lambda: dict(score_maps(maps, masks)),
        f"sightline + {BOXES} boxes": with_boxes,
    }
    sort = None
    for name, call in calls.items():
        if device != "cpu":
            torch.cuda.reset_peak_memory_stats(device)
        each = seconds(call, device, repeats) / count
        sort = sort or each
        peak = 0 if device == "cpu" else torch.cuda.max_memory_allocated(device)
        ratio, memory = f"{each / sort:.2f}", f"{peak / 2**30:.2f}" if peak else "–"
        shape = f"{count}×{size}×{size}"
        yield [name, shape, f"{each * 1e3:.3g}", f"{1 / each:,.0f}", ratio, memory]


def timings(device: str, sizes: dict[int, int], repeats: int) -> list[list[str]]:
    rows = [["all figures made", "maps", "ms per map", "maps/s", "× sort", "peak GiB"]]
    for size, count in sizes.items():
        for row in time_size(count, size, device, repeats):
            print(*row, sep="  ", file=sys.stderr, flush=True)  # kept if a long run is stopped
            rows.append(row)
    return rows


def torch_pass_on_cpu() -> AbstractContextManager[object]:
    """Tensors in main memory take the pass of a GPU, too: a rehearsal without one."""
    from sightline.metrics import _torch

    usual = engine._measure

    def measure(
        maps: Any, masks: Any, plan: Any, table: Any, drop: bool, threads: Any, begun: Any = None
    ) -> Any:
        if is_torch(maps):
            return _torch.measure(maps, masks, plan, table=table, drop=drop)
        return usual(maps, masks, plan, table, drop, threads, begun)

    return mock.patch.object(engine, "_measure", measure)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="small batches, no 518×518 maps")
    parser.add_argument("--device", default="cuda", help="where the maps are (default: cuda)")
    options = parser.parse_args()
    on_cpu = options.device == "cpu"
    if not on_cpu and not torch.cuda.is_available():
        print("benchmarks.maps_gpu needs a CUDA device; torch sees none", file=sys.stderr)
        return 2
    with torch_pass_on_cpu() if on_cpu else nullcontext():
        return run(options.device, quick=options.quick)


def run(device: str, *, quick: bool) -> int:
    name = "CPU" if device == "cpu" else torch.cuda.get_device_name(device)
    print(f"{name}, torch {torch.__version__}\n")
    rows, worst = check(device, {16: 64, 224: 4} if quick else {16: 512, 224: 32})
    row, apart = check_definitions(device)
    rows, worst = [*rows, row], max(worst, apart)
    print(table(rows, markdown=True))
    print(f"\nLargest difference {worst:.1e}, allowed {TOLERANCE:.0e}.\n", flush=True)
    sizes, repeats = (QUICK, 3) if quick else (BATCH, 7)
    print(table(timings(device, sizes, repeats), markdown=True))
    return int(worst > TOLERANCE)


if __name__ == "__main__":
    sys.exit(main())
