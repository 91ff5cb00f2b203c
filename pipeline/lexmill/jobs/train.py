"""Train a quality classifier on the de-identified documents of a run: model, calibration, curves, card, and its rules."""

import json
import random
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import fasttext
import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray

from lexmill import rules
from lexmill.config import Config
from lexmill.core.quality import classifier, plot
from lexmill.core.quality.evaluate import curves, fit_logistic, threshold_for
from lexmill.core.quality.rules import FALSE_DROP_LIMIT, QualityRules
from lexmill.core.quality.training import Example, examples, passing
from lexmill.errors import ConfigError, InputError
from lexmill.jobs import sample
from lexmill.store import files
from lexmill.store.workspace import Workspace

SETTINGS: Final = {"dim": 4, "bucket": 400_000, "wordNgrams": 2, "minCount": 5, "epoch": 6, "lr": 0.3, "thread": 1, "verbose": 0}

_LEAST = 100
_VERDICTS = {"good": True, "bad": False, "合格": True, "不合格": False}


def train(config: Config, out: Path, size: int) -> dict[str, Any]:
    """Train on at most ``size`` documents of every source and type and write ``out``; returns what the card says.

    ``out`` gets ``model/`` (what ``filter.model`` names), ``rules/`` (an overlay with its thresholds and measured
    false-drop rates), ``curves.json``, its drawings ``precision-recall.svg`` and ``roc.svg``, and ``card.md``; the same bytes
    for the same run, settings and seed. Raises ConfigError where the run file names no positives, or ``out`` is there;
    InputError where there is too little to learn from.
    """
    settings = config.quality
    names = {source.name for source in config.source}
    faults = [f"quality.positives: no source is called {name}" for name in settings.positives if name not in names]
    if not settings.positives:
        faults.append("quality.positives: name the sources whose text is good")
    if out.exists():
        faults.append(f"--out {out}: is there already; name another folder")
    if faults:
        raise ConfigError("\n".join(f"{config.path}: {fault}" for fault in faults))
    drawn = sample.draw(Workspace(config.workspace_dir, config.run), size, settings.seed)
    book = rules.load(config.rule_folders).quality
    found = examples(drawn.documents, settings.positives, _verdicts(config), book, settings.seed)
    tests = np.array([one.held_out for one in found], np.bool_)
    if tests.sum() < _LEAST or not {one.is_good for one in found} == {True, False}:
        raise InputError(
            f"{tests.sum()} held-out examples of the sources {', '.join(settings.positives)}: too few to measure anything"
        )
    seen = _unseen_features(found, settings.seed)
    is_good = np.array([one.is_good for one in found], np.bool_)
    weights = fit_logistic(seen[~tests], is_good[~tests])
    scores = (1 / (1 + np.exp(-(seen @ weights)))).astype(np.float32)
    report = _report(found, tests, scores, is_good, book, settings.precision)
    head = {
        "weights": [round(float(weight), 6) for weight in weights],
        "thresholds": {doc_type: kept["threshold"] for doc_type, kept in report["thresholds"].items()},
    }
    model, pairs = _fit(found, settings.seed)
    data = [model, pairs.tobytes(), orjson.dumps(head, option=orjson.OPT_INDENT_2)]
    report = {"digest": classifier.digest_of(data), "positives": list(settings.positives), "seed": settings.seed, **report}
    for name, content in zip((classifier.MODEL, classifier.PAIRS, classifier.HEAD), data, strict=True):
        files.write_bytes(out / "model" / name, content, 0o644)
    files.write_bytes(out / "curves.json", orjson.dumps(report), 0o644)
    files.write_bytes(out / "precision-recall.svg", plot.precision_recall(report["curves"]), 0o644)
    files.write_bytes(out / "roc.svg", plot.roc(report["curves"]), 0o644)
    files.write_bytes(out / "rules" / "quality" / "score.toml", _overlay(report).encode(), 0o644)
    files.write_bytes(out / "card.md", _card(report).encode(), 0o644)
    return report


def _verdicts(config: Config) -> dict[str, bool]:
    """What reviewers said: the last word on each document; what says neither good nor bad is passed over."""
    said: dict[str, bool] = {}
    for name in config.quality.verdicts:
        path = Path(config.resolve(name))
        try:
            lines = path.read_text(encoding="utf-8-sig").splitlines()
        except OSError as error:
            raise InputError(
                f"{path}: cannot be read ({error.strerror}); give a file of JSON lines {{doc_id, verdict}}"
            ) from None
        for number, line in enumerate(lines, start=1):
            try:
                row = json.loads(line) if line.strip() else {}
                if row.get("verdict") in _VERDICTS:
                    said[str(row["doc_id"])] = _VERDICTS[row["verdict"]]
            except (ValueError, AttributeError, KeyError):
                raise InputError(f"{path}: line {number} is no JSON object with doc_id and verdict") from None
    return said


def _unseen_features(found: Sequence[Example], seed: int) -> NDArray[np.float64]:
    """What a model that was trained on the other half of the sources sees in each example: float64[n, 3]."""
    seen = np.zeros((len(found), 3))
    folds = np.array([one.fold for one in found])
    for fold in sorted(set(folds.tolist())):
        data, pairs = _fit([one for one in found if one.fold != fold], seed)
        rows = np.flatnonzero(folds == fold).tolist()
        seen[rows], _ = classifier.features(
            classifier.network_of(_loaded(data)), pairs, pa.array([found[row].text for row in rows], pa.string())
        )
    return seen


def _fit(found: Sequence[Example], seed: int) -> tuple[bytes, NDArray[np.uint8]]:
    """The fastText model file and the pairs of good text, from what is not held out."""
    chosen = [one for one in found if not one.held_out]
    pairs = np.zeros(1 << (classifier.PAIR_BITS - 3), np.uint8)
    classifier.learn_pairs(pa.array([one.text for one in chosen if one.is_good], pa.string()), pairs)
    lines, _ = classifier.spaced(pa.array([one.text for one in chosen], pa.string()), pairs)
    labelled = [
        f"{classifier.GOOD if one.is_good else classifier.BAD} {line}\n"
        for one, line in zip(chosen, lines.to_pylist(), strict=True)
        if line
    ]
    random.Random(seed).shuffle(labelled)
    with tempfile.TemporaryDirectory() as folder:
        # fastText reads and saves files only; their names do not go into the model.
        source, target = Path(folder) / "train.txt", Path(folder) / "model.bin"
        source.write_text("".join(labelled), encoding="utf-8")
        fasttext.train_supervised(input=str(source), label="__label__", seed=seed, **SETTINGS).save_model(str(target))
        return target.read_bytes(), pairs


def _loaded(data: bytes) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.bin"
        path.write_bytes(data)
        return fasttext.load_model(str(path))


def _report(
    found: Sequence[Example],
    tests: NDArray[np.bool_],
    scores: NDArray[np.float32],
    is_good: NDArray[np.bool_],
    book: QualityRules,
    precision: float,
) -> dict[str, Any]:
    """Curves and thresholds on held-out examples, each scored by a model that saw neither it nor its source."""
    rows = np.flatnonzero(tests)
    left = rows[passing([found[row] for row in rows.tolist()], book)]
    types = np.array([one.doc_type for one in found])
    kinds = np.array([one.kind for one in found])
    by_type = {"all": left, **{doc_type: left[types[left] == doc_type] for doc_type in sorted(set(types[left].tolist()))}}
    thresholds = {
        doc_type: threshold_for(scores[chosen], is_good[chosen], precision, FALSE_DROP_LIMIT / 2)
        for doc_type, chosen in by_type.items()
        if doc_type != "all"
    }
    limits = np.array([thresholds.get(doc_type, {"threshold": 0.0})["threshold"] for doc_type in types])
    n_kind, n_left, n_found = Counter(kinds[rows]), Counter(kinds[left]), Counter(kinds[left[scores[left] < limits[left]]])
    return {
        "examples": {"train": int((~tests).sum()), "held_out": len(rows), "pass_the_rules": len(left)},
        "precision": precision,
        "thresholds": thresholds,
        "kinds": {
            str(kind): {
                "held_out": n_kind[kind],
                "rules_remove": n_kind[kind] - n_left[kind],
                "classifier_finds_more": n_found[kind],
            }
            for kind in sorted(n_kind)
        },
        "curves": {doc_type: curves(scores[chosen], is_good[chosen]) for doc_type, chosen in by_type.items()},
    }


def _overlay(report: dict[str, Any]) -> str:
    lines = ["# Written by `lexmill quality train`: the thresholds of one model, and what they cost on held-out good text.", ""]
    for doc_type, kept in report["thresholds"].items():
        n_good = report["curves"][doc_type]["good"]
        lines += [
            "[[classifier]]",
            f'id = "quality.{doc_type}.score"',
            'why = "Reads unlike the trusted sources: ruined, thrown together, or no legal text."',
            f'doc_types = ["{doc_type}"]',
            f"min_score = {kept['threshold']!r}",
            f'model = "{report["digest"]}"',
            f'action = "{"drop" if kept["threshold"] else "tag"}"',
            f"false_drop_rate = {kept['false_drop_rate']:g}",
            f'evidence = "{n_good:,} good windows of held-out documents of sources that the scoring model had not seen"',
            "",
        ]
    return "\n".join(lines)


def _card(report: dict[str, Any]) -> str:
    settings = ", ".join(f"{name} {value}" for name, value in SETTINGS.items() if name != "verbose")
    rows = [
        f"| {doc_type} | {curve['good']:,} | {curve['bad']:,} | {curve['average_precision']:.3f} | {curve['roc_area']:.3f} "
        f"| {kept['threshold']:.4g} | {kept['precision']:.1%} | {kept['recall']:.1%} | {kept['false_drop_rate']:.2%} |"
        for doc_type, kept in report["thresholds"].items()
        for curve in [report["curves"][doc_type]]
    ]
    kinds = [
        f"| {kind} | {n['held_out']:,} | {n['rules_remove'] / max(1, n['held_out']):.1%} "
        f"| {(n['rules_remove'] + n['classifier_finds_more']) / max(1, n['held_out']):.1%} |"
        for kind, n in report["kinds"].items()
    ]
    return "\n".join(
        [
            "# Quality classifier",
            "",
            f"Digest `{report['digest']}`. Written by `lexmill quality train`: the same bytes from the same run and seed.",
            "",
            "A fastText model over characters (the first 2,000 visible ones, digits folded to 0) and a bitmap of the pairs of",
            "adjacent ideographs in good text; a logistic fit makes one score of both: the probability that a text is good.",
            "",
            f"- **Settings**: {settings}, seed {report['seed']}.",
            f"- **Good text**: windows of documents of {', '.join(report['positives'])}.",
            "- **Bad text**: the same windows ruined in one of twelve ways, what a removing rule hits, what reviewers refuse.",
            f"- **Examples**: {report['examples']['train']:,} to learn from, {report['examples']['held_out']:,} held out.",
            "  Fit, curves and thresholds rest on scores of models that had seen only the other half of the sources.",
            "",
            "## Held-out examples that pass the rules",
            "",
            f"Thresholds: precision of at least {report['precision']:.1%} among as many bad as good texts,",
            f"and at most {FALSE_DROP_LIMIT / 2:.1%} of the good ones below it.",
            "",
            "| type | good | bad | average precision | ROC area | threshold | precision | recall | good below |",
            "|---|---|---|---|---|---|---|---|---|",
            *rows,
            "",
            "## By kind: what leaves by the rules alone, and with the classifier",
            "",
            "| kind | held out | rules | with the classifier |",
            "|---|---|---|---|",
            *kinds,
            "",
            "## Limits",
            "",
            "- It cannot see a text that breaks off, one that is false, or one that is out of date.",
            "- Good text of a kind or script that it never saw scores lower: try it on your own (`lexmill rules try`) first.",
            "",
        ]
    )
