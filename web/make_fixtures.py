"""Write what the browser's own numbers are tested against: scores from the engine, colours.

    python web/make_fixtures.py

writes `src/numeric/fixtures.json` (small maps with every rule, scored by `score_maps`) and
`src/viewer/colourmaps.json` (stops of the colour scales). A test compares both with what this
would write.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.metrics import METRICS, score_maps
from sightline.results.image_maps import figure_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

SOURCES = Path(__file__).parent / "src"
SCORES = SOURCES / "numeric" / "fixtures.json"
COLOURS = SOURCES / "viewer" / "colourmaps.json"

NAMES = ("iou", "iou_corrected", "coverage", "recall", "precision", "lift", "pointing")
RULES = (
    *(("percentile", level) for level in (50, 90, 97.3)),
    *((name, 90) for name in ("mass60", "mean", "matched")),
)
MORE = (*(("percentile", level) for level in (5, 75, 95, 99.9)), ("mass25", 90))
SCALES = {
    "inferno": "inferno",
    "viridis": "viridis",
    "cividis": "cividis",
    "greys": "gray",
    "rdbu": "RdBu_r",
}
STOPS = 33


@dataclass(frozen=True)
class Case:
    """A map with its regions, and pixels that do not count."""

    name: str
    values: NDArray[np.float32]
    regions: tuple[NDArray[np.bool_], ...]
    sign: str = "positive"
    ignore: NDArray[np.bool_] | None = None
    made: tuple[int, int] | None = None
    rules: tuple[tuple[str, float], ...] = RULES

    def told(self) -> dict[str, Any]:
        """Return the map as the browser's test reads it; a large one as how it was made."""
        rows, columns = self.values.shape
        told: dict[str, Any] = {"name": self.name, "rows": rows, "columns": columns}
        if self.made is not None:
            told["made"] = {"seed": self.made[0], "levels": self.made[1]}
        else:
            told["values"] = [float(value) for value in self.values.ravel()]
        told["sign"] = self.sign
        told["regions"] = [_runs(mask) for mask in self.regions]
        told["ignore"] = None if self.ignore is None else _runs(self.ignore)
        return told


def _runs(mask: NDArray[np.bool_]) -> list[int]:
    """Return the lengths of the runs of a mask, the first of pixels that are not in it."""
    flat = np.concatenate([[False], mask.ravel()])
    edges = np.flatnonzero(np.diff(flat))
    return [int(run) for run in np.diff(np.concatenate([[0], edges, [mask.size]]))]


def scattered(seed: int, levels: int, rows: int, columns: int) -> NDArray[np.float32]:
    """Return values that any language draws alike: whole steps of a linear congruence."""
    state, found = seed, []
    for _ in range(rows * columns):
        state = (state * 1103515245 + 12345) % 2**31
        found.append((state >> 8) % levels)
    return (np.array(found, np.float32) / 1024).reshape(rows, columns)


def _box(rows: int, columns: int, y0: int, x0: int, y1: int, x1: int) -> NDArray[np.bool_]:
    mask = np.zeros((rows, columns), np.bool_)
    mask[y0:y1, x0:x1] = True
    return mask


def _cases() -> list[Case]:
    """Return maps with ties, without information, with signs, with pixels left out; a large one."""
    draw = np.random.default_rng(11)
    rows, columns = 9, 7
    size = rows, columns
    boxes = _box(*size, 1, 1, 5, 4), _box(*size, 4, 3, 9, 7)
    nothing = _box(*size, 0, 0, 0, 0)
    smooth = draw.random(size, np.float32)
    stepped = (draw.integers(0, 4, size) / 3).astype(np.float32)
    signed = draw.normal(size=size).astype(np.float32)
    signed[2, :3] = 0
    signed[3, :2] = -0.0
    left_out = _box(*size, 0, 0, 3, 7)
    large = _box(224, 224, 40, 60, 120, 100), _box(224, 224, 100, 90, 200, 210)
    return [
        Case("smooth", smooth, (*boxes, nothing), rules=(*RULES, *MORE)),
        Case("ties", stepped, boxes, rules=(*RULES, *MORE)),
        Case("nothing annotated", stepped, (nothing,)),
        Case("constant", np.full(size, 0.25, np.float32), boxes),
        Case("zero", np.zeros(size, np.float32), boxes),
        Case("one peak", _box(*size, 2, 2, 3, 3).astype(np.float32), boxes),
        Case("signs: positive", signed, boxes),
        Case("signs: absolute", signed, boxes, "absolute"),
        Case("signs: signed", signed, boxes, "signed"),
        Case("all negative", -smooth, boxes),
        Case("annotation covers all", smooth, (np.ones(size, np.bool_),)),
        Case("pixels left out", stepped, boxes, ignore=left_out),
        Case("pixels left out, absolute", signed, boxes, "absolute", left_out),
        Case("every pixel left out", smooth, boxes, ignore=np.ones(size, np.bool_)),
        Case("one pixel", np.ones((1, 1), np.float32), (np.ones((1, 1), np.bool_),)),
        Case("large", scattered(5, 4096, 224, 224), large, made=(5, 4096), rules=(*RULES, *MORE)),
    ]


def _scored(case: Case, selection: str, level: float, ties: str) -> list[list[Any]]:
    """Return the scores of the union and of each region by one rule."""
    names = [name for name in NAMES if case.sign != "signed" or name != "coverage"]
    scores = score_maps(
        case.values[None],
        regions=[list(case.regions)],
        selection=selection,
        percentiles=[level],
        sign=case.sign,  # type: ignore[arg-type]
        ties=ties,  # type: ignore[arg-type]
        ignore=None if case.ignore is None else case.ignore[None],
        metrics=names,
        threads=1,
    )
    token = f"{level:g}" if selection == "percentile" else selection
    regions = [_figures(scores.regions, i, token) for i in range(len(case.regions))]
    return [_figures(scores, 0, token), *regions]


def _figures(columns: Any, item: int, token: str) -> list[Any]:
    """Return both areas, then value, chance and ceiling of every score, as the service does."""
    areas = (columns[f"attention_area@{token}"], columns["annotation_area"])
    found: list[Any] = [_plain(float(np.ravel(area)[item])) for area in areas]
    for name in NAMES:
        figure = figure_of(columns, item, f"{name}@{token}" if METRICS[name].thresholded else name)
        found.append([_plain(figure[part]) for part in ("value", "chance", "ceiling")])
    return found


def _plain(value: float) -> float | None:
    """Return a number that JSON can hold; undefined is null."""
    return None if np.isnan(value) else float(value)


def make_scores() -> dict[str, Any]:
    """Return maps and what the engine scores them."""
    cases = []
    for case in _cases():
        lines = []
        for selection, level in case.rules:
            if case.sign == "signed" and selection not in ("percentile", "matched"):
                continue
            for ties in ("share", "include"):
                rule = {"selection": selection, "percentile": level, "ties": ties}
                lines.append({"rule": rule, "scores": _scored(case, selection, level, ties)})
        cases.append({**case.told(), "lines": lines})
    return {"names": NAMES, "cases": cases}


def make_colours() -> dict[str, list[str]]:
    """Return evenly spaced stops of each colour scale as hexadecimal numbers."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    places = np.linspace(0, 1, STOPS)
    return {
        name: [to_hex(colour)[1:] for colour in colormaps[scale](places)]
        for name, scale in SCALES.items()
    }


def text_of(content: dict[str, Any]) -> str:
    """Return the text of a file: a line for each case keeps changes readable."""
    if "cases" not in content:
        return json.dumps(content, indent=1) + "\n"
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in content["cases"])
    return f'{{"names":{json.dumps(content["names"])},"cases":[\n{lines}\n]}}\n'


def main() -> None:
    """Write both files."""
    SCORES.write_text(text_of(make_scores()), encoding="utf-8")
    COLOURS.write_text(text_of(make_colours()), encoding="utf-8")


if __name__ == "__main__":
    main()
