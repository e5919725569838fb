"""Write `metrics.md` from METRICS and the docstrings: `python docs/make_metrics.py`."""

from __future__ import annotations

import inspect
import re
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sightline import METRICS, score_maps
from sightline.core import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sightline.metrics import MetricSpec

PAGE = Path(__file__).parent / "metrics.md"
HEAD = """\
<!-- Written by docs/make_metrics.py from METRICS and the docstrings. -->

# Metrics

A metric compares a map with an annotation, or looks at the map alone. The letters: `N` pixels, `P`
of them annotated, `g = P/N`; `k` pixels selected, `a = k/N`; `hits` pixels that are both; `A` the
map, `G` the mask, `T` a soft target. What these words mean, and how pixels are selected, is told
under [Concepts](concepts.md).

A column is named `metric` or `metric@threshold`: `coverage`, `iou@90`, `recall@mass60`,
`iou@matched`, `top_k_any@k5` (pixels), `pointing@tol15` (pixels). Beside it stand
`metric_chance`, what a map without information scores, and for IoU `iou_ceiling`. Metrics against
a soft target that declare no chance have `metric_uniform`, the score of a uniform map.
`annotation_area` is `g`, `attention_area@threshold` is `a`. The ceiling is the best score possible
at these areas; where none is given, it is the better end of the range.
"""
SECTION = re.compile(r"\n\n(?:Parameters|Returns|Examples|References)\n-+\n")
VARIANTS = {"pointing": ["pointing@tol15"]}


def render() -> str:
    """Return the page: a table of all metrics, then a section for each."""
    lead = _code(spec.name for spec in METRICS.values() if spec.role == "primary")
    rows = [
        f"These lead a table, the others support them: {lead}.\n",
        "| name | meaning | range | better | chance | ceiling |",
        "| --- | --- | --- | --- | --- | --- |",
        *map(_row, METRICS.values()),
        "",
    ]
    parts = [HEAD, *rows, *(line for spec in METRICS.values() for line in _section(spec))]
    return "\n".join(parts).rstrip() + "\n"


def _row(spec: MetricSpec) -> str:
    low, high = (f"{end:g}".replace("inf", "∞").replace("-", "−") for end in spec.range)
    chance = "–" if spec.chance is None else str(spec.chance)
    cells = [
        f"[`{spec.name}`](#{spec.name})",
        spec.meaning,
        f"{low} … {high}",
        "–" if spec.direction == "neither" else spec.direction,
        chance,
        "–" if spec.ceiling is None else str(spec.ceiling),
    ]
    return f"| {' | '.join(cells)} |"


def _section(spec: MetricSpec) -> list[str]:
    text = SECTION.split(inspect.getdoc(spec.function) or "")[0]
    function = spec.function.__name__
    points = {
        "Undefined (NaN)": ", ".join(spec.undefined),
        "Best for": spec.best_for,
        "Limitation": spec.limitation,
        "Columns": _columns(spec),
        "Also called": _code(spec.aliases),
        "Python": f"[`{function}`](api.md#sightline.metrics.{function})",
        "Reference": "" if spec.citation == "—" else spec.citation,
    }
    lines = [f"- **{name}**: {point}" for name, point in points.items() if point]
    return [f"## {spec.name}\n", f"{text}\n", *lines, ""]


def _columns(spec: MetricSpec) -> str:
    """Return the columns that asking for the metric gives, as `score_maps` names them."""
    asked = [spec.name, *VARIANTS.get(spec.name, [])]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # the one that advises against MSE
            scores = score_maps(
                np.eye(8), regions=[[(0, 0, 0.5, 0.5)]], percentiles=[90], metrics=asked
            )
    except InputError:
        return "none: it is a figure of a whole data set"
    names = [name for name in scores if name != "annotation_area"]
    regional = [name for name in names if name in (scores.regions or {})]
    note = "" if spec.one_pass else f'; on request, `metrics=["{spec.name}"]`'
    if regional:
        note += f"; for each region {'too' if regional == names else _code(regional)}"
    return _code(names) + note


def _code(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
    sys.stdout.write(f"{PAGE}\n")
