"""Take the pictures of `app.md`: each page of the app, in Chromium, into `docs/images/app/`.

`python docs/make_screenshots.py` runs a small study into `runs/app` first (some minutes, once);
`python docs/make_screenshots.py runs/NAME` takes a store that is there. The app must be built
(`make web`).
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "images" / "app"
STORE = ROOT / "runs" / "app"
REVIEW = ROOT / "runs" / "app-review"
QUALITY = 82
PATIENCE_MS = 120_000
IMAGE = "facade-00003.png"
STUDY = {
    "name": "app",
    "data": {"name": "facades", "count": 24, "seed": 7},
    "models": ["demo/vit", "demo/vit@seed2", "demo/vit-dino", "demo/vit-dino@lora", "demo/cnn"],
    "methods": ["cls", "rollout", "gradcam", "saliency", "random", "centre", "edge"],
    "heads": "all",
    "resolution": "pixels",
    "checks": {
        "randomisation": {"images": 16},
        "faithfulness": {"images": 8, "measures": ["deletion", "insertion", "road_morf"]},
        "parts": {"images": 12},
    },
}
DETECTORS = ("eager", "careful")
PROTOTYPES = """\
relevance_analysis: {}
local_perturbation_analysis: {num_prototypes: 3}
"""


class Shot(NamedTuple):
    """A picture of a page."""

    name: str
    path: str
    width: int = 1280
    height: int = 860
    scheme: str = "light"


SHOTS = (
    Shot("gallery", "/"),
    Shot("image", f"/image/{IMAGE}"),
    Shot("image-region", f"/image/{IMAGE}?region=0&percentile=85"),
    Shot("compare", f"/compare?image={IMAGE}"),
    Shot("dashboard", "/dashboard"),
    Shot("dashboard-ranking", "/dashboard?view=ranking", scheme="dark"),
    Shot("detection", "/detection"),
    Shot("sparsity", "/sparsity"),
    Shot("checks", "/checks?model=demo/vit"),
    Shot("checks-curves", "/checks?view=curves"),
    Shot("prototypes", "/prototypes"),
    Shot("prototypes-live", f"/prototypes?view=live&image={IMAGE}&steps=hue:factor=0.4"),
    Shot("review", "/review"),
    Shot("review-gold", "/review?mode=gold"),
    Shot("rating", "/rating"),
    Shot("study", "/study"),
    Shot("phone", f"/image/{IMAGE}", 390, 844),
)


def make_store(folder: Path) -> Path:
    """Run the study, ask classifiers, evaluate detectors, analyse prototypes; once."""
    from sightline.data import load_dataset, write_facades
    from sightline.data.facades.detectors import write_imagined_detections
    from sightline.detection import evaluate_detections
    from sightline.results import open_results
    from sightline.results.predictions import predictions_of
    from sightline.store import write_detection
    from sightline.study import Study, run_study

    if (folder / "prototypes" / "demo" / "benchmark.json").is_file():
        return folder
    run_study(Study.from_dict(STUDY), folder.parent)
    with open_results(folder) as results:
        predictions_of(results)
    pictures = folder.parent / "app-pictures"
    write_facades(load_dataset("facades", count=24, seed=7), pictures)
    write_imagined_detections(pictures)
    for name in DETECTORS:
        found = evaluate_detections(str(pictures / "coco.json"), str(pictures / f"{name}.json"))
        write_detection(folder, name, found)
    add_prototypes(folder)
    return folder


def add_prototypes(folder: Path) -> None:
    """Analyse the prototypes of the demo's model."""
    from sightline.models import load_model
    from sightline.study import BenchmarkJob, DataChoice, run_benchmark
    from sightline.study.config.benchmark import parse_benchmark

    data = DataChoice("facades", count=80, options={"seed": 7})
    asked = BenchmarkJob(parse_benchmark(PROTOTYPES), load_model("demo/protopnet"), data)
    run_benchmark(asked, folder, name="demo", text=PROTOTYPES)


def make_review(folder: Path) -> Path:
    """Propose what is missing, draw a gold set, ask about maps; decide on nothing; once."""
    from sightline.annotation.gold import draw_gold
    from sightline.annotation.journal import Journal
    from sightline.annotation.proposals import propose
    from sightline.annotation.proposers import make_proposer
    from sightline.annotation.rating_tasks import draw_tasks
    from sightline.data.choice import DataChoice

    if (folder / "review.sqlite").is_file():
        return folder
    choice = DataChoice("facades", count=24, options={"seed": 7, "labelling": "representative"})
    dataset = choice.open()
    found = propose(dataset, make_proposer("similarity", "demo/vit-dino"))
    folder.mkdir(parents=True, exist_ok=True)
    gold = draw_gold(dataset, 6, seed=1)
    with Journal.create(folder, dataset, found, gold=gold, choice=choice) as journal:
        journal.add_tasks(draw_tasks(dataset.ids[:6], ["demo/cnn gradcam", "demo/vit rollout"], 0))
    return folder


@contextmanager
def served(store: Path, review: Path) -> Iterator[str]:
    """Serve a store at any free port; yield the address."""
    command = [sys.executable, "-c", "from sightline.cli import main; main()"]
    command += ["serve", str(store), "--review", str(review), "--port", "0", "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:  # noqa: S603
        try:
            for line in run.stdout or ():
                found = re.search(r"http://127\.0\.0\.1:\d+", line)
                if found:
                    yield found[0]
                    return
            raise SystemExit("sightline serve ended before it listened")
        finally:
            run.terminate()


def take(browser: Any, address: str, shot: Shot) -> bytes:
    """Return a page as JPEG, once nothing is on its way any more."""
    from PIL import Image
    from playwright.sync_api import expect

    size = {"width": shot.width, "height": shot.height}
    with browser.new_context(viewport=size, color_scheme=shot.scheme) as context:
        context.add_init_script("localStorage.setItem('sightline.review.who', 'Anna')")
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.goto(address + shot.path)
        page.wait_for_load_state("networkidle")
        expect(page.locator("main h1").first).to_be_visible()
        expect(page.locator(".spinner")).to_have_count(0, timeout=PATIENCE_MS)
        page.wait_for_load_state("networkidle")
        drawn = Image.open(BytesIO(page.screenshot())).convert("RGB")
    out = BytesIO()
    drawn.save(out, "JPEG", quality=QUALITY, optimize=True, progressive=True)
    return out.getvalue()


def main(arguments: list[str]) -> None:
    """Take all pictures."""
    from playwright.sync_api import sync_playwright

    names = ("chromium", "chromium-headless-shell", "google-chrome")
    chromium = next(filter(None, map(shutil.which, names)), None)
    if chromium is None:
        raise SystemExit("Chromium is not installed (Debian: apt install chromium)")
    store = Path(arguments[0]) if arguments else make_store(STORE)
    PICTURES.mkdir(parents=True, exist_ok=True)
    with served(store, make_review(REVIEW)) as address, sync_playwright() as player:
        browser = player.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for shot in SHOTS:
            taken = take(browser, address, shot)
            (PICTURES / f"{shot.name}.jpg").write_bytes(taken)
            print(f"{len(taken):>8} {shot.name}")
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
