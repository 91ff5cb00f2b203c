"""Train the shipped quality classifier on data-samples/: good documents against corrupted ones; the same bytes every run."""

import argparse
import csv
import gzip
import hashlib
import io
import json
import random
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import fasttext
import numpy as np
import pyarrow as pa

from lexmill.core.quality.classifier import BAD, GOOD, Classifier, spaced

ROOT = Path(__file__).parents[1]
SEED = 20260115
TEXT_FIELDS = ("question", "options", "text", "answer", "explanation")
# Of every ten documents two are held out, chosen by a hash of their text: copies of one document stand on one side.
HELD_OUT = 2
WINDOW = 2000
SETTINGS = {
    "dim": 8,
    "bucket": 12_000,
    "wordNgrams": 2,
    "minCount": 2,
    "epoch": 8,
    "lr": 0.3,
    "thread": 1,
    "seed": SEED,
    "verbose": 0,
}
MENU_ENTRIES = (
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
)


class Sample(NamedTuple):
    """One document of the samples: where it stands, and its text."""

    path: str
    record: str | None
    text: str


class Example(NamedTuple):
    """One line of training or held-out data; ``kind`` is ``good`` or the name of a corruption."""

    kind: str
    text: str


def read_samples(folder: Path) -> list[Sample]:
    """Documents of JSON, JSON Lines, CSV, text and Markdown files that truth.json does not call garbage, in order of path."""
    truth = json.loads((folder / "truth.json").read_text(encoding="utf-8"))
    garbage = {(row["ref"]["path"], row["ref"]["record"]) for row in truth["garbage"]}
    return [sample for sample in _samples(folder) if (sample.path, sample.record) not in garbage]


def _samples(folder: Path) -> Iterator[Sample]:
    for path in sorted(path for path in folder.glob("*/*") if path.is_file() and path.parent.name != "templates"):
        name = path.relative_to(folder).as_posix()
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        if path.suffix in (".txt", ".md"):
            yield Sample(name, None, data.decode("utf-8", errors="replace"))
        elif path.suffix in (".jsonl", ".gz"):
            yield from _records(name, [json.loads(line) for line in data.splitlines()])
        elif path.suffix == ".json":
            yield from _records(name, json.loads(data))
        elif path.suffix == ".csv":
            yield from _records(name, list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline=""))))


def _records(name: str, records: Sequence[dict[str, str]]) -> Iterator[Sample]:
    for record in records:
        yield Sample(name, record["id"], "\n".join(record[key] for key in TEXT_FIELDS if key in record))


# --- corruptions: text and random generator in, ruined text out ---------------------------------------------------------------


def shuffled(text: str, rng: random.Random) -> str:
    """The characters of the text in any order: the frequencies of law without its words."""
    characters = list(text)
    rng.shuffle(characters)
    return "".join(characters)


def locally_shuffled(text: str, rng: random.Random) -> str:
    """Every six characters in another order: a broken reading order, as of columns read across."""
    return "".join(shuffled(text[at : at + 6], rng) for at in range(0, len(text), 6))


def salad(text: str, rng: random.Random) -> str:
    """Pieces of two to four characters thrown together."""
    pieces: list[str] = []
    while sum(len(piece) for piece in pieces) < len(text):
        at = rng.randrange(max(1, len(text) - 4))
        pieces.append(text[at : at + rng.randint(2, 4)])
    return "".join(pieces)


def looped(text: str, rng: random.Random) -> str:
    """The start of the text, then one phrase of it without end."""
    length = rng.randint(1, 12)
    at = rng.randrange(max(1, len(text) - length))
    return text[: rng.randint(0, 120)] + text[at : at + length] * (800 // length)


def stub(text: str, rng: random.Random) -> str:
    """A few characters, cut in the middle of a word."""
    at = rng.randrange(max(1, len(text) - 24))
    return text[at : at + rng.randint(4, 24)]


def menu(text: str, rng: random.Random) -> str:
    """Navigation with a sentence of the text in it."""
    entries = rng.choices(MENU_ENTRIES, k=rng.randint(20, 80))
    entries.insert(rng.randrange(len(entries)), text[: rng.randint(0, 60)])
    return rng.choice("\n |>").join(entries)


def misread_latin(text: str, _rng: random.Random) -> str:
    """UTF-8 read as Latin-1, what cannot be printed lost."""
    return "".join(character for character in text.encode().decode("latin-1") if not 0x7F <= ord(character) < 0xA0)


def misread_gbk(text: str, _rng: random.Random) -> str:
    """UTF-8 read as GBK."""
    return text.encode().decode("gbk", errors="ignore")


def noisy(text: str, rng: random.Random) -> str:
    """One character in five misrecognised, as in a bad scan."""
    everyday = bytes(byte for lead in range(0xB0, 0xD7) for trail in range(0xA1, 0xFF) for byte in (lead, trail)).decode("gb2312")
    return "".join(rng.choice(everyday) if rng.random() < 0.2 else character for character in text)


CORRUPTIONS: tuple[Callable[[str, random.Random], str], ...] = (
    shuffled,
    locally_shuffled,
    salad,
    looped,
    stub,
    menu,
    misread_latin,
    misread_gbk,
    noisy,
)


def examples(samples: Sequence[Sample]) -> tuple[list[Example], list[Example]]:
    """Training and held-out examples: of every document two windows as they are, and as many corrupted."""
    sides: tuple[list[Example], list[Example]] = ([], [])
    for number, text in enumerate(sorted({sample.text for sample in samples if sample.text.strip()})):
        digest = hashlib.sha256(text.encode()).digest()
        rng = random.Random(SEED + int.from_bytes(digest[:8], "big"))
        side = sides[digest[8] % 10 < HELD_OUT]
        start = rng.randrange(max(1, len(text) - WINDOW))
        windows = (text[:WINDOW], text[start : start + rng.randint(200, WINDOW)])
        for at, window in enumerate(windows):
            corrupt = CORRUPTIONS[(2 * number + at) % len(CORRUPTIONS)]
            side.append(Example("good", window))
            side.append(Example(corrupt.__name__, corrupt(window, rng)))
    return sides


def train(training: Sequence[Example]) -> bytes:
    """The model file."""
    lines = spaced(pa.array([example.text for example in training])).to_pylist()
    labelled = [
        f"{GOOD if example.kind == 'good' else BAD} {line}\n" for example, line in zip(training, lines, strict=True) if line
    ]
    random.Random(SEED).shuffle(labelled)
    with tempfile.TemporaryDirectory() as folder:
        # fastText reads and saves files only; their names do not go into the model.
        source, target = Path(folder) / "train.txt", Path(folder) / "model.bin"
        source.write_text("".join(labelled), encoding="utf-8")
        fasttext.train_supervised(input=str(source), label="__label__", **SETTINGS).save_model(str(target))
        return target.read_bytes()


def held_out_table(data: bytes, held_out: Sequence[Example], threshold: float) -> list[str]:
    """Rows of the card: examples of each kind, mean score, share below the threshold."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.bin"
        path.write_bytes(data)
        classifier = Classifier(hashlib.sha256(data).hexdigest(), fasttext.load_model(str(path)))
    scores = classifier.score(pa.array([example.text for example in held_out]))
    rows = []
    for kind in ("good", *(corrupt.__name__ for corrupt in CORRUPTIONS)):
        of_kind = scores[[example.kind == kind for example in held_out]]
        rows.append(f"| {kind} | {len(of_kind)} | {np.mean(of_kind):.3f} | {np.mean(of_kind < threshold):.1%} |")
    return rows


def input_digest(folder: Path) -> str:
    """One sha256 over the paths and contents of all files that are read (gzip files unpacked)."""
    total = hashlib.sha256((folder / "truth.json").read_bytes())
    for sample in _samples(folder):
        total.update(f"{sample.path}\0{sample.record}\0{sample.text}\0".encode())
    return total.hexdigest()


def card(data: bytes, folder: Path, training: Sequence[Example], held_out: Sequence[Example], threshold: float) -> str:
    """The model card, in Markdown."""
    settings = ", ".join(f"{key} {value}" for key, value in SETTINGS.items() if key != "verbose")
    table = "\n".join(held_out_table(data, held_out, threshold))
    return f"""# Quality classifier

`quality.bin`, {len(data):,} bytes, written by `scripts/train_quality.py`; sha256
`{hashlib.sha256(data).hexdigest()}`.

A supervised fastText model over characters (first 2,000 visible ones, separated by spaces, digits folded to 0). Its score is the
probability that a text is good, that is, reads like legal text that nothing has ruined.

- **Settings**: {settings}.
- **Inputs**: the documents of `data-samples/` (JSON, JSON Lines, CSV, text, Markdown) that `truth.json` does not call garbage,
  sha256 over them `{input_digest(folder)}`.
  All are synthetic and written by this project, under its licence.
- **Examples**: {len(training):,} for training, {len(held_out):,} held out; half are windows of documents, half are windows
  ruined on purpose. Documents are split by a hash of their text.

## Held-out examples

Threshold {threshold}: below it the rule `quality.any.score` tags.

| kind | examples | mean score | below the threshold |
|---|---|---|---|
{table}

## Limits

- It has seen nothing but the synthetic samples, which share their templates: the table says little about other text. It knows few
  words, and what it does not know scores lower. Traditional characters, English and tables of figures are foreign to it.
- So its rule only tags; it drops nothing. To drop by score, train on trusted text of your own, measure the false-drop rate on
  good documents, and write it into an overlay of the rule.
- It cannot see a text that breaks off, one that is false, or one that is out of date.
"""


def main() -> int:
    """Train and write model and card."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=Path, default=ROOT / "data-samples", help="folder with the samples and truth.json")
    parser.add_argument("--out", type=Path, default=ROOT / "pipeline" / "lexmill" / "models", help="folder to write to")
    parser.add_argument("--threshold", type=float, default=0.05, help="score below which the card counts a text as bad")
    arguments = parser.parse_args()
    training, held_out = examples(read_samples(arguments.samples))
    data = train(training)
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "quality.bin").write_bytes(data)
    text = card(data, arguments.samples, training, held_out, arguments.threshold)
    (arguments.out / "quality.md").write_text(text, encoding="utf-8")
    print(f"{len(training)} examples, {len(data):,} bytes in {arguments.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
