"""The dashboard: what each view shows is what the service says, and marks open their images."""

from __future__ import annotations

import csv
import json
import re
import urllib.request
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, quote, urlencode, urlsplit
from xml.etree import ElementTree as ET

import pytest

from tests.e2e.conftest import PHONE, needed, wait_until_shown

if needed():
    pytest.skip(needed(), allow_module_level=True)

from playwright.sync_api import expect

from tests.e2e.test_axe import TOO_WIDE, broken_rules

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.conftest import Opens

VIEWS = ("leaderboard", "layers", "percentiles", "ranking", "features", "styles", "heads", "matrix",
         "compare")  # fmt: skip
PAIR = "a=demo/vit-dino&b=demo/vit-dino@lora"


@pytest.fixture
def ask(app_url: str) -> Any:
    """Ask the service for JSON."""

    def asks(path: str) -> Any:
        with urllib.request.urlopen(app_url + path, timeout=20) as got:  # noqa: S310
            return json.load(got)

    return asks


def score(value: float) -> str:
    return f"{value:.3f}".replace("-", "−")


def words_of(page: Any) -> dict[str, str]:
    """Return the words of the address."""
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


def line(page: Any, start: str) -> Any:
    """Return the mark whose name begins so."""
    return page.locator(f'svg.chart a[aria-label^="{start}"]')


def rows_shown(page: Any) -> list[str]:
    """Return what is read out of the rows of a plot, from the top."""
    names: list[str] = page.locator("svg.interval-rows a").evaluate_all(
        "marks => marks.map(mark => mark.getAttribute('aria-label'))"
    )
    return names


def in_gallery(page: Any) -> dict[str, str]:
    """Wait for the gallery with images in it; return the words of its address."""
    expect(page).to_have_title(re.compile("^Gallery"))
    wait_until_shown(page)
    expect(page.locator("main img").first).to_be_visible()
    return words_of(page)


def csv_of(page: Any, name: str) -> list[list[str]]:
    return list(csv.reader(saved(page, name, "Data as CSV").read_text().splitlines()))


def saved(page: Any, name: str, item: str) -> Path:
    """Save what an item of an export menu makes; return the file."""
    page.get_by_role("button", name=f"Export: {name}", exact=True).click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name=item).click()
    found: Path = download.value.path()
    return found


# --- leaderboard ---------------------------------------------------------------------------------


def test_the_leaderboard_has_each_line_with_interval_chance_and_ceiling(
    open_page: Opens, ask: Any
) -> None:
    page, board = open_page("/dashboard"), ask("/api/leaderboard")
    for one, text in zip(board["lines"], rows_shown(page), strict=True):
        assert text.startswith(f"{one['rank']:g}. {one['name']}")
        assert score(one["value"]) in text
        assert f"[{score(one['low'])}, {score(one['high'])}]" in text
        assert f"chance {score(one['chance'])}, ceiling {score(one['ceiling'])}" in text
        assert ("baseline" in text) == (one["group"] == "baseline")
    assert any(one["group"] == "baseline" for one in board["lines"])


@pytest.mark.parametrize("metric", ["recall@90", "average_precision"])
def test_what_a_score_is_never_shown_without_stands_in_its_line(
    open_page: Opens, ask: Any, metric: str
) -> None:
    board = ask(f"/api/leaderboard?metric={metric}")
    page = open_page(f"/dashboard?metric={metric}")
    for one, text in zip(board["lines"], rows_shown(page), strict=True):
        if metric == "recall@90":
            assert f"iou@90 {score(one['beside_value'])}" in text
        else:
            assert f"random ranking {score(one['random'])}" in text


def test_a_line_of_the_leaderboard_opens_its_images(open_page: Opens, ask: Any) -> None:
    best = next(one for one in ask("/api/leaderboard")["lines"] if one["group"] != "baseline")
    page = open_page("/dashboard")
    line(page, f"{best['rank']:g}. {best['name']}").click()
    words = in_gallery(page)
    assert (words["model"], words["method"]) == (best["model"], best["method"])
    assert (words["layer"], words["sort"]) == (str(best["layer"]), "iou@90")
    page.go_back()
    expect(page).to_have_title(re.compile("^Dashboard"))


def test_score_model_method_and_layer_are_in_the_address(open_page: Opens, ask: Any) -> None:
    page = open_page("/dashboard")
    page.get_by_label("Score", exact=True).select_option("coverage")
    page.get_by_label("Model", exact=True).select_option("demo/vit-dino")
    page.get_by_label("Layer", exact=True).select_option("last")
    wait_until_shown(page)
    expect(page).to_have_url(re.compile("layer=last"))
    asked = {"metric": "coverage", "model": "demo/vit-dino", "layer": "last"}
    assert words_of(page) == asked
    lines = ask("/api/leaderboard?metric=coverage&model=demo/vit-dino&layer=last")["lines"]
    for _ in ("as clicked", "from the link"):
        expect(page.locator("svg.interval-rows a")).to_have_count(len(lines))
        expect(line(page, f"1. {lines[0]['name']}")).to_have_attribute(
            "aria-label", re.compile(re.escape(score(lines[0]["value"])))
        )
        page.reload()
        wait_until_shown(page)
    page.get_by_role("button", name="Clear filters").click()
    expect(page).to_have_url(re.compile("/dashboard$"))


def test_a_score_explains_itself(open_page: Opens, ask: Any) -> None:
    page = open_page("/dashboard?metric=coverage")
    page.get_by_role("heading", name="Leaderboard by").get_by_role("button").focus()
    (told,) = [one for one in ask("/api/metrics")["metrics"] if one["name"] == "coverage"]
    expect(page.get_by_role("tooltip")).to_contain_text(told["meaning"])


# --- layers, percentiles, ranks ------------------------------------------------------------------


def test_layers_have_a_panel_for_each_method_and_points_open_images(
    open_page: Opens, ask: Any
) -> None:
    lines = [one for one in ask("/api/layers")["lines"] if one["layered"]]
    page = open_page("/dashboard?view=layers")
    titles = list(dict.fromkeys(one["method"] for one in lines))
    expect(page.get_by_role("heading", level=3)).to_have_text(titles)
    best = max(point["value"] for one in lines if one["method"] == "cls" for point in one["points"])
    chart = page.get_by_role("group", name=re.compile("by layer, cls"))
    expect(chart).to_contain_text(score(best))
    chart.focus()
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    words = in_gallery(page)
    last = max(point["x"] for one in lines if one["method"] == "cls" for point in one["points"])
    assert (words["method"], words["layer"], words["sort"]) == ("cls", f"{last:g}", "iou@90")


def test_layers_can_have_a_panel_for_each_model(open_page: Opens) -> None:
    page = open_page("/dashboard?view=layers")
    page.get_by_role("radio", name="model", exact=True).check()
    names = ["demo/cnn", "demo/vit-dino", "demo/vit-dino@lora"]
    expect(page.get_by_role("heading", level=3)).to_have_text(names)
    expect(page).to_have_url(re.compile("view=layers&panels=model$"))


def test_percentiles_show_chance_and_ceiling_and_points_open_images(open_page: Opens) -> None:
    page = open_page("/dashboard?view=percentiles&curve=recall&model=demo/vit-dino")
    chart = page.get_by_role("group", name=re.compile("by percentile, rollout"))
    expect(chart.locator("path.chance")).to_have_count(1)
    box = chart.bounding_box()
    chart.click(position={"x": 60, "y": box["height"] / 2})
    words = in_gallery(page)
    assert words["sort"] == f"recall@{words['percentile']}"
    assert words["percentile"] == "50"
    assert words["model"] == "demo/vit-dino"


def test_the_ranking_shows_means_and_cells_open_images(open_page: Opens, ask: Any) -> None:
    ranking = ask("/api/ranking")
    page = open_page("/dashboard?view=ranking")
    cells = page.locator("svg.heat-table g.cell")
    expect(cells).to_have_count(len(ranking["lines"]) * len(ranking["metrics"]))
    row, column = 1, ranking["metrics"].index("coverage")
    place = row * len(ranking["metrics"]) + column
    told = ranking["lines"][row]["cells"][column]
    expect(cells.nth(place).locator("title")).to_contain_text(f"rank {told['rank']:g}")
    expect(cells.nth(place).locator("title")).to_contain_text(score(told["value"]))
    cells.nth(place).click()
    words = in_gallery(page)
    assert words["sort"] == "coverage"
    assert words["method"] == ranking["lines"][row]["method"]


# --- labels --------------------------------------------------------------------------------------


def labels_shown(page: Any) -> list[str]:
    """Return the labels of the tree from the top."""
    return [name.partition(",")[0] for name in rows_shown(page)]


def test_features_open_as_a_tree(open_page: Opens, ask: Any) -> None:
    lines = ask("/api/breakdown/labels?ancestors=true")["lines"]
    below = {one["label"] for one in lines if "window" in one["parents"]}
    page = open_page("/dashboard?view=features")
    assert not below & set(labels_shown(page))
    page.get_by_role("button", name="Open window", exact=True).press("Enter")
    expect(page.get_by_role("button", name="Close window", exact=True)).to_be_visible()
    shown = labels_shown(page)
    place = shown.index("window")
    assert set(shown[place + 1 : place + 1 + len(below)]) == below
    expect(page).to_have_url(re.compile("open=window"))
    page.reload()
    wait_until_shown(page)
    assert labels_shown(page) == shown
    page.get_by_role("button", name="Open all").click()
    expect(page.locator("svg.interval-rows a")).to_have_count(len(lines))


def test_features_can_be_searched_and_rare_ones_left_out(open_page: Opens, ask: Any) -> None:
    lines = {one["label"]: one for one in ask("/api/breakdown/labels")["lines"]}
    page = open_page("/dashboard?view=features&shape=list")
    page.get_by_label("Search labels").fill("WINDOW")
    found = {label for label in lines if "window" in label}
    expect(page.locator("svg.interval-rows a")).to_have_count(len(found))
    assert set(labels_shown(page)) == found
    least = max(lines[label]["n"] for label in found)
    page.get_by_label("At least so many regions").fill(str(least))
    kept = {label for label in found if lines[label]["n"] >= least}
    expect(page.locator("svg.interval-rows a")).to_have_count(len(kept))
    assert set(labels_shown(page)) == kept
    page.get_by_label("Search labels").fill("nothing of the kind")
    expect(page.get_by_text("No label fits")).to_be_visible()


def test_a_feature_shows_its_numbers_and_opens_its_images(open_page: Opens, ask: Any) -> None:
    (told,) = [
        one for one in ask("/api/breakdown/labels?ancestors=true&percentile=80")["lines"]
        if one["label"] == "window"
    ]  # fmt: skip
    page = open_page("/dashboard?view=features&figure=recall&at=80")
    figure = told["figures"][1]
    expect(line(page, f"window, {told['n']} regions")).to_have_attribute(
        "aria-label", re.compile(f": {re.escape(score(figure['value']))}")
    )
    line(page, "window,").click()
    words = in_gallery(page)
    assert (words["label"], words["sort"]) == ("window", "recall@80")
    total = ask(f"/api/images?label=window&limit=1&sort={quote('recall@80')}")["total"]
    assert total == told["images"]


def test_a_style_opens_its_images(open_page: Opens, ask: Any) -> None:
    told = ask("/api/breakdown/styles")["lines"][0]
    page = open_page("/dashboard?view=styles")
    mark = line(page, f"{told['label']}, {told['n']} images")
    assert score(told["figures"][0]["value"]) in mark.get_attribute("aria-label")
    mark.click()
    assert in_gallery(page)["style"] == told["label"]


# --- heads ---------------------------------------------------------------------------------------


def test_heads_are_ranked_and_open_their_images(open_page: Opens, ask: Any) -> None:
    ranking = ask("/api/heads")
    page = open_page("/dashboard?view=heads")
    first = ranking["lines"][0]
    mark = line(page, f"1. layer {first['layer']}, head {first['head']}:")
    assert score(first["value"]) in mark.get_attribute("aria-label")
    expect(page.locator("svg.heat-table g.cell")).to_have_count(len(ranking["lines"]))
    mark.click()
    words = in_gallery(page)
    assert (words["layer"], words["head"]) == (str(first["layer"]), str(first["head"]))
    assert words["model"] == ranking["choice"]["model"]


def test_a_cell_of_heads_by_features_shows_where_the_head_does_best(
    open_page: Opens, ask: Any
) -> None:
    matrix = ask("/api/heads/matrix")
    label = max(matrix["labels"], key=lambda one: matrix["counts"][matrix["labels"].index(one)])
    layer, head = matrix["heads"][1]
    page = open_page(f"/dashboard?view=matrix&find={quote(label)}")
    page.locator("svg.heat-table g.cell").nth(1).click()
    title = f"{label}: best of layer {layer}, head {head}"
    panel = page.get_by_role("region", name=title)
    choice = matrix["choice"]
    words = f"model={choice['model']}&method={choice['method']}&layer={layer}&head={head}"
    told = ask(f"/api/heads/exemplars?{words}&label={quote(label)}&limit=8&metric=iou@90")
    expect(panel.get_by_role("listitem")).to_have_count(len(told["items"]))
    expect(panel.get_by_role("listitem").first).to_contain_text(score(told["items"][0]["value"]))
    page.reload()
    panel.get_by_role("listitem").first.get_by_role("link").click()
    expect(page).to_have_url(re.compile(f"/image/{told['items'][0]['image']}"))
    got = words_of(page)
    assert got["region"] == str(told["items"][0]["region"])
    assert (got["layer"], got["head"]) == (str(layer), str(head))


def test_heads_that_are_not_stored_are_said_to_be(page: Any, app_url: str, ask: Any) -> None:
    health = ask("/api/health") | {"heads": False}
    page.route("**/api/health", lambda route: route.fulfill(json=health))
    page.goto(f"{app_url}/dashboard?view=heads")
    expect(page.get_by_text("No single heads are stored")).to_be_visible()


# --- two of them ---------------------------------------------------------------------------------


def test_two_models_are_compared_image_by_image(open_page: Opens, ask: Any) -> None:
    told = ask(f"/api/compare?{PAIR}")
    page = open_page("/dashboard?view=compare")
    expect(page.get_by_text(told["lines"][0]["sentence"][:80]).first).to_be_visible()
    change = -told["lines"][0]["difference"]
    text = ("+" if change > 0 else "") + score(change)
    first = page.locator("svg.interval-rows a").first
    expect(first.locator(".figure")).to_have_text(text)
    bars = page.locator("svg.shift-bars rect")
    expect(bars).to_have_count(len(told["images"]))
    moved = sorted(told["images"], key=lambda one: one["shift"])
    expect(bars.first.locator("title")).to_contain_text(moved[0]["image"])
    page.get_by_role("button", name="Swap").click()
    wait_until_shown(page)
    other = ("+" if change < 0 else "") + score(-change)
    expect(first.locator(".figure")).to_have_text(other)


def test_the_shift_of_an_image_opens_both_maps(open_page: Opens, ask: Any) -> None:
    told = ask(f"/api/compare?{PAIR}")
    farthest = min(told["images"], key=lambda one: one["shift"])
    page = open_page(f"/dashboard?view=compare&{PAIR}")
    chart = page.get_by_role("group", name=re.compile("^Shift of each image"))
    chart.focus()
    page.keyboard.press("Home")
    expect(page.get_by_role("status").filter(has_text=farthest["image"])).to_be_visible()
    page.keyboard.press("Enter")
    expect(page).to_have_title(re.compile("^Compare"))
    words = words_of(page)
    first = told["lines"][0]
    assert words["image"] == farthest["image"]
    assert words["a"] == f"demo/vit-dino~{first['method']}~{first['layer_a']}"
    assert words["b"] == f"demo/vit-dino@lora~{first['method']}~{first['layer_b']}"


def test_another_line_shows_its_own_shifts(open_page: Opens, ask: Any) -> None:
    told = ask(f"/api/compare?{PAIR}&method=rollout")
    page = open_page(f"/dashboard?view=compare&{PAIR}")
    line(page, "rollout").click()
    expect(
        page.get_by_role("heading", name=re.compile("Shift of each image: rollout"))
    ).to_be_visible()
    wait_until_shown(page)
    lost = sorted(told["images"], key=lambda one: one["shift"])[0]
    expect(page.locator("svg.shift-bars rect").first.locator("title")).to_contain_text(
        f"{lost['image']}: {score(lost['shift'])}"
    )


@pytest.mark.parametrize(
    ("by", "first", "second"), [("method", "cls", "rollout"), ("layer", "0", "2")]
)
def test_methods_and_layers_are_compared_too(
    open_page: Opens, ask: Any, by: str, first: str, second: str
) -> None:
    told = ask(f"/api/compare?by={by}&a={first}&b={second}&model=demo/vit-dino")
    page = open_page("/dashboard?view=compare&model=demo/vit-dino")
    page.get_by_role("radio", name=f"{by}s").check()
    page.get_by_label("From (a)").select_option(first)
    page.get_by_label("To (b)").select_option(second)
    wait_until_shown(page)
    expect(page.locator("svg.interval-rows a")).to_have_count(len(told["lines"]))
    expect(page.locator("svg.shift-bars rect")).to_have_count(len(told["images"]))


# --- from other pages and views ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "links"),
    [
        ("/image/facade-00000.png?{}", ["Dashboard"]),
        ("/?{}", ["Dashboard"]),
        ("/compare?{}", ["Dashboard"]),
        ("/dashboard?view=features&{}", ["Leaderboard"]),
        ("/dashboard?view=heads&{}", ["Ranking", "Leaderboard"]),
    ],
)
def test_the_leaderboard_has_all_lines_wherever_one_comes_from(
    open_page: Opens, ask: Any, start: str, links: list[str]
) -> None:
    page = open_page(start.format("model=demo/vit-dino&method=cls&layer=2"))
    for name in links:
        page.get_by_role("link", name=name, exact=True).click()
        wait_until_shown(page)
    expect(page.locator("svg.interval-rows a")).to_have_count(len(ask("/api/leaderboard")["lines"]))


def test_keys_leave_a_choice_of_maps_behind_as_links_do(open_page: Opens, ask: Any) -> None:
    page = open_page("/dashboard?view=features&model=demo/vit-dino&method=cls")
    for view in ("ranking", "percentiles", "layers"):
        page.keyboard.press("[")
        wait_until_shown(page)
        assert words_of(page) == {"view": view}
    page.keyboard.press("[")
    wait_until_shown(page)
    expect(page.locator("svg.interval-rows a")).to_have_count(len(ask("/api/leaderboard")["lines"]))


def test_a_filter_of_the_leaderboard_stays_while_tables_are_looked_through(
    open_page: Opens, ask: Any
) -> None:
    page = open_page("/dashboard?view=layers")
    page.get_by_label("Model", exact=True).select_option("demo/cnn")
    page.get_by_role("link", name="Leaderboard", exact=True).click()
    wait_until_shown(page)
    lines = ask("/api/leaderboard?model=demo/cnn")["lines"]
    expect(page.locator("svg.interval-rows a")).to_have_count(len(lines))
    page.get_by_role("button", name="Clear filters").click()
    expect(page.locator("svg.interval-rows a")).to_have_count(len(ask("/api/leaderboard")["lines"]))


# --- warnings ------------------------------------------------------------------------------------


@pytest.mark.parametrize("view", ["leaderboard", "layers", "percentiles", "ranking", "compare"])
def test_scores_on_different_grids_are_said_not_to_compare(
    open_page: Opens, page: Any, view: str
) -> None:
    text = "maps were scored on grids of different sizes"

    def warn(route: Any) -> None:
        route.fulfill(json=route.fetch().json() | {"warnings": [text]})

    page.route(re.compile(r"/api/(leaderboard|layers|percentiles|ranking|compare)(\?|$)"), warn)
    open_page(f"/dashboard?view={view}")
    warning = page.get_by_role("note").filter(has_text="Not comparable")
    expect(warning.first).to_have_text(f"Not comparable. M{text[1:]}.")
    expect(warning.first).to_be_in_viewport()


# --- files, keys, errors, both widths ------------------------------------------------------------


def test_figure_and_data_can_be_saved(open_page: Opens, ask: Any) -> None:
    page, board = open_page("/dashboard"), ask("/api/leaderboard")
    head, *rows = csv_of(page, "leaderboard")
    assert [float(row[head.index("value")]) for row in rows] == [
        one["value"] for one in board["lines"]
    ]
    drawing = ET.parse(saved(page, "leaderboard", "Figure as SVG"))  # noqa: S314
    assert board["lines"][0]["name"] in "".join(drawing.getroot().itertext())
    picture = saved(page, "leaderboard", "Figure as PNG").read_bytes()
    assert picture.startswith(b"\x89PNG")


def test_files_of_the_service_are_of_the_maps_that_are_shown(open_page: Opens, ask: Any) -> None:
    choice, page = ask("/api/heads")["choice"], None
    words = {name: [choice[name]] for name in ("model", "method")}
    for view in ("features", "styles", "heads"):
        page = open_page(f"/dashboard?{urlencode(words | {'view': [view]}, doseq=True)}", page)
        page.get_by_role("button", name=re.compile("^Export: ")).last.click()
        file = page.get_by_role("menuitem", name=re.compile("^Every "))
        assert words.items() <= parse_qs(urlsplit(file.get_attribute("href")).query).items()


def test_every_view_has_data_to_save(open_page: Opens) -> None:
    page = open_page("/dashboard?view=features")
    assert len(csv_of(page, "features")) > 5
    page = open_page("/dashboard?view=matrix", page)
    assert csv_of(page, "heads-by-feature")[0][:4] == ["layer", "head", "label", "regions"]
    page = open_page("/dashboard?view=compare", page)
    assert len(csv_of(page, "shifts")) == 13


def test_keys_step_through_the_views(open_page: Opens) -> None:
    page = open_page("/dashboard")
    page.keyboard.press("]")
    expect(page).to_have_url(re.compile("view=layers"))
    page.keyboard.press("[")
    expect(page).to_have_url(re.compile("/dashboard$"))


def test_a_link_to_what_is_not_there_says_so(open_page: Opens, said: list[str]) -> None:
    page = open_page("/dashboard?model=demo/vitt")
    expect(page.get_by_role("alert")).to_contain_text("demo/vit")
    said.clear()


@pytest.mark.parametrize("view", VIEWS)
def test_each_view_breaks_no_serious_rule_and_fits_a_phone(open_page: Opens, view: str) -> None:
    page = open_page(f"/dashboard?view={view}")
    expect(page.locator("svg.chart").first).to_be_visible()
    assert broken_rules(page) == []
    page.set_viewport_size(PHONE)
    page.wait_for_function(f"() => {TOO_WIDE} <= 0")
