"""A dry run of the quality rules over a sample of a run, and bounds proposed from it; no stage is written."""

from pathlib import Path
from typing import Any

import pyarrow as pa

from lexmill import rules
from lexmill.config import Config
from lexmill.core.quality.calibrate import Proposal, overlay, propose
from lexmill.core.quality.trial import try_rules
from lexmill.errors import ConfigError, RuleError
from lexmill.jobs import sample
from lexmill.jobs.resources import classifier_for, classifier_key, load_tokenizer
from lexmill.store import files
from lexmill.store.workspace import Workspace

# Characters of each type from which tokens a byte are estimated: the reference tokeniser makes 3 MB a second.
_ENCODED = 100_000


def dry_run(config: Config, size: int, seed: int) -> dict[str, Any]:
    """What ``try_rules`` says of at most ``size`` documents of every source and type of the run."""
    _need_masks(config)
    drawn = sample.draw(_workspace(config), size, seed)
    book = rules.load(config.rule_folders)
    classifier = classifier_for(*classifier_key(config))
    rates = _tokens_a_byte(drawn.documents, config)
    found = try_rules(drawn.documents, drawn.weights, rates, book.quality, classifier, book.statutes, config.filter.force)
    return {**found, "totals": drawn.totals, "seed": seed, "tokenizer": config.tokenize.tokenizer}


def calibrate(config: Config, out: Path, size: int, seed: int, tail: float) -> list[Proposal]:
    """Propose bounds that ``tail`` of each type's documents lie beyond, and write the overlay ``out``/quality/calibrated.toml.

    Nothing is written where no bound is proposed: the proposals say why.
    Raises ConfigError where ``out`` holds that file already, RuleError where what was written does not prove itself (a bug).
    """
    target = out / "quality" / "calibrated.toml"
    if target.exists():
        raise ConfigError(f"{target}: is there already; read it, then move it away or name another folder")
    drawn = sample.draw(_workspace(config), size, seed)
    book = rules.load(config.rule_folders).quality
    proposals = propose(drawn.documents, book, tail)
    if not any(proposal.rule for proposal in proposals):
        return proposals
    files.make_folder(target.parent, 0o755)
    files.write_bytes(target, overlay(proposals, config.run, seed, tail).encode(), 0o644)
    try:
        rules.load((*config.rule_folders, out))
    except RuleError:
        files.remove(target)
        raise
    return proposals


def _workspace(config: Config) -> Workspace:
    return Workspace(config.workspace_dir, config.run)


def _need_masks(config: Config) -> None:
    if not config.deidentify.enabled:
        raise ConfigError(
            f"{config.path}: deidentify.enabled is false, and examples are shown masked only; try the rules on a run that masks"
        )


def _tokens_a_byte(documents: pa.Table, config: Config) -> dict[str, float]:
    tokenizer = load_tokenizer(config)
    rates = {}
    doc_types, texts = documents["doc_type"].to_pylist(), documents["text"].to_pylist()
    for doc_type in sorted(set(doc_types)):
        chosen, n_chars = [], 0
        for text in (text for kind, text in zip(doc_types, texts, strict=True) if kind == doc_type):
            if n_chars >= _ENCODED:
                break
            chosen.append(text[: _ENCODED - n_chars])
            n_chars += len(chosen[-1])
        rates[doc_type] = len(tokenizer.encode_batch(chosen).ids) / max(1, sum(len(text.encode()) for text in chosen))
    return rates
