"""Checks: whether a map is about the model at all, and whether the model relies on what it shows.

Light to import: what runs a network is imported when a check is made.
"""

from sightline.attribution.sanity.table import CHECKS, Check, Job, Row, check_rows

__all__ = ["CHECKS", "Check", "Job", "Row", "check_rows"]
