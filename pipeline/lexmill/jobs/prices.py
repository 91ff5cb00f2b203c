"""A price file (TOML): what cores, memory, disk and people cost, on which day, and where that was read."""

import tomllib
from datetime import date
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from lexmill.errors import ConfigError


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Compute(_Section):
    """Prices of an hour of a virtual core and of a GiB of memory, and what is paid of them (0.18 = 18 % of the price)."""

    vcpu_hour: float = Field(ge=0)
    gib_hour: float = Field(ge=0)
    spot_price_ratio: float = Field(default=1.0, gt=0, le=1)


class Storage(_Section):
    """The price of a GB for a month, and how many months it is kept."""

    gb_month: float = Field(ge=0)
    months: float = Field(ge=0)


class Human(_Section):
    """What people look at: documents, minutes for each, the price of an hour."""

    hour: float = Field(ge=0)
    documents: int = Field(ge=0)
    minutes_per_document: float = Field(ge=0)


class Prices(_Section):
    """A price file: a price list with its day and where it was read."""

    currency: str
    date: date
    source: str
    compute: Compute
    storage: Storage
    human: Human


def load_prices(path: Path) -> Prices:
    """Read a price file (TOML); raises ConfigError with every fault at once."""
    try:
        return Prices.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}); see prices.example.toml") from None
    except ValidationError as error:
        faults = [f"{path}: {'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors()]
        raise ConfigError("\n".join(faults)) from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: is not TOML in UTF-8: {error}") from None
