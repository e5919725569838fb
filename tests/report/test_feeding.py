"""Every figure comes out of the demo's store, is legible, and shows the store's own numbers."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from functools import cache
from html import escape
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd
import pytest

from sightline.core import InputError, UnknownNameError
from sightline.data import write_csv
from sightline.figures import FIGURES
from sightline.report import Choice, StoreFigures, _figures_detection
from sightline.report._figure_data import chosen_metrics, directed_metrics
from sightline.report._figures import FEEDS
from sightline.report._figures_curves import _annotated
from sightline.report._figures_scores import _feature_metric
from sightline.report._lines import _equal_baselines
from sightline.report._pictures import _diverse, _of_classes, _reduced, said
from sightline.report.plates import DIGITS, PICTURE_DPI, Wanted, save_figure, wanted_figures
from sightline.report.scores import read_scores
from sightline.results import open_detection, open_results
from sightline.results.sanity import cascade_table, sanity_table
from sightline.store import task_name
from sightline.store.checksums import save_json
from tests.figures.drawn import assert_drawn, assert_legible
from tests.report.few import CARDS, DPI
from tests.results.statistics import stores

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sightline.report import Drawn

ANY = Choice()
BASELINES = {"random", "smooth_random", "centre", "edge", "mean_map"}


@pytest.fixture(scope="module")
def figures(demo_store: Path) -> Iterator[StoreFigures]:
    """Figures of the demo, each of them drawn once for all tests."""
    with open_results(demo_store) as results, pytest.MonkeyPatch.context() as patch:
        found = StoreFigures(results)
        drawn = cache(found.draw)
        patch.setattr(found, "draw", lambda name, choice=ANY: drawn(name, choice))
        patch.setattr("sightline.report._figures_prototypes.SHOWN", CARDS)
        yield found


@pytest.fixture(scope="module")
def wanted(figures: StoreFigures) -> dict[str, Wanted]:
    """The first figure of each kind that the report shows."""
    scored = read_scores(figures.results, None, figures.lines())
    every, _ = wanted_figures(figures, scored, None)
    return {one.card: one for one in reversed(every)}


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StoreFigures]:
    """Maps made elsewhere of odd pictures: no models, layers, baselines or labels."""
    folder = tmp_path_factory.mktemp("given")
    data = stores.write_odd(folder / "pictures")
    with open_results(stores.run_given(folder, "given", data, range(7))) as results:
        yield StoreFigures(results)


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two targets, two seeds, models of two grids, and maps made elsewhere called `edge`, too."""
    folder = tmp_path_factory.mktemp("several")
    (folder / "maps").mkdir()
    for number in range(4):
        values = np.random.default_rng(number).random((5, 5), np.float32)
        np.save(folder / "maps" / f"facade-{number:05}.npy", values)
    theirs = {"name": "edge", "params": {"maps": str(folder / "maps")}}
    return stores.run(
        folder, "several", data={"name": "facades", "count": 4, "seed": 3},
        models=["demo/vit", "demo/vit@seed2", "demo/cnn"], layers=[2, -1], seeds=[0, 1],
        methods=["cls", "gradcam", "random", "centre", "edge", theirs],
        targets=["predicted", "label"],
        metrics=["pointing", "coverage", "auc_roc", "iou"],
    )  # fmt: skip


# --- every figure --------------------------------------------------------------------------------


def test_every_card_has_a_feed() -> None:
    assert set(FEEDS) == set(FIGURES) == set(StoreFigures.names())


@pytest.mark.parametrize("name", sorted(FEEDS))
def test_every_figure_of_the_demo(
    name: str,
    figures: StoreFigures,
    wanted: dict[str, Wanted],
    demo_report: Path,
    tmp_path: Path,
) -> None:
    """It is legible, and what the report has: drawn by others, from the beginning."""
    assert figures.missing(name) == ""
    mine, theirs = tmp_path / "mine", demo_report / wanted[name].file
    drawn = figures.draw(name, wanted[name].choice)
    picture = FIGURES[name].group == "images" or name == "prototype-cards"
    dpi = PICTURE_DPI if picture else DPI
    save_figure(drawn.figure, mine, ("svg",), dpi)  # before the layout is made again
    assert_drawn(drawn.figure)
    assert len(drawn.data)
    assert drawn.about
    assert "\n" not in drawn.about
    write_csv(drawn.data, mine.with_suffix(".csv"), digits=DIGITS)
    for ending in ("svg", "csv"):
        assert (
            mine.with_suffix(f".{ending}").read_bytes() == Path(f"{theirs}.{ending}").read_bytes()
        )
    assert escape(drawn.about) in (demo_report / "index.html").read_text("utf-8")


MARK = re.compile(r"\* best of \d+( to \d+)? layers( by \S+)? on the same images: optimistic", re.I)


@pytest.mark.parametrize("name", FIGURES)
def test_choices_on_the_same_images_are_named_and_marked(name: str, figures: StoreFigures) -> None:
    """On the figure itself and in what commands print, unless its card says why there is none."""
    drawn = figures.draw(name)
    texts = [" ".join(text.split()) for text in all_texts(drawn.figure)]
    marked = any(MARK.search(text) for text in texts)
    assert marked == (not FIGURES[name].unselected), texts
    if not marked:
        return
    assert re.search(r"best of \d+( to \d+)? layers on the same images", drawn.about)
    if name == "layers":  # every layer is drawn: the legend names the best
        assert any(re.search(r"at layer \d+\*", text) for text in texts)
        return
    if "chosen" not in drawn.data:  # of one line, or a matrix
        assert any(re.search(r"layer \d+\*", text) for text in texts)
        return
    rows = drawn.data[drawn.data["chosen"].fillna("").str.contains("same images")]
    assert len(rows)
    joined = ["".join(text.split()) for text in texts]  # long names are wrapped
    for name, layer in set(zip(rows["name"], rows["layer"], strict=True)):
        label = "".join(f"{name} · layer {int(layer)}*".split())
        assert any(label in text for text in joined), label


@pytest.mark.parametrize("name", ["roc", "pr", "thresholds", "ranking", "radar"])
def test_a_figure_names_the_metric_that_layers_were_chosen_by(
    name: str, figures: StoreFigures
) -> None:
    texts = " ".join(" ".join(all_texts(figures.draw(name).figure)).split())
    assert re.search(r"layers by iou@90 on the same images: optimistic", texts)
    assert texts.count("same images") == 1


@pytest.mark.parametrize(
    "name", ["roc", "pr", "thresholds", "ranking", "radar", "leaderboard", "metrics-comparison"]
)
def test_a_layer_that_was_asked_for_is_named_and_not_marked(
    name: str, figures: StoreFigures
) -> None:
    texts = " ".join(" ".join(all_texts(figures.draw(name, Choice(layer=3)).figure)).split())
    assert "layer 3" in texts
    assert "same images" not in texts
    assert not re.search(r"layer \d+\*", texts)


@pytest.mark.parametrize("name", ["roc", "leaderboard", "ranking", "all-methods", "styles"])
def test_split_half_selection_is_named_instead(name: str, figures: StoreFigures) -> None:
    drawn = figures.draw(name, Choice(layer="split"))
    texts = " ".join(" ".join(text.split()) for text in all_texts(drawn.figure))
    assert re.search(r"layers: split-half of \d+", texts, re.I)
    assert "same images" not in texts
    assert not re.search(r"layer \d+\*", texts)


def test_saved_files_have_the_mark(figures: StoreFigures, tmp_path: Path) -> None:
    for name in ("pr", "pointing-game"):
        file = tmp_path / name
        save_figure(figures.draw(name).figure, file, ("svg",), DPI)
        written = " ".join(ET.parse(file.with_suffix(".svg")).getroot().itertext())  # noqa: S314
        assert MARK.search(" ".join(written.split()))


def all_texts(figure: Any) -> list[str]:
    from matplotlib.text import Text

    return [text.get_text() for text in figure.findobj(match=Text)]


def test_an_unknown_figure(figures: StoreFigures) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'radar'"):
        figures.missing("rader")
    with pytest.raises(UnknownNameError, match="Known: all-methods"):
        figures.draw("rader")


def test_importing_is_light() -> None:
    code = (
        "import sys, sightline.report\n"
        "heavy = {'matplotlib', 'pandas', 'torch', 'duckdb', 'scipy.stats'} & set(sys.modules)\n"
        "sys.exit(' '.join(sorted(heavy)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.strip() == ""


# --- lines ---------------------------------------------------------------------------------------


def test_the_main_board_is_the_leaderboard(figures: StoreFigures) -> None:
    found = figures.boards()
    assert list(found) == figures.results.metrics
    assert figures.metric == "iou@90"
    board, expected = found["iou@90"], figures.results.leaderboard()
    assert board["name"].is_unique
    assert board["value"].is_monotonic_decreasing
    for row in board.to_dict("records"):
        same = expected[(expected["model"] == row["model"]) & (expected["method"] == row["method"])]
        for column in ("value", "low", "high", "chance", "ceiling", "n", "corrected"):
            assert same[column].iloc[0] == row[column]
        assert same["chosen"].iloc[0] == row["chosen"].replace(" by iou@90", "")
    kinds = expected.groupby("method")["value"].nunique()
    for method in BASELINES:  # equal ones are one line, others keep theirs
        part = board[board["method"] == method]
        assert part["models"].sum() == 4
        assert len(part) == kinds[method]
        shared = part[part["models"] > 1]
        assert shared["name"].tolist() == [method] * len(shared)
        alone = part[part["models"] == 1]
        assert alone["name"].tolist() == [f"{model} {method}" for model in alone["model"]]
    assert board.loc[board["method"] == "edge", "models"].tolist() == [4]


def test_lines_are_about_the_same_maps_in_every_board(figures: StoreFigures) -> None:
    found = figures.boards()
    layers = found["iou@90"].set_index("name")["layer"]
    for metric, board in found.items():
        assert board.set_index("name")["layer"].reindex(layers.index).equals(layers)
        assert board.attrs["metric"] == metric
        means = figures.values(metric).groupby("name")["value"].mean()
        np.testing.assert_allclose(means.reindex(board["name"]), board["value"], atol=1e-12)
    row = found["coverage"].set_index("name").loc["demo/vit cls"]
    same = figures.results.leaderboard(
        "coverage", model="demo/vit", method="cls", layer=int(layers["demo/vit cls"])
    )
    same = same[same["model"] == "demo/vit"]
    assert row["value"] == pytest.approx(same["value"].iloc[0], abs=1e-12)
    assert (row["low"], row["high"]) == (same["low"].iloc[0], same["high"].iloc[0])


def test_values_are_the_scores_of_images(figures: StoreFigures) -> None:
    values = figures.values("iou@90")
    line = values[values["name"] == "demo/cnn gradcam"].set_index("image")
    expected = figures.results.images("iou@90", model="demo/cnn", method="gradcam")
    expected = expected.set_index("image").reindex(line.index)
    for column in ("value", "chance", "ceiling"):
        np.testing.assert_allclose(line[column], expected[column], atol=1e-12)
    assert set(line["group"]) == {"cam"}


def test_lines_that_are_shown(figures: StoreFigures) -> None:
    every = figures.lines()
    shown = every.shown()
    groups = pd.Series(shown.groups)
    assert (groups == "baseline").sum() == 6
    assert (groups != "baseline").sum() == 14
    methods = [line.method for line in shown.lines if line.group == "baseline"]
    assert set(methods) == BASELINES
    few = every.shown(3, 2)
    assert len(few) == 5
    plain = [line for line in every.lines if line.group != "baseline"]
    assert [line for line in few.lines if line.group != "baseline"] == plain[:3]
    assert every.best().lines == (plain[0],)
    assert len({line.method for line in few.lines if line.group == "baseline"}) == 2


def test_layers_can_be_chosen_otherwise(figures: StoreFigures) -> None:
    last = figures.lines(Choice(layer="last"))
    expected = figures.results.leaderboard(layer="last")
    assert last.lines[0].sums.mean() == pytest.approx(expected["value"].max())
    assert "layers by iou@90: last of" in figures.draw("leaderboard", Choice(layer="last")).about
    split = figures.lines(Choice(layer="split"))
    means = split.values(split.lead).groupby("name")["value"].mean()
    board = split.board(split.lead).set_index("name")["value"]
    np.testing.assert_allclose(means.reindex(board.index), board, atol=1e-12)
    assert "layers by iou@90: split-half of" in figures.draw("roc", Choice(layer="split")).about


def test_every_line_has_a_name_of_its_own(several: Path) -> None:
    with open_results(several) as results:
        lines = StoreFigures(results).lines()
        assert len(set(lines.names)) == len(lines)
        named = dict(zip(lines.names, lines.lines, strict=True))
        assert named["edge"].group == "given"
        assert named["demo/cnn edge"].group == "baseline"
        shared = dict(zip(lines.names, lines.models, strict=True))
        assert (shared["edge"], shared["demo/cnn edge"], shared["centre"]) == (1, 3, 2)


def test_baselines_are_one_line_if_they_are_equal_by_every_metric(several: Path) -> None:
    with open_results(several) as results:
        figures = StoreFigures(results)
        lines = figures.lines(Choice(method="centre"))
        assert [(one.model, n) for one, n in zip(lines.lines, lines.models, strict=True)] == [
            ("demo/vit", 2),
            ("demo/cnn", 1),
        ]
        # By the metric that leads, all of them are the same.
        like = tuple(replace(one, scores=lines.lines[0].scores) for one in lines.lines)
        assert _equal_baselines(replace(lines, lines=like)) == [[0], [1]]
        other = replace(lines.lines[0], model="demo/vit@seed2")
        same = replace(lines, lines=(lines.lines[0], other))
        assert _equal_baselines(same) == [[0, 1]]


def test_of_several_targets_the_best_is_drawn(several: Path) -> None:
    with open_results(several) as results:
        drawn = StoreFigures(results).draw("leaderboard")
        assert drawn.about.startswith("6 methods and 5 baselines; of several targets the best by")
        board = results.leaderboard()
        for row in drawn.data.to_dict("records"):
            same = (board["model"] == row["model"]) & (board["method"] == row["method"])
            assert row["value"] == board.loc[same, "value"].max()
        one = StoreFigures(results).draw("leaderboard", Choice(target="label"))
        assert one.about.startswith("6 methods and 5 baselines; layers")


def test_a_choice_of_names(figures: StoreFigures) -> None:
    drawn = figures.draw("leaderboard", Choice(metric="coverage", model="demo/vit"))
    assert set(drawn.data["model"]) == {"demo/vit"}
    assert {"demo/vit cls", "edge", "demo/vit mean_map"} < set(drawn.data["name"])
    assert drawn.data.attrs["metric"] == "coverage"
    best = figures.results.leaderboard("coverage", model="demo/vit")["value"].max()
    assert drawn.data["value"].max() == pytest.approx(best)
    with pytest.raises(UnknownNameError, match="no scores of method 'clss'"):
        figures.draw("leaderboard", Choice(method="clss"))
    with pytest.raises(UnknownNameError, match="no scores of metric 'dice'"):
        figures.draw("roc", Choice(metric="dice"))


# --- numbers of figures --------------------------------------------------------------------------


def texts_of(drawn: Drawn, place: int = 0) -> list[str]:
    return [text.get_text() for text in drawn.figure.axes[place].get_yticklabels()]


def test_the_data_are_what_is_drawn(figures: StoreFigures) -> None:
    board = figures.draw("leaderboard")
    assert [name.partition(" · layer")[0] for name in texts_of(board)] == board.data[
        "name"
    ].tolist()
    styles = figures.draw("styles")
    assert set(texts_of(styles)) == set(styles.data["label"])
    features = figures.draw("features")
    assert (
        texts_of(features)
        == features.data.sort_values("value", ascending=False, kind="stable")["label"].tolist()
    )


def test_curves_are_those_of_the_results(figures: StoreFigures) -> None:
    for name, kind in (("roc", "roc"), ("pr", "pr")):
        data = figures.draw(name).data
        part = data[data["name"] == "demo/vit rollout"]
        expected = figures.results.curves(kind, model="demo/vit", method="rollout")  # type: ignore[arg-type]
        np.testing.assert_allclose(part["value"], expected["value"], atol=1e-12)
        np.testing.assert_allclose(part["x"], expected["x"])
        assert part["n"].tolist() == expected["n"].tolist()
    auc = figures.board("auc_roc").set_index("name")["value"]
    beside = figures.draw("roc").data.groupby("name")["auc_roc"].first()
    np.testing.assert_allclose(beside, auc.reindex(beside.index))


def test_thresholds_and_layers(figures: StoreFigures) -> None:
    data = figures.draw("thresholds").data
    part = data[data["name"] == "demo/cnn gradcam"]
    expected = figures.results.percentile_sweep(model="demo/cnn", method="gradcam")
    assert part["percentile"].tolist() == [95, 90, 85, 80, 75, 70, 60, 50]
    np.testing.assert_allclose(part["value"], expected["value"], atol=1e-12)
    recall = figures.draw("thresholds", Choice(metric="recall@90"))
    line = recall.data[recall.data["name"] == "edge"]
    np.testing.assert_allclose(
        line["value"],
        figures.results.percentile_sweep("recall", model="demo/vit", method="edge")["value"][:8],
    )
    other = figures.draw("thresholds", Choice(metric="coverage"))
    assert "coverage has no thresholds: iou is drawn" in other.about
    data = figures.draw("layers").data
    part = data[data["name"] == "demo/vit-dino mean"]
    assert part["layer"].tolist() == list(range(12))
    expected = figures.results.layer_progression(model="demo/vit-dino", method="mean")
    np.testing.assert_allclose(part["value"], expected["value"], atol=1e-12)


def test_energy_ends_at_the_coverage(figures: StoreFigures) -> None:
    data = figures.draw("energy-curves").data
    ends = data[data["x"] == 1].set_index("name")["value"]
    coverage = figures.board("coverage").set_index("name")["value"]
    np.testing.assert_allclose(ends, coverage.reindex(ends.index), atol=1e-6)


def test_the_share_annotated_is_that_of_images_that_have_some(given: StoreFigures) -> None:
    found = given.results._tables.fetch("SELECT area FROM images")
    areas = [area for (area,) in found]
    assert areas.count(0) == 1
    assert _annotated(given) == pytest.approx(np.mean([area for area in areas if area]))


@pytest.mark.parametrize("metric", [None, "coverage", "recall@80"])
def test_features_are_of_the_maps_that_are_named(figures: StoreFigures, metric: str | None) -> None:
    choice = Choice(metric=metric, layer="split", model="demo/vit", method="cls")
    drawn = figures.draw("features", choice)
    words: dict[str, Any] = {"model": "demo/vit", "method": "cls", "layer": "split"}
    token = 80 if metric == "recall@80" else 90
    expected = figures.results.feature_breakdown(**words, percentile=token)
    column = "iou" if metric is None else metric.partition("@")[0]
    np.testing.assert_allclose(drawn.data["value"], expected[column])
    assert drawn.about.split("; ")[0] in expected.attrs["note"]


def test_metrics_that_say_what_is_better() -> None:
    stored = ["entropy", "gini", "auc_roc", "iou@90", "coverage"]
    store: Any = SimpleNamespace(results=SimpleNamespace(metrics=stored))
    assert directed_metrics(store, ("coverage", "dice"), 1) == ["coverage"]
    assert directed_metrics(store, ("coverage", "dice"), 3) == ["coverage", "auc_roc", "iou@90"]
    assert directed_metrics(store, (), 9) == ["auc_roc", "iou@90", "coverage"]
    assert chosen_metrics(store, ("coverage",), 2) == ["coverage", "entropy"]


def test_features_of_another_metric(figures: StoreFigures) -> None:
    best = figures.lines().best().lines[0]
    words: dict[str, Any] = {"model": best.model, "method": best.method, "layer": best.layer}
    expected = figures.results.feature_breakdown(**words, percentile=80)
    drawn = figures.draw("features", Choice(metric="iou@90"))
    assert "iou@90 of single regions" in drawn.about
    other = figures.draw("features", Choice(metric="recall@80", model=best.model,
                                            method=best.method, layer=best.layer))  # fmt: skip
    np.testing.assert_allclose(other.data["value"], expected["recall"])
    np.testing.assert_allclose(other.data["chance"], expected["recall_chance"])
    assert _feature_metric(figures, Choice(metric="auc_roc")) == ("iou", "90")


def test_model_against_method(figures: StoreFigures) -> None:
    data = figures.draw("model-vs-method").data
    known = figures.predictions()
    assert known is not None
    assert set(data["model"]) == {"demo/vit", "demo/vit@seed2", "demo/cnn"}
    assert "baseline" not in set(data["group"])
    merged = data.merge(known, on=["model", "image"], suffixes=("", "_known"))
    assert len(merged) == len(data)
    assert (merged["correct"] == merged["correct_known"]).all()


def test_a_cascade_while_lines_know_of_other_draws(demo_store: Path) -> None:
    with open_results(demo_store) as results:
        found = StoreFigures(results)
        whole = cascade_table(results)
        other = whole.assign(method="edge", accuracy=0.25)
        both = pd.concat([whole, other], ignore_index=True)
        found.kept(("cascade", "top-down", "spearman"), lambda: both)
        drawn = found.draw("cascade")
    accuracy = drawn.data.groupby("place")["accuracy"]
    assert accuracy.nunique().max() == 1
    wanted = (whole.set_index("stage")["accuracy"] + 0.25) / 2
    assert accuracy.first().tolist() == pytest.approx(wanted.sort_index().tolist())


def test_plots_of_checks_name_the_layer(figures: StoreFigures) -> None:
    for card in ("cascade", "removal-curves", "sanity-check"):
        data = figures.draw(card).data
        own = data[data["method"] == "gradcam"]
        assert len(own)
        assert (own["layer"] == own["best_layer"]).all()
        for name, layer in zip(own["name"], own["layer"], strict=True):
            assert str(name).endswith(f" layer {layer}")
    assert not any("layer" in name for name in figures.draw("layer-changes").data["name"])


def test_of_several_checked_layers_the_best_one_is_compared_on_an_image(demo_store: Path) -> None:
    with open_results(demo_store) as results:
        found = StoreFigures(results)
        one = sanity_table(results)
        best = int(one["layer"].iloc[0])
        several = pd.concat([one.assign(layer=best + 1), one, one.assign(layer=best - 1)])
        found.kept("sanity", lambda: several.reset_index(drop=True))
        assert found.draw("sanity-check").data["layer"].tolist() == [best]


def test_measures_of_checks_are_known_by_name(figures: StoreFigures) -> None:
    for card, known in (("cascade", "spearman, ssim"), ("removal-curves", "deletion, insertion")):
        with pytest.raises(InputError, match=f"metric must be one of {known}.*; got 'insertio'"):
            figures.draw(card, Choice(metric="insertio"))
        scored = figures.draw(card, Choice(metric="iou@90"))  # of the app, for all its figures
        pd.testing.assert_frame_equal(scored.data, figures.draw(card).data)
    one = figures.draw("removal-curves", Choice(metric="insertion")).data
    assert set(one["measure"]) == {"insertion"}


def test_changes_between_layers_are_no_checks(figures: StoreFigures) -> None:
    with pytest.raises(InputError, match="no maps of several layers of typo are stored yet"):
        figures.draw("layer-changes", Choice(method="typo"))


def test_every_feed_goes_by_parts_of_a_choice() -> None:
    for name, feed in FEEDS.items():
        assert set(feed.uses) <= set(Choice._fields)
        assert StoreFigures.unused(name, Choice()) == []
    assert StoreFigures.unused("examples", Choice(metric="iou@90", image="a")) == ["image"]


def test_answers_that_nobody_can_judge_are_left_out(
    figures: StoreFigures, demo_store: Path
) -> None:
    known = figures.predictions()
    assert known is not None
    some = set(known["image"].unique()[:6])
    known = known.assign(correct=known["correct"].mask(known["image"].isin(some)))
    with open_results(demo_store) as results:
        found = StoreFigures(results)
        found.kept("predictions", lambda: known)
        data = found.draw("model-vs-method").data
        assert set(data["image"]) == set(known["image"]) - some
        found = StoreFigures(results)
        unjudged = known[known["image"].isin(some)]
        found.kept("predictions", lambda: unjudged)
        assert "no labels that say which predictions are right" in found.missing("model-vs-method")


# --- images --------------------------------------------------------------------------------------


def test_examples_are_the_best_median_and_worst(figures: StoreFigures) -> None:
    best = figures.lines().best().lines[0]
    table = figures.results.images(model=best.model, method=best.method).dropna(subset="value")
    found = figures.examples()
    assert found == (table["image"].iloc[0], table["image"].iloc[7], table["image"].iloc[-1])
    data = figures.draw("examples").data
    assert data["example"].tolist() == ["best", "median", "worst"]
    assert data["value"].tolist() == table["value"].iloc[[0, 7, -1]].tolist()
    other = figures.examples(Choice(model="demo/cnn", method="gradcam"))
    assert other != found


def test_figures_of_an_image(figures: StoreFigures) -> None:
    image = figures.examples().worst
    drawn = figures.draw("all-methods", Choice(image=image))
    assert drawn.about.startswith(image)
    assert len(drawn.data) == 16
    assert set(drawn.data["image"]) == {image}
    values = figures.values()
    for row in drawn.data.to_dict("records"):
        same = values[(values["name"] == row["name"]) & (values["image"] == image)]
        assert same["value"].tolist() == [row["value"]]
    found: list[Any] = drawn.figure.findobj(match=_is_text)
    texts = {text.get_text() for text in found}
    first = drawn.data.iloc[0]
    assert f"iou@90 {first['value']:.2f} (chance {first['chance']:.2f})" in texts
    one = figures.draw("pointing-game", Choice(image=image, method="gradcam", model="demo/cnn"))
    assert one.about.startswith("demo/cnn · gradcam · predicted · layer")
    pointing = one.data.set_index("metric")["value"]["pointing"]
    hits = figures.values("pointing")
    same = hits[(hits["name"] == "demo/cnn gradcam") & (hits["image"] == image)]
    assert same["value"].tolist() == [pointing]
    scores = one.data.set_index("metric")["value"]
    for metric in figures.results.metrics:
        stored = figures.values(metric).set_index(["name", "image"])["value"]
        assert scores[metric] == pytest.approx(stored["demo/cnn gradcam", image], nan_ok=True)


def _is_text(one: Any) -> bool:
    return hasattr(one, "get_text") and bool(one.get_text())


def test_pictures_show_the_layers_that_were_chosen(figures: StoreFigures) -> None:
    for layer in (None, "last", 2):  # each after the other: the line has one name in all
        choice = Choice(model="demo/vit", method="cls", layer=layer)
        lines = figures.lines(choice)
        values = lines.values(lines.lead)
        expected = values[values["name"] == "demo/vit cls"].set_index("image")
        found = figures.draw("examples", choice).data.set_index("image")
        for column in ("value", "layer"):
            assert found[column].tolist() == expected[column].reindex(found.index).tolist()
    assert set(found["layer"]) == {2}


def test_numbers_on_pictures_are_the_scores(given: StoreFigures) -> None:
    pointing, coverage = (given.values(name).set_index(["name", "image"])["value"]
                          for name in ("pointing", "coverage"))  # fmt: skip
    line = given.lines().best()
    name, images = line.names[0], [i for _, i in coverage.dropna().index]
    differ = 0
    for image in dict.fromkeys(images):
        drawn = given.draw("pointing-game", Choice(image=image))
        found: list[Any] = drawn.figure.findobj(match=_is_text)
        texts = {text.get_text() for text in found}
        hit = pointing[name, image]
        words = {0: "miss", 1: "hit"}.get(hit)
        if words:
            assert f"{name}: {words}" in texts
        assert drawn.about.endswith("on the 8 × 9 cells that were scored")
        row = given.draw("energy", Choice(image=image)).data.iloc[0]
        assert (row["name"], row["image"]) == (name, image)
        assert row["value"] == pytest.approx(coverage[name, image], abs=1e-6)
        smooth = given.pictures.map_of(line.lines[0], image)
        assert max(smooth.values.shape) > 9
        energy = np.maximum(smooth.values, 0)
        differ += abs(np.nansum(energy[smooth.mask]) / np.nansum(energy) - row["value"]) > 1e-3
    assert differ  # on other cells they are not


def test_numbers_that_are_not_the_scores_say_so(several: Path, tmp_path: Path) -> None:
    with open_results(several) as results:
        figures = StoreFigures(results)
        random = figures.lines(Choice(method="random")).lines[0]
        view = figures.pictures.map_of(random, figures.scenes.images[0], scored=True)
        assert view.note == (
            "on the 7 × 7 cells that were scored; "
            "map of the first of 2 seeds, scores are means over all"
        )
    data = {"name": "folder", "path": str(stores.write_odd(tmp_path / "pictures"))}
    path = stores.run(tmp_path, "cropped", data=data, fit="crop", methods=["cls"], layers=[-1])
    with open_results(path) as results:
        drawn = StoreFigures(results).draw("pointing-game")
        assert drawn.about.endswith(
            "scores are those of cells of the model: numbers here can differ"
        )


def test_energy_of_all_methods_stands_below_that_of_the_map(figures: StoreFigures) -> None:
    data = figures.draw("energy").data
    board = figures.board("coverage").set_index("name")
    assert data["image"].tolist() == [figures.examples().median, *[""] * (len(data) - 1)]
    means = data.iloc[1:].set_index("name")
    for column in ("value", "low", "high", "chance"):
        np.testing.assert_allclose(means[column], board[column].reindex(means.index))


def test_layer_maps_show_every_layer(figures: StoreFigures) -> None:
    drawn = figures.draw("layer-maps", Choice(model="demo/vit", method="cls"))
    assert sorted(drawn.data["layer"]) == list(range(12))
    assert set(drawn.data["name"]) == {"demo/vit cls"}
    with pytest.raises(InputError, match="its maps are not of layers"):
        figures.draw("layer-maps", Choice(method="edge"))


def test_layers_are_shown_also_where_none_is_best(several: Path) -> None:
    with open_results(several) as results:
        figures = StoreFigures(results)
        drawn = figures.draw("layer-maps", Choice(model="demo/cnn", method="gradcam"))
        assert drawn.data["layer"].is_monotonic_increasing
        assert drawn.data["layer"].is_unique
        assert len(drawn.data) == 2
        assert drawn.data["target"].nunique() == 1


@pytest.mark.parametrize(
    ("what", "metric", "expected"),
    [
        ("best", "iou@90", "best"),
        ("best", "entropy", "highest"),
        ("near the worst", "entropy", "near the lowest"),
        ("median", "entropy", "median"),
    ],
)
def test_what_examples_are_called(what: str, metric: str, expected: str) -> None:
    assert said(what, metric) == expected


def test_an_unknown_image(figures: StoreFigures) -> None:
    with pytest.raises(UnknownNameError, match=r"no image 'facade-1.png' is stored; nearest:"):
        figures.draw("attribution", Choice(image="facade-1.png"))
    with pytest.raises((InputError, UnknownNameError), match=r"'facade-1.png'"):
        figures.draw("all-methods", Choice(image="facade-1.png"))


def test_figure_one_of_the_demo(figures: StoreFigures) -> None:
    found = figures.figure_one()
    assert 3 <= len(found) <= 5
    assert len({one.image for one in found}) == len(found)
    assert len({one.why.partition(",")[0] for one in found}) >= 3
    assert all("right" in one.why or "taken for" in one.why for one in found)


def judged(rights: dict[str, int], wrongs: dict[str, int]) -> pd.DataFrame:
    rows = [
        {"image": f"{label}-{right}-{i}", "label": label, "correct": right, "score": float(i)}
        for counts, right in ((rights, True), (wrongs, False))
        for label, count in counts.items()
        for i in range(count)
    ]
    return pd.DataFrame(rows, columns=["image", "label", "correct", "score"])


@pytest.mark.parametrize(
    ("rights", "wrongs", "expected"),
    [
        ({"a": 5, "b": 3, "c": 1}, {"b": 2}, ["a-True-2", "c-True-0", "b-True-1", "b-False-0"]),
        ({"a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1}, {},
         ["a-True-0", "b-True-0", "c-True-0", "d-True-0"]),
        ({"a": 1}, {"a": 1, "b": 3, "c": 1}, ["a-True-0", "a-False-0", "b-False-1"]),
        ({}, {"a": 4}, ["a-False-1", "a-False-3", "a-False-0"]),
        ({"a": 9}, {}, ["a-True-4", "a-True-8", "a-True-0"]),
        ({"a": 1}, {"b": 1}, ["a-True-0", "b-False-0"]),
    ],
)  # fmt: skip
def test_right_and_wrong_answers_are_shown(
    rights: dict[str, int], wrongs: dict[str, int], expected: list[str]
) -> None:
    assert [row["image"] for row in _diverse(judged(rights, wrongs))] == expected


def test_without_answers_classes_differ(figures: StoreFigures, demo_store: Path) -> None:
    with open_results(demo_store) as results:
        blind = StoreFigures(results, predictions=False)
        blind.kept("predictions", lambda: None)
        found = blind.figure_one()
        assert "model-vs-method" in FEEDS
        assert "not known what models predict" in blind.missing("model-vs-method")
    assert found[0].image == figures.examples().best
    told = [one.why.split(" iou@90")[0].split()[-1] for one in found]
    assert told == ["best", "median", "worst"]
    assert len({one.why.partition(",")[0] for one in found}) == 3


def test_examples_of_classes() -> None:
    ordered = list("abcdefg")
    labels = dict(zip(ordered, ["x", "x", "x", "x", "y", "z", "x"], strict=True))
    expected = [("best", "a"), ("near the median", "e"), ("near the worst", "f")]
    assert _of_classes(ordered, labels) == [expected[0], expected[1], expected[2]]
    assert _of_classes(ordered, {}) == [("best", "a"), ("median", "d"), ("worst", "g")]
    assert _of_classes(["a"], {}) == [("best", "a")]


def test_large_pictures_are_kept_small() -> None:
    picture, side = _reduced(np.full((1500, 3000, 3), 7, np.uint8))
    assert (picture.shape, side) == ((512, 1024, 3), 3000)
    assert (picture == 7).all()
    same = np.zeros((10, 20, 3), np.uint8)
    assert _reduced(same)[0] is same


def test_maps_over_images_have_the_scores_that_are_stored(tmp_path: Path) -> None:
    data = stores.write_odd(tmp_path / "pictures")
    path = stores.run_given(tmp_path, "given", data, range(7), resolution=48)
    with open_results(path) as results:
        found = StoreFigures(results)
        line = found.lines().best()
        coverage = line.values(results._tables.name("coverage")).set_index("image")["value"]
        for image, expected in coverage.dropna().items():
            view = found.pictures.map_of(line.lines[0], str(image))
            energy = np.maximum(view.values, 0)
            assert np.isnan(energy).any()  # where the crowd is
            inside = np.nansum(energy[view.mask]) / np.nansum(energy)
            assert inside == pytest.approx(expected, rel=1e-5)


# --- stores that lack things ---------------------------------------------------------------------

LACKING = {
    "styles": "its images have no labels",
    "layers": "no method of the study has several layers",
    "layer-maps": "no method of the study has several layers",
    "layer-changes": "no method of the study has several layers",
    "model-vs-method": "its images have no labels",
    "cascade": "the study ran no check of randomisation: `sightline sanity` does",
    "sanity-check": "the study ran no check of randomisation: `sightline sanity` does",
    "removal-curves": "the study ran no check of faithfulness: `sightline sanity` does",
    "confusion-matrix": "no evaluation of detections is stored",
}


@pytest.mark.parametrize("name", sorted(FEEDS))
def test_maps_made_elsewhere(name: str, given: StoreFigures) -> None:
    why = given.missing(name)
    if FIGURES[name].group == "prototypes":
        assert why.startswith("no benchmark of prototypes is stored")
        return
    if name in LACKING or FIGURES[name].group == "detection":
        assert why.startswith(LACKING.get(name, LACKING["confusion-matrix"]))
        return
    assert why == ""
    drawn = given.draw(name)
    assert_legible(drawn.figure)
    assert len(drawn.data)


def test_images_without_a_map_are_left_out(given: StoreFigures) -> None:
    with pytest.raises(InputError, match=r"no map of image '008.png' is stored"):
        given.draw("all-methods", Choice(image="008.png"))


def changed(store: Path, folder: Path, **study: Any) -> Path:
    """Copy a store, and change what its study says."""
    path = folder / "copy"
    shutil.copytree(store, path, ignore=shutil.ignore_patterns("maps"))
    (path / "maps").mkdir()
    manifest = json.loads((path / "manifest.json").read_text())
    manifest["study"] |= study
    save_json(path / "manifest.json", manifest)
    return path


def test_what_was_not_kept_is_named(demo_store: Path, tmp_path: Path) -> None:
    path = changed(demo_store, tmp_path, keep_maps="none", regions=False)
    with open_results(path) as results:
        found = StoreFigures(results)
        for name in ("all-methods", "agreement", "energy-curves", "examples"):
            assert found.missing(name) == "the study kept no maps (keep_maps: none)"
        assert found.missing("features") == "the study scored no single regions (regions: false)"
        assert found.missing("leaderboard") == ""


def test_data_that_are_gone_are_named(demo_store: Path, tmp_path: Path) -> None:
    data = {"name": "folder", "path": str(tmp_path / "nowhere")}
    path = changed(demo_store, tmp_path, data=data, checks={})
    with open_results(path) as results:
        assert "nowhere" in StoreFigures(results).missing("examples")


def with_manifest(store: Path, folder: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    path = folder / "copy"
    shutil.copytree(store, path)
    manifest = json.loads((path / "manifest.json").read_text())
    change(manifest)
    save_json(path / "manifest.json", manifest)
    return path


def test_energy_of_signed_maps_is_refused(given: StoreFigures, tmp_path: Path) -> None:
    def signed(manifest: dict[str, Any]) -> None:
        for source in manifest["sources"]:
            source["sign"] = "signed"

    path = with_manifest(given.results.path, tmp_path, signed)
    with open_results(path) as results:
        found = StoreFigures(results)
        for name in ("energy", "energy-curves"):
            assert "maps are scored with their signs" in found.missing(name)
        assert found.missing("pointing-game") == ""


@pytest.mark.parametrize("key", ["maps", "params", "sign", "fit"])
def test_a_manifest_that_lacks_things_is_named(
    given: StoreFigures, tmp_path: Path, key: str
) -> None:
    def drop(manifest: dict[str, Any]) -> None:
        for source in manifest["sources"]:
            del source[key]

    path = with_manifest(given.results.path, tmp_path, drop)
    with open_results(path) as results:
        found = StoreFigures(results)
        why = f"manifest.json: sources must each have '{key}'"
        assert found.missing("examples") == found.missing("energy-curves") == why
        assert found.missing("leaderboard") == ""


def test_a_store_that_is_being_written(several: Path, tmp_path: Path) -> None:
    """Of random maps the second seed is there, the first is not."""
    path = tmp_path / "copy"
    shutil.copytree(several, path)
    with open_results(path) as results:
        sources, chunks = (results.manifest[name] for name in ("sources", "chunks"))
    for source in sources:
        if source["method"] == "random" and source["seed"] == 0:
            (
                path / "scores" / f"{task_name(source['key'], 0, chunks[0]['digest'])}.parquet"
            ).unlink()
    with open_results(path) as results:
        figures = StoreFigures(results)
        for name in ("all-methods", "energy-curves", "agreement"):
            assert "random" in set(figures.draw(name).data["name"])
        line = figures.lines(Choice(model="demo/vit", method="random")).lines[0]
        assert figures.scenes.first_maps(line).seed == 1


def test_the_first_evaluation_that_has_it_is_drawn(
    figures: StoreFigures, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["bare", "eager"]

    def opened(path: Path, name: str) -> Any:
        if name == "eager":
            return open_detection(path, name)
        return SimpleNamespace(about={"results": {}}, name=name)

    monkeypatch.setattr(_figures_detection, "detection_names", lambda path: names)
    monkeypatch.setattr(_figures_detection, "open_detection", opened)
    found = StoreFigures(figures.results)
    assert found.missing("reliability") == ""
    assert found.draw("reliability").about.startswith("eager: protocol coco, 16 images")
    names.pop()
    assert found.missing("reliability") == (
        "its evaluation 'bare' has no reliability of confidences"
    )


def test_an_evaluation_is_chosen_by_name(figures: StoreFigures) -> None:
    assert figures.draw("reliability", Choice(model="eager")).about.startswith("eager: protocol")
    with pytest.raises(InputError, match="must be a stored evaluation: eager; got 'careful'"):
        figures.draw("reliability", Choice(model="careful"))
