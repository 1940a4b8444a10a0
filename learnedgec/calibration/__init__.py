"""What a score means: where it stands among outputs that people rated, and what they thought of such outputs.

reference    a metric's scores on a benchmark's outputs, with the preferences that go with them
fitting      how such a reference is made
explanation  what a reference says of a system, in words
released     references of the released evaluator's metrics (`released.json`), by name and weights
"""
