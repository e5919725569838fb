"""The training itself: a classifier on embeddings, and with the network below it."""

from __future__ import annotations

import math
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn import functional

from sightline.core import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from torch import Tensor

    from sightline.models import Model
    from sightline.models.finetuning.pictures import Pictures
    from sightline.models.finetuning.settings import Settings

__all__ = ["History", "Sight", "learn_head", "learn_network", "measure", "reproducible"]

_WARM = 0.05  # share of the steps over which the rate rises


@dataclass
class History:
    """Losses by epoch, and which was the best."""

    epochs: list[dict[str, float]] = field(default_factory=list)
    best: int = 0

    def add(self, training: float, loss: float, accuracy: float) -> bool:
        """Note an epoch; return whether it is the best so far."""
        self.epochs.append(
            {"training_loss": training, "validation_loss": loss, "validation_accuracy": accuracy}
        )
        if not math.isfinite(training + loss):
            seen = f"{training} in training, {loss} in validation"
            raise InputError(f"the loss of epoch {len(self.epochs)} is {seen}: try a smaller rate")
        better = loss < self.epochs[self.best]["validation_loss"] or len(self.epochs) == 1
        self.best = len(self.epochs) - 1 if better else self.best
        return better

    def is_over(self, patience: int) -> bool:
        """Return whether the best epoch is long ago."""
        return len(self.epochs) - 1 - self.best >= patience


@dataclass(frozen=True)
class Sight:
    """What a classifier sees in training and validation: features with class numbers."""

    training: tuple[Tensor, Tensor]
    validation: tuple[Tensor, Tensor]


@contextmanager
def reproducible(seed: int, device: torch.device) -> Iterator[torch.Generator]:
    """Yield a generator of the seed; torch's own begins from it too, and is put back after."""
    devices = [device.index or 0] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        yield torch.Generator().manual_seed(seed)


def _schedule(optimiser: torch.optim.Optimizer, rate: float, step: int, total: int) -> None:
    """Set the rate of a step, counted from 0: a short rise, then half a cosine down."""
    warm = min(1.0, (step + 1) / max(_WARM * total, 1.0))
    for group in optimiser.param_groups:
        group["lr"] = rate * warm * 0.5 * (1 + math.cos(math.pi * step / total))


def learn_head(
    sight: Sight, classes: int, settings: Settings, rng: torch.Generator
) -> tuple[nn.Linear, History]:
    """Return the linear classifier of features that foresees the validation images best.

    Features are centred and scaled for the training, which then is undone in the weights.
    """
    features, numbers = sight.training
    middle, scale = features.mean(0), features.std(0, correction=0).clamp(min=1e-6)
    head = nn.Linear(features.shape[1], classes, device=features.device)
    nn.init.zeros_(head.weight)
    nn.init.zeros_(head.bias)
    inputs = ((features - middle) / scale, numbers)
    checked = ((sight.validation[0] - middle) / scale, sight.validation[1])

    def steps(order: Tensor) -> Iterator[Tensor]:
        for rows in order.to(numbers.device).split(settings.batch or 1):
            yield functional.cross_entropy(head(inputs[0][rows]), inputs[1][rows])

    def check() -> tuple[float, float]:
        with torch.no_grad():
            return _loss_and_accuracy(head(checked[0]), checked[1])

    history = _learn(head.parameters(), len(numbers), steps, check, settings, rng)
    with torch.no_grad():
        head.weight.div_(scale)
        head.bias.sub_(head.weight @ middle)
    return head, history


def learn_network(
    model: Model,
    training: Pictures,
    validation: Pictures,
    settings: Settings,
    rng: torch.Generator,
    move: Callable[[], object] = lambda: None,
) -> History:
    """Train those parameters of a model with classes that require gradients.

    Running statistics of batch normalisation stay as they are. Where adapters are trained, the
    network is in evaluation, so that it drops nothing.
    """
    network = model.network
    wanted = [p for p in network.parameters() if p.requires_grad]
    whole = all(p.requires_grad for p in network.parameters())

    def steps(order: Tensor) -> Iterator[Tensor]:
        _set_mode(network, whole)
        for rows in order.split(settings.batch or 1):
            logits: Any = model(training.take(rows)).logits
            yield functional.cross_entropy(logits, training.numbers[rows.to(logits.device)])
            move()

    def check() -> tuple[float, float]:
        return measure(model, validation, settings.batch or 1)

    return _learn(wanted, len(training), steps, check, settings, rng)


def _set_mode(network: nn.Module, whole: bool) -> None:
    network.train(whole)
    for module in network.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            module.eval()


def _learn(
    parameters: Iterable[nn.Parameter],
    count: int,
    steps: Callable[[Tensor], Iterator[Tensor]],
    check: Callable[[], tuple[float, float]],
    settings: Settings,
    rng: torch.Generator,
) -> History:
    """Follow the gradient of the losses that `steps` yields; keep the best epoch's parameters."""
    wanted = list(parameters)
    rate, epochs = settings.rate or 0.0, settings.epochs or 1
    optimiser = torch.optim.AdamW(wanted, rate, weight_decay=settings.decay)
    total, step, history = epochs * -(-count // (settings.batch or 1)), 0, History()
    best: list[Tensor] = []
    for _ in range(epochs):
        losses = []
        for loss in steps(torch.randperm(count, generator=rng)):
            _schedule(optimiser, rate, step, total)
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(wanted, 1.0)
            optimiser.step()
            losses.append(loss.detach())
            step += 1
        mean = float(torch.stack(losses).mean())
        if history.add(mean, *check()):
            best = [p.detach().clone() for p in wanted]
        if history.is_over(settings.patience or 1):
            break
    with torch.no_grad():
        for parameter, value in zip(wanted, best, strict=True):
            parameter.copy_(value)
    return history


def measure(model: Model, pictures: Pictures, batch: int) -> tuple[float, float]:
    """Return the mean cross-entropy and the accuracy of a model with classes."""
    model.network.eval()
    with torch.no_grad():
        logits: list[Any] = [model(pixels).logits for pixels, _ in pictures.batches(batch)]
    return _loss_and_accuracy(torch.cat(logits), pictures.numbers)


def _loss_and_accuracy(logits: Tensor, numbers: Tensor) -> tuple[float, float]:
    loss = functional.cross_entropy(logits, numbers)
    return float(loss), float((logits.argmax(1) == numbers).double().mean())
