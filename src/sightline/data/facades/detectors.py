"""Two imaginary detectors of the parts of facades, whose faults are known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sightline.core.registry import Registry
from sightline.data.outputs import replacing

if TYPE_CHECKING:
    import os

__all__ = ["DETECTORS", "Faults", "imagine_detections", "write_imagined_detections"]


class Faults(NamedTuple):
    """What a detector does wrong, and how sure it is.

    Attributes
    ----------
    miss
        Share of the parts of 400 square pixels that it overlooks; half as many of four times the
        area, at most twice as many of small ones.
    slip
        By which share of their sides boxes are off, as a standard deviation.
    confuse
        Share of the parts that it takes for another kind, such as one window for another.
    again
        Share of the parts that it reports twice.
    invent
        Boxes of nothing in an image, on average.
    sure
        Mean score of a good box; bad ones get less.
    """

    miss: float
    slip: float
    confuse: float
    again: float
    invent: float
    sure: float


DETECTORS: Registry[Faults] = Registry("imaginary detector")
DETECTORS.add("careful", Faults(0.25, 0.04, 0.05, 0.02, 0.5, 0.8))
DETECTORS.add("eager", Faults(0.08, 0.07, 0.15, 0.2, 4.0, 0.95))


def imagine_detections(
    content: dict[str, Any], name: str, *, seed: int = 0
) -> list[dict[str, Any]]:
    """Return what an imaginary detector finds, in the format of COCO's results.

    Parameters
    ----------
    content : dict
        A COCO file, parsed.
    name : str
        "careful" overlooks much and is seldom wrong; "eager" finds nearly everything, often twice,
        under wrong names or where nothing is, and is too sure of it.
    seed : int
        What its faults are drawn from.

    Examples
    --------
    >>> part = {"image_id": 1, "category_id": 3, "bbox": [10, 10, 80, 80], "area": 6400}
    >>> image = {"id": 1, "width": 224, "height": 224}
    >>> kinds = [{"id": 3, "name": "door"}]
    >>> coco = {"images": [image], "categories": kinds, "annotations": [part]}
    >>> imagine_detections(coco, "careful")[0]["category_id"]
    3
    """
    faults = DETECTORS[name]
    rng = np.random.default_rng([seed, list(DETECTORS).index(name)])
    kinds = _kinds(content)
    found = []
    for part in content["annotations"]:
        small = min(2.0, (400 / max(part["area"], 1)) ** 0.5)
        if rng.random() < faults.miss * small:
            continue
        times = 1 + (rng.random() < faults.again)
        found += [_seen(part, kinds[part["category_id"]], faults, rng) for _ in range(times)]
    used = sorted({part["category_id"] for part in content["annotations"]})
    for image in content["images"] if used else ():
        found += [_invented(image, used, faults, rng) for _ in range(rng.poisson(faults.invent))]
    return found


def write_imagined_detections(folder: str | os.PathLike[str]) -> list[Path]:
    """Write what each imaginary detector finds in a folder that `write_facades` filled."""
    content = json.loads(Path(folder, "coco.json").read_text("utf-8"))
    paths = []
    for name in DETECTORS:
        paths.append(Path(folder, f"{name}.json"))
        lines = ",\n".join(json.dumps(found) for found in imagine_detections(content, name))
        with replacing(paths[-1]) as part:
            part.write_text(f"[\n{lines}\n]\n", encoding="utf-8", newline="\n")
    return paths


def _kinds(content: dict[str, Any]) -> dict[int, list[int]]:
    """Return for each category the others that it may be taken for: those under the same one."""
    above = {kind["id"]: kind.get("supercategory") for kind in content["categories"]}
    used = {part["category_id"] for part in content["annotations"]}
    return {
        kind: [other for other in sorted(used) if other != kind and above[other] == above[kind]]
        for kind in used
    }


def _seen(
    part: dict[str, Any], others: list[int], faults: Faults, rng: np.random.Generator
) -> dict[str, Any]:
    """Return a box near a part, the surer the nearer."""
    x, y, width, height = part["bbox"]
    slips = rng.normal(0, faults.slip, 4)
    confused = others and rng.random() < faults.confuse
    label = int(rng.choice(others)) if confused else part["category_id"]
    width, height = width * np.exp(slips[2]), height * np.exp(slips[3])
    box = [x + slips[0] * width, y + slips[1] * height, width, height]
    level = faults.sure - 1.5 * float(np.abs(slips).sum()) - (0.15 if confused else 0)
    return _record(part["image_id"], label, box, level + rng.normal(0, 0.08))


def _invented(
    image: dict[str, Any], used: list[int], faults: Faults, rng: np.random.Generator
) -> dict[str, Any]:
    """Return a box of nothing."""
    sides = rng.uniform(0.05, 0.25, 2) * (image["width"], image["height"])
    corner = rng.random(2) * (image["width"] - sides[0], image["height"] - sides[1])
    level = 0.45 * faults.sure + rng.normal(0, 0.15)
    return _record(image["id"], int(rng.choice(used)), [*corner, *sides], level)


def _record(image: int, label: int, box: list[Any], level: float) -> dict[str, Any]:
    return {
        "image_id": image,
        "category_id": label,
        "bbox": [round(float(side), 2) for side in box],
        "score": round(float(np.clip(level, 0.01, 0.99)), 4),
    }
