"""How far a run is, and who is told."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sightline.study.executors.lane import STEPS

if TYPE_CHECKING:
    from sightline.store import Store
    from sightline.study import Plan
    from sightline.study.executors.lane import Finished

__all__ = ["Run", "Watch"]


@dataclass
class Run:
    """How far a run is, and what it has done.

    Attributes
    ----------
    store : Store
        Where the results are.
    plan : Plan
        What was to be done.
    workers : int
        Processes that share the work.
    stored : int
        Tasks that were there before.
    finished : int
        Tasks of the plan that this run has done.
    tasks : int
        All that it has done, those included that a change of the plan made vain.
    maps, rows : int
        How many this run has made and written.
    seconds : float
        Since the run began.
    steps : dict
        Seconds of each step, over all workers.
    sources : dict
        By number of the source: tasks done and their seconds.
    notes : list of str
        What the user should know.
    bad : dict
        Images that could not be used, with the reason.
    damaged : list of str
        Files of the store that were damaged or missing; notes say which were made again.
    stopped : bool
        Whether it was asked to stop.
    """

    store: Store
    plan: Plan
    workers: int = 1
    stored: int = 0
    finished: int = 0
    tasks: int = 0
    maps: int = 0
    rows: int = 0
    seconds: float = 0.0
    steps: dict[str, float] = field(default_factory=lambda: dict.fromkeys(STEPS, 0.0))
    sources: dict[int, tuple[int, float]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    bad: dict[str, str] = field(default_factory=dict)
    damaged: list[str] = field(default_factory=list)
    stopped: bool = False

    @property
    def total(self) -> int:
        """Tasks of the plan."""
        return len(self.plan.tasks)

    @property
    def complete(self) -> bool:
        """Whether every task is done."""
        return self.stored + self.finished == self.total

    def time_left(self) -> float | None:
        """Return the seconds that the tasks left will take; None before the first is done.

        By the mean of each source so far, and the mean of all for those not yet begun.
        """
        count = sum(done for done, _ in self.sources.values())
        if not count:
            return None
        usual = sum(seconds for _, seconds in self.sources.values()) / count
        left = 0.0
        for number, source in enumerate(self.plan.sources):
            done, seconds = self.sources.get(number, (0, 0.0))
            todo = len(self.plan.chunks_of(source)) - done - self._stored_of.get(number, 0)
            left += todo * (seconds / done if done else usual)
        busy = sum(self.steps.values())
        # Steps of a worker overlap; what it took to start it is no measure of the rest.
        return left * min(1.0, self.seconds / busy) if busy else left / self.workers

    _stored_of: dict[int, int] = field(default_factory=dict, repr=False)

    def add(self, event: Finished) -> None:
        """Count a finished task."""
        self.finished += 1
        self.tasks += 1
        self.maps += event.done.maps
        self.rows += event.done.rows
        for name, seconds in event.seconds.items():
            self.steps[name] += seconds
        done, spent = self.sources.get(event.task.source, (0, 0.0))
        self.sources[event.task.source] = done + 1, spent + sum(event.seconds.values())


class Watch:
    """What a run tells while it goes on; methods do nothing unless overridden."""

    def planning(self, done: int, total: int, what: str) -> None:
        """Say what is read and loaded for the plan."""

    def planned(self, run: Run) -> None:
        """Say that the plan stands and the first task begins."""

    def moved(self, run: Run) -> None:
        """Say that a task is finished."""
