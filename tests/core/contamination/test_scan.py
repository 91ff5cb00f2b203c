import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexmill.core.contamination import scan as module
from lexmill.core.contamination.index import (
    GRAM,
    INDEX,
    MAX_UNITS_A_GRAM,
    STRIDE,
    Benchmark,
    Index,
    build,
    gram_starts,
    units_of,
)
from lexmill.core.contamination.items import Item
from lexmill.core.contamination.letters import letters_of
from lexmill.core.contamination.scan import Matches, quoted_grams, scan, stands, weigh

ALPHABET = "甲乙丙丁戊己庚辛壬癸子丑寅卯辰巳午未申酉戌亥天地玄黄宇宙洪荒日月盈昃寒来暑往"


def invented(n: int, seed: int) -> str:
    return "".join(random.Random(seed).choices(ALPHABET, k=n))


def index_of(*items: Item) -> Index:
    return build([Benchmark("b", "", len(items), 0)], units_of(items, 0))


def column(*texts: str) -> pa.ChunkedArray:
    return pa.chunked_array([list(texts)], pa.string())


def look(index: Index, *texts: str, law: str = "") -> Matches:
    return scan(column(*texts), index, weigh(index, quoted_grams(column(law), index)))


def shares(found: Matches) -> dict[tuple[int, int], float]:
    return {(int(doc), int(unit)): float(share) for doc, unit, share in zip(found.doc, found.unit, found.share, strict=True)}


@settings(max_examples=60, deadline=None)
@given(st.integers(8, 120), st.integers(0, 60), st.integers(0, 60), st.integers(0, 1 << 30))
def test_a_unit_is_found_whole_wherever_it_stands(n: int, before: int, after: int, seed: int) -> None:
    stem = invented(n, seed)
    text = f"{invented(before, seed + 1)}\n{stem}　{invented(after, seed + 2)}"
    found = look(index_of(Item(stem)), text)
    assert found.whole.tolist() == [True]
    assert found.share.tolist() == [1.0]
    assert letters_of(text)[found.start[0] : found.end[0]].tolist() == letters_of(stem).tolist()


def test_grams_begin_at_every_fourth_character_and_end_with_the_unit() -> None:
    assert gram_starts(7) == []
    assert gram_starts(8) == [0]
    assert gram_starts(19) == [0, 4, 8, 11]
    for n in range(8, 100):
        starts = gram_starts(n)
        assert {at for start in starts for at in range(start, start + GRAM)} == set(range(n))


def test_space_width_masks_and_ends_do_not_matter() -> None:
    found = look(index_of(Item("张某某说：（1）拾得他人之物，应当返还。（　）")), "张××说:(1)拾得他人\n之物,应当返还.")
    assert found.whole.tolist() == [True]
    assert "".join(map(chr, letters_of("（）。甲 乙：?Ａ1〇é“《》、\ufffd×"))) == "甲乙A1〇é某"


def test_a_changed_character_costs_what_it_touches() -> None:
    stem = invented(60, 1)
    found = look(index_of(Item(stem)), stem[:30] + "某" + stem[31:])
    assert not found.whole[0]
    assert 1 - 2 * GRAM / 60 <= found.share[0] < 1


def test_what_is_scattered_over_a_text_is_not_together() -> None:
    stem = invented(80, 1)
    parts = [stem[at : at + 16] for at in range(0, 80, 16)]
    filler = invented(400, 2)
    found = look(index_of(Item(stem)), filler.join(parts))
    assert found.share.max(initial=0) < 0.5


def test_what_statutes_say_does_not_count() -> None:
    law, own = invented(60, 3), invented(40, 4)
    index = index_of(Item(law + own))
    assert weigh(index, quoted_grams(column(f"第一条{law}。"), index)).counted[0] == pytest.approx(40, abs=GRAM)
    assert shares(look(index, law, law=law)) == {(0, 0): 0.0}
    assert shares(look(index, law))[0, 0] > 0.5
    assert look(index, law, law=law).overall[0] > 0.5
    assert shares(look(index, own, law=law))[0, 0] > 0.8


def test_what_many_items_say_does_not_count() -> None:
    asked = "关于本案下列说法正确的是哪一项"
    index = index_of(*(Item(invented(30, n) + asked) for n in range(MAX_UNITS_A_GRAM + 1)))
    assert index.generic.any()
    assert shares(look(index, invented(50, 99) + asked)) == {}


def test_blocks_do_not_show() -> None:
    stems = [invented(40, n) for n in range(30)]
    text = "".join(stem + invented(9000, 100 + n) for n, stem in enumerate(stems))
    found = look(index_of(*map(Item, stems)), text)
    assert len(text) > 3 * module._BLOCK
    assert set(found.unit[found.whole].tolist()) == set(range(30))
    starts = {int(unit): int(start) for unit, start in zip(found.unit, found.start, strict=True)}
    assert starts == {n: n * 9040 for n in range(30)}


def test_units_without_grams_can_be_looked_up() -> None:
    index = index_of(Item("甲乙丙丁戊"))
    assert not index.searched[0]
    points = np.array([ord(char) for char in "天地甲乙丙丁戊玄黄"], np.uint32)
    assert stands(points, 5, index.whole[0])
    assert not stands(points[3:], 5, index.whole[0])


def test_the_index_gives_no_text_away() -> None:
    table = units_of([Item(invented(50, 1), (invented(9, 2),))], 0)
    assert table.schema.equals(INDEX)
    assert all(value < 1 << 40 for grams in table["grams"].to_pylist() for value in grams)
    # Who knows one gram must guess four characters at a time to know the next.
    assert len(table["grams"][0]) == len(gram_starts(50)) == 1 + -(-(50 - GRAM) // STRIDE)


def test_empty_texts_and_an_empty_index() -> None:
    empty: Any = look(index_of(), "甲", "")
    assert len(empty.doc) == 0
    assert len(look(index_of(Item(invented(20, 1))), "", "甲").doc) == 0
