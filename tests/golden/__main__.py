"""Write the golden run again: `python -m tests.golden`. The commit says why answers changed."""

import json
import os
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ["HF_HUB_OFFLINE"] = "1"

from tests.golden.answers import FOLDER, list_answers, mask_answer, read_answer, write_answer
from tests.golden.questions import Asker
from tests.golden.recording import MACHINE, MAPS, Recording, describe_machine
from tests.golden.runs import make_runs
from tests.loaded import loaded_once


def main() -> None:
    """Write maps and answers, and print which answers changed."""
    before = {name: read_answer(path) for name, path in list_answers().items()}
    recording = Recording(MAPS, exact=True, write=True)
    shutil.rmtree(FOLDER, ignore_errors=True)
    with TemporaryDirectory() as folder, loaded_once():
        runs = make_runs(Path(folder), recording)
        recording.save()
        asker = Asker(runs, Path(folder) / "out")
        for question in asker.questions():
            write_answer(question.name, mask_answer(question.ask(), [Path(folder)]))
        asker.close()
    MACHINE.write_text(json.dumps(describe_machine(), indent=1) + "\n")
    after = {name: read_answer(path) for name, path in list_answers().items()}
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            state = "changed" if name in before and name in after else "new"
            print(state if name in after else "gone", name)  # noqa: T201
    print(f"{len(after)} answers, {len(recording.maps)} maps")  # noqa: T201


if __name__ == "__main__":
    main()
