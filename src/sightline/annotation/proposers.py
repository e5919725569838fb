"""What makes proposals: one protocol, and the proposers by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from sightline.core.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sightline.annotation.proposals import Proposal
    from sightline.core import Sample

__all__ = ["PROPOSERS", "Proposer", "make_proposer"]


class Proposer(Protocol):
    """Finds, on one image, further instances of what is marked there.

    Attributes
    ----------
    name : str
        As in `PROPOSERS`; the `source` of its proposals.
    model, digest : str
        Name and digest of weights of the model it asks.
    settings : mapping
        Its options, as JSON has them.

    Examples
    --------
    >>> class Nothing:
    ...     name, model, digest, settings = "nothing", "", "", {}
    ...
    ...     def propose(self, sample):
    ...         return []
    >>> from sightline.annotation import propose
    >>> from sightline.data import load_dataset
    >>> len(propose(load_dataset("facades", count=1), Nothing()))
    0
    """

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def model(self) -> str: ...  # noqa: D102
    @property
    def digest(self) -> str: ...  # noqa: D102
    @property
    def settings(self) -> Mapping[str, Any]: ...  # noqa: D102

    def propose(self, sample: Sample) -> list[Proposal]:
        """Return proposals for an image, the best first."""
        ...


def _similarity(model: Any, **options: Any) -> Proposer:
    """Parts of the image whose patch features are like those of a marked region."""
    from sightline.annotation.similar import make

    return make(model, **options)


def _sam(model: Any, **options: Any) -> Proposer:
    """Masks of the SAM family over the whole image, ranked by likeness to a marked region."""
    from sightline.annotation.sam import make

    return make(model, **options)


PROPOSERS: Registry[Callable[..., Proposer]] = Registry("proposer")
PROPOSERS.add("similarity", _similarity)
PROPOSERS.add("sam", _sam)


def make_proposer(name: str, model: Any, **options: Any) -> Proposer:
    """Return a proposer by name.

    Parameters
    ----------
    name : {"similarity", "sam"}
        *similarity* compares patch features of any model that `load_model` takes; *sam* needs
        weights of the SAM family.
    model : str or network
        The model it asks, as that proposer takes it.
    **options
        `device`, and those of the proposer: see `SimilarityOptions` and `SamOptions`.

    Raises
    ------
    UnknownNameError
        If there is no such proposer or option.
    InputError
        If an option is not as it must be, or the model cannot be loaded.

    Examples
    --------
    >>> make_proposer("similarity", "demo/vit-dino", least=0.5).settings["least"]
    0.5
    """
    return PROPOSERS[name](model, **options)
