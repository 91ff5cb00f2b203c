"""The report of a release, ``report.html``: what was made of what, why the rest left, and what to look at first.

Every number comes from a file of the release and names it. All is a function of the manifest and the day of publication, but for
what the command took (``run.json``), which stands in a section of its own.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jinja2
from markupsafe import Markup

from lexmill.core.deid.people import ERROR
from lexmill.core.evidence import tables
from lexmill.core.evidence.tables import named, total
from lexmill.core.page import page_templates
from lexmill.core.quality.distribution import BINS, lower_edge
from lexmill.core.release import charts
from lexmill.core.release.changes import changes
from lexmill.schema import STAGES

REPORT, RUN = "report.html", "run.json"
UNITS = ("docs", "chars", "bytes")
_ACTIONS = ("drop", "quarantine", "edit")
# Bytes of UTF-8 a token stands for in legal Chinese with the default vocabulary, where a release has no token to measure it by.
_BYTES_A_TOKEN = 4.4

# What is warned about. None of these stops a release; they are what an engineer would want to look into.
_LEFT_AT_ONE_STAGE = 0.5  # share of the documents of a source and type
_BY_ONE_RULE = 0.1  # share of what came into the stage
_UNREADABLE = 0.01  # share of what came in
_PADDING = 0.1
_CUT = 0.2
_UNKNOWN = 0.001
_FLAGGED = 0.05  # TC260-003 and GB/T 45654-2025, second-hand
_FOREIGN = 0.3  # the form of a filing, second-hand
_LOST_TOKENS = 0.2  # against the release before

_MANY = 10  # documents of a source and type, all of which left

_BARS = 15  # at most, in a chart; the table beside it has all


class Warned(NamedTuple):
    """Something to look at: whether it comes first, what it is, and the file that says so."""

    is_grave: bool
    text: str
    file: str


def facts(
    body: Mapping[str, Any], date: str, parent: Mapping[str, Any] | None, verdicts: Mapping[str, int], ran: Mapping[str, Any]
) -> dict[str, Any]:
    """What the template fills in.

    ``body`` and ``parent`` are manifests' bodies, ``verdicts`` counts clauses by verdict, ``ran`` is what ``run.json`` holds.
    """
    counted = {stage: total(body, stage) for stage in STAGES}
    ratios = _bytes_a_token(body)
    rules = _rules(counted)
    changed = None if parent is None else changes(parent, body)
    found = {
        "body": body,
        "date": date,
        "steps": _steps(counted, ratios),
        "groups": _groups(counted, ratios, body),
        "rules": rules,
        "clusters": _sizes(counted["dedup"][1], "clusters:"),
        "families": _sizes(counted["dedup"][1], "families:"),
        "deid": tables.deidentification(body),
        "people": tables.people(body),
        "error": ERROR,
        "lengths": _lengths(counted["filter"][1]),
        "scores": _scores(counted["filter"][1]),
        "benchmarks": _benchmarks(body),
        "sources": tables.sources(body),
        "sampling": tables.sampling(body),
        "removed": tables.takedowns(body, {})["removed"],
        "n_tokens": sum(body["tokens"].values()),
        "changed": changed,
        "tokens_before": None if parent is None else sum(parent["tokens"].values()),
        "documents_before": None if parent is None else parent["documents"],
        "verdicts": verdicts,
        "took": _took(body, counted["ingest"][0], ran),
    }
    found["warnings"] = sorted(_warnings(found, counted), key=lambda one: not one.is_grave)
    found["charts"] = _charts(found)
    return found


def render(templates: Mapping[str, str], found: Mapping[str, Any]) -> str:
    """The page from its templates (by name: ``report.html.j2`` and what it includes); every value is escaped."""
    environment = page_templates(jinja2.DictLoader(dict(templates)))
    environment.filters |= {"pct": _percent, "mb": lambda size: f"{size / 1e6:,.2f}"}
    return environment.get_template("report.html.j2").render(found) + "\n"


def _percent(share: float | None) -> str:
    if share is None:
        return "–"
    if 0 < share < 0.0001:
        return "< 0.01%"
    return f"{share:.2%}" if share < 0.1 else f"{share:.1%}"


def _sum(groups: Mapping[str, Mapping[str, int]], unit: str) -> int:
    return sum(units.get(unit, 0) for units in groups.values())


def _bytes_a_token(body: Mapping[str, Any]) -> dict[str, float]:
    """By ``source/type``, and under "" over all: bytes of text for each token of what was written."""
    sums: dict[str, list[int]] = {"": [0, 0]}
    for one in body["sets"]:
        for group, row in one["mix"]["groups"].items():
            for key in (group, ""):
                sums.setdefault(key, [0, 0])
                sums[key][0] += row["bytes"]
                sums[key][1] += row["tokens"]
    ratios = {group: size / tokens for group, (size, tokens) in sums.items() if size and tokens}
    return {"": _BYTES_A_TOKEN, **ratios}


def _tokens(groups: Mapping[str, Mapping[str, int]], ratios: Mapping[str, float]) -> int:
    return round(sum(units.get("bytes", 0) / ratios.get(group, ratios[""]) for group, units in groups.items()))


def _steps(counted: Mapping[str, tuple[Any, Any]], ratios: Mapping[str, float]) -> list[dict[str, Any]]:
    """The waterfall: what every stage was given and gave; tokens are estimates."""
    rows = []
    for stage, (counts, _) in counted.items():
        row: dict[str, Any] = {"stage": stage}
        for kind in ("in", "out", *_ACTIONS):
            row[kind] = {unit: _sum(counts.get(kind, {}), unit) for unit in UNITS}
        row["tokens_in"], row["tokens_out"] = (_tokens(counts.get(kind, {}), ratios) for kind in ("in", "out"))
        rows.append(row)
    return rows


def _groups(counted: Mapping[str, tuple[Any, Any]], ratios: Mapping[str, float], body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """By ``source/type``: documents, characters, bytes and tokens after every stage, and what share of it is left."""
    names = sorted({group for counts, _ in counted.values() for groups in counts.values() for group in groups})
    rows = []
    for group in names:
        given = counted["ingest"][0].get("in", {}).get(group, {})
        after = [counted[stage][0].get("out", {}).get(group, {}) for stage in STAGES]
        row: dict[str, Any] = {"group": group}
        for unit in UNITS:
            row[unit] = [given.get(unit, 0), *(units.get(unit, 0) for units in after)]
        row["tokens"] = [*(_tokens({group: units}, ratios) for units in (given, *after)), body["tokens"].get(group, 0)]
        row["left"] = {unit: row[unit][-1] / row[unit][0] if row[unit][0] else None for unit in UNITS}
        row["left"]["tokens"] = row["tokens"][-1] / row["tokens"][0] if row["tokens"][0] else None
        rows.append(row)
    return rows


def _rules(counted: Mapping[str, tuple[Any, Any]]) -> list[dict[str, Any]]:
    """Every rule that took a document out or edited one: rows of the ledger, and the share of what came into the stage."""
    rows = []
    for stage, (counts, tallies) in counted.items():
        came = _sum(counts.get("in", {}), "docs")
        for name, number in tallies.items():
            action, _, rule = name.partition(":")
            if rule and action in _ACTIONS:
                share = number / came if came and action != "edit" else None
                rows.append({"stage": stage, "action": action, "rule": rule, "rows": number, "share": share})
    order = {action: at for at, action in enumerate(_ACTIONS)}
    return sorted(rows, key=lambda row: (order[str(row["action"])], -int(row["rows"]), str(row["rule"])))


def _sizes(tallies: Mapping[str, int], prefix: str) -> list[tuple[str, int]]:
    """(sizes, number of groups) from the smallest on."""
    rows = []
    for at, number in ((int(name), number) for name, number in named(tallies, prefix).items()):
        low, high = (1 << (at - 1)) + 1, 1 << at
        rows.append((f"{low:,}" if low == high else f"{low:,}–{high:,}", number))
    return rows


def _binned(tallies: Mapping[str, int], prefix: str) -> dict[str, dict[int, int]]:
    """Document type → bin → documents."""
    found: dict[str, dict[int, int]] = {}
    for name, number in named(tallies, prefix).items():
        doc_type, _, at = name.partition(":")
        found.setdefault(doc_type, {})[int(at)] = number
    return found


def _lengths(tallies: Mapping[str, int]) -> list[dict[str, Any]]:
    """By type: documents, and in which bin the tenth, the half and nine tenths of them are reached (characters, at least)."""
    rows = []
    for doc_type, bins in _binned(tallies, "length.").items():
        number = sum(bins.values())
        quantiles = []
        for share in (0.1, 0.5, 0.9):
            below = 0
            for at in sorted(bins):
                below += bins[at]
                if below >= share * number:
                    quantiles.append(lower_edge(at))
                    break
        rows.append({"doc_type": doc_type, "documents": number, "bins": bins, "quantiles": quantiles})
    return rows


def _scores(tallies: Mapping[str, int]) -> list[dict[str, Any]]:
    """By type: documents with a score, by the bin of the score."""
    return [
        {
            "doc_type": doc_type,
            "documents": sum(bins.values()),
            "bins": bins,
            "low": sum(n for at, n in bins.items() if at < BINS / 2),
        }
        for doc_type, bins in _binned(tallies, "quality.").items()
    ]


def _benchmarks(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Every benchmark that a set is clean of, and in how many sets; documents that held an item, over all sets."""
    found: dict[str, dict[str, Any]] = {}
    for one in body["sets"]:
        for benchmark in one["benchmarks"]:
            row = found.setdefault(benchmark["sha256"], {**benchmark, "documents": 0, "sets": 0})
            row["documents"] += benchmark["documents"]
            row["sets"] += 1
    return list(found.values())


def _took(body: Mapping[str, Any], ingested: Mapping[str, Any], ran: Mapping[str, Any]) -> dict[str, Any]:
    """What the publishing command took by stage, and what that costs where there is a price list."""
    stages: dict[str, dict[str, float]] = {}
    for step, timing in ran["stages"].items():
        row = stages.setdefault(step.partition(".")[0], dict.fromkeys(("tasks", "reused", "wall", "cpu", "peak"), 0))
        for name, key in (("tasks", "tasks"), ("reused", "reused"), ("wall", "wall_seconds"), ("cpu", "cpu_seconds")):
            row[name] += timing[key]
        row["peak"] = max(row["peak"], timing["peak_rss"])
    prices, workers = ran["prices"], ran["workers"]
    for row in stages.values():
        row["money"] = 0.0
        if prices:
            rate = workers * prices["compute"]["vcpu_hour"] + workers * row["peak"] / (1 << 30) * prices["compute"]["gib_hour"]
            row["money"] = row["wall"] / 3600 * rate * prices["compute"]["spot_price_ratio"]
    sums = {name: sum(row[name] for row in stages.values()) for name in ("tasks", "reused", "wall", "cpu", "money")}
    sums["peak"] = max((row["peak"] for row in stages.values()), default=0)
    verdicts = sum((one["review"] or {}).get("verdicts") or 0 for one in body["sets"])
    tokens, given = sum(body["tokens"].values()), _sum(ingested.get("in", {}), "bytes")
    hours = verdicts * prices["human"]["minutes_per_document"] / 60 if prices else None
    whole = bool(prices) and not sums["reused"]
    return {
        "workers": workers,
        "prices": prices,
        "stages": stages,
        "sums": sums,
        "verdicts": verdicts,
        "hours": hours,
        "hours_money": hours * prices["human"]["hour"] if prices and hours is not None else None,
        "a_gb": sums["money"] / (given / 1e9) if whole and given else None,
        "a_billion_tokens": sums["money"] / (tokens / 1e9) if whole and tokens else None,
    }


def _warnings(found: Mapping[str, Any], counted: Mapping[str, tuple[Any, Any]]) -> Iterator[Warned]:
    body, manifest = found["body"], "manifest.json"
    if not found["deid"]["enabled"]:
        yield Warned(True, "文本（至少一批）未经去标识化。", "evidence/deidentification.json")
    failed = found["verdicts"].get("不符合", 0)
    if failed:
        yield Warned(True, f"标准对照表中有 {failed} 条结论为“不符合”。", "evidence/clauses.json")
    manual = found["sampling"]["manual"]
    if manual["sets_reviewed"] < manual["sets"]:
        unread = manual["sets"] - manual["sets_reviewed"]
        yield Warned(True, f"{manual['sets']} 批中有 {unread} 批没有人工抽检：残留率没有上限。", "evidence/sampling.json")
    for row in found["groups"]:
        if row["docs"][0] and not row["docs"][-1]:
            is_grave = row["docs"][0] >= _MANY
            yield Warned(is_grave, f"{row['group']}：读入 {row['docs'][0]:,} 份，一份也没有留下。", manifest)
    for row in found["sources"]:
        if row["flagged_share"] is not None and row["flagged_share"] > _FLAGGED:
            said = f"来源 {row['source']}：{_percent(row['flagged_share'])} 的文档被违法不良信息筛查命中，超过 {_FLAGGED:.0%}。"
            yield Warned(True, said, "evidence/sources.json")
    tokens = found["n_tokens"]
    foreign = sum(row["tokens"] for row in found["sources"] if row["foreign"] and row["origin"] == "open")
    if tokens and foreign / tokens > _FOREIGN:
        yield Warned(True, f"境外开源语料占词元的 {_percent(foreign / tokens)}，超过 {_FOREIGN:.0%}。", "evidence/sources.json")
    before = found["tokens_before"]
    if before and tokens < (1 - _LOST_TOKENS) * before:
        yield Warned(True, f"词元比上一版本少 {_percent(1 - tokens / before)}。", manifest)
    yield from _left(found, counted)
    if any(not one["benchmarks"] for one in body["sets"]):
        yield Warned(False, "至少一批没有对照任何评测集去污染（[decontaminate] benchmarks 为空）。", manifest)
    if any(not one.get("screens") for one in body["sets"]):
        yield Warned(False, "至少一批没有违法不良信息筛查（[screen] 为空）。", "evidence/sampling.json")
    unstated = sum(not row["rights"] for row in found["sources"])
    if unstated:
        yield Warned(False, f"{unstated} 个来源的来源卡没有写权利声明（rights）。", "evidence/sources.json")
    if body["tokenizer"]["unknown_share"] > _UNKNOWN:
        yield Warned(False, f"{_percent(body['tokenizer']['unknown_share'])} 的词元是词表不认识的文字。", manifest)
    for window in body["windows"]:
        length = f"窗口 {window['seq_len']}" if window["seq_len"] else "不装箱的分片"
        if window["padding_share"] > _PADDING:
            yield Warned(False, f"{length}：填充占 {_percent(window['padding_share'])}。", manifest)
        if window["cut_share"] > _CUT:
            yield Warned(False, f"{length}：{_percent(window['cut_share'])} 的文档被切开。", manifest)
        if window["sequences"] < window["shards"]:
            yield Warned(
                False, f"{length}：序列（{window['sequences']:,}）少于分片（{window['shards']:,}），分片不能等长。", manifest
            )


def _left(found: Mapping[str, Any], counted: Mapping[str, tuple[Any, Any]]) -> Iterator[Warned]:
    """Stages and rules that took out unusually much."""
    ledger = "manifest.json"
    for stage, (counts, _) in counted.items():
        for group, units in counts.get("in", {}).items():
            gone = sum(counts.get(kind, {}).get(group, {}).get("docs", 0) for kind in ("drop", "quarantine"))
            kept = counts.get("out", {}).get(group, {}).get("docs", 0)
            if kept and units["docs"] and gone / units["docs"] > _LEFT_AT_ONE_STAGE:
                yield Warned(False, f"{stage}：{group} 的 {_percent(gone / units['docs'])} 在这一步离开。", ledger)
    came = found["steps"][0]["in"]["docs"]
    lost = found["steps"][0]["quarantine"]["docs"]
    if came and lost / came > _UNREADABLE:
        yield Warned(False, f"{lost:,} 份（{_percent(lost / came)}）读不出来，已隔离待查。", ledger)
    for row in found["rules"]:
        if row["stage"] == "filter" and row["share"] and row["share"] > _BY_ONE_RULE:
            yield Warned(False, f"规则 {row['rule']} 一条就带走过滤阶段 {_percent(row['share'])} 的文档。", ledger)
    stuck = sum(found["deid"]["quarantined"].values())
    if stuck:
        yield Warned(False, f"{stuck:,} 份无法遮盖或遮盖后仍有残留，已隔离待查。", "evidence/deidentification.json")


def _charts(found: Mapping[str, Any]) -> dict[str, Markup]:
    steps, removing = found["steps"], sorted(found["rules"], key=lambda row: -int(row["rows"]))
    removing = [row for row in removing if row["action"] != "edit"][:_BARS]
    masked = sorted(found["deid"]["masked"].items(), key=lambda one: (-one[1], one[0]))[:_BARS]
    made = {
        "yield": charts.bars(
            "yield",
            [row["stage"] for row in steps],
            {
                name: [row[kind]["docs"] for row in steps]
                for name, kind in (("out", "out"), ("dropped", "drop"), ("quarantined", "quarantine"))
            },
        )
    }
    if removing:
        made["rules"] = charts.bars(
            "rules",
            [row["rule"] for row in removing],
            {action: [row["rows"] if row["action"] == action else 0 for row in removing] for action in ("drop", "quarantine")},
        )
    if masked:
        made["masked"] = charts.bars("masked", [name for name, _ in masked], {"spans": [number for _, number in masked]})
    tokens = sorted(found["body"]["tokens"].items(), key=lambda one: (-one[1], one[0]))[:_BARS]
    if tokens:
        made["tokens"] = charts.bars("tokens", [name for name, _ in tokens], {"tokens": [number for _, number in tokens]})
    if found["lengths"]:
        bins = [at for row in found["lengths"] for at in row["bins"]]
        span = range(min(bins), max(bins) + 1)
        made["lengths"] = charts.columns("lengths", [f"{lower_edge(at):,}" for at in span], _series(found["lengths"], span))
    if found["scores"]:
        span = range(BINS)
        made["scores"] = charts.columns("scores", [f"{at / BINS:.2f}" for at in span], _series(found["scores"], span))
    took = {stage: row for stage, row in found["took"]["stages"].items() if row["cpu"]}
    if took:
        made["took"] = charts.bars("took", list(took), {"core-seconds": [row["cpu"] for row in took.values()]})
    return {name: Markup(svg) for name, svg in made.items()}


def _series(rows: Sequence[Mapping[str, Any]], span: range) -> dict[str, list[int]]:
    return {row["doc_type"]: [row["bins"].get(at, 0) for at in span] for row in rows}
