"""What the classifiers of a study say of its images: asked once, kept in the store."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.core import InputError, SightlineError
from sightline.results.study_models import asked_models, loaded_model, scored_picture
from sightline.store import open_store, write_table
from sightline.store.checksums import check_file
from sightline.study import Study
from sightline.study.plan.images import study_dataset
from sightline.study.worker.model_cache import Shelf

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    import pandas as pd

    from sightline.data.dataset import Dataset
    from sightline.models import Model
    from sightline.results import Results
    from sightline.results.study_models import AskedModel

    Progress = Callable[[int, int, str], object]

__all__ = ["PREDICTIONS", "predictions_of", "stored_predictions"]

PREDICTIONS = "predictions.parquet"
"""The file of a store that holds them."""
FORMAT = 1
_KEY = b"sightline"
_BATCH = 16
_STORED = ("model", "image", "predicted", "probability", "classes")
_COLUMNS = ("model", "image", "predicted", "probability", "label", "correct")
# Of images that were read, to be shown to the next model too.
_MOST_BYTES = 256 << 20


@dataclass(frozen=True, eq=False)
class _Known:
    """What is known of a store's images.

    Attributes
    ----------
    images
        A hash over their ids and pixels; labels may change.
    rows
        Columns model, image, predicted, probability, classes (all of the model's, as JSON).
    models
        Weights and fit that each model was asked with; of one without classes, too.
    """

    images: str
    rows: pd.DataFrame
    models: dict[str, list[str]]

    def knows(self, one: AskedModel) -> bool:
        """Say whether a model was asked."""
        return self.models.get(one.name) == [one.digest, one.fit]

    def with_answers(self, one: AskedModel, rows: Sequence[pd.DataFrame]) -> _Known:
        """Return what is known after a model was asked; what it said before is forgotten."""
        import pandas as pd

        others = self.rows[self.rows["model"] != one.name]
        every = pd.concat([others, *rows], ignore_index=True)
        return replace(self, rows=every, models=self.models | {one.name: [one.digest, one.fit]})


def predictions_of(results: Results, *, progress: Progress | None = None) -> pd.DataFrame:
    """Return what the classifiers of a study say of its images.

    They are run once and the answers kept in the store, as `predictions.parquet`. Only models that
    the study names are loaded, in the way in which it was run. A model that has no classes has no
    lines. ``attrs["note"]`` names models that cannot be loaded, or whose weights are no longer
    those that were scored, and says so where answers could not be kept, as the store is being
    written, or lies where nobody may write.

    Parameters
    ----------
    results
        Of the study.
    progress
        Told how many answers are there, of how many, and what is done.

    Returns
    -------
    DataFrame
        model, image, predicted (the class), probability (of it), label (of the image; the one that
        was predicted, where it has several), correct (missing where images have no labels, or none
        that the model has as a class).
    """
    tables = results._tables
    images = _images(tables)
    known = _stored(results.path, _digest(images)) or _nothing(_digest(images))
    asked = asked_models(results)
    unknown = [one for one in asked if not known.knows(one)]
    notes: list[str] = []
    if unknown:
        try:
            dataset = study_dataset(Study.from_dict(results.study).data)
            found = _ask(_Shown(dataset, images), unknown, known, notes, progress)
        except (SightlineError, OSError) as error:
            notes.append(f"models were not asked: {error}")
        else:
            if found is not known:
                notes += _keep(results.path, found)
            known = found
    frame = _labelled(known, asked, images)
    frame.attrs["note"] = "; ".join(notes)
    return frame


def stored_predictions(results: Results) -> pd.DataFrame | None:
    """Return what is stored of the answers of a study's classifiers; None where nothing is.

    Parameters
    ----------
    results
        Of the study.

    Returns
    -------
    DataFrame or None
        As `predictions_of` returns it, of the models whose answers are there.
    """
    images = _images(results._tables)
    known = _stored(results.path, _digest(images))
    if known is None:
        return None
    asked = asked_models(results)
    frame = _labelled(known, asked, images)
    missing = [one.name for one in asked if not known.knows(one)]
    frame.attrs["note"] = f"not asked: {', '.join(missing)}" if missing else ""
    return frame


# --- what is asked -------------------------------------------------------------------------------


def _images(tables: Any) -> list[tuple[str, str, tuple[str, ...]]]:
    """Return id, digest and labels of each image."""
    found = tables.fetch("SELECT image, digest, labels FROM images ORDER BY image")
    return [(image, digest or "", tuple(labels)) for image, digest, labels in found]


def _digest(images: Sequence[tuple[str, str, tuple[str, ...]]]) -> str:
    return sha256(json.dumps([one[:2] for one in images]).encode()).hexdigest()[:16]


# --- asking --------------------------------------------------------------------------------------


class _Shown:
    """The images of a study; those that were read first stay at hand, as models follow each other.

    Parameters
    ----------
    dataset
        That holds them.
    images
        Id, digest and labels of each.
    """

    def __init__(
        self, dataset: Dataset, images: Sequence[tuple[str, str, tuple[str, ...]]]
    ) -> None:
        self.dataset, self.images = dataset, images
        self._kept: dict[str, Any] = {}
        self._bytes = 0

    def batches(self) -> Iterator[tuple[list[str], list[Any]]]:
        """Yield ids with pictures, a few at a time."""
        for start in range(0, len(self.images), _BATCH):
            some = self.images[start : start + _BATCH]
            yield [one[0] for one in some], [self._picture(*one[:2]) for one in some]

    def _picture(self, image: str, digest: str) -> Any:
        if image in self._kept:
            return self._kept[image]
        picture = scored_picture(self.dataset, image, digest)
        if self._bytes + picture.nbytes <= _MOST_BYTES:
            self._kept[image] = picture
            self._bytes += picture.nbytes
        return picture


def _ask(
    shown: _Shown,
    asked: Sequence[AskedModel],
    known: _Known,
    notes: list[str],
    progress: Progress | None,
) -> _Known:
    """Ask models about all images, one after the other: they need not fit into memory together."""
    shelf = Shelf()
    count = len(shown.images)
    for place, one in enumerate(asked):
        model = loaded_model(shelf, one, notes)
        if model is None:
            continue
        rows = []
        try:
            for images, pictures in shown.batches() if model.classes else ():
                rows.append(_answers(one, model, images, pictures))
                if progress is not None:
                    done = place * count + sum(map(len, rows))
                    progress(done, len(asked) * count, "predictions")
        except RuntimeError as error:  # torch's: too little memory, above all
            notes.append(f"{one.name} was not asked what it predicts: {error}")
            continue
        known = known.with_answers(one, rows)
    return known


def _answers(one: AskedModel, model: Model, images: list[str], pictures: list[Any]) -> pd.DataFrame:
    import pandas as pd

    logits = model.logits(pictures, batch=_BATCH).numpy().astype(np.float64)
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    best = shares.argmax(axis=1)
    return pd.DataFrame(
        {
            "model": one.name,
            "image": images,
            "predicted": [model.classes[i] for i in best],
            "probability": shares[np.arange(len(best)), best],
            "classes": json.dumps(list(model.classes)),
        }
    )


# --- keeping -------------------------------------------------------------------------------------


def _nothing(images: str) -> _Known:
    import pandas as pd

    columns = {name: pd.Series(dtype=str) for name in ("model", "image", "predicted", "classes")}
    return _Known(images, pd.DataFrame({**columns, "probability": pd.Series(dtype=float)}), {})


def _stored(path: Path, images: str) -> _Known | None:
    """Return what a store knows of these very images; None where that is nothing.

    A file that is damaged, or is not what `_keep` writes, counts for nothing: models are asked.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    if check_file(path / PREDICTIONS) in ("damaged", "gone"):
        return None
    kinds = {name: pa.float64() if name == "probability" else pa.string() for name in _STORED}
    try:
        table = pq.ParquetFile(path / PREDICTIONS).read()
        about = json.loads((table.schema.metadata or {})[_KEY])
        if (about["format"], about["images"]) != (FORMAT, images):
            return None
        models = {str(name): [str(one) for one in asked] for name, asked in about["models"].items()}
        table = table.select(_STORED).cast(pa.schema(list(kinds.items())))
        rows = table.replace_schema_metadata(None).to_pandas()
        for text in rows["classes"].unique():
            _classes(text)
    except (OSError, pa.ArrowException, KeyError, ValueError, TypeError, AttributeError):
        return None
    if rows.isna().any(axis=None) or rows.duplicated(["model", "image"]).any():
        return None
    return _Known(images, rows, models)


def _keep(path: Path, known: _Known) -> list[str]:
    """Write what is known; return why not, where the store is being written, or cannot be."""
    import pyarrow as pa

    about = {"format": FORMAT, "images": known.images, "models": known.models}
    table = pa.Table.from_pandas(known.rows, preserve_index=False)
    table = table.replace_schema_metadata({_KEY: json.dumps(about).encode()})
    try:
        store = open_store(path)
        with store.locked():
            write_table(path / PREDICTIONS, table, kind="file")
    except (InputError, OSError) as error:
        return [f"what models predict was not kept: {error}"]
    return []


# --- reading -------------------------------------------------------------------------------------


def _labelled(
    known: _Known, asked: Sequence[AskedModel], images: Sequence[tuple[str, str, tuple[str, ...]]]
) -> pd.DataFrame:
    """Return the answers with labels beside them, models in the study's order."""
    import pandas as pd

    order = {one.name: place for place, one in enumerate(asked) if known.knows(one)}
    labels = {image: found for image, _, found in images}
    rows = known.rows[known.rows["model"].isin(order) & known.rows["image"].isin(labels)]
    places = rows["model"].map(order).astype(int)
    rows = rows.assign(place=places).sort_values(["place", "image"], kind="stable")
    classes = {text: _classes(text) for text in rows["classes"].unique()}
    told = [
        _judged(predicted, labels[image], classes[text])
        for image, predicted, text in zip(
            rows["image"], rows["predicted"], rows["classes"], strict=True
        )
    ]
    frame = rows.reset_index(drop=True)
    frame["label"] = pd.Series([label for label, _ in told], dtype=str)
    frame["correct"] = pd.array([right for _, right in told], dtype="boolean")
    return frame[list(_COLUMNS)]


def _classes(text: str) -> set[str]:
    """Return the classes of a model, of which JSON holds a list."""
    return {str(one) for one in json.loads(text)}


def _judged(predicted: str, labels: tuple[str, ...], classes: set[str]) -> tuple[str, bool | None]:
    """Return the label that an answer is held against, and whether it is right."""
    named = [label for label in labels if label in classes]
    if not named:
        return (labels[0] if labels else ""), None
    return (predicted, True) if predicted in named else (named[0], False)
