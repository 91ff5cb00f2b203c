"""The sample is stratified and reproducible; prices are checked, and the parts of the cost are the sums they say."""

from pathlib import Path

import pytest

from lexmill.errors import ConfigError
from lexmill.jobs.pieces import Piece
from lexmill.jobs.plan import choose, cost, joined
from lexmill.jobs.prices import load_prices

PRICES = Path(__file__).parents[2] / "prices.example.toml"


def piece(source: str, part: int, size: int) -> Piece:
    return Piece(part, source, f"{part}", f"/{part}", size, "", "jsonl", "", 0, size, False, part, "")


def test_every_source_is_sampled_by_its_share_and_the_same_each_time() -> None:
    parts = {n: [piece("big", n, 100)] for n in range(100)} | {n: [piece("small", n, 10)] for n in range(100, 106)}
    chosen = choose(parts, 2000)
    assert chosen == choose(dict(reversed(parts.items())), 2000)
    assert 18 <= len(chosen["big"]) <= 21
    assert len(chosen["small"]) == 4
    assert chosen["big"] != sorted(parts)[: len(chosen["big"])]


def test_parts_are_joined_without_losing_one() -> None:
    parts = [[piece("a", n, n)] for n in range(20)]
    found = joined(parts)
    assert [len(part) for part in found] == [1, 2, 4, 8, 1, 2, 2]
    assert [one for part in found for one in part] == [one for part in parts for one in part]


def test_the_example_prices_are_read_and_the_cost_adds_up() -> None:
    prices = load_prices(PRICES)
    sure = {"value": 3600.0, "low": 3600.0, "high": 3600.0}
    forecast = {
        "seconds": sure,
        "memory_bytes": {"value": float(8 << 30)},
        "disk_bytes": {"value": 2e9},
        "tokens": {"value": 5e8},
        "raw_bytes": 4e9,
        "cores": 10,
    }
    found = cost(forecast, prices)
    compute = prices.compute.spot_price_ratio * (10 * prices.compute.vcpu_hour + 8 * prices.compute.gib_hour)
    assert found["compute"]["value"] == pytest.approx(compute)
    assert found["compute_a_gb_raw"] == pytest.approx(compute / 4)
    assert found["compute_a_billion_tokens"] == pytest.approx(compute * 2)
    assert found["storage"]["value"] == pytest.approx(2 * prices.storage.gb_month * prices.storage.months)
    assert found["human_hours"] == pytest.approx(4000 * 1.75 / 60)
    assert found["human"] == pytest.approx(found["human_hours"] * prices.human.hour)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x", "not TOML"),
        ('currency = "RMB"', "compute"),
        ("", "human"),
        ("[compute]\nvcpu_hour = -1\ngib_hour = 0", "vcpu_hour"),
        ("[compute]\nvcpu_hour = inf", "vcpu_hour"),
        ("x = " + "9" * 5000, "not TOML"),
        ("x = " + "[" * 20_000, "not TOML"),
    ],
)
def test_bad_price_files_say_what_is_wrong(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "p.toml").write_text(text)
    with pytest.raises(ConfigError, match=said):
        load_prices(tmp_path / "p.toml")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_prices(tmp_path / "none.toml")
