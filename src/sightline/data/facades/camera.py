"""Where the points of the facade lie in the picture: a mild projective map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sightline.data.facades.scene import GROUND

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from sightline.data.facades.dice import Dice
    from sightline.data.facades.shapes import Box

    Numbers = NDArray[Any]

__all__ = ["Camera"]

# The most that a facade takes of the picture.
_WIDEST, _HIGHEST = 0.95, 0.88


@dataclass(frozen=True, slots=True)
class Camera:
    """A projective map of the plane: scaled and shifted, then seen at a slight angle.

    Attributes
    ----------
    scale, x, y : float
        Size of the facade in the picture, and where its foot (centre, GROUND) lies.
    centre : float
        The x of its axis.
    pan, tilt : float
        How fast the picture shrinks to the right and upwards.
    """

    scale: float
    x: float
    y: float
    centre: float
    pan: float
    tilt: float

    @classmethod
    def draw(cls, dice: Dice, extent: Box) -> Camera:
        """Return a random one that keeps a box of the facade in the picture."""
        largest = min(_WIDEST / extent.width, _HIGHEST / extent.height)
        scale = largest * dice.between(0.84, 1.0)
        free = (1.0 - scale * extent.width) / 2
        return cls(
            scale=scale,
            x=0.5 + dice.between(-free, free) * 0.8,
            y=0.9 - dice.between(0.0, 0.8) * (_HIGHEST - scale * extent.height),
            centre=extent.middle,
            pan=dice.between(-0.13, 0.13),
            tilt=dice.between(0.0, 0.16),
        )

    def project(self, x: Numbers, y: Numbers) -> tuple[Numbers, Numbers]:
        """Return where points of the facade lie in the picture."""
        u, v = (x - self.centre) * self.scale, (y - GROUND) * self.scale
        depth = 1.0 + self.pan * u - self.tilt * v
        return self.x + u / depth, self.y + v / depth

    def unproject(self, x: Numbers, y: Numbers) -> tuple[Numbers, Numbers]:
        """Return the points of the facade seen at places of the picture."""
        u, v = x - self.x, y - self.y
        depth = (1.0 - self.pan * u + self.tilt * v) * self.scale
        return self.centre + u / depth, GROUND + v / depth
