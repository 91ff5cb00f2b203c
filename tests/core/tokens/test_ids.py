from hashlib import blake2b

import pytest

from lexmill.core.tokens.ids import low63, shard_key


@pytest.mark.parametrize(
    ("doc_id", "expected"),
    [
        ("0" * 32, 0),
        ("f" * 32, (1 << 63) - 1),
        ("0" * 16 + "8" + "0" * 15, 0),
        ("a" * 16 + "0" * 15 + "7", 7),
    ],
)
def test_low63_keeps_the_low_bits(doc_id: str, expected: int) -> None:
    assert low63(doc_id) == expected


def test_shard_key_is_blake2b_of_seed_and_document() -> None:
    doc_id = "0123456789abcdef" * 2
    assert shard_key(doc_id, 7) == int.from_bytes(blake2b(b"7:0123456789abcdef0123456789abcdef", digest_size=8).digest(), "big")
    assert shard_key(doc_id, 7) != shard_key(doc_id, 8)


def test_shard_keys_spread_evenly() -> None:
    counts = [0] * 16
    for n in range(16_000):
        counts[shard_key(f"{n:032x}", 0) % 16] += 1
    # 1,000 expected each, standard deviation 31
    assert max(abs(count - 1000) for count in counts) < 150
