"""The tokenize job: shards by a multiple of the width, bounded files and memory, every token once, and it balances."""

import json
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lexmill.core.tokens.ids import low63
from lexmill.core.tokens.tokenizer import Tokenizer, load
from lexmill.errors import GateError
from lexmill.jobs import deidentify, filter, ingest, release, tokenize
from lexmill.jobs.job import Job
from lexmill.schema import DOCUMENT_JUDGED, TOKENS
from tests.jobs.conftest import MakeJob
from tests.jobs.test_dedup import article


def prepared(job: Job) -> dict[str, Any]:
    """Manifest of filter; dedup is passed over by a manifest of its own shape, since nothing is to go."""
    from lexmill.jobs import decontaminate, dedup

    return filter.run(job, deidentify.run(job, decontaminate.run(job, dedup.run(job, ingest.run(job)))))


def records(number: int) -> list[dict[str, Any]]:
    return [{"id": str(n), "text": article(n)[: 20 + 37 * (n % 9)] + "。"} for n in range(number)]


def pieces(job: Job, manifest: dict[str, Any]) -> dict[int, list[int]]:
    """Token ids of every document, joined from its pieces over all shards."""
    folder = job.workspace.stage("tokenize")
    found: dict[int, list[tuple[int, list[int]]]] = {}
    for entry in manifest["parts"]:
        for row in folder.read(entry, TOKENS).to_pylist():
            at = 0
            for doc, length, start in zip(row["doc_ids"], row["doc_lens"], row["doc_starts"], strict=True):
                found.setdefault(doc, []).append((start, row["input_ids"][at : at + length]))
                at += length
            assert len(row["input_ids"]) - at == row["n_pad"]
    return {doc: [token for _, ids in sorted(parts) for token in ids] for doc, parts in found.items()}


def expected(job: Job, filtered: dict[str, Any]) -> dict[int, list[int]]:
    tokenizer = load("deepseek")
    folder = job.workspace.stage("filter")
    rows = [row for entry in filtered["parts"] for row in folder.read(entry, DOCUMENT_JUDGED).to_pylist()]
    batch = tokenizer.encode_batch([row["text"] for row in rows])
    return {
        low63(row["doc_id"]): [*batch.ids[batch.offsets[n] : batch.offsets[n + 1]].tolist(), tokenizer.eos_id]
        for n, row in enumerate(rows)
    }


def test_every_token_once_in_even_shards(make_job: MakeJob) -> None:
    job = make_job("a", records(80))
    filtered = prepared(job)
    manifest = tokenize.run(job, filtered)
    assert len(manifest["parts"]) == 2
    assert pieces(job, manifest) == expected(job, filtered)
    assert sum(extra["cut"] for extra in manifest["extra"]) > 0, "some documents are longer than the window"


def test_bounds_on_files_and_memory_change_shards_but_no_document(make_job: MakeJob, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenize, "MAX_SHARD_BYTES", 9_000)
    monkeypatch.setattr(tokenize, "_BLOCK_TOKENS", 300)
    job = make_job("a", records(80))
    filtered = prepared(job)
    manifest = tokenize.run(job, filtered)
    sizes = [entry["bytes"] for entry in manifest["parts"]]
    assert len(sizes) > 2
    assert len(sizes) % 2 == 0
    assert max(sizes) <= 9_000
    assert pieces(job, manifest) == expected(job, filtered)


def test_every_piece_says_which_characters_it_stands_for(make_job: MakeJob) -> None:
    titled = [{**record, "text": f"短文第{n}篇\n{record['text']}"} for n, record in enumerate(records(60))]
    job = make_job("a", titled, "tokenize.bos=true", "tokenize.repeat_heading=30", "tokenize.seq_lens=[128, 200]")
    filtered = prepared(job)
    manifest = tokenize.run(job, filtered)
    tokenizer = load("deepseek")
    rows = [row for entry in filtered["parts"] for row in job.workspace.stage("filter").read(entry, DOCUMENT_JUDGED).to_pylist()]
    texts = {low63(row["doc_id"]): row for row in rows}
    control = {0, 1, 2}
    for entry, extra in zip(manifest["parts"], manifest["extra"], strict=True):
        names = ("doc_ids", "doc_lens", "head_lens", "char_starts", "char_ends", "sources", "doc_types")
        for row in job.workspace.stage("tokenize").read(entry, TOKENS).to_pylist():
            assert len(row["input_ids"]) == extra["seq_len"]
            at = 0
            for doc, length, head, start, end, source, doc_type in zip(*(row[name] for name in names), strict=True):
                ids = row["input_ids"][at : at + length]
                text = texts[doc]["text"]
                assert tokenizer.decode([token for token in ids[head:] if token not in control]) == text[start:end]
                assert text.startswith(tokenizer.decode(ids[:head]))
                assert (source, doc_type) == (texts[doc]["source"], texts[doc]["doc_type"])
                at += length
    assert sum(extra["headings"] for extra in manifest["extra"]) > 0
    cuts = [extra["cuts"] for extra in manifest["extra"]]
    assert sum(found["segment"] + found["sentence"] for found in cuts) > 10 * sum(found["token"] for found in cuts)


def test_shards_have_as_many_sequences_each(make_job: MakeJob) -> None:
    job = make_job("a", records(200), "tokenize.dp_width=4", "tokenize.seq_lens=[128, 256]")
    manifest = tokenize.run(job, prepared(job))
    rows = [entry["rows"] for entry in manifest["parts"]]
    assert len(set(rows[:4])) == len(set(rows[4:])) == 1
    tokens = [extra["tokens"] for extra in manifest["extra"]]
    assert max(tokens[:4]) - min(tokens[:4]) < 2 * max(len(ids) for ids in pieces(job, manifest).values())


def test_documents_are_also_written_unpacked(make_job: MakeJob) -> None:
    job = make_job("a", records(60), "tokenize.unpacked=true")
    filtered = prepared(job)
    manifest = tokenize.run(job, filtered)
    assert [extra["seq_len"] for extra in manifest["extra"]] == [128, 128, None, None]
    whole = manifest["parts"][2:]
    rows = [row for entry in whole for row in job.workspace.stage("tokenize").read(entry, TOKENS).to_pylist()]
    assert {row["doc_ids"][0]: row["input_ids"] for row in rows} == expected(job, filtered)
    assert all(len(row["doc_ids"]) == 1 and row["n_pad"] == 0 for row in rows)
    packed = dict(manifest, parts=manifest["parts"][:2])
    assert pieces(job, packed) == expected(job, filtered)


def test_a_mixture_writes_some_documents_again_and_leaves_others_out(make_job: MakeJob) -> None:
    plain, twice, half = (
        make_job(name, records(200), "tokenize.dp_width=4", *settings)
        for name, settings in (("a", ()), ("b", ('mix.epochs={"q/qa"=2.5}',)), ("c", ('mix.epochs={"*/qa"=0.5}',)))
    )
    filtered = [prepared(job) for job in (plain, twice, half)]
    manifests = [tokenize.run(job, done) for job, done in zip((plain, twice, half), filtered, strict=True)]
    copies: list[Counter[int]] = []
    for job, manifest in zip((plain, twice, half), manifests, strict=True):
        copies.append(Counter())
        for entry in manifest["parts"]:
            table = job.workspace.stage("tokenize").read(entry, TOKENS)
            seen = {
                (doc, repeat)
                for row in table.select(["doc_ids", "repeats"]).to_pylist()
                for doc, repeat in zip(row["doc_ids"], row["repeats"], strict=True)
            }
            copies[-1].update(doc for doc, _ in seen)
            assert all((doc, repeat - 1) in seen for doc, repeat in seen if repeat)
    once = set(copies[0])
    assert set(copies[0].values()) == {1}
    assert set(copies[1]) == once
    assert set(copies[1].values()) == {2, 3}
    assert sum(copies[1].values()) == pytest.approx(2.5 * len(once), rel=0.1)
    assert set(copies[2]) < once
    assert len(copies[2]) == pytest.approx(0.5 * len(once), rel=0.25)
    assert pieces(half, manifests[2]) == {doc: ids for doc, ids in pieces(plain, manifests[0]).items() if doc in copies[2]}
    ledger = half.workspace.stage("tokenize").ledgers().to_pylist()
    assert {low63(row["doc_id"]) for row in ledger} == once - set(copies[2])
    assert {(row["action"], row["rule"], row["value"]) for row in ledger} == {("drop", "mix.epochs", 0.5)}
    assert manifests[2]["counts"]["out"]["q/qa"]["docs"] == len(copies[2])
    body = release.run(half, released(half, filtered[2], manifests[2]))
    mix = json.loads(next(half.workspace.releases.glob(f"*-{body['release']}/mix.json")).read_text())
    row = mix["groups"]["q/qa"]
    assert (row["epochs"], row["docs"], row["pool_docs"]) == (0.5, len(copies[2]), len(once))
    assert row["tokens"] == body["tokens"]["q/qa"] == sum(shard["tokens"] for shard in body["shards"])


def released(job: Job, filtered: dict[str, Any], tokenized: dict[str, Any]) -> dict[str, dict[str, Any]]:
    from lexmill.jobs import decontaminate, dedup

    done = {"ingest": ingest.run(job)}
    done["dedup"] = dedup.run(job, done["ingest"])
    done["decontaminate"] = decontaminate.run(job, done["dedup"])
    done["deidentify"] = deidentify.run(job, done["decontaminate"])
    return {**done, "filter": filtered, "tokenize": tokenized}


def test_a_shard_alone_says_how_to_read_it(make_job: MakeJob) -> None:
    job = make_job("a", records(10), "tokenize.bos=true")
    tokenize.run(job, prepared(job))
    footer = json.loads(pq.read_schema(job.workspace.stage("tokenize").part(0)).metadata[b"lexmill"])
    assert footer == {"bos_id": 0, "eos_id": 1, "pad_id": 2, "seq_len": 128, "tokenizer": load("deepseek").digest}


def test_documents_are_scattered_by_hash_not_by_order(make_job: MakeJob) -> None:
    job = make_job("a", records(80), "tokenize.dp_width=4")
    manifest = tokenize.run(job, prepared(job))
    documents = [extra["documents"] for extra in manifest["extra"]]
    assert sum(documents) == manifest["counts"]["out"]["q/qa"]["docs"]
    assert min(documents) >= 8


def test_a_seed_changes_the_order_only(make_job: MakeJob) -> None:
    first, second = make_job("a", records(40)), make_job("b", records(40), "tokenize.seed=7")
    one, two = tokenize.run(first, prepared(first)), tokenize.run(second, prepared(second))
    assert pieces(first, one) == pieces(second, two)
    assert [entry["sha256"] for entry in one["parts"]] != [entry["sha256"] for entry in two["parts"]]


def test_the_bytes_do_not_depend_on_who_encodes(make_job: MakeJob, monkeypatch: pytest.MonkeyPatch) -> None:
    fast, reference = make_job("a", records(40)), make_job("b", records(40), "tokenize.backend=reference")
    wanted = [entry["sha256"] for entry in tokenize.run(reference, prepared(reference))["parts"]]
    assert [entry["sha256"] for entry in tokenize.run(fast, prepared(fast))["parts"]] == wanted
    assert scattered(fast)["tallies"] == {tokenize.FALLBACK: 0, tokenize.UNKNOWN: 0}
    monkeypatch.setattr(Tokenizer, "_proved", lambda *_: False)
    fallen = make_job("c", records(40))
    assert [entry["sha256"] for entry in tokenize.run(fallen, prepared(fallen))["parts"]] == wanted
    assert scattered(fallen)["tallies"][tokenize.FALLBACK] == len(scattered(fallen)["parts"]) > 0


def test_begin_of_text_before_every_document(make_job: MakeJob) -> None:
    job = make_job("a", records(20), "tokenize.bos=true")
    filtered = prepared(job)
    with_bos = {doc: [0, *ids] for doc, ids in expected(job, filtered).items()}
    assert pieces(job, tokenize.run(job, filtered)) == with_bos


def scattered(job: Job) -> dict[str, Any]:
    manifest = job.workspace.work("tokenize.scatter").manifest()
    assert manifest is not None
    return manifest


def test_two_documents_with_one_short_id_stop_the_run(make_job: MakeJob, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenize, "low63", lambda _: 7)
    job = make_job("a", records(10))
    with pytest.raises(GateError, match="low 63 bits"):
        tokenize.run(job, prepared(job))


def test_the_scan_joins_cut_documents(make_job: MakeJob) -> None:
    job = make_job("a", records(80))
    filtered = prepared(job)
    manifest = tokenize.run(job, filtered)
    folder = job.workspace.stage("tokenize")
    found = [
        document
        for number, entry in enumerate(manifest["parts"])
        for document in release._documents(folder.part(number), entry["sha256"], load("deepseek").eos_id)
    ]
    assert {doc: ids.tolist() for doc, ids in found} == expected(job, filtered)
    assert max(Counter(doc for doc, _ in found).values()) == 1
    assert all(ids.dtype == np.int32 for _, ids in found)


def test_an_empty_corpus_after_the_filter_still_gives_shards(make_job: MakeJob) -> None:
    job = make_job("a", [{"id": "1", "text": "买买买" * 300}, {"id": "2", "text": "哈" * 500}])
    filtered = prepared(job)
    assert sum(entry["rows"] for entry in filtered["parts"]) == 0
    manifest = tokenize.run(job, filtered)
    assert [entry["rows"] for entry in manifest["parts"]] == [0, 0]
    assert isinstance(folder_table(job, manifest), pa.Table)


def folder_table(job: Job, manifest: dict[str, Any]) -> pa.Table:
    return job.workspace.stage("tokenize").read(manifest["parts"][0], TOKENS)
