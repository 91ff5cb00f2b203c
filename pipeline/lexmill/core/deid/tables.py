"""The tables of ``rules/deid/*.toml``; ``rules.DeidRules`` adds the proof."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from lexmill.core.rulebook import Rule, Rulebook

# The type of a document that is read as a judgment because nobody said what it is.
AUTO = "auto"
# TOML arrays are lists; strictness is for the items.
Texts = Annotated[tuple[str, ...], Field(strict=False)]
Entity = Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Z0-9_]+$")]
# What a person is to the case; policies decide by it. The later ones win when a person is several.
PersonRole = Literal["mention", "party", "agent", "lawyer", "official", "protected"]
Strength = Literal["sure", "likely", "weak"]
# What a name needs in a type of document: nothing but its place in the story, a sure cue, or a cue with a colon or a signature.
Evidence = Literal["story", "cue", "label"]
LexiconName = Literal[
    "surname",  # single-character surnames
    "weak_surname",  # of these, such as are common words: they need more evidence
    "rare_surname",  # so rare that they lead to a person
    "compound_surname",
    "non_name",  # characters that no given name holds
    "never_name",  # of these, such as no full name holds either
    "not_a_name",  # words that begin like a name
    "nobody",  # what the model takes for a person and is none
    "history",  # persons of history: in forms nobody
    "stand_in",  # who stands for anybody: in forms nobody
    "nobody_part",  # characters of such
    "given_character",  # characters that given names are mostly written with
    "given_word",  # two characters that a given name may have and that are a word, or stand together by chance
    "name_part",  # morphemes of two and three characters: two of them in a row are a Tibetan, Mongolian, Uyghur or Yi name
    "transliteration",  # characters that write foreign names
    "title",  # what stands behind a surname where no given name does
    "act",  # words that say what a person does: one may stand right after a name
    "beside",  # characters that a name may stand right after
    "follower",  # words that may stand right after a name
    "place_end",  # how places and bodies end that look like names
    "city",  # cities above the county
    "province",
    "org_role",  # words before an organisation's name that say its part in the case
    "org_verb",  # characters that make a stretch before a bare 公司 a clause
    "org_generic",  # words that say a kind of organisation and name none
    "org_trade",  # trades: of these, such as hold what elsewhere ends the search for a name's beginning
    "org_inner",  # other words of trade names that do
    "org_end",  # how organisations and public bodies end
    "org_boundary",  # words that end the search for the beginning of an organisation's name
]


class Lexicon(Rule):
    """A list of words (separated by white space); tables of one ``name`` are joined. Proof: ``has`` and ``lacks``."""

    name: LexiconName
    words: str
    has: Texts
    lacks: Texts


class Example(Rule):
    """A detection rule: in ``match`` the spans it must find are marked ⟦so⟧; in ``no_match`` it must find nothing."""

    match: Annotated[Texts, Field(min_length=1)]
    no_match: Texts


class Identifier(Example):
    """A number or code, judged on the folded run of letters and digits.

    ``form`` must match the whole run; ``loose`` (default: ``form``) when a ``cue`` stands before it. ``decision`` says what else
    a run without a cue needs: ``form`` nothing, ``check`` a right check digit, ``cue`` it is never taken without. ``before``
    and ``after`` are single characters (as a class) that belong to the number. ``keep`` characters stay, then ``surrogate``.
    Without a cue and without ``before`` only runs of 11 to 24 letters and digits are looked at, four figures among them.
    A ``closed`` number ends with a character in parentheses, which ``form`` and check take without them.
    """

    entity: Entity
    form: str
    loose: str = ""
    check: str = ""
    cue: str = ""
    decision: Literal["form", "check", "cue"]
    before: str = ""
    after: str = ""
    closed: bool = False
    keep: int = 0
    surrogate: str = "×××"


class Certificate(Example):
    """A number among Chinese characters: ``pattern``, looked for if a word of ``trigger`` occurs, has a group ``id`` to mask.

    Where there is a ``check``, what the group holds must pass it.
    """

    entity: Entity
    trigger: str
    pattern: str
    check: str = ""
    surrogate: str = "×××"


class Role(Example):
    """Words after which a person's name stands.

    ``strength``: ``sure`` = what follows is a name of any kind, if the line leaves no doubt; ``likely`` = a name with a known
    surname; ``weak`` = a name where a colon or a signature shows it, else one point.
    """

    cues: str
    strength: Strength
    role: PersonRole


class PersonPattern(Example):
    """A pattern for names that cue words do not find, tried around each match of ``trigger``.

    Groups ``a`` and ``b`` hold names or lists of names; ``{NAME}``, ``{NAMES}``, ``{SURNAMES}``, ``{HAN}``, ``{SOUNDS}`` (of
    transliterations) stand for what they say. A ``foreign`` name need not begin with a surname.
    """

    trigger: str
    pattern: str
    role: PersonRole
    foreign: bool = False


class Alias(Example):
    """Words that introduce another name of the person or organisation before them."""

    cues: str


class ProtectedCase(Rule):
    """Causes of action whose parties 法释〔2016〕19号 art. 8 hides; looked for in the heading."""

    pattern: str
    match: Texts
    no_match: Texts


class Withheld(Rule):
    """Judgments that 法释〔2016〕19号 art. 4 keeps offline: ``pattern`` is looked for ``within`` the heading or the whole text.

    The heading is the title, the cause of action and the first 1,500 characters. The rule is tried where a word of ``trigger``
    stands, and does not hold where the heading shows ``unless``.
    """

    trigger: str
    pattern: str
    unless: str = ""
    within: Literal["heading", "text"]
    drop: Annotated[Texts, Field(min_length=1)]
    keep: Annotated[Texts, Field(min_length=1)]


class Sensitive(Rule):
    """Sensitive information that is counted, by documents of ``doc_types`` that hold ``pattern``."""

    doc_types: Texts
    pattern: str
    match: Annotated[Texts, Field(min_length=1)]
    no_match: Texts


class Organisation(Example):
    """How an organisation's name ends, and what stands for it.

    ``suffixes`` of a company form (有限公司) or of few other words show a name; such as also end common words (厂, 集团) are
    ``doubtful`` and need a place in the name or the organisation's part in the case before it.
    """

    entity: Entity
    suffixes: str
    doubtful: str = ""
    surrogate: str


class PublicBody(Rule):
    """How the name of a court or public body ends: such a name is kept, and holds no person."""

    suffixes: str
    match: Texts
    no_match: Texts


class Address(Example):
    """Words after which an address stands; an organisation's seat is a person's address where the line tells a sex."""

    entity: Literal["ADDRESS", "ORG_ADDRESS"]
    cues: str


class BirthDate(Example):
    """A pattern of a birth date: groups ``year`` (kept) and ``date`` (the whole)."""

    pattern: str
    surrogate: str


class Reading(Rule):
    """How texts of ``doc_types`` are read: the ``evidence`` a name needs there, and ``ignore``, entities never masked there."""

    doc_types: Texts
    evidence: Evidence
    ignore: Annotated[tuple[Entity, ...], Field(strict=False)]


class Policy(Rule):
    """What is masked: entities by type, persons by their role. Whatever is not named in ``keep`` or ``keep_roles`` is masked."""

    name: str
    version: str
    mask: Annotated[tuple[Entity, ...], Field(strict=False)]
    keep: Annotated[tuple[Entity, ...], Field(strict=False)]
    mask_roles: Annotated[tuple[PersonRole, ...], Field(strict=False)]
    keep_roles: Annotated[tuple[PersonRole, ...], Field(strict=False)]


class DeidTables(Rulebook):
    """All tables of the family, one tuple a kind."""

    lexicon: tuple[Lexicon, ...]
    identifier: tuple[Identifier, ...]
    certificate: tuple[Certificate, ...]
    role: tuple[Role, ...]
    person_pattern: tuple[PersonPattern, ...]
    alias: tuple[Alias, ...]
    protected_case: tuple[ProtectedCase, ...]
    organisation: tuple[Organisation, ...]
    public_body: tuple[PublicBody, ...]
    address: tuple[Address, ...]
    birth_date: tuple[BirthDate, ...]
    withheld: tuple[Withheld, ...]
    sensitive: tuple[Sensitive, ...]
    reading: tuple[Reading, ...]
    policy: tuple[Policy, ...]

    def words(self, name: LexiconName) -> tuple[str, ...]:
        """The joined lists of that name, in order, each word once."""
        return tuple(dict.fromkeys(word for table in self.lexicon if table.name == name for word in table.words.split()))

    def characters(self, name: LexiconName) -> str:
        """The joined lists of that name as single characters, each once."""
        return "".join(dict.fromkeys("".join(self.words(name))))
