"""`learnedgec robust attack`: adversarial outputs against those of honest systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from jsonargparse import ArgumentParser

from learnedgec.cli.inputs import add_input_arguments, read_inputs, read_systems, system_files
from learnedgec.cli.options import (
    add_evaluation_arguments,
    add_group,
    add_metric_argument,
    make_parser,
    read_checked_metrics,
    read_resampling,
)
from learnedgec.cli.output import tell_written, with_format
from learnedgec.cli.robust.estimates import emit_estimates
from learnedgec.data.catalog.outputs import load_outputs
from learnedgec.data.catalog.parallel import load_parallel
from learnedgec.data.references import References
from learnedgec.errors import InputError
from learnedgec.robustness.attacks import ALL, AttackResult, evaluate_attacks, honest_outputs

_ATTACKS = ("conll14", "bea19-dev")


@dataclass
class _Attacks:
    """What is compared.

    Attributes:
        attack: conll14 (from the catalog, with sentences, references and, without --hyp, honest systems);
            bea19-dev (only attacks) or files of attacks, which need --src, --hyp and references.
        show: the table to print: summary compares with all honest systems together, systems also with each.
            JSON has both.
    """

    attack: list[str] | None = None
    show: Literal["summary", "systems"] = "summary"


def build_parser() -> ArgumentParser:
    """Return the parser of `learnedgec robust attack`."""
    parser = make_parser(
        "robust attack",
        "Evaluate how often metrics prefer adversarial texts to the outputs of honest systems.",
    )
    add_group(parser, _Attacks, "attacks")
    add_metric_argument(parser)
    add_input_arguments(parser)
    add_evaluation_arguments(parser)
    return parser


def main(arguments: Sequence[str]) -> None:
    """Run the command."""
    options = with_format(build_parser().parse_args(list(arguments)))
    if not options.attack:
        raise InputError(
            "no attack was given; name conll14, bea19-dev or files of outputs with --attack."
        )
    metrics, runtime = read_checked_metrics(options)
    name = options.attack[0].removeprefix("attack:") if len(options.attack) == 1 else ""
    honest: Mapping[str, Sequence[str]]
    if name == "conll14":
        if any((options.src, options.ref, options.gold, options.jsonl)):
            raise InputError(
                "--attack conll14 contains its own sentences and references; leave out --src, --ref, --gold "
                "and --jsonl, or name files of attacks."
            )
        corpus = load_parallel(name)
        sources: Sequence[str] = corpus.sources
        references: References | None = corpus.references
        honest = read_systems(system_files(options.hyp)) if options.hyp else honest_outputs()
    else:
        inputs = read_inputs(options, metrics)
        sources, references, honest = inputs.sources, inputs.references, inputs.systems
    attacks: Mapping[str, Sequence[str]] = (
        load_outputs(f"attack:{name}")
        if name in _ATTACKS
        else read_systems(system_files(options.attack))
    )
    results = evaluate_attacks(
        sources, attacks, honest, metrics, references, **read_resampling(options), runtime=runtime
    )
    emit_estimates(
        options,
        [_row(result) for result in results if options.show == "systems" or result.honest == ALL],
        results,
        caption="How often metrics prefer attacks to honest systems' outputs",
        groups=("metric",),
    )
    if options.plot:
        from learnedgec.plotting.robustness import plot_attacks

        tell_written(plot_attacks(results, options.plot), options)


def _row(result: AttackResult) -> dict[str, Any]:
    return {
        "metric": result.metric,
        "attack": result.attack,
        "honest": result.honest,
        "n": result.count,
        "attack preferred": result.preferred,
        "ties": result.ties,
        "attack score": result.attack_score,
        "honest score": result.honest_score,
        "rank": result.rank,
    }
