"""Write docs/rest.md out of the schema of the API: python docs/make_rest.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sightline.api.app import openapi_schema

PAGE = Path(__file__).parent / "rest.md"
# Words that many routes share are told once.
COMMON = (
    "model", "method", "layer", "head", "target", "seed", "percentile", "selection", "ties",
    "metric", "v",
)  # fmt: skip
TITLES = {
    "study": "The study",
    "images": "Images",
    "maps": "Maps of one image",
    "scores": "Scores of one image",
    "similarity": "Similarity",
    "tables": "Tables",
    "compare": "Comparisons",
    "sparsity": "Missing labels",
    "detection": "Detection",
    "exports": "Exports",
    "checks": "Checks",
    "prototypes": "Prototypes",
    "review": "Review and gold set",
    "rating": "Rating of maps",
}

HEAD = """# REST

`sightline serve runs/NAME` answers over HTTP what the [results](results.md) of a study hold, and
serves the web app beside it. The service computes nothing by itself: what is not stored, such as
the scores at another percentile, comes from the same engine that the study used.

It listens at http://127.0.0.1:8000 until Ctrl-C (`--port` names another). The study may still be
running: answers are of what is stored, and `/api/progress` says how far it is. This page is made
from the schema, which `/api/openapi.json` has in full with every field and its meaning (OpenAPI
3.1); the app's client is made from the same.

## What all routes have in common

- **Words.** Every word of a query may be left out. What is left out is chosen: the leaderboard's
  best line that is no baseline, narrowed by what was asked. `choice` in the answer says what it
  is, `choice.chosen` which parts were not asked for, `choice.why` how they were chosen. A word
  that a route does not have, or that stands for nothing stored, is refused with 422.
- **Numbers.** What is not defined is null, never 0. Chance and ceiling stand beside scores. Layers
  and heads count from 0. Boxes are shares of the image: x0, y0, x1, y1.
- **Problems.** What goes wrong is told as problem details (RFC 9457, `application/problem+json`):
  `status`, `title`, `detail` (what was expected, what was seen, what is stored), and `field`, the
  part of the request. 404: the path names something that is not stored. 409: the store cannot
  answer this, as maps were not kept, data are gone, or nothing is stored yet. 422: a word does not
  fit.
- **Caching.** Answers to GET have an ETag that follows from the URL, the state of the store and
  the version of the program; with `If-None-Match` they are answered by 304. With `?v=` and the
  `version` of `/api/progress`, an answer may be kept for ever (`immutable`); pictures of images
  take `pictures` of `/api/study`, which does not change while a study runs.
- **Preparing.** When it starts, the service loads what every page needs, then prepares what is
  likely to be asked for: the scores of the leaderboard's maps on each image, small pictures,
  tables. Whoever asks meanwhile goes first; after five minutes it ends in any case. `warming` of
  `/api/health` says whether it still prepares. All that is kept is bounded.

### Words that choose maps

| word | |
| --- | --- |
{common}

On routes about all images `layer` may also be `best` (on the same images, which flatters), `last`,
or `split` (for each half of the images, that which did best on the other half). There, `metric`
says which stored score is meant; without it, `percentile` or `selection` say which threshold of
the leading one. On routes about one image, any percentile between 0 and 100 and any rule works.

## Who may ask

The service binds to 127.0.0.1 and answers this machine alone; the `Host` header must be
`localhost` or a loopback address (`127.0.0.1`, `[::1]`), so that pages from elsewhere cannot reach
it under a name of theirs. With another `--host`, every path needs a token, the app's files
included: `--token`, or
one that is made and printed. It is shown as `Authorization: Bearer TOKEN`, or once as
`?token=TOKEN`, which sets a cookie (`HttpOnly`, `SameSite=Strict`, for a week) and leads on to the
address without it. Traffic is not encrypted: beyond a network that you trust, put a proxy with
TLS in front. No other origin may read anything (there is no CORS), pages load nothing from
elsewhere and cannot be embedded. Ids are looked up in the store's tables and never become paths.

## Writing

`sightline serve STORE --review FOLDER` also takes decisions of people, under `/api/review` and
`/api/rating`: the only routes that write, and never into the store.

- **Kept.** An event that was answered is on disk: it outlives the service and the machine's power.
  Each has an `id` that whoever sends it made up, such as a UUID. Sent again, because no answer
  came, it is answered by what was kept, and nothing is written twice.
- **Whoever comes second.** An event names the `version` of the item that the person had seen
  (`expected`). If another event came since, the answer is 409 with the item as it stands now, and
  nothing is written. Undo is an event, too: nothing is ever changed or deleted.
- **Blind.** Who reviewed the proposals of a gold image may not annotate it, nor the other way
  round: 403. Routes of the gold set hold no proposals, nor what was given or completed.
- **From here alone.** Bodies must be `application/json` (415), 256 kB at most, proposals 20 MB
  (413). Where a browser names an `Origin`, it must be this host (403). Answers are `no-store`.

## Maps as bytes

`/api/maps/{{image_id}}` and its like answer in little-endian bytes: `SLM1`; the length of the
header as uint32; the header, which is `MapHeader` as JSON, padded with spaces so that what follows
starts at a multiple of 4; the raw, signed values as float32, row by row; then, for each index in
`regions`, a mask of one bit a value (the most significant bit first, each mask padded to whole
bytes); and last, where `ignore` is true, the mask of values that do not count.
`sightline.api.binary.decode_map` reads them in Python.

## Speed

`python -m benchmarks.api` lets 50 clients read a mix of everything for a minute; see
[benchmarks](benchmarks.md). Answers are kept encoded, up to 96 MB, and each is made once however
many ask at the same time.
"""


def page() -> str:
    """Return the page."""
    schema = openapi_schema()
    parts = [HEAD.format(common="\n".join(_common(schema)))]
    groups: dict[str, list[str]] = {}
    for path, methods in schema["paths"].items():
        for method, about in methods.items():
            groups.setdefault(about["tags"][0], []).append(_route(path, method, about))
    for tag, routes in groups.items():
        parts += [f"## {TITLES.get(tag, tag.capitalize())}\n", *routes]
    return "\n".join(parts)


def _common(schema: dict[str, Any]) -> list[str]:
    """Return a line for each word that many routes share."""
    found: dict[str, str] = {}
    for methods in schema["paths"].values():
        for about in methods.values():
            for one in about.get("parameters", ()):
                if one["in"] == "query":
                    found.setdefault(one["name"], _told(one))
    return [f"| `{name}` | {found[name]} |" for name in COMMON]


def _told(one: dict[str, Any]) -> str:
    text = str(one.get("description") or one["schema"].get("description") or "").replace("|", "\\|")
    default = one["schema"].get("default")
    return text + (f" Default: `{default}`." if default not in (None, "") else "")


def _route(path: str, method: str, about: dict[str, Any]) -> str:
    """Return what is said of one route."""
    words = [one for one in about.get("parameters", ()) if one["in"] == "query"]
    shared = [f"`{one['name']}`" for one in words if one["name"] in COMMON and one["name"] != "v"]
    own = [one for one in words if one["name"] not in COMMON]
    lines = [f"### `{method.upper()} {path}`", "", about["description"].strip(), ""]
    lines += [f"Answer: {_answer(about)}.", ""]
    if shared:
        lines += [f"Words: {', '.join(shared)}.", ""]
    if own:
        lines += ["| word | |", "| --- | --- |"]
        lines += [f"| `{one['name']}` | {_told(one)} |" for one in own]
        lines += [""]
    return "\n".join(lines)


def _answer(about: dict[str, Any]) -> str:
    content = about["responses"]["200"]["content"]
    if list(content) == ["application/json"] and content["application/json"]:
        return f"`{content['application/json']['schema']['$ref'].rpartition('/')[2]}`"
    return " or ".join(f"`{kind}`" for kind in content)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE)
