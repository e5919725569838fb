"""What a review came to, for a study: from its folder, or from a file that was written of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sightline.annotation.completion import completed, review_facts
from sightline.annotation.gold import FORMAT, Gold
from sightline.annotation.journal import Journal
from sightline.core import InputError
from sightline.data.annotations import read_annotation_file
from sightline.data.datasets import DATASETS
from sightline.data.formats.checks import as_object, located, records, show, text, texts
from sightline.data.formats.lines import read_text

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Mapping

    from sightline.annotation.completion import Which
    from sightline.core import Annotation

__all__ = ["Reviewed", "other_images", "read_reviewed", "shared_models"]

_FACTS = ("data", "digest", "unfinished", "proposers", "people", "decisions", "gold")


class Reviewed(NamedTuple):
    """Annotations of a review, and what must be told of them.

    Attributes
    ----------
    annotations
        By image id: of all images, or of the gold ones.
    facts
        As JSON has it: ``which``; ``data``, the words that open the images; ``digest`` of all
        regions; ``unfinished`` items; ``proposers`` with their digests; ``people``; ``decisions``;
        ``gold``.
    """

    annotations: dict[str, Annotation]
    facts: dict[str, Any]


def read_reviewed(path: str | os.PathLike[str], which: Which) -> Reviewed:
    """Read the completed or the gold annotations of a review.

    Parameters
    ----------
    path : path
        Folder or SQLite file of the review, or a .json file that `sightline review export` wrote.
    which : {"completed", "gold"}
        See `completed`.

    Raises
    ------
    InputError
        If there is no review, the gold set is not locked, or the file holds the other annotations.
    """
    place = Path(path)
    if place.suffix.lower() == ".json":
        return _from_file(place, which)
    with Journal.open(place) as journal:
        found = completed(journal, which)
        facts = {"digest": found.digest, "unfinished": found.unfinished, **review_facts(journal)}
    return Reviewed(found.annotations, {"which": which} | {key: facts[key] for key in _FACTS})


def _from_file(path: Path, which: Which) -> Reviewed:
    import json

    found = read_annotation_file(path)
    with located(str(path)):
        told = json.loads(read_text(path)).get("provenance")
        if not isinstance(told, dict) or any(key not in told for key in ("which", *_FACTS)):
            raise InputError(
                "does not say how it was reviewed; give the folder of a review, or a file that "
                "`sightline review export` wrote"
            )
        if told["which"] != which:
            raise InputError(f"must hold the {which} annotations, holds {show(told['which'])}")
        _check_facts(told)
    return Reviewed(found.annotations, {key: told[key] for key in ("which", *_FACTS)})


def _check_facts(told: Mapping[str, Any]) -> None:
    """Raise unless a file's words about a review are as `sightline review export` writes them."""
    with located("provenance"):
        _check_count(told, "unfinished")
        if told["data"] is not None:
            as_object(as_object(told["data"]).get("options", {}))
        for place, one in enumerate(records(told, "proposers")):
            with located(f"proposers[{place}]"):
                _check_count(one, "proposals")
                for name in ("model", "digest", "source"):
                    text(one.get(name), name)
        for mode in ("review", "gold"):
            texts(as_object(told["people"]).get(mode), "person")
        for name in ("accepted", "edited", "rejected", "drawn"):
            _check_count(as_object(told["decisions"]), name)
        if told["gold"] is not None:
            with located("gold"):
                Gold.from_dict({"format": FORMAT, **as_object(told["gold"])})
                for one in records({"reopened": [], **told["gold"]}, "reopened"):
                    texts([one.get(name) for name in ("at", "by", "why")], "reopening")


def _check_count(found: Mapping[str, Any], name: str) -> None:
    value = found.get(name)
    if type(value) is not int or value < 0:
        raise InputError(f"{name} must be a count, got {show(value)}")


def shared_models(
    facts: Mapping[str, Any], models: Iterable[tuple[str, str]]
) -> Iterator[tuple[str, str]]:
    """Yield pairs of an evaluated model and a proposer that share weights.

    Weights are shared where digests are equal, or one is a variant of the other: most of a variant
    is what it was made from.

    Parameters
    ----------
    facts
        Of a review.
    models
        Names of the evaluated models, variants after an @, each with the digest of its weights.

    Examples
    --------
    >>> facts = {"proposers": [{"model": "demo/vit-dino", "digest": "1f"}]}
    >>> list(shared_models(facts, [("demo/vit-dino@tuned", "2c"), ("demo/cnn", "3d")]))
    [('demo/vit-dino@tuned', 'demo/vit-dino')]
    """
    known = [(str(one["model"]), str(one["digest"])) for one in facts["proposers"]]
    for name, digest in models:
        for other, theirs in known:
            same = bool(digest) and digest == theirs
            if same or (other and _base(name) == _base(other)):
                yield name, other or theirs


def other_images(made: Mapping[str, Any] | None, data: Mapping[str, Any]) -> str:
    """Say why the images of a review are not those of a study, though their names are; or "".

    Parameters
    ----------
    made
        The words that open the images of the review; None where they are not known.
    data
        The same of the study. All facades have the same names, whatever their seed.

    Examples
    --------
    >>> made = {"name": "facades", "options": {"seed": 7}}
    >>> other_images(made, {"name": "facades", "seed": None})
    'the review is of facades of seed 7, the study of facades of seed 0'
    """
    if made is None or (made.get("name"), data["name"]) != ("facades", "facades"):
        return ""
    usual = DATASETS["facades"].options["seed"]
    theirs, ours = made.get("options", {}).get("seed", usual), data.get("seed")
    ours = usual if ours is None else ours
    if theirs == ours:
        return ""
    return f"the review is of facades of seed {show(theirs)}, the study of facades of seed {ours}"


def _base(name: str) -> str:
    """Return a model without its variant; of weights in a folder the folder's name, as stores do.

    >>> _base("hf:/models/vit@tuned"), _base("demo/vit@seed2")
    ('hf:vit', 'demo/vit')
    """
    base = name.partition("@")[0]
    kind, _, place = base.partition(":")
    return f"hf:{Path(place).name}" if kind == "hf" and Path(place).is_absolute() else base
