"""The two commands that look and write nothing: what would be read, and what one file becomes."""

import gzip
import json
import os
from pathlib import Path

import pytest

from lexmill.config import Config, Fields, load
from lexmill.errors import ConfigError, InputError
from lexmill.jobs.preview import extract, survey_sources
from lexmill.schema import META
from tests.made import source

TEXT = "问：租房合同到期后押金怎么退？\n答：按照约定退还，扣除欠付的费用100元。" * 20


def make(folder: Path, files: dict[str, bytes]) -> Config:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    names = dict.fromkeys(name.partition("/")[0] for name in files)
    (folder / "run.toml").write_text(
        'version = 1\nworkspace = "w"\n' + "".join(source(name, "qa", f"{name}/*") for name in names)
    )
    return load(folder / "run.toml")


def lines(*texts: str) -> bytes:
    return "".join(json.dumps({"text": text}, ensure_ascii=False) + "\n" for text in texts).encode()


def test_a_survey_says_what_lies_there(tmp_path: Path) -> None:
    files = {
        "a/1.txt": TEXT.encode("gb18030"),
        "a/2.txt": TEXT.encode("utf-16-le"),
        "a/3.jsonl.gz": gzip.compress(lines(TEXT)),
        "b/1.jsonl": lines(TEXT) + b"{broken\n",
        "b/2.png": b"\x89PNG\r\n",
        "c/1.txt": bytes(range(256)) * 20,
        "d/1.jsonl.gz": gzip.compress(lines(TEXT) * 50)[:-40],
    }
    found = {survey.name: survey for survey in survey_sources(make(tmp_path, files))}
    n_bytes = sum(len(data) for name, data in files.items() if name.startswith("a/"))
    assert (found["a"].n_files, found["a"].n_bytes, found["a"].problem) == (3, n_bytes, None)
    assert found["a"].formats == {"txt": 2, "jsonl.gz": 1}
    assert found["a"].encodings == {"gb18030": 1, "utf-16-le": 1, "utf-8": 1}
    assert found["b"].problem == ("ingest.bad_json", 3)
    assert found["b"].formats == {"jsonl": 1, "image": 1}
    assert found["c"].problem == ("ingest.binary", 5)
    assert found["d"].problem == ("ingest.broken_compression", 6)
    assert not (tmp_path / "w").exists()


def test_a_longer_field_that_is_not_read_is_named(tmp_path: Path) -> None:
    record = {"text": "提要。" * 100, "judgement_html": TEXT * 3, "note": "短"}
    whole = json.dumps(record, ensure_ascii=False).encode() + b"\n"
    table = "text,anhang\n提要。,{}\n".format("附件内容。" * 100).encode()
    files = {
        "a/1.jsonl": whole * 3,
        "b/1.csv": table,
        "c/1.jsonl": lines(TEXT),
        "d/1.jsonl": b"\n",
        "e/1.json": b"[" + whole + b"]",
    }
    found = {survey.name: survey.unread for survey in survey_sources(make(tmp_path, files))}
    assert found == {"a": ["judgement_html"], "b": ["anhang"], "c": [], "d": [], "e": ["judgement_html"]}
    mapped = make(tmp_path, files)
    source = mapped.source[0].model_copy(update={"fields": Fields(text=("judgement_html",))})
    (survey,) = survey_sources(mapped.model_copy(update={"source": (source,)}))
    assert survey.unread == []


def test_a_pipe_is_told_and_not_opened(tmp_path: Path) -> None:
    config = make(tmp_path, {"a/1.txt": TEXT.encode()})
    os.mkfifo(tmp_path / "a/2.txt")
    (survey,) = survey_sources(config)
    assert (survey.n_files, survey.problem) == (2, ("ingest.not_a_file", 1))


def test_a_big_file_is_judged_by_its_head(tmp_path: Path) -> None:
    text = (TEXT * 2000).encode("gb18030")
    files = {"a/1.jsonl": lines(TEXT) * 2000, "a/2.txt": text[: len(text) // 2 * 2 - 1]}
    (survey,) = survey_sources(make(tmp_path, files))
    assert (survey.encodings, survey.problem) == ({"utf-8": 1, "gb18030": 1}, None)


def test_a_source_without_files_is_told(tmp_path: Path) -> None:
    config = make(tmp_path, {"a/1.txt": TEXT.encode()})
    (tmp_path / "a/1.txt").unlink()
    with pytest.raises(InputError, match="no file matches"):
        survey_sources(config)


def test_documents_and_faults_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(
        lines("押金怎么\u200b退？\n按照约定退还。") + b"{broken\n" + lines("\u200b\u200b", "第一条 甲。\n第二条 乙。")
    )
    first, broken, blank, last = extract(path, "auto")
    assert (first["doc_type"], last["doc_type"]) == ("qa", "statute")
    assert first["text"] == "押金怎么退？\n按照约定退还。"
    assert first["edits"] == [{"rule": "ingest.zero_width", "n_chars": 1, "n_bytes": 3}]
    assert list(first["meta"]) == [field.name for field in META]
    assert [part["kind"] for part in first["segments"]] == ["问", "答"]
    assert (broken["problem"], blank["problem"]) == ("ingest.bad_json", "ingest.empty")


def test_a_type_given_is_the_type(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text("押金怎么退？\n按照约定退还。", encoding="utf-8")
    assert [document["doc_type"] for document in extract(path, "exam")] == ["exam"]
    with pytest.raises(ConfigError, match="judgment"):
        list(extract(path, "novel"))


@pytest.mark.parametrize(
    ("name", "data", "problem"),
    [
        ("x.png", b"\x89PNG", "ingest.needs_ocr"),
        ("x.txt", bytes(range(256)) * 20, "ingest.binary"),
        ("x.txt.gz", b"no gzip", "ingest.broken_compression"),
    ],
)
def test_a_file_without_documents_says_why(tmp_path: Path, name: str, data: bytes, problem: str) -> None:
    (tmp_path / name).write_bytes(data)
    documents = extract(tmp_path / name, "auto")
    assert next(documents)["problem"] == problem
    with pytest.raises(InputError, match="nothing in this file"):
        next(documents)
