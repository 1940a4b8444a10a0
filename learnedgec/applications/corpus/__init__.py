"""Score corpora that are too large for memory or for one machine, block by block."""
