#!/usr/bin/env python3
"""Nights of new, repeated, changed and withdrawn files, with kills, a full disk and a stale lock, against one run over the rest.

    .venv/bin/python scripts/nightly/simulate.py --nights 60

The documents of the last release and the digests of their tokens must be those of one run over the surviving documents in the
order in which they arrived (``[dedup] prefer = "first"``), every release must prove itself, and data must stay bounded by the
retention. Prints a table, a row a night, with MB (10^6 bytes) on disk; exits 1 where anything differs. Nights run on one worker
inside this process; a night that is killed is the command in a process of its own.
"""

import argparse
import datetime
import hashlib
import json
import logging
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import StringIO
from pathlib import Path

import distributed
import numpy as np
import pyarrow.parquet as pq
import structlog
from rich.console import Console

from lexmill import config as configuration
from lexmill.config import Cluster
from lexmill.core.tokens.ids import low63
from lexmill.errors import NothingNew, StoppedError
from lexmill.jobs import nightly, run
from lexmill.jobs.ingest import doc_id
from lexmill.report.verify import verify
from lexmill.store import files
from lexmill.store.releases import Releases, read_manifest

WORDS = "合同履行违约赔偿解除期限交付标的时效证据管辖判决担保抵押保证当事人义务责任损失通知价款诉讼举证法院执行"

RUN_FILE = """
version = 1
workspace = "{workspace}"
[dedup]
prefer = "first"
[filter]
enabled = false
[tokenize]
dp_width = 1
seq_lens = [256]
[cluster]
workers = 1
[nightly]
max_missing = 1.0
keep_releases = 2
keep_nights = 2
[[source]]
name = "q"
doc_type = "qa"
paths = ["{paths}"]
[source.card]
origin = "open"
licence = "invented"
collected = 2026-01-02
legal_basis = "invented"
foreign = false
"""


def article(seed: int) -> str:
    """A text of about 600 characters that shares few 5-grams with any other."""
    chance = random.Random(seed)
    return "。".join("".join(chance.choice(WORDS) for _ in range(20)) for _ in range(25))


def edited(text: str, seed: int) -> str:
    """The text with three characters changed: a near copy."""
    chance = random.Random(seed)
    letters = list(text)
    for at in chance.sample(range(len(letters)), 3):
        letters[at] = "某"
    return "".join(letters)


class World:
    """The raw files, and what arrived when: (night, file, record) and its text."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.chance = random.Random(seed)
        self.files: dict[str, dict[str, str]] = {}
        self.arrivals: dict[tuple[str, str], tuple[int, str, int]] = {}
        self.seeds = iter(range(10_000_000))
        self.events: list[str] = []

    def write(self, name: str) -> None:
        lines = (json.dumps({"id": record, "text": text}, ensure_ascii=False) + "\n" for record, text in self.files[name].items())
        (self.folder / name).write_text("".join(lines), encoding="utf-8")
        # The clock of a file system may be coarse, and a night here takes a second.
        stamp = time.time_ns() + next(self.seeds)
        os.utime(self.folder / name, ns=(stamp, stamp))

    def arrive(self, night: int, name: str, record: str, text: str) -> None:
        self.files.setdefault(name, {})[record] = text
        self.arrivals[name, record] = (night, name, list(self.files[name]).index(record))

    def some_text(self) -> str:
        """A new text, or an exact or near copy of one that is there."""
        kind = self.chance.random()
        held = [text for records in self.files.values() for text in records.values()]
        if not held or kind < 0.6:
            return article(next(self.seeds))
        text = self.chance.choice(held)
        return text if kind < 0.8 else edited(text, next(self.seeds))

    def night(self, number: int) -> None:
        """What happens to the raw files before this night."""
        self.events = []
        if self.chance.random() < 0.9 or number == 0:
            name = f"n{number:03d}.jsonl"
            for at in range(self.chance.randint(2, 6)):
                self.arrive(number, name, str(at), self.some_text())
            self.write(name)
            self.events.append("new")
        old = sorted(name for name in self.files if not name.startswith(f"n{number:03d}"))
        if old and self.chance.random() < 0.35:
            name = self.chance.choice(old)
            record = self.chance.choice(sorted(self.files[name]))
            if self.chance.random() < 0.5 and len(self.files[name]) > 1:
                del self.files[name][record], self.arrivals[name, record]
                self.events.append("record withdrawn")
            else:
                self.arrive(number, name, record, article(next(self.seeds)))
                self.events.append("corrected")
            self.write(name)
        elif old and len(old) > 3 and self.chance.random() < 0.25:
            name = self.chance.choice(old)
            for gone in self.files.pop(name):
                del self.arrivals[name, gone]
            (self.folder / name).unlink()
            self.events.append("file withdrawn")
        if old and self.chance.random() < 0.2:
            name = self.chance.choice(sorted(self.files))
            os.utime(self.folder / name, ns=(time.time_ns() + next(self.seeds),) * 2)
            self.events.append("touched")

    def in_order(self) -> list[tuple[str, str]]:
        """Documents by arrival: night, path, place in the file."""
        return sorted(self.arrivals, key=lambda one: self.arrivals[one])


def tokens_of(folder: Path) -> dict[int, str]:
    """Digest of the tokens of every document of a release, by short id."""
    pieces: dict[int, list[tuple[int, bytes]]] = {}
    for shard in read_manifest(folder)["shards"]:
        for row in pq.read_table(folder / shard["path"]).to_pylist():
            at = 0
            columns = ("doc_ids", "doc_lens", "head_lens", "doc_starts")
            for short, size, head, start in zip(*(row[name] for name in columns), strict=True):
                pieces.setdefault(short, []).append(
                    (start, np.array(row["input_ids"][at + head : at + size], np.int32).tobytes())
                )
                at += size
    return {
        short: hashlib.blake2b(b"".join(data for _, data in sorted(found)), digest_size=16).hexdigest()
        for short, found in pieces.items()
    }


def disk_use(workspace: Path) -> tuple[int, int, int]:
    """Bytes of data (texts and shards, which the retention bounds), of the index of what was kept, and of records, which stay."""
    data = index = 0
    sizes = files.sizes(workspace)
    for folder, size in sizes.items():
        parts = Path(folder).parts
        if parts and parts[0] == "index":
            index += size
        elif "ledger" not in parts and (
            (parts[:1] == ("releases",) and {"tokens", "text"} & set(parts)) or (parts[:1] == ("runs",) and len(parts) > 2)
        ):
            data += size
    return data, index, sum(sizes.values()) - data - index


@contextmanager
def _one_worker() -> Iterator[None]:
    """Let every run of this process use one worker in it."""
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0") as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):

        @contextmanager
        def opened(_cluster: Cluster, _scratch: Path, _preload: Mapping[str, str]) -> Iterator[distributed.Client]:
            yield client

        vars(run)["open_client"] = opened
        yield


def killed_night(config: Path, after: float) -> bool:
    """Start the command, kill all of it after some seconds of work; whether it was still running."""
    command = [sys.executable, "-m", "lexmill.cli", "nightly", str(config)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        assert process.stderr is not None
        for line in process.stderr:  # begin to count when the first stage has begun
            if "stage started" in line:
                break
        process.wait(timeout=after)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return True
    return False


def full_disk_night(config: configuration.Config, day: datetime.date) -> bool:
    """A night whose disk is full when it writes its shards; whether it stopped as it should."""
    before = files.write_json
    left = [12]

    def write_json(path: Path, value: object, mode: int = 0o600) -> str:
        left[0] -= 1
        if left[0] < 0 and "tokenize" in str(path):
            raise files.stopping(OSError(28, "No space left on device")) or RuntimeError
        return before(path, value, mode)

    files.write_json = write_json
    try:
        nightly.nightly(config, Console(file=StringIO()), day)
    except StoppedError:
        return True
    except NothingNew:
        return False
    finally:
        files.write_json = before
    return False


def main() -> int:
    """Simulate, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nights", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no night after so long, and compare")
    arguments = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    with tempfile.TemporaryDirectory() as name, _one_worker():
        return simulate(Path(name), arguments.nights, arguments.seed, arguments.kills, arguments.minutes)


def simulate(folder: Path, nights: int, seed: int, kills: int, minutes: float) -> int:
    """Nights, then the comparison; returns the exit code."""
    until = time.monotonic() + minutes * 60
    raw, workspace = folder / "raw", folder / "workspace"
    raw.mkdir()
    (folder / "nights.toml").write_text(RUN_FILE.format(workspace="workspace", paths="raw/*.jsonl"))
    config = configuration.load(folder / "nights.toml")
    world, faults = World(raw, seed), 0
    chance = random.Random(seed)
    troubles = chance.sample(range(2, nights), min(kills + 2, nights - 2))
    kinds = dict(zip(troubles, ["full disk", "stale lock", *["kill"] * kills], strict=False))
    first = datetime.date(2026, 1, 1)
    releases = Releases(workspace / "releases")
    print(f"{'night':>5} {'documents':>9} {'tokens':>9} {'sets':>4} {'data':>6} {'index':>6} {'records':>7} {'s':>5}  events")
    for number in range(nights):
        if time.monotonic() > until:
            print(f"stopped after {number} nights: the time is over")
            break
        world.night(number)
        day, started = first + datetime.timedelta(number), time.monotonic()
        events = list(world.events)
        trouble = kinds.get(number)
        if trouble == "kill":
            events.append("killed" if killed_night(folder / "nights.toml", chance.uniform(0.2, 8.0)) else "kill came too late")
        elif trouble == "full disk":
            events.append("full disk" if full_disk_night(config, day) else "disk was not needed")
        elif trouble == "stale lock":
            dead = subprocess.Popen([sys.executable, "-c", ""])
            dead.wait()
            owner = {
                "host": os.uname().nodename,
                "namespace": str(Path("/proc/self/ns/pid").readlink()),
                "pid": dead.pid,
                "started": 1.0,
            }
            (workspace / "lock.json").write_text(json.dumps(owner))
            events.append("stale lock")
        try:
            nightly.nightly(config, Console(file=StringIO()), day)
        except NothingNew:
            events.append("nothing new")
        latest = releases.latest()
        if latest is None:
            raise SystemExit("no release")
        body = read_manifest(latest)
        wrong = verify(latest)
        faults += len(wrong)
        data, index, records = (size / 1e6 for size in disk_use(workspace))
        print(
            f"{number:>5} {body['documents']:>9,} {sum(body['tokens'].values()):>9,} {len(body['sets']):>4} {data:>6.2f} "
            f"{index:>6.2f} {records:>7.2f} "
            f"{time.monotonic() - started:>5.1f}  {', '.join([*events, *wrong])}",
            flush=True,
        )
    return 1 if faults + compare(folder, world, releases) else 0


def compare(folder: Path, world: World, releases: Releases) -> int:
    """Faults of the last release against one run over the surviving documents in order of arrival."""
    (folder / "one").mkdir()
    order = world.in_order()
    lines = (
        json.dumps({"id": f"{name}:{record}", "text": world.files[name][record]}, ensure_ascii=False) + "\n"
        for name, record in order
    )
    (folder / "one" / "all.jsonl").write_text("".join(lines), encoding="utf-8")
    (folder / "one.toml").write_text(RUN_FILE.format(workspace="workspace-of-one", paths="one/*.jsonl"))
    one = configuration.load(folder / "one.toml")
    run.run(one, "release", Console(file=StringIO()))
    latest, whole = releases.latest(), Releases(folder / "workspace-of-one" / "releases").latest()
    assert latest is not None
    assert whole is not None
    by_nights, by_one = tokens_of(latest), tokens_of(whole)
    nightly_set, one_set = (
        {(*key, tokens) for key, identity in zip(order, ids, strict=True) if (tokens := found.get(low63(identity)))}
        for found, ids in (
            (by_nights, [doc_id("q", name, "", record, "") for name, record in order]),
            (by_one, [doc_id("q", "all.jsonl", "", f"{name}:{record}", "") for name, record in order]),
        )
    )
    strange = len(by_nights) - len(nightly_set)
    print(
        f"{len(order):,} documents survive; nights keep {len(nightly_set):,}, one run {len(one_set):,}; only in nights "
        f"{len(nightly_set - one_set)}, only in one run {len(one_set - nightly_set)}, withdrawn but there {strange}"
    )
    return len(nightly_set ^ one_set) + strange


if __name__ == "__main__":
    sys.exit(main())
