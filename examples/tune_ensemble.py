"""Tune the weights of an ensemble on human judgements, and see how much of the gain is real."""

from learnedgec import load_benchmark, load_metric
from learnedgec.tuning.objective import Goal
from learnedgec.tuning.search import tune
from learnedgec.tuning.trials import SearchPlan

benchmark = load_benchmark("sample")  # or gmeg:dev, tmu-gfm, or the path of a folder of your own
ensemble = load_metric("ensemble(gleu=0.5, green=0.3, edit-count=0.2)")

tuning = tune(ensemble, benchmark, Goal("sentence-accuracy"), SearchPlan(trials=40, folds=3))

print(f"given weights   {tuning.references['given'].value:.3f} of people's preferences agreed with")
print(f"tuned weights   {tuning.best.value:.3f}, on the sentences that it was tuned on")
print(f"held-out folds  {tuning.held_out[0]:.3f} tuned, {tuning.given_held_out[0]:.3f} given")
weights = dict(zip(("gleu", "green", "edit-count"), tuning.best.metric.weights, strict=True))
print(f"weights         {weights}")
