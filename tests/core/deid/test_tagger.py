"""The names model: decoding against a search over all paths, the file's bytes, and what it must find."""

import itertools
from typing import Any

import numpy as np
import pytest

from lexmill.core.deid.decode import KIND_PLACES, N_FEATURES, OFFSETS, PLACES, hash_features
from lexmill.core.deid.tagger import LABELS, N_TAGS, Mention, Tagger, fold, kinds_of, write_model

BITS = 8


def allowed() -> Any:
    table = np.zeros((N_TAGS + 1, N_TAGS), dtype=np.bool_)
    for before, after in itertools.product(range(N_TAGS + 1), range(N_TAGS)):
        closed = before == N_TAGS or before % 3 == 0
        opens = after == 0 or after % 3 == 1
        table[before, after] = opens if closed else not opens and (after - 1) // 3 == (before - 1) // 3
    return table


@pytest.fixture(scope="module")
def small() -> bytes:
    random = np.random.default_rng(7)
    weights = random.normal(0, 1, (1 << BITS, N_TAGS)).astype(np.float32)
    return write_model(weights, random.normal(0, 1, (N_TAGS + 1, N_TAGS)).astype(np.float32), allowed(), "王李")


def emissions(tagger: Tagger, text: str) -> Any:
    codes = fold(text)
    kinds = kinds_of(codes, "王李")
    rows = np.zeros(N_FEATURES, dtype=np.uint32)
    scores = []
    for at in range(len(codes)):
        hash_features(codes, kinds, at, 64 - BITS, PLACES, KIND_PLACES, OFFSETS, rows)
        scores.append(tagger._weights[rows].astype(np.int64).sum(axis=0))
    return np.array(scores)


def value(tagger: Tagger, scores: Any, path: tuple[int, ...], bias: int) -> int:
    moves = tagger._transitions
    total = 0
    for at, tag in enumerate(path):
        total += int(scores[at, tag]) - (bias if tag == 0 else 0) + int(moves[N_TAGS if at == 0 else path[at - 1], tag])
    return total


def mentions(path: tuple[int, ...]) -> list[tuple[int, int, str]]:
    found, start = [], 0
    for at, tag in enumerate(path):
        if tag % 3 == 1:
            start = at
        elif tag and tag % 3 == 0:
            found.append((start, at + 1, LABELS[(tag - 1) // 3]))
    return found


@pytest.mark.parametrize("text", ["王", "王五", "被告王五借", "王五1李"])
@pytest.mark.parametrize("bias", [0.0, 1.5])
def test_decoding_finds_the_best_of_all_paths(text: str, bias: float, small: bytes) -> None:
    tagger = Tagger(small)
    table = allowed()
    scores = emissions(tagger, text)
    weight = round(bias * tagger._scale)
    paths = [
        path
        for path in itertools.product(range(N_TAGS), repeat=len(text))
        if path[-1] % 3 == 0 and all(table[N_TAGS if at == 0 else path[at - 1], tag] for at, tag in enumerate(path))
    ]
    best = max(paths, key=lambda path: value(tagger, scores, path, weight))
    assert [(item.start, item.end, item.label) for item in tagger.decode(text, bias)] == mentions(best)


def test_the_margin_is_the_distance_to_no_mention(small: bytes) -> None:
    tagger = Tagger(small)
    for text in ("被告王五借款", "李四王五李六", "某某公司"):
        scores = emissions(tagger, text)
        for item in tagger.decode(text, 1.0):
            first = 1 + 3 * LABELS.index(item.label)
            with_it = [0] * len(text)
            with_it[item.start : item.end] = [first, *[first + 1] * (item.end - item.start - 2), first + 2]
            margin = value(tagger, scores, tuple(with_it), 0) - value(tagger, scores, (0,) * len(text), 0)
            assert item.margin == pytest.approx(margin / tagger._scale)


def test_the_bytes_repeat_and_damage_is_told(small: bytes) -> None:
    random = np.random.default_rng(7)
    weights = random.normal(0, 1, (1 << BITS, N_TAGS)).astype(np.float32)
    assert write_model(weights, random.normal(0, 1, (N_TAGS + 1, N_TAGS)).astype(np.float32), allowed(), "王李") == small
    with pytest.raises(ValueError, match="damaged"):
        Tagger(small[:200])


def test_an_empty_text_and_odd_characters(small: bytes) -> None:
    assert Tagger(small).decode("", 0.0) == []
    assert all(isinstance(item, Mention) for item in Tagger(small).decode("\ud800王\U0001f600五", 0.0))


def test_a_text_of_any_length_reads_alike(tagger: Tagger) -> None:
    told = "经庹未央牵线，原告认识了被告。"
    long = "本院认为。" * 14_000
    found = tagger.decode(long + told, 1.0)
    short = tagger.decode("本院认为。" * 2 + told, 1.0)
    assert [item._replace(start=item.start - len(long) + 10, end=item.end - len(long) + 10) for item in found] == short


def test_folding_keeps_the_places() -> None:
    assert "".join(map(chr, fold("１Ａz·•×\u3000"))) == "0aa··X "


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("经庹未央牵线，原告认识了被告。", "庹未央"),
        ("其妻子阿依仙木在场，表示愿意还款。", "阿依仙木"),
        ("被告人中村健太伙同他人盗窃。", "中村健太"),
        ("证人伊万·彼得连科的证言证实其在家。", "伊万·彼得连科"),
        ("委托诉讼代理人欧阳雪，律师。", "欧阳雪"),
    ],
)
def test_the_shipped_model_finds_names_of_many_kinds(text: str, name: str, tagger: Tagger) -> None:
    assert name in [text[item.start : item.end] for item in tagger.decode(text, 1.0) if item.label == "PERSON"]


def test_the_shipped_model_takes_no_surrogate_for_a_name(tagger: Tagger) -> None:
    text = "原告章某1诉被告某某公司2、欧阳某甲，证人某某3的证言。"
    assert tagger.decode(text, 0.0) == []
