"""How work runs: device and precision, processes, progress, and what is kept on disk."""
