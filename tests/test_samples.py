"""The samples are what the generator makes, hold what truth.json says, and check_demo.py sees every kind of miss."""

import csv
import dataclasses
import difflib
import gzip
import importlib.util
import io
import json
import re
import sys
import tomllib
from itertools import combinations
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from stdnum import luhn
from stdnum.cn import ric, uscc

from lexmill.config import load
from lexmill.schema import DOCUMENT_JUDGED, LEDGER, LINEAGE, TOKENS

ROOT = Path(__file__).resolve().parent.parent
SAMPLES = ROOT / "data-samples"


def _script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


generator = _script("make_samples")
checker = _script("check_demo")

Truth = dict[str, Any]


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    made: dict[str, bytes] = generator.make(1)
    return made


@pytest.fixture(scope="module")
def truth(files: dict[str, bytes]) -> Truth:
    loaded: Truth = json.loads(files["truth.json"])
    return loaded


def _records(path: str, data: bytes) -> dict[str | None, str]:
    """Texts by record id, read without the pipeline."""
    if path.endswith(".gz"):
        data = gzip.decompress(data)
    if path.endswith(".html"):
        page = data.decode("gb18030")
        found = re.search(r'<div class="content">\n(.*?)</div>', page, re.DOTALL)
        assert found is not None
        return {None: re.sub(r"<p>\u3000\u3000(.*?)</p>\n", r"\1\n", found[1]).strip("\n")}
    if path.endswith((".txt", ".md")):
        return {None: data.decode("utf-8", errors="replace")}
    if path.endswith((".jsonl", ".jsonl.gz")):
        rows = [json.loads(line) for line in data.decode().splitlines()]
    elif path.endswith(".json"):
        rows = json.loads(data)
    else:
        rows = list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline="")))
    return {row.pop("id"): "\n".join(value for key, value in row.items() if key not in generator.ABOUT) for row in rows}


@pytest.fixture(scope="module")
def texts(files: dict[str, bytes]) -> dict[tuple[str, str | None], str]:
    config = load(SAMPLES / "demo.toml")
    patterns = [pattern for source in config.source for pattern in source.paths]
    return {
        (path, record): text
        for path, data in files.items()
        if any(Path(path).match(pattern) for pattern in patterns)
        for record, text in _records(path, data).items()
    }


def _key(ref: dict[str, Any]) -> tuple[str, str | None]:
    return ref["path"], ref["record"]


# --- the files ---------------------------------------------------------------------------------------------------------------


def test_what_is_committed_is_what_the_generator_makes(files: dict[str, bytes]) -> None:
    assert generator.differences(SAMPLES, files) == []


def test_every_run_makes_the_same_bytes(files: dict[str, bytes]) -> None:
    assert generator.make(1) == files


def test_a_larger_scale_makes_more_documents() -> None:
    larger = json.loads(generator.make(2)["truth.json"])
    assert larger["documents"] > 1000
    assert (len(larger["exact"]), len(larger["edited"]), len(larger["series"])) == (40, 80, 44)


def test_check_reports_a_changed_a_missing_and_a_strange_file(tmp_path: Path, files: dict[str, bytes]) -> None:
    generator.write(tmp_path, files)
    assert generator.differences(tmp_path, files) == []
    (tmp_path / "qa" / "site-a-1.csv").write_bytes(b"id\r\n")
    (tmp_path / "judgments" / "dump-1.jsonl.gz").unlink()
    (tmp_path / "contracts" / "old.txt").write_text("")
    assert generator.differences(tmp_path, files) == ["contracts/old.txt", "judgments/dump-1.jsonl.gz", "qa/site-a-1.csv"]
    generator.write(tmp_path, files)
    assert generator.differences(tmp_path, files) == []


def test_a_packed_file_is_compared_by_its_content(tmp_path: Path, files: dict[str, bytes]) -> None:
    generator.write(tmp_path, files)
    path = tmp_path / "judgments" / "dump-1.jsonl.gz"
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()), compresslevel=1))
    assert generator.differences(tmp_path, files) == []


def test_the_command_writes_and_then_finds_no_difference(
    tmp_path: Path, files: dict[str, bytes], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(generator, "make", {3: files}.__getitem__)
    command = ["make_samples.py", "--out", str(tmp_path), "--scale", "3"]
    monkeypatch.setattr(sys, "argv", command)
    assert generator.main() == 0
    monkeypatch.setattr(sys, "argv", [*command, "--check"])
    assert generator.main() == 0
    (tmp_path / "truth.json").write_text("{}")
    assert generator.main() == 1
    assert "truth.json differs" in capsys.readouterr().out
    assert (tmp_path / "truth.json").read_text() == "{}"


def test_sizes_are_bounded() -> None:
    sizes = [path.stat().st_size for path in SAMPLES.rglob("*") if path.is_file() and "workspace" not in path.parts]
    assert max(sizes) <= 1 << 20
    assert sum(sizes) <= 3_000_000


def test_all_formats_and_types_are_there(files: dict[str, bytes]) -> None:
    config = load(SAMPLES / "demo.toml")
    assert {source.doc_type for source in config.source} == {"judgment", "contract", "exam", "qa", "statute"}
    for source in config.source:
        for pattern in source.paths:
            assert any(Path(path).match(pattern) for path in files), pattern
    assert files["qa/site-a-1.csv"].startswith(b"\xef\xbb\xbf")
    assert isinstance(json.loads(files["exams/bank-a-1.json"]), list)
    assert files["judgments/dump-1.jsonl.gz"][:8] == b"\x1f\x8b\x08\x00\x00\x00\x00\x00"
    with pytest.raises(UnicodeDecodeError):
        files["contracts/page-0000.html"].decode("utf-8")


# --- the truth ---------------------------------------------------------------------------------------------------------------


def test_documents_are_counted(texts: dict[tuple[str, str | None], str], truth: Truth) -> None:
    assert truth["documents"] == len(texts)
    assert 450 <= truth["documents"] <= 600


def test_every_reference_leads_to_a_document(texts: dict[tuple[str, str | None], str], truth: Truth) -> None:
    refs = [pair[side] for key in ("exact", "edited") for pair in truth[key] for side in ("copy", "of")]
    refs += truth["series"] + [ref for pair in truth["versions"] for ref in pair]
    refs += [entry["ref"] for key in ("personal", "masked_already", "garbage", "benchmark", "repealed") for entry in truth[key]]
    assert {_key(ref) for ref in refs} <= texts.keys()
    assert all(ref["source"] == ref["path"].split("/")[0] for ref in refs)


def test_planted_values_are_in_their_documents(texts: dict[tuple[str, str | None], str], truth: Truth) -> None:
    for planted in truth["personal"]:
        assert planted["written"] in texts[_key(planted["ref"])]
        assert planted["value"] == checker.normalise(planted["written"])
    for masked in truth["masked_already"]:
        assert masked["written"] in texts[_key(masked["ref"])]


def test_every_kind_of_personal_data_is_planted_often(truth: Truth) -> None:
    least = {"name": 1500, "id_card": 200, "mobile": 150, "bank_card": 50, "plate": 50, "email": 15, "address": 200}
    least |= {"landline": 30, "qq": 5, "wechat": 15, "uscc": 60, "passport": 5}
    kinds = [planted["kind"] for planted in truth["personal"]]
    assert set(kinds) == set(least)
    assert {kind: kinds.count(kind) for kind in least if kinds.count(kind) < least[kind]} == {}


def test_planted_numbers_pass_their_checks_and_belong_to_nobody(truth: Truth) -> None:
    values = {(planted["kind"], planted["value"]) for planted in truth["personal"]}
    for kind, value in values:
        if kind == "id_card":
            assert generator.id_check(value[:17]) == value[17]
            assert ric.calc_check_digit(value) == value[17]
            assert 2078 <= ric.get_birth_date(value).year <= 2099
            assert value[2:4] == "99"
        elif kind == "bank_card":
            assert len(value) == 19
            assert luhn.is_valid(value)
        elif kind == "uscc":
            assert uscc.is_valid(value)
            assert generator.organisation_check(value[8:16]) == value[16]
        elif kind == "mobile":
            assert re.fullmatch(r"1[3-9][0-9]{9}", value)
            assert value[:3] in generator.MOBILE_PREFIXES
        elif kind == "plate":
            assert re.fullmatch(r"[宁青琼吉][KMNPR](?:[0-9]{2}[EGHLQT][0-9]{2}|[DF][0-9]{5})", value)
        elif kind == "email":
            assert re.fullmatch(r"[A-Z_.]+[0-9]{4}@EXAMPLE\.(?:COM|CN|ORG)", value)


def test_check_digits_of_known_numbers() -> None:
    # The examples of GB 11643-1999 and GB 11714-1997, and the one that every text on the Luhn algorithm has.
    assert generator.id_check("11010519491231002") == "X"
    assert generator.luhn_check("7992739871") == "3"
    assert generator.organisation_check("D2143569") == "X"


def test_numbers_are_written_in_several_ways(truth: Truth) -> None:
    written = [planted["written"] for planted in truth["personal"] if planted["kind"] in ("id_card", "mobile", "bank_card")]
    for shape in (
        r"[０-９]{17}[０-９Ｘ]",
        r"[0-9]{6} [0-9]{8} [0-9]{3}[0-9X]",
        r"[0-9]{17}x",
        r"1[0-9]{2} [0-9]{4} [0-9]{4}",
        r"1[0-9]{2}-[0-9]{4}-[0-9]{4}",
        r"[0-9]{4}( [0-9]{4}){3} [0-9]{3}",
    ):
        assert sum(bool(re.fullmatch(shape, number)) for number in written) >= 3, shape


def test_names_are_of_all_kinds_and_repeated(texts: dict[tuple[str, str | None], str], truth: Truth) -> None:
    names = [planted for planted in truth["personal"] if planted["kind"] == "name"]
    assert {len(name["value"]) for name in names} >= {2, 3, 4}
    assert any(name["value"].startswith(tuple(generator.WORDS["compound_surnames"])) for name in names)
    assert any("·" in name["written"] for name in names)
    assert any(name["written"] in generator.WORDS["minority_names"] for name in names)
    assert sum(texts[_key(name["ref"])].count(name["written"]) > 5 for name in names) > 200


def test_a_name_stands_only_where_it_is_planted(texts: dict[tuple[str, str | None], str], truth: Truth) -> None:
    planted: dict[str, set[tuple[str, str | None]]] = {}
    for entry in truth["personal"]:
        if entry["kind"] == "name":
            planted.setdefault(entry["value"], set()).add(_key(entry["ref"]))
    folded = {key: checker.normalise(text) for key, text in texts.items()}
    for name, keys in planted.items():
        assert {key for key, text in folded.items() if name in text} == keys


def test_exact_copies_are_identical(texts: dict[tuple[str, str | None], str], truth: Truth) -> None:
    assert len(truth["exact"]) == 20
    for pair in truth["exact"]:
        assert texts[_key(pair["copy"])] == texts[_key(pair["of"])]
    endings = {(Path(pair["of"]["path"]).suffix, Path(pair["copy"]["path"]).suffix) for pair in truth["exact"]}
    assert {(".jsonl", ".gz"), (".html", ".txt")} <= endings


def test_edited_copies_differ_a_little(texts: dict[tuple[str, str | None], str], truth: Truth) -> None:
    assert len(truth["edited"]) == 40
    for pair in truth["edited"]:
        copy, original = texts[_key(pair["copy"])], texts[_key(pair["of"])]
        matcher = difflib.SequenceMatcher(None, original, copy, autojunk=False)
        edits = sum(max(b - a, d - c) for tag, a, b, c, d in matcher.get_opcodes() if tag != "equal")
        assert 0.005 <= edits / len(original) <= 0.015
        assert copy.split("\n")[2] == original.split("\n")[2] or pair["of"]["source"] == "contracts"
        assert generator.jaccard(generator.shingles(copy), generator.shingles(original)) > 0.85


def test_series_cases_are_alike_and_have_their_own_numbers(texts: dict[tuple[str, str | None], str], truth: Truth) -> None:
    cases = [texts[_key(ref)] for ref in truth["series"]]
    assert len({text.split("\n")[2] for text in cases}) == len(cases) == 22
    for plaintiff in ("安居乐物业", "澄阳农商银行股份"):
        grams = [generator.shingles(text) for text in cases if plaintiff in text]
        assert len(grams) == 11
        assert min(generator.jaccard(one, other) for one, other in combinations(grams, 2)) >= 0.8


def test_statute_versions_share_a_title_and_not_the_text(texts: dict[tuple[str, str | None], str], truth: Truth) -> None:
    assert len(truth["versions"]) == 4
    for older, newer in truth["versions"]:
        one, other = texts[_key(older)], texts[_key(newer)]
        assert one.split("\n")[1] == other.split("\n")[1]
        assert one.split("\n")[2] < other.split("\n")[2]
        assert 0.5 < generator.jaccard(generator.shingles(one), generator.shingles(other)) < 0.7
        old_articles, new_articles = (
            {re.sub("^第.*?条", "", line) for line in text.split("\n") if "条　" in line} for text in (one, other)
        )
        assert len(new_articles - old_articles) > 0.2 * len(new_articles)


def test_unrelated_documents_are_unlike(texts: dict[tuple[str, str | None], str], truth: Truth) -> None:
    linked = {_key(pair["copy"]) for key in ("exact", "edited") for pair in truth[key]} | {_key(ref) for ref in truth["series"]}
    linked |= {_key(newer) for _, newer in truth["versions"]} | {_key(entry["ref"]) for entry in truth["garbage"]}
    by_source: dict[str, list[frozenset[str]]] = {}
    for (path, record), text in texts.items():
        if (path, record) not in linked:
            by_source.setdefault(path.split("/")[0], []).append(generator.shingles(text))
    for source, grams in by_source.items():
        assert max(generator.jaccard(one, other) for one, other in combinations(grams, 2)) < 0.6, source


def test_judgments_have_their_parts_and_length(texts: dict[tuple[str, str | None], str], truth: Truth) -> None:
    junk = {_key(entry["ref"]) for entry in truth["garbage"]}
    copies = {_key(pair["copy"]) for pair in truth["edited"]}
    judgments = [text for key, text in texts.items() if key[0].startswith("judgments/") and key not in junk | copies]
    assert len(judgments) > 200
    for text in judgments:
        court, heading, number, *rest = text.split("\n")
        assert court.endswith("人民法院")
        assert re.fullmatch(r"(?:民事|刑事|行政)判决书|执行裁定书", heading)
        assert re.fullmatch(r"（20[0-9]{2}）[苏浙鲁川豫鄂闽辽]99[0-9]{0,2}(?:民初|民终|刑初|行初|执)[0-9]+号", number)
        assert 800 <= len(text) <= 3100
        assert any(re.search("(?:判决|裁定)如下：$", line) for line in rest)
        assert any(
            re.fullmatch("二〇二[〇一二三四五]年[一二三四五六七八九十]+月[一二三四五六七八九十]+日", line) for line in rest
        )
        assert re.match("书\u3000记\u3000员\u3000\u3000", rest[-1])


def test_no_template_mark_is_left(texts: dict[tuple[str, str | None], str]) -> None:
    assert [key for key, text in texts.items() if re.search(r"[\[\]{}|]", text) and "scan-" not in key[0]] == []


def test_masks_come_in_several_forms_and_hide_their_people(truth: Truth) -> None:
    written = {entry["written"] for entry in truth["masked_already"]}
    for shape in ("..?某某", "..?某[12]", "..?×", ".*××公司"):
        assert any(re.fullmatch(shape, mask) for mask in written), shape
    masked = {_key(entry["ref"]) for entry in truth["masked_already"]}
    assert len(masked) >= 12
    assert not masked & {_key(entry["ref"]) for entry in truth["personal"]}


def test_junk_is_of_all_kinds(texts: dict[tuple[str, str | None], str], files: dict[str, bytes], truth: Truth) -> None:
    reasons = [entry["reason"] for entry in truth["garbage"]]
    assert len(reasons) >= 24
    assert set(reasons) == {
        "advertisement",
        "binary bytes",
        "empty",
        "menu only",
        "mojibake: UTF-8 read as GBK",
        "mojibake: UTF-8 read as Latin-1",
        "repeated characters",
        "white space only",
    }
    for entry in truth["garbage"]:
        text = texts[_key(entry["ref"])]
        if entry["reason"] in ("empty", "menu only"):
            assert text == ""
        elif entry["reason"] == "white space only":
            assert text.strip() == ""
        elif entry["reason"] == "binary bytes":
            assert b"\0" in files[entry["ref"]["path"]]
        elif entry["reason"].startswith("mojibake"):
            assert "人民法院" not in text


def test_benchmark_items_stand_in_the_exam_source_and_the_benchmark_is_none(files: dict[str, bytes], truth: Truth) -> None:
    items = _records("benchmark.jsonl", files["benchmark.jsonl"])
    assert len(truth["benchmark"]) == 6
    for number, entry in enumerate(truth["benchmark"]):
        path = entry["ref"]["path"]
        given, item = _records(path, files[path])[entry["ref"]["record"]], items[entry["item"]]
        if number < 3:
            assert given == item
            continue
        # One character of the question is another, and the options stand in another order.
        question, key = (
            item.split("\nA. ")[0],
            [line[3:] for line in item.split("\n") if line[:3] in ("A. ", "B. ", "C. ", "D. ")],
        )
        assert sum(a != b for a, b in zip(question, given, strict=False)) == 1
        options = [line[3:] for line in given.split("\n") if line.startswith("（")]
        assert options != key
        assert sorted(options) == sorted(key)
    assert all(not Path("benchmark.jsonl").match(path) for source in load(SAMPLES / "demo.toml").source for path in source.paths)


def test_repealed_laws_are_cited_after_their_repeal(
    texts: dict[tuple[str, str | None], str], files: dict[str, bytes], truth: Truth
) -> None:
    assert len(truth["repealed"]) == 3
    for entry in truth["repealed"]:
        assert f"《{entry['law']}》第" in texts[_key(entry["ref"])]
        rows = csv.DictReader(io.StringIO(files[entry["ref"]["path"]].decode("utf-8-sig"), newline=""))
        assert next(row["answered"] for row in rows if row["id"] == entry["ref"]["record"]) > "2021-01-01"


def test_templates_carry_no_number_of_a_person() -> None:
    for path in (SAMPLES / "templates").glob("*.toml"):
        tomllib.loads(path.read_text(encoding="utf-8"))
        assert re.search("[0-9]{7}", path.read_text(encoding="utf-8")) is None


# --- the comparison ----------------------------------------------------------------------------------------------------------

MOBILE = "16800001111"
OTHER = "甲公司与乙公司买卖合同纠纷一案，本院已经审理终结。"


def _id(number: int) -> str:
    return f"{number:032x}"


def _ref(record: str | None, path: str = "judgments/a.jsonl") -> dict[str, Any]:
    return {"source": "judgments", "path": path, "record": record}


@pytest.fixture
def small_truth() -> Truth:
    return {
        "documents": 8,
        "exact": [{"copy": _ref("copy"), "of": _ref("one")}],
        "edited": [{"copy": _ref("edited"), "of": _ref("one")}],
        "series": [_ref("s1"), _ref("s2")],
        "versions": [],
        "personal": [
            {"ref": _ref("one"), "kind": "mobile", "value": MOBILE, "written": "168 0000 1111"},
            {"ref": _ref("one"), "kind": "name", "value": "章若岚", "written": "章若岚"},
        ],
        "masked_already": [],
        "garbage": [{"ref": _ref(None, "judgments/junk.txt"), "reason": "empty"}],
        "benchmark": [],
        "repealed": [],
    }


RECORDS = ("one", "copy", "edited", "s1", "s2", "sound", "short")
KEPT = {"one": 1, "s1": 4, "s2": 5, "sound": 6, "short": 7}


@pytest.fixture
def good() -> Any:
    """The outcome of a run that did all that it should."""
    ids = {checker.Ref("judgments", "judgments/a.jsonl", name): [_id(at)] for at, name in enumerate(RECORDS, 1)}
    ids[checker.Ref("judgments", "judgments/junk.txt", None)] = [_id(99)]
    endings = {
        _id(2): [checker.Ending("dedup", "drop", "dedup.exact")],
        _id(3): [checker.Ending("dedup", "drop", "dedup.near")],
        _id(99): [checker.Ending("ingest", "quarantine", "ingest.empty")],
    }
    texts = dict.fromkeys(KEPT.values(), OTHER)
    released = frozenset(map(_id, KEPT.values()))
    return checker.Outcome(ids, endings, released, {"text": texts, "shards of 64": dict(texts)}, 8)


def _missed(truth: Truth, outcome: Any) -> list[str]:
    return [line.name for line in checker.compare(truth, outcome) if not line.holds]


def test_a_good_run_misses_nothing(small_truth: Truth, good: Any) -> None:
    assert _missed(small_truth, good) == []


def test_a_copy_that_stayed_is_missed(small_truth: Truth, good: Any) -> None:
    endings = {doc_id: found for doc_id, found in good.endings.items() if doc_id != _id(2)}
    texts = {label: {**held, 2: OTHER} for label, held in good.texts.items()}
    outcome = dataclasses.replace(good, released=good.released | {_id(2)}, endings=endings, texts=texts)
    assert _missed(small_truth, outcome) == ["exact copies gone"]


def test_copies_that_all_left_are_missed(small_truth: Truth, good: Any) -> None:
    endings = {**good.endings, _id(1): [checker.Ending("dedup", "drop", "dedup.near")]}
    texts = {label: {at: text for at, text in held.items() if at != 1} for label, held in good.texts.items()}
    outcome = dataclasses.replace(good, released=good.released - {_id(1)}, endings=endings, texts=texts)
    assert _missed(small_truth, outcome) == ["of copies one is kept"]


@pytest.mark.parametrize(
    ("stage", "missed"), [("dedup", ["series cases not merged", "sound documents kept"]), ("filter", ["sound documents kept"])]
)
def test_a_series_case_may_leave_but_not_as_a_copy(small_truth: Truth, good: Any, stage: str, missed: list[str]) -> None:
    endings = {**good.endings, _id(4): [checker.Ending(stage, "drop", f"{stage}.rule")]}
    texts = {label: {at: text for at, text in held.items() if at != 4} for label, held in good.texts.items()}
    outcome = dataclasses.replace(good, released=good.released - {_id(4)}, endings=endings, texts=texts)
    assert _missed(small_truth, outcome) == missed


@pytest.mark.parametrize(
    ("leak", "missed"),
    [
        ("电话16800001111", ["mobile gone"]),
        ("电话：１６８-００００ 1111。", ["mobile gone"]),
        ("证人章　若岚到庭", ["name gone"]),
        ("电话1680000111、章若某", []),
    ],
)
@pytest.mark.parametrize("place", ["text", "shards of 64"])
def test_a_planted_value_is_found_in_any_document_however_written(
    small_truth: Truth, good: Any, leak: str, missed: list[str], place: str
) -> None:
    texts = {label: dict(held) for label, held in good.texts.items()}
    texts[place][6] += leak
    assert _missed(small_truth, dataclasses.replace(good, texts=texts)) == missed


def test_junk_that_stayed_is_missed(small_truth: Truth, good: Any) -> None:
    texts = {label: {**held, 99: "　"} for label, held in good.texts.items()}
    endings = {doc_id: found for doc_id, found in good.endings.items() if doc_id != _id(99)}
    outcome = dataclasses.replace(good, released=good.released | {_id(99)}, endings=endings, texts=texts)
    assert _missed(small_truth, outcome) == ["junk out"]


def test_a_document_that_vanished_breaks_the_balance(small_truth: Truth, good: Any) -> None:
    endings = {doc_id: found for doc_id, found in good.endings.items() if doc_id != _id(3)}
    assert _missed(small_truth, dataclasses.replace(good, endings=endings)) == ["in = out + dropped + quarantined"]
    assert _missed(small_truth, dataclasses.replace(good, n_lineage=7)) == ["documents read"]


def test_a_document_that_ended_twice_breaks_the_balance(small_truth: Truth, good: Any) -> None:
    endings = {**good.endings, _id(3): [*good.endings[_id(3)], checker.Ending("filter", "drop", "quality.short")]}
    missed = _missed(small_truth, dataclasses.replace(good, endings=endings))
    assert missed == ["in = out + dropped + quarantined", "each ends once"]


def test_shards_that_lack_a_document_are_missed(small_truth: Truth, good: Any) -> None:
    texts = {"text": good.texts["text"], "shards of 64": {at: text for at, text in good.texts["shards of 64"].items() if at != 6}}
    assert _missed(small_truth, dataclasses.replace(good, texts=texts)) == ["shard folders that hold the text"]


def _write(path: Path, rows: list[dict[str, Any]], schema: pa.Schema) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    full = [{name: row.get(name) for name in schema.names} for row in rows]
    pq.write_table(pa.Table.from_pylist(full, schema=schema), path)


def test_a_workspace_is_read_and_cut_documents_are_joined(tmp_path: Path) -> None:
    samples, workspace = tmp_path / "samples", tmp_path / "workspace"
    samples.mkdir()
    tokenizer = checker.load_tokenizer("deepseek")
    end = tokenizer.token_to_id("<｜end▁of▁sentence｜>")
    long_id, short_id = "f" * 32, _id(5)
    low_long = (1 << 63) - 1
    text = "被告人章若岚，手机号168 0000 1111，住柳荫路9号𠮷野家。"
    long_ids, short_ids = ([*tokenizer.encode(each, add_special_tokens=False).ids, end] for each in (text, OTHER))
    window = 24
    assert window < len(long_ids) < 2 * window
    tail = long_ids[window:]
    rest = [*short_ids, *tail]
    pad = [end] * 3
    _write(
        workspace / "lineage" / "main" / "part-00000.parquet",
        [
            {"doc_id": long_id, "source": "judgments", "uri": f"{samples}/judgments/a.jsonl#x-1", "record_id": "x-1"},
            {"doc_id": short_id, "source": "judgments", "uri": f"{samples}/judgments/b.txt", "record_id": "0"},
            {"doc_id": _id(6), "source": "judgments", "uri": f"{samples}/judgments/c.txt", "record_id": "0"},
        ],
        LINEAGE,
    )
    ledger = [
        {"doc_id": _id(6), "stage": "ingest", "action": "quarantine", "rule": "ingest.binary"},
        {"doc_id": long_id, "stage": "ingest", "action": "edit", "rule": "ingest.control"},
    ]
    _write(workspace / "runs" / "main" / "ingest" / "ledger" / "part-00000.parquet", ledger, LEDGER)
    release = workspace / "releases" / "r1"
    rows = [{"doc_id": long_id, "title": "刑事判决书", "text": text}, {"doc_id": short_id, "text": OTHER}]
    _write(release / "text" / "part-00000.parquet", rows, DOCUMENT_JUDGED)
    sequences = [
        {
            "input_ids": [*rest, *pad],
            "doc_ids": [5, low_long],
            "doc_lens": [len(short_ids), len(tail)],
            "doc_starts": [0, window],
            "n_pad": 3,
        },
        {"input_ids": long_ids[:window], "doc_ids": [low_long], "doc_lens": [window], "doc_starts": [0], "n_pad": 0},
    ]
    shard = release / "tokens" / "24" / "shard-00000-of-00001.parquet"
    _write(shard, sequences, TOKENS)
    (release / "manifest.json").write_text(json.dumps({"tokenizer": {"name": "deepseek"}}))
    (workspace / "releases" / "latest.json").write_text(json.dumps({"release": "r1"}))

    outcome = checker.read_outcome(workspace, "main", samples)
    assert outcome.texts["shards of 24"] == {5: OTHER, low_long: text}
    assert outcome.texts["text"] == {5: f"\n{OTHER}", low_long: f"刑事判决书\n{text}"}
    assert outcome.ids == {
        checker.Ref("judgments", "judgments/a.jsonl", "x-1"): [long_id],
        checker.Ref("judgments", "judgments/b.txt", None): [short_id],
        checker.Ref("judgments", "judgments/c.txt", None): [_id(6)],
    }
    assert outcome.endings == {_id(6): [checker.Ending("ingest", "quarantine", "ingest.binary")]}
    assert (outcome.n_lineage, outcome.released) == (3, frozenset({long_id, short_id}))
    assert checker.leaked([MOBILE, "章若岚", "19900000000"], outcome) == {MOBILE, "章若岚"}

    _write(shard, sequences[:1], TOKENS)
    with pytest.raises(ValueError, match="continues at token 24 after 0 tokens"):
        checker.read_outcome(workspace, "main", samples)


def test_an_unknown_vocabulary_is_refused() -> None:
    with pytest.raises(ValueError, match="not installed"):
        checker.load_tokenizer("other")


def test_what_was_missed_is_listed(small_truth: Truth, good: Any) -> None:
    texts = {"text": {1: "电话168 0000 1111"}}
    outcome = dataclasses.replace(good, texts=texts, released=good.released | {_id(2), _id(99)})
    assert checker.misses(small_truth, outcome) == [
        "mobile: 168 0000 1111 (judgments/a.jsonl#one)",
        "exact copy kept: judgments/a.jsonl#copy of judgments/a.jsonl#one",
        "junk kept: judgments/junk.txt (empty)",
    ]
