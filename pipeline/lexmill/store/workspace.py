"""Where things are in a workspace."""

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from lexmill.store import files
from lexmill.store.fingerprint import digest
from lexmill.store.stages import StageFolder

# A document's way; what follows them publishes.
RELEASE = "release"


@dataclass(frozen=True)
class Workspace:
    """The folders of one run of one workspace."""

    root: Path
    run: str

    @property
    def run_folder(self) -> Path:
        """``runs/<run>``: stages, and ``run.json`` with what a run took."""
        return self.root / "runs" / self.run

    def stage(self, name: str) -> StageFolder:
        """A stage's folder."""
        return StageFolder(self.run_folder / name)

    def work(self, name: str) -> StageFolder:
        """A folder of intermediate work of a stage (``<stage>.<step>``)."""
        return StageFolder(self.run_folder / "work" / name)

    @property
    def lineage(self) -> Path:
        """``lineage/<run>``: the only place where doc_id, path and case number meet."""
        return self.root / "lineage" / self.run

    @property
    def index(self) -> Path:
        """``index``: the history that runs with ``[dedup] history`` are compared to; it holds raw text."""
        return self.root / "index"

    @property
    def releases(self) -> Path:
        """``releases``: what may leave the workspace."""
        return self.root / "releases"

    @property
    def scratch(self) -> Path:
        """Scratch files of workers, which are always on this machine."""
        if not files.store_of(self.root):
            return self.root / "tmp"
        # Of one user, and of one workspace: two may run at a time.
        return Path(tempfile.gettempdir()) / f"lexmill-{os.getuid()}-{digest(str(self.root))[:16]}"

    @property
    def shared(self) -> Path:
        """What the driver and workers elsewhere tell each other."""
        return self.root / "tmp"
