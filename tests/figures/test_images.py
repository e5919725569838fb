"""Figures of one image: what is drawn where, in which colours, with which words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PIL import Image

from sightline.core import InputError
from sightline.figures import _tiles as tiles
from sightline.figures import (
    create_sanity_check_comparison,
    draw_layer_maps,
    new_figure,
    visualize_all_methods,
    visualize_attribution_enhanced,
)
from tests.figures.drawn import assert_legible
from tests.figures.samples_images import image_of, map_of, maps_of, mask_of, names_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def texts_of(ax: Axes) -> list[str]:
    return [text.get_text().replace("\n", " ") for text in ax.texts]


def said(figure: Figure) -> str:
    """Return all texts over and below the tiles."""
    return " ".join(text.get_text().replace("\n", " ") for text in figure.texts)


def pixels_of(ax: Axes) -> np.ndarray:
    return np.asarray(ax.images[0].get_array()).astype(float)


def edges_drawn(ax: Axes) -> int:
    from matplotlib.collections import LineCollection

    return sum(isinstance(one, LineCollection) for one in ax.collections)


# --- what is given -------------------------------------------------------------------------------


def test_images_of_all_kinds_become_the_same_pixels() -> None:
    image = image_of()
    for given in (image, Image.fromarray(image), image / 255, np.dstack([image, image[..., :1]])):
        assert np.array_equal(tiles.as_picture(given), tiles.as_picture(image))
    grey = tiles.as_picture(image[..., 0])
    assert np.array_equal(grey[..., 0], grey[..., 2])
    assert np.array_equal(tiles.as_picture(image[..., :1]), grey)


@pytest.mark.parametrize(
    ("size", "drawn"),
    [((3000, 4000), (384, 512)), ((1, 1), (256, 256)), ((300, 400), (300, 400))],
)
def test_images_are_drawn_at_a_size_that_can_be_seen_and_kept(
    size: tuple[int, int], drawn: tuple[int, int]
) -> None:
    assert tiles.as_picture(np.zeros((*size, 3), np.uint8)).shape == (*drawn, 3)


@pytest.mark.parametrize(
    ("image", "message"),
    [
        ("church.png", "image must be (height, width, 3) or a Pillow image; got str"),
        (np.zeros((3, 4, 5), np.uint8), "got an array (3, 4, 5)"),
        (np.zeros((0, 4, 3), np.uint8), "got an array (0, 4, 3)"),
        (np.full((3, 4, 3), 2.0), "image must lie in 0 to 1"),
        (np.zeros((3, 4, 3), np.int64), "8 bits (uint8); got int64"),
    ],
)
def test_what_is_no_image_is_named(image: Any, message: str) -> None:
    with pytest.raises(InputError) as error:
        visualize_all_methods(image, {"cls": [[1.0]]})
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0, 2.0], "map 'cls' must be a map (rows, columns); got shape (2,)"),
        ([[np.inf, 1.0]], "map 'cls' must be finite"),
        ([[np.nan, np.nan]], "map 'cls' must hold numbers"),
        ([["a"]], "map 'cls' must be numbers"),
        (np.zeros((0, 3)), "got shape (0, 3)"),
    ],
)
def test_what_is_no_map_is_named(values: Any, message: str) -> None:
    with pytest.raises(InputError) as error:
        visualize_all_methods(image_of(), {"cls": values})
    assert message in str(error.value)


def test_what_is_no_mask_no_sign_and_no_map_at_all_is_named() -> None:
    with pytest.raises(InputError, match=r"mask must hold only 0 and 1 .*found 7"):
        visualize_all_methods(image_of(), {"cls": [[1.0]]}, [[0, 7]])
    with pytest.raises(InputError, match=r"mask must be \(rows, columns\)"):
        visualize_all_methods(image_of(), {"cls": [[1.0]]}, [True])
    with pytest.raises(InputError, match=r"sign must be .*'signed'; got 'both'"):
        visualize_all_methods(image_of(), {"cls": [[1.0]]}, signs="both")
    with pytest.raises(InputError, match=r"sign must be .*'signed'; got 'both'"):
        draw_layer_maps(image_of(), {0: [[1, -1]]}, name="m", sign="both")
    with pytest.raises(InputError, match=r"sign must be .*'signed'; got 'both'"):
        visualize_attribution_enhanced(image_of(), [[1, -1]], name="m", sign="both", percents=())
    with pytest.raises(InputError, match="maps must hold one map at least"):
        visualize_all_methods(image_of(), {})
    with pytest.raises(InputError, match="axes must be 3"):
        visualize_all_methods(image_of(), maps_of(2), axes=[new_figure(2, 2).add_subplot()])


# --- maps over images ----------------------------------------------------------------------------


def test_a_map_is_brought_to_pixels_bilinearly_between_centres_of_cells() -> None:
    over = tiles.spread(np.array([[0.0, 4.0]]), (1, 8))
    assert over[0] == pytest.approx([0, 0, 0.5, 1.5, 2.5, 3.5, 4, 4])


def test_a_map_that_pillow_could_not_hold_keeps_its_values() -> None:
    assert tiles.spread(np.array([[1e200, 3e200]]), (1, 4))[0, -1] == pytest.approx(3e200)
    assert tiles.spread(np.zeros((1, 2)), (1, 4)).tolist() == [[0, 0, 0, 0]]


def test_what_the_model_did_not_see_stays_unseen_and_spoils_nothing() -> None:
    over = tiles.spread(np.array([[2.0, np.nan]]), (1, 8))
    assert over[0, :4] == pytest.approx([2, 2, 2, 2])
    assert np.isnan(over[0, 4:]).all()


def test_the_far_end_of_colours_is_the_largest_value_or_the_99th_percentile_of_many() -> None:
    few, many = np.arange(100.0).reshape(10, 10), np.arange(10_000.0).reshape(100, 100)
    assert tiles.far_of(few, "positive") == 99
    assert tiles.far_of(many, "positive") == pytest.approx(9899.01)
    assert tiles.far_of(-few, "positive") == 0
    assert tiles.far_of(-few, "absolute") == tiles.far_of(-few, "signed") == 99
    spike = np.zeros((100, 100))
    spike[3, 3] = 5
    assert tiles.far_of(spike, "positive") == 5


def test_positive_maps_are_inferno_and_signed_ones_blue_white_red() -> None:
    from matplotlib import colormaps

    picture = np.full((256, 256, 3), 128, np.uint8)
    dim = 40 + 175 / 255 * 128
    values = np.array([[-1.0, 1.0]])
    for sign, scale, places in (
        ("positive", "inferno", (0.0, 1.0)),
        ("absolute", "inferno", (1.0, 1.0)),
        ("signed", "RdBu_r", (0.0, 1.0)),
    ):
        drawn = tiles.heat(picture, values, sign)[128, [0, -1]]
        colours = 255 * np.array([colormaps[scale](place)[:3] for place in places])
        assert drawn == pytest.approx(dim + 0.65 * (colours - dim), abs=1)
    three = np.array([[-1.0, 0.0, 1.0]])
    left, middle, right = tiles.heat(picture, three, "signed")[128, [0, 128, -1]].astype(int)
    assert left[2] > left[0]
    assert right[0] > right[2]
    pale = 255 * np.array(colormaps["RdBu_r"](0.5)[:3])
    assert middle == pytest.approx(dim + 0.65 * (pale - dim), abs=2)


@pytest.mark.parametrize("value", [0.0, 3.0, -2.0])
@pytest.mark.parametrize("sign", ["positive", "absolute", "signed"])
def test_a_constant_map_has_one_colour(value: float, sign: str) -> None:
    drawn = tiles.heat(np.full((256, 256, 3), 128, np.uint8), np.full((3, 4), value), sign)
    assert (drawn == drawn[0, 0]).all()


def test_edges_follow_cells_and_close_at_the_edge_of_the_image() -> None:
    picture = np.zeros((100, 200, 3), np.uint8)
    (line,) = tiles.edges_of(np.array([[False, True]]), picture)
    assert line[0].tolist() == line[-1].tolist()
    assert line.min(axis=0) == pytest.approx([100, 0], abs=0.6)
    assert line.max(axis=0) == pytest.approx([200, 100], abs=0.6)
    (corner,) = tiles.edges_of(np.array([[True, False], [False, False]]), picture)
    x, y = corner.T
    area = abs(np.sum(x[:-1] * y[1:] - x[1:] * y[:-1])) / 2
    assert area == pytest.approx(100 * 50, rel=0.012)  # cells have corners
    (small,) = tiles.edges_of(np.pad(np.ones((1000, 2000), bool), 500), picture)
    assert small.min(axis=0) == pytest.approx([200 / 6, 25], abs=0.6)
    assert tiles.edges_of(np.zeros((3, 3), bool), picture) == tiles.edges_of(None, picture) == []


def test_a_mask_comes_to_a_grid_where_half_of_a_cell_is_annotated() -> None:
    mask = np.zeros((4, 4), bool)
    mask[:2, :1] = mask[2, 2] = True
    assert tiles.on_raster(mask, (2, 2)).tolist() == [[True, False], [False, False]]
    assert tiles.on_raster(mask, (4, 4)) is mask
    assert tiles.on_raster(mask, (1, 1)).tolist() == [[True]]  # never lost
    assert not tiles.on_raster(np.zeros((4, 4), bool), (3, 3)).any()


@pytest.mark.parametrize("shape", [(14, 13), (7, 100), (1, 1), (200, 90), (61, 43)])
def test_shares_of_cells_are_those_of_their_pixels(shape: tuple[int, int]) -> None:
    mask = np.random.default_rng(0).random((61, 43)) < 0.2
    found = tiles.shares_on(mask, shape)
    # Slowly: each pixel in as many parts as there are cells, each cell of as many as pixels.
    parts = np.repeat(np.repeat(mask, shape[0], 0), shape[1], 1)
    slow = parts.reshape(shape[0], 61, shape[1], 43).mean(axis=(1, 3))
    assert found == pytest.approx(slow, abs=1e-12)
    assert found.mean() == pytest.approx(mask.mean(), abs=1e-12)


def test_ties_at_the_quantile_are_all_selected() -> None:
    values = np.array([[0.0, 1, 1, 1], [0, 0, 0, 2]])
    assert tiles.selected(values, 0.125).sum() == 1
    assert tiles.selected(values, 0.25).sum() == 4
    assert tiles.selected(np.ones((2, 2)), 0.1).all()
    assert tiles.selected(np.array([[np.nan, 1, 2]]), 0.5).tolist() == [[False, False, True]]


# --- all methods ---------------------------------------------------------------------------------


def test_all_methods_shows_image_annotation_and_each_map_with_its_note() -> None:
    names = names_of(3)
    figure = visualize_all_methods(
        image_of(), maps_of(3), mask_of(), notes={names[1]: "IoU 0.41"}, head="facade $1$"
    )
    assert [texts_of(ax)[-1] for ax in figure.axes[:4]] == ["Image", "Annotation", *names[:2]]
    assert texts_of(figure.axes[1])[0] == "6.7% of the image"
    assert texts_of(figure.axes[3])[0] == "IoU 0.41"
    assert (
        texts_of(figure.axes[4])[-1].replace(" ", "").startswith("integrated_gradients_of_a_larg")
    )
    assert said(figure).startswith("facade $1$ White lines")
    assert [edges_drawn(ax) for ax in figure.axes[:5]] == [0, 2, 2, 2, 2]
    picture = tiles.as_picture(image_of())
    assert np.array_equal(pixels_of(figure.axes[0]), picture)
    expected = tiles.heat(picture, maps_of(3)[names[0]], "positive")
    assert np.array_equal(pixels_of(figure.axes[2]), expected)


def test_annotated_pixels_are_blue_and_others_grey() -> None:
    figure = visualize_all_methods(image_of(), maps_of(1), mask_of())
    drawn = pixels_of(figure.axes[1])
    inside = np.asarray(Image.fromarray(mask_of()).resize(drawn.shape[1::-1]))
    assert (drawn[inside][:, 2] > drawn[inside][:, 0] + 20).all()
    assert np.ptp(drawn[~inside], axis=1).max() == 0


def test_signs_by_name_give_each_map_its_colours_and_the_key_both_bars() -> None:
    values = map_of(signed=True)
    maps, signs = {"a": values, "b": values, "c": values}, {"b": "signed", "c": "absolute"}
    with pytest.raises(InputError, match=r"map 'a': its map has negative values .*: give sign"):
        visualize_all_methods(image_of(), maps, signs=signs)
    figure = visualize_all_methods(image_of(), maps, signs={"a": "positive", **signs})
    picture = tiles.as_picture(image_of())
    for ax, sign in zip(figure.axes[1:4], ("positive", "signed", "absolute"), strict=True):
        assert np.array_equal(pixels_of(ax), tiles.heat(picture, values, sign))
    keys = [texts_of(ax)[0] for ax in figure.axes[4:]]
    assert keys == [
        "0 to the largest value of each map",
        "blue: against, pale: 0, red: for; ends at ± the largest value of each map",
    ]


def test_the_key_says_when_values_lose_their_sign_and_when_colours_end_early() -> None:
    figure = visualize_all_methods(image_of(), {"a": map_of(20, 20)}, signs="absolute")
    key = texts_of(figure.axes[2])[0]
    assert key == "0 to the 99th percentile of each map; sizes, whatever the sign"


def test_the_key_is_true_of_maps_of_several_kinds() -> None:
    sparse = np.zeros((30, 30))
    sparse[3, 4] = 1
    holes = np.full((30, 30), np.nan)
    holes[:5, :5] = 1.0
    both = "0 to the 99th percentile of each map, of coarse and sparse ones the largest value"
    for maps, expected in (
        ({"a": map_of(), "b": map_of(40, 40)}, both),
        ({"a": sparse, "b": map_of(40, 40)}, both),
        ({"a": holes, "b": sparse}, "0 to the largest value of each map"),
    ):
        figure = visualize_all_methods(image_of(), maps)
        assert texts_of(figure.axes[3]) == [expected]


def test_one_narrow_tile_has_room_for_its_key() -> None:
    for size in ((400, 40), (40, 400), (100, 100)):
        for sign in ("positive", "signed"):
            image = np.zeros((*size, 3), np.uint8)
            assert_legible(visualize_all_methods(image, {"a": map_of(signed=True)}, signs=sign))


def test_names_stand_over_notes_of_several_lines() -> None:
    note = "a note of so many words that it takes two lines at least over a tile"
    figure = visualize_all_methods(image_of(), {"a": map_of()}, notes={"a": note})
    assert figure.axes[1].texts[0].get_text().count("\n") >= 1
    assert_legible(figure)


def test_maps_have_names_and_notes_are_texts() -> None:
    with pytest.raises(InputError, match="maps must be maps by the method's name; got list"):
        visualize_all_methods(image_of(), [map_of()])  # type: ignore[arg-type]
    maps = {"m" * 40 + f" {i} " + "n" * 40: map_of() for i in range(2)}
    figure = visualize_all_methods(image_of(), maps, notes={next(iter(maps)): 0.25})  # type: ignore[dict-item]
    assert texts_of(figure.axes[1])[0] == "0.25"
    assert texts_of(figure.axes[1])[-1] != texts_of(figure.axes[2])[-1]


def test_without_a_mask_there_is_no_annotation_and_with_an_empty_one_that_is_said() -> None:
    bare = visualize_all_methods(image_of(), maps_of(2))
    assert [texts_of(ax)[-1] for ax in bare.axes[:3]] == ["Image", *names_of(2)]
    assert "annotation" not in said(bare)
    empty = visualize_all_methods(image_of(), maps_of(2), np.zeros((5, 5)))
    assert texts_of(empty.axes[1]) == ["nothing annotated", "Annotation"]
    assert not any(map(edges_drawn, empty.axes))


def test_of_more_than_40_maps_the_first_are_drawn_and_the_rest_counted() -> None:
    maps = {f"method {i}": [[1.0, 2.0]] for i in range(45)}
    figure = visualize_all_methods(np.zeros((20, 30, 3), np.uint8), maps)
    assert len(figure.axes) == 1 + 40 + 1
    assert "40 of 45 maps are drawn." in said(figure)
    assert_legible(figure)


@pytest.mark.parametrize("size", [(30, 400), (400, 30), (1, 1), (700, 500)])
@pytest.mark.parametrize("count", [1, 15])
def test_forms_of_images_keep_their_shape_and_their_labels(
    size: tuple[int, int], count: int
) -> None:
    figure = visualize_all_methods(
        np.full((*size, 3), 90, np.uint8), maps_of(count), np.eye(4), head="h " * 100
    )
    assert_legible(figure)
    figure.draw_without_rendering()
    box = figure.axes[0].get_window_extent()
    assert box.width / box.height == pytest.approx(size[1] / size[0], rel=0.02)


def test_axes_of_any_figure_will_do() -> None:
    from matplotlib.figure import Figure

    figure = Figure()  # no canvas that draws pixels
    axes = list(figure.subplots(1, 2))
    assert visualize_all_methods(image_of(), {"a": map_of()}, axes=axes) is figure
    assert texts_of(axes[1]) == ["a"]


def test_given_axes_are_drawn_on_and_keep_their_places() -> None:
    figure = new_figure(9, 3)
    axes = figure.subplots(1, 4)
    places = [ax.get_position(original=True).bounds for ax in axes]
    found = visualize_all_methods(image_of(), maps_of(2), mask_of(), head="none", axes=list(axes))
    assert found is figure
    assert [ax.get_position(original=True).bounds for ax in axes] == places
    assert not figure.texts
    assert_legible(figure)


# --- one map in depth ----------------------------------------------------------------------------


def test_the_views_of_a_map_in_depth_select_what_they_say() -> None:
    values = np.arange(100.0).reshape(10, 10)
    mask = np.zeros((10, 10), bool)
    mask[-1] = True
    image = np.zeros((300, 300, 3), np.uint8)
    figure = visualize_attribution_enhanced(image, values, mask, name="cls")
    heads = [texts_of(ax)[-1] for ax in figure.axes[:6]]
    assert heads == ["Image", "cls", "Annotation", "Top 5%", "Top 10%", "Top 20%"]
    notes = [texts_of(ax)[0] for ax in figure.axes[1:6]]
    assert notes == [
        "0 to 99",
        "10% of the image",
        "5% reached; 100% of it annotated (chance 10%)",
        "10% reached; 100% of it annotated (chance 10%)",
        "20% reached; 50% of it annotated (chance 10%)",
    ]
    for ax, rows in zip(figure.axes[4:6], (1, 2), strict=True):
        lit = pixels_of(ax).max(axis=2) == 0
        assert lit[300 - 30 * rows :].all()
        assert not lit[: 300 - 30 * rows].any()


def test_contour_lines_lie_at_shares_of_the_far_end() -> None:
    values = np.arange(100.0).reshape(10, 10)
    figure = visualize_attribution_enhanced(image_of(), values, mask_of(), name="cls")
    from matplotlib.contour import QuadContourSet

    for ax in figure.axes[1:3]:
        (lines,) = [one for one in ax.collections if isinstance(one, QuadContourSet)]
        assert lines.levels == pytest.approx([19.8, 39.6, 59.4, 79.2])
    assert "Contour lines at 20%, 40%, 60%, 80%" in said(figure)


def test_contour_lines_below_zero_are_dashed() -> None:
    from matplotlib.contour import QuadContourSet

    values = np.linspace(-5, 10, 16).reshape(4, 4)
    figure = visualize_attribution_enhanced(image_of(), values, name="cls", sign="signed")
    found: list[Any] = list(figure.axes[1].collections)
    lines: Any = next(one for one in found if isinstance(one, QuadContourSet))
    assert lines.levels == pytest.approx([-4, -2, 2, 4, 6, 8])
    assert [style[1] is not None for style in lines.get_linestyle()] == [True] * 2 + [False] * 4


@pytest.mark.parametrize("value", [0.0, 2.5])
def test_a_constant_map_selects_everything_and_says_so(value: float) -> None:
    figure = visualize_attribution_enhanced(
        image_of(), np.full((7, 7), value), mask_of(), name="cls", percents=[10]
    )
    assert texts_of(figure.axes[1])[0] == f"all {value:g}: no contours"
    assert texts_of(figure.axes[3])[0].startswith(
        "100% reached; 6.7% of it annotated (chance 6.7%)"  # as much as of the image
    )


def test_what_is_not_seen_is_not_counted() -> None:
    values = np.array([[np.nan, np.nan, 1.0, 2.0]])
    figure = visualize_attribution_enhanced(
        image_of(), values, [[1, 1, 0, 1]], name="cls", percents=[50]
    )
    assert texts_of(figure.axes[3])[0] == "50% reached; 100% of it annotated (chance 50%)"


def test_percents_beyond_the_whole_are_refused() -> None:
    with pytest.raises(InputError, match="percents must lie between 0 and 100; got 'a'"):
        visualize_attribution_enhanced(image_of(), map_of(), name="a", percents=["a"])  # type: ignore[list-item]
    for wrong in (0, 100, -5, float("nan")):
        with pytest.raises(InputError, match="percents must lie between 0 and 100"):
            visualize_attribution_enhanced(image_of(), map_of(), name="cls", percents=[wrong])


# --- layers --------------------------------------------------------------------------------------


def test_layers_have_their_own_scale_unless_they_share_one() -> None:
    maps = {3: np.array([[0.0, 1.0]]), 11: np.array([[0.0, 10.0]])}
    own = draw_layer_maps(image_of(), maps, mask_of(), name="cls", notes={11: "0.41"})
    assert [texts_of(ax)[-1] for ax in own.axes[:3]] == ["Image", "Layer 3", "Layer 11"]
    assert texts_of(own.axes[0])[0] == "6.7% of the image annotated"
    assert texts_of(own.axes[2])[0] == "0.41"
    assert np.array_equal(pixels_of(own.axes[1]), pixels_of(own.axes[2]))
    assert "each with its own scale" in said(own)
    shared = draw_layer_maps(image_of(), maps, name="cls", shared=True)
    assert not np.array_equal(pixels_of(shared.axes[1]), pixels_of(shared.axes[2]))
    assert np.array_equal(pixels_of(shared.axes[2]), pixels_of(own.axes[2]))
    assert "one scale of colours for all" in said(shared)
    assert texts_of(shared.axes[3]) == ["0 to 10"]


def test_one_layer_is_one() -> None:
    assert "1 layer, each with" in said(draw_layer_maps(image_of(), [map_of()], name="a"))


def test_layers_are_chosen_or_named() -> None:
    maps = {0: [[1.0]], 5: [[2.0]], "fused": [[3.0]]}
    figure = draw_layer_maps(image_of(), maps, name="cls", layers=["fused", 0])
    assert [texts_of(ax)[-1] for ax in figure.axes[1:3]] == ["fused", "Layer 0"]
    figure = draw_layer_maps(image_of(), [[[1.0]], [[2.0]]], name="cls", layers=[4, 8])
    assert [texts_of(ax)[-1] for ax in figure.axes[1:3]] == ["Layer 4", "Layer 8"]
    with pytest.raises(InputError, match="layers must be of 0, 5, fused; got 7"):
        draw_layer_maps(image_of(), maps, name="cls", layers=[7])
    with pytest.raises(InputError, match="layers must name each of 2 maps"):
        draw_layer_maps(image_of(), [[[1.0]], [[2.0]]], name="cls", layers=[4])
    with pytest.raises(InputError, match="maps must hold one map at least"):
        draw_layer_maps(image_of(), [], name="cls")


# --- sanity --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "word"),
    [
        (-0.4, "reliable"),
        (0.29, "reliable"),
        (0.3, "between"),
        (0.6, "between"),
        (0.61, "unreliable"),
    ],
)
def test_the_guides_word_for_a_correlation(value: float, word: str) -> None:
    figure = create_sanity_check_comparison(
        image_of(), {"a": map_of()}, {"a": map_of(seed=9)}, {"name": ["a"], "value": [value]}
    )
    assert texts_of(figure.axes[2]) == [f"the guide: {word}", f"ρ = {value:.2f}"]
    (point,) = [line for line in figure.axes[2].lines if line.get_marker() == "o"]
    assert point.get_xdata() == pytest.approx([value])


def test_each_method_has_its_own_row_with_interval_and_count() -> None:
    names = ["b", "a"]
    original = {name: map_of(seed=i) for i, name in enumerate(names)}
    random = {name: map_of(seed=5 + i) for i, name in enumerate(names)}
    table = {"method": ["a", "b"], "value": [0.1, 0.7], "low": [0.0, 0.6], "high": [0.2, 0.8],
             "n": [8, 9]}  # fmt: skip
    figure = create_sanity_check_comparison(image_of(), original, random, table)
    assert [texts_of(ax)[-1] for ax in figure.axes[:6]] == [
        "b", "b", "ρ = 0.70 [0.60, 0.80]", "a", "a", "ρ = 0.10 [0.00, 0.20]",
    ]  # fmt: skip
    picture = tiles.as_picture(image_of())
    for place, values in ((0, original["b"]), (1, random["b"]), (3, original["a"])):
        expected = tiles.heat(picture, values, "positive")
        assert np.array_equal(pixels_of(figure.axes[place]), expected)
    own = [line for line in figure.axes[2].lines if line.get_linewidth() == 2.6]
    assert [np.asarray(line.get_xdata()).tolist() for line in own] == [[0.6, 0.8]]
    assert "Bars: intervals. 8 to 9 images." in said(figure)


def test_an_undefined_correlation_is_said_and_not_drawn() -> None:
    figure = create_sanity_check_comparison(
        image_of(), {"a": [[1.0]]}, {"a": [[1.0]]}, {"name": ["a"], "value": [np.nan]}
    )
    assert texts_of(figure.axes[2]) == ["ρ undefined"]
    assert not [line for line in figure.axes[2].lines if line.get_marker() == "o"]


@pytest.mark.parametrize("verdict", [None, np.nan])
def test_a_verdict_that_is_missing_is_not_said(verdict: Any) -> None:
    maps, table = {"cls": map_of()}, {"name": ["cls"], "value": [0.2], "verdict": [verdict]}
    figure = create_sanity_check_comparison(image_of(), maps, maps, table)
    assert texts_of(figure.axes[2])[0] == "the guide: reliable"


def test_gaps_in_the_similarities_are_undefined_and_words_are_refused() -> None:
    maps = {"a": map_of(), "b": map_of()}
    table: dict[str, Any] = {"name": ["a", "b"], "value": [0.2, None], "n": [None, 5]}
    figure = create_sanity_check_comparison(image_of(), maps, maps, table)
    assert "5 images." in said(figure)
    assert texts_of(figure.axes[5]) == ["ρ undefined"]
    with pytest.raises(InputError, match="similarities: column 'value' must hold numbers"):
        create_sanity_check_comparison(image_of(), maps, maps, table | {"value": ["x", "y"]})


@pytest.mark.parametrize("count", [1, 7])
def test_the_key_stands_below_the_axis_of_correlations(count: int) -> None:
    names = [f"m{i}" for i in range(count)]
    maps = dict.fromkeys(names, map_of())
    table = {"name": names, "value": [0.5] * count}
    tall = np.zeros((300, 30, 3), np.uint8)
    assert_legible(create_sanity_check_comparison(tall, maps, maps, table))


def test_methods_that_are_missing_somewhere_are_named() -> None:
    maps, table = {"a": [[1.0]], "b": [[1.0]]}, {"name": ["a"], "value": [0.1]}
    with pytest.raises(InputError, match="randomised must have 'b'"):
        create_sanity_check_comparison(image_of(), maps, {"a": [[1.0]]}, table)
    with pytest.raises(InputError, match="similarities must have 'b'"):
        create_sanity_check_comparison(image_of(), maps, maps, table)
    with pytest.raises(InputError, match="original must hold one map"):
        create_sanity_check_comparison(image_of(), {}, {}, table)
