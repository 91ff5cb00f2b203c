"""Searches for many words at once: the leftmost, of these the longest."""

from collections.abc import Sequence

from ahocorasick_rs import AhoCorasick, Implementation, MatchKind


def build_automaton(words: Sequence[str]) -> AhoCorasick:
    """For the words of the rules: searches twice as fast as the default, and is slower to build."""
    return AhoCorasick(words, matchkind=MatchKind.LeftmostLongest, implementation=Implementation.DFA)


def build_passing_automaton(words: Sequence[str]) -> AhoCorasick:
    """For the names of one text: to build it takes longer than to search, and this kind is built fastest."""
    return AhoCorasick(words, matchkind=MatchKind.LeftmostLongest, implementation=Implementation.ContiguousNFA)
