"""`learnedgec robust perturb`: variants of sentences in which only the context differs."""

from __future__ import annotations

from collections.abc import Sequence

from jsonargparse import ArgumentParser

from learnedgec.catalog.cases import write_cases
from learnedgec.cli.options import add_runtime_arguments, make_parser, read_runtime
from learnedgec.cli.output import remark
from learnedgec.edits.tokenisation import tokenise
from learnedgec.errors import InputError
from learnedgec.execution.writing import check_writable
from learnedgec.formats.text import check_lengths, read_lines
from learnedgec.robustness.perturbation import perturb
from learnedgec.robustness.sites import ACTIONS


def build_parser() -> ArgumentParser:
    """Return the parser of `learnedgec robust perturb`."""
    parser = make_parser(
        "robust perturb",
        "Write variants of sentences and their corrections in which only unrelated context differs.",
    )
    group = parser.add_argument_group(
        "input", "UTF-8 text, one sentence per line; a file may be gzipped (.gz), - is stdin"
    )
    group.add_argument("--src", type=str, help="the source sentences")
    group.add_argument("--ref", type=str, help="one correction of each sentence")
    group = parser.add_argument_group("perturbation")
    group.add_argument(
        "--variants", type=int, default=5, help="maximum number of variants of each sentence"
    )
    group.add_argument(
        "--actions",
        nargs="+",
        choices=ACTIONS,
        default=list(ACTIONS),
        help="allowed kinds of change",
    )
    group.add_argument(
        "--language-model",
        type=str,
        help="masked language model that proposes substitutes (default: words of the same tag from "
        "the corpus)",
    )
    group.add_argument("--seed", type=int, default=0, help="seed of the random generator")
    parser.add_argument(
        "--out",
        type=str,
        default="-",
        help="write cases to this file, as .jsonl or in RobustGEC's format; -: stdout",
    )
    add_runtime_arguments(parser)
    return parser


def main(arguments: Sequence[str]) -> None:
    """Run the command."""
    options = build_parser().parse_args(list(arguments))
    if not (options.src and options.ref):
        raise InputError("sentences and one correction each are needed: give --src and one --ref.")
    if options.out != "-":
        check_writable(options.out)
    sources, targets = read_lines(options.src), read_lines(options.ref)
    check_lengths((options.src, sources), (options.ref, targets))
    if options.tokenise == "spacy":
        sources, targets = tokenise(sources), tokenise(targets)
    cases = perturb(
        sources,
        targets,
        variants=options.variants,
        language_model=options.language_model,
        actions=options.actions,
        seed=options.seed,
        runtime=read_runtime(options),
    )
    # RobustGEC's format has the same number of variants everywhere.
    least = 1 if options.out.removesuffix(".gz").endswith(".jsonl") else options.variants
    kept = [case for case in cases if len(case.variants) >= least]
    if not kept:
        raise InputError(
            f"no sentence of {options.src} has {least} variants; ask for fewer, or give more text."
        )
    write_cases(options.out, kept)
    remark(
        f"{len(kept)} cases with {sum(len(case.variants) for case in kept)} variants; "
        f"{len(cases) - len(kept)} sentences without enough of them left out",
        options,
    )
