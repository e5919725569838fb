"""Made-up benchmarks of prototypes, drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from sightline.figures import (
    PrototypeCard,
    draw_drop_heatmap,
    draw_max_drop_distribution,
    draw_prototype_cards,
    draw_relevance_distributions,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.figure import Figure

KINDS = ("brightness", "contrast", "saturation", "$hue_1$ & <b>", "blur", "distortion", "grey",
         "dark and blurred", "all of it")  # fmt: skip


def relevance_sample(count: int) -> Figure:
    rng = np.random.default_rng(count)
    size = 4 * count
    table = pd.DataFrame(
        {
            "kind": ["prototype"] * count + ["patch"] * (size - count),
            "image": [f"image {i % (2 * count)}" for i in range(size)],
            "energy_relevance": rng.uniform(0.2, 0.9, size),
            "mask_relevance": rng.uniform(0.3, 1, size),
            "chance": rng.uniform(0.1, 0.3, size),
        }
    )
    table.loc[0, ["energy_relevance", "mask_relevance", "chance"]] = np.nan
    return draw_relevance_distributions(table)


def heatmap_sample(count: int) -> Figure:
    rng = np.random.default_rng(count)
    rows = [(i, kind) for i in range(2 * count) for kind in KINDS[: 2 + count // 3]]
    table = pd.DataFrame(rows, columns=["prototype", "perturbation"])
    table["focused"], table["difference"] = rng.uniform(-0.4, 1, (2, len(rows)))
    decided = [None if gap < -0.2 else bool(gap > 0.5) for gap in table["difference"]]
    table = table.assign(matters=pd.Series(decided, dtype=object), images=12)
    table.loc[:1, ["focused", "difference"]] = np.nan
    names = {i: f"_class_ {i} of $a$" for i in range(count)}
    return draw_drop_heatmap(table, names=names)


def largest_sample(count: int) -> Figure:
    rng = np.random.default_rng(count)
    kinds = KINDS[: 2 + count // 2]
    size = 6 * count
    table = {
        "img_id": np.repeat(np.arange(size), len(kinds)),
        "proto_idx": np.zeros(size * len(kinds), int),
        "perturbation": list(kinds) * size,
        "original_score": rng.uniform(-0.1, 1, size * len(kinds)),
        "focused": rng.uniform(0, 1, size * len(kinds)),
    }
    return draw_max_drop_distribution(table)


def cards_sample(count: int) -> Figure:
    rng = np.random.default_rng(count)
    notes = ("weight 1.20", "similarity 9.21", "relevance 66% (chance 26%)", "nature: $hue$, blur")
    cards = [
        PrototypeCard(i, rng.integers(0, 255, (48, 48, 3)).astype(np.uint8), (6, 6, 12, 12),
                      f"class_{i} & <b>", notes)
        for i in range(count)
    ]  # fmt: skip
    return draw_prototype_cards(cards, head="Prototypes of $a_1$ <b>")


SAMPLES: dict[str, Callable[[int], Figure]] = {
    "relevance": relevance_sample,
    "drop-heatmap": heatmap_sample,
    "max-drops": largest_sample,
    "prototype-cards": cards_sample,
}
