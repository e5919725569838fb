"""What the keys of a study ask of each other."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from sightline.core import SightlineError
from sightline.core.limits import MAX_SOURCES
from sightline.data.datasets import DATASETS
from sightline.metrics.engine import parse_metric as read_metric
from sightline.metrics.selection import Threshold, parse_selection, share_hint
from sightline.metrics.spec import METRICS, MetricSpec
from sightline.study.config.problems import Place, found_problems

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sightline.study.config.model import Data, MethodEntry, Study

__all__ = ["check_data", "check_metrics", "check_selection", "check_study"]

_OF_MANY = "depends on which images are scored together, while a study scores each map by itself"


def check_data(data: Data) -> None:
    """Raise where a data set is unknown, or is given what it does not take."""
    try:
        spec = DATASETS[data.name]
    except SightlineError as error:
        raise found_problems([(("name",), str(error))]) from None
    found: list[tuple[Place, str]] = []
    if spec.layout and data.path is None:
        found.append((("path",), f"missing; {data.name} needs {spec.layout}"))
    if not spec.layout and data.path is not None:
        text = f"{data.name} needs no files and has no path, got {data.path!r}"
        text += "; a folder of images of your own has the name folder"
        found.append((("path",), text))
    for key in ("seed", "labelling"):
        if data.name != "facades" and getattr(data, key) is not None:
            text = f"only facades, which are drawn, have a {key}; the data set is {data.name}"
            found.append(((key,), text))
    if data.annotations == "given" and data.review is not None:
        text = f"only annotations completed and gold are of a review, got given and {data.review!r}"
        found.append((("review",), text))
    if data.annotations != "given" and data.review is None:
        text = f"missing; annotations {data.annotations} need the folder of a review"
        found.append((("review",), text))
    if found:
        raise found_problems(found)


def check_metrics(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return names of metrics that score one map."""
    found: list[tuple[Place, str]] = []
    for place, name in enumerate(names):
        try:
            if METRICS[name.partition("@")[0]].level == "dataset":
                found.append(((place,), f"{name} {_OF_MANY}"))
                continue
            rules = (rule for _, rule in read_metric(name, ()) if rule is not None)
            hints = (share_hint(rule.level) for rule in rules if rule.kind == "percentile")
            found += [((place,), f"{name}: {hint}") for hint in hints if hint]
        except SightlineError as error:
            found.append(((place,), str(error)))
    if found:
        raise found_problems(found)
    return names


def check_selection(rules: tuple[str, ...]) -> tuple[str, ...]:
    """Return rules of selection, no two of them the same."""
    found: list[tuple[Place, str]] = []
    seen: list[tuple[Threshold, ...]] = []
    for place, rule in enumerate(rules):
        try:
            thresholds = parse_selection(rule)
        except SightlineError as error:
            found.append(((place,), str(error)))
            continue
        if thresholds in seen:
            found.append(((place,), f"{rule!r} is there twice"))
        seen.append(thresholds)
    if found:
        raise found_problems(found)
    return rules


def check_study(study: Study) -> None:
    """Raise with all that does not fit between the keys."""
    found = [
        *_too_many(study),
        *_repeated_models(study),
        *_lost_models(study),
        *_without_models(study),
        *_repeated_methods(study),
        *_signed(study),
        *_asked(study),
    ]
    for place, name in enumerate(study.metrics):
        if "@tol" in name and study.resolution != "pixels":
            text = f"{name} is measured in pixels of the image: resolution must be pixels"
            found.append((("metrics", place), f"{text}, got {study.resolution}"))
    if "percentile" in study.selection and not study.percentiles:
        found.append((("percentiles",), "expected at least one, since selection has percentile"))
    if found:
        raise found_problems(found)


def _too_many(study: Study) -> Iterator[tuple[Place, str]]:
    """Find more combinations than a plan can hold."""
    parts = {
        "models": max(1, len(study.models)),
        "methods": len(study.methods),
        "targets": len(study.targets),
        "seeds": len(study.seeds),
    }
    count = prod(parts.values())
    if count > MAX_SOURCES:
        told = " × ".join(f"{number:,} {name}" for name, number in parts.items())
        yield ((), f"expected at most {MAX_SOURCES:,} combinations, got {told} = {count:,}")


def _repeated_models(study: Study) -> Iterator[tuple[Place, str]]:
    seen: set[str] = set()
    for place, entry in enumerate(study.models):
        if entry.full in seen:
            text = "is there twice; to compare fits, run a study for each and `sightline diff` them"
            yield ("models", place), f"{entry.full} {text}"
        seen.add(entry.full)


def _lost_models(study: Study) -> Iterator[tuple[Place, str]]:
    known = [entry.full for entry in study.models]
    for place, method in enumerate(study.methods):
        for number, name in enumerate(method.models or ()):
            if name not in known:
                text = f"{name!r} is not one of the study's models: {', '.join(known) or 'none'}"
                yield ("methods", place, "models", number), text


def _without_models(study: Study) -> Iterator[tuple[Place, str]]:
    names = [method.name for method in study.methods if not method.given]
    if names and not study.models:
        one = len(names) == 1
        text = f"method{'' if one else 's'} {', '.join(names)} need{'s' if one else ''} a model"
        yield ("methods",), f"{text}; the study has none"


def _repeated_methods(study: Study) -> Iterator[tuple[Place, str]]:
    seen: set[tuple[str, str]] = set()
    for place, method in enumerate(study.methods):
        for model in _models_of(method, study):
            if (method.name, model) in seen:
                of = f" of {model}" if model else ""
                text = f"{method.name}{of} is there twice; its results would have the same names"
                yield ("methods", place), text
                break
            seen.add((method.name, model))


def _models_of(method: MethodEntry, study: Study) -> list[str]:
    if method.given:
        return [str(method.params.get("model", ""))]
    named = [entry.full for entry in study.models] if method.models is None else method.models
    return list(dict.fromkeys(named))


def _asked(study: Study) -> Iterator[tuple[Place, str]]:
    """Yield what does not fit in the checks that are asked for."""
    models = [entry.full for entry in study.models]
    methods = [method.name for method in study.methods if not method.given]
    for name, check in study.checks.asked():
        if not models:
            yield ("checks", name), "checks run a model again; the study has none"
        for what, known in (("models", models), ("methods", methods)):
            for number, one in enumerate(getattr(check, what) or ()):
                if one not in known:
                    text = f"{one!r} is not one of the study's {what}: {', '.join(known) or 'none'}"
                    yield ("checks", name, what, number), text
    if study.checks.parts is not None and study.data.name != "facades":
        text = f"only of drawn facades is known which parts decide; the data are {study.data.name}"
        yield ("checks", "parts"), text


def _signed(study: Study) -> Iterator[tuple[Place, str]]:
    thresholds = parse_selection(study.selection, study.percentiles or (90,))
    asked = [item for name in study.metrics for item in read_metric(name, thresholds)]
    for place in _signed_places(study):
        energy = dict.fromkeys(spec.name for spec, _ in asked if _needs_energy(spec))
        if energy:
            yield place, _advice("has no energy", f"metrics without {', '.join(energy)}")
        if any(t.kind in ("mass", "mean") for _, t in asked if t is not None):
            yield place, _advice("has no mass and no mean to select by", "another selection")


def _advice(why: str, change: str) -> str:
    return f"a signed map {why}: list {change}, or use positive or absolute"


def _signed_places(study: Study) -> Sequence[Place]:
    """Return where signed maps are asked for."""
    if study.sign is not None:
        return [("sign",)] if study.sign == "signed" else []
    return [
        ("methods", place, "params", "sign")
        for place, method in enumerate(study.methods)
        if method.given and method.params.get("sign") == "signed"
    ]


def _needs_energy(spec: MetricSpec) -> bool:
    """Say whether a metric divides by the sum of the map, or as mse by its largest value."""
    return "map sums to zero" in spec.undefined or spec.name == "mse"
