"""What `sightline explain` does between its options and its output."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from sightline.records import Annotation, InputError, Sample, to_image_id
from sightline.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from sightline.maps import Maps, Method
    from sightline.maps.files import WrittenMaps
    from sightline.models import Model

__all__ = ["Explained", "Options", "explain_images"]

# Images that together have no more pixels are kept in memory, to be read once for all methods.
_KEPT_PIXELS = 50_000_000
# More would make a picture that nobody can open.
_MOST_IMAGES, _MOST_TILES = 40, 1000


@dataclass(frozen=True, slots=True)
class Options:
    """The options of `sightline explain`, as they were typed."""

    images: Sequence[Path]
    model: str
    methods: Sequence[str]
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
    resolution: str = "grid"


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
    seconds : float
        For all of it.
    """

    model: Model
    images: list[Picked]
    maps: list[Maps]
    predicted: list[tuple[str, float]]
    drawn: int
    written: WrittenMaps | None
    seconds: float


def explain_images(options: Options, move: Callable[[int, int], object]) -> Explained:
    """Make maps of images, draw them and write them, as the options say."""
    from sightline.models import load_model  # before maps: it names what is not installed

    begun = perf_counter()
    cards = _cards(options)
    images = _pick(options.images)
    resolution = _resolution(options.resolution)
    model = load_model(
        options.model, fit=options.fit, size=_size(options.size), device=options.device
    )
    for card in cards:
        card.check_fits(model)
    calls = _calls(options, cards, model)
    samples = _counted(images, len(calls) + bool(model.classes), move)
    maps = _explain(model, samples, calls)
    predicted = _predict(model, samples, options.batch)
    drawn = _draw(options.out, images, samples, maps, predicted)
    written = None
    if options.maps is not None:
        from sightline.maps.files import write_maps

        names = [image.name for image in images]
        written = write_maps(maps, names, options.maps, resolution=resolution)
    return Explained(model, images, maps, predicted, drawn, written, perf_counter() - begun)


def _cards(options: Options) -> list[Method]:
    """Return the methods asked for, once each; wrong paths of what is written raise before."""
    from sightline.data.drawing import check_picture_path
    from sightline.maps import METHODS
    from sightline.maps.files import check_maps_path

    if options.out is None and options.maps is None:
        raise InputError("nothing to write: give --out for a picture, --maps for the maps, or both")
    if options.out is not None:
        check_picture_path(options.out)
    if options.maps is not None:
        check_maps_path(options.maps)
    if not options.methods:
        raise InputError("--method must name a method, got none")
    return [METHODS[name] for name in dict.fromkeys(options.methods)]


def _pick(paths: Sequence[Path]) -> list[Picked]:
    """Return the images, those of folders in the order of their names; headers are read."""
    from sightline.data.images import image_size, is_image

    picked = []
    for path in paths:
        files = [path]
        if path.is_dir():
            files = sorted(file for file in path.rglob("*") if is_image(file) and file.is_file())
            if not files:
                raise InputError(f"{path}: holds no images")
        for file in files:
            name = file.name if file is path else file.relative_to(path).as_posix()
            picked.append(Picked(name, file, image_size(file)))
    return picked


def _counted(images: list[Picked], passes: int, move: Callable[[int, int], object]) -> list[Sample]:
    """Return samples that tell when they are read."""
    from sightline.data.images import read_image

    keep = sum(image.size[0] * image.size[1] for image in images) <= _KEPT_PIXELS
    read, done, total = cache(read_image) if keep else read_image, 0, passes * len(images)

    def load(path: Path) -> Any:
        nonlocal done
        done += 1
        move(min(done, total), total)
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

    An option goes to those methods that have it; where none has, the first says so.
    """
    base = {card.name: _base(card, options, model) for card in cards}
    layered = any(base[card.name].layered for card in cards)
    headed = any(base[card.name].headed for card in cards)
    classes = any("classes" in base[card.name].needs for card in cards)
    _check_params(options, cards)
    calls = []
    for card in cards:
        own = base[card.name]
        call: dict[str, Any] = {"method": card.name, "batch": options.batch, "layers": "all"}
        if own.layered:
            call["layers"] = _layers(options.layers, model)
        elif options.layers is not None and not layered:
            call["layers"] = options.layers
        if options.heads is not None and (own.headed or not headed):
            call["heads"] = _heads(options.heads, model) if own.headed else options.heads
        if options.target != "predicted" and ("classes" in own.needs or not classes):
            call["target"] = options.target
        call["params"] = {name: value for name, value in options.params if name in card.params}
        calls.append(call)
    return calls


def _base(card: Method, options: Options, model: Model) -> Method:
    """Return the method whose layers, heads and classes count: another's, if made from its maps."""
    from sightline.maps import METHODS
    from sightline.maps.make import usual_method

    if card.of_maps is None:
        return card
    return METHODS[dict(options.params).get("of") or usual_method(model)]


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
    asked = -1 if text is None else _indices(text, "--layer")
    return tuple(dict.fromkeys(model.layer_indices(asked)))


def _heads(text: str, model: Model) -> tuple[int, ...]:
    return tuple(dict.fromkeys(model.head_indices(_indices(text, "--head"))))


def _indices(text: str, option: str) -> str | list[int]:
    if text.strip() == "all":
        return "all"
    try:
        return [int(part) for part in text.split(",") if part.strip()]
    except ValueError as error:
        raise InputError(
            f"{option} must be numbers separated by commas, or all: {text!r}"
        ) from error


def _size(text: str | None) -> int | tuple[int, int] | None:
    if text is None:
        return None
    parts = text.lower().replace("×", "x").split("x")
    if len(parts) > 2 or not all(part.strip().isdecimal() for part in parts):
        raise InputError(f"--size must be a side or WIDTHxHEIGHT in pixels, got {text!r}")
    numbers = [int(part) for part in parts]
    return numbers[0] if len(numbers) == 1 else (numbers[0], numbers[1])


def _resolution(text: str) -> str | int:
    if text in ("grid", "pixels"):
        return text
    if not text.isdecimal() or int(text) < 1:
        raise InputError(f"--resolution must be grid, pixels or a number, got {text!r}")
    return int(text)


# --- maps, predictions, picture -------------------------------------------------------------------


def _explain(model: Model, samples: list[Sample], calls: Iterable[dict[str, Any]]) -> list[Maps]:
    from sightline.maps import explain

    return [explain(model, samples, **call) for call in calls]


def _predict(model: Model, samples: list[Sample], batch: int | None) -> list[tuple[str, float]]:
    if not model.classes:
        return []
    shares, numbers = model.logits(samples, batch=batch or 16).softmax(1).max(1)
    pairs = zip(numbers.tolist(), shares.tolist(), strict=True)
    return [(model.classes[number], share) for number, share in pairs]


def _draw(
    out: Path | None,
    images: list[Picked],
    samples: list[Sample],
    maps: list[Maps],
    predicted: list[tuple[str, float]],
) -> int:
    """Draw the first images, as many as a picture can show, and return how many."""
    if out is None:
        return 0
    from sightline.data.drawing import write_picture
    from sightline.maps.picture import draw_maps

    each = 1 + sum(len(one.layers) * len(one.heads) for one in maps)
    count = max(1, min(len(images), _MOST_IMAGES, _MOST_TILES // each))
    names = [f"{image.name} · {image.size[0]} x {image.size[1]}" for image in images[:count]]
    notes = [f"predicted: {name}, {share:.1%}" for name, share in predicted[:count]]
    shown = [one[:count] for one in maps]
    write_picture(draw_maps(shown, samples[:count], names=names, notes=notes), out)
    return count
