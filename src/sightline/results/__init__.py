"""Tables out of a store: leaderboards, breakdowns, single images, SQL, files to hand on."""

from __future__ import annotations

from sightline.results.diff import Difference, diff_results
from sightline.results.digest import results_digest
from sightline.results.export import export_results
from sightline.results.results import Results, open_results

__all__ = [
    "Difference",
    "Results",
    "diff_results",
    "export_results",
    "open_results",
    "results_digest",
]
