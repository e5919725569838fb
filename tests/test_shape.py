"""Functions stay short and take few arguments; those that do not say why."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sightline.cli.app import app

if TYPE_CHECKING:
    from collections.abc import Iterator

    import typer

ROOT = Path(__file__).parents[1]
FOLDERS = ("src", "benchmarks", "training", "docs", "tests")
LINES, ARGUMENTS = 45, 7
# Kinds that may be larger. Each argument of a command or a route is an option that a framework
# reads from the signature; a kernel can be given arrays and numbers, no records of ours.
ROUTES = ("router.",)
KERNELS = ("compiled", "triton.jit")
# The rest, each with its reason. All are public: their arguments are keywords that pages and
# notebooks use, and a record in between would be one more name for the same options.
_FILTERS = "the filters of a line, as `sightline compare` and the API have them"
_PROTOCOL = "the settings of a published protocol, each with its usual value"
_SELECTION = "how a map is thresholded, as in `score_maps`, beside what is drawn"
_BOXES = "how plain lists of boxes are read, beside the thresholds of the metric"
REASONS = {
    "sightline.results.chance.against_chance": _FILTERS,
    "sightline.report.one_image.analyse": "what `explain` and the scores take, in one call",
    "sightline.results.missing_labels.sparsity_report": _FILTERS,
    "sightline.data.by_image.score_by_image": "options of `score_maps`, handed on",
    "sightline.data.facades.dataset.read": "what every reader takes, and the options of the set",
    "sightline.detection.columns.GroundTruth.from_arrays": "one argument for each column",
    "sightline.detection.comparison.compare_detectors": _PROTOCOL,
    "sightline.detection.confusion.generate_confusion_matrix": _BOXES,
    "sightline.detection.errors.error_types": _BOXES,
    "sightline.detection.evaluate.evaluate_detections": _PROTOCOL,
    "sightline.detection.readers.as_tables": "what the files of one side do not say, by format",
    "sightline.detection.sizes.calculate_map_by_size": _BOXES,
    "sightline.figures.images.draw_layer_maps": "what is drawn, and the words around it",
    "sightline.models.finetuning.finetune.finetune": "data and folders; the rest is in `settings`",
    "sightline.core.geometry.fit.fit_geometry": "what preprocessors of models state, one by one",
    "sightline.attribution.methods.make.explain": "the fields of a request, as users have them",
    "sightline.metrics.boxes.compute_corloc": _PROTOCOL,
    "sightline.metrics.engine.score_maps": "the one way into the scores; each option is a column",
    "sightline.attribution.prototypes.attribution.attribute": "the target, and the batches",
    "sightline.report.write.write_report": "the options of `sightline report`",
    "sightline.results.results.Results.compare": _FILTERS,
    "sightline.results.results.Results.exemplars": _FILTERS,
    "sightline.results.results.Results.feature_breakdown": _FILTERS,
    "sightline.results.results.Results.images": _FILTERS,
    "sightline.stats.paired_tests.compare_paired": "the data, and those of interval and test",
    "sightline.stats.confidence.interval": "the data, and the settings of an interval",
    "sightline.stats.confidence.intervals": "the data, and the settings of an interval",
    "sightline.stats.cross.cross_scores": _SELECTION,
    "sightline.stats.missing_labels.dropout.bootstrap_iou_under_dropout": _SELECTION,
    "sightline.stats.missing_labels.dropout.delta_under_dropout": _SELECTION,
    "sightline.stats.missing_labels.dropout.dropout_sweep": _SELECTION,
    "sightline.stats.missing_labels.ppi.ppi_mean": "three samples with strata, two settings",
    "sightline.stats.missing_labels.pu.pu_band": "a column each for what is known of a region",
    "sightline.stats.missing_labels.pu.pu_iou": "a column each for what is known of a region",
}


class Function(NamedTuple):
    """A function, the lines of its body without the docstring, and its arguments."""

    name: str
    lines: int
    arguments: int
    decorators: list[ast.expr]


def functions(node: ast.AST, above: str) -> Iterator[Function]:
    """Yield all functions below a node."""
    for one in ast.iter_child_nodes(node):
        name = f"{above}.{getattr(one, 'name', '')}".rstrip(".")
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef):
            body = one.body[ast.get_docstring(one, clean=False) is not None :]
            lines = one.body[-1].end_lineno - body[0].lineno + 1 if body else 0  # type: ignore[operator]
            taken = (*one.args.posonlyargs, *one.args.args, *one.args.kwonlyargs)
            count = sum(each.arg not in ("self", "cls") for each in taken)
            yield Function(name, lines, count, one.decorator_list)
        yield from functions(one, name)


def module_name(path: Path) -> str:
    """Return what a file is imported as."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(part for part in parts if part not in ("src", "__init__"))


def commands(group: typer.Typer) -> set[str]:
    """Return the names of the functions behind the commands of a group and of those below it."""
    below = (commands(one.typer_instance) for one in group.registered_groups if one.typer_instance)
    mine = {f"{one.callback.__module__}.{one.callback.__qualname__}"
            for one in group.registered_commands if one.callback}  # fmt: skip
    return mine.union(*below)


def test_what_is_long_or_takes_much_says_why() -> None:
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
    every = [
        one
        for path in files
        for one in functions(ast.parse(path.read_text("utf-8")), module_name(path))
    ]
    assert len(every) > 5000
    assert sum(one.arguments for one in every) > len(every)
    asked = commands(app)
    assert "sightline.cli.score.score" in asked
    large = {
        one.name: f"{one.lines} lines, {one.arguments} arguments"
        for one in every
        if (one.lines > LINES or one.arguments > ARGUMENTS)
        and one.name not in asked
        and not any(each.startswith(ROUTES + KERNELS) for each in map(ast.unparse, one.decorators))
    }
    unexplained = {name: how for name, how in large.items() if name not in REASONS}
    assert not unexplained, "too large: split it, group its arguments, or say why in REASONS"
    assert [name for name in REASONS if name not in large] == [], "no reason needed any more"


def test_lines_and_arguments_are_counted() -> None:
    source = '''
class A:
    @property
    def f(self, a, /, b, *, c):
        """Text.

        More.
        """
        def g():
            """Only text."""
        # a comment counts
        return g
'''
    found = list(functions(ast.parse(source), "m"))
    assert [one[:3] for one in found] == [("m.A.f", 4, 3), ("m.A.f.g", 0, 0)]
    assert [list(map(ast.unparse, one.decorators)) for one in found] == [["property"], []]
