"""What a dry run of the quality rules found, as tables for a terminal and as a page."""

from collections.abc import Iterator, Mapping
from typing import Any

from jinja2 import Environment
from rich.console import Console
from rich.table import Table

_UNITS = ("docs", "chars", "tokens")

_PAGE = """<!doctype html>
<html lang="zh-CN"><meta charset="utf-8"><title>质量规则试运行</title>
<style>
body { font: 15px/1.5 sans-serif; margin: 2em auto; max-width: 75em; padding: 0 1em; color: #222 }
table { border-collapse: collapse; margin: .6em 0 } th, td { border: 1px solid #ccc; padding: .2em .6em; text-align: left }
td.n { text-align: right; font-variant-numeric: tabular-nums } details { margin: .4em 0 } summary { cursor: pointer }
.drop, .quarantine { color: #a00 } .tag { color: #666 } blockquote { margin: .3em 0; padding: .3em .8em; background: #f6f6f6 }
</style>
{%- macro row(group, part, whole) -%}
<tr><td>{{ group }}<td class="n">{{ number(part.docs) }}<td class="n">{{ "{:.2%}".format(part.docs / whole.docs) }}
<td class="n">{{ number(part.chars) }}<td class="n">{{ number(part.tokens) }}<td class="n">{{ number(whole.docs) }}</tr>
{%- endmacro -%}
{%- set head = ["来源/类型", "件", "占比", "字", "词元（估计）", "共计（件）"] -%}
<h1>质量规则试运行</h1>
<p>抽样 {{ found.sampled }} 件（seed {{ found.seed }}）；数字按来源和类型推算到全部文件，
词元数由 {{ found.tokenizer }} 的样本估计。没有删除任何文件。</p>
<h2>将离开的文件</h2>
<table><tr>{% for name in head %}<th>{{ name }}{% endfor %}</tr>
{%- for group, whole in found.groups.items() %}
{{ row(group, found.leaving.get(group, none_left), whole) }}
{%- endfor %}</table>
<h2>每条规则</h2>
{% for rule in found.rules %}
<h3 id="{{ rule.rule }}">{{ rule.rule }} <small class="{{ rule.effect }}">{{ rule.effect }}{% if rule.effect != rule.action %}
（规则写的是 {{ rule.action }}，误删率未测或超限）{% endif %}</small></h3>
<p>{{ rule.why }} 误删率：{{ "未测" if rule.false_drop_rate is none else "{:.2%}".format(rule.false_drop_rate) }}。
{% if rule.effect != "tag" %}只因它而离开：{{ number(rule.alone) }} 件。{% endif %}</p>
<table><tr>{% for name in head %}<th>{{ name }}{% endfor %}</tr>
{%- for group, hit in rule.hits.items() %}
{{ row(group, hit, found.groups[group]) }}
{%- endfor %}</table>
<details><summary>{{ rule.examples | length }} 例（已去标识化）</summary>
{%- for example in rule.examples %}
<p><code>{{ example.doc_id }}</code> {{ example.source }}/{{ example.doc_type }}，值 {{ example.value }}</p>
<blockquote>{{ example.text }}</blockquote>
{%- endfor %}</details>
{% endfor %}
<h2>没有命中任何文件的规则</h2>
<p>{% for name in found.silent %}<code>{{ name }}</code>{{ "、" if not loop.last }}{% else %}没有{% endfor %}。</p>
<h2>规则的重叠</h2>
<table><tr><th>规则<th>规则<th>同时命中（件）<th>占前者<th>占后者</tr>
{%- for pair in found.overlap %}
<tr><td>{{ pair.rules[0] }}<td>{{ pair.rules[1] }}<td class="n">{{ number(pair.docs) }}
<td class="n">{{ "{:.0%}".format(pair.shares[0]) }}<td class="n">{{ "{:.0%}".format(pair.shares[1]) }}</tr>
{%- endfor %}</table>
</html>
"""

_NOTHING = {"sampled": 0, "docs": 0, "chars": 0, "tokens": 0}


def page(found: Mapping[str, Any]) -> str:
    """The findings of ``core.quality.trial.try_rules`` as one HTML page that needs nothing else."""
    template = Environment(autoescape=True).from_string(_PAGE)
    return template.render(found=found, none_left=_NOTHING, number="{:,}".format)


def show(found: Mapping[str, Any], console: Console, n_examples: int) -> None:
    """Print what would leave, what each rule hits, where rules overlap, and ``n_examples`` excerpts of each."""
    console.print(
        f"{found['sampled']:,} documents looked at (seed {found['seed']}); numbers are extrapolated to all; nothing is removed"
    )
    for table in (_leaving(found), _hits(found), _overlap(found)):
        if table.row_count:
            console.print(table)
    console.print(f"rules that hit nothing: {', '.join(found['silent']) or 'none'}", highlight=False)
    for rule in found["rules"]:
        for example in rule["examples"][:n_examples]:
            group = f"{example['source']}/{example['doc_type']}"
            console.print(
                f"{rule['rule']} {example['doc_id']} {group} {example['value']}: {example['text']}", markup=False, highlight=False
            )


def _leaving(found: Mapping[str, Any]) -> Table:
    table = _table("What would leave", "source/type", "of documents", "share", *_UNITS)
    for group, units in found["groups"].items():
        gone = found["leaving"].get(group, _NOTHING)
        table.add_row(group, f"{units['docs']:,}", _share(gone, units), *_numbers(gone))
    return table


def _hits(found: Mapping[str, Any]) -> Table:
    table = _table("What each rule hits", "rule", "does", "false drops", "source/type", "share", *_UNITS, "by it alone")
    for rule in found["rules"]:
        rate = "" if rule["false_drop_rate"] is None else f"{rule['false_drop_rate']:.2%}"
        does = rule["effect"] if rule["effect"] == rule["action"] else f"{rule['effect']} (not {rule['action']}: no evidence)"
        for number, (group, units) in enumerate(rule["hits"].items()):
            head = (rule["rule"], does, rate) if number == 0 else ("", "", "")
            alone = f"{rule['alone']:,}" if number == 0 and rule["effect"] != "tag" else ""
            table.add_row(*head, group, _share(units, found["groups"][group]), *_numbers(units), alone)
    return table


def _overlap(found: Mapping[str, Any]) -> Table:
    table = _table("Hit by two removing rules", "rule", "and", "docs", "of the first", "of the second")
    for pair in found["overlap"]:
        table.add_row(*pair["rules"], f"{pair['docs']:,}", *(f"{share:.0%}" for share in pair["shares"]))
    return table


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title)
    for column in columns:
        table.add_column(column, justify="left" if column in ("rule", "and", "does", "source/type") else "right")
    return table


def _share(part: Mapping[str, int], whole: Mapping[str, int]) -> str:
    return f"{part['docs'] / whole['docs']:.2%}" if whole["docs"] else ""


def _numbers(units: Mapping[str, int]) -> Iterator[str]:
    return (f"{units[unit]:,}" for unit in _UNITS)
