"""The report of the demo's study, made once for all tests and workers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sightline.report.scores import Scored, read_scores
from sightline.results import open_results
from tests.loaded import drawn_once
from tests.workers import shared_folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sightline.results import Results


@pytest.fixture(scope="module", autouse=True)
def _drawn_once() -> Iterator[None]:
    with drawn_once():
        yield


@pytest.fixture(scope="module")
def results(demo_store: Path) -> Iterator[Results]:
    """What the demo's study stored."""
    with open_results(demo_store) as opened:
        yield opened


@pytest.fixture(scope="module")
def scored(results: Results) -> Scored:
    """The means of its lines."""
    return read_scores(results)


@pytest.fixture(scope="session")
def demo_report(demo_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the report of `demo_store`: read it, do not change it.

    Of examples, which all lines have, it shows those of four lines, and of prototypes a few cards.
    Charts whose names are promised and a picture are there in all formats, other figures as SVG.
    """
    from sightline.report import write_report
    from tests.demo import once
    from tests.report.few import CARDS, DPI, LIMIT, draw_few_examples, draw_few_formats

    def make(folder: Path) -> Path:
        with pytest.MonkeyPatch.context() as patch:
            draw_few_examples(patch, 4)
            draw_few_formats(patch)
            patch.setattr("sightline.report.write.LIMIT", LIMIT)
            patch.setattr("sightline.report._figures_prototypes.SHOWN", CARDS)
            return write_report(demo_store, folder / "report", dpi=DPI, workers=1).page.parent

    return once(shared_folder(tmp_path_factory) / "demo_report", make)
