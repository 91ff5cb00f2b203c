"""Join hand labels, kept as offsets, with the texts they were read in; `scripts/eval_deid.py` reads the result.

    .venv/bin/python scripts/join_labels.py ../shared tests/core/deid/labels/exam.jsonl -o exam.jsonl
    .venv/bin/python scripts/eval_deid.py exam.jsonl --group-by half --complete PERSON ORGANISATION

The texts stay where they are: only the output holds any. A record whose text is no longer the one that was read ends the program.
"""

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator
from io import TextIOWrapper
from pathlib import Path
from typing import Any

import zstandard


def texts(path: Path, rows: frozenset[int] | None = None) -> Iterator[tuple[int, str]]:
    """The texts of the given records of a compressed JSONL file (without any: of all), by number, counted from 0."""
    with path.open("rb") as raw, TextIOWrapper(zstandard.ZstdDecompressor().stream_reader(raw), "utf-8") as lines:
        for number, line in enumerate(lines):
            if rows is None or number in rows:
                yield number, json.loads(line)["text"]


def joined(shared: Path, labels: Path) -> Iterator[dict[str, Any]]:
    """One record a label line, in its order: ``id`` (SHA-256 of the text), ``text``, ``spans``, ``doc_type``, ``half``.

    Raises ``ValueError`` where a text is missing or is another one.
    """
    records = [json.loads(line) for line in labels.read_text(encoding="utf-8").splitlines()]
    found: dict[tuple[str, int], str] = {}
    for file in sorted({record["file"] for record in records}):
        rows = frozenset(record["row"] for record in records if record["file"] == file)
        found |= {(file, row): text for row, text in texts(shared / file, rows)}
    for record in records:
        text = found.get((record["file"], record["row"]), "")
        if hashlib.sha256(text.encode()).hexdigest() != record["sha256"]:
            raise ValueError(f"{record['file']}, record {record['row']}: not the text that was labelled")
        yield {"id": record["sha256"], "text": text, "spans": record["spans"], "doc_type": labels.stem, "half": record["half"]}


def main() -> int:
    """Write the joined records; exit code 2 where a text is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shared", type=Path, help="the folder that the files of the labels lie in")
    parser.add_argument("labels", type=Path, metavar="LABELS.jsonl")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="OUT.jsonl")
    arguments = parser.parse_args()
    try:
        records = list(joined(arguments.shared, arguments.labels))
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    arguments.output.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
