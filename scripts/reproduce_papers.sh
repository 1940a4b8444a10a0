#!/usr/bin/env bash
# SOME (Yoshimura et al. 2020) and IMPARA (Maeda et al. 2022) as in their papers: train on BERT-base, tune, and print
# the tables beside the papers'. Needs the hub, and data/conll13.m2, which NUS provides on request; without that file,
# IMPARA is left out.
#
#   scripts/reproduce_papers.sh [OPTION of learnedgec train, such as --trainer.precision bf16-mixed]
#
# Hours on one GPU, estimated at ten steps of BERT-base a second (on 16 cores without a GPU: about ten times as long):
#   SOME's three regressors            0.2   6,300 steps
#   three from existing data           0.3   9,000 steps
#   IMPARA's estimator                 0.2   4,096 pairs, made with the same encoder, and 2,000 steps
#   weights for systems, for sentences 0.2   four searches; each output is scored once
#   tables                             0.4   SEEDA, GJG15
# Start it again after a stop: what is done is kept, and a training run resumes. OUTPUT is the folder of the packages
# and tuned metrics, WORK that of logs and of what models computed. JFLEG, a folder with the judged outputs, which are
# not public, takes the place of GMEG's dev part in tuning for systems, as in the paper.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH="${VENV:-.venv}/bin:$PATH"
WORK=${WORK:-runs/papers}
OUTPUT=${OUTPUT:-checkpoints}
export LEARNEDGEC_EVALUATORS="$OUTPUT"

step() { # RESULT COMMAND…: run the command unless its result is there
    if [ ! -e "$OUTPUT/$1" ]; then
        echo "reproduce_papers: $1" >&2
        "${@:2}"
        echo "reproduce_papers: $1 after $((SECONDS / 60)) minutes" >&2
    fi
}

regressor() { # CONFIGURATION NAME HEAD INPUT RATINGS [OPTION…]
    step "$2/manifest.json" learnedgec train --config "configs/$1.yaml" --name "$2" \
        --model.heads "{$3: {input: $4}}" --data.ratings "$5" \
        --resume --output "$OUTPUT" --runs "$WORK" "${@:6}"
}

evaluate() { # TITLE OPTION…
    echo "== $1"
    learnedgec meta "${@:2}" --cache-dir "$WORK/cache"
}

three() { # the metric of three regressors, which PREFIX names
    echo "some(grammaticality='$1-grammaticality', fluency='$1-fluency', meaning='$1-meaning')"
}

regressor some some-grammaticality grammaticality hypothesis '[tmu-gfm]' "$@"
regressor some some-fluency fluency hypothesis '[tmu-gfm]' "$@"
regressor some some-meaning meaning pair '[tmu-gfm]' "$@"
# The paper's ratings of fluency, of Lau et al. (2014), are not public as files; these are their successor's.
regressor some-existing some-existing-grammaticality grammaticality hypothesis '[gug]' "$@"
regressor some-existing some-existing-fluency fluency hypothesis '[lau]' "$@"
regressor some-existing some-existing-meaning meaning pair '["sts:2012", "sts:2013", "sts:2014", "sts:2015", "sts:2016"]' "$@"
metrics=()
if [ -f data/conll13.m2 ]; then
    step impara/manifest.json learnedgec train --config configs/impara.yaml \
        --resume --output "$OUTPUT" --runs "$WORK" "$@"
    metrics+=("impara[impara]")
else
    echo "reproduce_papers: IMPARA is left out, because data/conll13.m2 is not there; ask NUS for CoNLL-2013." >&2
fi

search() { # PREFIX NAME BENCHMARK OBJECTIVE
    step "some@$2.json" learnedgec tune --metric "$(three "$1")" --benchmark "$3" --objective "$4" \
        --name "some@$2" --output "$OUTPUT" --cache-dir "$WORK/cache"
}

judged=${JFLEG:+jfleg}
judged=${judged:-gmeg}
for prefix in some some-existing; do
    search "$prefix" "$prefix-systems-$judged" "${JFLEG:+jfleg:}${JFLEG:-gmeg:dev}" pearson
    search "$prefix" "$prefix-sentences-gjg15" gjg15:12:dev10 sentence-kendall
done

evaluate "systems, with weights for systems" --benchmark gjg15:12 --measure pearson spearman \
    --metric "some@some-systems-$judged" "some@some-existing-systems-$judged" "${metrics[@]}"
evaluate "sentences, with weights for sentences" --benchmark gjg15:12:test90 \
    --measure sentence_accuracy sentence_kendall \
    --metric some@some-sentences-gjg15 some@some-existing-sentences-gjg15 "${metrics[@]}"
heads=()
for dimension in grammaticality fluency meaning; do
    for prefix in some some-existing; do
        heads+=("head(model='$prefix-$dimension', name='$dimension')")
    done
done
evaluate "each dimension alone" --benchmark gjg15:12 --metric "${heads[@]}" \
    --measure pearson spearman sentence_accuracy sentence_kendall
echo "== the papers' figures and ours"
learnedgec reproduce yoshimura2020 maeda2022 goto2025 --with "some=$(three some)" "${metrics[@]/#/impara=}" \
    --cache-dir "$WORK/cache"
