"""One moment of a store: a manifest, and the tables and shards that belong to it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sightline.core import InputError
from sightline.store import check_tasks
from sightline.store.damage import read_table
from sightline.store.folder import PLAN, tasks_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    import pyarrow as pa

    from sightline.store import Store

__all__ = ["State", "check_shards", "read_state", "row_shards"]

_TRIES, _PAUSE = 6, 0.2


@dataclass(frozen=True, eq=False, slots=True)
class State:
    """What a store held at one moment; a run that goes on changes nothing of it.

    Attributes
    ----------
    manifest
        What the store says of itself.
    tables
        Its `images` and `regions`.
    shards
        The row files of the manifest's tasks that are there, by task, in order.
    curves
        Their files of curves.
    checks
        The row files of the manifest's checks that are there, by task.
    """

    manifest: dict[str, Any]
    tables: dict[str, pa.Table]
    shards: dict[str, Path]
    curves: list[Path]
    checks: dict[str, Path]


def row_shards(store: Store, manifest: Mapping[str, Any]) -> dict[str, Path]:
    """Return the row files of a manifest's tasks that are there, by task, in order."""
    there = store.done()
    names = (task.name for task in tasks_of(manifest))
    return {name: store.row_file(name) for name in names if name in there}


def check_shards(store: Store, manifest: Mapping[str, Any]) -> dict[str, Path]:
    """Return the row files of a manifest's checks that are there, by task, in order."""
    there = store.done()
    return {task: store.row_file(task) for task in check_tasks(manifest) if task in there}


def read_state(store: Store) -> State:
    """Read a store whose manifest and tables belong together.

    A run that changes its study replaces them one after the other: if they do not fit, they are
    looked at again for about a second.

    Raises
    ------
    InputError
        If they do not belong together, or one is missing or damaged.
    """
    for number in range(_TRIES):
        if number:
            time.sleep(_PAUSE)
        manifest = store.manifest()
        tables = _read_tables(store)
        if _belong(manifest, tables):
            shards = row_shards(store, manifest)
            checks = check_shards(store, manifest)
            return State(manifest, tables, shards, _curves(store, shards), checks)
    raise InputError(
        f"{store.path}: its tables do not belong to its manifest: "
        "a run was cut off while it changed the study; run it again"
    )


def _curves(store: Store, tasks: Iterable[str]) -> list[Path]:
    there = set(store.curves.iterdir()) if store.curves.is_dir() else set()
    return [path for path in map(store.curve_file, tasks) if path in there]


def _read_tables(store: Store) -> dict[str, pa.Table]:
    paths = {"images": store.images_path, "regions": store.regions_path}
    missing = [str(path) for path in paths.values() if not path.is_file()]
    if missing:
        raise InputError(f"the store lacks {' and '.join(missing)}")
    return {name: read_table(path) for name, path in paths.items()}


def _belong(manifest: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> bool:
    """Say whether tables are of the plan that a manifest names, if it names one."""
    plan = manifest.get("plan")
    return plan is None or all(
        (table.schema.metadata or {}).get(PLAN.encode()) == str(plan).encode()
        for table in tables.values()
    )
