"""Answers that need not be made twice: tags, 304, and a bounded memory of encoded answers.

Whatever a GET route answers follows from its URL and one moment of the store. So the tag of an
answer is a hash over both, and is known before the answer is.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode

from starlette.concurrency import run_in_threadpool

from sightline.api.state import AHEAD, SCOPE, Served, Service

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["AnswerCache", "CachedAnswers", "Encoded", "etag_of"]

_MOST_BYTES = 16 << 20
# Pictures are kept apart: a few hundred of them would push out all the rest. So are maps, which
# are larger still, and made sooner; and scores of single maps, of which there are many by many
# rules, each made in a moment.
_BULKY, _MOST_BULKY, _MOST_MAPS, _MOST_SCORES = 32 << 10, 24 << 20, 12 << 20, 8 << 20
_MAPS, _SCORES, _SLOW_SCORES = "/api/maps/", "/api/metrics/", ("/models", "/heads")
# An answer larger than this is passed on as it comes, and not kept.
_MOST_EACH = 8 << 20
# What changes though the store does not, or tells of that very moment.
_FRESH = ("/api/health", "/api/progress", "/api/sparsity/progress")
# What people write: never kept, neither here nor by a browser.
_LIVE = ("/api/review", "/api/rating")
_IMMUTABLE = b"private, max-age=31536000, immutable"
_REVALIDATE = b"private, no-cache"
# Query words that say nothing about the answer: the version that is wanted, and who asks.
_ASIDE = ("v", "token")

Headers = list[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class Encoded:
    """An answer as it is sent."""

    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes

    @property
    def size(self) -> int:
        """Bytes that keeping it takes, about."""
        return len(self.body) + 1024


class AnswerCache:
    """Encoded answers, the longest unused going first.

    Parameters
    ----------
    most
        Bytes to keep.
    """

    def __init__(self, most: int = _MOST_BYTES) -> None:
        self.most, self.size = most, 0
        self._found: OrderedDict[str, Encoded] = OrderedDict()

    def __len__(self) -> int:
        return len(self._found)

    def get(self, key: str) -> Encoded | None:
        """Return an answer, if it is there."""
        found = self._found.get(key)
        if found is not None:
            self._found.move_to_end(key)
        return found

    def put(self, key: str, answer: Encoded) -> None:
        """Keep an answer, and forget others where there is no room."""
        before = self._found.pop(key, None)
        self.size += answer.size - (before.size if before else 0)
        self._found[key] = answer
        while self.size > self.most:
            _, gone = self._found.popitem(last=False)
            self.size -= gone.size

    def clear(self) -> None:
        """Forget all."""
        self._found.clear()
        self.size = 0


def etag_of(version: str, path: str, words: list[tuple[str, str]]) -> str:
    """Return the tag of an answer: a hash over a moment of the store and a URL.

    >>> one = etag_of("a", "/api/images", [("limit", "5"), ("sort", "area")])
    >>> one == etag_of("a", "/api/images", [("sort", "area"), ("limit", "5")])
    True
    >>> one == etag_of("b", "/api/images", [("limit", "5"), ("sort", "area")])
    False

    Of a word that is there twice the last one counts, so that their order does matter:

    >>> twice = [("limit", "5"), ("limit", "9")]
    >>> etag_of("a", "/api/images", twice) == etag_of("a", "/api/images", twice[::-1])
    False
    """
    ordered = sorted(words, key=lambda word: word[0])
    text = "\n".join((version, path, urlencode(ordered)))
    return f'"{sha256(text.encode()).hexdigest()[:32]}"'


class CachedAnswers:
    """Middleware that tags answers of /api, sends 304, and makes each answer once.

    It also fixes which moment of the store a request is about, so that the tag and the answer
    are of the same.

    Parameters
    ----------
    app
        What makes answers.
    service
        The store that is served.
    cache
        Where answers are kept.
    """

    def __init__(self, app: ASGIApp, service: Service, cache: AnswerCache | None = None) -> None:
        self.app, self.service = app, service
        self.cache = AnswerCache() if cache is None else cache
        self.bulky, self.maps = AnswerCache(_MOST_BULKY), AnswerCache(_MOST_MAPS)
        self.scores = AnswerCache(_MOST_SCORES)
        self._under_way: dict[str, asyncio.Future[Encoded | None]] = {}
        self._version = ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http" or not scope["path"].startswith("/api/"):
            await self.app(scope, receive, send)
            return
        self.service.asked += AHEAD not in scope and scope["path"] not in _FRESH
        served = await self._now()
        scope[SCOPE] = served
        if scope["path"].startswith(_LIVE):
            await self.app(scope, receive, _Unkept(send))
            return
        if scope["method"] != "GET" or scope["path"] in _FRESH:
            await self.app(scope, receive, send)
            return
        await _Asked(self, served, scope, receive).answer(send)

    async def _now(self) -> Served:
        """Return the store as it is; reading it anew does not hold up other requests."""
        service = self.service
        served = await run_in_threadpool(service.now) if service.due() else service.last
        if served.version != self._version:
            for kept in self._rooms:
                kept.clear()
            self._version = served.version
        return served

    async def make(self, key: str, scope: Scope, receive: Receive, send: Send) -> Encoded | None:
        """Have an answer made, by one request for all that ask for it at the same time.

        Returns
        -------
        Encoded or None
            None where it was too large to keep, and has been sent on already.
        """
        if (others := self._under_way.get(key)) is not None:
            found = await asyncio.shield(others)  # who goes away takes nobody along
            if found is not None:
                return found
            return await _Recorder(self.app, send).run(scope, receive)
        mine: asyncio.Future[Encoded | None] = asyncio.get_running_loop().create_future()
        self._under_way[key] = mine
        found = None
        try:
            found = await _Recorder(self.app, send).run(scope, receive)
            if found is not None and found.status == 200:
                self._room(scope.get("path", ""), found).put(key, found)
        finally:
            del self._under_way[key]
            mine.set_result(found)
        return found

    def kept(self, key: str) -> Encoded | None:
        """Return an answer, if it is there."""
        return next((found for room in self._rooms if (found := room.get(key))), None)

    @property
    def _rooms(self) -> tuple[AnswerCache, ...]:
        return self.cache, self.scores, self.bulky, self.maps

    def _room(self, path: str, answer: Encoded) -> AnswerCache:
        """Return where an answer is kept."""
        if answer.size > _BULKY:
            return self.maps if path.startswith(_MAPS) else self.bulky
        quick = path.startswith(_SCORES) and not path.endswith(_SLOW_SCORES)
        return self.scores if quick else self.cache


class _Asked:
    """One GET request of /api."""

    def __init__(self, by: CachedAnswers, served: Served, scope: Scope, receive: Receive) -> None:
        self.by, self.scope, self.receive = by, scope, receive
        words = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        asked = next((value for name, value in words if name == "v"), None)
        path = scope["path"]
        pictures = path.startswith("/api/images/") and path.endswith(("/file", "/thumbnail"))
        version = served.pictures if pictures else served.version
        known = (served.version, served.pictures) if pictures else (served.version,)
        self.tag = etag_of(version, path, [pair for pair in words if pair[0] not in _ASIDE])
        self.control = _IMMUTABLE if asked in known else _REVALIDATE
        # The version must be in the key as well: tags of pictures have another.
        self.key = f"{served.version} {self.tag}"

    async def answer(self, send: Send) -> None:
        tagged = _Tagging(self, send)
        if self._same():
            await _send(Encoded(304, (), b""), tagged)
            return
        found = self.by.kept(self.key)
        if found is None:
            found = await self.by.make(self.key, self.scope, self.receive, tagged)
        if found is not None:
            await _send(found, tagged)

    def _same(self) -> bool:
        """Say whether the client has this very answer."""
        for name, value in self.scope["headers"]:
            if name == b"if-none-match":
                tags = [
                    tag.strip().removeprefix("W/") for tag in value.decode("latin-1").split(",")
                ]
                return self.tag in tags
        return False


class _Tagging:
    """Sends an answer, with its tag where it is one that was asked for."""

    def __init__(self, asked: _Asked, send: Send) -> None:
        self.asked, self.send = asked, send

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] in (200, 304):
            headers = [pair for pair in message["headers"] if pair[0] != b"cache-control"]
            headers += [(b"etag", self.asked.tag.encode()), (b"cache-control", self.asked.control)]
            message = {**message, "headers": headers}
        await self.send(message)


class _Unkept:
    """Sends an answer that nobody may keep."""

    def __init__(self, send: Send) -> None:
        self.send = send

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = [pair for pair in message["headers"] if pair[0] != b"cache-control"]
            message = {**message, "headers": [*headers, (b"cache-control", b"no-store")]}
        await self.send(message)


class _Recorder:
    """Runs a route and keeps its answer; passes on what is too large as it comes."""

    def __init__(self, app: ASGIApp, send: Send) -> None:
        self.app, self.send = app, send
        self._start: Message = {}
        self._parts: list[bytes] = []
        self._size, self._passing = 0, False

    async def run(self, scope: Scope, receive: Receive) -> Encoded | None:
        await self.app(scope, receive, self._take)
        if self._passing:
            return None
        headers: Any = tuple(tuple(pair) for pair in self._start["headers"])
        return Encoded(self._start["status"], headers, b"".join(self._parts))

    async def _take(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._start = message
            return
        if message["type"] != "http.response.body":
            await self.send(message)
            return
        if self._passing:
            await self.send(message)
            return
        body = message.get("body", b"")
        self._parts.append(body)
        self._size += len(body)
        if self._size > _MOST_EACH:
            self._passing = True
            await self.send(self._start)
            whole = b"".join(self._parts)
            self._parts.clear()
            await self.send({**message, "body": whole})


async def _send(answer: Encoded, send: Send) -> None:
    headers: Headers = list(answer.headers)
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})
