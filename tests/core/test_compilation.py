"""Kernels are compiled with a word about it, and where nothing can be kept, too."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from sightline.core import compilation as _compiling
from sightline.detection.files import _json_scan as scan

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


class _Kernel:
    """A kernel whose cache is in a folder."""

    def __init__(self, folder: Path) -> None:
        self.stats = type("Stats", (), {"cache_path": str(folder)})
        kernel: Any = scan.scan_records
        self.py_func = kernel.py_func


def test_compiling_is_announced_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "sightline")
    kernel = _Kernel(tmp_path)
    for _ in range(2):
        _compiling.announce_compilation(kernel, "the kernels of a test")
    assert caplog.messages == [
        "compiling the kernels of a test: some seconds, once on this machine"
    ]
    (tmp_path / "_json_scan.scan_records-9.py311.nbi").touch()
    _compiling.announce_compilation(_Kernel(tmp_path), "the kernels of a test")
    assert len(caplog.messages) == 1


def test_kernels_need_no_folder_to_write_to(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(self: Any) -> None:
        raise PermissionError

    caplog.set_level(logging.WARNING, "sightline")
    monkeypatch.setattr("numba.core.caching._CacheLocator.ensure_cache_path", refuse)
    for decorator in (_compiling.compiled, _compiling.compiled_sums):
        kernel = decorator(_twice)
        assert kernel(21) == 42
    _compiling.announce_compilation(kernel, "what cannot be kept")
    assert "compiling what cannot be kept: some seconds, in every process" in caplog.text


def _twice(value: int) -> int:
    return 2 * value
