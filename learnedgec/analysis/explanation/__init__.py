"""What a score means: its place among rated outputs, and how human raters judged such outputs.

- `reference`: a metric's scores on a benchmark's outputs, with human preferences between output and source
- `fitting`: how such a reference is built
- `explain`: a system's score in words, by a reference
- `released`: references of the released evaluator's metrics (`released.json`), by name and package
"""
