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
Captum. `sightline models` prints the tables of this page.

| name | what is loaded |
| --- | --- |
| `demo/vit` and the others below | a model that ships with the package |
| `hf:FOLDER` | a folder as `save_pretrained` of transformers writes it |
| `hf:ID` | a model of the Hugging Face hub, from the cache or fetched |
| `timm:NAME` | a model of timm (extra `timm`), attention of ViTs (EVA, …) included |
| a `torch.nn.Module` | a network of transformers as it is; any other with a `Description` |

Weights come from safetensors alone: a pickle could run code, and is refused with its name.
Weights that are missing from a file are an error, never random. Where the hub cannot be reached,
the message says which files to put where.

## What the model sees

| `fit` | |
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
bits, files, PIL images or samples. Grey, CMYK, 16-bit and palette files become RGB; of an
animation the first frame is taken. More than 80 million pixels are refused, as are inputs of more
than 4096 × 4096, which under `native` need a `size`.

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
FAMILY = """
## Families

What `hf:` loads, by `model_type` of the configuration. Swin attends within windows, so it has
gradients and class activation maps only; MAE is run unmasked, its patches in reading order.
"""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def shipped_row(card: ModelCard) -> list[str]:
    figures = ", ".join(
        f"{name.replace('_', ' ')} {value:g}" for name, value in card.figures.items()
    )
    command = f"`{card.details['command']}`" if "command" in card.details else ""
    return [f"`{card.name}`", card.what, figures, command]


def family_row(model_type: str, family: Family) -> list[str]:
    offers = "attention" if family.kind == "tokens" else "stages"
    tokens = ", ".join(family.prefix(SimpleNamespace(num_register_tokens=1)))
    return [f"`{model_type}`", family.title, offers, tokens, ", ".join(family.classifiers)]


def render() -> str:
    """Return the page."""
    shipped = table(["name", "", "figures", "command"], map(shipped_row, MODELS.values()))
    rows = (family_row(name, family) for name, family in FAMILIES.items())
    families = table(
        ["model type", "", "layers give", "tokens before the patches", "classifiers"], rows
    )
    return f"{HEAD}{SHIPPED}\n{shipped}\n{FAMILY}\n{families}\n"


if __name__ == "__main__":
    PAGE.write_text(render(), "utf-8")
