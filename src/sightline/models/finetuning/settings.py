"""How a variant is trained."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

from sightline.core import InputError
from sightline.models.recipes import STRATEGIES

__all__ = ["Settings"]

# Of each strategy: epochs, batch, rate, patience.
_USUAL: dict[str, tuple[int, int, float, int]] = {
    "linear_probe": (100, 256, 1e-2, 10),
    "lora": (20, 32, 1e-3, 3),
    "full": (20, 32, 1e-4, 3),
}


@dataclass(frozen=True)
class Settings:
    """Choices of a training; None where the strategy has its own.

    Attributes
    ----------
    epochs : int, optional
        At most so many times through the images: 100 for a linear probe, else 20.
    batch : int, optional
        Images in a step: 256 for a linear probe, else 32.
    rate : float, optional
        Largest step: 0.01 for a linear probe, 0.001 for LoRA, 0.0001 for all weights. It rises
        over the first 5% of the steps and then falls to 0 along half a cosine.
    patience : int, optional
        Stop after so many epochs in which the validation images are not explained better than
        before: 10 for a linear probe, else 3.
    decay : float
        Weight decay of AdamW.
    seed : int
        Decides the split, the order of the images and what networks draw while they train.
    rank : int
        LoRA: width of the adapters.
    alpha : float, optional
        LoRA: adapters are scaled by alpha / rank; twice the rank unless given.
    targets : tuple of str
        LoRA: ends of the names of the linear layers that get adapters; those that make queries
        and values (`q_proj`, `v_proj`) unless given.

    Examples
    --------
    >>> Settings(seed=3).of("lora").rate
    0.001
    """

    epochs: int | None = None
    batch: int | None = None
    rate: float | None = None
    patience: int | None = None
    decay: float = 0.01
    seed: int = 0
    rank: int = 8
    alpha: float | None = None
    targets: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, least in (("epochs", 1), ("batch", 1), ("patience", 1), ("seed", 0), ("rank", 1)):
            _check_whole(name, getattr(self, name), least, name in ("seed", "rank"))
        for name in ("rate", "alpha", "decay"):
            _check_size(name, getattr(self, name), zero=name == "decay")
        given: Any = self.targets
        listed = isinstance(given, tuple | list)
        if not listed or not all(isinstance(one, str) and one for one in given):
            raise InputError(f"targets must be names of layers, got {self.targets!r}")

    def of(self, strategy: str) -> Settings:
        """Return the settings with the strategy's own where none were given."""
        if strategy not in STRATEGIES:
            raise InputError(f"strategy must be one of {', '.join(STRATEGIES)}, got {strategy!r}")
        given = (self.epochs, self.batch, self.rate, self.patience)
        values: list[Any] = [
            usual if one is None else one
            for one, usual in zip(given, _USUAL[strategy], strict=True)
        ]
        names = ("epochs", "batch", "rate", "patience")
        alpha = 2.0 * self.rank if self.alpha is None else self.alpha
        return replace(self, **dict(zip(names, values, strict=True)), alpha=alpha)


def _check_whole(name: str, value: Any, least: int, needed: bool) -> None:
    if value is None and not needed:
        return
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise InputError(f"{name} must be {least} or more, got {value!r}")


def _check_size(name: str, value: Any, *, zero: bool) -> None:
    if value is None and not zero:
        return
    number = isinstance(value, float | int) and isfinite(value) and value >= 0
    if not number or (value == 0 and not zero):
        raise InputError(f"{name} must be {'0 or more' if zero else 'above 0'}, got {value!r}")
