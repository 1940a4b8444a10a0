"""What scores say: rankings, comparisons, attribution, explanations, agreement with people."""
