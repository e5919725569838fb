"""From a model and labelled images to a variant in a folder."""

from __future__ import annotations

import platform
from copy import deepcopy
from dataclasses import asdict, dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, NamedTuple

from sightline.core import InputError
from sightline.data import Dataset
from sightline.models.finetuning.adapters import adapted_weights, add_adapters, save_adapters
from sightline.models.finetuning.images import (
    Chosen,
    HeldOut,
    Progress,
    choose_images,
    describe_held_out,
)
from sightline.models.finetuning.pictures import Pictures, embeddings_of, read_pictures
from sightline.models.finetuning.settings import Settings
from sightline.models.finetuning.training import (
    History,
    Sight,
    learn_head,
    learn_network,
    measure,
    reproducible,
)
from sightline.models.finetuning.variant_folder import (
    check_folder,
    delta_of,
    replacing_folder,
    write_tensors,
)
from sightline.models.hooks import undisturbed
from sightline.models.recipes import RECIPE, Recipe, read_recipe
from sightline.models.variants import (
    DELTA,
    HEAD,
    add_head,
    load_variant,
    weight_digests,
    weights_digest,
)

if TYPE_CHECKING:
    from os import PathLike
    from pathlib import Path

    import torch
    from torch import nn

    from sightline.models import Model

__all__ = ["Finetuned", "finetune"]

_PACKAGES = ("sightline", "torch", "transformers", "peft", "safetensors", "numpy", "pillow")


@dataclass(frozen=True, eq=False)
class Finetuned:
    """A variant that was made.

    Attributes
    ----------
    model : Model
        The variant, as it is loaded from its folder.
    recipe : Recipe
        How it was made, and what was measured.
    folder : Path
        Where it lies.
    """

    model: Model
    recipe: Recipe
    folder: Path


def finetune(
    model: Model,
    data: Dataset | Chosen,
    strategy: str,
    folder: str | PathLike[str],
    *,
    held_out: HeldOut = None,
    settings: Settings | None = None,
    force: bool = False,
    progress: Progress = lambda done, total, what: None,
) -> Finetuned:
    """Train a classifier on a model and write the variant to a folder.

    The classes are the labels of the images. The classifier is linear, on the model's embedding:
    the class token, or the mean of the patches where there is none. It is trained first, with the
    network as it is; that is the whole of a linear probe. LoRA then trains it with adapters in
    the attention layers, "full" with all weights. The epoch that explains the validation images
    best is kept. The model itself is left as it is.

    Parameters
    ----------
    model : Model
        What to begin from.
    data : Dataset or Chosen
        Images with labels, or what `choose_images` made of them.
    strategy : {"linear_probe", "lora", "full"}
        What is trained.
    folder : path
        New, empty, or a variant's with `force`.
    held_out : Dataset, mapping of str to Annotation, or "annotated"
        What maps will be scored on; see `choose_images`.
    settings : Settings, optional
        Epochs, rate, seed and other choices.
    force : bool
        Replace a variant that is there.
    progress : callable
        Called with what is done, the total and a word.

    Raises
    ------
    InputError
        If an image is held out, the folder is taken, or something else does not fit.

    Notes
    -----
    Figures are measured with what is in the folder. The accuracy of the validation images is a
    little too good, since the epoch was chosen by them; that of the held-out images is not.
    """
    chosen = (settings or Settings()).of(strategy)
    path = check_folder(folder, force)
    if isinstance(data, Chosen) and held_out is not None:
        raise InputError("held_out is for a data set: give it to choose_images, which chose these")
    if isinstance(data, Dataset):
        data = choose_images(data, held_out=held_out, seed=chosen.seed, progress=progress)
    job = _Job(model, data, strategy, chosen, progress)
    with reproducible(chosen.seed, model.device) as rng, replacing_folder(path, force) as part:
        pictures = {
            "training": job.read(data.training, "training images"),
            "validation": job.read(data.validation, "validation images"),
        }
        recipe = _train(job, pictures["training"], pictures["validation"], part, rng)
        variant = load_variant(model, part, name=f"{model.name}@{path}")
        recipe = replace(recipe, figures=_figures(job, variant, recipe, pictures))
        (part / RECIPE).write_text(recipe.to_json(), "utf-8")
    variant.network.recipe = read_recipe(path)
    return Finetuned(variant, variant.network.recipe, path)


class _Job(NamedTuple):
    """What is to be done."""

    model: Model
    chosen: Chosen
    strategy: str
    settings: Settings
    progress: Progress

    @property
    def batch(self) -> int:
        """Images in a pass without gradients."""
        return min(self.settings.batch or 1, 64)

    def read(self, data: Dataset, what: str) -> Pictures:
        """Return the images of one part."""
        return read_pictures(
            self.model,
            data,
            self.chosen.classes,
            lambda done: self.progress(done, len(data), f"Reading {what}"),
        )


def _train(
    job: _Job, training: Pictures, validation: Pictures, folder: Path, rng: torch.Generator
) -> Recipe:
    """Train, write the files, and return the recipe, whose figures are still to be measured."""
    head, history = _probe(job, training, validation, rng)
    weights: dict[str, str] = {}
    if job.strategy != "linear_probe":
        head, history, weights = _deepen(job, (training, validation), head, rng, folder)
    write_tensors(dict(head.state_dict()), folder / HEAD)
    recipe = Recipe(
        job.model.name,
        weights_digest(job.model.network),
        job.strategy,
        job.chosen.classes,
        {"size": list(job.model.preprocess.size or ()), "fit": job.model.preprocess.fit},
        {**asdict(job.settings), "device": job.model.device.type},
        job.chosen.source,
        describe_held_out(job.chosen.held_out),
        job.chosen.training.ids,
        job.chosen.validation.ids,
        job.chosen.left_out,
        _counts(training, job.chosen.classes),
        tuple(history.epochs),
        {"best_epoch": history.best + 1},
        _versions(),
        weights,
    )
    (folder / RECIPE).write_text(recipe.to_json(), "utf-8")
    return recipe


def _probe(
    job: _Job, training: Pictures, validation: Pictures, rng: torch.Generator
) -> tuple[nn.Linear, History]:
    """Return the linear classifier of the network as it is."""
    total = len(training) + len(validation)

    def seen(pictures: Pictures, before: int) -> tuple[torch.Tensor, torch.Tensor]:
        found = embeddings_of(
            job.model,
            pictures,
            job.batch,
            lambda done: job.progress(before + done, total, "Looking at images"),
        )
        return found.float(), pictures.numbers

    sight = Sight(seen(training, 0), seen(validation, len(training)))
    usual = job.settings if job.strategy == "linear_probe" else _probe_settings(job.settings)
    return learn_head(sight, len(job.chosen.classes), usual, rng)


def _probe_settings(settings: Settings) -> Settings:
    """Return the usual settings of a linear probe, with the seed of another training."""
    return Settings(seed=settings.seed, decay=settings.decay).of("linear_probe")


def _deepen(
    job: _Job,
    parts: tuple[Pictures, Pictures],
    head: nn.Linear,
    rng: torch.Generator,
    folder: Path,
) -> tuple[nn.Linear, History, dict[str, str]]:
    """Train the network with the classifier; write what changed in it."""
    base = job.model.network
    copied = deepcopy(job.model)
    adapters: Any = None
    if job.strategy == "lora":
        adapters = add_adapters(copied.network, job.settings, job.model.name)
    model = add_head(copied, head, job.chosen.classes, job.model.name)
    for name, parameter in model.network.named_parameters():
        low = "lora_" in name or name.startswith("head.")
        parameter.requires_grad_(adapters is None or low)
    history = learn_network(model, *parts, job.settings, rng, _mover(job, len(parts[0])))
    digests = weight_digests(base)
    if adapters is not None:
        changed = adapted_weights(copied.network)
        save_adapters(copied.network, adapters, job.model.name, folder)
    else:
        delta = delta_of(copied.network, base)
        changed = list(delta)
        write_tensors(delta, folder / DELTA)
    return head, history, {name: digests[name] for name in changed}


def _mover(job: _Job, count: int) -> Any:
    """Return a function that tells that one more step is done."""
    steps = -(-count // (job.settings.batch or 1))
    total, done = steps * (job.settings.epochs or 1), 0

    def move() -> None:
        nonlocal done
        done += 1
        epoch = f"epoch {-(-done // steps)} of up to {job.settings.epochs}"
        job.progress(done, total, f"Training, {epoch}")

    return move


def _figures(
    job: _Job, variant: Model, recipe: Recipe, pictures: dict[str, Pictures]
) -> dict[str, float]:
    """Return what is measured with the variant as it was saved."""
    commonest = max(recipe.counts.values()) / sum(recipe.counts.values())
    found = {**recipe.figures, "guess": commonest}
    if isinstance(job.chosen.held_out, Dataset):
        labelled = _labelled(job.chosen.held_out, job.chosen.classes)
        if len(labelled):
            pictures = {**pictures, "held_out": job.read(labelled, "held-out images")}
    for name, some in pictures.items():
        job.progress(0, 1, f"Measuring on {name.replace('_', '-')} images")
        with undisturbed(variant.network):
            found[f"accuracy_{name}"] = measure(variant, some, job.batch)[1]
        found[f"images_{name}"] = len(some)
    return found


def _labelled(data: Dataset, classes: tuple[str, ...]) -> Dataset:
    """Return the images whose only label is one of the classes."""
    return data.select(
        sample.image_id
        for sample in data
        if len(sample.labels) == 1 and sample.labels[0] in classes
    )


def _counts(pictures: Pictures, classes: tuple[str, ...]) -> dict[str, int]:
    numbers = pictures.numbers.tolist()
    return {name: numbers.count(number) for number, name in enumerate(classes)}


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
