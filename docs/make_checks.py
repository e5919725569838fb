"""Write the tables and figures of `checks.md`: python docs/make_checks.py runs/checks.

The folder is that of the study that the page shows, `sightline sanity checks.yml`.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from make_figures import write_picture

from sightline import results as analysis
from sightline.core import InputError
from sightline.data import load_dataset
from sightline.data.facades import facade_of
from sightline.results import open_results

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd

    from sightline.results import Results

PAGE = Path(__file__).parent / "checks.md"
PICTURES = Path(__file__).parent / "images" / "checks"
FIGURES = ("sanity-check", "cascade", "removal-curves")
PAIRS = (("demo/confounded", "demo/vit"), ("demo/vit@seed2", "demo/vit"))


def tables(results: Results) -> Iterator[tuple[str, str]]:
    """Yield each table of the page by its name there."""
    yield "verdicts", shown(verdicts(results))
    yield "faithfulness", shown(faithfulness(results))
    yield "parts", shown(parts(results))
    yield "background", shown(background(results))
    yield "even", f"{even(results):.3f} of an image is sky and ground, on the mean of these images."


def verdicts(results: Results) -> list[dict[str, str]]:
    """Return what is said of each line's maps, by the similarity of ranks."""
    return [
        {
            "model": line.model,
            "method": line.method,
            "similarity": spanned(line.similarity, line.low, line.high),
            "other images": number(line.cross),
            "difference": spanned(line.difference, line.difference_low, line.difference_high),
            "verdict": line.verdict,
            "the guide's rule": line.guide,
            "its rule for the cascade": line.cascade,
        }
        for line in lines(analysis.sanity_table(results))
    ]


def faithfulness(results: Results) -> list[dict[str, str]]:
    """Return the areas under curves, each with its difference to the random map's."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for line in lines(analysis.faithfulness_table(results)):
        row = found.setdefault((line.model, line.method), {"model": line.model})
        row["method"] = line.method
        apart = spanned(line.difference, line.difference_low, line.difference_high, "+")
        better = f"{line.measure} ({line.better} is better)"
        row[better] = number(line.value)
        row[f"{line.measure}, minus random"] = apart
    return list(found.values())


def parts(results: Results) -> list[dict[str, str]]:
    """Return how well maps rank the parts that decide."""
    return [
        {
            "model": line.model,
            "method": line.method,
            "precision": spanned(line.precision, line.precision_low, line.precision_high),
            "by chance": number(line.base),
            "average precision": spanned(line.ap, line.ap_low, line.ap_high),
            "images": str(line.images),
        }
        for line in lines(analysis.parts_table(results))
    ]


def background(results: Results) -> list[dict[str, str]]:
    """Return how much more one model's maps are on sky and ground than another's."""
    return [
        {
            "maps of": line.one,
            "beside": line.other,
            "method": line.method,
            "on sky and ground": number(line.share_one),
            "the other's": number(line.share_other),
            "difference": spanned(line.difference, line.low, line.high, "+"),
            "p": f"{line.p:.4f}",
            "p, Holm": f"{line.p_holm:.4f}",
        }
        for one, other in PAIRS
        for line in lines(analysis.background_test(results, one, other))
        if line.method not in ("random", "centre", "edge")
    ]


def even(results: Results) -> float:
    """Return the share of the images that is sky and ground: what an even map has there."""
    asked = results.study["data"]
    samples = load_dataset("facades", count=asked["count"], seed=asked["seed"])
    shares = [float(facade_of(sample).background().mean()) for sample in samples]
    return sum(shares) / len(shares)


# --- writing -------------------------------------------------------------------------------------


def lines(frame: pd.DataFrame) -> list[Any]:
    """Return the lines of a table, each with its columns as attributes."""
    return list(frame.itertuples())


def number(value: float, sign: str = "") -> str:
    """Return a number with three digits; a dash where there is none."""
    return "–" if value != value else f"{value:{sign}.3f}"


def spanned(value: float, low: float, high: float, sign: str = "") -> str:
    """Return a number with its interval."""
    if value != value:
        return "–"
    return f"{number(value, sign)} [{number(low, sign)}, {number(high, sign)}]"


def shown(rows: Sequence[dict[str, str]]) -> str:
    """Return a table of Markdown; numbers to the right."""
    heads = list(dict.fromkeys(head for row in rows for head in row))
    cells = [[row.get(head, "–") or "–" for head in heads] for row in rows]
    columns = list(zip(*cells, strict=True))
    right = [all(re.match(r"[–+\-\d]", cell) for cell in column) for column in columns]
    rule = ["---:" if one else "---" for one in right]
    return "\n".join("| " + " | ".join(line) + " |" for line in (heads, rule, *cells))


def render(text: str, results: Results) -> str:
    """Return the page with its tables filled in anew."""
    for name, table in tables(results):
        head, begun, rest = text.partition(f"<!-- {name} -->\n")
        _, end, tail = rest.partition("<!-- end -->")
        if not begun or not end:
            raise InputError(f"{PAGE}: no place for {name!r}")
        text = f"{head}{begun}{table}\n{end}{tail}"
    return text


def main(store: str) -> None:
    """Fill in the page and draw its figures."""
    from sightline.report.figures import StoreFigures

    with open_results(store) as results:
        PAGE.write_text(render(PAGE.read_text("utf-8"), results), "utf-8")
        figures = StoreFigures(results)
        for name in FIGURES:
            size = write_picture(name, figures.draw(name).figure, PICTURES)
            print(f"{name}: {size:,} bytes")


if __name__ == "__main__":
    main(sys.argv[1])
