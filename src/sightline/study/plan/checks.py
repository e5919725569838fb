"""The checks of a study as sources of rows, and the rows of each."""

from __future__ import annotations

import re
from bisect import bisect
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from sightline.attribution.sanity.table import (
    BASELINES,
    MEASURES,
    STORED_CURVES,
    STORED_MEASURES,
    Job,
    check_rows,
    split_check,
)
from sightline.core import InputError
from sightline.store.schema import build_checks_schema
from sightline.study.plan.methods import LeftOut
from sightline.study.plan.plan import check_enough, chunked

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa

    from sightline.attribution.sanity.table import Row
    from sightline.core import Sample
    from sightline.models import Model
    from sightline.study import Study
    from sightline.study.config.check_options import MapCheck
    from sightline.study.plan.images import Card
    from sightline.study.plan.plan import Chunk
    from sightline.study.plan.sources import Source
    from sightline.study.worker.model_cache import Shelf

__all__ = [
    "check_notes",
    "check_sources",
    "checked_images",
    "checked_rows",
    "partners_of",
    "build_checks_table",
]

# Images of a task of a check: a network is drawn anew for each.
CHUNK = 16
# Seeds of redrawing below which an interval over them tells little.
FEW = 5
# Targets that are no class.
_CLASSLESS = ("embedding", "detection")
_SEED = re.compile(r"seed\d+")


def checked_images(study: Study, cards: Sequence[Card]) -> dict[str, tuple[Chunk, ...]]:
    """Return for each check of a study the images on which it is made, in groups.

    The images are drawn by a hash of their names: whatever the order of the data, which may go by
    class, and so that asking for more keeps those that were checked.

    Raises
    ------
    InputError
        If there is one image alone: checks compare its map with those of others.
    """
    found: dict[str, tuple[Chunk, ...]] = {}
    drawn = sorted(cards, key=lambda card: sha256(card.image.encode()).digest())
    for name, check in study.checks.asked():
        check_enough(name, len(cards))
        count: int = check.images  # type: ignore[attr-defined]
        found[name] = chunked(drawn[:count], CHUNK)
    return found


def check_sources(
    study: Study, sources: Sequence[Source], shelf: Shelf, batches: Mapping[str, int]
) -> tuple[list[Source], list[LeftOut]]:
    """Return the checks of some sources of maps, and what does not fit.

    `batches` says which checks are known to take only so many images at once.
    """
    found: list[Source] = []
    left_out: list[LeftOut] = []
    for name, check in study.checks.asked():
        left_out += _unasked(name, check, sources)
        chosen = [one for one in sources if _is_chosen(one, check, study)]
        if name != "randomisation":
            chosen = _with_baselines(study, chosen, shelf)
        for source in chosen:
            model = shelf.model(source.load, source.fit)
            if lacking := _lacking(name, source, model):
                left_out.append(LeftOut(source.name, f"{name} of {source.method}", lacking))
                continue
            for layers in _layers(name, check, source, model):
                base = replace(source, kind="check", heads=(None,), layers=layers, part=name)
                batch = min(base.batch, batches.get(base.limited_as, base.batch))
                base = replace(base, batch=batch)
                found += (_sealable(one) for one in _checks_of(study, base, name, check, shelf))
    _check_any(study, found, left_out)
    return found, left_out


def _unasked(name: str, check: MapCheck, sources: Sequence[Source]) -> Iterator[LeftOut]:
    """Yield the maps that no model can be asked for again."""
    whys = {
        "mean": "it is made of other images' maps, and asks no model",
        "given": "made elsewhere: there is no model to ask again",
    }
    found = {}
    for one in sources:
        asked = check.methods is None or one.method in check.methods
        among = one.kind == "given" or check.models is None or one.load in check.models
        if one.kind in whys and asked and among:
            found[one.name, one.method] = LeftOut(
                one.name or "maps", f"{name} of {one.method}", whys[one.kind]
            )
    yield from found.values()


def _sealable(source: Source) -> Source:
    """Return a source with a key of its own until it is sealed."""
    names = source.part, source.name, source.method, source.target, source.check
    return replace(source, key=" ".join([*names, *map(str, source.layers)]))


def _check_any(study: Study, found: Sequence[Source], left_out: Sequence[LeftOut]) -> None:
    """Raise where a check that was asked for fits nothing of the study."""
    for name, _ in study.checks.asked():
        if not any(one.part == name for one in found):
            whys = [f"{one.model}: {one.why}" for one in left_out if one.method.startswith(name)]
            told = f" ({'; '.join(dict.fromkeys(whys))})" if whys else ""
            raise InputError(f"checks: {name} fits no maps of the study{told}")


def _is_chosen(source: Source, check: MapCheck, study: Study) -> bool:
    """Say whether maps are checked: those of a model, drawn with the first seed."""
    return (
        source.kind == "model"
        and (check.models is None or source.load in check.models)
        and (check.methods is None or source.method in check.methods)
        and source.seed in (None, study.seeds[0])
    )


def _with_baselines(study: Study, sources: Sequence[Source], shelf: Shelf) -> list[Source]:
    """Return sources with the baselines of each model, for every target that is measured.

    A map that explains nothing is measured by what the model predicts (its target is ""), and by
    other targets that are asked for; of a model without classes by its embedding, of a detector by
    its detection, under these names where others explain them.
    """
    found: list[Source] = []
    for load in dict.fromkeys(source.load for source in sources):
        own = [source for source in sources if source.load == load]
        named = {source.method for source in own}
        own += (_baseline(study, own[0], name) for name in BASELINES if name not in named)
        model = shelf.model(load, own[0].fit)
        usual = "detection" if model.detects else "predicted" if model.classes else "embedding"
        asked = dict.fromkeys(one.target for one in own)
        blind = [one for one in own if not one.target]
        if usual != "predicted" and usual in asked:  # "" would be the same again
            own = [replace(one, target=one.target or usual) for one in own]
        found += own
        for target in asked:
            if target not in ("", "predicted", usual):
                found += [replace(one, target=target) for one in blind]
    return found


def _baseline(study: Study, source: Source, name: str) -> Source:
    """Return the source of a baseline, beside another of the same model."""
    from sightline.attribution.methods import METHODS

    card = METHODS[name]
    params, seed = card.with_defaults({}), None
    if "seed" in card.params:
        seed = params["seed"] = study.seeds[0]
    return replace(
        source,
        method=name,
        group=card.group,
        params=params,
        layers=(None,),
        heads=(None,),
        target="",
        seed=seed,
        sign=card.sign,
    )


def _lacking(name: str, source: Source, model: Model) -> str:
    """Return what keeps a check from maps; "" where nothing does."""
    if name != "parts":
        return ""
    if not model.classes or model.detects:
        return "needs a classifier"
    return f"needs a class, the target is {source.target}" * (source.target in _CLASSLESS)


def _layers(
    name: str, check: MapCheck, source: Source, model: Model
) -> list[tuple[int | None, ...]]:
    """Return the layers of a source that are checked, those together that one pass serves.

    Best layers that are not among those of the study's section have sources of their own, so that
    the keys of the others stay what they are.
    """
    if source.layers == (None,):
        return [(None,)]
    best = check.select_best_layers(source.name, source.method, source.target)
    for layer in best:
        if layer not in source.layers:
            raise InputError(
                f"checks: {name}: best_layers: {source.name} {source.method}: layer must be one "
                f"that the study scores ({', '.join(map(str, source.layers))}), got {layer}"
            )
    if check.layers == "best" and not best:
        target = f" target {source.target}" if source.target else ""
        raise InputError(
            f"checks: {name}: best_layers: none of {source.name} {source.method}{target}; "
            "`sightline sanity RUN` chooses it"
        )
    first = _read_section_layers(check, source, model)
    return [*([first] if first else []), *((layer,) for layer in best if layer not in first)]


def _read_section_layers(check: MapCheck, source: Source, model: Model) -> tuple[int | None, ...]:
    """Return the layers that the section asks for, whatever scores say."""
    if check.layers == "best":
        return ()
    if check.layers == "last":
        return (max(layer for layer in source.layers if layer is not None),)
    try:
        return model.layer_indices(check.layers)
    except InputError as error:
        raise InputError(f"checks: layers: {error}") from error


def _checks_of(study: Study, base: Source, name: str, check: Any, shelf: Shelf) -> Iterator[Source]:
    """Yield the sources of one check of one method."""
    if name == "randomisation":
        training = _other_trainings(study, base, shelf)
        options = {"seeds": check.seeds, "training": training}
        yield replace(base, check="reference", options=options)
        for way in check.ways:
            for seed in range(check.seeds):
                yield replace(base, check=f"{name}/{way}/{seed}")
    elif name == "faithfulness":
        options = {"measures": list(check.measures or MEASURES), "steps": check.steps}
        yield replace(base, check=name, options=options)
    else:
        yield replace(base, check=name)


def _other_trainings(study: Study, source: Source, shelf: Shelf) -> dict[str, list[str]]:
    """Return the same network trained from other seeds: by variant, what to load, and its digest.

    They are named ``model`` and ``model@seed2``, are models of the study or shipped, and know the
    same classes.
    """
    from sightline.models import MODELS

    base, _, variant = source.load.partition("@")
    if variant and not _SEED.fullmatch(variant):
        return {}
    known = [*(entry.full for entry in study.models), *MODELS]
    classes = set(shelf.model(source.load, source.fit).classes)
    found = {}
    for name in dict.fromkeys(known):
        root, _, other = name.partition("@")
        same = root == base and name != source.load and (not other or _SEED.fullmatch(other))
        if same and set((model := shelf.model(name, source.fit)).classes) == classes:
            found[other or "base"] = [name, model.digest]
    return found


def check_notes(study: Study) -> Iterator[str]:
    """Yield what is to be told of the checks of a study."""
    asked = study.checks.randomisation
    if asked is not None and asked.seeds < FEW:
        yield (
            f"Checks: the network is drawn {asked.seeds} times; with fewer than {FEW} the interval "
            "over draws is wide, and often nothing can be told"
        )


def partners_of(images: Sequence[str], labels: Mapping[str, Iterable[str]], seed: int) -> list[str]:
    """Return for each image another, of another class where one is known.

    Parameters
    ----------
    images : sequence of str
        All of a check, two or more, in order.
    labels : mapping
        The labels of each.
    seed : int
        Other seeds give other partners, as long as there are others.

    Examples
    --------
    >>> partners_of(["a", "b", "c"], {"a": ["x"], "b": ["x"], "c": ["y"]}, 0)
    ['c', 'c', 'a']
    >>> partners_of(["a", "b", "c"], {}, 1)
    ['c', 'a', 'b']
    """
    named = [frozenset(labels.get(image, ())) for image in images]
    unlike = {
        own: [place for place, other in enumerate(named) if not own & other]
        for own in set(named)
        if own
    }
    found = []
    for place, own in enumerate(named):
        if others := unlike.get(own):  # the next of them after the image, and so on
            chosen = others[(bisect(others, place) + seed) % len(others)]
        else:
            chosen = (place + 1 + seed % (len(images) - 1)) % len(images)
        found.append(images[chosen])
    return found


def checked_rows(
    source: Source,
    samples: Sequence[Sample],
    partners: Mapping[int, Sequence[Sample]],
    shelf: Shelf,
) -> list[Row]:
    """Return the rows of a check on some images."""
    options = dict(source.options)
    if source.check == "reference":
        trained = options.pop("training")
        options["training"] = {
            name: shelf.model(load, source.fit) for name, (load, _) in trained.items()
        }
    job = Job(
        shelf.model(source.load or source.name, source.fit),
        source.method,
        source.params,
        source.layers,
        source.target,
        source.batch,
        options,
        source.check,
    )
    return check_rows(job, samples, partners)


def build_checks_table(source: Source, rows: Sequence[Row]) -> pa.Table:
    """Return the rows of a check as a results table: one row per image, layer and stage."""
    import pyarrow as pa

    schema = build_checks_schema(STORED_MEASURES, STORED_CURVES)
    found: dict[tuple[str, int | None, str], dict[str, Any]] = {}
    for row in rows:
        place = row.image, row.layer, row.check
        values = found.setdefault(place, {})
        if row.threshold:
            values.setdefault(row.metric, {})[float(row.threshold)] = row.value
        else:
            values[row.metric] = row.value
    lines = []
    for (image, layer, path), values in found.items():
        check, order, draw, index, stage = split_check(path)
        line = {**source.row_keys(), "image": image, "layer": layer, "check": check}
        line |= {"order": order, "draw": draw, "stage_index": index, "stage": stage}
        lines.append(line | _split_curves(values))
    return pa.Table.from_pylist(lines, schema)


def _split_curves(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the numbers of a row, its curves as lists, and the fractions that these share."""
    curves = {name: value for name, value in values.items() if isinstance(value, dict)}
    found = {name: value for name, value in values.items() if name not in curves}
    for name, points in curves.items():
        fractions = list(points)
        if found.setdefault("curve_fractions", fractions) != fractions:
            raise ValueError(f"{name}: curves of one map must have the same fractions")
        found[name] = list(points.values())
    return found
