"""A model that is asked about the same images again and again."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from sightline.models import Model

if TYPE_CHECKING:
    from sightline.models import Inputs

__all__ = ["Prepared"]


@dataclass(frozen=True, eq=False)
class Prepared(Model):
    """A model that reads and resizes each image once, as long as the image is the same object.

    Attributes
    ----------
    kept : dict
        Inputs by image and how it was prepared, both of which are held with them.

    Examples
    --------
    >>> import numpy as np
    >>> from sightline import load_model
    >>> image = np.zeros((8, 8, 3), np.uint8)
    >>> model = Prepared.of(load_model("demo/cnn"))
    >>> model.prepare(image) is model.prepare(image)
    True
    """

    kept: dict[tuple[int, int], tuple[Any, Any, Inputs]] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, model: Model) -> Prepared:
        """Return a model that does as another does."""
        return cls(**{one.name: getattr(model, one.name) for one in fields(Model)})

    def prepare(self, image: Any) -> Inputs:
        """Return one image as the input of the network, on its device."""
        key = id(image), id(self.preprocess)
        if key not in self.kept:
            self.kept[key] = image, self.preprocess, super().prepare(image)
        return self.kept[key][2]
