"""Notes in a store that the driver of a run and its workers share: what has begun, and the end."""

from __future__ import annotations

from contextlib import suppress
from secrets import token_hex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from sightline.store import Store

__all__ = ["Notes"]

_STOP = "stop"


class Notes:
    """Empty files whose names say something, in a folder of a run.

    Workers may be on other machines and may die at any moment; files are seen by all and outlive
    them. The name of the folder is drawn at random: whoever sees it sees this store.

    Parameters
    ----------
    folder : Path
        The folder, see `create`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def create(cls, store: Store) -> Notes:
        """Make the folder of a run; `Store.clean` removes it with all that is left of others."""
        folder = store.path.resolve() / ".ray" / token_hex(8)
        folder.mkdir(parents=True)
        return cls(folder)

    def stop(self) -> None:
        """Have no more tasks begun."""
        with suppress(OSError):  # a full disk must not hide what filled it
            (self.folder / _STOP).touch()

    def stopped(self) -> bool:
        """Say whether no more tasks are to be begun; so it is when the run is over."""
        return (self.folder / _STOP).exists() or not self.folder.exists()

    def begin(self, task: str) -> None:
        """Note that a task is begun, once more where it was before."""
        (self.folder / f"{task}.{self.begun(task) + 1}").touch()

    def begun(self, task: str) -> int:
        """Return how many times a task was begun; more than once means that workers died."""
        count = 0
        while (self.folder / f"{task}.{count + 1}").exists():
            count += 1
        return count

    def hear(self, task: str) -> None:
        """Note that the driver has heard what became of a task."""
        for number in range(1, self.begun(task) + 1):
            (self.folder / f"{task}.{number}").unlink(missing_ok=True)

    def in_hand(self) -> bool:
        """Say whether a task was begun of which the driver has not heard."""
        return any(path.name != _STOP for path in self.folder.iterdir())
