"""How computations run: device and precision, processes, progress, and caches on disk."""
