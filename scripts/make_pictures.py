#!/usr/bin/env python3
"""The pictures of README, from the workspace that scripts/demo makes: the terminal as SVG, pages as PNG taken by Chromium."""

import argparse
import io
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from PIL import Image
from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console

from lexmill import rules
from lexmill.jobs import preview
from lexmill.report import balance, segments
from lexmill.report.release import find
from lexmill.schema import STAGES
from lexmill.store.workspace import RELEASE, Workspace

ROOT = Path(__file__).resolve().parent.parent
SAMPLES = ROOT / "data-samples"
CONFIG = SAMPLES / "demo.toml"
# rich's picture asks another site for a font: the reader's own will do.
_SVG = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
_COLOURS = 96
_WIDTH = 140
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@contextmanager
def terminal(path: Path, command: str) -> Iterator[Console]:
    """A console whose output becomes a picture of a terminal in which ``command`` was given."""
    console = Console(record=True, width=_WIDTH, file=io.StringIO())
    yield console
    path.write_text(console.export_svg(title=command, code_format=_SVG), encoding="utf-8")


def photograph(browser: str, address: str, path: Path, size: tuple[int, int]) -> None:
    """A page as the browser shows it, in few colours."""
    with tempfile.TemporaryDirectory() as folder:
        taken = Path(folder) / "page.png"
        subprocess.run(
            [
                browser,
                "--headless",
                "--no-sandbox",
                "--hide-scrollbars",
                f"--user-data-dir={folder}/profile",
                f"--screenshot={taken}",
                f"--window-size={size[0]},{size[1]}",
                address,
            ],
            check=True,
            capture_output=True,
        )
        with Image.open(taken) as image:
            image.convert("RGB").quantize(_COLOURS).save(path, optimize=True)


@contextmanager
def served() -> Iterator[str]:
    """The address of ``lexmill browse`` over the demo."""
    command = [sys.executable, "-m", "lexmill.cli", "browse", str(CONFIG)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def summary(workspace: Workspace, release: Path) -> dict[str, Any]:
    """The balance of the demo's last run that had something to do."""
    manifests = {stage: manifest for stage in STAGES if (manifest := workspace.stage(stage).manifest()) is not None}
    manifests[RELEASE] = json.loads((release / "manifest.json").read_text(encoding="utf-8"))
    record = json.loads((workspace.run_folder / "run.json").read_text(encoding="utf-8"))
    return balance.balance(manifests, record)


def main() -> None:
    """Write every picture, or say what is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=SAMPLES / "pictures")
    out: Path = parser.parse_args().out
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if browser is None:
        sys.exit(f"pictures: none of {', '.join(_BROWSERS)} is installed")
    out.mkdir(exist_ok=True)
    workspace = Workspace(SAMPLES / "workspace", "main")
    release = find(workspace.root)
    with terminal(out / "run.svg", "lexmill run data-samples/demo.toml") as console:
        balance.show(summary(workspace, release), console)
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "segments.html"
        one = islice(preview.extract(SAMPLES / "judgments" / "civil-1.jsonl", "judgment"), 1)
        page.write_text(segments.as_html(one, rules.load_proven().statutes), encoding="utf-8")
        photograph(browser, page.as_uri(), out / "segment.png", (1000, 900))
    photograph(browser, (release / "report.html").as_uri(), out / "report.png", (1200, 900))
    first = pq.read_table(workspace.stage("filter").part(0), columns=["doc_id"])["doc_id"][0].as_py()
    with served() as address:
        photograph(browser, f"{address}doc/{first}", out / "browse.png", (1200, 1250))


if __name__ == "__main__":
    main()
