"""Any metric as a module of Hugging Face's `evaluate` (needs `pip install evaluate`).

A copy of this file is the module: `evaluate.load("evaluate_module.py", "gleu")`, where gleu is the metric.
"""

import evaluate
from datasets import Features, Sequence, Value

from learnedgec import load_metric


class LearnedGEC(evaluate.Metric):
    """The metric that the configuration names."""

    def _info(self):
        self.metric = load_metric(self.config_name)
        features = {"sources": Value("string"), "predictions": Value("string")}
        if self.metric.needs_references:
            features["references"] = Sequence(Value("string"))
        about = f"{self.metric.label} of learnedgec, for grammatical error correction"
        return evaluate.MetricInfo(description=about, citation="", features=Features(features))

    def _compute(self, sources, predictions, references=None):
        score = self.metric.score(sources, predictions, references)
        sentences = score.sentences.tolist()
        return {self.metric.name: score.value, "sentences": sentences, "signature": score.signature}


if __name__ == "__main__":
    gleu = evaluate.load(__file__, "gleu")
    texts = {"sources": ["He go home ."], "predictions": ["He goes home ."]}
    result = gleu.compute(**texts, references=[["He goes home ."]])
    print(f"gleu: {result['gleu']} ({result['signature']})")
