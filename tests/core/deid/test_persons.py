"""Names of people: by role, in lists, through the document; what is no name."""

import pytest

from lexmill.core.deid.detector import Detector
from lexmill.core.deid.mask import mask
from lexmill.core.deid.persons import PersonScanner
from lexmill.core.deid.rules import DeidRules, read_marks
from lexmill.core.deid.tagger import Mention
from lexmill.core.deid.zones import ZoneScanner

FOUND = [
    "原告：⟦章若岚⟧，女，汉族。被告⟦卞长庚⟧，男。",
    "上诉人（原审被告）：⟦曲仲元⟧，男，汉族。",
    "被告人⟦欧阳立谦⟧犯盗窃罪，⟦欧阳立谦⟧认罪。",
    "被告人⟦阿依古丽·买合木提⟧，女，维吾尔族。",
    "被告人⟦拉玛次仁⟧，男，藏族。",
    "证人⟦曲仲元⟧、⟦邝秋池⟧、⟦莫如松⟧的证言",
    "审 判 长  ⟦邵 启⟧\n审 判 员  ⟦桑怀瑜⟧\n书 记 员  ⟦邝秋池⟧\n",
    "法定代表人：⟦翁伯韬⟧，董事长。",
    "委托诉讼代理人：⟦裴松年⟧，律师。",
    "甲方（签字）：⟦卞长庚⟧\n乙方（签字）：⟦佟雨薇⟧\n",
    "经⟦卞长庚⟧介绍，原告⟦佟雨薇⟧认识被告⟦卞长庚⟧。",
    "其妻⟦佟雨薇⟧证实",
    "⟦卞长庚⟧与⟦佟雨薇⟧离婚纠纷一审民事判决书",
    "与被告⟦曲仲元⟧民间借贷纠纷一案",
    "被告人⟦卞长庚⟧（绰号“⟦铁拐⟧”），⟦铁拐⟧到案。",
    "申请执行人⟦佟雨薇⟧与被执行人⟦曲仲元⟧",
    "供方（甲方）：⟦卞长庚⟧\n身份证号：×××\n承运人（乙方）：⟦扎西多吉⟧\n",
    "法定代表人：⟦令狐骁⟧，董事长。辩护人⟦约翰·林德⟧，律师。",
    "原告乘坐⟦佟雨薇⟧驾驶的客车，与⟦石婷⟧驾驶的轿车相撞",
    "双方经⟦莫如松⟧联系，货物由⟦佟雨薇⟧签收。",
    "从⟦佟雨薇⟧处了解到，⟦曲仲元⟧将租赁权转出。",
    "骗得⟦阿不都·热合曼⟧等人的押金，随后⟦巴图孟克⟧报警。",
    "指派检察员⟦黄倩⟧出庭支持公诉",
    "被告人⟦卢邓秀莲⟧犯盗窃罪，证人⟦蔡吴月云⟧的证言",
    "本人⟦佟雨薇⟧，电话×××。律师您好，我叫⟦卞长庚⟧，请问",
]
FOUND += [
    "被告人⟦卞长庚⟧、⟦石油⟧、⟦曲仲元⟧到庭受审",
    "原告⟦莫如松⟧及其妻⟦佟雨薇⟧通过兴业银行账户转账50000元",
    "被告人⟦卞长庚⟧未向⟦米倩⟧正确解读市政府会议纪要，⟦米倩⟧签收。证人⟦米倩⟧证实",
    "联系人：⟦文明⟧　联系电话：×××",
    "邻居⟦约翰·史密斯⟧（⟦John Smith⟧）听到呼救后打开门",
]
NO_NAMES = [
    "此外，被告性格差、脾气不好，双方经常吵架。",
    "婚生女张乙随原告张甲共同生活，二被告未举证。",
    "查看了被害人伤情照片、诊断证明书等材料。",
    "经他帮助介绍，双方相识。",
    "被告方应于判决生效之日起十日内支付原告货款。",
    "被告人归案后如实供述，当庭认罪。",
    "被害人陈述、证人证言、被告人供述和辩解。",
    "原告向本院提出诉讼请求，被告未答辩。",
    "当事人应当按照约定全面履行自己的义务。",
    "杭州市西湖区人民法院、浙江省高级人民法院、高明区公安局",
    "《中华人民共和国民法典》第五百零九条",
    "张某某、李某1、李某甲、王×、王XX、欧阳某到庭。",
    "被告人张某，男，1985年×月×日出生。",
    "原告：某某公司1。法定代表人：李某1，经理。",
    "本人申请，经双方联系，由法院签收，从原告处取得。",
    "国家机关工作人员玩忽职守、滥用职权、徇私舞弊",
    "由有关部门责令关闭；向海洋排放；使用南水北调供水的",
]


@pytest.mark.parametrize("example", FOUND)
def test_found(example: str, strict: Detector) -> None:
    text, spans = read_marks(example)
    assert [(span.start, span.end) for span in strict.detect(text, "judgment") if span.entity == "PERSON"] == spans


@pytest.mark.parametrize("text", NO_NAMES)
def test_no_names(text: str, strict: Detector) -> None:
    assert [text[span.start : span.end] for span in strict.detect(text, "judgment") if span.entity == "PERSON"] == []


def test_a_name_inside_the_name_of_a_court_stays(strict: Detector) -> None:
    text = "原告高明，男。佛山市高明区人民法院受理高明的起诉。"
    persons = [span.start for span in strict.detect(text, "judgment") if span.entity == "PERSON"]
    assert persons == [2, text.rindex("高明")]


@pytest.mark.parametrize(
    ("title", "person"),
    [
        ("卡里姆·本德危险驾驶一审刑事判决书", "卡里姆·本德"),
        ("阿依古丽·买合木提重大责任事故一审刑事判决书", "阿依古丽·买合木提"),
        ("邝秋危险驾驶一审刑事判决书", "邝秋"),
        ("邝秋妨害公务一审刑事判决书", "邝秋"),
    ],
)
def test_a_title_does_not_lengthen_the_name_of_the_text(title: str, person: str, strict: Detector) -> None:
    text = f"被告人{person}，男。\n\x1e\n{title}"
    assert [text[span.start : span.end] for span in strict.detect(text, "judgment")] == [person, person]


def test_a_masked_party_does_not_lend_its_guardian_to_the_one_before(spc: Detector) -> None:
    text = "原告章若岚，女。被告张某，男。法定代理人曲仲元。民间借贷纠纷一案"
    assert [text[span.start : span.end] for span in spc.detect(text, "judgment")] == ["曲仲元"]


def test_the_longer_of_two_names_is_taken_first(strict: Detector) -> None:
    text = "被告人曲仲，男。被告人曲仲元，男。曲仲元与曲仲共谋。"
    found = [text[span.start : span.end] for span in strict.detect(text, "judgment") if span.entity == "PERSON"]
    assert found == ["曲仲", "曲仲元", "曲仲元", "曲仲"]


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("原告：章若岚，女。委托诉讼代理人：裴松年，律师。民间借贷纠纷一案", []),
        ("原告：章若岚，女。被告卞长庚，男。离婚纠纷一案", ["章若岚", "卞长庚"]),
        ("被害人佟雨薇陈述，证人曲仲元的证言，审判员邝秋池", ["佟雨薇", "曲仲元"]),
        ("原告：章若岚，男。法定代理人：章伯年，系其父亲。人身损害赔偿纠纷", ["章若岚", "章伯年"]),
    ],
)
def test_spc2016_masks_the_persons_of_article_8(text: str, masked: list[str], spc: Detector) -> None:
    assert [text[span.start : span.end] for span in spc.detect(text, "judgment") if span.entity == "PERSON"] == masked


@pytest.mark.parametrize("doc_type", ["judgment", "qa", "exam"])
def test_words_of_a_traditional_text_are_nobody(doc_type: str, strict: Detector) -> None:
    text = "公務員於退休時，應依該條規定請領退休金，並將其額與原額對照審議。公務員不服者，得提起訴願。"
    assert strict.detect(text, doc_type) == []


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("原告阿依古丽·买买提到庭。经阿依古丽·买买提多次催要，阿依古丽·买买提通过银行转账。", ("多次催要", "通过银行")),
        ("被告尹伟到庭。经催要，尹伟未还款。", ("未还款",)),
        ("经催要，尹伟未还款，尹伟已离开，后尹伟并未返回。", ("未还款", "已离开", "并未返回")),
    ],
)
def test_a_word_behind_a_name_stays(text: str, kept: tuple[str, ...], strict: Detector) -> None:
    masked = mask(text, "judgment", strict).text
    assert all(words in masked for words in kept), masked
    assert "尹伟" not in masked
    assert "买买提" not in masked


@pytest.mark.parametrize(
    ("text", "torn", "whole"),
    [
        ("随后卞长庚、佟雨薇离开", "卞长", "卞长庚"),
        ("随后与卞长庚、佟雨薇离开", "与卞长", "卞长庚"),
        ("随后卞长庚证实其在场", "卞长庚证实", "卞长庚"),
        ("随后欧阳立谦、佟雨薇离开", "欧阳", "欧阳立谦"),
        ("随后拉马日色、佟雨薇离开", "拉马日色", "拉马日色"),
    ],
)
def test_a_name_that_the_model_tore_is_whole(text: str, torn: str, whole: str, rules: DeidRules) -> None:
    mention = Mention(text.index(torn), text.index(torn) + len(torn), "PERSON", 9.0)
    spans = PersonScanner(rules).find(text, ZoneScanner(rules).scan(text), "story", [mention])
    assert text[spans[0].start : spans[0].end] == whole


def test_what_the_model_says_of_a_traditional_text_counts_as_in_the_scan(rules: DeidRules) -> None:
    scanner = PersonScanner(rules)
    name = "諸葛魯"
    for marks, counts in (("", True), (rules.characters("nobody_part")[:4], False)):
        text = f"{marks}：经{name}说明。"
        start = text.index(name)
        assert scanner.may_take(text, start, start + 3, 4.5, "story") == counts
    text = "经庹未央说明。"
    assert scanner.may_take(text, 1, 4, 4.5, "story")
    assert not scanner.may_take("经庹未央某说明。", 1, 4, 4.5, "story")
