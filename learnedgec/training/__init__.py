"""Fine-tune evaluators on ratings and ranked pairs.

- `pairs`: sources of ranked pairs
- `examples`, `batches`, `data`: rows that heads learn from, batches of tokens, and the LightningDataModule
- `objectives`, `start`, `module`: losses, the model that training starts from, and the LightningModule
- `settings`: what a training is, as a command line, a file or Python says it
- `callbacks`, `run`, `fit`: checkpoints and progress, one run, and several seeds
- `evaluate`, `package`: results with verdicts on the heads, and the package with its model card
- `tables`: training from Python
"""
