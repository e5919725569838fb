"""Write `methods.md` from METHODS, and its picture: `python docs/make_methods.py`."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from sightline import load_dataset
from sightline.attribution.methods import METHODS
from sightline.cli.explain_steps import Options, explain_images
from sightline.data import write_facades

if TYPE_CHECKING:
    from sightline.attribution.methods import Method

PAGE = Path(__file__).parent / "methods.md"
PICTURE = Path(__file__).parent / "images" / "explain.jpg"
SHOWN = ("cls", "rollout", "gradcam")
HEAD = """\
<!-- Written by docs/make_methods.py from METHODS. -->

# Maps and methods

A method asks a [model](models.md) where it looks and gives a map: raw, signed, on the model's own
grid, with the [geometry](geometry.md) of the way there. Nothing is rectified, scaled or resized
on the way; how a map is read is a choice of whoever scores it, and is written down.

```pycon
>>> from sightline import explain, load_dataset, score_maps
>>> churches = load_dataset("facades", count=20, seed=7)
>>> maps = explain("demo/vit", churches, "cls")
>>> maps
Maps(cls of demo/vit: 20 images x 12 layers x 1 heads)
>>> maps.of(image=0, layer=11).shape
(14, 14)
>>> parts = [sample.annotation for sample in churches]
>>> last = maps.to_image(224).stack()[:, 11, 0]
>>> scores = score_maps(last, regions=parts, sign=maps.sign)
>>> scores["auc_roc"].shape
(20,)
```

- `layers="all"` (or numbers, from 0; -1 is the last) and `heads=None` (fused), `"all"` or
  numbers: all layers and heads come from one pass. Fused is the mean over the heads.
- `target="predicted"`, `"label"` of the sample, a class by name or number, or one of those
  [below](#targets): what methods that explain something explain. `maps.targets` says which it was.
- `maps.sign` says how the values are meant to be read: "positive" (below 0 is nothing), "absolute"
  (below 0 counts as much as above) or "signed". Give it to `score_maps`.
- `params={…}` over the defaults in the cards below; `maps.params` keeps them.
- `maps.values[image][layer]` is `(heads, rows, columns)`; layers of a CNN differ in size.
- `maps.to_image(size)` brings maps to the pixels of the image, bilinear unless told otherwise,
  NaN where the model did not see; `maps.upsampling` says how. Or leave the map where it is and
  carry the annotation to the model: `maps.geometries[image][layer].carry(annotation)`.

From the shell, pictures of maps:

```console
$ sightline facades churches --count 2 --seed 7
Images (2): churches/images
...
```

```console
$ sightline explain churches/images --method cls,rollout,gradcam --layer 3,7,11 --out grid.png
Picture: grid.png
Predicted by demo/vit (2): facade-00000.png Baroque (...), facade-00001.png Romanesque (...)
Seconds: ..., of which loading ..., cls ..., rollout ..., gradcam ...
Next: --maps maps.safetensors keeps the numbers.
```

![Maps of two church fronts by three methods at three layers](images/explain.jpg)

And raw maps in a file, to be scored:

```console
$ sightline explain churches/images --method cls --layer 6 --maps maps.safetensors
Maps (2): maps.safetensors
...
```

```console
$ sightline score maps.safetensors --annotations churches/annotations.json --out scores.csv
Means over images
...
```

## Attention without the matrices

Attention weights of all layers take gigabytes where an input has over a thousand tokens.
Sightline lets the network run its own fast attention, sees the queries and keys of each layer in
passing (after rotary embeddings and all else), and recomputes the rows it needs: `cls` one row a
head, `mean` and `rollout` all rows, block by block. Gradient-weighted attention takes the
gradient of the weights from that of the output. Never is more than one layer's weights in memory.
[Benchmarks](benchmarks.md) has the figures. Maps are equal to those from the slow path within
1e-6.

Registers, class and distillation tokens are dropped from the maps. Where a model has no class
token (SigLIP), `cls` raises; `mean`, `pool` (its pooling head) and `rollout` (from the mean of
all tokens) work.

## Targets

| `target` | what the number is that a map explains |
| --- | --- |
| `"predicted"` | logit of the class with the largest; of a detector, its most confident detection |
| `"label"` | logit of the sample's own class |
| `"Gothic"`, `2` | logit of a class by name or number |
| `"embedding"` | the image's own embedding: inner product with its unit vector; no classes needed |
| `Similar(image)` | inner product with the unit embedding of another image |
| `Similar(image, box=…)` | mean of the patches, in the direction of a region of another image |
| `"detection"`, `Detected(box, label)` | how like some detection is to this one |

A list gives each image its own. The embedding is the class token at the end of the network, or
the mean of the patches where there is none. It is an inner product since a cosine is flat where an
image is compared with itself, so that gradients would say nothing.

```pycon
>>> dino = explain("demo/vit-dino", churches[0], "integrated_gradients", target="embedding")
>>> dino.targets
('embedding',)
```

On the command line: `--target embedding`, `--target detection`, `--target similar:FILE`.

## Gradients

Gradients are of the target's number, for a class its logit. Saliency and SmoothGrad take, of the
three colour channels,
the value that is largest in size; input times gradient and integrated gradients sum them, so that
the latter add up (nearly, with 32 steps) to the difference that the class's logit makes. Grad-CAM
reads a ViT at the first norm of each block, since the gradient at the patches of the last block's
output is zero where only the class token is read; of CNNs it reads the stages. It is not
rectified: the sign "positive" does that when it is scored.

Guided backpropagation, DeepLIFT and LRP treat ReLUs in their own way. Where a network has none they
raise, since what is left would be the plain gradient under another name. DeepLIFT checks that its
contributions add up to what the class gains, LRP that relevance is kept, each for every image; past
`tolerance` it raises and names the modules without a rule.

## Changed copies

Occlusion, RISE, LIME, kernel SHAP, Score- and Ablation-CAM ask the network about hundreds of
changed copies of an image. Batches are always full, with copies of several images in one. LIME and
kernel SHAP change superpixels (SLIC); kernel SHAP's values add up exactly to the difference between
the image and the plain one, and where all coalitions fit into `samples` they are the Shapley
values. RISE takes the mean score off before it weighs its masks, so that a network that says
nothing gives a map of 0; `form="paper"` does not. Their maps have signs: what is below 0 speaks
against the class. A study scores the part above 0 unless it says otherwise.

## Do they find what decides?

`python -m benchmarks.deciding` asks 28 methods about [Facades](facades.md), where it is known what
decides: do maps lie on it, and do they leave a part that is rebuilt in another style? Each of them
beats every baseline on at least one of four models, none on all
([Benchmarks](benchmarks.md#what-decides)). Not asked: `pool` and `drise`, for which no model that
ships has the means.

## Memory, batches and bits

`batch` is how many images (or noisy copies, or steps) are in memory at once. Unless given it is
chosen from free memory, at most 16, and kept in `maps.params`. Random numbers are drawn from the
image itself and the parameter `seed`: they do not depend on the batch or on the order of the
images. A network is left as it was found: mode, gradients, hooks, random state, also after an
error.

## The methods
"""
GROUPS = {
    "attention": "Attention",
    "gradient": "Gradients of the input",
    "cam": "Class activation",
    "perturbation": "Changed copies",
    "baseline": "Baselines, which know nothing of the model",
}


def section(method: Method) -> str:
    """Return the card of a method."""
    scope = [word for word, has in (("layers", method.layered), ("heads", method.headed)) if has]
    facts = {
        "Sign": method.sign,
        "Needs": ", ".join(method.needs) or "nothing",
        "Maps by": " and ".join(scope) or "image",
        "Forward passes": method.cost,
        "Backward": "yes" if method.gradients else "no",
        "Parameters": "".join(
            f"\n    - `{name}={value!r}`: {method.about[name]}"
            for name, value in method.params.items()
        ),
        "Paper": method.paper,
    }
    lines = "\n".join(f"- {name}: {value}" for name, value in facts.items() if value)
    lines = lines.replace(": \n", ":\n")
    return f"#### {method.name}\n\n{method.what}\n\n{lines}\n"


def render() -> str:
    """Return the page."""
    parts = [HEAD]
    for group, title in GROUPS.items():
        found = [method for method in METHODS.values() if method.group == group]
        parts += [f"### {title}\n", *map(section, found)]
    return "\n".join(parts)


def draw() -> None:
    """Draw the picture of the page, by the command that stands above it."""
    with TemporaryDirectory() as folder:
        write_facades(load_dataset("facades", count=2, seed=7), folder)
        options = Options(
            [Path(folder) / "images"], "demo/vit", SHOWN, layers="3,7,11", out=PICTURE
        )
        explain_images(options, lambda *_: None)


if __name__ == "__main__":
    PAGE.write_text(render(), "utf-8")
    draw()
