"""Run ingest and dedup over real files of three kinds, and say whether copies pair up and versions stay.

    .venv/bin/python scripts/bench/dedup_corpus.py CORPUS [--keep FOLDER]

CORPUS holds `contracts/html_gb18030` and `contracts/html_utf8` (the same pages in two encodings), the triplets of
`judgments/cail2019_scm_triplets.txt` (`A`, `B`, `C`; each text stands in many triplets) and statutes as Markdown in `statutes/`.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from run_bench import SOURCE  # type: ignore[import-not-found]  # beside this file

STATUTES = ("just-laws_md", "lawrefbook_md")


def source(name: str, doc_type: str, path: str) -> str:
    """One [[source]] of the run file."""
    table: str = SOURCE.format(name=name, path=path)
    return table.replace(f'doc_type = "{name}"', f'doc_type = "{doc_type}"')


def read(folder: Path, columns: list[str]) -> list[dict[str, Any]]:
    """All rows of a stage or of the lineage."""
    parts = [pq.read_table(path, columns=columns) for path in sorted(folder.glob("part-*.parquet"))]
    return pa.concat_tables(parts).to_pylist() if parts else []


def main() -> None:
    """Run, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--keep", type=Path, help="a folder to leave the workspace in")
    arguments = parser.parse_args()
    corpus = arguments.corpus.absolute()
    with tempfile.TemporaryDirectory() as name:
        folder = arguments.keep or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        texts = [
            json.loads(line)[side]
            for line in (corpus / "judgments/cail2019_scm_triplets.txt").read_text(encoding="utf-8").splitlines()
            for side in "ABC"
        ]
        with (folder / "scm.jsonl").open("w", encoding="utf-8") as out:
            out.writelines(json.dumps({"text": text}, ensure_ascii=False) + "\n" for text in texts)
        config = folder / "corpus.toml"
        sources = [
            source("gb18030", "contract", f"{corpus}/contracts/html_gb18030/**/*.htm*"),
            source("utf8", "contract", f"{corpus}/contracts/html_utf8/**/*.htm*"),
            source("scm", "judgment", "scm.jsonl"),
            *(source(f"statutes{n}", "statute", f"{corpus}/statutes/{place}/**/*.md") for n, place in enumerate(STATUTES)),
        ]
        config.write_text(f'version = 1\nworkspace = "workspace"\n{"".join(sources)}', encoding="utf-8")
        subprocess.run([sys.executable, "-m", "lexmill.cli", "run", str(config), "--until", "dedup"], check=True)
        run = folder / "workspace" / "runs" / "main"
        ingested = read(run / "ingest", ["doc_id", "source", "uri", "text", "meta"])
        gone = {row["doc_id"]: row for row in pq.read_table(run / "dedup" / "ledger").to_pylist()}
    twins = {row["twin"] for row in gone.values()}
    pages = [row for row in ingested if row["source"] == "utf8"]
    paired = [row for row in pages if row["doc_id"] in gone or row["doc_id"] in twins]
    print(f"contract pages in two encodings: {len(paired)} of {len(pages)} in UTF-8 pair up with one in GB 18030")
    scm = [row for row in ingested if row["source"] == "scm"]
    kept = [row for row in scm if row["doc_id"] not in gone]
    print(f"triplets: {len(texts)} texts, {len(set(texts))} distinct; {len(scm)} read, {len(kept)} stay")
    print(
        "  distinct texts left:",
        len({row["text"] for row in kept}),
        "rules:",
        dict(Counter(gone[r["doc_id"]]["rule"] for r in scm if r["doc_id"] in gone)),
    )
    versions: dict[str, set[Any]] = defaultdict(set)
    stay: dict[str, set[Any]] = defaultdict(set)
    for row in ingested:
        if row["source"].startswith("statutes") and row["meta"]["statute_title"]:
            versions[row["meta"]["statute_title"]].add(row["meta"]["version_date"])
            if row["doc_id"] not in gone:
                stay[row["meta"]["statute_title"]].add(row["meta"]["version_date"])
    many = {title: dates for title, dates in versions.items() if len(dates - {None}) > 1}
    lost = sum(len(dates - {None} - stay[title]) for title, dates in many.items())
    dated = sum(len(dates - {None}) for dates in many.values())
    print(f"statutes of several dated versions: {len(many)} titles, {dated} versions, {lost} of them lost")
    print("by rule:", dict(sorted(Counter(row["rule"] for row in gone.values()).items())))


if __name__ == "__main__":
    main()
