"""Metrics at work inside other systems: choosing among outputs, rewards, services."""
