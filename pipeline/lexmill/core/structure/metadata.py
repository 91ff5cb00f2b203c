"""What a document says of itself: number, court, level, kind, cause and date of a judgment; the version of a statute."""

import datetime
import re
from collections.abc import Iterator, Mapping

from lexmill.core.structure import casenumber
from lexmill.core.structure.casenumber import CaseNumber
from lexmill.schema import META

_HEADING = 400
_OPENING = 1500
_PREAMBLE = 3000

_ZERO = "0０〇零○◯OoＯｏΟ"
_NUMERALS = {numeral: value for value, group in enumerate((_ZERO, *"一二三四五六七八九")) for numeral in group}
_NUMERALS |= {chr(ord("０") + value): value for value in range(10)} | {str(value): value for value in range(10)}
_YEAR = rf"(?:(?P<era>民\s*[国國])\s*[0-9０-９]{{1,3}}|[12１２][0-9０-９]{{3}}|[一二][{_ZERO}一二三四五六七八九]{{3}})"
_DAY = rf"(?:[0-9０-９]{{1,2}}|[元{_ZERO}一二三四五六七八九十廿]{{1,3}})"
_DATE = re.compile(rf"(?P<year>{_YEAR})\s*年\s*(?P<month>{_DAY})\s*月\s*(?P<day>{_DAY})\s*[日号號]")
_ISO = re.compile(r"(?<![0-9])([12][0-9]{3})([-/.]?)([01]?[0-9])\2([0-3]?[0-9])(?![0-9])")


def _number(numerals: str) -> int:
    """The value of 1 to 4 figures, place by place (二〇一九) or counted in tens (二十三, 廿三)."""
    numerals = numerals.replace("元", "一").replace("廿", "二十")
    if "十" not in numerals:
        return int("".join(str(_NUMERALS[numeral]) for numeral in numerals))
    tens, units = numerals.split("十", 1)
    return 10 * (_NUMERALS[tens[-1]] if tens else 1) + (_NUMERALS[units[0]] if units else 0)


def _as_date(match: re.Match[str]) -> datetime.date | None:
    year = re.sub(r"[民国國\s]", "", match["year"])
    try:
        return datetime.date(_number(year) + (1911 if match["era"] else 0), _number(match["month"]), _number(match["day"]))
    except (ValueError, KeyError):  # no such day, or numerals that are no number (十十)
        return None


def _dates(text: str) -> Iterator[tuple[re.Match[str], datetime.date]]:
    for match in _DATE.finditer(text):
        date = _as_date(match)
        if date:
            yield match, date


def parse_date(text: str) -> datetime.date | None:
    """The first date of ``text`` (2019年3月12日, 二〇一九年三月十二日, 民國108年3月12日, 2019-03-12, 20190312), else None."""
    for _, date in _dates(text):
        return date
    for match in _ISO.finditer(text):
        try:
            return datetime.date(int(match[1]), int(match[3]), int(match[4]))
        except ValueError:
            continue
    return None


_SIGNATURE = re.compile(r"(?:审\s*判|陪\s*审|執\s*行|执\s*行|審\s*判)\s*[长員员長]|法\s*官(?!\s*助)")
_CLERK = re.compile(r"\s*(?:法\s*官\s*助\s*理|(?:代\s*)?(?:见\s*习\s*)?[书書]\s*[记記]\s*[员官員])")
_OPERATIVE = ("判决如下", "裁定如下", "决定如下", "判決如下", "主文")
_CHINESE_YEAR = re.compile(r"[一二]|民")


def _judgment_date(text: str) -> datetime.date | None:
    """The date under the judges' names; else before the clerk's; else the last one written out or on a line of its own."""
    operative = max(text.rfind(cue) for cue in _OPERATIVE)
    tail = text[operative:] if operative >= 0 else text[-_PREAMBLE:]
    for signature in reversed(list(_SIGNATURE.finditer(tail))):
        under = tail[signature.end() : signature.end() + 160]
        for _, date in _dates(under.split("。")[0]):
            return date
    written = None
    for match, date in _dates(tail):
        if _CLERK.match(tail, match.end()):
            return date
        alone = tail[match.end() : match.end() + 1] in ("", "\n") and tail[max(match.start() - 1, 0) : match.start()] in (
            "",
            "\n",
        )
        if alone or _CHINESE_YEAR.match(match["year"]):
            written = date
    return written


_TITLE_VERSION = re.compile(r"[(（]([12][0-9]{3}-[01][0-9]-[0-3][0-9])[)）]")
# What makes a version; 施行 says when it takes effect, not which version it is.
_ENACTED = re.compile(r"(?:(?!起施行|[。；;])[^\n]){0,120}?(?:通过|修正|修订|修改|公布|发布|批准|颁布|印发|通過|修訂|制定|發布)")
_FIRST_ARTICLE = re.compile(r"^[ \t#*\u3000]*第\s*(?:一|1)\s*[条條]", re.MULTILINE)
_REVISED = re.compile(r"(?:修正|公[布發发]|發布)日期[：:]\s*$")


def _version_date(text: str, title: str | None) -> datetime.date | None:
    """The newest date of the title or the preamble on which the statute was passed, amended or published."""
    article = _FIRST_ARTICLE.search(text, 0, _PREAMBLE)
    preamble = text[: article.start() if article else _PREAMBLE]
    found = [parse_date(version) for version in _TITLE_VERSION.findall(f"{title or ''}\n{text[:200]}")]
    for match, date in _dates(preamble):
        following = _DATE.search(preamble, match.end())
        end = following.start() if following else len(preamble)
        if _ENACTED.match(preamble, match.end(), end) or _REVISED.search(preamble, 0, match.start()):
            found.append(date)
    return max((date for date in found if date), default=None)


# 审理法院：, 上诉于 … are not names: a court's name says what kind of court it is.
_COURT = re.compile(
    r"(?:^|[^\u4e00-\u9fff×xX*＊]|[号號书書])"
    r"([\u4e00-\u9fff×xX*＊]{1,24}?"
    r"(?:人民|海事|知识产权|互联网|金融|(?:铁路)?运输(?:中级|基层)?|军事|林区(?:中级|基层)?|林业|垦区|农垦|油田|矿区|开发区"
    r"|最高|高等|地方|行政|智慧財產|智慧財產及商業|少年及家事|懲戒)法院|憲法法庭)",
    re.MULTILINE,
)
_KIND = re.compile(r"(判\s*[决決]|裁\s*定|[调調]\s*解|[决決]\s*定|通\s*知)\s*[书書]|[释釋]字第|憲判字|支付令|笔录")
_KINDS = {"判": "判决书", "裁": "裁定书", "调": "调解书", "調": "调解书", "决": "决定书", "決": "决定书", "通": "通知书"}
_CLASS = re.compile(r"民事|刑\s*事|行政(?=判|裁|赔|调|決|决|附)|执行(?=裁|决|通)|国家赔偿|赔偿(?=决)")
_CLASSES = {"民": "民事", "刑": "刑事", "行": "行政", "执": "执行", "国": "赔偿", "赔": "赔偿"}
_CODED = {"刑": "刑事", "民": "民事", "行": "行政", "赔": "赔偿", "商": "民事"}
_TRIAL = re.compile(r"[一二]审|再审|执行(?=裁|通|决)")
_TRIALS = {"一": "一审", "二": "二审", "再": "再审", "执": "执行"}


def _court_level(court: str | None, number: CaseNumber | None) -> str | None:
    if court:
        if court.startswith(("最高", "中华人民共和国最高")):
            return "最高"
        if "高级" in court or "高等" in court:
            return "高级"
        if not court.endswith(("人民法院", "地方法院")):
            return "专门"
        return "中级" if "中级" in court else "基层"
    # 法〔2015〕137号: the court code is 最高法, or the province with no figure, two, or four; 7x is a special court.
    code = number.court if number else ""
    figures = code[1:]
    if code == "最高法":
        return "最高"
    if figures.isdigit() and len(figures) in (2, 4):
        if figures.startswith("7"):
            return "专门"
        return "中级" if len(figures) == 2 else "基层"
    return None


def _is_enforcement(code: str) -> bool:
    return code.startswith("执") or (code.endswith("执") and not code.startswith(("刑", "司")))


def _trial_level(number: CaseNumber | None, heading: str) -> str | None:
    code = number.type if number else ""
    if _is_enforcement(code):
        return "执行"
    # 破申 and 清申 are applications for bankruptcy and liquidation.
    if re.search(r"[再监抗提]|(?<![破清])申", code):
        return "再审"
    if "终" in code:
        return "二审"
    if "初" in code:
        return "一审"
    named = _TRIAL.search(heading)
    if named:
        return _TRIALS[named[0][0]]
    return "其他" if number else None


def _case_class(number: CaseNumber | None, heading: str) -> str | None:
    code = number.type if number else ""
    if _is_enforcement(code):
        return "执行"
    coded = re.search(r"[刑民行赔商]", code) if not code.startswith("司") else None
    if coded:
        return _CODED[coded[0]]
    named = _CLASS.search(heading)
    if named:
        return _CLASSES[named[0][0]]
    return "其他" if number else None


def _document_kind(text: str, heading: str, number: CaseNumber | None) -> str | None:
    named = _KIND.search(heading)
    if named:
        return _KINDS.get(named[0][0], "其他")
    decided = max(_OPERATIVE[:-1], key=text.rfind)
    if decided in text:
        return _KINDS[decided[0]]
    return "其他" if number else None


_OFFENCE = r"((?:(?!犯)[\u4e00-\u9fff、（）]){2,40}?罪)(?=[，,。；;、一于\s]|$)"
# What this case is about before what led to arrest; earlier convictions (曾因犯盗窃罪) are neither.
_CHARGES = (
    re.compile(rf"(?:指控|以被告人)[^。；]{{0,120}}?犯{_OFFENCE}"),
    re.compile(rf"犯{_OFFENCE}一案"),
    re.compile(rf"涉嫌犯?{_OFFENCE}"),
)
# Last part of names in 民事案件案由规定 (法〔2020〕347号); party names stand before it without a border.
_CIVIL = (
    "民间借贷|金融借款合同|借款合同|小额借款合同|买卖合同|房屋买卖合同|商品房(?:预|销)售合同|房屋租赁合同|租赁合同|融资租赁合同|建设工程施工合同|建设工程合同|装饰装修合同"
    "|劳务合同|劳动合同|劳动争议|劳务派遣合同|承揽合同|定作合同|加工合同|运输合同|保管合同|仓储合同|委托合同|居间合同|中介合同|行纪合同|赠与合同|保证合同|抵押合同|质押合同"
    "|保证保险合同|财产保险合同|人身保险合同|保险合同|信用卡|储蓄存款合同|服务合同|物业服务合同|供用[水电气热]+力?合同|承包合同|土地承包经营权|合伙合同|合伙协议|特许经营合同"
    "|技术合同|演出合同|旅游合同|股权转让|债权转让合同|追偿权|不当得利|无因管理|确认合同(?:无效|效力)|合同|离婚(?:后财产|后损害责任)?|同居关系(?:析产|子女抚养)?|婚约财产|抚养费?|变更抚养关系|赡养费?|扶养|探望权"
    "|法定继承|遗嘱继承|继承|分家析产|所有权确认|物权保护|返还原物|排除妨害|相邻关系|共有|用益物权|机动车交通事故责任|医疗损害责任|产品责任|提供劳务者受害责任|生命权、(?:健康权|身体权)、(?:健康权|身体权)"
    "|健康权|生命权|身体权|名誉权|肖像权|隐私权|人格权|侵权责任|财产损害赔偿|侵害[\u4e00-\u9fff]{2,14}权|著作权[\u4e00-\u9fff]{0,8}|商标权[\u4e00-\u9fff]{0,8}|专利权[\u4e00-\u9fff]{0,8}|不正当竞争|票据[\u4e00-\u9fff]{0,6}"
    "|公司[\u4e00-\u9fff]{2,8}|破产[\u4e00-\u9fff]{0,8}|案外人执行异议之诉"
)
_DISPUTE = re.compile(
    rf"(?:案由[：:]\s*([^\s，。；]{{2,24}}))|((?:{_CIVIL})(?:纠纷)?)(?:一案|(?=[一二再]审|民事))|((?:{_CIVIL})纠纷)"
)


def _cause(opening: str, case_class: str | None) -> str | None:
    if case_class == "刑事":
        charges = (charge.search(opening) for charge in _CHARGES)
        return next((charge[1] for charge in charges if charge), None)
    dispute = _DISPUTE.search(opening)
    return next((cause for cause in dispute.groups() if cause), None) if dispute else None


_TAIWAN_NUMBER = re.compile(
    r"[0-9]{2,3}\s*年度?\s*[\u4e00-\u9fff]{1,8}字第\s*[0-9]{1,7}\s*[號号]|[釋释]字第\s*[0-9]{1,4}\s*[號号]"
)


def _printed_number(text: str, doc_type: str, jurisdiction: str) -> tuple[str | None, CaseNumber | None]:
    number = casenumber.own(text, doc_type)
    if number:
        return text[number.start : number.end], number
    taiwan = _TAIWAN_NUMBER.search(text, 0, _HEADING) if jurisdiction == "TW" else None
    return (taiwan[0] if taiwan else None), None


def _judgment(text: str, title: str | None, given: Mapping[str, str], jurisdiction: str) -> dict[str, object]:
    printed, number = _printed_number(text, "judgment", jurisdiction)
    stated = given.get("case_number", "").strip()
    numbers = casenumber.find(stated)
    if numbers or (jurisdiction == "TW" and _TAIWAN_NUMBER.search(stated)):
        printed, number = stated, numbers[0] if numbers else None
    heading = f"{title or ''}\n{casenumber.heading(text)}"
    named = _COURT.search(given.get("court", "").strip()) or _COURT.search(heading)
    court = named[1] if named else None
    case_class = _case_class(number, heading)
    return {
        "case_number": printed,
        "court": court,
        "court_level": _court_level(court, number),
        "trial_level": _trial_level(number, heading),
        "document_kind": _document_kind(text, heading, number),
        "case_class": case_class,
        "cause": given.get("cause", "").strip() or _cause(f"{title or ''}\n{text[:_OPENING]}", case_class),
        "judgment_date": parse_date(given.get("date", "")) or _judgment_date(text),
    }


def metadata(text: str, doc_type: str, title: str | None, given: Mapping[str, str], jurisdiction: str) -> dict[str, object]:
    """The fields of schema.META for one document; None where unknown, dates as ``datetime.date``.

    ``given`` holds the record's own ``case_number``, ``court``, ``cause`` and ``date``, if any; each wins where it parses.
    Levels and classes follow the type codes of 法〔2015〕137号, then the heading.
    """
    known: dict[str, object] = {}
    if doc_type == "judgment":
        known = _judgment(text, title, given, jurisdiction)
    elif doc_type == "statute":
        known = {"version_date": _version_date(text, title)}
    return {field.name: known.get(field.name) for field in META} | {"jurisdiction": jurisdiction}
