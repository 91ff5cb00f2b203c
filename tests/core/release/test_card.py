"""What a source's card says cannot break the table that it stands in."""

import pytest

from lexmill.core.release.card import _cell


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, "–"), ("a|b", "a\\|b"), ("a\nb", "a b"), ("<script>&", "&lt;script>&amp;"), (7, "7"), ("《甲》", "《甲》")],
)
def test_a_cell_holds_what_it_is_given(value: object, shown: str) -> None:
    assert _cell(value) == shown
