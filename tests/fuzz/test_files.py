"""Hostile files of every format: read, or refused by name; nothing executed, little memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from sightline.core import InputError, Taxonomy
from sightline.data import load_dataset
from sightline.data.annotations import read_annotation_file
from sightline.data.formats.plain_yaml import parse_yaml
from sightline.detection.files.coco_json import read_coco_detections
from tests.fuzz.child import Outcome
from tests.fuzz.files import READERS, VALID
from tests.fuzz.mutations import COCO, WRONG, mutants

SEED, GARBLED, MEGABYTES, EVERY = 0, 4, 1000, 8
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """Read all files in one child whose memory is limited."""
    folder = tmp_path_factory.mktemp("files")
    words = ["tests.fuzz.child", "files", folder, SEED, GARBLED, MEGABYTES, EVERY]
    done = subprocess.run(
        [sys.executable, "-m", *map(str, words)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=400,
    )
    lines = done.stdout.splitlines()
    assert done.returncode == 0, f"ended at {lines[-1:]}: {done.stderr[-2000:]}"
    return Outcome(**json.loads(lines[-1]))


def test_every_file_is_read_or_refused(outcome: Outcome) -> None:
    assert outcome.wrong == []
    assert outcome.cases > 2000
    assert outcome.cases == len(outcome.read) + outcome.refusals
    assert len(outcome.refused) > len(outcome.read) > 200


def test_memory_is_bounded(outcome: Outcome) -> None:
    """The largest file has some megabytes."""
    assert outcome.peak < 600


def test_every_reader_is_met(outcome: Outcome) -> None:
    met = {name.partition(":")[0] for name in (*outcome.read, *outcome.refused)}
    assert met == set(READERS)
    read = {name.partition(":")[0] for name in outcome.read if name.endswith("as it should be")}
    assert read == set(VALID)


@pytest.mark.parametrize(
    ("case", "why"),
    [
        ("annotations: deep lists", "is not valid JSON"),
        ("annotations: many keys, the last twice", "has the key 'k0' twice"),
        ("annotations: an outline that never ends", "image sides long, more than 2000"),
        ("annotations: labels in a row", "at most 1,500,000 above them"),
        ("annotations: many labels below many", "at most 1,500,000 above them"),
        ("annotations: 10⁹ pixels", "width must be a whole number of pixels from 1 to 1000000"),
        ("annotations: 10¹² pixels", "RLE size must be 1 to 80000000 pixels"),
        ("annotations: counts '[0, 201]'", "RLE counts sum to 201, not to 10 x 20"),
        ("annotations: counts '[-1, 201]'", "from 0 to 80000000, got -1"),
        ("truth with masks: counts '[0, 201]'", "add up to 10 × 20 pixels; got 201"),
        ("annotations: 50 GB of nothing", "larger than the memory that is left"),
        ("truth: 50 GB of nothing", "larger than the memory that is left"),
        ("truth: deep lists", "nested too deep"),
        ("voc: a billion laughs", "must not declare a document type or entities"),
        ("voc: another file", "must not declare a document type or entities"),
        ("voc: entities in UTF-16 le", "holds NUL"),
        ("voc: entities in UTF-16 be", "holds NUL"),
        ("voc: too large", "at most 8,000,000 bytes"),
        ("voc masks: a broken mask", "a.png: cannot be read as an image"),
        ("yolo: a billion laughs", "name of class 0 must be text"),
        ("yolo: a billion merged", "<< must merge at most 10,000 values in all"),
        ("yolo: nothing, merged often", "<< must merge at most 10,000 values in all"),
        ("yolo: what cannot be merged", "for merging, but found scalar"),
        ("yolo: sixties", "at most 100 characters"),
        ("yolo: tag python/object/apply:os.system", "could not determine a constructor"),
        ("yolo: half a character", "half of a character"),
        ("yolo: large", "at most 10,000,000 characters"),
        ("study: a billion laughs", "aliases are not read"),
        ("study: sixties with a point", "cannot be read"),
        ("study: tag python/object/apply:os.system", "tags (!…) are not read"),
        ("npz: a bomb", "at most 80,000,000 values, the file declares 9000 x 9000"),
        ("npz: a bomb of text", "is not a .npy array of numbers"),
        ("npz: a header of 0", "is not a .npy array of numbers"),
        ("npz: a header of 1", "is not a .npy array of numbers"),
        ("maps: 50 GB: a header of 0", "is not a .npy array of numbers"),
        ("maps: 50 GB: a header of 1", "is not a .npy array of numbers"),
        ("maps: 50 GB: one long text", "must hold real numbers, got |S2147483647"),
        ("npz: a name twice", "two maps are named 'a'"),
        ("npz: packed as 14", "packed in a way that NumPy does not write"),
        ("npz: byte 6 is 1", "is not a .npy array of numbers"),
        ("maps: npy: a pickled array", "is not a .npy array of numbers"),
        ("maps: npy: shape (1000000000, 1000000", "at most 80,000,000 values"),
        ("maps: npy: shape (40000, 2000)", "values are missing"),
        ("maps: npy: a long header", "is not a .npy array of numbers"),
        ("safetensors: a header of 9223372036854775808", "header too large"),
        ("safetensors: overlapping", "invalid offset"),
        ("safetensors: deep metadata", "metadata 'sightline' must be what"),
        ("table: cell 'nan'", "finite numbers"),
        ("manifest: deep objects", "must be JSON"),
    ],
)
def test_why_some_are_refused(outcome: Outcome, case: str, why: str) -> None:
    assert why in outcome.refused[case]


# --- what the child cannot tell -------------------------------------------------------------------


def test_mutants_are_many_and_differ() -> None:
    texts = [json.dumps(value) for _, value in mutants(COCO)]
    assert len(texts) > 1500
    assert len(set(texts)) > 0.98 * (len(texts) - len(WRONG))
    assert json.dumps(COCO) not in texts[len(WRONG) :]


def test_one_bad_record_is_set_aside_alone(tmp_path: Path) -> None:
    """A label with half of a character costs its own region, not the file."""
    region = {"label": "\ud800", "box": [0, 0, 1, 1]}
    good = {"label": "é", "box": [0, 0, 1, 1]}
    records = [{"image": "a.jpg", "regions": [region, good]}]
    content = {"format": "sightline-annotations", "version": 1, "images": records}
    (tmp_path / "annotations.json").write_text(json.dumps(content))
    with pytest.raises(InputError, match=r"a.jpg.*region 0: label .* half of a character"):
        read_annotation_file(tmp_path / "annotations.json")
    found = load_dataset("folder", tmp_path, skip_bad=True)
    assert [region.label for region in found[0].annotation.regions] == ["é"]
    assert len(found.skipped) == 1


def test_a_device_is_no_file() -> None:
    with pytest.raises(InputError, match=r"/dev/zero: must be a \.json file; it is a device"):
        read_coco_detections("/dev/zero")


def test_yaml_that_people_write_is_read() -> None:
    assert parse_yaml("a: &x [1, 1:30]\nb: *x\nc: 1.5") == {"a": [1, 90], "b": [1, 90], "c": 1.5}
    merged = parse_yaml("a: &a {x: 1, y: 2}\nb: &b {y: 3, z: 4}\nc: {<<: [*a, *b], x: 5}")
    assert merged["c"] == {"x": 5, "y": 2, "z": 4}
    with pytest.raises(InputError, match="at most 10,000,000 characters, has 10,000,001"):
        parse_yaml(" " * 10_000_001)


def test_as_many_labels_as_word_nets_have() -> None:
    """A tree with ten levels above each of 80,000 words is within the bounds."""
    names = [f"w{n}" for n in range(3000)]
    parents = {name: [names[n - 1]] if n % 10 else [] for n, name in enumerate(names)}
    assert Taxonomy(parents).ancestors("w9") == tuple(f"w{n}" for n in range(8, -1, -1))
