"""The study's page: provenance, plan, progress of a running study, downloads."""

from __future__ import annotations

import csv
import io
import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.e2e.conftest import needed, serving, wait_until_shown

if needed():
    pytest.skip(needed(), allow_module_level=True)

from playwright.sync_api import expect

from sightline.store import Store
from tests.e2e.test_shell import answer

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.conftest import Opens


def panel(page: Any, title: str) -> Any:
    return page.get_by_role("region", name=title, exact=True)


def downloaded(page: Any, click: Any) -> tuple[str, str]:
    """Return the name and the text of what a click downloads."""
    with page.expect_download() as waiting:
        click()
    return waiting.value.suggested_filename, waiting.value.path().read_text("utf-8")


def test_provenance_names_versions_machine_and_digests(open_page: Opens, app_url: str) -> None:
    made = answer(f"{app_url}/api/study")["provenance"]
    found = panel(open_page("/study"), "Provenance")
    for text in (made["versions"]["numpy"], made["plan"], made["machine"]["system"]):
        expect(found).to_contain_text(text)
    for model in made["models"]:
        expect(found).to_contain_text(model["digest"])


def test_provenance_is_saved_whole(open_page: Opens, page: Any, app_url: str) -> None:
    open_page("/study")
    click = panel(page, "Provenance").get_by_role("button", name="Save as JSON").click
    name, text = downloaded(page, click)
    assert name.endswith("-provenance.json")
    assert json.loads(text) == answer(f"{app_url}/api/study")["provenance"]


def test_the_plan_has_a_line_for_each_source_of_maps(open_page: Opens, app_url: str) -> None:
    plan = answer(f"{app_url}/api/study")["plan"]
    page = open_page("/study")
    found = panel(page, "Plan")
    expect(found.locator("tbody tr")).to_have_count(len(plan["rows"]))
    first = dict(zip(plan["columns"], plan["rows"][0], strict=True))
    line = found.locator("tbody tr").first
    for name in ("model", "method"):
        expect(line).to_contain_text(first[name])
    expect(line).to_contain_text(f"{first['done']} of {first['tasks']}")


def test_the_plan_is_sorted_and_saved(open_page: Opens, page: Any, app_url: str) -> None:
    open_page("/study")
    found = panel(page, "Plan")
    found.get_by_role("button", name="Sort by method").click()
    methods = found.locator("tbody tr td:nth-child(2)").all_inner_texts()
    assert methods == sorted(methods, reverse=True)
    found.get_by_role("button", name="Export").click()
    _, text = downloaded(page, page.get_by_role("menuitem", name="Data as CSV").click)
    lines = list(csv.DictReader(io.StringIO(text)))
    assert len(lines) == len(answer(f"{app_url}/api/study")["plan"]["rows"])
    assert {"model", "method", "done"} <= set(lines[0])


def test_the_study_file_runs_the_same_study_again(
    open_page: Opens, page: Any, app_url: str
) -> None:
    open_page("/study")
    found = panel(page, "Study file")
    found.get_by_role("button", name="Copy").click()
    expect(found.get_by_role("status")).to_have_text("Copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    _, saved = downloaded(page, found.get_by_role("link", name="Save").click)
    assert yaml.safe_load(copied) == yaml.safe_load(saved)
    assert yaml.safe_load(copied)["name"] == answer(f"{app_url}/api/study")["name"]


def test_everything_that_can_be_downloaded_has_a_link(open_page: Opens, app_url: str) -> None:
    names = answer(f"{app_url}/api/study")["downloads"]
    assert names
    page = open_page("/study")
    links = panel(page, "Downloads").get_by_role("link")
    addresses = links.evaluate_all("links => links.map((one) => one.getAttribute('href'))")
    assert sorted(addresses) == sorted(f"/api/export/{name}" for name in names)
    name, text = downloaded(page, page.get_by_role("link", name="Download leaderboard.csv").click)
    assert name.endswith("leaderboard.csv")
    assert list(csv.DictReader(io.StringIO(text)))


def test_labels_lead_to_their_images(open_page: Opens, page: Any) -> None:
    open_page("/study")
    link = panel(page, "Contents").locator("a.study-label").first
    label = link.inner_text().rsplit(maxsplit=1)[0]
    link.click()
    wait_until_shown(page)
    assert page.evaluate("new URLSearchParams(location.search).get('style')") == label


def test_a_finished_study_says_so(open_page: Opens, app_url: str) -> None:
    told = answer(f"{app_url}/api/progress")
    found = panel(open_page("/study"), "Progress")
    expect(found).to_contain_text("finished")
    bar = found.get_by_role("progressbar", name="Tasks stored")
    expect(bar).to_have_attribute("aria-valuenow", str(told["all"]))


def test_a_study_is_watched_while_it_grows(page: Any, served_store: Path, tmp_path: Path) -> None:
    store = tmp_path / "growing"
    shutil.copytree(served_store, store)
    tasks = Store(store).done()
    held = [(path, path.read_bytes()) for path in sorted((store / "scores").iterdir())[:3]]
    for path, _ in held:
        path.unlink()
    with serving(store) as address:
        page.goto(f"{address}/study")
        bar = page.get_by_role("progressbar", name="Tasks stored")
        expect(bar).to_have_attribute("aria-valuenow", str(len(tasks) - 3))
        expect(page.get_by_role("banner")).to_contain_text("unfinished")
        expect(panel(page, "Progress")).to_contain_text("stopped before its end")
        for path, content in held:
            path.write_bytes(content)
        expect(bar).to_have_attribute("aria-valuenow", str(len(tasks)))
        expect(panel(page, "Progress")).to_contain_text("finished")
        expect(page.get_by_role("banner")).not_to_contain_text("unfinished")
        unfinished = panel(page, "Plan").locator("tbody td:last-child", has_text="0 of 1")
        expect(unfinished).to_have_count(0)
        page.goto("about:blank")  # it asks again and again, and soon nobody answers
