"""What differs on a worker is said plainly, and nothing is said where nothing differs."""

import json
from pathlib import Path
from typing import Any

import distributed
import pytest

from lexmill import rules
from lexmill.config import Cluster, Config, load
from lexmill.errors import ConfigError, StoppedError
from lexmill.jobs.workers import Common, check_workers, differences, look, refusal, write_common
from lexmill.store import files
from tests.jobs.conftest import run_file


@pytest.fixture
def config(tmp_path: Path) -> Config:
    (tmp_path / "run.toml").write_text(run_file("qa"))
    (tmp_path / "a.jsonl").write_text('{"text": "甲"}\n')
    return load(tmp_path / "run.toml")


@pytest.fixture
def common(config: Config) -> Common:
    return write_common(config, rules.load(), config.workspace_dir / "tmp")


def changed(common: Common, **values: Any) -> Common:
    """What another driver would have written."""
    content = {**json.loads(common.path.read_bytes()), **values}
    path = common.path.with_name("other.json")
    return Common(path, files.write_json(path, content))


def test_nothing_differs_in_the_same_process(common: Common) -> None:
    assert differences(common) == ()
    assert refusal(common) is None
    assert look(common, "seen") == ()
    assert common.path.with_name("seen").exists()


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"python": "2.7"}, "not 2.7"),
        ({"package": "0"}, "other code or models of lexmill"),
        ({"versions": {"pyarrow": "1.0", "lexmill": "9.9", "nosuch": "3"}}, "not 1.0"),
        ({"versions": {"nosuch": "3"}}, "nosuch missing, not 3"),
        ({"rules": {"deid": "0"}}, "other rules: deid"),
        ({"files": {"/nowhere/tokenizer.json": "0"}}, "does not see /nowhere/tokenizer.json"),
        ({"raw": {"/nowhere/raw": 0}}, "does not see /nowhere/raw"),
        ({"raw": {__file__: 1}}, f"sees other files at {__file__}"),
        ({"files": {__file__: "0"}}, f"sees other files at {__file__}"),
    ],
)
def test_what_differs_is_named(common: Common, values: dict[str, Any], said: str) -> None:
    (fault,) = differences(changed(common, **values))
    assert said in fault


def test_all_that_differs_is_said_at_once(common: Common) -> None:
    other = changed(common, python="2.7", package="0", rules={"deid": "0"})
    assert len(differences(other)) == 3
    assert str(refusal(other)).count("; it ") == 2


def test_another_workspace_at_the_same_place_is_noticed(common: Common) -> None:
    (fault,) = differences(Common(common.path, "0"))
    assert "does not see the workspace" in fault


def test_workers_are_told_apart(client: distributed.Client, common: Common) -> None:
    check_workers(client, Cluster(), common)
    assert [path.name for path in common.path.parent.iterdir()] == ["common.json"], "what a worker left is taken away"
    (address,) = client.nthreads()
    with pytest.raises(ConfigError, match=rf"cluster: worker {address} has Python .*, not 2\.7"):
        check_workers(client, Cluster(), changed(common, python="2.7"))


def test_a_worker_with_threads_is_refused(common: Common) -> None:
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address="127.0.0.1:0") as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
        pytest.raises(ConfigError, match="2 threads; start it with --nthreads 1"),
    ):
        check_workers(client, Cluster(), common)


def test_no_worker_is_told(common: Common) -> None:
    with (
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address="127.0.0.1:0") as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
        pytest.raises(StoppedError, match=r"no worker came within cluster\.wait_seconds = 1"),
    ):
        check_workers(client, Cluster(wait_seconds=1), common)
