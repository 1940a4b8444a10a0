"""Fine-tune evaluators: data (`data`), model and losses (`module`), runs (`fit`) and packages (`package`)."""
