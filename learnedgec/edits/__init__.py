"""Edits between two sentences: alignment, extraction and types."""
