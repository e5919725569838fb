"""Models at hand: loaded once, and put away when there are too many."""

from __future__ import annotations

from collections import OrderedDict
from threading import RLock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sightline.models import Model

__all__ = ["Shelf"]


class Shelf:
    """Keeps the models that were used last.

    Parameters
    ----------
    device : str
        Where networks run.
    most_bytes : int
        Of weights to keep; one model is kept however large.
    """

    def __init__(self, device: str = "cpu", most_bytes: int = 4 << 30) -> None:
        self.device, self.most_bytes = device, most_bytes
        self._models: OrderedDict[str, Model] = OrderedDict()
        self._lock = RLock()

    def model(self, name: str, fit: str) -> Model:
        """Return a model by name under a fit; all fits of a model share its network."""
        from sightline.models import load_model

        with self._lock:
            if name not in self._models:
                self._models[name] = load_model(name, device=self.device)
            self._models.move_to_end(name)
            while len(self._models) > 1 and self._bytes() > self.most_bytes:
                self._models.popitem(last=False)
            return self._models[name].fitted(fit=fit)

    def at_hand(self, name: str, fit: str) -> Model | None:
        """Return a model that is loaded already, which changes nothing; None where it is not."""
        found = self._models.get(name)
        return None if found is None else found.fitted(fit=fit)

    def _bytes(self) -> int:
        return sum(map(_bytes, self._models.values()))


def _bytes(model: Model) -> int:
    return sum(tensor.nbytes for tensor in model.network.state_dict().values())
