"""What a report says of checks: each verdict in words, tables with intervals, no more than that."""

from __future__ import annotations

import math
import re
from html import unescape
from typing import Any

import pandas as pd
import pytest

from sightline.report.checks import (
    Checked,
    better_than_random,
    faithfulness_html,
    missing_html,
    parts_html,
    sanity_html,
    sanity_words,
)
from sightline.report.findings import _SANITY, _sanity_rule
from sightline.report.page import spanned, whole_cell


def verdict(**change: Any) -> dict[str, Any]:
    row = {
        "name": "vit cls", "model": "vit", "method": "cls", "target": "", "layer": 3,
        "best_layer": 3,
        "similarity": 0.2, "low": 0.1, "high": 0.3, "cross": 0.25, "difference": -0.05,
        "difference_low": -0.1, "difference_high": 0.02, "verdict": "pass", "guide": "reliable",
        "cascade": "sharp drop: reliable", "edge": 0.4, "training": math.nan, "images": 32,
        "seeds": 5,
    }  # fmt: skip
    return {**row, **change}


def words(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


@pytest.mark.parametrize(
    ("given", "tone", "said"),
    [
        ("pass", "good", "at most 0.1 more like the trained ones"),
        ("fail", "bad", "what they show is there without training"),
        ("cannot tell", "doubt", "cannot be told"),
    ],
)
def test_each_verdict_has_its_sentence(given: str, tone: str, said: str) -> None:
    found = sanity_words("vit cls", verdict(verdict=given))
    assert found.tone == tone
    assert said in found.text
    assert "32 images, 5 draws" in found.text
    assert "0.250" in found.text
    assert ("faithful" in found.text) is (given == "pass")


def test_verdicts_stand_beside_the_guides_rule_and_do_not_rank() -> None:
    blind = verdict(name="edge", method="edge", verdict="fail", guide="unreliable", seeds=3)
    page = sanity_html(pd.DataFrame([verdict(), blind, verdict(verdict="cannot tell")]))
    said = words(page)
    assert "3 to 5 times each" in said
    assert "Fewer than 5 draws tell little" in said
    assert "Of 3 lines, 1 pass, 1 fail, 1 cannot be told." in said
    assert "of edge, 1 of 1 fail" in said
    assert "Neither ranks methods" in said
    assert "32 × 5" in said
    assert "Binder et al. 2023" in said
    assert "−0.050 [−0.100, 0.020]" in said
    assert "sharp drop: reliable" in said
    assert '<tr class="base"><th scope="row">edge</th>' in page
    assert "Edges" in said  # which is known of some; the other training of none
    assert "0.400" in said
    assert "Trained anew" not in said
    assert "0.700" in words(sanity_html(pd.DataFrame([verdict(training=0.7)])))
    assert "<b>fail</b>" in page
    assert "<b>pass</b>" not in page
    plain = sanity_html(pd.DataFrame([verdict(cascade="", guide="")]))
    assert "Its rule for the cascade" not in plain
    assert "must not pass" not in plain
    assert "tell little" not in plain


def measure(name: str, **change: Any) -> dict[str, Any]:
    row = {
        "name": name, "model": "vit", "method": name, "group": "attention", "target": "",
        "layer": 3, "best_layer": 3,
        "measure": "deletion", "value": 0.3, "low": 0.2, "high": 0.4, "random": 0.5,
        "difference": -0.2, "difference_low": -0.3, "difference_high": -0.1, "better": "lower",
        "images": 8,
    }  # fmt: skip
    return {**row, **change}


def test_faithfulness_is_bold_where_it_is_better_than_the_random_map() -> None:
    nothing = dict.fromkeys(("value", "low", "high", "difference_low", "difference_high"), math.nan)
    rows = [
        measure("cls"),
        measure("ig", difference_high=0.01),
        measure("random", group="baseline", **{k: math.nan for k in nothing if "diff" in k}),
        measure("cls", measure="insertion", better="higher"),
        measure("cls", measure="completeness", better="zero", **nothing),
        measure("cls", model="cnn"),
    ]
    page = faithfulness_html(pd.DataFrame(rows))
    first, second = page.split("<table")[1:]
    assert first.count("<b>0.300</b>") == 1
    assert '<th scope="row">ig</th><td class="num" data-value="0.3">0.300' in first
    assert '<tr class="base"><th scope="row">random</th>' in first
    assert first.count('class="base"') == 1
    assert "Completeness" not in first  # of no line
    assert "Insertion ↑" in first
    assert "Insertion" not in second
    assert "Faithfulness of maps of cnn" in second
    assert "none is the truth" in words(page)
    assert not better_than_random(measure("a", difference_low=math.nan, difference_high=math.nan))
    assert better_than_random(measure("a", better="higher", difference_low=0.01))


@pytest.mark.parametrize(
    ("page", "row"), [(sanity_html, verdict()), (faithfulness_html, measure("cls"))]
)
def test_a_layer_that_is_no_longer_the_best_is_named(page: Any, row: dict[str, Any]) -> None:
    said = unescape(words(page(pd.DataFrame([{**row, "layer": 11, "best_layer": 9}]))))
    assert "vit cls: checked on layer 11; the leaderboard's best layer is 9." in said
    assert "`sightline sanity RUN --layers" in said
    assert "best layer" not in words(page(pd.DataFrame([row])))
    both = [{**row, "layer": 11, "best_layer": 9}, {**row, "layer": 9, "best_layer": 9}]
    assert "best layer" not in words(page(pd.DataFrame(both)))


def test_parts_are_sorted_by_average_precision_with_chance_beside() -> None:
    ends = {f"{one}_{end}": 0.5 for one in ("precision", "recall", "ap", "base")
            for end in ("low", "high")}  # fmt: skip
    rows = [
        {"name": name, "model": "m", "method": name, "target": "", "layer": 3, "best_layer": 3,
         "group": "", "precision": 0.4, "recall": 0.4, "ap": ap, "base": 0.25,
         "images": 6, **ends}
        for name, ap in (("low", 0.2), ("high", 0.8))
    ]  # fmt: skip
    said = words(parts_html(pd.DataFrame(rows)))
    assert said.index("high 0.400") < said.index("low 0.400")
    assert "0.250 [0.500, 0.500]" in said
    assert "loses a vote, by the rules of the drawing" in said  # not: what the network uses
    assert "Whether the network uses all that decides" in said


def test_a_study_was_tested_also_where_its_verdicts_cannot_be_read() -> None:
    assert not Checked(faithfulness=pd.DataFrame()).tested
    assert Checked(missing={"randomisation": "damaged"}).tested


def test_a_line_is_found_by_model_method_and_target() -> None:
    checked = Checked(sanity=pd.DataFrame([verdict(), verdict(target="label", similarity=0.9)]))
    found = checked.verdict("vit", "cls", "label")
    assert found is not None
    assert found["similarity"] == 0.9
    assert checked.verdict("vit", "rollout", "") is None
    layers = Checked(sanity=pd.DataFrame([verdict(), verdict(layer=1, similarity=0.9)]))
    for layer, similarity in ((1, 0.9), (3, 0.2), (2, 0.2)):
        row = layers.verdict("vit", "cls", "", layer)
        assert row is not None
        assert row["similarity"] == similarity  # of another layer where its own was not checked
    assert Checked().verdict("vit", "cls", "") is None
    assert list(checked.files()) == ["sanity_results.csv"]


def test_the_guides_rule_is_filled_in_where_it_was_tested() -> None:
    rule = _sanity_rule(verdict(), 3)
    assert rule.value == "0.200 (95% interval 0.100 to 0.300), layer 3"
    other = _sanity_rule(verdict(), 2)
    assert other.value.endswith(", layer 3; its scores are of layer 2")
    assert _sanity_rule(verdict(layer=None), None).value == "0.200 (95% interval 0.100 to 0.300)"
    assert rule.guide == "reliable; cascade: sharp drop: reliable"
    assert rule.ours.startswith("pass: maps of other images 0.250, difference −0.050 (95% inter")
    assert _sanity_rule(None, 3) is _SANITY


def test_cells_of_what_is_undefined() -> None:
    assert spanned({"a": 0.5, "b": math.nan, "c": 1.0}, "a", "b", "c").below == ""
    assert whole_cell(float("nan")).text == "–"
    assert whole_cell(1200).text == "1,200"
    assert missing_html({}) == ""
    assert "No table of parts" in missing_html({"parts": "no rows"})
