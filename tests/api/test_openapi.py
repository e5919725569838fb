"""The schema: complete, and true of whatever is asked by it."""

from __future__ import annotations

import json
import re
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis import checks as known_checks

from sightline.api import schemas, schemas_review
from sightline.api.app import openapi_schema
from sightline.api.problems import MEDIA_TYPE
from tests.scripts import load_script

if TYPE_CHECKING:
    from fastapi import FastAPI

SCHEMA = openapi_schema()
ROUTES = [
    (path, method, about)
    for path, methods in SCHEMA["paths"].items()
    for method, about in methods.items()
]
IDS = [f"{method} {path}" for path, method, _ in ROUTES]
HERE = {"Host": "127.0.0.1"}
DOCS = Path(__file__).parents[2] / "docs"
# Whose 409 tells what somebody else did meanwhile.
CONFLICTS = (("post", "/api/review/events"), ("post", "/api/rating/answers"))


# --- what is said of routes ----------------------------------------------------------------------


@pytest.mark.parametrize(("path", "method", "about"), ROUTES, ids=IDS)
def test_a_route_is_described(path: str, method: str, about: dict[str, Any]) -> None:
    assert len(about["summary"]) > 5
    assert len(about["description"]) > 30
    assert about["tags"]
    assert not re.search(r"Parameters\n-{3}|Raises\n-{3}", about["description"])
    for one in about.get("parameters", ()):
        assert one["schema"].get("description") or one.get("description"), one["name"]
        if one["in"] == "path":
            assert one["schema"].get("examples"), one["name"]


@pytest.mark.parametrize(("path", "method", "about"), ROUTES, ids=IDS)
def test_a_route_says_what_it_answers(path: str, method: str, about: dict[str, Any]) -> None:
    content = about["responses"]["200"]["content"]
    if list(content) == ["application/json"] and content["application/json"]:
        name = content["application/json"]["schema"]["$ref"].rpartition("/")[2]
        assert SCHEMA["components"]["schemas"][name].get("description"), name
        shown = content["application/json"]["example"]  # python docs/make_examples.py STORE
        model = getattr(schemas, name, None) or getattr(schemas_review, name)
        model.model_validate_json(json.dumps(shown))
    else:  # a file
        assert content
    needed = {"422"} | ({"404"} if "{" in path else set())
    assert needed <= set(about["responses"])
    for status, answer in about["responses"].items():
        if status != "200":
            conflict = status == "409" and (method, path) in CONFLICTS
            problem = f"#/components/schemas/{'ReviewConflict' if conflict else 'Problem'}"
            assert answer["content"] == {MEDIA_TYPE: {"schema": {"$ref": problem}}}


def test_operations_have_names_of_their_own() -> None:
    names = [about["operationId"] for _, _, about in ROUTES]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z][a-z_]*", name) for name in names)


def test_every_field_of_an_answer_is_described() -> None:
    fields = {
        f"{name}.{field}": about.get("description", "")
        for name, model in SCHEMA["components"]["schemas"].items()
        for field, about in model.get("properties", {}).items()
    }
    assert len(fields) > 300
    assert [field for field, told in fields.items() if len(told) < 4] == []


def test_every_field_of_an_answer_has_a_type() -> None:
    """A client is made from the schema: nothing may be of any kind but what is free by nature."""
    free = {("StudyInfo", "study"), ("StudyInfo", "provenance")}
    for name, model in SCHEMA["components"]["schemas"].items():
        for field, about in model.get("properties", {}).items():
            kinds = {"type", "$ref", "anyOf", "enum", "const", "allOf"}
            assert kinds & set(about) or (name, field) in free, (name, field)


def test_what_routes_name_is_defined() -> None:
    named = set(re.findall(r"#/components/schemas/(\w+)", str(SCHEMA)))
    assert named <= set(SCHEMA["components"]["schemas"])
    assert "Problem" in named


def test_the_service_tells_this_schema(client: Any) -> None:
    assert client.get("/api/openapi.json").json() == SCHEMA


def test_the_page_is_current() -> None:
    maker = load_script(DOCS / "make_rest.py")
    text = maker.page()
    assert (DOCS / "rest.md").read_text("utf-8") == text, "run python docs/make_rest.py"
    for path, method, _ in ROUTES:
        assert f"`{method.upper()} {path}`" in text


# --- asked by machine ----------------------------------------------------------------------------

# Names that are stored, so that not every question ends at the first one.
STORED: dict[str, list[Any]] = {
    "image_id": ["facade-00000.png", "facade-00003.png"],
    "bbox_index": [0, 1, 2],
    "model": ["demo/vit-dino", "demo/vit-dino@lora", "demo/cnn"],
    "method": ["cls", "rollout", "gradcam", "random"],
    "metric": ["iou@90", "coverage", "iou@mass60"],
    "a": ["demo/vit-dino", "demo/cnn"],
    "b": ["demo/vit-dino@lora"],
    "by": ["model"],
    "label": ["window", "tower"],
    "selection": ["percentile", "mass60", "mean", "matched"],
    "sort": ["iou@90", "area"],
    "number": [3, 7],
    "prototype": [3],
}
FEW = settings(
    max_examples=5,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
    derandomize=True,
)
CHECKS = (
    known_checks.not_a_server_error,
    known_checks.status_code_conformance,
    known_checks.content_type_conformance,
    known_checks.response_schema_conformance,
    known_checks.response_headers_conformance,
)


NAMES = {
    "detection": ["eager"],
    "prototypes": ["demo"],
    "export": ["leaderboard.csv", "study.yml", "manifest.json"],
}


@schemathesis.hook
def map_query(context: Any, query: Any) -> Any:
    """Put names that are stored in the place of most texts."""
    return _with_names(query, context.operation.path)


@schemathesis.hook
def map_path_parameters(context: Any, path_parameters: Any) -> Any:
    """Put names that are stored in the place of most texts."""
    return _with_names(path_parameters, context.operation.path)


def _with_names(words: Any, path: str) -> Any:
    """Replace values of known names by stored ones, by what they are: four times in five."""
    known = STORED | {"name": NAMES.get(path.split("/")[2], [])}
    found = dict(words or {})
    for name, value in found.items():
        number = zlib.crc32(repr(value).encode())
        if known.get(name) and number % 5:
            found[name] = known[name][number // 5 % len(known[name])]
    return found if words else words


@pytest.fixture(scope="session")
def asked(api: FastAPI) -> Any:
    """The schema, asked of the service in this process."""
    return schemathesis.openapi.from_asgi("/api/openapi.json", api, headers=HERE)


@pytest.mark.parametrize("fits", [True, False])
@pytest.mark.parametrize(("path", "method"), [route[:2] for route in ROUTES], ids=IDS)
def test_nothing_that_is_asked_breaks_the_service(
    asked: Any, path: str, method: str, fits: bool
) -> None:
    mode = GenerationMode.POSITIVE if fits else GenerationMode.NEGATIVE

    @FEW
    @given(case=asked[path][method].as_strategy(generation_mode=mode))
    def ask(case: Any) -> None:
        answer = case.call(headers=HERE, timeout=300)
        case.validate_response(answer, checks=CHECKS)

    ask()


def test_most_questions_have_an_answer() -> None:
    """What is put in the place of texts is stored."""
    found = [_with_names({"image_id": f"{i}", "limit": i}, "/api/images") for i in range(50)]
    assert sum(one["image_id"] in STORED["image_id"] for one in found) > 30
    assert [one["limit"] for one in found] == list(range(50))
