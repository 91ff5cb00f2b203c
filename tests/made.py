"""What tests of several folders make: archives of given files, and the source of a run file."""

import io
import tarfile
import zipfile
from collections.abc import Mapping
from typing import Literal

import py7zr

CARD = """
[source.card]
origin = "open"
licence = "none needed"
collected = 2026-01-02
legal_basis = "published"
foreign = false
"""


def source(name: str, doc_type: str, paths: str) -> str:
    """A ``[[source]]`` of a run file, with its card."""
    return f'[[source]]\nname = "{name}"\ndoc_type = "{doc_type}"\npaths = ["{paths}"]{CARD}'


def make_zip(files: Mapping[str, bytes]) -> bytes:
    """A deflated ZIP."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


def make_tar(files: Mapping[str, bytes], mode: Literal["w", "w:gz"] = "w") -> bytes:
    """A tar, packed as ``mode`` says."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def make_7z(files: Mapping[str, bytes]) -> bytes:
    """A solid 7z."""
    out = io.BytesIO()
    with py7zr.SevenZipFile(out, "w") as archive:
        for name, data in files.items():
            archive.writestr(data, name)
    return out.getvalue()
