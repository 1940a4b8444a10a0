"""Meta-evaluation: how far a metric agrees with people, with the uncertainty of that statement.

correlation   between the scores of a few systems: r, ρ, τ, pairwise accuracy, soft and partial
agreement     with people's comparisons of two outputs of one sentence
segments      correlation with ratings of single outputs
significance  intervals by bootstrap, PERM-BOTH and Williams tests between metrics
evaluation    all of it for a benchmark and some metrics
plots         figures of an evaluation
"""
