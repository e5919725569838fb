"""Write `figures.md` from the table of figures; with a study's folder, draw its pictures as well.

`python docs/make_figures.py` writes the page, `python docs/make_figures.py runs/demo` the pictures
too. What the demo's store does not hold is computed here: prototypes on more images, and detections
of facades.
"""

from __future__ import annotations

import sys
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from sightline.figures import FIGURES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.figure import Figure

    from sightline.figures import FigureCard

PAGE = Path(__file__).parent / "figures.md"
PICTURES = Path(__file__).parent / "images" / "figures"
DOTS = 110
GROUPS = {
    "images": "Single images",
    "scores": "Scores",
    "curves": "Curves",
    "checks": "Checks of maps",
    "prototypes": "Prototypes",
    "detection": "Detection",
}
HEAD = """\
<!-- Written by docs/make_figures.py from the table of figures. -->

# Figures

Every figure that Sightline draws, and how to read it. All are in one style: Okabe and Ito's
colours, which colour-blind readers can tell apart; other dashes and marks for each line, so that
nothing is lost in grey; baselines in grey and hollow; chance wherever there is a score, intervals
wherever they are known, and the number of images in the notes. Maps that know no sign go from black
to yellow, signed ones from blue (against) to red (for).

`sightline figures` lists them. `sightline figure roc runs/demo --out roc.png` draws one of a study,
and `sightline report runs/demo` all of them on a page, with the numbers they show. Or draw them
from tables of your own: each function takes plain tables and arrays, draws on axes that it is given
or makes a figure, and returns it.

```pycon
>>> from sightline.figures import create_roc_curve_comparison, save
>>> curves = {"method": ["cls"] * 3, "x": [0, 0.5, 1], "value": [0, 0.8, 1]}
>>> figure = create_roc_curve_comparison(curves, {"method": ["cls"], "value": [0.66]})
>>> [file.name for file in save(figure, "roc", ["png", "svg", "pdf"])]
['roc.png', 'roc.svg', 'roc.pdf']
```

Text in SVG and PDF stays text, and the same numbers give the same file to the last byte. The
pictures here are of the demo study (`sightline demo`); `python docs/make_figures.py runs/demo`
draws them again.
"""
CHECKS = """\
Of the checks that the demo study runs; [checks](checks.md) says what each asks, and what it cannot
say.
"""
PROTOTYPES = """\
Of the prototypes of demo/protopnet on 60 facades, the five most similar prototypes of each;
[prototypes](prototypes.md) says what is computed, and what it cannot say. `sightline demo` does the
same on fewer. `--prototype 12` draws the card, or the drops, of one.
"""
DETECTION = """\
Of the parts that an imaginary detector, `careful`, finds on 60 facades; see
[detection](detection.md).
"""


def render() -> str:
    """Return the page: every figure with its picture and what its card says."""
    parts = [HEAD]
    told = {"checks": CHECKS, "prototypes": PROTOTYPES, "detection": DETECTION}
    for group, head in GROUPS.items():
        cards = [card for card in FIGURES.values() if card.group == group]
        words = [told[group]] if group in told else []
        parts += [f"## {head}\n", *words, *map(_section, cards)]
    return "\n".join(parts).rstrip() + "\n"


def _section(card: FigureCard) -> str:
    call = f"`{card.function.__name__}`, `sightline figure {card.name}`, file `{card.file}`"
    return "\n".join(
        [
            f"### {card.title}\n",
            f"![{card.title}](images/figures/{card.name}.png)\n",
            f"**Shows.** {card.shows}\n",
            f"**Reading.** {card.reading}\n",
            f"**Needs.** {card.needs}\n",
            f"{call}\n",
        ]
    )


# --- pictures ------------------------------------------------------------------------------------


def draw_pictures(store: str) -> Iterator[tuple[str, Figure]]:
    """Yield every figure: from a study's folder where it holds what is needed."""
    from sightline.report.figures import StoreFigures
    from sightline.results import open_results

    with open_results(store) as results:
        figures = StoreFigures(results)
        for name in FIGURES:
            if FIGURES[name].group != "prototypes" and not figures.missing(name):
                yield name, figures.draw(name).figure
    yield from _prototypes()
    yield from _detections()


def write_picture(name: str, figure: Figure, pictures: Path = PICTURES) -> int:
    """Save a figure in few colours, which makes it small; return its bytes."""
    from PIL import Image

    from sightline.figures import save

    with TemporaryDirectory() as folder:
        (file,) = save(figure, Path(folder) / name, ("png",), dpi=DOTS)
        with Image.open(file) as image:
            whole = image.convert("RGB")
    few = whole.quantize(palette=whole.quantize(256, method=Image.Quantize.MEDIANCUT))
    colours = np.array(few.getpalette()).reshape(-1, 3)
    colours[colours.min(axis=1) > 248] = 255  # paper is white, not nearly so
    few.putpalette(colours.ravel().tolist())
    content = BytesIO()
    few.save(content, "png", optimize=True)
    pictures.mkdir(parents=True, exist_ok=True)
    return (pictures / f"{name}.png").write_bytes(content.getvalue())


def _prototypes() -> Iterator[tuple[str, Figure]]:
    """Analyse prototypes on more images than the demo does, and draw what is found."""
    from sightline.figures import draw_prototype_cards
    from sightline.models import load_model
    from sightline.report._figures_prototypes import draw_benchmark
    from sightline.report.prototype_cards import prototype_cards
    from sightline.results import open_benchmark
    from sightline.results.live_prototypes import AskedBenchmark
    from sightline.study import BenchmarkJob, run_benchmark
    from sightline.study.config.benchmark import DataChoice, parse_benchmark

    text = "relevance_analysis: {}\nlocal_perturbation_analysis: {num_prototypes: 5}\n"
    images = DataChoice("facades", count=60, options={"seed": 7})
    asked = BenchmarkJob(parse_benchmark(text), load_model("demo/protopnet"), images)
    with TemporaryDirectory() as folder:
        found = open_benchmark(run_benchmark(asked, folder, name="gallery", text=text).path)
        for card in FIGURES.values():
            if card.group == "prototypes" and card.function is not draw_prototype_cards:
                yield card.name, draw_benchmark(found, card.name)[0]
        cards, _ = prototype_cards(AskedBenchmark(found), range(0, 40, 5))
        yield "prototype-cards", draw_prototype_cards(cards, head="Prototypes of demo/protopnet")


def _detections() -> Iterator[tuple[str, Figure]]:
    """Draw what an imaginary detector finds."""
    from sightline import figures
    from sightline.data import load_dataset, write_facades
    from sightline.data.facades.detectors import write_imagined_detections
    from sightline.detection import as_tables, evaluate_detections
    from sightline.store import detection_parts

    with TemporaryDirectory() as folder:
        write_facades(load_dataset("facades", count=60, seed=0), folder)
        write_imagined_detections(folder)
        tables = as_tables(f"{folder}/coco.json", f"{folder}/careful.json")
        parts = detection_parts(evaluate_detections(*tables, ci=0.95))
    best = {key: point for key, point in parts.best.items() if point.f1 > 0}
    yield (
        "detection-pr",
        figures.draw_pr_curves(parts.curves, names=parts.names, best=best, iou=parts.iou),
    )
    yield "detection-classes", figures.draw_intervals(parts.classes)
    if parts.confusion is not None:
        yield "confusion-matrix", figures.draw_confusion_matrix(parts.confusion, names=parts.names)
    if parts.errors is not None:
        yield "error-types", figures.draw_error_types(parts.errors)
    if parts.reliability is not None:
        yield "reliability", figures.draw_reliability(parts.reliability)


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
    sys.stdout.write(f"{PAGE}\n")
    for given in sys.argv[1:2]:
        total = 0
        for picture_name, drawn in draw_pictures(given):
            total += write_picture(picture_name, drawn)
            sys.stdout.write(f"{picture_name}\n")
        sys.stdout.write(f"{total / 1e6:.1f} MB in {PICTURES}\n")
