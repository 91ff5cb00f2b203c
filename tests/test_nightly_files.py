"""The files of scripts/nightly are what their programs take, and treat "nothing new" as no failure."""

import shutil
import subprocess
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "scripts" / "nightly"


def test_systemd_takes_the_units(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    command = tmp_path / "lexmill"
    command.write_text("#!/bin/sh\n")
    command.chmod(0o755)
    units = [tmp_path / "lexmill-nightly.service", tmp_path / "lexmill-nightly.timer"]
    for unit in units:
        text = (FOLDER / unit.name).read_text(encoding="utf-8")
        text = text.replace("/srv/lexmill/.venv/bin/lexmill", str(command)).replace("/srv/lexmill", str(tmp_path))
        unit.write_text(text.replace("User=lexmill", "User=root"))
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", *units], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "SuccessExitStatus=99" in units[0].read_text()


@pytest.mark.parametrize(("code", "expected"), [(0, 0), (99, 0), (4, 4)])
def test_cron_and_slurm_pass_the_exit_code_on(tmp_path: Path, code: int, expected: int) -> None:
    command = tmp_path / ".venv" / "bin" / "lexmill"
    command.parent.mkdir(parents=True)
    command.write_text(f"#!/bin/sh\nexit {code}\n")
    command.chmod(0o755)
    (line,) = (line for line in (FOLDER / "crontab").read_text().splitlines() if not line.startswith("#"))
    cron = line.split(maxsplit=5)[5].replace("/srv/lexmill", str(tmp_path))
    assert subprocess.run(["sh", "-c", cron], check=False).returncode == expected
    # A restarted job submits no successor, so no Slurm is needed here.
    environment = {"SLURM_SUBMIT_DIR": str(tmp_path), "SLURM_RESTART_COUNT": "1", "PATH": "/usr/bin:/bin"}
    job = subprocess.run(["bash", FOLDER / "nightly.sbatch", "my-run.toml"], env=environment, check=False)
    assert job.returncode == expected
