"""Documents shown with their segments and citations, for a lawyer to look at: in the terminal, or as one page of HTML."""

import datetime
import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.text import Text

from lexmill.core.structure.citations import Citation, StatuteTables, find, verdict

_COLOURS = ("cyan", "green", "yellow", "magenta", "blue", "bright_cyan", "bright_green", "bright_magenta")
_SURE = 0.7
_VERDICTS = {
    "cites_repealed": "已废止",
    "citation_out_of_range": "无此条",
    "placeholder_citation": "空白引用",
}
_STYLE = """
body { font: 16px/1.7 "Noto Serif CJK SC", "Songti SC", SimSun, serif; max-width: 56em; margin: 2em auto; padding: 0 1em; }
section { border-left: .4em solid hsl(var(--hue) 45% 60%); background: hsl(var(--hue) 60% 97%);
  margin: .3em 0; padding: .2em .8em; }
section > b { font: 12px/1 sans-serif; color: hsl(var(--hue) 50% 35%); } section.unsure { border-left-style: dotted; }
pre { font: inherit; white-space: pre-wrap; margin: 0; } cite { font-style: normal; border-bottom: 2px solid #36c; }
cite.bad { border-bottom-color: #c22; background: #fdd; }
"""


def _date(document: Mapping[str, Any]) -> datetime.date | None:
    date = document["meta"].get("judgment_date") or document["meta"].get("version_date")
    return date if isinstance(date, datetime.date) else None


def _label(citation: Citation, found: str | None) -> str:
    words = [
        citation.law or "?",
        citation.path,
        "" if citation.law_id else "(not in rules/statutes)",
        _VERDICTS.get(found or "", ""),
    ]
    return " ".join(filter(None, words))


def _runs(text: str, start: int, end: int, citations: Sequence[Citation]) -> Iterator[tuple[str, Citation | None]]:
    """The text from ``start`` to ``end``, cut where a citation begins or ends; a citation across the border is in both."""
    at = start
    for citation in citations:
        if citation.end <= start or citation.start >= end:
            continue
        if citation.start > at:
            yield text[at : citation.start], None
        yield text[max(at, citation.start) : min(end, citation.end)], citation
        at = min(end, citation.end)
    if at < end:
        yield text[at:end], None


def in_terminal(documents: Iterable[Mapping[str, Any]], tables: StatuteTables) -> Iterator[Text]:
    """One renderable a document: each segment below its kind, path and confidence, citations underlined, bad ones red."""
    for document in documents:
        citations = find(document["text"], tables)
        colours: dict[str, str] = {}
        shown = Text()
        shown.append(f"━━ {document['doc_type']} {document['title'] or ''}\n", style="bold")
        for part in document["segments"]:
            colour = colours.setdefault(part["kind"], _COLOURS[len(colours) % len(_COLOURS)])
            doubt = "?" if part["confidence"] < _SURE else ""
            shown.append(f"▌{part['kind']} {part['path']} {part['confidence']:.2f}{doubt}\n", style=f"bold {colour}")
            for run, citation in _runs(document["text"], part["start"], part["end"], citations):
                found = verdict(citation, _date(document), tables) if citation else None
                shown.append(run, style=("bold red underline" if found else "underline" if citation else "") or colour)
                if found:
                    shown.append(f"[{_VERDICTS[found]}]", style="red")
            shown.append("" if shown.plain.endswith("\n") else "\n")
        yield shown


def as_html(documents: Iterable[Mapping[str, Any]], tables: StatuteTables) -> str:
    """A page that needs no other file: a section a segment, citations with their law, article and verdict as a tooltip."""
    body = []
    for document in documents:
        text = document["text"]
        citations = find(text, tables)
        hues: dict[str, int] = {}
        body.append(f"<h2>{html.escape(document['doc_type'])} {html.escape(document['title'] or '')}</h2>")
        for part in document["segments"]:
            # The golden angle keeps neighbouring kinds apart.
            hue = hues.setdefault(part["kind"], len(hues) * 137 % 360)
            doubt = "" if part["confidence"] >= _SURE else ' class="unsure"'
            words = html.escape(f"{part['kind']} {part['path']} {part['confidence']:.2f}")
            runs = []
            for run, citation in _runs(text, part["start"], part["end"], citations):
                if citation is None:
                    runs.append(html.escape(run))
                    continue
                found = verdict(citation, _date(document), tables)
                bad = ' class="bad"' if found else ""
                runs.append(f'<cite{bad} title="{html.escape(_label(citation, found))}">{html.escape(run)}</cite>')
            body.append(f'<section{doubt} style="--hue: {hue}"><b>{words}</b><pre>{"".join(runs)}</pre></section>')
    inside = "\n".join(body)
    return f'<!doctype html>\n<meta charset="utf-8">\n<title>lexmill segment</title>\n<style>{_STYLE}</style>\n{inside}\n'
