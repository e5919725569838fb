"""`sightline show`, `query`, `export`, `diff` and `digest`: what stores are asked."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from sightline.cli.stores import compact, leaderboard_blocks
from sightline.results import open_results
from tests.cli.small import BOXES, STYLES, error, list_score_files, numbers, run, write_given
from tests.results.stores import KINDS, make_store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LOOKS = """
name: looks
data: {name: facades, count: 4, seed: 1}
models: [demo/vit, demo/vit-dino]
methods: [cls, random, centre]
layers: [0, 5, -1]
heads: all
metrics: [iou, coverage, pointing]
percentiles: [90, 50]
"""
EVERY = ("leaderboard", "layers", "percentiles", "labels", "styles", "heads", "images")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("stores")


@pytest.fixture(scope="module")
def given(folder: Path) -> Path:
    """Run a study over random maps of two methods."""
    run("run", write_given(folder), "--out", folder / "runs", "--workers", 1)
    return folder / "runs" / "given"


@pytest.fixture(scope="module")
def looks(folder: Path) -> Path:
    """Run a study of two models with the same grid, heads one by one."""
    (folder / "looks.yml").write_text(LOOKS)
    run("run", folder / "looks.yml", "--out", folder / "runs", "--workers", 1)
    return folder / "runs" / "looks"


@pytest.fixture
def unfinished(given: Path, tmp_path: Path) -> Path:
    """Take away the last shard of a store."""
    store = tmp_path / "given"
    shutil.copytree(given, store)
    list_score_files(store)[-1].unlink()
    return store


def options(by: str) -> tuple[str, ...]:
    return ("--by", by, *(("--model", "demo/vit", "--method", "cls") if by == "heads" else ()))


def data(text: str) -> list[list[str]]:
    """Return the words of each line of a table: between the rule and the blank line below it."""
    table = text[text.rindex("───") :].splitlines()[1:]
    lines = [line.split() for line in table]
    return lines[: lines.index([])]


# --- show ----------------------------------------------------------------------------------------


def test_leaderboard_of_maps_made_elsewhere(given: Path) -> None:
    said = run("show", given).stdout
    with open_results(given) as results:
        rows = results.query("SELECT * FROM scores_long WHERE name = 'iou@90' AND region IS NULL")
    assert said.startswith("given: iou@90\n")
    found = data(said)
    means = rows.groupby("method")[["value", "chance", "ceiling"]].mean()
    means = means.sort_values("value", ascending=False)
    assert [line[:2] for line in found] == [["net[/b]", method] for method in means.index]
    np.testing.assert_allclose(
        [list(map(float, (line[2], *line[6:]))) for line in found],
        means.to_numpy(),
        atol=6e-4,
    )
    assert "Means of iou@90 over 6 images with 95% intervals, higher is better." in said


@pytest.mark.parametrize("by", EVERY)
def test_every_table_and_its_json_agree(looks: Path, by: str) -> None:
    plain = run("show", looks, *options(by)).stdout
    content = json.loads(run("show", looks, *options(by), "--json").stdout)
    assert content["study"] == "looks"
    lines = content["lines"]
    assert lines
    note = content["note"].split("; ")[0].removeprefix("means")
    if by == "leaderboard":
        note = note.replace("over images", "over 4 images")
    if by in ("layers", "percentiles"):  # there is no room for them
        note = note.replace(" with 95% intervals", "")
    assert note in plain.replace("Means", "")
    if by == "layers":
        assert len(re.findall(r"best \d\.\d{3} at layer", plain)) == 2  # cls of two models
        return
    if by != "labels":
        assert content["metric"] in plain.splitlines()[0]
    shown = "iou" if by == "labels" else "value"
    values = [f"{line[shown]:.3f}" for line in lines][:40]
    words = data(plain)
    assert len(words) <= len(values)  # baselines alike share a line
    assert {value for line in words for value in line} >= set(values)
    whole = run("show", looks, *options(by), "--all").stdout
    assert len(data(whole)) == len(lines)
    assert set(whole.split()) >= set(lines[0])  # every column
    assert "…" not in whole


def test_what_each_table_is_about(given: Path) -> None:
    labels = run("show", given, "--by", "labels").stdout
    assert [line[0] for line in data(labels)] == sorted(BOXES)
    assert [line[-1] for line in data(labels)] == ["3", "6"]
    assert labels.startswith("given: regions by label\n")
    styles = run("show", given, "--by", "styles").stdout
    assert [(line[0], line[-1]) for line in data(styles)] == [(one, "3") for one in sorted(STYLES)]
    images = run("show", given, "--by", "images").stdout
    values = [float(line[1]) for line in data(images)]
    assert values == sorted(values, reverse=True)
    assert sorted(line[0] for line in data(images)) == [f"{n:03}.png" for n in range(6)]
    assert {line[-1] for line in data(images)} == set(STYLES)
    assert re.search(r"^iou@90 of each image: net\[/b\] · \w+\.$", images, re.MULTILINE)
    sweep = run("show", given, "--by", "percentiles", "--method", "first").stdout
    assert [line[2] for line in data(sweep)] == ["90", "50"]
    assert "No maps of single layers are stored." in run("show", given, "--by", "layers").stdout


def test_recall_by_layer_has_the_iou_beside_it(tmp_path: Path) -> None:
    made = make_store(tmp_path / "s", kinds=KINDS[1:2], metrics=("iou", "recall"))
    said = run("show", made.path, "--by", "layers", "--metric", "recall@50").stdout
    with open_results(made.path) as results:
        frame = results.layer_progression("recall@50")
    best = frame.iloc[int(frame["value"].argmax())]
    expected = f"best {best['value']:.3f} at layer {best['layer']} (iou@50 {best['iou@50']:.3f})"
    assert said.splitlines()[1].endswith(expected)


@pytest.mark.parametrize("words", [(), ("--method", "cls"), ("--all",), ("--by", "layers")])
def test_the_best_baseline_is_named_below(looks: Path, words: tuple[str, ...]) -> None:
    with open_results(looks) as results:
        method = "cls" if "--method" in words else None
        told = results.leaderboard(method=method).attrs["best_baseline"]
    said = " ".join(run("show", looks, *words).stdout.split())
    assert told["sentence"] in said
    found = json.loads(run("show", looks, "--json", *words).stdout)
    assert found["best_baseline"] == told


def test_another_metric(given: Path, looks: Path) -> None:
    said = run("show", given, "--metric", "coverage").stdout
    assert said.startswith("given: coverage\n")
    assert {line[-1] for line in data(said)} == {"1.000"}  # areas set no bound to coverage
    recall = run("show", given, "--metric", "recall@50").stdout
    assert recall.startswith("given: recall@50\n")
    assert recall.splitlines()[2].split()[-1] == "iou@50"  # it is never shown alone
    with open_results(given) as results:
        expected = results.leaderboard("recall@50")["iou@50"]
    assert [line[-1] for line in data(recall)] == [f"{value:.3f}" for value in expected]
    sweep = run("show", given, "--by", "percentiles", "--metric", "recall@50").stdout
    assert sweep.startswith("given: recall by percentile\n")
    heads = run("show", looks, *options("heads"), "--metric", "pointing", "--layer", 5).stdout
    assert {line[0] for line in data(heads)} == {"5"}
    assert len(data(heads)) == 4


@pytest.mark.parametrize(
    ("layer", "layers", "note"),
    [
        (None, r"\d+\*", "*best of 3 layers on the same images, which flatters it: --layer split"),
        ("best", r"\d+\*", "*best of 3 layers on the same images, which flatters it"),
        ("split", r"\d+(\|\d+)?", "Split-half of 3 layers."),
        ("last", "11", "Last of 3 layers."),
        (5, "5", None),
        ("all", r"\d+", None),
    ],
)
def test_how_layers_were_chosen_is_said(
    looks: Path, layer: object, layers: str, note: str | None
) -> None:
    said = run("show", looks, *(() if layer is None else ("--layer", layer))).stdout
    found = [line for line in data(said) if line[1] == "cls"]
    assert len(found) == (6 if layer == "all" else 2)
    assert all(re.fullmatch(layers, line[2]) for line in found)
    assert ("*" in said) == (layer in (None, "best"))
    assert ("flatters" in said) == (layer in (None, "best"))
    assert note is None or note in said
    content = json.loads(
        run("show", looks, "--layer", "best" if layer is None else layer, "--json").stdout
    )
    by_model = {
        line["model"]: line["value"] for line in content["lines"] if line["method"] == "cls"
    }
    if layer != "all":
        for line in found:
            assert float(line[3]) == pytest.approx(by_model[line[0]], abs=6e-4)


def test_a_method_chosen_on_the_same_images_is_marked(looks: Path) -> None:
    said = run("show", looks, "--method", "best").stdout
    assert "*best of 3 layers on the same images" in said
    assert "*" not in run("show", looks, "--method", "split").stdout


def test_ways_that_differ_in_numbers_are_one_note() -> None:
    ways = [f"best of {n} {what} on the same images" for n, what in
            ((12, "layers"), (4, "layers"), (48, "methods and layers"), (4, "layers"))]  # fmt: skip
    frame = pd.DataFrame({"layer": [1, 2, 3, None], "chosen": ways, "value": 0.5})
    frame.attrs["note"] = "means over images; what was chosen looks better than it is, see chosen"
    shown = compact(frame)
    some, many = "4 to 12 layers", "48 methods and layers"
    flattered = "on the same images, which flatters it"
    assert shown.attrs["note"].split("; ") == [
        "means over images",
        f"*best of {some} {flattered}: --layer split does not",
        f"*best of {many} {flattered}: --method split does not",
    ]
    assert list(shown) == ["layer", "value"]


def test_baselines_alike_share_a_line(looks: Path) -> None:
    board = run("show", looks).stdout
    lines = data(board)
    assert [line[:3] for line in lines if "models" in line] == [["all", "2", "models"]] * 2
    assert {line[3] for line in lines if "models" in line} == {"random", "centre"}
    every = data(run("show", looks, "--all").stdout)
    assert sum("centre" in line for line in every) == 2
    one = data(run("show", looks, "--model", "demo/vit").stdout)
    assert all(line[0] == "demo/vit" for line in one)


def test_baselines_alike_for_some_models() -> None:
    lines = [("a", "cls", "attention", 0.5), ("b", "cls", "attention", 0.5)]
    lines += [(model, "random", "baseline", 0.1 if model == "c" else 0.2) for model in "abc"]
    frame = pd.DataFrame(lines, columns=["model", "method", "group", "value"])
    frame = frame.assign(
        rank=range(5), target="", layer=pd.array([None] * 5, "Int64"), n=3, undefined=0
    )
    frame.attrs |= {"metric": "iou@90", "note": ""}
    _, table, *_ = leaderboard_blocks(frame, "s")
    columns: Any = table.columns  # type: ignore[union-attr]
    assert list(columns[0].cells) == ["a", "b", "a + 1 more", "c"]
    assert list(columns[1].cells) == ["cls", "cls", "random", "random"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--metric", "iuo@90"), "no scores of metric 'iuo@90' are stored; did you mean 'iou@90'?"),
        (("--metric", "kl"), "Stored: coverage, iou@90, iou@50"),
        (("--model", "demo/vut"), "did you mean 'demo/vit'? Stored: demo/vit, demo/vit-dino"),
        (("--method", "gradcam"), "Stored: cls, random, centre"),
        (("--layer", "7"), "Stored: 0, 5, 11"),
        (("--layer", "first"), "--layer must be a number, best, last, split or all, got 'first'"),
        (("--by", "heads"), "--by heads needs --model and --method"),
        (("--by", "layers", "--layer", "5"), "--by layers takes no --layer"),
        (("--by", "labels", "--metric", "iou@90"), "--by labels takes no --metric"),
        (("--by", "images", "--layer", "all"), "--layer all is for the leaderboard"),
        ((*options("heads"), "--layer", "best"), "takes the number of a layer, got --layer best"),
        (("--by", "percentiles", "--metric", "coverage"), "Stored: iou"),
        (("--head", "9"), "no scores of head '9' are stored. Stored: 0, 1, 2, 3"),
        (("--head", "first"), "--head must be a number or all, got 'first'"),
        (("--by", "styles", "--head", "all"), "--head all is for the leaderboard and by layer"),
        ((*options("heads"), "--head", "1"), "--by heads takes no --head"),
        (("--percentile", "50"), "--by leaderboard takes no --percentile"),
        (("--by", "detection", "--metric", "nosuch"), "--by detection takes no --metric"),
        (("--by", "detection", "--layer", "best"), "--by detection takes no --layer"),
        (("--by", "labels", "--percentile", "x"), "unknown selection 'x'"),
    ],
)
def test_what_is_not_stored_is_answered_with_what_is(
    looks: Path, arguments: tuple[str, ...], message: str
) -> None:
    assert message in error("show", looks, *arguments)


@pytest.mark.parametrize("command", ["show", "digest", "export", "diff", "query"])
def test_folders_that_are_no_stores(tmp_path: Path, command: str) -> None:
    more = {"query": ("SELECT 1",), "diff": (tmp_path,)}.get(command, ())
    assert f"{tmp_path}: no study is stored there" in error(command, tmp_path, *more)
    assert "none: no such folder" in error(command, tmp_path / "none", *more)
    (tmp_path / "file").write_text("")
    assert "is a file" in error(command, tmp_path / "file", *more)
    (tmp_path / "manifest.json").write_text("{")
    assert "manifest.json: must be JSON" in error(command, tmp_path, *more)


@pytest.mark.parametrize("by", [by for by in EVERY if by != "heads"])
def test_an_unfinished_store_is_shown_as_such(unfinished: Path, given: Path, by: str) -> None:
    assert "So far: 5 of 6 tasks." in run("show", unfinished, "--by", by).stdout
    assert "o far" not in run("show", given, "--by", by).stdout
    content = json.loads(run("show", unfinished, "--by", by, "--json").stdout)
    assert "so far: 5 of 6 tasks" in content["note"]


@pytest.mark.parametrize("by", EVERY)
@pytest.mark.parametrize("columns", [40, 80])
def test_no_number_is_cut(looks: Path, by: str, columns: int) -> None:
    wide = run("show", looks, *options(by), columns=300).stdout
    narrow = run("show", looks, *options(by), columns=columns).stdout
    seen, expected = (re.findall(r"\b\d\.\d{3}(?!\d)", text) for text in (narrow, wide))
    assert seen == expected
    if columns == 80 and by != "layers":
        table = re.split(r"(?m)^(?:Best:|Means|iou@90 of)", narrow)[0].splitlines()
        assert max(map(len, table)) <= 80


def test_names_are_cut_before_numbers(given: Path) -> None:
    sql = """SELECT 'hf:a/very/long/name/of/a/model' AS model, 'method' AS method, 0.5 AS value,
    1e-5 AS chance"""
    for columns in (200, 60, 50, 40, 36):
        line = run("query", given, sql, columns=columns).stdout.splitlines()[4]
        assert line.split()[1:] == ["method", "0.500", "1e-05"]
        assert len(line) <= columns
        assert ("…" in line) == (columns < 56)
    line = run("query", given, sql, columns=30).stdout.splitlines()[4]
    assert line.split() == ["hf:a/very/long/name/of/a/model", "method", "0.500", "1e-05"]


def test_long_tables_are_cut_and_counted(looks: Path) -> None:
    rows = "SELECT image, value FROM scores_long"
    said = run("query", looks, rows).stdout
    with open_results(looks) as results:
        count = len(results.query(rows))
    assert len(data(said)) == 40
    assert said.startswith(f"{count:,} lines\n")
    assert f"{count - 40:,} more: --all shows them." in said
    assert len(data(run("query", looks, f"{rows} LIMIT 50", "--all").stdout)) == 50


@pytest.mark.parametrize(
    "by", ["leaderboard", "layers", "percentiles", "labels", "styles", "images"]
)
def test_tables_of_one_head(looks: Path, by: str) -> None:
    words = ("--by", by, "--model", "demo/vit", "--method", "cls", "--json")
    shown = "iou" if by == "labels" else "value"
    found = [
        [line[shown] for line in json.loads(run("show", looks, *words, *more).stdout)["lines"]]
        for more in ((), ("--head", "2"))
    ]
    with open_results(looks) as results:
        calls: dict[str, Callable[..., pd.DataFrame]] = {
            "leaderboard": results.leaderboard,
            "layers": results.layer_progression,
            "percentiles": results.percentile_sweep,
            "labels": results.feature_breakdown,
            "styles": results.style_breakdown,
            "images": results.images,
        }
        table = calls[by](model="demo/vit", method="cls", head=2)
    assert found[1] == pytest.approx(table[shown].to_list())
    assert found[0] != found[1]


def test_all_heads(looks: Path) -> None:
    board = data(run("show", looks, "--head", "all", "--layer", "5").stdout)
    assert sorted(line[:4] for line in board) == [
        [model, "cls", "5", str(head)]
        for model in ("demo/vit", "demo/vit-dino")
        for head in range(4)
    ]
    said = run("show", looks, "--by", "layers", "--head", "all").stdout
    for head in range(4):
        assert re.search(rf"demo/vit cls head {head} +\S{{3}}  best", said)


def test_labels_at_another_percentile(looks: Path) -> None:
    words = ("--by", "labels", "--percentile", "50", "--json")
    content = json.loads(run("show", looks, *words).stdout)
    with open_results(looks) as results:
        expected = results.feature_breakdown(percentile=50)
    assert [line["iou"] for line in content["lines"]] == pytest.approx(expected["iou"].to_list())
    assert "at percentile 50: " in content["note"]
    assert "95% intervals by image, at percentile 50: " in run("show", looks, *words[:-1]).stdout


@pytest.mark.parametrize("by", ["styles", "images", "labels"])
def test_a_selection_that_finds_nothing_is_told_in_words(
    given: Path, tmp_path: Path, by: str
) -> None:
    shutil.copytree(given, tmp_path / "given")
    with open_results(given) as results:
        tasks = results.query("SELECT DISTINCT method FROM scores")["method"].to_list()
    for shard in list_score_files(tmp_path / "given"):
        if pd.read_parquet(shard, columns=["method"])["method"][0] == tasks[0]:
            shard.unlink()
    said = error("show", tmp_path / "given", "--by", by, "--method", tasks[0])
    assert said == f"no scores of any model with method {tasks[0]} are stored"


@pytest.mark.parametrize("command", ["show", "export", "diff", "digest", "query"])
def test_a_damaged_file_is_named(given: Path, tmp_path: Path, command: str) -> None:
    store = tmp_path / "given"
    shutil.copytree(given, store)
    shard = list_score_files(store)[1]
    shard.write_bytes(shard.read_bytes()[:-100])
    more: dict[str, tuple[object, ...]] = {
        "query": ("SELECT sum(value) FROM scores_long",),
        "diff": (given,),
        "export": ("--out", tmp_path / "x.csv"),
    }
    said = error(command, store, *more.get(command, ()))
    mend = f"sightline run {store / 'study.yml'} --out {tmp_path}"
    assert said == f"{shard} is damaged; run the study again to make it anew: {mend}"
    assert not (tmp_path / "x.csv").exists()


# --- query ---------------------------------------------------------------------------------------

MEANS = """SELECT method, avg(value) AS "mean [/b]", count(*) AS n FROM scores_long
WHERE name = 'coverage' AND region IS NULL GROUP BY method ORDER BY method"""


def test_query_as_table_and_json(given: Path) -> None:
    with open_results(given) as results:
        expected = results.query(MEANS)
    lines = json.loads(run("query", given, MEANS, "--json").stdout)
    assert pd.DataFrame(lines)["mean [/b]"].to_list() == pytest.approx(
        expected["mean [/b]"].to_list(), rel=1e-12
    )
    said = run("query", given, MEANS).stdout
    assert said.startswith("2 lines\n")
    assert "method  mean [/b]  n" in said
    for line in lines:
        assert numbers(said, line["method"]) == [pytest.approx(line["mean [/b]"], abs=6e-4), 6]


def test_query_of_odd_values(given: Path) -> None:
    sql = "SELECT labels, ['a', 'b'] AS two, NULL AS none, 1e-7 AS tiny, true AS yes FROM images"
    said = run("query", given, f"{sql} LIMIT 1").stdout
    (line,) = data(said)
    assert line == [STYLES[0], "a,", "b", "1e-07", "True"]
    (found,) = json.loads(run("query", given, f"{sql} LIMIT 1", "--json").stdout)
    assert found == {
        "labels": [STYLES[0]], "two": ["a", "b"], "none": None, "tiny": 1e-7, "yes": True
    }  # fmt: skip
    assert data(run("query", given, "SELECT 1 AS a, 2 AS a").stdout) == [["1", "2"]]
    sums = "SELECT sum(regions) AS n, 0.25 AS part FROM images"
    assert data(run("query", given, sums).stdout) == [["9", "0.250"]]
    assert json.loads(run("query", given, sums, "--json").stdout) == [{"n": 9, "part": 0.25}]
    assert "two columns are called 'a'" in error("query", given, "SELECT 1 AS a, 2 AS a", "--json")
    assert run("query", given, "SELECT image FROM images WHERE false").stdout.startswith("0 lines")
    wide = run("query", given, "SELECT * FROM scores LIMIT 1", columns=60).stdout
    assert "…" not in re.sub(r"\w…", "", wide)
    assert "ceiling" in wide


VIEWS = "views: checks, images, region_scores, regions, scores, scores_long ("


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("DELETE FROM scores", "a query reads only"),
        ("COPY (SELECT 1) TO 'x.csv'", "a query reads only"),
        ("SELECT 1; SELECT 2", "got 2 statements"),
        ("SELEC 1", 'syntax error at or near "SELEC"'),
        ("SELECT nothing FROM scores", VIEWS),
        ("SELECT * FROM score", 'Did you mean "scores"?'),
        ("SELECT * FROM 'annotations.json'", "a"),
        ("", "a query reads only"),
    ],
)
def test_bad_queries_are_one_line_and_change_nothing(given: Path, sql: str, message: str) -> None:
    before = run("digest", given).stdout
    assert message in error("query", given, sql)
    assert run("digest", given).stdout == before


def test_columns_can_be_asked_for(given: Path) -> None:
    def read_names(view: str) -> set[str]:
        return {line[0] for line in data(run("query", given, f"DESCRIBE {view}", "--all").stdout)}

    assert {"image", "value", "chance", "ceiling"} <= read_names("scores_long")
    expected = {"image", "model", "iou@90", "iou_chance@90", "iou_ceiling@90", "recall@50"}
    assert expected <= read_names("scores")
    assert {"image", "region", "label", "iou@90", "iou_chance@90"} <= read_names("region_scores")
    assert "region" not in read_names("scores")


# --- export --------------------------------------------------------------------------------------


@pytest.mark.parametrize("to", ["csv", "parquet", "sqlite", "markdown"])
def test_exports_hold_every_score(
    given: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, to: str
) -> None:
    monkeypatch.chdir(tmp_path)
    ending = {"markdown": "md"}.get(to, to)
    path = tmp_path / f"given.{ending}"
    assert run("export", given, "--to", to).stdout == f"Written: given.{ending}\n"
    path.write_text("old")
    run("export", given, "--to", to, "--out", path)
    assert [one.name for one in tmp_path.iterdir()] == [path.name]
    with open_results(given) as results:
        scores = results.query("SELECT * FROM scores_long")
    if to == "markdown":
        lines = path.read_text("utf-8").splitlines()
        assert lines[0] == "# given"
        assert sum(line.startswith("## ") for line in lines) == 3
        return
    if to == "sqlite":
        with closing(sqlite3.connect(path)) as base:
            found = pd.read_sql("SELECT * FROM scores", base)
            assert len(pd.read_sql("SELECT * FROM images", base)) == 6
    else:
        found = pd.read_csv(path) if to == "csv" else pd.read_parquet(path)
    assert len(found) == len(scores)
    keys = ["image", "method", "name", "region"]
    found, scores = (
        frame.sort_values(keys, ignore_index=True, na_position="first") for frame in (found, scores)
    )
    for column in ("value", "chance", "ceiling", "area"):
        np.testing.assert_allclose(
            found[column].astype(float), scores[column].astype(float), rtol=1e-6
        )


def test_exports_that_cannot_be_written_leave_what_is_there(given: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("old")
    assert "must end in .parquet" in error("export", given, "--to", "parquet", "-o", path)
    assert "does not exist" in error("export", given, "-o", tmp_path / "none" / "a.csv")
    assert path.read_text() == "old"
    assert "xlsx" in run("export", given, "--to", "xlsx", code=2).stderr


# --- diff and digest -----------------------------------------------------------------------------


def test_a_store_does_not_differ_from_itself(given: Path) -> None:
    with open_results(given) as results:
        rows = results.count_scores()
    assert run("diff", given, given).stdout == f"The scores are the same: {rows:,} scores.\n"


def test_differences_are_named(given: Path, folder: Path, tmp_path: Path) -> None:
    text = (folder / "given.yml").read_text()
    changed = text.replace("[90, 50]", "[90, 70]").replace("maps: two", "maps: one")
    (folder / "changed.yml").write_text(changed.replace("name: given", "name: changed"))
    run("run", folder / "changed.yml", "--out", tmp_path, "--workers", 1)
    said = run("diff", given, tmp_path / "changed", code=1).stdout
    assert "  study.percentiles: [90, 50] → [90, 70]\n" in said
    assert "  study.name: given → changed\n" in said
    head = re.search(r"Scores that differ \((\d+) of (\d+) lines\)", said)
    assert head
    found = {tuple(line[:3]): list(map(float, line[3:7])) for line in data(said)}
    assert len(found) == int(head[1]) < int(head[2])
    assert found["net[/b]", "first", "iou@50"] == [0, 15, 0, 0]
    assert found["net[/b]", "first", "iou@70"] == [0, 0, 15, 0]
    both, only_a, only_b, differ = found["net[/b]", "second", "iou@90"]
    assert (both, only_a, only_b) == (15, 0, 0)
    assert 0 < differ <= 15
    assert ("net[/b]", "first", "iou@90") not in found
    every = data(run("diff", given, tmp_path / "changed", "--all", code=1).stdout)
    assert len(every) == int(head[2])


def test_settings_that_change_no_score(given: Path, folder: Path, tmp_path: Path) -> None:
    text = (folder / "given.yml").read_text() + "engine: {workers: 1}\n"
    (folder / "again.yml").write_text(text)
    run("run", folder / "again.yml", "--out", tmp_path)
    said = run("diff", given, tmp_path / "given").stdout
    assert "Settings that differ (1):\n  study.engine.workers: nothing → 1\n" in said
    assert "The scores are the same: " in said
    digests = [run("digest", store).stdout for store in (given, tmp_path / "given")]
    assert re.fullmatch(r"[0-9a-f]{64}\n", digests[0])
    assert digests[0] == digests[1]


def test_digest_follows_the_scores(given: Path, unfinished: Path) -> None:
    assert run("digest", given).stdout != run("digest", unfinished).stdout
