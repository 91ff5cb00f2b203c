"""Commands, exit codes, and that errors name file, key and remedy and never quote a text."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lexmill import cli, rules

TEXT = (
    "浙江省某某市人民法院\n民事判决书\n（2079）浙0199民初1234号\n"
    "原告：庄筱棠，女，2079年3月4日出生，汉族，住浙江省某某市虚构区假想路12号。\n"
    "被告：欧阳砚，男，2080年5月6日出生。\n"
    "原告庄筱棠与被告欧阳砚民间借贷纠纷一案，本院立案后进行了审理。庄筱棠提出诉讼请求：判令欧阳砚归还借款50000元，"
    "联系电话13900001111。"
)


def lexmill(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["lexmill", *arguments])
    with pytest.raises(SystemExit) as left:
        cli.main()
    code = left.value.code
    assert isinstance(code, int)
    return code


def lines(*records: Any) -> str:
    return "".join(record if isinstance(record, str) else json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def splice(text: str, spans: list[dict[str, Any]]) -> str:
    parts, at = [], 0
    for span in spans:
        parts += [text[at : span["start"]], span["replacement"]]
        at = span["end"]
    return "".join([*parts, text[at:]])


def masked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, given: str, *options: str, code: int = 0) -> list[dict[str, Any]]:
    (tmp_path / "in.jsonl").write_text(given, encoding="utf-8")
    assert lexmill(monkeypatch, "mask", str(tmp_path / "in.jsonl"), "--out", str(tmp_path / "out.jsonl"), *options) == code
    return [json.loads(line) for line in (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()]


def test_version_and_help(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert lexmill(monkeypatch, "--version") == 0
    assert capsys.readouterr().out.startswith("lexmill 0.")
    for command in ("run", "status", "trace", "sources", "extract", "segment", "benchmark-index", "decode", "tokens", "mask"):
        assert lexmill(monkeypatch, command, "--help") == 0
        assert "Example:" in capsys.readouterr().out


def complete(shell: str, line: str) -> str:
    """What the shell is offered for the last word of ``line``."""
    asked = {"COMP_WORDS": line, "COMP_CWORD": str(line.count(" ")), "_TYPER_COMPLETE_ARGS": line}
    code = "from lexmill import cli; cli.main()"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.argv = ['lexmill']; {code}"],
        env={**os.environ, **asked, "_LEXMILL_COMPLETE": f"complete_{shell}"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_shells_complete_commands_and_options(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert complete("bash", "lexmill bro").split() == ["browse"]
    assert complete("bash", "lexmill browse --show").split() == ["--show-originals"]
    assert '"decide"' in complete("zsh", "lexmill review ")
    assert lexmill(monkeypatch, "--show-completion", "bash") == 0
    assert "complete -o default -F" in capsys.readouterr().out


def test_a_wrong_command_is_a_usage_error(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert lexmill(monkeypatch, "rum") == 2
    assert "rum" in capsys.readouterr().err


def test_a_missing_run_file_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for command in (["run"], ["status"], ["trace"], ["sources"]):
        arguments = [*command, str(tmp_path / "none.toml"), *(["0" * 32] if command == ["trace"] else [])]
        assert lexmill(monkeypatch, *arguments) == 2
        assert "none.toml" in capsys.readouterr().err


def test_rules_check_proves_the_shipped_rules(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert lexmill(monkeypatch, "rules", "check") == 0
    out = capsys.readouterr().out
    assert all(f"{family}: " in out for family in ("ingest", "segment", "dedup", "contamination", "deid", "quality"))


def test_rules_check_says_what_an_overlay_changes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "dedup").mkdir()
    shipped = (rules.shipped() / "dedup" / "guards.toml").read_text(encoding="utf-8")
    (tmp_path / "dedup" / "mine.toml").write_text(shipped.replace('why = "', 'why = "mine: '), encoding="utf-8")
    assert lexmill(monkeypatch, "rules", "check", str(tmp_path)) == 0
    assert "dedup.other_case: replaced" in capsys.readouterr().out


def test_extract_prints_documents_as_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "x.txt").write_text(TEXT, encoding="gb18030")
    assert lexmill(monkeypatch, "extract", str(tmp_path / "x.txt")) == 0
    (document,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert (document["doc_type"], document["text"]) == ("judgment", TEXT)
    assert document["meta"]["case_number"] == "（2079）浙0199民初1234号"
    assert document["meta"]["cause"] == "民间借贷纠纷"


def test_segment_shows_parts_and_citations(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    law = "甲法\n2078年1月2日公布\n第一条 为了<示例>，制定本法。\n第二条 依照《合同法》第五百条办理。\n"
    (tmp_path / "x.txt").write_text(law, encoding="utf-8")
    assert lexmill(monkeypatch, "segment", str(tmp_path / "x.txt"), "--doc-type", "statute") == 0
    shown = capsys.readouterr().out
    assert "▌条 条2" in shown
    assert "《合同法》第五百条[已废止]" in shown
    assert (
        lexmill(monkeypatch, "segment", str(tmp_path / "x.txt"), "--doc-type", "statute", "--html", str(tmp_path / "x.html")) == 0
    )
    page = (tmp_path / "x.html").read_text(encoding="utf-8")
    assert "&lt;示例&gt;" in page
    assert 'class="bad" title="中华人民共和国合同法 条500 已废止"' in page
    assert "http" not in page


def test_extract_of_nothing_exits_3(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "x.png").write_bytes(b"\x89PNG")
    assert lexmill(monkeypatch, "extract", str(tmp_path / "x.png")) == 3
    assert json.loads(capsys.readouterr().out) == {"record_id": None, "problem": "ingest.needs_ocr"}
    assert lexmill(monkeypatch, "extract", str(tmp_path / "none.txt")) == 3


def test_sources_lists_what_would_be_read(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    samples = Path(__file__).parents[1] / "data-samples" / "demo.toml"
    assert lexmill(monkeypatch, "sources", str(samples)) == 0
    out = capsys.readouterr().out
    assert "judgment" in out
    assert "gb18030" in out


def test_mask_splices_to_its_own_text(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (result,) = masked(monkeypatch, tmp_path, lines({"id": "a", "text": TEXT}))
    assert result["id"] == "a"
    assert splice(TEXT, result["spans"]) == result["text"]
    for gone in ("庄筱棠", "欧阳砚", "13900001111", "假想路12号", "3月4日", "1234号"):
        assert gone not in result["text"]
    for stays in ("50000元", "民间借贷纠纷", "人民法院"):
        assert stays in result["text"]
    starts = [span["start"] for span in result["spans"]]
    assert starts == sorted(starts)
    assert all(before["end"] <= after["start"] for before, after in zip(result["spans"], result["spans"][1:], strict=False))
    assert set(result["spans"][0]) == {"start", "end", "entity", "rule", "replacement"}


def test_masking_the_masked_changes_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (first,) = masked(monkeypatch, tmp_path, lines({"id": 1, "text": TEXT}))
    (second,) = masked(monkeypatch, tmp_path, lines({"id": 1, "text": first["text"]}))
    assert (second["text"], second["spans"]) == (first["text"], [])


def test_a_failed_line_is_named_without_its_text_and_the_rest_goes_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = lines(
        {"id": "a", "text": TEXT}, '{"id": "b", "text": "庄筱棠\n', {"id": "c", "text": 5}, ["庄筱棠"], {"id": "e", "text": ""}
    )
    results = masked(monkeypatch, tmp_path, given, code=6)
    assert [result["id"] for result in results] == ["a", None, "c", None, "e"]
    assert ["error" in result for result in results] == [False, True, True, True, False]
    assert "庄筱棠" not in json.dumps(results[1:], ensure_ascii=False) + capsys.readouterr().err


def test_mask_looks_again_and_holds_back_what_is_left(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = lines({"id": "a", "text": TEXT}, {"id": "b", "text": "身份证：110105</b><b>20880101</b>2366"})
    first, second = masked(monkeypatch, tmp_path, given, code=6)
    assert first["id"] == "a"
    assert second == {"id": "b", "error": "residual.identifier"}
    told = capsys.readouterr().err
    assert "1 lines masked" in told
    assert "held back 1" in told
    assert "residual.identifier 1" in told


def test_mask_reads_and_writes_standard_streams(monkeypatch: pytest.MonkeyPatch, capfdbinary: Any) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines({"id": "a", "text": TEXT}).encode())))
    assert lexmill(monkeypatch, "mask", "-", "--out", "-") == 0
    assert json.loads(capfdbinary.readouterr().out)["id"] == "a"


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--policy", "nobody"], 2, "train-strict"),
        (["--doc-type", "novel"], 2, "judgment"),
    ],
)
def test_mask_refuses_unknown_options(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], code: int, said: str
) -> None:
    (tmp_path / "in.jsonl").write_text(lines({"id": "a", "text": "x"}), encoding="utf-8")
    assert lexmill(monkeypatch, "mask", str(tmp_path / "in.jsonl"), "--out", str(tmp_path / "out.jsonl"), *options) == code
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out.jsonl").exists()


def test_mask_does_not_write_over_its_input(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text(lines({"id": "a", "text": TEXT}), encoding="utf-8")
    assert lexmill(monkeypatch, "mask", str(path), "--out", str(path)) == 2
    assert json.loads(path.read_text(encoding="utf-8"))["text"] == TEXT


def test_mask_writes_through_links_and_into_devices(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    source, target, link = tmp_path / "in.jsonl", tmp_path / "out.jsonl", tmp_path / "link.jsonl"
    source.write_text(lines({"id": "a", "text": TEXT}), encoding="utf-8")
    link.symlink_to(target)
    assert lexmill(monkeypatch, "mask", str(source), "--out", str(link)) == 0
    assert link.is_symlink()
    assert json.loads(target.read_text(encoding="utf-8"))["id"] == "a"
    assert lexmill(monkeypatch, "mask", str(source), "--out", "/dev/null") == 0
    assert Path("/dev/null").is_char_device()


def test_a_strange_id_fails_its_line_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    deep: Any = "x"
    for _ in range(300):
        deep = [deep]
    results = masked(monkeypatch, tmp_path, lines({"id": deep, "text": TEXT}, {"id": 2, "text": TEXT}), code=6)
    assert [result["id"] for result in results] == [None, 2]


def test_mask_without_input_exits_3(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert lexmill(monkeypatch, "mask", str(tmp_path / "none.jsonl"), "--out", str(tmp_path / "out.jsonl")) == 3


def test_the_policies_differ(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (result,) = masked(monkeypatch, tmp_path, lines({"id": "a", "text": TEXT}), "--policy", "spc2016", "--doc-type", "judgment")
    assert "庄筱棠" in result["text"], "an ordinary civil party is named in a published judgment (art. 11)"
    assert "13900001111" not in result["text"]
