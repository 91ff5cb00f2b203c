"""Documents leave a shard and the others keep every token; counts are those of the shard that is left."""

import random

import numpy as np
import pyarrow as pa
import pytest

from lexmill.core.release.removal import count, spent_by_document, without
from lexmill.schema import TOKENS

PAD = 0


def shard(rows: list[list[tuple[int, int, list[int]]]], seq_len: int | None) -> pa.Table:
    """Rows of (document, start, tokens) as a shard; the first token of a piece that does not begin its document is a heading."""
    columns: dict[str, list[object]] = {name: [] for name in TOKENS.names}
    for pieces in rows:
        tokens = [token for _, _, piece in pieces for token in piece]
        pad = 0 if seq_len is None else seq_len - len(tokens)
        columns["input_ids"].append(tokens + [PAD] * pad)
        columns["n_pad"].append(pad)
        for name, values in (
            ("doc_ids", [doc for doc, _, _ in pieces]),
            ("doc_lens", [len(piece) for _, _, piece in pieces]),
            ("doc_starts", [start for _, start, _ in pieces]),
            ("head_lens", [int(start > 0) for _, start, _ in pieces]),
            ("char_starts", [start for _, start, _ in pieces]),
            ("char_ends", [start + len(piece) for _, start, piece in pieces]),
            ("repeats", [int(start > 0) for _, start, _ in pieces]),
            ("sources", ["s"] * len(pieces)),
            ("doc_types", ["qa"] * len(pieces)),
        ):
            columns[name].append(values)
    return pa.table(columns, schema=TOKENS)


def pieces_of(table: pa.Table) -> list[tuple[int, int, tuple[int, ...]]]:
    found = []
    for row in table.to_pylist():
        at = 0
        for doc, size, start in zip(row["doc_ids"], row["doc_lens"], row["doc_starts"], strict=True):
            found.append((doc, start, tuple(row["input_ids"][at : at + size])))
            at += size
        assert row["input_ids"][at:] == [PAD] * row["n_pad"]
    return found


def made(seed: int, seq_len: int | None) -> pa.Table:
    chance = random.Random(seed)
    rows: list[list[tuple[int, int, list[int]]]] = []
    next_doc = 0
    for _ in range(30):
        pieces: list[tuple[int, int, list[int]]] = []
        left = 20
        while left > 0 and len(pieces) < 4:
            size = chance.randint(1, left)
            again = bool(next_doc) and chance.random() < 0.2
            doc = chance.randrange(next_doc) if again else next_doc
            next_doc += not again
            pieces.append((doc, 7 if again else 0, [chance.randint(1, 99) for _ in range(size)]))
            left -= size
            if seq_len is None:
                break
        rows.append(pieces)
    return shard(rows, seq_len)


@pytest.mark.parametrize("seq_len", [20, None])
@pytest.mark.parametrize("seed", range(8))
def test_the_others_keep_every_token_in_order(seed: int, seq_len: int | None) -> None:
    table = made(seed, seq_len)
    documents = sorted({doc for doc, _, _ in pieces_of(table)})
    gone = random.Random(seed).sample(documents, len(documents) // 3)
    left = without(table, np.array(gone, np.int64), seq_len, PAD)
    assert left.schema.equals(TOKENS)
    assert pieces_of(left) == [piece for piece in pieces_of(table) if piece[0] not in gone]
    if seq_len:
        assert {len(row) for row in left["input_ids"].to_pylist()} == {seq_len}
    before, after = count(table), count(left)
    spent = spent_by_document(table, np.array(gone, np.int64))
    assert sorted(spent) == sorted(gone)
    assert after["documents"] == before["documents"] - sum(number for number, _ in spent.values())
    headings = before["headings"] - after["headings"]
    assert before["tokens"] - after["tokens"] == sum(tokens for _, tokens in spent.values()) + headings
    written = {(doc, repeat) for row in table.to_pylist() for doc, repeat in zip(row["doc_ids"], row["repeats"], strict=True)}
    assert {doc: number for doc, (number, _) in spent.items()} == {doc: sum(one == doc for one, _ in written) for doc in gone}


def test_nothing_to_remove_changes_nothing_and_all_leaves_nothing() -> None:
    table = made(1, 20)
    assert without(table, np.array([10_000], np.int64), 20, PAD).equals(table)
    empty = without(table, np.array(table["doc_ids"].combine_chunks().values.to_pylist(), np.int64), 20, PAD)
    assert empty.num_rows == 0
    assert count(empty) == dict.fromkeys(count(table), 0)
