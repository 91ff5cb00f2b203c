"""The pages of browse: who gets them, what they find and show, and that originals are asked for and logged."""

import asyncio
import html
import re
import shutil
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pyarrow.parquet as pq
import pytest
from tornado.httpclient import AsyncHTTPClient, HTTPRequest, HTTPResponse
from tornado.httpserver import HTTPServer
from tornado.testing import bind_unused_port

from lexmill.core.deid.detector import Detector
from lexmill.errors import ConfigError
from lexmill.jobs import decontaminate, dedup, deidentify, filter, ingest
from lexmill.jobs.job import Job
from lexmill.jobs.resources import detector_of
from lexmill.report import browse, server
from lexmill.report.browse import Desk
from lexmill.store import audit, views
from lexmill.store.views import ViewLog
from tests.jobs.conftest import MakeJob
from tests.jobs.test_dedup import article

TOKEN = "correct-token"
NAMES = ("慕容筱棠", "尉迟砚舟")
PHONE = "13900000007"
HOSTILE = '<script>alert("x")</script>'
CASE = "（2079）浙0199民初1234号"


N = 8


def records() -> list[dict[str, Any]]:
    texts = [
        f"问：{article(n)}联系人：{NAMES[n % 2]}，电话：139{n:08d}，怎么办？{HOSTILE}\n答：{article(n + 500)}" for n in range(N)
    ]
    texts += [texts[3], texts[4].replace("怎么办", "咋办")]
    titles = [f"{HOSTILE}{NAMES[n % 2]}咨询" for n in (*range(N), 3, 4)]
    cases = [{"case_number": CASE}, *({} for _ in texts[1:])]
    return [
        {"id": f"{n}{HOSTILE}", "title": title, "text": text, **case}
        for n, (title, text, case) in enumerate(zip(titles, texts, cases, strict=True))
    ]


@dataclass
class Page:
    """What a request got."""

    code: int
    body: str
    headers: Any


@dataclass
class Reader:
    """Asks a server that lives as long as the requests."""

    desk: Desk
    log: ViewLog | None = None

    def read(self, *paths: str, host: str | None = None, token: str = TOKEN, body: str | None = None) -> list[Page]:
        """The answers to GET requests below the token, or to one POST of ``body``."""

        async def ask() -> list[HTTPResponse]:
            socket, port = bind_unused_port()
            http = HTTPServer(server.application(self.desk, TOKEN, port, self.log))
            http.add_sockets([socket])
            client = AsyncHTTPClient(force_instance=True)
            answers = []
            for path in paths:
                request = HTTPRequest(
                    f"http://127.0.0.1:{port}/{token}/{path}",
                    method="GET" if body is None else "POST",
                    body=body,
                    headers={"Host": host or f"127.0.0.1:{port}"},
                    follow_redirects=False,
                )
                answers.append(await client.fetch(request, raise_error=False))
            client.close()
            http.stop()
            return answers

        return [Page(answer.code, answer.body.decode(), answer.headers) for answer in asyncio.run(ask())]

    def page(self, path: str) -> str:
        (found,) = self.read(path)
        assert found.code == 200, found.body
        return found.body


@dataclass
class Made:
    """A run that was made once, to be copied."""

    job: Job
    detector: Detector


@pytest.fixture(scope="module")
def made() -> dict[tuple[str, ...], Made]:
    return {}


MakeReader = Callable[..., tuple[Job, Reader]]


@pytest.fixture
def make_reader(make_job: MakeJob, made: dict[tuple[str, ...], Made], monkeypatch: pytest.MonkeyPatch) -> MakeReader:
    """A run over ``records`` in a workspace of the test's own, and a reader of it; lists have three rows a page."""
    monkeypatch.setattr(browse, "ROWS", 3)

    def make(*settings: str) -> tuple[Job, Reader]:
        job = make_job("a", records(), *settings)
        if settings not in made:
            done = {"ingest": ingest.run(job)}
            done["dedup"] = dedup.run(job, done["ingest"])
            done["decontaminate"] = decontaminate.run(job, done["dedup"])
            filter.run(job, deidentify.run(job, done["decontaminate"]))
            kept = make_job("kept", [])
            shutil.copytree(job.workspace.root, kept.workspace.root)
            made[settings] = Made(kept, detector_of(job.config))
        else:
            shutil.copytree(made[settings].job.workspace.root, job.workspace.root)
        return job, Reader(Desk(job.workspace, made[settings].detector))

    return make


def ids(job: Job, stage: str) -> list[str]:
    return [doc_id for path in job.workspace.stage(stage).parts() for doc_id in pq.read_table(path)["doc_id"].to_pylist()]


def contents(root: Path) -> dict[str, tuple[int, bytes]]:
    return {
        str(path.relative_to(root)): (path.stat().st_mtime_ns, path.read_bytes()) for path in root.rglob("*") if path.is_file()
    }


def crawl(reader: Reader, is_wanted: Callable[[str], bool] = lambda _: True) -> dict[str, str]:
    """Every wanted page that a link leads to, from the first, by path."""
    found: dict[str, str] = {}
    waiting = [""]
    while waiting:
        for path, page in zip(waiting, reader.read(*waiting), strict=True):
            assert page.code == 200, path
            found[path] = page.body
        links = {html.unescape(link) for body in found.values() for link in re.findall(rf'href="/{TOKEN}/([^"#]*)', body)}
        waiting = sorted(link for link in links - set(found) if is_wanted(link))
    return found


def test_no_page_holds_what_was_planted_and_nothing_is_written(make_reader: MakeReader) -> None:
    job, reader = make_reader()
    before = contents(job.workspace.root)
    pages = crawl(reader)
    assert sum(path.startswith("doc/") for path in pages) > N * 4
    assert any("/twin/" in path for path in pages)
    whole = "\n".join(pages.values())
    assert not [planted for planted in (*NAMES, PHONE, "record_id", "a.jsonl") if planted in whole]
    assert HOSTILE not in whole
    assert "&lt;script&gt;" in whole
    assert contents(job.workspace.root) == before


def test_without_token_or_by_another_name_there_is_nothing(make_reader: MakeReader) -> None:
    job, reader = make_reader()
    doc_id = ids(job, "filter")[0]
    for path in ("", "style.css", "documents", f"doc/{doc_id}", "nothing"):
        for asked in (
            {"token": "wrong"},
            {"token": ""},
            {"token": "%E5%AF%86"},
            {"host": "evil.example:80"},
            {"host": "127.0.0.1"},
        ):
            (page,) = reader.read(path, **asked)
            assert (page.code, page.body) == (403, "403\n"), (path, asked)
    (page,) = reader.read("find", token="wrong", body="wanted=" + doc_id)
    assert page.code == 403
    (page,) = reader.read("")
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    assert page.headers["Referrer-Policy"] == "no-referrer"
    assert "<script" not in page.body
    assert 'lang="zh-CN"' in page.body


def test_documents_are_found_by_id_rule_source_and_stage(make_reader: MakeReader) -> None:
    job, reader = make_reader()
    doc_id = ids(job, "filter")[0]
    (found,) = reader.read("find", body=urlencode({"wanted": doc_id.upper()}))
    assert (found.code, found.headers["Location"]) == (303, f"/{TOKEN}/doc/{doc_id}")
    (missing,) = reader.read("find", body=urlencode({"wanted": HOSTILE}))
    assert missing.code == 404
    assert HOSTILE not in missing.body
    dropped = reader.page("documents?stage=dedup&action=drop")
    assert dropped.count("/twin/") == 2
    assert reader.page("documents?rule=dedup.exact").count("/twin/") == 1
    assert "共 2 条" in dropped
    assert doc_id in reader.page("documents?stage=filter&source=q") + reader.page("documents?stage=filter&source=q&page=2")
    assert "没有符合条件的文档" in reader.page("documents?source=none")
    assert "没有符合条件的文档" in reader.page("documents?stage=filter&action=drop&rule=no.rule")
    for wrong in (
        "documents?stage=elsewhere",
        "documents?action=kept&rule=dedup.exact",
        "doc/" + "0" * 32,
        "doc/x",
        f"doc/{doc_id}?stage=x",
    ):
        assert reader.read(wrong)[0].code == 404, wrong


def test_pages_of_a_list_hold_every_document_once(make_reader: MakeReader) -> None:
    job, reader = make_reader()
    seen: list[str] = []
    path: str | None = "documents?stage=filter"
    numbers = []
    while path:
        body = reader.page(path)
        numbers.append(len(re.findall(r'scope="row"><a href="/[^/]*/doc/([0-9a-f]{32})"', body)))
        seen += re.findall(r'scope="row"><a href="/[^/]*/doc/([0-9a-f]{32})"', body)
        following = re.search(rf'rel="next"[^>]*href="/{TOKEN}/([^"]*)"', body)
        path = html.unescape(following[1]) if following else None
    assert numbers == [browse.ROWS, browse.ROWS, N - 2 * browse.ROWS]
    assert seen == ids(job, "filter")
    assert seen[browse.ROWS : 2 * browse.ROWS] == re.findall(
        r'row"><a href="/[^/]*/doc/(\w+)"', reader.page("documents?stage=filter&source=q&page=2")
    )
    assert reader.page("documents?page=x") == reader.page("documents?page=1")


def test_a_document_shows_its_way_segments_masks_and_changes(make_reader: MakeReader) -> None:
    job, reader = make_reader()
    kept = ids(job, "filter")[0]
    body = reader.page(f"doc/{kept}")
    assert [stage for stage in browse.WITH_TEXT if f"stage={stage}" not in body] == []
    assert 'data-kind="人名"' in body
    assert 'class="seg h1' in body
    gone = set(ids(job, "ingest")) - set(ids(job, "dedup"))
    near = [doc_id for doc_id in gone if "咋办" in reader.page(f"doc/{doc_id}")]
    (link,) = re.findall(rf'href="/{TOKEN}/(doc/\w+/twin/\w+)"', reader.page(f"doc/{near[0]}"))
    pair = reader.page(link)
    assert "<del>怎么</del>" in pair
    assert "<ins>咋</ins>" in pair
    assert link in reader.page("doc/" + link[-32:]), "the one that stayed names the one that left"


def test_originals_only_where_they_are_open_and_every_view_is_logged(make_reader: MakeReader) -> None:
    job, reader = make_reader()
    kept = ids(job, "filter")[0]
    (refused,) = reader.read(f"doc/{kept}?original=1")
    assert refused.code == 403
    assert not (job.workspace.root / "audit").exists()
    opened = Reader(reader.desk, ViewLog(job.workspace.root))
    assert not any(name in opened.page(f"doc/{kept}?stage=ingest") for name in NAMES)
    assert views.verify(job.workspace.root) == ([], [])
    shown = opened.page(f"doc/{kept}?stage=ingest&original=1")
    assert any(name in shown for name in NAMES)
    assert "a.jsonl" in shown
    assert "<del>" in opened.page(f"doc/{kept}?stage=deidentify&original=1")
    (gone,) = re.findall(r"doc/(\w+)/twin/(\w+)", opened.page("documents?rule=dedup.exact"))
    opened.page(f"doc/{gone[0]}/twin/{gone[1]}?original=1")
    lines, faults = views.verify(job.workspace.root)
    assert [line["doc_id"] for line in lines] == [kept, kept, *gone]
    assert faults == []
    assert all(line["user"] and line["time"] for line in lines)
    assert opened.log is not None
    assert stat.S_IMODE(opened.log.path.stat().st_mode) == 0o600
    assert audit.verify(job.workspace.root, None)[1] == []


def test_a_view_that_cannot_be_logged_is_not_shown(make_reader: MakeReader) -> None:
    job, reader = make_reader()
    (job.workspace.root / "audit").write_text("in the way")
    (page,) = Reader(reader.desk, ViewLog(job.workspace.root)).read(f"doc/{ids(job, 'filter')[0]}?original=1")
    assert page.code == 500
    assert not any(name in page.body for name in NAMES)


def test_a_run_without_deidentification_is_masked_for_the_page(make_reader: MakeReader) -> None:
    job, reader = make_reader("deidentify.enabled=false")
    body = reader.page(f"doc/{ids(job, 'filter')[0]}")
    assert not any(name in body for name in NAMES)
    assert not any(name in reader.page("documents?stage=filter") for name in NAMES)
    assert 'data-kind="人名"' in body


def test_what_cannot_be_masked_is_not_shown(make_reader: MakeReader, monkeypatch: pytest.MonkeyPatch) -> None:
    job, reader = make_reader()

    def fails(*_: Any) -> None:
        raise RuntimeError(NAMES[0])

    monkeypatch.setattr("lexmill.core.deid.shown.mask_document", fails)
    doc_id = ids(job, "filter")[0]
    raw, masked = reader.page(f"doc/{doc_id}?stage=ingest"), reader.page(f"doc/{doc_id}")
    assert "（cannot be masked）：deid.failed" in raw
    assert not any(name in raw + masked for name in NAMES)
    assert "<article" in masked


def test_a_damaged_workspace_is_a_page_that_says_so(make_reader: MakeReader) -> None:
    job, reader = make_reader()
    doc_id = ids(job, "filter")[0]
    part = job.workspace.stage("filter").part(0)
    part.write_bytes(part.read_bytes()[:-9] + b"123456789")
    before = contents(job.workspace.root)
    (page,) = reader.read(f"doc/{doc_id}")
    assert page.code == 500
    assert "part-00000.parquet is damaged" in page.body
    (job.workspace.stage("dedup").path / "manifest.json").write_text("{")
    (page,) = reader.read("")
    assert "manifest.json is damaged" in page.body
    before["runs/main/dedup/manifest.json"] = contents(job.workspace.root)["runs/main/dedup/manifest.json"]
    assert contents(job.workspace.root) == before
    job.workspace.stage("ingest").part(0).unlink()
    (page,) = Reader(reader.desk).read(f"doc/{doc_id}")
    assert page.code == 500


def test_raw_text_that_the_retention_deleted_is_a_reason(make_reader: MakeReader) -> None:
    job, reader = make_reader()
    doc_id = ids(job, "filter")[0]
    for stage in ("ingest", "dedup", "decontaminate"):
        job.workspace.stage(stage).part(0).unlink()
    assert "no longer in the workspace" in reader.page(f"doc/{doc_id}?stage=ingest")
    assert "<article" in reader.page(f"doc/{doc_id}?stage=filter")


def test_only_loopback_and_a_free_port(make_reader: MakeReader) -> None:
    _, reader = make_reader()
    socket, port = bind_unused_port()
    with pytest.raises(ConfigError, match="--port"):
        server.serve(reader.desk, port, None, print)
    socket.close()

    class Announced(Exception):
        pass

    def announce(address: str) -> None:
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{40,}/", address)
        raise Announced

    with pytest.raises(Announced):
        server.serve(reader.desk, 0, None, announce)


def test_an_item_of_a_benchmark_is_no_document_to_compare_with(make_reader: MakeReader, monkeypatch: pytest.MonkeyPatch) -> None:
    job, reader = make_reader()
    step = {"stage": "decontaminate", "action": "drop", "rule": "x", "twin": "bench.jsonl#1", "value": 1.0, "n_chars": 1}
    monkeypatch.setattr(browse, "trace", lambda *_: [step])
    body = reader.page(f"doc/{ids(job, 'filter')[0]}")
    assert "<code>bench.jsonl#1</code>" in body
    assert "/twin/" not in body
