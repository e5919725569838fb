"""Every question that is put to the golden run, and how its answer is written down."""

from __future__ import annotations

import json
import re
import shlex
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from html.parser import HTMLParser
from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest
from fastapi.testclient import TestClient
from PIL import Image
from typer.testing import CliRunner

from sightline.api import create_app
from sightline.api.binary import decode_map
from sightline.cli import app
from sightline.report import write_report
from sightline.results import open_results

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import pandas as pd

    from sightline.results import Results
    from tests.golden.runs import Runs

IMAGE = "facade-00003.png"
LAYERED: dict[str, Any] = {"model": "demo/vit-dino", "method": "cls"}
CAM: dict[str, Any] = {"model": "demo/cnn", "method": "gradcam", "target": "label"}


class Question(NamedTuple):
    """A question to the golden run.

    Attributes
    ----------
    name
        Of the file that holds the answer, under `answers/`.
    ask
        Returns the answer as text.
    network
        Whether a network's own numbers are in it, which differ between machines.
    """

    name: str
    ask: Callable[[], str]
    network: bool = False


# Results: method -> calls. Those that run a network's checks are marked by their names below.
TABLES: dict[str, tuple[dict[str, Any], ...]] = {
    "leaderboard": (
        {},
        {"metric": "coverage"},
        {"metric": "kl", "layer": "split"},
        {"layer": "last"},
        {"layer": "all", "head": "all", "model": "demo/vit-dino"},
        {"target": "label", "seed": 1},
        {"metric": "pointing", "layer": 0},
    ),
    "layer_progression": ({}, {"metric": "recall@80", "head": "all", **LAYERED}),
    "percentile_sweep": ({}, {"metric": "precision", **CAM}),
    "feature_breakdown": ({}, {"ancestors": True, "percentile": 80, **LAYERED}),
    "style_breakdown": ({}, {"metric": "coverage", **CAM}),
    "head_ranking": (LAYERED, {"metric": "coverage", "layer": 2, **LAYERED}),
    "head_feature_matrix": (LAYERED, {"metric": "recall@mass60", **LAYERED}),
    "exemplars": ({"limit": 5}, {"label": "window", "limit": 4, "head": 3, **LAYERED}),
    "images": ({}, {"sort_by": "kl", "ascending": True, "limit": 7, **CAM}),
    "image": ({"image_id": IMAGE},),
    "curves": ({}, {"kind": "pr", "layer": "last", **LAYERED}),
    "compare": (
        {"a": "demo/vit-dino", "b": "demo/vit-dino@lora"},
        {"a": "cls", "b": "rollout", "by": "method", "metric": "coverage"},
        {"a": 0, "b": 2, "by": "layer", **LAYERED},
    ),
    "checks": ({}, {"check": "faithfulness"}),
    "query": (
        {"sql": "select count(*) n, count(value) defined from scores_long"},
        {"sql": "select * from regions order by all"},
        {"sql": "select * exclude (roc, pr) from scores order by all limit 40"},
        {"sql": "select * from leaderboard order by all"},
        {"sql": "select * from checks order by all limit 40"},
        {"sql": "select * from region_scores order by all limit 40"},
    ),
}
NO_TABLES = {"batches", "close", "compare_best", "manifest", "methods", "metrics", "models"}
NO_TABLES |= {"count_scores", "path", "progress", "prototypes", "refresh", "study"}
NO_TABLES |= {"scores", "region_scores"}  # large ones, of which queries show some rows
"""Public names of `Results` that give no table."""

TRAINING = "-m demo/vit-dino --data facades,count=24,seed=7 --held-out RUN --leave-out -o OUT"
# Commands that have --json. Words in capitals are places; network: see `Question`.
COMMANDS: dict[str, tuple[str, ...]] = {
    "show": ("RUN", "RUN --by layers --metric coverage", "PRECOMPUTED --by labels"),
    "stats": ("RUN --permutations 199", "PRECOMPUTED --metric coverage --permutations 199"),
    "compare": ("RUN --a demo/vit-dino --b demo/vit-dino@lora",),
    "sparsity": ("RUN --draws 50",),
    "query": ("RUN 'select method, count(*) n from scores_long group by method order by method'",),
    "verify": ("RUN",),
    "sanity": ("RUN", "RUN --measure ssim --absolute"),
    "inspect": ("folder DATA", "folder PICTURES"),
    "models": ("",),
    "methods": ("", "--model demo/cnn"),
    "metrics": ("",),
    "figures": ("", "roc"),
    "score": (
        "MAPS/dense.safetensors -a DATA",
        "MAPS/signed.safetensors -a DATA --sign signed --selection percentile",
        "MAPS/rgb.safetensors -a DATA --channels max_abs",
    ),
    "detect": (
        "PICTURES/coco.json PICTURES/eager.json --ci 0.95 --resamples 100",
        "PICTURES/coco.json PICTURES/careful.json --protocol voc",
        "PICTURES/coco.json PICTURES/eager.json --against PICTURES/careful.json --resamples 100",
    ),
    "explain": ("PICTURES/images/facade-00000.png -m demo/cnn --method gradcam -o OUT.png",),
    "analyse": (
        "PICTURES/images/facade-00000.png -a PICTURES -m demo/cnn --methods cam,gradcam -o OUT",
    ),
    "similarity": ("PICTURES/images/facade-00000.png --box 20,20,100,100 -m demo/cnn -o OUT.png",),
    "benchmark": (
        "RUN/prototypes/demo/config.yml -m demo/protopnet --data facades,count=10,seed=7 -o OUT",
    ),
    "finetune": (
        f"{TRAINING} --strategy linear_probe --epochs 3",
        f"{TRAINING} --strategy lora --epochs 1",
    ),
    "propose": ("facades,count=2,size=64 -m demo/vit-dino --option shifts=1 -o OUT.json",),
    "gold show": ("REVIEW/drawn.json", "REVIEW/by-style.json", "REVIEW/picked.json"),
    "review status": ("REVIEW",),
    "review log": ("REVIEW",),
    "report": ("PRECOMPUTED -o OUT --format ''",),
}
NETWORK_COMMANDS = {"sanity", "explain", "analyse", "similarity"}
NETWORK_COMMANDS |= {"benchmark", "finetune", "propose"}
"""The commands whose answers have a network's own numbers."""

MAP = "model=demo/vit-dino&method=cls&layer=2"
CAM_MAP = "model=demo/cnn&method=gradcam&target=label&percentile=80"
HEAD_MAP = "model=demo/vit-dino@lora&method=cls&head=3&selection=mass60"
TWO = "a=demo/vit-dino&b=demo/vit-dino@lora"
# GET routes: path -> query strings. Words in capitals are filled in.
ROUTES: dict[str, tuple[str, ...]] = {
    "/api/health": ("",),
    "/api/progress": ("",),
    "/api/metrics": ("",),
    "/api/study": ("",),
    "/api/images": ("", "sort=coverage&ascending=true&limit=4", f"{CAM_MAP}&label=window"),
    "/api/images/{image_id}": ("",),
    "/api/images/{image_id}/file": ("",),
    "/api/images/{image_id}/thumbnail": ("size=96",),
    "/api/maps/{image_id}": ("", HEAD_MAP),
    "/api/maps/{image_id}/header": ("", CAM_MAP),
    "/api/maps/{image_id}/heatmap.png": ("", f"{CAM_MAP}&smooth=true&size=64"),
    "/api/maps/{image_id}/overlay.png": ("", f"{MAP}&outline=false&opacity=0.7"),
    "/api/metrics/{image_id}": ("", MAP, CAM_MAP, HEAD_MAP),
    "/api/metrics/{image_id}/bbox/{bbox_index}": ("", CAM_MAP, HEAD_MAP),
    "/api/metrics/{image_id}/layers": ("", f"{MAP}&metric=coverage&region=1"),
    "/api/metrics/{image_id}/percentiles": ("", f"{CAM_MAP}&region=1"),
    "/api/metrics/{image_id}/models": ("", f"{CAM_MAP}&metric=recall"),
    "/api/metrics/{image_id}/heads": ("", f"{MAP}&every_layer=true"),
    "/api/leaderboard": ("", "metric=coverage&layer=split", f"{CAM_MAP}&metric=recall@80"),
    "/api/layers": ("", "metric=pointing&head=3"),
    "/api/percentiles": ("", "metric=precision"),
    "/api/ranking": ("", "metrics=coverage,iou@90,kl&layer=last"),
    "/api/breakdown/labels": ("", f"{MAP}&ancestors=true&percentile=80"),
    "/api/breakdown/styles": ("", f"{CAM_MAP}&metric=coverage"),
    "/api/heads": ("", f"{MAP}&metric=coverage"),
    "/api/heads/matrix": ("", f"{MAP}&min_count=2"),
    "/api/heads/exemplars": ("", f"{HEAD_MAP}&label=window&limit=3"),
    "/api/compare": (TWO, "a=cls&b=rollout&by=method&metric=coverage"),
    "/api/compare/{image_id}/shift": (TWO,),
    "/api/sparsity": ("",),
    "/api/sparsity/progress": ("",),
    "/api/detection": ("",),
    "/api/detection/{name}": ("", "confidence=0.5"),
    "/api/detection/{name}/images": ("", "state=FN&limit=3"),
    "/api/detection/{name}/images/{image_id}": ("",),
    "/api/export/{name}": ("",),
    "/api/checks": ("",),
    "/api/checks/sanity": ("", "measure=ssim&way=top-down"),
    "/api/checks/cascade": ("",),
    "/api/checks/faithfulness": ("",),
    "/api/checks/curves": ("", "measure=insertion"),
    "/api/checks/parts": ("",),
    "/api/checks/background": ("one=demo/vit-dino&other=demo/vit-dino@lora",),
    "/api/checks/correctness": ("", "metric=coverage"),
    "/api/checks/agreement": ("",),
    "/api/checks/failures": ("", "model=demo/cnn&method=gradcam&count=3"),
    "/api/checks/layers": ("", "model=demo/vit-dino&method=cls"),
    "/api/prototypes": ("",),
    "/api/prototypes/{name}": ("",),
    "/api/prototypes/{name}/prototypes": ("",),
    "/api/prototypes/{name}/prototypes/{number}": ("",),
    "/api/prototypes/{name}/prototypes/{number}/patch.png": ("",),
    "/api/prototypes/{name}/images/{image_id}": ("",),
    "/api/prototypes/{name}/images/{image_id}/picture.png": ("",),
    "/api/review": ("",),
    "/api/review/queue": ("", "label=window&limit=2"),
    "/api/review/images/{image}": ("",),
    "/api/review/items/{item}/history": ("",),
    "/api/review/events": ("",),
    "/api/review/export": ("",),
    "/api/review/gold": ("",),
    "/api/review/gold/{image}": ("",),
    "/api/rating": ("who=Anna",),
    "/api/rating/next": ("who=Anna",),
    "/api/rating/tasks/{task}/{side}.png": ("",),
    "/api/rating/summary": ("unblind=true",),
}
NETWORK_ROUTES = ("/api/checks", "/api/prototypes", "/api/images")
"""Beginnings of the routes whose answers have a network's own numbers."""


NETWORK_EXPORTS: tuple[str, ...] = ("sanity", "cascade", "layer-changes", "removal", "parts")
NETWORK_EXPORTS += ("model-vs", "manifest", "prototype", "perturbation", "relevance")
NETWORK_EXPORTS += ("drop-heatmap", "max-drops")
_CHECK = re.compile(r'"(?:randomisation|faithfulness|parts)\b')
OF_DETECTIONS: tuple[str, ...] = ("pr-", "confusion", "errors", "calibration")


class Asker:
    """Puts the questions to the golden run.

    Parameters
    ----------
    runs : Runs
        What is asked.
    out : Path
        A folder for what commands write.
    """

    def __init__(self, runs: Runs, out: Path) -> None:
        self.runs, self.out = runs, out
        out.mkdir()
        self.results: Results = open_results(runs.main)
        self.service = create_app(runs.main, review=runs.review)
        self.client = TestClient(self.service, base_url="http://127.0.0.1")

    def questions(self) -> Iterator[Question]:
        """Yield all questions, in the order in which they are asked."""
        yield from self._tables()
        yield from self._routes()
        yield from self._exports()
        yield from self._commands()
        yield from self._report()

    def _tables(self) -> Iterator[Question]:
        for method, calls in TABLES.items():
            for number, call in enumerate(calls):
                ask = partial(self._table, method, call)
                yield Question(f"tables/{method}-{number}.csv", ask, method == "checks")
        yield Question("tables/compare_best.txt", lambda: repr(self.results.compare_best()))

    def _table(self, method: str, call: dict[str, Any]) -> str:
        frame: pd.DataFrame = getattr(self.results, method)(**call)
        notes = "".join(f"# {key}: {value}\n" for key, value in frame.attrs.items())
        return notes + frame.to_csv(index=False)

    def _routes(self) -> Iterator[Question]:
        for path, queries in ROUTES.items():
            network = path.startswith(NETWORK_ROUTES)
            if path == "/api/export/{name}":
                continue
            stem = path.removeprefix("/api/").replace("/", ".").replace("{", "").replace("}", "")
            for number, query in enumerate(queries):
                yield Question(
                    f"routes/{stem}-{number}.json", partial(self._get, path, query), network
                )

    def _get(self, path: str, query: str) -> str:
        response = self.client.get(f"{self._fill_in(path)}?{query}")
        assert response.status_code == 200, f"{path}?{query}: {response.text}"
        kind = response.headers["content-type"].partition(";")[0]
        if kind == "application/json":
            return format_json(response.json())
        if kind.startswith("image/"):
            return format_json(describe_image(response.content))
        if kind == "application/octet-stream":
            header, values, regions, ignore = decode_map(response.content)
            arrays = {"values": values, **{str(key): mask for key, mask in regions.items()}}
            arrays |= {} if ignore is None else {"ignore": ignore}
            hashes = {key: hash_array(array) for key, array in arrays.items()}
            return format_json({"header": header.model_dump(mode="json"), "arrays": hashes})
        return response.text

    def _fill_in(self, path: str) -> str:
        """Return a route's path with the names of things that exist."""
        if "{task}" in path:
            task = self.client.get("/api/rating/next?who=Anna").json()["task"]["id"]
            path = path.replace("{task}", task)
        gold = path.startswith("/api/review/gold")
        names: dict[str, str] = {
            "image_id": IMAGE,
            "image": self._gold_image() if gold else IMAGE,
            "bbox_index": "1",
            "name": "demo" if path.startswith("/api/prototypes") else "eager",
            "number": "1",
            "item": f"{1:016x}",
            "side": "left",
        }
        for name, value in names.items():
            path = path.replace(f"{{{name}}}", value)
        return path

    def _gold_image(self) -> str:
        images = self.client.get("/api/review/gold").json()["images"]
        return str(next(image["image"] for image in images if image["allowed"]))

    def _exports(self) -> Iterator[Question]:
        for name in self.client.get("/api/study").json()["downloads"]:
            if not name.endswith((".png", ".svg", ".pdf")):
                ask = partial(self._export, name)
                yield Question(f"exports/{name}", ask, name.startswith(NETWORK_EXPORTS))

    def _export(self, name: str) -> str:
        query = "model=eager" if name.startswith(OF_DETECTIONS) else ""
        response = self.client.get(f"/api/export/{name}?{query}")
        assert response.status_code == 200, f"{name}: {response.text}"
        text = format_json(response.json()) if name.endswith(".json") else response.text
        return sample_scores(text) if name == "rows.csv" else text

    def _commands(self) -> Iterator[Question]:
        for command, calls in COMMANDS.items():
            for number, call in enumerate(calls):
                name = command.replace(" ", "-")
                ask = partial(self._command, command, call, f"{name}-{number}")
                network = command in NETWORK_COMMANDS
                yield Question(f"commands/{name}-{number}.json", ask, network)

    def _command(self, command: str, call: str, name: str) -> str:
        places = {
            "RUN": self.runs.main,
            "PRECOMPUTED": self.runs.precomputed,
            "PICTURES": self.runs.pictures,
            "DATA": self.runs.precomputed.parents[1] / "data",
            "MAPS": self.runs.precomputed.parents[1],
            "REVIEW": self.runs.decided,
            "OUT": self.out / name,
        }
        words = [*command.split(), *shlex.split(call), "--json"]
        for place, path in places.items():
            words = [re.sub(rf"\b{place}\b", str(path), word) for word in words]
        with drawn_in_one_process():
            result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, f"{words}: {result.output}"
        return format_json(json.loads(result.stdout))

    def _report(self) -> Iterator[Question]:
        report = write_report(self.results, self.out / "report", formats=[], workers=1)
        for path in sorted(report.files):
            name = path.relative_to(self.out / "report").as_posix()
            if path.suffix not in (".svg", ".png"):
                yield Question(f"report/{name}", partial(read_report_file, path), True)
        yield Question("report/summary.json", lambda: format_json(report.summary), True)

    def close(self) -> None:
        """Close the run."""
        self.results.close()


@contextmanager
def drawn_in_one_process() -> Iterator[None]:
    """Have reports drawn without a second process, which costs more than it draws here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sightline.report.write_report", partial(write_report, workers=1))
        yield


def read_report_file(path: Path) -> str:
    """Return a file of a report; of a page, its text."""
    text = path.read_text("utf-8")
    return extract_text(text) if path.suffix == ".html" else text


class _TextParser(HTMLParser):
    """Collects the text of a page, a line per element."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self._hidden += tag in ("script", "style", "svg")

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in ("script", "style", "svg")

    def handle_data(self, data: str) -> None:
        if not self._hidden and data.strip():
            self.lines.append(" ".join(data.split()))


def extract_text(page: str) -> str:
    """Return the text of an HTML page, a line per element."""
    parser = _TextParser()
    parser.feed(page)
    return "\n".join(parser.lines) + "\n"


def format_json(value: Any) -> str:
    """Return JSON with a line per entry, and lists of plain values on one line."""
    text = json.dumps(value, indent=1, ensure_ascii=False)
    plain = r'(?:-?[\d.]+(?:e[+-]?\d+)?|null|true|false|NaN|-?Infinity|"(?:[^"\\\n]|\\.)*")'
    pattern = re.compile(rf"([\[{{])\s+((?:(?:\"[^\"\n]*\": )?{plain},?\s+)+)([\]}}])")
    return pattern.sub(lambda m: m[1] + re.sub(r"\n\s*", " ", m[2]).strip() + m[3], text) + "\n"


def sample_scores(text: str, step: int = 97) -> str:
    """Return some lines of a long table, and a hash of each block of lines between them.

    Rows of sanity checks, which `tables/checks-*.csv` hold, are left out: they are a network's.
    """
    lines = [line for line in text.splitlines() if not _CHECK.search(line)]
    parts = []
    for start in range(0, len(lines), step):
        block = "\n".join(lines[start : start + step])
        parts.append(f"{lines[start]} [sha256:{sha256(block.encode()).hexdigest()[:16]}]")
    return "\n".join(parts) + "\n"


def describe_image(content: bytes) -> dict[str, Any]:
    """Return the format, size and a hash of the pixels of an image."""
    with Image.open(BytesIO(content)) as image:
        pixels = np.asarray(image)
        return {"format": image.format, "shape": list(pixels.shape), "hash": hash_array(pixels)}


def hash_array(values: Any) -> str:
    """Return a hash of an array."""
    header = f"{values.dtype} {values.shape} ".encode()
    return "sha256:" + sha256(header + np.ascontiguousarray(values).tobytes()).hexdigest()[:16]
