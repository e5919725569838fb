"""What reading a text file says where memory is lacking: it is no fault of the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from sightline.core import InputError
from sightline.core.errors import OutOfMemoryError
from sightline.data.formats.lines import read_text


def test_a_lack_of_memory_is_no_fault_of_a_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("a")
    error: Exception = OSError(12, "Cannot allocate memory")

    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(Path, "read_text", fail)
    with pytest.raises(OSError, match="Cannot allocate memory"):
        read_text(path)
    error = MemoryError()
    with pytest.raises(OutOfMemoryError, match=r"a\.txt: cannot be read: it is larger than"):
        read_text(path)
    error = OSError(5, "Input/output error")
    with pytest.raises(InputError, match="cannot be read: Input/output error"):
        read_text(path)
