"""Whole runs as a user starts them, in processes of their own, over the samples."""

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lexmill.store import files

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "data-samples"
LEXMILL = Path(sys.executable).with_name("lexmill")

# Small parts and windows, so that the samples make many of them.
SETTINGS = ("ingest.part_mb=0.15", "tokenize.dp_width=2", "tokenize.seq_lens=[512]", "cluster.workers=2")


@dataclass(frozen=True)
class Site:
    """A run file over the samples with a workspace of its own."""

    config: Path

    @property
    def workspace(self) -> Path:
        return self.config.parent / "workspace"

    @property
    def run_folder(self) -> Path:
        return self.workspace / "runs" / "main"

    def command(self, *arguments: str, settings: tuple[str, ...] = ()) -> list[str]:
        chosen = [part for setting in (*SETTINGS, *settings) for part in ("--set", setting)]
        return [str(LEXMILL), "run", str(self.config), *chosen, *arguments]

    def start(self, *arguments: str, settings: tuple[str, ...] = ()) -> "subprocess.Popen[str]":
        """Start a run in a process group of its own."""
        return subprocess.Popen(
            self.command(*arguments, settings=settings),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, *arguments: str, settings: tuple[str, ...] = (), code: int = 0) -> "subprocess.CompletedProcess[str]":
        """Run to the end and require the exit code."""
        process = self.start(*arguments, settings=settings)
        try:
            out, err = process.communicate(timeout=400)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        assert process.returncode == code, f"exit {process.returncode}, not {code}:\n{err[-4000:]}"
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def json(self, *arguments: str, settings: tuple[str, ...] = ()) -> dict[str, Any]:
        """Run to the end and return the balance."""
        result: dict[str, Any] = json.loads(self.run("--json", *arguments, settings=settings).stdout)
        return result


def make_site(folder: Path, extra: str = "") -> Site:
    """A copy of the demo's run file in ``folder``, with absolute sample paths; ``extra`` goes before the first source."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = []
    for line in (SAMPLES / "demo.toml").read_text(encoding="utf-8").splitlines():
        if line.startswith(("paths", "benchmarks")):
            line = (
                line.replace('"', f'"{SAMPLES}/', 1)
                if line.count('"') == 2
                else line.replace('["', f'["{SAMPLES}/').replace('", "', f'", "{SAMPLES}/')
            )
        lines.append(line)
    text = "\n".join(lines) + "\n"
    at = text.index("[[source]]")
    config = folder / "run.toml"
    config.write_text(text[:at] + extra + text[at:], encoding="utf-8")
    return Site(config)


def digests(site: Site) -> dict[str, str]:
    """sha256 of every part, ledger and manifest of every stage, and of every file of every release, by path in the workspace.

    What a run took is left out: run.json, its section of the report, and what SHA256SUMS says of these two.
    """
    found: dict[str, str] = {}
    for folder in (site.run_folder, site.workspace / "releases"):
        for name in sorted(files.listing(folder)):
            path = folder / name
            if path.name != "run.json" and path.parent.name != "receipts":
                content = path.read_bytes()
                if path.name == "report.html":
                    content, cut = re.subn(rb'<section id="took">.*?</section>', b"", content, flags=re.DOTALL)
                    assert cut == 1
                elif path.name == "SHA256SUMS":
                    content, cut = re.subn(rb"[0-9a-f]{64}  (?:run\.json|report\.html)\n", b"", content)
                    assert cut == 2
                found[path.relative_to(site.workspace).as_posix()] = hashlib.sha256(content).hexdigest()
    return found


def stamps(site: Site) -> dict[str, int]:
    """Time stamps of the finished stages' parts."""
    return {
        str(path.relative_to(site.workspace)): path.stat().st_mtime_ns
        for path in sorted(site.run_folder.glob("*/part-*.parquet"))
        if (path.parent / "manifest.json").exists()
    }


@dataclass(frozen=True)
class Reference:
    """An undisturbed run, and what it left."""

    site: Site
    digests: dict[str, str]
    balance: dict[str, Any]
    log: str


@pytest.fixture(scope="session")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Reference:
    """One undisturbed run for the whole session."""
    site = make_site(tmp_path_factory.mktemp("reference"))
    done = site.run("--json")
    return Reference(site, digests(site), json.loads(done.stdout), done.stdout + done.stderr)
