"""Label Studio itself takes what `review export` writes, shows what was masked in its place, and its export decides the lot."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from http.cookiejar import CookieJar
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pyarrow.parquet as pq
import pytest

from lexmill.core.review import labelstudio
from lexmill.core.review.verdicts import BAD, DEFECTS, GOOD
from tests.end_to_end.conftest import LEXMILL, Site, make_site
from tests.end_to_end.test_report import CHROMIUM, browse

LABEL_STUDIO = shutil.which("label-studio")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        LABEL_STUDIO is None, reason="no label-studio on the path (a virtual environment of its own, Python 3.11)"
    ),
]

USER, PASSWORD, TOKEN = "reviewer@example.org", "reads-masked-text", "0123456789abcdef0123456789abcdef01234567"
# Nothing of what is reviewed, nor that it is, goes to its makers or to the package index.
QUIET = {"COLLECT_ANALYTICS": "false", "SENTRY_DSN": "", "FRONTEND_SENTRY_DSN": "", "LATEST_VERSION_CHECK": "false"}
REVIEW = "[review]\nsample = 60\nmax_identifiers = 0.1\nmin_pass = 0.8\nplanted = 0.1\ndropped = 10\nspans = 10\n\n"


@dataclass(frozen=True)
class Studio:
    """A server on loopback."""

    address: str

    def call(self, method: str, path: str, body: Any = None) -> Any:
        headers = {"Authorization": f"Token {TOKEN}", "Content-Type": "application/json"}
        data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            request = urllib.request.Request(f"{self.address}{path}", data, headers, method=method)
            with opener.open(request, timeout=120) as answer:
                said = answer.read()
        except urllib.error.HTTPError as error:
            pytest.fail(f"{method} {path}: {error.code} {error.read()[:500]!r}")
        return json.loads(said) if said else None

    def project(self, title: str, interface: str, tasks: bytes) -> int:
        """A new project with these tasks."""
        self.call("POST", "/api/projects/validate/", {"label_config": interface})
        made = int(self.call("POST", "/api/projects/", {"title": title, "label_config": interface})["id"])
        taken = self.call("POST", f"/api/projects/{made}/import", tasks)
        assert taken["task_count"] == taken["prediction_count"] == len(json.loads(tasks))
        return made

    def tasks(self, project: int) -> dict[str, dict[str, Any]]:
        """The project's tasks, with their predictions, by item."""
        found = self.call("GET", f"/api/tasks?project={project}&fields=all&page_size=1000")["tasks"]
        return {task["data"]["item"]: task for task in found}

    def say(self, task: dict[str, Any], *results: dict[str, Any], **more: Any) -> int:
        """Annotate a task as the interface does: its predictions stay in, choices and notes are added."""
        result = [*task["predictions"][0]["result"], *results]
        return int(self.call("POST", f"/api/tasks/{task['id']}/annotations/", {"result": result, **more})["id"])

    def export(self, project: int, path: Path) -> Path:
        path.write_text(json.dumps(self.call("GET", f"/api/projects/{project}/export?exportType=JSON")), encoding="utf-8")
        return path


def chosen(name: str, value: str) -> dict[str, Any]:
    return {"id": name, "from_name": name, "to_name": "text", "type": "choices", "value": {"choices": [value]}}


def noted(*lines: str) -> dict[str, Any]:
    return {"id": "note", "from_name": "note", "to_name": "text", "type": "textarea", "value": {"text": list(lines)}}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    folder, port = tmp_path_factory.mktemp("studio"), free_port()
    user = ["--username", USER, "--password", PASSWORD, "--user-token", TOKEN, "--enable-legacy-api-token"]
    where = ["--no-browser", "--data-dir", str(folder / "data"), "--internal-host", "127.0.0.1", "--port", str(port)]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [str(LABEL_STUDIO), "start", *where, *user],
            cwd=folder,
            env=os.environ | QUIET,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        until = time.monotonic() + 300
        while True:
            assert process.poll() is None, (folder / "log").read_text(errors="replace")[-4000:]
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert time.monotonic() < until, "label-studio does not answer"
            time.sleep(0.5)
        yield Studio(f"http://127.0.0.1:{port}")
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    made = make_site(tmp_path_factory.mktemp("review"), REVIEW)
    made.run("--until", "filter")
    return made


def review(site: Site, command: str, *arguments: str, code: int = 0) -> str:
    done = subprocess.run([str(LEXMILL), "review", command, str(site.config), *arguments], capture_output=True, text=True)
    assert done.returncode == code, done.stderr[-4000:]
    return done.stdout


def test_a_lot_is_read_in_label_studio_and_decided(studio: Studio, site: Site, tmp_path: Path) -> None:
    review(site, "sample")
    printed = review(site, "export", "--reviewers", "甲,乙", "--out", str(tmp_path), "--format", "label-studio")
    sent = [line.partition("  ")[0] for line in printed.splitlines()]
    interface = Path(sent[-1]).read_text(encoding="utf-8")
    (drawn,) = site.workspace.glob("reviews/*/items.parquet")
    hidden = {row["item"]: row for row in pq.read_table(drawn).to_pylist()}
    projects = [studio.project(f"Reviewer {number}", interface, Path(name).read_bytes()) for number, name in enumerate(sent[:-1])]

    marked = dict.fromkeys(("kept", "dropped", "span", "planted"), 0)
    for project, reviewer in zip(projects, "甲乙", strict=True):
        tasks = studio.tasks(project)
        for item, task in tasks.items():
            row = hidden[item]
            (prediction,) = task["predictions"]
            values = [result["value"] for result in prediction["result"]]
            assert [task["data"]["text"][value["start"] : value["end"]] for value in values] == [
                value["text"] for value in values
            ]
            marked[row["kind"] if row["planted"] is None else "planted"] += len(values)
        first, second, *others = tasks
        # One is skipped and read later; of one the reviewer says something else first; spans and notes are added.
        studio.say(tasks[first], was_cancelled=True)
        mistaken = studio.say(tasks[second], chosen("verdict", BAD), chosen("defect", "其他"))
        for item in others:
            planted = hidden[item]["planted"]
            span = {"start": 0, "end": 2, "text": tasks[item]["data"]["text"][:2], "labels": ["PERSON"]}
            found = {"id": "added", "from_name": "span", "to_name": "text", "type": "labels", "value": span}
            bad = (chosen("verdict", BAD), chosen("defect", planted), noted("第一行", "第二行"), found)
            studio.say(tasks[item], *(bad if planted else (chosen("verdict", GOOD),)))
        back = studio.export(project, tmp_path / f"{reviewer}.json")
        assert f"{len(tasks) - 1} verdicts; 1 items are still" in review(site, "import", str(back), "--reviewer", reviewer)
        for item in (first, second):
            right = hidden[item]["planted"]
            results = [chosen("verdict", BAD), chosen("defect", right)] if right else [chosen("verdict", GOOD)]
            if item == first:
                studio.say(tasks[item], *results)
            else:
                studio.call("PATCH", f"/api/annotations/{mistaken}/", {"result": results})
        studio.export(project, back)
        assert f"{len(tasks)} verdicts; 0 items" in review(site, "import", str(back), "--reviewer", reviewer)
    assert all(marked.values()), marked

    said = review(site, "decide")
    n_planted = sum(row["planted"] is not None for row in hidden.values())
    assert "accepted: 60 of" in said
    assert f"埋设缺陷检出 {n_planted}/{n_planted}" in said
    notes = {one["note"] for path in drawn.parent.glob("verdicts/*.json") for one in json.loads(path.read_text(encoding="utf-8"))}
    assert "第一行\n第二行" in notes


def cookies(studio: Studio) -> str:
    """Those of a browser in which the user is signed in."""
    jar = CookieJar()
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor(jar))
    page = opener.open(f"{studio.address}/user/login/", timeout=60).read().decode()
    found = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
    assert found is not None
    form = {"email": USER, "password": PASSWORD, "csrfmiddlewaretoken": found[1]}
    opener.open(f"{studio.address}/user/login/", urllib.parse.urlencode(form).encode(), timeout=60).read()
    assert "sessionid" in {cookie.name for cookie in jar}
    return "; ".join(f"{cookie.name}={cookie.value}" for cookie in jar)


@pytest.fixture
def signed_in(studio: Studio) -> Iterator[str]:
    """The address of a door to the server behind which everybody is signed in."""
    held = cookies(studio)

    class Door(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
            size = int(self.headers.get("Content-Length") or 0)
            kept = {name: value for name, value in self.headers.items() if name.lower() in ("accept", "content-type")}
            token = {"Cookie": held, "X-CSRFToken": held.partition("csrftoken=")[2].partition(";")[0]}
            body = self.rfile.read(size) if size else None
            request = urllib.request.Request(studio.address + self.path, body, kept | token, method=self.command)
            try:
                answer = opener.open(request, timeout=60)
            except urllib.error.HTTPError as error:
                answer = error
            data = answer.read()
            with suppress(ConnectionError):  # the browser goes when it has seen enough
                self.send_response(answer.status)
                self.send_header("Content-Type", answer.headers.get("Content-Type", "text/plain"))
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        do_POST = do_PATCH = do_GET

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on the path (Debian: chromium)")
def test_its_page_marks_what_was_masked(studio: Studio, signed_in: str, tmp_path: Path) -> None:
    """Characters beyond the first plane, markup and line breaks before a span do not move it."""
    text = "𠮷田<b>与&某\n第二行😀\n原告张某1诉称。\n\n𠮷某某公司结束"
    spans = [
        {"start": text.index(name), "end": text.index(name) + len(name), "entity": entity}
        for name, entity in (("张某1", "PERSON"), ("某某公司", "ORGANISATION"))
    ]
    row = {"item": "00aa", "kind": "kept", "doc_type": "judgment", "title": None, "text": text, "spans": spans}
    project = studio.project("Page", labelstudio.interface(["PERSON", "ORGANISATION"]), labelstudio.tasks([row], "train-strict"))
    (task,) = studio.tasks(project).values()
    address = f"{signed_in}/projects/{project}/data?task={task['id']}"
    loopback = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
    page = browse(tmp_path, loopback, "--virtual-time-budget=60000", "--dump-dom", address).stdout
    shown = re.findall(r'<span[^>]*class="[^"]*htx-highlight[^"]*"[^>]*>([^<]*)', page)
    assert shown == ["张某1", "某某公司"]
    asked = [page.index(part) for part in (f">{GOOD}", f">{BAD}", "choices_hidden", *(f">{defect}" for defect in DEFECTS))]
    assert asked == sorted(asked)  # defects are asked only of what is bad
