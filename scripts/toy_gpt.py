"""Train a small GPT on a release and, for as many tokens, on the raw text it was made of; compare the loss on held-out good text.

    scripts/toy_gpt.py RELEASE CONFIG [--steps 300] [--plot FILE.png]

Needs ``pip install lexmill[torch]``. The last shard is held out: a document stands in one shard only, so none of its documents is
in the others, and they are left out of the raw text too (their copies are not: raw text is what it is). Both models begin from
the same weights and see batches of the same size; the vocabulary is the tokens that are most frequent in both.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional

from lexmill.config import load
from lexmill.core.tokens.ids import low63
from lexmill.jobs.resources import load_tokenizer
from lexmill.torch import Loader

VOCABULARY = 8192
WINDOW = 128
WIDTH = 128
BATCH = 16


class Gpt(nn.Module):  # type: ignore[misc]  # torch is not among what is checked
    """Two pre-norm transformer layers over learned positions; logits are those of the tied embedding."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.positions = nn.Embedding(WINDOW, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, 4, 4 * WIDTH, dropout=0.0, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        nn.init.normal_(self.tokens.weight, std=0.02)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(ids.shape[1])
        hidden = self.tokens(ids) + self.positions(torch.arange(ids.shape[1]))
        return self.layers(hidden, mask=mask, is_causal=True) @ self.tokens.weight.T


def release_tokens(release: Path, seq_len: int, ranks: range, world: int) -> NDArray[np.int64]:
    """The tokens of some ranks' shards, padding left out."""
    loaders = (Loader(release, seq_len=seq_len, batch_size=8, rank=rank, world_size=world) for rank in ranks)
    return np.concatenate([batch["input_ids"][batch["document_ids"] >= 0].numpy() for loader in loaders for batch in loader])


def raw_tokens(config: Path, held_out: set[int], seed: int) -> NDArray[np.int64]:
    """The tokens of what ingest read, documents shuffled, without those held out."""
    loaded = load(config)
    tokenizer = load_tokenizer(loaded)
    texts = [
        text
        for part in sorted((loaded.workspace_dir / "runs" / loaded.run / "ingest").glob("part-*.parquet"))
        for doc_id, text in _rows(part)
        if low63(doc_id) not in held_out
    ]
    np.random.default_rng(seed).shuffle(texts)
    found = []
    for at in range(0, len(texts), 256):
        batch = tokenizer.encode_batch(texts[at : at + 256])
        for number in range(len(texts[at : at + 256])):
            found += [batch.document(number), np.array([tokenizer.eos_id])]
    return np.concatenate(found).astype(np.int64)


def _rows(part: Path) -> Iterator[tuple[str, str]]:
    table = pq.read_table(part, columns=["doc_id", "text"])
    yield from zip(table["doc_id"].to_pylist(), table["text"].to_pylist(), strict=True)


def loss_of(model: Gpt, ids: torch.Tensor) -> torch.Tensor:
    logits = model(ids[:, :-1])
    return functional.cross_entropy(logits.reshape(-1, VOCABULARY), ids[:, 1:].reshape(-1))


def train(tokens: NDArray[np.int64], held_out: torch.Tensor, steps: int, every: int) -> list[tuple[int, float]]:
    """(tokens seen, loss on the held-out text) along the way."""
    torch.manual_seed(0)
    model = Gpt()
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3)
    rng = np.random.default_rng(0)
    curve = []
    for step in range(steps + 1):
        if step % every == 0:
            with torch.no_grad():
                curve.append(
                    (step * BATCH * WINDOW, float(np.mean([loss_of(model, part).item() for part in held_out.split(32)])))
                )
        starts = rng.integers(0, tokens.size - WINDOW - 1, BATCH)
        batch = torch.from_numpy(np.stack([tokens[start : start + WINDOW + 1] for start in starts]))
        optimiser.zero_grad()
        loss_of(model, batch).backward()
        optimiser.step()
    return curve


def main() -> None:
    """Print both curves as JSON; exit 1 where the release is not better at the end."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("release", type=Path)
    parser.add_argument("config", type=Path)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    manifest = json.loads((options.release / "manifest.json").read_bytes())
    seq_len = min(entry["seq_len"] for entry in manifest["shards"] if entry["seq_len"])
    shards = sorted(entry["path"] for entry in manifest["shards"] if entry["seq_len"] == seq_len)
    good = release_tokens(options.release, seq_len, range(len(shards) - 1), len(shards))
    kept = release_tokens(options.release, seq_len, range(len(shards) - 1, len(shards)), len(shards))
    last = pq.read_table(options.release / shards[-1], columns=["doc_ids"])
    raw = raw_tokens(options.config, {doc for row in last["doc_ids"].to_pylist() for doc in row}, 0)
    common = np.bincount(good, minlength=1 << 18) + np.bincount(raw, minlength=1 << 18)
    number = np.zeros(1 << 18, np.int64)
    number[np.argsort(-common, kind="stable")[: VOCABULARY - 1]] = np.arange(1, VOCABULARY)
    windows = number[kept][: kept.size // (WINDOW + 1) * (WINDOW + 1)].reshape(-1, WINDOW + 1)[:512]
    held_out = torch.from_numpy(windows)
    every = max(1, options.steps // 10)
    curves = {name: train(number[tokens], held_out, options.steps, every) for name, tokens in (("release", good), ("raw", raw))}
    result = {"tokens": {"release": good.size, "raw": raw.size, "held_out": windows.size}, "curves": curves}
    print(json.dumps(result, indent=1))
    if options.plot:
        from matplotlib import pyplot

        for name, curve in curves.items():
            pyplot.plot(*zip(*curve, strict=True), label=name)
        pyplot.xlabel("tokens seen")
        pyplot.ylabel("loss on held-out text (nats a token)")
        pyplot.legend()
        pyplot.savefig(options.plot)
    raise SystemExit(curves["release"][-1][1] >= curves["raw"][-1][1])


if __name__ == "__main__":
    main()
