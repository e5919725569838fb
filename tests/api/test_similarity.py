"""Similarity to a region over HTTP: what the model says, on the raster of the study."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from sightline.api.binary import decode_map
from sightline.attribution.methods.similar import similarity

if TYPE_CHECKING:
    from fastapi.testclient import TestClient

    from sightline.api.state import Served


@pytest.fixture(scope="module")
def image(served: Served) -> str:
    return next(iter(served.images))


def test_it_is_what_the_model_says(client: TestClient, served: Served, image: str) -> None:
    asked: dict[str, Any] = {
        "box": [0.25, 0.25, 0.5, 0.5],
        "model": "demo/vit-dino@lora",
        "layer": 3,
    }
    answer = client.post(f"/api/similarity/{image}", json=asked)
    assert answer.status_code == 200, answer.text
    header, values, masks, _ = decode_map(answer.content)
    sample = served.sample(image)
    height, width = sample.image().shape[:2]
    box = np.multiply(asked["box"], (width, height, width, height))
    maps = similarity("demo/vit-dino@lora", sample, box, layer=3)
    expected = maps.geometries[0][0].to_image(maps.of(), 56, 56, how="bilinear")
    assert np.allclose(values, expected, atol=1e-6)
    assert (header.low, header.high) == (values.min(), values.max())
    choice = header.choice
    assert (choice.method, choice.layer, choice.sign) == ("similarity", 3, "signed")
    assert choice.chosen == ()
    assert list(masks) == list(header.regions)
    inside = values[14:28, 14:28].mean()
    assert inside > values.mean()


def test_a_region_of_the_annotation_can_be_asked_for(
    client: TestClient, served: Served, image: str
) -> None:
    sample = served.sample(image)
    for region in sample.annotation.scored[:2]:
        answer = client.post(f"/api/similarity/{image}", json={"region": region.index})
        header, values, *_ = decode_map(answer.content)
        assert header.choice.chosen == ("model", "layer")
        assert (header.choice.model, header.choice.layer) == ("demo/vit-dino", None)
        maps = similarity("demo/vit-dino", sample, region)
        expected = maps.geometries[0][0].to_image(maps.of(), 56, 56, how="bilinear")
        assert np.allclose(values, expected, atol=1e-6)
        stored = client.get(f"/api/maps/{image}/header").json()
        assert header.place.model_dump() == stored["place"]
        assert list(header.regions) == stored["regions"]


@pytest.mark.parametrize(
    ("asked", "status", "field"),
    [
        ({}, 422, "box"),
        ({"box": [0, 0, 1, 1], "region": 0}, 422, "box"),
        ({"box": [0.5, 0, 0.5, 1]}, 422, "box"),
        ({"box": [0, 0, 1.5, 1]}, 422, "box"),
        ({"region": 99}, 404, "region"),
        ({"box": [0, 0, 1, 1], "layer": -1}, 422, "layer"),
        ({"box": [0, 0, 1, 1], "model": "demo/vot"}, 422, "model"),
        ({"box": [0, 0, 1, 1], "layer": 99}, 422, "layer"),
        ({"box": [0, 0, 1, 1], "colour": "red"}, 422, "colour"),
    ],
)
def test_what_does_not_fit_is_named(
    client: TestClient, image: str, asked: dict[str, Any], status: int, field: str
) -> None:
    answer = client.post(f"/api/similarity/{image}", json=asked)
    assert (answer.status_code, answer.json()["field"]) == (status, field), answer.text


def test_a_body_that_is_no_text_is_named(client: TestClient, image: str) -> None:
    sent = {"content": b"\xff\xfe{", "headers": {"Content-Type": "application/json"}}
    answer = client.post(f"/api/similarity/{image}", **sent)  # type: ignore[arg-type]
    assert (answer.status_code, answer.json()["field"]) == (422, "body")


def test_an_unknown_image_is_not_there(client: TestClient) -> None:
    answer = client.post("/api/similarity/nothing.png", json={"region": 0})
    assert (answer.status_code, answer.json()["field"]) == (404, "image_id")
