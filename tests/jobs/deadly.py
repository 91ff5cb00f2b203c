"""Tasks that some documents end; apart, so that a process which runs them imports little."""

import ctypes
import os
import signal
import time
from pathlib import Path
from typing import Any

import pyarrow as pa

from lexmill.core.batch import Batch
from lexmill.jobs.loaded import loaded
from lexmill.schema import DOCUMENT_RAW, LEDGER
from lexmill.store.stages import Receipt, StageFolder, Target, count_documents


def documents(*texts: str) -> pa.Table:
    rows = [
        {"doc_id": f"{number:032x}", "source": "q", "doc_type": "qa", "title": "", "text": text, "segments": []}
        for number, text in enumerate(texts)
    ]
    return pa.Table.from_pylist(rows, schema=DOCUMENT_RAW)


def given(folder: Path, *texts: str) -> tuple[StageFolder, dict[str, Any]]:
    """A finished part of a stage with these documents."""
    source, table = StageFolder(folder / "before"), documents(*texts)
    return source, Target(source, 0, "k").write(Batch(table, LEDGER.empty_table(), {}), count_documents(table)).entry()


def kill_for(text: str) -> None:
    if "kill" in text:
        os.kill(os.getpid(), signal.SIGKILL)
    if "crash" in text:
        ctypes.string_at(1)
    if "hang" in text:
        time.sleep(1000)
    if "swell" in text:
        held = []
        while True:
            held.append(b"x" * (64 << 20))
            time.sleep(0.01)


def work(target: Target, source: StageFolder, entry: dict[str, Any]) -> Receipt:
    table = source.read(entry, DOCUMENT_RAW)
    for text in table["text"].to_pylist():
        kill_for(text)
    return target.write(Batch(table, LEDGER.empty_table(), {}), count_documents(table))


@loaded(1)
def model() -> str:
    time.sleep(4)
    return "loaded"


def load_first(target: Target, source: StageFolder, entry: dict[str, Any]) -> Receipt:
    model()
    return work(target, source, entry)


def pass_on(target: Target, source: StageFolder, entry: dict[str, Any]) -> Receipt:
    for text in source.read(entry, DOCUMENT_RAW)["text"].to_pylist():
        kill_for(text)
    return target.forward(source)


def together(target: Target, source: StageFolder, entry: dict[str, Any]) -> Receipt:
    if entry["rows"] > 4:
        os.kill(os.getpid(), signal.SIGKILL)
    return work(target, source, entry)
