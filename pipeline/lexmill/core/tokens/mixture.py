"""How often the documents of each source and type are written: the mixture of a release."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from lexmill.config import Mix
from lexmill.errors import ConfigError

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def key_of(group: str, keys: Mapping[str, object]) -> str | None:
    """The key that names ``source/type`` most closely: itself, ``source/*``, ``*/type``, ``*/*``; None where none does."""
    source, _, doc_type = group.rpartition("/")
    return next((key for key in (group, f"{source}/*", f"*/{doc_type}", "*/*") if key in keys), None)


def plan_epochs(pool: Mapping[str, int], mix: Mix) -> dict[str, float]:
    """How often each group (``source/type``) is written that has so many tokens in ``pool``.

    ``epochs`` says it outright. ``weights`` are shares of the tokens; the total is the largest at which no group that shares a
    weight is written more than ``max_epochs`` times. Then all are scaled down to ``tokens`` in all, and groups to their ``caps``.
    Raises ConfigError for a group without a weight where others have one.
    """
    groups = sorted(group for group, tokens in pool.items() if tokens)
    if mix.weights:
        epochs = _weighted(pool, groups, mix)
    else:
        epochs = {}
        for group in groups:
            key = key_of(group, mix.epochs)
            epochs[group] = 1.0 if key is None else float(mix.epochs[key])
    total = sum(epochs[group] * pool[group] for group in groups)
    if mix.tokens and total > mix.tokens:
        epochs = {group: value * mix.tokens / total for group, value in epochs.items()}
    for key, cap in mix.caps.items():
        capped = [group for group in groups if key_of(group, mix.caps) == key]
        tokens = sum(epochs[group] * pool[group] for group in capped)
        for group in capped if tokens > cap else ():
            epochs[group] *= cap / tokens
    return epochs


def _weighted(pool: Mapping[str, int], groups: list[str], mix: Mix) -> dict[str, float]:
    keys = {group: key_of(group, mix.weights) for group in groups}
    if without := [group for group, key in keys.items() if key is None]:
        raise ConfigError(f"mix.weights: none for {', '.join(without)}; give one (0 leaves them out)")
    tokens: dict[str, int] = {}
    for group, key in keys.items():
        tokens[str(key)] = tokens.get(str(key), 0) + pool[group]
    weights = {key: float(mix.weights[key]) for key in tokens if mix.weights[key] > 0}
    if not weights:
        return dict.fromkeys(groups, 0.0)
    total = min(mix.max_epochs * tokens[key] / weight for key, weight in weights.items())
    return {group: weights.get(str(key), 0.0) * total / tokens[str(key)] for group, key in keys.items()}


def repeats(keys: NDArray[np.uint64], epochs: NDArray[np.float64]) -> NDArray[np.int64]:
    """How often each document is written: the whole part of its ``epochs``, and once more for as large a share as is left.

    Which documents those are is decided by ``keys`` (``ids.shard_key``), and not by what decides on their shard.
    """
    whole = np.floor(epochs)
    chance = (_mixed(keys) >> np.uint64(11)).astype(np.float64) / float(1 << 53)
    return (whole + (chance < epochs - whole)).astype(np.int64)


def repeat_keys(keys: NDArray[np.uint64], repeat: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Where in its shard the ``repeat``-th copy of a document stands: at its key, and elsewhere for later copies."""
    return np.where(repeat == 0, keys, _mixed(keys + repeat.astype(np.uint64) * _GOLDEN))


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014)."""
    mixed = values + _GOLDEN
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
