"""LLaMA-Factory: documents as pretraining ``text``, or as Alpaca records ``{instruction, input, output}`` for fine-tuning.

Both, and ``dataset_info.json``, as LLaMA-Factory's data/README.md describes them. What goes in is the text of a release.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

# What is asked, and what answers it: the court's reasons on the facts; the key and its explanation; the answer.
_SIDES: Final = {
    "judgment": (("诉称", "辩称", "查明"), ("理由",)),
    "exam": (("题干", "选项"), ("答案", "解析")),
    "qa": (("问",), ("答",)),
}
_LABEL = re.compile(r"^[问答][:：]\s*")
# Characters below which a side teaches nothing: a question may have few words, the key of an exam item is often one letter.
_LEAST: Final = {"judgment": (20, 20), "exam": (4, 1), "qa": (4, 10)}

INSTRUCTIONS: Final = {
    "judgment": "请根据以下案件事实，撰写裁判文书的说理部分。",
    "exam": "请回答以下法律职业资格考试试题，并说明理由。",
    "qa": "请回答以下法律问题。",
}
PRETRAIN: Final = {"columns": {"prompt": "text"}}
ALPACA: Final = {"columns": {"prompt": "instruction", "query": "input", "response": "output"}}


def info(files: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """``dataset_info.json`` for ``files``: name of the file without its suffix → columns."""
    return {f"lexmill_{name}": {"file_name": f"{name}.jsonl", **columns} for name, columns in sorted(files.items())}


def pretrain(row: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """The one record of a document: its text."""
    yield {"text": row["text"]}


def alpaca(row: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """A record for each question or exam item with its answer, and for the facts and reasons of a judgment, if both are there."""
    if row["doc_type"] not in _SIDES:
        return
    for parts in _groups(row):
        asked, answer = (_joined(parts, kinds) for kinds in _SIDES[row["doc_type"]])
        least_asked, least_answer = _LEAST[row["doc_type"]]
        if len(asked) >= least_asked and len(answer) >= least_answer:
            yield {"instruction": INSTRUCTIONS[row["doc_type"]], "input": asked, "output": answer}


def _groups(row: Mapping[str, Any]) -> Iterator[list[tuple[str, str]]]:
    """(kind, text) of the segments of a judgment, or of each numbered question of another document."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for segment in row["segments"] or ():
        number = "" if row["doc_type"] == "judgment" else segment["path"].split("/")[0]
        text = _LABEL.sub("", row["text"][segment["start"] : segment["end"]].strip())
        groups.setdefault(number, []).append((segment["kind"], text))
    yield from groups.values()


def _joined(parts: Sequence[tuple[str, str]], kinds: Sequence[str]) -> str:
    return "\n".join(text for kind, text in parts if kind in kinds and text)
