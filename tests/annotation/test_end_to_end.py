"""From sparse labels to an estimate: a scripted reviewer decides through the API, studies score."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np
import pytest
from fastapi.testclient import TestClient

from sightline.annotation.completion import export
from sightline.annotation.gold import draw_gold, pick_gold
from sightline.annotation.journal import Journal
from sightline.annotation.proposals import Proposal, Proposals
from sightline.annotation.review_results import read_reviewed, shared_models
from sightline.api import create_app
from sightline.core import InputError, Region
from sightline.data import load_dataset
from sightline.data.choice import DataChoice
from sightline.data.writers import write_annotations
from sightline.results import open_results, sparsity_report
from sightline.results._review_notes import _of_completed, gold_strata
from sightline.results.annotation_sets import Sets, result_lines
from sightline.stats.missing_labels import ppi_mean
from sightline.study import Data, Study, run_study
from sightline.study.plan.images import study_dataset

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    from sightline.core import Annotation, Sample
    from sightline.data import Dataset
    from sightline.results import SparsityReport

COUNT, GOLD = 60, 20
FACADES: dict[str, Any] = {"name": "facades", "count": COUNT, "seed": 11}
# How often the reviewer errs, how many missing instances are proposed, and false ones an image.
WRONG, FOUND, FALSE = 0.1, 0.85, 0.7
PROPOSER = ("demo/vit-dino", "0123456789abcdef")


def boxed(annotation: Annotation) -> Annotation:
    """Return the windows alone, of which there are many, as people draw them: in boxes."""
    windows = [one for one in annotation.regions if one.label.endswith("window")]
    boxes = [replace(one, kind="box", mask=None) for one in windows]
    return replace(annotation, regions=tuple(boxes))


def write_labels(folder: Path, labelling: str) -> None:
    """Write the labels of facades, all or one of a kind."""
    dataset = load_dataset(**FACADES, labelling=labelling)
    (folder / labelling).mkdir()
    found = {name: boxed(one) for name, one in dataset.annotations().items()}
    write_annotations(found, folder / labelling / "annotations.json")


def labels(folder: Path, labelling: str = "representative") -> Dataset:
    return load_dataset("folder", folder / labelling)


def iou(one: Any, other: Any) -> float:
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    inner = max(width, 0.0) * max(height, 0.0)
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (one, other)]
    return float(inner / (sum(areas) - inner))


def look(annotation: Annotation, rng: np.random.Generator) -> NDArray[np.float32]:
    """Return a map that looks at every instance, more or less."""
    y, x = np.mgrid[:56, :56] / 56 + 0.5 / 56
    found = rng.uniform(0, 0.15, (56, 56))
    for region in annotation.regions:
        x0, y0, x1, y1 = region.box
        inside = (x >= x0) & (x < x1) & (y >= y0) & (y < y1)
        found += rng.uniform(0, 1) * inside
    return found.astype(np.float32)


def missing(sparse: Sample, whole: Sample) -> list[Region]:
    known = {region.index for region in sparse.annotation.regions}
    return [region for region in whole.annotation.regions if region.index not in known]


def proposals(folder: Path, rng: np.random.Generator) -> Proposals:
    """Return proposals of most missing instances, a little off, and some that are wrong."""
    items: list[Proposal] = []
    for given, whole in zip(labels(folder), labels(folder, "exhaustive"), strict=True):
        places = [
            (one.label, np.add(one.box, rng.normal(0, 0.003, 4)))
            for one in missing(given, whole)
            if rng.uniform() < FOUND
        ]
        for _ in range(rng.poisson(FALSE)):
            x, y = rng.uniform(0, 0.8, 2)
            label = str(rng.choice([one.label for one in whole.annotation.regions]))
            places.append((label, np.array([x, y, x + 0.15, y + 0.15])))
        for label, box in places:
            inside = tuple(np.clip(box, 0, 1).tolist())
            score = float(rng.uniform(0.2, 1))
            region = Region(label, box=inside, source="similarity", score=score)
            name = f"{len(items):016x}"
            items.append(Proposal(name, given.image_id, region, score, "similarity", 0, *PROPOSER))
    return Proposals(tuple(items), "facades")


def run(
    folder: Path, name: str, labelling: str = "representative", model: str = "looker", **data: Any
) -> Path:
    methods = [{"name": "looks", "params": {"maps": str(folder / "maps.npz"), "model": model}}]
    words: dict[str, Any] = {
        "name": name,
        "data": {"name": "folder", "path": str(folder / labelling), **data},
        "models": [],
        "methods": methods,
        "metrics": ["iou", "recall", "coverage", "pointing"],
        "percentiles": [90],
    }
    return run_study(Study(**words), folder, workers=1).store.path


@dataclass(frozen=True)
class Told:
    """What the API was told: nothing but its answers is known to whoever decides."""

    post: Callable[..., Any]
    get: Callable[..., Any]
    truth: dict[str, Annotation]

    def decide(self, who: str, kind: str, **words: Any) -> Any:
        event = {"id": str(uuid4()), "who": who, "kind": kind, **words}
        answer = self.post("/api/review/events", json=event)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def ask(self, path: str, **words: Any) -> Any:
        answer = self.get(path, params=words)
        assert answer.status_code == 200, answer.text
        return answer.json()


def review(told: Told, rng: np.random.Generator) -> tuple[int, int]:
    """Decide on all proposals, some wrongly; return how many, and how many wrongly."""
    done = wrong = 0
    while items := told.ask("/api/review/queue", who="Rita", limit=50)["items"]:
        for item in items:
            right = any(
                one.label == item["label"] and iou(one.box, item["box"]) >= 0.5
                for one in told.truth[item["image"]].regions
            )
            errs = rng.uniform() < WRONG
            told.decide(
                "Rita",
                "accept" if right != errs else "reject",
                image=item["image"],
                item=item["id"],
                expected=item["version"],
                seconds=2.0,
            )
            done, wrong = done + 1, wrong + errs
    return done, wrong


def annotate_gold(told: Told) -> None:
    """Draw every instance on the gold images, seeing no proposals, and lock them."""
    for image in told.ask("/api/review/gold", who="Gina")["images"]:
        words = {"mode": "gold", "image": image["image"]}
        for region in told.truth[image["image"]].regions:
            after = {"box": list(region.box), "label": region.label}
            told.decide("Gina", "draw", item=f"drawn-{uuid4()}", after=after, **words)
        seen = told.ask(f"/api/review/gold/{image['image']}", who="Gina")
        told.decide("Gina", "done", expected=seen["version"], **words)
    version = told.ask("/api/review/gold", who="Gina")["version"]
    told.decide("Gina", "lock", mode="gold", expected=version)


@dataclass(frozen=True)
class Reviewed:
    """The stores of a study on every set of labels, the review, and what was decided."""

    folder: Path
    done: int
    wrong: int

    def scores(self, name: str) -> dict[str, float]:
        with open_results(self.folder / name) as results:
            frame = results.query(
                "SELECT image, value FROM scores_long WHERE metric = 'iou' AND region IS NULL"
            )
        return dict(zip(frame["image"], frame["value"].astype(float), strict=True))

    def report(self, **words: Any) -> SparsityReport:
        with open_results(self.folder / "sparse") as results:
            return sparsity_report(results, draws=50, **words)


def opened(folder: Path) -> Told:
    app = create_app(folder / "sparse", review=folder / "review")
    client = TestClient(app, base_url="http://localhost")
    return Told(client.post, client.get, labels(folder, "exhaustive").annotations())


@pytest.fixture(scope="module")
def reviewed(tmp_path_factory: pytest.TempPathFactory) -> Reviewed:
    folder = tmp_path_factory.mktemp("reviewed")
    rng = np.random.default_rng(3)
    for labelling in ("representative", "exhaustive"):
        write_labels(folder, labelling)
    whole = labels(folder, "exhaustive").annotations()
    maps: dict[str, Any] = {name: look(one, rng) for name, one in whole.items()}
    np.savez(folder / "maps.npz", **maps)
    gold = draw_gold(labels(folder), GOLD, seed=2)
    (folder / "review").mkdir()
    Journal.create(folder / "review", labels(folder), proposals(folder, rng), gold=gold).close()
    run(folder, "sparse")
    run(folder, "truth", "exhaustive")
    told = opened(folder)
    annotate_gold(told)
    done, wrong = review(told, rng)
    for which in ("completed", "gold"):
        run(folder, which, annotations=which, review=str(folder / "review"))
    return Reviewed(folder, done, wrong)


def test_completed_labels_come_nearer_to_the_truth(reviewed: Reviewed) -> None:
    assert reviewed.done > 2 * COUNT
    assert 0.05 < reviewed.wrong / reviewed.done < 0.15
    means = {
        name: np.mean(list(reviewed.scores(name).values()))
        for name in ("sparse", "completed", "truth")
    }
    assert means["sparse"] < means["truth"] - 0.05
    assert abs(means["completed"] - means["truth"]) < 0.5 * abs(means["sparse"] - means["truth"])


def test_gold_scores_are_those_of_the_truth(reviewed: Reviewed) -> None:
    gold, every = reviewed.scores("gold"), reviewed.scores("truth")
    assert len(gold) == GOLD
    assert gold == {image: every[image] for image in gold}


def test_the_joined_estimate_holds_the_truth_over_repeated_draws(reviewed: Reviewed) -> None:
    every, many = reviewed.scores("truth"), reviewed.scores("completed")
    dataset = labels(reviewed.folder)
    mean = np.mean(list(every.values()))
    held, widths, alone = 0, [], []
    for seed in range(400):
        drawn = set(draw_gold(dataset, GOLD, seed=seed).images)
        found = ppi_mean(
            [every[image] for image in sorted(drawn)],
            [many[image] for image in sorted(drawn)],
            [many[image] for image in every if image not in drawn],
            target="set",
        )
        held += bool(found.low <= mean <= found.high)
        widths.append(found.high - found.low)
        alone.append(found.gold_only.high - found.gold_only.low)
    # A binomial of 400 draws at 0.95 has a standard deviation of 0.011.
    assert 0.915 <= held / 400 <= 0.985
    assert np.mean(widths) < 0.8 * np.mean(alone)


def test_all_sets_stand_side_by_side(reviewed: Reviewed) -> None:
    folder = reviewed.folder
    report = reviewed.report(gold=folder / "gold", completed=folder / "completed")
    assert list(report.sets["set"][:4]) == ["sparse", "completed", "gold", "joined"]
    lines: Any = report.sets.set_index("set").to_dict("index")
    mean = np.mean(list(reviewed.scores("truth").values()))
    assert lines["sparse"]["high"] < mean
    assert lines["joined"]["low"] <= mean <= lines["joined"]["high"]
    assert report.warnings == ()


def test_a_small_gold_set_is_said_to_be_small(reviewed: Reviewed) -> None:
    folder = reviewed.folder
    words = {"gold": folder / "gold", "completed": folder / "completed"}
    (warning,) = reviewed.report(**words, width=0.001).warnings
    assert "The gold set is too small: the interval of looker · looks is 0.0" in warning
    assert f"there are {GOLD}." in warning
    assert reviewed.report(**words, width=0.9).warnings == ()
    with pytest.raises(InputError, match="width of an interval must be between 0 and 1, got 2"):
        reviewed.report(**words, width=2)


def test_the_store_says_what_its_labels_are(reviewed: Reviewed) -> None:
    with open_results(reviewed.folder / "completed") as results:
        facts = results.manifest["data"]["review"]
    assert (facts["which"], facts["unfinished"], facts["shared"]) == ("completed", 0, [])
    assert facts["people"] == {"review": ["Rita"], "gold": ["Gina"]}
    assert facts["proposers"][0]["model"] == "demo/vit-dino"
    gold = facts["gold"]
    assert (gold["random"], gold["seed"], gold["locked"]) == (True, 2, True)


def test_hand_picked_gold_and_open_proposals_are_told(reviewed: Reviewed, tmp_path: Path) -> None:
    folder = tmp_path / "again"
    shutil.copytree(reviewed.folder, folder)
    for name in ("review", "completed", "gold"):
        shutil.rmtree(folder / name)
    dataset = labels(folder)
    items = proposals(folder, np.random.default_rng(5))
    gold = pick_gold(dataset, dataset.ids[:GOLD])
    (folder / "review").mkdir()
    Journal.create(folder / "review", dataset, items, gold=gold).close()
    annotate_gold(opened(folder))
    for which in ("completed", "gold"):
        run(folder, which, annotations=which, review=str(folder / "review"))
    words = {"gold": folder / "gold", "completed": folder / "completed"}
    first, second = reviewed.report(**words).warnings
    assert "picked by hand and not drawn at random" in first
    assert f"{len(items.items)} proposals were not decided" in second
    with pytest.raises(InputError, match="labels must be the gold ones, are the completed ones"):
        reviewed.report(gold=folder / "completed")
    (unknown,) = reviewed.report(gold=folder / "truth").warnings
    assert "How the gold images were chosen is not known" in unknown


def test_a_model_is_not_scored_against_what_it_proposed(reviewed: Reviewed, tmp_path: Path) -> None:
    review = {"annotations": "completed", "review": str(reviewed.folder / "review")}
    data: Any = {**FACADES, "labelling": "representative", "count": 2, **review}
    words: dict[str, Any] = {"models": ["demo/vit-dino"], "methods": ["cls"], "metrics": ["iou"]}
    with pytest.raises(InputError, match="demo/vit-dino shares weights with demo/vit-dino, which"):
        run_study(Study(name="circle", **words, data=data), tmp_path, workers=1)
    with pytest.raises(InputError, match="demo/vit-dino@x shares weights with demo/vit-dino, whic"):
        run(reviewed.folder, "theirs", model="demo/vit-dino@x", **review)
    data = {**data, "shared_weights": "allow"}
    store = run_study(Study(name="circle", **words, data=data), tmp_path, workers=1).store.path
    with open_results(store) as results:
        assert results.manifest["data"]["review"]["shared"] == [["demo/vit-dino", "demo/vit-dino"]]
        assert (
            "which proposed regions: its scores are circular" in results.leaderboard().attrs["note"]
        )


def test_a_written_file_serves_a_study_as_its_review_does(
    reviewed: Reviewed, tmp_path: Path
) -> None:
    file = tmp_path / "completed.json"
    with Journal.open(reviewed.folder / "review") as journal:
        export(journal, file)
    ours = read_reviewed(reviewed.folder / "review", "completed")
    theirs = read_reviewed(file, "completed")
    assert ours.facts == theirs.facts
    assert {name: [r.box for r in one.regions] for name, one in ours.annotations.items()} == {
        name: [r.box for r in one.regions] for name, one in theirs.annotations.items()
    }
    with pytest.raises(InputError, match="must hold the gold annotations, holds 'completed'"):
        read_reviewed(file, "gold")
    content = json.loads(file.read_text())
    for name, value in (("unfinished", "many"), ("proposers", [{}]), ("people", []), ("gold", 1)):
        told = {**content["provenance"], name: value}
        file.write_text(json.dumps({**content, "provenance": told}))
        with pytest.raises(InputError, match=r"completed\.json: provenance: .* got "):
            read_reviewed(file, "completed")
    file.write_text('{"format": "sightline-annotations", "version": 1, "images": []}')
    with pytest.raises(InputError, match="does not say how it was reviewed"):
        read_reviewed(file, "completed")


def test_gold_images_of_strata_are_joined_stratum_by_stratum(reviewed: Reviewed) -> None:
    dataset = labels(reviewed.folder)
    drawn = draw_gold(dataset, GOLD, seed=4, by="style")
    facts = {"gold": {**drawn.to_dict(), "locked": True}}
    gold: Any = SimpleNamespace(results=SimpleNamespace(manifest={"data": {"review": facts}}))
    scenes: Any = SimpleNamespace(dataset=dataset)
    strata = gold_strata(gold, scenes, dataset.ids)
    assert strata is not None
    assert len(set(strata)) == 4
    truth, many = reviewed.scores("truth"), reviewed.scores("completed")
    chosen = [image in drawn.images for image in dataset.ids]
    known = np.array([truth[image] for image in dataset.ids])
    f = np.array([many[image] for image in dataset.ids])
    found = Sets(f, f, np.where(chosen, known, np.nan), strata).joined()
    wanted = ppi_mean(
        known[chosen],
        f[chosen],
        f[np.logical_not(chosen)],
        strata=strata[chosen],
        rest_strata=strata[np.logical_not(chosen)],
    )
    assert found is not None
    assert (found.value, found.low, found.high) == (wanted.value, wanted.low, wanted.high)
    assert found.df != len(drawn.images) - 2
    moved = replace(drawn, strata={**drawn.strata, drawn.images[0]: "elsewhere"})
    facts["gold"] = moved.to_dict() | {"population": {**drawn.population, "elsewhere": 1}}
    with pytest.raises(InputError, match="drawn by style, and its images have another style in"):
        gold_strata(gold, scenes, dataset.ids)


def test_gold_images_of_strata_count_by_their_share() -> None:
    # Of 40 images 32 score about 0.2 and 8 about 0.8; 4 of each are gold.
    strata = np.array(["common"] * 32 + ["rare"] * 8)
    gold = np.full(40, np.nan)
    gold[:4], gold[32:36] = [0.1, 0.2, 0.2, 0.3], [0.7, 0.8, 0.8, 0.9]
    found = {one["set"]: one for one in result_lines(Sets(gold, None, gold, strata))}["gold"]
    assert found["value"] == pytest.approx(0.8 * 0.2 + 0.2 * 0.8)
    assert found["low"] < found["value"] < found["high"]
    assert found["n"] == 8
    plain = {one["set"]: one for one in result_lines(Sets(gold, None, gold))}["gold"]
    assert plain["value"] == pytest.approx(0.5)


def test_people_and_weights_that_spoil_a_comparison_are_told() -> None:
    facts = {
        "people": {"review": ["Rita", "gina"], "gold": ["Gina "]},
        "proposers": [{"model": "", "digest": "", "source": "imported", "proposals": 7}],
        "unfinished": 0,
    }
    store = SimpleNamespace(manifest={"data": {"review": facts}, "models": [], "sources": []})
    other = SimpleNamespace(results=store)
    material: Any = SimpleNamespace(
        completed=other, gold=other, scenes=SimpleNamespace(results=store)
    )
    weights, people = _of_completed(material)
    assert "not known which weights made 7 of the proposals" in weights
    assert people.startswith("gina annotated gold images and reviewed proposals of others")
    facts["people"] = {"review": ["Rita"], "gold": ["Gina"]}
    assert len(list(_of_completed(material))) == 1


def test_variants_of_weights_in_a_folder_are_known_by_its_name() -> None:
    facts = {"proposers": [{"model": "hf:/models/vit", "digest": "1f"}]}
    assert list(shared_models(facts, [("hf:vit@tuned", "2c"), ("hf:other", "3d")])) == [
        ("hf:vit@tuned", "hf:/models/vit")
    ]


def test_a_review_of_other_facades_is_refused(tmp_path: Path) -> None:
    choice = DataChoice("facades", count=2, options={"seed": 7})
    Journal.create(tmp_path, choice.open(), choice=choice).close()
    words: Any = {"name": "facades", "count": 2, "annotations": "completed"}
    words["review"] = str(tmp_path)
    assert len(study_dataset(Data(**words, seed=7))) == 2
    with pytest.raises(InputError, match="of facades of seed 7, the study of facades of seed 8"):
        study_dataset(Data(**words, seed=8))
