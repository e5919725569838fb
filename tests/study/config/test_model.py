"""The study as a frozen value: what it reads, what it refuses, and what it says then."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from sightline.core import InputError
from sightline.metrics import METRICS, PERCENTILES, score_maps
from sightline.study import Checks, Data, Engine, MethodEntry, ModelEntry, Study, demo_study
from tests.scripts import printed_by

LEAST: dict[str, Any] = {
    "name": "a",
    "data": "facades",
    "models": ["demo/vit"],
    "methods": ["cls"],
}
GIVEN: dict[str, Any] = {"name": "mine", "params": {"maps": "maps"}}


def study(**changes: Any) -> Study:
    return Study.from_dict({**LEAST, **changes})


def refused(**changes: Any) -> str:
    with pytest.raises(InputError) as caught:
        study(**changes)
    message = str(caught.value)
    for jargon in ("pydantic", "http", "Input should", "literal[", "ValueError", "type="):
        assert jargon not in message
    return message


def test_defaults() -> None:
    found = study()
    assert found.data == Data(name="facades")
    assert found.models == (ModelEntry(model="demo/vit"),)
    assert found.methods == (MethodEntry(name="cls"),)
    assert (found.layers, found.heads, found.targets) == ("all", None, ("predicted",))
    assert found.metrics == (
        *("coverage", "average_precision", "auc_roc", "relevance_rank", "pointing"),
        *("iou", "recall"),
    )
    assert (found.selection, found.percentiles) == (("percentile",), PERCENTILES)
    assert (found.regions, found.resolution, found.sign) == (True, "grid", None)
    assert (found.ties, found.fit, found.seeds, found.batch) == ("share", "squash", (0,), None)
    assert (found.keep_maps, found.checks) == ("grid", Checks())
    assert not found.checks
    assert (found.engine.kind, found.engine.workers) == ("local", None)
    assert study(engine="ray").engine == Engine(kind="ray", address=None, gpus=None)


def test_every_key_is_in_the_plain_values_in_the_pinned_order() -> None:
    keys = (
        "name data models methods layers heads targets metrics selection percentiles regions "
        "resolution sign ties fit seeds batch keep_maps checks engine"
    )
    plain = demo_study().to_dict()
    assert list(plain) == keys.split()
    data = "name path count seed labelling split annotations review shared_weights"
    assert list(plain["data"]) == data.split()
    assert list(plain["models"][0]) == ["model", "variant", "fit"]
    assert list(plain["engine"]) == ["kind", "workers", "address", "gpus"]


def test_a_study_cannot_be_changed() -> None:
    found = study()
    with pytest.raises(ValueError, match="frozen"):
        found.name = "b"


def test_values_given_are_copied() -> None:
    params = {"steps": 16}
    found = study(methods=[{"name": "integrated_gradients", "params": params}])
    params["steps"] = 99
    assert found.methods[0].params == {"steps": 16}


def test_a_study_survives_pickling_and_plain_values() -> None:
    found = demo_study()
    assert pickle.loads(pickle.dumps(found)) == found  # noqa: S301
    assert Study.from_dict(found.to_dict()) == found


@pytest.mark.parametrize(
    ("key", "single", "many"),
    [
        ("models", "demo/vit", ["demo/vit"]),
        ("methods", "cls", ["cls"]),
        ("methods", {"name": "cls"}, ["cls"]),
        ("metrics", "iou", ["iou"]),
        ("targets", 3, [3]),
        ("seeds", 4, [4]),
        ("percentiles", 90, [90]),
        ("selection", "matched", ["matched"]),
        ("layers", -1, [-1]),
        ("heads", 0, [0]),
        ("data", "facades", {"name": "facades"}),
    ],
)
def test_a_single_value_stands_for_its_list(key: str, single: Any, many: Any) -> None:
    assert study(**{key: single}) == study(**{key: many})


@pytest.mark.parametrize(
    ("text", "model", "variant"),
    [
        ("demo/vit", "demo/vit", ""),
        ("demo/vit@seed2", "demo/vit", "seed2"),
        ("hf:a/b@lora-8", "hf:a/b", "lora-8"),
        ("hf:runs@2/vit", "hf:runs@2/vit", ""),
        ("hf:runs@2/vit@full", "hf:runs@2/vit", "full"),
        ("timm:vit_small@v1.0", "timm:vit_small", "v1.0"),
        ("demo/vit@tuned/lora", "demo/vit", "tuned/lora"),
        ("demo/vit@/home/me@work/lora", "demo/vit", "/home/me@work/lora"),
    ],
)
def test_names_of_models_are_split_at_the_last_at(text: str, model: str, variant: str) -> None:
    (found,) = study(models=text).models
    assert (found.model, found.variant, found.full) == (model, variant, text)
    assert study(models={"model": text}).models == (found,)


def test_a_variant_that_is_given_is_not_looked_for_in_the_name() -> None:
    (found,) = study(models={"model": "hf:vit@2", "variant": ""}).models
    assert (found.model, found.variant) == ("hf:vit@2", "")


def test_whole_percentiles_are_whole_numbers() -> None:
    found = study(percentiles=[90.0, 97.5]).percentiles
    assert found == (90, 97.5)
    assert [type(one) for one in found] == [int, float]


def test_a_study_without_models_over_maps_made_elsewhere() -> None:
    found = study(models=[], methods=[GIVEN, {"name": "cls", "params": {"maps": "b.npz"}}])
    assert [method.given for method in found.methods] == [True, True]
    assert not study().methods[0].given


@pytest.mark.parametrize("name", ["", ".a", "-a", "a/b", "a b", "é", "a" * 101, "a\n"])
def test_names_that_are_no_folder_names(name: str) -> None:
    assert refused(name=name).startswith("study: name: expected 1 to 100 of A-Z a-z 0-9 . _ -")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"name": 1.0}, "name: expected text, got 1.0; put it in quotes if that text is meant"),
        ({"name": False}, "yes, no, on and off are true and false"),
        ({"name": None}, "name: expected text, got nothing (null)"),
        ({"data": {"name": "facades", "cuont": 3}}, "data.cuont: unknown key 'cuont'; did you m"),
        (
            {"data": {"name": "facades", "count": True}},
            "data.count: expected a whole number, got t",
        ),
        ({"data": {"name": "facades", "count": 0}}, "data.count: expected 1 or more, got 0"),
        ({"data": {"name": "facades", "path": "x"}}, "data.path: facades needs no files"),
        ({"data": {"name": "facade"}}, "data.name: unknown data set 'facade'; did you mean 'facad"),
        ({"data": "folder"}, "data.path: missing; folder needs annotations.json"),
        ({"data": {"name": "coco", "path": "x", "seed": 1}}, "data.seed: only facades"),
        (
            {"data": {"name": "voc", "path": "x", "labelling": "salient"}},
            "data.labelling: only facades, which are drawn, have a labelling; the data set is voc",
        ),
        (
            {"data": {"name": "facades", "annotations": "completed"}},
            "data.review: missing; annotations completed need the folder of a review",
        ),
        (
            {"data": {"name": "facades", "review": "reviews/a"}},
            "data.review: only annotations completed and gold are of a review, got given and",
        ),
        (
            {"data": {"name": "facades", "annotations": "best"}},
            "data.annotations: expected 'given', 'completed' or 'gold', got 'best'",
        ),
        ({"data": 3}, "data: expected a mapping of keys to values, got 3"),
        ({"models": "demo/vit@"}, "models: expected model@variant, got 'demo/vit@'"),
        ({"models": ["demo/vit", "demo/vit"]}, "models[1]: demo/vit is there twice"),
        (
            {"models": ["demo/vit", {"model": "demo/vit", "fit": "squash"}]},
            "models[1]: demo/vit is there twice",
        ),
        ({"models": [{"model": "a", "fit": "zoom"}]}, "models[0].fit: expected 'squash', 'crop', "),
        ({"models": [{"variant": "a"}]}, "models[0].model: missing"),
        ({"models": [3]}, "models[0]: expected a mapping"),
        ({"models": None}, "models: expected a list, got nothing (null)"),
        ({"methods": []}, "methods: expected at least one entry, got none"),
        ({"methods": ["cls", "cls"]}, "methods[1]: cls of demo/vit is there twice"),
        ({"methods": [{"name": "cls", "params": [1]}]}, "methods[0].params: expected a mapping"),
        (
            {"methods": [{"name": "cls", "params": {"a": [0, float("nan")]}}]},
            "methods[0].params.a[1]: expected text, numbers, lists or mappings, got nan",
        ),
        (
            {"methods": [{"name": "random", "params": {"seed": 1}}]},
            "methods[0].params.seed: the se",
        ),
        (
            {"methods": {"name": "cls", "models": "demo/cnn"}},
            "'demo/cnn' is not one of the study's",
        ),
        (
            {"models": [], "methods": ["cls", "rollout"]},
            "methods cls, rollout need a model; the st",
        ),
        ({"models": [], "methods": ["cls", GIVEN]}, "methods: method cls needs a model; the study"),
        ({"layers": "last"}, "layers: expected 'all', or numbers of layers, got 'last'"),
        ({"layers": [0, True]}, "layers[1]: expected 'all', or numbers of layers, got true"),
        ({"layers": [1, 1]}, "layers[1]: 1 is there twice"),
        ({"layers": []}, "layers: expected at least one entry, got none"),
        ({"layers": None}, "layers: expected 'all', or numbers of layers, got nothing"),
        ({"heads": 1.5}, "heads: expected 'all', numbers of heads, or null"),
        (
            {"targets": [False]},
            "targets[0]: expected 'predicted', 'label', 'embedding', a class or its",
        ),
        ({"targets": ["3", 3]}, "targets[1]: 3 is there twice"),
        ({"metrics": "ioux"}, "metrics: unknown metric 'ioux'; did you mean 'iou'?"),
        ({"metrics": ["iou", "iou@k5"]}, "metrics[1]: iou takes a threshold of kind percentile"),
        ({"metrics": ["iou@200"]}, "metrics[0]: percentiles must lie in [0, 100]"),
        (
            {"metrics": ["iou@0.5"]},
            "iou@0.5: percentiles go from 0 to 100, got 0.5; did you mean 50?",
        ),
        ({"metrics": "iou90"}, "metrics: unknown metric 'iou90'; did you mean 'iou@90'?"),
        ({"metrics": ["iou", "iou"]}, "metrics[1]: 'iou' is there twice"),
        ({"metrics": [90]}, "metrics[0]: expected text, got 90; put it in quotes"),
        ({"selection": "top"}, "selection: selection must be 'percentile', 'mass'"),
        ({"selection": ["mass", "mass60"]}, "selection[1]: 'mass60' is there twice"),
        ({"percentiles": [101]}, "percentiles[0]: expected a number from 0 to 100, got 101"),
        (
            {"percentiles": [90, 0.9]},
            "percentiles[1]: percentiles go from 0 to 100, got 0.9; did you mean 90?",
        ),
        ({"percentiles": [float("nan")]}, "percentiles[0]: expected a number from 0 to 100"),
        ({"percentiles": True}, "percentiles: expected a number from 0 to 100, got true"),
        ({"percentiles": []}, "percentiles: expected at least one, since selection has percentile"),
        ({"percentiles": [90, 90.0]}, "90 and 90.0 would have the same name in the results"),
        ({"percentiles": [97.123451, 97.123452]}, "would have the same name in the results"),
        ({"regions": 1}, "regions: expected true or false, got 1"),
        ({"resolution": "pixel"}, "resolution: expected 'grid', 'pixels' or a side from 1 to 4096"),
        (
            {"resolution": 0},
            "resolution: expected 'grid', 'pixels' or a side from 1 to 4096, got 0",
        ),
        ({"resolution": True}, "resolution: expected 'grid', 'pixels' or a side"),
        ({"sign": "both"}, "sign: expected 'positive', 'absolute' or 'signed', got 'both'"),
        ({"ties": "split"}, "ties: expected 'share' or 'include', got 'split'"),
        ({"fit": "zoom"}, "fit: expected 'squash', 'crop', 'letterbox' or 'native', got 'zoom'"),
        ({"seeds": [0, 0]}, "seeds[1]: 0 is there twice"),
        ({"seeds": -1}, "seeds: expected 0 or more, got -1"),
        ({"seeds": 2**31}, "seeds: expected 2147483647 or less"),
        ({"batch": 0}, "batch: expected 1 or more, got 0"),
        ({"keep_maps": False}, "keep_maps: expected 'grid' or 'none', got false"),
        ({"checks": ["cascade"]}, "checks[0]: unknown check 'cascade'. Known: randomisation"),
        ({"checks": 3}, "checks: expected the name of a check, got 3"),
        ({"checks": ["parts", "parts"]}, "checks[1]: 'parts' is there twice"),
        ({"checks": {"cascade": {}}}, "checks.cascade: unknown key 'cascade'; known: randomisat"),
        (
            {"checks": {"parts": None}},
            "checks.parts: expected a mapping of options, {} for the usual ones",
        ),
        (
            {"checks": {"randomisation": {"seed": 3}}},
            "checks.randomisation.seed: unknown key 'seed'; did you mean 'seeds'?",
        ),
        (
            {"checks": {"randomisation": {"ways": "down"}}},
            "checks.randomisation.ways: expected 'full', 'top-down', 'bottom-up' or 'single'",
        ),
        ({"checks": {"randomisation": {"seeds": 0}}}, "seeds: expected 1 or more, got 0"),
        ({"checks": {"faithfulness": {"images": 1}}}, "images: expected 2 or more, got 1"),
        (
            {"checks": {"faithfulness": {"measures": ["aopc"]}}},
            "checks.faithfulness.measures[0]: expected 'deletion', 'insertion',",
        ),
        (
            {"checks": {"parts": {"models": ["demo/cnn"]}}},
            "checks.parts.models[0]: 'demo/cnn' is not one of the study's models: demo/vit",
        ),
        (
            {"checks": ["parts"], "data": "photos"},
            "checks.parts: only of drawn facades is known which parts decide; the data are photos",
        ),
        ({"engine": {"kind": "slurm"}}, "engine.kind: expected 'local' or 'ray', got 'slurm'"),
        ({"engine": "slurm"}, "engine.kind: expected 'local' or 'ray', got 'slurm'"),
        ({"engine": {"address": "a:1"}}, "engine.address: is for kind: ray, got kind: local"),
        ({"engine": {"gpus": 1}}, "engine.gpus: is for kind: ray, got kind: local"),
        (
            {"engine": {"kind": "ray", "address": "ray://head:10001"}},
            "engine.address: expected auto or HOST:PORT of the head of a Ray cluster, without ray",
        ),
        ({"engine": {"kind": "ray", "gpus": -1}}, "engine.gpus: expected 0.0 or more, got -1"),
        ({"engine": {"workers": 0}}, "engine.workers: expected 1 or more, got 0"),
        ({"modles": []}, "modles: unknown key 'modles'; did you mean 'models'?"),
        ({"zzz": []}, "zzz: unknown key 'zzz'; known: name, data, models, "),
    ],
)
def test_what_does_not_fit_is_named(changes: dict[str, Any], expected: str) -> None:
    message = refused(**changes)
    assert message.startswith("study: ")
    assert "\n" not in message, "one problem is one line"
    assert expected in message


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"params": {"maps": 3}}, "methods.params.maps: expected text, got 3"),
        ({"params": {"maps": ""}}, "methods.params.maps: expected a folder or file of maps"),
        ({"params": {"maps": "a", "steps": 3}}, "methods.params.steps: unknown parameter 'steps'"),
        ({"params": {"maps": "a", "sign": "up"}}, "methods.params.sign: expected 'positive'"),
        ({"params": {"maps": "a"}, "models": ["demo/vit"]}, "methods.models: precomputed maps"),
        ({"name": "a/b"}, "methods.name: expected 1 to 100 of A-Z a-z 0-9 . _ - or blanks"),
    ],
)
def test_entries_for_maps_made_elsewhere(entry: dict[str, Any], expected: str) -> None:
    assert expected in refused(methods={**GIVEN, **entry})


def test_methods_are_told_apart_by_the_model_they_are_for() -> None:
    both = ["demo/vit", "demo/cnn"]
    parts: list[dict[str, Any]] = [{"name": "cls", "models": [name]} for name in both]
    assert len(study(models=both, methods=parts).methods) == 2
    assert "methods[2]: cls of demo/vit is there" in refused(models=both, methods=[*parts, "cls"])
    theirs = {"name": "cls", "params": {"maps": "x", "model": "demo/vit"}}
    assert "methods[1]: cls of demo/vit is there" in refused(methods=["cls", theirs])
    assert "methods[1]: mine is there twice" in refused(methods=[GIVEN, GIVEN])
    assert study(methods=["cls", {**theirs, "params": {"maps": "x", "model": "other"}}])


def test_a_model_is_there_once_whatever_its_fit() -> None:
    # Rows of both would have the same names in tables.
    message = refused(models=["demo/vit", {"model": "demo/vit", "fit": "crop"}])
    assert "models[1]: demo/vit is there twice" in message
    assert "sightline diff" in message


def test_metrics_that_depend_on_other_images_are_refused() -> None:
    for name, spec in METRICS.items():
        if spec.level == "dataset":
            assert "depends on which images are scored together" in refused(metrics=[name])
        else:
            assert study(metrics=_beside_iou(name)).metrics == tuple(_beside_iou(name))


def _beside_iou(name: str) -> list[str]:
    """Return a metric with what recall and lift cannot do without."""
    return list(dict.fromkeys([name, "iou"]))


def test_signed_studies_are_refused_where_scoring_would_refuse_them() -> None:
    maps = np.random.default_rng(0).normal(size=(2, 6, 6))
    regions = [[(0.2, 0.2, 0.7, 0.7)]] * 2
    for name, spec in METRICS.items():
        if spec.level == "dataset":
            continue
        try:
            score_maps(maps, regions=regions, metrics=[name], sign="signed")
        except InputError:
            assert f"list metrics without {name}" in refused(metrics=[name], sign="signed")
        else:
            assert study(metrics=_beside_iou(name), sign="signed").sign == "signed"


def test_signed_studies_have_no_mass_and_no_mean() -> None:
    for changes in ({"selection": "mean"}, {"selection": "mass60"}):
        assert "no mass and no mean" in refused(metrics=["iou"], sign="signed", **changes)
    assert "no mass and no mean" in refused(metrics=["iou@mean"], sign="signed")
    assert study(metrics=["auc_roc"], selection="mean", sign="signed")


def test_the_sign_of_given_maps_counts_unless_the_study_has_one() -> None:
    signed = {"name": "mine", "params": {"maps": "maps", "sign": "signed"}}
    assert "methods[0].params.sign: a signed map has no energy" in refused(methods=[signed])
    assert study(methods=[signed], sign="absolute")
    assert study(methods=[signed], metrics=["auc_roc"])


def test_all_problems_are_listed_up_to_ten() -> None:
    wrong = {"name": 1, "data": {"name": "x"}, "layers": "no", "regions": 3, "fit": 1, "foo": 1}
    lines = refused(**wrong).splitlines()
    assert lines[0] == "study has 6 problems:"
    assert [line.split(":")[0].strip() for line in lines[1:]] == [
        *("name", "data.name", "layers", "regions", "fit", "foo"),
    ]
    many = refused(**{f"x{number}": 1 for number in range(14)}).splitlines()
    assert many[0] == "study has 14 problems:"
    assert len(many) == 12
    assert many[-1].strip() == "… and 4 more"


def test_the_constructor_says_the_same_as_plain_values() -> None:
    wrong: dict[str, Any] = {**LEAST, "fit": "zoom"}
    with pytest.raises(InputError) as caught:
        Study(**wrong)
    assert str(caught.value) == refused(fit="zoom")


@pytest.mark.parametrize("values", [None, 3, "name: a", [("name", "a")]])
def test_a_study_is_a_mapping(values: Any) -> None:
    with pytest.raises(InputError, match="here: expected a mapping of keys to values, got"):
        Study.from_dict(values, "here")


def test_keys_are_text() -> None:
    values: dict[Any, Any] = {**LEAST, 1: 2}
    with pytest.raises(InputError, match="study: 1: keys must be text, got 1"):
        Study.from_dict(values)


def test_a_long_value_is_shortened() -> None:
    assert len(refused(fit="x" * 5000)) < 250


def test_studies_import_no_heavy_package() -> None:
    code = (
        "import sys, sightline.study; "
        "print([name for name in ('torch', 'transformers', 'pandas', 'duckdb', 'pyarrow') "
        "if name in sys.modules])"
    )
    assert printed_by(code).strip() == "[]"


def test_a_tolerance_is_in_pixels_of_the_image() -> None:
    message = refused(metrics=["iou", "pointing@tol15"], resolution="grid")
    assert "metrics[1]: pointing@tol15 is measured in pixels of the image" in message
    assert study(metrics=["pointing@tol15"], resolution="pixels").metrics == ("pointing@tol15",)
