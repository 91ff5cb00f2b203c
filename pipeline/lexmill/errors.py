"""Every deliberate exception, and what the driver does with it.

::

    LexmillError
    ├── DocumentError          one document is bad: the batch catches it and quarantines the document by its rule
    ├── ConfigError      (2)   the run file is wrong: nothing has been done
    ├── RuleError        (2)   a rule file is wrong or does not prove its examples: nothing has been done
    ├── InputError       (3)   input is missing, or nothing in it is readable
    ├── GateError        (4)   numbers do not balance, or personal data is left: nothing is published
    ├── LockError        (5)   another live run holds the workspace
    ├── StoppedError     (6)   full disk, read-only workspace, lost cluster, failed part: run it again
    └── NothingNew       (99)  a night without new files: nothing was done

Anything else that escapes is a bug (exit code 1). No message carries text, a title, a path inside a source, or a case number of
a document: documents are named by ``doc_id`` and file number only.
"""

EXIT_OK = 0
EXIT_BUG = 1
EXIT_CONFIG = 2
EXIT_INPUT = 3
EXIT_GATE = 4
EXIT_LOCK = 5
EXIT_STOPPED = 6
EXIT_NOTHING_NEW = 99
EXIT_INTERRUPTED = 130


class LexmillError(Exception):
    """The root of every deliberate exception; ``exit_code`` is what the command ends with."""

    exit_code = EXIT_BUG


class DocumentError(LexmillError):
    """One document cannot go on; ``rule`` is the ledger's reason (``stage.reason``), and there is no other message."""

    def __init__(self, rule: str) -> None:
        super().__init__(rule)
        self.rule = rule

    def __reduce__(self) -> tuple[type["DocumentError"], tuple[str]]:
        return (DocumentError, (self.rule,))


class ConfigError(LexmillError):
    """The run file is wrong; the message lists all faults at once, each with file, key and remedy."""

    exit_code = EXIT_CONFIG


class RuleError(LexmillError):
    """A rule file is wrong; the message lists all faults at once, each with file, rule and remedy."""

    exit_code = EXIT_CONFIG


class InputError(LexmillError):
    """Input is missing or nothing in it is readable."""

    exit_code = EXIT_INPUT


class GateError(LexmillError):
    """A gate failed (balance, residual personal data): nothing was published."""

    exit_code = EXIT_GATE


class LockError(LexmillError):
    """A live run holds the workspace."""

    exit_code = EXIT_LOCK


class StoppedError(LexmillError):
    """The run stopped part-way; the same command goes on from the finished parts."""

    exit_code = EXIT_STOPPED


class NothingNew(LexmillError):
    """A night found no raw file that is new, changed or gone."""

    exit_code = EXIT_NOTHING_NEW
