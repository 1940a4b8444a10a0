#!/usr/bin/env bash
# Train the released evaluator, from public data to checkpoints/joint-mpnet/. Every choice is in
# configs/released/joint-mpnet.yaml.
#
#   scripts/train_released.sh [OUTPUT]
#
# The encoder and the language model that teaches come from the hub, or from directories of their names here
# (sentence-transformers/all-mpnet-base-v2, HuggingFaceTB/SmolLM2-135M-Instruct), which go before it.
# After a stop, start it again: it goes on. WORK is the directory for pairs, logs and checkpoints.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH="${VENV:-.venv}/bin:$PATH"
exec learnedgec train --config configs/released/joint-mpnet.yaml --resume \
    --output "${1:-checkpoints}" --runs "${WORK:-runs/released}"
