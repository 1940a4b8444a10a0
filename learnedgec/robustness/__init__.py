"""Robustness of a system's corrections, and of a metric's preferences, in other contexts.

- `systems`: a system's outputs for sentences and their variants (RobustGEC)
- `metrics`: a metric's preference for the correction, on sentences and their variants, and for outputs that
  were made to fool a metric
- `perturbation`: variants of any parallel corpus
"""
