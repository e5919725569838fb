"""Rows times weights by the kernels for a GPU, run by Triton's interpreter on tensors here.

Triton weighs a gigabyte and is not among the packages of the tests; where it is installed, they
run.
"""

from __future__ import annotations

import os
from importlib.util import find_spec

import pytest

if find_spec("triton") is None:
    pytest.skip("Triton is not installed", allow_module_level=True)
os.environ["TRITON_INTERPRET"] = "1"  # before it is imported
torch = pytest.importorskip("torch")

CASES = {
    "one row": (2, 2, 20, 16, 1),
    "tokens that fill their block": (1, 2, 32, 8, 3),
    "one token more": (1, 1, 33, 24, 2),
    "many rows": (1, 1, 17, 8, 17),
    "few tokens": (1, 1, 3, 8, 1),
    "more keys than one program holds": (1, 1, 530, 8, 2),
}


@pytest.mark.parametrize("case", CASES)
def test_as_in_plain_torch(case: str) -> None:
    from sightline.maps._weighing import weigh

    batch, heads, tokens, channels, number = CASES[case]
    draw = torch.Generator().manual_seed(0)
    shape = batch, tokens, heads, channels  # as networks lay them out
    query, key = (2 * torch.randn(shape, generator=draw).transpose(1, 2) for _ in "qk")
    rows = torch.rand(batch, number, tokens, generator=draw)
    scores = query.double() @ key.double().transpose(2, 3) * 0.3
    wanted = rows[:, None].double() @ torch.softmax(scores, -1)
    seen = weigh(query, key, 0.3, rows)
    assert seen.shape == wanted.shape
    assert seen.dtype == torch.float32
    assert float((seen - wanted).abs().max()) < 1e-5


def test_fewer_queries_than_keys() -> None:
    from sightline.maps._weighing import weigh

    draw = torch.Generator().manual_seed(0)
    query, key = (torch.randn(1, 2, n, 8, generator=draw) for n in (1, 20))
    weights = torch.softmax(query.double() @ key.double().transpose(2, 3) * 0.3, -1)
    seen = weigh(query, key, 0.3, torch.ones(1, 1, 1))
    assert float((seen - weights).abs().max()) < 1e-6
