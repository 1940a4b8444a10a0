"""Ranked pairs by plausible corruption: mistakes learnt from real edits, made where a text is right."""

from learnedgec.training.pairs.corruption.pairs import CorruptedPairs

__all__ = ["CorruptedPairs"]
