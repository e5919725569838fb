"""Attention maps beside a plain forward pass: time and memory, ViT-S at 518 px.

    python -m benchmarks.attention [--quick] [--markdown] [--device cuda] [--rounds 3]

Random weights in the shape of DINOv2 ViT-S/14 (1,370 tokens); maps of all 12 layers come from one
pass. Each way runs in a process of its own, on one thread; they take turns, three times over, and
the fastest round of each counts: CPU time, or wall clock on a GPU. Memory is how far the peak rises
above what the process held before, with weights and images in place.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from argparse import RawDescriptionHelpFormatter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from benchmarks.data import resident
from benchmarks.maps import ONE_THREAD, machine, progress, table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sightline.models import Model

SIZE, BATCH, ROUNDS = 518, 8, 3


def make_model(device: str, attention: str = "sdpa") -> Model:
    import torch
    from transformers import Dinov2Config, Dinov2Model

    from sightline.models import load_model

    torch.manual_seed(0)
    config = Dinov2Config(
        hidden_size=384,
        num_hidden_layers=12,
        num_attention_heads=6,
        image_size=SIZE,
        patch_size=14,
        attn_implementation=attention,
    )
    return load_model(Dinov2Model(config), device=device)


# The ways: each gets a device and images, and returns the call that is timed.


def forward(device: str, images: list[Any]) -> Callable[[], Any]:
    """Nothing but the forward pass, on inputs prepared in the same way."""
    import torch

    model = make_model(device)

    def call() -> Any:
        with torch.inference_mode():
            return [model(inputs.pixels) for inputs in model.batches(images, len(images))]

    return call


def eager(device: str, images: list[Any]) -> Callable[[], Any]:
    """The usual way: slow attention that returns the matrices of all layers."""
    import torch

    model = make_model(device, "eager")

    def call() -> Any:
        with torch.inference_mode():
            (inputs,) = model.batches(images, len(images))
            found = model.network(pixel_values=inputs.pixels, output_attentions=True).attentions
            return torch.stack([layer[:, :, 0, 1:].mean(1) for layer in found])

    return call


def ours(method: str) -> Callable[[str, list[Any]], Callable[[], Any]]:
    def prepare(device: str, images: list[Any]) -> Callable[[], Any]:
        from sightline.attribution.methods import explain

        model = make_model(device)
        return lambda: explain(model, images, method, batch=len(images))

    return prepare


class Way(NamedTuple):
    prepare: Callable[[str, list[Any]], Callable[[], Any]]
    most_time: float | None = None
    most_memory: float | None = None


WAYS = {
    "forward pass alone": Way(forward),
    "cls, 12 layers": Way(ours("cls"), 1.15, 1.8),
    "mean, 12 layers": Way(ours("mean"), 2),
    "rollout, 12 layers": Way(ours("rollout"), 3),
    "eager, all matrices": Way(eager),
}


# Running: a child measures one round of one way, and prints seconds and bytes.


def measure(name: str, device: str, batch: int) -> tuple[float, int]:
    rng = np.random.default_rng(0)
    images = list(rng.integers(0, 256, (batch, SIZE, SIZE, 3), np.uint8))
    call = WAYS[name].prepare(device, images)
    if device != "cpu":
        return measure_gpu(call)
    WAYS[name].prepare(device, images[:1])()  # what is imported and allocated at first use
    held = resident()
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    begun = time.process_time()
    call()
    seconds = time.process_time() - begun
    status = Path("/proc/self/status").read_text()
    (peak,) = (line for line in status.splitlines() if line.startswith("VmHWM:"))
    return seconds, int(peak.split()[1]) * 1024 - held


def measure_gpu(call: Callable[[], Any]) -> tuple[float, int]:
    import torch

    call()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    held = torch.cuda.memory_allocated()
    begun = time.perf_counter()
    call()
    torch.cuda.synchronize()
    return time.perf_counter() - begun, int(torch.cuda.max_memory_allocated() - held)


def in_child(name: str, device: str, batch: int) -> tuple[float, int]:
    argv = [sys.executable, "-W", "ignore", "-m", __spec__.name]
    argv += ["--way", name, "--device", device, "--batch", str(batch)]
    done = subprocess.run(
        argv, env=os.environ | ONE_THREAD, check=True, text=True, stdout=subprocess.PIPE
    )
    seconds, held = json.loads(done.stdout.splitlines()[-1])
    return seconds, held


def run(device: str, batch: int, rounds: int) -> dict[str, tuple[float, float]]:
    """The least seconds and bytes of each way."""
    found: dict[str, list[tuple[float, int]]] = {name: [] for name in WAYS}
    for number in range(rounds):
        for name in WAYS:
            progress(f"round {number + 1}: {name}")
            found[name].append(in_child(name, device, batch))
    progress("")
    return {
        name: (min(seconds for seconds, _ in seen), min(held for _, held in seen))
        for name, seen in found.items()
    }


def rows(figures: dict[str, tuple[float, float]]) -> list[list[str]]:
    """A line per way: what it takes, beside the forward pass, and what was wanted."""
    head = ["", "s", "× forward", "wanted", "", "MB", "× forward", "wanted", ""]
    found = [head]
    base = next(iter(figures.values()))
    for name, values in figures.items():
        row = [name]
        wanted = (WAYS[name].most_time, WAYS[name].most_memory)
        for value, whole, most, unit in zip(values, base, wanted, (1, 1e6), strict=True):
            ratio = value / whole
            verdict = "" if most is None else "met" if ratio <= most else "missed"
            limit = "" if most is None else f"≤ {most:g}"
            row += [f"{value / unit:.3g}", f"{ratio:.3g}", limit, verdict]
        found.append(row)
    return found


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="two images, one round")
    parser.add_argument("--markdown", action="store_true", help="print a Markdown table")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--batch", type=int, default=BATCH)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.way:
        print(json.dumps(measure(options.way, options.device, options.batch)))
        return
    batch, rounds = (2, 1) if options.quick else (options.batch, options.rounds)
    figures = run(options.device, batch, rounds)
    print(f"{machine()}\n{batch} images\n\n{table(rows(figures), markdown=options.markdown)}")


if __name__ == "__main__":
    main()
