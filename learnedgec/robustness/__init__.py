"""Does a system correct, and does a metric prefer, the same where only unrelated context changes?

`systems`      a system's outputs for sentences and their variants (RobustGEC)
`preferences`  a metric's preference for the correction, on sentences and their variants
`attacks`      a metric's preference for outputs that were made to fool one
`perturbation` variants of any parallel corpus
"""
