"""Files of maps: what they hold, and what `sightline score` makes of them."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from safetensors import safe_open

from sightline.attribution.methods import Maps, files
from sightline.attribution.methods.files import covers_image, write_maps
from sightline.core import InputError
from sightline.core.geometry import Geometry, fit_geometry
from sightline.data import open_maps

if TYPE_CHECKING:
    from pathlib import Path

FITS = ("squash", "crop", "letterbox", "native")


def way(fit: str, width: int = 40, height: int = 20) -> Geometry:
    return fit_geometry(fit, width, height, size=32, patch=8)


def made(
    geometries: list[Geometry],
    *,
    layers: tuple[int | None, ...] = (11,),
    heads: tuple[int | None, ...] = (None,),
    method: str = "cls",
) -> Maps:
    rng = np.random.default_rng(3)
    values = tuple(
        tuple(rng.normal(size=(len(heads), *g.grid[::-1])).astype(np.float32) for _ in layers)
        for g in geometries
    )
    ways = tuple((geometry,) * len(layers) for geometry in geometries)
    targets = tuple(f"class {i}" for i in range(len(geometries)))
    params = {"steps": 8, "batch": 2}
    return Maps(values, ways, layers, heads, "demo/vit", method, "absolute", targets, params)


def read(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return maps and metadata, as another program would read them."""
    with safe_open(path, "numpy") as content:
        arrays = {key: content.get_tensor(key) for key in content.keys()}  # noqa: SIM118
        return arrays, json.loads(content.metadata()["sightline"])


@pytest.mark.parametrize("ending", [".safetensors", ".npz"])
def test_one_map_per_image_is_named_by_its_image(tmp_path: Path, ending: str) -> None:
    maps, path = made([way("squash"), way("squash", 7, 9)]), tmp_path / f"maps{ending}"
    written = write_maps(maps, ["a b/file.png", "file"], path)
    assert written.by_image
    assert written.keys == ("a_b__file.png", "file")
    with open_maps(path) as found:
        assert sorted(found) == sorted(written.keys)
        for number, key in enumerate(written.keys):
            assert found[key].dtype == np.float32
            np.testing.assert_array_equal(found[key], maps.of(number))
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]
    (tmp_path / "other").touch()
    assert path.stat().st_mode == (tmp_path / "other").stat().st_mode


def test_metadata_says_how_maps_were_made(tmp_path: Path) -> None:
    geometries = [way("crop"), way("letterbox")]
    maps = made(geometries, layers=(2, 11), heads=(0, 3), method="integrated_gradients")
    write_maps(maps, ["a.png", "b.png"], tmp_path / "m.safetensors")
    arrays, about = read(tmp_path / "m.safetensors")
    assert (about["model"], about["upsampling"]) == ("demo/vit", "")
    assert sorted(about["maps"]) == sorted(arrays)
    assert len(arrays) == 8
    for number, image in enumerate(("a.png", "b.png")):
        for layer in (2, 11):
            for head in (0, 3):
                key = f"{image}__integrated_gradients__layer{layer}__head{head}"
                entry = about["maps"][key]
                assert Geometry.from_dict(entry.pop("geometry")) == geometries[number]
                assert entry == {
                    "image": image,
                    "method": "integrated_gradients",
                    "layer": layer,
                    "head": head,
                    "sign": "absolute",
                    "target": f"class {number}",
                    "params": {"steps": 8, "batch": 2},
                }
                np.testing.assert_array_equal(arrays[key], maps.of(number, layer, head))


def test_methods_share_a_file(tmp_path: Path) -> None:
    first, second = made([way("squash")]), made([way("squash")], layers=(None,), method="edge")
    written = write_maps([first, second], ["a.png"], tmp_path / "m.npz")
    assert written.keys == ("a.png__cls__layer11", "a.png__edge")
    assert not written.by_image


@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize("resolution", ["grid", "pixels", 10])
def test_only_maps_of_the_whole_image_can_be_scored(
    tmp_path: Path, fit: str, resolution: str | int
) -> None:
    """A crop lacks parts of the image; a letterbox has more than the image on its grid."""
    maps = made([way(fit)])
    written = write_maps(maps, ["a"], tmp_path / "m.safetensors", resolution=resolution)
    whole = {"squash", "native"} if resolution == "grid" else {"squash", "native", "letterbox"}
    assert written.by_image == (fit in whole)
    arrays, about = read(tmp_path / "m.safetensors")
    (found,) = arrays.values()
    (entry,) = about["maps"].values()
    assert Geometry.from_dict(entry["geometry"]) == way(fit)
    assert about["upsampling"] == ("" if resolution == "grid" else "bilinear")
    if resolution == "grid":
        np.testing.assert_array_equal(found, maps.of())
    else:
        height, width = (20, 40) if resolution == "pixels" else (5, 10)
        expected = maps.geometries[0][0].to_image(maps.of(), height, width, how="bilinear")
        np.testing.assert_array_equal(found, expected.astype(np.float32))
        assert np.isnan(found).any() == (fit == "crop")


def test_an_image_of_the_shape_of_the_crop_is_covered() -> None:
    assert covers_image(way("crop", 50, 50))
    assert not covers_image(way("crop", 60, 50))
    assert not covers_image(way("letterbox", 60, 50))
    assert covers_image(way("letterbox", 60, 50), on_grid=False)
    assert covers_image(way("squash", 333, 77))


@pytest.mark.parametrize(
    ("names", "options", "message"),
    [
        (["a/x.png", "a__x.png"], {}, "both are named 'a__x.png'"),
        (["x.png"], {}, "names must be one for each of 2 images, got 1"),
        (["x.png", "y.png"], {"resolution": 0}, "resolution must be"),
        (["x.png", "y.png"], {"resolution": "half"}, "resolution must be"),
        (["x.png", "y.png"], {"path": "m.pt"}, "must end in .safetensors, .npz"),
        (["x.png", "y.png"], {"path": "none/m.npz"}, "folder .* does not exist"),
    ],
)
def test_what_cannot_be_written_is_named(
    tmp_path: Path, names: list[str], options: dict[str, Any], message: str
) -> None:
    path = tmp_path / options.pop("path", "m.npz")
    with pytest.raises(InputError, match=message):
        write_maps(made([way("squash")] * 2), names, path, **options)
    assert not list(tmp_path.iterdir())


def test_maps_that_cannot_share_a_file_are_named(tmp_path: Path) -> None:
    maps, path = made([way("squash")]), tmp_path / "m.npz"
    other = replace(maps, targets=("dome",))
    with pytest.raises(InputError, match="both are of cls and a, with the targets 'class 0'"):
        write_maps([maps, other], ["a"], path)
    with pytest.raises(InputError, match=r"those of cls are on pixels \(bilinear\)"):
        write_maps(maps.to_image(), ["a"], path)
    with pytest.raises(InputError, match="maps must be those of one method or more, got none"):
        write_maps([], [], path)
    assert not list(tmp_path.iterdir())


def test_more_than_fits_into_memory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_MOST_BYTES", 1 << 10)
    with pytest.raises(InputError, match="at a lower resolution"):
        write_maps(made([way("squash")]), ["a"], tmp_path / "m.npz", resolution="pixels")
    write_maps(made([way("squash")]), ["a"], tmp_path / "m.npz")


@pytest.mark.parametrize("ending", [".safetensors", ".npz"])
def test_a_file_is_whole_or_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    path = tmp_path / f"m{ending}"
    path.write_text("before")

    def fail(*_: Any, **__: Any) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("safetensors.numpy.save", fail)
    monkeypatch.setattr(zipfile.ZipFile, "open", fail)
    with pytest.raises(OSError, match="disk full"):
        write_maps(made([way("squash")]), ["a"], path)
    assert path.read_text() == "before"
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("ending", [".safetensors", ".npz"])
def test_files_are_the_same_each_time(tmp_path: Path, ending: str) -> None:
    one, two = tmp_path / f"one{ending}", tmp_path / f"two{ending}"
    for path in (one, two):
        write_maps(made([way("squash")]), ["a"], path)
    assert one.read_bytes() == two.read_bytes()
