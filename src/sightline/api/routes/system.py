"""What is served: health, the study, its progress, the metrics."""

from __future__ import annotations

import math
import os
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from importlib.util import find_spec
from typing import Any, cast

from anyio import CapacityLimiter, to_thread
from anyio.lowlevel import RunVar
from fastapi import APIRouter, Request

from sightline import __version__
from sightline.api.choice import AskedTable, choose_line
from sightline.api.problems import PROBLEMS, Refusal
from sightline.api.routes._check_tables import stored_checks
from sightline.api.routes.sparsity import why_no_score
from sightline.api.schemas import (
    Choice,
    Health,
    LabelInfo,
    MethodInfo,
    MetricInfo,
    MetricTable,
    ModelInfo,
    Progress,
    ReviewHealth,
    StudyInfo,
    Table,
)
from sightline.api.state import Here, Served, Service
from sightline.core import SightlineError
from sightline.metrics import METRICS
from sightline.metrics.spec import MetricSpec
from sightline.results._catalogue import BASELINE
from sightline.results._views import full_name
from sightline.results.detection import detection_names
from sightline.results.images import COLUMNS
from sightline.results.prototypes import benchmark_names
from sightline.store import check_tasks, task_name
from sightline.store.files import read_plain
from sightline.store.lock import is_held

__all__ = ["downloads_of", "health_of", "router", "study_of", "study_yaml"]

router = APIRouter(tags=["study"])

_OWN: RunVar[CapacityLimiter] = RunVar("thread for those who poll")
_TITLES = {
    "auc_judd": "AUC-Judd",
    "auc_roc": "AUC",
    "average_precision": "AP",
    "best_iou": "Best IoU",
    "cc": "CC",
    "corloc": "CorLoc",
    "emd": "EMD",
    "iou": "IoU",
    "iou_corrected": "Corrected IoU",
    "iou_share": "IoU, share of ceiling",
    "kl": "KL",
    "max_box_acc": "MaxBoxAcc",
    "mse": "MSE",
    "nss": "NSS",
    "pxap": "PxAP",
    "shuffled_auc": "Shuffled AUC",
    "sim": "SIM",
}


@router.get("/api/health", response_model=Health, summary="Whether the service is up")
def health(request: Request, served: Here) -> Health:
    """Tell that the service is up, what it has loaded, and what it lacks and why."""
    service = cast("Service", request.app.state.service)
    found = health_of(served, service.trouble)
    told, why = _review(service)
    missing = found.missing | ({"review": why} if why else {})
    update = {"warming": service.warming, "review": told, "missing": missing}
    return found.model_copy(update=update)


def _review(service: Service) -> tuple[ReviewHealth | None, str]:
    """Return the review that is served; or why there is none."""
    try:
        desk = service.desk
        return (None, _NO_REVIEW) if desk is None else (desk.health(), "")
    except SightlineError as error:
        return None, str(error)


def health_of(served: Served, trouble: str = "") -> Health:
    """Return what is loaded."""
    missing = dict(served.kept("missing", lambda: _missing(served)))
    if trouble:
        missing["store"] = trouble
    done, count = served.results.progress
    return Health(
        version=__version__,
        study=str(served.study["name"]),
        images=len(served.images),
        models=len(served.results.models),
        tasks_done=done,
        tasks_all=count,
        pictures="pictures" not in missing,
        maps="maps" not in missing,
        heads="heads" not in missing,
        detection=tuple(detection_names(served.results.path)),
        sparsity="sparsity" not in missing,
        checks=stored_checks(served),
        prototypes=tuple(benchmark_names(served.results.path)),
        missing=missing,
    )


def _missing(served: Served) -> dict[str, str]:
    """Say why things are not there."""
    found = {
        "pictures": _why_no_pictures(served),
        "maps": _why_no_maps(served),
        "heads": "" if _heads(served.manifest["sources"]) else "the study stored fused heads only",
        "detection": "" if detection_names(served.results.path) else _NO_DETECTION,
        "checks": "" if stored_checks(served) else "the study ran no checks",
        "prototypes": "" if benchmark_names(served.results.path) else _NO_PROTOTYPES,
    }
    found["sparsity"] = found["maps"] or _why_no_sparsity(served)
    return {name: why for name, why in found.items() if why}


_NO_PROTOTYPES = "no benchmark is stored; `sightline benchmark … --store` adds one"
_NO_REVIEW = "no review is served; `sightline serve … --review FOLDER` serves one"
_NO_DETECTION = "no evaluation is stored; `sightline detect … --store` adds one"


def _why_no_pictures(served: Served) -> str:
    first = next(iter(served.images), None)
    if first is None:
        return "the study has no images"
    try:
        served.sample(first).image()
    except SightlineError as error:
        return str(error)
    return ""


def _why_no_maps(served: Served) -> str:
    given = all(one.get("maps") for one in served.manifest["sources"])
    if served.study.get("keep_maps") == "none" and not given:
        return "the study kept no maps (keep_maps: none)"
    if not served.tables.tasks:
        return f"nothing is stored yet: {served.results.progress}"
    try:
        _ = served.dataset
    except SightlineError as error:
        return str(error)
    return ""


def _why_no_sparsity(served: Served) -> str:
    if why := why_no_score(served):
        return why
    if not any(served.regions.values()):
        return "the images have no regions"
    return ""


# --- progress ------------------------------------------------------------------------------------


@router.get("/api/progress", response_model=Progress, summary="How far the study has come")
async def progress(served: Here) -> Progress:
    """Tell how many tasks are stored now. Poll it while a study runs.

    `version` changes whenever answers may: with it as `?v=`, they may be kept for ever.
    """
    if served.peek("tasks") is not None and served.peek("rows") is not None:
        return _progress(served)  # a few calls of the system: no thread to wait for
    return await to_thread.run_sync(_progress, served, limiter=_own_thread())


def _own_thread() -> CapacityLimiter:
    """Return room for one thread beside those of other routes: who polls need not wait for them."""
    try:
        return _OWN.get()
    except LookupError:
        _OWN.set(CapacityLimiter(1))
        return _OWN.get()


def _progress(served: Served) -> Progress:
    tasks = served.kept("tasks", lambda: frozenset(_tasks(served)))
    done, last = _stored(served, tasks)
    when = None if last is None else datetime.fromtimestamp(last, UTC).isoformat(timespec="seconds")
    return Progress(
        done=done,
        all=len(tasks),
        running=is_held(served.results.path / "lock"),
        finished=done == len(tasks),
        rows=served.kept("rows", lambda: _rows(served)),
        updated=when,
        version=served.version,
    )


def _stored(served: Served, tasks: frozenset[str]) -> tuple[int, float | None]:
    """Return how many tasks are stored, and when the last one was.

    Files are renamed into their folder, whose own time then changes; it is listed only when it did.
    A time of this very second is not trusted: another file may come within its grain.
    """
    folders = [served.results.path / name for name in ("scores", "checks")]

    def count() -> tuple[int, float | None]:
        stored = [
            entry
            for folder in folders
            for entry in os.scandir(folder)
            if entry.name.removesuffix(".parquet") in tasks
        ]
        return len(stored), max((_modified(entry) for entry in stored), default=None)

    changed = tuple(folder.stat().st_mtime_ns for folder in folders)
    if time.time_ns() - max(changed) < 1_000_000_000:
        return count()
    return served.kept(("stored", changed), count)


def _tasks(served: Served) -> Iterable[str]:
    manifest = served.manifest
    for number, chunk in enumerate(manifest["chunks"]):
        for source in manifest["sources"]:
            yield task_name(source["key"], number, chunk["digest"])
    yield from check_tasks(manifest)


def _modified(entry: os.DirEntry[str]) -> float:
    try:
        return entry.stat().st_mtime
    except OSError:
        return 0.0


def _rows(served: Served) -> int:
    """Return how many scores are stored, by the metadata of the files."""
    return served.tables.count_scores()


# --- metrics -------------------------------------------------------------------------------------


@router.get("/api/metrics", response_model=MetricTable, summary="All metrics")
def metrics(served: Here) -> MetricTable:
    """Tell of every metric what it means and how to read it, and which scores are stored."""
    stored = tuple(served.results.metrics) if served.tables.tasks else ()
    return MetricTable(
        metrics=tuple(_metric(spec) for spec in METRICS.values()),
        stored=stored,
        sortable=(*stored, *COLUMNS),
        default=str(served.name(None)) if stored else "iou@90",
    )


def _metric(spec: MetricSpec) -> MetricInfo:
    low, high = (end if math.isfinite(end) else None for end in spec.range)
    return MetricInfo(
        name=spec.name,
        title=_TITLES.get(spec.name, spec.name.replace("_", " ").capitalize()),
        meaning=spec.meaning,
        direction=spec.direction,
        low=low,
        high=high,
        chance=None if spec.chance is None else spec.chance.formula,
        ceiling=None if spec.ceiling is None else spec.ceiling.formula,
        level=spec.level,
        category=spec.category,
        role=spec.role,
        spatial=spec.spatial,
        needs=spec.needs,
        undefined=spec.undefined,
        best_for=spec.best_for,
        limitation=spec.limitation,
        citation=spec.citation,
        thresholded=spec.thresholded,
    )


# --- the study -----------------------------------------------------------------------------------


@router.get(
    "/api/study",
    response_model=StudyInfo,
    summary="What was asked, of what, by what",
    responses={409: PROBLEMS[409]},
)
def study(served: Here) -> StudyInfo:
    """Tell every choice of the study, where it was run, and which names its answers have."""
    return study_of(served)


def study_of(served: Served) -> StudyInfo:
    """Return what a study is."""
    return served.kept("study", lambda: _study(served))


def _study(served: Served) -> StudyInfo:
    about = served.study
    return StudyInfo(
        name=str(about["name"]),
        path=served.results.path.name,
        study=about,
        yaml=study_yaml(served),
        provenance=_provenance(served),
        plan=_plan(served),
        models=tuple(_models(served)),
        methods=tuple(_methods(served)),
        labels=tuple(_labels(served)),
        styles=tuple(_styles(served)),
        splits=tuple(sorted({one.split for one in served.images.values() if one.split})),
        images=len(served.images),
        percentiles=tuple(float(one) for one in about["percentiles"]),
        selections=tuple(about["selection"]),
        resolution=str(about["resolution"]),
        default=_default(served),
        downloads=downloads_of(served),
        pictures=served.pictures,
    )


def study_yaml(served: Served) -> str:
    """Return the study as its file has it.

    Raises
    ------
    Refusal
        409, if the file cannot be read.
    """
    try:
        return read_plain(served.results.path / "study.yml").decode("utf-8")
    except OSError as error:
        raise Refusal(409, f"the study's file cannot be read: {error}") from error


def _provenance(served: Served) -> dict[str, Any]:
    names = ("versions", "git", "machine", "threads", "plan", "models", "left_out", "skipped")
    found = {name: served.manifest.get(name) for name in (*names, "batches", "runs")}
    data = served.manifest.get("data", {})
    return found | {"data": {name: data[name] for name in data if name != "taxonomy"}}


def _plan(served: Served) -> Table:
    """Return a line for each source of maps and each check: its tasks, and how many are done."""
    there = {*served.tables.tasks, *served.tables.check_tasks}
    columns = ("model", "method", "target", "seed", "check", "group", "layers", "heads", "tasks")
    rows: dict[tuple[Any, ...], list[Any]] = {}
    for one, names in _tasks_of(served.manifest):
        layers, heads = (sum(x is not None for x in one[what]) for what in ("layers", "heads"))
        check = one["part"] if one["check"] else ""
        texts = (one["method"], one["target"], one["seed"], check, one["group"])
        # All ways and draws of a check are one line; a method may be there with other parameters.
        key = (full_name(one), *texts) if check else (one["key"],)
        line = rows.setdefault(key, [full_name(one), *texts, layers, heads, 0, 0])
        line[-2] += len(names)
        line[-1] += sum(name in there for name in names)
    lines = tuple(tuple(line) for line in rows.values())
    return Table(columns=(*columns, "done"), rows=lines)


def _tasks_of(manifest: Mapping[str, Any]) -> Iterable[tuple[dict[str, Any], list[str]]]:
    """Yield each source of maps and each check with the names of its tasks."""
    for one in (*manifest["sources"], *manifest.get("checks", ())):
        chunks = manifest["checked"][one["part"]] if one["check"] else manifest["chunks"]
        yield (
            one,
            [task_name(one["key"], number, chunk["digest"]) for number, chunk in enumerate(chunks)],
        )


def _models(served: Served) -> Iterable[ModelInfo]:
    sources: dict[str, list[dict[str, Any]]] = {}
    for one in served.manifest["sources"]:
        if not one["check"]:
            sources.setdefault(full_name(one), []).append(one)
    loaded = {full_name(one) for one in served.manifest.get("models", ())}
    for name, some in sources.items():
        yield ModelInfo(
            name=name,
            base=some[0]["model"],
            variant=some[0]["variant"],
            layers=max(sum(x is not None for x in one["layers"]) for one in some),
            heads=_heads(some),
            layer_numbers=_numbers(some, "layers"),
            head_numbers=_numbers(some, "heads"),
            baseline=all(one["group"] == BASELINE for one in some),
            methods=tuple(dict.fromkeys(one["method"] for one in some)),
            similarity=name in loaded and find_spec("torch") is not None,
        )


def _numbers(sources: Iterable[Mapping[str, Any]], what: str) -> tuple[int, ...]:
    """Return which layers or heads there are, in order."""
    return tuple(sorted({x for one in sources for x in one[what] if x is not None}))


def _heads(sources: Iterable[Mapping[str, Any]]) -> int:
    """Return how many heads were kept apart."""
    return max((sum(x is not None for x in one["heads"]) for one in sources), default=0)


def _methods(served: Served) -> Iterable[MethodInfo]:
    cards = _cards()
    sources: dict[str, list[dict[str, Any]]] = {}
    for one in served.manifest["sources"]:
        if not one["check"]:
            sources.setdefault(one["method"], []).append(one)
    for name, some in sources.items():
        what, paper = cards.get(name, ("", ""))
        yield MethodInfo(
            name=name,
            group=some[0]["group"],
            what=what,
            sign=some[0]["sign"],
            layered=any(layer is not None for one in some for layer in one["layers"]),
            paper=paper,
            targets=tuple(dict.fromkeys(one["target"] for one in some if one["target"])),
        )


def _cards() -> dict[str, tuple[str, str]]:
    """Return what methods show, and who found them; nothing where models cannot be run."""
    if find_spec("torch") is None:
        return {}
    from sightline.attribution.methods import METHODS

    return {name: (card.what, card.paper) for name, card in METHODS.items()}


def _labels(served: Served) -> Iterable[LabelInfo]:
    """Yield the labels of regions that are scored, and those above them with all below."""
    regions: Counter[str] = Counter()
    images: dict[str, set[str]] = {}
    for image, some in served.regions.items():
        for one in some:
            if not one.dropped:
                for label in (one.label, *ancestors(served, one.label)):
                    regions[label] += 1
                    images.setdefault(label, set()).add(image)
    parents = served.taxonomy.parents
    for label in sorted(regions):
        above = tuple(parents.get(label, ()))
        yield LabelInfo(label=label, count=regions[label], images=len(images[label]), parents=above)


def ancestors(served: Served, label: str) -> tuple[str, ...]:
    """Return the labels above one of a region; none where nothing is known of it."""
    return served.taxonomy.ancestors(label) if label in served.taxonomy else ()


def _styles(served: Served) -> Iterable[LabelInfo]:
    counts = Counter(label for one in served.images.values() for label in one.labels)
    for label in sorted(counts):
        yield LabelInfo(label=label, count=counts[label], images=counts[label])


def _default(served: Served) -> Choice | None:
    """Return what is chosen where nothing is asked for; None while nothing is stored."""
    if not served.tables.tasks:
        return None
    return choose_line(served, AskedTable()).choice


def downloads_of(served: Served) -> tuple[str, ...]:
    """Return the names that /api/export has."""
    from sightline.api.routes.exports import names_of

    return tuple(names_of(served))
