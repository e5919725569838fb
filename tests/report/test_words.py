"""The rules that turn numbers into sentences, at their borders."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from sightline.report import words
from sightline.report.findings import _RULES, _verdict, judge
from sightline.report.words import LEVEL, Finding, Gap, Score
from sightline.results import BaselineComparison

if TYPE_CHECKING:
    from collections.abc import Sequence

NAN = math.nan


def gap(difference: float = 0.1, p: float = 0.01, n: int = 50) -> Gap:
    return Gap("a", "b", difference, difference - 0.05, difference + 0.05, p, n)


# --- best and margin -----------------------------------------------------------------------------


def tell_best(
    score: Score | None = None,
    lines: int = 14,
    comparison: BaselineComparison | None = None,
    others: Sequence[Gap] = (),
) -> Finding:
    score = score or Score("a", 0.3, 0.28, 0.33, 120)
    return words.best_words(score, lines, comparison or compare_baseline(), others)


def test_a_margin_without_images_has_no_numbers() -> None:
    nan = float("nan")
    found = words.margin_words(Gap("a", "b", nan, nan, nan, nan, 0, halves=True), "iou@90")
    assert found.text == "It was not compared with the second, b: too few images."
    assert found.tone == "doubt"


def test_the_best_line_is_named_with_the_best_baseline_interval_and_images() -> None:
    assert tell_best().text == (
        "Best: a (0.300), better than the best baseline, b (0.200): difference 0.100 (95% CI 0.050 "
        "to 0.150, p = 0.01, n = 50). It has the best iou@90 of 14 lines that are no baselines "
        "(95% interval 0.280 to 0.330, 120 images). Being the best of several on these images "
        "flatters it a little, which the interval does not allow for."
    )
    alone = tell_best(Score("a", 0.3, n=1), 1).text
    assert alone.endswith("It is the only line that is no baseline (no interval, 1 image).")
    lower = tell_best(comparison=replace(compare_baseline(), metric="kl")).text
    assert "It has the lowest, which is best, kl of 14 lines" in lower


def test_a_best_line_without_a_baseline_says_what_is_not_known() -> None:
    found = tell_best(comparison=BaselineComparison("iou@90", "a", 0.3))
    assert found.tone == "doubt"
    assert found.text.startswith("Best: a (0.300); the run has no baseline to compare it with.")
    assert found.text.endswith("the centre or the edges of images would do as well is not known.")


@pytest.mark.parametrize(
    ("p", "tone"), [(LEVEL, "good"), (LEVEL + 1e-9, "doubt"), (NAN, "doubt"), (0.0001, "good")]
)
def test_a_margin_counts_up_to_the_level(p: float, tone: str) -> None:
    found = words.margin_words(gap(p=p), "coverage")
    assert found.tone == tone
    assert ("cannot tell" in found.text) == (p > LEVEL)
    assert ("too few images" in found.text) == math.isnan(p)


def test_margins_of_metrics_whose_low_values_are_good_are_turned_round() -> None:
    found = words.margin_words(gap(-0.1), "kl")
    assert "0.100 lower than that of the second, b" in found.text
    assert "95% interval 0.050 to 0.150" in found.text
    assert found.tone == "good"


@pytest.mark.parametrize(("difference", "metric"), [(-0.1, "coverage"), (0.1, "kl")])
def test_a_best_line_that_falls_behind_by_halves_does_not_lead(
    difference: float, metric: str
) -> None:
    found = words.margin_words(gap(difference)._replace(halves=True), metric)
    assert found.tone == "doubt"
    side = "lower" if difference < 0 else "higher"
    assert (
        f"0.100 {side} than that of the second, b (paired over 50 images, layers chosen by "
        "halves, 95% interval 0.050 to 0.150" in found.text
    )
    assert "cannot tell" in found.text


def test_comparisons_say_when_layers_were_chosen_by_halves() -> None:
    for halves in (False, True):
        found = words.margin_words(gap()._replace(halves=halves), "iou@90")
        assert ("layers chosen by halves" in found.text) == halves
        split = tell_best(comparison=replace(compare_baseline(), split=halves))
        assert ("split-half selection" in split.text) == halves
    score = Score("a", 0.3, 0.2, 0.4, 9, chance=0.1)
    assert "0.300 is 3.0 times" in words.chance_words(score, "iou@90").text
    told = words.chance_words(score, "iou@90", halves=True).text
    assert "0.300 (layer chosen by halves) is 3.0 times" in told
    assert told.endswith("and the interval 0.200 to 0.400 lies above it.")
    told = words.chance_words(score._replace(low=0.05), "iou@90", halves=True).text
    assert "within the interval 0.050 to 0.400 of 0.300 (layer chosen by halves)" in told


# --- chance --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("low", "high", "tone"),
    [
        (0.11, 0.3, "good"),
        (0.10, 0.3, "doubt"),  # the end touches chance
        (0.05, 0.1, "doubt"),
        (0.02, 0.09, "bad"),
        (NAN, NAN, "doubt"),
    ],
)
def test_chance_is_compared_with_the_ends_of_the_interval(
    low: float, high: float, tone: str
) -> None:
    score = Score("a", (low + high) / 2, low, high, 9, chance=0.1)
    assert words.chance_words(score, "iou@90").tone == tone


def test_chance_of_metrics_whose_low_values_are_good_and_of_those_without() -> None:
    score = Score("a", 0.3, 0.2, 0.4, 9, chance=0.5)
    assert words.chance_words(score, "kl").tone == "good"
    assert words.chance_words(score._replace(chance=0.1), "kl").tone == "bad"
    assert "no closed-form chance" in words.chance_words(score._replace(chance=NAN), "sim").text
    zero = words.chance_words(score._replace(chance=0.0), "nss")
    assert "times" not in zero.text
    assert zero.tone == "good"


@pytest.mark.parametrize(
    ("p", "tone"), [(0.05, "good"), (0.0501, "bad"), (NAN, "doubt"), (0.0001, "good")]
)
def test_other_images_maps(p: float, tone: str) -> None:
    found = words.cross_words("iou@90", 0.16, p, "no maps.", 14)
    assert found.tone == tone
    assert ".." not in found.text
    assert ("the best of 14 is not allowed for" in found.text) == (not math.isnan(p))
    assert "allowed" not in words.cross_words("iou@90", 0.16, p).text
    assert ("no maps" in found.text) == math.isnan(p)
    assert ("0.160" in found.text) == (not math.isnan(p))


# --- baselines -----------------------------------------------------------------------------------


def compare_baseline(difference: float = 0.1, p: float = 0.01) -> BaselineComparison:
    ends = difference - 0.05, difference + 0.05
    return BaselineComparison("iou@90", "a", 0.3, "", "b", 0.2, "", difference, *ends, p, 50)


@pytest.mark.parametrize(
    ("difference", "p", "tone", "said"),
    [
        (0.06, 0.001, "good", "Best: a (0.300), better than the best baseline, b (0.200)"),
        (-0.06, 0.001, "bad", "worse than the best baseline, b"),
        (0.06, 0.06, "bad", "not shown to differ from the best baseline, b"),
        (0.06, NAN, "doubt", "too few images for a p-value"),
    ],
)
def test_the_best_baseline_is_beaten_or_not(
    difference: float, p: float, tone: str, said: str
) -> None:
    found = tell_best(comparison=compare_baseline(difference, p))
    assert found.tone == tone
    assert said in found.text


def test_all_lines_are_counted_against_the_best_baseline() -> None:
    others = [gap(0.1), gap(-0.1), gap(0.1, 0.2), gap(0.1, NAN), gap(0.2)]
    text = tell_best(others=others).text
    assert "Of all 5 lines, 2 are shown to be better than b, 1 to be worse, and 2 cannot" in text
    assert "Of all" not in tell_best(others=others[:1]).text


def test_other_metrics_are_told_with_ranks_and_baselines() -> None:
    score = Score("a", 0.25)
    rows = [("coverage", score, 9, gap(-0.1), 0.35), ("average_precision", score, 1, gap(), 0.15)]
    found = words.others_words("iou@90", rows, 14)
    assert found is not None
    assert found.tone == "bad"
    assert found.text == (
        "Among the methods it is best by iou@90; by coverage (0.250) it is number 9 of 14, worse "
        "than the baseline b (0.350; difference −0.100, 95% interval −0.150 to −0.050, p = 0.01, "
        "paired over 50 images); by average_precision (0.250) it is also the best, better than the "
        "baseline b (0.150; difference 0.100, 95% interval 0.050 to 0.150, p = 0.01, paired over "
        "50 images)."
    )
    open_ = words.others_words("iou@90", [("coverage", score, 1, gap(p=0.3), 0.15)], 3)
    assert open_ is not None
    assert (open_.tone, "not shown to be better" in open_.text) == ("doubt", True)
    fine = words.others_words("iou@90", [("coverage", score, 1, gap(), 0.15)], 3)
    second = words.others_words("iou@90", [("coverage", score, 2, None, NAN)], 3)
    assert fine is not None
    assert second is not None
    assert (fine.tone, second.tone) == ("good", "doubt")
    both = [("coverage", score, 1, gap(), 0.15),
            ("average_precision", score, 1, gap(p=0.3), 0.15)]  # fmt: skip
    mixed = words.others_words("iou@90", both, 3)
    assert mixed is not None
    assert mixed.tone == "doubt"
    untested = words.others_words("iou@90", [("coverage", score, 1, None, NAN)], 3)
    assert untested is not None
    assert untested.tone == "plain"
    assert words.others_words("iou@90", [], 3) is None


# --- ceiling, choice, undefined, cropping, labels ------------------------------------------------


def test_ceilings_of_one_say_nothing() -> None:
    score = Score("a", 0.3, ceiling=0.75, corrected=0.36)
    found = words.ceiling_words(score)
    assert found is not None
    assert "40% of that, and 36% of the way" in found.text
    assert words.ceiling_words(score._replace(ceiling=1.0)) is None
    assert words.ceiling_words(score._replace(ceiling=NAN)) is None
    plain = words.ceiling_words(score._replace(corrected=NAN))
    assert plain is not None
    assert "way" not in plain.text
    below = words.ceiling_words(score._replace(corrected=-0.1))
    assert below is not None
    assert "−10%" in below.text


def test_choices_on_the_same_images_are_told_with_their_split_half_score() -> None:
    score = Score("a", 0.31, chosen="best of 12 layers on the same images")
    found = words.chosen_words(score, 0.29)
    assert found is not None
    assert "it scores 0.290 in place of 0.310" in found.text
    same = words.chosen_words(score, 0.3101)
    assert same is not None
    assert "it scores 0.310, too." in same.text
    unknown = words.chosen_words(score, NAN)
    assert unknown is not None
    assert "in place" not in unknown.text
    assert words.chosen_words(score._replace(chosen="last of 12 layers"), 0.3) is None
    assert words.chosen_words(score._replace(chosen=""), 0.3) is None


def test_nothing_undefined_or_cropped_is_not_mentioned() -> None:
    assert words.undefined_words({"coverage": 0}) is None
    found = words.undefined_words({"coverage": 2, "iou@90": 0, "pointing": 1})
    assert found is not None
    assert "coverage 2 scores, pointing 1 score." in found.text
    assert words.cropped_words(0, 120, 1.0) is None
    cropped = words.cropped_words(3, 120, 0.256)
    assert cropped is not None
    assert "On 3 images of 120" in cropped.text
    assert "26%" in cropped.text


@pytest.mark.parametrize(
    ("labelling", "unlabelled", "head", "tone"),
    [
        ("representative", 0, "Sparse labels", "bad"),
        ("salient", 5, "Sparse labels", "bad"),
        ("", 5, "Sparse labels", "bad"),
        ("", 0, "Labels may be missing", "doubt"),
    ],
)
def test_sparse_labels_are_warned_of(labelling: str, unlabelled: int, head: str, tone: str) -> None:
    found = words.sparse_words(labelling, 10, unlabelled)
    assert found is not None
    assert (found.head, found.tone) == (head, tone)
    assert "`sightline sparsity`" in found.text
    assert ("10 of 15 regions" in found.text) == (unlabelled == 5)
    assert ("of each kind is labelled" in found.text) == bool(labelling)


def test_exhaustive_labels_need_no_warning() -> None:
    assert words.sparse_words("exhaustive", 10, 0) is None


def test_accuracy_is_told_for_each_model() -> None:
    found = words.accuracy_words([("vit", 117, 120), ("cnn", 60, 120)], ["dino"])
    assert found is not None
    assert "vit on 117 of 120 images, cnn on 60 of 120 images" in found.text
    assert "few predictions are wrong" in found.text
    assert "Not known of dino: no classes that match the labels, or not asked." in found.text
    noted = words.accuracy_words([("vit", 1, 2)], [], "x cannot be loaded: no file")
    assert noted is not None
    assert noted.text.endswith(" X cannot be loaded: no file.")
    assert words.accuracy_words([], ["dino"]) is None
    many = words.accuracy_words([("vit", 60, 120)], [])
    assert many is not None
    assert "few predictions" not in many.text


def test_few_images_and_unfinished_studies() -> None:
    assert words.few_words(words.FEW) is None
    few = words.few_words(words.FEW - 1)
    assert few is not None
    assert few.text.startswith("19 images can show")
    assert words.unfinished_words(9, 9) is None
    assert words.unfinished_words(3, 9) is not None


def test_plausible_is_not_faithful_is_always_said() -> None:
    said = words.faithfulness_words(checked=False).text
    assert "All scores measure plausibility" in said
    assert said.endswith("was not tested: the study ran no check of randomisation.")
    assert "was not tested" not in words.faithfulness_words(checked=True).text


# --- the guide's bounds --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "verdict"),
    [
        (0.5, "neither good nor a red flag"),
        (0.5 + 1e-9, "good"),
        (0.3, "neither good nor a red flag"),
        (0.3 - 1e-9, "red flag"),
        (NAN, "undefined"),
    ],
)
def test_the_guides_bounds_are_strict(value: float, verdict: str) -> None:
    assert judge(value, 0.5, 0.3) == verdict


def test_a_rule_without_a_red_flag_says_not_good() -> None:
    assert judge(0.3, 0.3, -math.inf) == "not good"


@pytest.mark.parametrize(
    ("value", "low", "verdict"),
    [(0.72, 0.7, "good"), (0.2, 0.12, "not good"), (0.15, 0.1, "red flag"),
     (0.05, 0.03, "red flag"), (NAN, NAN, "undefined")],
)  # fmt: skip
def test_precision_that_is_not_above_chance_is_a_red_flag(
    value: float, low: float, verdict: str
) -> None:
    score = Score("a", value, low, value + 0.02, 50, chance=0.1)
    assert _verdict(score, "average_precision", _RULES["average_precision"]) == verdict
    assert _verdict(score, "auc_roc", _RULES["auc_roc"]) != "red flag"
