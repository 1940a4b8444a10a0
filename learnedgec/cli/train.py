"""`learnedgec train`: train an evaluator package from a configuration."""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

from jsonargparse import ArgumentParser

from learnedgec.cli.output import emit, notice, remark
from learnedgec.data.configuration import configurations
from learnedgec.data.text import read_text, write_text
from learnedgec.errors import ConfigError, InputError, MissingDependencyError

if TYPE_CHECKING:
    from learnedgec.training.run import TrainingResult

# Kinds of training data; each has a starting configuration, `start/…`.
_STARTS = ("ratings", "pairs", "parallel")


# `--help-all` builds the parser, for which torch and Lightning have to be imported.
_HELP = """\
usage: learnedgec train --config FILE_OR_NAME [--KEY VALUE ...] [--quiet]
       learnedgec train --init FILE [--for {ratings,pairs,parallel}]

Train an evaluator from a configuration, each key of which is also an option.

options:
  --init FILE                    write a configuration with comments, to edit
  --config FILE_OR_NAME          YAML file, or a bundled configuration such as sample
  --name NAME                    name of the evaluator
  --model.encoder ENCODER        pretrained encoder, or evaluator to continue
  --model.heads HEADS            outputs to learn, such as {fluency: {input: hypothesis}}
  --model.learning_rate RATE     learning rate of the encoder and the heads
  --data.ratings FILE            rated outputs
  --data.pairs SOURCE            pairs of a better and a worse output, or what makes them
  --trainer.max_epochs N         maximum number of epochs
  --seeds N                      train several seeds, and keep the median run
  --resume                       continue a run that was interrupted
  --overwrite                    replace an evaluator or a run of this name
  --quiet                        print only errors and warnings about the result

--help-all lists every option, with those of Lightning's trainer and callbacks.
"""


def main(arguments: Sequence[str]) -> None:
    """Run the command; its options are those of `learnedgec.training.fit.train`, and `--init`."""
    words = [word for word in arguments if word != "--quiet"]
    options = Namespace(format="table", out="-", quiet=len(words) < len(arguments))
    if any(word.partition("=")[0] == "--init" for word in words):
        _write_start(words, options)
        return
    if {"-h", "--help"} & {*words} and "--help-all" not in words:
        write_text("-", _HELP)
        return
    if not words:
        raise InputError(
            "no configuration was given; name one with --config, such as sample or mine.yaml, or write "
            "one with --init mine.yaml."
        )
    from learnedgec.training.fit import train

    result = train(
        words, progress=not options.quiet, notify=lambda message: remark(message, options)
    )
    if result is None:
        return
    rows = list(_rows(result))
    emit(rows, options, table_rows=list(map(_row_for_readers, rows)))
    for message in result.notices:
        remark(message, options)
    for verdict in result.verdicts.values():
        if verdict.trusted:
            remark(verdict.sentence, options)
    notice(*result.warnings)
    if result.seeds:
        median = f"Of the seeds, {result.seed} has the median dev score; its evaluator is packaged."
        mean = "The mean of the seeds' weights is packaged; its results are in the last column."
        remark(mean if result.seed is None else median, options)
    if result.folder is not None:
        remark(f"The report is in {_report(result.folder, result.package)}.", options)
    remark(f"The evaluator is in {result.package}.", options)


def _report(folder: Path, package: Path) -> str:
    """Write the report of a run; return its path, or which package it would need."""
    from learnedgec.report.page import write_training_report

    try:
        return str(write_training_report(folder, package))
    except MissingDependencyError as error:
        return f"no file: {error}"


def _rows(result: TrainingResult) -> Iterator[dict[str, Any]]:
    """Yield a row for each head and part: all results, or the main one of several seeds."""
    from learnedgec.training.evaluate import main_figure

    for part, heads in result.results.items():
        for head, figures in heads.items():
            if not result.seeds:
                verdict = result.verdicts.get(head) if part == "test" else None
                baselines = {} if verdict is None else verdict.baselines
                beside = {name.partition(" ")[0]: value for name, value in baselines.items()}
                yield {"part": part, "head": head, **figures, **beside}
                continue
            measure, _ = main_figure(figures)
            values = {
                seed: heads_of[part][head][measure] for seed, heads_of in result.seeds.items()
            }
            numbers = [value for value in values.values() if value is not None]
            yield {
                "part": part,
                "head": head,
                "measure": measure,
                "mean": fmean(numbers) if numbers else None,
                "sd": stdev(numbers) if len(numbers) > 1 else None,
                **{f"seed {seed}": value for seed, value in values.items()},
                **({"average": figures[measure]} if result.seed is None else {}),
            }


def _row_for_readers(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row with each interval beside its value, in one cell."""
    cells: dict[str, Any] = {}
    for name, value in row.items():
        low, high = row.get(f"{name}_low"), row.get(f"{name}_high")
        if f"{name}_low" in row:
            known = value is not None and low is not None
            cell = f"{value:.3f} [{low:.2f}, {high:.2f}]" if known else value
            cells[f"{name} [95% interval]"] = cell
        elif not name.endswith(("_low", "_high")):
            cells[name] = value
    return cells


def _write_start(words: Sequence[str], quiet: Namespace) -> None:
    """Write a configuration with comments, named like its file, for the user's data."""
    parser = ArgumentParser(prog="learnedgec train", exit_on_error=False)
    parser.add_argument("--init", type=str)
    parser.add_argument("--for", choices=_STARTS, default=_STARTS[0])
    options = parser.parse_args(words)
    path = Path(options.init)
    if path.exists() or path.is_symlink():
        raise ConfigError(f"{path} already exists; choose another name for --init.")
    text = read_text(configurations()[f"start/{options['for']}"]).replace("THIS_FILE", str(path))
    if re.fullmatch(r"\w[\w+-]*", path.stem):
        text = text.replace("name: mine ", f"name: {path.stem} ").replace(
            "='mine'", f"='{path.stem}'"
        )
    write_text(path, text)
    remark(
        f"wrote {path}; enter the names of your files, and run: learnedgec train --config {path}",
        quiet,
    )
    if "\n  encoder: joint" in text:
        remark(
            "It continues the released evaluator, so that what you train is for non-commercial research "
            "only; the file also names open-mpnet, which allows commercial use.",
            quiet,
        )
