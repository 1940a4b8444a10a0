"""Fine-tune evaluators: examples (`data`), model and losses (`module`), a run (`fit`), its package."""
