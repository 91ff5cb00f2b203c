"""What masking must keep, over real texts of every kind."""

import hashlib
import json
import re
from io import TextIOWrapper
from pathlib import Path

import pytest
import zstandard

from lexmill.core.deid.detector import Detector
from lexmill.core.deid.mask import mask

SHARED = Path(__file__).parents[4] / "shared"
FILES = {
    "contract": ("bench/contract_cn_td2000.jsonl.zst",),
    "exam": ("bench/exam_cn_sfks.jsonl.zst", "bench/exam_cn_wisdom.jsonl.zst"),
    "qa": ("bench/qa_cn_lawyerllama.jsonl.zst", "bench/qa_cn_stard.jsonl.zst"),
    "judgment": (
        "bench/judgment_cn_cail2018.jsonl.zst",
        "bench/judgment_cn_cail2019_rc.jsonl.zst",
        "bench/judgment_cn_cail2019_scm.jsonl.zst",
        "bench/judgment_cn_judge.jsonl.zst",
    ),
}
# Amounts, terms of punishment, articles, courts: each is to be read in the output as often and as it was.
FACTS = (
    re.compile(r"[0-9０-９][0-9０-９,，.．]*[ 　]?[余多]?[万亿]?元"),
    re.compile(
        r"(?:有期徒刑|拘役|管制|缓刑)[零〇一二三四五六七八九十两0-9]{1,4}(?:年|个月)(?:[零〇一二三四五六七八九十又两0-9]{1,4}个月)?"
    ),
    re.compile(r"《[^《》\n]{2,40}(?<!案)》(?:第[零〇一二三四五六七八九十百千0-9]+条)?"),
    re.compile(r"第[零〇一二三四五六七八九十百千0-9]+条"),
    re.compile(r"(?:最高|高级|中级)?人民法院"),
)
DATE = re.compile(r"[12][0-9]{3}年[0-9]{1,2}月[0-9]{1,2}日")
PER_FILE = 150


def sample(path: Path) -> list[str]:
    """The same texts at every run, spread over the file."""
    with path.open("rb") as raw, TextIOWrapper(zstandard.ZstdDecompressor().stream_reader(raw), "utf-8") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    return sorted(texts, key=lambda text: hashlib.sha256(text.encode()).digest())[:PER_FILE]


@pytest.mark.slow
@pytest.mark.skipif(not (SHARED / "bench").is_dir(), reason="needs the corpus of real texts beside the checkout")
@pytest.mark.parametrize("kind", FILES)
def test_facts_survive_and_a_second_mask_changes_nothing(kind: str, strict: Detector) -> None:
    changed = 0
    for file in FILES[kind]:
        for text in sample(SHARED / file):
            masked = mask(text, kind, strict)
            changed += masked.text != text
            assert mask(masked.text, kind, strict).text == masked.text
            # What is not a span is the same, character by character.
            last = at = 0
            for span in masked.spans:
                size = span.start - last
                assert masked.text[at : at + size] == text[last : span.start]
                assert masked.text.startswith(span.replacement, at + size)
                at += size + len(span.replacement)
                last = span.end
            assert masked.text[at:] == text[last:]
            for fact in FACTS:
                assert fact.findall(masked.text) == fact.findall(text)
            births = [(span.start, span.end) for span in masked.spans if span.entity == "BIRTH_DATE"]
            for date in DATE.finditer(text):
                touched = [span for span in masked.spans if span.start < date.end() and date.start() < span.end]
                assert all((span.start, span.end) in births for span in touched)
    assert kind != "judgment" or changed > PER_FILE


@pytest.mark.slow
@pytest.mark.skipif(not (SHARED / "corpus").is_dir(), reason="needs the corpus of real texts beside the checkout")
def test_law_is_left_as_it_is(strict: Detector) -> None:
    paths = sorted((SHARED / "corpus" / "statutes" / "lawrefbook_md").rglob("*.md"))[::4]
    texts = [path.read_text(encoding="utf-8") for path in paths]
    assert len(texts) > PER_FILE
    assert [path.name for path, text in zip(paths, texts, strict=True) if mask(text, "statute", strict).spans] == []
