"""What was taken down is known again, exact or nearly, from any source; other documents are not, and nothing can be read."""

import datetime
import random

import pyarrow as pa

from lexmill.core.release.tombstones import TOMBSTONE, Tombstones, case_of, marks_of, tombstone
from lexmill.core.tokens.ids import low63

SECRET = b"s" * 32
LETTERS = "合同履行违约赔偿解除期限交付标的时效证据管辖判决担保抵押保证当事人义务责任损失通知价款诉讼举证法院执行"


def text_of(seed: int, length: int = 900) -> str:
    chance = random.Random(seed)
    return "".join(chance.choice(LETTERS) for _ in range(length))


def edited(text: str, share: float, seed: int) -> str:
    chance = random.Random(seed)
    letters = list(text)
    for at in chance.sample(range(len(letters)), round(share * len(letters))):
        letters[at] = "某"
    return "".join(letters)


def stones(text: str, doc_id: str = "ab" * 16, number: str | None = None, secret: bytes = SECRET) -> Tombstones:
    marks = marks_of(pa.chunked_array([[text]]))
    row = tombstone(secret, doc_id, low63(doc_id), number, marks.exact[0], marks.signature[0], datetime.date(2026, 1, 2))
    return Tombstones.of(pa.Table.from_pylist([row], schema=TOMBSTONE), secret)


def buried(found: Tombstones, *texts: str, number: str | None = None) -> list[bool]:
    ids = [f"{n:032x}" for n in range(len(texts))]
    return found.bury(ids, [number] * len(texts), pa.chunked_array([list(texts)])).tolist()


def test_copies_are_known_and_others_are_not() -> None:
    text = text_of(1)
    spaced = text.replace("合", " 合\n")
    assert buried(stones(text), text, spaced, edited(text, 0.02, 5), text_of(2)) == [True, True, True, False]


def test_one_in_three_changed_is_another_document() -> None:
    text = text_of(1)
    assert not any(buried(stones(text), *(edited(text, 0.12, seed) for seed in range(50))))


def test_a_short_text_is_known_only_whole() -> None:
    assert buried(stones("甲。乙"), "甲。乙", "甲。丙") == [True, False]


def test_the_id_and_the_case_number_are_enough() -> None:
    found = stones(text_of(1), number="（2016）苏01民终123号")
    assert found.is_document("ab" * 16)
    assert not found.is_document("cd" * 16)
    assert found.is_short(low63("ab" * 16))
    assert buried(found, text_of(3), number="(2016)苏01民终123号") == [True]
    assert buried(found, text_of(3), number="（2016）苏01民终124号") == [False]
    assert case_of("（2016）苏××民终×××号") is None


def test_another_secret_makes_other_hashes() -> None:
    one, other = stones(text_of(1)), stones(text_of(1), secret=b"t" * 32)
    assert not one.documents & other.documents
    assert not one.exacts & other.exacts
    assert not (one.pairs == other.pairs).any()
