"""A study on a GPU beside the model alone: how many images a second, and what binds it.

    python -m benchmarks.study_gpu [--device cuda] [--quick] [--markdown]

A ViT of the size of ViT-B/14 with random weights sees images of 224 pixels; three methods (cls,
mean, rollout) make maps of its 12 layers, which are scored at 7 percentiles against 10 boxes an
image and their union: on the model's grid, at 112 and at 224 pixels. Images lie decoded in main
memory, in 8 bits, and annotations as records; how quickly files are decoded is a line of its own.

- forward: the network alone, with its own fast attention, on pixels that lie on the device.
- engine: figures of 36 maps an image that lie on the device, until they are in main memory.
- study: the lane of a run, from images to figures in main memory: read, made, scored; of three
  runs that in the middle, since the host's other work shows in it.
- written: the same, with scores and curves of every map written as shards, of three runs that in
  the middle; kept: with the maps, too.

The bound of a study is forward and engine one after the other on one device. In float32 tf32 is
off. With `--device cpu` tensors in main memory take the ways of a device: a rehearsal.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from argparse import RawDescriptionHelpFormatter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np

from benchmarks.maps import table

try:
    import torch
    import transformers
except ImportError as error:
    print(f"benchmarks.study_gpu needs {error.name}: pip install 'sightline[models]'")
    raise SystemExit(2) from None

from sightline.core import Annotation, Region, Sample
from sightline.data.dataset import Dataset
from sightline.data.images import read_image
from sightline.models import Model, load_model
from sightline.store import create_store
from sightline.study import Done, Plan, Scoring, Shelf, Source, Worker
from sightline.study.executors.lane import STEPS, Failed, Finished, Lane
from sightline.study.plan.images import Card, Cards
from sightline.study.plan.plan import chunked
from sightline.study.worker.scoring_tensors import score_tensors
from sightline.study.worker.tensors import Block, TensorMaps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

METHODS = ("cls", "mean", "rollout")
METRICS = (
    "coverage",
    "average_precision",
    "auc_roc",
    "relevance_rank",
    "pointing",
    "iou",
    "recall",
)
PERCENTILES = (90.0, 85.0, 80.0, 75.0, 70.0, 60.0, 50.0)
BOXES = 10
SIDE = 224
# Share of the forward pass's rate on the grid, and of what the bound allows at 224 pixels.
ON_GRID, WRITTEN, AT_PIXELS = 0.7, 0.6, 0.8
MILLION, GPUS = 1_000_000, (1, 8, 64)


@dataclass(frozen=True)
class Sizes:
    """How large everything is.

    Attributes
    ----------
    config : dict
        Of the network.
    batch : int
        Images of a pass, and of a task.
    images, decoded : int
        Of a study, and files that are decoded.
    resolutions : tuple
        On which maps are scored.
    dtypes : tuple of str
    seconds : float
        Least time for which the forward pass and the engine are repeated.
    """

    config: dict[str, int]
    batch: int
    images: int
    decoded: int
    resolutions: tuple[str | int, ...] = ("grid", 112, 224)
    dtypes: tuple[str, ...] = ("bfloat16", "float32")
    seconds: float = 2.0


BASE = {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12}
FULL = Sizes({**BASE, "intermediate_size": 3072, "patch_size": 14}, 1024, 40_960, 3_072)
# A study is as long as so many seconds of the forward pass, and no shorter than so many tasks: its
# first and last tasks have none to go beside.
STUDY, TASKS, RUNS = 4.0, 12, 3
TINY = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
QUICK = Sizes({**TINY, "intermediate_size": 32, "patch_size": 56}, 4, 16, 8, seconds=0.05)


# What is measured: a model, and images in memory.


def make_model(config: dict[str, int], device: str, dtype: str) -> Model:
    """Return a ViT with random weights."""
    torch.manual_seed(0)
    made = transformers.ViTConfig(image_size=SIDE, attn_implementation="sdpa", **config)
    network = transformers.ViTModel(made, add_pooling_layer=False).eval()
    return load_model(network, device=device, dtype=dtype)


class Held(Shelf):
    """A shelf with one model on it."""

    def __init__(self, model: Model, device: str) -> None:
        super().__init__(device)
        self._models["vit"] = model


def make_data(count: int) -> Dataset:
    """Return images of noise with boxes, in memory; a few thousand ids share some pixels."""
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (min(count, 512), SIDE, SIDE, 3), np.uint8)
    corners = rng.uniform(0, 0.7, (count, BOXES, 2))
    boxes = np.concatenate([corners, corners + rng.uniform(0.05, 0.3, corners.shape)], axis=2)
    samples = {}
    for number, of in enumerate(boxes.round(4).tolist()):
        regions = tuple(Region(f"part {k}", box=tuple(box), index=k) for k, box in enumerate(of))
        name = f"image-{number:06}"
        annotation = Annotation(name, SIDE, SIDE, regions)
        load = partial(pixels.__getitem__, number % len(pixels))
        samples[name] = Sample(name, annotation, load=load)
    return Dataset("memory", dict.fromkeys(samples, ""), samples.__getitem__)


def make_plan(data: Dataset, sizes: Sizes, device: str, resolution: str | int) -> Plan:
    """Return the plan of a study of attention over all images."""
    layers = tuple(range(sizes.config["num_hidden_layers"]))
    scoring = Scoring("gpu", METRICS, ("percentile",), PERCENTILES, resolution=resolution)
    params = {"rollout": {"fusion": "mean", "discard": 0.0}}
    sources = tuple(
        Source(
            "model",
            "vit",
            method,
            fit="squash",
            group="attention",
            params=params.get(method, {}),
            layers=layers,
            batch=sizes.batch,
            device=device,
        )
        for method in METHODS
    )
    cards = tuple(Card(image, "", "", {}, ()) for image in data.ids)
    chunks = chunked(cards, sizes.batch)
    return Plan(data, scoring, sources, chunks, Cards(cards, ""), keep_maps=False).sealed()


# How quick?


def wait(device: str) -> None:
    if device != "cpu":
        torch.cuda.synchronize(device)


def rate(call: Callable[[], object], images: int, device: str, least: float) -> float:
    """Images a second of a call that is repeated for some time; the first two warm up."""
    for _ in range(2):
        call()
    wait(device)
    begun, count = time.perf_counter(), 0
    while (spent := time.perf_counter() - begun) < least or count < 3:
        call()
        count += 1
        if count % 8 == 0:  # calls come back before the device is done
            wait(device)
    wait(device)
    spent = time.perf_counter() - begun
    return count * images / spent


def forward_rate(model: Model, sizes: Sizes, device: str) -> float:
    """Images a second of the network alone."""
    shape = sizes.batch, 3, SIDE, SIDE
    pixels = torch.rand(shape, device=device).to(model.dtype)

    def forward() -> None:
        with torch.inference_mode():
            model.network(pixel_values=pixels)

    return rate(forward, sizes.batch, device, sizes.seconds)


def engine_rate(plan: Plan, sizes: Sizes, device: str) -> float:
    """Images a second of the scoring of maps on a device, until their figures are here."""
    side = SIDE // sizes.config["patch_size"]
    layers = plan.sources[0].layers
    values = torch.rand((sizes.batch, len(layers), 1, side, side), device=device)
    model_way = load_way(sizes)
    chunks = iter(range(1 << 30))

    def score() -> None:
        chunk = plan.chunks[next(chunks) % len(plan.chunks)]
        annotations = [plan.dataset.by_id(image).annotation for image in chunk.images]
        some = values[: len(annotations)]
        ways = ((model_way,) * len(layers),) * len(annotations)
        block = Block(0, tuple(range(len(layers))), some)
        maps = TensorMaps(chunk.images, (), ways, layers, (None,), blocks=(block,))
        for source in plan.sources:
            score_tensors(source, plan.scoring, maps, annotations)

    return rate(score, sizes.batch, device, sizes.seconds)


def load_way(sizes: Sizes) -> Any:
    from sightline.core.geometry import Geometry

    return Geometry.of(SIDE, SIDE).patches(sizes.config["patch_size"])


class Unwritten(Worker):
    """A worker that writes nothing: a study until its figures are in main memory."""

    def write(self, task: Any, maps: Any, scored: Any) -> Done:
        return Done(0, maps.count)


@dataclass(frozen=True)
class Ran:
    """What a lane did: images a second, scores written, seconds of each step for 1,000 images."""

    rate: float
    images: int
    scores: int
    steps: dict[str, float]


def run_lane(plan: Plan, model: Model, kind: type[Worker], folder: Path) -> Ran:
    """Run all tasks of a plan in a lane."""
    heard: list[Any] = []
    device = plan.sources[0].device
    store = create_store(folder)
    lane = Lane(kind(plan, store, Held(model, device)), heard.append)
    begun = time.perf_counter()
    for task in plan.tasks:
        lane.put(task)
    lane.close()
    spent = time.perf_counter() - begun
    for event in heard:
        if isinstance(event, Failed):
            raise RuntimeError(event.message)
    done = [event for event in heard if isinstance(event, Finished)]
    steps = {name: 1000 * sum(one.seconds[name] for one in done) / plan.images for name in STEPS}
    return Ran(plan.images / spent, plan.images, sum(one.done.rows for one in done), steps)


def run_several(plan: Plan, model: Model, kind: type[Worker], folder: Path) -> Ran:
    """Run all tasks of a plan several times, and return the run in the middle."""
    runs = [run_lane(plan, model, kind, folder) for _ in range(RUNS)]
    return sorted(runs, key=lambda ran: ran.rate)[RUNS // 2]


def decode_rate(count: int, folder: Path) -> tuple[float, int]:
    """JPEG files of 640×480 read and decoded in a second, by 8 threads."""
    from PIL import Image

    noise = np.random.default_rng(0).integers(0, 256, (30, 40, 3), np.uint8)
    path = folder / "image.jpg"
    Image.fromarray(noise).resize((640, 480)).save(path, quality=90)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(read_image, [path] * 16))
        begun = time.perf_counter()
        list(pool.map(read_image, [path] * count))
        return count / (time.perf_counter() - begun), path.stat().st_size


@dataclass(frozen=True)
class Found:
    """One line of the table."""

    dtype: str
    resolution: str | int
    forward: float
    engine: float
    study: Ran
    written: Ran
    kept: Ran
    peak: int

    @property
    def bound(self) -> float:
        return 1 / (1 / self.forward + 1 / self.engine)

    def row(self) -> list[str]:
        rates = (self.forward, self.engine, self.bound, self.study.rate)
        shares = (self.study.rate / self.forward, self.study.rate / self.bound)
        return [
            self.dtype,
            str(self.resolution),
            *(f"{one:,.0f}" for one in rates),
            *(f"{one:.0%}" for one in shares),
            f"{self.written.rate:,.0f}",
            f"{self.written.rate / self.forward:.0%}",
            f"{self.kept.rate:,.0f}",
            f"{self.peak / 2**30:.1f}" if self.peak else "–",
        ]

    def steps(self) -> list[str]:
        """Seconds of each step for 1,000 images: without writing, then with it."""
        both = (self.study.steps, self.written.steps)
        times = [f"{steps[name]:.2f}" for steps in both for name in STEPS]
        return [self.dtype, str(self.resolution), *times]


HEAD = [
    "precision",
    "scored at",
    "forward",
    "engine",
    "bound",
    "study",
    "of forward",
    "of bound",
    "written",
    "of forward",
    "kept",
    "peak GiB",
]


def measure(sizes: Sizes, device: str, folder: Path) -> Iterator[Found]:
    """Measure every precision at every resolution."""
    data = make_data(sizes.images)
    shown = "cpu:0" if device == "cpu" else device  # a rehearsal takes the ways of a device
    for dtype in sizes.dtypes:
        model = make_model(sizes.config, device, dtype)
        forward = forward_rate(model, sizes, device)
        for resolution in sizes.resolutions:
            plan = make_plan(data, sizes, shown, resolution)
            count = max(TASKS, int(STUDY * forward / sizes.batch))
            plan = replace(plan, chunks=plan.chunks[:count])
            engine = engine_rate(plan, sizes, device)
            place = folder / f"{dtype}-{resolution}"
            if device != "cpu":
                torch.cuda.reset_peak_memory_stats(device)
            run_lane(replace(plan, chunks=plan.chunks[:2]), model, Unwritten, place)  # warms up
            run_lane(replace(plan, chunks=plan.chunks[:2]), model, Worker, place)
            study = run_several(plan, model, Unwritten, place)
            written = run_several(plan, model, Worker, place)
            kept = run_lane(replace(plan, keep_maps=True), model, Worker, place)
            peak = 0 if device == "cpu" else torch.cuda.max_memory_allocated(device)
            yield Found(dtype, resolution, forward, engine, study, written, kept, peak)


def projection(found: Sequence[Found]) -> list[list[str]]:
    """Hours of a million images, by arithmetic: N devices do N times as much."""
    rows = [["a million images", *(f"{count} GPU{'s' * (count > 1)}" for count in GPUS)]]
    for one in found:
        ways = (("figures", one.study), ("scores written", one.written), ("maps kept", one.kept))
        for what, ran in ways:
            name = f"{one.dtype}, {one.resolution}, {what}"
            hours = [MILLION / ran.rate / count / 3600 for count in GPUS]
            rows.append([name, *(f"{hour:.2f} h" for hour in hours)])
    return rows


def verdicts(found: Sequence[Found]) -> Iterator[str]:
    """Say of each target whether it is met."""
    for one in found:
        targets = []
        if one.resolution == "grid":
            targets.append(("the forward pass's rate", one.study.rate / one.forward, ON_GRID))
            written = one.written.rate / one.forward
            targets.append(("the forward pass's rate, scores written", written, WRITTEN))
        if one.resolution == 224:
            targets.append(("the bound", one.study.rate / one.bound, AT_PIXELS))
        for what, share, least in targets:
            met = "met" if share >= least else "missed"
            where = f"{one.dtype} at {one.resolution}"
            yield f"{where}: {share:.0%} of {what}, {least:.0%} wanted: {met}"


@contextmanager
def ways_of_a_device(device: str) -> Iterator[None]:
    """Have tensors in main memory treated as on a device, where there is none."""
    with ExitStack() as held:
        if device == "cpu":
            from benchmarks.maps_gpu import torch_pass_on_cpu
            from sightline.study.worker import inputs
            from sightline.study.worker import worker as work

            held.enter_context(torch_pass_on_cpu())
            for module in (inputs, work):
                held.enter_context(mock.patch.object(module, "on_device", return_value=True))
        yield


def run(sizes: Sizes, device: str, *, markdown: bool) -> list[Found]:
    """Measure, and print the tables."""
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    name = "CPU" if device == "cpu" else torch.cuda.get_device_name(device)
    print(f"{name}, torch {torch.__version__}, transformers {transformers.__version__}")
    print(f"tf32 off; passes and tasks of {sizes.batch} images; images/s\n", flush=True)
    found = []
    with tempfile.TemporaryDirectory() as folder, ways_of_a_device(device):
        for one in measure(sizes, device, Path(folder)):
            print(*one.row(), sep="  ", file=sys.stderr, flush=True)  # kept if it is stopped
            found.append(one)
        decoded, size = decode_rate(sizes.decoded, Path(folder))
    print(table([HEAD, *(one.row() for one in found)], markdown=markdown))
    scores = found[0].written.scores / found[0].written.images
    print(
        f"\n{scores:,.0f} scores an image; {decoded:,.0f} JPEG files of 640×480 ({size:,} bytes) a "
    )
    print("second are read and decoded by 8 threads.\n")
    both = [f"{what} {step}" for what in ("study:", "written:") for step in STEPS]
    print("Seconds of each step for 1,000 images, over all threads:\n")
    print(
        table([["precision", "scored at", *both], *(f.steps() for f in found)], markdown=markdown)
    )
    print()
    print(table(projection(found), markdown=markdown))
    print("\nBy arithmetic: one GPU's rate times their number.\n")
    print(*verdicts(found), sep="\n")
    return found


def usual_dtypes(device: str, sizes: Sizes) -> tuple[str, ...]:
    """Precisions to measure: not every CPU has half of it, where torch may die of trying."""
    return ("float32",) if device == "cpu" else sizes.dtypes


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cuda", help="where the model runs (default: cuda)")
    parser.add_argument("--quick", action="store_true", help="a tiny network, few images")
    parser.add_argument("--markdown", action="store_true", help="tables for the documentation")
    parser.add_argument("--batch", type=int, help="images of a pass and of a task")
    parser.add_argument("--dtype", action="append", help="only these precisions")
    parser.add_argument("--resolution", action="append", help="only these: grid, 112, 224")
    options = parser.parse_args()
    if options.device != "cpu" and not torch.cuda.is_available():
        print("benchmarks.study_gpu needs a CUDA device; torch sees none", file=sys.stderr)
        return 2
    sizes = QUICK if options.quick else FULL
    asked = options.resolution or [str(one) for one in sizes.resolutions]
    sizes = replace(
        sizes,
        batch=options.batch or sizes.batch,
        dtypes=tuple(options.dtype or usual_dtypes(options.device, sizes)),
        resolutions=tuple(one for one in sizes.resolutions if str(one) in asked),
    )
    run(sizes, options.device, markdown=options.markdown)
    return 0


if __name__ == "__main__":
    sys.exit(main())
