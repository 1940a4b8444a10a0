"""The running of computations: device and precision, processes, progress, and caches on disk."""
