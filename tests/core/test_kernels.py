"""Compiled functions run without scipy's linear algebra, and find it when they need it."""

import subprocess
import sys

SCRIPT = """
import sys
import numpy as np
from lexmill.core.kernels import njit
assert njit(lambda number: number + 1)(1) == 2
assert not {"awkward", "scipy.linalg"} & set(sys.modules), "loaded"
assert njit(lambda one: np.dot(one, one))(np.full((2, 2), 3.0)).tolist() == [[18.0, 18.0], [18.0, 18.0]]
assert "scipy.linalg" in sys.modules
"""


def test_nothing_is_loaded_that_no_kernel_uses() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
