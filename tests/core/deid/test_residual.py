"""The residual scan: valid identifiers are found, look-alikes of statutes and amounts are not."""

import pytest

from lexmill.core.deid.detector import Detector
from lexmill.core.deid.mask import mask
from lexmill.core.deid.residual import find_valid_identifiers, has_name

FOUND = [
    ("号码110105208801012366。", "ID_CARD", "110105208801012366"),
    ("１１０１０５２０８８０１０１２３６６", "ID_CARD", "１１０１０５２０８８０１０１２３６６"),
    ("110105 20880101 2366", "ID_CARD", "110105 20880101 2366"),
    ("卡6222 0000 1111 2223，", "BANK_CARD", "6222 0000 1111 2223"),
    ("致电138-0000-1111。", "MOBILE", "138-0000-1111"),
    ("手机13800001111号。", "MOBILE", "13800001111"),
    ("１１０１０５　２０８８０１０１２３６６、１３８００００１１１１。", "MOBILE", "１３８００００１１１１"),
]
NONE = [
    "110105208801012369",  # wrong check digit
    "110105208802302361",  # 30 February
    "6222000011112222",
    "合同编号6222000011112223",
    "（2019）京01民终13800001111号",
    "第13800001111号",
    "本金13800001111元",
    "13800001111.50",
    "法释〔2020〕17号",
    "2088年1月1日",
    "A13800001111",
    "113800001111",
    "13800001111-2",
    "1 3 8 0 0 0 0 1 1 1 1",
    "×××",
]


@pytest.mark.parametrize(("text", "kind", "value"), FOUND)
def test_found(text: str, kind: str, value: str, strict: Detector) -> None:
    assert [(item.kind, text[item.start : item.end]) for item in find_valid_identifiers(text)] == [(kind, value)]
    assert find_valid_identifiers(mask(text, "auto", strict).text) == []


@pytest.mark.parametrize("text", NONE)
def test_nothing_found(text: str) -> None:
    assert find_valid_identifiers(text) == []


def test_names_of_three_characters_and_more() -> None:
    assert has_name(["章若岚"], ["甲", "见章若岚"])
    assert not has_name(["李四", "章若岚"], ["李四到庭"])
