"""How a score answers when an image is changed where a map is high, where it is low, or all over.

Any map with any number that a model says of an image: the similarity of a cell to a prototype, the
logit of a class, or a function of one's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import torch

from sightline.attribution.prototypes._changes import checked_images, checked_maps
from sightline.attribution.prototypes.perturbations import apply_perturbation, blended
from sightline.core import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray
    from torch import Tensor

    from sightline.attribution.prototypes.perturbations import Mode, Perturbation
    from sightline.models import Model

__all__ = ["Perturbed", "Score", "class_score", "perturbed_scores", "prototype_score"]

# Of a CPU's caches, few images of a middling network fill all, and half as many copies.
_CACHED, _MADE = 8, 4

Score: TypeAlias = "Callable[[Tensor, Tensor], Tensor]"
"""Images `(b, 3, height, width)` from 0 to 1, and which pair each belongs to `(b,)`, to `(b,)`."""


def prototype_score(model: Model, prototypes: Tensor, cells: Tensor) -> Score:
    """Return the score of pairs: the similarity of one prototype at one cell.

    Parameters
    ----------
    model : Model
        With prototypes.
    prototypes : Tensor (n,)
        Numbers of the prototypes, one a pair.
    cells : Tensor (n, 2)
        Row and column of the cell, which stays where it is whatever is changed.
    """
    from sightline.attribution.prototypes.matches import normalised, similarity_maps

    if prototypes.ndim != 1 or tuple(cells.shape) != (len(prototypes), 2):
        seen = f"{tuple(prototypes.shape)} and {tuple(cells.shape)}"
        raise InputError(f"prototypes must be (n,) and cells (n, 2), got {seen}")
    chosen = torch.cat((prototypes[:, None], cells), dim=1).long().cpu()

    def score(images: Tensor, index: Tensor) -> Tensor:
        maps = similarity_maps(model, normalised(model, images))
        _check_places(chosen, maps)
        prototype, row, column = chosen.to(maps.device)[index.to(maps.device)].unbind(1)
        return maps[torch.arange(len(maps), device=maps.device), prototype, row, column]

    return score


def _check_places(chosen: Tensor, maps: Tensor) -> None:
    """Raise where a prototype or a cell is not there; negative ones would count from the end."""
    for what, places, count in zip(
        ("prototypes", "rows", "columns"), chosen.unbind(1), maps.shape[1:], strict=True
    ):
        wrong = places[(places < 0) | (places >= count)]
        if len(wrong):
            raise InputError(f"{what} must lie from 0 to {count - 1}, got {int(wrong[0])}")


def class_score(model: Model, classes: Tensor) -> Score:
    """Return the score of pairs: the logit of one class.

    Parameters
    ----------
    model : Model
        Any classifier.
    classes : Tensor (n,)
        Numbers of the classes, one a pair.
    """
    from sightline.attribution.prototypes.matches import normalised
    from sightline.models.hooks import undisturbed

    model.check_classes("a score by class")
    if classes.ndim != 1:
        raise InputError(f"classes must be (n,), got {tuple(classes.shape)}")
    for number in classes.unique().tolist():
        model.class_index(int(number))

    def score(images: Tensor, index: Tensor) -> Tensor:
        with undisturbed(model.network), torch.no_grad():
            logits: Any = model(normalised(model, images)).logits
        chosen = classes.to(logits.device)[index.to(logits.device)]
        return logits.gather(1, chosen[:, None].long())[:, 0]

    return score


class Perturbed(NamedTuple):
    """Scores of n pairs of an image and a map, before and after p perturbations.

    Attributes
    ----------
    original : array (n,)
        Of the images as they are.
    focused : array (n, p)
        Changed where the map is high.
    dual : array (n, p) or None
        Changed where it is low; None if not asked for.
    whole : array (n, p) or None
        Changed all over, as Nauta et al. do; None if not asked for.
    squared_distance : array (n, p)
        Sum of the squared differences between the focused copy and the image, over all pixels and
        channels, with colours from 0 to 255.
    dual_squared_distance : array (n, p) or None
        Of the dual copy.

    Examples
    --------
    >>> import torch
    >>> from sightline.attribution.prototypes import default_perturbations
    >>> images, maps = torch.full((2, 3, 4, 4), 0.5), torch.ones(2, 4, 4)
    >>> light = lambda images, index: images.mean((1, 2, 3))
    >>> found = perturbed_scores(light, images, maps, default_perturbations()[:1], dual=False)
    >>> found.original.round(3), found.focused.round(3).tolist(), found.dual is None
    (array([0.5, 0.5]), [[0.15], [0.15]], True)
    """

    original: NDArray[np.float64]
    focused: NDArray[np.float64]
    dual: NDArray[np.float64] | None
    whole: NDArray[np.float64] | None
    squared_distance: NDArray[np.float64]
    dual_squared_distance: NDArray[np.float64] | None


class _Copies(NamedTuple):
    """Copies of some pairs: which pairs, where their numbers go, and their pixels."""

    pairs: Tensor
    place: int
    pixels: Tensor


def perturbed_scores(
    score: Score,
    images: Tensor,
    values: Tensor,
    perturbations: Sequence[Perturbation],
    *,
    dual: bool = True,
    whole: bool = False,
    batch: int = 32,
) -> Perturbed:
    """Return the scores of images and of their changed copies.

    Parameters
    ----------
    score : callable
        ``score(images, index)`` returns a number for each image; `index` says which of the n pairs
        each is a copy of. The images are overwritten after it returns. See `prototype_score` and
        `class_score`.
    images : Tensor (n, 3, height, width)
        From 0 to 1, one a pair.
    values : Tensor (n, height, width)
        The map of each pair, from 0 to 1. The scores of a pair whose map has NaN are NaN.
    perturbations : sequence of Perturbation
        What is done; distortions take their frequency from the box around the highest pixels of
        the map (`relevant_boxes`).
    dual, whole : bool
        Whether copies are made that are changed where the map is low, and all over.
    batch : int
        Copies that go through the network at once. On a CPU 8 at most: more do not fit into its
        caches and take longer.

    Returns
    -------
    Perturbed
        In double precision. A copy that equals its image has its score, to the bit: nothing was
        asked of the network that it had not said. All else depends on the pairs of this call and
        on `batch` alone, so that a run that goes on after a break gives the same bits if each
        call has the same pairs: give whole images, in parts of a fixed size.

    Examples
    --------
    >>> import torch
    >>> from sightline.attribution.prototypes.perturbations import Perturbation, Step
    >>> red = lambda images, index: images[:, 0].mean((1, 2))
    >>> images, values = torch.full((1, 3, 2, 2), 0.8), torch.tensor([[[1.0, 0.0], [0.0, 0.0]]])
    >>> darker = Perturbation("darker", (Step("brightness", {"factor": 0.5}),))
    >>> found = perturbed_scores(red, images, values, [darker])
    >>> found.original.round(3), found.focused.round(3), found.dual.round(3)
    (array([0.8]), array([[0.7]]), array([[0.5]]))
    """
    pixels = checked_images(images)
    maps = checked_maps(values.to(pixels.device), pixels)
    known = maps.isfinite().all(dim=2).all(dim=1)
    maps = torch.where(known[:, None, None], maps, 0.0)  # no network is asked about NaN
    if batch < 1:
        raise InputError(f"batch must be at least 1, got {batch}")
    asked: dict[Mode, bool] = {"focused": True, "dual": dual, "global": whole}
    modes = [mode for mode in asked if asked[mode]]
    # Column 0 is the image; then the modes of the first perturbation, and so on.
    scores, squares = np.full((2, len(pixels), 1 + len(perturbations) * len(modes)), np.nan)

    def copies() -> Iterator[_Copies]:
        size = _MADE if pixels.is_cpu else batch
        for pairs in torch.arange(len(pixels), device=pixels.device).split(size):
            originals = pixels[pairs]
            yield _Copies(pairs, 0, originals)
            made = _changed(originals, maps[pairs], perturbations, modes)
            for place, changed in enumerate(made, 1):
                squares[pairs.cpu().numpy(), place] = _distances(originals, changed)
                yield _Copies(pairs, place, changed)

    room = _room(pixels, batch)
    with torch.no_grad():
        for part in _full(copies(), len(room)):
            rows = np.concatenate([each.pairs.cpu().numpy() for each in part])
            places = np.repeat([each.place for each in part], [len(each.pairs) for each in part])
            scores[rows, places] = _asked(score, part, room)
    unknown = ~known.cpu().numpy()
    scores[unknown, 1:] = squares[unknown, 1:] = np.nan
    return _sorted_out(scores, squares, modes, len(perturbations))


def _room(images: Tensor, batch: int) -> Tensor:
    """Return room for the copies of a pass, taken once: new pages cost more than what is copied.

    On a CPU channels come last, as convolutions there want them.
    """
    layout = torch.channels_last if images.is_cpu else torch.contiguous_format
    count = min(batch, _CACHED) if images.is_cpu else batch
    shape = (count, *images.shape[1:])
    return torch.empty(shape, dtype=images.dtype, device=images.device, memory_format=layout)


def _changed(
    images: Tensor, maps: Tensor, perturbations: Sequence[Perturbation], modes: Sequence[Mode]
) -> Iterator[Tensor]:
    """Yield the copies of one batch of pairs: all modes of the first perturbation, and so on."""
    for perturbation in perturbations:
        perturbed = apply_perturbation(images, perturbation, maps)
        for mode in modes:
            yield blended(images, perturbed, maps, mode)


def _distances(images: Tensor, changed: Tensor) -> NDArray[np.float64]:
    apart = changed - images
    # Row by row, in the same order whatever the threads.
    rows = apart.mul_(apart).sum(dim=3)
    found: NDArray[np.float64] = rows.sum(dim=(1, 2), dtype=torch.float64).cpu().numpy()
    return found * 255**2


def _full(copies: Iterator[_Copies], batch: int) -> Iterator[list[_Copies]]:
    """Yield copies in parts of `batch`; the last may have fewer."""
    part: list[_Copies] = []
    room = batch
    for each in copies:
        rest = each
        while len(rest.pairs):
            now, later = (
                rest._replace(pairs=rest.pairs[cut], pixels=rest.pixels[cut])
                for cut in (slice(room), slice(room, None))
            )
            part.append(now)
            room, rest = room - len(now.pairs), later
            if not room:
                yield part
                part, room = [], batch
    if part:
        yield part


def _asked(score: Score, part: list[_Copies], room: Tensor) -> NDArray[np.float64]:
    """Return what the score says of some copies; they are laid side by side in the room."""
    pixels = room[: sum(len(each.pairs) for each in part)]
    torch.cat([each.pixels for each in part], out=pixels)
    said = score(pixels, torch.cat([each.pairs for each in part]))
    if tuple(said.shape) != (len(pixels),):
        raise InputError(f"score must give one number an image, got {tuple(said.shape)}")
    found: NDArray[np.float64] = said.detach().double().cpu().numpy()
    return found


def _sorted_out(
    scores: NDArray[np.float64], squares: NDArray[np.float64], modes: Sequence[Mode], count: int
) -> Perturbed:
    """Return the columns by mode; a copy that equals its image has the image's score."""
    original = scores[:, 0]
    after = np.where(squares[:, 1:] == 0, original[:, None], scores[:, 1:])
    by_mode = after.reshape(len(scores), count, len(modes))
    apart = squares[:, 1:].reshape(len(scores), count, len(modes))

    def of(values: NDArray[np.float64], mode: Mode) -> NDArray[np.float64] | None:
        return values[:, :, modes.index(mode)].copy() if mode in modes else None

    return Perturbed(
        original=original.copy(),
        focused=by_mode[:, :, 0].copy(),
        dual=of(by_mode, "dual"),
        whole=of(by_mode, "global"),
        squared_distance=apart[:, :, 0].copy(),
        dual_squared_distance=of(apart, "dual"),
    )
