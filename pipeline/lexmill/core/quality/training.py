"""What the quality classifier learns from: windows of trusted text, the same ruined, what rules or reviewers refused."""

import hashlib
from collections.abc import Mapping, Sequence
from random import Random
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lexmill.core.quality.corrupt import CORRUPTIONS
from lexmill.core.quality.judge import first_removing, judge
from lexmill.core.quality.rules import QualityRules

# Of every ten documents two are held out, chosen by a hash of their text: copies of one document stand on one side.
_HELD_OUT: Final = 2
_FOLDS: Final = 2
_WINDOWS: Final = 3
_LENGTHS: Final = (60, 120, 250, 500, 1000, 2000, 2000)
_LEAST: Final = 15


class Example(NamedTuple):
    """One text to learn from or to test on.

    ``kind`` is ``good``, the name of a corruption, ``rule`` or ``reviewer``; ``fold`` is its half of the sources.
    """

    kind: str
    doc_type: str
    text: str
    is_good: bool
    fold: int
    held_out: bool


def examples(
    documents: pa.Table, positives: Sequence[str], verdicts: Mapping[str, bool], rules: QualityRules, seed: int
) -> list[Example]:
    """Examples from documents (schema DOCUMENT), the same for the same documents whatever their order.

    Of a document of the sources ``positives`` that no removing rule hits, up to three windows as they are, and each ruined in one
    way. What a removing rule hits is bad as it is. ``verdicts`` (doc_id → good?) of reviewers overrule both.
    """
    table = documents.sort_by("doc_id")
    verdict_list, _, _ = judge(table, rules, None)
    failed = first_removing([verdict for verdict in verdict_list if verdict.rule.action != "tag"], len(table)) >= 0
    folds = _folds(positives)
    found = []
    for row, document in enumerate(table.select(["doc_id", "source", "doc_type", "text"]).to_pylist()):
        text, doc_type = document["text"], document["doc_type"]
        digest = hashlib.sha256(f"{seed}\0{text}".encode()).digest()
        rng = Random(int.from_bytes(digest[:8], "big"))
        fold = folds.get(document["source"], digest[9] % _FOLDS) if len(folds) > 1 else digest[9] % _FOLDS
        held_out = digest[8] % 10 < _HELD_OUT
        reviewed = verdicts.get(document["doc_id"])
        if reviewed is not None:
            found += [Example("reviewer", doc_type, window, reviewed, fold, held_out) for window in _windows(text, rng)]
        elif failed[row]:
            found.append(Example("rule", doc_type, text[: max(_LENGTHS)], False, fold, held_out))
        elif document["source"] in positives:
            for window in _windows(text, rng):
                kind = rng.choice(tuple(CORRUPTIONS))
                found.append(Example("good", doc_type, window, True, fold, held_out))
                found.append(Example(kind, doc_type, CORRUPTIONS[kind](window, rng), False, fold, held_out))
    return [example for example in found if example.text.strip()]


def _folds(positives: Sequence[str]) -> dict[str, int]:
    """Sources dealt out in the order of a hash of their names."""
    dealt = sorted(set(positives), key=lambda name: hashlib.sha256(name.encode()).digest())
    return {name: number % _FOLDS for number, name in enumerate(dealt)}


def _windows(text: str, rng: Random) -> list[str]:
    """The beginning, and of a long text two pieces more; each ends with a sentence: none is taken for broken off."""
    starts = [0] if len(text) < 600 else [0, *(rng.randrange(len(text)) for _ in range(_WINDOWS - 1))]
    windows = []
    for start in starts:
        window = text[start : start + rng.choice(_LENGTHS)]
        if start + len(window) < len(text):
            window = window[: window.rfind("。") + 1] or window
        windows.append(window)
    return [window for window in windows if len(window) >= _LEAST]


def passing(tests: Sequence[Example], rules: QualityRules) -> NDArray[np.bool_]:
    """Which examples no removing rule hits: what is left for the classifier to find."""
    table = pa.table(
        {"doc_type": pa.array([one.doc_type for one in tests]), "text": pa.array([one.text for one in tests], pa.string())}
    )
    verdicts, _, _ = judge(table, rules, None)
    return first_removing([verdict for verdict in verdicts if verdict.rule.effect(()) != "tag"], len(tests)) < 0
