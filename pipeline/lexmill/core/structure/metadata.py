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
_FIGURES = {ord(numeral): str(value) for numeral, value in _NUMERALS.items()}
# Patterns begin with one class of characters where they can: only then does `re` skip what cannot match.
_YEAR = (
    rf"[12１２一二民](?:(?<=[12１２])[0-9０-９]{{3}}|(?<=[一二])[{_ZERO}一二三四五六七八九]{{3}}"
    r"|(?P<era>(?<=民)\s*[国國])\s*[0-9０-９]{1,3})"
)
_ERA = re.compile(r"[民国國\s]")
_DAY = rf"(?:[0-9０-９]{{1,2}}|[元{_ZERO}一二三四五六七八九十廿]{{1,3}})"
_DATE = re.compile(rf"(?P<year>{_YEAR})\s*年\s*(?P<month>{_DAY})\s*月\s*(?P<day>{_DAY})\s*[日号號]")
_ISO = re.compile(r"(?<![0-9])([12][0-9]{3})([-/.]?)([01]?[0-9])\2([0-3]?[0-9])(?![0-9])")


def _number(numerals: str) -> int:
    """The value of 1 to 4 figures, place by place (二〇一九) or counted in tens (二十三, 廿三)."""
    if numerals.isdecimal():
        return int(numerals)
    numerals = numerals.replace("元", "一").replace("廿", "二十")
    if "十" not in numerals:
        return int(numerals.translate(_FIGURES))
    tens, units = numerals.split("十", 1)
    return 10 * (_NUMERALS[tens[-1]] if tens else 1) + (_NUMERALS[units[0]] if units else 0)


def _as_date(match: re.Match[str]) -> datetime.date | None:
    year = match["year"]
    if match["era"]:
        year = _ERA.sub("", year)
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


_SIGNATURE = re.compile(r"[审審陪执執法]\s*(?:[判审審行]\s*[长員员長]|官(?!\s*助))")
_CLERK = re.compile(r"\s*(?:法\s*官\s*助\s*理|(?:代\s*)?(?:见\s*习\s*)?[书書]\s*[记記]\s*[员官員])")
_OPERATIVE = ("判决如下", "裁定如下", "决定如下", "判決如下")
_FOOT = 300
_CHINESE_YEAR = re.compile(r"[一二]|民")


def _operative(text: str) -> int:
    """Where the last 判决如下 (裁定, 决定) stands, else -1; one search for what all have in common."""
    at = text.rfind("如下")
    while at >= 2 and text[at - 2 : at + 2] not in _OPERATIVE:
        at = text.rfind("如下", 0, at)
    return at - 2 if at >= 2 else -1


def _judgment_date(text: str) -> datetime.date | None:
    """The date under the judges' names; else before the clerk's; else the last one written out or on a line of its own."""
    operative = _operative(text)
    tail = text[operative:] if operative >= 0 else text[-_PREAMBLE:]
    # Judges nearly always sign at the very end.
    for begin in dict.fromkeys((max(len(tail) - _FOOT, 0), 0)):
        for signature in reversed(list(_SIGNATURE.finditer(tail, begin))):
            under = tail[signature.end() : signature.end() + 160]
            for _, date in _dates(under.split("。")[0]):
                return date
    written = None
    for match in _DATE.finditer(tail):
        before, after = tail[max(match.start() - 1, 0) : match.start()], tail[match.end() : match.end() + 1]
        is_clerks = _CLERK.match(tail, match.end())
        if is_clerks or (before in ("", "\n") and after in ("", "\n")) or _CHINESE_YEAR.match(match["year"]):
            found = _as_date(match)
            if found and is_clerks:
                return found
            written = found or written
    return written


_TITLE_VERSION = re.compile(r"[(（]([12][0-9]{3}-[01][0-9]-[0-3][0-9])[)）]")
# What makes a version; 施行 says when it takes effect, not which version it is.
_ENACTED = re.compile(r"(?:(?!起施行|[。；;])[^\n]){0,120}?(?:通过|修正|修订|修改|公布|发布|批准|颁布|印发|通過|修訂|制定|發布)")
_FIRST_ARTICLE = re.compile(r"^[ \t#*\u3000]*第\s*(?:一|1)\s*[条條]", re.MULTILINE)
_REVISED = tuple(f"{done}日期{colon}" for done in ("修正", "公布", "公發", "公发", "發布") for colon in "：:")


def _version_date(text: str, title: str | None) -> datetime.date | None:
    """The newest date of the title or the preamble on which the statute was passed, amended or published."""
    article = _FIRST_ARTICLE.search(text, 0, _PREAMBLE)
    preamble = text[: article.start() if article else _PREAMBLE]
    found = [parse_date(version) for version in _TITLE_VERSION.findall(f"{title or ''}\n{text[:200]}")]
    matches = list(_DATE.finditer(preamble))
    for number, match in enumerate(matches, 1):
        end = matches[number].start() if number < len(matches) else len(preamble)
        date = _as_date(match)
        if date and (_ENACTED.match(preamble, match.end(), end) or preamble[: match.start()].rstrip().endswith(_REVISED)):
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
# What runs into the name of a court in a sentence.
_BEFORE_COURT = re.compile(r".*(?:委托|纠纷向?|不服|该[法院]*院)")
_KIND = re.compile(r"(判\s*[决決]|裁\s*定|[调調]\s*解|[决決]\s*定|通\s*知)\s*[书書]|[释釋]字第|憲判字|支付令|笔录")
_TAIWAN_KIND = re.compile(r"(?:民事|刑事|行政|懲戒|簡易|宣示)\s*(判\s*決|裁\s*定)")
_KINDS = {"判": "判决书", "裁": "裁定书", "调": "调解书", "調": "调解书", "决": "决定书", "決": "决定书", "通": "通知书"}
_CLASS = re.compile(r"民事|刑\s*事|行政(?=判|裁|赔|调|決|决|附)|执行(?=裁|决|通)|国家赔偿|赔偿(?=决)")
_CLASSES = {"民": "民事", "刑": "刑事", "行": "行政", "执": "执行", "国": "赔偿", "赔": "赔偿"}
_CODED = {"刑": "刑事", "民": "民事", "行": "行政", "赔": "赔偿", "商": "民事"}
_TRIAL = re.compile(r"[一二]审|再审|执行(?=裁|通|决)")
_TRIALS = {"一": "一审", "二": "二审", "再": "再审", "执": "执行"}


# 民刑事件編號、計數、分案報結要點 of the Judicial Yuan: 台上 is the third instance, 上 and 抗 the second.
_TAIWAN_TRIALS = (
    (re.compile(r"再|非常|聲再"), "再审"),
    (re.compile(r"執|执"), "执行"),
    (re.compile(r"[台臺]"), "三审"),
    (re.compile(r"上|抗"), "二审"),
    (re.compile(r"訴|易|簡|金|重|交|審|婚|家|建|國|勞|保險|小"), "一审"),
)


def _taiwan_trial_level(printed: str | None) -> str | None:
    code = _TAIWAN_CODE.search(printed or "")
    if code is None:
        return None
    return next((level for pattern, level in _TAIWAN_TRIALS if pattern.search(code[1])), "其他")


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
    named = _TAIWAN_KIND.search(heading)
    if named:
        return _KINDS[named[1][0]]
    operative = _operative(text)
    if operative >= 0:
        return _KINDS[text[operative]]
    return "其他" if number else None


_OFFENCE = r"((?:(?!犯)[\u4e00-\u9fff、（）]){2,40}?罪)(?=[，,。；;、一于\s]|$)"
# What this case is about before what led to arrest; earlier convictions (曾因犯盗窃罪) are neither.
_CHARGES = (
    re.compile(rf"(?:指控|以被告人)[^。；]{{0,120}}?犯{_OFFENCE}"),
    re.compile(rf"犯{_OFFENCE}一案"),
    re.compile(rf"涉嫌犯?{_OFFENCE}"),
)
_SENTENCE = re.compile(rf"犯{_OFFENCE}[，,](?:系[^，。]{{1,6}}[，,])?(?:判处|免予|免除)")
# Ends of names in 民事案件案由规定 (法〔2020〕347号); party names stand before them without a border.
_CAUSE_NAMES = (
    "民间借贷|金融借款合同|借款合同|小额借款合同|企业借贷|买卖合同|房屋买卖合同|商品房(?:预|销|预售|销售|委托代理销售)合同|二手房买卖合同|网络购物合同|信息网络买卖合同"
    "|分期付款买卖合同|房屋租赁合同|租赁合同|融资租赁合同|车辆租赁合同|建筑设备租赁合同|土地租赁合同|建设工程施工合同|建设工程(?:分包|勘察|设计|监理|价款优先受偿权)?合同"
    "|装饰装修合同|劳务合同|劳动合同|劳动争议|劳务派遣合同|追索劳动报酬|工伤保险待遇|承揽合同|定作合同|加工合同|运输合同|保管合同|仓储合同|委托合同|委托理财合同|居间合同|中介合同"
    "|行纪合同|赠与合同|保证合同|抵押合同|质押合同|保证保险合同|财产保险合同|人身保险合同|责任保险合同|保险合同|保险人代位求偿权|信用卡|储蓄存款合同|银行卡|服务合同|网络服务合同|物业服务合同"
    "|教育培训合同|医疗服务合同|电信服务合同|供用(?:[水电气]|热力)合同|承包合同|农村土地承包合同|土地承包经营权[\u4e00-\u9fff]{0,6}|合伙合同|合伙协议|特许经营合同|技术(?:开发|委托开发|合作开发|转让|许可|咨询|服务|培训|中介|进口|出口)?合同"
    "|演出合同|旅游合同|典当|拍卖|悬赏广告|债权转让合同|债务转移合同|债权人代位权|债权人撤销权|追偿权|不当得利|无因管理|确认合同(?:无效|效力|有效)|合同"
    "|离婚(?:后财产|后损害责任)?|婚姻无效|撤销婚姻|同居关系(?:析产|子女抚养)?|婚约财产|抚养费?|变更抚养关系|赡养费?|扶养费?|探望权|收养关系|监护权|法定继承|遗嘱继承|遗赠|被继承人债务清偿|继承"
    "|分家析产|所有权确认|物权确认|物权保护|返还原物|排除妨害|消除危险|恢复原状|占有物返还|相邻关系|共有(?:物分割|权确认)?|业主(?:撤销权|知情权|共有权)|用益物权|宅基地使用权|建设用地使用权[\u4e00-\u9fff]{0,6}|财产损害赔偿"
    "|(?:非)?机动车交通事故责任|道路交通事故(?:人身|财产)损害赔偿|医疗损害责任|产品责任|产品(?:生产者|销售者)责任|饲养动物损害责任|高度危险责任|环境污染责任|物件损害责任|提供劳务者受害责任|提供劳务者致害责任|教育机构责任"
    "|义务帮工人受害责任|违反安全保障义务责任|网络侵权责任|生命权、(?:健康权|身体权)、(?:健康权|身体权)|生命权、身体权、健康权|健康权|生命权|身体权|名誉权|荣誉权|姓名权|肖像权|隐私权|一般人格权|人格权|侵权责任"
    "|侵害[\u4e00-\u9fff]{2,14}权|著作权[\u4e00-\u9fff]{0,8}|商标权?[\u4e00-\u9fff]{0,8}|专利权?[\u4e00-\u9fff]{0,8}|不正当竞争|侵害商业秘密|票据[\u4e00-\u9fff]{0,6}|证券[\u4e00-\u9fff]{0,8}|期货[\u4e00-\u9fff]{0,6}|信托"
    "|与公司有关的|股权转让|股东(?:资格确认|名册记载|出资|知情权|代表诉讼|损害公司债权人利益责任)|新增资本认购|请求(?:变更公司登记|公司收购股份)|公司(?:决议|决议(?:效力确认|撤销)|设立|证照返还|盈余分配|关联交易损害责任|合并|分立|减资|增资|解散|清算责任)"
    "|发起人责任|损害(?:股东|公司|公司债权人)利益责任|清算责任|破产[\u4e00-\u9fff]{0,8}|申请公司清算|案外人执行异议之诉|执行异议之诉|申请执行人执行异议之诉|第三人撤销之诉"
)
_CAUSE_END = re.compile(rf"(?:{_CAUSE_NAMES})\Z")
_STATED_CAUSE = re.compile(r"案由[：:]\s*([^\s，。；]{2,24})")
_LONGEST_CAUSE = 24


def _cause(title: str | None, text: str, case_class: str | None, is_taiwan: bool) -> str | None:
    opening = f"{title or ''}\n{text[:_OPENING]}"
    if is_taiwan:
        found = _TAIWAN_CAUSE.search(opening)
        return found[1] or found[2] if found else None
    if case_class == "刑事":
        charges = (charge.search(opening) for charge in _CHARGES)
        named = next((charge for charge in charges if charge), None) or _SENTENCE.search(text, max(_operative(text), 0))
        return named[1] if named else None
    stated = _STATED_CAUSE.search(opening) if "案由" in opening else None
    return stated[1] if stated else _dispute(opening)


def _dispute(opening: str) -> str | None:
    """The longest known name of a cause before the first 纠纷; where there is none, before 一案 or the stage in a title."""
    for mark in ("纠纷", "一案", "一审", "二审", "再审"):
        at = opening.find(mark)
        while at >= 0:
            name = _CAUSE_END.search(opening[max(at - _LONGEST_CAUSE, 0) : at])
            if name:
                return name[0] + ("纠纷" if mark == "纠纷" else "")
            at = opening.find(mark, at + 2)
    return None


_TAIWAN_CODE = re.compile(r"年度?\s*([\u4e00-\u9fff]{1,8}?)字第")
_TAIWAN_CAUSE = re.compile(
    r"(?:裁判)?案由[：:]\s*([^\s，。；]{2,24})|因(?:被告)?([\u4e00-\u9fff]{2,20}?)(?:等)?(?:案件|事件)[，,]"
)
_TAIWAN_NUMBER = re.compile(
    r"[0-9]{2,3}\s*年度?\s*[\u4e00-\u9fff]{1,8}字第\s*[0-9]{1,7}\s*[號号]|[釋释]字第\s*[0-9]{1,4}\s*[號号]"
)


def _printed_number(stated: str, heading: str, text: str, is_taiwan: bool) -> tuple[str | None, CaseNumber | None]:
    """The number of the document as printed, and taken apart: the record's own where it is one, else the first of the heading."""
    if stated:
        numbers = casenumber.find(stated)
        if numbers or (is_taiwan and _TAIWAN_NUMBER.search(stated)):
            return stated, numbers[0] if numbers else None
    numbers = casenumber.find(heading)
    if numbers:
        return heading[numbers[0].start : numbers[0].end], numbers[0]
    taiwan = _TAIWAN_NUMBER.search(text, 0, _HEADING) if is_taiwan else None
    return (taiwan[0] if taiwan else None), None


def _judgment(text: str, title: str | None, given: Mapping[str, str], jurisdiction: str) -> dict[str, object]:
    is_taiwan = jurisdiction == "TW"
    own_heading = casenumber.heading(text)
    printed, number = _printed_number(given.get("case_number", "").strip(), own_heading, text, is_taiwan)
    heading = f"{title or ''}\n{own_heading}"
    named = _COURT.search(given.get("court", "").strip()) or _COURT.search(heading)
    court = _BEFORE_COURT.sub("", named[1]) if named else None
    case_class = _case_class(number, heading)
    return {
        "case_number": printed,
        "court": court,
        "court_level": _court_level(court, number),
        "trial_level": (_taiwan_trial_level(printed) if is_taiwan else None) or _trial_level(number, heading),
        "document_kind": _document_kind(text, heading, number),
        "case_class": case_class,
        "cause": given.get("cause", "").strip() or _cause(title, text, case_class, is_taiwan),
        "judgment_date": parse_date(given.get("date", "")) or _judgment_date(text),
    }


_NAME = re.compile(
    r"[^\n，。？?：:]{1,70}(?:法|法典|条例|條例|办法|辦法|规定|規定|规则|規則|細則|细则|规程|規程|解释|解釋|决定|批复|意见|通知|答复|复函|修正案|纲要|綱要|守则|守則|决议|決議|条文|條文|条款|條款|程序|章程|公约|準則|准则|標準|标准|要點)"
)
_VERSION_MARK = re.compile(r"\s*[(（][^()（）]{0,8}(?:[12][0-9]{3}|已?废止|已?失效|修[订正])[^()（）]{0,12}[)）]\s*$")
_STATUS = re.compile(
    r"(?:时效性?|效力(?:状态)?|状态|時效|法規狀態)[：:]\s*(?:现行)?(有效|已?被?修[改订正]|已?废止|失效|尚未(?:生效|施行)|部分失效)"
    r"|[(（]\s*(已?废止|已?廢止|失效|尚未(?:生效|施行))\s*[)）]|(廢止)日期[：:]"
)
_STATUSES = (("有效", "现行有效"), ("修", "已修改"), ("部分", "已修改"), ("尚未", "尚未施行"), ("", "已废止"))
_STATUS_WITHIN = 400


def _statute(text: str, title: str | None) -> dict[str, object]:
    first = text.lstrip().partition("\n")[0]
    name = next((one for one in (_bare_name(title or ""), _bare_name(first)) if _NAME.fullmatch(one)), None)
    stated = _STATUS.search(f"{title or ''}\n{text[:_STATUS_WITHIN]}")
    word = next(filter(None, stated.groups())) if stated else ""
    status = next(status for mark, status in _STATUSES if mark in word) if word else None
    return {"version_date": _version_date(text, title), "statute_title": name, "status": status}


def _bare_name(line: str) -> str:
    line = line.strip("# \t\u3000《》")
    while (shorter := _VERSION_MARK.sub("", line)) != line:
        line = shorter
    return line.strip("《》")


_EXAM_YEAR = re.compile(
    r"(?<![0-9])((?:19|20)[0-9]{2})\s*(?:年[^\n，。]{0,24}?(?:司考|司法考试|法考|法律职业资格|律师资格|资格考试|真题|试卷|试题|卷[一二三四])|[/-][1-4一二三四]?[/-]?(?:卷|[0-9]{1,3}\b))"
    r"|(?<![0-9])([0-9]{2,3})年(?:度)?(?:公務人員|專門職業|第[一二]次|司法)[^\n]{0,30}考試"
)
_EXAM_ANSWER = re.compile(
    r"(?:^|\n)[【\[（(]?(?:正确|正確|参考|參考|标准|本题|试题)?答案[】\]）)]?\s*(?:[：:]|是|为)?\s*"
    r"([A-HＡ-Ｈ](?:[、,， ]?[A-HＡ-Ｈ]){0,7})(?![A-Za-z])"
)
_LETTERS = {ord("Ａ") + number: chr(ord("A") + number) for number in range(8)} | dict.fromkeys(map(ord, "、,， "))


def _exam(text: str, title: str | None) -> dict[str, object]:
    year = _EXAM_YEAR.search(f"{title or ''}\n{text[:_HEADING]}")
    answer = _EXAM_ANSWER.search(text)
    return {
        "exam_year": (int(year[1]) if year[1] else int(year[2]) + 1911) if year else None,
        "answer": answer[1].translate(_LETTERS) if answer else None,
    }


_UNKNOWN = dict.fromkeys(field.name for field in META)


def metadata(text: str, doc_type: str, title: str | None, given: Mapping[str, str], jurisdiction: str) -> dict[str, object]:
    """The fields of schema.META for one document; None where unknown, dates as ``datetime.date``.

    ``given`` holds the record's own ``case_number``, ``court``, ``cause`` and ``date``, if any; each wins where it parses.
    Levels and classes follow the type codes of 法〔2015〕137号, then the heading.
    """
    known: dict[str, object] = {}
    if doc_type == "judgment":
        known = _judgment(text, title, given, jurisdiction)
    elif doc_type == "statute":
        known = _statute(text, title)
    elif doc_type == "exam":
        known = _exam(text, title)
    return {**_UNKNOWN, **known, "jurisdiction": jurisdiction}
