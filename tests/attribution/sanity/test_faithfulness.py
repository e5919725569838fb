"""The ten measures against slow loops, and on networks whose answers are known."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import isnan
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch

from sightline.attribution.methods import METHODS, explain
from sightline.attribution.methods.methods import Found
from sightline.attribution.methods.perturbation import cover_of
from sightline.attribution.methods.targets import Classes, read_target
from sightline.attribution.sanity import faithfulness
from sightline.attribution.sanity.faithfulness import faithfulness_rows
from sightline.attribution.sanity.randomisation import randomised_rows
from sightline.attribution.sanity.removal import random_colours, source_of
from sightline.attribution.sanity.similarity import ssim
from sightline.attribution.sanity.table import MEASURES, Job, Row
from sightline.core import Annotation, InputError, Sample, UnknownNameError
from tests.attribution.methods.networks import linear, make_images, one_patch, smooth, tiny
from tests.attribution.sanity.test_removal import imputed

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

    from sightline.attribution.methods.methods import Request
    from sightline.models import Inputs, Model

STEPS, SAMPLES = 4, 6
FULL = "randomisation/full/0"
IMAGES = make_images(2)
SAMPLE_LIST = [
    Sample(f"{i}.png", Annotation(f"{i}.png", 56, 40), load=partial(np.copy, image))
    for i, image in enumerate(IMAGES)
]
Table = dict[tuple[str, str], list[float]]


def ask(
    model: Model, method: str, *measures: str, layers: tuple[int | None, ...] = (None,), **more: Any
) -> Job:
    options = {"measures": measures or None, "steps": STEPS, "samples": SAMPLES, "near": 3}
    target = more.pop("target", "predicted" if METHODS[method].explains else "")
    batch, params = more.pop("batch", 3), more.pop("params", {})
    return Job(model, method, params, layers, target, batch, {**options, **more}, "faithfulness")


def table(rows: list[Row]) -> Table:
    """Values by metric and point, image by image."""
    found: Table = {}
    for row in rows:
        found.setdefault((row.metric, row.threshold), []).append(row.value)
    return found


def logits(model: Model, pixels: Any) -> NDArray[np.float64]:
    with torch.no_grad():
        output: Any = model(torch.as_tensor(pixels, dtype=torch.float32)[None]).logits
    return np.asarray(output[0].double())


def probability(model: Model, pixels: Any, target: int) -> float:
    one = np.exp(logits(model, pixels))
    return float(one[target] / one.sum())


class Case:
    """One image, its map over the input, and what the network says of it."""

    def __init__(self, model: Model, method: str, image: int = 0) -> None:
        self.model, self.inputs = model, model.prepare(IMAGES[image])
        self.pixels, self.key = self.inputs.pixels[0].numpy(), self.inputs.keys[0]
        self.map = explain(model, IMAGES[image], method).of().astype(np.float64)
        self.target = int(logits(model, self.pixels).argmax())
        self.clean = logits(model, self.pixels)[self.target]

    def order(self, largest: bool = True) -> NDArray[np.int64]:
        """Pixels by |map|, which has no ties here."""
        ranked = np.argsort(np.abs(self.map), axis=None)
        return ranked[::-1] if largest else ranked


@pytest.fixture(scope="module")
def network() -> Model:
    return smooth()


@pytest.fixture(scope="module")
def measured(network: Model) -> Table:
    """All measures of one method; its maps are read without signs."""
    return table(faithfulness_rows(ask(network, "input_x_gradient"), SAMPLE_LIST))


@pytest.fixture(scope="module")
def case(network: Model) -> Case:
    return Case(network, "input_x_gradient")


def curve(measured: Table, name: str) -> list[float]:
    return [measured[f"{name}_curve", f"{i / STEPS:.2f}"][0] for i in range(STEPS + 1)]


def wanted_curve(case: Case, name: str) -> list[float]:
    """A removal curve, pixel after pixel."""
    found = []
    count = case.map.size
    blur = cover_of(case.model, case.inputs.pixels, "blur")[0].numpy()
    for step in range(STEPS + 1):
        chosen = case.order(name != "road_lerf")[: round(step / STEPS * count)]
        flags = np.zeros(count, np.bool_)
        flags[chosen] = True
        gone = flags.reshape(case.map.shape)
        if name == "deletion":
            changed = np.where(gone, 0, case.pixels)
        elif name == "insertion":
            changed = np.where(gone, case.pixels, blur)
        else:
            drawn = 0.01 * source_of(case.key, 0, f"noise {step}").standard_normal(blur.shape)
            filled = np.zeros_like(blur) if gone.all() else imputed(case.pixels, gone)
            changed = np.where(gone, filled + drawn, case.pixels)
        found.append(probability(case.model, changed, case.target))
    return found


@pytest.mark.parametrize("name", ["deletion", "insertion", "road_morf", "road_lerf"])
def test_curves_are_those_of_a_slow_loop(measured: Table, case: Case, name: str) -> None:
    found, wanted = curve(measured, name), wanted_curve(case, name)
    assert found == pytest.approx(wanted, abs=2e-4 if name.startswith("road") else 1e-5)
    assert np.ptp(wanted) > 5e-3
    assert measured[name, ""][0] == pytest.approx(np.trapezoid(found, dx=1 / STEPS))


def test_pixel_flipping_takes_whole_patches(measured: Table, case: Case) -> None:
    means = np.abs(case.map).reshape(3, 8, 4, 8).mean((1, 3))
    colours = random_colours(case.model, case.inputs, 0)[0].numpy()
    wanted = []
    for step in range(STEPS + 1):
        changed = case.pixels.copy()
        for cell in np.argsort(-means, axis=None)[: round(step / STEPS * 12)]:
            rows, columns = (slice(8 * at, 8 * at + 8) for at in divmod(int(cell), 4))
            changed[:, rows, columns] = colours[:, rows, columns]
        wanted.append(probability(case.model, changed, case.target))
    assert curve(measured, "pixel_flipping") == pytest.approx(wanted, abs=1e-5)


def test_infidelity_is_that_of_a_slow_loop(measured: Table, case: Case) -> None:
    source, sums, falls = source_of(case.key, 0, "squares"), [], []
    sides = source.integers(2, 12, SAMPLES, endpoint=True)
    tops, lefts = (source.integers(0, side - sides, endpoint=True) for side in (24, 32))
    for top, left, side in zip(tops, lefts, sides, strict=True):
        changed = case.pixels.copy()
        changed[:, top : top + side, left : left + side] = 0
        sums.append(case.map[top : top + side, left : left + side].sum())
        falls.append(case.clean - logits(case.model, changed)[case.target])
    scale = np.mean(np.multiply(sums, falls)) / np.mean(np.square(sums))
    wanted = np.mean(np.square(scale * np.array(sums) - falls))
    assert measured["infidelity", ""][0] == pytest.approx(wanted, rel=1e-3)
    assert wanted < np.mean(np.square(falls))


def test_faithfulness_correlation_is_that_of_a_slow_loop(measured: Table, case: Case) -> None:
    source, sums, falls = source_of(case.key, 0, "sets"), [], []
    for _ in range(SAMPLES):
        changed, total = case.pixels.copy(), 0.0
        for cell in source.choice(np.arange(12), 2, replace=False):
            rows, columns = (slice(8 * at, 8 * at + 8) for at in divmod(int(cell), 4))
            changed[:, rows, columns] = 0
            total += case.map[rows, columns].sum()
        sums.append(total)
        falls.append(case.clean - logits(case.model, changed)[case.target])
    wanted = np.corrcoef(sums, falls)[0, 1]
    assert measured["faithfulness_correlation", ""][0] == pytest.approx(wanted, abs=1e-4)


def test_max_sensitivity_is_that_of_a_slow_loop(measured: Table, case: Case) -> None:
    std, changes = np.reshape((0.2, 0.3, 0.25), (3, 1, 1)), []
    for number in range(3):
        noise = source_of(case.key, 0, f"near {number}").uniform(
            -0.02 / std, 0.02 / std, (3, 24, 32)
        )
        leaf = torch.tensor(case.pixels + noise, dtype=torch.float32, requires_grad=True)
        output: Any = case.model(leaf[None]).logits
        (slope,) = torch.autograd.grad(output[0, case.target], leaf)
        again = (leaf * slope).sum(0).detach().numpy()
        changes.append(np.linalg.norm(again - case.map) / np.linalg.norm(case.map))
    assert measured["max_sensitivity", ""][0] == pytest.approx(max(changes), rel=1e-4)
    assert np.ptp(changes) > 1e-4


def test_images_alike_are_asked_for_the_same_class(
    network: Model, case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is predicted for them."""
    asked = watch(monkeypatch, "saliency")
    other = (case.target + 1) % 3
    job = ask(network, "saliency", "max_sensitivity", target=network.classes[other])
    faithfulness_rows(job, SAMPLE_LIST[:1])
    assert asked == [other] * 4  # its own, and that of three images like it


def watch(monkeypatch: pytest.MonkeyPatch, method: str) -> list[int]:
    """Which classes a method is asked for from now on."""
    asked: list[int] = []
    real = METHODS[method].function

    def watched(model: Model, inputs: Inputs, request: Request) -> Found:
        goal: Any = request.goal
        asked.extend(goal.numbers.tolist() if isinstance(goal, Classes) else [-1])
        return real(model, inputs, request)

    monkeypatch.setitem(METHODS._entries, method, replace(METHODS[method], function=watched))
    return asked


def test_random_logit_compares_with_another_class(measured: Table, case: Case) -> None:
    others = [
        explain(case.model, IMAGES[0], "input_x_gradient", target=target).of()
        for target in range(3)
        if target != case.target
    ]
    wanted = [float(ssim(case.map[None], other[None])[0]) for other in others]
    assert np.abs(np.subtract(wanted, measured["random_logit", ""][0])).min() < 1e-6


def test_all_classes_but_the_own_are_drawn(network: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over many seeds: the map of another class is asked for, never that of the same."""
    asked = watch(monkeypatch, "saliency")
    for seed in range(12):
        faithfulness_rows(ask(network, "saliency", "random_logit", seed=seed), SAMPLE_LIST[:1])
    own, others = set(asked[::2]), set(asked[1::2])
    assert len(own) == 1
    assert own | others == {0, 1, 2}
    assert not own & others


# --- networks whose answers are known -------------------------------------------------------------


def test_contributions_to_a_linear_network_are_perfect() -> None:
    """There, pixel times gradient is what the score loses with the pixel."""
    names = ("infidelity", "faithfulness_correlation")
    found = table(faithfulness_rows(ask(linear(), "input_x_gradient", *names), SAMPLE_LIST))
    noise = table(faithfulness_rows(ask(linear(), "random", *names), SAMPLE_LIST))
    assert found["infidelity", ""] == pytest.approx([0, 0], abs=1e-9)
    assert found["faithfulness_correlation", ""] == pytest.approx([1, 1], abs=1e-5)
    assert min(noise["infidelity", ""]) > 1e-6
    assert max(noise["faithfulness_correlation", ""]) < 0.999


def test_the_one_patch_that_counts_goes_first() -> None:
    """Without it the network sees nothing: the curve falls at once, and comes back at once."""
    names = ("deletion", "insertion")
    model = one_patch()
    good = table(faithfulness_rows(ask(model, "occlusion", *names, sign="absolute"), SAMPLE_LIST))
    plain = [probability(model, np.zeros((3, 24, 32)), c) for c in range(3)]
    first = np.array(good["deletion_curve", "0.25"])
    assert np.abs(first[:, None] - plain).min(1).max() < 1e-5
    assert good["insertion_curve", "0.25"] == pytest.approx(good["insertion_curve", "1.00"])
    noise = table(faithfulness_rows(ask(model, "random", *names), SAMPLE_LIST))
    later = np.array(noise["deletion_curve", "0.25"])
    assert np.abs(later[:, None] - plain).min(1).min() > 1e-3
    assert noise["insertion_curve", "0.25"] != pytest.approx(noise["insertion_curve", "1.00"])


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("integrated_gradients", {"baseline": "black"}),
        ("integrated_gradients", {}),
        ("gradient_shap", {"samples": 2, "baseline": "white"}),
    ],
)
def test_methods_that_promise_it_add_up(method: str, params: dict[str, Any]) -> None:
    model = linear() if method == "gradient_shap" else smooth()
    rows = faithfulness_rows(ask(model, method, "completeness", params=params), SAMPLE_LIST)
    gain = np.ptp([logits(model, model.prepare(image).pixels[0]) for image in IMAGES])
    assert [row.value for row in rows] == pytest.approx([0, 0], abs=1e-3 * gain)


def test_plain_images_of_several_colours_count_by_their_mean() -> None:
    """Of a linear network, gradient SHAP gains over whichever of the three colours it drew."""
    model = linear()
    job = ask(model, "gradient_shap", "completeness", params={"samples": 1})
    (row,) = faithfulness_rows(job, SAMPLE_LIST[:1])
    target = int(logits(model, model.prepare(IMAGES[0]).pixels[0]).argmax())
    starts = [
        logits(model, model.prepare(np.full((24, 32, 3), colour, np.uint8)).pixels[0])[target]
        for colour in (0, 255)
    ] + [logits(model, np.zeros((3, 24, 32)))[target]]
    wanted = np.abs(np.array(starts) - np.mean(starts))
    assert np.abs(wanted - row.value).min() < 1e-5
    assert wanted.min() > 1e-3


def test_sums_that_miss_are_told(network: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    """Completeness is the difference itself: a map that is 1 too much is 1 off."""
    real = METHODS["integrated_gradients"]

    def shifted(model: Model, inputs: Inputs, request: Request) -> Found:
        found = real.function(model, inputs, request)
        more: Tensor = found.maps[0].clone()
        more[:, :, 0, 0] -= 1
        return found._replace(maps=[more])

    monkeypatch.setitem(METHODS._entries, real.name, replace(real, function=shifted))
    (row,) = faithfulness_rows(ask(network, real.name, "completeness"), SAMPLE_LIST[:1])
    assert row.value == pytest.approx(1, abs=0.01)


def test_what_ignores_image_and_class_is_told(network: Model) -> None:
    found = table(faithfulness_rows(ask(network, "centre"), SAMPLE_LIST))
    assert found["max_sensitivity", ""] == [0, 0]
    assert found["random_logit", ""] == pytest.approx([1, 1])
    assert all(isnan(value) for value in found["completeness", ""])
    curves = 5 * (STEPS + 1)
    assert len(found) == len(MEASURES) + curves
    assert not any(
        isnan(value)
        for name, values in found.items()
        for value in values
        if name[0] != "completeness"
    )


# --- rows -----------------------------------------------------------------------------------------


def test_no_image_changes_what_another_gets(network: Model) -> None:
    job = ask(network, "smoothgrad", batch=1, params={"samples": 2})
    alone = [row for sample in SAMPLE_LIST for row in faithfulness_rows(job, [sample])]
    assert [row for row in alone if not isnan(row.value)] == [
        row for row in faithfulness_rows(job, SAMPLE_LIST) if not isnan(row.value)
    ]


def test_layers_have_rows_of_their_own() -> None:
    names = ("deletion", "max_sensitivity", "random_logit")
    model = tiny("vit")
    both = faithfulness_rows(ask(model, "cls", *names, layers=(0, 2)), SAMPLE_LIST)
    for layer in (0, 2):
        alone = faithfulness_rows(ask(model, "cls", *names, layers=(layer,)), SAMPLE_LIST)
        assert {row.layer for row in alone} == {layer}
        assert sorted(row for row in both if row.layer == layer) == sorted(alone)
    first, last = ([row.value for row in both if row.layer == layer] for layer in (0, 2))
    assert first != last


def test_a_model_without_classes_is_asked_about_its_embedding() -> None:
    model = tiny("dinov2")
    names = ("deletion", "random_logit", "faithfulness_correlation")
    found = table(faithfulness_rows(ask(model, "mean", *names, layers=(2,)), SAMPLE_LIST))
    assert np.isnan(found["random_logit", ""]).all()  # no class, so no other, whatever is blind
    length = model.embeddings(IMAGES).norm(dim=1).tolist()
    assert found["deletion_curve", "0.00"] == pytest.approx(length, rel=1e-4)
    assert np.isfinite(found["faithfulness_correlation", ""]).all()
    told = table(
        faithfulness_rows(
            ask(model, "saliency", "random_logit", target="embedding"), SAMPLE_LIST[:1]
        )
    )
    assert isnan(told["random_logit", ""][0])


def test_a_detector_is_asked_about_its_most_confident_detection() -> None:
    model, names = tiny("yolos"), ("deletion", "random_logit")
    found = [
        faithfulness_rows(ask(model, method, *names, target=target), SAMPLE_LIST)
        for method, target in (("saliency", "predicted"), ("saliency", "detection"), ("random", ""))
    ]
    pixels = next(model.batches(IMAGES, 2)).pixels
    with torch.no_grad():
        output = model(pixels)
        own = read_target(model, SAMPLE_LIST, "detection").settled(output).scores(output)
    for rows in found:
        assert table(rows)["deletion_curve", "0.00"] == pytest.approx(own.tolist(), rel=1e-4)
        assert np.isnan(table(rows)["random_logit", ""]).all()  # a detection is no class
    assert table(found[0])["deletion", ""] == table(found[1])["deletion", ""]
    before = model.digest
    drawn = table(randomised_rows(replace(ask(model, "saliency"), check=FULL), SAMPLE_LIST))
    assert np.abs(drawn["spearman", ""]).max() < 0.9
    assert np.isnan(drawn["correct", ""]).all()
    assert model.digest == before


def test_the_class_asked_for_is_scored(network: Model) -> None:
    for target in (0, 2):
        job = ask(network, "random", "deletion", target=network.classes[target])
        found = table(faithfulness_rows(job, SAMPLE_LIST[:1]))
        pixels = network.prepare(IMAGES[0]).pixels[0]
        assert found["deletion_curve", "0.00"][0] == pytest.approx(
            probability(network, pixels, target), abs=1e-5
        )


def test_what_a_method_gives_up_has_no_value_and_ends_nothing(
    network: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DeepLIFT finds of some images alone that it does not hold; here, of bright ones."""
    real, names = METHODS["saliency"], ("max_sensitivity", "random_logit")
    usual = table(faithfulness_rows(ask(network, "saliency", *names), SAMPLE_LIST))
    second, other = (network.prepare(image).pixels for image in IMAGES[::-1])
    target = int(logits(network, other[0]).argmax())

    def refuses(model: Model, inputs: Inputs, request: Request) -> Found:
        goal: Any = request.goal
        for pixels, number in zip(inputs.pixels, goal.numbers.tolist(), strict=True):
            changed = not any(torch.equal(pixels, one[0]) for one in (second, other))
            near = (pixels - other[0]).abs().max() < (pixels - second[0]).abs().max()
            if near and (changed or number != target):
                raise InputError("saliency does not hold for this image")
        return real.function(model, inputs, request)

    monkeypatch.setitem(METHODS._entries, real.name, replace(real, function=refuses))
    found = table(faithfulness_rows(ask(network, "saliency", *names), SAMPLE_LIST))
    for name in names:
        first, kept = found[name, ""]
        assert isnan(first)
        assert kept == pytest.approx(usual[name, ""][1], rel=1e-4)


def test_a_map_of_zeros_has_no_sensitivity_and_no_correlation() -> None:
    assert isnan(faithfulness._correlation(np.zeros(4), np.arange(4.0)))
    assert isnan(faithfulness._correlation(np.arange(4.0), np.full(4, 0.1) + 1e-18))
    assert faithfulness._correlation(np.arange(4.0), -np.arange(4.0)) == pytest.approx(-1)


@pytest.mark.parametrize(
    ("method", "options", "said"),
    [
        ("mean_map", {}, "other images"),
        ("saliency", {"steps": 0}, "steps"),
        ("saliency", {"samples": 1}, "samples"),
        ("saliency", {"near": 0}, "near"),
        ("saliency", {"noise": -1}, "noise"),
        ("saliency", {"subset": 2}, "subset"),
        ("saliency", {"sign": "both"}, "sign"),
    ],
)
def test_what_does_not_fit_is_named(
    network: Model, method: str, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        faithfulness_rows(ask(network, method, "deletion", **options), SAMPLE_LIST[:1])


def test_an_unknown_measure_names_the_known_ones(network: Model) -> None:
    with pytest.raises(UnknownNameError, match="road_lerf"):
        faithfulness_rows(ask(network, "saliency", "roar"), SAMPLE_LIST[:1])


def test_a_map_that_is_no_number_names_its_image(
    network: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(model: Model, inputs: Inputs, request: Request) -> Found:
        return Found([torch.full((len(inputs.keys), 1, 24, 32), torch.nan)])

    monkeypatch.setitem(METHODS._entries, "centre", replace(METHODS["centre"], function=broken))
    with pytest.raises(InputError, match=r"0\.png"):
        faithfulness_rows(ask(network, "centre", "deletion"), SAMPLE_LIST)
