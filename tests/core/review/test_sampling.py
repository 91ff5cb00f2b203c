"""The sample depends on ids and seed only, however the lot is cut, and its weights give the lot back."""

import datetime
from statistics import mean

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexmill.core.review import sampling
from lexmill.core.review.sampling import CANDIDATE, Chosen, choose, least, place


def lot(sizes: dict[str, int], seed: int = 0) -> pa.Table:
    rows = [
        {
            "pile": "kept",
            "stratum": name,
            "place": place(f"{name}{i}", seed),
            "doc_id": f"{name}{i}",
            "stage": "",
            "rule": "",
            "part": i % 3,
        }
        for name, size in sizes.items()
        for i in range(size)
    ]
    return pa.Table.from_pylist(rows, schema=CANDIDATE)


def test_core_and_strata_have_the_sizes_asked_for() -> None:
    chosen = choose(lot({"common": 5000, "rare": 40}), 300, 25)
    assert sum(item.core for item in chosen) == 300
    rare = [item for item in chosen if item.stratum == "rare"]
    assert len(rare) == 25
    assert {item.weight for item in rare if not item.core} != {1.0}
    assert all(item.weight >= 1 for item in chosen)


def test_a_small_lot_is_read_whole() -> None:
    chosen = choose(lot({"a": 7, "b": 2}), 100, 5)
    assert len(chosen) == 9
    assert all(item.core and item.weight == 1 for item in chosen)


@settings(deadline=None)
@given(
    st.dictionaries(st.sampled_from("abcd"), st.integers(1, 60), min_size=1),
    st.integers(0, 50),
    st.integers(0, 20),
    st.integers(1, 7),
)
def test_the_cutting_of_the_lot_changes_nothing(sizes: dict[str, int], core: int, per_stratum: int, n_parts: int) -> None:
    whole = lot(sizes)
    cut = [
        least(whole.slice(start, 1 + whole.num_rows // n_parts), core, per_stratum)
        for start in range(0, whole.num_rows, 1 + whole.num_rows // n_parts)
    ]
    assert choose(pa.concat_tables(reversed(cut)), core, per_stratum) == choose(whole, core, per_stratum)


def estimate(chosen: list[Chosen], name: str) -> float:
    return sum(item.weight for item in chosen if item.stratum == name)


def test_weights_give_the_lot_back_over_many_seeds() -> None:
    sizes = {"common": 900, "rare": 100}
    samples = [choose(lot(sizes, seed), 100, 40) for seed in range(60)]
    assert mean(estimate(chosen, "rare") for chosen in samples) == pytest.approx(100, rel=0.05)
    assert mean(estimate(chosen, "common") for chosen in samples) == pytest.approx(900, rel=0.05)


def test_another_seed_draws_others() -> None:
    first, second = ({item.doc_id for item in choose(lot({"a": 2000}, seed), 50, 0)} for seed in (0, 1))
    assert len(first & second) < 10


def test_places_are_spread_evenly() -> None:
    places = [place(str(number), 3) for number in range(4000)]
    assert mean(places) == pytest.approx(0.5, abs=0.02)
    assert len(set(places)) == 4000


def test_strata_say_what_is_risky() -> None:
    row = {
        "source": "s",
        "doc_type": "judgment",
        "text": "字" * 600,
        "meta": {"judgment_date": datetime.date(2015, 1, 2)},
        "segments": [{"confidence": 1.0}, {"confidence": 0.5}],
    }
    assert sampling.stratum(row, masked=True) == "s/judgment/2014–2020/<5000字/分段存疑/有遮盖"
    plain = {**row, "meta": None, "segments": [{"confidence": 1.0}], "text": "短"}
    assert sampling.stratum(plain, masked=False) == "s/judgment/不详/<500字/分段清楚/无遮盖"
