"""Meta-evaluate metrics: how far they agree with people, beside sentinels that know nothing of grammar."""

from learnedgec import Protocol, Resampling, evaluate, load_benchmark

benchmark = load_benchmark("sample")  # or seeda-s, gjg15, gmeg:fce, the path of your own folder
evaluation = evaluate(["gleu", "green", "m2"], benchmark, Protocol(resampling=Resampling(200)))

print("How often the metric prefers the output that people prefer, with its 95 % interval:")
for entry in evaluation.metrics:
    accuracy = entry.estimates["sentence_accuracy"]
    low, high = accuracy.over_sentences
    kind = "sentinel" if entry.sentinel else "metric"
    print(f"{kind:8}  {entry.metric:10} {accuracy.value:.3f} [{low:.3f}, {high:.3f}]")
