"""The command line: one small module per command, each of which parses, calls and prints."""
