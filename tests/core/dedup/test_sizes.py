"""Groups by size: alone is no group, and bins are powers of two."""

import numpy as np

from lexmill.core.dedup.sizes import sizes


def test_known_sizes() -> None:
    copies = np.array([7, 7, 7, 9, -3, 11, 11])  # with the document that stays: four, two, two and three
    assert sizes("clusters", copies, outside=1) == {"clusters:01": 2, "clusters:02": 2}
    members = np.array([0, 0, 0, 0, 0, 5, 6, 6])
    assert sizes("families", members, outside=0) == {"families:01": 1, "families:03": 1}
    assert sizes("families", np.array([], np.int64), outside=1) == {}
