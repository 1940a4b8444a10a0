#!/usr/bin/env bash
# Train an evaluator as it was released, from public data to checkpoints/NAME/. Every choice is in configs/released/.
#
#   scripts/train_released.sh [OUTPUT]   joint-mpnet-3, in three stages
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

stage() { # NAME OPTION…
    if [ ! -f "$output/$1/manifest.json" ]; then
        learnedgec train "${@:2}" --name "$1" --resume --output "$output" --runs "${WORK:-runs/released}"
    fi
}

for name in joint-mpnet joint-mpnet-2 joint-mpnet-3; do
    stage "$name" --config "configs/released/$name.yaml"
done
