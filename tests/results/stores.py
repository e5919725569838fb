"""Small stores with everything that tables must cope with, and their rows as plain pandas."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from sightline.metrics import score_maps
from sightline.store import (
    Store,
    create_store,
    images_table,
    regions_table,
    task_name,
    write_table,
)
from sightline.store.schema import (
    build_region_scores_schema,
    build_scores_schema,
    conform,
    list_score_columns,
)
from sightline.store.snapshot import list_stored_tasks

if TYPE_CHECKING:
    from collections.abc import Callable
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

    @property
    def score_files(self) -> list[Path]:
        """The shards of `scores`, in the order of the manifest."""
        return [self.store.score_file(task) for task in self.tasks]

    @property
    def region_files(self) -> list[Path]:
        """The shards of `region_scores`, in the order of the manifest."""
        return [self.store.region_file(task) for task in self.tasks]

    @property
    def tasks(self) -> list[str]:
        """The tasks of the manifest that are stored."""
        return list_stored_tasks(self.store, self.store.manifest())[0]


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


def _score_task(
    kind: Kind, images: list[Any], regions: list[Any], rng: np.random.Generator, **options: Any
) -> tuple[pa.Table, pa.Table]:
    """Score random maps of a source on some images; curves are random numbers."""
    shape = (len(images), len(kind.layers), len(kind.heads), SIZE, SIZE)
    maps = np.round(rng.random(shape) ** 3, 2)
    if kind.method == "cls":
        maps[0] = 0  # a map without energy: coverage is undefined
    whole, single = [], []
    for i, image in enumerate(images):
        boxes = [r for r in regions if r["image"] == image["image"] and not r["dropped"]]
        corners = [[r["x0"], r["y0"], r["x1"], r["y1"]] for r in boxes]
        flat = maps[i].reshape(-1, SIZE, SIZE)
        scores = score_maps(flat, regions=[np.reshape(corners, (-1, 4))] * len(flat), **options)
        assert scores.regions is not None
        keys = {
            **_names(kind, image),
            "rules": np.full(len(flat), kind.rules),
            "layer": pa.array([layer for layer in kind.layers for _ in kind.heads], pa.int16()),
            "head": pa.array(list(kind.heads) * len(kind.layers), pa.int16()),
            "visible_fraction": np.ones(len(flat), np.float32),
        }
        curves = np.random.default_rng(i).random((2, len(flat), 101), np.float32)
        if i == 0:
            curves[:] = np.nan
        scores.curves = {"roc": curves[0], "pr": curves[1]}
        whole.append(scores.to_table(keys))
        owners = scores.regions.map
        own = {name: _take(value, owners) for name, value in keys.items()}
        table = scores.regions.to_table(own)
        mine = [boxes[n]["region"] for n in scores.regions.region]
        where = table.schema.get_field_index("region")
        single.append(table.set_column(where, "region", pa.array(mine, pa.int32())))
    return _whole_table(whole, build_scores_schema), _whole_table(
        single, build_region_scores_schema
    )


def _take(value: Any, owners: Any) -> Any:
    """Return of a key of maps what holds for their regions."""
    if isinstance(value, pa.Array):
        return value.take(pa.array(owners))
    return value[owners] if isinstance(value, np.ndarray) else value


def _whole_table(
    tables: list[pa.Table], build_schema: Callable[[list[str]], pa.Schema]
) -> pa.Table:
    columns = dict.fromkeys(name for table in tables for name in table.column_names)
    schema = build_schema(list_score_columns(columns))
    return pa.concat_tables(conform(table, schema) for table in tables).unify_dictionaries()


def _names(kind: Kind, image: dict[str, Any]) -> dict[str, Any]:
    """Say of which source and image a row is."""
    mine = ("model", "variant", "method", "target", "seed")
    return {"image": image["image"]} | {name: getattr(kind, name) for name in mine}


def melt(scores: pa.Table, region_scores: pa.Table) -> pd.DataFrame:
    """Return the scores of both tables as a long table, a row each."""
    frames = []
    for table in (scores, region_scores):
        plain = table.cast(
            pa.schema(
                [
                    (f.name, pa.string() if pa.types.is_dictionary(f.type) else f.type)
                    for f in table.schema
                ]
            )
        )
        frame = plain.to_pandas().assign(study="small", check="")
        if "region" not in frame:
            frame["region"] = np.nan
        names = list_score_columns(table.column_names)
        keys = ["study", "rules", "image", "region", "model", "variant", "layer", "head", "method"]
        keys += ["target", "seed", "check"]
        facts = ["annotated_fraction", "visible_fraction"]
        for name in names:
            column = table.column(name)
            metric, _, threshold = name.partition("@")
            part = frame[[*keys, *facts]].assign(metric=metric, threshold=threshold)
            part["value"] = frame[name]
            frames.append(part[~column.is_null().to_numpy()])
    found: pd.DataFrame = pd.concat(frames, ignore_index=True)
    return found.rename(columns={"annotated_fraction": "area", "visible_fraction": "visible"})


def melt_curves(scores: pa.Table) -> pd.DataFrame:
    """Return the points of the curves of maps, a row each."""
    keys = ["image", "model", "variant", "layer", "head", "method", "target", "seed"]
    frame = scores.to_pandas()
    parts = []
    for curve in ("roc", "pr"):
        part = frame[keys].assign(
            curve=curve, check="", value=frame[curve], point=[range(101)] * len(frame)
        )
        parts.append(part.explode(["value", "point"]))
    found: pd.DataFrame = pd.concat(parts, ignore_index=True)
    return found.astype(
        {
            "value": "float32",
            "point": "int16",
            "image": str,
            "model": str,
            "variant": str,
            "method": str,
            "target": str,
        }
    )


def edit_table(path: Path, edit: Callable[[pd.DataFrame], pd.DataFrame | None]) -> None:
    """Change the rows of a shard, in place or to those that `edit` returns."""
    table = pq.read_table(path)
    frame = table.to_pandas()
    edited = edit(frame)
    frame = frame if edited is None else edited
    arrays = [
        pa.array(frame[f.name].to_numpy(), f.type, from_pandas=not pa.types.is_floating(f.type))
        for f in table.schema
    ]
    write_table(path, pa.Table.from_arrays(arrays, schema=table.schema), kind="scores")


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
            scores, region_scores = _score_task(kind, mine, regions, rng, **options)
            if number not in skip:
                name = task_name(kind.manifest()["key"], c, str(chunk["digest"]))
                write_table(store.region_file(name), region_scores, kind="region_scores")
                write_table(store.score_file(name), scores, kind="scores")
                found.append(melt(scores, region_scores))
                curves.append(melt_curves(scores))
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
    scores, region_scores = _score_task(kind, images[:2], regions, rng, **options)
    name = task_name("older settings", 0, "chunk0")
    write_table(store.region_file(name), region_scores, kind="region_scores")
    write_table(store.score_file(name), scores, kind="scores")


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
