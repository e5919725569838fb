"""Griffe extension: show how a metric is called, not the formula under its decorator."""

from __future__ import annotations

from copy import copy
from typing import Any

import griffe

CALLS = {
    "_overlap_metric": "metrics.overlap.OverlapMetric.__call__",
    "of_map": "metrics._border.MapMetric.__call__",
    "against": "metrics._border.PairMetric.__call__",
}


class MetricSignatures(griffe.Extension):
    """Give decorated metrics the signature of the protocol that their decorator returns."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Replace the parameters once the whole package is read."""
        for module in pkg["metrics"].modules.values():
            for function in module.functions.values():
                decorators = [] if function.is_alias else function.decorators
                for decorator in decorators:
                    name, _, need = str(decorator.value).partition("(")
                    if name in CALLS:
                        own = [copy(each) for each in pkg[CALLS[name]].parameters][1:]
                        if "mask" in need:
                            own[1].name = "mask"
                        function.parameters = griffe.Parameters(*own)
