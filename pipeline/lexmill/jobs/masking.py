"""Mask a file of lines outside of any run: the same detector, surrogates and second look; no workspace, no drops."""

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import orjson

from lexmill import rules
from lexmill.core.deid.batch import look_again
from lexmill.core.deid.detector import Detector
from lexmill.core.deid.mask import mask
from lexmill.core.structure.doctype import guess
from lexmill.errors import ConfigError, DocumentError, InputError
from lexmill.jobs.resources import load_tagger
from lexmill.schema import DOC_TYPES
from lexmill.store import files


@contextmanager
def _reading(path: str) -> Iterator[IO[bytes]]:
    if path == "-":
        yield sys.stdin.buffer
        return
    try:
        with Path(path).open("rb") as stream:
            yield stream
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); give a file of JSON lines, or -") from None


@contextmanager
def _writing(path: str) -> Iterator[Any]:
    if path == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    target = Path(path).resolve()  # a link is followed, not replaced
    if target.exists() and not target.is_file():
        with target.open("wb") as stream:  # a device or a pipe
            yield stream
        return
    with files.atomic(target) as out:
        yield out


def mask_file(source: str, out: str, policy: str, doc_type: str) -> Counter[str]:
    """Mask every line of ``source`` into ``out``; returns how many lines failed by what (each is ``{id, error}`` there).

    As in a run, what the second look still finds something in fails (``residual.*``): its text is not written. "" counts those
    that were masked.

    Raises ConfigError for an unknown policy or type, InputError for a file that cannot be read.
    """
    if doc_type not in (*DOC_TYPES, "auto"):
        raise ConfigError(f"--doc-type {doc_type}: no such type; there are {', '.join(DOC_TYPES)} and auto")
    if source != "-" and Path(source).exists() and Path(out).exists() and Path(source).samefile(out):
        raise ConfigError(f"--out {out}: is the input itself; name another file")
    book = rules.load_deid()
    policies = sorted(known.name for known in book.policy)
    if policy not in policies:
        raise ConfigError(f"--policy {policy}: no such policy; there are {', '.join(policies)}")
    detector = Detector(book, policy, load_tagger())
    told: Counter[str] = Counter()
    with _reading(source) as lines, _writing(out) as stream:
        for number, line in enumerate(lines):
            if not line.strip():
                continue
            result = _mask_line(line.removeprefix(b"\xef\xbb\xbf") if number == 0 else line, doc_type, detector)
            told[result.get("error", "")] += 1
            stream.write(orjson.dumps(result, option=orjson.OPT_APPEND_NEWLINE))
    return told


def _mask_line(line: bytes, doc_type: str, detector: Detector) -> dict[str, Any]:
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError:
        return {"id": None, "error": "mask.bad_json"}
    if not isinstance(record, dict):
        return {"id": None, "error": "mask.not_a_record"}
    identity, text = record.get("id"), record.get("text")
    if not isinstance(identity, str | int | float | None):
        return {"id": None, "error": "mask.bad_id"}
    if not isinstance(text, str):
        return {"id": identity, "error": "mask.no_text"}
    try:
        masked = mask(text, guess(text) if doc_type == "auto" else doc_type, detector)
        look_again((text,), (masked,), detector)
    except Exception as error:
        # Its message might quote the text.
        return {"id": identity, "error": error.rule if isinstance(error, DocumentError) else "deid.failed"}
    return {"id": identity, "text": masked.text, "spans": [span._asdict() for span in masked.spans]}
