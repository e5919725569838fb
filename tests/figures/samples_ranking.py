"""Made-up scores of many metrics to rank."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from sightline.figures import ranking
from tests.figures.samples_comparing import GROUPS, line_name, with_choices

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.figure import Figure

METRICS = (
    "coverage", "average_precision", "iou@90", "auc_roc", "pointing", "relevance_rank",
    "iou_corrected@matched", "kl", "cc", "top_k_pointing",
)  # fmt: skip


def many(count: int, metrics: tuple[str, ...] = METRICS) -> pd.DataFrame:
    """Scores of lines by metrics, with a tie; of more than 4 lines, one has an undefined score."""
    rng = np.random.default_rng(4)
    rows = []
    for i in range(count):
        skill = rng.random()
        for metric in metrics:
            value = round(0.1 + 0.6 * skill * rng.uniform(0.7, 1), 3)
            undefined = i == 4 and metric == "coverage"
            rows.append(
                {
                    "name": line_name(i),
                    "group": GROUPS[i % 4],
                    "metric": metric,
                    "value": np.nan if undefined else 3 - value if metric == "kl" else value,
                    "chance": {"kl": np.nan, "cc": 0.0, "auc_roc": 0.5}.get(metric, 0.1),
                    "n": 120,
                }
            )
    table = pd.DataFrame(rows)
    if count > 1:
        of = table["metric"] == metrics[0]
        table.loc[of & (table["name"] == line_name(1)), "value"] = table.loc[of, "value"].iloc[0]
    return table


SAMPLES: dict[str, Callable[[int], Figure]] = {
    "ranking": lambda count: ranking.create_methods_ranking_heatmap(with_choices(many(count))),
    "radar": lambda count: ranking.create_metrics_radar_chart(with_choices(many(count))),
}
