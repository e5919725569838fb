"""Hostile names: nothing is read or written outside the folder, and good ones come through."""

from __future__ import annotations

import json
import os
import re
import struct
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

import numpy as np
import pytest
from PIL import Image

from sightline.core import InputError, SightlineError, UnknownNameError
from sightline.core.regions import Annotation, to_image_id
from sightline.data import load_dataset, open_maps
from sightline.store import detection_folder
from sightline.study import Study
from tests.fuzz.mutations import STUDY
from tests.fuzz.names import NAMES, is_file_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sightline.data.dataset import Dataset
    from tests.fuzz.conftest import Watch

ID = re.compile(r"[A-Za-z0-9._-]{1,200}")
SECRET = np.full((4, 5, 3), 251, np.uint8)
OWN = np.full((4, 5, 3), 7, np.uint8)
GOOD = [
    *("a b.jpg", "a'b.jpg", 'a"b.jpg', "Köln.jpg", "西安.jpg", "🏰.jpg", "<b>.jpg", "a&amp;b.jpg"),
    *("=1+1.jpg", "-rf.jpg", "$HOME.jpg", "a;b.jpg", "%2e%2e.jpg", "[a-z].jpg", "a,b.jpg"),
]
"""Odd, but files can be called so, and their images are read."""
LEAVING = ["../secret.jpg", "a/../../secret.jpg", "..\\secret.jpg", "/etc/passwd", "/secret.jpg"]
"""Named in a file, these are set aside at once, not only when they are opened."""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with images that have odd names, beside a secret that links lead to."""
    outside = tmp_path_factory.mktemp("hostile")
    folder = outside / "root"
    folder.mkdir()
    for name in ("secret.jpg", "passwd"):
        Image.fromarray(SECRET).save(outside / name, "PNG")
    (outside / "outside").mkdir()
    Image.fromarray(SECRET).save(outside / "outside" / "secret.jpg", "PNG")
    for name in dict.fromkeys([*filter(is_file_name, NAMES), *GOOD]):
        Image.fromarray(OWN).save(folder / name, "PNG")
    (folder / "out").symlink_to("..")
    (folder / "link.jpg").symlink_to("../secret.jpg")
    return folder


def _escaped(opened: list[str], root: Path) -> list[str]:
    """Return what was opened of the secrets around a folder."""
    outside = root.parent.resolve()
    found = []
    for name in opened:
        real = Path(os.path.realpath(name)) if "\0" not in name else Path(name)
        own = real.is_relative_to(outside) and not real.is_relative_to(root.resolve())
        if own or real.is_relative_to("/etc"):
            found.append(name)
    return found


def _pixels(dataset: Dataset) -> Iterator[tuple[str, Any]]:
    for sample in dataset:
        try:
            yield sample.image_id, sample.image()
        except InputError:
            yield sample.image_id, None


def _check(kind: str, path: Path, root: Path, watch: Watch, **options: Any) -> Dataset | None:
    """Read everything of a data set; nothing around its folder is touched."""
    with watch() as opened:
        try:
            dataset = load_dataset(kind, path, skip_bad=True, **options)
        except InputError:
            return None
        finally:
            assert _escaped(opened, root) == []
        found = dict(_pixels(dataset))
    assert _escaped(opened, root) == []
    for image_id, pixels in found.items():
        assert ID.fullmatch(image_id)
        assert image_id not in (".", "..")
        assert pixels is None or (pixels == OWN).all(), image_id
    for problem in dataset.skipped:
        str(problem).encode()
    return dataset


def test_there_are_enough() -> None:
    assert len(NAMES) >= 250


@pytest.mark.parametrize(
    "name", ["..", "../x", "a/b", "", "a b", "a\0", "a\n", "é", "a" * 201, "."]
)
def test_an_id_is_no_path(name: str) -> None:
    with pytest.raises(InputError, match="image_id must match"):
        Annotation(name)


def test_names_become_ids_or_errors() -> None:
    ids: dict[str, str] = {}
    said = []
    for name in NAMES:
        try:
            ids[name] = to_image_id(name)
        except InputError as error:
            said.append(len(str(error)))
    assert len(ids) > 200
    assert len(ids) + len(said) == len(NAMES)
    assert max(said) < 600
    assert all(ID.fullmatch(one) and one not in (".", "..") for one in ids.values())
    assert ids["Köln.jpg"] != ids["Ko\u0308ln.jpg"]
    assert ids["a'b.jpg"] == "a-27b.jpg"


# --- data sets -----------------------------------------------------------------------------------


def _coco(names: list[str]) -> dict[str, Any]:
    size = {"width": 5, "height": 4}
    return {
        "images": [{"id": n, "file_name": name, **size} for n, name in enumerate(names)],
        "annotations": [],
        "categories": [],
    }


@pytest.mark.parametrize("images", [None, "."])
def test_coco(root: Path, watch: Watch, images: str | None) -> None:
    names = [*dict.fromkeys([*NAMES, "link.jpg", "out/secret.jpg", *GOOD])]
    (root / "all.json").write_text(json.dumps(_coco(names)))
    given = {} if images is None else {"images": images}
    dataset = _check("coco", root / "all.json", root, watch, **given)
    assert dataset is not None
    read = {image_id for image_id, pixels in _pixels(dataset) if pixels is not None}
    assert {to_image_id(name) for name in GOOD} <= read
    assert "link.jpg" not in read
    assert {to_image_id(name) for name in LEAVING}.isdisjoint(dataset.ids)


def test_plain_files_with_ids_of_their_own(root: Path, watch: Watch) -> None:
    records = [{"image": f"{n}.jpg", "id": name} for n, name in enumerate(NAMES)]
    content = {"format": "sightline-annotations", "version": 1, "images": records}
    (root / "annotations.json").write_text(json.dumps(content))
    dataset = _check("folder", root, root, watch)
    assert dataset is not None
    assert set(dataset.ids) == {n for n in NAMES if ID.fullmatch(n) and n not in (".", "..")}
    assert len(dataset.skipped) == len(NAMES) - len(dataset)


def test_tables(root: Path, watch: Watch) -> None:
    lines = [f'"{name.replace(chr(34), chr(34) * 2)}",door,0,0,1,1' for name in NAMES]
    text = "\n".join(["image,label,x0,y0,x1,y1", *lines])
    (root / "regions.csv").write_bytes(text.encode("utf-8", "replace"))
    assert _check("folder", root / "regions.csv", root, watch) is not None


def test_voc(root: Path, watch: Watch) -> None:
    folder = root / "Annotations"
    folder.mkdir(exist_ok=True)
    size = "<size><width>5</width><height>4</height></size>"
    for number, name in enumerate(NAMES):
        text = escape(name).encode("utf-8", "replace").replace(b"\0", b"")
        content = b"<annotation><filename>%s</filename>%s</annotation>"
        (folder / f"{number:04}.xml").write_bytes(content % (text, size.encode()))
    dataset = _check("voc", root, root, watch)
    assert dataset is not None
    assert len(dataset) + len(dataset.skipped) >= len(NAMES)
    lists = root / "ImageSets" / "Main"
    lists.mkdir(parents=True, exist_ok=True)
    (lists / "train.txt").write_bytes("\n".join(NAMES).encode("utf-8", "replace"))
    _check("voc", root, root, watch, split="train")
    for name in NAMES:
        with pytest.raises((InputError, UnknownNameError)), watch() as opened:
            load_dataset("voc", root, split=f"{name}x")
        assert _escaped(opened, root) == []


def test_yolo(root: Path, watch: Watch) -> None:
    for name in ("labels", "images"):
        (root / name).mkdir(exist_ok=True)
    listed = [f"{name}.jpg" for name in NAMES]
    (root / "train.txt").write_bytes("\n".join(listed).encode("utf-8", "replace"))
    (root / "data.yaml").write_text("names: [door]\ntrain: train.txt\n")
    _check("yolo", root, root, watch)
    for name in [name for name in NAMES if len(name) < 300]:
        (root / "data.yaml").write_text(f"names: [door]\ntrain: {json.dumps(name)}\npath: ..\n")
        with watch() as opened:
            try:
                load_dataset("yolo", root, skip_bad=True)
            except InputError as error:
                str(error).encode()
        assert _escaped(opened, root) == []


# --- maps ----------------------------------------------------------------------------------------


def test_names_of_maps(tmp_path: Path, watch: Watch) -> None:
    inside = tmp_path / "root"
    inside.mkdir()
    Image.fromarray(SECRET).save(tmp_path / "secret.jpg", "PNG")
    array = np.arange(12, dtype=np.float32).reshape(3, 4)
    np.save(inside / "one.npy", array)
    content = (inside / "one.npy").read_bytes()
    named = []
    for name in [name for name in NAMES if len(name) < 60_000]:
        with zipfile.ZipFile(inside / "maps.npz", "w") as archive:
            archive.writestr(zipfile.ZipInfo(name.encode("utf-8", "replace").decode()), content)
        entry = {"dtype": "F32", "shape": [3, 4], "data_offsets": [0, 48]}
        header = json.dumps({name.encode("utf-8", "replace").decode(): entry}).encode()
        packed = struct.pack("<Q", len(header)) + header + array.tobytes()
        (inside / "maps.safetensors").write_bytes(packed)
        for file in ("maps.npz", "maps.safetensors"):
            with watch() as opened:
                try:
                    with open_maps(inside / file) as maps:
                        (only,) = maps
                        np.testing.assert_array_equal(maps[only], array)
                        assert ID.fullmatch(only)
                except InputError as error:
                    named.append(file in str(error))
            assert _escaped(opened, inside) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["root", "secret.jpg"]
    assert len(list(inside.iterdir())) == 3
    assert named
    assert all(named)


# --- studies and stores --------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["name", "data", "models", "methods", "metrics"])
def test_names_in_studies(key: str, watch: Watch, tmp_path: Path) -> None:
    valid = Study.from_dict(STUDY)
    for name in NAMES:
        value = {"name": name, "data": {"name": name}}.get(key, [name])
        with watch() as opened:
            try:
                study = Study.from_dict({**STUDY, key: value})
            except SightlineError as error:
                str(error).encode()
                continue
        assert _escaped(opened, tmp_path / "root") == []
        assert key in ("name", "models", "methods")
        assert key != "name" or re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}", study.name)
    assert valid.name == "study"


def test_names_of_stored_results(tmp_path: Path) -> None:
    for name in NAMES:
        try:
            folder = detection_folder(tmp_path, name)
        except InputError:
            continue
        assert folder.parent == tmp_path / "detection"
        assert folder.resolve().parent == folder.parent.resolve()
