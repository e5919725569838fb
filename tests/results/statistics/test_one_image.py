"""One image in depth: maps over it, scores by the engine, figures and files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from sightline.attribution.methods import METHODS as KNOWN
from sightline.attribution.methods import explain
from sightline.core import Annotation, InputError, Region, Sample, UnknownNameError
from sightline.metrics import score_maps
from sightline.report import analyse, one_image
from sightline.results.image_maps import ImageMap, maps_over, score_over
from tests.attribution.methods.networks import CLASSES, linear, make_images, one_patch, tiny

if TYPE_CHECKING:
    from pathlib import Path

    from sightline.models import Model

IMAGE = make_images(1, 48, 64)[0]
PARTS = (
    Region("door", box=(0.1, 0.1, 0.4, 0.5), index=0),
    Region("window", box=(0.5, 0.5, 0.9, 0.9), index=1),
    Region("crowd", box=(0.6, 0.6, 0.7, 0.7), flags=("ignore",), index=2),
)
NOTES = Annotation("a.png", 64, 48, PARTS, (CLASSES[1],))
METHODS = ["cls", "saliency", "random"]


@pytest.fixture(scope="module")
def vit() -> Model:
    return tiny("vit")


class TestScores:
    def test_as_the_engine_has_them(self, vit: Model) -> None:
        found = analyse(IMAGE, NOTES, vit, METHODS, percents=[10, 25])
        assert [one.name for one in found.maps] == METHODS
        for method in METHODS:
            layers = {"layers": -1} if method == "cls" else {}
            made = explain(vit, IMAGE, method, **layers)  # type: ignore[arg-type]
            over = made.geometries[0][0].to_image(made.values[0][0][0], how="bilinear")
            sign: Any = made.sign
            scores = score_maps(over, regions=[NOTES], sign=sign, percentiles=[90, 75])
            rows = found.table()[found.table()["method"] == method].set_index("metric")
            for name in ("coverage", "average_precision", "pointing", "iou@90", "recall@75"):
                base, at, token = name.partition("@")
                assert rows["value"][name] == pytest.approx(float(scores[name]))
                assert rows["chance"][name] == pytest.approx(
                    float(scores[f"{base}_chance{at}{token}"])
                )
            ceiling = rows["ceiling"]["iou@90"]
            assert ceiling == pytest.approx(float(scores["iou_ceiling@90"]))
            room = ceiling - rows["chance"]["iou@90"]
            beyond = (rows["value"]["iou@90"] - rows["chance"]["iou@90"]) / room
            assert rows["beyond"]["iou@90"] == pytest.approx(beyond)

    def test_of_each_region(self, vit: Model) -> None:
        found = analyse(IMAGE, NOTES, vit, ["cls"], percents=[10])
        rows = found.scores[found.scores["metric"] == "recall@90"]
        assert rows["region"].tolist() == [pd.NA, 0, 1]
        assert rows["label"].tolist() == ["", "door", "window"]
        over = found.maps[0].values
        known = np.isfinite(over)
        assert known.mean() == pytest.approx(1 - NOTES.ignore_mask(48, 64).mean())
        for region, value in zip(PARTS, rows["value"].tolist()[1:], strict=False):
            alone = Annotation("a.png", regions=(region, PARTS[2]))
            scores = score_maps(np.nan_to_num(over), alone.union_mask(48, 64), ignore=~known)
            assert value == pytest.approx(float(scores["recall@90"]))

    def test_perfect_and_empty_maps(self) -> None:
        mask = NOTES.union_mask(48, 64)
        one = ImageMap("best", "best", None, mask.astype(np.float32), "positive")
        rows = {row["metric"]: row for row in score_over(one, NOTES, ["coverage", "iou@matched"])}
        assert rows["coverage"]["value"] == rows["coverage"]["beyond"] == 1
        assert rows["iou@matched"]["value"] == rows["iou@matched"]["ceiling"] == 1
        blank = one._replace(values=np.zeros((48, 64), np.float32))
        (row,) = score_over(blank, NOTES, ["coverage"])
        assert all(np.isnan(row[name]) for name in ("value", "ceiling", "beyond"))

    def test_signed_maps_have_no_energy(self) -> None:
        values = np.linspace(-1, 1, 48 * 64, dtype=np.float32).reshape(48, 64)
        one = ImageMap("signed", "signed", None, values, "signed")
        rows = score_over(one, NOTES, ["coverage", "auc_roc"], regions=True)
        assert np.isnan(rows[0]["value"])
        assert 0 < rows[1]["value"] < 1
        assert not any(row["metric"] == "coverage" and row["value"] >= 0 for row in rows)

    def test_the_patch_that_a_model_reads_is_where_all_point(self) -> None:
        """Of 3 rows and 4 columns, the patch in row 1, column 2."""
        patch = Annotation("a", regions=(Region("it", box=(0.5, 1 / 3, 0.75, 2 / 3)),))
        found = analyse(IMAGE, patch, one_patch(), ["saliency", "input_x_gradient"])
        assert found.table("pointing")["value"].tolist() == [1, 1]
        assert (found.table("auc_roc")["value"] > 0.95).all()

    def test_without_an_annotation_there_are_maps_alone(self, vit: Model) -> None:
        found = analyse(IMAGE, None, vit, ["cls", "gradcam"], layers=[0, 2])
        assert found.mask is None
        assert "metric" not in found.scores
        assert found.scores["method"].tolist() == ["cls", "cls", "gradcam", "gradcam"]
        assert found.scores["layer"].tolist() == [0, 2, 0, 2]
        with pytest.raises(InputError, match="nothing is annotated"):
            found.table()


class TestMethods:
    def test_of_all_those_that_do_not_fit_are_named(self) -> None:
        found = analyse(IMAGE, NOTES, linear(), params={"masks": 4, "samples": 4, "steps": 2})
        assert {"cls", "mean_map", "pool", "guided_backprop"} <= set(found.skipped)
        assert "needs attention" in found.skipped["cls"]
        made = {one.method for one in found.maps}
        assert {"saliency", "occlusion", "random", "edge"} <= made
        assert not made & set(found.skipped)

    def test_of_named_ones_the_first_that_does_not_fit_is_an_error(self) -> None:
        with pytest.raises(InputError, match="method 'cls' needs attention and class token"):
            analyse(IMAGE, NOTES, linear(), ["saliency", "cls"])
        with pytest.raises(InputError, match="'mean_map' is a mean over other images"):
            analyse(IMAGE, NOTES, linear(), ["mean_map"])
        with pytest.raises(UnknownNameError, match="salience"):
            analyse(IMAGE, NOTES, linear(), "salience")

    def test_one_that_refuses_is_skipped_of_all_and_an_error_by_name(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ask = one_image._ask

        def refuse(model: Any, sample: Any, call: Any) -> Any:
            if call["method"] == "saliency":
                raise InputError("not today")
            return ask(model, sample, call)

        monkeypatch.setattr(one_image, "_ask", refuse)
        few = [KNOWN["saliency"], KNOWN["edge"]]
        monkeypatch.setattr(one_image, "_cards", lambda *_: (list(few), {}))
        found = analyse(IMAGE, NOTES, linear(), "all")
        assert found.skipped == {"saliency": "not today"}
        with pytest.raises(InputError, match="not today"):
            analyse(IMAGE, NOTES, linear(), ["saliency", "edge"])

    def test_parameters_and_layers_reach_those_that_have_them(self, vit: Model) -> None:
        params = {"samples": 2, "seed": 5}
        found = analyse(
            IMAGE, NOTES, vit, ["smoothgrad", "random", "gradcam"], layers=0, params=params
        )
        own = explain(vit, IMAGE, "smoothgrad", params=params)
        over = maps_over(own, (48, 64), NOTES)[0].values
        assert np.array_equal(found.maps[0].values, over, equal_nan=True)
        assert found.maps[2].layer == 0
        with pytest.raises(InputError, match="parameter 'samples' is one of none of the methods"):
            analyse(IMAGE, NOTES, vit, ["cls"], params={"samples": 2})


class TestTargets:
    def test_the_label_is_that_of_the_annotation(self, vit: Model) -> None:
        found = analyse(IMAGE, NOTES, vit, ["saliency"], target="label")
        assert found.maps[0].target == CLASSES[1]
        assert found.head.endswith(f"explained: {CLASSES[1]}") or CLASSES[1] in found.head

    def test_a_model_without_classes_and_its_embedding(self) -> None:
        bare = tiny("dinov2")
        found = analyse(IMAGE, NOTES, bare, ["saliency", "cls"], target="embedding")
        assert found.maps[0].target == "embedding"
        assert found.predicted is None
        with pytest.raises(InputError, match=r"'saliency' needs classes.*target 'embedding'"):
            analyse(IMAGE, NOTES, bare, ["saliency", "cls"])

    def test_a_target_that_is_wrong_is_an_error_for_all(self, vit: Model) -> None:
        bare = Annotation("a.png", 64, 48, PARTS)
        with pytest.raises(InputError, match=r"target 'label': image .* must have one label"):
            analyse(IMAGE, bare, vit, target="label")

    def test_a_target_that_nothing_explains(self, vit: Model) -> None:
        with pytest.raises(InputError, match="nothing is explained by cls, edge"):
            analyse(IMAGE, NOTES, vit, ["cls", "edge"], target=CLASSES[0])


class TestImages:
    def test_a_sample_brings_its_annotation(self, vit: Model) -> None:
        sample = Sample("s.png", NOTES, load=lambda: IMAGE)
        found = analyse(sample, model=vit, methods=["cls"])
        assert found.name == "s.png"
        assert found.mask is not None

    def test_an_annotation_of_another_shape(self, vit: Model) -> None:
        other = Annotation("b.png", 100, 100, PARTS)
        with pytest.raises(InputError, match=r"'b\.png' is for an image of 100 x 100, this one"):
            analyse(IMAGE, other, vit, ["cls"])

    def test_a_layer_that_there_is_not_is_no_matter_of_methods(self, vit: Model) -> None:
        with pytest.raises(InputError, match=r"layer must be from 0 to 2 .*, got 99"):
            analyse(IMAGE, NOTES, vit, layers=99)

    @pytest.mark.parametrize("percents", [[], [0], [100], ["a"], [5, float("nan")]])
    def test_wrong_percents(self, percents: Any, vit: Model) -> None:
        with pytest.raises(InputError, match="percents must be numbers between 0 and 100"):
            analyse(IMAGE, NOTES, vit, ["cls"], percents=percents)


class TestFiles:
    def test_what_is_written(self, vit: Model, tmp_path: Path) -> None:
        found = analyse(IMAGE, NOTES, vit, ["cls", "edge"], layers=[0, 1], percents=[50])
        written = found.write(tmp_path / "new" / "here", dpi=50)
        names = [path.name for path in written]
        assert names == [
            "all_methods.png", "all_methods.svg", "enhanced_cls_layer_0.png",
            "enhanced_cls_layer_1.png", "enhanced_edge.png", "metrics.csv",
        ]  # fmt: skip
        assert all(path.exists() for path in written)
        table = pd.read_csv(written[-1])
        assert table["value"].tolist() == pytest.approx(found.scores["value"].tolist(), nan_ok=True)
        with Image.open(written[0]) as picture:
            assert min(picture.size) > 100

    def test_over_each_map_stands_its_score(self, vit: Model) -> None:
        found = analyse(IMAGE, NOTES, vit, ["cls", "edge"], percents=[20, 10])
        assert found.main == "iou@90"
        _, figure = next(found.figures())
        values = found.table("iou@90")
        texts = [ax.texts[0].get_text() for ax in figure.axes[2:4]]
        assert texts == [
            f"iou@90 {value:.2f} (chance {chance:.2f})"
            for value, chance in zip(values["value"], values["chance"], strict=True)
        ]

    def test_many_maps_take_several_pictures(
        self, vit: Model, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("sightline.report.one_image._PAGE", 2)
        found = analyse(IMAGE, NOTES, vit, ["cls", "edge", "random"])
        names = [name for name, _ in found.figures()]
        assert names[:3] == ["all_methods", "all_methods_2", "enhanced_cls"]
