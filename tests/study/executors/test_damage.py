"""Files whose bytes have changed are found, named and made anew, and nothing else is touched."""

from __future__ import annotations

import json
import os
import re
import shutil
from contextlib import suppress
from hashlib import sha256
from threading import Event
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sightline.core import InputError
from sightline.results import diff_results, open_results, results_digest
from sightline.store import Store, write_detection
from sightline.store.checksums import save_json
from sightline.store.folder import how_to_mend
from sightline.store.prototypes import create_benchmark
from sightline.store.shards import read_maps
from sightline.store.verify import verify_store
from sightline.study import Data, run_study
from sightline.study.executors.progress import Run, Watch
from tests.cli.small import run as command
from tests.store.test_detection import _parts
from tests.store.test_prototypes import TABLE
from tests.study.executors.studies import given_study, model_study, stamps

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sightline.study import Study


def flip(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 8]) + content[middle + 1 :]


SHARDS = ("scores", "region_scores")
DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "flip": flip,
    "cut": lambda content: content[: len(content) // 2],
    "blank": lambda content: content[:100] + bytes(100) + content[200:],
    "empty": lambda content: b"",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("damage")


@pytest.fixture(scope="module")
def study(place: Path) -> Study:
    return given_study(place / "data", images=6, methods="ab")


@pytest.fixture(scope="module")
def calm(study: Study, place: Path) -> Path:
    return run_study(study, place, workers=1).store.path


@pytest.fixture
def store(calm: Path, tmp_path: Path) -> Store:
    """A copy of a whole store, to be damaged."""
    return Store(shutil.copytree(calm, tmp_path / calm.name))


def contents(store: Path) -> dict[str, bytes]:
    """Return all files but those that tell of runs."""
    files = (path for path in store.rglob("*") if path.is_file())
    aside = ("lock", "manifest.json")  # and what is derived: its files tell times of others
    return {
        path.relative_to(store).as_posix(): path.read_bytes()
        for path in files
        if path.name not in aside and path.parent.name != "cache"
    }


def stop_early(study: Study, out: Path) -> Run:
    """Run a study that is stopped after its first tasks."""
    stop = Event()

    class Stopper(Watch):
        def moved(self, run: Run) -> None:
            stop.set()

    return run_study(study, out, workers=1, watch=Stopper(), stop=stop)


@pytest.mark.parametrize("how", DAMAGES)
@pytest.mark.parametrize("folder", SHARDS)
def test_a_damaged_shard_is_made_anew_and_told(
    study: Study, calm: Path, store: Store, folder: str, how: str
) -> None:
    shard = sorted((store.path / folder).iterdir())[2]
    shard.write_bytes(DAMAGES[how](shard.read_bytes()))
    before = stamps(store.path)
    run = run_study(study, store.path.parent, workers=1)
    assert (run.stored, run.finished, run.complete) == (5, 1, True)
    name = f"{folder}/{shard.name}"
    assert run.damaged == [name]
    assert run.notes == [f"1 file was damaged or missing, and made again: {name}."]
    assert store.manifest()["runs"][-1]["damaged"] == [name]
    assert contents(store.path) == contents(calm)
    changed = {one for one, stamp in stamps(store.path).items() if stamp != before[one]}
    assert changed == {f"{one}/{shard.name}" for one in SHARDS}
    again = run_study(study, store.path.parent, workers=1)
    assert (again.finished, again.notes, again.damaged) == (0, [], [])
    assert "damaged" not in store.manifest()["runs"][-1]


def test_only_what_was_made_is_called_made(study: Study, store: Store) -> None:
    """A run that was stopped says what it has left damaged."""
    names = sorted(f"scores/{shard.name}" for shard in store.scores.iterdir())
    for name in names:
        (store.path / name).write_bytes(flip((store.path / name).read_bytes()))
    run = stop_early(study, store.path.parent)
    assert 0 < run.finished < 6
    made, left = run.notes
    assert re.match(r"\d files? (was|were) damaged or missing, and made again: ", made)
    assert re.match(r"\d files? (is|are) damaged or missing, and not yet made again: ", left)
    damaged = verify_store(store.path).damaged
    assert sorted(re.findall(r"scores/[\w-]+\.parquet", left)) == sorted(damaged)
    told = re.findall(r"scores/[\w-]+\.parquet", made)
    assert sorted([*told, *damaged]) == sorted(run.damaged) == names


def test_all_damaged_shards_are_counted(study: Study, calm: Path, store: Store) -> None:
    shards = sorted(store.scores.iterdir())
    for shard in shards:
        shard.write_bytes(flip(shard.read_bytes()))
    run = run_study(study, store.path.parent, workers=1)
    assert (run.stored, run.finished) == (0, 6)
    (note,) = run.notes
    assert re.fullmatch(
        r"6 files were damaged or missing, and made again: (scores/\S+, ){5}…\.", note
    )
    assert contents(store.path) == contents(calm)


def test_shards_of_two_tasks_that_changed_places_are_made_anew(
    study: Study, calm: Path, store: Store
) -> None:
    one, two = sorted(store.scores.iterdir())[:2]
    first, second = one.read_bytes(), two.read_bytes()
    one.write_bytes(second)
    two.write_bytes(first)
    run = run_study(study, store.path.parent, workers=1)
    assert sorted(run.damaged) == [f"scores/{one.name}", f"scores/{two.name}"]
    assert contents(store.path) == contents(calm)


def occupy_by_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "mine.txt").write_text("kept")


def occupy_by_link(path: Path) -> None:
    """Lead to a copy outside of the run: its bytes are sound, and not the run's."""
    outside = path.parents[3] / path.name
    path.rename(outside)
    path.symlink_to(outside)


def occupy_by_dead_link(path: Path) -> None:
    path.unlink()
    path.symlink_to("/nowhere/at/all")


def occupy_by_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


OCCUPIERS: dict[str, Callable[[Path], None]] = {
    "folder": occupy_by_folder,
    "pipe": occupy_by_pipe,
    "link": occupy_by_link,
    "dead link": occupy_by_dead_link,
}


@pytest.mark.parametrize("how", OCCUPIERS)
@pytest.mark.parametrize("name", [*SHARDS, "images.parquet", "study.yml", "manifest.json"])
def test_what_has_the_name_of_a_file_is_moved_aside(
    study: Study, calm: Path, tmp_path: Path, name: str, how: str
) -> None:
    store = Store(shutil.copytree(calm, tmp_path / "a" / "runs" / calm.name))
    path = store.path / name
    path = sorted(path.iterdir())[1] if path.is_dir() else path
    OCCUPIERS[how](path)
    run = run_study(study, store.path.parent, workers=1)
    inner = path.relative_to(store.path).as_posix()
    assert run.damaged == [inner]
    place = store.path / "moved-aside" / path.name
    assert f"{inner} was no file of the run and is now {place}." in run.notes
    assert os.path.lexists(place)
    assert how != "folder" or (place / "mine.txt").read_text() == "kept"
    shutil.rmtree(store.path / "moved-aside")
    kept = contents(calm)
    assert contents(store.path) == kept
    assert verify_store(store.path).good
    again = run_study(study, store.path.parent, workers=1)
    assert (again.finished, again.notes) == (0, [])


def test_two_things_of_one_name_are_both_kept(study: Study, store: Store) -> None:
    shards = sorted(store.scores.iterdir())[0], sorted(store.region_scores.iterdir())[0]
    for shard in shards:
        shard.unlink()
        shard.mkdir()
    run_study(study, store.path.parent, workers=1)
    assert len(list((store.path / "moved-aside").iterdir())) == 2


@pytest.mark.parametrize("name", [*SHARDS, "checks", "maps"])
def test_a_folder_that_is_a_link_is_refused(study: Study, store: Store, name: str) -> None:
    outside = store.path.parents[1] / f"outside-{store.path.parent.name}"
    folder = (store.path / name).rename(outside)
    (store.path / name).symlink_to(folder)
    before = sorted(folder.iterdir())
    with pytest.raises(InputError, match=f"{name}: must be a folder of its own, is a link; "):
        run_study(study, store.path.parent, workers=1)
    assert sorted(folder.iterdir()) == before


def test_nothing_is_written_through_a_link_in_place_of_the_lock(study: Study, store: Store) -> None:
    target = store.path.parent / "victim"
    store.lock_path.unlink()
    store.lock_path.symlink_to(target)
    with pytest.raises(InputError, match="lock: must be a plain file, is a link"):
        run_study(study, store.path.parent, workers=1)
    assert not target.exists()


@pytest.mark.parametrize("kind", ["file", "link"])
def test_what_has_the_name_of_the_folder_of_moved_things_is_named(
    study: Study, store: Store, kind: str
) -> None:
    outside = store.path.parent / "outside"
    outside.mkdir()
    if kind == "file":
        store.aside_path.touch()
    else:
        store.aside_path.symlink_to(outside)
    shard = min(store.scores.iterdir())
    shard.unlink()
    shard.mkdir()
    text = f"moved-aside: must be a folder of its own, is a {kind}; rename or remove it, then run"
    with pytest.raises(InputError, match=text):
        run_study(study, store.path.parent, workers=1)
    assert shard.is_dir()
    assert list(outside.iterdir()) == []


def test_a_folder_with_the_name_of_a_part_is_left(study: Study, calm: Path, store: Store) -> None:
    folder = store.scores / ".x.part"
    folder.mkdir()
    assert run_study(study, store.path.parent, workers=1).complete
    assert folder.is_dir()
    assert contents(store.path) == contents(calm)


@pytest.mark.parametrize("change", ["changed", "removed"])
def test_a_restored_study_file_is_counted_and_named(
    study: Study, calm: Path, store: Store, change: str
) -> None:
    if change == "removed":
        store.study_path.unlink()
    else:
        store.study_path.write_text(store.study_path.read_text() + "# mine")
    run = run_study(study, store.path.parent, workers=1)
    assert run.damaged == ["study.yml"]
    assert run.notes == ["1 file was damaged or missing, and made again: study.yml."]
    assert contents(store.path) == contents(calm)


def test_a_missing_table_is_counted_and_named(study: Study, calm: Path, store: Store) -> None:
    store.regions_path.unlink()
    assert run_study(study, store.path.parent, workers=1).damaged == ["regions.parquet"]
    assert contents(store.path) == contents(calm)


@pytest.mark.parametrize("names", [["scores"], ["region_scores"], ["scores", "region_scores"]])
def test_a_missing_shard_is_counted_and_named(
    study: Study, calm: Path, store: Store, names: list[str]
) -> None:
    shards = [min((store.path / name).iterdir()) for name in names]
    for shard in shards:
        shard.unlink()
    inner = [shard.relative_to(store.path).as_posix() for shard in shards]
    run = run_study(study, store.path.parent, workers=1)
    assert (run.stored, run.finished, run.damaged) == (5, 1, inner)
    assert f"damaged or missing, and made again: {', '.join(inner)}." in run.notes[0]
    assert contents(store.path) == contents(calm)


@pytest.mark.parametrize("edited", [False, True])
def test_a_missing_manifest_is_counted_and_named(
    study: Study, calm: Path, store: Store, edited: bool
) -> None:
    store.manifest_path.unlink()
    if edited:
        store.study_path.write_text(store.study_path.read_text() + "# mine")
    run = run_study(study, store.path.parent, workers=1)
    assert (run.stored, run.damaged) == (6, ["manifest.json", *["study.yml"] * edited])
    lost = "was missing and is made again; what it told of earlier runs is lost."
    assert run.notes[0] == f"{store.manifest_path} {lost}"
    assert run.notes[1:] == ["1 file was damaged or missing, and made again: study.yml."] * edited
    assert contents(store.path) == contents(calm)


@pytest.mark.parametrize("manifest", [True, False])
def test_what_was_never_done_is_not_called_missing(
    study: Study, calm: Path, tmp_path: Path, manifest: bool
) -> None:
    """A run is killed after it has written a task's scores of regions, and before its scores."""
    run = stop_early(study, tmp_path)
    store = run.store
    left = sorted(set(store.tasks()) - store.done())
    shutil.copy(Store(calm).region_file(left[0]), store.region_file(left[0]))
    if not manifest:  # killed before that was written, and all that came after it
        for path in (store.manifest_path, *store.scores.iterdir(), *store.region_scores.iterdir()):
            path.unlink()
    again = run_study(study, tmp_path, workers=1)
    assert (again.damaged, again.notes) == ([], [])
    assert contents(store.path) == contents(calm)


def test_a_store_without_manifest_keeps_its_files_when_a_run_fails(
    study: Study, calm: Path, store: Store
) -> None:
    store.manifest_path.unlink()
    bad = study.model_copy(update={"data": Data(name="folder", path="/nowhere")})
    with pytest.raises(InputError, match="nowhere"):
        run_study(bad, store.path.parent, workers=1)
    assert contents(store.path) == contents(calm)


def test_a_shard_that_is_missing_after_a_stop_is_named(study: Study, tmp_path: Path) -> None:
    """It is named by the run that makes it again, also when one before that was stopped."""
    store = stop_early(study, tmp_path).store
    shard = max(store.scores.iterdir())
    shard.unlink()
    stopping = Event()
    stopping.set()
    for stop in (stopping, Event()):
        run = run_study(study, tmp_path, workers=1, stop=stop)
        assert run.damaged == [f"scores/{shard.name}"]
    assert run.complete
    assert run_study(study, tmp_path, workers=1).damaged == []


@pytest.mark.parametrize("name", ["images.parquet", "regions.parquet"])
def test_damaged_tables_are_made_anew_and_told(
    study: Study, calm: Path, store: Store, name: str
) -> None:
    path = store.path / name
    path.write_bytes(flip(path.read_bytes()))
    with pytest.raises(InputError, match=f"{name} is damaged; run the study again"):
        open_results(store.path)
    run = run_study(study, store.path.parent, workers=1)
    assert (run.damaged, run.finished) == ([name], 0)
    assert contents(store.path) == contents(calm)


@pytest.mark.parametrize("how", ["changed", "cut"])
def test_a_damaged_manifest_is_made_anew_and_told(study: Study, store: Store, how: str) -> None:
    path = store.manifest_path
    text, keys = path.read_text(), store.tasks()
    digest = store.manifest()["chunks"][0]["digest"]
    path.write_text(text[:-80] if how == "cut" else text.replace(digest, f"0{digest[1:]}"))
    with pytest.raises(InputError, match=r"manifest\.json(:| is).*; run the study again to make"):
        open_results(store.path)
    run = run_study(study, store.path.parent, workers=1)
    assert (run.stored, run.finished) == (6, 0)
    assert run.damaged == ["manifest.json"]
    assert run.notes == [
        f"{path} was damaged and is made again; what it told of earlier runs is lost."
    ]
    assert store.tasks() == keys
    assert len(store.manifest()["runs"]) == 1


def test_a_manifest_of_another_format_is_not_replaced(study: Study, store: Store) -> None:
    store.manifest_path.write_text('{"format": 99}')
    with pytest.raises(InputError, match="format must be 2, got 99"):
        run_study(study, store.path.parent, workers=1)
    assert store.manifest_path.read_text() == '{"format": 99}'


def without_checksum(path: Path) -> None:
    """Write a shard as earlier versions did."""
    pq.write_table(pq.read_table(path).replace_schema_metadata(None), path)


def test_files_of_earlier_versions_are_kept_and_told(study: Study, store: Store) -> None:
    for path in (*store.scores.iterdir(), *store.region_scores.iterdir()):
        without_checksum(path)
    before = stamps(store.path)
    run = run_study(study, store.path.parent, workers=1)
    assert (run.stored, run.finished, run.damaged) == (6, 0, [])
    (note,) = run.notes
    assert note.startswith("12 stored files have no checksum: an earlier version wrote them")
    assert stamps(store.path) == before
    with open_results(store.path) as results:
        assert len(results.leaderboard()) == 2
    found = verify_store(store.path)
    assert (len(found.bare), found.good) == (12, True)


def test_maps_that_are_damaged_are_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mean is made of them; where one was cut, nothing told it before."""
    monkeypatch.setattr("sightline.study.plan.planner.CHUNK", 2)
    facades = {"name": "facades", "count": 4, "seed": 1, "labelling": "representative"}
    study = model_study(data=facades, methods=["cls", "mean_map"], layers=[-1])
    store = run_study(study, tmp_path, workers=1).store
    calm = contents(store.path)
    first, second = sorted(store.maps.iterdir())
    first.write_bytes(flip(first.read_bytes()))
    second.write_bytes(second.read_bytes()[:-4])
    for path in (first, second):
        with pytest.raises(InputError, match="must hold the maps of a task, is damaged; run the"):
            read_maps(path)
    assert verify_store(store.path).damaged == [f"maps/{first.name}", f"maps/{second.name}"]
    run = run_study(study, tmp_path, workers=1)
    assert sorted(run.damaged) == [f"maps/{first.name}", f"maps/{second.name}"]
    assert run.finished == 2
    assert contents(store.path) == calm
    assert verify_store(store.path).good
    first.unlink()
    assert verify_store(store.path).missing == [f"maps/{first.name}"]


# --- readers ---------------------------------------------------------------------------------


def quietly(path: Path) -> None:
    """Change a bit so that the file is read without complaint, and other values come out."""
    content, table = path.read_bytes(), pq.read_table(path)
    for place in range(len(content)):
        other = bytearray(content)
        other[place] ^= 1
        with suppress(Exception):
            found = pq.read_table(pa.BufferReader(bytes(other)))
            if found.schema == table.schema and not found.equals(table):
                path.write_bytes(other)
                return
    raise AssertionError("every bit is noticed")


def _query(store: Path, sql: str) -> object:
    return open_results(store).query(sql)


ASKED: dict[str, tuple[str, Callable[[Path, Path], object]]] = {
    "leaderboard": ("scores", lambda store, _: open_results(store).leaderboard()),
    "image": ("scores", lambda store, _: open_results(store).image("000.png")),
    "query": ("scores", lambda store, _: open_results(store).query('SELECT * FROM "scores"')),
    "batches": ("scores", lambda store, _: list(open_results(store).batches("scores"))),
    "scores": ("scores", lambda store, _: open_results(store).scores()),
    "digest": ("scores", lambda store, _: results_digest(store)),
    "diff": ("scores", lambda store, calm: diff_results(calm, store)),
    "curves": ("scores", lambda store, _: open_results(store).curves()),
    "image of regions": ("region_scores", lambda store, _: open_results(store).image("000.png")),
    "query regions": ("region_scores", lambda store, _: _query(store, "FROM REGION_SCORES")),
    "long": ("region_scores", lambda store, _: list(open_results(store).batches("scores_long"))),
    "digest of regions": ("region_scores", lambda store, _: results_digest(store)),
    "images": ("images.parquet", lambda store, _: open_results(store)),
}


@pytest.mark.parametrize("ask", ASKED)
def test_readers_name_a_file_that_reads_well_and_is_wrong(
    calm: Path, store: Store, ask: str
) -> None:
    where, call = ASKED[ask]
    path = store.path / where
    path = min(path.iterdir()) if path.is_dir() else path
    quietly(path)
    with pytest.raises(InputError) as caught:
        call(store.path, calm)
    mend = f"sightline run {store.path / 'study.yml'} --out {store.path.parent}"
    assert str(caught.value) == f"{path} is damaged; run the study again to make it anew: {mend}"


def test_a_store_under_another_name_is_told_no_command(calm: Path, tmp_path: Path) -> None:
    store = shutil.copytree(calm, tmp_path / "renamed")
    shard = min((store / "scores").iterdir())
    shard.write_bytes(flip(shard.read_bytes()))
    with pytest.raises(InputError, match=r"is damaged; run the study again to make it anew$"):
        results_digest(store)


# --- verify --------------------------------------------------------------------------------------


def test_a_whole_store_is_verified(store: Store) -> None:
    found = verify_store(store.path)
    assert found.good
    assert found.files == len(found.sound) == 4 + 12
    assert sorted(found.sound) == sorted([*contents(store.path), "manifest.json"])
    sizes = [(store.path / name).stat().st_size for name in found.sound]
    assert found.bytes == sum(sizes)
    assert (found.bare, found.damaged, found.missing, found.foreign) == ([], [], [], [])
    said = command("verify", store.path).stdout
    assert re.fullmatch(r"16 files, [\d.]+ kB: 16 as they were written\n", said)


def test_whatever_is_amiss_is_told(store: Store) -> None:
    first, second, third, *_ = sorted(store.scores.iterdir())
    first.write_bytes(flip(first.read_bytes()))
    second.unlink()
    (store.region_scores / third.name).unlink()
    (store.scores / "notes.txt").write_text("mine")
    (store.scores / f".{first.name}.0.part").write_text("half")
    (store.scores / "000009-0123456789abcdef.parquet").write_bytes(third.read_bytes())
    found = verify_store(store.path)
    other = "scores/000009-0123456789abcdef.parquet"
    assert sorted(found.damaged) == [f"scores/{first.name}", other]  # it bears another's name
    assert sorted(found.missing) == [f"region_scores/{third.name}", f"scores/{second.name}"]
    assert found.foreign == ["scores/notes.txt"]
    assert found.left == [f"scores/.{first.name}.0.part"]
    assert (found.other, found.good) == (1, False)
    said = command("verify", store.path, code=1).stdout
    for words in (
        f"  scores/{first.name}\n",
        "Missing (2):",
        "Foreign: no study wrote them (1):\n  scores/notes.txt\n",
        "Left by writers that were killed: 1",
        f"make them anew: sightline run {store.path / 'study.yml'} --out {store.path.parent}\n",
    ):
        assert words in said
    told = json.loads(command("verify", store.path, "--json", code=1).stdout)
    assert told["damaged"] == found.damaged
    assert (told["good"], told["path"]) == (False, str(store.path))


@pytest.mark.parametrize("amiss", ["damaged", "missing", "foreign"])
def test_each_fault_alone_is_one(store: Store, amiss: str) -> None:
    shard = min(store.region_scores.iterdir())
    if amiss == "damaged":
        shard.write_bytes(flip(shard.read_bytes()))
    elif amiss == "missing":
        shard.unlink()
    else:
        (store.maps / "more").write_text("mine")
    found = verify_store(store.path)
    names = {one: len(getattr(found, one)) for one in ("damaged", "missing", "foreign")}
    assert names == {**dict.fromkeys(names, 0), amiss: 1}
    command("verify", store.path, code=1)


def test_a_store_that_is_being_written_may_lack_something(store: Store) -> None:
    shard = min(store.scores.iterdir())
    shard.unlink()
    (store.scores / ".a.part").write_text("half")
    with store.locked():
        found = verify_store(store.path)
        assert (found.running, found.good, found.left) == (True, True, [])
        assert "may be yet to come" in command("verify", store.path).stdout
    assert not verify_store(store.path).good


def test_a_damaged_manifest_hides_nothing_else(store: Store) -> None:
    store.manifest_path.write_text("{")
    shard = min(store.scores.iterdir())
    shard.write_bytes(flip(shard.read_bytes()))
    found = verify_store(store.path)
    assert sorted(found.damaged) == ["manifest.json", f"scores/{shard.name}"]


def test_detections_and_prototypes_are_verified_too(store: Store) -> None:
    folder = write_detection(store.path, "mine", _parts())
    with create_benchmark(store.path, name="first").locked():
        made = create_benchmark(store.path, name="first")
        made.begin({"batch": 4}, "config\n")
        made.finish({"drops.parquet": TABLE}, {"settings": {}})
    assert verify_store(store.path).good
    assert verify_store(made.path).good  # by itself
    for path, name in (
        (folder / "classes.parquet", "detection/mine/classes.parquet"),
        (folder / "results.json", "detection/mine/results.json"),
        (made.path / "drops.parquet", "prototypes/first/drops.parquet"),
        (made.about_path, "prototypes/first/benchmark.json"),
    ):
        whole = path.read_bytes()
        path.write_bytes(
            whole.replace(b"0.5", b"0.6") if path.name == "results.json" else flip(whole)
        )
        assert path.read_bytes() != whole
        assert verify_store(store.path).damaged == [name]
        path.write_bytes(whole)
    (folder / "classes.parquet").unlink()
    assert verify_store(store.path).missing == ["detection/mine/classes.parquet"]


@pytest.mark.parametrize(
    "name", ["../../mine", "/etc/hosts", "", ".", "..", "a/b", "a\\b", "a\0", "\ud800"]
)
def test_names_that_lead_elsewhere_are_not_opened(tmp_path: Path, name: str) -> None:
    """A store may come from a stranger."""
    (tmp_path / "mine").write_text("mine")
    folder = tmp_path / "detection" / "a"
    (folder / "a").mkdir(parents=True)
    (folder / "a" / "b").write_text("mine")
    told = {name: {"sha256": sha256(b"mine").hexdigest()}}
    save_json(folder / "results.json", {"format": 1, "files": told})
    found = verify_store(tmp_path)
    assert (found.damaged, found.sound) == (["detection/a/results.json"], [])
    assert (found.files, found.missing) == (1, [])


@pytest.mark.parametrize("one", [5, {}, {"sha256": 5}, None])
def test_files_without_digest_are_damage(tmp_path: Path, one: object) -> None:
    (tmp_path / "detection" / "a").mkdir(parents=True)
    save_json(tmp_path / "detection" / "a" / "results.json", {"files": {"a.parquet": one}})
    assert verify_store(tmp_path).damaged == ["detection/a/results.json"]


def test_tables_that_are_pipes_folders_or_links_out_are_damaged(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    folder = tmp_path / "detection" / "a"
    (folder / "dir").mkdir(parents=True)
    os.mkfifo(folder / "pipe")
    (folder / "out").symlink_to(tmp_path / "mine")
    (folder / "round").symlink_to("round")
    (folder / "kept").write_text("mine")
    (folder / "in").symlink_to("kept")
    long = 300 * "x"
    names = ("dir", "pipe", "out", "round", "kept", "in", "gone", long)
    told = {name: {"sha256": sha256(b"mine").hexdigest()} for name in names}
    save_json(folder / "results.json", {"format": 1, "files": told})
    found = verify_store(tmp_path)
    assert [one.rpartition("/")[2] for one in found.sound] == ["results.json", "kept", "in"]
    bad = ["dir", "pipe", "out", "round", long]
    assert [one.rpartition("/")[2] for one in found.damaged] == bad
    assert found.missing == ["detection/a/gone"]
    command("verify", tmp_path, code=1)
    command("verify", tmp_path, "--json", code=1)


@pytest.mark.parametrize("name", ["manifest.json", "study.yml", "lock", "images.parquet", "scores"])
def test_a_pipe_in_a_store_is_damaged_and_not_waited_for(store: Store, name: str) -> None:
    path = store.path / name if name != "scores" else min(store.scores.iterdir())
    path.unlink()
    os.mkfifo(path)
    found = verify_store(store.path)
    assert found.damaged == ([] if name == "lock" else [path.relative_to(store.path).as_posix()])


def test_a_lock_that_is_a_link_is_not_written_over(study: Study, store: Store) -> None:
    mine = store.path.parent / "mine"
    mine.write_text("mine")
    store.lock_path.unlink()
    store.lock_path.symlink_to(mine)
    with pytest.raises(InputError, match="lock: must be a plain file, is a link"):
        run_study(study, store.path.parent, workers=1)
    assert mine.read_text() == "mine"


def test_a_changed_study_file_is_damaged_and_not_run(store: Store) -> None:
    """The manifest has its digest; what mends a store must not be another study."""
    shard = min(store.scores.iterdir())
    shard.write_bytes(flip(shard.read_bytes()))
    whole = store.study_path.read_bytes()
    store.study_path.write_bytes(whole + b"# more\n")
    assert verify_store(store.path).damaged == ["study.yml", f"scores/{shard.name}"]
    own = f"to make it anew, from a file of your own: {store.study_path} is damaged"
    with pytest.raises(InputError, match=re.escape(own)):
        results_digest(store.path)
    assert "sightline run" not in command("verify", store.path, code=1).stdout
    store.study_path.unlink()
    assert verify_store(store.path).missing == ["study.yml"]
    manifest = store.manifest()
    assert manifest.pop("study_sha256") == sha256(whole).hexdigest()
    store.save_manifest(manifest)  # as earlier versions did
    assert verify_store(store.path).missing == []
    store.study_path.write_bytes(whole)
    assert verify_store(store.path).bare == ["study.yml"]
    assert "anew: sightline run " in how_to_mend(shard)


def test_where_nothing_is_stored_nothing_is_verified(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no results are stored there"):
        verify_store(tmp_path)
    with pytest.raises(InputError, match="no results are stored there"):
        verify_store(tmp_path / "none")
