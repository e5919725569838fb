"""Maps with trained and with random weights: those of the study's own model."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from sightline import explain, load_dataset, load_model
from sightline.attribution.sanity.redraw import redrawn
from sightline.attribution.sanity.stages import stages_of
from sightline.results.randomised_maps import redrawn_maps, was_redrawn


def entry(method: str, check: str, **change: Any) -> dict[str, Any]:
    found = {"model": "demo/cnn", "variant": "", "method": method, "target": "", "sign": "positive",
             "params": {}, "layers": [None], "check": check}  # fmt: skip
    return {**found, **change}


def results_of(digest: str) -> Any:
    """What is read of a store: the study, and what the manifest says of models and checks."""
    checks = [
        entry("edge", "randomisation/full/0"),
        entry("edge", "randomisation/full/1"),
        entry("edge", "faithfulness"),
        entry("gradcam", "randomisation/top-down/0", target="predicted", layers=[0, 3]),
        entry("deeplift", "randomisation/full/0", target="no such class"),
    ]
    study = {"name": "s", "data": {"name": "facades", "count": 2}, "models": ["demo/cnn"],
             "methods": ["edge", "gradcam"]}  # fmt: skip
    model = {"model": "demo/cnn", "variant": "", "fit": "squash", "digest": digest}
    return SimpleNamespace(study=study, manifest={"checks": checks, "models": [model]}, path="here")


def test_maps_are_those_of_the_study_and_of_random_weights() -> None:
    model = load_model("demo/cnn")
    sample = load_dataset("facades", count=1, seed=3)[0]
    results = results_of(model.digest)
    asked = was_redrawn(results)
    assert [one["method"] for one in asked] == ["edge", "gradcam", "gradcam", "deeplift"]
    assert [one["layers"] for one in asked] == [[None], [0], [3], [None]]
    maps, note = redrawn_maps(results, asked, sample, size=64, seed=2)
    edge, first, gradcam = maps
    assert first.layer == 0
    assert edge.trained.shape == gradcam.redrawn.shape == (64, 64)
    assert np.array_equal(edge.trained, edge.redrawn)  # which knows nothing of the model
    assert not np.allclose(gradcam.trained, gradcam.redrawn)
    assert gradcam.layer == 3
    wanted = explain(model, [sample], "gradcam", layers=3).to_image(64).of(image=0, layer=3)
    assert np.allclose(gradcam.trained, wanted, atol=1e-5)
    trained = int(model.logits([sample]).argmax())
    with redrawn(model, stages_of(model), seed=2):
        assert int(model.logits([sample]).argmax()) != trained  # whose map it must not be
        same = explain(model, [sample], "gradcam", layers=3, target=trained)
    assert np.allclose(gradcam.redrawn, same.to_image(64).of(image=0, layer=3), atol=1e-5)
    assert note.startswith("deeplift of demo/cnn:")
    other, why = redrawn_maps(results_of("0" * 16), asked, sample)
    assert other == []
    assert "its weights changed since the study was run" in why
