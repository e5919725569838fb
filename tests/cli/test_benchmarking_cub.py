"""`sightline benchmark` with a folder of CaBRNet and images of CUB."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.csv as pacsv
import pytest
import torch

from sightline.models import cabrnet
from sightline.results import open_benchmark
from tests.attribution.prototypes.record_cabrnet import FOLDER
from tests.attribution.prototypes.stand_ins import Network
from tests.cli.small import run
from tests.data.fixtures_files import write_grey, write_image, write_texts

if TYPE_CHECKING:
    from pathlib import Path

BIRDS = ("001.Auk", "002.Owl", "003.Crow")
# Three birds; of each a first image for training, a second for testing.
IMAGES = [f"{bird}/B_{number}.jpg" for bird in BIRDS for number in (1, 2)]
CONFIG = """\
relevance_analysis: {}
local_perturbation_analysis: {perturbations: {dark: {type: brightness}}}
"""


@pytest.fixture
def checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder as CaBRNet writes it, with the weights of a stand-in."""
    folder = shutil.copytree(FOLDER, tmp_path / "checkpoint")
    torch.save(Network("protopnet").state_dict(), folder / "model_state.pth")
    monkeypatch.setattr(cabrnet, "_build", lambda config: Network("protopnet"))
    return folder


@pytest.fixture
def birds(tmp_path: Path) -> Path:
    """A folder as CUB has it: the bird of each image is its left half."""
    folder = tmp_path / "CUB_200_2011"
    numbered = list(enumerate(IMAGES, 1))
    write_texts(
        folder,
        {
            "images.txt": "".join(f"{at} {name}\n" for at, name in numbered),
            "classes.txt": "".join(f"{at} {name}\n" for at, name in enumerate(BIRDS, 1)),
            "image_class_labels.txt": "".join(f"{at} {(at + 1) // 2}\n" for at, _ in numbered),
            "train_test_split.txt": "".join(f"{at} {at % 2}\n" for at, _ in numbered),
            "bounding_boxes.txt": "".join(f"{at} 0.0 0.0 20.0 20.0\n" for at, _ in numbered),
            "parts/parts.txt": "1 back\n",
            "parts/part_locs.txt": "".join(f"{at} 1 5.0 5.0 1\n" for at, _ in numbered),
        },
    )
    for name in IMAGES:
        write_image(folder / "images" / name, (40, 20))
        on = np.zeros((20, 40), int)
        on[:, :20] = 255
        write_grey(folder / "segmentations" / name.replace(".jpg", ".png"), on)
    return folder


def _asked(tmp_path: Path, checkpoint: Path, birds: Path) -> Any:
    config = tmp_path / "birds.yml"
    config.write_text(CONFIG)
    words = ("--model", f"cabrnet:{checkpoint}", "--data", "cub", "--path", birds)
    run("benchmark", config, *words, "--split", "test", "--out", tmp_path / "out", "--quiet")
    return open_benchmark(tmp_path / "out")


def test_prototypes_are_looked_for_on_the_training_images_of_birds(
    tmp_path: Path, checkpoint: Path, birds: Path
) -> None:
    (checkpoint / "classes.txt").write_text("\n".join(BIRDS))
    found = _asked(tmp_path, checkpoint, birds)
    assert found.model == f"cabrnet:{checkpoint}"
    assert found.accuracy["images"] == 3
    patches = pacsv.read_csv(tmp_path / "out" / "patch_relevance.csv").to_pydict()
    assert patches["img_id"] == [0, 1, 2]
    # The segmentation, not the box or a part: half of each image.
    assert found.relevance is not None
    assert set(found.relevance["chance"].to_pylist()) == {0.5}
    kinds = found.relevance.to_pydict()
    taken = [
        image for kind, image in zip(kinds["kind"], kinds["image"], strict=True)
        if kind == "prototype"
    ]  # fmt: skip
    assert set(taken) <= {name.replace("/", "__") for name in IMAGES[::2]}
    assert len(taken) == Network("protopnet").classifier.count
    assert found.drops is not None
    assert found.drops["label"].to_pylist() == list(BIRDS)
