"""Meta-evaluation of a metric's agreement with human judgements, with intervals and tests.

- `agreement`: agreement with comparisons of two outputs of one sentence, correlation with ratings of outputs,
  and human scores of systems: expected wins, TrueSkill, mean ratings, published ones
- `measures`: all of them on a benchmark, with intervals by bootstrap, and the settings (`Protocol`)
- `results`: what an evaluation returns, and its tables
- `evaluation`: all of it for a benchmark and some metrics, with tests between the metrics
"""
