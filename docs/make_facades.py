"""Write `facades.md` and its picture from the generator: `python docs/make_facades.py`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sightline import load_dataset
from sightline.data import inspect_dataset, write_contact_sheet
from sightline.data.facades import PART_TYPES, ROLES, STYLES, Facade

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sightline.data import Dataset
    from sightline.data.report import Report, Spread

PAGE = Path(__file__).parent / "facades.md"
PICTURE = Path(__file__).parent / "images" / "facades.jpg"
COUNT, SEED = 400, 0
HEAD = """\
<!-- Written by docs/make_facades.py from the generator. -->

# Facades

Church fronts drawn by code. They are the one data set on which the truth is known: every instance
of every part is annotated, which parts decide the style is known, and any part can be taken away
or exchanged. So a method that claims to find missing labels, to tell which parts matter, or to
keep an error rate can be held to it. Nothing is downloaded; an image is drawn when it is asked
for, in about a hundredth of a second.

![Forty facades with the parts that are annotated](images/facades.jpg)

```pycon
>>> from sightline import load_dataset
>>> churches = load_dataset("facades", count=8, seed=0)
>>> sorted({sample.labels for sample in churches})
[('Baroque',), ('Gothic',), ('Renaissance',), ('Romanesque',)]
```

`load_dataset("facades", count=…, seed=…, size=224, labelling="exhaustive", confounded=False)` opens
them, `sightline facades OUT --count N --seed S` writes them as files, and
`sightline inspect facades --count 50 --figure sheet.png` looks at them. Image `i` of a seed is the
same whatever the count; the same seed gives the same bits wherever the pinned versions of numpy
and Pillow run. With `--detections` come the boxes of two imaginary detectors whose faults are
known, to try [detection](detection.md) on.

## What decides the style

A church front has **roles** (window, portal, gable, …). Each style builds a role in a form of its
own. Every role present votes for the style of its form, and the style with the most votes is the
style of the image. Layout, colours, light and textures know nothing of the style. In about a third
of the images a role or two are borrowed from another style, so no single part gives it away. Bell
towers, doors, clocks, crosses and steps look alike in all styles and have no vote.
"""
MIDDLE = """\
`Facade` knows the votes, and answers what-if questions with a picture:

```pycon
>>> from sightline.data import Facade
>>> facade = Facade.generate(seed=0, index=2)
>>> facade.style, facade.evidence
EVIDENCE
>>> facade.deciding
DECIDING
>>> blind = facade.without("window")
>>> blind.style, blind.evidence["Gothic"], len(facade.parts) - len(blind.parts)
WITHOUT
>>> mixed = facade.with_style_of("Baroque", "window")
>>> mixed.style, mixed.evidence["Baroque"], len(facade.parts) - len(mixed.parts)
EXCHANGED
```

`facade_of(sample)` gives the facade of a sample, and `sightline facades` writes `facades.json` with
the votes and the deciding parts of every image.

Outside the silhouettes of what was taken or exchanged (and of what it carries, as a gable its
cross) no bit of the picture changes. If all votes are even after a change, the style is "mixed".

### One property alone

What is a model's similarity made of: colour, shape, texture? `changed(part, what)` changes one of
them on all instances of a part type or role, from the seed, and leaves the rest of the part, the
rest of the picture, the labels and the votes:

- `colour`: hue and saturation change, to one vivid hue that is 60 degrees or more from that of the
  part's main material. Silhouettes stay, and the HSV value (the largest channel) of every pixel,
  to the bit.
- `shape`: the silhouette changes: the part leans, by half of its shorter side at either end. Its
  materials stay, with their areas and the stones on them.
- `texture`: hatching lies over the surface, stripes or checks, weaker near black and white.
  Silhouettes stay, and the mean colour of each instance, within one level of 255.

```pycon
>>> import numpy as np
>>> before, after = facade.image(), facade.changed("window", "colour").image()
>>> bool((before != after).any()), np.array_equal(before.max(axis=2), after.max(axis=2))
(True, True)
```

Only pixels in the silhouettes change (before and after, with their blended rim); what a part
carries keeps its own look. A brightness that weighs the channels does change with the colour. A
part that leans may hide more, or less, of what is around it.

## How it is annotated

| `labelling` | regions |
| --- | --- |
| `exhaustive` | every visible instance |
| `representative` | one instance of each part type, at random: how many real sets are annotated |
| `salient` | one instance of each part type, the largest and most central |

The `index` of a region is its number in the exhaustive list, whatever the labelling. Each region
has a mask of its visible pixels, a tight box, its part type as label and its role above it. Trees,
bushes, cars and people hide parts; one that shows less than a third, or fewer than 12 pixels at
224 × 224, is flagged `difficult`.

With `confounded=True` the colours of sky and ground belong to the style, and all else keeps its
bits: a model trained on these can be right while it looks at the wrong thing.
"""


def render() -> str:
    """Return the page."""
    report = inspect_dataset(load_dataset("facades", count=COUNT, seed=SEED))
    parts = [HEAD, *_forms(), "", _example(), *_statistics(report)]
    return "\n".join(parts).rstrip() + "\n"


def picture() -> None:
    """Draw the contact sheet of forty."""
    sheet: Dataset = load_dataset("facades", count=40, seed=SEED)
    PICTURE.parent.mkdir(exist_ok=True)
    write_contact_sheet(sheet, PICTURE, count=40, columns=8, tile=176)


def _forms() -> list[str]:
    rows = [[role, *(forms[style].label for style in STYLES)] for role, forms in ROLES.items()]
    return _table(["role", *STYLES], rows)


def _example() -> str:
    facade = Facade.generate(seed=0, index=2)
    blind, mixed = facade.without("window"), facade.with_style_of("Baroque", "window")
    gone, lost = (len(facade.parts) - len(other.parts) for other in (blind, mixed))
    return (
        MIDDLE.replace("EVIDENCE", repr((facade.style, facade.evidence)))
        .replace("DECIDING", repr(facade.deciding))
        .replace("WITHOUT", repr((blind.style, blind.evidence["Gothic"], gone)))
        .replace("EXCHANGED", repr((mixed.style, mixed.evidence["Baroque"], lost)))
    )


def _statistics(report: Report) -> list[str]:
    facades = [Facade.generate(SEED, index) for index in range(COUNT)]
    borrowed = sum(len(set(_voting(facade))) > 1 for facade in facades)
    roles = Counter(len(_voting(facade)) for facade in facades)
    styles = ", ".join(f"{entry.label} {entry.images}" for entry in report.image_labels)
    hidden = f"{report.difficult} of {report.regions:,}"
    return [
        "## Statistics",
        "",
        f"Of {COUNT} images of seed {SEED} at 224 × 224, labelled exhaustively:",
        "",
        f"- {report.regions:,} instances of {_used(report)} part types; {styles}.",
        f"- {hidden} instances are difficult; {borrowed} images have a role of another style.",
        f"- Roles that vote in an image: {_counts(roles)}.",
        "",
        *_table(
            ["", "least", "25%", "median", "75%", "largest", "mean"],
            [
                ["instances per image", *_spread(report.per_image, 1, 0)],
                ["area of an instance, % of the image", *_spread(report.region_area, 100, 3)],
                ["area of all instances, % of the image", *_spread(report.union_area, 100, 1)],
            ],
        ),
        "",
        *_table(["role", "part type", "instances", "images", "% of images"], _labels(report)),
    ]


def _voting(facade: Facade) -> list[str]:
    """Return the style of each role present."""
    return [style for _, style in {PART_TYPES[label] for label in facade.labels} if style]


def _used(report: Report) -> int:
    return sum(entry.own > 0 for entry in report.labels)


def _counts(counter: Counter[int]) -> str:
    return ", ".join(f"{number} in {counter[number]}" for number in sorted(counter))


def _spread(spread: Spread | None, factor: float, digits: int) -> list[str]:
    if spread is None:
        return ["–"] * 6
    values = (spread.least, spread.lower, spread.median, spread.upper, spread.most)
    shown = [f"{factor * value:.{digits}f}" for value in values]
    return [*shown, f"{factor * spread.mean:.{max(digits, 1)}f}"]


def _labels(report: Report) -> list[list[str]]:
    found = {entry.label: entry for entry in report.labels}
    rows = []
    for label, (role, _) in PART_TYPES.items():
        entry = found[label]
        share = np.round(100 * entry.share, 1)
        rows.append([role, label, str(entry.own), str(entry.images), f"{share:.1f}"])
    return rows


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [
        f"| {' | '.join(head)} |",
        f"| {' | '.join('---' for _ in head)} |",
        *(f"| {' | '.join(row)} |" for row in rows),
    ]


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
    picture()
