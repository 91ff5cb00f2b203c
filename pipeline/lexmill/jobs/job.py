"""What every stage job is given."""

from dataclasses import dataclass

from lexmill.config import Config
from lexmill.core.ruleset import RuleSet
from lexmill.jobs.parts import Runner
from lexmill.store.workspace import Workspace


@dataclass(frozen=True)
class Job:
    """What a stage job is given: the run file, the proven rules, the workspace, and the runner that submits its tasks."""

    config: Config
    rules: RuleSet
    workspace: Workspace
    runner: Runner
