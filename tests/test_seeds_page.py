"""The page of things from the source documents: what it names is there, and nothing is left out."""

from __future__ import annotations

import ast
import re
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, get_args, get_type_hints

import pytest
import typer

import sightline
from sightline.attribution.methods import METHODS
from sightline.attribution.prototypes import PERTURBATIONS
from sightline.cli import app
from sightline.data import DATASETS
from sightline.metrics import METRICS
from sightline.models import FAMILIES, MODELS
from sightline.study import Data, LocalPerturbationAnalysis, RelevanceAnalysis, Study

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "seeds.md").read_text("utf-8")
HEAD = ["named there", "here", "proven by", "where we differ, and why"]
NOT_OFFERED = "not offered: "
CODE = re.compile(r"`([^`]+)`")
ROUTES = set(re.findall(r"^### `(.+)`$", (ROOT / "docs" / "rest.md").read_text("utf-8"), re.M))
KEYS = {
    *Study.model_fields,
    *(f"data.{key}" for key in Data.model_fields),
    *("relevance_analysis", "local_perturbation_analysis"),
    *RelevanceAnalysis.model_fields,
    *LocalPerturbationAnalysis.model_fields,
}
NAMES = {*METHODS, *MODELS, *FAMILIES, *DATASETS, *PERTURBATIONS, *KEYS}

# What the documents call by a name of its own: functions, classes, hooks, tables, settings, files.
NAMED = """
compute_iou compute_image_iou threshold_attention compute_coverage compute_corloc
compute_per_bbox_iou aggregate_by_feature_type ImageAnnotation.get_union_mask
BoundingBox.to_mask EPSILON MetricsService
compute_metrics_for_model feature_metrics useBboxMetrics torch.quantile /api/metrics/...
match_predictions calculate_pr_data calculate_ap calculate_map calculate_map_by_size
generate_confusion_matrix match_results num_gt_per_class confidence_threshold
get_bbox_metrics bbox_recall IoUResultSchema pointing_game_hit top_k_pointing_accuracy
bootstrap_iou_under_dropout dropout_rate n_bootstrap is_tp pred_class_id confusion_matrix
class_labels target_classes gt_areas size_ranges
compute_pointing_game compute_energy_based_pointing_game compute_auc_roc
compute_average_precision compute_iou_at_threshold compute_all_metrics TOP_K_PERCENT
EXPLAINABILITY_METHODS visualize_all_methods visualize_attribution_enhanced
create_roc_curve_comparison create_pr_curve_comparison create_iou_threshold_curves
create_pointing_game_visualization create_ebpg_visualization create_methods_ranking_heatmap
create_metrics_radar_chart create_model_vs_method_analysis create_sanity_check_comparison
create_cascade_randomization_plot roc_curves pr_curves metrics_comparison
methods_ranking_heatmap sanity_check_comparison cascade_randomization_test summary_results.csv
detailed_results.csv
relevance_analysis prototype_info_db patch_info_db area_percentage debug_mode sampling_ratio
num_prototypes local_perturbation_analysis info_db global_stats enable_dual_mode
distribution_img quiet brightness_factor contrast_factor saturation_factor hue_factor
gaussian_noise_ksize gaussian_noise_sigma distortion_periods distortion_amplitude
"""


class Line(NamedTuple):
    """A row of a table."""

    named: str
    here: str
    proofs: str
    differs: str


def read_tables() -> dict[str, list[Line]]:
    """Return the rows of each table, by the headings above it."""
    found: dict[str, list[Line]] = {}
    part = title = ""
    for line in PAGE.splitlines():
        if line.startswith("## "):
            part = title = line.removeprefix("## ")
        elif line.startswith("### "):
            title = f"{part}: {line.removeprefix('### ')}"
        elif line.startswith("|"):
            cells = [cell.strip() for cell in line[1:-1].split("|")]
            assert len(cells) == len(HEAD), line
            found.setdefault(title, [])
            if cells != HEAD and set(cells) != {"---"}:
                found[title].append(Line(*cells))
    return found


TABLES = read_tables()


@cache
def written_tests(path: str) -> frozenset[str]:
    """Return the tests in a file, those of classes as Class::test; none if there is no file."""
    file = ROOT / path
    if not path.startswith("tests/") or not file.is_file():
        return frozenset()
    found = set()
    for node in ast.parse(file.read_text("utf-8")).body:
        inner = node.body if isinstance(node, ast.ClassDef) else [node]
        before = f"{node.name}::" if isinstance(node, ast.ClassDef) else ""
        found |= {before + one.name for one in inner if isinstance(one, ast.FunctionDef)}
    return frozenset(name for name in found if name.split("::")[-1].startswith("test_"))


def has_test(token: str) -> bool:
    """Tell whether tests/file.py::test is there."""
    path, _, name = token.partition("::")
    return name in written_tests(path)


def has_name(token: str) -> bool:
    """Tell whether sightline.module.Class.member is there, and public in its module."""
    found: Any = sightline
    for part in token.split(".")[1:]:
        if not isinstance(found, ModuleType):
            known = hasattr(found, part) or part in getattr(found, "__annotations__", {})
            found = getattr(found, part, None)
        elif part in getattr(found, "__all__", ()):
            known, found = hasattr(found, part), getattr(found, part, None)
        else:
            name = f"{found.__name__}.{part}"
            known = hasattr(found, "__path__") and find_spec(name) is not None
            found = import_module(name) if known else None
        if not known:
            return False
    return True


@cache
def command_line() -> Any:
    """Return the command that holds all others."""
    return typer.main.get_command(app)


def has_command(token: str) -> bool:
    """Tell whether a command is there with its options, and takes what these are given."""
    command, taken = command_line(), ()
    for word in token.split()[1:]:
        if word.startswith("--"):
            known = {flag: one.name for one in command.params for flag in one.opts}
            if word not in known:
                return False
            taken = get_args(get_type_hints(command.callback)[known[word]])
        elif hasattr(command, "commands"):
            if word not in command.commands:
                return False
            command = command.commands[word]
        elif word not in taken:
            return False
    return True


def is_there(token: str) -> bool:
    """Tell whether what a token names is there."""
    if token.startswith("sightline "):
        return has_command(token)
    if token.split(".")[0] == "sightline":
        return has_name(token)
    if token.startswith(("GET ", "POST ")):
        return token in ROUTES
    return token in NAMES or token.partition("@")[0] in METRICS


# --- the page ------------------------------------------------------------------------------------


every_table = pytest.mark.parametrize("title", TABLES)


@every_table
def test_all_that_a_row_names_is_there(title: str) -> None:
    for line in TABLES[title]:
        others = [token for token in CODE.findall(line.differs) if token.startswith("sightline")]
        for token in [*CODE.findall(line.here), *others]:
            assert is_there(token), (token, line.named)
        for token in CODE.findall(line.proofs):
            assert has_test(token), (token, line.named)


@every_table
def test_a_row_is_proven_or_says_why_it_is_not_offered(title: str) -> None:
    for line in TABLES[title]:
        assert line.named
        if line.here.startswith(NOT_OFFERED):
            assert len(line.here) > len(NOT_OFFERED), line.named
            assert not line.proofs, line.named
        else:
            assert line.here, line.named
            assert CODE.findall(line.proofs), line.named
            assert not CODE.sub("", line.proofs).strip(", "), line.named


@every_table
def test_no_thing_has_two_rows_in_a_table(title: str) -> None:
    named = [line.named for line in TABLES[title]]
    assert named
    assert len(named) == len(set(named))


def test_every_name_of_the_documents_has_a_row() -> None:
    rows = [line.named for table in TABLES.values() for line in table]
    codes = [code for row in rows for code in CODE.findall(row)]
    words = {word for code in codes for word in re.findall(r"[\w./]+", code)}
    assert [name for name in NAMED.split() if name not in words] == []


@pytest.mark.parametrize(
    "token",
    [
        "sightline.metrics.compute_nothing",
        "sightline.metrics.nothing.compute_iou",
        "sightline.metrics.overlap.np",
        "sightline.core.BoundingBox.to_nothing",
        "sightline.metrics.IoU.nothing.at_all",
        "sightline nothing",
        "sightline show --nothing",
        "sightline show --by nothing",
        "sightline review nothing",
        "GET /api/nothing",
        "POST /api/metrics",
        "nothing@90",
        "tests/test_docs.py::test_nothing_at_all",
    ],
)
def test_what_is_not_there_is_told(token: str) -> None:
    assert not is_there(token)
    assert not has_test(token)
