"""Hostile files of every format that is read, and the readers that must stand them."""

from __future__ import annotations

import io
import json
import pathlib
import pickle
import shutil
import struct
import tempfile
import warnings
import zipfile
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml
from PIL import Image

from sightline.annotation.gold import read_gold
from sightline.annotation.proposals import read_proposals
from sightline.core.geometry import fit_geometry
from sightline.data import load_dataset, open_maps
from sightline.data.annotations import read_annotation_file
from sightline.data.problems import Problems
from sightline.detection.files.coco_json import read_coco_detections, read_coco_ground_truth
from sightline.detection.files.voc import read_voc_detections, read_voc_ground_truth
from sightline.detection.files.yolo import read_yolo_detections, read_yolo_ground_truth
from sightline.store import Store
from sightline.store.shards import StoredMaps, read_maps, write_maps
from sightline.store.verify import verify_store
from sightline.study import load_study
from sightline.study.config.benchmark import load_benchmark
from tests.fuzz import mutations
from tests.fuzz.mutations import as_json, garbled, mutants

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

__all__ = ["MARK", "READERS", "VALID", "FileCase", "file_cases", "put"]

MARK = "sightline-fuzz-was-here"
"""A file of this name is made by whatever is executed that should not be."""


@dataclass(frozen=True, slots=True)
class FileCase:
    """Files in a folder, and which reader meets them; `good` ones must be read.

    A number instead of content makes a file of so many bytes that takes no room; content with a
    number, one that begins so.
    """

    reader: str
    what: str
    files: Mapping[str, bytes | int | tuple[bytes, int]]
    good: bool = False


def put(case: FileCase, folder: Path) -> None:
    """Make a folder hold the files of a case and nothing else."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, content in case.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
            continue
        start, size = content if isinstance(content, tuple) else (b"", content)
        with path.open("wb") as stream:
            stream.write(start)
            stream.truncate(size)


# --- readers -------------------------------------------------------------------------------------


def _annotations(path: Path, *, skip: bool) -> None:
    problems = Problems(skip=skip)
    found = read_annotation_file(path, problems)
    for problem in problems:
        _writable(str(problem))
        assert len(str(problem)) < 3000
    for annotation in found.annotations.values():
        _used(annotation)
    _writable("".join(found.taxonomy.names), *found.splits.values())


def _dataset(kind: str, path: Path, **options: Any) -> None:
    dataset = load_dataset(kind, path, **options)
    for problem in dataset.skipped:
        _writable(str(problem))
    for sample in dataset:
        _used(sample.annotation)


def _used(annotation: Any) -> None:
    """What follows reading: texts are written, regions are drawn."""
    annotation.union_mask(9, 11)
    _writable(annotation.image_id, *annotation.labels)
    for region in (*annotation.regions, *annotation.dropped):
        _writable(region.label, region.source)


def _writable(*texts: str) -> None:
    for text in texts:
        text.encode()


def _maps(path: Path) -> None:
    with open_maps(path) as maps:
        for name in maps:
            assert maps[name].ndim == 2


def _truth(path: Path, *, masks: bool) -> None:
    found = read_coco_ground_truth(path, masks=masks)
    _writable(*(found.names or {}).values())


def _manifest(path: Path) -> None:
    """What follows reading: tasks are named, and the store is looked through."""
    Store(path.parent).tasks()
    verify_store(path.parent)


READERS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "annotations": ("annotations.json", partial(_annotations, skip=False)),
    "annotations, bad ones set aside": ("annotations.json", partial(_annotations, skip=True)),
    "table": ("annotations.csv", partial(_annotations, skip=False)),
    "table, bad ones set aside": ("annotations.csv", partial(_annotations, skip=True)),
    "churches": ("", partial(_dataset, "wikichurches")),
    "churches, bad ones set aside": ("", partial(_dataset, "wikichurches", skip_bad=True)),
    "voc": ("", partial(_dataset, "voc")),
    "voc masks": ("", partial(_dataset, "voc", masks=True)),
    "voc truth": ("", read_voc_ground_truth),
    "voc found": ("", read_voc_detections),
    "yolo": ("", partial(_dataset, "yolo")),
    "yolo, bad ones set aside": ("", partial(_dataset, "yolo", skip_bad=True)),
    "yolo truth": ("", partial(read_yolo_ground_truth, image_sizes=(9, 9))),
    "yolo found": ("labels", partial(read_yolo_detections, image_sizes=(9, 9))),
    "cub": ("", partial(_dataset, "cub")),
    "maps": ("", _maps),
    "npz": ("maps.npz", _maps),
    "safetensors": ("maps.safetensors", _maps),
    "truth": ("truth.json", partial(_truth, masks=False)),
    "truth with masks": ("truth.json", partial(_truth, masks=True)),
    "found": ("found.json", read_coco_detections),
    "study": ("study.yml", load_study),
    "benchmark": ("config.yml", load_benchmark),
    "proposals": ("proposals.json", read_proposals),
    "gold": ("gold.json", read_gold),
    "manifest": ("manifest.json", _manifest),
    "stored maps": ("task.safetensors", read_maps),
}
"""By name: which file or folder is given to which function."""


# --- valid files ---------------------------------------------------------------------------------

MAP = np.arange(12, dtype=np.float32).reshape(3, 4)
_BOX = "<bndbox><xmin>1</xmin><ymin>1</ymin><xmax>4</xmax><ymax>3</ymax></bndbox>"
_OBJECT = f"<object><name>cat</name><difficult>0</difficult>{_BOX}</object>"
_SIZE = "<size><width>5</width><height>4</height><depth>3</depth></size>"
_XML = f"<annotation><filename>a.jpg</filename>{_SIZE}{_OBJECT}</annotation>"
_LABELS = "0 0.5 0.5 0.2 0.4\n1 0.25 0.25 0.5 0.5\n"
_CUB = {
    "images.txt": "1 a.png\n",
    "classes.txt": "1 001.Bird\n",
    "image_class_labels.txt": "1 1\n",
    "train_test_split.txt": "1 1\n",
    "bounding_boxes.txt": "1 0.0 1.0 3.0 2.0\n",
    "parts/parts.txt": "1 beak\n2 left wing\n",
    "parts/part_locs.txt": "1 1 2.0 2.0 1\n1 2 0.0 0.0 0\n",
}
_SOURCE = dict.fromkeys(
    ("model", "variant", "method", "group", "target", "seed", "check", "layers", "heads", "rules")
)
_MANIFEST = {
    "format": 2,
    "study": {"keep_maps": "grid"},
    "sources": [{**_SOURCE, "key": "a"}],
    "chunks": [{"images": 1, "digest": "b"}],
    "checks": [{**_SOURCE, "key": "c", "part": "p", "options": {}}],
    "checked": {"p": [{"images": ["a.png"], "digest": "d"}]},
    "study_sha256": "e",
}
_GOLD = {
    "format": "sightline-gold/1",
    "random": False,
    "digest": "d",
    "seed": 0,
    "by": "",
    "population": {"": 1},
    "images": [{"image": "a.jpg", "stratum": ""}],
}


def _picture() -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (5, 4)).save(stream, "PNG")
    return stream.getvalue()


def _npy(array: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()


def _npz(entries: list[tuple[str, bytes]], kind: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(stream, "w", kind) as archive:
        warnings.simplefilter("ignore")  # names may be there twice
        for name, content in entries:
            archive.writestr(name, content)
    return stream.getvalue()


def _safe(header: Any, data: bytes = b"", length: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def _tensor(first: int = 0, last: int = 48, shape: Any = (3, 4), dtype: str = "F32") -> Any:
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [first, last]}


def _stored() -> bytes:
    """The maps of a task, as a store has them."""
    way = fit_geometry("squash", 40, 30, size=32, patch=8)
    maps = StoredMaps(("a", "b"), ((MAP,), (MAP,)), ((way,), (way,)), (-1,), (None,))
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "task.safetensors")
        write_maps(path, maps)
        return path.read_bytes()


_CSV = b"image,label,x0,y0,x1,y1,split\na.jpg,door,0.1,0.2,0.3,0.4,test\nb.jpg,,,,,,\n"
_YOLO: dict[str, bytes | int] = {
    "data.yaml": b"names: [cat, dog]\n",
    "labels/a.txt": _LABELS.encode(),
}
_FOUND_LINES = b"000004 0.702732 89 112 516 466\n000005 0.5 1 2 3 4\n"

VALID: dict[str, dict[str, bytes | int]] = {
    "annotations": {"annotations.json": as_json(mutations.COCO)},
    "table": {"annotations.csv": _CSV},
    "churches": {"building_parts.json": as_json(mutations.CHURCHES)},
    "voc": {"Annotations/a.xml": _XML.encode(), "JPEGImages/a.jpg": _picture()},
    "voc truth": {"Annotations/a.xml": _XML.encode()},
    "voc found": {"comp3_det_test_car.txt": _FOUND_LINES},
    "yolo": {**_YOLO, "images/a.png": _picture()},
    "yolo truth": _YOLO,
    "yolo found": {"labels/a.txt": b"0 0.5 0.5 0.2 0.4 0.9\n1 0.5 0.5 0.1 0.1 0.2\n"},
    "cub": {"images/a.png": _picture(), **{name: text.encode() for name, text in _CUB.items()}},
    "maps": {"a.npy": _npy(MAP), "sub/b.npz": _npz([("x.npy", _npy(MAP))])},
    "npz": {"maps.npz": _npz([("a.jpg.npy", _npy(MAP)), ("b.npy", _npy(MAP))])},
    "safetensors": {"maps.safetensors": _safe({"a": _tensor()}, MAP.tobytes())},
    "truth": {"truth.json": as_json(mutations.TRUTH)},
    "truth with masks": {"truth.json": as_json(mutations.TRUTH)},
    "found": {"found.json": as_json(mutations.FOUND)},
    "study": {"study.yml": yaml.safe_dump(mutations.STUDY).encode()},
    "benchmark": {"config.yml": b"relevance_analysis:\n  sampling_ratio: 4\n"},
    "proposals": {"proposals.json": as_json(mutations.PROPOSALS)},
    "gold": {"gold.json": as_json(_GOLD)},
    "stored maps": {"task.safetensors": _stored()},
}
"""Files that are right, by reader; what is hostile is made of them."""


# --- hostile ones --------------------------------------------------------------------------------


def file_cases(seed: int, garble: int, every: int = 1) -> Iterator[FileCase]:
    """Yield the cases of a seed: right files, bombs, one node in `every` replaced, bytes changed.

    `garble` says how often each right file is changed at random.
    """
    for reader, files in VALID.items():
        yield FileCase(reader, "as it should be", files, good=True)
    yield from _bombs()
    yield from _arrays()
    yield from _systematic(seed, every)
    rng = np.random.default_rng(seed)
    for reader, files in VALID.items():
        for name, content in files.items():
            assert isinstance(content, bytes)
            for number, other in enumerate(garbled(content, rng, garble)):
                what = f"{name} changed {number}"
                yield FileCase(reader, what, {**files, name: other})
                if f"{reader}, bad ones set aside" in READERS:
                    aside = f"{reader}, bad ones set aside"
                    yield FileCase(aside, what, {**files, name: other})


_JSON: dict[str, Any] = {
    "annotations": mutations.COCO,
    "annotations, bad ones set aside": mutations.COCO,
    "churches": mutations.CHURCHES,
    "churches, bad ones set aside": mutations.CHURCHES,
    "truth": mutations.TRUTH,
    "truth with masks": mutations.TRUTH,
    "found": mutations.FOUND,
    "study": mutations.STUDY,
    "proposals": mutations.PROPOSALS,
    "gold": _GOLD,
    "manifest": _MANIFEST,
}


def _systematic(seed: int, every: int) -> Iterator[FileCase]:
    """Every node of a right file replaced by every wrong value, of which one in `every` is met."""
    number = seed
    for reader, valid in [*_JSON.items(), ("annotations", mutations.PLAIN)]:
        name = "building_parts.json" if reader.startswith("churches") else READERS[reader][0]
        for what, wrong in mutants(valid):
            number += 1
            if number % every == 0:
                yield FileCase(reader, what, {name: as_json(wrong)})


def _json_bombs() -> Iterator[tuple[str, bytes]]:
    """What any JSON file may be."""
    yield "nothing", b""
    yield "deep lists", b"[" * 200_000
    yield "deep objects", b'{"a":' * 200_000
    yield "deep and closed", b"[" * 100_000 + b"]" * 100_000
    yield "digits", b"9" * 100_000
    yield "an exponent", b"1e" + b"9" * 1000
    yield "bytes", bytes(range(256))
    yield "UTF-16", '{"images": []}'.encode("utf-16")
    yield "one key twice", b'{"images": [], "images": [], "annotations": []}'
    keys = b",".join(b'"k%d":0' % n for n in range(50_000))
    yield "many keys, the last twice", b"{%b,%b}" % (keys, keys)
    yield "cut off", as_json(mutations.COCO)[:-40]
    yield "two of them", as_json(mutations.COCO) * 2
    yield "a number", b"7"
    yield "NaN", b"NaN"
    yield "a text", b'"' + b"x" * 1_000_000 + b'"'
    yield "half a character", b'{"images": "\\ud800", "annotations": [], "categories": []}'


def _coco_bombs() -> Iterator[tuple[str, Any]]:
    def with_region(segmentation: Any, **more: Any) -> Any:
        region = {"id": 1, "image_id": 1, "category_id": 0, "segmentation": segmentation, **more}
        return {**mutations.COCO, "annotations": [region]}

    zigzag = [value for n in range(100_000) for value in (n % 20, 10 * (n % 2))]
    yield "an outline that never ends", with_region([zigzag])
    yield "many corners", with_region([[float(n % 7) for n in range(400_000)]])
    yield "NaN corners", with_region([[float("nan")] * 8])
    yield "far corners", with_region([[1e300, 0, 1e300, 1, 0, 1e300]])
    for counts in (
        [0, 201], [-1, 201], [0, 199], [2**63], [10**30], [1.5], ["1"], [None], [], "", "0", "~~~~",
        "P" * 1000, "\x00", "é", "0" * 100_000, "oooooooooooooooooo0", [[200]], {"a": 1}, None, 200,
    ):  # fmt: skip
        yield f"counts {str(counts)[:20]!r}", with_region({"size": [10, 20], "counts": counts})
    for size in ([10**9, 10**9], [2**63, 1], [-10, -20], [0, 0], [10], "x", [10, 20, 3], [1e9, 1]):
        yield f"size {size}", with_region({"size": size, "counts": [200]})
    large = {**mutations.COCO["images"][0], "width": 10**9, "height": 1}
    yield "10⁹ pixels", {**with_region([[0, 0, 1, 0, 1, 1]]), "images": [large]}
    wide = {**large, "width": 10**6, "height": 10**6}
    full = {"size": [10**6, 10**6], "counts": [0, 10**12]}
    yield "10¹² pixels", {**with_region(full), "images": [wide]}
    for box in ([float("nan")] * 4, [0, 0, -1, 1], [0, 0, float("inf"), 1], [1e308, 0, 1e308, 1]):
        yield f"box {box}", with_region([], bbox=box)


def _label_bombs() -> Iterator[tuple[str, Any]]:
    """Labels by the thousand that have all others above them."""
    names = [{"id": n, "name": f"l{n}", "supercategory": f"l{n + 1}"} for n in range(20_000)]
    yield "labels in a row", {**mutations.COCO, "annotations": [], "categories": names}
    many = [f"p{n}" for n in range(20_000)]
    parents = [{"id": n, "name": f"l{n}", "parents": ["top"]} for n in range(20_000)]
    parents.append({"id": -1, "name": "top", "parents": many})
    yield "many labels below many", {**mutations.COCO, "annotations": [], "categories": parents}


def _bombs() -> Iterator[FileCase]:
    for reader, name in (("annotations", "annotations.json"), ("truth", "truth.json")):
        yield FileCase(reader, "50 GB of nothing", {name: 50 * 10**9})
    for what, value in _label_bombs():
        yield FileCase("annotations", what, {"annotations.json": as_json(value)})
    for reader in _JSON:
        name = "building_parts.json" if reader.startswith("churches") else READERS[reader][0]
        for what, content in _json_bombs():
            if reader != "study" or len(content) < 10_000:
                yield FileCase(reader, what, {name: content})
    for what, value in _coco_bombs():
        content = as_json(value)
        yield FileCase("annotations", what, {"annotations.json": content})
        yield FileCase("annotations, bad ones set aside", what, {"annotations.json": content})
        yield FileCase("truth", what, {"truth.json": content})
        yield FileCase("truth with masks", what, {"truth.json": content})
    for what, text in _xml_bombs():
        for reader in ("voc", "voc truth"):
            yield FileCase(reader, what, {**VALID["voc"], "Annotations/a.xml": text})
    mask = {**VALID["voc"], "SegmentationObject/a.png": b"\x89PNG\r\n\x1a\n" + bytes(99)}
    yield FileCase("voc masks", "a broken mask", mask)
    for what, text in _yaml_bombs():
        yield FileCase("yolo", what, {**VALID["yolo"], "data.yaml": text})
        yield FileCase("study", what, {"study.yml": text})
        yield FileCase("benchmark", what, {"config.yml": text})
    for what, text in _line_bombs():
        yield FileCase("yolo", what, {**VALID["yolo"], "labels/a.txt": text})
        yield FileCase("yolo, bad ones set aside", what, {**VALID["yolo"], "labels/a.txt": text})
        yield FileCase("yolo truth", what, {**_YOLO, "labels/a.txt": text})
        yield FileCase("yolo found", what, {"labels/a.txt": text})
        yield FileCase("voc found", what, {"comp3_det_test_car.txt": text})
    for what, text in _table_bombs():
        yield FileCase("table", what, {"annotations.csv": text})
        yield FileCase("table, bad ones set aside", what, {"annotations.csv": text})


_XI = 'xmlns:xi="http://www.w3.org/2001/XInclude"'
_INCLUDE = '<xi:include href="/etc/passwd"/>'


def _xml_bombs() -> Iterator[tuple[str, bytes]]:
    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    doctype = f'<!DOCTYPE annotation [<!ENTITY l0 "ha">{laughs}]>'
    yield "a billion laughs", f"{doctype}<annotation>&l9;</annotation>".encode()
    outer = '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
    yield "another file", _XML.replace("<annotation>", f"{outer}<annotation>&x;", 1).encode()
    yield (
        "a parameter",
        b'<!DOCTYPE a [<!ENTITY % x SYSTEM "http://127.0.0.1:9/x"> %x;]><annotation/>',
    )
    yield "a document type", b'<!DOCTYPE annotation SYSTEM "x.dtd">' + _XML.encode()
    yield "an entity unknown", _XML.replace("cat", "&nbsp;").encode()
    yield "UTF-16", f'<?xml version="1.0" encoding="UTF-16"?>{_XML}'.encode("utf-16")
    yield "UTF-7", f'<?xml version="1.0" encoding="UTF-7"?>{_XML}'.encode()
    yield "Latin 1", _XML.replace("cat", "kätzchen").encode("latin-1")
    hidden = f"{doctype}{_XML.replace('cat', '&l9;')}"
    for order in ("le", "be"):
        yield f"entities in UTF-16 {order}", hidden.encode(f"utf-16-{order}")
    yield "deep", b"<annotation>" + b"<a>" * 100_000 + b"</a>" * 100_000 + b"</annotation>"
    yield "many objects", f"<annotation>{_SIZE}{_OBJECT * 1000}</annotation>".encode()
    yield "too large", b"<annotation>" + b" " * 9_000_000 + b"</annotation>"
    yield "a long name", f"<{'a' * 1_000_000}/>".encode()
    yield (
        "an include",
        _XML.replace("<annotation>", f"<annotation {_XI}>{_INCLUDE}").encode(),
    )
    for wrong in ("NaN", "inf", "-1e400", "1e400", "0x10", "", "1,5", "१", "1" * 5000, "\u0000"):
        yield f"corner {wrong[:9]!r}", _XML.replace("<xmin>1", f"<xmin>{wrong}", 1).encode()
        yield f"width {wrong[:9]!r}", _XML.replace("<width>5", f"<width>{wrong}", 1).encode()
    yield "10⁹ pixels", _XML.replace("<width>5", "<width>1000000000", 1).encode()
    yield "binary", bytes(range(256))
    yield "nothing", b""


def _yaml_bombs() -> Iterator[tuple[str, bytes]]:
    laughs = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12))
    yield "a billion laughs", f"a0: &a0 [lol]\n{laughs}names: *a11\n".encode()
    merge = "".join(
        f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}\n" for n in range(1, 12)
    )
    yield "a billion merged", f"a0: &a0 {{x: 1}}\n{merge}names: [cat, dog]\n".encode()
    nothing = ", ".join(["*a"] * 20_000)
    yield "nothing, merged often", f"a: &a {{}}\nnames: {{<<: [{nothing}], 0: cat}}\n".encode()
    yield "itself, merged", b"names: &x {<<: *x, 0: cat, 1: dog}\n"
    yield "what cannot be merged", b"names: {<<: [cat], 0: cat, 1: dog}\n"
    for tag in ("python/object/apply:os.system", "python/object/new:os.system", "python/name:os"):
        yield f"tag {tag}", f"names: !!{tag} ['touch {MARK}']\n".encode()
    yield "another tag", f"names: !!python/object/apply:pathlib.Path.touch [{MARK}]\n".encode()
    yield "itself", b"names: &x [*x]\n"
    yield "itself as a key", b"names: &x {*x : 1}\n"
    yield "sixties", b"name: 1" + b":59" * 100_000
    yield "sixties with a point", b"name: 1" + b":59" * 100_000 + b".5"
    yield "deep", b"names: " + b"[" * 3000
    yield "deep keys", b"? " * 5000
    yield "deep objects", b"{a: " * 5000
    yield "digits", b"name: " + b"9" * 10_000
    yield "hexadecimal", b"name: 0x" + b"f" * 10_000
    yield "dates", b"name: 9999-99-99\nnames: [2020-02-30]\n"
    yield "binary", b"name: !!binary ////\xff"
    yield "signs", b"name: \x00\x01"
    yield "two documents", b"name: a\n---\nname: b\n"
    yield "half a character", b'names: ["\\ud800"]\nname: "\\ud800"\n'
    yield "wrong values", b"names: [.nan, .inf, ~, {a: b}]\nname: .nan\n"
    yield "large", b"names: [a]\nx: " + b"y" * 11_000_000


def _line_bombs() -> Iterator[tuple[str, bytes]]:
    for line in (
        "nan 0.5 0.5 0.2 0.4", "0 nan 0.5 0.2 0.4", "0 inf 0.5 0.2 0.4", "0 1e400 0.5 0.2 0.4",
        "0 0.5 0.5 -0.2 0.4", "-1 0.5 0.5 0.2 0.4", "1e300 0.5 0.5 0.2 0.4", "0 0.5 0.5", "0",
        "0 0.5 0.5 0.2 0.4 nan", "0 0.5 0.5 0.2 0.4 2", "9 0.5 0.5 0.2 0.4", "x 0.5 0.5 0.2 0.4",
        "0 0.5 0.5 0.2 0.4 0.5 0.6", "0 1_0 0.5 0.2 0.4", "0 ٣ 0.5 0.2 0.4", "a 1 2 3 nan 4",
        "a nan 1 2 3 4", "a 0.5 9 9 1 1", "0 0x1 0.5 0.2 0.4", f"0 {'9' * 5000} 0.5 0.2 0.4",
    ):  # fmt: skip
        yield f"line {line[:30]!r}", f"{line}\n".encode()
    yield "bytes", bytes(range(256))
    yield "one long line", b"0 " + b"0.5 " * 100_000
    yield "a long word", b"0" * 1_000_000
    yield "NUL", b"0 0.5 0.5 0.2 0.4\0\n"
    yield "UTF-16", _LABELS.encode("utf-16")
    zigzag = " ".join(f"{n % 10 / 10} {n % 2}" for n in range(100_000))
    yield "an outline that never ends", f"0 {zigzag}\n".encode()


def _table_bombs() -> Iterator[tuple[str, bytes]]:
    yield (
        "many columns",
        b",".join([b"image,label,x0,y0,x1,y1", *(b"c%d" % n for n in range(90_000))]),
    )
    yield "a long field", _CSV + b'"' + b"x" * 300_000 + b'",door,0,0,1,1\n'
    yield "an open quote", _CSV + b'"' + b"x\n" * 100_000
    yield "NUL", _CSV + b"\0,door,0,0,1,1\n"
    yield "bytes", bytes(range(256))
    yield "nothing", b""
    for cell in ("nan", "inf", "1e400", "-1e400", "9" * 5000, "=1+1", "0x10", "१", "\u2028"):
        yield f"cell {cell[:9]!r}", _CSV + f"c.jpg,door,0,0,{cell},1,\n".encode()
        yield f"name {cell[:9]!r}", _CSV + f"{cell},door,0,0,1,1,\n".encode()


# --- arrays --------------------------------------------------------------------------------------


_START = b"\x93NUMPY\x01\x00"


def _header(version: int = 1, **given: str) -> bytes:
    """The head of a .npy file, as it is written there."""
    said = {"descr": "'<f4'", "fortran_order": "False", "shape": "(3, 4)", **given}
    text = f"{{{', '.join(f'{key!r}: {value}' for key, value in said.items())}, }}\n".encode()
    size = struct.pack(
        "<H" if version == 1 else "<I", len(text) % (2**16 if version == 1 else 2**32)
    )
    return b"\x93NUMPY" + bytes([version, 0]) + size + text


class _Touch:
    """Makes a file when it is unpickled."""

    def __reduce__(self) -> Any:
        return pathlib.Path.touch, (pathlib.Path(MARK),)


def _arrays() -> Iterator[FileCase]:
    for what, content in _npy_files():
        yield FileCase("maps", f"npy: {what}", {"a.npy": content})
        yield FileCase("npz", f"npy: {what}", {"maps.npz": _npz([("a.npy", content)])})
    for what, start in _sparse_files():
        yield FileCase("maps", f"50 GB: {what}", {"a.npy": (start, 50 * 10**9)})
    for what, content in _npz_files():
        yield FileCase("npz", what, {"maps.npz": content})
        yield FileCase("maps", what, {"a.npz": content})
    for what, content in _safe_files():
        yield FileCase("safetensors", what, {"maps.safetensors": content})
        yield FileCase("maps", what, {"a.safetensors": content})


def _npy_files() -> Iterator[tuple[str, bytes]]:
    for shape in (
        "(1000000000, 1000000000)", "(40000, 2000)", "(-1, 4)", "'x'", "(3.0, 4)", "(0, 4)", "()",
        "(12,)", "(" * 5000, "(" * 90 + "1," + ")" * 90, f"({'9' * 5000}, 1)", "None", "(3, 4, 0)",
    ):  # fmt: skip
        yield f"shape {shape[:20]}", _header(shape=shape) + MAP.tobytes()
    for kind in (
        "'|O'", "[('a', '<f4')]", "'|S2147483647'", "'<f4,<f8'", "'(1000000,)f8'", "'|V0'", "'|S0'",
        "'x'", "None", "'<M8[ns]'", "'<c16'", "'<U1000000'", "'>f8'", "__import__('os')",
        "{'names': ['a'], 'formats': ['f4'], 'offsets': [2000000000]}", "[" * 2000,
    ):  # fmt: skip
        yield f"type {kind[:20]}", _header(descr=kind) + MAP.tobytes()
    yield "order", _header(fortran_order="1") + MAP.tobytes()
    for version in (2, 3, 9):
        yield f"version {version}", _header(version) + MAP.tobytes()
    yield "a long header", b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**31) + b"{"
    yield "cut off", _npy(MAP)[:-5]
    yield "a pickle", pickle.dumps(_Touch())
    yield "a pickled array", _npy(np.array([[_Touch()]], object))
    yield "an archive", b"PK\x03\x04" + bytes(50)
    yield "nothing", b""


def _swollen(start: bytes, megabytes: int = 400) -> bytes:
    """An archive of a file of many zeros, which are never all in memory here."""
    stream = io.BytesIO()
    with (
        zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("a.npy", "w") as entry,
    ):
        entry.write(start)
        for _ in range(megabytes):
            entry.write(bytes(1_000_000))
    return stream.getvalue()


def _sparse_files() -> Iterator[tuple[str, bytes]]:
    """The starts of files that are long but take no room."""
    for length in (0, 1):
        yield f"a header of {length}", _START + struct.pack("<H", length)
    yield "one long text", _header(descr="'|S2147483647'", shape="(4, 5)")
    yield "values", _header(descr="'<f8'", shape="(9000, 9000)")


def _npz_files() -> Iterator[tuple[str, bytes]]:
    good = _npy(MAP)
    yield "a name twice", _npz([("a.npy", good), ("a.npy", good)])
    yield "a name with and without ending", _npz([("a.npy", good), ("a", good)])
    yield "names elsewhere", _npz([("/etc/passwd.npy", good), ("../../x.npy", good)])
    for kind in (zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2):
        yield f"packed as {kind}", _npz([("a.npy", good)], kind)
    yield "a bomb", _npz([("a.npy", _header(shape="(9000, 9000)") + bytes(324_000_000))])
    yield "a bomb of text", _npz([("a.txt", bytes(100_000_000))])
    for length in (0, 1):  # shorter than what is read at first: less than nothing is left of it
        yield f"a header of {length}", _swollen(_START + struct.pack("<H", length))
    yield "a long name", _npz([("a" * 300 + ".npy", good)])
    yield "nothing in it", _npz([])
    content = _npz([("a.npy", good)])
    for place, value in ((6, 1), (8, 99), (8, 14)):
        changed = bytearray(content)
        middle = changed.index(b"PK\x01\x02")
        changed[place] = changed[middle + 2 + place] = value
        yield f"byte {place} is {value}", bytes(changed)


def _safe_files() -> Iterator[tuple[str, bytes]]:
    data = MAP.tobytes()
    headers: dict[str, Any] = {
        "too little": {"a": _tensor(0, 2**40)},
        "overlapping": {"a": _tensor(), "b": _tensor(8, 56)},
        "the same twice": {"a": _tensor(), "b": _tensor()},
        "a type unknown": {"a": _tensor(dtype="X99")},
        "a type without numbers": {"a": _tensor(0, 24, dtype="BF16")},
        "eight bits": {"a": _tensor(0, 12, dtype="F8_E4M3")},
        "a shape beyond all": {"a": _tensor(shape=(2**40, 2**40))},
        "a negative shape": {"a": _tensor(shape=(-1, 4))},
        "backwards": {"a": _tensor(48, 0)},
        "many axes": {"a": _tensor(shape=(1,) * 2000 + (3, 4))},
        "no name": {"": _tensor()},
        "a long name": {"a" * 10_000: _tensor()},
        "metadata of lists": {"__metadata__": [], "a": _tensor()},
        "deep metadata": {"__metadata__": {"sightline": "[" * 100_000}, "a": _tensor()},
        "odd metadata": {"__metadata__": {"sightline": '{"maps": {"a": 3}}'}, "a": _tensor()},
        "empty": {},
    }
    for what, header in headers.items():
        yield what, _safe(header, data)
    one = json.dumps(_tensor())
    yield "a key twice", _safe(f'{{"a": {one}, "a": {one}}}'.encode(), data)
    for length in (2**63, 2**64 - 1, 10**8, 0):
        yield f"a header of {length}", _safe({"a": _tensor()}, data, length)
    yield "deep", _safe(b"[" * 100_000)
    yield "no text", _safe(b"\xff\xfe")
    yield "nothing", b""
