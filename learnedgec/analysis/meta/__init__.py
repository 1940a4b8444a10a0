"""Meta-evaluation: how well a metric agrees with human judgements, with intervals and tests.

- `human_scores`: human scores of systems: expected wins, TrueSkill, mean ratings, published ones
- `agreement`: agreement with human comparisons of two outputs of one sentence
- `segments`: correlation with ratings of single outputs
- `measures`: all of them on a benchmark, with intervals by bootstrap
- `protocol`: the settings of a meta-evaluation
- `evaluation`: all of it for a benchmark and some metrics, with tests between the metrics
"""
