"""Make degenerate text of many kinds from good documents, to see what the quality rules and the classifier let through.

    .venv/bin/python scripts/make_garbage.py good.jsonl --out garbage.jsonl

Nothing here is shared with what the shipped classifier was trained on: other ruins, other phrases.
"""

import argparse
import hashlib
import json
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
SEED = 20261130

_ENTRIES = (
    *(
        "首页",
        "网站首页",
        "新闻动态",
        "通知公告",
        "政策法规",
        "法规查询",
        "案例精选",
        "合同下载",
        "律师频道",
        "法律百科",
        "专题专栏",
    ),
    *("劳动仲裁", "婚姻继承", "刑事辩护", "公司法务", "交通事故", "房产土地", "医疗损害", "知识产权", "行政诉讼", "涉外业务"),
    *("关于我们", "联系我们", "加入我们", "广告服务", "版权声明", "隐私政策", "用户协议", "意见反馈", "网站地图", "帮助中心"),
    *(
        "登录",
        "注册",
        "忘记密码",
        "会员中心",
        "我的收藏",
        "消息",
        "退出",
        "搜索",
        "更多",
        "展开",
        "收起",
        "返回顶部",
        "打印",
        "分享到微信",
    ),
    *("上一页", "下一页", "上一篇", "下一篇", "末页", "第1页", "相关推荐", "热门文章", "最新发布", "猜你喜欢", "点击排行"),
)
_FOOTER = (
    "版权所有 未经授权 禁止转载",
    "Copyright 2078 example.cn All Rights Reserved",
    "某ICP备00000000号",
    "技术支持：某某网络",
    "本站内容仅供参考 不构成法律意见 免责声明",
    "关于我们 | 联系我们 | 网站地图 | 友情链接 | 隐私政策",
)
_SELLING = (
    "本所律师团队经验丰富，胜诉率高，欢迎来电免费咨询",
    "添加微信，一对一在线咨询，24小时在线",
    "扫描二维码关注公众号，免费领取合同大礼包",
    "不成功不收费，专业催收，上门服务",
    "点击头像立即咨询，资深律师为您解答",
    "限时优惠，前十名半价，名额有限，预约从速",
)
_REFUSALS = (
    "很抱歉，作为一个人工智能语言模型，我无法为您提供具体的法律意见。",
    "作为AI助手，我不能代替律师作出判断，建议您联系专业人士。",
    "我是一个AI语言模型，没有能力访问互联网或者查询最新的法律法规。",
    "抱歉，作为一名AI，我无法浏览您提供的链接，也无法生成该文书。",
    "作为一个大语言模型，我的知识截止到2021年9月，可能无法反映最新的法律变化。",
    "当然可以！作为一个人工智能，我很乐意帮助您起草这份文件，以下是一个示例。",
    "对不起，作为语言模型，我不能提供涉及个案的结论，请咨询执业律师。",
    "我是人工智能助手，无法确认您所述情况的真实性。",
)


class Garbage(NamedTuple):
    """One ruined document: its ``kind``, the type of the document that it was made from, and the text."""

    kind: str
    doc_type: str
    text: str


def _sentences(text: str) -> list[str]:
    parts = [part for part in text.replace("\n", "。").replace("；", "。").split("。") if len(part) > 8]
    return [f"{part}。" for part in parts] or [text[:40] or "依法处理。"]


def character_loop(text: str, rng: random.Random) -> str:
    """A good beginning, then one character for ever."""
    return text[: rng.randint(0, 60)] + rng.choice("的了一，的法人是。哈-") * rng.randint(400, 1200)


def phrase_loop(text: str, rng: random.Random) -> str:
    """A good beginning, then one clause over and over, as a model that fell into a loop writes it."""
    at = rng.randrange(max(1, len(text) - 20))
    phrase = "".join(text[at : at + rng.randint(4, 20)].split()) or "依法处理"
    return text[: rng.randint(20, 100)] + f"{phrase}，" * rng.randint(60, 120)


def sentence_loop(text: str, rng: random.Random) -> str:
    """Two or three sentences in turn."""
    chosen = rng.sample(_sentences(text), k=min(len(_sentences(text)), rng.randint(1, 3)))
    return "".join(chosen * (1200 // max(1, sum(map(len, chosen))) + 4))


def line_loop(text: str, rng: random.Random) -> str:
    """One line under the other, the same."""
    return "\n".join([rng.choice(_sentences(text))] * rng.randint(20, 60))


def character_salad(text: str, rng: random.Random) -> str:
    """The characters in any order."""
    return "".join(rng.sample(text, k=len(text)))


def word_salad(text: str, rng: random.Random) -> str:
    """Scraps of one to three characters, each thrown in without regard to the next."""
    scraps = []
    at = 0
    while at < len(text):
        size = rng.randint(1, 3)
        scraps.append(text[at : at + size])
        at += size
    rng.shuffle(scraps)
    return "".join(scraps)


def bad_scan(text: str, rng: random.Random) -> str:
    """Three characters in ten misread, as of a scan of a fax."""
    return "".join(chr(rng.randint(0x4E00, 0x8FFF)) if "\u4e00" <= c <= "\u9fff" and rng.random() < 0.3 else c for c in text)


def stub(text: str, rng: random.Random) -> str:
    """The first words, and nothing more."""
    return text.strip()[: rng.randint(2, 12)]


def broken_off(text: str, rng: random.Random) -> str:
    """A third to two thirds of the text, ending in the middle of a clause."""
    cut = text[: max(1, int(len(text) * rng.uniform(0.33, 0.67)))].rstrip()
    while cut and not "\u4e00" <= cut[-1] <= "\u9fff":
        cut = cut[:-1]
    return cut


def refusal(text: str, rng: random.Random) -> str:
    """A chat model speaks of itself, before or after some text."""
    middle = text[: rng.randint(0, 200)]
    said = rng.choice(_REFUSALS)
    return f"{said}\n{middle}" if rng.random() < 0.5 else f"{middle}\n{said}"


def navigation(text: str, rng: random.Random) -> str:
    """The menus of a site around a title."""
    entries = rng.choices(_ENTRIES, k=rng.randint(25, 70))
    entries.insert(rng.randrange(len(entries)), text.strip().split("\n")[0][:20])
    return rng.choice(("\n", " | ", " > ", "\n> ")).join(entries)


def footer(_text: str, rng: random.Random) -> str:
    """The foot of a site without the page."""
    return "\n".join(rng.sample(_FOOTER, k=4) + rng.sample(_ENTRIES, k=rng.randint(4, 12)))


def links(_text: str, rng: random.Random) -> str:
    """A list of addresses."""
    return "\n".join(
        f"https://www.example.cn/{rng.choice('abc')}/{rng.randint(1, 99999)}.html" for _ in range(rng.randint(8, 30))
    )


def advertisement(text: str, rng: random.Random) -> str:
    """Selling in the place of an answer."""
    return text.strip().split("\n")[0][:20] + "\n" + "，".join(rng.sample(_SELLING, k=rng.randint(3, 5))) + "。"


def misread_latin(text: str, _rng: random.Random) -> str:
    """UTF-8 read as Latin-1."""
    return text.encode().decode("latin-1")


def misread_gbk(text: str, _rng: random.Random) -> str:
    """UTF-8 read as GBK."""
    return text.encode().decode("gbk", errors="replace")


def lost(text: str, rng: random.Random) -> str:
    """One character in ten lost."""
    return "".join("\ufffd" if rng.random() < 0.1 else c for c in text)


KINDS: tuple[Callable[[str, random.Random], str], ...] = (
    *(character_loop, phrase_loop, sentence_loop, line_loop),
    *(character_salad, word_salad, bad_scan),
    *(stub, broken_off),
    refusal,
    *(navigation, footer, links, advertisement),
    *(misread_latin, misread_gbk, lost),
)
# An advertisement is one where an answer is expected.
_TYPES: dict[Callable[[str, random.Random], str], tuple[str, ...]] = {advertisement: ("qa",)}


def make(good: Sequence[tuple[str, str]]) -> Iterator[Garbage]:
    """Every kind of garbage from every (doc_type, text) of ``good``; the same for the same input, whatever its order."""
    for doc_type, text in sorted(set(good)):
        for kind in KINDS:
            if doc_type in _TYPES.get(kind, (doc_type,)):
                seed = hashlib.sha256(f"{SEED}\0{kind.__name__}\0{text}".encode()).digest()
                yield Garbage(kind.__name__, doc_type, kind(text, random.Random(int.from_bytes(seed[:8], "big"))))


def read_good(path: Path) -> list[tuple[str, str]]:
    """Documents of JSON lines ``{doc_type, text}``."""
    with path.open(encoding="utf-8") as lines:
        return [(record["doc_type"], record["text"]) for record in map(json.loads, lines)]


def main() -> int:
    """Write garbage as JSON lines ``{kind, doc_type, text}``."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("good", type=Path, help="good documents: JSON lines of {doc_type, text}")
    parser.add_argument("--out", type=Path, required=True, help="file to write")
    arguments = parser.parse_args()
    with arguments.out.open("w", encoding="utf-8") as out:
        for garbage in make(read_good(arguments.good)):
            out.write(json.dumps(garbage._asdict(), ensure_ascii=False) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
