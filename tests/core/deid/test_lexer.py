import random

import pytest
from ahocorasick_rs import AhoCorasick, MatchKind

from lexmill.core.deid.lexer import Lexer, find_names, to_codes


def _texts(seed: int) -> list[str]:
    # Few different characters, one beyond the basic plane, so that words overlap and touch.
    draw = random.Random(seed)
    return ["".join(draw.choices("甲乙丙丁戊𠮷", k=draw.randrange(60))) for _ in range(300)]


WORDS = ("甲", "甲乙", "甲乙丙", "乙丙", "丙丁戊甲", "丁丁", "戊")
OTHERS = ("甲乙", "丙", "戊戊戊")


def test_each_list_is_searched_as_if_it_were_alone() -> None:
    lexer = Lexer(
        {"words": ("leftmost", WORDS), "others": ("leftmost", OTHERS), "all": ("all", WORDS), "starts": ("starts", WORDS)}
    )
    alone = {
        name: AhoCorasick(list(words), matchkind=MatchKind.LeftmostLongest)
        for name, words in (("words", WORDS), ("others", OTHERS))
    }
    every = AhoCorasick(list(WORDS))
    for text in _texts(1):
        hits = lexer.scan(text)
        for name, words in (("words", WORDS), ("others", OTHERS)):
            expected = [(words[index], start, end) for index, start, end in alone[name].find_matches_as_indexes(text)]
            assert [(lexer.words[word], start, end) for word, start, end in hits.of(name)] == expected
        found = sorted((WORDS[index], start, end) for index, start, end in every.find_matches_as_indexes(text, overlapping=True))
        assert sorted((lexer.words[word], start, end) for word, start, end in hits.of("all")) == found
        assert hits.starts("starts") == sorted({start for _, start, _ in found})


def test_names_are_found_from_left_to_right_the_longest_first() -> None:
    names = ["甲乙", "甲乙丙", "乙丙丁", "戊", "𠮷甲"]
    automaton = AhoCorasick(names, matchkind=MatchKind.LeftmostLongest)
    for text in _texts(2):
        assert [tuple(row) for row in find_names(to_codes(text), names)] == automaton.find_matches_as_indexes(text)


def test_marked_characters_are_counted_once_each() -> None:
    lexer = Lexer({"words": ("leftmost", WORDS)}, marks="甲子丑")
    assert [lexer.scan(text).marked for text in ("", "寅", "甲甲", "子甲乙丑")] == [0, 0, 1, 3]
    assert list(lexer.scan("子甲乙丑").of("words")) == [(1, 1, 3)]


@pytest.mark.parametrize("word", ["", "甲" * 33, "𠮷"])
def test_a_word_it_cannot_hold_is_refused(word: str) -> None:
    with pytest.raises(ValueError, match="1 to 32 characters"):
        Lexer({"words": ("leftmost", (word,))})
