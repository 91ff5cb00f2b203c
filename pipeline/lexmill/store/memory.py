"""How much memory this process took at most."""

import re
import resource
from pathlib import Path

_STATUS = Path("/proc/self/status")


def peak_rss() -> int:
    """The most bytes that this process had resident.

    Not getrusage's figure where Linux tells better: that one lives on over exec (exec_mmap in the kernel's fs/exec.c), so a small
    worker that a large driver starts would seem as large as the driver.
    """
    try:
        found = re.search(r"^VmHWM:\s*(\d+) kB$", _STATUS.read_text("ascii"), re.MULTILINE)
    except OSError:
        found = None
    return (int(found[1]) if found else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) * 1024
