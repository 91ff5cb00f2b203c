"""Build the wheel by way of the source distribution and prove that it works from a bare folder: version, rules, models, masking.

The wheel is unpacked beside the installed dependencies, so that no index is asked; the checkout itself is not on the path.
"""

import json
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent


def _run(arguments: list[str], folder: Path, given: str = "") -> str:
    environment = {**os.environ, "PYTHONPATH": str(folder / "bare"), "PYTHONSAFEPATH": "1"}
    done = subprocess.run(arguments, cwd=folder, env=environment, input=given, text=True, capture_output=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(arguments[:4])} failed with {done.returncode}:\n{done.stderr}")
    return done.stdout


def main() -> None:
    """Exit non-zero, with the reason, where the wheel is not whole."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _run([sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(folder)], ROOT)
        with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
            archive.extractall(folder, filter="data")
        unpacked = next(path for path in folder.glob("lexmill-*") if path.is_dir())
        _run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)], unpacked)
        with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
            wheel.extractall(folder / "bare")
        where = _run([sys.executable, "-c", "import lexmill; print(lexmill.__file__)"], folder).strip()
        if not Path(where).is_relative_to(folder):
            sys.exit("the wheel's package was not the one imported")
        lexmill = [sys.executable, "-m", "lexmill.cli"]
        if "lexmill" not in _run([*lexmill, "--version"], folder):
            sys.exit("no version")
        _run([*lexmill, "rules", "check"], folder)
        line = json.dumps({"id": "1", "text": "原告：庄筱棠，女，2079年3月4日出生。"}, ensure_ascii=False)
        masked = json.loads(_run([*lexmill, "mask", "-", "--out", "-"], folder, line + "\n"))
        if "庄筱棠" in masked["text"] or not masked["spans"]:
            sys.exit("the wheel's rules do not mask")
    print("wheel: builds from the source distribution and works from a bare folder")


if __name__ == "__main__":
    main()
