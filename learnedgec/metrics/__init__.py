"""Metrics behind one contract (`base`), found by name (`registry`); one module per idea."""
