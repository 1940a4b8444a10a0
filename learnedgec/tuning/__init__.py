"""Tuning: find the parameters with which a metric agrees best with human judgements, and how much it gains.

- `space`: what is tuned: weights on the simplex, numbers, choices
- `objective`: what is maximised: agreement with human judgements on one benchmark
- `study`: trials that several processes share, through an optuna storage
- `trials`: a metric with other parameters, from statistics that are computed once
- `search`: all of it: statistics, trials, held-out folds, the tuned metric and its comparison
- `results`: what a search found
"""
