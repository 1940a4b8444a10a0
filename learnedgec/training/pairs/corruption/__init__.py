"""Ranked pairs by plausible corruption: mistakes learnt from real edits, inserted into correct text."""

from learnedgec.training.pairs.corruption.pairs import CorruptedPairs

__all__ = ["CorruptedPairs"]
