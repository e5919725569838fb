"""Whether labels bias the scores: gold minus sparse or completed, paired on the gold images."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sightline.results._missing_label_inputs import names
from sightline.stats.corrections import holm

if TYPE_CHECKING:
    import pandas as pd

    from sightline.results._missing_label_inputs import Material

__all__ = ["build_bias_table"]

_COLUMNS = ("difference", "low", "high", "p", "p_holm", "detectable", "n", "undefined", "reason")


def build_bias_table(material: Material) -> pd.DataFrame:
    """Return by configuration and set of labels how far the gold scores are from the others."""
    import pandas as pd

    shown = material.shown
    rows = [
        {**names(one.line), "labels": labels, **bias}
        for labels in ("sparse", "completed")
        for one in shown
        if (bias := material.sets[one.called].compute_bias(labels, len(shown))) is not None
    ]
    if not rows:
        columns = (*names(shown[0].line), "labels", *_COLUMNS)
        return pd.DataFrame({name: [] for name in columns})
    frame = pd.DataFrame(rows)
    corrected = frame.groupby("labels", sort=False)["p"].transform(
        lambda p: holm(p.to_numpy(np.float64))
    )
    frame.insert(list(frame).index("p") + 1, "p_holm", corrected)
    return frame
