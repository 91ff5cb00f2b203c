"""Everything a quality rule may judge, measured in one pass over a column of texts."""

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lexmill.core.kernels import njit, uint32, uint64
from lexmill.core.quality.characters import (
    CHARACTERS,
    CLASS_MASK,
    CLAUSE,
    FFFD,
    HAN,
    LETTER,
    MOJIBAKE,
    OTHER,
    PRIVATE,
    RARE,
    SEPARATOR,
    SPACE,
    TRADITIONAL,
    decode,
)
from lexmill.core.quality.characters import DIGIT as DIGIT_CLASS
from lexmill.core.quality.characters import PUNCT as PUNCT_CLASS
from lexmill.core.quality.endings import CLOSING, LAST

# name -> what it is. "Visible" means: not white space. A share is 0 where there is nothing to share.
METRICS: Final = {
    "n_chars": "characters (code points)",
    "n_visible": "visible characters",
    "han": "ideographs, as a share of visible characters",
    "digit": "digits 0-9 of either width, as a share of visible characters",
    "letter": "letters of other scripts, as a share of visible characters",
    "punct": "Chinese punctuation, as a share of visible characters",
    "other": "ASCII punctuation, symbols and the rest, as a share of visible characters",
    "fffd": "U+FFFD, as a share of visible characters",
    "private_use": "private-use characters, as a share of visible characters",
    "mojibake": "characters typical of a wrong decoding, as a share of visible characters",
    "rare_han": "ideographs outside everyday use, as a share of ideographs",
    "traditional": "ideographs of the traditional script only, as a share of ideographs",
    "n_lines": "lines that are not blank",
    "mean_line": "visible characters a line",
    "short_lines": "lines of fewer than 10 visible characters, as a share of lines",
    "duplicate_lines": "visible characters in lines that repeat an earlier line, as a share of visible characters",
    "menu": "visible characters in lines, or parts of a line, that read like menu entries, as a share of visible characters",
    "links": "characters of web addresses, as a share of visible characters",
    "repetition": "10-grams of visible characters that repeat an earlier one, as a share of 10-grams",
    "max_run": "longest run of one ideograph, digit or letter; x is a blank to fill in",
    "distinct": "different characters, as a share of visible characters",
    "entropy": "entropy of the characters, in bits",
    "broken_off": "how surely the text ends in the middle of a clause: 1 after a comma, 0.75 after a word that closes none, "
    "0.5 after one that may, 0.25 for a list of references or a sentence that stands alone, else 0",
}

_INTEGERS = ("n_chars", "n_visible", "n_lines", "max_run")

_GRAM = 10
_SLOTS_A_GRAM = 4  # few collisions: a misread branch costs more than the memory
_SHORT_LINE = 10
_MENU_LINE = 20
_SENTENCE_BYTES = 300  # a text as short as that, without any full stop, is one sentence of a set of them
_TAIL_BYTES = 1200  # of a text's end: a last line that is longer has no label before it
_LINE_SLOTS = 1 << 18
_LINE_SHIFT = np.uint64(64 - 18)
# Repetition looks at this many visible characters, the longest judgments and codes several times over: 16 MB of table at most.
_REPETITION_CHARS = 1 << 20

_PRIME = np.uint64(0x9E3779B97F4A7C15)
(
    _N_CHARS,
    _N_VISIBLE,
    _SHARE_HAN,
    _SHARE_DIGIT,
    _SHARE_LETTER,
    _SHARE_PUNCT,
    _SHARE_OTHER,
    _SHARE_FFFD,
    _SHARE_PRIVATE,
    _SHARE_MOJIBAKE,
    _RARE_HAN,
    _TRADITIONAL_HAN,
    _N_LINES,
    _MEAN_LINE,
    _SHORT_LINES,
    _DUPLICATE_LINES,
    _MENU,
    _LINKS,
    _REPETITION,
    _MAX_RUN,
    _DISTINCT,
    _ENTROPY,
    _BROKEN_OFF,
) = range(len(METRICS))

# c * log2(c), so that short documents need no logarithm a character.
_C_LOG_C = np.concatenate([[0.0], np.arange(1, 4096) * np.log2(np.arange(1, 4096))])


def measure(texts: pa.Array | pa.ChunkedArray) -> pa.Table:
    """Measure every text (string or large_string; null counts as empty): one row a text, one column a name of ``METRICS``.

    Counts are int64, all else float64. ``repetition`` is the share of positions whose 10-gram occurred before (Gopher,
    arXiv 2112.11446, table A1, on characters instead of words); a run of x or of one mark or symbol counts as one character
    there, because forms are full of blanks to fill in. It looks at the first 1,048,576 visible characters, ``duplicate_lines`` at
    the first 131,072 lines.
    """
    offsets, data = buffers(texts)
    values = np.zeros((len(METRICS), len(offsets) - 1), np.float64)
    _measure(data, offsets, CHARACTERS, CLOSING, LAST, _C_LOG_C, values)
    columns = {
        name: pa.array(row.astype(np.int64) if name in _INTEGERS else row) for name, row in zip(METRICS, values, strict=True)
    }
    return pa.table(columns)


def buffers(texts: pa.Array | pa.ChunkedArray) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Offsets (int64[n + 1]) and UTF-8 bytes of a column of texts, without copying the bytes of a single large_string chunk."""
    whole = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
    whole = pc.fill_null(whole.cast(pa.large_string()), "")
    if isinstance(whole, pa.ChunkedArray):
        whole = pa.concat_arrays(whole.chunks) if whole.num_chunks else pa.array([], pa.large_string())
    _, offsets, data = whole.buffers()
    bounds = np.zeros(1, np.int64) if offsets is None else np.frombuffer(offsets, np.int64)
    return bounds[whole.offset : whole.offset + len(whole) + 1], np.frombuffer(data or b"", np.uint8)


@njit(cache=True, nogil=True)
def _measure(data, offsets, characters, closing, last_of_list, c_log_c, out):  # type: ignore[no-untyped-def]
    n = offsets.size - 1
    longest = 0
    for d in range(n):
        longest = max(longest, offsets[d + 1] - offsets[d])
    limit = min(longest, _REPETITION_CHARS)
    kept = np.empty(limit + 1, np.uint32)
    slots = 32
    while slots < _SLOTS_A_GRAM * limit:
        slots *= 2
    grams = np.empty(slots, np.uint32)
    counts = np.zeros(characters.size, np.int32)
    touched = np.empty(min(longest, characters.size) + 1, np.int32)
    lines = np.zeros(_LINE_SLOTS, np.uint64)
    used = np.empty(_LINE_SLOTS // 2, np.int32)
    classes = np.empty(8, np.int64)

    for d in range(n):
        i = link_end = offsets[d]
        end = offsets[d + 1]
        n_lines = n_short = n_duplicate = n_menu = n_links = n_touched = n_used = n_kept = n_spaces = 0
        line_chars = line_separators = line_clauses = line_menu = entry_start = entry_clauses = 0
        line_hash = uint64(0)
        run = max_run = 0
        last = uint32(0)
        while i <= end:
            if i < end:
                c, size = decode(data, i)
            else:  # the end of the text ends the last line
                c = uint32(10)
                size = 1
            i += size
            flags = characters[c]
            kind = flags & CLASS_MASK
            if kind == SPACE:
                n_spaces += i <= end
                if c == 10 and line_chars:
                    n_lines += 1
                    n_short += line_chars < _SHORT_LINE
                    if line_separators >= 2 * SEPARATOR:
                        is_entry = line_clauses == entry_clauses and line_chars - entry_start <= _MENU_LINE
                        n_menu += line_menu + (line_chars - entry_start) * is_entry
                    elif line_clauses == 0 and line_chars <= _MENU_LINE:
                        n_menu += line_chars
                    key = line_hash | uint64(1)  # 0 marks a free slot
                    slot = line_hash >> _LINE_SHIFT
                    while lines[slot] != 0 and lines[slot] != key:
                        slot = (slot + uint64(1)) & uint64(_LINE_SLOTS - 1)
                    if lines[slot] == key:
                        n_duplicate += line_chars
                    elif n_used < used.size:
                        lines[slot] = key
                        used[n_used] = slot
                        n_used += 1
                    line_chars = line_separators = line_clauses = line_menu = entry_start = entry_clauses = 0
                    line_hash = uint64(0)
                continue
            line_chars += 1
            line_hash = line_hash * _PRIME + uint64(c) + uint64(1)
            touched[n_touched] = c
            n_touched += counts[c] == 0
            counts[c] += 1
            kept[n_kept] = c
            if kind == HAN:
                n_kept += n_kept < limit
                if c == last:
                    run += 1
                    max_run = max(max_run, run)
                else:
                    run = 1
            else:
                line_clauses += flags & CLAUSE
                if flags & SEPARATOR:
                    line_separators += SEPARATOR
                    if line_clauses == entry_clauses and line_chars - entry_start <= _MENU_LINE + 1:
                        line_menu += line_chars - entry_start
                    entry_start = line_chars
                    entry_clauses = line_clauses
                if (c == 104 or c == 119) and i > link_end and _is_link(data, i - 1, end):
                    link_end = i
                    while link_end < end and 0x20 < data[link_end] < 0x7F:
                        link_end += 1
                    n_links += link_end - i + 1
                word = ((kind == LETTER) & (c != 0x78) & (c != 0x58)) | (kind == DIGIT_CLASS)
                n_kept += (n_kept < limit) & (word | (c != last))
                run = run + 1 if c == last else 1
                if word:
                    max_run = max(max_run, run)
            last = c

        for k in range(n_used):
            lines[used[k]] = 0
        classes[:] = 0
        n_rare = n_traditional = n_mojibake = 0
        logs = 0.0
        for k in range(n_touched):
            c = touched[k]
            count = counts[c]
            counts[c] = 0
            flags = characters[c]
            classes[flags & CLASS_MASK] += count
            if flags & RARE:
                n_rare += count
            if flags & TRADITIONAL:
                n_traditional += count
            if flags & MOJIBAKE:
                n_mojibake += count
            logs += c_log_c[count] if count < c_log_c.size else count * np.log2(count)
        n_visible = classes.sum()
        out[_N_CHARS, d] = n_visible + n_spaces
        if n_visible == 0:
            continue
        out[_N_VISIBLE, d] = n_visible
        out[_SHARE_HAN, d] = classes[HAN] / n_visible
        out[_SHARE_DIGIT, d] = classes[DIGIT_CLASS] / n_visible
        out[_SHARE_LETTER, d] = classes[LETTER] / n_visible
        out[_SHARE_PUNCT, d] = classes[PUNCT_CLASS] / n_visible
        out[_SHARE_OTHER, d] = classes[OTHER] / n_visible
        out[_SHARE_FFFD, d] = classes[FFFD] / n_visible
        out[_SHARE_PRIVATE, d] = classes[PRIVATE] / n_visible
        out[_SHARE_MOJIBAKE, d] = n_mojibake / n_visible
        if classes[HAN]:
            out[_RARE_HAN, d] = n_rare / classes[HAN]
            out[_TRADITIONAL_HAN, d] = n_traditional / classes[HAN]
        out[_N_LINES, d] = n_lines
        out[_MEAN_LINE, d] = n_visible / n_lines
        out[_SHORT_LINES, d] = n_short / n_lines
        out[_DUPLICATE_LINES, d] = n_duplicate / n_visible
        out[_MENU, d] = n_menu / n_visible
        out[_LINKS, d] = n_links / n_visible
        out[_REPETITION, d] = _repetition(kept[:n_kept], grams)
        out[_MAX_RUN, d] = max(max_run, min(1, classes[HAN] + classes[LETTER] + classes[DIGIT_CLASS]))
        out[_DISTINCT, d] = n_touched / n_visible
        out[_ENTROPY, d] = max(0.0, np.log2(n_visible) - logs / n_visible)
        out[_BROKEN_OFF, d] = _broken_off(data, offsets[d], end, characters, closing, last_of_list)


@njit(cache=True, nogil=True)
def _broken_off(data, start, end, characters, closing, last_of_list):  # type: ignore[no-untyped-def]
    """Read from the end: a comma; or a word after a comma, after twenty characters without one, or after a sentence of its line.

    Signatures, dates and headings end in words too, but stand alone; options and keys of exams are told by how their line begins.
    A text may lack its last full stop and no more: the word there tells, and whether any sentence has one.
    """
    i = end
    last = before = first = second = uint32(0)
    tail = 0
    is_open = parted = sentence = False
    while i > start:
        i -= 1
        while i > start and data[i] & 0xC0 == 0x80:
            i -= 1
        c, _ = decode(data, i)
        kind = characters[c] & CLASS_MASK
        if last == 0:
            if kind == SPACE:
                continue
            if c == 0xFF0C or c == 0x3001 or c == 0x2C:
                return 1.0
            if kind != HAN:
                return 0.0
            last = c
            is_open = True
        elif before == 0:
            before = c
        if c == 10:
            break
        if is_open:
            if kind == SPACE:
                is_open = False
            elif _ends_sentence(c) or c == 0xFF1B:
                is_open = False
                sentence = True
            else:
                tail += 1
                parted |= c == 0xFF0C or c == 0x3001 or c == 0x2C
        if kind != SPACE:
            second = first
            first = c
        if end - i > _TAIL_BYTES:
            first = uint32(0)
            break
    labelled = first < 0x80 or first == 0xFF08 or (first == 0x7B54 and second == 0x6848)  # A, (, （, 答案
    if last == 0 or (labelled and first != 0) or not (parted or tail > _MENU_LINE or sentence):
        return 0.0
    if not sentence and end - start < _SENTENCE_BYTES and not _has_sentence(data, start, end):
        return 0.25
    for k in range(last_of_list.size):
        if last == last_of_list[k]:
            return 0.25
    for k in range(closing.shape[0]):
        if last == closing[k, 1] and before == closing[k, 0]:
            return 0.5
    return 0.75


@njit(cache=True, nogil=True)
def _has_sentence(data, start, end):  # type: ignore[no-untyped-def]
    """Whether a full stop, a semicolon, a question or exclamation mark stands anywhere, by its bytes."""
    for i in range(start, end - 2):
        if data[i] == 0xE3:
            if data[i + 1] == 0x80 and data[i + 2] == 0x82:
                return True
        elif data[i] == 0xEF and data[i + 1] == 0xBC and (data[i + 2] == 0x9F or data[i + 2] == 0x81 or data[i + 2] == 0x9B):
            return True
    return False


@njit(cache=True, nogil=True)
def _is_link(data, i, end):  # type: ignore[no-untyped-def]
    """Whether ``http`` or ``www.`` stands at byte ``i``."""
    if i + 4 > end:
        return False
    second, third, fourth = data[i + 1], data[i + 2], data[i + 3]
    if data[i] == 104:
        return second == 116 and third == 116 and fourth == 112
    return second == 119 and third == 119 and fourth == 46


@njit(cache=True, nogil=True, inline="always")
def _ends_sentence(c):  # type: ignore[no-untyped-def]
    return c == 0x3002 or c == 0xFF1F or c == 0xFF01 or c == 0x3F or c == 0x21


@njit(cache=True, nogil=True)
def _repetition(chars, table):  # type: ignore[no-untyped-def]
    """Repeats over all 10-grams, by a rolling polynomial hash: its high bits choose the slot, its low 32 bits are compared."""
    n = chars.size - _GRAM + 1
    if n <= 0:
        return 0.0
    slots = 32
    shift = uint64(59)
    while slots < _SLOTS_A_GRAM * n:
        slots *= 2
        shift -= uint64(1)
    table[:slots] = 0
    mask = uint64(slots - 1)
    outgoing = uint64(1)
    for _ in range(_GRAM):
        outgoing *= _PRIME
    rolling = uint64(0)
    for k in range(_GRAM - 1):
        rolling = rolling * _PRIME + uint64(chars[k])
    previous = uint64(0)
    repeats = 0
    for k in range(n):
        rolling = rolling * _PRIME + (uint64(chars[k + _GRAM - 1]) - previous * outgoing)
        previous = uint64(chars[k])
        slot = rolling >> shift
        key = uint32(rolling) | uint32(1)
        while table[slot] != 0 and table[slot] != key:
            slot = (slot + uint64(1)) & mask
        repeats += table[slot] == key
        table[slot] = key
    return repeats / n
