"""An order in which alike things are neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["leaf_order"]


def leaf_order(alike: NDArray[np.float64], /) -> NDArray[np.intp]:
    """Return an order of the lines of a matrix of correlations in which alike ones are neighbours.

    Lines are clustered: average linkage on 1 − correlation; branches are turned so that the
    distances of neighbours add up to the least. What is undefined (NaN) counts as no correlation.

    References
    ----------
    Bar-Joseph, Gifford & Jaakkola (2001), Fast optimal leaf ordering for hierarchical clustering.

    Examples
    --------
    >>> leaf_order(np.array([[1, 0.1, 0.8], [0.1, 1, 0.2], [0.8, 0.2, 1]])).tolist()
    [1, 2, 0]
    """
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    if len(alike) < 3:
        return np.arange(len(alike))
    apart = np.clip(1 - np.nan_to_num((alike + alike.T) / 2), 0, None)
    np.fill_diagonal(apart, 0)
    tree = linkage(squareform(apart, checks=False), "average", optimal_ordering=True)
    return np.asarray(leaves_list(tree), np.intp)
