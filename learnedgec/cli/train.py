"""`learnedgec train`: train an evaluator package from a configuration."""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from jsonargparse import ArgumentParser

from learnedgec.cli.output import emit, notice, remark
from learnedgec.data.configuration import configurations
from learnedgec.data.text import read_text, write_text
from learnedgec.errors import ConfigError, InputError

# Kinds of training data; each has a starting configuration, `start/…`.
_STARTS = ("ratings", "pairs", "parallel")


def main(arguments: Sequence[str]) -> None:
    """Run the command; its options are those of `learnedgec.training.fit.train`, and `--init`."""
    words = [word for word in arguments if word != "--quiet"]
    options = Namespace(format="table", out="-", quiet=len(words) < len(arguments))
    if any(word.partition("=")[0] == "--init" for word in words):
        _write_start(words, options)
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
    emit(
        [
            {"part": part, "head": head, **values}
            for part, by_head in result.results.items()
            for head, values in by_head.items()
        ],
        options,
    )
    for message in result.notices:
        remark(message, options)
    for message in result.warnings:
        notice(message)
    remark(f"The evaluator is in {result.package}.", options)


def _write_start(words: Sequence[str], quiet: Namespace) -> None:
    """Write a configuration with comments, named like its file, for the user's data."""
    parser = ArgumentParser(prog="learnedgec train", exit_on_error=False)
    parser.add_argument("--init", type=str)
    parser.add_argument("--for", choices=_STARTS, default=_STARTS[0])
    options = parser.parse_args(list(words))
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
