"""Maps over HTTP: the numbers that were scored, the masks they met, and pictures of them."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PIL import Image

from sightline.api.binary import decode_map, encode_map
from sightline.api.colours import PALETTES, palette
from sightline.api.pictures import coloured, outlined
from sightline.metrics import score_maps
from sightline.results import open_results, open_scenes
from tests.api.asking import rows_of

if TYPE_CHECKING:
    from pathlib import Path

    from fastapi.testclient import TestClient

    from sightline.api.state import Served

ONE: dict[str, Any] = {"model": "demo/vit-dino@lora", "method": "cls", "layer": 2}


@pytest.fixture(scope="module")
def image(served: Served) -> str:
    """An image with several regions."""
    return max(served.images.values(), key=lambda one: one.regions).image


def picture(content: bytes) -> np.ndarray[Any, np.dtype[np.uint8]]:
    return np.asarray(Image.open(BytesIO(content)))


def test_the_binary_is_laid_out_as_it_is_documented(client: TestClient, image: str) -> None:
    answer = client.get(f"/api/maps/{image}", params=ONE)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/octet-stream"
    content = answer.content
    assert content[:4] == b"SLM1"
    length = int.from_bytes(content[4:8], "little")
    assert length % 4 == 0
    header = client.get(f"/api/maps/{image}/header", params=ONE).json()
    assert content[8 : 8 + length].decode().rstrip(" ").startswith('{"image":')
    pixels = header["rows"] * header["columns"]
    masks = len(header["regions"]) + header["ignore"]
    assert len(content) == 8 + length + 4 * pixels + masks * -(-pixels // 8)
    again, values, regions, ignore = decode_map(content)
    assert again.model_dump(mode="json") == header
    assert encode_map(again, values, regions.values(), ignore) == content
    with pytest.raises(ValueError, match="must begin with"):
        decode_map(b"PNG!" + content[4:])


def test_values_and_masks_are_those_that_were_scored(
    client: TestClient, api_store: Path, image: str
) -> None:
    """Whatever the layer, head or seed, they give the stored scores of union and regions."""
    choices: list[dict[str, Any]] = [
        ONE,
        ONE | {"head": 1},
        {"model": "demo/cnn", "method": "gradcam", "layer": 0},
        {"model": "demo/cnn", "method": "saliency"},
        {"model": "demo/cnn", "method": "random", "seed": 1},
    ]
    with open_results(api_store) as results:
        rows = results.image(image)
    for words in choices:
        header, values, masks, ignore = decode_map(
            client.get(f"/api/maps/{image}", params=words).content
        )
        own = rows_of(rows, words)
        mask = np.logical_or.reduce(list(masks.values()))
        for region, inside in ((None, mask), *masks.items()):
            scores = score_maps(
                values, inside, ignore=ignore, sign=header.choice.sign, percentiles=[90]
            )
            lines = own[own["region"].isna() if region is None else own["region"] == region]
            stored = dict(zip(lines["name"], lines["value"], strict=True))
            for name in ("iou@90", "coverage", "pointing"):
                assert np.array_equal(float(scores[name]), stored[name], equal_nan=True), words
        assert header.choice.head == words.get("head")
        assert header.choice.seed == words.get("seed")
        assert (header.rows, header.columns) == (56, 56)


def test_a_header_tells_ranges_and_places(client: TestClient, image: str, served: Served) -> None:
    header, values, masks, ignore = decode_map(client.get(f"/api/maps/{image}", params=ONE).content)
    assert (header.low, header.high) == (values.min(), values.max())
    assert header.dataset_low is not None
    assert header.dataset_high is not None
    assert header.dataset_low <= header.low < header.high <= header.dataset_high
    assert header.place.model_dump() == {"x0": 0.0, "y0": 0.0, "x1": 1.0, "y1": 1.0}
    assert header.cells == (14, 14)
    assert (header.scale, header.kept, ignore) == (1.0, 56 * 56, None)
    known = [one.region for one in served.regions[image] if not one.dropped]
    assert list(header.regions) == known
    assert all(mask.any() for mask in masks.values())


def test_absolute_maps_keep_their_signs(client: TestClient, image: str) -> None:
    words = {"model": "demo/cnn", "method": "saliency"}
    header, values, *_ = decode_map(client.get(f"/api/maps/{image}", params=words).content)
    assert header.choice.sign == "absolute"
    assert (header.low, header.high) == (np.abs(values).min(), np.abs(values).max())


def test_a_choice_is_made_and_said_where_nothing_is_asked(client: TestClient, image: str) -> None:
    choice = client.get(f"/api/maps/{image}/header").json()["choice"]
    assert {"model", "method", "layer"} <= set(choice["chosen"])
    assert "chosen by iou@90" in choice["why"]


@pytest.mark.parametrize(
    ("path", "words", "status", "field"),
    [
        ("nothing.png", {}, 404, "image_id"),
        ("..%2Fstudy.yml", {}, 404, None),
        ("{image}", {"layer": 1}, 422, "layer"),
        ("{image}", {"head": 77}, 422, "head"),
        ("{image}", {"model": "demo/vot"}, 422, "model"),
        ("{image}", {"percentile": 100}, 422, "percentile"),
        ("{image}", {"opacity": 0.5}, 422, "opacity"),
        ("{image}/overlay.png", {"opacity": 1.5}, 422, "opacity"),
        ("{image}/heatmap.png", {"colour": "jet"}, 422, "colour"),
        ("{image}/heatmap.png", {"size": 100000}, 422, "size"),
    ],
)
def test_what_does_not_fit_is_named(
    client: TestClient, image: str, path: str, words: dict[str, Any], status: int, field: str | None
) -> None:
    answer = client.get(f"/api/maps/{path.format(image=image)}", params=words)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["field"] == field


# --- pictures ------------------------------------------------------------------------------------


def test_a_heatmap_has_the_colours_of_the_map(client: TestClient, image: str) -> None:
    words = {**ONE, "size": 224, "smooth": False}
    found = picture(client.get(f"/api/maps/{image}/heatmap.png", params=words).content)
    assert found.shape == (224, 224, 4)
    cells = found[8::16, 8::16]
    assert np.array_equal(np.repeat(np.repeat(cells, 16, 0), 16, 1), found)
    steps = steps_of(cells)
    smooth = picture(client.get(f"/api/maps/{image}/heatmap.png", params=ONE).content)
    assert smooth.shape == (512, 512, 4)
    assert len(np.unique(smooth.reshape(-1, 4), axis=0)) > len(np.unique(steps))
    header, values, *_ = decode_map(client.get(f"/api/maps/{image}", params=ONE).content)
    share = (values[2::4, 2::4] - header.low) / (header.high - header.low)  # beside the centres
    assert np.corrcoef(share.ravel(), steps.ravel())[0, 1] > 0.95
    assert (steps.min(), steps.max()) == (0, 255)
    fixed = picture(
        client.get(f"/api/maps/{image}/heatmap.png", params={**words, "fixed": True}).content
    )
    assert steps_of(fixed[8::16, 8::16]).max() < 255


def steps_of(colours: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return which of inferno's colours these are."""
    table = {tuple(colour): step for step, colour in enumerate(palette("inferno").tolist())}
    return np.array([[table[tuple(cell[:3])] for cell in row] for row in colours.tolist()])


def test_an_overlay_lies_between_image_and_map(client: TestClient, image: str) -> None:
    def asked(**words: Any) -> np.ndarray[Any, Any]:
        path = f"/api/maps/{image}/overlay.png"
        return picture(client.get(path, params=ONE | {"size": 128} | words).content).astype(int)

    bare, half, whole = (asked(opacity=one, outline=False) for one in (0, 0.5, 1))
    heat = picture(
        client.get(f"/api/maps/{image}/heatmap.png", params=ONE | {"size": 128}).content
    ).astype(int)
    assert np.array_equal(whole, heat[..., :3])
    assert np.abs(half - (bare + whole) / 2).max() <= 1
    drawn = asked(opacity=0, outline=True)
    changed = (drawn != bare).any(axis=2)
    assert 0 < changed.mean() < 0.5
    assert set(np.unique(drawn[changed])) <= {0, 255}
    other = asked(opacity=1, outline=False, colour="greys")
    assert np.array_equal(other[..., 0], other[..., 1])


def test_signed_maps_are_white_at_zero() -> None:
    values = np.array([[-2.0, 0.0, 1.0, np.nan]])
    found = coloured(values, (-2.0, 1.0), "signed")[0]
    assert found[1, :3].min() >= 245  # the middle of 256 colours is next to white
    assert found[0, 2] > found[0, 0]  # blue
    assert found[2, 0] > found[2, 2]  # red
    assert found[3].tolist() == [0, 0, 0, 0]
    constant = coloured(np.full((1, 1), 3.0), (3.0, 3.0), "positive")
    assert constant[0, 0, :3].tolist() == palette("inferno")[0].tolist()


def test_edges_are_seen_at_the_border_of_a_picture() -> None:
    grey = np.full((9, 9, 3), 100, np.uint8)
    whole = outlined(grey, [np.ones((9, 9), np.bool_)])
    assert (whole[0] == 255).all()
    assert (whole[1, 1:-1] == 0).all()
    assert (whole[4, 4] == 100).all()
    assert np.array_equal(outlined(grey, []), grey)


def test_colours_are_those_of_matplotlib() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    theirs = {"inferno": "inferno", "viridis": "viridis", "greys": "gray", "rdbu": "RdBu_r"}
    assert set(theirs) == set(PALETTES)
    for ours, name in theirs.items():
        table = (matplotlib.colormaps[name](np.arange(256))[:, :3] * 255).round()
        assert np.array_equal(palette(ours), table)


def test_the_maps_of_an_earlier_reader_are_the_same(
    client: TestClient, api_store: Path, image: str
) -> None:
    """Against the reader that statistics use."""
    from sightline.results._lines import find_line

    with open_results(api_store) as results:
        scenes = open_scenes(results)
        where = results._where("demo/vit-dino@lora", "cls", 2, None)
        line = find_line(results._tables, results._tables.name(None), where, 2)
        (expected,) = scenes.maps(line, images=[image]).maps
    _, values, *_ = decode_map(client.get(f"/api/maps/{image}", params=ONE).content)
    assert np.array_equal(values, expected)
