"""Metrics behind one contract (`base`), found by name (`names`); one module per idea."""
