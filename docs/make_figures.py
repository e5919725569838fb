"""Write `figures.md` from the table of figures; with a study's folder, draw its pictures as well.

`python docs/make_figures.py` writes the page, `python docs/make_figures.py runs/demo` the pictures
too. What no store holds is computed here: changed pixels, and detections of facades.
"""

from __future__ import annotations

import sys
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.figures import FIGURES

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd
    from matplotlib.figure import Figure
    from PIL.Image import Image

    from sightline.figures import FigureCard
    from sightline.models import Model
    from sightline.records import Sample

PAGE = Path(__file__).parent / "figures.md"
PICTURES = Path(__file__).parent / "images" / "figures"
DOTS = 110
GROUPS = {
    "images": "Single images",
    "scores": "Scores",
    "curves": "Curves",
    "checks": "Checks of maps",
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
say. What changed pixels cost is computed for this page alone, on facades that demo/vit has not
seen: pixels were changed in the tenth of the image where its `cls` map is highest, in the tenth
where it is lowest, and everywhere; the score is the probability of the predicted class.
"""
DETECTION = """\
Of the parts that an imaginary detector, `careful`, finds on 60 facades; see
[detection](detection.md).
"""


def render() -> str:
    """Return the page: every figure with its picture and what its card says."""
    parts = [HEAD]
    told = {"checks": CHECKS, "detection": DETECTION}
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
    from sightline.data import load_dataset
    from sightline.report.feeding import StoreFigures
    from sightline.results import open_results

    with open_results(store) as results:
        figures = StoreFigures(results)
        for name in FIGURES:
            if not figures.missing(name):
                yield name, figures.draw(name).figure
    yield from _detections()
    yield from draw_checks(list(load_dataset("facades", count=24, seed=UNSEEN)))


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


# --- pixels changed ------------------------------------------------------------------------------

UNSEEN = 4321


def draw_checks(samples: list[Sample]) -> Iterator[tuple[str, Figure]]:
    """Draw what changing pixels does to demo/vit on some images: no store holds it."""
    from sightline import figures
    from sightline.models import load_model

    yield (
        "perturbation-drops",
        figures.draw_perturbation_drops(_drops(load_model("demo/vit"), samples)),
    )


def _changes() -> dict[str, Any]:
    """Return what is done to pixels, by name."""
    from PIL import ImageEnhance, ImageFilter

    return {
        "brightness × 0.4": lambda image: ImageEnhance.Brightness(image).enhance(0.4),
        "contrast × 0.2": lambda image: ImageEnhance.Contrast(image).enhance(0.2),
        "no saturation": lambda image: ImageEnhance.Color(image).enhance(0.0),
        "blur, 6 pixels": lambda image: image.filter(ImageFilter.GaussianBlur(6)),
        "mean colour": lambda image: image.filter(ImageFilter.BoxBlur(10_000)),
    }


def _drops(model: Model, samples: list[Sample]) -> pd.DataFrame:
    """Return the drops of the predicted class's probability under each change."""
    import pandas as pd
    from PIL import Image

    from sightline import explain
    from sightline.stats import interval

    maps = explain(model, samples, "cls", layers=11).to_image()
    pictures = [Image.fromarray(np.asarray(sample.image())) for sample in samples]
    before, goals = _probabilities(model, pictures)
    rows = []
    for name, change in _changes().items():
        for kind in ("focused", "dual", "global"):
            changed = []
            for place, picture in enumerate(pictures):
                where = _chosen(maps.of(image=place, layer=11), kind)
                changed.append(_mixed(picture, change(picture), where))
            after, _ = _probabilities(model, changed, goals)
            mean = interval(before - after, limits=(-1, 1))
            rows.append((name, kind, mean.value, mean.low, mean.high, mean.n))
    return pd.DataFrame(rows, columns=["perturbation", "kind", "value", "low", "high", "n"])


def _probabilities(model: Model, pictures: list[Image], goals: Any = None) -> tuple[Any, Any]:
    """Return the probability of the class that is predicted, or of those given."""
    found = model.logits([np.asarray(one) for one in pictures]).double().softmax(dim=1).numpy()
    goals = found.argmax(axis=1) if goals is None else goals
    return found[np.arange(len(found)), goals], goals


def _chosen(values: Any, kind: str) -> Any:
    """Return the tenth of pixels where a map is highest, where it is lowest, or all."""
    if kind == "global":
        return np.ones(values.shape, np.bool_)
    order = np.argsort(values.ravel(), kind="stable")
    count = values.size // 10
    where = np.zeros(values.size, np.bool_)
    where[order[-count:] if kind == "focused" else order[:count]] = True
    return where.reshape(values.shape)


def _mixed(picture: Image, changed: Image, where: Any) -> Image:
    from PIL import Image

    pixels = np.where(where[..., None], np.asarray(changed), np.asarray(picture))
    return Image.fromarray(pixels.astype(np.uint8))


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
    sys.stdout.write(f"{PAGE}\n")
    for given in sys.argv[1:2]:
        total = 0
        for picture_name, drawn in draw_pictures(given):
            total += write_picture(picture_name, drawn)
            sys.stdout.write(f"{picture_name}\n")
        sys.stdout.write(f"{total / 1e6:.1f} MB in {PICTURES}\n")
