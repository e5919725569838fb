"""The models by name."""

from __future__ import annotations

from sightline.models import MODELS, load_model


def test_cards_say_what_models_are() -> None:
    digests = {}
    for name, card in MODELS.items():
        assert card.name == name
        assert card.what.endswith(".")
        model = load_model(name)
        assert model.name == name
        digests[name] = model.digest
        assert len(digests[name]) == 16
    shipped = {name: digest for name, digest in digests.items() if name.startswith("demo/")}
    assert len(set(shipped.values())) == len(shipped) >= 3
