"""Searches for many words at once."""

from collections.abc import Sequence

from ahocorasick_rs import AhoCorasick, Implementation, MatchKind


def build_automaton(words: Sequence[str]) -> AhoCorasick:
    """Finds the leftmost, of these the longest of ``words``; twice as fast as the default and slower to build, so for rules only."""
    return AhoCorasick(words, matchkind=MatchKind.LeftmostLongest, implementation=Implementation.ContiguousNFA)
