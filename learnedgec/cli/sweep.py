"""`learnedgec sweep`: train an evaluator with many settings, and keep the best."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from jsonargparse import Namespace

from learnedgec.cli import flags, output
from learnedgec.data.configuration import check_help
from learnedgec.data.text import write_text

if TYPE_CHECKING:
    from learnedgec.tuning.sweep import Sweep


class _Defaults(argparse.ArgumentDefaultsHelpFormatter):
    """Show the defaults of flags that have one and take a value."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        plain = action.default is None or action.nargs == 0
        return action.help if plain else super()._get_help_string(action)


def build_sweep_parser() -> argparse.ArgumentParser:
    """Return the parser of `learnedgec sweep`; what it does not know are options of `learnedgec train`."""
    from learnedgec.tuning.sweep import SweepPlan

    parser = argparse.ArgumentParser(
        "learnedgec sweep",
        "learnedgec sweep --config FILE_OR_NAME --space KEY=RANGE [KEY=RANGE ...] [--KEY VALUE ...]",
        "Train with settings from a space, and package the run with the highest dev score. All other options "
        "are those of `learnedgec train`; --resume continues a sweep that was interrupted.",
        formatter_class=_Defaults,
        exit_on_error=False,
        allow_abbrev=False,
    )
    ranges = "settings to try, such as 'learning_rate=log(1e-5,1e-4)' model.pooling=mean,cls"
    parser.add_argument("--space", nargs="+", metavar="KEY=RANGE", help=ranges)
    flags.add_fields(parser, SweepPlan, title="search")
    output.add_output_flags(parser)
    flags.add_fields(parser, flags.Figures, flags.Quiet)
    return parser


def run_sweep(arguments: Sequence[str]) -> None:
    """Run `sweep`."""
    check_help(arguments, ["--data.columns"])
    from learnedgec.plotting.figures import plot_sweep
    from learnedgec.training.settings import read_settings
    from learnedgec.tuning.sweep import SweepPlan, sweep

    parser = build_sweep_parser()
    flags.give_parser(parser, arguments)
    if "--help-all" in arguments:
        write_text("-", f"{parser.format_help()}\n")
        read_settings(["--help-all"])  # which ends with the help of `train`
    known, words = parser.parse_known_args(list(arguments))
    options = output.with_format(Namespace(**vars(known)))  # type: ignore[no-untyped-call]
    flags.require(options, space="model.dropout=uniform(0,0.3)")
    space = dict(entry.partition("=")[::2] for entry in options.space)
    result = sweep(
        read_settings(words),
        space,
        flags.read_fields(SweepPlan, options),
        progress=not options.quiet,
        notify=partial(output.remark, options=options),
    )
    if options.plot:
        output.tell_written(plot_sweep(result, options.plot, result.package.name), options)
    details = {"results": result.results, "importances": result.importances}
    output.emit_table(result.table(), options, details=details, conclusions=list(_notes(result)))


def _notes(result: Sweep) -> Iterator[str]:
    """Yield sentences about the best trial and about pruning."""
    from learnedgec.training.evaluate import main_figure

    heads = []
    for head, figures in result.results["test"].items():
        name, value = main_figure(figures)
        low, high = figures.get(f"{name}_low"), figures.get(f"{name}_high")
        shown = "none" if value is None else f"{value:.3f} [{low:.3f}, {high:.3f}]"
        heads.append(f"{head} {name} {shown}, n = {figures['n']}")
    yield f"The best trial on the test part, which had no part in the choice: {'; '.join(heads)}."
    pruned = sum(trial.state == "pruned" for trial in result.trials)
    trained = sum(len(trial.scores) for trial in result.trials)
    yield (
        f"The {len(result.trials)} trials took {trained} epochs. Pruning ended {pruned} of them and saved up "
        f"to {result.saved} epochs."
    )
    if result.importances:
        shares = ", ".join(f"{key} {share:.0%}" for key, share in result.importances.items())
        yield f"Share of the dev score's variance over complete trials (fANOVA): {shares}."
    yield f"The evaluator is in {result.package}."
