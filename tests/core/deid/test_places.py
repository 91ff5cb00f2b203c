"""Addresses are kept to the county, birth dates to the year."""

import pytest

from lexmill.core.deid.detector import Detector
from lexmill.core.deid.mask import mask

MASKED = [
    ("，男，汉族，住浙江省杭州市西湖区泽沛路12号3幢501室。", "，男，汉族，住浙江省杭州市西湖区×××。"),
    ("户籍地：四川省成都市武侯区青田镇泽沛村7组，", "户籍地：四川省成都市武侯区×××，"),
    ("住所地：上海市宝山区泽沛路777号。", "住所地：上海市宝山区×××。"),
    ("房屋坐落于杭州市余杭区泽沛小区9栋2单元301室，", "房屋坐落于杭州市余杭区×××，"),
    ("，男，1985年3月12日出生，汉族", "，男，1985年×月×日出生，汉族"),
    ("，女，一九八五年三月十二日生，", "，女，一九八五年×月×日生，"),
    ("出生日期：1985-03-12", "出生日期：1985-××"),
    ("被告人在杭州市西湖区泽沛镇某村被抓获", "被告人在杭州市西湖区×××某村被抓获"),
    ("在本市宝山区泽沛路XXX弄XXX号XXX室内贩卖", "在本市宝山区×××XXX弄XXX号XXX室内贩卖"),
    ("行至本市宝山区泽沛路25号时", "行至本市宝山区×××时"),
    ("住所地：福建省泉州市丰泽区泽沛路千亿大厦十一层。", "住所地：福建省泉州市丰泽区×××。"),
]
KEPT = [
    "住浙江省杭州市西湖区。",
    "，住盘县××镇×××村×组×××号。",
    "住院治疗15日，住所地人民法院管辖",
    "2015年3月12日签订合同，2016年5月1日生效",
    "判处有期徒刑三年，自2018年2月1日起至2021年1月31日止",
    "1985年×月×日出生",
    "在高速公路XX号出口，沿某路某号行至××路××号，现住地盖了两间三层楼房",
    "在该镇某村、某市某自然村，来到本区某工业园区",
]


@pytest.mark.parametrize(("text", "expected"), MASKED)
def test_masked(text: str, expected: str, strict: Detector) -> None:
    assert mask(text, "judgment", strict).text == expected


@pytest.mark.parametrize("text", KEPT)
def test_kept(text: str, strict: Detector) -> None:
    assert mask(text, "judgment", strict).text == text


def test_spc2016_keeps_birth_dates_and_masks_home_addresses(spc: Detector) -> None:
    text = "原告：章若岚，女，1985年3月12日出生，住浙江省杭州市西湖区泽沛路12号。"
    assert mask(text, "judgment", spc).text == "原告：章若岚，女，1985年3月12日出生，住浙江省杭州市西湖区×××。"
