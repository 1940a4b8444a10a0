"""Statistics that know nothing of metrics: resampling, significance, correlation, TrueSkill."""
