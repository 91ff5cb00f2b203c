"""What the steps of stage dedup share: the run, and how a step is submitted and read."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa

from lexmill.jobs.isolate import Refused, Split
from lexmill.jobs.job import Job
from lexmill.jobs.parts import PartTask
from lexmill.store import files
from lexmill.store.fingerprint import code_digest, digest
from lexmill.store.index import NO_VIEW, Index, View
from lexmill.store.stages import StageFolder

# What a receipt's extra calls the rows that were left out because they end the process.
REFUSED = "refused"

# Parts of earlier runs that one task reads.
_PAST_PARTS_A_TASK = 64


@dataclass(frozen=True)
class Run:
    """What all steps share: the job, the stage's fingerprint, and the ingest parts with the ordinal each begins at."""

    job: Job
    fingerprint: str
    ingest: StageFolder
    entries: list[dict[str, Any]]
    firsts: list[int]
    view: View

    def step(self, name: str) -> StageFolder:
        """The folder of a step."""
        return self.job.workspace.work(f"dedup.{name}")

    def past_parts(self) -> list[View]:
        """The view of earlier runs, cut into views of as many parts as one task reads."""
        parts = self.view.parts
        return [replace(self.view, parts=parts[at : at + _PAST_PARTS_A_TASK]) for at in range(0, len(parts), _PAST_PARTS_A_TASK)]

    def go(
        self, name: str, function: Any, tasks: list[tuple[tuple[Any, ...], Any, int]], split: Split | None = None
    ) -> dict[str, Any]:
        """Run a step; each task is (arguments, what it depends on, input bytes), and cut by ``split`` where it dies."""
        parts = [
            PartTask(number, digest(self.fingerprint, name, needs), arguments, weight, split=split)
            for number, (arguments, needs, weight) in enumerate(tasks)
        ]
        return self.job.runner.run_stage(f"dedup.{name}", self.step(name), function, parts, self.fingerprint)


def open_run(job: Job, ingested: Mapping[str, Any]) -> Run:
    """What all steps share, of a run whose stage ingest has the manifest ``ingested``."""
    settings = job.config.dedup
    fingerprint = digest(
        "dedup",
        code_digest("lexmill.jobs.dedup"),
        job.rules.digests["dedup"],
        settings.model_dump(),
        [source.name for source in job.config.source],
    )
    entries = list(ingested["parts"])
    rows = [int(entry["rows"]) for entry in entries]
    firsts = [0, *accumulate(rows)]
    index = Index(job.workspace.index)
    view = index.view(job.workspace.run) if settings.history else NO_VIEW
    return Run(job, fingerprint, job.workspace.stage("ingest"), entries, firsts, view)


def blanked(table: pa.Table, refused: Refused) -> pa.Table:
    """A part in which the refused rows say nothing but their ids, so that nothing is like them: rows keep their numbers."""
    if not refused:
        return table
    rows = table.select(["doc_id", "doc_type"]).take(pa.array([row for row, _ in refused], pa.int64())).to_pylist()
    blank: dict[str, Any] = {name: value for name, value in (("meta", {}), ("segments", [])) if name in table.schema.names}
    blanks = pa.Table.from_pylist([{**row, **blank, "text": row["doc_id"]} for row in rows], schema=table.schema)
    order = np.arange(table.num_rows)
    order[[row for row, _ in refused]] = table.num_rows + np.arange(len(refused))
    return pa.concat_tables([table, blanks]).take(pa.array(order))


def without_them(refused: Refused) -> dict[str, Any] | None:
    """What a receipt says of the rows that were refused."""
    return {REFUSED: [list(one) for one in refused]} if refused else None


def between(folder: StageFolder, low: int, high: int) -> pa.Table:
    """The rows of a one-part step, sorted by ordinal, whose ordinal lies in [low, high)."""
    return files.read_columns(folder.parts()[0], filters=[("ordinal", ">=", low), ("ordinal", "<", high)])
