import pytest

from lexmill import rules
from lexmill.core.batch import n_bytes
from lexmill.core.ingest.document import make_document
from lexmill.core.ingest.language import LanguagePolicy, to_simplified
from lexmill.core.ingest.records import Record

TRADITIONAL = "問：房屋買賣契約可以解除嗎？\n答：當事人一方遲延給付者，他方得定期催告；逾期不履行者，得解除契約。"
ENGLISH = "Q: May the buyer rescind the contract?\nA: The buyer may rescind it where the seller is in default of the delivery."


def record(text: str) -> Record:
    return Record("1", text, None, {}, 0)


@pytest.mark.parametrize(
    ("text", "policy", "refused"),
    [
        (TRADITIONAL, LanguagePolicy(), None),
        (TRADITIONAL, LanguagePolicy("drop"), "ingest.traditional"),
        (TRADITIONAL, LanguagePolicy("keep", "drop"), None),
        (ENGLISH, LanguagePolicy("drop", "keep"), None),
        (ENGLISH, LanguagePolicy("convert", "drop"), "ingest.other_language"),
        (to_simplified(TRADITIONAL), LanguagePolicy("drop", "drop"), None),
        ("____ 123", LanguagePolicy("drop", "drop"), None),
    ],
)
def test_a_source_says_what_it_wants(text: str, policy: LanguagePolicy, refused: str | None) -> None:
    document = make_document(record(text), "qa", "TW", rules.load(), policy)
    assert (document.refused, document.text) == (refused, text)


def test_conversion_keeps_words_and_balances() -> None:
    document = make_document(record(TRADITIONAL), "qa", "TW", rules.load(), LanguagePolicy("convert"))
    assert document.text.startswith("问：房屋买卖契约可以解除吗？")
    assert "契约" in document.text, "a term of law is no other term"
    (edit,) = document.edits
    assert edit.rule == "ingest.converted"
    assert edit.n_chars == len(TRADITIONAL) - len(document.text)
    assert edit.n_bytes == n_bytes(TRADITIONAL) - n_bytes(document.text)
    assert document.segments
    assert max(part.end for part in document.segments) <= len(document.text)
