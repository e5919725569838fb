"""Sightline's checks beside those of Quantus: what is randomised, whether curves agree, time.

    python -m benchmarks.sanity [--images N] [--rounds N] [--markdown]

Needs Quantus (`make bench` installs it). Everything runs on one thread of the CPU; times are CPU
seconds, the least of the rounds, in which the tools take turns. Both see the same network, the
same inputs and the same maps: Quantus calls the function that makes ours. Its time for the passes
alone is what neither can go below.
"""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import nn

from sightline import load_dataset
from sightline.attribution.methods import explain
from sightline.attribution.methods.perturbation import Probability
from sightline.attribution.methods.targets import Classes
from sightline.attribution.sanity._prepared_model import Prepared
from sightline.attribution.sanity.randomisation import randomised_rows, steps_of
from sightline.attribution.sanity.redraw import redrawing, redrawn, structure
from sightline.attribution.sanity.removal import Covered, Imputed, Order, Question
from sightline.attribution.sanity.similarity import spearman
from sightline.attribution.sanity.stages import all_tensors, stages_of
from sightline.attribution.sanity.table import Job
from sightline.models import Description, Model, Preprocess, load_model

if TYPE_CHECKING:
    from collections.abc import Callable

METHOD = "saliency"
MODELS = ("demo/cnn", "demo/vit")
STEPS = 24  # of pixel flipping: every third ends with a whole pixel of three colours
PERCENT = (10, 30, 50, 70, 90)  # of ROAD
SEED = 11  # of facades that no model has seen
Weights = dict[str, torch.Tensor]
Lines = list[tuple[str, ...]]


# --- what is randomised --------------------------------------------------------------------------


class ToyViT(nn.Module):  # type: ignore[misc]  # torch's own types are not read
    """A vision transformer of torch's own parts: two blocks of 64 channels."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, 64, 16, 16)
        self.class_token = nn.Parameter(torch.randn(1, 1, 64))
        self.positions = nn.Parameter(torch.randn(1, 17, 64))
        block = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
        self.blocks = nn.TransformerEncoder(block, 2, enable_nested_tensor=False)
        self.head = nn.Linear(64, 4)

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        tokens = self.patches(pixels).flatten(2).transpose(1, 2)
        first = self.class_token.expand(len(tokens), -1, -1)
        hidden: torch.Tensor = self.blocks(torch.cat([first, tokens], 1) + self.positions)
        logits: torch.Tensor = self.head(hidden[:, 0])
        return logits


def toy_model() -> Model:
    """Return the toy with every tensor away from where its training would begin."""
    torch.manual_seed(0)
    network = ToyViT().eval()
    with torch.no_grad():
        for tensor in network.parameters():
            tensor.add_(torch.randn_like(tensor))
    about = Description(
        ("blocks.layers.0", "blocks.layers.1"), Preprocess(size=(64, 64)), 16, tuple("abcd"),
        ("class",), name="toy ViT of torch's parts",
    )  # fmt: skip
    return load_model(network, about)


def survivors(before: Weights, after: Weights) -> int:
    """Return how many numbers kept their trained value."""
    return sum(int((after[name] == value).sum()) for name, value in before.items())


def twins(weights: Weights) -> int:
    """Return how many numbers lie in matrices that another layer has as well, bit for bit."""
    large = [value for value in weights.values() if value.ndim > 1]
    seen: dict[bytes, int] = {}
    for value in large:
        key = value.numpy().tobytes()
        seen[key] = seen.get(key, 0) + 1
    return sum(value.numel() for value in large if seen[value.numpy().tobytes()] > 1)


def weights_of(network: nn.Module) -> Weights:
    """Return copies of all tensors that are weights."""
    aside = structure(network)
    found = all_tensors(network)
    return {name: one.detach().clone() for name, one in found.items() if name not in aside}


def by_sightline(model: Model) -> Weights:
    """Return the weights of a network that Sightline randomised whole."""
    with redrawn(model, stages_of(model), 0):
        return weights_of(model.network)


def by_quantus(model: Model) -> Weights:
    """Return the weights of a network after the last stage of Quantus."""
    from quantus.helpers.model.pytorch_model import PyTorchModel

    found = weights_of(model.network)
    for _, network in PyTorchModel(model.network).get_random_layer_generator("top_down", 0):
        found = weights_of(network)
    return found


def shares(before: Weights, after: Weights) -> tuple[str, str]:
    """Return the share of numbers that changed, and of those that two layers have in common."""
    total = sum(value.numel() for value in before.values())
    return f"{1 - survivors(before, after) / total:.1%}", f"{twins(after) / total:.1%}"


def randomised_shares() -> Lines:
    """Randomise networks whole, with both tools, and count what kept its trained value."""
    lines = []
    for model in (toy_model(), *map(load_model, MODELS)):
        before, theirs = weights_of(model.network), by_quantus(model)
        left = sorted(name for name in before if torch.equal(before[name], theirs[name]))
        total = sum(value.numel() for value in before.values())
        ours = shares(before, by_sightline(model))
        pairs = zip(ours, shares(before, theirs), strict=True)
        lines.append((model.name, f"{total:,}", *(" / ".join(p) for p in pairs), _shortened(left)))
    return lines


def _shortened(names: list[str]) -> str:
    ends = sorted({".".join(name.split(".")[-2:]) for name in names})
    return ", ".join(ends[:6]) + (", …" if len(ends) > 6 else "") or "none"


# --- the same curves -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A model with images, and the maps of what it predicts."""

    model: Model
    samples: list[Any]
    pixels: np.ndarray
    classes: np.ndarray
    maps: np.ndarray

    def job(self) -> Job:
        """Return the check that is measured, of a model that no check has seen: it keeps maps."""
        model = replace(self.model, name=f"{self.model.name} {time.perf_counter_ns()}")
        count = len(self.samples)
        return Job(model, METHOD, {}, (None,), "predicted", count, {}, "randomisation/top-down/0")


class Logits(nn.Module):  # type: ignore[misc]
    """The network as Quantus takes one: pixels in, logits out."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.network = model.network
        self._model = [model]
        self.eval()

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        logits = self._model[0].forward(self.network, pixels).logits
        assert logits is not None
        return logits


def case_of(name: str, count: int) -> Case:
    """Return a model with facades that it has not seen; both tools have them drawn and resized."""
    model = Prepared.of(load_model(name))
    facades = load_dataset("facades", count=count, seed=SEED)
    samples = [replace(one, load=partial(np.asarray, one.image())) for one in facades]
    (inputs,) = model.batches(samples, count)
    classes = model.logits(samples).argmax(1).numpy()
    maps = np.stack([one[0][0] for one in explain(model, samples, METHOD).values])
    return Case(model, samples, inputs.pixels.numpy(), classes, maps)


class Timed(NamedTuple):
    """What a call returns, and its CPU seconds for one image at one stage or point."""

    value: Any
    seconds: float


def timed(call: Callable[[], Any], parts: int) -> Timed:
    """Return what a call of so many parts returns, and its time."""
    begun = time.process_time()
    value = call()
    return Timed(value, (time.process_time() - begun) / parts)


class Compared(NamedTuple):
    """One check of both tools: largest difference, seconds of each, and of the passes alone."""

    apart: float
    theirs: float
    ours: float
    passes: float


def explains(case: Case, kept: list[np.ndarray]) -> Callable[..., np.ndarray]:
    """Return what makes maps for Quantus, by the function that makes ours; it keeps them."""

    def make(model: Logits, inputs: Any, targets: Any, **_: Any) -> np.ndarray:
        kept.append(maps_of(replace(case.model, network=model.network), case, targets))
        return kept[-1][:, None]

    return make


def maps_of(model: Model, case: Case, targets: Any) -> np.ndarray:
    """Return the maps of a model."""
    classes = [int(one) for one in targets]
    found = explain(model, case.samples, METHOD, target=classes, batch=len(classes))
    return np.stack([one[0][0] for one in found.values])


def asked_of(case: Case) -> dict[str, Any]:
    """Return what every check of Quantus is told."""
    return {
        "model": Logits(case.model), "x_batch": case.pixels, "y_batch": case.classes,
        "batch_size": len(case.samples), "channel_first": True, "device": "cpu",
    }  # fmt: skip


PLAIN = {"abs": False, "normalise": False, "disable_warnings": True}


def compare_mprt(case: Case) -> dict[str, Compared]:
    """Compare rank correlations on the maps of Quantus' own networks, from output to input."""
    import quantus

    metric = quantus.MPRT(layer_order="top_down", **PLAIN)
    kept: list[np.ndarray] = []
    make, count = explains(case, kept), len(case.samples)
    theirs = timed(
        lambda: metric(**asked_of(case), a_batch=case.maps[:, None], explain_func=make), count
    )
    each = theirs.seconds / len(kept)
    job, parts = case.job(), (len(stages_of(case.model)) + 1) * count
    ours = timed(lambda: randomised_rows(job, case.samples), parts).seconds
    plain = timed(lambda: plain_mprt(case), parts).seconds
    passes = timed(lambda: maps_of(case.model, case, case.classes), count).seconds
    apart = max(
        float(np.abs(np.array(scores) - spearman(case.maps, maps)).max())
        for scores, maps in zip(theirs.value.values(), kept, strict=True)
    )
    return {
        "MPRT, one similarity": Compared(apart, each, plain, passes),
        "MPRT, ours with all": Compared(apart, each, ours, passes),
    }


def plain_mprt(case: Case) -> None:
    """Do what Quantus does: maps of the trained network and of each stage, ranks compared."""
    maps = maps_of(case.model, case, case.classes)
    with redrawing(case.model, 0) as draw:
        for _, stages in steps_of("top-down", stages_of(case.model)):
            draw(stages)
            spearman(maps, maps_of(case.model, case, case.classes))


def compare_flipping(case: Case) -> dict[str, Compared]:
    """Compare curves where pixels take the mean colour in the order of the same maps."""
    import quantus

    size, count = case.maps[0].size, len(case.samples)
    # Quantus takes the three colours of a pixel one by one: one map for each, in step.
    order = np.repeat(case.maps[:, None], 3, 1)
    metric = quantus.PixelFlipping(
        features_in_step=3 * size // STEPS, perturb_baseline=0.0, return_aggregate=False, **PLAIN
    )  # which must divide the pixels, though it counts colours
    asked = question(case)

    def ours() -> np.ndarray:
        places = Order.of(case.maps.astype(np.float64), asked.inputs, 0)
        return asked.curve(places, Covered(torch.zeros_like(asked.inputs.pixels)), STEPS)

    theirs = timed(lambda: metric(**asked_of(case), a_batch=order, softmax=True), STEPS * count)
    found = timed(ours, (STEPS + 1) * count)
    passes = timed(lambda: passed(case, STEPS), STEPS * count)
    apart = float(np.abs(np.array(theirs.value) - found.value[:, 1:])[:, 2::3].max())
    return {"pixel flipping": Compared(apart, theirs.seconds, found.seconds, passes.seconds)}


def question(case: Case) -> Question:
    """Return what asks for the probability of the classes that the network predicts."""
    (inputs,) = case.model.batches(case.samples, len(case.samples))
    goal = Probability(Classes(torch.from_numpy(case.classes)))
    return Question(case.model, inputs, goal, len(case.samples))


def passed(case: Case, times: int) -> None:
    """Run the network on the images, so many times."""
    pixels = torch.from_numpy(case.pixels)
    with torch.no_grad():
        for _ in range(times):
            case.model(pixels)


def compare_road(case: Case) -> dict[str, Compared]:
    """Compare shares of right answers as pixels are guessed from those around, without noise."""
    points = len(PERCENT) * len(case.samples)
    asked = question(case)

    def ours() -> np.ndarray:
        places = Order.of(case.maps.astype(np.float64), asked.inputs, 0)
        change = Imputed.of(asked.inputs, 0.0, 0)
        return np.array([right_without(case, asked, places, change, one) for one in PERCENT])

    theirs = timed(lambda: quantus_road(case, first_colour(case), len(case.samples)), points)
    found = timed(ours, points)
    passes = timed(lambda: passed(case, len(PERCENT)), points)
    apart = float(np.abs(theirs.value - found.value).max())
    return {"ROAD": Compared(apart, theirs.seconds, found.seconds, passes.seconds)}


def right_without(
    case: Case, asked: Question, places: Order, change: Imputed, percent: int
) -> float:
    """Return how often the class stays when so many pixels are filled in."""
    pixels = asked.inputs.pixels
    every = torch.arange(len(pixels))
    gone = places.gone(every, torch.full((len(pixels),), percent / 100, dtype=torch.float64))
    with torch.no_grad():
        logits = case.model(change(pixels, gone, every, torch.zeros_like(every))).logits
    assert logits is not None
    return float((logits.argmax(1).numpy() == case.classes).mean())


def first_colour(case: Case) -> np.ndarray:
    """Return the maps as ROAD of Quantus can take them: of one colour, the others below all."""
    below = np.full_like(case.maps, case.maps.min() - 1)
    return np.stack([case.maps, below, below], 1)


def quantus_road(case: Case, maps: np.ndarray, batch: int) -> np.ndarray:
    """Return its shares of right answers; it counts pixels over all colours of the maps."""
    import quantus

    percent = [one / maps.shape[1] for one in PERCENT]
    metric = quantus.ROAD(percentages=percent, noise=0.0, **PLAIN)
    found = metric(**{**asked_of(case), "batch_size": batch}, a_batch=maps)
    return np.array([found[one] for one in percent])


def road_faults(case: Case) -> list[str]:
    """Return what ROAD of Quantus gets wrong, as seen on a case of at least two images."""
    faults = []
    try:
        quantus_road(case, case.maps[:, None], len(case.samples))
    except IndexError as error:
        faults.append(f"given one map for three colours, it raises IndexError: {error}")
    first = replace(
        case, samples=case.samples[:1], pixels=case.pixels[:1], classes=case.classes[:1],
        maps=case.maps[:1],
    )  # fmt: skip
    other = replace(case, classes=np.append(case.classes[:1], (case.classes[1:] + 1) % 4))
    one_by_one = quantus_road(other, first_colour(case), 1)
    if np.array_equal(one_by_one, quantus_road(first, first_colour(first), 1)):
        faults.append("of several batches, it counts the first alone")
    return faults


COMPARED = (compare_mprt, compare_flipping, compare_road)


def compared(case: Case, compare: Callable[[Case], dict[str, Compared]], rounds: int) -> Lines:
    """Return lines of the table: the largest difference, and the least time of each."""
    seen = [compare(case) for _ in range(rounds)]
    lines: Lines = []
    for what in seen[0]:
        apart, *times = zip(*(one[what] for one in seen), strict=True)
        theirs, ours, passes = (1000 * min(some) for some in times)
        lines.append(
            (
                case.model.name, what, f"{max(apart):.1e}", f"{theirs:.1f}", f"{ours:.1f}",
                f"{theirs / ours:.1f}×", f"{passes:.1f}",
            )
        )  # fmt: skip
    return lines


# --- printing ------------------------------------------------------------------------------------


def show(heads: tuple[str, ...], lines: Lines, markdown: bool) -> None:
    """Print a table."""
    if markdown:
        print("| " + " | ".join(heads) + " |\n|" + " --- |" * len(heads))
        for line in lines:
            print("| " + " | ".join(line) + " |")
    else:
        widths = [max(map(len, column)) for column in zip(heads, *lines, strict=True)]
        for line in (heads, *lines):
            cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
            print("  ".join(cells).rstrip())
    print()


def main(arguments: list[str] | None = None) -> None:
    """Print what is randomised, how far curves differ, and what both cost."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--images", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--markdown", action="store_true")
    asked = parser.parse_args(arguments)
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    both = "redrawn: Sightline / Quantus", "the same in several layers"
    heads = "network", "weights", *both, "what Quantus leaves"
    show(heads, randomised_shares(), asked.markdown)
    for name in MODELS:  # what is loaded or compiled once is none of their time
        for compare in COMPARED:
            compare(case_of(name, 1))
    cases = [case_of(name, asked.images) for name in MODELS]
    lines = [
        line
        for compare in COMPARED
        for case in cases
        for line in compared(case, compare, asked.rounds)
    ]
    times = "Quantus, ms", "Sightline, ms", "faster", "passes alone, ms"
    show(("network", "check", "largest difference", *times), lines, asked.markdown)
    print("ms: CPU time for one image at one stage or point, on one thread")
    print("ours with all: eight similarities and the accuracy at each stage; Quantus has one")
    for fault in road_faults(case_of(MODELS[0], 2)):
        print(f"ROAD of Quantus: {fault}")


if __name__ == "__main__":
    main()
