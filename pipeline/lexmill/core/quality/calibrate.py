"""Bounds proposed from a corpus: the quantiles of every metric that a rule judges, type by type."""

import json
import math
from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lexmill.core.quality.metrics import measure
from lexmill.core.quality.rules import FALSE_DROP_LIMIT, Bound, QualityRules

# Below this many documents of a type the 1-in-1,000 tail is one document or none.
MIN_DOCUMENTS: Final = 300

_QUANTILES = (0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999)

# Texts far out on either side of each metric, to prove a bound where a rule's own examples lie on one side of it.
_SOUND = (
    "双方于某日订立合同，约定甲方交付货物，乙方支付价款；一方违约的，应当赔偿对方因此受到的损失。争议由合同履行地人民法院管辖。"
)
_EXTREME: Final = (
    "",
    "无",
    _SOUND,
    _SOUND * 2000,
    "依法处理，" * 400,
    "首页\n关于我们\n联系我们\n网站地图\n" * 30,
    "的" * 2000,
    "_" * 400,
    "12345 67890\n" * 40,
    "function open(name) { return document.forms[name] }",
    "https://www.example.cn/a/1.html\n" * 20,
    "\ufffd" * 50,
    "\ue000" * 50,
    "é\u0091\u008a" * 50,
    "籱鸙龘齉爩麤讟躎顲钃齾龗",
    "當事人應負擔訴訟費用",
    "双方于某日订立合同，约定甲方",
    "依法\n" * 400,
)


class Proposal(NamedTuple):
    """One bound for one type: what stands now, what is proposed (None: ``problem`` says why), and from how many documents."""

    doc_type: str
    replaces: Bound
    rule: Bound | None
    n: int
    hits: int
    quantiles: tuple[float, ...]
    problem: str

    @property
    def is_wider(self) -> bool:
        """Whether the proposed bound keeps all that today's keeps."""
        now, new = self.replaces, self.rule
        return new is not None and (
            (now.min is None or new.min is None or new.min <= now.min)
            and (now.max is None or new.max is None or new.max >= now.max)
        )


def propose(documents: pa.Table, rules: QualityRules, tail: float) -> list[Proposal]:
    """For every bound of ``rules`` and every type it is for, the bound that at most ``tail`` of the type's documents lie beyond.

    A bound that is wider than today's takes its place with its action, and the share it hits as its false-drop rate (every
    document counted as good, so it is an upper limit). A narrower one tags, since what it would remove has been read by nobody:
    beside a rule that removes, which stays, it is a rule of its own, as is every bound for one type of a rule for several.
    """
    metrics = measure(documents["text"])
    doc_types = np.array(documents["doc_type"].to_pylist(), dtype=object)
    proposals = []
    for doc_type in sorted(set(doc_types)):
        of_type = doc_types == doc_type
        for rule in rules.bound:
            if doc_type in rule.doc_types:
                values = metrics[rule.metric].to_numpy().astype(np.float64)[of_type]
                proposals.append(_proposal(doc_type, rule, values, tail))
    return proposals


def _proposal(doc_type: str, rule: Bound, values: NDArray[np.float64], tail: float) -> Proposal:
    quantiles = tuple(float(value) for value in np.quantile(values, _QUANTILES))
    found = Proposal(doc_type, rule, None, len(values), 0, quantiles, "")
    if len(values) < MIN_DOCUMENTS:
        return found._replace(problem=f"fewer than {MIN_DOCUMENTS} documents")
    low = None if rule.min is None else _outward(float(np.quantile(values, tail, method="lower")), -1)
    high = None if rule.max is None else _outward(float(np.quantile(values, 1 - tail, method="higher")), 1)
    wider = (rule.min is None or low is None or low <= rule.min) and (rule.max is None or high is None or high >= rule.max)
    draft = rule.model_copy(update={"min": low, "max": high})
    if np.array_equal(draft.hits(values), rule.hits(values)):
        return found._replace(problem="would hit the same documents")
    hits = int(np.sum(draft.hits(values)))
    keep, drop = _examples(draft, rule)
    if not keep or not drop:
        return found._replace(problem="no text is beyond it" if keep else "no sound text is within it", hits=hits)
    one_type = rule.doc_types == (doc_type,)
    removes = rule.action != "tag" and wider and one_type and hits / len(values) <= FALSE_DROP_LIMIT
    replaces = one_type and (wider or rule.action == "tag")
    name = rule.id if replaces else f"quality.{doc_type}.{rule.id.rpartition('.')[2]}_calibrated"
    return found._replace(
        hits=hits,
        rule=draft.model_copy(
            update={
                "id": name,
                "doc_types": (doc_type,),
                "action": rule.action if removes else "tag",
                # Rounded up: an upper limit stays one.
                "false_drop_rate": math.ceil(hits / len(values) * 1e4) / 1e4 if removes else None,
                "keep": keep,
                "drop": drop,
            }
        ),
    )


def _outward(value: float, direction: int) -> float:
    """``value`` with three significant digits, rounded away from the bulk."""
    if value == 0:
        return 0.0
    step = 10.0 ** (math.floor(math.log10(abs(value))) - 2)
    rounded = math.floor(value / step) if direction < 0 else math.ceil(value / step)
    return float(f"{rounded * step:.6g}")


def _examples(draft: Bound, rule: Bound) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Up to two texts within and beyond: the rule's own first, then extremes; never a text of the corpus."""
    texts = tuple(dict.fromkeys((*rule.keep, *rule.drop, *_EXTREME)))
    hits = draft.hits(measure(pa.array(texts))[rule.metric].to_numpy().astype(np.float64))
    keep = tuple(text for text, hit in zip(texts, hits, strict=True) if not hit)
    drop = tuple(text for text, hit in zip(texts, hits, strict=True) if hit)
    return tuple(sorted(keep, key=len)[:2]), tuple(sorted(drop, key=len)[:2])


def left_alone(proposals: Sequence[Proposal]) -> list[str]:
    """Where nothing is proposed and why: a line for each type and reason, with the names of the bounds unless it is all."""
    reasons: dict[tuple[str, int, str], list[str]] = {}
    n_bounds: Counter[str] = Counter()
    for proposal in proposals:
        n_bounds[proposal.doc_type] += 1
        if proposal.rule is None:
            reasons.setdefault((proposal.doc_type, proposal.n, proposal.problem), []).append(proposal.replaces.id)
    return [
        f"{doc_type} ({n:,} documents): {'no bound' if len(ids) == n_bounds[doc_type] else ', '.join(ids)}: {problem}"
        for (doc_type, n, problem), ids in reasons.items()
    ]


def overlay(proposals: Sequence[Proposal], run: str, seed: int, tail: float) -> str:
    """The proposals as a rule file, with what they rest on in every rule, and why other bounds are left alone."""
    lines = [
        f"# Bounds proposed by `lexmill calibrate` from run {run}, seed {seed}: {tail:g} of a type lie beyond each.",
        "# A narrower bound than today's tags: read what it hits (`lexmill rules try`) before a `tag` becomes a `drop`.",
        "# A wider one keeps more, and bad documents with them: take it only where good ones lie between the two.",
        *(f"# Left alone: {line}" for line in left_alone(proposals)),
        "",
    ]
    for proposal in proposals:
        rule = proposal.rule
        if rule is None:
            continue
        quantiles = ", ".join(f"p{100 * q:g} {value:.4g}" for q, value in zip(_QUANTILES, proposal.quantiles, strict=True))
        before = " ".join(
            f"{side} {value:g}"
            for side, value in (("min", proposal.replaces.min), ("max", proposal.replaces.max))
            if value is not None
        )
        evidence = (
            f"{proposal.hits} of {proposal.n:,} documents lie beyond; {quantiles}; "
            f"{'wider' if proposal.is_wider else 'narrower'} than {before}"
        )
        lines += [
            "[[bound]]",
            f"id = {_toml(rule.id)}",
            f"why = {_toml(rule.why)}",
            f"doc_types = [{_toml(proposal.doc_type)}]",
            f"metric = {_toml(rule.metric)}",
            *(f"{side} = {value:g}" for side, value in (("min", rule.min), ("max", rule.max)) if value is not None),
            f"action = {_toml(rule.action)}",
            *([f"false_drop_rate = {rule.false_drop_rate:g}"] if rule.false_drop_rate is not None else []),
            f"evidence = {_toml(evidence)}",
            f"keep = [{', '.join(map(_toml, rule.keep))}]",
            f"drop = [{', '.join(map(_toml, rule.drop))}]",
            "",
        ]
    return "\n".join(lines)


def _toml(text: str) -> str:
    # A TOML basic string is a JSON string, except that it may not hold DEL.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
