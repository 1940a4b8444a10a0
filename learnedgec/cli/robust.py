"""`learnedgec robust COMMAND`: robustness of corrections and of metrics' preferences.

Sets of cases are sentences with variants in which only the context differs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from jsonargparse import ArgumentParser, Namespace
from jsonargparse.typing import NonNegativeInt

from learnedgec.cli import flags, inputs, output
from learnedgec.data.catalog.cases import CASES, Case, Pair, load_cases, write_cases
from learnedgec.data.catalog.outputs import load_outputs
from learnedgec.data.catalog.parallel import load_parallel
from learnedgec.data.records import suffix
from learnedgec.data.references import References
from learnedgec.data.text import check_lengths, read_lines, write_lines
from learnedgec.data.tokenisation import tokenise
from learnedgec.errors import InputError, UnknownNameError
from learnedgec.metrics.bound import short_labels
from learnedgec.plotting import figures
from learnedgec.robustness.cases import TOTAL, word_counts
from learnedgec.robustness.metrics import (
    ALL,
    evaluate_attacks,
    evaluate_preferences,
    honest_outputs,
)
from learnedgec.robustness.perturbation import ACTIONS, Action, Changes, perturb
from learnedgec.robustness.systems import evaluate_systems
from learnedgec.robustness.tables import (
    table_of_attacks,
    table_of_cases,
    table_of_preferences,
    table_of_systems,
)
from learnedgec.scoring import contamination
from learnedgec.table import Table


def _parser(command: str, about: str, kind: type, title: str) -> ArgumentParser:
    """Return the parser of a command that scores by metrics, with the options of a dataclass."""
    common = "case attack src hyp ref gold metric show plot format out"
    parser = flags.make_parser(f"robust {command}", about, common)
    flags.add_fields(parser, kind, title=title)
    flags.add_metrics(parser)
    return parser


# -- sets of cases ---------------------------------------------------------------------------------


@dataclass
class _CaseFlags:
    """Options that name cases.

    Attributes:
        case: robustgec, one of its parts such as robustgec:bea19, sample, or a file: RobustGEC's para.txt, or
            .jsonl with source, target and variants.
        counts: text, such as a system's training data, in which words are counted: frequency is then the
            number of occurrences, as in RobustGEC's analysis (default: that per million words in the cases'
            originals).
    """

    case: list[str] | None = None
    counts: str | None = None


def _expanded(names: Sequence[str]) -> list[str]:
    """Return the names, with each whole dataset replaced by its parts."""
    return list(chain.from_iterable(map(CASES.expand, names)))


def _read_parts(options: Namespace) -> dict[str, list[Case]]:
    """Return the named sets of cases, which are at least one, by names that differ."""
    flags.require(options, case="robustgec sample")
    parts: dict[str, list[Case]] = {}
    for name in _expanded(options.case):
        label = name.partition(":")[2] or name
        if name not in CASES:
            (label,) = inputs.by_system([name])
        if label == TOTAL or label in parts:
            raise InputError(
                f"two sets of cases are named {label!r}; give each once, or rename it."
            )
        parts[label] = load_cases(name)
    return parts


def _all_pairs(parts: Mapping[str, Sequence[Case]]) -> list[Pair]:
    """Return every sentence of all sets in turn, with its correction: originals, each before its variants."""
    return [pair for cases in parts.values() for case in cases for pair in case.pairs]


def _read_settings(options: Namespace) -> dict[str, Any]:
    """Return how often words occur in the text that `--counts` names, and how to resample."""
    counts = word_counts(read_lines(options.counts)) if options.counts else None
    return {"occurrences": counts, "resampling": flags.read_resampling(options)}


def run_robust_cases(arguments: Sequence[str]) -> None:
    """Run the command."""
    parser = flags.make_parser(
        "robust cases",
        "Describe sets of cases: their number, tokens and edits per sentence, and what the variants change.",
    )
    flags.add_fields(parser, _CaseFlags, title="cases", leave_out=["counts"])
    flags.add_fields(parser, flags.Quiet)
    output.add_output_flags(parser)
    options = output.with_format(parser.parse_args(arguments))
    parts = _read_parts(options)
    output.emit_table(table_of_cases(parts), options)


def _emit_results(
    options: Namespace,
    tables: Mapping[str, Table],
    results: Sequence[Any],
    plot: Callable[[Any, str], list[Path]] | None = None,
) -> None:
    """Print the table that was asked for, and with `--plot` write figures; JSON has the other table, too."""
    table = tables[options.show]
    level = f"{100 * options.confidence:g}%"
    short = short_labels(list(dict.fromkeys(result.metric for result in results)))
    output.emit_table(
        replace(
            table,
            title=f"{table.title} [{level} interval]",
            caption=f"{table.title}, with {level} intervals.",
            short=short,
        ),
        options,
        details={name: other.records() for name, other in tables.items() if name != options.show},
        signatures=[result.signature for result in results],
    )
    if plot and options.plot:
        output.tell_written(plot(results, options.plot), options)


# -- robust systems --------------------------------------------------------------------------------


@dataclass
class _SystemCases(_CaseFlags):
    """Options of which systems to evaluate on which cases, and which table to print.

    Attributes:
        hyp: system outputs, one line per sentence: for each case the original, then its variants; for several
            sets, one file with all sets in turn, or a folder with one file per set (conll14.txt).
        show: the table to print, summary: one row per system; variants: by action, distances and frequency of
            the change; sources: write the sentences that a system has to correct instead. JSON has all of
            them.
    """

    hyp: list[str] | None = None
    show: Literal["summary", "variants", "sources"] = "summary"


def run_robust_systems(arguments: Sequence[str]) -> None:
    """Run the command."""
    about = (
        "Evaluate whether systems' corrections stay the same when only unrelated context changes."
    )
    parser = _parser("systems", about, _SystemCases, "cases")
    parser.set_defaults(metric=["errant"])
    flags.add_evaluation(parser)
    options = output.with_format(parser.parse_args(arguments))
    if options.show == "sources":
        write_lines(options.out, [pair.source for pair in _all_pairs(_read_parts(options))])
        return
    flags.require(options, hyp="out/*.txt (--show sources writes what to correct)")
    metrics = flags.read_bound(options)
    settings, parts = _read_settings(options), _read_parts(options)
    systems = read_systems_on_cases(options.hyp, parts)
    results = [
        result
        for metric in metrics
        for result in evaluate_systems(metric, parts, systems, **settings)
    ]
    tables = {
        "summary": table_of_systems(results),
        "variants": table_of_systems(results, variants=True),
    }
    _emit_results(options, tables, results, figures.plot_systems)


def read_systems_on_cases(
    paths: Sequence[str], parts: Mapping[str, Sequence[Case]]
) -> dict[str, dict[str, list[str]]]:
    """Return each system's hypotheses for each set, from one file with all or a folder with one file each."""
    sources = [pair.source for pair in _all_pairs(parts)]
    systems: dict[str, dict[str, list[str]]] = {}
    for system, path in inputs.by_system(paths).items():
        if Path(path).is_dir():
            systems[system] = {name: read_lines(Path(path) / f"{name}.txt") for name in parts}
            continue
        lines = read_lines(path)
        check_lengths((" and ".join(parts), sources), (path, lines))
        rest = iter(lines)
        systems[system] = {
            name: [next(rest) for case in cases for _ in case.pairs]
            for name, cases in parts.items()
        }
    return systems


# -- robust metrics --------------------------------------------------------------------------------


@dataclass
class _MetricCases(_CaseFlags):
    """Options of which cases to read, and which table to print.

    Attributes:
        show: the table to print, summary: one row per metric; variants: by action, distances and frequency of
            the change. JSON has all of them.
    """

    show: Literal["summary", "variants"] = "summary"


def run_robust_metrics(arguments: Sequence[str]) -> None:
    """Run the command."""
    about = "Evaluate whether metrics still prefer the correction when unrelated context changes."
    parser = _parser("metrics", about, _MetricCases, "cases")
    flags.add_evaluation(parser)
    options = output.with_format(parser.parse_args(arguments))
    metrics = flags.read_bound(options)
    parts = _read_parts(options)
    for name in _expanded(options.case):
        for metric in metrics:
            output.notice_daily(*(f"{name}: {message}" for message in contamination(metric, name)))
    results = evaluate_preferences(metrics, parts, **_read_settings(options))
    tables = {
        "summary": table_of_preferences(results),
        "variants": table_of_preferences(results, variants=True),
    }
    _emit_results(options, tables, results, figures.plot_preferences)


# -- robust attack ---------------------------------------------------------------------------------


@dataclass
class _Attacks:
    """Options of what to compare.

    Attributes:
        attack: conll14 (from the catalog, with sentences, references and, without --hyp, honest systems);
            bea19-dev (only attacks) or files of attacks, which need --src, --hyp and references.
        show: the table to print: summary compares with all honest systems together, systems also with each.
            JSON has both.
    """

    attack: list[str] | None = None
    show: Literal["summary", "systems"] = "summary"


def run_robust_attack(arguments: Sequence[str]) -> None:
    """Run the command."""
    about = "Evaluate how often metrics prefer adversarial texts to the outputs of honest systems."
    parser = _parser("attack", about, _Attacks, "attacks")
    inputs.add_inputs(parser)
    flags.add_evaluation(parser, plot=False)
    options = output.with_format(parser.parse_args(arguments))
    flags.require(options, attack="conll14")
    name = options.attack[0].removeprefix("attack:") if len(options.attack) == 1 else ""
    known = ("conll14", "bea19-dev")
    if name and name not in (*known, "-") and not Path(name).exists():
        hint = "The path of a file of attacks is also accepted."
        raise UnknownNameError("attack", name, known, hint=hint)
    metrics = flags.read_bound(options)
    honest: Mapping[str, Sequence[str]]
    if name == "conll14":
        names = ("src", "ref", "gold", "table")
        flags.check_absent(
            options, names, "--attack conll14 contains its own sentences and references"
        )
        corpus = load_parallel(name)
        sources: Sequence[str] = corpus.sources
        references: References | None = corpus.references
        honest = inputs.read_systems(options.hyp) if options.hyp else honest_outputs()
    else:
        sources, honest, references = inputs.read_inputs(options, metrics).corpus.texts
    attacks: Mapping[str, Sequence[str]] = (
        load_outputs(f"attack:{name}") if name in known else inputs.read_systems(options.attack)
    )
    results = evaluate_attacks(
        metrics,
        sources,
        attacks,
        honest,
        references,
        resampling=flags.read_resampling(options),
    )
    together = [result for result in results if result.honest == ALL]
    tables = {"summary": table_of_attacks(together), "systems": table_of_attacks(results)}
    _emit_results(options, tables, results)


# -- robust perturb --------------------------------------------------------------------------------


@dataclass
class _Perturbation:
    """The texts to change, and how they are changed.

    Attributes:
        src: the source sentences.
        ref: one correction of each sentence.
        variants: maximum number of variants of each sentence.
        actions: allowed kinds of change.
        procedure: corpus: nouns, adjectives and adverbs, by words of the same corpus; zhang2023: any word
            outside errors, by words of a masked language model, as in RobustGEC's paper.
        encoder: that masked language model.
        tokenise: spacy tokenises both texts first; none splits at spaces, which is right for tokenised text.
        seed: seed of the random generator.
    """

    src: str | None = None
    ref: str | None = None
    variants: int = 5
    actions: list[Action] = field(default_factory=lambda: list(ACTIONS))
    procedure: Literal["corpus", "zhang2023"] = "corpus"
    encoder: str = "bert-base-cased"
    tokenise: Literal["none", "spacy"] = "none"
    seed: NonNegativeInt = 0


def run_robust_perturb(arguments: Sequence[str]) -> None:
    """Run the command."""
    parser = flags.make_parser(
        "robust perturb",
        "Write variants of sentences and their corrections in which only unrelated context differs.",
    )
    flags.add_fields(parser, _Perturbation, title="perturbation", description=inputs.LINES)
    about = "write cases as JSON Lines to this file, named .jsonl; -: stdout"
    parser.add_argument("--out", type=str, default="-", help=about)
    flags.add_fields(parser, flags.Quiet)
    options = parser.parse_args(arguments)
    flags.require(options, src="source.txt", ref="ref.txt")
    if options.out != "-" and suffix(options.out) != ".jsonl":
        raise InputError(f"--out is {options.out}; cases are JSON Lines, so name the file .jsonl.")
    output.check_out(options.out)
    sources, targets = read_lines(options.src), read_lines(options.ref)
    check_lengths((options.src, sources), (options.ref, targets))
    if options.tokenise == "spacy":
        sources, targets = tokenise(sources), tokenise(targets)
    changes = Changes(options.variants, tuple(options.actions), options.seed)
    encoder = options.encoder if options.procedure == "zhang2023" else None
    cases = perturb(sources, targets, changes, encoder=encoder)
    changed = [case for case in cases if case.variants]
    if not changed:
        raise InputError(f"no sentence of {options.src} has a variant; give more text.")
    write_cases(options.out, changed)
    output.remark(
        f"{len(changed)} cases with {sum(len(case.variants) for case in changed)} variants; "
        f"{len(cases) - len(changed)} sentences without any were left out",
        options,
    )
