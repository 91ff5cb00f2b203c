"""The list of stages, and settings that are refused before any work."""

from pathlib import Path

import pytest

from lexmill import rules, schema
from lexmill.config import load
from lexmill.errors import ConfigError
from lexmill.jobs.run import STAGES, check_settings, lost_sources
from lexmill.store import workspace

EXAMPLE = Path(__file__).parents[2] / "lexmill.example.toml"


def test_stages_are_those_of_the_workspace() -> None:
    assert tuple(STAGES) == (*schema.STAGES, workspace.RELEASE)


def test_the_example_passes_but_for_the_screens_that_it_names() -> None:
    with pytest.raises(ConfigError, match=r"screen: .*drugs\.txt"):
        check_settings(load(EXAMPLE), rules.load())
    config = load(EXAMPLE, ("screen=[]",))
    check_settings(config, rules.load(config.rule_folders))


def test_wrong_settings_are_all_told() -> None:
    wrong = ("deidentify.policy='none'", "tokenize.tokenizer='gone.json'", "cluster.memory='lots'", "filter.sections=['gone']")
    config = load(EXAMPLE, wrong)
    with pytest.raises(ConfigError) as caught:
        check_settings(config, rules.load())
    for said in (
        "deidentify.policy",
        "spc2016",
        "filter.sections: gone",
        "section.judgment_tail",
        "tokenize.tokenizer",
        "cluster.memory",
        str(EXAMPLE),
    ):
        assert said in str(caught.value)


def test_a_source_that_is_lost_whole_is_named() -> None:
    counts = {
        "in": {"a/qa": {"docs": 3}, "b/qa": {"docs": 2}, "c/qa": {"docs": 1}},
        "out": {"a/qa": {"docs": 1}, "c/judgment": {"docs": 1}},
    }
    assert lost_sources({"counts": counts}) == [("b", 2)]
