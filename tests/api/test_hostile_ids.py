"""Hostile ids, names and words, asked of the service: no file elsewhere, no fault of its own."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

import pytest

from sightline.data.formats.checks import has_half
from tests.fuzz.names import NAMES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fastapi import FastAPI
    from fastapi.testclient import TestClient

    from sightline.api.state import Served

# What a request can hold at all: half a character has no bytes to send.
ASKED = [name for name in NAMES if len(name) < 1000 and not has_half(name)]
REFUSALS = {400, 404, 405, 409, 414, 422}


@pytest.fixture(scope="module")
def opened() -> Iterator[list[str]]:
    """Every file that is opened while the tests of this module run."""
    names: list[str] = []
    on = True

    def note(event: str, arguments: tuple[object, ...]) -> None:
        if on and event == "open" and isinstance(arguments[0], str | bytes | os.PathLike):
            names.append(os.fsdecode(arguments[0]))

    sys.addaudithook(note)
    yield names
    on = False


def _paths(api: FastAPI, word: str) -> list[str]:
    """Return the paths that are asked with GET and have a word in braces."""
    paths = api.openapi()["paths"]
    return sorted(path for path in paths if f"{{{word}}}" in path and "get" in paths[path])


def _check(client: TestClient, address: str) -> None:
    answer = client.get(address)
    assert answer.status_code in REFUSALS | {200}, (address, answer.status_code, answer.text[:300])
    assert "root:x:0" not in answer.text
    if answer.status_code != 200:
        assert answer.headers["content-type"] == "application/problem+json", address
        assert len(answer.content) < 20_000


@pytest.mark.parametrize("word", ["image_id", "name"])
def test_hostile_ids_in_paths(
    api: FastAPI, client: TestClient, word: str, opened: list[str]
) -> None:
    paths = _paths(api, word)
    assert len(paths) > 3
    for number, name in enumerate(ASKED):
        path = paths[number % len(paths)]  # each path meets its share, each name one path
        asked = path.replace(f"{{{word}}}", quote(name, safe=""))
        _check(client, re.sub(r"[{}]", "", asked))
    outside = [name for name in opened if name.startswith("/etc/pass") or "secret" in name]
    assert outside == []


def test_every_hostile_id_of_an_image_is_unknown(client: TestClient, opened: list[str]) -> None:
    for name in ASKED:
        address = f"/api/images/{quote(name, safe='')}"
        answer = client.get(address)
        lists = not name.strip("/.")  # then it is the list of images, or what lies above it
        assert answer.status_code in REFUSALS or lists, (name, answer.status_code)
    assert not [name for name in opened if "secret" in name]


def test_hostile_words_in_questions(api: FastAPI, client: TestClient, served: Served) -> None:
    paths = api.openapi()["paths"]
    image = next(iter(served.images))
    asked = []
    for path, ways in sorted(paths.items()):
        words = [one for one in ways.get("get", {}).get("parameters", []) if one["in"] == "query"]
        if "{" not in path.replace("{image_id}", ""):
            asked += [(path.replace("{image_id}", image), one["name"]) for one in words]
    assert len(asked) > 100
    for number, (path, word) in enumerate(asked):
        for name in ASKED[number % 197 :: 197]:
            _check(client, f"{path}?{urlencode({word: name})}")


def test_files_beside_the_service_stay_there(client: TestClient) -> None:
    for name in ASKED:
        for path in (f"/{quote(name)}", f"/assets/{quote(name, safe='')}"):
            answer = client.get(path)
            assert answer.status_code < 500, (path, answer.text[:200])
            assert "root:x:0" not in answer.text
