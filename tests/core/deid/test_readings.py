"""What a type of document lets pass for a name: statutes, forms and advice stay as they are, judgments do not."""

import pytest

from lexmill.core.deid.detector import Detector
from lexmill.core.deid.rules import DeidRules, read_marks
from lexmill.core.deid.tables import AUTO
from lexmill.schema import DOC_TYPES

UNTOUCHED = [
    ("statute", "规范公司的组织和行为，保护公司、股东和债权人。必须在公司名称中标明有限责任公司。加强公司职工的教育。"),
    ("statute", "盗掘古文化遗址、古墓葬集团的首要分子。副厂级、厂级干部。按照发行价并加算银行同期存款利息返还。"),
    ("statute", "被害人之配偶、八親等。司法官審查，由院長提交年終會議決定。"),
    ("statute", "泽沛市青禾药业有限公司生产的药品，（2019）京01民终1234号判决。证人卞长庚到庭。"),
    ("contract", "鲜蛋购销合同\n纳税人（章）　税务机关（章）\n单位名称：\n申表人：\n买方应立即付款，表明态度。程中发生争议。"),
    (
        "contract",
        "刑事辩护律师事务所函\n为犯罪嫌疑人提供法律帮助律师事务所函\n会见犯罪嫌疑人、被告人笔录\n阅卷笔录\n律师催告函\n",
    ),
    ("contract", "送交保险公司，一切银行费用由买方负担，开证银行付款。合同工厂派人，中国××实业有限公司担保。"),
    ("contract", "地址：____　电报挂号：____\n地址：　　运单编号：\n技术合同２份交所在地技术市场管理机构２份"),
    ("contract", "甲方：____\n乙方应于三日内付款，甲方向乙方支付。待遇按国务院第４１号令办理。"),
    ("qa", "找一位律师：可以通过当地的律师协会。供热/供气/热力公司违约怎么办？如果公司没有付款，我想离婚，男的不同意。"),
    ("qa", "个人保险代理人和保险公司是劳动关系吗？我是施工方，我是刘律师。居民楼不够15米。蓝天基金可以买吗？"),
    ("exam", "甲、乙、丙、丁及戊共同設立A股份有限公司（下稱A公司），甲公司与乙股份有限公司签约，致行人丁重伤。"),
    ("exam", "张三与李四签订合同，王五担保。汉代董仲舒以经义决狱，马克斯·韦伯的法社会学。甲男与乙女结婚，华父有子华甲、华乙。"),
    ("qa", "家住18楼，住在一楼的业主不交电梯费。美国人民，德国籍华人。"),
    ("qa", "我们已经注册了商标，用别人的店名算侵权吗？我是河北省大名县人。"),
    ("judgment", "供热/供气/热力公司、甲公司与A股份有限公司（下称A公司），副厂级，盗掘古文化遗址集团，证明公司确实欠款。"),
]
FOUND = [
    ("statute", "联系人：⟦翁伯韬⟧，电话⟦13800001111⟧，邮箱⟦nobody@example.com⟧，身份证⟦110105208801012366⟧。"),
    ("statute", "局长　⟦曲仲元⟧\n"),
    ("contract", "甲方：⟦卞长庚⟧\n乙方：⟦泽沛五金有限公司⟧\n法定代表人：⟦翁伯韬⟧\n电话：⟦13800001111⟧\n"),
    ("contract", "承包人（乙方）：⟦图雅⟧\n公民身份号码：\n托运人（甲方）：⟦多吉旺堆⟧\n"),
    ("contract", "甲方：⟦上海和润物资有限公司⟧\n"),
    ("qa", "我叫⟦卞长庚⟧，其妻⟦佟雨薇⟧起诉离婚，⟦卞长庚⟧不同意。原告⟦曲仲元⟧应当怎么办？"),
    ("exam", "甲、乙将其邻居⟦佟雨薇⟧打伤，泽沛公司为甲公司的供货商，与⟦青禾餐饮有限公司⟧签约。"),
    ("exam", "⟦曲仲元⟧与⟦佟雨薇⟧是大学同学，二人结婚后⟦曲仲元⟧外出打工，⟦佟雨薇⟧起诉离婚。⟦曲仲元⟧不同意。"),
    ("exam", "参见“⟦泽沛房地产开发有限公司⟧诉⟦曲仲元⟧商品房预售合同纠纷 案”。"),
    ("contract", "甲方：⟦泽沛工业进出口公司⟧\n乙方：____\n甲方代表：____⟦卞长庚⟧____\n"),
    ("qa", "我的店名叫做⟦青禾⟧，有人用⟦青禾粥铺⟧算侵权吗？我是河北省大名县⟦泽沛镇青田村⟧人。"),
    ("qa", "买了⟦上海泽沛食品股份有限公司⟧的奶茶，⟦泽沛公司⟧不理。"),
    ("exam", "图书在版编目 (CIP) 数据/婚姻百问/⟦曲仲元⟧著.—北京：⟦泽沛法制出版社⟧，\n北京⟦泽沛横二条2号⟧　邮政编码⟦100031⟧"),
    ("contract", "　　⟦中国泽沛进口总公司⟧（以下简称甲方）注册。⟦中国泽沛进口总公司⟧付款。\n致：⟦加拿大泽沛公司⟧\n"),
    ("contract", "⟦江苏泽沛烟草国际有限公司⟧与⟦泽沛烟草公司⟧，办公室设在香港⟦泽沛中心二十五楼⟧，电传：⟦ＨＸ００００１⟧"),
    ("qa", "买了一箱⟦上海泽沛食品有限公司⟧的奶茶，⟦泽沛公司⟧不理。丈夫叫我晓燕，我叫⟦庄晓岚⟧，丈夫叫我⟦晓岚⟧。"),
    ("contract", "由⟦泉州卷烟厂⟧提供，泉州分公司和卷烟厂派人"),
    ("exam", "黄某与美国人⟦琼森⟧离婚，⟦琼森⟧到庭。"),
    ("judgment", "人民陪审员⟦曲仲元⟧　⟦邝秋池⟧\n书记员　　　　　　⟦莫如松⟧\n"),
    ("judgment", "经营者⟦泽沛五金厂⟧到庭，⟦泽沛五金厂⟧停产。"),
    ("judgment", "以泽检公诉刑诉〔2017〕⟦123⟧号起诉书指控，驾驶⟦蒙L00000⟧（黑D⟦H000⟧挂）货车"),
]


@pytest.mark.parametrize(("doc_type", "text"), UNTOUCHED)
def test_untouched(doc_type: str, text: str, strict: Detector) -> None:
    assert [text[span.start : span.end] for span in strict.detect(text, doc_type)] == []


@pytest.mark.parametrize(("doc_type", "example"), FOUND)
def test_found(doc_type: str, example: str, strict: Detector) -> None:
    text, spans = read_marks(example)
    found = strict.detect(text, doc_type)
    assert [text[span.start : span.end] for span in found] == [text[start:end] for start, end in spans]


def test_a_text_of_unknown_type_is_read_like_a_judgment(strict: Detector) -> None:
    text = "后卞长庚将货物卖给曲仲元，曲仲元的证言证实。经佟雨薇介绍，与泽沛公司签订合同。"
    assert strict.detect(text, AUTO) == strict.detect(text, "judgment") != []
    assert strict.detect(text, "statute") == []


def test_spc2016_keeps_the_serial_of_an_indictment(spc: Detector) -> None:
    assert spc.detect("以泽检公诉刑诉〔2017〕123号起诉书指控", "judgment") == []


def test_each_type_is_read_in_one_way(rules: DeidRules) -> None:
    assert sorted(doc_type for table in rules.reading for doc_type in table.doc_types) == sorted((AUTO, *DOC_TYPES))


@pytest.mark.parametrize(
    ("change", "part"), [({"doc_types": ("statute", "qa")}, "each once"), ({"ignore": ("NOTHING",)}, "there is no NOTHING")]
)
def test_a_wrong_reading_is_a_fault(change: dict[str, tuple[str, ...]], part: str, rules: DeidRules) -> None:
    readings = tuple(table.model_copy(update=change) if table.id == "reading.statute" else table for table in rules.reading)
    faults = rules.model_copy(update={"reading": readings}).faults()
    assert any(part in fault.problem for fault in faults)
