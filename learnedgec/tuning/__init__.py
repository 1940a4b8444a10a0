"""Tuning: find the parameters with which a metric agrees best with human judgements, and how much it gains.

- `space`: what is tuned: weights on the simplex, numbers, choices
- `objective`: what is maximised: agreement with human judgements on one benchmark
- `trials`: trials in Optuna, which several processes may share; those of a metric, from statistics that are
  computed once, and held-out folds
- `search`: all of it: trials, the tuned metric and its comparison
- `sweep`: training runs with other settings
"""
