"""`learnedgec robust`: do corrections, and a metric's preferences, hold when only context changes?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Any

from jsonargparse import ArgumentParser, Namespace

from learnedgec.benchmarks.contamination import contamination
from learnedgec.catalog.cases import CASES, Case, load_cases, write_cases
from learnedgec.catalog.outputs import load_outputs
from learnedgec.catalog.parallel import load_parallel
from learnedgec.cli.options import (
    add_input_arguments,
    add_metric_argument,
    add_plot_argument,
    add_resampling_arguments,
    add_runtime_arguments,
    make_parser,
    read_inputs,
    read_metrics,
    read_runtime,
    system_names,
)
from learnedgec.cli.output import add_output_arguments, emit, notice
from learnedgec.errors import InputError
from learnedgec.execution.writing import check_writable
from learnedgec.formats.references import References
from learnedgec.formats.text import check_lengths, read_lines, write_lines
from learnedgec.metrics.registry import load_metric
from learnedgec.plotting.style import check_plotting
from learnedgec.robustness.attacks import ALL, AttackResult, evaluate_attacks, honest_outputs
from learnedgec.robustness.cases import TOTAL
from learnedgec.robustness.changes import word_frequencies
from learnedgec.robustness.perturbation import ACTIONS, perturb
from learnedgec.robustness.preferences import PreferenceRobustness, evaluate_preferences
from learnedgec.robustness.systems import SystemRobustness, evaluate_systems
from learnedgec.stats.bootstrap import Estimate

_ATTACKS = ("conll14", "bea19-dev")


def build_parser() -> ArgumentParser:
    """Return the parser of `learnedgec robust`."""
    parser = make_parser(
        "robust",
        "Evaluate robustness against changes of the context: of systems (--case and --hyp), of metrics' "
        "preference for the correction (--case and --metric), of metrics against texts made to fool one "
        "(--attack); or make such variants of a parallel corpus (--perturb).",
    )
    group = parser.add_argument_group("cases")
    group.add_argument(
        "--case",
        nargs="+",
        type=str,
        help="robustgec, one of its parts such as robustgec:bea19, sample, or a file of your own: "
        "RobustGEC's para.txt, or .jsonl with source, target and variants. A system's output (--hyp) has "
        "one line for each sentence, the original's and then the variants'; with several sets a file has "
        "all of them in turn, or a folder a file for each, such as conll14.txt",
    )
    group.add_argument(
        "--frequencies",
        type=str,
        help="a text whose words tell how common substitutes are; the cases' originals if absent",
    )
    group.add_argument(
        "--show",
        choices=("summary", "variants", "sources", "systems"),
        default="summary",
        help="the table printed: the summary; the variants by action, distance and frequency; the "
        "sentences that a system has to correct; with --attack, each honest system. JSON holds all",
    )
    group = parser.add_argument_group("attacks")
    group.add_argument(
        "--attack",
        nargs="+",
        type=str,
        help="conll14 (of the catalog, with sentences, references and, without --hyp, honest systems); "
        "bea19-dev (attacks alone) or files with one output each, beside --src, --hyp and references",
    )
    group = parser.add_argument_group("perturbation")
    group.add_argument(
        "--perturb",
        action="store_true",
        help="write variants of --src and --ref to --out, as .jsonl or in RobustGEC's format",
    )
    group.add_argument("--variants", type=int, default=5, help="of each sentence, at most")
    group.add_argument(
        "--actions", nargs="+", choices=ACTIONS, default=list(ACTIONS), help="what may be done"
    )
    group.add_argument(
        "--language-model",
        type=str,
        help="masked language model that says which words are put in; if absent, words of the same "
        "tag from the corpus",
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
    options = build_parser().parse_args(list(arguments))
    tasks = [name for name in ("case", "attack", "perturb") if options[name]]
    if len(tasks) != 1:
        given = " and ".join(f"--{name}" for name in tasks) or "none of them"
        raise InputError(f"give one of --case, --attack and --perturb; {given} was given.")
    if options.case and (
        unread := [name for name in ("src", "ref", "gold", "jsonl") if options[name]]
    ):
        raise InputError(
            f"--{unread[0]} is not read with --case: its cases have sources and targets."
        )
    if options.show == "sources" and (options.hyp or options.metric):
        raise InputError(
            "--show sources only writes what to correct; leave out --hyp and --metric."
        )
    if options.plot:
        check_plotting(options.plot)
    if options.perturb:
        _perturb(options)
    elif options.attack:
        _attack(options)
    elif options.show == "sources":
        parts = _read_parts(options.case)
        write_lines(options.out, [pair.source for pair in _pairs(parts)])
    else:
        _robustness(options)


def _resampling(options: Namespace) -> dict[str, Any]:
    return {"resamples": options.resamples, "level": options.confidence, "seed": options.seed}


# -- cases ------------------------------------------------------------------------------------------


def _robustness(options: Namespace) -> None:
    """Evaluate systems, or without any the metrics' preferences."""
    frequencies = word_frequencies(read_lines(options.frequencies)) if options.frequencies else None
    settings = {**_resampling(options), "frequencies": frequencies}
    runtime = read_runtime(options)
    if options.show == "systems":
        raise InputError("--show systems belongs to --attack; choose summary or variants.")
    parts = _read_parts(options.case)
    if options.hyp:
        systems = _read_systems(options.hyp, parts)
        metrics = read_metrics(options, required=False) or [load_metric("errant")]
        systems_found = [
            result
            for metric in metrics
            for result in evaluate_systems(parts, systems, metric, **settings, runtime=runtime)
        ]
        _report(options, systems_found, _system_row, _system_variants)
        if options.plot:
            from learnedgec.plotting.robustness import plot_systems

            for metric in metrics:
                chosen = [each for each in systems_found if each.metric == metric.label]
                _plotted(plot_systems(chosen, options.plot))
        return
    metrics = read_metrics(options)
    if not options.quiet:
        for name in chain.from_iterable(map(CASES.expand, options.case)):
            for message in (text for each in metrics for text in contamination(each, name)):
                notice(f"{name}: {message}")
    found = evaluate_preferences(parts, metrics, **settings, runtime=runtime)
    _report(options, found, _preference_row, _preference_variants)
    if options.plot:
        from learnedgec.plotting.robustness import plot_preferences

        _plotted(plot_preferences(found, options.plot))


def _read_parts(names: Sequence[str]) -> dict[str, list[Case]]:
    """Return sets of cases by name."""
    parts: dict[str, list[Case]] = {}
    for name in chain.from_iterable(map(CASES.expand, names)):
        label = name.partition(":")[2] or name if name in CASES else system_names([name])[0]
        cases = load_cases(name)
        if label == TOTAL:
            raise InputError(f"{name} has the name of the sum over sets; rename it.")
        if label in parts:
            raise InputError(
                f"two sets of cases are named {label!r}; give each once, or rename it."
            )
        parts[label] = cases
    return parts


def _pairs(parts: Mapping[str, Sequence[Case]]) -> Iterator[Any]:
    return (pair for cases in parts.values() for case in cases for pair in case.pairs)


def _read_systems(
    paths: Sequence[str], parts: Mapping[str, Sequence[Case]]
) -> dict[str, dict[str, list[str]]]:
    """Return each system's hypotheses for each set, from one file with all or a folder with one file each."""
    sources = [pair.source for pair in _pairs(parts)]
    systems: dict[str, dict[str, list[str]]] = {}
    for system, path in zip(system_names(paths), paths, strict=True):
        if Path(path).is_dir():
            systems[system] = {name: read_lines(Path(path) / f"{name}.txt") for name in parts}
            continue
        lines = read_lines(path)
        check_lengths((" and ".join(parts), sources), (path, lines))
        systems[system], start = {}, 0
        for name, cases in parts.items():
            end = start + sum(len(case.pairs) for case in cases)
            systems[system][name], start = lines[start:end], end
    return systems


def _report(
    options: Namespace,
    results: Sequence[Any],
    summary: Callable[[Any], dict[str, Any]],
    variants: Callable[[Any], Iterator[dict[str, Any]]],
) -> None:
    """Print one row for each result, or one for each kind of variant."""
    rows = [summary(result) for result in results]
    if options.show == "variants":
        rows = [row for result in results for row in variants(result)]
    _emit(options, rows, results)


def _emit(options: Namespace, rows: Sequence[Mapping[str, Any]], results: Sequence[Any]) -> None:
    emit(
        [_flat(row) for row in rows],
        format=options.format,
        payload={"results": [asdict(result) for result in results]},
        out=options.out,
        table_rows=[
            {key: _cell(each) if isinstance(each, Estimate) else each for key, each in row.items()}
            for row in rows
        ],
    )
    if options.format in ("table", "latex") and not options.quiet:
        notice(f"[{100 * options.confidence:g} % interval]")
        for signature in dict.fromkeys(result.signature for result in results):
            notice(signature)


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row for programs, an interval in columns of its own."""
    flat: dict[str, Any] = {}
    for key, each in row.items():
        if isinstance(each, Estimate):
            flat |= {key: each.value, f"{key} low": each.low, f"{key} high": each.high}
        else:
            flat[key] = each
    return flat


def _cell(estimate: Estimate) -> str:
    if estimate.value != estimate.value:
        return "–"
    return f"{estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"


def _system_row(result: SystemRobustness) -> dict[str, Any]:
    row: dict[str, Any] = {"cases": result.cases, "n": result.count, "system": result.system}
    row["metric"] = result.metric
    for name in ("original", "upper", "lower"):
        part = getattr(result, name)
        row |= {f"{name} P": part.precision, f"{name} R": part.recall, f"{name} F": part.f}
    row |= {"Δ": result.delta}
    row |= {f"CRS {rule}": each for rule, each in result.crs.items()}
    return row | {f"P-CRS {rule}": each for rule, each in result.p_crs.items()}


def _system_variants(result: SystemRobustness) -> Iterator[dict[str, Any]]:
    for group in result.groups:
        yield {
            "cases": result.cases,
            "system": result.system,
            "metric": result.metric,
            "by": group.dimension,
            "variants": group.group,
            "n": group.count,
            **{f"P-CRS {rule}": each for rule, each in group.consistent.items()},
            "F": group.f,
            "original F": group.original_f,
        }


def _preference_row(result: PreferenceRobustness) -> dict[str, Any]:
    return {
        "cases": result.cases,
        "n": result.count,
        "left out": result.left_out,
        "metric": result.metric,
        "accuracy": result.accuracy,
        "ties": result.ties,
        "always right": result.always,
        "CRS": result.crs,
        "P-CRS": result.p_crs,
        "margin": result.margin,
        "spread": result.spread,
        "within": result.within,
    }


def _preference_variants(result: PreferenceRobustness) -> Iterator[dict[str, Any]]:
    for group in result.groups:
        yield {
            "cases": result.cases,
            "metric": result.metric,
            "by": group.dimension,
            "variants": group.group,
            "n": group.count,
            "P-CRS": group.consistent,
            "accuracy": group.accuracy,
        }


def _plotted(paths: Sequence[Path]) -> None:
    for path in paths:
        notice(f"wrote {path}")


# -- attacks ------------------------------------------------------------------------------------------


def _attack(options: Namespace) -> None:
    """Compare attacks with honest systems."""
    if options.show not in ("summary", "systems"):
        raise InputError(f"--show {options.show} belongs to --case; choose summary or systems.")
    metrics = read_metrics(options)
    name = options.attack[0].removeprefix("attack:") if len(options.attack) == 1 else ""
    honest: Mapping[str, Sequence[str]]
    if name == "conll14":
        if options.src or options.ref or options.gold or options.jsonl:
            raise InputError(
                "--attack conll14 brings its own sentences and references; leave out --src, --ref, --gold "
                "and --jsonl, or name files of attacks."
            )
        data = load_parallel(name)
        sources: Sequence[str] = data.sources
        references: References | None = data.references
        honest = _read_outputs(options.hyp) if options.hyp else honest_outputs()
    else:
        inputs = read_inputs(options, metrics)
        sources, references, honest = inputs.sources, inputs.references, inputs.systems
    known = name in _ATTACKS
    attacks: Mapping[str, Sequence[str]] = (
        load_outputs(f"attack:{name}") if known else _read_outputs(options.attack)
    )
    found = evaluate_attacks(
        sources,
        attacks,
        honest,
        metrics,
        references,
        **_resampling(options),
        runtime=read_runtime(options),
    )
    shown = [each for each in found if options.show == "systems" or each.honest == ALL]
    _emit(options, [_attack_row(result) for result in shown], found)
    if options.plot:
        from learnedgec.plotting.robustness import plot_attacks

        _plotted(plot_attacks(found, options.plot))


def _read_outputs(paths: Sequence[str]) -> dict[str, list[str]]:
    return dict(zip(system_names(paths), map(read_lines, paths), strict=True))


def _attack_row(result: AttackResult) -> dict[str, Any]:
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


# -- perturbation -------------------------------------------------------------------------------------


def _perturb(options: Namespace) -> None:
    """Write variants of a parallel corpus."""
    if not options.src or len(options.ref or ()) != 1:
        raise InputError(
            "--perturb needs sentences and one correction each: give --src and one --ref."
        )
    if options.hyp or options.gold or options.jsonl or options.metric:
        raise InputError(
            "--perturb takes --src and --ref; leave out --hyp, --gold, --jsonl, --metric."
        )
    if options.out != "-":
        check_writable(options.out)
    sources, targets = read_lines(options.src), read_lines(options.ref[0])
    check_lengths((options.src, sources), (options.ref[0], targets))
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
    notice(
        f"{len(kept)} cases with {sum(len(case.variants) for case in kept)} variants; "
        f"{len(cases) - len(kept)} sentences without enough of them left out"
    )
