"""Sizes of clusters and families as histograms that add up over runs."""

import numpy as np
from numpy.typing import NDArray

CLUSTERS, FAMILIES = "clusters", "families"


def sizes(name: str, members: NDArray[np.int64], outside: int) -> dict[str, int]:
    """Groups by size from the group's number of each of its ``members``; ``outside`` more of each group are not among them.

    ``<name>:<k>`` counts groups of more than 2^(k-1) and up to 2^k documents; groups of one are none.
    """
    _, counted = np.unique(members, return_counts=True)
    counted = counted + outside
    octaves = np.ceil(np.log2(counted[counted > 1])).astype(np.int64)
    found, number = np.unique(octaves, return_counts=True)
    return {f"{name}:{k:02d}": n for k, n in zip(found.tolist(), number.tolist(), strict=True)}
