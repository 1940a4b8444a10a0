"""`learnedgec train`: train an evaluator from a configuration, and write one to start from."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import yaml
from jsonargparse import ArgumentParser, Namespace

from learnedgec.cli import output
from learnedgec.data.configuration import check_help, configurations, with_configurations
from learnedgec.data.text import read_json, read_text, write_text
from learnedgec.errors import ConfigError, InputError
from learnedgec.runtime.files import check_no_path, local_path

if TYPE_CHECKING:
    from learnedgec.training.run import TrainingResult

# Kinds of training data; each has a starting configuration, `start/…`.
_STARTS = ("ratings", "pairs", "parallel")


def run_train(arguments: Sequence[str]) -> None:
    """Run the command; its options are the settings of a training, and `--init`."""
    check_help(arguments, ["--data.columns"])
    words = [word for word in arguments if word != "--quiet"]
    options = Namespace(format="table", out="-", quiet=len(words) < len(arguments))  # type: ignore[no-untyped-call]
    if any(word.partition("=")[0] == "--init" for word in words):
        _write_start(words, options)
        return
    if {"-h", "--help"} & {*words} and "--help-all" not in words:
        # `--help-all` builds the parser, for which torch and Lightning have to be imported.
        write_text("-", read_text(Path(__file__).with_suffix(".txt")))
        return
    if not words:
        raise InputError(
            "no configuration was given; name one with --config, such as sample or mine.yaml, or write "
            "one with --init mine.yaml."
        )
    _check_tables(words)
    from learnedgec.report.page import write_training_report
    from learnedgec.training.evaluate import baseline_in_words
    from learnedgec.training.fit import train
    from learnedgec.training.settings import read_settings

    result = train(
        read_settings(words),
        progress=not options.quiet,
        notify=lambda message: output.remark(message, options),
    )
    if result is None:
        return
    output.emit_table(result.table(), options)
    baselines = {name for verdict in result.verdicts.values() for name in verdict.baselines}
    for name in sorted(name for name in baselines if baseline_in_words(name) != name):
        column = name.partition(" ")[0]
        output.remark(
            f"The column {column!r} has the result of {baseline_in_words(name)}.", options
        )
    for message in result.notices:
        output.remark(message, options)
    for verdict in result.verdicts.values():
        if verdict.trusted:
            output.remark(verdict.sentence, options)
    output.notice(*result.warnings)
    if result.seeds:
        output.remark(_packaged(result), options)
    if result.folder is not None:
        report = write_training_report(result.folder, result.package)
        output.remark(f"The report is in {report}.", options)
    output.remark(
        f"The evaluator is in {result.package}. Use it as {_use(result.package)}.", options
    )


def _packaged(result: TrainingResult) -> str:
    """Return which of several seeds is packaged."""
    if result.seed is None:
        return "The mean of the seeds' weights is packaged; its results are in the last column."
    score = "the median dev score"
    if len(result.seeds) == 2:
        score = "the higher dev score"
    elif len(result.seeds) % 2 == 0:
        score = "the higher of the two dev scores in the middle"
    return f"Of {len(result.seeds)} seeds, {result.seed} has {score}; its evaluator is packaged."


def _check_tables(words: Sequence[str]) -> None:
    """Raise `InputError` if the configuration names a missing table, because torch takes long to import."""
    split = [part for word in with_configurations(words) for part in word.split("=", 1)]
    paths = [Path(value) for key, value in pairwise(split) if key == "--config"]
    # Other words may name other tables.
    if len(paths) != 1 or not paths[0].is_file() or any(w.startswith("--data") for w in split):
        return
    data = yaml.safe_load(read_text(paths[0])).get("data")
    keys = data if isinstance(data, dict) else {}
    pairs = keys.get("pairs")
    named = [keys.get("ratings"), *(pairs.values() if isinstance(pairs, dict) else ())]
    for names in named:
        for name in names if isinstance(names, list) else [names]:
            if isinstance(name, str) and local_path(name.partition(":")[0]) is None:
                check_no_path(name)


def _use(package: Path) -> str:
    """Return the option for the metrics that read an evaluator, by its name if that is enough to find it."""
    from learnedgec.evaluators.locations import list_evaluators
    from learnedgec.evaluators.package import MANIFEST
    from learnedgec.training.package import reading_metrics

    found = list_evaluators().get(package.name)
    named = found is not None and found.resolve() == package.resolve()
    name = package.name if named else str(package)
    manifest = read_json(package / MANIFEST)
    # Heads that stayed as they were have no verdict.
    heads = {head: manifest["heads"][head] for head in manifest["verdicts"]} or manifest["heads"]
    sums = {name: parts for name, parts in manifest["sums"].items() if heads.keys() & parts.keys()}
    return f"--metric {reading_metrics({**manifest, 'name': name, 'heads': heads, 'sums': sums})}"


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
        text = re.sub(r"(name: |head\[|impara\[|quality\[)mine\b", rf"\g<1>{path.stem}", text)
    write_text(path, text)
    output.remark(
        f"wrote {path}; enter the names of your files, and run: learnedgec train --config {path}",
        quiet,
    )
