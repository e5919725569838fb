"""A store to the results section of a paper: pages, tables and figures."""

from __future__ import annotations

from sightline.report.feeding import Choice, Drawn, StoreFigures
from sightline.report.write import Report, write_report

__all__ = ["Choice", "Drawn", "Report", "StoreFigures", "write_report"]
