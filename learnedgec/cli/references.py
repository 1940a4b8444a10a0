"""`learnedgec references`: a reference for each output, by a language model at an endpoint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from learnedgec.applications.nearest import RECORD, Corrector, write_references
from learnedgec.cli import flags, inputs, output


@dataclass
class _Files(flags.Overwrite):
    """Options of what to read and write.

    Attributes:
        src: the source sentences.
        hyp: system outputs, or a folder of them.
        out: the folder to write: NAME.jsonl for each system, which --jsonl reads, and references.json, with
            the prompt, the model and the number of tokens.
    """

    src: str | None = None
    hyp: list[str] | None = None
    out: str | None = None


def run_references(arguments: Sequence[str]) -> None:
    """Run the command."""
    parser = flags.make_parser(
        "references",
        "Ask a language model at an OpenAI-compatible endpoint (extra `llm`) for the nearest correct version "
        "of each output, and write it as the output's reference. The same command continues an interrupted "
        "run: answers are kept as they arrive.",
        common="src hyp model endpoint out overwrite",
    )
    flags.add_fields(parser, _Files, title="input and output", description=inputs.LINES)
    flags.add_fields(parser, Corrector, title="model")
    flags.add_runtime(parser)
    options = parser.parse_args(arguments)
    flags.require(options, hyp="out/*.txt", out="references")
    output.check_free(Path(options.out) / RECORD, options)
    corrector = flags.read_fields(Corrector, options)
    corpus = inputs.read_inputs(options).corpus
    done = write_references(options.out, corpus, corrector, runtime=flags.read_runtime(options))
    output.remark(
        f"{options.out}: references for {done['outputs']:,} different outputs of {len(corpus.systems)} "
        f"systems by {done['model']}; {done['prompt_tokens']:,} tokens read, "
        f"{done['completion_tokens']:,} written.",
        options,
    )
