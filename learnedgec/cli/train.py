"""`learnedgec train`: a configuration in, an evaluator package out."""

from __future__ import annotations

from collections.abc import Sequence

from learnedgec.cli.output import emit, notice


def main(arguments: Sequence[str]) -> None:
    """Run the command; its options are those of `learnedgec.training.fit.train`."""
    from learnedgec.training.fit import train

    words = [word for word in arguments if word != "--quiet"]
    result = train(words, progress=len(words) == len(arguments))
    if result is None:
        return
    emit(
        [
            {"part": part, "head": head, **found}
            for part, by_head in result.results.items()
            for head, found in by_head.items()
        ],
    )
    notice(f"The evaluator is in {result.package}.")
