"""What one token of a million characters costs in every metric; docs/performance.md shows the table.

    python scripts/benchmark/long_token.py [--characters 1000000] [--changed 0.01] [--metrics gleu hter …]

A source has the token, a hypothesis and a reference have it with some of its letters changed. Such a line is
no sentence: it is a file without line breaks, encoded data, or an attack on a service that scores. Metrics
that can count characters come with `unit='char'` too; models are the tests' small ones and the released
evaluator (scripts/reliability/offline.py). Every metric runs in a process of its own, which first scores a
short sentence; what counts is processor time, user and system, and a metric is stopped after `--patience`
seconds of it.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import multiprocessing
import os
import random
import resource
import signal
import string
import sys
import tempfile
import time
import warnings
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

HERE = Path(__file__).resolve().parent
# `errant.py` beside this script is not the package of that name.
sys.path = [place for place in sys.path if Path(place or ".").resolve() != HERE]

SHORT = ("She like walks very much .", "She likes walk very much .", "She likes walks a lot .")
# Memory that a process may ask for, in bytes.
MOST_MEMORY = 12 << 30


def altered(token: str, share: float, seed: int) -> str:
    """Return a token with a share of its letters replaced, left out or doubled."""
    generator = random.Random(seed)
    letters = list(token)
    for place in generator.sample(range(len(letters)), round(share * len(letters))):
        letters[place] = generator.choice(
            ("", letters[place] * 2, generator.choice(string.ascii_lowercase))
        )
    return "".join(letters)


def sentences(characters: int, changed: float) -> tuple[str, str, str]:
    """Return a source, a hypothesis and a reference whose third token is long."""
    token = "".join(random.Random(0).choices(string.ascii_lowercase, k=characters))
    tokens = (token, altered(token, changed, 1), altered(token, changed, 2))
    return tuple(  # type: ignore[return-value]
        " ".join([*text.split()[:2], long, *text.split()[3:]])
        for text, long in zip(SHORT, tokens, strict=True)
    )


def measure(name: str, characters: int, changed: float) -> dict[str, Any]:
    """Score one sentence with one metric, and return what that took."""
    from learnedgec.errors import LearnedgecError
    from learnedgec.metrics.registry import load_metric

    metric = load_metric(name)

    def score(source: str, hypothesis: str, reference: str) -> float:
        references = [[reference]] if metric.needs_references else None
        systems = {"ours": [hypothesis]}
        if metric.name == "gotoscorer":
            # It asks which systems fail where.
            systems["unchanged"] = [source]
        return metric.score_systems([source], systems, references)["ours"].value

    texts = sentences(characters, changed)
    problem = ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        score(*SHORT)
    before, clock = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    with warnings.catch_warnings(record=True) as notices:
        warnings.simplefilter("always")
        try:
            value = score(*texts)
        except LearnedgecError as error:
            value, problem = math.nan, str(error)
    after = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "value": value,
        "processor": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "wall": time.perf_counter() - clock,
        "memory": (after.ru_maxrss - before.ru_maxrss) / 1024,
        "notices": sorted({notice.category.__name__ for notice in notices}),
        "problem": problem,
    }


def _child(sender: Connection, patience: int, *job: Any) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (patience, patience + 1))
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    try:
        sender.send(measure(*job))
    except Exception as error:
        sender.send(f"{type(error).__name__}: {error}"[:200])


def in_process(patience: int, *job: Any) -> dict[str, Any] | str:
    """Measure in a process of its own; return why it did not end where it did not."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_child, args=(sender, patience, *job))
    child.start()
    sender.close()
    try:
        found: dict[str, Any] | str = receiver.recv()
    except EOFError:
        child.join()
        stopped = child.exitcode in (-signal.SIGXCPU, -signal.SIGKILL)
        found = f"stopped after {patience} s" if stopped else f"ended with {child.exitcode}"
    child.join()
    return found


def metrics(folder: Path) -> dict[str, str]:
    """Return label -> name of every metric that loads here, by words and, where that is, by characters."""
    sys.path.insert(0, str(HERE.parent / "reliability"))
    import offline

    from learnedgec.metrics.registry import with_parameters

    found: dict[str, str] = {}
    for label, metric in offline.metrics(folder).items():
        if label == "gotoscorer":
            metric = with_parameters(metric, {"weights": None})
        found[label] = str(metric)
        parameters = {field.name for field in dataclasses.fields(metric)}
        if "annotator" in parameters and getattr(metric, "edits", "errant") == "errant":
            found[f"{label} (plain)"] = str(with_parameters(metric, {"annotator": "plain"}))
        if "unit" in parameters:
            apart: dict[str, Any] = {"unit": "char"}
            if "assumption" in parameters:
                apart |= {"edits": "aligned", "annotator": None, "weights": "length"}
            found[f"{label} (char)"] = str(with_parameters(metric, apart))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--characters", type=int, default=10**6)
    parser.add_argument("--changed", type=float, default=0.01, help="share of the token's letters")
    parser.add_argument("--patience", type=int, default=60, help="processor seconds for a metric")
    parser.add_argument("--metrics", nargs="+", help="labels; all by default")
    options = parser.parse_args()
    # Tokenizers' threads do not live on in the processes of metrics.
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    table = Table(
        title=f"A token of {options.characters:,} characters, {options.changed:.0%} changed"
    )
    for column in ("metric", "processor s", "memory added, MiB", "score", "notices"):
        table.add_column(column, justify="left" if column in ("metric", "notices") else "right")
    with tempfile.TemporaryDirectory() as folder:
        for label, name in metrics(Path(folder)).items():
            if options.metrics and label.split(" (")[0] not in options.metrics:
                continue
            found = in_process(options.patience, name, options.characters, options.changed)
            if isinstance(found, str):
                row: Sequence[str] = (label, found, "", "", "")
            else:
                row = (
                    label,
                    f"{found['processor']:.2f}",
                    f"{found['memory']:.0f}",
                    f"{found['value']:.4f}",
                    found["problem"] or ", ".join(found["notices"]),
                )
            print("\t".join(row), file=sys.stderr, flush=True)
            table.add_row(*row)
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
