"""Every public name of the metrics has an example in its docstring, and the example runs."""

from __future__ import annotations

import doctest
import inspect
import sys
from typing import Any

import pytest

from sightline import metrics

FUNCTIONS = [name for name in metrics.__all__ if inspect.isfunction(getattr(metrics, name))]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_example_runs(name: str) -> None:
    function: Any = inspect.unwrap(getattr(metrics, name))
    names = dict(vars(sys.modules[function.__module__]))
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    (found,) = doctest.DocTestFinder(recurse=False).find(function, name, globs=names)
    assert found.examples
    # The definition under a decorator has the example, but its name must mean the metric.
    found.globs[function.__name__] = getattr(metrics, name)
    report: list[str] = []
    result = doctest.DocTestRunner(optionflags=flags).run(found, out=report.append)
    assert result.failed == 0, "".join(report)
