"""Studies and benchmarks to start from."""

from __future__ import annotations

from string import Template
from typing import TYPE_CHECKING, Literal, TypeAlias

from sightline.core import InputError
from sightline.data.datasets import DATASETS
from sightline.study.config.benchmark import DataChoice
from sightline.study.config.files import parse_study, quoted
from sightline.study.config.model import Study

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "Kind",
    "demo_benchmark",
    "demo_study",
    "example_benchmark",
    "new_study",
    "photos_study",
]

Kind: TypeAlias = Literal["facades", "folder", "maps"]


def demo_study() -> Study:
    """Return the study that `sightline demo` runs: drawn church fronts and the shipped models.

    Examples
    --------
    >>> study = demo_study()
    >>> study.data.count, [model.full for model in study.models]
    (120, ['demo/vit', 'demo/vit@seed2', 'demo/vit-dino', 'demo/cnn'])
    """
    gradients = {
        "name": "integrated_gradients",
        "params": {"steps": 16},
        "models": ["demo/vit", "demo/cnn"],
    }
    baselines = ["random", "smooth_random", "centre", "edge", "mean_map"]
    return Study.from_dict(
        {
            "name": "demo",
            "data": {"name": "facades", "count": 120, "seed": 7, "labelling": "representative"},
            "models": ["demo/vit", "demo/vit@seed2", "demo/vit-dino", "demo/cnn"],
            "methods": ["cls", "mean", "rollout", "gradcam", gradients, *baselines],
            "resolution": "pixels",
            "checks": _demo_checks(),
        }
    )


def _demo_checks() -> dict[str, dict[str, object]]:
    """Return checks that are quick enough for a demo: of some methods, on few images."""
    models = ["demo/vit", "demo/cnn"]
    return {
        "randomisation": {"images": 6, "methods": ["cls", "gradcam", "edge"], "models": models},
        "faithfulness": {
            "measures": ["deletion", "insertion"],
            "steps": 10,
            "images": 6,
            "methods": ["gradcam"],
            "models": ["demo/cnn"],
        },
        "parts": {"images": 24, "methods": ["cls", "rollout", "gradcam"], "models": models},
    }


def demo_benchmark() -> tuple[str, DataChoice]:
    """Return the analyses of prototypes that `sightline demo` ends with, and the images for them.

    Examples
    --------
    >>> text, images = demo_benchmark()
    >>> "relevance_analysis:" in text, images.count
    (True, 24)
    """
    return _DEMO_BENCHMARK, DataChoice("facades", count=24, options={"seed": 7})


_DEMO_BENCHMARK = """\
# What `sightline demo` asks of the prototypes of demo/protopnet: `sightline benchmark --example`
# explains each key.
relevance_analysis:
  prototype_info_db: prototype_relevance.csv
  patch_info_db: patch_relevance.csv
local_perturbation_analysis:
  info_db: local_perturbation.csv
  global_stats: global_stats.csv
"""


def example_benchmark() -> str:
    """Return the text of a file to start from: every key with what it means.

    Examples
    --------
    >>> from sightline.study.config.benchmark import parse_benchmark
    >>> parse_benchmark(example_benchmark()).quiet
    False
    """
    return _EXAMPLE


def photos_study() -> Study:
    """Return the study that `sightline demo --photos` runs: photographs and an ImageNet model.

    Examples
    --------
    >>> photos_study().resolution
    224
    """
    gradients = {"name": "integrated_gradients", "params": {"steps": 16}}
    explained = ["cam", "gradcam", "layercam", "eigencam", "saliency", gradients, "fullgrad"]
    baselines = ["random", "smooth_random", "centre", "edge", "mean_map"]
    return Study.from_dict(
        {
            "name": "photos",
            "data": "photos",
            "models": ["pypi:efficientnet_lite0"],
            "methods": [*explained, *baselines],
            "resolution": 224,  # at full size no two would share a shape, as tests of chance need
        }
    )


def new_study(
    name: str = "my-study",
    *,
    kind: Kind = "facades",
    data: str | None = None,
    path: str | None = None,
    models: Sequence[str] | None = None,
    maps: str | None = None,
) -> str:
    """Return the text of a study file to start from: every key with what it means.

    Parameters
    ----------
    name : str
        Of the study.
    kind : {"facades", "folder", "maps"}
        facades: church fronts drawn by code, and shipped models. folder: images of your own, and a
        model from the hub or a folder. maps: images and maps of your own, without a model.
    data, path : str, optional
        The data set and where it is, for kinds that have files: a folder of images unless given.
    models : sequence of str, optional
        Names of models, for kinds that have them.
    maps : str, optional
        Folder or file of the maps, for the kind that has them.

    Raises
    ------
    InputError
        If a value does not fit the kind or the study.

    Examples
    --------
    >>> text = new_study("first", kind="maps", maps="heatmaps")
    >>> parse_study(text).methods[0].params["maps"]
    'heatmaps'
    """
    _check(kind, data, path, models, maps)
    values = {
        "name": quoted(name),
        "data": quoted(data or ("facades" if kind == "facades" else "folder")),
        "path": "null" if path is None and _needs_no_files(data) else quoted(path or "data"),
        "models": "\n".join(f"  - {quoted(model)}" for model in models or _MODELS[kind]),
        "maps": quoted(maps or "maps"),
        "datasets": ", ".join(known for known, spec in DATASETS.items() if spec.layout),
    }
    text = Template(_HEAD + _PARTS[kind] + _REST).substitute(values)
    parse_study(text, "new study")
    return text


def _needs_no_files(data: str | None) -> bool:
    return data is not None and data in DATASETS and not DATASETS[data].layout


def _check(
    kind: str,
    data: str | None,
    path: str | None,
    models: Sequence[str] | None,
    maps: str | None,
) -> None:
    """Raise for values that a kind has no place for."""
    if kind not in _PARTS:
        raise InputError(f"kind must be one of {', '.join(_PARTS)}, got {kind!r}")
    if isinstance(models, str):
        raise InputError(f"models must be a list of names, got the text {models!r}")
    for key, value in (("data", data if data != "facades" else None), ("path", path)):
        if kind == "facades" and value is not None:
            text = f"a study of kind 'facades' draws its images: leave {key} out, got {value!r}"
            raise InputError(text)
    if kind == "maps" and models:
        raise InputError("a study of kind 'maps' has no models: leave models out")
    if kind != "maps" and maps is not None:
        raise InputError(f"maps are for a study of kind 'maps', got {maps!r} for {kind!r}")


_MODELS: dict[str, tuple[str, ...]] = {
    "facades": ("demo/vit", "demo/vit-dino"),
    "folder": ("hf:facebook/dinov2-small",),
    "maps": (),
}

_HEAD = """\
# A study of Sightline: which images, which models, which maps, which scores.
#
#   sightline run THIS-FILE --dry-run    shows what would be computed, and how long it may take
#   sightline run THIS-FILE              computes it; stopped half-way, the same line goes on
#
# Lines that begin with # are notes. A key behind a # has the value shown: take the # away to
# change it. Unknown keys and values that do not fit are errors that say what was expected.

# Name of the study, and of the folder that its results go to.
name: $name
"""

_SCORED = """\
  # What maps are scored against: given; completed by people who reviewed proposals (`sightline
  # propose`, `sightline review`); or gold, drawn without, on the gold images alone. The last two
  # need the folder of the review. A model is not scored against what it proposed unless allowed.
  # annotations: given
  # review: null
  # shared_weights: refuse
"""

_FACADES = (
    """
# The images and what people annotated in them. facades are church fronts drawn by code, on which
# every part is known. For files, give the name of the data set and its path instead:
# $datasets.
data:
  name: $data
  # How many are drawn.
  count: 60
  # Other seeds give other facades.
  seed: 0
  # Which parts are annotated. exhaustive: all. representative: one of each type, at random, as in
  # many real data sets. salient: one of each type, the most conspicuous.
  labelling: exhaustive
  # Only one split: train or test.
  # split: null
"""
    + _SCORED
    + """\

# The models that look (`sightline models` lists those that are shipped). Others: hf:FOLDER for
# weights in a folder, hf:ID for the Hugging Face hub, timm:NAME for timm. model@variant is a
# variant of a model. A model that wants images fitted in another way than the rest:
#   - {model: demo/cnn, variant: "", fit: letterbox}
models:
$models

# How maps are made (`sightline methods` lists the ways). What a model lacks the means for is left
# out, and said. random and centre know nothing of the image: they show what a score is worth.
# With parameters of its own, or for some of the models only:
#   - name: integrated_gradients
#     params: {steps: 16}
#     models: [demo/vit]
methods:
  - cls
  - rollout
  - gradcam
  - random
  - centre
"""
)

# Data that lie in files.
_FILES = (
    """
# The images and what people annotated in them. folder is a folder of images with one file of
# regions, annotations.json or annotations.csv. With files there are:
# $datasets.
# `sightline inspect` shows what a data set holds and what is wrong with it.
data:
  name: $data
  # Where it is. A relative path starts from the folder of this file.
  path: $path
  # Only the first so many images; all of them unless given.
  # count: null
  # Only the images of one split.
  # split: null
"""
    + _SCORED
    + """\
  # For facades only, which are drawn:
  # seed: null
  # labelling: null

"""
)

_FOLDER = (
    _FILES
    + """\
# The models that look. hf:ID is a model of the Hugging Face hub; hf:FOLDER one whose weights and
# config.json are in a folder, from the folder of this file; timm:NAME one of timm; demo/vit and
# others are shipped (`sightline models` lists them). model@variant is a variant of a model.
# A model that wants images fitted in another way than the rest:
#   - {model: hf:my-weights, variant: "", fit: crop}
models:
$models

# How maps are made (`sightline methods` lists the ways). What a model lacks the means for is left
# out, and said: gradcam, for one, needs a model with classes. random and centre know nothing of
# the image: they show what a score is worth.
# With parameters of its own, or for some of the models only:
#   - name: rollout
#     params: {discard: 0.5}
#     models: [demo/vit]
methods:
  - cls
  - rollout
  - random
  - centre
"""
)

_MAPS = (
    _FILES
    + """\
# No models run in this study: the maps are there. To make maps as well, name models here
# (`sightline models` lists them) and methods below (`sightline methods` lists those):
# models: [demo/vit]

# Maps made elsewhere, an entry for each way they were made, under any name. maps is a folder of
# .npy files, one for each image and named as it, or one .npz or .safetensors file. model is what
# to call the model in the results. sign is needed where values are negative: positive (below 0
# counts as 0), absolute (the distance from 0), or signed (only their order). channels is needed
# for maps of shape (3, height, width), of RGB inputs: mean_abs, sum or max_abs.
methods:
  - name: my-method
    params:
      maps: $maps
      model: my-model
      # sign: absolute
      # channels: mean_abs
"""
)

_REST = """
# Which layers, counted from 0; -1 is the last: all, a number, or a list. One pass makes all.
# layers: all

# Which attention heads: null fuses the heads of a layer; all, a number, or a list scores them one
# by one, at as many times the rows.
# heads: null

# What methods that explain something explain: predicted (what the model says), label (what is
# annotated), classes by name or number, or embedding (the model's view of the image; needs no
# classes). Several are scored beside each other.
# targets: [predicted]

# The scores, as metric or metric@threshold: coverage, iou@90, recall@mass60, iou@matched.
# `sightline metrics` lists them with their chance values. A metric that needs a threshold has one
# score for each that selection gives.
metrics: [coverage, average_precision, auc_roc, relevance_rank, pointing, iou, recall]

# Which pixels count as looked at: percentile (the top share, below), massNN (the fewest that hold
# NN percent of the map, as mass60), mean (those above it), matched (as many as are annotated).
# selection: [percentile]

# Percentile 90 selects the top 10 percent of the pixels.
percentiles: [95, 90, 85, 80, 75, 70, 60, 50]

# Whether each region is scored too, and not only all of an image together. Results by label need
# it.
# regions: true

# Where maps are scored. grid: on the cells of the model (14 by 14, say): fast, and no value is
# invented, but regions smaller than a cell are widened to one. pixels: on those of the image, the
# map brought to its size: slower, and right for small regions and for comparing models whose grids
# differ. A number: as pixels, with this longer side (224, say).
resolution: grid

# How values of maps are read, by all metrics alike. positive: below 0 counts as 0. absolute: the
# distance from 0. signed: only their order counts, so that metrics of energy, like coverage, are
# not to be had. null: as each method means its own.
# sign: null

# Pixels of equal value at a threshold. share: each takes an equal part of the place that is left,
# so that exactly the top share is selected and a constant map scores chance. include: all are
# selected, as `map >= quantile` does in many papers.
# ties: share

# How images are brought to the input of a model. squash: the whole image, stretched. crop: the
# middle, as many models were trained; what lies outside cannot be seen, and each score says how
# much that is. letterbox: the whole image, with borders. native: its own size, where a model
# allows it.
# fit: squash

# Seeds of methods that draw random numbers, as random does. Each is computed on its own; several
# show how much is luck. Other methods are computed once.
# seeds: [0]

# How many images go through a model at once: null chooses by the memory of the machine. Fewer need
# less of it; the number belongs to the settings, since rounding differs a little between batches.
# batch: null

# Whether maps are kept beside the scores. grid: as the model gave them, for pictures and for
# mean_map, which is made of them. none: scores only.
# keep_maps: grid

# Checks of the maps, which run models again and take as much time as many methods; none unless
# asked for. randomisation: do maps change when what the network learnt is replaced by random
# numbers? faithfulness: does the model's score change when what a map ranks first is taken away?
# parts (facades only): do maps rank first the parts that decide the class? Each takes `methods`,
# `models` (some of the study's; null for all) and `layers` (last: the study's last; all; or
# numbers). The best layer is known only after the run: `sightline sanity RUN` checks it. With the
# usual options written out:
#   checks:
#     randomisation: {ways: [full, top-down], seeds: 5, images: 32, layers: last}
#     faithfulness: {measures: null, steps: 20, images: 32, layers: last}
#     parts: {images: 64, layers: last}
# checks: {}

# What runs the study: local, this machine, or ray, a Ray cluster. workers is how many processes
# share the work; null chooses. For ray: address, HOST:PORT of a cluster's head (null starts one on
# this machine), and gpus, how many GPUs each worker has. Results do not depend on any of them.
# engine: {kind: local, workers: null, address: null, gpus: null}
"""

_PARTS: dict[str, str] = {"facades": _FACADES, "folder": _FOLDER, "maps": _MAPS}

_EXAMPLE = """\
# How the prototypes of a model are analysed by
#
#   sightline benchmark THIS-FILE --model demo/protopnet --data facades --out DIR
#
# Either section may be left out. Lines that begin with # are notes; a key behind a # has the value
# shown: take the # away to change it. Paths start from DIR and stay in it; tables end in .csv or
# .parquet. Unknown keys and values that do not fit are errors that say what was expected.

# Do prototypes, and what images have in common with them, lie on the object? Of the attribution of
# each: energy relevance, the share of all of it inside the segmentation, and mask relevance, the
# share of the most relevant pixels inside. Chance is the segmentation's share of the image.
relevance_analysis:
  # Table with a line for each prototype: on the image that it was taken from.
  prototype_info_db: prototype_relevance.csv
  # Table with a line for each image: the patch that is most similar to a prototype.
  patch_info_db: patch_relevance.csv
  # Share of the image that counts as most relevant: 0.1 is 10%.
  area_percentage: 0.1
  # Whether pictures of the maps are saved, in debug/.
  debug_mode: false
  # Only one in so many images is analysed. The numbers of images stay those of all images.
  sampling_ratio: 1
  # How many of the most similar prototypes of each image.
  num_prototypes: 1
  # Whether only prototypes of the predicted class are considered, as CaBRNet has it.
  class_specific: false
  # Cell of a prototype's image that is attributed: source, the one it was taken from; or
  # most_similar, the one that is most similar to it now, as CaBRNet has it.
  prototype_cell: source

# What is the similarity made of? Pixels are perturbed where the attribution is high (focused), and
# where it is low (dual); a similarity made of colour drops when the hue is shifted.
local_perturbation_analysis:
  # Table with a line for each image, prototype and perturbation.
  info_db: local_perturbation.csv
  # Table of the prototypes that were covered and the mean drop of each perturbation.
  global_stats: global_stats.csv
  sampling_ratio: 1
  num_prototypes: 1
  class_specific: false
  # Whether all other pixels are perturbed as well. Without it nothing tells what matters.
  enable_dual_mode: true
  # Whether the whole image is perturbed as well.
  enable_global_mode: false
  # Picture of the largest drops: .png, .svg or .pdf.
  distribution_img: max_similarity_drop.png
  # Whether progress and summary are left out of the terminal, as by --quiet.
  quiet: false
  # Whether the focused and dual images are saved, in debug/.
  debug_mode: false
  # What may drop. similarity: to a prototype, at the same place. class_logit: the logit of the
  # class that is predicted, with maps of --method; for any classifier.
  # score: similarity

  # Perturbations. 0.3 leaves 30% of the brightness; the same for contrast and saturation.
  brightness_factor: 0.3
  contrast_factor: 0.2
  saturation_factor: 0.3
  # 0.2 shifts the hue by 20% of its scale. It moves the brightness a little, too.
  hue_factor: 0.2
  # Side of the kernel, an odd number of pixels, and standard deviation of the Gaussian blur. The
  # keys gaussian_noise_ksize and gaussian_noise_sigma mean the same.
  gaussian_blur_ksize: 21
  gaussian_blur_sigma: 2.0
  # Waves over one side of the box of what is relevant, and how far they move pixels.
  distortion_periods: 5
  distortion_amplitude: 7
  # The box holds the top tenth of the pixels (top_area) or, as CaBRNet has it, all above 0.3 of the
  # map's range (threshold); the side is its width or, as CaBRNet has it, the longest.
  # distortion_box: top_area
  # distortion_side: width
  # horizontal, vertical or both.
  # distortion_direction: both

  # In place of these keys: perturbations by name, each a type (brightness, contrast, saturation,
  # hue, blur, distortion) with the params that differ from the usual ones, or a list of such, one
  # after the other; a list may hold lists.
  # perturbations:
  #   dark: {type: brightness, params: {brightness_factor: 0.1}}
  #   grey and blurred:
  #     - {type: saturation, params: {saturation_factor: 0}}
  #     - {type: blur}
"""
