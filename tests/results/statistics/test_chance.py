"""Tests against chance: the figures are those of slow loops, and what must not be found is not."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PIL import Image

from sightline.core import InputError, UnknownNameError
from sightline.metrics import iou_chance, score_maps
from sightline.results import against_chance, chance, open_results, open_scenes
from sightline.results._lines import make_lines
from sightline.stats.nulls import CrossScores, Null, best_of, cross_image
from tests.results.statistics.stores import COUNT, run, run_given, write_maps, write_odd

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pandas as pd

    from sightline.core.choices import Direction
    from sightline.results import Results

FEW = 199


@pytest.fixture(scope="module")
def results(sparse: Path) -> Iterator[Results]:
    with open_results(sparse) as found:
        yield found


@pytest.fixture(scope="module")
def table(results: Results) -> pd.DataFrame:
    return against_chance(results, permutations=FEW)


def crossed(results: Results, metric: str, **words: Any) -> Any:
    """Return the mean over seeds of every map's score on every image of its class, by loops."""
    scenes = open_scenes(results)
    tables = results._tables
    layer = words.pop("layer", "best")
    where = results._where(words["model"], words["method"], layer, None)
    (line,) = make_lines(tables, tables.name(metric), where, layer)
    found = []
    for seed in scenes.seeds(line):
        maps = scenes.maps(line, seed)
        n = len(maps.images)
        matrix = np.full((n, n), np.nan)
        for j in range(n):
            alike = [i for i in range(n) if maps.classes[i] == maps.classes[j]]
            scores = score_maps(
                np.stack([maps.maps[i] for i in alike]),
                regions=[maps.regions[j]],  # of all maps
                ignore=maps.unseen[j],
                metrics=[metric],
                sign=maps.sign,  # type: ignore[arg-type]
            )
            matrix[alike, j] = scores[metric]
        found.append(matrix)
    return np.mean(found, axis=0)


def line_of(table: pd.DataFrame, model: str, method: str) -> Any:
    return table[(table["model"] == model) & (table["method"] == method)].iloc[0]


@pytest.mark.parametrize("method", ["cls", "random"])
def test_the_mean_under_the_null_is_that_of_a_double_loop(
    results: Results, table: pd.DataFrame, method: str
) -> None:
    matrix = crossed(results, "iou@90", model="demo/vit@seed2", method=method)
    line = line_of(table, "demo/vit@seed2", method)
    assert line["value"] == pytest.approx(np.diagonal(matrix).mean(), abs=1e-12)
    assert line["cross"] == pytest.approx(matrix.mean(), abs=1e-12)


def test_values_intervals_and_chance_are_those_of_the_leaderboard(
    results: Results, table: pd.DataFrame
) -> None:
    board = results.leaderboard("iou@90")
    assert list(table["value"]) == list(board["value"])
    for column in ("model", "method", "low", "high", "chance", "n", "undefined", "chosen"):
        assert list(table[column]) == list(board[column]), column


def test_the_sentence_says_where_the_best_baseline_is(
    results: Results, table: pd.DataFrame
) -> None:
    told = results.leaderboard("iou@90").attrs["best_baseline"]
    assert table.attrs["best_baseline"] == told
    assert table.attrs["sentence"].endswith(f". {told['sentence']}")
    assert "the highest of these is" in table.attrs["sentence"]
    one = against_chance(results, permutations=FEW, model="demo/vit", method="cls", layer="last")
    assert one.attrs["best_baseline"]["baseline"] != ""


def test_maps_that_know_nothing_are_not_above_chance(table: pd.DataFrame) -> None:
    for model in ("demo/vit", "demo/vit@seed2"):
        centre = line_of(table, model, "centre")
        assert centre["p"] == 1  # the same map everywhere: every exchange is a tie
        assert centre["cross"] == pytest.approx(centre["value"])
        assert centre["cross"] > centre["chance"]
        assert line_of(table, model, "mean_map")["p"] > 0.05
        assert line_of(table, model, "random")["p"] > 0.05
    assert (line_of(table, "demo/vit", "cls")[["p", "p_max_t"]] <= 0.05).all()


def test_the_best_layer_is_chosen_again_in_each_draw(
    results: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[Null]] = []

    def spy(nulls: list[Null], *, direction: Direction) -> Null:
        asked.append(nulls)
        return replace(best_of(nulls, direction=direction), p=0.25)

    monkeypatch.setattr(chance, "best_of", spy)
    words: dict[str, Any] = {"model": "demo/vit", "method": "mean_map"}
    (line,) = against_chance(results, permutations=FEW, **words).to_dict("records")
    assert line["chosen"].startswith("best of 2 layers")
    assert line["p"] == 0.25
    ((other, chosen),) = asked
    rival = 14 - line["layer"]  # layers 3 and 11
    for layer, null in ((line["layer"], chosen), (rival, other)):
        matrix = crossed(results, "iou@90", layer=layer, **words)
        scores = CrossScores(COUNT, ((np.arange(COUNT), matrix),), "iou@90", "higher")
        wanted = cross_image(scores, permutations=FEW, keep_draws=True)
        assert null.draws == pytest.approx(wanted.draws, abs=1e-12)
        assert null.value == pytest.approx(wanted.value, abs=1e-12)
    assert line["cross"] == pytest.approx(chosen.mean, abs=1e-12)


def test_p_values_of_images_are_those_of_the_chosen_layer(results: Results) -> None:
    found = against_chance(results, model="demo/vit", method="cls", images=True, permutations=FEW)
    assert "too small for it" in found.attrs["note"]
    layer = int(found["layer"].iloc[0])
    plain = against_chance(
        results, model="demo/vit", method="cls", layer=layer, images=True, permutations=FEW
    )
    assert found["p"].tolist() == plain["p"].tolist()


def test_corrected_p_values_are_no_smaller(table: pd.DataFrame) -> None:
    for column in ("p_holm", "p_bh", "p_max_t"):
        assert (table[column] >= table["p"] - 1e-12).all()
    assert (table["p_holm"] >= table["p_bh"] - 1e-12).all()
    assert table["p"].min() == pytest.approx(1 / (FEW + 1))


def test_exact_chance_is_the_mean_over_placements(results: Results, table: pd.DataFrame) -> None:
    frame = results.query(
        "SELECT annotated_fraction FROM scores WHERE model = 'demo/vit' AND method = 'centre'"
    )
    pixels = 14 * 14
    shares = np.round(frame["annotated_fraction"].to_numpy() * pixels) / pixels
    wanted = np.mean([iou_chance(0.1, float(g), pixels=pixels) for g in shares])
    assert line_of(table, "demo/vit", "centre")["exact"] == pytest.approx(wanted, abs=1e-12)


def test_what_the_table_rests_on_is_said(table: pd.DataFrame) -> None:
    note, sentence = table.attrs["note"], table.attrs["sentence"]
    assert "exchangeable" in note
    assert "chosen again in each draw" in note
    assert "over 8 lines" in note
    assert f"of {len(table)} lines score above what other images' maps score" in sentence
    assert "95% interval" in sentence


def test_layers_chosen_by_halves_are_not_blamed(results: Results) -> None:
    found = against_chance(results, "coverage", layer="split", permutations=FEW)
    assert "chosen again" not in found.attrs["note"]
    assert "exact" not in found
    board = results.leaderboard("coverage", layer="split")
    assert list(found["value"]) == list(board["value"])


def test_the_same_seed_gives_the_same_bits(results: Results, table: pd.DataFrame) -> None:
    words: dict[str, Any] = {"model": "demo/vit", "permutations": FEW}
    found = against_chance(results, **words)
    assert against_chance(results, **words).equals(found)
    for method in found["method"]:  # alone as among others
        assert line_of(found, "demo/vit", method)["p"] == line_of(table, "demo/vit", method)["p"]
    other = against_chance(results, **words, seed=1)
    assert not other["p"].equals(found["p"])
    assert other["cross"].equals(found["cross"])


def test_each_image_has_its_p_value(results: Results) -> None:
    found = against_chance(results, method="cls", images=True, permutations=FEW)
    assert len(found) == 2 * COUNT
    one = found[found["model"] == "demo/vit"]
    matrix = crossed(results, "iou@90", model="demo/vit", method="cls")
    own = np.diagonal(matrix)
    assert np.allclose(one["value"], own)
    assert np.allclose(one["cross"], matrix.mean(0))
    assert np.allclose(one["p"], (matrix >= own[None] - 1e-9).mean(0))
    assert (one["p_bh"] >= one["p"]).all()


def test_the_torus_shift_says_what_it_does_not_control(results: Results) -> None:
    found = against_chance(results, null="torus", model="demo/vit", permutations=FEW)
    assert "no centre-bias control" in found.attrs["note"]
    assert "shifted" in found
    assert "alone" not in found
    centre = line_of(found, "demo/vit", "centre")
    assert centre["p"] <= 0.05  # which is why it is not the default
    assert centre["shifted"] < centre["value"]


def test_lines_are_compared_with_a_baseline_of_their_model(results: Results) -> None:
    found = against_chance(results, against="centre", permutations=FEW)
    assert set(found["method"]) == {"cls", "random", "mean_map"}
    wanted = results.compare("cls", "centre", by="method")
    for model in ("demo/vit", "demo/vit@seed2"):
        line = line_of(found, model, "cls")
        (other,) = wanted[wanted["model"] == model].to_dict("records")
        assert line["difference"] == pytest.approx(other["difference"], abs=1e-12)
    assert (found["p_max_t"] >= found["p"] - 1e-12).all()
    assert "Of 6 lines" in found.attrs["sentence"]
    with pytest.raises(UnknownNameError, match="center"):
        against_chance(results, against="center")
    with pytest.raises(InputError, match="single images"):
        against_chance(results, against="centre", images=True)


def test_images_are_exchanged_only_with_those_shown_alike(odd: Path) -> None:
    with open_results(odd) as results:
        found = against_chance(results, method="cls", layer=3, permutations=FEW)
        matrix = crossed(results, "iou@90", model="demo/vit", method="cls", layer=3)
    (line,) = found.to_dict("records")
    assert line["classes"] == 2
    assert line["undefined"] == 1  # nothing is annotated on one picture
    assert line["value"] == pytest.approx(np.nanmean(np.diagonal(matrix)), abs=1e-12)
    columns = [np.nanmean(column) for column in matrix.T if np.isfinite(column).any()]
    assert line["cross"] == pytest.approx(np.mean(columns), abs=1e-12)
    with open_results(odd) as results, pytest.raises(InputError, match="ignored pixels"):
        against_chance(results, null="torus", method="cls", layer=3)


def test_too_few_images_give_no_p_value(folder: Path, given: Path, tmp_path: Path) -> None:
    store = run_given(tmp_path, "three", folder / "pictures", range(3))
    with open_results(store) as results:
        found = against_chance(results, permutations=FEW)
        assert found["p"].isna().all()
        assert found["reason"].str.contains("too few images: 2 with a score").all()
        assert found.attrs["sentence"].startswith("Nothing can be said about chance")
        assert not found["reason"].str.contains("squash").any()
        single = against_chance(results, images=True, permutations=FEW)
        assert single["p"].isna().all()
        assert "20 or more maps" in single.attrs["note"]
        with pytest.raises(InputError, match="no other method is stored beside 'others'"):
            against_chance(results, against="others", permutations=FEW)


def test_what_one_image_lacks_is_not_its_geometry(tmp_path: Path) -> None:
    data = {"name": "facades", "count": 1, "seed": 5}
    store = run(tmp_path, "one", data=data, methods=["cls", "centre"])
    with open_results(store) as results:
        found = against_chance(results, permutations=FEW)
    assert found["reason"].str.contains("too few images").all()
    assert not found["reason"].str.contains("squash").any()


def test_ends_of_differences_are_differences(tmp_path: Path) -> None:
    data = {"name": "facades", "count": 5, "seed": 5, "labelling": "exhaustive"}
    store = run(tmp_path, "five", data=data, methods=["cls", "mean_map", "centre"])
    with open_results(store) as results:
        found = against_chance(results, against="centre", permutations=FEW)
    assert found["low"].min() >= -1
    assert found["high"].max() <= 1


def test_images_alone_are_told(odd: Path, tmp_path: Path) -> None:
    folder = write_odd(tmp_path / "pictures")
    Image.open(folder / "000.png").resize((90, 30)).save(folder / "009.png")
    path = folder / "annotations.json"
    content = json.loads(path.read_text("utf-8"))
    first = content["images"][0]
    content["images"].append({**first, "image": "009.png", "width": 90, "height": 30})
    path.write_text(json.dumps(content))
    data = {"name": "folder", "path": str(folder)}
    store = run(tmp_path, "ten", data=data, fit="letterbox", methods=["centre"])
    with open_results(store) as results:
        found = against_chance(results, permutations=FEW)
    assert found["alone"].tolist() == [1]
    assert found["reason"].tolist() == ["p without 1 image that no other is shown like"]
    assert "p and cross do without them" in found.attrs["note"]
    with open_results(odd) as results:
        found = against_chance(results, method="centre", permutations=FEW)
    assert "do without them" not in found.attrs["note"]


def test_recall_comes_with_a_warning(results: Results) -> None:
    words: dict[str, Any] = {"method": "cls", "layer": 11, "permutations": FEW}
    found = against_chance(results, "recall@90", **words)
    assert "read it beside iou or coverage" in found.attrs["note"]
    found = against_chance(results, "recall@90", against="centre", **words)
    assert "read it beside iou or coverage" in found.attrs["note"]
    assert "beside iou" not in against_chance(results, "iou@90", **words).attrs["note"]


def test_lines_of_different_images_share_the_error(
    folder: Path, given: Path, tmp_path: Path
) -> None:
    data = {"name": "folder", "path": str(folder / "pictures")}
    methods = [
        {"name": name, "params": {"maps": str(write_maps(tmp_path / name, numbers, seed))}}
        for seed, (name, numbers) in enumerate({"many": range(9), "few": range(7)}.items())
    ]
    keys = {"models": [], "methods": methods, "layers": "all", "sign": "positive"}
    store = run(tmp_path, "uneven", data=data, **keys)
    with open_results(store) as results:
        found = against_chance(results, permutations=FEW)
    assert sorted(found["n"]) == [6, 8]
    assert np.allclose(found["p_max_t"], np.minimum(1, 2 * found["p"]))


def test_progress_is_told(results: Results) -> None:
    told: list[tuple[int, int, str]] = []
    against_chance(
        results, method="cls", permutations=FEW, progress=lambda *parts: told.append(parts)
    )
    assert told[-1][0] == told[-1][1] == 4  # two lines, each chosen from two layers
    assert any("demo/vit@seed2" in what for *_, what in told)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"metric": "entropy"}, "no value is better"),
        ({"layer": "all"}, "layer must be"),
        ({"null": "pixels"}, "null must be one of cross-image, torus"),
        ({"metric": "iou@77"}, "iou@77"),
    ],
)
def test_what_cannot_be_tested_is_refused(
    results: Results, words: dict[str, Any], message: str
) -> None:
    with pytest.raises((InputError, UnknownNameError), match=message):
        against_chance(results, **words)


def test_maps_that_changed_are_noticed(folder: Path, given: Path, tmp_path: Path) -> None:
    store = run_given(tmp_path, "mine", folder / "pictures", range(7))
    path = tmp_path / "mine-first" / "003.npy"
    np.save(path, np.load(path) + np.eye(8, 9, dtype=np.float32))
    with open_results(store) as results, pytest.raises(InputError, match="do not give the iou@90"):
        against_chance(results, method="theirs", permutations=FEW)
