"""Corpora that are larger than memory, or than one machine: read, scored and kept in blocks."""
