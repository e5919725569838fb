"""The pages Review and Rating: people decide by keys and by pointer, and nothing gets lost."""

from __future__ import annotations

import json
import re
import urllib.request
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from sightline.annotation.gold import pick_gold
from sightline.annotation.journal import Journal
from sightline.annotation.proposals import Proposal, Proposals
from sightline.annotation.rating_tasks import draw_tasks
from sightline.core import Region
from sightline.data.choice import DataChoice
from tests.e2e.conftest import (
    PHONE,
    WIDE,
    must_have_all,
    needed,
    new_page,
    serving,
    wait_until_shown,
)

if needed():
    pytest.skip(needed(), allow_module_level=True)

from playwright.sync_api import expect

from tests.e2e.test_axe import TOO_WIDE, broken_rules
from tests.e2e.test_shell import answer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DATA = DataChoice("facades", count=12, options={"seed": 7, "labelling": "representative"})
SIDE = 224  # pixels of an image
BOX = (0.25, 0.25, 0.5, 0.5)
GOLD = "facade-00011.png"
TASKS = 2
ONE = "lantern"  # label of the last proposal alone


def image(place: int) -> str:
    return f"facade-{place:05}.png"


@pytest.fixture(scope="module")
def url(served_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a service with a review: proposals p00 to p12, the best first."""
    must_have_all()
    folder = tmp_path_factory.mktemp("windows")
    dataset = DATA.open()
    items = tuple(
        Proposal(
            f"p{n:02}", image(n % 10), Region(label, box=BOX, score=s, source="similarity"), s,
            "similarity", 0, "demo/vit-dino", "0123abcd",
        )
        for n, (label, s) in enumerate((ONE if n == 12 else "window", 0.4**n) for n in range(13))
    )  # fmt: skip
    proposals = Proposals(items, "facades", {})
    gold = pick_gold(dataset, [GOLD])
    with Journal.create(folder, dataset, proposals, gold=gold, choice=DATA) as journal:
        maps = ["demo/vit-dino rollout", "demo/cnn gradcam"]
        journal.add_tasks(draw_tasks([image(0)], maps, 1, ratings=False))
        journal.add_tasks(draw_tasks([image(1)], maps[1:], 1, pairs=False))
    with serving(served_store, "--review", str(folder)) as address:
        yield address


def post(url: str, **body: Any) -> None:
    """Decide without a page, as another person does."""
    told = json.dumps({"id": str(uuid4()), **body}).encode()
    asked = urllib.request.Request(  # noqa: S310
        f"{url}/api/review/events", told, {"Content-Type": "application/json"}
    )
    urllib.request.urlopen(asked, timeout=20).close()  # noqa: S310


def open_as(page: Any, url: str, who: str, path: str = "/review") -> Any:
    """Open a page for a person who was here before."""
    page.add_init_script(f"localStorage.setItem('sightline.review.who', {who!r})")
    page.goto(url + path)
    wait_until_shown(page)
    return page


def events(url: str, who: str, mode: str = "review") -> list[dict[str, Any]]:
    found = answer(f"{url}/api/review/events?mode={mode}&limit=1000")["events"]
    return [one for one in found if one["who"] == who]


def kinds(url: str, who: str, mode: str = "review") -> list[tuple[str, str | None]]:
    return [(one["kind"], one["item"]) for one in events(url, who, mode)]


def saved(page: Any, url: str, who: str, count: int, mode: str = "review") -> list[dict[str, Any]]:
    """Wait until so many events of a person are kept; return them."""
    for _ in range(300):
        found = events(url, who, mode)
        if len(found) >= count:
            break
        page.wait_for_timeout(50)
    page.wait_for_timeout(150)  # one too many would come by now
    found = events(url, who, mode)
    assert len(found) == count
    return found


def item(url: str, name: str) -> dict[str, Any]:
    found: dict[str, Any] = answer(f"{url}/api/review/items/{name}/history")["item"]
    return found


def shows(page: Any, name: str) -> None:
    expect(page).to_have_url(re.compile(f"item={name}"))
    expect(page.locator(f"[data-shape={name}].item")).to_be_visible()


def press(page: Any, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def test_keys_accept_reject_skip_and_undo_even_after_a_reload(page: Any, url: str) -> None:
    page.goto(f"{url}/study")
    wait_until_shown(page)
    press(page, "g", "r")
    page.get_by_label("Name").fill("Anna")
    press(page, "Enter")
    shows(page, "p00")
    expect(page.get_by_text("Its score is 1.00, and")).to_be_visible()
    page.keyboard.down("a")
    page.keyboard.down("a")  # held down: it counts once
    page.keyboard.up("a")
    shows(page, "p01")
    press(page, "r")
    shows(page, "p02")
    press(page, "s")
    shows(page, "p03")
    saved(page, url, "Anna", 3)
    assert kinds(url, "Anna") == [("accept", "p00"), ("reject", "p01"), ("skip", "p02")]
    assert all(one["seconds"] is not None for one in events(url, "Anna"))
    expect(page.get_by_test_id("progress")).to_contain_text("2 of 13 decided")
    press(page, "k")
    shows(page, "p02")
    press(page, "j", "u")
    shows(page, "p02")
    expect(page.locator(".review-title")).to_contain_text("open")
    saved(page, url, "Anna", 4)
    page.reload()
    wait_until_shown(page)
    shows(page, "p02")
    expect(page.get_by_role("button", name="Undo", exact=True)).to_be_enabled()  # the log is there
    press(page, "u")
    shows(page, "p01")
    assert saved(page, url, "Anna", 5)[-1]["undoes"] == events(url, "Anna")[1]["number"]
    expect(page.get_by_text("Anna took back event")).to_be_visible()
    expect(page.get_by_role("button", name="Undo event")).to_have_count(0)
    press(page, "U")
    expect(page.locator(".review-title")).to_contain_text("rejected")
    saved(page, url, "Anna", 6)
    assert (item(url, "p01")["status"], item(url, "p02")["status"]) == ("rejected", "open")
    press(page, "?")
    expect(page.get_by_role("dialog")).to_contain_text("undo my last decision")


def test_boxes_are_dragged_nudged_typed_labelled_drawn_and_commented(page: Any, url: str) -> None:
    open_as(page, url, "Bert", "/review?item=p04")
    shows(page, "p04")
    press(page, "e")
    drag(page, page.get_by_role("button", name="Lower right corner"), 20, 10)
    expect(page.get_by_label("right x1")).to_have_value("132")
    expect(page.get_by_label("bottom y1")).to_have_value("122")
    press(page, "ArrowRight", "Shift+ArrowDown")
    expect(page.get_by_label("right x1")).to_have_value("133")
    expect(page.get_by_label("bottom y1")).to_have_value("132")
    page.get_by_label("left x0").fill("999")  # no further than the other side
    page.get_by_label("left x0").fill("40")
    page.get_by_label("Label", exact=True).select_option("portal")
    press(page, "Escape")
    expect(page.get_by_label("left x0")).to_have_count(0)
    press(page, "e")
    page.get_by_label("left x0").fill("40")
    press(page, "Enter")
    shows(page, "p05")
    press(page, "l")
    expect(page.get_by_label("Label", exact=True)).to_be_focused()
    page.get_by_label("Label", exact=True).select_option("portal")
    page.get_by_role("button", name="Save Enter").click()
    shows(page, "p06")
    edits = saved(page, url, "Bert", 2)
    assert [round(SIDE * at) for at in edits[0]["after"]["box"]] == [40, 56, 112, 112]
    assert edits[0]["after"]["label"] == "window"
    assert (edits[1]["after"]["label"], edits[1]["after"]["box"]) == ("portal", list(BOX))
    press(page, "d")
    drag(page, page.get_by_test_id("stage"), 30, 50)
    page.get_by_role("button", name="Save Enter").click()
    drawn = saved(page, url, "Bert", 3)[-1]
    assert (drawn["kind"], drawn["image"]) == ("draw", image(6))
    assert [round(SIDE * at) for at in drawn["after"]["box"]] == [112, 112, 142, 162]
    expect(page.locator(f"[data-shape={drawn['item']}].accepted")).to_be_visible()
    press(page, "u")
    expect(page.locator(f"[data-shape={drawn['item']}]")).to_have_count(0)
    shows(page, "p06")
    saved(page, url, "Bert", 4)
    comment(page, url)
    assert item(url, "p06")["status"] == "open"
    assert broken_rules(page) == []


def drag(page: Any, start: Any, right: int, down: int) -> None:
    """Drag from the middle of something, so many pixels of the image to the right and down."""
    box, pane = start.bounding_box(), page.get_by_test_id("stage").bounding_box()
    scale = pane["height"] / SIDE
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + right * scale, y + down * scale, steps=3)
    page.mouse.up()


def comment(page: Any, url: str) -> None:
    """Write a comment, Bert's fifth event, leaving and coming back before it is sent."""
    press(page, "c")
    page.keyboard.type("a small <one>")
    press(page, "Escape", "j", "k", "c")  # what was typed is still there
    press(page, "Control+Enter")
    assert saved(page, url, "Bert", 5)[-1]["comment"] == "a small <one>"
    expect(page.get_by_text("Bert: “a small <one>”")).to_be_visible()


def test_the_last_one_decided_the_page_says_so_and_takes_it_back(page: Any, url: str) -> None:
    open_as(page, url, "Ida", f"/review?label={ONE}")
    shows(page, "p12")
    press(page, "r")
    expect(page.get_by_text(f"No proposal of “{ONE}” is left")).to_be_visible()
    saved(page, url, "Ida", 1)
    expect(page.get_by_role("button", name="Undo")).to_be_enabled()
    press(page, "u")
    shows(page, "p12")
    saved(page, url, "Ida", 2)
    assert item(url, "p12")["status"] == "open"


def test_the_gold_set_hides_proposals_and_is_locked_when_done(page: Any, url: str) -> None:
    asked: list[str] = []
    page.on("request", lambda one: asked.append(one.url))
    open_as(page, url, "Gil", "/review?mode=gold")
    expect(page.get_by_text("Proposals, given annotations and maps are hidden")).to_be_visible()
    expect(page.locator("[data-shape]")).to_have_count(0)
    press(page, "d")
    page.get_by_role("button", name="put a box in the middle").click()
    press(page, "Shift+ArrowLeft", "Enter")
    expect(page.locator("[data-shape]")).to_have_count(1)
    press(page, "r")
    expect(page.locator("[data-shape]")).to_have_count(0)
    press(page, "u")
    expect(page.locator("[data-shape]")).to_have_count(1)
    press(page, "f")
    expect(page.get_by_text("All images are done")).to_be_visible()
    page.get_by_role("button", name="Lock the gold set").click()
    expect(page.get_by_text("The gold set is locked: nothing")).to_be_visible()
    told = saved(page, url, "Gil", 5, "gold")
    assert [one["kind"] for one in told] == ["draw", "reject", "undo", "done", "lock"]
    assert [round(SIDE * at) for at in told[0]["after"]["box"]] == [74, 84, 130, 140]
    assert not [one for one in asked if re.search("/queue|/review/images|/api/maps", one)]
    assert broken_rules(page) == []


def test_two_tabs_without_a_connection_lose_nothing_and_send_nothing_twice(
    page: Any, url: str, said: list[str]
) -> None:
    open_as(page, url, "Cora", "/review?item=p07")
    other = page.context.new_page()
    open_as(other, url, "Cora", "/review?item=p09")
    shows(page, "p07")
    shows(other, "p09")
    page.context.set_offline(True)
    press(page, "a")
    shows(page, "p08")
    press(page, "r", "u")
    shows(page, "p08")
    press(other, "a")
    for tab in (page, other):
        expect(tab.get_by_test_id("waiting")).to_contain_text("Not saved yet: 4 decisions")
    assert kinds(url, "Cora") == []
    said.clear()
    page.close()  # what it kept is sent by the other
    page.context.set_offline(False)
    saved(other, url, "Cora", 4)
    assert kinds(url, "Cora") == [
        ("accept", "p07"), ("reject", "p08"), ("undo", "p08"), ("accept", "p09")
    ]  # fmt: skip
    expect(other.get_by_test_id("waiting")).to_have_count(0)
    said.clear()


def test_who_comes_second_is_told_and_may_decide_again(
    page: Any, url: str, said: list[str]
) -> None:
    open_as(page, url, "Dora", "/review?item=p10")
    shows(page, "p10")
    page.context.set_offline(True)
    press(page, "a")
    shows(page, "p11")
    press(page, "a")
    seen = {"expected": 0, "kind": "reject", "who": "Emil"}
    post(url, item="p10", image=image(0), **seen)
    post(url, item="p11", image=image(1), **seen)
    page.context.set_offline(False)
    asides = page.locator(".review-aside")
    expect(asides).to_have_count(2)
    expect(asides.first).to_contain_text("Emil came first: it is rejected now")
    page.reload()
    wait_until_shown(page)
    expect(asides).to_have_count(2)
    asides.first.get_by_role("button", name="Show it").click()
    shows(page, "p10")
    expect(page.locator(".review-title")).to_contain_text("rejected")
    assert broken_rules(page) == []
    asides.first.get_by_role("button", name="Decide again: accept").click()
    saved(page, url, "Dora", 1)
    asides.first.get_by_role("button", name="Leave it as it is").click()
    expect(asides).to_have_count(0)
    assert (item(url, "p10")["status"], item(url, "p11")["status"]) == ("accepted", "rejected")
    said.clear()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_fit_a_phone_and_break_no_rule(
    browser: Any, url: str, said: list[str], scheme: str
) -> None:
    page = new_page(browser, said, viewport=PHONE, color_scheme=scheme, has_touch=True)
    for path in ("/review?item=p03&map=1", "/review?mode=gold", "/rating"):
        open_as(page, url, "Fay", path)
        assert page.evaluate(TOO_WIDE) <= 0
        assert broken_rules(page) == []
    page.goto(f"{url}/review?item=p03")
    shows(page, "p03")
    page.get_by_role("button", name="Edit").tap()
    assert page.evaluate(TOO_WIDE) <= 0
    expect(page.get_by_label("left x0")).to_be_visible()
    page.context.close()
    assert said == []


def test_maps_are_judged_blind(browser: Any, url: str, said: list[str]) -> None:
    page = new_page(browser, said, viewport=WIDE, color_scheme="dark")
    open_as(page, url, "Hal", "/rating")
    picture = page.locator(".rating-maps img").first
    for place in range(TASKS):
        expect(page.get_by_text(f"Question {place + 1} of {TASKS}")).to_be_visible()
        expect(picture).to_be_visible()
        assert "gradcam" not in page.content() + page.url
        two = page.locator(".rating-maps img").count() == 2
        press(page, "ArrowLeft" if two else "4")
    expect(page.get_by_text("All questions are answered", exact=True)).to_be_visible()
    expect(page.get_by_text(f"{TASKS} of {TASKS} answered")).to_be_visible()
    expect(page.get_by_role("table").first).to_contain_text("gradcam")
    page.get_by_role("button", name="Change the last answer").click()
    page.get_by_role("group", name="Answer").get_by_role("button").first.click()
    expect(page.get_by_text("All questions are answered", exact=True)).to_be_visible()
    assert broken_rules(page) == []
    page.context.close()
    assert said == []
