#!/usr/bin/env python3
"""What a release's report and evidence cost: core-seconds and memory, from its manifest alone.

Every round is a process of its own: the import of the chart library, the pages once, and again. ``--sets`` makes a release of so
many copies of its sets, as after so many nights. What stages count on the way for the report is measured on the release's text.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

from lexmill.store.memory import peak_rss

ROUNDS = 5


def _used() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _peak() -> float:
    return peak_rss() / (1 << 20)


def measure(release: Path, n_sets: int) -> dict[str, float]:
    """Core-seconds, peak MB and sizes by what they are of."""
    import pyarrow.parquet as pq

    import lexmill.jobs.run  # noqa: F401 (what a run has loaded anyway)
    from lexmill import rules
    from lexmill.core.deid.people import Names
    from lexmill.core.quality.distribution import distributions
    from lexmill.core.release.body import compose

    templates = {path.name: path.read_text("utf-8") for path in (Path(rules.__file__).parent / "templates").iterdir()}
    rule_set = rules.load()
    body = json.loads((release / "manifest.json").read_text("utf-8"))
    ran = json.loads((release / "run.json").read_text("utf-8"))
    sets = body["sets"] * n_sets
    whole = {**compose(body["lexmill"], None, sets, body["shards"] * n_sets, body["text"] * n_sets), "release": body["release"]}
    before, memory = _used(), _peak()
    import pygal  # noqa: F401

    imported = _used()
    from lexmill.core.evidence import pages
    from lexmill.core.release import report

    times = []
    for _ in range(2):
        started = _used()
        proof = pages.build(whole, {}, rule_set.standards, {"manifest.json": "0" * 64}, templates, "2026-11-30")
        page = report.render(templates, report.facts(whole, "2026-11-30", body, pages.verdicts(proof[pages.CLAUSES]), ran))
        times.append(_used() - started)
    added = _peak() - memory
    size = sum(map(len, proof.values())) + len(page.encode())
    texts = [pq.read_table(path, use_threads=False) for path in sorted(release.glob("text/*.parquet"))]
    mb_of_text = sum(table["text"].nbytes for table in texts) / 1e6
    started = _used()
    for table in texts:
        distributions(table)
    counted = _used()
    names = Names()
    names.add(f"name {number}" for number in range(body["sets"][0]["stages"]["deidentify"]["tallies"].get("people.masked", 0)))
    sketched = _used()
    return {
        "import of pygal, core-s": imported - before,
        "all pages, core-s": times[0],
        "all pages again, core-s": times[1],
        "peak memory added, MB": added,
        "written, KB": size / 1e3,
        "lengths and scores, core-s": counted - started,
        "names, core-s": sketched - counted,
        "text, MB": mb_of_text,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("release", type=Path, help="the folder of a release")
    parser.add_argument("--sets", type=int, default=1, help="how many times its sets are taken")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(arguments.release, arguments.sets)))
        return
    command = [sys.executable, __file__, str(arguments.release), "--sets", str(arguments.sets), "--one"]
    rounds = [json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout) for _ in range(ROUNDS)]
    started = time.strftime("%Y-%m-%d")
    print(f"{started}: {arguments.sets} × the sets of {arguments.release.name}, least of {ROUNDS}")
    for name in rounds[0]:
        print(f"{name:>27} {min(one[name] for one in rounds):10.3f}")


if __name__ == "__main__":
    main()
