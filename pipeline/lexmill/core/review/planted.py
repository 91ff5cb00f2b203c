"""Known defects put into copies of good documents, so that reviewers are measured too.

The persons and numbers are invented: no county has the code 999999, no carrier the prefix 100, no bank the issuer number 000000.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from lexmill.core.review.sampling import place


class Planted(NamedTuple):
    """A document with a defect: ``defect`` is the class that a reviewer should name, ``spans`` what is masked in ``text``."""

    text: str
    defect: str
    spans: tuple[dict[str, Any], ...]


DIRECT = "直接标识符残留"
DAMAGED = "乱码或残缺"

_INSERTIONS = (
    "联系人庄筱棠，电话10012345678。",
    "其公民身份号码为999999207903040018。",
    "住某某县虚构镇假想村12号的欧阳砚到场作证。",
    "款项汇入户名为尉迟拾柒、账号为0000001234567890123的账户。",
    "代理人微信号为zhuangxiaotang2079。",
)
_SENTENCE_END = re.compile(r"[。；\n]")


def plant(text: str, spans: Sequence[Mapping[str, Any]], doc_id: str, seed: int) -> Planted:
    """``text`` with a defect that ``doc_id`` and ``seed`` choose: a direct identifier at a sentence's end, or a garbled tail.

    What was masked stays marked, as in any other document: nobody may tell a planted one by its lack of marks.
    """
    which = int(place(doc_id, seed, "defect") * (len(_INSERTIONS) + 1))
    where = place(doc_id, seed, "where")
    if which == len(_INSERTIONS):
        half = max(1, len(text) // 3 + int(where * (len(text) // 3)))
        return Planted(text[:half] + "锟斤拷" * 3, DAMAGED, tuple(dict(span) for span in spans if span["end"] <= half))
    ends = [match.end() for match in _SENTENCE_END.finditer(text)] or [len(text)]
    at, added = ends[int(where * len(ends))], _INSERTIONS[which]
    before = [dict(span) for span in spans if span["end"] <= at]
    after = [
        {**span, "start": span["start"] + len(added), "end": span["end"] + len(added)} for span in spans if span["start"] >= at
    ]
    return Planted(text[:at] + added + text[at:], DIRECT, (*before, *after))
