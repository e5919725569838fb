"""Small stores with everything that tables must cope with, and their rows as plain pandas."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from sightline.core import row_schema
from sightline.metrics import score_maps
from sightline.store import (
    Store,
    create_store,
    images_table,
    regions_table,
    task_name,
    write_rows,
)

if TYPE_CHECKING:
    from pathlib import Path

SIZE = 12
LABELS = ("window", "rose window", "portal", "tower")
STYLES = ("gothic", "baroque")
TAXONOMY = {
    "opening": [],
    "window": ["opening"],
    "rose window": ["window"],
    "portal": ["opening"],
    "tower": [],
}
METRICS = ("iou", "recall", "coverage", "pointing", "average_precision", "top_k_any", "kl")


@dataclass(frozen=True)
class Kind:
    """A source: whose maps, and how many of them."""

    model: str
    variant: str
    method: str
    group: str
    layers: tuple[int | None, ...] = (None,)
    heads: tuple[int | None, ...] = (None,)
    target: str = ""
    seed: int | None = None
    check: str = ""
    rules: str = "00000001"

    def manifest(self) -> dict[str, Any]:
        text = "/".join(map(str, (self.model, self.variant, self.method, self.target, self.seed)))
        return {
            "model": self.model,
            "variant": self.variant,
            "method": self.method,
            "group": self.group,
            "params": {},
            "target": self.target,
            "seed": self.seed,
            "check": self.check,
            "layers": list(self.layers),
            "heads": list(self.heads),
            "sign": "positive",
            "rules": self.rules,
            "key": f"{text}/{self.check}/{self.rules}",
            "maps": "grid",
        }


KINDS = (
    Kind("demo/vit", "", "cls", "attention", (0, 1, 2, 3), (None, 0, 1)),
    Kind("demo/vit", "seed2", "cls", "attention", (0, 1, 2, 3)),
    Kind("demo/vit", "", "gradcam", "cam", (3,), target="predicted"),
    Kind("demo/vit", "", "gradcam", "cam", (3,), target="label"),
    Kind("demo/vit", "", "random", "baseline", seed=0),
    Kind("demo/vit", "", "random", "baseline", seed=1),
    Kind("demo/cnn", "", "gradcam", "cam", (3,), target="predicted"),
    Kind("demo/cnn", "", "center", "baseline"),
    Kind("demo/vit", "", "cls", "attention", (3,), check="cascade_top_down/03"),
)


@dataclass
class Made:
    """A store and what was put into it."""

    path: Path
    rows: pd.DataFrame
    images: pd.DataFrame
    regions: pd.DataFrame
    curves: pd.DataFrame
    kinds: tuple[Kind, ...]
    store: Store = field(init=False)

    def __post_init__(self) -> None:
        self.store = Store(self.path)


def _image_lines(count: int, rng: np.random.Generator) -> tuple[list[Any], list[Any]]:
    """Make images with one to three boxes; image 1 has none that is scored."""
    images, regions = [], []
    for i in range(count):
        name = f"image{i:02}"
        boxes = []
        for k in range(1 + i % 3):
            x, y = rng.uniform(0, 0.6, 2)
            w, h = rng.uniform(0.15, 0.4, 2)
            dropped = "hidden" if i == 1 else ""
            boxes.append((x, y, x + w, y + h))
            regions.append(
                {
                    "image": name,
                    "region": 2 * k,
                    "label": LABELS[(i + k) % len(LABELS)],
                    **dict(zip(("x0", "y0", "x1", "y1"), boxes[-1], strict=True)),
                    "area": w * h,
                    "dropped": dropped,
                }
            )
        styles = [STYLES[i % 2]] if i % 5 else list(STYLES)
        images.append(
            {
                "image": name,
                "chunk": i * 2 // count,
                "split": "train" if i % 3 else "test",
                "labels": [] if i == 2 else styles,
                "width": 100,
                "height": 80,
                "area": float(0.1 + i / 50),
                "regions": 0 if i == 1 else len(boxes),
                "digest": f"{i:064x}",
            }
        )
    return images, regions


def _task_rows(
    kind: Kind, images: list[Any], regions: list[Any], rng: np.random.Generator, **options: Any
) -> tuple[pa.Table, pa.Table]:
    """Score random maps of a source on some images."""
    shape = (len(images), len(kind.layers), len(kind.heads), SIZE, SIZE)
    maps = np.round(rng.random(shape) ** 3, 2)
    if kind.method == "cls":
        maps[0] = 0  # a map without energy: coverage is undefined
    tables, curves = [], []
    for i, image in enumerate(images):
        boxes = [r for r in regions if r["image"] == image["image"] and not r["dropped"]]
        corners = [[r["x0"], r["y0"], r["x1"], r["y1"]] for r in boxes]
        flat = maps[i].reshape(-1, SIZE, SIZE)
        scores = score_maps(flat, regions=[np.reshape(corners, (-1, 4))] * len(flat), **options)
        layers = [layer for layer in kind.layers for _ in kind.heads]
        keys = {
            "study": "small",
            "rules": kind.rules,
            **_names(kind, image),
            "layer": None if layers[0] is None else layers,
            "head": list(kind.heads) * len(kind.layers)
            if any(h is not None for h in kind.heads)
            else None,
        }
        table = scores.to_rows(keys)
        numbers = table.column("region").to_pylist()
        mine = [None if n is None else boxes[n]["region"] for n in numbers]
        where = table.schema.get_field_index("region")
        tables.append(table.set_column(where, "region", pa.array(mine, pa.int32())))
        curves += [
            {
                **_names(kind, image),
                "layer": layer,
                "head": head,
                "curve": curve,
                "point": point,
                "value": float(rng.random()) if i else float("nan"),
            }
            for layer in kind.layers
            for head in kind.heads
            for curve in ("roc", "pr")
            for point in (0, 50, 100)
        ]
    return pa.concat_tables(tables).unify_dictionaries(), pa.Table.from_pylist(curves, _CURVES)


def _names(kind: Kind, image: dict[str, Any]) -> dict[str, Any]:
    """Say of which source and image a row is."""
    mine = ("model", "variant", "method", "target", "seed", "check")
    return {"image": image["image"]} | {name: getattr(kind, name) for name in mine}


_CURVES = pa.schema(
    {
        **dict.fromkeys(("image", "model", "variant"), pa.string()),
        **dict.fromkeys(("layer", "head"), pa.int16()),
        **dict.fromkeys(("method", "target"), pa.string()),
        "seed": pa.int32(),
        **dict.fromkeys(("check", "curve"), pa.string()),
        "point": pa.int16(),
        "value": pa.float32(),
    }
)

_PLAIN = pa.schema(
    [(f.name, pa.string() if pa.types.is_dictionary(f.type) else f.type) for f in row_schema()]
)


def make_store(
    folder: Path,
    *,
    count: int = 8,
    kinds: tuple[Kind, ...] = KINDS,
    seed: int = 0,
    skip: tuple[int, ...] = (),
    **options: Any,
) -> Made:
    """Write a small store.

    Parameters
    ----------
    folder
        Where.
    count
        Number of images, in two chunks.
    kinds
        Sources of maps.
    seed
        Of the random maps.
    skip
        Numbers of tasks that are not done yet.
    options
        Of `score_maps`.
    """
    rng = np.random.default_rng(seed)
    options = {"metrics": METRICS, "percentiles": (95, 90, 50)} | options
    store = create_store(folder)
    images, regions = _image_lines(count, rng)
    pq.write_table(images_table(images), store.images_path)
    pq.write_table(regions_table(regions), store.regions_path)
    chunks = [{"images": count // 2, "digest": f"chunk{c}"} for c in (0, 1)]
    found, curves, number = [], [], 0
    for c, chunk in enumerate(chunks):
        mine = [image for image in images if image["chunk"] == c]
        for kind in kinds:
            rows, lines = _task_rows(kind, mine, regions, rng, **options)
            if number not in skip:
                name = task_name(kind.manifest()["key"], c, str(chunk["digest"]))
                write_rows(store.row_file(name), rows)
                pq.write_table(lines, store.curve_file(name))
                found.append(rows.cast(_PLAIN).to_pandas())
                curves.append(lines.to_pandas())
            number += 1
    _write_stale(store, kinds[0], images, regions, rng, options)
    store.save_manifest(_manifest(kinds, chunks, count, len(regions), options))
    return Made(
        folder,
        pd.concat(found, ignore_index=True) if found else pd.DataFrame(),
        pd.DataFrame(images),
        pd.DataFrame(regions),
        pd.concat(curves, ignore_index=True) if curves else pd.DataFrame(),
        kinds,
    )


def _write_stale(
    store: Store, kind: Kind, images: list[Any], regions: list[Any], rng: Any, options: Any
) -> None:
    """Leave a shard of older settings, which no table may read."""
    rows, _ = _task_rows(kind, images[:2], regions, rng, **options)
    write_rows(store.row_file(task_name("older settings", 0, "chunk0")), rows)


def _manifest(
    kinds: tuple[Kind, ...], chunks: list[Any], images: int, regions: int, options: Any
) -> dict[str, Any]:
    study = {"name": "small", "metrics": list(options["metrics"]), "ties": "share"}
    return {
        "study": study,
        "versions": {"sightline": "0"},
        "git": None,
        "machine": {},
        "threads": 1,
        "data": {
            "digest": "d" * 64,
            "annotations": "a" * 64,
            "images": images,
            "regions": regions,
            "taxonomy": TAXONOMY,
        },
        "models": [],
        "sources": [kind.manifest() for kind in kinds],
        "chunks": chunks,
        "left_out": [],
        "skipped": [],
        "runs": [],
    }
