"""What must hold for every metric in the table, so that a new one is tested the day it arrives."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import pyarrow as pa
import pytest

from sightline.core import InputError
from sightline.metrics import METRICS, MetricSpec, soft_target
from sightline.metrics.spec import Category, Facts

if TYPE_CHECKING:
    from collections.abc import Callable

    from sightline.metrics.spec import Formula

HEIGHT, WIDTH = 12, 16
BOX = (0.25, 0.25, 0.5, 0.75)
MASK = np.zeros((HEIGHT, WIDTH), bool)
MASK[3:9, 4:8] = True
RNG = np.random.default_rng(0)


def score(spec: MetricSpec, attention: Any, mask: Any = MASK, **options: Any) -> Any:
    """Call a metric with whatever it compares a map with, made from a mask."""
    count = len(attention) if attention.ndim == 3 else 0
    if spec.name == "max_box_acc":
        boxes = [BOX] if mask.any() else []
        maps = attention if count else attention[None]
        return spec.function(maps, [boxes] * len(maps), **options)
    if spec.name == "pxap" and not count:
        attention = attention[None]
    others = {
        "mask": mask,
        "target": mask * soft_target([BOX], HEIGHT, WIDTH) if mask.any() else mask * 1.0,
        "others": np.roll(mask, 2, axis=1) * 3.0,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = spec.function(attention, *(others[need] for need in spec.needs), **options)
    return found[0] if isinstance(found, tuple) else found


def every(condition: Callable[[MetricSpec], bool] = lambda _: True) -> pytest.MarkDecorator:
    """Walk the metrics for which a condition holds."""
    specs = [spec for spec in METRICS.values() if condition(spec)]
    return pytest.mark.parametrize("spec", specs, ids=[spec.name for spec in specs])


@every()
def test_every_field_is_filled(spec: MetricSpec) -> None:
    assert spec.range[0] < spec.range[1]
    for text in (spec.meaning, spec.best_for, spec.limitation, spec.citation):
        assert text
    assert spec.undefined
    assert spec.category in get_args(Category)
    doc = spec.function.__doc__ or ""
    assert "Examples" in doc
    assert "NaN" in doc or "left out" in doc or spec.level == "dataset"


@every(lambda spec: spec.direction != "neither")
def test_perfect_beats_constant_beats_inverted(spec: MetricSpec) -> None:
    blurred = MASK * soft_target([BOX], HEIGHT, WIDTH)
    perfect, constant = blurred + MASK, np.full(MASK.shape, 0.7)
    inverted = 2 - perfect
    values = [float(score(spec, m)) for m in (perfect, constant, inverted)]
    if spec.direction == "lower":
        values = [-value for value in values]
    if spec.name in ("corloc", "max_box_acc"):  # shares of one image: 0 or 1
        assert values[0] == 1
    else:
        assert values[0] > values[1]
    # The best threshold of an inverted map takes all of it, like a constant one; and squared error
    # likes an inverted map better for being darker.
    if spec.name == "best_iou":
        assert values[1] == values[2]
    elif spec.name not in ("max_box_acc", "corloc", "mse"):
        assert values[1] > values[2]


@every(lambda spec: spec.chance is not None)
@pytest.mark.parametrize("level", [0.1, 1.0, 1e6])
def test_a_constant_map_scores_chance(spec: MetricSpec, level: float) -> None:
    assert spec.chance is not None
    selected = np.array(MASK.size * 0.1)
    facts = Facts(MASK.size, np.array(MASK.sum() * 1.0), selected, 5)
    found = float(score(spec, np.full(MASK.shape, level)))
    assert abs(found - float(spec.chance.value(facts))) <= 1e-12


@every()
def test_signed_maps_have_what_an_added_number_does_not_change(spec: MetricSpec) -> None:
    ranks = np.random.default_rng(3).permutation(MASK.size).reshape(MASK.shape) + 1.0
    plain, higher = (float(score(spec, ranks + more)) for more in (0, 100))
    if plain == pytest.approx(higher, abs=1e-9):
        found = float(score(spec, ranks - 60, sign="signed"))
        assert found == pytest.approx(plain, abs=1e-9)
    else:
        with pytest.raises(InputError, match="a signed map has no energy"):
            score(spec, ranks - 60, sign="signed")


def areas() -> tuple[Any, Any]:
    """Selected and annotated shares, those of whole images among them."""
    a, g = np.random.default_rng(2).uniform(0.001, 1, (2, 300))
    a[:3], g[1:4] = 1, 1
    g[10:20] = a[10:20]
    return a, g


def computed_by_duckdb(expression: str | None, a: Any, g: Any) -> Any:
    """Evaluate an expression over the columns a and g."""
    import duckdb

    assert expression is not None
    table = pa.table({"a": a, "g": g})
    query = f"SELECT CAST({expression} AS DOUBLE) AS value FROM areas"  # noqa: S608
    with duckdb.connect() as connection:
        connection.register("areas", table)
        return connection.execute(query).fetchnumpy()["value"]


def formulas(spec: MetricSpec) -> list[Formula]:
    return [formula for formula in (spec.chance, spec.ceiling) if formula is not None]


@every(lambda spec: any(formula.sql for formula in formulas(spec)))
def test_formulas_say_the_same_to_people_arrays_and_data_bases(spec: MetricSpec) -> None:
    a, g = areas()
    for formula in formulas(spec):
        found = computed_by_duckdb(formula.sql, a, g)
        expected = np.broadcast_to(formula.value(Facts(1, g, a)), g.shape)
        assert np.abs(found - expected).max() <= 1e-12 * max(1, np.abs(expected).max())


def test_formulas_that_need_more_than_areas_have_no_expression() -> None:
    chances = {spec.name: spec.chance for spec in METRICS.values() if spec.chance is not None}
    assert [name for name, chance in chances.items() if chance.sql is None] == ["top_k_any"]
    assert chances["iou"].sql == "a*g / (a + g - a*g)"


@every(lambda spec: spec.ceiling is not None)
def test_the_ceiling_is_above_chance_and_reached_by_the_best_selection(spec: MetricSpec) -> None:
    assert spec.ceiling is not None
    assert spec.chance is not None
    a, g = areas()
    facts = Facts(1, g, a)
    ceiling = np.broadcast_to(spec.ceiling.value(facts), g.shape)
    assert (spec.chance.value(facts) <= ceiling * (1 + 1e-12)).all()
    best = MASK + 0.1 * RNG.random(MASK.shape)
    for percentile in (97, 90, 87.5, 60):
        found = float(np.ravel(spec.function(best, MASK, percentile))[0])
        own = Facts(
            MASK.size, np.array(MASK.sum() * 1.0), np.array(MASK.size * (100 - percentile) / 100)
        )
        assert found == pytest.approx(float(spec.ceiling.value(own)), abs=1e-12)


@every()
def test_values_stay_in_range(spec: MetricSpec) -> None:
    for attention in (RNG.random(MASK.shape), MASK * 1.0, 1.0 - MASK, np.eye(HEIGHT, WIDTH)):
        value = float(score(spec, attention))
        assert spec.range[0] - 1e-12 <= value <= spec.range[1] + 1e-12


@every()
def test_a_single_pixel(spec: MetricSpec) -> None:
    inside, outside = np.zeros(MASK.shape), np.zeros(MASK.shape)
    inside[5, 5], outside[0, 0] = 1, 1
    hit, miss = float(score(spec, inside)), float(score(spec, outside))
    if spec.direction == "neither":
        assert hit == pytest.approx(miss, abs=1e-12)
    elif spec.direction == "lower":
        assert hit < miss
    else:
        # One pixel is far from an IoU of 0.3, and the best threshold may take everything instead.
        coarse = spec.name in ("corloc", "max_box_acc", "best_iou")
        assert hit >= miss if coarse else hit > miss


@every()
def test_nan_is_refused(spec: MetricSpec) -> None:
    attention = np.ones(MASK.shape)
    attention[2, 3] = np.nan
    with pytest.raises(ValueError, match="not finite"):
        score(spec, attention)


@every()
def test_an_empty_annotation_is_undefined(spec: MetricSpec) -> None:
    value = float(score(spec, RNG.random(MASK.shape), np.zeros_like(MASK)))
    assert np.isnan(value) == (spec.needs != ())


@every(lambda spec: spec.needs != ("boxes",))
def test_an_annotation_of_everything(spec: MetricSpec) -> None:
    value = float(score(spec, RNG.random(MASK.shape), np.ones_like(MASK)))
    undefined = "annotation covers the image" in spec.undefined
    assert np.isnan(value) == undefined


@every()
def test_a_map_of_zeros(spec: MetricSpec) -> None:
    value = float(score(spec, np.zeros(MASK.shape)))
    assert np.isnan(value) == ("map sums to zero" in spec.undefined)
    if spec.chance is not None and not np.isnan(value):
        assert abs(value - float(score(spec, np.ones(MASK.shape)))) <= 1e-12


@every(lambda spec: not spec.spatial)
def test_pixel_order_matters_only_if_spatial(spec: MetricSpec) -> None:
    order = np.random.default_rng(1).permutation(MASK.size)
    attention = RNG.random(MASK.shape)

    def shuffle(array: Any) -> Any:
        return np.asarray(array).ravel()[order].reshape(MASK.shape)

    others = {
        "mask": MASK,
        "target": soft_target([BOX], HEIGHT, WIDTH),
        "others": np.roll(MASK, 2, axis=1) * 3.0,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        given = [attention, *(others[need] for need in spec.needs)]
        one = spec.function(*(array[None] for array in given))
        two = spec.function(*(shuffle(array)[None] for array in given))
    first, second = (np.ravel(v[0] if isinstance(v, tuple) else v)[0] for v in (one, two))
    assert abs(first - second) <= 1e-12


@every(lambda spec: spec.level != "dataset")
def test_batch_equals_loop(spec: MetricSpec) -> None:
    attention = RNG.random((3, *MASK.shape))
    batch = np.asarray(score(spec, attention))
    assert batch.shape == (3,)
    assert [float(score(spec, one)) for one in attention] == batch.tolist()
