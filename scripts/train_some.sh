#!/bin/sh
# SOME as in the paper: three separate BERT-base regressors, one per dimension. Takes the options of
# `learnedgec train`; `--resume` continues. Then: some(grammaticality='checkpoints/some-grammaticality', …).
set -eu
cd "$(dirname "$0")/.."
PATH="${VENV:-.venv}/bin:$PATH"
for dimension in grammaticality fluency meaning; do
    input=hypothesis
    [ "$dimension" = meaning ] && input=pair
    learnedgec train --config configs/some.yaml --name "some-$dimension" \
        --model.heads "{$dimension: {input: $input}}" "$@"
done
