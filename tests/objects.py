"""An S3 endpoint on the loopback (moto's server), with credentials planted that must never be found anywhere."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lexmill.config import at
from lexmill.store import files

KEY, SECRET, TOKEN = "AKIAPLANTEDKEY", "planted/SECRET+of7the3store", "planted-TOKEN-of-the-session"
BUCKET = "lexmill-test"


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def wait_for(port: int) -> None:
    """Until somebody listens there."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.1)
    raise AssertionError("the endpoint does not come up")


@contextmanager
def serving() -> Iterator[str]:
    """The URL of moto's server in a process of its own; what it stores is gone when it ends."""
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(port)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def give_credentials(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    """Let the environment say what a user's would, and this endpoint."""
    for name, value in (
        ("AWS_ACCESS_KEY_ID", KEY),
        ("AWS_SECRET_ACCESS_KEY", SECRET),
        ("AWS_SESSION_TOKEN", TOKEN),
        ("AWS_ENDPOINT_URL_S3", url),
        ("AWS_CONFIG_FILE", os.devnull),
        ("AWS_SHARED_CREDENTIALS_FILE", os.devnull),
    ):
        monkeypatch.setenv(name, value)
    # One client a process is kept, which knows the endpoint that it was made for.
    store_class().clear_instance_cache()


def store_class() -> Any:
    """s3fs's file system."""
    return type(store())


def store() -> Any:
    """The file system of the endpoint that the environment names."""
    return files.store_of(at(f"s3://{BUCKET}"))


def make_bucket() -> None:
    """The tests' bucket, if it is not there yet."""
    store().makedirs(BUCKET, exist_ok=True)


class Requests:
    """Every request that this process makes; one may be told to fail, as if the process had been killed before it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seen: list[str] = []
        self.left: int | None = None
        self.error: BaseException = RuntimeError("killed")
        kind = store_class()
        original = kind._call_s3

        async def counted(fs: Any, method: str, *arguments: Any, **named: Any) -> Any:
            self.seen.append(method)
            if self.left is not None:
                self.left -= 1
                if self.left < 0:
                    raise self.error
            return await original(fs, method, *arguments, **named)

        monkeypatch.setattr(kind, "_call_s3", counted)


def content(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {name: (folder / name).read_bytes() for name in files.listing(folder)}
