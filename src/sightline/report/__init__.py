"""A store to the results section of a paper: pages, tables and figures."""

from __future__ import annotations

__all__: list[str] = []
