"""Guess the type of a legal document from a few cheap cues."""

import re
from itertools import islice

# Patterns that are looked for all over an opening begin with a character in each alternative: `re` then skips what cannot match.
# Enough to tell a type; texts are read no further.
_OPENING = 2000
_PREAMBLE = 1500
_FIRST = 300

_OPTIONS = re.compile(r"\n[ \t\u3000]*[(（]?[AＡ][)）.．、:：][^\n]*\n+[ \t\u3000]*[(（]?[BＢ][)）.．、:：]")
_CHOICE = r"[^。\n]{0,40}(?:正确|错误|不正确|適當|不包括|成立)的?(?:是|有|吗)"
_EXAM = re.compile(
    r"\n[【\[]?(?:正确|参考)?答案[】\]]?[ ]?[：:]|请给出详细的推理过程|请说明(?:理由|推理)"
    # 下 is rarer than 以.
    rf"|下(?:列|述|(?<=以下)){_CHOICE}|何者(?:正確|錯誤|有誤|為是|為非)"
)
_ARTICLE = re.compile(
    r"\n[ \t\u3000#*]*第[ \u3000]{0,2}[一二三四五六七八九十百千零0-9０-９]{1,7}[ \u3000]{0,2}[条條](?!的|规定|第|款)"
)
_STATUTE_TITLE = re.compile(
    r"\A[\s#]*[^\n，。？?]{2,70}(?:法|条例|條例|办法|辦法|规定|规则|細則|细则|规程|解释|决定|批复|意见|通知|答复|复函|修正案|纲要|章程|公约|典)"
    r"(?:[(（][^\n]{1,24}[)）]){0,2}[ \t]*\n"
)
_PASSES = "(?:通过|公布|发布|修正|修订|施行|批准)"
_PASSED = rf"[0-9]{{3}}年[0-9]{{1,2}}月[0-9]{{1,2}}日[^\n]{{0,60}}{_PASSES}[^\n]{{0,4}}\n"
_ENACTED = re.compile(rf"1{_PASSED}|2{_PASSED}")
# The end of such a line: few texts have one, and lines are fewer than dates.
_ENACTING_LINE = re.compile("\n(?:" + "|".join(rf"(?<={_PASSES}[^\n]{{{n}}}\n)" for n in range(5)) + ")")
_PURPOSE = re.compile(r"[為为]了?[^。]{2,200}制定本")
# A statute that a database cut loose from its title begins with a heading, an article or its number.
_STATUTE_START = re.compile(
    r"\A[\s#*]*(?:第[ \u3000]?[一二三四五六七八九十百千零0-9０-９]{1,7}[ \u3000]?分?[编編章节節条條]|附[则則]\n|1 [一茲本為依])"
)
_DIALOGUE = re.compile(r"\A\s*问[：:]")
_NUMBERED = r"书\s*\n?\s*[（(〔\[][0-9]{4}"
_DESCRIBED = r"[：:]?[^，。\n]{1,24}[，,][男女住]"
_JUDGMENT = re.compile(
    r"人民法院\s*(?:刑\s*事|民\s*事|行\s*政|执\s*行|赔\s*偿)"
    rf"|判决{_NUMBERED}|裁定{_NUMBERED}|决定{_NUMBERED}|调解{_NUMBERED}"
    r"|公诉机关|检察院[^。]{0,40}指控|诉称|辩称|审理查明|经查明|本院认为|判决如下|裁定如下"
    r"|被告人[^，。]{1,12}(?:[，,][男女]|于|在|伙同|驾驶|犯|到案|归案)"
    rf"|原告{_DESCRIBED}|上诉人{_DESCRIBED}|申请人{_DESCRIBED}|本院(?:经|根据|审理|确认|查明|对|予以|受理|依法)"
    r"|釋字第[ ]?[0-9]+[號号]|释字第[ ]?[0-9]+[號号]|憲判字第|大法官[^。\n]{0,20}(?:提出|意見書)|不同意見書|協同意見書"
)
# Headings of published cases; their titles are questions often enough.
_CASE = re.compile(
    r"\n[ \t#]*(?:基本案情|案情简介|案情回顾|简要案情|法官说法|以案说法|裁判要点|裁判结果|裁判理由|相关法条|处理结果|案例分析"
    r"|典型意义)[ \t]*\n"
)
_PARTIES = re.compile(r"原告|被告|被害人|证人|上诉人|附带民事")
_FACTS_FIRST = re.compile(
    r"\A\s*(?:当事人(?:围绕|对)|[一二]审|(?:上述|以上)事实|(?:本院)?(?:经|现)?(?:公开|开庭|庭审|本院|依法)?(?:审理|审查|综合)|经查|[^，,。]{0,40}(?:指控|诉称|查明)|本院(?:认为|确认|认定|根据|对|查明)|根据[^。]{0,60}(?:陈述|证据|本院)"
    r"|(?:原告|上诉人|申请人|原、被告|被告人|公诉机关)[^？?\n]{6,})"
)
_SIDE = r"[ \u3000]*方"
_SEALED = r"(?:盖章|签字|签章|公章)[）)]"
_CONTRACT = re.compile(
    rf"甲{_SIDE}|乙{_SIDE}|丙{_SIDE}|＿[＿_][＿_]|_[＿_][＿_]|—————|\*\*\*+|┌|××+(?:年|人|公司|省|市|县|法院)|年\u3000+月"
    r"|合同(?:编号|号码|双方)|协议(?:编号|号码|双方)|条款|出租方|承租方|发包方|承包方|委托方|受托方|转让方|受让方"
    rf"|（{_SEALED}|\({_SEALED}|签[ \u3000]*[字章][：:]|文书样式|格式[：:一二三四五]|文书的?(?:制作|格式)"
    r"|\n[ \t\u3000]*(?:此[ \u3000]*致|(?:申请|起诉|答辩|上诉|声明|委托|申诉|反诉|具状)人[：:（(])"
    r"|公证员|兹(?:证明|委托|有)"
)
_CONTRACT_TITLE = re.compile(
    r"\A[\s#]*[^\n，。？?]{0,40}"
    r"(?:合[ \u3000]*同|协[ \u3000]*议|契约|[书状表证单函册]|委托|格式|用[）)]|样本|范本|文书|公告|条[ \u3000]*款"
    r"|笔录|报告|说明|声明|制度|简历|通知|方案|摘要)"
    r"(?:[ ]?[(（][^\n]{1,12}[)）])?[ \u3000]*\n"
)
_ASKED = re.compile(
    r"[？?]|怎么|如何|[吗呢咋么嘛]|什么|哪|能否|是否|多少|多久|怎样|为何|有何|几[年个天]|合法|想问|请问|咨询|您好|你好|可以|需要"
)
# Exam hypotheticals are told of 甲 and 乙 or 张某, never of me, and end with the question.
_HYPOTHETICAL = re.compile(r"[甲乙丙丁][^乙方]|[\u4e00-\u9fff]某|[张李王赵刘陈孙周钱吴白郝][一二三四五六]|赵、钱|小[王李张刘]")
_ASIDE = re.compile(r"[我咱您你俺]")
_POSED = ("?", "？", "是", ":", "：", "为", "(", "（", ")", "）", "有")
_MIN_HYPOTHETICAL = 30
# By how much the signs of a judgment may be outweighed later.
_MOST_SHIFT = 6


def guess(text: str) -> str:
    """The likeliest of schema.DOC_TYPES, from the first 2,000 characters; a question with an answer where nothing else fits."""
    head = text[:_OPENING].lstrip()
    opening = f"\n{head}"
    is_exam = _OPTIONS.search(head) or _EXAM.search(opening)
    if is_exam and not (len(_CONTRACT.findall(head)) > 1 and _CONTRACT_TITLE.match(head)):
        return "exam"
    first = head.split("\n", 1)[0].rstrip()
    told = len(first) > _MIN_HYPOTHETICAL and len(head) > len(first) and first.endswith(_POSED)
    if len(_CASE.findall(head)) > 1:
        return "judgment"
    if _DIALOGUE.match(head):
        return "qa"
    if told and _HYPOTHETICAL.search(first) and not _ASIDE.search(first) and not _FACTS_FIRST.match(head):
        return "exam"
    asked = len(first) < _FIRST and len(head) > len(first) and bool(_ASKED.search(first))
    if asked and first.endswith(("?", "？", "吗")) and not first.startswith("#"):
        return "qa"
    articles = len(_ARTICLE.findall(opening))
    preamble = head[:_PREAMBLE]
    enacted = bool(_ENACTING_LINE.search(preamble) and _ENACTED.search(preamble))
    enacted = enacted or ("制定本" in preamble and bool(_PURPOSE.search(preamble)))
    statute = bool(_STATUTE_TITLE.match(head)) + enacted + bool(_STATUTE_START.match(head))
    contract = len(_CONTRACT.findall(head))
    # More signs than these decide nothing more.
    enough = max(articles + 3 * statute, contract + _MOST_SHIFT)
    judgment = sum(1 for _ in islice(_JUDGMENT.finditer(head), enough))
    if judgment < enough:
        judgment += len(_PARTIES.findall(head)) // 4
    if statute and articles + 3 * statute > contract + judgment:
        return "statute"
    if asked and articles < 2:
        contract, judgment = contract - 5, judgment - 2
    elif _FACTS_FIRST.match(head):
        return "judgment"
    elif _CONTRACT_TITLE.match(head):
        contract += 3
    if max(judgment, contract) > 0:
        return "judgment" if judgment > contract else "contract"
    return "statute" if articles > 1 else "qa"
