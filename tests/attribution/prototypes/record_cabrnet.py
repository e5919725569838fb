"""Records what networks of CaBRNet are like, and tries the adapter on them.

CaBRNet's pins cannot be met beside ours, so that tests do not install it: they use what this
records. In an environment that has it (`docs/models.md` says how):

    python -m tests.attribution.prototypes.record_cabrnet          compares with what is recorded
    python -m tests.attribution.prototypes.record_cabrnet --write  records anew
"""

from __future__ import annotations

import json
import sys
from copy import deepcopy
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

FOLDER = Path(__file__).parent / "cabrnet"
RECORD = FOLDER / "shapes.json"
KEPT = "prototree"  # the one whose state holds more than tensors
_PIXELS = (2, 3, 64, 96)

_HEADS: dict[str, tuple[str, dict[str, int], str]] = {
    "protopnet": ("ProtoPNet", {"num_proto_per_class": 2}, "ProtoPNetSimilarity"),
    "prototree": ("ProtoTree", {"depth": 3}, "ProtoTreeSimilarity"),
    "protopool": (
        "ProtoPool",
        {"num_prototypes": 5, "num_slots_per_class": 2},
        "ProtoPNetSimilarity",
    ),
    "pipnet": ("PIPNet", {}, "SimilarityLayerStub"),
}
DATA = {
    "test_set": {
        "name": "ImageFolder",
        "module": "torchvision.datasets",
        "batch_size": 2,
        "shuffle": False,
        "params": {
            "root": "data",
            "transform": {
                "resize": {"type": "Resize", "params": {"size": [64, 96]}},
                "to_tensor": {"type": "ToTensor"},
                "normalize": {
                    "type": "Normalize",
                    "params": {"mean": [0.4, 0.5, 0.6], "std": [0.2, 0.2, 0.3]},
                },
            },
        },
    }
}
PROJECTION = [
    {"img_idx": 4 - i, "h": i, "w": 2 * i, "score": 0.5 + i, "proto_idx": i} for i in range(3)
] + [{"img_idx": -1, "h": -1, "w": -1, "score": float("-inf"), "proto_idx": 3}]


def config_of(name: str) -> dict[str, Any]:
    """A small network: the first block of a MobileNet, and the head of that name."""
    top, params, similarity = _HEADS[name]
    add_on: dict[str, Any] = {
        "conv": {"type": "Conv2d", "params": {"out_channels": 8, "kernel_size": 1}}
    }
    if name != "pipnet":
        add_on["sigmoid"] = {"type": "Sigmoid"}
    return {
        "extractor": {
            "backbone": {
                "arch": "mobilenet_v3_small",
                "weights": "IMAGENET1K_V1",
                "layer": "features.1",
            },
            "add_on": add_on,
        },
        "classifier": {
            "module": f"cabrnet.archs.{name}.decision",
            "name": f"{top}Classifier",
            "params": {"num_classes": 3, "num_features": 8, **params},
        },
        "similarity": {"name": similarity},
        "top_arch": {"module": f"cabrnet.archs.{name}.model", "name": top},
    }


def shapes_of(network: Any, pixels: torch.Tensor) -> dict[str, Any]:
    """What the adapter relies on: shapes of what is returned, and of what the classifier has."""
    head = network.classifier
    with torch.no_grad():
        outputs, similarities = network(pixels), network.similarities(pixels)
    state = network.state_dict().values()
    return {
        "similarities": list(similarities.shape),
        "outputs": [list(one.shape) if hasattr(one, "shape") else None for one in outputs],
        "num_classes": int(head.num_classes),
        "mapping": list(head.prototype_class_mapping.shape),
        "last_layer": list(head.last_layer.weight.shape) if hasattr(head, "last_layer") else None,
        "slots": list(head.proto_slot_map.shape) if hasattr(head, "proto_slot_map") else None,
        "multiplier": hasattr(head, "normalization_multiplier"),
        "only_tensors": all(isinstance(value, torch.Tensor) for value in state),
    }


def _written(name: str, folder: Path) -> Any:
    """A network, and its checkpoint as CaBRNet writes it."""
    from cabrnet.archs.generic.model import CaBRNet  # type: ignore[import-not-found]
    from cabrnet.core.utils.save import save_checkpoint  # type: ignore[import-not-found]

    config = config_of(name)
    unfetched = deepcopy(config)
    unfetched["extractor"]["backbone"]["weights"] = "None"
    torch.manual_seed(0)
    network = CaBRNet.build_from_config(unfetched).eval()
    save_checkpoint(str(folder), network, config, None, None, DATA, PROJECTION, "last", 0, "cpu")
    return network


def _tried(name: str, place: Path) -> dict[str, Any]:
    """Compare the adapter with the network itself, bit by bit, and return its shapes."""
    from sightline.attribution.prototypes import (
        ATTRIBUTIONS,
        attribute,
        best_matches,
        similarity_maps,
    )
    from sightline.models import load_model

    network = _written(name, place / name)
    model = load_model(f"cabrnet:{place / name}")
    pixels = torch.rand(_PIXELS, generator=torch.Generator().manual_seed(1))
    shapes = shapes_of(network, pixels)
    with torch.no_grad():
        outputs, similarities = network(pixels), network.similarities(pixels)
        logits = next(o for o, s in zip(outputs, shapes["outputs"], strict=True) if s == [2, 3])
        assert torch.equal(model(pixels).logits, logits)
    assert torch.equal(similarity_maps(model, pixels), similarities)
    weights: Any = model.network.class_weights
    assert weights.shape == (3, similarities.shape[1])
    if name in ("protopnet", "pipnet"):
        assert torch.allclose(similarities.amax((2, 3)) @ weights.T, logits, atol=1e-5)
    matches = best_matches(model, pixels)
    for method in ATTRIBUTIONS:
        found = attribute(
            model, pixels, matches.prototypes[:, 0], matches.cells[:, 0], method=method
        )
        assert found.values.shape == (2, 64, 96)
    return shapes


def main() -> None:
    """Record, or compare with the record."""
    with TemporaryDirectory() as scratch:
        place = Path(scratch)
        found: dict[str, Any] = {"version": version("cabrnet"), "pixels": list(_PIXELS)}
        found["networks"] = {name: _tried(name, place) for name in _HEADS}
        if "--write" in sys.argv:
            RECORD.write_text(json.dumps(found, indent=2) + "\n", "utf-8")
            for file in (place / KEPT).iterdir():
                if file.suffix != ".pickle":
                    (FOLDER / file.name).write_bytes(file.read_bytes())
        elif json.loads(RECORD.read_text("utf-8")) != found:
            raise SystemExit(f"networks of CaBRNet are not as {RECORD} has them: {found}")
    sys.stdout.write(f"the adapter gives what CaBRNet gives: {', '.join(_HEADS)}\n")


if __name__ == "__main__":
    main()
