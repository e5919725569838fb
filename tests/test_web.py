"""The app's sources: the client is current, addresses agree, nothing is fetched from elsewhere."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.scripts import load_script

WEB = Path(__file__).parents[1] / "web"


def load(name: str, folder: Path = WEB) -> Any:
    """Return a script as a module."""
    return load_script(folder / f"{name}.py")


@pytest.fixture(scope="module")
def maker() -> Any:
    return load("make_client")


@pytest.fixture(scope="module")
def schema(maker: Any) -> Any:
    pytest.importorskip("fastapi")
    return maker.schema()


def test_the_client_is_current(maker: Any, schema: Any) -> None:
    said = "run: python web/make_client.py"
    assert (WEB / "src/api/client.ts").read_text("utf-8") == maker.client(schema), said


def test_every_route_has_its_function(schema: Any) -> None:
    text = (WEB / "src/api/client.ts").read_text("utf-8")
    routes = sum(len(verbs) for verbs in schema["paths"].values())
    assert len(re.findall(r"^export function ", text, re.MULTILINE)) == routes


@pytest.mark.parametrize(
    ("node", "text"),
    [
        ({"type": "integer"}, "number"),
        ({"anyOf": [{"type": "number"}, {"type": "null"}]}, "number | null"),
        ({"type": "array", "items": {"anyOf": [{"type": "number"}, {"type": "null"}]}},
         "(number | null)[]"),
        ({"type": "array", "prefixItems": [{"type": "number"}, {"type": "string"}]},
         "[number, string]"),
        ({"enum": ["share", "include"], "type": "string"}, '"share" | "include"'),
        ({"const": "ok"}, '"ok"'),
        ({"type": "object", "additionalProperties": {"$ref": "#/components/schemas/Table"}},
         "Record<string, Table>"),
        ({}, "unknown"),
    ],
)  # fmt: skip
def test_types_of_the_schema(maker: Any, node: dict[str, Any], text: str) -> None:
    assert maker.type_of(node) == text


def test_two_handlers_of_one_name_are_refused(maker: Any) -> None:
    answer: dict[str, Any] = {"200": {"content": {"application/json": {"schema": {}}}}}
    routes = {path: {"get": {"operationId": "same", "responses": answer}} for path in ("/a", "/b")}
    with pytest.raises(SystemExit, match="same"):
        maker.client({"components": {"schemas": {}}, "paths": routes})


def test_names_that_fastapi_made_lose_their_tail(maker: Any) -> None:
    operation = {"operationId": "image_layers_api_metrics__image_id__layers_get"}
    name = maker.operation_name(operation, "/api/metrics/{image_id}/layers", "get")
    assert name == "imageLayers"


def test_the_lock_file_names_no_other_registry() -> None:
    packages = json.loads((WEB / "package-lock.json").read_text("utf-8"))["packages"]
    places = {
        package.get("resolved", "https://registry.npmjs.org/") for package in packages.values()
    }
    assert all(place.startswith("https://registry.npmjs.org/") for place in places)
    assert all("integrity" in one for name, one in packages.items() if name)


def test_the_page_holds_no_script_or_style_that_the_content_policy_forbids() -> None:
    page = (WEB / "index.html").read_text("utf-8")
    assert re.findall(r"<script(?![^>]*src=)", page) == []
    assert "<style" not in page
    assert re.findall(r"https?://", page) == []


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The hook of the wheel, without the package that builds wheels."""
    name = "hatchling.builders.hooks.plugin.interface"
    parent = type("BuildHookInterface", (), {})
    for part in [name.rsplit(".", depth)[0] for depth in range(name.count(".") + 1)]:
        monkeypatch.setitem(sys.modules, part, ModuleType(part))
    monkeypatch.setattr(sys.modules[name], "BuildHookInterface", parent, raising=False)
    return load("hatch_build", WEB.parent)


def test_a_wheel_without_node_says_what_is_missing(
    hook: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RuntimeError, match=r"Node 20\.19 or newer"):
        hook.build_app(tmp_path)


def test_a_build_that_fails_is_told_with_its_words(
    hook: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    npm = tmp_path / "npm"
    npm.write_text("#!/bin/sh\necho no such thing\nexit 3\n")
    npm.chmod(0o755)
    (tmp_path / "web").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    with pytest.raises(RuntimeError, match="no such thing"):
        hook.build_app(tmp_path)


def test_a_lock_file_that_lacks_native_parts_of_this_machine_is_no_hindrance(
    hook: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    npm, said = tmp_path / "npm", tmp_path / "said"
    npm.write_text(f'#!/bin/sh\necho "$1 $2" >> {said}\ntest "$1" != ci\n')
    npm.chmod(0o755)
    (tmp_path / "web").mkdir()
    page = tmp_path / hook.APP / "index.html"
    page.parent.mkdir(parents=True)
    page.touch()
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    hook.build_app(tmp_path)
    assert said.read_text().splitlines() == [
        "ci --no-audit",
        "install --no-save",
        "run build",
    ]


def test_an_editable_install_builds_nothing(hook: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hook, "build_app", lambda root: pytest.fail("built"))
    hook.AppHook().initialize("editable", {"artifacts": []})
