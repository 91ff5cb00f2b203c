"""The report: numbers are the manifest's and name their file, what matters comes first, and nothing in it runs or is fetched."""

import copy
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from lexmill.core.release import report
from tests.core.evidence.test_tables import body, one_set, review

TEMPLATES = {path.name: path.read_text("utf-8") for path in Path(report.__file__).parents[2].joinpath("templates").iterdir()}
TIMING = {"tasks": 3, "reused": 0, "cpu_seconds": 2.5, "wall_seconds": 1.25, "peak_rss": 512 << 20}
PRICES = {
    "currency": "RMB",
    "date": "2026-11-30",
    "source": "a list",
    "compute": {"vcpu_hour": 0.18, "gib_hour": 0.02, "spot_price_ratio": 0.5},
    "human": {"hour": 30.0, "documents": 4000, "minutes_per_document": 2.0},
}
RAN = {"workers": 2, "stages": {"ingest": TIMING, "dedup.pairs": TIMING, "dedup": TIMING}, "prices": None}


def facts(found: dict[str, Any], parent: dict[str, Any] | None = None, ran: dict[str, Any] | None = None) -> dict[str, Any]:
    return report.facts(found, "2026-11-30", parent, {"符合": 3, "不符合": 1}, ran or RAN)


def page(found: dict[str, Any]) -> str:
    return report.render(TEMPLATES, found)


class Reader(HTMLParser):
    """Texts of the page with the nearest ``data-source`` around each, and everything that leads elsewhere."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[tuple[str, str | None, str]] = []
        self.texts: list[tuple[str, str | None, str]] = []
        self.links: list[str] = []
        self.tags: set[str] = set()
        self.feed(text)
        assert not self.open, "a tag is left open"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.add(tag)
        self.links += [str(given[name]) for name in ("href", "src") if name in given]
        if tag not in ("meta", "br", "link", "rect", "path"):
            before = self.open[-1][1] if self.open else None
            self.open.append((tag, given.get("data-source") or before, given.get("class") or ""))

    def handle_endtag(self, tag: str) -> None:
        if tag not in ("rect", "path"):
            assert self.open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        if data.strip() and self.open:
            tag, source, kind = self.open[-1]
            self.texts.append((data.strip(), source, f"{tag}.{kind}"))


def test_every_number_names_a_file_of_the_release() -> None:
    text = page(facts(body(one_set("s1"), one_set("s2")), body(one_set("s1")), {**RAN, "prices": PRICES}))
    read = Reader(text)
    numbers = [(said, source) for said, source, kind in read.texts if kind in ("td.n", "dd.") and re.search(r"\d", said)]
    assert len(numbers) > 150
    files = {"manifest.json", "run.json", *(f"evidence/{name}.json" for name in ("sources", "deidentification", "people"))}
    assert {source for _, source in numbers} == files
    shown = set(re.findall(r'<p class="source">.*?<code>(.*?)</code>', text))
    assert files <= shown


def test_nothing_runs_and_nothing_is_fetched() -> None:
    read = Reader(page(facts(body(one_set("s1")))))
    assert not read.tags & {"script", "link", "img", "iframe", "object", "form"}
    assert all(link.startswith("#") or not re.match(r"[a-z]+:|//", link) for link in read.links)
    assert "url(" not in TEMPLATES["page.css"]
    assert "@import" not in TEMPLATES["page.css"]


def test_numbers_are_those_of_the_manifest() -> None:
    found = facts(body(one_set("s1"), one_set("s2")))
    dedup = next(row for row in found["steps"] if row["stage"] == "dedup")
    assert (dedup["in"]["docs"], dedup["out"]["docs"], dedup["drop"]["docs"], dedup["drop"]["chars"]) == (300, 260, 40, 2200)
    # 4,800 bytes of questions are 1,200 tokens, 21,600 of judgments 4,800; before that these ratios estimate.
    assert found["steps"][-1]["tokens_out"] == 6000
    qa, judgment = found["groups"]
    assert qa["docs"] == [200, 200, 180, 180, 180, 160, 160]
    assert qa["tokens"] == [1500, 1500, 1350, 1350, 1350, 1200, 1200, 1200]
    assert judgment["left"]["docs"] == 0.8
    assert [(row["rule"], row["rows"]) for row in found["rules"]][:2] == [("dedup.exact", 40), ("quality.qa.short", 20)]
    assert found["clusters"] == [("2", 36), ("3–4", 2)]
    assert found["families"] == [("5–8", 4)]
    lengths = {row["doc_type"]: (row["documents"], row["quantiles"]) for row in found["lengths"]}
    assert lengths == {"judgment": (80, [128, 128, 128]), "qa": (160, [16, 16, 16])}
    assert [(row["doc_type"], row["documents"], row["low"]) for row in found["scores"]] == [("qa", 160, 40)]
    assert [(row["name"], row["documents"], row["sets"]) for row in found["benchmarks"]] == [("exam", 8, 2)]
    text = page(found)
    for said in ("6,000", "≈6,000", "quality.qa.short", "策略 <code>train-strict</code>", "没有价格表"):
        assert said in text, said


def warned(found: dict[str, Any], **more: Any) -> list[str]:
    return [one.text for one in facts(found, **more)["warnings"]]


def test_grave_warnings_come_first_and_name_their_file() -> None:
    found = facts(body(one_set("s1")))
    grave = [one.is_grave for one in found["warnings"]]
    assert grave == sorted(grave, reverse=True)
    assert any(grave)
    assert not all(grave)
    text = page(found)
    assert text.index("没有人工抽检") < text.index('id="yield"') < text.index("dedup.exact")
    assert all(one.file == "manifest.json" or one.file.startswith("evidence/") for one in found["warnings"])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda one: one.update(policy=None), "未经去标识化"),
        (lambda one: one.update(benchmarks=[]), "没有对照任何评测集"),
        (lambda one: one.update(screens=[]), "没有违法不良信息筛查"),
        (lambda one: one["stages"]["filter"]["tallies"].update({"screen.any:a/qa": 9}), "来源 a：10.0% 的文档被违法"),
        (lambda one: one["stages"]["filter"]["counts"]["out"].pop("a/qa"), "a/qa：读入 100 份，一份也没有留下"),
        (lambda one: one["stages"]["dedup"]["counts"]["drop"].update({"a/qa": {"docs": 60}}), "dedup：a/qa 的 60.0%"),
        (lambda one: one["stages"]["ingest"]["counts"].update(quarantine={"a/qa": {"docs": 3}}), "3 份（2.00%）读不出来"),
        (lambda one: one["stages"]["filter"]["tallies"].update({"drop:quality.x": 40}), "规则 quality.x 一条就带走"),
        (lambda one: one["tokenizer"].update(unknown_share=0.01), "词表不认识"),
    ],
)
def test_what_is_out_of_the_ordinary_is_warned_about(change: Any, said: str) -> None:
    one = copy.deepcopy(one_set("s1", review(1000, 10, 0.003)))
    one["sources"] = {name: {**card, "rights": "none", "foreign": False} for name, card in one["sources"].items()}
    before = [text for text in warned(body(one)) if not text.startswith("标准对照表")]
    assert before == []
    change(one)
    assert any(said in text for text in warned(body(one)))


def test_what_changed_since_the_parent_is_told() -> None:
    parent = body(one_set("s1"), one_set("s2"))
    after = one_set("s1")
    after["rules"] = {"quality": "r2"}
    found = facts(body({**after, "set": "s3"}), parent)
    assert found["changed"]["sets_removed"] == ["s1", "s2"]
    assert found["changed"]["causes"] == {"rules": ["quality"], "inputs": ["a", "b"]}
    assert any("词元比上一版本少 50.0%" in one.text for one in found["warnings"])
    text = page(found)
    assert "240 → 120" in text
    assert "-600" in text


def test_time_and_cost_stand_in_their_own_section() -> None:
    found = body(one_set("s1", {**review(1000, 10, 0.003), "verdicts": 60}))
    cheap, dear = (page(facts(found, ran={**RAN, "workers": n, "prices": PRICES})) for n in (1, 2))
    cut = [re.sub(r'<section id="took">.*?</section>', "", text, flags=re.DOTALL) for text in (cheap, dear)]
    assert cut[0] == cut[1]
    assert cheap != dear
    took = facts(found, ran={**RAN, "prices": PRICES})["took"]
    # Two workers of half a GiB for 3.75 s at half of the price; sixty readings of two minutes.
    assert took["sums"]["money"] == pytest.approx(3.75 / 3600 * 0.5 * (2 * 0.18 + 2 * 0.5 * 0.02))
    assert (took["hours"], took["hours_money"]) == (2.0, 60.0)
    assert took["stages"]["dedup"]["tasks"] == 6
    assert took["a_billion_tokens"] == pytest.approx(took["sums"]["money"] / 3000 * 1e9)
    reused = {**RAN, "prices": PRICES, "stages": {"ingest": {**TIMING, "reused": 4}}}
    assert facts(found, ran=reused)["took"]["a_gb"] is None  # not all of the work is in it
