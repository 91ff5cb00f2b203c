"""What ``store`` does in object storage, request by request, against a real endpoint."""

import hashlib
import http.server
import os
import pickle
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lexmill.config import at
from lexmill.errors import ConfigError, LockError, StoppedError
from lexmill.store import files, lock
from lexmill.store.files import DamagedFile
from lexmill.store.releases import Releases
from lexmill.store.stages import StageFolder, settle, swap
from tests.objects import BUCKET, KEY, SECRET, TOKEN, Requests, content, give_credentials, make_bucket, serving, store
from tests.store.test_releases import DAY, prepared
from tests.store.test_stages import built, half_replaced


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving() as url:
        yield url


@pytest.fixture
def root(url: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Path:
    """A folder of its own for every test."""
    give_credentials(monkeypatch, url)
    make_bucket()
    return at(f"s3://{BUCKET}/{hashlib.sha256(request.node.name.encode()).hexdigest()[:16]}")


@pytest.fixture
def requests(root: Path, monkeypatch: pytest.MonkeyPatch) -> Requests:
    assert root
    return Requests(monkeypatch)


def uploads(root: Path) -> list[Any]:
    return list(store().call_s3("list_multipart_uploads", Bucket=BUCKET, Prefix=f"{root.name}/").get("Uploads", ()))


@pytest.mark.parametrize("size", [0, 1000, 12 << 20])
def test_a_file_is_there_whole_with_its_digest_and_size(root: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(files, "_PUT_CHUNK", 5 << 20)  # the least that S3 takes as a part of an upload
    data = os.urandom(size)
    with files.atomic(root / "a" / "b") as out:
        out.write(data)
        assert not (root / "a" / "b").exists()
    assert (out.sha256, out.size) == (hashlib.sha256(data).hexdigest(), size)
    assert (root / "a" / "b").read_bytes() == data
    assert files.listing(root) == {"a/b": size}
    assert files.sizes(root) == {"a": size}


def test_what_fails_while_it_is_written_leaves_what_was_there(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files.write_bytes(root / "a", b"old")
    with suppress(ValueError), files.atomic(root / "a") as out:
        out.write(b"new")
        raise ValueError
    assert (root / "a").read_bytes() == b"old"
    monkeypatch.setattr(files, "_PUT_CHUNK", 5 << 20)
    monkeypatch.setattr(store().__class__, "_upload_file_part_concurrent", failing)
    with pytest.raises(OSError, match="cut"), files.atomic(root / "a") as out:
        out.write(os.urandom(12 << 20))
    assert (root / "a").read_bytes() == b"old"
    assert uploads(root) == []


async def failing(*_arguments: Any, **_named: Any) -> None:
    raise OSError("cut")


def test_a_sweep_ends_stale_uploads_below_its_folder_only(root: Path) -> None:
    for name in ("stage/part", "other/part"):
        store().call_s3("create_multipart_upload", Bucket=BUCKET, Key=f"{root.name}/{name}")
    files.write_bytes(root / "stage" / "kept", b"1")
    files.sweep(root / "stage")
    assert [upload["Key"] for upload in uploads(root)] == [f"{root.name}/other/part"]
    assert files.listing(root) == {"stage/kept": 1}


def test_files_are_copied_moved_listed_and_removed(root: Path, tmp_path: Path) -> None:
    files.write_bytes(tmp_path / "local", b"here")
    files.copy(tmp_path / "local", root / "x" / "one")
    files.copy(root / "x" / "one", root / "x" / "two")
    files.copy(root / "x" / "two", tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == b"here"
    files.move(["one", "two"], root / "x", root / "y")
    assert content(root) == {"y/one": b"here", "y/two": b"here"}
    assert sorted(files.read_all(root / "y", ["one", "two", "gone"])) == [b"here", b"here"]
    files.remove(root / "y" / "one")
    files.remove(root / "y" / "gone")
    files.remove_all(root / "y", ["gone", "two"])
    files.remove(root)
    assert files.listing(root) == {}
    assert files.read_json(root / "gone.json") is None


def test_of_a_large_table_only_what_is_needed_is_fetched(root: Path, requests: Requests, monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.table({"a": pa.array(range(400_000), pa.int64()), "b": [os.urandom(8).hex() for _ in range(400_000)]})
    files.write_table(root / "t.parquet", table, row_group_size=50_000)
    assert (root / "t.parquet").stat().st_size > 2 * files._GET_SMALL
    requests.seen.clear()
    with files.parquet_file(root / "t.parquet") as file:
        found = file.read_row_group(3, columns=["a"], use_threads=False)
    assert found["a"].to_pylist() == list(range(150_000, 200_000))
    assert len(requests.seen) <= 5
    requests.seen.clear()
    assert files.read_columns(root / "t.parquet", ["a"], filters=[("a", "<", 3)])["a"].to_pylist() == [0, 1, 2]
    assert requests.seen == ["get_object"]
    monkeypatch.setattr(files, "_GET_WHOLE", 1 << 20)
    monkeypatch.setattr(files, "_GET_SMALL", 1 << 10)
    assert files.read_columns(root / "t.parquet").equals(table)
    files.write_bytes(root / "cut.parquet", (root / "t.parquet").read_bytes()[:-9])
    with pytest.raises(DamagedFile):
        files.read_columns(root / "cut.parquet")


def test_a_swap_killed_before_any_request_leaves_the_old_stage_or_is_finished(root: Path, requests: Requests) -> None:
    half_replaced(StageFolder(root / "whole"))
    old = content(root / "whole")
    swap(StageFolder(root / "whole"))
    new, seen = content(root / "whole"), 0
    for moment in range(100):
        folder = StageFolder(root / str(moment))
        half_replaced(folder)
        requests.left = moment
        try:
            swap(folder)
        except RuntimeError:
            requests.left = None
            settle(folder)
            seen += content(folder.path) == new
            assert content(folder.path) in (old, new)
            continue
        requests.left = None
        assert content(folder.path) == new
        assert files.listing(folder.next.path) == {}
        break
    assert seen > 5


@pytest.mark.slow
def test_a_publication_killed_before_any_request_is_no_release(root: Path, requests: Requests, tmp_path: Path) -> None:
    body, data = prepared(tmp_path / "stage")
    for moment in range(100):
        releases = Releases(root / str(moment))
        requests.left = moment
        try:
            folder = releases.publish(body, data, {"DATACARD.md": b"card"}, DAY)
        except RuntimeError:
            requests.left = None
            assert releases.folders() == []
            folder = releases.publish(body, data, {"DATACARD.md": b"card"}, DAY)
        killed, requests.left = requests.left is None, None
        assert releases.folders() == [folder]
        assert releases.is_whole(folder, body)
        assert releases.unfinished() == []
        if not killed:
            break
    assert moment > 5
    assert releases.find(str(body["release"])) == folder


def test_a_stage_is_looked_at_and_moved_with_few_requests_a_part(root: Path, requests: Requests) -> None:
    folder, number = StageFolder(root / "stage"), 30
    requests.seen.clear()
    built(folder.next, *["甲"] * number)
    assert len(requests.seen) == 3 * number + 1, "part, ledger and receipt; and the manifest"
    requests.seen.clear()
    assert len(folder.next.receipts()) == number
    assert len(requests.seen) == number + 1, "one listing, and the receipts"
    requests.seen.clear()
    swap(folder)
    assert len(requests.seen) <= 6 * number + 20, "each file is looked at and copied by the store"


def test_one_of_many_takes_the_lock(root: Path) -> None:
    def take(number: int) -> str:
        try:
            return str(files.put_new(root / "lock.json", b"%d" % number) is not None)
        except OSError as error:
            return repr(error)

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(take, range(8))) == ["False"] * 7 + ["True"]


def test_a_held_lock_refuses_a_second_run_and_is_gone_after(root: Path) -> None:
    with lock.held(root):
        assert (lock.owner(root) or {})["pid"] == os.getpid()
        with pytest.raises(LockError, match=str(os.getpid())), lock.held(root):
            pass
    assert lock.owner(root) is None
    assert files.listing(root) == {}


def test_a_lock_whose_answer_was_lost_is_held_all_the_same(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken, over = files.put_new, files.put_over

    def losing(path: Path, data: bytes, *version: str) -> None:
        """The write arrives; what is tried once more finds it there."""
        assert (over if version else taken)(path, data, *version)

    monkeypatch.setattr(files, "put_new", losing)
    monkeypatch.setattr(files, "put_over", losing)
    with lock.held(root) as mine:
        for beat in (1, 2):
            mine.identity["beat"] = beat
            mine.write()
            assert files.read_json(root / "lock.json")["beat"] == beat
        mine.check()
    assert files.listing(root) == {}


def stale(**changes: object) -> dict[str, object]:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    return {"host": socket.gethostname(), "namespace": lock._namespace(), "pid": dead.pid, "started": time.time(), **changes}


@pytest.mark.parametrize("where", [{}, {"host": "elsewhere"}])
def test_a_dead_owners_lock_is_taken_over_by_one(root: Path, monkeypatch: pytest.MonkeyPatch, where: dict[str, object]) -> None:
    for name, seconds in (("_DEAD_S", 0.6), ("_LOOK_S", 0.05)):
        monkeypatch.setattr(lock, name, seconds)
    files.write_json(root / "lock.json", stale(**where))
    with ThreadPoolExecutor(4) as pool:
        ends = threading.Barrier(4)

        def take(_: int) -> bool:
            try:
                with lock.held(root) as mine:
                    ends.wait(60)
                    mine.check()
                    return True
            except (LockError, StoppedError):
                ends.wait(60)
                return False

        assert sorted(pool.map(take, range(4))) == [False, False, False, True]


def test_heartbeats_go_on_and_never_replace_anothers_lock(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "_BEAT_S", 0.05)
    with lock.held(root) as mine:
        until = time.monotonic() + 30
        while (files.read_json(root / "lock.json") or {})["beat"] < 2 and time.monotonic() < until:
            time.sleep(0.05)
        assert files.read_json(root / "lock.json")["beat"] >= 2
        other = {"holder": "another", "beat": 0}
        files.write_json(root / "lock.json", other)
        before = mine.identity["beat"]
        while mine.identity["beat"] < before + 3:
            time.sleep(0.02)
        assert files.read_json(root / "lock.json") == other
        with pytest.raises(StoppedError, match="another run took the workspace"):
            mine.check()
    assert files.read_json(root / "lock.json") == other, "and it is not given up by who lost it"


class Refusing(http.server.BaseHTTPRequestHandler):
    """Answers everything with one refusal."""

    protocol_version = "HTTP/1.1"  # else nobody tells the client to go on with its body, and both wait
    code, status = "AccessDenied", 403

    def answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = f"<Error><Code>{self.code}</Code><Message>{SECRET}</Message></Error>".encode()
        self.send_response(self.status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_HEAD = do_GET = do_PUT = do_POST = do_DELETE = answer

    def log_message(self, *_: Any) -> None:
        pass


@pytest.mark.parametrize(
    ("code", "status", "said"),
    [("AccessDenied", 403, "refuses access"), ("SlowDown", 503, "fewer requests"), ("InternalError", 500, "it fails")],
)
def test_a_refusal_stops_with_a_clear_message(
    root: Path, monkeypatch: pytest.MonkeyPatch, code: str, status: int, said: str
) -> None:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("One", (Refusing,), {"code": code, "status": status}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    monkeypatch.setattr(store().__class__, "retries", 1)
    give_credentials(monkeypatch, f"http://127.0.0.1:{server.server_port}")
    try:
        with pytest.raises(StoppedError, match=said) as caught, lock.held(at(str(root))):
            pass
        assert code in str(caught.value)
        with pytest.raises(OSError) as read:
            files.read_json(at(str(root)) / "lock.json")
        stopped = files.stopping(read.value)
        assert stopped is not None
        assert said in str(stopped)
        assert not any(secret in f"{stopped}{caught.value}" for secret in (KEY, SECRET, TOKEN))
    finally:
        server.shutdown()
        server.server_close()


def test_no_bucket_and_no_endpoint_stop_with_a_clear_message(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert root
    with pytest.raises(ConfigError, match="no such bucket"), lock.held(at("s3://lexmill-no-such-bucket/w")):
        pass
    with pytest.raises(ConfigError, match="no bucket may have"), lock.held(at("s3://not~a~bucket/w")):
        pass
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    give_credentials(monkeypatch, "http://127.0.0.1:9")
    with pytest.raises(StoppedError, match="cannot be reached"), lock.held(at(str(root))):
        pass


def test_a_path_that_goes_to_a_worker_says_no_secret(root: Path) -> None:
    assert (root / "x").exists() is False, "its client is made, with credentials"
    sent = pickle.dumps((root / "runs", StageFolder(root / "stage")))
    assert not any(secret.encode() in sent for secret in (KEY, SECRET, TOKEN))
    back, _ = pickle.loads(sent)
    assert back == root / "runs"
    assert str(back).startswith("s3://")
