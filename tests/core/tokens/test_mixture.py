import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexmill.config import Mix
from lexmill.core.tokens.ids import shard_key
from lexmill.core.tokens.mixture import key_of, plan_epochs, repeat_keys, repeats
from lexmill.errors import ConfigError

POOL = {"courts/judgment": 6_000, "forms/contract": 1_000, "laws/statute": 2_000, "site/qa": 1_000}
KEYS = np.array([shard_key(f"{n:032x}", 0) for n in range(20_000)], np.uint64)


def test_the_closest_key_names_a_group() -> None:
    keys = {"a/qa": 1, "a/*": 2, "*/qa": 3, "*/*": 4}
    assert [key_of(group, keys) for group in ("a/qa", "a/exam", "b/qa", "b/exam")] == ["a/qa", "a/*", "*/qa", "*/*"]
    assert key_of("b/exam", {"a/*": 1}) is None


def test_without_settings_everything_is_written_once() -> None:
    assert plan_epochs(POOL, Mix()) == dict.fromkeys(POOL, 1.0)


def test_epochs_caps_and_a_budget() -> None:
    mix = Mix(epochs={"*/qa": 3, "courts/*": 0.5})
    assert plan_epochs(POOL, mix) == {"courts/judgment": 0.5, "forms/contract": 1.0, "laws/statute": 1.0, "site/qa": 3.0}
    capped = plan_epochs(POOL, Mix(caps={"courts/judgment": 1_500, "*/*": 2_000}))
    assert capped == {"courts/judgment": 0.25, "forms/contract": 0.5, "laws/statute": 0.5, "site/qa": 0.5}
    assert plan_epochs(POOL, Mix(tokens=5_000)) == dict.fromkeys(POOL, 0.5)
    assert plan_epochs(POOL, Mix(tokens=50_000)) == dict.fromkeys(POOL, 1.0)


def test_weights_are_shares_of_the_tokens() -> None:
    mix = Mix(weights={"courts/*": 0.5, "*/statute": 0.3, "*/*": 0.2}, max_epochs=2)
    epochs = plan_epochs(POOL, mix)
    tokens = {group: epochs[group] * POOL[group] for group in POOL}
    total = sum(tokens.values())
    assert tokens["courts/judgment"] / total == pytest.approx(0.5)
    assert tokens["laws/statute"] / total == pytest.approx(0.3)
    assert epochs["forms/contract"] == epochs["site/qa"]
    assert max(epochs.values()) == 2
    assert plan_epochs(POOL, Mix(weights={"courts/*": 1, "*/*": 0}, max_epochs=1)) == {
        **dict.fromkeys(POOL, 0.0),
        "courts/judgment": 1.0,
    }
    with pytest.raises(ConfigError, match=r"mix\.weights: none for laws/statute, site/qa; give one"):
        plan_epochs(POOL, Mix(weights={"courts/*": 1, "forms/*": 1}))


@given(st.floats(0, 5))
def test_as_many_copies_as_epochs_say(epochs: float) -> None:
    times = repeats(KEYS, np.full(len(KEYS), epochs))
    assert set(times.tolist()) <= {int(epochs), int(epochs) + 1}
    assert times.mean() == pytest.approx(epochs, abs=0.02)


def test_more_epochs_take_no_document_away() -> None:
    few, more = (repeats(KEYS, np.full(len(KEYS), epochs)) for epochs in (0.3, 0.6))
    assert (more >= few).all()


def test_which_documents_are_taken_has_nothing_to_do_with_their_shard() -> None:
    taken = repeats(KEYS, np.full(len(KEYS), 0.5)) > 0
    low = KEYS >> np.uint64(63) == 0
    assert taken[low].mean() == pytest.approx(0.5, abs=0.02)


def test_copies_stand_elsewhere() -> None:
    none = np.zeros(len(KEYS), np.int64)
    assert np.array_equal(repeat_keys(KEYS, none), KEYS)
    again = repeat_keys(KEYS, none + 1)
    assert len(np.unique(np.concatenate([KEYS, again, repeat_keys(KEYS, none + 2)]))) == 3 * len(KEYS)
    assert abs(np.corrcoef(KEYS.astype(float), again.astype(float))[0, 1]) < 0.03
