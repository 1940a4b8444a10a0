#!/usr/bin/env bash
# Train the released evaluator, from public data to checkpoints/joint-mpnet-3/, in three stages. Every choice is in
# configs/released/joint-mpnet.yaml, joint-mpnet-2.yaml and joint-mpnet-3.yaml.
#
#   scripts/train_released.sh [OUTPUT]
#
# The encoder and the language model that teaches come from the hub, or from directories of their names here
# (sentence-transformers/all-mpnet-base-v2, HuggingFaceTB/SmolLM2-135M-Instruct), which take precedence.
# Start it again after a stop: finished stages are kept, an unfinished one resumes. WORK is the directory for pairs,
# logs and checkpoints.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH="${VENV:-.venv}/bin:$PATH"
output="${1:-checkpoints}"
export LEARNEDGEC_EVALUATORS="$output"
for stage in joint-mpnet joint-mpnet-2 joint-mpnet-3; do
    if [ ! -f "$output/$stage/manifest.json" ]; then
        learnedgec train --config "configs/released/$stage.yaml" --resume \
            --output "$output" --runs "${WORK:-runs/released}"
    fi
done
