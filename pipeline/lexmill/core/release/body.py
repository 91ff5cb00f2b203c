"""The body of a release's manifest: shard sets that never change, and the totals over them.

A *set* is what one run added: its shards, its de-identified text, and what both were made from. A release lists one set or many;
a night adds its own to those of its parent. Totals are functions of the sets, so that ``lexmill verify`` can draw them up again.
"""

from collections.abc import Mapping, Sequence
from typing import Any

Entry = dict[str, Any]

UNPACKED = "documents"  # the folder of the shards with a document a row
SHARD_COUNTS = ("documents", "tokens", "headings", "sequences", "padding", "cut")


def named(set_id: str, entries: Sequence[Mapping[str, Any]]) -> list[Entry]:
    """The entries of a set's files with the set's name in their paths, so that the sets of a release lie side by side."""
    found = []
    for entry in entries:
        folder, _, name = str(entry["path"]).rpartition("/")
        found.append({**entry, "path": f"{folder}/{set_id}-{name}", "set": set_id})
    return found


def windows(shards: Sequence[Mapping[str, Any]]) -> list[Entry]:
    """A row a window length (``seq_len`` null: a document a row): sums over its shards, and rates."""
    rows = []
    for seq_len in dict.fromkeys(shard["seq_len"] for shard in shards):
        mine = [shard for shard in shards if shard["seq_len"] == seq_len]
        sums = {name: sum(int(shard[name]) for shard in mine) for name in SHARD_COUNTS}
        positions = sums["tokens"] + sums["padding"]
        rows.append(
            {
                "seq_len": seq_len,
                "shards": len(mine),
                **sums,
                "cuts": {kind: sum(shard["cuts"][kind] for shard in mine) for kind in mine[0]["cuts"]},
                "padding_share": round(sums["padding"] / positions, 6) if positions else 0.0,
                "cut_share": round(sums["cut"] / sums["documents"], 6) if sums["documents"] else 0.0,
            }
        )
    return rows


def mixed(sets: Sequence[Mapping[str, Any]]) -> Entry:
    """What there was and what is written, copies included, by ``source/type`` over all sets; settings are those of the newest."""
    groups: dict[str, Entry] = {}
    for one in sets:
        for group, row in one["mix"]["groups"].items():
            before = groups.get(group, {})
            groups[group] = {name: value if name == "epochs" else value + before.get(name, 0) for name, value in row.items()}
    return {"settings": sets[-1]["mix"]["settings"], "groups": shared(groups)}


def shared(groups: Mapping[str, Mapping[str, Any]]) -> Entry:
    """The groups of a mixture, sorted, each with its share of the tokens that are written."""
    total = max(1, sum(row["tokens"] for row in groups.values()))
    return {group: {**row, "share": round(row["tokens"] / total, 6)} for group, row in sorted(groups.items())}


def compose(
    version: str,
    parent: str | None,
    sets: Sequence[Mapping[str, Any]],
    shards: Sequence[Mapping[str, Any]],
    texts: Sequence[Mapping[str, Any]],
) -> Entry:
    """The manifest's body without its name; of sources that several sets have, the newest card stands."""
    newest = sets[-1]
    sources: dict[str, Any] = {}
    for one in sets:
        sources |= one["sources"]
    tokens: dict[str, int] = {}
    for one in sets:
        for group, number in one["tokens"].items():
            tokens[group] = tokens.get(group, 0) + number
    return {
        "lexmill": version,
        "parent": parent,
        "policy": newest["policy"],
        "tokenizer": newest["tokenizer"],
        "sources": dict(sorted(sources.items())),
        "documents": sum(int(text["rows"]) for text in texts),
        "tokens": dict(sorted(tokens.items())),
        "windows": windows(shards),
        "sets": list(sets),
        "shards": list(shards),
        "text": list(texts),
    }
