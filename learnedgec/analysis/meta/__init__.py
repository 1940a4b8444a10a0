"""Meta-evaluation of a metric's agreement with human judgements, with intervals and tests.

- `human_scores`: human scores of systems: expected wins, TrueSkill, mean ratings, published ones
- `agreement`: agreement with comparisons of two outputs of one sentence, correlation with ratings of outputs
- `measures`: all of them on a benchmark, with intervals by bootstrap, and the settings (`Protocol`)
- `evaluation`: all of it for a benchmark and some metrics, with tests between the metrics
"""
