"""Stores that lack something: maps, signs that have an energy, the pictures themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from PIL import Image

from sightline.api import create_app
from tests.api.asking import get, refused
from tests.results.statistics import stores

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

GONE, CHANGED, THERE, UNMAPPED = "000.png", "002.png", "003.png", "008.png"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pictures, and maps of all but one of them that were made elsewhere."""
    found = tmp_path_factory.mktemp("odd")
    stores.write_odd(found / "pictures")
    stores.write_maps(found / "signed", range(8))
    stores.write_maps(found / "plain", range(8), 1)
    return found


def client_of(folder: Path, name: str, **keys: Any) -> TestClient:
    data = {"name": "folder", "path": str(folder / "pictures")}
    given = {"metrics": ["iou", "pointing"], "layers": "all"}
    store = stores.run(folder, name, data=data, **{**given, **keys})
    return TestClient(create_app(store), base_url="http://127.0.0.1")


@pytest.fixture(scope="module")
def mixed(folder: Path) -> Iterator[TestClient]:
    """Signed maps beside others, both made elsewhere."""
    methods = [
        {"name": name, "params": {"maps": str(folder / name), "sign": sign}}
        for name, sign in (("signed", "signed"), ("plain", "absolute"))
    ]
    with client_of(folder, "mixed", models=[], methods=methods) as found:
        yield found


@pytest.fixture(scope="module")
def mapless(folder: Path) -> Iterator[TestClient]:
    """A study that kept no maps."""
    with client_of(folder, "mapless", methods=["cls"], layers=[-1], keep_maps="none") as found:
        yield found


@pytest.mark.parametrize("part", ["", "/models", "/layers", "/percentiles", "/bbox/0"])
def test_maps_that_were_not_kept_are_no_fault_of_the_request(
    mapless: TestClient, part: str
) -> None:
    problem = refused(mapless, f"metrics/{THERE}{part}", 409)
    assert "keep_maps" in problem["detail"]
    assert problem["field"] is None


@pytest.mark.parametrize("words", [{"selection": "mass60"}, {"selection": "mean"},
                                   {"metric": "iou@mass60"}, {"metric": "coverage"}])  # fmt: skip
def test_what_signed_maps_have_not_is_undefined_beside_others(
    mixed: TestClient, words: dict[str, str]
) -> None:
    found = get(mixed, f"metrics/{THERE}/models", method="plain", **words)
    assert found["lines"][0]["value"] is not None
    lines = get(mixed, f"metrics/{THERE}/models", model="", **words)["lines"]
    by_method = {line["choice"]["method"]: line for line in lines}
    assert by_method["plain"]["value"] == found["lines"][0]["value"]
    assert by_method["signed"]["value"] is None
    assert by_method["signed"]["rank"] is None


def test_an_image_without_a_map_says_so(mixed: TestClient) -> None:
    assert "none was given" in refused(mixed, f"metrics/{UNMAPPED}", 404)["detail"]
    assert refused(mixed, f"metrics/{UNMAPPED}/models", 404)["field"] == "image_id"


def test_pictures_that_are_gone_or_changed_are_no_fault_of_the_request(folder: Path) -> None:
    with client_of(folder, "picture", methods=["cls"], layers=[-1], fit="crop") as client:
        (folder / "pictures" / GONE).unlink()
        other = np.zeros((40, 60, 3), np.uint8)
        Image.fromarray(other).save(folder / "pictures" / CHANGED)
        for image, what in ((GONE, "gone"), (CHANGED, "changed")):
            assert what in refused(client, f"maps/{image}/overlay.png", 409)["detail"]
            answer = client.post(f"/api/similarity/{image}", json={"region": 0})
            assert (answer.status_code, answer.json()["field"]) == (409, None), answer.text
            get(client, f"metrics/{image}")  # needs no picture
        assert client.get(f"/api/maps/{THERE}/overlay.png").status_code == 200
        for asked, field in (  # of a picture that is there, the request is to blame
            ({"box": [0, 0, 0.01, 1], "layer": 0}, "box"),
            ({"box": [0.4, 0.4, 0.6, 0.6], "layer": 99}, "layer"),
        ):
            answer = client.post(f"/api/similarity/{THERE}", json=asked)
            assert (answer.status_code, answer.json()["field"]) == (422, field), answer.text
