"""What a file of a word processor is: suffixes lie, its first bytes do not."""

from lexmill.core.ingest.decode import decode
from lexmill.errors import DocumentError

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
# The stream in which Office puts a document with a password ([MS-OFFCRYPTO] 2.3.4.4).
_ENCRYPTED_PACKAGE = "EncryptedPackage".encode("utf-16-le")
_MARKUP = ("<!doctype", "<html", "<?xml")


def word_format(data: bytes) -> str:
    """What a ``.doc``, ``.docx``, ``.wps`` or ``.rtf`` is by its bytes: ``docx``, ``html``, ``txt``, or ``doc`` or ``rtf``.

    ``doc`` (Word 97 to 2003, an OLE file, [MS-CFB] 2.2) and ``rtf`` need a converter. Raises DocumentError ``ingest.encrypted``,
    and ``ingest.unknown_format`` for what is neither of these nor text.
    """
    if data.startswith(_OLE):
        if _ENCRYPTED_PACKAGE in data:
            raise DocumentError("ingest.encrypted")
        return "doc"
    if data.startswith(b"PK"):
        return "docx"
    if data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{\\rtf"):
        return "rtf"
    if data.lstrip().startswith((b"MIME-Version:", b"From:")):
        raise DocumentError("ingest.unknown_format")
    try:
        head = decode(data).text[:1000].lstrip().casefold()
    except DocumentError:
        raise DocumentError("ingest.unknown_format") from None
    return "html" if head.startswith(_MARKUP) else "txt"
