"""The command that serves: what it refuses, and a service of its own that ends quietly."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from fastapi.testclient import TestClient
from pydantic.warnings import UnsupportedFieldAttributeWarning
from typer.testing import CliRunner

from sightline.api import create_app
from sightline.api.app import _APART
from sightline.cli import app as command_line
from sightline.cli.serve import _address

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sightline.api.state import Service


def refused(*words: str) -> str:
    """Return what the command says when it does not serve."""
    done = CliRunner().invoke(command_line, ["serve", *words])
    assert done.exit_code == 2, done.output
    assert "Traceback" not in done.output
    return done.output


def test_a_folder_without_a_study_is_refused(tmp_path: Path) -> None:
    assert "no study is stored there" in refused(str(tmp_path))
    assert "no such folder" in refused(str(tmp_path / "gone"))


def test_a_port_that_is_taken_is_named(api_store: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        told = refused(str(api_store), "--port", str(port), "--no-open")
    warnings.warn("The 'alias' attribute with value", UnsupportedFieldAttributeWarning, 1)  # unseen
    assert f"cannot listen at 127.0.0.1 port {port}" in told
    assert "--port" in told


def test_a_short_token_is_refused(api_store: Path) -> None:
    assert "at least 8 characters" in refused(str(api_store), "--token", "short")


@pytest.mark.parametrize("package", ["fastapi", "uvicorn"])
def test_a_missing_package_is_named_with_the_line_that_installs_it(
    api_store: Path, package: str
) -> None:
    without = f"import sys; sys.modules[{package!r}] = None; from sightline.cli import main; main()"
    command = [sys.executable, "-c", without, "serve", str(api_store)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 2
    assert f"needs {package}: pip install 'sightline[web]'" in run.stderr
    assert "Traceback" not in run.stderr


def test_a_service_ends_though_threads_are_at_work(
    api_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, free, ended = threading.Event(), threading.Event(), threading.Event()

    def wait() -> bool:
        begun.set()
        return free.wait(30)

    def work(service: Service) -> None:
        connection = service.last.tables.connection
        connection.create_function("wait", wait, [], "BOOLEAN")
        connection.execute("SELECT wait()").fetchall()
        ended.set()

    monkeypatch.setattr("sightline.api.app.prepare", work)
    monkeypatch.setattr("sightline.api.app._PATIENCE", 0.01)
    app = create_app(api_store, warm=True)
    try:
        with TestClient(app):
            assert begun.wait(30)
        assert app.state.service.busy
    finally:
        free.set()
        assert ended.wait(30)
    for thread in threading.enumerate():  # those of other tests in this process, too
        if thread.name in _APART:
            thread.join(60)
    monkeypatch.setattr("sightline.api.app.prepare", lambda _: None)
    monkeypatch.setattr("sightline.api.app._PATIENCE", 30.0)  # a busy machine takes its time
    app = create_app(api_store, warm=True)
    with TestClient(app):
        pass
    assert not app.state.service.busy


def test_addresses_are_as_browsers_take_them() -> None:
    assert _address("127.0.0.1", 8000) == "http://127.0.0.1:8000"
    assert _address("::1", 8000) == "http://[::1]:8000"
    assert _address("0.0.0.0", 80) == f"http://{socket.gethostname()}:80"  # noqa: S104


@contextmanager
def serving(*words: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run the command in a process of its own; yield it with the address that it prints."""
    command = [sys.executable, "-c", "from sightline.cli import main; main()", "serve", *words]
    run = subprocess.Popen(
        [*command, "--port", "0", "--no-open"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=os.environ | {"COLUMNS": "300"},
    )  # fmt: skip
    try:
        assert run.stdout is not None
        line = run.stdout.readline()
        found = re.search(r" at (http://\S+)", line)
        assert found, line
        yield run, found[1]
    finally:
        run.kill()
        run.communicate()


def ask(address: str, header: str | None = None) -> tuple[int, str]:
    """Return status and text of an answer."""
    asked = urllib.request.Request(address)  # noqa: S310
    if header:
        asked.add_header("Authorization", header)
    try:
        with urllib.request.urlopen(asked) as answer:  # noqa: S310
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


@pytest.mark.parametrize(
    ("ending", "words", "warming"),
    [(signal.SIGINT, [], True), (signal.SIGTERM, ["--no-prepare"], False)],
)
def test_a_store_is_served_until_it_is_told_to_end(
    api_store: Path, ending: int, words: list[str], warming: bool
) -> None:
    with serving(str(api_store), *words) as (run, address):
        assert address.startswith("http://127.0.0.1:")
        status, text = ask(f"{address}/api/health")
        assert (status, json.loads(text)["study"]) == (200, "served")
        assert json.loads(text)["warming"] is warming
        run.send_signal(ending)
        output, errors = run.communicate(timeout=20)
        assert run.returncode in (0, -signal.SIGTERM, 128 + signal.SIGTERM)
        assert errors == ""
        assert "Traceback" not in output


def test_beyond_this_machine_a_token_is_made_and_needed(api_store: Path) -> None:
    with serving(str(api_store), "--host", "0.0.0.0") as (_, address):  # noqa: S104
        base, _, token = address.partition("/?token=")
        assert len(token) >= 32
        here = f"http://127.0.0.1:{base.rpartition(':')[2]}"
        assert ask(f"{here}/api/health")[0] == 401
        assert ask(f"{here}/")[0] == 401
        assert ask(f"{here}/api/health", f"Bearer {token}")[0] == 200
        assert ask(f"{here}/?token={token}")[0] == 200


def test_the_log_does_not_hold_the_token(api_store: Path) -> None:
    token = "a token of my own"  # noqa: S105
    words = ("--token", token, "--no-prepare")
    with serving(str(api_store), *words) as (run, address):
        base = address.partition("/?token=")[0]
        for path in ("/", "/api/health", "/api/images/gone.png", "/api/nothing"):
            ask(f"{base}{path}?token={quote(token)}")
            ask(f"{base}{path}", f"Bearer {token}x")
        with socket.create_connection(("127.0.0.1", int(base.rpartition(":")[2]))) as raw:
            raw.sendall(f"GET /?token={quote(token)} NONSENSE\r\n\r\n".encode())
            raw.recv(1000)
        run.send_signal(signal.SIGINT)
        output, errors = run.communicate(timeout=20)
    assert "Invalid HTTP request" in errors
    for told in (output, errors):
        assert token not in told
        assert quote(token) not in told
