"""What the shipped rules do to garbage of every kind, made from the samples."""

from collections import Counter

from lexmill import rules
from lexmill.core.quality.judge import filter_documents
from scripts import make_garbage
from tests.core.quality.conftest import documents
from tests.core.quality.test_judge import GOOD

# Kinds that no rule is there to see.
UNSEEN = {"character_salad", "word_salad", "bad_scan", "broken_off"}


def good() -> list[tuple[str, str]]:
    """Every good text and twenty texts cut from its lines, so that random ruins are seen more than once."""
    return [(doc_type, text[at:]) for doc_type, text in GOOD.items() for at in range(0, len(text) // 3, 3)]


def test_every_kind_leaves_by_the_rules_alone() -> None:
    made = list(make_garbage.make(good()))
    batch = filter_documents(documents(*((one.doc_type, one.text) for one in made)), rules.load().quality, None)
    gone = {int(doc_id, 16) for doc_id in batch.ledger["doc_id"].to_pylist()}
    total, out = Counter(one.kind for one in made), Counter(one.kind for number, one in enumerate(made) if number in gone)
    assert set(total) == {kind.__name__ for kind in make_garbage.KINDS}
    assert {kind: out[kind] / total[kind] for kind in sorted(set(total) - UNSEEN) if out[kind] < 0.95 * total[kind]} == {}


def test_garbage_does_not_depend_on_the_order() -> None:
    assert list(make_garbage.make(good())) == list(make_garbage.make(list(reversed(good()))))
