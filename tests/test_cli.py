from __future__ import annotations

import json
import logging
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import typer
from PIL import Image
from typer.testing import CliRunner

import sightline
from sightline.cli import app
from sightline.data import read_annotations
from sightline.data.datasets import load_dataset
from sightline.data.report import inspect_dataset
from sightline.metrics import METRICS
from tests.scripts import printed_by

ROOT = Path(__file__).parents[1]
BOXES = """image,label,x0,y0,x1,y1
a.jpg,door,0.0,0.0,0.5,0.5
a.jpg,gone,1.5,0.0,1.6,0.5
b.jpg,[arch],0.25,0.25,0.75,0.75
lost.jpg,door,0.0,0.0,0.5,0.5
"""


def run(*arguments: object, code: int = 0) -> Any:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output
    return result


@pytest.fixture
def files(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    (tmp_path / "maps").mkdir()
    for name, size in (("a", (8, 8)), ("b.jpg", (6, 10)), ("other", (8, 8))):
        np.save(tmp_path / "maps" / f"{name}.npy", rng.random(size, np.float32))
    (tmp_path / "boxes.csv").write_text(BOXES)
    return tmp_path


def score(files: Path, *options: object, out: str = "scores.csv", code: int = 0) -> Any:
    arguments = (files / "maps", "--annotations", files / "boxes.csv", "--out", files / out)
    return run("score", *arguments, *options, code=code)


def test_version_and_help() -> None:
    assert run("--version").stdout == f"sightline {sightline.__version__}\n"
    listed = run("--help").stdout
    group: Any = typer.main.get_command(app)
    for command in app.registered_commands:
        name = command.name or getattr(command.callback, "__name__", "")
        assert f" {name} " in listed
        assert group.commands[name].rich_help_panel in listed
        assert "Usage:" in run(name, "--help").stdout
    assert "cover the whole image" in " ".join(run("score", "--help").stdout.split())


def test_installed_command() -> None:
    done = subprocess.run(
        [Path(sys.executable).with_name("sightline"), "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("sightline ")


def test_metrics_table_and_json() -> None:
    table = run("metrics").stdout
    listed = json.loads(run("metrics", "--json").stdout)
    assert [metric["name"] for metric in listed] == list(METRICS)
    assert all(metric["name"] in table for metric in listed)
    assert all(metric["meaning"] and metric["citation"] for metric in listed)
    coverage = next(metric for metric in listed if metric["name"] == "coverage")
    assert (coverage["direction"], coverage["range"], coverage["chance"]) == ("higher", [0, 1], "g")
    lift = next(metric for metric in listed if metric["name"] == "lift")
    assert lift["range"] == [0, None]
    primary = {metric["name"] for metric in listed if metric["role"] == "primary"}
    assert primary == {"coverage", "average_precision", "iou"}


def test_score_writes_csv_and_shows_what_matters(files: Path) -> None:
    out = score(files, "--percentiles", "90,50").stdout
    frame = pd.read_csv(files / "scores.csv")
    assert frame["image"].tolist() == ["a.jpg", "a.jpg", "b.jpg", "b.jpg"]
    assert frame["region"].fillna(-1).tolist() == [-1, 0, -1, 0]
    assert frame["label"].fillna("").tolist() == ["", "door", "", "[arch]"]
    mean = frame.loc[frame["region"].isna(), "iou@90"].mean()
    (line,) = (line for line in out.splitlines() if "iou@90" in line)
    assert f"{mean:.3f}" in line
    assert "iou@50" in out
    assert "Images without a map (1): lost.jpg" in out
    assert "Maps without an annotation (1): other" in out
    assert "Regions outside their image, dropped (1): a.jpg #1 (gone)" in out
    assert str(files / "scores.csv") in out


def test_score_writes_the_same_in_every_format(files: Path) -> None:
    for name in ("s.csv", "s.parquet", "s.json"):
        score(files, out=name)
    csv, parquet = pd.read_csv(files / "s.csv"), pd.read_parquet(files / "s.parquet")
    rows = json.loads((files / "s.json").read_text())
    assert list(csv) == list(parquet) == list(rows[0])
    for column in csv.columns[3:]:
        np.testing.assert_array_equal(csv[column], parquet[column])
        np.testing.assert_array_equal(
            parquet[column], [np.nan if row[column] is None else row[column] for row in rows]
        )
    assert sorted(path.name for path in files.iterdir()) == sorted(
        ["boxes.csv", "maps", "s.csv", "s.json", "s.parquet"]
    )


def test_score_prints_json_alone(files: Path) -> None:
    result = score(files, "--json", "--selection", "mass60,matched", "--sign", "absolute")
    report = json.loads(result.stdout)
    assert (report["images"], report["regions"]) == (2, 2)
    assert report["out"] == str(files / "scores.csv")
    assert report["images_without_map"] == ["lost.jpg"]
    assert report["maps_without_annotation"] == ["other"]
    assert report["dropped"] == [{"image": "a.jpg", "region": 1, "label": "gone"}]
    found = {row["metric"]: row for row in report["summary"]}
    assert {"coverage", "auc_roc", "iou@mass60", "iou@matched"} <= found.keys()
    assert not any(metric.startswith("iou@9") for metric in found)
    assert found["auc_roc"]["chance"] == 0.5
    assert found["auc_roc"]["ceiling"] == 1
    assert found["iou@matched"]["ceiling"] == 1
    assert (found["coverage"]["n"], found["coverage"]["undefined"]) == (2, 0)


def test_options_reach_the_engine(files: Path) -> None:
    np.save(files / "maps" / "a.npy", np.full((8, 8), -1.0))
    (files / "maps" / "b.jpg.npy").unlink()
    values = {}
    for options in (
        ("--ties", "share", "--sign", "positive"),
        ("--ties", "include", "--sign", "positive"),
        ("--sign", "absolute"),
        ("--sign", "signed", "--threads", "1"),
    ):
        score(files, "--percentiles", "75", *options)
        frame = pd.read_csv(files / "scores.csv")
        values[options[1]] = frame["attention_area@75"].iloc[0]
        assert ("coverage" in frame) == (options[1] != "signed")
        if "coverage" in frame:
            assert frame["coverage"].isna().iloc[0] == (options[1] != "absolute")
    assert values == {"share": 0.25, "include": 1.0, "absolute": 0.25, "signed": 0.25}


def test_long_lists_are_cut_in_text_and_whole_in_json(files: Path) -> None:
    with (files / "boxes.csv").open("a") as file:
        file.writelines(f"lost{i}.jpg,door,0,0,1,1\n" for i in range(9))
    out = score(files).stdout
    assert (
        "Images without a map (10): lost.jpg, lost0.jpg, lost1.jpg, lost2.jpg, lost3.jpg, …" in out
    )
    assert "lost4.jpg" not in out
    assert len(json.loads(score(files, "--json").stdout)["images_without_map"]) == 10


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--out", "scores.xlsx"), "scores.xlsx: a table must end in .csv, .parquet, .json"),
        (("--out", "none/s.csv"), "none/s.csv: folder none does not exist"),
        (("--annotations", "none.json"), "none.json: cannot be read: No such file or directory"),
        (
            ("--percentiles", "90,high"),
            "--percentiles must be numbers separated by commas: '90,high'",
        ),
    ],
)
def test_errors_are_one_line(files: Path, options: tuple[str, str], message: str) -> None:
    result = score(files, *options, code=2)
    assert result.stderr == f"error: {message}\n"
    assert result.stdout == ""
    assert not (files / "scores.csv").exists()


def test_engine_errors_are_one_line(files: Path) -> None:
    for options in (
        ("--selection", "best"),
        ("--percentiles", "101"),
        ("--sign", "signed", "--selection", "mean"),
    ):
        result = score(files, *options, code=2)
        assert re.fullmatch(r"error: .+\n", result.stderr)


def test_bad_map_is_named(files: Path) -> None:
    np.save(files / "maps" / "b.jpg.npy", np.full((3, 3), np.inf))
    result = score(files, code=2)
    assert result.stderr.startswith("error: image 'b.jpg': its map is not finite")
    np.save(files / "maps" / "b.jpg.npy", np.zeros((2, 3, 3)))
    result = score(files, code=2)
    assert result.stderr.endswith("b.jpg.npy: map must be height x width, got 2 x 3 x 3\n")
    assert not (files / "scores.csv").exists()


def test_output_is_checked_before_the_maps_are_read(tmp_path: Path) -> None:
    result = run("score", tmp_path / "none", "-a", tmp_path / "x.csv", "-o", "scores.txt", code=2)
    assert "scores.txt" in result.stderr


def test_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "demo").write_text("")
    result = run("demo", "--out", tmp_path, code=2)
    assert result.stderr == f"error: {tmp_path / 'demo'}: must be a folder for results, is a file\n"
    result = run("demo", "--out", tmp_path / "demo", code=2)
    assert re.fullmatch(r"error: .*Not a directory.*\n", result.stderr)


def test_score_shows_means_without_a_file_to_write(files: Path) -> None:
    arguments = ("score", files / "maps", "--annotations", files / "boxes.csv")
    out = run(*arguments).stdout
    assert out.startswith(score(files).stdout.partition("Scores by image")[0])
    assert "not kept; --out FILE.csv keeps them" in out
    assert json.loads(run(*arguments, "--json").stdout)["out"] is None


def test_score_asks_for_the_sign_of_negative_values(files: Path) -> None:
    said = json.loads(score(files, "--json").stdout)
    assert (said["sign"], said["sign_from"], said["notes"]) == ("positive", "default", [])
    np.save(files / "maps" / "a.npy", np.linspace(-1, 1, 64).reshape(8, 8))
    said = score(files, code=2).stderr
    assert said.startswith("error: image 'a.jpg': its map has negative values (smallest -1): give")
    assert json.loads(score(files, "--sign", "positive", "--json").stdout)["sign"] == "positive"


def test_percentiles_that_look_like_shares_are_refused(files: Path) -> None:
    said = score(files, "--percentiles", "90,0.9", code=2).stderr
    hint = "percentiles go from 0 to 100, got 0.9; did you mean 90?"
    assert said == f"error: --percentiles 90,0.9: {hint}\n"


def test_wrong_choices_are_refused(files: Path) -> None:
    assert "absolute" in score(files, "--sign", "negative", code=2).stderr
    assert "include" in score(files, "--ties", "first", code=2).stderr
    assert "Missing" in run("score", files / "maps", code=2).stderr


def test_log_of_the_library_is_shown(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def talk(*args: Any, **options: Any) -> Any:
        logging.getLogger("sightline").warning("compiling [once]")
        return sightline.score_maps(*args, **options)

    monkeypatch.setattr("sightline.data.by_image.score_maps", talk)
    result = score(files, "--json")
    assert "compiling [once]" in result.stderr
    json.loads(result.stdout)


# --- data sets -----------------------------------------------------------------------------------


@pytest.fixture
def churches(tmp_path: Path) -> Path:
    """Write a small WikiChurches: the third image has no file, one file has no record."""
    meta = [{"name": "opening", "parents": []}, {"name": "[door]", "parents": [0]}]
    meta += [{"name": f"part {number}", "parents": []} for number in range(25)]
    door = {"left": -0.5, "top": 0.0, "width": 1.0, "height": 0.5, "label": 1}
    tower = {"left": 0.5, "top": 0.5, "width": 0.5, "height": 0.5, "label": 2}
    gone = {"left": 1.5, "top": 0.0, "width": 0.1, "height": 0.1, "label": 1}
    annotations = {
        "Q1.jpg": _church(door, door, tower, style="Q176483"),
        "Q2.jpg": _church(tower, gone, style="Q176483"),
        "Q3.jpg": _church(style="Q46261"),
    }
    content = json.dumps({"meta": meta, "annotations": annotations})
    (tmp_path / "building_parts.json").write_text(content)
    (tmp_path / "images").mkdir()
    for name in ("Q1.jpg", "Q2.jpg", "extra.jpg"):
        Image.new("RGB", (60, 40), (90, 90, 120)).save(tmp_path / "images" / name)
    return tmp_path


def _church(*elements: Any, style: str) -> dict[str, Any]:
    return {"styles": [style], "bbox_groups": [{"group_label": 0, "elements": list(elements)}]}


def _line(text: str, start: str) -> list[str]:
    """Return the words after `start` on the line that begins with it."""
    (line,) = (line for line in text.splitlines() if line.strip().startswith(start))
    return line.strip().removeprefix(start).split()


def test_inspect_shows_what_a_data_set_holds(churches: Path) -> None:
    out = run("inspect", "wikichurches", churches).stdout
    assert _line(out, "images  ") == ["3"]
    assert "splits" not in out
    assert "Shapes other than boxes" not in out
    assert _line(out, "labels of images") == ["Gothic", "2,", "Romanesque", "1"]
    assert _line(out, "regions  ") == ["4", "(box", "4)"]
    assert _line(out, "clipped at the border") == ["2"]
    assert _line(out, "dropped") == ["outside", "1"]
    assert _line(out, "image files missing") == ["1"]
    assert _line(out, "images with a label twice") == ["1", "(33%)"]
    assert _line(out, "regions per image") == ["0", "0.5", "1", "2", "1.333", "3"]
    assert _line(out, "area of a region, %") == ["25"] * 6
    table, _, pairs = out.partition("Labels that occur together")
    assert _line(table, "part 0") == ["2", "2", "2", "66.7%"]
    assert _line(table, "[door]") == ["2", "2", "1", "33.3%"]
    assert [line.split() for line in pairs.splitlines()[4:5]] == [["part", "0", "[door]", "1"]]
    assert _line(out, "opening") == ["0", "2", "1", "33.3%"]
    assert _line(out, "Gothic  ") == ["[door]", "1", "1"]
    assert "Images without regions (1): Q3.jpg" in out
    assert "Images without a file (1): Q3.jpg" in out
    beside = churches / "images" / "extra.jpg"
    assert f"Images beside them that are not in the data set (1): {beside}" in out
    assert "7 more: --all shows them." in out
    assert "part 24" not in out
    assert "part 24" in run("inspect", "wikichurches", churches, "--all").stdout


def test_inspect_points_at_a_folder_that_has_the_name_of_a_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    options = ("inspect", "facades", "--count", 2, "--quick")
    assert "folder" not in run(*options).stdout
    Path("facades").mkdir()
    out = run(*options).stdout
    assert "For the folder facades that is here:\n  sightline inspect folder facades\n" in out
    for path in ("./facades", "facades/"):
        said = run("inspect", path, code=2).stderr
        assert said.endswith(
            f"the kind of data set comes first:\n  sightline inspect folder {path}\n"
        )


def test_inspect_prints_the_report_as_json(churches: Path) -> None:
    figure = churches / "sheet.png"
    content = json.loads(
        run("inspect", "wikichurches", churches, "--json", "--figure", figure).stdout
    )
    assert content.pop("figure") == str(figure)
    assert content == inspect_dataset(load_dataset("wikichurches", churches)).to_dict()
    with Image.open(figure) as sheet:
        assert sheet.width > 3 * 224


def test_inspect_quickly_reads_headers(churches: Path) -> None:
    image = churches / "images" / "Q2.jpg"
    noise = np.random.default_rng(0).integers(0, 256, (40, 60, 3), np.uint8)
    Image.fromarray(noise).save(image)
    image.write_bytes(image.read_bytes()[:-400])
    quick = run("inspect", "wikichurches", churches, "--quick", "--json")
    assert json.loads(quick.stdout)["decoded"] is False
    result = run("inspect", "wikichurches", churches, code=2)
    assert re.fullmatch(rf"error: image 'Q2.jpg': {image}: cannot be read .*\n", result.stderr)
    assert result.stdout == ""


def test_inspect_lists_all_that_it_skips(churches: Path) -> None:
    content = json.loads((churches / "building_parts.json").read_text())
    bad = {"left": 0, "top": 0, "width": -1, "height": 1, "label": 1}
    for number in range(7):
        content["annotations"][f"bad{number}.jpg"] = _church(bad, style="Q176483")
    (churches / "building_parts.json").write_text(json.dumps(content))
    for name in ("Q1.jpg", "Q2.jpg"):
        (churches / "images" / name).write_text("no image")
    result = run("inspect", "wikichurches", churches, code=2)
    assert "building_parts.json" in result.stderr
    assert "bad0.jpg" in result.stderr
    failed = run("inspect", "wikichurches", churches, "--skip-bad", code=1)
    out = failed.stdout
    assert "no image can be used: 8 missing, 2 with a problem, 7 records" in failed.stderr
    assert "Records left out (7):" in out
    assert all(f"'bad{number}.jpg'" in out for number in range(7))
    assert "Images that cannot be used (2):" in out
    for name in ("Q1.jpg", "Q2.jpg"):
        assert f"image '{name}': {churches / 'images' / name}: cannot be read" in out
    assert "Images without regions (8): Q3.jpg, bad0.jpg, bad1.jpg, bad2.jpg, bad3.jpg, …" in out


def test_inspect_says_how_many_images_cannot_be_used(churches: Path) -> None:
    for name in ("Q1.jpg", "Q2.jpg"):
        (churches / "images" / name).write_text("no image")
    result = run("inspect", "wikichurches", churches, "--figure", churches / "s.png", code=2)
    assert result.stderr.endswith(" (and 1 more; --skip-bad lists them)\n")
    assert not (churches / "s.png").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("wikichurches", "none"), "none: no such file or folder"),
        (("wikichurches",), "wikichurches needs a path"),
        (("wikichurches", ".", "--count", "3"), "wikichurches has no option 'count'"),
        (("wikichurches", ".", "--confounded"), "wikichurches has no option 'confounded'"),
        (("facades", "here"), "takes no path"),
        (("churches", "."), "unknown data set 'churches'"),
        (("facades", "--figure", "sheet.pdf"), "sheet.pdf: a contact sheet must end in .png"),
        (("facades", "--split", "none", "--count", "2"), "no images in split 'none'"),
    ],
)
def test_inspect_refuses(arguments: tuple[str, ...], message: str) -> None:
    result = run("inspect", *arguments, code=2)
    assert result.stderr.startswith("error: ")
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_inspect_takes_options_of_the_data_set(tmp_path: Path) -> None:
    options = ("--count", 3, "--option", "size=64", "--option", "confounded=true", "--json")
    report = json.loads(run("inspect", "facades", *options).stdout)
    assert report["sizes"]["width"]["most"] == 64
    assert (
        "no option 'sise'; did you mean 'size'"
        in run("inspect", "facades", "--option", "sise=64", code=2).stderr
    )
    assert "must be name=value" in run("inspect", "facades", "--option", "x", code=2).stderr


def test_inspect_shows_pairs_and_repeats() -> None:
    out = run("inspect", "facades", "--count", 3).stdout
    assert "Labels that occur together" in out
    assert "Images with two or more regions of one label (3): facade-00000.png (" in out


def test_names_that_no_terminal_shows(tmp_path: Path) -> None:
    labels = ["\x1b[31mred", "w\u200e", "[bold]"]
    regions = [{"label": label, "box": [0, 0, 1, 1]} for label in labels]
    content = {
        "format": "sightline-annotations",
        "version": 1,
        "images": [{"image": "a.jpg", "regions": regions}],
    }
    (tmp_path / "annotations.json").write_text(json.dumps(content))
    out = run("inspect", "folder", tmp_path, code=1).stdout
    assert "\x1b" not in out
    for shown in (r"\x1b[31mred", "[bold]"):
        assert shown in out
    (tmp_path / "annotations.json").write_text(json.dumps(content).replace("[bold]", "\\ud800"))
    refused = run("inspect", "folder", tmp_path, code=2)
    assert r"half of a character: '\ud800'" in " ".join(refused.stderr.split())


def test_inspect_facades_needs_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    options = ("--count", 10, "--seed", 3, "--json")
    every, some, test = (
        json.loads(run("inspect", "facades", *options, *more).stdout)
        for more in ((), ("--labelling", "salient"), ("--split", "test"))
    )
    assert (every["images"], every["missing"], every["problems"]) == (10, [], [])
    assert every["kinds"] == {"mask": every["regions"]}
    assert every["repeated"]
    assert some["repeated"] == {}
    assert some["regions"] < every["regions"]
    assert test["images"] == every["splits"]["test"] == 2
    out = run("inspect", "facades", *options[:-1]).stdout
    assert _line(out, "splits") == ["train", "8,", "test", "2"]
    assert "Shapes other than boxes are drawn" in out
    assert not list(tmp_path.iterdir())


def test_facades_and_the_line_they_end_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    out = run("facades", "my facades", "--count", 4, "--seed", 1, "--size", 96).stdout
    drawn = load_dataset("facades", count=4, seed=1, size=96)
    assert sorted(path.name for path in Path("my facades/images").iterdir()) == list(drawn.ids)
    found = read_annotations("my facades/annotations.json")
    assert {name: len(one.regions) for name, one in found.items()} == {
        name: len(one.regions) for name, one in drawn.annotations().items()
    }
    command = shlex.split(out.splitlines()[-1])
    assert command[0] == "sightline"
    shown = run(*command[1:]).stdout
    assert _line(shown, "images  ") == ["4"]
    assert Path("sheet.png").exists()
    refused = run("facades", "my facades", code=2)
    assert "my facades: is not empty" in refused.stderr
    run("facades", "my facades", "--count", 2, "--size", 64, "--force", "--labelling", "salient")
    with Image.open("my facades/images/facade-00001.png") as image:
        assert image.size == (64, 64)
    assert len(read_annotations("my facades/coco.json")) == 2


def test_confounded_facades_differ(tmp_path: Path) -> None:
    plain, confounded = tmp_path / "plain", tmp_path / "confounded"
    run("facades", plain, "--count", 2, "--size", 64)
    run("facades", confounded, "--count", 2, "--size", 64, "--confounded")
    name = "images/facade-00000.png"
    assert (plain / name).read_bytes() != (confounded / name).read_bytes()
    assert (plain / "coco.json").read_text() == (confounded / "coco.json").read_text()


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from typer.testing import CliRunner; from sightline.cli import app; "
        "[CliRunner().invoke(app, [name, '--help']) for name in ('inspect', 'run', 'show')]; "
        "heavy = {'PIL', 'pandas', 'scipy', 'numba', 'torch', 'numpy', 'duckdb', 'pyarrow'}; "
        "print(*heavy & sys.modules.keys())"
    )
    assert printed_by(code).strip() == ""


# --- pages ---------------------------------------------------------------------------------------


def _blocks(language: str) -> list[str]:
    text = (ROOT / "docs" / "annotations.md").read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


@pytest.mark.parametrize("code", _blocks("python"))
def test_examples_of_the_page_run(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(code, "annotations.md", "exec"), {})  # noqa: S102
    expected = [line[2:] for line in code.splitlines() if line.startswith("# ")]
    assert capsys.readouterr().out.splitlines() == expected
    assert expected


def test_files_of_the_page_are_read(tmp_path: Path) -> None:
    (plain,), (table,) = _blocks("json"), _blocks("csv")
    (tmp_path / "a.json").write_text(plain)
    (tmp_path / "a.csv").write_text(table)
    church = read_annotations(tmp_path / "a.json")["churches__front.jpg"]
    assert [region.kind for region in church.regions] == ["box", "polygon", "point", "mask"]
    found = read_annotations(tmp_path / "a.csv")
    assert {image: len(annotation.regions) for image, annotation in found.items()} == {
        "front.jpg": 2,
        "empty.jpg": 0,
    }


def test_a_command_is_named_by_where_it_is(tmp_path: Path) -> None:
    """Outside the path of the shell, the name of the program alone would not be found."""
    program = Path(sys.executable).with_name("sightline")
    done = subprocess.run(
        [program, "new", "my study.yml", "--model", "demo/cnn"],
        cwd=tmp_path,
        env={"PATH": "/usr/bin"},
        check=True,
        text=True,
        capture_output=True,
    )
    command = shlex.split(done.stdout.splitlines()[-1])
    assert command == [str(program), "run", "my study.yml", "--dry-run"]
    assert (tmp_path / "my study.yml").exists()
