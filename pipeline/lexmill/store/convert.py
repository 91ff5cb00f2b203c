"""A program that turns old Word files into text, where it is installed (Debian: libreoffice-writer-nogui)."""

import os
import shutil
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from lexmill.core.ingest.limits import Limits
from lexmill.errors import DocumentError
from lexmill.store.fingerprint import digest, file_digest


@dataclass(frozen=True)
class Converter:
    """A program, the formats that it reads, and what tells its versions apart."""

    name: str
    path: str
    formats: frozenset[str]
    version: str


def installed_converters() -> tuple[Converter, ...]:
    """The converters found on the path: LibreOffice, or none.

    It is the only one still developed. antiword 0.37 and wvText 1.2.9 leave out the numbers that Word counts by itself, which
    name a contract's clauses, and antiword most cells of nested tables.
    """
    path = shutil.which("soffice")
    if path is None:
        return ()
    resolved = Path(path).resolve()
    return (Converter("soffice", path, frozenset({"doc", "rtf"}), digest(str(resolved), file_digest(resolved))),)


def convert_to_text(data: bytes, fmt: str, converters: tuple[Converter, ...], limits: Limits) -> bytes:
    """The text of a DOC or RTF file in UTF-8, by the first converter that reads its format.

    Raises DocumentError ``ingest.needs_converter`` where none is installed that does, ``ingest.max_seconds`` where it runs
    for longer, ``ingest.conversion_failed`` where it fails or writes more than ``max_record_mb``.
    """
    converter = next((one for one in converters if fmt in one.formats), None)
    if converter is None:
        raise DocumentError("ingest.needs_converter")
    with tempfile.TemporaryDirectory(prefix="convert-") as name:
        folder = Path(name)
        source = folder / f"document.{fmt}"
        source.write_bytes(data)
        target = folder / "document.txt"
        try:
            _run([converter.path, f"-env:UserInstallation=file://{folder}/profile", "--headless", "--convert-to",
                  "txt:Text (encoded):UTF8", "--outdir", name, str(source)], folder, limits.seconds)  # fmt: skip
            text = target.read_bytes() if target.stat().st_size <= limits.record else b""
        except subprocess.TimeoutExpired:
            raise DocumentError("ingest.max_seconds") from None
        except (OSError, subprocess.SubprocessError):
            raise DocumentError("ingest.conversion_failed") from None
    if not text.strip():
        raise DocumentError("ingest.conversion_failed")
    return text


def _run(command: list[str], folder: Path, seconds: int) -> None:
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "TMPDIR": str(folder)}
    program = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment, cwd=folder,
        start_new_session=True,
    )  # fmt: skip
    try:
        code = program.wait(seconds)
    except subprocess.TimeoutExpired:
        # soffice is a script: what it started must go too.
        os.killpg(program.pid, signal.SIGKILL)
        program.wait()
        raise
    if code:
        raise subprocess.CalledProcessError(code, command[0])
