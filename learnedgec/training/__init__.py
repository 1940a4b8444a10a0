"""Fine-tune evaluators: examples (`data`), the model and its losses (`module`), a run (`fit`), its package."""
