"""The peak of a process is its own."""

import subprocess
import sys

from lexmill.store.memory import peak_rss

MB = 1 << 20


def test_a_child_does_not_begin_with_the_peak_of_its_parent() -> None:
    held = bytearray(300 * MB)
    held[::4096] = b"1" * len(range(0, len(held), 4096))
    child = [sys.executable, "-c", "from lexmill.store.memory import peak_rss; print(peak_rss())"]
    told = int(subprocess.run(child, check=True, capture_output=True, text=True).stdout)
    assert peak_rss() > 300 * MB
    assert MB < told < 150 * MB
