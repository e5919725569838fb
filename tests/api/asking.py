"""Asking the service, and reading what it answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from sightline.api.binary import decode_map

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fastapi.testclient import TestClient
    from numpy.typing import NDArray

    from sightline.api.schemas import MapHeader

__all__ = ["LINE", "Decoded", "get", "get_map", "refused", "rows_of", "same"]

LINE = ("value", "low", "high", "chance", "ceiling", "n", "undefined")


class Decoded(NamedTuple):
    """A map that was answered."""

    header: MapHeader
    values: NDArray[Any]


def get(client: TestClient, path: str, /, **words: Any) -> dict[str, Any]:
    """Return an answer that must be there."""
    answer = client.get(f"/api/{path}", params=words)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def get_map(client: TestClient, path: str, /, **words: Any) -> Decoded:
    """Return a map that must be there."""
    answer = client.get(f"/api/{path}", params=words)
    assert answer.status_code == 200, answer.text
    header, values, *_ = decode_map(answer.content)
    return Decoded(header, values)


def refused(client: TestClient, path: str, status: int = 422, /, **words: Any) -> dict[str, Any]:
    """Return the problem that must be the answer."""
    answer = client.get(f"/api/{path}", params=words)
    assert answer.status_code == status, answer.text
    found: dict[str, Any] = answer.json()
    return found


def rows_of(rows: pd.DataFrame, words: Mapping[str, Any]) -> pd.DataFrame:
    """Return the stored rows of the map that is asked for."""
    base, _, variant = words["model"].partition("@")
    own: pd.DataFrame = rows[(rows["model"] == base) & (rows["variant"] == variant)]
    own = own[own["method"] == words["method"]]
    for name in ("layer", "head", "seed"):
        given = words.get(name)
        own = own[own[name].isna() if given is None else own[name] == given]
    return own


def same(line: dict[str, Any], row: Any, names: tuple[str, ...] = LINE) -> None:
    """See that a line of an answer has the numbers of a line of a table, null for undefined."""
    for name in names:
        expected = row[name]
        if pd.isna(expected):
            assert line[name] is None, name
        else:
            assert line[name] == expected, name
