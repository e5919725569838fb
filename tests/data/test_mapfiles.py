from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile

import numpy as np
import pytest
from safetensors import SafetensorError
from safetensors.numpy import save_file

from sightline.core import InputError
from sightline.core.geometry import fit_geometry
from sightline.data import match_images, open_maps

if TYPE_CHECKING:
    from pathlib import Path

MAP = np.arange(12, dtype=np.float32).reshape(3, 4)


def test_folder_with_every_kind_of_file(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    np.save(tmp_path / "a.jpg.npy", MAP)
    np.save(tmp_path / "sub" / "b.npy", MAP[None, None].astype(np.float16))
    np.savez_compressed(tmp_path / "c.npz", anything=MAP + 1)
    save_file({"map": MAP + 2}, tmp_path / "d.safetensors")
    (tmp_path / "notes.txt").write_text("no map")
    maps = open_maps(tmp_path)
    assert list(maps) == ["a.jpg", "c", "d", "sub__b"]
    np.testing.assert_array_equal(maps["a.jpg"], MAP)
    np.testing.assert_array_equal(maps["c"], MAP + 1)
    np.testing.assert_array_equal(maps["d"], MAP + 2)
    np.testing.assert_array_equal(maps["sub__b"], MAP)
    assert maps["sub__b"].dtype == np.float16
    with pytest.raises(KeyError):
        maps["b"]


def test_one_archive(tmp_path: Path) -> None:
    arrays: dict[str, Any] = {"a.jpg": MAP, "sub/b.jpg": MAP[None]}
    np.savez(tmp_path / "maps.npz", **arrays)
    save_file(arrays, tmp_path / "maps.safetensors")
    for name in ("maps.npz", "maps.safetensors"):
        with open_maps(tmp_path / name) as maps:
            assert sorted(maps) == ["a.jpg", "sub__b.jpg"]
            assert len(maps) == 2
            for _ in range(2):
                np.testing.assert_array_equal(maps["sub__b.jpg"], MAP)


def test_files_are_read_when_asked_for(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", MAP)
    maps = open_maps(tmp_path)
    np.save(tmp_path / "a.npy", MAP * 2)
    np.testing.assert_array_equal(maps["a"], MAP * 2)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros(3), "height x width, got 3"),
        (np.zeros(()), "got a single number"),
        (np.zeros((2, 3, 4)), "got 2 x 3 x 4"),
        (np.zeros((3, 4, 1)), "got 3 x 4 x 1"),
        (np.zeros((0, 4)), "got 0 x 4"),
        (np.zeros((3, 4), complex), "real numbers, got complex128"),
        (np.full((3, 4), "x"), "real numbers, got <U1"),
    ],
)
def test_arrays_that_are_no_maps(tmp_path: Path, array: Any, message: str) -> None:
    np.save(tmp_path / "a.npy", array)
    np.savez(tmp_path / "all.npz", b=array)
    maps = open_maps(tmp_path)
    with pytest.raises(InputError, match=f"a.npy: map must.*{message}"):
        maps["a"]
    with (
        open_maps(tmp_path / "all.npz") as archive,
        pytest.raises(InputError, match=rf"all.npz \[b\]: map must.*{message}"),
    ):
        archive["b"]


def test_nothing_is_unpickled(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([[{}]], object), allow_pickle=True)
    np.savez(tmp_path / "b.npz", allow_pickle=True, x=np.array([[{}]], object))
    maps = open_maps(tmp_path)
    for name, file in (("a", "a.npy"), ("b", "b.npz")):
        with pytest.raises(InputError, match=rf"{file}: is not a .npy array of numbers") as caught:
            maps[name]
        assert "allow_pickle" not in str(caught.value)


@pytest.mark.parametrize("name", ["a.npy", "a.npz", "a.safetensors"])
@pytest.mark.parametrize("content", [b"", b"junk" * 20])
def test_broken_files(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    maps = open_maps(tmp_path)
    with pytest.raises(InputError, match=name) as caught:
        maps["a"]
    assert "allow_pickle" not in str(caught.value)
    if name != "a.npy":
        with pytest.raises(InputError, match=name):
            open_maps(tmp_path / name)


@pytest.mark.parametrize(
    "error",
    [
        OSError(12, "Cannot allocate memory"),
        RuntimeError("std::bad_alloc"),
        SafetensorError("I/O error: Cannot allocate memory (os error 12)"),
    ],
)
def test_a_lack_of_memory_is_no_fault_of_the_map(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    np.save(tmp_path / "a.npy", np.ones((2, 3)))
    maps = open_maps(tmp_path)

    def fail(*_: Any) -> None:
        raise error

    monkeypatch.setattr("sightline.data.mapfiles._numbers", fail)
    with pytest.raises(type(error)) as caught:
        _ = maps["a"]
    assert not isinstance(caught.value, InputError)


@pytest.mark.parametrize("kept", [20, 300])
def test_arrays_that_are_cut_off(tmp_path: Path, kept: int) -> None:
    np.save(tmp_path / "a.npy", np.ones((30, 40)))
    content = (tmp_path / "a.npy").read_bytes()
    (tmp_path / "a.npy").write_bytes(content[:kept])
    with pytest.raises(InputError, match=r"a\.npy: is not a \.npy array of numbers, or is damaged"):
        open_maps(tmp_path)["a"]


def test_archive_with_something_else_than_arrays(tmp_path: Path) -> None:
    with ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("notes.txt", "no map")
    with pytest.raises(InputError, match=r"a\.npz: is not a \.npy array of numbers"):
        open_maps(tmp_path)["a"]


def test_file_types_that_numpy_lacks(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from safetensors.torch import save_file as save_tensors

    save_tensors({"x": torch.zeros(2, 2, dtype=torch.bfloat16)}, tmp_path / "a.safetensors")
    with pytest.raises(InputError, match=r"a\.safetensors: .*bfloat16"):
        open_maps(tmp_path)["a"]


def test_file_in_a_folder_holds_one_map(tmp_path: Path) -> None:
    np.savez(tmp_path / "many.npz", a=MAP, b=MAP)
    with pytest.raises(InputError, match=r"many\.npz: .* one map, this one holds 2"):
        open_maps(tmp_path)["many"]


def test_names_must_be_unique(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", MAP)
    np.savez(tmp_path / "a.npz", x=MAP)
    with pytest.raises(InputError, match="two maps are named 'a'"):
        open_maps(tmp_path)


def test_places_without_maps(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no maps"):
        open_maps(tmp_path)
    np.savez(tmp_path / "none.npz")
    with pytest.raises(InputError, match=r"none\.npz: holds no maps"):
        open_maps(tmp_path / "none.npz")
    for bad in ("gone", "gone.npz", "a.png"):
        with pytest.raises(
            InputError, match=f"{bad}: must be a folder of maps.*; there is no such"
        ):
            open_maps(tmp_path / bad)
    (tmp_path / "a.png").touch()
    with pytest.raises(InputError, match=r"a\.png: must be a folder of maps.*safetensors file$"):
        open_maps(tmp_path / "a.png")


def test_links_must_stay_inside(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    np.save(inside / "a.npy", MAP)
    np.save(outside / "b.npy", MAP)
    (inside / "again.npy").symlink_to(inside / "a.npy")
    assert list(open_maps(inside)) == ["a", "again"]
    (inside / "b.npy").symlink_to(outside / "b.npy")
    with pytest.raises(InputError, match=r"b\.npy: is a link that leaves"):
        open_maps(inside)
    (inside / "b.npy").unlink()
    (inside / "more").symlink_to(outside, target_is_directory=True)
    with pytest.raises(InputError, match="more: is a link that leaves"):
        open_maps(inside)


def test_matching() -> None:
    found = match_images(
        ["b.jpg", "a", "sub__c", "left"], ["a.jpg", "b.jpg", "sub__c.png", "d", "e.jpg"]
    )
    assert found.pairs == [("a.jpg", "a"), ("b.jpg", "b.jpg"), ("sub__c.png", "sub__c")]
    assert found.images_without_map == ["d", "e.jpg"]
    assert found.maps_without_annotation == ["left"]


def test_matching_takes_off_one_ending_only() -> None:
    assert match_images(["a"], ["a.b.jpg"]).pairs == []
    assert match_images(["a.b"], ["a.b.jpg"]).pairs == [("a.b.jpg", "a.b")]
    assert match_images(["a"], ["a"]).pairs == [("a", "a")]


@pytest.mark.parametrize(
    ("maps", "images", "message"),
    [
        (["a", "a.jpg"], ["a.jpg"], r"two maps fit image 'a\.jpg': 'a\.jpg' and 'a'"),
        (["a"], ["a.jpg", "a.png"], r"map 'a' fits two images: 'a\.jpg' and 'a\.png'"),
        (["a"], ["a", "a.png"], r"map 'a' fits two images"),
    ],
)
def test_ambiguous_names_raise(maps: list[str], images: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        match_images(maps, images)


# --- what a file says about its maps -------------------------------------------------------------


def about(*signs: Any, **more: Any) -> str:
    way = fit_geometry("squash", 40, 30, size=32, patch=8).to_dict()
    entry = {"image": "a", "method": "cls", "layer": 1, "head": None, "geometry": way}
    maps = {
        f"a{i or ''}": {**entry, "image": f"a{i or ''}", "sign": s} for i, s in enumerate(signs)
    }
    return json.dumps({"model": "m", "upsampling": "", "maps": maps, **more})


@pytest.mark.parametrize(
    ("text", "signs", "sign"),
    [
        (about("absolute"), ("absolute",), "absolute"),
        (about("signed", "signed"), ("signed",), "signed"),
        (about("signed", "positive"), ("signed", "positive"), None),
        (None, (), None),
    ],
)
def test_signs_come_from_the_metadata(
    tmp_path: Path, text: str | None, signs: tuple[str, ...], sign: str | None
) -> None:
    other = {"format": "np"} if text is None else {"sightline": text}
    save_file({"a": MAP, "a1": MAP}, tmp_path / "m.safetensors", other)
    with open_maps(tmp_path / "m.safetensors") as maps:
        assert (maps.signs, maps.sign, maps.unfit) == (signs, sign, "")
    np.savez(tmp_path / "m.npz", a=MAP)
    with open_maps(tmp_path / "m.npz") as maps:
        assert (maps.signs, maps.sign, maps.unfit) == ((), None, "")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "metadata 'sightline' must be what"),
        ("[]", "metadata 'sightline' must be what"),
        ('{"maps": 3}', "metadata 'sightline' must be what"),
        (about("absolute", maps={"a": {}}), "metadata 'sightline' must be what .*'sign'"),
        (about("loud"), "sign must be among positive, absolute, signed, got 'loud'"),
        (about(["positive"]), "metadata 'sightline' must be what"),
    ],
)
def test_metadata_that_cannot_be_understood(tmp_path: Path, text: str, message: str) -> None:
    save_file({"a": MAP}, tmp_path / "m.safetensors", {"sightline": text})
    with pytest.raises(InputError, match=f"m.safetensors: .*{message}"):
        open_maps(tmp_path / "m.safetensors")
