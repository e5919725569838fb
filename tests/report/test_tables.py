"""Tables of a report: the guide's columns first, the same numbers as the leaderboard's."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd
import pytest

from sightline.report.methods_text import methods_text
from sightline.report.references import bibtex
from sightline.report.tables import detailed_results, summary_results, table_one, tex

if TYPE_CHECKING:
    from sightline.report.scores import Scored
    from sightline.results import Results

ODD = "a_b $x$ 50% <i>&amp;|*"


def made_up(rows: list[tuple[str, str, float]], metric: str = "iou@90", chosen: str = "") -> Any:
    """Return means as Table 1 takes them: name, group, value."""
    frame = pd.DataFrame(rows, columns=["name", "group", "value"])
    frame = frame.assign(std=0.1, low=frame["value"] - 0.01, high=frame["value"] + 0.01,
                         chance=0.06, ceiling=0.7, corrected=0.2, n=9, undefined=0,
                         chosen=chosen)  # fmt: skip
    return cast(
        "Scored",
        SimpleNamespace(metrics=(metric,), metric=metric, about=frame[["name", "group", "chosen"]],
                        of=lambda _: frame),
    )  # fmt: skip


# --- all lines -----------------------------------------------------------------------------------


def test_lines_are_those_of_the_leaderboard(results: Results, scored: Scored) -> None:
    board = results.leaderboard()
    best = board[board["group"] != "baseline"].iloc[0]
    row = scored.row(str(scored.best))
    for key in ("value", "low", "high", "std", "median", "chance", "ceiling", "corrected"):
        assert row[key] == pytest.approx(best[key], abs=1e-12), key
    assert (row["method"], row["model"], row["n"]) == (best["method"], best["model"], best["n"])
    plain = board[board["group"] != "baseline"]
    assert len(scored.names(baselines=False)) == len(plain)
    assert len(scored.names(baselines=True)) < (board["group"] == "baseline").sum()


def test_a_line_is_about_the_same_maps_under_every_metric(results: Results, scored: Scored) -> None:
    line = scored.row(str(scored.best))
    board = results.leaderboard(
        "coverage", model=line["model"], method=line["method"], layer=int(line["layer"])
    )
    assert scored.row(str(scored.best), "coverage")["value"] == board["value"].iloc[0]


def test_comparisons_are_those_of_results(results: Results, scored: Scored) -> None:
    names = [name for name in scored.names(baselines=False) if "demo/vit " in name][:2]
    (found,) = scored.compare([(names[0], names[1])]).to_dict("records")
    values = scored.values()
    gap = values[names[0]] - values[names[1]]
    assert found["n"] == gap.notna().sum()
    split = results.leaderboard(layer="split", model="demo/vit").set_index("method")["value"]
    one, two = (name.split()[-1] for name in names)
    assert found["difference"] == pytest.approx(split[one] - split[two])
    assert scored.by_halves(names[0])["value"] == pytest.approx(split[one])  # type: ignore[index]
    plain = replace(scored, halves=None)
    (found,) = plain.compare([(names[0], names[1])]).to_dict("records")
    assert found["difference"] == pytest.approx(gap.mean())
    assert plain.by_halves(names[0]) is None


# --- files ---------------------------------------------------------------------------------------


def test_the_summary_has_the_guides_columns_first(scored: Scored) -> None:
    table = summary_results(scored)
    first = ["method", "pointing_mean", "pointing_std", "coverage_mean", "coverage_std",
             "auc_roc_mean", "auc_roc_std", "average_precision_mean", "average_precision_std",
             "iou@95_mean", "iou@95_std", "iou@90_mean", "iou@90_std"]  # fmt: skip
    assert list(table)[: len(first)] == first
    at = list(table).index("name")
    assert list(table)[at : at + 6] == ["name", "model", "target", "layer", "group", "chosen"]
    assert all(f"{metric}_mean" in table for metric in scored.metrics)
    assert {"iou@90_corrected", "coverage_low", "coverage_undefined"} <= set(table)
    assert "coverage_corrected" not in table
    assert table["name"].is_unique
    assert table["iou@90_mean"].is_monotonic_decreasing
    assert table["coverage_mean"].tolist() == scored.of("coverage")["value"].tolist()


def test_details_average_to_the_summary(results: Results, scored: Scored) -> None:
    table = detailed_results(results, scored)
    assert list(table)[:2] == ["image", "method"]
    assert tuple(list(table)[2 : 2 + len(scored.metrics)]) == scored.metrics
    assert list(table)[2 + len(scored.metrics) :] == [
        "name", "model", "target", "layer", "group", "area", "visible", "label", "predicted",
        "correct",
    ]  # fmt: skip
    assert not table.duplicated(["image", "name"]).any()
    means = table.groupby("name")["iou@90"].mean()
    for row in scored.of("iou@90").to_dict("records"):
        assert means[row["name"]] == pytest.approx(row["value"])
    assert len(table) == len(scored.about) * results.manifest["data"]["images"]
    assert table["visible"].eq(1).all()
    assert table["area"].between(0.01, 0.6).all()


def test_predictions_stand_beside_the_lines_of_their_models(
    results: Results, scored: Scored
) -> None:
    image = scored.values().index[0]
    known = pd.DataFrame(
        {"model": ["demo/cnn"], "image": [image], "predicted": ["Gothic"], "correct": [False]}
    )
    table = detailed_results(results, scored, known).set_index(["image", "name"])
    assert table.loc[(image, "demo/cnn gradcam"), "predicted"] == "Gothic"
    assert not table.loc[(image, "demo/cnn gradcam"), "correct"]
    assert pd.isna(table.loc[(image, "demo/vit cls"), "predicted"])


# --- the methods section -------------------------------------------------------------------------


def test_the_methods_section_can_be_set_and_cites_what_is_in_the_file(
    results: Results, scored: Scored
) -> None:
    text = methods_text(results, scored, detection=True, predictions=True)
    latex = text.latex()
    assert latex.isascii()
    assert latex.count("{") == latex.count("}")
    assert latex.count("$") % 2 == 0
    cited = {key for keys in re.findall(r"\\cite\{([\w,]+)\}", latex) for key in keys.split(",")}
    assert cited == set(text.cited)
    assert set(re.findall(r"^@\w+\{(\w+),$", bibtex(text.cited), re.MULTILINE)) == cited
    assert r"$\sum  (r_i - r_{i-1})\cdot p_i$ with precision $p_i$ and recall $r_i$" in latex
    assert r"$|S \cap  G| / |S \cup  G|$" in latex
    html = text.html()
    for key in text.cited:
        assert f'href="#ref-{key}"' in html
        assert f'<li id="ref-{key}">' in text.references_html()
    assert "{{" not in html
    assert "[@" not in html


def test_the_methods_section_says_what_baselines_know_and_how_layers_are_chosen(
    results: Results, scored: Scored
) -> None:
    text = methods_text(results, scored).html()
    assert "centre and edge, which know nothing of a model; mean_map, the mean of a model" in text
    assert "for these tests, layers are chosen for each half" in text
    plain = methods_text(results, replace(scored, halves=None)).html()
    assert "each half" not in plain


def test_selections_are_told_where_they_are_used(results: Results, scored: Scored) -> None:
    told = methods_text(results, scored).html()
    assert "@90 selects the top 10% of pixels" in told
    assert "@mean" not in told
    other = replace(scored, metrics=("iou@mass60", "iou@mean", "iou@matched"))
    told = methods_text(results, other).html()
    assert "@90 selects" not in told
    assert "@mass60: the fewest pixels that hold that percentage" in told
    assert "@mean: the pixels above" in told
    assert "@matched: as many pixels" in told


# --- Table 1 -------------------------------------------------------------------------------------


def test_table_one_of_the_demo(scored: Scored) -> None:
    table = table_one(scored)
    assert table.metrics == ("coverage", "average_precision", "auc_roc", "iou@90")
    groups = [group == "baseline" for _, group, _ in table.rows]
    assert groups == sorted(groups)
    for column, metric in enumerate(table.metrics):
        best = [cells[column] for _, _, cells in table.rows if cells[column].best]
        rows = scored.of(metric)
        most = rows[rows["group"] != "baseline"]["value"].max()
        assert [round(cell.value, 3) for cell in best] == [round(most, 3)] * len(best)
    assert table.chance[2] == 0.5
    assert table.markdown().count("\n|") == len(table.rows) + 2


def test_the_best_is_bold_ties_share_it_and_baselines_never_are() -> None:
    rows = [("a", "cam", 0.3004), ("b", "cam", 0.2996), ("c", "cam", 0.1),
            ("edge", "baseline", 0.9)]  # fmt: skip
    table = table_one(made_up(rows))
    assert [cells[0].best for _, _, cells in table.rows] == [True, True, False, False]
    text = table.latex()
    assert text.count(r"\mathbf{0.300}") == 2
    assert r"\mathbf{0.900}" not in text
    assert "**0.300 ± 0.100 [0.290, 0.310]**" in table.markdown()


def test_the_lowest_is_bold_where_low_values_are_good() -> None:
    table = table_one(made_up([("a", "cam", 0.3), ("b", "cam", 0.2)], "kl"), ("kl",))
    assert [cells[0].best for _, _, cells in table.rows] == [False, True]


def test_arrows_say_which_values_are_good() -> None:
    rows = [("a", "cam", 0.3)]
    assert r"kl $\downarrow$" in table_one(made_up(rows, "kl"), ("kl",)).latex()
    assert r"IoU@90 $\uparrow$" in table_one(made_up(rows)).latex()


def test_the_note_speaks_of_chosen_layers_where_there_are_any() -> None:
    rows = [("a", "cam", 0.3)]
    assert "Layers" not in table_one(made_up(rows)).note
    assert "9 images;" in table_one(made_up(rows)).note
    noted = table_one(made_up(rows, chosen="best of 3 layers on the same images")).note
    assert noted.endswith("Layers: best by iou@90 on the same images, which flatters them.")


def test_undefined_means_are_dashes_and_never_best() -> None:
    table = table_one(made_up([("a", "cam", math.nan), ("b", "cam", math.nan)]))
    assert not any(cells[0].best for _, _, cells in table.rows)
    assert table.latex().count("a & -- ") == 1
    assert "| a | – |" in table.markdown()


def test_names_cannot_break_a_table() -> None:
    table = table_one(made_up([(ODD, "cam", 0.3)]))
    row = next(line for line in table.latex().splitlines() if "mathbf" in line)
    assert row.startswith(r"a\_b \$x\$ 50\% \textless{}i\textgreater{}\&amp;\textbar{}*")
    cells = [line for line in table.markdown().splitlines() if "0.300" in line]
    assert len(cells) == 1
    assert "<" not in cells[0]
    assert cells[0].replace("\\|", "").count("|") == 3


@pytest.mark.parametrize("name", ["[b]", "*", "two\nlines", "two\u2028lines"])
def test_names_cannot_end_a_row(name: str) -> None:
    table = table_one(made_up([("a", "cam", 0.4), (name, "cam", 0.3)]))
    rows = [line for line in table.latex().splitlines() if line.endswith(r"\\")]
    assert len(rows) == 4
    assert rows[2].startswith(("{}", "two lines"))
    assert len(table.markdown().splitlines()) == 7


@pytest.mark.parametrize("sign", list("\\&%$#_{}~^<>|"))
def test_every_special_sign_is_written_out(sign: str) -> None:
    assert tex(sign) != sign
    assert tex(f"a{sign}b").startswith("a")


def test_metrics_that_are_not_stored_are_left_out() -> None:
    table = table_one(made_up([("a", "cam", 0.3)], "dice@90"))
    assert table.metrics == ("dice@90",)
    assert np.isclose(table.chance[0], 0.06)
