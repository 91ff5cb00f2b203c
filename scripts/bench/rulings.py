"""Write 3,000 enforcement rulings of one court and bank, and 400 planted copies, as `{id, source, text, cluster, kind}` lines.

    .venv/bin/python scripts/bench/rulings.py OUT.jsonl [--cases 3000] [--copies 400] [--seed 1]
    .venv/bin/python scripts/bench/dedup_truth.py OUT.jsonl --list

Every ruling is on the form by which courts end enforcement when nothing is left to seize: the cases differ in number, debtor,
dates and amounts only, nine tenths of the words are the same. Copies are what dumps make of one text: other spacing and masks,
misread characters, a website's furniture around it, a cut end, edited phrases. All names and numbers are invented.
"""

import argparse
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

COURT, BANK = "青岚市望川区人民法院", "青岚望川农村商业银行股份有限公司"
SURNAMES = "赵钱孙李周吴郑王冯陈褚卫蒋沈韩杨朱秦尤许何吕施张孔曹严华金魏陶姜"
GIVEN = "安邦承德广海鸿嘉建锦景凯兰立明宁平启荣瑞山淑天文晓秀雅颖永玉泽志忠"
ROADS = ("长宁路", "翠屏街", "望川大道", "青年路", "滨河东路", "石桥巷", "南山路", "新安街")
FIGURES = "零一二三四五六七八九"

FORM = """{court}
执 行 裁 定 书
（{year}）鲁0203执{serial}号
申请执行人：{bank}，住所地青岚市望川区{bank_road}88号。
法定代表人：{head}，董事长。
委托诉讼代理人：{agent}，该行员工。
被执行人：{debtor}，{sex}，{born}年{month}月{day}日出生，汉族，住青岚市望川区{road}{house}号。
{bank}申请执行{debtor}借款合同纠纷一案，{court}作出的（{before}）鲁0203民初{civil}号民事判决书已经发生法律效力。因被执行人未履行生效法律文书\
确定的义务，申请执行人于{year}年{filed_month}月{filed_day}日向本院申请强制执行，请求被执行人偿还借款本金{amount}元及利息、罚息、复利，\
本院依法立案执行。
执行过程中，本院采取了以下执行措施：
一、本院向被执行人发出执行通知书、报告财产令、失信决定书及限制消费令，责令被执行人履行生效法律文书确定的义务并报告财产状况。被执行人未履行，\
也未报告财产。
二、本院通过全国法院网络执行查控系统对被执行人名下的银行存款、车辆、证券、不动产、网络资金等财产进行了查询，除冻结其名下存款{found}元外，未发现可供执行\
的财产。
三、本院到被执行人住所地走访，向当地居民委员会了解其财产状况和下落，未获得可供执行的财产线索。
四、本院将被执行人纳入失信被执行人名单，并对其采取限制消费措施。
五、本院于{talk_month}月{talk_day}日约谈申请执行人，告知案件执行情况、采取的调查措施以及终结本次执行程序的法律后果，申请执行人表示不能提供被执行人其他可供执行\
的财产线索，同意终结本次执行程序。
本院认为，经穷尽财产调查措施，被执行人暂无财产可供执行，申请执行人也不能提供可供执行的财产线索，本案不具备继续执行的条件，应当终结本次执行程序。\
依照《中华人民共和国民事诉讼法》第二百五十七条第六项、《最高人民法院关于适用〈中华人民共和国民事诉讼法〉的解释》第五百一十九条之规定，裁定如下：
终结（{year}）鲁0203执{serial}号案件的本次执行程序。
终结本次执行程序后，申请执行人发现被执行人有可供执行财产的，可以再次申请执行。再次申请不受申请执行时效期间的限制。被执行人负有继续向申请执行人履行债务的义务。
本裁定送达后立即生效。
审判长{judge}
审判员{second}
审判员{third}
{end}
书记员{clerk}
"""
WRAP = (
    "您现在的位置：首页 > 裁判文书 > 执行案件\n发布日期：{date}  来源：本站  浏览：{views}次\n打印 关闭\n",
    "\n上一篇：没有了\n下一篇：执行裁定书\n关于我们 | 网站地图 | 联系我们\n",
)


def name(chance: random.Random) -> str:
    """An invented name."""
    return chance.choice(SURNAMES) + "".join(chance.sample(GIVEN, chance.choice([1, 2, 2])))


def figures(number: int) -> str:
    """A number below 100 in Chinese figures."""
    tens, units = divmod(number, 10)
    return f"{FIGURES[tens] if tens > 1 else ''}{'十' if tens else ''}{FIGURES[units] if units or not tens else ''}"


def ruling(chance: random.Random, serial: int) -> str:
    """One ruling, of a case of its own."""
    year = chance.choice([2081, 2082, 2083])
    month, day = chance.randint(1, 12), chance.randint(1, 28)
    return FORM.format(
        court=COURT,
        bank=BANK,
        year=year,
        before=year - 1,
        serial=serial,
        civil=chance.randint(100, 9999),
        bank_road=ROADS[2],
        head="沈鸿志",
        agent=name(chance),
        debtor=name(chance),
        sex=chance.choice("男女"),
        born=chance.randint(2015, 2060),
        month=chance.randint(1, 12),
        day=chance.randint(1, 28),
        road=chance.choice(ROADS),
        house=chance.randint(1, 300),
        amount=f"{chance.randint(20_000, 900_000)}.{chance.randint(0, 99):02}",
        found=f"{chance.randint(0, 3000)}.{chance.randint(0, 99):02}",
        filed_month=chance.randint(1, 12),
        filed_day=chance.randint(1, 28),
        talk_month=chance.randint(1, 12),
        talk_day=chance.randint(1, 28),
        judge="韩文立",
        second="陶景明",
        third=name(chance),
        clerk=name(chance),
        end=f"二〇{figures(year // 10 % 10)}{figures(year % 10)}年{figures(month)}月{figures(day)}日",
    )


def exact(text: str, _: random.Random) -> str:
    """The same text."""
    return text


def space(text: str, chance: random.Random) -> str:
    """Other spacing and width."""
    text = text.replace("，", ", " if chance.random() < 0.5 else ",").replace("\n", chance.choice(["\r\n", "\n\n", "\n　　"]))
    return text.replace("0", "０") if chance.random() < 0.3 else text


def mask(text: str, chance: random.Random) -> str:
    """The debtor's name, and in half of the copies the number, masked."""
    debtor = text.split("被执行人：", 1)[1].split("，", 1)[0]
    text = text.replace(debtor, debtor[0] + chance.choice(["某", "某某", "××", "**"]))
    if chance.random() < 0.5:
        return text
    number = text.split("鲁0203执", 1)[1].split("号", 1)[0]
    return text.replace(f"鲁0203执{number}号", "鲁0203执×××号")


def misread(text: str, chance: random.Random) -> str:
    """One character in a hundred misread, figures as figures or not."""
    chars = list(text)
    for at in range(len(chars)):
        if not chars[at].isspace() and chance.random() < 0.01:
            chars[at] = chance.choice("日目口曰己已巳未末土士0O1l8B" + GIVEN)
    return "".join(chars)


def wrap(text: str, chance: random.Random) -> str:
    """A website's furniture around it."""
    head = WRAP[0].format(date=f"2084-0{chance.randint(1, 9)}-{chance.randint(10, 28)}", views=chance.randint(1, 9999))
    return head + text + WRAP[1]


def cut(text: str, chance: random.Random) -> str:
    """The end missing."""
    return text[: int(len(text) * chance.uniform(0.85, 0.97))]


def edit(text: str, chance: random.Random) -> str:
    """A few phrases in other words."""
    swaps = [("依法立案执行", "依法予以立案"), ("未获得可供执行的财产线索", "没有得到财产线索"), ("立即生效", "即生效力")]
    for old, new in chance.sample(swaps, 2):
        text = text.replace(old, new)
    return text


KINDS: tuple[Callable[[str, random.Random], str], ...] = (exact, space, mask, misread, wrap, cut, edit)


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--cases", type=int, default=3000)
    parser.add_argument("--copies", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    texts = [ruling(chance, 1000 + number) for number in range(arguments.cases)]
    rows: list[dict[str, Any]] = [{"source": "judgment-rulings", "text": text, "cluster": None, "kind": "orig"} for text in texts]
    for original in chance.sample(range(arguments.cases), arguments.copies):
        rows[original]["cluster"] = original
        make = chance.choice(KINDS)
        row = {"source": "judgment-rulings", "text": make(texts[original], chance), "cluster": original, "kind": make.__name__}
        rows.append(row)
    chance.shuffle(rows)
    with arguments.out.open("w", encoding="utf-8") as out:
        for number, row in enumerate(rows):
            out.write(json.dumps({"id": f"ruling-{number:05}", **row}, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
