"""The workbook (XLSX) that a lawyer fills in: one row an item, drop-downs for the verdict, everything else protected."""

import datetime
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any

import xlsxwriter
from python_calamine import CalamineError, CalamineWorkbook

from lexmill.core.review.verdicts import BAD, DEFECTS, GOOD, Verdict
from lexmill.errors import InputError

SHEET, GUIDE = "审核", "说明"
ITEM, KIND, TYPE, TITLE, TEXT, VERDICT, DEFECT, NOTE = "编号", "审核内容", "文书类型", "标题", "正文", "判定", "缺陷", "备注"
QUESTIONS = {
    "kept": "保留的文书：可否入库",
    "dropped": "删除的文书：是否应删",
    "span": "遮盖处（【】内）：是否应遮盖",
}
TYPES = {"judgment": "裁判文书", "contract": "合同", "exam": "试题", "qa": "问答", "statute": "法律法规"}
_GUIDE = (
    "每行一项，请在“判定”栏选择“合格”或“不合格”；不合格的，请在“缺陷”栏选择最主要的一种，需要时在“备注”栏说明。",
    "“保留的文书”：正文应无可直接识别自然人的信息（姓名、证件号码、电话、住址、账号等），内容完整、无乱码。“张某1”“某某公司”是遮盖后的称谓，不是缺陷。",
    "“删除的文书”：删除正确的为“合格”；本应保留的为“不合格”，缺陷选“不应删除”。",
    "“遮盖处”：【】内的文字是替换后的称谓。该处确应遮盖的为“合格”；把普通词语、法院、法律名称等错误遮盖的为“不合格”，缺陷选“误遮盖”。",
    "部分项目会由两人分别审核，请独立判断。正文过长的，接续在“正文（续）”栏。其他栏目已锁定，请勿增删行。",
)
# A cell holds 32,767 UTF-16 code units (Excel's limit); no character takes more than two.
_CELL = 16_000
_MOST_CELLS = 12
_EPOCH = datetime.datetime(2000, 1, 1)


def write(items: Sequence[Mapping[str, Any]]) -> bytes:
    """The workbook for ``items`` (rows of ITEM), as the bytes of an XLSX file; the same items give the same bytes."""
    out = BytesIO()
    longest = max((len(_pieces(item["text"])) for item in items), default=1)
    texts = [TEXT, *(f"{TEXT}（续{number}）" for number in range(1, longest))]
    header = [ITEM, KIND, TYPE, TITLE, VERDICT, DEFECT, NOTE, *texts]
    with xlsxwriter.Workbook(out, {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False}) as book:
        locked = book.add_format({"text_wrap": True, "valign": "top", "border": 1, "border_color": "#d0d0d0"})
        free = book.add_format({"text_wrap": True, "valign": "top", "border": 1, "locked": False, "bg_color": "#fff8e1"})
        bold = book.add_format({"bold": True, "bg_color": "#eceff1", "border": 1})
        sheet = book.add_worksheet(SHEET)
        for column, name in enumerate(header):
            sheet.write_string(0, column, name, bold)
        for number, item in enumerate(items, start=1):
            fixed = [item["item"], QUESTIONS[item["kind"]], TYPES[item["doc_type"]], item["title"] or ""]
            for column, value in enumerate([*fixed, "", "", "", *_pieces(item["text"])]):
                kind = free if header[column] in (VERDICT, DEFECT, NOTE) else locked
                if value:
                    sheet.write_string(number, column, value, kind)
                else:
                    sheet.write_blank(number, column, None, kind)
            sheet.set_row(number, 240)
        if items:
            for name, choices in ((VERDICT, [GOOD, BAD]), (DEFECT, list(DEFECTS))):
                column = header.index(name)
                rule = {"validate": "list", "source": choices, "error_message": "请从下拉列表中选择"}
                sheet.data_validation(1, column, len(items), column, rule)
        sheet.set_column(0, 3, 14)
        sheet.set_column(4, 6, 16)
        sheet.set_column(7, 7 + longest, 110)
        sheet.freeze_panes(1, 1)
        sheet.protect("", {"format_columns": True, "format_rows": True, "autofilter": True, "sort": True})
        guide = book.add_worksheet(GUIDE)
        guide.set_column(0, 0, 120, book.add_format({"text_wrap": True, "valign": "top"}))
        for number, line in enumerate(_GUIDE):
            guide.write_string(number, 0, line)
        guide.protect()
        # A time of day would make equal content different bytes.
        book.set_properties({"title": "审核", "created": _EPOCH})
    return out.getvalue()


def _pieces(text: str) -> list[str]:
    pieces = [text[at : at + _CELL] for at in range(0, len(text), _CELL)] or [""]
    if len(pieces) > _MOST_CELLS:
        return [*pieces[:_MOST_CELLS], f"（全文共 {len(text)} 字，以下从略）"]
    return pieces


def read(data: bytes, reviewer: str) -> list[Verdict]:
    """The verdicts in a workbook that ``write`` made; rows without one are not yet read.

    Raises InputError, with every fault at once by row number, where it is no such workbook or holds something else than the
    drop-downs offer.
    """
    try:
        rows = CalamineWorkbook.from_filelike(BytesIO(data)).get_sheet_by_name(SHEET).to_python()
    except CalamineError:
        raise InputError(f"no workbook (XLSX) with a sheet {SHEET!r}; send back the file that `review export` made") from None
    columns = {str(name): number for number, name in enumerate(rows[0])} if rows else {}
    if missing := [name for name in (ITEM, VERDICT, DEFECT, NOTE) if name not in columns]:
        raise InputError(f"sheet {SHEET!r} lacks {', '.join(missing)}; send back the file that `review export` made")
    verdicts, faults = [], []
    for number, row in enumerate(rows[1:], start=2):
        item, verdict, defect, note = (str(row[columns[name]]).strip() for name in (ITEM, VERDICT, DEFECT, NOTE))
        if not verdict and not defect:
            continue
        if fault := fault_of(verdict, defect):
            faults.append(f"row {number}: {fault}")
        verdicts.append(Verdict(item, reviewer, verdict, defect, note))
    if faults:
        raise InputError("\n".join(faults))
    return verdicts


def fault_of(verdict: str, defect: str) -> str | None:
    """What is wrong with a verdict and its defect, if anything."""
    if verdict not in (GOOD, BAD):
        return f"{VERDICT} must be {GOOD} or {BAD}"
    if verdict == BAD and defect not in DEFECTS:
        return f"{BAD} needs a {DEFECT} of the list"
    if verdict == GOOD and defect:
        return f"{GOOD} goes with no {DEFECT}"
    return None
