#!/bin/sh
# SOME from data that was there before, as in its paper: three separate BERT-base regressors. Takes the options of
# `learnedgec train`; `--resume` continues.
set -eu
cd "$(dirname "$0")/.."
PATH="${VENV:-.venv}/bin:$PATH"
train() {
    dimension=$1 input=$2 ratings=$3
    shift 3
    learnedgec train --config configs/some-existing.yaml --name "some-existing-$dimension" \
        --model.heads "{$dimension: {input: $input}}" --data.ratings "$ratings" "$@"
}
train grammaticality hypothesis '[gug]' "$@"
train fluency hypothesis '[lau]' "$@"
train meaning pair '["sts:2012", "sts:2013", "sts:2014", "sts:2015", "sts:2016"]' "$@"
