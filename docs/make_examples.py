"""Write the examples of the API's answers: python docs/make_examples.py STORE REVIEW.

The store must have heads, at least two models, all checks, an evaluation of detections and a
benchmark of prototypes; its classifiers must have been asked what they predict. The review must
have open proposals on images outside its gold set, which must be open, and questions about maps
that its people have not answered; it is decided in, so give a copy.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from fastapi.testclient import TestClient

from sightline import __version__
from sightline.api import create_app
from sightline.api.app import openapi_schema
from sightline.api.openapi import EXAMPLES

LINES, NUMBERS, LETTERS = 2, 6, 240
UUID = "5f0c2f0e-2a3b-4a51-9a0b-3d1c9b1f6f11"


def main(store: str, review: str) -> None:
    """Ask every route that answers in JSON, and keep what it says, cut short."""
    with TestClient(create_app(store, review=review), base_url="http://127.0.0.1") as client:
        found = review_examples(client)
        image = client.get("/api/images").json()["items"][0]["image"]
        names = [one["name"] for one in client.get("/api/study").json()["models"]]
        evaluation = client.get("/api/detection").json()["evaluations"][0]["name"]
        benchmark = client.get("/api/prototypes").json()["benchmarks"][0]
        live = "/api/prototypes/{name}/live"
        change = {"image": image, "steps": [{"type": "hue", "params": {"factor": 0.2}}]}
        made = client.post(live.format(name=benchmark["name"]), json=change).json()
        found[live], number = short(made), made["prototype"]
        for path, methods in openapi_schema()["paths"].items():
            about = methods.get("get", {})
            answer = about.get("responses", {}).get("200", {}).get("content", {})
            json_only = list(answer) == ["application/json"] and answer["application/json"]
            if not json_only or path in found:
                continue
            name = benchmark["name"] if "/prototypes/" in path else evaluation
            url = path.format(image_id=image, bbox_index=0, name=name, number=number)
            words = {"a": names[0], "b": names[1]} if path == "/api/compare" else {}
            asked = client.get(url, params=words)
            asked.raise_for_status()
            found[path] = short(asked.json())
    found["/api/study"] |= {"study": {"name": "app"}, "yaml": "name: app\n",
                            "provenance": {"versions": {"sightline": __version__}}}  # fmt: skip
    write(found)


def write(found: dict[str, Any]) -> None:
    """Write the examples."""
    EXAMPLES.write_text(json.dumps(found, indent=1, ensure_ascii=False, sort_keys=True) + "\n")


def review_examples(client: TestClient) -> dict[str, Any]:
    """Decide on a proposal and answer a question, and return what is answered."""
    who = "Anna"
    item = next(
        one for one in client.get("/api/review/queue").json()["items"] if one["status"] == "open"
    )
    event = {"id": UUID, "who": who, "kind": "accept", "image": item["image"], "item": item["id"],
             "expected": item["version"], "seconds": 2.4}  # fmt: skip
    gold = client.get("/api/review/gold").json()["images"][0]["image"]
    task = client.get("/api/rating/next", params={"who": who}).json()["task"]
    answer = {"id": UUID[::-1], "who": who, "task": task["id"],
              "answer": 4 if task["kind"] == "rate" else "left"}  # fmt: skip
    known = {"format": "sightline-proposals/1", "data": "", "settings": {}, "proposals": []}
    asked: dict[str, Any] = {
        "/api/review/queue": None,
        "/api/rating/next": None,
        "post /api/review/events": event,
        "post /api/rating/answers": answer,
        "post /api/review/proposals": known,
        "/api/review": None,
        "/api/review/images/{image}": None,
        "/api/review/items/{item}/history": None,
        "/api/review/events": None,
        "/api/review/gold": None,
        "/api/review/gold/{image}": None,
        "/api/rating": None,
        "/api/rating/summary": None,
    }
    found = {}
    for name, body in asked.items():
        verb, _, path = name.rpartition(" ")
        image = gold if "/gold/" in path else item["image"]
        url = path.format(image=image, item=item["id"])
        words = {"who": who} if path.startswith("/api/rating") and body is None else {}
        words |= {"unblind": "true"} if path.endswith("/summary") else {}
        made = client.request(verb or "get", url, params=words, json=body)
        made.raise_for_status()
        found[name] = short(made.json())
    return found


def short(value: Any) -> Any:
    """Return an answer with few lines, numbers and letters."""
    if isinstance(value, dict):
        return {key: short(one) for key, one in value.items()}
    if isinstance(value, str) and len(value) > LETTERS:
        return value[: LETTERS - 1] + "…"
    if not isinstance(value, list):
        return value
    if any(isinstance(one, dict | list) for one in value):
        return [short(one) for one in value[:LINES]]
    if all(isinstance(one, int | float) for one in value):
        return value[:NUMBERS]
    return value


if __name__ == "__main__":
    main(*sys.argv[1:3])
