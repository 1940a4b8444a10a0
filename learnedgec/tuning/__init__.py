"""Tuning: find the parameters with which a metric agrees best with people, and say how much to believe.

space    what is tuned: weights on the simplex, numbers, choices
goal     what is maximised: agreement with people on one benchmark
study    trials that several processes share, through an optuna storage
search   all of it: statistics once, trials, held-out folds, the tuned metric and its comparison
plots    ternary map, history, importance
"""
