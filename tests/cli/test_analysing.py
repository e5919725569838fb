"""`sightline analyse`, and the words of `--target` that several commands share."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import load_file

from sightline.attribution.methods import Similar, explain
from sightline.cli import option_words
from sightline.data import read_annotations
from sightline.models import load_model
from tests.cli.small import error, numbers, run

pytestmark = pytest.mark.usefixtures("loaded_once")


@pytest.fixture
def notes(facades: Path) -> Path:
    return facades / "annotations.json"


class TestAnalyse:
    def test_figures_scores_and_a_table(self, image: Path, notes: Path, tmp_path: Path) -> None:
        out = tmp_path / "here"
        said = run(
            "analyse", image, "--annotations", notes, "-m", "demo/cnn", "--methods",
            "gradcam, edge", "--percents", "10,30", "--out", out,
        ).stdout  # fmt: skip
        assert sorted(path.name for path in out.iterdir()) == [
            "all_methods.png", "all_methods.svg", "enhanced_edge.png", "enhanced_gradcam.png",
            "metrics.csv",
        ]  # fmt: skip
        table = pd.read_csv(out / "metrics.csv")
        assert set(table["metric"]) >= {"coverage", "iou@90", "iou@70", "recall@90"}
        whole = table[table["region"].isna()]
        for method in ("gradcam", "edge"):
            own = whole[whole["method"] == method].set_index("metric")
            names = ["coverage", "average_precision", "auc_roc", "pointing", "iou@90"]
            expected = [*own["value"][names], own["beyond"]["iou@90"]]
            assert numbers(said, method) == pytest.approx(expected, abs=6e-4)
        mask = read_annotations(notes)["facade-00000.png"].union_mask(96, 96)
        assert numbers(said, "chance")[0] == pytest.approx(mask.mean(), abs=6e-4)
        assert numbers(said, "ceiling")[:4] == [1, 1, 1, 1]
        assert "recall@90 by region" in said
        assert f"Written to {out}: all_methods.png, all_methods.svg" in said
        assert "One image is an example, no evidence" in said

    def test_a_narrow_terminal_keeps_the_names(
        self, image: Path, notes: Path, tmp_path: Path
    ) -> None:
        said = run(
            "analyse", image, "-a", notes, "--methods", "integrated_gradients", "--param",
            "steps=2", "--out", tmp_path, columns=80,
        ).stdout  # fmt: skip
        assert len(numbers(said, "integrated_gradients")) == 6

    def test_without_annotations_it_says_that_there_are_no_scores(
        self, image: Path, tmp_path: Path
    ) -> None:
        said = run("analyse", image, "--methods", "cls", "--layer", "0,-1", "-o", tmp_path).stdout
        assert "Nothing is annotated, so there are no scores: give --annotations." in said
        assert {"cls, layer 0", "cls, layer 11"} <= {
            line.strip().partition("  ")[0] for line in said.splitlines()
        }
        assert "metric" not in pd.read_csv(tmp_path / "metrics.csv")

    def test_of_all_methods_those_left_out_are_named(
        self, image: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from sightline.attribution.methods import METHODS
        from sightline.core.registry import Registry

        few: Registry[object] = Registry("method")
        for name in ("cls", "pool", "edge", "mean_map"):
            few.add(name, METHODS[name])
        monkeypatch.setattr("sightline.attribution.methods.METHODS", few)
        told = json.loads(run("analyse", image, "-o", tmp_path, "--json").stdout)
        assert told["skipped"] == {
            "pool": "needs pooling", "mean_map": "is a mean over other images",
        }  # fmt: skip
        assert [one["method"] for one in told["scores"]] == ["cls", "edge"]
        assert Path(told["files"][-1]) == tmp_path / "metrics.csv"
        said = run("analyse", image, "-o", tmp_path).stdout
        assert "Methods left out (2):\n  pool: needs pooling\n" in said

    def test_the_label_of_the_file(self, image: Path, notes: Path, tmp_path: Path) -> None:
        options = ("analyse", image, "--method", "saliency", "--target", "label", "-o", tmp_path)
        run(*options, "-a", notes)
        (label,) = read_annotations(notes)["facade-00000.png"].labels
        assert set(pd.read_csv(tmp_path / "metrics.csv")["target"]) == {label}
        assert "--target label: give --annotations" in error(*options)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--methods", "cls,salience"], "salience"),
            (["-m", "demo/cnn", "--methods", "cls"], "method 'cls' needs attention"),
            (["--methods", ","], "methods must name a method"),
            (["--percents", "5,a"], "--percents must be numbers separated by commas"),
            (["--percents", "0"], "percents must be numbers between 0 and 100"),
            (["--layer", "x"], "--layer must be numbers separated by commas, or all"),
            (["--target", "Gothik"], "--target Gothik: unknown class 'Gothik'"),
            (["--methods", "cls", "--target", "Gothic"], "nothing is explained by cls"),
            (["--methods", "cls", "--param", "steps=3"], "parameter 'steps' is one of none"),
            (["--annotations", "none.json"], "none.json"),
            (["--out", "IMAGE"], "is a file; give a folder"),
        ],
    )
    def test_what_is_wrong_is_named(
        self, options: list[str], message: str, image: Path, tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:  # fmt: skip
        monkeypatch.chdir(tmp_path)
        words = [str(image) if word == "IMAGE" else word for word in options]
        assert message in error("analyse", image, *words)
        assert not list(tmp_path.iterdir())

    def test_the_image_is_not_written_over(self, image: Path, tmp_path: Path) -> None:
        own = tmp_path / "all_methods.png"
        own.write_bytes(image.read_bytes())
        said = error("analyse", own, "--methods", "cls", "-o", tmp_path)
        assert "holds the image all_methods.png, which could be written over" in said


class TestTargetWords:
    def test_what_each_word_means(self, image: Path) -> None:
        model = load_model("demo/vit")
        for word in ("predicted", "label", "embedding", "detection"):
            assert option_words.read_target(word, model) == word
        assert option_words.read_target("Gothic", model) == 1
        assert option_words.read_target("2", model) == 2
        found = option_words.read_target(f"similar:{image}", model)
        assert isinstance(found, Similar)
        assert (found.image, found.name) == (image, f"similar to {image.name}")
        words = ("predicted", "Gothic", "embedding", "detection", f"similar:{image}")
        assert [option_words.is_classless(word) for word in words] == [
            False, False, True, True, True,
        ]  # fmt: skip

    def test_explain_an_embedding_of_a_model_without_classes(
        self, image: Path, tmp_path: Path
    ) -> None:
        maps = tmp_path / "a.safetensors"
        options = ("explain", image, "-m", "demo/vit-dino", "--method", "saliency", "--maps", maps)
        assert "needs classes" in error(*options)
        run(*options, "--target", "embedding")
        (values,) = load_file(maps).values()
        expected = explain("demo/vit-dino", image, "saliency", target="embedding").of()
        assert np.array_equal(values, expected)

    def test_explain_what_is_similar(self, image: Path, facades: Path, tmp_path: Path) -> None:
        other = facades / "images" / "facade-00001.png"
        maps = tmp_path / "a.safetensors"
        said = run(
            "explain", image, "-m", "demo/vit-dino", "--method", "gradcam,cls", "--maps", maps,
            "--target", f"similar:{other}", "--json",
        ).stdout  # fmt: skip
        told = json.loads(said)
        gradcam, cls = told["methods"]
        assert "similar to facade-00001.png" in json.dumps(gradcam)
        assert "similar" not in json.dumps(cls)
        found = load_file(maps)
        expected = explain(
            "demo/vit-dino", image, "gradcam", layers=-1, target=Similar(other)
        ).of()  # fmt: skip
        (key,) = (name for name in found if "gradcam" in name)
        assert np.array_equal(found[key], expected)

    def test_figures_take_them_too(self, image: Path, tmp_path: Path) -> None:
        said = run(
            "figure", "attribution", image, "-m", "demo/vit-dino", "--method", "gradcam",
            "--target", "embedding", "-o", tmp_path / "a.png",
        ).stdout  # fmt: skip
        assert "explained: embedding" in said

    @pytest.mark.parametrize(
        ("target", "message"),
        [
            ("similar:none.png", "--target similar:none.png: none.png"),
            ("similar:", "--target similar:FILE must name an image, got none"),
            (" ", "--target must say what to explain"),
            ("label", "--target label: images have no label here"),
        ],
    )
    def test_wrong_ones_are_named(
        self, target: str, message: str, image: Path, tmp_path: Path
    ) -> None:
        out = tmp_path / "a.png"
        said = error(
            "explain", image, "-m", "demo/vit-dino", "--method", "saliency", "--target", target,
            "-o", out,
        )  # fmt: skip
        assert message in said
