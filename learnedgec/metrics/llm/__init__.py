"""Metrics that ask a large language model how good corrections are."""
