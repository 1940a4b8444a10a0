"""Input and output formats: text, tables, M2 files and references."""
