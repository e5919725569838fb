"""What a benchmark of prototypes leaves: its tables, and what is told of it."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING, Any

from sightline.study.plan.manifest import package_versions
from sightline.study.prototypes.parts import is_by_class

if TYPE_CHECKING:
    import pyarrow as pa

    from sightline.study.prototypes.parts import BenchmarkJob
    from sightline.study.prototypes.plan import BenchmarkPlan

__all__ = ["benchmark_about", "benchmark_tables"]

_RELEVANCE = ("img_id", "proto_idx", "mask_relevance", "energy_relevance")
_INFO = {
    "img_id": "img_id",
    "proto_idx": "proto_idx",
    "original_score": "original_score",
    "perturbation": "perturbation",
    "focused": "score_after_perturbation",
    "dual": "dual_score_after_perturbation",
    "description": "description",
    "squared_distance": "squared_distance",
    "dual_squared_distance": "dual_squared_distance",
    "row": "h",
    "column": "w",
}


def benchmark_tables(plan: BenchmarkPlan, tables: dict[str, list[pa.Table]]) -> dict[str, pa.Table]:
    """Return the tables by file."""
    import pyarrow as pa

    whole = {stage: pa.concat_tables(parts) for stage, parts in tables.items()}
    config, files = plan.asked.config, dict[str, pa.Table]()
    if (section := config.relevance_analysis) is not None:
        both = whole["prototypes"], whole["patches"]
        files["relevance.parquet"] = pa.concat_tables(both)
        names = section.prototype_info_db, section.patch_info_db
        files |= {n: table.select(_RELEVANCE) for n, table in zip(names, both, strict=True)}
    if (local := config.local_perturbation_analysis) is not None:
        drops = whole["drops"]
        files["drops.parquet"] = drops
        files[local.info_db] = drops.select(list(_INFO)).rename_columns(list(_INFO.values()))
        files[local.global_stats] = _global_stats(plan, drops)
    return files


def _global_stats(plan: BenchmarkPlan, drops: pa.Table) -> pa.Table:
    """Return statistic, perturbation, value: the prototypes covered, the mean focused drops."""
    import pyarrow as pa

    from sightline.attribution.prototypes.score_drops import global_stats

    found = global_stats(drops)
    rows: list[tuple[str, str | None, float]] = [
        ("prototypes", None, float(_own_count(plan))),
        ("covered_prototypes", None, float(len(found.covered))),
        *(("mean_focused_drop", name, value) for name, value in found.drops.items()),
        *(("undefined_drops", name, float(value)) for name, value in found.undefined.items()),
    ]
    schema = pa.schema(
        [("statistic", pa.string()), ("perturbation", pa.string()), ("value", pa.float64())]
    )
    names = ("statistic", "perturbation", "value")
    return pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows], schema)


def _own_count(plan: BenchmarkPlan) -> int:
    """Return how many prototypes, or classes, the scores could be of."""
    return len(plan.asked.model.classes if plan.asked.method else plan.prototypes)


def benchmark_about(plan: BenchmarkPlan, tables: dict[str, list[pa.Table]]) -> dict[str, Any]:
    """Return what benchmark.json tells."""
    local = plan.asked.config.local_perturbation_analysis
    made = () if local is None else local.made()
    stages = dict.fromkeys(part.stage for part in plan.parts)
    return {
        "settings": plan.settings,
        "versions": package_versions(),
        "classes": list(plan.asked.model.classes),
        "prototype_classes": _prototype_classes(plan.asked),
        "accuracy": _accuracy(tables),
        "counts": {
            "images": len(plan.images),
            "prototypes": len(plan.prototypes),
            **{f"analysed_{stage}": len(plan.ids(stage)) for stage in stages},
            **_count_unmatched(plan, tables),
        },
        "perturbations": [{"name": one.name, "description": one.description} for one in made],
    }


def _count_unmatched(plan: BenchmarkPlan, tables: dict[str, list[pa.Table]]) -> dict[str, int]:
    """Return of how many images no prototype belongs to the predicted class, where that matters."""
    config = plan.asked.config
    sections = {"patches": config.relevance_analysis, "drops": config.local_perturbation_analysis}
    return {
        f"unmatched_{stage}": len(plan.ids(stage))
        - len({number for table in tables[stage] for number in table["img_id"].to_pylist()})
        for stage, section in sections.items()
        if section is not None and section.class_specific
    }


def _prototype_classes(asked: BenchmarkJob) -> list[str]:
    """Return the class of each prototype; none where nothing is asked of prototypes."""
    from sightline.attribution.prototypes.matches import prototype_classes

    return [] if is_by_class(asked) else list(prototype_classes(asked.model))


def _accuracy(tables: dict[str, list[pa.Table]]) -> dict[str, Any]:
    """Return how often the model is right on the images that were analysed, with an interval."""
    from sightline.stats import interval

    right: dict[int, bool] = {}
    for stage in ("patches", "drops"):
        for table in tables.get(stage, ()):
            columns = (table[name].to_pylist() for name in ("img_id", "label", "predicted"))
            for img_id, label, said in zip(*columns, strict=True):
                if label is not None and said is not None:
                    right[img_id] = label == said
    found: dict[str, Any] = {"value": None, "low": None, "high": None, "images": len(right)}
    if right:
        one = interval([float(value) for value in right.values()], kind="share")
        ends = {"value": one.value, "low": one.low, "high": one.high}
        found |= {name: None if isnan(end) else float(end) for name, end in ends.items()}
    return found | {"confidence": 0.95}
