"""Label Studio: a project's labelling interface, its tasks with what was masked as predictions, and its export read back."""

from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree import ElementTree

import orjson

from lexmill.core.review.verdicts import BAD, DEFECTS, GOOD, Verdict
from lexmill.core.review.workbook import QUESTIONS, TYPES, fault_of
from lexmill.errors import InputError


def interface(entities: Sequence[str]) -> str:
    """The project's labelling interface (XML) for these entity types."""
    view = ElementTree.Element("View")
    ElementTree.SubElement(view, "Header", value="$question")
    ElementTree.SubElement(view, "Header", value="$title", size="5")
    labels = ElementTree.SubElement(view, "Labels", name="span", toName="text")
    for entity in sorted(entities) or ["PERSON"]:
        ElementTree.SubElement(labels, "Label", value=entity)
    ElementTree.SubElement(view, "Text", name="text", value="$text", granularity="symbol")
    _choices(view, "verdict", (GOOD, BAD), required="true")
    # Asked, and required, only where the verdict is BAD.
    shown = {"visibleWhen": "choice-selected", "whenTagName": "verdict", "whenChoiceValue": BAD}
    _choices(view, "defect", DEFECTS, required="true", **shown)
    ElementTree.SubElement(view, "TextArea", name="note", toName="text", placeholder="备注")
    ElementTree.indent(view)
    return ElementTree.tostring(view, encoding="unicode")


def _choices(view: ElementTree.Element, name: str, values: Sequence[str], **attributes: str) -> None:
    element = ElementTree.SubElement(view, "Choices", {"name": name, "toName": "text", "choice": "single", **attributes})
    for value in values:
        ElementTree.SubElement(element, "Choice", value=value)


def tasks(items: Sequence[Mapping[str, Any]], model_version: str) -> bytes:
    """The tasks (JSON) for ``items`` (rows of ITEM); what was masked stands in them as predictions of ``model_version``."""
    return orjson.dumps([_task(item, model_version) for item in items], option=orjson.OPT_INDENT_2)


def _task(item: Mapping[str, Any], model_version: str) -> dict[str, Any]:
    text = item["text"]
    result = [
        {
            "id": f"{item['item']}-{number}",
            "from_name": "span",
            "to_name": "text",
            "type": "labels",
            # Offsets are in code points, as in Python: the interface counts so too, though it is JavaScript.
            "value": {
                "start": span["start"],
                "end": span["end"],
                "text": text[span["start"] : span["end"]],
                "labels": [span["entity"]],
            },
        }
        for number, span in enumerate(item["spans"])
    ]
    data = {"item": item["item"], "question": QUESTIONS[item["kind"]], "title": item["title"] or "", "text": text}
    return {
        "data": {**data, "doc_type": TYPES[item["doc_type"]]},
        "predictions": [{"model_version": model_version, "result": result}],
    }


def read(data: bytes, reviewer: str) -> list[Verdict]:
    """The verdicts in a project's JSON export; tasks without an annotation are not yet read.

    Raises InputError, with every fault at once by task number, where it is no such export.
    """
    try:
        exported = orjson.loads(data)
    except orjson.JSONDecodeError:
        raise InputError("no JSON; send back Label Studio's export in its JSON format") from None
    if not isinstance(exported, list):
        raise InputError("no list of tasks; send back Label Studio's export in its JSON format")
    if any(
        isinstance(task, dict) and "annotations" not in task and {"item", "annotation_id"} <= task.keys() for task in exported
    ):
        raise InputError("this is Label Studio's export JSON-MIN, which leaves out how a task was answered; export it as JSON")
    verdicts, faults = [], []
    for number, task in enumerate(exported, start=1):
        try:
            done = [annotation for annotation in task["annotations"] if not annotation.get("was_cancelled")]
            item = str(task["data"]["item"])
            # A task may have several annotations, in the order of their making: what the reviewer said last holds.
            results = sorted(done, key=lambda annotation: str(annotation.get("updated_at")))[-1]["result"] if done else []
        except (KeyError, TypeError, AttributeError):
            faults.append(f"task {number}: is none of `review export`")
            continue
        if not results:
            continue
        try:
            verdict, defect, note = (_value(results, name) for name in ("verdict", "defect", "note"))
        except (AttributeError, KeyError, TypeError):
            faults.append(f"task {number}: is none of `review export`")
            continue
        if fault := fault_of(verdict, defect):
            faults.append(f"task {number}: {fault}")
        verdicts.append(Verdict(item, reviewer, verdict, defect, note))
    if faults:
        raise InputError("\n".join(faults))
    return verdicts


def _value(results: Sequence[Mapping[str, Any]], name: str) -> str:
    for result in results:
        if result.get("from_name") == name:
            value = result["value"]
            # Each line entered in a note is a text of its own.
            said = value.get("choices") or value.get("text") or ""
            return said if isinstance(said, str) else "\n".join(str(line) for line in said)
    return ""
