"""What enters and leaves: text, tables, M2 files and references."""
