"""Review, gold set and rating over the API: what is told, what is kept, what is refused."""

from __future__ import annotations

import json
import shutil
import threading
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from itertools import count
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
import schemathesis
from fastapi.testclient import TestClient
from hypothesis import given
from schemathesis import GenerationMode

from sightline.annotation.gold import draw_gold
from sightline.annotation.journal import Journal
from sightline.annotation.proposals import Proposal, Proposals, write_proposals
from sightline.annotation.rating_tasks import draw_tasks
from sightline.api import create_app, review
from sightline.api.routes.ratings import _map_words
from sightline.api.writes import LARGEST
from sightline.core import Region
from sightline.data.annotations import read_annotation_file
from sightline.data.choice import DataChoice
from tests.api.asking import get, refused
from tests.api.test_openapi import CHECKS, FEW, HERE, ROUTES
from tests.api.test_serving import refused as refused_command
from tests.api.test_serving import serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fastapi import FastAPI

    from sightline.api.state import Served

CHOICE = DataChoice("facades", count=12, options={"seed": 7, "labelling": "representative"})
METHODS = ("demo/vit-dino cls", "demo/cnn gradcam")
OWN = [route for route in ROUTES if route[0].startswith(("/api/review", "/api/rating"))]
BOX = (0.1, 0.1, 0.3, 0.4)
WINDOW = Region("window", box=BOX, source="similarity")
MADE = ("similarity", 0, "demo/vit-dino", "0123abcd")
COUNT = 60


@pytest.fixture(scope="session")
def review_made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A review of the images of the served study; copy it before deciding in it."""
    folder = tmp_path_factory.mktemp("review") / "church review"
    folder.mkdir()
    dataset = CHOICE.open()
    items = [
        Proposal(f"{n:016x}", dataset.ids[n % 12], WINDOW, 0.9 - n / 100, *MADE)
        for n in range(COUNT)
    ]
    gold = draw_gold(dataset, 5, seed=1)
    with Journal.create(
        folder, dataset, Proposals(tuple(items), "facades"), gold=gold, choice=CHOICE
    ) as journal:
        journal.add_tasks(draw_tasks(dataset.ids[:2], METHODS, 0))
    return folder


def copied(made: Path, folder: Path) -> Path:
    return shutil.copytree(made, folder / made.name)


@pytest.fixture(scope="module")
def reviewed_app(
    api_store: Path, review_made: Path, tmp_path_factory: pytest.TempPathFactory
) -> FastAPI:
    """A service with a review."""
    return create_app(api_store, review=copied(review_made, tmp_path_factory.mktemp("shared")))


@pytest.fixture(scope="module")
def reviewed(reviewed_app: FastAPI) -> Iterator[TestClient]:
    """A client of it: tests share the review, and take items of their own."""
    with TestClient(reviewed_app, base_url="http://127.0.0.1") as found:
        yield found


@pytest.fixture
def own(
    reviewed_app: FastAPI,
    reviewed: TestClient,
    review_made: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[TestClient]:
    """A client of the same service, with a review that nobody else decides in."""
    desk = review.Desk(copied(review_made, tmp_path))
    monkeypatch.setattr(reviewed_app.state.service, "_desk", desk)
    yield reviewed
    desk.close()


TAKEN = count()


@pytest.fixture
def item(reviewed: TestClient) -> dict[str, Any]:
    """A proposal that no other test decides on, of an image outside the gold set."""
    gold = {one["image"] for one in get(reviewed, "review/gold")["images"]}
    for number in TAKEN:
        found = get(reviewed, f"review/items/{number:016x}/history")["item"]
        if found["image"] not in gold:
            return dict(found)
    raise AssertionError


def event(kind: str, item: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """Return an event about an item, with an id of its own."""
    about = (
        {"image": item["image"], "item": item["id"], "expected": item["version"]} if item else {}
    )
    return {"id": str(uuid4()), "who": "Anna", "kind": kind} | about | more


def post(client: TestClient, body: Any, path: str = "review/events", **more: Any) -> Any:
    return client.post(f"/api/{path}", json=body, **more)


def saved(client: TestClient, body: Any) -> dict[str, Any]:
    answer = post(client, body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def item_of(client: TestClient, name: str) -> dict[str, Any]:
    found: dict[str, Any] = get(client, f"review/items/{name}/history")["item"]
    return found


# --- what is told --------------------------------------------------------------------------------


@pytest.mark.parametrize(("path", "method"), [route[:2] for route in OWN])
def test_without_a_review_every_route_says_how_to_serve_one(
    client: TestClient, path: str, method: str
) -> None:
    url = path.format(image="x", item="x", task="x", side="left")
    new = {"image": "x", "id": "x", "version": 0}
    body = event("accept", new) if "events" in path else None
    if "answers" in path:
        body = {"id": str(uuid4()), "who": "Anna", "task": "x", "answer": 3}
    words = {"who": "Anna"} if "rating" in path and method == "get" and "png" not in path else {}
    answer = client.request(
        method, url, params=words, json=(body or {}) if method == "post" else None
    )
    assert answer.status_code == 404, answer.text
    assert "--review FOLDER" in answer.json()["detail"]
    assert answer.headers["cache-control"] == "no-store"


def test_a_folder_without_a_review_is_refused(api_store: Path, tmp_path: Path) -> None:
    told = refused_command(str(api_store), "--review", str(tmp_path))
    assert "review.sqlite" in told
    assert "sightline review new" in told


def test_health_and_the_review_say_where_it_stands(own: TestClient) -> None:
    first = get(own, "review")
    assert (first["folder"], first["images"], first["items"]) == ("church review", 12, COUNT)
    assert len(first["id"]) == 32
    assert (first["open"], first["accepted"], first["last"]) == (COUNT, 0, 0)
    assert first["seconds_median"] is None
    assert "window" in first["labels"]
    assert get(own, "health")["review"] == {
        "proposals": COUNT,
        "open": COUNT,
        "gold": first["gold"],
        "tasks": 6,
    }
    one, other, third = get(own, "review/queue", limit=3)["items"]
    saved(own, event("accept", one, seconds=3))
    saved(own, event("reject", other, seconds=5, who="Bo"))
    saved(own, event("skip", third))
    found = get(own, "review")
    counts = ("open", "accepted", "rejected", "skipped", "edited", "drawn", "last")
    assert [found[name] for name in counts] == [COUNT - 3, 1, 1, 1, 0, 0, 3]
    assert found["seconds_median"] == 4
    assert [(one["who"], one["decisions"]) for one in found["people"]] == [("Anna", 1), ("Bo", 1)]
    assert get(own, "health")["review"]["open"] == COUNT - 2


def test_a_review_that_cannot_be_read_is_told(own: TestClient, reviewed_app: FastAPI) -> None:
    reviewed_app.state.service.desk.close()
    found = get(own, "health")
    assert found["review"] is None
    assert "review.sqlite" in found["missing"]["review"]
    refused(own, "review", 409)


def test_proposers_that_share_weights_with_an_evaluated_model_are_named(
    reviewed: TestClient, served: Served
) -> None:
    found = get(reviewed, "review")
    assert found["proposers"] == [
        {
            "model": "demo/vit-dino",
            "digest": "0123abcd",
            "source": "similarity",
            "proposals": COUNT,
            "shared": ["demo/vit-dino", "demo/vit-dino@lora"],
        }
    ]
    (told,) = found["warnings"]
    assert "share weights with demo/vit-dino, demo/vit-dino@lora" in told
    (cnn,) = (one["digest"] for one in served.manifest["models"] if one["model"] == "demo/cnn")
    assert review.shared_weights(served, "another", cnn) == ("demo/cnn",)
    assert review.shared_weights(served, "another@lora", "0") == ()
    assert review.shared_weights(served, "", "") == ()


def test_a_model_whose_features_were_compared_is_named_too(own: TestClient) -> None:
    image = get(own, "review/queue", limit=1)["items"][0]["image"]
    shape = {"label": "door", "box": [0, 0, 0.5, 0.5], "score": 0.5}
    one = {"id": "a" * 16, "image": image, **shape, "source": "sam", "model": "sam", "digest": "3"}
    settings = {"features": {"model": "demo/cnn", "digest": "12"}}
    file = {"format": "sightline-proposals/1", "settings": settings, "proposals": [one]}
    assert post(own, file, "review/proposals").json()["added"] == 1
    found = get(own, "review")
    assert ("demo/cnn", "features", 0) in {
        (one["model"], one["source"], one["proposals"]) for one in found["proposers"]
    }
    assert any("by demo/cnn share weights with demo/cnn" in told for told in found["warnings"])


def test_the_queue_is_ordered_by_score_and_attention_outside_all_regions(
    own: TestClient, client: TestClient
) -> None:
    default = get(client, "study")["default"]
    words = {name: default[name] for name in ("model", "method", "layer")}
    page = get(client, "images", metric="coverage", sort="coverage", limit=100, **words)
    outside = {one["image"]: 1 - one["value"] for one in page["items"]}
    assert len(outside) == 12
    found = get(own, "review/queue", limit=100)
    assert found["total"] == COUNT
    for one in found["items"]:
        assert one["value"] == pytest.approx(one["score"] * outside[one["image"]])
    first = found["items"][0]["image"]
    told = get(own, f"review/images/{first}")["attention"]
    assert told == pytest.approx(outside[first])
    values = [one["value"] for one in found["items"]]
    assert values == sorted(values, reverse=True)
    assert values != [one["score"] for one in found["items"]]
    assert "1 − coverage of demo/" in get(own, "review")["order"]
    saved(own, event("skip", found["items"][0]))
    again = get(own, "review/queue", limit=100)["items"]
    assert again[-1]["id"] == found["items"][0]["id"]
    assert [one["id"] for one in again[:-1]] == [one["id"] for one in found["items"][1:]]


def test_the_queue_is_asked_for_in_parts(reviewed: TestClient) -> None:
    every = get(reviewed, "review/queue", limit=500)["items"]
    part = get(reviewed, "review/queue", limit=5, offset=3)
    assert (part["items"], part["total"]) == (every[3:8], len(every))
    image = every[0]["image"]
    of_image = get(reviewed, "review/queue", image=image, limit=500)
    assert of_image["items"] == [one for one in every if one["image"] == image]
    assert get(reviewed, "review/queue", label="tower")["total"] == 0
    assert get(reviewed, "review/queue", label="window")["total"] == len(every)


def test_without_the_metric_the_order_is_by_score_and_said_so(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(review, "_METRIC", "nss")
    found = review.attention_of(served)
    assert found.shares == {}
    assert "score alone" in found.told
    assert "did not compute the nss" in found.told


def test_an_image_has_what_was_given_and_what_is_proposed(
    reviewed: TestClient, item: dict[str, Any]
) -> None:
    found = get(reviewed, f"review/images/{item['image']}")
    regions = CHOICE.open().by_id(item["image"]).annotation.regions
    assert [(one["index"], one["label"], tuple(one["box"])) for one in found["given"]] == [
        (one.index, one.label, one.box) for one in regions
    ]
    assert all(one["outline"] for one in found["given"] if one["kind"] != "box")
    assert item in found["items"]
    assert (found["width"], found["height"]) == (224, 224)
    assert {one["image"] for one in found["items"]} == {item["image"]}


# --- deciding ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "status"), [("accept", "accepted"), ("reject", "rejected"), ("skip", "skipped")]
)
def test_a_decision_is_kept_and_can_be_undone_and_redone(
    reviewed: TestClient, item: dict[str, Any], kind: str, status: str
) -> None:
    done = saved(reviewed, event(kind, item, seconds=1.5, comment="clear"))
    now = done["item"]
    assert (now["status"], now["by"], now["comment"]) == (status, "Anna", "clear")
    assert now["version"] == now["decision"] == done["version"] == done["event"]["number"]
    assert done["last"] >= done["version"]
    assert (done["event"]["before"]["status"], done["event"]["after"]["status"]) == ("open", status)
    assert done["event"]["seconds"] == 1.5
    undone = saved(reviewed, event("undo", now, undoes=now["decision"]))
    assert undone["item"]["status"] == "open"
    redone = saved(reviewed, event("undo", undone["item"], undoes=undone["event"]["number"]))
    assert redone["item"]["status"] == status
    history = get(reviewed, f"review/items/{item['id']}/history")
    assert [one["kind"] for one in history["events"]] == [kind, "undo", "undo"]
    assert history["item"] == redone["item"]


def test_an_edited_item_is_accepted_with_another_box_and_label(
    reviewed: TestClient, item: dict[str, Any]
) -> None:
    box = [0.2, 0.2, 0.5, 0.6]
    now = saved(reviewed, event("edit", item, after={"box": box, "label": "door"}))["item"]
    assert (now["status"], now["box"], now["label"], now["edited"]) == (
        "accepted", box, "door", True
    )  # fmt: skip
    assert (tuple(now["proposed"]), now["proposed_label"]) == (BOX, "window")
    again = saved(reviewed, event("edit", now, after={"label": "window"}))["item"]
    assert (again["box"], again["label"]) == (box, "window")


def test_a_missed_region_is_drawn_withdrawn_and_brought_back(
    reviewed: TestClient, item: dict[str, Any]
) -> None:
    name = f"drawn-{uuid4()}"
    ring = [[0.1, 0.1], [0.4, 0.1], [0.4, 0.5]]
    new = {"image": item["image"], "id": name, "version": 0}
    drawn = saved(reviewed, event("draw", new, after={"polygon": ring, "label": "door"}))["item"]
    assert (drawn["status"], drawn["source"], drawn["kind"]) == ("accepted", "drawn", "polygon")
    assert (drawn["outline"], drawn["score"], drawn["value"]) == ([ring], None, None)
    assert post(reviewed, event("draw", new, after={"box": BOX, "label": "x"})).status_code == 409
    gone = saved(reviewed, event("undo", drawn, undoes=drawn["decision"]))
    assert (gone["item"]["status"], gone["item"]["outline"]) == ("withdrawn", [ring])
    there = get(reviewed, f"review/images/{item['image']}")["items"]
    assert name not in {one["id"] for one in there}
    back = saved(reviewed, event("undo", gone["item"], undoes=gone["event"]["number"]))["item"]
    assert back["status"] == "accepted"
    there = get(reviewed, f"review/images/{item['image']}")["items"]
    assert back in there


def test_a_comment_needs_no_version(reviewed: TestClient, item: dict[str, Any]) -> None:
    now = saved(reviewed, event("accept", item))["item"]
    said = saved(reviewed, event("comment", item, comment="hard to see", who="Bo"))["item"]
    assert (said["status"], said["by"], said["comment"]) == ("accepted", "Anna", "hard to see")
    assert said["version"] > now["version"]


def test_an_event_that_is_sent_again_counts_once(
    reviewed: TestClient, item: dict[str, Any]
) -> None:
    sent = event("accept", item)
    first = saved(reviewed, sent)
    again = saved(reviewed, sent)
    assert (first["repeated"], again["repeated"]) == (False, True)
    assert {**again, "repeated": False} == first
    assert len(get(reviewed, f"review/items/{item['id']}/history")["events"]) == 1
    other = post(reviewed, {**sent, "kind": "reject"})
    assert (other.status_code, other.json()["field"]) == (422, "id")


def test_whoever_comes_second_is_told_what_the_first_decided(
    reviewed: TestClient, item: dict[str, Any]
) -> None:
    now = saved(reviewed, event("accept", item))["item"]
    answer = post(reviewed, event("reject", item, who="Bo"))
    assert answer.status_code == 409
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.json()["item"], answer.json()["version"]) == (now, now["version"])
    assert "Anna" in answer.json()["detail"]
    assert item_of(reviewed, item["id"]) == now
    assert saved(reviewed, event("reject", now, who="Bo"))["item"]["status"] == "rejected"


def test_of_many_clients_on_one_item_exactly_one_wins(
    reviewed_app: FastAPI, reviewed: TestClient, item: dict[str, Any]
) -> None:
    barrier = threading.Barrier(8)

    def decide(number: int) -> int:
        client = TestClient(reviewed_app, base_url="http://127.0.0.1")
        kind = ("accept", "reject")[number % 2]
        barrier.wait()
        return int(post(client, event(kind, item, who=f"person {number}")).status_code)

    with ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(decide, range(8)))
    assert sorted(statuses) == [200, *[409] * 7]
    (kept,) = get(reviewed, f"review/items/{item['id']}/history")["events"]
    assert kept["who"] == f"person {statuses.index(200)}"


def test_pages_that_follow_are_told_what_others_did(
    reviewed: TestClient, item: dict[str, Any]
) -> None:
    before = get(reviewed, "review")["last"]
    assert get(reviewed, "review/events", after=before)["events"] == []
    done = saved(reviewed, event("accept", item))
    second = saved(reviewed, event("reject", done["item"]))
    found = get(reviewed, "review/events", after=before)
    assert found["events"] == [done["event"], second["event"]]
    assert (found["last"], found["more"]) == (second["last"], False)
    part = get(reviewed, "review/events", after=before, limit=1)
    assert (part["events"], part["more"]) == ([done["event"]], True)


# --- what is refused -----------------------------------------------------------------------------


def test_what_is_not_there_is_404(reviewed: TestClient, item: dict[str, Any]) -> None:
    other = next(i for i in CHOICE.open().ids if i != item["image"])
    for change in (
        {"image": "gone.png"},
        {"item": "gone"},
        {"item": "drawn-gone"},
        {"image": other},
        {"item": "../../etc/passwd"},
    ):
        answer = post(reviewed, event("accept", item) | change)
        assert (answer.status_code, "detail" in answer.json()) == (404, True), change
    for path in ("images/gone.png", "items/gone/history", "gold/gone.png", f"gold/{item['image']}"):
        refused(reviewed, f"review/{path}", 404)
    assert item_of(reviewed, item["id"])["version"] == 0


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"id": "short"}, "id"),
        ({"id": "../../../etc/passwd"}, "id"),
        ({"who": ""}, "who"),
        ({"who": "  "}, "who"),
        ({"who": "a\u0000b"}, "who"),
        ({"who": "x" * 61}, "who"),
        ({"kind": "delete"}, "kind"),
        ({"kind": "done"}, "kind"),
        ({"mode": "rating"}, "mode"),
        ({"expected": -1}, "expected"),
        ({"expected": 2**70}, "expected"),
        ({"kind": "edit"}, "after"),
        ({"after": {"label": "door"}}, "after"),
        ({"kind": "edit", "after": {}}, "after"),
        ({"kind": "edit", "after": {"box": [0.5, 0.1, 0.2, 0.3]}}, "after"),
        ({"kind": "edit", "after": {"box": [0, 0, 2, 1]}}, "after.box.2"),
        ({"kind": "edit", "after": {"box": BOX, "polygon": [[0, 0], [1, 0], [1, 1]]}}, "after"),
        ({"kind": "edit", "after": {"label": ""}}, "after.label"),
        ({"kind": "undo"}, "undoes"),
        ({"kind": "undo", "undoes": 1 << 50}, "undoes"),
        ({"undoes": 3}, "undoes"),
        ({"kind": "comment"}, "comment"),
        ({"comment": "x" * 4001}, "comment"),
        ({"seconds": -1}, "seconds"),
        ({"seconds": 1e9}, "seconds"),
        ({"item": None}, "item"),
        ({"unknown": 1}, "unknown"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_and_named(
    reviewed: TestClient, change: dict[str, Any], field: str
) -> None:
    item = item_of(reviewed, f"{COUNT - 1:016x}")
    answer = post(reviewed, event("accept", item) | change)
    assert (answer.status_code, answer.json()["field"]) == (422, field), answer.text
    assert item_of(reviewed, item["id"]) == item


def test_what_is_missing_or_too_much_is_said_in_a_sentence(reviewed: TestClient) -> None:
    item = item_of(reviewed, f"{COUNT - 1:016x}")
    missing = post(reviewed, event("edit", item)).json()["detail"]
    assert missing == "after must be given with kind edit; got null"
    more = post(reviewed, event("accept", item) | {"after": {"label": "door"}}).json()["detail"]
    assert more == "after must be left out with kind accept: it goes with edit or draw alone"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://127.0.0.1:9"}, 403),
        ({"Origin": "http://127.0.0.1.evil.example"}, 403),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
        ({"Content-Type": "multipart/form-data; boundary=application/json"}, 415),
        ({"Content-Type": ""}, 415),
    ],
)
@pytest.mark.parametrize("path", ["review/events", "review/proposals", "rating/answers"])
def test_pages_from_elsewhere_may_not_write(
    reviewed: TestClient, headers: dict[str, str], status: int, path: str
) -> None:
    item = item_of(reviewed, f"{COUNT - 1:016x}")
    sent = {"Content-Type": "application/json"} | headers
    body = json.dumps(event("accept", item))
    answer = reviewed.post(f"/api/{path}", content=body, headers=sent)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert item_of(reviewed, item["id"])["version"] == 0


def test_pages_of_this_host_may_write(reviewed: TestClient, item: dict[str, Any]) -> None:
    headers = {"Origin": "http://127.0.0.1", "Content-Type": "application/json; charset=utf-8"}
    body = json.dumps(event("accept", item))
    assert reviewed.post("/api/review/events", content=body, headers=headers).status_code == 200


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize(
    ("path", "size"), [("review/events", 256 << 10), ("review/proposals", 20 << 20)]
)
def test_a_body_that_is_too_large_is_refused(
    reviewed: TestClient, path: str, size: int, told: bool
) -> None:
    assert LARGEST.get(f"/api/{path}", 256 << 10) == size
    blank = b" " * (size + 1)
    content = blank if told else iter([blank[: size // 2], blank[size // 2 :]])
    headers = {"Content-Type": "application/json"}
    answer = reviewed.post(f"/api/{path}", content=content, headers=headers)
    assert (answer.status_code, answer.json()["field"]) == (413, "body")
    fits = reviewed.post(f"/api/{path}", content=blank[:size], headers=headers)
    assert fits.status_code == 422


def test_nothing_of_a_review_is_kept_by_caches(reviewed: TestClient, item: dict[str, Any]) -> None:
    path = f"/api/review/items/{item['id']}/history"
    version = get(reviewed, "progress")["version"]
    before = reviewed.get(path, params={"v": version})
    saved(reviewed, event("accept", item))
    after = reviewed.get(path, params={"v": version}, headers={"If-None-Match": "*"})
    assert (before.json()["item"]["status"], after.json()["item"]["status"]) == ("open", "accepted")
    for url in (path, "/api/review", "/api/review/queue", "/api/review/gold", "/api/review/export"):
        headers = reviewed.get(url).headers
        assert headers["cache-control"] == "no-store"
        assert "etag" not in headers


@pytest.fixture(scope="module")
def asked(reviewed_app: FastAPI) -> Any:
    """The schema, asked of the service in this process."""
    return schemathesis.openapi.from_asgi("/api/openapi.json", reviewed_app, headers=HERE)


@pytest.mark.parametrize("fits", [True, False])
@pytest.mark.parametrize(("path", "method"), [route[:2] for route in OWN])
def test_nothing_that_is_asked_breaks_a_review(
    asked: Any, path: str, method: str, fits: bool
) -> None:
    mode = GenerationMode.POSITIVE if fits else GenerationMode.NEGATIVE
    known = {"image": "facade-00000.png", "item": f"{COUNT - 2:016x}"}

    @FEW
    @given(case=asked[path][method].as_strategy(generation_mode=mode))
    def ask(case: Any) -> None:
        if fits and isinstance(case.body, dict):
            case.body |= {name: value for name, value in known.items() if name in case.body}
        answer = case.call(headers=HERE, timeout=60)
        case.validate_response(answer, checks=CHECKS)

    ask()


# --- gold ----------------------------------------------------------------------------------------


@pytest.fixture
def gold(own: TestClient) -> list[str]:
    """The gold images."""
    return [one["image"] for one in get(own, "review/gold")["images"]]


def drawn(image: str, who: str = "Gil", mode: str = "gold") -> dict[str, Any]:
    """Return the drawing of a door."""
    new = {"image": image, "id": f"drawn-{uuid4()}", "version": 0}
    after = {"box": [0.5, 0.5, 0.75, 0.875], "label": "door"}
    return event("draw", new, who=who, mode=mode, after=after)


def test_gold_routes_hold_nothing_but_what_was_drawn_as_gold(
    own: TestClient, gold: list[str]
) -> None:
    image = gold[0]
    view = get(own, f"review/images/{image}", who="Anna")
    assert "gold" not in view  # who reviews is to treat all images alike
    for one in view["items"]:
        saved(own, event("accept", one))
    completed = saved(own, drawn(image, "Anna", "review"))["item"]
    mine = saved(own, drawn(image))["item"]
    hidden = {completed["id"], *(one["id"] for one in view["items"])}
    found = get(own, f"review/gold/{image}", who="Gil")
    assert found["regions"] == [mine]
    assert (mine["source"], mine["model"], mine["score"], mine["proposed"]) == (
        "drawn", "", None, None
    )  # fmt: skip
    events = get(own, "review/events", mode="gold")
    for answer in (found, get(own, "review/gold", who="Gil"), events):
        text = json.dumps(answer)
        assert not [name for name in hidden if name in text]
        assert "similarity" not in text
    assert [one["number"] for one in events["events"]] == [mine["version"]]
    taken = post(own, drawn(image, "Anna") | {"item": mine["id"]})
    assert (taken.status_code, "item" in taken.json()) == (403, False)
    taken = post(own, drawn(image, "Anna", "review") | {"item": mine["id"]})
    assert (taken.status_code, taken.json()["item"]) == (409, None)
    for path in (f"review/images/{image}", "review/events", "review/queue", "review/export"):
        assert mine["id"] not in json.dumps(get(own, path))


def test_one_is_blind_to_the_other(own: TestClient, gold: list[str]) -> None:
    image, other = gold[:2]
    item = get(own, f"review/images/{image}")["items"][0]
    saved(own, event("accept", item))
    saved(own, drawn(other))
    assert refused(own, f"review/gold/{image}", 403, who="Anna")["field"] == "who"
    assert post(own, drawn(image, who=" ANNA ")).status_code == 403
    assert get(own, f"review/gold/{image}", who="Gil")["regions"] == []
    theirs = get(own, f"review/images/{other}")["items"][0]
    refused(own, f"review/images/{other}", 403, who="gil")
    refused(own, f"review/items/{theirs['id']}/history", 403, who="Gil")
    answer = post(own, event("accept", theirs, who="Gil"))
    assert (answer.status_code, answer.json()["field"]) == (403, "who")
    assert "blind" in answer.json()["detail"]
    everyone = get(own, "review/queue", limit=500)["items"]
    without = get(own, "review/queue", limit=500, who="Gil")["items"]
    assert without == [one for one in everyone if one["image"] != other]
    lines = {one["image"]: one["allowed"] for one in get(own, "review/gold", who="Anna")["images"]}
    assert [name for name, allowed in lines.items() if not allowed] == [image]
    counts = {one["image"]: one["regions"] for one in get(own, "review/gold", who="Anna")["images"]}
    assert (counts[image], counts[other]) == (None, 1)
    assert get(own, "review/events", who="Gil", mode="review")["events"] != []
    assert get(own, "review/events", who="Anna", mode="gold")["events"] != []
    saved(own, drawn(gold[2], who="Anna", mode="review"))
    saved(own, drawn(gold[2], who="Gil"))
    assert {one["image"] for one in get(own, "review/events", who="Gil")["events"]} == {image}


def test_a_gold_set_is_annotated_locked_and_reopened(own: TestClient, gold: list[str]) -> None:
    def about(kind: str, image: str = "", **more: Any) -> dict[str, Any]:
        path = f"review/gold/{image}" if image else "review/gold"
        expected = get(own, path)["version"]
        return event(kind, mode="gold", who="Gil", image=image, expected=expected, **more)

    first = saved(own, drawn(gold[0]))["item"]
    moved = saved(own, event("edit", first, who="Gil", mode="gold", after={"label": "clock"}))[
        "item"
    ]
    assert (moved["label"], moved["status"]) == ("clock", "accepted")
    second = saved(own, drawn(gold[0]))["item"]
    saved(own, event("reject", second, who="Gil", mode="gold"))
    assert get(own, f"review/gold/{gold[0]}")["regions"] == [moved]
    assert "not done" in post(own, about("lock")).json()["detail"]
    refused(own, "review/export", 409, which="gold")
    for image in gold:
        done = saved(own, about("done", image))
        assert done["version"] == get(own, f"review/gold/{image}")["version"]
    assert get(own, f"review/gold/{gold[0]}")["done_by"] is not None
    late = post(own, drawn(gold[0]))
    assert (late.status_code, late.json()["item"]) == (409, None)
    locked = saved(own, about("lock"))
    found = get(own, "review/gold")
    assert (found["locked"], found["done"], found["version"]) == (True, 5, locked["version"])
    assert "locked" in post(own, drawn(gold[1])).json()["detail"]
    exported = get(own, "review/export", which="gold")
    regions = [one for image in exported["images"] for one in image["regions"]]
    assert [one["label"] for one in regions] == ["clock"]
    assert post(own, about("reopen")).status_code == 422
    saved(own, about("reopen", comment="a tower was missed"))
    found = get(own, "review/gold")
    assert (found["locked"], found["reopened"]) == (False, 1)
    assert any("reopened once after" in told for told in get(own, "review")["warnings"])


# --- in and out ----------------------------------------------------------------------------------


@pytest.mark.parametrize("format", ["plain", "coco"])
def test_what_is_exported_can_be_read_again(own: TestClient, tmp_path: Path, format: str) -> None:  # noqa: A002
    one, other = get(own, "review/queue", limit=2)["items"]
    saved(own, event("accept", one))
    saved(own, event("edit", other, after={"box": [0.25, 0.25, 0.5, 0.5], "label": "door"}))
    answer = own.get("/api/review/export", params={"format": format})
    assert f'filename="completed-{format}.json"' in answer.headers["content-disposition"]
    path = tmp_path / "completed.json"
    path.write_bytes(answer.content)
    found = read_annotation_file(path).annotations
    given = CHOICE.open()
    for view, label in ((one, "window"), (other, "door")):
        before = given.by_id(view["image"]).annotation.regions
        after = found[view["image"]].regions
        added = [region.label for region in after[len(before) :]]
        assert label in added
    regions = answer.json()["provenance"]["regions"]
    made = {line["item"]: (line["how"], line["by"]) for line in regions if "item" in line}
    assert made == {one["id"]: ("accepted", "Anna"), other["id"]: ("edited", "Anna")}


def test_proposals_are_added_once(own: TestClient, tmp_path: Path) -> None:
    image = CHOICE.open().ids[0]

    def one(name: str, of: str) -> Proposal:
        region = Region("door", box=(0.5, 0.5, 0.75, 0.75), score=0.7, source="sam")
        return Proposal(name, of, region, 0.7, "sam", None, "elsewhere/sam", "ff")

    items = (one("a" * 16, image), one("b" * 16, image), one("c" * 16, "gone.png"))
    path = tmp_path / "new.json"
    write_proposals(Proposals(items, "facades", {}), path)
    sent = json.loads(path.read_text())
    found = post(own, sent, "review/proposals").json()
    assert (found["added"], found["known"], found["refused_count"]) == (2, 0, 1)
    assert "gone.png" in found["refused"][0]
    again = post(own, sent, "review/proposals").json()
    assert (again["added"], again["known"]) == (0, 2)
    assert item_of(own, "a" * 16)["source"] == "sam"
    assert get(own, "review")["items"] == COUNT + 2
    assert len(get(own, "review")["proposers"]) == 2


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b'"text"', b"{}", b"\xff", b"[" * 9999])
def test_what_holds_no_proposals_is_refused(reviewed: TestClient, content: bytes) -> None:
    headers = {"Content-Type": "application/json"}
    answer = reviewed.post("/api/review/proposals", content=content, headers=headers)
    assert (answer.status_code, answer.json()["field"]) == (422, "body"), answer.text
    assert "/tmp" not in answer.json()["detail"]  # noqa: S108


# --- rating --------------------------------------------------------------------------------------


def answered(client: TestClient, who: str, task: dict[str, Any], **more: Any) -> Any:
    answer = 4 if task["kind"] == "rate" else "left"
    body = {"id": str(uuid4()), "who": who, "task": task["id"], "answer": answer} | more
    return post(client, body, "rating/answers")


def test_maps_are_judged_blind(own: TestClient) -> None:
    assert get(own, "rating", who="Bo") == {
        "tasks": 6, "done": 0, "kinds": {"rate": 4, "choose": 2}, "people": 0
    }  # fmt: skip
    refused(own, "rating/summary", 403, who="Bo")
    refused(own, "rating/summary", 403)
    for number in range(6):
        found = get(own, "rating/next", who="Bo")
        task = found["task"]
        assert found["done"] == number
        assert not [w for w in ("cls", "gradcam", "vit", "cnn") if w in json.dumps(found)]
        assert (task["right"] is None) == (task["kind"] == "rate")
        assert answered(own, "Bo", task).json()["done"] == number + 1
    assert get(own, "rating/next", who="Bo")["task"] is None
    found = get(own, "rating/summary", who="bo")
    assert [one["value"] for one in found["ratings"]] == [4, 4]
    assert {one["method"] for one in found["ratings"]} == set(METHODS)
    assert (found["left"]["value"], found["people"], found["unblinded"]) == (1, 1, False)
    assert found["ratings_agreement"]["value"] is None
    assert found["ratings_agreement"]["reason"]
    early = get(own, "rating/summary", who="Anna", unblind=True)
    assert early["unblinded"]
    assert "not blind" in early["note"]


def test_answers_are_kept_once_and_changed_knowingly(own: TestClient) -> None:
    task = get(own, "rating/next", who="Bo")["task"]
    sent = {"id": str(uuid4())}
    first, again = (answered(own, "Bo", task, **sent).json() for _ in range(2))
    assert (first["repeated"], again["repeated"]) == (False, True)
    assert first["number"] == again["number"]
    second = answered(own, "Bo", task)
    assert (second.status_code, second.json()["version"]) == (409, first["number"])
    assert answered(own, "Bo", task, expected=first["number"]).status_code == 200
    wrong = "left" if task["kind"] == "rate" else 4
    answer = answered(own, "Bo", task, answer=wrong, expected=first["number"] + 1)
    assert (answer.status_code, answer.json()["field"]) == (422, "answer")
    assert answered(own, "Bo", {**task, "id": "gone"}).status_code == 404
    assert answered(own, "Bo", task, answer=9).status_code == 422


def test_the_maps_of_a_question_are_drawn(
    reviewed_app: FastAPI, reviewed: TestClient, client: TestClient
) -> None:
    every = reviewed_app.state.service.desk.journal.tasks()
    tasks = [task for task in every if task.kind == "choose"]
    model, _, method = tasks[0].methods[0].partition(" ")
    words = {"model": model, "method": method, "colour": "inferno", "outline": False, "size": 96}
    expected = client.get(f"/api/maps/{tasks[0].image_id}/overlay.png", params=words)
    found = reviewed.get(f"/api/rating/tasks/{tasks[0].id}/left.png", params={"size": 96})
    assert (found.status_code, found.headers["content-type"]) == (200, "image/png")
    assert found.content == expected.content
    rate = next(task for task in every if task.kind == "rate")
    assert reviewed.get(f"/api/rating/tasks/{rate.id}/right.png").status_code == 404
    assert reviewed.get("/api/rating/tasks/gone/left.png").status_code == 404
    assert (_map_words("cls").model, _map_words("cls@layer2").layer) == (None, 2)


# --- a server that is killed ---------------------------------------------------------------------


def sent_to(address: str, body: dict[str, Any]) -> dict[str, Any] | None:
    """Return the answer of a service; None where the connection is lost, in mid-answer too."""
    headers = {"Content-Type": "application/json"}
    asked = urllib.request.Request(  # noqa: S310
        f"{address}/api/review/events", json.dumps(body).encode(), headers
    )
    try:
        with urllib.request.urlopen(asked, timeout=30) as answer:  # noqa: S310
            found: dict[str, Any] = json.loads(answer.read())
            return found
    except urllib.error.HTTPError:
        raise
    except (OSError, HTTPException, ValueError):
        return None


def test_a_killed_server_loses_no_decision_and_applies_none_twice(
    api_store: Path, review_made: Path, tmp_path: Path
) -> None:
    folder = copied(review_made, tmp_path)
    with Journal.open(folder) as journal:
        items = [{"image": i.image_id, "id": i.id, "version": 0} for i in journal.items()]
    sent = [event("accept", one, who=f"person {n % 4}") for n, one in enumerate(items)]
    kept: dict[str, int] = {}
    enough = threading.Event()

    def decide(address: str, events: list[dict[str, Any]]) -> None:
        for one in events:
            answer = sent_to(address, one)
            if answer is None:
                return
            kept[one["id"]] = answer["event"]["number"]
            if len(kept) >= COUNT // 4:
                enough.set()

    with serving(str(api_store), "--no-prepare", "--review", str(folder)) as (run, address):
        threads = [threading.Thread(target=decide, args=(address, sent[n::4])) for n in range(4)]
        for thread in threads:
            thread.start()
        assert enough.wait(60)
        run.kill()  # SIGKILL
        for thread in threads:
            thread.join(60)
    assert COUNT // 4 <= len(kept) < COUNT
    app = create_app(api_store, review=folder)
    with TestClient(app, base_url="http://127.0.0.1") as client:
        there = {one["id"]: one["number"] for one in get(client, "review/events")["events"]}
        assert {name: there.get(name) for name in kept} == kept
        for one in [*sent, *sent]:
            answer = saved(client, one)
            assert answer["event"]["number"] == there.setdefault(
                one["id"], answer["event"]["number"]
            )
        events = get(client, "review/events", limit=1000)["events"]
        assert sorted(one["id"] for one in events) == sorted(one["id"] for one in sent)
        assert [one["number"] for one in events] == list(range(1, COUNT + 1))
        assert get(client, "review")["accepted"] == COUNT
