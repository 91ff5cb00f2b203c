"""The files of the evidence: every clause leads to files with their sha256, and the same release gives the same bytes."""

import csv
import hashlib
import io
import json
from pathlib import Path

from lexmill import rules
from lexmill.core.evidence import pages
from tests.core.evidence.test_tables import body, one_set, review

TEMPLATES = {path.name: path.read_text("utf-8") for path in Path(pages.__file__).parents[2].joinpath("templates").iterdir()}
RULES = rules.load().standards
MANIFEST = "5" * 64


def build(found: dict[str, object], date: str = "2026-11-30") -> dict[str, bytes]:
    return pages.build(found, {"2026-01-01": 3}, RULES, {"manifest.json": MANIFEST}, TEMPLATES, date)


def test_every_clause_names_files_that_are_there_by_their_sha256() -> None:
    made = build(body(one_set("s1")))
    said = json.loads(made[pages.CLAUSES])
    clauses = [clause for standard in said["standards"] for clause in standard["clauses"]]
    assert len(clauses) == len(RULES.clause)
    for clause in clauses:
        assert clause["verdict"] in ("符合", "不符合", "不适用", "需人工")
        assert clause["number"]
        for one in clause["evidence"]:
            expected = MANIFEST if one["path"] == "manifest.json" else hashlib.sha256(made[one["path"]]).hexdigest()
            assert one["sha256"] == expected
        assert {figure["how"] for figure in clause["figures"]} - {""} or not clause["figures"]
    assert pages.verdicts(made[pages.CLAUSES]).total() == len(clauses)
    page = made[pages.INDEX].decode()
    assert all(one in page for one in pages.NOT_CHECKED)
    assert "需由律师确认" in page
    assert "http://" not in page
    assert "https://" not in page


def test_only_the_page_knows_the_day() -> None:
    found = body(one_set("s1", review(1000, 10, 0.003)))
    one, other = build(found), build(found, "2026-12-01")
    assert {name for name in one if one[name] != other[name]} == {pages.INDEX}
    assert build(found) == one


def test_a_spreadsheet_has_a_row_a_clause() -> None:
    made = build(body(one_set("s1")))
    rows = list(csv.DictReader(io.StringIO(made["evidence/tc260_003.csv"].decode("utf-8-sig"))))
    assert [row["内容（转述）"] for row in rows] == [
        clause.topic for clause in RULES.clause if clause.id.startswith("tc260_003.")
    ]
    manual = next(row for row in rows if "4,000" in row["内容（转述）"])
    assert manual["结论"] == "需人工"
    assert "review.sample = 未测（≥ 4,000）" in manual["数字"]


def test_a_review_and_screens_settle_what_they_can() -> None:
    verdict = {}
    for name, n in (("few", 2000), ("enough", 4000)):
        said = json.loads(build(body(one_set("s1", review(n, n // 100, 0.0005))))[pages.CLAUSES])
        verdict[name] = {clause["id"]: clause["verdict"] for standard in said["standards"] for clause in standard["clauses"]}
    assert (verdict["few"]["gbt_45654.manual_sample"], verdict["enough"]["gbt_45654.manual_sample"]) == ("不符合", "符合")
    assert verdict["enough"]["tc260_003.technical_sample"] == "不符合"  # 3 of 90 flagged
    assert verdict["enough"]["pipl.deidentified"] == "符合"
    assert verdict["enough"]["pipl.anonymised"] == "不适用"
    assert verdict["enough"]["filing.foreign"] == "不符合"  # 80 % of the tokens


def test_free_text_of_a_card_is_escaped() -> None:
    one = one_set("s1")
    one["sources"]["a"] = {**one["sources"]["a"], "rights": "<script>alert(1)</script>"}
    page = build(body(one))[pages.INDEX].decode()
    assert "<script" not in page
    assert "&lt;script&gt;" in page
