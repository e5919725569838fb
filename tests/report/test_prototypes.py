"""What a report says of prototypes: relevance beside chance, drops, natures, and the premise."""

from __future__ import annotations

import math
import re
import shutil
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from sightline.attribution.prototypes.nature import Effect, Premise
from sightline.core import InputError, UnknownNameError
from sightline.report import Choice, StoreFigures
from sightline.report._figures_prototypes import (
    draw_benchmark,
    holding_benchmarks,
    opened_benchmark,
)
from sightline.report.plates import _prototypes
from sightline.report.prototype_cards import known_prototypes, prototype_cards
from sightline.report.prototypes import (
    Benchmarked,
    Benchmarks,
    benchmark_html,
    benchmark_words,
    in_short,
    read_benchmarks,
)
from sightline.results import open_benchmark, open_results
from sightline.results.live_prototypes import AskedBenchmark
from tests.loaded import loaded_once

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sightline.report.words import Finding
    from sightline.results.prototypes import StoredBenchmark

ACCURACY = {"value": 0.9, "low": 0.8, "high": 0.95, "images": 40}
PREMISE = Premise(100, 40, 0.8, 0.7, 0.9, 0.0, 4, 0.75, 0.2, 0.1, 0.3)


def relevance(**change: Any) -> pd.DataFrame:
    row = {
        "kind": "prototype", "measure": "energy_relevance", "value": 0.6, "low": 0.5, "high": 0.7,
        "chance": 0.2, "difference": 0.4, "difference_low": 0.3, "difference_high": 0.5,
        "lines": 12, "undefined": 1, "images": 11, "reasons": "1: the map is 0 everywhere",
    }  # fmt: skip
    rows = [row, {**row, "measure": "mask_relevance"}]
    return pd.DataFrame([{**one, **change} for one in rows])


def effect(prototype: int, name: str, matters: bool | None, difference: float = 0.3) -> Any:
    spans = {f"{one}{end}": 0.1 for one in ("dual", "whole") for end in ("", "_low", "_high")}
    spans |= {"focused": 0.4, "focused_low": 0.3, "focused_high": 0.5, "difference": difference,
              "difference_low": difference - 0.1, "difference_high": difference + 0.1}  # fmt: skip
    spans["whole"] = math.nan
    return Effect(prototype=prototype, perturbation=name, images=40, undefined=2, matters=matters,
                  p=0.01, p_holm=0.02, **spans)._asdict()  # fmt: skip


def prototypes(*natures: str) -> pd.DataFrame:
    rows = [
        {"prototype": i, "nature": one, "images": 0 if one == "not perturbed" else 12,
         "energy": 0.7, "mask": math.nan, "chance": 0.2}
        for i, one in enumerate(natures)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def given(**change: Any) -> Benchmarked:
    values: dict[str, Any] = {
        "name": "mine", "model": "a<b", "by_class": False, "accuracy": ACCURACY,
        "counts": {"prototypes": 5}, "classes": ("Gothic", "Baroque"), "relevance": relevance(),
        "effects": pd.DataFrame([effect(-1, "hue", True), effect(-1, "blur", False, -0.2)]),
        "prototypes": prototypes("hue", "unknown", "undecided", "not perturbed"),
        "premise": PREMISE,
    }  # fmt: skip
    return Benchmarked(**{**values, **change})


def words(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def found(head: str, one: Benchmarked) -> Finding:
    (finding,) = [finding for finding in benchmark_words(one) if finding.head == head]
    return finding


@pytest.mark.parametrize(
    ("change", "tone", "said"),
    [
        (
            {},
            "good",
            "chance 0.200 (12 prototypes on 11 images); energy undefined",
        ),
        ({"difference_low": -0.6, "difference_high": -0.1}, "bad", "less than chance"),
        ({"difference_low": -0.1}, "doubt", "not shown to be more than chance"),
        ({"value": math.nan}, "doubt", "energy undefined (1: the map is 0 everywhere); mask un"),
    ],
)
def test_relevance_is_read_against_chance(change: dict[str, Any], tone: str, said: str) -> None:
    one = found("Do prototypes lie on the object?", given(relevance=relevance(**change)))
    assert one.tone == tone
    assert said in one.text


def test_why_a_measure_is_undefined_stands_beside_it() -> None:
    one = found("Do prototypes lie on the object?", given())
    assert "; mask undefined (1: the map is 0 everywhere)." in one.text
    page = words(benchmark_html(given()))
    assert "Undefined, prototypes, mask: 7.7% (1: the map is 0 everywhere)." in page


def test_one_measure_above_chance_is_not_enough() -> None:
    table = relevance()
    table.loc[1, "difference_low"] = -0.05
    assert found("Do prototypes lie on the object?", given(relevance=table)).tone == "doubt"


@pytest.mark.parametrize(
    ("change", "tone", "said"),
    [
        ({}, "good", "They do in 80.0% of 100 cases, and in the mean for 75.0% of 4 prototypes"),
        ({"difference_low": -0.3, "difference_high": -0.1}, "bad", "It does not hold"),
        ({"difference_low": -0.1}, "doubt", "leaves it open"),
        ({"difference_low": math.nan, "difference_high": math.nan}, "doubt", "leaves it open"),
        ({"rows": 0}, "doubt", "not known without dual copies"),
    ],
)
def test_the_premise_is_said_to_hold_or_not(change: dict[str, Any], tone: str, said: str) -> None:
    one = found("Does the premise hold?", given(premise=PREMISE._replace(**change)))
    assert one.tone == tone
    assert said in one.text
    assert ("Drops say little" in one.text) is (tone == "bad")


@pytest.mark.parametrize(
    ("matters", "tone", "said"),
    [
        (True, "good", "More there than elsewhere: hue (by 30.0%)."),
        (False, "doubt", "Nothing takes more there than elsewhere."),
        (None, "doubt", "Whether that is more than elsewhere is undecided."),
    ],
)
def test_what_takes_the_score(matters: bool | None, tone: str, said: str) -> None:
    effects = pd.DataFrame([effect(-1, "hue", matters)])
    one = found("What takes the score?", given(effects=effects))
    assert one.tone == tone
    assert one.text.startswith("Where the map is high, hue takes most: 40.0%")
    assert one.text.endswith(said)


def test_natures_are_counted_and_unknown_says_what_it_means() -> None:
    one = found("Nature of the similarity", given())
    assert one.text.startswith(
        "Of 5 prototypes, 3 are among the most similar of an image. The nature of 1 is told, of 1 "
        "unknown, of 1 undecided"
    )
    assert "questions that they can be read" in one.text
    told = found("Nature of the similarity", given(prototypes=prototypes("hue", "blur, hue")))
    assert told.tone == "plain"
    assert "questions" not in told.text
    cautions = found("Before you read drops", given()).text
    assert "hue moves the brightness" in cautions
    assert "greyer than either" in cautions
    assert "1 in 40" in cautions


def test_tables_have_intervals_chance_and_no_markup_of_others() -> None:
    page = benchmark_html(given())
    said = words(page)
    assert "mine: a&lt;b" in page
    assert "a<b" not in page
    assert "prototypes, energy 0.600 [0.500, 0.700] 0.200 0.400 [0.300, 0.500] 12 11 1" in said
    assert "hue 0.400 [0.300, 0.500] 0.100 [0.100, 0.100] 0.300 [0.200, 0.400] yes 40 2" in said
    assert "blur" in said
    assert "<b>yes</b>" in page
    assert "<b>no</b>" not in page
    assert "Global drop" not in said
    assert "0 hue 12 0.700 – 0.200" in said
    assert "3 not perturbed 0" in said
    assert "right on 90.0% (95% interval 80.0% to 95.0%) of 40 images" in said


def test_what_was_not_analysed_is_not_spoken_of() -> None:
    unknown = {"value": None, "low": None, "high": None, "images": 0}
    one = given(effects=None, premise=None, accuracy=unknown)
    heads = [finding.head for finding in benchmark_words(one)]
    assert heads == ["The model", "Do prototypes lie on the object?"]
    said = words(benchmark_html(one))
    assert "It is not known how often" in said
    assert "What perturbations take" not in said
    assert "hue" not in said  # nor natures
    bare = given(relevance=None, prototypes=None, effects=None, premise=None)
    assert [finding.head for finding in benchmark_words(bare)] == ["The model"]


def test_classes_are_called_by_their_names() -> None:
    one = given(by_class=True, prototypes=prototypes("hue", "unknown"), relevance=None)
    said = words(benchmark_html(one))
    assert "Gothic hue 12" in said
    assert "Of 2 classes, 2 are" in said
    assert "75.0% of 4 classes" in said


def test_files_of_several_benchmarks_have_their_names() -> None:
    one, two = given(), given(name="other", effects=None)
    alone, both = Benchmarks((one,)), Benchmarks((one, two))
    assert list(alone.files()) == list(alone.files_of(one)) == [
        "prototype_relevance_means.csv", "prototype_effects.csv", "prototype_natures.csv"
    ]  # fmt: skip
    assert len(both.files()) == 5
    assert both.files_of(two) == (
        "prototype_relevance_means_other.csv",
        "prototype_natures_other.csv",
    )


# --- of a store ----------------------------------------------------------------------------------


SHARE = "a<b: 0.600 of the attribution of prototypes lies on what is annotated"
MADE = "what the similarity is made of is told for 1 of 5 prototypes"
PREMISED = "the premise that changes cost most where the map is high"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, f"{SHARE}, more than chance (0.200); {PREMISED} holds (80.0% of 100 cases); {MADE}."),
        ({"relevance": relevance(difference_low=-0.1), "premise": None, "effects": None},
         f"{SHARE}, not shown to be more than chance (0.200)."),
        ({"relevance": relevance(difference_high=-0.1, difference_low=-0.2), "premise": None,
          "effects": None}, f"{SHARE}, less than chance (0.200)."),
        ({"relevance": relevance(value=math.nan), "effects": None,
          "premise": PREMISE._replace(difference_low=-0.3, difference_high=-0.1)},
         f"a<b: {PREMISED} does not hold (80.0% of 100 cases)."),
    ],
)  # fmt: skip
def test_a_benchmark_in_one_sentence(change: dict[str, Any], said: str) -> None:
    assert in_short(given(**change)).text == said


def test_prototypes_are_named_with_their_classes() -> None:
    page = benchmark_html(given(class_names={0: "Gothic", 2: "Baroque"}))
    assert "0 Gothic" in words(page)
    assert "2 Baroque" in words(page)
    assert "1 unknown" in words(page)  # speaks for no class


@pytest.fixture(scope="module", autouse=True)
def _loaded() -> Iterator[None]:
    with loaded_once():
        yield


@pytest.fixture(scope="module")
def figures(demo_store: Path) -> Iterator[StoreFigures]:
    with open_results(demo_store) as results:
        yield StoreFigures(results)


def test_the_report_shows_the_benchmark(demo_report: Path, figures: StoreFigures) -> None:
    page = (demo_report / "index.html").read_text("utf-8")
    section = page[page.index('<section id="prototypes"') : page.index('<section id="detection"')]
    (one,) = read_benchmarks(figures).found
    assert benchmark_html(one) in section
    assert section.count("<figure") == 5
    for name in one.files():
        assert (demo_report / name).is_file()
        assert f'href="#file-{name.replace(".", "-").replace("_", "-")}"' in section
    assert "Xu-Darme" in page
    summary = page[page.index('<section id="summary"') : page.index("</section>")]
    assert in_short(one).text in words(summary)
    table = pd.read_csv(demo_report / "prototype_natures.csv")
    assert table["prototype"].tolist() == list(range(40))


def test_numbers_are_those_of_the_library(demo_store: Path, figures: StoreFigures) -> None:
    (one,) = read_benchmarks(figures).found
    stored = open_benchmark(demo_store / "prototypes" / "demo")
    assert one.premise == stored.premise()
    assert one.effects is not None
    assert one.effects["focused"].tolist() == [each.focused for each in stored.effects()]
    known = {each.prototype: each for each in known_prototypes(stored)}
    natures = stored.natures()
    assert {number: each.nature for number, each in known.items() if each.images} == natures
    cards, table = prototype_cards(AskedBenchmark(stored), [7])
    assert cards[0].box == tuple(table.loc[0, ["x0", "y0", "x1", "y1"]])
    assert table.loc[0, "energy"] == known[7].energy
    assert f"relevance {known[7].energy:.0%} (chance {known[7].chance:.0%})" in cards[0].notes
    with pytest.raises(UnknownNameError, match="prototype 40 was not met"):
        prototype_cards(AskedBenchmark(stored), [40])


def test_rows_of_the_heatmap_have_the_class_of_each_prototype(figures: StoreFigures) -> None:
    (one,) = read_benchmarks(figures).found
    drawn = figures.draw("drop-heatmap").figure
    (label, *_) = (each.get_text() for each in drawn.axes[0].get_yticklabels())
    number, _, name = label.partition(" ")
    assert name in one.classes
    assert name == one.class_names[int(number)]


def test_one_prototype_can_be_drawn_alone(figures: StoreFigures) -> None:
    (one,) = read_benchmarks(figures).found
    assert one.effects is not None
    number = int(one.effects["prototype"].max())
    drawn = figures.draw("perturbation-drops", Choice(prototype=number))
    own = one.effects[one.effects["prototype"] == number]
    values = drawn.data[drawn.data["kind"] == "focused"]["value"]
    assert values.tolist() == own["focused"].tolist()
    with pytest.raises(InputError, match="prototype 99 was not perturbed"):
        figures.draw("perturbation-drops", Choice(prototype=99))
    with pytest.raises(InputError, match="max-drops does not show a single one"):
        figures.draw("max-drops", Choice(prototype=number))
    with pytest.raises(InputError, match="model must be a stored benchmark: demo; got 'vit'"):
        figures.draw("drop-heatmap", Choice(model="vit"))


def test_a_sheet_shows_the_prototypes_that_are_met_most(
    figures: StoreFigures, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sightline.report._figures_prototypes.SHOWN", 3)
    drawn = figures.draw("prototype-cards")
    (one,) = read_benchmarks(figures).found
    assert one.prototypes is not None
    most = one.prototypes.sort_values(["images", "prototype"], ascending=[False, True])
    assert drawn.data["prototype"].tolist() == sorted(most["prototype"][:3])
    said = " ".join(text.get_text() for text in drawn.figure.texts)
    assert "3 of 40 prototypes are drawn." in " ".join(said.split())


@pytest.fixture
def two_benchmarks(demo_store: Path, small_benchmark: Path, tmp_path: Path) -> Path:
    """A store with the benchmarks a and b."""
    store = tmp_path / "store"
    store.mkdir()
    for part in demo_store.iterdir():
        if part.name != "prototypes":
            (store / part.name).symlink_to(part)
    for name in ("a", "b"):
        shutil.copytree(small_benchmark, store / "prototypes" / name)
    return store


def test_several_benchmarks_have_their_own_figures_and_damage_is_named(
    two_benchmarks: Path,
) -> None:
    (two_benchmarks / "prototypes" / "b" / "drops.parquet").write_bytes(b"no table")
    with open_results(two_benchmarks) as results:
        figures = StoreFigures(results)
        found = read_benchmarks(figures)
        assert [one.name for one in found.found] == ["a"]
        assert "is damaged" in found.missing["b"]
        wanted = _prototypes(figures, {})
        assert [one.file for one in wanted if one.card == "relevance"] == [
            "prototype_relevance_a",
            "prototype_relevance_b",
        ]
        assert {one.choice.model for one in wanted} == {"a", "b"}
        assert holding_benchmarks(figures, "relevance") == ["a", "b"]


def test_a_benchmark_that_lacks_what_another_one_has_is_named(two_benchmarks: Path) -> None:
    with open_results(two_benchmarks) as results:
        figures = StoreFigures(results)
        _without(opened_benchmark(figures, "b"), "relevance.parquet")
        assert figures.draw("relevance").about.startswith("a: ")
        with pytest.raises(InputError, match="benchmark 'b' has no relevance_analysis"):
            figures.draw("relevance", Choice(model="b"))


def _without(stored: StoredBenchmark, file: str) -> None:
    files = {name: one for name, one in stored.about["files"].items() if name != file}
    object.__setattr__(stored, "about", {**stored.about, "files": files})


def test_a_figure_of_what_was_not_analysed_says_so(small_benchmark: Path) -> None:
    stored = open_benchmark(small_benchmark)
    _without(stored, "drops.parquet")
    with pytest.raises(InputError, match=r"max-drops.* it has no local_perturbation_analysis"):
        draw_benchmark(stored, "max-drops")
