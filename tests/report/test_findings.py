"""What a store's numbers say: recomputed from its tables by a second way."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

from sightline.report.findings import _RULES, find, gaps, guide_rules
from sightline.report.words import number
from sightline.results import correct_and_wrong

if TYPE_CHECKING:
    from sightline.report.scores import Scored
    from sightline.results import Results


@pytest.fixture(scope="module")
def said(results: Results, scored: Scored) -> dict[str, str]:
    found = find(results, scored)
    return {one.head: one.text for one in (*found.summary, *found.limits)}


def halves(results: Results) -> pd.DataFrame:
    """Return scores with layers chosen by halves, as the program's own table has them."""
    return results.leaderboard(layer="split")


def test_the_summary_asks_its_questions_in_order(results: Results, scored: Scored) -> None:
    heads = [one.head for one in find(results, scored).summary]
    assert heads == ["Best line", "Margin", "Beyond chance?", "Beyond other images' maps?",
                     "By other metrics", "Share of the ceiling"]  # fmt: skip


def test_the_margin_is_that_of_layers_chosen_by_halves(
    results: Results, scored: Scored, said: dict[str, str]
) -> None:
    board = results.leaderboard()
    best, second = board[board["group"] != "baseline"].head(2).to_dict("records")
    split = halves(results).set_index(["model", "method"])["value"]
    gap = split[best["model"], best["method"]] - split[second["model"], second["method"]]
    side = "higher" if gap >= 0 else "lower"
    assert f"Its score is {number(abs(gap))} {side} than that of the second" in said["Margin"]
    assert "layers chosen by halves" in said["Margin"]
    value = split[best["model"], best["method"]]
    assert f"{number(value)} (layer chosen by halves)" in said["Beyond chance?"]


def test_lines_are_counted_against_the_best_baseline_with_holms_correction(
    scored: Scored, said: dict[str, str]
) -> None:
    base = scored.names(baselines=True)[0]
    found = gaps(scored, [(name, base) for name in scored.names(baselines=False)])
    order = sorted(found, key=lambda one: one.p)
    worst, counts = 0.0, {"ahead": 0, "behind": 0, "open": 0}
    for place, one in enumerate(order):
        worst = max(worst, min(1.0, one.p * (len(order) - place)))
        side = "ahead" if one.difference > 0 else "behind"
        counts[side if worst <= 0.05 else "open"] += 1
    is_are = "is" if counts["ahead"] == 1 else "are"
    assert (
        f"Of all {len(found)} lines, {counts['ahead']} {is_are} shown to be better than {base}, "
        f"{counts['behind']} to be worse, and {counts['open']} cannot"
    ) in said["Best line"]


def test_the_best_baseline_is_compared_as_in_the_leaderboard(
    results: Results, scored: Scored, said: dict[str, str]
) -> None:
    board = results.leaderboard()
    told = board.attrs["best_baseline"]
    best, base = scored.best, scored.names(baselines=True)[0]
    assert best is not None
    layer = board.loc[board["group"] != "baseline", "layer"].iloc[0]
    (gap,) = gaps(scored, [(best, base)])
    for name in ("difference", "low", "high", "p", "n"):
        assert getattr(gap, name) == told[name]
    text = said["Best line"]
    assert text.startswith(f"Best: {best} · layer {layer} ({number(told['value'])}), ")
    assert f"the best baseline, {base} ({number(told['baseline_value'])}): difference" in text
    assert told["sentence"].partition(": difference")[2] in text


def test_ranks_by_other_metrics_are_those_of_the_table(
    scored: Scored, said: dict[str, str]
) -> None:
    for metric in ("coverage", "average_precision"):
        rows = scored.of(metric)
        rows = rows[rows["group"] != "baseline"].sort_values("value", ascending=False)
        rank = 1 + list(rows["name"]).index(str(scored.best))
        place = "also the best" if rank == 1 else f"number {rank} of {len(rows)}"
        assert f"it is {place}" in said["By other metrics"].partition(f"by {metric}")[2]


def test_a_store_without_baselines_or_scores_says_so(results: Results, scored: Scored) -> None:
    def only(kept: list[int]) -> Scored:
        about = scored.about.iloc[kept].reset_index(drop=True)
        return replace(scored, about=about, lines=scored.lines.pick(kept))

    plain = [n for n, group in enumerate(scored.about["group"]) if group != "baseline"]
    found = find(results, only(plain[:1]))
    assert found.baseline is None
    told = {one.head: one for one in found.summary}
    assert "the run has no baseline to compare it with" in told["Best line"].text
    assert "Margin" not in told
    grey = [n for n in range(len(scored.about)) if n not in plain]
    (first,) = find(results, only(grey)).summary
    assert first.text == "All lines with a score are baselines."
    nothing = only(plain)
    empty = replace(nothing, table=nothing.table.assign(value=math.nan))
    (first,) = find(results, empty).summary
    assert first.text == "No score is defined."


def test_the_guides_rules_judge_the_best_line(scored: Scored) -> None:
    line, rules = guide_rules(scored)
    assert line == scored.best
    assert [rule.what for rule in rules[:4]] == [
        "coverage",
        "iou@90",
        "average_precision",
        "auc_roc",
    ]
    for rule, (good, bad) in zip(rules[:2], ((0.5, 0.3), (0.3, -1.0)), strict=True):
        value = scored.row(line, rule.what)["value"]
        assert rule.value.startswith(number(value))
        assert (rule.guide == "good") == (value > good)
        assert (rule.guide == "red flag") == (value < bad)
    bounds = [(0.5, 0.3), (0.3, -math.inf), (0.7, -math.inf), (0.8, -math.inf)]
    assert [(rule.good, rule.bad) for rule in _RULES.values()] == bounds
    assert rules[-1].value == "not known"


def _make_correctness(scored: Scored, wrong: int) -> pd.DataFrame:
    """Return answers made up for demo/cnn, so many of them wrong."""
    images = scored.values().index
    return pd.DataFrame({"model": "demo/cnn", "image": images, "probability": 0.9,
                         "correct": pd.array(np.arange(len(images)) >= wrong, dtype="boolean"),
                         "label": "a"})  # fmt: skip


def test_the_rule_of_right_and_wrong_reads_the_table(results: Results, scored: Scored) -> None:
    name = next(one for one in scored.names(baselines=False) if one.startswith("demo/cnn"))
    line = scored.about.set_index("name").loc[name]
    table = correct_and_wrong(results, scored.metric, predictions=_make_correctness(scored, 6))
    rule = guide_rules(scored, table)[1][-1]
    row = table[(table["method"] == line["method"]) & (table["target"] == line["target"])].iloc[0]
    ends = f"95% interval {number(row['low'])} to {number(row['high'])}"
    sides = f"{row['right_images']} right, 6 wrong"
    assert rule.value == f"{name}, iou@90: {number(row['difference'])} ({ends}; {sides})"
    assert rule.guide == ("good" if row["difference"] > 0 else "red flag")


def test_too_few_wrong_predictions_are_not_judged(results: Results, scored: Scored) -> None:
    table = correct_and_wrong(results, scored.metric, predictions=_make_correctness(scored, 4))
    rule = guide_rules(scored, table)[1][-1]
    assert "no difference (too few images: " in rule.value
    assert "4 wrong, a difference needs 5 of each)" in rule.value
    assert (rule.guide, rule.ours) == ("undefined", "cannot be asked")
