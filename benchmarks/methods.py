"""Every method beside Captum and pytorch-grad-cam, run plainly: milliseconds and passes per image.

    python -m benchmarks.methods [--quick] [--markdown] [--model demo/cnn] [--method lime ...]
    python -m benchmarks.methods --device cuda

Eight church fronts at 224 px, one class, two threads, layered methods at the last layer. Each tool
runs all its methods in a process of its own; tools take turns, and the fastest round of each method
counts, by the wall clock (with `--threads 1` by CPU time, which neighbours disturb less). Methods
that run the network hundreds of times do so less often here, the peer as often as ours. Passes are
rows that come out of a layer of the network, the mean over its layers, for each image: a copy that
begins at a late layer counts for the layers it runs through.

The peers get what their documentation shows: all images in one tensor, a given class, their own
batches. Captum's LIME and kernel SHAP call the network for one copy of one image at a time, and
pytorch-grad-cam's Ablation-CAM runs whole passes, image by image: there we want to be three times
as fast. Where a peer cannot run a model, the table says why.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.machinery
import json
import os
import subprocess
import sys
import time
from argparse import RawDescriptionHelpFormatter
from contextlib import ExitStack
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks.maps import machine, progress, table, version

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from sightline.models import Model

MODELS, IMAGES, ROUNDS, THREADS = ("demo/cnn", "demo/vit"), 8, 2, 2
CLASS, ROWS = 1, 16
# Few enough for a benchmark, the same for all tools.
COUNTS: dict[str, dict[str, int]] = {
    "smoothgrad_ig": {"samples": 4, "steps": 8},
    "rise": {"masks": 128},
    "lime": {"samples": 128},
    "kernel_shap": {"samples": 128},
}
# Needs a detector, which these models are not.
LEFT_OUT = ("drise",)


class Setting(NamedTuple):
    """What a peer works on."""

    model: Model
    network: Any
    images: list[Any]
    counts: dict[str, int]


class Measured(NamedTuple):
    """Seconds and passes for one image; or why there are none."""

    seconds: float
    passes: float
    error: str = ""


# Captum. Each function gets a setting and pixels, and returns maps.


def attribution(name: str) -> Any:
    return getattr(importlib.import_module("captum.attr"), name)


def captum_plain(name: str, **options: Any) -> Callable[[Setting, Any], Any]:
    """A method that needs nothing but the class."""

    def call(setting: Setting, pixels: Any) -> Any:
        return attribution(name)(setting.network).attribute(pixels, target=CLASS, **options)

    return call


def captum_smoothgrad(setting: Setting, pixels: Any) -> Any:
    tunnel = attribution("NoiseTunnel")(attribution("Saliency")(setting.network))
    more = {"nt_samples": 16, "nt_samples_batch_size": ROWS // len(pixels) or 1}
    return tunnel.attribute(pixels, nt_type="smoothgrad", target=CLASS, abs=False, **more)


def captum_smoothgrad_ig(setting: Setting, pixels: Any) -> Any:
    tunnel = attribution("NoiseTunnel")(attribution("IntegratedGradients")(setting.network))
    more = {"nt_samples": setting.counts["samples"], "nt_samples_batch_size": 1}
    more |= {"n_steps": setting.counts["steps"], "internal_batch_size": ROWS}
    return tunnel.attribute(pixels, nt_type="smoothgrad", target=CLASS, **more)


def captum_gradient_shap(setting: Setting, pixels: Any) -> Any:
    """Image by image: all samples of one are in memory at once, with gradients."""
    method = attribution("GradientShap")(setting.network)
    return [
        method.attribute(one[None], one[None] * 0, n_samples=32, target=CLASS) for one in pixels
    ]


def captum_occlusion(setting: Setting, pixels: Any) -> Any:
    window, stride = (round(pixels.shape[-1] * share) for share in (0.143, 0.0715))
    method = attribution("Occlusion")(setting.network)
    return method.attribute(
        pixels, (3, window, window), strides=(3, stride, stride), baselines=0, target=CLASS
    )


def captum_superpixels(name: str) -> Callable[[Setting, Any], Any]:
    def call(setting: Setting, pixels: Any) -> Any:
        import numpy as np
        import torch
        from skimage.segmentation import slic

        method, found = attribution(name)(setting.network), []
        for image, one in zip(setting.images, pixels, strict=True):
            parts = slic(np.asarray(image), n_segments=50, compactness=20, start_label=0)
            mask = torch.from_numpy(parts)[None].to(pixels.device)
            samples = setting.counts["samples"]
            more = {"feature_mask": mask, "n_samples": samples, "target": CLASS}
            found.append(method.attribute(one[None], **more))
        return found

    return call


# pytorch-grad-cam.


def grad_cam(name: str) -> Callable[[Setting, Any], Any]:
    def call(setting: Setting, pixels: Any) -> Any:
        model, tokens = setting.model, setting.model.heads > 0
        options: dict[str, Any] = {"target_layers": [model.cam_layers[-1]]}
        if tokens:
            options["reshape_transform"] = lambda values: model.to_grid(values, pixels)
        if name == "FullGrad":
            options = {"target_layers": []}
        if name == "AblationCAM" and tokens:
            layers = importlib.import_module("pytorch_grad_cam.ablation_layer")
            options["ablation_layer"] = layers.AblationLayerVit()
        targets = importlib.import_module("pytorch_grad_cam.utils.model_targets")
        asked = [targets.ClassifierOutputTarget(CLASS)] * len(pixels)
        with getattr(importlib.import_module("pytorch_grad_cam"), name)(
            setting.network, **options
        ) as method:
            return method(pixels, targets=asked)

    return call


class Peer(NamedTuple):
    """How a tool does what a method of ours does, and how much faster we want to be."""

    tool: str
    call: Callable[[Setting, Any], Any]
    wanted: float = 1


STEPS = {"n_steps": 32, "internal_batch_size": ROWS}
PEERS = {
    "gradcam": Peer("pytorch-grad-cam", grad_cam("GradCAM")),
    "gradcam_pp": Peer("pytorch-grad-cam", grad_cam("GradCAMPlusPlus")),
    "hirescam": Peer("pytorch-grad-cam", grad_cam("HiResCAM")),
    "xgradcam": Peer("pytorch-grad-cam", grad_cam("XGradCAM")),
    "layercam": Peer("pytorch-grad-cam", grad_cam("LayerCAM")),
    "eigencam": Peer("pytorch-grad-cam", grad_cam("EigenCAM")),
    "scorecam": Peer("pytorch-grad-cam", grad_cam("ScoreCAM")),
    "ablationcam": Peer("pytorch-grad-cam", grad_cam("AblationCAM"), 3),
    "fullgrad": Peer("pytorch-grad-cam", grad_cam("FullGrad")),
    "saliency": Peer("captum", captum_plain("Saliency", abs=False)),
    "input_x_gradient": Peer("captum", captum_plain("InputXGradient")),
    "integrated_gradients": Peer("captum", captum_plain("IntegratedGradients", **STEPS)),
    "smoothgrad": Peer("captum", captum_smoothgrad),
    "smoothgrad_ig": Peer("captum", captum_smoothgrad_ig),
    "gradient_shap": Peer("captum", captum_gradient_shap),
    "guided_backprop": Peer("captum", captum_plain("GuidedBackprop")),
    "deeplift": Peer("captum", captum_plain("DeepLift")),
    "lrp": Peer("captum", captum_plain("LRP")),
    "occlusion": Peer("captum", captum_occlusion),
    "lime": Peer("captum", captum_superpixels("Lime"), 3),
    "kernel_shap": Peer("captum", captum_superpixels("KernelShap"), 3),
}
PACKAGES = {"ours": "sightline", "captum": "captum", "pytorch-grad-cam": "grad-cam"}


def without_torchvision() -> None:
    """Let pytorch-grad-cam import where torchvision cannot: nothing of it is used here.

    Only after models are loaded: transformers would take it for the real one.
    """
    try:
        importlib.import_module("torchvision")
    except (ImportError, RuntimeError, OSError):
        names = {
            "torchvision": (),
            "torchvision.transforms": ("Compose", "Normalize", "ToTensor"),
            "torchvision.transforms.functional": ("resize",),
        }
        for name, parts in names.items():
            module = ModuleType(name)
            module.__spec__ = importlib.machinery.ModuleSpec(name, None)
            for part in parts:
                setattr(module, part, None)
            sys.modules[name] = module


# Running: a child measures one round of one tool on one model.


def make_images(count: int) -> list[Any]:
    from sightline import load_dataset

    return [sample.image() for sample in load_dataset("facades", count=count, seed=3)]


def logits_of(model: Model) -> Any:
    """The network as a module that gives logits, which the peers want."""
    from torch import nn

    class Logits(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.network = model.network

        def forward(self, pixels: Any) -> Any:
            return model(pixels).logits

    return Logits().eval()


def our_call(model: Model, method: str, images: list[Any]) -> Callable[[], Any]:
    from sightline.attribution.methods import METHODS, explain

    card = METHODS[method]
    options: dict[str, Any] = {"layers": -1} if card.layered else {}
    if card.explains:
        options["target"] = CLASS
    params = COUNTS.get(method)
    return lambda: explain(model, images, method, params=params, batch=ROWS, **options)


def peer_call(model: Model, method: str, images: list[Any]) -> Callable[[], Any]:
    import torch

    setting = Setting(model, logits_of(model), images, COUNTS.get(method, {}))

    def call() -> Any:
        pixels = torch.cat([inputs.pixels for inputs in model.batches(images, len(images))])
        return PEERS[method].call(setting, pixels)

    return call


def clock() -> float:
    alone = os.environ.get("OMP_NUM_THREADS") == "1"
    return time.process_time() if alone else time.perf_counter()


def measure_one(model: Model, call: Callable[[], Any], count: int) -> Measured:
    """Time a call, and count the rows that come out of the layers."""
    import torch

    from sightline.models.hooks import first_tensor

    rows = 0

    def see(module: Any, arguments: Any, output: Any) -> None:
        nonlocal rows
        rows += len(first_tensor(output))

    with ExitStack() as stack:
        for layer in model.layers:
            stack.callback(layer.register_forward_hook(see).remove)
        begun = clock()
        call()
        if model.device.type == "cuda":
            torch.cuda.synchronize()
        seconds = clock() - begun
    return Measured(seconds / count, rows / len(model.layers) / count)


def measure(
    tool: str, name: str, count: int, methods: Iterable[str], device: str = "cpu"
) -> dict[str, Measured]:
    """Measure methods of one tool, each after a call with one image."""
    from sightline.models import load_model

    model, images, found = load_model(name, device=device), make_images(count), {}
    make = our_call if tool == "ours" else peer_call
    if tool == "pytorch-grad-cam":
        without_torchvision()
    for method in methods:
        try:
            make(model, method, images[:1])()
            found[method] = measure_one(model, make(model, method, images), count)
        except Exception as error:  # whatever a peer raises is what there is to say
            if tool == "ours":
                raise
            why = (str(error).strip().splitlines() or [""])[0]
            found[method] = Measured(0, 0, f"{type(error).__name__}: {why}")
    return found


def our_methods(name: str, asked: Sequence[str]) -> list[str]:
    """Return the methods that a model is asked for here, in the order of the table."""
    from sightline.attribution.methods import METHODS
    from sightline.models import load_model

    model = load_model(name)
    return [
        card.name
        for card in METHODS.values()
        if card.group != "baseline"
        and card.name not in LEFT_OUT
        and (not asked or card.name in asked)
        and not card.lacks(model)
    ]


class Load(NamedTuple):
    """How much is measured, and where."""

    images: int
    rounds: int
    threads: int
    device: str


def in_child(tool: str, name: str, load: Load, methods: Sequence[str]) -> dict[str, Measured]:
    argv = [sys.executable, "-W", "ignore", "-m", __spec__.name, "--tool", tool]
    argv += ["--device", load.device]
    argv += ["--model", name, "--images", str(load.images), "--method", *methods]
    limits = {f"{kind}_NUM_THREADS": str(load.threads) for kind in ("OMP", "MKL", "OPENBLAS")}
    environment = os.environ | limits | {"TQDM_DISABLE": "1"}
    done = subprocess.run(argv, env=environment, check=True, text=True, stdout=subprocess.PIPE)
    found = json.loads(done.stdout.splitlines()[-1])
    return {method: Measured(*values) for method, values in found.items()}


def run(name: str, methods: Sequence[str], load: Load) -> dict[tuple[str, str], Measured]:
    """The fastest round of each tool and method."""
    found: dict[tuple[str, str], Measured] = {}
    todo = {"ours": list(methods)}
    for method in methods:
        if method in PEERS:
            todo.setdefault(PEERS[method].tool, []).append(method)
    for number in range(load.rounds):
        for tool, its in todo.items():
            if not version(PACKAGES[tool]):
                found |= {(tool, method): Measured(0, 0, "is not installed") for method in its}
                continue
            progress(f"round {number + 1}: {name} by {tool}")
            for method, new in in_child(tool, name, load, its).items():
                old = found.get((tool, method), new)
                found[tool, method] = min(old, new)
    progress("")
    return found


def short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def rows(figures: dict[tuple[str, str], Measured]) -> list[list[str]]:
    """A line per method: what it takes, what the peer takes, and what was wanted."""
    found = [["", "ms", "passes", "peer", "ms", "passes", "× ours", "wanted", ""]]
    for (tool, method), ours in figures.items():
        if tool != "ours":
            continue
        row = [method, short(1e3 * ours.seconds), short(ours.passes)]
        peer = PEERS.get(method)
        theirs = None if peer is None else figures.get((peer.tool, method))
        if peer is None or theirs is None:
            row += ["", "", "", "", "", ""]
        elif theirs.error:
            row += [peer.tool, "fails", "", "", "", ""]
        else:
            ratio = theirs.seconds / ours.seconds
            verdict = "met" if ratio >= peer.wanted else "missed"
            row += [peer.tool, short(1e3 * theirs.seconds), short(theirs.passes)]
            row += [f"{ratio:.2f}", f"≥ {peer.wanted:g}", verdict]
        found.append(row)
    return found


def notes(figures: dict[tuple[str, str], Measured]) -> list[str]:
    """What peers could not do, and what has no entry in the table of methods."""
    said = [
        f"{method} by {tool}: {found.error}"
        for (tool, method), found in figures.items()
        if found.error
    ]
    missing = [method for method in PEERS if ("ours", method) not in figures]
    return said + [f"Not run here: {', '.join(missing)}"] * bool(missing)


def report(name: str, figures: dict[tuple[str, str], Measured], *, markdown: bool) -> str:
    lines = [name, "", table(rows(figures), markdown=markdown)]
    return "\n".join([*lines, "", *notes(figures), ""])


def _gpu() -> str:
    import torch

    return str(torch.cuda.get_device_name())


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="two images, one round")
    parser.add_argument("--markdown", action="store_true", help="print Markdown tables")
    parser.add_argument("--model", choices=MODELS, nargs="+", default=MODELS)
    parser.add_argument("--method", nargs="+", default=[], help="only these")
    parser.add_argument("--images", type=int, default=IMAGES)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--threads", type=int, default=THREADS)
    parser.add_argument("--device", default="cpu", help="cuda for a GPU")
    parser.add_argument("--tool", choices=PACKAGES, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.tool:
        asked = options.tool, options.model[0], options.images, options.method, options.device
        found = measure(*asked)
        print(json.dumps(found))
        return
    count, rounds = (2, 1) if options.quick else (options.images, options.rounds)
    tools = ", ".join(f"{name} {version(package)}" for name, package in PACKAGES.items())
    where = machine() if options.device == "cpu" else f"{machine()}, {_gpu()}"
    print(f"{where}, {options.threads} threads\n{tools}\n{count} images, best of {rounds}\n")
    for name in options.model:
        methods = our_methods(name, options.method)
        figures = run(name, methods, Load(count, rounds, options.threads, options.device))
        print(report(name, figures, markdown=options.markdown))


if __name__ == "__main__":
    main()
