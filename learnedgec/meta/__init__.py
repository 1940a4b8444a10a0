"""Meta-evaluation: how far a metric agrees with people, with the uncertainty of that statement.

human_scores  people's scores of systems: expected wins, TrueSkill, mean ratings, published ones
agreement     with people's comparisons of two outputs of one sentence
segments      correlation with ratings of single outputs
measures      all of them on a benchmark, with intervals by bootstrap
protocol      how a meta-evaluation is done
evaluation    all of it for a benchmark and some metrics, with tests between these
"""
