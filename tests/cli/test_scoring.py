"""The same maps get the same scores through `score_maps`, `sightline score` and a study."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from sightline import score_maps
from sightline.core import InputError
from sightline.data import read_annotations
from sightline.study import run_study
from tests.cli.small import run
from tests.study.executors.studies import table
from tests.study.studies import make_folder, plan_of, study_of

if TYPE_CHECKING:
    from pathlib import Path

IMAGES = 4
COLUMNS = ("iou@90", "iou@50", "pointing", "auc_roc", "coverage")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folder(tmp_path_factory.mktemp("images"), IMAGES)


def save(path: Path, *channels: int) -> tuple[Path, Any]:
    """Write signed maps, one for each image, with channels or without."""
    path.mkdir()
    rng = np.random.default_rng(0)
    maps = rng.normal(size=(IMAGES, *channels, 6, 7)).astype(np.float32)
    for number, values in enumerate(maps):
        np.save(path / f"{number:03}.npy", values)
    return path, maps


def study(folder: Path, maps: Path, metrics: list[str], **params: str) -> dict[str, Any]:
    methods = [{"name": "mine", "params": {"maps": str(maps), **params}}]
    return {"models": [], "methods": methods, "batch": None, "metrics": metrics}


def check_equal(folder: Path, tmp_path: Path, maps: Path, values: Any, **options: Any) -> None:
    """Compare the scores of unions and regions, bitwise, and what the command prints."""
    columns = [c for c in COLUMNS if c != "coverage" or options.get("sign") != "signed"]
    annotations = read_annotations(folder / "annotations.json")
    regions = list(annotations.values())
    expected: Any
    scores = score_maps(values, regions=regions, percentiles=[90, 50], **options)
    flags = [word for key, value in options.items() for word in (f"--{key}", value)]
    arguments = ("score", maps, "-a", folder / "annotations.json", "--percentiles", "90,50")
    said = run(*arguments, *flags, "--out", tmp_path / "s.parquet", "--json").stdout
    frame = pd.read_parquet(tmp_path / "s.parquet")
    changes = study(folder, maps, sorted({c.partition("@")[0] for c in columns}), **options)
    done = run_study(study_of(folder, **changes), tmp_path / "run", workers=1)
    rows = table(done.store.path).to_pandas()
    rows["column"] = [
        metric if "@" in metric or not threshold else f"{metric}@{threshold}"
        for metric, threshold in zip(rows["metric"], rows["threshold"].fillna(""), strict=True)
    ]
    means = {row["metric"]: row["mean"] for row in json.loads(said)["summary"]}
    whole, parts = frame[frame["region"].isna()], frame[frame["region"].notna()]
    for column in columns:
        mine = rows[rows["column"] == column].sort_values(["image", "region"])
        for own, some, expected in (
            (mine[mine["region"].isna()], whole, scores),
            (mine[mine["region"].notna()], parts, scores.regions),
        ):
            if column not in expected:
                continue
            assert np.isfinite(expected[column]).any()
            assert some[column].to_numpy().tobytes() == expected[column].tobytes(), column
            assert own["value"].to_numpy().tobytes() == expected[column].tobytes(), column
        assert means[column] == pytest.approx(scores[column].mean(), abs=1e-12)
    stated = json.loads(said)
    assert (stated["sign"], stated["sign_from"]) == (
        (options["sign"], "option") if "sign" in options else ("positive", "default")
    )


@pytest.mark.parametrize("sign", ["positive", "absolute", "signed"])
def test_signed_maps_score_alike_everywhere(folder: Path, tmp_path: Path, sign: str) -> None:
    check_equal(folder, tmp_path, *save(tmp_path / "m"), sign=sign)


@pytest.mark.parametrize("options", [
    {"channels": "mean_abs"},
    {"channels": "max_abs"},
    {"channels": "sum", "sign": "positive"},
    {"channels": "sum", "sign": "absolute"},
    {"channels": "sum", "sign": "signed"},
])  # fmt: skip
def test_three_channels_score_alike_everywhere(
    folder: Path, tmp_path: Path, options: dict[str, str]
) -> None:
    maps, values = save(tmp_path / "m", 3)
    check_equal(folder, tmp_path, maps, values, **options)


def test_signed_maps_ask_for_a_sign_everywhere(folder: Path, tmp_path: Path) -> None:
    maps, values = save(tmp_path / "m")
    with pytest.raises(InputError, match=r"map 0 has negative values .*: give sign"):
        score_maps(values, regions=list(read_annotations(folder / "annotations.json").values()))
    said = run("score", maps, "-a", folder / "annotations.json", code=2).stderr
    assert said.startswith("error: image '000.png': its map has negative values (smallest -")
    assert "give sign" in said
    changes = study(folder, maps, ["iou"])
    with pytest.raises(InputError, match=r"methods: mine: image '000.png': its map has negative"):
        plan_of(folder, **changes)
    assert plan_of(folder, sign="absolute", **changes).sources[0].sign == "absolute"


def test_signed_methods_score_alike_through_a_study_and_their_maps(
    folder: Path, tmp_path: Path
) -> None:
    maps = tmp_path / "o.safetensors"
    words = (
        "-m",
        "demo/cnn",
        "--method",
        "occlusion",
        "--param",
        "window=112",
        "--param",
        "stride=112",
    )
    run("explain", folder, *words, "--maps", maps, "--resolution", "pixels")
    said = run("score", maps, "-a", folder / "annotations.json", "--out", tmp_path / "s.parquet")
    assert "Sign: positive, the part above 0; the maps' file says signed" in said.stdout
    frame = pd.read_parquet(tmp_path / "s.parquet")
    scored = frame[frame["region"].isna()].set_index("image")["auc_roc"].to_dict()
    method = {"name": "occlusion", "params": {"window": 112, "stride": 112}}
    given = study(folder, maps, ["auc_roc"])
    own = {"models": ["demo/cnn"], "methods": [method], "metrics": ["auc_roc"]}
    for number, changes in enumerate((given, {**own, "resolution": "pixels"})):
        changes = {**changes, "regions": False}
        done = run_study(study_of(folder, **changes), tmp_path / f"run{number}", workers=1)
        rows = table(done.store.path).to_pandas().set_index("image")
        assert rows["value"].to_dict() == scored


def test_channels_are_asked_for_everywhere(folder: Path, tmp_path: Path) -> None:
    maps, _ = save(tmp_path / "m", 3)
    said = run("score", maps, "-a", folder / "annotations.json", code=2).stderr
    asked = "map must be height x width, got 3 x 6 x 7: if these are the channels of an RGB input"
    assert asked in said
    assert "mean_abs, sum, max_abs" in said
    with pytest.raises(InputError, match=rf"methods: mine: no map can be read: .*{asked}"):
        plan_of(folder, **study(folder, maps, ["iou"]))
    plain, _ = save(tmp_path / "plain")
    last = tmp_path / "last"
    last.mkdir()
    np.save(last / "000.npy", np.ones((6, 7, 3)))
    for path, shape in ((plain, "6 x 7"), (last, "6 x 7 x 3")):
        wrong = f"map must be 3 x height x width for its channels, got {shape}"
        options = ("-a", folder / "annotations.json", "--channels", "sum")
        assert wrong in run("score", path, *options, code=2).stderr
        with pytest.raises(InputError, match=wrong):
            plan_of(folder, **study(folder, path, ["iou"], channels="sum"))
    with pytest.raises(InputError, match="expected 'mean_abs' or 'sum' or 'max_abs', got 'mean'"):
        study_of(folder, **study(folder, maps, ["iou"], channels="mean"))
