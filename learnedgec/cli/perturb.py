"""`learnedgec robust perturb`: variants of sentences in which only the context differs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from jsonargparse.typing import NonNegativeInt

from learnedgec.cli import flags
from learnedgec.cli.inputs import LINES
from learnedgec.cli.output import check_out, remark
from learnedgec.data.catalog.cases import write_cases
from learnedgec.data.records import suffix
from learnedgec.data.text import check_lengths, read_lines
from learnedgec.edits.tokenisation import tokenise
from learnedgec.errors import InputError
from learnedgec.robustness.perturbation import perturb
from learnedgec.robustness.sites import ACTIONS, Action


@dataclass
class _Perturbation:
    """The texts to change, and how they are changed.

    Attributes:
        src: the source sentences.
        ref: one correction of each sentence.
        variants: maximum number of variants of each sentence.
        actions: allowed kinds of change.
        tokenise: spacy tokenises both texts first; none splits at spaces, which is right for tokenised text.
        seed: seed of the random generator.
    """

    src: str | None = None
    ref: str | None = None
    variants: int = 5
    actions: list[Action] = field(default_factory=lambda: list(ACTIONS))
    tokenise: Literal["none", "spacy"] = "none"
    seed: NonNegativeInt = 0


def main(arguments: Sequence[str]) -> None:
    """Run the command."""
    parser = flags.make_parser(
        "robust perturb",
        "Write variants of sentences and their corrections in which only unrelated context differs.",
    )
    flags.add_fields(parser, _Perturbation, title="perturbation", description=LINES)
    about = "write cases as JSON Lines to this file, named .jsonl; -: stdout"
    parser.add_argument("--out", type=str, default="-", help=about)
    flags.add_fields(parser, flags.Quiet)
    options = parser.parse_args(list(arguments))
    flags.require(options, src="source.txt", ref="ref.txt")
    if options.out != "-" and suffix(options.out) != ".jsonl":
        raise InputError(f"--out is {options.out}; cases are JSON Lines, so name the file .jsonl.")
    check_out(options.out)
    sources, targets = read_lines(options.src), read_lines(options.ref)
    check_lengths((options.src, sources), (options.ref, targets))
    if options.tokenise == "spacy":
        sources, targets = tokenise(sources), tokenise(targets)
    cases = perturb(
        sources,
        targets,
        variants=options.variants,
        actions=options.actions,
        seed=options.seed,
    )
    changed = [case for case in cases if case.variants]
    if not changed:
        raise InputError(f"no sentence of {options.src} has a variant; give more text.")
    write_cases(options.out, changed)
    remark(
        f"{len(changed)} cases with {sum(len(case.variants) for case in changed)} variants; "
        f"{len(cases) - len(changed)} sentences were left out, since they have none",
        options,
    )
