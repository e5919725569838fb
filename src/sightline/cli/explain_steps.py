"""What `sightline explain` does between its options and its output."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from math import prod
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from sightline.cli.option_words import check_target, is_classless, read_target
from sightline.core import Annotation, InputError, Sample, SightlineError, to_image_id
from sightline.core.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from sightline.attribution.methods import Maps, Method
    from sightline.attribution.methods.files import WrittenMaps
    from sightline.cli.output import Move
    from sightline.models import Model

__all__ = [
    "Explained",
    "Made",
    "Options",
    "Picked",
    "check_kept",
    "check_outputs",
    "explain_images",
    "fit_words",
    "load_fitted",
    "make_maps",
    "naming",
    "read_indices",
    "read_size",
]

# Images that together have no more pixels are kept in memory, to be read once for all methods.
_KEPT_PIXELS = 50_000_000
# More would make a picture that nobody can open.
_MOST_IMAGES, _MOST_TILES = 24, 400


@dataclass(frozen=True, slots=True)
class Options:
    """The options of `sightline explain`, as they were typed."""

    images: Sequence[Path]
    model: str
    methods: Sequence[str] | None = None
    layers: str | None = None
    heads: str | None = None
    target: str = "predicted"
    fit: str | None = None
    size: str | None = None
    params: Sequence[tuple[str, Any]] = ()
    batch: int | None = None
    device: str | None = None
    out: Path | None = None
    maps: Path | None = None
    resolution: str | None = None
    skip_bad: bool = False


class Picked(NamedTuple):
    """An image: what it is called, where it is, width and height."""

    name: str
    path: Path
    size: tuple[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class Explained:
    """What was found.

    Attributes
    ----------
    model : Model
        Which was asked.
    images : list of Picked
        In the order of the maps.
    maps : list of Maps
        One for each method.
    predicted : list of (class, probability)
        One for each image; empty where the model has no classes.
    drawn : int
        How many images the picture shows.
    written : WrittenMaps or None
        What the file of maps holds.
    scorable : bool
        Whether the maps, written to a file, could be scored.
    seconds : dict of str to float
        Taken by each step: loading, the methods, predicting, drawing, writing.
    skipped : list of str
        Images that cannot be read, and why.
    refused : dict of str to str
        Of all methods, those that refuse the model, and why.
    """

    model: Model
    images: list[Picked]
    maps: list[Maps]
    predicted: list[tuple[str, float]]
    drawn: int
    written: WrittenMaps | None
    scorable: bool
    seconds: dict[str, float]
    skipped: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)


class Made(NamedTuple):
    """Maps of images, as `Explained` has them, before anything is drawn or written."""

    model: Model
    images: list[Picked]
    samples: list[Sample]
    maps: list[Maps]
    predicted: list[tuple[str, float]]
    skipped: list[str]
    refused: dict[str, str]


def explain_images(options: Options, move: Move) -> Explained:
    """Make maps of images, draw them and write them, as the options say."""
    import sightline.models  # noqa: F401  (before maps: it names what is not installed)

    watch = _Watch()
    check_outputs(options)
    resolution = _resolution(options.resolution)
    made = make_maps(options, move, watch)
    model, images, samples, maps, predicted, skipped, refused = made
    move(1, 1, "Drawing" if options.out else "Writing")
    drawn = _draw(options.out, images, samples, maps, predicted, fit_words(model))
    watch.done("drawing")
    written = None
    if options.maps is not None:
        from sightline.attribution.methods.files import write_maps

        names = [image.name for image in images]
        written = write_maps(maps, names, options.maps, resolution=resolution)
    watch.done("writing")
    scorable = _can_be_scored(maps, resolution)
    kept = watch.kept({"predicting": model.classes, "drawing": drawn, "writing": written})
    return Explained(
        model, images, maps, predicted, drawn, written, scorable, kept, skipped, refused
    )


def make_maps(options: Options, move: Move, watch: _Watch | None = None) -> Made:
    """Make the maps that the options ask for, and find what the model takes the images for."""
    import sightline.models  # noqa: F401  (before maps: it names what is not installed)

    watch = watch or _Watch()
    _check_asked(options)
    read_size(options.size)  # raises before images are looked at
    images, skipped = _pick(options.images, options.skip_bad)
    check_kept(options, images)
    model = load_fitted(options.model, options.fit, options.size, options.device)
    cards = _cards(options, model, len(images))
    calls = _calls(options, cards, model)
    _check_tiles(options, calls)
    samples = _counted(images, len(calls) + bool(model.classes), move)
    watch.done("loading")
    maps, refused = _explain(model, samples, calls, watch, _named(options.methods))
    predicted = _predict(model, samples, options.batch)
    watch.done("predicting")
    return Made(model, images, samples, maps, predicted, skipped, refused)


class _Watch:
    """Tells how long each step took."""

    def __init__(self) -> None:
        self._last = perf_counter()
        self.seconds: dict[str, float] = {}

    def done(self, step: str) -> None:
        """Note the time since the step before."""
        now = perf_counter()
        self.seconds[step] = now - self._last
        self._last = now

    def kept(self, wanted: dict[str, object]) -> dict[str, float]:
        """Return the seconds of all steps but those that had nothing to do."""
        return {step: time for step, time in self.seconds.items() if wanted.get(step, True)}


@contextmanager
def naming(option: str) -> Iterator[None]:
    """Name the option in what is wrong with its value."""
    try:
        yield
    except SightlineError as error:
        if str(error).startswith("--"):
            raise
        raise type(error)(f"{option}: {error}") from error


def load_fitted(name: str, fit: str | None, size: str | None, device: str | None) -> Model:
    """Load a model that takes inputs of the size that `--size` says."""
    from sightline.models import load_model

    side = read_size(size)
    model = load_model(name, fit=fit, device=device)
    with naming(f"--size {size}"):
        return model.fitted(size=side)


def check_outputs(options: Options) -> None:
    """Raise where nothing is to be written, or cannot be written where the options say."""
    from sightline.attribution.methods.files import check_maps_path
    from sightline.data.pictures import check_picture_path

    if options.out is None and options.maps is None:
        raise InputError("nothing to write: give --out for a picture, --maps for the maps, or both")
    if options.out is not None:
        _check_folder(check_picture_path(options.out), "--out")
    if options.maps is not None:
        _check_folder(check_maps_path(options.maps), "--maps")
    elif options.resolution is not None:
        raise InputError(f"--resolution {options.resolution} is of the file of maps: give --maps")


def _check_asked(options: Options) -> None:
    """Raise where a method does not exist, or a target needs what files do not tell."""
    from sightline.attribution.methods import METHODS

    if options.target == "label":
        raise InputError("--target label: images have no label here; give a class, or predicted")
    check_target(options.target)
    if options.methods is not None and not options.methods:
        raise InputError("--method must name a method, got none")
    for name in _named(options.methods):
        METHODS[name]  # raises for an unknown name


def check_kept(options: Options, images: list[Picked]) -> None:
    """Raise where an image would be written over."""
    for option, path in (("--out", options.out), ("--maps", options.maps)):
        if path is not None and path.exists() and any(path.samefile(i.path) for i in images):
            raise InputError(f"{option} {path}: is one of the images, and would be written over")


def _check_folder(path: Path, option: str) -> None:
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise InputError(f"{option} {path}: the folder {path.parent} cannot be written to")


def _named(methods: Sequence[str] | None) -> list[str]:
    """Return the methods that are named, once each; none where the model decides."""
    names = list(dict.fromkeys(methods or ()))
    return [] if names == ["all"] else names


def _cards(options: Options, model: Model, images: int) -> list[Method]:
    """Return the methods asked for, which fit the model and the target."""
    from sightline.attribution.methods import METHODS
    from sightline.attribution.methods.make import usual_method

    classless = is_classless(options.target)
    if options.methods is None:
        return [METHODS[usual_method(model)]]
    if named := _named(options.methods):
        cards = [METHODS[name] for name in named]
        for card in cards:
            card.check_fits(model, classless=classless)
        return cards
    fitting = [card for card in METHODS.values() if not card.lacks(model, classless=classless)]
    return [card for card in fitting if card.of_maps is None or images > 1]


def _pick(paths: Sequence[Path], skip_bad: bool) -> tuple[list[Picked], list[str]]:
    """Return the images, those of folders in the order of their names, and what is left out.

    Headers are read; where bad images are to be skipped, each image whole.
    """
    from sightline.data.images import image_size, read_image

    picked, skipped = list[Picked](), list[str]()
    for path in paths:
        for file in _files(path):
            name = file.name if file is path else file.relative_to(path).as_posix()
            try:
                size = image_size(file)
                if skip_bad:
                    read_image(file)
            except InputError as error:
                if not skip_bad:
                    raise
                skipped.append(str(error))
            else:
                picked.append(Picked(name, file, size))
    if not picked:
        raise InputError(f"no image is left; the first that cannot be read: {skipped[0]}")
    return picked, skipped


def _files(path: Path) -> list[Path]:
    from sightline.data.images import is_image

    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.rglob("*") if is_image(file) and file.is_file())
    if not files:
        raise InputError(f"{path}: holds no images")
    return files


def _counted(images: list[Picked], passes: int, move: Move) -> list[Sample]:
    """Return samples that tell when they are read."""
    from sightline.data.images import read_image

    keep = sum(image.size[0] * image.size[1] for image in images) <= _KEPT_PIXELS
    read, done, total = cache(read_image) if keep else read_image, 0, passes * len(images)

    def load(path: Path) -> Any:
        nonlocal done
        done += 1
        move(min(done, total), total, "Explaining")
        return read(path)

    def sample(number: int, image: Picked) -> Sample:
        image_id = to_image_id(f"{number}-{image.name}"[:60])
        return Sample(
            image_id, Annotation(image_id), path=image.path, load=lambda: load(image.path)
        )

    return [sample(number, image) for number, image in enumerate(images)]


# --- what each method is asked --------------------------------------------------------------------


def _calls(options: Options, cards: list[Method], model: Model) -> list[dict[str, Any]]:
    """Return the arguments of `explain` for each method.

    An option goes to those methods that have it; where none has, that is an error.
    """
    base = {card.name: _base(card, options, model) for card in cards}
    _check_used(options, list(base.values()))
    _check_params(options, cards)
    calls = []
    for card in cards:
        own = base[card.name]
        call: dict[str, Any] = {"method": card.name, "batch": options.batch, "layers": "all"}
        if own.layered:
            call["layers"] = _layers(options.layers, model)
        if options.heads is not None and own.headed:
            call["heads"] = _heads(options.heads, model)
        if options.target != "predicted" and own.explains:
            call["target"] = read_target(options.target, model)
        call["params"] = {name: value for name, value in options.params if name in card.params}
        calls.append(call)
    return calls


def _base(card: Method, options: Options, model: Model) -> Method:
    """Return the method whose layers, heads and classes count: another's, if made from its maps."""
    from sightline.attribution.methods import METHODS
    from sightline.attribution.methods.make import usual_method

    if card.of_maps is None:
        return card
    return METHODS[dict(options.params).get("of") or usual_method(model)]


def _check_used(options: Options, cards: list[Method]) -> None:
    """Raise where an option belongs to none of the methods."""
    names = ", ".join(dict.fromkeys(card.name for card in cards))
    if options.layers is not None and not any(card.layered for card in cards):
        raise InputError(f"--layer {options.layers}: there are no layers in maps of {names}")
    if options.heads is not None and not any(card.headed for card in cards):
        raise InputError(f"--head {options.heads}: there are no heads in maps of {names}")
    if options.target != "predicted" and not any(card.explains for card in cards):
        raise InputError(f"--target {options.target}: no class is explained by {names}")


def _check_tiles(options: Options, calls: list[dict[str, Any]]) -> None:
    """Raise where the maps of one image are too many for a picture."""
    several = ("layers", "heads")
    counts = [[len(c[n]) for n in several if isinstance(c.get(n), tuple)] for c in calls]
    tiles = 1 + sum(map(prod, counts))
    if options.out is not None and tiles > _MOST_TILES:
        raise InputError(
            f"a picture holds at most {_MOST_TILES - 1} maps of an image, these would be "
            f"{tiles - 1}: ask for fewer of --method, --layer, --head, or for --maps alone"
        )


def _check_params(options: Options, cards: list[Method]) -> None:
    """Raise where a parameter belongs to none of the methods."""
    names = ", ".join(card.name for card in cards)
    known: Registry[None] = Registry(f"parameter of {names}")
    for name in dict.fromkeys(name for card in cards for name in card.params):
        known.add(name, None)
    for name, _ in options.params:
        if not known:
            raise InputError(f"--param {name}: {names} takes no parameters")
        known[name]  # raises for an unknown name


def _layers(text: str | None, model: Model) -> tuple[int, ...]:
    if text is None:
        return model.layer_indices(-1)
    with naming(f"--layer {text}"):
        return _each(read_indices(text, "--layer"), model.layer_indices)


def _heads(text: str, model: Model) -> tuple[int, ...]:
    with naming(f"--head {text}"):
        return _each(read_indices(text, "--head"), model.head_indices)


def _each(
    asked: str | list[int], found: Callable[[str | list[int]], tuple[int, ...]]
) -> tuple[int, ...]:
    """Return numbers counted from 0, once each, whichever way they were counted."""
    if isinstance(asked, str) or not asked:
        return found(asked)
    return tuple(dict.fromkeys(number for one in asked for number in found([one])))


def read_indices(text: str, option: str) -> str | list[int]:
    """Return numbers separated by commas, or "all"; the option is named in what is wrong."""
    if text.strip() == "all":
        return "all"
    try:
        return [int(part) for part in text.split(",") if part.strip()]
    except ValueError as error:
        raise InputError(
            f"{option} must be numbers separated by commas, or all: {text!r}"
        ) from error


def read_size(text: str | None) -> int | tuple[int, int] | None:
    """Return what `--size` says: a side, or width and height."""
    if text is None:
        return None
    parts = text.lower().replace("×", "x").split("x")
    if len(parts) > 2 or not all(part.strip().isdecimal() and int(part) for part in parts):
        raise InputError(f"--size must be a side or WIDTHxHEIGHT in pixels, got {text!r}")
    numbers = [int(part) for part in parts]
    return numbers[0] if len(numbers) == 1 else (numbers[0], numbers[1])


def _resolution(text: str | None) -> str | int:
    if text is None or text in ("grid", "pixels"):
        return text or "grid"
    if not text.isdecimal() or int(text) < 1:
        raise InputError(f"--resolution must be grid, pixels or a number, got {text!r}")
    return int(text)


# --- maps, predictions, picture -------------------------------------------------------------------


def _explain(
    model: Model,
    samples: list[Sample],
    calls: list[dict[str, Any]],
    watch: _Watch,
    named: list[str],
) -> tuple[list[Maps], dict[str, str]]:
    """Return the maps; of all methods also those that refuse the model, and why."""
    from sightline.attribution.methods import explain
    from sightline.attribution.methods.targets import read_target as goal_of
    from sightline.results.image_maps import maps_or_why

    maps: list[Maps] = []
    refused: dict[str, str] = {}
    strict = bool(named) or len(calls) == 1
    for target in [call["target"] for call in calls if "target" in call and not strict][:1]:
        goal_of(model, samples[:1], target)  # raises for what no method could explain
    for call in calls:
        ask = partial(explain, model, samples, **call)
        found = ask() if strict else maps_or_why(ask, call["method"], refused)
        maps += [] if found is None else [found]
        watch.done(call["method"])
    if not maps:
        name, why = next(iter(refused.items()))
        raise InputError(f"no method is left; {name}: {why}")
    return maps, refused


def _can_be_scored(maps: list[Maps], resolution: str | int) -> bool:
    from sightline.attribution.methods.files import can_be_scored

    return can_be_scored(maps, resolution)


def _predict(model: Model, samples: list[Sample], batch: int | None) -> list[tuple[str, float]]:
    if not model.classes:
        return []
    shares, numbers = model.logits(samples, batch=batch or 16).softmax(1).max(1)
    pairs = zip(numbers.tolist(), shares.tolist(), strict=True)
    return [(model.classes[number], share) for number, share in pairs]


def fit_words(model: Model) -> str:
    """Return how images are brought to the input, in words."""
    way = model.preprocess
    size = "" if way.size is None else "{} x {}".format(*way.size)
    if way.fit == "native":
        return f"native size, at most {size}" if size else "native size"
    return f"{way.fit} to {size}"


def _draw(
    out: Path | None,
    images: list[Picked],
    samples: list[Sample],
    maps: list[Maps],
    predicted: list[tuple[str, float]],
    fit: str,
) -> int:
    """Draw the first images, as many as a picture can show, and return how many."""
    if out is None:
        return 0
    from sightline.attribution.methods.picture import class_words, draw_maps
    from sightline.data.pictures import write_picture

    each = 1 + sum(len(one.layers) * len(one.heads) for one in maps)
    count = max(1, min(len(images), _MOST_IMAGES, _MOST_TILES // each))
    names = [f"{image.name} · {image.size[0]} x {image.size[1]}" for image in images[:count]]
    notes = [f"predicted: {class_words(name)}, {share:.1%}" for name, share in predicted[:count]]
    shown = [one[:count] for one in maps]
    write_picture(draw_maps(shown, samples[:count], names=names, notes=notes, fit=fit), out)
    return count
