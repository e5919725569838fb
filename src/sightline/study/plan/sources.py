"""Sources of maps: each way in which a study has maps made, with all that decides its rows."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sightline.core.choices import Ties

# Not part of a key: the key itself, and where things lie, whose content has a digest.
_PLACES = ("rules", "key", "load", "maps")
# Part of the key of checks alone: those of all others stay what they were.
_CHECKED = ("part", "options")

__all__ = ["Scoring", "Source", "digest_of"]


def digest_of(*parts: Any) -> str:
    """Return a hash over plain values, the same on every machine."""
    return sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


@dataclass(frozen=True)
class Scoring:
    """How maps are scored.

    Attributes
    ----------
    study : str
        The study that the rows belong to.
    metrics, selection, percentiles, ties
        As in `score_maps`.
    regions : bool
        Whether each region is scored as well as the union.
    resolution : "grid", "pixels" or int
        On the maps' own grids, on the pixels of the image, or so that its longer side has as many.

    Examples
    --------
    >>> scoring = Scoring("first", ("coverage", "iou"), ("percentile",), (90.0,), resolution=224)
    >>> scoring.upsampling
    'bilinear'
    """

    study: str
    metrics: tuple[str, ...]
    selection: tuple[str, ...]
    percentiles: tuple[float, ...]
    ties: Ties = "share"
    regions: bool = True
    resolution: str | int = "grid"

    @property
    def upsampling(self) -> str:
        """How maps reach the raster on which they are scored; "" where they stay as they are."""
        return "" if self.resolution == "grid" else "bilinear"


@dataclass(frozen=True)
class Source:
    """One way of making maps: all of a task but its images.

    Attributes
    ----------
    kind : {"model", "mean", "given", "check"}
        A method asks a model; a mean is made of another source's maps; maps were made elsewhere;
        or a check asks a model about its maps, and keeps none.
    model, variant, fit : str
        The model; "" for maps made elsewhere that name none.
    method, group : str
        The method, and its kin.
    params : mapping
        Parameters of the method, complete.
    layers, heads : tuple of int or None
        Those that have maps; None where there are none, or heads are fused.
    target : str
        "", "predicted", "label" or a class.
    seed : int or None
        None where nothing is drawn.
    sign : str
        How values are read.
    weights : str
        Digest of the network's weights, or of the maps that were made elsewhere.
    batch : int
        How many images are in a forward pass; 0 where there is none.
    device : str
        Where the network runs.
    load : str
        What `load_model` takes, where that is not the name: the whole path of a folder.
    maps : str
        Where maps made elsewhere lie.
    of : str
        For a mean: the key of the source that it is made of.
    check : str
        "" for the network as it is; else which check: "randomisation/full/0", "reference", …
    part : str
        Of a check: its name in the study, which says what images it is made on.
    options : mapping
        Of a check: what decides its rows.
    rules, key : str
        Hashes: over what decides whether rows may be compared, and over all that decides them.

    Examples
    --------
    >>> source = Source("model", "demo/vit", "cls", "seed2", layers=(0, 11), heads=(0, 1, 2))
    >>> source.name, source.maps_per_image
    ('demo/vit@seed2', 6)
    """

    kind: Literal["model", "mean", "given", "check"]
    model: str
    method: str
    variant: str = ""
    fit: str = ""
    group: str = "given"
    params: Mapping[str, Any] = field(default_factory=dict)
    layers: tuple[int | None, ...] = (None,)
    heads: tuple[int | None, ...] = (None,)
    target: str = ""
    seed: int | None = None
    sign: str = "positive"
    weights: str = ""
    batch: int = 0
    device: str = "cpu"
    load: str = ""
    maps: str = ""
    of: str = ""
    check: str = ""
    part: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    rules: str = ""
    key: str = ""

    @property
    def name(self) -> str:
        """The model with its variant."""
        return f"{self.model}@{self.variant}" if self.variant else self.model

    @property
    def limited_as(self) -> str:
        """What is given fewer images at once where memory is short: the model, or its checks.

        Checks need more of it than maps do, which then stay what they are.
        """
        return f"checking {self.name}" if self.kind == "check" else self.name

    @property
    def shown_as(self) -> tuple[Any, ...]:
        """How images are shown to a model: sources that have it in common see the same inputs."""
        return self.load or self.name, self.fit, self.batch, self.device

    @property
    def passes(self) -> tuple[Any, ...] | None:
        """What sources have in common whose maps one pass of the network gives; None where none.

        Attention that explains no class is seen in any pass.
        """
        shares = self.kind == "model" and self.group == "attention" and not self.target
        return self.shown_as if shares else None

    @property
    def maps_per_image(self) -> int:
        """How many maps there are of an image; a check keeps none."""
        return 0 if self.kind == "check" else len(self.layers) * len(self.heads)

    def sealed(self, scoring: Scoring, annotations: str, images: str) -> Source:
        """Return the source with its rules and its key.

        Parameters
        ----------
        scoring : Scoring
            How the maps are scored.
        annotations, images : str
            Digests of all annotations of the data, and of the images that are used: some sources
            take other images into account.
        """
        checked = self.kind == "check"  # which scores nothing against annotations
        rules = digest_of(
            *(() if checked else (scoring.resolution, self.sign, scoring.ties)),
            self.fit,
            *(() if checked else (scoring.upsampling,)),
            annotations,
            self.weights,
            self.batch,
            self.device,
        )[:8]
        left = _PLACES if checked else (*_PLACES, *_CHECKED)
        own = {k: v for k, v in asdict(self).items() if k not in left}
        how = {"study": scoring.study} if checked else asdict(scoring)
        others = images if self.kind == "mean" or self.check == "reference" else ""
        return replace(self, rules=rules, key=digest_of(rules, own, how, others))

    def row_keys(self) -> dict[str, Any]:
        """Return what all of its rows have in common."""
        return {
            "rules": self.rules,
            "model": self.model,
            "variant": self.variant,
            "method": self.method,
            "target": self.target,
            "seed": self.seed,
        }
