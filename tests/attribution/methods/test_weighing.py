"""Rows times weights by the kernels for a GPU, run by Triton's interpreter on tensors here.

Triton weighs a gigabyte and is not among the packages of the tests; where it is installed, they
run.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest

from tests.interpreted import interpreted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Weigh = Callable[[Any, Any, float, Any], Any]

if find_spec("triton") is None:
    pytest.skip("Triton is not installed", allow_module_level=True)
torch = pytest.importorskip("torch")

CASES = {
    "one row": (2, 2, 20, 16, 1),
    "tokens that fill their block": (1, 2, 32, 8, 3),
    "one token more": (1, 1, 33, 24, 2),
    "many rows": (1, 1, 17, 8, 17),
    "few tokens": (1, 1, 3, 8, 1),
    "more keys than one program holds": (1, 1, 530, 8, 2),
}
# How far a value may be off, as a part of it: weights of 16 bits are kept in two parts of 8 digits.
BOUNDS = {"float32": 1e-5, "bfloat16": 5e-5, "float16": 5e-5}


@pytest.fixture(scope="module")
def weigh() -> Iterator[Weigh]:
    """The function whose kernels are interpreted."""
    with interpreted("sightline.attribution.methods._triton_attention") as module:
        yield module.weigh


def apart(seen: Any, wanted: Any) -> float:
    """The largest difference, as a part of what is wanted."""
    assert seen.shape == wanted.shape
    assert seen.dtype == torch.float32
    return float(((seen - wanted).abs() / wanted).max())


@pytest.mark.parametrize("kind", BOUNDS)
@pytest.mark.parametrize("case", CASES)
def test_as_in_plain_torch(case: str, kind: str, weigh: Weigh) -> None:
    batch, heads, tokens, channels, number = CASES[case]
    draw = torch.Generator().manual_seed(0)
    shape = batch, tokens, heads, channels  # as networks lay them out
    query, key = (
        (2 * torch.randn(shape, generator=draw)).to(getattr(torch, kind)).transpose(1, 2)
        for _ in "qk"
    )
    rows = torch.rand(batch, number, tokens, generator=draw)
    scores = query.double() @ key.double().transpose(2, 3) * 0.3
    wanted = rows[:, None].double() @ torch.softmax(scores, -1)
    assert apart(weigh(query, key, 0.3, rows), wanted) < BOUNDS[kind]


@pytest.mark.parametrize("kind", BOUNDS)
def test_fewer_queries_than_keys(kind: str, weigh: Weigh) -> None:
    draw = torch.Generator().manual_seed(0)
    query, key = (torch.randn(1, 2, n, 8, generator=draw).to(getattr(torch, kind)) for n in (1, 20))
    wanted = torch.softmax(query.double() @ key.double().transpose(2, 3) * 0.3, -1)
    assert apart(weigh(query, key, 0.3, torch.ones(1, 1, 1)), wanted) < BOUNDS[kind]
