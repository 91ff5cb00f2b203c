"""ZIP files from anywhere: opened only if their directory is of a sane size, with names that read as they were written."""

import io
import lzma
import struct
import zipfile
import zlib
from typing import IO

from lexmill.errors import DocumentError

BROKEN = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError, ValueError, OverflowError, struct.error)
"""What the standard library raises for a damaged archive."""

# APPNOTE.TXT 4.3.14-16: end of central directory (22 bytes and a comment of at most 65,535), and its 64-bit form before it.
_END = b"PK\x05\x06"
_END_64 = b"PK\x06\x06"
_END_SIZE = 22
_TAIL = _END_SIZE + 65_535 + 76
# A directory entry is 46 bytes and a name; more than this each is no list of files.
_MAX_ENTRY = 4096
_UTF8_FLAG = 0x800


def open_zip(file: IO[bytes], max_members: int) -> zipfile.ZipFile:
    """Open a ZIP file; raises DocumentError ``ingest.max_members``, or ``ingest.broken_archive``.

    The library reads the whole directory into memory, an object an entry: it is measured before.
    """
    try:
        size = file.seek(0, io.SEEK_END)
        file.seek(max(0, size - _TAIL))
        tail = file.read(_TAIL)
        number, length = _directory(tail)
        if number > max_members or length > max_members * _MAX_ENTRY:
            raise DocumentError("ingest.max_members")
        archive = zipfile.ZipFile(file)
    except BROKEN:
        raise DocumentError("ingest.broken_archive") from None
    # The count may lie; what it says of the directory's length may not.
    if len(archive.filelist) > max_members:
        raise DocumentError("ingest.max_members")
    return archive


def _directory(tail: bytes) -> tuple[int, int]:
    """Entries and bytes of the central directory."""
    at = tail.rfind(_END)
    if at < 0 or at + _END_SIZE > len(tail):
        raise zipfile.BadZipFile
    number, length = struct.unpack_from("<HI", tail, at + 10)
    at_64 = tail.rfind(_END_64, 0, at)
    if at_64 >= 0 and at_64 + 48 <= len(tail):
        number, length = struct.unpack_from("<QQ", tail, at_64 + 32)
    return number, length


def name_of(info: zipfile.ZipInfo) -> str:
    """A member's name: UTF-8 where the flag says so or the bytes are, else GB18030, which Windows writes without any flag."""
    name = info.orig_filename
    if not info.flag_bits & _UTF8_FLAG:
        name = native_name(name.encode("cp437"))
    return name.replace("\\", "/")


def native_name(name: bytes) -> str:
    """A file name of unknown encoding: UTF-8, else GB18030, damaged bytes as U+FFFD."""
    try:
        return name.decode("utf-8")
    except UnicodeDecodeError:
        return name.decode("gb18030", "replace")


def read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, max_bytes: int) -> bytes:
    """The bytes of a member, at most ``max_bytes``; raises DocumentError ``ingest.max_file_mb`` or what is wrong with it."""
    if info.flag_bits & 1:
        raise DocumentError("ingest.encrypted")
    if info.file_size > max_bytes:
        raise DocumentError("ingest.max_file_mb")
    try:
        return archive.read(info)
    except NotImplementedError:
        raise DocumentError("ingest.unsupported_archive") from None
    except (*BROKEN, RuntimeError):
        raise DocumentError("ingest.broken_archive") from None
