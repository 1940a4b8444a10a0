"""Whether corrections of a system, and preferences of a metric, stay the same in other contexts.

- `systems`: a system's outputs for sentences and their variants (RobustGEC)
- `preferences`: a metric's preference for the correction, on sentences and their variants
- `attacks`: a metric's preference for outputs that were made to fool one
- `perturbation`: variants of any parallel corpus
"""
