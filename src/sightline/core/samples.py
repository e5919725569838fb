"""One image of a data set with what is known about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from sightline.core.regions import Annotation

__all__ = ["Sample"]


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """An image with its annotation; the image is opened only when asked for.

    Attributes
    ----------
    image_id : str
        Its id in the data set.
    annotation : Annotation
        The regions and labels of the image.
    split : str
        "train", "test", …; "" where the data set has none.
    path : Path or None
        The image's file, None when it is drawn.
    load : callable
        Returns the image; called anew by each `image()`.

    Examples
    --------
    >>> import numpy as np
    >>> from sightline.core import Annotation, Sample
    >>> black = np.zeros((4, 6, 3), np.uint8)
    >>> one = Sample("a", Annotation("a", labels=("Gothic",)), load=lambda: black)
    >>> one.labels, one.image().shape
    (('Gothic',), (4, 6, 3))
    """

    image_id: str
    annotation: Annotation
    split: str = ""
    path: Path | None = None
    load: Callable[[], NDArray[Any]] | None = field(default=None, repr=False)

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of the whole image: styles, a class."""
        return self.annotation.labels

    def image(self) -> NDArray[np.uint8]:
        """Return the image as RGB, `(height, width, 3)`, upright.

        Raises
        ------
        InputError
            If there is no image, or its file cannot be read; the message names it.
        """
        from sightline.core.errors import InputError

        if self.load is None:
            raise InputError(f"image {self.image_id!r} has no file")
        return self.load()
