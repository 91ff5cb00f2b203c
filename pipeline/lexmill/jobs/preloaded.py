"""What workers on this machine are forked from (``cluster`` names it): what tasks need is imported and loaded once for all."""

import gc
import tempfile
from contextlib import suppress

import numpy as np
import pyarrow as pa

import lexmill.jobs.run  # noqa: F401
from lexmill.core.dedup.compare import comparison_copy
from lexmill.errors import LexmillError
from lexmill.jobs.loaded import give_back
from lexmill.jobs.resources import preloaded_tokenizer, tokenizer_for

comparison_copy("。")  # numba looks for a second what it has when it is first called, and pyarrow imports pandas
# Whatever is wrong with it comes up again, and is told, in the task that needs it.
with suppress(LexmillError, OSError, ValueError, TypeError):
    if key := preloaded_tokenizer():
        tokenizer_for(key).encode_proved(pa.array(["一二。三"]), np.zeros(1, np.int64))
tempfile.tempdir = None  # each worker is told of its own
# What stands now stays: no collection need look at it again, nor a worker get its own copy of a page because of one.
give_back()
gc.freeze()
