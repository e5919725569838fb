"""Maps and masks as Hypothesis makes them: ties, constants, extremes, odd shapes and types."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

SHAPES = st.one_of(
    hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=9),
    st.tuples(st.just(1), st.integers(1, 40)),
)
FLOATS: list[Any] = [np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64)]


@st.composite
def maps(draw: st.DrawFn, shape: tuple[int, ...] | None = None, *, tame: bool = False) -> Any:
    """One map. A tame one spans few orders of magnitude, so that float64 sums of it are exact to
    1e-12 even after subtraction."""
    shape = shape or draw(SHAPES)
    kind = draw(st.sampled_from(["ties", "constant", "integers", "floats", "smooth"]))
    dtype: Any = draw(st.sampled_from(FLOATS))
    if kind == "ties":
        values = st.sampled_from([0.0, -0.0, 0.25, 0.5, 1.0, -1.0, 3.0])
        return draw(hnp.arrays(dtype, shape, elements=values))
    if kind == "constant":
        return np.full(shape, draw(st.sampled_from([0.0, -2.0, 0.1, 7.0])), dtype)
    if kind == "integers":
        kinds = st.sampled_from([np.int8, np.uint8, np.int16, np.int64, np.bool_])
        return draw(hnp.arrays(draw(kinds), shape))
    if kind == "smooth" or tame:
        seed = draw(st.integers(0, 2**16))
        noise = np.random.default_rng(seed).uniform(-0.2, 1, shape)
        return noise.astype(dtype)
    wild = st.floats(width=8 * dtype.itemsize, allow_nan=False, allow_infinity=False)
    return draw(hnp.arrays(dtype, shape, elements=wild))


@st.composite
def scenes(draw: st.DrawFn, *, tame: bool = False) -> tuple[Any, Any]:
    """A map with a mask: empty, full, one pixel, or anything."""
    attention = draw(maps(tame=tame))
    kind = draw(st.sampled_from(["any", "any", "empty", "full", "pixel"]))
    mask = np.full(attention.shape, kind == "full")
    if kind == "any":
        mask = draw(hnp.arrays(bool, attention.shape))
    elif kind == "pixel":
        place = draw(st.integers(0, mask.size - 1))
        mask.flat[place] = True
    return attention, mask


# What a map may hold that a picture never does.
WILD = [0.0, -0.0, 1.0, 1e300, -1e300, 5e-324, 2.2e-308, 1e-45, np.nan, np.inf, -np.inf]
KINDS = ["?", "i1", "u1", ">i2", "i8", "u8", "f2", "f4", ">f4", "f8", ">f8", "g"]


@st.composite
def batches(draw: st.DrawFn) -> tuple[Any, Any]:
    """Maps of any real type, some not finite, and a mask: one pixel, one row, or a small square."""
    shape = draw(SHAPES)
    kind = np.dtype(draw(st.sampled_from(KINDS)))
    count = draw(st.integers(1, 4))
    if kind.kind == "f":
        with np.errstate(all="ignore"):  # in few bits the largest is infinite, the smallest 0
            values = np.array(WILD).astype(kind)
        chosen = draw(hnp.arrays(np.intp, (count, *shape), elements=st.integers(0, len(WILD) - 1)))
        tame = draw(st.lists(st.booleans(), min_size=count, max_size=count))
        chosen[tame] %= 3
        attention = values[chosen]
    else:
        attention = draw(hnp.arrays(kind, (count, *shape)))
    return attention, draw(hnp.arrays(np.bool_, shape))
