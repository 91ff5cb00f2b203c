"""The local server of ``lexmill browse``: loopback only, every address with a random token, nothing written but the log of views.

Who may see a page: whoever knows the token (compared in constant time) and asks this host by its own name, so that no page of
another site reaches it by a name that it lets point here (DNS rebinding). Pages forbid scripts and everything from outside.
"""

import asyncio
import hmac
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import jinja2
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.web import Application, HTTPError, RequestHandler

from lexmill.core.page import page_templates
from lexmill.errors import ConfigError, InputError, LexmillError
from lexmill.report import browse
from lexmill.report.browse import Desk, Wanted
from lexmill.schema import STAGES
from lexmill.store.views import ViewLog

ADDRESS = "127.0.0.1"
_TEMPLATES = Path(__file__).parent.parent / "templates"
_STYLES = ("page.css", "browse.css")
_MOST_BODY = 1 << 16
_DOC = "([0-9a-f]{32})"
_HEADERS = {
    "Content-Security-Policy": "; ".join(
        ("default-src 'none'", "style-src 'self'", "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'")
    ),
    "Referrer-Policy": "no-referrer",  # the address holds the token
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
}


@dataclass(frozen=True)
class Site:
    """What is served and to whom; without ``log`` no original is shown."""

    desk: Desk
    token: str
    port: int
    log: ViewLog | None
    templates: jinja2.Environment


def _environment() -> jinja2.Environment:
    environment = page_templates(jinja2.FileSystemLoader(_TEMPLATES))
    environment.filters |= {
        "query": lambda values: urlencode({k: v for k, v in values.items() if v}),
    }
    # What decontaminate calls a twin is an item of a benchmark.
    environment.tests["doc_id"] = lambda value: re.fullmatch(_DOC, str(value)) is not None
    return environment


class _Page(RequestHandler):
    """Checks who asks, and turns every error into a page that quotes nothing."""

    def initialize(self, site: Site) -> None:
        self.site = site

    def set_default_headers(self) -> None:
        for name, value in _HEADERS.items():
            self.set_header(name, value)
        self.clear_header("Server")

    def prepare(self) -> None:
        if self.request.headers.get("Host", "") not in (f"{ADDRESS}:{self.site.port}", f"localhost:{self.site.port}"):
            raise HTTPError(403)
        if not self.knows_token():
            raise HTTPError(403)

    def knows_token(self) -> bool:
        given = self.request.path.split("/")[1] if self.request.path.startswith("/") else ""
        return hmac.compare_digest(given.encode(), self.site.token.encode())

    def show(self, name: str, values: Mapping[str, Any]) -> None:
        page = self.site.templates.get_template(name)
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.finish(page.render(here=name, root=f"/{self.site.token}/", originals=self.site.log is not None, **values))

    def wants_original(self, *doc_ids: str) -> bool:
        """Whether raw text is asked for; then the view has been written down when this returns. Raises HTTPError 403."""
        if self.get_query_argument("original", "") != "1":
            return False
        if self.site.log is None:
            raise HTTPError(403, reason="Originals are not served")
        stage = self.get_query_argument("stage", "")
        view = self.request.path.split("/", 2)[2] + (f"?stage={stage}" if stage in STAGES else "")
        for doc_id in doc_ids:
            self.site.log.add(doc_id, view)
        return True

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        """A page without a trace: what is not to be found is 404, whatever of the workspace cannot be read is 500."""
        error = kwargs.get("exc_info", (None, None, None))[1]
        if isinstance(error, InputError):
            self.set_status(status_code := 404)
        said = {403: "forbidden", 404: "missing", 405: "missing"}.get(status_code, "damaged")
        if not self.knows_token() or said == "forbidden":
            # Without the token not even the look of the pages is told; with it, 403 is about originals.
            known = self.knows_token() and isinstance(error, HTTPError) and error.reason
            self.set_header("Content-Type", "text/plain; charset=utf-8")
            self.finish("原文未开放：以 --show-originals 启动才可查看，且每次查看都会记录。\n" if known else "403\n")
            return
        # Messages of our own errors quote nothing; of others only the kind is told.
        reason = str(error) if isinstance(error, LexmillError) else "" if error is None else type(error).__name__
        if isinstance(error, HTTPError):
            reason = ""
        self.show("browse_error.html.j2", {"said": said, "reason": reason, "status": status_code})

    def log_exception(self, *_: Any) -> None:
        """Say nothing: a traceback may quote text."""


class _Style(_Page):
    def get(self) -> None:
        self.set_header("Content-Type", "text/css; charset=utf-8")
        self.finish("\n".join((_TEMPLATES / name).read_text(encoding="utf-8") for name in _STYLES))


class _Home(_Page):
    def get(self) -> None:
        self.show("browse_home.html.j2", {**browse.overview(self.site.desk), "choices": browse.choices(self.site.desk)})


class _Find(_Page):
    """By POST, so that a case number is in no address and no history."""

    def post(self) -> None:
        found = browse.find(self.site.desk, self.get_body_argument("wanted", ""))
        if len(found) == 1:
            self.redirect(f"/{self.site.token}/doc/{found[0]['doc_id']}", status=303)
            return
        self.show("browse_found.html.j2", {"found": found})


class _Documents(_Page):
    def get(self) -> None:
        wanted = Wanted(*(self.get_query_argument(name, "") for name in Wanted._fields))
        page = self.get_query_argument("page", "1")
        number = int(page) if page.isascii() and page.isdigit() and 0 < len(page) < 10 else 1
        found = browse.listing(self.site.desk, wanted, max(1, number))
        choices = browse.choices(self.site.desk)
        self.show("browse_list.html.j2", {**found, "wanted": wanted._asdict(), "choices": choices, "size": browse.ROWS})


class _Document(_Page):
    def get(self, doc_id: str) -> None:
        stage = self.get_query_argument("stage", "")
        self.show("browse_document.html.j2", browse.document(self.site.desk, doc_id, stage, self.wants_original(doc_id)))


class _Twins(_Page):
    def get(self, doc_id: str, twin: str) -> None:
        self.show("browse_twins.html.j2", browse.twins(self.site.desk, doc_id, twin, self.wants_original(doc_id, twin)))


class _Missing(_Page):
    def get(self) -> None:
        raise HTTPError(404)

    post = get


def application(desk: Desk, token: str, port: int, log: ViewLog | None) -> Application:
    """The pages, for whoever knows ``token`` and asks at ``port``; with ``log`` originals may be shown, each written there."""
    arguments = {"site": Site(desk, token, port, log, _environment())}
    routes: list[tuple[str, type[_Page]]] = [
        (r"/[^/]*/", _Home),
        (r"/[^/]*/style\.css", _Style),
        (r"/[^/]*/find", _Find),
        (r"/[^/]*/documents", _Documents),
        (rf"/[^/]*/doc/{_DOC}", _Document),
        (rf"/[^/]*/doc/{_DOC}/twin/{_DOC}", _Twins),
    ]
    return Application(
        [(path, page, arguments) for path, page in routes],
        default_handler_class=_Missing,
        default_handler_args=arguments,
        log_function=lambda _: None,  # addresses hold the token
    )


def serve(desk: Desk, port: int, log: ViewLog | None, announce: Callable[[str], None]) -> None:
    """Serve until interrupted, on loopback; ``announce`` is given the address. Port 0: a free one. Raises ConfigError."""
    try:
        sockets = bind_sockets(port, ADDRESS)
    except (OSError, OverflowError) as error:
        raise ConfigError(f"--port {port}: cannot be used ({error}); leave it out for a free one") from None
    port = sockets[0].getsockname()[1]
    token = secrets.token_urlsafe(32)

    async def forever() -> None:
        server = HTTPServer(application(desk, token, port, log), max_body_size=_MOST_BODY, max_buffer_size=_MOST_BODY)
        server.add_sockets(sockets)
        announce(f"http://{ADDRESS}:{port}/{token}/")
        await asyncio.Event().wait()

    asyncio.run(forever())
