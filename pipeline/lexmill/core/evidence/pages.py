"""The files of ``evidence/``: tables and figures as JSON, the clauses as JSON and CSV, and all of it as a page for people.

::

    evidence/sources.json  sampling.json  deidentification.json  people.json  takedowns.json
    evidence/figures.json      every figure that clauses ask for: its value, how it is made, the file that it stands in
    evidence/clauses.json      clause → verdict → figures → path and sha256 of their files
    evidence/<standard>.csv    the same table for a spreadsheet
    evidence/index.html        all of this to be read and printed
"""

import csv
import hashlib
import io
from collections import Counter
from collections.abc import Mapping
from typing import Any

import jinja2
import orjson

from lexmill.core.evidence import tables
from lexmill.core.evidence.figures import DEID, PEOPLE, SAMPLING, SOURCES, TAKEDOWNS, described, figures
from lexmill.core.evidence.rules import Clause, StandardsRules
from lexmill.core.page import page_templates

INDEX = "evidence/index.html"
FIGURES, CLAUSES = "evidence/figures.json", "evidence/clauses.json"

NOT_CHECKED = (
    "各标准的条款原文没有逐字核对：条号和转述需由律师对照官方文本确认，本表不构成法律意见",
    "来源卡（来源、许可、合同、依据、同意、权利声明）由使用者填写，程序只核对是否填写，不核对真伪",
    "原始数据的取得过程（是否违反网站声明、是否超出合同范围）没有检查",
    "遗漏的姓名和间接标识：程序只能识别它认得的形式；漏失率只有人工抽检才能给出上限",
    "违法不良信息：只有运行文件 [screen] 列出的词表或模型检查过的部分；词表的规模和分类没有核对",
    "知识产权：没有比对作品库",
    "GB/T 45652-2025（预训练数据安全）、GB/T 45674-2025（数据标注安全）以及模型训练、服务上线阶段的要求不在本表范围",
)


def json_bytes(value: Any) -> bytes:
    """JSON for people and programs: sorted, indented, UTF-8."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def build(
    body: Mapping[str, Any],
    tombstones: Mapping[str, int],
    rules: StandardsRules,
    beside: Mapping[str, str],
    templates: Mapping[str, str],
    date: str,
) -> dict[str, bytes]:
    """Every file of the evidence by its path in the release.

    ``tombstones`` are documents taken down by day; ``beside`` maps files of the release that the evidence leads to, to their
    sha256; ``templates`` by name hold ``evidence.html.j2`` and what it includes; ``date`` is the day of publication (ISO 8601),
    which stands in the page alone.
    """
    made = {
        SOURCES: json_bytes(tables.sources(body)),
        SAMPLING: json_bytes(tables.sampling(body)),
        DEID: json_bytes(tables.deidentification(body)),
        PEOPLE: json_bytes(tables.people(body)),
        TAKEDOWNS: json_bytes(tables.takedowns(body, tombstones)),
    }
    measured = figures(body, tombstones)
    made[FIGURES] = json_bytes(
        {name: {"value": value, "file": described(name)[0], "how": described(name)[1]} for name, value in measured.items()}
    )
    sha256 = {**beside, **{path: hashlib.sha256(data).hexdigest() for path, data in made.items()}}
    standards = [
        {
            **standard.model_dump(include={"id", "title", "version", "in_force", "wording", "why"}),
            "clauses": [_row(clause, measured, sha256) for clause in rules.clauses_of(standard)],
        }
        for standard in rules.standard
    ]
    made[CLAUSES] = json_bytes({"release": body["release"], "standards": standards, "not_checked": NOT_CHECKED})
    for standard in standards:
        made[f"evidence/{standard['id'].removeprefix('standard.')}.csv"] = _csv(standard)
    sha256 |= {path: hashlib.sha256(data).hexdigest() for path, data in made.items()}
    made[INDEX] = _page(templates, body, tombstones, measured, standards, sha256, date)
    return dict(sorted(made.items()))


def verdicts(clauses: bytes) -> Counter[str]:
    """How many clauses have each verdict, from ``clauses.json``."""
    return Counter(clause["verdict"] for standard in orjson.loads(clauses)["standards"] for clause in standard["clauses"])


def _row(clause: Clause, measured: Mapping[str, float | None], sha256: Mapping[str, str]) -> dict[str, Any]:
    judged = clause.judge(measured)
    bounds = {each.figure: {"min": each.min, "max": each.max} for each in clause.requires}
    paths = list(dict.fromkeys(described(name)[0] for name in clause.figures))
    return {
        "id": clause.id,
        "number": clause.number or "条号需核对",
        "topic": clause.topic,
        "verdict": judged.verdict,
        "unmet": [each.figure for each in judged.unmet],
        "not_measured": list(judged.unmeasured),
        "ask": clause.ask,
        "figures": [
            {"name": name, "value": measured.get(name), "how": described(name)[1], **bounds.get(name, {"min": None, "max": None})}
            for name in clause.figures
        ],
        "evidence": [{"path": path, "sha256": sha256[path]} for path in paths],
    }


def _csv(standard: Mapping[str, Any]) -> bytes:
    """With a byte order mark, by which spreadsheets know UTF-8."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(("标准", "版本", "条号", "内容（转述）", "结论", "数字", "怎样得出", "证据", "sha256", "需人工核对"))
    for clause in standard["clauses"]:
        writer.writerow(
            (
                standard["title"],
                standard["version"],
                clause["number"],
                clause["topic"],
                clause["verdict"],
                "\n".join(f"{one['name']} = {_said(one['value'])}{_bounds(one)}" for one in clause["figures"]),
                "\n".join(f"{one['name']}：{one['how']}" for one in clause["figures"]),
                "\n".join(one["path"] for one in clause["evidence"]),
                "\n".join(one["sha256"] for one in clause["evidence"]),
                clause["ask"],
            )
        )
    return out.getvalue().encode("utf-8-sig")


def _said(value: float | None) -> str:
    if value is None:
        return "未测"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:.4g}"


def _bounds(figure: Mapping[str, Any]) -> str:
    low, high = figure["min"], figure["max"]
    said = [*(["≥ " + _said(low)] if low is not None else []), *(["≤ " + _said(high)] if high is not None else [])]
    return f"（{'，'.join(said)}）" if said else ""


def _page(
    templates: Mapping[str, str],
    body: Mapping[str, Any],
    tombstones: Mapping[str, int],
    measured: Mapping[str, float | None],
    standards: list[dict[str, Any]],
    sha256: Mapping[str, str],
    date: str,
) -> bytes:
    environment = page_templates(jinja2.DictLoader(dict(templates)))
    environment.filters |= {"said": _said, "bounds": _bounds}
    return (
        environment.get_template("evidence.html.j2")
        .render(
            body=body,
            date=date,
            figures=measured,
            standards=standards,
            sources=tables.sources(body),
            sampling=tables.sampling(body),
            deid=tables.deidentification(body),
            people=tables.people(body),
            takedowns=tables.takedowns(body, tombstones),
            not_checked=NOT_CHECKED,
            sha256=dict(sorted(sha256.items())),
            verdicts=Counter(clause["verdict"] for standard in standards for clause in standard["clauses"]),
        )
        .encode()
    )
