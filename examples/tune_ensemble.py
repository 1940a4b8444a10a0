"""Tune the weights of an ensemble on human judgements, and see how much of the gain is real."""

from learnedgec import SearchPlan, load_benchmark, load_metric, tune

benchmark = load_benchmark("sample")  # or gmeg:dev, tmu-gfm, or the path of a folder of your own
ensemble = load_metric("ensemble(gleu=0.5, green=0.3, edit-count=0.2)")

plan = SearchPlan(trials=40, folds=3)
tuned = tune(ensemble, benchmark, objective="sentence-accuracy", trials=plan, output=None)

print(f"given weights   {tuned.candidates['given'].value:.3f} of people's preferences agreed with")
print(f"tuned weights   {tuned.best.value:.3f}, on the sentences that it was tuned on")
print(f"held-out folds  {tuned.held_out[0]:.3f} tuned, {tuned.given_held_out[0]:.3f} given")
weights = dict(zip(("gleu", "green", "edit-count"), tuned.best.metric.weights, strict=True))
print(f"weights         {weights}")
