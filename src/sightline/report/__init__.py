"""A run to the results section of a paper: pages, tables and figures.

Light to import: a public name is imported from its home when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sightline.report.detection import write_detection_report
    from sightline.report.figures import Choice, Drawn, StoreFigures
    from sightline.report.missing_labels_page import sparsity_page, write_page
    from sightline.report.one_image import Analysis, analyse
    from sightline.report.write import Report, write_report

_HOME = {
    "Analysis": "one_image",
    "Choice": "figures",
    "Drawn": "figures",
    "Report": "write",
    "StoreFigures": "figures",
    "analyse": "one_image",
    "sparsity_page": "missing_labels_page",
    "write_detection_report": "detection",
    "write_page": "missing_labels_page",
    "write_report": "write",
}

__all__ = [
    "Analysis",
    "Choice",
    "Drawn",
    "Report",
    "StoreFigures",
    "analyse",
    "sparsity_page",
    "write_detection_report",
    "write_page",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"sightline.report.{_HOME[name]}"), name)
    raise AttributeError(f"module 'sightline.report' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
