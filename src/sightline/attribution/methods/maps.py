"""Maps: where a model looks, on its own grid, with the way there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sightline.core import InputError
from sightline.core.errors import shown
from sightline.core.geometry import Geometry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from sightline.core.choices import Sign

__all__ = ["Maps", "grid_geometries"]


@dataclass(frozen=True, eq=False)
class Maps(Sequence["Maps"]):
    """Maps of one method on some images: raw, signed, on the model's own grid.

    Attributes
    ----------
    values : tuple of tuples of arrays
        ``values[image][layer]`` is `(heads, rows, columns)`, float32. Layers of a CNN differ in
        their rows and columns, as do images of different shape under the fit "native".
    geometries : tuple of tuples of Geometry
        ``geometries[image][layer]``: how the pixels of the image reached that grid.
    layers : tuple of int or None
        Numbers of the layers; ``(None,)`` for a method without.
    heads : tuple of int or None
        Numbers of the heads; ``(None,)`` where they are fused.
    model, method : str
        Who was asked, and how.
    sign : {"positive", "absolute", "signed"}
        How the method's values are meant to be read; nothing has been done to them.
    targets : tuple of str
        The class that each image's maps explain; empty for a method that explains none.
    params : mapping
        Parameters of the method, with the internal batch.
    seconds : float
        Time taken by the method, without reading and preparing images.
    upsampling : str
        How the maps were brought to pixels; "" on the model's own grid.
    """

    values: tuple[tuple[NDArray[np.float32], ...], ...]
    geometries: tuple[tuple[Geometry, ...], ...]
    layers: tuple[int | None, ...]
    heads: tuple[int | None, ...]
    model: str
    method: str
    sign: Sign = "positive"
    targets: tuple[str, ...] = ()
    params: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    upsampling: str = ""

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, index: Any) -> Maps:
        """Return the maps of one image, or of a slice of them."""
        rows = (
            [range(len(self))[index]] if not isinstance(index, slice) else range(len(self))[index]
        )
        return replace(
            self,
            values=tuple(self.values[i] for i in rows),
            geometries=tuple(self.geometries[i] for i in rows),
            targets=tuple(self.targets[i] for i in rows) if self.targets else (),
            seconds=self.seconds * len(rows) / max(len(self), 1),
        )

    def __iter__(self) -> Iterator[Maps]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        shape = f"{len(self)} images x {len(self.layers)} layers x {len(self.heads)} heads"
        return f"Maps({self.method} of {self.model}: {shape})"

    def of(
        self, image: int = 0, layer: int | None = None, head: int | None = None
    ) -> NDArray[np.float32]:
        """Return one map `(rows, columns)`: of an image, the number of a layer, and of a head.

        Layer and head may be left out where there is only one.
        """
        at = [
            _position(asked, known, what)
            for asked, known, what in ((layer, self.layers, "layer"), (head, self.heads, "head"))
        ]
        if not -len(self) <= image < len(self):
            raise InputError(f"image must be below {len(self)}, got {image}")
        found: NDArray[np.float32] = self.values[image][at[0]][at[1]]
        return found

    def stack(self) -> NDArray[np.float32]:
        """Return one array `(images, layers, heads, rows, columns)`; all grids must be equal."""
        shapes = {layer.shape for image in self.values for layer in image}
        if len(shapes) != 1:
            seen = ", ".join(str(shape) for shape in sorted(shapes))
            raise InputError(f"maps can be stacked when all have one grid, got {seen}")
        return np.stack([np.stack(image) for image in self.values])

    def to_image(
        self,
        size: int | tuple[int, int] | None = None,
        *,
        how: Literal["bilinear", "nearest"] = "bilinear",
    ) -> Maps:
        """Return the maps over the pixels of the images; NaN where the model did not see.

        Parameters
        ----------
        size : int or (width, height)
            Of the result, which covers the whole image; the image's own size unless given.
        how : {"bilinear", "nearest"}
            Recorded as `upsampling`.
        """
        if self.upsampling:
            raise InputError(f"these maps are on pixels already ({self.upsampling})")
        pair = _pair(size)
        geometries = tuple(
            tuple(_resized(geometry, pair) for geometry in image) for image in self.geometries
        )
        values = tuple(
            tuple(
                geometry.to_image(layer, *goal.size[::-1], how=how).astype(np.float32)
                for layer, geometry, goal in zip(*image, strict=True)
            )
            for image in zip(self.values, self.geometries, geometries, strict=True)
        )
        return replace(self, values=values, geometries=geometries, upsampling=how)


def grid_geometries(
    model: str, geometry: Geometry, shapes: Sequence[tuple[int, int]]
) -> tuple[Geometry, ...]:
    """Return the way from an image to grids of these rows and columns, over the model's input.

    Examples
    --------
    >>> [way.grid for way in grid_geometries("demo/vit", Geometry.of(32, 16), [(2, 4), (1, 2)])]
    [(4, 2), (2, 1)]
    """
    width, height = geometry.size
    for rows, columns in shapes:
        if width % columns or height % rows:
            raise InputError(
                f"{model}: a map of {columns}x{rows} cells does not divide the input of "
                f"{width}x{height} pixels; a layer must keep whole patches"
            )
    known = {  # layers mostly have one grid
        shape: geometry.patches(width // shape[1], height // shape[0]) for shape in set(shapes)
    }
    return tuple(known[shape] for shape in shapes)


def _pair(size: Any) -> tuple[int, int] | None:
    if isinstance(size, int | np.integer):
        return int(size), int(size)
    if size is not None and (not isinstance(size, tuple | list) or len(size) != 2):
        raise InputError(f"size must be a side or (width, height) in pixels, got {shown(size)}")
    return size if size is None else (size[0], size[1])


def _resized(geometry: Geometry, size: tuple[int, int] | None) -> Geometry:
    """Return the way from the image to a raster over the whole of it."""
    return Geometry.of(*geometry.source).resize(*(size or geometry.source))


def _position(asked: int | None, known: tuple[int | None, ...], what: str) -> int:
    if asked is None and len(known) == 1:
        return 0
    if asked not in known:
        raise InputError(f"{what} must be one of {', '.join(map(str, known))}, got {asked}")
    return known.index(asked)
