import re
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexmill.config import Fields, Ingest
from lexmill.core.ingest.html import html_text
from lexmill.core.ingest.hygiene import clean
from lexmill.core.ingest.limits import Limits
from lexmill.core.ingest.records import Record, read
from lexmill.core.ingest.rules import IngestRules
from lexmill.errors import DocumentError


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<p>第一条　甲方</p><p>第二条</p>", "第一条　甲方\n第二条"),
        ("没有标签", "没有标签"),
        ("", ""),
        ("<p>甲<p>乙<div>丙", "甲\n乙\n丙"),
        ("甲<br>乙<BR/>丙", "甲\n乙\n丙"),
        ("<p><b>第一条</b>　为<span style='x'>了</span><font color=\"a\">规范</font></p>", "第一条　为了规范"),
        ("<p>审判长卓某\n书记员章某</p>", "审判长卓某\n书记员章某"),
        ("<p>the court\nof appeal</p><p>held\n\n</p>", "the court of appeal\nheld"),
        ("<p>甲&nbsp;&nbsp;乙 &lt;丙&gt; &#20013;</p>", "甲 乙 <丙> 中"),
        ("<p>金额<100元，且>50元</p>", "金额<100元，且>50元"),
        ("<style>p{}</style><script>var 合同=1</script><p>正文</p><!-- 注释 --><noscript>x</noscript>", "正文"),
        ("<p>\ufdd0甲\ufdd1&#xFDD2;乙</p>", "甲乙"),
        ("<p>甲<sup>2</sup>乙</p>", "甲2乙"),
    ],
)
def test_text(markup: str, text: str) -> None:
    assert html_text(markup)[1] == text


BODY = "<p>" + "甲方应当按照约定向乙方支付价款，并承担相应的违约责任。" * 5 + "</p>"
TEXT = BODY[3:-4]


@pytest.mark.parametrize(
    "furniture",
    [
        "<nav><a href=/>首页</a> 法规 案例</nav>",
        "<header><h2>某某法律网</h2></header>",
        "<footer>地址：某市某路</footer>",
        "<div class='top-nav'>首页 法规</div>",
        "<div id=mainMenu><ul><li>法规<li>案例</ul></div>",
        "<ul class='breadcrumb'><li>首页</li><li>合同</li></ul>",
        "<div class=site-footer>联系我们</div>",
        "<div role=navigation>目录页</div>",
        "<div style='display: none'>隐藏的话</div>",
        "<div hidden>隐藏的话</div>",
        "<a href=/1>首页</a> | <a href=/2>合同范本</a> &gt; <a href=/3>租赁</a>",
        "<table><tr><td><a href=1>首页</a></td><td><a href=2>法规</a></td></tr></table>",
        "<form><input value=搜索><select><option>法规</select><button>查询</button></form>",
    ],
)
@pytest.mark.parametrize("order", ["before", "after"])
def test_furniture_goes(furniture: str, order: str) -> None:
    markup = furniture + BODY if order == "before" else BODY + furniture
    assert html_text(f"<html><body>{markup}</body></html>")[1] == TEXT


def test_a_form_in_a_text_field_is_text() -> None:
    form = "\n".join(f"第{number}条　甲方应当按照约定向乙方交付第{number}批货物，乙方应当付款。" for number in range(1, 6))
    assert html_text(f"<body><p>合同范本</p><form><textarea rows=9>{form}</textarea></form></body>")[1] == f"合同范本\n{form}"
    assert html_text("<body><p>留言</p><textarea>请在此填写</textarea></body>")[1] == "留言"


def test_what_holds_most_of_the_page_is_no_furniture() -> None:
    assert html_text(f"<div class='nav'>{BODY}</div>")[1] == TEXT


def test_an_article_keeps_its_own_header() -> None:
    markup = f"<article><header><p>（2079）沪0000民初1号</p></header>{BODY}</article>"
    assert html_text(markup)[1] == f"（2079）沪0000民初1号\n{TEXT}"


@pytest.mark.parametrize(
    "markup",
    [
        f"<a name=top></a>{BODY}",
        f"<a name=top>{BODY}",
        f"<p>{TEXT[:40]}<a href=1>{TEXT[40:60]}</a>{TEXT[60:]}</p>",
    ],
)
def test_text_beside_and_in_links_stays(markup: str) -> None:
    assert html_text(markup)[1] == TEXT


def test_an_anchor_that_nobody_closed_is_no_link() -> None:
    assert html_text(f"<a href=#top>{BODY}{BODY}") == (None, f"{TEXT}\n{TEXT}")


def test_a_page_of_links_has_no_text() -> None:
    assert html_text("<ul>" + "<li><a href=x>合同范本</a></li>" * 30 + "</ul>") == (None, "")


def test_rows_are_lines_and_layout_tables_are_blocks() -> None:
    table = "<table><tr><th>项目<th>金额<tr><td><p>货款</p></td><td>1,200元\n</td></tr><tr><td>利息<td>　　年　　月<td></table>"
    assert html_text(table)[1] == "项目\t金额\n货款\t1,200元\n利息\t年　　月"
    layout = f"<table><tr><td>{BODY}{BODY}</td><td>附注</td></tr></table>"
    assert html_text(layout)[1] == f"{TEXT}\n{TEXT}\n附注"
    nested = "<table><tr><td>甲<table><tr><td>1<td>2</table><td>乙</table>"
    assert html_text(nested)[1] == "甲\n1\t2\n乙"


@pytest.mark.parametrize(
    ("markup", "title"),
    [
        ("<title> 某某网\n合同 </title><p>x", "某某网 合同"),
        ("<title>某某网</title><h1>租赁<b>合同</b></h1>", "租赁合同"),
        ("<title>某某网</title><h1>一</h1><h1>二</h1>", "某某网"),
        ("<title>151</title><p>某判决书", None),
        ("<p>无题</p>", None),
    ],
)
def test_title(markup: str, title: str | None) -> None:
    assert html_text(markup)[0] == title


@pytest.mark.parametrize(
    "markup",
    ["<div>" * 200_000, "</div>" * 50_000 + "<div>" * 50_000, "<div></x>" * 50_000, '<b a="<">' * 5_000],
)
def test_deep_pages_are_refused_at_once(markup: str) -> None:
    start = time.process_time()
    with pytest.raises(DocumentError) as refused:
        html_text(markup)
    assert refused.value.rule == "ingest.too_deep"
    assert time.process_time() - start < 5


@pytest.mark.parametrize(
    "markup",
    [
        "<div><table><tr><td></div>" * 5_000 + "甲",
        "<a name=x><p>" * 20_000 + "甲",
        "<dd><p>" * 20_000 + "甲",
        "<div class=nav>" * 500 + "甲" + "</div>" * 500,
        "<" * 200_000 + "甲",
        "word\n" * 100_000 + "甲",
    ],
)
def test_hostile_pages_end_soon(markup: str) -> None:
    start = time.process_time()
    assert html_text(markup)[1].endswith("甲")
    assert time.process_time() - start < 5


TAGS = [
    "<p>",
    "</p>",
    "<div>",
    "</div>",
    "<table>",
    "<tr>",
    "<td>",
    "</table>",
    "<a href=x>",
    "</a>",
    "<br>",
    "<b>",
    "<ul>",
    "<li>",
    "<!--",
]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from([*TAGS, "甲方", "A b", "\n", "&nbsp;", "<", "\"'"]), max_size=30).map("".join))
def test_any_page_gives_lines_without_blanks_around(markup: str) -> None:
    text = html_text(markup)[1]
    assert all(line and line == line.strip(" \xa0\u3000") for line in text.split("\n")) or text == ""
    assert not set(text) & set("\ufdd0\ufdd1\ufdd2\ufdd3\xa0")


SHARED = Path(__file__).parents[4] / "shared" / "corpus"
LAWS = SHARED / "statutes" / "company_law_versions" / "object-store" / "company_law"


def page_text(path: Path, doc_type: str, rules: IngestRules) -> str:
    (record,) = read(path.read_bytes(), "html", Fields(), doc_type, 0, Limits.of(Ingest()), None)
    assert isinstance(record, Record)
    return clean(record.text, rules).text


def common_characters(one: str, other: str) -> int:
    """Length of the longest common subsequence (Hyyrö, 2004: one bit a character of ``one``)."""
    everywhere = (1 << len(one)) - 1
    places: dict[str, int] = {}
    for at, char in enumerate(one):
        places[char] = places.get(char, 0) | 1 << at
    row = everywhere
    for char in other:
        met = row & places.get(char, 0)
        row = ((row + met) | (row - met)) & everywhere
    return len(one) - row.bit_count()


def body(text: str) -> str:
    """A statute from its first article to the end of its last, without white space and without the edit links of a wiki."""
    plain = "".join(text.split()).replace("[编辑]", "")
    last = [end.end() for end in re.finditer("第[一二三四五六七八九十百]+条本法自[^。]{1,20}施行。", plain)][-1]
    return plain[plain.index("第一条") : last]


# Each page, and the extracted text that holds the same version. These texts begin at the first article and keep edit links and
# the foot of the page, so articles are compared. The text of 2013 is Wikisource's: that year's other page shows the law of 2005.
VERSIONS = [
    ("1993/wikisource_company_law_1993.html", "1993"),
    ("1999/wikisource_company_law_1999.html", "1999"),
    ("2004/wikisource_company_law_2004.html", "2004"),
    ("2005/gjxfj_company_law_2005.html", "2005"),
    ("2013/wikisource_company_law_2013.html", "2013"),
    ("2013/gjxfj_company_law_2013.html", "2005"),
    ("2018/sipf_company_law_2018.html", "2018"),
    ("2023/chinatax_company_law_2023.html", "2023"),
]


@pytest.mark.slow
@pytest.mark.skipif(not LAWS.is_dir(), reason="needs the corpus of real texts beside the checkout")
@pytest.mark.parametrize(("page", "version"), VERSIONS)
def test_a_statute_of_a_real_page_is_what_was_extracted_from_it(rules: IngestRules, page: str, version: str) -> None:
    whole = page_text(LAWS / page, "statute", rules)
    found, expected = body(whole), body((LAWS / version / "raw.txt").read_text("utf-8"))
    common = common_characters(found, expected)
    assert common >= 0.98 * len(found)
    assert common >= 0.98 * len(expected)
    # Hardly anything stands around title, table of contents and articles.
    assert len("".join(whole.split())) - len(found) < 1000


@pytest.mark.slow
@pytest.mark.skipif(not SHARED.is_dir(), reason="needs the corpus of real texts beside the checkout")
def test_a_real_page_gives_the_same_text_in_both_encodings(rules: IngestRules) -> None:
    folder = SHARED / "contracts" / "html_utf8"
    n_pairs = n_equal = 0
    for path in sorted(folder.rglob("*.html")):
        twin = SHARED / "contracts" / "html_gb18030" / path.relative_to(folder)
        if twin.is_file():
            n_pairs += 1
            n_equal += page_text(path, "contract", rules) == page_text(twin, "contract", rules)
    assert n_pairs > 150
    assert n_equal >= 0.99 * n_pairs
