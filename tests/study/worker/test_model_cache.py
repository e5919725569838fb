"""Models are loaded once and put away when they are too large together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sightline.models
from sightline.models import load_model
from sightline.study import Shelf

if TYPE_CHECKING:
    import pytest

    from sightline.models import Model


def watched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    loaded = []

    def load(name: str, *, device: str) -> Model:
        loaded.append(name)
        return load_model(name, device=device)

    monkeypatch.setattr(sightline.models, "load_model", load)
    return loaded


def test_a_model_is_loaded_once_for_all_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = watched(monkeypatch)
    shelf = Shelf()
    squash, crop = shelf.model("demo/cnn", "squash"), shelf.model("demo/cnn", "crop")
    assert loaded == ["demo/cnn"]
    assert squash.network is crop.network
    assert (squash.preprocess.fit, crop.preprocess.fit) == ("squash", "crop")


def test_the_one_used_longest_ago_is_put_away(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = watched(monkeypatch)
    shelf = Shelf(most_bytes=1)
    for name in ("demo/cnn", "demo/vit", "demo/vit", "demo/cnn"):
        shelf.model(name, "squash")
    assert loaded == ["demo/cnn", "demo/vit", "demo/cnn"]
    roomy = Shelf(most_bytes=1 << 30)
    for name in ("demo/cnn", "demo/vit", "demo/cnn"):
        roomy.model(name, "squash")
    assert loaded[3:] == ["demo/cnn", "demo/vit"]
