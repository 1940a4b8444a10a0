"""`learnedgec robust attack`: adversarial outputs against those of honest systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jsonargparse import ArgumentParser

from learnedgec.catalog.outputs import load_outputs
from learnedgec.catalog.parallel import load_parallel
from learnedgec.cli.inputs import add_input_arguments, read_inputs, read_systems, system_files
from learnedgec.cli.options import (
    add_metric_argument,
    add_plot_argument,
    add_resampling_arguments,
    add_runtime_arguments,
    make_parser,
    read_metrics,
    read_runtime,
)
from learnedgec.cli.output import add_output_arguments, with_format
from learnedgec.cli.robust.estimates import emit_estimates, resampling, tell_plots
from learnedgec.cli.table import Layout
from learnedgec.errors import InputError
from learnedgec.formats.references import References
from learnedgec.metrics.needs import check_metrics
from learnedgec.plotting.style import check_plotting
from learnedgec.robustness.attacks import ALL, AttackResult, evaluate_attacks, honest_outputs

_ATTACKS = ("conll14", "bea19-dev")


def build_parser() -> ArgumentParser:
    """Return the parser of `learnedgec robust attack`."""
    parser = make_parser(
        "robust attack",
        "Evaluate how often metrics prefer adversarial texts to the outputs of honest systems.",
    )
    group = parser.add_argument_group("attacks")
    group.add_argument(
        "--attack",
        nargs="+",
        type=str,
        help="conll14 (from the catalog, with sentences, references and, without --hyp, honest systems); "
        "bea19-dev (only attacks) or files of attacks, which need --src, --hyp and references",
    )
    group.add_argument(
        "--show",
        choices=("summary", "systems"),
        default="summary",
        help="the table to print: summary compares with all honest systems together, systems also with each. "
        "JSON has both",
    )
    add_metric_argument(parser)
    add_input_arguments(parser)
    add_resampling_arguments(parser)
    add_plot_argument(parser)
    add_runtime_arguments(parser)
    add_output_arguments(parser)
    return parser


def main(arguments: Sequence[str]) -> None:
    """Run the command."""
    options = with_format(build_parser().parse_args(list(arguments)))
    if not options.attack:
        raise InputError(
            "no attack was given; name conll14, bea19-dev or files of outputs with --attack."
        )
    if options.plot:
        check_plotting(options.plot)
    metrics = read_metrics(options)
    check_metrics(metrics, read_runtime(options))
    name = options.attack[0].removeprefix("attack:") if len(options.attack) == 1 else ""
    honest: Mapping[str, Sequence[str]]
    if name == "conll14":
        if options.src or options.ref or options.gold or options.jsonl:
            raise InputError(
                "--attack conll14 contains its own sentences and references; leave out --src, --ref, --gold "
                "and --jsonl, or name files of attacks."
            )
        data = load_parallel(name)
        sources: Sequence[str] = data.sources
        references: References | None = data.references
        honest = read_systems(system_files(options.hyp)) if options.hyp else honest_outputs()
    else:
        inputs = read_inputs(options, metrics)
        sources, references, honest = inputs.sources, inputs.references, inputs.systems
    known = name in _ATTACKS
    attacks: Mapping[str, Sequence[str]] = (
        load_outputs(f"attack:{name}") if known else read_systems(system_files(options.attack))
    )
    found = evaluate_attacks(
        sources,
        attacks,
        honest,
        metrics,
        references,
        **resampling(options),
        runtime=read_runtime(options),
    )
    shown = [each for each in found if options.show == "systems" or each.honest == ALL]
    emit_estimates(
        options,
        [_row(result) for result in shown],
        found,
        caption="How often metrics prefer attacks to honest systems' outputs",
        layout=Layout(groups=("metric",), keys=("attack", "honest")),
    )
    if options.plot:
        from learnedgec.plotting.robustness import plot_attacks

        tell_plots(plot_attacks(found, options.plot), options)


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
