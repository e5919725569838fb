"""Where results lie: one folder for each study, whole files only, one writer at a time."""

from __future__ import annotations

from sightline.store.detection import describe_source, detection_folder, write_detection
from sightline.store.detection_parts import DetectionParts, detection_parts, detection_tables
from sightline.store.files import write_whole
from sightline.store.folder import Store, check_tasks, create_store, open_store, task_name
from sightline.store.lock import Holder, hold
from sightline.store.prototypes import BenchmarkFolder, benchmark_folder, create_benchmark
from sightline.store.shards import write_maps, write_table
from sightline.store.tables import images_table, regions_table

__all__ = [
    "BenchmarkFolder",
    "DetectionParts",
    "Holder",
    "Store",
    "benchmark_folder",
    "check_tasks",
    "create_benchmark",
    "create_store",
    "describe_source",
    "detection_folder",
    "detection_parts",
    "detection_tables",
    "hold",
    "images_table",
    "open_store",
    "regions_table",
    "task_name",
    "write_detection",
    "write_maps",
    "write_table",
    "write_whole",
]
