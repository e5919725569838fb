"""The benchmark of methods runs on our side, counts passes, says what it wants. No time counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks import methods as bench
from benchmarks.methods import Measured
from sightline.attribution.methods import METHODS
from sightline.models import load_model

if TYPE_CHECKING:
    import pytest


def test_ours_runs_and_passes_are_counted() -> None:
    found = bench.measure("ours", "demo/cnn", 1, ["gradcam", "eigencam"])
    assert {method: (one.passes, one.error) for method, one in found.items()} == {
        "gradcam": (1, ""),
        "eigencam": (1, ""),
    }
    assert min(one.seconds for one in found.values()) > 0


def test_copies_that_begin_late_count_for_what_they_run_through() -> None:
    model = load_model("demo/cnn")
    pixels = model.prepare(bench.make_images(1)[0]).pixels.repeat(6, 1, 1, 1)
    assert bench.measure_one(model, lambda: model(pixels), 2).passes == 3
    last = model.layers[-1]
    hidden = []
    handle = last.register_forward_pre_hook(lambda module, given: hidden.append(given[0]))
    model(pixels)
    handle.remove()
    assert bench.measure_one(model, lambda: last(hidden[0]), 1).passes == 6 / len(model.layers)


def test_what_a_peer_raises_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(setting: bench.Setting, pixels: object) -> None:
        raise TypeError("no rule\nfor this")

    monkeypatch.setitem(bench.PEERS, "saliency", bench.Peer("captum", fail))
    found = bench.measure("captum", "demo/cnn", 1, ["saliency"])
    assert found["saliency"].error == "TypeError: no rule"


def test_every_method_with_a_peer_is_known_and_left_out_where_it_does_not_fit() -> None:
    assert set(bench.PEERS) <= set(METHODS)
    assert set(bench.COUNTS) <= set(METHODS)
    asked = bench.our_methods("demo/vit", ["gradcam", "cam", "drise", "random", "saliency"])
    assert asked == ["gradcam", "saliency"]


def test_rows_and_notes() -> None:
    figures = {
        ("ours", "ablationcam"): Measured(0.010, 20),
        ("ours", "gradcam"): Measured(0.010, 1),
        ("ours", "rise"): Measured(0.5, 129),
        ("ours", "lrp"): Measured(0.1, 3),
        ("pytorch-grad-cam", "ablationcam"): Measured(0.020, 257),
        ("pytorch-grad-cam", "gradcam"): Measured(0.020, 1),
        ("captum", "lrp"): Measured(0, 0, "TypeError: no rule"),
    }
    rows = bench.rows(figures)
    assert rows[1:] == [
        ["ablationcam", "10", "20", "pytorch-grad-cam", "20", "257", "2.00", "≥ 3", "missed"],
        ["gradcam", "10", "1", "pytorch-grad-cam", "20", "1", "2.00", "≥ 1", "met"],
        ["rise", "500", "129", "", "", "", "", "", ""],
        ["lrp", "100", "3", "captum", "fails", "", "", "", ""],
    ]
    said = bench.notes(figures)
    assert said[0] == "lrp by captum: TypeError: no rule"
    assert said[1].startswith("Not run here: gradcam_pp, hirescam")
    assert "demo/cnn" in bench.report("demo/cnn", figures, markdown=True)
