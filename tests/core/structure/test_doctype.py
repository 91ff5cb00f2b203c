import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexmill.core.structure.doctype import guess
from lexmill.schema import DOC_TYPES

TEXTS = [
    (
        "judgment",
        "甲市乙区人民法院\n刑事判决书\n（2078）京0101刑初1号\n公诉机关乙区人民检察院。\n被告人张某，男。\n判决如下：",
    ),
    ("judgment", "经审理查明，甲方张某与乙方李某签订合同，约定违约责任。"),
    ("judgment", "乙区人民检察院指控，被告人张某于2078年1月2日窃得手机一部。"),
    ("judgment", "原告张某诉称，原、被告于2077年登记结婚，请求判令离婚。\n被告李某辩称，不同意。"),
    ("judgment", "憲法法庭111年憲判字第1號判決王大法官提出之協同意見書\n本件判決合併審理二件聲請案。"),
    ("contract", "房屋租赁合同\n出租方（甲方）：＿＿＿＿\n承租方（乙方）：＿＿＿＿\n第一条 租赁物\n第二条 租金\n甲方（盖章）："),
    ("contract", "民事起诉状\n原告：×××\n被告：×××\n诉讼请求：\n　　此致\n××市人民法院\n　　起诉人：＿＿＿＿\n××××年××月××日"),
    ("exam", "甲公司与乙公司签订合同，下列说法正确的是？\nA. 合同有效\nB. 合同无效\n答案：A"),
    ("exam", "下列說法，何者正確？\n(A)契約有效\n(B)契約無效"),
    ("qa", "房东不退押金怎么办？\n可以先与房东协商，协商不成的，可以向人民法院起诉。"),
    ("qa", "公司拖欠工资，签了劳动合同，可以要赔偿吗\n您好，根据《劳动合同法》第八十五条，甲方应当支付。"),
    (
        "statute",
        "甲市公园条例\n2078年1月2日甲市人民代表大会常务委员会通过\n第一条 为了管理公园，制定本条例。\n第二条 本条例适用于公园。",
    ),
    ("statute", "第一条 为了规范合同，制定本法。\n第二条 本法适用于合同。\n第三条 合同自成立时生效。"),
]


@pytest.mark.parametrize(("doc_type", "text"), TEXTS)
def test_types_are_told_apart(doc_type: str, text: str) -> None:
    assert guess(text) == doc_type


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=200))
def test_every_text_has_a_type(text: str) -> None:
    assert guess(text) in DOC_TYPES
