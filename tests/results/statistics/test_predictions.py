"""Classifiers are asked once; their answers are kept, and asked again when anything changed."""

from __future__ import annotations

import errno
import json
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from sightline.core import InputError
from sightline.models import load_model
from sightline.results import open_results, predictions
from sightline.results import study_models as asked_models
from sightline.results.predictions import PREDICTIONS, predictions_of, stored_predictions
from sightline.store import Store, write_table
from sightline.store.checksums import save_json

if TYPE_CHECKING:
    from pathlib import Path

CLASSES = ("Baroque", "Gothic", "Renaissance", "Romanesque")
CLASSIFIERS = ["demo/vit", "demo/vit@seed2", "demo/cnn"]


@dataclass
class Stub:
    """A model that says the same of every image."""

    digest: str
    classes: tuple[str, ...]
    best: int

    def logits(self, images: list[Any], *, batch: int) -> torch.Tensor:
        found = torch.zeros(len(images), len(self.classes))
        found[:, self.best] = 2
        return found


class Shelf:
    """Models of a manifest, none of them real; counts how often it is asked for one."""

    def __init__(self, digests: dict[str, str]) -> None:
        self.digests = digests
        self.asked: list[str] = []
        self.broken: set[str] = set()
        self.fits = {"squash"}
        self.best = 1

    def model(self, name: str, fit: str) -> Stub:
        assert fit in self.fits
        self.asked.append(name)
        if name in self.broken:
            raise InputError(f"{name} is not there")
        return Stub(self.digests[name], () if name == "demo/vit-dino" else CLASSES, self.best)


@pytest.fixture
def store(demo_store: Path, tmp_path: Path) -> Path:
    """A copy whose answers are not known."""
    path = tmp_path / "demo"
    shutil.copytree(demo_store, path, ignore=shutil.ignore_patterns("maps", "detection"))
    (path / PREDICTIONS).unlink()
    return path


@pytest.fixture
def shelf(store: Path, monkeypatch: pytest.MonkeyPatch) -> Shelf:
    models = json.loads((store / "manifest.json").read_text())["models"]
    names = {m["model"] + (f"@{m['variant']}" if m["variant"] else ""): m["digest"] for m in models}
    found = Shelf(names)
    monkeypatch.setattr(predictions, "Shelf", lambda: found)
    return found


def ask(store: Path) -> pd.DataFrame:
    with open_results(store) as results:
        return predictions_of(results)


def test_the_stored_answers_are_those_of_the_models(demo_store: Path) -> None:
    with open_results(demo_store) as results:
        found = stored_predictions(results)
        assert found is not None
        labels = dict(results.query("SELECT image, labels[1] AS label FROM images").to_numpy())
    assert list(found) == ["model", "image", "predicted", "probability", "label", "correct"]
    assert list(dict.fromkeys(found["model"])) == CLASSIFIERS
    from sightline.study import demo_study

    data = load_dataset_of(demo_study())
    for name in CLASSIFIERS:
        part = found[found["model"] == name].reset_index(drop=True)
        assert part["image"].tolist() == sorted(labels)
        model = load_model(name, fit="squash")
        shares = torch.softmax(model.logits([data.by_id(part["image"][3]).image()])[0], 0).numpy()
        assert part["predicted"][3] == model.classes[int(shares.argmax())]
        assert part["probability"][3] == pytest.approx(shares.max(), abs=1e-5)
    assert found["label"].tolist() == [labels[image] for image in found["image"]]
    right = (found["predicted"] == found["label"]).tolist()
    assert found["correct"].tolist() == right
    assert np.mean(right) > 0.8


def load_dataset_of(study: Any) -> Any:
    from sightline.study.plan.images import study_dataset

    return study_dataset(study.data)


def test_models_are_asked_once(store: Path, shelf: Shelf) -> None:
    first = ask(store)
    assert shelf.asked == ["demo/vit", "demo/vit@seed2", "demo/vit-dino", "demo/cnn"]
    assert list(dict.fromkeys(first["model"])) == CLASSIFIERS
    assert first["predicted"].unique().tolist() == ["Gothic"]
    assert first["probability"].tolist() == pytest.approx([np.exp(2) / (np.exp(2) + 3)] * 48)
    assert first["correct"].tolist() == (first["label"] == "Gothic").tolist()
    assert first.attrs["note"] == ""
    before = (store / PREDICTIONS).read_bytes()
    pd.testing.assert_frame_equal(ask(store), first)
    assert len(shelf.asked) == 4
    assert (store / PREDICTIONS).read_bytes() == before
    assert not list(store.glob(".*.part"))
    with open_results(store) as results:
        pd.testing.assert_frame_equal(stored_predictions(results), first)  # type: ignore[arg-type]


def test_progress_is_told(store: Path, shelf: Shelf) -> None:
    told: list[Any] = []
    with open_results(store) as results:
        predictions_of(results, progress=lambda *one: told.append(one))
    assert told == [(done, 64, "predictions") for done in (16, 32, 64)]  # the third has no classes


def test_a_model_that_cannot_be_loaded_is_named_and_tried_again(store: Path, shelf: Shelf) -> None:
    shelf.broken = {"demo/cnn"}
    found = ask(store)
    assert set(found["model"]) == {"demo/vit", "demo/vit@seed2"}
    assert "demo/cnn was not asked what it predicts: demo/cnn is not there" in found.attrs["note"]
    with open_results(store) as results:
        kept = stored_predictions(results)
        assert kept is not None
        assert kept.attrs["note"] == "not asked: demo/cnn"
    shelf.broken = set()
    shelf.asked.clear()
    assert set(ask(store)["model"]) == set(CLASSIFIERS)
    assert shelf.asked == ["demo/cnn"]


def test_nothing_is_written_where_nothing_is_known(store: Path, shelf: Shelf) -> None:
    shelf.broken = set(shelf.digests)
    found = ask(store)
    assert found.empty
    assert found.attrs["note"].count("was not asked what it predicts") == 4
    assert not (store / PREDICTIONS).exists()


def test_other_weights_are_not_asked(store: Path, shelf: Shelf) -> None:
    shelf.digests["demo/vit"] = "0" * 16
    found = ask(store)
    assert set(found["model"]) == {"demo/vit@seed2", "demo/cnn"}
    assert "demo/vit was not asked: its weights changed" in found.attrs["note"]


def changed_manifest(store: Path, **models: str) -> None:
    """Change what the manifest says of its first model."""
    path = store / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["models"][0] |= models
    save_json(path, manifest)


@pytest.mark.parametrize("what", ["digest", "fit"])
def test_a_model_that_was_scored_anew_is_asked_anew(store: Path, shelf: Shelf, what: str) -> None:
    ask(store)
    changed_manifest(store, **{what: "crop" if what == "fit" else "1" * 16})
    if what == "digest":
        shelf.digests["demo/vit"] = "1" * 16
    with open_results(store) as results:  # what it said before does not count
        kept = stored_predictions(results)
        assert kept is not None
        assert set(kept["model"]) == {"demo/vit@seed2", "demo/cnn"}
    shelf.asked.clear()
    shelf.best, shelf.fits = 2, {"squash", "crop"}
    found = ask(store)
    assert shelf.asked == ["demo/vit"]
    counts = found.groupby("model", sort=False)["image"].agg(["count", "nunique"])
    assert counts.to_numpy().tolist() == [[16, 16]] * 3
    new = found["model"] == "demo/vit"
    assert set(found.loc[new, "predicted"]) == {"Renaissance"}
    assert set(found.loc[~new, "predicted"]) == {"Gothic"}
    shelf.asked.clear()
    pd.testing.assert_frame_equal(ask(store), found)
    assert not shelf.asked


def test_only_models_of_the_study_are_loaded(store: Path, shelf: Shelf) -> None:
    changed_manifest(store, model="hf:somebody/else")
    found = ask(store)
    assert "hf:somebody/else was not asked: the study does not name it" in found.attrs["note"]
    assert shelf.asked == ["demo/vit@seed2", "demo/vit-dino", "demo/cnn"]


def test_a_manifest_without_models_is_named(store: Path, shelf: Shelf) -> None:
    path = store / "manifest.json"
    manifest = json.loads(path.read_text())
    del manifest["models"][1]["fit"]
    save_json(path, manifest)
    with pytest.raises(InputError, match=r"must hold a list of models, each with .*; 'fit'"):
        ask(store)


def test_a_model_that_fails_is_named(
    store: Path, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Stub, images: list[Any], *, batch: int) -> torch.Tensor:
        if self.digest == shelf.digests["demo/cnn"]:
            raise RuntimeError("no memory is left")
        return torch.zeros(len(images), len(CLASSES))

    monkeypatch.setattr(Stub, "logits", fail)
    found = ask(store)
    assert set(found["model"]) == {"demo/vit", "demo/vit@seed2"}
    assert found.attrs["note"] == "demo/cnn was not asked what it predicts: no memory is left"


def test_images_are_read_once_for_all_models(
    store: Path, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    real = asked_models.scored_picture

    def picture(dataset: Any, image: str, digest: str) -> Any:
        read.append(image)
        return real(dataset, image, digest)

    monkeypatch.setattr(predictions, "scored_picture", picture)
    first = ask(store)
    assert len(read) == 16
    (store / PREDICTIONS).unlink()
    read.clear()
    monkeypatch.setattr(predictions, "_MOST_BYTES", 3 * 224 * 224 * 3)  # room for three
    pd.testing.assert_frame_equal(ask(store), first)
    assert len(read) == 16 + 2 * 13


def test_changed_images_are_not_shown(store: Path, shelf: Shelf) -> None:
    table = pq.read_table(store / "images.parquet")
    digests = ["f" * 16, *table["digest"].to_pylist()[1:]]
    place = table.schema.get_field_index("digest")
    table = table.set_column(place, table.schema.field(place), pa.array(digests))
    pq.write_table(table, store / "images.parquet")
    found = ask(store)
    assert found.empty
    assert "models were not asked: image 'facade-00000.png' changed" in found.attrs["note"]
    assert not (store / PREDICTIONS).exists()


DAMAGE = ["cut", "other images", "other format", "no list", "no models", "no column", "null",
          "twice", "no classes"]  # fmt: skip


def damage_table(table: pa.Table, damage: str) -> pa.Table:
    if damage == "no column":
        return table.drop_columns("probability")
    if damage == "twice":
        return pa.concat_tables([table, table.slice(0, 1)])
    name = "classes" if damage == "no classes" else "predicted"
    values = ["7" if damage == "no classes" else None] * table.num_rows
    return table.set_column(table.schema.get_field_index(name), name, pa.array(values, pa.string()))


@pytest.mark.parametrize("damage", DAMAGE)
def test_what_is_stored_must_fit(store: Path, shelf: Shelf, damage: str) -> None:
    first = ask(store)
    path = store / PREDICTIONS
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:-20])
    elif damage in DAMAGE[5:]:
        write_table(path, damage_table(pq.read_table(path), damage), kind="file")
    else:
        table = pq.read_table(path)
        about = json.loads(table.schema.metadata[b"sightline"])
        about[{"other images": "images", "no models": "models"}.get(damage, "format")] = "0"
        about = [] if damage == "no list" else about
        table = table.replace_schema_metadata({b"sightline": json.dumps(about).encode()})
        pq.write_table(table, path)
    with open_results(store) as results:
        assert stored_predictions(results) is None
    pd.testing.assert_frame_equal(ask(store), first)
    assert len(shelf.asked) == 8


def test_a_store_that_is_being_written_is_left_alone(store: Path, shelf: Shelf) -> None:
    with Store(store).locked():
        found = ask(store)
    assert len(found) == 48
    assert not (store / PREDICTIONS).exists()
    assert "what models predict was not kept" in found.attrs["note"]
    assert "is being written by process" in found.attrs["note"]


def test_a_store_where_nobody_may_write_answers_all_the_same(
    store: Path, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, rows: Any, *, kind: str) -> None:
        raise OSError(errno.EROFS, "Read-only file system", str(path))

    monkeypatch.setattr(predictions, "write_table", refuse)
    found = ask(store)
    assert len(found) == 48
    assert "what models predict was not kept: [Errno 30] Read-only" in found.attrs["note"]
    assert not (store / PREDICTIONS).exists()


def test_nothing_stored(store: Path) -> None:
    with open_results(store) as results:
        assert stored_predictions(results) is None


@pytest.mark.parametrize(
    ("predicted", "labels", "expected"),
    [
        ("a", ("a",), ("a", True)),
        ("b", ("a",), ("a", False)),
        ("b", ("a", "b"), ("b", True)),
        ("a", ("z", "b"), ("b", False)),
        ("a", ("z",), ("z", None)),
        ("a", (), ("", None)),
    ],
)
def test_what_is_right(
    predicted: str, labels: tuple[str, ...], expected: tuple[str, bool | None]
) -> None:
    assert predictions._judged(predicted, labels, {"a", "b", "c"}) == expected


def test_a_study_without_models(given: Path) -> None:
    found = ask(given)
    assert found.empty
    assert list(found) == ["model", "image", "predicted", "probability", "label", "correct"]
