"""Text that was decoded with the wrong encoding before it reached us: mended where that is certain, refused where it is not."""

import re

from lexmill.core.ingest.decode import MAX_BAD_SHARE
from lexmill.core.ingest.held import CharacterClasses
from lexmill.errors import DocumentError

# UTF-8 of everything Chinese, Han and punctuation, is a lead byte E2-E9 or EF and two continuation bytes 80-BF (RFC 3629).
_LEADS = bytes([*range(0xE2, 0xEA), 0xEF])
_CONTINUATIONS = bytes(range(0x80, 0xC0))


def _shown_in_gbk(firsts: bytes, seconds: bytes) -> str:
    pairs = (bytes([first, second]).decode("gb18030", "ignore") for first in firsts for second in seconds)
    return "".join(char for char in pairs if len(char) == 1)


# Read as GBK, two UTF-8 characters become three: lead + continuation, continuation + lead, continuation + continuation.
# The first two in this order are 3.6 to a million characters of sound legal text, and every second pair of mangled text.
_GBK_FIRST = _shown_in_gbk(_LEADS, _CONTINUATIONS)
_GBK_SECOND = _shown_in_gbk(_CONTINUATIONS, _LEADS)
_GBK_PAIR = re.compile(f"[{re.escape(_GBK_FIRST)}][{re.escape(_GBK_SECOND)}]")
_MIN_REPAIR = 6
_MIN_PAIRS = 5
_MIN_PAIR_SHARE = 0.1

# Read as Latin-1 or Windows-1252, each byte becomes a character; Windows-1252 shows most of 80-9F as punctuation.
_WINDOWS = {bytes([byte]).decode("cp1252", "ignore"): byte for byte in range(0x80, 0xA0)}
_BYTE_OF = {ord(char): byte for char, byte in _WINDOWS.items() if char} | {byte: byte for byte in range(0x80, 0x100)}
_BYTES_CLASS = "".join(map(chr, _BYTE_OF))
_CONTINUATION_CLASS = "".join(chr(code) for code, byte in _BYTE_OF.items() if byte < 0xC0)
_LATIN_MARKS = (*map(chr, _LEADS), "¡")  # A1, the row of Chinese punctuation in GBK and Big5
_LATIN_RUN = re.compile(f"[{re.escape(_BYTES_CLASS)}]+")
_LATIN_CHARACTER = re.compile(f"[{''.join(map(chr, _LEADS))}][{re.escape(_CONTINUATION_CLASS)}]{{2}}")
# Sound text has × as a mask, and · ° § ± « » ² ³ © ÷ and no-break spaces.
_LATIN_RESIDUE = re.compile("[\x80-\x9f¡-¦¨ª¬-¯´-¶¸-ºÀ-ÖØ-öø-ÿ¼-¿]{4,}")
_MIN_LATIN_SHARE = 0.05

# U+FFFD twice, written as UTF-8 and read as GBK.
_LOST = "锟斤拷"

_CLASSES = CharacterClasses([_LOST[0], _LATIN_MARKS, _GBK_FIRST, _GBK_SECOND], pair=(2, 3))
_OF_LOST, _OF_LATIN, _, _, _GBK_PAIRED = (1 << bit for bit in range(5))


def unmangle(text: str) -> str:
    """The text where it is sound, what it was where the wrong decoding can be undone, else DocumentError ``ingest.mojibake``.

    Undone are UTF-8 read as Latin-1 or Windows-1252, run by run, and UTF-8 read as GBK, line by line, each only if the whole way
    back is valid UTF-8; ``锟斤拷`` becomes the two U+FFFD that it was.
    """
    held = _CLASSES.held_by(text)
    if held & _OF_LOST and _LOST in text:
        text = text.replace(_LOST, "\ufffd\ufffd")
        if text.count("\ufffd") > MAX_BAD_SHARE * len(text):
            raise DocumentError("ingest.mojibake")
    if held & _OF_LATIN:
        text = _LATIN_RUN.sub(_from_latin, text)
        held = _CLASSES.held_by(text)
        if sum(len(run) for run in _LATIN_RESIDUE.findall(text)) > _MIN_LATIN_SHARE * len(text):
            raise DocumentError("ingest.mojibake")
    if held & _GBK_PAIRED and _GBK_PAIR.search(text):
        text = "\n".join(map(_from_gbk, text.split("\n")))
        pairs = _GBK_PAIR.findall(text)
        if len(set(pairs)) >= _MIN_PAIRS and 2 * len(pairs) > _MIN_PAIR_SHARE * len(text):
            raise DocumentError("ingest.mojibake")
    return text


def _from_latin(run: re.Match[str]) -> str:
    shown = run[0]
    if not _LATIN_CHARACTER.search(shown):
        return shown
    try:
        return bytes(_BYTE_OF[ord(char)] for char in shown).decode("utf-8")
    except UnicodeDecodeError:
        return shown


def _from_gbk(line: str) -> str:
    # Three characters of sound Chinese can be valid UTF-8 by chance (夥伴及); no six were found in 32 million.
    if not _GBK_PAIR.search(line) or sum(char > "\x7f" for char in line) < _MIN_REPAIR:
        return line
    try:
        return line.encode("gb18030").decode("utf-8")
    except UnicodeError:
        return line
