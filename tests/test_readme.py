"""README names every command and every exit code, and nothing that is not there."""

import re
from pathlib import Path

import typer

import lexmill.cli  # noqa: F401 (registers the commands)
from lexmill import errors
from lexmill.cli.base import app

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def commands_of(group: typer.Typer, prefix: str = "") -> set[str]:
    inner = [
        commands_of(child.typer_instance, f"{prefix}{child.name} ")
        for child in group.registered_groups
        if child.typer_instance is not None
    ]
    return {f"{prefix}{command.name}" for command in group.registered_commands}.union(*inner)


def test_every_command_is_in_the_table() -> None:
    named = set(re.findall(r"^\| `lexmill ([a-z-]+(?: (?!CONFIG)[a-z-]+)?)", README, re.MULTILINE))
    assert named == commands_of(app)


def helps_of(group: typer.Typer) -> dict[str, str]:
    """What each command says of itself."""
    found = {str(command.name): command.callback.__doc__ or "" for command in group.registered_commands if command.callback}
    for child in group.registered_groups:
        found |= {f"{child.name} {name}": text for name, text in helps_of(child.typer_instance or typer.Typer()).items()}
    return found


def test_every_command_has_an_example_of_itself() -> None:
    helps = helps_of(app)
    assert set(helps) == commands_of(app)
    assert [name for name, text in helps.items() if f"Example: lexmill {name}" not in text] == []


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
