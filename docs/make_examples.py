"""Write the examples of the API's answers: python docs/make_examples.py STORE.

The store must have heads, at least two models, all checks, an evaluation of detections and a
benchmark of prototypes; its classifiers must have been asked what they predict.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from fastapi.testclient import TestClient

from sightline import __version__
from sightline.api import create_app
from sightline.api.app import openapi_schema
from sightline.api.describing import EXAMPLES

# No store has this yet.
UNSTORED = {
    "/api/reviews": {"count": 12},
}
LINES, NUMBERS, LETTERS = 2, 6, 240


def main(store: str) -> None:
    """Ask every route that answers in JSON, and keep what it says, cut short."""
    found: dict[str, Any] = dict(UNSTORED)
    with TestClient(create_app(store), base_url="http://127.0.0.1") as client:
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
            if list(answer) != ["application/json"] or path in found:
                continue
            name = benchmark["name"] if "/prototypes/" in path else evaluation
            url = path.format(image_id=image, bbox_index=0, name=name, number=number)
            words = {"a": names[0], "b": names[1]} if path == "/api/compare" else {}
            asked = client.get(url, params=words)
            asked.raise_for_status()
            found[path] = short(asked.json())
    found["/api/study"] |= {"study": {"name": "app"}, "yaml": "name: app\n",
                            "provenance": {"versions": {"sightline": __version__}}}  # fmt: skip
    EXAMPLES.write_text(json.dumps(found, indent=1, ensure_ascii=False, sort_keys=True) + "\n")


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
    main(sys.argv[1])
