"""One even set of all the sets of a release: their texts are scattered and packed anew."""

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from lexmill.config import Config
from lexmill.core.release.body import named
from lexmill.errors import ConfigError, InputError
from lexmill.jobs import release, tokenize
from lexmill.jobs.job import Job
from lexmill.jobs.release import ShardSet
from lexmill.jobs.resources import load_tokenizer
from lexmill.jobs.run import finish, open_job, usage
from lexmill.jobs.sets import sets_of
from lexmill.schema import DOCUMENT_JUDGED
from lexmill.store import files
from lexmill.store.fingerprint import digest
from lexmill.store.history import History, Nights
from lexmill.store.releases import DataFile, Releases, read_manifest
from lexmill.store.stages import Receipt, add_counts, count_documents, make_manifest


def reshuffle(config: Config, console: Console, day: datetime.date) -> dict[str, Any]:
    """Publish the release that stands as one set; returns its manifest.

    Raises InputError where there is no release, ConfigError where the run file names another tokeniser than its sets have.
    """
    started, before = datetime.datetime.now().timestamp(), usage()
    with open_job(config.model_copy(update={"run": f"reshuffle-{day.isoformat()}"}), console) as job:
        latest = Releases(job.workspace.releases).latest()
        if latest is None:
            raise InputError("there is no release yet; `lexmill run` or `lexmill nightly` makes one")
        body = read_manifest(latest)
        sets = sets_of(latest, body)
        tokenizer = load_tokenizer(config).digest
        if any(one.entry["tokenizer"]["sha256"] != tokenizer for one in sets):
            raise ConfigError(f"{config.path}: tokenize.tokenizer: is another one than the release was made with")
        filtered = _stage_of_texts(job, sets)
        tokenized = tokenize.run(job, filtered)
        shards = release.shard_entries(tokenized)
        texts = [
            {"path": f"text/{entry['name']}", **{name: entry[name] for name in ("sha256", "bytes", "rows")}}
            for entry in filtered["parts"]
        ]
        mix = release.written_mix(job, tokenized, filtered)
        tokens = {group: row["tokens"] for group, row in mix["groups"].items()}
        about = {**_merged([one.entry for one in sets]), "mix": mix, "tokens": tokens}
        set_id = digest(about, shards, texts)[:12]
        one = ShardSet(
            {"set": set_id, **about},
            [DataFile(job.workspace.stage("tokenize").part(n), entry) for n, entry in enumerate(named(set_id, shards))],
            [DataFile(job.workspace.stage("filter").part(n), entry) for n, entry in enumerate(named(set_id, texts))],
        )
        made = release.publish(job, [one], body["release"])
        history = History(job.workspace.root / "lineage")
        nights = history.nights()
        if nights.release is not None:
            history.write_nights(Nights(nights.done, made["release"], nights.under_way))
        finish(job, started, before)
        for folder in ("filter", "tokenize", "work"):
            files.remove(job.workspace.run_folder / folder)  # the release has all of it
    return made


def _stage_of_texts(job: Job, sets: Sequence[ShardSet]) -> dict[str, Any]:
    """The texts of all sets as if one run had filtered them; returns that stage's manifest."""
    folder = job.workspace.stage("filter")
    receipts = []
    for number, text in enumerate(file for one in sets for file in one.texts):
        files.copy(text.source, folder.part(number))
        entry = text.entry
        receipts.append(
            Receipt(
                number=number,
                key=entry["sha256"],
                fingerprint=entry["sha256"],
                sha256=entry["sha256"],
                size=entry["bytes"],
                rows=entry["rows"],
                ledger_sha256=None,
                ledger_size=0,
                ledger_rows=0,
                counts={"out": count_documents(files.read_table(text.source, entry["sha256"], DOCUMENT_JUDGED))},
                tallies={},
            )
        )
    return make_manifest("filter", job.runner.version, digest("reshuffle"), receipts)


def _merged(sets: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What the sets say of themselves as one: the newest one's makers, and sums over all."""
    newest = {name: value for name, value in sets[-1].items() if name != "set"}
    removed: dict[str, int] = {}
    sources: dict[str, Any] = {}
    inputs: dict[str, dict[str, Any]] = {}
    stages: dict[str, dict[str, Any]] = {}
    for one in sets:
        for why, number in one.get("removed", {}).items():
            removed[why] = removed.get(why, 0) + number
        sources |= one["sources"]
        for source, given in one["inputs"].items():
            old = inputs.get(source, {"files": 0, "docs": 0, "sha256": ""})
            inputs[source] = {
                "files": old["files"] + given["files"],
                "docs": old["docs"] + given["docs"],
                "sha256": digest(old["sha256"], given["sha256"]),
            }
        for name, stage in one["stages"].items():
            total_stage = stages.setdefault(name, {"fingerprint": "", "counts": {}, "tallies": {}})
            total_stage["fingerprint"] = digest(total_stage["fingerprint"], stage["fingerprint"])
            add_counts(total_stage["counts"], stage["counts"])
            for tally, number in stage["tallies"].items():
                total_stage["tallies"][tally] = total_stage["tallies"].get(tally, 0) + number
    return {
        **newest,
        "residual": _residual(sets),
        "removed": removed,
        "sources": sources,
        "inputs": inputs,
        "stages": stages,
    }


def _residual(sets: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """What was looked for in all sets, and how much was looked at; None where one of them was not looked through."""
    each = [one["residual"] for one in sets if one.get("residual")]
    if len(each) < len(sets):
        return None
    kinds = set.intersection(*(set(one["kinds"]) for one in each))
    return {"kinds": sorted(kinds), **{name: sum(one[name] for one in each) for name in ("shards", "documents", "found")}}
