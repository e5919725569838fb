"""Which sources a study asks of a model: layers, heads, targets, seeds, means."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from sightline.attribution.methods import METHODS
from sightline.core import InputError
from sightline.models import load_model
from sightline.study import plan_study
from sightline.study.plan.methods import LeftOut, _target, _targets
from tests.study.studies import CLASSES, SHELF, make_folder, plan_of, study_of

if TYPE_CHECKING:
    from pathlib import Path

    from sightline.study import Source


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folder(tmp_path_factory.mktemp("data") / "f", 3)


def sources(folder: Path, **changes: Any) -> tuple[Source, ...]:
    return plan_of(folder, **changes).sources


def test_a_source_holds_all_that_is_said_of_it(folder: Path) -> None:
    model = SHELF.model("demo/vit", "squash")
    cls, gradcam, random = sources(folder)
    assert (cls.kind, cls.model, cls.variant, cls.method) == ("model", "demo/vit", "", "cls")
    assert (cls.group, gradcam.group, random.group) == ("attention", "cam", "baseline")
    assert cls.layers == gradcam.layers == (0, 11)
    assert random.layers == cls.heads == (None,)
    assert (cls.target, gradcam.target, random.target) == ("", "predicted", "")
    assert (cls.seed, gradcam.seed, random.seed) == (None, None, 0)
    assert random.params == {"seed": 0}
    assert (cls.fit, cls.batch, cls.device) == ("squash", 4, "cpu")
    assert cls.weights == model.digest
    assert len({source.key for source in (cls, gradcam, random)}) == 3


def test_a_variant_is_told_from_its_model(folder: Path) -> None:
    (source,) = sources(folder, models=["demo/vit@seed2"], methods=["cls"])
    assert (source.model, source.variant, source.name) == ("demo/vit", "seed2", "demo/vit@seed2")


def test_signs_are_the_method_s_own_unless_the_study_says(folder: Path) -> None:
    methods = ["cls", "saliency", "mean_map"]
    found = {source.method: source.sign for source in sources(folder, methods=methods)}
    assert found == {"cls": "positive", "saliency": "absolute", "mean_map": "positive"}
    found = {s.method: s.sign for s in sources(folder, methods=methods, sign="absolute")}
    assert set(found.values()) == {"absolute"}


def test_layers_and_heads(folder: Path) -> None:
    cls, gradcam, random = sources(folder, layers="all", heads="all")
    assert cls.layers == gradcam.layers == tuple(range(12))
    assert cls.heads == (None, 0, 1, 2, 3)  # the fused one, too
    assert gradcam.heads == random.heads == (None,)
    assert cls.maps_per_image == 60
    some, *_ = sources(folder, layers=[-1, 2], heads=[3, 0])
    assert some.layers == (11, 2)
    assert some.heads == (None, 3, 0)


def test_only_methods_that_draw_have_seeds(folder: Path) -> None:
    methods = ["cls", "random", "smooth_random"]
    found = [(s.method, s.seed) for s in sources(folder, methods=methods, seeds=[3, 5])]
    assert found == [
        ("cls", None),
        ("random", 3),
        ("random", 5),
        ("smooth_random", 3),
        ("smooth_random", 5),
    ]
    assert [s.params.get("seed") for s in sources(folder, methods=methods, seeds=[3])] == [
        None,
        3,
        3,
    ]


def test_targets_by_name_number_and_label(folder: Path) -> None:
    targets = ["predicted", "label", "Gothic", 3, "0"]
    found = sources(folder, methods=["cls", "gradcam"], targets=targets)
    assert [source.target for source in found] == [
        *("", "predicted", "label", "Gothic", "Baroque", "Romanesque"),
    ]
    assert SHELF.model("demo/vit", "squash").classes == CLASSES


def test_a_class_by_name_and_number_is_one_target(folder: Path) -> None:
    """Two sources with one key would write the same rows twice."""
    found = sources(folder, methods=["gradcam"], targets=["Gothic", 1, "predicted"])
    assert [source.target for source in found] == ["Gothic", "predicted"]


def test_parameters_are_filled_in(folder: Path) -> None:
    methods = [{"name": "integrated_gradients", "params": {"steps": 4}}]
    (source,) = sources(folder, methods=methods)
    assert source.params == {"steps": 4, "baseline": "mean"}


def test_methods_that_do_not_fit_are_told(folder: Path) -> None:
    plan = plan_of(folder, models=["demo/vit", "demo/cnn"], methods=["cls", "rollout", "gradcam"])
    assert [(one.model, one.method, one.why) for one in plan.left_out] == [
        ("demo/cnn", "cls", "needs attention and class token"),
        ("demo/cnn", "rollout", "needs attention"),
    ]
    assert [(source.model, source.method) for source in plan.sources] == [
        ("demo/vit", "cls"),
        ("demo/vit", "rollout"),
        ("demo/vit", "gradcam"),
        ("demo/cnn", "gradcam"),
    ]


def test_a_method_of_some_models(folder: Path) -> None:
    methods = ["random", {"name": "gradcam", "models": ["demo/cnn"]}]
    plan = plan_of(folder, models=["demo/vit", "demo/cnn"], methods=methods, layers="all")
    assert [(s.model, s.method, s.layers) for s in plan.sources] == [
        ("demo/vit", "random", (None,)),
        ("demo/cnn", "random", (None,)),
        ("demo/cnn", "gradcam", (0, 1, 2, 3)),
    ]
    assert plan.left_out == ()


def test_a_method_that_fits_no_model_is_an_error(folder: Path) -> None:
    with pytest.raises(InputError, match=r"'cls' fits none of the models \(demo/cnn: needs"):
        plan_of(folder, models=["demo/cnn"], methods=["gradcam", "cls"], layers="all")


def test_all_methods_that_fit_no_model_are_named_and_that_only_baselines_are_left(
    folder: Path,
) -> None:
    with pytest.raises(InputError) as caught:
        plan_of(folder, models=["demo/cnn"], methods=["cls", "rollout", "random"])
    assert str(caught.value) == (
        "methods: 'cls' fits none of the models (demo/cnn: needs attention and class token); "
        "'rollout' fits none of the models (demo/cnn: needs attention); only baselines are left, "
        "which know nothing of a model; `sightline methods --model demo/cnn` lists those that fit"
    )


def test_a_model_that_only_baselines_fit_is_told(folder: Path) -> None:
    both = ["demo/vit", "demo/cnn"]
    plan = plan_of(folder, models=both, methods=["cls", "random"])
    told = "Only baselines fit demo/cnn, and they know nothing of it"
    assert [note.partition(":")[0] for note in plan.notes] == [told]
    assert plan_of(folder, models=both, methods=["random"]).notes == ()


def test_a_model_may_have_a_fit_of_its_own(folder: Path) -> None:
    models = ["demo/vit", {"model": "demo/cnn", "fit": "crop"}]
    found = sources(folder, models=models, methods=["random"], fit="letterbox")
    assert [source.fit for source in found] == ["letterbox", "crop"]


def test_a_batch_is_chosen_where_none_is_given(folder: Path) -> None:
    (source,) = sources(folder, methods=["random"], batch=None)
    assert source.batch >= 1
    assert source == sources(folder, methods=["random"], batch=None)[0]


# Means of maps


def test_a_mean_follows_each_source_of_its_method(folder: Path) -> None:
    methods = ["mean_map", "gradcam", "cls"]
    found = sources(folder, methods=methods, heads="all")
    assert [(source.method, source.kind) for source in found] == [
        ("gradcam", "model"),
        ("cls", "model"),
        ("mean_map", "mean"),
    ]
    cls, mean = found[1:]
    assert mean.of == cls.key
    assert (mean.layers, mean.heads, mean.sign) == (cls.layers, cls.heads, cls.sign)
    assert (mean.group, mean.params) == ("baseline", {"of": "cls"})
    several = [{"name": "mean_map", "params": {"of": "gradcam"}}, "gradcam"]
    found = sources(folder, methods=several, targets=["label", "predicted"])
    assert [(source.method, source.target) for source in found] == [
        ("gradcam", "label"),
        ("gradcam", "predicted"),
        ("mean_map", "label"),
        ("mean_map", "predicted"),
    ]
    assert [source.of for source in found[2:]] == [source.key for source in found[:2]]


def test_means_of_two_models_are_of_their_own(folder: Path) -> None:
    found = sources(folder, models=["demo/vit", "demo/vit@seed2"], methods=["cls", "mean_map"])
    assert [(s.name, s.method) for s in found] == [
        ("demo/vit", "cls"),
        ("demo/vit", "mean_map"),
        ("demo/vit@seed2", "cls"),
        ("demo/vit@seed2", "mean_map"),
    ]
    assert [found[1].of, found[3].of] == [found[0].key, found[2].key]


def test_a_mean_needs_its_method_and_its_maps(folder: Path) -> None:
    with pytest.raises(InputError, match=r"'mean_map' fits none .*is made of the maps of cls"):
        plan_of(folder, methods=["gradcam", "mean_map"])
    other = {"name": "mean_map", "params": {"of": "rollout"}}
    with pytest.raises(InputError, match="is made of the maps of rollout"):
        plan_of(folder, methods=["cls", other])
    with pytest.raises(InputError, match="keep_maps must be grid, got none"):
        plan_of(folder, methods=["cls", "mean_map"], keep_maps="none")


def test_a_mean_is_left_out_where_its_method_does_not_fit(folder: Path) -> None:
    mean = {"name": "mean_map", "params": {"of": "cls"}}
    plan = plan_of(folder, models=["demo/vit", "demo/cnn"], methods=["cls", mean])
    assert {source.name for source in plan.sources} == {"demo/vit"}
    assert ("demo/cnn", "mean_map") in {(one.model, one.method) for one in plan.left_out}


# Messages name the key of the study.


WRONG: dict[str, dict[str, Any]] = {
    "layers: layer must be from 0 to 11 for demo/vit": {"layers": [40]},
    "layers: layers must differ": {"layers": [11, -1]},
    "heads: head must be from 0 to 3 for demo/vit": {"heads": [4]},
    "targets: unknown class 'Gotik' of demo/vit; did you mean": {"targets": ["Gotik"]},
    "targets: class must be from 0 to 3": {"targets": [4]},
    "models: unknown model 'demo/vitt'; did you mean 'demo/vit'": {"models": ["demo/vitt"]},
    "methods: unknown method 'clss'; did you mean 'cls'": {"methods": ["clss"]},
    "methods: method 'cls' takes no parameters, got steps": {
        "methods": [{"name": "cls", "params": {"steps": 3}}]
    },
    "methods: unknown parameter of 'smoothgrad' 'sample'; did you mean": {
        "methods": [{"name": "smoothgrad", "params": {"sample": 3}}]
    },
}


@pytest.mark.parametrize("message", WRONG)
def test_a_message_names_the_key(folder: Path, message: str) -> None:
    with pytest.raises(InputError) as caught:
        plan_of(folder, **WRONG[message])
    assert str(caught.value).startswith(message)


def test_layers_of_a_model_that_has_fewer(folder: Path) -> None:
    """One list of layers serves all models, so that each must have them."""
    with pytest.raises(InputError, match="layers: layer must be from 0 to 3 for demo/cnn"):
        plan_of(folder, models=["demo/vit", "demo/cnn"], methods=["gradcam"], layers=[11])


def test_labels_are_asked_for_only_where_a_method_explains_one(tmp_path: Path) -> None:
    path = make_folder(tmp_path / "f", 2) / "annotations.json"
    path.write_text(path.read_text().replace(CLASSES[0], "mosque"))
    plan = plan_of(path.parent, methods=["cls"], targets=["label"])
    assert [source.target for source in plan.sources] == [""]
    with pytest.raises(InputError, match=r"targets: label: image '000\.png' must have one"):
        plan_of(path.parent, methods=["gradcam"], targets=["label"])


def test_a_batch_that_was_halved_bounds_that_of_the_study(folder: Path) -> None:
    known = {"demo/vit": 4}
    for asked, used in ((8, 4), (2, 2), (None, 4)):
        study = study_of(folder, methods=["cls"], batch=asked)
        plan = plan_study(study, shelf=SHELF, batches=known)
        assert {source.batch for source in plan.sources} == {used}


def test_a_model_without_classes_explains_its_embedding(folder: Path) -> None:
    models, methods = ["demo/vit", "demo/vit-dino"], ["saliency", "cls"]
    plan = plan_of(folder, models=models, methods=methods, targets=["predicted", "embedding"])
    assert [(s.model, s.method, s.target) for s in plan.sources] == [
        ("demo/vit", "saliency", "predicted"),
        ("demo/vit", "saliency", "embedding"),
        ("demo/vit", "cls", ""),
        ("demo/vit-dino", "saliency", "embedding"),
        ("demo/vit-dino", "cls", ""),
    ]
    assert plan.left_out == (
        LeftOut("demo/vit-dino", "saliency of target predicted", "needs classes"),
    )


def test_without_a_target_that_needs_no_classes_such_a_model_is_left_out(folder: Path) -> None:
    models, methods = ["demo/vit", "demo/vit-dino"], ["saliency", "cls"]
    plan = plan_of(folder, models=models, methods=methods)
    assert plan.left_out == (LeftOut("demo/vit-dino", "saliency", "needs classes"),)
    with pytest.raises(InputError, match=r"'saliency' fits none .*demo/vit-dino: needs classes"):
        plan_of(folder, models=["demo/vit-dino"], methods=methods)


def test_classes_that_a_name_does_not_tell_are_targets_by_number() -> None:
    names = ("dome", "embedding", "dome", "label", "tower")
    model = replace(load_model("demo/cnn"), classes=names)
    found = [_target(number, model) for number in range(5)]
    assert found == ["0", "1", "2", "3", "tower"]
    assert [model.class_index(target) for target in found] == [0, 1, 2, 3, 4]


def test_what_a_detector_predicts_is_its_detection_and_asked_once(folder: Path) -> None:
    model = replace(load_model("demo/cnn"), classes=(), detects=("dome",))
    for targets, wanted in (
        (["detection", "predicted", "embedding"], ["predicted", "embedding"]),
        (["detection", "embedding"], ["detection", "embedding"]),
    ):
        study = study_of(folder, methods=["saliency"], targets=targets)
        assert list(_targets(study, METHODS["saliency"], model)) == wanted


def test_signed_maps_are_scored_by_what_is_above_zero(folder: Path) -> None:
    assert METHODS["occlusion"].sign == "signed"
    (source,) = sources(folder, methods=["occlusion"])
    assert source.sign == "positive"
    (source,) = sources(folder, methods=["occlusion"], sign="signed", metrics=["auc_roc"])
    assert source.sign == "signed"
