"""Programs that turn old Word files into text, where they are installed (Debian: libreoffice-writer, wv, antiword)."""

import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from lexmill.errors import DocumentError
from lexmill.store.fingerprint import digest, file_digest

# A converter that works on one file for longer hangs; LibreOffice starts in 5 seconds.
_TIMEOUT = 120
# How antiword draws a row of a table.
_DRAWN_ROW = re.compile(rb"^\|(.*)\|[ ]*$", re.MULTILINE)


@dataclass(frozen=True)
class Converter:
    """A program, the formats that it reads, and what tells its versions apart."""

    name: str
    path: str
    formats: frozenset[str]
    version: str


def installed_converters() -> tuple[Converter, ...]:
    """The converters found on the path, the best first.

    LibreOffice is the only one still developed, and the only one that reads RTF; wvText gave the same text on 11 files of 11.
    """
    found = []
    for name, formats in (("soffice", ("doc", "rtf")), ("wvText", ("doc",)), ("antiword", ("doc",))):
        path = shutil.which(name)
        if path is not None:
            resolved = Path(path).resolve()
            version = digest(str(resolved), file_digest(resolved))
            found.append(Converter(name, path, frozenset(formats), version))
    return tuple(found)


def convert_to_text(data: bytes, fmt: str, converters: tuple[Converter, ...], max_bytes: int) -> bytes:
    """The text of a DOC or RTF file in UTF-8, by the first converter that reads its format.

    Raises DocumentError ``ingest.needs_converter`` where none is installed that does, ``ingest.conversion_failed`` where it
    fails, runs for more than two minutes, or writes more than ``max_bytes``.
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
            if converter.name == "soffice":
                _run([converter.path, f"-env:UserInstallation=file://{folder}/profile", "--headless", "--convert-to",
                      "txt:Text (encoded):UTF8", "--outdir", name, str(source)], folder, None)  # fmt: skip
            elif converter.name == "wvText":
                _run([converter.path, str(source), str(target)], folder, None)
            else:
                _run([converter.path, "-m", "UTF-8.txt", "-w", "0", str(source)], folder, target)
            text = target.read_bytes() if target.stat().st_size <= max_bytes else b""
            if converter.name == "antiword":
                text = _DRAWN_ROW.sub(lambda row: b"\t".join(cell.strip() for cell in row[1].split(b"|")).rstrip(), text)
        except (OSError, subprocess.SubprocessError):
            raise DocumentError("ingest.conversion_failed") from None
    if not text.strip():
        raise DocumentError("ingest.conversion_failed")
    return text


def _run(command: list[str], folder: Path, output: Path | None) -> None:
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "TMPDIR": str(folder)}
    with (output or Path(os.devnull)).open("wb") as out:
        subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.DEVNULL, env=environment, cwd=folder,
            timeout=_TIMEOUT, check=True,
        )  # fmt: skip
