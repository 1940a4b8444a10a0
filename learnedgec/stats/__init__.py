"""Statistics that are independent of metrics: resampling, significance, correlation, TrueSkill."""
