"""Every shipped rule proves its examples; a wrong rule is named."""

import tomllib
from typing import Any

import pytest
from pydantic import ValidationError

from lexmill.core.deid.rules import DeidRules, read_marks
from tests.core.deid.conftest import RULES_DIR, load_tables


def test_shipped_rules_prove_themselves(rules: DeidRules) -> None:
    assert rules.faults() == []


def test_ids_are_unique_and_files_hold_only_arrays_of_tables() -> None:
    ids = []
    for path in sorted(RULES_DIR.glob("*.toml")):
        for rows in tomllib.loads(path.read_text(encoding="utf-8")).values():
            assert isinstance(rows, list)
            ids += [row["id"] for row in rows]
    assert len(ids) == len(set(ids))


def with_change(kind: str, id_: str, **change: Any) -> DeidRules:
    tables = load_tables()
    tables[kind] = [{**row, **change} if row["id"] == id_ else row for row in tables[kind]]
    return DeidRules.model_validate(tables)


@pytest.mark.parametrize(
    ("kind", "id_", "change"),
    [
        ("identifier", "identifier.mobile", {"no_match": ["致电13800001111"]}),
        ("identifier", "identifier.mobile", {"match": ["致电⟦13800001⟧"]}),
        ("identifier", "identifier.vin", {"check": "no_such_check"}),
        ("role", "role.party_civil", {"match": ["原告应当⟦章若岚⟧"]}),
        ("organisation", "organisation.company", {"no_match": ["被告：上海泽沛商贸有限公司，"]}),
        ("birth_date", "birth_date.born_follows", {"match": ["⟦1985年3月12日⟧签订"]}),
        ("lexicon", "lexicon.surname", {"lacks": ["王"]}),
        ("protected_case", "protected_case.family", {"no_match": ["离婚纠纷一案"]}),
        ("public_body", "public_body.courts", {"match": ["泽沛商贸有限公司"]}),
        ("policy", "policy.spc2016", {"keep": []}),
        ("policy", "policy.spc2016", {"keep_roles": ["party", "party", "lawyer", "official", "agent"]}),
    ],
)
def test_a_rule_that_does_not_prove_itself_is_named(kind: str, id_: str, change: dict[str, Any]) -> None:
    assert [fault.rule_id for fault in with_change(kind, id_, **change).faults()] == [id_]


def test_unknown_keys_are_refused() -> None:
    with pytest.raises(ValidationError):
        with_change("role", "role.party_civil", colour="red")


def test_marks() -> None:
    assert read_marks("甲⟦乙丙⟧丁⟦戊⟧") == ("甲乙丙丁戊", [(1, 3), (4, 5)])
