"""What the page about calibration must hold."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from benchmarks.calibration.lines import Line

PAGE = (Path(__file__).parents[2] / "docs" / "calibration.md").read_text("utf-8")


def check_page(lines: Iterable[Line]) -> None:
    """Fail unless the page has every figure that the simulations tell, with its promise."""
    for line in lines:
        rows = [row for row in PAGE.splitlines() if row.startswith(f"    | {line.what} | ")]
        assert rows, f"docs/calibration.md lacks {line.what!r}"
        if line.gated:
            assert any(f" | {line.bounds()} | " in row for row in rows), line
