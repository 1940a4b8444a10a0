"""Analyses of scores: rankings, comparisons, attribution, explanations and agreement with people."""
