"""Examples in docstrings give what they show."""

from __future__ import annotations

import doctest
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

SOURCE = Path(__file__).parents[1] / "src"
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def _modules() -> dict[str, str]:
    """The text of each module by its name; none is imported."""
    files = sorted(SOURCE.rglob("*.py"))
    parts = {file.relative_to(SOURCE).with_suffix("").parts: file for file in files}
    return {
        ".".join(name[:-1] if name[-1] == "__init__" else name): file.read_text("utf-8")
        for name, file in parts.items()
        if name[-1] != "__main__"  # runs the program
    }


MODULES = _modules()


def _run_examples(module: ModuleType) -> tuple[int, str]:
    """Run the examples of a module; return how many there are and what did not come out."""
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    finder = doctest.DocTestFinder(exclude_empty=True)
    tried = sum(runner.run(found, out=said.append).attempted for found in finder.find(module))
    return tried, "".join(said)


@pytest.mark.parametrize("name", [name for name, text in MODULES.items() if ">>> " in text])
def test_examples_give_what_they_show(name: str) -> None:
    tried, said = _run_examples(import_module(name))
    assert said == "", said
    # All that are written are found, those of decorated functions too.
    written = [line for line in MODULES[name].splitlines() if line.lstrip().startswith(">>> ")]
    assert tried == len(written)


# Kernels for a GPU; Triton, in which they are written, comes with torch for CUDA alone.
KERNELS = ("sightline.metrics._fused", "sightline.attribution.methods._triton_attention")


def test_every_module_can_be_imported() -> None:
    assert len(MODULES) > 300
    for name in MODULES:
        if name not in KERNELS or find_spec("triton") is not None:
            assert import_module(name).__doc__, name


def test_an_example_that_does_not_hold_is_told() -> None:
    tried, said = _run_examples(ModuleType("made", ">>> 1 + 1\n3\n"))
    assert tried == 1
    assert "Expected:\n    3\nGot:\n    2" in said
