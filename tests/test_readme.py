"""README names every command and every exit code, and nothing that is not there."""

import re
from pathlib import Path

from lexmill import errors
from lexmill.cli import app, rules_app

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_command_is_in_the_table() -> None:
    commands = {command.name for command in app.registered_commands} | {
        f"rules {command.name}" for command in rules_app.registered_commands
    }
    named = set(re.findall(r"^\| `lexmill ((?:rules )?[a-z]+)", README, re.MULTILINE))
    assert named == commands


def test_every_exit_code_is_told() -> None:
    codes = {value for name, value in vars(errors).items() if name.startswith("EXIT_")}
    told = {int(code) for code in re.findall(r"(?:Exit codes: |· |\n)(\d+) [a-z]", README)}
    assert codes == told


def test_every_linked_file_is_there() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target


def test_every_rule_family_is_described() -> None:
    from lexmill.rules import FAMILIES

    section = README[README.index("### Rules") :]
    assert all(f"`{family}`" in section for family in FAMILIES)
