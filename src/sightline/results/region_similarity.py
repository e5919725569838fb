"""Where an image looks, to a model of a study, like a region of it: computed when asked for."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

from sightline.core import InputError, Region, UnknownNameError
from sightline.core.lru_cache import Kept
from sightline.results.scored_map import MapKey, OneMap, one_map
from sightline.results.study_models import asked_models, scored_picture
from sightline.store.shards import StoredMaps
from sightline.study.worker.model_cache import Shelf

if TYPE_CHECKING:
    from collections.abc import Hashable

    from sightline.models import Model
    from sightline.results.map_reader import Scenes

__all__ = ["Alike", "box_region"]

# Of maps that stay at hand.
_BYTES = 32 << 20


def box_region(box: tuple[float, float, float, float]) -> Region:
    """Return a box on an image as a region.

    Parameters
    ----------
    box
        x0, y0, x1, y1 as shares of the image.

    Raises
    ------
    InputError
        If it is none, or not on the image.

    Examples
    --------
    >>> box_region((0.2, 0.2, 0.4, 0.5)).box
    (0.2, 0.2, 0.4, 0.5)
    """
    x0, y0, x1, y1 = box
    if not (0 <= x0 < x1 <= 1 and 0 <= y0 < y1 <= 1):
        seen = ", ".join(f"{edge:g}" for edge in box)
        raise InputError(
            f"box must be x0, y0, x1, y1 as shares of the image, x0 < x1, y0 < y1; got {seen}"
        )
    return Region(box=box)


class Alike:
    """The models of a study, asked which patches are like a region; loaded when first asked.

    It may be asked in several threads, which take turns.

    Parameters
    ----------
    scenes
        The data of the study.
    """

    def __init__(self, scenes: Scenes) -> None:
        self._scenes = scenes
        self._asked = {one.name: one for one in asked_models(scenes.results) if one.load}
        self._digests = {
            image: digest or ""
            for image, digest in scenes.results._tables.fetch("SELECT image, digest FROM images")
        }
        self._shelf, self._same, self._lock = Shelf(), set[str](), Lock()
        self._kept: Kept[OneMap] = Kept(_BYTES, lambda one: one.values.nbytes + 4096)

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models that can be asked."""
        return tuple(self._asked)

    def map(self, image: str, region: Region, model: str, layer: int | None = None) -> OneMap:
        """Return how similar each patch of an image is to a region of it, from -1 to 1.

        Parameters
        ----------
        image
            Its id.
        region
            On it.
        model
            Whose features are compared.
        layer
            From 0; the features at the end of the network unless given.

        Raises
        ------
        UnknownNameError
            If the study has no such model.
        InputError
            If the model is not the one that was scored, has no such layer, or does not see the
            region.
        """
        shape = region.box if region.kind == "box" else (region.kind, region.index)
        key: Hashable = (image, shape, model, layer)
        return self._kept.get(key, lambda: self._map(image, region, model, layer))

    def load(self, model: str) -> Model:
        """Return a model, loaded unless it was.

        Raises
        ------
        UnknownNameError
            If the study has no such model.
        InputError
            If it cannot be loaded, or is not the one that was scored.
        """
        with self._lock:
            return self._loaded(model)

    def _map(self, image: str, region: Region, model: str, layer: int | None) -> OneMap:
        from sightline.attribution.methods.similar import similarity

        with self._lock:
            loaded = self._loaded(model)
            picture = scored_picture(self._scenes.dataset, image, self._digests[image])
            found = similarity(loaded, picture, region, layer=layer)
        maps = StoredMaps((image,), found.values, found.geometries, found.layers, found.heads)
        annotation = self._scenes.sample(image).annotation
        which = MapKey(model, "similarity", found.layers[0])
        return one_map(self._scenes.scoring, maps, annotation, which, "signed")

    def _loaded(self, name: str) -> Model:
        """Return a model, if it is the one that was scored."""
        one = self._asked.get(name)
        if one is None:
            known = ", ".join(self._asked) or "none"
            raise UnknownNameError(f"no model {name!r} of the study can be asked; known: {known}")
        model = self._shelf.model(one.load, one.fit)
        if name not in self._same:
            if model.digest != one.digest:
                raise InputError(f"{name}: its weights changed since the study was run")
            self._same.add(name)
        return model
