"""Pairs that dedup merged or refused, with both texts as they were compared and what differs in them."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rich.table import Table
from rich.text import Text

from lexmill.errors import InputError
from lexmill.report.differences import in_context, pieces
from lexmill.store import files
from lexmill.store.fingerprint import digest
from lexmill.store.index import Index
from lexmill.store.workspace import Workspace

# Characters that are shown of one pair.
_SHOWN = 1600


@dataclass(frozen=True)
class Pair:
    """One decision: the row of the pair table, and the texts of the document that stays and of the other."""

    row: Mapping[str, Any]
    stays: str
    other: str


def find(workspace: Workspace, rule: str | None, sample: int) -> tuple[list[Pair], dict[str, int]]:
    """``sample`` pairs by ``rule`` (None: any), always the same ones, and how many pairs there are by rule.

    A rule may be named in full (``dedup.near``) or by how it begins (``refused``). Raises InputError where dedup has not
    run, or no pair has that rule.
    """
    folder = workspace.work("dedup.pairs")
    if not folder.part(0).exists():
        raise InputError("dedup has compared nothing in this run yet; `lexmill run CONFIG --until dedup` does")
    table = files.read_columns(folder.part(0))
    table = table.filter(pc.is_valid(table["twin"]))  # what ended its worker has none
    counts = {row["values"]: row["counts"] for row in table["rule"].value_counts().to_pylist()}
    if rule is not None:
        table = table.filter(pc.or_(pc.equal(table["rule"], rule), pc.starts_with(table["rule"], f"{rule.rstrip('.')}.")))
    if rule is not None and not table.num_rows:
        raise InputError(f"no pair has the rule {rule!r}; there are {', '.join(sorted(counts)) or 'none'}")
    # In the order of a hash: a sample that stays the same, and is not all of one source.
    keys = [digest(*pair) for pair in zip(table["doc_id"].to_pylist(), table["twin"].to_pylist(), strict=True)]
    chosen = table.take(pa.array(sorted(range(len(keys)), key=keys.__getitem__)[:sample], pa.int64()))
    rows = chosen.to_pylist()
    texts = _texts(workspace, {row[name] for row in rows for name in ("ordinal", "twin_ordinal")})
    return [Pair(row, texts[row["twin_ordinal"]], texts[row["ordinal"]]) for row in rows], counts


def _texts(workspace: Workspace, ordinals: set[int]) -> dict[int, str]:
    """Texts by ordinal: of this run as they were ingested, of earlier runs their comparison copies."""
    manifest = workspace.stage("ingest").manifest()
    assert manifest is not None
    firsts = [0, *accumulate(int(entry["rows"]) for entry in manifest["parts"])]
    found: dict[int, str] = {}
    for number, entry in enumerate(manifest["parts"]):
        own = sorted(ordinal for ordinal in ordinals if firsts[number] <= ordinal < firsts[number + 1])
        if own:
            column = files.read_columns(workspace.stage("ingest").path / entry["name"], ["text"])["text"]
            found |= {ordinal: column[ordinal - firsts[number]].as_py() for ordinal in own}
    past = sorted(ordinal for ordinal in ordinals if ordinal < 0)
    if past:
        view = Index(workspace.index).view(workspace.run)
        rows = view.documents(np.array(past, np.int64) + view.limit, ["ordinal", "text"]).to_pylist()
        found |= {row["ordinal"] - view.limit: row["text"] for row in rows}
    return {ordinal: found.get(ordinal, "(no longer in the workspace)") for ordinal in ordinals}


def show(pair: Pair) -> Table:
    """A pair side by side: the differences marked, and a few characters on each side of them."""
    row = pair.row
    value = "" if row["value"] is None else f"{row['value']:.3f}"
    table = Table(title=f"{row['rule']} {value}", expand=True)
    table.add_column(f"stays: {row['twin']}", ratio=1, overflow="fold")
    table.add_column(f"{'leaves' if row['gone'] else 'stays, too'}: {row['doc_id']}", ratio=1, overflow="fold")
    left, right = Text(), Text()
    for stays, other, same in in_context(pieces(pair.stays, pair.other), _SHOWN // 4):
        if len(left) + len(right) > 2 * _SHOWN:
            left.append(" …")
            right.append(" …")
            break
        if same:
            left.append(stays)
            right.append(other)
        else:
            # The marks of wdiff: colours do not survive a pipe.
            left.append(f"[-{stays}-]", "bold red")
            right.append(f"{{+{other}+}}", "bold green")
    table.add_row(left, right)
    return table
