"""Tuning: find the parameters with which a metric agrees best with human judgements, and how much it gains.

- `space`: what is tuned: weights on the simplex, numbers, choices
- `objective`: what is maximised: agreement with human judgements on one benchmark
- `trials`: trials in a study that several processes may share, from statistics that are computed once
- `search`: all of it: trials, held-out folds, the tuned metric and its comparison
"""
