"""Maps made elsewhere as a source: which images they belong to, and what is wrong with them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from sightline.core import InputError
from sightline.core.geometry import fit_geometry
from tests.study.studies import add_maps, make_folder, plan_of

if TYPE_CHECKING:
    from pathlib import Path

    from sightline.study import Plan


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_folder(tmp_path / "f", 6)


def given(folder: Path, maps: Path, params: dict[str, Any] | None = None, **changes: Any) -> Plan:
    methods = [{"name": "mine", "params": {"maps": str(maps), **(params or {})}}]
    return plan_of(folder, models=[], methods=methods, batch=None, **changes)


def test_the_source_of_maps(folder: Path, tmp_path: Path) -> None:
    maps = add_maps(tmp_path / "m", range(6))
    (source,) = given(folder, maps, {"model": "their net"}).sources
    assert (source.kind, source.group, source.method) == ("given", "given", "mine")
    assert (source.model, source.variant, source.fit) == ("their net", "", "")
    assert source.layers == source.heads == (None,)
    assert (source.target, source.seed, source.sign) == ("", None, "positive")
    assert (source.batch, source.maps) == (0, str(maps))
    assert given(folder, maps).sources[0].model == ""


def test_images_without_a_map_are_no_error(folder: Path, tmp_path: Path) -> None:
    plan = given(folder, add_maps(tmp_path / "m", range(2, 90)))
    assert plan.images == 6
    assert plan.notes == ("No map of mine for 2 of 6 images: 000.png, 001.png",)


def test_negative_values_ask_for_a_sign(folder: Path, tmp_path: Path) -> None:
    maps = add_maps(tmp_path / "m", range(6))
    assert given(folder, maps).sources[0].sign == "positive"
    np.save(maps / "004.npy", np.array([[-1.0, 2.0]]))
    asks = (
        r"methods: mine: image '004\.png': its map has negative values \(smallest -1\): give sign"
    )
    with pytest.raises(InputError, match=asks):
        given(folder, maps)
    assert given(folder, maps, data={"count": 3}).sources[0].sign == "positive"
    for sign in ("positive", "absolute"):
        plans = given(folder, maps, {"sign": sign}), given(folder, maps, sign=sign)
        assert {plan.sources[0].sign for plan in plans} == {sign}
        assert plans[0].notes == ()


def test_maps_of_no_image_are_an_error(folder: Path, tmp_path: Path) -> None:
    maps = add_maps(tmp_path / "m", range(50, 53))
    with pytest.raises(InputError) as caught:
        given(folder, maps)
    text = str(caught.value)
    assert text.startswith(f"methods: mine: no map of {maps} is named by an image of the study")
    assert "'000.png', '001.png', '002.png'" in text


def test_only_the_images_of_the_study_count(folder: Path, tmp_path: Path) -> None:
    maps = add_maps(tmp_path / "m", range(4, 6))
    with pytest.raises(InputError, match="no map of"):
        given(folder, maps, data={"count": 3})


def test_what_cannot_be_read_is_named(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"methods: mine: .*none: must be a folder of maps"):
        given(folder, tmp_path / "none")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"methods: mine: .*empty: holds no maps"):
        given(folder, tmp_path / "empty")


def test_a_torn_map_is_left_to_the_task_that_scores_it(folder: Path, tmp_path: Path) -> None:
    maps = add_maps(tmp_path / "m", range(6))
    whole = given(folder, maps).sources[0].weights
    (maps / "004.npy").write_bytes(b"torn")
    assert given(folder, maps).sources[0].weights != whole


def test_two_maps_of_one_image_are_an_error(folder: Path, tmp_path: Path) -> None:
    maps = add_maps(tmp_path / "m", range(3))
    np.save(maps / "001.png.npy", np.ones((2, 2)))
    with pytest.raises(InputError, match=r"methods: mine: two maps fit image '001\.png'"):
        given(folder, maps)


def written(
    path: Path, keys: dict[str, str], *, fit: str = "squash", sign: str = "absolute"
) -> Path:
    """Write a file as `sightline explain` does."""
    way = fit_geometry(fit, 30, 24, size=8).to_dict()
    about = {"geometry": way, "sign": sign, "method": "cls", "head": None}
    entries = {
        key: {"image": image, "layer": number, **about}
        for number, (key, image) in enumerate(keys.items())
    }
    text = json.dumps({"maps": entries, "upsampling": ""})
    save_file({key: np.ones((8, 8), np.float32) for key in keys}, path, {"sightline": text})
    return path


def test_files_that_are_not_named_by_image_are_unfit(folder: Path, tmp_path: Path) -> None:
    path = written(tmp_path / "m.safetensors", {"0": "000.png", "1": "000.png"})
    with pytest.raises(InputError, match=r"methods: mine: .*holds several maps of an image"):
        given(folder, path)
    path = written(tmp_path / "c.safetensors", {"000.png/0": "000.png"}, fit="crop")
    with pytest.raises(InputError, match=r"methods: mine: .*show a crop, not the whole image"):
        given(folder, path)


def test_the_sign_is_what_study_entry_or_file_say(folder: Path, tmp_path: Path) -> None:
    path = written(tmp_path / "m.safetensors", {"000.png": "000.png"})
    assert given(folder, path).sources[0].sign == "absolute"
    assert given(folder, path, {"sign": "positive"}).sources[0].sign == "positive"
    signed = written(tmp_path / "s.safetensors", {"000.png": "000.png"}, sign="signed")
    plan = given(folder, signed)
    assert plan.sources[0].sign == "positive"  # as maps of a signed method of a study
    assert any("the part above 0 is scored" in note for note in plan.notes)
    stated = given(folder, signed, {"sign": "signed"}, metrics=["iou"])
    assert stated.sources[0].sign == "signed"
    both = given(folder, path, {"sign": "positive"}, sign="signed", metrics=["iou"])
    assert both.sources[0].sign == "signed"


def save_one(path: Path, name: str, values: Any) -> None:
    arrays: dict[str, Any] = {name: values}
    np.savez(path, **arrays)


def test_maps_of_any_type_are_digested(folder: Path, tmp_path: Path) -> None:
    """The same numbers in another type are other maps."""
    keys = set()
    for kind in (np.float16, np.float32, np.int16, np.bool_):
        save_one(tmp_path / "m.npz", "000.png", np.ones((3, 4), kind))
        keys.add(given(folder, tmp_path / "m.npz").sources[0].key)
    save_one(tmp_path / "m.npz", "000.png", np.ones((4, 3), np.float32))
    keys.add(given(folder, tmp_path / "m.npz").sources[0].key)
    save_one(tmp_path / "m.npz", "001.png", np.ones((4, 3), np.float32))
    keys.add(given(folder, tmp_path / "m.npz").sources[0].key)
    assert len(keys) == 6


def test_maps_need_no_pictures(folder: Path, tmp_path: Path) -> None:
    maps = add_maps(tmp_path / "m", range(6))
    for file in folder.glob("*.png"):
        file.unlink()
    plan = given(folder, maps)
    assert plan.images == 6
    assert {card.digest for card in plan.cards.cards} == {""}
