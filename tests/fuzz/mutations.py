"""Valid files, and what is made of them: every value replaced by wrong ones, bytes changed."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

__all__ = [
    "CHURCHES",
    "COCO",
    "FOUND",
    "PLAIN",
    "PROPOSALS",
    "STUDY",
    "TRUTH",
    "WRONG",
    "as_json",
    "garbled",
    "mutants",
]

WRONG: tuple[Any, ...] = (
    None, True, 0, -1, 1.5, float("nan"), float("inf"), -1e308, 10**30, "", "x", "\ud800",
    "../../x", "a\0b", "9" * 5000, [], [1, 2, 3, 4], [[]], {}, {"a": {"b": []}},
    [float("nan")] * 4, [10**400] * 6,
)  # fmt: skip
"""What stands where something else should."""

COCO: dict[str, Any] = {
    "images": [
        {"id": 1, "file_name": "val/a.jpg", "width": 20, "height": 10, "split": "val"},
        {"id": 2, "file_name": "b.jpg", "width": 8, "height": 8, "labels": ["Gothic"]},
    ],
    "categories": [
        {"id": 0, "name": "door", "supercategory": "opening"},
        {"id": 3, "name": "window", "parents": ["opening"]},
    ],
    "annotations": [
        {"id": 0, "image_id": 1, "category_id": 0, "bbox": [2, 1, 10, 5], "iscrowd": 0},
        {
            "id": 1,
            "image_id": 1,
            "category_id": 3,
            "segmentation": [[2, 1, 12, 1, 12, 6], [14, 7, 19, 7, 14, 9.5]],
            "score": 0.5,
        },
        {
            "id": 2,
            "image_id": 1,
            "category_id": 0,
            "segmentation": {"size": [10, 20], "counts": [0, 15, 185]},
            "iscrowd": 1,
            "area": 15,
        },
        {
            "id": 3,
            "image_id": 2,
            "category_id": 3,
            "segmentation": {"size": [8, 8], "counts": "0P2"},
            "sightline": {"index": 4, "flags": ["difficult"], "source": "me"},
        },
    ],
}
_BOXES: list[dict[str, Any]] = [
    {"bbox": [2, 1, 10, 5], "segmentation": [[2, 1, 12, 1, 12, 6]], "area": 50},
    {"bbox": [0, 0, 1.5, 2], "segmentation": {"size": [8, 8], "counts": "0P2"}, "iscrowd": 1},
    {"bbox": [0, 0, 3, 3], "segmentation": {"size": [8, 8], "counts": [0, 15, 49]}, "iscrowd": 0},
]
TRUTH: dict[str, Any] = {
    **COCO,
    "annotations": [
        {"id": n, "image_id": 1 if n == 0 else 2, "category_id": 3, **box}
        for n, box in enumerate(_BOXES)
    ],
}
CHURCHES: dict[str, Any] = {
    "meta": [{"name": "opening", "parents": []}, {"name": "window", "parents": [0]}],
    "annotations": {
        "a.jpg": {
            "styles": ["Q176483"],
            "bbox_groups": [
                {
                    "group_label": 0,
                    "elements": [
                        {"left": 0.1, "top": 0.2, "width": 0.3, "height": 0.4, "label": 1},
                        {"left": -0.1, "top": 0.2, "width": 0.3, "height": 0.4, "label": 0},
                    ],
                }
            ],
        }
    },
}
PROPOSALS: dict[str, Any] = {
    "format": "sightline-proposals/1",
    "data": "folder",
    "settings": {"model": "m"},
    "proposals": [
        {
            "id": "p-1",
            "image": "a.jpg",
            "label": "door",
            "score": 0.5,
            "box": [0.1, 0.1, 0.4, 0.5],
            "source": "imported",
            "model": "m",
            "digest": "d",
            "prompt": 2,
        }
    ],
}
PLAIN: dict[str, Any] = {
    "format": "sightline-annotations",
    "version": 1,
    "units": "pixels",
    "labels": {"window": ["opening"], "opening": [], "wall": []},
    "images": [
        {
            "image": "a.jpg",
            "id": "a",
            "width": 200,
            "height": 100,
            "labels": ["Gothic"],
            "split": "test",
            "regions": [
                {"label": "window", "box": [20, 10, 60, 40], "score": 0.5, "flags": ["crowd"]},
                {"label": "wall", "polygon": [[0, 50], [50, 0], [100, 50]]},
                {"label": "wall", "point": [150, 50], "radius": 20},
                {"label": "wall", "rle": {"size": [4, 4], "counts": "088"}},
                {"disc": {"box": [0.1, 0.1, 0.2, 0.3], "radius": 3}, "index": 9},
            ],
        }
    ],
}
FOUND: list[dict[str, Any]] = [
    {"image_id": 1, "category_id": 0, "bbox": [2, 1, 10, 5], "score": 0.9},
    {"image_id": 2, "category_id": 3, "bbox": [0, 0, 1.5, 2], "score": 1e-3},
]
STUDY: dict[str, Any] = {
    "name": "study",
    "data": {"name": "facades", "count": 4, "seed": 7},
    "models": ["demo/vit-dino", {"model": "demo/cnn"}],
    "methods": ["cls", {"name": "gradcam", "params": {}}],
    "layers": [0, -1],
    "heads": "all",
    "metrics": ["coverage", "iou"],
    "selection": ["percentile", "mass60"],
    "resolution": 56,
    "seeds": [0, 1],
    "checks": {"parts": {"images": 3, "methods": ["gradcam"], "models": ["demo/cnn"]}},
}


def mutants(valid: Any, wrong: tuple[Any, ...] = WRONG) -> Iterator[tuple[str, Any]]:
    """Yield a valid value with each of its nodes replaced, removed or doubled, and which it was."""
    for place in _places(valid):
        where = "".join(f"[{step!r}]" for step in place)
        there = json.dumps(_at(valid, place))
        for number, value in enumerate(wrong):
            if json.dumps(value) != there:
                yield f"{where} = wrong {number}", _with(valid, place, value)
        if place:
            yield f"{where} gone", _without(valid, place)


def _places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield place
    pairs: Any = value.items() if isinstance(value, dict) else ()
    if isinstance(value, list):
        pairs = enumerate(value)
    for step, inner in pairs:
        yield from _places(inner, (*place, step))


def _with(valid: Any, place: tuple[Any, ...], value: Any) -> Any:
    if not place:
        return value
    changed = copy.deepcopy(valid)
    _at(changed, place[:-1])[place[-1]] = value
    return changed


def _without(valid: Any, place: tuple[Any, ...]) -> Any:
    changed = copy.deepcopy(valid)
    del _at(changed, place[:-1])[place[-1]]
    return changed


def _at(value: Any, place: tuple[Any, ...]) -> Any:
    for step in place:
        value = value[step]
    return value


def as_json(value: Any) -> bytes:
    """JSON as strangers write it: NaN and Infinity, and half of a character, are in it."""
    return json.dumps(value).encode()


def garbled(content: bytes, rng: np.random.Generator, count: int) -> Iterator[bytes]:
    """Yield a file with some bytes changed, put in, or taken out."""
    for _ in range(count):
        found = bytearray(content)
        for _ in range(int(rng.integers(1, 5))):
            place = int(rng.integers(0, max(len(found), 1)))
            match int(rng.integers(0, 4)):
                case 0 if found:
                    found[place] = int(rng.integers(0, 256))
                case 1:
                    found[place:place] = rng.bytes(3)
                case 2:
                    found[place:place] = found[: int(rng.integers(0, 40))]
                case _:
                    del found[place : place + int(rng.integers(1, 12))]
        yield bytes(found)
