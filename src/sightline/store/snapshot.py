"""One moment of a store: a manifest, and the tables and shards that belong to it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sightline.core import InputError
from sightline.store import check_tasks
from sightline.store.compact import compact_for_reading, list_files
from sightline.store.damage import read_table
from sightline.store.folder import PLAN, tasks_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import pyarrow as pa

    from sightline.store import Store

__all__ = ["State", "list_shards", "list_stored_tasks", "read_state"]

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
    tasks, check_tasks
        The tasks of the manifest, and of its checks, that are stored, in order.
    files
        Of `scores`, `region_scores` and `checks`: the files that hold them.
    """

    manifest: dict[str, Any]
    tables: dict[str, pa.Table]
    tasks: list[str]
    check_tasks: list[str]
    files: dict[str, list[Path]]


def list_stored_tasks(store: Store, manifest: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Return the tasks of a manifest, and those of its checks, that are stored, in order."""
    there = store.done()
    maps = [task.name for task in tasks_of(manifest) if task.name in there]
    return maps, [task for task in check_tasks(manifest) if task in there]


def list_shards(store: Store, tasks: Sequence[str], checks: Sequence[str]) -> dict[str, list[Path]]:
    """Return the shards of each table of some tasks and checks."""
    return {
        "scores": [store.score_file(task) for task in tasks],
        "region_scores": [store.region_file(task) for task in tasks],
        "checks": [store.check_file(task) for task in checks],
    }


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
            maps, checks = list_stored_tasks(store, manifest)
            compact_for_reading(store, maps)
            files = {
                "scores": list_files(store, "scores", maps),
                "region_scores": list_files(store, "region_scores", maps),
                "checks": list_files(store, "checks", checks),
            }
            return State(manifest, tables, maps, checks, files)
    raise InputError(
        f"{store.path}: its tables do not belong to its manifest: "
        "a run was cut off while it changed the study; run it again"
    )


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
