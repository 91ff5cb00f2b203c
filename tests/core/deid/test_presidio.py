"""Presidio does not load spaCy until something uses it, and then the real one."""

import subprocess
import sys

SCRIPT = """
import sys
import lexmill.core.deid.presidio
assert not {"spacy", "thinc"} & set(sys.modules), "loaded"
from presidio_analyzer.nlp_engine import NlpArtifacts, nlp_artifacts, no_op_nlp_engine, spacy_nlp_engine
engine = no_op_nlp_engine.NoOpNlpEngine([{"lang_code": "zh", "model_name": "none"}])
engine.load()
tokens = engine.process_text("王五", "zh").tokens
import spacy
assert type(tokens) is spacy.tokens.Doc, type(tokens)
assert isinstance(tokens, nlp_artifacts.Doc) and not isinstance("", nlp_artifacts.Doc)
assert type(spacy_nlp_engine.spacy.blank("en")) is spacy.lang.en.English
assert spacy_nlp_engine.spacy.util.is_package("spacy")
"""


def test_spacy_comes_when_it_is_asked_for() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
