"""Every byte of a file counts: what was changed, cut, swapped or mistaken is found."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from safetensors.numpy import save

from sightline.core import InputError
from sightline.core.geometry import Geometry
from sightline.store import write_maps, write_table
from sightline.store.checksums import (
    BLANK,
    KEY,
    DamagedError,
    check_content,
    check_file,
    check_files,
    find_damaged,
    json_bytes,
    read_json,
    save_json,
    seal,
)
from sightline.store.shards import StoredMaps, read_maps

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# A name that looks like a place for a checksum, in each of the ways in which one is written.
LIKE = [f"{KEY}{between}{BLANK}" for between in ("\x18G", '": "', '\\": \\"')]


def rows_of(images: list[str]) -> pa.Table:
    values = np.random.default_rng(0).random(len(images))
    return pa.table({"image": images, "value": values})


def maps_of(images: list[str]) -> StoredMaps:
    values = np.random.default_rng(0).random((len(images), 1, 1, 2, 3)).astype(np.float32)
    ways = ((Geometry.of(12, 8).resize(3, 2),),) * len(images)
    return StoredMaps(tuple(images), tuple(map(tuple, values)), ways, (None,), (None,))


def write(path: Path, images: list[str]) -> bytes:
    """Write a file of the kind that its name tells."""
    if path.suffix == ".parquet":
        table = rows_of(images).replace_schema_metadata({"sightline-plan": "a"})
        write_table(path, table, kind="images")
    elif path.suffix == ".safetensors":
        write_maps(path, maps_of(images))
    else:
        save_json(path, {"format": 1, "images": images})
    return path.read_bytes()


NAMES = ["a.parquet", "a.safetensors", "a.json"]


@pytest.fixture(params=NAMES)
def whole(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[bytes, str]:
    """The content of a small file of each kind, and its name."""
    return write(tmp_path / request.param, ["a.png", "ü.png"]), request.param


def test_every_flipped_bit_is_found(whole: tuple[bytes, str]) -> None:
    content, name = whole
    assert check_content(content, name) == "sound"
    missed = []
    for place in range(len(content)):
        for bit in (1, 4, 32, 128):
            other = bytearray(content)
            other[place] ^= bit
            if check_content(bytes(other), name) != "damaged":
                missed.append((place, bit))
    assert not missed


def test_files_that_were_cut_or_grew_are_found(whole: tuple[bytes, str]) -> None:
    content, name = whole
    kept = [size for size in range(len(content)) if check_content(content[:size], name) == "sound"]
    assert not kept
    # Without any of its end a JSON object shows no trace of a checksum, and is no JSON.
    if name != "a.json":
        assert {check_content(content[:size], name) for size in range(len(content))} == {"damaged"}
    assert check_content(content + b"\n", name) == "damaged"
    assert check_content(content[:50] + bytes(20) + content[70:], name) == "damaged"


@pytest.mark.parametrize("size", [120, 200, 512])
@pytest.mark.parametrize("value", [0, 0xFF], ids=hex)
def test_blocks_that_are_lost_are_found(
    whole: tuple[bytes, str], tmp_path: Path, size: int, value: int
) -> None:
    """Also one that held all of the checksum, so that there is no trace of it."""
    content, name = whole
    missed, path = [], tmp_path / "lost" / name
    path.parent.mkdir()
    for place in range(0, len(content), 3):
        end = min(len(content), place + size)
        other = content[:place] + bytes([value]) * (end - place) + content[end:]
        if other == content or check_content(other, name) == "damaged":
            continue
        if name != "a.json":
            missed.append(place)
            continue
        path.write_bytes(other)  # without a trace of its checksum it is no JSON
        with pytest.raises(DamagedError, match=r"a\.json: must be JSON: "):
            read_json(path, "mend it")
    assert not missed


def test_a_file_under_another_name_is_found(whole: tuple[bytes, str]) -> None:
    content, name = whole
    assert check_content(content, f"b{name}") == "damaged"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("like", LIKE)
def test_names_that_look_like_checksums_change_nothing(
    tmp_path: Path, name: str, like: str
) -> None:
    path, images = tmp_path / name, [f"a{like}b.png", like]
    content = write(path, images)
    assert check_file(path) == "sound"
    assert check_content(content.replace(b"b.png", b"c.png"), name) == "damaged"
    if path.suffix == ".parquet":
        found = pq.read_table(path)["image"].to_pylist()
    elif path.suffix == ".safetensors":
        found = list(read_maps(path).images)
    else:
        found = read_json(path, "")["images"]
    assert found == images


def bare_maps() -> bytes:
    return save({"0": np.zeros((2, 3), np.float32)}, {"sightline": "{}"})


def bare_rows() -> bytes:
    file = pa.BufferOutputStream()
    pq.write_table(rows_of(["a.png"]), file)
    return bytes(file.getvalue())


@pytest.mark.parametrize(("name", "make"), [("a.parquet", bare_rows), ("a.safetensors", bare_maps)])
def test_files_without_checksum_are_told_and_their_ends_looked_at(
    name: str, make: Callable[[], bytes]
) -> None:
    content = make()
    assert check_content(content, name) == "bare"
    assert check_content(content, f"b{name}") == "bare"
    for other in (content[:-1], content[:20], content[4:], content + b"a", b""):
        assert check_content(other, name) == "damaged"
    assert check_content(b"{}", "a.json") == "bare"


@pytest.mark.parametrize("content", [b"{}", f'{{"{KEY}": "{BLANK[:-1]}1"}}'.encode()])
def test_only_what_leaves_room_is_sealed(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"a\.json: must leave room for its checksum"):
        seal(content, "a.json")


def test_what_was_read_can_be_written_again(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    for about in ({"sightline-plan": "a"}, None):
        write_table(path, rows_of(["a.png"]).replace_schema_metadata(about), kind="images")
        first = path.read_bytes()
        write_table(path, pq.read_table(path), kind="images")
        assert path.read_bytes() == first
    save_json(tmp_path / "a.json", {"format": 1, KEY: BLANK, "b": 2})
    assert list(json.loads((tmp_path / "a.json").read_text())) == ["format", KEY, "b"]
    assert check_file(tmp_path / "a.json") == "sound"
    assert json.loads(json_bytes({"b": 1})) == {KEY: BLANK, "b": 1}


def test_many_files_at_once(tmp_path: Path) -> None:
    for number in range(70):
        (tmp_path / str(number)).mkdir()
        write(tmp_path / str(number) / "a.parquet", [f"{number}.png"])
    paths = [tmp_path / str(number) / "a.parquet" for number in range(71)]
    paths[3].write_bytes(b"junk")
    seen: list[tuple[int, int]] = []
    states = check_files(paths, lambda *both: seen.append(both))
    assert list(states) == paths
    assert [number for number, path in enumerate(paths) if states[path] == "damaged"] == [3]
    assert states[paths[70]] == "gone"
    assert sum(state == "sound" for state in states.values()) == 69
    assert seen == [(0, 71), (64, 71)]
    assert find_damaged(paths) == paths[3]
    assert find_damaged([*paths[:3], *paths[4:]]) is None


def test_a_file_that_cannot_be_read_is_damaged(tmp_path: Path) -> None:
    assert check_file(tmp_path) == "damaged"  # a folder, as a disk that fails
    assert check_file(tmp_path / "none") == "gone"


NOT_PLAIN: dict[str, Callable[[Path], object]] = {
    "a pipe": os.mkfifo,
    "a link to a device": lambda path: path.symlink_to("/dev/zero"),
    "a folder": lambda path: path.mkdir(),
}


@pytest.mark.parametrize("kind", NOT_PLAIN)
@pytest.mark.parametrize("name", NAMES)
def test_what_is_no_plain_file_is_damaged_and_not_waited_for(
    tmp_path: Path, name: str, kind: str
) -> None:
    path = tmp_path / name
    NOT_PLAIN[kind](path)
    assert check_file(path) == "damaged"
    assert find_damaged([path]) == path
    if name == "a.json":
        with pytest.raises(DamagedError, match=r"a\.json is damaged: it is not a plain file; mend"):
            read_json(path, lambda: "mend it")


@pytest.mark.parametrize("name", NAMES)
def test_files_of_any_size_are_held_in_pieces(tmp_path: Path, name: str) -> None:
    """50 GB of nothing take no memory, and no time where their ends tell enough."""
    path = tmp_path / name
    with path.open("wb") as file:
        file.truncate(50 * 10**9)
    if name == "a.json":
        with pytest.raises(DamagedError, match=r"at most 1,073,741,824 bytes, has 50,000,000,000"):
            read_json(path, "")
    else:
        assert check_file(path) == "damaged"


@pytest.mark.parametrize("piece", [150, 400, 0])
def test_pieces_tell_what_the_whole_tells(
    whole: tuple[bytes, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: int
) -> None:
    content, name = whole
    path, bare = tmp_path / "pieces" / name, KEY.encode()
    path.parent.mkdir()
    piece = piece or len(content) - content.rfind(bare) - 5  # the key lies in two of them
    assert piece > 130
    monkeypatch.setattr("sightline.store.checksums._PIECE", piece)
    monkeypatch.setattr("sightline.store.checksums._HASHED", 50)
    path.write_bytes(content)
    assert check_file(path) == "sound"
    for place in range(0, len(content), 7):
        other = bytearray(content)
        other[place] ^= 1
        path.write_bytes(other)
        assert check_file(path) == "damaged"
    path.write_bytes(content.replace(bare, bare[::-1]))
    assert check_file(path) == "damaged"  # by the trace of the digits
    if name != "a.json":
        path.write_bytes((bare_rows if name == "a.parquet" else bare_maps)())
        assert check_file(path) == "bare"


def test_states_are_remembered_however_many_files_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Path] = []

    def counted(path: Path) -> str:
        read.append(path)
        return check_file(path)

    monkeypatch.setattr("sightline.store.checksums.check_file", counted)
    monkeypatch.setattr("sightline.store.checksums._MOST_SEEN", 4)
    seen: dict[Path, object] = {}
    monkeypatch.setattr("sightline.store.checksums._seen", seen)
    paths = [tmp_path / f"{number}.json" for number in range(7)]
    for path in paths:
        write(path, ["a.png"])
    assert find_damaged(paths[:6]) is None
    assert sorted(read) == paths[:6]
    assert find_damaged(paths[:6]) is None
    assert find_damaged(paths[2:4]) is None
    assert len(read) == 6  # none again
    assert find_damaged(paths) is None
    assert read[6:] == paths[6:]
    write(tmp_path / "b.json", ["a.png"])
    assert find_damaged([tmp_path / "b.json"]) is None
    assert len(seen) == 4
    assert list(seen) == [*paths[4:], tmp_path / "b.json"]  # those kept longest made room


def test_damage_is_seen_also_where_the_clock_stands_still(tmp_path: Path) -> None:
    """The same size and time do not make the same file."""
    path = tmp_path / "a.parquet"
    content = bytearray(write(path, ["a.png"]))
    assert find_damaged([path]) is None
    before = path.stat()
    content[60] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert find_damaged([path]) == path


def test_maps_that_were_changed_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    content = bytearray(write(path, ["a.png", "b.png"]))
    content[-3] ^= 64  # of the last number: without a checksum another number
    path.write_bytes(content)
    for image in (None, "a.png"):
        with pytest.raises(DamagedError, match=r"a\.safetensors: must .*, is damaged; run the st"):
            read_maps(path, image)


def test_json_that_was_changed_is_told_from_what_is_none(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    content = write(path, ["a.png"])
    assert read_json(path, "mend it") == {"format": 1, "images": ["a.png"]}
    path.write_bytes(content.replace(b"a.png", b"b.png"))
    with pytest.raises(DamagedError, match=r"a\.json is damaged: its checksum differs; mend it"):
        read_json(path, "mend it")
    path.write_bytes(content[:-9])
    with pytest.raises(DamagedError, match=r"a\.json: must be JSON: .*; mend it"):
        read_json(path, "mend it")
    path.write_text("[1]")
    assert read_json(path, "") == [1]
    assert issubclass(DamagedError, InputError)
