"""Benchmarks of prototypes: what is computed, resumed, refused and written."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
import torch
from PIL import Image

from sightline.attribution.methods import explain
from sightline.attribution.prototypes.matches import normalised, unit_images
from sightline.attribution.prototypes.perturbations import (
    blend,
    default_perturbations,
    perturb,
)
from sightline.core import InputError
from sightline.models.prototypes import Source
from sightline.results import open_benchmark
from sightline.store import BenchmarkFolder, hold
from sightline.study.config.benchmark import DataChoice
from sightline.study.prototypes import parts as benchmark_parts
from sightline.study.prototypes import run as benchmarking
from sightline.study.prototypes.plan import BenchmarkPlan, plan_benchmark
from sightline.study.prototypes.run import parts_left, run_benchmark
from tests.loaded import drawn_once
from tests.small_prototypes import (
    BATCH,
    CONFIG,
    COUNT,
    DATA,
    PROTOTYPES,
    STYLES,
    small_asked,
    small_model,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sightline.study import BenchmarkJob

RELEVANCE = ["img_id", "proto_idx", "mask_relevance", "energy_relevance"]
INFO = [
    *("img_id", "proto_idx", "original_score", "perturbation", "score_after_perturbation"),
    *("dual_score_after_perturbation", "description", "squared_distance"),
    *("dual_squared_distance", "h", "w"),
]
LOCAL = "local_perturbation_analysis: {{perturbations: {{dark: {{type: brightness}}}}, {}}}"


@pytest.fixture(autouse=True, scope="module")
def _drawn() -> Iterator[None]:
    """Draw each facade once for all tests."""
    with drawn_once():
        yield


def _content(folder: Path) -> dict[str, bytes]:
    """Return all files of a benchmark but the lock, which tells the time."""
    files = (one for one in folder.rglob("*") if one.is_file() and one.name != "lock")
    return {one.relative_to(folder).as_posix(): one.read_bytes() for one in files}


def _similarities(sample: Any) -> torch.Tensor:
    """Return the similarities of one image, asked for alone."""
    model = small_model()
    with torch.no_grad():
        found: torch.Tensor = model.network.similarities(model.prepare(sample).pixels)[0]
    return found


# --- what is written ------------------------------------------------------------------------------


def test_tables_have_exactly_these_columns(small_benchmark: Path) -> None:
    prototypes = pacsv.read_csv(small_benchmark / "tables" / "prototypes.csv")
    assert prototypes.column_names == RELEVANCE
    assert prototypes["proto_idx"].to_pylist() == list(range(PROTOTYPES))
    assert pq.read_table(small_benchmark / "patches.parquet").column_names == RELEVANCE
    info = pacsv.read_csv(small_benchmark / "info.csv")
    drops = pq.read_table(small_benchmark / "drops.parquet")
    assert info.column_names == INFO
    named = ((INFO[4], "focused"), (INFO[5], "dual"), (INFO[2], INFO[2]))
    for name, stored in (*named, ("h", "row"), ("w", "column")):
        assert info[name].to_pylist() == drops[stored].to_pylist()  # to the last digit
    stats = pacsv.read_csv(small_benchmark / "global_stats.csv").to_pydict()
    assert stats["statistic"][:2] == ["prototypes", "covered_prototypes"]
    assert stats["value"][0] == PROTOTYPES
    assert stats["perturbation"][2:8] == [one.name for one in default_perturbations()]


def test_the_config_is_copied_and_no_parts_are_left(small_benchmark: Path) -> None:
    assert (small_benchmark / "config.yml").read_text() == CONFIG
    assert not (small_benchmark / ".parts").exists()
    about = json.loads((small_benchmark / "benchmark.json").read_text())
    assert set(about["files"]) == {
        *("tables/prototypes.csv", "patches.parquet", "info.csv", "global_stats.csv"),
        *("relevance.parquet", "drops.parquet"),
    }
    assert about["counts"] == {
        "images": COUNT,
        "prototypes": PROTOTYPES,
        "analysed_prototypes": PROTOTYPES,
        "analysed_patches": 5,
        "analysed_drops": COUNT,
    }


def test_patches_are_the_most_similar_and_keep_their_numbers(small_benchmark: Path) -> None:
    rows = pq.read_table(small_benchmark / "relevance.parquet").to_pylist()
    patches = [row for row in rows if row["kind"] == "patch"]
    images = DATA.open()
    expected = []
    for number in range(0, COUNT, 3):
        maps = _similarities(images[number])
        best = maps.flatten(1).amax(1).sort(descending=True)
        for score, prototype in list(zip(*best, strict=True))[:2]:
            place = int(maps[int(prototype)].argmax())
            expected.append((number, int(prototype), *divmod(place, 8), float(score)))
    found = [tuple(row[n] for n in ("img_id", "proto_idx", "row", "column")) for row in patches]
    assert found == [one[:4] for one in expected]
    assert np.allclose([row["score"] for row in patches], [one[4] for one in expected], atol=1e-6)
    assert [row["image"] for row in patches] == [images[one[0]].image_id for one in expected]


def test_relevance_is_that_of_the_attribution_on_the_parts(small_benchmark: Path) -> None:
    rows = pq.read_table(small_benchmark / "relevance.parquet").to_pylist()
    row = next(row for row in rows if row["kind"] == "patch")
    sample = DATA.open()[row["img_id"]]
    raw = _similarities(sample)[row["proto_idx"]]
    on = torch.from_numpy(sample.annotation.union_mask(64, 64))
    each = (raw.repeat_interleave(8, 0).repeat_interleave(8, 1)).double()
    assert row["energy_raw"] == pytest.approx(float((each * on).sum() / each.sum()), abs=1e-6)
    assert row["chance"] == pytest.approx(float(on.double().mean()), abs=1e-12)
    scaled = (raw - raw.min()) / (raw.max() - raw.min())
    spread = torch.nn.functional.interpolate(scaled[None, None], (64, 64), mode="bilinear")[0, 0]
    energy = float((spread.double() * on).sum() / spread.double().sum())
    assert row["energy_relevance"] == pytest.approx(energy, abs=1e-5)
    top = spread.flatten().argsort(descending=True)[: 4096 // 10]
    assert row["mask_relevance"] == pytest.approx(
        float(on.flatten()[top].double().mean()), abs=0.01
    )


def test_drops_are_of_the_same_prototype_at_the_same_cell(small_benchmark: Path) -> None:
    """The slow way: one image, one perturbation, one pass."""
    rows = pq.read_table(small_benchmark / "drops.parquet").to_pylist()
    assert [row["img_id"] for row in rows[::6]] == list(range(COUNT))
    asked, images = small_asked(), DATA.open()
    section = asked.config.local_perturbation_analysis
    assert section is not None
    made = {one.name: one for one in section.made()}
    for row in (*rows[:6], *rows[-2:]):
        model = asked.model
        image = unit_images(model, model.prepare(images[row["img_id"]]))
        maps = _similarities(images[row["img_id"]])
        raw = maps[row["proto_idx"]]
        scaled = ((raw - raw.min()) / (raw.max() - raw.min()))[None, None].double()
        values = torch.nn.functional.interpolate(scaled, (64, 64), mode="bilinear")[0].float()
        perturbed = perturb(image, made[row["perturbation"]], values)
        assert row["original_score"] == pytest.approx(float(maps.max()), abs=1e-5)
        for name, distance in (("focused", ""), ("dual", "dual_")):
            copy = blend(image, perturbed, values, name)  # type: ignore[arg-type]
            with torch.no_grad():
                after = model.network.similarities(normalised(model, copy))[0]
            score = after[row["proto_idx"], row["row"], row["column"]]
            assert row[name] == pytest.approx(float(score), abs=1e-4)
            squares = ((copy - image).double() * 255).square().sum()
            assert row[f"{distance}squared_distance"] == pytest.approx(float(squares), rel=1e-4)
        assert row["whole"] is None
        assert (row["height"], row["width"]) == (64, 64)


def test_prototypes_are_looked_for_on_the_training_images(small_benchmark: Path) -> None:
    """The model does not say where they are from, so that the split train of the data is seen."""
    rows = pq.read_table(small_benchmark / "relevance.parquet").to_pylist()
    train = replace(DATA, split="train").open()
    maps = torch.stack([_similarities(sample) for sample in train])
    for row in (row for row in rows if row["kind"] == "prototype"):
        own = maps[:, row["proto_idx"]].flatten()
        image, place = divmod(int(own.argmax()), 64)
        assert (row["img_id"], row["image"]) == (image, train.ids[image])
        assert (row["row"], row["column"]) == divmod(place, 8)
        assert row["score"] == pytest.approx(float(own.max()), abs=1e-5)
    about = json.loads((small_benchmark / "benchmark.json").read_text())
    assert about["settings"]["projection"]["split"] == "train"


def test_accuracy_is_counted_over_the_images_with_its_interval(small_benchmark: Path) -> None:
    logits = small_model().logits(list(DATA.open()))
    said = [STYLES[number] for number in logits.argmax(1).tolist()]
    right = [name in sample.labels for name, sample in zip(said, DATA.open(), strict=True)]
    about = json.loads((small_benchmark / "benchmark.json").read_text())["accuracy"]
    assert about["images"] == COUNT
    assert about["value"] == pytest.approx(np.mean(right))
    assert 0 <= about["low"] < about["value"] < about["high"] <= 1
    rows = pq.read_table(small_benchmark / "drops.parquet").to_pylist()
    assert [row["predicted"] for row in rows[::6]] == said
    assert all(row["label"] in DATA.open()[row["img_id"]].labels for row in rows)


def test_of_several_labels_the_one_that_was_said_counts() -> None:
    model, sample = small_model(), DATA.open()[0]
    said = STYLES[model.logits([sample]).argmax(1).tolist()[0]]
    labels = ("unknown", *(name for name in STYLES if name != said), said)
    several = replace(sample, annotation=replace(sample.annotation, labels=labels))
    section = small_asked().config.relevance_analysis
    assert section is not None
    asked = small_asked()
    groups = benchmark_parts.groups_of(asked, [several])
    (first, _) = benchmark_parts.patch_rows(asked, section, [5], groups).to_pylist()
    assert (first["label"], first["predicted"], first["img_id"]) == (said, said, 5)
    others = replace(sample, annotation=replace(sample.annotation, labels=labels[:3]))
    groups = benchmark_parts.groups_of(asked, [others])
    (first, _) = benchmark_parts.patch_rows(asked, section, [5], groups).to_pylist()
    assert (first["label"], first["predicted"]) == (labels[1], said)


BOTH = """\
relevance_analysis: {sampling_ratio: 2, num_prototypes: 2}
local_perturbation_analysis:
  sampling_ratio: 2
  num_prototypes: 2
  perturbations: {dark: {type: brightness}}
"""


def test_what_was_seen_of_images_serves_both_analyses_and_changes_neither(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[str]] = []
    first = benchmark_parts.groups_of

    def noted(asked: BenchmarkJob, samples: Any) -> Any:
        seen.append([sample.image_id for sample in samples])
        return first(asked, samples)

    monkeypatch.setattr(benchmarking, "groups_of", noted)
    run_benchmark(small_asked(BOTH), tmp_path / "both")
    images = [f"facade-{number:05}.png" for number in range(0, COUNT, 2)]
    assert [name for part in seen for name in part] == images
    alone = BOTH[BOTH.index("local") :]
    run_benchmark(small_asked(alone), tmp_path / "one")
    tables = [(tmp_path / name / "drops.parquet").read_bytes() for name in ("both", "one")]
    assert tables[0] == tables[1]


# --- stopped, killed, damaged, refused ------------------------------------------------------------


class _Killed(BaseException):
    """What ends a run between two parts, as no handler of errors catches it."""


def _stopped(asked: BenchmarkJob, path: Path, after: int) -> None:
    """Run until so many parts are kept, then die."""
    seen = 0

    def move(done: int, total: int, what: str) -> None:
        nonlocal seen
        folder = path / ".parts"
        seen = len(list(folder.glob("*.parquet"))) if folder.is_dir() else 0
        if seen >= after:
            raise _Killed

    with pytest.raises(_Killed):
        run_benchmark(asked, path, text=CONFIG, progress=move)


def test_a_killed_run_goes_on_and_ends_with_the_same_bits(
    small_benchmark: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    _stopped(small_asked(), folder, 5)
    parts = sorted((folder / ".parts").glob("*.parquet"))
    assert len(parts) == 5
    assert not (folder / "benchmark.json").exists()
    plan = plan_benchmark(small_asked())
    assert parts_left(plan, BenchmarkFolder(folder)) == len(plan.parts) - 4  # one is the search
    damaged = next(part for part in parts if part.name.startswith("patches-00000"))
    content = bytearray(damaged.read_bytes())
    content[len(content) // 2] ^= 1
    damaged.write_bytes(bytes(content))
    (folder / ".parts" / ".x.part").write_bytes(b"half")
    done = run_benchmark(small_asked(), folder, text=CONFIG)
    assert done.kept == 3  # of prototypes 2, of patches the one that is whole
    assert _content(folder) == _content(small_benchmark)


def test_a_finished_run_is_not_done_again_unless_a_file_is_damaged(
    small_benchmark: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "out"
    shutil.copytree(small_benchmark, folder)
    (folder / "mine.txt").write_text("stays")
    before = _content(folder)
    with monkeypatch.context() as patch:
        patch.setattr(benchmarking, "_made", None)
        assert run_benchmark(small_asked(), folder).made == 0
    assert _content(folder) == before
    (folder / "info.csv").write_text("img_id\n")
    assert parts_left(plan_benchmark(small_asked()), BenchmarkFolder(folder)) > 0
    assert run_benchmark(small_asked(), folder, text=CONFIG).kept == 0
    assert _content(folder) == before


def test_other_settings_are_refused_unless_they_may_overwrite(
    small_benchmark: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    shutil.copytree(small_benchmark, folder)
    (folder / "mine.txt").write_text("stays")
    other = small_asked(LOCAL.format("sampling_ratio: 7"))
    with pytest.raises(InputError, match=r"analyses\.relevance_analysis.* here"):
        run_benchmark(other, folder)
    with pytest.raises(InputError, match="batch is 4 there and 3 here"):
        run_benchmark(small_asked(batch=3), folder)
    with pytest.raises(InputError, match=r"data\.options\.seed is 1 there and 2 here"):
        run_benchmark(small_asked(data=replace(DATA, options={"seed": 2, "size": 64})), folder)
    assert _content(folder)["info.csv"] == _content(small_benchmark)["info.csv"]
    plan = plan_benchmark(other)
    with pytest.raises(InputError, match="holds a benchmark of other settings"):
        parts_left(plan, BenchmarkFolder(folder))
    assert parts_left(plan, BenchmarkFolder(folder), overwrite=True) == len(plan.parts)
    run_benchmark(other, folder, overwrite=True)
    assert not {"info.csv", "relevance.parquet", "patches.parquet"} & set(_content(folder))
    assert (folder / "mine.txt").read_text() == "stays"
    stored = pq.read_table(folder / "drops.parquet")
    assert stored["img_id"].to_pylist() == [0, 7]
    _stopped(small_asked(), tmp_path / "half", 1)
    with pytest.raises(InputError, match="batch is 4 there and 5 here"):
        run_benchmark(small_asked(batch=5), tmp_path / "half")


def test_two_runs_in_one_folder_are_refused(tmp_path: Path) -> None:
    asked = small_asked(LOCAL.format("sampling_ratio: 9"))
    (tmp_path / "out").mkdir()
    with hold(tmp_path / "out" / "lock"), pytest.raises(InputError, match="is being written by"):
        run_benchmark(asked, tmp_path / "out")
    assert not (tmp_path / "out" / "benchmark.json").exists()


# --- other ways -----------------------------------------------------------------------------------


def test_debug_saves_the_copies_rounded_once(tmp_path: Path) -> None:
    text = LOCAL.format("sampling_ratio: 13, debug_mode: true, enable_global_mode: true")
    asked = small_asked(f"{text}\nrelevance_analysis: {{sampling_ratio: 13, debug_mode: true}}")
    folder = run_benchmark(asked, tmp_path / "out").path
    rows = pq.read_table(folder / "drops.parquet").to_pylist()
    assert [row["img_id"] for row in rows] == [0, 13]
    names = {
        f"{row['img_id']:06}_{row['proto_idx']:04}_dark_{mode}.png"
        for row in rows
        for mode in ("focused", "dual", "global")
    }
    saved = folder / "debug" / "perturbations"
    assert {one.name for one in saved.iterdir()} == names
    first = DATA.open()[0].image()
    stem = f"000000_{rows[0]['proto_idx']:04}_dark"
    whole, focused, dual = (
        np.asarray(Image.open(saved / f"{stem}_{mode}.png")).astype(float)
        for mode in ("global", "focused", "dual")
    )
    assert np.abs(whole - np.rint(first * 0.3)).max() <= 1  # halves may fall either way
    assert np.abs(focused + dual - first - whole).max() <= 2
    assert rows[0]["whole"] is not None
    pictures = {one.name.split("_")[0] for one in (folder / "debug" / "relevance").iterdir()}
    assert pictures == {"patch", "prototype"}


def test_dual_can_be_left_out(tmp_path: Path) -> None:
    asked = small_asked(LOCAL.format("enable_dual_mode: false, sampling_ratio: 13, info_db: i.csv"))
    folder = run_benchmark(asked, tmp_path / "out").path
    found = pacsv.read_csv(folder / "i.csv")
    assert found.column_names == INFO
    for name in ("dual_score_after_perturbation", "dual_squared_distance"):
        assert found[name].null_count == len(found)
    assert pq.read_table(folder / "drops.parquet")["dual"].null_count == 2


def test_the_logit_of_a_class_with_any_map(tmp_path: Path) -> None:
    text = LOCAL.format("score: class_logit, num_prototypes: 2, sampling_ratio: 7")
    folder = run_benchmark(small_asked(text, method="gradcam"), tmp_path / "out").path
    rows = pq.read_table(folder / "drops.parquet").to_pylist()
    model, images = small_model(), DATA.open()
    assert [row["img_id"] for row in rows] == [0, 0, 7, 7]
    for row in rows:
        logits = model.logits([images[row["img_id"]]])[0]
        order = logits.argsort(descending=True)[:2].tolist()
        assert row["proto_idx"] in order
        assert row["original_score"] == pytest.approx(float(logits[row["proto_idx"]]), abs=1e-5)
        assert row["row"] is None
        assert row["predicted"] == STYLES[order[0]]
    explained = explain(model, [images[0]], "gradcam", layers=-1, target=rows[0]["proto_idx"])
    raw = torch.from_numpy(explained.of()).clamp(min=0)[None, None].double()
    scaled = (raw - raw.min()) / (raw.max() - raw.min())
    values = torch.nn.functional.interpolate(scaled, (64, 64), mode="bilinear")[0].float()
    image = unit_images(model, model.prepare(images[0]))
    copy = blend(image, image * 0.3, values, "focused")
    with torch.no_grad():
        after = model(normalised(model, copy)).logits
    assert after is not None
    assert rows[0]["focused"] == pytest.approx(float(after[0, rows[0]["proto_idx"]]), abs=1e-4)
    about = json.loads((folder / "benchmark.json").read_text())
    assert about["settings"]["attribution"] is None
    assert about["settings"]["method"]["name"] == "gradcam"


def test_prototypes_stay_where_the_model_says_they_are_from(tmp_path: Path) -> None:
    sources = tuple(
        Source("Gothic", seed=4, index=n % 2, cell=(n, 1), box=(0, 0, 8, 8), similarity=1.0)
        for n in range(PROTOTYPES)
    )
    config = "relevance_analysis: {sampling_ratio: 13}"
    asked = small_asked(config, model=small_model(sources))
    folder = run_benchmark(asked, tmp_path / "out").path
    rows = pq.read_table(folder / "relevance.parquet").to_pylist()[:PROTOTYPES]
    images = [DataChoice("facades", count=2, options={"seed": 4}).open()[n] for n in (0, 1)]
    for n, row in enumerate(rows):
        assert (row["img_id"], row["image"]) == (n % 2, f"facade-{n % 2:05}.png")
        assert (row["row"], row["column"]) == (n, 1)
        score = _similarities(images[n % 2])[n, n, 1]
        assert row["score"] == pytest.approx(float(score), abs=1e-5)
    looked = small_asked(config, model=small_model(sources), projection=replace(DATA, count=3))
    settings = plan_benchmark(looked).settings["projection"]
    assert (settings["kind"], settings["images"]) == ("data", 3)
    outside = (replace(sources[0], cell=(9, 0)), *sources[1:])
    with pytest.raises(InputError, match=r"from cell 9, 0, but its grid is 8 x 8"):
        run_benchmark(small_asked(config, model=small_model(outside)), tmp_path / "outside")


@pytest.mark.parametrize(
    ("config", "others", "said"),
    [
        (LOCAL.format("score: class_logit"), {}, "needs the method of the maps"),
        (LOCAL.format(""), {"method": "gradcam"}, "is for local_perturbation_analysis with score"),
        (LOCAL.format(""), {"attribution": "salience"}, "did you mean 'saliency'"),
        (LOCAL.format(""), {"params": {"mod": "cubic"}}, "did you mean 'mode'"),
        (LOCAL.format(""), {"batch": 0}, "batch must be 1 or more, got 0"),
        (
            "relevance_analysis: {}",
            {"data": replace(DATA, count=1, split=None, name="photos", options={})},
            "has no split 'train' to look for them: say which images",
        ),
    ],
)
def test_what_does_not_fit_is_said_before_anything_is_written(
    config: str, others: dict[str, Any], said: str, tmp_path: Path
) -> None:
    with pytest.raises((InputError, KeyError), match=said):
        run_benchmark(small_asked(config, **others), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_prototypes_that_say_nothing_are_left_out(tmp_path: Path) -> None:
    model = small_model()
    model.network.classifier.weight.data[:, [1, 4]] = 0  # pruned
    asked = small_asked("relevance_analysis: {sampling_ratio: 13}", model=model)
    folder = run_benchmark(asked, tmp_path / "out").path
    found = pacsv.read_csv(folder / "prototype_relevance.csv")
    assert found["proto_idx"].to_pylist() == [0, 2, 3, 5]
    about = json.loads((folder / "benchmark.json").read_text())
    assert about["counts"]["prototypes"] == 4


def test_images_of_several_sizes(tmp_path: Path) -> None:
    """Each is taken as it is: rows stay in the order of the images."""
    for number, size in enumerate([(64, 48), (64, 48), (40, 56), (64, 48)]):
        pixels = np.random.default_rng(number).integers(0, 256, (*size[::-1], 3), np.uint8)
        (tmp_path / "images").mkdir(exist_ok=True)
        Image.fromarray(pixels).save(tmp_path / "images" / f"{number}.png")
    (tmp_path / "images" / "annotations.csv").write_text(
        "image,label,x0,y0,x1,y1\n0.png,door,0,0,0.5,1\n1.png,door,1.1,0,1.2,1\n"
        "2.png,door,0,0,1,0.25\n3.png,door,1.1,0,1.2,1\n"  # the second and the last lie outside
    )
    asked = small_asked(
        f"relevance_analysis: {{}}\n{LOCAL.format('')}",
        model=small_model(fit="native"),
        data=DataChoice("folder", str(tmp_path / "images")),
        projection=DataChoice("folder", str(tmp_path / "images")),
    )
    folder = run_benchmark(asked, tmp_path / "out").path
    drops = pq.read_table(folder / "drops.parquet")
    assert drops["img_id"].to_pylist() == [0, 1, 2, 3]
    assert drops["height"].to_pylist() == [48, 48, 56, 48]
    assert drops["width"].to_pylist() == [64, 64, 40, 64]
    rows = pq.read_table(folder / "relevance.parquet").to_pylist()
    chances = [row["chance"] for row in rows if row["kind"] == "patch"]
    assert np.allclose(chances, [0.5, np.nan, 0.25, np.nan], equal_nan=True)
    about = json.loads((folder / "benchmark.json").read_text())
    assert about["accuracy"]["images"] == 0
    assert about["accuracy"]["value"] is None
    lines = (folder / "patch_relevance.csv").read_text().splitlines()
    assert lines[2].endswith(",,")  # undefined is empty


def test_parts_hold_as_many_pairs_as_go_through_the_model_at_once() -> None:
    plan = plan_benchmark(small_asked())
    sizes = {stage: [len(p.ids) for p in plan.parts if p.stage == stage] for stage in _stages(plan)}
    assert sizes == {"prototypes": [4, 2], "patches": [2, 2, 1], "drops": [4, 4, 4, 2]}
    assert plan.ids("patches") == [0, 3, 6, 9, 12]
    assert BATCH == 4


def _stages(plan: BenchmarkPlan) -> list[str]:
    return list(dict.fromkeys(part.stage for part in plan.parts))


# --- where CaBRNet does otherwise -----------------------------------------------------------------


def test_one_cell_alone_has_no_mask_relevance_and_says_why(tmp_path: Path) -> None:
    """A cell of 8 x 8 is 6% of the pixels after upsampling, where 10% are to be selected."""
    asked = small_asked("relevance_analysis: {}", params={"location": "cell"})
    folder = run_benchmark(asked, tmp_path / "out").path
    rows = pq.read_table(folder / "relevance.parquet").to_pylist()
    few = "fewer pixels of the map are above 0 than area_percentage selects"
    assert {row["reason"] for row in rows} == {few}
    assert all(np.isnan(row["mask_relevance"]) and row["energy_relevance"] >= 0 for row in rows)
    assert (folder / "patch_relevance.csv").read_text().splitlines()[1].split(",")[2] == ""
    for one in open_benchmark(folder).relevance_means:
        total = PROTOTYPES if one.kind == "prototype" else COUNT
        if one.measure == "mask_relevance":
            assert (one.lines, one.undefined, one.undefined_fraction) == (0, total, 1.0)
            assert one.reasons == f"{total}: {few}"
        else:
            assert (one.lines, one.undefined, one.reasons) == (total, 0, "")
    small = small_asked("relevance_analysis: {area_percentage: 0.01}", params={"location": "cell"})
    found = open_benchmark(run_benchmark(small, tmp_path / "small").path)
    assert [one.undefined for one in found.relevance_means] == [0, 0, 0, 0]


def _class_specific_model() -> Any:
    """Return the small model with prototypes of two of its four classes, and one of both."""
    model = small_model()
    weights = torch.zeros(len(STYLES), PROTOTYPES)
    weights[0, [0, 1]] = weights[1, [2, 3]] = 1.0
    weights[[0, 1], 4] = 0.5  # belongs to both
    weights[[2, 3], 5] = torch.tensor([-1.0, -2.0])  # to none: it only speaks against
    model.network.classifier.weight.data[:] = weights
    return model


def test_prototypes_can_be_those_of_the_predicted_class_alone(tmp_path: Path) -> None:
    asked = small_asked(
        "relevance_analysis: {class_specific: true, num_prototypes: 2}\n"
        + LOCAL.format("class_specific: true, num_prototypes: 4"),
        model=_class_specific_model(),
    )
    folder = run_benchmark(asked, tmp_path / "out").path
    own = {STYLES[0]: {0, 1, 4}, STYLES[1]: {2, 3, 4}, STYLES[2]: set(), STYLES[3]: set()}
    rows = pq.read_table(folder / "relevance.parquet").to_pylist()
    patches = [row for row in rows if row["kind"] == "patch"]
    predicted = [STYLES[n] for n in asked.model.logits(list(DATA.open())).argmax(1).tolist()]
    expected = []
    for number, name in enumerate(predicted):
        best = _similarities(DATA.open()[number]).flatten(1).amax(1)
        order = sorted((-float(best[n]), n) for n in own[name])
        expected += [(number, prototype) for _, prototype in order[:2]]
    assert expected
    assert [(row["img_id"], row["proto_idx"]) for row in patches] == expected
    drops = pq.read_table(folder / "drops.parquet").to_pylist()
    several = {(n, p) for n, name in enumerate(predicted) for p in own[name]}
    assert {(row["img_id"], row["proto_idx"]) for row in drops} == several
    assert len(drops) == len(several)
    counts = json.loads((folder / "benchmark.json").read_text())["counts"]
    none = sum(not own[name] for name in predicted)
    assert counts["unmatched_patches"] == counts["unmatched_drops"] == none
    for others in ("num_prototypes: 2", "num_prototypes: 2, class_specific: false"):
        other = small_asked(f"relevance_analysis: {{{others}}}", model=_class_specific_model())
        with pytest.raises(InputError, match="holds a benchmark of other settings"):
            run_benchmark(other, folder)


def test_images_without_a_prototype_of_their_class_are_skipped_and_counted(tmp_path: Path) -> None:
    model = _class_specific_model()
    model.network.classifier.weight.data[:] = 0
    model.network.classifier.weight.data[3] = -1.0  # nothing belongs to any class
    asked = small_asked(
        f"relevance_analysis: {{class_specific: true}}\n{LOCAL.format('class_specific: true')}",
        model=model,
    )
    folder = run_benchmark(asked, tmp_path / "out").path
    rows = pq.read_table(folder / "relevance.parquet").to_pylist()
    assert {row["kind"] for row in rows} == {"prototype"}
    assert pq.read_table(folder / "drops.parquet").num_rows == 0
    counts = json.loads((folder / "benchmark.json").read_text())["counts"]
    assert (counts["unmatched_patches"], counts["unmatched_drops"]) == (COUNT, COUNT)
    found = open_benchmark(folder)
    assert [one.lines for one in found.relevance_means] == [PROTOTYPES, PROTOTYPES, 0, 0]
    assert found.global_stats().covered == ()


def test_the_cell_of_a_prototype_is_its_source_or_the_most_similar_one(tmp_path: Path) -> None:
    sources = tuple(
        Source("Gothic", seed=4, index=0, cell=(n, 1), box=(0, 0, 8, 8), similarity=1.0)
        for n in range(PROTOTYPES)
    )
    image = DataChoice("facades", count=1, options={"seed": 4}).open()[0]
    best = [divmod(int(one.argmax()), 8) for one in _similarities(image)]
    assert best != [(n, 1) for n in range(PROTOTYPES)]
    for cell, expected in (("source", [one.cell for one in sources]), ("most_similar", best)):
        config = f"relevance_analysis: {{sampling_ratio: 13, prototype_cell: {cell}}}"
        asked = small_asked(config, model=small_model(sources))
        folder = run_benchmark(asked, tmp_path / cell).path
        rows = pq.read_table(folder / "relevance.parquet").to_pylist()[:PROTOTYPES]
        assert [(row["row"], row["column"]) for row in rows] == expected
        for row, (y, x) in zip(rows, expected, strict=True):
            score = _similarities(image)[row["proto_idx"], y, x]
            assert row["score"] == pytest.approx(float(score), abs=1e-5)


def test_the_box_of_the_distortion_belongs_to_the_settings(tmp_path: Path) -> None:
    text = (
        "local_perturbation_analysis: {sampling_ratio: 13, perturbations: "
        "{wave: {type: distortion, params: {%s}}}}"
    )
    params = {"location": "cell"}
    usual = run_benchmark(small_asked(text % "", params=params), tmp_path / "usual").path
    config = text % "distortion_box: threshold, distortion_side: longest"
    other = small_asked(config, params=params)
    with pytest.raises(InputError, match=r"distortion_side is .width. there and .longest. here"):
        run_benchmark(other, usual)
    found = pq.read_table(run_benchmark(other, tmp_path / "other").path / "drops.parquet")
    assert "the longest of the box (threshold)" in found["description"][0].as_py()
    before = pq.read_table(usual / "drops.parquet")
    assert found["original_score"] == before["original_score"]
    assert found["focused"] != before["focused"]


@pytest.mark.parametrize(
    ("config", "others", "said"),
    [
        (
            LOCAL.format("score: class_logit, class_specific: true"),
            {"method": "gradcam"},
            "class_specific is about prototypes",
        ),
        ("relevance_analysis: {prototype_cell: best}", {}, "'source' or 'most_similar'"),
        (LOCAL.format("class_specific: 1"), {}, "expected true or false, got 1"),
    ],
)
def test_options_that_do_not_fit_are_named(
    config: str, others: dict[str, Any], said: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=said):
        run_benchmark(small_asked(config, **others), tmp_path / "out")
