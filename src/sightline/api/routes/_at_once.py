"""Answers about one map that are made at once, where that takes no longer than to hand them over.

A thread of the pool is for what takes long, and whoever waits for one waits for all before. What
takes a few milliseconds is made by the one that receives and sends, in the order in which it came.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import thread_time
from typing import Any, NamedTuple, TypeVar

from starlette.concurrency import run_in_threadpool

from sightline.api.choice import AskedMap, choose_map
from sightline.api.routes._single import key_of, on_demand, whole_scores
from sightline.api.state import Served
from sightline.metrics.selection import Ties
from sightline.results.scored_map import MapKey

__all__ = ["answered", "layers_there", "map_there", "scores_there"]

T = TypeVar("T")
There = Callable[[MapKey, Ties], bool]

# Seconds of computing that others may wait for.
_SHORT = 0.03


class _Past(NamedTuple):
    """What an answer to the same words took the last time, and which maps these stand for."""

    seconds: float
    key: MapKey
    ties: Ties


async def answered(
    served: Served, route: str, words: AskedMap, make: Callable[[], T], there: There | None
) -> T:
    """Return an answer, made at once or in a thread.

    Parameters
    ----------
    served, route, words
        What is asked, but for the image.
    make
        Makes the answer.
    there
        Says whether all is there that the answer needs of a map; None: leave it to a thread.
    """
    if there is None:
        return await run_in_threadpool(make)
    noted = _noted(served, route, words)
    past: _Past | None = served.peek(noted)
    if past is not None and past.seconds < _SHORT and there(past.key, past.ties):
        return make()
    return await run_in_threadpool(_timed, served, noted, words, make)


def scores_there(served: Served, image_id: str, words: AskedMap) -> There:
    """Return what says whether a map is scored by the rule of the words."""

    def there(key: MapKey, ties: Ties) -> bool:
        scores = whole_scores(served)
        known = words.percentile is None or scores.at(words.percentile)
        return known and words.selection is None and scores.kept(image_id, key, ties) is not None

    return there


def map_there(served: Served, image_id: str) -> There:
    """Return what says whether a map need not be read from its file."""
    return lambda key, _: on_demand(served).has(image_id, key)


def layers_there(served: Served, image_id: str, words: AskedMap) -> There:
    """Return what says whether all layers of a map are at hand, or it is scored and has none."""
    scored, at_hand = scores_there(served, image_id, words), map_there(served, image_id)
    return lambda key, ties: at_hand(key, ties) or (key.layer is None and scored(key, ties))


def _timed(served: Served, noted: tuple[Any, ...], words: AskedMap, make: Callable[[], T]) -> T:
    begun = thread_time()
    made = make()
    took = thread_time() - begun
    choice = choose_map(served, words).choice
    served.put(noted, _Past(took, key_of(choice), choice.ties))
    return made


def _noted(served: Served, route: str, words: AskedMap) -> tuple[Any, ...]:
    """Return where it is noted: percentiles that are not stored need nothing that others do not."""
    stored = words.percentile is None or words.percentile in served.study["percentiles"]
    level = words.percentile if stored else "other"
    return "past", route, replace(words, percentile=None), level
