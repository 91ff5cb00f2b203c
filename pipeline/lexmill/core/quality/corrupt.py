"""Ruin good text in the ways that text is ruined, for a classifier to learn from: text and random generator in, ruin out."""

from collections.abc import Callable, Mapping
from random import Random
from typing import Final

Corruption = Callable[[str, Random], str]

_EVERYDAY = bytes(byte for lead in range(0xB0, 0xD8) for trail in range(0xA1, 0xFF) for byte in (lead, trail)).decode(
    "gb2312", "ignore"
)
_MENU = (
    "首页",
    "法律法规",
    "案例库",
    "裁判文书",
    "合同范本",
    "文书大全",
    "律师名录",
    "司法考试",
    "法律咨询",
    "新闻中心",
    "热点专题",
    "婚姻家庭",
    "劳动工伤",
    "交通事故",
    "房产纠纷",
    "债权债务",
    "公司法务",
    "刑事辩护",
    "知识产权",
    "行政诉讼",
    "关于我们",
    "联系我们",
    "网站地图",
    "友情链接",
    "免责声明",
    "设为首页",
    "加入收藏",
    "用户登录",
    "免费注册",
    "上一篇",
    "下一篇",
    "返回顶部",
    "打印本页",
    "关闭窗口",
    "最新上传",
    "下载排行",
    "热门标签",
    "意见反馈",
    "帮助中心",
    "手机版",
    "更多",
    "全部",
    "筛选",
    "排序",
    "查看详情",
    "我要提问",
    "我要投稿",
    "在线客服",
    "二维码",
    "下载APP",
    "换一换",
)
_SALES = (
    "欢迎来电",
    "免费咨询",
    "添加微信",
    "一对一服务",
    "专业律师团队",
    "胜诉率高",
    "不成功不收费",
    "限时优惠",
    "名额有限",
    "立即预约",
    "扫码关注",
    "点击头像",
    "全国连锁",
    "上门服务",
    "快速办理",
    "当天到账",
    "无抵押",
    "低利率",
    "代理注册",
    "代办执照",
    "高价回收",
    "诚招代理",
    "招商加盟",
    "火热报名",
    "保过班",
    "内部资料",
    "押题",
    "包邮",
    "秒杀",
    "推荐阅读",
    "关键词",
    "热搜",
)
_MACHINE = (
    "好的，以下是为您生成的内容：",
    "当然，我可以帮您。请提供更多信息。",
    "希望以上内容对您有所帮助！如果您还有其他问题，请随时告诉我。",
    "请注意，以上内容仅供参考，我只是一个语言模型。",
    "很抱歉，我无法回答这个问题。",
    "作为一个人工智能助手，我没有个人观点。",
)


def shuffled(text: str, rng: Random) -> str:
    """The characters in any order: the frequencies of law without its words."""
    return "".join(rng.sample(text, k=len(text)))


def locally_shuffled(text: str, rng: Random) -> str:
    """Every few characters in another order: a broken reading order, as of columns read across."""
    size = rng.randint(3, 12)
    return "".join(shuffled(text[at : at + size], rng) for at in range(0, len(text), size))


def salad(text: str, rng: Random) -> str:
    """Pieces of a few characters thrown together."""
    size = rng.randint(2, 4)
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    rng.shuffle(pieces)
    return "".join(pieces)


def half_salad(text: str, rng: Random) -> str:
    """A text that turns into salad on its way."""
    at = rng.randint(len(text) // 8, max(1, len(text) // 2))
    return text[:at] + salad(text[at:], rng)


def noisy(text: str, rng: Random) -> str:
    """Characters misrecognised, as in a bad scan: one in ten to one in two."""
    share = rng.uniform(0.1, 0.5)
    return "".join(rng.choice(_EVERYDAY) if "\u4e00" <= c <= "\u9fff" and rng.random() < share else c for c in text)


def thinned(text: str, rng: Random) -> str:
    """Characters lost without a trace: one in six to one in three."""
    share = rng.uniform(0.16, 0.33)
    return "".join(c for c in text if rng.random() >= share)


def looped(text: str, rng: Random) -> str:
    """The start of the text, then one phrase of it without end."""
    length = rng.randint(1, 24)
    at = rng.randrange(max(1, len(text) - length))
    return text[: rng.randint(0, 200)] + (text[at : at + length] or "的") * (800 // length)


def menu(text: str, rng: Random) -> str:
    """Navigation with a sentence of the text in it."""
    entries = rng.choices(_MENU, k=rng.randint(12, 80))
    entries.insert(rng.randrange(len(entries)), text[: rng.randint(0, 60)])
    return rng.choice("\n |>·").join(entries)


def sales(text: str, rng: Random) -> str:
    """Sales lines and search words around a scrap of the text."""
    words = rng.choices(_SALES, k=rng.randint(8, 40))
    words.insert(rng.randrange(len(words)), text[: rng.randint(0, 80)])
    return rng.choice("，！ 、").join(words)


def machine(text: str, rng: Random) -> str:
    """What a chat model says around an answer, and a scrap of one."""
    said = rng.sample(_MACHINE, k=rng.randint(2, 4))
    said.insert(rng.randrange(len(said)), text[: rng.randint(0, 80)])
    return "\n".join(said)


def misread_latin(text: str, _rng: Random) -> str:
    """UTF-8 read as Latin-1, what cannot be printed lost."""
    return "".join(character for character in text.encode().decode("latin-1") if not 0x7F <= ord(character) < 0xA0)


def misread_gbk(text: str, _rng: Random) -> str:
    """UTF-8 read as GBK."""
    return text.encode().decode("gbk", errors="ignore")


CORRUPTIONS: Final[Mapping[str, Corruption]] = {
    corruption.__name__: corruption
    for corruption in (
        shuffled,
        locally_shuffled,
        salad,
        half_salad,
        noisy,
        thinned,
        looped,
        menu,
        sales,
        machine,
        misread_latin,
        misread_gbk,
    )
}
