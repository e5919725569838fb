"""What missing labels may have done to the scores."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from fastapi import APIRouter

from sightline.api.choice import AskedTable, TableWords, find_where, refuse_words
from sightline.api.problems import BUSY, PROBLEMS, Refusal, naming, of_store, wrong
from sightline.api.routes import _frames as frames
from sightline.api.routes._cells import records, to_table
from sightline.api.routes._table_cache import keep
from sightline.api.schemas import BestBaseline, Sparsity, SparsityProgress
from sightline.api.state import Here, Served
from sightline.results._views import Name
from sightline.results.missing_labels import SparsityReport, sparsity_report

__all__ = ["router", "why_no_score"]

router = APIRouter(tags=["sparsity"])

T = TypeVar("T")

# One report at a time: each reads all maps.
_ONE = threading.Lock()
# Each that is asked for waits in a thread of its own: no more of them than that.
_MOST = 8
_WAITING = threading.BoundedSemaphore(_MOST)
# The one IoU whose threshold looks at the annotation.
_MATCHED = "iou@matched"
_IDLE = SparsityProgress(making=False, metric=None, step=None, done=0, all=0)


@router.get(
    "/api/sparsity",
    response_model=Sparsity,
    responses={**PROBLEMS, 429: BUSY},
    summary="What missing labels may have done to the scores",
    description="Annotations are rarely complete. The report says how far missing labels could "
    "bias the scores, which differences between models survive it, and what cannot be told: "
    "`findings` in words, `tables` with the numbers, `missing` with what would tell more. It reads "
    "all maps and may take half a minute the first time; `/api/sparsity/progress` tells how far it "
    "has come. `metric` must be IoU at a threshold that does "
    "not look at the annotation.",
)
async def sparsity(served: Here, words: TableWords) -> Sparsity:
    """Return the sparsity report."""
    return await _apart(lambda: _answer(served, report_of(served, words)))


@router.get(
    "/api/sparsity/progress",
    response_model=SparsityProgress,
    summary="How far the sparsity report has come that is being made",
)
def sparsity_progress(served: Here) -> SparsityProgress:
    """Tell what is being done for the report that someone asked for. Poll it while you wait."""
    return _Making.of(served).now


class _Making:
    """What is told of the report that is being made."""

    def __init__(self) -> None:
        self.now = _IDLE

    @classmethod
    def of(cls, served: Served) -> _Making:
        return served.kept("sparsity report in the making", cls)

    def make(self, served: Served, metric: Name, **given: Any) -> SparsityReport:
        """Make a report, one at a time, and tell how far it has come."""

        def move(done: int, count: int, what: str) -> None:
            self.now = SparsityProgress(
                making=True, metric=str(metric), step=what, done=done, all=count
            )

        with _ONE:
            try:
                move(0, 0, "Reading the annotation")
                return sparsity_report(served.results, str(metric), progress=move, **given)
            finally:
                self.now = _IDLE


async def _apart(work: Callable[[], T]) -> T:
    """Return what long work gives. It has a thread of its own: other answers need the common ones.

    The thread is let go when the service ends, however far it has come.

    Raises
    ------
    Refusal
        429, if many wait already.
    """
    if not _WAITING.acquire(blocking=False):
        raise Refusal(429, f"{_MOST} reports are being made or waited for; ask again later")
    made: Future[T] = Future()
    made.set_running_or_notify_cancel()

    def run() -> None:
        try:
            made.set_result(work())
        except BaseException as error:  # told to whoever asked
            made.set_exception(error)
        finally:
            _WAITING.release()

    threading.Thread(target=run, name="sparsity report", daemon=True).start()
    return await asyncio.wrap_future(made)


def _answer(served: Served, report: SparsityReport) -> Sparsity:
    return Sparsity(
        metric=report.metric,
        main=report.main,
        best_baseline=BestBaseline(**report.best_baseline.to_dict()),
        images=report.images,
        regions=report.regions,
        findings=report.findings,
        missing=report.missing,
        tables={name: to_table(getattr(report, name)) for name in report.TABLES},
        note=report.note,
        warnings=frames.find_row_warnings(served, records(report.lines)),
    )


def report_of(served: Served, words: AskedTable) -> SparsityReport:
    """Return the report that words ask for, made once.

    Raises
    ------
    Refusal
        422, if a word does not fit; 409, if maps were not kept or the data are gone.
    """
    words = frames.asked(served, words)
    refuse_words(words, ("head", "seed"), "the sparsity report")
    metric = _metric(served, words)
    find_where(served, words, words.layer)
    given: dict[str, Any] = {"layer": "best" if words.layer is None else words.layer}
    given |= {field: getattr(words, field) for field in ("model", "method", "target")}
    making = _Making.of(served)
    with of_store():
        return keep(
            served,
            ("sparsity", metric, tuple(given.items())),
            lambda: making.make(served, metric, **given),
        )


def _metric(served: Served, words: AskedTable) -> Name:
    """Return the score: an IoU whose threshold does not look at the annotation."""
    with of_store():
        served.name(None)  # says so where nothing is stored yet
    if why := why_no_score(served):
        raise wrong(why, "metric")
    fitting = _fitting(served)
    text = words.metric or ("iou@90" if "iou@90" in fitting else fitting[0])
    with naming("metric"):
        name = served.name(text)
    if str(name) not in fitting:
        raise wrong(
            f"metric must be one of {', '.join(fitting)}: missing labels change what is asked by "
            f"others; got {text!r}",
            "metric",
        )
    return name


def why_no_score(served: Served) -> str:
    """Say why no stored score is one that a report can be about; empty: one is."""
    if _fitting(served):
        return ""
    but = f" but {_MATCHED}" if _MATCHED in served.results.metrics else ""
    return f"the report needs an IoU by the map alone, and the study stored no IoU{but}"


def _fitting(served: Served) -> list[str]:
    """Return the stored IoUs whose threshold does not look at the annotation."""
    stored = served.results.metrics
    return [one for one in stored if one.startswith("iou@") and one != _MATCHED]
