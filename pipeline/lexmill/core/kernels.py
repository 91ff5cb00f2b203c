"""numba without what it loads for users of other things: ``njit`` and what belongs to it, for all compiled code of lexmill.

The first compiled function of a process makes numba import scipy's linear algebra, to see whether it is there, and whatever
packages announce themselves to it (awkward, which a tokeniser brings): 45 MB and half a second in every worker.
"""

import numba.core.entrypoints
import numba.np.linalg
from llvmlite import ir
from numba import int8, int32, njit, types, uint8, uint32, uint64
from numba.core import cgutils
from numba.extending import intrinsic

__all__ = ["cgutils", "int8", "int32", "intrinsic", "ir", "njit", "types", "uint8", "uint32", "uint64"]

# No compiled function takes an array of awkward's; who has one calls ``awkward.numba.register()``.
numba.core.entrypoints._already_initialized = True

_ensure_blas = numba.np.linalg.ensure_blas
# A function that multiplies matrices looks for it again.
numba.np.linalg.ensure_blas = lambda: None
try:
    import numba.np.arraymath
finally:
    numba.np.linalg.ensure_blas = _ensure_blas
