"""Progress of a stage: a bar with rate and time left on a terminal, plain lines elsewhere."""

import time

import structlog
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress

log = structlog.get_logger()

_LINE_EVERY_S = 10.0


class Progress:
    """Shows how far the running stage is: parts, MB/s of its input, time left."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar: RichProgress | None = None
        self._task: object | None = None
        self._started = self._said = 0.0
        self._total = self._done = self._weight = self._weight_done = 0

    def start(self, name: str, parts: int, weight: int) -> None:
        """A stage begins with ``parts`` tasks whose input is ``weight`` bytes."""
        self._started = self._said = time.monotonic()
        self._total, self._done, self._weight, self._weight_done = parts, 0, weight, 0
        if self._console.is_terminal:
            self._bar = RichProgress(
                TextColumn("{task.description:<20}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[rate]:>12}"),
                TimeElapsedColumn(),
                TimeRemainingColumn(),
                console=self._console,
                transient=True,
            )
            self._bar.start()
            self._task = self._bar.add_task(name, total=parts, rate="")
        else:
            log.info("stage started", stage=name, parts=parts)

    def advance(self, name: str, weight: int) -> None:
        """One part of ``weight`` bytes is done."""
        self._done += 1
        self._weight_done += weight
        elapsed = max(time.monotonic() - self._started, 1e-9)
        rate = self._weight_done / 1e6 / elapsed
        if self._bar is not None:
            self._bar.update(self._task, advance=1, rate=f"{rate:.1f} MB/s")  # type: ignore[arg-type]
        elif time.monotonic() - self._said >= _LINE_EVERY_S:
            self._said = time.monotonic()
            left = elapsed / self._done * (self._total - self._done)
            log.info(
                "progress", stage=name, done=self._done, parts=self._total, mb_per_s=round(rate, 1), seconds_left=round(left)
            )

    def stop(self, name: str) -> None:
        """The stage ended, well or not."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
        log.info(
            "stage ended", stage=name, done=self._done, parts=self._total, seconds=round(time.monotonic() - self._started, 1)
        )
