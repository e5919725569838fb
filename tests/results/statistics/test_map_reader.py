"""Maps read again are those that were scored, to the last bit."""

from __future__ import annotations

# The texts put together here are SQL of ours.
# ruff: noqa: S608
import json
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from sightline.core import InputError
from sightline.metrics import score_maps
from sightline.results import open_results, open_scenes
from sightline.results._lines import make_lines
from sightline.results.configuration_scores import Measurer
from sightline.store import Store
from tests.results.statistics import stores

if TYPE_CHECKING:
    from pathlib import Path

    from sightline.results._lines import Line
    from sightline.results.map_reader import LineMaps, Scenes

EVERY = ("sparse", "odd", "cropped", "given")


def lines_of(scenes: Scenes, layer: int | str = "all") -> list[Line]:
    tables = scenes.results._tables
    where = scenes.results._where(None, None, None, None)
    return make_lines(tables, tables.name("iou@90"), where, layer)


def again(maps: LineMaps) -> dict[tuple[str, int | None, str], float]:
    """Score maps one by one; return the scores by image, region and metric."""
    found: dict[tuple[str, int | None, str], float] = {}
    metrics = ("iou@90", "coverage", "pointing")
    for i, image in enumerate(maps.images):
        scores = score_maps(
            maps.maps[i][None],
            regions=[maps.regions[i]],
            ignore=None if maps.unseen[i] is None else maps.unseen[i][None],  # type: ignore[index]
            metrics=metrics,
            sign=maps.sign,  # type: ignore[arg-type]
        )
        for name in metrics:
            found[image, None, name] = float(scores[name][0])
            parts = scores.regions
            if parts is not None:
                pairs = zip(parts.region, parts[name], strict=True)
                found |= {(image, int(region), name): float(value) for region, value in pairs}
    return found


def stored(
    scenes: Scenes, line: Line, seed: int | None
) -> dict[tuple[str, int | None, str], float]:
    pick = line.picks[0]
    is_layer = "layer IS NULL" if pick.layer is None else f"layer = {pick.layer}"
    is_seed = "seed IS NULL" if seed is None else f"seed = {seed}"
    frame = scenes.results.query(
        f"SELECT image, region, name, value FROM scores_long WHERE model = '{line.model}' "
        f"AND method = '{pick.method}' AND {is_layer} AND {is_seed} "
        "AND name IN ('iou@90', 'coverage', 'pointing')"
    )
    regions = [
        None if region != region else int(region) for region in frame["region"].astype(float)
    ]
    return dict(zip(zip(frame["image"], regions, frame["name"], strict=True), frame["value"],
                    strict=True))  # fmt: skip


@pytest.mark.parametrize("store", EVERY)
def test_scores_of_maps_read_again_are_the_stored_ones(
    store: str, request: pytest.FixtureRequest
) -> None:
    with open_results(request.getfixturevalue(store)) as results:
        scenes = open_scenes(results)
        lines = lines_of(scenes)
        assert {line.method for line in lines} == set(results.methods)
        for line in lines:
            for seed in scenes.seeds(line):
                before, after = stored(scenes, line, seed), again(scenes.maps(line, seed))
                assert before.keys() == after.keys()
                for key, value in before.items():
                    assert np.array_equal(value, after[key], equal_nan=True), (line.told(), key)


def test_lines_are_those_of_the_leaderboard(sparse: Path) -> None:
    with open_results(sparse) as results:
        scenes = open_scenes(results)
        choices: list[dict[str, Any]]
        choices = [{}, {"layer": "all"}, {"metric": "coverage", "method": "cls"}]
        for asked in choices:
            board = results.leaderboard(**asked)[["model", "method", "layer"]]
            wanted = [(*names, None if pd.isna(layer) else layer) for *names, layer in board.values]
            found = [(line.model, line.method, line.layer) for line in scenes.lines(**asked)]
            assert sorted(found, key=str) == sorted(wanted, key=str)


def test_each_seed_has_maps_of_its_own(sparse: Path) -> None:
    with open_results(sparse) as results:
        scenes = open_scenes(results)
        (line,) = [one for one in lines_of(scenes) if one.method == "random"][:1]
        assert scenes.seeds(line) == (0, 1)
        one, other = (scenes.maps(line, seed).maps[0] for seed in (0, 1))
        assert not np.array_equal(one, other)
        assert scenes.seeds(replace(line, seed=1)) == (1,)


def test_halves_have_the_layers_chosen_for_them(sparse: Path) -> None:
    with open_results(sparse) as results:
        scenes = open_scenes(results)
        first, second = [one for one in lines_of(scenes) if one.method == "cls"][:2]
        both = replace(first, picks=(first.picks[0], second.picks[0]), chosen="split-half")
        parts = [scenes.maps(one) for one in (first, second)]
        found = scenes.maps(both)
        for i, image in enumerate(found.images):
            assert np.array_equal(found.maps[i], parts[scenes.halves[image]].maps[i])
        assert len(set(found.views)) == 1
        assert len(set(found.classes)) == 2
        blind = scenes.maps(replace(both, blind=(0,)))
        assert {scenes.halves[image] for image in blind.images} == {1}


@pytest.mark.parametrize(("store", "classes"), [("sparse", 1), ("odd", 2), ("cropped", 2)])
def test_images_of_one_class_are_shown_alike(
    store: str, classes: int, request: pytest.FixtureRequest
) -> None:
    with open_results(request.getfixturevalue(store)) as results:
        scenes = open_scenes(results)
        for line in lines_of(scenes):
            seed = scenes.seeds(line)[0]
            maps = scenes.maps(line, seed)
            assert len(set(maps.classes)) == classes
            assert scenes.views(line, seed) == dict(zip(maps.images, maps.classes, strict=True))
            if classes == 2:
                wide = [width > height for width, height in stores.SIZES]
                assert (
                    len({(kind, turned) for kind, turned in zip(maps.classes, wide, strict=True)})
                    == 2
                )


def test_what_is_to_be_ignored_counts_for_nothing(odd: Path) -> None:
    with open_results(odd) as results:
        scenes = open_scenes(results)
        maps = scenes.maps(lines_of(scenes)[0])
        for i, annotation in enumerate(maps.regions):
            ignored = maps.ignore[i]
            assert ignored is not None
            assert not (ignored & maps.masks[i]).any()
            assert maps.unseen[i] is not None
            assert (ignored >= maps.unseen[i]).all()  # type: ignore[operator]
            assert bool((ignored != maps.unseen[i]).any()) == bool(annotation.ignored)


def test_unlabelled_instances_join_the_regions_when_asked(sparse: Path) -> None:
    with open_results(sparse) as results:
        scenes = open_scenes(results)
        line = lines_of(scenes)[0]
        some, every = scenes.maps(line), scenes.maps(line, complete=True)
        known: dict[str, int] = dict(results.query(
            "SELECT image, count(*) AS n FROM regions WHERE dropped = 'unlabelled' GROUP BY image"
        ).itertuples(index=False))  # fmt: skip
        for image, few, many in zip(some.images, some.regions, every.regions, strict=True):
            assert len(many.regions) - len(few.regions) == known.get(image, 0)
            assert {r.index for r in few.regions} <= {r.index for r in many.regions}
        assert sum(known.values()) > 0


def test_figures_are_means_over_seeds(sparse: Path) -> None:
    with open_results(sparse) as results:
        scenes = open_scenes(results)
        for line in lines_of(scenes):
            figures = Measurer(scenes, "90").measure(line)
            assert figures.seeds == len(scenes.seeds(line))
            assert figures.images["iou"].mean() == pytest.approx(line.sums.mean(), abs=1e-14)
            first = scenes.maps(line, scenes.seeds(line)[0])
            scored = again(first)
            scores = [scored[image, None, "iou@90"] for image in first.images]
            assert np.allclose(figures.overlaps.iou(), scores, atol=1e-12)


# --- what is not there, or has changed ------------------------------------------------------------


def copied(store: Path, place: Path) -> Path:
    shutil.copytree(store, place / store.name)
    return place / store.name


def test_changed_annotations_are_refused(given: Path, folder: Path, tmp_path: Path) -> None:
    data = tmp_path / "pictures"
    shutil.copytree(folder / "pictures", data)
    store = stores.run_given(tmp_path, "mine", data, range(7))
    path = data / "annotations.json"
    content = json.loads(path.read_text())
    content["images"][3]["regions"][0]["box"][0] += 0.01
    path.write_text(json.dumps(content))
    with open_results(store) as results, pytest.raises(InputError, match="annotations changed"):
        open_scenes(results)
    content["images"] = content["images"][:4]
    path.write_text(json.dumps(content))
    with open_results(store) as results, pytest.raises(InputError, match=r"'004.png' is not there"):
        open_scenes(results)


def test_maps_that_were_not_kept_are_refused(folder: Path, odd: Path, tmp_path: Path) -> None:
    data = {"name": "folder", "path": str(folder / "pictures")}
    store = stores.run(tmp_path, "bare", data=data, methods=["cls"], keep_maps="none")
    with open_results(store) as results:
        scenes = open_scenes(results)
        with pytest.raises(InputError, match="set keep_maps: grid in its file and run it again"):
            scenes.maps(lines_of(scenes)[0])


def test_a_missing_file_of_maps_is_named(odd: Path, tmp_path: Path) -> None:
    store = copied(odd, tmp_path)
    first = sorted(Store(store).maps.iterdir())[0]
    first.unlink()
    with open_results(store) as results:
        scenes = open_scenes(results)
        with pytest.raises(InputError, match=first.name):
            [scenes.maps(line, scenes.seeds(line)[0]) for line in lines_of(scenes)]


def test_a_store_that_is_not_finished_has_the_maps_that_are_there(
    sparse: Path, tmp_path: Path
) -> None:
    store = copied(sparse, tmp_path)
    tasks = Store(store).tasks(1)
    for task in tasks:
        Store(store).score_file(task).unlink()
    with open_results(store) as results:
        scenes = open_scenes(results)
        line = next(one for one in lines_of(scenes) if one.method == "cls")
        maps = scenes.maps(line)
        assert len(maps.images) == 16
        assert len(scenes.images) == stores.COUNT
