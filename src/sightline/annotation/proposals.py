"""What a machine proposes: further instances of what people have marked, kept with where from."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sightline.annotation._conflicts import settle
from sightline.core import Annotation, InputError, Region, UnknownNameError
from sightline.data.annotations import parse_json, read_annotation_file
from sightline.data.formats.checks import as_object, items, located, number, show, text
from sightline.data.formats.coco import is_coco, read_coco
from sightline.data.formats.lines import read_text
from sightline.data.formats.plain import read_region
from sightline.data.outputs import check_output, replacing
from sightline.data.problems import Problems
from sightline.data.writers import region_record

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from sightline.annotation.proposers import Proposer
    from sightline.core import Sample
    from sightline.data.dataset import Dataset

__all__ = ["FORMAT", "Proposal", "Proposals", "propose", "read_proposals", "write_proposals"]

FORMAT = "sightline-proposals/1"
"""What a file of proposals says that it is."""
_KIND = "sightline-proposals/"
_KINDS = ("box", "polygon", "mask")
_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_DIGITS = 4  # of a corner, which rounding on another machine does not change


@dataclass(frozen=True, slots=True)
class Proposal:
    """A region that may be another instance of a label.

    Attributes
    ----------
    id : str
        Its name, unique in a file: the same proposal made again has the same one.
    image_id : str
        The image it is on.
    region : Region
        A box, a polygon or a mask, with label, score and source.
    score : float
        From 0 to 1, higher is likelier.
    source : str
        What made it: "similarity", "sam", or "imported".
    prompt : int or None
        The `index` of the marked region it was made from; None if nobody said.
    model, digest : str
        Name and digest of weights of the model that made it; "" if nobody said.

    Examples
    --------
    >>> window = Region("window", box=(0.1, 0.2, 0.3, 0.4), score=0.8, source="sam")
    >>> Proposal("first", "church.jpg", window, 0.8, "sam").label
    'window'
    """

    id: str
    image_id: str
    region: Region
    score: float
    source: str
    prompt: int | None = None
    model: str = ""
    digest: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.id, str) or not _ID.fullmatch(self.id):
            raise InputError(f"id of a proposal must match {_ID.pattern}, got {show(self.id)}")
        Annotation(self.image_id)  # raises where that is no id
        if self.region.kind not in _KINDS:
            wanted = f"region of a proposal must be one of {', '.join(_KINDS)}"
            raise InputError(f"{wanted}, got {self.region.kind!r}")
        if not 0 <= self.score <= 1:
            raise InputError(f"score must be from 0 to 1, got {self.score!r}")
        if not self.source:
            raise InputError("source must say what made the proposal, got ''")

    @property
    def label(self) -> str:
        """What it is proposed to be."""
        return self.region.label

    @classmethod
    def made(
        cls, image_id: str, region: Region, prompt: int | None, model: str = "", digest: str = ""
    ) -> Proposal:
        """Return a proposal whose id follows from what it is; the region has score and source.

        Examples
        --------
        >>> window = Region("window", box=(0.1, 0.2, 0.3, 0.4), score=0.8, source="sam")
        >>> Proposal.made("church.jpg", window, 0).id
        'f56a92f858b1e383'
        """
        if region.score is None:
            raise InputError("a proposal needs a score from 0 to 1, and the region has none")
        return cls(
            _name(image_id, region, prompt, digest),
            image_id,
            region,
            float(region.score),
            region.source,
            prompt,
            model,
            digest,
        )


def _name(image_id: str, region: Region, prompt: int | None, digest: str, repeated: int = 0) -> str:
    """Return the id of a proposal; `repeated` counts those before it that are just the same."""
    box = [f"{corner:.{_DIGITS}f}" for corner in region.box]
    parts = [image_id, region.label, prompt, region.source, digest, *box, repeated]
    return sha256(json.dumps(parts).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Proposals:
    """Proposals for a data set, and how they were made.

    Attributes
    ----------
    items : tuple of Proposal
        By image, the best of each first.
    data : str
        Words about the data set.
    settings : mapping
        How they were made, as JSON has it: the proposer and its options.

    Examples
    --------
    >>> window = Region("window", box=(0.1, 0.2, 0.3, 0.4), score=0.8, source="sam")
    >>> found = Proposals((Proposal.made("church.jpg", window, 0),), data="churches")
    >>> len(found), [one.score for one in found.of("church.jpg")]
    (1, [0.8])
    """

    items: tuple[Proposal, ...]
    data: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        doubled = [name for name, count in Counter(p.id for p in self.items).items() if count > 1]
        if doubled:
            raise InputError(f"two proposals have the id {doubled[0]!r}")

    def __len__(self) -> int:
        return len(self.items)

    @cached_property
    def _by_image(self) -> dict[str, tuple[Proposal, ...]]:
        found: dict[str, list[Proposal]] = {}
        for proposal in self.items:
            found.setdefault(proposal.image_id, []).append(proposal)
        return {image_id: tuple(those) for image_id, those in found.items()}

    def of(self, image_id: str) -> tuple[Proposal, ...]:
        """Return those on an image; none where there are none."""
        return self._by_image.get(image_id, ())

    def models(self) -> frozenset[tuple[str, str]]:
        """Return name and digest of each model that made some of them, or compared features."""
        known = {(proposal.model, proposal.digest) for proposal in self.items}
        other = self.settings.get("features")  # of a second model: see `SamProposer`
        if isinstance(other, Mapping):
            known.add((str(other.get("model", "")), str(other.get("digest", ""))))
        return frozenset(pair for pair in known if any(pair))


# --- making --------------------------------------------------------------------------------------


def propose(
    dataset: Dataset,
    proposer: Proposer,
    *,
    images: Iterable[str] | None = None,
    labels: Iterable[str] | None = None,
    most: int | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Proposals:
    """Propose, for each marked region, other instances of its label on the same image.

    What overlaps a marked region of its label (IoU from 0.5, or one of the two mostly in the
    other) is dropped. So is, of proposals of one label that overlap like that, all but the best;
    and where two labels claim one place (IoU from 0.5), the one that is marked there, or else the
    better one, has it.

    Parameters
    ----------
    dataset : Dataset
        From `load_dataset`.
    proposer : Proposer
        From `make_proposer`.
    images : iterable of str, optional
        Ids of the images; all unless given.
    labels : iterable of str, optional
        Labels that are proposed; all unless given. The others still claim their places.
    most : int, optional
        Proposals from one marked region, at most.
    progress : callable, optional
        Called with the number of images done and of all.

    Raises
    ------
    UnknownNameError
        If an image is not there, or no region has one of the labels.
    InputError
        If an image cannot be read, or `most` is below 1.
    """
    if most is not None and (not isinstance(most, int) or most < 1):
        raise InputError(f"most must be a whole number of 1 or more, got {most!r}")
    chosen = dataset if images is None else dataset.select(images)
    wanted = None if labels is None else _known_labels(chosen, labels)
    found: list[Proposal] = []
    for done, sample in enumerate(chosen):
        if progress is not None:
            progress(done, len(chosen))
        found += _settled(sample, proposer.propose(sample), wanted, most)
    if progress is not None:
        progress(len(chosen), len(chosen))
    settings = {"proposer": proposer.name, "model": proposer.model, "digest": proposer.digest}
    given = {"labels": None if wanted is None else sorted(wanted), "most": most}
    asked = {name: value for name, value in given.items() if value is not None}
    words = f"{dataset.name}: {len(chosen)} images"
    return Proposals(tuple(found), words, settings | dict(proposer.settings) | asked)


def _known_labels(dataset: Dataset, labels: Iterable[str]) -> frozenset[str]:
    """Return labels, each of which some region has."""
    wanted = frozenset([labels] if isinstance(labels, str) else labels)
    known: set[str] = set()
    for sample in dataset:
        known.update(region.label for region in sample.annotation.regions)
        if wanted <= known:
            return wanted
    if missing := wanted - known:
        listed = ", ".join(sorted(known)) or "none"
        raise UnknownNameError(f"no region has the label {min(missing)!r}; there are {listed}")
    return wanted


def _settled(
    sample: Sample, made: list[Proposal], labels: frozenset[str] | None, most: int | None
) -> list[Proposal]:
    """Return the proposals of an image that stay, the best first."""
    ordered = sorted(made, key=lambda proposal: -proposal.score)  # stable: of equal ones the first
    given = sample.annotation.scored
    kept = settle(
        [(proposal.label, proposal.region.box) for proposal in ordered],
        [(region.label, region.box) for region in given],
    )
    count: Counter[int | None] = Counter()
    found = []
    for proposal in (ordered[place] for place in kept):
        count[proposal.prompt] += 1
        few = most is None or count[proposal.prompt] <= most
        if few and (labels is None or proposal.label in labels):
            found.append(proposal)
    return found


# --- files ---------------------------------------------------------------------------------------


def write_proposals(proposals: Proposals, path: str | os.PathLike[str]) -> None:
    """Write proposals as JSON, one a line; a file of that name is replaced in one step.

    Raises
    ------
    InputError
        If the file cannot be written there, or the settings are not as JSON has them.
    """
    place = check_output(path, "a file of proposals", (".json",))
    with located(str(place)):
        try:
            head = {"format": FORMAT, "data": proposals.data, "settings": dict(proposals.settings)}
            lines = [json.dumps(_record(one), allow_nan=False) for one in proposals.items]
            start = json.dumps(head, allow_nan=False, indent=1)
        except (TypeError, ValueError) as error:
            raise InputError(f"cannot be written as JSON: {error}") from error
    body = ",\n".join(f"  {line}" for line in lines)
    rest = f"[\n{body}\n ]" if lines else "[]"
    with replacing(place) as part:
        part.write_text(f'{start[:-2]},\n "proposals": {rest}\n}}\n', encoding="utf-8")


def _record(proposal: Proposal) -> dict[str, Any]:
    ids = {"id": proposal.id, "image": proposal.image_id, "prompt": proposal.prompt}
    made = {"model": proposal.model, "digest": proposal.digest}
    region = replace(proposal.region, score=proposal.score, source=proposal.source)
    return ids | region_record(region) | made


def read_proposals(
    path: str | os.PathLike[str], *, coco: str | os.PathLike[str] | None = None
) -> Proposals:
    """Read proposals: ours, or regions with scores that another program made.

    Parameters
    ----------
    path : path
        What `write_proposals` wrote; a COCO file, Sightline's plain JSON or CSV whose regions have
        scores; or a COCO results file. The last four are of the source "imported".
    coco : path, optional
        The COCO file whose image and category ids a results file uses.

    Raises
    ------
    InputError
        If the file or a record in it does not fit; the message names both.
    """
    place = Path(path)
    if place.suffix.lower() == ".csv":
        return _imported(place, read_annotation_file(place).annotations)
    with located(str(place)):
        if place.suffix.lower() != ".json":
            raise InputError("a file of proposals must end in .json or .csv")
        content = parse_json(read_text(place))
        named = content.get("format") if isinstance(content, dict) else None
        if isinstance(named, str) and named.startswith(_KIND):
            return _read_own(as_object(content))
    if isinstance(content, list):
        return _imported(place, _read_results(place, content, coco))
    return _imported(place, read_annotation_file(place).annotations)


def _read_own(content: dict[str, Any]) -> Proposals:
    if content["format"] != FORMAT:
        raise InputError(f"format must be {FORMAT!r}, got {show(content['format'])}")
    found = []
    for position, record in enumerate(items(content, "proposals")):
        with located(f"proposals[{position}]"):
            found.append(_read_record(as_object(record)))
    settings = as_object(content.get("settings", {}))
    return Proposals(tuple(found), text(content.get("data", ""), "data"), settings)


def _read_record(record: dict[str, Any]) -> Proposal:
    prompt = record.get("prompt")
    if prompt is not None and (type(prompt) is not int or prompt < 0):
        raise InputError(f"prompt must be a whole number of 0 or more, or null: {show(prompt)}")
    texts = {name: text(record.get(name, ""), name) for name in ("source", "model", "digest")}
    score = number(record.get("score"), "score")
    region = _in_image(read_region(record))
    image_id = text(record.get("image"), "image")
    return Proposal(text(record.get("id"), "id"), image_id, region, score, prompt=prompt, **texts)


def _in_image(region: Region) -> Region:
    """Return a region that shows something of the image."""
    x0, y0, x1, y1 = region.box
    if not (x0 < x1 and y0 < y1 and x0 < 1 and y0 < 1 and x1 > 0 and y1 > 0):
        raise InputError(f"a proposal must have an area on the image, got the box {region.box}")
    return region


def _read_results(
    path: Path, records: list[Any], coco: str | os.PathLike[str] | None
) -> dict[str, Annotation]:
    """Return the annotations that a COCO results file makes together with its COCO file."""
    if coco is None:
        raise InputError(
            f"{path}: a list of COCO results names images and categories by number: give the COCO "
            "file that has them, as coco=FILE"
        )
    with located(str(coco)):
        content = parse_json(read_text(Path(coco)))
        if not is_coco(content):
            raise InputError("must be a COCO file, with images, annotations and categories")
    with located(str(path)):
        regions = [{**as_object(record), "id": place} for place, record in enumerate(records, 1)]
        whole = {**content, "annotations": regions}
        return read_coco(whole, Problems()).annotations


def _imported(path: Path, annotations: Mapping[str, Annotation]) -> Proposals:
    """Return the regions of annotations as proposals; each needs a score."""
    found: list[Proposal] = []
    seen: Counter[str] = Counter()
    for image_id, annotation in annotations.items():
        for region in annotation.regions:
            with located(f"{path}: image {image_id!r}: region {region.index}"):
                proposal = Proposal.made(image_id, replace(region, source="imported"), None)
                _in_image(region)
            seen[proposal.id] += 1
            if seen[proposal.id] > 1:  # two that are the same to the last digit of their boxes
                again = _name(image_id, proposal.region, None, "", seen[proposal.id] - 1)
                proposal = replace(proposal, id=again)
            found.append(proposal)
    return Proposals(tuple(found), f"read from {path.name}", {"proposer": "imported"})
