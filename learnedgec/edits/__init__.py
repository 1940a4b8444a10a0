"""Edits between two sentences: how they are aligned and extracted."""
