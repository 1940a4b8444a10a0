"""Fine-tune evaluators: examples (`data`), the model with its losses (`module`), packages (`package`)."""
