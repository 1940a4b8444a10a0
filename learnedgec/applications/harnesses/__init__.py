"""Metrics inside evaluation harnesses: one adapter, and a thin module for each harness."""
