"""Numbers of every kind, made anew from a seed and written with noise; the numbers belong to nobody."""

import random
from collections.abc import Callable, Iterator
from typing import NamedTuple

from stdnum import luhn
from stdnum.iso7064 import mod_11_2

from lexmill.core.deid.checks import PROVINCES

_PROVINCES = sorted(PROVINCES)
_USCC = "0123456789ABCDEFGHJKLMNPQRTUWXY"
_VIN = "ABCDEFGHJKLMNPRSTUVWXYZ0123456789"
_VIN_VALUES = dict(zip("0123456789ABCDEFGHJKLMNPRSTUVWXYZ", [*range(10), *map(int, "12345678123457923456789")], strict=True))
_PLATES = "京津沪渝冀豫云辽黑湘皖鲁新苏浙赣鄂桂甘晋蒙陕吉闽贵粤青藏川宁琼"
_PLATE = "ABCDEFGHJKLMNPQRSTUVWXYZ"


class Sample(NamedTuple):
    """A text, the stretch of it that is the number, and how the number was written."""

    text: str
    start: int
    end: int
    kind: str
    noise: str


def _digits(rng: random.Random, number: int) -> str:
    return "".join(rng.choices("0123456789", k=number))


def _date(rng: random.Random, first: int, last: int) -> str:
    return f"{rng.randint(first, last)}{rng.randint(1, 12):02}{rng.randint(1, 28):02}"


def _id_card(rng: random.Random) -> str:
    # Births to come: the number belongs to nobody.
    body = f"{rng.choice(_PROVINCES)}{_digits(rng, 4)}{_date(rng, 2070, 2099)}{_digits(rng, 3)}"
    return body + str(mod_11_2.calc_check_digit(body))


def _id_card_15(rng: random.Random) -> str:
    return f"{rng.choice(_PROVINCES)}{_digits(rng, 4)}{_date(rng, 50, 85)}{_digits(rng, 3)}"


def _org_code(rng: random.Random) -> str:
    body = "".join(rng.choices("0123456789ABCDEFGHJKLMNPQRTUWXY", k=8))
    total = sum(weight * int(char, 36) for weight, char in zip((3, 7, 9, 10, 5, 8, 4, 2), body, strict=True))
    return body + "0123456789X0"[11 - total % 11]


def _uscc(rng: random.Random) -> str:
    body = "91" + rng.choice(_PROVINCES) + _digits(rng, 4) + _org_code(rng)
    total = sum(pow(3, place, 31) * _USCC.index(char) for place, char in enumerate(body))
    return body + _USCC[-total % 31]


def _vin(rng: random.Random) -> str:
    value = rng.choices(_VIN, k=17)
    value[8] = "0"
    total = sum(
        weight * _VIN_VALUES[char]
        for weight, char in zip((8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2), value, strict=True)
    )
    value[8] = "0123456789X"[total % 11]
    return "".join(value)


def _luhn(rng: random.Random, head: str, length: int) -> str:
    body = head + _digits(rng, length - len(head) - 1)
    return body + str(luhn.calc_check_digit(body))


def _lawyer(rng: random.Random) -> str:
    place = f"{rng.choice(_PROVINCES)}{_digits(rng, 2)}"
    return f"1{place}{rng.randint(1985, 2024)}{rng.randint(1, 9)}{rng.randint(0, 1)}{_digits(rng, 6)}"


def _mail(rng: random.Random) -> str:
    return (
        "".join(rng.choices("abcdefghijkmnpqrstuvwxyz0123456789", k=rng.randint(4, 12)))
        + "@example."
        + rng.choice(("com", "com.cn", "org"))
    )


def _plate(rng: random.Random) -> str:
    if rng.random() < 0.3:
        return rng.choice(_PLATES) + rng.choice(_PLATE) + rng.choice("DF") + rng.choice(_PLATE + "0123456789") + _digits(rng, 4)
    letters = rng.randint(0, 2)
    tail = [*rng.choices(_PLATE, k=letters), *rng.choices("0123456789", k=5 - letters)]
    rng.shuffle(tail)
    return rng.choice(_PLATES) + rng.choice(_PLATE) + "".join(tail)


class Kind(NamedTuple):
    """How a number of a kind is made, what stands before it, and whether it is known without (``bare``)."""

    make: Callable[[random.Random], str]
    cues: tuple[str, ...]
    bare: bool
    letters: bool = False  # letters belong to it, so that no letter is read as a digit
    parted: bool = True  # groups may be parted


KINDS: dict[str, Kind] = {
    "ID_CARD": Kind(_id_card, ("公民身份号码：", "身份证号码", "身份证号为", "居民身份证号"), bare=True),
    "ID_CARD_15": Kind(_id_card_15, ("身份证号：", "证件号码"), bare=False),
    "USCC": Kind(_uscc, ("统一社会信用代码：", "统一社会信用代码", "营业执照注册号"), bare=True, letters=True),
    "ORG_CODE": Kind(_org_code, ("组织机构代码：", "组织机构代码证号"), bare=False, letters=True),
    "TAX_NUMBER": Kind(lambda rng: rng.choice(_PROVINCES) + _digits(rng, 13), ("纳税人识别号：", "税务登记证号"), bare=False),
    "MOBILE": Kind(lambda rng: f"1{rng.randint(3, 9)}{_digits(rng, 9)}", ("联系电话：", "手机号码", "电话", "手机"), bare=True),
    "PHONE": Kind(
        lambda rng: rng.choice(("010", "021", "0571", "0451", "0775")) + str(rng.randint(2, 9)) + _digits(rng, 7),
        ("联系电话：", "座机", "传真："),
        bare=False,
    ),
    "SERVICE": Kind(lambda rng: rng.choice(("400", "800")) + _digits(rng, 7), ("客服热线", "服务热线：", "咨询电话"), bare=False),
    "BANK_CARD": Kind(
        lambda rng: _luhn(rng, "62", rng.choice((16, 17, 18, 19))), ("卡号：", "银行卡号为", "尾号为", "信用卡"), bare=True
    ),
    "BANK_ACCOUNT": Kind(lambda rng: _digits(rng, rng.randint(12, 22)), ("账号：", "帐号为", "存折号", "银行账户"), bare=False),
    "PASSPORT": Kind(
        lambda rng: rng.choice("EG") + _digits(rng, 8), ("护照号码：", "护照号", "持护照"), bare=False, letters=True
    ),
    "PERMIT": Kind(
        lambda rng: rng.choice("HM") + _digits(rng, 8), ("港澳居民来往内地通行证号码", "通行证："), bare=False, letters=True
    ),
    "TAIWAN": Kind(lambda rng: _digits(rng, 8), ("台胞证号", "台湾居民来往大陆通行证："), bare=False),
    "DRIVING_FILE": Kind(lambda rng: _digits(rng, 12), ("驾驶证档案编号", "档案编号："), bare=False),
    "PLATE": Kind(_plate, ("驾驶", "车牌号为", "号牌", "所有的"), bare=True, letters=True, parted=False),
    "VIN": Kind(_vin, ("车架号：", "车辆识别代号", "车架号码"), bare=True, letters=True),
    "ENGINE": Kind(lambda rng: rng.choice(_PLATE) + _digits(rng, 7), ("发动机号：", "发动机号码"), bare=False, letters=True),
    "IMEI": Kind(lambda rng: _luhn(rng, "35", 15), ("手机串号：", "IMEI：", "串码"), bare=False),
    "EMAIL": Kind(_mail, ("电子邮箱：", "邮箱", "发送至"), bare=True, letters=True, parted=False),
    "IP": Kind(
        lambda rng: ".".join(str(rng.randint(1, 255)) for _ in range(4)),
        ("IP地址：", "登录IP为"),
        bare=False,
        letters=True,
        parted=False,
    ),
    "QQ": Kind(lambda rng: str(rng.randint(1, 9)) + _digits(rng, rng.randint(5, 9)), ("QQ号：", "QQ号码为", "QQ"), bare=False),
    "WECHAT": Kind(
        lambda rng: "wx" + "".join(rng.choices("abcdefghijkmnpqrstuvwxyz", k=5)) + _digits(rng, 4),
        ("微信号：", "微信号", "添加微信"),
        bare=False,
        letters=True,
        parted=False,
    ),
    "POSTCODE": Kind(lambda rng: _digits(rng, 6), ("邮编：", "邮政编码"), bare=False),
    "LAWYER_LICENCE": Kind(_lawyer, ("执业证号：", "律师执业证号", "执业证号码"), bare=True),
    "MEDICAL": Kind(lambda rng: _digits(rng, rng.randint(6, 10)), ("住院号：", "病历号", "门诊号"), bare=False),
    "SOCIAL": Kind(lambda rng: _digits(rng, rng.randint(9, 18)), ("社保号：", "社会保障号码", "医保卡号"), bare=False),
    "RECORD": Kind(
        lambda rng: rng.choice(("PDAA", "SF", "")) + _digits(rng, rng.randint(10, 14)),
        ("保单号：", "快递单号", "学籍号：", "运单号码"),
        bare=False,
        letters=True,
    ),
    "TITLE_DEED": Kind(lambda rng: _digits(rng, 7), ("浙（2018）杭州市不动产权第",), bare=False, parted=False),
    "HOUSE_DEED": Kind(lambda rng: _digits(rng, rng.randint(6, 9)), ("杭房权证西字第",), bare=False, parted=False),
    "LAND_DEED": Kind(lambda rng: _digits(rng, 6), ("杭国用（2005）第",), bare=False, parted=False),
    "CASE_SERIAL": Kind(
        lambda rng: _digits(rng, rng.randint(2, 5)), ("（2019）浙01民终", "（2013）西法民初字第"), bare=False, parted=False
    ),
}
_AFTER = {"TITLE_DEED": "号", "HOUSE_DEED": "号", "LAND_DEED": "号", "CASE_SERIAL": "号"}
_ZERO_WIDTH = "\u200b\u200c\u200d\u2060\ufeff\u00ad"
_BLANKS = " \u00a0\u2009\u3000\u202f"
_DASHES = "-－—–‐"
_SCANNED = {"0": "Oo", "1": "lI"}


def _wide(rng: random.Random, value: str, kind: Kind) -> str:  # noqa: ARG001
    return "".join(chr(ord(char) + 0xFEE0) if "!" <= char <= "~" else char for char in value)


def _part(rng: random.Random, value: str, links: str) -> str:
    link = rng.choice(links)
    sizes = rng.choice(((3, 4, 4), (4, 4, 4, 4, 4), (6, 8, 4), (6, 4, 4, 4)))
    groups, at = [], 0
    for size in (*sizes, len(value)):
        if value[at : at + size]:
            groups.append(value[at : at + size])
        at += size
    return link.join(groups)


def _blanks(rng: random.Random, value: str, kind: Kind) -> str:
    return _part(rng, value, _BLANKS) if kind.parted else value


def _dashes(rng: random.Random, value: str, kind: Kind) -> str:
    return _part(rng, value, _DASHES) if kind.parted else value


def _apart(rng: random.Random, value: str, kind: Kind) -> str:  # noqa: ARG001
    return " ".join(value) if kind.parted and not kind.letters else value


def _hidden(rng: random.Random, value: str, kind: Kind) -> str:  # noqa: ARG001
    for _ in range(rng.randint(1, 3)):
        at = rng.randint(1, len(value) - 1)
        value = value[:at] + rng.choice(_ZERO_WIDTH) + value[at:]
    return value


def _scanned(rng: random.Random, value: str, kind: Kind) -> str:
    if kind.letters:
        return value
    places = [at for at, char in enumerate(value) if char in _SCANNED]
    chars = list(value)
    for at in rng.sample(places, min(len(places), rng.randint(1, 2))):
        chars[at] = rng.choice(_SCANNED[chars[at]])
    return "".join(chars)


def _lower(rng: random.Random, value: str, kind: Kind) -> str:  # noqa: ARG001
    return value.lower()


NOISE: dict[str, Callable[[random.Random, str, Kind], str]] = {
    "none": lambda rng, value, kind: value,  # noqa: ARG005
    "full width": _wide,
    "blanks": _blanks,
    "dashes": _dashes,
    "each digit apart": _apart,
    "zero width": _hidden,
    "scanned": _scanned,
    "lower case": _lower,
    "scanned, blanks": lambda rng, value, kind: _blanks(rng, _scanned(rng, value, kind), kind),
    "full width, dashes": lambda rng, value, kind: _dashes(rng, _wide(rng, value, kind), kind),
    "full width, zero width": lambda rng, value, kind: _hidden(rng, _wide(rng, value, kind), kind),
}


def samples(seed: int, number: int) -> Iterator[Sample]:
    """``number`` samples of every kind, of every noise in turn."""
    rng = random.Random(seed)
    for name, kind in KINDS.items():
        for turn in range(number):
            noise = list(NOISE)[turn % len(NOISE)]
            value = kind.make(rng)
            while "XX" in value.upper():  # a mask
                value = kind.make(rng)
            value = NOISE[noise](rng, value, kind)
            before = f"被告卞长庚（{rng.choice(kind.cues)}"
            after = _AFTER.get(name, "") + rng.choice(("），已核实。", "，住本市）", "。", "、"))
            yield Sample(before + value + after, len(before), len(before) + len(value), name, noise)
