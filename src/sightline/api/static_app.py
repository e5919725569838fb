"""The files of the built app: read into memory, so that no path of a request meets the disk."""

from __future__ import annotations

import mimetypes
import os
import threading
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, Response

from sightline.api.problems import problem_response

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

__all__ = ["BuiltApp", "app_folder"]

_VARIABLE = "SIGHTLINE_APP"
_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_TYPES |= {
    ".html": "text/html",
    ".woff2": "font/woff2",
    ".webmanifest": "application/manifest+json",
}
# Names of built files hold a hash of their content.
_BUILT = "assets/"
_IMMUTABLE, _REVALIDATE = "public, max-age=31536000, immutable", "no-cache"

_MISSING = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Sightline</title>
<style>body{{font:1rem/1.5 system-ui,sans-serif;max-width:40rem;margin:3rem auto;padding:0 1rem}}
code{{background:#8882;padding:.1em .3em}}:root{{color-scheme:light dark}}</style>
<h1>Sightline</h1>
<p>The service is up, but the app is not built: there is no <code>{folder}/index.html</code>.</p>
<p>In a checkout, <code>make web</code> builds it (Node 20 or newer is needed). A wheel brings it
along.</p>
<p>The API answers without it: <a href="/api/health">/api/health</a>,
<a href="/api/study">/api/study</a>, <a href="/api/openapi.json">/api/openapi.json</a>.</p>
</html>
"""


def app_folder() -> Path:
    """Return where the built app lies: $SIGHTLINE_APP, or in the package."""
    given = os.environ.get(_VARIABLE)
    return Path(given).resolve() if given else Path(__file__).parent / "static"


@dataclass(frozen=True, slots=True)
class _File:
    content: bytes
    kind: str
    tag: str
    control: str


class BuiltApp:
    """Serves the app: its files by name, and its page under every other path.

    Parameters
    ----------
    folder
        Of the built app; looked at again when its page changes.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = app_folder() if folder is None else folder
        self._lock = threading.Lock()
        self._files: dict[str, _File] = {}
        self._stamp: int | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        await self._answer(scope)(scope, receive, send)

    def _answer(self, scope: Scope) -> Response:
        if scope["path"].startswith("/api"):
            told = f"no route {scope['path'][:200]}; /api/openapi.json lists them"
            return problem_response(404, told)
        if scope["method"] not in ("GET", "HEAD"):
            return problem_response(405, "only GET", None, {"Allow": "GET, HEAD"})
        files = self._read()
        name = scope["path"].lstrip("/")
        if not files:
            return HTMLResponse(_MISSING.format(folder=self.folder.name), 200 if not name else 404)
        if name.startswith(_BUILT) and name not in files:
            return problem_response(404, f"the app has no file {name[:200]}")
        file = files.get(name) or files["index.html"]
        headers = {"ETag": file.tag, "Cache-Control": file.control}
        if file.tag in Headers(scope=scope).get("if-none-match", ""):
            return Response(None, 304, headers)
        return Response(file.content, 200, headers, file.kind)

    def _read(self) -> dict[str, _File]:
        """Return the files by name; none where the app is not built."""
        try:
            stamp = (self.folder / "index.html").stat().st_mtime_ns
        except OSError:
            return {}
        with self._lock:
            if stamp != self._stamp:
                paths = [path for path in self.folder.rglob("*") if path.is_file()]
                self._files = {
                    path.relative_to(self.folder).as_posix(): self._file(path) for path in paths
                }
                self._stamp = stamp
            return self._files

    def _file(self, path: Path) -> _File:
        content = path.read_bytes()
        guess = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
        built = path.relative_to(self.folder).as_posix().startswith(_BUILT)
        return _File(
            content,
            _TYPES.get(path.suffix, guess),
            f'"{sha256(content).hexdigest()[:32]}"',
            _IMMUTABLE if built else _REVALIDATE,
        )
