"""From a study to its plan: everything is opened and checked, nothing is computed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from sightline.core import InputError
from sightline.study.plan.checks import check_notes, check_sources, checked_images
from sightline.study.plan.images import Cards, file_pixels, read_cards, reviewed_of, study_dataset
from sightline.study.plan.methods import LeftOut, method_sources, model_name, variant_name
from sightline.study.plan.plan import Plan, chunked
from sightline.study.plan.precomputed_maps import given_source
from sightline.study.plan.sources import Scoring, Source
from sightline.study.worker.model_cache import Shelf
from sightline.study.worker.scores import rows_per_map
from sightline.study.worker.streams import stays_on

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from sightline.annotation.review_results import Reviewed
    from sightline.data.dataset import Dataset
    from sightline.study import ModelEntry, Study
    from sightline.study.plan.images import Card

    Progress = Callable[[int, int, str], object]

__all__ = ["plan_study", "scoring_of"]

# Images of a task: its forward passes are of so many or fewer. Without a model a task is short,
# and takes more.
CHUNK, CHUNK_OF_MAPS, CHUNK_ON_DEVICE = 16, 64, 256
CHUNK_BYTES = 1 << 29


def plan_study(
    study: Study,
    *,
    shelf: Shelf | None = None,
    batches: Mapping[str, int] | None = None,
    skip_bad: bool = False,
    progress: Progress = lambda done, total, what: None,
) -> Plan:
    """Return the plan of a study: everything is opened and checked, nothing is computed.

    Parameters
    ----------
    study : Study
        What is asked for.
    shelf : Shelf, optional
        Where models are kept once loaded.
    batches : mapping of str to int, optional
        Models, and checks of models, that are known to take only so many images at once.
    skip_bad : bool
        Leave out images that have no file, where a model must see them.
    progress : callable
        Called with how much is done, of how much, and of what.

    Raises
    ------
    InputError
        If data, models, methods, layers or maps do not fit; the message names the key.
    """
    shelf = shelf or Shelf()
    _check_beside(study)
    reviewed = reviewed_of(study.data)
    dataset = study_dataset(study.data, reviewed)
    scoring = scoring_of(study)
    cards = read_cards(
        dataset,
        study.data,
        pixels=bool(study.models),
        progress=lambda done, total: progress(done, total, "Reading images"),
    )
    if not skip_bad:
        _check_files(cards)
    images = _Images([card.image for card in cards.cards], dataset.ids, dataset.root)
    found = _find_sources(study, shelf, batches or {}, images, progress)
    _check_signs(scoring, found.sources)
    _check_means(found.sources, cards)
    _check_labels(study, shelf, cards, found.sources)
    review, circular = _review(study, reviewed, found.sources)
    checks, unchecked = check_sources(study, found.sources, shelf, batches or {})
    plan = Plan(
        dataset,
        scoring,
        (*found.sources, *checks),
        chunked(cards.cards, _chunk_size(study, shelf.device, dataset, cards)),
        cards,
        study.keep_maps == "grid",
        (*found.left_out, *unchecked),
        (*found.notes, *circular, *check_notes(study)),
        checked=checked_images(study, cards.cards),
        review=review,
    )
    return plan.without(cards.missing)


def _check_beside(study: Study) -> None:
    """Raise where recall or lift has nothing beside it that counts attention elsewhere.

    Stores of such studies stay readable: this is asked of what is to be computed alone.
    """
    listed = [name.partition("@")[0] for name in study.metrics]
    found = [name for name in ("recall", "lift") if name in listed]
    if found and not {"iou", "coverage"} & set(listed):
        place = listed.index(found[0])
        raise InputError(
            f"study: metrics[{place}]: {study.metrics[place]} is never shown alone, since "
            "selecting everything looks perfect: add iou or coverage to the metrics"
        )


def scoring_of(study: Study) -> Scoring:
    """Return how a study scores maps."""
    return Scoring(
        study.name,
        study.metrics,
        study.selection,
        study.percentiles,
        study.ties,
        study.regions,
        study.resolution,
    )


def _review(
    study: Study, reviewed: Reviewed | None, sources: Iterable[Source]
) -> tuple[dict[str, Any] | None, list[str]]:
    """Return what is kept of a review, and what is to be told of it."""
    if reviewed is None:
        return None, []
    from sightline.annotation.review_results import shared_models

    # Maps made elsewhere may name their model; their digest is that of the maps.
    evaluated = {
        (one.name, one.weights if one.kind == "model" else ""): None for one in sources if one.name
    }
    shared = list(dict.fromkeys(shared_models(reviewed.facts, evaluated)))
    told = [f"{model} shares weights with {other}" for model, other in shared]
    if shared and study.data.annotations == "completed" and study.data.shared_weights == "refuse":
        raise InputError(
            f"data: {told[0]}, which proposed regions that people then reviewed: scores against "
            "them are circular; let another model propose, or set shared_weights to allow, and "
            "the results are marked"
        )
    facts = reviewed.facts | {"shared": [list(pair) for pair in shared]}
    marked = study.data.annotations == "completed"
    left = reviewed.facts["unfinished"] if marked else 0
    notes = [f"{one}, which proposed regions: its scores are circular" for one in told if marked]
    if left:
        notes.append(f"{left:,} proposals of the review are open or skipped, and are left out")
    unknown = sum(one["proposals"] for one in facts["proposers"] if marked and not one["digest"])
    if unknown:
        notes.append(
            f"it is not known which weights made {unknown:,} proposals of the review: if they are "
            "those of a model of the study, its scores are circular"
        )
    return facts, notes


class _Images(NamedTuple):
    """The images that a study uses, all of its data set, and the folder of that."""

    used: Sequence[str]
    every: Sequence[str]
    root: Path | None


class _Found(NamedTuple):
    """The sources of a study, the methods that do not fit a model, and what is to be told."""

    sources: tuple[Source, ...]
    left_out: tuple[LeftOut, ...]
    notes: tuple[str, ...]


def _find_sources(
    study: Study, shelf: Shelf, batches: Mapping[str, int], images: _Images, progress: Progress
) -> _Found:
    sources: list[Source] = []
    left_out: list[LeftOut] = []
    notes: list[str] = []
    for number, entry in enumerate(study.models):
        progress(number, len(study.models), f"Loading {entry.full}")
        found, lacking = method_sources(study, entry, shelf, batches)
        sources += found
        left_out += lacking
        notes += _baselines_alone(entry.full, found) if lacking else []
        notes += _trained_on(study, entry, shelf, images)
    _check_used(study, sources, left_out)
    for method in study.methods:
        if method.given:
            progress(0, 1, f"Reading maps of {method.name}")
            source, odd = given_source(study, method, images.used, images.every)
            sources.append(source)
            notes += odd
    return _Found(tuple(sources), tuple(left_out), tuple(notes))


def _baselines_alone(model: str, sources: Sequence[Source]) -> list[str]:
    """Say so where no method fits a model but the baselines, which do not look at it."""
    if any(one.group != "baseline" for one in sources):
        return []
    known = f"`sightline methods --model {model}` lists what fits"
    return [f"Only baselines fit {model}, and they know nothing of it: {known}"]


def _trained_on(study: Study, entry: ModelEntry, shelf: Shelf, images: _Images) -> Iterator[str]:
    """Yield a warning where a variant was trained on images that the study scores."""
    from sightline.models.variants import recipes_of

    network = shelf.model(entry.full, entry.fit or study.fit).network
    learned: dict[str, bool] = {}  # whether it is the same image, or may be
    for recipe in recipes_of(network):
        if (sure := _same_data(recipe.data, study, images.root)) is not None:
            for image in (*recipe.training, *recipe.validation):
                learned[image] = sure or learned.get(image, False)
    name = f"{model_name(study, entry)}@{variant_name(study, entry)}"
    for sure, words in (
        (True, "was trained on {} of these images ({}): its"),
        (
            False,
            "was trained on images named as {} of these ({}): if they are the same, its",
        ),
    ):
        if both := [image for image in images.used if learned.get(image) is sure]:
            shown = ", ".join(both[:3]) + (", …" if len(both) > 3 else "")
            said = words.format(f"{len(both):,}", shown)
            yield f"{name} {said} scores on them tell little about new images"


def _same_data(data: Mapping[str, Any], study: Study, root: Path | None) -> bool | None:
    """Return whether ids of a training are those of the study's images; None: of other images."""
    if study.data.name == "facades" or data.get("name") == "facades":  # all have the same ids
        drawn = data.get("name") == study.data.name and data.get("seed") == (study.data.seed or 0)
        return True if drawn else None
    return data.get("name") == study.data.name and data.get("path") == str(root and root.resolve())


def _chunk_size(study: Study, device: str, dataset: Dataset, cards: Cards) -> int:
    """Return how many images make a task: more on a device, which is slowed by small ones.

    But no more than decoded take a few hundred megabytes: several tasks are in memory.
    """
    if not study.models:
        return study.batch or CHUNK_OF_MAPS
    if stays_on(device) and study.batch is None:
        largest = max(1, *(_pixels(card, dataset) for card in cards.cards))
        return max(CHUNK, min(CHUNK_ON_DEVICE, CHUNK_BYTES // (3 * largest)))
    return max(CHUNK, study.batch or 0)


def _pixels(card: Card, dataset: Dataset) -> int:
    """Return how many pixels an image has, as its annotation says or, without that, its file."""
    width, height = card.line["width"], card.line["height"]
    if width is None or height is None:
        return file_pixels(dataset.by_id(card.image), dataset.root)
    return int(width * height)


def _check_used(study: Study, sources: Sequence[Source], left_out: Sequence[LeftOut]) -> None:
    """Raise where methods have no model that they fit."""
    used = {source.method for source in sources}
    lost = {
        method.name: [f"{one.model}: {one.why}" for one in left_out if one.method == method.name]
        for method in study.methods
        if not method.given and method.name not in used
    }
    if not lost:
        return
    told = [f"{name!r} fits none of the models ({'; '.join(why)})" for name, why in lost.items()]
    if all(source.group == "baseline" for source in sources):
        told.append("only baselines are left, which know nothing of a model")
    model = study.models[0].full if len(study.models) == 1 else "NAME"
    raise InputError(
        f"methods: {'; '.join(told)}; `sightline methods --model {model}` lists those that fit"
    )


def _check_files(cards: Cards) -> None:
    """Raise where images that a model must see have no file."""
    if cards.missing:
        shown = list(cards.missing.values())[:3]
        more = len(cards.missing) - len(shown)
        rest = f" (and {more} more)" if more else ""
        raise InputError(f"data: {'; '.join(shown)}{rest}; --skip-bad leaves such images out")


def _check_signs(scoring: Scoring, sources: Iterable[Source]) -> None:
    """Raise where a metric is not defined for the maps of a source; compile what scores them."""
    for sign, source in {source.sign: source for source in sources}.items():
        try:
            rows_per_map(scoring, sign)
        except InputError as error:
            raise InputError(
                f"metrics: maps of {source.method} are read as {sign!r}: {error}"
            ) from error


def _check_means(sources: Iterable[Source], cards: Cards) -> None:
    """Raise where a mean of maps cannot be taken: of a single image, or over different grids."""
    sizes = {(card.line["width"], card.line["height"]) for card in cards.cards}
    for source in sources:
        if source.kind == "mean" and len(cards.cards) < 2:
            raise InputError(f"methods: {source.method} is a mean over other images; there is one")
        if source.kind == "mean" and source.fit == "native" and len(sizes) > 1:
            raise InputError(
                f"methods: {source.method} needs maps of one grid, which fit 'native' does not "
                "give for images of different size: use another fit"
            )


def _check_labels(study: Study, shelf: Shelf, cards: Cards, sources: Iterable[Source]) -> None:
    """Raise where the label of an image is to be explained and a model does not know it."""
    explained = {source.load for source in sources if source.target == "label"}
    for entry in (entry for entry in study.models if entry.full in explained):
        classes = shelf.model(entry.full, entry.fit or study.fit).classes
        for card in cards.cards if classes else ():
            known = [label for label in card.line["labels"] if label in classes]
            if len(known) != 1:
                seen = ", ".join(card.line["labels"]) or "none"
                raise InputError(
                    f"targets: label: image {card.image!r} must have one label that {entry.full} "
                    f"knows, got {seen}"
                )
