"""Maps of randomised networks beside those of the trained one."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from sightline import load_dataset
from sightline.attribution.methods import METHODS, explain
from sightline.attribution.sanity import _outputs, randomisation
from sightline.attribution.sanity.randomisation import randomised_rows, reference_rows, steps_of
from sightline.attribution.sanity.redraw import redrawn
from sightline.attribution.sanity.similarity import Views, compare, resized
from sightline.attribution.sanity.stages import Stage, stages_of
from sightline.attribution.sanity.table import SIMILARITIES, Job, Row
from sightline.core import Annotation, InputError, Sample
from sightline.models import Description, Model, Preprocess, load_model

ABSOLUTE = tuple(f"{name}_abs" for name in SIMILARITIES)


@cache
def _model() -> Model:
    return load_model("demo/cnn").fitted(size=96)


@cache
def _samples() -> tuple[Sample, ...]:
    return tuple(load_dataset("facades", count=4, seed=8))


def _job(check: str, method: str = "saliency", **other: Any) -> Job:
    card = METHODS[method]
    layers = (3,) if card.layered else (None,)
    target = "predicted" if card.explains else ""
    plain = Job(_model(), method, card.with_defaults({}), layers, target, 16, {}, check)
    return replace(plain, **other)


def _table(rows: list[Row], check: str = "", metric: str = "") -> dict[Any, float]:
    """Values by check, metric and image, of which those that are given are left out."""
    found = {}
    for row in rows:
        key = (*([] if check else [row.check]), *([] if metric else [row.metric]), row.image)
        if check in ("", row.check) and metric in ("", row.metric):
            assert key not in found
            found[key] = row.value
    return found


@cache
def _rows(check: str, method: str = "saliency") -> list[Row]:
    return randomised_rows(_job(check, method), _samples())


def test_rows_are_those_of_maps_made_by_hand_for_the_trained_networks_classes() -> None:
    model, samples = _model(), list(_samples())
    digest = model.digest
    rows = _rows("randomisation/top-down/2")
    assert model.digest == digest
    stages = stages_of(model)
    names = [f"{place:02d}-{stage.name}" for place, stage in enumerate(stages)]
    assert list(dict.fromkeys(row.check for row in rows)) == [
        f"randomisation/top-down/2/{name}" for name in names
    ]
    classes = model.logits(samples).argmax(1).tolist()
    trained = explain(model, samples, "saliency", target=classes).stack()[:, 0, 0]
    place = 2
    with redrawn(model, stages[: place + 1], seed=2):
        logits = model.logits(samples)
        random = explain(model, samples, "saliency", target=classes).stack()[:, 0, 0]
    assert logits.argmax(1).tolist() != classes  # whose maps it would explain by itself
    here = _table(rows, check=f"randomisation/top-down/2/{names[place]}")
    for ending, change in (("", np.array), ("_abs", np.abs)):
        expected = compare(Views.of(change(trained)), Views.of(change(random)))
        for name, values in expected.items():
            found = [here[name + ending, sample.image_id] for sample in samples]
            np.testing.assert_allclose(found, values, atol=1e-5)
    labels = [model.classes.index(sample.labels[0]) for sample in samples]
    right = [float(said == label) for said, label in zip(logits.argmax(1), labels, strict=True)]
    assert [here["correct", sample.image_id] for sample in samples] == right
    metrics = {row.metric for row in rows}
    assert metrics == {*SIMILARITIES, *ABSOLUTE, "correct"}
    assert {(row.layer, row.threshold) for row in rows} == {(None, "")}


def test_the_last_step_from_either_end_is_the_whole_network() -> None:
    whole = _table(_rows("randomisation/full/2"), check="randomisation/full/2/00-all")
    down = _table(_rows("randomisation/top-down/2"), check="randomisation/top-down/2/05-embedding")
    assert whole == down


def test_images_are_prepared_once_however_many_stages_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[str] = []
    real = Preprocess.__call__

    def count(self: Preprocess, *given: Any) -> Any:
        seen.append("prepared")
        return real(self, *given)

    monkeypatch.setattr(Preprocess, "__call__", count)
    job = _job("randomisation/top-down/4", model=replace(_model(), name="counted"))
    rows = randomised_rows(job, _samples()[:2])
    assert len({row.check for row in rows}) == 6
    assert len(seen) == 3 * 2  # for the classes, for the trained maps, for all stages


def test_other_seeds_draw_other_networks() -> None:
    first = _table(_rows("randomisation/full/2"), metric="spearman")
    other = _table(_rows("randomisation/full/3"), metric="spearman")
    assert not set(first.values()) & set(other.values())


def test_signed_gradients_depend_on_what_was_learnt_and_edges_do_not() -> None:
    cross = _references("saliency")
    similar = np.mean(list(_table(_rows("randomisation/full/2"), metric="spearman").values()))
    assert similar - np.mean(_of(cross, "reference/cross/0", "spearman")) < 0.1
    assert abs(similar) < 0.1
    for method in ("edge", "centre"):
        rows = randomised_rows(_job("randomisation/full/0", method), _samples()[:2])
        assert {row.metric for row in rows} == {*SIMILARITIES, "correct"}
        same = [row.value for row in rows if row.metric != "correct"]
        np.testing.assert_allclose(same, 1, atol=1e-9)


def test_steps_of_each_way() -> None:
    stages = [Stage(name, (name,)) for name in ("head", "layer0", "embedding")]
    found = {
        way: [(name, [one.name for one in some]) for name, some in steps_of(way, stages)]
        for way in ("full", "top-down", "bottom-up", "single")
    }
    assert found == {
        "full": [("all", ["head", "layer0", "embedding"])],
        "top-down": [
            ("head", ["head"]),
            ("layer0", ["head", "layer0"]),
            ("embedding", ["head", "layer0", "embedding"]),
        ],
        "bottom-up": [
            ("embedding", ["embedding"]),
            ("layer0", ["embedding", "layer0"]),
            ("head", ["embedding", "layer0", "head"]),
        ],
        "single": [(name, [name]) for name in ("head", "layer0", "embedding")],
    }


@cache
def _references(method: str) -> list[Row]:
    samples = _samples()
    partners = {seed: [*samples[1 + seed :], *samples[: 1 + seed]] for seed in (0, 1)}
    other = load_model("demo/confounded-cnn").fitted(size=96)
    job = _job("reference", method, options={"training": {"again": other}})
    return reference_rows(job, samples, partners)


def _of(rows: list[Row], check: str, metric: str) -> list[float]:
    found = _table(rows, check, metric)
    return [found[(sample.image_id,)] for sample in _samples()]


def test_references_are_maps_of_others_edges_and_another_training() -> None:
    model, samples = _model(), list(_samples())
    rows = _references("gradcam")
    assert {row.layer for row in rows} == {3}
    checks = dict.fromkeys(row.check for row in rows)
    assert set(checks) == {
        *("reference/cross/0", "reference/cross/1", "reference/edge"),
        *("reference/training/again", "reference/trained"),
    }
    maps = explain(model, samples, "gradcam", layers=3).stack()[:, 0, 0]
    own = Views.of(maps)
    edges = explain(model, samples, "edge").stack()[:, 0, 0].astype(np.float64)
    classes = model.logits(samples).argmax(1).tolist()
    other = load_model("demo/confounded-cnn").fitted(size=96)
    again = explain(other, samples, "gradcam", layers=3, target=classes).stack()[:, 0, 0]
    for check, others in (
        ("reference/cross/0", np.roll(maps, -1, axis=0)),
        ("reference/cross/1", np.roll(maps, -2, axis=0)),
        ("reference/edge", resized(edges, (maps.shape[1], maps.shape[2]))),
        ("reference/training/again", again),
    ):
        for name, values in compare(own, Views.of(others)).items():
            np.testing.assert_allclose(_of(rows, check, name), values, atol=1e-4)
    right = [
        sample.labels[0] == model.classes[n] for sample, n in zip(samples, classes, strict=True)
    ]
    assert _of(rows, "reference/trained", "correct") == right


def test_another_training_is_asked_for_the_class_of_the_same_name() -> None:
    model, sample = _model(), _samples()[0]
    turned = replace(model, classes=model.classes[::-1])
    own = int(model.logits([sample]).argmax())
    rows = reference_rows(_job("reference", options={"training": {"t": turned}}), [sample], {})
    maps = [
        explain(model, sample, "saliency", target=number).stack()[:, 0, 0]
        for number in (own, len(model.classes) - 1 - own)
    ]
    (found,) = _table(rows, "reference/training/t", "spearman").values()
    expected = compare(*map(Views.of, maps))["spearman"]
    assert found == pytest.approx(float(expected[0]), abs=1e-5)
    assert found < 0.99


def test_partners_explain_their_own_prediction_whatever_is_asked_of_the_image() -> None:
    model, samples = _model(), list(_samples())
    job = _job("reference", target="label")
    strange = replace(samples[1], annotation=replace(samples[1].annotation, labels=()))
    rows = reference_rows(job, samples[:1], {4: [strange]})
    maps = [
        explain(model, samples[0], "saliency", target="label").stack()[:, 0, 0],
        explain(model, samples[1], "saliency").stack()[:, 0, 0],
    ]
    expected = compare(Views.of(maps[0]), Views.of(maps[1]))["ssim"]
    (found,) = _table(rows, "reference/cross/4", "ssim").values()
    assert found == pytest.approx(float(expected[0]), abs=1e-5)


def test_an_image_is_checked_alike_in_any_company_and_without_label_nothing_is_correct() -> None:
    sample = _samples()[2]
    bare = replace(sample, annotation=Annotation(sample.image_id, 224, 224))
    rows = _table(randomised_rows(_job("randomisation/full/2"), [bare]))
    together = _table(_rows("randomisation/full/2"))
    check = "randomisation/full/2/00-all"
    assert np.isnan(rows.pop((check, "correct", sample.image_id)))
    for key, value in rows.items():
        assert value == pytest.approx(together[key], abs=1e-4)


def test_another_image_of_the_same_name_is_not_taken_for_the_first() -> None:
    first, partner = _samples()[:2]
    turned = replace(first, load=lambda: np.ascontiguousarray(first.image()[:, ::-1]))
    for sample in (first, turned, first):
        rows = reference_rows(_job("reference", "edge"), [sample], {0: [partner]})
        maps = explain(_model(), [sample, partner], "edge").stack()[:, 0, 0]
        expected = compare(Views.of(maps[:1]), Views.of(maps[1:]))["spearman"]
        (found,) = _table(rows, "reference/cross/0", "spearman").values()
        assert found == pytest.approx(float(expected[0]), abs=1e-4)


def test_a_network_that_is_read_in_another_way_is_not_taken_for_the_first() -> None:
    """Neither is another with the same weights, which computes another thing."""
    torch.manual_seed(0)
    first, last = nn.Conv2d(3, 4, 8, 8), nn.Conv2d(4, 3, 1)
    end = nn.AdaptiveAvgPool2d(1), nn.Flatten()
    one, other = (nn.Sequential(first, curve(), last, *end) for curve in (nn.Tanh, nn.SiLU))
    look = Preprocess(size=(64, 64))
    models = [
        load_model(one, Description(layers, look, 8, 3, name="twice"))
        for layers in (["0", "2"], ["1"])
    ]
    models.append(replace(models[1], network=other, layers=(other[1],), cam_layers=()))
    jobs = [
        _job("randomisation/top-down/0", "gradcam", model=model, layers=(0,)) for model in models
    ]
    for job in jobs:
        rows = randomised_rows(job, _samples()[:1])
        names = [f"{place:02d}-{one.name}" for place, one in enumerate(stages_of(job.model))]
        assert list(dict.fromkeys(row.check.split("/")[-1] for row in rows)) == names
    _are_each_its_own(jobs)


def test_maps_of_other_parameters_layers_and_targets_are_not_taken_for_the_first() -> None:
    own = int(_model().logits([_samples()[0]]).argmax())
    other = _model().classes[(own + 1) % len(_model().classes)]
    plain, deep = (
        _job("reference", method, params=params)
        for method, params in (
            ("gradcam", {}),
            ("integrated_gradients", {"baseline": "black", "steps": 2}),
        )
    )
    white = {**deep.params, "baseline": "white"}
    _are_each_its_own(
        [
            *(plain, replace(plain, layers=(2,)), replace(plain, target=other)),
            *(deep, replace(deep, params=white)),
        ]
    )


def _are_each_its_own(jobs: list[Job]) -> None:
    """The maps that checks compare with are those that were asked for, and differ."""
    sample, found = _samples()[0], set()
    for job in jobs:
        kept = randomisation._trained(job, [sample], randomisation._seen(job, [sample])).maps[0][0]
        layers: Any = "all" if job.layers == (None,) else list(job.layers)
        wanted = explain(
            job.model, sample, job.method, layers=layers, target=job.target, params=job.params
        )
        np.testing.assert_allclose(kept, wanted.values[0][0][0], atol=1e-6)
        found.add(kept.tobytes())
    assert len(found) == len(jobs)


def _stripes(width: int, height: int, seed: int) -> Sample:
    rng = np.random.default_rng(seed)
    pixels = rng.integers(0, 256, (height, width, 3), np.uint8)
    return Sample(f"s{seed}", Annotation(f"s{seed}", width, height), load=lambda: pixels)


@pytest.mark.parametrize("fit", ["letterbox", "native"])
def test_padding_is_left_out_and_grids_of_other_shapes_are_compared(fit: str) -> None:
    torch.manual_seed(0)
    network = nn.Sequential(nn.Conv2d(3, 4, 8, 8), nn.Tanh(), nn.Conv2d(4, 4, 1))
    told = Description(["0", "2"], Preprocess(size=(64, 64)), 8)
    model = load_model(network, told).fitted(fit=fit)
    wide, tall = _stripes(64, 32, 1), _stripes(32, 64, 2)
    job = _job("reference", "saliency", model=model, target="embedding")
    rows = reference_rows(job, [wide, tall], {0: [tall, wide]})
    maps = [explain(model, one, "saliency", target="embedding").of() for one in (wide, tall)]
    if fit == "letterbox":
        maps = [maps[0][16:48], maps[1][:, 16:48]]
    assert [one.shape for one in maps] == [(32, 64), (64, 32)]
    partner = resized(maps[1][None].astype(np.float64), (32, 64))
    expected = compare(Views.of(maps[0][None]), Views.of(partner))
    found = _table(rows, "reference/cross/0")
    for name, value in expected.items():
        assert found[name, "s1"] == pytest.approx(float(value[0]), abs=1e-6)
    assert all(np.isnan(value) for key, value in _table(rows).items() if "correct" in key)


def test_what_a_method_gives_up_is_undefined_for_that_image_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model, samples = _model(), list(_samples()[:2])
    digest = model.digest

    def picky(model: Model, images: list[Sample], method: str, **other: Any) -> Any:
        if model.digest != digest and samples[0] in images:
            raise InputError("its parts do not add up")
        return explain(model, images, method, **other)

    monkeypatch.setattr(_outputs, "explain", picky)
    rows = _table(randomised_rows(_job("randomisation/full/5"), samples), metric="spearman")
    first, second = rows.values()
    assert np.isnan(first)
    assert np.isfinite(second)
    assert model.digest == digest


@pytest.mark.parametrize(
    ("check", "method", "message"),
    [
        (
            "randomisation/sideways/0",
            "edge",
            "way must be one of full, top-down, ",
        ),
        ("randomisation/full", "edge", "check must be 'randomisation/WAY/SEED'"),
        ("cascade/full/0", "edge", "check must be 'randomisation/WAY/SEED'"),
        ("randomisation/full/x", "edge", "check must be 'randomisation/WAY/SEED'"),
        ("randomisation/full/0", "mean_map", "mean_map is made of other images' maps"),
    ],
)
def test_what_cannot_be_checked_is_named(check: str, method: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        randomised_rows(_job(check, method), _samples()[:1])


def test_partners_must_be_one_for_each_image() -> None:
    with pytest.raises(InputError, match="seed 0 must be one for each of 2 images, got 1"):
        reference_rows(_job("reference", "edge"), _samples()[:2], {0: _samples()[:1]})
