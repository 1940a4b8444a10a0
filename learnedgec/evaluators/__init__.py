"""Pretrained models and trained evaluators: loading, batches, inference, packages."""
