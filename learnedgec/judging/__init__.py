"""Human judgements: studies in folders, what to ask next, the page on which people judge, and the status."""
