"""What of one raw file may be unpacked and kept: every limit is a key of the run file, and its rule names the key."""

from dataclasses import dataclass
from typing import Self

from lexmill.config import Ingest
from lexmill.errors import DocumentError

MB = 1 << 20
# Below this no ratio is a danger: a page of blanks packs a thousand times.
_HARMLESS = 16 * MB


@dataclass(frozen=True)
class Limits:
    """Sizes in bytes (``file``: what is read whole; ``record``: one document; ``unpacked``: all of one raw file), and counts.

    ``seconds`` is for one document in a parser or converter that is a process of its own.
    """

    file: int
    record: int
    unpacked: int
    ratio: float
    depth: int
    members: int
    pages: int
    seconds: int

    @classmethod
    def of(cls, ingest: Ingest) -> Self:
        """The limits of a run file."""
        return cls(
            file=int(ingest.max_file_mb * MB),
            record=int(ingest.max_record_mb * MB),
            unpacked=int(ingest.max_unpacked_mb * MB),
            ratio=ingest.max_ratio,
            depth=ingest.max_depth,
            members=ingest.max_members,
            pages=ingest.max_pages,
            seconds=ingest.max_seconds,
        )


class Allowance:
    """Counts what is unpacked from ``packed`` bytes and refuses what is beyond a limit, also that of the archive it lies in.

    ``most`` is how many bytes may come of them by their ratio.
    """

    def __init__(self, packed: int, total: int, rule: str, limits: Limits, outer: "Allowance | None" = None) -> None:
        self.most = max(_HARMLESS, int(packed * limits.ratio))
        self._total = total
        self._rule = rule
        self._outer = outer
        self._used = 0

    @classmethod
    def whole(cls, packed: int, limits: Limits, outer: "Allowance | None" = None) -> "Allowance":
        """For what is read in one go: up to ``max_file_mb``."""
        return cls(packed, limits.file, "ingest.max_file_mb", limits, outer)

    @classmethod
    def split(cls, packed: int, limits: Limits) -> "Allowance":
        """For what several tasks read a part of each: up to ``max_unpacked_mb``."""
        return cls(packed, limits.unpacked, "ingest.max_unpacked_mb", limits)

    def take(self, number: int) -> None:
        """Count ``number`` bytes more; raises DocumentError ``ingest.max_ratio``, or the rule of the total."""
        self._used += number
        if self._used > self.most:
            raise DocumentError("ingest.max_ratio")
        if self._used > self._total:
            raise DocumentError(self._rule)
        if self._outer is not None:
            self._outer.take(number)
