"""One image in depth: the maps of all methods, their figures, and their scores."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.core import Annotation, InputError, Sample, to_image_id
from sightline.data.csv_files import write_csv
from sightline.data.outputs import replacing
from sightline.results.image_maps import ImageMap, maps_or_why, maps_over, raster_over, score_over

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import pandas as pd
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from sightline.attribution.methods import Maps, Method
    from sightline.attribution.methods.targets import Target
    from sightline.models import Model
    from sightline.models.preprocess import ImageLike

    Progress = Callable[[int, int, str], object]

__all__ = ["Analysis", "analyse"]

METRICS = ("coverage", "average_precision", "auc_roc", "relevance_rank", "pointing")
PERCENTS = (5.0, 10.0, 20.0)
"""How much of a map is selected, in percent, unless said otherwise."""
_USUAL = 10.0
# Maps in one picture: as many as `visualize_all_methods` draws.
_PAGE = 40


@dataclass(frozen=True, eq=False)
class Analysis:
    """What methods show on one image.

    Attributes
    ----------
    name, model : str
        Of the image and of the model.
    image : array (height, width, 3)
        In 8 bits.
    maps : tuple of ImageMap
        Over the image, method by method.
    mask : array of bool or None
        What is annotated, on the raster of the maps; None where nothing was said.
    scores : DataFrame
        A line for each map and score: image, model, method, layer, target, sign, seconds; where
        there is an annotation also region and label (empty for all regions together), box (shares
        of the image), metric, value, chance, ceiling, and beyond, which is 0 at chance and 1 at the
        ceiling. Without an annotation, a line for each map.
    predicted : (class, probability) or None
        What the model takes the image for; None where it has no classes.
    skipped : dict of str to str
        Methods that were not asked, and why.
    percents : tuple of float
        How much of a map the views and IoU select.

    Examples
    --------
    >>> from sightline import load_dataset
    >>> church = load_dataset("facades", count=1, seed=0)[0]
    >>> found = analyse(church, model="demo/cnn", methods=["centre", "edge"])
    >>> found.main, [one.name for one in found.maps]
    ('iou@90', ['centre', 'edge'])
    """

    name: str
    model: str
    image: NDArray[np.uint8]
    maps: tuple[ImageMap, ...]
    mask: NDArray[np.bool_] | None
    scores: pd.DataFrame
    predicted: tuple[str, float] | None
    skipped: Mapping[str, str]
    percents: tuple[float, ...]

    @property
    def head(self) -> str:
        """Which image and model these are, what is predicted, and what else is explained."""
        from sightline.attribution.methods.picture import class_words

        words, told = [self.name, self.model], ""
        if self.predicted is not None:
            told, share = self.predicted
            words.append(f"predicted {class_words(told)} ({share:.0%})")
        targets = sorted({one.target for one in self.maps} - {told, ""})
        return " · ".join([*words, *(f"explained: {class_words(name)}" for name in targets)])

    @property
    def main(self) -> str:
        """The score that stands over each map: IoU at 10 percent, where that was asked for."""
        middle = self.percents[len(self.percents) // 2]
        return _iou(_USUAL if _USUAL in self.percents else middle)

    def table(self, metric: str | None = None) -> pd.DataFrame:
        """Return the lines about the annotation as a whole, of one score or of all.

        Raises
        ------
        InputError
            If nothing is annotated.
        """
        if self.mask is None:
            raise InputError(f"{self.name}: nothing is annotated, so there are no scores")
        whole = self.scores[self.scores["region"].isna()]
        return whole if metric is None else whole[whole["metric"] == metric]

    def figures(self) -> Iterator[tuple[str, Figure]]:
        """Yield each figure with the name of its file: all methods, then each in depth."""
        from sightline.figures import visualize_all_methods, visualize_attribution_enhanced

        notes = self._notes()
        for page, start in enumerate(range(0, len(self.maps), _PAGE)):
            some = self.maps[start : start + _PAGE]
            figure = visualize_all_methods(
                self.image,
                {one.name: one.values for one in some},
                self.mask,
                signs={one.name: one.sign for one in some},
                notes=notes,
                head=self.head,
            )
            yield "all_methods" + f"_{page + 1}" * (page > 0), figure
        for one in self.maps:
            figure = visualize_attribution_enhanced(
                self.image, one.values, self.mask, name=one.name, sign=one.sign,
                percents=self.percents,
            )  # fmt: skip
            yield f"enhanced_{one.name.replace(', layer ', '_layer_')}", figure

    def _notes(self) -> dict[str, str]:
        """Return the main score of each map in words; none where nothing is annotated."""
        if self.mask is None:
            return {}
        rows = self.table(self.main).to_dict("records")
        return {one.name: _said(row) for one, row in zip(self.maps, rows, strict=True)}

    def write(
        self,
        folder: str | Path,
        *,
        dpi: int = 150,
        progress: Progress = lambda done, total, what: None,
    ) -> tuple[Path, ...]:
        """Write the figures and `metrics.csv` into a folder, which is made where there is none.

        Parameters
        ----------
        folder
            Files of the same names are replaced.
        dpi
            Dots per inch of pictures.
        progress
            Told how many figures are drawn, of how many.

        Returns
        -------
        tuple of Path
            The files: `all_methods.png` and `.svg`, `enhanced_<method>.png`, `metrics.csv`.
        """
        from sightline.figures import save

        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        files: list[Path] = []
        total = len(self.maps) + -(-len(self.maps) // _PAGE)
        for number, (name, figure) in enumerate(self.figures()):
            progress(number, total, "Drawing")
            formats = ("png", "svg") if name.startswith("all_methods") else ("png",)
            files += save(figure, folder / name, formats, dpi=dpi)
        with replacing(folder / "metrics.csv") as part:
            write_csv(self.scores, part)
        return (*files, folder / "metrics.csv")


def analyse(
    image: ImageLike,
    annotation: Annotation | None = None,
    model: Model | str = "demo/vit",
    methods: str | Sequence[str] = "all",
    *,
    target: Target = "predicted",
    layers: str | int | Iterable[int] = -1,
    percents: Sequence[float] = PERCENTS,
    params: Mapping[str, Any] | None = None,
    progress: Progress = lambda done, total, what: None,
) -> Analysis:
    """Make the maps of many methods on one image, and score them against what is annotated.

    Maps are brought to the pixels of the image, at most 1,024 on its longer side, and scored there.

    Parameters
    ----------
    image
        An array `(height, width, 3)` in 8 bits, a path, a PIL image or a sample of a data set.
    annotation
        What is annotated; of a sample its own unless given. None for maps without scores.
    model
        A model, or its name.
    methods
        Names of `METHODS`, or "all": those that fit the model. Of "all", those that cannot be used
        are left out and listed in `skipped`.
    target
        What methods explain, as `explain` takes it; "label" is the annotation's.
    layers
        Of methods that have layers.
    percents
        How much of a map the views and IoU select, in percent.
    params
        Parameters for those methods that have them.
    progress
        Told how many methods are done, of how many, and which is next.

    Raises
    ------
    InputError
        If a method that is named does not fit, or no method is left.

    Examples
    --------
    >>> from sightline import load_dataset
    >>> church = load_dataset("facades", count=1, seed=0)[0]
    >>> found = analyse(church, model="demo/cnn", methods=["gradcam", "edge"])
    >>> found.table("iou@90")[["method", "value", "chance", "ceiling"]].round(2).values.tolist()
    [['gradcam', 0.22, 0.08, 0.4], ['edge', 0.29, 0.08, 0.4]]
    """
    from sightline.attribution.methods import METHODS as KNOWN
    from sightline.attribution.methods.targets import read_target
    from sightline.models import load_model
    from sightline.models.model import Model as Loaded

    shares = _percents(percents)
    sample = _sample(image, annotation)
    named = [methods] if isinstance(methods, str) else list(dict.fromkeys(methods))
    if not named:
        raise InputError("methods must name a method, or be 'all'; got none")
    whole = named == ["all"]
    for name in [] if whole else named:
        KNOWN[name]  # raises for an unknown name
    loaded = model if isinstance(model, Loaded) else load_model(model)
    cards, skipped = _cards(loaded, None if whole else named, target)
    calls = _calls(cards, target, layers, params or {})
    # What no method could take is an error, whatever else is left out.
    if any(card.explains for card in cards):
        read_target(loaded, [sample], target)
    if any(card.layered for card in cards):
        loaded.layer_indices(layers)
    made = []
    for number, (card, call) in enumerate(zip(cards, calls, strict=True)):
        progress(number, len(cards), f"Explaining: {card.name}")
        ask = partial(_ask, loaded, sample, call)
        maps = ask() if not whole else maps_or_why(ask, card.name, skipped)
        made += [maps] if maps is not None else []
    return _analysis(sample, annotation or _own(image), loaded, made, skipped, shares)


def _percents(given: Sequence[float]) -> tuple[float, ...]:
    seen: list[Any] = list(given)
    numbers = [one for one in seen if isinstance(one, int | float | np.number)]
    if not seen or len(numbers) < len(seen) or not all(0 < one < 100 for one in numbers):
        raise InputError(f"percents must be numbers between 0 and 100; got {seen!r}")
    return tuple(dict.fromkeys(map(float, numbers)))


def _own(image: Any) -> Annotation | None:
    return image.annotation if isinstance(image, Sample) else None


def _sample(image: ImageLike, annotation: Annotation | None) -> Sample:
    """Return the image, opened once, with what is annotated on it."""
    from sightline.models.preprocess import as_image

    pixels = as_image(image)
    path = Path(image) if isinstance(image, str | Path) else None
    name = image.image_id if isinstance(image, Sample) else path.name if path else "image"
    known = annotation or _own(image) or Annotation(to_image_id(name))
    _check_shape(known, pixels.shape[1], pixels.shape[0])
    return Sample(name, known, path=path, load=lambda: pixels)


def _check_shape(annotation: Annotation, width: int, height: int) -> None:
    """Raise where an annotation is for an image of another shape; its size may differ."""
    if annotation.width is None or annotation.height is None:
        return
    said, seen = annotation.width / annotation.height, width / height
    if abs(said / seen - 1) > 0.02:
        raise InputError(
            f"annotation of {annotation.image_id!r} is for an image of {annotation.width} x "
            f"{annotation.height}, this one is {width} x {height}"
        )


# --- maps ----------------------------------------------------------------------------------------


def _cards(
    model: Model, named: Sequence[str] | None, target: Target
) -> tuple[list[Method], dict[str, str]]:
    """Return the methods that are asked, and of all those that are not, why."""
    from sightline.attribution.methods import METHODS as KNOWN
    from sightline.attribution.methods.targets import needs_classes

    classless, skipped = not needs_classes(target), dict[str, str]()
    cards = list(KNOWN.values()) if named is None else [KNOWN[name] for name in named]
    for card in list(cards):
        alone = card.of_maps is not None
        lacking = card.lacks(model, classless=classless)
        if named is not None and alone:
            raise InputError(f"method {card.name!r} is a mean over other images; there is one")
        if named is not None:
            card.check_fits(model, classless=classless)
        elif alone or lacking:
            why = "is a mean over other images" if alone else f"needs {' and '.join(lacking)}"
            skipped[card.name] = why
            cards.remove(card)
    return cards, skipped


def _calls(
    cards: Sequence[Method], target: Target, layers: Any, params: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return what each method is asked; what none of them takes is an error."""
    names = ", ".join(card.name for card in cards)
    for name in params:
        if not any(name in card.params for card in cards):
            raise InputError(f"parameter {name!r} is one of none of the methods: {names}")
    usual = isinstance(target, str) and target == "predicted"
    if not usual and not any(card.explains for card in cards):
        raise InputError(f"target {target!r}: nothing is explained by {names}")
    return [
        {"method": card.name, "params": {k: v for k, v in params.items() if k in card.params}}
        | ({"layers": layers} if card.layered else {})
        | ({"target": target} if card.explains else {})
        for card in cards
    ]


def _ask(model: Model, sample: Sample, call: Mapping[str, Any]) -> Maps:
    from sightline.attribution.methods import explain

    return explain(model, sample, **call)


# --- scores --------------------------------------------------------------------------------------


def _analysis(
    sample: Sample,
    annotation: Annotation | None,
    model: Model,
    made: Sequence[Maps],
    skipped: Mapping[str, str],
    percents: tuple[float, ...],
) -> Analysis:
    if not made:
        whys = "; ".join(f"{name}: {why}" for name, why in list(skipped.items())[:3])
        raise InputError(f"{model.name}: no method is left to analyse the image with: {whys}")
    pixels = sample.image()
    shape = raster_over(pixels.shape)
    over = tuple(one for maps in made for one in maps_over(maps, shape, annotation))
    mask = None if annotation is None else annotation.union_mask(*shape)
    scores = _scores(over, annotation, percents)
    scores.insert(0, "model", model.name)
    scores.insert(0, "image", sample.image_id)
    predicted = _predicted(model, sample)
    return Analysis(
        sample.image_id, model.name, pixels, over, mask, scores, predicted, skipped, percents
    )


def _scores(
    maps: Sequence[ImageMap], annotation: Annotation | None, percents: tuple[float, ...]
) -> pd.DataFrame:
    import pandas as pd

    metrics = [*METRICS, *map(_iou, percents), *(f"recall@{100 - p:g}" for p in percents)]
    lines = []
    for one in maps:
        about = {
            "method": one.method,
            "layer": one.layer,
            "target": one.target,
            "sign": one.sign,
            "seconds": round(one.seconds, 4),
        }
        if annotation is None:
            lines.append(about)
            continue
        nothing = {"region": None, "label": "", "box": ""}
        rows = score_over(one, annotation, metrics, regions=True)
        lines += [about | nothing | row for row in rows]
    frame = pd.DataFrame(lines)
    return frame.astype({name: "Int64" for name in ("layer", "region") if name in frame})


def _iou(percent: float) -> str:
    return f"iou@{100 - percent:g}"


def _predicted(model: Model, sample: Sample) -> tuple[str, float] | None:
    if not model.classes:
        return None
    share, number = model.logits(sample).softmax(1)[0].max(0)
    return model.classes[int(number)], float(share)


def _said(row: Mapping[Any, Any]) -> str:
    if np.isnan(row["value"]):
        return f"{row['metric']} undefined"
    return f"{row['metric']} {row['value']:.2f} (chance {row['chance']:.2f})"
