"""Griffe extension: show how an overlap metric is called, not the formula under its decorator."""

from __future__ import annotations

from typing import Any

import griffe

DECORATOR, CALL = "_overlap_metric", "OverlapMetric.__call__"


class OverlapSignatures(griffe.Extension):
    """Give decorated metrics the signature of `OverlapMetric`."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Replace the parameters once the whole package is read."""
        overlap = pkg["metrics.overlap"]
        call = overlap[CALL]
        for function in overlap.functions.values():
            if any(str(decorator.value) == DECORATOR for decorator in function.decorators):
                own = [parameter for parameter in call.parameters if parameter.name != "self"]
                function.parameters = griffe.Parameters(*own)
