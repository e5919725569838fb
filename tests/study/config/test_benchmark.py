"""The file of a benchmark: keys flat and nested, names of files, and what is said of mistakes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sightline.attribution.prototypes.perturbations import default_perturbations
from sightline.core import InputError
from sightline.study.config.benchmark import (
    Benchmark,
    DataChoice,
    load_benchmark,
    parse_benchmark,
)
from sightline.study.config.template import example_benchmark

if TYPE_CHECKING:
    from pathlib import Path

    from sightline.attribution.prototypes.perturbations import Perturbation


def _local(text: str) -> str:
    return f"local_perturbation_analysis: {text}"


def _made(text: str) -> tuple[Perturbation, ...]:
    section = parse_benchmark(_local(text)).local_perturbation_analysis
    assert section is not None
    return section.made()


def test_the_example_asks_for_the_usual_and_names_every_key() -> None:
    found = parse_benchmark(example_benchmark())
    usual = Benchmark.from_dict({"relevance_analysis": {}, "local_perturbation_analysis": {}})
    assert found.to_dict() == usual.to_dict()
    for part in (found.relevance_analysis, found.local_perturbation_analysis):
        assert part is not None
        for key in type(part).model_fields:
            assert key in example_benchmark()


def test_perturbations_are_the_usual_six_unless_said() -> None:
    assert _made("{}") == default_perturbations()
    changed = {one.name: one for one in _made("{hue_factor: -0.5, distortion_direction: both}")}
    assert dict(changed["hue"].steps[0].params) == {"factor": -0.5}
    assert changed["blur"] == default_perturbations()[4]


@pytest.mark.parametrize("word", ["noise", "blur"])
def test_blur_has_two_names(word: str) -> None:
    blur = _made(f"{{gaussian_{word}_ksize: 3, gaussian_{word}_sigma: 1}}")[4]
    assert dict(blur.steps[0].params) == {"ksize": 3, "sigma": 1.0}


def test_nested_perturbations_take_the_place_of_the_six() -> None:
    text = """
  perturbations:
    dark: {type: brightness, params: {brightness_factor: 0.1}}
    both:
      - {type: blur, params: {gaussian_noise_ksize: 5}}
      - {type: distortion, params: {distortion_direction: vertical}}
"""
    dark, both = _made(text)
    assert (dark.name, dark.description) == ("dark", "brightness times 0.1")
    assert [step.type for step in both.steps] == ["blur", "distortion"]
    assert dict(both.steps[0].params) == {"ksize": 5, "sigma": 2.0}
    assert dict(both.steps[1].params)["direction"] == "vertical"


RECURSIVE = """
  perturbations:
    complex_perturbation:
      - {type: brightness, params: {brightness_factor: 0.3}}
      - - {type: hue, params: {hue_factor: 0.2}}
        - {type: blur, params: {gaussian_blur_ksize: 21, gaussian_blur_sigma: 2.0}}
      - {type: contrast, params: {contrast_factor: 0.2}}
"""


def test_lists_in_lists_are_done_in_the_order_they_are_written() -> None:
    (found,) = _made(RECURSIVE)
    assert [step.type for step in found.steps] == ["brightness", "hue", "blur", "contrast"]
    assert dict(found.steps[1].params) == {"factor": 0.2}
    (deep,) = _made("{perturbations: {a: [[[{type: hue}], {type: blur}], [[[{type: contrast}]]]]}}")
    assert [step.type for step in deep.steps] == ["hue", "blur", "contrast"]
    told = parse_benchmark(_local(RECURSIVE)).to_dict()
    assert Benchmark.from_dict(told).to_dict() == told


def test_lists_in_lists_have_a_bound() -> None:
    def nested(levels: int) -> str:
        return f"{{perturbations: {{a: {'[' * levels}{{type: hue}}{']' * levels}}}}}"

    assert [step.type for step in _made(nested(20))[0].steps] == ["hue"]
    for levels in (21, 100):
        with pytest.raises(InputError, match=r"\.a(\[0\]){20}: expected at most 20 lists in one"):
            _made(nested(levels))


def test_a_mistake_in_a_list_in_a_list_is_named_with_its_line() -> None:
    text = _local(RECURSIVE).replace("gaussian_blur_ksize: 21", "gaussian_blur_ksize: 4")
    place = r"complex_perturbation\[1\]\[1\]\.params: .*odd whole number"
    with pytest.raises(InputError, match=r"mine\.yml, line 6: .*" + place):
        parse_benchmark(text, "mine.yml")


def test_what_was_asked_can_be_told_and_read_again() -> None:
    told = parse_benchmark(_local("{gaussian_noise_sigma: 3, info_db: a/b.PARQUET}")).to_dict()
    assert set(told) == {"local_perturbation_analysis"}
    section = told["local_perturbation_analysis"]
    assert section["perturbations"]["blur"] == [
        {"type": "blur", "params": {"gaussian_blur_ksize": 21, "gaussian_blur_sigma": 3.0}}
    ]
    assert Benchmark.from_dict(told).to_dict() == told


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (_local("{gausian_blur_sigma: 1}"), "did you mean 'gaussian_blur_sigma'?"),
        ("relevance_analyses: {}", "did you mean 'relevance_analysis'?"),
        ("relevance_analysis: {area: 0.1}", "unknown key 'area'"),
        ("relevance_analysis: {area_percentage: 10}", "a share .* got 10; 10% is 0.1"),
        ("relevance_analysis: {area_percentage: 0}", "above 0 and at most 1, got 0"),
        ("relevance_analysis: {sampling_ratio: 0}", "expected 1 or more, got 0"),
        ("relevance_analysis: {num_prototypes: 1.5}", "expected a whole number, got 1.5"),
        ("relevance_analysis: {debug_mode: 1}", "expected true or false, got 1"),
        ("relevance_analysis:", "{} for the usual ones, got nothing"),
        ("{}", "expected this analysis, local_perturbation_analysis, or both"),
        (_local("{hue_factor: 0.7}"), "hue_factor must be a number from -0.5 to 0.5, got 0.7"),
        (_local("{gaussian_noise_ksize: 4}"), "must be an odd whole number"),
        (_local("{brightness_factor: '0.3'}"), "expected a number, got '0.3'"),
        (_local("{brightness_factor: .nan}"), "expected a finite number"),
        (_local("{distortion_direction: up}"), "must be one of horizontal, vertical, both"),
        (_local("{score: logit}"), "expected 'similarity' or 'class_logit', got 'logit'"),
        (_local("{gaussian_blur_ksize: 3, gaussian_noise_ksize: 3}"), "means the same as"),
        (_local("{hue_factor: 0, perturbations: {a: {type: hue}}}"), "already said in perturb"),
        (_local("{perturbations: {}}"), "at least one perturbation, got none"),
        (_local("{perturbations: {a: []}}"), r"perturbations\.a: expected at least one step"),
        (_local("{perturbations: {a/b: {type: hue}}}"), "names of perturbations must be"),
        (_local("{perturbations: {a: {type: huge}}}"), "expected one of brightness, contrast"),
        (_local("{perturbations: {a: {typ: hue}}}"), "did you mean 'type'?"),
        (_local("{perturbations: {a: {type: hue, params: {hue: 1}}}}"), "unknown key 'hue'"),
        (
            _local("{perturbations: {a: [{type: blur}, {type: hue, params: {hue_factor: 2}}]}}"),
            r"perturbations\.a\[1\]\.params: hue_factor must be",
        ),
        (
            _local("{perturbations: {a: [[{type: hue, params: {hue_factor: 2}}]]}}"),
            r"perturbations\.a\[0\]\[0\]\.params: hue_factor must be",
        ),
        (
            _local("{perturbations: {a: [{type: hue}, [{type: blur}, {typ: hue}]]}}"),
            r"perturbations\.a\[1\]\[1\]\.typ: .*did you mean 'type'",
        ),
        (_local("{perturbations: {a: [{type: hue}, []]}}"), r"a\[1\]: expected at least one step"),
        (_local("{perturbations: {a: [[hue]]}}"), r"a\[0\]\[0\]: expected a type with params"),
    ],
)
def test_a_mistake_is_named_with_its_place(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        parse_benchmark(text, "mine.yml")
    assert str(caught.value).startswith(("mine.yml, line 1: ", "mine.yml: "))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("../info.csv", "inside the folder of results"),
        ("/elsewhere/info.csv", "inside the folder of results"),
        ("a/../../info.csv", "inside the folder of results"),
        ('"C:\\\\info.csv"', "inside the folder of results"),
        ("info.pkl", r"ends in \.csv or \.parquet, got 'info.pkl'"),
        ("info", r"ends in \.csv or \.parquet"),
        (".parts/info.csv", "Sightline writes itself"),
        ("Debug/info.csv", "Sightline writes itself"),
        ("drops.parquet", "Sightline writes itself"),
        ("GLOBAL_stats.csv", "would be written over"),
        ("max_similarity_drop.png/info.csv", "would be written over"),
    ],
)
def test_files_stay_in_the_folder_and_apart(name: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        parse_benchmark(_local(f"{{info_db: {name}}}"))


def test_the_picture_has_endings_of_its_own() -> None:
    with pytest.raises(InputError, match=r"ends in \.png or \.svg or \.pdf, got 'a.csv'"):
        parse_benchmark(_local("{distribution_img: a.csv}"))


def test_files_are_read_and_named_in_what_is_wrong(tmp_path: Path) -> None:
    file = tmp_path / "mine.yml"
    file.write_text("relevance_analysis: {}\nlocal_perturbation_analysis:\n  quiett: true\n")
    with pytest.raises(InputError, match=r"mine\.yml, line 3: .*did you mean 'quiet'?"):
        load_benchmark(file)
    with pytest.raises(InputError, match="the benchmark file cannot be read"):
        load_benchmark(tmp_path / "none.yml")
    with pytest.raises(InputError, match="expected a benchmark, got an empty file"):
        parse_benchmark("")


def test_images_are_chosen_in_words_that_can_be_stored() -> None:
    chosen = DataChoice("facades", split="test", count=12, options={"seed": 4})
    assert chosen.open().ids == ("facade-00004.png", "facade-00009.png")
    assert DataChoice.from_dict(chosen.to_dict()) == chosen
