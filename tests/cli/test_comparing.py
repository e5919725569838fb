"""`sightline compare`: two models, methods or layers on the same images."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sightline.results import open_results
from sightline.store import write_table
from sightline.store.snapshot import list_shards, list_stored_tasks
from tests.cli.small import error, run
from tests.results.stores import Kind, make_store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

KINDS = (
    *(
        Kind("net", variant, method, "attention", (0, 1, 2))
        for variant in ("", "tuned")
        for method in ("cls", "mean", "rollout")
    ),
    *(Kind("net", variant, "centre", "baseline") for variant in ("", "tuned")),
)
PAIR = ("--a", "net", "--b", "net@tuned")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a store of two variants that differ by a known step with one method."""
    made = make_store(
        tmp_path_factory.mktemp("compare") / "s",
        count=30,
        kinds=KINDS,
        metrics=("iou", "coverage"),
        percentiles=(90,),
    )
    files = list_shards(made.store, *list_stored_tasks(made.store, made.store.manifest()))
    for path in (*files["scores"], *files["region_scores"]):
        rows = pq.read_table(path)
        if set(rows["method"].to_pylist()) == {"centre"}:
            change(path, rows, lambda values: np.full_like(values, 0.25))
        elif (rows["method"][0].as_py(), rows["variant"][0].as_py()) == ("mean", ""):
            change(path, rows, lambda values: values + 0.4)
    return made.path


def change(
    path: Path, rows: pa.Table, compute: Callable[[NDArray[np.float64]], NDArray[np.float64]]
) -> None:
    """Write a shard again, with other values of its scores."""
    for name in ("iou@90", "coverage"):
        values = pa.array(compute(rows[name].to_numpy()))
        rows = rows.set_column(rows.schema.get_field_index(name), name, values)
    write_table(path, rows, kind=path.parent.name)


def table(text: str) -> list[list[str]]:
    lines = [line.split() for line in text[text.rindex("───") :].splitlines()[1:]]
    return lines[: lines.index([])]


def test_two_models(store: Path) -> None:
    said = run("compare", store, *PAIR, "--metric", "iou@90", columns=80).stdout
    with open_results(store) as results:
        frame = results.compare("net", "net@tuned", "iou@90")
    head, *_ = said.splitlines()
    assert head == "small: iou@90, a = net, b = net@tuned"
    lines = table(said)
    assert [line[0] for line in lines] == ["cls", "mean", "rollout"]  # centre is always the same
    differ = frame[frame["method"] != "centre"].to_dict("records")
    for words, line in zip(lines, differ, strict=True):
        assert words[1:3] == [f"{line['layer_a']}*,", f"{line['layer_b']}*"]
        figures = [line[name] for name in ("value_a", "value_b", "chance_a", "difference", "low")]
        assert words[3:8] == [f"{value:.3f}" for value in figures]
        assert words[8:] == [
            "to",
            f"{line['high']:.3f}",
            f"{line['p']:.2g}",
            f"{line['p_holm']:.2g}",
        ]
    for sentence in frame.attrs["summary"]:
        assert f"\n{sentence}\n" in said
    assert "net (layer" in frame.attrs["summary"][0]
    assert "with mean (95% interval" in frame.attrs["summary"][0]
    assert "more than chance explains, also after that correction" in said
    assert "Of 3 comparisons: 1 with net higher, 0 with net@tuned higher, 2 without" in said
    assert "The same on every image, and not counted: centre.\n" in said
    assert "Mean differences of iou@90 over 29 images, a − b, with 95% intervals.\n" in said
    assert "exchangeable on every image" in said
    assert "better than the best baseline, centre (0.250): difference " in said
    assert (
        "*best of 3 layers on the same images, which flatters it: --layer split does not." in said
    )


def test_tables_fit_a_screen(store: Path) -> None:
    said = run("compare", store, *PAIR, columns=80).stdout
    end = said.index("\n", said.rindex("───"))
    assert all(len(line) <= 80 for line in said[:end].splitlines())


def test_two_methods_and_two_layers(store: Path) -> None:
    said = run("compare", store, "--a", "cls", "--b", "centre", "--by", "method").stdout
    assert said.startswith("small: iou@90, a = cls, b = centre\n")
    assert [line[0] for line in table(said)] == ["net", "net@tuned"]
    layers = ("--a", 0, "--b", 2, "--by", "layer")
    said = run("compare", store, *layers, "--method", "cls", "--model", "net").stdout
    assert said.startswith("small: iou@90, a = layer 0, b = layer 2\n")
    (line,) = table(said)
    assert line[:2] == ["net", "cls"]
    assert "p_holm" not in said  # one comparison needs no correction
    assert "If the layers were picked by looking at these same images" in said


def test_options_choose_what_is_compared(store: Path) -> None:
    said = run("compare", store, *PAIR, "--metric", "coverage", "--method", "cls").stdout
    assert said.startswith("small: coverage,")
    assert len(table(said)) == 1
    said = run("compare", store, *PAIR, "--method", "cls", "--layer", "split").stdout
    assert "Split-half of 3 layers." in said
    assert "flatters" not in said
    said = run("compare", store, *PAIR, "--method", "cls", "--layer", 1).stdout
    assert table(said)[0][1:3] == ["1,", "1"]


def test_json_holds_every_figure(store: Path) -> None:
    content = json.loads(run("compare", store, *PAIR, "--json").stdout)
    with open_results(store) as results:
        frame = results.compare("net", "net@tuned")
    assert content["study"] == "small"
    assert content["metric"] == "iou@90"
    assert content["note"] == frame.attrs["note"]
    assert content["summary"] == frame.attrs["summary"]
    assert len(content["lines"]) == 4
    assert list(content["lines"][0]) == [*frame.columns, "sentence"]
    for line, sentence in zip(content["lines"], frame.attrs["sentences"], strict=True):
        assert line["sentence"] == sentence
    assert [line["p_max_t"] for line in content["lines"]] == frame["p_max_t"].tolist()


def test_all_shows_every_column_and_sentence(store: Path) -> None:
    said = run("compare", store, *PAIR, "--all").stdout
    with open_results(store) as results:
        frame = results.compare("net", "net@tuned")
    assert set(said.split()) >= set(frame)
    for sentence in frame.attrs["sentences"]:
        assert f"\n{sentence}\n" in said
    assert said.count(frame.attrs["summary"][0]) == 1


@pytest.mark.parametrize("ending", ["csv", "parquet", "json"])
def test_a_table_is_written(store: Path, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"pairs.{ending}"
    said = run("compare", store, *PAIR, "--out", path).stdout
    assert said.endswith(f"Written: {path}\n")
    read: dict[str, Any]
    read = {"csv": pd.read_csv, "parquet": pd.read_parquet, "json": pd.read_json}
    found = read[ending](path)
    with open_results(store) as results:
        frame = results.compare("net", "net@tuned")
    assert list(found) == list(frame)
    assert found["p_holm"].tolist() == pytest.approx(frame["p_holm"].tolist())


def test_a_study_that_has_just_begun(tmp_path: Path) -> None:
    made = make_store(tmp_path / "s", count=4, kinds=KINDS, skip=tuple(range(8, 16)), seed=2)
    said = run("compare", made.path, *PAIR, "--layer", 0, columns=80).stdout
    assert "too few for a test, which needs 6, so that nothing is shown." in said
    assert "So far: 8 of 16 tasks." in said
    assert " p " not in said.splitlines()[2]  # there is none


def test_several_models_of_one_name_have_columns(tmp_path: Path) -> None:
    kinds = tuple(Kind(base, v, "cls", "attention") for base in "mn" for v in ("x", "y"))
    made = make_store(tmp_path / "s", count=12, kinds=kinds)
    said = run("compare", made.path, "--a", "m", "--b", "n").stdout
    assert said.startswith("small: iou@90\n")
    assert said.splitlines()[2].split()[:4] == ["model", "a", "model", "b"]
    pairs = [[a, b] for a in ("m@x", "m@y") for b in ("n@x", "n@y")]
    assert [line[:2] for line in table(said)] == pairs


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--a", "net", "--b", "nut"), "no scores of model 'nut' are stored; did you mean 'net'?"),
        ((*PAIR, "--metric", "kl"), "Stored: coverage, iou@90"),
        ((*PAIR, "--model", "net"), "model is what is compared: it cannot be given as well"),
        ((*PAIR, "--layer", "all"), "--layer must be a number, best, last or split, got 'all'"),
        ((*PAIR, "--by", "method"), "no scores of method 'net' are stored"),
        (
            ("--a", "first", "--b", "1", "--by", "layer"),
            "--a must be the number of a layer with --by layer, got 'first'",
        ),
        (("--a", "0", "--b", "9", "--by", "layer"), "no scores of layer '9' are stored"),
        ((*PAIR, "--out", "x.txt"), ".csv, .parquet, .json"),
    ],
)
def test_what_cannot_be_compared_is_one_line(
    store: Path, arguments: tuple[str, ...], message: str
) -> None:
    assert message in error("compare", store, *arguments)


def test_chance_stands_beside_both_sides_where_there_is_room(store: Path) -> None:
    with open_results(store) as results:
        frame = results.compare("net", "net@tuned", "iou@90").set_index("method")
    header, *_ = (line.split() for line in run("compare", store, *PAIR).stdout.splitlines()[2:])
    assert header[:5] == ["method", "layers", "a", "b", "chance"]
    cells = {line[0]: line for line in table(run("compare", store, *PAIR).stdout)}
    assert cells["mean"][5] == f"{frame['chance_a']['mean']:.3f}"
    narrow = run("compare", store, *PAIR, columns=70).stdout
    assert "chance  " not in narrow.split("───")[0]
    whole = run("compare", store, *PAIR, "--all").stdout.splitlines()[2].split()
    assert {"chance_a", "chance_b", "ceiling_a", "ceiling_b"} <= set(whole)
