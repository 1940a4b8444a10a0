"""Tuning: find the parameters with which a metric agrees best with human judgements, and how much it gains.

- `space`: the tuned parameters: weights on the simplex, numbers, choices
- `objective`: the maximised value: agreement with human judgements on one benchmark
- `search`: trials of a metric, from statistics that are computed once, held-out folds, and comparisons
- `task`: all of it in one call, and its result
- `sweep`: training runs with other settings
"""
