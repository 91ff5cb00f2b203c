"""Numbers derived from a document's identity: its short id in a shard, and where it is scattered to."""

from hashlib import blake2b

_LOW_63 = (1 << 63) - 1


def low63(doc_id: str) -> int:
    """The low 63 bits of a ``doc_id`` (32 hex digits): what ``TOKENS.doc_ids`` holds, because Arrow readers know no uint128."""
    return int(doc_id, 16) & _LOW_63


def shard_key(doc_id: str, seed: int) -> int:
    """A uniform 64-bit key (BLAKE2b, RFC 7693) of seed and document: its order and remainder scatter documents over shards."""
    return int.from_bytes(blake2b(f"{seed}:{doc_id}".encode("ascii"), digest_size=8).digest(), "big")
