"""Which fields of a record hold its text, id, title and metadata, and how question, options and answer become one text."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from lexmill.config import Fields
from lexmill.errors import DocumentError

# Field names of published Chinese legal data sets; compared without case, blanks, hyphens and underscores.
_NAMES = {
    "text": "text texts content contents fulltext fullcontent body articlecontent 正文 全文 内容 內容 文书内容 文书全文 文书正文"
    " 裁判文书 判决书全文 法规内容 法規內容 条文 條文 条文内容 條文內容",
    # Taken where nothing above is there.
    "piece": "fact facts sentence passage document 事实 案情 句子 编章节 編章節",
    "article": "条号 條號",
    "id": "id docid uuid guid uid recordid 编号 編號 文书id 文书编号",
    "title": "title 标题 標題 题名 案件名称 文书标题 文书名称 法规名称 法規名稱 casename",
    "question": "question query prompt instruction statement stem q 问题 問題 提问 咨询 题目 題目 题干 題幹",
    "input": "input",
    "context": "context background material 材料 案例 背景",
    "options": "options option optionlist choices choice 选项 選項",
    "answer": "answer answers response output completion reply a 答案 回答 答复 答覆",
    "explanation": "explanation analysis rationale 解析 答案解析 詳解 详解",
    "turns": "conversations conversation messages dialogue dialog 对话",
    "case_number": "casenumber caseno casenum 案号 案號 案件号",
    "court": "court courtname 法院 审理法院 法院名称 审判法院",
    "cause": "cause casecause 案由",
    "date": "date judgmentdate judgedate 裁判日期 判决日期 审判日期 宣判日期",
}
_ROLES = {name: role for role, names in _NAMES.items() for name in names.split()}
META_ROLES = ("case_number", "court", "cause", "date")

_FILLER = re.compile(r"[\s_-]")
_OPTION_NAME = re.compile(r"(?:option|choice|选项|選項)?([a-h])")
_MARKED_OPTION = re.compile(r"\s*(?:[(（][A-Ha-h][)）]|[A-Ha-h][)）.．、:：\s])")
_ASKER = frozenset({"human", "user", "client", "用户", "客户"})
_INSTRUCTOR = frozenset({"system"})
_MAX_DEPTH = 8
_MAX_LAYOUTS = 1000
# Characters of a field that may be the text of a record, and as many of its beginning as tell it.
_LONG = 200
_SEEN = 40

Roles = Mapping[str, Sequence[str]]


class Composed(NamedTuple):
    """One document made of a record's fields; ``own_id`` is the record's id as a string, where it has one."""

    text: str
    title: str | None
    given: dict[str, str]
    own_id: str | None


class Found(NamedTuple):
    """One record with its place: a document, or the rule (``ingest.no_text``, ``ingest.ambiguous_text``) why it is none."""

    place: str
    value: Any
    document: Composed | str


def role_of(name: str) -> str | None:
    """What a field of this name holds (``text``, ``title``, ``case_number`` …), or None where the name says nothing."""
    return _ROLES.get(_FILLER.sub("", name).casefold())


class Layout:
    """The fields of one source: those that its run file maps, and for the rest those that names give away."""

    def __init__(self, fields: Fields, doc_type: str) -> None:
        self._fields = fields
        self._doc_type = doc_type
        # The records of a file share a few sets of field names: what these mean is worked out once.
        self._roles: dict[tuple[str, ...], dict[str, list[str]]] = {}

    def documents(self, value: Any, place: str) -> Iterator[Found]:
        """The documents in one JSON value: the value itself, or those in its lists and wrappers, at ``place.0``, ``place.1`` …

        A list of sentences, or of questions with answers, is one document; a list of other records is as many.
        """
        return self._descend(value, place, 0)

    def unread(self, value: Any) -> dict[str, int]:
        """Characters by name of the fields of a record whose text is in no document of it; short ones are left out."""
        if not isinstance(value, dict):
            return {}
        text = "".join(found.document.text for found in self.documents(value, "") if isinstance(found.document, Composed))
        return {
            name: len(field)
            for name, field in value.items()
            if isinstance(field, str) and len(field) >= _LONG and field.strip()[:_SEEN] not in text
        }

    def _descend(self, value: Any, place: str, depth: int) -> Iterator[Found]:
        document = self._document(value)
        inner = _inner(value) if document == "ingest.no_text" and depth < _MAX_DEPTH else []
        if not inner:
            yield Found(place, value, document)
        for name, item in inner:
            yield from self._descend(item, f"{place}.{name}" if place else name, depth + 1)

    def _document(self, value: Any) -> Composed | str:
        try:
            if isinstance(value, dict):
                return self._compose(value)
            if isinstance(value, list):
                return Composed(self._passage(value), None, {}, None)
            return Composed(_filled_or_refused(render(value)), None, {}, None)
        except DocumentError as error:
            return error.rule

    def _compose(self, record: Mapping[str, Any]) -> Composed:
        roles = self._roles_of(record)
        text = _filled_or_refused(self._text(record, roles))
        title = " ".join(self._one(record, roles, "title", self._fields.title).split())
        given = {}
        for role in META_ROLES:
            value = self._one(record, roles, role, getattr(self._fields, role)).strip()
            if value:
                given[role] = value
        return Composed(text, title or None, given, self._own_id(record, roles))

    def _passage(self, items: Sequence[Any]) -> str:
        if all(isinstance(item, str) for item in items):
            return _filled_or_refused(_joined(items))
        texts = []
        for item in items:
            roles = self._roles_of(item) if isinstance(item, dict) else {}
            # What has an id, a text or options of its own is a document of its own.
            if not ("piece" in roles or "question" in roles) or roles.keys() & {"text", "id", "options", "letter"}:
                raise DocumentError("ingest.no_text")
            texts.append(self._text(item, roles))
        return _filled_or_refused("\n".join(text for text in texts if text.strip()))

    def _roles_of(self, record: Mapping[str, Any]) -> Roles:
        names = tuple(record)
        roles = self._roles.get(names)
        if roles is None:
            roles = {}
            for name in names:
                plain = _FILLER.sub("", name).casefold()
                role = "letter" if _OPTION_NAME.fullmatch(plain) else _ROLES.get(plain)
                if role is not None:
                    roles.setdefault(role, []).append(name)
            if roles.get("letter") in (["A"], ["a"]):  # a lone A is an answer, as in {Q, A}
                roles.setdefault("answer", []).extend(roles.pop("letter"))
            if len(self._roles) < _MAX_LAYOUTS:
                self._roles[names] = roles
        return roles

    def _text(self, record: Mapping[str, Any], roles: Roles) -> str:
        if self._fields.text is not None:
            return _joined(render(_look_up(record, name)) for name in self._fields.text)
        texts = _filled(record, roles, "text")
        asked = _filled(record, roles, "question")
        inputs = _filled(record, roles, "input")
        options = _options(record, roles)
        if options:
            stem = _only(asked) or _only(texts) or _only(_filled(record, roles, "title"))
            return _posed(record, roles, _joined([stem, options]), "答案") if stem else ""
        is_answered = self._doc_type in ("exam", "qa") and bool(_filled(record, roles, "answer"))
        # A field that is called just `text` is the text; another beside a question and its answer may belong to either.
        if texts and (list(texts) == ["text"] or not is_answered):
            return _only(texts)
        if texts and asked:
            raise DocumentError("ingest.ambiguous_text")
        question = _joined([_only(_filled(record, roles, "title")), _only(texts)]) if texts else ""
        question = question or _joined([_only(asked), _only(inputs)])
        if question:
            return _posed(record, roles, *((question, "答案") if self._doc_type == "exam" else (f"问：{question}", "答")))
        turns = [record[name] for name in roles.get("turns", ())]
        return _dialogue(turns[0]) if len(turns) == 1 else _only(_filled(record, roles, "piece"))

    def _one(self, record: Mapping[str, Any], roles: Roles, role: str, mapped: str | None) -> str:
        if mapped is not None:
            return render(_look_up(record, mapped), "、")
        if role not in roles:
            return ""
        values = list(dict.fromkeys(filter(None, (render(record[name], "、") for name in roles[role]))))
        return values[0] if len(values) == 1 else ""

    def _own_id(self, record: Mapping[str, Any], roles: Roles) -> str | None:
        if self._fields.id is not None:
            value = _look_up(record, self._fields.id)
        else:
            names = roles.get("id", ())
            value = record["id"] if "id" in names else record[names[0]] if len(names) == 1 else None
        if isinstance(value, str):
            return value.strip() or None
        # A float is refused: integers past 2^63 come out of the parser as floats, and two of them as one.
        return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def render(value: Any, joint: str = "\n") -> str:
    """A field's value as text: strings as they are, numbers by their digits, lists joined, ``{"A": "…"}`` as lines ``A. …``.

    Numbers, truth values and nulls inside lists and tables are labels, not text, and left out.
    """
    if isinstance(value, bool) or value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    return str(value) if isinstance(value, int | float) else _render(value, joint, 0)


def _render(value: Any, joint: str, depth: int) -> str:
    if isinstance(value, str):
        return value
    if depth == _MAX_DEPTH:
        return ""
    if isinstance(value, list):
        return _joined((_render(item, joint, depth + 1) for item in value), joint)
    if not isinstance(value, dict):
        return ""
    parts = {name: _render(item, joint, depth + 1) for name, item in value.items()}
    said = [part for name, part in parts.items() if part and role_of(name) in ("text", "piece")]
    if said:
        return " ".join([part for name, part in parts.items() if part and role_of(name) == "article"] + said)
    return _joined((f"{name}. {part}" if len(name) == 1 else f"{name}：{part}" for name, part in parts.items() if part), joint)


def _inner(value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, list):
        return [(str(number), item) for number, item in enumerate(value)]
    if not isinstance(value, dict):
        return []
    lists = [item for item in value.values() if isinstance(item, list) and any(isinstance(one, dict | list) for one in item)]
    tables = [(name, item) for name, item in value.items() if isinstance(item, dict)]
    if len(lists) == 1:
        return [(str(number), item) for number, item in enumerate(lists[0])]
    if len(tables) == len(value) or (len(tables) == 1 and not lists):
        return tables
    return []


def _look_up(record: Mapping[str, Any], path: str) -> Any:
    """The value of a field, or of a field in a field (``meta.accusation``)."""
    if path in record:
        return record[path]
    value: Any = record
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _filled(record: Mapping[str, Any], roles: Roles, role: str) -> dict[str, str]:
    if role not in roles:
        return {}
    values = ((name, render(record[name])) for name in roles[role])
    return {name: value for name, value in values if value and not value.isspace()}


def _only(values: Mapping[str, str]) -> str:
    distinct = list(dict.fromkeys(values.values()))
    if len(distinct) > 1:
        raise DocumentError("ingest.ambiguous_text")
    return distinct[0] if distinct else ""


def _filled_or_refused(text: str) -> str:
    if not text or text.isspace():
        raise DocumentError("ingest.no_text")
    return text


def _joined(parts: Iterator[str] | Sequence[str], joint: str = "\n") -> str:
    return joint.join(part for part in parts if part and not part.isspace())


def _options(record: Mapping[str, Any], roles: Roles) -> str:
    for name in roles.get("options", ()):
        value = record[name]
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return _joined(
                [item if _MARKED_OPTION.match(item) else f"{chr(65 + n)}. {item}" for n, item in enumerate(value[:26])]
            )
        text = render(value)
        if text and not text.isspace():
            return text
    letters = {name: text for name, text in _filled(record, roles, "letter").items() if isinstance(record[name], str)}
    if len(letters) < 2:
        return ""
    return _joined([value if _MARKED_OPTION.match(value) else f"{name[-1].upper()}. {value}" for name, value in letters.items()])


def _answer(record: Mapping[str, Any], roles: Roles) -> str:
    answers = _filled(record, roles, "answer")
    for name in answers:
        value = record[name]
        if isinstance(value, list) and all(isinstance(letter, str) and len(letter) == 1 for letter in value):
            answers[name] = "".join(value)
    return _only(answers)


def _posed(record: Mapping[str, Any], roles: Roles, question: str, answer_mark: str) -> str:
    """A question with all that belongs to it, each part on its own lines."""
    answer = _answer(record, roles)
    explanation = _joined(list(_filled(record, roles, "explanation").values()))
    return _joined(
        [
            *_filled(record, roles, "context").values(),
            question,
            f"{answer_mark}：{answer}" if answer else "",
            f"解析：{explanation}" if explanation else "",
        ]
    )


def _dialogue(turns: Any) -> str:
    lines = []
    for turn in turns if isinstance(turns, list) else ():
        if isinstance(turn, dict):
            speaker = str(turn.get("role", turn.get("from", ""))).casefold()
            said = render(turn.get("content", turn.get("value", "")))
            if said.strip() and speaker not in _INSTRUCTOR:
                lines.append(f"{'问' if speaker in _ASKER else '答'}：{said}")
    return "\n".join(lines)
