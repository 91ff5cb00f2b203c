import numpy as np
import pyarrow as pa
import pytest
from datasketch import LeanMinHash, MinHash
from hypothesis import given, settings
from hypothesis import strategies as st

from lexmill.core.dedup import signature as sig

TEXTS = [
    "本院认为，原告与被告之间的借款合同合法有效，被告应当按约还款。" * 3,
    "甲乙丙丁戊",
    "甲乙丙丁",
    "",
    "ASCII only, 12345",
    "é𠀀混合𠮷é各种长度的字符é𠀀",
    "\ufffd乱码\ufffd\ufffd文书\x00",
]


def shingles(text: str) -> list[str]:
    return [text[i : i + 5] for i in range(len(text) - 4)]


def by_datasketch(text: str) -> MinHash:
    minhash = MinHash(num_perm=128, seed=1, scheme="affine32", hashfunc=sig.hash_shingle)
    for shingle in shingles(text):
        minhash.update(shingle.encode())
    return minhash


@pytest.mark.parametrize("text", TEXTS)
def test_bit_equal_to_datasketch(text: str) -> None:
    row = sig.signatures(pa.array([text]))[0]
    assert row.dtype == np.uint32
    assert np.array_equal(row, by_datasketch(text).hashvalues)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=30), max_size=5))
def test_numpy_and_datasketch_agree_on_any_text(texts: list[str]) -> None:
    column = pa.array(texts, pa.string())
    rows = sig.signatures(column)
    assert np.array_equal(rows, sig.signatures_by_numpy(column))
    for row, text in zip(rows, texts, strict=True):
        assert np.array_equal(row, by_datasketch(text).hashvalues)


def test_slices_and_chunks_are_read_where_they_stand() -> None:
    whole = sig.signatures(pa.array(TEXTS))
    assert np.array_equal(sig.signatures(pa.array(TEXTS, pa.large_string()).slice(2, 3)), whole[2:5])
    assert np.array_equal(sig.signatures(pa.chunked_array([TEXTS[:2], TEXTS[2:]])), whole)


def test_text_and_its_bytes_hash_alike() -> None:
    assert sig.hash_shingle("判决如下：") == sig.hash_shingle("判决如下：".encode()) < 1 << 32


def test_lean_estimates_as_datasketch_does() -> None:
    a, b = TEXTS[0], TEXTS[0] + "驳回其他诉讼请求。"
    rows = sig.signatures(pa.array([a, b]))
    left, right = sig.lean(rows[0]), sig.lean(rows[1])
    assert isinstance(left, LeanMinHash)
    assert left.jaccard(right) == by_datasketch(a).jaccard(by_datasketch(b)) == (rows[0] == rows[1]).mean()


def test_pack_and_unpack() -> None:
    rows = sig.signatures(pa.array(TEXTS))
    column = sig.pack(rows)
    assert column.type == pa.binary(512)
    assert column[0].as_py()[:4] == int(rows[0, 0]).to_bytes(4, "little")
    assert np.array_equal(sig.unpack(column.slice(1, 4)), rows[1:5])
    assert np.array_equal(sig.unpack(pa.chunked_array([column.slice(0, 2), column.slice(2)])), rows)
    assert sig.unpack(column.slice(0, 0)).shape == (0, 128)


def test_exact_hashes_are_the_first_eight_bytes() -> None:
    column = pa.array([bytes(range(16)), b"\xff" * 16], pa.binary(16))
    assert sig.exact_hashes(column).tolist() == [0x0706050403020100, (1 << 64) - 1]


def test_bands_are_equal_where_their_eight_rows_are() -> None:
    rows = sig.signatures(pa.array([TEXTS[0]] * 17))
    for band in range(16):
        rows[band, band * 8 + band % 8] ^= 1  # row 16 stays as it was
    hashes = sig.band_hashes(rows)
    assert hashes.shape == (17, 16)
    assert np.array_equal(hashes[:16] != hashes[16], np.eye(16, dtype=bool))


def test_equal_rows_of_two_bands_are_told_apart() -> None:
    assert len(set(sig.band_hashes(np.full((1, 128), 7, np.uint32))[0].tolist())) == 16
