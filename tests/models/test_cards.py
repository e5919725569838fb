"""The models by name."""

from __future__ import annotations

from sightline.models import MODELS, load_model


def test_cards_say_what_models_are() -> None:
    for name, card in MODELS.items():
        assert card.name == name
        assert card.what.endswith(".")
        model = load_model(name)
        assert model.name == name
        assert len(model.digest) == 16
    shipped = {name: load_model(name).digest for name in MODELS if name.startswith("demo/")}
    assert len(set(shipped.values())) == len(shipped) >= 3
