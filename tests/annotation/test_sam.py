from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch

from sightline import load_dataset
from sightline.annotation.proposals import Proposals, propose, read_proposals, write_proposals
from sightline.annotation.proposers import make_proposer as make_proposer_by_name
from sightline.annotation.sam import SamOptions, SamProposer, _sure, _view
from sightline.annotation.sam import make as make_proposer
from sightline.annotation.segmenters import Masks, load_segmenter
from sightline.attribution.methods.similar import region_feature
from sightline.core import Annotation, InputError, Region, Sample, UnknownNameError
from sightline.models import load_model
from tests.annotation.small_sam import CELL, SIDE, ByColour, small_network

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from sightline.annotation.proposals import Proposal

# In cells of the masks: x0, y0, x1, y1.
WINDOWS = [(2, 2, 6, 6), (10, 2, 14, 6), (2, 12, 6, 16)]
DOOR = (10, 10, 14, 18)
COLOURS = {"window": (220, 30, 30), "door": (30, 30, 220)}
# Widths and heights on which cells have whole pixels.
SIZES = [
    *(("sam", *size) for size in [(256, 160), (160, 256), (512, 320), (64, 40), (128, 128)]),
    *(("sam2", *size) for size in [(256, 160), (160, 256), (512, 320), (128, 64), (128, 128)]),
]
ALL: dict[str, Any] = {"iou": -1e6, "stability": 0, "ratio": None, "least": 0}
ALL |= {"overlap": 0.95, "largest": 1}


def make(model: Any, **options: Any) -> SamProposer:
    """Return a proposer with fewer points than usual."""
    return make_proposer(model, **{"points": 8, **options})


def cell_of(kind: str, width: int, height: int) -> tuple[float, float]:
    """Return width and height of a cell in pixels of the image."""
    if kind == "sam2":
        return width * CELL / SIDE, height * CELL / SIDE
    return max(width, height) * CELL / SIDE, max(width, height) * CELL / SIDE


def scene(kind: str, width: int, height: int, marked: int = 1, grown: int = 0) -> Sample:
    """Return an image of three windows and a door, of which some windows are marked."""
    picture = np.full((height, width, 3), 128, np.uint8)
    x, y = cell_of(kind, width, height)
    boxes = []
    for label, part in [*(("window", window) for window in WINDOWS), ("door", DOOR)]:
        x0, y0, x1, y1 = (round(n * side) for n, side in zip(part, (x, y, x, y), strict=True))
        picture[y0:y1, x0:x1] = COLOURS[label]
        boxes.append((x0 / width, y0 / height, x1 / width, y1 / height))
    edge = np.array([-x / width, -y / height, x / width, y / height]) * grown
    regions = tuple(
        Region("window", box=tuple(np.add(boxes[place], edge)), index=place + 3)
        for place in range(marked)
    )
    return Sample("a.jpg", Annotation("a.jpg", width, height, regions), load=lambda: picture)


def truth(kind: str, width: int, height: int, part: Any) -> Any:
    x, y = cell_of(kind, width, height)
    return pytest.approx(np.multiply(part, (x, y, x, y)) / (width, height, width, height))


def boxes_of(proposals: list[Proposal]) -> list[Any]:
    return sorted([one.region.box for one in proposals], key=lambda box: box[::-1])


# --- where masks land ----------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "width", "height"), SIZES)
def test_masks_land_on_what_they_show(kind: str, width: int, height: int) -> None:
    sample = scene(kind, width, height)

    found = make(ByColour(kind)).propose(sample)

    # The edges are exact: half a pixel of the input would show.
    assert boxes_of(found) == [truth(kind, width, height, part) for part in WINDOWS[1:]]
    red = (sample.image() == COLOURS["window"]).all(-1)
    shown = np.any([one.region.to_mask(height, width) for one in found], axis=0)
    first = sample.annotation.regions[0].to_mask(height, width)
    assert (shown & red & ~first).sum() > 0.9 * (shown | (red & ~first)).sum()


def test_a_proposal_says_where_it_comes_from() -> None:
    proposer = make(ByColour())

    found = proposer.propose(scene("sam", 256, 160))

    assert len({one.id for one in found}) == 2
    for one in found:
        assert (one.image_id, one.source, one.prompt) == ("a.jpg", "sam", 3)
        assert (one.model, one.digest) == ("ByColour", load_segmenter(ByColour()).model.digest)
        assert (one.region.label, one.region.kind) == ("window", "mask")
        assert one.region.score == one.score == pytest.approx(1)
        assert one.region.mask["size"] == [160, 256]  # type: ignore[index,call-overload]
    assert [one.id for one in proposer.propose(scene("sam", 256, 160))] == [one.id for one in found]


def test_each_image_is_embedded_once_and_nothing_is_asked_without_a_region() -> None:
    network = ByColour()
    proposer = make_proposer(network, batch=100)

    assert proposer.propose(scene("sam", 256, 160, marked=0)) == []
    assert (network.embedded, len(network.asked)) == (0, 0)

    proposer.propose(scene("sam", 256, 160, marked=3))
    assert network.embedded == 1
    assert [len(points) for points in network.asked] == [100, 100, 56]
    # The first in the middle of the first of 16 x 16 equal parts of the image, on the input.
    np.testing.assert_allclose(network.asked[0][:2], [[4, 2.5], [12, 2.5]])


def test_batches_do_not_matter() -> None:
    sample = scene("sam", 256, 160)

    one, many = (make(ByColour(), batch=batch).propose(sample) for batch in (7, 64))

    assert [found.region.mask for found in one] == [found.region.mask for found in many]


def test_the_network_is_as_it_was() -> None:
    network = ByColour().train()
    proposer = make(network)
    network.train()
    state = torch.random.get_rng_state()

    proposer.propose(scene("sam", 64, 40))

    assert network.training
    assert network.weight.requires_grad
    assert torch.equal(torch.random.get_rng_state(), state)


# --- which are kept ------------------------------------------------------------------------------


def test_unsure_and_unstable_masks_are_dropped() -> None:
    sample = scene("sam", 256, 160)

    assert make(ByColour(), iou=0.96).propose(sample) == []  # the stable ones have 0.95
    # Without the filter the surer, unstable mask of each window stays, which is smaller.
    loose = make(ByColour(), stability=0, overlap=0.3).propose(sample)
    width = 4 * cell_of("sam", 256, 160)[0] / 256
    assert len(loose) == 2
    assert all(one.region.box[2] - one.region.box[0] < width for one in loose)


def test_masks_of_nearly_all_are_dropped() -> None:
    sample = scene("sam", 256, 160)
    counts = [
        len(make(ByColour(), largest=share, ratio=None, least=0).propose(sample))
        for share in (0.5, 0.9)
    ]

    # Windows and door; then the wall around them, four fifths of the image, too.
    assert counts == [3, 4]


def test_filters_of_single_masks() -> None:
    segmenter = load_segmenter(ByColour())
    view = _view(segmenter, np.zeros((32, 128, 3), np.uint8))  # a quarter of the input
    logits = np.full((1, 7, 32, 32), -5, np.float32)
    logits[0, 0, 2:6, 2:6] = 5
    logits[0, 1, 4:13] = 5  # 5 rows of 9 in padding
    logits[0, 2, 4:12] = 5  # 4 rows of 8 in padding
    logits[0, 3, :8] = 5  # the whole image
    logits[0, 4, 2:6, 2:6] = 0.5  # unstable
    logits[0, 6] = logits[0, 0]  # unsure
    ious = np.array([[0.9, 0.9, 0.91, 0.9, 0.9, 0.9, 0.87]], np.float32)  # 5 is empty

    _, boxes, kept = _sure(Masks(logits, ious), view, SamOptions())

    assert boxes.tolist() == [[2 / 32, 0.25, 6 / 32, 0.75], [0, 0.5, 1, 1]]
    np.testing.assert_allclose(kept, [0.9, 0.91])


def test_masks_between_the_pixels_of_an_image_are_dropped() -> None:
    view = _view(load_segmenter(ByColour()), np.zeros((2, 4, 3), np.uint8))
    logits = np.full((1, 1, 32, 32), -0.5, np.float32)
    logits[0, 0, 0, 0] = 0.5  # an eighth of a pixel

    _, boxes, _ = _sure(Masks(logits, np.ones((1, 1), np.float32)), view, SamOptions(stability=0))

    assert boxes.shape == (0, 4)


def test_copies_are_dropped() -> None:
    # Of a window, the surer mask is smaller: their boxes' IoU is about 0.56.
    sample = scene("sam", 256, 160)

    both, best = (
        make(ByColour(), stability=0, overlap=overlap).propose(sample) for overlap in (0.8, 0.3)
    )

    assert len(both) == 4
    assert len(best) == 2
    assert {one.region.box for one in best} < {one.region.box for one in both}


def test_size_and_likeness_can_be_asked_for() -> None:
    sample = scene("sam", 256, 160)

    # The door is twice as high as a window, and of another colour.
    assert len(make(ByColour(), least=0, ratio=1.5).propose(sample)) == 2
    assert len(make(ByColour(), least=0, ratio=2.5).propose(sample)) == 3
    assert len(make(ByColour(), least=0.5, ratio=2.5).propose(sample)) == 2


# --- what they are compared with -----------------------------------------------------------------


@pytest.mark.parametrize("name", ["", "demo/vit-dino"])
def test_the_score_is_the_cosine_of_mean_features(name: str) -> None:
    sample = scene("sam", 256, 160)
    network = ByColour()
    model = load_model(name) if name else load_segmenter(network).model
    proposer = make(network, features=model if name else None, least=0, ratio=None)

    found = proposer.propose(sample)

    assert len(found) == 4
    first = region_feature(model, sample, sample.annotation.regions[0])
    for one in found:
        own = region_feature(model, sample, one.region)
        expected = float(torch.cosine_similarity(first, own, dim=0))
        assert one.score == pytest.approx(max(0, expected), abs=1e-4)
    assert [one.score for one in found] == sorted([one.score for one in found], reverse=True)
    other = {"model": name, "digest": model.digest} if name else None
    assert proposer.settings["features"] == other


def test_the_reference_may_be_what_the_network_finds_in_the_box() -> None:
    sample = scene("sam", 256, 160, grown=1)  # a box with some of the wall

    network = ByColour()
    plain, found = (
        make(network, reference=reference, least=0.1).propose(sample)
        for reference in ("region", "mask")
    )

    # One cell beyond the window on each side, in pixels of the input.
    np.testing.assert_allclose(network.boxes, [[np.multiply((1, 1, 7, 7), CELL)]])
    assert boxes_of(plain) == boxes_of(found)
    assert all(one.score == pytest.approx(1, abs=1e-3) for one in found)
    assert all(one.score < 0.999 for one in plain)


def test_a_reference_that_is_not_found_prompts_nothing() -> None:
    class Nothing(ByColour):
        def forward(self, *given: Any, **named: Any) -> Any:
            answer = super().forward(*given, **named)
            if named.get("input_boxes") is not None:
                answer.pred_masks = -answer.pred_masks.abs()
            return answer

    sample = scene("sam", 256, 160)

    assert make(Nothing(), reference="mask").propose(sample) == []
    assert len(make(Nothing()).propose(sample)) == 2


def test_regions_of_any_kind_prompt_and_those_without_area_do_not() -> None:
    whole = scene("sam", 256, 160)
    box = whole.annotation.regions[0].box
    x0, y0, x1, y1 = box
    mask = whole.annotation.regions[0].to_mask(160, 256)
    shapes = [
        Region("window", "polygon", box, ((x0, y0, x1, y0, x1, y1, x0, y1),)),
        Region("window", "mask", box, mask),
        Region("window", "point", box, radius=16),
    ]
    line = Region("window", box=(x0, y0, x0, y1))
    proposer = make(ByColour())

    for region, count in [*((shape, 2) for shape in shapes), (line, 0)]:
        annotation = Annotation("a.jpg", 256, 160, (region,))
        sample = Sample("a.jpg", annotation, load=whole.load)
        assert len(proposer.propose(sample)) == count


def test_a_model_that_does_not_see_all_is_refused() -> None:
    proposer = make(ByColour(), features=load_model("demo/vit-dino", fit="crop"))

    with pytest.raises(InputError, match="demo/vit-dino must see the whole image, but fit 'crop'"):
        proposer.propose(scene("sam", 256, 160))


# --- networks and options ------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["sam", "sam2"])
def test_networks_of_transformers_propose(kind: str) -> None:
    proposer = make(small_network(kind), points=4, **ALL)
    sample = scene("sam", 90, 140)

    found = proposer.propose(sample)

    assert found
    assert [one.id for one in proposer.propose(sample)] == [one.id for one in found]
    for one in found:
        assert 0 <= one.score <= 1
        mask: NDArray[np.bool_] = one.region.to_mask(140, 90)
        assert 0 < mask.mean() < 1


def test_proposals_are_written_and_read(tmp_path: Path) -> None:
    churches = load_dataset("facades", count=2, seed=0, labelling="representative")
    proposer = make_proposer_by_name("sam", small_network("sam2"), points=3, **ALL)

    found = propose(churches, proposer)
    write_proposals(found, tmp_path / "proposals.json")
    read = read_proposals(tmp_path / "proposals.json")

    assert len(found) > 1
    assert [one.id for one in read.items] == [one.id for one in found.items]
    assert [one.region.mask for one in read.items] == [one.region.mask for one in found.items]
    assert read.models() == {("Sam2Model", proposer.digest)}


def test_settings_are_plain_values() -> None:
    proposer = make_proposer(ByColour(), points=9, features="demo/vit-dino")

    assert isinstance(proposer, SamProposer)
    settings = json.loads(json.dumps(proposer.settings))
    assert settings["points"] == 9
    assert settings["batch"] == 16
    assert settings["features"]["model"] == "demo/vit-dino"
    # Whose weights a study shares must be told, also where they only compare.
    pairs = Proposals((), settings=proposer.settings).models()
    assert pairs == {("demo/vit-dino", load_model("demo/vit-dino").digest)}


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ({"points": 0}, "points must be a whole number from 1 to 64, got 0"),
        ({"points": True}, "points must be a whole number"),
        ({"batch": 2.5}, "batch must be a whole number from 1 to 4096, got 2.5"),
        ({"iou": np.nan}, "iou must be a number"),
        ({"stability": 1.1}, "stability must be a number from 0 to 1, got 1.1"),
        ({"overlap": 1}, "overlap must be a number from 0 to 0.95, got 1"),
        ({"ratio": 0.5}, "ratio must be a number of 1 or more, or none, got 0.5"),
        ({"least": "high"}, "least must be a number from 0 to 1, got 'high'"),
        ({"features": 3}, "features must be a model or its name, got int"),
        ({"reference": "box"}, "reference must be 'region' or 'mask', got 'box'"),
    ],
)
def test_options_out_of_range_are_refused(option: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        make(ByColour(), **option)


def test_unknown_options_list_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown option 'size'.*Known: points, .*features"):
        make(ByColour(), size=3)
