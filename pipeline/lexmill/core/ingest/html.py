"""HTML: the text of a page without the page's furniture, at 10 MB/s and more a core."""

import re
from collections import Counter
from collections.abc import Iterator

from selectolax.lexbor import LexborHTMLParser, LexborNode

from lexmill.core.ingest.decode import decode
from lexmill.core.ingest.items import Broken, Item, Page
from lexmill.errors import DocumentError

# Nobody writes deeper pages (Chromium cuts there too: kMaximumHTMLParserDOMTreeDepth), and parsing time grows by its square.
_MAX_DEPTH = 512
# A menu, a header or a hidden box that holds more of a page than this holds the document.
_MAX_FURNITURE_SHARE = 0.4
# A longer link is an anchor that nobody closed.
_MAX_LINK = 200
# Longer rows and cells are layout, not data.
_MAX_ROW = 2000
_MAX_CELL = 200

# Formatting says nothing about where text begins and ends, and costs most of the nodes: it goes before the page is parsed.
_FORMATTING = (
    "b|i|u|s|em|strong|font|span|small|big|tt|strike|del|ins|mark|code|cite|dfn|kbd|samp|var|abbr|acronym|bdi|nobr|o:p|st1:[a-z]+"
)
_FORMATTING_TAG = re.compile(rf"</?(?:{_FORMATTING})(?:\s(?:[^<>\"']|\"[^\"<>]*\"|'[^'<>]*')*)?/?>", re.IGNORECASE)
# Elements that the next of their kind closes do not nest, nor do those without content.
_NESTING_TAG = re.compile(
    r"<(/?)(?!(?:p|li|dt|dd|td|th|tr|option|a|br|hr|img|input|meta|link|area|base|col|embed|source|wbr|param)\b)([a-z][a-z0-9]*)",
    re.IGNORECASE,
)
_SILENT = [
    "script",
    "style",
    "noscript",
    "template",
    "iframe",
    "object",
    "svg",
    "math",
    "canvas",
    "audio",
    "video",
    "select",
    "button",
    "textarea",
    "datalist",
]
# Sites that offer a form to be copied put all of its text into a text field; a field to write in holds a word or none.
_LEAST_FORM_TEXT = 100
_SILENT_TAG = re.compile(f"<({'|'.join(_SILENT)})", re.IGNORECASE)
_INLINE = frozenset(
    [*_FORMATTING.split("|"), "sub", "sup", "label", "ruby", "rb", "rt", "rp", "q", "time", "data", "wbr", "img", "a"]
)

_CELLS = frozenset(["td", "th"])
_FURNITURE_TAGS = frozenset(["nav", "footer", "aside", "header"])
_ARTICLES = frozenset(["article", "main"])  # whose header and footer are their own
_CONTAINERS = frozenset(["div", "ul", "ol", "dl", "section", "table", "form", "center"])
_FURNITURE_ROLES = frozenset(["navigation", "banner", "contentinfo", "search"])
_FURNITURE_WORDS = frozenset(["navigation", "navbar", "breadcrumb", "breadcrumbs", "foot", "copyright", "sidebar", "toolbar"])
_FURNITURE_WORDS |= {"pagination", "pager", "search", "share", "login", "noprint", "catlinks", "portlet"}
_FURNITURE_ENDINGS = ("nav", "menu", "crumb", "footer")
_WORD = re.compile(r"[A-Z]?[a-z]+")
_HIDDEN = re.compile(r"display\s*:\s*none", re.IGNORECASE)

# Noncharacters mark what becomes lines later.
_LINK, _LINK_END, _CELL, _SOFT_BREAK = _MARKS = "\ufdd0\ufdd1\ufdd2\ufdd3"
_NO_MARKS = dict.fromkeys(map(ord, _MARKS))
_LINK_MARK = re.compile(f"([{_LINK}{_LINK_END}])")
_BLANKS = re.compile("[ \xa0]*\xa0[ \xa0]*|  +")
_BETWEEN_LINKS = re.compile(rf"[{_SOFT_BREAK}\s|｜>»›·•/／、,，:：\-–—\[\]【】()（）^↑]*")
_CELL_BREAKS = re.compile(f"[ \n\xa0{_SOFT_BREAK}]+")
_EDGES = f" \t\xa0\u3000{_SOFT_BREAK}"


def html_text(markup: str) -> tuple[str | None, str]:
    """Title and text of a page: one line a block, cells of a table row on one line with tabs between, no blank lines.

    Scripts, fields of forms, navigation, hidden boxes and lines that are nothing but links are left out. The title is the only
    ``h1``, else ``title``, unless it is only a number. Raises DocumentError ``ingest.too_deep`` beyond 512 nested elements.
    """
    markup = _FORMATTING_TAG.sub("", markup)
    _check_depth(markup)
    tree = LexborHTMLParser(markup)
    # By name: the first selector of a tree costs as much as a page of 2 kB.
    headings = _texts(tree.tags("h1"))
    titles = headings if len(headings) == 1 else _texts(tree.tags("title"))
    title = next((text for text in titles if any(map(str.isalpha, text))), None)
    # Each search for a name walks the whole tree, and most pages have but two or three of them.
    for name in sorted(set(map(str.lower, _SILENT_TAG.findall(markup)))):
        for node in reversed(tree.tags(name)):  # what lies inside another of its kind goes first
            if name != "textarea" or len(node.text().strip()) < _LEAST_FORM_TEXT:
                node.decompose()
    return title, _lines_of(_flow(tree.body)) if tree.body else ""


def _texts(nodes: list[LexborNode]) -> list[str]:
    return [text for node in nodes if (text := " ".join(node.text().split()))]


def is_html(text: str) -> bool:
    """Whether a text that is called something else is a page."""
    return text[:1000].lstrip().casefold().startswith(("<!doctype html", "<html"))


def read_html(data: bytes) -> Iterator[Item]:
    """The one document of a page, in whatever encoding its bytes are: the declared one may lie."""
    try:
        title, text = html_text(decode(data).text)
    except DocumentError as error:
        yield Broken(None, error.rule, 0, len(data))
    else:
        yield Page(text, title, {})


def _check_depth(markup: str) -> None:
    tags = _NESTING_TAG.findall(markup)
    if len(tags) <= _MAX_DEPTH:
        return
    opened: list[str] = []
    n_opened: Counter[str] = Counter()
    for slash, name in tags:
        name = name.lower()
        if not slash:
            opened.append(name)
            n_opened[name] += 1
            if len(opened) > _MAX_DEPTH:
                raise DocumentError("ingest.too_deep")
        elif n_opened[name]:
            # An end closes all that is open inside it.
            while (inner := opened.pop()) != name:
                n_opened[inner] -= 1
            n_opened[name] -= 1


def _flow(body: LexborNode) -> str:
    """The text of the tree in order, with line breaks around blocks and marks around links and cells."""
    raw = body.text()
    marks = _NO_MARKS if any(mark in raw for mark in _MARKS) else {}
    most = _MAX_FURNITURE_SHARE * len(raw)
    parts: list[str] = []
    n_chars = 0
    last_row = -1
    # Open elements, with how many parts and characters there were before each.
    opened: list[tuple[LexborNode, str, int, int]] = []
    node = body.child
    while node is not None or opened:
        if node is not None:
            if node.is_text_node:
                text = node.text_content or ""
                n_chars += len(text)
                text = (text.translate(marks) if marks else text).replace("\t", " ")
                # In a form's text field the lines are the author's.
                parts.append(text if opened and opened[-1][1] == "textarea" else text.replace("\n", _SOFT_BREAK))
            elif node.is_element_node and (tag := node.tag):
                child = node.child
                if child is not None:
                    opened.append((node, tag, len(parts), n_chars))
                parts.append(_CELL if tag in _CELLS else "" if tag in _INLINE else "\n")
                if child is not None:
                    node = child
                    continue
            node = node.next
            continue
        node, tag, n_parts, n_then = opened.pop()
        if tag == "a" and n_chars - n_then <= _MAX_LINK and "href" in node.attributes:
            parts[n_parts] = _LINK
            parts.append(_LINK_END)
        else:
            parts.append("" if tag in _INLINE else "\n")
            if n_chars - n_then <= most and _is_furniture(node, tag):
                del parts[n_parts:]
                n_chars = n_then
            elif tag == "tr" and n_chars - n_then <= _MAX_ROW and last_row < n_parts:
                # A row with rows inside is layout.
                last_row = n_parts
                parts[n_parts:] = [_row("".join(parts[n_parts:]))]
        node = node.next
    return "".join(parts)


def _is_furniture(node: LexborNode, tag: str) -> bool:
    if tag in _FURNITURE_TAGS:
        return node.parent is None or node.parent.tag not in _ARTICLES
    if tag not in _CONTAINERS:
        return False
    attributes = node.attributes
    if "hidden" in attributes or attributes.get("role") in _FURNITURE_ROLES or _HIDDEN.search(attributes.get("style") or ""):
        return True
    names = f"{attributes.get('class') or ''} {attributes.get('id') or ''}"
    words = [word.lower() for word in _WORD.findall(names)]
    return any(word in _FURNITURE_WORDS or word.endswith(_FURNITURE_ENDINGS) for word in words)


def _row(text: str) -> str:
    """One line for a row of short cells; a row with a long cell is layout, and its cells stay blocks."""
    cells = [_CELL_BREAKS.sub(" ", cell).strip(_EDGES) for cell in text.split(_CELL)[1:]]
    if sum(map(bool, cells)) < 2 or max(map(len, cells)) > _MAX_CELL:
        return text
    return "\n" + "\t".join(cells).rstrip() + "\n"


def _lines_of(flow: str) -> str:
    """The lines of a flow; a break of the source's own is one beside Chinese, and a blank between Latin words."""
    pieces: list[str] = []
    in_link = False
    is_new = True
    for line in flow.replace(_CELL, "\n").replace(_SOFT_BREAK, f"\n{_SOFT_BREAK}").split("\n"):
        is_new = is_new or not line.startswith(_SOFT_BREAK)
        if in_link or _LINK in line or _LINK_END in line:
            line, in_link = _without_links(line, in_link)
        line = line.strip(_EDGES)
        if not line:
            continue
        if " " in line or "\xa0" in line:
            line = _BLANKS.sub(" ", line)
        if pieces:
            pieces.append(" " if not is_new and line[0].isascii() and pieces[-1][-1].isascii() else "\n")
        pieces.append(line)
        is_new = False
    return "".join(pieces)


def _without_links(line: str, in_link: bool) -> tuple[str, bool]:
    """A line without its marks of links, nothing if links are all it has, and whether a link goes on into the next line."""
    pieces = _LINK_MARK.split(line)
    outside = []
    for piece in pieces:
        if piece in (_LINK, _LINK_END):
            in_link = piece == _LINK
        elif not in_link:
            outside.append(piece)
    return ("" if _BETWEEN_LINKS.fullmatch("".join(outside)) else "".join(pieces[::2])), in_link
