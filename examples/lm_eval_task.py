"""A metric for a task of lm-evaluation-harness, whose YAML names the two functions of a copy of this file.

    output_type: generate_until
    process_results: !function lm_eval_task.process_results
    metric_list:
      - metric: gleu
        aggregation: !function lm_eval_task.aggregate
        higher_is_better: true

The corpus is scored at once, when all documents are done.
"""

from learnedgec import extract_correction, score

METRIC, SOURCE, REFERENCES = "gleu", "source", "references"  # the metric, and keys of a document


def process_results(document, completions):
    """Return what is kept of a document: the source, the correction in the completion, references."""
    correction = extract_correction(completions[0], document[SOURCE])
    return {METRIC: (document[SOURCE], correction, document[REFERENCES])}


def aggregate(kept):
    """Return the score of the corpus."""
    sources, corrections, references = zip(*kept, strict=True)
    return score(METRIC, sources, corrections, references).value


if __name__ == "__main__":
    document = {"source": "He go home .", "references": ["He goes home ."]}
    kept = process_results(document, ["<think>go?</think>Corrected: He goes home ."])
    print(f"{METRIC}: {aggregate([kept[METRIC]])}")
