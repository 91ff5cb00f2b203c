import re

import pytest

from lexmill.core.deid.rules import DeidRules
from lexmill.core.deid.words import openings


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("纠纷", ("纠纷",)),
        ("刑事(?=判决|一案)", ("刑事",)),
        ("[男女](?<=[，,].)", ("男", "女")),
        ("(?:审|书记员)[ 　]|大法官", ("审 ", "审　", "书记员 ", "书记员　", "大法官")),
        ("[汇打]款[0-2]", ("汇款0", "汇款1", "汇款2", "打款0", "打款1", "打款2")),
        # What may be missing, come again or be anything ends the words.
        ("经过?介绍", ("经",)),
        ("诊断为[^，]{0,9}症|HIV", ("诊断为", "HIV")),
        ("(?:男(?=性)|女)子", ("男", "女")),
        ("(?:甲乙+|丙.)丁", ("甲", "丙")),
        ("[0-9][0-9]", tuple("0123456789")),
        ("经?介绍", None),
        (r"\d元", None),
        (".元", None),
        ("[^男]女", None),
        ("(男|女)性", None),
        ("男|", None),
        ("(?=男)", None),
    ],
)
def test_openings_are_told_where_they_can_be(pattern: str, expected: tuple[str, ...] | None) -> None:
    assert openings(pattern) == expected


def test_every_trigger_of_the_rules_is_searched_for_by_its_words(rules: DeidRules) -> None:
    for table in rules.person_pattern:
        words = openings(table.trigger)
        assert words is not None
        for example in table.match:
            text = example.replace("⟦", "").replace("⟧", "")
            hits = list(re.finditer(table.trigger, text))
            assert hits
            assert all(text.startswith(words, hit.start()) for hit in hits)
